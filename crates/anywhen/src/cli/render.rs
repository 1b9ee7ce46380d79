//! Answers for people: histories, comparisons and blame as aligned text, with
//! colours that [`super::screen`] takes out again where there is no terminal.

use anywhen::{BlameLine, Change, ChangeOp, NodeVersion, RevisionInfo};
use owo_colors::OwoColorize;

use super::args::Target;
use super::json_out::Object;
use super::time;

/// The widest a value is shown in one line of text, in characters.
const VALUE_WIDTH_MAX: usize = 100;

/// A line for each revision: number, time, author, first line of the message.
pub(super) fn history(revisions: &[RevisionInfo]) -> String {
    let number_width = widest(revisions.iter().map(|r| r.revision.0.to_string()));
    let author_width = widest(revisions.iter().map(|r| short(&r.author, 24)));
    let mut out = String::new();
    for r in revisions {
        let shown = time::show(r.authored_us.unwrap_or(r.time_us));
        let author = short(&r.author, 24);
        let message = r.message.lines().next().unwrap_or("");
        let gone = if r.deleted { "(removed) " } else { "" };
        line(
            &mut out,
            &format!(
                "{}  {}  {}  {}{message}",
                pad_left(&r.revision.0.to_string(), number_width).yellow(),
                shown.dimmed(),
                pad(&author, author_width).cyan(),
                gone.red(),
            ),
        );
    }
    out
}

/// What changed, a line or three for each change, and a count above.
pub(super) fn diff(target: &Target, from: u32, to: u32, changes: &[Change]) -> String {
    let mut out = String::new();
    let count = super::screen::count(changes.len() as u64, "change");
    line(&mut out, &format!("{}", format!("{target}: revision {from} to {to}, {count}").bold()));
    for change in changes {
        let path = change.path.as_str();
        let old = change.old.as_deref().map(|v| short(v, VALUE_WIDTH_MAX));
        let new = change.new.as_deref().map(|v| short(v, VALUE_WIDTH_MAX));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        match change.op {
            ChangeOp::Insert => line(&mut out, &format!("{} {path}  {}", "+".green(), new.green())),
            ChangeOp::Delete => line(&mut out, &format!("{} {path}  {}", "-".red(), old.red())),
            ChangeOp::Update | ChangeOp::Replace => line(
                &mut out,
                &format!(
                    "{} {path}  {} {} {}",
                    "~".yellow(),
                    old.red(),
                    "->".dimmed(),
                    new.green()
                ),
            ),
            ChangeOp::Rename => {
                line(&mut out, &format!("{} {path}  renamed from {}", "=".blue(), old.red()))
            }
            ChangeOp::Move => line(
                &mut out,
                &format!(
                    "{} {path}  moved from {}",
                    ">".blue(),
                    change.old_path.as_deref().unwrap_or("elsewhere").red()
                ),
            ),
            _ => line(&mut out, &format!("* {path}  {old} -> {new}")),
        }
    }
    out
}

pub(super) fn change_json(change: &Change) -> String {
    let op = match change.op {
        ChangeOp::Insert => "insert",
        ChangeOp::Delete => "delete",
        ChangeOp::Update => "update",
        ChangeOp::Replace => "replace",
        ChangeOp::Rename => "rename",
        ChangeOp::Move => "move",
        _ => "other",
    };
    let mut object = Object::new()
        .text("op", op)
        .plain("node_key", change.node_key.0)
        .text("path", &change.path);
    if let Some(old_path) = &change.old_path {
        object = object.text("old_path", old_path);
    }
    if let Some(old) = &change.old {
        object = object.raw("old", old);
    }
    if let Some(new) = &change.new {
        object = object.raw("new", new);
    }
    object.end()
}

/// The document line by line, and beside each line the revision that last
/// changed it:
///
/// ```text
///  1  ada    2026-11-21 │ {
///  3  grace  2026-11-22 │   "counter": 2,
///  1  ada    2026-11-21 │   "title": "Anywhen"
///                       │ }
/// ```
pub(super) fn blame(pretty: &str, lines: &[BlameLine]) -> String {
    let number_width = widest(lines.iter().map(|l| l.revision.0.to_string()));
    let author_width = widest(lines.iter().map(|l| short(&l.author, 20)));
    let margin = number_width + 2 + author_width + 2 + "2026-11-21".len();
    let mut blamed = lines.iter();
    let mut out = String::new();
    for text in pretty.lines() {
        // Pretty JSON gives each node one line of its own, in document order;
        // only the lines that close an array or object belong to no node.
        let closes = text.trim_start().starts_with(['}', ']']);
        let side = match (!closes).then(|| blamed.next()).flatten() {
            Some(l) => format!(
                "{}  {}  {}",
                pad_left(&l.revision.0.to_string(), number_width).yellow(),
                pad(&short(&l.author, 20), author_width).cyan(),
                time::date(l.time_us).dimmed()
            ),
            None => " ".repeat(margin),
        };
        line(&mut out, &format!("{side} {} {text}", "│".dimmed()));
    }
    out
}

pub(super) fn blame_json(l: &BlameLine) -> String {
    Object::new()
        .plain("node_key", l.node_key.0)
        .text("path", &l.path)
        .plain("revision", l.revision.0)
        .text("author", &l.author)
        .text("time", &time::rfc3339(l.time_us))
        .raw("value", &l.value)
        .end()
}

/// A line for each value that a node had: revisions, when, value.
pub(super) fn node_history(versions: &[NodeVersion]) -> String {
    let range = |v: &NodeVersion| match v.to {
        Some(to) => format!("{}-{}", v.from.0, to.0),
        None => format!("{}-", v.from.0),
    };
    let width = widest(versions.iter().map(range));
    let mut out = String::new();
    for v in versions {
        line(
            &mut out,
            &format!(
                "{}  {}  {}",
                pad(&range(v), width).yellow(),
                time::show(v.from_us).dimmed(),
                short(&v.value, VALUE_WIDTH_MAX)
            ),
        );
    }
    out
}

pub(super) fn node_version_json(v: &NodeVersion) -> String {
    let object = Object::new().plain("from_revision", v.from.0);
    let object = match v.to {
        Some(to) => object.plain("to_revision", to.0),
        None => object.raw("to_revision", "null"),
    };
    object
        .text("from_time", &time::rfc3339(v.from_us))
        .text_or_null("to_time", v.to_us.map(time::rfc3339).as_deref())
        .raw("value", &v.value)
        .end()
}

/// Adds a line, without the spaces that an empty last column leaves behind.
fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn widest(texts: impl Iterator<Item = String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

fn pad_left(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{}{text}", " ".repeat(missing))
}

/// The text on one line, cut at `width` characters.
fn short(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(3)).collect();
    out.push_str("...");
    out
}
