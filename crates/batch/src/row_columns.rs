//! [`RowColumn`]: a column of the rows of a block, taken out of the rows once and left in the block.
//!
//! ```text
//!   block        1 AIR 8403 ...   2 MAIL 8400 ...   3 AIR 8407 ...      rows, one after the other
//!   second scan  8403 8400 8407                                         each row is walked through, column by column
//!   later scans  least 8400, distances 3 0 7 in one byte each           an array is read
//! ```
//!
//! A block gets such columns when it is scanned again: a table that is read once, or that the store's cache does not hold,
//! gets none. The columns go with the block when the cache drops it. Texts and other values of any length stay in the bytes
//! of the block, and the column says where.
//!
//! # Invariants
//! * A column has a value for each row of its block, also for rows that a scan does not see.
//! * A column is used only by scans that hold its values as it does: the representation is compared.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use table::rows::{Batch, Layout, RowBlock};
use types::{DatumRef, Repr, Result, RowPicker, row};

use crate::row_words::RowWords;
use crate::slice::Selection;
use crate::source::{ScanColumn, SourceColumns};
use crate::vector::{Decimals, Floats, Ints, Shown, Values, Vector, is_int};

/// A column has codes if the block has at most so many texts, each of at most [`RowWords::BYTES_MAX`].
const WORDS_MAX: usize = 256;

/// A column of the rows of a block.
#[derive(Debug)]
struct RowColumn {
    repr: Repr,
    /// Which values are NULL; empty if none is.
    nulls: Box<[bool]>,
    values: RowValues,
}

/// The values of a column, in the forms of [`Values`].
#[derive(Debug)]
enum RowValues {
    /// Integers, and how far one can be from 0.
    Ints(Packed, u64),
    /// Decimals that all show the same number of digits.
    Decimals {
        mantissas: Packed,
        scale: u32,
        shown: u8,
        bound: u64,
    },
    Floats(Box<[f64]>),
    /// Where each text lies in the block, and which of them each row has.
    Codes(Box<[Span]>, Box<[u8]>),
    /// Where each value lies in the block.
    Spans(Box<[Span]>),
    /// Some rows are older than the column.
    Absent,
}

/// Where bytes begin and end in a block.
type Span = [u32; 2];

/// Integers, as distances from the least of them.
#[derive(Debug)]
enum Packed {
    One(i64, Box<[u8]>),
    Two(i64, Box<[u16]>),
    Four(i64, Box<[u32]>),
    Whole(Box<[i64]>),
}

impl Packed {
    fn of(values: &[i64]) -> Packed {
        let least = values.iter().copied().min().unwrap_or(0);
        let most = values.iter().copied().max().unwrap_or(0).wrapping_sub(least) as u64;
        let distances = values.iter().map(|value| value.wrapping_sub(least) as u64);
        match most {
            0..=0xff => Packed::One(least, distances.map(|one| one as u8).collect()),
            0x100..=0xffff => Packed::Two(least, distances.map(|one| one as u16).collect()),
            0x1_0000..=0xffff_ffff => {
                Packed::Four(least, distances.map(|one| one as u32).collect())
            }
            _ => Packed::Whole(values.into()),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Packed::One(_, all) => size_of_val(&all[..]),
            Packed::Two(_, all) => size_of_val(&all[..]),
            Packed::Four(_, all) => size_of_val(&all[..]),
            Packed::Whole(all) => size_of_val(&all[..]),
        }
    }

    /// Appends the values of some rows.
    fn append(&self, rows: &Places, out: &mut Vec<i64>) {
        match self {
            Packed::One(least, all) => rows.append(all, out, |one| least + i64::from(one)),
            Packed::Two(least, all) => rows.append(all, out, |one| least + i64::from(one)),
            Packed::Four(least, all) => rows.append(all, out, |one| least + i64::from(one)),
            Packed::Whole(all) => rows.append(all, out, |one| one),
        }
    }
}

/// The places of some rows among all rows of their block.
enum Places {
    Range(Range<usize>),
    Some(Vec<u32>),
}

impl Places {
    /// Returns those of the rows `rows` that a scan sees.
    fn of(block: &RowBlock, rows: Range<usize>) -> Places {
        match block.numbers() {
            None => Places::Range(rows),
            Some(numbers) => Places::Some(numbers.skip(rows.start).take(rows.len()).collect()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Places::Range(range) => range.len(),
            Places::Some(numbers) => numbers.len(),
        }
    }

    /// Returns the place of a row.
    fn get(&self, row: usize) -> usize {
        match self {
            Places::Range(range) => range.start + row,
            Places::Some(numbers) => numbers[row] as usize,
        }
    }

    /// Appends what `f` makes of the values at these places.
    #[inline]
    fn append<T: Copy, R>(&self, all: &[T], out: &mut Vec<R>, f: impl Fn(T) -> R) {
        match self {
            Places::Range(range) => out.extend(all[range.clone()].iter().map(|one| f(*one))),
            Places::Some(numbers) => out.extend(numbers.iter().map(|at| f(all[*at as usize]))),
        }
    }
}

impl RowColumn {
    /// Returns the column of the values of all rows of a block; `None` stands for NULL.
    fn of(block: &RowBlock, repr: Repr, raw: &[Option<&[u8]>]) -> Result<RowColumn> {
        let is_number = is_int(repr) || matches!(repr, Repr::Numeric | Repr::Float4 | Repr::Float8);
        let numbers = if is_number { Some(Vector::of_raw(repr, raw)?) } else { None };
        let values = match numbers.map(|vector| vector.values) {
            Some(Values::Ints(ints)) => RowValues::Ints(Packed::of(&ints.values), ints.bound),
            Some(Values::Decimals(Decimals {
                scale,
                mantissas,
                shown: Shown::Same(shown),
                bound,
            })) => RowValues::Decimals { mantissas: Packed::of(&mantissas), scale, shown, bound },
            Some(Values::Floats(floats)) => RowValues::Floats(floats.values.into()),
            _ => in_block(block, repr, raw),
        };
        let nulls = match raw.iter().any(Option::is_none) {
            true => raw.iter().map(Option::is_none).collect(),
            false => Box::default(),
        };
        Ok(RowColumn { repr, nulls, values })
    }

    /// The column of rows some of which are older.
    fn absent(repr: Repr) -> RowColumn {
        RowColumn { repr, nulls: Box::default(), values: RowValues::Absent }
    }

    fn is_absent(&self) -> bool {
        matches!(self.values, RowValues::Absent)
    }

    /// The most bytes that a column of a block may have.
    fn bytes_max(block: &RowBlock) -> usize {
        // Eight bytes for a number or for a place in the block, a code, and whether it is NULL.
        let of_row = size_of::<Span>() + 2;
        size_of::<RowColumn>() + of_row * block.all_values().map_or(0, |all| all.len())
    }

    fn bytes(&self) -> usize {
        let values = match &self.values {
            RowValues::Ints(packed, _) | RowValues::Decimals { mantissas: packed, .. } => {
                packed.bytes()
            }
            RowValues::Floats(all) => size_of_val(&all[..]),
            RowValues::Codes(spans, codes) => size_of_val(&spans[..]) + codes.len(),
            RowValues::Spans(spans) => size_of_val(&spans[..]),
            RowValues::Absent => 0,
        };
        size_of::<RowColumn>() + self.nulls.len() + values
    }

    /// Returns where the value of a row lies in the block; `None` if the column has the values themselves.
    fn span(&self, row: usize) -> Option<Span> {
        match &self.values {
            RowValues::Codes(spans, codes) => Some(spans[usize::from(codes[row])]),
            RowValues::Spans(spans) => Some(spans[row]),
            _ => None,
        }
    }
}

/// Returns the values of any length of a block as places in it.
fn in_block(block: &RowBlock, repr: Repr, raw: &[Option<&[u8]>]) -> RowValues {
    let base = block.bytes().as_ptr().addr();
    let span = |bytes: &[u8]| {
        let start = (bytes.as_ptr().addr() - base) as u32;
        [start, start + bytes.len() as u32]
    };
    if repr == Repr::Text
        && let Some((texts, codes)) = codes_of(raw)
    {
        let spans = match texts.is_empty() {
            true => Box::from([[0, 0]]),
            false => texts.into_iter().map(span).collect(),
        };
        return RowValues::Codes(spans, codes.into());
    }
    RowValues::Spans(raw.iter().map(|bytes| bytes.map_or([0, 0], span)).collect())
}

/// Returns the texts of some rows, each once, and the number of that of each row; `None` if there are many, or long ones.
fn codes_of<'r>(raw: &[Option<&'r [u8]>]) -> Option<(Vec<&'r [u8]>, Vec<u8>)> {
    let mut numbers: HashMap<&[u8], u8, FixedState> = HashMap::default();
    let (mut texts, mut codes) = (Vec::new(), Vec::with_capacity(raw.len()));
    for bytes in raw {
        // For NULL any code will do.
        let Some(text) = *bytes else {
            codes.push(0);
            continue;
        };
        codes.push(match numbers.get(text) {
            Some(code) => *code,
            None if texts.len() == WORDS_MAX || text.len() > RowWords::BYTES_MAX => return None,
            None => {
                let code = texts.len() as u8;
                numbers.insert(text, code);
                texts.push(text);
                code
            }
        });
    }
    Some((texts, codes))
}

/// The columns that scans have taken out of the rows of a block, by their positions.
struct BlockColumns(Box<[OnceLock<Box<RowColumn>>]>);

impl BlockColumns {
    /// Room for so many columns.
    fn new(count: usize) -> BlockColumns {
        BlockColumns((0..count).map(|_| OnceLock::new()).collect())
    }

    /// Returns the column of a block at a position, which [`columns_of`] has found.
    fn get(&self, position: usize) -> &RowColumn {
        self.0[position].get().expect("it was taken out")
    }
}

/// Rows of a slice that lie in one block.
struct Piece<'a> {
    block: &'a RowBlock,
    rows: Places,
    columns: &'a BlockColumns,
}

impl<'a> Piece<'a> {
    fn value(&self, [start, end]: Span, repr: Repr) -> Result<DatumRef<'a>> {
        row::read_value(&self.block.bytes()[start as usize..end as usize], repr)
    }

    fn is_null(&self, at: usize, row: usize) -> bool {
        let nulls = &self.columns.get(at).nulls;
        nulls.get(self.rows.get(row)).is_some_and(|is_null| *is_null)
    }
}

/// The columns of the rows of a slice, which lie in blocks.
pub(crate) struct RowColumns<'a>(Vec<Piece<'a>>);

impl<'a> RowColumns<'a> {
    /// Returns the columns of some rows of a batch; `None` if there are none for all of them.
    ///
    /// # Errors
    /// XX001 if a row is damaged.
    pub fn of(
        batch: &'a Batch,
        rows: Range<usize>,
        layout: &Layout,
        wanted: &SourceColumns,
    ) -> Result<Option<RowColumns<'a>>> {
        let Some(blocks) = batch.blocks_of(rows) else { return Ok(None) };
        let mut pieces = Vec::with_capacity(blocks.len());
        for (block, rows) in blocks {
            let Some(columns) = columns_of(block, layout, &wanted.columns)? else {
                return Ok(None);
            };
            pieces.push(Piece { block, rows: Places::of(block, rows), columns });
        }
        Ok(Some(RowColumns(pieces)))
    }

    fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.rows.len()).sum()
    }

    /// Returns a column; `None` if the blocks hold it in forms that do not go together. `words` is its dictionary.
    ///
    /// # Errors
    /// XX001 if a value is damaged.
    pub fn column(
        &self,
        column: ScanColumn,
        words: &RefCell<RowWords>,
    ) -> Result<Option<Vector<'a>>> {
        let ScanColumn { position: at, repr } = column;
        let Some(first) = self.0.first() else { return Ok(None) };
        let values = match &first.columns.get(at).values {
            RowValues::Ints(..) => self.ints(at, repr).map(Values::Ints),
            RowValues::Decimals { scale, shown, .. } => {
                self.decimals(at, *scale, *shown).map(Values::Decimals)
            }
            RowValues::Floats(_) => self.floats(at, repr).map(Values::Floats),
            RowValues::Codes(..) => self.codes(at, &mut words.borrow_mut())?,
            RowValues::Spans(_) | RowValues::Absent => None,
        };
        match values {
            Some(values) => Ok(Some(Vector { values, nulls: self.nulls(at) })),
            None => self.refs(at, repr),
        }
    }

    /// Returns a few values of a column whose values lie in the blocks; `None` for others. For other rows any value stands.
    ///
    /// # Errors
    /// XX001 if a value is damaged.
    pub fn few(&self, column: ScanColumn, rows: &Selection) -> Result<Option<Vector<'a>>> {
        let ScanColumn { position: at, repr } = column;
        let lie_in_blocks = |piece: &Piece<'_>| {
            matches!(piece.columns.get(at).values, RowValues::Codes(..) | RowValues::Spans(_))
        };
        let has_spans =
            |piece: &Piece<'_>| matches!(piece.columns.get(at).values, RowValues::Spans(_));
        // Codes are fast to read for all rows.
        if !self.0.iter().all(lie_in_blocks) || !self.0.iter().any(has_spans) {
            return Ok(None);
        }
        let mut values = vec![DatumRef::Null; self.len()];
        let (mut pieces, mut start) = (self.0.iter(), 0);
        let Some(mut piece) = pieces.next() else { return Ok(None) };
        rows.try_each(|row| {
            while row >= start + piece.rows.len() {
                start += piece.rows.len();
                let Some(next) = pieces.next() else { return Ok(()) };
                piece = next;
            }
            let within = row - start;
            if !piece.is_null(at, within)
                && let Some(span) = piece.columns.get(at).span(piece.rows.get(within))
            {
                values[row] = piece.value(span, repr)?;
            }
            Ok::<_, types::Error>(())
        })?;
        Ok(Some(Vector { values: Values::Refs(values), nulls: self.nulls(at) }))
    }

    fn nulls(&self, at: usize) -> Vec<bool> {
        if self.0.iter().all(|piece| piece.columns.get(at).nulls.is_empty()) {
            return Vec::new();
        }
        let mut nulls = Vec::with_capacity(self.len());
        for piece in &self.0 {
            match &piece.columns.get(at).nulls {
                all if all.is_empty() => nulls.resize(nulls.len() + piece.rows.len(), false),
                all => piece.rows.append(all, &mut nulls, |is_null| is_null),
            }
        }
        nulls
    }

    fn ints(&self, at: usize, repr: Repr) -> Option<Ints> {
        let (mut values, mut bound) = (Vec::with_capacity(self.len()), 0);
        for piece in &self.0 {
            let RowValues::Ints(packed, of_block) = &piece.columns.get(at).values else {
                return None;
            };
            packed.append(&piece.rows, &mut values);
            bound = bound.max(*of_block);
        }
        Some(Ints { repr, values, bound })
    }

    fn decimals(&self, at: usize, of_all: u32, shown_by_all: u8) -> Option<Decimals> {
        let (mut values, mut of_values) = (Vec::with_capacity(self.len()), 0);
        for piece in &self.0 {
            let RowValues::Decimals { mantissas, scale, shown, bound } =
                &piece.columns.get(at).values
            else {
                return None;
            };
            if (*scale, *shown) != (of_all, shown_by_all) {
                return None;
            }
            mantissas.append(&piece.rows, &mut values);
            of_values = of_values.max(*bound);
        }
        let shown = Shown::Same(shown_by_all);
        Some(Decimals { scale: of_all, mantissas: values, shown, bound: of_values })
    }

    fn floats(&self, at: usize, repr: Repr) -> Option<Floats> {
        let mut values = Vec::with_capacity(self.len());
        for piece in &self.0 {
            let RowValues::Floats(all) = &piece.columns.get(at).values else { return None };
            piece.rows.append(all, &mut values, |value| value);
        }
        Some(Floats { repr, values, bound: None })
    }

    fn codes(&self, at: usize, words: &mut RowWords) -> Result<Option<Values<'a>>> {
        let mut codes = Vec::with_capacity(self.len());
        for piece in &self.0 {
            let RowValues::Codes(spans, of_rows) = &piece.columns.get(at).values else {
                return Ok(None);
            };
            let bytes = piece.block.bytes();
            let texts = spans.iter().map(|[start, end]| &bytes[*start as usize..*end as usize]);
            let Some(of_scan) = words.codes_of(texts) else { return Ok(None) };
            piece.rows.append(of_rows, &mut codes, |code| of_scan[usize::from(code)]);
        }
        Ok(Some(Values::Codes(words.words()?, codes)))
    }

    /// Returns a column whose values lie in the blocks.
    fn refs(&self, at: usize, repr: Repr) -> Result<Option<Vector<'a>>> {
        let mut values = Vec::with_capacity(self.len());
        for piece in &self.0 {
            let column = &piece.columns.get(at);
            for row in 0..piece.rows.len() {
                let Some(span) = column.span(piece.rows.get(row)) else { return Ok(None) };
                values.push(match piece.is_null(at, row) {
                    true => DatumRef::Null,
                    false => piece.value(span, repr)?,
                });
            }
        }
        Ok(Some(Vector::of_refs(repr, values)))
    }
}

/// Returns the columns of a block, those that are wanted among them; `None` if they are not there, and may not be.
fn columns_of<'b>(
    block: &'b RowBlock,
    layout: &Layout,
    wanted: &[ScanColumn],
) -> Result<Option<&'b BlockColumns>> {
    let width = layout.reprs().len();
    let own_bytes = size_of::<BlockColumns>() + width * size_of::<OnceLock<Box<RowColumn>>>();
    let columns = block.derived(own_bytes, || BlockColumns::new(width));
    let Some(columns) = columns else { return Ok(None) };
    let mut missing = Vec::new();
    for column in wanted {
        match columns.0.get(column.position).map(OnceLock::get) {
            // The table had fewer columns when the first one was taken out.
            None => return Ok(None),
            Some(None) => missing.push(*column),
            Some(Some(known)) if known.repr != column.repr || known.is_absent() => return Ok(None),
            Some(Some(_)) => {}
        }
    }
    if missing.is_empty() {
        return Ok(Some(columns));
    }
    if !block.may_grow(missing.len() * RowColumn::bytes_max(block)) {
        return Ok(None);
    }
    let mut are_there = true;
    for (wanted, column) in missing.iter().zip(taken_out(block, layout, &missing)?) {
        let has_room = block.grow(column.bytes());
        are_there &= has_room && !column.is_absent();
        if has_room {
            // Another thread may have been first, with the same column.
            let _ = columns.0[wanted.position].set(Box::new(column));
        }
    }
    Ok(are_there.then_some(columns))
}

/// Takes columns out of all rows of a block.
fn taken_out(block: &RowBlock, layout: &Layout, wanted: &[ScanColumn]) -> Result<Vec<RowColumn>> {
    let picker = RowPicker::new(layout.reprs(), wanted.iter().map(|one| one.position).collect());
    let Some(values) = block.all_values() else { return Ok(Vec::new()) };
    let (count, bytes) = (values.len(), block.bytes());
    let mut raw = vec![None; count * wanted.len()];
    let rows = values.map(|value| &bytes[value]);
    let has_all = picker.pick_all(rows, |row, at, value| raw[at * count + row] = value)?;
    let column = |(at, wanted): (usize, &ScanColumn)| match has_all {
        true => RowColumn::of(block, wanted.repr, &raw[at * count..][..count]),
        false => Ok(RowColumn::absent(wanted.repr)),
    };
    wanted.iter().enumerate().map(column).collect()
}
