//! The address of a session's client.

use std::fmt;
use std::net::SocketAddr;

use types::{Datum, Inet};

/// Where a client is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Peer {
    /// In the same process, or behind a server of another protocol.
    #[default]
    None,
    /// On this machine, behind a socket of the file system.
    Unix,
    /// On a machine of the network.
    Tcp {
        /// The address and port of the client.
        client: SocketAddr,
        /// The address and port to which it has connected.
        server: SocketAddr,
    },
}

/// The address as logs show it: without the port, and `[local]` for a client that has none.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Tcp { client, .. } => client.ip().fmt(f),
            Peer::Unix | Peer::None => f.write_str("[local]"),
        }
    }
}

impl Peer {
    /// The address of the client: `client_addr`.
    pub(crate) fn client_address(self) -> Datum {
        self.tcp().map_or(Datum::Null, |(client, _)| address(client))
    }

    /// The port of the client, -1 where a socket has none: `client_port`.
    pub(crate) fn client_port(self) -> Datum {
        match self {
            Peer::None => Datum::Null,
            Peer::Unix => Datum::Int4(-1),
            Peer::Tcp { client, .. } => Datum::Int4(client.port().into()),
        }
    }

    /// The addresses and ports of the client and the server, where they have any.
    pub(crate) fn tcp(self) -> Option<(SocketAddr, SocketAddr)> {
        match self {
            Peer::Tcp { client, server } => Some((client, server)),
            Peer::None | Peer::Unix => None,
        }
    }
}

/// The address without the port, as an `inet`.
pub(crate) fn address(of: SocketAddr) -> Datum {
    Inet::of_host(of.ip().to_canonical()).into()
}

/// The port, as an `integer`.
pub(crate) fn port(of: SocketAddr) -> Datum {
    Datum::Int4(of.port().into())
}
