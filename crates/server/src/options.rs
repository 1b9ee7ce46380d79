//! [`Options`]: the addresses of a server, its rules of access, and its limits.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::auth::hba::Rules;

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The addresses that it listens on. Port 0 takes any that is free: see
    /// [`Handle::addresses`](crate::Handle::addresses).
    pub listen: Vec<SocketAddr>,
    /// A socket in the file system, for clients on this machine: the folder for it, in which it is
    /// named `.s.PGSQL.5432` after the first port, as clients look for it.
    pub unix_folder: Option<PathBuf>,
    /// Encryption; without it none is offered.
    pub tls: Option<Tls>,
    /// The rules of access.
    pub rules: Rules,
    /// How many threads serve connections; 0 for one for each core.
    pub cores: usize,
    /// The limits of clients.
    pub limits: Limits,
    /// How long a client that is served alone, and that has always come back as soon, is waited for awake
    /// after an answer: to wake up takes longer than many statements do. Zero for never.
    pub busy_poll: Duration,
    /// A function that returns the free memory of the allocator to the system. The server calls it on the thread of a
    /// session after a message or an answer of 16 MiB or more.
    pub release_memory: fn(),
}

/// The limits of clients.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Sessions at the same time; one more gets 53300.
    pub connections_max: usize,
    /// Bytes of a message from a client.
    pub message_bytes_max: usize,
    /// The time from the first byte to a session, authentication included.
    pub authentication: Duration,
    /// How long statements may go on when the server shuts down. Then they are cancelled.
    pub shutdown: Duration,
    /// After how much silence a TCP keepalive is sent.
    pub keepalive: Duration,
}

/// Encryption of connections.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The file with the certificate of the server and its chain (PEM).
    pub certificate: PathBuf,
    /// The file with its private key (PEM).
    pub key: PathBuf,
    /// True if connections from other machines must be encrypted.
    pub is_required: bool,
}

impl Default for Options {
    /// This machine alone, on PostgreSQL's port, without encryption.
    fn default() -> Self {
        Self {
            listen: vec![([127, 0, 0, 1], 5432).into()],
            unix_folder: None,
            tls: None,
            rules: Rules::default(),
            cores: 0,
            limits: Limits::default(),
            busy_poll: Duration::from_micros(200),
            release_memory: || {},
        }
    }
}

impl Default for Limits {
    /// PostgreSQL's limits, but for 1,000 connections.
    fn default() -> Self {
        Self {
            connections_max: 1_000,
            message_bytes_max: (1 << 30) - 1,
            authentication: Duration::from_secs(60),
            shutdown: Duration::from_secs(10),
            keepalive: Duration::from_secs(60),
        }
    }
}

impl Tls {
    /// The bytes of the certificates and of the key.
    pub(crate) fn read(&self) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
        let read = |path: &PathBuf| {
            fs::read(path).map_err(|error| {
                std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })
        };
        Ok((read(&self.certificate)?, read(&self.key)?))
    }
}
