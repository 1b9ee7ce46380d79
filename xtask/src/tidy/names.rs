//! The rule about names: a module or type is not called by a private word where
//! the field has a term.
//!
//! A name counts if it is the word itself: `mod door`, `struct Door`, `eras.rs`.
//! `is_within` or `last_before` are ordinary English.

use super::{Finding, Tree, scan, text};

/// Private words in the form of a module's name, and the field's term.
const PRIVATE: &[(&str, &str)] = &[
    ("amend", "`jsonb_diff`, or what is compared with what"),
    ("before", "`backfill`, or before which event"),
    ("beside", "`row_link`, or what the module links to what"),
    ("care", "`maintenance`"),
    ("chance", "`conditional`, as in a conditional access path"),
    ("desk", "`commit_waiter`"),
    ("door", "`listener`"),
    ("era", "`epoch`, as in a storage epoch"),
    ("eras", "`epochs`, as in storage epochs"),
    ("proviso", "`condition`"),
    ("provisos", "`conditions`"),
    ("twin", "`storage`, as in document storage"),
    ("twins", "`storages`, as in document storages"),
    ("within", "`txn_ops`, or inside of what"),
];

/// Words that introduce a name.
const DEFINING: &[&str] = &["mod", "struct", "enum", "trait", "type"];

/// No module or type is named by one of the [`PRIVATE`] words.
pub(super) fn private(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.ending("rs").filter(|(path, _)| text::is_module(path)) {
        let code = scan::code(source);
        for word in DEFINING {
            for (at, _) in
                code.match_indices(word).filter(|(at, _)| scan::is_word(&code, *at, word))
            {
                let name = name_after(&code, at + word.len());
                let snake = name.to_lowercase();
                let private = PRIVATE.iter().find(|(private, _)| *private == snake);
                if let Some((_, term)) = private {
                    let line = scan::line_of(source, at);
                    let message = format!("`{name}` is a private word: call it {term}");
                    findings.push(Finding::new(path, line, message));
                }
            }
        }
    }
    findings
}

/// The name that stands behind the word that ends at `at`; empty where none does.
fn name_after(code: &str, at: usize) -> &str {
    let rest = code[at..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}
