//! `LISTEN` and `NOTIFY`: messages between sessions, sent when a transaction commits.
//!
//! ```text
//!   session 1   LISTEN a ── commit ──> Hub  a: [1]
//!   session 2   NOTIFY a, 'x' ─ commit ──> Hub ──> inbox of session 1, which is woken
//! ```
//!
//! Nothing is kept: who does not listen when a transaction commits is not told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use txn::Transaction;
use types::{Oid, SqlState};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::message::Notification;
use crate::portal::Work;
use crate::session::{Session, done};

/// The longest message, in bytes.
const PAYLOAD_BYTES_MAX: usize = 7_999;

/// An action at the commit of the transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Note {
    /// `LISTEN`
    Listen(String),
    /// `UNLISTEN`; `None` for all.
    Unlisten(Option<String>),
    /// `NOTIFY`: channel and message.
    Notify(String, String),
}

/// The sessions that listen to each channel of each database, by the numbers of their processes.
#[derive(Default)]
pub(crate) struct Hub {
    channels: Mutex<BTreeMap<(Oid, String), BTreeSet<i32>>>,
}

impl Hub {
    /// Forgets a session that has ended.
    pub fn forget(&self, process: i32) {
        let mut channels = self.channels.lock();
        channels.retain(|_, listeners| {
            listeners.remove(&process);
            !listeners.is_empty()
        });
    }

    /// The channels that a session listens to, by name.
    pub fn of(&self, process: i32) -> Vec<String> {
        let channels = self.channels.lock();
        let own = channels.iter().filter(|(_, listeners)| listeners.contains(&process));
        own.map(|((_, channel), _)| channel.clone()).collect()
    }

    fn apply(&self, instance: &Instance, database: Oid, process: i32, note: Note) {
        match note {
            Note::Listen(channel) => {
                self.channels.lock().entry((database, channel)).or_default().insert(process);
            }
            Note::Unlisten(None) => self.forget(process),
            Note::Unlisten(Some(channel)) => {
                if let Some(listeners) = self.channels.lock().get_mut(&(database, channel)) {
                    listeners.remove(&process);
                }
            }
            Note::Notify(channel, payload) => {
                let key = (database, channel);
                let listeners = self.channels.lock().get(&key).cloned().unwrap_or_default();
                let channel = key.1;
                for listener in listeners {
                    let Some(slot) = instance.session(listener) else { continue };
                    let (channel, payload) = (channel.clone(), payload.clone());
                    slot.inbox.lock().push(Notification { process, channel, payload });
                    if listener != process
                        && let Some(wake) = &*slot.wake.lock()
                    {
                        wake();
                    }
                }
            }
        }
    }
}

/// Does at once what was noted.
pub(crate) fn deliver(client: &Client, notes: Vec<Note>) {
    for note in notes {
        let instance = &client.instance;
        instance.hub.apply(instance, client.database_oid, client.slot.process, note);
    }
}

/// Does at once what a session has noted, for a commit that is not the session's own.
pub(crate) fn send(instance: &Instance, database: Oid, process: i32, note: Note) {
    instance.hub.apply(instance, database, process, note);
}

/// Makes the commit apply these notes, in the order of commits.
pub(crate) fn at_commit(client: &Client, notes: Vec<Note>, txn: &mut Transaction) {
    if notes.is_empty() {
        return;
    }
    let (instance, process) = (Arc::clone(&client.instance), client.slot.process);
    let database = client.database_oid;
    txn.on_publish(move |_| {
        for note in notes {
            instance.hub.apply(&instance, database, process, note);
        }
    });
}

/// Checks a channel and a message.
///
/// # Errors
/// `22023` where one is too long, or the channel is empty.
pub(crate) fn check(channel: &str, payload: &str) -> types::Result<()> {
    let invalid = |message| Err(types::Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    match () {
        () if channel.is_empty() => invalid("channel name cannot be empty"),
        () if channel.len() > 63 => invalid("channel name too long"),
        () if payload.len() > PAYLOAD_BYTES_MAX => invalid("payload string too long"),
        () => Ok(()),
    }
}

impl Session {
    /// Notes what is done when the transaction commits.
    pub(crate) fn note(&mut self, note: Note, tag: &'static str) -> Result<Work> {
        if let Note::Notify(channel, payload) = &note {
            check(channel, payload).map_err(Error::from)?;
        }
        self.open();
        self.client.add_note(note);
        Ok(done(tag))
    }
}

impl Client {
    /// Notes what is done when the transaction commits; the same message twice is one.
    pub(crate) fn add_note(&self, note: Note) {
        let mut notes = self.notes.borrow_mut();
        if !matches!(note, Note::Notify(..)) || !notes.contains(&note) {
            notes.push(note);
        }
    }
}
