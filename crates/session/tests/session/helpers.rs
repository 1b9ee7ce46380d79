//! Several threads compute a statement over columns. The answers are those of one thread, whatever the helpers do not
//! know.

use std::sync::Arc;
use std::time::{Duration, Instant};

use session::{Instance, Session};
use vfs::SimVfs;

use crate::client::{connect, instance_on};
use crate::methods::answer;

/// 20,000 rows in blocks of 1,000, and a few thousand of another table.
fn world() -> (Arc<Instance>, Session) {
    let instance = instance_on(&SimVfs::new(9));
    let mut session = connect(&instance);
    for text in [
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
        "CREATE DOMAIN small AS int CHECK (VALUE < 1000)",
        "CREATE TABLE t (n int, g int, x float8, s text, m mood, a numeric) \
         USING columnar WITH (chunk_group_row_limit = 1000)",
        "INSERT INTO t SELECT i, i % 7, i / 8.0, 'text ' || i % 500, (ARRAY['sad', 'ok', 'happy']::mood[])[1 + i % 3], \
         i / 4.0 FROM generate_series(1, 20000) i",
        "CREATE TABLE p (k int NOT NULL, w text) USING columnar WITH (chunk_group_row_limit = 1000)",
        "INSERT INTO p SELECT i * 3, 'w' || i % 11 FROM generate_series(1, 4000) i",
        "CREATE SEQUENCE q",
        "CHECKPOINT",
        "SET min_parallel_table_scan_size = 0",
    ] {
        let said = answer(&mut session, text);
        assert!(!said.contains("ERROR"), "{text}: {said}");
    }
    (instance, session)
}

fn has_processors() -> bool {
    std::thread::available_parallelism().is_ok_and(|count| count.get() > 1)
}

/// Expressions that helpers compute, values that they must be told, and state that they do not
/// know.
const QUESTIONS: &[&str] = &[
    "SELECT count(*), sum(n), avg(a), min(s), max(m), count(DISTINCT s), sum(x) FROM t",
    "SELECT g, sum(n), percentile_disc(0.3) WITHIN GROUP (ORDER BY n) FROM t GROUP BY g ORDER BY g",
    "SELECT s, count(*), max(a) FROM t WHERE n % 3 = 1 GROUP BY s ORDER BY s",
    "SELECT w, count(*), sum(a) FROM t JOIN p ON n = k GROUP BY w ORDER BY w",
    "SELECT w, count(n), count(*) FROM t FULL JOIN p ON n = k AND g < 4 GROUP BY w ORDER BY w",
    "SELECT count(*) FROM p WHERE NOT EXISTS (SELECT FROM t WHERE n = k)",
    "SELECT count(*) FROM t WHERE n NOT IN (SELECT k FROM p)",
    // With little memory the kept side does not fit, and the crew leaves rows of it.
    "SELECT count(*), sum(one.n), max(other.s) FROM t one JOIN t other ON one.n = other.n + 1",
    // Aggregates whose results are not put together.
    "SELECT g, string_agg(DISTINCT s, ',' ORDER BY s) FROM t WHERE n < 90 GROUP BY g ORDER BY g",
    "SELECT round(stddev(n)::numeric, 6), array_length(array_agg(n), 1) FROM t",
    // Subqueries that read nothing of the row, and one that does.
    "SELECT sum(n) FROM t WHERE a > (SELECT avg(a) FROM t) AND n < (SELECT max(k) FROM p)",
    "SELECT g, (SELECT count(*) FROM t i WHERE i.g = o.g AND i.n > 50) FROM t o WHERE n < 20 ORDER BY n",
    "SELECT sum((SELECT count(*) FROM p WHERE k = n)) FROM t WHERE n < 300",
    // State of the session: settings, types of users, the clock.
    "SELECT count(*) FROM t WHERE s <> current_setting('search_path') || n",
    "SELECT m::text, count(*) FROM t GROUP BY m::text ORDER BY 1",
    "SELECT count(*) FROM t WHERE m > 'ok' OR m::text || n = 'sad7'",
    "SELECT count(*) FROM t WHERE (n % 900)::small < 10",
    "SELECT count(*) FROM t WHERE now() > timestamptz '2000-01-01' + n * interval '1 second'",
    "SELECT count(*) FROM t WHERE random() < 2 AND clock_timestamp() > '2000-01-01'",
    // Errors of a row, and of a type.
    "SELECT sum(1 / (n - 15000)) FROM t",
    "SELECT g, sum(1000 / (n - 3)) FROM t GROUP BY g",
    "SELECT count(*) FROM t WHERE n::small > 0",
    "SELECT count(*) FROM t WHERE (s || 'x')::int > 0",
];

/// Each question has the answer that one thread gives, errors included, with much memory and with little.
#[test]
fn helpers_answer_as_one_thread_does() {
    let (_, mut session) = world();
    let mut run = |text: &str| answer(&mut session, text);
    for work_mem in ["4MB", "64kB"] {
        run(&format!("SET work_mem = '{work_mem}'"));
        for question in QUESTIONS {
            run("SET max_parallel_workers_per_gather = 0");
            let alone = run(question);
            run("SET max_parallel_workers_per_gather = 8");
            for _ in 0..3 {
                assert_eq!(run(question), alone, "work_mem = {work_mem}: {question}");
            }
        }
    }
    // The statement takes one value of the sequence for each row, although helpers were tried first.
    assert_eq!(run("SELECT count(*) FROM t WHERE nextval('q') > 0"), "count\n20000\n(1 row)\n");
    assert_eq!(run("SELECT nextval('q')"), "nextval\n20001\n(1 row)\n");
    // Parameters, and the values of a query around.
    run("PREPARE by_g (int, text) AS SELECT count(*), sum(n) FROM t WHERE g = $1 AND s <> $2");
    for g in 0..7 {
        let prepared = run(&format!("EXECUTE by_g ({g}, 'text 4')"));
        let plain = run(&format!("SELECT count(*), sum(n) FROM t WHERE g = {g} AND s <> 'text 4'"));
        assert_eq!(prepared, plain);
    }
    // The writes of the transaction itself count.
    run("BEGIN");
    run("DELETE FROM t WHERE g = 3");
    run("INSERT INTO t (n, g) VALUES (-5, 3)");
    let own = "SELECT g, count(*), min(n) FROM t GROUP BY g HAVING g > 2 ORDER BY g LIMIT 2";
    assert_eq!(run(own), "g|count|min\n3|1|-5\n4|2857|4\n(2 rows)\n");
    run("ROLLBACK");
}

/// `EXPLAIN ANALYZE` counts the rows of all threads, and says who helped.
#[test]
fn explain_tells_of_helpers() {
    let (_, mut session) = world();
    let mut run = |text: &str| answer(&mut session, text);
    let question = "EXPLAIN (ANALYZE, TIMING OFF) SELECT w, sum(n) FROM t JOIN p ON n = k WHERE g < 5 GROUP BY w";
    let mut plan = run(question);
    // All tests of this process share the workers: another test's statement may hold them for a while.
    let waits_until = Instant::now() + Duration::from_secs(60);
    while !plan.contains("Workers Launched") && has_processors() && Instant::now() < waits_until {
        std::thread::yield_now();
        plan = run(question);
    }
    assert_eq!(plan.contains("Workers Launched"), has_processors(), "{plan}");
    for rows in ["Seq Scan on t", "Seq Scan on p"] {
        let line = plan.lines().find(|line| line.contains(rows)).expect("it is scanned");
        let count = if rows.ends_with('t') {
            "actual rows=14286 loops=1"
        } else {
            "actual rows=4000 loops=1"
        };
        assert!(line.contains(count), "{plan}");
    }
    assert!(plan.contains("Rows Removed by Filter: 5714"), "{plan}");
    run("SET max_parallel_workers_per_gather = 0");
    assert!(!run(question).contains("Workers"));
}

/// Sessions that ask at the same time share the helpers: each gets its answers, with or without help.
#[test]
fn sessions_share_the_helpers() {
    let (instance, mut session) = world();
    let question = "SELECT g, count(*), sum(n) FROM t LEFT JOIN p ON n = k GROUP BY g ORDER BY g";
    let expected = answer(&mut session, question);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut session = connect(&instance);
                answer(&mut session, "SET min_parallel_table_scan_size = 0");
                for _ in 0..10 {
                    assert_eq!(answer(&mut session, question), expected);
                }
            });
        }
    });
}
