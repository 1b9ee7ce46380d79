//! A document as a value of SQL's `jsonb`, made of its nodes.
//!
//! ```text
//!   chunk     {  "b":1  "a":[  2  ]        nodes in the order of their keys, each with its parent
//!      │ each node to the builder, names and strings unescaped, containers closed where the parent changes
//!      v
//!   jsonb     {"a": [2], "b": 1}
//! ```
//!
//! The newest version of a document keeps its value as long as it is kept itself, so that statements
//! which ask for one field of it do not make the whole value each time. A version of the past that has
//! the same nodes in the same places has the newest one's value but for the scalars that changed since,
//! and every node knows when that was: where they are few they are put into a copy of that value, and
//! chunks in which nothing changed are not even fetched. In the same way the version of a commit that changed
//! scalars alone has the value of the version before, but for these: a statement that changes one field of a large
//! document again and again does not make the whole value of nodes each time.

use crate::admit::{Marked, marked};
use crate::chunk::Chunk;
use crate::error::{Damaged, DocumentError};
use crate::node::{CHUNK_NODES, cut};
use crate::tree::{Nodes, Tree};
use crate::{NodeKey, Result};
use json::jsonb::{Builder, DirectText, Jsonb};
use json::{JsonError, Kind, Sink, Stopped};
use store::Csn;

/// Bytes of text that a node has, about.
const NODE_TEXT_BYTES: usize = 24;

/// Where more than this part of the nodes changed, all are read.
const CHANGED_PART: u64 = 16;

/// The SQLSTATE of a text that is not JSON.
const NO_JSON: &str = "22P02";

impl Tree {
    /// The document as a value: its fields in the order of `jsonb`, its numbers as `jsonb` has them.
    ///
    /// A value that an older release took and no `jsonb` can hold is a string there: see
    /// [`jsonb_marked`](Tree::jsonb_marked).
    ///
    /// # Errors
    /// [`DocumentError::Value`](crate::DocumentError::Value) where the document is too large for a `jsonb`.
    pub fn jsonb(&self) -> Result<Jsonb> {
        Ok(self.jsonb_marked()?.0)
    }

    /// The document as a value, and what of it the value cannot hold: a number beyond `numeric` stands there
    /// as a string of its text, a NUL as the six characters of its escape.
    ///
    /// # Errors
    /// Those of [`Tree::jsonb`].
    pub fn jsonb_marked(&self) -> Result<(Jsonb, Vec<Marked>)> {
        if let Some(kept) = self.kept_value() {
            return Ok((kept.clone(), Vec::new()));
        }
        if let Some(newest) = self.newest()
            && let Some(value) = self.value_of_newer(newest)?
        {
            return Ok((value, Vec::new()));
        }
        self.made()
    }

    /// The value of a tree whose chunks are all here, without another file: not by way of a newer version.
    pub(crate) fn jsonb_of_chunks(&self) -> Result<Jsonb> {
        match self.kept_value() {
            Some(kept) => Ok(kept.clone()),
            None => Ok(self.made()?.0),
        }
    }

    /// The value by way of the version before, or of the nodes.
    fn made(&self) -> Result<(Jsonb, Vec<Marked>)> {
        if let Some((csn, earlier)) = self.earlier()
            && let Some(value) = self.value_of_earlier(csn, &earlier)?
        {
            self.keep_value(&value);
            return Ok((value, Vec::new()));
        }
        let (value, marks) = match self.value_of_nodes()? {
            Some(value) => (value, Vec::new()),
            None => self.value_of_text()?,
        };
        if marks.is_empty() {
            self.keep_value(&value);
        }
        Ok((value, marks))
    }

    /// The value by way of that of a newer version of the same shape; `None` if too much changed since,
    /// or something else than scalars.
    fn value_of_newer(&self, newer: &Tree) -> Result<Option<Jsonb>> {
        let Some(changed) = newer.changed_after(self.csn())? else { return Ok(None) };
        let value = match newer.jsonb_marked() {
            Ok((value, marks)) if marks.is_empty() => value,
            // If this version has none either it says so itself.
            Ok(_) | Err(DocumentError::Value(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if changed.is_empty() {
            return Ok(Some(value));
        }
        let mut value = value.replacing();
        for key in changed {
            let (then, now) = match (self.node(key)?, newer.node(key)?) {
                (Some(then), Some(now)) => (then, now),
                (None, None) => continue,
                _ => return Ok(None),
            };
            if then.name != now.name {
                return Ok(None);
            }
            let is_same = then.kind == now.kind && then.text == now.text;
            utf8(then.text)?;
            if !is_same && !value.set(&newer.path(key)?.steps, then.kind, then.text) {
                return Ok(None);
            }
        }
        Ok(Some(value.finish()))
    }

    /// Returns the nodes that changed after a commit; `None` if they are so many that reading all takes no longer.
    fn changed_after(&self, csn: Csn) -> Result<Option<Vec<NodeKey>>> {
        let most = self.header().nodes / CHANGED_PART + 1;
        let mut changed = Vec::new();
        self.fetch()?;
        for number in 0..self.chunk_count() {
            if let Some(chunk) = self.chunk(number)? {
                chunk.changed_after(csn, |slot| changed.push(NodeKey::new(number, slot)));
            }
            if changed.len() as u64 > most {
                return Ok(None);
            }
        }
        Ok(Some(changed))
    }

    /// Returns the value by way of that of an earlier version with the same nodes in the same places; `None` if too much
    /// changed since, or something else than scalars.
    fn value_of_earlier(&self, csn: Csn, earlier: &Jsonb) -> Result<Option<Jsonb>> {
        let Some(changed) = self.changed_after(csn)? else { return Ok(None) };
        let mut value = earlier.replacing();
        for key in changed {
            // A node that is gone was gone before: else the shape would be another.
            let Some(node) = self.node(key)? else { continue };
            // A container that changed without another shape was renamed. Renamed scalars are set, each under its new name.
            utf8(node.text)?;
            let is_set = !node.kind.is_container()
                && value.set(&self.path(key)?.steps, node.kind, node.text);
            if !is_set {
                return Ok(None);
            }
        }
        Ok(Some(value.finish()))
    }

    /// The value by way of the text: for nodes that do not stand in the order of their keys, and for what
    /// `jsonb` refuses, of which the parser knows what to say.
    fn value_of_text(&self) -> Result<(Jsonb, Vec<Marked>)> {
        let mut text = Vec::new();
        self.write_json(&mut text)?;
        let parse = |text: &[u8]| -> Result<Jsonb> { Ok(Jsonb::parse(utf8(text)?)?) };
        // The text was JSON when it was stored.
        let no_json = || Damaged::new("its text is not JSON");
        match parse(&text) {
            Err(DocumentError::Value(refusal)) => {
                let (text, marks) = marked(&text).map_err(|error| match error {
                    DocumentError::Json(JsonError::Syntax { .. }) => no_json().into(),
                    error => error,
                })?;
                match marks.is_empty() {
                    true if refusal.sqlstate() == NO_JSON => Err(no_json().into()),
                    true => Err(refusal.into()),
                    false => Ok((parse(&text)?, marks)),
                }
            }
            parsed => Ok((parsed?, Vec::new())),
        }
    }

    /// The value from the nodes, in one pass; `None` if that is not the way.
    fn value_of_nodes(&self) -> Result<Option<Jsonb>> {
        let header = self.header();
        if header.placed > 0 {
            return Ok(None);
        }
        let first = self.chunk(0)?.map_or(0, |chunk| chunk.image().heap.len());
        // A damaged header cannot make the value larger than the chunks can hold.
        let nodes = header.nodes.min(CHUNK_NODES as u64 * u64::from(self.chunk_count()));
        let builder = self.pass(Builder::with_capacity(nodes as usize, first))?;
        Ok(builder.and_then(|builder| builder.finish().ok()))
    }

    /// The text of the document's value ([`Tree::jsonb`]): made of the nodes themselves wherever they
    /// stand as `jsonb` has them.
    ///
    /// # Errors
    /// Those of [`Tree::jsonb`].
    pub fn jsonb_text(&self) -> Result<String> {
        if self.header().placed == 0 {
            let bytes = self.header().nodes.min(CHUNK_NODES as u64) as usize * NODE_TEXT_BYTES;
            if let Some(text) = self.pass(DirectText::with_capacity(bytes))?
                && let Some(text) = text.finish()
            {
                return Ok(text);
            }
        }
        Ok(self.jsonb()?.to_json())
    }

    /// Gives all nodes to a sink; `None` if it stops.
    fn pass<S: Sink>(&self, sink: S) -> Result<Option<S>> {
        let mut pass = Pass { sink, open: Vec::new(), root: self.header().root };
        for number in 0..self.chunk_count() {
            let Some(chunk) = self.chunk_in_passing(number)? else { continue };
            if pass.chunk(number, &chunk)?.is_err() {
                return Ok(None);
            }
        }
        Ok(Some(pass.finish()?))
    }
}

/// Returns stored bytes as a text. Every writer has checked it.
fn utf8(bytes: &[u8]) -> Result<&str, Damaged> {
    str::from_utf8(bytes).map_err(|_| Damaged::new("a text that is not UTF-8"))
}

/// Nodes on their way into a value, or a text.
struct Pass<S> {
    sink: S,
    /// The containers that are open, and which of them are objects.
    open: Vec<(u64, bool)>,
    /// The key of the first node; 0 once it was there.
    root: u64,
}

impl<S: Sink> Pass<S> {
    /// Adds the nodes of a chunk; the inner error says that a value cannot hold one of them.
    fn chunk(&mut self, number: u32, chunk: &Chunk) -> Result<Result<(), Stopped>, Damaged> {
        let image = chunk.image();
        utf8(image.heap)?;
        let (ups, frags) = (image.ups(), image.frags());
        let mut patches = chunk.patches().iter().peekable();
        let mut at = 0;
        for (slot, kind) in image.kinds.iter().enumerate() {
            let frag = &image.heap[at..at + frags[slot] as usize];
            at += frag.len();
            let patch = patches.next_if(|patch| usize::from(patch.slot) == slot);
            let Some(kind) = Kind::from_u8(*kind) else { continue };
            let key = NodeKey::new(number, slot as u8).0;
            let (name, text) = cut(kind, image.name_len(slot), frag);
            let name = if key == self.root { None } else { name };
            self.ascend(key, ups[slot], name.is_some())?;
            let (kind, text) = match patch {
                Some(patch) => (patch.kind, utf8(chunk.patch_text(patch))?.as_bytes()),
                None => (kind, text),
            };
            if self.add(key, kind, name, text).is_err() {
                return Ok(Err(Stopped));
            }
        }
        Ok(Ok(()))
    }

    /// Closes containers up to the parent of the node that comes next.
    fn ascend(&mut self, key: u64, up: u32, named: bool) -> Result<(), Damaged> {
        if key == self.root {
            self.root = 0;
            return Ok(());
        }
        let parent = key.checked_sub(u64::from(up));
        while let Some((open, is_object)) = self.open.last() {
            if Some(*open) == parent {
                let message = "a field outside of an object, or an element in one";
                return if *is_object == named { Ok(()) } else { Err(Damaged::new(message)) };
            }
            self.close();
        }
        Err(Damaged::new("a node outside of its parent"))
    }

    fn add(
        &mut self,
        key: u64,
        kind: Kind,
        name: Option<&[u8]>,
        text: &[u8],
    ) -> Result<(), Stopped> {
        if let Some(name) = name {
            self.sink.name(name)?;
        }
        if !kind.is_container() {
            return self.sink.scalar(kind, text);
        }
        self.open.push((key, kind == Kind::Object));
        self.sink.open(kind)
    }

    fn close(&mut self) {
        self.open.pop();
        // Where a container is open it can be closed.
        let _ = self.sink.close();
    }

    fn finish(mut self) -> Result<S, Damaged> {
        if self.root != 0 {
            return Err(Damaged::new("a document without its root"));
        }
        while !self.open.is_empty() {
            self.close();
        }
        Ok(self.sink)
    }
}
