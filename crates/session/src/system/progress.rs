//! `pg_stat_progress_copy` and the like: a row for each session that is at such a command.

use std::sync::Arc;

use types::Datum;

use super::activity::READ_ALL_STATS;
use super::rows::{CatalogContext, Rows, oid, text, text_or_null};
use crate::instance::Slot;
use crate::progress::Task;

fn number(value: u64) -> Datum {
    Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The sessions that are at one of these commands, each with the columns that all views have. The
/// commands of others are shown as far as `pg_stat_activity` shows them.
fn at<'s>(
    scene: CatalogContext<'s>,
    tasks: &'s [Task],
) -> impl Iterator<Item = (Arc<Slot>, Task, Row)> {
    let names = scene.names;
    let sessions = scene.client.instance.sessions().into_iter();
    let is_of = |role| names.present.has_privileges_of(names.role, role, names.database);
    let running = sessions.filter_map(move |slot| {
        let task = slot.status.progress.task();
        let is_shown = is_of(slot.role) || is_of(READ_ALL_STATS);
        (tasks.contains(&task) && is_shown).then_some((slot, task))
    });
    running.map(move |(slot, task)| {
        let database = names.catalog.database(slot.database).map(|known| &*known.name);
        let row = vec![
            ("pid", Datum::Int4(slot.process)),
            ("datid", oid(slot.database)),
            ("datname", text_or_null(database)),
            ("relid", oid(slot.status.progress.relation())),
        ];
        (slot, task, row)
    })
}

type Row = Vec<(&'static str, Datum)>;

pub(super) fn copies(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (slot, task, mut row) in at(scene, &[Task::CopyFrom, Task::CopyFromFile]) {
        let (done, bytes) = slot.status.progress.done();
        row.extend([
            ("command", text("COPY FROM")),
            ("type", text(if task == Task::CopyFrom { "PIPE" } else { "FILE" })),
            ("bytes_processed", number(bytes)),
            ("bytes_total", number(0)),
            ("tuples_processed", number(done)),
            ("tuples_excluded", number(0)),
            ("tuples_skipped", number(0)),
        ]);
        rows.row(&row);
    }
}

pub(super) fn analyses(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (_, _, mut row) in at(scene, &[Task::Analyze]) {
        row.push(("phase", text("acquiring sample rows")));
        rows.row(&row);
    }
}

pub(super) fn vacuums(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (_, _, mut row) in at(scene, &[Task::Vacuum]) {
        row.push(("phase", text("vacuuming heap")));
        rows.row(&row);
    }
}

pub(super) fn indexes(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (slot, _, mut row) in at(scene, &[Task::CreateIndex]) {
        let progress = &slot.status.progress;
        let table = scene.names.catalog.relation(progress.relation());
        let storage = table.and_then(|table| Some(table.table()?.storage));
        let count = storage.map(|storage| scene.names.handles.row_count(storage));
        row.extend([
            ("index_relid", oid(progress.index())),
            ("command", text("CREATE INDEX")),
            ("phase", text("building index: scanning table")),
            ("tuples_total", count.map_or(Datum::Null, number)),
        ]);
        rows.row(&row);
    }
}

pub(super) fn backups(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (slot, _, row) in at(scene, &[Task::Backup]) {
        let progress = &slot.status.progress;
        let (total, (_, done)) = (progress.total(), progress.done());
        let pid = row.into_iter().take(1);
        let columns = if total == 0 {
            vec![
                ("phase", text("waiting for checkpoint to finish")),
                ("backup_streamed", number(0)),
            ]
        } else {
            vec![
                ("phase", text("streaming database files")),
                ("backup_total", number(total)),
                ("backup_streamed", number(done)),
                ("tablespaces_total", number(1)),
                ("tablespaces_streamed", number(0)),
            ]
        };
        rows.row(&pid.chain(columns).collect::<Row>());
    }
}
