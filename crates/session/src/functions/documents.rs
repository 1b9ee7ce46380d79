//! Functions on the documents of tables `USING document`: their history, node by node.
//!
//! ```text
//!   history('t', 'a1')               every version of the document at key 'a1'
//!   diff('t', 'a1', 3, 7)            what differs, node by node
//!   node_history('t', 'a1', '$.n')   the values that ever stood at a path, as long as each did
//!   node_at('t', 'a1', '$.n', 3)     a value, as it was
//! ```
//!
//! Versions are those of one document: 1, 2, 3 ... A node is named by where it stands (`$.items[3]`, or
//! `/items/3`), or by its key, a number. A path tells of all nodes that ever stood there, a key of one node
//! wherever it stood. The functions show versions that were committed when the statement began; writes of
//! the transaction itself are no versions yet. Where `system_time_as_of` is set, they show the versions
//! that had been committed by then.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use document::{
    Change, ChangeOp, Collection, NodeKey, NodeRef, NodeVersion, Nodes, Revision, RevisionInfo,
};
use parking_lot::Mutex;
use scalar::Columns;
use store::Csn;
use table::catalog::{Address, Privileges};
use table::documents::RowDocuments;
use types::time::TimestampTz;
use types::{Datum, DatumRef, Error, Jsonb, Repr, Result, RetryReason, SqlState, Type};

use super::{integer, oid, text};
use crate::client::StatementContext;
use crate::error::Severity;
use crate::instance::time_of;
use crate::names::Names;
use crate::rights::Rights;

/// How many versions of a history are read at once.
const HISTORY_AT_ONCE: u64 = 1_024;

/// A document that a function was asked about.
struct QueriedDocument<'a> {
    collection: Collection,
    key: &'a str,
    /// The newest version that the statement knows of; 0 where there is none.
    newest: Revision,
}

fn error(source: document::DocumentError) -> Error {
    crate::error::Error::from(table::Error::from(source)).cause
}

/// 42809: a relation has no documents.
pub(crate) fn no_documents(names: &Names, oid: types::Oid) -> Error {
    let message = match names.relation_name(oid) {
        Some((_, name)) => format!("\"{name}\" is not a table of documents"),
        None => format!("relation with OID {oid} does not exist"),
    };
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
        .with_hint("Such a table is made by CREATE TABLE ... USING document.")
}

/// How many nodes a function may look at where it holds up the other sessions of its core: a few
/// milliseconds' worth.
const INLINE_NODES_MAX: u64 = 8 << 10;

/// The document that the first two arguments name, for a function that looks at all of it.
///
/// # Errors
/// [`Again::BudgetSpent`] where that would hold up others.
fn asked_whole<'a>(
    around: &StatementContext<'_>,
    args: &[DatumRef<'a>],
) -> Result<QueriedDocument<'a>> {
    let asked = asked(around, args)?;
    if around.client.inline.get() && asked.newest.0 > 0 {
        let newest = asked.collection.get_at(asked.key, asked.newest).map_err(error)?;
        if newest.is_some_and(|newest| newest.tree().header().nodes > INLINE_NODES_MAX) {
            return Err(Error::retry(RetryReason::BudgetSpent));
        }
    }
    Ok(asked)
}

/// The document that the first two arguments name.
fn asked<'a>(around: &StatementContext<'_>, args: &[DatumRef<'a>]) -> Result<QueriedDocument<'a>> {
    let names = &around.names;
    let (oid, key) = (oid(args, 0), text(args, 1));
    let table = names.handles.table(&names.catalog, oid);
    let Some(documents) = table.as_deref().and_then(RowDocuments::of) else {
        return Err(no_documents(names, oid));
    };
    let rights = Rights::of(names);
    let column = [documents.column() as i16 + 1];
    if !names.is_superuser
        && !rights.has(Address::relation(oid), Privileges::SELECT)
        && !rights.has_on_columns(oid, &column, Privileges::SELECT)
    {
        return Err(rights.denied(oid).cause);
    }
    rights.require_whole(oid).map_err(|error| error.cause)?;
    let collection = documents.collection().clone();
    let newest = collection.at(seen(around)?).revision(key).map_err(error)?;
    Ok(QueriedDocument {
        collection,
        key,
        newest: newest.map_or(Revision(0), |info| info.revision),
    })
}

impl QueriedDocument<'_> {
    /// A version that was asked for.
    fn version(&self, number: i64) -> Result<Revision> {
        let asked = u64::try_from(number).ok().filter(|n| (1..=self.newest.0).contains(n));
        asked.map(Revision).ok_or_else(|| {
            let message = match self.newest.0 {
                0 => format!("there is no document with key \"{}\"", self.key),
                newest => format!("there is no version {number}; the newest is {newest}"),
            };
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// The version in an argument, or the newest where there is no such argument; none if there is no
    /// document.
    fn version_at(&self, args: &[DatumRef<'_>], at: usize) -> Result<Option<Revision>> {
        match args.len() > at {
            true => self.version(integer(args, at)).map(Some),
            false => Ok(Some(self.newest).filter(|newest| newest.0 > 0)),
        }
    }

    /// The commit data of some versions, each looked up once.
    fn infos(&self, of: impl Iterator<Item = Revision>) -> Result<BTreeMap<u64, RevisionInfo>> {
        let mut known = BTreeMap::new();
        for revision in of {
            if let Entry::Vacant(place) = known.entry(revision.0) {
                let found = self.collection.history_range(self.key, revision, revision);
                let found = found.map_err(error)?;
                place.insert(found.get(0).map(|info| info.to_owned()).ok_or_else(|| {
                    Error::new(SqlState::DATA_CORRUPTED, "a version that is not known")
                })?);
            }
        }
        Ok(known)
    }

    /// The values that a node had up to the newest version.
    fn runs(&self, node: NodeRef) -> Result<Vec<NodeVersion>> {
        if self.newest.0 == 0 {
            return Ok(Vec::new());
        }
        let mut runs = self.collection.node_history(self.key, node).map_err(error)?;
        runs.retain(|run| run.from <= self.newest);
        for run in &mut runs {
            if run.to.is_some_and(|to| to >= self.newest) {
                (run.to, run.to_us) = (None, None);
            }
        }
        Ok(runs)
    }
}

/// The node that an argument names.
fn node(args: &[DatumRef<'_>], at: usize) -> Result<NodeRef> {
    match args.get(at) {
        Some(DatumRef::Int8(number)) => {
            let number = u64::try_from(*number).map_err(|_| {
                let message = format!("{number} is not the key of a node");
                Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            })?;
            Ok(NodeRef::Key(NodeKey(number)))
        }
        _ => Ok(NodeRef::Path(text(args, at).to_owned())),
    }
}

/// The documents of a collection as the statement sees them, one after the other, also those of earlier
/// releases with values that `jsonb` cannot hold. The collection may have been dropped since.
///
/// # Errors
/// `42P01` where there is no such collection, `42501` where the role may not read it.
fn documents(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let (names, name) = (&around.names, text(args, 0));
    if around.client.inline.get() {
        return Err(Error::retry(RetryReason::BudgetSpent));
    }
    let seen = seen(around)?;
    let instance = &around.client.instance;
    let found = instance.collections.find_at(name, seen);
    let found = found.map_err(|error| crate::error::Error::from(error).cause)?;
    let collection = found.ok_or_else(|| {
        let message = format!("collection \"{name}\" does not exist");
        Error::new(SqlState::UNDEFINED_TABLE, message)
    })?;
    let relation = instance.catalogs.tables().relation_of(collection.id());
    let is_allowed = |oid| Rights::of(names).has(Address::relation(oid), Privileges::SELECT);
    if !names.is_superuser && !relation.is_some_and(is_allowed) {
        let message = format!("permission denied for collection \"{name}\"");
        return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    if let Some(relation) = relation {
        Rights::of(names).require_whole(relation).map_err(|error| error.cause)?;
    }
    let then = collection.at(seen);
    let keys = then.keys("").map_err(error)?;
    let mut notices = MarkNotices {
        collection: name.to_owned(),
        to: Arc::clone(&around.client.late_notices),
        left: MARK_NOTICES_MAX,
    };
    let mut row = move |key: document::Result<String>| {
        let key = key.map_err(error)?;
        let document = then.get(&key).map_err(error)?;
        document
            .map(|document| {
                let value = match document.tree().jsonb_marked() {
                    // A document that is too large for a value does not hide the others.
                    Err(document::DocumentError::Value(_)) => Datum::Null,
                    value => {
                        let (value, marks) = value.map_err(error)?;
                        notices.tell(&key, &marks);
                        value.into()
                    }
                };
                Ok([told(&key), version(document.revision()), value])
            })
            .transpose()
    };
    let rows = keys.filter_map(move |key| row(key).transpose());
    Ok(Box::new(Columns::new([TEXT, INT8, JSONB], rows)))
}

/// One call of `documents()` names so many documents with values that `jsonb` cannot hold.
const MARK_NOTICES_MAX: usize = 100;

/// Notices about documents of an older release with values that `jsonb` cannot hold.
struct MarkNotices {
    collection: String,
    to: Arc<Mutex<Vec<crate::error::Error>>>,
    left: usize,
}

impl MarkNotices {
    /// Names a document and the places of such values in it.
    fn tell(&mut self, key: &str, marks: &[document::Marked]) {
        let Some(first) = marks.first() else { return };
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let more = match marks.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let message = format!(
            "document \"{}\" of collection \"{}\" has values that jsonb cannot hold: {}{more}",
            key.replace('\0', "\\u0000"),
            self.collection,
            first.path
        );
        let mut notice =
            crate::error::Error::notice(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, message);
        notice = notice
            .detail(format!("{}. A string shows the text of the value in its place.", first.why));
        if self.left == 0 {
            notice = notice.hint("Further documents with such values are not named.");
        }
        self.to.lock().push(notice);
    }
}

/// The newest commit that the statement knows of.
fn seen(around: &StatementContext<'_>) -> Result<Csn> {
    let seen = around.client.seen.get();
    match around.names.moment {
        Some(time) => {
            let then = around.client.instance.csn_at(time).map_err(|error| error.cause)?;
            Ok(seen.min(then))
        }
        None => Ok(seen),
    }
}

/// The rows of a function of this module; none if it is no such function.
pub(super) fn rows(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Option<Result<scalar::Rows>> {
    Some(match name {
        "history" => history(around, args),
        "diff" => diff(around, args),
        "node_history" => node_history(around, args),
        "value_runs" => value_runs(around, args),
        "node_changes" => node_changes(around, args),
        "blame" => blame(around, args),
        "path_summary" => path_summary(around, args),
        "documents" => documents(around, args),
        _ => return None,
    })
}

/// The value of a function of this module that gives one; none if it is no such function.
pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    match name {
        "json_patch" => json_patch(around, args).map(Some),
        "node_at" => node_at(around, args).map(Some),
        _ => Ok(None),
    }
}

fn history(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let asked = asked(around, args)?;
    if asked.newest.0 == 0 {
        return Ok(Box::new(std::iter::empty()));
    }
    let QueriedDocument { collection, key, newest } = asked;
    let key = key.to_owned();
    // Page by page, and each row as it is asked for: what a row takes, the next one takes again.
    let page = move |end: u64| -> Box<dyn Iterator<Item = Result<_>> + Send> {
        let from = Revision((end - 1) * HISTORY_AT_ONCE + 1);
        let to = Revision((end * HISTORY_AT_ONCE).min(newest.0));
        let found = collection.history_range(&key, from, to).map_err(error);
        let row = |info: RevisionInfo<&str>| {
            [
                version(info.revision),
                time(info.time_us),
                Datum::text(info.author),
                Datum::text(info.message),
                commit(info.csn),
                Datum::Bool(info.deleted),
                role(info.role),
                authored(info.authored_us),
            ]
        };
        match found {
            Ok(found) => {
                Box::new((0..found.len()).filter_map(move |at| found.get(at).map(row).map(Ok)))
            }
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    };
    let rows = (1..=newest.0.div_ceil(HISTORY_AT_ONCE)).rev().flat_map(page);
    Ok(Box::new(Columns::new([INT8, TIME, TEXT, TEXT, INT8, BOOL, TEXT, TIME], rows)))
}

fn diff(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let asked = asked_whole(around, args)?;
    let (from, to) = (asked.version(integer(args, 2))?, asked.version(integer(args, 3))?);
    let found = asked.collection.diff(asked.key, from, to).map_err(error)?;
    let row = |Change { node, path, op }: Change| {
        let (op, old, new) = match op {
            ChangeOp::Update { old, new, .. } => ("update", json(&old)?, json(&new)?),
            ChangeOp::Rename { old, new } => ("rename", quoted(&old)?, quoted(&new)?),
            ChangeOp::Move { from, .. } => {
                ("move", string(&from.to_string())?, string(&path.to_string())?)
            }
            ChangeOp::Insert { new, .. } => ("insert", Datum::Null, json(&new)?),
            ChangeOp::Delete { old } => ("delete", json(&old)?, Datum::Null),
            ChangeOp::Replace { old, new, .. } => ("replace", json(&old)?, json(&new)?),
        };
        Ok([key(node), Datum::text(path.to_string()), Datum::text(op), old, new])
    };
    let rows = found.changes.into_iter().map(row);
    Ok(Box::new(Columns::new([INT8, TEXT, TEXT, JSONB, JSONB], rows)))
}

fn node_history(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let runs = asked(around, args)?.runs(node(args, 2)?)?;
    let row = |run: NodeVersion| {
        Ok([
            version(run.from),
            run.to.map_or(Datum::Null, version),
            time(run.from_us),
            run.to_us.map_or(Datum::Null, time),
            json(&run.value)?,
            key(run.node),
            authored(run.authored_us),
        ])
    };
    let types = [INT8, INT8, TIME, TIME, JSONB, INT8, TIME];
    Ok(Box::new(Columns::new(types, runs.into_iter().map(row))))
}

fn value_runs(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let asked = asked(around, args)?;
    let (newest, mut runs) = (asked.newest, asked.runs(node(args, 2)?)?);
    // Another node with the same value goes on with the value.
    runs.dedup_by(|next, run| {
        let goes_on = run.to.is_some_and(|to| to.0 + 1 == next.from.0) && run.value == next.value;
        if goes_on {
            (run.to, run.to_us) = (next.to, next.to_us);
        }
        goes_on
    });
    let row = move |run: NodeVersion| {
        let versions = run.to.unwrap_or(newest).0 - run.from.0 + 1;
        Ok([
            json(&run.value)?,
            version(run.from),
            run.to.map_or(Datum::Null, version),
            Datum::Int8(versions as i64),
            time(run.from_us),
            run.to_us.map_or(Datum::Null, time),
        ])
    };
    Ok(Box::new(Columns::new([JSONB, INT8, INT8, INT8, TIME, TIME], runs.into_iter().map(row))))
}

/// The changes of a node by commits: creation, new value, removal. For a path: of the nodes that stood
/// there. Of a path: to what stands there.
fn node_changes(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let asked = asked(around, args)?;
    let runs = asked.runs(node(args, 2)?)?;
    let mut changes: Vec<(Revision, &'static str, Option<String>)> = Vec::new();
    let mut ended = None;
    for run in runs {
        let follows = ended == Some(run.from);
        if !follows {
            changes.extend(ended.map(|at| (at, "delete", None)));
        }
        let is_same = |(.., value): &(_, _, Option<String>)| value.as_ref() == Some(&run.value);
        if !follows || !changes.last().is_some_and(is_same) {
            changes.push((run.from, if follows { "update" } else { "insert" }, Some(run.value)));
        }
        ended = run.to.map(|to| Revision(to.0 + 1));
    }
    changes.extend(ended.map(|at| (at, "delete", None)));
    let infos = asked.infos(changes.iter().map(|(revision, ..)| *revision))?;
    let row = move |(revision, op, value): (Revision, &str, Option<String>)| {
        let info = &infos[&revision.0];
        Ok([
            version(revision),
            time(info.time_us),
            Datum::text(&*info.author),
            Datum::text(&*info.message),
            Datum::text(op),
            value.map_or(Ok(Datum::Null), |value| json(&value))?,
            role(&info.role),
            authored(info.authored_us),
        ])
    };
    let types = [INT8, TIME, TEXT, TEXT, TEXT, JSONB, TEXT, TIME];
    Ok(Box::new(Columns::new(types, changes.into_iter().map(row))))
}

fn blame(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let asked = asked_whole(around, args)?;
    let Some(at) = asked.version_at(args, 2)? else { return Ok(Box::new(std::iter::empty())) };
    let lines = asked.collection.blame(asked.key, Some(at)).map_err(error)?;
    let infos = asked.infos(lines.iter().map(|line| line.revision))?;
    let row = move |line: document::BlameLine| {
        let info = &infos[&line.revision.0];
        // Of containers the value says which they are.
        let value = match line.value.as_str() {
            "{" => "{}",
            "[" => "[]",
            value => value,
        };
        Ok([
            key(line.node),
            Datum::text(line.path.to_string()),
            version(line.revision),
            time(info.time_us),
            Datum::text(&*info.author),
            Datum::text(&*info.message),
            json(value)?,
            role(&info.role),
            authored(info.authored_us),
        ])
    };
    let types = [INT8, TEXT, INT8, TIME, TEXT, TEXT, JSONB, TEXT, TIME];
    Ok(Box::new(Columns::new(types, lines.into_iter().map(row))))
}

fn path_summary(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<scalar::Rows> {
    let asked = asked_whole(around, args)?;
    let at = asked.version_at(args, 2)?;
    let classes = at.map(|at| asked.collection.path_summary(asked.key, at)).transpose();
    let classes = classes.map_err(error)?.flatten().unwrap_or_default();
    let row = |class: document::PathClass| {
        let (count, level) = (class.count as i64, class.level as i32);
        Ok([told(&class.path), Datum::Int8(count), Datum::Int4(level)])
    };
    let types = [TEXT, INT8, (Type::INT4, Repr::Int4)];
    Ok(Box::new(Columns::new(types, classes.into_iter().map(row))))
}

fn json_patch(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<Datum> {
    let asked = asked_whole(around, args)?;
    let (from, to) = (asked.version(integer(args, 2))?, asked.version(integer(args, 3))?);
    let found = asked.collection.diff(asked.key, from, to).map_err(error)?;
    json(&found.to_rfc6902().map_err(error)?)
}

fn node_at(around: &StatementContext<'_>, args: &[DatumRef<'_>]) -> Result<Datum> {
    let asked = asked(around, args)?;
    let (Some(at), node) = (asked.version_at(args, 3)?, node(args, 2)?) else {
        return Ok(Datum::Null);
    };
    let Some(document) = asked.collection.get_at(asked.key, at).map_err(error)? else {
        return Ok(Datum::Null);
    };
    let tree = document.tree();
    let Some(found) = tree.find(&node).map_err(error)? else { return Ok(Datum::Null) };
    let mut value = Vec::new();
    tree.write_subtree(found, &mut value).map_err(error)?;
    json(&String::from_utf8_lossy(&value))
}

// --- values --------------------------------------------------------------------------------------

/// The types that columns hold.
const INT8: (Type, Repr) = (Type::INT8, Repr::Int8);
const BOOL: (Type, Repr) = (Type::BOOL, Repr::Bool);
const TEXT: (Type, Repr) = (Type::TEXT, Repr::Text);
const TIME: (Type, Repr) = (Type::TIMESTAMPTZ, Repr::TimestampTz);
const JSONB: (Type, Repr) = (Type::JSONB, Repr::Jsonb);

fn version(revision: Revision) -> Datum {
    Datum::Int8(i64::try_from(revision.0).unwrap_or(i64::MAX))
}

fn key(node: NodeKey) -> Datum {
    Datum::Int8(i64::try_from(node.0).unwrap_or(i64::MAX))
}

fn commit(csn: Csn) -> Datum {
    Datum::Int8(i64::try_from(csn.0).unwrap_or(i64::MAX))
}

/// The authenticated role of the committing client; NULL without authentication.
fn role(name: &str) -> Datum {
    if name.is_empty() { Datum::Null } else { Datum::text(name) }
}

/// The authored time; NULL if there is none.
fn authored(us: Option<u64>) -> Datum {
    us.map_or(Datum::Null, time)
}

fn time(us: u64) -> Datum {
    Datum::TimestampTz(TimestampTz(time_of(us).0))
}

fn json(text: &str) -> Result<Datum> {
    Ok(document::jsonb_of(text).map_err(error)?.into())
}

/// A text that an older release took with a NUL in it, which no text of SQL can hold.
fn told(text: &str) -> Datum {
    match text.contains('\0') {
        true => Datum::text(text.replace('\0', "\u{fffd}")),
        false => Datum::text(text),
    }
}

/// A name that is escaped already.
fn quoted(escaped: &str) -> Result<Datum> {
    json(&format!("\"{escaped}\""))
}

fn string(text: &str) -> Result<Datum> {
    Ok(Jsonb::string(text)?.into())
}
