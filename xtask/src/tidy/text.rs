//! Rules that look at the lines of one file at a time.
//!
//! They work on the text as it stands, comments included, because what they
//! look for (a missing header, a note that says "later") is often a comment.

use super::{Finding, Tree};

/// The most lines a file may have: past this it has more than one subject.
const LINES_MAX: usize = 900;

/// Marks of unfinished work. Spelled in two halves, so that this file passes its own test.
const UNFINISHED: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("#[ig", "nore"),
];

/// Folders that exist on one machine only.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/fa", "rm/"), concat!("../sha", "red")];

/// True for the Rust sources of the project, as against tests beside them.
pub(super) fn is_module(path: &str) -> bool {
    let mut parts = path.split('/');
    match parts.next() {
        Some("crates") => parts.nth(1) == Some("src"),
        Some("bench" | "xtask") => parts.next() == Some("src"),
        _ => false,
    }
}

/// Every module opens with a `//!` header that says what it is.
pub(super) fn module_header(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending("rs").filter(|(path, _)| is_module(path)) {
        let first = text.lines().next().unwrap_or("");
        if !first.starts_with("//!") {
            findings.push(Finding::new(
                path,
                1,
                "the module does not open with `//!`: say what it is and why it exists",
            ));
        } else if first.trim_start_matches("//!").trim().len() < 8
            || first.contains("to be written")
        {
            findings.push(Finding::new(
                path,
                1,
                "the module's header says nothing: say what it is and why it exists",
            ));
        }
    }
    findings
}

/// No Rust file has more than [`LINES_MAX`] lines.
pub(super) fn length(tree: &Tree) -> Vec<Finding> {
    tree.ending("rs")
        .filter_map(|(path, text)| {
            let lines = text.lines().count();
            (lines > LINES_MAX).then(|| {
                Finding::new(
                    path,
                    lines,
                    format!("{lines} lines, {LINES_MAX} at most: split it by subject"),
                )
            })
        })
        .collect()
}

/// Nothing in Rust, shell or Python says that it is unfinished.
pub(super) fn unfinished(tree: &Tree) -> Vec<Finding> {
    let sources = ["rs", "sh", "py"];
    find(
        tree.iter().filter(|(path, _)| {
            path.rsplit_once('.').is_some_and(|(_, ending)| sources.contains(&ending))
        }),
        UNFINISHED,
        |needle| format!("`{needle}` says that something is unfinished: finish it or take it out"),
    )
}

/// No file names a folder that exists on one machine only.
pub(super) fn machine_paths(tree: &Tree) -> Vec<Finding> {
    find(tree.iter(), MACHINE_PATHS, |needle| {
        format!("`{needle}` exists on one machine only: use a path inside the checkout")
    })
}

/// A finding for each line that holds one of the needles.
fn find<'t>(
    files: impl Iterator<Item = (&'t str, &'t str)>,
    needles: &[&str],
    message: impl Fn(&str) -> String,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            for needle in needles.iter().filter(|needle| line.contains(**needle)) {
                findings.push(Finding::new(path, number + 1, message(needle)));
            }
        }
    }
    findings
}
