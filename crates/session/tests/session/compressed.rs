//! Compressed tables keep the promises of any table. Each test tells a fault that was measured in the extension
//! storage_engine 1.3.4 or in citus columnar, and shows that tables `USING columnar` and `USING rowcompress`
//! do not have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use session::{Instance, Session};

use crate::client::{connect, instance, query};
use crate::methods::answer;

/// The methods that compress.
const METHODS: [&str; 2] = ["colcompress", "rowcompress"];

/// A table of 1,000 rows for each method, in files or still in memory.
fn each(check: impl Fn(&Arc<Instance>, &mut Session, &str)) {
    for method in METHODS {
        for is_in_files in [false, true] {
            let instance = instance();
            let mut session = connect(&instance);
            answer(
                &mut session,
                &format!("create table t (id int primary key, v int) using {method}"),
            );
            let filled =
                answer(&mut session, "insert into t select g, 0 from generate_series(1, 1000) g");
            assert_eq!(filled, "INSERT 0 1000\n");
            if is_in_files {
                answer(&mut session, "checkpoint");
            }
            check(&instance, &mut session, method);
        }
    }
}

/// The value that a statement gives, or the code of its error.
fn value(session: &mut Session, text: &str) -> String {
    let shown = answer(session, text);
    match shown.strip_prefix("ERROR:  ") {
        Some(error) => error[..5].to_owned(),
        None => shown.lines().nth(1).unwrap_or(shown.trim_end()).to_owned(),
    }
}

/// Two transactions that add 1 to the same row at READ COMMITTED: the second one waits, and adds to what the
/// first has left. The extension lost an update, or had the row twice.
#[test]
fn two_that_count_up_make_two() {
    each(|instance, one, method| {
        let mut other = connect(instance);
        answer(one, "begin");
        answer(one, "update t set v = v + 1 where id = 7");
        let waits = std::thread::spawn(move || {
            let done = answer(&mut other, "update t set v = v + 1 where id = 7");
            (done, other)
        });
        std::thread::sleep(Duration::from_millis(50));
        answer(one, "commit");
        let (done, _other) = waits.join().expect("it ends");
        assert_eq!(done, "UPDATE 1\n", "{method}");
        assert_eq!(value(one, "select v from t where id = 7"), "2", "{method}");
        assert_eq!(value(one, "select count(*) from t"), "1000", "{method}");
    });
}

/// `DELETE ... RETURNING` gives the rows that are gone. The extension gave another row, or failed.
#[test]
fn deletions_return_their_rows() {
    each(|_, session, method| {
        answer(session, "update t set v = id * 10");
        let gone = answer(session, "delete from t where id in (5, 500, 999) returning id, v");
        assert_eq!(gone, "id|v\n5|50\n500|5000\n999|9990\n(3 rows)\nDELETE 3\n", "{method}");
        assert_eq!(value(session, "select count(*) from t where id in (5, 500, 999)"), "0");
        let gone = answer(session, "delete from t where v = 10 returning *");
        assert_eq!(gone, "id|v\n1|10\n(1 row)\nDELETE 1\n", "{method}");
    });
}

/// A key that exists is refused at once with 23505. A key that another transaction may still commit is
/// waited for, and a cancel ends the wait. The extension looped for ever and heard none.
#[test]
fn equal_keys_are_refused_and_waits_are_cancelled() {
    each(|instance, one, method| {
        assert_eq!(value(one, "insert into t values (3, 1)"), "23505", "{method}");
        let many = "insert into t select g, 1 from generate_series(999, 9999) g";
        assert_eq!(value(one, many), "23505", "{method}");
        assert_eq!(value(one, "select count(*) from t"), "1000", "{method}");
        let mut other = connect(instance);
        answer(one, "begin");
        assert_eq!(value(one, "insert into t values (2000, 1)"), "INSERT 0 1");
        let (process, secret) = (other.process_id(), other.secret().to_vec());
        let is_over = AtomicBool::new(false);
        let refused = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    instance.cancel(process, &secret);
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
            let refused = value(&mut other, "insert into t values (2000, 2)");
            is_over.store(true, Ordering::Release);
            refused
        });
        assert_eq!(refused, "57014", "{method}");
        answer(one, "commit");
        assert_eq!(value(&mut connect(instance), "insert into t values (2000, 3)"), "23505");
    });
}

/// Several transactions write to a table at once. The extension let one write, until its transaction ended.
#[test]
fn many_write_at_once() {
    each(|instance, one, method| {
        let mut other = connect(instance);
        answer(one, "begin");
        assert_eq!(value(one, "insert into t values (5000, 1)"), "INSERT 0 1");
        assert_eq!(value(one, "update t set v = 1 where id = 1"), "UPDATE 1");
        answer(&mut other, "set lock_timeout = '1s'");
        assert_eq!(value(&mut other, "insert into t values (5001, 1)"), "INSERT 0 1", "{method}");
        assert_eq!(value(&mut other, "update t set v = 2 where id = 2"), "UPDATE 1", "{method}");
        assert_eq!(value(&mut other, "delete from t where id = 3"), "DELETE 1", "{method}");
        answer(one, "commit");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let mut session = connect(instance);
                scope.spawn(move || {
                    for at in 0..25 {
                        let id = 10_000 + writer * 100 + at;
                        answer(&mut session, &format!("insert into t values ({id}, 0)"));
                        answer(&mut session, "update t set v = v + 1 where id = 4");
                    }
                });
            }
        });
        assert_eq!(value(one, "select count(*) from t where id >= 10000"), "100", "{method}");
        assert_eq!(value(one, "select v from t where id = 4"), "100", "{method}");
    });
}

/// Rows that come one by one lie together in the files. Each took 8 KB in the extension, a stripe of its own.
#[test]
fn single_rows_are_small() {
    for (method, bytes) in [
        ("colcompress", "select sum(data_length) from engine.colcompress_stripes"),
        ("rowcompress", "select sum(data_length) from engine.rowcompress_batches"),
    ] {
        let mut session = connect(&instance());
        let table =
            "create table t (id bigserial primary key, at timestamptz default now(), note text)";
        answer(&mut session, &format!("{table} using {method}"));
        for at in 0..300 {
            answer(&mut session, &format!("insert into t (note) values (md5('{at}'))"));
        }
        answer(&mut session, "checkpoint");
        let bytes: u64 = value(&mut session, bytes).parse().expect("a number");
        assert!((1..300 * 100).contains(&bytes), "{method}: {bytes} bytes");
        assert_eq!(value(&mut session, "select count(*) from t"), "300");
    }
}

/// `TABLESAMPLE` takes a part of the rows, the same one for the same seed, and `ANALYZE` makes statistics.
/// One of the extension's methods gave all rows, and had no statistics; citus refuses.
#[test]
fn samples_are_samples() {
    each(|_, session, method| {
        let count = |session: &mut Session, sample: &str| -> u32 {
            let text = format!("select count(*) from t tablesample {sample}");
            value(session, &text).parse().expect("a number")
        };
        let some = count(session, "bernoulli (20) repeatable (1)");
        assert!((100..300).contains(&some), "{method}: {some}");
        assert_eq!(count(session, "bernoulli (20) repeatable (1)"), some, "{method}");
        assert_ne!(count(session, "bernoulli (60) repeatable (1)"), some, "{method}");
        assert_eq!(count(session, "bernoulli (100)"), 1000, "{method}");
        assert_eq!(count(session, "system (0)"), 0, "{method}");
        assert_eq!(value(session, "select 1 from t tablesample bernoulli (101)"), "2202H");
        answer(session, "analyze t");
        let known = "select count(*) from pg_stats where tablename = 't'";
        assert_eq!(value(session, known), "2", "{method}");
    });
}

/// A savepoint after a deletion leaves the table readable, for what follows and after going back.
#[test]
fn savepoints_after_deletions_leave_the_table_readable() {
    each(|_, session, method| {
        answer(session, "begin");
        assert_eq!(value(session, "delete from t where id <= 10"), "DELETE 10");
        answer(session, "savepoint s");
        assert_eq!(value(session, "select count(*) from t"), "990", "{method}");
        assert_eq!(value(session, "insert into t values (1, 5)"), "INSERT 0 1", "{method}");
        assert_eq!(value(session, "delete from t where id > 500"), "DELETE 500", "{method}");
        answer(session, "rollback to s");
        assert_eq!(value(session, "select count(*) from t"), "990", "{method}");
        answer(session, "commit");
        assert_eq!(value(session, "select min(id) from t"), "11", "{method}");
    });
}

/// Plain aggregates, with and without groups, over files and changes beside them. A version of the extension
/// ended the server.
#[test]
fn plain_aggregates_are_right() {
    each(|_, session, method| {
        answer(session, "update t set v = id % 7 where id % 2 = 0");
        answer(session, "delete from t where id = 1000");
        let all = "select count(*), sum(v), min(id), max(id), avg(id), count(distinct v) from t";
        assert_eq!(value(session, all), "999|1497|1|999|500.0000000000000000|7", "{method}");
        let groups = "select string_agg(v || ':' || n, ' ') from (select v, count(*) n from t group by v order by v) x";
        assert_eq!(value(session, groups), "0:571 1:71 2:72 3:71 4:72 5:71 6:71", "{method}");
        assert_eq!(value(session, "select sum(v) from t where id < 0"), "NULL", "{method}");
    });
}

/// A table of 30,000 rows of 300 days in turns, by `COPY` and by `INSERT ... SELECT`, with a way to lie.
fn days(session: &mut Session, with: &str) {
    let table = "create table t (id int primary key, day int, note text) using columnar";
    answer(session, &format!("{table} with (chunk_group_row_limit = 1000{with})"));
    let data: Vec<String> =
        (0..15_000).map(|id| format!("{id}\t{}\tnote {id}", id % 300)).collect();
    let mut shown = String::new();
    let mut lines = data.iter().map(String::as_str).chain(["\\."]);
    query(session, "copy t from stdin", &mut lines, &mut shown);
    assert_eq!(shown, "COPY 15000\n");
    let more = "insert into t select g, g % 300, 'note ' || g from generate_series(15000, 29999) g";
    assert_eq!(answer(session, more), "INSERT 0 15000\n");
    answer(session, "checkpoint");
}

/// Returns how many parts of files a query looks at.
fn blocks(session: &mut Session, text: &str) -> u32 {
    let shown = answer(session, &format!("explain (analyze, buffers) {text}"));
    let buffers = shown.lines().find_map(|line| line.trim().strip_prefix("Buffers: shared "));
    let counts = buffers.unwrap_or_default().split(' ').filter_map(|word| word.split_once('='));
    counts.map(|(_, count)| count.parse::<u32>().expect("a number")).sum()
}

/// `orderby` has a query look at fewer parts of blocks, where each statement has sorted what it brought and after a
/// merge. Answers are the same, and the rows lie in the order.
#[test]
fn an_order_leaves_blocks_out() {
    let sum = "select sum(id), max(note) from t where day = 123";
    let (mut plain, mut sorted) = (connect(&instance()), connect(&instance()));
    days(&mut plain, "");
    days(&mut sorted, ", orderby = 'day'");
    let answers = answer(&mut plain, sum);
    for merge in ["select 'merge'", "select engine.colcompress_merge('t')"] {
        answer(&mut sorted, merge);
        answer(&mut plain, &merge.replace("merge", "repack"));
        assert_eq!(answer(&mut sorted, "checkpoint"), "CHECKPOINT\n");
        assert_eq!(answer(&mut plain, "checkpoint"), "CHECKPOINT\n");
        assert_eq!(answer(&mut sorted, sum), answers);
        // The counters of a count, which reads no column, go for both.
        let columns = |session: &mut Session| {
            blocks(session, sum).saturating_sub(blocks(session, "select count(*) from t"))
        };
        let (of_plain, of_sorted) = (columns(&mut plain), columns(&mut sorted));
        assert!(of_sorted * 4 < of_plain, "{merge}: {of_sorted} of {of_plain}");
    }
    let falls =
        "select count(*) from (select day < lag(day) over () as falls from t) x where falls";
    assert_eq!(value(&mut sorted, falls), "0");
}

/// Less compression makes more bytes, smaller stripes make more of them, and rows are the same.
#[test]
fn parameters_shape_the_files() {
    let bytes = |with: &str| -> (u64, u64) {
        let mut session = connect(&instance());
        answer(
            &mut session,
            &format!("create table t (n int, note text) using columnar with ({with})"),
        );
        let note = "'some note that is long enough ' || g || ' and ends'";
        answer(
            &mut session,
            &format!("insert into t select g, {note} from generate_series(1, 20000) g"),
        );
        answer(&mut session, "checkpoint");
        assert_eq!(
            value(&mut session, "select count(distinct note), sum(n) from t"),
            "20000|200010000"
        );
        let mut number = |text| value(&mut session, text).parse().expect("a number");
        (
            number("select sum(data_length) from colcompress_stripes"),
            number("select count(*) from colcompress_stripes"),
        )
    };
    let (usual, stripes) = bytes("compression = zstd");
    assert_eq!(stripes, 1);
    let (none, _) = bytes("compression = none");
    assert!(usual * 3 < none, "{usual}, {none}");
    let (strong, _) = bytes("compression_level = 15");
    assert!(strong < usual, "{strong}, {usual}");
    let (_, stripes) = bytes("stripe_row_limit = 5000");
    assert_eq!(stripes, 4);
}

/// The statements of the guide run as they stand there, and plans are those that it shows.
#[test]
fn the_guide_runs() {
    let guide = include_str!("../../../../docs/guide/columns.md");
    let mut session = connect(&instance());
    let mut shown = String::new();
    for block in guide.split("```").skip(1).step_by(2) {
        if let Some(statements) = block.strip_prefix("sql\n") {
            shown = answer(&mut session, statements);
            assert!(!shown.contains("ERROR"), "{statements}{shown}");
        } else if let Some(expected) = block.strip_prefix("text\n") {
            assert!(shown.contains(expected), "{shown}");
        }
    }
}
