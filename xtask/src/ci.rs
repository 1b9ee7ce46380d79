//! Everything that `make test` and the build server run, and how long it took.
//!
//! ```text
//!   fmt ─> web ─> clippy ─> tidy ─> test ─> postgres ─> e2e ─> explorer ─> clients ─> hostile ─> python ─> summary
//! ```
//!
//! A step that fails does not stop the ones after it: one run tells all that
//! is wrong. The summary ends with one line, `N passed, N failed`, that counts
//! every test of every step.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The outcome of one step.
#[derive(Default)]
struct Outcome {
    passed: u64,
    failed: u64,
    ok: bool,
}

impl Outcome {
    /// The outcome of a step that is itself one test.
    fn single(ok: bool) -> Self {
        Self { passed: u64::from(ok), failed: u64::from(!ok), ok }
    }
}

/// A step: its name, what it does, and the function that runs it.
type Step = (&'static str, &'static str, fn(&Path) -> Outcome);

const STEPS: &[Step] = &[
    ("fmt", "the code is formatted", fmt),
    ("web", "the explorer is built, its types hold, its bundle is small", web),
    ("clippy", "no warning from the compiler or clippy", clippy),
    ("tidy", "the style guide's mechanical part", tidy),
    ("test", "unit and integration tests of every crate", test),
    ("postgres", "each access method gives PostgreSQL's answers", postgres),
    ("e2e", "the built command, driven from outside", end_to_end),
    ("explorer", "the explorer, in a browser", explorer),
    ("clients", "programs that speak to PostgreSQL speak to the built server", clients),
    ("hostile", "the built server loses nothing in a hostile half minute", hostile),
    ("python", "the Python module, installed from its wheel, here and over the wire", python),
];

/// Runs the steps named in `only`, or all, and prints a summary.
pub(crate) fn run(root: &Path, only: &[String]) -> ExitCode {
    if let Some(unknown) = only.iter().find(|name| !STEPS.iter().any(|(step, ..)| step == name)) {
        let known: Vec<&str> = STEPS.iter().map(|(name, ..)| *name).collect();
        eprintln!("xtask: there is no step {unknown:?}; the steps are {}", known.join(" "));
        return ExitCode::from(2);
    }
    let begun = Instant::now();
    let mut rows: Vec<(&str, Outcome, Duration)> = Vec::new();
    for (name, what, step) in STEPS {
        if !only.is_empty() && !only.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("\n=== {name}: {what}");
        let start = Instant::now();
        let outcome = step(root);
        rows.push((name, outcome, start.elapsed()));
    }
    summary(&rows, begun.elapsed())
}

fn summary(rows: &[(&str, Outcome, Duration)], total: Duration) -> ExitCode {
    println!("\n=== summary");
    for (name, outcome, took) in rows {
        let verdict = if outcome.ok { "ok" } else { "FAILED" };
        let tests = outcome.passed + outcome.failed;
        println!("{name:<8} {verdict:<7} {tests:>6} checks {:>8.1} s", took.as_secs_f64());
    }
    println!("{:<8} {:>22} {:>8.1} s", "total", "", total.as_secs_f64());
    let passed: u64 = rows.iter().map(|(_, outcome, _)| outcome.passed).sum();
    let failed: u64 = rows.iter().map(|(_, outcome, _)| outcome.failed).sum();
    println!("{passed} passed, {failed} failed");
    if rows.iter().all(|(_, outcome, _)| outcome.ok) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Cargo, in the checkout, as the one that started this task.
fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(arguments);
    // Of the Python module the names of the interpreter are found when that loads it: nothing is linked
    // with an interpreter.
    command.env("PYO3_BUILD_EXTENSION_MODULE", "1");
    command
}

/// True if the command could be started and ended well.
fn succeeds(mut command: Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            println!("cannot start {command:?}: {error}");
            false
        }
    }
}

fn fmt(root: &Path) -> Outcome {
    let ok = succeeds(cargo(root, &["fmt", "--all", "--check"]));
    if !ok {
        println!("put it right with `cargo fmt --all`");
    }
    Outcome::single(ok)
}

/// Builds the explorer before anything that contains it, so that nothing is compiled twice.
fn web(root: &Path) -> Outcome {
    let mut command = Command::new("sh");
    command.current_dir(root).args(["scripts/web.sh", "--check"]);
    Outcome::single(succeeds(command))
}

fn clippy(root: &Path) -> Outcome {
    Outcome::single(succeeds(cargo(
        root,
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    )))
}

fn tidy(root: &Path) -> Outcome {
    Outcome::single(crate::tidy::run(root) == ExitCode::SUCCESS)
}

fn test(root: &Path) -> Outcome {
    let command =
        cargo(root, &["test", "--workspace", "--all-features", "--locked", "--no-fail-fast"]);
    counted(command)
}

/// Runs the tests that compare with PostgreSQL beside a server of it.
fn postgres(root: &Path) -> Outcome {
    let mut command = Command::new("python3");
    command.current_dir(root).arg("tests/postgres/run");
    counted(command)
}

/// Runs every `tests/*.sh` with `ANYWHEN` set to the built command.
fn end_to_end(root: &Path) -> Outcome {
    let Some(command) = build_command(root) else {
        return Outcome::single(false);
    };
    let mut scripts: Vec<_> = match std::fs::read_dir(root.join("tests")) {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "sh"))
            .collect(),
        Err(_) => Vec::new(),
    };
    scripts.sort();
    let mut outcome = Outcome { ok: true, ..Outcome::default() };
    for script in scripts {
        let name = script.file_name().unwrap_or_default().to_string_lossy();
        let start = Instant::now();
        let mut shell = Command::new("sh");
        shell.current_dir(root).arg(&script).env("ANYWHEN", &command);
        let ok = succeeds(shell);
        let verdict = if ok { "ok" } else { "FAILED" };
        println!("{name} ... {verdict} ({:.1} s)", start.elapsed().as_secs_f64());
        outcome.passed += u64::from(ok);
        outcome.failed += u64::from(!ok);
        outcome.ok &= ok;
    }
    outcome
}

/// Runs the tests of the explorer in Chromium, with `ANYWHEN` set to the built command.
fn explorer(root: &Path) -> Outcome {
    let Some(anywhen) = build_command(root) else {
        return Outcome::single(false);
    };
    let mut command = Command::new("sh");
    command.current_dir(root).arg("tests/explorer/run").env("ANYWHEN", anywhen);
    counted(command)
}

/// Runs the programs of `tests/clients`, with `ANYWHEN` set to the built command.
fn clients(root: &Path) -> Outcome {
    let Some(anywhen) = build_command(root) else {
        return Outcome::single(false);
    };
    let mut command = Command::new("python3");
    command.current_dir(root).arg("tests/clients/run").env("ANYWHEN", anywhen);
    counted(command)
}

/// Runs `tests/hostile` for half a minute, with `ANYWHEN` set to the built command.
fn hostile(root: &Path) -> Outcome {
    let Some(anywhen) = build_command(root) else {
        return Outcome::single(false);
    };
    let mut command = Command::new("python3");
    command.current_dir(root).arg("tests/hostile/run").env("ANYWHEN", anywhen);
    counted(command)
}

/// Runs the tests of the Python module, with `ANYWHEN` set to the built command.
fn python(root: &Path) -> Outcome {
    let Some(anywhen) = build_command(root) else {
        return Outcome::single(false);
    };
    let mut command = Command::new("python3");
    command.current_dir(root).arg("python/run").env("ANYWHEN", anywhen);
    counted(command)
}

/// Builds the command in the test profile, with the features that the tests had, so that nothing is compiled
/// twice; returns its path, as Cargo tells it. The native half of the Python module is built with it, and
/// lies beside it.
fn build_command(root: &Path) -> Option<String> {
    let arguments = [
        "build",
        "--locked",
        "--workspace",
        "--all-features",
        "--lib",
        "--bin",
        "anywhen",
        // With a test among what is built, crates have the features that tests ask for.
        "--test",
        "server",
        "--message-format=json-render-diagnostics",
    ];
    let output = cargo(root, &arguments).stderr(Stdio::inherit()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut commands = text.lines().filter(|line| line.contains("\"kind\":[\"bin\"]"));
    let path = commands
        .find_map(|line| line.split_once("\"executable\":\""))
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(path, _)| path.to_owned());
    if path.is_none() {
        println!("the command `anywhen` was not built");
    }
    path.filter(|_| output.status.success())
}

/// Runs a test runner, showing what it prints, and adds up its results.
fn counted(mut command: Command) -> Outcome {
    let mut child = match command.stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            println!("cannot start {command:?}: {error}");
            return Outcome::single(false);
        }
    };
    let mut outcome = Outcome::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            if let Some((passed, failed)) = results(&line) {
                outcome.passed += passed;
                outcome.failed += failed;
            }
        }
    }
    outcome.ok = child.wait().is_ok_and(|status| status.success());
    if !outcome.ok && outcome.failed == 0 {
        // It did not compile, or a test binary died: that is a failure too.
        outcome.failed = 1;
    }
    outcome
}

/// The counts in `test result: ok. 12 passed; 0 failed; ...`.
fn results(line: &str) -> Option<(u64, u64)> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let mut counts = counts.split("; ");
    let mut number =
        |word: &str| -> Option<u64> { counts.next()?.strip_suffix(word)?.trim().parse().ok() };
    Some((number("passed")?, number("failed")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_line_of_a_test_runner_is_understood() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured";
        assert_eq!(results(line), Some((12, 3)));
        assert_eq!(results("running 4 tests"), None);
    }

    #[test]
    fn a_runner_that_dies_without_a_result_counts_as_one_failure() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'test result: ok. 2 passed; 0 failed'; exit 9"]);
        let outcome = counted(command);
        assert_eq!((outcome.passed, outcome.failed, outcome.ok), (2, 1, false));
    }
}
