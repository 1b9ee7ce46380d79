//! The forms of bodies and answers, for the description: JSON Schema, by the names that routes give
//! ([`Route::shaped`], [`Route::shows`]).
//!
//! A value of a document can be any JSON: its schema is empty. The tests compare the answers of all operations with
//! these forms, member by member.
//!
//! [`Route::shaped`]: crate::route::Route::shaped
//! [`Route::shows`]: crate::route::Route::shows

use serde_json::{Map, Value};

/// The forms, each a member with its schema.
const FORMS: &str = r##"{
"Json": {"description": "Any JSON value"},
"CollectionOptions": {"type": "object", "additionalProperties": false,
    "properties": {"history": {"type": "string"}, "hashes": {"type": "boolean"},
    "path_summary": {"type": "boolean"}}},
"Statement": {"type": "object", "required": ["sql"], "additionalProperties": false,
    "properties": {"sql": {"type": "string"}, "parameters": {"type": "array", "items": {}}}},
"Credentials": {"type": "object", "properties": {"username": {"type": "string"},
    "password": {"type": "string"}, "grant_type": {"type": "string"}, "refresh_token": {"type": "string"}}},
"Operation": {"type": "object", "required": ["op", "collection", "key"],
    "properties": {"op": {"type": "string", "enum": ["put", "patch", "merge", "delete", "set_node",
    "insert_node", "remove_node", "move_node", "rename_node"]}, "collection": {"type": "string"},
    "key": {"type": "string"}, "value": {}, "patch": {}, "path": {"type": "string"},
    "node_key": {"type": "integer"}, "to_path": {"type": "string"}, "to_node_key": {"type": "integer"},
    "at": {"type": "string"}, "name": {"type": "string"}, "if_match": {"type": "string"},
    "if_none_match": {"type": "string"}}},
"Transaction": {"type": "object", "required": ["operations"], "additionalProperties": false,
    "properties": {"operations": {"type": "array", "maxItems": 10000,
    "items": {"$ref": "#/components/schemas/Operation"}}, "since": {"type": ["integer", "null"],
    "minimum": 0}, "message": {"type": "string"}}},
"Backup": {"type": "object", "required": ["id", "csn", "time_us", "complete_us", "manifest"], "properties": {
    "id": {"type": "string"}, "csn": {"type": "integer", "description": "The newest commit in it"},
    "time_us": {"type": "integer"},
    "complete_us": {"type": "integer", "description": "Every commit up to this time is in it"},
    "manifest": {"type": "string", "description": "The manifest of the copy in base64; it names the files"}}},
"ContinuedBackup": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
"Health": {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}},
"Ready": {"type": "object", "required": ["status", "csn"], "properties": {
    "status": {"type": "string"}, "csn": {"type": "integer", "description": "The newest commit"}}},
"Token": {"type": "object", "required": ["name", "roles", "sql_role"], "properties": {
    "name": {"type": "string"}, "roles": {"type": "array", "items": {"type": "string"}},
    "sql_role": {"type": ["string", "null"]}}},
"Session": {"type": "object", "required": ["name", "roles", "sql_role", "expires_in"], "properties": {
    "name": {"type": "string"}, "roles": {"type": "array", "items": {"type": "string"}},
    "sql_role": {"type": ["string", "null"]},
    "expires_in": {"type": "integer", "description": "Seconds until the session ends"}}},
"Login": {"type": "object",
    "required": ["access_token", "token_type", "expires_in", "refresh_token", "refresh_expires_in"],
    "properties": {"access_token": {"type": "string"}, "token_type": {"type": "string"},
    "expires_in": {"type": "integer", "description": "Seconds until the client should log in again"},
    "refresh_token": {"type": "string"}, "refresh_expires_in": {"type": "integer"}}},
"Collection": {"type": "object", "required": ["name", "history", "hashes", "path_summary"], "properties": {
    "name": {"type": "string"}, "history": {"type": "string"}, "hashes": {"type": "boolean"},
    "path_summary": {"type": "boolean"}}},
"Collections": {"type": "object", "required": ["collections"], "properties": {
    "collections": {"type": "array", "items": {"$ref": "#/components/schemas/Collection"}}}},
"Keys": {"type": "object", "required": ["documents", "next"], "properties": {
    "documents": {"type": "array", "items": {"type": "string"}},
    "next": {"type": ["string", "null"], "description": "The parameter after of the next page"}}},
"Committed": {"type": "object", "required": ["revision", "csn", "time", "changed"], "properties": {
    "revision": {"type": "integer"}, "csn": {"type": "integer"},
    "time": {"type": "string", "format": "date-time"}, "changed": {"type": "boolean"},
    "node_key": {"type": "integer", "description": "The new node"}}},
"Node": {"type": "object", "required": ["revision", "node_key", "path", "type", "value"], "properties": {
    "revision": {"type": "integer"}, "node_key": {"type": "integer"}, "path": {"type": "string"},
    "type": {"type": "string"}, "children": {"type": "integer"}, "value": {}}},
"NodeVersion": {"type": "object",
    "required": ["node_key", "from_revision", "to_revision", "from_time", "to_time", "authored", "author",
    "role", "message", "value"],
    "properties": {"node_key": {"type": "integer"}, "from_revision": {"type": "integer"},
    "to_revision": {"type": ["integer", "null"], "description": "The revision that ended it; null for a current value"},
    "from_time": {"type": "string", "format": "date-time"},
    "to_time": {"type": ["string", "null"], "format": "date-time"},
    "authored": {"type": ["string", "null"], "format": "date-time"},
    "author": {"type": "string"}, "role": {"type": ["string", "null"]}, "message": {"type": "string"},
    "value": {}}},
"ContainerVersion": {"type": "object",
    "required": ["node_key", "from_revision", "to_revision", "from_time", "to_time", "authored", "author",
    "role", "message", "is_new", "changes_total", "changes"],
    "properties": {"node_key": {"type": "integer"}, "from_revision": {"type": "integer"},
    "to_revision": {"type": ["integer", "null"], "description": "The last revision before the next change"},
    "from_time": {"type": "string", "format": "date-time"},
    "to_time": {"type": ["string", "null"], "format": "date-time"},
    "authored": {"type": ["string", "null"], "format": "date-time"},
    "author": {"type": "string"}, "role": {"type": ["string", "null"]}, "message": {"type": "string"},
    "is_new": {"type": "boolean", "description": "True if the container did not exist before"},
    "changes_total": {"type": "integer", "description": "The number of changes inside of it; the answer has the first 20"},
    "changes": {"type": "array", "items": {"$ref": "#/components/schemas/Change"}}}},
"NodeChanges": {"type": "object", "required": ["versions", "earlier"], "properties": {
    "versions": {"type": "array", "items": {"$ref": "#/components/schemas/ContainerVersion"}},
    "earlier": {"type": ["integer", "null"], "description": "The parameter before of the page with earlier versions"}}},
"MostOften": {"type": "object", "required": ["value", "revisions", "micros", "from_revision"], "properties": {
    "value": {}, "revisions": {"type": "integer"}, "micros": {"type": "integer"},
    "from_revision": {"type": "integer", "description": "The first revision with the value"}}},
"NodeSummary": {"type": "object", "required": ["versions", "values", "most_often", "numbers"], "properties": {
    "versions": {"type": "integer"}, "values": {"type": "integer", "description": "The number of distinct values"},
    "most_often": {"anyOf": [{"$ref": "#/components/schemas/MostOften"}, {"type": "null"}]},
    "numbers": {"type": ["array", "null"], "items": {"type": "array", "items": {}},
    "description": "[revision, value, time] for a plot, where all values are numbers; of many those that stand out"}}},
"NodeHistory": {"type": "object", "required": ["versions"], "properties": {
    "versions": {"type": "array", "items": {"$ref": "#/components/schemas/NodeVersion"}},
    "earlier": {"type": ["integer", "null"], "description": "The parameter before of the page with earlier versions"},
    "summary": {"$ref": "#/components/schemas/NodeSummary"}}},
"NodeVersionFound": {"type": "object", "required": ["version"], "properties": {
    "version": {"anyOf": [{"$ref": "#/components/schemas/NodeVersion"}, {"type": "null"}]}}},
"Version": {"type": "object",
    "required": ["revision", "csn", "time", "authored", "author", "role", "message", "deleted"],
    "properties": {"revision": {"type": "integer"}, "csn": {"type": "integer"},
    "time": {"type": "string", "format": "date-time"},
    "authored": {"type": ["string", "null"], "format": "date-time"},
    "author": {"type": "string"}, "role": {"type": ["string", "null"]}, "message": {"type": "string"},
    "deleted": {"type": "boolean"},
    "kept": {"type": "boolean", "description": "False if the history of the collection no longer keeps it"}}},
"Versions": {"type": "object", "required": ["versions"], "properties": {
    "versions": {"type": "array", "items": {"$ref": "#/components/schemas/Version"}}}},
"DensityAuthor": {"type": "object", "required": ["author", "count"], "properties": {
    "author": {"type": "string"}, "count": {"type": "integer"}}},
"DensityBucket": {"type": "object", "required": ["from", "to", "from_time", "to_time", "authors"], "properties": {
    "from": {"type": "integer", "description": "Its first revision"},
    "to": {"type": "integer", "description": "Its last revision"},
    "from_time": {"type": "string", "format": "date-time"}, "to_time": {"type": "string", "format": "date-time"},
    "authors": {"type": "array", "description": "The authors with the most revisions",
    "items": {"$ref": "#/components/schemas/DensityAuthor"}}}},
"Density": {"type": "object", "required": ["from", "to", "oldest", "newest", "buckets"], "properties": {
    "from": {"type": "integer"}, "to": {"type": "integer"},
    "oldest": {"type": "integer", "description": "The oldest revision that can be read"},
    "newest": {"anyOf": [{"$ref": "#/components/schemas/Version"}, {"type": "null"}]},
    "buckets": {"type": "array", "items": {"$ref": "#/components/schemas/DensityBucket"}}}},
"OutlineRow": {"type": "object", "required": ["node_key", "depth", "type", "changed"], "properties": {
    "node_key": {"type": "integer"}, "depth": {"type": "integer"}, "name": {"type": "string"},
    "name_length": {"type": "integer", "description": "The length of the name in characters, if it was cut"},
    "index": {"type": "integer", "description": "The position in an array, from 0"},
    "type": {"type": "string", "enum": ["object", "array", "string", "number", "boolean", "null"]},
    "children": {"type": "integer"}, "open": {"type": "boolean"},
    "text": {"type": "string", "description": "The characters of a string, or the value as JSON writes it"},
    "text_length": {"type": "integer", "description": "The length of the text in characters, if it was cut"},
    "changed": {"type": "integer", "description": "The commit that last changed the node; with blame the revision"}}},
"Outline": {"type": "object",
    "required": ["revision", "csn", "nodes", "total", "row", "found", "opened", "above", "rows"], "properties": {
    "revision": {"type": "integer"}, "csn": {"type": "integer"},
    "nodes": {"type": "integer", "description": "Nodes of the document"},
    "total": {"type": "integer", "description": "Rows of the outline"},
    "row": {"type": "integer", "description": "The number of the first row of the window, from 0"},
    "found": {"type": ["integer", "null"], "description": "The key of the named node"},
    "opened": {"type": "array", "description": "Closed nodes that were opened to show that node: add them to toggled",
    "items": {"type": "integer"}},
    "above": {"type": "array", "description": "The ancestors of the first row, from the root on",
    "items": {"$ref": "#/components/schemas/OutlineRow"}},
    "rows": {"type": "array", "items": {"$ref": "#/components/schemas/OutlineRow"}},
    "versions": {"type": "array", "items": {"$ref": "#/components/schemas/Version"}}}},
"SearchFound": {"type": "object", "required": ["revision", "found", "path", "wrapped"], "properties": {
    "revision": {"type": "integer"},
    "found": {"type": ["integer", "null"], "description": "The key of the node; null if no node has the text"},
    "path": {"type": ["string", "null"]},
    "wrapped": {"type": "boolean", "description": "True if the search continued at the other end of the document"}}},
"RevisionLine": {"type": "object", "required": ["revision", "document"], "properties": {
    "revision": {"type": "integer"}, "document": {}}},
"Change": {"type": "object", "required": ["node_key", "path", "op"], "properties": {
    "node_key": {"type": "integer"}, "path": {"type": "string"},
    "op": {"type": "string", "enum": ["insert", "update", "delete", "move", "rename", "replace"]},
    "old": {}, "new": {}, "from": {"type": "string"}, "old_node_key": {"type": "integer"}, "position": {},
    "parent_node_key": {"type": "integer", "description": "For a delete: the former parent"}}},
"Diff": {"type": "object", "required": ["from", "to", "changes"], "properties": {
    "from": {"type": "integer"}, "to": {"type": "integer"},
    "changes": {"type": "array", "items": {"$ref": "#/components/schemas/Change"}}}},
"DocumentDiff": {"description": "With form=sirix in the form of SirixDB, else as nodes", "anyOf": [
    {"$ref": "#/components/schemas/Diff"}, {"$ref": "#/components/schemas/SirixDiff"}]},
"PatchStep": {"type": "object", "required": ["op", "path"], "properties": {
    "op": {"type": "string", "enum": ["add", "remove", "replace", "move", "copy", "test"]},
    "path": {"type": "string"}, "from": {"type": "string"}, "value": {}}},
"Patch": {"type": "array", "items": {"$ref": "#/components/schemas/PatchStep"}},
"BlameLine": {"type": "object",
    "required": ["node_key", "path", "revision", "time", "authored", "author", "role", "message"],
    "properties": {"node_key": {"type": "integer"}, "path": {"type": "string"}, "revision": {"type": "integer"},
    "time": {"type": "string", "format": "date-time"},
    "authored": {"type": ["string", "null"], "format": "date-time"},
    "author": {"type": "string"}, "role": {"type": ["string", "null"]}, "message": {"type": "string"},
    "value": {}}},
"Blame": {"type": "object", "required": ["nodes"], "properties": {
    "nodes": {"type": "array", "items": {"$ref": "#/components/schemas/BlameLine"}}}},
"PathCount": {"type": "object", "required": ["path", "count", "level"], "properties": {
    "path": {"type": "string"}, "count": {"type": "integer"}, "level": {"type": "integer"}}},
"Paths": {"type": "object", "required": ["revision", "paths"], "properties": {
    "revision": {"type": "integer"},
    "paths": {"type": "array", "items": {"$ref": "#/components/schemas/PathCount"}}}},
"Hash": {"type": "object", "required": ["revision", "node_key", "hash"], "properties": {
    "revision": {"type": "integer"}, "node_key": {"type": "integer"}, "hash": {"type": "string"},
    "digest": {"type": "string"}}},
"OperationResult": {"type": "object", "required": ["collection", "key", "revision", "changed"], "properties": {
    "collection": {"type": "string"}, "key": {"type": "string"}, "revision": {"type": "integer"},
    "changed": {"type": "boolean"}, "node_key": {"type": "integer"}}},
"TransactionDone": {"type": "object", "required": ["csn", "time", "results"], "properties": {
    "csn": {"type": "integer"}, "time": {"type": "string", "format": "date-time"},
    "results": {"type": "array", "items": {"$ref": "#/components/schemas/OperationResult"}}}},
"Column": {"type": "object", "required": ["name", "type"], "properties": {
    "name": {"type": "string"}, "type": {"type": "string"}}},
"Rows": {"type": "object", "required": ["columns", "rows", "command", "count"], "properties": {
    "columns": {"type": "array", "items": {"$ref": "#/components/schemas/Column"}},
    "rows": {"type": "array", "items": {"type": "array", "items": {}}},
    "command": {"type": "string"}, "count": {"type": ["integer", "null"]}}},
"Database": {"type": "object", "required": ["name", "type"], "properties": {
    "name": {"type": "string"}, "type": {"type": "string"},
    "resources": {"type": "array", "items": {"type": "string"}}}},
"Databases": {"type": "object", "required": ["databases"], "properties": {
    "databases": {"type": "array", "items": {"$ref": "#/components/schemas/Database"}}}},
"Resources": {"type": "object", "required": ["resources"], "properties": {
    "resources": {"type": "array", "items": {"type": "string"}}}},
"SirixRevision": {"type": "object",
    "required": ["revision", "revisionTimestamp", "author", "commitMessage"], "properties": {
    "revision": {"type": "integer"}, "revisionTimestamp": {"type": "string", "format": "date-time"},
    "author": {"type": "string"}, "commitMessage": {"type": "string"}, "deleted": {"type": "boolean"}}},
"SirixHistory": {"type": "object", "required": ["history"], "properties": {
    "history": {"type": "array", "items": {"$ref": "#/components/schemas/SirixRevision"}}}},
"SirixChange": {"type": "object", "required": ["nodeKey", "path"], "properties": {
    "nodeKey": {"type": "integer"}, "path": {"type": "string"}, "type": {"type": "string"},
    "name": {"type": "string"}, "oldName": {"type": "string"}, "oldPath": {"type": "string"},
    "insertPositionNodeKey": {"type": "integer"}, "insertPosition": {"type": "string"},
    "value": {}, "oldValue": {}, "data": {}, "oldData": {}}},
"SirixReplacement": {"type": "object", "required": ["oldNodeKey", "newNodeKey", "path", "type"], "properties": {
    "oldNodeKey": {"type": "integer"}, "newNodeKey": {"type": "integer"}, "path": {"type": "string"},
    "type": {"type": "string"}, "data": {}, "oldData": {}}},
"SirixChanges": {"description": "Exactly one of the members is present", "type": "object", "properties": {
    "insert": {"$ref": "#/components/schemas/SirixChange"},
    "update": {"$ref": "#/components/schemas/SirixChange"},
    "delete": {"$ref": "#/components/schemas/SirixChange"},
    "move": {"$ref": "#/components/schemas/SirixChange"},
    "replace": {"$ref": "#/components/schemas/SirixReplacement"}}},
"SirixDiff": {"type": "object",
    "required": ["database", "resource", "old-revision", "new-revision", "diffs"], "properties": {
    "database": {"type": "string"}, "resource": {"type": "string"},
    "old-revision": {"type": "integer"}, "new-revision": {"type": "integer"},
    "diffs": {"type": "array", "items": {"$ref": "#/components/schemas/SirixChanges"}}}},
"SirixPath": {"type": "object", "required": ["nodeKey", "path", "references", "level"], "properties": {
    "nodeKey": {"type": "integer"}, "path": {"type": "string"}, "references": {"type": "integer"},
    "level": {"type": "integer"}}},
"SirixPaths": {"type": "object", "required": ["pathSummary"], "properties": {
    "pathSummary": {"type": "array", "items": {"$ref": "#/components/schemas/SirixPath"}}}}
}"##;

/// All forms by their names.
pub(crate) fn forms() -> Map<String, Value> {
    serde_json::from_str(FORMS).expect("the forms are an object of JSON")
}

/// The reference to a form.
pub(crate) fn reference(name: &str) -> Value {
    serde_json::json!({"$ref": format!("#/components/schemas/{name}")})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every form that another one or a route names is there, and each is named somewhere.
    #[test]
    fn forms_are_whole() {
        let forms = forms();
        let routes = || crate::router::routes();
        let shown = routes().flat_map(|route| route.shapes.iter().chain([&route.shows]));
        let shown = shown.map(|name| (*name).to_owned());
        let text = Value::Object(forms.clone()).to_string();
        let refs = text.split("#/components/schemas/").skip(1);
        let refs = refs.map(|rest| rest.split('"').next().unwrap_or_default().to_owned());
        let named: Vec<String> = shown.chain(refs).collect();
        for name in &named {
            assert!(forms.contains_key(name), "{name:?} is not described");
        }
        for name in forms.keys() {
            assert!(named.contains(name), "{name:?} is of no use");
        }
    }
}
