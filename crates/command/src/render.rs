//! Answers for people: histories, comparisons and blame as aligned text, with
//! colours on terminals ([`crate::paint`]).

use anywhen::{
    BlameLine, Change, ChangeOp, History, NodeVersion, PathClass, Position, RevisionInfo,
};

use crate::args::Target;
use crate::json_out::Object;
use crate::paint::Paint;
use crate::read::proved;
use crate::visible::shown;
use anywhen::time;

/// The widest a value is shown in one line of text, in characters.
const VALUE_WIDTH_MAX: usize = 100;

/// The widest an author is shown, in characters.
const AUTHOR_WIDTH_MAX: usize = 24;

/// A line for each revision: number, time, author, first line of the message.
pub(crate) fn history(revisions: &History) -> String {
    let number_width = widest(revisions.iter().map(|r| r.revision.0.to_string()));
    let author_width = widest(revisions.iter().map(|r| name(r.author)));
    let mut out = String::new();
    for r in revisions {
        let moment = time::show(r.authored_us.unwrap_or(r.time_us));
        let message = r.message.lines().next().unwrap_or("");
        let mut columns =
            vec![pad_left(&r.revision.0.to_string(), number_width).yellow(), moment.dimmed()];
        let follows = r.deleted || !r.kept || !message.is_empty();
        if author_width > 0 && (follows || !r.author.is_empty()) {
            // Padded only where something follows: lines end without spaces.
            let width = if follows { author_width } else { 0 };
            columns.push(pad(&name(r.author), width).cyan());
        }
        if r.deleted {
            columns.push("(removed)".red());
        }
        if !r.kept {
            columns.push("(not kept)".dimmed());
        }
        if !message.is_empty() {
            columns.push(shown(message).into_owned());
        }
        line(&mut out, &columns.join("  "));
    }
    out
}

/// The changes, a line or three for each, and a count above.
pub(crate) fn diff(target: &Target, from: u64, to: u64, changes: &[Change]) -> String {
    let mut out = String::new();
    let count = crate::screen::count(changes.len() as u64, "change");
    let title = format!("{target}: revision {from} to {to}, {count}");
    line(&mut out, &shown(&title).bold());
    for change in changes {
        let path = shown(&change.path.to_string()).into_owned();
        let short = |value: &str| short(value, VALUE_WIDTH_MAX);
        let text = match &change.op {
            ChangeOp::Insert { new, .. } => {
                format!("{} {path}  {}", "+".green(), short(new).green())
            }
            ChangeOp::Delete { old } => format!("{} {path}  {}", "-".red(), short(old).red()),
            ChangeOp::Update { old, new, .. } | ChangeOp::Replace { old, new, .. } => format!(
                "{} {path}  {} {} {}",
                "~".yellow(),
                short(old).red(),
                "->".dimmed(),
                short(new).green()
            ),
            ChangeOp::Rename { old, .. } => {
                format!("{} {path}  renamed from {}", "=".blue(), short(old).red())
            }
            ChangeOp::Move { from, .. } => {
                format!("{} {path}  moved from {}", ">".blue(), shown(&from.to_string()).red())
            }
        };
        line(&mut out, &text);
    }
    out
}

pub(crate) fn change_json(change: &Change) -> String {
    let op = match &change.op {
        ChangeOp::Insert { .. } => "insert",
        ChangeOp::Delete { .. } => "delete",
        ChangeOp::Update { .. } => "update",
        ChangeOp::Replace { .. } => "replace",
        ChangeOp::Rename { .. } => "rename",
        ChangeOp::Move { .. } => "move",
    };
    let object = Object::new()
        .text("op", op)
        .plain("node_key", change.node.0)
        .text("path", &change.path.to_string());
    match &change.op {
        ChangeOp::Insert { new, position, .. } => placed(object.raw("new", new), *position),
        ChangeOp::Delete { old } => object.raw("old", old),
        ChangeOp::Update { old, new, .. } => object.raw("old", old).raw("new", new),
        ChangeOp::Replace { old_node, old, new, .. } => {
            object.plain("old_node_key", old_node.0).raw("old", old).raw("new", new)
        }
        // Names are kept as they stand in JSON, without quotes.
        ChangeOp::Rename { old, new } => {
            object.raw("old", &format!("\"{old}\"")).raw("new", &format!("\"{new}\""))
        }
        ChangeOp::Move { from, position } => {
            placed(object.text("from", &from.to_string()), *position)
        }
    }
    .end()
}

/// Says where a node stands among its siblings.
fn placed(object: Object, position: Position) -> Object {
    match position {
        Position::Root => object,
        Position::FirstChildOf(parent) => object.plain("first_child_of", parent.0),
        Position::RightSiblingOf(sibling) => object.plain("right_sibling_of", sibling.0),
    }
}

/// The document line by line, and beside each line the revision that last
/// changed it:
///
/// ```text
///  3  grace  2026-11-22 │ {
///  3  grace  2026-11-22 │   "counter": 2,
///  1  ada    2026-11-21 │   "title": "Anywhen"
///                       │ }
/// ```
pub(crate) fn blame(pretty: &str, lines: &[(&BlameLine, &RevisionInfo)]) -> String {
    let number_width = widest(lines.iter().map(|(_, r)| r.revision.0.to_string()));
    let author_width = widest(lines.iter().map(|(_, r)| name(&r.author)));
    let margin = number_width + 2 + author_width + 2 + "2026-11-21".len();
    let mut blamed = lines.iter();
    let mut out = String::new();
    for text in pretty.lines() {
        // Pretty JSON gives each node one line of its own, in document order;
        // only the lines that close an array or object belong to no node.
        let closes = text.trim_start().starts_with(['}', ']']);
        let side = match (!closes).then(|| blamed.next()).flatten() {
            Some((_, r)) => format!(
                "{}  {}  {}",
                pad_left(&r.revision.0.to_string(), number_width).yellow(),
                pad(&name(&r.author), author_width).cyan(),
                time::date(r.authored_us.unwrap_or(r.time_us)).dimmed()
            ),
            None => " ".repeat(margin),
        };
        line(&mut out, &format!("{side} {} {}", "│".dimmed(), shown(text)));
    }
    out
}

pub(crate) fn blame_json((l, r): &(&BlameLine, &RevisionInfo)) -> String {
    let object = Object::new()
        .plain("node_key", l.node.0)
        .text("path", &l.path.to_string())
        .plain("revision", l.revision.0)
        .text("author", &r.author)
        .text_or_null("role", proved(&r.role))
        .text("message", &r.message)
        .text("time", &time::rfc3339(r.time_us))
        .text_or_null("authored", r.authored_us.map(time::rfc3339).as_deref());
    // A container shows only its opening bracket: it has no value of its own.
    match l.value.as_str() {
        "[" | "{" => object.end(),
        value => object.raw("value", value).end(),
    }
}

/// A line for each value that a node had: revisions, when, by whom, value.
pub(crate) fn node_history(versions: &[(&NodeVersion, &RevisionInfo)]) -> String {
    let range = |v: &NodeVersion| match v.to {
        Some(to) if to == v.from => v.from.to_string(),
        Some(to) => format!("{}-{to}", v.from),
        None => format!("{}-", v.from),
    };
    let range_width = widest(versions.iter().map(|(v, _)| range(v)));
    let author_width = widest(versions.iter().map(|(_, r)| name(&r.author)));
    let mut out = String::new();
    for (v, r) in versions {
        line(
            &mut out,
            &format!(
                "{}  {}  {}  {}",
                pad(&range(v), range_width).yellow(),
                time::show(r.authored_us.unwrap_or(r.time_us)).dimmed(),
                pad(&name(&r.author), author_width).cyan(),
                short(&v.value, VALUE_WIDTH_MAX)
            ),
        );
    }
    out
}

pub(crate) fn node_version_json((v, r): &(&NodeVersion, &RevisionInfo)) -> String {
    let object = Object::new().plain("node_key", v.node.0).plain("from_revision", v.from.0);
    let object = match v.to {
        Some(to) => object.plain("to_revision", to.0),
        None => object.raw("to_revision", "null"),
    };
    object
        .text("from_time", &time::rfc3339(v.from_us))
        .text_or_null("to_time", v.to_us.map(time::rfc3339).as_deref())
        .text_or_null("authored", r.authored_us.map(time::rfc3339).as_deref())
        .text("author", &r.author)
        .text_or_null("role", proved(&r.role))
        .text("message", &r.message)
        .raw("value", &v.value)
        .end()
}

/// A line for each path: how many nodes have it, and the path.
pub(crate) fn paths(paths: &[PathClass]) -> String {
    let width = widest(paths.iter().map(|of| of.count.to_string()));
    let mut out = String::new();
    for of in paths {
        let count = pad_left(&of.count.to_string(), width);
        line(&mut out, &format!("{}  {}", count.yellow(), shown(&of.path)));
    }
    out
}

pub(crate) fn path_json(of: &PathClass) -> String {
    Object::new().text("path", &of.path).plain("count", of.count).plain("level", of.level).end()
}

/// An author's name without the address, and not too long.
fn name(author: &str) -> String {
    let name = author.split(" <").next().unwrap_or(author);
    short(name, AUTHOR_WIDTH_MAX)
}

/// Adds a line, without the spaces that an empty last column leaves behind.
fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

pub(crate) fn widest(texts: impl Iterator<Item = String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

fn pad_left(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{}{text}", " ".repeat(missing))
}

/// The text on one line, cut at `width` characters.
fn short(text: &str, width: usize) -> String {
    let text = &*shown(text);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(3)).collect();
    out.push_str("...");
    out
}
