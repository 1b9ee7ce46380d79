//! Documents and SQL over HTTP: every version of each document, the differences between two, and live
//! changes.
//!
//! ```text
//!   Server::start(Database, Options) ──> Handle
//!
//!   server    sockets, TLS, HTTP/1.1 and HTTP/2          knows no routes
//!     connections  their limit, and the choice of one to close when it is reached
//!     browser      the rules for requests of web pages
//!     explorer     the page for browsers, and its files
//!     local      the same router for this process, without a socket
//!     router     a table of routes, rights, bodies         knows no documents
//!       sirix       the routes of SirixDB, at the root
//!       v1          our own: all functions of the library
//!       service     health, metrics, description
//! ```
//!
//! The threads of the server parse the heads of requests, and run the handlers that are short and find
//! their data in memory. A fixed number of other threads runs the handlers that may wait. Large documents
//! come in and go out as streams.
//!
//! Invariants:
//! * A thread of the server runs no handler that is known to wait for a disk or a lock.
//! * The server bounds the memory that a client can make it use: heads, bodies, streams, requests,
//!   connections.
//! * Every operation is in one table, from which router and description are made. The files of the explorer are no
//!   operations.
//! * Idle connections never keep out a client with a request.
//! * The server cancels the work of a client that has gone.
//! * The router checks every request for web pages of other origins before it looks for a route.
//! * An error of a client is never a 5xx. A request that is answered with an error has changed nothing.

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
