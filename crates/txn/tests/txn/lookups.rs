//! Times to commit numbers and back, over a hundred thousand commits and a clock that jumps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use log::Durability;
use store::Csn;
use txn::{CommitMeta, Engine, Isolation};
use vfs::{Clock, Env, SimVfs};

use crate::common::{SimRandom, T, options, seed, try_open};

/// A clock that mostly moves on, now and then stands still or goes back.
struct Jumpy {
    now_us: AtomicU64,
}

impl Clock for Jumpy {
    fn now_us(&self) -> u64 {
        let now = self.now_us.fetch_add(1, Ordering::Relaxed);
        match now % 11 {
            0 => now - 500,
            1..5 => now / 16 * 16,
            _ => now,
        }
    }

    fn monotonic_us(&self) -> u64 {
        self.now_us.load(Ordering::Relaxed)
    }
}

const COMMITS: u64 = 100_000;

fn verify(engine: &Arc<Engine>, times: &[u64], random: &SimRandom) {
    let (first, last) = (times[1], times[COMMITS as usize]);
    for _ in 0..20_000 {
        let time = first - 10 + random.below(last - first + 20);
        let expected = times[1..].partition_point(|at| *at <= time) as u64;
        assert_eq!(engine.csn_at(time).unwrap(), Csn(expected), "floor of {time}");
    }
    assert_eq!(engine.csn_at(0).unwrap(), Csn(0));
    assert_eq!(engine.csn_at(u64::MAX).unwrap(), Csn(COMMITS));

    let csns: Vec<Csn> =
        (0..50_000).map(|_| Csn(random.below(COMMITS + 1))).chain([Csn(0), Csn(COMMITS)]).collect();
    let mut found = Vec::new();
    engine.times(&csns, &mut found).unwrap();
    assert!(csns.iter().zip(&found).all(|(csn, time)| times[csn.0 as usize] == *time));
    assert_eq!(engine.times(&[Csn(COMMITS + 1)], &mut found).unwrap_err().sqlstate(), "22023");

    for _ in 0..2_000 {
        let number = 1 + random.below(COMMITS);
        let info = engine.commit_info(Csn(number)).unwrap();
        assert_eq!(info.time_us, times[number as usize]);
        assert_eq!(info.author, format!("author {}", number % 3));
        assert_eq!(
            info.message,
            if number.is_multiple_of(100) { format!("message {number}") } else { String::new() }
        );
        assert_eq!(info.authored_us, number.is_multiple_of(7).then_some(number * 1_000));
        assert_eq!(engine.extension(Csn(number)).unwrap(), extension_of(number));
    }
    assert!(engine.commit_info(Csn(0)).is_err() && engine.commit_info(Csn(COMMITS + 1)).is_err());
    let newest: Vec<u64> =
        engine.commits(Csn(COMMITS - 2), Csn::MAX, true).map(|info| info.unwrap().csn.0).collect();
    assert_eq!(newest, [COMMITS, COMMITS - 1, COMMITS - 2]);
}

/// The bytes that some commits of the test carry for their application.
fn extension_of(number: u64) -> Vec<u8> {
    if number.is_multiple_of(5) { number.to_be_bytes().to_vec() } else { Vec::new() }
}

/// 100,000 commits: every time finds its commit, every commit its time, also after reopening.
#[test]
fn times_and_numbers() {
    let seed = seed(3);
    let random = SimRandom::new(seed);
    let disk = SimVfs::unrecorded();
    let mut env = Env::sim(&disk, seed);
    env.clock = Arc::new(Jumpy { now_us: AtomicU64::new(1_700_000_000_000_000) });
    let mut options = options();
    options.durability = Durability::Os;
    (options.log.segment_bytes, options.log.first_bytes) = (4 << 20, 4 << 20);
    let engine = try_open(&env, options.clone()).unwrap();
    let mut times = vec![0];
    for number in 1..=COMMITS {
        let mut txn = engine.begin(Isolation::ReadCommitted);
        txn.put(T, b"k", Vec::new()).unwrap();
        let commit = txn.commit(CommitMeta {
            author: format!("author {}", number % 3),
            message: if number.is_multiple_of(100) {
                format!("message {number}")
            } else {
                String::new()
            },
            authored_us: number.is_multiple_of(7).then_some(number * 1_000),
            extension: extension_of(number),
            ..CommitMeta::default()
        });
        let commit = commit.unwrap();
        assert_eq!(commit.csn, Csn(number));
        assert!(commit.time_us > times[number as usize - 1], "each commit has a later time");
        times.push(commit.time_us);
    }
    verify(&engine, &times, &random);
    engine.checkpoint().unwrap();
    verify(&engine, &times, &random);
    engine.close().unwrap();
    let engine = try_open(&env, options).unwrap();
    verify(&engine, &times, &random);
}
