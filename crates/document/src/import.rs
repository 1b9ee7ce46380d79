//! Importing a document as a stream: text of any size in a bounded amount of memory.
//!
//! The parser hands over one node after another; nodes fill chunks, and a chunk is written to a
//! segment file of the store as soon as it is complete. Nothing large passes through the log: the
//! commit names the file.
//!
//! ```text
//!   text ─> parser ─> nodes ─> [ chunk n ] ─ window of 64 chunks ─> segment file, in order
//!                                                   │
//!                                 a container of the chunk is still open: a straggler,
//!                                 kept, and written with the commit in the end
//! ```
//!
//! How many keys a container takes is known only when it closes, so chunks wait in a window until
//! their containers have closed. Only the chunks of containers that are very long (the root, a large
//! array) outlast the window; there are at most as many of them as the document is deep.
//!
//! Whole documents that fit a buffer, and new values of documents that exist, go the usual way.

use crate::admit::{check_scalar, check_text};
use crate::chunk_buf::ChunkBuf;
use crate::collection::Collection;
use crate::draft::check_name;
use crate::error::DocumentError;
use crate::key::{Prefix, Record};
use crate::limits::limits;
use crate::meta::{Committed, Meta};
use crate::node::Node;
use crate::order::Label;
use crate::paths::{Counts, push_step};
use crate::table::CollectionOptions;
use crate::{CHUNK_NODES, Header, NodeKey, Result, hash};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use json::{Kind, Parser, Sink, Stopped, Tape};
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher;
use std::io::Read;
use store::{Bulk, Csn, StoreError, TableId};

/// Text up to this size, in bytes, is parsed as a whole.
const WHOLE_BYTES_MAX: u64 = 16 << 20;
/// Chunks that wait for their containers to close before they are given up as stragglers.
const WINDOW_CHUNKS: usize = 64;

impl Collection {
    /// Reads a document from a stream and puts it. A new document may be of any size: memory does not
    /// grow with it. A new value for a document that exists is matched with the old one, node by node,
    /// and both are held in memory meanwhile.
    ///
    /// No lock is held while the stream is read. Where another writer makes the document during a stream of more than
    /// 16 MiB, this fails with [`DocumentError::Conflict`]: the document exists then, and is not replaced unseen.
    ///
    /// In a stream of more than 16 MiB a field that its object has already is an error; in smaller
    /// ones the last value wins, as in [`put`](Collection::put).
    pub fn import(&self, key: &str, mut reader: impl Read, meta: &Meta) -> Result<Committed> {
        let mut start = Vec::new();
        let io = |source: std::io::Error| DocumentError::Read(source);
        reader.by_ref().take(WHOLE_BYTES_MAX).read_to_end(&mut start).map_err(io)?;
        if (start.len() as u64) < WHOLE_BYTES_MAX {
            return self.put_with(key, &start, meta);
        }
        let rest = start.as_slice().chain(reader);
        // A writer that may not write learns it before it sends the rest. The document's lock is given back: nobody
        // waits for a reader that may be a client.
        let exists = self.begin_write(key, meta)?.working.found().revision.0 > 0;
        if exists {
            let tape = Tape::read_with(rest, &limits())?;
            return self.put_tape(key, &tape, meta);
        }
        let engine = self.engine().clone();
        let (options, prefix) = (self.options(), Prefix::new(key)?);
        let mut chunks = Chunks::new(engine.store().bulk(), self.id(), &prefix, &options);
        if let Err(error) = Parser::new(rest).limits(limits()).parse_into(&mut chunks) {
            let place = error.place();
            return Err(match (chunks.error.take(), place) {
                (Some(error), _) if is_taken(&error) => self.made_meanwhile(key, error),
                // The path is not known here, the place in the text is.
                (Some(DocumentError::Unstorable { source, .. }), Some(place)) => {
                    DocumentError::Unstorable { at: place.to_string(), source }
                }
                (Some(stopped), _) => stopped,
                (None, _) => error.into(),
            });
        }
        let counts = chunks.counts.take();
        let (bulk, puts) = match chunks.finish() {
            Err(error) if is_taken(&error) => return Err(self.made_meanwhile(key, error)),
            finished => finished?,
        };
        let mut writing = self.begin_write(key, meta)?;
        let revision = writing.working.found().revision;
        if revision.0 > 0 {
            return Err(DocumentError::Conflict { key: key.to_owned(), revision });
        }
        // From here on the transaction looks after the files, also where it fails.
        writing.txn.attach(bulk.finish()?)?;
        for (number, image) in puts {
            let key = writing.prefix.record(Record::Chunk(number));
            writing.txn.put(self.id(), &key, image)?;
        }
        writing.commit_loaded(counts, meta)
    }

    /// The error of an import that the store has refused: a conflict where another writer has made the document
    /// meanwhile, else that of the store.
    fn made_meanwhile(&self, key: &str, refused: DocumentError) -> DocumentError {
        match self.newest(key) {
            Ok(revision) => DocumentError::Conflict { key: key.to_owned(), revision },
            Err(DocumentError::NoDocument { .. }) => refused,
            Err(error) => error,
        }
    }
}

/// True where the store has refused an entry: a chunk of the document may exist already.
fn is_taken(error: &DocumentError) -> bool {
    matches!(error, DocumentError::Store(StoreError::Bulk { .. }))
}

/// A container that has not closed.
struct Open {
    key: u64,
    count: u32,
    is_object: bool,
    names: HashSet<u64, FixedState>,
    /// Bytes of the path that leads to it.
    path: usize,
}

/// Nodes becoming chunks.
struct Chunks<'a> {
    bulk: Bulk,
    table: TableId,
    prefix: &'a Prefix,
    next: u64,
    open: Vec<Open>,
    name: Option<Vec<u8>>,
    current: ChunkBuf,
    window: VecDeque<(u32, ChunkBuf)>,
    stragglers: BTreeMap<u32, ChunkBuf>,
    hasher: FixedState,
    /// The digest so far, where the collection keeps one.
    digest: Option<u128>,
    /// Nodes by path so far, where the collection keeps a path summary.
    counts: Option<Counts>,
    /// The path of the last node.
    path: Vec<u8>,
    error: Option<DocumentError>,
}

impl<'a> Chunks<'a> {
    fn new(bulk: Bulk, table: TableId, prefix: &'a Prefix, options: &CollectionOptions) -> Self {
        Chunks {
            bulk,
            table,
            prefix,
            next: 1,
            open: Vec::new(),
            name: None,
            current: ChunkBuf::default(),
            window: VecDeque::new(),
            stragglers: BTreeMap::new(),
            hasher: FixedState::default(),
            digest: options.hashes.then_some(0),
            counts: options.path_summary.then(Counts::default),
            path: Vec::new(),
            error: None,
        }
    }

    fn add(&mut self, kind: Kind, text: &[u8]) -> Result<()> {
        let name = self.name.take();
        let admitted = name.as_deref().map_or(Ok(()), check_text);
        admitted
            .and_then(|()| check_scalar(kind, text))
            .map_err(|source| DocumentError::Unstorable { at: String::new(), source })?;
        let key = NodeKey(self.next);
        let mut up = 0;
        if let Some(parent) = self.open.last_mut() {
            up = u32::try_from(key.0 - parent.key)
                .map_err(|_| DocumentError::TooLarge("2^32 nodes below one node"))?;
            parent.count += 1;
            if let Some(name) = &name {
                check_name(name)?;
                if !parent.names.insert(self.hasher.hash_one(name.as_slice())) {
                    let name = String::from_utf8_lossy(name);
                    return Err(DocumentError::BadEdit(format!(
                        "the field \"{name}\" comes twice in one object, which a stream of this size cannot settle"
                    )));
                }
            }
        }
        let node =
            Node { kind, up, extent: 1, count: 0, changed: Csn(0), name: name.as_deref(), text };
        self.current.push_at(key.slot(), &node);
        if let Some(digest) = &mut self.digest {
            let parent = self.open.last().map(|open| NodeKey(open.key));
            *digest = digest.wrapping_add(hash::share(key, parent, &Label::of_key(key), &node));
        }
        if let (Some(counts), Some(open)) = (&mut self.counts, self.open.last()) {
            self.path.truncate(open.path);
            push_step(&mut self.path, name.as_deref());
            counts.add(&self.path, 1);
        }
        self.next += 1;
        if kind.is_container() {
            self.open.push(Open {
                key: key.0,
                count: 0,
                is_object: kind == Kind::Object,
                names: HashSet::default(),
                path: self.path.len(),
            });
        }
        if self.next.is_multiple_of(CHUNK_NODES as u64) {
            let full = std::mem::take(&mut self.current);
            self.window.push_back((key.chunk(), full));
            self.drain(WINDOW_CHUNKS)?;
        }
        Ok(())
    }

    fn close_last(&mut self) -> Result<()> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        debug_assert!(open.is_object || open.names.is_empty());
        let extent = u32::try_from(self.next - open.key)
            .map_err(|_| DocumentError::TooLarge("2^32 nodes below one node"))?;
        let key = NodeKey(open.key);
        let slot = &mut self.holder(key.chunk()).slots[key.slot()];
        (slot.extent, slot.count) = (extent, open.count);
        Ok(())
    }

    /// The chunk of an open container: it has not been written.
    fn holder(&mut self, number: u32) -> &mut ChunkBuf {
        if let Some(straggler) = self.stragglers.get_mut(&number) {
            return straggler;
        }
        match self.window.front().map(|(first, _)| *first) {
            Some(first) if number >= first && ((number - first) as usize) < self.window.len() => {
                &mut self.window[(number - first) as usize].1
            }
            _ => &mut self.current,
        }
    }

    /// Writes chunks until the window holds `keep`; those with an open container stay behind.
    fn drain(&mut self, keep: usize) -> Result<()> {
        while self.window.len() > keep {
            let Some((number, buf)) = self.window.pop_front() else { break };
            // Chunk 0 gets the header in the end.
            let waits =
                number == 0 || self.open.iter().any(|open| NodeKey(open.key).chunk() == number);
            if waits {
                self.stragglers.insert(number, buf);
            } else {
                let mut image = Vec::new();
                buf.encode(&mut image);
                self.bulk.put(self.table, &self.prefix.record(Record::Chunk(number)), &image)?;
            }
        }
        Ok(())
    }

    /// The part that is left for the commit itself.
    #[allow(clippy::type_complexity)] // The sink, and what it has not written: number and image.
    fn finish(mut self) -> Result<(Bulk, Vec<(u32, Vec<u8>)>)> {
        let last = (self.next / CHUNK_NODES as u64) as u32;
        if !self.current.slots.is_empty() {
            let current = std::mem::take(&mut self.current);
            self.window.push_back((last, current));
        }
        self.drain(0)?;
        let header = Header {
            next_key: self.next,
            root: 1,
            nodes: self.next - 1,
            digest: self.digest.unwrap_or(0),
            ..Header::default()
        };
        if let Some(first) = self.stragglers.get_mut(&0) {
            first.header = Some(header);
        }
        let images = self.stragglers.iter().map(|(number, buf)| {
            let mut image = Vec::new();
            buf.encode(&mut image);
            (*number, image)
        });
        let images = images.collect();
        Ok((self.bulk, images))
    }

    fn told(&mut self, result: Result<()>) -> Result<(), Stopped> {
        result.map_err(|error| {
            self.error = Some(error);
            Stopped
        })
    }
}

impl Sink for Chunks<'_> {
    fn name(&mut self, text: &[u8]) -> Result<(), Stopped> {
        self.name = Some(text.to_vec());
        Ok(())
    }

    fn scalar(&mut self, kind: Kind, text: &[u8]) -> Result<(), Stopped> {
        let added = self.add(kind, text);
        self.told(added)
    }

    fn open(&mut self, kind: Kind) -> Result<(), Stopped> {
        let added = self.add(kind, &[]);
        self.told(added)
    }

    fn close(&mut self) -> Result<(), Stopped> {
        let closed = self.close_last();
        self.told(closed)
    }
}
