//! Documents and SQL over HTTP: every version of each document, what lies between two, and changes as
//! they come.
//!
//! ```text
//!   Server::start(Database, Options) ──> Handle
//!
//!   server    sockets, TLS, HTTP/1.1 and HTTP/2          knows no routes
//!     connections  how many there are, and which one is closed when there are too many
//!     browser      which web pages may call
//!     explorer     the page for browsers, and its files
//!     local      the same router for this process, without a socket
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
//! * The server bounds the memory that a client can make it hold: heads, bodies, streams, requests,
//!   connections.
//! * Every operation is in one table, from which router and description are made. The files of the explorer are no
//!   operations.
//! * Idle connections never keep out a client with a request.
//! * The server cancels the work of a client that has gone.
//! * The router checks every request for web pages of other origins before it looks for a route.
//! * An error of a client is never a 5xx; nothing has changed where an error is told.

#![expect(clippy::result_large_err, reason = "a problem is made once and ends the request")]

mod answer;
mod app;
mod auth;
mod body;
mod browser;
mod call;
mod cancel;
mod client;
mod conditional;
mod connections;
mod explorer;
mod failures;
mod local;
mod metrics;
mod once;
mod openapi;
mod options;
mod patch;
mod problem;
mod query;
mod route;
mod router;
mod schemas;
mod server;
mod service;
mod sirix;
mod tls;
mod v1;
mod written;

pub use auth::{BadRole, Rights, Token, TokenFile};
pub use client::{Client, ClientAnswer};
pub use explorer::WebFile;
pub use local::LocalClient;
pub use options::{Auth, Jwt, KeySet, Limits, MoreMetrics, Options, Tls};
pub use server::{Handle, Server};
