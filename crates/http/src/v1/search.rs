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
//! escapes them. It ends at the first match, and a client that goes away ends it.

use anywhen::json::Kind;
use anywhen::json::text::unescape;
use anywhen::{NodeKey, Nodes, Tree};
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::{Problem, Result};

/// `GET .../search`
pub(super) fn search(call: &mut Call) -> Result<Answer> {
    let moment = call.moment()?;
    let text: String = call.wanted("text")?;
    if text.is_empty() {
        return Err(Problem::bad("the parameter text must not be empty").into());
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
    let wanted = Wanted { tree, text: text.to_lowercase() };
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
    /// True where the search passed the end, or backward the beginning, of the document.
    is_wrapped: bool,
}

/// True where a text has another one in it, which is in small letters. Case does not matter.
fn contains(text: &str, wanted: &str) -> bool {
    if !text.is_ascii() || !wanted.is_ascii() {
        return text.to_lowercase().contains(wanted);
    }
    // Nearly every text: nothing is copied.
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let mut places = text.windows(wanted.len());
    places.any(|place| place.eq_ignore_ascii_case(wanted))
}

/// What is looked for, and where.
struct Wanted<'a> {
    tree: &'a Tree,
    /// In small letters.
    text: String,
}

impl Wanted<'_> {
    fn is_match(&self, key: NodeKey) -> Result<bool> {
        if interrupt::is_told() {
            return Err(Problem::busy("nobody waits for this any more").into());
        }
        let node = self.tree.expect(key)?;
        let has = |text: &str| contains(text, &self.text);
        if node.name.is_some_and(|name| has(&unescape(name))) {
            return Ok(true);
        }
        Ok(match node.kind {
            Kind::Null => has("null"),
            Kind::False => has("false"),
            Kind::True => has("true"),
            Kind::Number => has(&String::from_utf8_lossy(node.text)),
            Kind::String => has(&unescape(node.text)),
            Kind::Array | Kind::Object => false,
        })
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
