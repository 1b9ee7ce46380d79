//! Does the rate of durable commits hold? `cargo run --release -p document --example length
//! [directory] [commits]`.
//!
//! ```text
//!   window   |  1  |  2  |  3  | ... | 10  |     ours and the floor of the disk take turns in each
//! ```
//!
//! One tiny document whose counter is set again and again, every commit synced. For each tenth of the
//! commits: the rate of ours and of the floor (one `pwrite` and one `fdatasync` into a file full of
//! zeroes), medians of slices; what a commit costs of the processor; the slowest commits; and what the
//! log, the memtable and the background threads have come to. At the end, how long the database takes
//! to open where the process had died instead of closing it.

use document::{CollectionOptions, DocumentTable, Documents};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use store::TableId;
use txn::{Engine, EngineOptions};
use vfs::{Env, File, OpenMode};

const DOCUMENT: &str =
    r#"{"counter":0,"label":"a tiny document","tags":["a","b","c"],"open":true}"#;
const WINDOWS: u64 = 10;
const SLICE: u64 = 1_000;
const FLOOR_SLICE: u64 = 500;
const FLOOR_BYTES: u64 = 16 << 20;
const RECORD: [u8; 160] = [0x5a; 160];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let commits: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let dir = root.join(format!("length-{}", std::process::id()));
    let result = run(&dir, commits);
    std::fs::remove_dir_all(&dir)?;
    result
}

fn open(env: &Env, dir: &Path, table: &Arc<DocumentTable>) -> Result<Arc<Engine>, Box<dyn Error>> {
    let table = Arc::clone(table);
    let resolve = Arc::new(move |_: TableId| -> Arc<dyn store::Table> { table.clone() });
    Ok(Engine::open(env, dir, EngineOptions::default(), resolve)?)
}

fn run(dir: &Path, commits: u64) -> Result<(), Box<dyn Error>> {
    let env = Env::os();
    env.fs.create_dir_all(dir)?;
    let floor = floor_file(&env, dir)?;
    let table = Arc::new(DocumentTable::new(CollectionOptions::default()));
    let engine = open(&env, &dir.join("db"), &table)?;
    let documents = Documents::new(Arc::clone(&engine), 64 << 20, |_| true);
    let docs = documents.collection(TableId(16), Arc::clone(&table));
    docs.put("d", DOCUMENT)?;
    println!(
        "window   ours/s   floor/s   share   cpu us   p99 us   max ms   log MB   memtable MB   flushes   merges   written MB"
    );
    let (mut value, mut at) = (0u64, 0u64);
    for window in 1..=WINDOWS {
        let (mut ours, mut raw, mut each, mut cpu) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for _ in 0..(commits / WINDOWS / SLICE).max(1) {
            let (start, before) = (Instant::now(), cpu_us()?);
            for _ in 0..SLICE {
                let begun = Instant::now();
                value += 1;
                docs.edit("d", |edit| edit.set("$.counter", value.to_string()))?;
                each.push(begun.elapsed().as_secs_f64() * 1e6);
            }
            ours.push(start.elapsed().as_secs_f64() / SLICE as f64);
            cpu += cpu_us()? - before;
            let start = Instant::now();
            for _ in 0..FLOOR_SLICE {
                floor.write_all_at(&RECORD, at)?;
                floor.sync_data()?;
                at = (at + RECORD.len() as u64) % (FLOOR_BYTES - RECORD.len() as u64);
            }
            raw.push(start.elapsed().as_secs_f64() / FLOOR_SLICE as f64);
        }
        let (mine, disk) = (1.0 / middle(&mut ours), 1.0 / middle(&mut raw));
        let stats = engine.stats();
        let count = each.len();
        each.sort_by(f64::total_cmp);
        println!(
            "{window:6} {mine:8.0} {disk:9.0} {:7.3} {:8.2} {:8.1} {:8.2} {:8.1} {:13.1} {:9} {:8} {:12.1}",
            mine / disk,
            cpu / count as f64,
            each[count * 99 / 100],
            each[count - 1] / 1e3,
            stats.log.segment_bytes as f64 / 1e6,
            stats.store.memtable_bytes as f64 / 1e6,
            stats.store.flushes,
            stats.store.compactions,
            stats.store.written_bytes as f64 / 1e6,
        );
    }
    // As if the process had died: the log has no mark, the memtable was not flushed.
    drop((docs, documents, engine));
    let start = Instant::now();
    let engine = open(&env, &dir.join("db"), &table)?;
    println!("open after a crash: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(engine.close()?)
}

fn floor_file(env: &Env, dir: &Path) -> Result<Arc<dyn File>, Box<dyn Error>> {
    let file = env.fs.open(&dir.join("floor"), OpenMode::CreateNew)?;
    for at in (0..FLOOR_BYTES).step_by(1 << 20) {
        file.write_all_at(&vec![0; 1 << 20], at)?;
    }
    file.sync_all()?;
    Ok(file)
}

fn middle(list: &mut [f64]) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// Processor time of this thread so far, in microseconds.
fn cpu_us() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos: f64 = text.split(' ').next().ok_or("an empty schedstat")?.parse()?;
    Ok(nanos / 1e3)
}
