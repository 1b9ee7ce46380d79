//! Each command, doing real work.

use crate::{World, number, texts};

const A1: &str =
    r#"{"title": "Anywhen", "counter": 0, "tags": ["a", "b", "c"], "author": {"name": "Ada"}}"#;

/// A world with one document of three revisions: put, edit, edit.
fn article() -> World {
    let world = World::new();
    world.run(&["put", "articles/a1", A1]);
    world.run(&["edit", "articles/a1", "set", "counter", "1", "-m", "first edit"]);
    world.run(&["edit", "articles/a1", "set", "counter", "2", "--author", "grace"]);
    world
}

#[test]
fn init_makes_a_folder_that_reads_as_empty() {
    let world = World::new();
    assert!(world.run(&["init"]).contains("anywhen-data"));
    assert_eq!(world.run(&["ls"]), "");
    assert_eq!(world.run(&["ls", "--json"]).trim(), "[]");
    assert_eq!(number(&world.json(&["stats"]), "documents"), 0);
    world.run(&["verify"]);
}

#[test]
fn put_takes_a_file_standard_input_or_json_and_counts_revisions() {
    let world = World::new();
    world.file("a.json", "{\"n\": 1}");
    assert_eq!(world.run(&["put", "c/x", "a.json"]), "c/x revision 1\n");
    assert_eq!(world.run(&["put", "c/x", "{\"n\": 2}"]), "c/x revision 2\n");
    let output = world.fed(&["put", "c/x", "-"], " { \"n\" : 3.00 } \n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "c/x revision 3\n");
    // Numbers keep their digits.
    assert_eq!(world.run(&["get", "c/x"]), "{\"n\":3.00}\n");
    assert_eq!(world.run(&["put", "c/x", "{\"n\":3.00}"]), "c/x is unchanged: revision 3\n");
    let answer = world.json(&["put", "c/x", "[4]"]);
    assert_eq!(
        (number(&answer, "revision"), answer.root().get("changed").unwrap().as_bool()),
        (4, Some(true))
    );
}

#[test]
fn get_reads_the_present_and_every_kind_of_past() {
    let world = article();
    assert!(world.run(&["get", "articles/a1"]).contains("\"counter\":2"));
    assert!(world.run(&["get", "articles/a1", "--at", "1"]).contains("\"counter\":0"));
    assert_eq!(world.run(&["get", "articles/a1", "--path", "author.name"]), "\"Ada\"\n");
    assert_eq!(world.run(&["get", "articles/a1", "--at", "2", "--path", "counter"]), "1\n");
    let history = world.json(&["history", "articles/a1"]);
    for (position, counter) in [(0, 2), (1, 1), (2, 0)] {
        let revision = history.root().at(position).unwrap();
        let csn = format!("csn:{}", revision.get("csn").unwrap().as_u64().unwrap());
        let time = revision.get("time").unwrap().as_str().unwrap().into_owned();
        for at in [csn, time] {
            let found = world.run(&["get", "articles/a1", "--path", "counter", "--at", &at]);
            assert_eq!(found, format!("{counter}\n"), "at {at}");
        }
    }
    let answer = world.json(&["get", "articles/a1", "--at", "2"]);
    assert_eq!(number(&answer, "revision"), 2);
    assert_eq!(answer.root().get("doc").unwrap().get("counter").unwrap().as_i64(), Some(1));
}

#[test]
fn get_shows_parts_of_a_document() {
    let world = article();
    assert_eq!(world.run(&["get", "articles/a1", "--max-level", "1"]), "{}\n");
    let level_2 = world.run(&["get", "articles/a1", "--max-level", "2"]);
    assert!(level_2.contains("\"tags\":[]") && level_2.contains("\"counter\":2"), "{level_2}");
    let two = world.run(&["get", "articles/a1", "--max-children", "2"]);
    assert_eq!(two, "{\"title\":\"Anywhen\",\"counter\":2}\n");
    let pretty = world.run(&["get", "articles/a1", "--pretty"]);
    assert!(pretty.lines().count() > 8 && pretty.contains("\n  \"counter\": 2,\n"), "{pretty}");
    let metadata = world.run(&["get", "articles/a1", "--metadata", "--max-level", "1"]);
    assert!(metadata.contains("\"nodeKey\":1"), "{metadata}");
    let nodes = world.run(&["get", "articles/a1", "--nodes", "3"]);
    assert_eq!(nodes, "{\"title\":\"Anywhen\"}\n");
    let page = |words: &[&str]| world.run(&[&["get", "articles/a1"], words].concat());
    assert_eq!(page(&["--top", "2"]), "{\"title\":\"Anywhen\",\"counter\":2}\n");
    assert_eq!(page(&["--top", "1", "--after", "counter"]), "{\"tags\":[\"a\",\"b\",\"c\"]}\n");
    assert_eq!(
        page(&["--path", "tags", "--top", "1", "--after", "tags[0]"]),
        "{\"tags\":[\"b\"]}\n"
    );
    let said = world.fails(1, &["get", "articles/a1", "--after", "tags[0]"]);
    assert!(said.contains("no node"), "{said}");
}

#[test]
fn edit_does_every_kind_of_change_and_each_call_is_one_revision() {
    let world = article();
    let edit = |words: &[&str], expected: &str| {
        let mut all = vec!["edit", "articles/a1"];
        all.extend(words);
        world.run(&all);
        assert_eq!(world.run(&["get", "articles/a1"]).trim(), expected, "after {words:?}");
    };
    world.run(&["put", "articles/a1", r#"{"a":1,"t":["x","y","z"]}"#]);
    edit(&["set", "a", "-2", "b", "\"new\""], r#"{"a":-2,"t":["x","y","z"],"b":"new"}"#);
    edit(&["set", "b", "plain text", "--text"], r#"{"a":-2,"t":["x","y","z"],"b":"plain text"}"#);
    edit(&["remove", "b"], r#"{"a":-2,"t":["x","y","z"]}"#);
    edit(&["insert", "t", "0"], r#"{"a":-2,"t":["x","y","z",0]}"#);
    edit(&["insert", "t", "1", "--first"], r#"{"a":-2,"t":[1,"x","y","z",0]}"#);
    edit(&["insert", "t[1]", "[]", "--before"], r#"{"a":-2,"t":[1,[],"x","y","z",0]}"#);
    edit(&["insert", "$.t[1]", "{}", "--after"], r#"{"a":-2,"t":[1,[],{},"x","y","z",0]}"#);
    edit(&["remove", "t[0]", "t[0]", "t[0]"], r#"{"a":-2,"t":["x","y","z",0]}"#);
    edit(&["move", "t[3]", "--before", "t[0]"], r#"{"a":-2,"t":[0,"x","y","z"]}"#);
    edit(&["move", "t[0]", "$", "--field", "n"], r#"{"a":-2,"t":["x","y","z"],"n":0}"#);
    edit(
        &["copy", "t", "$", "--field", "u"],
        r#"{"a":-2,"t":["x","y","z"],"n":0,"u":["x","y","z"]}"#,
    );
    edit(&["rename", "u", "tags"], r#"{"a":-2,"t":["x","y","z"],"n":0,"tags":["x","y","z"]}"#);
    edit(
        &["insert", "$", "true", "--field", "ok"],
        r#"{"a":-2,"t":["x","y","z"],"n":0,"tags":["x","y","z"],"ok":true}"#,
    );
    let history = world.json(&["history", "articles/a1", "-n", "1"]);
    assert_eq!(history.root().at(0).unwrap().get("revision").unwrap().as_u64(), Some(17));
}

#[test]
fn rm_keeps_the_past_and_put_begins_again() {
    let world = article();
    assert_eq!(
        world.run(&["rm", "articles/a1", "-m", "withdrawn"]),
        "articles/a1 removed: revision 4\n"
    );
    assert_eq!(world.run(&["ls", "articles"]), "");
    let said = world.fails(1, &["get", "articles/a1"]);
    assert!(said.contains("removed in revision 4") && said.contains("--at 3"), "{said}");
    assert!(world.run(&["get", "articles/a1", "--at", "3"]).contains("\"counter\":2"));
    assert_eq!(world.run(&["put", "articles/a1", "{}"]), "articles/a1 revision 5\n");
    assert_eq!(texts(&world.json(&["history", "articles/a1"]), "message")[1], "withdrawn");
}

#[test]
fn ls_lists_collections_documents_prefixes_and_the_past() {
    let world = World::new();
    for target in ["b/2026-2", "b/2026-1", "b/2025", "a/x/y"] {
        world.run(&["put", target, "{}"]);
    }
    assert_eq!(world.run(&["ls"]), "a\nb\n");
    assert_eq!(world.run(&["ls", "b"]), "2025\n2026-1\n2026-2\n");
    assert_eq!(world.run(&["ls", "b/2026-"]), "2026-1\n2026-2\n");
    assert_eq!(world.run(&["ls", "a"]), "x/y\n");
    let first = world.json(&["history", "b/2026-1"]);
    let csn = first.root().at(0).unwrap().get("csn").unwrap().as_u64().unwrap();
    assert_eq!(world.run(&["ls", "b", "--at", &format!("csn:{csn}")]), "2026-1\n2026-2\n");
    assert_eq!(world.run(&["ls", "b", "--json"]).trim(), "[\"2025\",\"2026-1\",\"2026-2\"]");
}

#[test]
fn history_is_newest_first_with_author_and_message() {
    let world = article();
    let history = world.json(&["history", "articles/a1"]);
    assert_eq!(texts(&history, "author"), ["grace", "ada", "ada"]);
    assert_eq!(texts(&history, "message"), ["", "first edit", ""]);
    let text = world.run(&["history", "articles/a1", "-n", "2"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("3  20") && lines[0].ends_with("grace"), "{text}");
    assert!(lines[1].starts_with("2  20") && lines[1].ends_with("ada    first edit"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours outside a terminal");
}

#[test]
fn diff_speaks_three_languages() {
    let world = article();
    world.run(&[
        "put",
        "articles/a1",
        &A1.replace("[\"a\", \"b\", \"c\"]", "[\"c\", \"a\", \"b\"]"),
    ]);
    let text = world.run(&["diff", "articles/a1", "1", "3"]);
    assert!(text.contains("$.counter  0 -> 2"), "{text}");
    // A moved part is shown as a move, not as a removal and an insertion.
    let text = world.run(&["diff", "articles/a1"]);
    assert!(text.contains("moved from") && text.contains("$.counter  2 -> 0"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with(['+', '-'])), "{text}");
    let json = world.json(&["diff", "articles/a1", "1", "2"]);
    let change = json.root().get("changes").unwrap().at(0).unwrap();
    assert_eq!(change.get("op").unwrap().as_str().as_deref(), Some("update"));
    assert_eq!(change.get("old").unwrap().as_i64(), Some(0));
    let patch = world.run(&["diff", "articles/a1", "1", "2", "--format", "rfc6902"]);
    assert!(
        patch.contains("\"op\":\"replace\"") && patch.contains("\"path\":\"/counter\""),
        "{patch}"
    );
    // Backwards works too, and a revision does not differ from itself.
    assert!(world.run(&["diff", "articles/a1", "3", "1"]).contains("$.counter  2 -> 0"));
    assert!(world.run(&["diff", "articles/a1", "2", "2"]).contains("0 changes"));
}

#[test]
fn blame_stands_beside_the_document() {
    let world = article();
    let text = world.run(&["blame", "articles/a1"]);
    let line = |part: &str| {
        text.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(line("\"counter\": 2").starts_with("3  grace"), "{text}");
    assert!(line("\"title\"").starts_with("1  ada"), "{text}");
    assert_eq!(text.lines().count(), 12, "{text}");
    let text = world.run(&["blame", "articles/a1", "--at", "2"]);
    assert!(
        text.lines().any(|line| line.starts_with("2  ada") && line.contains("\"counter\": 1")),
        "{text}"
    );
    let json = world.json(&["blame", "articles/a1"]);
    assert_eq!(json.root().count(), 9);
}

#[test]
fn node_history_tells_every_value_by_path_and_by_key() {
    let world = article();
    let text = world.run(&["node-history", "articles/a1", "counter"]);
    let ranges: Vec<_> = text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(ranges, ["1", "2", "3-"], "{text}");
    let json = world.json(&["node-history", "articles/a1", "$.counter"]);
    let values: Vec<_> =
        json.root().children().map(|v| v.get("value").unwrap().as_i64().unwrap()).collect();
    assert_eq!(values, [0, 1, 2]);
    // A key goes on naming what was removed.
    let blame = world.json(&["blame", "articles/a1"]);
    let counter = blame
        .root()
        .children()
        .find(|l| l.get("path").unwrap().as_str().as_deref() == Some("$.counter"));
    let key = format!("#{}", counter.unwrap().get("node_key").unwrap().as_u64().unwrap());
    world.run(&["edit", "articles/a1", "remove", "counter"]);
    assert!(world.run(&["node-history", "articles/a1", &key]).lines().count() >= 3);
}

#[test]
fn revert_is_a_new_revision_and_histories_of_parts_go_on() {
    let world = article();
    assert_eq!(world.run(&["revert", "articles/a1", "1"]), "articles/a1 revision 4\n");
    assert!(world.run(&["get", "articles/a1"]).contains("\"counter\":0"));
    assert_eq!(
        texts(&world.json(&["history", "articles/a1"]), "message")[0],
        "revert to revision 1"
    );
    let json = world.json(&["node-history", "articles/a1", "counter"]);
    let values: Vec<_> =
        json.root().children().map(|v| v.get("value").unwrap().as_i64().unwrap()).collect();
    assert_eq!(values, [0, 1, 2, 0]);
    world.run(&["rm", "articles/a1"]);
    world.run(&["revert", "articles/a1", "3", "-m", "back"]);
    assert!(world.run(&["get", "articles/a1"]).contains("\"counter\":2"));
}

#[test]
fn backup_restore_verify_compact_and_stats_look_after_the_folder() {
    let world = article();
    world.run(&["backup", "saved"]);
    world.run(&["edit", "articles/a1", "set", "counter", "3"]);
    world.run(&["--data", "again", "restore", "saved"]);
    let counter =
        |data: &str| world.run(&["--data", data, "get", "articles/a1", "--path", "counter"]);
    assert_eq!((counter("again"), counter("anywhen-data")), ("2\n".into(), "3\n".into()));
    // The restored database can be written to, and restored again from the same backup.
    world.run(&["--data", "again", "edit", "articles/a1", "set", "counter", "9"]);
    world.run(&["--data", "third", "restore", "saved"]);
    assert_eq!(counter("third"), "2\n");
    for data in ["anywhen-data", "again", "third"] {
        world.run(&["--data", data, "verify"]);
        world.run(&["--data", data, "compact"]);
        assert!(number(&world.json(&["--data", data, "verify"]), "revisions") >= 3);
    }
    assert!(world.run(&["get", "articles/a1", "--at", "1"]).contains("\"counter\":0"));
    // Once merged, there is nothing to win, and the answer says so with its figures.
    let told = world.run(&["compact"]);
    assert!(told.starts_with("nothing to win: ") && told.contains("\nhistory "), "{told}");
    let told = world.json(&["compact"]);
    assert_eq!(number(&told, "bytes_before"), number(&told, "bytes_after"));
    let stats = world.json(&["stats"]);
    assert!(number(&stats, "current_bytes") > 0 && number(&stats, "history_bytes") > 0);
    assert_eq!((number(&stats, "collections"), number(&stats, "documents")), (1, 1));
    assert!(number(&stats, "bytes") > 0 && number(&stats, "commits") >= 4);
    assert!(world.run(&["stats"]).contains("1 document"));
}

#[test]
fn the_shell_answers_each_line_and_goes_on_after_a_mistake() {
    let world = World::new();
    let script = "# a comment\nput a/1 '{\"n\": 1}'\nedit a/1 set n 2 -m 'two words'\nget a/2\nget a/1\nhelp\n";
    let output = world.fed(&["shell"], script);
    let (said, wrong) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("a/1 revision 1\na/1 revision 2\n{\"n\":2}\n"), "{said}");
    assert!(said.contains("node-history"), "help is shown: {said}");
    assert!(wrong.contains("no document \"2\"") && wrong.contains("1 line failed"), "{wrong}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(texts(&world.json(&["history", "a/1"]), "message")[0], "two words");
    assert_eq!(world.fed(&["shell"], "ls\n\n").status.code(), Some(0));
    let output = world.fed(&["shell"], "explore a/1\n");
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(wrong.contains("this works outside the shell only"), "{wrong}");
}

#[test]
fn every_command_has_help_with_examples() {
    let world = World::new();
    let help = world.run(&["--help"]);
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let mut seen = 0;
    for command in commands.lines().filter_map(|line| line.split_whitespace().next()) {
        if command != "help" {
            let help = world.run(&["help", command]);
            assert!(help.contains("Examples:"), "{command}: {help}");
            seen += 1;
        }
    }
    assert_eq!(seen, 29);
}

/// A page of names begins after another, and has as many as asked for.
#[test]
fn names_are_listed_page_by_page() {
    let world = World::new();
    for key in ["a/1", "a/2", "a/3", "b/1", "c/1"] {
        world.run(&["put", key, "1"]);
    }
    assert_eq!(world.run(&["ls", "a", "--limit", "2"]), "1\n2\n");
    assert_eq!(world.run(&["ls", "a", "-n", "2", "--after", "2"]), "3\n");
    assert_eq!(world.run(&["ls", "a", "--limit", "1", "--at", "csn:5"]), "1\n");
    assert_eq!(world.run(&["ls", "--limit", "2", "--after", "a"]), "b\nc\n");
    world.fails(2, &["ls", "--long", "--limit", "2"]);
}

/// A write that expects a revision is made to that one alone.
#[test]
fn a_write_can_expect_a_revision() {
    let world = World::new();
    world.run(&["put", "a/1", "{\"n\":1}"]);
    let set = ["edit", "a/1", "set", "n", "2", "--if-revision", "1"];
    assert_eq!(world.run(&set), "a/1 revision 2\n");
    for words in [
        &set[..],
        &["edit", "a/1", "--if-revision", "3", "set", "n", "3"],
        &["put", "a/1", "3", "--if-revision", "1"],
        &["rm", "a/1", "--if-revision", "1"],
    ] {
        let said = world.fails(1, words);
        assert!(said.contains("revision 2"), "{said}");
    }
    assert_eq!(world.run(&["get", "a/1"]), "{\"n\":2}\n");
    world.run(&["rm", "a/1", "--if-revision", "2"]);
}

/// A commit beyond the newest is refused, as a revision beyond the newest is.
#[test]
fn a_moment_beyond_the_end_is_refused() {
    let world = World::new();
    world.run(&["put", "a/1", "1"]);
    for words in
        [&["get", "a/1"][..], &["ls", "a"], &["export", "a"], &["blame", "a/1"], &["paths", "a/1"]]
    {
        let said = world.fails(1, &[words, &["--at", "csn:9999"]].concat());
        assert!(said.contains("there is no commit 9999: the newest is"), "{said}");
    }
    world.fails(1, &["get", "a/1", "--at", "99"]);
}

/// Completions and manual pages know every command, and say something of each.
#[test]
fn completions_and_manual_pages_have_every_command() {
    let world = World::new();
    let help = world.run(&["help"]);
    let listed = help.split("Commands:").nth(1).and_then(|rest| rest.split("Options:").next());
    let commands: Vec<&str> = listed
        .expect("a list of commands")
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() > 20 && commands.contains(&"completions"), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = world.run(&["completions", shell]);
        for name in &commands {
            assert!(script.contains(name), "{shell}: no {name}");
        }
    }
    let said = world.fails(2, &["completions", "abacus"]);
    assert!(said.contains("bash") && said.contains("powershell"), "{said}");
    world.run(&["man-pages", "man"]);
    for name in &commands {
        let page = std::fs::read_to_string(world.path(&format!("man/anywhen-{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        let about = page.split(".SH NAME\n").nth(1).and_then(|rest| rest.lines().next());
        assert!(
            about.is_some_and(|line| line.split(" \\- ").nth(1).is_some_and(|a| !a.is_empty())),
            "{page}"
        );
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"), "{page}");
    }
    assert!(world.path("man/anywhen.1").exists() && world.path("man/anywhen-edit-set.1").exists());
}
