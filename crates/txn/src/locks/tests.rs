//! Locks by themselves: owners, queues, deadlocks, and threads that take them at random.

use super::*;
use std::sync::mpsc;
use std::thread;

const A: RowHash = RowHash(1);
const B: RowHash = RowHash(2);
const C: RowHash = RowHash(65); // in the shard of A

const UPDATE: Modes = Modes::of_row(RowLock::Update);
const KEY_SHARE: Modes = Modes::of_row(RowLock::KeyShare);

fn lock_manager() -> LockManager {
    LockManager::new(Arc::new(vfs::OsClock::new()))
}

fn held(row: RowHash) -> Held {
    Held { row, modes: UPDATE }
}

fn within(us: u64) -> WaitPolicy<'static> {
    WaitPolicy::Waits { us: Some(us), interrupt: None }
}

fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// A row has one owner; taking it again is free; without a wait others are turned away.
#[test]
fn a_row_has_one_owner() {
    let locks = lock_manager();
    assert_eq!(locks.lock(TxnId(1), A, UPDATE, WaitPolicy::None), Ok(Acquired::Now));
    assert_eq!(locks.lock(TxnId(1), A, UPDATE, WaitPolicy::None), Ok(Acquired::Already));
    assert_eq!(locks.lock(TxnId(2), A, UPDATE, WaitPolicy::None), Err(LockFailure::Busy));
    assert_eq!(locks.lock(TxnId(2), C, UPDATE, WaitPolicy::None), Ok(Acquired::Now));
    locks.unlock(TxnId(1), &[held(A)]);
    assert_eq!(locks.lock(TxnId(2), A, UPDATE, within(1)), Ok(Acquired::Now));
    locks.unlock(TxnId(2), &[held(A), held(C)]);
    assert_eq!(locks.counts(), (0, 0));
}

/// Waiting transactions are served in the order in which they came.
#[test]
fn waiters_are_served_in_order() {
    let locks = Arc::new(lock_manager());
    locks.lock(TxnId(0), A, UPDATE, WaitPolicy::None).unwrap();
    let (served, order) = mpsc::channel();
    let mut threads = Vec::new();
    for id in 1..=5 {
        let (theirs, served) = (Arc::clone(&locks), served.clone());
        threads.push(thread::spawn(move || {
            theirs.lock(TxnId(id), A, UPDATE, WaitPolicy::ENDLESS).unwrap();
            served.send(id).unwrap();
            theirs.unlock(TxnId(id), &[held(A)]);
        }));
        wait_until(|| locks.counts().1 == id as usize);
    }
    locks.unlock(TxnId(0), &[held(A)]);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(order.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(locks.counts(), (0, 0));
}

/// A waiting transaction asks the watch again and again, with the transactions that it waits for;
/// an answer ends the wait, and only that one.
#[test]
fn a_watch_ends_waits() {
    for (over, failure) in [
        (WaitOver::Interrupted, LockFailure::Interrupted),
        (WaitOver::Deadlock, LockFailure::Deadlock),
    ] {
        let locks = Arc::new(lock_manager());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        assert!(locks.set_watch(Box::new(move |blockers| {
            let mut asked = noted.lock();
            asked.push(blockers.to_vec());
            if asked.len() < 3 { Ok(()) } else { Err(over) }
        })));
        assert!(!locks.set_watch(Box::new(|_| Ok(()))), "there is one");
        locks.lock(TxnId(1), A, UPDATE, WaitPolicy::None).unwrap();
        assert_eq!(locks.lock(TxnId(2), A, UPDATE, WaitPolicy::ENDLESS), Err(failure));
        assert_eq!(*asked.lock(), vec![vec![TxnId(1)]; 3]);
        assert_eq!(locks.counts(), (1, 0), "it has left the queue");
        assert_eq!(locks.lock(TxnId(2), A, UPDATE, within(1_000)), Err(LockFailure::Timeout));
        locks.unlock(TxnId(1), &[held(A)]);
        assert_eq!(locks.lock(TxnId(2), A, UPDATE, WaitPolicy::ENDLESS), Ok(Acquired::Now));
        locks.unlock(TxnId(2), &[held(A)]);
    }
}

/// The transaction that closes a cycle of three finds it; when that one gives up, the others go
/// on.
#[test]
fn a_deadlock_is_found_and_broken() {
    let locks = Arc::new(lock_manager());
    for (id, row) in [(1, A), (2, B), (3, C)] {
        locks.lock(TxnId(id), row, UPDATE, WaitPolicy::None).unwrap();
    }
    let wait = |id, row, own: RowHash| {
        let locks = Arc::clone(&locks);
        thread::spawn(move || {
            let got = locks.lock(TxnId(id), row, UPDATE, WaitPolicy::ENDLESS);
            locks.unlock(TxnId(id), &[held(own)]);
            if got == Ok(Acquired::Now) {
                locks.unlock(TxnId(id), &[held(row)]);
            }
            got
        })
    };
    let first = wait(1, B, A);
    wait_until(|| locks.counts().1 == 1);
    let second = wait(2, C, B);
    wait_until(|| locks.counts().1 == 2);
    assert_eq!(locks.lock(TxnId(3), A, UPDATE, WaitPolicy::ENDLESS), Err(LockFailure::Deadlock));
    locks.unlock(TxnId(3), &[held(C)]);
    assert_eq!(first.join().unwrap(), Ok(Acquired::Now));
    assert_eq!(second.join().unwrap(), Ok(Acquired::Now));
    assert_eq!(locks.counts(), (0, 0));
}

/// A long queue for one row is no deadlock.
#[test]
fn a_queue_is_no_deadlock() {
    let locks = Arc::new(lock_manager());
    locks.lock(TxnId(1), A, UPDATE, WaitPolicy::None).unwrap();
    locks.lock(TxnId(2), B, UPDATE, WaitPolicy::None).unwrap();
    let theirs = Arc::clone(&locks);
    let waiting = thread::spawn(move || theirs.lock(TxnId(2), A, UPDATE, WaitPolicy::ENDLESS));
    wait_until(|| locks.counts().1 == 1);
    assert_eq!(locks.lock(TxnId(3), A, UPDATE, within(1_000)), Err(LockFailure::Timeout));
    locks.unlock(TxnId(1), &[held(A)]);
    assert_eq!(waiting.join().unwrap(), Ok(Acquired::Now));
    locks.unlock(TxnId(2), &[held(A), held(B)]);
    assert_eq!(locks.counts(), (0, 0));
}

/// Poisoning wakes every transaction that waits, and turns away every later one.
#[test]
fn poison_wakes_all() {
    let locks = Arc::new(lock_manager());
    locks.lock(TxnId(1), A, UPDATE, WaitPolicy::None).unwrap();
    let threads: Vec<_> = (2..6)
        .map(|id| {
            let locks = Arc::clone(&locks);
            thread::spawn(move || locks.lock(TxnId(id), A, UPDATE, WaitPolicy::ENDLESS))
        })
        .collect();
    wait_until(|| locks.counts().1 == 4);
    locks.poison();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), Err(LockFailure::Poisoned));
    }
    assert_eq!(locks.lock(TxnId(9), A, UPDATE, WaitPolicy::ENDLESS), Err(LockFailure::Poisoned));
    locks.unlock(TxnId(1), &[held(A)]);
    assert_eq!(locks.counts(), (0, 0));
}

/// Threads that take random rows in random order never hang: each deadlock is found.
#[test]
fn no_hang_under_random_locking() {
    let locks = Arc::new(lock_manager());
    let deadlocks: usize = thread::scope(|scope| {
        let run = |thread: u64| {
            let locks = Arc::clone(&locks);
            move || {
                let mut random = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                let mut deadlocks = 0;
                for round in 0..2_000 {
                    let txn = TxnId(round * 8 + thread);
                    let mut taken = Vec::new();
                    for _ in 0..4 {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        let row = RowHash(random % 6);
                        match locks.lock(txn, row, UPDATE, WaitPolicy::ENDLESS) {
                            Ok(Acquired::Now) => taken.push(held(row)),
                            Ok(Acquired::Already) => {}
                            Err(failure) => {
                                assert_eq!(failure, LockFailure::Deadlock);
                                deadlocks += 1;
                                break;
                            }
                        }
                        thread::yield_now();
                    }
                    locks.unlock(txn, &taken);
                }
                deadlocks
            }
        };
        let threads: Vec<_> = (0..8).map(|id| scope.spawn(run(id))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(deadlocks > 0, "six rows and eight threads must meet");
    assert_eq!(locks.counts(), (0, 0));
}

/// Transactions that share a row hold it together. A transaction that would change it waits for all
/// of them. A transaction that wants no more than the owners goes in past a waiting one.
#[test]
fn a_row_is_shared() {
    let locks = Arc::new(lock_manager());
    let shared = |txn| locks.lock(TxnId(txn), A, KEY_SHARE, WaitPolicy::None);
    for txn in 1..=3 {
        assert_eq!(shared(txn), Ok(Acquired::Now));
        assert_eq!(shared(txn), Ok(Acquired::Already));
    }
    let no_key_update = Modes::of_row(RowLock::NoKeyUpdate);
    assert_eq!(locks.lock(TxnId(4), A, no_key_update, WaitPolicy::None), Ok(Acquired::Now));
    let theirs = Arc::clone(&locks);
    let waiting = thread::spawn(move || theirs.lock(TxnId(5), A, UPDATE, WaitPolicy::ENDLESS));
    wait_until(|| locks.counts().1 == 1);
    assert_eq!(shared(6), Ok(Acquired::Now));
    for txn in [2, 6, 1, 3] {
        locks.unlock(TxnId(txn), &[Held { row: A, modes: KEY_SHARE }]);
    }
    assert_eq!(locks.counts(), (1, 1));
    locks.unlock(TxnId(4), &[Held { row: A, modes: no_key_update }]);
    assert_eq!(waiting.join().unwrap(), Ok(Acquired::Now));
    assert_eq!(shared(7), Err(LockFailure::Busy));
    locks.unlock(TxnId(5), &[held(A)]);
    assert_eq!(locks.counts(), (0, 0));
}

/// Two that share a row and both want it for themselves: the second is told, the first gets it.
#[test]
fn wanting_more_can_be_a_deadlock() {
    let locks = Arc::new(lock_manager());
    for txn in [1, 2] {
        locks.lock(TxnId(txn), A, KEY_SHARE, WaitPolicy::None).unwrap();
    }
    let theirs = Arc::clone(&locks);
    let waiting = thread::spawn(move || theirs.lock(TxnId(1), A, UPDATE, WaitPolicy::ENDLESS));
    wait_until(|| locks.counts().1 == 1);
    assert_eq!(locks.lock(TxnId(2), A, UPDATE, WaitPolicy::ENDLESS), Err(LockFailure::Deadlock));
    locks.unlock(TxnId(2), &[Held { row: A, modes: KEY_SHARE }]);
    assert_eq!(waiting.join().unwrap(), Ok(Acquired::Now));
    locks.unlock(TxnId(1), &[Held { row: A, modes: KEY_SHARE }, held(A)]);
    assert_eq!(locks.counts(), (0, 0));
}

/// On a relation nobody overtakes a stronger lock that waits; once that gives up, those behind go on.
/// A cycle that leads through a place in such a queue is found as well.
#[test]
fn relations_are_waited_for_in_line() {
    let locks = Arc::new(lock_manager());
    let (share, exclusive) =
        (Modes::from(RelationLock::AccessShare), Modes::from(RelationLock::AccessExclusive));
    locks.lock(TxnId(1), A, share, WaitPolicy::None).unwrap();
    locks.lock(TxnId(3), B, UPDATE, WaitPolicy::None).unwrap();
    let theirs = Arc::clone(&locks);
    let strong = thread::spawn(move || theirs.lock(TxnId(2), A, exclusive, within(200_000)));
    wait_until(|| locks.counts().1 == 1);
    assert_eq!(locks.lock(TxnId(4), A, share, WaitPolicy::None), Err(LockFailure::Busy));
    assert_eq!(locks.lock(TxnId(1), A, share, WaitPolicy::None), Ok(Acquired::Already));
    let theirs = Arc::clone(&locks);
    let behind = thread::spawn(move || theirs.lock(TxnId(3), A, share, WaitPolicy::ENDLESS));
    wait_until(|| locks.counts().1 == 2);
    // 1 waits for 3, which stands behind 2, which waits for 1.
    assert_eq!(locks.lock(TxnId(1), B, UPDATE, WaitPolicy::ENDLESS), Err(LockFailure::Deadlock));
    assert_eq!(strong.join().unwrap(), Err(LockFailure::Timeout));
    assert_eq!(behind.join().unwrap(), Ok(Acquired::Now));
    locks.unlock(TxnId(1), &[Held { row: A, modes: share }]);
    locks.unlock(TxnId(3), &[held(B), Held { row: A, modes: share }]);
    assert_eq!(locks.counts(), (0, 0));
}

/// A transaction that is called back stops waiting at once, also if the call came before the wait.
#[test]
fn a_wait_can_be_interrupted() {
    let locks = Arc::new(lock_manager());
    locks.lock(TxnId(1), A, UPDATE, WaitPolicy::None).unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let (theirs, seen) = (Arc::clone(&locks), Arc::clone(&flag));
    let wait = move || {
        let wait_policy = WaitPolicy::Waits { us: None, interrupt: Some(&seen) };
        theirs.lock(TxnId(2), A, UPDATE, wait_policy)
    };
    let first = thread::spawn(wait.clone());
    wait_until(|| locks.counts().1 == 1);
    flag.store(true, Ordering::Release);
    locks.interrupt(TxnId(2));
    assert_eq!(first.join().unwrap(), Err(LockFailure::Interrupted));
    assert_eq!(wait(), Err(LockFailure::Interrupted));
    locks.unlock(TxnId(1), &[held(A)]);
    assert_eq!(locks.counts(), (0, 0));
}

/// A transaction in a queue that does not sleep there is called when it is its turn, called back,
/// refused if it closes a cycle, and may leave before.
#[test]
fn a_queue_without_a_thread() {
    let locks = lock_manager();
    let (called, calls) = mpsc::channel();
    let queue_up = |txn: u64, row| {
        let called = called.clone();
        locks.queue_up(TxnId(txn), row, UPDATE, Box::new(move || called.send(txn).unwrap()))
    };
    locks.lock(TxnId(1), A, UPDATE, WaitPolicy::None).unwrap();
    locks.lock(TxnId(2), B, UPDATE, WaitPolicy::None).unwrap();
    let places =
        [2, 3, 4, 5].map(|txn| queue_up(txn, A).unwrap_or_else(|failure| panic!("{failure:?}")));
    assert_eq!(queue_up(1, B).err(), Some(LockFailure::Deadlock));
    assert_eq!(queue_up(1, A).err(), Some(LockFailure::Busy));
    assert_eq!(locks.waits_for(TxnId(2)), [TxnId(1)]);
    assert_eq!(locks.leave_queue(&places[1]), Err(LockFailure::Timeout));
    locks.interrupt(TxnId(4));
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), [4]);
    assert_eq!(locks.leave_queue(&places[2]), Err(LockFailure::Interrupted));
    locks.unlock(TxnId(1), &[held(A)]);
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), [2]);
    assert_eq!(locks.leave_queue(&places[0]), Ok(held(A)));
    locks.poison();
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), [5]);
    assert_eq!(locks.leave_queue(&places[3]), Err(LockFailure::Poisoned));
    locks.unlock(TxnId(2), &[held(B), held(A)]);
    assert_eq!(locks.counts(), (0, 0));
}

/// Threads that take random locks in random modes, waiting for them in all ways, and give some back:
/// whatever two of them hold at once gets along, nobody hangs, and nothing is left in the end.
#[test]
fn no_two_hold_what_conflicts() {
    let all: Vec<Modes> =
        [RowLock::KeyShare, RowLock::Share, RowLock::NoKeyUpdate, RowLock::Update]
            .map(Modes::from)
            .into_iter()
            .chain([RelationLock::RowExclusive, RelationLock::Share].map(Modes::from))
            .chain([RelationLock::AccessExclusive].map(Modes::from))
            .collect();
    let locks = lock_manager();
    let board: Mutex<Vec<(TxnId, Held)>> = Mutex::new(Vec::new());
    let lock = |txn, row, modes, way| {
        if way == 0 {
            return locks.lock(txn, row, modes, WaitPolicy::ENDLESS);
        }
        match locks.lock(txn, row, modes, WaitPolicy::None) {
            Err(LockFailure::Busy) => {}
            done => return done,
        }
        let (call, turn) = mpsc::channel();
        let call = move || call.send(()).expect("somebody waits for the call");
        let queued = locks.queue_up(txn, row, modes, Box::new(call))?;
        if way == 1 {
            turn.recv().expect("everybody has a turn");
        }
        locks.leave_queue(&queued).map(|_| Acquired::Now)
    };
    let run = |thread: u64| {
        let mut random = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as usize % below
        };
        let release = |txn, taken: &mut Vec<Held>, keep: usize| {
            board.lock().retain(|(owner, held)| *owner != txn || !taken[keep..].contains(held));
            locks.unlock(txn, &taken[keep..]);
            taken.truncate(keep);
        };
        for round in 0..3_000 {
            let txn = TxnId(round * 8 + thread);
            let mut taken: Vec<Held> = Vec::new();
            for _ in 0..5 {
                let (row, modes) = (RowHash(next(5) as u64), all[next(all.len())]);
                match lock(txn, row, modes, next(3)) {
                    Ok(Acquired::Already) | Err(LockFailure::Timeout) => {}
                    Ok(Acquired::Now) => {
                        let held = Held { row, modes };
                        let mut board = board.lock();
                        let clash = board.iter().find(|(owner, other)| {
                            *owner != txn
                                && other.row == row
                                && other.modes.conflicts().meets(modes)
                        });
                        assert!(clash.is_none(), "{txn:?} has {held:?} beside {clash:?}");
                        board.push((txn, held));
                        taken.push(held);
                    }
                    Err(failure) => {
                        assert_eq!(failure, LockFailure::Deadlock);
                        break;
                    }
                }
                if next(6) == 0 {
                    let keep = next(taken.len() + 1);
                    release(txn, &mut taken, keep);
                }
                thread::yield_now();
            }
            release(txn, &mut taken, 0);
        }
    };
    thread::scope(|scope| (0..8).for_each(|id| drop(scope.spawn(move || run(id)))));
    assert_eq!(locks.counts(), (0, 0));
}

/// The noted locks of a session are in the table of locks as soon as another transaction asks for a
/// strong mode. This transaction then waits for them, and every later one waits behind it.
#[test]
fn noted_locks_are_found() {
    let locks = Arc::new(lock_manager());
    let (one, other) = (locks.reader(), locks.reader());
    let read = Modes::from(RelationLock::Read);
    let strong = Modes::from(RelationLock::AccessExclusive);
    assert_eq!(locks.note(&one, TxnId(1), A, read), Noting::Now);
    assert_eq!(locks.note(&one, TxnId(1), A, read), Noting::Already);
    assert_eq!(locks.counts(), (0, 0), "nobody asked");
    locks.strengthen(A);
    assert_eq!(locks.counts(), (1, 0));
    assert_eq!(locks.lock(TxnId(2), A, strong, WaitPolicy::None), Err(LockFailure::Busy));
    assert_eq!(locks.note(&other, TxnId(3), A, read), Noting::Refused);
    let theirs = Arc::clone(&locks);
    let waits =
        thread::spawn(move || theirs.lock(TxnId(2), A, strong, WaitPolicy::ENDLESS).unwrap());
    wait_until(|| locks.counts().1 == 1);
    assert_eq!(locks.lock(TxnId(3), A, read, WaitPolicy::None), Err(LockFailure::Busy));
    locks.forget(&one, TxnId(1), 0);
    assert_eq!(waits.join().unwrap(), Acquired::Now);
    locks.unlock(TxnId(2), &[Held { row: A, modes: strong }]);
    locks.weaken(A);
    assert_eq!(locks.note(&other, TxnId(3), A, read), Noting::Now);
    assert_eq!(locks.counts(), (0, 0));
}

/// A strong locker and noting sessions, on threads of their own, are never at it together.
#[test]
fn noted_and_strong_exclude_each_other() {
    const TURNS: u64 = 3_000;
    let locks = Arc::new(lock_manager());
    let inside = Arc::new(AtomicBool::new(false));
    let change = Modes::from(RelationLock::RowExclusive);
    let strong = Modes::from(RelationLock::Define);
    let mut threads = Vec::new();
    for number in 1..=3 {
        let (locks, inside) = (Arc::clone(&locks), Arc::clone(&inside));
        threads.push(thread::spawn(move || {
            let reader = locks.reader();
            for turn in 0..TURNS {
                let txn = TxnId(number * TURNS + turn);
                let is_noted = locks.note(&reader, txn, A, change) == Noting::Now;
                if !is_noted {
                    locks.lock(txn, A, change, WaitPolicy::ENDLESS).unwrap();
                }
                assert!(!inside.load(Ordering::SeqCst), "a strong lock is held");
                match is_noted {
                    true => locks.forget(&reader, txn, 0),
                    false => locks.unlock(txn, &[Held { row: A, modes: change }]),
                }
            }
        }));
    }
    for turn in 0..TURNS / 10 {
        let txn = TxnId(100 * TURNS + turn);
        locks.strengthen(A);
        locks.lock(txn, A, strong, WaitPolicy::ENDLESS).unwrap();
        inside.store(true, Ordering::SeqCst);
        thread::yield_now();
        inside.store(false, Ordering::SeqCst);
        locks.unlock(txn, &[Held { row: A, modes: strong }]);
        locks.weaken(A);
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(locks.counts(), (0, 0));
}

/// A waiting transaction is listed with the transactions that it waits for and since when. A locked
/// relation is listed once, whether its lock was noted or not.
#[test]
fn waits_and_claims_are_told() {
    let locks = lock_manager();
    let call = || Box::new(|| ()) as Box<dyn Fn() + Send + Sync>;
    let (read, strong) =
        (Modes::from(RelationLock::Read), Modes::from(RelationLock::AccessExclusive));
    let reader = locks.reader();
    locks.lock(TxnId(1), A, UPDATE, WaitPolicy::None).unwrap();
    assert_eq!(locks.note(&reader, TxnId(1), B, read), Noting::Now);
    let relations = HashMap::from_iter([(B, 7)]);
    let claims = locks.claims(&relations);
    assert_eq!(claims.len(), 1);
    assert!(claims[0].is_noted && claims[0].waits_since_us.is_none());
    assert_eq!(locks.all_waits(), []);

    let row = locks.queue_up(TxnId(2), A, UPDATE, call()).unwrap();
    locks.strengthen(B);
    let relation = locks.queue_up(TxnId(3), B, strong, call()).unwrap();
    let mut waits = locks.all_waits();
    waits.sort_by_key(|wait| wait.txn);
    let told: Vec<_> = waits.iter().map(|wait| (wait.txn, wait.is_relation)).collect();
    assert_eq!(told, [(TxnId(2), false), (TxnId(3), true)]);
    assert!(waits.iter().all(|wait| wait.since_us > 0 && wait.blockers == [TxnId(1)]));
    let claims = locks.claims(&relations);
    let told: Vec<_> = claims.iter().map(|claim| (claim.txn, claim.is_noted)).collect();
    assert_eq!(told, [(TxnId(1), false), (TxnId(3), false)]);
    assert!(claims[0].waits_since_us.is_none() && claims[1].waits_since_us.is_some());

    for queued in [row, relation] {
        assert_eq!(locks.leave_queue(&queued), Err(LockFailure::Timeout));
    }
    assert_eq!(locks.all_waits(), []);
    locks.forget(&reader, TxnId(1), 0);
    locks.weaken(B);
    locks.unlock(TxnId(1), &[held(A)]);
    assert_eq!(locks.counts(), (0, 0));
}
