//! A diff written out: for people, for programs, as a patch, and as SirixDB's users know it.
//!
//! ```text
//!   to_text          ~ $.counter  1 → 2                                         a line for each change
//!   to_json          [{"node_key":7,"path":"$.counter","op":"update","old":1,"new":2}]
//!   to_rfc6902       [{"op":"replace","path":"/counter","value":2}]             see `patch`
//!   to_sirix_json    {"database":..,"diffs":[{"update":{"nodeKey":7,"path":"/counter",..}}]}
//! ```

mod patch;

use crate::diff::{Change, ChangeOp, Diff, Position};
use crate::tree::Nodes;
use crate::{NodeKey, Result, Revision};
use json::text::quote;
use json::{JsonPath, Kind, Step};
use std::fmt::Write;

/// Characters of a value that [`Diff::to_text`] shows.
const SHOWN_MAX: usize = 120;

impl Diff {
    /// The changes as SirixDB writes them, with old values beside the new ones, and moves as moves:
    /// `{"database","resource","old-revision","new-revision","diffs":[...]}`. Without data the values of
    /// what came and went are left out.
    pub fn to_sirix_json(
        &self,
        database: &str,
        resource: &str,
        old_revision: Revision,
        new_revision: Revision,
        with_data: bool,
    ) -> Result<String> {
        let (database, resource) = (quote(database), quote(resource));
        let diffs: Vec<String> =
            self.changes.iter().map(|change| sirix(change, with_data)).collect();
        Ok(format!(
            "{{\"database\":{database},\"resource\":{resource},\"old-revision\":{old_revision},\
             \"new-revision\":{new_revision},\"diffs\":[{}]}}",
            diffs.join(",")
        ))
    }

    /// A JSON Patch (RFC 6902) that makes the newer version of the older one. The order of an
    /// object's fields, which patches know nothing of, is not part of it.
    pub fn to_rfc6902(&self) -> Result<String> {
        patch::patch(&self.old, &self.new, &self.changes)
    }

    /// The changes as a JSON array of `{"node_key", "path", "op", ...}` with what belongs to the
    /// operation: `old` and `new` as values, `from` and `position` for what moved, `parent_node_key` for what
    /// is gone.
    pub fn to_json(&self) -> Result<String> {
        let mut changes = Vec::with_capacity(self.changes.len());
        for change in &self.changes {
            let parent = match change.op {
                ChangeOp::Delete { .. } => self.old.parent(change.node)?,
                _ => None,
            };
            changes.push(plain(change, parent));
        }
        Ok(format!("[{}]", changes.join(",")))
    }

    /// The changes for people, a line each; long values are cut. `colour`: with the escapes of
    /// terminals.
    pub fn to_text(&self, colour: bool) -> Result<String> {
        let mut out = String::new();
        for change in &self.changes {
            let (sign, code, what) = described(change);
            let line = format!("{sign} {}  {what}", change.path);
            let _ = match colour {
                true => writeln!(out, "\x1b[{code}m{line}\x1b[0m"),
                false => writeln!(out, "{line}"),
            };
        }
        Ok(out)
    }
}

impl Change {
    /// The change as a JSON object, as in [`Diff::to_json`], without the parent of what is gone.
    pub fn to_json(&self) -> String {
        plain(self, None)
    }
}

/// A sign, the colour of the line, and what happened.
fn described(change: &Change) -> (char, &'static str, String) {
    match &change.op {
        ChangeOp::Update { old, new, .. } => ('~', "33", format!("{} → {}", cut(old), cut(new))),
        ChangeOp::Replace { old, new, .. } => {
            ('~', "33", format!("{} → {} (another node)", cut(old), cut(new)))
        }
        ChangeOp::Rename { old, new } => ('=', "36", format!("\"{old}\" → \"{new}\"")),
        ChangeOp::Move { from, .. } => ('>', "36", format!("from {from}")),
        ChangeOp::Insert { new, .. } => ('+', "32", cut(new)),
        ChangeOp::Delete { old } => ('-', "31", cut(old)),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn plain(change: &Change, parent: Option<NodeKey>) -> String {
    let position = |position: &Position| match position {
        Position::Root => "\"root\"".to_owned(),
        Position::FirstChildOf(key) => format!("{{\"first_child_of\":{key}}}"),
        Position::RightSiblingOf(key) => format!("{{\"right_sibling_of\":{key}}}"),
    };
    let (op, rest) = match &change.op {
        ChangeOp::Update { old, new, .. } => ("update", format!("\"old\":{old},\"new\":{new}")),
        ChangeOp::Rename { old, new } => ("rename", format!("\"old\":\"{old}\",\"new\":\"{new}\"")),
        ChangeOp::Move { from, position: at } => {
            let from = quote(&from.to_string());
            ("move", format!("\"from\":{from},\"position\":{}", position(at)))
        }
        ChangeOp::Insert { new, position: at, .. } => {
            ("insert", format!("\"new\":{new},\"position\":{}", position(at)))
        }
        ChangeOp::Delete { old } => {
            let parent =
                parent.map_or_else(String::new, |key| format!(",\"parent_node_key\":{key}"));
            ("delete", format!("\"old\":{old}{parent}"))
        }
        ChangeOp::Replace { old_node, old, new, .. } => {
            ("replace", format!("\"old_node_key\":{old_node},\"old\":{old},\"new\":{new}"))
        }
    };
    let path = quote(&change.path.to_string());
    format!("{{\"node_key\":{},\"path\":{path},\"op\":\"{op}\",{rest}}}", change.node)
}

/// A path as SirixDB writes it: `/foo/[3]`.
fn slashed(path: &JsonPath) -> String {
    let mut out = String::new();
    for step in &path.steps {
        let _ = match step {
            Step::Field(name) | Step::Either(name) => write!(out, "/{name}"),
            Step::Index(index) => write!(out, "/[{index}]"),
        };
    }
    if out.is_empty() { "/".to_owned() } else { out }
}

fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::True | Kind::False => "boolean",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array | Kind::Object => "jsonFragment",
    }
}

/// Data as SirixDB gives it: a container as a string with its JSON, a scalar as itself.
fn data(kind: Kind, text: &str) -> String {
    if kind.is_container() { quote(text) } else { text.to_owned() }
}

fn kind_of(text: &str) -> Kind {
    match text.as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        _ => Kind::Null,
    }
}

fn sirix(change: &Change, with_data: bool) -> String {
    let path = quote(&slashed(&change.path));
    let key = change.node;
    let position = |position: &Position| {
        let (beside, how) = match position {
            Position::Root => (0, "asRoot"),
            Position::FirstChildOf(parent) => (parent.0, "asFirstChild"),
            Position::RightSiblingOf(left) => (left.0, "asRightSibling"),
        };
        format!("\"insertPositionNodeKey\":{beside},\"insertPosition\":\"{how}\"")
    };
    let field = |name: &str, kind: Kind, text: &str| match with_data {
        true => format!(",\"{name}\":{}", data(kind, text)),
        false => String::new(),
    };
    let old_data = |old: &str| field("oldData", kind_of(old), old);
    match &change.op {
        ChangeOp::Update { old, new, kind } => format!(
            "{{\"update\":{{\"nodeKey\":{key},\"path\":{path},\"type\":\"{}\",\"value\":{new},\
             \"oldValue\":{old}}}}}",
            type_of(*kind)
        ),
        ChangeOp::Rename { old, new } => format!(
            "{{\"update\":{{\"nodeKey\":{key},\"path\":{path},\"name\":\"{new}\",\"oldName\":\"{old}\"}}}}"
        ),
        ChangeOp::Move { from, position: at } => format!(
            "{{\"move\":{{\"nodeKey\":{key},\"oldPath\":{},{},\"path\":{path}}}}}",
            quote(&slashed(from)),
            position(at)
        ),
        ChangeOp::Insert { new, kind, position: at } => format!(
            "{{\"insert\":{{\"nodeKey\":{key},{},\"path\":{path},\"type\":\"{}\"{}}}}}",
            position(at),
            type_of(*kind),
            field("data", *kind, new)
        ),
        ChangeOp::Delete { old } => {
            format!("{{\"delete\":{{\"nodeKey\":{key},\"path\":{path}{}}}}}", old_data(old))
        }
        ChangeOp::Replace { old_node, old, new, kind } => format!(
            "{{\"replace\":{{\"oldNodeKey\":{old_node},\"newNodeKey\":{key},\"path\":{path},\
             \"type\":\"{}\"{}{}}}}}",
            type_of(*kind),
            field("data", *kind, new),
            old_data(old)
        ),
    }
}
