//! Counters of the server, and their text for Prometheus.
//!
//! Requests are counted by method and class of status, and their times in a histogram. The answer also
//! has the counters of the database, and those of others in the same process.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use anywhen::Stats;

use crate::browser::Refused;

const METHODS: [&str; 7] = ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"];
/// Upper ends of the classes of times, in microseconds.
const TIMES_US: [u64; 10] =
    [100, 250, 1_000, 2_500, 10_000, 25_000, 100_000, 250_000, 1_000_000, 10_000_000];

/// The counters.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) connections: AtomicU64,
    pub(crate) connections_total: AtomicU64,
    pub(crate) in_flight: AtomicU64,
    pub(crate) followers: AtomicU64,
    pub(crate) inline_total: AtomicU64,
    pub(crate) panics_total: AtomicU64,
    /// Requests that were refused before they were routed: for their host, for the origin of a page.
    refused: [AtomicU64; 2],
    /// By method, then by class of status.
    requests: [[AtomicU64; 6]; METHODS.len()],
    times: [AtomicU64; TIMES_US.len() + 1],
    time_us: AtomicU64,
}

/// Counts one for as long as it lives.
pub(crate) struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    pub(crate) fn new(counter: &'a AtomicU64) -> Self {
        counter.fetch_add(1, Relaxed);
        Counted(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Metrics {
    /// Counts a request that was answered.
    pub(crate) fn answered(&self, method: &str, status: u16, took: Duration) {
        let method = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
        self.requests[method][usize::from(status / 100).min(5)].fetch_add(1, Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.times[TIMES_US.partition_point(|end| *end < us)].fetch_add(1, Relaxed);
        self.time_us.fetch_add(us, Relaxed);
    }

    /// Counts a request that is not routed.
    pub(crate) fn refused(&self, why: Refused) {
        self.refused[usize::from(why == Refused::Origin)].fetch_add(1, Relaxed);
    }

    /// The counters as Prometheus reads them. Some connections were `evicted` for others.
    pub(crate) fn prometheus(&self, stats: &Stats, evicted: u64) -> String {
        let mut text = String::new();
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = write!(
                text,
                "# HELP anywhen_{name} {help}\n# TYPE anywhen_{name} {kind}\nanywhen_{name} {value}\n"
            );
        };
        let of = |counter: &AtomicU64| counter.load(Relaxed);
        one("http_connections", "gauge", "Connections that are open.", of(&self.connections));
        let help = "Connections that were opened.";
        one("http_connections_total", "counter", help, of(&self.connections_total));
        let help = "Idle connections that were closed to make room for others.";
        one("http_connections_evicted_total", "counter", help, evicted);
        let help = "Requests that are being answered.";
        one("http_requests_in_flight", "gauge", help, of(&self.in_flight));
        one("http_followers", "gauge", "Streams of changes that are open.", of(&self.followers));
        let help = "Requests that were answered without another thread.";
        one("http_inline_total", "counter", help, of(&self.inline_total));
        let help = "Failures inside of the server.";
        one("http_panics_total", "counter", help, of(&self.panics_total));
        one("database_commits_total", "counter", "Commits of the database.", stats.commits);
        one(
            "database_disk_bytes",
            "gauge",
            "Bytes of all files of the database.",
            stats.disk_bytes,
        );
        one(
            "database_current_bytes",
            "gauge",
            "Bytes of the newest versions.",
            stats.current_bytes,
        );
        one(
            "database_history_bytes",
            "gauge",
            "Bytes of what was superseded.",
            stats.history_bytes,
        );
        one("database_log_bytes", "gauge", "Bytes of the log's files.", stats.log_bytes);
        let help = "Bytes written into the log since the start.";
        one("database_log_appended_bytes_total", "counter", help, stats.log_appended_bytes);
        one(
            "database_log_syncs_total",
            "counter",
            "Syncs of the log since the start.",
            stats.log_syncs,
        );
        let help = "Bytes of changes that are in the log and in memory alone.";
        one("database_memtable_bytes", "gauge", help, stats.memtable_bytes);
        one(
            "database_cached_bytes",
            "gauge",
            "Bytes of blocks kept in memory.",
            stats.cached_bytes,
        );
        let help = "Bytes of documents kept in memory.";
        one("database_cached_document_bytes", "gauge", help, stats.cached_document_bytes);
        one("database_segments", "gauge", "Files of the store.", stats.segments);
        text.push_str("# HELP anywhen_http_refused_total Requests refused by the browser rules.\n");
        text.push_str("# TYPE anywhen_http_refused_total counter\n");
        for (reason, count) in ["host", "origin"].iter().zip(&self.refused) {
            let count = count.load(Relaxed);
            let _ = writeln!(text, "anywhen_http_refused_total{{reason=\"{reason}\"}} {count}");
        }
        self.requests(&mut text);
        text
    }

    fn requests(&self, text: &mut String) {
        text.push_str("# HELP anywhen_http_requests_total Requests that were answered.\n");
        text.push_str("# TYPE anywhen_http_requests_total counter\n");
        for (method, classes) in METHODS.iter().zip(&self.requests) {
            for (class, count) in classes.iter().enumerate().filter(|(_, c)| c.load(Relaxed) > 0) {
                let count = count.load(Relaxed);
                let _ = writeln!(
                    text,
                    "anywhen_http_requests_total{{method=\"{method}\",status=\"{class}xx\"}} {count}"
                );
            }
        }
        text.push_str("# HELP anywhen_http_request_seconds Times to the head of the answer.\n");
        text.push_str("# TYPE anywhen_http_request_seconds histogram\n");
        let mut sum = 0;
        let ends = TIMES_US.iter().map(|us| (*us as f64 / 1e6).to_string());
        for (end, count) in ends.chain(["+Inf".to_owned()]).zip(&self.times) {
            sum += count.load(Relaxed);
            let _ = writeln!(text, "anywhen_http_request_seconds_bucket{{le=\"{end}\"}} {sum}");
        }
        let seconds = self.time_us.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(text, "anywhen_http_request_seconds_sum {seconds}");
        let _ = writeln!(text, "anywhen_http_request_seconds_count {sum}");
    }
}
