//! Measures Anywhen and live peers: in the same run, on the same disk, in turns.
//!
//! ```text
//!  bench versioned ─┐                    ┌─ peer/postgres    a server of our own, by unix socket
//!  bench history  ──┤── suite/* ── race ─┼─ ours             Anywhen, embedded
//!  bench floor      │                    └─ floor            pwrite + fdatasync, nothing else
//!  bench plot ──────┴── report ── results/SUITE.json ── plot ── results/SUITE.svg, docs/benchmarks.md
//! ```
//! This crate is the only place in the project where other engines are dependencies.
//! `bench/run` fetches the peers and starts it; `docs/benchmarks.md` explains what it prints.

mod document;
mod floor;
mod histories;
mod machine;
mod ours;
mod peer;
mod plot;
mod publish;
mod report;
mod suite;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use floor::Floor;
use machine::{Machine, Priority};
use report::{Report, median, number};
use suite::Context;

/// The server that is measured runs in this program: it allocates as `anywhen` does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Any failure ends the run with its message.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// See [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Anywhen beside its peers, in the same run on the same disk.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One JSON document, 5,001 durable versions, at four sizes
    Versioned(Options),
    /// 10,000 to 1,000,000 commits on a tiny document; 2 GB of history behind a small cache
    History(Options),
    /// Seven workloads by PostgreSQL's protocol, at 1, 4 and 32 connections; pgbench
    Pgwire(Options),
    /// Part of a document over HTTP, by 1 to 32 clients, beside a writer, after 10,000 revisions
    Rest(Options),
    /// One transaction of 2,000,000 rows beside small ones: what it costs the others
    Large(Options),
    /// The 22 queries of TPC-H: in tables of rows beside PostgreSQL, in columns beside DuckDB
    Tpch(Options),
    /// Ten questions over 1,000,000 events in columns, beside PostgreSQL, DuckDB, Hyper and ClickHouse
    Analytics(Options),
    /// The same questions over 10,000,000 events, beside DuckDB, Hyper and ClickHouse
    #[command(name = "analytics-10m")]
    Analytics10m(Options),
    /// Plans for many tables, and reads beside changes of the catalog
    Plans(Options),
    /// Indexes over 1,000,000 rows, and 10,000,000 rows that are more than the cache holds, beside PostgreSQL
    Tables(Options),
    /// ZODB's storages: store, load, commit, pack, beside FileStorage, RelStorage and zodb-pgjsonb
    Objects(Options),
    /// The histories of three documents on disk, beside `xz -9` of all their versions
    Stored(Options),
    /// The limits of this disk: durable 160-byte records a second
    Floor(Options),
    /// Print the suites' document of so many bytes
    Document {
        /// Length in bytes, at least 2,404
        #[arg(default_value_t = 2_404, value_parser = clap::value_parser!(u32).range(2_404..))]
        bytes: u32,
    },
    /// The reading half of the history suite's largest history, in a process of its own
    #[command(hide = true)]
    ReadLarge { folder: PathBuf },
    /// Anywhen's SQL server, in a process of its own; it ends with its standard input
    #[command(hide = true)]
    Serve {
        folder: PathBuf,
        /// Keep so many MiB of blocks in memory
        #[arg(long, default_value_t = 256)]
        cache_mib: usize,
    },
    /// Anywhen's HTTP server, likewise
    #[command(hide = true)]
    ServeHttp { folder: PathBuf },
    /// The floor under it: a server that answers everything with the bytes of a file
    #[command(hide = true)]
    ServeBytes { file: PathBuf },
    /// Draw the pictures and fill the tables of docs/benchmarks.md from bench/results
    Plot,
}

#[derive(Args)]
struct Options {
    /// Small counts, under a minute, only to look: results go to bench/.cache/quick
    #[arg(long)]
    quick: bool,
    /// Folder for the databases under test, on the disk to measure [default: bench/.cache]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// Do not ask for a priority above that of other programs
    #[arg(long)]
    no_realtime: bool,
}

/// The folder of this crate, where results and fetched peers live.
fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Versioned(options) => {
            measure("versioned", &options, Priority::RealTime, suite::versioned::run)
        }
        Command::History(options) => {
            measure("history", &options, Priority::RealTime, suite::history::run)
        }
        Command::Pgwire(options) => {
            measure("pgwire", &options, Priority::RealTime, suite::pgwire::run)
        }
        Command::Rest(options) => measure("rest", &options, Priority::Preferred, suite::rest::run),
        Command::Large(options) => {
            measure("large", &options, Priority::Preferred, suite::transactions::run)
        }
        Command::Tpch(options) => measure("tpch", &options, Priority::Preferred, suite::tpch::run),
        Command::Analytics(options) => {
            measure("analytics", &options, Priority::Preferred, suite::analytics::run)
        }
        Command::Analytics10m(options) => {
            measure("analytics-10m", &options, Priority::Preferred, suite::analytics::run_10m)
        }
        Command::Plans(options) => {
            measure("plans", &options, Priority::RealTime, suite::plans::run)
        }
        Command::Tables(options) => {
            measure("tables", &options, Priority::RealTime, suite::tables::run)
        }
        Command::Objects(options) => {
            measure("objects", &options, Priority::Preferred, suite::objects::run)
        }
        Command::Stored(options) => {
            measure("stored", &options, Priority::Preferred, suite::stored::run)
        }
        Command::Floor(options) => floor(&options),
        Command::Document { bytes } => {
            anstream::println!("{}", document::generate(bytes as usize));
            Ok(())
        }
        Command::ReadLarge { folder } => suite::read_large(&folder),
        Command::Serve { folder, cache_mib } => ours::serve(&folder, cache_mib << 20),
        Command::ServeHttp { folder } => ours::serve_http(&folder),
        Command::ServeBytes { file } => suite::rest::serve_bytes(&file),
        Command::Plot => publish::all(&home()),
    }
}

/// Runs one suite from a clean work folder and publishes what it found.
fn measure(
    name: &str,
    options: &Options,
    priority: Priority,
    suite: fn(&Context) -> Result<Vec<report::Row>>,
) -> Result<()> {
    let cache = home().join(".cache");
    let work = work_folder(options)?;
    let priority = Some(priority).filter(|_| !options.no_realtime).and_then(Priority::take);
    let machine = Machine::look(&work, priority)?;
    let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed_precise} {wide_msg}")?;
    let progress = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        .with_style(style)
        .with_prefix(name.to_owned());
    let context =
        Context { cache: cache.clone(), work: work.clone(), quick: options.quick, progress };

    let rows = suite(&context);
    if let Some(priority) = priority {
        priority.give_back();
    }
    let rows = rows?;
    context.progress.finish_and_clear();
    std::fs::remove_dir_all(&work)?;

    let report = Report { suite: name.to_owned(), quick: options.quick, machine, rows };
    let colour = std::io::stdout().is_terminal();
    anstream::println!("{}\n{}", report.terminal(colour), report.conditions());
    if options.quick {
        let folder = cache.join("quick");
        publish::results(&report, &folder)?;
        anstream::println!(
            "\nQuick: nothing was published; the figures are in {}",
            folder.display()
        );
    } else {
        publish::results(&report, &home().join("results"))?;
        publish::all(&home())?;
    }
    Ok(())
}

/// A new, empty work folder on a real disk.
fn work_folder(options: &Options) -> Result<PathBuf> {
    let parent = options.dir.clone().unwrap_or_else(|| home().join(".cache"));
    std::fs::create_dir_all(&parent)?;
    machine::refuse_memory_disk(&parent)?;
    // Only a folder of our own name is ever removed, whatever --dir is.
    let work = parent.join("anywhen-bench");
    if work.exists() {
        peer::postgres::stop_leftover(&home().join(".cache"), &work);
        std::fs::remove_dir_all(&work)?;
    }
    std::fs::create_dir(&work)?;
    Ok(work)
}

fn floor(options: &Options) -> Result<()> {
    let work = work_folder(options)?;
    let mut floor = Floor::create(&work)?;
    let slices = if options.quick { 5 } else { 50 };
    let samples =
        (0..slices).map(|_| floor.records_per_second(1_000)).collect::<Result<Vec<f64>>>()?;
    std::fs::remove_dir_all(&work)?;
    let rate = median(&samples);
    anstream::println!(
        "{} durable records of {} bytes a second, {:.1} us each",
        number(rate),
        floor::RECORD_BYTES,
        1e6 / rate
    );
    Ok(())
}
