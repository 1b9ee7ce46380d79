//! Packed blocks: the form that a block of groups has in a file that [`crate::Store::compact`] has written.
//!
//! ```text
//!   block     Put@10 | Delta@17 | Delta@23 | Image@23 | Delta@44          what readers and the cache know
//!                │         │          │         │          │
//!                v         v          v         -          v
//!   packed    texts | numbers | raw | frame                               what the file holds, compressed
//! ```
//!
//! Two things make a packed block small. The table of a value knows its form ([`Packer`]): it leaves out what
//! follows from the rest, and lays texts apart from numbers. And an image that follows from the entries
//! before it in the block is not written at all: [`expand`] merges it again.
//!
//! Packing costs time at each end. A compaction pays for it once; a reader pays when a block comes
//! from its file, and finds an ordinary block in the cache after that. Commits, flushes and merges in the
//! background never pack.
//!
//! # Invariants
//! * [`pack`] returns a packed block only where [`expand`] gives back the same bytes: it has tried.
//! * [`expand`] never makes more than [`EXPANDED_MAX`] bytes of entries.

use crate::block::{Block, BlockBuilder};
use crate::group::Tag;
use crate::key_prefixes::shared;
use crate::store::Resolve;
use crate::{Csn, Kind, MergeError, Table, TableId, key, varint};
use std::ops::Range;
use std::sync::Arc;

/// No block is packed that is larger than this, in bytes.
const PACKED_MAX: usize = 1 << 20;
/// The entries of a packed block have so many bytes at most. The images that are merged again may be larger than
/// they were: a later release may write images otherwise.
const EXPANDED_MAX: usize = 4 << 20;

/// The two streams that a packer writes: texts and numbers apart, because each kind compresses best among its own.
#[derive(Default)]
pub struct Packed {
    /// Names and strings.
    pub texts: Vec<u8>,
    /// Everything else.
    pub numbers: Vec<u8>,
}

/// The two streams of a [`Packed`] while a packer reads them: the bytes that are left.
pub struct Unpacking<'a> {
    /// As [`Packed::texts`].
    pub texts: &'a [u8],
    /// As [`Packed::numbers`].
    pub numbers: &'a [u8],
}

/// Packs the values of one table, block by block. The entries of a block come in order, and a packer may
/// remember what it has seen of them. Each block gets a new packer, at both ends.
pub trait Packer {
    /// Appends a smaller form of a value ([`Kind::Put`]) or a delta; false if it has none, and then
    /// the store keeps the bytes as they are.
    fn pack(&mut self, key: &[u8], kind: Kind, bytes: &[u8], out: &mut Packed) -> bool;

    /// Returns false if a compaction does not write a run anew for the sake of this table alone.
    fn is_worthwhile(&self) -> bool {
        true
    }

    /// Appends to `out` the bytes for which [`Packer::pack`] appended what comes next in `input`, and takes
    /// that off `input`. Fails if no such bytes exist, whatever `input` holds.
    fn unpack(
        &mut self,
        key: &[u8],
        kind: Kind,
        input: &mut Unpacking<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError>;
}

/// The form of an entry's bytes: bits 2 and 3 of its head in the frame, above the tag.
const RAW: u64 = 0;
const PACKED: u64 = 1;
const DERIVED: u64 = 2;

const MALFORMED: &str = "a packed block is malformed";
const LARGER: &str = "a packed block is larger than any is";

/// The table of the keys at hand, with what packs its values.
struct OfTable {
    id: TableId,
    table: Arc<dyn Table>,
    packer: Option<Box<dyn Packer>>,
}

impl OfTable {
    fn find<'t>(slot: &'t mut Option<OfTable>, id: TableId, resolve: &Resolve) -> &'t mut OfTable {
        if slot.as_ref().is_none_or(|known| known.id != id) {
            *slot = None;
        }
        slot.get_or_insert_with(|| {
            let table = resolve(id);
            OfTable { id, packer: table.packer(), table }
        })
    }
}

/// The state of one key as the entries so far have made it.
#[derive(Default)]
struct KeyState {
    /// The bytes of all entries.
    bytes: Vec<u8>,
    base: Option<(u64, Range<usize>)>,
    deltas: Vec<(u64, Range<usize>)>,
}

impl KeyState {
    fn clear(&mut self) {
        self.bytes.clear();
        self.base = None;
        self.deltas.clear();
    }

    /// Takes in the entry whose bytes are those from `start` on.
    fn add(&mut self, csn: u64, tag: Tag, start: usize) {
        let range = start..self.bytes.len();
        match tag {
            Tag::Delta => self.deltas.push((csn, range)),
            Tag::Delete => (self.base, self.deltas) = (None, Vec::new()),
            Tag::Put | Tag::Image => {
                self.base = Some((csn, range));
                self.deltas.clear();
            }
        }
    }

    /// The value after the last entry; `None` if these entries do not say it.
    fn image(&self, table: &dyn Table, key: &[u8]) -> Option<Vec<u8>> {
        let (base_csn, base) = self.base.as_ref()?;
        let mut deltas =
            self.deltas.iter().map(|(csn, range)| (Csn(*csn), &self.bytes[range.clone()]));
        let mut out = Vec::new();
        let base = &self.bytes[base.clone()];
        table.merge(key, Csn(*base_csn), base, &mut deltas, &mut out).ok()?;
        Some(out)
    }
}

fn kind_of(tag: Tag) -> Kind {
    if tag == Tag::Delta { Kind::Delta } else { Kind::Put }
}

/// Returns the packed form of a decoded block; `None` if there is none that expands to the same bytes.
pub fn pack(raw: &[u8], resolve: &Resolve) -> Option<Vec<u8>> {
    if raw.len() > PACKED_MAX {
        return None;
    }
    let block = Block::decode(raw.to_vec(), 0)?;
    let mut parts = Packed::default();
    let (mut rest, mut frame) = (Vec::new(), Vec::new());
    let (mut full, mut before) = (Vec::new(), Vec::new());
    let (mut of, mut state) = (None, KeyState::default());
    // The commit of the entry before.
    let mut csn = 0;
    for at in 0..block.count() {
        let place = block.place(at);
        block.key_into(at, &mut full);
        if full != before {
            state.clear();
        }
        put_key(&before, &full, &mut frame);
        before.clone_from(&full);
        let (id, key) = key::split(&full);
        let OfTable { table, packer, .. } = OfTable::find(&mut of, id, resolve);
        let group = block.group(&place);
        varint::put(&mut frame, group.entries().count() as u64);
        let mut first = true;
        for e in group.entries() {
            let step = e.csn.wrapping_sub(csn) as i64;
            match std::mem::take(&mut first) {
                true => varint::put(&mut frame, (step << 1 ^ step >> 63) as u64),
                false => varint::put(&mut frame, step as u64),
            }
            csn = e.csn;
            let derived = e.tag == Tag::Image
                && !state.deltas.is_empty()
                && state.image(&**table, key).is_some_and(|image| image == e.bytes);
            let mut packs = || {
                let kept = (parts.texts.len(), parts.numbers.len());
                let packs = packer.as_mut()?.pack(key, kind_of(e.tag), e.bytes, &mut parts);
                if !packs {
                    parts.texts.truncate(kept.0);
                    parts.numbers.truncate(kept.1);
                }
                packs.then_some(())
            };
            let form = match e.tag {
                Tag::Delete => RAW,
                _ if derived => DERIVED,
                _ if packs().is_some() => PACKED,
                _ => RAW,
            };
            varint::put(&mut frame, e.tag as u64 | form << 2);
            if form == RAW {
                varint::put(&mut frame, e.bytes.len() as u64);
                rest.extend_from_slice(e.bytes);
            }
            let start = state.bytes.len();
            state.bytes.extend_from_slice(e.bytes);
            state.add(e.csn, e.tag, start);
        }
    }
    let mut out = Vec::with_capacity(parts.texts.len() + parts.numbers.len() + frame.len() + 16);
    for len in [raw.len(), parts.texts.len(), parts.numbers.len(), rest.len()] {
        varint::put(&mut out, len as u64);
    }
    for part in [&parts.texts, &parts.numbers, &rest, &frame] {
        out.extend_from_slice(part);
    }
    (expand(&out, resolve).as_deref() == Ok(raw)).then_some(out)
}

/// Returns the block that was packed to these bytes; says what is wrong where there is none.
pub fn expand(packed: &[u8], resolve: &Resolve) -> Result<Vec<u8>, &'static str> {
    let mut pos = 0;
    let mut number = || varint::try_get(packed, &mut pos).ok_or(MALFORMED);
    let expanded = number()? as usize;
    if expanded > PACKED_MAX {
        return Err(LARGER);
    }
    let lens = [number()?, number()?, number()?];
    let mut cut = |len: u64| {
        let end = pos.checked_add(usize::try_from(len).ok()?)?;
        let part = packed.get(pos..end)?;
        pos = end;
        Some(part)
    };
    let [texts, numbers, rest] = lens.map(&mut cut);
    let mut input =
        Unpacking { texts: texts.ok_or(MALFORMED)?, numbers: numbers.ok_or(MALFORMED)? };
    let mut frame = Frame { bytes: &packed[pos..], rest: rest.ok_or(MALFORMED)? };
    let mut builder = BlockBuilder::with_capacity(expanded);
    let (mut full, mut before) = (Vec::new(), Vec::new());
    let (mut of, mut state, mut heads) = (None, KeyState::default(), Vec::new());
    state.bytes.reserve(expanded);
    // The commit of the entry before, and the bytes of all entries so far.
    let (mut csn, mut made) = (0u64, 0);
    while !frame.bytes.is_empty() {
        frame.key(&mut full)?;
        let goes_on = full == before;
        if !goes_on {
            state.clear();
            before.clone_from(&full);
        }
        let (id, key) = key::split(&full);
        let OfTable { table, packer, .. } = OfTable::find(&mut of, id, resolve);
        heads.clear();
        let begin = state.bytes.len();
        let mut first = csn;
        for at in 0..frame.number()? {
            let mut step = frame.number()?;
            if at == 0 {
                first = csn.wrapping_add(step >> 1 ^ (step & 1).wrapping_neg());
                if goes_on && first < csn {
                    return Err(MALFORMED);
                }
                (csn, step) = (first, first);
            } else {
                csn = csn.checked_add(step).ok_or(MALFORMED)?;
            }
            let head = frame.number()?;
            let tag = Tag::of(head);
            let start = state.bytes.len();
            match head >> 2 {
                RAW => {
                    let bytes = frame.raw()?;
                    state.bytes.extend_from_slice(bytes);
                }
                PACKED => {
                    let packer = packer.as_mut().ok_or(MALFORMED)?;
                    packer
                        .unpack(key, kind_of(tag), &mut input, &mut state.bytes)
                        .map_err(|_| MALFORMED)?;
                }
                DERIVED => {
                    let image = state.image(&**table, key).ok_or(MALFORMED)?;
                    state.bytes.extend_from_slice(&image);
                }
                _ => return Err(MALFORMED),
            }
            let len = state.bytes.len() - start;
            made += len;
            if made > EXPANDED_MAX {
                return Err(LARGER);
            }
            varint::put(&mut heads, step);
            varint::put(&mut heads, (len as u64) << 2 | tag as u64);
            state.add(csn, tag, start);
        }
        if heads.is_empty() {
            return Err(MALFORMED);
        }
        builder.push_bytes(&full, (first, csn), &heads, &state.bytes[begin..]);
    }
    let is_all = input.texts.is_empty() && input.numbers.is_empty() && frame.rest.is_empty();
    if builder.is_empty() || !is_all {
        return Err(MALFORMED);
    }
    let mut raw = Vec::with_capacity(expanded);
    builder.finish(&mut raw);
    Ok(raw)
}

/// Appends a key: 0 where it is the one before, 1 where it is that plus 1, or else 2 more than the bytes that
/// both begin with, and the rest.
fn put_key(before: &[u8], full: &[u8], frame: &mut Vec<u8>) {
    let same = shared(before, full);
    if before == full {
        frame.push(0);
    } else if is_next(before, full) {
        frame.push(1);
    } else {
        varint::put(frame, same as u64 + 2);
        varint::put(frame, (full.len() - same) as u64);
        frame.extend_from_slice(&full[same..]);
    }
}

/// True if the last bytes of two keys of one length are numbers of which one follows the other.
fn is_next(before: &[u8], full: &[u8]) -> bool {
    let mut next = before.to_vec();
    add_one(&mut next).is_some() && next == full
}

/// Adds 1 to the last byte, and to the byte before where that was the largest; `None` past the largest key.
fn add_one(key: &mut [u8]) -> Option<()> {
    let at = key.iter().rposition(|byte| *byte != u8::MAX)?;
    key[at] += 1;
    key[at + 1..].fill(0);
    Some(())
}

/// The frame, which lists the entries, and the bytes that no packer has packed.
struct Frame<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Frame<'a> {
    fn number(&mut self) -> Result<u64, &'static str> {
        let mut pos = 0;
        let number = varint::try_get(self.bytes, &mut pos).ok_or(MALFORMED)?;
        self.bytes = &self.bytes[pos..];
        Ok(number)
    }

    /// The full key of the next group, of which `full` holds the one before.
    fn key(&mut self, full: &mut Vec<u8>) -> Result<(), &'static str> {
        let same = match self.number()? {
            0 => return if full.is_empty() { Err(MALFORMED) } else { Ok(()) },
            1 => return add_one(full).ok_or(MALFORMED),
            same => (same - 2) as usize,
        };
        let rest = self.number()? as usize;
        if same > full.len()
            || rest > self.bytes.len()
            || same.saturating_add(rest) > key::TABLE_LEN + key::KEY_MAX
        {
            return Err(MALFORMED);
        }
        let (rest, bytes) = self.bytes.split_at(rest);
        self.bytes = bytes;
        let before = full.split_off(same);
        full.extend_from_slice(rest);
        let ascends = rest >= before.as_slice();
        if full.len() < key::TABLE_LEN || !ascends { Err(MALFORMED) } else { Ok(()) }
    }

    fn raw(&mut self) -> Result<&'a [u8], &'static str> {
        let len = usize::try_from(self.number()?).map_err(|_| MALFORMED)?;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(MALFORMED)?;
        self.rest = rest;
        Ok(bytes)
    }
}
