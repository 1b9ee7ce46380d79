//! A segment: one immutable sorted file of blocks, and how it is read.
//!
//! ```text
//!   ┌─────────┬─────────┬─ ... ─┬──────────────────────┬────────────┐
//!   │ block 0 │ block 1 │       │ guide: index, filter │ footer 88 B│     parts with checksums (part.rs)
//!   └─────────┴─────────┴─ ... ─┴──────────────────────┴────────────┘
//!
//!   find(key, at):  filter says no ─> done        (guide, cached)
//!                   index: last block that begins at or before (key, at)
//!                   block: last group that begins at or before (key, at); is it the key's? its state at `at`
//! ```
//!
//! Opening a store reads nothing of the file, because the manifest repeats the footer. The first reader of the segment
//! opens the file and checks the footer. Guide and blocks then come through the cache.
//!
//! # Invariants
//! * Groups ascend by (key, first commit) through the whole file.
//! * Length, salt, kind and checksums of the file agree with its manifest entry. Otherwise the read fails,
//!   and the error names the file.
//! * The file is removed when the last holder drops a segment that was [`Segment::doom`]ed.

use crate::block::{Block, GroupSpan};
use crate::cache::{Cache, Cached, GUIDE, HEADERS, PARTS};
use crate::columns::{ColumnBlock, ColumnError};
use crate::error::StoreError;
use crate::filter;
use crate::group::Found;
use crate::key_prefixes::KeyPrefixes;
use crate::pack;
use crate::part::{self, corrupt};
use crate::segment_store::{BULK_SUFFIX, SUFFIX, SegmentStore};
use crate::store::Resolve;
use crate::{TableId, key, varint};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use vfs::{File, Random};

/// The format of segments without blocks of columns.
const FORMAT_ROWS: u32 = 1;
/// The format of segments with blocks of columns.
const FORMAT_COLUMNS: u32 = 2;
/// The format of segments with packed blocks.
const FORMAT_PACKED: u32 = 3;
/// The format of segments with parts compressed by LZ4.
const FORMAT_LZ4: u32 = 4;
/// The newest format that this program reads.
const FORMAT: u32 = FORMAT_LZ4;
const MAGIC: &[u8; 8] = b"awhenseg";
/// Bytes of the footer.
pub const FOOTER: usize = 88;

/// A reader that bypasses the cache reads so many bytes at once.
const READ_AHEAD_BYTES: u64 = 128 << 10;

/// Bytes of a segment that were read together.
#[derive(Default)]
pub struct ReadAhead {
    /// The number of the segment; 0 if there are no bytes yet.
    file: u64,
    /// Where in the file the bytes begin.
    offset: u64,
    bytes: Vec<u8>,
}

impl ReadAhead {
    /// Returns the part of a block; `None` if these bytes do not contain it.
    fn part(&self, info: &BlockInfo) -> Option<&[u8]> {
        let start = usize::try_from(info.offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(info.len as usize)?)
    }
}

/// A thread keeps its read buffer if the buffer has at most so many bytes.
const KEPT_READ_BYTES: usize = 128 << 10;

thread_local! {
    /// The buffer into which this thread reads parts before it decodes them.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Which half of the store a segment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Half {
    /// The newest image of each key.
    Current = 0,
    /// The superseded versions.
    History = 1,
}

/// The entry of the manifest for a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Unique in the store, never used again.
    pub number: u64,
    /// Random; ties the parts to their file.
    pub salt: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Added to every commit number in the file (bulk loads; else 0).
    pub shift: u64,
    /// True if a bulk load wrote the file. Until a manifest names the file, the commit of the load does.
    pub bulk: bool,
    /// Distinct keys.
    pub keys: u64,
    /// Entries.
    pub entries: u64,
    /// Smallest and largest commit, shifted.
    pub csns: (u64, u64),
    /// The first key, and the (shifted) commit at which its first group begins.
    pub first: (Vec<u8>, u64),
    /// The last key.
    pub last_key: Vec<u8>,
    /// The rest of the footer; `None` if it is known only after the file is opened.
    pub outline: Option<Outline>,
}

/// The fields of a segment's footer beyond its [`Meta`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The format of the file.
    pub format: u32,
    /// Blocks may be packed.
    pub is_packed: bool,
    /// Where the guide begins, in bytes. It ends at the footer.
    pub guide: u64,
    /// How many blocks there are.
    pub blocks: u32,
}

/// Files of bulk loads have numbers from here on: the low half is the number from the store, the other
/// half is random. So the store of a follower can take them over beside files of its own.
const BULK_NUMBERS: u64 = 1 << 63;

/// The number of a file of a bulk load.
pub fn bulk_number(number: u64, random: &dyn Random) -> u64 {
    BULK_NUMBERS | random.next_u64() << 32 | number & u64::from(u32::MAX)
}

/// The number that the store gave a file.
pub fn given_number(number: u64) -> u64 {
    if number < BULK_NUMBERS { number } else { number & u64::from(u32::MAX) }
}

impl Meta {
    /// The name of the file.
    pub fn name(&self) -> String {
        let suffix = if self.bulk { BULK_SUFFIX } else { SUFFIX };
        format!("{:010}-{:016x}{suffix}", self.number, self.salt)
    }

    /// The number in the name of a file; `None` if it is not the name of a segment.
    pub fn number_of(name: &str) -> Option<u64> {
        name.split_once('-')?.0.parse().ok()
    }
}

/// The fixed end of a segment file. Commits are as in the file, without shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    pub format: u32,
    pub half: Half,
    /// Blocks may be packed.
    pub is_packed: bool,
    pub salt: u64,
    pub guide: (u64, u64),
    pub blocks: u32,
    pub keys: u64,
    pub entries: u64,
    pub csns: (u64, u64),
}

impl Footer {
    /// Returns the fields of the footer beyond the [`Meta`] of the segment.
    pub fn outline(&self) -> Outline {
        let Footer { format, is_packed, guide, blocks, .. } = *self;
        Outline { format, is_packed, guide: guide.0, blocks }
    }

    /// Returns the footer of a segment by its manifest entry. The error is the reason why the entry cannot be right.
    fn of(half: Half, meta: &Meta, outline: Outline) -> Result<Footer, &'static str> {
        let Outline { format, is_packed, guide, blocks } = outline;
        let at = meta.bytes.checked_sub(FOOTER as u64).and_then(|at| at.checked_sub(guide));
        let len = at.ok_or("the guide offset in the manifest is past the start of the footer")?;
        let csns = (meta.csns.0.checked_sub(meta.shift), meta.csns.1.checked_sub(meta.shift));
        let (Some(first), Some(last)) = csns else {
            return Err("the manifest has a commit number below the one of the bulk load");
        };
        Ok(Footer {
            format,
            half,
            is_packed,
            salt: meta.salt,
            guide: (guide, len),
            blocks,
            keys: meta.keys,
            entries: meta.entries,
            csns: (first, last),
        })
    }

    pub fn encode(&self) -> [u8; FOOTER] {
        let mut out = [0; FOOTER];
        out[..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&self.format.to_le_bytes());
        out[12] = self.half as u8;
        out[13] = u8::from(self.format >= FORMAT_LZ4 && self.is_packed);
        let words = [
            self.salt,
            self.guide.0,
            self.guide.1,
            u64::from(self.blocks),
            self.keys,
            self.entries,
            self.csns.0,
            self.csns.1,
        ];
        for (word, place) in words.iter().zip(out[16..80].chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let crc = crc32c::crc32c(&out[..FOOTER - 4]);
        out[FOOTER - 4..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8; FOOTER], file: &str, offset: u64) -> Result<Footer, StoreError> {
        let bad = |what| Err(corrupt(file, offset)(what));
        let u32_at = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let word = |i: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[16 + 8 * i..24 + 8 * i]);
            u64::from_le_bytes(eight)
        };
        if &bytes[..8] != MAGIC {
            return bad("the footer has no magic number");
        }
        if u32_at(FOOTER - 4) != crc32c::crc32c(&bytes[..FOOTER - 4]) && part::checks() {
            return bad("the checksum of the footer does not match");
        }
        if !(FORMAT_ROWS..=FORMAT).contains(&u32_at(8)) {
            return Err(StoreError::Version {
                file: file.to_string(),
                found: u32_at(8),
                known: FORMAT,
            });
        }
        let half = match bytes[12] {
            0 => Half::Current,
            1 => Half::History,
            _ => return bad("the footer names an unknown kind of segment"),
        };
        let is_packed = match (u32_at(8), bytes[13]) {
            (FORMAT_PACKED, 0) => true,
            (FORMAT_LZ4, 1) => true,
            (_, 0) => false,
            _ => return bad("the footer has an unknown flag"),
        };
        Ok(Footer {
            format: u32_at(8),
            half,
            is_packed,
            salt: word(0),
            guide: (word(1), word(2)),
            blocks: word(3) as u32,
            keys: word(4),
            entries: word(5),
            csns: (word(6), word(7)),
        })
    }
}

/// A block as the index knows it. Commits are shifted.
#[derive(Clone, Copy, Debug)]
pub struct BlockInfo {
    key: (u32, u32),
    /// The commit at which the first group begins.
    pub first: u64,
    /// Smallest and largest commit inside.
    pub csns: (u64, u64),
    pub offset: u64,
    pub len: u32,
    /// The length of the header of a block of columns, which ends the block; 0 for a block of rows.
    pub header: u32,
}

/// Index and filter of a segment.
pub struct Guide {
    raw: Vec<u8>,
    filter: u32,
    blocks: Vec<BlockInfo>,
    /// The prefixes of the blocks' first keys.
    key_prefixes: KeyPrefixes,
}

/// The entry of the index for a block.
pub struct IndexEntry {
    /// The full key of its first group.
    pub key: Vec<u8>,
    /// The commit at which that group begins.
    pub first: u64,
    /// Smallest and largest commit inside.
    pub csns: (u64, u64),
    pub len: u32,
    /// As [`BlockInfo::header`].
    pub header: u32,
}

impl IndexEntry {
    /// The format of a segment with these blocks. Blocks of it may be packed if `is_packed`, and compressed by LZ4 if
    /// `has_lz4`.
    pub fn format_of(entries: &[IndexEntry], is_packed: bool, has_lz4: bool) -> u32 {
        match entries.iter().any(|entry| entry.header > 0) {
            _ if has_lz4 => FORMAT_LZ4,
            _ if is_packed => FORMAT_PACKED,
            true => FORMAT_COLUMNS,
            false => FORMAT_ROWS,
        }
    }

    /// Appends the entry to the bytes of an index.
    pub fn write(&self, format: u32, out: &mut Vec<u8>) {
        varint::put(out, self.key.len() as u64);
        out.extend_from_slice(&self.key);
        let numbers = [self.first, self.csns.0, self.csns.1, u64::from(self.len)];
        numbers.iter().for_each(|&n| varint::put(out, n));
        if format >= FORMAT_COLUMNS {
            varint::put(out, u64::from(self.header));
        }
    }
}

impl Guide {
    /// Joins index and filter to the bytes of a guide.
    pub fn encode(index: &[u8], filter: &[u8]) -> Vec<u8> {
        let mut raw = Vec::with_capacity(4 + index.len() + filter.len());
        raw.extend_from_slice(&(index.len() as u32).to_le_bytes());
        raw.extend_from_slice(index);
        raw.extend_from_slice(filter);
        raw
    }

    /// Parses the bytes of a guide; `None` if they are not a valid guide.
    pub fn decode(raw: Vec<u8>, format: u32, blocks: u32, shift: u64) -> Option<Guide> {
        let index = u32::from_le_bytes(raw.get(..4)?.try_into().ok()?) as usize;
        let end = index.checked_add(4).filter(|&end| end <= raw.len())?;
        let (mut pos, mut offset) = (4, 0u64);
        let mut infos = Vec::with_capacity((blocks as usize).min(raw.len()));
        while pos < end {
            let key_len = varint::try_get(&raw[..end], &mut pos)? as usize;
            let key = (pos as u32, pos.checked_add(key_len).filter(|&p| p <= end)? as u32);
            pos = key.1 as usize;
            let mut number = || varint::try_get(&raw[..end], &mut pos);
            let first = number()?.checked_add(shift)?;
            let csns = (number()?.checked_add(shift)?, number()?.checked_add(shift)?);
            let len = u32::try_from(number()?).ok()?;
            let header = if format < FORMAT_COLUMNS { 0 } else { u32::try_from(number()?).ok()? };
            (header <= len).then_some(())?;
            infos.push(BlockInfo { key, first, csns, offset, len, header });
            offset = offset.checked_add(u64::from(len))?;
        }
        let key = |at: usize| {
            let BlockInfo { key, .. } = infos[at];
            &raw[key.0 as usize..key.1 as usize]
        };
        let ascend = (1..infos.len()).all(|at| key(at - 1) <= key(at));
        if infos.len() != blocks as usize || !ascend {
            return None;
        }
        let key_prefixes = KeyPrefixes::of(infos.len(), key);
        Some(Guide { filter: end as u32, blocks: infos, key_prefixes, raw })
    }

    /// Bytes in memory.
    pub fn size(&self) -> usize {
        self.raw.len()
            + self.blocks.len() * size_of::<BlockInfo>()
            + self.key_prefixes.size()
            + size_of::<Guide>()
    }

    /// Returns the offset at which the first `blocks` blocks end, in bytes.
    fn end_of(&self, blocks: usize) -> u64 {
        let last = blocks.checked_sub(1).map(|last| &self.blocks[last]);
        last.map_or(0, |last| last.offset + u64::from(last.len))
    }

    /// The blocks in order.
    pub fn blocks(&self) -> &[BlockInfo] {
        &self.blocks
    }

    /// The first key of a block.
    #[inline]
    pub fn key(&self, info: &BlockInfo) -> &[u8] {
        &self.raw[info.key.0 as usize..info.key.1 as usize]
    }

    /// False if the key of `hash` is surely not in the segment.
    #[inline]
    pub fn may_hold(&self, hash: u64) -> bool {
        filter::may_hold(&self.raw[self.filter as usize..], hash)
    }

    /// How many blocks begin before (key, `from`).
    #[inline]
    pub fn before(&self, key: &[u8], from: u64) -> usize {
        let compare = |at: usize| {
            let block = &self.blocks[at];
            self.key(block).cmp(key).then_with(|| block.first.cmp(&from))
        };
        self.key_prefixes.before(key, || self.key(&self.blocks[0]), compare)
    }
}

/// A segment that can be read.
pub struct Segment {
    pub meta: Meta,
    footer: Footer,
    reader: Reader,
    source: Arc<Source>,
}

/// A table that has keys in a segment.
#[derive(Clone, Copy)]
pub struct HeldTable {
    pub id: TableId,
    /// True if its keys describe commits ([`crate::Table::tells_of`]).
    pub tells: bool,
}

/// The file of a segment. Segments that read it through several caches share it.
struct Source {
    home: Arc<dyn SegmentStore>,
    name: String,
    /// Opened when it is first read.
    file: OnceLock<Arc<dyn File>>,
    /// The tables that have keys in it, once a merge has asked.
    tables: OnceLock<Box<[HeldTable]>>,
    doomed: AtomicBool,
}

impl Source {
    fn new(reader: &Reader, meta: &Meta) -> Source {
        let (home, name) = (reader.home.clone(), meta.name());
        let (file, tables) = (OnceLock::new(), OnceLock::new());
        Source { home, name, file, tables, doomed: AtomicBool::new(false) }
    }

    /// Opens the file, and checks its length; returns it with its footer.
    fn open(&self, half: Half, meta: &Meta) -> Result<(Arc<dyn File>, Footer), StoreError> {
        let name = self.home.describe(&self.name);
        let file = self.home.open(&self.name).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => StoreError::Missing { file: name.clone() },
            _ => StoreError::io("cannot open", name.clone())(e),
        })?;
        let len = file.len().map_err(StoreError::io("cannot measure", name.clone()))?;
        let at = meta.bytes.wrapping_sub(FOOTER as u64);
        let bad = corrupt(&name, at);
        if len != meta.bytes || meta.bytes < FOOTER as u64 {
            return Err(bad("the length of the file does not match the manifest"));
        }
        let mut bytes = [0; FOOTER];
        file.read_exact_at(&mut bytes, at).map_err(StoreError::io("cannot read", name.clone()))?;
        let footer = Footer::decode(&bytes, &name, at)?;
        let csns = (footer.csns.0.wrapping_add(meta.shift), footer.csns.1.wrapping_add(meta.shift));
        let counts = (footer.salt, footer.half, footer.keys, footer.entries, csns);
        if counts != (meta.salt, half, meta.keys, meta.entries, meta.csns)
            || meta.outline.is_some_and(|outline| outline != footer.outline())
        {
            return Err(bad("the footer does not match the segment's entry in the manifest"));
        }
        if footer.guide.0.checked_add(footer.guide.1) != Some(at) {
            return Err(bad("the guide does not end at the footer"));
        }
        Ok((file, footer))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if self.doomed.load(Ordering::Acquire) {
            // If this fails, the file is an orphan, and the next opening removes it.
            let _ = self.home.delete(&self.name);
        }
    }
}

/// The tools that read segments.
#[derive(Clone)]
pub struct Reader {
    pub home: Arc<dyn SegmentStore>,
    pub cache: Arc<Cache>,
    pub resolve: Resolve,
}

impl Reader {
    /// The same, with another cache.
    pub fn through(&self, cache: &Arc<Cache>) -> Reader {
        Reader { cache: cache.clone(), ..self.clone() }
    }
}

impl Segment {
    /// Opens the segment that a manifest or a commit names, and checks its footer against that.
    pub fn open(reader: &Reader, half: Half, mut meta: Meta) -> Result<Segment, StoreError> {
        let source = Arc::new(Source::new(reader, &meta));
        let (file, footer) = source.open(half, &meta)?;
        meta.outline = Some(footer.outline());
        source.file.get_or_init(|| file);
        Ok(Segment { meta, footer, reader: reader.clone(), source })
    }

    /// Makes the segment from its manifest entry without opening the file: the first read opens the file and checks the
    /// footer. If the entry lacks the fields of the footer, this is the same as [`Segment::open`].
    pub fn named(reader: &Reader, half: Half, meta: Meta) -> Result<Segment, StoreError> {
        let Some(outline) = meta.outline else { return Segment::open(reader, half, meta) };
        let file = || reader.home.describe(&meta.name());
        if outline.format > FORMAT {
            return Err(StoreError::Version { file: file(), found: outline.format, known: FORMAT });
        }
        let footer =
            Footer::of(half, &meta, outline).map_err(|what| corrupt(&file(), meta.bytes)(what))?;
        let source = Arc::new(Source::new(reader, &meta));
        Ok(Segment { meta, footer, reader: reader.clone(), source })
    }

    /// The same file, read through another cache.
    pub fn through(&self, cache: &Arc<Cache>) -> Segment {
        Segment {
            meta: self.meta.clone(),
            footer: self.footer,
            reader: self.reader.through(cache),
            source: self.source.clone(),
        }
    }

    /// The open file.
    #[inline]
    fn file(&self) -> Result<&Arc<dyn File>, StoreError> {
        match self.source.file.get() {
            Some(file) => Ok(file),
            None => self.first_opened(),
        }
    }

    #[cold]
    fn first_opened(&self) -> Result<&Arc<dyn File>, StoreError> {
        let (file, _) = self.source.open(self.footer.half, &self.meta)?;
        Ok(self.source.file.get_or_init(|| file))
    }

    /// Returns the cell for the list of tables that have keys in the file. A merge fills it.
    pub fn tables(&self) -> &OnceLock<Box<[HeldTable]>> {
        &self.source.tables
    }

    /// Returns the cache for blocks of the file.
    pub fn cache(&self) -> &Cache {
        &self.reader.cache
    }

    /// Returns the name of the file in messages.
    pub fn describe(&self) -> String {
        self.reader.home.describe(&self.meta.name())
    }

    /// Opens the file anew and checks its footer as it is now. Nothing of it is cached.
    pub fn reopen(&self, half: Half) -> Result<Segment, StoreError> {
        Segment::open(&self.reader.through(&Arc::new(Cache::new(0))), half, self.meta.clone())
    }

    /// The file is removed as soon as the last holder drops the segment.
    pub fn doom(&self) {
        self.source.doomed.store(true, Ordering::Release);
    }

    /// Reads and checks the part at an offset.
    fn part(&self, offset: u64, len: u64) -> Result<Vec<u8>, StoreError> {
        match self.part_or_packed(offset, len)? {
            (_, true) => Err(self.damaged(offset, "a part is a packed block where none can be")),
            (part, false) => Ok(part),
        }
    }

    /// The same, and whether it is a packed block.
    fn part_or_packed(&self, offset: u64, len: u64) -> Result<(Vec<u8>, bool), StoreError> {
        let read = |bytes: &mut [u8]| {
            self.file()?
                .read_exact_at(bytes, offset)
                .map_err(|e| StoreError::io("cannot read", self.describe())(e))?;
            self.decode_part(bytes, offset)
        };
        let len = len as usize;
        if len > KEPT_READ_BYTES {
            return read(&mut vec![0; len]);
        }
        READ.with_borrow_mut(|buffer| {
            buffer.resize(buffer.len().max(len), 0);
            read(&mut buffer[..len])
        })
    }

    /// Checks and decompresses the part at an offset, and tells whether it is a packed block.
    fn decode_part(&self, bytes: &[u8], offset: u64) -> Result<(Vec<u8>, bool), StoreError> {
        let part = part::decode(bytes, self.meta.salt, offset)
            .map_err(|what| corrupt(&self.describe(), offset)(what))?;
        Ok((part, part::is_packed(bytes)))
    }

    /// Returns the half that it belongs to.
    pub fn half(&self) -> Half {
        self.footer.half
    }

    /// True if a compaction has packed the blocks for which that is worthwhile.
    pub fn is_packed(&self) -> bool {
        self.footer.is_packed
    }

    /// Reads the block of groups at an offset.
    fn groups(&self, info: &BlockInfo) -> Result<Vec<u8>, StoreError> {
        self.groups_of(self.part_or_packed(info.offset, u64::from(info.len))?, info)
    }

    /// Returns the block of groups that a part is, or that a packed one becomes.
    fn groups_of(
        &self,
        (raw, is_packed): (Vec<u8>, bool),
        info: &BlockInfo,
    ) -> Result<Vec<u8>, StoreError> {
        if !is_packed {
            return Ok(raw);
        }
        // The commits of a load are not known when its files are written.
        if self.meta.shift != 0 || !self.is_packed() {
            return Err(self.damaged(info.offset, "a packed block in a file that can have none"));
        }
        pack::expand(&raw, &self.reader.resolve).map_err(|what| self.damaged(info.offset, what))
    }

    /// Reads the guide past the cache.
    pub fn load_guide(&self) -> Result<Guide, StoreError> {
        let (offset, len) = self.footer.guide;
        let Footer { format, blocks, .. } = self.footer;
        let guide = Guide::decode(self.part(offset, len)?, format, blocks, self.meta.shift);
        let guide =
            guide.ok_or_else(|| corrupt(&self.describe(), offset)("the guide is malformed"))?;
        let end = guide.blocks.last().map_or(0, |b| b.offset + u64::from(b.len));
        if end != offset {
            return Err(corrupt(&self.describe(), offset)("the blocks do not end at the guide"));
        }
        Ok(guide)
    }

    /// The error for something at an offset that is not as it must be.
    pub fn damaged(&self, offset: u64, what: &'static str) -> StoreError {
        corrupt(&self.describe(), offset)(what)
    }

    /// Reads the header of a block of columns past the cache.
    fn load_columns(&self, info: &BlockInfo) -> Result<ColumnBlock, StoreError> {
        let at = info.offset + u64::from(info.len - info.header);
        let raw = self.part(at, u64::from(info.header))?;
        ColumnBlock::decode(&raw, at)
            .ok_or_else(|| self.damaged(at, "the header of a block of columns is malformed"))
    }

    /// The header of block `i`, which has columns, cached.
    pub fn columns(&self, guide: &Guide, i: usize) -> Result<Arc<ColumnBlock>, StoreError> {
        let place = (self.meta.number, HEADERS | i as u64);
        if let Some(Cached::Columns(columns)) = self.reader.cache.get(place) {
            return Ok(columns);
        }
        let columns = Arc::new(self.load_columns(&guide.blocks[i])?);
        self.reader.cache.insert(place, Cached::Columns(columns.clone()));
        Ok(columns)
    }

    /// A part of a block of columns, cached.
    pub fn column_part(&self, offset: u64, len: u32) -> Result<Arc<[u8]>, StoreError> {
        let place = (self.meta.number, PARTS | offset);
        if let Some(Cached::Part(part)) = self.reader.cache.get(place) {
            return Ok(part);
        }
        let part: Arc<[u8]> = self.part(offset, u64::from(len))?.into();
        self.reader.cache.insert(place, Cached::Part(part.clone()));
        Ok(part)
    }

    /// Reads a block past the cache, and the parts of a block of columns through it.
    pub fn load_block(&self, info: &BlockInfo) -> Result<Block, StoreError> {
        if info.header > 0 {
            let columns = self.load_columns(info)?;
            let decoder =
                (self.reader.resolve)(columns.table()).column_decoder().ok_or_else(|| {
                    self.damaged(info.offset, "the block has columns, and its table has none")
                })?;
            return columns.to_block(self, &*decoder).map_err(|error| match error {
                ColumnError::Store(error) => error,
                ColumnError::Damaged(what) => self.damaged(info.offset, what),
            });
        }
        self.decode_block(self.groups(info)?, info)
    }

    fn decode_block(&self, raw: Vec<u8>, info: &BlockInfo) -> Result<Block, StoreError> {
        Block::decode(raw, self.meta.shift)
            .ok_or_else(|| corrupt(&self.describe(), info.offset)("a block is malformed"))
    }

    /// Reads every part past the cache, and so checks all checksums. Nothing is decoded.
    pub fn check_parts(&self) -> Result<(), StoreError> {
        for info in self.load_guide()?.blocks() {
            if info.header == 0 {
                self.part_or_packed(info.offset, u64::from(info.len))?;
                continue;
            }
            // Parts before the block belong to its stripe, and were read with the first block of that.
            let columns = self.load_columns(info)?;
            for (offset, len) in columns.parts().filter(|(offset, _)| *offset >= info.offset) {
                self.part(offset, u64::from(len))?;
            }
        }
        Ok(())
    }

    /// The bytes of the blocks that begin with a key of a table.
    pub fn table_bytes(&self, table: TableId) -> Result<u64, StoreError> {
        let guide = self.guide()?;
        let (first, after) = (key::full(table, &[]), key::after(table));
        Ok(guide.end_of(guide.before(&after, 0)) - guide.end_of(guide.before(&first, 0)))
    }

    /// The bytes of the blocks that may have a key of a table, which has some in the segment.
    pub fn table_bytes_most(&self, table: TableId) -> Result<u64, StoreError> {
        let guide = self.guide()?;
        let (first, after) = (key::full(table, &[]), key::after(table));
        let before = guide.before(&first, 0).saturating_sub(1);
        Ok(guide.end_of(guide.before(&after, 0)) - guide.end_of(before))
    }

    /// The guide, cached.
    #[inline]
    pub fn guide(&self) -> Result<Arc<Guide>, StoreError> {
        if let Some(Cached::Guide(guide)) = self.reader.cache.get((self.meta.number, GUIDE)) {
            return Ok(guide);
        }
        let guide = Arc::new(self.load_guide()?);
        self.reader.cache.insert((self.meta.number, GUIDE), Cached::Guide(guide.clone()));
        Ok(guide)
    }

    /// Block `i`, cached.
    #[inline]
    pub fn block(&self, guide: &Guide, i: usize) -> Result<Arc<Block>, StoreError> {
        match self.cached_block(i) {
            Some(block) => Ok(block),
            None => self.load_to_cache(guide, i),
        }
    }

    /// Block `i`, which is not in the cache, and goes there.
    pub fn load_to_cache(&self, guide: &Guide, i: usize) -> Result<Arc<Block>, StoreError> {
        let block = Arc::new(self.load_block(&guide.blocks[i])?);
        let place = (self.meta.number, i as u64);
        self.reader.cache.insert(place, Cached::Block(block.clone()));
        Ok(block)
    }

    /// Block `i` if it is in the cache.
    #[inline]
    pub fn cached_block(&self, i: usize) -> Option<Arc<Block>> {
        match self.reader.cache.get((self.meta.number, i as u64)) {
            Some(Cached::Block(block)) => Some(block),
            _ => None,
        }
    }

    /// As [`Segment::block`]. A block that is not in the cache does not go there, if `is_passing`.
    pub fn block_in_passing(
        &self,
        guide: &Guide,
        i: usize,
        is_passing: bool,
    ) -> Result<Arc<Block>, StoreError> {
        if !is_passing {
            return self.block(guide, i);
        }
        match self.cached_block(i) {
            Some(block) => Ok(block),
            None => self.load_block(&guide.blocks[i]).map(Arc::new),
        }
    }

    /// Block `i`, which is not in the cache and does not go there, for a reader that wants the blocks behind it next: it
    /// reads several blocks of rows together.
    pub fn load_ahead(
        &self,
        guide: &Guide,
        i: usize,
        ahead: &mut ReadAhead,
    ) -> Result<Arc<Block>, StoreError> {
        let info = &guide.blocks[i];
        let len = u64::from(info.len);
        if info.header > 0 || len > READ_AHEAD_BYTES {
            return self.load_block(info).map(Arc::new);
        }
        if ahead.file != self.meta.number || ahead.part(info).is_none() {
            let end = (info.offset + READ_AHEAD_BYTES).min(self.footer.guide.0);
            // Nothing of it is known before it was read.
            ahead.file = 0;
            ahead.bytes.resize((end - info.offset) as usize, 0);
            self.file()?
                .read_exact_at(&mut ahead.bytes, info.offset)
                .map_err(|e| StoreError::io("cannot read", self.describe())(e))?;
            (ahead.file, ahead.offset) = (self.meta.number, info.offset);
        }
        let part = ahead.part(info).ok_or_else(|| {
            self.damaged(info.offset, "a block ends behind the blocks of its segment")
        })?;
        let raw = self.groups_of(self.decode_part(part, info.offset)?, info)?;
        self.decode_block(raw, info).map(Arc::new)
    }

    /// The state of `key` (whose hash is `hash`) at `at`, where a group of it here begins at or below.
    #[inline]
    pub fn find(
        &self,
        key: &[u8],
        hash: u64,
        at: u64,
    ) -> Result<Option<(Arc<Block>, GroupSpan, Found)>, StoreError> {
        let guide = self.guide()?;
        if !guide.may_hold(hash) {
            return Ok(None);
        }
        let Some(i) = guide.before(key, at.saturating_add(1)).checked_sub(1) else {
            return Ok(None);
        };
        let block = self.block(&guide, i)?;
        Ok(block.find(key, at).map(|(place, found)| (block, place, found)))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if self.source.doomed.load(Ordering::Acquire) {
            self.reader.cache.forget(self.meta.number, self.footer.blocks);
        }
    }
}
