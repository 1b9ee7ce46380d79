//! The manifest: which segment files count, and up to which commit they cover the log.
//!
//! ```text
//!   magic 8 │ format u32 │ epoch u64 │ csn │ note │ next file number │ horizons │ erased │ current runs │ history runs │ crc32c u32
//!                                      varints and length-prefixed bytes; runs oldest first
//! ```
//!
//! It is one file, replaced whole (see [`crate::segment_store`]). It says of each segment all that its footer says,
//! so that opening a store reads this file and no other.
//!
//! # Invariants
//! * The checksum covers every byte before it; a manifest that does not verify is refused, never
//!   repaired.
//! * The order of runs is the order of their epochs.

use crate::erase::{Erasures, Span};
use crate::error::StoreError;
use crate::key::TABLE_LEN;
use crate::part::{self, corrupt};
use crate::segment::{Meta, Outline};
use crate::segment_store::Epoch;
use crate::varint;
use crate::{Checkpoint, Csn, TableId};

/// The oldest format that this program reads.
const FORMAT_OLDEST: u32 = 1;
/// From this format on a manifest may have erasures.
const FORMAT_ERASED: u32 = 2;
/// The format that this program writes: it has an epoch, and what the footers of segments say.
const FORMAT: u32 = 3;
/// Bytes up to the end of the epoch.
pub const HEAD: usize = 20;
const MAGIC: &[u8; 8] = b"awhenman";

/// A decoded manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// One more than that of the manifest before.
    pub epoch: Epoch,
    pub checkpoint: Checkpoint,
    /// The next number of a file.
    pub next: u64,
    /// From which commit on a table's past is whole, where retention has dropped some of it.
    pub horizons: Vec<(TableId, Csn)>,
    /// The erasures whose bytes are still in the files.
    pub erased: Erasures,
    pub current: Vec<Vec<Meta>>,
    pub history: Vec<Vec<Meta>>,
}

impl Manifest {
    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_as(FORMAT)
    }

    /// The bytes in a format. Earlier ones are written by tests alone.
    pub fn encode_as(&self, format: u32) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&format.to_le_bytes());
        if format == FORMAT {
            out.extend_from_slice(&self.epoch.0.to_le_bytes());
        }
        varint::put(&mut out, self.checkpoint.csn.0);
        put_bytes(&mut out, &self.checkpoint.note);
        varint::put(&mut out, self.next);
        varint::put(&mut out, self.horizons.len() as u64);
        for (table, csn) in &self.horizons {
            varint::put(&mut out, u64::from(table.0));
            varint::put(&mut out, csn.0);
        }
        if format >= FORMAT_ERASED {
            varint::put(&mut out, self.erased.iter().count() as u64);
            for (full, Span { from, to, by }) in self.erased.iter() {
                put_bytes(&mut out, full);
                [from, to, by].iter().for_each(|csn| varint::put(&mut out, *csn));
            }
        }
        for runs in [&self.current, &self.history] {
            varint::put(&mut out, runs.len() as u64);
            for run in runs {
                varint::put(&mut out, run.len() as u64);
                for meta in run {
                    put_meta(&mut out, meta);
                    if format == FORMAT {
                        put_outline(&mut out, meta.outline);
                    }
                }
            }
        }
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads the bytes of `file`.
    pub fn decode(bytes: &[u8], file: &str) -> Result<Manifest, StoreError> {
        let bad = |what| corrupt(file, 0)(what);
        let body = bytes
            .len()
            .checked_sub(4)
            .filter(|&n| n >= 12)
            .ok_or_else(|| bad("the manifest is cut short"))?;
        let u32_at = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        if &bytes[..8] != MAGIC {
            return Err(bad("the manifest has no magic number"));
        }
        if u32_at(body) != crc32c::crc32c(&bytes[..body]) && part::checks() {
            return Err(bad("the checksum of the manifest does not match"));
        }
        let format = u32_at(8);
        if !(FORMAT_OLDEST..=FORMAT).contains(&format) {
            return Err(StoreError::Version {
                file: file.to_string(),
                found: format,
                known: FORMAT,
            });
        }
        let start = if format < FORMAT { 12 } else { HEAD };
        let rest = bytes.get(start..body).ok_or_else(|| bad("the manifest is cut short"))?;
        let mut reader = Reader { bytes: rest, pos: 0, format };
        reader.manifest(epoch_of(bytes)).ok_or_else(|| bad("the manifest is malformed"))
    }
}

/// The epoch of the manifest that begins with `head`. Those of releases that knew no epochs have the first.
pub fn epoch_of(head: &[u8]) -> Epoch {
    let of_format = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    match (of_format(8), head.get(12..HEAD).and_then(|bytes| bytes.try_into().ok())) {
        (Some(FORMAT..), Some(epoch)) => Epoch(u64::from_le_bytes(epoch)),
        _ => Epoch::NONE.next(),
    }
}

/// Appends what a commit record says of some segments.
pub fn put_metas(out: &mut Vec<u8>, metas: &[Meta]) {
    varint::put(out, metas.len() as u64);
    metas.iter().for_each(|meta| put_meta(out, meta));
}

/// Reads back what [`put_metas`] wrote; `None` if the bytes are anything else.
pub fn get_metas(bytes: &[u8]) -> Option<Vec<Meta>> {
    let mut reader = Reader { bytes, pos: 0, format: FORMAT_OLDEST };
    let metas = reader.metas()?;
    (reader.pos == bytes.len()).then_some(metas)
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_meta(out: &mut Vec<u8>, meta: &Meta) {
    varint::put(out, meta.number);
    out.extend_from_slice(&meta.salt.to_le_bytes());
    for n in [
        u64::from(meta.bulk),
        meta.bytes,
        meta.shift,
        meta.keys,
        meta.entries,
        meta.csns.0,
        meta.csns.1,
        meta.first.1,
    ] {
        varint::put(out, n);
    }
    put_bytes(out, &meta.first.0);
    put_bytes(out, &meta.last_key);
}

/// Appends what the footer of a segment says beyond its [`Meta`].
fn put_outline(out: &mut Vec<u8>, outline: Option<Outline>) {
    let Some(Outline { format, is_packed, guide, blocks }) = outline else {
        return varint::put(out, 0);
    };
    let numbers = [u64::from(format), u64::from(is_packed), guide, u64::from(blocks)];
    numbers.iter().for_each(|n| varint::put(out, *n));
}

struct Reader<'a> {
    bytes: &'a [u8],
    pos: usize,
    format: u32,
}

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        varint::try_get(self.bytes, &mut self.pos)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.pos..self.pos.checked_add(len)?)?;
        self.pos += len;
        Some(taken)
    }

    fn block(&mut self) -> Option<Vec<u8>> {
        let len = usize::try_from(self.number()?).ok()?;
        Some(self.take(len)?.to_vec())
    }

    fn manifest(&mut self, epoch: Epoch) -> Option<Manifest> {
        let checkpoint = Checkpoint { csn: Csn(self.number()?), note: self.block()? };
        let next = self.number()?;
        let mut horizons = Vec::new();
        for _ in 0..self.number()? {
            horizons.push((TableId(u32::try_from(self.number()?).ok()?), Csn(self.number()?)));
        }
        let mut erased = Erasures::default();
        if self.format >= FORMAT_ERASED {
            for _ in 0..self.number()? {
                let full = self.block().filter(|full| full.len() >= TABLE_LEN)?;
                let (from, to, by) = (self.number()?, self.number()?, self.number()?);
                // A span is of commits that there were, and not empty.
                if from >= to || to > by || by > checkpoint.csn.0 {
                    return None;
                }
                erased.add(&full, Span { from, to, by });
            }
        }
        let current = self.runs()?;
        let history = self.runs()?;
        (self.pos == self.bytes.len()).then_some(Manifest {
            epoch,
            checkpoint,
            next,
            horizons,
            erased,
            current,
            history,
        })
    }

    fn runs(&mut self) -> Option<Vec<Vec<Meta>>> {
        let mut runs = Vec::new();
        for _ in 0..self.number()? {
            runs.push(self.metas()?);
        }
        Some(runs)
    }

    fn metas(&mut self) -> Option<Vec<Meta>> {
        let mut metas = Vec::new();
        for _ in 0..self.number()? {
            metas.push(self.meta()?);
        }
        Some(metas)
    }

    fn meta(&mut self) -> Option<Meta> {
        let number = self.number()?;
        let salt = u64::from_le_bytes(self.take(8)?.try_into().ok()?);
        let bulk = match self.number()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let (bytes, shift, keys, entries) =
            (self.number()?, self.number()?, self.number()?, self.number()?);
        let csns = (self.number()?, self.number()?);
        let first_csn = self.number()?;
        let first = (self.block()?, first_csn);
        Some(Meta {
            number,
            salt,
            bytes,
            shift,
            bulk,
            keys,
            entries,
            csns,
            first,
            last_key: self.block()?,
            outline: if self.format < FORMAT { None } else { self.outline()? },
        })
    }

    /// Reads the outline of a footer; the inner option is none if the manifest does not have it.
    fn outline(&mut self) -> Option<Option<Outline>> {
        let format = u32::try_from(self.number()?).ok()?;
        if format == 0 {
            return Some(None);
        }
        let is_packed = match self.number()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let (guide, blocks) = (self.number()?, u32::try_from(self.number()?).ok()?);
        Some(Some(Outline { format, is_packed, guide, blocks }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Manifest {
        let meta = |number| Meta {
            number,
            salt: number * 77,
            bytes: 4096,
            shift: 0,
            bulk: number == 2,
            keys: 3,
            entries: 9,
            csns: (4, 400),
            first: (b"\0\0\0\x01a".to_vec(), 4),
            last_key: b"\0\0\0\x02zzz".to_vec(),
            outline: (number > 1).then_some(Outline {
                format: 3,
                is_packed: true,
                guide: 3000,
                blocks: 2,
            }),
        };
        Manifest {
            epoch: Epoch(300),
            checkpoint: Checkpoint { csn: Csn(400), note: b"log 12345".to_vec() },
            next: 12,
            horizons: vec![(TableId(3), Csn(100))],
            erased: Erasures::default(),
            current: vec![vec![meta(1), meta(2)], vec![meta(9)]],
            history: vec![vec![], vec![meta(3)]],
        }
    }

    /// A manifest comes back as it was, and no flipped bit or cut goes unnoticed.
    #[test]
    fn round_trip_and_damage() {
        check(&sample());
        let mut erased = sample();
        erased.erased.add(b"\0\0\0\x01a", Span { from: 0, to: 40, by: 40 });
        check(&erased);
    }

    fn check(sample: &Manifest) {
        let bytes = sample.encode();
        assert_eq!(Manifest::decode(&bytes, "m").unwrap(), *sample);
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Manifest::decode(&bad, "m").is_err(), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(Manifest::decode(&bytes[..cut], "m").is_err(), "cut at {cut}");
        }
    }
}
