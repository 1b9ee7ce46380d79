//! Prints how many bytes merges write for changes of a table: `cargo run -p store --example rewritten`.
//!
//! A table of 400,000 rows of 100 bytes in segments of about 256 KiB: a 256th of the usual size. Each
//! line is of one kind of change: how many bytes flushes wrote, how many the merges wrote that were due between them, and
//! how many a compaction wrote afterwards. The numbers are the same on every machine.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use store::{Csn, MergeError, Op, Resolve, Retention, Store, StoreOptions, Table, TableId, Write};
use vfs::{Env, SimVfs};

/// Rows that are only put, and whose past is not kept.
struct Rows;

impl Table for Rows {
    fn merge(
        &self,
        _key: &[u8],
        _base_csn: Csn,
        _base: &[u8],
        _deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        _out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        Err(MergeError::new("rows have no deltas"))
    }

    fn keeps_history(&self, _key: &[u8]) -> bool {
        false
    }

    fn retention(&self) -> Retention {
        Retention::None
    }
}

const ROWS: u64 = 400_000;
/// Rows that a memtable takes here.
const BATCH: usize = 1_000;

struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

struct Bench {
    store: Store,
    csn: u64,
    dice: Dice,
}

impl Bench {
    fn row(&mut self, row: u64) -> Write {
        let value: String = (0..12).map(|_| format!("{:08x}", self.dice.next())).collect();
        let op = Op::Put(value.into_bytes());
        Write { table: TableId(1), key: row.to_be_bytes().to_vec(), op }
    }

    fn written(&self) -> u64 {
        self.store.stats().written_bytes
    }

    /// Writes rows, flushes each batch and merges what is due. Returns the bytes that flushes and merges wrote.
    fn write(&mut self, rows: &[u64]) -> Result<(u64, u64), Box<dyn Error>> {
        let (mut flushed, mut merged) = (0, 0);
        for batch in rows.chunks(BATCH) {
            let writes: Vec<Write> = batch.iter().map(|row| self.row(*row)).collect();
            self.csn += 1;
            self.store.apply(Csn(self.csn), &writes)?;
            self.store.set_durable(Csn(self.csn), Vec::new);
            let before = self.written();
            self.store.flush()?;
            let between = self.written();
            self.store.maintain()?;
            flushed += between - before;
            merged += self.written() - between;
        }
        Ok((flushed, merged))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let resolve: Resolve = Arc::new(|_| Arc::new(Rows));
    for kind in ["ascending rows, a tenth more", "1% of the rows", "the rows of one tenth"] {
        let env = Env::sim(&SimVfs::unrecorded(), 1);
        let mut options = StoreOptions { background: false, ..StoreOptions::default() };
        (options.segment_bytes, options.memtable_bytes) = (256 << 10, 8 << 20);
        let store = Store::open(&env, Path::new("/store"), options, resolve.clone())?;
        let mut bench = Bench { store, csn: 0, dice: Dice(7) };
        bench.write(&(0..ROWS).collect::<Vec<u64>>())?;
        bench.store.compact()?;
        let before = bench.store.stats();
        let mut rows: Vec<u64> = match kind {
            "1% of the rows" => (0..ROWS).step_by(100).collect(),
            "the rows of one tenth" => (ROWS / 2..ROWS / 2 + ROWS / 10).collect(),
            _ => (ROWS..ROWS + ROWS / 10).collect(),
        };
        if rows[0] < ROWS {
            for at in (1..rows.len()).rev() {
                rows.swap(at, bench.dice.next() as usize % (at + 1));
            }
        }
        let (flushed, merged) = bench.write(&rows)?;
        let between = bench.written();
        bench.store.compact()?;
        let compacted = bench.written() - between;
        let after = bench.store.stats();
        let kib = |bytes: u64| bytes >> 10;
        println!(
            "{kind:<30} of {:6} KiB: flushed {:5}, due merges {:6}, compaction {:6} KiB; {} runs, {} files",
            kib(before.current_bytes),
            kib(flushed),
            kib(merged),
            kib(compacted),
            after.current_runs,
            after.segments
        );
    }
    Ok(())
}
