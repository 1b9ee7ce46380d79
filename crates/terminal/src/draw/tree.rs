//! The tree of a document, with the author of each node's last change in its margin.
//!
//! ```text
//!   rev author     age   │   nodes
//!     1 ada        2d    │ ▾ {3}
//!     3 grace      2d  + │     title: "Anywhen"
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::pen::Pen;
use super::pen::styles::{
    ADDED, AUTHOR, CHANGED, CHOSEN, DIM, MOVED, NAME, NUMBER, PLAIN, REMOVED, REVISION, STRING,
};
use super::row;
use crate::answers::{Change, Label, Op, Row};
use crate::model::{Doc, Model, TreeLine};

/// Cells of an author in the margin.
const AUTHOR_WIDTH: usize = 10;
/// The narrowest tree that has a margin.
const MARGIN_MIN: u16 = 50;
/// Cells of a level of the tree.
const INDENT: usize = 2;

pub(super) fn draw(model: &Model, doc: &Doc, area: Rect, buffer: &mut Buffer) {
    if let Some(why) = &doc.absence {
        let mut pen = Pen::new(buffer, row(area, 0));
        pen.skip(2);
        pen.put(why, DIM);
        return;
    }
    if doc.outline.rows.is_empty() {
        let mut pen = Pen::new(buffer, row(area, 0));
        pen.skip(2);
        pen.put("loading…", DIM);
        return;
    }
    for (line, shown) in doc.lines(usize::from(area.height)).into_iter().enumerate() {
        let place = row(area, u16::try_from(line).unwrap_or(u16::MAX));
        draw_line(model, doc, shown, place, buffer);
    }
}

fn draw_line(model: &Model, doc: &Doc, line: TreeLine, place: Rect, buffer: &mut Buffer) {
    let margin = Margin::of(doc, place.width);
    match line {
        TreeLine::Row(at) => {
            let Some(of) = doc.outline.rows.get(at) else { return };
            if doc.outline.row + at == doc.cursor {
                let style = if doc.is_in_panel { DIM } else { CHOSEN };
                buffer.set_style(place, style);
            }
            let mut pen = Pen::new(buffer, place);
            margin.draw(model, doc, of, &mut pen);
            let changes = changes_of(doc, of);
            let (sign, style) = changes.first().map_or((" ", PLAIN), |change| sign(change.op));
            pen.put(sign, style);
            pen.put("│ ", DIM);
            node(of, &changes, &mut pen);
        }
        TreeLine::Deleted { change, depth } => {
            let changes = doc.compared.as_ref().map(|compared| &compared.changes);
            let Some(change) = changes.and_then(|changes| changes.get(change)) else { return };
            let mut pen = Pen::new(buffer, place);
            pen.skip(margin.width());
            pen.put("-", REMOVED);
            pen.put("│ ", DIM);
            pen.skip((depth + 1) * INDENT);
            pen.put(last_step(&change.path), REMOVED);
            pen.put(": ", REMOVED);
            pen.put(change.old.as_deref().unwrap_or_default(), REMOVED);
        }
        TreeLine::MoreDeleted { count, depth } => {
            let mut pen = Pen::new(buffer, place);
            pen.skip(margin.width());
            pen.put("-", REMOVED);
            pen.put("│ ", DIM);
            pen.skip((depth + 1) * INDENT);
            pen.put(&format!("and {count} more"), REMOVED);
        }
    }
}

/// The name or the position at the end of a path.
fn last_step(path: &str) -> &str {
    let begin = path.rfind(['.', '[']).unwrap_or_default();
    match path.ends_with('"') {
        // A quoted name may hold such characters itself.
        true => path.find(".\"").map_or(path, |at| &path[at + 1..]),
        false => path[begin..].trim_start_matches('.'),
    }
}

/// The changes of a node since the marked revision.
fn changes_of<'a>(doc: &'a Doc, of: &Row) -> Vec<&'a Change> {
    let Some(compared) = doc.compared.as_ref().filter(|known| known.to == doc.outline.revision)
    else {
        return Vec::new();
    };
    let places = compared.by_node.get(&of.key).map(Vec::as_slice).unwrap_or_default();
    places.iter().filter_map(|at| compared.changes.get(*at)).collect()
}

/// The sign of a change, and its style.
pub(super) fn sign(op: Op) -> (&'static str, Style) {
    match op {
        Op::Insert => ("+", ADDED),
        Op::Update => ("~", CHANGED),
        Op::Delete => ("-", REMOVED),
        Op::Move => (">", MOVED),
        Op::Rename => ("=", MOVED),
    }
}

/// The margin of the tree: who last changed each node.
struct Margin {
    revision: usize,
    is_shown: bool,
}

impl Margin {
    fn of(doc: &Doc, width: u16) -> Margin {
        Margin { revision: doc.newest().to_string().len().max(3), is_shown: width >= MARGIN_MIN }
    }

    fn width(&self) -> usize {
        match self.is_shown {
            true => self.revision + 1 + AUTHOR_WIDTH + 1 + 4 + 1,
            false => 0,
        }
    }

    fn draw(&self, model: &Model, doc: &Doc, of: &Row, pen: &mut Pen<'_>) {
        if !self.is_shown {
            return;
        }
        pen.column_right(&of.changed.to_string(), self.revision, REVISION);
        pen.skip(1);
        let version = doc.versions.get(&of.changed);
        pen.column(version.map_or("", |version| &version.author), AUTHOR_WIDTH, AUTHOR);
        pen.skip(1);
        let age = version.map_or_else(String::new, |version| age(version.time_us, model.now_us));
        pen.column_right(&age, 4, DIM);
        pen.skip(1);
    }
}

/// The time since a moment, in its largest unit: `3h`.
pub(super) fn age(then_us: u64, now_us: u64) -> String {
    const UNITS: [(u64, &str); 5] =
        [(31_557_600, "y"), (2_629_800, "mo"), (86_400, "d"), (3_600, "h"), (60, "m")];
    let seconds = now_us.saturating_sub(then_us) / 1_000_000;
    let unit = UNITS.iter().find(|(size, _)| seconds >= *size);
    unit.map_or_else(|| format!("{seconds}s"), |(size, name)| format!("{}{name}", seconds / size))
}

/// A node: its name, its value, and where it was before.
fn node(of: &Row, changes: &[&Change], pen: &mut Pen<'_>) {
    pen.skip(of.depth * INDENT);
    pen.put(
        match (of.children, of.is_open) {
            (None | Some(0), _) => "  ",
            (_, true) => "▾ ",
            (_, false) => "▸ ",
        },
        DIM,
    );
    match &of.label {
        Label::Root => {}
        Label::Name(name) => {
            pen.put(name, NAME);
            pen.put(": ", DIM);
        }
        Label::Index(index) => pen.put(&format!("[{index}] "), DIM),
    }
    value(of, changes, pen);
    for change in changes {
        let from = match change.op {
            Op::Move => change.from.as_deref(),
            Op::Rename => change.old.as_deref(),
            _ => None,
        };
        if let Some(from) = from {
            let word = if change.op == Op::Move { "  moved from " } else { "  renamed from " };
            pen.put(word, MOVED);
            pen.put(from, MOVED);
        }
    }
}

fn value(of: &Row, changes: &[&Change], pen: &mut Pen<'_>) {
    let update = changes.iter().find(|change| change.op == Op::Update);
    if let Some(old) = update.and_then(|change| change.old.as_deref()) {
        pen.put(old, REMOVED);
        pen.put(" → ", CHANGED);
    }
    match (of.kind.as_str(), of.children) {
        ("object", Some(count)) => pen.put(&format!("{{{count}}}"), DIM),
        (_, Some(count)) => pen.put(&format!("[{count}]"), DIM),
        ("string", None) => {
            pen.put("\"", STRING);
            pen.put(&of.text, STRING);
            pen.put(if of.is_cut { "…\"" } else { "\"" }, STRING);
        }
        ("number", None) => pen.put(&of.text, NUMBER),
        _ => pen.put(&of.text, PLAIN),
    }
}
