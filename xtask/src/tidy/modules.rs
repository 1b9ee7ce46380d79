//! Rules that follow the modules of each crate from its roots.
//!
//! ```text
//!   src/lib.rs ── mod commit; ──> src/commit.rs ── mod order; ──> src/commit/order.rs
//!        └────── #[cfg(test)] mod tests; ──> src/tests.rs          (only for tests)
//!   src/old.rs                                                      (reached by nobody: dead)
//! ```
//!
//! Following them tells which files are compiled at all, and which are
//! compiled for tests only and may therefore use files and clocks freely.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{block_end, code, is_word, line_of};
use super::{Finding, Tree};

/// The crates below the embeddable database: all that they do must replay in
/// the simulator, so files, time and chance come through `vfs::Env`.
const SIMULATED: &[&str] = &["vfs", "log", "store", "txn", "json", "types", "exec", "document"];

/// The real disk and clock: the one place where the outside is touched.
const REAL_WORLD: &[&str] = &["crates/vfs/src/os.rs", "crates/vfs/src/os/"];

const BANNED: &[&str] = &[
    "std::fs",
    "std::time::SystemTime",
    "SystemTime::now",
    "Instant::now",
    "thread_rng",
    "rand::random",
];

/// Which files are reached from the roots, and whether only by tests.
struct Reached {
    /// Path, and true if every way to it is behind `#[cfg(test)]`.
    files: BTreeMap<String, bool>,
    /// `mod` declarations that lead to no file.
    missing: Vec<Finding>,
}

/// No Rust file lies about that no `mod` declaration leads to.
pub(super) fn dead_files(tree: &Tree) -> Vec<Finding> {
    let reached = reach(tree);
    let mut findings = reached.missing;
    for (path, _) in tree.ending("rs") {
        if !reached.files.contains_key(path) {
            findings.push(Finding::new(
                path,
                0,
                "no `mod` declaration leads here: declare the module or delete the file",
            ));
        }
    }
    findings
}

/// The crates that the simulator runs touch no file, clock or randomness of
/// the machine outside their tests.
pub(super) fn banned_calls(tree: &Tree) -> Vec<Finding> {
    let reached = reach(tree);
    let mut findings = Vec::new();
    for (path, text) in tree.ending("rs") {
        let simulated = path
            .strip_prefix("crates/")
            .and_then(|rest| rest.split_once("/src/"))
            .is_some_and(|(name, _)| SIMULATED.contains(&name));
        let real = REAL_WORLD.iter().any(|place| path.starts_with(place));
        let test_only = reached.files.get(path) == Some(&true);
        if !simulated || real || test_only {
            continue;
        }
        let code = without_tests(code(text));
        for (offset, call) in calls(&code) {
            findings.push(Finding::new(
                path,
                line_of(text, offset),
                format!("`{call}` does not replay in the simulator: go through `vfs::Env`"),
            ));
        }
    }
    findings
}

/// Each banned call in `code`, and `fs` where it hides in `use std::{...}`.
fn calls(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for &call in BANNED {
        for (offset, _) in code.match_indices(call) {
            if is_word(code, offset, call) {
                found.push((offset, call));
            }
        }
    }
    for (offset, _) in code.match_indices("std::{") {
        let end = block_end(code, offset);
        for (inside, name) in code[offset..end].match_indices("fs") {
            if is_word(code, offset + inside, name) {
                found.push((offset + inside, "std::fs"));
            }
        }
    }
    found.sort_unstable();
    // `std::time::SystemTime::now` is one call, named once.
    found.dedup_by(|later, earlier| later.0 < earlier.0 + earlier.1.len());
    found
}

/// The code with every `#[cfg(test)]` block blanked out.
fn without_tests(code: String) -> String {
    let mut out = code.clone().into_bytes();
    for (offset, _) in code.match_indices("#[cfg(test)]") {
        let item = &code[offset..];
        let open = item.find('{').unwrap_or(item.len());
        let semicolon = item.find(';').unwrap_or(item.len());
        let end =
            if open < semicolon { block_end(&code, offset + open) } else { offset + semicolon };
        for byte in &mut out[offset..end.min(code.len())] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Follows the modules of every crate of the tree.
fn reach(tree: &Tree) -> Reached {
    let mut reached = Reached { files: BTreeMap::new(), missing: Vec::new() };
    for (root, test_only) in roots(tree) {
        follow(tree, &root, true, test_only, &mut reached);
    }
    reached
}

/// The files that Cargo compiles first: libraries, binaries, tests, examples.
fn roots(tree: &Tree) -> BTreeSet<(String, bool)> {
    let mut roots = BTreeSet::new();
    for (manifest, text) in tree.ending("toml") {
        let Some(folder) = manifest.strip_suffix("Cargo.toml") else {
            continue;
        };
        for name in ["src/lib.rs", "src/main.rs", "build.rs"] {
            let path = format!("{folder}{name}");
            if tree.get(&path).is_some() {
                roots.insert((path, false));
            }
        }
        for (sub, test_only) in
            [("src/bin/", false), ("tests/", true), ("benches/", true), ("examples/", true)]
        {
            let sub = format!("{folder}{sub}");
            for (path, _) in tree.ending("rs") {
                let Some(rest) = path.strip_prefix(&sub) else {
                    continue;
                };
                let own_folder = rest.ends_with("/main.rs") && rest.matches('/').count() == 1;
                if !rest.contains('/') || own_folder {
                    roots.insert((path.to_owned(), test_only));
                }
            }
        }
        // Targets with a path of their own: `[[test]] path = "..."`.
        for line in text.lines() {
            let path =
                line.trim().strip_prefix("path = \"").and_then(|rest| rest.strip_suffix(".rs\""));
            if let Some(path) = path {
                roots.insert((normal(&format!("{folder}{path}.rs")), false));
            }
        }
    }
    roots
}

/// Marks `path` and what it declares. `owns_folder`: its modules lie beside it
/// (a crate's root or a `mod.rs`), not in a folder of its name.
fn follow(tree: &Tree, path: &str, owns_folder: bool, test_only: bool, reached: &mut Reached) {
    match reached.files.get(path) {
        // Reached before in the same way, or outside tests: nothing to learn.
        Some(&before) if before == test_only || !before => return,
        _ => {}
    }
    let Some(text) = tree.get(path) else { return };
    reached.files.insert(path.to_owned(), test_only);
    let (folder, stem) = match path.rsplit_once('/') {
        Some((folder, name)) => (folder, name.trim_end_matches(".rs")),
        None => ("", path.trim_end_matches(".rs")),
    };
    let base = if owns_folder { folder.to_owned() } else { format!("{folder}/{stem}") };
    for module in declared(text) {
        let behind_test = test_only || module.behind_test;
        let candidates = match &module.path {
            Some(path) => vec![(normal(&format!("{folder}/{path}")), true)],
            None => {
                let place = format!("{base}/{}{}", module.inside, module.name);
                vec![(format!("{place}.rs"), false), (format!("{place}/mod.rs"), true)]
            }
        };
        match candidates.iter().find(|(path, _)| tree.get(path).is_some()) {
            Some((path, owns_folder)) => follow(tree, path, *owns_folder, behind_test, reached),
            None => reached.missing.push(Finding::new(
                path,
                module.line,
                format!("`mod {};` leads to no file", module.name),
            )),
        }
    }
}

/// One `mod name;` of a file.
struct Declared {
    name: String,
    /// `outer/` for each inline module around it.
    inside: String,
    path: Option<String>,
    behind_test: bool,
    line: usize,
}

/// The `mod name;` declarations of a file, those in inline modules included.
fn declared(text: &str) -> Vec<Declared> {
    let code = code(text);
    let mut inline: Vec<(usize, &str, bool)> = Vec::new();
    let mut found = Vec::new();
    for (offset, word) in code.match_indices("mod ") {
        if !is_word(&code, offset, "mod") {
            continue;
        }
        let rest = &code[offset + word.len()..];
        let name_len =
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_len);
        inline.retain(|(end, _, _)| *end > offset);
        let attributes = attributes(&code, offset);
        let marked = code[attributes.clone()].contains("#[cfg(test)]");
        let behind_test = marked || inline.iter().any(|(_, _, test)| *test);
        match after.trim_start().as_bytes().first() {
            Some(b';') => found.push(Declared {
                name: name.to_owned(),
                inside: inline.iter().map(|(_, name, _)| format!("{name}/")).collect(),
                path: text[attributes]
                    .split_once("#[path = \"")
                    .and_then(|(_, rest)| rest.split_once('"'))
                    .map(|(path, _)| path.to_owned()),
                behind_test,
                line: line_of(text, offset),
            }),
            Some(b'{') => {
                let open = code[offset..].find('{').map_or(code.len(), |o| offset + o);
                inline.push((block_end(&code, open), name, behind_test));
            }
            _ => {}
        }
    }
    found
}

/// The range of the attributes in front of the item whose keyword is at `at`:
/// back to the end of the item before it.
fn attributes(code: &str, at: usize) -> std::ops::Range<usize> {
    let start = code[..at].rfind([';', '{', '}']).map_or(0, |end| end + 1);
    start..at
}

/// The path with `a/../` taken out.
pub(super) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
