//! Collections: their list, their options, and the keys of their documents.

use anywhen::{Collection, CollectionOptions, Csn, Moment, Retention};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::Right;
use crate::call::Call;
use crate::once;
use crate::problem::{Problem, Result};
use crate::query::encode;

/// Keys on a page, where nothing is said, and at most.
const PAGE: usize = 1_000;
const PAGE_MAX: usize = 10_000;

fn described(name: &str, collection: &Collection) -> Value {
    let CollectionOptions { history, hashes, path_summary } = collection.options();
    json!({
        "name": name,
        "history": history.to_string(),
        "hashes": hashes,
        "path_summary": path_summary,
    })
}

/// `GET /v1/collections`
pub(super) fn list(call: &mut Call) -> Result<Answer> {
    let database = &call.app.database;
    let mut list = Vec::new();
    for name in database.collections() {
        // A collection that was dropped a moment ago is left out.
        let Some(found) = database.find_collection(&name) else { continue };
        if call.caller.may_view(database, found.id(), &name)? {
            list.push(described(&name, &found));
        }
    }
    Ok(Answer::value(&json!({"collections": list})))
}

/// The options that a body names; what it does not name is as it was.
fn options(body: &[u8], mut options: CollectionOptions) -> Result<CollectionOptions, Problem> {
    if body.is_empty() {
        return Ok(options);
    }
    let tape = once::read(body, once::Form::Object, &anywhen::limits())?;
    if tape.root().kind() != json::Kind::Object {
        return Err(Problem::refused("the options must be an object"));
    }
    for field in tape.root().children() {
        let name = field.field().unwrap_or_default();
        let flag = || {
            let wrong = || Problem::refused(format!("{name} must be true or false"));
            field.as_bool().ok_or_else(wrong)
        };
        match &*name {
            "hashes" => options.hashes = flag()?,
            "path_summary" => options.path_summary = flag()?,
            "history" => {
                let text = field.as_str().unwrap_or_default();
                options.history = text.parse::<Retention>().map_err(Problem::refused)?;
            }
            _ => {
                let text = format!(
                    "there is no option {name:?}; there are history, hashes and path_summary"
                );
                return Err(Problem::refused(text));
            }
        }
    }
    Ok(options)
}

/// `PUT /v1/collections/{collection}`
pub(super) fn create(call: &mut Call) -> Result<Answer> {
    let name = call.part("collection");
    let database = &call.app.database;
    let found = database.find_collection(name);
    if let Some(found) = &found {
        call.must_in(Right::Create, "collection", found)?;
    }
    let known = found.as_ref().map(Collection::options).unwrap_or_default();
    let options = options(call.body.bytes(), known)?;
    let collection = call.caller.make_collection(database, name, Some(options))?;
    let status = if found.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    let location = format!("/v1/collections/{}", encode(name));
    Ok(Answer::value(&described(name, &collection)).status(status).location(&location))
}

/// `GET /v1/collections/{collection}`
pub(super) fn get(call: &mut Call) -> Result<Answer> {
    Ok(Answer::value(&described(call.part("collection"), &call.collection("collection")?)))
}

/// `PATCH /v1/collections/{collection}`
pub(super) fn alter(call: &mut Call) -> Result<Answer> {
    let name = call.part("collection");
    let collection = call.any_collection("collection")?;
    call.must_own("collection", &collection)?;
    let known = collection.options();
    let wanted = options(call.body.bytes(), known)?;
    if wanted != (CollectionOptions { history: wanted.history, ..known }) {
        return Err(Problem::refused(
            "hashes and path_summary cannot be changed once the collection exists",
        )
        .into());
    }
    if wanted.history != known.history && wanted.history != Retention::Forever {
        // Less is kept from now on.
        call.must(Right::Delete, "collection")?;
    }
    call.app.database.set_history(name, wanted.history)?;
    Ok(Answer::value(&described(name, &collection)))
}

/// `DELETE /v1/collections/{collection}`
pub(super) fn remove(call: &mut Call) -> Result<Answer> {
    let name = call.part("collection");
    let database = &call.app.database;
    if let Some(found) = database.find_collection(name) {
        call.must_own("collection", &found)?;
    }
    let is_done = match call.flag("purge")? {
        true => database.purge_collection(name)?,
        false => database.drop_collection(name)?,
    };
    match is_done {
        true => Ok(Answer::empty(StatusCode::NO_CONTENT)),
        false => Err(Problem::missing(format!("there is no collection {name:?}")).into()),
    }
}

/// `GET /v1/collections/{collection}/documents`
pub(super) fn keys(call: &mut Call) -> Result<Answer> {
    let prefix = call.text("prefix").unwrap_or_default();
    let limit = call.limit("limit")?.unwrap_or(PAGE).min(PAGE_MAX);
    let moment = call.moment()?;
    let collection = call.collection_at("collection", moment)?;
    let moment = moment.unwrap_or(Moment::Csn(Csn::MAX));
    let keys = match collection.dropped() {
        None if moment == Moment::Csn(Csn::MAX) => collection.keys(prefix),
        _ => collection.at(moment).keys(prefix)?,
    };
    let after = call.text("after");
    let (mut list, mut is_more) = (Vec::new(), false);
    for key in keys.after(after.unwrap_or_default()) {
        let key = key?;
        if list.len() == limit {
            is_more = true;
            break;
        }
        list.push(Value::String(key));
    }
    let next = if is_more { list.last().cloned().unwrap_or_default() } else { Value::Null };
    Ok(Answer::value(&json!({"documents": list, "next": next})))
}
