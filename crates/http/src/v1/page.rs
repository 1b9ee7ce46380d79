//! The history of a document in one page ([`anywhen::history_page`]), for clients that have no explorer of their own.
//!
//! The page is to be saved, or shown in a frame without an origin. If a browser opens its address, the policy gives it
//! no origin either: its script cannot call the server.

use std::io::Read;

use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};

use crate::answer::Answer;
use crate::call::Call;
use crate::problem::{Problem, Result};

use super::HTML;

/// `GET .../page`
pub(super) fn get(call: &mut Call) -> Result<Answer> {
    let none = || {
        let problem = Problem::new(StatusCode::NOT_IMPLEMENTED, "this server has no explorer");
        problem.with("hint", "It was built without Node: scripts/web.sh builds the explorer.")
    };
    let file = call.app.options.export_page.ok_or_else(none)?;
    let mut page = String::new();
    let read = flate2::read::GzDecoder::new(file.gzip).read_to_string(&mut page);
    read.map_err(|_| Problem::internal("the page of the explorer is damaged"))?;
    let collection = call.collection("collection")?;
    let (name, key) = (call.part("collection"), call.part("key"));
    let bytes_max = usize::try_from(call.app.options.limits.body_bytes_max).unwrap_or(usize::MAX);
    let long = || {
        let text = format!("the history of {key:?} takes more than {bytes_max} bytes");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text)
    };
    let made = anywhen::history_page(&collection, name, key, &page, bytes_max)?.ok_or_else(long)?;
    let answer = Answer::bytes(StatusCode::OK, HTML, made.html);
    Ok(answer
        .header(CONTENT_SECURITY_POLICY, "sandbox allow-scripts")
        .header(CONTENT_DISPOSITION, "attachment; filename=\"history.html\"")
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff"))
}
