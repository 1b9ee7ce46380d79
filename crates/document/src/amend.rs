//! A value that follows from another one, as steps on the nodes of the document that holds it.
//!
//! ```text
//!   before   {"a": 1, "list": [ ...10,000... ], "z": {"n": 5, "m": 6}}
//!   after    {"a": 1, "list": [ ...10,000... ], "z": {"n": 7}}
//!   steps                                            set n, remove m
//! ```
//!
//! Equal parts are skipped by comparing bytes, so that a small change of a large document looks at the
//! nodes that it changes and at no others, whichever way the new value was computed. Where the two may
//! have the same nodes in other places, because names went and others came, or elements of an array
//! did, the parts are matched as whole values are ([`crate::rewrite`]).

use crate::collection::Collection;
use crate::edit::{Edit, Place};
use crate::error::Damaged;
use crate::tree::Nodes;
use crate::{NodeKey, Result};
use json::Tape;
use json::jsonb::{Jsonb, JsonbRef, Value};
use std::cmp::Ordering;
use txn::Transaction;

/// Fields of one object that are changed one by one; where more differ they are matched together.
const FIELDS_MAX: usize = 64;

impl Collection {
    /// Makes the document, whose value is `old` as far as the transaction sees, one whose value is `new`.
    pub fn amend_within(
        &self,
        txn: &mut Transaction,
        key: &str,
        old: &Jsonb,
        new: &Jsonb,
    ) -> Result<()> {
        self.edit_within(txn, key, |edit| {
            let root = edit.nodes().root();
            amend(edit, root, old.root(), new.root())
        })
    }
}

/// The nodes that a value is made of.
///
/// # Errors
/// [`DocumentError::Json`](crate::DocumentError::Json) where it is too deep for a document.
pub fn tape_of(value: &Jsonb) -> Result<Tape> {
    crate::limits::parse(value.to_string().as_bytes())
}

/// Makes the subtree at `node`, whose value is `old`, one whose value is `new`.
pub(crate) fn amend(
    edit: &mut Edit<'_>,
    node: NodeKey,
    old: JsonbRef<'_>,
    new: JsonbRef<'_>,
) -> Result<()> {
    if old.bytes() == new.bytes() {
        return Ok(());
    }
    let done = match (old.value(), new.value()) {
        (Value::Object(_), Value::Object(_)) => amend_fields(edit, node, old, new)?,
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            let pairs = before.iter().zip(after.iter()).enumerate();
            let mut differ = pairs.filter(|(_, (old, new))| old.bytes() != new.bytes());
            match (differ.next(), differ.next()) {
                (Some((at, (old, new))), None) => {
                    let child = edit.nodes().child_at(node, at)?.ok_or_else(other_value)?;
                    amend(edit, child, old, new)?;
                    true
                }
                _ => false,
            }
        }
        _ => false,
    };
    if !done {
        edit.set(node, new.to_string())?;
    }
    Ok(())
}

/// A field that differs: its name, its value before and after.
type Differing<'a> = (&'a str, Option<JsonbRef<'a>>, Option<JsonbRef<'a>>);

/// Makes the fields of an object others; false where they are to be matched together, and nothing was done.
fn amend_fields(
    edit: &mut Edit<'_>,
    node: NodeKey,
    old: JsonbRef<'_>,
    new: JsonbRef<'_>,
) -> Result<bool> {
    let differing = differing(old, new);
    let gone = differing.iter().any(|(_, _, new)| new.is_none());
    let came = differing.iter().any(|(_, old, _)| old.is_none());
    if gone && came || differing.len() > FIELDS_MAX {
        return Ok(false);
    }
    for (name, old, new) in differing {
        let escaped = json::text::escape(name);
        let child = edit.nodes().child_named(node, escaped.as_bytes())?;
        match (old, new) {
            (Some(old), Some(new)) => amend(edit, child.ok_or_else(other_value)?, old, new)?,
            (Some(_), None) => edit.remove(child.ok_or_else(other_value)?)?,
            (None, Some(new)) => {
                edit.insert(node, Place::Field(name), new.to_string())?;
            }
            (None, None) => {}
        }
    }
    Ok(true)
}

/// The fields that two objects do not have in common.
fn differing<'a>(old: JsonbRef<'a>, new: JsonbRef<'a>) -> Vec<Differing<'a>> {
    let (mut olds, mut news) = (fields(old).peekable(), fields(new).peekable());
    let mut found = Vec::new();
    loop {
        // Fields are in the order of their names: shorter ones first, then by bytes.
        let order = match (olds.peek(), news.peek()) {
            (None, None) => return found,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((old, _)), Some((new, _))) => {
                old.len().cmp(&new.len()).then_with(|| old.as_bytes().cmp(new.as_bytes()))
            }
        };
        let old = if order.is_le() { olds.next() } else { None };
        let new = if order.is_ge() { news.next() } else { None };
        let (old_value, new_value) = (old.map(|field| field.1), new.map(|field| field.1));
        let same = old_value.map(JsonbRef::bytes) == new_value.map(JsonbRef::bytes);
        if let Some((name, _)) = old.or(new).filter(|_| !same) {
            found.push((name, old_value, new_value));
        }
    }
}

fn fields(value: JsonbRef<'_>) -> impl Iterator<Item = (&str, JsonbRef<'_>)> {
    match value.value() {
        Value::Object(object) => Some(object.iter()),
        _ => None,
    }
    .into_iter()
    .flatten()
}

fn other_value() -> Damaged {
    Damaged::new("a node that its document's value has")
}
