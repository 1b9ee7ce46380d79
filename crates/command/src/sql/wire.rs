//! A server of PostgreSQL's protocol as the source of answers.
//!
//! ```text
//!   postgres://user:password@host:port/database?sslmode=require&sslrootcert=ca.pem
//!        │
//!        ├─ TLS?  ── startup ── password (SCRAM-SHA-256, MD5, clear text)
//!        └─ Query, or Parse Bind Describe Execute Sync where there are parameters ──> texts of values
//! ```
//!
//! One request at a time, and everything as text: what the server shows is what the person sees. The
//! messages are made and read by `postgres-protocol`, which also knows SCRAM.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use anywhen::sql::Oid;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::source::{Answer, Block, Canceller, Head, Refusal};
use super::url::{Encryption, Url};

/// Bytes asked of the socket at a time.
const READ_BYTES: usize = 64 << 10;
/// Bytes of `COPY` data in one message.
const COPY_BYTES: usize = 64 << 10;

/// A connection to a server.
pub(super) struct Client {
    socket: Box<dyn Socket>,
    received: BytesMut,
    sent: BytesMut,
    notices: Vec<Refusal>,
    block: Block,
    url: Url,
    /// The process number and the secret that identify this connection in a request to cancel.
    key: Option<(i32, i32)>,
}

trait Socket: Read + Write {}
impl<S: Read + Write> Socket for S {}

/// The result of a request.
type Done<T> = Result<T, Refusal>;

fn lost(error: &io::Error) -> Refusal {
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed it".to_owned(),
        _ => error.to_string(),
    };
    Refusal::lost(format!("the connection was lost: {why}"))
}

fn refused(fields: ErrorFields<'_>) -> Refusal {
    let mut refusal = Refusal::default();
    let mut fields = fields;
    while let Ok(Some(field)) = fields.next() {
        let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'S' => refusal.severity = text,
            b'C' => refusal.state = text,
            b'M' => refusal.message = text,
            b'D' => refusal.detail = Some(text),
            b'H' => refusal.hint = Some(text),
            b'P' => refusal.position = text.parse().ok(),
            _ => {}
        }
    }
    refusal
}

impl Client {
    /// Connects as the URL says.
    pub(super) fn connect(url: &Url) -> Done<Client> {
        let socket = open(url).map_err(|error| {
            Refusal::lost(format!("no connection to {}: {error}", url.address()))
        })?;
        let mut client = Client {
            socket,
            received: BytesMut::new(),
            sent: BytesMut::new(),
            notices: Vec::new(),
            block: Block::None,
            url: url.clone(),
            key: None,
        };
        client.start(url)?;
        Ok(client)
    }

    fn start(&mut self, url: &Url) -> Done<()> {
        let parameters = [
            ("user", url.user.as_str()),
            ("database", &url.database),
            ("client_encoding", "UTF8"),
            ("application_name", "anywhen sql"),
        ];
        self.make(|out| frontend::startup_message(parameters, out))?;
        let no_password = || {
            let refusal = Refusal::lost("the server asks for a password".to_owned());
            refusal.hint("put it in the URL, or in the variable PGPASSWORD")
        };
        let password = || url.password.as_deref().ok_or_else(no_password);
        let mut scram = None;
        loop {
            match self.next()? {
                Message::AuthenticationOk => {}
                Message::AuthenticationCleartextPassword => {
                    let password = password()?;
                    self.make(|out| frontend::password_message(password.as_bytes(), out))?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let password = password()?.as_bytes();
                    let hash = md5_hash(url.user.as_bytes(), password, body.salt());
                    self.make(|out| frontend::password_message(hash.as_bytes(), out))?;
                }
                Message::AuthenticationSasl(_) => {
                    let binding = sasl::ChannelBinding::unsupported();
                    let first = sasl::ScramSha256::new(password()?.as_bytes(), binding);
                    let message = first.message().to_vec();
                    scram = Some(first);
                    self.make(|out| {
                        frontend::sasl_initial_response(sasl::SCRAM_SHA_256, &message, out)
                    })?;
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or_else(confused)?;
                    scram.update(body.data()).map_err(|error| lost(&error))?;
                    let message = scram.message().to_vec();
                    self.make(|out| frontend::sasl_response(&message, out))?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let scram = scram.as_mut().ok_or_else(confused)?;
                    scram.finish(body.data()).map_err(|error| lost(&error))?;
                }
                Message::ErrorResponse(body) => return Err(refused(body.fields()).ending()),
                Message::BackendKeyData(body) => {
                    self.key = Some((body.process_id(), body.secret_key()));
                }
                Message::ReadyForQuery(_) => return Ok(()),
                _ => return Err(confused()),
            }
        }
    }

    /// Tells in a sentence which server this is.
    pub(super) fn described(&self) -> String {
        let Url { user, database, host, port, .. } = &self.url;
        format!("Connected to database \"{database}\" as user \"{user}\" on {host}, port {port}.")
    }

    /// Tells whether a transaction block is open, and whether it has failed.
    pub(super) fn block(&self) -> Block {
        self.block
    }

    /// Returns a function that asks the server, over a second connection, to cancel the running statement.
    /// If the server cannot be reached, the statement goes on.
    pub(super) fn canceller(&self) -> Canceller {
        let (url, key) = (self.url.clone(), self.key);
        Box::new(move || {
            let Some((process, secret)) = key else { return };
            let mut request = BytesMut::new();
            frontend::cancel_request(process, secret, &mut request);
            if let Ok(mut socket) = open(&url) {
                let sent = socket.write_all(&request).and_then(|()| socket.flush());
                // The server closes the connection once it has read the request.
                let _ = sent.and_then(|()| socket.read(&mut [0]));
            }
        })
    }

    /// The notices since the last call.
    pub(super) fn notices(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.notices)
    }

    /// Runs a statement, with parameters as texts.
    pub(super) fn query(&mut self, text: &str, parameters: &[&str]) -> Done<Answer> {
        self.ask(text, parameters)?;
        let mut answer = Answer::default();
        self.until_ready(|client, message| {
            match message {
                Message::RowDescription(body) => {
                    let mut fields = body.fields();
                    answer.heads.clear();
                    while let Some(field) = fields.next().map_err(|error| lost(&error))? {
                        let (name, ty) = (field.name().to_owned(), Oid(field.type_oid()));
                        answer.heads.push(Head { name, ty });
                    }
                }
                Message::DataRow(body) => {
                    let mut row = Vec::with_capacity(answer.heads.len());
                    let mut ranges = body.ranges();
                    while let Some(range) = ranges.next().map_err(|error| lost(&error))? {
                        let text = |range| String::from_utf8_lossy(&body.buffer()[range]).into();
                        row.push(range.map(text));
                    }
                    answer.rows.push(row);
                }
                Message::CommandComplete(body) => {
                    answer.tag = body.tag().map_err(|error| lost(&error))?.to_owned();
                }
                Message::CopyInResponse(_) => {
                    client.make(|out| frontend::copy_fail("no data is at hand", out))?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(answer)
    }

    /// Runs `COPY ... FROM STDIN`; returns the number of rows.
    pub(super) fn copy_in(&mut self, text: &str, from: &mut dyn Read) -> Done<u64> {
        self.ask(text, &[])?;
        let mut rows = 0;
        self.until_ready(|client, message| {
            match message {
                Message::CopyInResponse(_) => client.give(from)?,
                Message::CommandComplete(body) => rows = count(body.tag().unwrap_or_default()),
                _ => {}
            }
            Ok(())
        })?;
        Ok(rows)
    }

    fn give(&mut self, from: &mut dyn Read) -> Done<()> {
        let mut bytes = vec![0; COPY_BYTES];
        loop {
            match from.read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => {
                    let data = frontend::CopyData::new(&bytes[..read]).map_err(|e| lost(&e))?;
                    data.write(&mut self.sent);
                    self.send()?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return self
                        .make(|out| frontend::copy_fail(&format!("could not read: {error}"), out));
                }
            }
        }
        frontend::copy_done(&mut self.sent);
        self.send()
    }

    /// Runs `COPY ... TO STDOUT`; returns the number of rows.
    pub(super) fn copy_out(&mut self, text: &str, to: &mut dyn Write) -> Done<u64> {
        self.ask(text, &[])?;
        let (mut rows, mut failed) = (0, None);
        self.until_ready(|_, message| {
            match message {
                Message::CopyData(body) if failed.is_none() => {
                    failed = to.write_all(body.data()).err();
                }
                Message::CommandComplete(body) => rows = count(body.tag().unwrap_or_default()),
                _ => {}
            }
            Ok(())
        })?;
        match failed {
            Some(error) => Err(Refusal::of("58030", format!("could not write: {error}"))),
            None => Ok(rows),
        }
    }

    /// Sends a statement.
    fn ask(&mut self, text: &str, parameters: &[&str]) -> Done<()> {
        if parameters.is_empty() {
            return self.make(|out| frontend::query(text, out));
        }
        self.make(|out| {
            frontend::parse("", text, [], out)?;
            let write = |value: &&str, out: &mut BytesMut| {
                out.extend_from_slice(value.as_bytes());
                Ok(IsNull::No)
            };
            frontend::bind("", "", [], parameters, write, [], out).map_err(
                |error| match error {
                    frontend::BindError::Serialization(error) => io::Error::other(error),
                    frontend::BindError::Conversion(error) => io::Error::other(error),
                },
            )?;
            frontend::describe(b'P', "", out)?;
            frontend::execute("", 0, out)?;
            frontend::sync(out);
            Ok(())
        })
    }

    /// Reads messages until the server waits for the next request. Fails with the first error that the server
    /// reports.
    fn until_ready(&mut self, mut f: impl FnMut(&mut Client, Message) -> Done<()>) -> Done<()> {
        let mut failed = None;
        loop {
            match self.next()? {
                Message::ReadyForQuery(body) => {
                    self.block = match body.status() {
                        b'I' => Block::None,
                        b'E' => Block::Failed,
                        _ => Block::Open,
                    };
                    return failed.map_or(Ok(()), Err);
                }
                Message::ErrorResponse(body) => {
                    let refusal = refused(body.fields());
                    if refusal.severity == "FATAL" || refusal.severity == "PANIC" {
                        return Err(refusal.ending());
                    }
                    failed.get_or_insert(refusal);
                }
                message => f(self, message)?,
            }
        }
    }

    /// The next message that is about the request.
    fn next(&mut self) -> Done<Message> {
        loop {
            match Message::parse(&mut self.received).map_err(|error| lost(&error))? {
                Some(Message::NoticeResponse(body)) => self.notices.push(refused(body.fields())),
                Some(Message::NotificationResponse(body)) => {
                    let (channel, text) = (body.channel(), body.message());
                    let (channel, text) = (channel.unwrap_or_default(), text.unwrap_or_default());
                    let message = format!("notification on channel \"{channel}\": {text}");
                    self.notices.push(Refusal {
                        severity: "NOTICE".into(),
                        message,
                        ..Refusal::default()
                    });
                }
                Some(Message::ParameterStatus(_)) => {}
                Some(message) => return Ok(message),
                None => {
                    let held = self.received.len();
                    self.received.resize(held + READ_BYTES, 0);
                    let read = self.socket.read(&mut self.received[held..]);
                    let read = read.and_then(|read| match read {
                        0 => Err(io::ErrorKind::UnexpectedEof.into()),
                        read => Ok(read),
                    });
                    self.received.truncate(held + *read.as_ref().unwrap_or(&0));
                    read.map_err(|error| lost(&error))?;
                }
            }
        }
    }

    /// Makes messages and sends them.
    fn make(&mut self, f: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> Done<()> {
        self.sent.clear();
        f(&mut self.sent).map_err(|error| Refusal::of("22021", error.to_string()))?;
        self.send()
    }

    fn send(&mut self) -> Done<()> {
        let sent = self.socket.write_all(&self.sent).and_then(|()| self.socket.flush());
        self.sent.clear();
        sent.map_err(|error| lost(&error))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        frontend::terminate(&mut self.sent);
        // The other side is gone.
        let _ = self.send();
    }
}

fn confused() -> Refusal {
    Refusal::lost("the server does not speak PostgreSQL's protocol as it should".to_owned())
}

/// The number at the end of a tag.
fn count(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A socket to the server, encrypted where the URL asks for it or the server offers it.
fn open(url: &Url) -> io::Result<Box<dyn Socket>> {
    if let Some(path) = url.unix_socket() {
        return Ok(Box::new(UnixStream::connect(path)?));
    }
    let mut tcp = TcpStream::connect((url.host.as_str(), url.port))?;
    tcp.set_nodelay(true)?;
    if url.encryption == Encryption::Disable {
        return Ok(Box::new(tcp));
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    tcp.write_all(&request)?;
    let mut answer = [0];
    tcp.read_exact(&mut answer)?;
    if answer != *b"S" {
        return match url.encryption {
            Encryption::Prefer => Ok(Box::new(tcp)),
            _ => Err(io::Error::other("the server offers no encryption, and sslmode asks for it")),
        };
    }
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match &url.root_certificate {
        Some(path) => {
            let mut roots = RootCertStore::empty();
            let certificates = CertificateDer::pem_file_iter(path).map_err(io::Error::other)?;
            for certificate in certificates {
                let certificate = certificate.map_err(io::Error::other)?;
                roots.add(certificate).map_err(io::Error::other)?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        None if url.encryption == Encryption::VerifyFull => {
            return Err(io::Error::other("sslmode=verify-full needs sslrootcert=FILE"));
        }
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
            .with_no_client_auth(),
    };
    let name = ServerName::try_from(url.host.clone()).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(Box::new(rustls::StreamOwned::new(connection, tcp)))
}

/// Accepts any certificate, as PostgreSQL's clients do without a root certificate. The connection is
/// protected against eavesdroppers, but not against a process that pretends to be the server.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
