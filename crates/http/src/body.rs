//! Bodies of requests: what is short as one buffer, what is long as a stream that a thread may read.
//!
//! ```text
//!   socket ──frames──> a task ──channel of 4──> Stream (a reader) ──> the parser of documents
//! ```
//!
//! Invariant: no more of a body is in memory than a few frames, or its limit.

use std::io::{self, Read};
use std::time::Duration;

use axum::body::Body;
use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use tokio::sync::mpsc;

use crate::failures::BodyTooLarge;
use crate::problem::Problem;

/// Bodies that say that they are no longer than this are taken as a whole.
const WHOLE_BYTES_MAX: u64 = 256 << 10;

/// The body of a request.
pub(crate) enum Input {
    None,
    Whole(Bytes),
    Stream(Stream),
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
        }
    }
}
