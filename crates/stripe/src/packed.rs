//! Blocks of integers in `W` bits each.
//!
//! A whole block of 1,024 integers has the FastLanes layout (Afroozeh, Boncz: The FastLanes Compression
//! Layout, VLDB 2023), in the narrowest lanes that hold `W` bits: 8, 16, 32 or 64. A shorter block has its
//! integers one after the other, the lowest bit first.

use fastlanes::BitPacking;

use crate::BLOCK_ROWS;

/// Returns the number of bits that an integer needs.
pub(crate) fn width_of(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// Returns the number of bytes of `count` integers in `width` bits each.
pub(crate) fn bytes_of(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends up to a block of integers, none of which needs more than `width` bits.
pub(crate) fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    debug_assert!(values.len() <= BLOCK_ROWS && values.iter().all(|one| width_of(*one) <= width));
    match width {
        0 => {}
        _ if values.len() < BLOCK_ROWS => pack_short(values, width, out),
        1..=8 => pack_lanes::<u8>(values, width, out),
        9..=16 => pack_lanes::<u16>(values, width, out),
        17..=32 => pack_lanes::<u32>(values, width, out),
        _ => pack_lanes::<u64>(values, width, out),
    }
}

/// Returns `count` integers, each plus `reference` (wrapping).
pub(crate) fn unpack(packed: &[u8], width: u32, reference: i64, count: usize) -> Vec<i64> {
    match width {
        0 => vec![reference; count],
        _ if count < BLOCK_ROWS => {
            let at = |index| reference.wrapping_add(short_at(packed, width, index) as i64);
            (0..count).map(at).collect()
        }
        1..=8 => unpack_lanes::<u8>(packed, width, reference),
        9..=16 => unpack_lanes::<u16>(packed, width, reference),
        17..=32 => unpack_lanes::<u32>(packed, width, reference),
        _ => unpack_lanes::<u64>(packed, width, reference),
    }
}

/// Unpacks a whole block of integers, each plus `reference`; `None` if one of them could need more than 32 bits.
pub(crate) fn unpack_small(packed: &[u8], width: u32, reference: i64) -> Option<Vec<u32>> {
    let reference = u32::try_from(reference).ok()?;
    let most = u64::MAX.checked_shr(64 - width).unwrap_or(0);
    u32::try_from(u64::from(reference) + most.min(u64::from(u32::MAX))).ok()?;
    Some(match width {
        0 => vec![reference; BLOCK_ROWS],
        1..=8 => unpack_small_lanes::<u8>(packed, width, reference),
        9..=16 => unpack_small_lanes::<u16>(packed, width, reference),
        17..=31 => unpack_small_lanes::<u32>(packed, width, reference),
        _ => return None,
    })
}

/// Sets to 0 the marks of the integers of a whole block that are outside of `low` to `low + span`. `low` and `span` are
/// distances from the reference, and their sum needs no more than `width` bits.
pub(crate) fn unmark(packed: &[u8], width: u32, low: u64, span: u64, marks: &mut [u8; BLOCK_ROWS]) {
    match width {
        ..=8 => unmark_lanes::<u8>(packed, width, low, span, marks),
        9..=16 => unmark_lanes::<u16>(packed, width, low, span, marks),
        17..=32 => unmark_lanes::<u32>(packed, width, low, span, marks),
        _ => unmark_lanes::<u64>(packed, width, low, span, marks),
    }
}

/// Returns a few integers of a whole block, by their places, each plus `reference` (wrapping).
///
/// # Panics
/// If a place is not below [`BLOCK_ROWS`].
pub(crate) fn unpack_few(packed: &[u8], width: u32, reference: i64, places: &[u16]) -> Vec<i64> {
    match width {
        0 => vec![reference; places.len()],
        1..=8 => few_of_lanes::<u8>(packed, width, reference, places),
        9..=16 => few_of_lanes::<u16>(packed, width, reference, places),
        17..=32 => few_of_lanes::<u32>(packed, width, reference, places),
        _ => few_of_lanes::<u64>(packed, width, reference, places),
    }
}

/// Unpacks one of `count` integers.
pub(crate) fn unpack_one(packed: &[u8], width: u32, count: usize, index: usize) -> u64 {
    match width {
        0 => 0,
        _ if count < BLOCK_ROWS => short_at(packed, width, index),
        1..=8 => one_of_lanes::<u8>(packed, width, index),
        9..=16 => one_of_lanes::<u16>(packed, width, index),
        17..=32 => one_of_lanes::<u32>(packed, width, index),
        _ => one_of_lanes::<u64>(packed, width, index),
    }
}

/// An unsigned integer that FastLanes packs.
trait Lane: BitPacking + Copy {
    const ZEROS: [Self; BLOCK_ROWS];
    fn narrow(value: u64) -> Self;
    fn widen(self) -> u64;
    /// True for a value from `low` to `low + span`.
    fn is_within(self, low: Self, span: Self) -> bool;
    fn put(self, out: &mut Vec<u8>);
    /// Reads as many lanes as `out` has places.
    fn fill(bytes: &[u8], out: &mut [Self]);
}

macro_rules! lane {
    ($($lane:ty),*) => {$(
        impl Lane for $lane {
            const ZEROS: [Self; BLOCK_ROWS] = [0; BLOCK_ROWS];
            #[inline(always)]
            fn narrow(value: u64) -> Self {
                value as $lane
            }
            #[inline(always)]
            fn widen(self) -> u64 {
                u64::from(self)
            }
            #[inline(always)]
            fn is_within(self, low: Self, span: Self) -> bool {
                self.wrapping_sub(low) <= span
            }
            #[inline(always)]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            #[inline(always)]
            fn fill(bytes: &[u8], out: &mut [Self]) {
                let (lanes, _) = bytes.as_chunks::<{ size_of::<$lane>() }>();
                for (slot, bytes) in out.iter_mut().zip(lanes) {
                    *slot = <$lane>::from_le_bytes(*bytes);
                }
            }
        }
    )*};
}

lane!(u8, u16, u32, u64);

fn pack_lanes<L: Lane>(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut block, mut packed) = (L::ZEROS, L::ZEROS);
    block.iter_mut().zip(values).for_each(|(slot, value)| *slot = L::narrow(*value));
    let packed = &mut packed[..BLOCK_ROWS * width as usize / L::T];
    // SAFETY: the input has 1,024 elements, and the output as many as `width` bits of each of them fill.
    unsafe { L::unchecked_pack(width as usize, &block, packed) };
    packed.iter().for_each(|lane| lane.put(out));
}

/// Calls `f` with the lanes of a packed block, of `width` bits for each of its 1,024 integers: with a copy of them where
/// they are not aligned.
#[inline(always)]
fn with_lanes<L: Lane, R>(packed: &[u8], width: u32, f: impl FnOnce(&[L]) -> R) -> R {
    let count = BLOCK_ROWS * width as usize / L::T;
    assert_eq!(packed.len(), count * size_of::<L>(), "the bytes of a whole block");
    // SAFETY: a lane is an unsigned integer, which any bytes are.
    if let ([], lanes, []) = unsafe { packed.align_to::<L>() }
        && cfg!(target_endian = "little")
    {
        return f(lanes);
    }
    let mut room = L::ZEROS;
    L::fill(packed, &mut room[..count]);
    f(&room[..count])
}

/// Returns the integers of a whole block.
#[inline(always)]
fn lanes<L: Lane>(packed: &[u8], width: u32) -> [L; BLOCK_ROWS] {
    let mut block = L::ZEROS;
    // SAFETY: `with_lanes` gives as many elements as `width` bits of 1,024 fill, and the output has 1,024.
    with_lanes(packed, width, |lanes| unsafe {
        L::unchecked_unpack(width as usize, lanes, &mut block);
    });
    block
}

fn unpack_lanes<L: Lane>(packed: &[u8], width: u32, reference: i64) -> Vec<i64> {
    let lanes = lanes::<L>(packed, width);
    lanes.iter().map(|lane| reference.wrapping_add(lane.widen() as i64)).collect()
}

fn unpack_small_lanes<L: Lane>(packed: &[u8], width: u32, reference: u32) -> Vec<u32> {
    let lanes = lanes::<L>(packed, width);
    lanes.iter().map(|lane| reference.wrapping_add(lane.widen() as u32)).collect()
}

fn unmark_lanes<L: Lane>(
    packed: &[u8],
    width: u32,
    low: u64,
    span: u64,
    marks: &mut [u8; BLOCK_ROWS],
) {
    let (low, span) = (L::narrow(low), L::narrow(span));
    for (mark, lane) in marks.iter_mut().zip(&lanes::<L>(packed, width)) {
        *mark &= u8::from(lane.is_within(low, span));
    }
}

fn one_of_lanes<L: Lane>(packed: &[u8], width: u32, index: usize) -> u64 {
    // SAFETY: `with_lanes` gives as many elements as `width` bits of 1,024 fill.
    with_lanes::<L, _>(packed, width, |lanes| unsafe {
        L::unchecked_unpack_single(width as usize, lanes, index)
    })
    .widen()
}

fn few_of_lanes<L: Lane>(packed: &[u8], width: u32, reference: i64, places: &[u16]) -> Vec<i64> {
    with_lanes::<L, _>(packed, width, |lanes| {
        let one = |place: &u16| {
            // SAFETY: `with_lanes` gives as many elements as `width` bits of 1,024 fill.
            let lane =
                unsafe { L::unchecked_unpack_single(width as usize, lanes, usize::from(*place)) };
            reference.wrapping_add(lane.widen() as i64)
        };
        places.iter().map(one).collect()
    })
}

fn pack_short(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut bits, mut filled) = (0_u128, 0);
    for value in values {
        bits |= u128::from(*value) << filled;
        filled += width;
        while filled >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(bits as u8);
    }
}

/// Returns one integer of a short block: it begins within a byte, and reaches over up to 9 bytes.
fn short_at(packed: &[u8], width: u32, index: usize) -> u64 {
    let bit = index * width as usize;
    let bytes = &packed[bit / 8..(bit + width as usize).div_ceil(8)];
    let mut room = [0; 16];
    room[..bytes.len()].copy_from_slice(bytes);
    let mask = u64::MAX >> (64 - width);
    (u128::from_le_bytes(room) >> (bit % 8)) as u64 & mask
}
