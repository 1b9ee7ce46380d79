//! The limits on the size of documents and of their keys.

use crate::Result;
use crate::error::DocumentError;
use json::jsonb::JsonbRef;
use json::{Kind, Limits, Sink, Stopped, Tape, TapeBuilder};

/// The longest document key, in bytes.
pub const KEY_BYTES_MAX: usize = 1024;

/// Levels that a document may have, the root's included.
pub const DEPTH_MAX: usize = 512;

/// Bytes from which on a value is large: it is written chunk by chunk, and matched with the value before it part by
/// part, so that no third form of it is in memory.
pub(crate) const LARGE_BYTES: usize = 16 << 20;

/// Reads a value within the limits of documents.
pub(crate) fn parse(json: &[u8]) -> Result<Tape> {
    Ok(Tape::parse_with(json, &limits())?)
}

/// The limits of documents: [`DEPTH_MAX`] levels, names of 65,000 bytes.
pub fn limits() -> Limits {
    Limits { depth: DEPTH_MAX, ..Limits::default() }
}

/// Gives the tokens of a value to `sink`, within the limits of documents. Where the sink stops, this is no error: the
/// sink knows why.
///
/// # Errors
/// [`DocumentError::TooLarge`] where the value has more levels than [`DEPTH_MAX`], or a name is too long.
pub(crate) fn feed<S: Sink>(value: JsonbRef<'_>, sink: &mut S) -> Result<()> {
    let mut limited = Limited { sink, levels: 0, error: None };
    let stopped = value.feed(&mut limited);
    match (stopped, limited.error) {
        (Err(Stopped), Some(error)) => Err(error),
        _ => Ok(()),
    }
}

/// The nodes that a value is made of.
///
/// # Errors
/// [`DocumentError::TooLarge`] where no document can hold the value.
pub fn tape_of(value: JsonbRef<'_>) -> Result<Tape> {
    let mut builder = TapeBuilder::for_text_of(value.bytes().len());
    feed(value, &mut builder)?;
    Ok(builder.finish())
}

/// A sink that stops beyond the limits of documents.
struct Limited<'s, S> {
    sink: &'s mut S,
    levels: usize,
    error: Option<DocumentError>,
}

impl<S: Sink> Sink for Limited<'_, S> {
    fn name(&mut self, text: &[u8]) -> std::result::Result<(), Stopped> {
        if let Err(error) = crate::draft::check_name(text) {
            self.error = Some(error);
            return Err(Stopped);
        }
        self.sink.name(text)
    }

    fn scalar(&mut self, kind: Kind, text: &[u8]) -> std::result::Result<(), Stopped> {
        self.sink.scalar(kind, text)
    }

    fn open(&mut self, kind: Kind) -> std::result::Result<(), Stopped> {
        self.levels += 1;
        if self.levels > DEPTH_MAX {
            self.error = Some(too_deep());
            return Err(Stopped);
        }
        self.sink.open(kind)
    }

    fn close(&mut self) -> std::result::Result<(), Stopped> {
        self.levels -= 1;
        self.sink.close()
    }
}

/// The error of a document with more levels than [`DEPTH_MAX`].
pub(crate) fn too_deep() -> DocumentError {
    DocumentError::TooLarge("512 levels of nesting")
}
