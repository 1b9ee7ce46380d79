//! Where slices come from: blocks of columns, rows in row form, and rows of values.

use std::cell::OnceCell;
use std::sync::Arc;

use stripe::{Bounds, Chunk, Ints as IntStream, Values as ChunkValues, Zone};
use table::columnar::{Block, BlockColumn};
use table::rows::{Batch, Layout};
use types::{Datum, DatumRef, Error, Repr, Result, row};

use crate::ROWS_MAX;
use crate::slice::{Selection, Slice};
use crate::vector::{Decimals, Ints, SCALE_MAX, Shown, Values, Vector, Words, bound_of};

/// What a table reports, as the user is told it.
fn reported(error: table::Error) -> Error {
    match error {
        table::Error::Sql(error) => error,
        other => Error::new(other.sqlstate(), other.to_string()),
    }
}

fn damaged(column: BlockColumn<'_>, what: &'static str) -> Error {
    reported(column.damaged(what))
}

/// A column of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanColumn {
    /// The position of the column in its table.
    pub position: usize,
    /// How its values are held.
    pub repr: Repr,
}

/// Calls `f` with the slices of a block, and the rows of each that are seen.
pub(crate) fn slices_of_block(
    block: &Block,
    layout: &Layout,
    columns: &[ScanColumn],
    words: &[OnceCell<Arc<Words>>],
    f: &mut dyn FnMut(&Slice<'_>, Selection) -> Result<()>,
) -> Result<()> {
    let mut seen = block.seen();
    let bytes: Vec<OnceCell<Arc<[u8]>>> = columns.iter().map(|_| OnceCell::new()).collect();
    let chunks: Vec<OnceCell<Chunk<'_>>> = columns.iter().map(|_| OnceCell::new()).collect();
    for start in (0..block.len()).step_by(ROWS_MAX) {
        let rows = ROWS_MAX.min(block.len() - start);
        let selected = match &mut seen {
            None => Selection::All(rows),
            Some(seen) => {
                let count = seen.partition_point(|row| usize::from(*row) < start + rows);
                let (of_slice, rest) = seen.split_at(count);
                *seen = rest;
                Selection::Some(of_slice.iter().map(|row| row - start as u16).collect())
            }
        };
        let load = |at: usize| {
            let ScanColumn { position, repr } = columns[at];
            let Some(column) = block.column(position) else {
                return Ok(Vector::constant(Some(repr), layout.missing(position), rows));
            };
            let chunk = match chunks[at].get() {
                Some(chunk) => chunk,
                None => {
                    let read = chunk_bytes(&bytes[at], column)?;
                    let chunk =
                        Chunk::read(read).map_err(|_| damaged(column, "a chunk of a column"))?;
                    if chunk.len() != block.len() {
                        return Err(damaged(column, "a chunk has too many or too few values"));
                    }
                    chunks[at].get_or_init(|| chunk)
                }
            };
            vector_of(column, chunk, start, rows, &words[at])
        };
        f(&Slice::new(rows, columns.len(), &load), selected)?;
    }
    Ok(())
}

fn chunk_bytes<'b>(cell: &'b OnceCell<Arc<[u8]>>, column: BlockColumn<'_>) -> Result<&'b [u8]> {
    if let Some(bytes) = cell.get() {
        return Ok(bytes);
    }
    let bytes = column.chunk().map_err(reported)?;
    Ok(cell.get_or_init(|| bytes))
}

/// Returns the digits that decimals of a column have and show, if all of a block show the same number.
pub(crate) fn scale_of(column: BlockColumn<'_>) -> Result<Option<(u32, u8)>> {
    let bytes = column.chunk().map_err(reported)?;
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

/// Returns `rows` values of a chunk from `start` on, which is a multiple of [`ROWS_MAX`].
fn vector_of<'a>(
    column: BlockColumn<'_>,
    chunk: &'a Chunk<'_>,
    start: usize,
    rows: usize,
    words: &OnceCell<Arc<Words>>,
) -> Result<Vector<'a>> {
    let index = start / ROWS_MAX;
    let repr = column.repr();
    let nulls = match column.zone().nulls {
        0 => Vec::new(),
        _ => (start..start + rows).map(|row| chunk.nulls().has(row)).collect(),
    };
    let values = match chunk.values() {
        ChunkValues::Ints(stream) => {
            let values = block_of(stream, index);
            let bound = bound_by(column.zone(), &values);
            Values::Ints(Ints { repr, values, bound })
        }
        ChunkValues::Decimals { scale, mantissas, shown } => {
            let mantissas = block_of(mantissas, index);
            let wrong = || damaged(column, "a decimal shows more digits than it has");
            let shown = match shown.constant() {
                Some(shown) => Shown::Same(shown_digits(shown, *scale).ok_or_else(wrong)?),
                None => {
                    let digits = block_of(shown, index);
                    let digits = digits.into_iter().map(|shown| shown_digits(shown, *scale));
                    Shown::Each(digits.collect::<Option<Vec<u8>>>().ok_or_else(wrong)?)
                }
            };
            let bound = bound_by(column.zone(), &mantissas);
            Values::Decimals(Decimals { scale: (*scale).min(SCALE_MAX), mantissas, shown, bound })
        }
        ChunkValues::Floats(stream) => {
            let mut room = [0.0; ROWS_MAX];
            let count = stream.block(index, &mut room);
            Values::Floats(Repr::Float8, room[..count].to_vec())
        }
        ChunkValues::Floats32(stream) => {
            let mut room = [0.0; ROWS_MAX];
            let count = stream.block(index, &mut room);
            Values::Floats(Repr::Float4, room[..count].iter().map(|one| f64::from(*one)).collect())
        }
        ChunkValues::Strings(strings) => match (strings.codes(), strings.whole()) {
            (Some(stream), _) => {
                let words = words_of(column, words)?;
                let mut room = [0; ROWS_MAX];
                let count = stream.block(index, &mut room);
                let room = &room[..count];
                // A code below 0 is a large number without a sign.
                let greatest = room.iter().fold(0, |greatest, code| greatest.max(*code as u64));
                if greatest >= words.len().max(1) as u64 {
                    return Err(damaged(column, "a code is not in the dictionary"));
                }
                Values::Codes(words.clone(), room.iter().map(|code| *code as u32).collect())
            }
            (None, Some(whole)) => {
                let value = |row: usize| match nulls.get(row - start) {
                    Some(true) => Ok(DatumRef::Null),
                    _ => row::read_value(whole.get(row), repr),
                };
                let values = (start..start + rows).map(value).collect::<Result<Vec<_>>>()?;
                return Ok(Vector::of_refs(repr, values));
            }
            (None, None) => return Err(damaged(column, "strings are neither whole nor codes")),
        },
    };
    Ok(Vector { values, nulls })
}

fn block_of(stream: &IntStream<'_>, index: usize) -> Vec<i64> {
    let mut room = [0; ROWS_MAX];
    let count = stream.block(index, &mut room);
    room[..count].to_vec()
}

/// Returns how far a value of a column can be from 0. Where a value is NULL, one before it stands, or 0.
fn bound_by(zone: &Zone, values: &[i64]) -> u64 {
    match zone.bounds {
        Bounds::Ints(min, max) => min.unsigned_abs().max(max.unsigned_abs()),
        _ => bound_of(values),
    }
}

/// Forgets the dictionaries that are not those of a block.
pub(crate) fn keep_words(
    block: &Block,
    columns: &[ScanColumn],
    words: &mut [OnceCell<Arc<Words>>],
) -> Result<()> {
    for (column, cell) in columns.iter().zip(words) {
        let Some(known) = cell.get() else { continue };
        let bytes = match block.column(column.position) {
            Some(column) => column.dictionary().map_err(reported)?,
            None => None,
        };
        if !bytes.is_some_and(|bytes| known.is_of(&bytes)) {
            cell.take();
        }
    }
    Ok(())
}

/// Returns the dictionary of a column, which is read once for all blocks of a stripe.
fn words_of<'w>(column: BlockColumn<'_>, cell: &'w OnceCell<Arc<Words>>) -> Result<&'w Arc<Words>> {
    if let Some(words) = cell.get() {
        return Ok(words);
    }
    let bytes = column.dictionary().map_err(reported)?;
    let bytes = bytes.ok_or_else(|| damaged(column, "codes without a dictionary"))?;
    let words = Arc::new(Words::read(bytes, column.repr())?);
    Ok(cell.get_or_init(|| words))
}

/// Calls `f` with the slices of rows in row form.
pub(crate) fn slices_of_rows(
    batch: &Batch,
    columns: &[ScanColumn],
    f: &mut dyn FnMut(&Slice<'_>) -> Result<()>,
) -> Result<()> {
    let positions: Vec<usize> = columns.iter().map(|column| column.position).collect();
    let width = columns.len();
    let mut values = Vec::new();
    for start in (0..batch.len()).step_by(ROWS_MAX) {
        let rows = ROWS_MAX.min(batch.len() - start);
        values.clear();
        values.resize(rows * width, DatumRef::Null);
        if width > 0 {
            for (row, out) in values.chunks_exact_mut(width).enumerate() {
                batch.row(start + row).columns_into(&positions, out).map_err(reported)?;
            }
        }
        let load = |at: usize| {
            let values = values.iter().skip(at).step_by(width).copied().collect();
            Ok(Vector::of_refs(columns[at].repr, values))
        };
        f(&Slice::new(rows, width, &load))?;
    }
    Ok(())
}

/// Calls `f` with the slices of rows of values.
pub(crate) fn slices_of_values(
    all: &[Vec<Datum>],
    columns: &[ScanColumn],
    f: &mut dyn FnMut(&Slice<'_>) -> Result<()>,
) -> Result<()> {
    for rows in all.chunks(ROWS_MAX) {
        let load = |at: usize| {
            let values = rows.iter().map(|row| row[at].as_ref()).collect();
            Ok(Vector::of_refs(columns[at].repr, values))
        };
        f(&Slice::new(rows.len(), columns.len(), &load))?;
    }
    Ok(())
}
