//! [`Source`]: the source of answers.

use anywhen::Database;
use json::Tape;

use crate::answers::{Refusal, problem};

/// A server, or a database that is open in this process. Both answer the same routes.
pub struct Source(Way);

enum Way {
    Server(Box<http::Client>),
    Local(Box<http::LocalClient>),
}

impl Source {
    /// Returns a source that asks the server of `client`.
    pub fn server(client: http::Client) -> Source {
        Source(Way::Server(Box::new(client)))
    }

    /// Returns a source that asks a database in this process.
    ///
    /// # Errors
    /// Fails if the system gives no thread.
    pub fn local(database: Database) -> std::io::Result<Source> {
        Ok(Source(Way::Local(Box::new(http::LocalClient::new(database)?))))
    }

    /// Gets what is at a path.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, and if it refuses.
    pub(crate) fn get(&mut self, path: &str) -> Result<Tape, Refusal> {
        let answer = match &mut self.0 {
            Way::Server(client) => client.ask("GET", path),
            Way::Local(client) => client.ask("GET", path),
        };
        let answer = answer.map_err(|error| Refusal {
            status: 0,
            text: format!("the server does not answer: {error}"),
        })?;
        if !answer.is_success() {
            let text = problem(&answer.body);
            let text = text.unwrap_or_else(|| format!("the answer is {}", answer.status));
            return Err(Refusal { status: answer.status, text });
        }
        Tape::parse(&answer.body)
            .map_err(|_| Refusal { status: answer.status, text: crate::model::malformed() })
    }
}
