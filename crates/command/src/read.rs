//! Commands that read: a document, a list, a history, a comparison.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anywhen::{
    Collection, Document, DocumentError, History, Metadata, Moment, PartOptions, Revision,
    RevisionInfo,
};
use json::Tape;

use crate::args::{
    At, BlameArgs, DiffArgs, DiffFormat, GetArgs, HistoryArgs, NodeHistoryArgs, PathsArgs, Target,
};
use crate::failure::{Failure, Outcome};
use crate::json_out::{Object, array};
use crate::session::{Session, missing, node};
use crate::{render, screen};
use anywhen::time;

/// The library's name of a moment.
pub(crate) fn moment(at: At) -> Moment {
    match at {
        At::Revision(revision) => Moment::Revision(Revision(revision)),
        At::Time(micros) => Moment::Time(micros),
        At::Authored(micros) => Moment::Authored(micros),
        At::Csn(csn) => Moment::Csn(anywhen::Csn(csn)),
    }
}

/// The document at the moment asked for; says why there is none.
fn document(collection: &Collection, target: &Target, at: Option<At>) -> Outcome<Document> {
    let found = match at {
        Some(at) => collection.at(moment(at)).get(&target.key)?,
        None => collection.get(&target.key)?,
    };
    if let Some(document) = found {
        return Ok(document);
    }
    match newest(collection, target)? {
        Some(newest) if newest.deleted && at.is_none() => {
            let removed = newest.revision.0;
            let failure = Failure::refused(format!("{target} was removed in revision {removed}"));
            Err(match removed {
                1 => failure,
                _ => failure.hint(format!(
                    "it can still be read: `anywhen get {target} --at {}`",
                    removed - 1
                )),
            })
        }
        Some(_) => Err(Failure::refused(format!("{target} did not exist at that moment"))
            .hint(format!("`anywhen history {target}` shows when it did"))),
        None => Err(missing(target)),
    }
}

/// The newest revision of a document that is there, or was.
fn newest(collection: &Collection, target: &Target) -> Outcome<Option<RevisionInfo>> {
    match collection.history(&target.key, 1) {
        Ok(newest) => Ok(newest.get(0).map(|info| info.to_owned())),
        Err(DocumentError::NoDocument { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn get(session: &mut Session, a: &GetArgs) -> Outcome {
    let collection = session.collection_at(&a.target.collection, a.at)?;
    let document = document(&collection, &a.target, a.at)?;
    let text = part(&document, a)?;
    let text = if a.pretty && !session.json { pretty(&text)? } else { text };
    if !session.json {
        return screen::raw(text.as_bytes());
    }
    let object = Object::new()
        .text("collection", &a.target.collection)
        .text("key", &a.target.key)
        .plain("revision", document.revision().0)
        .raw("doc", &text);
    screen::raw(object.end().as_bytes())
}

/// The document, or the part of it that was asked for, as compact JSON.
fn part(document: &Document, a: &GetArgs) -> Outcome<String> {
    let limited = a.max_level.is_some()
        || a.max_children.is_some()
        || a.nodes.is_some()
        || a.top.is_some()
        || a.after.is_some();
    let nothing = |place| {
        let revision = document.revision();
        Failure::refused(format!("there is no node {} in revision {revision}", node(place)))
    };
    if let (Some(place), false, false) = (&a.path, limited, a.metadata) {
        return document.value(node(place))?.ok_or_else(|| nothing(place));
    }
    let mut options = PartOptions::default();
    if let Some(place) = &a.path {
        options.start = Some(document.find(node(place))?.ok_or_else(|| nothing(place))?);
    }
    options.max_level = a.max_level;
    options.max_children = a.max_children;
    options.number_of_nodes = a.nodes;
    options.next_top_level_nodes = a.top;
    if let Some(place) = &a.after {
        options.after = Some(document.find(node(place))?.ok_or_else(|| nothing(place))?);
    }
    if a.metadata {
        options.metadata = Metadata::NodeKeyAndChildCount;
    }
    Ok(document.serialize(&options)?)
}

/// The same JSON over several lines.
pub(crate) fn pretty(json: &str) -> Outcome<String> {
    match Tape::parse(json) {
        Ok(tape) => Ok(tape.pretty()),
        Err(error) => Err(Failure::refused(format!("what was stored is not JSON: {error}"))),
    }
}

pub(crate) fn history(session: &mut Session, a: &HistoryArgs) -> Outcome {
    let collection = session.collection(&a.target.collection)?;
    let revisions = revisions(&collection, &a.target, a.limit.unwrap_or(usize::MAX))?;
    if session.json {
        return screen::raw(array(revisions.iter().map(revision_json)).as_bytes());
    }
    screen::painted(&render::history(&revisions))
}

/// The newest `limit` revisions, newest first.
pub(crate) fn revisions(
    collection: &Collection,
    target: &Target,
    limit: usize,
) -> Outcome<History> {
    match newest(collection, target)? {
        Some(_) => Ok(collection.history(&target.key, limit)?),
        None => Err(missing(target)),
    }
}

/// The authenticated role of the committing client; nothing without authentication.
pub(crate) fn proved(role: &str) -> Option<&str> {
    (!role.is_empty()).then_some(role)
}

pub(crate) fn revision_json(revision: RevisionInfo<&str>) -> String {
    let object = Object::new()
        .plain("revision", revision.revision.0)
        .plain("csn", revision.csn.0)
        .text("time", &time::rfc3339(revision.time_us))
        .text_or_null("authored", revision.authored_us.map(time::rfc3339).as_deref())
        .text("author", revision.author)
        .text_or_null("role", proved(revision.role))
        .text("message", revision.message)
        .plain("deleted", revision.deleted);
    // Said only where it is not what everybody expects.
    if revision.kept { object.end() } else { object.plain("kept", false).end() }
}

pub(crate) fn diff(session: &mut Session, a: &DiffArgs) -> Outcome {
    let collection = session.collection(&a.target.collection)?;
    let newest = revisions(&collection, &a.target, 1)?.get(0).map_or(0, |r| r.revision.0);
    let to = a.to.unwrap_or(newest);
    let from = a.from.unwrap_or(to.saturating_sub(1));
    if from == 0 {
        return Err(Failure::refused(format!("{} has one revision so far", a.target))
            .hint("name two revisions to compare"));
    }
    let diff = collection.diff(&a.target.key, Revision(from), Revision(to)).map_err(|error| {
        Failure::from(error).hint(format!("`anywhen history {}` shows its revisions", a.target))
    })?;
    let format = a.format.unwrap_or(match session.json {
        true => DiffFormat::Anywhen,
        false => DiffFormat::Text,
    });
    match format {
        DiffFormat::Text => screen::painted(&render::diff(&a.target, from, to, &diff.changes)),
        DiffFormat::Anywhen => {
            let object = Object::new()
                .text("collection", &a.target.collection)
                .text("key", &a.target.key)
                .plain("from", from)
                .plain("to", to)
                .raw("changes", &array(diff.changes.iter().map(render::change_json)));
            screen::raw(object.end().as_bytes())
        }
        DiffFormat::Rfc6902 => screen::raw(diff.to_rfc6902()?.as_bytes()),
    }
}

pub(crate) fn blame(session: &mut Session, a: &BlameArgs) -> Outcome {
    let collection = session.collection_at(&a.target.collection, a.at)?;
    let document = document(&collection, &a.target, a.at)?;
    let lines = collection.blame(&a.target.key, Some(document.revision()))?;
    let revisions = known(&collection, &a.target, lines.iter().map(|line| line.revision))?;
    let lines: Vec<_> = lines.iter().map(|line| (line, &revisions[&line.revision])).collect();
    if session.json {
        return screen::raw(array(lines.iter().map(render::blame_json)).as_bytes());
    }
    screen::painted(&render::blame(&pretty(&document.to_json()?)?, &lines))
}

pub(crate) fn node_history(session: &mut Session, a: &NodeHistoryArgs) -> Outcome {
    let collection = session.collection(&a.target.collection)?;
    let versions = collection.node_history(&a.target.key, node(&a.place))?;
    let revisions = known(&collection, &a.target, versions.iter().map(|version| version.from))?;
    let versions: Vec<_> =
        versions.iter().map(|version| (version, &revisions[&version.from])).collect();
    if session.json {
        return screen::raw(array(versions.iter().map(render::node_version_json)).as_bytes());
    }
    screen::painted(&render::node_history(&versions))
}

pub(crate) fn paths(session: &mut Session, a: &PathsArgs) -> Outcome {
    let collection = session.collection_at(&a.target.collection, a.at)?;
    let revision = document(&collection, &a.target, a.at)?.revision();
    let paths = collection.path_summary(&a.target.key, revision)?.unwrap_or_default();
    if session.json {
        return screen::raw(array(paths.iter().map(render::path_json)).as_bytes());
    }
    screen::painted(&render::paths(&paths))
}

/// The author, time and message of each revision; each is looked up once.
fn known(
    collection: &Collection,
    target: &Target,
    revisions: impl Iterator<Item = Revision>,
) -> Outcome<BTreeMap<Revision, RevisionInfo>> {
    let mut known = BTreeMap::new();
    for revision in revisions {
        if let Entry::Vacant(vacant) = known.entry(revision) {
            let found = collection.history_range(&target.key, revision, revision)?;
            vacant.insert(found.get(0).ok_or_else(|| missing(target))?.to_owned());
        }
    }
    Ok(known)
}
