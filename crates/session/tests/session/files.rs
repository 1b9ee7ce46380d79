//! Files of the server: those that other programs write, those that are damaged, and `COPY` that does not get to its
//! end.

use std::path::Path;
use std::sync::Arc;

use session::{Done, Instance, Session};
use vfs::{Env, OpenMode, Random, SimRandom, SimVfs};

use crate::client::{Nothing, connect, instance_on, query};

const PYARROW: &[u8] = include_bytes!("fixtures/pyarrow.parquet");
const ARROW: &[u8] = include_bytes!("fixtures/pyarrow.arrow");
const STREAM: &[u8] = include_bytes!("fixtures/pyarrow.arrows");
const FEATHER: &[u8] = include_bytes!("fixtures/pyarrow.feather");
const INT96: &[u8] = include_bytes!("fixtures/int96.parquet");
const DUCKDB: &[u8] = include_bytes!("fixtures/duckdb.parquet");

fn put(disk: &SimVfs, path: &str, bytes: &[u8]) {
    let env = Env::sim(disk, 7);
    let _ = env.fs.remove(Path::new(path));
    let file = env.fs.open(Path::new(path), OpenMode::CreateNew).expect("it can be made");
    file.write_all_at(bytes, 0).expect("it can be written");
}

fn begun() -> (SimVfs, Arc<Instance>, Session) {
    let disk = SimVfs::new(7);
    let instance = instance_on(&disk);
    let session = connect(&instance);
    (disk, instance, session)
}

/// The answer to a statement.
fn answer(session: &mut Session, text: &str) -> String {
    let mut shown = String::new();
    query(session, text, &mut std::iter::empty(), &mut shown);
    shown
}

/// Files of pyarrow and DuckDB are read, with the types that stand for theirs.
#[test]
fn files_of_others() {
    let (disk, _instance, mut session) = begun();
    for (name, bytes) in [
        ("/p.parquet", PYARROW),
        ("/p.arrow", ARROW),
        ("/p.arrows", STREAM),
        ("/p.feather", FEATHER),
        ("/int96.parquet", INT96),
        ("/duck.parquet", DUCKDB),
    ] {
        put(&disk, name, bytes);
    }
    let nulls = |count: usize| vec!["NULL"; count].join("|");
    let common = "255|18446744073709551615";
    let rest = "-12.50|99999999999999999999999999999999999999999999999999.00000|grün|large|red|\\x00ff\
                |1969-12-31|23:59:59.000005|2026-11-26 12:30:15.123|2026-11-26 12:30:15.123456\
                |2026-11-26 12:30:15.123456+00|{1,NULL,3}|[[1], []]|{\"a\": 1, \"b\": \"x\"}\
                |{\"k\": 1.5}";
    let shown = answer(&mut session, "SELECT * FROM '/p.parquet'");
    let (names, rows) = shown.split_once('\n').expect("there are rows");
    assert!(names.starts_with("u8|u64|d|wide|s|large|kind|bytes|date|time|ms|ns|zone|"), "{names}");
    assert_eq!(rows, format!("{common}|{rest}\n{}\n(2 rows)\n", nulls(17)));
    let views = "a view of more than twelve bytes|1 mon -2 days +00:00:00.003";
    for file in ["/p.arrow", "/p.arrows"] {
        let shown = answer(&mut session, &format!("SELECT * FROM '{file}'"));
        let (_, rows) = shown.split_once('\n').expect("there are rows");
        assert_eq!(
            rows,
            format!("{common}|1.5|{rest}|{views}\n{}\n(2 rows)\n", nulls(20)),
            "{file}"
        );
    }
    let shown = answer(&mut session, "SELECT kind, d FROM '/p.feather'");
    assert_eq!(shown, "kind|d\nred|-12.50\nNULL|NULL\n(2 rows)\n");
    let shown = answer(&mut session, "SELECT ns, pg_typeof(ns) FROM '/int96.parquet' LIMIT 1");
    assert_eq!(
        shown,
        "ns|pg_typeof\n2026-11-26 12:30:15.123456|timestamp without time zone\n(1 row)\n"
    );
    let shown = answer(
        &mut session,
        "SELECT id, mood, nested, list, at, clock, amount, doc, pg_typeof(id) AS a, pg_typeof(doc) AS b
         FROM '/duck.parquet' WHERE id IS NOT NULL",
    );
    assert_eq!(
        shown,
        "id|mood|nested|list|at|clock|amount|doc|a|b\n6ba7b810-9dad-11d1-80b4-00c04fd430c8|glad\
         |{\"a\": [1, 2], \"b\": {\"c\": \"2026-11-26\"}}|{x,NULL}|2026-11-26 12:00:00+00\
         |12:34:56.789|1.250|{\"k\": [1]}|uuid|jsonb\n(1 row)\n"
    );
}

/// A file that is cut or has a wrong bit is an error or other rows; the table has all rows of the file or none.
#[test]
fn damaged_files_change_nothing() {
    let (disk, _instance, mut session) = begun();
    put(&disk, "/p.parquet", PYARROW);
    put(&disk, "/p.arrow", ARROW);
    answer(&mut session, "CREATE TABLE p AS SELECT * FROM '/p.parquet' WITH NO DATA");
    answer(&mut session, "CREATE TABLE a AS SELECT * FROM '/p.arrow' WITH NO DATA");
    let seed = vfs::seed(11);
    let random = SimRandom::new(seed);
    let hook = std::panic::take_hook();
    // A panic of a decoder is caught and becomes an error: it need not be shown.
    std::panic::set_hook(Box::new(|_| {}));
    let mut wrong = Vec::new();
    for (table, format, bytes) in [("p", "parquet", PYARROW), ("a", "arrow", ARROW)] {
        let text = format!("COPY {table} FROM '/damaged' (FORMAT {format})");
        for length in (0..bytes.len()).step_by(64) {
            put(&disk, "/damaged", &bytes[..length]);
            let shown = answer(&mut session, &text);
            if !shown.starts_with("ERROR:  XX001: file \"/damaged\" is damaged or incomplete") {
                wrong.push(format!("{format} cut at {length}: {shown}"));
            }
        }
        for _ in 0..200 {
            let mut bytes = bytes.to_vec();
            let at = (random.next_u64() % bytes.len() as u64) as usize;
            bytes[at] ^= 1 << (random.next_u64() % 8);
            put(&disk, "/damaged", &bytes);
            let shown = answer(&mut session, &text);
            let rows = answer(&mut session, &format!("SELECT count(*) FROM {table}"));
            let wanted = if shown == "COPY 2\n" { "2" } else { "0" };
            if rows != format!("count\n{wanted}\n(1 row)\n") {
                wrong.push(format!("{format} byte {at}: {shown} {rows}"));
            }
            answer(&mut session, &format!("TRUNCATE {table}"));
        }
    }
    std::panic::set_hook(hook);
    assert!(wrong.is_empty(), "ANYWHEN_SEED={seed}\n{}", wrong.join("\n"));
}

/// A `COPY TO` that fails in the middle, or is cancelled, leaves the file that was there, and none beside it.
#[test]
fn a_copy_that_fails_leaves_the_old_file() {
    let (disk, instance, mut session) = begun();
    let env = Env::sim(&disk, 7);
    env.fs.create_dir_all(Path::new("/out")).expect("it can be made");
    for format in ["parquet", "arrow", "csv", "binary"] {
        let path = format!("/out/f.{format}");
        let copy = |query: &str| format!("COPY ({query}) TO '{path}' (FORMAT {format})");
        assert_eq!(answer(&mut session, &copy("SELECT 1 AS a")), "COPY 1\n");
        let failing = "SELECT 1 / (50000 - a) AS a FROM generate_series(1, 60000) a";
        let shown = answer(&mut session, &copy(failing));
        assert!(shown.starts_with("ERROR:  22012"), "{shown}");
        let (process, secret) = (session.process_id(), session.secret().to_vec());
        let canceller = Arc::clone(&instance);
        let cancelling = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            canceller.cancel(process, &secret);
        });
        let shown = answer(&mut session, &copy("SELECT a FROM generate_series(1, 1000000000) a"));
        assert!(shown.starts_with("ERROR:  57014"), "{shown}");
        cancelling.join().expect("it has cancelled");
        let listed = env.fs.list(Path::new("/out")).expect("it can be listed");
        assert_eq!(listed, [Path::new(&path)]);
        env.fs.remove(Path::new(&path)).expect("it is there");
    }
}

/// The Arrow and Parquet data that a client gets, it can send back, cut anywhere.
#[test]
fn columns_go_to_clients_and_back() {
    struct Copied(Vec<u8>);
    impl session::Output for Copied {
        fn row(
            &mut self,
            _: &[types::Datum],
            _: &[session::Column],
            _: &types::Context<'_>,
        ) -> types::Result<std::ops::ControlFlow<()>> {
            unreachable!("COPY gives data")
        }

        fn copy_data(&mut self, data: &[u8]) -> std::ops::ControlFlow<()> {
            self.0.extend_from_slice(data);
            // Not more than one piece at a time.
            std::ops::ControlFlow::Break(())
        }
    }
    let (disk, _instance, mut session) = begun();
    let copied = |text: &str, session: &mut Session| {
        let statement = session.read(text).unwrap().pop().unwrap();
        let mut portal = session.start(statement, true).unwrap();
        let mut out = Copied(Vec::new());
        while !matches!(session.execute(&mut portal, 0, &mut out).unwrap(), Done::Complete(_)) {}
        session.end().unwrap();
        out.0
    };
    let rows = "SELECT a, 'row ' || a AS s FROM generate_series(1, 100000) a";
    let parquet = copied(&format!("COPY ({rows}) TO STDOUT (FORMAT parquet)"), &mut session);
    put(&disk, "/c.parquet", &parquet);
    let sums = "count|sum\n100000|5000050000\n(1 row)\n";
    assert_eq!(answer(&mut session, "SELECT count(s), sum(a) FROM '/c.parquet'"), sums);
    let stream = copied(&format!("COPY ({rows}) TO STDOUT (FORMAT arrow)"), &mut session);
    answer(&mut session, "CREATE TABLE t (s text, a bigint)");
    let send = |session: &mut Session, bytes: &[u8], piece: usize| {
        let text = "COPY t FROM STDIN (FORMAT arrow)";
        let statement = session.read(text).unwrap().pop().unwrap();
        let mut portal = session.start(statement, true).unwrap();
        assert!(matches!(session.execute(&mut portal, 0, &mut Nothing).unwrap(), Done::CopyIn(_)));
        let sent = bytes.chunks(piece).try_for_each(|piece| session.copy_in(piece));
        let done = sent.and_then(|()| session.copy_end());
        if done.is_err() {
            session.fail();
        }
        let _ = session.end();
        done
    };
    assert_eq!(send(&mut session, &stream, 1013).unwrap().to_string(), "COPY 100000");
    let error = send(&mut session, STREAM, 512).unwrap_err();
    assert_eq!(error.state().code(), "42703", "the stream of another table: {error}");
    assert_eq!(answer(&mut session, "SELECT count(s), sum(a) FROM t"), sums);
    let error = send(&mut session, &stream[..stream.len() / 2], 4096).unwrap_err();
    assert_eq!(error.state().code(), "22P04");
    assert_eq!(send(&mut session, &stream[1..], 4096).unwrap_err().state().code(), "XX001");
    assert_eq!(answer(&mut session, "SELECT count(s), sum(a) FROM t"), sums);
}

/// Of a Parquet file only the columns are read that a statement wants.
#[test]
fn only_wanted_columns_are_read() {
    let (disk, _instance, mut session) = begun();
    let columns: Vec<String> =
        (0..20).map(|at| format!("md5((a * {at})::text) AS c{at}")).collect();
    let text = format!(
        "COPY (SELECT a, {} FROM generate_series(1, 20000) a) TO '/wide.parquet' (FORMAT parquet)",
        columns.join(", ")
    );
    assert_eq!(answer(&mut session, &text), "COPY 20000\n");
    // The first column lies at the beginning of the file: the others can be damaged, and nobody sees it.
    let env = Env::sim(&disk, 7);
    let file = env.fs.open(Path::new("/wide.parquet"), OpenMode::ReadWrite).expect("it is there");
    let size = file.len().expect("it has a length");
    file.write_all_at(&vec![0xff; size as usize / 2], size / 3).expect("it can be written");
    let shown = answer(&mut session, "SELECT count(*), sum(a) FROM '/wide.parquet' WHERE a > 0");
    assert_eq!(shown, "count|sum\n20000|200010000\n(1 row)\n");
    let shown = answer(&mut session, "SELECT max(c12) FROM '/wide.parquet'");
    assert!(shown.starts_with("ERROR:  XX001: file \"/wide.parquet\" is damaged"), "{shown}");
}

/// Data that gzip has compressed are decompressed, in several members too. Nothing is taken from a file that was
/// cut off or changed, and the error says so.
#[test]
fn files_of_gzip() {
    let member = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    };
    let many: String = (1..=100_000).map(|i| format!("{i},row {i}\n")).collect();
    let whole = [member("i,t\n"), member(""), member(&many)].concat();
    let (disk, _instance, mut session) = begun();
    answer(&mut session, "CREATE TABLE t (i int, t text)");
    let count = "SELECT count(*), sum(i) FROM t";
    let copy = "COPY t FROM '/t.csv.gz' (FORMAT csv, HEADER)";
    let mut changed = whole.clone();
    let at = changed.len() - 6;
    changed[at] ^= 1;
    for (bytes, why) in [
        (&whole[..whole.len() / 2], "ends within"),
        (&whole[..5], "ends within"),
        (&changed, "gzip: "),
    ] {
        put(&disk, "/t.csv.gz", bytes);
        let shown = answer(&mut session, copy);
        let said = "file \"/t.csv.gz\" is damaged or incomplete";
        assert!(shown.contains("XX001") && shown.contains(said), "{shown}");
        assert!(shown.contains(why), "{shown}");
        assert!(answer(&mut session, count).contains("0|NULL"));
    }
    put(&disk, "/t.csv.gz", &whole);
    assert!(answer(&mut session, copy).contains("COPY 100000"));
    let shown = answer(&mut session, count);
    assert!(shown.contains("100000|5000050000"), "{shown}");
    put(&disk, "/t.ndjson.gz", &member("{\"i\": 1}\n{\"i\": 2}\n"));
    for (from, expected) in [
        ("read_csv('/t.csv.gz')", "100000|5000050000"),
        ("'/t.csv.gz'", "100000|5000050000"),
        ("read_json('/t.ndjson.gz')", "2|3"),
        ("'/t.ndjson.gz'", "2|3"),
    ] {
        let shown = answer(&mut session, &format!("SELECT count(*), sum(i) FROM {from}"));
        assert!(shown.contains(expected), "{from}: {shown}");
    }
    put(&disk, "/t.csv.gz", &changed);
    let shown = answer(&mut session, "SELECT count(*), sum(i) FROM '/t.csv.gz'");
    assert!(shown.contains("XX001"), "{shown}");
}
