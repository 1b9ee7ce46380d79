//! Pages of the table of commits as a compacted store holds them ([`store::Packer`]).
//!
//! ```text
//!   page      ... | authored times: each as the difference to the time of its commit | ...
//!   packed    length | the page without authored times | unit | authored times: each as the difference to the one before
//! ```
//!
//! An import brings along times long before the commit, mostly whole seconds, and commits follow each other after
//! odd numbers of microseconds. So the difference to the authored time before takes fewer bytes than the
//! difference to the time of the commit. A page without authored times is not packed.

use crate::bytes::{Malformed, Reader, put_slice, put_varint, unzigzag, zigzag};
use crate::pages::{PAGE_COMMITS, Page};
use store::{Kind, MergeError, Packed, Packer, Unpacking};

/// Units of authored times, in microseconds. A page uses the largest that divides all its times.
const UNITS: [u64; 3] = [1_000_000, 1_000, 1];

/// Packs the pages.
pub(crate) struct PagePacker;

impl Packer for PagePacker {
    fn pack(&mut self, key: &[u8], kind: Kind, bytes: &[u8], out: &mut Packed) -> bool {
        kind == Kind::Put && pack(key, bytes, out).is_some()
    }

    fn unpack(
        &mut self,
        key: &[u8],
        _kind: Kind,
        input: &mut Unpacking<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        let mut reader = Reader::new(input.numbers);
        let unpacked = unpack(key, &mut reader, out);
        unpacked.map_err(MergeError::new)?;
        input.numbers = reader.rest();
        Ok(())
    }

    /// A packer of pages saves a few bytes for each imported commit.
    fn is_worthwhile(&self) -> bool {
        false
    }
}

fn number_of(key: &[u8]) -> Option<u64> {
    key.try_into().map(u64::from_be_bytes).ok()
}

fn pack(key: &[u8], bytes: &[u8], out: &mut Packed) -> Option<()> {
    let mut page = Page::decode(number_of(key)?, bytes).ok()?;
    let authored = page.take_authored();
    if authored.is_empty() {
        return None;
    }
    let mut rest = Vec::new();
    page.encode(&mut rest);
    let numbers = &mut out.numbers;
    put_slice(numbers, &rest);
    let fits = |unit: &u64| authored.iter().all(|(_, time_us)| time_us.is_multiple_of(*unit));
    let unit = UNITS.into_iter().find(fits)?;
    put_varint(numbers, unit);
    put_varint(numbers, authored.len() as u64);
    let (mut next, mut before) = (0, 0);
    for (position, time_us) in authored {
        let time = time_us / unit;
        put_varint(numbers, u64::from(position.checked_sub(next)?));
        put_varint(numbers, zigzag(time.wrapping_sub(before) as i64));
        (next, before) = (position + 1, time);
    }
    Some(())
}

fn unpack(key: &[u8], reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let number = number_of(key).ok_or(reader.bad("key is not 8 bytes"))?;
    let mut page = Page::decode(number, reader.slice()?)?;
    let unit = reader.varint()?;
    if !UNITS.contains(&unit) {
        return Err(reader.bad("unit of authored times that this version does not know"));
    }
    let count = reader.varint()?;
    if count > PAGE_COMMITS {
        return Err(reader.bad("more authored times than commits"));
    }
    let (mut authored, mut next, mut before) = (Vec::new(), 0u64, 0u64);
    for _ in 0..count {
        let position = next.saturating_add(reader.varint()?);
        if position >= page.times.len() as u64 {
            return Err(reader.bad("authored time out of place"));
        }
        before = before.wrapping_add(unzigzag(reader.varint()?) as u64);
        let time_us = before.checked_mul(unit).ok_or(reader.bad("time beyond 64 bits"))?;
        authored.push((position as u32, time_us));
        next = position + 1;
    }
    page.put_authored(authored);
    page.encode(out);
    Ok(())
}
