//! A server is killed while clients run serializable transactions, again and again: those that it has
//! acknowledged, and those without an answer that happened, have a serial order ([`crate::serial`]).
//!
//! ```text
//!   client 0..10     BEGIN ISOLATION LEVEL SERIALIZABLE; read lists, append to lists; COMMIT
//!         |
//!      serve ...x SIGKILL   ──> serve: the lists are read; a COMMIT without an answer happened where
//!                                      its number stands in a list, and then in all that it appended to
//! ```
//! Each kill ends a history, of lists of its own, that begins on the server that comes after the kill
//! before. In the end all histories are read again: none has changed.
//!
//! `ANYWHEN_KILLS=<n>` kills so many times (8); `ANYWHEN_SEED=<n>` does the same things again, though the
//! machine decides the order.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::World;
use crate::kill::Random;
use crate::serial::{Txn, ids, prove};
use crate::serve_killed::{Died, ask, is_refused, number_of, query, row, say, serve};
use crate::wire::Wire;

const CLIENTS: u64 = 10;
/// Lists of a history, and kinds of lists.
const LISTS: u64 = 9;
const KINDS: u64 = 3;

const TABLE: &str = "
    CREATE TABLE lists (h int, k int, kind int, v text NOT NULL, PRIMARY KEY (h, k));
    CREATE INDEX ON lists (h, kind)";

/// How a transaction ended.
enum End {
    Committed(Txn),
    /// Another was faster: nothing of it is there.
    Refused,
    /// COMMIT was sent, and no answer came.
    Unknown(Txn),
}

/// The lists by their numbers.
type Lists = BTreeMap<u64, Vec<u64>>;

#[test]
fn transactions_have_a_serial_order_whenever_the_server_is_killed() {
    let seed = number_of("ANYWHEN_SEED").unwrap_or(0x5eed_0007);
    let kills = number_of("ANYWHEN_KILLS").unwrap_or(8);
    println!("ANYWHEN_SEED={seed}");
    let mut random = Random::new(seed);
    let (world, next, start) = (World::new(), AtomicU64::new(1), Instant::now());
    world.run(&["init"]);
    let (mut server, mut address) = serve(&world);
    ask(&mut Wire::connect_to(address), TABLE).unwrap_or_else(|_| panic!("no table"));
    let mut histories = Vec::new();
    let (mut committed, mut happened) = (0, 0);
    for history in 0..kills {
        let delay = Duration::from_millis(100 + random.below(400));
        let ends = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let random = Random::new(seed ^ (history * CLIENTS + client + 1) << 16);
                    let next = &next;
                    scope.spawn(move || run(address, history, random, next))
                })
                .collect();
            std::thread::sleep(delay);
            // SIGKILL: the process gets no chance to put anything in order.
            server.kill().expect("the server can be killed");
            server.wait().expect("the server is gone");
            threads
                .into_iter()
                .flat_map(|thread| thread.join().expect("it ends"))
                .collect::<Vec<_>>()
        });
        (server, address) = serve(&world);
        let lists = lists(address, history);
        let mut txns = Vec::new();
        for end in ends {
            match end {
                End::Committed(txn) => txns.push(txn),
                End::Unknown(txn) if lists.values().any(|list| list.contains(&txn.id)) => {
                    happened += 1;
                    txns.push(txn);
                }
                End::Unknown(_) | End::Refused => {}
            }
        }
        prove(&txns, &lists).unwrap_or_else(|why| panic!("kill {}: {why}", history + 1));
        committed += txns.len();
        histories.push(lists);
    }
    for (history, before) in (0..).zip(&histories) {
        assert_eq!(&lists(address, history), before, "the lists of history {history}");
    }
    server.kill().expect("the server can be killed");
    server.wait().expect("the server is gone");
    world.run(&["verify"]);
    println!(
        "{kills} kills, {committed} transactions have a serial order, {happened} of them happened \
         unacknowledged, {:.1} s",
        start.elapsed().as_secs_f64()
    );
    assert!(committed as u64 > kills * 20, "the clients hardly did anything: {committed}");
}

/// Transactions, one after the other, until the server is gone.
fn run(address: SocketAddr, history: u64, mut random: Random, next: &AtomicU64) -> Vec<End> {
    let (mut wire, mut ends) = (Wire::connect_to(address), Vec::new());
    loop {
        let txn = Txn { id: next.fetch_add(1, Ordering::Relaxed), ..Txn::default() };
        match transaction(&mut wire, history, &mut random, txn) {
            Ok(End::Unknown(txn)) => {
                ends.push(End::Unknown(txn));
                return ends;
            }
            Ok(end) => ends.push(end),
            Err(Died) => return ends,
        }
    }
}

/// One transaction of up to four reads and appends.
fn transaction(
    wire: &mut Wire,
    history: u64,
    random: &mut Random,
    mut txn: Txn,
) -> Result<End, Died> {
    let refused = |wire: &mut Wire| ask(wire, "ROLLBACK").map(|_| End::Refused);
    ask(wire, "BEGIN ISOLATION LEVEL SERIALIZABLE")?;
    for _ in 0..1 + random.below(4) {
        let list = random.below(LISTS);
        let (which, condition): (Vec<u64>, String) = match random.below(6) {
            0 => {
                let last = list + random.below(3);
                ((list..=last).collect(), format!("k BETWEEN {list} AND {last}"))
            }
            1 => {
                let kind = list % KINDS;
                let of_kind = (0..LISTS).filter(|list| list % KINDS == kind).collect();
                (of_kind, format!("kind = {kind}"))
            }
            2 | 3 => (vec![list], format!("k = {list}")),
            _ => (Vec::new(), String::new()),
        };
        let text = match which.is_empty() {
            true => format!(
                "INSERT INTO lists VALUES ({history}, {list}, {}, ' {}') \
                 ON CONFLICT (h, k) DO UPDATE SET v = lists.v || excluded.v",
                list % KINDS,
                txn.id
            ),
            false => format!("SELECT k, v FROM lists WHERE h = {history} AND {condition}"),
        };
        let answers = say(wire, &query(&text))?;
        if is_refused(&answers) {
            return refused(wire);
        }
        if which.is_empty() {
            txn.appends.push(list);
        }
        let found: Lists =
            answers.iter().filter(|a| a.kind == b'D').map(|a| list_of(&row(a))).collect();
        let read = |list: u64| (list, found.get(&list).cloned().unwrap_or_default());
        txn.reads.extend(which.into_iter().map(read));
    }
    match say(wire, &query("COMMIT")) {
        Err(Died) => Ok(End::Unknown(txn)),
        Ok(answers) if is_refused(&answers) => refused(wire),
        Ok(_) => Ok(End::Committed(txn)),
    }
}

/// The number of a list and what it holds, of a row.
fn list_of(row: &str) -> (u64, Vec<u64>) {
    let (list, values) = row.split_once('|').expect("two fields");
    (list.parse().expect("it is a number"), ids(values))
}

/// The lists that a history holds.
fn lists(address: SocketAddr, history: u64) -> Lists {
    let text = format!("SELECT k, v FROM lists WHERE h = {history}");
    let rows = ask(&mut Wire::connect_to(address), &text).unwrap_or_else(|_| panic!("it died"));
    rows.iter().map(|row| list_of(row)).collect()
}
