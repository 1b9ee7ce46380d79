//! A part: the unit of compression and checksum in a segment file. Blocks and the guide are parts.
//!
//! ```text
//!   ┌──────────────┬─────────┬─────────────┬──────────────────────┐
//!   │ crc32c  u32  │ codec u8│ raw len u32 │ raw, zstd or LZ4     │
//!   └──────────────┴─────────┴─────────────┴──────────────────────┘
//!     over the salt of the file, the offset of the part, and all that follows
//!                 0 raw, 1 zstd; 2 and 3 the same of a packed block; 4 LZ4 (the block format, without its frame)
//! ```
//!
//! A reader decompresses LZ4 faster than zstd; a zstd part is smaller.
//!
//! Salt and offset go into the checksum so that a part that is whole but stands in the wrong file or
//! place is found too.

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};

use crate::error::StoreError;

/// Bytes before a part's own.
pub const HEADER: usize = 9;
const RAW: u8 = 0;
const ZSTD: u8 = 1;
const LZ4: u8 = 4;
/// Beside either: the bytes are a packed block ([`crate::pack`]).
const PACKED: u8 = 2;
/// No part is larger when decoded: a file that claims more is damaged.
const RAW_MAX: usize = 3 << 30;

thread_local! {
    /// The zstd contexts of this thread. To allocate and clear one takes as long as to compress a block.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn compress(raw: &[u8], level: i32) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => {
                compressor.set_compression_level(level)?;
                compressor
            }
            None => slot.insert(Compressor::new(level)?),
        };
        compressor.compress(raw)
    })
}

fn decompress(bytes: &[u8], raw_len: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(Decompressor::new()?),
        };
        decompressor.decompress(bytes, raw_len)
    })
}

/// How a part is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// By zstd, at a level.
    Zstd(i32),
    /// By LZ4.
    Lz4,
}

/// Appends `raw` to `out` as the part at `offset` of the file with `salt`, compressed if that makes it smaller.
pub fn encode(raw: &[u8], salt: u64, offset: u64, codec: Codec, out: &mut Vec<u8>) {
    let (number, packed) = match codec {
        Codec::Zstd(level) => (ZSTD, by_zstd(raw, level)),
        Codec::Lz4 => (LZ4, by_lz4(raw)),
    };
    encode_as(0, raw, (number, packed), (salt, offset), out);
}

/// Appends the bytes of a packed block, compressed by zstd at `level`.
pub fn encode_packed(raw: &[u8], salt: u64, offset: u64, level: i32, out: &mut Vec<u8>) {
    encode_as(PACKED, raw, (ZSTD, by_zstd(raw, level)), (salt, offset), out);
}

/// Returns the compressed bytes, if they are a sixteenth smaller.
fn by_zstd(raw: &[u8], level: i32) -> Option<Vec<u8>> {
    compress(raw, level).ok().filter(|packed| packed.len() + packed.len() / 16 < raw.len())
}

/// Returns the compressed bytes, if they are a quarter smaller: raw bytes are read still faster.
fn by_lz4(raw: &[u8]) -> Option<Vec<u8>> {
    Some(lz4_flex::block::compress(raw)).filter(|packed| packed.len() < raw.len() / 4 * 3)
}

/// True if the part holds a packed block.
pub fn is_packed(part: &[u8]) -> bool {
    part.get(4).is_some_and(|codec| codec & PACKED != 0)
}

fn encode_as(
    form: u8,
    raw: &[u8],
    (codec, packed): (u8, Option<Vec<u8>>),
    place: (u64, u64),
    out: &mut Vec<u8>,
) {
    match packed {
        Some(packed) => put(form | codec, raw.len(), &packed, place, out),
        None => put(form | RAW, raw.len(), raw, place, out),
    }
}

/// The same, without trying to compress it.
pub fn encode_raw(raw: &[u8], salt: u64, offset: u64, out: &mut Vec<u8>) {
    put(RAW, raw.len(), raw, (salt, offset), out);
}

fn put(codec: u8, raw_len: usize, bytes: &[u8], (salt, offset): (u64, u64), out: &mut Vec<u8>) {
    assert!(raw_len <= RAW_MAX, "a part larger than what is read back");
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.push(codec);
    out.extend_from_slice(&(raw_len as u32).to_le_bytes());
    out.extend_from_slice(bytes);
    let crc = checksum(salt, offset, &out[start + 4..]);
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
}

/// The bytes of a part as they were before [`encode`]; says which check fails.
pub fn decode(part: &[u8], salt: u64, offset: u64) -> Result<Vec<u8>, &'static str> {
    if part.len() < HEADER {
        return Err("a part is cut short");
    }
    let stored = u32::from_le_bytes([part[0], part[1], part[2], part[3]]);
    if stored != checksum(salt, offset, &part[4..]) && checks() {
        return Err("the checksum of a part does not match");
    }
    let raw_len = u32::from_le_bytes([part[5], part[6], part[7], part[8]]) as usize;
    let bytes = &part[HEADER..];
    match part[4] & !PACKED {
        RAW if bytes.len() == raw_len => Ok(bytes.to_vec()),
        ZSTD if raw_len <= RAW_MAX => match decompress(bytes, raw_len) {
            Ok(raw) if raw.len() == raw_len => Ok(raw),
            _ => Err("a part does not decompress"),
        },
        LZ4 if raw_len <= RAW_MAX => match lz4_flex::block::decompress(bytes, raw_len) {
            Ok(raw) if raw.len() == raw_len => Ok(raw),
            _ => Err("a part does not decompress"),
        },
        _ => Err("a part has an unknown codec or a wrong length"),
    }
}

fn checksum(salt: u64, offset: u64, bytes: &[u8]) -> u32 {
    let seed = crc32c::crc32c_append(crc32c::crc32c(&salt.to_le_bytes()), &offset.to_le_bytes());
    crc32c::crc32c_append(seed, bytes)
}

/// The error for a failed check of `file`.
pub fn corrupt(file: &str, offset: u64) -> impl FnOnce(&'static str) -> StoreError {
    let file = file.to_string();
    move |what| StoreError::Corrupt { file, offset, what }
}

#[cfg(not(test))]
#[inline(always)]
pub fn checks() -> bool {
    true
}

#[cfg(test)]
pub use switch::checks;

/// Lets a test switch checksums off on its own thread, to see that they are what finds damage.
#[cfg(test)]
pub mod switch {
    use std::cell::Cell;
    thread_local!(static OFF: Cell<bool> = const { Cell::new(false) });

    pub fn checks() -> bool {
        !OFF.get()
    }

    pub fn set_checks(on: bool) {
        OFF.set(!on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every flipped bit, a wrong place and a wrong file are found.
    #[test]
    fn finds_flips_and_misplaced_parts() {
        let (short, long) = (b"incompressible".to_vec(), vec![7; 1000]);
        let cases = [(short, Codec::Zstd(3)), (long.clone(), Codec::Zstd(3)), (long, Codec::Lz4)];
        for (raw, codec) in cases {
            let mut part = Vec::new();
            encode(&raw, 1, 100, codec, &mut part);
            assert_eq!(decode(&part, 1, 100), Ok(raw));
            assert!(decode(&part, 2, 100).is_err());
            assert!(decode(&part, 1, 101).is_err());
            for bit in 0..part.len() * 8 {
                let mut bad = part.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(&bad, 1, 100).is_err(), "bit {bit}");
            }
        }
    }

    /// Without checksums, LZ4 that was scribbled on is refused or gives other bytes of the same length; nothing panics.
    #[test]
    fn damaged_lz4_stays_harmless() {
        let raw: Vec<u8> = (0..2000_u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
        let mut part = Vec::new();
        encode(&raw, 1, 0, Codec::Lz4, &mut part);
        assert_eq!((part[4], decode(&part, 1, 0)), (LZ4, Ok(raw.clone())));
        switch::set_checks(false);
        for at in 0..part.len() * 8 {
            let mut bad = part.clone();
            bad[at / 8] ^= 1 << (at % 8);
            assert!(
                decode(&bad, 1, 0).is_ok_and(|found| found.len() == raw.len())
                    || decode(&bad, 1, 0).is_err()
            );
        }
        for end in HEADER..part.len() {
            assert!(decode(&part[..end], 1, 0).is_err(), "cut at {end}");
        }
        switch::set_checks(true);
    }
}
