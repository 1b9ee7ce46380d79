//! Writing a run: groups in order become blocks, blocks become segment files.
//!
//! ```text
//!   entries of a key ──HistoryWriter──> groups ──RunWriter──> blocks ──> segment, segment, ...
//!     drops images that deltas               cuts at block_bytes, at segment_bytes
//!     make redundant
//! ```
//!
//! A run that is not finished leaves nothing behind: dropping the writer removes its files.
//!
//! # Invariants
//! * Groups come in the order of (key, first commit).
//! * Every file is durable before [`RunWriter::finish`] returns; its *name* is made durable by the
//!   manifest swap that follows.
//! * Each group of a history run begins with an anchor.

use crate::block::BlockBuilder;
use crate::columns::{ColumnBlock, ColumnEncoder, EncodedPart, StripeBuilder, StripeRows};
use crate::error::StoreError;
use crate::filter;
use crate::group::{self, Group, Tag};
use crate::pack;
use crate::part::{self, Codec};
use crate::segment::{Footer, Guide, Half, IndexEntry, Meta, bulk_number};
use crate::segment_store::{SegmentSink, SegmentStore};
use crate::store::Resolve;
use crate::{Compression, Csn, Table, TableId, key};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vfs::Random;

/// Bytes gathered before they are given to the file.
const BUFFER: usize = 256 << 10;
/// An image that follows so many deltas is kept, whatever the table returns.
const DELTAS_MAX: u32 = 4096;

/// The state that every writer of segments needs.
#[derive(Clone)]
pub struct WriterContext {
    pub home: Arc<dyn SegmentStore>,
    pub random: Arc<dyn Random>,
    pub resolve: Resolve,
    /// The next number of a file.
    pub next: Arc<AtomicU64>,
    pub segment_bytes: usize,
    pub current_block_bytes: usize,
    pub history_block_bytes: usize,
}

/// Larger blocks are not kept: they hold one large value, which is not likely to be read soon.
const KEPT_BLOCK_BYTES: usize = 512 << 10;
/// Large values are compressed at this level at least: they are written once for many changes.
const LEVEL_LARGE: i32 = 9;

/// Blocks of rows of a run, as [`BlockBuilder::finish`] has made them, each with the number of its file and its number
/// there.
#[derive(Default)]
pub struct RawBlocks {
    pub blocks: Vec<(u64, u64, Vec<u8>)>,
    bytes: usize,
    /// The limit of `bytes`. A run with more bytes keeps no blocks.
    bytes_max: usize,
}

impl RawBlocks {
    /// Takes what is in `raw`, if it is to be kept.
    fn keep(&mut self, file: u64, block: u64, raw: &mut Vec<u8>) {
        self.bytes += raw.len();
        if self.bytes <= self.bytes_max {
            self.blocks.push((file, block, std::mem::take(raw)));
        } else {
            self.blocks = Vec::new();
        }
    }
}

/// Current values of at least so many bytes are packed in blocks of the size of history blocks. They are parts of
/// documents, and a reader of one part mostly reads the others too.
const PACKED_VALUE_BYTES: usize = 1 << 10;
/// A packed history leaves out an image that follows from fewer deltas than this, which are smaller than the image. A
/// packed image takes no bytes in the file, but time when its block is expanded, and space in the cache.
const PACKED_DELTAS: u32 = 64;

/// The files of one run while they are written.
pub struct RunWriter {
    writer_context: WriterContext,
    half: Half,
    level: i32,
    bulk: bool,
    scratch: bool,
    block: BlockBuilder,
    raw: Vec<u8>,
    /// Entries that become a stripe of columns. Empty where `block` is not.
    stripe: StripeBuilder,
    /// The table that was asked last how it keeps its values.
    encoder: Option<(TableId, Option<Arc<dyn ColumnEncoder>>)>,
    /// The table that was asked last whether its blocks are compressed by LZ4, and the answer.
    fast: Option<(TableId, bool)>,
    packing: Option<Packing>,
    open: Option<Open>,
    done: Vec<Meta>,
    kept: RawBlocks,
    finished: bool,
}

/// The state of a writer that packs blocks.
struct Packing {
    level: i32,
    /// The table that was asked last, and whether its values are to be packed.
    table: Option<(TableId, bool)>,
    /// The block at hand has such values.
    block: bool,
}

struct Open {
    meta: Meta,
    file: String,
    sink: Box<dyn SegmentSink>,
    buffer: Vec<u8>,
    sent: u64,
    index: Vec<IndexEntry>,
    hashes: Vec<u64>,
    /// A block was to be compressed by LZ4.
    has_lz4: bool,
}

impl Open {
    fn offset(&self) -> u64 {
        self.sent + self.buffer.len() as u64
    }

    /// Appends a part of columns, which are compressed already. Returns its offset and its length.
    fn column_part(&mut self, bytes: &[u8]) -> (u64, u32) {
        let offset = self.offset();
        part::encode_raw(bytes, self.meta.salt, offset, &mut self.buffer);
        (offset, (self.offset() - offset) as u32)
    }

    fn send(&mut self) -> Result<(), StoreError> {
        if !self.buffer.is_empty() {
            self.sink
                .append(&self.buffer)
                .map_err(StoreError::io("cannot write", self.file.as_str()))?;
            self.sent += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl RunWriter {
    /// Begins a run; blocks are compressed at `level`.
    pub fn new(writer_context: &WriterContext, half: Half, level: i32) -> RunWriter {
        RunWriter {
            writer_context: writer_context.clone(),
            half,
            level,
            bulk: false,
            scratch: false,
            block: BlockBuilder::default(),
            raw: Vec::new(),
            stripe: StripeBuilder::default(),
            encoder: None,
            fast: None,
            packing: None,
            open: None,
            done: Vec::new(),
            kept: RawBlocks::default(),
            finished: false,
        }
    }

    /// Keeps the blocks of rows up to 512 KiB, if the run has no more than so many bytes of them.
    pub fn keeping(mut self, bytes_max: usize) -> RunWriter {
        self.kept.bytes_max = bytes_max;
        self
    }

    /// True if the values of a block of current images are so large that a point read of one is
    /// not the common case: they are whole documents or parts of them.
    fn is_large(&self, bytes: usize, count: usize) -> bool {
        self.half == Half::Current
            && bytes * 2 >= self.writer_context.current_block_bytes * count.max(1)
    }

    /// Returns true if the block is of a table whose newest values are compressed for fast reads.
    fn is_fast(&mut self) -> bool {
        if self.half == Half::History || self.block.is_empty() {
            return false;
        }
        let table = key::split(self.block.first_key()).0;
        match self.fast {
            Some((known, is_fast)) if known == table => is_fast,
            _ => {
                let is_fast =
                    (self.writer_context.resolve)(table).compression() == Compression::Fast;
                self.fast = Some((table, is_fast));
                is_fast
            }
        }
    }

    /// Packs the blocks of tables that have a packer, and compresses these at `level`.
    pub fn packing(mut self, level: i32) -> RunWriter {
        self.packing = Some(Packing { level, table: None, block: false });
        self
    }

    /// True if the values of a table are to be packed.
    pub fn packs(&mut self, table: TableId) -> bool {
        let Some(packing) = &mut self.packing else { return false };
        match packing.table {
            Some((known, packs)) if known == table => packs,
            _ => {
                let packs = (self.writer_context.resolve)(table).packer().is_some();
                packing.table = Some((table, packs));
                packs
            }
        }
    }

    /// Names the files as those of a bulk load.
    pub fn for_bulk(mut self) -> RunWriter {
        self.bulk = true;
        self
    }

    /// The same, of files that only this process reads, and that are not durable.
    pub fn for_scratch(mut self) -> RunWriter {
        self.scratch = true;
        self.for_bulk()
    }

    /// True for [`RunWriter::for_scratch`].
    pub fn is_scratch(&self) -> bool {
        self.scratch
    }

    /// Adds a group.
    pub fn push(&mut self, key: &[u8], group: &Group) -> Result<(), StoreError> {
        if let Some(encoder) = self.encoder_for(key, group) {
            self.end_block()?;
            if self.stripe.is_full_for(key, group.bytes()) {
                self.end_stripe()?;
            }
            self.note(key, group)?;
            self.stripe.push(key, group, encoder);
            return Ok(());
        }
        self.end_stripe()?;
        let packs = self.packs(key::split(key).0);
        if self.is_full_for(key, group) {
            self.end_block()?;
            self.end_full_segment()?;
        }
        if let Some(packing) = &mut self.packing {
            packing.block |= packs;
        }
        self.note(key, group)?;
        self.block.push(key, group);
        Ok(())
    }

    /// Entries of the table are kept in columns by this encoder, as long as no other table comes between.
    pub fn encode_by(&mut self, table: TableId, encoder: Arc<dyn ColumnEncoder>) {
        self.encoder = Some((table, Some(encoder)));
    }

    /// Returns the encoder that keeps such an entry in columns; `None` if it is kept as a row.
    fn encoder_for(&mut self, key: &[u8], group: &Group) -> Option<Arc<dyn ColumnEncoder>> {
        match group.view().entries().any(|entry| entry.tag == Tag::Delta) {
            true => None,
            false => self.encoder_of(key::split(key).0),
        }
    }

    /// Returns the encoder that keeps the entries of a table in columns; `None` if they are kept
    /// as rows.
    pub fn encoder_of(&mut self, table: TableId) -> Option<Arc<dyn ColumnEncoder>> {
        if self.scratch {
            return None;
        }
        if self.encoder.as_ref().is_none_or(|(known, _)| *known != table) {
            self.encoder = Some((table, (self.writer_context.resolve)(table).column_encoder()));
        }
        let encoder = self.encoder.as_ref().and_then(|(_, encoder)| encoder.as_ref());
        encoder.filter(|one| self.half == Half::Current || one.takes_history()).cloned()
    }

    /// True if a group does not belong into the block.
    fn is_full_for(&mut self, key: &[u8], group: &Group) -> bool {
        let packs = self.packs(key::split(key).0);
        // Small blocks make for quick point reads; where values are large, one block holds several
        // all the same, because what they have in common compresses away only within a block.
        let limit = match self.half {
            Half::Current if packs && group.bytes() >= PACKED_VALUE_BYTES => {
                self.writer_context.history_block_bytes
            }
            Half::Current if !self.is_large(group.bytes(), 1) => {
                self.writer_context.current_block_bytes
            }
            Half::Current | Half::History => self.writer_context.history_block_bytes,
        };
        !self.block.is_empty() && self.block.bytes() + BlockBuilder::cost(key, group) > limit
    }

    /// Counts a group in the segment that it goes to.
    fn note(&mut self, key: &[u8], group: &Group) -> Result<(), StoreError> {
        if self.open.is_none() {
            self.open = Some(self.begin_segment()?);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let meta = &mut open.meta;
        if meta.keys == 0 || meta.last_key != key {
            assert!(meta.keys == 0 || meta.last_key.as_slice() < key, "groups come in key order");
            meta.keys += 1;
            meta.last_key.clear();
            meta.last_key.extend_from_slice(key);
            open.hashes.push(filter::hash(key));
        }
        if meta.entries == 0 {
            meta.first = (key.to_vec(), group.first());
            meta.csns = (group.first(), group.tail().csn);
        }
        meta.csns = (meta.csns.0.min(group.first()), meta.csns.1.max(group.tail().csn));
        meta.entries += u64::from(group.len());
        Ok(())
    }

    fn begin_segment(&self) -> Result<Open, StoreError> {
        let number = self.writer_context.next.fetch_add(1, Ordering::Relaxed);
        let meta = Meta {
            number: if self.bulk {
                bulk_number(number, &*self.writer_context.random)
            } else {
                number
            },
            salt: self.writer_context.random.next_u64(),
            bytes: 0,
            shift: 0,
            bulk: self.bulk,
            keys: 0,
            entries: 0,
            csns: (0, 0),
            first: (Vec::new(), 0),
            last_key: Vec::new(),
            outline: None,
        };
        let file = self.writer_context.home.describe(&meta.name());
        let (home, name) = (&self.writer_context.home, meta.name());
        let sink = if self.scratch { home.create_scratch(&name) } else { home.create(&name) };
        let sink = sink.map_err(StoreError::io("cannot create", file.as_str()))?;
        Ok(Open {
            meta,
            file,
            sink,
            buffer: Vec::new(),
            sent: 0,
            index: Vec::new(),
            hashes: Vec::new(),
            has_lz4: false,
        })
    }

    fn end_block(&mut self) -> Result<(), StoreError> {
        let large = self.is_large(self.block.bytes(), self.block.count());
        let level = if large && !self.bulk { self.level.max(LEVEL_LARGE) } else { self.level };
        let codec = match self.scratch || !large && self.is_fast() {
            true => Codec::Lz4,
            false => Codec::Zstd(level),
        };
        let Some(open) = self.open.as_mut().filter(|_| !self.block.is_empty()) else {
            return Ok(());
        };
        let (key, first, csns) =
            (self.block.first_key().to_vec(), self.block.first(), self.block.csns());
        self.raw.clear();
        self.block.finish(&mut self.raw);
        let offset = open.offset();
        let packed = self.packing.as_mut().and_then(|packing| {
            let has_packer = std::mem::take(&mut packing.block);
            let level = if has_packer { packing.level } else { LEVEL_LARGE }.max(level);
            Some((level, pack::pack(&self.raw, &self.writer_context.resolve)?))
        });
        let salt = open.meta.salt;
        match packed {
            Some((level, packed)) => {
                part::encode_packed(&packed, salt, offset, level, &mut open.buffer)
            }
            None => {
                open.has_lz4 |= codec == Codec::Lz4;
                part::encode(&self.raw, salt, offset, codec, &mut open.buffer);
            }
        }
        let len = (open.offset() - offset) as u32;
        if self.raw.len() <= KEPT_BLOCK_BYTES {
            self.kept.keep(open.meta.number, open.index.len() as u64, &mut self.raw);
        }
        open.index.push(IndexEntry { key, first, csns, len, header: 0 });
        if open.buffer.len() >= BUFFER { open.send() } else { Ok(()) }
    }

    /// Writes the entries that wait for their stripe.
    fn end_stripe(&mut self) -> Result<(), StoreError> {
        if self.stripe.is_empty() {
            return Ok(());
        }
        let mut stripe = std::mem::take(&mut self.stripe);
        if let Some((rows, encoder)) = stripe.rows() {
            self.write_stripe(&rows, encoder)?;
        }
        stripe.clear();
        self.stripe = stripe;
        Ok(())
    }

    /// Adds the entries of a complete stripe.
    pub fn push_stripe(
        &mut self,
        rows: &StripeRows<'_>,
        encoder: &dyn ColumnEncoder,
    ) -> Result<(), StoreError> {
        self.end_block()?;
        self.end_stripe()?;
        rows.each(|key, group| self.note(key, group))?;
        self.write_stripe(rows, encoder)
    }

    /// Writes a stripe: as columns, unless the encoder prefers rows.
    fn write_stripe(
        &mut self,
        stripe: &StripeRows<'_>,
        encoder: &dyn ColumnEncoder,
    ) -> Result<(), StoreError> {
        match stripe.encode(encoder) {
            None => {
                stripe.each(|key, group| {
                    if self.is_full_for(key, group) {
                        self.end_block()?;
                    }
                    self.block.push(key, group);
                    Ok::<(), StoreError>(())
                })?;
                self.end_block()?;
            }
            Some(encoded) => {
                let Some(open) = self.open.as_mut() else { return Ok(()) };
                let mut begin = open.offset();
                let shared: Vec<(u64, u32)> =
                    encoded.shared.iter().map(|part| open.column_part(part)).collect();
                let mut row = 0;
                for encoded in encoded.blocks {
                    let rows = encoded.rows;
                    let block = stripe.block(row, encoded);
                    let mut parts: Vec<(u64, u32)> =
                        block.own.iter().map(|part| open.column_part(part)).collect();
                    parts.extend(block.encoded.parts.iter().map(|part| match part {
                        EncodedPart::Own(bytes) => open.column_part(bytes),
                        EncodedPart::Shared(index) => shared[*index],
                    }));
                    let offset = open.offset();
                    self.raw.clear();
                    ColumnBlock::write(&block, &parts, offset, &mut self.raw);
                    let (salt, codec) = (open.meta.salt, Codec::Zstd(self.level));
                    part::encode(&self.raw, salt, offset, codec, &mut open.buffer);
                    let end = open.offset();
                    open.index.push(IndexEntry {
                        key: block.first_key.to_vec(),
                        first: block.first,
                        csns: block.csns,
                        len: (end - begin) as u32,
                        header: (end - offset) as u32,
                    });
                    (row, begin) = (row + rows, end);
                    if open.buffer.len() >= BUFFER {
                        open.send()?;
                    }
                }
            }
        }
        self.end_full_segment()
    }

    fn end_full_segment(&mut self) -> Result<(), StoreError> {
        let is_full = |open: &Open| open.offset() >= self.writer_context.segment_bytes as u64;
        if self.open.as_ref().is_some_and(is_full) { self.end_segment() } else { Ok(()) }
    }

    fn end_segment(&mut self) -> Result<(), StoreError> {
        let Some(open) = self.open.as_mut() else { return Ok(()) };
        let start = open.offset();
        let format = IndexEntry::format_of(&open.index, self.packing.is_some(), open.has_lz4);
        let mut index = Vec::new();
        open.index.iter().for_each(|entry| entry.write(format, &mut index));
        let guide = Guide::encode(&index, &filter::build(&open.hashes));
        part::encode(&guide, open.meta.salt, start, Codec::Zstd(3), &mut open.buffer);
        let footer = Footer {
            format,
            half: self.half,
            is_packed: self.packing.is_some(),
            salt: open.meta.salt,
            guide: (start, open.offset() - start),
            blocks: open.index.len() as u32,
            keys: open.meta.keys,
            entries: open.meta.entries,
            csns: open.meta.csns,
        };
        open.buffer.extend_from_slice(&footer.encode());
        open.send()?;
        open.sink.finish().map_err(StoreError::io("cannot sync", open.file.as_str()))?;
        open.meta.bytes = open.sent;
        open.meta.outline = Some(footer.outline());
        self.done.extend(self.open.take().map(|o| o.meta));
        Ok(())
    }

    /// Ends the segment: the next group begins another one.
    pub fn cut(&mut self) -> Result<(), StoreError> {
        self.end_block()?;
        self.end_stripe()?;
        self.end_segment()
    }

    /// Ends the run and returns its files, which are complete, and durable unless they are scratch files. Returns
    /// none if no group was pushed.
    pub fn finish(self) -> Result<Vec<Meta>, StoreError> {
        Ok(self.finish_with_blocks()?.0)
    }

    /// The same, with the blocks that were kept.
    pub fn finish_with_blocks(mut self) -> Result<(Vec<Meta>, RawBlocks), StoreError> {
        self.cut()?;
        self.finished = true;
        Ok((std::mem::take(&mut self.done), std::mem::take(&mut self.kept)))
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        for meta in self.done.iter().chain(self.open.as_ref().map(|o| &o.meta)) {
            // Where this fails the file is an orphan, and the next opening removes it.
            let _ = self.writer_context.home.delete(&meta.name());
        }
    }
}

/// Turns the entries of each key, oldest first, into groups of a history run.
pub struct HistoryWriter {
    run: RunWriter,
    key: Vec<u8>,
    group: Group,
    table: Option<Arc<dyn Table>>,
    /// Values of the key are to be packed.
    packs: bool,
    /// Since the last anchor.
    delta_bytes: usize,
    deltas: u32,
    last: Option<u64>,
}

impl HistoryWriter {
    /// Begins a history run.
    pub fn new(writer_context: &WriterContext, level: i32) -> HistoryWriter {
        HistoryWriter {
            run: RunWriter::new(writer_context, Half::History, level),
            key: Vec::new(),
            group: Group::default(),
            table: None,
            packs: false,
            delta_bytes: 0,
            deltas: 0,
            last: None,
        }
    }

    /// As [`RunWriter::packing`].
    pub fn packing(mut self, level: i32) -> HistoryWriter {
        self.run = self.run.packing(level);
        self
    }

    /// Begins a key, above the one before.
    pub fn begin(&mut self, key: &[u8], table: &Arc<dyn Table>) -> Result<(), StoreError> {
        self.end()?;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.table = Some(table.clone());
        self.packs = self.run.packs(key::split(key).0);
        (self.delta_bytes, self.deltas, self.last) = (0, 0, None);
        Ok(())
    }

    /// Adds an entry of the key. An image that the deltas before it make redundant is left out.
    pub fn entry(&mut self, csn: u64, tag: Tag, bytes: &[u8]) -> Result<(), StoreError> {
        match tag {
            Tag::Image if self.last == Some(csn) && !self.wants_image(bytes.len()) => return Ok(()),
            Tag::Delta if self.last.is_none() => {
                return Err(StoreError::NoBase { table: key::split(&self.key).0, csn: Csn(csn) });
            }
            Tag::Delta => {
                self.delta_bytes += bytes.len();
                self.deltas += 1;
            }
            _ => {}
        }
        if tag != Tag::Delta {
            (self.delta_bytes, self.deltas) = (0, 0);
            if group::is_full(self.group.len(), self.group.bytes() + bytes.len()) {
                self.end()?;
            }
        }
        self.group.push(csn, tag, bytes);
        self.last = Some(csn);
        Ok(())
    }

    /// As [`RunWriter::cut`], between two keys.
    pub fn cut(&mut self) -> Result<(), StoreError> {
        self.end()?;
        self.run.cut()
    }

    fn wants_image(&self, image_bytes: usize) -> bool {
        if self.packs && self.deltas < PACKED_DELTAS && self.delta_bytes < image_bytes {
            return false;
        }
        let asks = |t: &Arc<dyn Table>| t.rebase(image_bytes, self.delta_bytes);
        self.deltas > 0 && (self.deltas >= DELTAS_MAX || self.table.as_ref().is_some_and(asks))
    }

    fn end(&mut self) -> Result<(), StoreError> {
        if !self.group.is_empty() {
            self.run.push(&self.key, &self.group)?;
            self.group.clear();
        }
        Ok(())
    }

    /// Ends the run.
    pub fn finish(mut self) -> Result<Vec<Meta>, StoreError> {
        self.end()?;
        self.run.finish()
    }
}
