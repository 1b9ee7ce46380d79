//! [`Options`]: the addresses of the server, its rules of access, and its limits.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::auth::Guard;
use crate::explorer::WebFile;

/// The options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The addresses that it listens on. Port 0 takes any that is free: see
    /// [`Handle::addresses`](crate::Handle::addresses).
    pub listen: Vec<SocketAddr>,
    /// Encryption; without it none is offered.
    pub tls: Option<Tls>,
    /// The rules of access.
    pub auth: Auth,
    /// How many threads serve connections; 0 for one for each core.
    pub cores: usize,
    /// Origins whose pages may call the server from a browser; `*` for any. Requests of other pages are
    /// refused.
    pub cors: Vec<String>,
    /// True if a request that changes an existing document must name its version (`If-Match`). Without it
    /// the answer is 428.
    pub require_preconditions: bool,
    /// The limits of requests.
    pub limits: Limits,
    /// Metrics of other servers in the same process, which `/metrics` shows too.
    pub more_metrics: Option<MoreMetrics>,
    /// The files of the explorer; without them browsers get the same answers as other clients.
    pub explorer: Vec<WebFile>,
    /// The template of the page with the history of a document; without it the route of that page answers 501.
    pub export_page: Option<WebFile>,
}

/// Encryption of connections.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The file with the certificate of the server and its chain (PEM).
    pub certificate: PathBuf,
    /// The file with its private key (PEM).
    pub key: PathBuf,
}

/// The rules of access. Without any, every caller is admitted, and the server refuses to listen on an address
/// that other machines can reach.
#[derive(Clone, Debug, Default)]
pub struct Auth {
    /// The file of the tokens that `anywhen token` makes.
    pub tokens: Option<PathBuf>,
    /// Tokens that others make and sign.
    pub jwt: Option<Jwt>,
}

impl Auth {
    /// True if callers need no token.
    pub fn is_open(&self) -> bool {
        self.tokens.is_none() && self.jwt.is_none()
    }
}

/// Tokens that another service makes and signs: JSON web tokens (RFC 7519) with RS256 or ES256.
#[derive(Clone, Debug)]
pub struct Jwt {
    /// The source of the keys that they are signed with.
    pub keys: KeySet,
    /// The issuer that they must have (`iss`), if it is checked.
    pub issuer: Option<String>,
    /// The audience that they must have (`aud`), if it is checked.
    pub audience: Option<String>,
}

/// The source of a set of keys (RFC 7517).
#[derive(Clone, Debug)]
pub enum KeySet {
    /// In a file; read anew when it changes.
    File(PathBuf),
    /// At an address: `https://...`, or `http://` on this machine. The server fetches the keys when it
    /// starts, then as often as `Cache-Control` says or else every hour, and, at most once a minute, when a
    /// token names an unknown key.
    Url {
        /// The address.
        url: String,
        /// The file with the certificate authorities that are trusted for it (PEM); those of the system if
        /// none is named.
        authorities: Option<PathBuf>,
    },
}

/// The limits of requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at the same time. For one more, the server closes the connection that has been idle for
    /// the longest time; if all have a request, the new one waits.
    pub connections_max: usize,
    /// Requests at the same time; one more gets 503.
    pub requests_max: usize,
    /// Threads for requests that take longer or wait for the disk.
    pub workers: usize,
    /// Requests that wait for one of them; one more gets 503.
    pub queued_max: usize,
    /// Bodies and answers that are streamed at the same time; one more gets 503.
    pub streams_max: usize,
    /// Bytes of the head of a request.
    pub header_bytes_max: usize,
    /// Bytes of a body that is held in memory: edits, patches, SQL. The patches of a request may copy as many
    /// in addition.
    pub body_bytes_max: u64,
    /// Nodes of such a body, and nodes that the patches of a request may copy in addition.
    pub body_nodes_max: u64,
    /// Bytes of a document that is put.
    pub document_bytes_max: u64,
    /// How long a statement of SQL may run before it is cancelled and the answer is 504; `None` for no limit.
    pub statement: Option<Duration>,
    /// The time from the beginning of a connection to the end of the head of its first request, and from the
    /// first byte of a later request to the end of its head.
    pub header: Duration,
    /// How long a client may send nothing inside of a body, or read nothing of an answer.
    pub idle: Duration,
    /// How long shutting down may take. Requests that are still running after four fifths of it are cancelled.
    pub shutdown: Duration,
    /// The time between two comments in a stream of changes without events.
    pub heartbeat: Duration,
}

/// Gives metrics in the text form of Prometheus.
#[derive(Clone)]
pub struct MoreMetrics(pub Arc<dyn Fn() -> String + Send + Sync>);

impl Options {
    /// Checks the options: the files of certificates and keys, keys at an address, and whether the server may
    /// listen on the addresses without tokens.
    ///
    /// # Errors
    /// As [`Server::start`](crate::Server::start), but for addresses that are taken, and where the keys
    /// cannot be fetched.
    pub fn check(&self) -> io::Result<()> {
        let guard = self.guard()?;
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(guard.fetch())
    }

    /// The guard that admits callers. It checks the files that the options name, but nothing on
    /// other machines.
    pub(crate) fn guard(&self) -> io::Result<Guard> {
        let is_local = self.listen.iter().all(|address| address.ip().is_loopback());
        if self.auth.is_open() && !is_local {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "other machines could connect, and nobody asks who they are: set up tokens, or \
                 listen on 127.0.0.1",
            ));
        }
        self.tls.as_ref().map(crate::tls::config).transpose()?;
        Guard::new(&self.auth, self.tls.is_some())
    }
}

impl fmt::Debug for MoreMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MoreMetrics")
    }
}

impl Default for Options {
    /// This machine alone, without encryption.
    fn default() -> Self {
        Self {
            listen: vec![([127, 0, 0, 1], 8080).into()],
            tls: None,
            auth: Auth::default(),
            cores: 0,
            cors: Vec::new(),
            require_preconditions: false,
            limits: Limits::default(),
            more_metrics: None,
            explorer: Vec::new(),
            export_page: None,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1_000,
            requests_max: 2_048,
            workers: 32,
            queued_max: 1_024,
            streams_max: 64,
            header_bytes_max: 64 << 10,
            body_bytes_max: 64 << 20,
            body_nodes_max: 4_000_000,
            document_bytes_max: 1 << 40,
            statement: None,
            header: Duration::from_secs(30),
            idle: Duration::from_secs(60),
            shutdown: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
        }
    }
}
