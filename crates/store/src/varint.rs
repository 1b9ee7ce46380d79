//! Whole numbers in as few bytes as they need (LEB128), readable from either end.
//!
//! ```text
//!   300 = 1010_1100 0000_0010      seven bits a byte, lowest first; the top bit says "more follows"
//! ```
//!
//! Only the last byte of a number has its top bit clear, so a row of numbers can also be walked
//! backwards: that is what lets the deltas of a version be visited newest first.

/// Appends `value`.
#[inline]
pub fn put(out: &mut impl Extend<u8>, value: u64) {
    if value < 0x80 {
        // One byte, as nearly always.
        out.extend(Some(value as u8));
        return;
    }
    let len = (70 - value.leading_zeros() as usize) / 7;
    out.extend((0..len).map(|i| {
        let more = if i + 1 < len { 0x80 } else { 0 };
        (value >> (7 * i)) as u8 & 0x7f | more
    }));
}

/// Reads the number at `pos` of bytes that were checked before (see [`try_get`]).
#[inline(always)]
pub fn get(bytes: &[u8], pos: &mut usize) -> u64 {
    let first = bytes[*pos];
    *pos += 1;
    if first < 0x80 { u64::from(first) } else { get_rest(bytes, pos, first) }
}

#[inline]
fn get_rest(bytes: &[u8], pos: &mut usize, first: u8) -> u64 {
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7;
    loop {
        let byte = bytes[*pos];
        *pos += 1;
        value |= u64::from(byte & 0x7f) << (shift & 63);
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

/// Reads the number that ends just before `end` of checked bytes, and moves `end` to its start.
#[inline]
pub fn get_back(bytes: &[u8], end: &mut usize) -> u64 {
    let mut value = u64::from(bytes[*end - 1]);
    *end -= 1;
    while *end > 0 && bytes[*end - 1] >= 0x80 {
        value = value << 7 | u64::from(bytes[*end - 1] & 0x7f);
        *end -= 1;
    }
    value
}

/// Reads the number at `pos` of unchecked bytes; `None` if it does not end or does
/// not fit in 64 bits.
#[inline(always)]
pub fn try_get(bytes: &[u8], pos: &mut usize) -> Option<u64> {
    match bytes.get(*pos)? {
        first @ ..0x80 => {
            *pos += 1;
            Some(u64::from(*first))
        }
        _ => try_get_long(bytes, pos),
    }
}

fn try_get_long(bytes: &[u8], pos: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    let mut shift = 0;
    loop {
        let byte = *bytes.get(*pos)?;
        *pos += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every length come back, from the front and from the back, and a cut or oversized
    /// number is refused.
    #[test]
    fn numbers_read_from_both_ends() {
        let mut numbers = vec![0, 1, 127, 128, 300, 1 << 20, u64::MAX - 1, u64::MAX];
        numbers.extend((0..64).map(|bit| 1u64 << bit));
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&n| put(&mut bytes, n));
        let (mut a, mut b) = (0, 0);
        for &n in &numbers {
            assert_eq!((get(&bytes, &mut a), try_get(&bytes, &mut b)), (n, Some(n)));
        }
        let mut end = bytes.len();
        for &n in numbers.iter().rev() {
            assert_eq!(get_back(&bytes, &mut end), n);
        }
        assert_eq!(end, 0);
        assert_eq!(try_get(&[0x80, 0x80], &mut 0), None);
        assert_eq!(try_get(&[0xff; 11], &mut 0), None);
    }
}
