//! Rows in order: all of them, or the first so many.
//!
//! Rows are compared by the key form of their keys, bytes that lie one behind the other; the first
//! eight of them stand beside the place of the row, and most comparisons end there. Where a limit
//! stands above, only as many rows are kept as it lets through, and the input learns which it may leave out.
//!
//! ```text
//!   rows ──> in memory, sorted when all are there
//!              └─ too many: a run in order, in a file; again and again; then all runs are merged
//! ```
//!
//! Rows with equal keys stay as they came: of runs that begin with equal keys the older one goes first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use batch::Cutoff;
use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Error, KeyOrder, Result, SqlState, key};

use super::rows::Rows;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::spill::{Reader, Tape, Writer, read_row, write_row};
use plan::explain::operator_stats::{Report, Sorted};

/// A key of an order, ready to be computed.
pub(crate) struct SortKey {
    pub(crate) program: Program,
    pub(crate) order: KeyOrder,
}

/// Appends the key form of the keys of a row.
pub(crate) fn write_keys<'r>(
    env: &Env<'_>,
    keys: &[SortKey],
    row: impl Into<EvalRow<'r>>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let row = row.into();
    for sort in keys {
        match sort.program.column() {
            Some(column) => key::write(row.get(column), sort.order, out),
            None => key::write(env.value(&sort.program, row)?.as_ref(), sort.order, out),
        }
    }
    Ok(())
}

/// How many rows a limit above lets through.
pub(crate) struct Bound {
    pub(crate) limit: Program,
    pub(crate) offset: Option<Program>,
}

/// Where a row's key lies.
#[derive(Clone, Copy)]
struct Entry {
    /// The first bytes of the key, in the order of numbers.
    head: u64,
    start: usize,
    len: u32,
    row: u32,
}

/// How many rows are put in order in one go.
const SORTED_AT_ONCE: usize = 1 << 17;

/// Entries of which each `width` are in order, with each two times as many in order.
fn merged(
    env: &Env<'_>,
    entries: &[Entry],
    width: usize,
    compare: impl Fn(&Entry, &Entry) -> Ordering,
) -> Result<Vec<Entry>> {
    let mut out = Vec::with_capacity(entries.len());
    for pair in entries.chunks(2 * width) {
        let (mut left, mut right) = pair.split_at(width.min(pair.len()));
        while let ([a, ..], [b, ..]) = (left, right) {
            if out.len() % SORTED_AT_ONCE == 0 {
                env.go_on()?;
            }
            let side = if compare(b, a).is_lt() { &mut right } else { &mut left };
            out.push(side[0]);
            *side = &side[1..];
        }
        out.extend_from_slice(left);
        out.extend_from_slice(right);
    }
    Ok(out)
}

/// How many runs are merged at once.
const RUNS_MAX: usize = 64;

/// Rows with their keys, some of them in files.
#[derive(Default)]
pub(crate) struct Sorter {
    keys: Vec<u8>,
    entries: Vec<Entry>,
    rows: Rows,
    held: Held,
    /// The runs so far, the oldest first, and how often each was merged.
    runs: Vec<(Tape, u32)>,
    writer: Option<Writer>,
    merge: Option<Merge>,
    /// The position of the next entry in memory.
    at: usize,
}

impl Sorter {
    /// Takes a row, whose values are moved in, with the key that `write` appends.
    pub(crate) fn push(
        &mut self,
        env: &Env<'_>,
        row: &mut Row,
        write: impl FnOnce(&Row, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let start = self.keys.len();
        write(row, &mut self.keys)?;
        self.held.add_row(env, row)?;
        self.held.add(env, self.keys.len() - start + size_of::<Entry>())?;
        let key = &self.keys[start..];
        let mut head = [0; 8];
        let known = key.len().min(8);
        head[..known].copy_from_slice(&key[..known]);
        self.entries.push(Entry {
            head: u64::from_be_bytes(head),
            start,
            len: key.len() as u32,
            row: self.rows.len() as u32,
        });
        self.rows.push(row);
        if self.held.is_over(env, false).is_some() { self.write_run(env) } else { Ok(()) }
    }

    fn compare(keys: &[u8], a: &Entry, b: &Entry) -> Ordering {
        let key = |entry: &Entry| &keys[entry.start..entry.start + entry.len as usize];
        a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))).then(a.row.cmp(&b.row))
    }

    /// Puts the rows in memory in order; rows with equal keys stay as they came.
    fn sort(&mut self, env: &Env<'_>) -> Result<()> {
        let keys = &self.keys;
        let compare = |a: &Entry, b: &Entry| Self::compare(keys, a, b);
        // So many are in order before anybody could have cancelled.
        for part in self.entries.chunks_mut(SORTED_AT_ONCE) {
            env.go_on()?;
            part.sort_unstable_by(compare);
        }
        let mut width = SORTED_AT_ONCE;
        while width < self.entries.len() {
            self.entries = merged(env, &self.entries, width, compare)?;
            width *= 2;
        }
        Ok(())
    }

    /// Writes the rows in memory as a run.
    fn write_run(&mut self, env: &Env<'_>) -> Result<()> {
        let Some(spill) = &env.ctx.spill else { return Ok(()) };
        self.sort(env)?;
        let writer = self.writer.get_or_insert_with(|| Writer::new(spill.folder));
        for entry in &self.entries {
            env.tick()?;
            let key = &self.keys[entry.start..entry.start + entry.len as usize];
            let row = self.rows.get(entry.row as usize);
            writer.push(|out| write_record(key, row, out))?;
        }
        self.runs.push((writer.tape()?, 0));
        self.forget_rows(env.shared);
        // Neighbours become one run before there are too many.
        while let Some(at) = self.runs.len().checked_sub(RUNS_MAX)
            && self.runs[at].1 == self.runs[self.runs.len() - 1].1
        {
            let (mut merge, mut writer) =
                (Merge::start(&self.runs[at..])?, Writer::new(spill.folder));
            while let Some(record) = merge.next()? {
                env.tick()?;
                writer.push(|out| out.extend_from_slice(record))?;
            }
            let level = self.runs[at].1 + 1;
            self.runs.truncate(at);
            self.runs.push((writer.tape()?, level));
            // The file of the runs that were merged goes with the last of them.
            self.writer = None;
        }
        Ok(())
    }

    fn forget_rows(&mut self, shared: &Shared) {
        self.keys.clear();
        self.entries.clear();
        self.rows.clear();
        self.held.clear(shared);
    }

    /// Keeps only the first `count` rows of the order of those in memory. Returns the place of the last of them.
    fn keep(&mut self, env: &Env<'_>, count: usize) -> Result<usize> {
        let keys = &self.keys;
        let (_, last, _) =
            self.entries.select_nth_unstable_by(count - 1, |a, b| Self::compare(keys, a, b));
        let last = last.row;
        self.entries.truncate(count);
        // Kept rows move together, in the order in which they came.
        self.entries.sort_unstable_by_key(|entry| entry.row);
        let (mut keys, mut rows, mut row) = (Vec::new(), Rows::default(), Row::new());
        self.held.clear(env.shared);
        let place = self.entries.partition_point(|entry| entry.row < last);
        for entry in &mut self.entries {
            let start = keys.len();
            keys.extend_from_slice(&self.keys[entry.start..entry.start + entry.len as usize]);
            self.rows.take(entry.row as usize, &mut row);
            self.held.add_row(env, &row)?;
            self.held.add(env, entry.len as usize + size_of::<Entry>())?;
            (entry.start, entry.row) = (start, rows.len() as u32);
            rows.push(&mut row);
        }
        (self.keys, self.rows) = (keys, rows);
        Ok(place)
    }

    /// To be called when all rows are there.
    pub(crate) fn finish(&mut self, env: &Env<'_>) -> Result<()> {
        if self.runs.is_empty() {
            self.sort(env)?;
            return Ok(());
        }
        if !self.entries.is_empty() {
            self.write_run(env)?;
        }
        self.merge = Some(Merge::start(&self.runs)?);
        Ok(())
    }

    /// Puts the next row of the order into `out`, and its key into `key` where that is wanted; false at
    /// the end.
    pub(crate) fn next(&mut self, out: &mut Row, key: Option<&mut Vec<u8>>) -> Result<bool> {
        if let Some(merge) = &mut self.merge {
            let Some(mut record) = merge.next()? else { return Ok(false) };
            let own = take_key(&mut record)?;
            if let Some(key) = key {
                key.clear();
                key.extend_from_slice(own);
            }
            return read_row(&mut record, out).map(|()| true);
        }
        let Some(entry) = self.entries.get(self.at) else { return Ok(false) };
        self.at += 1;
        if let Some(key) = key {
            key.clear();
            key.extend_from_slice(&self.keys[entry.start..entry.start + entry.len as usize]);
        }
        self.rows.take(entry.row as usize, out);
        Ok(true)
    }

    /// How many rows are in memory.
    fn len(&self) -> usize {
        self.entries.len()
    }

    /// How the rows were sorted.
    fn sorted(&self) -> Sorted {
        let written = self.runs.iter().map(|(run, _)| run.bytes()).sum();
        let is_external = !self.runs.is_empty();
        let bytes = if is_external { written } else { self.held.bytes() };
        Sorted { is_top: false, is_external, bytes }
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self, shared: &Shared) {
        self.held.clear(shared);
        *self = Self::default();
    }
}

fn write_record(key: &[u8], row: &[Datum], out: &mut Vec<u8>) {
    out.extend_from_slice(&(key.len() as u32).to_le_bytes());
    out.extend_from_slice(key);
    write_row(row, out);
}

/// The key at the front of a record, which is taken away from it.
fn take_key<'r>(record: &mut &'r [u8]) -> Result<&'r [u8]> {
    let damaged = || Error::new(SqlState::DATA_CORRUPTED, "a temporary file is damaged");
    let (length, rest) = record.split_first_chunk::<4>().ok_or_else(damaged)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (key, rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
    *record = rest;
    Ok(key)
}

/// Runs that are being merged.
struct Merge {
    readers: Vec<Reader>,
    /// The record that each run gives next.
    records: Vec<Vec<u8>>,
    /// The keys of these, and which run they are of: the least first.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// The run whose record came out last.
    last: Option<usize>,
}

impl Merge {
    fn start(runs: &[(Tape, u32)]) -> Result<Self> {
        let readers: Vec<Reader> = runs.iter().map(|(run, _)| run.read()).collect();
        let records = vec![Vec::new(); readers.len()];
        let mut merge = Self { readers, records, heads: BinaryHeap::new(), last: None };
        for run in 0..runs.len() {
            merge.advance(run, Vec::new())?;
        }
        Ok(merge)
    }

    /// Reads the next record of a run. `key` is a buffer.
    fn advance(&mut self, run: usize, mut key: Vec<u8>) -> Result<()> {
        if let Some(record) = self.readers[run].next()? {
            let own = &mut self.records[run];
            own.clear();
            own.extend_from_slice(record);
            key.clear();
            key.extend_from_slice(take_key(&mut &own[..])?);
            self.heads.push(Reverse((key, run)));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<&[u8]>> {
        if let Some(run) = self.last.take() {
            self.advance(run, Vec::new())?;
        }
        let Some(Reverse((_, run))) = self.heads.pop() else { return Ok(None) };
        self.last = Some(run);
        Ok(Some(&self.records[run]))
    }
}

/// The rows of the input in order.
pub(crate) struct Sort {
    input: Input,
    keys: Vec<SortKey>,
    bound: Option<Bound>,
    sorter: Sorter,
    is_filled: bool,
}

impl Sort {
    pub(crate) fn new(input: Input, keys: Vec<SortKey>, bound: Option<Bound>) -> Self {
        Self { input, keys, bound, sorter: Sorter::default(), is_filled: false }
    }

    /// The cutoff that tells the input which rows it may leave out, as no more than `count` come
    /// out.
    fn cutoff(&self, count: usize) -> Option<Cutoff> {
        let first = self.keys.first()?;
        Some(Cutoff::new(first.program.column()?, first.order, self.keys.len() > 1, count))
    }

    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        let count = match &self.bound {
            Some(bound) => super::limit::first(env, &bound.limit, bound.offset.as_ref())?,
            None => None,
        };
        if count == Some(0) {
            return Ok(());
        }
        let cutoff = count.and_then(|count| self.cutoff(count));
        if let Some(cutoff) = &cutoff {
            self.input.cut_off(cutoff.clone());
        }
        let mut row = Row::new();
        while self.input.next(env, &mut row)? {
            let keys = &self.keys;
            self.sorter.push(env, &mut row, |row, out| write_keys(env, keys, row, out))?;
            if let Some(count) = count
                && self.sorter.len() >= count.saturating_mul(2).max(64)
            {
                let last = self.sorter.keep(env, count)?;
                if let Some(cutoff) = &cutoff {
                    let last = self.sorter.rows.get(last)[cutoff.column()].clone();
                    self.input.cut_off(cutoff.clone().at(last));
                }
            }
        }
        self.sorter.finish(env)
    }
}

impl Operator for Sort {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if !self.is_filled {
            self.fill(env)?;
            self.is_filled = true;
        }
        self.sorter.next(out, None)
    }

    fn report(&self) -> Report {
        let sorted = Sorted { is_top: self.bound.is_some(), ..self.sorter.sorted() };
        Report { sort: self.is_filled.then_some(sorted), ..Report::default() }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.is_filled = false;
        self.sorter.clear(shared);
        self.input.rewind(shared);
    }
}
