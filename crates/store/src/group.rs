//! The one layout of versions: a group is a stretch of one key's entries, oldest first.
//!
//! A memtable chain is a row of groups in memory, a block of a segment file is a row of groups on
//! disk, and everything that reads versions reads [`GroupRef`]. Heads and bodies lie apart: the heads
//! are a few bytes an entry, so that finding the state at a commit walks one short stretch, and they
//! compress to almost nothing because they repeat.
//!
//! ```text
//!   key k      csn ->   10          17       23       31        44
//!   entry              Put         Delta    Delta    Image     Delta
//!   heads    [10, len<<2|0] [7, len<<2|1] [6, ..] [0, ..|3] [21, ..|1]     varints: csn step, length and tag
//!   body     [ image ......][ d17 ..][ d23 ..][ image ......][ d44 ..]
//!
//!   state at 30  =  Put@10 + d17 + d23        state at 50  =  Image@31 + d44
//! ```
//!
//! An *anchor* is an entry that needs nothing below it: `Put`, `Delete`, or `Image`, which is a state
//! that the store itself wrote beside the deltas (it stands just after the delta of the same commit,
//! or at the start of a group) and which is no change of its own.
//!
//! # Invariants
//! * Commit numbers never descend inside a group.
//! * A group on disk begins with an anchor; in a memtable, the first group of a chain may begin with
//!   deltas whose base lies below.
//! * An `Image` at commit c equals the anchor before it merged with the deltas up to c.

use crate::varint;
use smallvec::SmallVec;

/// The kind of an entry; the low two bits of its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    /// A whole value, written by a commit.
    Put = 0,
    /// A change against the state before, written by a commit.
    Delta = 1,
    /// The key ends, by a commit.
    Delete = 2,
    /// A whole value that the store wrote beside the deltas.
    Image = 3,
}

impl Tag {
    #[inline(always)]
    pub fn of(head: u64) -> Tag {
        match head & 3 {
            0 => Tag::Put,
            1 => Tag::Delta,
            2 => Tag::Delete,
            _ => Tag::Image,
        }
    }
}

/// One entry of a group.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The commit.
    pub csn: u64,
    /// The kind of the entry.
    pub tag: Tag,
    /// Value or delta.
    pub bytes: &'a [u8],
}

/// A borrowed group, wherever it lies. `shift` is added to the first commit number (bulk loads).
#[derive(Clone, Copy)]
pub struct GroupRef<'a> {
    pub heads: &'a [u8],
    pub body: &'a [u8],
    pub shift: u64,
}

/// Where a whole value lies in a group.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    pub tag: Tag,
    pub csn: u64,
    pub start: u32,
    pub len: u32,
}

/// The state of a key at a commit, as positions in a group: an anchor (where the group has one at or
/// below the commit) and the stretch of deltas upon it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// The newest entry at or below the commit asked for.
    pub csn: u64,
    pub anchor: Option<Anchor>,
    /// The commit that the first delta's step counts from.
    pub before: u64,
    pub deltas: u32,
    pub heads: (u32, u32),
    pub body: (u32, u32),
}

impl<'a> GroupRef<'a> {
    /// The commit of the first entry.
    #[inline]
    pub fn first_csn(self) -> u64 {
        self.shift + varint::get(self.heads, &mut 0)
    }

    /// The state at `at`, or `None` if the group begins later.
    #[inline]
    pub fn find(self, at: u64) -> Option<Found> {
        let (mut pos, mut body, mut csn) = (0usize, 0u32, self.shift);
        let (mut last, mut anchor) = (None, None);
        let (mut deltas, mut before, mut start) = (0, self.shift, (0, 0));
        loop {
            // The deltas of many commits may stand before the one that is sought.
            while let Some((steps, len)) = self.heads[pos..].first_chunk().and_then(four_deltas)
                && csn + steps <= at
            {
                csn += steps;
                last = Some(csn);
                (pos, body, deltas) = (pos + 8, body + len, deltas + 4);
            }
            let Some((step, head, next)) = step(self.heads, pos).filter(|head| csn + head.0 <= at)
            else {
                break;
            };
            csn += step;
            last = Some(csn);
            let len = (head >> 2) as u32;
            pos = next;
            if head & 3 == Tag::Delta as u64 {
                deltas += 1;
            } else {
                anchor = Some(Anchor { tag: Tag::of(head), csn, start: body, len });
                (deltas, before, start) = (0, csn, (next as u32, body + len));
            }
            body += len;
        }
        Some(Found {
            csn: last?,
            anchor,
            before,
            deltas,
            heads: (start.0, pos as u32),
            body: (start.1, body),
        })
    }

    /// All entries, oldest first.
    #[inline]
    pub fn entries(self) -> Entries<'a> {
        Entries { heads: self.heads, body: self.body, csn: self.shift }
    }

    /// The commit and the value where the group is one whole value that is there at `at`.
    #[inline]
    pub fn image(self, at: u64) -> Option<(u64, &'a [u8])> {
        let (csn, head, next) = step(self.heads, 0)?;
        let csn = csn + self.shift;
        let is_image = !matches!(Tag::of(head), Tag::Delta | Tag::Delete);
        (is_image && csn <= at && next == self.heads.len()).then_some((csn, self.body))
    }

    /// Checks bytes that come from a file: every head is whole, bodies fill the body exactly, commits
    /// do not overflow. Returns the last commit.
    pub fn check(self) -> Option<u64> {
        let (mut pos, mut body, mut csn) = (0usize, 0u64, self.shift);
        if self.heads.is_empty() {
            return None;
        }
        while pos < self.heads.len() {
            csn = csn.checked_add(varint::try_get(self.heads, &mut pos)?)?;
            body = body.checked_add(varint::try_get(self.heads, &mut pos)? >> 2)?;
        }
        (body == self.body.len() as u64).then_some(csn)
    }
}

/// Takes apart the head at `pos` of checked heads: the commit's step, length and tag, where the next
/// one is. Mostly each number is one byte.
#[inline(always)]
fn step(heads: &[u8], pos: usize) -> Option<(u64, u64, usize)> {
    match heads.get(pos..pos + 2)? {
        &[step, head] if (step | head) < 0x80 => Some((step.into(), head.into(), pos + 2)),
        _ => {
            let mut next = pos;
            let step = varint::get(heads, &mut next);
            let head = varint::get(heads, &mut next);
            Some((step, head, next))
        }
    }
}

/// The entries of a group, oldest first.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    heads: &'a [u8],
    body: &'a [u8],
    /// The commit of the entry taken last.
    pub csn: u64,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (step, head, next) = step(self.heads, 0)?;
        self.heads = &self.heads[next..];
        self.csn += step;
        let (bytes, rest) = self.body.split_at((head >> 2) as usize);
        self.body = rest;
        Some(Entry { csn: self.csn, tag: Tag::of(head), bytes })
    }
}

impl<'a> Entries<'a> {
    /// The deltas of `len` bytes that follow at once, where there are four at least, and the entries
    /// after them; none if one would be above commit `to`. Costs next to nothing where there are none.
    #[inline(always)]
    pub fn same_length(&self, len: usize, to: u64) -> Option<(SameLengthDeltas<'a>, Entries<'a>)> {
        // A head of two bytes: the step, below 128, and length and tag, which are the same for all.
        let head = (len as u64) << 2 | Tag::Delta as u64;
        let first = self.heads.first_chunk::<8>()?;
        let worthwhile = head < 0x80 && four_steps(*first, head).is_some();
        if worthwhile { Self::take_same_length(*self, head, to) } else { None }
    }

    #[inline(never)]
    fn take_same_length(self, head: u64, to: u64) -> Option<(SameLengthDeltas<'a>, Entries<'a>)> {
        let fours = self.heads.as_chunks::<8>().0.iter();
        let (mut count, mut csn) = (0, self.csn);
        for steps in fours.map_while(|four| four_steps(*four, head)) {
            (count, csn) = (count + 4, csn + steps);
        }
        if csn > to {
            return None;
        }
        let len = (head >> 2) as usize;
        let (heads, heads_after) = self.heads.split_at(2 * count);
        let (body, body_after) = self.body.split_at(count * len);
        let same_length = SameLengthDeltas { csn: self.csn, heads: heads.as_chunks().0, body, len };
        Some((same_length, Entries { heads: heads_after, body: body_after, csn }))
    }
}

/// The sum of the steps of four heads of two bytes, where the other byte of each is `head`.
#[inline(always)]
fn four_steps(heads: [u8; 8], head: u64) -> Option<u64> {
    let heads = u64::from_le_bytes(heads);
    let same_length = heads & 0xff80_ff80_ff80_ff80 == head * 0x0100_0100_0100_0100;
    // Each step in a field of 16 bits; the product has the sum of all in the highest.
    same_length.then(|| (heads & 0x007f_007f_007f_007f).wrapping_mul(0x0001_0001_0001_0001) >> 48)
}

/// The sums of the steps and of the lengths of four heads, where all are of two bytes and of deltas.
#[inline(always)]
fn four_deltas(heads: &[u8; 8]) -> Option<(u64, u32)> {
    let heads = u64::from_le_bytes(*heads);
    let deltas = heads & 0x8380_8380_8380_8380 == 0x0100_0100_0100_0100;
    // As in four_steps.
    let sum = |fields: u64| fields.wrapping_mul(0x0001_0001_0001_0001) >> 48;
    let (steps, lens) = (heads & 0x007f_007f_007f_007f, heads >> 10 & 0x001f_001f_001f_001f);
    deltas.then(|| (sum(steps), sum(lens) as u32))
}

/// Consecutive deltas of the same length in bytes: commit and bytes, oldest first.
pub struct SameLengthDeltas<'a> {
    csn: u64,
    heads: &'a [[u8; 2]],
    body: &'a [u8],
    len: usize,
}

impl<'a> Iterator for SameLengthDeltas<'a> {
    type Item = (u64, &'a [u8]);
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let ([step, _], heads) = self.heads.split_first()?;
        let (bytes, body) = self.body.split_at(self.len);
        (self.heads, self.body) = (heads, body);
        self.csn += u64::from(*step);
        Some((self.csn, bytes))
    }
}

/// Deltas from `heads` and `body`, both ends.
pub struct Deltas<'a> {
    heads: &'a [u8],
    body: &'a [u8],
    front: u64,
    back: u64,
}

impl<'a> Deltas<'a> {
    /// The deltas of a stretch; the first one's step counts from `before`, the last one is at `last`.
    #[inline]
    pub fn new(heads: &'a [u8], body: &'a [u8], before: u64, last: u64) -> Self {
        Deltas { heads, body, front: before, back: last }
    }
}

impl<'a> Iterator for Deltas<'a> {
    type Item = (u64, &'a [u8]);
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (step, head, next) = step(self.heads, 0)?;
        self.front += step;
        let len = (head >> 2) as usize;
        self.heads = &self.heads[next..];
        let (bytes, rest) = self.body.split_at(len);
        self.body = rest;
        Some((self.front, bytes))
    }
}

impl DoubleEndedIterator for Deltas<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let (step, head, end) = match *self.heads {
            [] => return None,
            // Mostly each number is one byte, and so the last byte before them ends another.
            [.., before, step, head] if (before | step) < 0x80 => {
                (u64::from(step), u64::from(head), self.heads.len() - 2)
            }
            _ => {
                let mut end = self.heads.len();
                let head = varint::get_back(self.heads, &mut end);
                let step = varint::get_back(self.heads, &mut end);
                (step, head, end)
            }
        };
        let len = (head >> 2) as usize;
        self.heads = &self.heads[..end];
        let (rest, bytes) = self.body.split_at(self.body.len() - len);
        self.body = rest;
        let csn = self.back;
        self.back -= step;
        Some((csn, bytes))
    }
}

/// A group that grows: in a memtable, and in a segment writer before its block is full.
#[derive(Clone, Debug, Default)]
pub struct Group {
    heads: SmallVec<[u8; 24]>,
    body: Vec<u8>,
    first: u64,
    entries: u32,
    /// The state after the last entry, so that a read of now walks nothing.
    tail: Found,
}

impl Group {
    /// An empty group with room for a value of `bytes`.
    pub fn with_capacity(bytes: usize) -> Group {
        Group { body: Vec::with_capacity(bytes), ..Group::default() }
    }

    /// Appends an entry; `csn` is not below the last one.
    pub fn push(&mut self, csn: u64, tag: Tag, bytes: &[u8]) {
        assert!(csn >= self.tail.csn, "entries of a group come oldest first");
        if self.entries == 0 {
            self.first = csn;
        }
        varint::put(&mut self.heads, csn - self.tail.csn);
        varint::put(&mut self.heads, (bytes.len() as u64) << 2 | tag as u64);
        let (start, len) = (self.body.len() as u32, bytes.len() as u32);
        self.body.extend_from_slice(bytes);
        self.entries += 1;
        self.tail.csn = csn;
        self.tail.heads.1 = self.heads.len() as u32;
        self.tail.body.1 = self.body.len() as u32;
        if tag == Tag::Delta {
            self.tail.deltas += 1;
        } else {
            self.tail.anchor = Some(Anchor { tag, csn, start, len });
            self.tail.deltas = 0;
            self.tail.before = csn;
            self.tail.heads.0 = self.tail.heads.1;
            self.tail.body.0 = self.tail.body.1;
        }
    }

    /// Empties the group and keeps its memory.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.body.clear();
        (self.first, self.entries, self.tail) = (0, 0, Found::default());
    }

    /// The state at `at`.
    #[inline]
    pub fn find(&self, at: u64) -> Option<Found> {
        if at >= self.tail.csn {
            (self.entries > 0).then_some(self.tail)
        } else {
            self.view().find(at)
        }
    }

    /// The group as readers see it.
    #[inline]
    pub fn view(&self) -> GroupRef<'_> {
        GroupRef { heads: &self.heads, body: &self.body, shift: 0 }
    }

    /// The state after the last entry.
    pub fn tail(&self) -> &Found {
        &self.tail
    }

    /// The first commit; meaningless while empty.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Entries held.
    pub fn len(&self) -> u32 {
        self.entries
    }

    /// True if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Bytes of heads and bodies.
    pub fn bytes(&self) -> usize {
        self.heads.len() + self.body.len()
    }

    #[inline]
    pub fn heads(&self) -> &[u8] {
        &self.heads
    }

    #[inline]
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// True if a group of this size takes no further anchor: the next entry starts a new group.
#[inline]
pub fn is_full(entries: u32, bytes: usize) -> bool {
    entries >= GROUP_ENTRIES || bytes >= GROUP_BYTES
}

/// A group ends at the next anchor after this many entries.
pub const GROUP_ENTRIES: u32 = 64;
/// A group ends at the next anchor after this many bytes.
pub const GROUP_BYTES: usize = 4096;

/// The positions of a stretch as slices.
#[inline]
pub fn slice(bytes: &[u8], range: (u32, u32)) -> &[u8] {
    &bytes[range.0 as usize..range.1 as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Group {
        let mut g = Group::default();
        g.push(10, Tag::Put, b"base");
        g.push(17, Tag::Delta, b"a");
        g.push(23, Tag::Delta, &[b'b'; 200]);
        g.push(23, Tag::Image, b"fresh");
        g.push(400, Tag::Delta, b"c");
        g
    }

    /// The state at each commit is the newest anchor at or below it and the deltas after that.
    #[test]
    fn finds_the_state_at_a_commit() {
        let g = sample();
        assert!(g.find(9).is_none());
        let state = |at: u64| {
            let f = g.find(at).unwrap();
            let walked = g.view().find(at).unwrap();
            assert_eq!(format!("{f:?}"), format!("{walked:?}"), "the tail and a walk agree");
            let a = f.anchor.unwrap();
            let base = slice(g.body(), (a.start, a.start + a.len));
            let d =
                || Deltas::new(slice(g.heads(), f.heads), slice(g.body(), f.body), f.before, f.csn);
            let forth: Vec<u64> = d().map(|(c, _)| c).collect();
            let mut back: Vec<u64> = d().rev().map(|(c, _)| c).collect();
            back.reverse();
            assert_eq!(forth, back);
            assert_eq!(forth.len(), f.deltas as usize);
            (base.to_vec(), forth)
        };
        assert_eq!(state(10), (b"base".to_vec(), vec![]));
        assert_eq!(state(22), (b"base".to_vec(), vec![17]));
        assert_eq!(state(23), (b"fresh".to_vec(), vec![]));
        assert_eq!(state(u64::MAX), (b"fresh".to_vec(), vec![400]));
    }

    /// Entries come as they were pushed, one by one or those that are alike together.
    #[test]
    fn entries_come_back() {
        let mut g = Group::default();
        let mut all = Vec::new();
        let mut push = |csn: u64, tag: Tag, bytes: &[u8]| {
            g.push(csn, tag, bytes);
            all.push((csn, tag, bytes.to_vec()));
        };
        push(10, Tag::Put, b"base");
        for csn in [11, 12, 15, 142, 142, 143, 144, 145, 146, 147, 274, 402, 403, 404, 405, 406] {
            push(csn, Tag::Delta, &[csn as u8; 3]);
        }
        (0..6).for_each(|_| push(408, Tag::Image, b"new"));
        (409..419).for_each(|csn| push(csn, Tag::Delta, &[csn as u8; 200]));
        (419..430).for_each(|csn| push(csn, Tag::Delta, b""));
        (430..435).for_each(|csn| push(csn, Tag::Delete, b""));
        let entries = g.view().entries().map(|e| (e.csn, e.tag, e.bytes.to_vec()));
        assert_eq!(entries.collect::<Vec<_>>(), all);
        for (to, together) in [(u64::MAX, 8 + 4 + 8), (410, 8 + 4), (144, 0)] {
            let (mut entries, mut seen, mut count) = (g.view().entries(), Vec::new(), 0);
            while let Some(Entry { csn, tag, bytes }) = entries.next().filter(|e| e.csn <= to) {
                seen.push((csn, tag, bytes.to_vec()));
                if let Some((same_length, after)) = entries.same_length(bytes.len(), to) {
                    for (csn, bytes) in same_length {
                        seen.push((csn, Tag::Delta, bytes.to_vec()));
                        count += 1;
                    }
                    entries = after;
                }
            }
            assert_eq!(seen, all.iter().filter(|e| e.0 <= to).cloned().collect::<Vec<_>>());
            assert_eq!(count, together, "up to {to}");
        }
    }

    /// Damaged heads and bodies are refused before anybody walks them.
    #[test]
    fn refuses_damaged_bytes() {
        let g = sample();
        let whole = g.view();
        assert_eq!(whole.check(), Some(400));
        assert_eq!(GroupRef { heads: &g.heads[..g.heads.len() - 1], ..whole }.check(), None);
        assert_eq!(GroupRef { body: &g.body[1..], ..whole }.check(), None);
        assert_eq!(GroupRef { shift: u64::MAX, ..whole }.check(), None);
    }
}
