//! The past of a resource: its history, its changes, and its paths.

use anywhen::{NodeKey, Nodes, Revision};
use serde_json::json;

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::Result;

use super::names;
use super::select;

/// `GET /{db}/{r}/history`
pub(super) fn history(call: &mut Call) -> Result<Answer> {
    let (_, key) = names(call)?;
    let collection = call.collection("db")?;
    let newest = collection.newest(key)?;
    let history = match (call.parsed("startRevision")?, call.parsed("endRevision")?) {
        (None, None) => {
            let count = call.limit("revisions")?;
            collection.history(key, count.unwrap_or(usize::MAX))?
        }
        (from, to) => {
            let from = select::within(from.unwrap_or(1), newest)?;
            let to = select::within(to.unwrap_or(newest.0), newest)?;
            collection.history_range(key, from, to)?
        }
    };
    let rows = history.iter().map(|row| {
        // Milliseconds, as those clients read them.
        let time = anywhen::time::rfc3339(row.authored_us.unwrap_or(row.time_us));
        let mut shown = json!({
            "revision": row.revision.0,
            "revisionTimestamp": format!("{}Z", &time[..time.len() - 4]),
            "author": row.author,
            "commitMessage": row.message,
        });
        if row.deleted {
            shown["deleted"] = true.into();
        }
        shown
    });
    Ok(Answer::value(&json!({"history": rows.collect::<Vec<_>>()})))
}

/// `GET /{db}/{r}/diff`
pub(super) fn diff(call: &mut Call) -> Result<Answer> {
    let (database, key) = names(call)?;
    let collection = call.collection("db")?;
    let newest = collection.newest(key)?;
    let to = select::named(call, "second-revision", &collection, key)?.unwrap_or(newest);
    let before = Revision(to.0.saturating_sub(1).max(1));
    let from = select::named(call, "first-revision", &collection, key)?.unwrap_or(before);
    let with_data = call.parsed("include-data")?.unwrap_or(true);
    let mut diff = collection.diff(key, from, to)?;
    let start = call.parsed("startNodeKey")?.map(NodeKey);
    let depth: Option<usize> = call.parsed("maxDepth")?;
    if start.is_some() || depth.is_some() {
        let mut kept = Vec::new();
        for change in std::mem::take(&mut diff.changes) {
            if distance(&diff, change.node, start)?
                .is_some_and(|is| depth.is_none_or(|max| is <= max))
            {
                kept.push(change);
            }
        }
        diff.changes = kept;
    }
    Ok(Answer::json(diff.to_sirix_json(database, key, from, to, with_data)?))
}

/// How far below `start`, or below the root, a node stands; `None` if it does not stand below it.
fn distance(
    diff: &anywhen::Diff,
    node: NodeKey,
    start: Option<NodeKey>,
) -> Result<Option<usize>, anywhen::DocumentError> {
    let tree = if diff.new.node(node)?.is_some() { &diff.new } else { &diff.old };
    let start = start.unwrap_or_else(|| tree.root());
    let (mut at, mut steps) = (Some(node), 0);
    while let Some(key) = at {
        if key == start {
            return Ok(Some(steps));
        }
        at = tree.parent(key)?;
        steps += 1;
    }
    Ok(None)
}

/// `GET /{db}/{r}/pathSummary`
pub(super) fn paths(call: &mut Call) -> Result<Answer> {
    let (_, key) = names(call)?;
    let collection = call.collection("db")?;
    let document = call.document(&collection, key, select::one(call, &collection, key)?)?;
    let revision: Revision = document.revision();
    let paths = collection.path_summary(key, revision)?.unwrap_or_default();
    let rows = paths.iter().enumerate().map(|(at, of)| {
        json!({"nodeKey": at + 1, "path": of.path, "references": of.count, "level": of.level})
    });
    Ok(Answer::value(&json!({"pathSummary": rows.collect::<Vec<_>>()})))
}
