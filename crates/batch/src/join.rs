//! [`Join`]: a hash join. The build side is kept in a hash table, and the rows of the probe side look up their
//! partners in it.
//!
//! ```text
//!   build    orders of 1995     o_orderkey ──> table ──> rows with that key, one after the other
//!                               o_orderdate ──> KeptRows
//!   probe    lineitem           1,024 keys ──> pairs (row of the slice, row that is kept)
//!                                                │
//!                                                └──> a slice of pairs: a column is put together
//!                                                     when an operator above asks for it
//! ```
//!
//! Columns of the probe side are read only if an operator asks for them, and only for rows that have a partner.

mod division;

use std::sync::atomic::{AtomicBool, Ordering};

use sql::plan::Expr;
use types::{Datum, Repr, Result, Type, TypeSource};

use crate::condition::Condition;
use crate::groups::{FindRoom, KEYS_MAX};
use crate::kept::{KeptRows, NO_ROW};
use crate::key_table::{KeyTable, Partnered, with_keys};
use crate::reader::{Piece, Reader, condition_of};
use crate::slice::{Load, Selection, Slice};
use crate::source::ScanColumn;
use crate::value::{Compiler, Run, Value};
use crate::vector::{Lent, Vector};
use crate::{Programs, ROWS_MAX};

pub use division::KeyFilter;

/// Which rows a join gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partners {
    /// Pairs.
    Pairs {
        /// Also rows of the probe side without a partner.
        keeps_probe: bool,
        /// Also rows of the build side without a partner.
        keeps_build: bool,
    },
    /// Rows of the probe side that have a partner.
    Some,
    /// Rows of the probe side that have none.
    None,
    /// Rows of the build side that have a partner.
    KeptWithSome,
    /// Rows of the build side that have none.
    KeptWithNone,
}

/// An input of a join.
#[derive(Clone, Copy, Debug)]
pub struct Side<'p> {
    /// The positions and types of its columns.
    pub columns: &'p [(usize, Type)],
    /// Which of its rows are wanted.
    pub condition: Option<&'p Expr>,
    /// The key of a row: partners have equal keys.
    pub keys: &'p [Expr],
}

/// The parts of a join, for [`Join::compile`].
#[derive(Clone, Copy, Debug)]
pub struct JoinShape<'p> {
    /// Which rows come out.
    pub partners: Partners,
    /// The input whose rows look for partners.
    pub probe: Side<'p>,
    /// The input that is kept.
    pub build: Side<'p>,
    /// True if the columns of the build side come first.
    pub is_build_first: bool,
    /// The condition on partners in addition to equal keys.
    pub condition: Option<&'p Expr>,
}

/// Returns true if a join with these types of keys is one that [`Join`] computes.
pub fn can_join(keys: impl Iterator<Item = (Type, Type)>) -> bool {
    let mut count = 0;
    let are_alike = keys.inspect(|_| count += 1).all(|(probe, build)| probe == build);
    are_alike && (1..=KEYS_MAX).contains(&count)
}

/// A join by a hash table.
pub struct Join {
    builder: Builder,
    built: Built,
    prober: Prober,
}

/// Reads the build side.
pub struct Builder {
    reader: Reader,
    keys: Vec<Value>,
    /// True if rows with a NULL key are left out.
    drops_without_key: bool,
    /// The representations of the kept columns: those of the build side, then keys that are expressions.
    reprs: Vec<Repr>,
    /// How many columns of the build side are kept.
    width: usize,
    /// Which of the kept columns are the keys.
    key_columns: Vec<usize>,
    kept: KeptRows,
}

/// The build side, once all of it is kept.
struct Built {
    partners: Partners,
    is_build_first: bool,
    /// How many columns of the build side are kept.
    width: usize,
    kept: KeptRows,
    table: KeyTable,
    /// Which kept rows have found a partner.
    has_partner: Vec<AtomicBool>,
}

/// Reads the probe side.
#[derive(Clone)]
struct Prober {
    reader: Reader,
    keys: Vec<Value>,
    condition: Option<Condition>,
    room: FindRoom,
    numbers: Vec<u32>,
    found: Partnered,
}

/// The probe side of a join for one of several threads.
pub struct Probing<'j> {
    built: &'j Built,
    prober: Prober,
}

/// A function that takes slices of joined rows, and the selection of their rows.
type TakeJoined<'f> = dyn FnMut(&Slice<'_>, &Selection) -> Result<()> + 'f;

/// The rows of the probe side in pairs.
enum Probe<'p, 's> {
    /// These rows of a slice.
    Rows(&'p Slice<'s>, &'p [u16]),
    /// None: the values of these columns are NULL.
    Nobody(&'p [ScanColumn]),
}

/// Reads the columns of pairs.
struct Pairs<'p, 's> {
    /// The rows of the probe side.
    probe: Probe<'p, 's>,
    kept: &'p KeptRows,
    /// The rows of the build side.
    rows: &'p [u32],
    /// The columns that each side has.
    widths: (usize, usize),
    is_build_first: bool,
}

impl<'p> Load<'p> for Pairs<'p, '_> {
    fn column(&self, at: usize) -> Result<Vector<'p>> {
        let (probe_width, build_width) = self.widths;
        let (of_build, at) = match (self.is_build_first, at) {
            (true, at) if at < build_width => (true, at),
            (true, at) => (false, at - build_width),
            (false, at) if at < probe_width => (false, at),
            (false, at) => (true, at - probe_width),
        };
        if of_build {
            return Ok(self.kept.gather(at, self.rows));
        }
        Ok(match self.probe {
            Probe::Rows(slice, rows) => slice.gather(at, rows)?,
            Probe::Nobody(columns) => {
                Vector::constant(Some(columns[at].repr), &Datum::Null, self.rows.len())
            }
        })
    }
}

impl Join {
    /// Compiles a join that [`can_join`] knows. `program` makes the programs of expressions.
    ///
    /// # Errors
    /// The errors of making a program.
    pub fn compile(
        shape: JoinShape<'_>,
        types: &dyn TypeSource,
        program: &mut Programs<'_>,
    ) -> Result<Join> {
        let mut side = |side: Side<'_>| -> Result<(Reader, Vec<Value>)> {
            let mut compiler = Compiler { types, program: &mut *program, fields: Vec::new() };
            let condition = condition_of(side.condition, &mut compiler)?;
            let keys = side.keys.iter().map(|key| Value::compile(key, &mut compiler));
            let keys = keys.collect::<Result<Vec<_>>>()?;
            Ok((Reader::new(side.columns, condition, compiler)?, keys))
        };
        let (probe, probe_keys) = side(shape.probe)?;
        let (build, build_keys) = side(shape.build)?;
        let mut compiler = Compiler { types, program, fields: Vec::new() };
        let condition = condition_of(shape.condition, &mut compiler)?;
        let is_by_probe = matches!(shape.partners, Partners::Some | Partners::None);
        let shows_build = !is_by_probe || condition.is_some();
        let width = if shows_build { shape.build.columns.len() } else { 0 };
        let columns = build.wanted().columns.iter().take(width).map(|column| Ok(column.repr));
        let mut reprs = columns.collect::<Result<Vec<Repr>>>()?;
        let mut key_columns = Vec::with_capacity(build_keys.len());
        for (value, key) in build_keys.iter().zip(shape.build.keys) {
            key_columns.push(match value {
                Value::Column(column) if *column < width => *column,
                _ => {
                    reprs.push(types.repr_of(key.ty)?);
                    reprs.len() - 1
                }
            });
        }
        let partners = shape.partners;
        Ok(Join {
            builder: Builder {
                reader: build,
                keys: build_keys,
                drops_without_key: partners.drops_without_key(),
                kept: KeptRows::new(&reprs),
                reprs,
                width,
                key_columns,
            },
            built: Built {
                partners,
                is_build_first: shape.is_build_first,
                width,
                kept: KeptRows::default(),
                table: KeyTable::default(),
                has_partner: Vec::new(),
            },
            prober: Prober {
                reader: probe,
                keys: probe_keys,
                condition,
                room: FindRoom::new(),
                numbers: Vec::new(),
                found: Partnered::default(),
            },
        })
    }

    /// Returns true if the join gives no rows when the build side has none.
    pub fn needs_partners(&self) -> bool {
        match self.built.partners {
            Partners::Pairs { keeps_probe, .. } => !keeps_probe,
            Partners::Some | Partners::KeptWithSome | Partners::KeptWithNone => true,
            Partners::None => false,
        }
    }

    /// Returns true if no row is kept.
    pub fn is_empty(&self) -> bool {
        self.built.kept.len() == 0
    }

    /// Clears all rows, for another execution.
    pub fn clear(&mut self) {
        self.builder.clear();
        self.prober.forget();
        self.built.clear();
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        self.builder.bytes() + self.built.bytes()
    }

    /// Keeps the rows of a piece of the build side. Returns how many of them its condition wants.
    ///
    /// # Errors
    /// The errors of reading the rows and the programs.
    pub fn keep(&mut self, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64> {
        self.builder.keep(run, piece)
    }

    /// Returns a reader of the build side for another thread. It has read nothing.
    pub fn builder(&self) -> Builder {
        self.builder.fork()
    }

    /// Keeps what another reader of the build side has read.
    pub fn take(&mut self, other: Builder) {
        self.builder.kept.append(other.kept);
    }

    /// Makes the table of all rows that are kept: no more come.
    ///
    /// # Errors
    /// The errors of `run` between rows.
    pub fn end(&mut self, run: Run<'_>) -> Result<()> {
        let kept = std::mem::replace(&mut self.builder.kept, KeptRows::new(&self.builder.reprs));
        self.built.make(run, kept, &self.builder.key_columns)
    }

    /// Calls `f` with the joined rows of a piece of the probe side. Returns how many rows its condition wants.
    ///
    /// # Errors
    /// The errors of reading the rows, the programs and `f`.
    pub fn probe(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        f: &mut TakeJoined<'_>,
    ) -> Result<u64> {
        self.prober.probe(&self.built, run, piece, f)
    }

    /// Returns the probe side for another thread.
    pub fn probing(&self) -> Probing<'_> {
        Probing { built: &self.built, prober: self.prober.clone() }
    }

    /// Calls `f` with the rows of the build side that the join gives after all of the probe side has been joined.
    ///
    /// # Errors
    /// The errors of `f`.
    pub fn rest(&mut self, f: &mut TakeJoined<'_>) -> Result<()> {
        let Built { partners, is_build_first, width, kept, has_partner, .. } = &self.built;
        let wants_some = *partners == Partners::KeptWithSome;
        let pairs = (0..).zip(has_partner);
        let wanted = pairs.filter(|(_, has_partner)| is_set(has_partner) == wants_some);
        let wanted: Vec<u32> = wanted.map(|(row, _)| row).collect();
        // Without pairs the columns of the probe side do not come out.
        let columns: &[ScanColumn] = match partners {
            Partners::Pairs { .. } => &self.prober.reader.wanted().columns,
            _ => &[],
        };
        for rows in wanted.chunks(ROWS_MAX) {
            let widths = (columns.len(), *width);
            let (probe, is_build_first) = (Probe::Nobody(columns), *is_build_first);
            let pairs = Pairs { probe, kept, rows, widths, is_build_first };
            let slice = Slice::new(rows.len(), widths.0 + widths.1, 0, &pairs);
            f(&slice, &Selection::All(rows.len()))?;
        }
        Ok(())
    }
}

impl Probing<'_> {
    /// As [`Join::probe`].
    ///
    /// # Errors
    /// As there.
    pub fn probe(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        f: &mut TakeJoined<'_>,
    ) -> Result<u64> {
        self.prober.probe(self.built, run, piece, f)
    }
}

impl Builder {
    fn fork(&self) -> Builder {
        Builder {
            reader: self.reader.clone(),
            keys: self.keys.clone(),
            drops_without_key: self.drops_without_key,
            kept: KeptRows::new(&self.reprs),
            reprs: self.reprs.clone(),
            width: self.width,
            key_columns: self.key_columns.clone(),
        }
    }

    fn clear(&mut self) {
        self.reader.forget();
        self.keys.iter().for_each(Value::forget);
        self.kept = KeptRows::new(&self.reprs);
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        self.kept.bytes()
    }

    /// As [`Join::keep`].
    ///
    /// # Errors
    /// As there.
    pub fn keep(&mut self, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64> {
        let Builder { reader, keys, drops_without_key, width, key_columns, kept, .. } = self;
        reader.read(run, piece, &mut |slice, mut rows| {
            let keys = keys.iter().map(|key| key.vector(run, slice, &rows));
            let keys = keys.collect::<Result<Vec<Lent<'_, '_>>>>()?;
            if *drops_without_key {
                let vectors: Vec<&Vector<'_>> = keys.iter().map(|key| &**key).collect();
                rows = with_keys(&vectors, &rows).into_owned();
            }
            if rows.is_empty() {
                return Ok(());
            }
            for column in 0..*width {
                kept.add(column, &*slice.column_of(column, &rows)?, &rows);
            }
            for (column, key) in key_columns.iter().zip(&keys) {
                if *column >= *width {
                    kept.add(*column, key, &rows);
                }
            }
            kept.added(rows.len());
            Ok(())
        })
    }
}

impl Partners {
    /// Returns true if it is noted which rows of the build side have a partner.
    fn notes_build(self) -> bool {
        match self {
            Partners::Pairs { keeps_build, .. } => keeps_build,
            Partners::KeptWithSome | Partners::KeptWithNone => true,
            Partners::Some | Partners::None => false,
        }
    }

    /// Returns true if it is noted which rows of the probe side have a partner.
    fn notes_probe(self) -> bool {
        match self {
            Partners::Pairs { keeps_probe, .. } => keeps_probe,
            Partners::Some | Partners::None => true,
            Partners::KeptWithSome | Partners::KeptWithNone => false,
        }
    }

    /// Returns true if no row of the build side comes out that has no key.
    fn drops_without_key(self) -> bool {
        !matches!(self, Partners::Pairs { keeps_build: true, .. } | Partners::KeptWithNone)
    }
}

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

impl Built {
    fn clear(&mut self) {
        self.kept = KeptRows::default();
        self.table = KeyTable::default();
        self.has_partner.clear();
    }

    fn bytes(&self) -> usize {
        self.kept.bytes() + self.table.bytes() + self.has_partner.len()
    }

    /// Makes the table of the rows, whose keys are these columns.
    fn make(&mut self, run: Run<'_>, mut kept: KeptRows, key_columns: &[usize]) -> Result<()> {
        kept.end();
        let of_ints = match key_columns {
            [column] => kept.ints(*column).map(|ints| (*column, ints)),
            _ => None,
        };
        self.table = match of_ints {
            Some((column, ints)) => KeyTable::of_ints(ints, |row| kept.is_null(column, row)),
            None if kept.len() == 0 => KeyTable::default(),
            None => match KeyTable::of_mixed(&kept, key_columns) {
                Some(table) => table,
                None => KeyTable::of_keys(run, &kept, key_columns)?,
            },
        };
        if self.partners.notes_build() {
            self.has_partner.resize_with(kept.len(), AtomicBool::default);
        }
        self.kept = kept;
        Ok(())
    }

    /// Gives rows of the probe side alone.
    fn give_probe(&self, slice: &Slice<'_>, rows: Selection, f: &mut TakeJoined<'_>) -> Result<()> {
        let of_probe = rows.into_rows();
        let widths = (slice.width(), 0);
        let (probe, kept) = (Probe::Rows(slice, &of_probe), &self.kept);
        let pairs = Pairs { probe, kept, rows: &[], widths, is_build_first: false };
        if of_probe.is_empty() {
            return Ok(());
        }
        f(&Slice::new(of_probe.len(), slice.width(), 0, &pairs), &Selection::All(of_probe.len()))
    }

    /// Calls `f` with a slice of pairs, if there are any.
    fn give(
        &self,
        slice: &Slice<'_>,
        (of_probe, of_build): (&[u16], &[u32]),
        f: impl FnOnce(&Slice<'_>) -> Result<()>,
    ) -> Result<()> {
        if of_probe.is_empty() {
            return Ok(());
        }
        let widths = (slice.width(), self.width);
        let pairs = Pairs {
            probe: Probe::Rows(slice, of_probe),
            kept: &self.kept,
            rows: of_build,
            widths,
            is_build_first: self.is_build_first,
        };
        f(&Slice::new(of_probe.len(), widths.0 + widths.1, 0, &pairs))
    }
}

impl Prober {
    fn forget(&self) {
        self.reader.forget();
        self.condition.iter().for_each(Condition::forget);
        self.keys.iter().for_each(Value::forget);
    }

    fn probe(
        &mut self,
        built: &Built,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        f: &mut TakeJoined<'_>,
    ) -> Result<u64> {
        let mut reader = std::mem::take(&mut self.reader);
        let done =
            reader.read(run, piece, &mut |slice, rows| self.join(built, run, slice, rows, f));
        self.reader = reader;
        done
    }

    /// Joins the selected rows of a slice.
    fn join(
        &mut self,
        built: &Built,
        run: Run<'_>,
        slice: &Slice<'_>,
        rows: Selection,
        f: &mut TakeJoined<'_>,
    ) -> Result<()> {
        let mut found = std::mem::take(&mut self.found);
        let keys = self.keys.iter().map(|key| key.vector(run, slice, &rows));
        let keys = keys.collect::<Result<Vec<Lent<'_, '_>>>>()?;
        let vectors: Vec<&Vector<'_>> = keys.iter().map(|key| &**key).collect();
        let room = (&mut self.room, &mut self.numbers);
        built.table.find(&vectors, &rows, room, &mut found, slice.rows());
        drop(keys);
        let done = self.join_found(built, run, slice, rows, &mut found, f);
        self.found = found;
        done
    }

    /// Joins the selected rows of a slice, of which these have a partner.
    fn join_found(
        &self,
        built: &Built,
        run: Run<'_>,
        slice: &Slice<'_>,
        mut rows: Selection,
        found: &mut Partnered,
        f: &mut TakeJoined<'_>,
    ) -> Result<()> {
        let Built { partners, table, has_partner, .. } = built;
        let wants_none = *partners == Partners::None;
        if self.condition.is_none() && matches!(partners, Partners::Some | Partners::None) {
            let with_partner = Selection::Some(std::mem::take(&mut found.rows));
            let rows = if wants_none { rows.without(&with_partner) } else { with_partner };
            return built.give_probe(slice, rows, f);
        }
        let gives_pairs = matches!(partners, Partners::Pairs { .. });
        // Without a condition all kept rows of a key have a partner, or none.
        let is_told_by_first = self.condition.is_none() && !gives_pairs;
        let mut is_matched = vec![false; slice.rows()];
        if table.is_unique {
            let pairs = (&found.rows[..], &found.first[..]);
            self.pairs(built, run, slice, pairs, &mut is_matched, f)?;
        } else {
            let (mut of_probe, mut of_build) = (Vec::new(), Vec::new());
            for (row, first) in found.rows.iter().zip(&found.first) {
                let mut partner = *first;
                if is_told_by_first && is_set(&has_partner[partner as usize]) {
                    continue;
                }
                while partner != NO_ROW
                    && (gives_pairs || partners.notes_build() || !is_matched[usize::from(*row)])
                {
                    of_probe.push(*row);
                    of_build.push(partner);
                    partner = table.following[partner as usize];
                    if of_probe.len() == ROWS_MAX {
                        let pairs = (&of_probe[..], &of_build[..]);
                        self.pairs(built, run, slice, pairs, &mut is_matched, f)?;
                        of_probe.clear();
                        of_build.clear();
                    }
                }
            }
            self.pairs(built, run, slice, (&of_probe, &of_build), &mut is_matched, f)?;
        }
        match partners {
            Partners::Pairs { keeps_probe: true, .. } => {
                let mut alone = Vec::new();
                rows.each(|row| {
                    if !is_matched[row] {
                        alone.push(row as u16);
                    }
                });
                let nobody = vec![NO_ROW; alone.len()];
                built
                    .give(slice, (&alone, &nobody), |slice| f(slice, &Selection::All(slice.rows())))
            }
            Partners::Pairs { .. } | Partners::KeptWithSome | Partners::KeptWithNone => Ok(()),
            Partners::Some | Partners::None => {
                rows.retain(|row| is_matched[row] != wants_none);
                built.give_probe(slice, rows, f)
            }
        }
    }

    /// Looks which pairs fulfil the condition, and gives those if pairs are wanted.
    fn pairs(
        &self,
        built: &Built,
        run: Run<'_>,
        slice: &Slice<'_>,
        (of_probe, of_build): (&[u16], &[u32]),
        is_matched: &mut [bool],
        f: &mut TakeJoined<'_>,
    ) -> Result<()> {
        let Built { partners, has_partner, .. } = built;
        built.give(slice, (of_probe, of_build), |joined| {
            (run.tick)(joined.rows() as u64)?;
            if self.condition.is_none() && !partners.notes_probe() && has_partner.is_empty() {
                return f(joined, &Selection::All(joined.rows()));
            }
            let mut rows = Selection::All(joined.rows());
            if let Some(condition) = &self.condition {
                condition.narrow(run, joined, &mut rows)?;
            }
            if partners.notes_probe() {
                rows.each(|pair| is_matched[usize::from(of_probe[pair])] = true);
            }
            if !has_partner.is_empty() {
                rows.each(|pair| {
                    has_partner[of_build[pair] as usize].store(true, Ordering::Relaxed);
                });
            }
            match partners {
                Partners::Pairs { .. } if !rows.is_empty() => f(joined, &rows),
                _ => Ok(()),
            }
        })
    }
}
