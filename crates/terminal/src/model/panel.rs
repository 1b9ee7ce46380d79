//! The panel beside the tree: the history of a node, or the changes between two revisions.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::answers::Runs;
use crate::layout::Size;

/// The content of the panel.
#[derive(Debug)]
pub(crate) enum PanelView {
    Runs(Runs),
    Changes,
}

/// The panel, its chosen entry, and the first one in view.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) view: PanelView,
    /// The node of a history, and its path when it was opened.
    pub(crate) node: u64,
    pub(crate) is_container: bool,
    pub(crate) path: String,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    pub(crate) is_loaded: bool,
}

/// Rows of the panel above the list.
pub(crate) const PANEL_HEAD: usize = 3;
/// Rows of a value.
pub(crate) const RUN_ROWS: usize = 2;

impl Panel {
    pub(super) fn new(view: PanelView, node: u64, is_container: bool, path: String) -> Panel {
        Panel { view, node, is_container, path, cursor: 0, top: 0, is_loaded: false }
    }

    /// Takes in a page of values.
    pub(super) fn take(&mut self, node: u64, before: Option<u64>, page: Runs) {
        let PanelView::Runs(runs) = &mut self.view else { return };
        if self.node != node {
            return;
        }
        self.is_loaded = true;
        match before {
            None => *runs = page,
            Some(before) if runs.earlier == Some(before) => {
                runs.runs.extend(page.runs);
                runs.earlier = page.earlier;
            }
            Some(_) => {}
        }
    }

    /// The next page, where the chosen value is near the end of those that are known.
    pub(super) fn wanted(&self) -> Option<u64> {
        let PanelView::Runs(runs) = &self.view else { return None };
        let is_near = self.cursor + 20 >= runs.runs.len();
        runs.earlier.filter(|_| is_near)
    }

    /// Handles a key. `changes` is the number of changes if the panel lists changes.
    pub(super) fn key(&mut self, key: KeyEvent, changes: usize, size: Size) {
        let (count, rows) = match &self.view {
            PanelView::Runs(runs) => (runs.runs.len(), RUN_ROWS),
            PanelView::Changes => (changes, 1),
        };
        let height = size.parts(true).panel.map_or(0, |panel| usize::from(panel.height));
        let height = (height.saturating_sub(PANEL_HEAD) / rows).max(1);
        let by = match key.code {
            KeyCode::Up | KeyCode::Char('k') => -1,
            KeyCode::Down | KeyCode::Char('j') => 1,
            KeyCode::PageUp => -height.cast_signed(),
            KeyCode::PageDown => height.cast_signed(),
            _ => 0,
        };
        self.cursor = self.cursor.saturating_add_signed(by).min(count.saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height));
    }
}
