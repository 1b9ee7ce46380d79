//! Documents that come in as a stream, larger than what is parsed as a whole: what a power loss, a
//! failing disk or a broken stream leaves of them.

use crate::world::{Dice, World};
use document::{CollectionOptions, DocumentError, Meta, Nodes, Retention, Revision};
use json::jsonb::Jsonb;
use std::io::{Error, Read};
use store::StoreError;
use txn::{Isolation, TxnError};
use vfs::{CrashPolicy, FaultKind, FaultPlan, OpClasses, SimVfs};

const HASHED: CollectionOptions =
    CollectionOptions { hashes: true, path_summary: true, history: Retention::Forever };
const ENTRIES: usize = 4_500;

/// An array of 17 MB, which zstd cannot make much of.
fn large() -> String {
    let mut dice = Dice::new(5);
    let mut text = String::from("[");
    for id in 0..ENTRIES {
        text.push_str(&format!("{{\"id\":{id},\"text\":\""));
        (0..250).for_each(|_| text.push_str(&format!("{:016x}", dice.next())));
        text.push_str("\"},");
    }
    text.pop();
    text.push(']');
    assert!(text.len() > 17 << 20);
    text
}

/// A stream that fails after so many bytes.
fn broken(text: &str, after: usize) -> impl Read {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(Error::other("the other side went away"))
        }
    }
    std::io::Cursor::new(text.as_bytes()[..after].to_vec()).chain(Fails)
}

/// The names of the segment files on a disk.
fn segments(disk: &SimVfs) -> usize {
    disk.files().iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "seg")).count()
}

fn has_whole(world: &World, key: &str, text: &str) -> bool {
    match world.docs.get(key).expect("reads") {
        None => false,
        Some(document) => {
            assert_eq!(document.revision(), Revision(1));
            assert!(document.to_json().expect("reads") == text, "it is there, and not whole");
            true
        }
    }
}

/// Power is lost at every operation of an import, and of the flush after it: the document is there as a
/// whole, with its digest, or not at all, and then no file of it is; once acknowledged it stays.
#[test]
fn power_loss_during_an_import() {
    let text = large();
    let world = World::on(SimVfs::new(3), 3, HASHED);
    world.docs.put("small", "{\"n\":1}").unwrap();
    world.flush();
    let begun = world.disk.op_count();
    world.docs.import("large", text.as_bytes(), &Meta::default()).unwrap();
    let engine = world.documents.engine();
    // These commits do not wait for the disk: a checkpoint does.
    let imported = world.disk.op_count();
    world.flush();
    let durable = world.disk.op_count();
    world.docs.edit("large", |edit| edit.set("$[7].id", "-7")).unwrap();
    engine.checkpoint().unwrap();
    let end = world.disk.op_count();
    assert!(imported - begun > 20, "{} operations", imported - begun);
    let (mut there, mut absent) = (0, 0);
    for at in begun..=end {
        // Two of the six ways at each operation, others at the next.
        for policy in CrashPolicy::ALL.into_iter().skip(at % 3).step_by(3) {
            let what = format!("{policy:?} after operation {at} ({begun} to {imported}, {end})");
            let crashed = World::on(world.disk.image(at, &policy, 3), 4, HASHED);
            let small = crashed.docs.get("small").unwrap().expect("it was durable");
            assert_eq!(small.to_json().unwrap(), "{\"n\":1}", "{what}");
            let found = crashed.docs.get("large").unwrap();
            let named = crashed.documents.engine().store().files().segments().count();
            assert_eq!(segments(&crashed.disk), named, "{what}: files that nothing names");
            let Some(found) = found else {
                assert!(at < durable, "{what}: an acknowledged import is lost");
                absent += 1;
                continue;
            };
            there += 1;
            assert_eq!(found.node_count(), 1 + 3 * ENTRIES as u64, "{what}");
            let last = format!("$[{}].id", ENTRIES - 1);
            assert_eq!(found.value(last.as_str()).unwrap(), Some((ENTRIES - 1).to_string()));
            if (at + policy as usize).is_multiple_of(16) {
                let then = crashed.docs.at(Revision(1)).get("large").unwrap().expect("it is there");
                assert!(then.to_json().unwrap() == text, "{what}: not the text that came in");
                assert_eq!(
                    document::digest(then.tree().as_ref()).unwrap(),
                    then.tree().header().digest
                );
            }
        }
    }
    println!("{there} images with the document, {absent} without");
    assert!(there > 50 && absent > 100, "{there} and {absent}");
}

/// A stream that breaks off, is no JSON in the end, or repeats a field leaves neither a document nor a
/// file, and the next import goes well.
#[test]
fn a_stream_that_fails() {
    let text = large();
    let world = World::on(SimVfs::unrecorded(), 1, HASHED);
    let none = |world: &World| {
        assert_eq!(world.docs.get("large").unwrap().map(|d| d.revision()), None);
        assert_eq!(segments(&world.disk), 0, "an import that failed leaves files");
    };
    let import = |stream: &mut dyn Read| world.docs.import("large", stream, &Meta::default());
    let gone = import(&mut broken(&text, 17 << 20)).unwrap_err();
    assert!(matches!(gone, DocumentError::Read(_) | DocumentError::Json(_)), "{gone}");
    none(&world);
    let cut = import(&mut &text.as_bytes()[..text.len() - 1]).unwrap_err();
    assert!(matches!(cut, DocumentError::Json(_)), "{cut}");
    none(&world);
    let twice = text.replace("{\"id\":4499,", "{\"id\":4499,\"id\":0,");
    let twice = import(&mut twice.as_bytes()).unwrap_err();
    assert!(matches!(twice, DocumentError::BadEdit(_)), "{twice}");
    none(&world);
    import(&mut text.as_bytes()).unwrap();
    assert!(has_whole(&world, "large", &text));
}

/// An import held the lock of its document while it waited for the rest of its stream: a client that sent half of a
/// document and stopped kept all other writers from it. Now another writer makes the document meanwhile, and the import
/// says so; an import whose stream breaks off leaves only the other writer's document.
#[test]
fn another_writer_does_not_wait_for_a_stream() {
    let text = large();
    let ends = [text.len() - 1, text.len()];
    for (at, end) in
        [10 << 20, 16 << 20, 17 << 20].into_iter().flat_map(|at| ends.map(|end| (at, end)))
    {
        let world = World::on(SimVfs::unrecorded(), 1, HASHED);
        let docs = world.docs.clone();
        let write = move || {
            let (done, is_done) = std::sync::mpsc::channel();
            let docs = docs.clone();
            std::thread::spawn(move || {
                done.send(docs.put("large", "[1]").map(|done| done.revision))
            });
            let written = is_done.recv_timeout(std::time::Duration::from_secs(20));
            written.expect("another writer waits for the stream").expect("it writes");
        };
        let (first, rest) = text.as_bytes()[..end].split_at(at.min(end));
        let stream = first.chain(Meanwhile(Some(write))).chain(rest);
        let imported = world.docs.import("large", stream, &Meta::default());
        match (imported, end == text.len()) {
            // The first 16 MiB are gathered before the import looks for the document.
            (Ok(done), true) if at < 16 << 20 => assert_eq!(done.revision, Revision(2)),
            (Err(DocumentError::Conflict { revision, .. }), true) => {
                assert_eq!(revision, Revision(1));
            }
            (Err(DocumentError::Json(_) | DocumentError::Conflict { .. }), false) => {}
            (other, _) => panic!("at {at} of {end}: {other:?}"),
        }
        if end < text.len() || at >= 16 << 20 {
            let document = world.docs.get("large").unwrap().expect("the other writer made it");
            assert_eq!(
                (document.to_json().unwrap(), document.revision()),
                ("[1]".into(), Revision(1))
            );
            assert_eq!(segments(&world.disk), 0, "an import that failed leaves files");
        }
    }
}

/// Reads nothing, and does something first.
struct Meanwhile<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Read for Meanwhile<F> {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        if let Some(does) = self.0.take() {
            does();
        }
        Ok(0)
    }
}

/// One operation of an import fails, every seventh in turn: the import says so, nothing of it is seen, others go on
/// unless the log itself failed, and once the disk is well nothing is left of it.
#[test]
fn a_disk_that_fails_during_an_import() {
    let text = large();
    for nth in (0..).step_by(7) {
        let world = World::on(SimVfs::unrecorded(), 3, HASHED);
        world.docs.put("small", "{\"n\":1}").unwrap();
        world.flush();
        let kind = [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite][nth % 3];
        world.disk.fail(FaultPlan { nth, kind, once: true, on: OpClasses::CHANGES });
        let imported = world.docs.import("large", text.as_bytes(), &Meta::default());
        let hit = world.disk.faults_hit() > 0;
        world.disk.heal();
        if !hit {
            assert!(nth > 20 && imported.is_ok());
            break;
        }
        let stopped = match &imported {
            Err(DocumentError::Store(StoreError::Io { .. })) => false,
            // The log had no file for it.
            Err(DocumentError::Txn(TxnError::Log(_))) => false,
            Err(DocumentError::Txn(TxnError::OutcomeUnknown { .. })) => true,
            other => panic!("operation {nth} failed, and the import says {other:?}"),
        };
        let error = imported.unwrap_err();
        assert_eq!(world.docs.get("large").unwrap().map(|d| d.revision()), None);
        let next = world.docs.edit("small", |edit| edit.set("$.n", "2"));
        assert_eq!(next.is_err(), stopped, "operation {nth}: {error}, then {next:?}");
        let disk = world.disk.clone();
        drop(world);
        let world = World::on(disk, 4, HASHED);
        let there = has_whole(&world, "large", &text);
        assert!(!there || stopped, "operation {nth}: refused, and yet it is there");
        let named = world.documents.engine().store().files().segments().count();
        assert_eq!(segments(&world.disk), named, "operation {nth}: files that nothing names");
    }
}

/// The value that a text holds.
fn value_of(text: &str) -> Jsonb {
    Jsonb::parse(text).expect("is a value")
}

fn put(world: &World, key: &str, value: &Jsonb) {
    let mut txn = world.documents.engine().begin(Isolation::ReadCommitted);
    world.docs.put_value_in_txn(&mut txn, key, value).expect("puts");
    txn.commit(Default::default()).expect("commits");
}

/// A large value that a statement puts is written chunk by chunk: as a new document, in the place of a small one, of
/// one that was removed, and not at all where the statement is taken back.
#[test]
fn large_values_of_statements() {
    let world = World::on(SimVfs::unrecorded(), 1, HASHED);
    let value = value_of(&large());
    put(&world, "new", &value);
    world.docs.put("small", "{\"a\": [1, 2, 3]}").unwrap();
    put(&world, "small", &value);
    world.docs.put("removed", format!("[{}0]", "0,".repeat(1_000))).unwrap();
    world.docs.remove("removed").unwrap();
    put(&world, "removed", &value);
    let mut txn = world.documents.engine().begin(Isolation::ReadCommitted);
    let saved = txn.savepoint();
    world.docs.put_value_in_txn(&mut txn, "back", &value).expect("puts");
    let seen = world.docs.tree_in_view(txn.view(), "back", false).unwrap().expect("its own");
    assert!(seen.jsonb().unwrap() == value);
    txn.rollback_to(saved);
    assert!(world.docs.tree_in_view(txn.view(), "back", false).unwrap().is_none());
    txn.commit(Default::default()).expect("commits");

    let check = |world: &World| {
        assert!(world.docs.get("back").unwrap().is_none());
        for (key, revision) in [("new", 1), ("small", 2), ("removed", 3)] {
            let found = world.docs.get(key).unwrap().expect("it is there");
            assert_eq!(found.revision(), Revision(revision), "{key}");
            let tree = found.tree();
            assert!(tree.jsonb().unwrap() == value, "{key} has another value");
            assert_eq!(document::digest(tree.as_ref()).unwrap(), tree.header().digest, "{key}");
        }
        let then = world.docs.at(Revision(1)).get("small").unwrap().expect("it was there");
        assert_eq!(then.to_json().unwrap(), "{\"a\":[1,2,3]}");
    };
    check(&world);
    world.flush();
    check(&world.reopen());
}

/// A new value for a large document is matched with the old one part by part, by a statement and as a stream: what is
/// equal keeps its nodes, and little is written.
#[test]
fn a_large_value_over_another() {
    let world = World::on(SimVfs::unrecorded(), 1, HASHED);
    let text = large();
    world.docs.import("large", text.as_bytes(), &Meta::default()).unwrap();
    let keys = |path: &str| {
        let found = world.docs.get("large").unwrap().expect("it is there");
        found.tree().find(&path.into()).unwrap()
    };
    let (first, last) = (keys("$[0].id"), keys("$[4499].id"));
    let changed = text.replace("{\"id\":2000,", "{\"id\":-2000,");
    world.docs.import("large", changed.as_bytes(), &Meta::default()).unwrap();
    assert_eq!((keys("$[0].id"), keys("$[4499].id")), (first, last));
    // By a statement, without one entry; the old value is not made for it.
    let without = changed.replacen("{\"id\":1,", "{\"gone\":1,", 1);
    let mut list: Vec<serde_json::Value> = serde_json::from_str(&without).unwrap();
    list.remove(1);
    let shorter = value_of(&serde_json::to_string(&list).unwrap());
    put(&world, "large", &shorter);
    assert_eq!((keys("$[0].id"), keys("$[4498].id")), (first, last));
    let found = world.docs.get("large").unwrap().expect("it is there");
    assert_eq!(found.revision(), Revision(3));
    assert!(found.tree().jsonb().unwrap() == shorter);
    assert_eq!(document::digest(found.tree().as_ref()).unwrap(), found.tree().header().digest);
    let then = world.docs.at(Revision(1)).get("large").unwrap().expect("it was there");
    assert!(then.to_json().unwrap() == text);
    // A value that is small beside what was there, and one of another kind.
    put(&world, "large", &value_of("[1]"));
    put(&world, "large", &value_of("{\"a\": 1}"));
    assert_eq!(world.docs.get("large").unwrap().expect("there").to_json().unwrap(), "{\"a\":1}");
}
