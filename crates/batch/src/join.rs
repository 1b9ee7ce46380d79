//! [`Join`]: one input is kept in a hash table, the rows of the other look for their partners in it.
//!
//! ```text
//!   build    orders of 1995     o_orderkey ──> table ──> rows with that key, one after the other
//!                               o_orderdate ──> Kept
//!   probe    lineitem           1,024 keys ──> pairs (row of the slice, row that is kept)
//!                                                │
//!                                                └──> a slice of pairs: a column is put together
//!                                                     when something above asks for it
//! ```
//!
//! Columns of the probe side that nothing asks for are not read, and of the others only the rows that have a partner are
//! passed on. A key of one integer is looked up in an array if the integers lie close together, in a bitmap if they lie
//! less close, else in a table with open addressing. A key of several integers is one integer where its parts fit side by
//! side. Other keys get the numbers of [`Groups`].

use sql::plan::Expr;
use types::{Datum, Repr, Result, Type, TypeSource};

use crate::condition::Condition;
use crate::groups::{Groups, KEYS_MAX, NONE};
use crate::kept::{Kept, NO_ROW};
use crate::reader::{Piece, Reader, condition_of};
use crate::slice::{Load, Selection, Slice};
use crate::source::ScanColumn;
use crate::value::{Compiler, Lent, Run, Value};
use crate::vector::{Values, Vector};
use crate::{Programs, ROWS_MAX};

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
    /// The condition that partners fulfil beside having equal keys.
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
    partners: Partners,
    is_build_first: bool,
    probe: Reader,
    probe_keys: Vec<Value>,
    build: Reader,
    build_keys: Vec<Value>,
    condition: Option<Condition>,
    kept: Kept,
    /// How what is kept is held: the columns of the build side, then the keys that are none of them.
    reprs: Vec<Repr>,
    /// How many columns of the build side are kept.
    width: usize,
    /// Which of the kept columns are the keys.
    key_columns: Vec<usize>,
    table: Table,
    /// Which kept rows have found a partner.
    has_partner: Vec<bool>,
    numbers: Vec<u32>,
}

/// Where the first kept row of a key is, and after each row the next one with the same key.
#[derive(Debug, Default)]
struct Table {
    index: Index,
    following: Vec<u32>,
    /// True if no key has two rows.
    is_unique: bool,
    /// How a key of several integers is one.
    mix: Option<Mix>,
}

/// Several integers as one: each as its distance from the least one, in a number whose digits have these ranges.
#[derive(Debug)]
struct Mix {
    parts: Vec<(i64, i64)>,
}

impl Mix {
    /// Returns the mix for columns of integers; `None` if they do not fit 63 bits side by side.
    fn of(columns: &[&[i64]]) -> Option<Mix> {
        let mut most = 1_i64;
        let part = |column: &&[i64]| {
            let least = column.iter().copied().min()?;
            let range = column.iter().copied().max()?.checked_sub(least)?.checked_add(1)?;
            most = most.checked_mul(range)?;
            Some((least, range))
        };
        Some(Mix { parts: columns.iter().map(part).collect::<Option<Vec<_>>>()? })
    }

    /// Returns the integer for the parts of a key; `None` if no kept row has such a part.
    #[inline]
    fn value(&self, mut part: impl FnMut(usize) -> i64) -> Option<i64> {
        let mut value = 0;
        for (at, (least, range)) in self.parts.iter().enumerate() {
            let distance = part(at).checked_sub(*least)?;
            if !(0..*range).contains(&distance) {
                return None;
            }
            value = value * range + distance;
        }
        Some(value)
    }
}

#[derive(Debug)]
enum Index {
    /// By the distance from an integer.
    Near { base: i64, first: Vec<u32> },
    /// By the number of keys below an integer, which a bitmap counts: 64 distances, and how many keys are below them.
    Bits { base: i64, words: Vec<(u64, u32)>, first: Vec<u32> },
    /// Integers by open addressing: as many slots as a power of two, at most half of them taken.
    Far { slots: Vec<(i64, u32)>, shift: u32 },
    /// By the number of a group.
    Groups { groups: Box<Groups>, first: Vec<u32> },
}

impl Default for Index {
    fn default() -> Index {
        Index::Near { base: 0, first: Vec::new() }
    }
}

impl Index {
    fn slot(value: i64, shift: u32) -> usize {
        ((value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
    }

    #[inline]
    fn first_of_int(&self, value: i64) -> u32 {
        match self {
            Index::Near { base, first } => {
                let at = value.wrapping_sub(*base) as u64;
                first.get(at as usize).copied().unwrap_or(NO_ROW)
            }
            Index::Bits { base, words, first } => {
                let at = value.wrapping_sub(*base) as u64;
                match words.get((at / 64) as usize) {
                    Some((bits, below)) if bits >> (at % 64) & 1 == 1 => {
                        let lower = bits & ((1 << (at % 64)) - 1);
                        first[(below + lower.count_ones()) as usize]
                    }
                    _ => NO_ROW,
                }
            }
            Index::Far { slots, shift } => {
                let mut at = Index::slot(value, *shift);
                loop {
                    let (key, row) = slots[at];
                    if row == NO_ROW || key == value {
                        return row;
                    }
                    at = (at + 1) & (slots.len() - 1);
                }
            }
            Index::Groups { .. } => NO_ROW,
        }
    }
}

impl Table {
    /// Returns the table of integers. A row whose key is NULL has no partner.
    fn of_ints(values: &[i64], is_null: impl Fn(usize) -> bool) -> Table {
        /// An array may have so many places for each row, and this many in any case.
        const SPARE: usize = 8;
        const PLACES_MIN: usize = 1 << 16;
        /// The same of a bitmap, which then takes about as many bytes as a table with open addressing.
        const SPARE_BITS: usize = 128;
        const BITS_MIN: usize = 1 << 20;
        let rows = || (0..values.len()).filter(|row| !is_null(*row));
        let bounds = rows().map(|row| values[row]).fold(None, |bounds, value| match bounds {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let (low, high) = bounds.unwrap_or((0, 0));
        let mut following = vec![NO_ROW; values.len()];
        let span = high.checked_sub(low).and_then(|span| usize::try_from(span).ok());
        let is_below = |least: usize, spare: usize| {
            span.filter(|span| *span < least.max(values.len().saturating_mul(spare)))
        };
        let mut is_unique = true;
        // From the last row on, so that the first one of each key ends up in front.
        let mut put = |row: usize, head: &mut u32| {
            is_unique &= *head == NO_ROW;
            following[row] = std::mem::replace(head, row as u32);
        };
        let index = if let Some(span) = is_below(PLACES_MIN, SPARE) {
            let mut first = vec![NO_ROW; if bounds.is_some() { span + 1 } else { 0 }];
            rows().rev().for_each(|row| put(row, &mut first[(values[row] - low) as usize]));
            Index::Near { base: low, first }
        } else if let Some(span) = is_below(BITS_MIN, SPARE_BITS) {
            let mut words = vec![(0_u64, 0_u32); span / 64 + 1];
            for row in rows() {
                let at = (values[row] - low) as usize;
                words[at / 64].0 |= 1 << (at % 64);
            }
            let mut keys = 0;
            for (bits, below) in &mut words {
                *below = keys;
                keys += bits.count_ones();
            }
            let mut first = vec![NO_ROW; keys as usize];
            for row in rows().rev() {
                let at = (values[row] - low) as usize;
                let (bits, below) = words[at / 64];
                let lower = bits & ((1 << (at % 64)) - 1);
                put(row, &mut first[(below + lower.count_ones()) as usize]);
            }
            Index::Bits { base: low, words, first }
        } else {
            let count = (values.len() * 2).next_power_of_two().max(16);
            let shift = u64::BITS - count.trailing_zeros();
            let mut slots = vec![(0, NO_ROW); count];
            for row in rows().rev() {
                let mut at = Index::slot(values[row], shift);
                while slots[at].1 != NO_ROW && slots[at].0 != values[row] {
                    at = (at + 1) & (count - 1);
                }
                let (key, head) = &mut slots[at];
                *key = values[row];
                put(row, head);
            }
            Index::Far { slots, shift }
        };
        Table { index, following, is_unique, mix: None }
    }

    /// Returns the table of keys of several integers; `None` if they are not one.
    fn of_mixed(kept: &Kept, keys: &[usize]) -> Option<Table> {
        let columns = keys.iter().map(|key| kept.ints(*key)).collect::<Option<Vec<_>>>()?;
        let mix = Mix::of(&columns)?;
        let value = |row: usize| mix.value(|at| columns[at][row]).unwrap_or(0);
        let values: Vec<i64> = (0..kept.len()).map(value).collect();
        let is_null = |row| keys.iter().any(|key| kept.is_null(*key, row));
        Some(Table { mix: Some(mix), ..Table::of_ints(&values, is_null) })
    }

    /// Returns the table of any keys, which are these columns.
    fn of_keys(run: Run<'_>, kept: &Kept, keys: &[usize]) -> Result<Table> {
        let mut groups = Groups::new(keys.len());
        let mut of_rows = vec![NONE; kept.len()];
        let mut numbers = Vec::new();
        let all: Vec<u32> = (0..kept.len() as u32).collect();
        for (at, rows) in all.chunks(ROWS_MAX).enumerate() {
            (run.tick)(0)?;
            let vectors: Vec<Vector<'_>> =
                keys.iter().map(|column| kept.gather(*column, rows)).collect();
            let vectors: Vec<&Vector<'_>> = vectors.iter().collect();
            let selected = with_keys(&vectors, &Selection::All(rows.len()));
            groups.numbers(&vectors, &selected, true, &mut numbers, rows.len());
            selected.each(|row| of_rows[at * ROWS_MAX + row] = numbers[row]);
        }
        let (mut first, mut following) = (vec![NO_ROW; groups.len()], vec![NO_ROW; kept.len()]);
        let mut is_unique = true;
        for (row, group) in of_rows.iter().enumerate().rev().filter(|(_, group)| **group != NONE) {
            let head = &mut first[*group as usize];
            is_unique &= *head == NO_ROW;
            following[row] = std::mem::replace(head, row as u32);
        }
        let index = Index::Groups { groups: Box::new(groups), first };
        Ok(Table { index, following, is_unique, mix: None })
    }

    /// Puts the first kept row with the keys of each selected row into `out`; [`NO_ROW`] if there is none.
    fn find(
        &mut self,
        keys: &[&Vector<'_>],
        rows: &Selection,
        numbers: &mut Vec<u32>,
        out: &mut Vec<u32>,
        slice_rows: usize,
    ) {
        out.clear();
        out.resize(slice_rows, NO_ROW);
        let selected = with_keys(keys, rows);
        match (&mut self.index, keys) {
            (Index::Groups { groups, first }, _) => {
                groups.numbers(keys, &selected, false, numbers, slice_rows);
                selected.each(|row| {
                    out[row] = first.get(numbers[row] as usize).copied().unwrap_or(NO_ROW);
                });
            }
            (index, [key]) => match &key.values {
                Values::Ints(ints) => {
                    selected.each(|row| out[row] = index.first_of_int(ints.values[row]));
                }
                _ => selected.each(|row| {
                    let value = key.get(row).and_then(crate::vector::int_of);
                    out[row] = value.map_or(NO_ROW, |value| index.first_of_int(value));
                }),
            },
            (index, keys) => {
                let Some(mix) = &self.mix else { return };
                let ints = keys.iter().map(|key| match &key.values {
                    Values::Ints(ints) => Some(&ints.values[..]),
                    _ => None,
                });
                if let Some(ints) = ints.collect::<Option<Vec<_>>>() {
                    return selected.each(|row| {
                        let value = mix.value(|at| ints[at][row]);
                        out[row] = value.map_or(NO_ROW, |value| index.first_of_int(value));
                    });
                }
                let int = |key: &Vector<'_>, row| key.get(row).and_then(crate::vector::int_of);
                selected.each(|row| {
                    let parts = keys.iter().map(|key| int(key, row)).collect::<Option<Vec<i64>>>();
                    let value = parts.and_then(|parts| mix.value(|at| parts[at]));
                    out[row] = value.map_or(NO_ROW, |value| index.first_of_int(value));
                });
            }
        }
    }

    fn bytes(&self) -> usize {
        let index = match &self.index {
            Index::Near { first, .. } => first.len() * size_of::<u32>(),
            Index::Bits { words, first, .. } => {
                size_of_val(&words[..]) + first.len() * size_of::<u32>()
            }
            Index::Far { slots, .. } => size_of_val(&slots[..]),
            Index::Groups { groups, first } => groups.bytes() + first.len() * size_of::<u32>(),
        };
        index + self.following.len() * size_of::<u32>()
    }
}

/// Returns the rows of which no key is NULL.
fn with_keys(keys: &[&Vector<'_>], rows: &Selection) -> Selection {
    let mut selected = rows.clone();
    for key in keys.iter().filter(|key| !key.nulls.is_empty()) {
        selected.retain(|row| !key.nulls[row]);
    }
    selected
}

/// What takes slices of joined rows, and which of their rows are meant.
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
    kept: &'p Kept,
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
            Probe::Rows(slice, rows) => slice.column(at)?.gather(rows),
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
    /// What making a program reports.
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
        Ok(Join {
            partners: shape.partners,
            is_build_first: shape.is_build_first,
            probe,
            probe_keys,
            build,
            build_keys,
            condition,
            kept: Kept::new(&reprs),
            reprs,
            width,
            key_columns,
            table: Table::default(),
            has_partner: Vec::new(),
            numbers: Vec::new(),
        })
    }

    /// Returns true if pairs of rows come out.
    fn gives_pairs(&self) -> bool {
        matches!(self.partners, Partners::Pairs { .. })
    }

    /// Returns true if it is noted which rows of the build side have a partner.
    fn notes_partners(&self) -> bool {
        match self.partners {
            Partners::Pairs { keeps_build, .. } => keeps_build,
            Partners::KeptWithSome | Partners::KeptWithNone => true,
            Partners::Some | Partners::None => false,
        }
    }

    /// Returns true if it is noted which rows of the probe side have a partner.
    fn notes_probe(&self) -> bool {
        match self.partners {
            Partners::Pairs { keeps_probe, .. } => keeps_probe,
            Partners::Some | Partners::None => true,
            Partners::KeptWithSome | Partners::KeptWithNone => false,
        }
    }

    /// Returns true if no row of the build side comes out that has no key.
    fn drops_without_key(&self) -> bool {
        !matches!(self.partners, Partners::Pairs { keeps_build: true, .. } | Partners::KeptWithNone)
    }

    /// Returns true if no row comes out where the build side has none.
    pub fn needs_partners(&self) -> bool {
        match self.partners {
            Partners::Pairs { keeps_probe, .. } => !keeps_probe,
            Partners::Some | Partners::KeptWithSome | Partners::KeptWithNone => true,
            Partners::None => false,
        }
    }

    /// Returns true if no row is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.len() == 0
    }

    /// Forgets all rows, for another execution.
    pub fn clear(&mut self) {
        self.probe.forget();
        self.build.forget();
        self.condition.iter().for_each(Condition::forget);
        self.probe_keys.iter().chain(&self.build_keys).for_each(Value::forget);
        self.kept = Kept::new(&self.reprs);
        self.table = Table::default();
        self.has_partner.clear();
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        self.kept.bytes() + self.table.bytes() + self.has_partner.len()
    }

    /// Keeps the rows of a piece of the build side. Returns how many of them its condition wants.
    ///
    /// # Errors
    /// What reading the rows and the programs report.
    pub fn keep(&mut self, run: Run<'_>, piece: &Piece<'_, '_>) -> Result<u64> {
        let mut reader = std::mem::take(&mut self.build);
        let done = reader.read(run, piece, &mut |slice, mut rows| {
            let keys = self.build_keys.iter().map(|key| key.vector(run, slice, &rows));
            let keys = keys.collect::<Result<Vec<Lent<'_, '_>>>>()?;
            if self.drops_without_key() {
                let vectors: Vec<&Vector<'_>> = keys.iter().map(|key| &**key).collect();
                rows = with_keys(&vectors, &rows);
            }
            if rows.is_empty() {
                return Ok(());
            }
            for column in 0..self.width {
                self.kept.add(column, slice.column(column)?, &rows);
            }
            for (column, key) in self.key_columns.iter().zip(&keys) {
                if *column >= self.width {
                    self.kept.add(*column, key, &rows);
                }
            }
            self.kept.added(rows.len());
            Ok(())
        });
        self.build = reader;
        done
    }

    /// Makes the table of all rows that are kept: no more come.
    ///
    /// # Errors
    /// What `run` reports between rows.
    pub fn end(&mut self, run: Run<'_>) -> Result<()> {
        self.kept.end();
        let kept = &self.kept;
        let of_ints = match self.key_columns[..] {
            [column] => kept.ints(column).map(|ints| (column, ints)),
            _ => None,
        };
        self.table = match of_ints {
            Some((column, ints)) => Table::of_ints(ints, |row| kept.is_null(column, row)),
            None if kept.len() == 0 => Table::default(),
            None => match Table::of_mixed(kept, &self.key_columns) {
                Some(table) => table,
                None => Table::of_keys(run, kept, &self.key_columns)?,
            },
        };
        if self.notes_partners() {
            self.has_partner.resize(self.kept.len(), false);
        }
        Ok(())
    }

    /// Calls `f` with the joined rows of a piece of the probe side. Returns how many rows its condition wants.
    ///
    /// # Errors
    /// What reading the rows, the programs and `f` report.
    pub fn probe(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        f: &mut TakeJoined<'_>,
    ) -> Result<u64> {
        let mut reader = std::mem::take(&mut self.probe);
        let done = reader.read(run, piece, &mut |slice, rows| self.join(run, slice, rows, f));
        self.probe = reader;
        done
    }

    /// Joins the selected rows of a slice.
    fn join(
        &mut self,
        run: Run<'_>,
        slice: &Slice<'_>,
        mut rows: Selection,
        f: &mut TakeJoined<'_>,
    ) -> Result<()> {
        let mut first = Vec::new();
        {
            let keys = self.probe_keys.iter().map(|key| key.vector(run, slice, &rows));
            let keys = keys.collect::<Result<Vec<Lent<'_, '_>>>>()?;
            let vectors: Vec<&Vector<'_>> = keys.iter().map(|key| &**key).collect();
            self.table.find(&vectors, &rows, &mut self.numbers, &mut first, slice.rows());
        }
        let wants_none = self.partners == Partners::None;
        if self.condition.is_none() && matches!(self.partners, Partners::Some | Partners::None) {
            rows.retain(|row| (first[row] == NO_ROW) == wants_none);
            return self.give_probe(slice, &rows, f);
        }
        // Without a condition all kept rows of a key have a partner, or none.
        let is_told_by_first = self.condition.is_none() && !self.gives_pairs();
        let mut is_matched = vec![false; slice.rows()];
        if self.table.is_unique {
            let (mut of_probe, mut of_build) = (vec![0; rows.len()], vec![0; rows.len()]);
            let mut pairs = 0;
            // Each row is written, and the place moves on where it has a partner: no branch depends on the values.
            rows.each(|row| {
                of_probe[pairs] = row as u16;
                of_build[pairs] = first[row];
                pairs += usize::from(first[row] != NO_ROW);
            });
            self.pairs(run, slice, (&of_probe[..pairs], &of_build[..pairs]), &mut is_matched, f)?;
        } else {
            let (mut of_probe, mut of_build) = (Vec::new(), Vec::new());
            rows.try_each(|row| {
                let mut partner = first[row];
                if is_told_by_first && partner != NO_ROW && self.has_partner[partner as usize] {
                    return Ok(());
                }
                while partner != NO_ROW
                    && (self.gives_pairs() || self.notes_partners() || !is_matched[row])
                {
                    of_probe.push(row as u16);
                    of_build.push(partner);
                    partner = self.table.following[partner as usize];
                    if of_probe.len() == ROWS_MAX {
                        self.pairs(run, slice, (&of_probe, &of_build), &mut is_matched, f)?;
                        of_probe.clear();
                        of_build.clear();
                    }
                }
                Ok::<_, types::Error>(())
            })?;
            self.pairs(run, slice, (&of_probe, &of_build), &mut is_matched, f)?;
        }
        match self.partners {
            Partners::Pairs { keeps_probe: true, .. } => {
                let mut alone = Vec::new();
                rows.each(|row| {
                    if !is_matched[row] {
                        alone.push(row as u16);
                    }
                });
                let nobody = vec![NO_ROW; alone.len()];
                self.give(slice, (&alone, &nobody), |slice| f(slice, &Selection::All(slice.rows())))
            }
            Partners::Pairs { .. } | Partners::KeptWithSome | Partners::KeptWithNone => Ok(()),
            Partners::Some | Partners::None => {
                rows.retain(|row| is_matched[row] != wants_none);
                self.give_probe(slice, &rows, f)
            }
        }
    }

    /// Gives rows of the probe side alone.
    fn give_probe(
        &self,
        slice: &Slice<'_>,
        rows: &Selection,
        f: &mut TakeJoined<'_>,
    ) -> Result<()> {
        let mut of_probe = Vec::with_capacity(rows.len());
        rows.each(|row| of_probe.push(row as u16));
        let widths = (slice.width(), 0);
        let (probe, kept) = (Probe::Rows(slice, &of_probe), &self.kept);
        let pairs = Pairs { probe, kept, rows: &[], widths, is_build_first: false };
        if of_probe.is_empty() {
            return Ok(());
        }
        f(&Slice::new(of_probe.len(), slice.width(), 0, &pairs), &Selection::All(of_probe.len()))
    }

    /// Looks which pairs fulfil the condition, and gives those if pairs are wanted.
    fn pairs(
        &mut self,
        run: Run<'_>,
        slice: &Slice<'_>,
        (of_probe, of_build): (&[u16], &[u32]),
        is_matched: &mut [bool],
        f: &mut TakeJoined<'_>,
    ) -> Result<()> {
        let mut has_partner = std::mem::take(&mut self.has_partner);
        let done = self.give(slice, (of_probe, of_build), |joined| {
            (run.tick)(joined.rows() as u64)?;
            if self.condition.is_none() && !self.notes_probe() && has_partner.is_empty() {
                return f(joined, &Selection::All(joined.rows()));
            }
            let mut rows = Selection::All(joined.rows());
            if let Some(condition) = &self.condition {
                condition.narrow(run, joined, &mut rows)?;
            }
            if self.notes_probe() {
                rows.each(|pair| is_matched[usize::from(of_probe[pair])] = true);
            }
            if !has_partner.is_empty() {
                rows.each(|pair| has_partner[of_build[pair] as usize] = true);
            }
            match self.partners {
                Partners::Pairs { .. } if !rows.is_empty() => f(joined, &rows),
                _ => Ok(()),
            }
        });
        self.has_partner = has_partner;
        done
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

    /// Calls `f` with the rows of the build side that come out when all of the probe side has been joined.
    ///
    /// # Errors
    /// What `f` reports.
    pub fn rest(&mut self, f: &mut TakeJoined<'_>) -> Result<()> {
        let wants_some = self.partners == Partners::KeptWithSome;
        let wanted =
            (0..).zip(&self.has_partner).filter(|(_, has_partner)| **has_partner == wants_some);
        let wanted: Vec<u32> = wanted.map(|(row, _)| row).collect();
        // Without pairs the columns of the probe side do not come out.
        let columns: &[ScanColumn] = match self.partners {
            Partners::Pairs { .. } => &self.probe.wanted().columns,
            _ => &[],
        };
        for rows in wanted.chunks(ROWS_MAX) {
            let widths = (columns.len(), self.width);
            let (probe, is_build_first) = (Probe::Nobody(columns), self.is_build_first);
            let pairs = Pairs { probe, kept: &self.kept, rows, widths, is_build_first };
            let slice = Slice::new(rows.len(), widths.0 + widths.1, 0, &pairs);
            f(&slice, &Selection::All(rows.len()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers have the same partners in each form of the table: all rows of their key, in order, and none for NULL.
    #[test]
    fn integers_find_their_rows_in_each_form_of_the_table() {
        let form = |table: &Table| match table.index {
            Index::Near { .. } => "near",
            Index::Bits { .. } => "bits",
            Index::Far { .. } => "far",
            Index::Groups { .. } => "groups",
        };
        for (name, step) in [("near", 3), ("bits", 97), ("far", 1 << 40)] {
            // Each third key is there twice, and each seventh row is NULL.
            let values: Vec<i64> = (0..9_000).map(|row| (row - row % 3 / 2 - 700) * step).collect();
            let is_null = |row: usize| row % 7 == 5;
            let table = Table::of_ints(&values, is_null);
            assert_eq!(form(&table), name);
            assert!(!table.is_unique, "{name}");
            for key in (-710..8_310).map(|key| key * step).chain([1, i64::MIN, i64::MAX]) {
                let expected =
                    (0..values.len()).filter(|row| values[*row] == key && !is_null(*row));
                let mut found = Vec::new();
                let mut row = table.index.first_of_int(key);
                while row != NO_ROW {
                    found.push(row as usize);
                    row = table.following[row as usize];
                }
                assert_eq!(found, expected.collect::<Vec<_>>(), "{name}: {key}");
            }
        }
        assert!(Table::of_ints(&[5, 9, 1 << 50], |_| false).is_unique);
    }

    /// Keys of several integers are told apart, and what no row has is none of them; keys that do not fit side by side
    /// are not mixed.
    #[test]
    fn several_integers_are_one_where_they_fit() {
        let columns: [&[i64]; 2] = [&[-3, 0, 4], &[i64::MAX - 1, i64::MAX - 9, i64::MAX]];
        let mix = Mix::of(&columns).expect("they fit");
        let value = |parts: [i64; 2]| mix.value(|at| parts[at]);
        let mut seen = std::collections::HashSet::new();
        for one in -3..=4 {
            for other in i64::MAX - 9..=i64::MAX {
                assert!(seen.insert(value([one, other]).expect("it is in range")), "{one} {other}");
            }
        }
        for parts in [[-4, i64::MAX], [5, i64::MAX], [0, i64::MAX - 10], [i64::MIN, i64::MIN]] {
            assert_eq!(value(parts), None, "{parts:?}");
        }
        assert!(Mix::of(&[&[i64::MIN, i64::MAX], &[0, 1]]).is_none());
        assert!(Mix::of(&[&[0, 1 << 40], &[0, 1 << 40]]).is_none());
    }
}
