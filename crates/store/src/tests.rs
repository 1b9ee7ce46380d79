//! The store's tests: a plain model of what it promises, and everything that could break the promise.
//!
//! ```text
//!   model      random commits, reads, flushes, merges, reopenings against a list of events
//!   corners    each rule of the format and the API on its own
//!   pressure   when memtables are flushed, and how writers are held back meanwhile
//!   merges     what a merge keeps, what it publishes before it ends, and how much it writes
//!   packed     what a compaction packs is what was there, and takes less
//!   objects    segments in an object store: `model` and `crash` run on them too
//!   openings   what opening reads, and how a later opener shuts an earlier one out
//!   erase      what is erased is in no answer at once, and in no file once it is scrubbed
//!   crash      power loss at every operation, failing operations, flipped bits, switched-off syncs
//! ```
//!
//! Every random test prints its seed when it fails; `ANYWHEN_SEED=<seed>` runs that one case,
//! `ANYWHEN_TIMES=<n>` n times as many cases.

/// The names that an implementation of [`SegmentStore`](crate::SegmentStore) needs.
mod seam {
    pub use crate::{Epoch, SegmentSink, SegmentStore, SwapError};
}

mod corners;
mod crash;
mod erase;
mod merges;
mod model;
mod objects;
mod openings;
mod packed;
mod passing;
mod pressure;
mod sorter;
pub(crate) mod world;
