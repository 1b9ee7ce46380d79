//! Documents that begin anew: what was before is nowhere, at no moment, however long it was.

use crate::world::World;
use document::{Allowed, CollectionOptions, DocumentError, Meta, Revision};
use json::Tape;
use store::Csn;
use txn::{CommitMeta, Isolation};
use vfs::{OpenMode, Vfs};

const SECRET: &str = "a word that stands nowhere else";

fn tape(json: &str) -> Tape {
    Tape::parse(json).expect("parses")
}

/// A document of several chunks, with more revisions than one page of their list has.
fn grown(options: CollectionOptions) -> World {
    let world = World::with(1, options);
    let list = vec!["7"; 600].join(",");
    world
        .docs
        .put("d", format!("{{\"n\":0,\"secret\":\"{SECRET}\",\"list\":[{list}]}}"))
        .expect("puts");
    for n in 1..=1_100 {
        world.docs.edit("d", |edit| edit.set("$.n", n.to_string())).expect("edits");
    }
    world.docs.put("other", "[1]").expect("puts");
    world
}

/// Looks at the document from all sides: it has one revision, `[true]`.
fn begins_anew(world: &World) {
    let now = world.docs.get("d").expect("reads").expect("it is there");
    assert_eq!((now.to_json().expect("writes").as_str(), now.revision()), ("[true]", Revision(1)));
    let history = world.docs.history("d", 9).expect("reads");
    let csn = history.get(0).expect("one").csn;
    assert_eq!(history.len(), 1);
    for past in [1, 2, 1_101, csn.0 - 1].into_iter().filter(|past| *past < csn.0) {
        let then = world.docs.at(store::Csn(past)).get("d").expect("reads");
        assert!(then.is_none(), "at commit {past}");
    }
    assert!(world.docs.at(Revision(2)).get("d").is_err());
    assert!(world.docs.node_history("d", "$.secret").is_err());
    let collections = [&world.docs];
    let told = world.documents.changes(&collections, store::Csn(0), csn, usize::MAX);
    let (told, upto) = told.expect("reads");
    let of_it: Vec<u64> =
        told.iter().filter(|told| told.key == "d").map(|told| told.revision.0).collect();
    assert_eq!((of_it, upto), (vec![1], csn));
    assert_eq!(world.docs.len().expect("counts"), 2);
}

/// With and without digests and path summaries, from memory and from files, and after compaction; then
/// no file has the word that it had.
#[test]
fn what_is_replaced_never_was() {
    for with in [false, true] {
        let options =
            CollectionOptions { hashes: with, path_summary: with, ..CollectionOptions::default() };
        let mut world = grown(options);
        world.flush();
        let meta = Meta::new("ada", "anew");
        let done = world.docs.replace("d", &tape("[true]"), &meta).expect("replaces");
        assert_eq!((done.revision, done.changed), (Revision(1), true));
        begins_anew(&world);
        world = world.reopen();
        begins_anew(&world);
        world.compact();
        begins_anew(&world);
        world.documents.engine().scrub().expect("scrubs");
        begins_anew(&world);
        for (path, length) in world.disk.files() {
            let mut bytes = vec![0; length as usize];
            let file = world.disk.open(&path, OpenMode::Read).expect("opens");
            file.read_exact_at(&mut bytes, 0).expect("reads");
            let has_it = bytes.windows(SECRET.len()).any(|found| found == SECRET.as_bytes());
            assert!(!has_it, "{}", path.display());
        }
        world.docs.edit("d", |edit| edit.set("$[0]", "false")).expect("it goes on");
        let diff = world.docs.diff("d", Revision(1), Revision(2)).expect("reads");
        assert_eq!(diff.changes.len(), 1);
        if with {
            let summary = world.docs.path_summary("d", Revision(2)).expect("reads");
            assert_eq!(summary.expect("it was there").len(), 1);
        }
    }
}

/// A document that is replaced by an equal value begins anew as well, also one that was removed or
/// never existed. It is not replaced where its version differs from the one that the caller expects,
/// even under the same revision.
#[test]
fn whatever_was_there_before() {
    let world = World::new(1, false);
    let replace = |key: &str, only_of: Option<Csn>| {
        let meta = Meta { only_of, ..Meta::default() };
        world.docs.replace(key, &tape("[true]"), &meta)
    };
    for _ in 0..2 {
        replace("d", None).expect("replaces");
        replace("other", None).expect("replaces");
        begins_anew(&world);
    }
    let known = |key: &str| world.docs.get(key).expect("reads").expect("it is there").csn();
    let first = known("d");
    replace("d", Some(first)).expect("it is that one");
    assert_ne!(known("d"), first);
    assert!(matches!(replace("d", Some(first)), Err(DocumentError::Stale { .. })));
    world.docs.remove("d").expect("removes");
    assert!(matches!(replace("d", Some(first)), Err(DocumentError::Stale { .. })));
    replace("d", Some(Csn::ZERO)).expect("there is no document");
    for (revision, is_it) in [(0, false), (2, false), (1, true)] {
        let meta = Meta { only_at: Some(Revision(revision)), ..Meta::default() };
        let done = world.docs.replace("d", &tape("[true]"), &meta);
        assert_eq!(done.is_ok(), is_it, "at revision {revision}");
    }
    begins_anew(&world);
}

/// A document that was removed is at the revision that removed it, for who writes it again; or there is none.
#[test]
fn a_removed_document_has_a_newest_revision() {
    let world = World::new(1, false);
    for (revision, is_it) in [(0, true), (1, false), (2, true), (3, false)] {
        let key = format!("d{revision}");
        world.docs.put(&key, "1").expect("puts");
        assert_eq!(world.docs.remove(&key).expect("removes").revision, Revision(2));
        let meta = Meta { only_at: Some(Revision(revision)), ..Meta::default() };
        let done = world.docs.put_with(&key, "2", &meta);
        assert_eq!(done.is_ok(), is_it, "at revision {revision}");
        assert_eq!(world.docs.newest(&key).expect("reads").0, if is_it { 3 } else { 2 });
    }
}

/// Whether a write creates a document or changes one is known under the lock of the write alone: who may do one
/// of the two is refused the other there, whichever way the document is written, and nothing is changed.
#[test]
fn a_writer_may_only_create_or_only_modify() {
    let long = format!("[{}]", vec!["123456789"; 2 << 20].join(","));
    for way in ["put", "replace", "import", "long import", "revert"] {
        let world = World::new(1, false);
        world.docs.put("there", "1").expect("puts");
        world.docs.put("gone", "1").expect("puts");
        world.docs.remove("gone").expect("removes");
        let write = |key: &str, allowed: Allowed| {
            let meta = Meta { allowed, ..Meta::default() };
            match way {
                "put" => world.docs.put_with(key, "2", &meta),
                "replace" => world.docs.replace(key, &tape("2"), &meta),
                "import" => world.docs.import(key, "2".as_bytes(), &meta),
                "long import" => world.docs.import(key, long.as_bytes(), &meta),
                _ => world.docs.revert(key, Revision(1), &meta),
            }
        };
        let creator = Allowed { create: true, modify: false };
        let modifier = Allowed { create: false, modify: true };
        for (key, other) in [("there", creator), ("gone", modifier)] {
            let newest = world.docs.newest(key).expect("reads");
            let is_there = key == "there";
            match write(key, other) {
                Err(DocumentError::Denied { exists, .. }) => assert_eq!(exists, is_there, "{way}"),
                done => panic!("{way} {key}: {done:?}"),
            }
            assert_eq!(world.docs.newest(key).expect("reads"), newest, "{way}: nothing is changed");
        }
        assert!(!write("there", modifier).expect("it may").created, "{way}");
        assert!(write("gone", creator).expect("it may").created, "{way}");
    }
}

/// Readers of changes that follow while a document is erased learn that it is gone; of what it was they
/// learn nothing.
#[test]
fn an_erasure_is_told_as_a_removal() {
    let world = grown(CollectionOptions::default());
    let before = world.documents.engine().visible();
    let mut txn = world.documents.engine().begin(Isolation::ReadCommitted);
    world.docs.remove_in_txn(&mut txn, "d").expect("removes");
    world.docs.erase_in_txn(&mut txn, "d").expect("erases");
    let csn = txn.commit(CommitMeta::default()).expect("commits").csn;
    let told = |after| {
        let (told, upto) =
            world.documents.changes(&[&world.docs], after, csn, 1000).expect("reads");
        assert_eq!(upto, csn);
        let of_it = told.into_iter().filter(|told| told.key == "d");
        of_it.map(|told| (told.csn, told.revision.0, told.deleted)).collect::<Vec<_>>()
    };
    assert_eq!(told(before), [(csn, 0, true)]);
    assert_eq!(told(store::Csn(0)), [(csn, 0, true)]);
}
