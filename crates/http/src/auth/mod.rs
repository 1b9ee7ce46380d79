//! Who calls, and what they may do.
//!
//! ```text
//!   Authorization: Bearer aw_...          ──> tokens   made by `anywhen token`, kept as hashes in a file
//!                  Bearer eyJ...          ──> jwt      made and signed by others, RS256 or ES256
//!                                               │
//!                                               v
//!                                           Caller     a name, and rights: view, create, modify, delete,
//!                                                      in all collections or in one
//! ```
//!
//! Where neither is set up everybody may do everything; the server then listens on this machine alone.

mod jwt;
mod rights;
mod tokens;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

pub(crate) use rights::Right;
pub use rights::{BadRole, Rights};
pub use tokens::{Token, TokenFile};

use crate::options::Auth;
use crate::problem::Problem;
use jwt::Signed;
use tokens::Known;

/// Who made a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Empty where nobody was asked.
    pub(crate) name: String,
    pub(crate) rights: Rights,
}

impl Caller {
    /// An error unless the caller has a right in a collection, or in all where none is named.
    pub(crate) fn must(&self, right: Right, collection: Option<&str>) -> Result<(), Problem> {
        if self.rights.allow(right, collection) {
            return Ok(());
        }
        let place = match collection {
            Some(name) => format!(" in collection {name:?}"),
            None => " in all collections".to_owned(),
        };
        let name = &self.name;
        Err(Problem::new(
            axum::http::StatusCode::FORBIDDEN,
            format!("{name:?} has no right to {right}{place}"),
        ))
    }
}

/// Lets callers in.
pub(crate) struct Guard {
    tokens: Option<Known>,
    signed: Option<Signed>,
}

impl Guard {
    /// A guard who knows what the options name.
    ///
    /// # Errors
    /// Where the file of keys is not there or is no set of keys. A file of tokens that is not there
    /// has no tokens.
    pub(crate) fn new(auth: &Auth) -> std::io::Result<Self> {
        Ok(Guard {
            tokens: auth.tokens.clone().map(Known::new).transpose()?,
            signed: auth.jwt.clone().map(Signed::new).transpose()?,
        })
    }

    /// Who sends these headers.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        if self.tokens.is_none() && self.signed.is_none() {
            return Ok(Caller { name: String::new(), rights: Rights::all() });
        }
        let Some(header) = headers.get(AUTHORIZATION) else {
            return Err(Problem::unauthorized("a bearer token is wanted"));
        };
        let text = header.to_str().ok().and_then(|text| text.split_once(' '));
        let token = match text {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => return Err(Problem::unauthorized("the only scheme is Bearer")),
        };
        let now = now_us();
        let found = match (&self.tokens, &self.signed) {
            (Some(known), _) if token.starts_with(tokens::MARK) => known.find(token, now),
            (_, Some(signed)) => signed.check(token, now).map_err(Problem::unauthorized)?.into(),
            _ => None,
        };
        found.ok_or_else(|| Problem::unauthorized("the token is not known, or not any more"))
    }
}

/// The time, in microseconds since 1970.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros().try_into().unwrap_or(u64::MAX)
}

/// A file that is read anew when it has changed, looked at no more often than once a second.
struct Watched<T> {
    path: std::path::PathBuf,
    read: fn(&Path) -> std::io::Result<T>,
    held: parking_lot::Mutex<Held<T>>,
}

struct Held<T> {
    value: std::sync::Arc<T>,
    modified: Option<SystemTime>,
    looked: std::time::Instant,
}

impl<T> Watched<T> {
    fn new(
        path: std::path::PathBuf,
        read: fn(&Path) -> std::io::Result<T>,
    ) -> std::io::Result<Self> {
        let modified = modified(&path);
        let value = std::sync::Arc::new(read(&path)?);
        let looked = std::time::Instant::now();
        Ok(Watched { path, read, held: parking_lot::Mutex::new(Held { value, modified, looked }) })
    }

    /// What the file says. Where it cannot be read any more, what it said last holds.
    fn get(&self) -> std::sync::Arc<T> {
        const EVERY: std::time::Duration = std::time::Duration::from_secs(1);
        let mut held = self.held.lock();
        if held.looked.elapsed() >= EVERY {
            held.looked = std::time::Instant::now();
            let modified = modified(&self.path);
            if modified != held.modified {
                match (self.read)(&self.path) {
                    Ok(value) => {
                        held.value = std::sync::Arc::new(value);
                        held.modified = modified;
                    }
                    Err(error) => tracing::error!("{}: {error}", self.path.display()),
                }
            }
        }
        std::sync::Arc::clone(&held.value)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}
