//! The state of one client of the SQL server: its statements, portals and transactions, its
//! settings, and the commands that are not plans.
//!
//! ```text
//!   server          bytes and sockets
//!     │  Instance ── connect ──> Session ── start / bind ──> Portal ── execute ──> rows, a tag
//!     v
//!   session ──┬── settings      SET, SHOW, RESET: transactional, some of them reported to the client
//!             ├── transaction   blocks, savepoints, the failed state, the metadata of a commit
//!             ├── statement     parsed and bound once, shared by all sessions
//!             ├── portal        a statement with its parameters, while it runs
//!             └── procedural    DO blocks: PL/pgSQL, whose statements are run here one by one
//! ```
//!
//! A [`Session`] is used by one thread at a time and can move between threads. It never writes to
//! the client: rows go to an [`Output`], everything else is taken with [`Session::take_messages`].
//!
//! # Absent on purpose
//! No sockets, no message formats and no threads. The clock and randomness come through
//! [`vfs::Env`].

mod advisory;
mod backend_status;
mod binding;
mod client;
mod command;
pub mod configuration;
mod copy;
mod counters;
mod cursor;
mod define;
mod document_rights;
mod error;
mod evaluate;
mod explain;
mod expressions;
mod extension;
mod files;
mod fill;
mod functions;
mod host;
mod inline;
mod instance;
mod message;
mod names;
mod notify;
mod objects;
mod peer;
mod plans;
mod portal;
mod portals;
mod prepared;
mod procedural;
mod procedures;
mod progress;
mod query;
mod relations;
mod rights;
pub mod scram;
mod session;
pub mod settings;
mod snapshots;
mod statement;
mod statements;
mod system;
mod transaction;

pub use backend_status::WaitEvent;
pub use document_rights::{DocumentRights, KnownRole};
pub use error::{Error, Result, Severity};
pub use exec::{ByteSpool, SpooledBytes};
pub use functions::{BackupTarget, Backups};
pub use instance::{Instance, Login, Options, Password, StartUp, Wake};
pub use message::{Messages, Notification};
pub use peer::Peer;
pub use portal::{Column, CopyFormat, Done, Format, Output, Portal, Tag};
pub use session::Session;
pub use sql::parse::file_reader;
pub use statement::{Described, Params, Parsed};
pub use transaction::Status;
