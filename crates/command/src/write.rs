//! Commands that write: each makes one revision, and prints its number.

use std::io::{Cursor, Read};
use std::path::Path;

use anywhen::{Committed, DocumentError, Edit, Meta, Place as Position, Revision};
use json::Tape;

use crate::args::{
    Change, EditArgs, Expected, NodeArg, PutArgs, RevertArgs, RmArgs, Signed, Target, Where,
};
use crate::failure::{Failure, Outcome};
use crate::json_out::{Object, quoted};
use crate::session::{Session, meta, node};
use crate::{progress, screen};
use anywhen::time;

/// The most bytes that are read at once. More goes in as a stream, so a document of any size needs
/// no more memory than this.
const WHOLE_BYTES_MAX: u64 = 16 << 20;

/// A document that is being written.
pub(crate) enum Incoming {
    /// A document that is small enough to be parsed before anything is made for it.
    Whole(Box<Tape>),
    Stream(Box<dyn Read>),
}

impl Incoming {
    /// Takes a document from a file or from standard input.
    pub(crate) fn read(mut source: Box<dyn Read>, name: &Path) -> Outcome<Self> {
        let mut start = Vec::new();
        let taken = source.by_ref().take(WHOLE_BYTES_MAX).read_to_end(&mut start);
        taken.map_err(|error| Failure::file(name, &error))?;
        if (start.len() as u64) < WHOLE_BYTES_MAX {
            return Ok(Self::Whole(Box::new(parse(&start)?)));
        }
        Ok(Self::Stream(Box::new(Cursor::new(start).chain(source))))
    }

    /// Writes it, and says which revision that made.
    pub(crate) fn write(self, session: &mut Session, target: &Target, meta: &Meta) -> Outcome {
        check_key(&target.key)?;
        let collection = session.database_or_new()?.collection(&target.collection)?;
        let committed = match self {
            Self::Whole(tape) => collection.put_tape(&target.key, &tape, meta)?,
            Self::Stream(source) => {
                let bar = progress::bar("reading", None);
                let committed = collection.import(&target.key, bar.wrap_read(source), meta)?;
                bar.finish_and_clear();
                committed
            }
        };
        committed_line(session, target, &committed)
    }
}

pub(crate) fn put(session: &mut Session, a: &PutArgs) -> Outcome {
    let meta = expecting(meta(&a.signed), &a.expected);
    source(&a.source)?.write(session, &a.target, &meta)
}

/// The same for a write that expects a revision.
fn expecting(meta: Meta, expected: &Expected) -> Meta {
    Meta { only_at: expected.if_revision.map(Revision), ..meta }
}

/// The input that a source names: `-`, a file, or JSON as text.
fn source(source: &str) -> Outcome<Incoming> {
    if source == "-" {
        return Incoming::read(Box::new(std::io::stdin()), Path::new("standard input"));
    }
    let path = Path::new(source);
    if !path.exists() {
        // A source that is no file may be JSON, or look so much like JSON that its syntax error is
        // worth telling.
        let like_json = source.trim_start().starts_with(['{', '[', '"']);
        if like_json || Tape::parse(source).is_ok() {
            return Ok(Incoming::Whole(Box::new(parse(source.as_bytes())?)));
        }
    }
    let file = std::fs::File::open(path).map_err(|error| {
        Failure::file(path, &error).hint("give a file, `-` for standard input, or JSON in quotes")
    })?;
    Incoming::read(Box::new(file), path)
}

/// Fails for a key that no document can have, so that no collection is made for it.
pub(crate) fn check_key(key: &str) -> Outcome {
    match key.len() {
        0 => Err(DocumentError::BadKey("is empty").into()),
        bytes if bytes > anywhen::KEY_BYTES_MAX => Err(DocumentError::BadKey("is too long").into()),
        _ => Ok(()),
    }
}

/// Reads JSON within the limits of documents.
pub(crate) fn parse(text: &[u8]) -> Outcome<Tape> {
    Tape::parse_with(text, &anywhen::limits())
        .map_err(|error| Failure::refused(format!("not JSON: {error}")))
}

/// Says which revision a write made, or that nothing differed.
fn committed_line(session: &Session, target: &Target, committed: &Committed) -> Outcome {
    if session.json {
        let object = Object::new()
            .text("collection", &target.collection)
            .text("key", &target.key)
            .plain("revision", committed.revision.0)
            .plain("csn", committed.csn.0)
            .text("time", &time::rfc3339(committed.time_us))
            .plain("changed", committed.changed);
        return screen::raw(object.end().as_bytes());
    }
    let revision = committed.revision.0;
    screen::text(&match committed.changed {
        true => format!("{target} revision {revision}"),
        false => format!("{target} is unchanged: revision {revision}"),
    })
}

pub(crate) fn rm(session: &mut Session, a: &RmArgs) -> Outcome {
    let collection = session.collection(&a.target.collection)?;
    if collection.get(&a.target.key)?.is_none() {
        return Err(crate::session::missing(&a.target));
    }
    let committed =
        collection.remove_with(&a.target.key, &expecting(meta(&a.signed), &a.expected))?;
    if session.json {
        return committed_line(session, &a.target, &committed);
    }
    let revision = committed.revision.0;
    screen::text(&format!("{} removed: revision {revision}", a.target))
}

pub(crate) fn revert(session: &mut Session, a: &RevertArgs) -> Outcome {
    let collection = session.collection(&a.target.collection)?;
    let mut meta = meta(&a.signed);
    if meta.message.is_empty() {
        meta.message = format!("revert to revision {}", a.revision);
    }
    let committed = collection.revert(&a.target.key, Revision(a.revision), &meta)?;
    committed_line(session, &a.target, &committed)
}

pub(crate) fn edit(session: &mut Session, a: &EditArgs) -> Outcome {
    // Errors in the words are reported before the database is touched.
    let steps = steps(&a.change)?;
    let collection = session.collection(&a.target.collection)?;
    if collection.get(&a.target.key)?.is_none() {
        return Err(crate::session::missing(&a.target));
    }
    let meta = expecting(meta(signed(&a.change)), &a.expected);
    let (committed, ()) = collection.edit_with(&a.target.key, &meta, |document| {
        for step in &steps {
            step.apply(document)?;
        }
        Ok(())
    })?;
    committed_line(session, &a.target, &committed)
}

/// One change, with its values checked.
enum Step<'a> {
    Set(NodeArg, String),
    Insert(&'a NodeArg, Position<'a>, String),
    Rename(&'a NodeArg, &'a str),
    Move(&'a NodeArg, &'a NodeArg, Position<'a>),
    Copy(&'a NodeArg, &'a NodeArg, Position<'a>),
    Remove(&'a NodeArg),
}

impl Step<'_> {
    fn apply(&self, document: &mut Edit<'_>) -> Result<(), DocumentError> {
        match self {
            Self::Set(place, value) => document.set(node(place), value).map(drop),
            Self::Insert(place, position, value) => {
                document.insert(node(place), *position, value).map(drop)
            }
            Self::Rename(place, name) => document.rename(node(place), name),
            Self::Move(what, to, position) => document.move_to(node(what), node(to), *position),
            Self::Copy(what, to, position) => {
                document.copy_to(node(what), node(to), *position).map(drop)
            }
            Self::Remove(place) => document.remove(node(place)),
        }
    }
}

fn signed(change: &Change) -> &Signed {
    match change {
        Change::Set { signed, .. }
        | Change::Insert { signed, .. }
        | Change::Rename { signed, .. }
        | Change::Move { signed, .. }
        | Change::Copy { signed, .. }
        | Change::Remove { signed, .. } => signed,
    }
}

fn steps(change: &Change) -> Outcome<Vec<Step<'_>>> {
    Ok(match change {
        Change::Set { pairs, text, .. } => {
            if pairs.len() % 2 == 1 {
                return Err(Failure::new(
                    crate::failure::Kind::Usage,
                    format!(
                        "{:?} has no value: set takes PATH VALUE pairs",
                        pairs[pairs.len() - 1]
                    ),
                ));
            }
            let mut steps = Vec::with_capacity(pairs.len() / 2);
            for pair in pairs.chunks_exact(2) {
                let place = pair[0].parse().map_err(Failure::refused)?;
                steps.push(Step::Set(place, value(&pair[1], *text)?));
            }
            steps
        }
        Change::Insert { place, value: v, text, where_, .. } => {
            vec![Step::Insert(place, position(where_), value(v, *text)?)]
        }
        Change::Rename { place, name, .. } => vec![Step::Rename(place, name)],
        Change::Move { place, to, where_, .. } => vec![Step::Move(place, to, position(where_))],
        Change::Copy { place, to, where_, .. } => vec![Step::Copy(place, to, position(where_))],
        Change::Remove { places, .. } => places.iter().map(Step::Remove).collect(),
    })
}

fn position(where_: &Where) -> Position<'_> {
    match where_ {
        Where { first: true, .. } => Position::FirstChild,
        Where { before: true, .. } => Position::Before,
        Where { after: true, .. } => Position::After,
        Where { field: Some(name), .. } => Position::Field(name),
        _ => Position::LastChild,
    }
}

/// The value as JSON; where it is none, says how to write a text.
fn value(value: &str, text: bool) -> Outcome<String> {
    if text {
        return Ok(quoted(value));
    }
    match Tape::parse(value.as_bytes()) {
        Ok(_) => Ok(value.to_owned()),
        Err(error) => Err(Failure::refused(format!("{value:?} is not JSON: {error}"))
            .hint("a text is written '\"so\"', or plainly with --text")),
    }
}
