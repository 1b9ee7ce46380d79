//! The explorer in a terminal: documents with the author of each change, their time axis, the history of each node,
//! the differences between two versions. Also the filter for characters that a terminal would obey ([`visible`]).
//!
//! ```text
//!   keys ──> model ──> draw ──> screen         a thread of its own
//!              │ ^                             sends one request after the other
//!              v │ answers
//!             asks ──> Source ──> the HTTP routes, of a server or of a database in this process
//! ```
//!
//! The explorer uses the same routes as the web application, so its cost depends on what it shows: children are loaded
//! when they are opened, rows when they come into view.
//!
//! Invariants:
//! * State, drawing and input are separate: `model` draws nothing, `draw` changes nothing, only `run` uses the terminal.
//! * No text from the data reaches the terminal with a character that it would obey.
//! * The terminal is restored at every end: by a key, by a signal, by an error, by a panic.

mod answers;
mod asks;
mod draw;
pub mod headless;
mod layout;
mod model;
mod run;
mod source;
pub mod visible;

pub use answers::Refusal;
pub use model::MomentParser;
pub use run::{ExploreError, Options, explore};
pub use source::Source;
