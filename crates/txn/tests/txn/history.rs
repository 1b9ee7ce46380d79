//! Random transactions on many threads, and a small checker in the manner of Elle.
//!
//! Every transaction reads lists and appends numbers that nobody else appends, so the final list of a
//! key is the order of its versions and a read tells exactly which version it saw.
//!
//! ```text
//!   key 3, final      [ 17  4  29  8 ]
//!   T5 read [17 4]    saw version 2:   T(4) -wr-> T5,   T5 -rw-> T(29),   T(17) -ww-> T(4)
//! ```
//!
//! | level | checked |
//! |---|---|
//! | all | reads are prefixes of the final list: nothing aborted, nothing intermediate, nothing torn |
//! | REPEATABLE READ | all reads are of one snapshot; a transaction that reads and appends loses no update between |
//! | SERIALIZABLE | the graph of ww, wr and rw has no circle; replaying in the order of commits gives every read |

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::thread;

use store::Csn;
use txn::{Engine, Isolation, Transaction, TxnError};

use crate::common::{SimRandom, T, contents, engine, get, meta, seed};

#[derive(Clone, Debug)]
enum Event {
    /// The value of a key that was read before the transaction's own appends to it.
    Read(u8, Vec<u32>),
    Append(u8, u32),
}

#[derive(Clone, Debug)]
struct Done {
    /// Where the transaction stands: its number, or what it read at if it wrote nothing.
    csn: Csn,
    snapshot: Csn,
    writes: bool,
    events: Vec<Event>,
}

fn decode(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
}

const KEYS: u64 = 8;

fn attempt(
    engine: &Arc<Engine>,
    isolation: Isolation,
    random: &SimRandom,
    fresh: &mut impl FnMut() -> u32,
) -> Result<Done, TxnError> {
    let mut txn = engine.begin(isolation);
    let mut events = Vec::new();
    let mut own: Vec<u8> = Vec::new();
    for _ in 0..1 + random.below(4) {
        let key = random.below(KEYS) as u8;
        txn.statement();
        if random.below(2) == 0 {
            if !own.contains(&key) {
                events.push(Event::Read(key, decode(&get(&txn, &[key])?.unwrap_or_default())));
            }
        } else {
            let value = fresh();
            append(&mut txn, key, value)?;
            own.push(key);
            events.push(Event::Append(key, value));
        }
        if random.below(2) == 0 {
            thread::yield_now();
        }
    }
    let snapshot = txn.snapshot().csn();
    let writes = !txn.is_read_only();
    if random.below(20) == 0 {
        txn.rollback();
        return Err(TxnError::LockTimeout); // counts as not committed
    }
    let csn = txn.commit(meta(""))?.csn;
    Ok(Done { csn, snapshot, writes, events })
}

fn append(txn: &mut Transaction, key: u8, value: u32) -> Result<(), TxnError> {
    txn.lock(T, &[key])?;
    let bytes = value.to_le_bytes().to_vec();
    match txn.delta(T, &[key], bytes.clone()) {
        Err(TxnError::NoBase { .. }) => txn.put(T, &[key], bytes),
        other => other,
    }
}

/// Runs `count` transactions on four threads; returns those that committed and the final lists.
fn history(isolation: Isolation, count: u64, seed: u64) -> (Vec<Done>, BTreeMap<u8, Vec<u32>>) {
    let engine = engine(seed);
    let done: Vec<Done> = thread::scope(|scope| {
        let run = |id: u64| {
            let engine = Arc::clone(&engine);
            move || {
                let random = SimRandom::new(seed * 31 + id);
                let mut next = id as u32;
                let mut fresh = || {
                    next += 4;
                    next
                };
                let run = (0..count / 4)
                    .filter_map(|_| attempt(&engine, isolation, &random, &mut fresh).ok());
                run.collect::<Vec<_>>()
            }
        };
        let threads: Vec<_> = (0..4).map(|id| scope.spawn(run(id))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let lists = contents(&engine.snapshot())
        .into_iter()
        .map(|(key, value)| (key[0], decode(&value)))
        .collect();
    let mut last = engine.begin(Isolation::ReadCommitted);
    last.put(T, b"last", Vec::new()).unwrap();
    last.commit(meta("")).unwrap();
    let stats = engine.stats();
    assert_eq!(
        (stats.locked_rows, stats.waiting, stats.oldest_snapshot),
        (0, 0, None),
        "nothing is left behind"
    );
    assert_eq!(stats.window.0, 0, "the window is empty when nobody runs");
    (done, lists)
}

type Lists = BTreeMap<u8, Vec<u32>>;

/// Reads are prefixes of what was committed, and end where a transaction ended.
fn check_reads(done: &[Done], lists: &Lists) -> Result<(), String> {
    let mut last_of: HashMap<u32, usize> = HashMap::new();
    let mut writer: HashMap<u32, usize> = HashMap::new();
    for (at, one) in done.iter().enumerate() {
        let mut last: HashMap<u8, u32> = HashMap::new();
        for event in &one.events {
            if let Event::Append(key, value) = event {
                last.insert(*key, *value);
                writer.insert(*value, at);
            }
        }
        last_of.extend(last.values().map(|value| (*value, at)));
    }
    for value in lists.values().flatten() {
        if !writer.contains_key(value) {
            return Err(format!("{value} is there, and no committed transaction appended it"));
        }
    }
    for one in done {
        for event in &one.events {
            let Event::Read(key, list) = event else { continue };
            if !lists.get(key).map_or(&[][..], Vec::as_slice).starts_with(list) {
                return Err(format!("{one:?} read what is no version of {key}"));
            }
            if list.last().is_some_and(|value| !last_of.contains_key(value)) {
                return Err(format!("{one:?} read an intermediate version of {key}"));
            }
        }
    }
    Ok(())
}

/// Nothing was appended by others between what a transaction read of a key and its own append.
fn check_updates(done: &[Done], lists: &Lists) -> Result<(), String> {
    for one in done {
        for (at, event) in one.events.iter().enumerate() {
            let Event::Read(key, list) = event else { continue };
            let append = one.events[at..].iter().find_map(|event| match event {
                Event::Append(other, value) if other == key => Some(value),
                _ => None,
            });
            if append.is_some_and(|value| lists[key].get(list.len()) != Some(value)) {
                return Err(format!("{one:?} lost an update of {key}: {:?}", lists[key]));
            }
        }
    }
    Ok(())
}

/// Replays in the order of commits: each transaction's reads are those of one moment, which is its
/// snapshot, or (for writers, if `serial`) also the moment just before its own commit.
fn check_replay(done: &[Done], serial: bool) -> Result<(), String> {
    let mut writers: Vec<&Done> = done.iter().filter(|one| one.writes).collect();
    writers.sort_by_key(|one| one.csn);
    let mut states: Vec<(Csn, Lists)> = vec![(Csn(0), Lists::new())];
    for one in writers {
        let mut state = states.last().expect("there is a first").1.clone();
        for event in &one.events {
            if let Event::Append(key, value) = event {
                state.entry(*key).or_default().push(*value);
            }
        }
        states.push((one.csn, state));
        // Lists grow with history; a window of moments is enough for transactions this short.
        if states.len() > 400 {
            states.drain(..200);
        }
        let moment = if serial { Csn(one.csn.0 - 1) } else { one.snapshot };
        let known = states.iter().rev().find(|(csn, _)| *csn <= moment);
        let Some((_, known)) = known else { continue };
        for event in &one.events {
            let Event::Read(key, list) = event else { continue };
            if known.get(key).map_or(&[][..], Vec::as_slice) != list.as_slice() {
                return Err(format!("{one:?} did not read the state at {moment:?}"));
            }
        }
    }
    Ok(())
}

/// No circle in the graph of what came before what.
fn check_circles(done: &[Done], lists: &Lists) -> Result<(), String> {
    let mut writer: HashMap<u32, usize> = HashMap::new();
    for (at, one) in done.iter().enumerate() {
        for event in &one.events {
            if let Event::Append(_, value) = event {
                writer.insert(*value, at);
            }
        }
    }
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); done.len()];
    let mut edge = |from: usize, to: usize| {
        if from != to {
            after[from].push(to);
        }
    };
    for list in lists.values() {
        list.windows(2).for_each(|pair| edge(writer[&pair[0]], writer[&pair[1]]));
    }
    for (at, one) in done.iter().enumerate() {
        for event in &one.events {
            let Event::Read(key, list) = event else { continue };
            if let Some(last) = list.last() {
                edge(writer[last], at);
            }
            if let Some(next) = lists.get(key).and_then(|all| all.get(list.len())) {
                edge(at, writer[next]);
            }
        }
    }
    // Kahn: take away each transaction without a predecessor; the remaining ones form circles.
    let mut before = vec![0usize; done.len()];
    after.iter().flatten().for_each(|to| before[*to] += 1);
    let mut free: Vec<usize> = (0..done.len()).filter(|at| before[*at] == 0).collect();
    let mut taken = 0;
    while let Some(at) = free.pop() {
        taken += 1;
        for to in &after[at] {
            before[*to] -= 1;
            if before[*to] == 0 {
                free.push(*to);
            }
        }
    }
    let stuck = (0..done.len()).find(|at| before[*at] > 0);
    match stuck {
        Some(at) => Err(format!(
            "{} transactions go in circles, among them {:?}",
            done.len() - taken,
            done[at]
        )),
        None => Ok(()),
    }
}

/// 8,000 serializable transactions: no circle, and a replay in the order of commits gives every read.
#[test]
fn serializable_histories_have_no_circle() {
    for round in 0..4 {
        let (done, lists) = history(Isolation::Serializable, 2_000, seed(40) + round);
        assert!(done.len() > 200, "only {} committed", done.len());
        check_reads(&done, &lists).unwrap();
        check_updates(&done, &lists).unwrap();
        check_circles(&done, &lists).unwrap();
        check_replay(&done, true).unwrap();
    }
}

/// 6,000 transactions at REPEATABLE READ: each reads one moment, and no update is lost.
#[test]
fn repeatable_read_histories_lose_no_update() {
    for round in 0..3 {
        let (done, lists) = history(Isolation::RepeatableRead, 2_000, seed(50) + round);
        assert!(done.len() > 200, "only {} committed", done.len());
        check_reads(&done, &lists).unwrap();
        check_updates(&done, &lists).unwrap();
        check_replay(&done, false).unwrap();
    }
}

/// 6,000 transactions at READ COMMITTED: nothing is read that was not committed.
#[test]
fn read_committed_histories_read_nothing_dirty() {
    for round in 0..3 {
        let (done, lists) = history(Isolation::ReadCommitted, 2_000, seed(60) + round);
        assert!(done.len() > 200, "only {} committed", done.len());
        check_reads(&done, &lists).unwrap();
    }
}

fn made_up(events: Vec<Vec<Event>>) -> Vec<Done> {
    let numbered = events.into_iter().zip(1..);
    numbered
        .map(|(events, csn)| Done { csn: Csn(csn), snapshot: Csn(0), writes: true, events })
        .collect()
}

/// The checker itself: each broken history is found.
#[test]
fn the_checker_finds_what_is_broken() {
    use Event::{Append, Read};
    let lists = |lists: &[(u8, &[u32])]| {
        lists.iter().map(|(key, list)| (*key, list.to_vec())).collect::<Lists>()
    };

    let skew = made_up(vec![
        vec![Read(1, vec![]), Read(2, vec![]), Append(1, 10)],
        vec![Read(1, vec![]), Read(2, vec![]), Append(2, 20)],
    ]);
    let after = lists(&[(1, &[10]), (2, &[20])]);
    assert!(check_circles(&skew, &after).is_err(), "write skew");
    assert!(check_replay(&skew, true).is_err(), "write skew, replayed");
    assert!(
        check_replay(&skew, false).is_ok() && check_updates(&skew, &after).is_ok(),
        "which snapshots allow"
    );

    let lost =
        made_up(vec![vec![Read(1, vec![]), Append(1, 10)], vec![Read(1, vec![]), Append(1, 20)]]);
    assert!(check_updates(&lost, &lists(&[(1, &[10, 20])])).is_err(), "lost update");

    let dirty = made_up(vec![vec![Read(1, vec![99])], vec![Append(1, 10)]]);
    assert!(check_reads(&dirty, &lists(&[(1, &[10])])).is_err(), "aborted read");
    assert!(check_reads(&dirty, &lists(&[(1, &[99, 10])])).is_err(), "aborted write that stayed");

    let intermediate = made_up(vec![vec![Append(1, 10), Append(1, 11)], vec![Read(1, vec![10])]]);
    assert!(check_reads(&intermediate, &lists(&[(1, &[10, 11])])).is_err(), "intermediate read");
}
