//! Messages to a client other than the results of its statements.
//!
//! A session collects it; the server takes it with [`Session::take_messages`](crate::Session) and
//! sends it at the next place where the protocol allows it.

use crate::error::Error;

/// Messages that wait to be sent.
#[derive(Debug, Default)]
pub struct Messages {
    /// Notices and warnings, in their order.
    pub notices: Vec<Error>,
    /// Changed settings that are reported to the client: name and value.
    pub settings: Vec<(&'static str, String)>,
    /// The notifications of other sessions. Only while no transaction is open.
    pub notifications: Vec<Notification>,
}

impl Messages {
    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.notices.is_empty() && self.settings.is_empty() && self.notifications.is_empty()
    }
}

/// A message of `NOTIFY`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notification {
    /// The process number of the session that sent it.
    pub process: i32,
    /// The channel.
    pub channel: String,
    /// The message; may be empty.
    pub payload: String,
}
