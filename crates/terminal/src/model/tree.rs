//! The tree: the rows on the screen, the chosen one, and the next window to ask for.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::Doc;
use crate::answers::{Outline, Row};
use crate::asks::{Ask, OutlineAt, Queue};
use crate::layout::Size;

/// Deleted children of one node that the tree shows; the list of changes has all.
const GHOSTS_MAX: usize = 5;

/// A line of the tree on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeLine {
    /// A row, by its place in the window.
    Row(usize),
    /// A deleted node, by its place among the changes, and the depth at which it stood.
    Deleted { change: usize, depth: usize },
    /// The number of deleted nodes that have no line of their own.
    MoreDeleted { count: usize, depth: usize },
}

impl Doc {
    fn tree_height(&self, size: Size) -> usize {
        usize::from(size.parts(self.panel.is_some()).body.height).max(1)
    }

    /// The chosen row.
    pub(crate) fn row(&self) -> Option<&Row> {
        self.outline.rows.get(self.cursor.checked_sub(self.outline.row)?)
    }

    /// The path of the chosen row.
    pub(crate) fn path(&self) -> String {
        match self.cursor.checked_sub(self.outline.row) {
            Some(at) if at < self.outline.rows.len() => self.outline.path(at).to_string(),
            _ => String::new(),
        }
    }

    /// The lines from the first row on the screen on.
    pub(crate) fn lines(&self, height: usize) -> Vec<TreeLine> {
        let mut lines = Vec::with_capacity(height);
        let begin = self.top.saturating_sub(self.outline.row);
        for (at, row) in self.outline.rows.iter().enumerate().skip(begin) {
            if lines.len() >= height {
                break;
            }
            lines.push(TreeLine::Row(at));
            self.ghosts(row, &mut lines);
        }
        lines.truncate(height);
        lines
    }

    /// Adds the deleted children of an open node.
    fn ghosts(&self, row: &Row, lines: &mut Vec<TreeLine>) {
        let Some(compared) =
            self.compared.as_ref().filter(|known| known.to == self.outline.revision)
        else {
            return;
        };
        if let Some(deleted) = compared.deleted.get(&row.key).filter(|_| row.is_open) {
            let depth = row.depth + 1;
            let shown = deleted.iter().take(GHOSTS_MAX);
            lines.extend(shown.map(|change| TreeLine::Deleted { change: *change, depth }));
            if let Some(count) = deleted.len().checked_sub(GHOSTS_MAX).filter(|count| *count > 0) {
                lines.push(TreeLine::MoreDeleted { count, depth });
            }
        }
    }

    /// Asks for a window of rows.
    pub(super) fn want_outline(&mut self, at: OutlineAt, size: Size, queue: &mut Queue) {
        let height = self.tree_height(size);
        let at = match at {
            OutlineAt::Row(row) => OutlineAt::Row(row.saturating_sub(height)),
            node => node,
        };
        let rows = (3 * height).clamp(30, 1_000);
        let toggled = self.toggled.iter().copied().collect();
        queue.want(Ask::Outline { revision: self.revision, at, rows, toggled });
    }

    /// Takes in a window of rows.
    pub(super) fn take_outline(&mut self, outline: Outline, size: Size, queue: &mut Queue) {
        self.absence = None;
        for key in &outline.opened {
            if !self.toggled.remove(key) {
                self.toggled.insert(*key);
            }
        }
        let offset = self.cursor.saturating_sub(self.top);
        self.outline = outline;
        let place = |key| self.outline.rows.iter().position(|row| row.key == key);
        if let Some(at) = self.outline.found.and_then(place) {
            // The chosen node stays at its place on the screen.
            self.cursor = self.outline.row + at;
            self.top = self.cursor.saturating_sub(offset);
        }
        for version in self.outline.versions.drain(..) {
            self.versions.insert(version.revision, version);
        }
        self.settle(size, queue);
    }

    /// Keeps the chosen row on the screen, and asks for rows that are missing there.
    pub(crate) fn settle(&mut self, size: Size, queue: &mut Queue) {
        if self.absence.is_some() || self.revision == 0 {
            return;
        }
        let height = self.tree_height(size);
        let total = self.outline.total;
        self.cursor = self.cursor.min(total.saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height));
        // The last page is full.
        self.top = self.top.min(total.saturating_sub(height));
        // Deleted nodes between the rows push the chosen one down.
        while self.top < self.cursor && !self.is_on_screen(height) {
            self.top += 1;
        }
        let end = self.outline.row + self.outline.rows.len();
        let last = (self.top + height).min(total);
        if (self.top < self.outline.row || last > end) && self.outline.revision == self.revision {
            self.want_outline(OutlineAt::Row(self.top), size, queue);
        }
    }

    fn is_on_screen(&self, height: usize) -> bool {
        let Some(at) = self.cursor.checked_sub(self.outline.row) else { return true };
        at >= self.outline.rows.len() || self.lines(height).contains(&TreeLine::Row(at))
    }

    /// Chooses another row.
    pub(crate) fn move_cursor(&mut self, rows: isize, size: Size, queue: &mut Queue) {
        let last = self.outline.total.saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(rows).min(last);
        self.settle(size, queue);
    }

    /// A key was pressed that is for the tree.
    pub(super) fn tree_key(&mut self, key: KeyEvent, size: Size, queue: &mut Queue) {
        let page = self.tree_height(size).max(2).cast_signed() - 1;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.move_cursor(-1, size, queue),
            KeyCode::Down | KeyCode::Char('j') => self.move_cursor(1, size, queue),
            KeyCode::PageUp => self.move_cursor(-page, size, queue),
            KeyCode::PageDown => self.move_cursor(page, size, queue),
            KeyCode::Char('b') if is_control => self.move_cursor(-page, size, queue),
            KeyCode::Char('f') if is_control => self.move_cursor(page, size, queue),
            KeyCode::Char('<') | KeyCode::Home => self.move_cursor(isize::MIN, size, queue),
            KeyCode::Char('>') | KeyCode::End => self.move_cursor(isize::MAX, size, queue),
            KeyCode::Char('u') => self.choose_parent(size, queue),
            KeyCode::Enter => self.open(size, queue),
            _ => {}
        }
    }

    /// Opens or closes a container; of anything else it shows the history.
    fn open(&mut self, size: Size, queue: &mut Queue) {
        let Some(row) = self.row() else { return };
        let key = row.key;
        if row.children.is_none() {
            self.show_runs(size, queue);
            return;
        }
        if !self.toggled.remove(&key) {
            self.toggled.insert(key);
        }
        self.want_outline(OutlineAt::Row(self.top), size, queue);
    }

    /// Chooses the parent of the chosen row.
    fn choose_parent(&mut self, size: Size, queue: &mut Queue) {
        let Some(row) = self.row() else { return };
        let (depth, at) = (row.depth, self.cursor - self.outline.row);
        if depth == 0 {
            return;
        }
        let parent = self.outline.rows[..at].iter().rposition(|row| row.depth < depth);
        match parent {
            Some(parent) => {
                let rows = at - parent;
                self.move_cursor(-rows.cast_signed(), size, queue);
            }
            None => {
                if let Some(parent) = self.outline.above.last() {
                    self.want_outline(OutlineAt::Node(parent.key), size, queue);
                }
            }
        }
    }
}
