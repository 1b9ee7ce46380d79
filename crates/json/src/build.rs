//! Building a tape, token by token, and settling fields that were named twice.
//!
//! [`TapeBuilder`] is the [`Sink`] that the parser fills, and the way for programs to make values.
//! When an object closes, the fingerprints of its names are compared: all pairs in a small object,
//! sorted in a large one, so that only objects with real duplicates go further. Duplicates are
//! noted, and the tape is put right once, at the end:
//!
//! ```text
//!   {"a":1, "b":2, "a":3}      noted: field 0 gives way to field 2, field 2 is gone
//!   {"a":3, "b":2}             the last value, at the place of the first
//! ```
//!
//! # Invariants
//! * Settling duplicates is linear in the tape, however deep they lie in each other.
//! * A column never has room for more than a quarter again of what it holds, beyond its first
//!   reservation: memory stays within 16 times the text.

use crate::parse::{Sink, Stopped};
use crate::tape::{Kind, NO_NAME, Tape};
use crate::text;

/// Above this many fields names are compared by sorting.
const PAIRWISE_FIELDS_MAX: usize = 16;

/// The note for a field that is not kept.
const GONE: u32 = u32::MAX;

/// A field of an object that is still open.
#[derive(Clone, Copy)]
struct Field {
    fingerprint: u32,
    node: u32,
    name_at: u64,
}

/// A container that is still open.
struct Open {
    node: u32,
    /// Where its fields begin among `fields`.
    fields: u32,
}

/// Makes a [`Tape`] from tokens in document order.
///
/// As a [`Sink`] it trusts its texts to be canonical; the methods for programs escape for
/// themselves. Unlike a parser it takes whatever order the caller gives: a value too many, or a
/// container left open, is a mistake of the caller and panics.
///
/// ```
/// let mut builder = json::TapeBuilder::new();
/// builder.object(|o| {
///     o.field("id").int(7);
///     o.field("tags").array(|a| {
///         a.string("a \"b\"");
///     });
/// });
/// assert_eq!(builder.finish().to_json(), r#"{"id":7,"tags":["a \"b\""]}"#);
/// ```
pub struct TapeBuilder {
    tape: Tape,
    open: Vec<Open>,
    fields: Vec<Field>,
    /// Length of the name in the heap that waits for its value; NO_NAME if there is none.
    pending: u32,
    /// For fields named more than once: the node that takes the place, or GONE.
    settled: Vec<(u32, u32)>,
}

impl Default for TapeBuilder {
    fn default() -> Self {
        TapeBuilder::new()
    }
}

impl TapeBuilder {
    /// An empty builder.
    pub fn new() -> TapeBuilder {
        TapeBuilder {
            tape: Tape::with_no_nodes(),
            open: Vec::new(),
            fields: Vec::new(),
            pending: NO_NAME,
            settled: Vec::new(),
        }
    }

    /// A builder with room for what a text of so many bytes usually holds.
    pub fn for_text_of(bytes: usize) -> TapeBuilder {
        let mut builder = TapeBuilder::new();
        // Canonical text is never longer than what was written, so the heap never grows.
        builder.tape.heap.reserve_exact(bytes);
        builder.reserve_nodes(bytes / 16 + 1);
        builder
    }

    /// The finished document. Panics unless exactly one value was given.
    pub fn finish(mut self) -> Tape {
        assert!(
            !self.tape.kinds.is_empty() && self.open.is_empty(),
            "a tape holds exactly one value"
        );
        if !self.settled.is_empty() {
            self.settled.sort_unstable();
            self.tape = settle(&self.tape, &self.settled);
        }
        self.tape
    }

    /// Names the field whose value comes next.
    pub fn field(&mut self, name: &str) -> &mut Self {
        let from = self.tape.heap.len();
        text::escape_into(name, &mut self.tape.heap);
        self.pending = length(self.tape.heap.len() - from);
        self
    }

    /// Adds `null`.
    pub fn null(&mut self) -> &mut Self {
        self.add(Kind::Null, b"");
        self
    }

    /// Adds `true` or `false`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.add(if value { Kind::True } else { Kind::False }, b"");
        self
    }

    /// Adds an integer.
    pub fn int(&mut self, value: i64) -> &mut Self {
        self.add(Kind::Number, value.to_string().as_bytes());
        self
    }

    /// Adds a double in its shortest form, or `null` where it is infinite or not a number, which
    /// JSON cannot say.
    pub fn float(&mut self, value: f64) -> &mut Self {
        match text::number_from_f64(value) {
            Some(number) => self.add(Kind::Number, number.as_bytes()),
            None => self.add(Kind::Null, b""),
        }
        self
    }

    /// Adds a string.
    pub fn string(&mut self, value: &str) -> &mut Self {
        self.add(Kind::String, b"");
        let from = self.tape.heap.len();
        text::escape_into(value, &mut self.tape.heap);
        let len = length(self.tape.heap.len() - from);
        *self.tape.text_lens.last_mut().expect("a node was added") += len;
        self
    }

    /// Adds an array; `fill` adds the elements.
    pub fn array(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.push_open(Kind::Array);
        fill(self);
        self.push_close();
        self
    }

    /// Adds an object; `fill` adds the fields, each after a call of [`TapeBuilder::field`].
    pub fn object(&mut self, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.push_open(Kind::Object);
        fill(self);
        self.push_close();
        self
    }

    /// Adds a copy of a value with all that is in it.
    pub fn copy(&mut self, node: crate::tape::Node<'_>) -> &mut Self {
        let tape = node.tape();
        let first = self.tape.kinds.len();
        self.add(node.kind(), node.text());
        let (from, to) = (node.index() + 1, node.index() + node.extent());
        let heap_at = node.text_at() + tape.text_lens[node.index()] as usize;
        let heap_end = heap_at + tape.text_bytes(from, to);
        self.reserve_nodes(to - from);
        self.tape.kinds.extend_from_slice(&tape.kinds[from..to]);
        self.tape.ups.extend_from_slice(&tape.ups[from..to]);
        self.tape.extents.extend_from_slice(&tape.extents[from..to]);
        self.tape.counts.extend_from_slice(&tape.counts[from..to]);
        self.tape.name_lens.extend_from_slice(&tape.name_lens[from..to]);
        self.tape.text_lens.extend_from_slice(&tape.text_lens[from..to]);
        self.tape.heap.extend_from_slice(&tape.heap[heap_at..heap_end]);
        self.tape.extents[first] = length(node.extent());
        self.tape.counts[first] = length(node.count());
        self
    }

    /// Makes room for `more` nodes in every column.
    fn reserve_nodes(&mut self, more: usize) {
        let tape = &mut self.tape;
        tape.kinds.reserve_exact(more);
        tape.ups.reserve_exact(more);
        tape.extents.reserve_exact(more);
        tape.counts.reserve_exact(more);
        tape.name_lens.reserve_exact(more);
        tape.text_lens.reserve_exact(more);
    }

    /// Appends one node with the name that waits and the given value text.
    #[inline]
    fn add(&mut self, kind: Kind, value: &[u8]) {
        let node = self.tape.kinds.len();
        if node == self.tape.kinds.capacity() {
            self.reserve_nodes(node / 4 + 16);
        }
        let name_len = self.pending;
        let mut up = 0;
        let mut text_len = length(value.len());
        match self.open.last() {
            Some(&Open { node: parent, .. }) => {
                up = node as u32 - parent;
                self.tape.counts[parent as usize] += 1;
                let in_object = self.tape.kinds[parent as usize] == Kind::Object;
                assert_eq!(
                    in_object,
                    name_len != NO_NAME,
                    "fields have names and elements have none"
                );
                if in_object {
                    let name_at = self.tape.heap.len() - name_len as usize;
                    let fingerprint = fingerprint(&self.tape.heap[name_at..]);
                    if self.fields.len() == self.fields.capacity() {
                        self.fields.reserve_exact(self.fields.len() / 4 + 32);
                    }
                    self.fields.push(Field {
                        fingerprint,
                        node: node as u32,
                        name_at: name_at as u64,
                    });
                    self.pending = NO_NAME;
                    text_len += name_len;
                }
            }
            None => assert!(node == 0 && name_len == NO_NAME, "a tape holds exactly one value"),
        }
        let tape = &mut self.tape;
        tape.heap.extend_from_slice(value);
        tape.kinds.push(kind);
        tape.ups.push(up);
        tape.extents.push(1);
        tape.counts.push(0);
        tape.name_lens.push(name_len);
        tape.text_lens.push(text_len);
    }

    #[inline]
    fn push_open(&mut self, kind: Kind) {
        let node = self.tape.kinds.len() as u32;
        self.add(kind, b"");
        self.open.push(Open { node, fields: self.fields.len() as u32 });
    }

    #[inline]
    fn push_close(&mut self) {
        let open = self.open.pop().expect("a container is open");
        assert_eq!(self.pending, NO_NAME, "a field without a value");
        let node = open.node as usize;
        self.tape.extents[node] = (self.tape.kinds.len() - node) as u32;
        let from = open.fields as usize;
        if self.fields.len() > from {
            self.note_duplicates(from);
            self.fields.truncate(from);
        }
    }

    /// Notes which of the fields from number `from` on give way to others.
    fn note_duplicates(&mut self, from: usize) {
        let fields = &mut self.fields[from..];
        if fields.len() <= PAIRWISE_FIELDS_MAX {
            let same = |i: usize| {
                fields[..i].iter().any(|other| other.fingerprint == fields[i].fingerprint)
            };
            if !(1..fields.len()).any(same) {
                return;
            }
        }
        fields.sort_unstable_by_key(|field| (field.fingerprint, field.node));
        let (lens, heap) = (&self.tape.name_lens, &self.tape.heap);
        let name = |field: &Field| {
            let at = field.name_at as usize;
            &heap[at..at + lens[field.node as usize] as usize]
        };
        for alike in fields.chunk_by_mut(|a, b| a.fingerprint == b.fingerprint) {
            if alike.len() > 1 {
                alike.sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.node.cmp(&b.node)));
                for same in alike.chunk_by(|a, b| name(a) == name(b)) {
                    if let [first, .., last] = same {
                        self.settled.push((first.node, last.node));
                        self.settled.extend(same[1..].iter().map(|field| (field.node, GONE)));
                    }
                }
            }
        }
    }
}

impl Sink for TapeBuilder {
    #[inline]
    fn name(&mut self, text: &[u8]) -> Result<(), Stopped> {
        self.tape.heap.extend_from_slice(text);
        self.pending = length(text.len());
        Ok(())
    }

    #[inline]
    fn scalar(&mut self, kind: Kind, text: &[u8]) -> Result<(), Stopped> {
        self.add(kind, text);
        Ok(())
    }

    #[inline]
    fn open(&mut self, kind: Kind) -> Result<(), Stopped> {
        self.push_open(kind);
        Ok(())
    }

    #[inline]
    fn close(&mut self) -> Result<(), Stopped> {
        self.push_close();
        Ok(())
    }
}

/// A length as the columns keep it; the parser's limits keep texts below 4 GiB.
#[inline]
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("texts and subtrees are shorter than 4 Gi")
}

/// A short sum of a name: different sums mean different names.
#[inline]
fn fingerprint(name: &[u8]) -> u32 {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let (head, tail) = match name.len() {
        0 => (0, 0),
        len @ 1..8 => {
            // First, middle and last byte; with the length that tells most short names apart.
            let ends = name[0] as u64 | (name[len / 2] as u64) << 8 | (name[len - 1] as u64) << 16;
            let inner = name[len / 4] as u64 | (name[len - 1 - len / 4] as u64) << 8;
            (ends, inner)
        }
        len => (word(&name[..8]), word(&name[len - 8..])),
    };
    let mixed = (head ^ tail.rotate_left(23) ^ (name.len() as u64) << 56)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}

/// A subtree of the old tape that is copied into the new one.
struct Course {
    /// The next old node, and the one after the last.
    at: usize,
    end: usize,
    /// How many containers were open before it.
    floor: usize,
    /// It stands in for another, so its first node is not looked up again.
    stand_in: bool,
}

/// Copies a tape without the fields that gave way. `settled` is sorted by node.
fn settle(old: &Tape, settled: &[(u32, u32)]) -> Tape {
    let offsets = old.offsets();
    let mut new = Tape::with_no_nodes();
    let mut courses = vec![Course { at: 0, end: old.len(), floor: 0, stand_in: false }];
    // Open containers of the new tape: (new node, old node where it ends).
    let mut open: Vec<(usize, usize)> = Vec::new();
    while let Some(course) = courses.last_mut() {
        let node = course.at;
        while open.len() > course.floor
            && let Some(&(container, container_end)) = open.last()
            && container_end == node
        {
            new.extents[container] = (new.kinds.len() - container) as u32;
            open.pop();
        }
        if node == course.end {
            courses.pop();
            continue;
        }
        if !std::mem::take(&mut course.stand_in)
            && let Ok(found) = settled.binary_search_by_key(&(node as u32), |&(field, _)| field)
        {
            course.at += old.extents[node] as usize;
            if settled[found].1 != GONE {
                let at = settled[found].1 as usize;
                let end = at + old.extents[at] as usize;
                courses.push(Course { at, end, floor: open.len(), stand_in: true });
            }
            continue;
        }
        course.at += 1;
        let parent = open.last().map(|&(parent, _)| parent);
        let new_node = new.kinds.len();
        if let Some(parent) = parent {
            new.counts[parent] += 1;
        }
        new.kinds.push(old.kinds[node]);
        new.ups.push(parent.map_or(0, |parent| new_node - parent) as u32);
        new.extents.push(1);
        new.counts.push(0);
        new.name_lens.push(old.name_lens[node]);
        new.text_lens.push(old.text_lens[node]);
        new.heap.extend_from_slice(&old.heap[offsets[node]..offsets[node + 1]]);
        if old.kinds[node].is_container() {
            open.push((new_node, node + old.extents[node] as usize));
        }
    }
    new
}
