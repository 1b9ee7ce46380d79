//! Databases: collections, by the names of their documents.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::{Problem, Result};

use super::name;

/// `GET /`
pub(super) fn list(call: &mut Call) -> Result<Answer> {
    let with_resources = call.flag("withResources")?;
    let mut databases = Vec::new();
    for name in call.app.database.collections() {
        // One that was dropped a moment ago is left out.
        let Some(collection) = call.app.database.find_collection(&name) else { continue };
        if !call.caller.may_view(&call.app.database, collection.id(), &name)? {
            continue;
        }
        let mut database = json!({"name": name, "type": "json"});
        if with_resources {
            database["resources"] = resources(&collection)?;
        }
        databases.push(database);
    }
    Ok(Answer::value(&json!({"databases": databases})))
}

fn resources(collection: &anywhen::Collection) -> Result<Value> {
    let keys = collection.keys("").map(|key| key.map(Value::String));
    Ok(Value::Array(keys.collect::<Result<_, _>>()?))
}

/// `PUT /{db}`
pub(super) fn create(call: &mut Call) -> Result<Answer> {
    let name = name(call, "db")?;
    let is_new = call.app.database.find_collection(name).is_none();
    call.caller.make_collection(&call.app.database, name, None)?;
    Ok(Answer::empty(if is_new { StatusCode::CREATED } else { StatusCode::OK }))
}

/// `GET /{db}`
pub(super) fn get(call: &mut Call) -> Result<Answer> {
    name(call, "db")?;
    let resources = resources(&call.collection("db")?)?;
    Ok(Answer::value(&json!({"resources": resources})))
}

/// `DELETE /{db}`
pub(super) fn remove(call: &mut Call) -> Result<Answer> {
    let name = name(call, "db")?;
    if let Some(found) = call.app.database.find_collection(name) {
        call.must_own("db", &found)?;
    }
    if !call.app.database.drop_collection(name)? {
        return Err(Problem::missing(format!("there is no collection {name:?}")).into());
    }
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}
