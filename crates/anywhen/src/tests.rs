//! The promises of [`Database`] that span documents and collections: transactions, backups of a
//! database in use; options and ends of collections in a file of their own.

use crate::{Database, DocumentError, Error, Meta, Revision, TimeAxis};

#[cfg(feature = "sql")]
mod backups;
mod collections;
mod flips;
#[cfg(feature = "sql")]
mod follower;
mod following;
mod memory;
#[cfg(feature = "sql")]
mod objects;
#[cfg(feature = "sql")]
mod sql_backups;
#[cfg(feature = "sql")]
mod tables;
mod verifying;

pub(crate) fn text(database: &Database, collection: &str, key: &str) -> Option<String> {
    let document = database.collection(collection).unwrap().get(key).unwrap();
    document.map(|document| document.to_json().unwrap())
}

/// All documents of a transaction change with one commit, or none does; no reader sees them before.
#[test]
fn a_transaction_is_one_commit() {
    let database = Database::open_in_memory().unwrap();
    let mut txn = database.begin().unwrap();
    txn.collection("a").unwrap().put("x", "1").unwrap();
    txn.collection("b").unwrap().put("y", "[2]").unwrap();
    assert_eq!(txn.collection("b").unwrap().get("y").unwrap().unwrap().to_json().unwrap(), "[2]");
    assert_eq!((text(&database, "a", "x"), text(&database, "b", "y")), (None, None));
    let csn = txn.commit().unwrap();
    assert_eq!(database.collection("a").unwrap().history("x", 9).unwrap().get(0).unwrap().csn, csn);
    assert_eq!(database.collection("b").unwrap().history("y", 9).unwrap().get(0).unwrap().csn, csn);

    let mut txn = database.begin().unwrap();
    txn.collection("a").unwrap().put("x", "3").unwrap();
    txn.collection("b").unwrap().remove("y").unwrap();
    txn.rollback();
    assert_eq!(text(&database, "a", "x").unwrap(), "1");
    assert_eq!(text(&database, "b", "y").unwrap(), "[2]");
}

/// A savepoint brings documents back to how the transaction had them, those unknown then included;
/// an edit that fails leaves its document as it was.
#[test]
fn savepoints_and_failed_edits() {
    let database = Database::open_in_memory().unwrap();
    database.collection("a").unwrap().put("x", r#"{"n":0}"#).unwrap();
    let mut txn = database.begin().unwrap();
    txn.collection("a").unwrap().edit("x", |x| x.set("$.n", "1")).unwrap();
    let savepoint = txn.savepoint();
    for _ in 0..2 {
        txn.collection("a").unwrap().edit("x", |x| x.set("$.m", "[9]")).unwrap();
        txn.collection("a").unwrap().put("late", "0").unwrap();
        txn.rollback_to(&savepoint);
    }
    let mut a = txn.collection("a").unwrap();
    let failed = a.edit("x", |x| {
        x.set("$.n", "7")?;
        x.remove("$.nothing")
    });
    assert!(matches!(failed, Err(Error::Document(DocumentError::NoNode(_)))));
    txn.commit().unwrap();
    assert_eq!(text(&database, "a", "x").unwrap(), r#"{"n":1}"#);
    assert_eq!(text(&database, "a", "late"), None);
    assert_eq!(database.collection("a").unwrap().newest("x").unwrap(), Revision(2));
}

/// The first to change a document wins, also past revision 1,024, where the page of revisions that
/// carries the lock is no longer the one that is written.
#[test]
fn the_first_to_change_wins() {
    let database = Database::open_in_memory().unwrap();
    let a = database.collection("a").unwrap();
    for revisions in [1u64, 1_100] {
        let newest = a.newest("x").map_or(0, |revision| revision.0);
        for n in newest..revisions {
            a.put("x", n.to_string()).unwrap();
        }
        let mut slow = database.begin().unwrap();
        slow.collection("a").unwrap().get("x").unwrap();
        a.put("x", "\"quick\"").unwrap();
        let late = slow.collection("a").unwrap().put("x", "\"slow\"").map(|_| ());
        assert!(late.is_err(), "at {revisions} revisions");
        assert_eq!(text(&database, "a", "x").unwrap(), "\"quick\"");
    }
}

/// Two transactions that each read what the other writes: SERIALIZABLE lets one through.
#[test]
fn write_skew_is_seen_by_serializable_alone() {
    for (serializable, both) in [(false, true), (true, false)] {
        let database = Database::open_in_memory().unwrap();
        let doctors = database.collection("doctors").unwrap();
        doctors.put("ada", "true").unwrap();
        doctors.put("grace", "true").unwrap();
        let begin = || if serializable { database.begin_serializable() } else { database.begin() };
        let (mut one, mut two) = (begin().unwrap(), begin().unwrap());
        for (txn, mine, other) in [(&mut one, "ada", "grace"), (&mut two, "grace", "ada")] {
            let mut doctors = txn.collection("doctors").unwrap();
            assert_eq!(doctors.get(other).unwrap().unwrap().to_json().unwrap(), "true");
            doctors.put(mine, "false").unwrap();
        }
        one.commit().unwrap();
        assert_eq!(two.commit().is_ok(), both, "serializable: {serializable}");
    }
}

/// A backup holds the database as of one commit; what is written meanwhile or later is not in it.
#[test]
fn a_backup_is_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let database = Database::create(path("data")).unwrap();
    database.collection("a").unwrap().put("x", "1").unwrap();
    let csn = database.backup(path("backup"), |_| {}).unwrap();
    assert_eq!(csn, database.newest());
    database.collection("a").unwrap().put("x", "2").unwrap();
    assert!(database.backup(path("backup"), |_| {}).is_err(), "nothing is overwritten");
    let restored = Database::restore(path("backup"), path("restored"), |_| {}).unwrap();
    assert_eq!(text(&restored, "a", "x").unwrap(), "1");
    restored.collection("a").unwrap().put("x", "3").unwrap();
    restored.close().unwrap();
    let restored = Database::open(path("restored")).unwrap();
    assert_eq!(text(&restored, "a", "x").unwrap(), "3");
    assert_eq!(text(&database, "a", "x").unwrap(), "2");
}

/// The steps along a node's history, with a gap in which the node was not there.
#[test]
fn time_axes_of_a_node() {
    let database = Database::open_in_memory().unwrap();
    let a = database.collection("a").unwrap();
    a.put("x", r#"{"n":1}"#).unwrap();
    a.put_with("x", r#"{"n":1}"#, &Meta { keep_unchanged: true, ..Meta::default() }).unwrap();
    a.edit("x", |x| x.set("$.n", "3")).unwrap();
    a.edit("x", |x| x.remove("$.n")).unwrap();
    a.revert("x", Revision(1), &Meta::default()).unwrap();
    let step = |axis| a.node_version("x", "$.n", axis).unwrap().map(|v| (v.from.0, v.value));
    let value = |from: u64, value: &str| Some((from, value.to_owned()));
    assert_eq!(step(TimeAxis::First), value(1, "1"));
    assert_eq!(step(TimeAxis::Last), value(5, "1"));
    assert_eq!(step(TimeAxis::At(Revision(2))), value(1, "1"));
    assert_eq!(step(TimeAxis::At(Revision(4))), None);
    assert_eq!(step(TimeAxis::Next(Revision(1))), value(3, "3"));
    assert_eq!(step(TimeAxis::Next(Revision(4))), value(5, "1"));
    assert_eq!(step(TimeAxis::Previous(Revision(4))), value(3, "3"));
    assert_eq!(step(TimeAxis::Previous(Revision(5))), value(3, "3"));
    assert_eq!(step(TimeAxis::Previous(Revision(2))), None);
}
