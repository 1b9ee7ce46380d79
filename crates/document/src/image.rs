//! The image of a chunk: its nodes as columns of numbers and a heap of text, cut out of the bytes in
//! which the store keeps them.
//!
//! ```text
//!   head | document header (chunk 0) | kinds | names | frags | ups | extents | counts | changed | placed | heap
//!                                      1      └──── 0, 1, 2, 4 or 8 bytes a slot, as the head says ─────┘
//! ```
//!
//! Most numbers of a chunk are small, and some columns hold nothing but zeroes: each has the least
//! width that holds its largest number. That is not for the sake of the numbers, which compress to
//! almost nothing either way: it leaves the space of a block to the text.
//!
//! Invariants of an image that [`Image::parse`] has passed: every column has an entry for each
//! slot; fragments add up to the heap; the name of a node fits its fragment.

use crate::error::Damaged;
use crate::node::{CHUNK_NODES, Header, NO_NAME, prefix_len};
use std::ops::Range;
use store::Csn;

const VERSION: u8 = 2;
/// The version before, whose columns have fixed widths: read, and written no more.
const VERSION_FIXED: u8 = 1;
const HEAD_BYTES: usize = 16;
const HEAD_BYTES_FIXED: usize = 12;
const HEADER_BYTES: usize = 56;
/// The columns after the kinds, in order, as places in the word of widths.
const NAMES: usize = 0;
const FRAGS: usize = 1;
const UPS: usize = 2;
const EXTENTS: usize = 3;
const COUNTS: usize = 4;
const CHANGED: usize = 5;
const COLUMNS: usize = 6;
const WIDTHS_MAX: [usize; COLUMNS] = [2, 4, 4, 4, 4, 8];

/// The widths of the columns, four bits each.
#[derive(Clone, Copy)]
struct Widths(u32);

impl Widths {
    /// Those of version 1.
    const FIXED: Widths = Widths(0x84_4442);

    #[inline]
    fn of(self, column: usize) -> usize {
        (self.0 >> (4 * column) & 15) as usize
    }

    /// True if each is one that its column can have.
    fn are_known(self) -> bool {
        let fits = |(column, max)| {
            let width = self.of(column);
            width <= max && [0, 1, 2, 4, 8].contains(&width)
        };
        self.0 >> (4 * COLUMNS) == 0 && WIDTHS_MAX.into_iter().enumerate().all(fits)
    }

    /// Bytes of a slot in the columns before `column`, the kind included.
    #[inline]
    fn before(self, column: usize) -> usize {
        1 + (0..column).map(|column| self.of(column)).sum::<usize>()
    }
}

/// The bytes before the columns.
#[derive(Clone, Copy)]
struct Head {
    bytes: usize,
    /// Bytes of the document header.
    header: usize,
    slots: usize,
    heap: usize,
    placed: usize,
    widths: Widths,
    /// The number that is added to the lengths of names in the column.
    name_bias: u16,
}

impl Head {
    /// Bytes of the head of a version.
    #[inline]
    fn bytes(version: u8) -> usize {
        if version == VERSION_FIXED { HEAD_BYTES_FIXED } else { HEAD_BYTES }
    }

    /// The head of an image that has so many bytes and is of a known version.
    #[inline]
    fn of(bytes: &[u8]) -> Head {
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let fixed = bytes[0] == VERSION_FIXED;
        Head {
            bytes: Head::bytes(bytes[0]),
            header: if bytes[1] == 0 { 0 } else { HEADER_BYTES },
            slots: (number(0) >> 16) as usize,
            heap: number(4) as usize,
            placed: number(8) as usize,
            widths: if fixed { Widths::FIXED } else { Widths(number(12)) },
            name_bias: if fixed { 0 } else { 1 },
        }
    }

    /// Bytes of the whole image.
    fn total(&self) -> u64 {
        let columns = self.slots * self.widths.before(COLUMNS);
        (self.bytes + self.header + columns) as u64 + self.placed as u64 + self.heap as u64
    }
}

/// A column of numbers.
#[derive(Clone, Copy)]
struct Column<'a> {
    bytes: &'a [u8],
    width: usize,
}

#[inline(always)]
fn word<const N: usize>(bytes: &[u8; N]) -> u64 {
    // One load, and no call of a function that copies so many bytes.
    (0..N).fold(0, |word, at| word | (bytes[at] as u64) << (8 * at))
}

/// Numbers of `N` bytes each.
#[inline(always)]
fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<N>().0.iter().map(word)
}

impl Column<'_> {
    /// The number of a slot.
    #[inline(always)]
    fn get(&self, slot: usize) -> u64 {
        match self.width {
            0 => 0,
            1 => self.bytes[slot] as u64,
            2 => word(&self.bytes.as_chunks::<2>().0[slot]),
            4 => word(&self.bytes.as_chunks::<4>().0[slot]),
            _ => word(&self.bytes.as_chunks::<8>().0[slot]),
        }
    }

    /// All numbers at one width.
    #[inline]
    fn wide(&self) -> Wide {
        let mut wide = [0; CHUNK_NODES];
        match self.width {
            0 => {}
            1 => wide.iter_mut().zip(words::<1>(self.bytes)).for_each(|(to, n)| *to = n as u32),
            2 => wide.iter_mut().zip(words::<2>(self.bytes)).for_each(|(to, n)| *to = n as u32),
            _ => wide.iter_mut().zip(words::<4>(self.bytes)).for_each(|(to, n)| *to = n as u32),
        }
        wide
    }

    /// The sum of the numbers of some slots.
    #[inline]
    fn sum(&self, slots: Range<usize>) -> usize {
        let bytes = &self.bytes[slots.start * self.width..slots.end * self.width];
        (match self.width {
            1 => words::<1>(bytes).sum(),
            2 => words::<2>(bytes).sum(),
            4 => words::<4>(bytes).sum(),
            8 => words::<8>(bytes).sum(),
            _ => 0u64,
        }) as usize
    }
}

/// A column taken out of its image for a loop that looks at every slot.
pub(crate) type Wide = [u32; CHUNK_NODES];

/// The columns of an image.
#[derive(Clone, Copy)]
pub(crate) struct Image<'a> {
    header: &'a [u8],
    /// 0 for a slot without a node.
    pub kinds: &'a [u8],
    columns: [Column<'a>; COLUMNS],
    /// The number that is added to the lengths of names in the column.
    name_bias: u16,
    pub placed: &'a [u8],
    pub heap: &'a [u8],
}

impl<'a> Image<'a> {
    /// Cuts the columns out of an image, and checks all that the invariants say.
    pub fn parse(bytes: &'a [u8]) -> Result<Image<'a>, Damaged> {
        let head = bytes.first_chunk::<HEAD_BYTES_FIXED>().ok_or_else(Damaged::short)?;
        if !(VERSION_FIXED..=VERSION).contains(&head[0]) || head[1] > 1 {
            return Err(Damaged::new("an unknown version of a chunk"));
        }
        if bytes.len() < Head::bytes(head[0]) {
            return Err(Damaged::short());
        }
        let head = Head::of(bytes);
        if head.slots > CHUNK_NODES {
            return Err(Damaged::new("a chunk with too many slots"));
        }
        if !head.widths.are_known() {
            return Err(Damaged::new("a chunk with a column of an unknown width"));
        }
        if head.total() != bytes.len() as u64 {
            return Err(Damaged::new("a chunk with bytes too many or too few"));
        }
        let image = Image::cut(bytes);
        let [names, frags, ..] = image.columns;
        let fits = match (names.width, frags.width) {
            (1, 1) => image.fits::<1, 1>(),
            (1, 2) => image.fits::<1, 2>(),
            (2, 2) => image.fits::<2, 2>(),
            (2, 4) => image.fits::<2, 4>(),
            _ => image.fits_at_any_width(),
        };
        if fits { Ok(image) } else { Err(Damaged::new("a chunk whose fragments do not add up")) }
    }

    /// Cuts the columns out of an image that was parsed before.
    #[inline]
    pub fn cut(bytes: &'a [u8]) -> Image<'a> {
        let head = Head::of(bytes);
        let (header, rest) = bytes[head.bytes..].split_at(head.header);
        let (kinds, mut rest) = rest.split_at(head.slots);
        let columns = std::array::from_fn(|column| {
            let width = head.widths.of(column);
            let (bytes, behind) = rest.split_at(head.slots * width);
            rest = behind;
            Column { bytes, width }
        });
        let (placed, heap) = rest.split_at(head.placed);
        Image { header, kinds, columns, name_bias: head.name_bias, placed, heap }
    }

    /// Whether the fragments add up to the heap and each holds its name, for columns of these widths. Two
    /// loops without branches, each over numbers of one width: they are run for every chunk of every
    /// version that is read.
    #[inline(always)]
    fn fits<const NAME: usize, const FRAG: usize>(&self) -> bool {
        let (names, _) = self.columns[NAMES].bytes.as_chunks::<NAME>();
        let (frags, _) = self.columns[FRAGS].bytes.as_chunks::<FRAG>();
        let slots = self.kinds.iter().zip(names).zip(frags);
        let bad = slots.fold(0, |bad, ((kind, name), frag)| {
            bad | self.is_short(*kind, word(name) as u32, word(frag) as u32)
        });
        bad == 0 && self.columns[FRAGS].sum(0..self.kinds.len()) == self.heap.len()
    }

    fn fits_at_any_width(&self) -> bool {
        let (names, frags) = (self.columns[NAMES].wide(), self.columns[FRAGS].wide());
        let slots = self.kinds.iter().zip(names).zip(frags);
        let bad = slots.fold(0, |bad, ((kind, name), frag)| bad | self.is_short(*kind, name, frag));
        bad == 0 && self.columns[FRAGS].sum(0..self.kinds.len()) == self.heap.len()
    }

    /// 1 where a node's fragment does not hold more than its name, of which the column has `name`.
    #[inline(always)]
    fn is_short(&self, kind: u8, name: u32, frag: u32) -> u32 {
        let prefix = prefix_len((name as u16).wrapping_sub(self.name_bias)) as u32;
        u32::from(kind != 0) & u32::from(prefix >= frag)
    }

    /// The facts about the document in chunk 0.
    pub fn header(&self) -> Option<Header> {
        let mut words = words::<8>(self.header);
        let mut next = || words.next();
        Some(Header {
            next_key: next()?,
            root: next()?,
            nodes: next()?,
            placed: next()?,
            shape: Csn(next()?),
            digest: next()? as u128 | (next()? as u128) << 64,
        })
    }

    /// Bytes of the node's name, or [`NO_NAME`].
    #[inline]
    pub fn name_len(&self, slot: usize) -> u16 {
        (self.columns[NAMES].get(slot) as u16).wrapping_sub(self.name_bias)
    }

    /// Bytes of the fragment.
    #[inline]
    pub fn frag_len(&self, slot: usize) -> usize {
        self.columns[FRAGS].get(slot) as usize
    }

    /// Bytes of the fragments of some slots.
    #[inline]
    pub fn frags_len(&self, slots: Range<usize>) -> usize {
        self.columns[FRAGS].sum(slots)
    }

    /// Where in the heap the fragment of `slot` starts.
    #[inline]
    pub fn frag_start(&self, slot: usize) -> usize {
        self.frags_len(0..slot)
    }

    /// Distance to the parent's key.
    #[inline]
    pub fn up(&self, slot: usize) -> u32 {
        self.columns[UPS].get(slot) as u32
    }

    /// Keys taken.
    #[inline]
    pub fn extent(&self, slot: usize) -> u32 {
        self.columns[EXTENTS].get(slot) as u32
    }

    /// Children.
    #[inline]
    pub fn count(&self, slot: usize) -> u32 {
        self.columns[COUNTS].get(slot) as u32
    }

    /// The commit that last changed the node; 0 for that of the image.
    #[inline]
    pub fn changed(&self, slot: usize) -> u64 {
        self.columns[CHANGED].get(slot)
    }

    /// The distances to the parents' keys, of all slots.
    #[inline]
    pub fn ups(&self) -> Wide {
        self.columns[UPS].wide()
    }

    /// The bytes of the fragments, of all slots.
    #[inline]
    pub fn frags(&self) -> Wide {
        self.columns[FRAGS].wide()
    }

    /// Calls `f` with each slot and the commit that last changed its node, as [`Image::changed`].
    #[inline]
    pub fn each_changed(&self, mut f: impl FnMut(usize, u64)) {
        let Column { bytes, width } = self.columns[CHANGED];
        let slots = 0..self.kinds.len();
        match width {
            0 => slots.for_each(|slot| f(slot, 0)),
            1 => slots.zip(words::<1>(bytes)).for_each(|(slot, csn)| f(slot, csn)),
            2 => slots.zip(words::<2>(bytes)).for_each(|(slot, csn)| f(slot, csn)),
            4 => slots.zip(words::<4>(bytes)).for_each(|(slot, csn)| f(slot, csn)),
            _ => slots.zip(words::<8>(bytes)).for_each(|(slot, csn)| f(slot, csn)),
        }
    }
}

/// Kind, `up` and extent of a slot, without cutting out the columns; none past the last slot. The
/// bytes are those of an image that was parsed before.
#[inline]
pub(crate) fn probe(bytes: &[u8], slot: usize) -> Option<(u8, u32, u32)> {
    let head = Head::of(bytes);
    if slot >= head.slots {
        return None;
    }
    let columns = head.bytes + head.header;
    let number = |column: usize| {
        let bytes = &bytes[columns + head.slots * head.widths.before(column)..];
        Column { bytes, width: head.widths.of(column) }.get(slot) as u32
    };
    Some((bytes[columns + slot], number(UPS), number(EXTENTS)))
}

/// True for an image of the version that is written.
pub(crate) fn is_newest(bytes: &[u8]) -> bool {
    bytes.first() == Some(&VERSION)
}

/// One slot, as it is written.
pub(crate) struct Row {
    pub kind: u8,
    /// Bytes of the name, or [`NO_NAME`].
    pub name_len: u16,
    pub frag_len: u32,
    pub up: u32,
    pub extent: u32,
    pub count: u32,
    pub changed: u64,
}

/// Appends an image up to its heap, which follows: the fragments of the rows, in order.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    header: Option<&Header>,
    rows: impl ExactSizeIterator<Item = Row>,
    placed: &[u8],
) {
    let slots = rows.len();
    let (mut kinds, mut columns) = ([0; CHUNK_NODES], [[0; CHUNK_NODES]; COLUMNS]);
    for (slot, row) in rows.enumerate() {
        kinds[slot] = row.kind;
        columns[NAMES][slot] = row.name_len.wrapping_sub(NO_NAME) as u64;
        columns[FRAGS][slot] = row.frag_len as u64;
        columns[UPS][slot] = row.up as u64;
        columns[EXTENTS][slot] = row.extent as u64;
        columns[COUNTS][slot] = row.count as u64;
        columns[CHANGED][slot] = row.changed;
    }
    let widths = columns.each_ref().map(|column| {
        // All bits that any of the numbers has: as wide as the largest.
        match column[..slots].iter().fold(0, |all, number| all | number) {
            0 => 0,
            1..0x100 => 1,
            0x100..0x1_0000 => 2,
            0x1_0000..0x1_0000_0000 => 4,
            _ => 8,
        }
    });
    let word = widths.iter().rev().fold(0, |word, width| word << 4 | width);
    let heap: u64 = columns[FRAGS][..slots].iter().sum();
    let heap = u32::try_from(heap).expect("a chunk's text fits 32 bits");
    let taken = HEAD_BYTES + HEADER_BYTES + slots * Widths(word).before(COLUMNS);
    out.reserve(taken + placed.len() + heap as usize);
    out.extend_from_slice(&[VERSION, header.is_some() as u8]);
    out.extend_from_slice(&(slots as u16).to_le_bytes());
    out.extend_from_slice(&heap.to_le_bytes());
    out.extend_from_slice(&(placed.len() as u32).to_le_bytes());
    out.extend_from_slice(&word.to_le_bytes());
    if let Some(header) = header {
        out.extend_from_slice(&header.next_key.to_le_bytes());
        out.extend_from_slice(&header.root.to_le_bytes());
        out.extend_from_slice(&header.nodes.to_le_bytes());
        out.extend_from_slice(&header.placed.to_le_bytes());
        out.extend_from_slice(&header.shape.0.to_le_bytes());
        out.extend_from_slice(&header.digest.to_le_bytes());
    }
    out.extend_from_slice(&kinds[..slots]);
    for (column, width) in columns.iter().zip(widths) {
        let numbers = column[..slots].iter();
        match width {
            0 => {}
            1 => out.extend(numbers.map(|n| *n as u8)),
            2 => numbers.for_each(|n| out.extend_from_slice(&(*n as u16).to_le_bytes())),
            4 => numbers.for_each(|n| out.extend_from_slice(&(*n as u32).to_le_bytes())),
            _ => numbers.for_each(|n| out.extend_from_slice(&n.to_le_bytes())),
        }
    }
    out.extend_from_slice(placed);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header =
        Header { next_key: 1 << 40, root: 1, nodes: 7, placed: 1, shape: Csn(9), digest: 3 << 70 };

    /// Slots whose numbers need so many bits; the fragments are `heap` in all.
    fn rows(bits: u32, slots: usize) -> (Vec<Row>, Vec<u8>) {
        let number = |slot: usize, max: u64| {
            let random = (slot as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
            random & ((1u64 << bits) - 1) & max
        };
        let row = |slot| {
            let name_len = match slot % 3 {
                0 => NO_NAME,
                _ => number(slot, 0x3ff) as u16,
            };
            Row {
                kind: slot as u8 % 8,
                name_len,
                frag_len: prefix_len(name_len) as u32 + 1 + number(slot, 0x7ff) as u32,
                up: number(slot, 0xffff_ffff) as u32,
                extent: number(slot + 1, 0xffff_ffff) as u32,
                count: number(slot + 2, 0xffff_ffff) as u32,
                changed: number(slot + 3, u64::MAX),
            }
        };
        let rows: Vec<Row> = (0..slots).map(row).collect();
        let heap = (0..rows.iter().map(|row| row.frag_len).sum()).map(|at: u32| at as u8);
        (rows, heap.collect())
    }

    fn image(header: Option<&Header>, (rows, heap): (Vec<Row>, Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, header, rows.into_iter(), b"placed");
        out.extend_from_slice(&heap);
        out
    }

    /// An image as version 1 had it.
    fn fixed(header: Option<&Header>, (rows, heap): (Vec<Row>, Vec<u8>)) -> Vec<u8> {
        let mut out = vec![1, header.is_some() as u8];
        out.extend((rows.len() as u16).to_le_bytes());
        out.extend((heap.len() as u32).to_le_bytes());
        out.extend(6u32.to_le_bytes());
        if let Some(h) = header {
            let words = [h.next_key, h.root, h.nodes, h.placed, h.shape.0];
            out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            out.extend(h.digest.to_le_bytes());
        }
        out.extend(rows.iter().map(|r| r.kind));
        out.extend(rows.iter().flat_map(|r| r.name_len.to_le_bytes()));
        out.extend(rows.iter().flat_map(|r| r.frag_len.to_le_bytes()));
        out.extend(rows.iter().flat_map(|r| r.up.to_le_bytes()));
        out.extend(rows.iter().flat_map(|r| r.extent.to_le_bytes()));
        out.extend(rows.iter().flat_map(|r| r.count.to_le_bytes()));
        out.extend(rows.iter().flat_map(|r| r.changed.to_le_bytes()));
        out.extend(b"placed");
        out.extend(heap);
        out
    }

    fn check(bytes: &[u8], header: Option<Header>, (rows, heap): (Vec<Row>, Vec<u8>)) {
        let image = Image::parse(bytes).unwrap();
        assert_eq!((image.header(), image.placed, image.heap), (header, &b"placed"[..], &heap[..]));
        assert_eq!(image.kinds.len(), rows.len());
        let mut changed = Vec::new();
        image.each_changed(|slot, csn| changed.push((slot, csn)));
        let mut start = 0;
        for (slot, row) in rows.iter().enumerate() {
            assert_eq!((image.kinds[slot], image.name_len(slot)), (row.kind, row.name_len));
            assert_eq!(
                (image.frag_start(slot), image.frag_len(slot)),
                (start, row.frag_len as usize)
            );
            assert_eq!((image.ups()[slot], image.frags()[slot]), (row.up, row.frag_len));
            assert_eq!((image.up(slot), image.extent(slot)), (row.up, row.extent));
            assert_eq!((image.count(slot), image.changed(slot)), (row.count, row.changed));
            assert_eq!(changed[slot], (slot, row.changed));
            assert_eq!(probe(bytes, slot), Some((row.kind, row.up, row.extent)));
            start += row.frag_len as usize;
        }
        assert_eq!(probe(bytes, rows.len()), None);
    }

    /// Columns of every width come back as they were, and those of version 1 as well.
    #[test]
    fn columns_of_every_width_and_of_the_version_before() {
        for bits in [0, 1, 8, 9, 16, 17, 32, 33, 57] {
            for slots in [0, 1, 7, 256] {
                for header in [None, Some(HEADER)] {
                    let bytes = image(header.as_ref(), rows(bits, slots));
                    check(&bytes, header, rows(bits, slots));
                    check(&fixed(header.as_ref(), rows(bits, slots)), header, rows(bits, slots));
                }
            }
        }
    }

    /// Small numbers take little: 256 nodes without names, children and depth are 768 bytes and the
    /// heads, where version 1 had 27 bytes for each.
    #[test]
    fn a_column_is_as_wide_as_its_largest_number() {
        let row = |_| Row {
            kind: 4,
            name_len: NO_NAME,
            frag_len: 2,
            up: 1,
            extent: 0,
            count: 0,
            changed: 0,
        };
        let small = image(None, ((0..256).map(row).collect(), vec![b','; 512]));
        assert_eq!(small.len(), HEAD_BYTES + 3 * 256 + b"placed".len() + 512);
    }

    /// Damaged bytes are refused, or are an image whose every part can be asked for.
    #[test]
    fn damaged_images_never_panic() {
        for bytes in [image(Some(&HEADER), rows(4, 20)), fixed(None, rows(4, 20))] {
            let look = |bytes: &[u8]| {
                let Ok(image) = Image::parse(bytes) else { return };
                for slot in 0..image.kinds.len() {
                    let _ = (image.changed(slot), image.count(slot), probe(bytes, slot));
                    let end = image.frag_start(slot) + image.frag_len(slot);
                    let _ = &image.heap[image.frag_start(slot)..end];
                }
            };
            (0..bytes.len()).for_each(|end| look(&bytes[..end]));
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                look(&bytes);
            }
        }
    }
}
