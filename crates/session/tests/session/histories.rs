//! Random histories under SERIALIZABLE, and the proof ([`crate::serial`]) that each of them has a serial
//! order. Lists are found by key, by ranges of keys, through an index and in the columns of an index, and some
//! are not there until they are appended to.
//!
//! Steps of several sessions are interleaved on one thread, by a seed alone: a statement that would
//! wait is taken back and tried again later. `ANYWHEN_SEED=<seed>` plays one history again;
//! `ANYWHEN_TIMES=<n>` runs so many times as many. On threads the seed fixes what is done, and the
//! machine the order.
//!
//! Together they prove more than 20,000 transactions that committed, in many short histories: what a
//! long one costs grows with its square, because each read gives all that was appended.
//!
//! The other half of the claim is that serializability does not cost those who do not meet: several
//! workloads that merely share a table, of whose transactions less than one in a hundred is aborted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use session::{Done, Error, Session};
use vfs::seeds;

use crate::client::{TextOutput, connect, instance};
use crate::serial::{Txn, ids, prove};

const LISTS: u64 = 9;
const KINDS: u64 = 3;

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Begin,
    Read(u64),
    ReadRange(u64, u64),
    ReadKind(u64),
    ReadColumns(u64),
    Append(u64),
    Commit,
}

fn plan(random: &mut Random) -> Vec<Op> {
    let mut ops = vec![Op::Commit];
    for _ in 0..1 + random.below(4) {
        let list = random.below(LISTS);
        ops.push(match random.below(7) {
            0 => Op::ReadRange(list, list + random.below(3)),
            1 => Op::ReadKind(list % KINDS),
            6 => Op::ReadColumns(list % KINDS),
            2 | 3 => Op::Read(list),
            _ => Op::Append(list),
        });
    }
    ops.push(Op::Begin);
    ops
}

impl Op {
    fn text(self, id: u64) -> String {
        match self {
            Op::Begin => "begin isolation level serializable".to_owned(),
            Op::Read(list) => format!("select k, v from lists where k = {list}"),
            Op::ReadRange(low, high) => {
                format!("select k, v from lists where k between {low} and {high}")
            }
            Op::ReadKind(kind) => format!("select k, v from lists where kind = {kind}"),
            // The expression keeps the index on `kind` out of it, the aggregate asks for columns.
            Op::ReadColumns(kind) => {
                format!("select k, max(v) from lists where kind + 0 = {kind} group by k")
            }
            Op::Append(list) => format!(
                "insert into lists values ({list}, {}, ' {id}') \
                 on conflict (k) do update set v = lists.v || excluded.v",
                list % KINDS
            ),
            Op::Commit => "commit".to_owned(),
        }
    }

    /// The lists that a read must have found where they are there.
    fn lists(self) -> Vec<u64> {
        match self {
            Op::Read(list) => vec![list],
            Op::ReadRange(low, high) => (low..=high).collect(),
            Op::ReadKind(kind) | Op::ReadColumns(kind) => {
                (0..LISTS).filter(|list| list % KINDS == kind).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn execute(session: &mut Session, text: &str) -> Result<Option<Vec<String>>, Error> {
    let statement = session.read(text)?.pop().expect("there is a statement");
    let mut portal = session.start(statement, true)?;
    let mut kept = TextOutput::default();
    let done = session.execute(&mut portal, 0, &mut kept)?;
    if let Some(commit) = session.take_commit() {
        commit.wait().expect("the disk is sound");
    }
    Ok((done != Done::Blocked).then_some(kept.0))
}

/// A session with what it is to do, last things first.
struct Worker {
    session: Session,
    ops: Vec<Op>,
    txn: Txn,
    aborts: u64,
}

impl Worker {
    fn new(session: Session) -> Self {
        Worker { session, ops: Vec::new(), txn: Txn::default(), aborts: 0 }
    }

    /// Runs the next step; the transaction once it has committed, and false if it must wait.
    fn step(&mut self) -> (Option<Txn>, bool) {
        let op = *self.ops.last().expect("there is something to do");
        match execute(&mut self.session, &op.text(self.txn.id)) {
            Ok(None) => (None, false),
            Ok(Some(rows)) => {
                self.ops.pop();
                self.note(op, &rows);
                let committed = matches!(op, Op::Commit);
                (committed.then(|| std::mem::take(&mut self.txn)), true)
            }
            Err(error) => {
                assert!(["40001", "40P01"].contains(&error.state().code()), "{op:?}: {error:?}");
                self.give_up();
                (None, true)
            }
        }
    }

    fn note(&mut self, op: Op, rows: &[String]) {
        if let Op::Append(list) = op {
            self.txn.appends.push(list);
        }
        let found: HashMap<u64, Vec<u64>> = rows
            .iter()
            .filter_map(|row| row.split_once('|'))
            .map(|(list, values)| (list.parse().expect("it is a number"), ids(values)))
            .collect();
        for list in op.lists() {
            self.txn.reads.push((list, found.get(&list).cloned().unwrap_or_default()));
        }
    }

    fn give_up(&mut self) {
        self.session.fail();
        execute(&mut self.session, "rollback").expect("it can always go back");
        self.ops.clear();
        self.aborts += 1;
    }
}

fn prepare(session: &mut Session) {
    let table = "create table lists (k int primary key, kind int, v text not null)";
    execute(session, table).expect("a table");
    execute(session, "create index on lists (kind)").expect("an index");
    let columns = "create index lists_columns on lists using columnar (k, kind, v)";
    execute(session, columns).expect("a columnar index");
    let explain = format!("explain {}", Op::ReadColumns(1).text(0));
    let plan = execute(session, &explain).expect("a plan").expect("its rows").join("\n");
    assert!(plan.contains("Index Only Scan using lists_columns"), "{plan}");
}

/// The lists at the end.
fn finally(session: &mut Session) -> BTreeMap<u64, Vec<u64>> {
    let rows = execute(session, "select k, v from lists").expect("it reads").expect("it is done");
    let pairs = rows.iter().filter_map(|row| row.split_once('|'));
    pairs.map(|(list, values)| (list.parse().expect("it is a number"), ids(values))).collect()
}

/// The transactions that committed, and the lists in the end.
type History = (Vec<Txn>, BTreeMap<u64, Vec<u64>>);

/// One history on one thread.
fn history(seed: u64, sessions: usize, transactions: u64) -> History {
    let instance = instance();
    let mut first = connect(&instance);
    prepare(&mut first);
    let mut random = Random::new(seed);
    let mut workers: Vec<Worker> = (0..sessions).map(|_| Worker::new(connect(&instance))).collect();
    workers.iter_mut().for_each(|worker| worker.session.set_inline(true));
    let (mut begun, mut committed, mut blocked) = (0, Vec::new(), 0);
    while begun < transactions || workers.iter().any(|worker| !worker.ops.is_empty()) {
        let worker = &mut workers[random.below(sessions as u64) as usize];
        if worker.ops.is_empty() {
            if begun == transactions {
                continue;
            }
            begun += 1;
            worker.ops = plan(&mut random);
            worker.txn = Txn { id: begun, ..Txn::default() };
        }
        let (txn, went_on) = worker.step();
        committed.extend(txn);
        blocked = if went_on { 0 } else { blocked + 1 };
        // All wait for one another: one of them is the one that fails.
        if blocked > 8 * sessions {
            worker.give_up();
            blocked = 0;
        }
    }
    (committed, finally(&mut first))
}

/// Proves histories, and says of how many transactions. A single history that is played again is no
/// crowd.
fn prove_all(cases: u64, least: u64, history: impl Fn(u64) -> History + Sync) {
    let proved = AtomicU64::new(0);
    seeds(1, cases, |seed| {
        let (txns, lists) = history(seed);
        prove(&txns, &lists).unwrap_or_else(|why| panic!("{why}"));
        proved.fetch_add(txns.len() as u64, Ordering::Relaxed);
    });
    let proved = proved.into_inner();
    println!("{proved} transactions have a serial order");
    assert!(proved >= least || std::env::var_os("ANYWHEN_SEED").is_some(), "{proved} are few");
}

/// Histories of interleaved steps have a serial order.
#[test]
fn interleaved_histories_are_serializable() {
    prove_all(160, 12_000, |seed| {
        let history = history(seed, 2 + (seed % 4) as usize, 150);
        assert!(history.0.len() > 50, "{} of 150 committed", history.0.len());
        history
    });
}

/// Histories of sessions on threads have a serial order.
#[test]
fn threaded_histories_are_serializable() {
    prove_all(24, 8_000, |seed| {
        let instance = instance();
        let mut first = connect(&instance);
        prepare(&mut first);
        let next = Arc::new(AtomicU64::new(1));
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let (mut worker, next) = (Worker::new(connect(&instance)), Arc::clone(&next));
                std::thread::spawn(move || {
                    let (mut random, mut committed) = (Random::new(seed * 64 + thread), Vec::new());
                    for _ in 0..150 {
                        worker.ops = plan(&mut random);
                        let id = next.fetch_add(1, Ordering::Relaxed);
                        worker.txn = Txn { id, ..Txn::default() };
                        while !worker.ops.is_empty() {
                            committed.extend(worker.step().0);
                        }
                    }
                    committed
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("it ends"));
        (joined.flatten().collect(), finally(&mut first))
    });
}

/// The statements of a thread in one transaction of a workload, by its number, the turn, and
/// chance.
type Workload = fn(u64, u64, &mut Random) -> Vec<String>;

/// Transactions that merely share a table do not abort one another, whatever the plan: each thread has
/// rows of its own, and finds them by key, in ranges and through an index, new ones among them.
#[test]
fn sharing_a_table_aborts_nobody() {
    // Each thread has a range of keys.
    let ranges: Workload = |thread, turn, random| {
        let (low, row) = (thread * 200, thread * 200 + random.below(100) * 2);
        let new = low + 1 + turn % 100 * 2;
        vec![
            format!("select sum(n) from t where id between {low} and {}", low + 199),
            format!("select id from t where k = {row}"),
            format!("update t set n = n + 1 where id = {row}"),
            format!("update t set n = n + 1 where k = {}", low + turn % 100 * 2),
            format!("insert into t values ({new}, {new}, 0) on conflict do nothing"),
            format!("delete from t where id = {}", low + 1 + random.below(100) * 2),
        ]
    };
    // Every fourth key is a thread's: its neighbours are the others'.
    let neighbours: Workload = |thread, turn, random| {
        let row = |random: &mut Random| random.below(100) * 8 + thread * 2;
        let (one, other, new) = (row(random), row(random), 1_000 + turn * 4 + thread);
        vec![
            format!("select n from t where id = {one}"),
            format!("select n from t where k = {other}"),
            format!("update t set n = n + 1 where id = {other}"),
            format!("insert into t values ({new}, {new}, 0)"),
            format!("delete from t where id = {}", new - turn % 7 * 4),
        ]
    };
    // Orders of customers: all are put behind the last one, and each reads the sums of its own.
    let orders: Workload = |thread, turn, random| {
        let customer = thread * 10 + random.below(10);
        vec![
            format!("select count(*), sum(n) from orders where customer = {customer}"),
            format!("insert into orders (customer, n) values ({customer}, {turn})"),
            format!("select n from orders where customer = {customer} order by id desc limit 3"),
            format!("update orders set n = n + 1 where customer = {customer} and n = {turn}"),
        ]
    };
    for (name, workload) in [("ranges", ranges), ("neighbours", neighbours), ("orders", orders)] {
        let (aborted, all) = share(workload);
        let share = aborted as f64 * 100.0 / all as f64;
        println!("{name}: {aborted} of {all} transactions were aborted ({share:.2} %)");
        assert!(share < 1.0, "{name}: {share:.2} % of the transactions were aborted");
    }
}

/// Runs a workload on four threads; how many transactions were aborted, of how many.
fn share(workload: Workload) -> (u64, u64) {
    const TURNS: u64 = 500;
    let instance = instance();
    let mut first = connect(&instance);
    for text in [
        "create table t (id int primary key, k int, n int)",
        "create index on t (k)",
        "insert into t select n * 2, n * 2, 0 from generate_series(0, 399) n",
        "create table orders (id serial primary key, customer int, n int)",
        "create index on orders (customer, id)",
    ] {
        execute(&mut first, text).expect("it runs");
    }
    let threads: Vec<_> = (0..4u64)
        .map(|thread| {
            let mut session = connect(&instance);
            std::thread::spawn(move || {
                let (mut random, mut aborts) = (Random::new(thread + 1), 0);
                for turn in 0..TURNS {
                    let mut texts = workload(thread, turn, &mut random);
                    texts.insert(0, "begin isolation level serializable".to_owned());
                    texts.push("commit".to_owned());
                    let run = |text: &String| execute(&mut session, text).map(|_| ());
                    if let Err(error) = texts.iter().try_for_each(run) {
                        assert_eq!(error.state().code(), "40001", "{error:?}");
                        session.fail();
                        execute(&mut session, "rollback").expect("it can always go back");
                        aborts += 1;
                    }
                }
                aborts
            })
        })
        .collect();
    let aborts = threads.into_iter().map(|thread| thread.join().expect("it ends")).sum();
    (aborts, 4 * TURNS)
}
