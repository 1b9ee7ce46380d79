//! The values of one scalar over all versions, read off the stored deltas.
//!
//! ```text
//!   chunk of the node    [image][slot 2 = 17][slot 9 = "x"][slot 2 = 18][ ... ][image][slot 2 = 18,501]
//!   slot 2                   16           17                         18                         18,501
//! ```
//!
//! Nothing is built, and nothing copied: a version is a few bytes, and most are passed by with one look
//! at their first four.

use crate::chunk::Chunk;
use crate::codec::Reader;
use crate::collection::Collection;
use crate::delta::{Op, one_short_set, read_set};
use crate::edit::NodeRef;
use crate::error::Damaged;
use crate::key::{Prefix, Record};
use crate::state::State;
use crate::tree::Nodes;
use crate::{NodeKey, Result, Revision};
use json::Kind;
use std::ops::ControlFlow;
use store::{Csn, Version};

/// The value of a scalar at some commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar<'a> {
    /// Its kind.
    pub kind: Kind,
    /// The text of a number, or of a string, escaped and without quotes; empty for literals.
    pub text: &'a [u8],
}

impl Scalar<'_> {
    /// The value as JSON.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        crate::node::put_value(&mut out, self.kind, self.text);
        String::from_utf8_lossy(&out).into_owned()
    }
}

impl Collection {
    /// The values of a scalar over all revisions, oldest first: `f` gets each commit that set it, and
    /// `None` for one that removed it. Runs over stored deltas: nothing is built or copied.
    pub fn scan_values(
        &self,
        key: &str,
        node: impl Into<NodeRef>,
        mut f: impl FnMut(Csn, Option<Scalar<'_>>),
    ) -> Result<()> {
        let prefix = Prefix::new(key)?;
        let state = self.known(key, &prefix)?;
        let target = self.target(key, &prefix, &state, &node.into())?;
        if !self.never_changed(&state, target, &mut f)? {
            self.scan_slot(&prefix, target, state.csn, f)?;
        }
        Ok(())
    }

    /// Gives the only value that a scalar ever had to `f`, where it is as the document's first revision
    /// made it.
    fn never_changed(
        &self,
        state: &State,
        target: NodeKey,
        f: &mut impl FnMut(Csn, Option<Scalar<'_>>),
    ) -> Result<bool> {
        let Some(tree) = &state.tree else { return Ok(false) };
        let Some(node) = tree.node(target)? else { return Ok(false) };
        let never = state.list.csn(self.engine(), Revision(1))? == Some(node.changed);
        if never {
            f(node.changed, Some(Scalar { kind: node.kind, text: node.text }));
        }
        Ok(never)
    }

    /// Calls `f` with each value of a scalar set up to commit `to`, oldest first, and with `None` if
    /// it went.
    pub(crate) fn scan_slot(
        &self,
        prefix: &Prefix,
        target: NodeKey,
        to: Csn,
        f: impl FnMut(Csn, Option<Scalar<'_>>),
    ) -> Result<()> {
        let chunk = prefix.record(Record::Chunk(target.chunk()));
        let mut scan = Scan { slot: target.slot() as u8, there: false, f };
        let mut result = Ok(());
        self.engine().store().versions(self.id(), &chunk, Csn(1), to, |version| {
            match scan.version(version) {
                Ok(()) => ControlFlow::Continue(()),
                Err(damaged) => {
                    result = Err(damaged);
                    ControlFlow::Break(())
                }
            }
        })?;
        Ok(result?)
    }
}

/// Follows one slot through the versions of its chunk.
struct Scan<F> {
    slot: u8,
    /// The slot has a value now.
    there: bool,
    f: F,
}

impl<F: FnMut(Csn, Option<Scalar<'_>>)> Scan<F> {
    #[inline(always)]
    fn version(&mut self, version: Version<'_>) -> Result<(), Damaged> {
        // The common case first.
        if version.kind == store::Kind::Delta
            && let Some((slot, kind, text)) = one_short_set(version.bytes)
        {
            if slot == self.slot {
                self.there = true;
                (self.f)(version.csn, Some(Scalar { kind, text }));
            }
            return Ok(());
        }
        self.other(version)
    }

    /// Any other version: apart, so that the loop over the common ones is short.
    #[inline(never)]
    fn other(&mut self, Version { csn, kind, bytes }: Version<'_>) -> Result<(), Damaged> {
        match kind {
            store::Kind::Delta => self.steps(csn, bytes)?,
            store::Kind::Put => {
                let chunk = Chunk::from_image(bytes.to_vec(), csn)?;
                // An image that stands for forgotten changes knows since when each value is.
                match chunk.node(self.slot as usize) {
                    Some(n) => self.give(n.changed, Some(Scalar { kind: n.kind, text: n.text })),
                    None => self.give(csn, None),
                }
            }
            store::Kind::Delete => self.give(csn, None),
        }
        Ok(())
    }

    /// Gives what a delta does to the value.
    fn steps(&mut self, csn: Csn, delta: &[u8]) -> Result<(), Damaged> {
        let mut input = Reader::new(delta);
        while let Some(tag) = input.rest().first() {
            if *tag < Op::SETS_BELOW {
                let (kind, slot, text) = read_set(&mut input)?;
                if slot == self.slot {
                    self.give(csn, Some(Scalar { kind, text }));
                }
                continue;
            }
            match Op::decode(&mut input)? {
                Op::Remove { slot, count }
                    if (slot as usize..slot as usize + count).contains(&(self.slot as usize)) =>
                {
                    self.give(csn, None);
                }
                Op::Insert { slot, node, .. } if slot == self.slot => {
                    self.give(csn, Some(Scalar { kind: node.kind, text: node.text }));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn give(&mut self, csn: Csn, scalar: Option<Scalar<'_>>) {
        if self.there || scalar.is_some() {
            self.there = scalar.is_some();
            (self.f)(csn, scalar);
        }
    }
}
