//! Counters of the server, and their text for Prometheus.
//!
//! ```text
//!   core 0: Counters ┐
//!   core 1: Counters ┼─ sum ──> Metrics ──> anywhen_statements_total 1234
//!   the listener     ┘
//! ```
//!
//! Each core counts for itself, so that cores do not pass a line of memory to and fro with each
//! statement; a reader adds them up.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($name:ident: $kind:literal, $help:literal;)*) => {
        /// The counts of one core.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        /// The counts of all cores.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Metrics {
            $(#[doc = $help] pub $name: u64,)*
        }

        impl Metrics {
            /// The sum of what was counted.
            pub(crate) fn sum(parts: &[Arc<Counters>]) -> Self {
                let mut sum = Self::default();
                for part in parts {
                    $(sum.$name = sum.$name.wrapping_add(part.$name.load(Ordering::Relaxed));)*
                }
                sum
            }

            /// The counters as Prometheus reads them.
            pub fn prometheus(&self) -> String {
                let mut text = String::new();
                $(write_one(&mut text, stringify!($name), $kind, $help, self.$name);)*
                text
            }
        }
    };
}

counters! {
    connections: "gauge", "Sessions that are open.";
    connections_total: "counter", "Sessions that were begun.";
    connections_refused_total: "counter", "Connections that were sent away: too many, or not let in.";
    authentication_failures_total: "counter", "Failed proofs of a password.";
    cancel_requests_total: "counter", "Requests to cancel the statement of another session.";
    bytes_received_total: "counter", "Bytes that clients sent.";
    bytes_sent_total: "counter", "Bytes that clients were sent.";
    sends_total: "counter", "Times that bytes were sent.";
    statements_total: "counter", "Statements that were run, and portals that were continued.";
    slow_statements_total: "counter", "Statements that took longer than the threshold of the log.";
    queued_statements_total: "counter", "Statements that waited for a row without a thread.";
    moved_statements_total: "counter", "Statements that were moved to a thread that may wait.";
    busy_polls_total: "counter", "Waits for a client in which the session polled first.";
    busy_polls_in_vain_total: "counter", "Waits of these in which the client did not come while the session polled.";
    rows_total: "counter", "Rows that clients were sent.";
    errors_total: "counter", "Errors that clients were told.";
    commits_total: "counter", "Commits that sessions waited for.";
    commit_waits_total: "counter", "Waits for the disk, each for one or more commits.";
    panics_total: "counter", "Failures inside the server that ended a session.";
}

fn write_one(text: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    write!(
        text,
        "# HELP anywhen_{name} {help}\n# TYPE anywhen_{name} {kind}\nanywhen_{name} {value}\n"
    )
    .expect("strings take everything");
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of cores are added up, also those of a gauge that rose on one and fell on
    /// another.
    #[test]
    fn sums() {
        let parts = [Arc::new(Counters::default()), Arc::new(Counters::default())];
        add(&parts[0].rows_total, 3);
        add(&parts[1].rows_total, 4);
        add(&parts[0].connections, 1);
        parts[1].connections.fetch_sub(1, Ordering::Relaxed);
        let sum = Metrics::sum(&parts);
        assert_eq!((sum.rows_total, sum.connections), (7, 0));
        let text = sum.prometheus();
        assert!(text.contains("\n# TYPE anywhen_rows_total counter\nanywhen_rows_total 7\n"));
    }
}
