//! [`Listener`]: connections before they are sessions, on a thread of their own.
//!
//! ```text
//!   accept ──> SSLRequest? ──> CancelRequest? ──> rules ──> proof ──> core with the fewest sessions
//!               TLS              cancel            │          │
//!                                                  └─ FATAL ──┘
//! ```
//!
//! Cores run statements to their end, so tasks that must run while all cores are busy run here: a request
//! to cancel first of all, and the watch over statements that run too long. Unknown clients are here as
//! well. Their time, their number and the size of their messages are limited, and each gets only a
//! buffer. Where there are too many of them, the one that has been here for the longest time is
//! disconnected: silent clients keep no others out.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use charset::Charset;
use parking_lot::Mutex;
use session::{Error, Peer, Wake};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use types::SqlState;

use crate::auth;
use crate::auth::hba::{Client, Method};
use crate::auth::scram::{self, Binding, Exchange, Verifier};
use crate::channel::{Channel, Detached};
use crate::metrics::{Counters, add};
use crate::server::Shared;
use crate::tls;
use crate::wire::backend::{self, Authentication};
use crate::wire::startup::{self, First, Start};
use crate::wire::{Frame, Inbox, Reader, frontend, violation};

/// How many connections without a session may exist beside those with one, so that a request to cancel gets
/// through when all sessions are taken. One more is accepted at the cost of the oldest one.
const HANDSHAKES_MAX: usize = 100;

/// The pause of accepting after the system had no room for one more connection.
const PAUSE: Duration = Duration::from_millis(100);

/// An admitted client, on the way to a core.
pub(crate) struct Arrival {
    pub(crate) channel: Detached,
    /// The bytes that it has sent already.
    pub(crate) inbox: Inbox,
    /// The messages that it is still to be sent.
    pub(crate) out: Vec<u8>,
    pub(crate) start: Start,
    pub(crate) peer: Peer,
    /// Its slots among sockets and sessions.
    pub(crate) slots: [Slot; 2],
}

/// One of a limited number of connection slots; free again when it is dropped.
pub(crate) struct Slot(Arc<AtomicUsize>);

impl Slot {
    /// Takes a slot; true if that is one more than there are.
    fn take_one(taken: &Arc<AtomicUsize>, slots: usize) -> (Self, bool) {
        let before = taken.fetch_add(1, Ordering::Relaxed);
        (Self(Arc::clone(taken)), before >= slots)
    }

    /// Takes a slot; `None` if all are taken.
    fn take(taken: &Arc<AtomicUsize>, slots: usize) -> Option<Self> {
        let (slot, is_one_more) = Self::take_one(taken, slots);
        (!is_one_more).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The handle of a core: the listener sends it clients, and reads how many it has.
pub(crate) struct CoreHandle {
    pub(crate) sender: UnboundedSender<Arrival>,
    pub(crate) counters: Arc<Counters>,
}

/// The listener of a server: it accepts connections, authenticates clients and gives them to cores.
pub(crate) struct Listener {
    pub(crate) shared: Arc<Shared>,
    pub(crate) cores: Vec<CoreHandle>,
    /// How many sockets are open.
    sockets: Arc<AtomicUsize>,
    /// How many sessions are open, or about to be.
    sessions: Arc<AtomicUsize>,
    handshakes: Mutex<Handshakes>,
    /// A secret from which the challenges for unknown roles are made.
    secret: String,
}

/// The connections without a session, in the order in which they came.
#[derive(Default)]
struct Handshakes {
    next: u64,
    running: BTreeMap<u64, Arc<Notify>>,
}

impl Handshakes {
    /// Adds a connection; returns its number, and the signal that disconnects it.
    fn begin(&mut self) -> (u64, Arc<Notify>) {
        self.next += 1;
        let leave = Arc::new(Notify::new());
        self.running.insert(self.next, Arc::clone(&leave));
        (self.next, leave)
    }

    /// Disconnects the oldest connection, if there is one.
    fn evict_oldest(&mut self) {
        if let Some((_, first)) = self.running.pop_first() {
            first.notify_one();
        }
    }
}

/// The reason of a refusal.
enum Refusal {
    /// The client gets this error.
    Told(Error),
    /// It has gone, or speaks something else.
    Lost(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Lost(error)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Told(error.fatal())
    }
}

fn authorization(message: String) -> Error {
    Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message).fatal()
}

impl Listener {
    pub(crate) fn new(shared: Arc<Shared>, cores: Vec<CoreHandle>) -> Arc<Self> {
        let secret = scram::nonce();
        let (sockets, sessions, handshakes) = Default::default();
        Arc::new(Self { shared, cores, sockets, sessions, handshakes, secret })
    }

    /// Accepts connections over TCP, for ever.
    pub(crate) async fn listen_tcp(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((socket, address)) => {
                    self.shared.set_up(&socket);
                    let client = SocketAddr::new(address.ip().to_canonical(), address.port());
                    let server = socket.local_addr().unwrap_or(client);
                    let peer = Peer::Tcp { client, server };
                    self.begin_handshake(Channel::tcp(socket), peer);
                }
                Err(error) => self.pause(&error).await,
            }
        }
    }

    /// Accepts connections over a socket of the file system, for ever.
    pub(crate) async fn listen_unix(self: Arc<Self>, listener: UnixListener) {
        loop {
            match listener.accept().await {
                Ok((socket, _)) => self.begin_handshake(Channel::unix(socket), Peer::Unix),
                Err(error) => self.pause(&error).await,
            }
        }
    }

    /// Accepts no connection for a while. Usually the process has no file descriptors left: the oldest connection
    /// without a session is closed, which frees one.
    async fn pause(&self, error: &io::Error) {
        tracing::error!("cannot accept a connection: {error}");
        self.handshakes.lock().evict_oldest();
        tokio::time::sleep(PAUSE).await;
    }

    /// Stops the statements and transactions whose deadline has come, for ever. It sleeps until the next
    /// deadline, or until a session sets an earlier one.
    pub(crate) async fn watch(self: Arc<Self>) {
        let earlier = Arc::new(Notify::new());
        let told = Arc::clone(&earlier);
        let wake: Arc<Wake> = Arc::new(move || told.notify_one());
        self.shared.instance.on_deadline(Arc::downgrade(&wake));
        loop {
            match self.shared.instance.watch() {
                None => earlier.notified().await,
                Some(wait) => drop(tokio::time::timeout(wait, earlier.notified()).await),
            }
        }
    }

    fn begin_handshake(self: &Arc<Self>, mut channel: Channel, peer: Peer) {
        let limits = &self.shared.options.limits;
        let (slot, is_full) =
            Slot::take_one(&self.sockets, limits.connections_max + HANDSHAKES_MAX);
        let (number, leave) = {
            let mut handshakes = self.handshakes.lock();
            if is_full {
                handshakes.evict_oldest();
            }
            handshakes.begin()
        };
        let mut handshake = Handshake {
            listener: Arc::clone(self),
            inbox: Inbox::new(limits.message_bytes_max),
            peer,
        };
        let patience = limits.authentication;
        tokio::spawn(async move {
            let outcome = tokio::select! {
                outcome = tokio::time::timeout(patience, handshake.run(&mut channel)) => outcome,
                () = leave.notified() => Ok(Err(full().into())),
            };
            handshake.listener.handshakes.lock().running.remove(&number);
            let outcome = outcome.unwrap_or_else(|_| {
                let message = "canceling authentication due to timeout";
                Err(Error::new(SqlState::QUERY_CANCELED, message).into())
            });
            match outcome {
                Ok(Some(admitted)) => return handshake.hand_over(channel, admitted, slot),
                Ok(None) => {}
                Err(Refusal::Told(error)) => {
                    add(&handshake.listener.shared.counters.connections_refused_total, 1);
                    tracing::info!(peer = %handshake.peer, "{error}");
                    let mut out = Vec::new();
                    backend::report(&mut out, Charset::UTF8, &error);
                    // A client that does not read is not waited for.
                    let telling = channel.send(&out);
                    let _ = tokio::time::timeout(PAUSE, telling).await;
                }
                Err(Refusal::Lost(error)) => tracing::debug!(peer = %handshake.peer, "{error}"),
            }
            let _ = tokio::time::timeout(PAUSE, channel.close()).await;
        });
    }
}

fn full() -> Error {
    Error::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already").fatal()
}

impl Shared {
    /// Sets a socket up: small answers leave at once, and the system finds out if the client has gone.
    fn set_up(&self, socket: &TcpStream) {
        let keepalive = TcpKeepalive::new().with_time(self.options.limits.keepalive);
        let outcome = socket
            .set_nodelay(true)
            .and_then(|()| SockRef::from(socket).set_tcp_keepalive(&keepalive));
        if let Err(error) = outcome {
            tracing::debug!("cannot set a socket up: {error}");
        }
    }
}

/// A connection before its session: TLS, the startup packet, authentication.
struct Handshake {
    listener: Arc<Listener>,
    inbox: Inbox,
    peer: Peer,
}

/// The data of an admitted client that a core needs.
struct Admitted {
    start: Start,
    out: Vec<u8>,
    session: Slot,
}

impl Handshake {
    /// Authenticates the client; `None` if it wanted no session.
    async fn run(&mut self, channel: &mut Channel) -> Result<Option<Admitted>, Refusal> {
        let Some(start) = self.start(channel).await? else {
            return Ok(None);
        };
        let shared = &self.listener.shared;
        if shared.is_stopping() {
            let message = "the database system is shutting down";
            return Err(Error::new(SqlState::CANNOT_CONNECT_NOW, message).into());
        }
        let connections_max = shared.options.limits.connections_max;
        let mut out = Vec::new();
        if start.negotiates {
            backend::negotiate(&mut out, start.minor, &start.extensions);
        }
        self.prove(channel, &start, &mut out).await?;
        // Only now: a client without a proof must not hold the slot of one with a proof.
        let Some(session) = Slot::take(&self.listener.sessions, connections_max) else {
            return Err(full().into());
        };
        backend::authentication(&mut out, Authentication::Ok);
        Ok(Some(Admitted { start, out, session }))
    }

    /// The packet that begins a session, after any requests that come before it; `None` if the client wanted something
    /// else and has got it.
    async fn start(&mut self, channel: &mut Channel) -> Result<Option<Start>, Refusal> {
        let encryption = self.listener.shared.encryption.as_ref();
        let offered = encryption.filter(|_| matches!(self.peer, Peer::Tcp { .. }));
        loop {
            if let (Some(offered), Some(first)) = (offered, self.inbox.waiting().first())
                && startup::is_tls(*first)
                && !channel.is_tls()
            {
                let config = Arc::clone(&offered.config);
                channel.secure(config, self.inbox.waiting()).await?;
                self.inbox.clear();
                if channel.agreed_protocol() != Some(tls::PROTOCOL) {
                    return Err(violation(
                        "received direct TLS connection request without ALPN \
                                          protocol negotiation extension",
                    )
                    .into());
                }
            }
            let Some(packet) = self.inbox.startup()? else {
                match channel.receive(&mut self.inbox).await? {
                    0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                    _ => continue,
                }
            };
            match First::read(packet)? {
                First::Tls => match offered {
                    Some(offered) if !channel.is_tls() => {
                        // Bytes that came before the answer may be injected by another machine.
                        if !self.inbox.is_empty() {
                            let message = "received unencrypted data after SSL request";
                            return Err(violation(message).into());
                        }
                        channel.send(b"S").await?;
                        channel.secure(Arc::clone(&offered.config), &[]).await?;
                    }
                    _ => channel.send(b"N").await?,
                },
                First::Gss => channel.send(b"N").await?,
                First::Cancel { process, secret } => {
                    add(&self.listener.shared.counters.cancel_requests_total, 1);
                    self.listener.shared.instance.cancel(process, &secret);
                    return Ok(None);
                }
                First::Start(start) => return Ok(Some(start)),
            }
        }
    }

    /// Authenticates the client by the rules of access. Messages that can wait are appended to
    /// `out`.
    async fn prove(
        &mut self,
        channel: &mut Channel,
        start: &Start,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let shared = Arc::clone(&self.listener.shared);
        let method = self.method(channel, start)?;
        let password = shared.instance.password(&start.user);
        match (method, &password) {
            // Whether there is such a role, and such a database, is checked when the session
            // begins.
            (Method::Trust, _) | (Method::Initial, None) => return Ok(()),
            _ => {}
        }
        let good = password.as_ref().filter(|password| password.is_good);
        let known = good.and_then(|password| Verifier::parse(&password.verifier));
        let checked = known
            .clone()
            .unwrap_or_else(|| Verifier::mock(&start.user, self.listener.secret.as_bytes()));
        let is_proved = match method {
            Method::Password => {
                backend::authentication(out, Authentication::CleartextPassword);
                channel.send(out).await?;
                out.clear();
                let frame = self.password(channel).await?;
                let password = frontend::password(self.inbox.body(frame))?.to_owned();
                let fits = tokio::task::spawn_blocking(move || checked.fits(&password)).await;
                fits.expect("passwords are compared without panics")
            }
            _ => self.scram(channel, checked, out).await?,
        };
        if is_proved && known.is_some() {
            return Ok(());
        }
        add(&shared.counters.authentication_failures_total, 1);
        Err(auth::failed(&start.user).into())
    }

    /// How the client is to prove who it is.
    fn method(&self, channel: &Channel, start: &Start) -> Result<Method, Error> {
        let shared = &self.listener.shared;
        let address = match self.peer {
            Peer::Tcp { client, .. } => Some(client.ip()),
            Peer::Unix | Peer::None => None,
        };
        let (user, database, is_tls) = (&start.user, &start.database, channel.is_tls());
        let encryption = if is_tls { "SSL encryption" } else { "no encryption" };
        let place = match address {
            Some(address) => format!("host \"{address}\""),
            None => "host \"[local]\"".to_owned(),
        };
        let about = format!("{place}, user \"{user}\", database \"{database}\", {encryption}");
        let must_be_tls = shared.encryption.as_ref().is_some_and(|tls| tls.is_required);
        if must_be_tls && !is_tls && address.is_some_and(|address: IpAddr| !address.is_loopback()) {
            let message = format!("pg_hba.conf rejects connection for {about}");
            return Err(authorization(message).hint("This server asks for TLS."));
        }
        match shared.options.rules.method(Client { address, is_tls, user, database }) {
            Some(Method::Reject) => {
                Err(authorization(format!("pg_hba.conf rejects connection for {about}")))
            }
            Some(Method::Password) if !is_tls => {
                Err(authorization(format!("pg_hba.conf rejects connection for {about}"))
                    .hint("A password is sent over TLS only."))
            }
            Some(method) => Ok(method),
            None => Err(authorization(format!("no pg_hba.conf entry for {about}"))),
        }
    }

    /// Runs the exchange of SCRAM; true if the proof holds.
    async fn scram(
        &mut self,
        channel: &mut Channel,
        verifier: Verifier,
        out: &mut Vec<u8>,
    ) -> Result<bool, Refusal> {
        let shared = Arc::clone(&self.listener.shared);
        let certificate = shared
            .encryption
            .as_ref()
            .filter(|_| channel.is_tls())
            .and_then(|encryption| encryption.certificate_hash.as_deref());
        let mechanisms: &[&str] =
            if certificate.is_some() { &[scram::PLUS, scram::PLAIN] } else { &[scram::PLAIN] };
        backend::authentication(out, Authentication::Sasl(mechanisms));
        channel.send(out).await?;
        out.clear();

        let frame = self.password(channel).await?;
        let mut body = Reader(self.inbox.body(frame));
        let mechanism = body.string()?;
        if !mechanisms.contains(&mechanism) {
            let message = "client selected an invalid SASL authentication mechanism";
            return Err(violation(message).into());
        }
        let length = body.int32()?;
        let message = match usize::try_from(length) {
            Ok(length) => body.bytes(length)?,
            // The client waits to be asked.
            Err(_) => return Err(violation("malformed SCRAM message").into()),
        };
        body.end()?;
        let binding = Binding { certificate };
        let exchange =
            Exchange::begin(mechanism, text(message)?, binding, verifier, &scram::nonce())?;
        backend::authentication(out, Authentication::SaslContinue(exchange.first()));
        channel.send(out).await?;
        out.clear();

        let frame = self.password(channel).await?;
        let answer = exchange.finish(text(self.inbox.body(frame))?)?;
        if let Some(answer) = &answer {
            backend::authentication(out, Authentication::SaslFinal(answer));
        }
        Ok(answer.is_some())
    }

    /// The next message, which must be a part of an authentication.
    async fn password(&mut self, channel: &mut Channel) -> Result<Frame, Refusal> {
        loop {
            // A large message of an unknown client is refused.
            if self.inbox.waiting().first().is_some_and(|kind| *kind != b'p') {
                let kind = self.inbox.waiting()[0];
                return Err(violation(format!(
                    "expected password response, got message type {kind}"
                ))
                .into());
            }
            if let Some(frame) = self.inbox.next()? {
                return Ok(frame);
            }
            if channel.receive(&mut self.inbox).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    /// Gives the connection to the core with the fewest sessions.
    fn hand_over(self, channel: Channel, admitted: Admitted, socket: Slot) {
        let Admitted { start, out, session } = admitted;
        let channel = match channel.detach() {
            Ok(channel) => channel,
            Err(error) => return tracing::error!(peer = %self.peer, "{error}"),
        };
        let cores = &self.listener.cores;
        let core = cores
            .iter()
            .min_by_key(|core| core.counters.connections.load(Ordering::Relaxed))
            .expect("there is at least one core");
        add(&core.counters.connections, 1);
        let slots = [socket, session];
        let arrival = Arrival { channel, inbox: self.inbox, out, start, peer: self.peer, slots };
        // A core that accepts no client any more is shutting down, and the connection with it.
        let _ = core.sender.send(arrival);
    }
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| violation("malformed SCRAM message"))
}
