//! Byte strings: texts, and values of all types that have no form of their own.
//!
//! ```text
//!   codes        US DE US US          1 0 1 1, into the dictionary of the stripe: DE, US
//!   uuid         6b86b273-ff34-...    16 bytes each
//!   hexadecimal  d4735e3a265e16ee     8 bytes for 16 digits
//!   plain        lengths, then bytes
//!   compressed   lengths, then bytes, compressed by zstd
//! ```
//!
//! A dictionary is of one column of one stripe. It is sorted, so that codes compare as their strings do.

use std::collections::HashMap;

use crate::cursor::{Cursor, put_unsigned};
use crate::ints::Ints;
use crate::{BLOCK_ROWS, CHUNK_BYTES_MAX, CHUNK_ROWS_MAX, Error, Result};

/// The compression of byte strings for which no other form is shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// By zstd, at a level from 1 to 19.
    Zstd(i32),
}

impl Default for Compression {
    /// zstd at level 3.
    fn default() -> Self {
        Compression::Zstd(3)
    }
}

const PLAIN: u8 = 0;
const COMPRESSED: u8 = 1;
const HEXADECIMAL: u8 = 2;
const UUID: u8 = 3;
const CODES: u8 = 4;

/// Byte strings, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteStrings {
    bytes: Vec<u8>,
    /// Where each string begins, and where the last one ends.
    bounds: Vec<u32>,
}

impl Default for ByteStrings {
    fn default() -> Self {
        ByteStrings { bytes: Vec::new(), bounds: vec![0] }
    }
}

impl ByteStrings {
    /// Returns an empty list with room for `strings` strings and for `bytes` bytes of them together.
    pub fn with_capacity(strings: usize, bytes: usize) -> ByteStrings {
        let mut bounds = Vec::with_capacity(strings + 1);
        bounds.push(0);
        ByteStrings { bytes: Vec::with_capacity(bytes), bounds }
    }

    /// Returns the number of bytes of all strings.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a string.
    ///
    /// # Panics
    /// If all strings together have more than [`CHUNK_BYTES_MAX`] bytes.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        assert!(self.bytes.len() <= CHUNK_BYTES_MAX, "too many bytes for a chunk");
        self.bounds.push(self.bytes.len() as u32);
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns true if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the string at `index`.
    pub fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.bounds[index] as usize..self.bounds[index + 1] as usize]
    }

    /// Returns the strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|index| self.get(index))
    }

    fn of_lengths(lengths: &Ints<'_>, bytes: Vec<u8>) -> Result<ByteStrings> {
        let mut bounds = Vec::with_capacity(lengths.len() + 1);
        bounds.push(0);
        let mut end = 0_usize;
        for length in lengths.to_vec() {
            let left = (bytes.len() - end) as i64;
            if !(0..=left).contains(&length) {
                return Err(Error("a string is longer than the bytes of all"));
            }
            end += length as usize;
            bounds.push(end as u32);
        }
        if end != bytes.len() {
            return Err(Error("strings do not have all their bytes"));
        }
        Ok(ByteStrings { bytes, bounds })
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for ByteStrings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut all = ByteStrings::default();
        strings.into_iter().for_each(|string| all.push(string.as_ref()));
        all
    }
}

/// The different strings of a column of a stripe, sorted by their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary(ByteStrings);

impl Dictionary {
    /// The most strings in a dictionary.
    pub const STRINGS_MAX: usize = 1 << 16;

    /// Returns a dictionary of the strings; `None` if too many of them differ for a dictionary to save bytes.
    pub fn of<'s>(strings: impl Iterator<Item = &'s [u8]>) -> Option<Dictionary> {
        Dictionary::with_codes(strings).map(|(dictionary, _)| dictionary)
    }

    /// Returns a dictionary of the strings, and the code of each of them; `None` if too many of them differ
    /// for a dictionary to save bytes.
    pub fn with_codes<'s>(
        strings: impl Iterator<Item = &'s [u8]>,
    ) -> Option<(Dictionary, Vec<u32>)> {
        /// The number of strings to see before giving up: values that alternate look all different at first.
        const TELLING: usize = 1 << 15;
        let mut seen = DistinctStrings::default();
        let mut numbers: Vec<u32> = Vec::with_capacity(strings.size_hint().0);
        for string in strings {
            numbers.push(seen.number(string));
            let (count, different) = (numbers.len(), seen.strings.len());
            if different > Self::STRINGS_MAX || (count >= TELLING && different > count / 2) {
                return None;
            }
        }
        if seen.strings.len() > numbers.len() / 2 {
            return None;
        }
        let mut order: Vec<u32> = (0..seen.strings.len() as u32).collect();
        order.sort_unstable_by_key(|number| seen.strings[*number as usize]);
        let mut codes = vec![0; order.len()];
        for (code, number) in (0..).zip(&order) {
            codes[*number as usize] = code;
        }
        numbers.iter_mut().for_each(|number| *number = codes[*number as usize]);
        let sorted = order.iter().map(|number| seen.strings[*number as usize]);
        Some((Dictionary(sorted.collect()), numbers))
    }

    /// Returns the strings: the code of a string is its position.
    pub fn strings(&self) -> &ByteStrings {
        &self.0
    }

    /// Returns the dictionary as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes_by(Compression::default())
    }

    /// Returns the dictionary as bytes with this compression.
    pub fn to_bytes_by(&self, compression: Compression) -> Vec<u8> {
        let mut out = Vec::new();
        put_unsigned(&mut out, self.0.len() as u64);
        write_whole(&self.0, compression, &mut out);
        out
    }

    /// Reads the bytes of a dictionary.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn read(bytes: &[u8]) -> Result<Dictionary> {
        let mut input = Cursor(bytes);
        let count = input.count(Self::STRINGS_MAX)?;
        let strings = match Strings::read(&mut input, count)?.0 {
            Form::Whole(strings) if input.0.is_empty() => strings,
            _ => return Err(Error("a dictionary has another form")),
        };
        let is_sorted = (1..strings.len()).all(|at| strings.get(at - 1) < strings.get(at));
        if is_sorted { Ok(Dictionary(strings)) } else { Err(Error("a dictionary is not sorted")) }
    }

    fn codes(&self, strings: &ByteStrings) -> Option<Vec<i64>> {
        let mut seen = DistinctStrings::default();
        for string in self.0.iter() {
            seen.number(string);
        }
        let code = |string| {
            let code = seen.number(string);
            ((code as usize) < self.0.len()).then_some(i64::from(code))
        };
        strings.iter().map(code).collect()
    }
}

/// Different strings, numbered as they come.
#[derive(Default)]
struct DistinctStrings<'s> {
    strings: Vec<&'s [u8]>,
    numbers: HashMap<&'s [u8], u32, foldhash::fast::RandomState>,
    /// The string that came last: equal strings mostly stand together.
    last: Option<(&'s [u8], u32)>,
}

impl<'s> DistinctStrings<'s> {
    /// Returns the number of a string.
    fn number(&mut self, string: &'s [u8]) -> u32 {
        if let Some((last, number)) = self.last
            && last == string
        {
            return number;
        }
        let number = *self.numbers.entry(string).or_insert_with(|| {
            self.strings.push(string);
            self.strings.len() as u32 - 1
        });
        self.last = Some((string, number));
        number
    }
}

/// The byte strings of a chunk.
#[derive(Clone, Debug)]
pub struct Strings<'a>(Form<'a>);

#[derive(Clone, Debug)]
enum Form<'a> {
    /// Decoded when the chunk was read.
    Whole(ByteStrings),
    Codes(Ints<'a>),
}

impl<'a> Strings<'a> {
    /// Appends strings: as codes if there is a dictionary that has them all.
    pub(crate) fn write(
        strings: &ByteStrings,
        of: Option<&Dictionary>,
        compression: Compression,
        out: &mut Vec<u8>,
    ) {
        match of.and_then(|dictionary| dictionary.codes(strings)) {
            Some(codes) => Strings::write_codes(&codes, out),
            None => write_whole(strings, compression, out),
        }
    }

    /// Appends strings by their codes.
    pub(crate) fn write_codes(codes: &[i64], out: &mut Vec<u8>) {
        out.push(CODES);
        Ints::write(codes, out);
    }

    pub(crate) fn read(input: &mut Cursor<'a>, count: usize) -> Result<Strings<'a>> {
        let strings = match input.byte()? {
            CODES => return Ok(Strings(Form::Codes(Ints::read(input, count)?))),
            UUID => input.take(count * 16)?.chunks_exact(16).map(uuid_text).collect(),
            encoding => {
                let lengths = Ints::read(input, count)?;
                let bytes = match encoding {
                    PLAIN => {
                        let total = input.count(CHUNK_BYTES_MAX)?;
                        input.take(total)?.to_vec()
                    }
                    COMPRESSED => {
                        let total = input.count(CHUNK_BYTES_MAX)?;
                        let compressed = input.count(CHUNK_BYTES_MAX)?;
                        decompress(input.take(compressed)?, total)?
                    }
                    HEXADECIMAL => {
                        let total = input.count(CHUNK_BYTES_MAX / 2)?;
                        digits_of(input.take(total)?)
                    }
                    _ => return Err(Error("there is no such encoding of strings")),
                };
                ByteStrings::of_lengths(&lengths, bytes)?
            }
        };
        Ok(Strings(Form::Whole(strings)))
    }

    /// Returns the codes of the strings in the dictionary of the column, if they are kept as codes.
    pub fn codes(&self) -> Option<&Ints<'a>> {
        match &self.0 {
            Form::Codes(codes) => Some(codes),
            Form::Whole(_) => None,
        }
    }

    /// Returns the strings themselves, if they are not kept as codes.
    pub fn whole(&self) -> Option<&ByteStrings> {
        match &self.0 {
            Form::Codes(_) => None,
            Form::Whole(strings) => Some(strings),
        }
    }

    /// Returns the string at `index`; the dictionary is that of the column, if it has one.
    ///
    /// # Errors
    /// If the dictionary does not have the code of the string.
    pub fn get<'s>(&'s self, index: usize, dictionary: Option<&'s Dictionary>) -> Result<&'s [u8]> {
        match &self.0 {
            Form::Whole(strings) => Ok(strings.get(index)),
            Form::Codes(codes) => {
                let code = usize::try_from(codes.get(index)).ok();
                let strings = dictionary.map(Dictionary::strings);
                let found = code.zip(strings).filter(|(code, strings)| *code < strings.len());
                let (code, strings) = found.ok_or(Error("a code is not in the dictionary"))?;
                Ok(strings.get(code))
            }
        }
    }
}

fn write_whole(strings: &ByteStrings, compression: Compression, out: &mut Vec<u8>) {
    if !strings.is_empty() && strings.iter().all(is_uuid) {
        out.push(UUID);
        let digits = |string: &[u8]| string.iter().copied().filter(|byte| *byte != b'-').collect();
        for string in strings.iter() {
            let digits: Vec<u8> = digits(string);
            put_digits(&digits, out);
        }
        return;
    }
    let lengths: Vec<i64> = strings.iter().map(|string| string.len() as i64).collect();
    let bytes = &strings.bytes;
    if !bytes.is_empty() && lengths.iter().all(|length| length % 2 == 0) && is_hexadecimal(bytes) {
        out.push(HEXADECIMAL);
        Ints::write(&lengths, out);
        put_unsigned(out, bytes.len() as u64 / 2);
        return put_digits(bytes, out);
    }
    let compressed = compress(bytes, compression);
    out.push(if compressed.is_some() { COMPRESSED } else { PLAIN });
    Ints::write(&lengths, out);
    put_unsigned(out, bytes.len() as u64);
    if let Some(compressed) = &compressed {
        put_unsigned(out, compressed.len() as u64);
    }
    out.extend_from_slice(compressed.as_deref().unwrap_or(bytes));
}

/// Returns the bytes compressed, if that saves at least an eighth of them.
fn compress(bytes: &[u8], compression: Compression) -> Option<Vec<u8>> {
    const BYTES_MIN: usize = 64;
    let Compression::Zstd(level) = compression else { return None };
    if bytes.len() < BYTES_MIN {
        return None;
    }
    let compressed = zstd::bulk::compress(bytes, level).ok()?;
    (compressed.len() <= bytes.len() - bytes.len() / 8).then_some(compressed)
}

fn decompress(compressed: &[u8], total: usize) -> Result<Vec<u8>> {
    // The frame says how long its content is. So damaged bytes do not reserve more than they have.
    let damaged = Error("compressed strings do not decompress");
    match zstd::zstd_safe::get_frame_content_size(compressed) {
        Ok(Some(said)) if said == total as u64 => {}
        _ => return Err(damaged),
    }
    let bytes = zstd::bulk::decompress(compressed, total).map_err(|_| damaged)?;
    if bytes.len() == total { Ok(bytes) } else { Err(damaged) }
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn is_hexadecimal(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| is_digit(*byte))
}

/// Where a UUID has its dashes.
const DASHES: [usize; 4] = [8, 13, 18, 23];

fn is_uuid(string: &[u8]) -> bool {
    let right = |(at, byte): (usize, &u8)| {
        if DASHES.contains(&at) { *byte == b'-' } else { is_digit(*byte) }
    };
    string.len() == 36 && string.iter().enumerate().all(right)
}

fn put_digits(digits: &[u8], out: &mut Vec<u8>) {
    let value = |digit: u8| if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
    out.extend(digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])));
}

fn digits_of(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let pair = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(pair).collect()
}

fn uuid_text(bytes: &[u8]) -> Vec<u8> {
    let mut text = digits_of(bytes);
    DASHES.iter().for_each(|at| text.insert(*at, b'-'));
    text
}

const _: () = assert!(CHUNK_ROWS_MAX.is_multiple_of(BLOCK_ROWS));
