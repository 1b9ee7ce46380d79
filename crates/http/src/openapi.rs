//! The description of the server for programs: OpenAPI 3.1, made from the table of the router, so the
//! two always agree.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::answer::{JSON, NDJSON};
use crate::route::{Form, Needs, Parameter, Route, Takes};
use crate::router::routes;
use crate::schemas;
use crate::v1::JSON_PATCH;

/// Names on the routes of SirixDB: 1 to 255 characters, not all of them blank, without what could lead out of
/// a folder.
const SIRIX_NAME: &str = r"^(?!.*\.\.)(?!\s*$)[^/\\\x00]{1,255}$";

/// The description of a server; where it `is_open` callers need no token.
pub(crate) fn document(is_open: bool) -> Value {
    let mut paths = Map::new();
    for route in routes() {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation(route, is_open);
    }
    let mut forms = schemas::forms();
    forms.insert("Problem".to_owned(), problem());
    let security = if is_open { json!([]) } else { json!([{"bearer": []}]) };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Anywhen",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Documents with every version of each; the routes of SirixDB at the root, \
                            our own under /v1.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The server that gives this description"}],
        "security": security,
        "tags": [
            {"name": "v1", "description": "All operations on documents, and SQL"},
            {"name": "sirix", "description": "The routes of SirixDB"},
            {"name": "server", "description": "The server itself"},
        ],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "A token of `anywhen token create`, or a JSON web token",
            }},
            "schemas": forms,
        },
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "statusCode", "message"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "statusCode": {"type": "integer"},
            "message": {"type": "string"},
            "sqlstate": {"type": "string"},
            "detail_text": {"type": "string"},
            "hint": {"type": "string"},
            "position": {"type": "integer"},
            "operation": {"type": "integer"},
        },
    })
}

fn operation(route: &Route, is_open: bool) -> Value {
    let parts = route.parts().map(|name| {
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "schema": match name {
                "revision" => json!({"type": "integer", "minimum": 1}),
                "db" | "r" => json!({"type": "string", "pattern": SIRIX_NAME}),
                _ => json!({"type": "string"}),
            },
        })
    });
    let parameters: Vec<Value> = parts.chain(route.parameters().map(parameter)).collect();
    let mut operation = json!({
        "operationId": route.id,
        "tags": [tag(route)],
        "summary": route.about,
        "parameters": parameters,
        "responses": responses(route, is_open),
    });
    match route.takes {
        Takes::Nothing => {}
        Takes::Document => {
            let content = json!({JSON: {"schema": schemas::reference("Json"), "example": {"tada": [1], "baz": "hello"}}});
            operation["requestBody"] = json!({"required": true, "content": content});
        }
        Takes::Whole { media, example, is_optional } => {
            let example: Value = serde_json::from_str(example).unwrap_or_default();
            let shapes = route.shapes.iter().chain(std::iter::repeat(&"Json"));
            let mut content: Map<String, Value> = media
                .iter()
                .zip(shapes)
                .map(|(media, shape)| {
                    ((*media).to_owned(), json!({"schema": schemas::reference(shape)}))
                })
                .collect();
            // The example is one of the first type.
            content[media[0]]["example"] = example;
            operation["requestBody"] = json!({"required": !is_optional, "content": content});
        }
    }
    if !is_open {
        let is_free = route.needs == Needs::Nothing;
        operation["security"] = if is_free { json!([]) } else { json!([{"bearer": []}]) };
    }
    operation
}

fn tag(route: &Route) -> &'static str {
    match route.path {
        path if path.starts_with("/v1") => "v1",
        path if path == "/" || path.starts_with("/{db}") => "sirix",
        _ => "server",
    }
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.form {
        Form::Text => json!({"type": "string"}),
        Form::Number => json!({"type": "integer", "minimum": 0}),
        Form::Positive => json!({"type": "integer", "minimum": 1}),
        Form::Revision => json!({"anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "format": "date-time"},
        ]}),
        Form::Flag => json!({"type": "boolean"}),
        Form::Time => json!({"type": "string", "format": "date-time"}),
        Form::OneOf(values) => json!({"type": "string", "enum": values}),
    };
    let mut told = json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "schema": schema,
    });
    if parameter.is_wanted {
        told["required"] = true.into();
    }
    if let Some(example) = parameter.example {
        told["example"] = example.into();
    }
    told
}

fn responses(route: &Route, is_open: bool) -> Value {
    let mut responses = Map::new();
    for gives in route.gives {
        let told = responses.entry(gives.status.to_string());
        let told = told.or_insert_with(|| json!({"description": gives.about}));
        if let Some(media) = gives.media {
            told["content"][media] = json!({"schema": form(route, media)});
        }
    }
    let problem = |about: &str| {
        let schema = json!({"$ref": "#/components/schemas/Problem"});
        let content = json!({"application/problem+json": {"schema": schema}});
        json!({"description": about, "content": content})
    };
    for (status, about) in problems(route, is_open) {
        responses.insert(status.to_string(), problem(about));
    }
    let default = "The error, and the next step";
    responses.insert("default".to_owned(), problem(default));
    responses.into()
}

/// The form of an answer of this type. Of lines each has the form of the route.
fn form(route: &Route, media: &str) -> Value {
    match media {
        JSON => schemas::reference(route.shows),
        NDJSON if route.shows == "RevisionLine" => schemas::reference(route.shows),
        JSON_PATCH => schemas::reference("Patch"),
        _ => json!({"type": "string"}),
    }
}

/// The problems that a request of a client may come to.
fn problems(route: &Route, is_open: bool) -> impl Iterator<Item = (u16, &'static str)> {
    let is_known = route.needs != Needs::Nothing;
    let reads_version = route.gives.iter().any(|gives| gives.status == 304);
    let is_change = route.is_change();
    let has_name = route.parts().next().is_some();
    let has_body = !matches!(route.takes, Takes::Nothing);
    let is_sql = route.path == "/v1/sql";
    // Parameters and queries of SirixDB that are not there.
    let can_want_more =
        ["putResource", "getResource", "headResource", "postQuery"].contains(&route.id);
    let is_many = route.path == "/v1/transactions";
    let all = [
        (true, 400, "The request is malformed"),
        (is_known || route.path == "/token", 401, "The token is unknown or missing"),
        (
            true,
            403,
            "The caller lacks the right, or the request comes from a web page of another origin",
        ),
        (true, 404, "The object does not exist"),
        (tag(route) == "sirix", 406, "The client accepts only XML, which is not supported"),
        (is_change, 409, "The request conflicts with another change, or with the stored data"),
        (has_name || is_sql, 410, "The version is no longer kept"),
        (
            is_change || reads_version,
            412,
            "The document does not have the version that the request expects",
        ),
        (has_body, 413, "The body is too large"),
        (is_change, 415, "The type of the body is missing or not accepted"),
        (is_open, 421, "The request is for a host that is not this machine"),
        (
            has_name || has_body || is_change,
            422,
            "The request is well-formed, but cannot be applied",
        ),
        (
            is_change && (has_name || is_many),
            428,
            "The server requires the version that the request changes (If-Match)",
        ),
        (is_sql || can_want_more, 501, "The feature is not supported"),
        (true, 503, "Too many requests at once, or the database takes no writes"),
        (is_sql, 504, "The statement exceeded its time limit and was cancelled"),
    ];
    all.into_iter().filter(|(may, ..)| *may).map(|(_, status, about)| (status, about))
}

/// A value as YAML: block style, all texts in quotes, so that none is taken for anything else.
pub(crate) fn yaml(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                let _ = write!(out, "{:indent$}{}:", "", key(name));
                below(field, indent, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(out, "{:indent$}-", "");
                below(item, indent, out);
            }
        }
        scalar => {
            let _ = writeln!(out, "{:indent$}{scalar}", "");
        }
    }
}

fn below(value: &Value, indent: usize, out: &mut String) {
    let is_block = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    match is_block {
        true => {
            out.push('\n');
            block(value, indent + 2, out);
        }
        // JSON's scalars and empty containers are YAML's.
        false => {
            let _ = writeln!(out, " {value}");
        }
    }
}

fn key(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_word = is_plain && name.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_word { name.to_owned() } else { Value::String(name.to_owned()).to_string() }
}
