//! Steps along the history of one node: its first value, its last, the one before, the one after.

use crate::collection::Collection;
use crate::edit::NodeRef;
use crate::history::NodeVersion;
use crate::{Result, Revision};

/// A step along the history of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeAxis {
    /// Its first value.
    First,
    /// Its last value: the one it has now, or had when it was removed.
    Last,
    /// The value that it had at a revision.
    At(Revision),
    /// The value before the one that it had at a revision, or before that revision where it was not
    /// there.
    Previous(Revision),
    /// The value after the one that it had at a revision, or after that revision where it was not
    /// there.
    Next(Revision),
}

impl Collection {
    /// One value of a node, with the revisions over which it had it; `None` if there is none in
    /// that direction. All of them: [`node_history`](Collection::node_history).
    pub fn node_version(
        &self,
        key: &str,
        node: impl Into<NodeRef>,
        axis: TimeAxis,
    ) -> Result<Option<NodeVersion>> {
        let mut runs = self.node_history(key, node)?;
        let found = match axis {
            TimeAxis::First => Some(0),
            TimeAxis::Last => runs.len().checked_sub(1),
            TimeAxis::At(at) => {
                runs.iter().position(|run| run.from <= at && run.to.is_none_or(|to| at <= to))
            }
            TimeAxis::Next(at) => runs.iter().position(|run| run.from > at),
            TimeAxis::Previous(at) => {
                let holds = |run: &NodeVersion| run.to.is_none_or(|to| at <= to);
                runs.iter().rposition(|run| run.from <= at && !holds(run))
            }
        };
        Ok(found.filter(|index| *index < runs.len()).map(|index| runs.swap_remove(index)))
    }
}
