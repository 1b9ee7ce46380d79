//! The operations of ZODB's storages: ours embedded, FileStorage, and two that keep objects in PostgreSQL.
//!
//! ```text
//!  driver.py (ZODB, one process) ──┬── anywhen.zodb     an embedded database
//!                                  ├── FileStorage      a file
//!                                  ├── RelStorage   ────┬── PostgreSQL 17, by the loopback
//!                                  └── zodb-pgjsonb ────┘
//!     │ one JSON object a line: what is measured now, what is left out, samples of an operation
//!     └──> medians ──> rows
//! ```
//! The storages take turns in the driver (`bench/objects`), because they are all driven by Python. `bench/run`
//! makes its environment. zodb-pgjsonb needs Python 3.12 or newer: with an older one it is left out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::Context;
use crate::Result;
use crate::peer::FILE_STORAGE;
use crate::peer::postgres::Postgres;
use crate::report::{Row, Target, median};

/// The name of our samples in the lines of the driver.
const OURS: &str = "anywhen";
/// The name of the samples of the disk's floor.
const FLOOR: &str = "floor";
/// The pack that has a limit of its own, and that limit in milliseconds.
const PACK: (&str, f64) = ("pack-10000", 10.0);

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

/// Runs the suite.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let python = context.cache.join("zodb/bin/python");
    if !python.exists() {
        return Err(format!("there is no {}; bench/run makes it", python.display()).into());
    }
    context.step("starting PostgreSQL");
    let server = Postgres::start_listening(&context.cache, &context.work)?;
    let address = server.address()?;
    let (folder, log) = (context.work.join("storages"), context.work.join("driver.log"));
    fs::create_dir(&folder)?;
    let mut driver = Command::new(python)
        .arg(crate::home().join("objects/driver.py"))
        .arg(&folder)
        .arg("--server")
        .arg(format!("host={} port={} user=postgres", address.ip(), address.port()))
        .args(["--rounds", context.count("11", "2")])
        .args(context.quick.then_some("--quick"))
        .env("PYTHONPATH", context.cache.join("zodb-ours"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdout(Stdio::piped())
        .stderr(File::create(&log)?)
        .spawn()?;
    let output = driver.stdout.take().ok_or("the driver has no output")?;
    let mut rows = Vec::new();
    for line in BufReader::new(output).lines() {
        match serde_json::from_str(&line?)? {
            Line::Step(step) => context.step(step),
            Line::Note(note) => {
                context.progress.suspend(|| anstream::eprintln!("bench: {note}"))
            }
            Line::Measured(measured) => rows.push(row(&measured)),
        }
    }
    if !driver.wait()?.success() {
        return Err(format!("the driver failed:\n{}", fs::read_to_string(log)?).into());
    }
    Ok(rows)
}

/// The row of an operation: medians, and FileStorage's figure as the one to reach.
fn row(measured: &Measured) -> Row {
    let Measured { id, what, unit, samples } = measured;
    let mut row = Row::new(id, what, unit);
    for (name, samples) in samples {
        let figure = median(samples);
        row = match name.as_str() {
            OURS => row.ours(figure),
            FLOOR => row.floor(figure),
            peer => row.peer(peer, figure),
        };
    }
    let Some(theirs) = row.of(FILE_STORAGE) else { return row };
    if id == PACK.0 {
        let words = format!("≤ FileStorage, ≤ {} ms", PACK.1);
        row.target(&words, Target::AtMost(theirs.min(PACK.1)))
    } else if row.more_is_better() {
        row.target("≥ FileStorage", Target::AtLeast(theirs))
    } else {
        row.target("≤ FileStorage", Target::AtMost(theirs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(line: &str) -> Row {
        match serde_json::from_str(line).expect("a line of the driver") {
            Line::Measured(measured) => row(&measured),
            _ => panic!("no samples: {line}"),
        }
    }

    #[test]
    fn a_row_has_medians_and_is_to_reach_what_file_storage_has() {
        let row = row_of(
            r#"{"id": "store-1", "what": "store", "unit": "us",
                "samples": {"anywhen": [1, 2, 9], "filestorage": [3, 3, 4], "floor": [0.5]}}"#,
        );
        assert_eq!((row.ours, row.of(FILE_STORAGE), row.floor), (Some(2.0), Some(3.0), Some(0.5)));
        assert_eq!((row.target.as_str(), row.met), ("≤ FileStorage", Some(true)));
    }

    #[test]
    fn a_rate_must_be_as_large_and_the_largest_pack_has_a_limit() {
        let samples = r#""samples": {"anywhen": [20], "filestorage": [100]}"#;
        let rate =
            row_of(&format!(r#"{{"id": "c", "what": "c", "unit": "commits/s", {samples}}}"#));
        assert_eq!(rate.met, Some(false));
        let pack =
            row_of(&format!(r#"{{"id": "pack-10000", "what": "p", "unit": "ms", {samples}}}"#));
        assert_eq!((pack.target.as_str(), pack.met), ("≤ FileStorage, ≤ 10 ms", Some(false)));
    }

    #[test]
    fn lines_that_have_no_samples_are_steps_or_notes() {
        let line = |text| serde_json::from_str::<Line>(text).expect("a line of the driver");
        assert!(matches!(line(r#"{"step": "store"}"#), Line::Step { .. }));
        assert!(matches!(line(r#"{"note": "left out"}"#), Line::Note { .. }));
    }
}
