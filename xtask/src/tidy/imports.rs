//! The direction of imports: a crate uses only crates of the layers below it.
//!
//! ```text
//!   command ──> http ──> anywhen
//!      ├──────> terminal ──> http
//!      └──────> anywhen, server, explorer
//!   anywhen ──> document ──> txn ──> log, store ──> vfs
//!      └───────────┴──> json ──> numeric, posix
//!   server ──> session ──> exec ──> sql ──> scalar ──> types ──┘
//!                            └────> plan ──> batch ──> table ──> txn, scalar
//!                                              └─────> stripe <── store
//!   session, anywhen ──> interchange ──> types, vfs
//! ```
//!
//! The table below is that picture. A new edge is an event: it is added here
//! and its reason is written in ARCHITECTURE.md.

use super::{Finding, Tree};

/// Each crate of `crates/`, and the crates of the project that it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("vfs", &[]),
    ("interrupt", &[]),
    ("collate", &[]),
    ("numeric", &["interrupt"]),
    ("posix", &[]),
    ("json", &["interrupt", "numeric", "posix"]),
    ("pickle", &["json"]),
    ("types", &["interrupt", "json", "numeric", "posix"]),
    ("charset", &["types"]),
    ("lexeme", &["posix"]),
    ("scalar", &["collate", "interrupt", "json", "lexeme", "numeric", "posix", "types"]),
    ("sql", &["collate", "interrupt", "json", "numeric", "types", "scalar", "table"]),
    ("log", &["vfs"]),
    ("stripe", &[]),
    ("store", &["vfs", "stripe"]),
    ("txn", &["vfs", "log", "store"]),
    (
        "table",
        &[
            "collate",
            "interrupt",
            "vfs",
            "stripe",
            "store",
            "txn",
            "json",
            "document",
            "numeric",
            "pickle",
            "types",
            "scalar",
        ],
    ),
    ("object", &["store", "txn", "table", "types"]),
    ("batch", &["json", "numeric", "scalar", "sql", "stripe", "table", "types"]),
    ("plan", &["types", "scalar", "sql", "table", "batch"]),
    (
        "exec",
        &[
            "interrupt",
            "vfs",
            "types",
            "scalar",
            "numeric",
            "sql",
            "store",
            "txn",
            "table",
            "batch",
            "plan",
        ],
    ),
    (
        "session",
        &[
            "charset",
            "collate",
            "interrupt",
            "lexeme",
            "vfs",
            "json",
            "document",
            "numeric",
            "types",
            "scalar",
            "sql",
            "store",
            "txn",
            "table",
            "object",
            "plan",
            "exec",
            "interchange",
        ],
    ),
    ("interchange", &["vfs", "numeric", "types"]),
    ("server", &["charset", "types", "txn", "session"]),
    ("document", &["vfs", "store", "txn", "json"]),
    (
        "anywhen",
        &[
            "vfs",
            "interrupt",
            "log",
            "store",
            "txn",
            "json",
            "document",
            "types",
            "scalar",
            "table",
            "session",
            "object",
            "server",
            "interchange",
        ],
    ),
    ("http", &["anywhen", "interrupt", "json"]),
    ("explorer", &[]),
    ("terminal", &["anywhen", "http", "json"]),
    ("command", &["anywhen", "explorer", "http", "json", "server", "store", "terminal", "txn"]),
];

/// Other engines, and clients of other engines: for comparison only. A client is let into the tests
/// of the crate that it talks to: see [`CLIENTS`].
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

/// Clients of PostgreSQL that prove, in the tests of the server, that what its users connect with
/// works: crate, client.
const CLIENTS: &[(&str, &str)] = &[("server", "tokio-postgres")];

/// Programs that connect to a server from outside: projects of their own, in no build of ours.
const OUTSIDE: &str = "tests/clients/";

/// Every Cargo.toml keeps to the table, and engines stay in `bench`.
pub(super) fn direction(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let known: Vec<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    for (path, text) in tree.ending("toml") {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        if folder.starts_with(OUTSIDE) {
            continue;
        }
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
        for Dependency { line, name: used, for_tests } in dependencies(text) {
            if let Some(Some((name, allowed))) = allowed
                && known.contains(&used)
                && !allowed.contains(&used)
                && !(for_tests && is_below(used, name))
            {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{name}` may not use `{used}`: imports go downwards only"),
                ));
            }
            let is_client = for_tests && name.is_some_and(|name| CLIENTS.contains(&(name, used)));
            if ENGINES.contains(&used) && folder != "bench" && !is_client {
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

/// True if `used` lies in any layer below `name`: its tests may look down
/// that far, for example to open a log and damage it.
fn is_below(used: &str, name: &str) -> bool {
    ALLOWED
        .iter()
        .filter(|(known, _)| *known == name)
        .flat_map(|(_, allowed)| allowed.iter())
        .any(|below| *below == used || is_below(used, below))
}

/// One line of a manifest that names a crate.
struct Dependency<'a> {
    line: usize,
    name: &'a str,
    for_tests: bool,
}

/// The dependencies of a manifest, of every kind.
fn dependencies(text: &str) -> Vec<Dependency<'_>> {
    let mut section = "";
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let for_tests = section.contains("dev-dependencies");
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            // `[dependencies.name]` is a dependency spelled as a section.
            if let Some((table, name)) = section.rsplit_once('.')
                && table.ends_with("dependencies")
            {
                let for_tests = table.contains("dev-dependencies");
                found.push(Dependency { line: number + 1, name, for_tests });
            }
            continue;
        }
        if !section.ends_with("dependencies") || line.starts_with('#') {
            continue;
        }
        if let Some((name, _)) = line.split_once(['.', '=', ' ']) {
            found.push(Dependency { line: number + 1, name: name.trim(), for_tests });
        }
    }
    found
}
