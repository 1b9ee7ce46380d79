//! The direction of imports: a crate uses only crates of the layers below it.
//!
//! ```text
//!   anywhen ──> document ──> txn ──> log, store ──> vfs
//!      └───────────┴──> json
//! ```
//!
//! The table below is that picture. A new edge is an event: it is added here
//! and its reason is written in ARCHITECTURE.md.

use super::scan::line_of;
use super::{Finding, Tree};

/// Each crate of `crates/`, and the crates of the project that it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("vfs", &[]),
    ("json", &[]),
    ("log", &["vfs"]),
    ("store", &["vfs"]),
    ("txn", &["vfs", "log", "store"]),
    ("document", &["vfs", "store", "txn", "json"]),
    ("anywhen", &["vfs", "log", "store", "txn", "json", "document"]),
];

/// Other engines, and clients of other engines: for comparison only.
const ENGINES: &[&str] = &[
    "duckdb",
    "fjall",
    "heed",
    "postgres",
    "redb",
    "rocksdb",
    "rusqlite",
    "sled",
    "sqlx",
    "surrealkv",
    "tokio-postgres",
];

/// Every Cargo.toml keeps to the table, and engines stay in `bench`.
pub(super) fn direction(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let known: Vec<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    for (path, text) in tree.ending("toml") {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        let name = folder.strip_prefix("crates/");
        let allowed = name.map(|name| ALLOWED.iter().find(|(known, _)| *known == name));
        if let (Some(name), Some(None)) = (name, allowed) {
            findings.push(Finding::new(
                path,
                0,
                format!(
                    "crate `{name}` has no place among the layers: give it one in \
                     xtask/src/tidy/imports.rs and say why in ARCHITECTURE.md"
                ),
            ));
        }
        for (line, used) in dependencies(text) {
            if let Some(Some((name, allowed))) = allowed
                && known.contains(&used)
                && !allowed.contains(&used)
            {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{name}` may not use `{used}`: imports go downwards only"),
                ));
            }
            if ENGINES.contains(&used) && folder != "bench" {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{used}` is another engine: it may be used in `bench` only"),
                ));
            }
        }
        if !text.contains("[lints]\nworkspace = true") {
            findings.push(Finding::new(
                path,
                0,
                "the crate does not take the workspace's lints: add `[lints] workspace = true`",
            ));
        }
    }
    findings
}

/// The dependencies of a manifest of every kind, with their lines.
fn dependencies(text: &str) -> Vec<(usize, &str)> {
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines() {
        // `line` is a slice of `text`: its place tells its number.
        let number = line_of(text, line.as_ptr() as usize - text.as_ptr() as usize);
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            // `[dependencies.name]` is a dependency spelled as a section.
            if let Some((table, name)) = section.rsplit_once('.')
                && table.ends_with("dependencies")
            {
                found.push((number, name));
            }
            continue;
        }
        if !section.ends_with("dependencies") || line.starts_with('#') {
            continue;
        }
        if let Some((name, _)) = line.split_once(['.', '=', ' ']) {
            found.push((number, name.trim()));
        }
    }
    found
}
