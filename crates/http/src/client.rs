//! [`Client`]: asks another server over HTTP/1.1, with TLS where its address begins with `https://`.
//!
//! [`Connector`] makes connections; who has a runtime of its own uses that alone, as the keys of tokens do. A
//! [`Client`] waits for each answer, and keeps its connection for the next request.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, HOST, HeaderMap};
use axum::http::{Request, StatusCode, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(20);

/// Makes connections to one server.
pub(crate) struct Connector {
    pub(crate) uri: Uri,
    place: (String, u16),
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Connector {
    /// Takes an address, and the file with the certificate authorities that are trusted for the server; without a file
    /// those that the system trusts.
    ///
    /// # Errors
    /// Fails if the address is invalid, or the certificates cannot be read.
    pub(crate) fn new(url: &str, authorities: Option<&Path>) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
        let uri: Uri = url.parse().map_err(|_| wrong("it is not an address"))?;
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (port, tls) = match uri.scheme_str() {
            Some("https") => {
                let name = ServerName::try_from(host.clone());
                let name = name.map_err(|_| wrong("it names no host"))?;
                (443, Some((TlsConnector::from(Arc::new(trusting(authorities)?)), name)))
            }
            Some("http") => (80, None),
            _ => return Err(wrong("it begins with https://")),
        };
        let place = (host, uri.port_u16().unwrap_or(port));
        Ok(Connector { uri, place, tls })
    }

    /// True without TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// The name of the host.
    pub(crate) fn host(&self) -> &str {
        &self.place.0
    }

    /// The host in the form of the `Host` header of requests.
    pub(crate) fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// Connects. The connection ends when the sender is dropped.
    pub(crate) async fn connect(&self) -> io::Result<SendRequest<Full<Bytes>>> {
        let (host, port) = &self.place;
        let stream = TcpStream::connect((host.as_str(), *port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => converse(TokioIo::new(stream)).await,
            Some((tls, name)) => {
                converse(TokioIo::new(tls.connect(name.clone(), stream).await?)).await
            }
        }
    }
}

async fn converse<S>(stream: S) -> io::Result<SendRequest<Full<Bytes>>>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    // The sender gets the errors of the connection.
    tokio::spawn(connection);
    Ok(sender)
}

/// Asks one server, one request after the other.
pub struct Client {
    runtime: tokio::runtime::Runtime,
    connector: Connector,
    token: Option<String>,
    /// The connection, while it holds.
    sender: Option<SendRequest<Full<Bytes>>>,
    patience: Duration,
}

/// The answer of the server.
#[derive(Debug)]
pub struct ClientAnswer {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: Bytes,
    headers: HeaderMap,
}

impl ClientAnswer {
    pub(crate) fn new(status: u16, headers: HeaderMap, body: Bytes) -> ClientAnswer {
        ClientAnswer { status, body, headers }
    }

    /// A header, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// True for the codes from 200 to 299.
    pub fn is_success(&self) -> bool {
        StatusCode::from_u16(self.status).is_ok_and(|status| status.is_success())
    }
}

impl Client {
    /// A client of the server at an address. The file has the certificate authorities (PEM) that are trusted for it; without
    /// one the system's are used. An answer may take as long as `patience`.
    ///
    /// # Errors
    /// Fails if the address is invalid, or the certificates cannot be read. Nothing is connected yet.
    pub fn new(
        url: &str,
        authorities: Option<&Path>,
        token: Option<String>,
        patience: Duration,
    ) -> io::Result<Client> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{url:?}: {error}"));
        let connector = Connector::new(url, authorities).map_err(named)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Client { runtime, connector, token, sender: None, patience })
    }

    /// Sends a request without a body, and waits for the answer. A connection that the server has closed meanwhile
    /// is made anew once.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, goes away, or takes too long.
    pub fn ask(&mut self, method: &str, path: &str) -> io::Result<ClientAnswer> {
        if let Some(sender) = self.sender.take() {
            match self.send(sender, method, path) {
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(error),
                Err(_) => {}
                answer => return answer,
            }
        }
        let connected = async { tokio::time::timeout(CONNECT, self.connector.connect()).await };
        let sender = self.runtime.block_on(connected).map_err(|_| io::ErrorKind::TimedOut)??;
        self.send(sender, method, path)
    }

    fn send(
        &mut self,
        mut sender: SendRequest<Full<Bytes>>,
        method: &str,
        path: &str,
    ) -> io::Result<ClientAnswer> {
        let base = self.connector.uri.path().trim_end_matches('/');
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{base}{path}"))
            .header(HOST, self.connector.authority());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::default()).map_err(io::Error::other)?;
        let asked = async {
            sender.ready().await.map_err(io::Error::other)?;
            let answer = sender.send_request(request).await.map_err(io::Error::other)?;
            let (head, body) = answer.into_parts();
            let body = Incoming::collect(body).await.map_err(io::Error::other)?.to_bytes();
            Ok::<_, io::Error>(ClientAnswer {
                status: head.status.as_u16(),
                headers: head.headers,
                body,
            })
        };
        let patience = self.patience;
        let asked = async { tokio::time::timeout(patience, asked).await };
        let answer = self.runtime.block_on(asked).map_err(|_| io::ErrorKind::TimedOut)??;
        self.sender = Some(sender);
        Ok(answer)
    }
}

/// TLS that trusts the certificates in a file, or those that the system trusts.
fn trusting(authorities: Option<&Path>) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let wrong = |error: &dyn std::fmt::Display| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
            };
            let text = std::fs::read(path).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|error| wrong(&error))?;
                roots.add(certificate).map_err(|error| wrong(&error))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"there is no certificate in it"));
            }
        }
        None => {
            // Some that cannot be read are no reason not to use the others.
            let known = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(known.certs);
            if roots.is_empty() {
                let text =
                    "the system trusts no certificates: name a file with certificate authorities";
                return Err(io::Error::new(io::ErrorKind::NotFound, text));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
