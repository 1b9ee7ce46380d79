//! One run of the command: where the data are, and the database once opened.

use std::path::{Path, PathBuf};

use anywhen::{Collection, Csn, Database, Meta, NodeRef};

use crate::args::{At, Global, NodeArg, Signed, Target};
use crate::failure::{Failure, Outcome};
use crate::screen;

/// The data folder, how to answer, and the database where one is open.
pub(crate) struct Session {
    pub data: PathBuf,
    pub json: bool,
    /// The options for opening the database.
    pub options: anywhen::Options,
    database: Option<Database>,
}

impl Session {
    pub(crate) fn new(global: &Global) -> Self {
        Self {
            data: global.data.clone(),
            json: global.json,
            options: anywhen::Options::default(),
            database: None,
        }
    }

    /// The database, which must exist.
    pub(crate) fn database(&mut self) -> Outcome<Database> {
        if self.database.is_none() {
            self.must_have_data()?;
            self.database = Some(Database::open(&self.data)?);
        }
        self.opened()
    }

    /// The database, where it is open already.
    pub(crate) fn open(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// Fails if there is nothing in the data folder.
    pub(crate) fn must_have_data(&self) -> Outcome {
        if !holds_data(&self.data) {
            return Err(Failure::refused(format!(
                "there is no database in {}",
                self.data.display()
            ))
            .hint("make one with `anywhen init`, or name another folder with --data"));
        }
        Ok(())
    }

    /// The database, made where it is missing.
    pub(crate) fn database_or_new(&mut self) -> Outcome<Database> {
        if self.database.is_none() {
            if !holds_data(&self.data) {
                screen::note(&format!("making a new database in {}", self.data.display()));
            }
            self.database = Some(Database::open_with(&self.data, self.options.clone())?);
        }
        self.opened()
    }

    fn opened(&self) -> Outcome<Database> {
        match &self.database {
            Some(database) => Ok(database.clone()),
            None => Err(Failure::refused("the database is closed")),
        }
    }

    /// A collection that must exist.
    pub(crate) fn collection(&mut self, name: &str) -> Outcome<Collection> {
        let database = self.database()?;
        database.find_collection(name).ok_or_else(|| {
            let failure = Failure::refused(format!("there is no collection {name:?}"));
            match database.dropped_collections().unwrap_or_default().iter().any(|dropped| dropped.name == name) {
                true => failure.hint(
                    "it was dropped: `anywhen ls --dropped` shows when, and --at a time before shows what was in it",
                ),
                false => failure.hint("`anywhen ls` shows the collections"),
            }
        })
    }

    /// The collection that had this name at a moment; without a moment, or where there was none then,
    /// the one that has it now. So what a collection held before it was dropped can be read.
    pub(crate) fn collection_at(&mut self, name: &str, at: Option<At>) -> Outcome<Collection> {
        let database = self.database()?;
        let csn = match at {
            Some(At::Time(micros)) => Some(database.csn_at(micros)?),
            Some(At::Csn(csn)) if Csn(csn) > database.newest() => {
                let newest = database.newest().0;
                return Err(Failure::refused(format!(
                    "there is no commit {csn}: the newest is {newest}"
                )));
            }
            Some(At::Csn(csn)) => Some(Csn(csn)),
            Some(At::Revision(_) | At::Authored(_)) | None => None,
        };
        let then = csn.map(|csn| database.find_collection_at(name, csn)).transpose()?;
        match then.flatten() {
            Some(collection) => Ok(collection),
            None => self.collection(name),
        }
    }

    /// Ends the use of the database, so that the next opening has nothing to
    /// recover.
    pub(crate) fn close(&mut self) -> Outcome {
        if let Some(database) = self.database.take() {
            database.close()?;
        }
        Ok(())
    }
}

/// True if the folder is there and is not empty.
pub(crate) fn holds_data(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Author and message of a write.
pub(crate) fn meta(signed: &Signed) -> Meta {
    Meta {
        author: signed.author.clone().unwrap_or_else(system_user),
        message: signed.message.clone().unwrap_or_default(),
        ..Meta::default()
    }
}

/// The user of this system by the environment, or else by the list of users.
fn system_user() -> String {
    ["USER", "LOGNAME", "USERNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()))
        .or_else(listed_user)
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The name of the user whom this process belongs to, where the system tells it in files.
#[cfg(unix)]
fn listed_user() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let id = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut names = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    });
    names.next()
}

#[cfg(not(unix))]
fn listed_user() -> Option<String> {
    None
}

/// The library's way to name a part of a document.
pub(crate) fn node(place: &NodeArg) -> NodeRef {
    match place {
        NodeArg::Path(path) => NodeRef::Path(path.clone()),
        NodeArg::Key(key) => NodeRef::Key(anywhen::NodeKey(*key)),
    }
}

/// Says that a document is not there, and how to look for it.
pub(crate) fn missing(target: &Target) -> Failure {
    Failure::refused(format!(
        "there is no document {:?} in the collection {:?}",
        target.key, target.collection
    ))
    .hint(format!("`anywhen ls {}` shows what is there", target.collection))
}
