//! Numbers inside jsonb: exact, with the digits after the point that `numeric` would show.
//!
//! ```text
//!   written     kept as                                       printed
//!   7           INTEGER  07                                   7
//!   -129        INTEGER  7F FF                                -129
//!   1e2         INTEGER  64                                   100
//!   1.10        DECIMAL  02 6E          scale 2, 110          1.10
//!   1e300       LONG     00 00 2D 01 00 00 0A                 1000…0
//!
//!   INTEGER   mantissa                two's complement, little end first, as few bytes as hold
//!                                     the sign; none for 0
//!   DECIMAL   scale u8 ≥ 1, mantissa  the value is mantissa / 10^scale
//!   LONG      sign and scale u16      sign in the top bit
//!             top i32                 the value is ±0.d₁d₂d₃… × 10^top, d₁ not 0
//!             digits                  two in each byte (0 to 99), no zeros at the end
//! ```
//!
//! A number is LONG where its mantissa has more than 38 digits or its scale is above 255, so each
//! value of each scale has one form, and a form is never much longer than the text that it came
//! from: `1e131071` takes eight bytes, not 54,000.
//!
//! Order, hash and key are those of the value: all of them look at sign, `top` and digits.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use numeric::Numeric;

use super::error::JsonbError;
use super::form::{DECIMAL, INTEGER, LONG};

/// Most digits of a mantissa that is kept as an integer; all of them fit an `i128`.
const MANTISSA_DIGITS_MAX: i64 = 38;

/// The first mantissa that has more.
const MANTISSA_END: u128 = 10u128.pow(MANTISSA_DIGITS_MAX as u32);

/// Largest scale that has one byte.
const SHORT_SCALE_MAX: i64 = 255;

/// Bytes of a LONG before its digits.
const LONG_HEAD: usize = 6;

/// The bit of the sign beside the scale of a LONG.
const NEGATIVE: u16 = 0x8000;

/// A number of a jsonb value: cheap to copy, not yet decoded.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    tag: u8,
    payload: &'a [u8],
}

impl<'a> Number<'a> {
    pub(super) fn new(tag: u8, payload: &'a [u8]) -> Number<'a> {
        Number { tag, payload }
    }

    /// The number as `numeric`, with its scale.
    pub fn to_numeric(self) -> Numeric {
        let short = self.short().and_then(|(mantissa, scale)| Numeric::new(mantissa, scale).ok());
        short.or_else(|| self.to_string().parse().ok()).unwrap_or_default()
    }

    /// The number, where it is an integer that fits and shows no digits after the point.
    pub fn as_i64(self) -> Option<i64> {
        match self.short() {
            Some((mantissa, 0)) => i64::try_from(mantissa).ok(),
            _ => None,
        }
    }

    /// Mantissa and scale of a number that is not LONG.
    fn short(self) -> Option<(i128, u32)> {
        let (scale, mantissa) = match self.tag {
            INTEGER => (0, self.payload),
            DECIMAL => self.payload.split_first().map(|(&scale, rest)| (scale as u32, rest))?,
            _ => return None,
        };
        Some((read_mantissa(mantissa), scale))
    }

    /// Sign and scale, `top`, and digits of a LONG.
    fn long(self) -> (u16, i32, &'a [u8]) {
        let Some((head, digits)) = self.payload.split_at_checked(LONG_HEAD) else {
            return (0, 0, &[]);
        };
        let sign_scale = u16::from_le_bytes([head[0], head[1]]);
        (sign_scale, i32::from_le_bytes([head[2], head[3], head[4], head[5]]), digits)
    }

    /// Appends the digits as PostgreSQL prints them.
    pub(super) fn write_text(self, out: &mut Vec<u8>) {
        match (self.tag, self.payload) {
            (INTEGER, digits) if digits.len() <= 8 => return write_small(digits, 0, out),
            (DECIMAL, [scale, digits @ ..]) if digits.len() <= 8 && *scale < SMALL_DIGITS as u8 => {
                return write_small(digits, usize::from(*scale), out);
            }
            _ => {}
        }
        let Some((mantissa, scale)) = self.short() else { return self.write_long(out) };
        if mantissa < 0 {
            out.push(b'-');
        }
        let mut room = [b'0'; DIGITS_ROOM];
        let digits = write_digits(mantissa.unsigned_abs(), &mut room);
        let scale = scale as usize;
        if scale == 0 {
            return out.extend_from_slice(digits);
        }
        match digits.len().checked_sub(scale) {
            Some(whole) if whole > 0 => {
                out.extend_from_slice(&digits[..whole]);
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            }
            _ => {
                out.extend_from_slice(b"0.");
                out.extend(std::iter::repeat_n(b'0', scale - digits.len()));
                out.extend_from_slice(digits);
            }
        }
    }

    fn write_long(self, out: &mut Vec<u8>) {
        let (sign_scale, top, pairs) = self.long();
        let digit = |at: i64| match pairs.get((at / 2) as usize) {
            Some(pair) if at >= 0 => b'0' + if at % 2 == 0 { pair / 10 % 10 } else { pair % 10 },
            _ => b'0',
        };
        if sign_scale & NEGATIVE != 0 {
            out.push(b'-');
        }
        let (top, scale) = (i64::from(top), i64::from(sign_scale & !NEGATIVE));
        if top <= 0 {
            out.push(b'0');
        }
        out.extend((0..top.min(i64::from(numeric::INTEGER_DIGITS_MAX))).map(digit));
        if scale > 0 {
            out.push(b'.');
            out.extend((top..top + scale).map(digit));
        }
    }

    /// The number taken apart by value: the scale is not part of it.
    fn parts(self) -> Parts<'a> {
        let Some((mantissa, scale)) = self.short() else {
            let (sign_scale, top, digits) = self.long();
            let sign = match (digits.is_empty(), sign_scale & NEGATIVE != 0) {
                (true, _) => 0,
                (false, negative) => {
                    if negative {
                        -1
                    } else {
                        1
                    }
                }
            };
            return Parts { sign, top, digits: Digits::Kept(digits) };
        };
        let mut room = [b'0'; DIGITS_ROOM];
        let digits = write_digits(mantissa.unsigned_abs(), &mut room);
        if mantissa == 0 {
            return Parts { sign: 0, top: 0, digits: Digits::Kept(&[]) };
        }
        let top = digits.len() as i32 - scale as i32;
        let mut pairs = [0; PAIRS_ROOM];
        let len = pack(digits.iter().map(|digit| digit - b'0'), &mut pairs);
        let sign = if mantissa < 0 { -1 } else { 1 };
        Parts { sign, top, digits: Digits::Made(pairs, len) }
    }

    /// Appends bytes whose order is the order of the values, and of which none begins another.
    ///
    /// ```text
    ///   sign                  01 negative, 02 zero, 03 positive; for zero nothing follows
    ///   top + 2^23            3 bytes, big end first  ┐
    ///   each pair of digits   1 byte, + 1             │ inverted for negative numbers
    ///   end                   00                      ┘
    /// ```
    pub(super) fn write_key(self, out: &mut Vec<u8>) {
        let parts = self.parts();
        out.push((parts.sign + 2) as u8);
        if parts.sign == 0 {
            return;
        }
        let from = out.len();
        let top = parts.top.wrapping_add(1 << 23) as u32;
        out.extend_from_slice(&top.to_be_bytes()[1..]);
        out.extend(parts.digits.as_slice().iter().map(|pair| pair.wrapping_add(1)));
        out.push(0);
        if parts.sign < 0 {
            out[from..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Proves that the form is the one that the number has.
    pub(super) fn check(self) -> Result<(), JsonbError> {
        let is_shortest = match self.short() {
            Some((mantissa, scale)) => {
                let scale_bytes = (self.tag == DECIMAL) as usize;
                mantissa.unsigned_abs() < MANTISSA_END
                    && self.payload.len() == scale_bytes + mantissa_bytes(mantissa)
                    && (scale > 0) == (self.tag == DECIMAL)
            }
            None => self.is_shortest_long(),
        };
        let damaged = JsonbError::Damaged("a number that is not in its shortest form");
        if is_shortest { Ok(()) } else { Err(damaged) }
    }

    fn is_shortest_long(self) -> bool {
        let (sign_scale, top, pairs) = self.long();
        let (top, scale) = (i64::from(top), i64::from(sign_scale & !NEGATIVE));
        let digits = Vec::from_iter(pairs.iter().flat_map(|pair| [pair / 10, pair % 10]));
        let significant = digits.len() - (digits.last() == Some(&0)) as usize;
        if pairs.iter().any(|&pair| pair > 99)
            || digits.first() == Some(&0)
            || top > i64::from(numeric::INTEGER_DIGITS_MAX)
            || scale > i64::from(numeric::SCALE_MAX)
            || significant as i64 > top + scale
        {
            return false;
        }
        let mut again = Vec::new();
        push(sign_scale & NEGATIVE != 0, top, scale, &digits, &mut again);
        again.split_first() == Some((&self.tag, self.payload))
    }
}

impl std::fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.write_text(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

impl std::fmt::Debug for Number<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Ord for Number<'_> {
    /// By value: `1.0` equals `1.00`.
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Some((a, a_scale)), Some((b, b_scale))) = (self.short(), other.short())
            && a_scale == b_scale
        {
            return a.cmp(&b);
        }
        let (a, b) = (self.parts(), other.parts());
        a.sign.cmp(&b.sign).then_with(|| {
            let size = a.top.cmp(&b.top).then_with(|| a.digits.as_slice().cmp(b.digits.as_slice()));
            if a.sign < 0 { size.reverse() } else { size }
        })
    }
}

impl PartialOrd for Number<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number<'_> {}

impl Hash for Number<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let parts = self.parts();
        (parts.sign, parts.top, parts.digits.as_slice()).hash(state);
    }
}

/// A number by value: ±0.d₁d₂d₃… × 10^top.
struct Parts<'a> {
    /// -1, 0 or 1.
    sign: i8,
    top: i32,
    digits: Digits<'a>,
}

/// Pairs of digits, no zeros at the end.
enum Digits<'a> {
    Kept(&'a [u8]),
    Made([u8; PAIRS_ROOM], usize),
}

impl Digits<'_> {
    fn as_slice(&self) -> &[u8] {
        match self {
            Digits::Kept(pairs) => pairs,
            Digits::Made(pairs, len) => &pairs[..*len],
        }
    }
}

/// Room for the digits of any `u128`, and for pairs of them.
const DIGITS_ROOM: usize = 39;
const PAIRS_ROOM: usize = DIGITS_ROOM.div_ceil(2);

/// Writes the decimal digits of `value` to the end of `room`.
fn write_digits(value: u128, room: &mut [u8; DIGITS_ROOM]) -> &[u8] {
    /// The largest power of ten below 2^64, and its zeros.
    const PART: u128 = 10_000_000_000_000_000_000;
    const PART_DIGITS: usize = 19;
    let mut end = DIGITS_ROOM;
    let mut rest = value;
    // Divisions of 128 bits are slow: as few as can be.
    while rest >= PART {
        write_part((rest % PART) as u64, &mut room[..end]);
        end -= PART_DIGITS;
        rest /= PART;
    }
    let len = write_part(rest as u64, &mut room[..end]);
    // Zeros between the parts are in the room already.
    &room[end - len..]
}

/// Writes the digits of `value` to the end of `room`; returns how many there are, at least one.
#[inline]
fn write_part(value: u64, room: &mut [u8]) -> usize {
    let mut rest = value;
    for (len, digit) in room.iter_mut().rev().enumerate() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return len + 1;
        }
    }
    room.len()
}

/// Packs digits two in a byte and cuts the zeros at the end; returns how many bytes there are.
fn pack(mut digits: impl Iterator<Item = u8>, pairs: &mut [u8]) -> usize {
    let (mut len, mut used) = (0, 0);
    while let Some(high) = digits.next() {
        pairs[len] = high * 10 + digits.next().unwrap_or(0);
        len += 1;
        if pairs[len - 1] != 0 {
            used = len;
        }
    }
    used
}

/// Digits that any mantissa of eight bytes has at most, and more of a scale than it can have digits.
const SMALL_DIGITS: usize = 20;

/// Appends the digits of a mantissa of at most eight bytes with so many of them behind the point, fewer
/// than [`SMALL_DIGITS`]: nearly all numbers.
#[inline]
fn write_small(mantissa: &[u8], scale: usize, out: &mut Vec<u8>) {
    let sign = mantissa.last().map_or(0, |last| i64::from(*last as i8 >> 7));
    let mantissa = mantissa.iter().rev().fold(sign, |value, byte| value << 8 | i64::from(*byte));
    // Behind the digits is as much room again, for what is copied with them.
    let mut room = [b'0'; 2 * SMALL_DIGITS + 2];
    let (mut start, end) = (SMALL_DIGITS + 1, SMALL_DIGITS + 1);
    start -= write_part(mantissa.unsigned_abs(), &mut room[..end]);
    if scale > 0 {
        // At least one digit before the point.
        start = start.min(end - scale - 1);
        room.copy_within(start..end - scale, start - 1);
        room[end - scale - 1] = b'.';
        start -= 1;
    }
    if mantissa < 0 {
        out.push(b'-');
    }
    // As many bytes as are known when the program is compiled are copied without a call.
    if let Some(block) = room[start..].first_chunk::<{ SMALL_DIGITS + 1 }>() {
        out.extend_from_slice(block);
        out.truncate(out.len() + end - start - block.len());
    }
}

fn read_mantissa(bytes: &[u8]) -> i128 {
    let sign = bytes.last().map_or(0, |last| ((*last as i8) >> 7) as u8);
    let mut wide = [sign; size_of::<i128>()];
    let len = bytes.len().min(wide.len());
    wide[..len].copy_from_slice(&bytes[..len]);
    i128::from_le_bytes(wide)
}

/// Appends a number whose mantissa has at most 38 digits, tag first.
fn push_short(mantissa: i128, scale: u32, out: &mut Vec<u8>) {
    if scale == 0 {
        out.push(INTEGER);
    } else {
        out.extend([DECIMAL, scale as u8]);
    }
    out.extend_from_slice(&mantissa.to_le_bytes()[..mantissa_bytes(mantissa)]);
}

/// As few bytes as hold a mantissa and its sign; none for 0.
fn mantissa_bytes(mantissa: i128) -> usize {
    let bits = 128 - (mantissa ^ (mantissa >> 127)).leading_zeros() as usize + 1;
    if mantissa == 0 { 0 } else { bits.div_ceil(8) }
}

/// Appends ±0.d₁d₂d₃… × 10^top with the given scale, tag first. `digits` are 0 to 9, the first of
/// them not 0; there are none for zero.
fn push(negative: bool, top: i64, scale: i64, digits: &[u8], out: &mut Vec<u8>) {
    let mantissa_digits = if digits.is_empty() { 0 } else { top + scale };
    if mantissa_digits <= MANTISSA_DIGITS_MAX && scale <= SHORT_SCALE_MAX {
        let zeros = std::iter::repeat(&0);
        let all = digits.iter().chain(zeros).take(mantissa_digits.max(0) as usize);
        let mantissa = all.fold(0, |value: i128, &digit| value * 10 + i128::from(digit));
        return push_short(if negative { -mantissa } else { mantissa }, scale as u32, out);
    }
    let sign = if negative && !digits.is_empty() { NEGATIVE } else { 0 };
    let top = if digits.is_empty() { 0 } else { top as i32 };
    out.push(LONG);
    out.extend_from_slice(&(sign | scale as u16).to_le_bytes());
    out.extend_from_slice(&top.to_le_bytes());
    let from = out.len();
    out.resize(from + digits.len().div_ceil(2), 0);
    let len = pack(digits.iter().copied(), &mut out[from..]);
    out.truncate(from + len);
}

/// Appends an integer, tag first.
pub(super) fn push_i64(value: i64, out: &mut Vec<u8>) {
    push_short(i128::from(value), 0, out);
}

/// Appends a finite number, tag first; false for NaN and the infinities, which JSON cannot say.
pub(super) fn push_numeric(value: &Numeric, out: &mut Vec<u8>) -> bool {
    match value.as_small() {
        Some((mantissa, scale))
            if i64::from(scale) <= SHORT_SCALE_MAX && mantissa.unsigned_abs() < MANTISSA_END =>
        {
            push_short(mantissa, scale, out);
            true
        }
        _ => value.is_finite() && push_text(value.to_string().as_bytes(), out).is_ok(),
    }
}

/// Appends a number as JSON writes it, tag first.
///
/// # Errors
/// [`JsonbError::NumberOverflow`] if `numeric` could not hold it, [`JsonbError::Damaged`] for characters that no number has.
pub(super) fn push_text(text: &[u8], out: &mut Vec<u8>) -> Result<(), JsonbError> {
    let negative = text.first() == Some(&b'-');
    let unsigned = &text[negative as usize..];
    if let Some((mantissa, scale)) = read_plain(unsigned) {
        let mantissa = if negative { -mantissa } else { mantissa };
        push_short(i128::from(mantissa), scale, out);
        return Ok(());
    }
    let e = unsigned.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = unsigned.split_at(e.unwrap_or(unsigned.len()));
    let is_sound = mantissa.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.'))
        && exponent.iter().skip(1).all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-'));
    if mantissa.is_empty() || !is_sound {
        return Err(JsonbError::Damaged("a number with characters that no number has"));
    }
    let exponent = read_exponent(exponent).ok_or(JsonbError::NumberOverflow)?;
    let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
    let fraction = mantissa.len().saturating_sub(point + 1);
    let scale = (fraction as i64 - exponent).max(0);
    let all = mantissa.iter().filter(|&&byte| byte != b'.').map(|digit| digit - b'0');
    let zeros = all.clone().take_while(|&digit| digit == 0).count();
    let mut digits = Vec::from_iter(all.skip(zeros));
    digits.truncate(digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1));
    let top = point as i64 - zeros as i64 + exponent;
    let top = if digits.is_empty() { 0 } else { top };
    if top > i64::from(numeric::INTEGER_DIGITS_MAX) || scale > i64::from(numeric::SCALE_MAX) {
        return Err(JsonbError::NumberOverflow);
    }
    push(negative, top, scale, &digits, out);
    Ok(())
}

/// True if a canonical text of a number is for certain what `jsonb` makes of it: it keeps all digits
/// but knows neither exponents nor the sign of zero.
#[inline]
pub(super) fn is_as_written(text: &[u8]) -> bool {
    /// Far below every limit.
    const BYTES_MAX: usize = 1_000;
    let (is_plain, is_zero) = text.iter().fold((true, true), |(plain, zero), byte| {
        let is_plain = matches!(byte, b'0'..=b'9' | b'.' | b'-');
        (plain & is_plain, zero & !matches!(byte, b'1'..=b'9'))
    });
    text.len() <= BYTES_MAX && is_plain && (text.first() != Some(&b'-') || !is_zero)
}

/// Mantissa and scale of a number of up to 18 characters without an exponent: nearly all of them.
#[inline]
fn read_plain(text: &[u8]) -> Option<(i64, u32)> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    let (mut mantissa, mut point) = (0i64, text.len());
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => mantissa = mantissa * 10 + i64::from(byte - b'0'),
            b'.' => point = at + 1,
            _ => return None,
        }
    }
    Some((mantissa, (text.len() - point) as u32))
}

/// The value of an exponent with its `e`; 0 for none. None if it is beyond every limit.
fn read_exponent(text: &[u8]) -> Option<i64> {
    /// PostgreSQL refuses exponents from here on even where the mantissa is zero.
    const LIMIT: i64 = i32::MAX as i64 / 2;
    let value = text.iter().filter(|byte| byte.is_ascii_digit()).fold(0i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(LIMIT)
    });
    (value < LIMIT).then_some(if text.get(1) == Some(&b'-') { -value } else { value })
}
