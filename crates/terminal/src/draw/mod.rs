//! Drawing: from the state to the cells of a screen. It changes nothing, and it is the only way to the screen.
//!
//! Invariant: every text reaches the screen through [`Pen`], which escapes what a terminal would obey.

mod axis;
mod document;
mod help;
mod panel;
mod pen;
mod tree;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::answers::Version;
use crate::model::{List, Model, Page, Purpose};
use pen::Pen;
use pen::styles::{BOLD, CHOSEN, DIM, ERROR, PLAIN};

/// Draws the whole screen.
pub(crate) fn draw(model: &Model, buffer: &mut Buffer) {
    let size = model.size;
    if size.width < 20 || size.height < 6 {
        Pen::new(buffer, Rect::new(0, 0, size.width, size.height)).put("too small", PLAIN);
        return;
    }
    match &model.page {
        Page::Collections(list) => names(model, list, "collections", buffer),
        Page::Documents { collection, list } => names(model, list, collection, buffer),
        Page::Document(doc) => document::draw(model, doc, buffer),
    }
    footer(model, buffer);
    if model.is_helping {
        help::draw(size, buffer);
    }
}

/// A list of names to choose from.
fn names(model: &Model, list: &List, title: &str, buffer: &mut Buffer) {
    let parts = model.size.parts(false);
    let mut pen = Pen::new(buffer, row(parts.header, 0));
    pen.put(&model.place, BOLD);
    pen.put("  ", PLAIN);
    pen.put(title, BOLD);
    if !list.prefix.is_empty() {
        pen.put("  names that begin with ", DIM);
        pen.put(&list.prefix, PLAIN);
    }
    let text = match (list.is_loaded, list.names.len()) {
        (false, _) => "loading…",
        (true, 0) => "nothing is here",
        _ => return rows(model, list, buffer),
    };
    let top = Rect::new(2, parts.header.height, model.size.width.saturating_sub(2), 1);
    Pen::new(buffer, top).put(text, DIM);
}

fn rows(model: &Model, list: &List, buffer: &mut Buffer) {
    let height = model.size.list_height();
    let top = model.size.parts(false).header.height;
    for (line, (at, name)) in list.names.iter().enumerate().skip(list.top).take(height).enumerate()
    {
        let y = top + u16::try_from(line).unwrap_or(u16::MAX);
        let area = Rect::new(0, y, model.size.width, 1);
        let is_chosen = at == list.cursor;
        if is_chosen {
            buffer.set_style(area, CHOSEN);
        }
        let mut pen = Pen::new(buffer, area);
        pen.put(if is_chosen { "> " } else { "  " }, PLAIN);
        pen.put(name, PLAIN);
    }
}

/// The line at the bottom: what the reader types, a message, or the most used keys.
fn footer(model: &Model, buffer: &mut Buffer) {
    let area = model.size.parts(false).footer;
    let mut pen = Pen::new(buffer, area);
    if let Some(prompt) = &model.prompt {
        let asks = match prompt.purpose {
            Purpose::Go => "go to revision or moment: ",
            Purpose::Search => "search keys and values: ",
            Purpose::Prefix => "names that begin with: ",
        };
        pen.put(asks, BOLD);
        pen.put_end(&prompt.text, PLAIN);
        pen.put("▏", PLAIN);
        return;
    }
    if let Some(notice) = &model.notice {
        pen.put(&notice.text, if notice.is_error { ERROR } else { PLAIN });
        return;
    }
    if model.queue.is_jumping() {
        pen.put("searching…", DIM);
        return;
    }
    pen.put(
        match &model.page {
            Page::Document(doc) if doc.is_in_panel => {
                "↑↓ choose  ⏎ go there  tab tree  esc close  ? help  q quit"
            }
            Page::Document(_) => {
                "←→ version  ⏎ open  h history  m mark  c changes  g go to  / search  ? help  q quit"
            }
            _ => "↑↓ choose  ⏎ open  / names  esc back  ? help  q quit",
        },
        DIM,
    );
}

/// A row of an area.
fn row(area: Rect, number: u16) -> Rect {
    let height = u16::from(number < area.height);
    Rect::new(area.x, area.y + number, area.width, height)
}

/// The first line of a message.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Draws the facts about a revision.
fn described(version: &Version, pen: &mut Pen<'_>) {
    pen.put(&anywhen::time::show(version.time_us), PLAIN);
    if !version.author.is_empty() {
        pen.put("  ", PLAIN);
        pen.put(&version.author, pen::styles::AUTHOR);
    }
    if !version.message.is_empty() {
        pen.put("  ", PLAIN);
        pen.put(first_line(&version.message), PLAIN);
    }
}
