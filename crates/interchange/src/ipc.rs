//! Arrow IPC streams, message by message.
//!
//! ```text
//!   ff ff ff ff  length:4  message (flatbuffer)  body     schema, dictionaries, batches ...
//!   ff ff ff ff  00 00 00 00                              the end
//! ```
//!
//! A file is `ARROW1 00 00`, such a stream, a footer, the footer's length and `ARROW1`. The footer says where the
//! batches are. A reader of all batches needs only the stream, so the same code reads files and streams.
//!
//! Lengths are compared with the bytes that are there before a message goes to the decoder.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::Schema;
use types::{Error, Result, SqlState};

use crate::guard::{damaged, sound};

/// A message and its body have at most so many bytes: batches are held in memory.
const MESSAGE_BYTES_MAX: usize = 2 << 30;
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Decodes a stream whose bytes arrive in pieces of any length.
pub struct Stream {
    what: String,
    decoder: StreamDecoder,
    /// The received bytes that are no whole message yet.
    held: Vec<u8>,
    start: usize,
    batches: u64,
    /// True after the mark that ends the stream.
    ended: bool,
}

impl Stream {
    /// Returns a decoder without bytes. Error messages call the stream `what`.
    pub fn new(what: impl Into<String>) -> Stream {
        Stream {
            what: what.into(),
            decoder: StreamDecoder::new(),
            held: Vec::new(),
            start: 0,
            batches: 0,
            ended: false,
        }
    }

    /// Takes bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.drain(..self.start);
        self.start = 0;
        self.held.extend_from_slice(bytes);
    }

    /// Names and types of the columns; `None` before they have come.
    pub fn schema(&self) -> Option<Arc<Schema>> {
        self.decoder.schema()
    }

    /// True after the mark that ends the stream.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// True if the bytes so far end with a whole message.
    pub fn is_whole(&self) -> bool {
        self.schema().is_some() && (self.ended || self.start == self.held.len())
    }

    /// How many batches have come.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// The next batch; `None` if more bytes are needed, or none follow.
    ///
    /// # Errors
    /// XX001 for bytes that are not an Arrow IPC stream, 54000 for a batch that is too large.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while !self.ended {
            let Some((head, length)) = self.message()? else { return Ok(None) };
            let message = &self.held[self.start..self.start + length];
            let is_end = head == length;
            if !is_end {
                check(&message[head..], &self.what)?;
            }
            let mut buffer = MutableBuffer::with_capacity(length);
            buffer.extend_from_slice(message);
            let mut buffer = Buffer::from(buffer);
            // The decoder takes a message without a body only when the next byte arrives. One always does: a
            // continuation mark follows.
            let Stream { decoder, what, .. } = self;
            let found = sound(what, || {
                let found = decoder.decode(&mut buffer);
                found.map_err(|error| damaged(what, error))
            })?;
            self.start += length;
            self.ended |= is_end;
            if let Some(batch) = found {
                self.batches += 1;
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Returns the offset of the next message's flatbuffer, and the length of the message with its body; `None` if
    /// bytes of it are missing.
    fn message(&self) -> Result<Option<(usize, usize)>> {
        let bytes = &self.held[self.start..];
        let head = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
        let Some(size) = bytes.get(head - 4..head) else { return Ok(None) };
        let size = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
        if size == 0 {
            return Ok(Some((head, head)));
        }
        if size > MESSAGE_BYTES_MAX {
            return Err(damaged(&self.what, "the description of a message is too long"));
        }
        let Some(message) = bytes.get(head..head + size) else { return Ok(None) };
        let message =
            arrow_ipc::root_as_message(message).map_err(|error| damaged(&self.what, error))?;
        let body = usize::try_from(message.bodyLength())
            .map_err(|_| damaged(&self.what, "a message has a negative length"))?;
        self.within_limit(body)?;
        let length = head + size + body;
        Ok((bytes.len() >= length).then_some((head, length)))
    }

    fn within_limit(&self, bytes: usize) -> Result<()> {
        if bytes <= MESSAGE_BYTES_MAX {
            return Ok(());
        }
        let message = format!("{} has a batch of {bytes} bytes", self.what);
        Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            .with_detail(format!("At most {MESSAGE_BYTES_MAX} bytes are held in memory."))
            .with_hint("Write the file with smaller batches."))
    }
}

/// Checks the buffers of a batch: each lies in the body, and the lengths that compressed buffers announce are together
/// not more than a batch may have.
fn check(message_and_body: &[u8], what: &str) -> Result<()> {
    let message =
        arrow_ipc::root_as_message(message_and_body).map_err(|error| damaged(what, error))?;
    let body_length = message.bodyLength() as usize;
    let body = &message_and_body[message_and_body.len() - body_length..];
    let batch = match message.header_type() {
        arrow_ipc::MessageHeader::RecordBatch => message.header_as_record_batch(),
        arrow_ipc::MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => return Ok(()),
    };
    let batch = batch.ok_or_else(|| damaged(what, "a message has no header"))?;
    let is_compressed = batch.compression().is_some();
    let mut total = 0_usize;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let end = start.zip(usize::try_from(buffer.length()).ok());
        let end = end.and_then(|(start, length)| start.checked_add(length));
        let bytes = start.zip(end).and_then(|(start, end)| body.get(start..end));
        let Some(bytes) = bytes else {
            return Err(damaged(what, "a buffer lies outside of its message"));
        };
        if is_compressed && let Some(prefix) = bytes.first_chunk::<8>() {
            // -1 stands for a buffer that is not compressed.
            let length = i64::from_le_bytes(*prefix).max(0);
            total = total.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        }
    }
    if total > MESSAGE_BYTES_MAX {
        return Err(damaged(
            what,
            "a compressed buffer says that it is larger than a batch may be",
        ));
    }
    Ok(())
}
