//! The panel: the values that a node had, or the list of changes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::axis::bar_line;
use super::pen::Pen;
use super::pen::styles::{
    ADDED, AUTHOR, BOLD, CHOSEN, DIM, MOVED, NUMBER, PLAIN, REMOVED, REVISION,
};
use super::tree::sign;
use super::{first_line, row};
use crate::answers::{Change, NodeRun, Op, RunSummary, Runs};
use crate::model::{Doc, Model, PANEL_HEAD, Panel, PanelView, RUN_ROWS};

pub(super) fn draw(model: &Model, doc: &Doc, panel: &Panel, area: Rect, buffer: &mut Buffer) {
    // The line to the tree.
    let is_beside = area.x > 0;
    for y in area.y..area.bottom() {
        if is_beside {
            Pen::new(buffer, Rect::new(area.x, y, 1, 1)).put("│", DIM);
        }
    }
    let inner = match is_beside {
        true => Rect::new(area.x + 2, area.y, area.width.saturating_sub(2), area.height),
        false => area,
    };
    match &panel.view {
        PanelView::Runs(runs) => history(model, doc, panel, runs, inner, buffer),
        PanelView::Changes => changes(doc, panel, inner, buffer),
    }
}

fn head_style(doc: &Doc) -> Style {
    if doc.is_in_panel { BOLD } else { DIM }
}

fn history(model: &Model, doc: &Doc, panel: &Panel, runs: &Runs, area: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, row(area, 0));
    pen.put("history of ", head_style(doc));
    pen.put(&panel.path, head_style(doc));
    let mut pen = Pen::new(buffer, row(area, 1));
    match (&runs.summary, panel.is_loaded) {
        (_, false) => pen.put("loading…", DIM),
        (Some(summary), true) => summed(summary, &mut pen),
        (None, true) => {}
    }
    if let Some(summary) = runs.summary.as_ref().filter(|summary| summary.numbers.len() > 1) {
        plot(summary, row(area, 2), buffer);
    }
    let height = usize::from(area.height).saturating_sub(PANEL_HEAD) / RUN_ROWS;
    for (line, (at, run)) in runs.runs.iter().enumerate().skip(panel.top).take(height).enumerate() {
        let y = u16::try_from(PANEL_HEAD + line * RUN_ROWS).unwrap_or(u16::MAX);
        let newest = doc.newest();
        let is_here = (run.from..=run.to.unwrap_or(newest)).contains(&doc.revision);
        draw_run(model, run, [row(area, y), row(area, y + 1)], is_here, buffer);
        if at == panel.cursor && doc.is_in_panel {
            buffer.set_style(row(area, y), CHOSEN);
        }
    }
}

fn summed(summary: &RunSummary, pen: &mut Pen<'_>) {
    let (values, changes) = (summary.values, summary.runs.saturating_sub(1));
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    match summary.most_often.as_ref().filter(|_| values > 1) {
        Some((value, revisions)) => {
            pen.put(&format!("{values} values; most often "), DIM);
            pen.put(value, PLAIN);
            pen.put(&format!(", in {revisions} revision{}", plural(*revisions)), DIM);
        }
        None => pen.put(&format!("changed {changes} time{}", plural(changes)), DIM),
    }
}

/// The values over time, where they are numbers.
fn plot(summary: &RunSummary, place: Rect, buffer: &mut Buffer) {
    let (low, high) = summary
        .numbers
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, n| (ends.0.min(*n), ends.1.max(*n)));
    let mut pen = Pen::new(buffer, place);
    let ends = format!(" {low} to {high}");
    let width = pen.left().saturating_sub(ends.len()).min(summary.numbers.len());
    let span = high - low;
    let bars: Vec<u64> = (0..width)
        .map(|column| {
            let value = summary.numbers[column * summary.numbers.len() / width.max(1)];
            let part = if span > 0.0 { (value - low) / span } else { 1.0 };
            // The lowest value has a bar too.
            (part * 70.0) as u64 + 10
        })
        .collect();
    pen.put(&bar_line(&bars), NUMBER);
    pen.put(&ends, DIM);
}

/// A value: what it was, in which revisions, by whom and why.
fn draw_run(model: &Model, run: &NodeRun, rows: [Rect; 2], is_here: bool, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, rows[0]);
    pen.put(if is_here { "● " } else { "  " }, REVISION);
    match (&run.value, run.changes.is_empty()) {
        (Some(value), _) => pen.put(value, PLAIN),
        (None, true) => pen.put("made", DIM),
        (None, false) => {
            let mut between = "";
            for change in &run.changes {
                pen.put(between, PLAIN);
                inside(change, &mut pen);
                between = ", ";
            }
            let more = run.changes_total.saturating_sub(run.changes.len() as u64);
            if more > 0 {
                pen.put(&format!(" and {more} more"), DIM);
            }
        }
    }
    let mut pen = Pen::new(buffer, rows[1]);
    let revisions = match run.to {
        Some(to) if to == run.from => format!("  {to}"),
        Some(to) => format!("  {}-{to}", run.from),
        None => format!("  {}-", run.from),
    };
    pen.put(&revisions, REVISION);
    pen.put("  ", PLAIN);
    pen.put(&run.author, AUTHOR);
    pen.put(&format!("  {}", anywhen::time::show(run.time_us)), DIM);
    pen.put(&format!(" ({})  ", super::tree::age(run.time_us, model.now_us)), DIM);
    pen.put(first_line(&run.message), PLAIN);
}

/// A change inside of a container, in few words.
fn inside(change: &Change, pen: &mut Pen<'_>) {
    let (sign, style) = sign(change.op);
    pen.put(sign, style);
    pen.put(" ", PLAIN);
    pen.put(&change.path, style);
}

fn changes(doc: &Doc, panel: &Panel, area: Rect, buffer: &mut Buffer) {
    let Some(compared) = &doc.compared else {
        Pen::new(buffer, row(area, 0)).put("comparing…", DIM);
        return;
    };
    let mut pen = Pen::new(buffer, row(area, 0));
    let title = format!("changes from revision {} to {}", compared.from, compared.to);
    pen.put(&title, head_style(doc));
    let height = usize::from(area.height).saturating_sub(PANEL_HEAD);
    if compared.changes.is_empty() {
        Pen::new(buffer, row(area, 1)).put("the two are equal", DIM);
    }
    let shown = compared.changes.iter().enumerate().skip(panel.top).take(height);
    for (line, (at, change)) in shown.enumerate() {
        let place = row(area, u16::try_from(PANEL_HEAD + line).unwrap_or(u16::MAX));
        if at == panel.cursor && doc.is_in_panel {
            buffer.set_style(place, CHOSEN);
        }
        let mut pen = Pen::new(buffer, place);
        inside(change, &mut pen);
        pen.put("  ", PLAIN);
        what(change, &mut pen);
    }
}

/// Draws the effect of a change.
fn what(change: &Change, pen: &mut Pen<'_>) {
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    match change.op {
        Op::Insert => pen.put(new.unwrap_or_default(), ADDED),
        Op::Delete => pen.put(old.unwrap_or_default(), REMOVED),
        Op::Update => {
            pen.put(old.unwrap_or_default(), REMOVED);
            pen.put(" → ", PLAIN);
            pen.put(new.unwrap_or_default(), ADDED);
        }
        Op::Move | Op::Rename => {
            pen.put("from ", MOVED);
            pen.put(change.from.as_deref().or(old).unwrap_or_default(), MOVED);
        }
    }
}
