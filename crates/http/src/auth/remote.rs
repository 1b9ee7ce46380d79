//! Keys at an address: fetched when the server starts, renewed from time to time, and fetched at once
//! where a token names an unknown key, because its signer has begun to use a new one.
//!
//! ```text
//!   start ──fetch──> keys ──as long as Cache-Control says, or an hour──> fetch ──> ...
//!                      │ a token names a key that is not known: fetch, once a minute at most
//!                      │ no answer, or no keys in it: what was there holds, and a minute later again
//! ```
//!
//! The server of the keys decides about access: without TLS only this machine is asked.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use axum::http::header::{ACCEPT, CACHE_CONTROL, HOST, HeaderMap};
use http_body_util::{BodyExt, Full, Limited};
use parking_lot::RwLock;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

use super::keys::{Named, read};
use crate::client::Connector;

/// How long keys are good where nothing is said.
const HOUR: Duration = Duration::from_secs(3_600);
/// The shortest time between two fetches: after one that failed, after one for an unknown key, and where
/// the address would be asked all the time.
const PAUSE: Duration = Duration::from_secs(60);
/// The longest time between two fetches, whatever is said.
const DAY: Duration = Duration::from_secs(86_400);
/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(10);
/// Sets of keys are not longer than this.
const BYTES_MAX: usize = 1 << 20;

/// Keys at an address.
pub(super) struct Remote {
    connector: Connector,
    keys: RwLock<Arc<Vec<Named>>>,
    /// The fetching task holds it: when it last fetched for an unknown key.
    renewed: Mutex<Option<Instant>>,
    /// Closed when the keys have been asked for the first time, by [`Remote::keep`].
    begun: Semaphore,
}

impl Remote {
    /// # Errors
    /// Fails if the address is not allowed, or the certificates cannot be read.
    pub(super) fn new(url: &str, authorities: Option<&Path>) -> io::Result<Self> {
        let wrong = |what: &str| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("keys at {url:?}: {what}"))
        };
        let connector = Connector::new(url, authorities);
        let connector = connector.map_err(|error| wrong(&error.to_string()))?;
        if connector.is_plain() && !is_here(connector.host()) {
            return Err(wrong("without TLS only this machine is asked: https://"));
        }
        let keys = RwLock::default();
        let (renewed, begun) = (Mutex::new(None), Semaphore::new(0));
        Ok(Remote { connector, keys, renewed, begun })
    }

    /// The keys as they are known; none before the first came.
    pub(super) fn keys(&self) -> Arc<Vec<Named>> {
        Arc::clone(&self.keys.read())
    }

    /// Keeps the keys new, for ever.
    pub(super) async fn keep(&self) {
        loop {
            let turn = self.renewed.lock().await;
            let pause = self.fetch().await.unwrap_or(PAUSE);
            drop(turn);
            self.begun.close();
            tokio::time::sleep(pause).await;
        }
    }

    /// Fetches the keys, because one is not among `known`; not where that was done less than a minute
    /// ago, or others have come meanwhile.
    pub(super) async fn renew(&self, known: &Arc<Vec<Named>>) {
        // A request that comes before the first keys waits for them; an error of the semaphore
        // tells it that they are here.
        let _ = self.begun.acquire().await;
        let mut renewed = self.renewed.lock().await;
        let is_new = !Arc::ptr_eq(known, &self.keys());
        if is_new || renewed.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        *renewed = Some(Instant::now());
        // The error is in the log; the token is not known then.
        let _ = self.fetch().await;
    }

    /// Fetches the keys; gives for how long they are good.
    ///
    /// # Errors
    /// Fails if no server answers, or the answer is not a list of keys; the known keys then stay valid.
    pub(super) async fn fetch(&self) -> io::Result<Duration> {
        let asked = match tokio::time::timeout(PATIENCE, self.ask()).await {
            Ok(asked) => asked,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        let named = |error: io::Error| {
            let error =
                io::Error::new(error.kind(), format!("keys at {}: {error}", self.connector.uri));
            tracing::error!("{error}");
            error
        };
        let (keys, pause) = asked.map_err(named)?;
        *self.keys.write() = Arc::new(keys);
        Ok(pause)
    }

    async fn ask(&self) -> io::Result<(Vec<Named>, Duration)> {
        let path = self.connector.uri.path_and_query().map_or("/", |path| path.as_str());
        let request = Request::get(path)
            .header(HOST, self.connector.authority())
            .header(ACCEPT, "application/jwk-set+json, application/json")
            .body(Full::default())
            .map_err(io::Error::other)?;
        let mut sender = self.connector.connect().await?;
        let answer = sender.send_request(request).await.map_err(io::Error::other)?;
        if !answer.status().is_success() {
            return Err(io::Error::other(format!("the answer is {}", answer.status())));
        }
        let pause = good_for(answer.headers());
        let body = Limited::new(answer.into_body(), BYTES_MAX).collect().await;
        Ok((read(&body.map_err(io::Error::other)?.to_bytes())?, pause))
    }
}

/// True for the names of this machine.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

/// How long an answer says that it is good.
fn good_for(headers: &HeaderMap) -> Duration {
    let text = headers.get(CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut age = HOUR;
    for word in text.split(',').map(str::trim) {
        match word.split_once('=') {
            Some((name, seconds)) if name.eq_ignore_ascii_case("max-age") => {
                age = seconds.trim_matches('"').parse().map_or(age, Duration::from_secs);
            }
            None if ["no-store", "no-cache"].iter().any(|no| word.eq_ignore_ascii_case(no)) => {
                return PAUSE;
            }
            _ => {}
        }
    }
    age.clamp(PAUSE, DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long keys are good follows from what is said, within bounds.
    #[test]
    fn as_long_as_is_said() {
        for (text, seconds) in [
            ("", 3_600),
            ("public, max-age=7200", 7_200),
            ("Max-Age=\"300\"", 300),
            ("max-age=1", 60),
            ("max-age=99999999", 86_400),
            ("max-age=soon", 3_600),
            ("no-store", 60),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CACHE_CONTROL, text.parse().expect("a header"));
            assert_eq!(good_for(&headers), Duration::from_secs(seconds), "{text}");
        }
        assert_eq!(good_for(&HeaderMap::new()), HOUR);
    }

    /// Without TLS only this machine is believed.
    #[test]
    fn whom_it_asks() {
        let refused = |url: &str| Remote::new(url, None).err().expect("it is refused").to_string();
        assert!(refused("http://example.org/keys").contains("https://"));
        assert!(refused("ftp://example.org/keys").contains("https://"));
        assert!(refused("keys.json").contains("https://"));
        assert!(refused("not an address").contains("is not an address"));
        for url in ["http://127.0.0.1:1/keys", "http://localhost/", "http://[::1]:1/keys"] {
            assert!(Remote::new(url, None).is_ok(), "{url}");
        }
    }
}
