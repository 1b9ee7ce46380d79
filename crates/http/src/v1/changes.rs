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

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use anywhen::{Csn, DocumentChange, Following, ToldChange};
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

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Changes that are looked at at once.
const BATCH: usize = 256;

/// `GET /v1/changes`
pub(super) fn follow(call: Call) -> Pin<Box<dyn Future<Output = Result<Answer>> + Send>> {
    Box::pin(async move {
        let app = Arc::clone(&call.app);
        let following = read(&call)?;
        let caller = Arc::new(call.caller.clone());
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
    let mut following = Following::after(from.map_or_else(|| call.app.database.newest(), Csn));
    following.collection = call.text("collection").map(str::to_owned);
    if let Some(name) = &following.collection {
        call.caller.must(Right::View, Some(name))?;
        if call.app.database.find_collection(name).is_none() {
            return Err(Problem::missing(format!("there is no collection {name:?}")));
        }
    }
    following.key = call.text("key").map(str::to_owned);
    if let Some(path) = call.text("path") {
        following.at_path(path).map_err(Problem::bad)?;
    }
    following.with_diff = call.flag("diff")?;
    following.until = call.parsed("until")?.map_or(Csn::MAX, Csn);
    Ok(following)
}

async fn tell(
    app: &Arc<App>,
    caller: &Arc<Caller>,
    mut following: Following,
    out: mpsc::Sender<io::Result<Bytes>>,
) {
    let mut newest = app.newest.subscribe();
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
    let mut text = String::new();
    let mut last = None;
    for change in &changes {
        if let Some(Csn(last)) = last.filter(|last| *last != change.csn) {
            text += &format!("id: {last}\n\n");
        }
        last = Some(change.csn);
        if caller.rights.allow(Right::View, Some(&change.collection))
            && let Some(told) = following.tell(&app.database, change)?
        {
            text += &format!("event: change\ndata: {}\n\n", event(&told)?);
        }
    }
    if following.at > before {
        // An event without data moves on whoever comes again, and is shown to nobody.
        text += &format!("id: {}\n\n", following.at.0);
    }
    Ok(text)
}

/// A change as JSON.
fn event(told: &ToldChange<'_>) -> Result<String> {
    let DocumentChange { csn, collection, key, revision, deleted } = told.change;
    let mut data = json!({
        "csn": csn.0,
        "collection": collection,
        "key": key,
        "revision": revision.0,
        "deleted": deleted,
    });
    if let Some(time_us) = told.time_us {
        data["time"] = json!(anywhen::time::rfc3339(time_us));
        data["author"] = json!(told.author);
        data["message"] = json!(told.message);
    }
    let mut data = data.to_string();
    if let Some(diff) = &told.diff {
        data.pop();
        data += &format!(",\"changes\":{}}}", diff.to_json()?);
    }
    Ok(data)
}
