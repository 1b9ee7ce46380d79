//! Commands that look after the data folder itself.

use std::path::Path;

use anywhen::Database;

use crate::args::{BackupArgs, RestoreArgs};
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
        // The shell has it open, and so nobody else.
        Some(database) => database.verify(progress)?,
        // Not by opening it: that would replay and release what a killed process has left.
        None => Database::verify_folder(&session.data, progress)?,
    };
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
            "sound: {} in {}, {}, {}",
            count(report.blocks, "block"),
            count(report.files, "file"),
            bytes(report.bytes),
            count(report.revisions, "revision"),
        ),
    )
}

pub(crate) fn compact(session: &mut Session) -> Outcome {
    let database = session.database()?;
    let before = database.stats().disk_bytes;
    let bar = progress::bar("compacting", None);
    database.compact()?;
    bar.finish_and_clear();
    let after = database.stats().disk_bytes;
    answer(
        session,
        Object::new().plain("bytes_before", before).plain("bytes_after", after),
        &format!("{} before, {} after", bytes(before), bytes(after)),
    )
}

/// What to do about a folder in which a copy was begun and did not come to its end; `None` for others.
fn unfinished(folder: &Path) -> Option<&'static str> {
    // The manifest is copied last.
    let store = folder.join("store");
    let is_unfinished = store.is_dir() && !store.join("MANIFEST").exists();
    is_unfinished.then_some("a copy into it was cut short: remove the folder, and try again")
}

pub(crate) fn backup(session: &mut Session, a: &BackupArgs) -> Outcome {
    let database = session.database()?;
    if holds_data(&a.folder) {
        return Err(Failure::refused(format!("{} is not empty", a.folder.display()))
            .hint(unfinished(&a.folder).unwrap_or("a backup goes to a folder of its own")));
    }
    let bar = progress::bar("copying", None);
    database.backup(&a.folder, |done| bar.set_position(done)).map_err(|error| {
        Failure::from(error).hint("`anywhen verify` tells all that is wrong; no backup was made")
    })?;
    bar.finish_and_clear();
    answer(
        session,
        Object::new().text("backup", &a.folder.to_string_lossy()),
        &format!("backed up to {}", a.folder.display()),
    )
}

pub(crate) fn restore(session: &mut Session, a: &RestoreArgs) -> Outcome {
    if holds_data(&session.data) {
        let hint = "nothing is overwritten: name a new folder with --data";
        return Err(Failure::refused(format!("{} is not empty", session.data.display()))
            .hint(unfinished(&session.data).unwrap_or(hint)));
    }
    if !holds_data(&a.folder) {
        return Err(Failure::refused(format!("there is no backup in {}", a.folder.display())));
    }
    if unfinished(&a.folder).is_some() {
        return Err(Failure::refused(format!("the backup in {} is not whole", a.folder.display()))
            .hint("it was cut short: take another one"));
    }
    let bar = progress::bar("restoring", None);
    Database::restore(&a.folder, &session.data, |done| bar.set_position(done)).map_err(
        |error| {
            Failure::from(error)
                .hint("what was copied is left: take another backup, if there is one")
        },
    )?;
    bar.finish_and_clear();
    answer(
        session,
        Object::new().text("data", &session.data.to_string_lossy()),
        &format!("restored into {}", session.data.display()),
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
        "{}, {}, {}\n{} on disk, of which {} is the log, which is used again and again",
        count(names.len() as u64, "collection"),
        count(documents, "document"),
        count(stats.commits, "commit"),
        bytes(stats.disk_bytes),
        bytes(stats.log_bytes),
    );
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
            .plain("log_bytes", stats.log_bytes)
            .raw("options", &array(options.iter().map(Described::json))),
        &text,
    )
}
