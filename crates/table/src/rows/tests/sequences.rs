//! Sequences: numbers, ends, crashes.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use store::TableId;
use txn::{CommitMeta, Isolation, Transaction};
use types::{Datum, Type};
use vfs::{CrashPolicy, SimVfs};

use super::{World, acting, told};
use crate::catalog::ddl::SequenceOptions;
use crate::catalog::{CATALOG, Draft, PUBLIC, Persistence, Relation};
use crate::sequence::{SequenceState, Sequences, SessionSequences};

fn create(world: &World, options: SequenceOptions) -> Arc<Relation> {
    let made = world.ddl(|ddl| ddl.create_sequence(PUBLIC, "s", Persistence::Permanent, &options));
    made.expect("the sequence is made")
}

fn sequences_of(world: &World) -> Sequences {
    Sequences::new(Arc::clone(&world.engine), world.cache.tables().clone())
}

/// Numbers ascend without gaps over a clean close; `setval` and both of its manners are kept.
#[test]
fn numbers_go_on_where_they_were() {
    let disk = SimVfs::unrecorded();
    let world = World::open(&disk, 1);
    let s = create(&world, SequenceOptions::default());
    let sequences = sequences_of(&world);
    let got: Vec<i64> = (0..40).map(|_| sequences.take(&s).unwrap().first).collect();
    assert_eq!(got, (1..=40).collect::<Vec<i64>>());
    sequences.save().unwrap();
    drop(sequences);
    world.close();
    let world = World::open(&disk, 1);
    let sequences = sequences_of(&world);
    assert_eq!(sequences.state(&s).unwrap(), SequenceState { last: 40, is_called: true });
    assert_eq!(sequences.take(&s).unwrap().first, 41);
    sequences.set(&s, SequenceState { last: 100, is_called: false }).unwrap();
    assert_eq!((sequences.take(&s).unwrap().first, sequences.take(&s).unwrap().first), (100, 101));
    sequences.set(&s, SequenceState { last: 7, is_called: true }).unwrap();
    assert_eq!(sequences.take(&s).unwrap().first, 8);
    let refused = sequences.set(&s, SequenceState { last: 0, is_called: true });
    assert_eq!(
        told(refused),
        "22003: setval: value 0 is out of bounds for sequence \"s\" (1..9223372036854775807)\n  - - - -"
    );
}

/// A sequence ends at its bound or begins again, downwards as well.
#[test]
fn a_sequence_ends_or_cycles() {
    let world = World::new();
    let three = SequenceOptions { max: Some(Some(3)), ..SequenceOptions::default() };
    let s = create(&world, three.clone());
    let sequences = sequences_of(&world);
    let take = |s: &Relation| sequences.take(s).map(|block| block.first);
    assert_eq!((take(&s).unwrap(), take(&s).unwrap(), take(&s).unwrap()), (1, 2, 3));
    assert_eq!(
        told(take(&s)),
        "2200H: nextval: reached maximum value of sequence \"s\" (3)\n  - - - -"
    );
    let options = SequenceOptions {
        increment: Some(-2),
        min: Some(Some(-4)),
        max: Some(Some(0)),
        cycle: Some(true),
        ..SequenceOptions::default()
    };
    let made = world
        .ddl(|ddl| ddl.create_sequence(PUBLIC, "d", Persistence::Permanent, &options))
        .unwrap();
    let got: Vec<i64> = (0..7).map(|_| take(&made).unwrap()).collect();
    assert_eq!(got, [0, -2, -4, 0, -2, -4, 0]);
    let mut session = SessionSequences::default();
    assert_eq!(
        told(session.last()),
        "55000: lastval is not yet defined in this session\n  - - - -"
    );
    session.set(&made, 5, true);
    assert_eq!((session.current(&made).unwrap(), session.last().unwrap().1), (5, 5));
    assert_eq!(
        told(session.current(&s)),
        "55000: currval of sequence \"s\" is not yet defined in this session\n  - - - -"
    );
}

/// A session takes as many numbers at once as the sequence says, up to its end; what it has taken goes
/// when it sets the sequence, when that counts otherwise, and when it begins anew.
#[test]
fn sessions_take_several() {
    let world = World::new();
    let options = SequenceOptions {
        cache: Some(10),
        max: Some(Some(25)),
        cycle: Some(true),
        ..SequenceOptions::default()
    };
    let s = create(&world, options);
    let sequences = sequences_of(&world);
    let (mut one, mut other) = (SessionSequences::default(), SessionSequences::default());
    let next = |session: &mut SessionSequences, s: &Relation| session.next(&sequences, s).unwrap();
    assert_eq!((next(&mut one, &s), next(&mut other, &s), next(&mut one, &s)), (1, 11, 2));
    assert_eq!(sequences.state(&s).unwrap(), SequenceState { last: 20, is_called: true });
    assert_eq!((one.current(&s).unwrap(), other.current(&s).unwrap()), (2, 11));
    for number in 3..=10 {
        assert_eq!(next(&mut one, &s), number);
    }
    // There are five left, and then it begins again.
    for number in [21, 22, 23, 24, 25, 1] {
        assert_eq!(next(&mut one, &s), number);
    }
    // A value that another session sets is for sessions that take numbers anew.
    sequences.set(&s, SequenceState { last: 15, is_called: true }).unwrap();
    other.set(&s, 15, true);
    assert_eq!((next(&mut one, &s), next(&mut other, &s)), (2, 16));
    sequences.restart(&s, 5).unwrap();
    assert_eq!((next(&mut one, &s), next(&mut other, &s)), (5, 15));
    let by_two = SequenceOptions { increment: Some(2), ..SequenceOptions::default() };
    let s = world.ddl(|ddl| ddl.alter_sequence(s.oid, &by_two)).expect("it is altered");
    assert_eq!(next(&mut one, &s), 1, "it had come to 24");
}

/// Threads never get a number twice, and neither does anybody after a power loss: of the numbers that
/// a durable commit has used, none is given out again.
#[test]
fn no_number_is_given_twice() {
    let disk = SimVfs::new(7);
    let world = World::open(&disk, 7);
    let s = create(&world, SequenceOptions::default());
    let sequences = sequences_of(&world);
    let take = || (0..200).map(|_| sequences.take(&s).unwrap().first).collect::<Vec<i64>>();
    let got: Vec<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(got.iter().collect::<HashSet<_>>().len(), 800);
    world.create("used", &[("number", Type::INT8)], vec![]);
    let used = world.table("used");
    for _ in 0..20 {
        let last = sequences.take(&s).unwrap().first;
        let mut session = world.session(Isolation::ReadCommitted);
        session.insert(&used, &[Datum::Int8(last)]).unwrap();
        session.commit().unwrap();
        let policy = CrashPolicy::ALL[last as usize % CrashPolicy::ALL.len()];
        let image = disk.image(disk.op_count(), &policy, last as u64);
        let world = World::open(&image, 7);
        let again = sequences_of(&world);
        let next = again.take(&s).unwrap().first;
        assert!(next > last && next <= last + 32, "{next} after {last}");
    }
}

/// A transaction that goes on and has made a sequence.
fn making(world: &World) -> (Transaction, Draft, Arc<Relation>) {
    let mut txn = world.engine.begin(Isolation::ReadCommitted);
    let mut draft = Draft::new(&world.cache);
    let options = SequenceOptions::default();
    let made = draft.ddl(&mut txn, acting()).create_sequence(
        PUBLIC,
        "s",
        Persistence::Permanent,
        &options,
    );
    (txn, draft, made.expect("the sequence is made"))
}

fn holds_nothing(world: &World, storage: TableId) -> bool {
    let store = world.engine.store();
    let mut keys = store.keys(storage, Bound::Unbounded, Bound::Unbounded, false);
    keys.advance().expect("keys are read").is_none()
}

/// A transaction makes a sequence and takes numbers of it: its own commit writes where the sequence stands.
#[test]
fn the_commit_that_makes_a_sequence_writes_where_it_stands() {
    let disk = SimVfs::unrecorded();
    let world = World::open(&disk, 1);
    let sequences = sequences_of(&world);
    let (mut txn, draft, s) = making(&world);
    let before = world.engine.visible();
    let got: Vec<i64> = (0..40).map(|_| sequences.take(&s).unwrap().first).collect();
    assert_eq!(got, (1..=40).collect::<Vec<i64>>());
    assert_eq!(world.engine.visible(), before, "no other commit does");
    assert!(holds_nothing(&world, s.storage().expect("it has one")));
    draft.publish(&mut txn).unwrap();
    txn.commit(CommitMeta::default()).unwrap();
    assert_eq!(sequences.take(&s).unwrap().first, 41);
    drop(sequences);
    world.close();
    let world = World::open(&disk, 1);
    let next = sequences_of(&world).take(&s).unwrap().first;
    assert!(next > 41 && next <= 41 + 32, "{next}");
}

/// Where a sequence stood was written at once, by a commit of its own. The transaction that made the sequence was rolled
/// back and the database was opened again: the numbers of the transaction were given out a second time. A sequence that got
/// the number of the first one began at 33, and a table had a row that did not decode.
#[test]
fn a_sequence_that_was_rolled_back_leaves_nothing() {
    let disk = SimVfs::unrecorded();
    let world = World::open(&disk, 1);
    let sequences = sequences_of(&world);
    let (txn, draft, s) = making(&world);
    assert_eq!(sequences.take(&s).unwrap().first, 1);
    drop((txn, draft));
    sequences.save().unwrap();
    drop(sequences);
    assert!(holds_nothing(&world, s.storage().expect("it has one")));
    world.close();
    let world = World::open(&disk, 1);
    let again = create(&world, SequenceOptions::default());
    assert_eq!(again.storage(), s.storage(), "nobody has the number");
    assert_eq!(sequences_of(&world).take(&again).unwrap().first, 1);
}

/// The files of an earlier release have where a sequence stood that was never committed: nothing that is made later is given
/// the table of the store that has it, and compaction takes it away.
#[test]
fn a_table_of_the_store_that_holds_something_is_given_to_nobody() {
    let disk = SimVfs::unrecorded();
    let world = World::open(&disk, 1);
    let storage = TableId(CATALOG.0 + world.cache.next_oid().0);
    let mut txn = world.engine.begin(Isolation::ReadCommitted);
    txn.put(storage, b"s", vec![33, 0, 0, 0, 0, 0, 0, 0, 1]).unwrap();
    txn.commit(CommitMeta::default()).unwrap();
    let s = create(&world, SequenceOptions::default());
    assert_ne!(s.storage(), Some(storage));
    let sequences = sequences_of(&world);
    assert_eq!(sequences.take(&s).unwrap().first, 1);
    sequences.save().unwrap();
    world.engine.checkpoint().unwrap();
    world.engine.store().compact().unwrap();
    assert!(holds_nothing(&world, storage));
    assert!(!holds_nothing(&world, s.storage().expect("it has one")));
}
