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
//! * Hosts of the same site can set the plain cookie for this one. So a session that was begun over TLS is found under
//!   the name with `__Host-` alone, and where TLS is in use the plain name is not looked at.
//! * Browsers attach cookies by themselves, so a cookie alone gives no access: the request must have a header that no
//!   page of another origin can send. CORS never allows it, so no link, form, image or script of another page can use
//!   the session. The rules for browsers ([`crate::browser`]) refuse such pages before that.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use axum::http::header::{COOKIE, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::problem::Problem;

/// How long a session lasts.
pub(crate) const SESSION_S: u64 = 8 * 3_600;
/// Sessions at the same time. One more is refused.
const SESSIONS_MAX: usize = 10_000;
/// Sessions of one token at the same time. One more ends the oldest of them, and no session of another token.
const TOKEN_SESSIONS_MAX: usize = 16;
/// The cookie; over TLS browsers let only this host set it.
const NAME: &str = "anywhen-session";
const HOST_NAME: &str = "__Host-anywhen-session";
/// Bytes of the random number.
const ID_BYTES: usize = 32;
/// The header without which the cookie is not looked at.
const MARK: HeaderName = HeaderName::from_static("anywhen-session");

/// The sessions of browsers that have signed in.
pub(crate) struct Sessions {
    by_digest: Mutex<HashMap<Digest, Session>>,
    /// True if this server itself speaks TLS.
    has_tls: bool,
}

type Digest = [u8; 32];

struct Session {
    token: String,
    ends: Instant,
    /// True if it was begun over TLS.
    is_secure: bool,
}

impl Session {
    fn is_over(&self) -> bool {
        self.ends <= Instant::now()
    }
}

fn digest_of(id: &str) -> Digest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, id.as_bytes()).as_ref());
    bytes
}

impl Sessions {
    /// No browser is signed in.
    pub(crate) fn new(has_tls: bool) -> Sessions {
        Sessions { by_digest: Mutex::default(), has_tls }
    }

    /// Begins a session of a token that holds, in the place of the one that the request belongs to; gives the value of
    /// `Set-Cookie`.
    ///
    /// # Errors
    /// 503 where as many sessions of other tokens are open as there may be, 500 if the system has no random numbers.
    pub(crate) fn begin(
        &self,
        headers: &HeaderMap,
        token: &str,
        is_secure: bool,
    ) -> Result<String, Problem> {
        let mut bytes = [0; ID_BYTES];
        let made = SystemRandom::new().fill(&mut bytes);
        made.map_err(|_| Problem::internal("the system has no random numbers"))?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let mut sessions = self.by_digest.lock();
        sessions.retain(|_, session| !session.is_over());
        // A request with a token comes from a page of this origin, or from no browser: it needs no mark here.
        self.remove(&mut sessions, headers);
        let of_token = sessions.iter().filter(|(_, session)| session.token == token);
        if of_token.clone().count() >= TOKEN_SESSIONS_MAX {
            let oldest = of_token.min_by_key(|(_, session)| session.ends);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                sessions.remove(&oldest);
            }
        }
        if sessions.len() >= SESSIONS_MAX {
            let text = format!("{SESSIONS_MAX} sessions are open, and there can be no more");
            return Err(Problem::busy(text));
        }
        let ends = Instant::now() + Duration::from_secs(SESSION_S);
        let session = Session { token: token.to_owned(), ends, is_secure };
        sessions.insert(digest_of(&id), session);
        Ok(set_cookie(&id, is_secure))
    }

    /// The token of the session that a request belongs to.
    pub(crate) fn token(&self, headers: &HeaderMap) -> Option<String> {
        if !is_marked(headers) {
            return None;
        }
        let mut sessions = self.by_digest.lock();
        self.shown(headers).into_iter().find_map(|(digest, is_secure)| {
            let session = sessions.get(&digest).filter(|found| found.is_secure == is_secure)?;
            if !session.is_over() {
                return Some(session.token.clone());
            }
            sessions.remove(&digest);
            None
        })
    }

    /// Ends the session that a request belongs to.
    pub(crate) fn end(&self, headers: &HeaderMap) {
        if is_marked(headers) {
            self.remove(&mut self.by_digest.lock(), headers);
        }
    }

    /// Ends all sessions of a token that holds no longer.
    pub(crate) fn end_token(&self, token: &str) {
        self.by_digest.lock().retain(|_, session| session.token != token);
    }

    fn remove(&self, sessions: &mut HashMap<Digest, Session>, headers: &HeaderMap) {
        for (digest, is_secure) in self.shown(headers) {
            if sessions.get(&digest).is_some_and(|found| found.is_secure == is_secure) {
                sessions.remove(&digest);
            }
        }
    }

    /// The digests of the session numbers among the cookies of a request; true beside those whose cookie only this
    /// host can have set. Where there is such a cookie, or TLS, the others are left out.
    fn shown(&self, headers: &HeaderMap) -> Vec<(Digest, bool)> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let pairs = cookies.flat_map(|cookies| cookies.split(';'));
        let mut found: Vec<(Digest, bool)> = pairs
            .filter_map(|pair| match pair.trim().split_once('=')? {
                (HOST_NAME, id) => Some((digest_of(id), true)),
                (NAME, id) => Some((digest_of(id), false)),
                _ => None,
            })
            .collect();
        let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
        let has_tls = self.has_tls || origin.is_some_and(|origin| origin.starts_with(b"https://"));
        if has_tls || found.iter().any(|(_, is_secure)| *is_secure) {
            found.retain(|(_, is_secure)| *is_secure);
        }
        found
    }
}

/// True if a request has the header that no page of another origin can send.
fn is_marked(headers: &HeaderMap) -> bool {
    headers.get(MARK).map(HeaderValue::as_bytes) == Some(b"cookie")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with cookies and the mark.
    fn request(cookies: &str) -> HeaderMap {
        let cookies = HeaderValue::from_str(cookies).expect("a header");
        HeaderMap::from_iter([(COOKIE, cookies), (MARK, HeaderValue::from_static("cookie"))])
    }

    /// Begins a session, and gives its cookie.
    fn begin(sessions: &Sessions, token: &str, is_secure: bool) -> String {
        let cookie = sessions.begin(&HeaderMap::new(), token, is_secure).expect("room");
        cookie.split(';').next().expect("a name and a value").to_owned()
    }

    /// A host of the same site sets the plain cookie for this one: over TLS it counts for nothing, whichever session
    /// it names.
    #[test]
    fn a_plain_cookie_counts_for_nothing_over_tls() {
        let sessions = Sessions::new(false);
        let planted = begin(&sessions, "evil", false);
        let secure = begin(&sessions, "ada", true);
        let token = |cookies: &str| sessions.token(&request(cookies));
        assert_eq!(token(&planted).as_deref(), Some("evil"), "without TLS there is no other");
        assert_eq!(token(&secure).as_deref(), Some("ada"));
        assert_eq!(token(&format!("{planted}; {secure}")).as_deref(), Some("ada"));
        assert_eq!(token(&format!("{planted}; {HOST_NAME}=gone")), None);
        let renamed = secure.strip_prefix("__Host-").expect("the name over TLS");
        assert_eq!(token(renamed), None, "it is found under its own name alone");
        assert_eq!(token(&format!("__Host-{planted}")), None);
        let mut asked = request(&planted);
        asked.insert(ORIGIN, HeaderValue::from_static("https://db.example"));
        assert_eq!(sessions.token(&asked), None, "the browser came by TLS");

        let sessions = Sessions::new(true);
        let planted = begin(&sessions, "evil", false);
        assert_eq!(sessions.token(&request(&planted)), None, "this server speaks TLS");
    }

    /// One more session of a token ends its own oldest one, and no other.
    #[test]
    fn a_token_has_some_sessions() {
        let sessions = Sessions::new(false);
        let other = begin(&sessions, "ada", false);
        let cookies: Vec<String> =
            (0..=TOKEN_SESSIONS_MAX).map(|_| begin(&sessions, "evil", false)).collect();
        assert_eq!(sessions.by_digest.lock().len(), 1 + TOKEN_SESSIONS_MAX);
        let token = |cookies: &str| sessions.token(&request(cookies));
        assert_eq!(token(&other).as_deref(), Some("ada"));
        assert_eq!(token(&cookies[TOKEN_SESSIONS_MAX]).as_deref(), Some("evil"));
    }

    /// Where there is no room a session is refused, and none is ended, until one is over.
    #[test]
    fn a_full_table_refuses() {
        let sessions = Sessions::new(false);
        let first = begin(&sessions, "ada", false);
        for number in 1..SESSIONS_MAX {
            let session = Session {
                token: number.to_string(),
                ends: Instant::now() + Duration::from_secs(SESSION_S),
                is_secure: false,
            };
            sessions.by_digest.lock().insert(digest_of(&number.to_string()), session);
        }
        let refused = sessions.begin(&HeaderMap::new(), "grace", false).expect_err("no room");
        assert_eq!(refused.detail(), "10000 sessions are open, and there can be no more");
        assert_eq!(sessions.token(&request(&first)).as_deref(), Some("ada"));
        if let Some(session) = sessions.by_digest.lock().get_mut(&digest_of("1")) {
            session.ends = Instant::now();
        }
        begin(&sessions, "grace", false);
    }

    /// A session that is over is passed over and forgotten; a sign-in ends the session of its own request; a token
    /// that holds no longer ends all of its sessions.
    #[test]
    fn sessions_end() {
        let sessions = Sessions::new(false);
        let (over, holds) = (begin(&sessions, "ada", false), begin(&sessions, "grace", false));
        if let Some((_, id)) = over.split_once('=')
            && let Some(session) = sessions.by_digest.lock().get_mut(&digest_of(id))
        {
            session.ends = Instant::now();
        }
        let both = request(&format!("{over}; {holds}"));
        assert_eq!(sessions.token(&both).as_deref(), Some("grace"));
        assert_eq!(sessions.by_digest.lock().len(), 1);

        sessions.begin(&request(&holds), "grace", false).expect("room");
        assert_eq!(sessions.token(&request(&holds)), None);
        begin(&sessions, "grace", false);
        begin(&sessions, "ada", false);
        assert_eq!(sessions.by_digest.lock().len(), 3);
        sessions.end_token("grace");
        assert_eq!(sessions.by_digest.lock().len(), 1);
    }
}
