//! The time axis: the number of versions over time, the position of the reader, and the marked
//! revision.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pen::Pen;
use super::pen::styles::{BOLD, CHANGED, DIM, PLAIN, REVISION};
use super::row;
use crate::model::{Doc, Scale, bars};

const LEVELS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

pub(super) fn draw(doc: &Doc, area: Rect, buffer: &mut Buffer) {
    let Some(density) = doc.density.as_ref().filter(|_| area.height >= 3) else { return };
    let inner = Rect::new(area.x + 1, area.y, area.width.saturating_sub(2), area.height);
    let counts = bars(density, doc.by_time, inner.width);
    let drawn = bar_line(&counts);
    Pen::new(buffer, row(inner, 0)).put(&drawn, REVISION);
    let scale = Scale::new(density, doc.by_time, inner.width);
    let mut mark = |revision, sign: &str, style| {
        let x = inner.x + scale.column(revision);
        Pen::new(buffer, Rect::new(x, inner.y + 1, 1, 1)).put(sign, style);
    };
    if let Some(marked) = doc.mark {
        mark(marked, "◆", CHANGED);
    }
    mark(doc.revision, "▲", BOLD);
    let ends = density.buckets.first().zip(density.buckets.last());
    let Some((first, last)) = ends else { return };
    let (begin, end, how) = match doc.by_time {
        true => {
            (anywhen::time::show(first.from_us), anywhen::time::show(last.to_us), "by time (t)")
        }
        false => (first.from.to_string(), last.to.to_string(), "by revision (t)"),
    };
    let width = usize::from(inner.width);
    let mut pen = Pen::new(buffer, row(inner, 2));
    pen.put(&begin, DIM);
    let middle = (width.saturating_sub(how.len()) / 2).saturating_sub(begin.len());
    if middle > 1 && begin.len() + end.len() + how.len() + 4 < width {
        pen.skip(middle);
        pen.put(how, DIM);
    }
    pen.skip(pen.left().saturating_sub(end.len()));
    pen.put(&end, PLAIN);
}

/// Bars of one row. The highest is full, and no version is invisible.
pub(super) fn bar_line(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let level = |count: &u64| usize::try_from((count * 8).div_ceil(most)).unwrap_or(8).min(8);
    counts.iter().map(|count| LEVELS[level(count)]).collect()
}
