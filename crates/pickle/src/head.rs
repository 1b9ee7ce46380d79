//! Class and references of a record, read without building its values.
//!
//! A value is a [`Tag`] of 16 bytes: an oid, a tuple that begins with one, a list, or anything else.
//! That is all a persistent id is made of:
//!
//! ```text
//!   C <8 bytes>        c BTrees.OOBTree\nOOBucket\n   \x86            Q
//!   Oid(7)             Oid(7) Other                   Reference(7)    -> 7 is a reference
//! ```
//!
//! Records that the tags cannot follow (an oid that is the result of a call, a class pickle other
//! than a plain class), and records with errors, are read again by the tree. The tree decides what
//! is allowed.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::Class;
use crate::error::{Error, Refused};
use crate::literal::Big;
use crate::machine::{Construction, Heap, Machine};
use crate::tree::{Id, Node, Tree};

/// Up to this number of references, a linear search of the earlier ones finds duplicates.
const SCANNED_REFERENCES_MAX: usize = 32;

/// The kept part of a value.
#[derive(Clone, Copy)]
pub(crate) enum Tag {
    /// Nothing that a persistent id is made of.
    Other,
    /// Bytes that may be an oid.
    Oid(u64),
    /// A tuple whose first item may be an oid.
    Reference(u64),
    /// A list: as a persistent id, it is weak or leads to another database.
    List,
}

/// Makes tags and collects the references.
pub(crate) struct Tags<'r> {
    references: &'r mut Vec<u64>,
}

/// Reads class and references of `record`; see [`crate::read_head`].
pub(crate) fn read<'a>(record: &'a [u8], references: &mut Vec<u64>) -> Result<Class<'a>, Error> {
    references.clear();
    let class = match read_tags(record, references) {
        Some(class) => class,
        None => {
            references.clear();
            read_tree(record, references)?
        }
    };
    keep_first(references);
    Ok(class)
}

/// The fast way, for nearly all records. None if the tree has to decide.
fn read_tags<'a>(record: &'a [u8], references: &mut Vec<u64>) -> Option<Class<'a>> {
    let plain = plain_class(record)?;
    let mut machine = Machine::new(record, plain.end, Tags { references }).ok()?;
    if let Some(index) = plain.memo_index {
        machine.memoize(index, Tag::Other).ok()?;
    }
    machine.run("state").ok()?;
    Some(plain.class)
}

/// The thorough way.
fn read_tree<'a>(record: &'a [u8], references: &mut Vec<u64>) -> Result<Class<'a>, Error> {
    let mut machine = Machine::new(record, 0, Tree::with_room_for(record.len()))?;
    let class = machine.run("class")?;
    machine.run("state")?;
    references.append(&mut machine.heap.references);
    Ok(class_of(&machine.heap, class))
}

/// A class pickle that is nothing but a class, in the form that ZODB writes.
struct PlainClass<'a> {
    class: Class<'a>,
    memo_index: Option<usize>,
    /// Offset of the state pickle.
    end: usize,
}

/// Reads `PROTO? GLOBAL BINPUT? STOP`.
fn plain_class(record: &[u8]) -> Option<PlainClass<'_>> {
    let rest = match record {
        [0x80, 0..=5, rest @ ..] => rest,
        _ => record,
    };
    let (module, rest) = name_line(rest.strip_prefix(b"c")?)?;
    let (name, rest) = name_line(rest)?;
    let (memo_index, rest) = match rest {
        [b'q', index, rest @ ..] => (Some(usize::from(*index)), rest),
        _ => (None, rest),
    };
    let rest = rest.strip_prefix(b".")?;
    let class = Class { module: Cow::Borrowed(module), name: Cow::Borrowed(name) };
    Some(PlainClass { class, memo_index, end: record.len() - rest.len() })
}

/// A line that is a name without U+0000, and the bytes behind it.
fn name_line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n' || byte == 0)?;
    let (line, rest) = bytes.split_at(end);
    Some((std::str::from_utf8(line).ok()?, rest.strip_prefix(b"\n")?))
}

/// The class that a class pickle names; an empty one if the pickle is another value.
pub(crate) fn class_of<'a>(tree: &Tree<'a>, id: Id) -> Class<'a> {
    let class = |module: Id, name: Id| match (tree.node(module), tree.node(name)) {
        (Node::Text(module), Node::Text(name)) => {
            Some(Class { module: module.clone(), name: name.clone() })
        }
        _ => None,
    };
    // The first item of a tuple may be the class, in which case arguments follow.
    let first = tree.tuple_of(id).and_then(|items| items.first().copied());
    for id in [id].into_iter().chain(first) {
        match tree.node(id) {
            Node::Class { module, name } => return class(*module, *name).unwrap_or_default(),
            Node::Reference(_) => return Class::default(),
            _ => {}
        }
        if let Some(&[module, name]) = tree.tuple_of(id)
            && let Some(class) = class(module, name)
        {
            return class;
        }
    }
    Class::default()
}

/// Removes all but the first of equal references.
fn keep_first(references: &mut Vec<u64>) {
    if references.len() > SCANNED_REFERENCES_MAX {
        let mut seen = HashSet::with_capacity(references.len());
        references.retain(|&oid| seen.insert(oid));
        return;
    }
    let mut kept = 0;
    for i in 0..references.len() {
        let oid = references[i];
        if !references[..kept].contains(&oid) {
            references[kept] = oid;
            kept += 1;
        }
    }
    references.truncate(kept);
}

fn tag_of_bytes(bytes: &[u8]) -> Tag {
    match bytes.try_into() {
        Ok(oid) => Tag::Oid(u64::from_be_bytes(oid)),
        Err(_) => Tag::Other,
    }
}

impl<'a> Heap<'a> for Tags<'_> {
    type Value = Tag;

    fn none(&mut self) -> Tag {
        Tag::Other
    }

    fn bool(&mut self, _: bool) -> Tag {
        Tag::Other
    }

    fn int(&mut self, _: i64) -> Tag {
        Tag::Other
    }

    fn big(&mut self, _: Big<'a>) -> Tag {
        Tag::Other
    }

    fn float(&mut self, _: f64) -> Tag {
        Tag::Other
    }

    /// Python 2 wrote bytes as strings: an oid below 0x80 in each byte is text.
    fn text(&mut self, value: Cow<'a, str>) -> Tag {
        if value.len() == 8 && value.is_ascii() {
            tag_of_bytes(value.as_bytes())
        } else {
            Tag::Other
        }
    }

    fn surrogates(&mut self, _: Cow<'a, [u8]>) -> Tag {
        Tag::Other
    }

    fn bytes(&mut self, value: Cow<'a, [u8]>, mutable: bool) -> Tag {
        if mutable { Tag::Other } else { tag_of_bytes(&value) }
    }

    fn global(&mut self, _: &'a str, _: &'a str) -> Result<Tag, Refused> {
        Ok(Tag::Other)
    }

    fn stack_global(&mut self, _: Tag, _: Tag) -> Result<Tag, Refused> {
        Ok(Tag::Other)
    }

    fn tuple(&mut self, items: &[Tag]) -> Tag {
        match items.first() {
            Some(&Tag::Oid(oid)) => Tag::Reference(oid),
            _ => Tag::Other,
        }
    }

    fn list(&mut self, _: &[Tag]) -> Tag {
        Tag::List
    }

    fn dict(&mut self) -> Tag {
        Tag::Other
    }

    fn set(&mut self) -> Tag {
        Tag::Other
    }

    fn frozen_set(&mut self, _: &[Tag]) -> Result<Tag, Refused> {
        Ok(Tag::Other)
    }

    fn append(&mut self, _: Tag, _: &[Tag]) -> Result<(), Refused> {
        Ok(())
    }

    fn add_items(&mut self, _: Tag, _: &[Tag]) -> Result<(), Refused> {
        Ok(())
    }

    fn set_items(&mut self, _: Tag, pairs: &[Tag]) -> Result<(), Refused> {
        if pairs.len().is_multiple_of(2) {
            Ok(())
        } else {
            Err("a dict gets a key without a value")
        }
    }

    fn make(&mut self, _: Construction, _: Tag, _: Tag, _: Option<Tag>) -> Result<Tag, Refused> {
        Ok(Tag::Other)
    }

    fn build(&mut self, _: Tag, _: Tag) -> Result<(), Refused> {
        Ok(())
    }

    fn persistent(&mut self, pid: Tag) -> Result<Tag, Refused> {
        match pid {
            Tag::Oid(oid) | Tag::Reference(oid) => self.references.push(oid),
            Tag::List => {}
            Tag::Other => return Err("the tree decides"),
        }
        Ok(Tag::Other)
    }
}

/// The result of one way to read a head.
#[cfg(test)]
pub(crate) type Found<'a> = (Class<'a>, Vec<u64>);

/// Returns class and references as the tags find them (`None` if they cannot follow) and as the tree does.
#[cfg(test)]
pub(crate) fn read_both_ways(record: &[u8]) -> (Option<Found<'_>>, Result<Found<'_>, Error>) {
    let (mut fast, mut thorough) = (Vec::new(), Vec::new());
    let fast = read_tags(record, &mut fast).map(|class| (class, fast));
    let thorough = read_tree(record, &mut thorough).map(|class| (class, thorough));
    (fast, thorough)
}
