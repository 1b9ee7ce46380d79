//! The places of the parts of the screen, for the model and for the drawing.
//!
//! ```text
//!   header   2 rows     document, revision, author, message; path of the node in view
//!   tree     the rest   margin │ nodes              panel: right where there is room, else below
//!   axis     3 rows     bars, marks, times
//!   footer   1 row      keys, a notice, or a line that the reader types
//! ```

use ratatui::layout::Rect;

/// Rows above and below the tree.
const HEADER: u16 = 2;
const AXIS: u16 = 3;
const FOOTER: u16 = 1;
/// The narrowest screen on which the panel stands beside the tree.
const BESIDE: u16 = 100;

/// The size of the screen, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u16,
    pub(crate) height: u16,
}

/// The parts of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) header: Rect,
    pub(crate) body: Rect,
    pub(crate) panel: Option<Rect>,
    pub(crate) axis: Rect,
    pub(crate) footer: Rect,
}

impl Size {
    /// The parts of the page of a document.
    pub(crate) fn parts(self, has_panel: bool) -> Parts {
        let Size { width, height } = self;
        let header = HEADER.min(height);
        let footer = FOOTER.min(height - header);
        // A low screen has no axis.
        let axis = if height >= 12 { AXIS } else { 0 };
        let rest = height - header - footer - axis;
        let (mut body, mut panel) = (Rect::new(0, header, width, rest), None);
        if has_panel && width >= BESIDE {
            let wide = width * 2 / 5;
            body.width = width - wide;
            panel = Some(Rect::new(body.width, header, wide, rest));
        } else if has_panel && rest >= 6 {
            let high = (rest / 2).max(5).min(rest - 2);
            body.height = rest - high;
            panel = Some(Rect::new(0, header + body.height, width, high));
        }
        Parts {
            header: Rect::new(0, 0, width, header),
            body,
            panel,
            axis: Rect::new(0, header + rest, width, axis),
            footer: Rect::new(0, height - footer, width, footer),
        }
    }

    /// Columns of the axis.
    pub(crate) fn axis_width(self) -> u16 {
        self.width.saturating_sub(2)
    }

    /// Rows of a list.
    pub(crate) fn list_height(self) -> usize {
        usize::from(self.height.saturating_sub(HEADER + FOOTER))
    }
}
