//! Commands for collections as a whole: making, altering, dropping and listing them.

use anywhen::{CollectionOptions, Database, DocumentError};

use crate::args::{AlterArgs, At, CreateArgs, DropArgs, LsArgs};
use crate::failure::{Failure, Outcome};
use crate::json_out::{Object, array, quoted};
use crate::maintenance::answer;
use crate::read::moment;
use crate::render::{pad, widest};
use crate::screen;
use crate::session::Session;
use anywhen::time;

/// A collection and what it keeps.
pub(crate) struct Described {
    pub name: String,
    options: CollectionOptions,
}

impl Described {
    /// True if it has the default options.
    pub(crate) fn is_plain(&self) -> bool {
        self.options == CollectionOptions::default()
    }

    /// The retention in words.
    pub(crate) fn text(&self) -> String {
        let CollectionOptions { history, hashes, path_summary } = self.options;
        let mut words = vec![format!("history {history}")];
        if hashes {
            words.push("hashes".to_owned());
        }
        if path_summary {
            words.push("path summary".to_owned());
        }
        words.join(", ")
    }

    pub(crate) fn json(&self) -> String {
        let CollectionOptions { history, hashes, path_summary } = self.options;
        Object::new()
            .text("name", &self.name)
            .text("history", &history.to_string())
            .plain("hashes", hashes)
            .plain("path_summary", path_summary)
            .end()
    }
}

/// All collections, in order, and what each keeps.
pub(crate) fn described(database: &Database) -> Outcome<Vec<Described>> {
    let names = database.collections().into_iter();
    let describe = |name: String| {
        let options = database.find_collection(&name)?.options();
        Some(Described { name, options })
    };
    Ok(names.filter_map(describe).collect())
}

pub(crate) fn create(session: &mut Session, a: &CreateArgs) -> Outcome {
    let database = session.database_or_new()?;
    if database.find_collection(&a.name).is_some() {
        return Err(Failure::refused(format!("there is a collection {:?} already", a.name))
            .hint("`anywhen alter` changes how much of the past it keeps"));
    }
    let CreateArgs { name: _, history, hashes, path_summary } = *a;
    let options = CollectionOptions { history, hashes, path_summary };
    database.collection_with(&a.name, options)?;
    told(session, Described { name: a.name.clone(), options }, "made")
}

pub(crate) fn alter(session: &mut Session, a: &AlterArgs) -> Outcome {
    let collection = session.collection(&a.name)?;
    session.database()?.set_history(&a.name, a.history)?;
    told(session, Described { name: a.name.clone(), options: collection.options() }, "altered")
}

fn told(session: &Session, described: Described, done: &str) -> Outcome {
    let text = format!("{} {done}: {}", described.name, described.text());
    match session.json {
        true => screen::raw(described.json().as_bytes()),
        false => screen::text(&text),
    }
}

pub(crate) fn drop(session: &mut Session, a: &DropArgs) -> Outcome {
    let database = session.database()?;
    let (done, said) = match a.purge {
        true => (database.purge_collection(&a.name)?, "dropped with its past"),
        false => (database.drop_collection(&a.name)?, "dropped"),
    };
    if !done {
        // Says why: it never was, or is dropped already.
        session.collection(&a.name)?;
    }
    let object = Object::new().text("dropped", &a.name).plain("purged", a.purge);
    answer(session, object, &format!("{} {said}", a.name))
}

pub(crate) fn ls(session: &mut Session, a: &LsArgs) -> Outcome {
    if a.long {
        return long(session);
    }
    if a.dropped {
        return dropped(session);
    }
    let Some(name) = &a.collection else {
        if a.at.is_some() {
            return Err(Failure::refused("--at needs a collection"));
        }
        let names = session.database()?.collections();
        let after = a.after.clone().unwrap_or_default();
        return list(session.json, a, names.into_iter().filter(|name| *name > after).map(Ok));
    };
    let (name, prefix) = name.split_once('/').unwrap_or((name, ""));
    let collection = session.collection_at(name, a.at)?;
    match a.at {
        Some(At::Revision(_)) => Err(Failure::refused("revisions are counted for each document")
            .hint("name a time, authored:TIME or csn:N")),
        Some(at) => list(session.json, a, paged(a, collection.at(moment(at)).keys(prefix)?)),
        None => list(session.json, a, paged(a, collection.keys(prefix))),
    }
}

/// The keys of a page.
fn paged(a: &LsArgs, keys: anywhen::Keys) -> anywhen::Keys {
    match &a.after {
        Some(after) => keys.after(after),
        None => keys,
    }
}

/// Prints names as they come, as many as asked for: a line each, or an array.
fn list(
    json: bool,
    a: &LsArgs,
    names: impl Iterator<Item = anywhen::Result<String, DocumentError>>,
) -> Outcome {
    let names = names.take(a.limit.unwrap_or(usize::MAX)).collect::<Result<Vec<String>, _>>()?;
    if json {
        return screen::raw(array(names.iter().map(|name| quoted(name))).as_bytes());
    }
    let mut text = String::new();
    for name in names {
        text.push_str(&name);
        text.push('\n');
    }
    screen::lines(&text)
}

fn long(session: &mut Session) -> Outcome {
    let described = described(&session.database()?)?;
    if session.json {
        return screen::raw(array(described.iter().map(Described::json)).as_bytes());
    }
    let width = widest(described.iter().map(|described| described.name.clone()));
    let line = |of: &Described| format!("{}  {}\n", pad(&of.name, width), of.text());
    screen::lines(&described.iter().map(line).collect::<String>())
}

/// Collections that were dropped: when, and how much of their past is kept.
fn dropped(session: &mut Session) -> Outcome {
    let database = session.database()?;
    let dropped = database.dropped_collections()?;
    let width = widest(dropped.iter().map(|of| of.name.clone()));
    let mut lines = Vec::new();
    for of in dropped {
        let info = database.commits(of.csn, of.csn, false).next().transpose()?;
        let time_us = info.map_or(0, |info| info.time_us);
        lines.push(match session.json {
            true => Object::new()
                .text("name", &of.name)
                .plain("csn", of.csn.0)
                .text("time", &time::rfc3339(time_us))
                .text("history", &of.history.to_string())
                .end(),
            false => {
                let (name, shown, csn) = (pad(&of.name, width), time::show(time_us), of.csn.0);
                format!("{name}  {shown}  csn:{csn}  history {}\n", of.history)
            }
        });
    }
    match session.json {
        true => screen::raw(array(lines).as_bytes()),
        false => screen::lines(&lines.concat()),
    }
}
