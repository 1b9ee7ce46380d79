//! The limit on the size of a value: a gigabyte, as in PostgreSQL.
//!
//! ```text
//!   Builder   push, push, push ──> text      each piece is weighed before it is taken
//!   value     made by whatever function ──>  weighed when it is there
//! ```
//!
//! A function that can make a large value from a small one (`repeat`, `replace`, `format`, an aggregate)
//! builds it with a [`Builder`], so it stops at the limit and not behind it. A result that is at most a
//! few times as large as the arguments is measured by [`value`] at the end, in the one place that all
//! calls of functions go through.
//!
//! The messages are PostgreSQL's, which differ by how it gets its memory. The code is always 54000:
//! PostgreSQL has XX000 for some of them, as if the server had failed.

use interrupt::Pace;

use crate::{Datum, Error, Result, SqlState};

/// The most bytes that a value can have: a gigabyte, without the four bytes of its length.
pub const VALUE_BYTES_MAX: usize = 0x3FFF_FFFF - 4;

/// How many bytes are copied between two looks at whether the statement is to stop.
const PIECE_BYTES: usize = 1 << 20;

/// How many bytes of short pieces that repeat are copied at once.
const BLOCK_BYTES: usize = 1 << 12;

/// The error of a value of so many bytes.
#[cold]
pub fn too_large(bytes: usize) -> Error {
    let message = format!("invalid memory alloc request size {}", bytes.saturating_add(4));
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// Fails if so many bytes are too many for a value.
///
/// # Errors
/// 54000.
#[inline]
pub fn check(bytes: usize) -> Result<()> {
    if bytes > VALUE_BYTES_MAX { Err(too_large(bytes)) } else { Ok(()) }
}

/// Fails if the argument of a function asks for more bytes than a value can have.
///
/// # Errors
/// 54000.
pub fn check_requested(bytes: usize) -> Result<()> {
    if bytes > VALUE_BYTES_MAX {
        let message = "requested length too large";
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(())
}

/// Returns the same value; fails if it is too large.
///
/// # Errors
/// 54000.
#[inline]
pub fn value(value: Datum) -> Result<Datum> {
    let bytes = match &value {
        Datum::Text(text) | Datum::Folded(text) => text.len(),
        Datum::Bytea(bytes) => bytes.len(),
        Datum::Array(array) => array.as_ref().as_bytes().len(),
        Datum::Record(record) => record.as_ref().as_bytes().len(),
        Datum::Range(range) => range.as_ref().as_bytes().len(),
        Datum::Multirange(ranges) => ranges.as_ref().as_bytes().len(),
        _ => return Ok(value),
    };
    if bytes > PIECE_BYTES {
        interrupt::check()?;
    }
    check(bytes)?;
    Ok(value)
}

/// Appends a text of checked length, and looks now and then whether the statement is to stop.
///
/// # Errors
/// 57014.
#[inline]
pub(crate) fn append(out: &mut String, mut piece: &str) -> Result<()> {
    if piece.len() > PIECE_BYTES {
        out.reserve(piece.len());
        while piece.len() > PIECE_BYTES {
            interrupt::check()?;
            let (first, rest) = String::split(piece, PIECE_BYTES);
            out.push_str(first);
            piece = rest;
        }
    }
    out.push_str(piece);
    Ok(())
}

/// Appends bytes, and looks now and then whether the statement is to stop.
///
/// # Errors
/// 57014.
pub fn append_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    Ok(interrupt::append(out, bytes)?)
}

/// A value that a [`Builder`] builds from pieces.
pub trait Pieces: Default {
    /// A part of it.
    type Piece: ?Sized;

    /// Nothing, with room for so many bytes.
    fn with_capacity(bytes: usize) -> Self;

    /// How many bytes there are.
    fn bytes(&self) -> usize;

    /// How many bytes there is room for without more memory.
    fn capacity(&self) -> usize;

    /// How many bytes a piece has.
    fn bytes_of(piece: &Self::Piece) -> usize;

    /// Two parts of a piece, of which the first has about so many bytes.
    fn split(piece: &Self::Piece, at: usize) -> (&Self::Piece, &Self::Piece);

    /// Appends a piece.
    fn append(&mut self, piece: &Self::Piece);

    /// All of it as a piece.
    fn whole(&self) -> &Self::Piece;
}

impl Pieces for String {
    type Piece = str;

    fn with_capacity(bytes: usize) -> String {
        String::with_capacity(bytes)
    }

    fn bytes(&self) -> usize {
        self.len()
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn bytes_of(piece: &str) -> usize {
        piece.len()
    }

    fn split(piece: &str, at: usize) -> (&str, &str) {
        let at = (0..=at).rev().find(|at| piece.is_char_boundary(*at)).unwrap_or(0);
        piece.split_at(at)
    }

    fn append(&mut self, piece: &str) {
        self.push_str(piece);
    }

    fn whole(&self) -> &str {
        self
    }
}

impl Pieces for Vec<u8> {
    type Piece = [u8];

    fn with_capacity(bytes: usize) -> Vec<u8> {
        Vec::with_capacity(bytes)
    }

    fn bytes(&self) -> usize {
        self.len()
    }

    fn capacity(&self) -> usize {
        self.capacity()
    }

    fn bytes_of(piece: &[u8]) -> usize {
        piece.len()
    }

    fn split(piece: &[u8], at: usize) -> (&[u8], &[u8]) {
        piece.split_at(at)
    }

    fn append(&mut self, piece: &[u8]) {
        self.extend_from_slice(piece);
    }

    fn whole(&self) -> &[u8] {
        self
    }
}

/// A value that is put together piece by piece and ends at the limit.
///
/// It looks now and then whether the statement is to stop.
#[derive(Debug, Default)]
pub struct Builder<T> {
    value: T,
    pace: Pace,
}

/// A text that is put together.
pub type TextBuilder = Builder<String>;

/// Bytes that are put together.
pub type BytesBuilder = Builder<Vec<u8>>;

impl<T: Pieces> Builder<T> {
    /// Nothing so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing so far, with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { value: T::with_capacity(bytes.min(VALUE_BYTES_MAX)), pace: Pace::new() }
    }

    /// The value so far.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// How much memory it takes.
    pub fn held_bytes(&self) -> usize {
        self.value.capacity()
    }

    /// Appends a piece.
    ///
    /// # Errors
    /// 54000 where the value would be too large; 57014 where the statement is to stop.
    #[inline]
    pub fn push(&mut self, piece: &T::Piece) -> Result<()> {
        let (have, more) = (self.value.bytes(), T::bytes_of(piece));
        if more > VALUE_BYTES_MAX - have {
            return Err(cannot_enlarge(have, more));
        }
        if more > PIECE_BYTES {
            return self.push_long(piece);
        }
        self.pace.step(more)?;
        self.value.append(piece);
        Ok(())
    }

    fn push_long(&mut self, mut piece: &T::Piece) -> Result<()> {
        while T::bytes_of(piece) > PIECE_BYTES {
            interrupt::check()?;
            let (first, rest) = T::split(piece, PIECE_BYTES);
            self.value.append(first);
            piece = rest;
        }
        self.value.append(piece);
        Ok(())
    }

    /// Appends a piece so many times.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn push_repeated(&mut self, piece: &T::Piece, times: usize) -> Result<()> {
        let (have, more) = (self.value.bytes(), T::bytes_of(piece).saturating_mul(times));
        if more > VALUE_BYTES_MAX - have {
            return Err(cannot_enlarge(have, more));
        }
        if more == 0 {
            return Ok(());
        }
        // Short pieces are copied many at once.
        let in_block = (BLOCK_BYTES / T::bytes_of(piece)).clamp(1, times);
        let mut block = T::default();
        (0..in_block).for_each(|_| block.append(piece));
        (0..times / in_block).try_for_each(|_| self.push(block.whole()))?;
        (0..times % in_block).try_for_each(|_| self.push(piece))
    }

    /// The value.
    pub fn finish(self) -> T {
        self.value
    }
}

impl TextBuilder {
    /// Appends a character.
    ///
    /// # Errors
    /// As [`Builder::push`].
    #[inline]
    pub fn push_char(&mut self, c: char) -> Result<()> {
        self.push(c.encode_utf8(&mut [0; 4]))
    }
}

#[cold]
fn cannot_enlarge(have: usize, more: usize) -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "out of memory").with_detail(format!(
        "Cannot enlarge string buffer containing {have} bytes by {more} more bytes."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value ends at the limit, and what there is so far stays as it was.
    #[test]
    fn a_piece_that_does_not_fit_is_not_taken() {
        let mut text = TextBuilder::new();
        text.push("ab").expect("fits");
        let error = text.push_repeated("0123456789", 107_374_182).expect_err("one byte too many");
        assert_eq!(error.state(), SqlState::PROGRAM_LIMIT_EXCEEDED);
        assert_eq!(
            error.detail(),
            Some("Cannot enlarge string buffer containing 2 bytes by 1073741820 more bytes.")
        );
        text.push_repeated("", usize::MAX).expect("nothing is nothing");
        assert_eq!(text.finish(), "ab");
    }

    /// A long piece is cut between characters, wherever the cut falls.
    #[test]
    fn a_long_piece_is_copied_whole() {
        let long = "x".to_owned() + &"\u{20ac}".repeat(PIECE_BYTES);
        let mut text = TextBuilder::new();
        text.push(&long).expect("fits");
        assert_eq!(text.finish(), long);
    }

    /// A cancelled statement does not go on to copy.
    #[test]
    fn a_copy_stops_when_the_statement_is_to_stop() {
        let flag = std::sync::atomic::AtomicBool::new(true);
        let error = interrupt::during(&flag, || {
            let mut text = TextBuilder::new();
            text.push_repeated("0123456789", 100_000_000)
        });
        assert_eq!(error.expect_err("told to stop").state(), SqlState::QUERY_CANCELED);
    }
}
