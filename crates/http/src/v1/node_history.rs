//! The history of a node: its values, a page at a time; for a container the changes of each version
//! inside.
//!
//! ```text
//!   limit=2                 values       1 2 3 4 5 [6 7]     earlier: the revision of 6
//!   limit=2&before=(of 6)                1 2 3 [4 5] 6 7     earlier: the revision of 4
//!   summary=true            over all of them: how many, which one most often, the numbers for a plot
//! ```
//!
//! Invariant: with `limit`, what an answer holds does not grow with the number of values. A page bounds the answer, not
//! the work: the server reads all values of the node for each page.

use std::collections::HashMap;

use anywhen::{Collection, ContainerVersion, NodeKey, NodeRef, NodeVersion, Revision};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::now_us;
use crate::call::Call;
use crate::problem::{Problem, Result};

use super::nodes::run;
use super::versions::role;

/// The changes in the answer for one version of a container.
const CHANGES_MAX: usize = 20;
/// Versions of a container in one answer, where the request does not say, and at most.
const CONTAINER_VERSIONS: usize = 20;
const CONTAINER_VERSIONS_MAX: usize = 100;
/// Groups of numbers in a summary. The answer has the lowest and the highest of each group.
const GROUPS_MAX: usize = 250;

/// `GET .../node/history`
pub(super) fn history(call: &mut Call) -> Result<Answer> {
    let node = call.wanted_node()?;
    let limit = call.limit("limit")?;
    let before = call.parsed("before")?.map(Revision);
    let collection = call.collection("collection")?;
    let key = call.part("key");
    let all = collection.node_history(key, node)?;
    let newest = collection.newest(key)?;
    let summary = call.flag("summary")?.then(|| summed(&all, newest, now_us()));
    let kept = match call.text("having") {
        Some(text) => having(all, text),
        None => all,
    };
    let end = before.map_or(kept.len(), |before| kept.partition_point(|run| run.from < before));
    let begin = limit.map_or(0, |limit| end.saturating_sub(limit));
    let versions = kept[begin..end].iter().map(|version| run(&collection, key, version));
    let versions = versions.collect::<Result<Vec<String>>>()?;
    let mut out = format!("{{\"versions\":[{}]", versions.join(","));
    if limit.is_some() {
        let earlier = (begin > 0).then(|| kept[begin].from.0);
        out += &format!(",\"earlier\":{}", json!(earlier));
    }
    if let Some(summary) = summary {
        out += &format!(",\"summary\":{summary}");
    }
    out.push('}');
    Ok(Answer::json(out))
}

/// The versions whose value is a text, or where none is, those whose value contains it. Case does not matter.
fn having(all: Vec<NodeVersion>, text: &str) -> Vec<NodeVersion> {
    let text = text.to_lowercase();
    let is_it = |version: &NodeVersion| {
        let value = version.value.to_lowercase();
        value == text || value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) == Some(&text)
    };
    let is_whole = all.iter().any(is_it);
    let is_kept = |version: &NodeVersion| match is_whole {
        true => is_it(version),
        false => version.value.to_lowercase().contains(&text),
    };
    all.into_iter().filter(is_kept).collect()
}

/// A value, and how often it was there.
struct Often {
    revisions: u64,
    micros: u64,
    first: Revision,
}

/// When a value came: where it was made, else when it was committed.
fn came_us(version: &NodeVersion) -> u64 {
    version.authored_us.unwrap_or(version.from_us)
}

/// All values in a few figures, as JSON.
fn summed(all: &[NodeVersion], newest: Revision, now_us: u64) -> String {
    let mut values: HashMap<&str, Often> = HashMap::new();
    for (at, version) in all.iter().enumerate() {
        let last = version.to.unwrap_or(newest);
        let next = all.get(at + 1).filter(|next| version.to == Some(Revision(next.from.0 - 1)));
        let until = next.map(came_us).or(version.to_us).unwrap_or(now_us);
        let often = values.entry(&version.value).or_insert(Often {
            revisions: 0,
            micros: 0,
            first: version.from,
        });
        often.revisions += last.0.saturating_sub(version.from.0) + 1;
        often.micros += until.saturating_sub(came_us(version));
    }
    let most = values
        .iter()
        .max_by_key(|(_, often)| (often.revisions, often.micros, std::cmp::Reverse(often.first)));
    // The value is JSON already, digit for digit.
    let most = most.map_or("null".to_owned(), |(value, often)| {
        let Often { revisions, micros, first } = often;
        format!(
            "{{\"value\":{value},\"revisions\":{revisions},\"micros\":{micros},\"from_revision\":{first}}}"
        )
    });
    format!(
        "{{\"versions\":{},\"values\":{},\"most_often\":{most},\"numbers\":{}}}",
        all.len(),
        values.len(),
        numbers(all),
    )
}

/// The values for a plot, `[revision, value, time]` each, where all are numbers: of many only those that stand out.
fn numbers(all: &[NodeVersion]) -> Value {
    let is_number =
        |version: &NodeVersion| version.value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if all.len() < 2 || !all.iter().all(is_number) {
        return Value::Null;
    }
    let told: Vec<(f64, &NodeVersion)> = all
        .iter()
        .filter_map(|version| Some((version.value.parse::<f64>().ok()?, version)))
        .filter(|(number, _)| number.is_finite())
        .collect();
    let point = |(number, version): &(f64, &NodeVersion)| {
        json!([version.from.0, number, anywhen::time::rfc3339(came_us(version))])
    };
    if told.len() <= 2 * GROUPS_MAX {
        return told.iter().map(point).collect();
    }
    let mut points = Vec::with_capacity(2 * GROUPS_MAX);
    for group in told.chunks(told.len().div_ceil(GROUPS_MAX)) {
        let places = 0..group.len();
        let low = places.clone().min_by(|a, b| group[*a].0.total_cmp(&group[*b].0)).unwrap_or(0);
        let high = places.max_by(|a, b| group[*a].0.total_cmp(&group[*b].0)).unwrap_or(0);
        points.push(point(&group[low.min(high)]));
        if low != high {
            points.push(point(&group[low.max(high)]));
        }
    }
    points.into()
}

/// `GET .../node/changes`
pub(super) fn changes(call: &mut Call) -> Result<Answer> {
    let node = call.wanted_node()?;
    let limit = call.limit("limit")?.unwrap_or(CONTAINER_VERSIONS).min(CONTAINER_VERSIONS_MAX);
    let before = call.parsed("before")?.map(Revision);
    let collection = call.collection("collection")?;
    let key = call.part("key");
    let found = match &node {
        NodeRef::Key(key) => *key,
        // The node that stands there now: its history goes with it.
        path => {
            let missing = || Problem::missing(format!("there is no node {node} in this version"));
            let document = call.document(&collection, key, None)?;
            document.find(path)?.ok_or_else(missing)?
        }
    };
    let page = collection.container_history(key, found, before, limit)?;
    let scalar = || {
        let text = format!("the node {node} is neither an object nor an array");
        Problem::bad(text).with("hint", "node/history has the values of a scalar.")
    };
    let page = page.ok_or_else(scalar)?;
    let versions = page.versions.iter();
    let versions = versions.map(|version| container_version(&collection, key, found, version));
    let versions = versions.collect::<Result<Vec<String>>>()?;
    let earlier = json!(page.earlier.map(|earlier| earlier.0));
    let out = format!("{{\"versions\":[{}],\"earlier\":{earlier}}}", versions.join(","));
    Ok(Answer::json(out))
}

fn container_version(
    collection: &Collection,
    key: &str,
    node: NodeKey,
    version: &ContainerVersion,
) -> Result<String> {
    let by = collection.history_range(key, version.from, version.from)?;
    let missing = || Problem::missing(format!("the document has no revision {}", version.from));
    let by = by.get(0).ok_or_else(missing)?;
    let known = json!({
        "node_key": node.0,
        "from_revision": version.from.0,
        "to_revision": version.to.map(|to| to.0),
        "from_time": anywhen::time::rfc3339(version.from_us),
        "to_time": version.to_us.map(anywhen::time::rfc3339),
        "authored": version.authored_us.map(anywhen::time::rfc3339),
        "author": by.author,
        "role": role(by.role),
        "message": by.message,
        "is_new": version.is_new,
        "changes_total": version.changes.len(),
    });
    let known = known.to_string();
    let changes: Vec<String> =
        version.changes.iter().take(CHANGES_MAX).map(|change| change.to_json()).collect();
    Ok(format!("{},\"changes\":[{}]}}", &known[..known.len() - 1], changes.join(",")))
}
