//! The operations of ZODB's storages: ours beside FileStorage where nothing is served, and beside two storages that
//! keep objects in PostgreSQL where they are in a server.
//!
//! ```text
//!  driver.py (ZODB, one process) ──┬── anywhen.zodb ────┬── an embedded database
//!                                  │                    └── an Anywhen server, by the loopback
//!                                  ├── FileStorage ──────── a file
//!                                  ├── RelStorage ──────┬── PostgreSQL 17, by the loopback
//!                                  └── zodb-pgjsonb ────┘
//!     │ one JSON object a line: what is measured now, what is left out, samples of an operation
//!     └──> medians ──> a row for the embedded ones, and a row for those in servers
//! ```
//! The storages take turns in the driver (`bench/objects`), because they are all driven by Python. `bench/run`
//! makes its environment. zodb-pgjsonb needs Python 3.12 or newer: with an older one it is left out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::Context;
use crate::Result;
use crate::ours::Server;
use crate::peer::postgres::Postgres;
use crate::peer::{FILE_STORAGE, PGJSONB, RELSTORAGE};
use crate::report::{BY_SERVER, Row, Target, median};

/// The name of the samples of our embedded database in the lines of the driver.
const EMBEDDED: &str = "anywhen";
/// The name of the samples of our server.
const SERVED: &str = "anywhen-server";
/// The name of the samples of the disk's floor.
const FLOOR: &str = "floor";
/// The pack that has a limit of its own, and that limit in milliseconds.
const PACK: (&str, f64) = ("pack-10000", 10.0);
/// How many times as good as the better of the other storages in servers ours is to be.
const AHEAD: f64 = 2.0;

/// A line of the driver.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Measured(Measured),
    Step(String),
    Note(String),
}

/// The samples of an operation.
#[derive(Deserialize)]
struct Measured {
    id: String,
    what: String,
    unit: String,
    /// By the name of the storage.
    samples: BTreeMap<String, Vec<f64>>,
}

impl Measured {
    /// The figure of a storage.
    fn median(&self, name: &str) -> Option<f64> {
        self.samples.get(name).map(|samples| median(samples))
    }
}

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let python = context.cache.join("zodb/bin/python");
    if !python.exists() {
        return Err(format!("there is no {}; bench/run makes it", python.display()).into());
    }
    context.step("starting PostgreSQL and Anywhen");
    let postgres = Postgres::start_listening(&context.cache, &context.work)?;
    let anywhen = Server::start(&context.work.join("served"))?;
    let dsn = |of: SocketAddr| format!("host={} port={} user=postgres", of.ip(), of.port());
    let (folder, log) = (context.work.join("storages"), context.work.join("driver.log"));
    fs::create_dir(&folder)?;
    let mut driver = Command::new(python)
        .arg(crate::home().join("objects/driver.py"))
        .arg(&folder)
        .args(["--postgres", &dsn(postgres.address()?)])
        .args(["--anywhen", &dsn(anywhen.address())])
        .args(["--rounds", context.count("11", "2")])
        .args(context.quick.then_some("--quick"))
        .env("PYTHONPATH", context.cache.join("zodb-ours"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdout(Stdio::piped())
        .stderr(File::create(&log)?)
        .spawn()?;
    let output = driver.stdout.take().ok_or("the driver has no output")?;
    let (mut embedded, mut served) = (Vec::new(), Vec::new());
    for line in BufReader::new(output).lines() {
        match serde_json::from_str(&line?)? {
            Line::Step(step) => context.step(step),
            Line::Note(note) => context.progress.suspend(|| anstream::eprintln!("bench: {note}")),
            Line::Measured(measured) => {
                embedded.push(embedded_row(&measured));
                served.push(served_row(&measured));
            }
        }
    }
    if !driver.wait()?.success() {
        return Err(format!("the driver failed:\n{}", fs::read_to_string(log)?).into());
    }
    embedded.append(&mut served);
    Ok(embedded)
}

/// The row of an operation with no server: medians, and FileStorage's figure as the one to reach.
fn embedded_row(measured: &Measured) -> Row {
    let Measured { id, what, unit, .. } = measured;
    let mut row = Row::new(id, what, unit).ours(measured.median(EMBEDDED));
    if let Some(floor) = measured.median(FLOOR) {
        row = row.floor(floor);
    }
    let Some(theirs) = measured.median(FILE_STORAGE) else { return row };
    row = row.peer(FILE_STORAGE, theirs);
    if id == PACK.0 {
        let words = format!("≤ FileStorage, ≤ {} ms", PACK.1);
        row.target(&words, Target::AtMost(theirs.min(PACK.1)))
    } else if row.more_is_better() {
        row.target("≥ FileStorage", Target::AtLeast(theirs))
    } else {
        row.target("≤ FileStorage", Target::AtMost(theirs))
    }
}

/// The row of an operation in a server: medians, and a multiple of the better peer as the figure to reach.
fn served_row(measured: &Measured) -> Row {
    let Measured { id, what, unit, .. } = measured;
    let mut row = Row::new(format!("{id}-server"), format!("{what}{BY_SERVER}"), unit)
        .ours(measured.median(SERVED));
    if let Some(floor) = measured.median(FLOOR) {
        row = row.floor(floor);
    }
    for peer in [RELSTORAGE, PGJSONB] {
        if let Some(figure) = measured.median(peer) {
            row = row.peer(peer, figure);
        }
    }
    let Some(best) = row.best_other() else { return row };
    let limit = if row.more_is_better() {
        Target::AtLeast(best * AHEAD)
    } else {
        Target::AtMost(best / AHEAD)
    };
    row.target("2 × the better one", limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(line: &str) -> Measured {
        match serde_json::from_str(line).expect("a line of the driver") {
            Line::Measured(measured) => measured,
            _ => panic!("no samples: {line}"),
        }
    }

    #[test]
    fn an_embedded_row_has_medians_and_is_to_reach_what_file_storage_has() {
        let row = embedded_row(&measured(
            r#"{"measured": {"id": "store-1", "what": "store", "unit": "us",
                "samples": {"anywhen": [1, 2, 9], "filestorage": [3, 3, 4], "floor": [0.5]}}}"#,
        ));
        assert_eq!((row.ours, row.of(FILE_STORAGE), row.floor), (Some(2.0), Some(3.0), Some(0.5)));
        assert_eq!((row.target.as_str(), row.met), ("≤ FileStorage", Some(true)));
    }

    #[test]
    fn a_rate_must_be_as_large_and_the_largest_pack_has_a_limit() {
        let row = |id: &str, unit: &str| {
            embedded_row(&measured(&format!(
                r#"{{"measured": {{"id": "{id}", "what": "w", "unit": "{unit}",
                    "samples": {{"anywhen": [20], "filestorage": [100]}}}}}}"#
            )))
        };
        assert_eq!(row("c", "commits/s").met, Some(false));
        let pack = row("pack-10000", "ms");
        assert_eq!((pack.target.as_str(), pack.met), ("≤ FileStorage, ≤ 10 ms", Some(false)));
    }

    #[test]
    fn a_row_of_servers_is_to_reach_twice_what_the_better_one_has() {
        let row = |unit: &str, ours: f64| {
            served_row(&measured(&format!(
                r#"{{"measured": {{"id": "c", "what": "c", "unit": "{unit}", "samples":
                    {{"anywhen-server": [{ours}], "relstorage": [60], "zodb-pgjsonb": [50.0]}}}}}}"#
            )))
        };
        assert_eq!([26.0, 25.0].map(|ours| row("us", ours).met), [Some(false), Some(true)]);
        assert_eq!(
            [119.0, 120.0].map(|ours| row("commits/s", ours).met),
            [Some(false), Some(true)]
        );
        assert_eq!(row("us", 1.0).id, "c-server");
    }

    #[test]
    fn lines_that_have_no_samples_are_steps_or_notes() {
        let line = |text| serde_json::from_str::<Line>(text).expect("a line of the driver");
        assert!(matches!(line(r#"{"step": "store"}"#), Line::Step(_)));
        assert!(matches!(line(r#"{"note": "left out"}"#), Line::Note(_)));
    }
}
