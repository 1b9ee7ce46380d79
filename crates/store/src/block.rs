//! A block: groups of versions in the order of (key, first commit), the unit of reading and caching.
//!
//! ```text
//!   ┌────────┬────────┬─────────────────────────────────────┬─────────────────────┬───────┐
//!   │ u16 len│ prefix │ group 0 │ group 1 │ ...             │ u32 offset x count  │ u32   │
//!   │        │        │ suffix len, suffix, heads len, heads, body                │ count │
//!   └────────┴────────┴─────────────────────────────────────┴─────────────────────┴───────┘
//!      shared by all keys                                     the directory
//! ```
//!
//! Every key of a block begins with the same prefix (the keys are sorted, so the first and the last
//! tell it), and the directory makes (key, commit) a binary search. A block holds several groups of
//! one key where they fit: their images repeat each other, and zstd keeps the first of them only.
//!
//! # Invariants
//! * Groups ascend by (key, first commit); two groups of one key may share their first commit.
//! * [`Block::decode`] checks all positions, so that nothing after it can read out of bounds, whatever
//!   a file holds.

use crate::group::{Found, Group, GroupRef, Tag, slice};
use crate::key_prefixes::{KeyPrefixes, shared};
use crate::varint;
use std::any::Any;
use std::cmp::Ordering;
use std::hint::black_box;
use std::sync::OnceLock;

/// So many groups are touched together, before the first of them is read.
const TOUCHED: u32 = 16;

/// A decoded block.
pub struct Block {
    bytes: Vec<u8>,
    /// The prefixes of the suffixes, made when a key is first sought: a scan seeks none.
    key_prefixes: OnceLock<KeyPrefixes>,
    /// The values of the groups if each is one whole value, found when a scan first asks.
    values: OnceLock<Option<WholeValues>>,
    /// The value that a reader has derived from the groups and left here.
    derived: OnceLock<Box<dyn Any + Send + Sync>>,
    prefix: (u32, u32),
    directory: u32,
    count: u32,
    shift: u64,
}

/// The values of a block in which each group is one whole value.
struct WholeValues {
    /// Where they begin. Each ends with its group.
    starts: Box<[u32]>,
    /// The newest commit of them.
    newest: u64,
}

/// Where a group lies in its block.
#[derive(Clone, Copy, Debug)]
pub struct GroupSpan {
    pub suffix: (u32, u32),
    pub heads: (u32, u32),
    pub body: (u32, u32),
}

impl Block {
    /// Takes the bytes of a block apart; `None` if they are no block.
    pub fn decode(bytes: Vec<u8>, shift: u64) -> Option<Block> {
        let total = bytes.len();
        if total < 6 || total > u32::MAX as usize {
            return None;
        }
        let count = u32::from_le_bytes(bytes[total - 4..].try_into().ok()?);
        let directory = (total - 4).checked_sub((count as usize).checked_mul(4)?)?;
        let prefix_len = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        if count == 0 || 2 + prefix_len > directory {
            return None;
        }
        let block = Block {
            key_prefixes: OnceLock::new(),
            values: OnceLock::new(),
            derived: OnceLock::new(),
            prefix: (2, 2 + prefix_len as u32),
            directory: directory as u32,
            count,
            shift,
            bytes,
        };
        block.check().then_some(block)
    }

    #[inline]
    fn key_prefixes(&self) -> &KeyPrefixes {
        self.key_prefixes.get_or_init(|| {
            KeyPrefixes::of_rests(self.count as usize, |at| self.suffix(&self.place(at as u32)))
        })
    }

    /// The same block, with another commit that its entries stand upon.
    #[must_use]
    pub fn shifted(self, shift: u64) -> Block {
        Block { shift, values: OnceLock::new(), derived: OnceLock::new(), ..self }
    }

    fn check(&self) -> bool {
        let mut start = self.prefix.1;
        for (at, end) in self.offsets().zip(self.ends()) {
            let lies = at == start && start <= end && end <= self.directory;
            if !lies || self.check_group(start, end).is_none() {
                return false;
            }
            start = end;
        }
        start == self.directory
    }

    /// Returns where the groups begin, in order.
    fn offsets(&self) -> impl Iterator<Item = u32> {
        let directory = &self.bytes[self.directory as usize..][..self.count as usize * 4];
        directory.as_chunks().0.iter().map(|offset| u32::from_le_bytes(*offset))
    }

    /// Returns where the groups end, in order.
    fn ends(&self) -> impl Iterator<Item = u32> {
        self.offsets().skip(1).chain([self.directory])
    }

    fn check_group(&self, start: u32, end: u32) -> Option<()> {
        let bytes = &self.bytes[..end as usize];
        let mut pos = start as usize;
        let suffix = varint::try_get(bytes, &mut pos)? as usize;
        pos = pos.checked_add(suffix).filter(|&p| p <= bytes.len())?;
        let heads = varint::try_get(bytes, &mut pos)? as usize;
        let body = pos.checked_add(heads).filter(|&p| p <= bytes.len())?;
        GroupRef { heads: &bytes[pos..body], body: &bytes[body..], shift: self.shift }
            .check()
            .map(|_| ())
    }

    #[inline]
    fn offset(&self, i: u32) -> u32 {
        let at = (self.directory + 4 * i) as usize;
        u32::from_le_bytes([
            self.bytes[at],
            self.bytes[at + 1],
            self.bytes[at + 2],
            self.bytes[at + 3],
        ])
    }

    #[inline]
    fn end(&self, i: u32) -> u32 {
        if i + 1 < self.count { self.offset(i + 1) } else { self.directory }
    }

    /// Groups in the block; at least one.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Bytes held in memory.
    pub fn size(&self) -> usize {
        self.bytes.len() + KeyPrefixes::size_of(self.count as usize) + size_of::<Block>()
    }

    /// The bytes that [`GroupSpan`] points into.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The beginning that all keys share.
    #[inline]
    pub fn prefix(&self) -> &[u8] {
        slice(&self.bytes, self.prefix)
    }

    /// Where group `i` lies.
    #[inline]
    pub fn place(&self, i: u32) -> GroupSpan {
        let mut pos = self.offset(i) as usize;
        let suffix_len = varint::get(&self.bytes, &mut pos) as u32;
        let suffix = (pos as u32, pos as u32 + suffix_len);
        pos += suffix_len as usize;
        let heads_len = varint::get(&self.bytes, &mut pos) as u32;
        let heads = (pos as u32, pos as u32 + heads_len);
        GroupSpan { suffix, heads, body: (heads.1, self.end(i)) }
    }

    /// Where a reader leaves what it derives from the groups.
    pub fn derived(&self) -> &OnceLock<Box<dyn Any + Send + Sync>> {
        &self.derived
    }

    /// Where the values lie, in order, if each group is one whole value and [`Block::is_whole_at`] has found that out.
    pub fn value_spans(&self) -> Option<impl ExactSizeIterator<Item = (u32, u32)>> {
        let values = self.values.get()?.as_ref()?;
        let starts = &values.starts[..self.count as usize];
        Some((0..self.count as usize).map(|at| (starts[at], self.end(at as u32))))
    }

    /// Returns true if each group is one whole value, written at or below `at`, and the block has found that out. It keeps the
    /// answer, for which it grows: `grow` makes room for so many bytes, or returns false. Two threads that ask at the same
    /// moment both make room, and the block counts as larger than it is until it leaves the cache.
    pub fn is_whole_at(&self, at: u64, grow: impl FnOnce(usize) -> bool) -> bool {
        let may_ask = self.values.get().is_some() || grow(self.count as usize * size_of::<u32>());
        may_ask && self.whole_values().is_some_and(|values| values.newest <= at)
    }

    fn whole_values(&self) -> Option<&WholeValues> {
        let values = self.values.get_or_init(|| {
            let (mut starts, mut newest) = (Vec::with_capacity(self.count as usize), 0);
            self.walk_values(|_, (start, _), csn| {
                starts.push(start);
                newest = newest.max(csn);
            });
            let are_all = starts.len() == self.count as usize;
            are_all.then(|| WholeValues { starts: starts.into(), newest })
        });
        values.as_ref()
    }

    /// Calls `f` with the number of each group that is one whole value, written at or below `at`, and where the value
    /// begins and ends.
    pub fn values_at(&self, at: u64, mut f: impl FnMut(u32, (u32, u32))) {
        self.walk_values(|number, span, csn| {
            if csn <= at {
                f(number, span);
            }
        });
    }

    /// Calls `f` with the number of each group that is one whole value, where the value begins and ends, and its commit.
    #[inline]
    fn walk_values(&self, mut f: impl FnMut(u32, (u32, u32), u64)) {
        let bytes = &self.bytes[..self.directory as usize];
        let mut pos = self.prefix.1 as usize;
        for (number, end) in (0..).zip(self.ends()) {
            if number % TOUCHED == 0 {
                // A scan of a large table finds no group in the cache of the processor. None of these reads waits for
                // another one.
                let ahead = self.offsets().skip(number as usize).take(TOUCHED as usize);
                black_box(ahead.fold(0, |sum, at| sum ^ bytes[at as usize]));
            }
            let suffix = varint::get(bytes, &mut pos) as usize;
            pos += suffix;
            let heads = varint::get(bytes, &mut pos) as usize;
            let body = pos + heads;
            let csn = self.shift + varint::get(bytes, &mut pos);
            let head = varint::get(bytes, &mut pos);
            let is_value = matches!(Tag::of(head), Tag::Put | Tag::Image);
            if is_value && pos == body {
                f(number, (body as u32, end), csn);
            }
            pos = end as usize;
        }
    }

    /// The group at a place.
    #[inline]
    pub fn group(&self, place: &GroupSpan) -> GroupRef<'_> {
        GroupRef {
            heads: slice(&self.bytes, place.heads),
            body: slice(&self.bytes, place.body),
            shift: self.shift,
        }
    }

    /// Returns the bytes that follow the prefix in the key of a place.
    #[inline]
    pub fn suffix(&self, place: &GroupSpan) -> &[u8] {
        slice(&self.bytes, place.suffix)
    }

    /// Writes the key of group `i` to `out`.
    pub fn key_into(&self, i: u32, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.prefix());
        out.extend_from_slice(self.suffix(&self.place(i)));
    }

    /// How `key` compares with the prefix: inside it (with what follows), or wholly before or after.
    #[inline]
    fn enter<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], Ordering> {
        let prefix = self.prefix();
        match key.strip_prefix(prefix) {
            Some(rest) => Ok(rest),
            None => Err(key.cmp(prefix)),
        }
    }

    /// The number of groups that lie before (key, `from`): smaller keys, and groups of `key` that
    /// begin below `from`.
    #[inline]
    pub fn before(&self, key: &[u8], from: u64) -> u32 {
        let rest = match self.enter(key) {
            Ok(rest) => rest,
            Err(Ordering::Less) => return 0,
            Err(_) => return self.count,
        };
        let compare = |at: usize| {
            let place = self.place(at as u32);
            let order = self.suffix(&place).cmp(rest);
            order.then_with(|| self.group(&place).first_csn().cmp(&from))
        };
        self.key_prefixes().before(rest, || &[], compare) as u32
    }

    /// True if the key of `place` is `key`.
    #[inline]
    pub fn is_key(&self, place: &GroupSpan, key: &[u8]) -> bool {
        self.enter(key).is_ok_and(|rest| rest == self.suffix(place))
    }

    /// The state of `key` at `at`, where a group of it here begins at or below that.
    #[inline]
    pub fn find(&self, key: &[u8], at: u64) -> Option<(GroupSpan, Found)> {
        let place = self.place(self.before(key, at.saturating_add(1)).checked_sub(1)?);
        if !self.is_key(&place, key) {
            return None;
        }
        Some((place, self.group(&place).find(at)?))
    }
}

/// Collects groups until their block is full.
#[derive(Default)]
pub struct BlockBuilder {
    /// Keys one after the other, with where each group's key ends.
    keys: Vec<u8>,
    /// Heads and bodies one after the other.
    data: Vec<u8>,
    groups: Vec<Pending>,
    bytes: usize,
    /// The first commit of the first group.
    first: u64,
    /// The smallest and the largest commit held.
    csns: (u64, u64),
}

struct Pending {
    key_end: usize,
    heads: usize,
    end: usize,
}

impl BlockBuilder {
    /// A builder that has room for so many bytes.
    pub fn with_capacity(bytes: usize) -> BlockBuilder {
        BlockBuilder { data: Vec::with_capacity(bytes), ..BlockBuilder::default() }
    }

    /// Adds a group; (key, first commit) is not below that of the group before.
    pub fn push(&mut self, key: &[u8], group: &Group) {
        self.push_bytes(key, (group.first(), group.tail().csn), group.heads(), group.body());
    }

    /// The same, of a group from its first to its last commit that has these bytes.
    pub fn push_bytes(&mut self, key: &[u8], csns: (u64, u64), heads: &[u8], body: &[u8]) {
        if self.groups.is_empty() {
            (self.first, self.csns) = (csns.0, csns);
        }
        self.csns = (self.csns.0.min(csns.0), self.csns.1.max(csns.1));
        self.keys.extend_from_slice(key);
        self.data.extend_from_slice(heads);
        self.data.extend_from_slice(body);
        self.groups.push(Pending {
            key_end: self.keys.len(),
            heads: heads.len(),
            end: self.data.len(),
        });
        self.bytes += Self::cost_of(key, heads.len() + body.len());
    }

    fn cost_of(key: &[u8], bytes: usize) -> usize {
        bytes + key.len() + 8
    }

    /// Bytes that a group adds, about.
    pub fn cost(key: &[u8], group: &Group) -> usize {
        Self::cost_of(key, group.bytes())
    }

    /// Bytes held, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Groups held.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// True if no group is held.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The key of the first group.
    pub fn first_key(&self) -> &[u8] {
        &self.keys[..self.groups.first().map_or(0, |g| g.key_end)]
    }

    /// The commit at which the first group begins.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The smallest and the largest commit held.
    pub fn csns(&self) -> (u64, u64) {
        self.csns
    }

    /// Appends the encoded block to `out` and empties the builder.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        let last_start =
            if self.groups.len() > 1 { self.groups[self.groups.len() - 2].key_end } else { 0 };
        let prefix = shared(self.first_key(), &self.keys[last_start..]).min(usize::from(u16::MAX));
        out.extend_from_slice(&(prefix as u16).to_le_bytes());
        out.extend_from_slice(&self.keys[..prefix]);
        let (mut key, mut data) = (0, 0);
        let mut offsets = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            offsets.push((out.len() - start) as u32);
            let suffix = &self.keys[key + prefix..group.key_end];
            varint::put(out, suffix.len() as u64);
            out.extend_from_slice(suffix);
            varint::put(out, group.heads as u64);
            out.extend_from_slice(&self.data[data..group.end]);
            (key, data) = (group.key_end, group.end);
        }
        offsets.iter().for_each(|o| out.extend_from_slice(&o.to_le_bytes()));
        out.extend_from_slice(&(offsets.len() as u32).to_le_bytes());
        self.keys.clear();
        self.data.clear();
        self.groups.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(groups: &[(&str, &[u64])]) -> Vec<u8> {
        let mut builder = BlockBuilder::default();
        for (key, csns) in groups {
            let mut group = Group::default();
            csns.iter().for_each(|&c| group.push(c, Tag::Put, format!("{key}@{c}").as_bytes()));
            builder.push(key.as_bytes(), &group);
        }
        let mut out = Vec::new();
        builder.finish(&mut out);
        out
    }

    /// Each key is found at each commit, keys between and around are not, and a shift moves commits.
    #[test]
    fn finds_by_key_and_commit() {
        let bytes =
            build(&[("app", &[5, 9]), ("app", &[12]), ("apple", &[1]), ("apricot", &[3, 40])]);
        let block = Block::decode(bytes.clone(), 0).unwrap();
        assert_eq!(block.prefix(), b"ap");
        let csn = |b: &Block, key: &str, at| b.find(key.as_bytes(), at).map(|(_, f)| f.csn);
        assert_eq!(csn(&block, "app", 4), None);
        assert_eq!(csn(&block, "app", 11), Some(9));
        assert_eq!(csn(&block, "app", 12), Some(12));
        assert_eq!(csn(&block, "apple", 100), Some(1));
        assert_eq!(csn(&block, "apricot", 39), Some(3));
        for absent in ["", "a", "ap", "appl", "aq", "zoo"] {
            assert_eq!(csn(&block, absent, u64::MAX), None, "{absent}");
        }
        let moved = Block::decode(bytes, 1000).unwrap();
        assert_eq!(csn(&moved, "app", 1011), Some(1009));
    }

    /// Cut, lengthened or scribbled bytes are refused or stay harmless.
    #[test]
    fn damaged_blocks_never_panic() {
        let bytes = build(&[("k", &[5, 9]), ("l", &[1])]);
        for cut in 0..bytes.len() {
            assert!(Block::decode(bytes[..cut].to_vec(), 0).is_none_or(|b| b.count() < 3));
        }
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Some(block) = Block::decode(bad, 0) {
                block.find(b"k", 7);
                block.find(b"l", u64::MAX);
            }
        }
    }
}
