//! Transactions end to end, on a simulated disk: the anomalies that each isolation level allows,
//! power losses, failures of the disk, and a random history checked by its own logic.

/// The names that an implementation of [`SegmentStore`](store::SegmentStore) needs.
mod seam {
    pub use store::{Epoch, SegmentSink, SegmentStore, SwapError};
}

mod anomalies;
mod bulk;
mod changes;
mod common;
mod crash;
mod cursors;
mod erase;
mod flips;
mod following;
mod history;
mod loads;
mod lookups;
mod memory_log;
mod model;
#[path = "../../../store/src/tests/objects.rs"]
mod objects;
mod ordered;
mod outside;
mod schedule;
