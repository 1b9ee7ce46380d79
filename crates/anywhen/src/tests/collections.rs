//! Collections: what their options promise, how they end, and what stays of them.

use crate::{
    Collection, CollectionOptions, Create, Csn, Database, DocumentError, Error, Meta, Options,
    Retention, Revision, TxnCollection,
};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use vfs::{Clock, Env, SimVfs};

fn keeping(history: Retention) -> CollectionOptions {
    CollectionOptions { history, ..CollectionOptions::default() }
}

fn json_at(collection: &Collection, key: &str, revision: u64) -> Result<String, DocumentError> {
    collection.at(Revision(revision)).get(key)?.expect("it was there").to_json()
}

/// A clock that is set by hand, in microseconds.
#[derive(Default)]
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn monotonic_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A database on a simulated disk.
struct World {
    env: Env,
    hands: Arc<Hands>,
    database: Database,
}

impl World {
    fn new() -> World {
        let hands = Arc::new(Hands::default());
        let clock: Arc<dyn Clock> = hands.clone();
        let env = Env { clock, ..Env::sim(&SimVfs::new(1), 1) };
        World { database: open(&env), hands, env }
    }

    fn reopen(self) -> World {
        let World { env, hands, database } = self;
        database.close().expect("nobody else has it");
        World { database: open(&env), hands, env }
    }

    fn pass(&self, time: Duration) {
        self.hands.0.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }
}

fn open(env: &Env) -> Database {
    let options = Options { create: Create::IfMissing, ..Options::default() };
    Database::open_env(env, Path::new("/data"), options).expect("opens")
}

/// Each collection keeps what its own history says, through compactions and openings: all, or what was
/// the newest when the last compaction came; and says what it does not keep.
#[test]
fn each_collection_keeps_its_own_history() {
    let mut world = World::new();
    let all = world.database.collection("all").unwrap();
    let brief = world.database.collection_with("brief", keeping(Retention::None)).unwrap();
    for n in 1..=9 {
        for collection in [&all, &brief] {
            collection.put("x", format!(r#"{{"n":{n},"same":true}}"#)).unwrap();
        }
    }
    assert_eq!(json_at(&brief, "x", 1).unwrap(), r#"{"n":1,"same":true}"#, "not compacted yet");
    drop((all, brief));
    world.database.compact().unwrap();
    for opened in 0..2 {
        let all = world.database.find_collection("all").unwrap();
        let brief = world.database.find_collection("brief").unwrap();
        assert_eq!(brief.options(), keeping(Retention::None), "opened {opened} times");
        for revision in 1..=9 {
            let text = format!(r#"{{"n":{revision},"same":true}}"#);
            assert_eq!(json_at(&all, "x", revision).unwrap(), text);
        }
        let forgotten = json_at(&brief, "x", 8).unwrap_err();
        assert_eq!(
            forgotten.to_string(),
            "revision 8 is not kept any more; the oldest that is kept is 9"
        );
        assert_eq!(json_at(&brief, "x", 9).unwrap(), r#"{"n":9,"same":true}"#);
        assert!(matches!(
            brief.diff("x", Revision(8), Revision(9)),
            Err(DocumentError::Forgotten { .. })
        ));
        // Author and time of changes stay known; the values, from the oldest kept version on.
        let history = brief.history("x", 99).unwrap();
        assert_eq!(history.iter().filter(|info| info.kept).count(), 1);
        assert_eq!((history.len(), brief.oldest("x").unwrap()), (9, Revision(9)));
        let values = |path| -> Vec<(u64, String)> {
            let runs = brief.node_history("x", path).unwrap();
            runs.into_iter().map(|run| (run.from.0, run.value)).collect()
        };
        assert_eq!(values("$.n"), [(9, "9".to_owned())]);
        assert_eq!(values("$.same"), [(1, "true".to_owned())], "since when a value is, is known");
        assert!(world.database.verify(|_| {}).unwrap().problems.is_empty());
        drop((all, brief));
        world = world.reopen();
    }
}

/// A version that was the newest at some time of the last hour is kept for an hour, and its revision
/// found by its number although its own commit is long past.
#[test]
fn a_history_of_some_time() {
    let world = World::new();
    let hour = Duration::from_secs(3600);
    let docs = world.database.collection_with("docs", keeping(Retention::For(hour))).unwrap();
    for n in 1..=20 {
        world.pass(hour / 4);
        docs.put("x", n.to_string()).unwrap();
    }
    drop(docs);
    // An opening learns the time of some commits; while a database runs, every 64th is remembered.
    let world = world.reopen();
    world.pass(hour / 8);
    world.database.compact().unwrap();
    let docs = world.database.find_collection("docs").unwrap();
    let oldest = docs.oldest("x").unwrap().0;
    assert!((14..=17).contains(&oldest), "{oldest}");
    for revision in 1..=20 {
        match json_at(&docs, "x", revision) {
            Ok(text) => assert_eq!((text, revision >= oldest), (revision.to_string(), true)),
            Err(DocumentError::Forgotten { .. }) => assert!(revision < oldest, "{revision}"),
            Err(error) => panic!("{error}"),
        }
    }
    let values: Vec<u64> =
        docs.node_history("x", "$").unwrap().iter().map(|run| run.from.0).collect();
    assert_eq!(values, (oldest..=20).collect::<Vec<_>>());
}

/// A history is made shorter and longer again while the database is in use: what was dropped stays
/// dropped, what came since is all there, after any flush, compaction or opening between.
#[test]
fn a_history_can_be_changed() {
    let mut world = World::new();
    let (mut newest, mut kept_from) = (0, 1);
    for (round, history) in
        [Retention::None, Retention::Forever, Retention::None, Retention::Forever]
            .into_iter()
            .enumerate()
    {
        let docs = world.database.collection("docs").unwrap();
        for _ in 0..30 {
            newest += 1;
            docs.put("x", format!(r#"{{"n":{newest},"more":"{round}"}}"#)).unwrap();
            if newest % 7 == 0 {
                world.database.checkpoint().unwrap();
            }
        }
        let keeps_all = docs.options().history == Retention::Forever;
        world.database.compact().unwrap();
        if !keeps_all {
            kept_from = newest;
        }
        assert_eq!(docs.oldest("x").unwrap(), Revision(kept_from), "round {round}");
        for revision in kept_from..=newest {
            let text = json_at(&docs, "x", revision).unwrap();
            assert!(text.starts_with(&format!(r#"{{"n":{revision},"#)), "{text}");
        }
        world.database.set_history("docs", history).unwrap();
        assert_eq!(docs.options().history, history, "handles learn of it");
        drop(docs);
        if round % 2 == 1 {
            world = world.reopen();
        }
    }
    let nowhere = world.database.set_history("nowhere", Retention::None);
    assert!(matches!(nowhere, Err(Error::NoCollection { .. })));
}

/// A document that a reader holds stays readable to its end, however large it is and whichever
/// history is removed meanwhile: parts of it that were not read yet stay.
#[test]
fn what_is_held_is_not_forgotten() {
    let world = World::new();
    let docs = world.database.collection_with("docs", keeping(Retention::None)).unwrap();
    let text = |n: u64| {
        let items: Vec<String> = (0..2_000).map(|item| format!("[{item},{n}]")).collect();
        format!("[{}]", items.join(","))
    };
    docs.put("x", text(1)).unwrap();
    docs.put("x", text(2)).unwrap();
    world.database.clear_document_cache();
    let (old, new) =
        (docs.at(Revision(1)).get("x").unwrap().unwrap(), docs.get("x").unwrap().unwrap());
    let diff = docs.diff("x", Revision(1), Revision(2)).unwrap();
    docs.put("x", text(3)).unwrap();
    world.database.compact().unwrap();
    assert_eq!(old.to_json().unwrap(), text(1));
    assert_eq!(new.to_json().unwrap(), text(2));
    assert_eq!(diff.changes.len(), 2_000);
    assert!(diff.to_rfc6902().is_ok());
    assert_eq!(json_at(&docs, "x", 2).unwrap(), text(2), "held with the rest");
    drop((old, new, diff));
    world.database.compact().unwrap();
    assert!(matches!(json_at(&docs, "x", 2), Err(DocumentError::Forgotten { .. })));
}

/// Options are of the collection: asking for others is refused, asking for none takes what there is.
#[test]
fn options_are_asked_for_once() {
    let world = World::new();
    let hashed =
        CollectionOptions { hashes: true, ..keeping(Retention::For(Duration::from_secs(1))) };
    world.database.collection_with("a", hashed).unwrap();
    assert_eq!(world.database.collection("a").unwrap().options(), hashed);
    let other = world.database.collection_with("a", CollectionOptions::default());
    assert!(matches!(other, Err(Error::OptionsDiffer { .. })));
    let world = world.reopen();
    assert_eq!(world.database.find_collection("a").unwrap().options(), hashed);
}

/// Dropping a collection is two records, however much is in it: nothing of it is deleted.
#[test]
fn a_drop_costs_the_same_however_large_the_collection() {
    let world = World::new();
    let logged = |documents: usize| {
        let docs = world.database.collection("docs").unwrap();
        for n in 0..documents {
            docs.put(&n.to_string(), r#"{"a":[1,2,3]}"#).unwrap();
        }
        let before = world.database.stats().log_appended_bytes;
        assert!(world.database.drop_collection("docs").unwrap());
        world.database.stats().log_appended_bytes - before
    };
    assert_eq!(logged(1), logged(1_000));
}

/// A holder of a dropped collection gets an error, by every read of now and by every write, also in a
/// transaction that began before the drop; the past and the new collection of that name are others'.
#[test]
fn holders_of_a_dropped_collection_are_told() {
    let dropped = |result: Result<(), DocumentError>| {
        assert!(matches!(result, Err(DocumentError::Dropped { .. })), "{result:?}");
    };
    let world = World::new();
    let old = world.database.collection("a").unwrap();
    old.put("x", "1").unwrap();
    old.put("x", "2").unwrap();
    let mut writing = world.database.begin().unwrap();
    writing.collection("b").unwrap().put("y", "3").unwrap();
    let mut reading = world.database.begin().unwrap();
    let mut reading = TxnCollection { collection: old.clone(), inner: &mut reading.inner };
    assert!(world.database.drop_collection("a").unwrap());
    assert!(!world.database.drop_collection("a").unwrap());

    let mut late = TxnCollection { collection: old.clone(), inner: &mut writing.inner };
    let refused = late.put("x", "3");
    assert!(matches!(refused, Err(Error::Document(DocumentError::Dropped { .. }))), "{refused:?}");
    drop(writing);
    assert!(world.database.collection("b").unwrap().get("y").unwrap().is_none(), "all or nothing");

    dropped(old.get("x").map(drop));
    dropped(old.keys("").collect::<Result<Vec<_>, _>>().map(drop));
    dropped(old.put("x", "4").map(drop));
    dropped(old.edit("x", |x| x.set("$", "4")).map(drop));
    dropped(old.remove("x").map(drop));
    dropped(old.revert("x", Revision(1), &Meta::default()).map(drop));
    dropped(old.get_at("x", world.database.newest()).map(drop));
    // The versions before it are the same: by moments, and to transactions that began before.
    assert_eq!(json_at(&old, "x", 1).unwrap(), "1");
    assert_eq!(old.history("x", 9).unwrap().len(), 2);
    assert_eq!(reading.get("x").unwrap().unwrap().to_json().unwrap(), "2");

    let new = world.database.collection("a").unwrap();
    assert_ne!(new.id(), old.id());
    assert!(new.get("x").unwrap().is_none() && new.history("x", 9).is_err());
    new.put("x", "5").unwrap();
    assert_eq!(json_at(&new, "x", 1).unwrap(), "5");
    dropped(old.get("x").map(drop));
}

/// A transaction that has written to a collection keeps it until its end: the drop waits.
#[test]
fn a_drop_waits_for_those_who_have_written() {
    let world = World::new();
    let docs = world.database.collection("a").unwrap();
    let mut writing = world.database.begin().unwrap();
    writing.collection("a").unwrap().put("x", "1").unwrap();
    let is_dropped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(world.database.drop_collection("a").unwrap());
            is_dropped.store(true, Ordering::SeqCst);
        });
        std::thread::sleep(Duration::from_millis(30));
        assert!(!is_dropped.load(Ordering::SeqCst), "it waits");
        writing.commit().unwrap();
    });
    assert_eq!(json_at(&docs, "x", 1).unwrap(), "1");
    assert!(matches!(docs.get("x"), Err(DocumentError::Dropped { .. })));
}

/// The name leads, at each commit, to the collection that had it then: dropped ones stay readable, in
/// this run and the next, through compactions, until they are purged.
#[test]
fn a_name_leads_to_the_collection_of_its_time() {
    let mut world = World::new();
    let mut moments = Vec::new();
    for n in 1..=3 {
        let docs = world.database.collection("a").unwrap();
        docs.put("x", n.to_string()).unwrap();
        docs.put("x", format!("{n}0")).unwrap();
        moments.push((world.database.newest(), n));
        drop(docs);
        world.database.drop_collection("a").unwrap();
    }
    let nothing = world.database.newest();
    world.database.collection("a").unwrap().put("x", "4").unwrap();
    for round in 0..3 {
        for (csn, n) in &moments {
            let then = world.database.find_collection_at("a", *csn).unwrap().unwrap();
            assert_eq!(
                then.get_at("x", *csn).unwrap().unwrap().to_json().unwrap(),
                format!("{n}0")
            );
            assert_eq!(json_at(&then, "x", 1).unwrap(), n.to_string(), "round {round}");
            assert_eq!(then.at(*csn).keys("").unwrap().count(), 1);
        }
        assert!(world.database.find_collection_at("a", nothing).unwrap().is_none());
        assert!(world.database.find_collection_at("a", Csn(0)).unwrap().is_none());
        assert_eq!(super::text(&world.database, "a", "x").unwrap(), "4");
        assert_eq!(world.database.dropped_collections().unwrap().len(), 3);
        world.database.compact().unwrap();
        world = world.reopen();
    }
    let size = |world: &World| {
        world.database.compact().unwrap();
        let stats = world.database.stats();
        stats.current_bytes + stats.history_bytes
    };
    let before = size(&world);
    assert!(world.database.purge_collection("a").unwrap(), "the one that is there goes too");
    assert!(world.database.collections().is_empty());
    assert!(!world.database.purge_collection("a").unwrap());
    assert!(size(&world) < before);
    world = world.reopen();
    let then = world.database.find_collection_at("a", moments[0].0).unwrap().unwrap();
    for gone in [then.get_at("x", moments[0].0).map(drop), then.history("x", 1).map(drop)] {
        assert!(matches!(gone, Err(DocumentError::ForgottenAt { .. })), "{gone:?}");
    }
    assert!(
        world
            .database
            .dropped_collections()
            .unwrap()
            .iter()
            .all(|of| of.history == Retention::None)
    );
    assert!(world.database.verify(|_| {}).unwrap().problems.is_empty());
}

/// The past of a dropped collection goes when its own history says so.
#[test]
fn what_was_dropped_is_kept_as_long_as_its_history_says() {
    let world = World::new();
    let hour = Duration::from_secs(3600);
    let make = |name, history| {
        let docs = world.database.collection_with(name, keeping(history)).unwrap();
        docs.put("x", "1").unwrap();
    };
    make("none", Retention::None);
    make("hour", Retention::For(hour));
    make("all", Retention::Forever);
    let then = world.database.newest();
    world.pass(hour / 2);
    for name in ["none", "hour", "all"] {
        world.database.drop_collection(name).unwrap();
    }
    let readable = |world: &World| -> Vec<bool> {
        world.database.compact().unwrap();
        let read = |name| {
            let docs = world.database.find_collection_at(name, then).unwrap().unwrap();
            docs.get_at("x", then).is_ok_and(|document| document.is_some())
        };
        ["none", "hour", "all"].map(read).to_vec()
    };
    world.pass(hour * 3 / 4);
    assert_eq!(readable(&world), [false, true, true], "dropped less than an hour ago");
    world.pass(hour);
    world.database.collection("filler").unwrap().put("f", "1").unwrap();
    let world = world.reopen();
    assert_eq!(readable(&world), [false, false, true]);
}

/// Many threads write while their collection is dropped and made anew, again and again: each write is in
/// the collection that it was acknowledged for, or was refused.
#[test]
fn no_write_is_lost_in_a_drop() {
    let database = Database::open_in_memory().unwrap();
    let stop = AtomicBool::new(false);
    let written = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (database, stop, written) = (&database, &stop, &written);
            scope.spawn(move || {
                for n in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let docs = database.collection("a").unwrap();
                    match docs.put(&format!("{thread}-{n}"), "1") {
                        Ok(done) => written.lock().push((docs, done.csn)),
                        Err(DocumentError::Dropped { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let mut drops = 0;
        while drops < 100 {
            drops += u64::from(database.drop_collection("a").unwrap());
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    database.drop_collection("a").unwrap();
    let ends: Vec<Csn> = database.dropped_collections().unwrap().iter().map(|of| of.csn).collect();
    assert!(ends.len() >= 100, "{}", ends.len());
    for (docs, csn) in written.into_inner() {
        let (id, end) = (docs.id(), docs.dropped().expect("all were dropped"));
        assert!(ends.contains(&end), "{end:?} is told");
        assert!(csn < end, "commit {csn:?} into table {id:?}, which commit {end:?} had dropped");
    }
}
