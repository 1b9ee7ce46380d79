//! The command `anywhen`, driven from outside as a person or a script drives it.
//!
//! Nothing here knows the library: commands go in, text and exit codes come out.

mod backups;
mod collections;
mod commands;
mod crowds;
mod documents;
mod earlier;
mod errors;
mod formats;
mod histories_killed;
mod http;
mod http_killed;
mod imports;
mod kill;
mod operations;
mod pages;
#[path = "../../../session/tests/session/serial.rs"]
mod serial;
mod serve_killed;
mod sql;
mod tables;
mod terminals;
mod tour;
mod unstorable;
#[path = "../../../server/tests/server/wire.rs"]
#[allow(dead_code, reason = "the tests of the server say more")]
mod wire;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use json::Tape;

/// The command under test.
const ANYWHEN: &str = env!("CARGO_BIN_EXE_anywhen");

/// The root of the checkout.
fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An empty folder of its own, in which commands are run.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its name.
    fn file<'n>(&self, name: &'n str, bytes: impl AsRef<[u8]>) -> &'n str {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, bytes).expect("a file");
        name
    }

    /// The command with these words, ready to run.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(ANYWHEN);
        command
            .current_dir(self.folder.path())
            .args(words)
            .env_remove("ANYWHEN_DATA")
            .env("ANYWHEN_AUTHOR", "ada")
            .stdin(Stdio::null());
        command
    }

    fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the command starts")
    }

    /// Runs a command that must succeed; returns what it printed.
    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert!(
            output.status.success(),
            "anywhen {words:?} failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs a command that must succeed; returns its answer as JSON.
    #[track_caller]
    fn json(&self, words: &[&str]) -> Tape {
        let mut words = words.to_vec();
        words.push("--json");
        let text = self.run(&words);
        Tape::parse(text.trim()).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
    }

    /// Runs a command that must fail with this exit code; returns what it said
    /// on standard error.
    #[track_caller]
    fn fails(&self, code: i32, words: &[&str]) -> String {
        let output = self.output(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "anywhen {words:?}: {said}");
        assert!(!said.contains("panicked"), "anywhen {words:?}: {said}");
        said
    }

    /// Runs a command with this text as standard input.
    #[track_caller]
    fn fed(&self, words: &[&str], input: &str) -> Output {
        use std::io::Write;
        let mut child = self
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("the command reads");
        drop(stdin);
        child.wait_with_output().expect("the command ends")
    }
}

/// The text field `name` of each object of an array.
fn texts(array: &Tape, name: &str) -> Vec<String> {
    array
        .root()
        .children()
        .map(|item| item.get(name).and_then(|n| n.as_str()).unwrap_or_default().into_owned())
        .collect()
}

/// A number that a field of an object holds.
#[track_caller]
fn number(object: &Tape, name: &str) -> u64 {
    let field = object.root().get(name);
    field.and_then(|n| n.as_u64()).unwrap_or_else(|| panic!("no number {name} in {object:?}"))
}
