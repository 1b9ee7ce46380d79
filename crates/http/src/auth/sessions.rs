//! Sessions of the explorer: a browser that has shown a token once stays signed in when its page is loaded again.
//!
//! ```text
//!   POST /v1/session    Authorization: Bearer TOKEN      ──> Set-Cookie: anywhen-session=ID; HttpOnly; SameSite=Strict
//!   GET /...            Cookie: anywhen-session=ID
//!                       Anywhen-Session: cookie          ──> the caller of TOKEN, as if the token were sent
//!   DELETE /v1/session                                   ──> the session is gone
//! ```
//!
//! * The cookie has a random number, never the token. The server keeps its digest and the token in memory alone: a
//!   restart ends all sessions.
//! * The token is looked at with each request. A token that is revoked or expires ends the session.
//! * Browsers attach cookies by themselves, so a cookie alone lets nobody in: the request must have a header that no
//!   page of another origin can send. CORS never allows it, so no link, form, image or script of another page can use
//!   the session. The rules for browsers ([`crate::browser`]) refuse such pages before that.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use axum::http::header::{COOKIE, HeaderName};
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::problem::Problem;

/// How long a session lasts.
pub(crate) const SESSION_S: u64 = 8 * 3_600;
/// Sessions at the same time. One more ends the oldest.
const SESSIONS_MAX: usize = 10_000;
/// The cookie; over TLS browsers let nobody but this host set it.
const NAME: &str = "anywhen-session";
const HOST_NAME: &str = "__Host-anywhen-session";
/// Bytes of the random number.
const ID_BYTES: usize = 32;
/// The header without which the cookie is not looked at.
const MARK: HeaderName = HeaderName::from_static("anywhen-session");

/// Who is signed in.
#[derive(Default)]
pub(crate) struct Sessions {
    by_digest: Mutex<HashMap<[u8; 32], Session>>,
}

struct Session {
    token: String,
    began: Instant,
}

impl Session {
    fn is_over(&self) -> bool {
        self.began.elapsed() >= Duration::from_secs(SESSION_S)
    }
}

fn digest_of(id: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, id.as_bytes()).as_ref());
    bytes
}

impl Sessions {
    /// Begins a session of a token that holds; gives the value of `Set-Cookie`.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub(crate) fn begin(&self, token: &str, is_secure: bool) -> Result<String, Problem> {
        let mut bytes = [0; ID_BYTES];
        let made = SystemRandom::new().fill(&mut bytes);
        made.map_err(|_| Problem::internal("the system has no random numbers"))?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let mut sessions = self.by_digest.lock();
        sessions.retain(|_, session| !session.is_over());
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.began);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                sessions.remove(&oldest);
            }
        }
        let session = Session { token: token.to_owned(), began: Instant::now() };
        sessions.insert(digest_of(&id), session);
        Ok(set_cookie(&id, is_secure))
    }

    /// The token of the session that a request belongs to.
    pub(crate) fn token(&self, headers: &HeaderMap) -> Option<String> {
        if headers.get(MARK).map(HeaderValue::as_bytes) != Some(b"cookie") {
            return None;
        }
        let sessions = self.by_digest.lock();
        let session = ids(headers).find_map(|id| sessions.get(&digest_of(id)))?;
        (!session.is_over()).then(|| session.token.clone())
    }

    /// Ends the session that a request belongs to.
    pub(crate) fn end(&self, headers: &HeaderMap) {
        if headers.get(MARK).map(HeaderValue::as_bytes) == Some(b"cookie") {
            let mut sessions = self.by_digest.lock();
            for id in ids(headers) {
                sessions.remove(&digest_of(id));
            }
        }
    }
}

/// The session numbers among the cookies of a request.
fn ids(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';'));
    pairs.filter_map(|pair| {
        let (name, id) = pair.trim().split_once('=')?;
        [NAME, HOST_NAME].contains(&name).then_some(id)
    })
}

fn set_cookie(id: &str, is_secure: bool) -> String {
    match is_secure {
        true => format!("{HOST_NAME}={id}; HttpOnly; SameSite=Strict; Path=/; Secure"),
        false => format!("{NAME}={id}; HttpOnly; SameSite=Strict; Path=/"),
    }
}

/// The value of `Set-Cookie` that takes the cookie away.
pub(crate) fn end_cookie(is_secure: bool) -> String {
    set_cookie("", is_secure) + "; Max-Age=0"
}
