//! Many rows for a table that never had any, by `COPY`, `INSERT ... SELECT` or `CREATE TABLE AS`: too
//! much to be written row by row, and so loaded.

use std::sync::Arc;

use session::{Instance, Session};
use vfs::SimVfs;

use crate::client::{connect, instance, instance_on, query};

const ROWS: usize = 30_000;

/// The rows `id, name, half`, in an order of their own.
fn rows() -> Vec<String> {
    let shuffled = (0..ROWS).map(|at| at * 7919 % ROWS);
    shuffled.map(|id| format!("{id}\tname {id}\t{}", id / 2)).collect()
}

/// The answer to a statement, `data` being the data of a COPY.
fn answer(session: &mut Session, text: &str, data: &[String]) -> String {
    let mut shown = String::new();
    let mut data = data.iter().map(String::as_str).chain(["\\."]);
    query(session, text, &mut data, &mut shown);
    let shown = shown.trim_end();
    match shown.rsplit_once("\n(") {
        // Rows without what is written above and below them.
        Some((rows, _)) => rows.split_once('\n').map_or("", |(_, rows)| rows).to_owned(),
        None => shown.to_owned(),
    }
}

fn prepared() -> (Arc<Instance>, Session) {
    let instance = instance();
    let mut session = connect(&instance);
    let table = "create table t (id int primary key, name text unique, half int not null);
        create index on t (half);
        create table other (id int)";
    assert_eq!(answer(&mut session, table, &[]).lines().last(), Some("CREATE TABLE"));
    (instance, session)
}

const COUNTS: &str = "select count(*), sum(id), min(name), max(half) from t";
const ALL: &str = "30000|449985000|name 0|14999";
const NONE: &str = "0|NULL|NULL|NULL";

/// The transaction sees what it has copied, by key and by index, changes it and goes back to savepoints;
/// others see it once it has committed, and the past does not know it.
#[test]
fn the_transaction_sees_what_it_has_copied() {
    let (instance, mut one) = prepared();
    let mut other = connect(&instance);
    answer(&mut one, "begin", &[]);
    assert_eq!(answer(&mut one, "copy t from stdin", &rows()), "COPY 30000");
    assert_eq!(answer(&mut one, COUNTS, &[]), ALL);
    assert_eq!(answer(&mut other, COUNTS, &[]), NONE);
    let by_index =
        "select id from t where half = 77 union all select id from t where name = 'name 5'";
    assert_eq!(answer(&mut one, by_index, &[]), "154\n155\n5");
    answer(&mut one, "savepoint s", &[]);
    assert_eq!(answer(&mut one, "update t set half = -1 where id < 10", &[]), "UPDATE 10");
    assert_eq!(answer(&mut one, "delete from t where id >= 20000", &[]), "DELETE 10000");
    assert_eq!(answer(&mut one, "select count(*) from t where half = -1", &[]), "10");
    answer(&mut one, "rollback to s", &[]);
    assert_eq!(answer(&mut one, COUNTS, &[]), ALL);
    let again = answer(&mut one, "insert into t values (30000, 'name 30000', 15000)", &[]);
    assert_eq!(again, "INSERT 0 1");
    assert_eq!(answer(&mut one, "delete from t where id = 30000", &[]), "DELETE 1");
    assert_eq!(answer(&mut one, "commit", &[]), "COMMIT");
    assert_eq!(answer(&mut other, COUNTS, &[]), ALL);
    let versions = "select count(*), count(distinct _version) from t for system_time all";
    assert_eq!(answer(&mut other, versions, &[]), "30000|1");
    assert_eq!(answer(&mut other, "update t set half = 0 where id = 3", &[]), "UPDATE 1");
    assert_eq!(answer(&mut other, versions, &[]), "30001|2");
}

/// Keys that come twice are refused as an insertion refuses them, whichever index finds them, and no row
/// remains.
#[test]
fn keys_that_come_twice_are_refused() {
    let (_instance, mut session) = prepared();
    for (last, constraint, key) in [
        ("7\tname x\t3", "t_pkey", "(id)=(7)"),
        ("30001\tname 7\t3", "t_name_key", "(name)=(name 7)"),
    ] {
        let mut rows = rows();
        rows.push(last.to_owned());
        let refused = answer(&mut session, "copy t from stdin", &rows);
        let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
        assert!(refused.contains(&message), "{refused}");
        assert!(refused.contains(&format!("Key {key} already exists.")), "{refused}");
        assert_eq!(answer(&mut session, COUNTS, &[]), NONE);
    }
    let mut rows = rows();
    rows.push("30001\tname y\t\\N".to_owned());
    let refused = answer(&mut session, "copy t from stdin", &rows);
    assert!(refused.contains("null value in column \"half\""), "{refused}");
    assert!(refused.contains("COPY t, line 30001"), "{refused}");
    assert_eq!(answer(&mut session, COUNTS, &[]), NONE);
    rows.pop();
    assert_eq!(answer(&mut session, "copy t from stdin", &rows), "COPY 30000");
    assert_eq!(answer(&mut session, COUNTS, &[]), ALL);
}

/// Beside another writer rows are written one by one, and nobody waits; foreign keys are checked either
/// way, those that point into the table itself as well.
#[test]
fn nobody_waits_for_a_copy() {
    let (instance, mut one) = prepared();
    let mut other = connect(&instance);
    answer(&mut other, "begin", &[]);
    answer(&mut other, "insert into t values (-1, 'other', 0)", &[]);
    assert_eq!(answer(&mut one, "copy t from stdin", &rows()), "COPY 30000");
    answer(&mut other, "commit", &[]);
    assert_eq!(answer(&mut one, "select count(*) from t", &[]), "30001");

    answer(&mut one, "create table tree (id int primary key, up int references tree)", &[]);
    let tree = |last: usize| -> Vec<String> {
        (0..ROWS * 2).map(|id| format!("{id}\t{}", (id + 1) % last)).collect()
    };
    let refused = answer(&mut one, "copy tree from stdin", &tree(ROWS * 2 + 1));
    assert!(refused.contains("Key (up)=(60000) is not present in table \"tree\""), "{refused}");
    assert_eq!(answer(&mut one, "copy tree from stdin", &tree(ROWS * 2)), "COPY 60000");
    let joined = "select count(*) from tree a join tree b on a.up = b.id";
    assert_eq!(answer(&mut one, joined, &[]), "60000");
}

/// True if the open transaction of another session has loaded the table: nobody else writes to it
/// meanwhile.
fn is_loaded(instance: &Arc<Instance>, table: &str) -> bool {
    let mut session = connect(instance);
    answer(&mut session, "set lock_timeout = '20ms'", &[]);
    let refused = answer(&mut session, &format!("insert into {table} default values"), &[]);
    refused.contains("lock timeout")
}

/// A query's rows are loaded where they are many and the table is new. They are written row by row
/// where they are few, where the table has had rows, and where rows may meet others.
#[test]
fn queries_fill_tables() {
    let (instance, mut one) = prepared();
    answer(&mut one, "create table plain (id int, name text)", &[]);
    let many = "select n, 'name ' || n from generate_series(0, 29999) n";
    let few = "select n, 'name ' || n from generate_series(0, 99) n";
    for (text, tag, loads) in [
        (format!("insert into plain {many}"), "INSERT 0 30000", true),
        (format!("insert into plain {few}"), "INSERT 0 100", false),
        (format!("insert into plain {many} on conflict do nothing"), "INSERT 0 30000", false),
        (format!("with gone as (delete from t) insert into plain {many}"), "INSERT 0 30000", false),
    ] {
        answer(&mut one, "begin", &[]);
        assert_eq!(answer(&mut one, &text, &[]), tag, "{text}");
        assert_eq!(is_loaded(&instance, "plain"), loads, "{text}");
        answer(&mut one, "rollback", &[]);
    }
    answer(&mut one, "begin", &[]);
    assert_eq!(answer(&mut one, &format!("create table made as {many}"), &[]), "SELECT 30000");
    let sums = "select count(*), sum(id), min(name) from ";
    assert_eq!(
        answer(&mut one, &format!("{sums} (select n as id, name from made v (n, name)) v"), &[]),
        "30000|449985000|name 0"
    );
    assert_eq!(answer(&mut one, "commit", &[]), "COMMIT");
    answer(&mut one, "insert into plain values (-1, 'first')", &[]);
    answer(&mut one, "begin", &[]);
    assert_eq!(answer(&mut one, &format!("insert into plain {many}"), &[]), "INSERT 0 30000");
    assert!(!is_loaded(&instance, "plain"), "it has had a row");
    answer(&mut one, "rollback", &[]);
}

/// An insertion that is loaded is what it would be row by row: defaults, generated columns and indexes
/// are filled, `RETURNING` sees the rows, keys and foreign keys are checked, and the statement does not
/// see what it inserts.
#[test]
fn insertions_that_are_loaded_are_insertions() {
    let (instance, mut one) = prepared();
    let mut other = connect(&instance);
    let insert = "insert into t select n, 'name ' || n, n / 2 from generate_series(0, 29999) n";
    let returned = answer(&mut one, &format!("{insert} returning id"), &[]);
    assert_eq!(returned.lines().count(), ROWS);
    assert_eq!(answer(&mut other, COUNTS, &[]), ALL);
    assert_eq!(answer(&mut other, "select id from t where name = 'name 7'", &[]), "7");
    answer(
        &mut one,
        "create table copy (id int primary key, n serial, twice int generated always as (id * 2) stored, up int references copy)",
        &[],
    );
    let itself = "insert into copy (id, up) select id, (id + 1) % 30001 from t union all select 30000, (select count(*) from copy)";
    assert_eq!(answer(&mut one, itself, &[]), "INSERT 0 30001");
    let sums = "select count(*), max(n), sum(twice), min(up) from copy";
    assert_eq!(answer(&mut one, sums, &[]), "30001|30001|900030000|0");
    answer(&mut one, "create table twice (id int primary key)", &[]);
    let twice = "insert into twice select id % 29999 from t";
    let refused = answer(&mut one, twice, &[]);
    assert!(refused.contains("Key (id)=(0) already exists."), "{refused}");
    assert_eq!(answer(&mut one, "select count(*) from twice", &[]), "0");
    let dangling = "create table dangling (id int references t); insert into dangling select n from generate_series(0, 30000) n";
    let refused = answer(&mut one, dangling, &[]);
    assert!(refused.contains("Key (id)=(30000) is not present in table \"t\"."), "{refused}");
    answer(&mut one, "begin; create table back (id int); savepoint s", &[]);
    answer(&mut one, "insert into back select id from t", &[]);
    answer(&mut one, "rollback to s", &[]);
    assert_eq!(answer(&mut one, "select count(*) from back", &[]), "0");
    assert_eq!(
        answer(&mut one, "insert into back select id from t where id > 9", &[]),
        "INSERT 0 29990"
    );
    answer(&mut one, "commit", &[]);
    assert_eq!(answer(&mut other, "select count(*) from back", &[]), "29990");
}

/// A COPY whose first rows are in files already, which another thread writes, and that then fails or is told to stop,
/// changes nothing and leaves no file. The next one loads all.
#[test]
fn a_copy_that_ends_late_leaves_nothing() {
    let disk = SimVfs::unrecorded();
    let instance = instance_on(&disk);
    let mut session = connect(&instance);
    let files = || {
        let names = disk.files().into_iter().map(|file| file.0.to_string_lossy().into_owned());
        names.filter(|name| name.ends_with("-bulk.seg")).count()
    };
    // More than two buffers of the sorter.
    let long = "long ".repeat(20_000);
    let rows: Vec<String> = (0..800).map(|id| format!("{id}\t{id} {long}")).collect();
    let wrong: Vec<String> = rows.iter().cloned().chain(["none\t".to_owned()]).collect();
    for method in ["heap", "columnar"] {
        let table = format!("create table {method}_t (id int, t text) using {method}");
        assert_eq!(answer(&mut session, &table, &[]), "CREATE TABLE");
        let (copy, before) = (format!("copy {method}_t from stdin"), files());
        let count = format!("select count(*), sum(id), sum(length(t)) from {method}_t");
        let failed = answer(&mut session, &copy, &wrong);
        assert!(failed.contains("22P02"), "{failed}");
        assert!(failed.contains(&format!("COPY {method}_t, line 801, column id")), "{failed}");
        assert_eq!((answer(&mut session, &count, &[]).as_str(), files()), ("0|NULL|NULL", before));
        let (process, secret) = (session.process_id(), session.secret().to_vec());
        let mut stopped = String::new();
        let mut data = rows.iter().enumerate().map(|(at, row)| {
            if at == 700 {
                instance.cancel(process, &secret);
            }
            row.as_str()
        });
        query(&mut session, &copy, &mut data, &mut stopped);
        assert!(stopped.contains("57014"), "{stopped}");
        assert_eq!((answer(&mut session, &count, &[]).as_str(), files()), ("0|NULL|NULL", before));
        assert_eq!(answer(&mut session, &copy, &rows), "COPY 800");
        assert!(files() > before);
        assert_eq!(answer(&mut session, &count, &[]), "800|319600|80003090");
    }
}
