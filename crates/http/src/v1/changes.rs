//! Changes as they happen: server-sent events, an event for each revision of a document.
//!
//! ```text
//!   event: change
//!   data: {"csn":12,"collection":"articles","key":"a1","revision":3,"time":"...",...}
//!   id: 12                                 with the last event of a commit alone, so that whoever
//!                                          comes again with it has missed nothing
//!   event: dropped                         a collection is gone; what it had is told before
//!   event: truncated                       a table is empty; what it has after that is told again
//!   data: {"csn":13,"collection":"articles","time":"...",...}
//!   : still here                           a sign of life where nothing happens
//! ```
//!
//! A stream begins after the commit that `Last-Event-ID` or `from` names, however long ago, or now. That of
//! one collection ends where that is dropped: what has its name later is another. A slow reader gets all
//! changes later; the server gathers nothing for it meanwhile.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use anywhen::{CollectionEnd, Csn, DocumentChange, Following, TableId, ToldChange};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use bytes::Bytes;
use serde_json::json;
use tokio::sync::mpsc;

use crate::answer::{Answer, Content};
use crate::app::App;
use crate::auth::{Caller, Right};
use crate::call::Call;
use crate::metrics::Counted;
use crate::problem::{Problem, Result, Stop};

use super::EVENTS;
use super::versions::role;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Changes that are looked at at once.
const BATCH: usize = 256;

/// `GET /v1/changes`
pub(super) fn follow(call: Call) -> Pin<Box<dyn Future<Output = Result<Answer>> + Send>> {
    Box::pin(async move {
        let app = Arc::clone(&call.app);
        let caller = Arc::new(call.caller.clone());
        let following = known(&app, &caller, read(&call)?).await?;
        let (out, events) = mpsc::channel(2);
        tokio::spawn(async move {
            let _counted = Counted::new(&app.metrics.followers);
            tell(&app, &caller, following, out).await;
        });
        let mut answer = Answer::empty(StatusCode::OK);
        answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
        answer.headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer.content = Content::Events(events);
        Ok(answer)
    })
}

fn read(call: &Call) -> Result<Following, Problem> {
    let id = call.headers.get(LAST_EVENT_ID).map(|value| {
        let id = value.to_str().ok().and_then(|text| text.parse().ok());
        id.ok_or_else(|| Problem::bad("Last-Event-ID is the number of a commit"))
    });
    let from: Option<u64> =
        id.transpose()?.map_or_else(|| call.parsed("from"), |id| Ok(Some(id)))?;
    let newest = call.app.database.newest();
    if let Some(from) = from.filter(|from| *from > newest.0) {
        let text = format!("there is no commit {from} yet: the newest is {}", newest.0);
        return Err(Problem::bad(text));
    }
    let mut following = Following::after(from.map_or(newest, Csn));
    following.collection = call.text("collection").map(str::to_owned);
    if let Some(name) = &following.collection {
        call.caller.must(Right::View, Some(name))?;
    }
    following.key = call.text("key").map(str::to_owned);
    if let Some(path) = call.text("path") {
        following.at_path(path).map_err(Problem::bad)?;
    }
    following.with_diff = call.flag("diff")?;
    following.until = call.parsed("until")?.map_or(Csn::MAX, Csn);
    Ok(following)
}

/// The same, if what it follows is there, or was, and SQL lets the caller read what is there now. That is looked
/// at again with every change.
async fn known(app: &Arc<App>, caller: &Arc<Caller>, following: Following) -> Result<Following> {
    let (database, caller) = (app.database.clone(), Arc::clone(caller));
    app.run(move || {
        let Some(name) = &following.collection else { return Ok(following) };
        if !following.is_known(&database)? {
            return Err(Problem::missing(format!("there is no collection {name:?}")).into());
        }
        if let Some(found) = database.find_collection(name) {
            caller.must_have(Right::View, &database, found.id(), name)?;
        }
        Ok(following)
    })
    .await?
}

async fn tell(
    app: &Arc<App>,
    caller: &Arc<Caller>,
    mut following: Following,
    out: mpsc::Sender<io::Result<Bytes>>,
) {
    let mut newest = app.newest.subscribe();
    fence(Ordering::SeqCst);
    loop {
        newest.mark_unchanged();
        if *app.stopping.borrow() || out.is_closed() {
            return;
        }
        let before = following.at;
        let (caller, whole) = (Arc::clone(caller), Arc::clone(app));
        let gathered = app.run(move || {
            let text = gather(&whole, &caller, &mut following)?;
            Ok((text, following))
        });
        let text = match gathered.await.map_err(Stop::from).and_then(|gathered| gathered) {
            Ok((text, moved_on)) => {
                following = moved_on;
                text
            }
            Err(stop) => {
                // The client comes again with what it had last.
                let _ = out.send(Err(io::Error::other(format!("{stop:?}")))).await;
                return;
            }
        };
        let is_gone = !text.is_empty() && out.send(Ok(text.into())).await.is_err();
        if is_gone || following.is_over() {
            return;
        }
        if following.at > before && following.at < app.database.newest() {
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

/// The events of the next commits.
fn gather(app: &App, caller: &Caller, following: &mut Following) -> Result<String> {
    let before = following.at;
    let changes = following.next(&app.database, BATCH)?;
    let ends = following.ends().to_vec();
    let mut known: HashMap<TableId, bool> = HashMap::new();
    let mut may_see = |table: TableId, name: &str| -> Result<bool> {
        if let Some(known) = known.get(&table) {
            return Ok(*known);
        }
        let may = caller.may_view(&app.database, table, name)?;
        known.insert(table, may);
        Ok(may)
    };
    let mut text = String::new();
    let mut last = None;
    let mut begin = |text: &mut String, csn: Csn| {
        if let Some(Csn(last)) = last.replace(csn).filter(|last| *last != csn) {
            *text += &format!("id: {last}\n\n");
        }
    };
    let mut ends_to_tell = Vec::new();
    for end in &ends {
        if may_see(end.table, &end.collection)? {
            ends_to_tell.push(end);
        }
    }
    let mut ends_to_tell = ends_to_tell.into_iter().peekable();
    // The ends of a commit come before its changes.
    for change in changes.iter().map(Some).chain([None]) {
        let upto = change.map_or(Csn::MAX, |change| change.csn);
        while let Some(end) = ends_to_tell.next_if(|end| end.csn <= upto) {
            begin(&mut text, end.csn);
            let name = if end.dropped { "dropped" } else { "truncated" };
            text += &format!("event: {name}\ndata: {}\n\n", ended(app, end)?);
        }
        let Some(change) = change else { break };
        begin(&mut text, change.csn);
        if may_see(change.table, &change.collection)?
            && let Some(told) = following.tell(&app.database, change)?
        {
            text += &format!("event: change\ndata: {}\n\n", event(&told)?);
        }
    }
    if following.at > before {
        // An event without data advances the position of a client that reconnects, and no handler
        // sees it.
        text += &format!("id: {}\n\n", following.at.0);
    }
    if following.collection.is_some() && ends.iter().any(|end| end.dropped) {
        following.until = following.at;
    }
    Ok(text)
}

/// The end of a collection as JSON.
fn ended(app: &App, end: &CollectionEnd) -> Result<String> {
    let mut data = json!({"csn": end.csn.0, "collection": end.collection});
    if let Some(commit) = app.database.commits(end.csn, end.csn, false).next().transpose()? {
        data["time"] = json!(anywhen::time::rfc3339(commit.time_us));
        data["author"] = json!(commit.author);
        data["role"] = role(&commit.role);
        data["message"] = json!(commit.message);
    }
    Ok(data.to_string())
}

/// A change as JSON.
fn event(told: &ToldChange<'_>) -> Result<String> {
    let DocumentChange { csn, collection, key, revision, deleted, .. } = told.change;
    let mut data = json!({
        "csn": csn.0,
        "collection": collection,
        "key": key,
        "revision": revision.0,
        "deleted": deleted,
    });
    if let Some(time_us) = told.time_us {
        data["time"] = json!(anywhen::time::rfc3339(time_us));
        data["authored"] = json!(told.authored_us.map(anywhen::time::rfc3339));
        data["author"] = json!(told.author);
        data["role"] = role(&told.role);
        data["message"] = json!(told.message);
    }
    let mut data = data.to_string();
    if let Some(diff) = &told.diff {
        data.pop();
        data += &format!(",\"changes\":{}}}", diff.to_json()?);
    }
    Ok(data)
}
