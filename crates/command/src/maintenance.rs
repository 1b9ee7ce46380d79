//! Commands for the maintenance of the data folder.

use anywhen::{Database, time};

use crate::collections::Described;
use crate::failure::{Failure, Kind, Outcome};
use crate::json_out::{Object, array};
use crate::progress;
use crate::screen::{self, bytes, count};
use crate::session::{Session, holds_data};

pub(crate) fn init(session: &mut Session) -> Outcome {
    if holds_data(&session.data) {
        return Err(Failure::refused(format!("{} is not empty", session.data.display()))
            .hint("name another folder with --data"));
    }
    Database::create(&session.data)?.close()?;
    answer(
        session,
        Object::new().text("data", &session.data.to_string_lossy()),
        &format!("made an empty database in {}", session.data.display()),
    )
}

/// Prints a finished object, or its text for people.
pub(crate) fn answer(session: &Session, object: Object, text: &str) -> Outcome {
    match session.json {
        true => screen::raw(object.end().as_bytes()),
        false => screen::text(text),
    }
}

pub(crate) fn verify(session: &mut Session) -> Outcome {
    session.must_have_data()?;
    let bar = progress::bar("verifying", None);
    let progress = |done| bar.set_position(done);
    let report = match session.open() {
        // The shell has the folder open, so no other process has.
        Some(database) => database.verify(progress)?,
        // Not by opening it: that would replay and release what a killed process has left.
        None => Database::verify_folder(&session.data, progress)?,
    };
    let archive = archive(session)?;
    bar.finish_and_clear();
    let problems = &report.problems;
    if !problems.is_empty() {
        for problem in problems {
            screen::note(&problem.to_string());
        }
        return Err(Failure::new(
            Kind::Broken,
            format!("{} found", count(problems.len() as u64, "problem")),
        )
        .hint("keep the folder as it is, and restore a backup into another one"));
    }
    answer(
        session,
        Object::new()
            .plain("ok", true)
            .plain("files", report.files)
            .plain("blocks", report.blocks)
            .plain("bytes", report.bytes)
            .plain("documents", report.documents)
            .plain("revisions", report.revisions),
        &format!(
            "sound: {} in {}, {}, {}{}",
            count(report.blocks, "block"),
            count(report.files, "file"),
            bytes(report.bytes),
            count(report.revisions, "revision"),
            archive.unwrap_or_default(),
        ),
    )
}

/// Checks the archive of a backup, and says how far it goes; none if there is none.
fn archive(session: &Session) -> Outcome<Option<String>> {
    if !session.data.join("archive").is_dir() {
        return Ok(None);
    }
    let (from, to) = Database::look_at_backup(&session.data)?;
    Ok(Some(format!(
        "; an archive of commits {} to {}, whole up to {}",
        from.csn.0,
        to.csn.0,
        time::rfc3339(to.complete_us)
    )))
}

pub(crate) fn compact(session: &mut Session) -> Outcome {
    let database = session.database()?;
    let bar = progress::transfer("compacting");
    let compacted = database.compact_with(|done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let (before, after) = compacted?;
    let won = before.store_bytes.saturating_sub(after.store_bytes);
    let line = |name: &str, before: u64, after: u64| {
        format!("{name:<9} {:>9} before, {:>9} after\n", bytes(before), bytes(after))
    };
    let mut text = match won {
        0 => "nothing to win: ".to_owned(),
        won => format!("{} won: ", bytes(won)),
    };
    text += &format!("{} before, {} after\n", bytes(before.store_bytes), bytes(after.store_bytes));
    text += &line("current", before.current_bytes, after.current_bytes);
    text += &line("history", before.history_bytes, after.history_bytes);
    text += &format!("the log apart: {}, which are used again and again", bytes(after.log_bytes));
    answer(
        session,
        Object::new()
            .plain("bytes_before", before.store_bytes)
            .plain("bytes_after", after.store_bytes)
            .plain("current_bytes_before", before.current_bytes)
            .plain("current_bytes_after", after.current_bytes)
            .plain("history_bytes_before", before.history_bytes)
            .plain("history_bytes_after", after.history_bytes)
            .plain("log_bytes", after.log_bytes),
        &text,
    )
}

pub(crate) fn stats(session: &mut Session) -> Outcome {
    let database = session.database()?;
    let stats = database.stats();
    let names = database.collections();
    let mut documents = 0;
    for name in &names {
        documents += database.collection(name)?.len()?;
    }
    let options = crate::collections::described(&database)?;
    let mut text = format!(
        "{}, {}, {}\n{} on disk: {} current, {} history, and {} of log, which are used again and again",
        count(names.len() as u64, "collection"),
        count(documents, "document"),
        count(stats.commits, "commit"),
        bytes(stats.disk_bytes),
        bytes(stats.current_bytes),
        bytes(stats.history_bytes),
        bytes(stats.log_bytes),
    );
    if stats.memtable_bytes > 0 {
        text.push_str(&format!(
            "\n{} in memory are in no file but the log yet",
            bytes(stats.memtable_bytes)
        ));
    }
    for of_its_own in options.iter().filter(|described| !described.is_plain()) {
        text.push_str(&format!("\n{}: {}", of_its_own.name, of_its_own.text()));
    }
    answer(
        session,
        Object::new()
            .plain("collections", names.len())
            .plain("documents", documents)
            .plain("commits", stats.commits)
            .plain("bytes", stats.disk_bytes)
            .plain("current_bytes", stats.current_bytes)
            .plain("history_bytes", stats.history_bytes)
            .plain("memory_bytes", stats.memtable_bytes)
            .plain("log_bytes", stats.log_bytes)
            .raw("options", &array(options.iter().map(Described::json))),
        &text,
    )
}
