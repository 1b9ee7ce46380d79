//! Operators over columns end soon when they are told to, and give the same rows in little memory.

use std::time::{Duration, Instant};

use session::{Instance, Session};
use vfs::SimVfs;

use crate::client::{connect, instance_on};
use crate::limits::rows;
use crate::methods::answer;

/// The longest time that a cancel may take on a busy machine, in a build that is not optimised.
const PATIENCE: Duration = Duration::from_secs(1);

/// Many rows in columns: `k` is different in each, each `m` is in a tenth of them.
fn world(count: u64) -> (std::sync::Arc<Instance>, Session) {
    let instance = instance_on(&SimVfs::new(5));
    let mut session = connect(&instance);
    for (table, method) in [("c", " USING columnar"), ("h", "")] {
        for text in [
            format!("CREATE TABLE {table} (k int, m int, t text, v numeric){method}"),
            format!(
                "INSERT INTO {table} SELECT (g * 7919) % {count}, g % 10, 'text ' || g, g / 4.0 \
                 FROM generate_series(1, {count}) g"
            ),
            "CHECKPOINT".into(),
        ] {
            rows(&mut session, &text).expect("the table is made");
        }
    }
    (instance, session)
}

/// Queries with each operator over columns.
const OPERATORS: &[&str] = &[
    // Groups.
    "SELECT k, count(*), sum(v) FROM % GROUP BY k",
    "SELECT t, max(k) FROM % GROUP BY t",
    "SELECT k, t, m, count(v) FROM % GROUP BY k, t, m",
    "SELECT m, t FROM % GROUP BY 1, 2",
    // Distinct values, and values in order.
    "SELECT count(DISTINCT k), count(DISTINCT t), count(DISTINCT v) FROM %",
    "SELECT m, count(DISTINCT t) FROM % GROUP BY m",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k), percentile_cont(0.1) WITHIN GROUP (ORDER BY k DESC) FROM %",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY t) FROM %",
    "SELECT string_agg(t, ',' ORDER BY k) FROM %",
    // The kept columns of a join, and its look-ups.
    "SELECT count(*), sum(a.v) FROM % a JOIN % b ON a.k = b.k",
    "SELECT count(*), max(b.t) FROM % a JOIN % b ON a.t = b.t AND a.m = b.m",
    "SELECT count(*), sum(b.k) FROM % a FULL JOIN % b ON a.k = b.k + 5",
    "SELECT count(*) FROM % a WHERE EXISTS (SELECT FROM % b WHERE a.k = b.k AND a.v < b.v)",
    "SELECT count(*) FROM % a WHERE NOT EXISTS (SELECT FROM % b WHERE a.t = b.t)",
];

/// Joins with a tenth of all pairs: each of them would run for minutes.
const ENDLESS: &[&str] = &[
    "SELECT count(*), sum(a.v + b.v) FROM c a JOIN c b ON a.m = b.m",
    "SELECT a.k, b.k, count(*) FROM c a JOIN c b ON a.m = b.m GROUP BY a.k, b.k",
    "SELECT count(*) FROM c a JOIN c b ON a.m = b.m AND a.k + b.k < 0",
    "SELECT count(*) FROM c a LEFT JOIN c b ON a.m = b.m AND a.v + b.v < 0",
    "SELECT count(*) FROM c a WHERE EXISTS (SELECT FROM c b WHERE a.m = b.m AND a.k + b.k < 0)",
    "SELECT count(*) FROM c a WHERE NOT EXISTS (SELECT FROM c b WHERE a.m = b.m AND a.v + b.v < 0)",
    "SELECT count(DISTINCT a.k * 1000 + b.k) FROM c a JOIN c b ON a.m = b.m",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a.k - b.k) FROM c a JOIN c b ON a.m = b.m",
    "SELECT count(*), max(d.t) FROM c a JOIN c b ON a.m = b.m JOIN c d ON b.k = d.k",
    "SELECT a.m, string_agg(b.t, '') FROM c a JOIN c b ON a.m = b.m GROUP BY a.m HAVING count(*) < 0",
    "SELECT DISTINCT a.t || b.t FROM c a JOIN c b ON a.m = b.m",
];

/// A statement that a client cancels, or whose time is over (the server cancels it then), ends within a moment with 57014.
#[test]
fn batches_hear_of_a_cancel() {
    let (instance, mut session) = world(30_000);
    let mut heard = |text: &str, told_after_ms: u64| {
        let begun = Instant::now();
        let (process, secret) = (session.process_id(), session.secret().to_vec());
        let done = std::thread::scope(|scope| {
            let instance = &instance;
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(told_after_ms));
                instance.cancel(process, &secret);
            });
            rows(&mut session, text)
        });
        let took = begun.elapsed();
        if let Err(error) = &done {
            assert_eq!(error.state().code(), "57014", "{text}: {error}");
            let limit = Duration::from_millis(told_after_ms) + PATIENCE;
            assert!(took < limit, "{text}: stopped after {took:?}, told after {told_after_ms} ms");
        }
        done.is_err()
    };
    for text in ENDLESS {
        assert!(heard(text, 150), "{text} goes on for long");
    }
    // Told at any moment: an operator that is as quick as that is done.
    let mut ended = 0;
    for text in OPERATORS {
        for told_after in [1, 4, 16, 60] {
            ended += u64::from(heard(&text.replace('%', "c"), told_after));
        }
    }
    assert!(ended >= OPERATORS.len() as u64, "{ended} were long enough to be told");
}

/// Operators that find no room spill, or go on row by row, and give the rows of a heap in plenty of room.
#[test]
fn batches_give_the_same_rows_in_little_memory() {
    let (_instance, mut session) = world(12_000);
    let mut run = |text: &str| answer(&mut session, text);
    for text in OPERATORS {
        let plan = run(&format!("EXPLAIN {}", text.replace('%', "c")));
        // Texts in an order are aggregated row by row.
        let is_by_row = text.contains("(ORDER BY t)") || text.contains("string_agg");
        assert!(plan.contains("Batches") || is_by_row, "{text}: {plan}");
        let mut of = |table: &str, memory: &str| {
            run(&format!("SET work_mem = '{memory}'"));
            let shown = run(&text.replace('%', table));
            let mut lines: Vec<String> = shown.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        let wanted = of("h", "256MB");
        assert!(!wanted.iter().any(|line| line.contains("ERROR")), "{text}: {wanted:?}");
        for memory in ["64kB", "300kB", "2MB"] {
            assert!(of("c", memory) == wanted, "{text} in {memory}");
        }
    }
}
