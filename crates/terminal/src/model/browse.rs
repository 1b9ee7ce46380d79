//! Lists of names to choose from: collections, and the documents of one.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::answers::Names;

/// A list, the chosen name, and the first name in view.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub(crate) names: Vec<String>,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    /// The list has only names with this prefix.
    pub(crate) prefix: String,
    /// The last loaded name, if more names follow.
    pub(crate) next: Option<String>,
    pub(crate) is_loaded: bool,
    /// The name to choose once it is there.
    wanted: String,
}

impl List {
    /// A list that is not loaded yet.
    pub(crate) fn new(wanted: &str) -> List {
        List { wanted: wanted.to_owned(), ..List::default() }
    }

    /// Takes in the names, or the next page of them.
    pub(crate) fn take(&mut self, names: Names, is_next: bool, height: usize) {
        if !is_next {
            self.names.clear();
        }
        self.names.extend(names.names);
        self.next = names.next;
        self.is_loaded = true;
        if !is_next && !self.wanted.is_empty() {
            let wanted = std::mem::take(&mut self.wanted);
            self.choose(&wanted, height);
        }
        self.move_by(0, height);
    }

    /// Moves the choice to the first name with this prefix.
    pub(crate) fn choose(&mut self, prefix: &str, height: usize) {
        if let Some(at) = self.names.iter().position(|name| name.starts_with(prefix)) {
            self.cursor = at;
        }
        self.move_by(0, height);
    }

    /// Moves the choice by so many names.
    pub(crate) fn move_by(&mut self, rows: isize, height: usize) {
        let last = self.names.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(rows).min(last);
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height.max(1)));
    }

    /// Handles a key; returns the name that it opens, if it opens one.
    pub(crate) fn key(&mut self, key: KeyEvent, height: usize) -> Option<String> {
        let page = height.max(2).cast_signed() - 1;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let rows = match key.code {
            KeyCode::Up | KeyCode::Char('k') => -1,
            KeyCode::Down | KeyCode::Char('j') => 1,
            KeyCode::PageUp => -page,
            KeyCode::PageDown => page,
            KeyCode::Char('b') if is_control => -page,
            KeyCode::Char('f') if is_control => page,
            KeyCode::Home => isize::MIN,
            KeyCode::End => isize::MAX,
            KeyCode::Enter | KeyCode::Right => return self.names.get(self.cursor).cloned(),
            _ => return None,
        };
        self.move_by(rows, height);
        None
    }
}
