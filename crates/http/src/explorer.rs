//! The files of the explorer, the web application that shows the database: its page at `/` for browsers, and the
//! files of the page below `/v1/explorer/`.
//!
//! ```text
//!   GET /   Accept: text/html, ...     ──> index.html                 asked for again each time, by its tag
//!   GET /   any other client           ──> the databases, as SirixDB lists them
//!   GET /v1/explorer/app-5e1f.js       ──> the file with that name    kept for a year: the name has its hash
//! ```
//!
//! The program that starts the server hands the files over ([`Options::explorer`](crate::Options::explorer)),
//! compressed: this crate neither has them nor builds them. They hold no data and need no token. So the server gives
//! the page to a browser that follows a link from another site, which no other route does.
//!
//! Invariant: the page may load its own files and nothing else, and no other page may frame it ([`POLICY`]).

use std::io::Read;

use axum::body::Body;
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use bytes::Bytes;

/// A file of the explorer.
#[derive(Clone, Copy, Debug)]
pub struct WebFile {
    /// Its name, without a folder. The page is `index.html`.
    pub name: &'static str,
    /// Its content type.
    pub media: &'static str,
    /// A tag that is another one where the content is.
    pub tag: &'static str,
    /// The content, compressed with gzip.
    pub gzip: &'static [u8],
    /// The content, compressed with brotli; empty where there is none.
    pub brotli: &'static [u8],
}

/// The folder of the files.
const FOLDER: &str = "/v1/explorer/";
/// The name of the page.
const PAGE: &str = "index.html";
/// The policy of the page: it loads its own files alone, and no page frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The file that a request asks for; none if another route answers it.
pub(crate) fn asked<B>(files: &[WebFile], request: &Request<B>) -> Option<WebFile> {
    if files.is_empty() || ![Method::GET, Method::HEAD].contains(request.method()) {
        return None;
    }
    let name = match request.uri().path() {
        "/" if takes_html(request.headers()) => PAGE,
        "/" => return None,
        path => path.strip_prefix(FOLDER)?,
    };
    files.iter().find(|file| file.name == name).copied()
}

/// True if the client accepts HTML, as browsers do for an address that a person opens.
fn takes_html(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(ACCEPT).iter();
    accepts.filter_map(|accept| accept.to_str().ok()).any(|accept| accept.contains("text/html"))
}

/// The answer with a file.
pub(crate) fn answer(file: &WebFile, headers: &HeaderMap, is_head: bool) -> Response<Body> {
    let tag = format!("\"{}\"", file.tag);
    let is_known = headers.get_all(IF_NONE_MATCH).iter().any(|known| {
        known.to_str().is_ok_and(|known| {
            known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)
        })
    });
    let (bytes, coding) = encoded(file, headers);
    let length = bytes.len();
    let mut response =
        Response::new(if is_head || is_known { Body::empty() } else { Body::from(bytes) });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let keep = match file.name {
        PAGE => "no-cache",
        _ => "public, max-age=31536000, immutable",
    };
    let told = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, file.media),
        (CACHE_CONTROL, keep),
        (VARY, "accept, accept-encoding"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (RESOURCE_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
    ] {
        told.insert(name, HeaderValue::from_static(value));
    }
    if let Some(coding) = coding {
        told.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        told.insert(ETAG, tag);
    }
    if is_head {
        told.insert(axum::http::header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

/// The content in the smallest coding that the client takes.
fn encoded(file: &WebFile, headers: &HeaderMap) -> (Bytes, Option<&'static str>) {
    let codings = headers.get_all(ACCEPT_ENCODING).iter();
    let codings: Vec<&str> = codings.filter_map(|codings| codings.to_str().ok()).collect();
    let takes = |wanted: &str| {
        let mut all = codings.iter().flat_map(|codings| codings.split(','));
        all.any(|coding| {
            let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
            let is_refused = weight.trim().strip_prefix("q=").is_some_and(|weight| {
                weight.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0)
            });
            name.trim().eq_ignore_ascii_case(wanted) && !is_refused
        })
    };
    if takes("br") && !file.brotli.is_empty() {
        return (Bytes::from_static(file.brotli), Some("br"));
    }
    if takes("gzip") {
        return (Bytes::from_static(file.gzip), Some("gzip"));
    }
    let mut plain = Vec::new();
    match flate2::read::GzDecoder::new(file.gzip).read_to_end(&mut plain) {
        Ok(_) => (plain.into(), None),
        // A damaged file is sent as it is, and the header says how it is encoded.
        Err(_) => (Bytes::from_static(file.gzip), Some("gzip")),
    }
}
