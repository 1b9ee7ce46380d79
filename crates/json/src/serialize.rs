//! A tape, or one value of it, as compact JSON text.
//!
//! The columns are read once from left to right; a stack says how many children each open
//! container still waits for. Texts are canonical already, so all there is to do is to copy them
//! between punctuation:
//!
//! ```text
//!   Object,2   "id"   Number,1    "tags"  Array,2   String    String
//!   {          "id":  7       ,   "tags": [         "a"    ,  "b"     ] }
//! ```
//!
//! The longest possible result is reserved at once. Short texts, which are most of them, are
//! copied as blocks of a fixed size whose tail is overwritten by what comes next: a few
//! instructions instead of a call.

use crate::tape::{Kind, NO_NAME, Node, Tape};

/// Texts up to this length are copied as one block.
const BLOCK_BYTES: usize = 32;

/// Punctuation that one node needs at most: `"":`, `false` and a comma.
const PUNCTUATION_BYTES_MAX: usize = 9;

impl Tape {
    /// The document as compact JSON text.
    pub fn to_json(&self) -> String {
        self.root().to_json()
    }

    /// Appends the document as compact JSON text.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        self.root().write_json(out);
    }
}

impl Node<'_> {
    /// The value as compact JSON text; a name of its own is not part of it.
    pub fn to_json(self) -> String {
        let mut out = Vec::new();
        self.write_json(&mut out);
        String::from_utf8(out)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Appends the value as compact JSON text; a name of its own is not part of it.
    pub fn write_json(self, out: &mut Vec<u8>) {
        let (tape, first) = (self.tape(), self.index());
        let end = first + self.extent();
        let own_name = tape.name_len(first).unwrap_or(0);
        let heap_at = self.text_at() + own_name;
        let heap_bytes = tape.text_bytes(first, end) - own_name;
        let start = out.len();
        out.resize(start + heap_bytes + (end - first) * PUNCTUATION_BYTES_MAX + BLOCK_BYTES, 0);
        let mut pen = Pen { out: &mut out[start..], at: 0, heap: &tape.heap, heap_at };
        write(tape, first, end, own_name, &mut pen);
        debug_assert_eq!(pen.heap_at, heap_at + heap_bytes, "every text was written");
        let written = pen.at;
        out.truncate(start + written);
    }
}

/// Copies texts and punctuation into room that is known to suffice.
struct Pen<'a> {
    out: &'a mut [u8],
    at: usize,
    heap: &'a [u8],
    heap_at: usize,
}

impl Pen<'_> {
    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.out[self.at] = byte;
        self.at += 1;
    }

    #[inline(always)]
    fn bytes<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.out[self.at..self.at + N].copy_from_slice(bytes);
        self.at += N;
    }

    /// Copies the next `len` bytes of the heap.
    #[inline(always)]
    fn text(&mut self, len: usize) {
        let (at, from) = (self.at, self.heap_at);
        if len <= BLOCK_BYTES
            && let Some(block) = self.heap.get(from..from + BLOCK_BYTES)
        {
            self.out[at..at + BLOCK_BYTES].copy_from_slice(block);
        } else {
            self.out[at..at + len].copy_from_slice(&self.heap[from..from + len]);
        }
        self.at += len;
        self.heap_at += len;
    }
}

/// Writes the nodes `first..end`, one complete value whose own name is left out.
fn write(tape: &Tape, first: usize, end: usize, own_name: usize, pen: &mut Pen<'_>) {
    // For the innermost open container: children to come, and its closing bracket; the outer ones
    // wait on the stack. The value itself counts as the only child of a container without brackets.
    let (mut left, mut close) = (1u32, b' ');
    let mut outer: Vec<(u32, u8)> = Vec::with_capacity(16);
    let (kinds, counts) = (&tape.kinds[first..end], &tape.counts[first..end]);
    let (name_lens, text_lens) = (&tape.name_lens[first..end], &tape.text_lens[first..end]);
    for (i, (((&kind, &count), &name_len), &text_len)) in
        kinds.iter().zip(counts).zip(name_lens).zip(text_lens).enumerate()
    {
        let mut value_len = text_len as usize;
        if i == 0 {
            value_len -= own_name;
        } else if name_len != NO_NAME {
            pen.byte(b'"');
            pen.text(name_len as usize);
            pen.bytes(b"\":");
            value_len -= name_len as usize;
        }
        match kind {
            Kind::String => {
                pen.byte(b'"');
                pen.text(value_len);
                pen.byte(b'"');
            }
            Kind::Number => pen.text(value_len),
            Kind::True => pen.bytes(b"true"),
            Kind::False => pen.bytes(b"false"),
            Kind::Null => pen.bytes(b"null"),
            Kind::Array | Kind::Object => {
                let brackets = if kind == Kind::Array { b"[]" } else { b"{}" };
                pen.byte(brackets[0]);
                if count > 0 {
                    outer.push((left, close));
                    (left, close) = (count, brackets[1]);
                    continue;
                }
                pen.byte(brackets[1]);
            }
        }
        left -= 1;
        while left == 0
            && let Some(container) = outer.pop()
        {
            pen.byte(close);
            (left, close) = container;
            left -= 1;
        }
        if left > 0 {
            pen.byte(b',');
        }
    }
}
