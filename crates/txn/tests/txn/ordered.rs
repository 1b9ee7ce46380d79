//! Commits that are ordered first and waited for later: one sync for many, nothing seen before.

use txn::{CommitMeta, Isolation, Ordered, Transaction};
use vfs::{Env, FaultKind, FaultPlan, OpClasses, SimVfs};

use crate::common::{T, engine, get, options, try_open};

fn change(engine: &std::sync::Arc<txn::Engine>, key: &[u8]) -> Transaction {
    let mut transaction = engine.begin(Isolation::ReadCommitted);
    transaction.put(T, key, b"new".to_vec()).unwrap();
    transaction
}

/// Ten commits of one thread go to the disk together with the first wait; until then nobody sees any.
#[test]
fn the_first_wait_serves_all() {
    let engine = engine(1);
    let ordered: Vec<Ordered> =
        (0..10u8).map(|i| change(&engine, &[i]).order(CommitMeta::default()).unwrap()).collect();
    let before = engine.stats().log.syncs;
    assert_eq!(engine.visible().0, 0);
    assert!(ordered.iter().all(|commit| !commit.is_visible()));

    let mut waiting = ordered.into_iter();
    assert_eq!(waiting.next().unwrap().wait().unwrap().csn.0, 1);
    assert!(waiting.as_slice().iter().all(Ordered::is_visible));
    let rest: Vec<u64> = waiting.map(|commit| commit.wait().unwrap().csn.0).collect();
    assert_eq!(rest, (2..=10).collect::<Vec<_>>());
    assert_eq!(engine.stats().log.syncs, before + 1);
    assert_eq!(engine.visible().0, 10);
}

/// Rows stay locked until the commit is visible, so that the next owner of the lock sees the
/// commit.
#[test]
fn rows_stay_locked_until_the_wait_is_over() {
    let engine = engine(2);
    let ordered = change(&engine, b"k").order(CommitMeta::default()).unwrap();
    let mut other = engine.begin(Isolation::ReadCommitted);
    assert_eq!(other.try_lock(T, b"k").unwrap(), None);
    ordered.wait().unwrap();
    assert_eq!(other.try_lock(T, b"k").unwrap(), Some(txn::Locked::Changed));
    assert_eq!(get(&other, b"k").unwrap().as_deref(), Some(&b"new"[..]));
}

/// A commit with a place in the log cannot be taken back: dropping it waits for it.
#[test]
fn dropping_an_ordered_commit_waits_for_it() {
    let engine = engine(3);
    drop(change(&engine, b"k").order(CommitMeta::default()).unwrap());
    assert_eq!(engine.visible().0, 1);
    assert_eq!(engine.stats().locked_rows, 0);
}

/// A transaction that wrote nothing has nothing to wait for, and makes no commit.
#[test]
fn one_that_only_read_is_done_at_once() {
    let engine = engine(4);
    change(&engine, b"k").commit(CommitMeta::default()).unwrap();
    let ordered =
        engine.begin(Isolation::Serializable).order(CommitMeta::default()).expect("nothing to do");
    assert!(ordered.is_visible());
    assert_eq!(ordered.wait().unwrap().csn.0, 1);
}

/// A sync that fails leaves all that it was for unknown, and nothing is taken after it.
#[test]
fn a_failed_sync_is_told_to_all_that_wait() {
    let disk = SimVfs::unrecorded();
    let engine = try_open(&Env::sim(&disk, 5), options()).expect("a new database opens");
    let ordered: Vec<Ordered> =
        (0..3u8).map(|i| change(&engine, &[i]).order(CommitMeta::default()).unwrap()).collect();
    let on = OpClasses::CHANGES;
    disk.fail(FaultPlan { nth: 1, kind: FaultKind::Eio, once: false, on });
    for commit in ordered {
        assert_eq!(commit.wait().unwrap_err().sqlstate(), "58030");
    }
    assert_eq!(engine.visible().0, 0);
    disk.heal();
    assert!(change(&engine, b"k").commit(CommitMeta::default()).is_err());
}
