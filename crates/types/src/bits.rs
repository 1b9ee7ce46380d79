//! Strings of bits: values of `bit(n)` and `bit varying(n)`.
//!
//! ```text
//!   101100111000     groups of seven bits     1011001  1100000
//!                    held                     1011001|1  1100000|0  00000101
//!                                                     more      end  bits of the last group
//! ```
//!
//! The held form is a string of bytes whose order is the order of the values: bit by bit, and of two
//! that begin alike the shorter one first. Each byte has seven bits and, as its lowest one, whether
//! more groups follow; a last byte counts the bits of the last group. A string without bits has no
//! bytes.

use interrupt::Pace;

use crate::packed::damaged;
use crate::{Datum, Error, Result, SqlState, bounded};

/// The most bits that a value has.
pub const BITS_MAX: usize = i32::MAX as usize - 7;

/// The bits that a byte of the held form has.
const GROUP: usize = 7;

/// A string of bits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bits {
    length: usize,
    /// The bits, the first one the highest of the first byte; those after the last are 0.
    bytes: Vec<u8>,
}

/// The error of a value of more than [`BITS_MAX`] bits.
#[cold]
fn too_long() -> Error {
    let message = format!("bit string length exceeds the maximum allowed ({BITS_MAX})");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

fn integer_out_of_range(name: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
}

fn substring_error() -> Error {
    Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}

impl Bits {
    /// So many bits, all 0.
    pub fn zeros(length: usize) -> Self {
        Self { length, bytes: vec![0; length.div_ceil(8)] }
    }

    /// The first `length` bits of `bytes`, which are as many as are needed.
    fn of_bytes(length: usize, mut bytes: Vec<u8>) -> Self {
        bytes.truncate(length.div_ceil(8));
        if let Some(last) = bytes.last_mut()
            && !length.is_multiple_of(8)
        {
            *last &= 0xff_u8 << (8 - length % 8);
        }
        Self { length, bytes }
    }

    /// Reads `101` or `b101`, or `x1f`, of which each digit is four bits.
    ///
    /// # Errors
    /// 22P02 for a character that is no digit, 54000 for more bits than a value has.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(digits) = text.strip_prefix(['x', 'X']) {
            return Self::parse_hex(digits);
        }
        let digits = text.strip_prefix(['b', 'B']).unwrap_or(text);
        if digits.len() > BITS_MAX {
            return Err(too_long());
        }
        let mut bits = Self::zeros(digits.len());
        for (at, digit) in digits.chars().enumerate() {
            match digit {
                '0' => {}
                '1' => bits.bytes[at / 8] |= 0x80 >> (at % 8),
                other => return Err(no_digit(other, "binary")),
            }
        }
        Ok(bits)
    }

    fn parse_hex(digits: &str) -> Result<Self> {
        if digits.len() > BITS_MAX / 4 {
            return Err(too_long());
        }
        let mut bits = Self::zeros(digits.len() * 4);
        for (at, c) in digits.chars().enumerate() {
            let digit = c.to_digit(16).ok_or_else(|| no_digit(c, "hexadecimal"))? as u8;
            bits.bytes[at / 2] |= if at % 2 == 0 { digit << 4 } else { digit };
        }
        Ok(bits)
    }

    /// Writes the text form.
    ///
    /// # Errors
    /// 54000 where the text would be too large, 57014 where the statement is to stop; `out` has a
    /// part of the text then.
    pub fn write(&self, out: &mut String) -> Result<()> {
        bounded::check(self.length)?;
        let mut pace = Pace::new();
        out.reserve(self.length);
        for at in 0..self.length {
            pace.step(1)?;
            out.push(if self.bit(at) { '1' } else { '0' });
        }
        Ok(())
    }

    /// The held form.
    pub fn to_held(&self) -> Vec<u8> {
        let groups = self.length.div_ceil(GROUP);
        let mut out = Vec::with_capacity(groups + 1);
        let (mut waiting, mut count) = (0_u32, 0);
        for byte in &self.bytes {
            waiting = waiting << 8 | u32::from(*byte);
            count += 8;
            while count >= GROUP && out.len() < groups {
                count -= GROUP;
                out.push(((waiting >> count) as u8) << 1 | 1);
            }
        }
        if out.len() < groups {
            out.push(((waiting << (GROUP - count)) as u8) << 1);
        }
        if let Some(last) = out.last_mut() {
            *last &= !1;
            out.push((self.length - GROUP * (groups - 1)) as u8);
        }
        out
    }

    /// The string that is held so; `None` if the bytes are none.
    pub fn from_held(held: &[u8]) -> Option<Self> {
        let Some((used, groups)) = held.split_last() else { return Some(Self::default()) };
        let used = usize::from(*used);
        let (last, _) = groups.split_last()?;
        if !(1..=GROUP).contains(&used) || last & 1 == 1 {
            return None;
        }
        let length = GROUP * (groups.len() - 1) + used;
        let mut bytes = Vec::with_capacity(length.div_ceil(8) + 1);
        let (mut waiting, mut count) = (0_u32, 0);
        for group in groups {
            waiting = waiting << GROUP | u32::from(group >> 1);
            count += GROUP;
            if count >= 8 {
                count -= 8;
                bytes.push((waiting >> count) as u8);
            }
        }
        if count > 0 {
            bytes.push((waiting << (8 - count)) as u8);
        }
        Some(Self::of_bytes(length, bytes))
    }

    /// As [`Bits::from_held`].
    ///
    /// # Errors
    /// XX001 where the bytes are none.
    pub fn held(held: &[u8]) -> Result<Self> {
        Self::from_held(held).ok_or_else(|| damaged("a string of bits is none"))
    }

    /// Appends the binary form.
    pub(crate) fn to_wire(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.length as i32).to_be_bytes());
        out.extend_from_slice(&self.bytes);
    }

    /// Reads the binary form, without the bytes that follow it.
    ///
    /// # Errors
    /// 22P03 for a length that is none, 08P01 where bytes are missing.
    pub(crate) fn from_wire(bytes: &mut &[u8]) -> Result<Self> {
        let missing =
            || Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
        let (length, rest) = bytes.split_first_chunk().ok_or_else(missing)?;
        let length = usize::try_from(i32::from_be_bytes(*length));
        let length = length.ok().filter(|length| *length <= BITS_MAX).ok_or_else(|| {
            let message = "invalid length in external bit string";
            Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
        })?;
        let (taken, rest) = rest.split_at_checked(length.div_ceil(8)).ok_or_else(missing)?;
        *bytes = rest;
        Ok(Self::of_bytes(length, taken.to_vec()))
    }

    /// How many bits there are.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The bits in bytes, the last one filled up with zeros.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bit(&self, at: usize) -> bool {
        self.bytes[at / 8] & 0x80 >> (at % 8) != 0
    }

    /// How many bits are 1.
    pub fn ones(&self) -> i64 {
        self.bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()
    }

    /// Every bit turned over.
    #[must_use]
    pub fn inverted(&self) -> Self {
        Self::of_bytes(self.length, self.bytes.iter().map(|byte| !byte).collect())
    }

    /// Both strings bit by bit; `word` names the operation.
    ///
    /// # Errors
    /// 22026 for strings of different lengths.
    pub fn combined(&self, other: &Self, word: &str, each: fn(u8, u8) -> u8) -> Result<Self> {
        if self.length != other.length {
            let message = format!("cannot {word} bit strings of different sizes");
            return Err(Error::new(SqlState::STRING_DATA_LENGTH_MISMATCH, message));
        }
        let bytes = self.bytes.iter().zip(&other.bytes).map(|(a, b)| each(*a, *b)).collect();
        Ok(Self { length: self.length, bytes })
    }

    /// The bits moved to the left by `by` places, or to the right where it is negative. As many
    /// bits as before.
    #[must_use]
    pub fn shifted_left(&self, by: i64) -> Self {
        let distance = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
        let mut moved = Self::zeros(self.length);
        if distance >= self.length {
            return moved;
        }
        if by >= 0 {
            moved.put(0, self, distance, self.length - distance);
        } else {
            moved.put(distance, self, 0, self.length - distance);
        }
        moved
    }

    /// Writes `count` bits of another string, from `start`, over those from `at`.
    fn put(&mut self, at: usize, from: &Self, start: usize, count: usize) {
        if at.is_multiple_of(8) && start.is_multiple_of(8) && at + count == self.length {
            let bytes = &from.bytes[start / 8..start / 8 + count.div_ceil(8)];
            let kept = std::mem::take(&mut self.bytes);
            let mut whole = kept[..at / 8].to_vec();
            whole.extend_from_slice(bytes);
            *self = Self::of_bytes(self.length, whole);
            return;
        }
        for bit in 0..count {
            self.set(at + bit, from.bit(start + bit));
        }
    }

    fn set(&mut self, at: usize, value: bool) {
        let mask = 0x80 >> (at % 8);
        if value {
            self.bytes[at / 8] |= mask;
        } else {
            self.bytes[at / 8] &= !mask;
        }
    }

    /// Both strings, one behind the other.
    ///
    /// # Errors
    /// 54000 for more bits than a value has.
    pub fn followed_by(&self, other: &Self) -> Result<Self> {
        let length = self.length + other.length;
        if length > BITS_MAX {
            return Err(too_long());
        }
        let mut bytes = self.bytes.clone();
        bytes.resize(length.div_ceil(8), 0);
        let mut whole = Self { length, bytes };
        whole.put(self.length, other, 0, other.length);
        Ok(whole)
    }

    /// `count` bits from the place `start`, the first being 1; without a count all that follow.
    ///
    /// # Errors
    /// 22011 for a negative count.
    pub fn substring(&self, start: i32, count: Option<i32>) -> Result<Self> {
        let end = self.length as i64 + 1;
        let last = match count {
            None => end,
            Some(count) if count < 0 => return Err(substring_error()),
            Some(count) => (i64::from(start) + i64::from(count)).min(end),
        };
        let first = i64::from(start).max(1);
        if first >= last {
            return Ok(Self::default());
        }
        let length = (last - first) as usize;
        let mut part = Self::zeros(length);
        part.put(0, self, first as usize - 1, length);
        Ok(part)
    }

    /// The string with other bits instead of `count` from the place `start`.
    ///
    /// # Errors
    /// 22011 for a place below 1, 22003 where the places go beyond an `integer`.
    pub fn overlaid(&self, with: &Self, start: i32, count: Option<i32>) -> Result<Self> {
        let count = count.unwrap_or(with.length as i32);
        if start <= 0 {
            return Err(substring_error());
        }
        let rest = start.checked_add(count).ok_or_else(|| integer_out_of_range("integer"))?;
        let front = self.substring(1, Some(start - 1))?;
        front.followed_by(with)?.followed_by(&self.substring(rest, None)?)
    }

    /// The place at which another string is found first, 0 where it is not.
    ///
    /// # Errors
    /// 57014 where the statement is to stop.
    pub fn position(&self, wanted: &Self) -> Result<i32> {
        if self.length == 0 || wanted.length > self.length {
            return Ok(0);
        }
        let mut pace = Pace::new();
        for start in 0..=self.length - wanted.length {
            let same = (0..wanted.length).take_while(|at| self.bit(start + at) == wanted.bit(*at));
            let count = same.count();
            if count == wanted.length {
                return Ok(start as i32 + 1);
            }
            pace.step(count + 1)?;
        }
        Ok(0)
    }

    fn check_place(&self, at: i32) -> Result<usize> {
        let place = usize::try_from(at).ok().filter(|place| *place < self.length);
        place.ok_or_else(|| {
            let last = self.length as i64 - 1;
            let message = format!("bit index {at} out of valid range (0..{last})");
            Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
        })
    }

    /// The bit at a place, the first being 0.
    ///
    /// # Errors
    /// 2202E for a place beyond the string.
    pub fn get(&self, at: i32) -> Result<i32> {
        Ok(self.bit(self.check_place(at)?).into())
    }

    /// The string with another bit at a place.
    ///
    /// # Errors
    /// 2202E for a place beyond the string, 22023 for what is no bit.
    pub fn with(&self, at: i32, value: i32) -> Result<Self> {
        let place = self.check_place(at)?;
        if !matches!(value, 0 | 1) {
            let message = "new bit must be 0 or 1";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let mut changed = self.clone();
        changed.set(place, value == 1);
        Ok(changed)
    }

    /// The string with exactly `length` bits: cut off, or filled up with zeros, at its end.
    #[must_use]
    pub fn resized(&self, length: usize) -> Self {
        let mut bytes = self.bytes.clone();
        bytes.resize(length.div_ceil(8), 0);
        Self::of_bytes(length, bytes)
    }

    /// The last `length` bits of a number, of whose sign there are as many as are wanted.
    pub fn of_number(number: i64, length: i32) -> Self {
        let length = usize::try_from(length).ok().filter(|length| (1..=BITS_MAX).contains(length));
        let mut bits = Self::zeros(length.unwrap_or(1));
        for back in 0..bits.length {
            let value = number >> back.min(63) & 1;
            bits.set(bits.length - 1 - back, value == 1);
        }
        bits
    }

    /// The number that up to `width` bits are.
    ///
    /// # Errors
    /// 22003 for more bits.
    pub fn number(&self, width: usize, name: &str) -> Result<u64> {
        if self.length > width {
            return Err(integer_out_of_range(name));
        }
        Ok((0..self.length).fold(0, |number, at| number << 1 | u64::from(self.bit(at))))
    }
}

#[cold]
fn no_digit(found: char, kind: &str) -> Error {
    let message = format!("\"{found}\" is not a valid {kind} digit");
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

impl From<Bits> for Datum {
    fn from(value: Bits) -> Self {
        Datum::bytea(value.to_held())
    }
}
