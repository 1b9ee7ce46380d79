//! The differences between two `jsonb` values, as edits of the nodes of the document that holds the first.
//!
//! ```text
//!   before   {"a": 1, "list": [ ...10,000... ], "z": {"n": 5, "m": 6}}
//!   after    {"a": 1, "list": [ ...10,000... ], "z": {"n": 7}}
//!   edits                                            set n, remove m
//! ```
//!
//! Equal parts are skipped by comparing bytes, so that a small change of a large document looks at the
//! nodes that it changes and at no others, whichever way the new value was computed. Where the two may
//! have the same nodes in other places, because names went and others came, or elements of an array
//! did, the parts are matched as whole values are ([`crate::rewrite`]).

use crate::collection::Collection;
use crate::edit::{Edit, Place};
use crate::error::Damaged;
use crate::limits::LARGE_BYTES;
use crate::tree::Nodes;
use crate::working::STREAMED_PART;
use crate::{NodeKey, Result};
use json::jsonb::{Jsonb, JsonbRef, Value};
use std::cmp::Ordering;
use txn::Transaction;

/// Fields of one object that are changed one by one; where more differ they are matched together.
const FIELDS_MAX: usize = 64;

impl Collection {
    /// Applies the differences between two values to the document, as part of a transaction that sees it
    /// with the value `old`. Returns true if there are any.
    pub fn apply_diff_in_txn(
        &self,
        txn: &mut Transaction,
        key: &str,
        old: &Jsonb,
        new: &Jsonb,
    ) -> Result<bool> {
        // A large value is compared with nodes, in windows. The old value is not made for that.
        let new_bytes = new.held_bytes();
        let is_far_larger = new_bytes / STREAMED_PART > old.held_bytes();
        if new_bytes >= LARGE_BYTES && (is_far_larger || !old.is_made()) {
            return self.put_value_in_txn(txn, key, new);
        }
        let edited = self.edit_told(txn, key, |edit| {
            let root = edit.nodes().root();
            match old.is_made() || old.held_bytes() < LARGE_BYTES {
                true => apply_diff(edit, root, old.root(), new.root()),
                false => edit.set_value(root, new.root()),
            }
        });
        Ok(edited?.1)
    }
}

/// Applies the differences between two values to the subtree at `node`, which has the value `old`.
pub(crate) fn apply_diff(
    edit: &mut Edit<'_>,
    node: NodeKey,
    old: JsonbRef<'_>,
    new: JsonbRef<'_>,
) -> Result<()> {
    if old.bytes() == new.bytes() {
        return Ok(());
    }
    let done = match (old.value(), new.value()) {
        (Value::Object(_), Value::Object(_)) => apply_field_diff(edit, node, old, new)?,
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            let pairs = before.iter().zip(after.iter()).enumerate();
            let mut differ = pairs.filter(|(_, (old, new))| old.bytes() != new.bytes());
            match (differ.next(), differ.next()) {
                (Some((at, (old, new))), None) => {
                    let child = edit.nodes().child_at(node, at)?.ok_or_else(other_value)?;
                    apply_diff(edit, child, old, new)?;
                    true
                }
                _ => false,
            }
        }
        _ => false,
    };
    if !done {
        edit.set_value(node, new)?;
    }
    Ok(())
}

/// A field that differs: its name, its value before and after.
type Differing<'a> = (&'a str, Option<JsonbRef<'a>>, Option<JsonbRef<'a>>);

/// Edits the fields that differ between two objects. Returns false, without an edit, if the fields have to be
/// matched together.
fn apply_field_diff(
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
            (Some(old), Some(new)) => apply_diff(edit, child.ok_or_else(other_value)?, old, new)?,
            (Some(_), None) => edit.remove(child.ok_or_else(other_value)?)?,
            (None, Some(new)) => {
                edit.insert_value(node, Place::Field(name), new)?;
            }
            (None, None) => {}
        }
    }
    Ok(true)
}

/// Returns the fields that differ between two objects.
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
