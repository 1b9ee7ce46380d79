//! Other scalars in the places of scalars, in a copy of a value: the bytes between them are not read.
//!
//! ```text
//!   0C 02 │ 01 02 05 0C │ 61 62 │ 03 68 69 │ 08 02 ...        {"a": "hi", "b": [1, true]}
//!                 │  │              └─> 03 68 65 79            "hey" for "hi"
//!                 06 0D                                        what ends there or behind it ends later
//! ```
//!
//! A value of the same length is laid over the old one. Any other moves what is behind it, and the ends
//! in the tables of all containers that it is in.

use super::build;
use super::form::{BYTES_MAX, Jsonb, JsonbRef, Slots, Value, Width};
use crate::path::Step;
use crate::tape::Kind;

/// A copy of a value whose scalars are being replaced.
pub struct Replacing {
    bytes: Vec<u8>,
    /// The containers on the way to the scalar that is replaced.
    way: Vec<Level>,
}

/// A container, and the slot in it that the way leads through.
struct Level {
    /// Where its table lies among the bytes, from that slot on.
    ends: std::ops::Range<usize>,
    width: Width,
    count: usize,
    /// Bytes of all its slots.
    body: usize,
}

impl Jsonb {
    /// A copy of the value, for replacing scalars in it.
    pub fn replacing(&self) -> Replacing {
        Replacing { bytes: self.bytes().to_vec(), way: Vec::new() }
    }
}

impl Replacing {
    /// Puts another scalar, of this kind and canonical text, in the place of the one at a path. False,
    /// and nothing is changed, where there is no scalar, `jsonb` cannot hold the new one, or a container
    /// would need a wider or narrower table.
    pub fn set(&mut self, path: &[Step], kind: Kind, text: &[u8]) -> bool {
        self.replaced(path, kind, text).is_some()
    }

    /// The value as it is now.
    pub fn finish(self) -> Jsonb {
        Jsonb::trusted(self.bytes)
    }

    fn replaced(&mut self, path: &[Step], kind: Kind, text: &[u8]) -> Option<()> {
        if kind.is_container() {
            return None;
        }
        let (start, end) = self.find(path)?;
        let new = build::scalar(kind, text)?;
        let by = new.len() as isize - (end - start) as isize;
        if by == 0 {
            self.bytes[start..end].copy_from_slice(&new);
            return Some(());
        }
        let keeps_width = |level: &Level| {
            let body = level.body.saturating_add_signed(by);
            body <= BYTES_MAX && Width::of(body.max(level.count)) == level.width
        };
        if !self.way.iter().all(keeps_width) {
            return None;
        }
        for level in &self.way {
            level.width.shift(&mut self.bytes[level.ends.clone()], by);
        }
        self.bytes.splice(start..end, new);
        Some(())
    }

    /// Where the scalar at a path lies; notes the containers on the way.
    fn find(&mut self, path: &[Step]) -> Option<(usize, usize)> {
        self.way.clear();
        let (mut start, mut end) = (0, self.bytes.len());
        for step in path {
            let value = JsonbRef::new(self.bytes.get(start..end)?);
            let (slots, slot, last): (Slots<'_>, _, _) = match (value.value(), step) {
                (Value::Object(object), Step::Field(name)) => {
                    let count = object.len();
                    (object.0, count + object.find(name.as_bytes())?, 2 * count - 1)
                }
                (Value::Array(array), Step::Index(at)) if *at < array.len() => {
                    (array.0, *at, array.len() - 1)
                }
                _ => return None,
            };
            let table = start + 1 + slots.width.bytes();
            let ends = table + slot * slots.width.bytes()..table + slots.ends.len();
            let (width, count) = (slots.width, slots.count);
            self.way.push(Level { ends, width, count, body: slots.end(last) });
            let body = table + slots.ends.len();
            (start, end) = (body + slots.start(slot), body + slots.end(slot));
        }
        let old = JsonbRef::new(self.bytes.get(start..end)?);
        (!old.kind().is_container()).then_some((start, end))
    }
}
