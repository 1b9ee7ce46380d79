//! The bytes of a document's history on disk, beside `xz -9` of all its versions, and the time to read one version.
//!
//! ```text
//!  histories ─┬─ one version a line ── xz -9 ──────────────────> bytes
//!             └─ one commit a version ── checkpoint, compact ──> bytes of every file but the log
//!                                           └── a random version: again and again; first after opening
//! ```
//! `xz` sees all versions at once, and gives none back without all before it. It is the size to come near to.
//!
//! Invariants: every version is read back and compared byte for byte before any figure counts.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Context, must_equal};
use crate::Result;
use crate::document::Numbers;
use crate::histories::{self, History};
use crate::ours::Ours;
use crate::report::{Row, Target, count, median};

/// The name of the other program in the reports.
const XZ: &str = "xz -9";
const KEY: &str = "document";
/// When the first version was made, and the time to the next, in seconds: what an import brings along.
const FIRST_S: u64 = 1_700_000_000;
const STEP_S: u64 = 40_000;

/// Runs the suite; returns its rows.
pub fn run(context: &Context) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for history in histories::all(context.count(300, 60)) {
        rows.extend(one(context, &history)?);
    }
    Ok(rows)
}

fn one(context: &Context, history: &History) -> Result<Vec<Row>> {
    let History { label, id, versions } = history;
    let named = format!("{label}, {} versions", count(versions.len() as u64));
    context.step(format!("xz -9 of {named}"));
    let xz = xz_bytes(&histories::lines(history))? as f64;
    context.step(format!("storing {named}"));
    let folder = context.work.join("stored");
    let ours = Ours::create_relaxed(&folder)?;
    for (at, version) in (0..).zip(versions) {
        ours.put_authored(KEY, version, (FIRST_S + at * STEP_S) * 1_000_000)?;
    }
    let flushed = ours.footprint()?.files as f64;
    ours.compact()?;
    let stored = ours.footprint()?.files as f64;
    must_equal("versions", ours.newest(KEY)?, versions.len() as u64)?;
    check(&ours, versions)?;
    context.step(format!("reading {named}"));
    let mut numbers = Numbers::new(3);
    let mut warm = micros(&ours, versions, &mut numbers, context.count(5_000, 500))?;
    ours.close()?;
    let mut cold = Vec::new();
    for _ in 0..context.count(60, 5) {
        let ours = Ours::open(&folder)?;
        cold.extend(micros(&ours, versions, &mut numbers, 1)?);
        ours.close()?;
    }
    warm.sort_by(f64::total_cmp);
    let p99 = warm[warm.len() * 99 / 100];
    let time = |name: &str, what: &str, micros: f64| {
        Row::new(format!("{id}-{name}"), format!("{what}, {label}"), "us")
            .ours(micros)
            .target("< 1 ms", Target::AtMost(1_000.0))
    };
    Ok(vec![
        Row::new(format!("{id}-flushed"), format!("bytes after a checkpoint, {named}"), "bytes")
            .ours(flushed)
            .peer(XZ, xz),
        Row::new(format!("{id}-bytes"), format!("bytes after a compaction, {named}"), "bytes")
            .ours(stored)
            .peer(XZ, xz),
        Row::new(format!("{id}-ratio"), format!("the same over xz -9, {label}"), "ratio")
            .ours(stored / xz)
            .target("≤ 2.5", Target::AtMost(2.5)),
        time("warm", "a random version, whole, p50", median(&warm)),
        time("warm-p99", "a random version, whole, p99", p99),
        time("cold", "the first version read after opening, whole, p50", median(&cold)),
    ])
}

/// Reads every version back.
fn check(ours: &Ours, versions: &[String]) -> Result<()> {
    let mut out = Vec::new();
    for (revision, version) in (1..).zip(versions) {
        out.clear();
        ours.read(KEY, revision, &mut out)?;
        must_equal(&format!("version {revision}"), out.as_slice(), version.as_bytes())?;
    }
    Ok(())
}

/// Microseconds of each of some reads of random versions.
fn micros(ours: &Ours, versions: &[String], numbers: &mut Numbers, times: u32) -> Result<Vec<f64>> {
    let mut out = Vec::new();
    let mut read = || {
        let at = numbers.below(versions.len());
        out.clear();
        let start = Instant::now();
        ours.read(KEY, at as u32 + 1, &mut out)?;
        let took = start.elapsed().as_secs_f64() * 1e6;
        must_equal("the length of a version", out.len(), versions[at].len())?;
        Ok(took)
    };
    (0..times).map(|_| read()).collect()
}

/// Returns the length of a text after `xz -9`.
fn xz_bytes(text: &str) -> Result<usize> {
    let mut xz = Command::new("xz")
        .args(["-9", "--stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run xz: {error}"))?;
    let mut stdin = xz.stdin.take().ok_or("xz has a standard input")?;
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = xz.wait_with_output()?;
    writer.join().map_err(|_| "the writer to xz panicked")??;
    if !output.status.success() {
        return Err(format!("xz: {}", output.status).into());
    }
    Ok(output.stdout.len())
}
