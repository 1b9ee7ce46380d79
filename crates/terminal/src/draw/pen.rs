//! [`Pen`]: writes texts into a row of cells, with all escaped that a terminal would obey.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use crate::visible::escaped;

/// The styles of the explorer: the sixteen colours of the terminal, so that they fit its background.
pub(super) mod styles {
    use ratatui::style::{Color, Modifier, Style};

    pub(in crate::draw) const PLAIN: Style = Style::new();
    pub(in crate::draw) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
    pub(in crate::draw) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
    pub(in crate::draw) const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
    pub(in crate::draw) const ERROR: Style = Style::new().fg(Color::Red);
    pub(in crate::draw) const AUTHOR: Style = Style::new().fg(Color::Cyan);
    pub(in crate::draw) const REVISION: Style = Style::new().fg(Color::Yellow);
    pub(in crate::draw) const NAME: Style = Style::new().fg(Color::Blue);
    pub(in crate::draw) const STRING: Style = Style::new().fg(Color::Green);
    pub(in crate::draw) const NUMBER: Style = Style::new().fg(Color::Magenta);
    pub(in crate::draw) const ADDED: Style = Style::new().fg(Color::Green);
    pub(in crate::draw) const REMOVED: Style = Style::new().fg(Color::Red);
    pub(in crate::draw) const CHANGED: Style = Style::new().fg(Color::Yellow);
    pub(in crate::draw) const MOVED: Style = Style::new().fg(Color::Cyan);
}

/// Writes from left to right into one row.
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    x: u16,
    y: u16,
    end: u16,
}

impl<'a> Pen<'a> {
    /// Writes into the first row of an area.
    pub(super) fn new(buffer: &'a mut Buffer, area: Rect) -> Pen<'a> {
        let end = if area.height == 0 { area.x } else { area.right() };
        Pen { buffer, x: area.x, y: area.y, end }
    }

    /// Cells that are left.
    pub(super) fn left(&self) -> usize {
        usize::from(self.end - self.x)
    }

    /// Writes a text; one that does not fit is cut, and ends in `…`.
    pub(super) fn put(&mut self, text: &str, style: Style) {
        let left = self.left();
        // Text that does not fit is not read: a value may be long.
        let head = match text.char_indices().nth(left + 1) {
            Some((end, _)) => &text[..end],
            None => text,
        };
        let shown = escaped(head, |_| false);
        if shown.width() <= left {
            (self.x, _) = self.buffer.set_stringn(self.x, self.y, &*shown, left, style);
            return;
        }
        if left == 0 {
            return;
        }
        (self.x, _) = self.buffer.set_stringn(self.x, self.y, &*shown, left - 1, style);
        (self.x, _) = self.buffer.set_stringn(self.x, self.y, "…", 1, style);
    }

    /// Writes the end of a text, where all of it does not fit: what is typed stays in view.
    pub(super) fn put_end(&mut self, text: &str, style: Style) {
        let left = self.left().saturating_sub(1);
        let shown = escaped(text, |_| false);
        let mut tail = &*shown;
        while tail.width() > left {
            let mut chars = tail.chars();
            chars.next();
            tail = chars.as_str();
        }
        (self.x, _) = self.buffer.set_stringn(self.x, self.y, tail, left, style);
    }

    /// Writes a text into a column of so many cells: cut, or filled with spaces.
    pub(super) fn column(&mut self, text: &str, width: usize, style: Style) {
        let end = self.end;
        let width = width.min(self.left());
        self.end = self.x + u16::try_from(width).unwrap_or(u16::MAX);
        let column_end = self.end;
        self.put(text, style);
        (self.x, self.end) = (column_end, end);
    }

    /// The same, with the text at the right.
    pub(super) fn column_right(&mut self, text: &str, width: usize, style: Style) {
        let pad = width.saturating_sub(escaped(text, |_| false).width());
        self.skip(pad);
        self.column(text, width - pad, style);
    }

    /// Leaves some cells as they are.
    pub(super) fn skip(&mut self, cells: usize) {
        let cells = cells.min(self.left());
        self.x += u16::try_from(cells).unwrap_or_default();
    }
}
