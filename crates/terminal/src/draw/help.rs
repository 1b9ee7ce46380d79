//! The help: every key, over the page.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pen::Pen;
use super::pen::styles::{BOLD, DIM, PLAIN};
use crate::layout::Size;

const KEYS: &[(&str, &str)] = &[
    ("← →", "one version"),
    ("shift ← →, [ ]", "many versions"),
    ("home end", "the first, the newest version"),
    ("g", "go to a revision or a moment: 3, yesterday, '2026-02-20 10:30'"),
    ("space", "play the history"),
    ("t", "axis by time or by revision"),
    ("↑ ↓, page up, page down", "a row, a screen; the mouse wheel does the same"),
    ("< >", "the first, the last row"),
    ("enter", "open or close; of a value its history"),
    ("u", "the parent"),
    ("h", "the history of the node"),
    ("m", "mark the version: the tree shows what changed since"),
    ("c", "list the changes since the mark, or the version before"),
    ("/  n  N", "search keys and values; next; previous"),
    ("tab", "between tree and panel"),
    ("r", "look for new versions"),
    ("esc", "close the panel, remove the mark, go back"),
    ("q, ctrl-c", "quit"),
];

pub(super) fn draw(size: Size, buffer: &mut Buffer) {
    let all = Rect::new(0, 0, size.width, size.height);
    for y in 0..size.height {
        for x in 0..size.width {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
            }
        }
    }
    Pen::new(buffer, all).put(" Keys", BOLD);
    for (line, (keys, does)) in KEYS.iter().enumerate() {
        let y = u16::try_from(line + 2).unwrap_or(u16::MAX);
        if y + 1 >= size.height {
            break;
        }
        let mut pen = Pen::new(buffer, Rect::new(1, y, size.width.saturating_sub(1), 1));
        pen.column(keys, 25, BOLD);
        pen.put(does, PLAIN);
    }
    let last = Rect::new(1, size.height - 1, size.width.saturating_sub(1), 1);
    Pen::new(buffer, last).put("any key closes this", DIM);
}
