//! [`LocalClient`]: asks the operations of this crate for a database of the same process, without a socket.
//!
//! ```text
//!   LocalClient::ask("GET", "/v1/collections") ──> router ──> handler ──> the body, as a server would send it
//! ```
//!
//! The explorer in a terminal reads a server and a data folder by the same routes. This is its way to the folder.
//! A process that can open the folder can read all of it, so the client needs no token.

use std::io;
use std::sync::Arc;

use anywhen::Database;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use tokio::runtime::{Builder, Runtime};
use tower::Service;

use crate::app::App;
use crate::auth::Guard;
use crate::client::ClientAnswer;
use crate::options::{Auth, Limits, Options};
use crate::router::router;

/// Threads for handlers and for answers that are written in pieces. There is one request at a time.
const THREADS: usize = 2;

/// Asks a database of this process, one request after the other.
pub struct LocalClient {
    runtime: Runtime,
    router: Router,
}

impl LocalClient {
    /// A client of a database that is open in this process.
    ///
    /// # Errors
    /// Fails if the system gives no thread.
    pub fn new(database: Database) -> io::Result<LocalClient> {
        let limits = Limits { workers: THREADS, streams_max: THREADS, ..Limits::default() };
        let options = Options { listen: Vec::new(), limits, ..Options::default() };
        let guard = Guard::new(&Auth::default(), false)?;
        let app = Arc::new(App::new(database, guard, options));
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_time().max_blocking_threads(THREADS * 2).build()?;
        Ok(LocalClient { runtime, router: router(&app) })
    }

    /// Sends a request without a body, and waits for the answer.
    ///
    /// # Errors
    /// Fails if the path is none, and if an answer in pieces breaks off.
    pub fn ask(&mut self, method: &str, path: &str) -> io::Result<ClientAnswer> {
        let request = Request::builder().method(method).uri(path).body(Body::empty());
        let request =
            request.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let router = &mut self.router;
        self.runtime.block_on(async {
            let answered = router.call(request).await;
            let (head, body) = match answered {
                Ok(answer) => answer.into_parts(),
                Err(never) => match never {},
            };
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            Ok(ClientAnswer::new(head.status.as_u16(), head.headers, body))
        })
    }
}
