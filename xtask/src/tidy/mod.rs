//! Style as a test: the parts of the style guide that a machine can check.
//!
//! ```text
//!   checkout ──> Tree (path -> text) ──> each rule ──> findings, file:line: what to do
//! ```
//!
//! A rule is a function from the [`Tree`] to a list of [`Finding`]s. The tree
//! is held in memory, so that the unit tests of a rule show it firing on a
//! few lines of text and need no files.
//!
//! Invariants:
//! - A rule reads the tree and nothing else: no disk, no clock, no network.
//! - Every finding names a file and a line (0 where the whole file is meant)
//!   and says what to do about it.

mod imports;
mod links;
mod modules;
mod names;
mod prose;
mod scan;
#[cfg(test)]
mod tests;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// Every text file of the checkout that some rule looks at, by its path from
/// the root, written with forward slashes.
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    /// Files that are not read as text; only that they are there counts.
    others: BTreeSet<String>,
}

/// Folders that hold what was built or fetched, never what was written.
const SKIPPED_FOLDERS: &[&str] =
    &["target", ".git", "node_modules", ".cache", "__pycache__", "anywhen-data"];

/// Endings of the files that are read as text.
const TEXT_ENDINGS: &[&str] =
    &["rs", "md", "toml", "sh", "py", "js", "ts", "html", "css", "yml", "yaml"];

/// Files without an ending that are read as text.
const TEXT_NAMES: &[&str] = &["Makefile", "run"];

impl Tree {
    /// Reads the checkout at `root`.
    fn load(root: &Path) -> std::io::Result<Self> {
        let mut files = BTreeMap::new();
        let mut others = BTreeSet::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    if !SKIPPED_FOLDERS.contains(&&*name) {
                        folders.push(entry.path());
                    }
                    continue;
                }
                let path = entry.path();
                let ending = path.extension().and_then(|ending| ending.to_str());
                let wanted = ending.is_some_and(|ending| TEXT_ENDINGS.contains(&ending))
                    || TEXT_NAMES.contains(&&*name);
                let relative = path.strip_prefix(root).unwrap_or(&path);
                let relative = relative.to_string_lossy().replace('\\', "/");
                if !wanted {
                    others.insert(relative);
                    continue;
                }
                let bytes = std::fs::read(&path)?;
                files.insert(relative, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(Self { files, others })
    }

    /// A tree made of the given files, for tests.
    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
            others: BTreeSet::new(),
        }
    }

    fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files whose name ends in `.ending`.
    fn ending(&self, ending: &'static str) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(move |(path, _)| path.rsplit_once('.').is_some_and(|(_, e)| e == ending))
    }
}

/// One thing to put right.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// Counted from 1; 0 where the whole file is meant.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line.max(1), self.message)
    }
}

/// A rule: what it is called, and what it finds.
type Rule = (&'static str, fn(&Tree) -> Vec<Finding>);

const RULES: &[Rule] = &[
    ("every module opens with //!", text::module_header),
    ("no file has outgrown its room", text::length),
    ("nothing unfinished", text::unfinished),
    ("no machine's own paths", text::machine_paths),
    ("files, time and chance enter through vfs", modules::banned_calls),
    ("no dead file", modules::dead_files),
    ("crates import downwards", imports::direction),
    ("links in Markdown resolve", links::resolve),
    ("no private words as names", names::private),
    ("sentences name their actor", prose::openings),
    ("sentences have the usual order of words", prose::phrases),
];

/// All findings of all rules, in the order of the files.
fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|(_, rule)| rule(tree)).collect();
    findings.sort();
    findings
}

/// Checks the checkout at `root` and prints what it finds.
pub(crate) fn run(root: &Path) -> ExitCode {
    let tree = match Tree::load(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: cannot read {}: {error}", root.display());
            return ExitCode::from(3);
        }
    };
    let findings = check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    let files = tree.files.len();
    if findings.is_empty() {
        println!("tidy: {files} files, {} rules, nothing to do", RULES.len());
        ExitCode::SUCCESS
    } else {
        println!("tidy: {files} files, {} to put right", findings.len());
        ExitCode::FAILURE
    }
}
