//! Each rule shown firing on a few lines, and keeping quiet on what is right.

use super::*;

/// The findings of one rule, as `path:line: message` lines.
fn found(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::of(files)).iter().map(Finding::to_string).collect()
}

/// Asserts that a rule finds exactly one thing, which starts and contains so.
#[track_caller]
fn fires(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)], place: &str, says: &str) {
    let found = found(rule, files);
    assert_eq!(found.len(), 1, "expected one finding: {found:#?}");
    assert!(
        found[0].starts_with(place) && found[0].contains(says),
        "expected {place} ... {says}: {}",
        found[0]
    );
}

#[track_caller]
fn quiet(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) {
    let found = found(rule, files);
    assert!(found.is_empty(), "expected nothing: {found:#?}");
}

const MANIFEST: &str = "[package]\nname = \"x\"\n[lints]\nworkspace = true\n";

#[test]
fn a_module_without_a_header_is_found() {
    let path = "crates/store/src/run.rs";
    fires(text::module_header, &[(path, "use x;\n")], "crates/store/src/run.rs:1:", "//!");
    fires(text::module_header, &[(path, "//! a\n")], "crates/store/src/run.rs:1:", "nothing");
    quiet(text::module_header, &[(path, "//! A run of keys.\n")]);
    quiet(text::module_header, &[("crates/store/tests/store.rs", "use x;\n")]);
}

#[test]
fn a_file_that_outgrew_its_room_is_found() {
    let long = "x\n".repeat(901);
    let fits = "x\n".repeat(900);
    fires(text::length, &[("xtask/src/a.rs", &long)], "xtask/src/a.rs:901:", "901 lines");
    quiet(text::length, &[("xtask/src/a.rs", &fits), ("docs/a.md", &long)]);
}

#[test]
fn unfinished_work_is_found_in_code_and_comments() {
    let note = concat!("//! A.\n// FIX", "ME: soon\n");
    fires(text::unfinished, &[("crates/a/src/lib.rs", note)], "crates/a/src/lib.rs:2:", "finish");
    let skipped = concat!("#[test]\n#[ig", "nore = \"slow\"]\nfn a() {}\n");
    fires(
        text::unfinished,
        &[("crates/a/src/lib.rs", skipped)],
        "crates/a/src/lib.rs:2:",
        "finish",
    );
    let call = concat!("fn a() { to", "do!() }");
    fires(text::unfinished, &[("bench/src/main.rs", call)], "bench/src/main.rs:1:", "finish");
    quiet(text::unfinished, &[("crates/a/src/lib.rs", "// nothing is left to do\n")]);
}

#[test]
fn a_path_of_one_machine_is_found_in_any_text() {
    let text = concat!("see\n/wo", "rk/main/a\n");
    fires(text::machine_paths, &[("README.md", text)], "README.md:2:", "one machine");
    quiet(text::machine_paths, &[("README.md", "the work at hand")]);
}

#[test]
fn files_clocks_and_chance_are_banned_below_the_database() {
    let lib = ("crates/store/src/lib.rs", "//! A.\nmod a;\n");
    let toml = ("crates/store/Cargo.toml", MANIFEST);
    let rule = modules::banned_calls;
    for (line, call) in [
        ("use std::fs;", "std::fs"),
        ("use std::{io, fs};", "std::fs"),
        ("let t = std::time::SystemTime::now();", "std::time::SystemTime"),
        ("let t = SystemTime::now();", "SystemTime::now"),
        ("let t = Instant::now();", "Instant::now"),
        ("let r = rand::thread_rng();", "thread_rng"),
        ("let r: u8 = rand::random();", "rand::random"),
    ] {
        let text = format!("//! A.\n\n{line}\n");
        let files = [lib, toml, ("crates/store/src/a.rs", &*text)];
        fires(rule, &files, "crates/store/src/a.rs:3:", call);
    }
}

#[test]
fn banned_calls_are_free_in_tests_comments_strings_and_the_real_world() {
    let rule = modules::banned_calls;
    let toml = ("crates/vfs/Cargo.toml", MANIFEST);
    let call = "//! A.\nuse std::fs;\n";
    let inline = "//! A.\n#[cfg(test)]\nmod tests {\n    use std::fs;\n    fn a() { {} }\n}\n";
    let words = "//! Never std::fs.\n// Instant::now\nconst A: &str = \"std::fs\"; /* std::fs */\nuse std::{io, offs};";
    quiet(
        rule,
        &[toml, ("crates/vfs/src/lib.rs", "//! A.\nmod os;\n"), ("crates/vfs/src/os.rs", call)],
    );
    quiet(rule, &[toml, ("crates/vfs/src/lib.rs", inline)]);
    quiet(rule, &[toml, ("crates/vfs/src/lib.rs", words)]);
    quiet(
        rule,
        &[
            toml,
            ("crates/vfs/src/lib.rs", "//! A.\n#[cfg(test)]\nmod tests;\n"),
            ("crates/vfs/src/tests.rs", "//! A.\nmod more;\n"),
            ("crates/vfs/src/tests/more.rs", call),
        ],
    );
    quiet(rule, &[("crates/anywhen/Cargo.toml", MANIFEST), ("crates/anywhen/src/lib.rs", call)]);
    let after = "//! A.\n#[cfg(test)]\nmod tests {}\nuse std::fs;\n";
    fires(rule, &[toml, ("crates/vfs/src/lib.rs", after)], "crates/vfs/src/lib.rs:4:", "std::fs");
}

#[test]
fn a_file_that_no_module_leads_to_is_dead() {
    let toml = ("crates/a/Cargo.toml", MANIFEST);
    let rule = modules::dead_files;
    fires(
        rule,
        &[toml, ("crates/a/src/lib.rs", "// mod b;\n"), ("crates/a/src/b.rs", "")],
        "crates/a/src/b.rs:1:",
        "delete",
    );
    fires(rule, &[toml, ("crates/a/src/lib.rs", "\nmod b;")], "crates/a/src/lib.rs:2:", "no file");
    quiet(
        rule,
        &[
            toml,
            (
                "crates/a/src/lib.rs",
                "pub(crate) mod b;\nmod c { mod d; }\nmod f;\n#[path = \"z.rs\"]\nmod e;",
            ),
            ("crates/a/src/b.rs", "mod x;"),
            ("crates/a/src/b/x.rs", ""),
            ("crates/a/src/c/d.rs", ""),
            ("crates/a/src/f/mod.rs", "mod y;"),
            ("crates/a/src/f/y.rs", ""),
            ("crates/a/src/z.rs", ""),
            ("crates/a/src/main.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/a.rs", "mod help;"),
            ("crates/a/tests/help/mod.rs", ""),
            ("crates/a/examples/show.rs", ""),
        ],
    );
}

#[test]
fn a_crate_that_imports_upwards_is_found() {
    let rule = imports::direction;
    let up = format!("[dependencies]\nvfs.workspace = true\ntxn.workspace = true\n{MANIFEST}");
    fires(rule, &[("crates/store/Cargo.toml", &up)], "crates/store/Cargo.toml:3:", "`txn`");
    let spelled = format!("[dependencies.txn]\nworkspace = true\n{MANIFEST}");
    fires(rule, &[("crates/store/Cargo.toml", &spelled)], "crates/store/Cargo.toml:1:", "`txn`");
    let tests_too = format!("[dev-dependencies]\ndocument = {{ workspace = true }}\n{MANIFEST}");
    fires(
        rule,
        &[("crates/json/Cargo.toml", &tests_too)],
        "crates/json/Cargo.toml:2:",
        "`document`",
    );
    // The tests of a crate may look down through all layers below it.
    let far = format!("[dependencies]\nlog.workspace = true\n{MANIFEST}");
    fires(rule, &[("crates/document/Cargo.toml", &far)], "crates/document/Cargo.toml:2:", "`log`");
    quiet(rule, &[("crates/document/Cargo.toml", &format!("[dev-{}", &far[1..]))]);
    quiet(rule, &[("crates/txn/Cargo.toml", &up.replace("txn.", "log."))]);
    quiet(rule, &[("bench/Cargo.toml", &up)]);
}

#[test]
fn a_crate_outside_the_layers_an_engine_and_missing_lints_are_found() {
    let rule = imports::direction;
    fires(rule, &[("crates/new/Cargo.toml", MANIFEST)], "crates/new/Cargo.toml:1:", "no place");
    let engine = format!("[dependencies]\nredb = \"1\"\n{MANIFEST}");
    fires(rule, &[("crates/store/Cargo.toml", &engine)], "crates/store/Cargo.toml:2:", "`bench`");
    quiet(rule, &[("bench/Cargo.toml", &engine)]);
    fires(rule, &[("xtask/Cargo.toml", "[package]\n")], "xtask/Cargo.toml:1:", "lints");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let rule = links::resolve;
    fires(rule, &[("docs/a.md", "x\n[b](b.md)")], "docs/a.md:2:", "`b.md`");
    fires(rule, &[("a.md", "# One\n[b](#two)")], "a.md:2:", "`#two`");
    fires(rule, &[("a.md", "[b](b.md#two)"), ("b.md", "# One\n")], "a.md:1:", "`b.md`");
    quiet(
        rule,
        &[
            (
                "docs/a.md",
                "[r](../README.md) [d](guide/) [b](b.md#two-words-here) [w](https://x.y/z)\n`[n](o)`\n```\n[n](o)\n```\n",
            ),
            ("docs/b.md", "## Two words, *here*\n"),
            ("docs/guide/start.md", ""),
            ("README.md", ""),
        ],
    );
}

#[test]
fn comments_and_literals_are_blanked_and_everything_stays_in_place() {
    let text = "a /* b /* c */ d */\"e\\\"f\" 'g' '\\'' <'h> r#\"i\"j\"# br\"k\" // l\nm";
    let code = scan::code(text);
    assert_eq!(code.len(), text.len());
    let kept: String = code.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(kept, "a \" \" ' ' ' ' <'h> r#\" \"# br\" \" m");
    assert_eq!(scan::line_of(text, text.len()), 2);
}

#[test]
fn this_checkout_is_tidy_enough_to_read() {
    let tree = Tree::load(&crate::root()).expect("the checkout is readable");
    assert!(tree.get("Cargo.toml").is_some());
    assert!(tree.get("xtask/src/tidy/tests.rs").is_some());
    assert!(!tree.iter().any(|(path, _)| path.starts_with("target/")));
}

#[test]
fn a_private_word_as_a_name_is_found() {
    let rule = names::private;
    let path = "crates/a/src/lib.rs";
    fires(rule, &[(path, "//! A.\nmod door;\n")], "crates/a/src/lib.rs:2:", "`listener`");
    fires(rule, &[(path, "//! A.\npub struct Era {\n")], "crates/a/src/lib.rs:2:", "`epoch`");
    fires(rule, &[(path, "//! A.\ntype PutOff = u8;\n")], "crates/a/src/lib.rs:2:", "`spill`");
    quiet(
        rule,
        &[
            (
                path,
                "//! A door.\nfn is_within() {}\nlet before = 1;\nstruct Doors;\n// mod desk;\n",
            ),
            ("crates/a/tests/a.rs", "struct Twins;"),
        ],
    );
}

#[test]
fn a_sentence_that_names_no_actor_is_found() {
    let rule = prose::openings;
    let path = "crates/a/src/lib.rs";
    let place = "crates/a/src/lib.rs:";
    for (text, line, opening) in [
        ("/// What a plan reads.\nfn a() {}\n", 1, "`What`"),
        ("//! A module. Whoever asks\n//! is told.\n", 1, "`Whoever`"),
        ("//! A module.\n//!\n//! # Errors\n//! What reading reports.\n", 4, "`What`"),
        ("fn a() {\n    b(); // Who waits is woken.\n}\n", 2, "`Who`"),
        ("/// A list:\n/// * one\n/// * Those that\n///   wait.\n", 3, "`Those that`"),
        ("/// A long\n/// sentence. One\n/// that fails is\n/// repeated.\n", 2, "`One that`"),
    ] {
        fires(rule, &[(path, text)], &format!("{place}{line}:"), opening);
    }
    quiet(
        rule,
        &[
            (path, "/// Who may read it? Its owner.\n/// Returns what a plan reads.\n"),
            ("crates/b/src/lib.rs", "//! A.\n//! ```text\n//! What is drawn.\n//! ```\n"),
            ("crates/c/src/lib.rs", "//! Whatever comes.\nlet a = \"// What is quoted.\";\n"),
            ("docs/a.md", "A guide.\n```\nWhat is typed.\n```\nWhat is a guide?\n"),
        ],
    );
    for (text, line) in [
        ("# A page\n\nIt is\nshort. **What** it says is true.\n", 4),
        ("| a | b |\n|---|---|\n| A cell. | Who may read |\n", 3),
        ("## What is allowed\nAll of it.\n", 1),
    ] {
        fires(rule, &[("docs/a.md", text)], &format!("docs/a.md:{line}:"), "a sentence begins");
    }
}

#[test]
fn a_phrase_in_an_unusual_order_is_found() {
    let rule = prose::phrases;
    let path = "crates/a/src/lib.rs";
    for (text, phrase) in [
        ("//! The log is durable, and so does\n//! the store.\n", "so does"),
        ("/// Told to whoever asks.\n", "whoever"),
        ("/// The lock is there for writers.\n", "is there for"),
        ("/// True where a row has it.\n", "true where"),
    ] {
        fires(rule, &[(path, text)], "crates/a/src/lib.rs:1:", phrase);
    }
    quiet(
        rule,
        &[(path, "/// It also does so, as `whoever` does.\nlet whoever = \"so does this\";\n")],
    );
}
