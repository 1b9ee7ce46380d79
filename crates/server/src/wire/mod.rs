//! The messages of PostgreSQL's protocol, version 3: bytes to values and back, and nothing else.
//!
//! ```text
//!   at the start     length(4)  code or version(4)  ...            startup
//!   afterwards       kind(1)    length(4)  body                    frame, frontend: what clients send
//!                                                                  backend: what the server sends
//!   length counts itself and the body
//! ```
//!
//! # Invariants
//! * A length is believed only within the limits of its message, and nothing is allocated for bytes
//!   that have not come.
//! * The reader checks counts, lengths and ends of strings of a body against the received bytes; too
//!   few and too many are errors, never a panic.
//! * Bodies are read in place: names, texts and values borrow from the buffer that they came in.

pub(crate) mod backend;
pub(crate) mod encoding;
pub(crate) mod frame;
pub(crate) mod frontend;
mod reader;
pub(crate) mod startup;

pub(crate) use frame::{Frame, Inbox};
pub(crate) use frontend::{Bind, Message, Target};
pub(crate) use reader::Reader;

use session::Error;
use types::SqlState;

/// An error in the protocol itself: `08P01`.
pub(crate) fn violation(message: impl Into<String>) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, message)
}
