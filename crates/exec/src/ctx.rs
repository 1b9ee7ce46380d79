//! The context of a running statement: [`Ctx`] from the caller, and the shared state of the run.
//!
//! ```text
//!   Ctx     session, parameters, transaction, cancel flag     one call of Run::next
//!   Shared  slots, subplans, tables of WITH, bytes held        one execution
//!   Env     both, as operators see them
//! ```

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use foldhash::fast::FixedState;
use sql::eval::{CachedValue, Frame, OuterValues, Program, Row as EvalRow};
use types::{Datum, DatumRef, Error, Oid, Result, RetryReason, SqlState, TypeSource};

use crate::op::Row;
use crate::op::subplan::Subplan;
use crate::op::with::CteState;
use crate::spill::{RowStore, TempFolder};
use crate::tables::Tables;
use plan::explain::operator_stats::OperatorStats;

/// The context of a call of [`Run::next`](crate::Run::next).
#[derive(Clone, Copy)]
pub struct Ctx<'a> {
    /// Style, clock, session, parameters and the catalog.
    pub frame: Frame<'a>,
    /// The statement ends with `57014` when this becomes true.
    pub cancel: &'a AtomicBool,
    /// The tables, in the transaction of the statement.
    pub tables: &'a dyn Tables,
    /// How many bytes the statement may hold in sorts, hash tables and tables of `WITH` together. It ends
    /// with `53200` if it needs more.
    pub memory_bytes_max: usize,
    /// The memory that all statements may hold together; `None` for no limit.
    pub memory_total: Option<&'a Arc<MemoryTotal>>,
    /// The files for rows that operators cannot hold in memory. With `None` operators hold all rows.
    pub spill: Option<Spill<'a>>,
    /// The statement ends with [`Again::BudgetSpent`] when its operators have looked at so many rows. The server
    /// then runs it on another thread, where it holds up no other session. `None` for no limit.
    pub rows_max: Option<u64>,
    /// The worker threads that may take part.
    pub parallelism: Parallelism,
    /// Microseconds from an arbitrary start, if the times of operators are measured.
    pub clock: Option<&'a dyn Fn() -> u64>,
}

/// The worker threads that may take part in a large read.
#[derive(Clone, Copy, Debug)]
pub struct Parallelism {
    /// How many of them.
    pub threads_max: usize,
    /// A thread takes about so many rows at once: a table with fewer is read by one.
    pub rows_each: u64,
}

impl Parallelism {
    /// The usual number of rows that a thread takes at once.
    pub const ROWS_EACH: u64 = 16 << 10;
    /// No threads.
    pub const NONE: Parallelism = Parallelism { threads_max: 0, rows_each: Parallelism::ROWS_EACH };
}

/// The limits from which on operators write rows to files, and the folder of the files.
#[derive(Clone, Copy)]
pub struct Spill<'a> {
    /// The folder of the files.
    pub folder: &'a Arc<TempFolder>,
    /// How many bytes of rows, in their written form, a sort or a buffered table holds before it writes files.
    pub work_bytes: usize,
    /// The same of a hash table.
    pub hash_bytes: usize,
}

/// The bytes that all statements hold together. A statement reserves them in large pieces, and none for its first
/// [`MemoryTotal::PIECE_BYTES`].
#[derive(Debug)]
pub struct MemoryTotal {
    bytes_max: usize,
    held_bytes: AtomicUsize,
}

impl MemoryTotal {
    /// How many bytes a statement takes at once.
    pub const PIECE_BYTES: usize = 1 << 20;

    /// A total with this limit, of which nothing is reserved.
    pub fn new(bytes_max: usize) -> MemoryTotal {
        MemoryTotal { bytes_max, held_bytes: AtomicUsize::new(0) }
    }

    /// How many bytes are held, in pieces.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Takes so many bytes; false if they are too many.
    fn take(&self, bytes: usize) -> bool {
        let before = self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.bytes_max;
        if !fits {
            self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }
}

/// The part of a [`MemoryTotal`] that a statement has.
#[derive(Default)]
struct Taken(Option<(Arc<MemoryTotal>, usize)>);

impl Taken {
    /// Reserves memory, so that it is enough for so many bytes.
    fn reach(&mut self, total: &Arc<MemoryTotal>, bytes: usize) -> Result<()> {
        let (_, has) = self.0.get_or_insert_with(|| (Arc::clone(total), 0));
        let wanted = bytes / MemoryTotal::PIECE_BYTES * MemoryTotal::PIECE_BYTES;
        if wanted <= *has {
            return Ok(());
        }
        if !total.take(wanted - *has) {
            let detail = format!(
                "All statements together need more than the {} bytes that they may hold.",
                total.bytes_max
            );
            return Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory").with_detail(detail));
        }
        *has = wanted;
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some((total, bytes)) = self.0.take() {
            total.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

/// The state that the operators of one execution share.
pub(crate) struct Shared {
    pub(crate) slots: RefCell<Vec<Datum>>,
    /// Values that are the same for all rows, once they were computed.
    kept: Vec<OnceCell<CachedValue>>,
    pub(crate) subplans: Vec<RefCell<Subplan>>,
    pub(crate) ctes: Vec<RefCell<CteState>>,
    /// The rows that the recursive tables found in the step before.
    pub(crate) work: Vec<RefCell<RowStore>>,
    /// The versions of the tables of `WITH`, and after them those of the work tables.
    versions: Vec<Cell<u64>>,
    /// The row that is tested again.
    pub(crate) given: RefCell<Row>,
    /// The rows that the statement has changed.
    pub(crate) touched: RefCell<HashSet<(Oid, Vec<u8>), FixedState>>,
    /// How many rows the outermost change has changed.
    pub(crate) rows_changed: Cell<u64>,
    /// The counts of probes.
    pub(crate) seen: RefCell<Vec<OperatorStats>>,
    held_bytes: Cell<usize>,
    taken: RefCell<Taken>,
    ticks: Cell<u64>,
}

impl Shared {
    pub(crate) fn new(slots: u32, kept: u32, subplans: Vec<Subplan>, tables: u32) -> Self {
        Self {
            kept: (0..kept).map(|_| OnceCell::new()).collect(),
            slots: RefCell::new(vec![Datum::Null; slots as usize]),
            subplans: subplans.into_iter().map(RefCell::new).collect(),
            ctes: (0..tables).map(|_| RefCell::default()).collect(),
            work: (0..tables).map(|_| RefCell::default()).collect(),
            versions: (0..2 * tables).map(|_| Cell::new(0)).collect(),
            given: RefCell::default(),
            touched: RefCell::default(),
            rows_changed: Cell::new(0),
            seen: RefCell::default(),
            held_bytes: Cell::new(0),
            taken: RefCell::default(),
            ticks: Cell::new(0),
        }
    }

    /// Clears the state for the next execution.
    pub(crate) fn clear(&mut self) {
        self.slots.borrow_mut().fill(Datum::Null);
        self.kept.iter_mut().for_each(|place| *place = OnceCell::new());
        self.ctes.iter().for_each(|table| table.borrow_mut().rewind(self));
        self.work.iter().for_each(|rows| rows.borrow_mut().clear(self));
        self.subplans.iter().for_each(|subplan| subplan.borrow_mut().forget(self));
        self.touched.borrow_mut().clear();
        self.rows_changed.set(0);
        self.held_bytes.set(0);
        *self.taken.borrow_mut() = Taken::default();
        self.ticks.set(0);
    }

    /// The version of a table of `WITH` or of a work table.
    pub(crate) fn version(&self, source: u32) -> u64 {
        self.versions[source as usize].get()
    }

    /// A table of `WITH` gets other rows.
    pub(crate) fn table_changes(&self, table: u32) {
        let version = &self.versions[table as usize];
        version.set(version.get() + 1);
    }

    /// A work table gets other rows.
    pub(crate) fn work_table_changes(&self, table: u32) {
        let tables = u32::try_from(self.ctes.len()).expect("tables are numbered with u32");
        self.table_changes(tables + table);
    }

    /// Counts rows that other threads have looked at.
    pub(crate) fn add_ticks(&self, rows: u64) {
        self.ticks.set(self.ticks.get() + rows);
    }

    /// The number of values that are the same for all rows.
    pub(crate) fn kept_count(&self) -> usize {
        self.kept.len()
    }

    /// How many rows have been looked at so far.
    pub(crate) fn ticks(&self) -> u64 {
        self.ticks.get()
    }

    pub(crate) fn set_slot(&self, slot: u32, value: Datum) {
        self.slots.borrow_mut()[slot as usize] = value;
    }
}

/// The context of operators.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub(crate) ctx: Ctx<'a>,
    pub(crate) shared: &'a Shared,
}

impl Env<'_> {
    /// The value of a program for a row.
    #[inline]
    pub(crate) fn value<'r>(
        &self,
        program: &Program,
        row: impl Into<EvalRow<'r>>,
    ) -> Result<Datum> {
        program.run_in(row, self.ctx.frame, self)
    }

    /// True if the value of a program for a row is true.
    #[inline]
    pub(crate) fn test<'r>(&self, program: &Program, row: impl Into<EvalRow<'r>>) -> Result<bool> {
        program.test_in(row, self.ctx.frame, self)
    }

    /// The types that users made.
    pub(crate) fn types(&self) -> &dyn TypeSource {
        self.ctx.frame.context.types.types
    }

    /// Tells a subquery which rows will ask for it, by the programs of its arguments.
    pub(crate) fn expect(&self, number: usize, args: &[Program], rows: &RowStore) -> Result<()> {
        self.shared.subplans[number].borrow_mut().expect(self, args, rows)
    }

    /// To be called for each row: looks whether the statement may go on.
    #[inline]
    pub(crate) fn tick(&self) -> Result<()> {
        self.ticks(1)
    }

    /// The same for so many rows.
    #[inline]
    pub(crate) fn ticks(&self, rows: u64) -> Result<()> {
        let before = self.shared.ticks.get();
        let ticks = before + rows;
        self.shared.ticks.set(ticks);
        // A row may take long, so each of them is the time to hear of a cancel.
        self.go_on()?;
        if before / TICKS_MAX == ticks / TICKS_MAX { Ok(()) } else { self.may_go_on(ticks) }
    }

    /// Looks whether the statement was told to stop, where no row is looked at.
    ///
    /// # Errors
    /// `57014`.
    #[inline]
    pub(crate) fn go_on(&self) -> Result<()> {
        if self.ctx.cancel.load(Ordering::Relaxed) {
            Err(interrupt::Interrupted.into())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn may_go_on(&self, ticks: u64) -> Result<()> {
        if self.ctx.rows_max.is_some_and(|rows_max| ticks >= rows_max) {
            return Err(Error::retry(RetryReason::BudgetSpent));
        }
        Ok(())
    }
}

/// After how many rows it is looked whether the statement has looked at too many.
pub(crate) const TICKS_MAX: u64 = 256;

impl OuterValues for Env<'_> {
    fn slot(&self, number: usize) -> Datum {
        self.shared.slots.borrow()[number].clone()
    }

    fn kept(&self, number: usize) -> Option<&OnceCell<CachedValue>> {
        self.shared.kept.get(number)
    }

    fn subplan(
        &self,
        number: usize,
        args: &mut dyn Iterator<Item = Result<Datum>>,
    ) -> Result<Datum> {
        self.shared.subplans[number].borrow_mut().value(self, args)
    }
}

/// The bytes that an operator holds, counted against what the statement may.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    /// The bytes in memory.
    bytes: usize,
    /// The bytes in written form.
    packed_bytes: usize,
}

impl Held {
    /// Counts so many more bytes.
    ///
    /// # Errors
    /// `53200` where the statement holds too many.
    pub(crate) fn add(&mut self, env: &Env<'_>, bytes: usize) -> Result<()> {
        let all = env.shared.held_bytes.get() + bytes;
        if all > env.ctx.memory_bytes_max {
            return Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory").with_detail(format!(
                "The statement needs more than the {} bytes that it may hold.",
                env.ctx.memory_bytes_max
            )));
        }
        if all >= MemoryTotal::PIECE_BYTES
            && let Some(total) = env.ctx.memory_total
        {
            env.shared.taken.borrow_mut().reach(total, all)?;
        }
        env.shared.held_bytes.set(all);
        self.bytes += bytes;
        self.packed_bytes += bytes;
        Ok(())
    }

    /// Counts a row.
    pub(crate) fn add_row(&mut self, env: &Env<'_>, row: &[Datum]) -> Result<()> {
        let before = self.packed_bytes;
        let heap: usize = row.iter().map(Datum::heap_bytes).sum();
        self.add(env, row_bytes(row))?;
        self.packed_bytes = before + ROW_BYTES + VALUE_BYTES * row.len() + heap;
        Ok(())
    }

    /// The folder to spill to, if the operator holds more than it should; `hash` for a hash table.
    ///
    /// `work_mem` is compared with the bytes that rows have when they are written. In memory they
    /// take two to three times as many.
    pub(crate) fn is_over<'e>(&self, env: &Env<'e>, hash: bool) -> Option<&'e Arc<TempFolder>> {
        let spill = env.ctx.spill.as_ref()?;
        let most = if hash { spill.hash_bytes } else { spill.work_bytes };
        (self.packed_bytes > most).then_some(spill.folder)
    }

    /// How many bytes more a hash table may have before it is over, or the statement has too many.
    pub(crate) fn room(&self, env: &Env<'_>) -> usize {
        let left = env.ctx.memory_bytes_max.saturating_sub(env.shared.held_bytes.get());
        let spill = env.ctx.spill.as_ref();
        spill.map_or(left, |spill| left.min(spill.hash_bytes.saturating_sub(self.packed_bytes)))
    }

    /// How many bytes are held.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Nothing is held any more.
    pub(crate) fn clear(&mut self, shared: &Shared) {
        shared.held_bytes.set(shared.held_bytes.get().saturating_sub(self.bytes));
        *self = Held::default();
    }
}

/// The bytes of a written row, and of each value in it, beyond those of variable length.
const ROW_BYTES: usize = 16;
const VALUE_BYTES: usize = 8;

/// How many bytes a row takes in memory, about.
pub fn row_bytes(row: &[Datum]) -> usize {
    let heap: usize = row.iter().map(Datum::heap_bytes).sum();
    size_of::<Row>() + std::mem::size_of_val(row) + heap
}

/// How many bytes a value takes in memory, about.
pub(crate) fn value_bytes(value: DatumRef<'_>) -> usize {
    size_of::<Datum>() + value.heap_bytes()
}
