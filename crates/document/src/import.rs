//! Importing a document as a stream: text of any size in a bounded amount of memory.
//!
//! The parser hands over one node after another; nodes fill chunks, and a chunk is written to a
//! segment file of the store as soon as it is complete. Nothing large passes through the log: the
//! commit names the file.
//!
//! ```text
//!   text ─> parser ─> ChunkStream ─> segment file
//!                          └──────── chunks of containers that were open for long: with the commit
//! ```
//!
//! Whole documents that fit a buffer go the usual way. A new value of a document that exists becomes a tree in memory,
//! which is matched with the old one part by part ([`crate::large`]).

use crate::Result;
use crate::collection::Collection;
use crate::error::DocumentError;
use crate::key::{Prefix, Record};
use crate::large::NodePart;
use crate::limits::LARGE_BYTES;
use crate::meta::{Committed, Meta};
use crate::stream::ChunkStream;
use crate::tree::Tree;
use crate::working::write_chunk;
use crate::writer::Writing;
use std::io::{Cursor, Read};
use store::StoreError;

impl Collection {
    /// Reads a document from a stream and puts it. A new document may be of any size: memory does not
    /// grow with it. A new value for a document that exists is matched with the old one, part by part:
    /// it is held in memory meanwhile, in about twice the bytes of its text.
    ///
    /// No lock is held while the stream is read. Where another writer makes the document during a stream of more than
    /// 16 MiB, this fails with [`DocumentError::Conflict`]: the document exists then, and is not replaced unseen.
    ///
    /// In a stream of more than 16 MiB a field that its object has already is an error; in smaller
    /// ones the last value wins, as in [`put`](Collection::put).
    pub fn import(&self, key: &str, mut reader: impl Read, meta: &Meta) -> Result<Committed> {
        let mut start = Vec::new();
        let io = |source: std::io::Error| DocumentError::Read(source);
        reader.by_ref().take(LARGE_BYTES as u64).read_to_end(&mut start).map_err(io)?;
        if start.len() < LARGE_BYTES {
            return self.put_with(key, &start, meta);
        }
        let rest = Cursor::new(start).chain(reader);
        // A writer that may not write learns it before it sends the rest. The document's lock is given back: nobody
        // waits for a reader that may be a client.
        let exists = self.begin_write(key, meta)?.working.found().revision.0 > 0;
        if exists {
            return self.put_tree(key, &Tree::read(rest)?, meta);
        }
        let (options, prefix) = (self.options(), Prefix::new(key)?);
        let mut bulk = self.engine().store().bulk();
        let mut stream = ChunkStream::new(1, &options, |number, image| {
            Ok(bulk.put(self.id(), &prefix.record(Record::Chunk(number)), &image)?)
        });
        let (stragglers, counts) = match stream.read(rest).and_then(|()| stream.finish()) {
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
        for (number, image) in stragglers {
            let key = writing.prefix.record(Record::Chunk(number));
            writing.txn.put(self.id(), &key, image)?;
        }
        writing.commit_loaded(counts, meta)
    }

    /// Gives the document, which had revisions, the value of a tree in memory.
    fn put_tree(&self, key: &str, tree: &Tree, meta: &Meta) -> Result<Committed> {
        let value = NodePart::root(tree)?;
        let mut writing = self.begin_write(key, meta)?;
        let Writing { prefix, txn, working, .. } = &mut writing;
        if working.is_streamed(value)? {
            let counts = self.stream_into(txn, prefix, working, value)?;
            return writing.commit_loaded(counts, meta);
        }
        working.put_part(value, &mut |number, write| {
            write_chunk(txn, self.id(), prefix, number, write)
        })?;
        writing.commit(meta)
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

/// True if the store has refused an entry: a chunk of the document may exist already.
fn is_taken(error: &DocumentError) -> bool {
    matches!(error, DocumentError::Store(StoreError::Bulk { .. }))
}
