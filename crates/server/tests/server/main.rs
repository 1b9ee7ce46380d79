//! The server as clients see it: its protocol in scripts, real clients, crowds, and nonsense.
//!
//! ```text
//!   scripts/*.txt   messages out, messages in     scripts.rs runs them, wire.rs speaks the protocol
//!   lifecycle       limits, timeouts, cancelling, shutting down
//!   activity        what sessions are at, and for whom they wait
//!   entrance        rules, SCRAM, TLS
//!   clients         tokio-postgres
//!   encodings       clients whose encoding is not UTF-8
//!   logic           tests/sql/*.slt: what SQL answers
//!   printed         views are made again from what they are printed as
//!   nonsense        random messages: the server stays up
//!   mutations       whole conversations, changed in a few places
//! ```

mod activity;
mod beside;
mod clients;
mod encodings;
mod entrance;
mod lifecycle;
mod logic;
mod mutations;
mod nonsense;
#[path = "../../examples/serve/open.rs"]
mod open;
mod printed;
mod scripts;
mod wire;
mod world;
