//! Scans of stored tables: the present by cursors, the past by snapshots, versions by a walk over them,
//! through every table of the store that the relation ever had.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use sql::eval::Row as EvalRow;
use sql::plan::system;
use store::Csn;
use table::columnar::Block;
use table::index::{Index, RowKeys};
use table::method::ColumnSet;
use table::rows::{Batch, Cursor, PastCursor, Reads, RowVersion, StorageEpoch, Table};
use txn::{KeyRange, Snapshot, View};
use types::{Datum, DatumRef, Error, Result, SqlState};

use super::{Stored, error, no_handle, position};
use crate::tables::{
    Moment, Piece, ScanKey, ScanRequest, TablePart, count_given, first_that, piece_of_rows,
};

/// How many rows are read at once at first, and at most.
const ROWS_FIRST: usize = 4;
const ROWS_MAX: usize = 256;
/// How many rows in row form come in one piece at most.
const PIECE_ROWS_MAX: usize = 1_024;
/// The values of up to so many columns are read without an allocation.
const COLUMNS_FEW: usize = 16;
/// How many rows can be read one after the other in the time of a look-up.
const ROWS_PER_LOOK_UP: u64 = 8;
/// So many look-ups are always few.
const ROWS_FEW: u64 = 64;

/// An index of a table by its number.
fn index_of(table: &Table, oid: Option<types::Oid>) -> Option<&Index> {
    table.indexes().iter().find(|index| Some(index.relation().oid) == oid)
}

/// The key of the one row that can have a key of an index, or of the table itself.
pub(super) fn found<'k>(
    table: &Table,
    view: View<'_>,
    index: Option<types::Oid>,
    key: &'k [u8],
) -> Result<Option<Cow<'k, [u8]>>> {
    match index_of(table, index) {
        Some(index) => table.find(view, index, key).map_err(error),
        None => Ok(Some(Cow::Borrowed(key))),
    }
}

/// The error of an entry of an index that leads to no row, in a view that has the row.
pub(super) fn leads_nowhere(table: &Table, index: Option<types::Oid>) -> Error {
    error(table.damaged_index(index, "an entry leads to no row"))
}

/// Where the rows come from.
enum Source {
    /// The present, or the past at a snapshot: the rows of the cursor, or without a cursor the rows with `keys`, which
    /// are looked up.
    Rows {
        cursor: Option<Cursor>,
        keys: std::vec::IntoIter<Vec<u8>>,
        /// The index whose entries at the snapshot of `past` lead to all of the keys: no row may be missing.
        leads: Option<types::Oid>,
        past: Option<Snapshot>,
        batch: Batch,
        at: usize,
        rows_next: usize,
    },
    /// Versions that were current between two commits, epoch by epoch; then, perhaps, the rows of now that
    /// the transaction itself has written.
    Versions { epochs: VecDeque<Walk>, now: Snapshot, from: Csn, to: Csn, own: Option<Own> },
}

/// The ranges or the searches of an index that select the wanted rows.
struct By<'a> {
    index: Option<types::Oid>,
    ranges: Vec<KeyRange>,
    /// True if there is one range, and it has at most one row at any moment.
    is_single: bool,
    /// The searches, if the index is one of items.
    scan_keys: &'a [ScanKey],
}

impl By<'_> {
    /// The rows of which some version may be wanted, as an index with the entries of all versions tells them; `None` if
    /// the index does not have all entries.
    fn rows_ever(
        &self,
        stored: &Stored<'_>,
        table: &Arc<Table>,
        now: &Snapshot,
    ) -> Result<Option<RowKeys>> {
        let Some(index) = index_of(table, self.index).filter(|index| index.is_whole()) else {
            return Ok(None);
        };
        // Changes of the transaction itself are not among the commits yet.
        let catalog = stored.cache.at(now).map_err(error)?;
        let then = catalog.relation(index.relation().oid).and_then(|known| known.storage());
        if then != index.storage() {
            return Ok(None);
        }
        if self.scan_keys.is_empty() {
            return index.rows_ever(now, &self.ranges).map(Some).map_err(error);
        }
        let query = index.query(self.scan_keys).map_err(error)?;
        if query.is_all() {
            return Ok(None);
        }
        index.rows_ever_with(now, &query).map(Some).map_err(error)
    }
}

/// A walk over the versions of an epoch.
struct Walk {
    epoch: StorageEpoch,
    cursor: PastCursor,
    found: VecDeque<RowVersion>,
}

/// A walk over the present rows, which gives only those that the transaction itself has written.
struct Own {
    cursor: Cursor,
    batch: Batch,
    at: usize,
}

/// A scan of a stored table.
pub(super) struct Scan {
    table: Arc<Table>,
    attnums: Vec<i16>,
    /// The columns by position, where they ascend and none is a system column.
    plain: Option<Vec<usize>>,
    /// The table as it is now, where columns that are read have other types there.
    now: Option<Arc<Table>>,
    source: Source,
    /// Only versions that began and ended within these commits.
    within: Option<(Csn, Csn)>,
    /// The scans that come after it.
    then: VecDeque<Scan>,
    /// How the rows are reached.
    way: Way,
    /// Counts the rows that are read.
    reads: Option<Reads>,
}

/// How the rows of a table are reached.
#[derive(Clone, Copy)]
enum Way {
    /// All of them are read.
    All,
    /// By the key under which they lie.
    Key,
    /// By an index.
    Index(types::Oid),
}

impl Scan {
    /// The same, counted as a use of the table and of its index.
    pub(super) fn start_counted(stored: &Stored<'_>, request: ScanRequest<'_>) -> Result<Self> {
        let mut scan = Self::start(stored, request)?;
        let usage = scan.table.usage();
        let reads = match scan.way {
            Way::All => Reads::of_table(usage, stored.counting),
            Way::Key => Reads::of_index(usage, scan.table.index_usage(None), stored.counting),
            Way::Index(index) => {
                Reads::of_index(usage, scan.table.index_usage(Some(index)), stored.counting)
            }
        };
        scan.reads = Some(reads);
        Ok(scan)
    }

    /// The same scan, whose rows are counted.
    pub(super) fn counted(self, reads: Reads) -> Self {
        Self { reads: Some(reads), ..self }
    }

    /// Counts rows that were read.
    fn count_reads(&mut self, rows: usize) {
        if let Some(reads) = &mut self.reads {
            reads.add(rows);
        }
    }

    pub(super) fn start(stored: &Stored<'_>, request: ScanRequest<'_>) -> Result<Self> {
        let ranges = request.ranges.into_iter().map(|(lower, upper)| KeyRange { lower, upper });
        let by = By {
            index: request.index,
            ranges: ranges.collect(),
            is_single: request.is_single,
            scan_keys: &request.scan_keys,
        };
        let range = by.ranges.first().cloned().unwrap_or(KeyRange::ALL);
        let table = stored.table(request.relation)?;
        let before = |time: types::time::TimestampTz| {
            stored.csn_at(types::time::TimestampTz(time.0.saturating_sub(1)))
        };
        let now = || stored.txn.borrow().snapshot().clone();
        let newest = now().csn();
        let mut within = None;
        let (from, to) = match request.moment {
            Moment::Now => {
                let backward = request.is_backward;
                let (index, attnums) = (request.index, request.attnums);
                if request.may_read_all && Self::has_many(stored, &table, index)? {
                    return Ok(Self::over(table, attnums, None, KeyRange::ALL, false, None));
                }
                return match &request.scan_keys[..] {
                    [] => Ok(Self::over(table, attnums, index, range, backward, None)),
                    scan_keys => Self::with_items(stored, table, attnums, (index, scan_keys), None),
                };
            }
            Moment::AsOf(time) => {
                let csn = stored.csn_at(time)?;
                return Self::past(stored, request.attnums, &table, by, csn);
            }
            Moment::AtVersion(version) => {
                let csn = Csn(u64::try_from(version).unwrap_or_default());
                if version < 0 || csn > newest {
                    return Err(Error::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("there is no version {version}; the newest is {}", newest.0),
                    ));
                }
                return Self::past(stored, request.attnums, &table, by, csn);
            }
            Moment::FromTo(from, to) if from >= to => (Csn(1), Csn(0)),
            Moment::FromTo(from, to) => (stored.csn_at(from)?, before(to)?),
            Moment::Between(from, to) if from > to => (Csn(1), Csn(0)),
            Moment::Between(from, to) => (stored.csn_at(from)?, stored.csn_at(to)?),
            Moment::ContainedIn(from, to) => {
                let (from, to) = (Csn(before(from)?.0 + 1), stored.csn_at(to)?);
                within = Some((from, to));
                (from, to)
            }
            Moment::All | Moment::Ever => (Csn(0), newest),
        };
        let now = now();
        // A version that begins or ends later changes the answer.
        if to >= newest {
            let range = if request.index.is_some() { KeyRange::ALL } else { range.clone() };
            stored.txn.borrow().note_scan(table.storage(), range);
        }
        let own = (request.moment == Moment::Ever).then(|| Own {
            cursor: Cursor::over(&table, range.clone(), false),
            batch: Batch::new(),
            at: 0,
        });
        let epochs =
            StorageEpoch::of(&table, &now, from, (stored.cache, stored.handles)).map_err(error)?;
        let walk = |epoch: StorageEpoch| {
            let is_now = epoch.ended.is_none() && epoch.table.storage() == table.storage();
            let is_same = is_now || has_key(&epoch.table, &table, None);
            let found = if is_now { by.rows_ever(stored, &table, &now)? } else { None };
            let cursor = match found {
                Some(found) => PastCursor::of_rows(&epoch.table, found),
                None if by.index.is_none() && is_same => {
                    PastCursor::over(&epoch.table, range.clone())
                }
                None => PastCursor::over(&epoch.table, KeyRange::ALL),
            };
            Ok(Walk { epoch, cursor, found: VecDeque::new() })
        };
        let epochs = epochs.into_iter().map(walk).collect::<Result<_>>()?;
        let source = Source::Versions { epochs, now, from, to, own };
        Ok(Self {
            attnums: request.attnums.to_vec(),
            plain: None,
            now: None,
            table,
            source,
            within,
            then: VecDeque::new(),
            way: if request.index.is_some() { Way::Key } else { Way::All },
            reads: None,
        })
    }

    /// The rows as they were after a commit, by the catalog of that commit: those of the ranges, if the table had the
    /// same key then or if its present index has the entries of that time; else all rows.
    fn past(
        stored: &Stored<'_>,
        attnums: &[i16],
        now: &Arc<Table>,
        by: By<'_>,
        csn: Csn,
    ) -> Result<Self> {
        let mut scan = Self::past_as_then(stored, attnums, now, by, csn)?;
        let (then, now_columns) = (&scan.table.relation().columns, &now.relation().columns);
        let differs = |attnum: &i16| {
            let at = position(*attnum);
            let columns = (then.get(at), now_columns.get(at));
            *attnum > 0
                && matches!(columns, (Some(then), Some(before)) if then.repr != before.repr
                    || !now.has_attributes_of(&scan.table, at))
        };
        if attnums.iter().any(differs) {
            for next in &mut scan.then {
                (next.plain, next.now) = (None, Some(Arc::clone(now)));
            }
            (scan.plain, scan.now) = (None, Some(Arc::clone(now)));
        }
        Ok(scan)
    }

    /// The same with the columns as they were then.
    fn past_as_then(
        stored: &Stored<'_>,
        attnums: &[i16],
        now: &Arc<Table>,
        by: By<'_>,
        csn: Csn,
    ) -> Result<Self> {
        let engine = Arc::clone(stored.txn.borrow().engine());
        let snapshot = engine.snapshot_at(csn).map_err(|source| error(source.into()))?;
        if let Some(kept) = stored.kept_from(now.relation().oid).filter(|kept| csn < *kept) {
            let name = &now.relation().name;
            let message =
                format!("the past of \"{name}\" before version {} has been deleted", kept.0);
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let catalog = stored.cache.at(&snapshot).map_err(error)?;
        let Some(table) = stored.handles.table(&catalog, now.relation().oid) else {
            if catalog.table(now.relation().oid).is_some() {
                return Err(no_handle(&catalog, now.relation().oid));
            }
            let name = &now.relation().name;
            let message = format!("relation \"{name}\" did not exist at that time");
            return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
        };
        let index = by.index;
        if !has_key(&table, now, index) {
            // For a column that was added later, the index has the values that past versions have in it today.
            let is_there = table.storage() == now.storage()
                && table.relation().columns.len() == now.relation().columns.len();
            let latest = stored.txn.borrow().snapshot().clone();
            let found = if is_there { by.rows_ever(stored, now, &latest)? } else { None };
            let most = Self::rows_worth(stored, now);
            let scan = Self::over(table, attnums, None, KeyRange::ALL, false, Some(snapshot));
            return Ok(match found.filter(|found| found.len() as u64 <= most) {
                Some(found) => scan.of_rows(index, found.into_iter().collect()),
                None => scan,
            });
        }
        if !by.scan_keys.is_empty() {
            return Self::with_items(stored, table, attnums, (index, by.scan_keys), Some(snapshot));
        }
        // At that time the index may have had several entries for one key.
        let is_single = by.is_single && index_of(&table, index).is_none_or(Index::is_arbiter);
        let mut scans = VecDeque::with_capacity(by.ranges.len());
        for range in by.ranges {
            let key = match &range.lower {
                Bound::Included(key) if is_single => Some(key.clone()),
                _ => None,
            };
            let past = Some(snapshot.clone());
            let mut scan = Self::over(Arc::clone(&table), attnums, index, range, false, past);
            key.map_or(Ok(()), |key| scan.look_up(index, &key))?;
            scans.push_back(scan);
        }
        let first = scans.pop_front();
        let all = KeyRange::ALL;
        let mut scan =
            first.unwrap_or_else(|| Self::over(table, attnums, None, all, false, Some(snapshot)));
        scan.then = scans;
        Ok(scan)
    }

    /// The rows that an index of items finds; all where it would find most of them, or cannot tell.
    fn with_items(
        stored: &Stored<'_>,
        table: Arc<Table>,
        attnums: &[i16],
        (oid, scan_keys): (Option<types::Oid>, &[ScanKey]),
        past: Option<Snapshot>,
    ) -> Result<Self> {
        let all = KeyRange::ALL;
        let index = index_of(&table, oid);
        let Some(index) = index else {
            return Ok(Self::over(table, attnums, None, all, false, past));
        };
        let query = index.query(scan_keys).map_err(error)?;
        if query.is_all() {
            return Ok(Self::over(table, attnums, None, all, false, past));
        }
        let txn = stored.txn.borrow();
        let view = match &past {
            Some(snapshot) => View::past(snapshot),
            None => txn.view(),
        };
        let keys = index.rows_with(&table, view, &query).map_err(error)?;
        drop(txn);
        let is_much = keys.len() as u64 > Self::rows_worth(stored, &table);
        let scan = Self::over(table, attnums, None, all, false, past);
        Ok(if is_much { scan } else { scan.of_rows(oid, keys).all_there(oid) })
    }

    /// The same scan over these rows alone, which are looked up.
    fn of_rows(mut self, index: Option<types::Oid>, rows: Vec<Vec<u8>>) -> Self {
        if let Source::Rows { cursor, keys, .. } = &mut self.source {
            *cursor = None;
            *keys = rows.into_iter();
        }
        self.way = index.map_or(Way::All, Way::Index);
        self
    }

    /// The same scan, whose keys are those of the index at its snapshot: no row may be missing.
    fn all_there(mut self, index: Option<types::Oid>) -> Self {
        // In the present the statement itself may delete rows while it reads them.
        if let Source::Rows { leads, past: Some(_), .. } = &mut self.source {
            *leads = index;
        }
        self
    }

    /// How many rows can be looked up one by one in the time in which all are read.
    fn rows_worth(stored: &Stored<'_>, table: &Table) -> u64 {
        (stored.handles.row_count(table.storage()) / ROWS_PER_LOOK_UP).max(ROWS_FEW)
    }

    /// Whether an index has so many entries that reading all rows is cheaper.
    fn has_many(stored: &Stored<'_>, table: &Arc<Table>, oid: Option<types::Oid>) -> Result<bool> {
        let Some(index) = index_of(table, oid) else { return Ok(false) };
        let most = Self::rows_worth(stored, table);
        let txn = stored.txn.borrow();
        let mut cursor = Cursor::by_index(table, index, KeyRange::ALL, false);
        Ok(cursor.count(txn.view(), most + 1).map_err(error)? > most)
    }

    /// Reads the one row that there can be.
    fn look_up(&mut self, index: Option<types::Oid>, key: &[u8]) -> Result<()> {
        let Source::Rows { cursor, past: Some(snapshot), batch, .. } = &mut self.source else {
            return Ok(());
        };
        *cursor = None;
        batch.take_out_of_line(true);
        let view = View::past(snapshot);
        let Some(key) = found(&self.table, view, index, key)? else { return Ok(()) };
        self.table.get_into(view, &key, ColumnSet::Columns(&self.attnums), batch).map_err(error)?;
        match index.is_some() && batch.is_empty() {
            true => Err(leads_nowhere(&self.table, index)),
            false => Ok(()),
        }
    }

    pub(super) fn over(
        table: Arc<Table>,
        attnums: &[i16],
        index: Option<types::Oid>,
        range: KeyRange,
        backward: bool,
        past: Option<Snapshot>,
    ) -> Self {
        let index = index_of(&table, index);
        let way = match index {
            Some(index) => Way::Index(index.relation().oid),
            None if range == KeyRange::ALL => Way::All,
            None => Way::Key,
        };
        let cursor = match index {
            Some(index) => Cursor::by_index(&table, index, range, backward),
            None => Cursor::over(&table, range, backward),
        };
        let ascending = attnums.windows(2).all(|pair| pair[0] < pair[1]);
        let width = table.relation().columns.len();
        let known = attnums.last().is_none_or(|last| position(*last) < width);
        let plain = (ascending && known && attnums.first().is_none_or(|first| *first > 0))
            .then(|| attnums.iter().map(|attnum| position(*attnum)).collect());
        let (batch, at, rows_next) = (Batch::new(), 0, ROWS_FIRST);
        let cursor = Some(cursor);
        let keys = Vec::new().into_iter();
        let source = Source::Rows { cursor, keys, leads: None, past, batch, at, rows_next };
        Self {
            attnums: attnums.to_vec(),
            plain,
            now: None,
            table,
            source,
            within: None,
            then: VecDeque::new(),
            way,
            reads: None,
        }
    }

    /// Counts the next rows, up to about so many; 0 at the end.
    pub(super) fn count(&mut self, stored: &Stored<'_>, most: u64) -> Result<u64> {
        if self.then.is_empty()
            && let Source::Rows { cursor: Some(cursor), past, batch, at, .. } = &mut self.source
            && *at == batch.len()
        {
            let txn = stored.txn.borrow();
            let view = match past {
                Some(snapshot) => View::past(snapshot),
                None => txn.view(),
            };
            let count = cursor.count(view, most).map_err(error)?;
            drop(txn);
            self.count_reads(count as usize);
            return Ok(count);
        }
        count_given(most, |row| self.next(stored, row))
    }

    /// Puts the next row into `out`. The tables are those that the scan was started with.
    pub(super) fn next(&mut self, stored: &Stored<'_>, out: &mut Vec<Datum>) -> Result<bool> {
        while !self.next_of_first(stored, out)? {
            let Some(next) = self.then.pop_front() else { return Ok(false) };
            let (then, reads) = (std::mem::take(&mut self.then), self.reads.take());
            *self = Self { then, reads, ..next };
        }
        Ok(true)
    }

    /// Puts the next row for which `test` is true into `out`. Makes no values of other rows.
    pub(super) fn next_that(
        &mut self,
        stored: &Stored<'_>,
        test: &mut dyn FnMut(EvalRow<'_>) -> Result<bool>,
        out: &mut Vec<Datum>,
    ) -> Result<bool> {
        while self.plain.is_some() && matches!(self.source, Source::Rows { .. }) {
            if !self.fill(stored)? {
                if self.then.is_empty() {
                    return Ok(false);
                }
                break;
            }
            let (Source::Rows { batch, at, .. }, Some(positions)) = (&mut self.source, &self.plain)
            else {
                break;
            };
            let mut few = [DatumRef::Null; COLUMNS_FEW];
            let mut many = Vec::new();
            let columns = match few.get_mut(..positions.len()) {
                Some(few) => few,
                None => {
                    many.resize(positions.len(), DatumRef::Null);
                    &mut many[..]
                }
            };
            while *at < batch.len() {
                let row = batch.row(*at);
                *at += 1;
                // A row that is only counted is not read.
                if !positions.is_empty() {
                    row.columns_into(positions, columns).map_err(error)?;
                }
                if test(EvalRow::Refs(columns))? {
                    out.clear();
                    out.extend(columns.iter().map(|column| DatumRef::to_owned(*column)));
                    return Ok(true);
                }
            }
        }
        first_that(test, out, |out| self.next(stored, out))
    }

    /// Calls `f` with the next rows, as they lie; false at the end.
    pub(super) fn next_piece(
        &mut self,
        stored: &Stored<'_>,
        f: &mut dyn FnMut(Piece<'_, '_>) -> Result<()>,
    ) -> Result<bool> {
        let Self { table, attnums, plain: Some(_), source, then, reads, .. } = self else {
            return piece_of_rows(f, |out| self.next(stored, out));
        };
        let Source::Rows { cursor: Some(cursor), past, batch, at, .. } = source else {
            return piece_of_rows(f, |out| self.next(stored, out));
        };
        if *at < batch.len() || (cursor.is_at_end() && !then.is_empty()) {
            return piece_of_rows(f, |out| self.next(stored, out));
        }
        batch.clear();
        batch.take_out_of_line(false);
        *at = 0;
        let wanted = ColumnSet::Columns(attnums);
        let block = {
            let txn = stored.txn.borrow();
            let view = match past {
                Some(snapshot) => View::past(snapshot),
                None => txn.view(),
            };
            cursor.fill_to_block(view, wanted, batch, PIECE_ROWS_MAX, true).map_err(error)?
        };
        if let Some(reads) = reads {
            reads.add(batch.len() + block.as_ref().map_or(0, Block::len));
        }
        give(table, batch, block, f)
    }

    /// Takes the scan apart, as [`Tables::split`] says.
    ///
    /// [`Tables::split`]: crate::tables::Tables::split
    pub(super) fn split(
        &mut self,
        stored: &Stored<'_>,
        rows_each: u64,
    ) -> Result<Vec<Box<dyn TablePart>>> {
        let Self { table, attnums, plain: Some(_), source, reads, .. } = self else {
            return Ok(Vec::new());
        };
        let Source::Rows { cursor: Some(cursor), past, batch, .. } = source else {
            return Ok(Vec::new());
        };
        if !batch.is_empty() {
            return Ok(Vec::new());
        }
        let txn = stored.txn.borrow();
        let view = match past {
            Some(snapshot) => View::past(snapshot),
            None => txn.view(),
        };
        let part = |cursor| -> Box<dyn TablePart> {
            let (table, attnums) = (Arc::clone(table), attnums.clone());
            let (snapshot, batch) = (view.snapshot().clone(), Batch::new());
            let reads = reads.as_ref().map(Reads::part);
            Box::new(Part { table, attnums, cursor, snapshot, batch, reads })
        };
        Ok(cursor.split(view, rows_each).map_err(error)?.into_iter().map(part).collect())
    }

    /// Reads the next rows where none is left in the batch; false if there are no more.
    fn fill(&mut self, stored: &Stored<'_>) -> Result<bool> {
        let Self { table, attnums, source, reads, .. } = self;
        let Source::Rows { cursor, keys, leads, past, batch, at, rows_next } = source else {
            return Ok(false);
        };
        if *at < batch.len() {
            return Ok(true);
        }
        if cursor.is_none() && keys.as_slice().is_empty() {
            return Ok(false);
        }
        batch.clear();
        batch.take_out_of_line(true);
        *at = 0;
        let txn = stored.txn.borrow();
        let view = match past {
            Some(snapshot) => View::past(snapshot),
            None => txn.view(),
        };
        let wanted = ColumnSet::Columns(attnums);
        match cursor {
            Some(cursor) => cursor.fill(view, wanted, batch, *rows_next).map_err(error)?,
            None => {
                // Some of the rows that existed at some time do not exist in this view.
                while batch.len() < *rows_next
                    && let Some(key) = keys.next()
                {
                    let before = batch.len();
                    table.get_into(view, &key, wanted, batch).map_err(error)?;
                    if leads.is_some() && batch.len() == before {
                        return Err(leads_nowhere(table, *leads));
                    }
                }
            }
        }
        *rows_next = (*rows_next * 4).min(ROWS_MAX);
        if let Some(reads) = reads {
            reads.add(batch.len());
        }
        Ok(!batch.is_empty())
    }

    fn next_of_first(&mut self, stored: &Stored<'_>, out: &mut Vec<Datum>) -> Result<bool> {
        if matches!(self.source, Source::Rows { .. }) && !self.fill(stored)? {
            return Ok(false);
        }
        let Self { table, attnums, plain, now: as_now, source, within, .. } = self;
        match source {
            Source::Rows { past, batch, at, .. } => {
                let row = batch.row(*at);
                *at += 1;
                out.clear();
                if let Some(positions) = plain {
                    if !positions.is_empty() {
                        row.columns(positions, out).map_err(error)?;
                    }
                    return Ok(true);
                }
                for attnum in attnums.iter() {
                    out.push(match *attnum {
                        // A column that was not there yet.
                        1.. if position(*attnum) >= table.relation().columns.len() => Datum::Null,
                        1.. => match as_now {
                            Some(now) => stored.column_then(table, now, row, *attnum)?,
                            None => row.column(position(*attnum)).map_err(error)?.to_owned(),
                        },
                        system::KEY => Datum::bytea(row.key()),
                        system::PLACED_KEY => super::placed(table, row.key()),
                        system::TABLE => Datum::Oid(table.relation().oid),
                        ..system::TEXT_OF => {
                            let txn = stored.txn.borrow();
                            let view = past.as_ref().map_or_else(|| txn.view(), View::past);
                            stored.text_column(table, view, row, *attnum)?
                        }
                        system::ROW => super::row_number(table, row.key())?,
                        other => match past {
                            None => stored.system_column(table, row.key(), other, false)?,
                            Some(snapshot) => {
                                let csn = snapshot.csn();
                                let versions = table.versions(snapshot, row.key(), csn, csn);
                                match versions.map_err(error)?.last() {
                                    Some(v) => stored.version_column(v.from, v.to, other)?,
                                    None => Datum::Null,
                                }
                            }
                        },
                    });
                }
                Ok(true)
            }
            Source::Versions { epochs, now, from, to, own } => {
                let has_own = own.is_some();
                while let Some(walk) = epochs.front_mut() {
                    let Some((version, ended)) = walk.next(now, (*from, *to), attnums)? else {
                        epochs.pop_front();
                        continue;
                    };
                    if let Some((first, last)) = within
                        && (version.from < *first || ended.is_none_or(|to| to > *last))
                    {
                        continue;
                    }
                    out.clear();
                    for attnum in attnums.iter() {
                        out.push(match *attnum {
                            1.. => {
                                let row = version.row.as_ref();
                                stored.column_then(&walk.epoch.table, table, row, *attnum)?
                            }
                            system::KEY if has_own => {
                                key_within(&walk.epoch.table, version.row.key())
                            }
                            system::KEY => Datum::bytea(version.row.key()),
                            system::PLACED_KEY => super::placed(table, version.row.key()),
                            system::TABLE => Datum::Oid(table.relation().oid),
                            system::ROW => super::row_number(&walk.epoch.table, version.row.key())?,
                            other => stored.version_column(version.from, ended, other)?,
                        });
                    }
                    return Ok(true);
                }
                match own {
                    Some(own) => own.next(stored, table, attnums, out),
                    None => Ok(false),
                }
            }
        }
    }
}

/// A part of a scan.
struct Part {
    table: Arc<Table>,
    attnums: Vec<i16>,
    cursor: Cursor,
    snapshot: Snapshot,
    batch: Batch,
    reads: Option<Reads>,
}

impl TablePart for Part {
    fn next_piece(&mut self, f: &mut dyn FnMut(Piece<'_, '_>) -> Result<()>) -> Result<bool> {
        let Self { table, attnums, cursor, snapshot, batch, reads } = self;
        let (view, wanted) = (View::past(snapshot), ColumnSet::Columns(attnums));
        let block = cursor.fill_to_block(view, wanted, batch, PIECE_ROWS_MAX, true);
        let block = block.map_err(error)?;
        if let Some(reads) = reads {
            reads.add(batch.len() + block.as_ref().map_or(0, Block::len));
        }
        give(table, batch, block, f)
    }
}

/// Calls `f` with rows and a block of a table; false if there are none. The batch is empty after that.
fn give(
    table: &Table,
    batch: &mut Batch,
    block: Option<Block>,
    f: &mut dyn FnMut(Piece<'_, '_>) -> Result<()>,
) -> Result<bool> {
    let has_rows = !batch.is_empty();
    if has_rows {
        f(Piece::Rows(batch))?;
        batch.clear();
    }
    if let Some(block) = &block {
        f(Piece::Block(block, table.layout()))?;
    }
    Ok(has_rows || block.is_some())
}

impl Walk {
    /// The next version that was current between two commits, and the commit that ended it.
    fn next(
        &mut self,
        now: &Snapshot,
        (from, to): (Csn, Csn),
        attnums: &[i16],
    ) -> Result<Option<(RowVersion, Option<Csn>)>> {
        let last = self.epoch.ended.map_or(to, |ended| to.min(Csn(ended.0 - 1)));
        while self.found.is_empty() {
            if from > last || self.cursor.is_at_end() {
                return Ok(None);
            }
            let mut more = Vec::new();
            let wanted = ColumnSet::Columns(attnums);
            self.cursor.versions(now, (from, last), wanted, &mut more, ROWS_MAX).map_err(error)?;
            self.found.extend(more);
        }
        let version = self.found.pop_front();
        Ok(version.map(|version| {
            let ended = version.to.or(self.epoch.ended);
            (version, ended)
        }))
    }
}

impl Own {
    /// Puts the next row that the transaction has written into `out`.
    fn next(
        &mut self,
        stored: &Stored<'_>,
        table: &Table,
        attnums: &[i16],
        out: &mut Vec<Datum>,
    ) -> Result<bool> {
        loop {
            if self.at == self.batch.len() {
                self.batch.clear();
                self.at = 0;
                let txn = stored.txn.borrow();
                if !txn.has_written(table.storage()) {
                    return Ok(false);
                }
                let wanted = ColumnSet::Columns(attnums);
                self.cursor.fill(txn.view(), wanted, &mut self.batch, ROWS_MAX).map_err(error)?;
                if self.batch.is_empty() {
                    return Ok(false);
                }
            }
            let row = self.batch.row(self.at);
            self.at += 1;
            let is_own = {
                let txn = stored.txn.borrow();
                let found = txn.read(table.storage(), row.key());
                found.map_err(|source| error(source.into()))?.is_some_and(|r| r.csn() == Csn::MAX)
            };
            if !is_own {
                continue;
            }
            out.clear();
            for attnum in attnums {
                out.push(match *attnum {
                    1.. => row.column(position(*attnum)).map_err(error)?.to_owned(),
                    system::KEY => key_within(table, row.key()),
                    system::TABLE => Datum::Oid(table.relation().oid),
                    _ => Datum::Null,
                });
            }
            return Ok(true);
        }
    }
}

/// The number of the table of the store that has a key, followed by the key.
fn key_within(table: &Table, key: &[u8]) -> Datum {
    Datum::bytea([&table.storage().0.to_be_bytes()[..], key].concat())
}

/// True if a table had the same key then as it has now: an index, or its own key.
fn has_key(then: &Arc<Table>, now: &Arc<Table>, index: Option<types::Oid>) -> bool {
    if Arc::ptr_eq(then, now) {
        return true;
    }
    if !then.has_all_attributes_of(now) {
        return false;
    }
    let Some(oid) = index else {
        return then.keyed_by() == now.keyed_by() && then.shape() == now.shape();
    };
    let find = |table: &'_ Arc<Table>| {
        let index = table.indexes().iter().find(|index| index.relation().oid == oid)?;
        let is_valid = index.relation().index().is_some_and(|data| data.is_valid);
        is_valid.then(|| index.shape().clone())
    };
    find(then).is_some_and(|shape| Some(shape) == find(now))
}
