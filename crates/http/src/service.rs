//! Routes about the server itself, open to everybody: whether it lives, what it does, how it is spoken to.

use axum::http::StatusCode;
use serde_json::json;

use crate::answer::{Answer, JSON};
use crate::call::Call;
use crate::openapi;
use crate::problem::{Problem, Result};
use crate::route::{Form, Needs, Parameter, Route, Run, gives, may};

/// The type of the text form of metrics.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const YAML: &str = "application/yaml";

const NONE: &[Parameter] = &[];
const FORM: &[Parameter] = &[may("form", Form::OneOf(&["yaml", "json"]), "How it is written")];

/// The operations.
pub(crate) const ROUTES: &[Route] = &[
    Route::new("GET", "/health", "getHealth", "Whether the server lives", Run::Short(health))
        .needs(Needs::Nothing)
        .with(&[NONE]),
    Route::new("GET", "/ready", "getReady", "Whether the database takes writes", Run::Short(ready))
        .needs(Needs::Nothing),
    Route::new(
        "GET",
        "/metrics",
        "getMetrics",
        "Counters, as Prometheus reads them",
        Run::Long(metrics),
    )
    .needs(Needs::Nothing)
    .gives(&[gives(200, Some(METRICS), "The counters")]),
    Route::new("GET", "/openapi.yaml", "getOpenapi", "This description", Run::Long(description))
        .needs(Needs::Nothing)
        .gives(&[gives(200, Some(YAML), "OpenAPI 3.1"), gives(200, Some(JSON), "The same as JSON")])
        .with(&[FORM]),
    Route::new(
        "GET",
        "/token",
        "getToken",
        "Whose token this is, and what it allows",
        Run::Long(token),
    )
    .needs(Needs::Nothing),
];

fn health(_call: &mut Call) -> Result<Answer> {
    Ok(Answer::value(&json!({"status": "up"})))
}

fn ready(call: &mut Call) -> Result<Answer> {
    if *call.app.stopping.borrow() {
        return Err(Problem::busy("the server is shutting down").into());
    }
    if let Some(cause) = call.app.database.refusal() {
        return Err(Problem::busy(format!("the database takes no more writes: {cause}")).into());
    }
    Ok(Answer::value(&json!({"status": "ready", "csn": call.app.database.newest().0})))
}

fn metrics(call: &mut Call) -> Result<Answer> {
    let evicted = call.app.connections.evicted.load(std::sync::atomic::Ordering::Relaxed);
    let mut text = call.app.metrics.prometheus(&call.app.database.stats(), evicted);
    if let Some(more) = &call.app.options.more_metrics {
        text += &(more.0)();
    }
    Ok(Answer::bytes(StatusCode::OK, METRICS, text))
}

fn description(call: &mut Call) -> Result<Answer> {
    let document = openapi::document(call.app.options.auth.is_open());
    Ok(match call.text("form") {
        Some("json") => Answer::value(&document),
        None | Some("yaml") => Answer::bytes(StatusCode::OK, YAML, openapi::yaml(&document)),
        Some(other) => return Err(Problem::bad(format!("form={other:?} is unknown")).into()),
    })
}

fn token(call: &mut Call) -> Result<Answer> {
    let caller = call.app.guard.admit(&call.headers)?;
    Ok(Answer::value(&json!({
        "name": caller.name,
        "roles": caller.rights.roles(),
        "sql_role": caller.sql_role(&call.app.database)?,
    })))
}
