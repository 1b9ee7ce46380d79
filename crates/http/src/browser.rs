//! [`BrowserRules`]: the server refuses requests of web pages whose origin it does not allow. A page of any
//! origin can have its browser send requests to this machine, past every firewall.
//!
//! ```text
//!   a page of https://evil.example ──> browser ──> 127.0.0.1:8080
//!                                        │
//!                                        ├─ Host: evil.example        its name resolves to this machine   421
//!                                        ├─ Origin: https://evil...   in every request but GET and HEAD   403
//!                                        ├─ Sec-Fetch-Site: cross-site         in every request           403
//!                                        └─ Content-Type: text/plain   what a form can send               415
//! ```
//!
//! * **Host.** If callers need no token, the server answers to names of this machine alone: `localhost` and
//!   loopback addresses. A page whose name was pointed at this machine after it had been loaded (DNS
//!   rebinding) has the same origin for its browser, and could read all answers. If callers need a token,
//!   the name does not matter, because such a page has no token.
//! * **Origin.** Browsers name the origin of a page in every request but GET and HEAD, and in those whose
//!   answer a page wants to read across origins (Fetch standard, "append a request `Origin` header").
//! * **Sec-Fetch-Site.** Browsers tell with every request how the page is related to the server: this covers
//!   images, frames, links and redirects as well, which have no `Origin`.
//! * **Content-Type.** A page needs no permission for the types that HTML forms send, or for none. No
//!   operation takes a body of such a type. [`is_of_form`] is for operations without a body.
//!
//! A request without any of these headers does not come from a browser. The server applies these rules to every
//! request before it is routed, so no route can forget them.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Version};

use crate::problem::Problem;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The types of bodies that a page may send anywhere without asking (Fetch standard, "CORS-safelisted
/// request-header").
const OF_FORMS: [&str; 3] =
    ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// The rules for requests of web pages.
pub(crate) struct BrowserRules {
    /// True if callers need no token.
    is_open: bool,
    /// True if pages of any origin are allowed.
    is_any: bool,
    /// Origins that are allowed.
    origins: Vec<String>,
}

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// HTTP/1.1 without a host.
    NoHost,
    /// It is addressed to a name that does not belong to this machine.
    Host,
    /// A page of an origin that is not allowed made it.
    Origin,
}

impl BrowserRules {
    pub(crate) fn new(origins: &[String], is_open: bool) -> BrowserRules {
        let is_any = origins.iter().any(|origin| origin == "*");
        BrowserRules { is_open, is_any, origins: origins.to_vec() }
    }

    /// Checks the head of a request.
    ///
    /// # Errors
    /// Returns the reason if the request is refused.
    pub(crate) fn admit<B>(&self, request: &Request<B>) -> Result<(), Refused> {
        if self.is_open {
            local(request)?;
        }
        let headers = request.headers();
        let mut is_allowed = self.is_any;
        for origin in headers.get_all(ORIGIN) {
            let is_listed = self.is_listed(origin);
            if !is_listed && !is_own(origin, request) {
                return Err(Refused::Origin);
            }
            is_allowed |= is_listed;
        }
        match headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes) {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) if is_allowed => Ok(()),
            Some(_) => Err(Refused::Origin),
        }
    }

    fn is_listed(&self, origin: &HeaderValue) -> bool {
        self.is_any || self.origins.iter().any(|known| origin == known.as_str())
    }
}

impl Refused {
    pub(crate) fn problem(self) -> Problem {
        match self {
            Refused::NoHost => Problem::bad("the request does not say which host it is for"),
            Refused::Host => Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                "without tokens the server answers to localhost and loopback addresses only: \
                 another name may be that of a web page",
            ),
            Refused::Origin => Problem::new(
                StatusCode::FORBIDDEN,
                "a web page of another origin made this request: --http-cors names the origins \
                 that may",
            ),
        }
    }
}

/// Fails unless every host that a request names is a name of this machine. A request of HTTP/1.0 need not name one.
fn local<B>(request: &Request<B>) -> Result<(), Refused> {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    let hosts = request.headers().get_all(HOST).iter();
    let hosts = hosts.map(|host| host.to_str().unwrap_or_default());
    let mut is_named = false;
    for name in authority.into_iter().chain(hosts) {
        if !is_loopback(name) {
            return Err(Refused::Host);
        }
        is_named = true;
    }
    match is_named || request.version() < Version::HTTP_11 {
        true => Ok(()),
        false => Err(Refused::NoHost),
    }
}

/// True if every resolver takes a host, with or without a port, for this machine.
fn is_loopback(authority: &str) -> bool {
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((address, rest)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'))
    {
        let is_ended = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        let address = address.parse::<Ipv6Addr>();
        return is_ended && address.is_ok_and(|address| address.to_canonical().is_loopback());
    }
    let (name, port) = authority.split_once(':').unwrap_or((authority, ""));
    let is_name = name.eq_ignore_ascii_case("localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    is_name && is_port(port)
}

/// True if an origin is that of the server itself, as the request addresses it.
fn is_own<B>(origin: &HeaderValue, request: &Request<B>) -> bool {
    let Some((_, origin)) = origin.to_str().ok().and_then(|origin| origin.split_once("://")) else {
        return false;
    };
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let authority = request.uri().authority().map(|authority| authority.as_str());
    authority.or(host).is_some_and(|host| host.eq_ignore_ascii_case(origin))
}

/// True if a body is of a type that a page may send without asking.
pub(crate) fn is_of_form(headers: &HeaderMap) -> bool {
    let types = headers.get_all(axum::http::header::CONTENT_TYPE).iter();
    types.map(essence).any(|given| OF_FORMS.contains(&given.as_str()))
}

/// A type without its parameters, in small letters.
pub(crate) fn essence(value: &HeaderValue) -> String {
    let text = value.to_str().unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(pages: &BrowserRules, headers: &[(&str, &str)]) -> Result<(), Refused> {
        let mut request = Request::builder().uri("/v1/sql");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        pages.admit(&request.body(()).expect("a request"))
    }

    /// Names that lead to this machine wherever they are looked up are local; all others may be those of a
    /// page, even where they look like it.
    #[test]
    fn hosts() {
        for (host, is_local) in [
            ("localhost", true),
            ("LocalHost:8080", true),
            ("127.0.0.1", true),
            ("127.0.0.1:8080", true),
            ("127.8.9.10:1", true),
            ("[::1]", true),
            ("[::1]:8080", true),
            ("[0:0:0:0:0:0:0:1]:80", true),
            ("[::ffff:127.0.0.1]", true),
            ("", false),
            ("evil.example", false),
            ("evil.example:8080", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example:8080", false),
            ("127.1", false),
            ("0.0.0.0:8080", false),
            ("128.0.0.1", false),
            ("[::2]", false),
            ("[::1].evil.example", false),
            ("[::1]:8080.evil.example", false),
            ("::1", false),
            ("localhost:evil", false),
            ("evil@localhost", false),
            ("localhost@evil.example", false),
        ] {
            assert_eq!(is_loopback(host), is_local, "{host:?}");
            let pages = BrowserRules::new(&[], true);
            assert_eq!(admitted(&pages, &[("host", host)]).is_ok(), is_local, "{host:?}");
            let pages = BrowserRules::new(&[], false);
            assert_eq!(admitted(&pages, &[("host", host)]), Ok(()), "a token is asked for anyway");
        }
        let pages = BrowserRules::new(&[], true);
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(admitted(&pages, &twice), Err(Refused::Host));
        assert_eq!(admitted(&pages, &[]), Err(Refused::NoHost));
        let old = Request::builder().version(Version::HTTP_10).uri("/").body(());
        assert_eq!(pages.admit(&old.expect("a request")), Ok(()));
        for (uri, is_local) in [("http://localhost:8080/", true), ("http://evil.example/", false)] {
            let request = Request::builder().version(Version::HTTP_2).uri(uri).body(());
            assert_eq!(pages.admit(&request.expect("a request")).is_ok(), is_local, "{uri}");
        }
    }

    /// A page is answered where its origin is the server's own or allowed, and what browsers tell of it
    /// without an origin does not say that it is another.
    #[test]
    fn origins() {
        const OURS: (&str, &str) = ("host", "127.0.0.1:8080");
        let list = ["https://app.example".to_owned()];
        for is_open in [true, false] {
            let (none, some) = (BrowserRules::new(&[], is_open), BrowserRules::new(&list, is_open));
            let any = BrowserRules::new(&["*".to_owned()], is_open);
            for (headers, by_none, by_some) in [
                (vec![], true, true),
                (vec![("origin", "http://127.0.0.1:8080")], true, true),
                (vec![("origin", "http://127.0.0.1:8081")], false, false),
                (vec![("origin", "http://localhost:8080")], false, false),
                (vec![("origin", "https://evil.example")], false, false),
                (vec![("origin", "null")], false, false),
                (vec![("origin", "")], false, false),
                (vec![("origin", "https://app.example")], false, true),
                (vec![("origin", "https://app.example.evil.example")], false, false),
                (vec![("origin", "http://app.example")], false, false),
                (vec![("sec-fetch-site", "none")], true, true),
                (vec![("sec-fetch-site", "same-origin")], true, true),
                (vec![("sec-fetch-site", "same-site")], false, false),
                (vec![("sec-fetch-site", "cross-site")], false, false),
                (vec![("sec-fetch-site", "of tomorrow")], false, false),
                (
                    vec![("origin", "https://app.example"), ("sec-fetch-site", "cross-site")],
                    false,
                    true,
                ),
                (
                    vec![("origin", "http://127.0.0.1:8080"), ("sec-fetch-site", "cross-site")],
                    false,
                    false,
                ),
            ] {
                let headers = [vec![OURS], headers].concat();
                assert_eq!(admitted(&none, &headers).is_ok(), by_none, "{headers:?}");
                assert_eq!(admitted(&some, &headers).is_ok(), by_some, "{headers:?}");
                assert_eq!(admitted(&any, &headers), Ok(()), "{headers:?}");
            }
        }
    }

    /// Types are those of forms whatever is said behind them.
    #[test]
    fn types() {
        for (text, is_simple) in [
            ("text/plain", true),
            ("Text/Plain; charset=utf-8", true),
            ("text/plain;application/json", true),
            ("multipart/form-data; boundary=x", true),
            ("application/x-www-form-urlencoded", true),
            ("application/json", false),
            ("application/merge-patch+json", false),
        ] {
            let headers = HeaderMap::from_iter([(
                axum::http::header::CONTENT_TYPE,
                HeaderValue::from_static(text),
            )]);
            assert_eq!(is_of_form(&headers), is_simple, "{text}");
        }
    }
}
