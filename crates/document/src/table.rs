//! What a collection's table tells the store about its values: how deltas merge into images.

use crate::chunk_buf::ChunkBuf;
use crate::error::Damaged;
use crate::key::{Record, record_of};
use crate::revisions;
use store::{Csn, MergeError, Retention, Table};

/// The behaviour of a collection's table.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentTable {
    /// How much of the past is kept.
    pub retention: Retention,
}

impl Table for DocumentTable {
    fn merge(
        &self,
        key: &[u8],
        base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        match record_of(key) {
            Some(Record::Chunk(_)) => Ok(ChunkBuf::merge(base_csn, base, deltas, out)?),
            Some(Record::Revisions(_)) => Ok(revisions::merge(base_csn, base, deltas, out)?),
            None => Err(Damaged::new("a key that is no record of a document").into()),
        }
    }

    /// Twice as eager as the default: deltas of a counter are a few bytes each, so that hundreds would
    /// stand between two images, and reading an old version goes through half of them. Images that
    /// are nearly alike cost little once they are compressed.
    fn rebase(&self, image_bytes: usize, delta_bytes: usize) -> bool {
        delta_bytes > 256 && delta_bytes * 8 > image_bytes
    }

    fn keeps_history(&self, key: &[u8]) -> bool {
        !matches!(record_of(key), Some(Record::Revisions(_)))
    }

    fn retention(&self) -> Retention {
        self.retention
    }
}
