//! Nodes that become chunks as they come, so that a document of any size is written in a bounded amount of memory.
//!
//! ```text
//!   tokens ─> nodes ─> [ chunk n ] ─ window of 64 chunks ─> the writer's `put`, in order
//!                                         │
//!                       a container of the chunk is still open: a straggler,
//!                       kept, and written in the end
//! ```
//!
//! How many keys a container takes is known only when it closes, so chunks wait in a window until
//! their containers have closed. Only the chunks of containers that are very long (the root, a large
//! array) outlast the window; there are at most as many of them as the document is deep.

use crate::admit::{check_scalar, check_text};
use crate::chunk::Chunk;
use crate::chunk_buf::ChunkBuf;
use crate::draft::check_name;
use crate::error::DocumentError;
use crate::limits::limits;
use crate::node::Node;
use crate::order::Label;
use crate::paths::{Counts, push_step};
use crate::table::CollectionOptions;
use crate::tree::Tree;
use crate::{CHUNK_NODES, Header, NodeKey, Result, hash};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use json::{Kind, Parser, Sink, Stopped};
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher;
use std::io::Read;
use store::Csn;

/// Chunks that wait for their containers to close before they are given up as stragglers.
const WINDOW_CHUNKS: usize = 64;

impl Tree {
    /// The document of a text, in memory.
    pub(crate) fn read(text: impl Read) -> Result<Tree> {
        let mut chunks = BTreeMap::new();
        let mut stream = ChunkStream::new(1, &CollectionOptions::default(), |number, image| {
            chunks.insert(number, Chunk::from_image(image, Csn(0))?);
            Ok(())
        });
        stream.read(text)?;
        let (stragglers, _) = stream.finish()?;
        for (number, image) in stragglers {
            chunks.insert(number, Chunk::from_image(image, Csn(0))?);
        }
        Tree::of_chunks(Csn(0), chunks)
    }
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

/// A sink that makes a new document of the tokens, and gives the image of each chunk to `put` once it is complete.
pub(crate) struct ChunkStream<P> {
    put: P,
    first: u64,
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

/// The chunks that a stream has not given away: number and image.
pub(crate) type Stragglers = Vec<(u32, Vec<u8>)>;

impl<P: FnMut(u32, Vec<u8>) -> Result<()>> ChunkStream<P> {
    /// A stream of a document whose first node gets the key `first_key`. `put` gets numbers that ascend.
    pub fn new(first_key: u64, options: &CollectionOptions, put: P) -> Self {
        ChunkStream {
            put,
            first: first_key,
            next: first_key,
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
                (self.put)(number, image)?;
            }
        }
        Ok(())
    }

    /// Ends the document: returns the chunks that are left, and the path summary where it is kept.
    ///
    /// # Errors
    /// The one by which the stream has stopped.
    pub fn finish(mut self) -> Result<(Stragglers, Option<Counts>)> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let last = NodeKey(self.next).chunk();
        if !self.current.slots.is_empty() {
            let current = std::mem::take(&mut self.current);
            self.window.push_back((last, current));
        }
        self.drain(0)?;
        let header = Header {
            next_key: self.next,
            root: self.first,
            nodes: self.next - self.first,
            digest: self.digest.unwrap_or(0),
            ..Header::default()
        };
        self.stragglers.entry(0).or_default().header = Some(header);
        let images = self.stragglers.iter().map(|(number, buf)| {
            let mut image = Vec::new();
            buf.encode(&mut image);
            (*number, image)
        });
        Ok((images.collect(), self.counts))
    }

    /// Reads a text into the stream.
    pub fn read(&mut self, text: impl Read) -> Result<()> {
        let Err(error) = Parser::new(text).limits(limits()).parse_into(self) else { return Ok(()) };
        Err(match (self.error.take(), error.place()) {
            // The path is not known here, the place in the text is.
            (Some(DocumentError::Unstorable { source, .. }), Some(place)) => {
                DocumentError::Unstorable { at: place.to_string(), source }
            }
            (Some(stopped), _) => stopped,
            (None, _) => error.into(),
        })
    }

    fn told(&mut self, result: Result<()>) -> std::result::Result<(), Stopped> {
        result.map_err(|error| {
            self.error = Some(error);
            Stopped
        })
    }
}

impl<P: FnMut(u32, Vec<u8>) -> Result<()>> Sink for ChunkStream<P> {
    fn name(&mut self, text: &[u8]) -> std::result::Result<(), Stopped> {
        self.name = Some(text.to_vec());
        Ok(())
    }

    fn scalar(&mut self, kind: Kind, text: &[u8]) -> std::result::Result<(), Stopped> {
        let added = self.add(kind, text);
        self.told(added)
    }

    fn open(&mut self, kind: Kind) -> std::result::Result<(), Stopped> {
        let added = self.add(kind, &[]);
        self.told(added)
    }

    fn close(&mut self) -> std::result::Result<(), Stopped> {
        let closed = self.close_last();
        self.told(closed)
    }
}
