//! The requests of the explorer, as paths of the HTTP routes, and their order.
//!
//! ```text
//!   model ──want──> Queue ──next──> GET /v1/collections/... ──answer──> model
//!                   one of each kind: a newer wish replaces an older one
//! ```
//!
//! Invariants:
//! * One request is sent at a time. So an arrow key that is held down makes no queue of requests.
//! * An answer for a page that the reader has left is dropped.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Values that one page of a node's history has.
pub(crate) const RUNS_PAGE: usize = 100;
/// The same of a container.
const CONTAINER_RUNS_PAGE: usize = 30;
/// Names that one page of a list has.
pub(crate) const NAMES_PAGE: usize = 500;
/// Characters of a text that a row shows.
const TEXT_MAX: usize = 300;

const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Collections,
    Keys { collection: String, prefix: String, after: Option<String> },
    Density { buckets: u16 },
    Version { revision: u64 },
    Outline { revision: u64, at: OutlineAt, rows: usize, toggled: Vec<u64> },
    Diff { from: u64, to: u64 },
    Runs { node: u64, is_container: bool, before: Option<u64> },
    Search { text: String, revision: u64, after: Option<u64>, backward: bool },
    Revision { moment: String },
}

/// Where a window of rows begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutlineAt {
    Row(usize),
    /// Around this node.
    Node(u64),
}

impl Ask {
    /// The path of the request; questions about a document are about this one.
    pub(crate) fn path(&self, collection: &str, key: &str) -> String {
        let part = |text: &str| utf8_percent_encode(text, PART).to_string();
        let of = format!("/v1/collections/{}/documents/{}", part(collection), part(key));
        match self {
            Ask::Collections => "/v1/collections".to_owned(),
            Ask::Keys { collection, prefix, after } => {
                let mut path = format!(
                    "/v1/collections/{}/documents?limit={NAMES_PAGE}&prefix={}",
                    part(collection),
                    part(prefix)
                );
                if let Some(after) = after {
                    path += &format!("&after={}", part(after));
                }
                path
            }
            Ask::Density { buckets } => format!("{of}/versions/density?buckets={buckets}"),
            Ask::Version { revision } => format!("{of}/versions/{revision}"),
            Ask::Outline { revision, at, rows, toggled } => {
                let at = match at {
                    OutlineAt::Row(row) => format!("row={row}"),
                    OutlineAt::Node(key) => format!("node_key={key}"),
                };
                let keys: Vec<String> = toggled.iter().map(u64::to_string).collect();
                format!(
                    "{of}/outline?revision={revision}&{at}&rows={rows}&blame=true&text_max={TEXT_MAX}&toggled={}",
                    keys.join(",")
                )
            }
            Ask::Diff { from, to } => format!("{of}/diff?from={from}&to={to}"),
            Ask::Runs { node, is_container, before } => {
                let what = match is_container {
                    true => format!("changes?limit={CONTAINER_RUNS_PAGE}"),
                    // The summary of all values comes with the first page.
                    false => format!("history?limit={RUNS_PAGE}&summary={}", before.is_none()),
                };
                let before = before.map_or_else(String::new, |before| format!("&before={before}"));
                format!("{of}/node/{what}&node_key={node}{before}")
            }
            Ask::Search { text, revision, after, backward } => {
                let after = after.map_or_else(String::new, |after| format!("&after_node={after}"));
                let text = part(text);
                format!("{of}/search?text={text}&revision={revision}&backward={backward}{after}")
            }
            // The first row tells the revision.
            Ask::Revision { moment } => format!("{of}/outline?rows=1&depth=0&{moment}"),
        }
    }

    fn is_kind_of(&self, other: &Ask) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentRequest {
    pub(crate) ask: Ask,
    /// The path and the parameters of the request.
    pub(crate) path: String,
    page: u64,
}

/// Questions that wait.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Vec<Ask>,
    is_sent: bool,
    /// True from the request for a search or a moment until the rows of its target arrive.
    is_jump: bool,
    /// Counts the pages that the reader has been on.
    page: u64,
}

impl Queue {
    /// Adds a request. It replaces a waiting request of the same kind.
    pub(crate) fn want(&mut self, ask: Ask) {
        let is_jump = matches!(ask, Ask::Search { .. } | Ask::Revision { .. });
        self.is_jump |= is_jump;
        match self.waiting.iter_mut().find(|waiting| waiting.is_kind_of(&ask)) {
            Some(waiting) => *waiting = ask,
            None => self.waiting.push(ask),
        }
    }

    /// Begins a page: drops the requests for the page before, and answers to them.
    pub(crate) fn turn(&mut self) {
        self.waiting.clear();
        self.page += 1;
    }

    /// True while an answer is missing.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_sent || !self.waiting.is_empty()
    }

    /// True while the target of a jump is not on the screen yet: keys that follow are meant for the target.
    pub(crate) fn is_jumping(&self) -> bool {
        self.is_jump && self.is_busy()
    }

    /// Notes that an answer was taken in. If it led to no further request, a jump has ended.
    pub(crate) fn settle(&mut self) {
        self.is_jump &= self.is_busy();
    }

    /// The next request to send; `None` while one is running.
    pub(crate) fn next(&mut self, collection: &str, key: &str) -> Option<SentRequest> {
        if self.is_sent || self.waiting.is_empty() {
            return None;
        }
        let ask = self.waiting.remove(0);
        self.is_sent = true;
        let path = ask.path(collection, key);
        Some(SentRequest { ask, path, page: self.page })
    }

    /// Takes an answer; false if no request waits for it any more.
    pub(crate) fn is_awaited(&mut self, asked: &SentRequest) -> bool {
        self.is_sent = false;
        self.is_jump &= !matches!(asked.ask, Ask::Outline { .. });
        asked.page == self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The explorer asks for the summary of the values of a node with their first page alone.
    #[test]
    fn a_summary_comes_once() {
        let path = |before| Ask::Runs { node: 4, is_container: false, before }.path("c", "d");
        let of = "/v1/collections/c/documents/d/node/history?limit=100";
        assert_eq!(path(None), format!("{of}&summary=true&node_key=4"));
        assert_eq!(path(Some(9)), format!("{of}&summary=false&node_key=4&before=9"));
    }
}
