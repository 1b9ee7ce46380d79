//! The server: PostgreSQL's protocol over TCP, from the socket to a [`session::Session`] and back.
//!
//! ```text
//!            ┌────────── listener ──────────┐      ┌──────────────── core, one for each ─────────────┐
//!   socket ──> TLS ─ rules ─ SCRAM ─ cancel ──────> connection ─ conversation ─ session              │
//!            └──────────────────────────────┘      │    │            │                               │
//!                                                  │  channel     messages in, messages out (wire)   │
//!                                                  │    └── commit_waiter: one wait for many commits │
//!                                                  └─────────────────────────────────────────────────┘
//! ```
//!
//! | module | is |
//! |---|---|
//! | `wire` | messages as bytes |
//! | `channel`, `tls` | bytes to and from a client, encrypted or not |
//! | `listener`, `auth` | listening sockets, rules of access, authentication |
//! | `conversation` | the protocol itself, without sockets: a message in, answers and the next wait out |
//! | `connection` | a conversation on a socket: reads, sends, waits, timeouts |
//! | `core`, `commit_waiter` | threads, and the wait for the disk |
//! | `server`, `options`, `metrics` | starting, stopping, counting |
//!
//! # Invariants
//! * A message is answered as PostgreSQL 17 answers it, and answers leave when PostgreSQL's do: at
//!   `ReadyForQuery`, at `Flush`, with an error, or when a buffer is full.
//! * No commit is acknowledged before it is durable.
//! * No bytes of a client stop the server, make it allocate memory for bytes that have not arrived, or make
//!   another client wait for longer than a statement runs.
//! * A client without a valid proof learns nothing but that its proof was refused.
//!
//! # Absent on purpose
//! No SQL, no plans, no storage: all of that is behind [`session`].

pub mod auth;
mod busy_poll;
mod channel;
mod commit_waiter;
mod connection;
mod conversation;
mod core;
mod listener;
mod metrics;
mod options;
mod server;
mod tls;
mod wire;

pub use metrics::Metrics;
pub use options::{Limits, Options, Tls};
pub use server::{Handle, Server};
