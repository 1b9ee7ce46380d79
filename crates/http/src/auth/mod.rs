//! Callers, and their rights.
//!
//! ```text
//!   Authorization: Bearer aw_...          ──> tokens   made by `anywhen token`, kept as hashes in a file
//!                  Bearer eyJ...          ──> jwt      made and signed by others, RS256 or ES256
//!                                               │          keys     in a file
//!                                               │          remote   or at an address
//!                                               v
//!   Cookie, for the explorer              ──> sessions ──> one of the two
//!                                               │
//!                                               v
//!                                           Caller     a name; a role of SQL
//!                                               │
//!                             rights: view, create, modify, delete, in all collections or in one
//!                             AND, in a table of SQL, the privileges of the role
//! ```
//!
//! A token stands for a role of SQL: the role that it names, else the role with its own name, unless that is a
//! superuser. The rights of the token are an upper limit. In tables of SQL the privileges of the role limit it
//! further. A token without a role has the privileges of the role `pg_collections`, and runs no SQL.
//!
//! If neither tokens nor JSON web tokens are configured, every caller may do everything; the server then listens
//! on this machine alone.

mod jwt;
mod keys;
mod remote;
mod rights;
mod sessions;
mod tokens;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anywhen::sql::{DocumentRights, KnownRole};
use anywhen::{Collection, CollectionOptions, Database, TableId};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};

pub(crate) use rights::Right;
pub use rights::{BadRole, Rights};
pub(crate) use sessions::{SESSION_S, end_cookie};
pub use tokens::{Token, TokenFile};

use crate::options::Auth;
use crate::problem::Problem;
use jwt::Signed;
use sessions::Sessions;
use tokens::Known;

/// The caller of a request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The author of its writes. Empty if callers need no token.
    pub(crate) name: String,
    /// The role that it stands for, even if SQL has no role of that name. Empty if callers need no token.
    pub(crate) role: String,
    pub(crate) role_from: RoleFrom,
    pub(crate) rights: Rights,
}

/// The source of a caller's role of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleFrom {
    /// Callers need no token, and no role.
    Nobody,
    /// The token names it.
    Token,
    /// It is the name of the token, or of its subject.
    Name,
    /// The token has only a name that people may have chosen themselves, so there is no role.
    Nothing,
}

impl Caller {
    /// The caller of every request, if callers need no token.
    fn everybody() -> Caller {
        let (name, role) = (String::new(), String::new());
        Caller { name, role, role_from: RoleFrom::Nobody, rights: Rights::all() }
    }

    /// An unknown caller, which has no rights.
    pub(crate) fn unknown() -> Caller {
        let (name, role) = (String::new(), String::new());
        Caller { name, role, role_from: RoleFrom::Nothing, rights: Rights::default() }
    }

    /// A caller with a token of ours, which may name a role.
    fn with_token(name: &str, role: Option<&str>, rights: Rights) -> Caller {
        let role_from = if role.is_some() { RoleFrom::Token } else { RoleFrom::Name };
        let role = role.unwrap_or(name).to_owned();
        Caller { name: name.to_owned(), role, role_from, rights }
    }

    /// True if callers need no token.
    pub(crate) fn is_nobody(&self) -> bool {
        self.role_from == RoleFrom::Nobody
    }

    /// The role of SQL that the caller stands for; `None` if there is none that may log in. A token must name
    /// the role of a superuser explicitly: its own name alone must not give it all rights.
    pub(crate) fn sql_role(&self, database: &Database) -> anywhen::Result<Option<&str>> {
        let is_it = |role: &KnownRole| match self.role_from {
            RoleFrom::Token => role.may_login,
            RoleFrom::Name => role.may_login && !role.is_superuser,
            RoleFrom::Nobody | RoleFrom::Nothing => false,
        };
        let known = database.sql_role(&self.role)?;
        Ok(known.filter(is_it).map(|_| self.role.as_str()))
    }

    /// The privileges of the caller on the documents of a collection; `None` if callers need no token.
    pub(crate) fn grants(
        &self,
        database: &Database,
        documents: TableId,
    ) -> anywhen::Result<Option<DocumentRights>> {
        if self.is_nobody() {
            return Ok(None);
        }
        database.document_rights(documents, self.sql_role(database)?).map(Some)
    }

    /// The collection of that name. If it is missing, it is made, with the given options, and the role of the
    /// caller owns it.
    pub(crate) fn make_collection(
        &self,
        database: &Database,
        name: &str,
        options: Option<CollectionOptions>,
    ) -> anywhen::Result<Collection> {
        let role = if self.is_nobody() { None } else { self.sql_role(database)? };
        database.collection_of(name, options, role)
    }

    /// True if the caller may read a collection, with its number and name.
    pub(crate) fn may_view(
        &self,
        database: &Database,
        documents: TableId,
        name: &str,
    ) -> anywhen::Result<bool> {
        if !self.rights.allow(Right::View, Some(name)) {
            return Ok(false);
        }
        Ok(self.grants(database, documents)?.is_none_or(|grants| grants.view))
    }

    /// Fails unless the caller's role has the privilege on the documents of a collection.
    pub(crate) fn must_have(
        &self,
        right: Right,
        database: &Database,
        documents: TableId,
        name: &str,
    ) -> Result<(), Problem> {
        let Some(grants) = self.grants(database, documents)? else { return Ok(()) };
        let (is_granted, privilege) = match right {
            Right::View => (grants.view, "SELECT"),
            Right::Create => (grants.create, "INSERT"),
            Right::Modify => (grants.modify, "UPDATE"),
            Right::Delete => (grants.delete, "DELETE"),
        };
        match is_granted {
            true => Ok(()),
            false => Err(self.not_granted(database, &format!("{privilege} on table {name:?}"))?),
        }
    }

    /// Fails unless the caller's role owns the table of a collection.
    pub(crate) fn must_own(
        &self,
        database: &Database,
        documents: TableId,
        name: &str,
    ) -> Result<(), Problem> {
        match self.grants(database, documents)? {
            Some(grants) if !grants.own => {
                Err(self.not_granted(database, &format!("ownership of table {name:?}"))?)
            }
            _ => Ok(()),
        }
    }

    fn not_granted(&self, database: &Database, what: &str) -> Result<Problem, Problem> {
        let denied = |text| Problem::new(StatusCode::FORBIDDEN, text);
        Ok(match self.sql_role(database)? {
            Some(role) => denied(format!("the role {role:?} does not have {what}")),
            None => {
                denied(format!("{:?} does not have {what}", self.name)).with("hint", self.hint())
            }
        })
    }

    /// The role of SQL that the caller stands for.
    ///
    /// # Errors
    /// 403 if there is no such role that may log in.
    pub(crate) fn must_stand_for(&self, database: &Database) -> Result<&str, Problem> {
        let name = &self.name;
        self.sql_role(database)?.ok_or_else(|| {
            let text = format!("{name:?} stands for no role of SQL that may log in");
            Problem::new(StatusCode::FORBIDDEN, text).with("hint", self.hint())
        })
    }

    /// Fails unless the caller may copy the whole database: a superuser or a role with `REPLICATION`, with a
    /// token that may view all collections.
    pub(crate) fn must_replicate(&self, database: &Database) -> Result<(), Problem> {
        if self.is_nobody() {
            return Ok(());
        }
        self.must(Right::View, None)?;
        let role = self.must_stand_for(database)?;
        if database.sql_role(role)?.is_some_and(|known| known.may_replicate) {
            return Ok(());
        }
        let text = format!("the role {role:?} may not take backups");
        let hint =
            "A backup is for superusers and roles with REPLICATION: ALTER ROLE ... REPLICATION.";
        Err(Problem::new(StatusCode::FORBIDDEN, text).with("hint", hint))
    }

    /// The hint of an error: how the caller can get a role of SQL.
    fn hint(&self) -> String {
        let role = &self.role;
        match self.role_from {
            RoleFrom::Token => {
                format!("The token names the role {role:?}: CREATE ROLE ... LOGIN makes it.")
            }
            _ => format!(
                "Name a role: anywhen token create --sql-role ROLE, or the claim sql_role. A token that names \
                 none stands for the role {role:?}, if there is one that may log in and is no superuser."
            ),
        }
    }

    /// Fails unless the caller has a right in a collection, or in all if none is named.
    pub(crate) fn must(&self, right: Right, collection: Option<&str>) -> Result<(), Problem> {
        if self.rights.allow(right, collection) {
            return Ok(());
        }
        let place = match collection {
            Some(name) => format!(" in collection {name:?}"),
            None => " in all collections".to_owned(),
        };
        let name = &self.name;
        Err(Problem::new(StatusCode::FORBIDDEN, format!("{name:?} has no right to {right}{place}")))
    }
}

/// Authenticates callers.
pub(crate) struct Guard {
    tokens: Option<Known>,
    signed: Option<Signed>,
    pub(crate) sessions: Sessions,
}

impl Guard {
    /// The guard of a server with these options; `has_tls` if the server speaks TLS.
    ///
    /// # Errors
    /// Fails if the file of keys is missing or is not a set of keys. A missing file of tokens has no
    /// tokens.
    pub(crate) fn new(auth: &Auth, has_tls: bool) -> std::io::Result<Self> {
        Ok(Guard {
            tokens: auth.tokens.clone().map(Known::new).transpose()?,
            signed: auth.jwt.clone().map(Signed::new).transpose()?,
            sessions: Sessions::new(has_tls),
        })
    }

    /// Fetches the keys of tokens, if the options name an address.
    ///
    /// # Errors
    /// Fails if the keys cannot be fetched.
    pub(crate) async fn fetch(&self) -> std::io::Result<()> {
        match self.signed.as_ref().and_then(Signed::remote) {
            Some(remote) => remote.fetch().await.map(drop),
            None => Ok(()),
        }
    }

    /// Fetches the keys of tokens again when they expire, if the options name an address.
    pub(crate) async fn keep(&self) {
        if let Some(remote) = self.signed.as_ref().and_then(Signed::remote) {
            remote.keep().await;
        }
    }

    /// Fetches the keys again if the token of a request is signed with an unknown key.
    pub(crate) async fn learn(&self, headers: &HeaderMap) {
        if let Some(signed) = &self.signed {
            signed.learn(headers).await;
        }
    }

    /// True if callers need no token.
    pub(crate) fn is_open(&self) -> bool {
        self.tokens.is_none() && self.signed.is_none()
    }

    /// The caller that sends these headers.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        if self.is_open() {
            return Ok(Caller::everybody());
        }
        if !headers.contains_key(AUTHORIZATION) {
            return self.signed_in(headers);
        }
        let other = || Problem::unauthorized("the header Authorization must be: Bearer TOKEN");
        self.known(bearer(headers).ok_or_else(other)?)
    }

    /// Returns the caller whose session the cookie of a request names.
    fn signed_in(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let missing = "a token is missing: send the header Authorization: Bearer TOKEN";
        let mut refusal = None;
        while let Some(token) = self.sessions.token(headers) {
            match self.known(&token) {
                Err(problem) if problem.is_unauthorized() => {
                    self.sessions.end_token(&token);
                    refusal = Some(problem);
                }
                known => return known,
            }
        }
        Err(refusal.unwrap_or_else(|| Problem::unauthorized(missing)))
    }

    /// The caller to whom a token belongs, if callers need one.
    ///
    /// # Errors
    /// 401 for a token that is unknown, revoked or expired.
    pub(crate) fn known(&self, token: &str) -> Result<Caller, Problem> {
        let now = now_us();
        let found = match (&self.tokens, &self.signed) {
            (Some(known), _) if token.starts_with(tokens::MARK) => known.find(token, now),
            (_, Some(signed)) => signed.check(token, now)?.into(),
            _ => None,
        };
        found.ok_or_else(|| Problem::unauthorized("the token is unknown, revoked or expired"))
    }
}

/// The token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The time, in microseconds since 1970.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros().try_into().unwrap_or(u64::MAX)
}

/// A file that is read again when it has changed. It is checked at most once a second.
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

    /// The content of the file. If the file cannot be read any more, the last content stays valid.
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
