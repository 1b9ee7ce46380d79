//! Two gigabytes of history behind a small cache: what opening costs, what reading the past costs, and
//! how much memory it takes.
//!
//! ```text
//!  build    1,000 documents of 8 random strings, one of them set anew in each version: nothing compresses
//!           away; merged in the end, as an old history is
//!  read     in a process of its own, so that its memory is that of reading alone:
//!           open │ random revisions of random documents ··· ···│ resident memory
//! ```

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Context, must_equal};
use crate::Result;
use crate::document::Numbers;
use crate::machine;
use crate::ours::Ours;
use crate::report::{Row, Target, median};

const DOCUMENTS: usize = 1_000;
const FIELDS: usize = 8;
const FIELD_BYTES: usize = 1_000;
/// Documents that change in one commit.
const TOGETHER: usize = 50;
/// Files of the database after it was merged, at least.
const HISTORY_BYTES: u64 = 2 << 30;
/// The budget of the cache when it is read.
const CACHE_BYTES: usize = 256 << 20;
/// Reads, each of another revision of another document.
const READS: usize = 50_000;

/// The results of the reading process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reading {
    /// Of opening the database, and the first read of a field.
    open_us: f64,
    /// Of one read of a whole old version: half of them, and all but one in a hundred, took less.
    median_us: f64,
    p99_us: f64,
    /// Resident memory at its highest.
    resident_bytes: u64,
}

/// The rows of a history of [`HISTORY_BYTES`].
pub fn rows(context: &Context) -> Result<Vec<Row>> {
    let folder = context.work.join("ours-large");
    let bytes = build(context, &folder)?;
    context.step("reading from 2 GB of history");
    let reading: Reading = in_a_process_of_its_own(&folder)?;
    std::fs::remove_dir_all(&folder)?;
    let row = |id: &str, what: &str, unit| {
        Row::new(format!("large-{id}"), format!("2 GB of history: {what}"), unit)
    };
    Ok(vec![
        row("bytes", "files after merging", "bytes").ours(bytes as f64),
        row("open", "open database and document, 256 MB cache", "us")
            .ours(reading.open_us)
            .target("≤ 100 ms", Target::AtMost(100_000.0)),
        row("read", "a random version of a random document, whole, 8 KB, 256 MB cache", "us")
            .ours(reading.median_us),
        row("read-p99", "the slowest of a hundred such reads", "us").ours(reading.p99_us),
        row("memory", "resident memory after 50,000 such reads", "bytes")
            .ours(reading.resident_bytes as f64)
            .target("≤ 400 MB", Target::AtMost(400e6)),
    ])
}

fn key(document: usize) -> String {
    format!("document-{document:04}")
}

/// A string of letters, digits and two signs, by chance: six bits of each byte are news.
fn value(numbers: &mut Numbers, out: &mut String) {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    out.push('"');
    for _ in 0..FIELD_BYTES / 10 {
        let bits = numbers.next();
        (0..10).for_each(|i| out.push(SIGNS[(bits >> (6 * i)) as usize & 63] as char));
    }
    out.push('"');
}

/// Makes the database; returns the length of its files.
fn build(context: &Context, folder: &Path) -> Result<u64> {
    let ours = Ours::create_relaxed(folder)?;
    let mut numbers = Numbers::new(7);
    for document in 0..DOCUMENTS {
        let mut text = String::from("{");
        for field in 0..FIELDS {
            text.push_str(&format!("{}\"f{field}\":", if field > 0 { "," } else { "" }));
            value(&mut numbers, &mut text);
        }
        ours.put(&key(document), &(text + "}"))?;
    }
    let mut merged = 0;
    while merged < HISTORY_BYTES {
        // Merging leaves about half of what was flushed.
        let wanted = merged + (HISTORY_BYTES - merged) * 21 / 10;
        let mut bytes = merged;
        while bytes < wanted {
            context.step(format!("building 2 GB of history: {} MB to be merged", bytes >> 20));
            for _ in 0..500 {
                ours.together((0..TOGETHER).map(|_| {
                    let mut text = String::with_capacity(FIELD_BYTES + 2);
                    value(&mut numbers, &mut text);
                    (key(numbers.below(DOCUMENTS)), format!("$.f{}", numbers.below(FIELDS)), text)
                }))?;
            }
            bytes = ours.footprint()?.files;
        }
        context.step("merging 2 GB of history");
        ours.compact()?;
        merged = ours.footprint()?.files;
    }
    ours.close()?;
    Ok(merged)
}

fn in_a_process_of_its_own(folder: &Path) -> Result<Reading> {
    let output = Command::new(std::env::current_exe()?)
        .arg("read-large")
        .arg(folder)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("the reading process failed: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Opens a database that [`build`] made and reads it; prints a [`Reading`].
pub fn read(folder: &Path) -> Result<()> {
    let mut numbers = Numbers::new(8);
    let start = Instant::now();
    let ours = Ours::open_with_cache(folder, CACHE_BYTES)?;
    let mut text = Vec::with_capacity(16 << 10);
    ours.read(&key(0), 1, &mut text)?;
    let open_us = start.elapsed().as_secs_f64() * 1e6;
    let mut micros = Vec::with_capacity(READS);
    for _ in 0..READS {
        let key = key(numbers.below(DOCUMENTS));
        let newest = ours.newest(&key)?;
        let revision = 1 + numbers.below(newest as usize) as u32;
        text.clear();
        let start = Instant::now();
        ours.read(&key, revision, &mut text)?;
        micros.push(start.elapsed().as_secs_f64() * 1e6);
        must_equal("bytes of a version", text.len(), FIELDS * (FIELD_BYTES + 8) + 1)?;
    }
    let median_us = median(&micros);
    micros.sort_by(f64::total_cmp);
    let reading = Reading {
        open_us,
        median_us,
        p99_us: micros[READS - READS / 100],
        resident_bytes: machine::resident_bytes().ok_or("resident memory is not known here")?,
    };
    anstream::println!("{}", serde_json::to_string(&reading)?);
    ours.close()
}
