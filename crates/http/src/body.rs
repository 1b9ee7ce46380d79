//! Bodies of requests: a short body as one buffer, a long one as a stream that a thread may read.
//!
//! ```text
//!   socket ──frames──> a task ──channel of 4──> Stream (a reader) ──> the parser of documents
//! ```
//!
//! A body with `Content-Encoding: gzip` is decompressed as it is read: limits are those of the decompressed bytes.
//!
//! Invariant: no more of a body is in memory than a few frames, or its limit.

use std::io::{self, Read};
use std::time::Duration;

use anywhen::Database;
use anywhen::sql::SpooledBytes;
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap};
use bytes::{Buf, Bytes};
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt;
use tokio::sync::mpsc;

use crate::failures::{BodyTooLarge, NoGzip};
use crate::problem::Problem;

/// Bodies that say that they are no longer than this are taken as a whole.
const WHOLE_BYTES_MAX: u64 = 256 << 10;

/// So many bytes of a body that is read to its end first stay in memory.
const SPOOLED_BYTES_MAX: usize = 1 << 20;

/// How the bytes of a body are encoded (RFC 9110, section 8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    /// The coding that the headers of a request name.
    ///
    /// # Errors
    /// 415 for a coding that the server does not know, and for several.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Coding, Problem> {
        let values = headers.get_all(CONTENT_ENCODING).iter();
        let listed = values.flat_map(|value| value.to_str().unwrap_or("?").split(','));
        let mut named = listed.map(|name| name.trim().to_ascii_lowercase());
        let mut named = named.by_ref().filter(|name| !name.is_empty() && name != "identity");
        match (named.next().as_deref(), named.next()) {
            (None, _) => Ok(Coding::Identity),
            (Some("gzip" | "x-gzip"), None) => Ok(Coding::Gzip),
            (Some(name), _) => {
                let text = format!(
                    "Content-Encoding {name:?} is not supported: it can be gzip or identity"
                );
                Err(Problem::unsupported_media(text).header(ACCEPT_ENCODING, "gzip, identity"))
            }
        }
    }
}

/// The body of a request.
pub(crate) enum Input {
    None,
    Whole(Bytes),
    Stream(Stream),
    Gzip(Box<Gunzip>),
    /// All of it has come: the first bytes are in memory, the others in a temporary file.
    Spooled(SpooledBytes),
}

/// A body that is decompressed while it is read.
pub(crate) struct Gunzip {
    decoder: MultiGzDecoder<Packed>,
    bytes_max: u64,
    bytes_left: u64,
}

/// The bytes of a body as they come.
enum Packed {
    Whole(io::Cursor<Bytes>),
    Stream(Stream),
}

impl Read for Packed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Packed::Whole(bytes) => bytes.read(buffer),
            Packed::Stream(stream) => stream.read(buffer),
        }
    }
}

impl Gunzip {
    fn new(packed: Packed, bytes_max: u64) -> Gunzip {
        Gunzip { decoder: MultiGzDecoder::new(packed), bytes_max, bytes_left: bytes_max }
    }

    /// All that is left.
    fn all(mut self) -> io::Result<Bytes> {
        let mut all = Vec::new();
        self.read_to_end(&mut all)?;
        Ok(all.into())
    }
}

impl Read for Gunzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let count = self.decoder.read(buffer).map_err(|error| match error.kind() {
            // Errors of the connection are of other kinds.
            InvalidData | InvalidInput | UnexpectedEof => io::Error::other(NoGzip(error)),
            _ => error,
        })?;
        match self.bytes_left.checked_sub(count as u64) {
            Some(left) => {
                self.bytes_left = left;
                Ok(count)
            }
            None => Err(io::Error::other(BodyTooLarge { bytes_max: self.bytes_max })),
        }
    }
}

impl Input {
    /// Takes a body that is needed as a whole.
    pub(crate) async fn whole(body: Body, bytes_max: u64, idle: Duration) -> Result<Self, Problem> {
        Ok(Input::Whole(gather(body, bytes_max, idle).await?))
    }

    /// Takes a body of any length.
    pub(crate) async fn stream(
        body: Body,
        bytes_max: u64,
        idle: Duration,
    ) -> Result<Self, Problem> {
        use http_body::Body as _;
        if body.size_hint().upper().is_some_and(|bytes| bytes <= WHOLE_BYTES_MAX.min(bytes_max)) {
            return Self::whole(body, bytes_max, idle).await;
        }
        let (to, from) = mpsc::channel(4);
        tokio::spawn(pump(body, bytes_max, idle, to));
        Ok(Input::Stream(Stream { from, now: Bytes::new() }))
    }

    /// The same, decompressed. A short body that is short afterwards too is a whole one; what is longer is
    /// decompressed by the thread that reads it.
    ///
    /// # Errors
    /// 400 where a short body is not gzip, 413 where it is longer than its limit.
    pub(crate) fn gunzip(self, bytes_max: u64) -> Result<Self, Problem> {
        let bytes = match self {
            Input::Whole(bytes) => bytes,
            Input::Stream(stream) => {
                return Ok(Input::Gzip(Box::new(Gunzip::new(Packed::Stream(stream), bytes_max))));
            }
            other => return Ok(other),
        };
        let packed = || Packed::Whole(io::Cursor::new(bytes.clone()));
        let mut whole = Vec::new();
        let mut start = Gunzip::new(packed(), bytes_max).take(WHOLE_BYTES_MAX + 1);
        start.read_to_end(&mut whole)?;
        Ok(match whole.len() as u64 > WHOLE_BYTES_MAX {
            true => Input::Gzip(Box::new(Gunzip::new(packed(), bytes_max))),
            false => Input::Whole(whole.into()),
        })
    }

    /// The same as a whole, decompressed, on a thread that may wait.
    ///
    /// # Errors
    /// As [`Input::gunzip`].
    pub(crate) fn gunzip_whole(self, bytes_max: u64) -> Result<Self, Problem> {
        match self {
            Input::Whole(bytes) => {
                let packed = Packed::Whole(io::Cursor::new(bytes));
                Ok(Input::Whole(Gunzip::new(packed, bytes_max).all()?))
            }
            other => Ok(other),
        }
    }

    /// Reads a body to its end where it still comes from the client, on a thread that may wait.
    ///
    /// # Errors
    /// The errors of the body, and 503 where the temporary file cannot be written.
    pub(crate) fn gathered(self, database: &Database) -> Result<Self, Problem> {
        let mut rest = match self {
            rest @ (Input::Stream(_) | Input::Gzip(_)) => rest,
            here => return Ok(here),
        };
        let mut spool = database.instance()?.spool(SPOOLED_BYTES_MAX);
        let mut piece = vec![0; WHOLE_BYTES_MAX as usize];
        loop {
            match rest.read(&mut piece)? {
                0 => return Ok(Input::Spooled(spool.read())),
                count => spool.push(&piece[..count]).map_err(anywhen::sql::Error::from)?,
            }
        }
    }

    /// The body as a whole; empty where there is none.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Input::Whole(bytes) => bytes,
            _ => &[],
        }
    }
}

async fn next(body: &mut Body, idle: Duration) -> Option<io::Result<Bytes>> {
    loop {
        let frame = match tokio::time::timeout(idle, body.frame()).await {
            Err(_) => return Some(Err(io::ErrorKind::TimedOut.into())),
            Ok(frame) => frame?,
        };
        match frame.map(|frame| frame.into_data()) {
            Ok(Ok(data)) => return Some(Ok(data)),
            // Trailers say nothing to us.
            Ok(Err(_)) => {}
            Err(error) => return Some(Err(io::Error::other(error))),
        }
    }
}

async fn gather(mut body: Body, bytes_max: u64, idle: Duration) -> Result<Bytes, Problem> {
    let too_large = || Problem::too_large(BodyTooLarge { bytes_max });
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(piece) = next(&mut body, idle).await {
        let piece = piece?;
        if (first.len() + all.len() + piece.len()) as u64 > bytes_max {
            return Err(too_large());
        }
        match first.is_empty() && all.is_empty() {
            true => first = piece,
            false => {
                all.extend_from_slice(&std::mem::take(&mut first));
                all.extend_from_slice(&piece);
            }
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

/// Passes a body on, piece by piece.
async fn pump(mut body: Body, bytes_max: u64, idle: Duration, to: mpsc::Sender<io::Result<Bytes>>) {
    let mut left = bytes_max;
    while let Some(piece) = next(&mut body, idle).await {
        let piece = piece.and_then(|piece| match left.checked_sub(piece.len() as u64) {
            Some(rest) => {
                left = rest;
                Ok(piece)
            }
            None => Err(io::Error::other(BodyTooLarge { bytes_max })),
        });
        let is_last = piece.is_err();
        if to.send(piece).await.is_err() || is_last {
            return;
        }
    }
}

/// A body as a reader, for a thread that may wait.
pub(crate) struct Stream {
    from: mpsc::Receiver<io::Result<Bytes>>,
    now: Bytes,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.now.is_empty() {
            match self.from.blocking_recv() {
                Some(piece) => self.now = piece?,
                None => return Ok(0),
            }
        }
        let taken = buffer.len().min(self.now.len());
        self.now.copy_to_slice(&mut buffer[..taken]);
        Ok(taken)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::None => Ok(0),
            Input::Whole(bytes) => {
                let taken = buffer.len().min(bytes.len());
                bytes.copy_to_slice(&mut buffer[..taken]);
                Ok(taken)
            }
            Input::Stream(stream) => stream.read(buffer),
            Input::Gzip(gunzip) => gunzip.read(buffer),
            Input::Spooled(spooled) => spooled.read(buffer),
        }
    }
}
