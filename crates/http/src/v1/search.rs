//! Search in one document: the next node whose name or value contains a text.
//!
//! ```text
//!   text=tea after_node=4                     forward: 5, 6, 7, then from 1 on
//!   1 {                                       backward: 3, 2, 1, then from the end on
//!   2   "title": "Tea and cake"   <── found, behind the end
//!   3   "prices": {
//!   4     "cake": 450
//! ```
//!
//! The search takes no notice of case, and looks at the characters that names and values have, not at how JSON
//! escapes them. It ends at the first match, and a client that goes away ends it. Long values are searched in pieces,
//! with a look at the client between two of them.

use anywhen::json::Kind;
use anywhen::json::text::unescape;
use anywhen::{NodeKey, Nodes, Tree};
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::{Problem, Result};

/// Bytes of the text that is looked for, at most.
const TEXT_BYTES_MAX: usize = 1_000;
/// Bytes of a value that are searched at once. A match may take up to three times its bytes in small letters (the
/// Kelvin sign is a `k`), and pieces overlap by more than that.
const PIECE_BYTES: usize = 1 << 20;
/// Values of so many bytes are compared place by place: nothing is copied. That of a long text takes too long.
const SHORT_BYTES: usize = 1 << 10;

/// `GET .../search`
pub(super) fn search(call: &mut Call) -> Result<Answer> {
    let moment = call.moment()?;
    let text: String = call.wanted("text")?;
    if text.is_empty() {
        return Err(Problem::bad("the parameter text must not be empty").into());
    }
    if text.len() > TEXT_BYTES_MAX {
        let problem = format!("the parameter text must have at most {TEXT_BYTES_MAX} bytes");
        return Err(Problem::bad(problem).into());
    }
    let backward = call.flag("backward")?;
    let after = call.parsed("after_node")?.map(NodeKey);
    let collection = call.collection_at("collection", moment)?;
    let document = call.document(&collection, call.part("key"), moment)?;
    let tree = &**document.tree();
    // A node that this version does not have is no place to begin at.
    let after = match after {
        Some(key) if tree.node(key)?.is_some() => Some(key),
        _ => None,
    };
    let wanted = TextSearch { tree, text: text.to_lowercase() };
    let found = match backward {
        false => wanted.forward(after)?,
        true => wanted.backward(after)?,
    };
    let answer = json!({
        "revision": document.revision().0,
        "found": found.as_ref().map(|found| found.key.0),
        "path": match &found {
            Some(found) => Some(tree.path(found.key)?.to_string()),
            None => None,
        },
        "wrapped": found.as_ref().is_some_and(|found| found.is_wrapped),
    });
    Ok(Answer::value(&answer))
}

/// A match.
struct Found {
    key: NodeKey,
    /// True if the search passed the end, or backward the beginning, of the document.
    is_wrapped: bool,
}

/// Fails if the client has gone.
fn go_on() -> Result<()> {
    match interrupt::is_told() {
        true => Err(Problem::busy("the client closed the connection").into()),
        false => Ok(()),
    }
}

/// True if a text has another one in it, which is in small letters and not empty. Case does not matter.
fn contains(text: &str, wanted: &str) -> Result<bool> {
    let mut rest = text;
    while rest.len() > PIECE_BYTES {
        let end = boundary(rest, PIECE_BYTES);
        if has(&rest[..end], wanted) {
            return Ok(true);
        }
        rest = &rest[boundary(rest, end.saturating_sub(4 * wanted.len()))..];
        go_on()?;
    }
    Ok(has(rest, wanted))
}

/// The last place up to `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The same as [`contains`], of a piece of a text.
fn has(text: &str, wanted: &str) -> bool {
    if !text.is_ascii() || !wanted.is_ascii() {
        return text.to_lowercase().contains(wanted);
    }
    if text.len() > SHORT_BYTES {
        return text.to_ascii_lowercase().contains(wanted);
    }
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let mut places = text.windows(wanted.len());
    places.any(|place| place.eq_ignore_ascii_case(wanted))
}

/// A search: the text, and the document that it is sought in.
struct TextSearch<'a> {
    tree: &'a Tree,
    /// In small letters.
    text: String,
}

impl TextSearch<'_> {
    fn is_match(&self, key: NodeKey) -> Result<bool> {
        go_on()?;
        let node = self.tree.expect(key)?;
        let has = |text: &str| contains(text, &self.text);
        if let Some(name) = node.name
            && has(&unescape(name))?
        {
            return Ok(true);
        }
        match node.kind {
            Kind::Null => has("null"),
            Kind::False => has("false"),
            Kind::True => has("true"),
            Kind::Number => has(&String::from_utf8_lossy(node.text)),
            Kind::String => has(&unescape(node.text)),
            Kind::Array | Kind::Object => Ok(false),
        }
    }

    /// The first match in a subtree, or the last one before `end`, in the order of the document.
    fn below(&self, top: NodeKey, end: Option<NodeKey>, last: bool) -> Result<Option<NodeKey>> {
        let mut found = None;
        let mut stack = vec![top];
        while let Some(key) = stack.pop() {
            if Some(key) == end {
                break;
            }
            if self.is_match(key)? {
                found = Some(key);
                if !last {
                    break;
                }
            }
            if self.tree.expect(key)?.kind.is_container() {
                let begin = stack.len();
                for child in self.tree.children(key)? {
                    stack.push(child?);
                }
                stack[begin..].reverse();
            }
        }
        Ok(found)
    }

    /// The first match after a node, else the first in the document.
    fn forward(&self, after: Option<NodeKey>) -> Result<Option<Found>> {
        let root = self.tree.root();
        let Some(after) = after else {
            let found = self.below(root, None, false)?;
            return Ok(found.map(|key| Found { key, is_wrapped: false }));
        };
        if self.tree.expect(after)?.kind.is_container() {
            for child in self.tree.children(after)? {
                if let Some(key) = self.below(child?, None, false)? {
                    return Ok(Some(Found { key, is_wrapped: false }));
                }
            }
        }
        let mut here = after;
        while let Some(parent) = self.tree.parent(here)? {
            for child in self.tree.children_after(parent, here)? {
                if let Some(key) = self.below(child?, None, false)? {
                    return Ok(Some(Found { key, is_wrapped: false }));
                }
            }
            here = parent;
        }
        let found = self.below(root, None, false)?;
        Ok(found.map(|key| Found { key, is_wrapped: true }))
    }

    /// The last match before a node, else the last in the document.
    fn backward(&self, before: Option<NodeKey>) -> Result<Option<Found>> {
        let root = self.tree.root();
        if let Some(key) = self.below(root, before, true)? {
            return Ok(Some(Found { key, is_wrapped: false }));
        }
        let found = self.below(root, None, true)?;
        Ok(found.map(|key| Found { key, is_wrapped: before.is_some() }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A match is found wherever it stands in a long value, also where two pieces meet, in any alphabet.
    #[test]
    fn long_values_are_searched_in_pieces() {
        for (filling, found, wanted) in [
            ("-", "NeeDle", "needle"),
            ("é", "NeeDle", "needle"),
            ("-", "ÄÖÜ", "äöü"),
            ("-", "K\u{212a}K", "kkk"),
        ] {
            for before in [0, PIECE_BYTES - 9, PIECE_BYTES - 5, PIECE_BYTES, 2 * PIECE_BYTES - 30] {
                let begin = filling.repeat(before / filling.len());
                let text = format!("{begin}{found}{}", filling.repeat(PIECE_BYTES));
                assert!(contains(&text, wanted).expect("it goes on"), "{wanted} after {before}");
            }
            let none = filling.repeat(2 * PIECE_BYTES);
            assert!(!contains(&none, wanted).expect("it goes on"), "{wanted}");
        }
        assert!(contains(&"ab".repeat(SHORT_BYTES), "bab").expect("it goes on"));
    }

    /// A client that goes away ends the search inside of a long value.
    #[test]
    fn a_client_that_goes_ends_it() {
        let gone = AtomicBool::new(true);
        let long = "-".repeat(2 * PIECE_BYTES);
        assert!(interrupt::during(&gone, || contains(&long, "needle")).is_err());
    }
}
