//! Short texts, and the fast way to write many of them one behind another.
//!
//! ```text
//!   out   ...,{"key":"age","metadata":{"nodeKey":7},"value":42},0000000000000000000000000000
//!             |<-------------------- Line --------------------->|                          |
//!             |<--------------------------- LINE_BYTES ----------------------------------->|
//! ```
//! To append to a buffer is to read its length and to write it again, and the next append waits for that.
//! Where a node is described by a dozen texts of some bytes each, this is most of what it costs. A [`Line`]
//! makes room once and keeps the place in a register; each text is copied as a number of bytes that is
//! known when the program is compiled, and what was copied too much is written over by the next.

/// Bytes of a [`Text`] that are copied at once.
const AT_ONCE: usize = 32;
/// Room of a [`Line`]: two texts, two numbers and some words.
const LINE_BYTES: usize = 160;

/// Some bytes, and what stands behind them.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    bytes: &'a [u8],
    len: usize,
}

/// A text short enough to be copied at once.
#[derive(Clone, Copy)]
pub(crate) struct ShortText<'a> {
    bytes: &'a [u8; AT_ONCE],
    len: usize,
}

impl<'a> Text<'a> {
    /// The first `len` of some bytes.
    #[inline(always)]
    pub fn new(bytes: &'a [u8], len: usize) -> Text<'a> {
        Text { bytes, len }
    }

    /// The bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        &self.bytes[..self.len]
    }

    /// The same, if it is short and enough stands behind it.
    #[inline(always)]
    pub fn short(self) -> Option<ShortText<'a>> {
        let bytes = self.bytes.first_chunk().filter(|_| self.len <= AT_ONCE)?;
        Some(ShortText { bytes, len: self.len })
    }

    /// Appends it.
    #[inline(always)]
    pub fn put(self, out: &mut Vec<u8>) {
        match self.short() {
            Some(ShortText { bytes, len }) => {
                out.extend_from_slice(bytes);
                out.truncate(out.len() - AT_ONCE + len);
            }
            None => out.extend_from_slice(self.as_bytes()),
        }
    }
}

/// Room at the end of a buffer, and how much of it is written.
pub(crate) struct Line<'a> {
    out: &'a mut Vec<u8>,
    /// Where the next byte goes.
    end: usize,
}

impl<'a> Line<'a> {
    /// Makes room at the end of a buffer.
    #[inline(always)]
    pub fn begin(out: &'a mut Vec<u8>) -> Line<'a> {
        let end = out.len();
        out.extend_from_slice(&[0; LINE_BYTES]);
        Line { out, end }
    }

    /// Takes the room that was not needed off the buffer.
    #[inline(always)]
    pub fn end(self) {
        self.out.truncate(self.end);
    }

    /// Writes some bytes.
    #[inline(always)]
    pub fn put<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.out[self.end..self.end + N].copy_from_slice(bytes);
        self.end += N;
    }

    /// Writes a text.
    #[inline(always)]
    pub fn text(&mut self, text: ShortText<'_>) {
        self.put(text.bytes);
        self.end -= AT_ONCE - text.len;
    }

    /// Writes a number.
    #[inline(always)]
    pub fn number(&mut self, value: u64) {
        match u16::try_from(value) {
            Ok(value @ 0..10_000) => self.short_number(value),
            _ => self.end = long_number(self.out, self.end, value),
        }
    }

    #[inline(always)]
    fn short_number(&mut self, value: u16) {
        // The next write waits for the count, which therefore does not wait for the digits.
        let count = 1 + usize::from(value > 9) + usize::from(value > 99) + usize::from(value > 999);
        self.put(&(four_digits(value) >> (32 - 8 * count)).to_le_bytes());
        self.end -= 4 - count;
    }
}

/// Writes a number of five digits or more from `end` on; returns where it ends. A function of its own, and
/// not of a [`Line`], which would have to be in memory to be shown to it.
fn long_number(out: &mut Vec<u8>, end: usize, value: u64) -> usize {
    let mut line = Line { out, end };
    let mut divisor = 10_000_u64;
    while value / divisor >= 10_000 {
        divisor *= 10_000;
    }
    line.short_number((value / divisor) as u16);
    while divisor > 1 {
        divisor /= 10_000;
        line.put(&four_digits((value / divisor % 10_000) as u16).to_le_bytes());
    }
    line.end
}

/// The four digits of a number below 10,000, leading zeros included, the first in the lowest byte.
#[inline(always)]
fn four_digits(number: u16) -> u32 {
    // Two numbers of two digits become four of one, each in lanes of a word; the multiplications divide by
    // 100 and by 10, exactly so for numbers that small.
    let number = u32::from(number);
    let hundreds = (number * 10_486) >> 20;
    let twos = hundreds | (number - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f;
    (tens | (twos - 10 * tens) << 8) | 0x3030_3030
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Line<'_>)) -> String {
        let mut out = b"...".to_vec();
        let mut line = Line::begin(&mut out);
        write(&mut line);
        line.end();
        String::from_utf8(out).expect("text")
    }

    /// Numbers of one digit to twenty are written as ever.
    #[test]
    fn numbers() {
        let large = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, u64::MAX >> bit]);
        let powers = (0..20).flat_map(|power| [10u64.pow(power) - 1, 10u64.pow(power)]);
        for number in (0..20_000).chain(large).chain(powers) {
            assert_eq!(written(|line| line.number(number)), format!("...{number}"));
        }
    }

    /// Bytes that were copied in excess are written over, and none are left at the end.
    #[test]
    fn texts() {
        let heap = [b'a'; 64];
        for len in 0..=AT_ONCE {
            let text = Text::new(&heap, len).short().expect("enough stands behind it");
            let found = written(|line| {
                line.text(text);
                line.put(b":");
                line.text(text);
            });
            let expected = "a".repeat(len);
            assert_eq!(found, format!("...{expected}:{expected}"));
        }
        assert!(Text::new(&heap, AT_ONCE + 1).short().is_none());
        assert!(Text::new(&heap[..AT_ONCE - 1], 4).short().is_none());
    }
}
