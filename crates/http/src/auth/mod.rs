//! Who calls, and what they may do.
//!
//! ```text
//!   Authorization: Bearer aw_...          ──> tokens   made by `anywhen token`, kept as hashes in a file
//!                  Bearer eyJ...          ──> jwt      made and signed by others, RS256 or ES256
//!                                               │          keys     in a file
//!                                               │          remote   or at an address
//!                                               v
//!                                           Caller     a name, and rights: view, create, modify, delete,
//!                                                      in all collections or in one
//! ```
//!
//! Where neither is set up everybody may do everything; the server then listens on this machine alone.

mod jwt;
mod keys;
mod remote;
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

    /// Asks for the keys of tokens, where these are elsewhere.
    ///
    /// # Errors
    /// Where they do not come.
    pub(crate) async fn fetch(&self) -> std::io::Result<()> {
        match self.signed.as_ref().and_then(Signed::remote) {
            Some(remote) => remote.fetch().await.map(drop),
            None => Ok(()),
        }
    }

    /// Keeps the keys of tokens new, where these are elsewhere; else there is nothing to be done.
    pub(crate) async fn keep(&self) {
        if let Some(remote) = self.signed.as_ref().and_then(Signed::remote) {
            remote.keep().await;
        }
    }

    /// Asks for keys anew where a request comes with a token that is signed with one not known yet.
    pub(crate) async fn learn(&self, headers: &HeaderMap) {
        if let Some(signed) = &self.signed {
            signed.learn(headers).await;
        }
    }

    /// Who sends these headers.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        if self.tokens.is_none() && self.signed.is_none() {
            return Ok(Caller { name: String::new(), rights: Rights::all() });
        }
        if !headers.contains_key(AUTHORIZATION) {
            return Err(Problem::unauthorized("a bearer token is wanted"));
        }
        let other = || Problem::unauthorized("the only scheme is Bearer");
        let token = bearer(headers).ok_or_else(other)?;
        let now = now_us();
        let found = match (&self.tokens, &self.signed) {
            (Some(known), _) if token.starts_with(tokens::MARK) => known.find(token, now),
            (_, Some(signed)) => signed.check(token, now)?.into(),
            _ => None,
        };
        found.ok_or_else(|| Problem::unauthorized("the token is not known, or not any more"))
    }
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
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
