//! `backup` and `restore`.

use std::path::Path;
use std::time::{Duration, Instant};

use anywhen::{
    BackupError, BackupFolder, BackupMark, BackupSource, CopyPace, Csn, Database, Error, RestoreTo,
    time,
};
use indicatif::ProgressBar;

use crate::args::{At, BackupArgs, RestoreArgs};
use crate::failure::{Failure, Kind, Outcome};
use crate::json_out::Object;
use crate::maintenance::answer;
use crate::progress;
use crate::remote::HttpSource;
use crate::screen;
use crate::session::{Session, holds_data};

/// The first and the longest pause before the next request to a lost server.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// How long a copy without `--follow` waits for a lost server.
const WAIT: Duration = Duration::from_secs(300);

pub(crate) fn backup(session: &mut Session, a: &BackupArgs) -> Outcome {
    let Some(url) = &a.from else {
        let database = session.database()?;
        let bar = progress::transfer("copying");
        let copied = database.backup_with(&a.folder, pace(a), |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        return backed_up(session, a, copied.map_err(|error| failed(error, a))?);
    };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(Failure::refused(format!("{url:?} is not the HTTP address of a server")).hint(
            "for example https://db.example.org:8443: `anywhen serve --http-listen` listens",
        ));
    }
    let mut source =
        HttpSource::new(url, a.authorities.as_deref(), token(a.token_file.as_deref())?)?;
    let mut target = BackupFolder::open(&a.folder).map_err(|error| refused(error, &a.folder))?;
    let mark = match target.base() {
        Some(mark) if a.follow => mark,
        _ => copy(&mut target, &mut source, a)?,
    };
    backed_up(session, a, mark)?;
    if a.follow {
        return follow(&mut target, &mut source);
    }
    source.end();
    Ok(())
}

fn pace(a: &BackupArgs) -> CopyPace {
    a.rate.map_or_else(CopyPace::default, |rate| CopyPace::at_most(rate.0))
}

fn backed_up(session: &Session, a: &BackupArgs, mark: BackupMark) -> Outcome {
    let object = Object::new()
        .text("backup", &a.folder.to_string_lossy())
        .plain("csn", mark.csn.0)
        .text("time", &time::rfc3339(mark.time_us));
    answer(session, object, &format!("backed up to {}", a.folder.display()))
}

/// The token for a server: in a file, or in the variable `ANYWHEN_TOKEN`.
pub(crate) fn token(file: Option<&Path>) -> Outcome<Option<String>> {
    match file {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
            Ok(Some(text.trim().to_owned()))
        }
        None => Ok(std::env::var("ANYWHEN_TOKEN").ok().filter(|token| !token.is_empty())),
    }
}

/// Returns the failure for an error of a backup's folder.
fn refused(error: Error, folder: &Path) -> Failure {
    match error {
        Error::Exists(_) => Failure::refused(format!("{} is not empty", folder.display()))
            .hint(unfinished(folder).unwrap_or("a backup goes to a folder of its own")),
        error => error.into(),
    }
}

fn copy(
    target: &mut BackupFolder,
    source: &mut dyn BackupSource,
    a: &BackupArgs,
) -> Outcome<BackupMark> {
    let bar = progress::transfer("copying");
    let mut lost = Lost::new(if a.follow { None } else { Some(WAIT) });
    loop {
        let mut moved = false;
        let copied = target.copy(source, pace(a), &mut |done, total| {
            moved = true;
            bar.set_length(total);
            bar.set_position(done);
            Ok(())
        });
        match copied {
            Ok(mark) => {
                bar.finish_and_clear();
                return Ok(mark);
            }
            // A server that was never there is an error at once.
            Err(Error::Backup(BackupError::Lost(why))) if moved || lost.is_known => {
                lost.wait(&why, moved, &bar)?;
            }
            Err(error) => {
                bar.finish_and_clear();
                return Err(failed(error, a));
            }
        }
    }
}

fn failed(error: Error, a: &BackupArgs) -> Failure {
    match error {
        Error::Exists(_) => refused(error, &a.folder),
        Error::Backup(BackupError::Lost(_)) => Failure::from(error)
            .hint("call the command again: it continues with the complete files"),
        Error::Store(_) | Error::Engine(_) if a.from.is_some() => Failure::from(error)
            .hint("it is damaged at the server, or each time on the way; no backup was made"),
        Error::Store(_) | Error::Engine(_) => {
            Failure::from(error).hint("`anywhen verify` lists all damage; no backup was made")
        }
        error => error.into(),
    }
}

/// Goes on with every commit, until the process is ended.
fn follow(target: &mut BackupFolder, source: &mut dyn BackupSource) -> Outcome {
    let bar = progress::bar("following: commit", None);
    bar.enable_steady_tick(Duration::from_secs(1));
    let mut lost = Lost::new(None);
    loop {
        let mut moved = false;
        let followed = target.follow(source, &mut |end| {
            if lost.is_told {
                lost.is_told = false;
                bar.suspend(|| screen::note(&format!("following again: commit {}", end.csn.0)));
            }
            moved = true;
            bar.set_position(end.csn.0);
            true
        });
        match followed {
            Ok(()) => return Ok(()),
            Err(Error::Backup(BackupError::Lost(why))) => lost.wait(&why, moved, &bar)?,
            Err(error) => {
                bar.finish_and_clear();
                let failure = Failure::from(error);
                return Err(failure.hint(
                    "what is there can be restored; to go on, begin another backup in another folder",
                ));
            }
        }
    }
}

/// A lost server: how long to wait before the next request to it.
struct Lost {
    since: Option<Instant>,
    pause: Duration,
    wait: Option<Duration>,
    /// True once the server had been there.
    is_known: bool,
    /// True if the loss was told.
    is_told: bool,
}

impl Lost {
    fn new(wait: Option<Duration>) -> Lost {
        Lost { since: None, pause: PAUSES.0, wait, is_known: false, is_told: false }
    }

    /// Waits, or gives up; `moved` is true if something had come since the last loss.
    fn wait(&mut self, why: &str, moved: bool, bar: &ProgressBar) -> Outcome {
        if moved {
            (self.since, self.pause) = (None, PAUSES.0);
        }
        self.is_known = true;
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.wait.is_some_and(|wait| since.elapsed() > wait) {
            bar.finish_and_clear();
            return Err(Failure::new(
                Kind::Lost,
                format!("the connection to the server was lost: {why}"),
            )
            .hint("call the command again: it continues with the complete files"));
        }
        if !self.is_told {
            self.is_told = true;
            bar.suspend(|| {
                screen::note(&format!("the connection to the server was lost: {why}; trying again"))
            });
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSES.1);
        Ok(())
    }
}

/// The next step for a folder with an unfinished restore; `None` for others.
fn unfinished(folder: &Path) -> Option<&'static str> {
    // The manifest is copied last.
    let store = folder.join("store");
    let is_unfinished = store.is_dir() && !store.join("MANIFEST").exists();
    is_unfinished.then_some("an interrupted copy left it: remove the folder and try again")
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
    let to = match a.to {
        None => RestoreTo::Newest,
        Some(At::Csn(csn)) => RestoreTo::Csn(Csn(csn)),
        Some(At::Time(us)) => RestoreTo::Time(us),
        Some(At::Revision(_) | At::Authored(_)) => {
            let text = "--to is a time such as '2026-11-23 10:00', or csn:N";
            return Err(Failure::new(Kind::Usage, text));
        }
    };
    if unfinished(&a.folder).is_some() {
        return Err(Failure::refused(format!(
            "the backup in {} is incomplete",
            a.folder.display()
        ))
        .hint("its copy was interrupted: call `anywhen backup` again, or use another backup"));
    }
    let bar = progress::transfer("restoring");
    let restored =
        Database::restore_to(&a.folder, &session.data, to, |done| bar.set_position(done));
    bar.finish_and_clear();
    let database = restored.map_err(|error| match error {
        Error::Backup(_) => Failure::from(error),
        error => Failure::from(error)
            .hint("what was copied is left: take another backup, if there is one"),
    })?;
    let newest = database.newest();
    let known = database.commits(newest, newest, false).next().transpose()?;
    database.close()?;
    let mut object =
        Object::new().text("data", &session.data.to_string_lossy()).plain("csn", newest.0);
    let mut text = format!("restored into {}", session.data.display());
    if let Some(commit) = known {
        object = object.text("time", &time::rfc3339(commit.time_us));
        if a.to.is_some() {
            text += &format!(": commit {} of {}", newest.0, time::rfc3339(commit.time_us));
        }
    }
    answer(session, object, &text)
}
