//! The revisions that a request selects.
//!
//! In this order: `start-revision` and `end-revision`, their timestamps, `revision`,
//! `revision-timestamp`, the newest. A time before the first revision means the first. The time of a revision is
//! the `commitTimestamp` that it was written with, as in SirixDB; of one that was written without, its commit's.

use anywhen::{Collection, DocumentError, Moment, Revision};

use crate::call::Call;
use crate::problem::{Problem, Result, Stop};

/// Which revisions are meant.
pub(super) enum Selected {
    Newest,
    One(Revision),
    /// From the first up to and including the second.
    Range(Revision, Revision),
}

/// Reads the selectors of a request for a document that is there.
pub(super) fn selected(call: &Call, collection: &Collection, key: &str) -> Result<Selected> {
    let names = ["start-revision", "end-revision"];
    let times = ["start-revision-timestamp", "end-revision-timestamp"];
    let is_given = |names: [&str; 2]| names.iter().any(|name| call.text(name).is_some());
    if is_given(names) || is_given(times) || call.text("revision").is_some() {
        // Whether they are in range is known where the document is.
        if call.is_short {
            return Err(Stop::Later);
        }
    }
    if is_given(names) {
        let newest = collection.newest(key)?;
        let from = call.parsed(names[0])?.unwrap_or(1);
        let to = call.parsed(names[1])?.unwrap_or(newest.0);
        return range(within(from, newest)?, within(to, newest)?);
    }
    if is_given(times) {
        let at = |name| -> Result<Option<Revision>> {
            call.time(name)?.map(|us| floor(collection, key, us)).transpose()
        };
        let newest = collection.newest(key)?;
        return range(at(times[0])?.unwrap_or(Revision(1)), at(times[1])?.unwrap_or(newest));
    }
    if let Some(number) = call.parsed("revision")? {
        return Ok(Selected::One(within(number, collection.newest(key)?)?));
    }
    match call.time("revision-timestamp")? {
        None => Ok(Selected::Newest),
        Some(_) if call.is_short => Err(Stop::Later),
        Some(us) => Ok(Selected::One(floor(collection, key, us)?)),
    }
}

/// The one revision that is meant, where a range has no meaning.
pub(super) fn one(call: &Call, collection: &Collection, key: &str) -> Result<Option<Moment>> {
    match selected(call, collection, key)? {
        Selected::Newest => Ok(None),
        Selected::One(revision) => Ok(Some(revision.into())),
        Selected::Range(..) => Err(Problem::bad(
            "this operation reads one revision: give revision or revision-timestamp, not a range",
        )
        .into()),
    }
}

/// The revision that a parameter names by its number or a time.
pub(super) fn named(
    call: &Call,
    name: &'static str,
    collection: &Collection,
    key: &str,
) -> Result<Option<Revision>> {
    let Some(text) = call.text(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(within(number, collection.newest(key)?)?)),
        Err(_) => call.time(name)?.map(|us| floor(collection, key, us)).transpose(),
    }
}

fn range(from: Revision, to: Revision) -> Result<Selected> {
    match from <= to {
        true => Ok(Selected::Range(from, to)),
        false => Err(Problem::bad(format!("revision {from} is not before {to}")).into()),
    }
}

/// A revision that the document has.
pub(super) fn within(number: u64, newest: Revision) -> Result<Revision, Problem> {
    match (1..=newest.0).contains(&number) {
        true => Ok(Revision(number)),
        false => Err(Problem::bad(format!("revision {number} out of range [1, {newest}]"))),
    }
}

/// The newest revision at or before a time; the first where all came later.
fn floor(collection: &Collection, key: &str, us: u64) -> Result<Revision> {
    match collection.at(Moment::Authored(us)).revision(key) {
        Ok(found) => Ok(found.map_or(Revision(1), |info| info.revision)),
        // Before the collection's history begins nothing can be read; a read of the first is
        // answered with 410.
        Err(DocumentError::ForgottenAt { .. }) => Ok(Revision(1)),
        Err(error) => Err(error.into()),
    }
}
