//! The sources of slices: blocks of columns, rows in row form, and rows of values.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use stripe::{Bounds, Chunk, Ints as Ints64, Values as ChunkValues, Zone};
use table::columnar::{Block, BlockColumn, RawColumn, TakenApart};
use table::rows::{Batch, Layout};
use types::{Datum, DatumRef, Error, Repr, Result, RowPicker, row};

use crate::ROWS_MAX;
use crate::reader::TakeSlice;
use crate::row_columns::RowColumns;
use crate::row_words::RowWords;
use crate::slice::{Load, Number, Packed, PackedCodes, Place, Selection, Slice};
use crate::vector::{Decimals, Floats, Ints, SCALE_MAX, Shown, Values, Vector, spread};
use crate::words::Words;

fn damaged(column: BlockColumn<'_>, what: &'static str) -> Error {
    column.damaged(what).reported()
}

/// A column of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanColumn {
    /// The position of the column in its table.
    pub position: usize,
    /// How its values are held.
    pub repr: Repr,
}

/// A field of the objects of a column, as an expression asks for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// The position of the column in the scan.
    pub column: usize,
    /// Its name.
    pub name: String,
    /// The operator that reads it.
    pub form: FieldForm,
}

/// The form in which an expression needs a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FieldForm {
    /// The value, as `->` gives it.
    Value,
    /// Its text, as `->>` gives it.
    Text,
    /// Whether it is there, where every value of the column is an object.
    Presence,
}

/// The columns and fields that a scan reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceColumns {
    /// The columns.
    pub columns: Vec<ScanColumn>,
    /// The fields of objects.
    pub fields: Vec<Field>,
}

/// The dictionaries of a scan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionaries {
    /// Those of columns and of fields are read once for all blocks of a stripe.
    columns: Vec<OnceCell<Arc<Words>>>,
    fields: Vec<OnceCell<Arc<Words>>>,
    /// Those of columns of rows in row form.
    of_rows: Vec<RefCell<RowWords>>,
}

impl Dictionaries {
    /// Returns room for the dictionaries of a scan.
    pub fn of(wanted: &SourceColumns) -> Dictionaries {
        Dictionaries {
            columns: wanted.columns.iter().map(|_| OnceCell::new()).collect(),
            fields: wanted.fields.iter().map(|_| OnceCell::new()).collect(),
            of_rows: wanted.columns.iter().map(|_| RefCell::default()).collect(),
        }
    }

    /// Forgets the dictionaries that are not those of a block.
    pub fn keep(&mut self, block: &Block, wanted: &SourceColumns) -> Result<()> {
        for (column, cell) in wanted.columns.iter().zip(&mut self.columns) {
            keep_words(block.column(column.position), cell)?;
        }
        for (field, cell) in wanted.fields.iter().zip(&mut self.fields) {
            keep_words(field_of(block, wanted, field), cell)?;
        }
        Ok(())
    }
}

fn keep_words(column: Option<BlockColumn<'_>>, cell: &mut OnceCell<Arc<Words>>) -> Result<()> {
    let Some(known) = cell.get() else { return Ok(()) };
    let bytes = match column {
        Some(column) => column.dictionary().map_err(table::Error::reported)?,
        None => None,
    };
    if !bytes.is_some_and(|bytes| known.is_of(&bytes)) {
        cell.take();
    }
    Ok(())
}

/// Returns a field of the objects of a column; `None` if the block does not have it in the form that is wanted.
pub(crate) fn field_of<'b>(
    block: &'b Block,
    wanted: &SourceColumns,
    field: &Field,
) -> Option<BlockColumn<'b>> {
    let column = block.column(wanted.columns[field.column].position)?;
    let is_told = field.form != FieldForm::Presence || column.has_only_objects();
    column.field(&field.name).filter(|_| is_told)
}

/// The bytes of a chunk and the chunk, once they were read.
#[derive(Default)]
struct ChunkCell<'b> {
    chunk: OnceCell<Chunk<'b>>,
    /// A column that is taken apart, and the values of each slice of it, put together.
    apart: OnceCell<TakenApart>,
    wholes: Vec<OnceCell<RawColumn>>,
}

/// Reads slices of a block.
struct BlockLoad<'a, 'b> {
    block: &'a Block,
    layout: &'a Layout,
    wanted: &'a SourceColumns,
    dictionaries: &'a Dictionaries,
    bytes: &'b [OnceCell<Arc<[u8]>>],
    chunks: &'a [ChunkCell<'b>],
    start: usize,
    rows: usize,
}

impl<'a, 'b> BlockLoad<'a, 'b> {
    /// Returns the chunk of a column or field, by its place among both.
    fn chunk(&self, at: usize, column: BlockColumn<'_>) -> Result<&'a Chunk<'b>> {
        let cell = &self.chunks[at].chunk;
        if let Some(chunk) = cell.get() {
            return Ok(chunk);
        }
        let bytes = match self.bytes[at].get() {
            Some(bytes) => bytes,
            None => {
                let bytes = column.chunk().map_err(table::Error::reported)?;
                self.bytes[at].get_or_init(|| bytes)
            }
        };
        let chunk = Chunk::read(bytes).map_err(|_| damaged(column, "a chunk of a column"))?;
        if chunk.len() != self.block.len() {
            return Err(damaged(column, "a chunk has too many or too few values"));
        }
        Ok(cell.get_or_init(|| chunk))
    }

    /// Returns a column that is taken apart.
    fn taken_apart(&self, at: usize, column: BlockColumn<'_>) -> Result<&'a TakenApart> {
        let cell = &self.chunks[at].apart;
        if let Some(apart) = cell.get() {
            return Ok(apart);
        }
        let apart = column.taken_apart().map_err(table::Error::reported)?;
        Ok(cell.get_or_init(|| apart))
    }

    /// Returns values of a column that is taken apart.
    fn put_together(&self, at: usize, column: BlockColumn<'_>) -> Result<Vector<'a>> {
        let apart = self.taken_apart(at, column)?;
        let cell = &self.chunks[at].wholes[self.start / ROWS_MAX];
        let whole = cell.get_or_init(|| apart.whole(self.start..self.start + self.rows));
        let value = |row: usize| match whole.get(row) {
            Some(bytes) => row::read_value(bytes, column.repr()),
            None => Ok(DatumRef::Null),
        };
        let values = (0..self.rows).map(value).collect::<Result<Vec<_>>>()?;
        Ok(Vector::of_refs(column.repr(), values))
    }

    /// Returns a few values of a column that is taken apart; NULL stands for the others.
    fn put_few_together(
        &self,
        at: usize,
        column: BlockColumn<'_>,
        rows: &Selection,
    ) -> Result<Vector<'a>> {
        let apart = self.taken_apart(at, column)?;
        let (mut values, mut bytes) = (vec![Datum::Null; self.rows], Vec::new());
        rows.try_each(|row| {
            bytes.clear();
            if apart.put(self.start + row, &mut bytes) {
                values[row] = row::read_value(&bytes, column.repr())?.to_owned();
            }
            Ok::<_, types::Error>(())
        })?;
        Ok(Vector::of_datums(column.repr(), values))
    }
}

impl<'a> Load<'a> for BlockLoad<'a, '_> {
    fn column(&self, at: usize) -> Result<Vector<'a>> {
        let ScanColumn { position, repr } = self.wanted.columns[at];
        let Some(column) = self.block.column(position) else {
            return Ok(Vector::constant(Some(repr), self.layout.missing(position), self.rows));
        };
        if column.is_shredded() {
            return self.put_together(at, column);
        }
        let chunk = self.chunk(at, column)?;
        let words = &self.dictionaries.columns[at];
        vector_of(column, chunk, (self.start, self.rows), words, false)
    }

    fn few(&self, at: usize, rows: &Selection) -> Result<Option<Vector<'a>>> {
        let Some(column) = self.block.column(self.wanted.columns[at].position) else {
            return Ok(None);
        };
        if column.is_shredded() {
            return self.put_few_together(at, column, rows).map(Some);
        }
        let (chunk, words) = (self.chunk(at, column)?, &self.dictionaries.columns[at]);
        few_of(column, chunk, (self.start, self.rows), words, rows)
    }

    fn packed(&self, at: usize) -> Result<Option<Packed<'a>>> {
        let column = self.block.column(self.wanted.columns[at].position);
        let Some(column) = column.filter(|one| !one.is_shredded() && one.zone().nulls == 0) else {
            return Ok(None);
        };
        let (ints, number) = match self.chunk(at, column)?.values() {
            ChunkValues::Ints(ints) => (ints, Number::Int(column.repr())),
            ChunkValues::Decimals { scale, mantissas, .. } => {
                (mantissas, Number::Decimal((*scale).min(SCALE_MAX)))
            }
            _ => return Ok(None),
        };
        Ok(Some(Packed { ints, block: self.start / ROWS_MAX, number }))
    }

    fn packed_codes(&self, of: Place) -> Result<Option<PackedCodes<'a>>> {
        let (column, chunk, words) = match of {
            Place::Column(at) => {
                let column = self.block.column(self.wanted.columns[at].position);
                let column = column.filter(|one| !one.is_shredded());
                (column, at, &self.dictionaries.columns[at])
            }
            Place::Field(number) => {
                let field = &self.wanted.fields[number];
                let is_value = field.form == FieldForm::Value;
                let column = field_of(self.block, self.wanted, field).filter(|_| is_value);
                (column, self.wanted.columns.len() + number, &self.dictionaries.fields[number])
            }
        };
        let Some(column) = column.filter(|column| column.zone().nulls == 0) else {
            return Ok(None);
        };
        let ChunkValues::Strings(strings) = self.chunk(chunk, column)?.values() else {
            return Ok(None);
        };
        let Some(codes) = strings.codes() else { return Ok(None) };
        let words = words_of(column, words, false)?;
        Ok(Some(PackedCodes { codes, block: self.start / ROWS_MAX, words }))
    }

    fn field(&self, number: usize) -> Result<Option<Vector<'a>>> {
        let field = &self.wanted.fields[number];
        let Some(column) = field_of(self.block, self.wanted, field) else { return Ok(None) };
        let chunk = self.chunk(self.wanted.columns.len() + number, column)?;
        let words = &self.dictionaries.fields[number];
        let is_text = field.form == FieldForm::Text;
        vector_of(column, chunk, (self.start, self.rows), words, is_text).map(Some)
    }
}

/// Calls `f` with the slices of a block and the rows of each that the scan sees. Slices without such a row are left out.
pub(crate) fn slices_of_block(
    block: &Block,
    layout: &Layout,
    wanted: &SourceColumns,
    dictionaries: &Dictionaries,
    f: &mut TakeSlice<'_>,
) -> Result<()> {
    let (columns, fields) = (wanted.columns.len(), wanted.fields.len());
    let bytes: Vec<OnceCell<Arc<[u8]>>> = (0..columns + fields).map(|_| OnceCell::new()).collect();
    let slices = block.len().div_ceil(ROWS_MAX);
    let cells = |at: usize| {
        let column = wanted.columns.get(at).and_then(|column| block.column(column.position));
        let is_apart = column.is_some_and(BlockColumn::is_shredded);
        let wholes = (0..if is_apart { slices } else { 0 }).map(|_| OnceCell::new()).collect();
        ChunkCell { wholes, ..ChunkCell::default() }
    };
    let chunks: Vec<ChunkCell<'_>> = (0..bytes.len()).map(cells).collect();
    for start in (0..block.len()).step_by(ROWS_MAX) {
        let rows = ROWS_MAX.min(block.len() - start);
        let selected = match block.seen() {
            None => Selection::All(rows),
            Some(seen) => Selection::of_bits(&seen.words()[start / 64..], rows),
        };
        if !selected.is_empty() {
            let (bytes, chunks) = (&bytes[..], &chunks[..]);
            let load =
                BlockLoad { block, layout, wanted, dictionaries, bytes, chunks, start, rows };
            f(&Slice::new(rows, columns, fields, &load), selected)?;
        }
    }
    Ok(())
}

/// Returns the digits that decimals of a column have and show, if all of a block show the same number.
pub(crate) fn scale_of(column: BlockColumn<'_>) -> Result<Option<(u32, u8)>> {
    let bytes = column.chunk().map_err(table::Error::reported)?;
    let chunk = Chunk::read(&bytes).map_err(|_| damaged(column, "a chunk of a column"))?;
    Ok(match chunk.values() {
        ChunkValues::Decimals { scale, shown, .. } => {
            shown.constant().and_then(|shown| Some((*scale, shown_digits(shown, *scale)?)))
        }
        _ => None,
    })
}

fn shown_digits(shown: i64, scale: u32) -> Option<u8> {
    u8::try_from(shown).ok().filter(|shown| u32::from(*shown) <= scale)
}

/// Returns `rows` values of a chunk from `start` on, which is a multiple of [`ROWS_MAX`]; of `jsonb` as text if
/// `is_text`.
fn vector_of<'a>(
    column: BlockColumn<'_>,
    chunk: &'a Chunk<'_>,
    (start, rows): (usize, usize),
    words: &OnceCell<Arc<Words>>,
    is_text: bool,
) -> Result<Vector<'a>> {
    let index = start / ROWS_MAX;
    let repr = column.repr();
    let nulls = match column.zone().nulls {
        0 => Vec::new(),
        _ => (start..start + rows).map(|row| chunk.nulls().has(row)).collect(),
    };
    let values = match chunk.values() {
        ChunkValues::Ints(stream) => {
            let (values, bound) = (stream.block(index), stream.bound(index));
            Values::Ints(Ints { repr, values, bound })
        }
        ChunkValues::Decimals { scale, mantissas, shown } => {
            let bound = mantissas.bound(index);
            let mantissas = mantissas.block(index);
            let wrong = || damaged(column, "a decimal shows more digits than it has");
            let shown = match shown.constant() {
                Some(shown) => Shown::Same(shown_digits(shown, *scale).ok_or_else(wrong)?),
                None => {
                    let digits = shown.block(index);
                    let digits = digits.into_iter().map(|shown| shown_digits(shown, *scale));
                    Shown::Each(digits.collect::<Option<Vec<u8>>>().ok_or_else(wrong)?)
                }
            };
            Values::Decimals(Decimals { scale: (*scale).min(SCALE_MAX), mantissas, shown, bound })
        }
        ChunkValues::Floats(stream) => Values::Floats(Floats {
            repr: Repr::Float8,
            values: stream.block(index, |one| one),
            bound: float_bound_by(column.zone()),
        }),
        ChunkValues::Floats32(stream) => Values::Floats(Floats {
            repr: Repr::Float4,
            values: stream.block(index, f64::from),
            bound: float_bound_by(column.zone()),
        }),
        ChunkValues::Strings(strings) => match (strings.codes(), strings.whole()) {
            (Some(stream), _) => {
                let words = words_of(column, words, is_text)?;
                let wrong = || damaged(column, "a code is not in the dictionary");
                let codes = stream.block_small(index).ok_or_else(wrong)?;
                let greatest = codes.iter().fold(0, |greatest, code| greatest.max(*code));
                if greatest as usize >= words.len().max(1) {
                    return Err(wrong());
                }
                let nulls = words.nulls(nulls, &codes);
                return Ok(Vector { values: Values::Codes(words.clone(), codes), nulls });
            }
            (None, Some(whole)) => {
                let value = |row: usize| match nulls.get(row - start) {
                    Some(true) => Ok(DatumRef::Null),
                    _ => row::read_value(whole.get(row), repr),
                };
                if is_text {
                    let value = |row: usize| text_of(value(row)?);
                    let values = (start..start + rows).map(value).collect::<Result<Vec<_>>>()?;
                    return Ok(Vector::of_datums(Repr::Text, values));
                }
                let values = (start..start + rows).map(value).collect::<Result<Vec<_>>>()?;
                return Ok(Vector::of_refs(repr, values));
            }
            (None, None) => return Err(damaged(column, "strings are neither whole nor codes")),
        },
    };
    Ok(Vector { values, nulls })
}

/// As [`vector_of`], of a few rows; for other rows any value stands. `None` if reading all of them takes no longer.
fn few_of<'a>(
    column: BlockColumn<'_>,
    chunk: &'a Chunk<'_>,
    (start, count): (usize, usize),
    words: &OnceCell<Arc<Words>>,
    rows: &Selection,
) -> Result<Option<Vector<'a>>> {
    let Selection::Some(places) = rows else { return Ok(None) };
    let index = start / ROWS_MAX;
    let few = |stream: &Ints64<'_>| {
        let few = stream.few(index, places)?;
        Some(spread(&few, rows, count))
    };
    let values = match chunk.values() {
        ChunkValues::Ints(stream) => few(stream).map(|values| {
            let bound = stream.bound(index);
            Values::Ints(Ints { repr: column.repr(), values, bound })
        }),
        ChunkValues::Decimals { scale, mantissas, shown } => {
            let shown = shown.constant().and_then(|shown| shown_digits(shown, *scale));
            let mantissas_of = shown.and_then(|shown| Some((few(mantissas)?, shown)));
            mantissas_of.map(|(of_rows, shown)| {
                Values::Decimals(Decimals {
                    scale: (*scale).min(SCALE_MAX),
                    mantissas: of_rows,
                    shown: Shown::Same(shown),
                    bound: mantissas.bound(index),
                })
            })
        }
        ChunkValues::Strings(strings) => match strings.codes().and_then(few) {
            Some(codes) => {
                let words = words_of(column, words, false)?;
                let is_code = |code: &i64| (0..words.len().max(1) as i64).contains(code);
                if !codes.iter().all(is_code) {
                    return Err(damaged(column, "a code is not in the dictionary"));
                }
                let codes = codes.iter().map(|code| *code as u32).collect();
                Some(Values::Codes(words.clone(), codes))
            }
            None => None,
        },
        ChunkValues::Floats(_) | ChunkValues::Floats32(_) => None,
    };
    let nulls = match column.zone().nulls {
        0 => Vec::new(),
        _ => {
            let mut nulls = vec![false; count];
            rows.each(|row| nulls[row] = chunk.nulls().has(start + row));
            nulls
        }
    };
    Ok(values.map(|values| Vector { values, nulls }))
}

/// Returns how far a value of a column can be from 0, if that is known; infinity if one is NaN. Where a value is NULL,
/// one before it stands, or 0.
fn float_bound_by(zone: &Zone) -> Option<f64> {
    match zone.bounds {
        // NaN is the greatest of all.
        Bounds::Floats(_, max) if max.is_nan() => Some(f64::INFINITY),
        Bounds::Floats(min, max) => Some(min.abs().max(max.abs())),
        _ => None,
    }
}

/// Returns the dictionary of a column, which is read once for all blocks of a stripe.
fn words_of<'w>(
    column: BlockColumn<'_>,
    cell: &'w OnceCell<Arc<Words>>,
    is_text: bool,
) -> Result<&'w Arc<Words>> {
    if let Some(words) = cell.get() {
        return Ok(words);
    }
    let bytes = column.dictionary().map_err(table::Error::reported)?;
    let bytes = bytes.ok_or_else(|| damaged(column, "codes without a dictionary"))?;
    let words = Arc::new(Words::read(bytes, column.repr(), is_text)?);
    Ok(cell.get_or_init(|| words))
}

/// Reads columns by a closure.
struct FromFn<F>(F);

impl<'a, F: Fn(usize) -> Vector<'a>> Load<'a> for FromFn<F> {
    fn column(&self, at: usize) -> Result<Vector<'a>> {
        Ok((self.0)(at))
    }
}

/// Returns a value of `jsonb` as `->>` gives it.
pub(crate) fn text_of(value: DatumRef<'_>) -> Result<Datum> {
    Ok(match value {
        DatumRef::Jsonb(value) => value.to_text()?.map_or(Datum::Null, Datum::text),
        _ => Datum::Null,
    })
}

/// The bytes of the values of some rows, column by column; `None` for NULL.
type RawColumns<'a> = Vec<Option<&'a [u8]>>;

/// Reads slices of rows in row form.
struct RowsLoad<'p, 'b> {
    batch: &'b Batch,
    wanted: &'p SourceColumns,
    dictionaries: &'p Dictionaries,
    picker: &'p RowPicker<'b>,
    rows: Range<usize>,
    /// The columns of the blocks in which the rows lie, if they are kept.
    columns: Option<RowColumns<'b>>,
    /// The values in the rows, once they are asked for, and whether a row is older than a column.
    raw: OnceCell<(RawColumns<'b>, bool)>,
    /// The memory of an earlier slice, for `raw`.
    room: Cell<RawColumns<'b>>,
}

impl<'b> RowsLoad<'_, 'b> {
    /// Returns the values of a column in the rows; `None` if a row is older than a column.
    fn raw(&self, at: usize) -> Result<Option<&[Option<&'b [u8]>]>> {
        let count = self.rows.len();
        let (raw, is_old) = match self.raw.get() {
            Some(known) => known,
            None => {
                let mut raw = self.room.take();
                raw.clear();
                raw.resize(count * self.wanted.columns.len(), None);
                let values = self.batch.values(self.rows.clone());
                let put = |row, at, value| raw[at * count + row] = value;
                let has_all = self.picker.pick_all(values, put)?;
                self.raw.get_or_init(|| (raw, !has_all))
            }
        };
        Ok((!is_old).then(|| &raw[at * count..][..count]))
    }

    /// Returns texts by their codes; `None` if the column has no dictionary.
    fn coded(
        &self,
        at: usize,
        raw: &[Option<&'b [u8]>],
        rows: &Selection,
    ) -> Result<Option<Vector<'b>>> {
        if self.wanted.columns[at].repr != Repr::Text {
            return Ok(None);
        }
        let codes = self.dictionaries.of_rows[at].borrow_mut().codes(raw, rows)?;
        Ok(codes.map(|(words, codes)| Vector::of_codes(words, codes, raw)))
    }
}

impl<'a, 'b: 'a> Load<'a> for RowsLoad<'_, 'b> {
    fn column(&self, at: usize) -> Result<Vector<'a>> {
        let ScanColumn { position, repr } = self.wanted.columns[at];
        if let Some(columns) = &self.columns
            && let Some(vector) =
                columns.column(self.wanted.columns[at], &self.dictionaries.of_rows[at])?
        {
            return Ok(vector);
        }
        if let Some(raw) = self.raw(at)? {
            return match self.coded(at, raw, &Selection::All(self.rows.len()))? {
                Some(vector) => Ok(vector),
                None => Vector::of_raw(repr, raw),
            };
        }
        let values = |row| self.batch.row(row).column(position).map_err(table::Error::reported);
        Ok(Vector::of_refs(repr, self.rows.clone().map(values).collect::<Result<_>>()?))
    }

    fn few(&self, at: usize, rows: &Selection) -> Result<Option<Vector<'a>>> {
        let repr = self.wanted.columns[at].repr;
        if let Some(columns) = &self.columns {
            return columns.few(self.wanted.columns[at], rows);
        }
        let Some(raw) = self.raw(at)? else { return Ok(None) };
        match self.coded(at, raw, rows)? {
            None => Vector::of_few_raw(repr, raw, rows),
            coded => Ok(coded),
        }
    }
}

/// Calls `f` with the slices of rows in row form.
pub(crate) fn slices_of_rows(
    batch: &Batch,
    wanted: &SourceColumns,
    dictionaries: &Dictionaries,
    f: &mut dyn FnMut(&Slice<'_>) -> Result<()>,
) -> Result<()> {
    let Some(layout) = batch.layout() else { return Ok(()) };
    let positions: Vec<usize> = wanted.columns.iter().map(|column| column.position).collect();
    let width = positions.len();
    let picker = RowPicker::new(layout.reprs(), positions);
    let mut room = Cell::default();
    // Slices of about the same size.
    let count = batch.len().div_ceil(ROWS_MAX).max(1);
    let rows_max = batch.len().div_ceil(count).max(1);
    for start in (0..batch.len()).step_by(rows_max) {
        let rows = start..batch.len().min(start + rows_max);
        let count = rows.len();
        // Of rows that are only counted nothing is read.
        let columns = match width {
            0 => None,
            _ => RowColumns::of(batch, rows.clone(), layout, wanted)?,
        };
        let (picker, raw) = (&picker, OnceCell::new());
        let load = RowsLoad { batch, wanted, dictionaries, picker, rows, columns, raw, room };
        f(&Slice::new(count, width, wanted.fields.len(), &load))?;
        room = match load.raw.into_inner() {
            Some((raw, _)) => Cell::new(raw),
            None => load.room,
        };
    }
    Ok(())
}

/// Calls `f` with the slices of rows of values.
pub(crate) fn slices_of_values(
    all: &[Vec<Datum>],
    wanted: &SourceColumns,
    f: &mut dyn FnMut(&Slice<'_>) -> Result<()>,
) -> Result<()> {
    let (columns, fields) = (&wanted.columns, wanted.fields.len());
    for rows in all.chunks(ROWS_MAX) {
        let load = FromFn(|at: usize| {
            let values = rows.iter().map(|row| row[at].as_ref()).collect();
            Vector::of_refs(columns[at].repr, values)
        });
        f(&Slice::new(rows.len(), columns.len(), fields, &load))?;
    }
    Ok(())
}
