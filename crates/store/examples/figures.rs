//! Prints what the store costs on this machine: `cargo run --release -p store --example figures`.
//!
//! One document of 5 KB that 5,000 deltas of 8 bytes change, then 100,000 small rows; one thread.

use std::error::Error;
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use store::{Csn, MergeError, Op, Resolve, Store, StoreOptions, Table, TableId, Write};
use vfs::Env;

/// A delta is (place u32, four bytes): it overwrites.
struct Patches;

impl Table for Patches {
    fn merge(
        &self,
        _key: &[u8],
        _base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        let start = out.len();
        out.extend_from_slice(base);
        for (_, delta) in deltas {
            let (place, bytes) =
                delta.split_first_chunk::<4>().ok_or_else(|| MergeError::new("short delta"))?;
            let place = start + u32::from_le_bytes(*place) as usize;
            out[place..place + bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    }
}

const DOCUMENT: TableId = TableId(1);
const ROWS: TableId = TableId(2);
const VERSIONS: u64 = 5001;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

struct Timer {
    env: Env,
}

impl Timer {
    /// Runs `work` `rounds` times, three times over, and returns the best microseconds a round.
    fn best(&self, rounds: u64, mut work: impl FnMut(u64)) -> f64 {
        let mut best = f64::MAX;
        for _ in 0..3 {
            let start = self.env.clock.monotonic_us();
            (0..rounds).for_each(&mut work);
            best = best.min((self.env.clock.monotonic_us() - start) as f64 / rounds as f64);
        }
        best
    }
}

fn put(table: TableId, key: impl Into<Vec<u8>>, value: Vec<u8>) -> Write {
    Write { table, key: key.into(), op: Op::Put(value) }
}

fn row(i: u64) -> Vec<u8> {
    format!("customer/{i:08}").into_bytes()
}

/// A text that compresses about as JSON does.
fn document(dice: &mut Dice) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < 5000 {
        let (a, b) = (dice.below(1_000_000), dice.below(10_000));
        text.extend_from_slice(
            format!("{{\"item\":{a},\"quantity\":{b},\"note\":\"row {a}\"}},").as_bytes(),
        );
    }
    text.truncate(5000);
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let env = Env::os();
    let timer = Timer { env: env.clone() };
    let dir = std::env::temp_dir().join(format!("store-figures-{:x}", env.random.next_u64()));
    let resolve: Resolve = {
        let table: Arc<dyn Table> = Arc::new(Patches);
        Arc::new(move |_| table.clone())
    };
    let result = measure(&env, &timer, &dir, &resolve);
    for path in env.fs.list(&dir)? {
        env.fs.remove(&path)?;
    }
    result
}

fn measure(env: &Env, timer: &Timer, dir: &Path, resolve: &Resolve) -> Result<(), Box<dyn Error>> {
    let options = StoreOptions { background: false, ..StoreOptions::default() };
    let store = Store::open(env, dir, options.clone(), resolve.clone())?;
    let mut dice = Dice(7);
    let delta = |dice: &mut Dice| {
        let mut bytes = (dice.below(4990) as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(format!("{:04}", dice.below(10_000)).as_bytes());
        Write { table: DOCUMENT, key: b"doc".to_vec(), op: Op::Delta(bytes) }
    };
    let mut commits = vec![vec![put(DOCUMENT, *b"doc", document(&mut dice))]];
    commits.extend((1..VERSIONS).map(|_| vec![delta(&mut dice)]));
    let start = env.clock.monotonic_us();
    for (i, writes) in commits.iter().enumerate() {
        store.apply(Csn(i as u64 + 1), writes)?;
    }
    let us = (env.clock.monotonic_us() - start) as f64;
    println!("apply of a delta of 8 bytes              {:8.3} us", us / VERSIONS as f64);
    reads(timer, &store, "memory")?;
    let hot: Vec<Vec<Write>> = (0..20_000)
        .map(|_| {
            let mut write = |key: &[u8]| Write { key: key.to_vec(), ..delta(&mut dice) };
            vec![write(b"x"), write(b"y"), write(b"z")]
        })
        .collect();
    hot_commits(env, resolve, &hot)?;
    store.set_durable(Csn(VERSIONS), Vec::new);
    store.flush()?;
    let stats = store.stats();
    let bytes = (stats.current_bytes + stats.history_bytes) as f64;
    println!("after flush: bytes a version             {:8.2}", bytes / VERSIONS as f64);
    reads(timer, &store, "cached blocks")?;

    let mut csn = VERSIONS;
    let mut next = |store: &Store, keys: [u64; 3]| {
        csn += 1;
        let writes = keys.map(|k| put(ROWS, row(k), vec![b'x'; 60]));
        store.apply(Csn(csn), &writes).map(|()| csn)
    };
    let rows: Vec<[u64; 3]> = (0..33_333).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    let start = env.clock.monotonic_us();
    rows.iter().try_for_each(|&keys| next(&store, keys).map(|_| ()))?;
    println!(
        "apply of 3 new keys, 1 a commit of 3     {:8.3} us",
        (env.clock.monotonic_us() - start) as f64 / rows.len() as f64
    );
    let again: Vec<[u64; 3]> = (0..33_333).map(|_| [0; 3].map(|_| dice.below(99_999))).collect();
    let start = env.clock.monotonic_us();
    let mut last = 0;
    for &keys in &again {
        last = next(&store, keys)?;
    }
    println!(
        "apply of 3 random keys again             {:8.3} us",
        (env.clock.monotonic_us() - start) as f64 / again.len() as f64
    );
    let keys: Vec<Vec<u8>> = (0..99_999).map(|_| row(dice.below(99_999))).collect();
    let point = |name: &str, at: Csn| -> Result<(), Box<dyn Error>> {
        let mut failed = None;
        let us = timer.best(99_999, |i| match store.read(ROWS, &keys[i as usize], at) {
            Ok(found) => drop(black_box(found)),
            Err(e) => failed = Some(e),
        });
        println!("{name:40} {us:8.3} us");
        failed.map_or(Ok(()), |e| Err(e.into()))
    };
    point("point read of now, memtable", Csn::MAX)?;
    store.set_durable(Csn(last), Vec::new);
    let start = env.clock.monotonic_us();
    store.flush()?;
    println!(
        "flush of 200,000 row versions            {:8.1} ms",
        (env.clock.monotonic_us() - start) as f64 / 1e3
    );
    point("point read of now, cached blocks", Csn::MAX)?;
    point("point read of the past, cached blocks", Csn(VERSIONS + 40_000))?;
    let us = timer.best(1, |_| {
        let scan = store.scan(ROWS, Bound::Unbounded, Bound::Unbounded, Csn::MAX, false);
        black_box(scan.filter(|item| item.is_ok()).count());
    });
    println!("scan of now, a row                       {:8.4} us", us / 99_999.0);
    store.compact()?;
    let us = timer.best(1, |_| {
        let scan =
            store.scan(ROWS, Bound::Unbounded, Bound::Unbounded, Csn(VERSIONS + 40_000), true);
        black_box(scan.filter(|item| item.is_ok()).count());
    });
    println!("scan of the past, a row                  {:8.4} us", us / 99_999.0);
    drop(store);
    let start = env.clock.monotonic_us();
    let store = Store::open(env, dir, options, resolve.clone())?;
    println!(
        "open                                     {:8.1} us",
        (env.clock.monotonic_us() - start) as f64
    );
    println!("{:?}", store.stats());
    Ok(())
}

/// Commits that each change three documents by a delta.
fn hot_commits(env: &Env, resolve: &Resolve, commits: &[Vec<Write>]) -> Result<(), Box<dyn Error>> {
    let options = StoreOptions { background: false, ..StoreOptions::default() };
    let memory = Env::sim(&vfs::SimVfs::unrecorded(), 1);
    let store = Store::open(&memory, Path::new("/hot"), options, resolve.clone())?;
    let first: Vec<Write> =
        [b"x", b"y", b"z"].map(|key| put(DOCUMENT, *key, vec![b'.'; 5000])).into();
    store.apply(Csn(1), &first)?;
    let start = env.clock.monotonic_us();
    for (i, writes) in commits.iter().enumerate() {
        store.apply(Csn(i as u64 + 2), writes)?;
    }
    let us = (env.clock.monotonic_us() - start) as f64 / commits.len() as f64;
    println!("apply of a delta to each of 3 keys       {us:8.3} us");
    Ok(())
}

fn reads(timer: &Timer, store: &Store, from: &str) -> Result<(), Box<dyn Error>> {
    let mut dice = Dice(99);
    let at: Vec<Csn> = (0..10_000).map(|_| Csn(1 + dice.below(VERSIONS))).collect();
    let mut sum = 0u64;
    let us = timer.best(200, |_| {
        let visited = store.versions(DOCUMENT, b"doc", Csn(0), Csn::MAX, |v| {
            sum += v.csn.0 + v.bytes.len() as u64;
            ControlFlow::Continue(())
        });
        black_box((visited.is_ok(), sum));
    });
    println!("versions of 5,001, {from:20}  {us:8.2} us");
    let us = timer.best(10_000, |i| {
        black_box(store.read(DOCUMENT, b"doc", at[i as usize]).is_ok());
    });
    println!("read of a random version, {from:14} {us:8.3} us");
    let mut image = Vec::new();
    let us = timer.best(10_000, |i| {
        image.clear();
        black_box(store.get(DOCUMENT, b"doc", at[i as usize], &mut image).is_ok());
    });
    println!("get (merged), {from:26} {us:8.3} us");
    Ok(())
}
