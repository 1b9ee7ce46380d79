//! A server as the source of a backup: `anywhen backup --from https://...`.
//!
//! ```text
//!   http(s)://host:port     the routes /v1/backups, by a token of an administrator
//! ```
//!
//! A request that fails is repeated for a while: a connection that breaks, a server that is busy, bytes whose
//! checksum does not match. After that the failure is [`BackupError::Lost`].

use std::path::Path;
use std::time::{Duration, Instant};

use anywhen::{BackupError, BackupId, BackupPlan, BackupSource, Csn, Error, LogBatch};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json::Tape;

use crate::failure::{Failure, Outcome};

/// How long an answer may take: more than a server waits for news.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long a failing request is tried again.
const AGAIN: Duration = Duration::from_secs(60);
/// The first and the longest pause between two tries.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// A server, over HTTP.
pub(crate) struct HttpSource {
    client: http::Client,
    /// The running backup, and the commit of its plan.
    backup: Option<(String, Csn)>,
}

impl HttpSource {
    /// Takes backups of the server at an address. Nothing is connected yet.
    pub(crate) fn new(
        url: &str,
        authorities: Option<&Path>,
        token: Option<String>,
    ) -> Outcome<HttpSource> {
        let client = http::Client::new(url, authorities, token, PATIENCE);
        let client = client.map_err(|error| Failure::refused(error.to_string()))?;
        Ok(HttpSource { client, backup: None })
    }

    /// Sends a request, and repeats it for up to `again` while the server is lost.
    fn ask(&mut self, method: &str, path: &str, again: Duration) -> anywhen::Result<bytes::Bytes> {
        let begun = Instant::now();
        let mut pause = PAUSES.0;
        let is_under_way = self.backup.is_some();
        loop {
            match self.once(method, path) {
                Err(BackupError::Lost(_))
                    if begun.elapsed() + pause < again && self.backup.is_some() == is_under_way =>
                {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(PAUSES.1);
                }
                answer => return Ok(answer?),
            }
        }
    }

    fn once(&mut self, method: &str, path: &str) -> Result<bytes::Bytes, BackupError> {
        let answer = self.client.ask(method, path);
        let answer = answer.map_err(|error| BackupError::Lost(error.to_string()))?;
        if answer.is_success() {
            let expected = answer.header("anywhen-crc32c");
            let found = format!("{:08x}", crc32c::crc32c(&answer.body));
            return match expected.is_none_or(|expected| expected == found) {
                true => Ok(answer.body),
                false => Err(BackupError::Lost("bytes were damaged on the way".to_owned())),
            };
        }
        let told = told(&answer.body).unwrap_or_else(|| format!("the answer is {}", answer.status));
        Err(match answer.status {
            // The server restarted, or has given the backup up: the backup must begin again.
            404 if self.backup.take().is_some() => BackupError::Lost(told),
            408 | 429 | 500..=599 => BackupError::Lost(told),
            _ => BackupError::Refused(told),
        })
    }

    /// The path of a resource of the running backup.
    fn path(&self, rest: &str) -> anywhen::Result<String> {
        match &self.backup {
            Some((id, _)) => Ok(format!("/v1/backups/{id}{rest}")),
            None => Err(BackupError::Lost("the backup has ended".to_owned()).into()),
        }
    }
}

/// The sentence and the hint of a problem.
fn told(body: &[u8]) -> Option<String> {
    let tape = Tape::parse(std::str::from_utf8(body).ok()?).ok()?;
    let text = |name| Some(tape.root().get(name)?.as_str()?.into_owned());
    let hint = text("hint").map_or_else(String::new, |hint| format!(" ({hint})"));
    Some(text("detail")? + &hint)
}

/// An answer that is not as it should be.
fn malformed() -> Error {
    BackupError::Refused("its answer is not that of an Anywhen server".to_owned()).into()
}

impl BackupSource for HttpSource {
    fn begin(&mut self) -> anywhen::Result<BackupPlan> {
        self.end();
        let body = self.ask("POST", "/v1/backups", Duration::ZERO)?;
        let read = || {
            let tape = Tape::parse(std::str::from_utf8(&body).ok()?).ok()?;
            let text = |name| Some(tape.root().get(name)?.as_str()?.into_owned());
            let number = |name| tape.root().get(name)?.as_u64();
            let id = text("id")?;
            let plan = BackupPlan {
                id: BackupId(u64::from_str_radix(&id, 16).ok()?),
                csn: Csn(number("csn")?),
                time_us: number("time_us")?,
                complete_us: number("complete_us")?,
                manifest: STANDARD.decode(text("manifest")?).ok()?,
            };
            Some((id, plan))
        };
        let (id, plan) = read().ok_or_else(malformed)?;
        self.backup = Some((id, plan.csn));
        Ok(plan)
    }

    fn read(&mut self, name: &str, offset: u64, bytes: &mut [u8]) -> anywhen::Result<()> {
        let path = self.path(&format!("/files/{name}?offset={offset}&bytes={}", bytes.len()))?;
        let body = self.ask("GET", &path, AGAIN)?;
        if body.len() != bytes.len() {
            return Err(malformed());
        }
        bytes.copy_from_slice(&body);
        Ok(())
    }

    fn follow(&mut self, after: Csn, time_us: u64) -> anywhen::Result<()> {
        if self.backup.as_ref().is_some_and(|(_, csn)| *csn <= after) {
            return Ok(());
        }
        self.end();
        let path = format!("/v1/backups/continue?after={}&time_us={time_us}", after.0);
        let body = self.ask("POST", &path, Duration::ZERO)?;
        let read = || {
            let tape = Tape::parse(std::str::from_utf8(&body).ok()?).ok()?;
            Some(tape.root().get("id")?.as_str()?.into_owned())
        };
        self.backup = Some((read().ok_or_else(malformed)?, after));
        Ok(())
    }

    fn records(&mut self, after: Csn) -> anywhen::Result<LogBatch> {
        let path = self.path(&format!("/log?after={}", after.0))?;
        let body = self.ask("GET", &path, Duration::ZERO)?;
        decoded(&body).ok_or_else(malformed)
    }

    fn end(&mut self) {
        if let Ok(path) = self.path("") {
            // A server that is gone has released it by itself.
            let _ = self.once("DELETE", &path);
            self.backup = None;
        }
    }
}

/// Takes the answer of the log apart: a time, and records after their lengths.
fn decoded(body: &[u8]) -> Option<LogBatch> {
    let (time, mut rest) = body.split_first_chunk::<8>()?;
    let mut batch = LogBatch { records: Vec::new(), complete_us: u64::from_le_bytes(*time) };
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (record, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        batch.records.push(record.to_vec());
        rest = after;
    }
    rest.is_empty().then_some(batch)
}
