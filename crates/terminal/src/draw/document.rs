//! The page of a document: header, tree, panel, axis.

use ratatui::buffer::Buffer;

use super::pen::Pen;
use super::pen::styles::{ADDED, BOLD, CHANGED, DIM, ERROR, MOVED, PLAIN, REMOVED, REVISION};
use super::{axis, described, panel, row, tree};
use crate::answers::Op;
use crate::model::{Compared, Doc, Model};

pub(super) fn draw(model: &Model, doc: &Doc, buffer: &mut Buffer) {
    let parts = model.size.parts(doc.panel.is_some());
    let mut pen = Pen::new(buffer, row(parts.header, 0));
    pen.put(&doc.collection, BOLD);
    pen.put("/", BOLD);
    pen.put(&doc.key, BOLD);
    if doc.revision > 0 {
        pen.put("  ", PLAIN);
        pen.put(&format!("revision {} of {}", doc.revision, doc.newest()), REVISION);
        pen.put(if doc.is_playing { " ▶  " } else { "  " }, REVISION);
        if let Some(version) = doc.versions.get(&doc.revision) {
            if version.is_deleted {
                pen.put("removed  ", ERROR);
            }
            described(version, &mut pen);
        }
    }
    let mut pen = Pen::new(buffer, row(parts.header, 1));
    if let (Some(mark), compared) = (doc.mark, &doc.compared) {
        summary(mark, compared.as_ref(), doc.revision, &mut pen);
    }
    pen.put(&doc.path(), DIM);
    tree::draw(model, doc, parts.body, buffer);
    if let (Some(area), Some(shown)) = (parts.panel, &doc.panel) {
        panel::draw(model, doc, shown, area, buffer);
    }
    axis::draw(doc, parts.axis, buffer);
}

/// How much changed since the marked revision.
fn summary(mark: u64, compared: Option<&Compared>, revision: u64, pen: &mut Pen<'_>) {
    pen.put(&format!("since revision {mark}: "), BOLD);
    match compared.filter(|known| known.to == revision) {
        None => pen.put("comparing…", DIM),
        Some(compared) if compared.changes.is_empty() => pen.put("equal", DIM),
        Some(compared) => {
            let count = |ops: &[Op]| {
                compared.changes.iter().filter(|change| ops.contains(&change.op)).count()
            };
            let counts = [
                (count(&[Op::Insert]), "added", ADDED),
                (count(&[Op::Delete]), "removed", REMOVED),
                (count(&[Op::Update]), "changed", CHANGED),
                (count(&[Op::Move]), "moved", MOVED),
                (count(&[Op::Rename]), "renamed", MOVED),
            ];
            let mut between = "";
            for (count, word, style) in counts.into_iter().filter(|(count, ..)| *count > 0) {
                pen.put(between, PLAIN);
                pen.put(&format!("{count} {word}"), style);
                between = ", ";
            }
        }
    }
    pen.put("  ", PLAIN);
}
