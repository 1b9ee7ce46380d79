//! Documents and SQL over HTTP: every version of each document, what lies between two, and changes as
//! they come.
//!
//! ```text
//!   Server::start(Database, Options) ──> Handle
//!
//!   server    sockets, TLS, HTTP/1.1 and HTTP/2          knows no routes
//!     connections  how many there are, and who leaves for others
//!     pages        which web pages are answered
//!     router     a table of routes, rights, bodies         knows no documents
//!       sirix       the routes of SirixDB, at the root
//!       v1          our own: all that the library does
//!       service     health, metrics, description
//! ```
//!
//! The threads of the server take heads of requests and answer what is short and in memory; everything
//! that may wait is done by others, of which there are so many and no more. Documents come in and go out
//! as streams where they are large.
//!
//! Invariants:
//! * Nothing on a thread of the server waits for a disk or a lock for as long as one can see.
//! * What a client can make the server hold is bounded: heads, bodies, streams, requests, connections.
//! * Every operation is in one table, from which router and description are made.
//! * A client that waits is not kept out by clients for which the server waits.
//! * Work ends when the client that asked for it is gone.
//! * Every request is looked at for web pages of other origins before it is routed.
//! * An error of a client is never a 5xx; nothing has changed where an error is told.

#![expect(clippy::result_large_err, reason = "a problem is made once and ends the request")]

mod answer;
mod app;
mod auth;
mod awaited;
mod body;
mod call;
mod conditional;
mod connections;
mod failures;
mod metrics;
mod once;
mod openapi;
mod options;
mod pages;
mod patch;
mod problem;
mod query;
mod route;
mod router;
mod server;
mod service;
mod sirix;
mod tls;
mod v1;
mod written;

pub use auth::{BadRole, Rights, Token, TokenFile};
pub use options::{Auth, Jwt, KeySet, Limits, MoreMetrics, Options, Tls};
pub use server::{Handle, Server};
