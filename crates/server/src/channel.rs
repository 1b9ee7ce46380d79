//! [`Channel`]: bytes to and from one client, over TCP or a socket of the file system, encrypted or
//! not.
//!
//! ```text
//!                ┌──────────── Channel ────────────┐
//!   socket ──> raw ──> rustls ──> Inbox            │   receive
//!   socket <── sealed <── rustls <── what is said  │   send
//!                └─────────────────────────────────┘
//! ```
//!
//! TLS is rustls without a socket: bytes in, bytes out. So a channel can be taken off one runtime
//! ([`Channel::detach`]) and put on another, handshake done and all.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::{ServerConfig, ServerConnection};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::wire::Inbox;

/// Bytes that are read from a socket at once where they are to be decrypted: a little more than the
/// largest record of TLS.
const RAW_BYTES: usize = 17 << 10;

/// A connection with a client.
pub(crate) struct Channel {
    socket: Socket,
    tls: Option<Box<Secure>>,
}

/// A [`Channel`] on no runtime.
pub(crate) struct Detached {
    socket: DetachedSocket,
    tls: Option<Box<Secure>>,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

enum DetachedSocket {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

/// The state of an encrypted connection.
struct Secure {
    connection: ServerConnection,
    raw: Box<[u8]>,
    sealed: Vec<u8>,
}

fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Socket {
    fn poll_read(&mut self, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut space = ReadBuf::new(space);
        let poll = match self {
            Socket::Tcp(socket) => Pin::new(socket).poll_read(cx, &mut space),
            Socket::Unix(socket) => Pin::new(socket).poll_read(cx, &mut space),
        };
        poll.map_ok(|()| space.filled().len())
    }

    /// Asks the system rather than the runtime, which asks the system what it has heard of meanwhile.
    fn read_now(&mut self, space: &mut [u8]) -> Poll<io::Result<usize>> {
        let read = match self {
            Socket::Tcp(socket) => (&*SockRef::from(&*socket)).read(space),
            Socket::Unix(socket) => (&*SockRef::from(&*socket)).read(space),
        };
        match read {
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Poll::Pending,
                _ => Poll::Ready(Err(error)),
            },
            Ok(count) => Poll::Ready(Ok(count)),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Socket::Tcp(socket) => Pin::new(socket).poll_write(cx, bytes),
            Socket::Unix(socket) => Pin::new(socket).poll_write(cx, bytes),
        }
    }

    async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match poll_fn(|cx| self.poll_write(cx, bytes)).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => bytes = &bytes[count..],
            }
        }
        Ok(())
    }
}

impl Channel {
    /// A channel over TCP.
    pub(crate) fn tcp(socket: TcpStream) -> Self {
        Self { socket: Socket::Tcp(socket), tls: None }
    }

    /// A channel over a socket of the file system.
    pub(crate) fn unix(socket: UnixStream) -> Self {
        Self { socket: Socket::Unix(socket), tls: None }
    }

    /// True if what is sent is encrypted.
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The protocol that was agreed on in the handshake of TLS.
    pub(crate) fn agreed_protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.connection.alpn_protocol()
    }

    /// Takes the channel off the runtime that it is on.
    pub(crate) fn detach(self) -> io::Result<Detached> {
        let socket = match self.socket {
            Socket::Tcp(socket) => DetachedSocket::Tcp(socket.into_std()?),
            Socket::Unix(socket) => DetachedSocket::Unix(socket.into_std()?),
        };
        Ok(Detached { socket, tls: self.tls })
    }

    /// Waits for bytes and puts them into the inbox; 0 where no more will come.
    pub(crate) async fn receive(&mut self, inbox: &mut Inbox) -> io::Result<usize> {
        poll_fn(|cx| self.poll_receive(cx, inbox)).await
    }

    /// As [`Channel::receive`].
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        inbox: &mut Inbox,
    ) -> Poll<io::Result<usize>> {
        self.receive_by(inbox, |socket, space| socket.poll_read(cx, space))
    }

    /// As [`Channel::receive`], for bytes that have come already; more bytes wake no task.
    pub(crate) fn receive_now(&mut self, inbox: &mut Inbox) -> Poll<io::Result<usize>> {
        self.receive_by(inbox, Socket::read_now)
    }

    fn receive_by(
        &mut self,
        inbox: &mut Inbox,
        mut read: impl FnMut(&mut Socket, &mut [u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Some(tls) = &mut self.tls else {
            let count = ready!(read(&mut self.socket, inbox.space()))?;
            inbox.filled(count);
            return Poll::Ready(Ok(count));
        };
        loop {
            let (mut count, is_over) = tls.open(inbox)?;
            if count > 0 || is_over {
                return Poll::Ready(Ok(count));
            }
            let raw = ready!(read(&mut self.socket, &mut tls.raw))?;
            if raw == 0 {
                return Poll::Ready(Ok(0));
            }
            let mut start = 0;
            while start < raw {
                start += tls.connection.read_tls(&mut &tls.raw[start..raw])?;
                tls.connection.process_new_packets().map_err(broken)?;
                count += tls.open(inbox)?.0;
            }
            if count > 0 {
                return Poll::Ready(Ok(count));
            }
        }
    }

    /// Sends bytes, all of them.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return self.socket.write_all(bytes).await;
        };
        while !bytes.is_empty() {
            let count = tls.connection.writer().write(bytes)?;
            bytes = &bytes[count..];
            tls.seal()?;
            self.socket.write_all(&tls.sealed).await?;
        }
        Ok(())
    }

    /// Begins TLS. `received` is what came of the handshake already.
    ///
    /// # Errors
    /// Fails if the handshake fails; the client has got the reason.
    pub(crate) async fn secure(
        &mut self,
        config: Arc<ServerConfig>,
        received: &[u8],
    ) -> io::Result<()> {
        let mut connection = ServerConnection::new(config).map_err(broken)?;
        let mut raw = vec![0; RAW_BYTES.max(received.len())].into_boxed_slice();
        raw[..received.len()].copy_from_slice(received);
        let mut end = received.len();
        let mut sealed = Vec::new();
        while connection.is_handshaking() {
            if end == 0 {
                end = poll_fn(|cx| self.socket.poll_read(cx, &mut raw)).await?;
                if end == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            let mut start = 0;
            let mut outcome = Ok(());
            while start < end && outcome.is_ok() {
                start += connection.read_tls(&mut &raw[start..end])?;
                outcome = connection.process_new_packets().map(|_| ()).map_err(broken);
            }
            end = 0;
            sealed.clear();
            while connection.wants_write() {
                connection.write_tls(&mut sealed)?;
            }
            self.socket.write_all(&sealed).await?;
            outcome?;
        }
        self.tls = Some(Box::new(Secure { connection, raw, sealed }));
        Ok(())
    }

    /// Says farewell: that no more will be sent, so that the other side need not guess.
    pub(crate) async fn close(mut self) {
        if let Some(tls) = &mut self.tls {
            tls.connection.send_close_notify();
            if tls.seal().is_ok() {
                // A client that has gone needs no farewell.
                let _ = self.socket.write_all(&tls.sealed).await;
            }
        }
        let _ = poll_fn(|cx| match &mut self.socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_shutdown(cx),
            Socket::Unix(socket) => Pin::new(socket).poll_shutdown(cx),
        })
        .await;
    }
}

impl Detached {
    /// Puts the channel on the runtime that this is called from.
    pub(crate) fn attach(self) -> io::Result<Channel> {
        let socket = match self.socket {
            DetachedSocket::Tcp(socket) => Socket::Tcp(TcpStream::from_std(socket)?),
            DetachedSocket::Unix(socket) => Socket::Unix(UnixStream::from_std(socket)?),
        };
        Ok(Channel { socket, tls: self.tls })
    }
}

impl Secure {
    /// Moves what is decrypted to the inbox: how many bytes, and whether it was the last.
    fn open(&mut self, inbox: &mut Inbox) -> io::Result<(usize, bool)> {
        let mut count = 0;
        loop {
            match self.connection.reader().read(inbox.space()) {
                Ok(0) => return Ok((count, true)),
                Ok(more) => {
                    inbox.filled(more);
                    count += more;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok((count, false));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Encrypts what waits to be sent.
    fn seal(&mut self) -> io::Result<()> {
        self.sealed.clear();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.sealed)?;
        }
        Ok(())
    }
}
