//! Routes about the server itself, open to everybody: its health, its counters, its description.

use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, ORIGIN, SET_COOKIE};
use json::Kind;
use serde_json::json;

use crate::answer::{Answer, JSON};
use crate::auth::{SESSION_S, bearer, end_cookie};
use crate::call::Call;
use crate::once::Form as Told;
use crate::openapi;
use crate::problem::{Problem, Result};
use crate::route::{Form, Needs, Parameter, Route, Run, gives, may};

/// The type of the text form of metrics.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const YAML: &str = "application/yaml";

const NONE: &[Parameter] = &[];
const FORM: &[Parameter] =
    &[may("form", Form::OneOf(&["yaml", "json"]), "The format of the description")];

/// The operations.
pub(crate) const ROUTES: &[Route] = &[
    Route::new("GET", "/health", "getHealth", "Whether the server runs", Run::Short(health))
        .shows("Health")
        .needs(Needs::Nothing)
        .with(&[NONE]),
    Route::new("GET", "/ready", "getReady", "Whether the database takes writes", Run::Short(ready))
        .shows("Ready")
        .needs(Needs::Nothing),
    Route::new(
        "GET",
        "/metrics",
        "getMetrics",
        "Counters in the format of Prometheus",
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
        "The name, the rights and the role of the token",
        Run::Long(token),
    )
    .shows("Token")
    .needs(Needs::Nothing),
    Route::new(
        "POST",
        "/v1/session",
        "beginSession",
        "Begin a session for a browser with the token of the request: requests then send a cookie and the header Anywhen-Session: cookie",
        Run::Long(begin_session),
    )
    .shows("Session")
    .needs(Needs::Nothing),
    Route::new(
        "DELETE",
        "/v1/session",
        "endSession",
        "End the session of a browser",
        Run::Long(end_session),
    )
    .needs(Needs::Nothing)
    .gives(&[gives(204, None, "The session has ended")]),
    Route::new(
        "POST",
        "/token",
        "login",
        "Log in with the name of a token, and the token as password",
        Run::Long(login),
    )
    .shows("Login")
    .needs(Needs::Nothing)
    .takes_json(r#"{"username":"ada","password":"aw_...","grant_type":"password"}"#)
    .shaped(&["Credentials"]),
];

/// `POST /v1/session`: the token of the request signs the browser in, by a cookie.
fn begin_session(call: &mut Call) -> Result<Answer> {
    let guard = &call.app.guard;
    let caller = guard.admit(&call.headers)?;
    let answer = Answer::value(&json!({
        "name": caller.name,
        "roles": caller.rights.roles(),
        "sql_role": caller.sql_role(&call.app.database)?,
        "expires_in": SESSION_S,
    }));
    let answer = answer.header(CACHE_CONTROL, "no-store");
    // A server without sign-in has no session to keep.
    if guard.is_open() {
        return Ok(answer);
    }
    let Some(token) = bearer(&call.headers) else {
        let text = "a token is missing: send the header Authorization: Bearer TOKEN";
        return Err(Problem::unauthorized(text).into());
    };
    let cookie = guard.sessions.begin(&call.headers, token, is_secure(call))?;
    Ok(answer.header(SET_COOKIE, &cookie))
}

/// `DELETE /v1/session`
fn end_session(call: &mut Call) -> Result<Answer> {
    call.app.guard.sessions.end(&call.headers);
    let answer = Answer::empty(StatusCode::NO_CONTENT).header(CACHE_CONTROL, "no-store");
    Ok(answer.header(SET_COOKIE, &end_cookie(is_secure(call))))
}

/// True if the browser has come by TLS, to this server or to a proxy before it.
fn is_secure(call: &Call) -> bool {
    let origin = call.headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    call.app.options.tls.is_some() || origin.is_some_and(|origin| origin.starts_with("https://"))
}

/// Seconds after which a client that has logged in asks again whether its token holds.
const LOGIN_S: u64 = 3_600;
/// The token of callers if the server requires none.
const NO_TOKEN: &str = "none";

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
        Some(other) => {
            return Err(Problem::bad(format!(
                "the parameter form cannot be {other:?}: it can be yaml or json"
            ))
            .into());
        }
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

/// `POST /token`: the login of SirixDB's clients. The password is a token; the answer and a renewal give it
/// back. A revoked or expired token is refused then.
fn login(call: &mut Call) -> Result<Answer> {
    let body = call.told(Told::Object)?;
    if body.root().kind() != Kind::Object {
        return Err(Problem::bad("the body must be an object with username and password").into());
    }
    let text = |name: &str| -> Result<Option<String>, Problem> {
        let Some(found) = body.root().get(name) else { return Ok(None) };
        let wrong = || Problem::bad(format!("{name:?} must be a string"));
        found.as_str().map(|text| Some(text.into_owned())).ok_or_else(wrong)
    };
    if text("grant_type")?.is_some_and(|way| !["password", "refresh_token"].contains(&way.as_str()))
    {
        let allowed = "grant_type can be \"password\" or \"refresh_token\"";
        return Err(Problem::bad(allowed).into());
    }
    let missing = "the body must have username and password, or refresh_token";
    let (name, token) = match (text("refresh_token")?, text("username")?, text("password")?) {
        (Some(token), _, _) => (None, token),
        (None, Some(name), Some(token)) => (Some(name), token),
        _ => return Err(Problem::bad(missing).into()),
    };
    let guard = &call.app.guard;
    let token = if guard.is_open() { NO_TOKEN.to_owned() } else { token };
    if !guard.is_open() {
        let known = guard.known(&token)?;
        if name.is_some_and(|name| name != known.name) {
            let text = "the password must be a token that was made for this username";
            return Err(Problem::unauthorized(text).into());
        }
    }
    Ok(Answer::value(&json!({
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": LOGIN_S,
        "refresh_token": token,
        "refresh_expires_in": LOGIN_S,
    })))
}
