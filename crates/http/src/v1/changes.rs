//! Changes as they happen: server-sent events, an event for each revision of a document.
//!
//! ```text
//!   event: change
//!   data: {"csn":12,"collection":"articles","key":"a1","revision":3,"time":"...",...}
//!   id: 12                                 with the last event of a commit alone, so that whoever
//!                                          comes again with it has missed nothing
//!   : still here                           a sign of life where nothing happens
//! ```
//!
//! A stream begins after the commit that `Last-Event-ID` or `from` names, however long ago, or now.
//! Whoever reads slowly gets all of it later; nothing is gathered for them meanwhile.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use anywhen::{Change, Csn, DocumentChange, DocumentError, Revision, RevisionInfo};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use bytes::Bytes;
use json::JsonPath;
use serde_json::json;
use tokio::sync::mpsc;

use crate::answer::{Answer, Content};
use crate::app::App;
use crate::auth::{Caller, Right};
use crate::call::Call;
use crate::metrics::Counted;
use crate::problem::{Problem, Result, Stop};

use super::EVENTS;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Changes that are looked at at once.
const BATCH: usize = 256;

/// Which changes are told, and how.
struct Filter {
    caller: Caller,
    collection: Option<String>,
    key: Option<String>,
    path: Option<JsonPath>,
    with_diff: bool,
    until: Option<Csn>,
}

/// `GET /v1/changes`
pub(super) fn follow(call: Call) -> Pin<Box<dyn Future<Output = Result<Answer>> + Send>> {
    Box::pin(async move {
        let app = Arc::clone(&call.app);
        let (filter, from) = read(&call)?;
        let (out, events) = mpsc::channel(2);
        tokio::spawn(async move {
            let _counted = Counted::new(&app.metrics.followers);
            tell(&app, Arc::new(filter), from, out).await;
        });
        let mut answer = Answer::empty(StatusCode::OK);
        answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
        answer.headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer.content = Content::Events(events);
        Ok(answer)
    })
}

fn read(call: &Call) -> Result<(Filter, Csn), Problem> {
    let collection = call.text("collection").map(str::to_owned);
    if let Some(name) = &collection {
        call.caller.must(Right::View, Some(name))?;
        if call.app.database.find_collection(name).is_none() {
            return Err(Problem::missing(format!("there is no collection {name:?}")));
        }
    }
    let path = call.text("path").map(|text| match text.is_empty() || text.starts_with('/') {
        true => JsonPath::pointer(text),
        false => JsonPath::parse(text),
    });
    let id = call.headers.get(LAST_EVENT_ID).map(|value| {
        let id = value.to_str().ok().and_then(|text| text.parse().ok());
        id.ok_or_else(|| Problem::bad("Last-Event-ID is the number of a commit"))
    });
    let from: Option<u64> =
        id.transpose()?.map_or_else(|| call.parsed("from"), |id| Ok(Some(id)))?;
    let filter = Filter {
        caller: call.caller.clone(),
        collection,
        key: call.text("key").map(str::to_owned),
        path: path.transpose().map_err(Problem::bad)?,
        with_diff: call.flag("diff")?,
        until: call.parsed("until")?.map(Csn),
    };
    Ok((filter, from.map_or_else(|| call.app.database.newest(), Csn)))
}

async fn tell(
    app: &Arc<App>,
    filter: Arc<Filter>,
    from: Csn,
    out: mpsc::Sender<io::Result<Bytes>>,
) {
    let mut newest = app.newest.subscribe();
    let mut at = from;
    loop {
        newest.mark_unchanged();
        if *app.stopping.borrow() || out.is_closed() {
            return;
        }
        let (told, whole) = (Arc::clone(&filter), Arc::clone(app));
        let gathered = app.run(move || gather(&whole, &told, at)).await;
        let (text, to) = match gathered.map_err(Stop::from).and_then(|gathered| gathered) {
            Ok(gathered) => gathered,
            Err(stop) => {
                // The client comes again with what it had last.
                let _ = out.send(Err(io::Error::other(format!("{stop:?}")))).await;
                return;
            }
        };
        let is_over = filter.until.is_some_and(|until| to >= until);
        let is_behind = to > at;
        at = at.max(to);
        if !text.is_empty() && out.send(Ok(text.into())).await.is_err() || is_over {
            return;
        }
        if is_behind && at < app.database.newest() {
            continue;
        }
        let wait = tokio::time::timeout(app.options.limits.heartbeat, newest.changed());
        if wait.await.is_err()
            && out.send(Ok(Bytes::from_static(b": still here\n\n"))).await.is_err()
        {
            return;
        }
    }
}

/// The events of the next commits, and how far they reach.
fn gather(app: &App, filter: &Filter, after: Csn) -> Result<(String, Csn)> {
    let mut changes = app.database.changes(after, filter.collection.as_deref(), BATCH)?;
    changes.to = changes.to.min(filter.until.unwrap_or(Csn::MAX));
    let mut text = String::new();
    let mut last = None;
    for change in &changes.list {
        if filter.until.is_some_and(|until| change.csn > until) {
            break;
        }
        if let Some(Csn(last)) = last.filter(|last| *last != change.csn) {
            text += &format!("id: {last}\n\n");
        }
        last = Some(change.csn);
        if let Some(data) = event(app, filter, change)? {
            text += &format!("event: change\ndata: {data}\n\n");
        }
    }
    if changes.to > after {
        // An event without data moves on whoever comes again, and is shown to nobody.
        text += &format!("id: {}\n\n", changes.to.0);
    }
    Ok((text, changes.to))
}

/// What is told of a change; `None` where it is not to be told.
fn event(app: &App, filter: &Filter, change: &DocumentChange) -> Result<Option<String>> {
    let DocumentChange { csn, collection, key, revision, deleted } = change;
    let is_other = filter.key.as_ref().is_some_and(|wanted| wanted != key);
    if is_other || !filter.caller.rights.allow(Right::View, Some(collection)) {
        return Ok(None);
    }
    let Some(found) = app.database.find_collection(collection) else { return Ok(None) };
    let mut changes = None;
    if (filter.path.is_some() || filter.with_diff) && !deleted && revision.0 > 1 {
        // Between a removal and what came after it there is nothing to compare.
        changes = found.diff(key, Revision(revision.0 - 1), *revision).ok();
    }
    if let (Some(path), Some(diff)) = (&filter.path, &changes)
        && !diff.changes.iter().any(|change| touches(change, path))
    {
        return Ok(None);
    }
    // Of a document that was erased meanwhile nobody is told more, and what was put in its place is another.
    let history = match found.history_range(key, *revision, *revision) {
        Err(DocumentError::NoDocument { .. }) => None,
        history => Some(history?),
    };
    let known = history.as_ref().and_then(|history| history.get(0));
    let known: Option<RevisionInfo<&str>> = known.filter(|known| known.csn == *csn);
    if known.is_none() {
        changes = None;
    }
    let mut fields = BTreeMap::new();
    if let Some(known) = known {
        fields.insert("time", json!(anywhen::time::rfc3339(known.time_us)));
        fields.insert("author", json!(known.author));
        fields.insert("message", json!(known.message));
    }
    let mut data = json!({
        "csn": csn.0,
        "collection": collection,
        "key": key,
        "revision": revision.0,
        "deleted": deleted,
    });
    for (name, value) in fields {
        data[name] = value;
    }
    let mut data = data.to_string();
    if let Some(diff) = changes.filter(|_| filter.with_diff) {
        data.pop();
        data += &format!(",\"changes\":{}}}", diff.to_json()?);
    }
    Ok(Some(data))
}

/// True where a change is at a path, below it, or above it.
fn touches(change: &Change, path: &JsonPath) -> bool {
    let is_near = |other: &JsonPath| {
        let names = |path: &JsonPath| path.steps.iter().map(step).collect::<Vec<_>>();
        let (one, other) = (names(path), names(other));
        one.starts_with(&other) || other.starts_with(&one)
    };
    is_near(&change.path)
        || matches!(&change.op, anywhen::ChangeOp::Move { from, .. } if is_near(from))
}

fn step(step: &json::Step) -> String {
    match step {
        json::Step::Field(name) | json::Step::Either(name) => name.clone(),
        json::Step::Index(at) => at.to_string(),
    }
}
