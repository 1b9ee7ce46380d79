//! The command `anywhen`: the functions of the embeddable database, from a shell.
//!
//! The command parses its command line, calls the public interface of the library, as any program
//! could, and prints the answer.
//!
//! ```text
//!   words ──args──> Command ──run──> read · write · collections · import · export · tables · maintenance · backups · serve · sql · explore
//!                                       |         (each: Session -> Outcome)
//!                                       v
//!                            Database (the library)     render, screen ──> stdout
//!                                                       failure ─────────> stderr, exit code
//! ```
//!
//! Invariants:
//! - Answers go to standard output, everything else (progress, notes, errors)
//!   to standard error: output can always be piped.
//! - Exit codes: 0 success; 1 not found, or not possible; 2 the command line is
//!   wrong; 3 the disk failed or the data are damaged.
//! - With `--json` every answer and every error is JSON.
//! - Colours appear on terminals only, and never if `NO_COLOR` is set.

mod allocator;
mod args;
mod backups;
mod budget;
mod collections;
mod explore;
mod explorer_files;
mod export;
mod export_html;
mod failure;
mod git;
mod import;
mod json_out;
mod log_file;
mod maintenance;
mod manual;
mod paint;
mod progress;
mod read;
mod remote;
mod render;
mod screen;
mod serve;
mod session;
mod shell;
mod sql;
mod tables;
mod token;
mod visible;
mod write;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use failure::{Failure, Outcome};
use session::Session;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && wants_json() => {
            let failure = Failure::usage(&error);
            failure.report(true);
            return failure.exit_code();
        }
        Err(error) => error.exit(),
    };
    let mut session = Session::new(&arguments.global);
    let outcome = run(&mut session, &arguments.command);
    // Closed in any case; the first error is reported.
    let closed = session.close();
    let outcome = outcome.and(closed);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(arguments.global.json);
            failure.exit_code()
        }
    }
}

/// True if a command line that could not be parsed has `--json`.
fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

/// Carries out one command. The shell calls this once for each line it reads.
fn run(session: &mut Session, command: &Command) -> Outcome {
    match command {
        Command::Init => maintenance::init(session),
        Command::Put(a) => write::put(session, a),
        Command::Get(a) => read::get(session, a),
        Command::Edit(a) => write::edit(session, a),
        Command::Rm(a) => write::rm(session, a),
        Command::Sql(a) => sql::sql(session, a),
        Command::Serve(a) => serve::serve(session, a),
        Command::Token(a) => token::token(session, a),
        Command::Create(a) => collections::create(session, a),
        Command::Alter(a) => collections::alter(session, a),
        Command::Drop(a) => collections::drop(session, a),
        Command::Ls(a) => collections::ls(session, a),
        Command::History(a) => read::history(session, a),
        Command::Diff(a) => read::diff(session, a),
        Command::Blame(a) => read::blame(session, a),
        Command::NodeHistory(a) => read::node_history(session, a),
        Command::Paths(a) => read::paths(session, a),
        Command::Explore(a) => explore::explore(session, a),
        Command::Revert(a) => write::revert(session, a),
        Command::Import(a) => import::import(session, a),
        Command::Export(a) => export::export(session, a),
        Command::Verify => maintenance::verify(session),
        Command::Compact => maintenance::compact(session),
        Command::Backup(a) => backups::backup(session, a),
        Command::Restore(a) => backups::restore(session, a),
        Command::Stats => maintenance::stats(session),
        Command::Shell => shell::shell(session),
        Command::Completions(a) => manual::completions(a),
        Command::ManPages(a) => manual::man_pages(a),
    }
}
