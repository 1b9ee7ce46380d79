//! Transactions: changes of many documents, in any collections, as one commit or not at all.
//!
//! ```text
//!   {"operations":[
//!      {"op":"put",   "collection":"orders","key":"o7","value":{"what":"apples"},"if_none_match":"*"},
//!      {"op":"patch", "collection":"stock","key":"apples","patch":[{"op":"replace","path":"/n","value":4}]},
//!      {"op":"delete","collection":"carts","key":"c1","if_match":"3"}]}
//!
//!   {"csn":12,"time":"...","results":[{"collection":"orders","key":"o7","revision":1,"changed":true},...]}
//! ```
//!
//! Operations are applied in order; each sees the changes of those before it. Conditions refer to the documents
//! before the transaction. After a conflict with another transaction the request is run again, a few times. If it
//! names the commit at which the client has read (`since`), it is not run again, because the client's reads are
//! then outdated.
//!
//! Invariant: the collections must exist beforehand, so a transaction that fails has changed nothing.

use std::collections::BTreeMap;

use anywhen::{
    Collection, Commit, Csn, Document, DocumentError, Error, Meta, NodeKey, NodeRef, Revision, Txn,
};
use json::{Kind, Node, Tape};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::Right;
use crate::call::Call;
use crate::conditional::Condition;
use crate::once::Form;
use crate::patch::{self, Budget, Op};
use crate::problem::{Problem, Result, Stop};

use super::edits::{Change, Spot};

/// Operations of one transaction.
const OPERATIONS_MAX: usize = 10_000;
/// How often a transaction is run after conflicts, before the client gets the conflict.
const RUNS_MAX: usize = 10;

/// The operations and conditions of a request.
struct TransactionRequest {
    operations: Vec<Operation>,
    since: Option<Csn>,
}

struct Operation {
    collection: String,
    key: String,
    what: OperationKind,
    if_match: Option<String>,
    if_none_match: Option<String>,
}

enum OperationKind {
    Put(String),
    Patch(Vec<Op>),
    Merge(Tape),
    Delete,
    Node(NodeRef, Change),
}

/// Why a run ended without a commit.
enum Failed {
    /// Another transaction was faster.
    Conflict(Problem),
    Stopped(Stop),
}

/// `POST /v1/transactions`
pub(super) fn run(call: &mut Call) -> Result<Answer> {
    let body = call.told(Form::Transaction)?;
    let asked = read(&body)?;
    let newest = call.app.database.newest();
    if let Some(since) = asked.since.filter(|since| *since > newest) {
        // No client can have read there: changes of others would go unnoticed.
        let text = format!("there is no commit {} yet: the newest is {}", since.0, newest.0);
        return Err(Problem::bad(text).into());
    }
    let mut meta = call.meta()?;
    if let Some(message) = text(body.root(), "message")? {
        if !meta.message.is_empty() {
            return Err(
                Problem::bad("the message is given twice: in the body and beside it").into()
            );
        }
        // The head of a request has no room for the longest that there may be.
        meta.message = message;
    }
    let mut runs = 1;
    loop {
        match attempt(call, &asked, &meta) {
            Ok(answer) => return Ok(answer),
            Err(Failed::Stopped(stop)) => return Err(stop),
            Err(Failed::Conflict(problem)) if asked.since.is_some() || runs == RUNS_MAX => {
                return Err(problem.into());
            }
            Err(Failed::Conflict(_)) => runs += 1,
        }
    }
}

// --- reading -------------------------------------------------------------------------------------

fn read(body: &Tape) -> Result<TransactionRequest, Problem> {
    let root = body.root();
    known(root, "a transaction", &["operations", "since", "message"])?;
    let list = root.get("operations").filter(|list| list.kind() == Kind::Array);
    let list = list.ok_or_else(|| Problem::bad("the body has no array \"operations\""))?;
    if list.count() > OPERATIONS_MAX {
        let count = list.count();
        return Err(Problem::too_large(format!(
            "{count} operations are more than the {OPERATIONS_MAX} that a transaction may have"
        )));
    }
    let operations = list
        .children()
        .zip(0..)
        .map(|(node, at)| operation(node).map_err(|problem| problem.with("operation", at)));
    let since = root.get("since").filter(|since| since.kind() != Kind::Null);
    let since = since.map(|since| {
        let number = since.to_json().parse().map(Csn);
        number.map_err(|_| Problem::bad("\"since\" is the number of a commit"))
    });
    Ok(TransactionRequest {
        operations: operations.collect::<Result<_, _>>()?,
        since: since.transpose()?,
    })
}

/// Fails if a value is not an object, or has other fields than these.
pub(super) fn known(node: Node<'_>, what: &str, names: &[&str]) -> Result<(), Problem> {
    if node.kind() != Kind::Object {
        return Err(Problem::bad(format!("{what} is an object")));
    }
    let other = node.children().find_map(|field| {
        let name = field.field().unwrap_or_default().into_owned();
        (!names.contains(&name.as_str())).then_some(name)
    });
    match other {
        Some(name) => {
            let names = names.join(", ");
            Err(Problem::bad(format!("{what} has no {name:?}: those it has are {names}")))
        }
        None => Ok(()),
    }
}

/// An optional text.
fn text(node: Node<'_>, name: &str) -> Result<Option<String>, Problem> {
    let Some(found) = node.get(name) else { return Ok(None) };
    match found.as_str() {
        Some(text) => Ok(Some(text.into_owned())),
        None => Err(Problem::bad(format!("{name:?} must be a string"))),
    }
}

fn wanted(node: Node<'_>, name: &str) -> Result<String, Problem> {
    text(node, name)?.ok_or_else(|| Problem::bad(format!("an operation has no {name:?}")))
}

fn value<'n>(node: Node<'n>, name: &str) -> Result<Node<'n>, Problem> {
    node.get(name).ok_or_else(|| Problem::bad(format!("an operation has no {name:?}")))
}

/// The node that one of two fields names: a path, or a key.
fn node_by(node: Node<'_>, path: &str, key: &str) -> Result<NodeRef, Problem> {
    match (text(node, path)?, node.get(key)) {
        (Some(path), None) => Ok(NodeRef::Path(path)),
        (None, Some(found)) => {
            let number = found.to_json().parse();
            let wrong =
                |_| Problem::bad(format!("{key:?} must be the key of a node: a whole number"));
            Ok(NodeRef::Key(NodeKey(number.map_err(wrong)?)))
        }
        _ => Err(Problem::bad(format!("an operation must name its node, by {path:?} or {key:?}"))),
    }
}

fn operation(node: Node<'_>) -> Result<Operation, Problem> {
    const ALL: [&str; 5] = ["op", "collection", "key", "if_match", "if_none_match"];
    const OF_NODES: [&str; 2] = ["path", "node_key"];
    if node.kind() != Kind::Object {
        return Err(Problem::bad("an operation must be an object"));
    }
    let op = wanted(node, "op")?;
    let spot = || Spot::new(text(node, "at")?.as_deref(), text(node, "name")?.as_deref());
    let json = || Ok::<_, Problem>(value(node, "value")?.to_json());
    let at =
        |change| Ok::<_, Problem>(OperationKind::Node(node_by(node, "path", "node_key")?, change));
    let (what, more): (OperationKind, &[&str]) = match op.as_str() {
        "put" => (OperationKind::Put(json()?), &["value"]),
        "patch" => {
            (OperationKind::Patch(patch::steps(&value(node, "patch")?.to_tape())?), &["patch"])
        }
        "merge" => (OperationKind::Merge(value(node, "patch")?.to_tape()), &["patch"]),
        "delete" => (OperationKind::Delete, &[]),
        "set_node" => (at(Change::Set(json()?))?, &["value"]),
        "insert_node" => (at(Change::Insert(spot()?, json()?))?, &["value", "at", "name"]),
        "remove_node" => (at(Change::Remove)?, &[]),
        "move_node" => {
            let to = node_by(node, "to_path", "to_node_key")?;
            (at(Change::Move(to, spot()?))?, &["to_path", "to_node_key", "at", "name"])
        }
        "rename_node" => (at(Change::Rename(wanted(node, "name")?))?, &["name"]),
        other => {
            return Err(Problem::bad(format!(
                "there is no operation {other:?}; there are put, patch, merge, delete, set_node, insert_node, \
                 remove_node, move_node, rename_node"
            )));
        }
    };
    let is_of_node = matches!(what, OperationKind::Node(..));
    let of_nodes: &[&str] = if is_of_node { &OF_NODES } else { &[] };
    known(node, &op, &[&ALL, of_nodes, more].concat())?;
    Ok(Operation {
        collection: wanted(node, "collection")?,
        key: wanted(node, "key")?,
        what,
        if_match: text(node, "if_match")?,
        if_none_match: text(node, "if_none_match")?,
    })
}

// --- doing ---------------------------------------------------------------------------------------

impl<E: Into<Stop>> From<E> for Failed {
    fn from(error: E) -> Self {
        Failed::Stopped(error.into())
    }
}

/// Distinguishes a conflict with another transaction from all other errors.
fn failed(error: Error) -> Failed {
    let is_conflict = match &error {
        Error::Document(DocumentError::Conflict { .. }) => true,
        Error::Document(DocumentError::Txn(error)) | Error::Txn(error) => {
            ["40001", "40P01"].contains(&error.sqlstate())
        }
        _ => false,
    };
    match is_conflict {
        true => Failed::Conflict(error.into()),
        false => Failed::Stopped(error.into()),
    }
}

impl Failed {
    /// The same, told of an operation.
    fn of(self, operation: usize) -> Failed {
        match self {
            Failed::Conflict(problem) => Failed::Conflict(problem.with("operation", operation)),
            Failed::Stopped(Stop::Problem(problem)) => {
                Failed::Stopped(problem.with("operation", operation).into())
            }
            later => later,
        }
    }
}

/// The documents that a transaction changes, as they were before it.
type BeforeImages<'a> = BTreeMap<(&'a str, &'a str), Option<Document>>;

fn attempt(call: &Call, asked: &TransactionRequest, meta: &Meta) -> Result<Answer, Failed> {
    let mut txn = call.app.database.begin()?;
    if let Some(since) = asked.since {
        txn.conflict_since(since);
    }
    let (mut before, mut made) = (BeforeImages::new(), Vec::with_capacity(asked.operations.len()));
    let is_required = call.app.options.require_preconditions && asked.since.is_none();
    let mut budget = Budget::new(&call.app.options.limits, &call.cancelled);
    for (operation, at) in asked.operations.iter().zip(0..) {
        budget.check()?;
        let done = step(call, &mut txn, &mut before, operation, is_required, &mut budget);
        made.push(done.map_err(|failed| failed.of(at))?);
    }
    let outcomes: Vec<(Revision, bool)> = asked
        .operations
        .iter()
        .map(|operation| {
            let collection = txn.find_collection(&operation.collection);
            collection.map_or((Revision(0), false), |found| found.outcome(&operation.key))
        })
        .collect();
    let Commit { csn, time_us } = txn.finish(meta).map_err(failed)?;
    let results = asked.operations.iter().zip(outcomes).zip(made);
    let results: Vec<Value> = results
        .map(|((operation, (revision, changed)), node)| {
            let mut told = json!({
                "collection": operation.collection,
                "key": operation.key,
                "revision": revision.0,
                "changed": changed,
            });
            if let Some(NodeKey(key)) = node {
                told["node_key"] = key.into();
            }
            told
        })
        .collect();
    let time = anywhen::time::rfc3339(time_us);
    Ok(Answer::value(&json!({"csn": csn.0, "time": time, "results": results})))
}

/// Applies one operation; returns the key of the node that it made or changed, if it changes one node.
fn step<'a>(
    call: &Call,
    txn: &mut Txn,
    before: &mut BeforeImages<'a>,
    operation: &'a Operation,
    is_required: bool,
    budget: &mut Budget<'_>,
) -> Result<Option<NodeKey>, Failed> {
    let Operation { collection: name, key, what, if_match, if_none_match } = operation;
    let missing = || Problem::missing(format!("there is no collection {name:?}"));
    let collection: Collection = call.app.database.find_collection(name).ok_or_else(missing)?;
    let mut within = txn.find_collection(name).ok_or_else(missing)?;
    let now = within.get(key).map_err(failed)?;
    let right = match (what, &now) {
        (OperationKind::Delete, _) => Right::Delete,
        (OperationKind::Put(_), None) => Right::Create,
        _ => Right::Modify,
    };
    call.caller.must(right, Some(name))?;
    call.caller.must_have(right, &call.app.database, collection.id(), name)?;
    let place = (name.as_str(), key.as_str());
    let is_first = !before.contains_key(&place);
    let found = before.entry(place).or_insert_with(|| now.clone());
    let condition = Condition::of_texts(if_match.as_deref(), if_none_match.as_deref());
    condition.hold(is_required && is_first, &collection, found.as_ref(), None)?;
    let done = match what {
        OperationKind::Put(value) => within.put(key, value).map(|_| None),
        OperationKind::Patch(steps) => {
            within.edit(key, |edit| patch::apply(edit, steps, budget)).map(|()| None)
        }
        OperationKind::Merge(tape) => {
            within.edit(key, |edit| patch::merge(edit, tape, budget)).map(|()| None)
        }
        OperationKind::Delete => within.remove(key).map(|()| None),
        OperationKind::Node(node, change) => within.edit(key, |edit| change.apply(edit, node)),
    };
    done.map_err(failed)
}
