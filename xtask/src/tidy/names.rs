//! The rule about names: a module or type is not called by a private word where
//! the field has a term.
//!
//! A name counts if it is the word itself: `mod door`, `struct Door`, `eras.rs`.
//! `is_within` or `last_before` are ordinary English.

use super::{Finding, Tree, scan, text};

/// Private words in the form of a module's name, and the field's term.
const PRIVATE: &[(&str, &str)] = &[
    ("again", "`retry_reason`, or what is repeated"),
    ("alike", "what is the same, as in `same_length`"),
    ("amend", "`jsonb_diff`, or what is compared with what"),
    ("apart", "`out_of_line`, or what is separate"),
    ("around", "`outer_values`, or the context of what"),
    ("before", "`backfill`, or before which event"),
    ("beside", "`row_link`, or what the module links to what"),
    ("care", "`maintenance`"),
    ("chance", "`conditional`, as in a conditional access path"),
    ("circumstance", "`context`, as in a coercion context"),
    ("crew", "`parallel`, or the workers of what"),
    ("desk", "`commit_waiter`"),
    ("door", "`listener`"),
    ("era", "`epoch`, as in a storage epoch"),
    ("eras", "`epochs`, as in storage epochs"),
    ("helped", "`worker_use`"),
    ("how", "the path or method of what, as in a coercion path"),
    ("made_of", "`dependencies`"),
    ("maker", "the context or builder of what, as in a DDL context"),
    ("making", "`construction`, or the builder of what"),
    ("manner", "the options or context of what"),
    ("means", "`resources`"),
    ("patience", "`wait_policy`"),
    ("proviso", "`condition`"),
    ("provisos", "`conditions`"),
    ("put_off", "`spill`, or what is deferred"),
    ("reach", "`scan_request`"),
    ("scene", "the context of what, as in a catalog context"),
    ("sees", "`scope`, as in the scope of an expression"),
    ("sought", "`lookup`, as in a reference lookup"),
    ("stand", "`path_node`"),
    ("stands", "`path_history`"),
    ("surroundings", "`statement_context`"),
    ("taste", "`key_prefix`"),
    ("tastes", "`key_prefixes`"),
    ("teller", "the explainer or writer of what"),
    ("twice", "`duplicate`, as in a duplicate key"),
    ("twin", "`storage`, as in document storage"),
    ("twins", "`storages`, as in document storages"),
    ("unfit", "the error of what, as in a locale error"),
    ("who", "`identity`, as in the identity of a session"),
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
                let snake = snake(name);
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

/// Returns a name of a type as that of a module: `PutOff` as `put_off`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The name that stands behind the word that ends at `at`; empty where none does.
fn name_after(code: &str, at: usize) -> &str {
    let rest = code[at..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}
