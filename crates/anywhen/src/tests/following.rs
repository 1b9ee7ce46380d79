//! Following: whole commits in their order, and only what was asked for.

use crate::{Create, Csn, Database, Following, Options};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use vfs::{Env, SimVfs};

fn open(env: &Env) -> Database {
    let options = Options { create: Create::IfMissing, ..Options::default() };
    Database::open_env(env, Path::new("/data"), options).expect("opens")
}

/// All that is given until it is over, as commit and key.
fn all(database: &Database, mut following: Following) -> Vec<(u64, String)> {
    following.until = following.until.min(database.newest());
    let mut all = Vec::new();
    while !following.is_over() {
        let before = following.at;
        let changes = following.next(database, 3).expect("follows");
        assert!(changes.iter().all(|change| change.csn > before && change.csn <= following.at));
        assert!(following.at > before, "it moves on");
        all.extend(changes.into_iter().map(|change| (change.csn.0, change.key)));
    }
    all
}

/// A search among all documents, once the notes in memory are gone, gives the same changes as the notes;
/// and from every beginning the rest comes.
#[test]
fn the_past_is_told_as_the_present_was() {
    let env = Env::sim(&SimVfs::new(1), 1);
    let database = open(&env);
    let collection = database.collection("c").expect("made");
    for n in 0..40 {
        collection.put(&format!("k{}", n % 7), format!("{{\"n\":{n}}}")).expect("put");
    }
    let mut together = database.begin().expect("begins");
    for n in 0..9 {
        together.collection("c").expect("there").put(&format!("k{n}"), "[]").expect("put");
    }
    let csn = together.commit().expect("commits");
    database.collection("d").expect("made").put("x", "1").expect("put");
    let then = all(&database, Following::after(Csn(0)));
    assert_eq!(then.len(), 50);
    assert!(then.is_sorted(), "commits come in their order, and keys within one");
    drop(collection);
    database.close().expect("closes");

    let database = open(&env);
    assert_eq!(all(&database, Following::after(Csn(0))), then);
    let rest: Vec<_> = then.iter().filter(|(at, _)| *at > 20).cloned().collect();
    assert_eq!(all(&database, Following::after(Csn(20))), rest);

    let mut following = Following::after(Csn(0));
    (following.collection, following.key) = (Some("c".into()), Some("k2".into()));
    following.until = csn;
    let of_one: Vec<_> = then.iter().filter(|(_, key)| key == "k2").cloned().collect();
    assert_eq!(all(&database, following), of_one);
}

/// A subscriber hears of every commit once it is visible, whatever the commit writes, and of none after
/// the subscription has ended.
#[test]
fn a_subscriber_hears_of_each_commit_until_it_leaves() {
    let env = Env::sim(&SimVfs::new(2), 2);
    let database = open(&env);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    let subscription = database.subscribe(move |newest| told.lock().push(newest));
    let before = database.newest().0;
    let collection = database.collection("c").expect("made");
    collection.put("a", "1").expect("put");
    collection.put("a", "1").expect("put, and nothing changes");
    database.collection("d").expect("made").put("x", "1").expect("put");
    assert_eq!(*heard.lock(), (before + 1..=before + 4).map(Csn).collect::<Vec<_>>());
    assert_eq!(heard.lock().last(), Some(&database.newest()));
    drop(subscription);
    collection.put("a", "2").expect("put");
    assert_eq!(heard.lock().len(), 4);
    drop(collection);
    database.close().expect("a subscription does not keep it open");
}
