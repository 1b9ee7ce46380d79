//! Databases: collections, by the names of their documents.

use anywhen::Database;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::Right;
use crate::call::Call;
use crate::problem::{Problem, Result};

use super::{name, no_xml};

/// `GET /`
pub(super) fn list(call: &mut Call) -> Result<Answer> {
    let with_resources = call.flag("withResources")?;
    let mut databases = Vec::new();
    for name in call.app.database.collections() {
        // A collection that was dropped a moment ago is left out.
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
    no_xml(call)?;
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

/// `DELETE /`: drops all databases, once the caller may drop each of them.
pub(super) fn remove_all(call: &mut Call) -> Result<Answer> {
    let names = call.app.database.collections();
    for name in &names {
        let Some(found) = call.app.database.find_collection(name) else { continue };
        call.caller.must_have(Right::Delete, &call.app.database, found.id(), name)?;
        call.caller.must_own(&call.app.database, found.id(), name)?;
    }
    drop_tables(&call.app.database, names.len())?;
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}

/// Drops all tables of documents by one statement, so that all of them go or none: another object may depend on one.
fn drop_tables(database: &Database, expected: usize) -> Result<()> {
    const TABLES: &str = "SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c \
        JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am a ON a.oid = c.relam \
        WHERE a.amname = 'document' AND c.relkind = 'r' AND c.relpersistence = 'p'";
    let mut session = database.connect()?;
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ", &[])?;
    let rows = session.query(TABLES, &[])?;
    let mut tables = Vec::new();
    while let Some(row) = rows.get(tables.len()) {
        tables.push(row.get::<String>("name")?);
    }
    if tables.len() != expected {
        let text = "another client has made or dropped databases meanwhile: nothing was dropped, try again";
        return Err(Problem::new(StatusCode::CONFLICT, text).into());
    }
    if !tables.is_empty() {
        session.execute(&format!("DROP TABLE {}", tables.join(", ")), &[])?;
    }
    session.execute("COMMIT", &[])?;
    Ok(())
}
