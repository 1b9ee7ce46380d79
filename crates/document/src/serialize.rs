//! A whole document as text.
//!
//! It is written by one pass over the node keys, chunk by chunk. A chunk's heap holds
//! the fragments of its nodes in order, commas included, so runs of nodes are copied at once; the
//! pass only watches for the places where a bracket closes, a first child drops its comma, a value
//! was changed since the stored image, or a placed node stands.
//!
//! ```text
//!   heap    ,{ ,"a":[ ,1 ,2 ,"b":3          keys 1..5
//!   out      {  "a":[  1 ,2 ] ,"b":3 }
//! ```
//!
//! Parts are written in another way: see [`crate::part`].

use crate::error::{Damaged, DocumentError};
use crate::limits::DEPTH_MAX;
use crate::node::{prefix_len, put_value};
use crate::order::Label;
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use json::Kind;

impl Tree {
    /// Appends the document as compact JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        self.write_subtree(self.root(), out)
    }

    /// Appends the value of a node, with all that is below it, as compact JSON.
    pub fn write_subtree(&self, top: NodeKey, out: &mut Vec<u8>) -> Result<()> {
        self.write_to(top, out, None)
    }

    /// Gives the document as compact JSON to `sink`, piece by piece; chunks that are not here yet are
    /// not kept.
    pub(crate) fn write_pieces(&self, sink: Sink<'_>) -> Result<()> {
        let mut out = Vec::with_capacity(PIECE_BYTES * 2);
        self.write_to(self.root(), &mut out, Some(&mut *sink))?;
        sink(&mut out).map_err(DocumentError::Read)
    }

    fn write_to(&self, top: NodeKey, out: &mut Vec<u8>, sink: Option<Sink<'_>>) -> Result<()> {
        self.expect(top)?;
        let placed = if self.header().placed > 0 { Some(&self.placed()?[..]) } else { None };
        Writer { tree: self, placed, depth: 0, sink }.run(top, false, out)
    }
}

/// A receiver that takes a document in pieces.
type Sink<'s> = &'s mut dyn FnMut(&mut Vec<u8>) -> std::io::Result<()>;

/// A piece is given on once it has so many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// An open container during the pass.
struct Open<'a> {
    key: u64,
    close: u8,
    first: bool,
    /// Placed children that have not been written yet.
    placed: &'a [(NodeKey, Label, NodeKey)],
}

struct Writer<'a, 's> {
    tree: &'a Tree,
    placed: Option<&'a [(NodeKey, Label, NodeKey)]>,
    depth: usize,
    /// Where pieces go; without it all is gathered.
    sink: Option<Sink<'s>>,
}

impl<'a> Writer<'a, '_> {
    /// The placed children of `key`.
    fn placed_below(&self, key: u64) -> &'a [(NodeKey, Label, NodeKey)] {
        let Some(placed) = self.placed else { return &[] };
        let from = placed.partition_point(|(p, ..)| p.0 < key);
        let len = placed[from..].partition_point(|(p, ..)| p.0 == key);
        &placed[from..from + len]
    }

    fn open(&self, key: u64, kind: Kind) -> Open<'a> {
        let close = if kind == Kind::Object { b'}' } else { b']' };
        Open { key, close, first: true, placed: self.placed_below(key) }
    }

    /// Writes the placed children of `top` whose label is below `before`, or all that are left.
    fn write_placed(
        &mut self,
        top: &mut Open<'a>,
        before: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        while let Some(((_, label, key), rest)) = top.placed.split_first() {
            if before.is_some_and(|key| *label >= Label::of_key(NodeKey(key))) {
                break;
            }
            if !std::mem::take(&mut top.first) {
                out.push(b',');
            }
            top.placed = rest;
            self.run(*key, true, out)?;
        }
        Ok(())
    }

    fn close(&mut self, mut open: Open<'a>, out: &mut Vec<u8>) -> Result<()> {
        self.write_placed(&mut open, None, out)?;
        out.push(open.close);
        Ok(())
    }

    /// Writes `top` and what stands below it: with its name where `named`, never with its comma.
    fn run(&mut self, top: NodeKey, named: bool, out: &mut Vec<u8>) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Damaged::new("a node that is its own ancestor").into());
        }
        let extent = self.tree.look(top)?.ok_or_else(|| DocumentError::no_node(top))?.extent;
        let end = top.0 + (extent as u64).max(1);
        let mut stack: Vec<Open<'a>> = Vec::with_capacity(8);
        let mut key = top.0;
        while key < end {
            key = self.chunk(top, named, key, end, &mut stack, out)?;
            if out.len() >= PIECE_BYTES
                && let Some(sink) = &mut self.sink
            {
                sink(out).map_err(DocumentError::Read)?;
            }
        }
        while let Some(open) = stack.pop() {
            self.close(open, out)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Writes the part of a run that lies in one chunk; returns the key to go on from.
    fn chunk(
        &mut self,
        top: NodeKey,
        named: bool,
        from: u64,
        end: u64,
        stack: &mut Vec<Open<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<u64> {
        let chunk_end = (from | 0xff) + 1;
        let number = NodeKey(from).chunk();
        let passing;
        let chunk = match self.sink {
            Some(_) => {
                passing = self.tree.chunk_in_passing(number)?;
                passing.as_ref()
            }
            None => self.tree.chunk(number)?,
        };
        let Some(chunk) = chunk else { return Ok(chunk_end) };
        let image = chunk.image();
        let (ups, frags) = (image.ups(), image.frags());
        let base = from & !0xff;
        let slots = (image.kinds.len() as u64).min(end - base) as usize;
        let mut patches =
            chunk.patches().iter().skip_while(|p| (p.slot as u64) < from - base).peekable();
        let mut slot = (from - base) as usize;
        if slot >= slots {
            return Ok(chunk_end);
        }
        let mut at = image.frag_start(slot);
        out.reserve(image.heap.len() - at + 64);
        // Fragments from `pending` to `at` wait to be copied.
        let mut pending = at;
        while slot < slots {
            let Some(kind) = Kind::from_u8(image.kinds[slot]) else {
                slot += 1;
                continue;
            };
            let (up, len) = (ups[slot], frags[slot] as usize);
            let key = base + slot as u64;
            if key == top.0 {
                pending = at + if named { 1 } else { prefix_len(image.name_len(slot)) };
            } else if up == 0 {
                // Placed elsewhere, with all that was created below it.
                out.extend_from_slice(&image.heap[pending..at]);
                let next = key + image.extent(slot).max(1) as u64;
                if next - base >= slots as u64 {
                    return Ok(next.max(chunk_end));
                }
                let next = (next - base) as usize;
                at += image.frags_len(slot..next);
                pending = at;
                slot = next;
                while patches.next_if(|p| (p.slot as usize) < slot).is_some() {}
                continue;
            } else {
                let parent = key - up as u64;
                let mut open =
                    stack.last_mut().ok_or(Damaged::new("a node outside of its parent"))?;
                if open.key != parent {
                    out.extend_from_slice(&image.heap[pending..at]);
                    pending = at;
                    while open.key != parent {
                        let done = stack.pop().expect("there is a last");
                        self.close(done, out)?;
                        open =
                            stack.last_mut().ok_or(Damaged::new("a node outside of its parent"))?;
                    }
                }
                if !open.placed.is_empty() {
                    out.extend_from_slice(&image.heap[pending..at]);
                    pending = at;
                    let mut parent = stack.pop().expect("there is a last");
                    self.write_placed(&mut parent, Some(key), out)?;
                    stack.push(parent);
                    open = stack.last_mut().expect("pushed");
                }
                if std::mem::take(&mut open.first) {
                    out.extend_from_slice(&image.heap[pending..at]);
                    pending = at + 1;
                }
            }
            if let Some(patch) = patches.next_if(|p| p.slot as usize == slot) {
                let prefix_end = at + prefix_len(image.name_len(slot));
                out.extend_from_slice(&image.heap[pending..prefix_end]);
                put_value(out, patch.kind, chunk.patch_text(patch));
                pending = at + len;
            } else if kind.is_container() {
                stack.push(self.open(key, kind));
            }
            at += len;
            slot += 1;
            if !kind.is_container() && stack.last().is_some_and(|open| open.placed.is_empty()) {
                // Scalars that follow as siblings come along: there is nothing to watch for.
                let stop = patches.peek().map_or(slots, |p| slots.min(p.slot as usize));
                let run = slot..stop.max(slot);
                let columns = image.kinds[run.clone()].iter().zip(&ups[run.clone()]);
                let columns = columns.zip(&frags[run]);
                for (sibling_up, ((kind, up), len)) in (up + 1..).zip(columns) {
                    if !(1..=5).contains(kind) || *up != sibling_up {
                        break;
                    }
                    at += *len as usize;
                    slot += 1;
                }
            }
        }
        out.extend_from_slice(&image.heap[pending..at]);
        Ok(chunk_end)
    }
}
