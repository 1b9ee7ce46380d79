//! Data brought in from files, folders, histories and git, and written out again.

use std::io::Write;
use std::process::Command;

use crate::{World, checkout, number, texts};

#[test]
fn a_json_file_goes_where_it_is_told_or_by_its_name() {
    let world = World::new();
    world.file("settings.json", "{\"a\": 1}");
    assert_eq!(world.run(&["import", "settings.json"]), "documents/settings revision 1\n");
    assert_eq!(
        world.run(&["import", "settings.json", "--as", "conf"]),
        "conf/settings revision 1\n"
    );
    assert_eq!(
        world.run(&["import", "settings.json", "--as", "conf/x/y"]),
        "conf/x/y revision 1\n"
    );
    assert_eq!(world.run(&["get", "conf/x/y"]), "{\"a\":1}\n");
    assert_eq!(texts(&world.json(&["history", "conf/x/y"]), "message"), ["import settings.json"]);
}

/// An import that was refused left an empty collection behind.
#[test]
fn what_is_refused_makes_no_collection() {
    let world = World::new();
    world.run(&["init"]);
    world.file("lines.ndjson", "{\"n\":1}\n{oops}\n");
    world.file("folder/a.json", "1");
    world.file("folder/b.json", "oops");
    world.file("history.ndjson", "[]\n");
    world.file("one.json", "1");
    let long = format!("c/{}", "k".repeat(70_000));
    for words in [
        &["import", "lines.ndjson"][..],
        &["import", "folder"],
        &["import", "history", "history.ndjson", "--as", "c/d"],
        &["import", "one.json", "--as", &long],
        &["put", &long, "1"],
    ] {
        world.fails(1, words);
        assert_eq!(world.run(&["ls"]), "", "{words:?}");
    }
    world.file("lines.ndjson", "{\"n\":1}\n".repeat(2_500));
    assert_eq!(world.run(&["import", "lines.ndjson"]), "lines: 2,500 documents\n");
    world.file("lines.ndjson", "{\"n\":2}\n{oops}");
    world.fails(1, &["import", "lines.ndjson"]);
    assert_eq!(world.run(&["get", "lines/2500"]), "{\"n\":1}\n");
}

#[test]
fn a_document_of_40_megabytes_comes_in_as_a_stream() {
    let world = World::new();
    let entry = |n: u32| format!("{{\"id\":{n},\"text\":\"{}\"}}", "x".repeat(4000));
    let mut json = "[".to_owned();
    json.push_str(&(0..10_000).map(entry).collect::<Vec<_>>().join(","));
    json.push(']');
    world.file("large.json", &json);
    assert_eq!(world.run(&["import", "large.json", "--as", "a/large"]), "a/large revision 1\n");
    assert_eq!(world.run(&["get", "a/large", "--path", "[9999].id"]), "9999\n");
    assert_eq!(world.run(&["get", "a/large"]).len(), json.len() + 1);
    world.run(&["edit", "a/large", "set", "[5].text", "\"short\""]);
    assert!(world.run(&["diff", "a/large"]).contains("$[5].text"));
    world.run(&["verify"]);
    // The same on standard input, cut short: nothing comes of it.
    let output = world.fed(&["put", "a/cut", "-"], &json[..30_000_000]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    world.fails(1, &["get", "a/cut"]);
}

#[test]
fn lines_get_numbers_or_a_field_as_keys_and_gzip_is_unpacked() {
    let world = World::new();
    let lines = "{\"id\":\"x\",\"u\":{\"n\":7}}\n\n{\"id\":\"y\",\"u\":{\"n\":8}}";
    world.file("events.ndjson", lines);
    assert_eq!(world.run(&["import", "events.ndjson"]), "events: 2 documents\n");
    assert_eq!(world.run(&["ls", "events"]), "1\n3\n");
    world.run(&["import", "events.ndjson", "--as", "by-id", "--key", "id"]);
    assert_eq!(world.run(&["ls", "by-id"]), "x\ny\n");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(lines.as_bytes()).unwrap();
    world.file("packed.ndjson.gz", packed.finish().unwrap());
    world.run(&["import", "packed.ndjson.gz", "--key", "$.u.n"]);
    assert_eq!(world.run(&["ls", "packed"]), "7\n8\n");
    let said = world.fails(1, &["import", "events.ndjson", "--as", "z", "--key", "nope"]);
    assert!(said.contains("line 1") && said.contains("nope"), "{said}");
}

#[test]
fn many_lines_are_many_documents() {
    let world = World::new();
    let lines: String = (0..3500).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    world.file("many.ndjson", lines);
    assert_eq!(world.run(&["import", "many.ndjson", "--key", "n"]), "many: 3,500 documents\n");
    assert_eq!(world.run(&["ls", "many"]).lines().count(), 3500);
    assert_eq!(world.run(&["get", "many/3499"]), "{\"n\":3499}\n");
    assert!(number(&world.json(&["stats"]), "commits") < 10);
}

#[test]
fn a_folder_comes_in_with_its_subfolders_and_goes_out_the_same() {
    let world = World::new();
    world.file("data/a.json", "{\"n\":1}");
    world.file("data/sub/b.json", "[2]");
    world.file("data/sub/readme.txt", "not this");
    world.file("data/.hidden/c.json", "3");
    assert_eq!(world.run(&["import", "data"]), "data: 2 documents\n");
    assert_eq!(world.run(&["ls", "data"]), "a\nsub/b\n");
    assert_eq!(world.run(&["export", "data", "--to", "out"]), "2 files in out\n");
    assert_eq!(number(&world.json(&["export", "data", "--to", "out"]), "files"), 2);
    assert_eq!(std::fs::read_to_string(world.path("out/sub/b.json")).unwrap(), "[\n  2\n]\n");
    assert!(world.path("out/a.json").exists());
}

#[test]
fn an_export_of_lines_comes_back_under_the_same_keys() {
    let world = World::new();
    world.run(&["put", "a/x", "{\"n\":1.50}"]);
    world.run(&["put", "a/y/z", "\"text\""]);
    let lines = world.run(&["export", "a"]);
    assert_eq!(lines, "{\"key\":\"x\",\"doc\":{\"n\":1.50}}\n{\"key\":\"y/z\",\"doc\":\"text\"}\n");
    world.file("a.ndjson", &lines);
    world.run(&["import", "a.ndjson", "--as", "b"]);
    assert_eq!(world.run(&["export", "b"]), lines);
    world.run(&["put", "a/x", "2"]);
    assert_eq!(
        world.run(&["export", "a/x", "--at", "1"]),
        "{\"key\":\"x\",\"doc\":{\"n\":1.50}}\n"
    );
}

#[test]
fn a_history_comes_in_with_times_authors_and_messages_and_goes_out_the_same() {
    let world = World::new();
    let sample = checkout().join("samples/settings.ndjson");
    let sample = sample.to_str().unwrap();
    let said = world.run(&["import", "history", sample, "--as", "conf/main"]);
    assert_eq!(said, "conf/main: 8 revisions\n");
    let out = world.run(&["export", "conf/main", "--history"]);
    assert_eq!(out, std::fs::read_to_string(sample).unwrap());
    // The past by the time at which it was authored.
    let level = |at: &str| world.run(&["get", "conf/main", "--path", "log.level", "--at", at]);
    assert_eq!(level("authored:2026-01-06"), "\"debug\"\n");
    assert_eq!(level("authored:2026-02-01"), "\"info\"\n");
    assert!(
        world.fails(1, &["import", "history", sample, "--as", "conf/main"]).contains("already")
    );
    // Documents that were removed and came back, and documents that did not change.
    world.file(
        "gone.ndjson",
        "{\"doc\":1}\n{\"doc\":1}\n{\"time\":5,\"deleted\":true}\n{\"version\":3}\n{\"doc\":2}\n",
    );
    let said = world.run(&["import", "history", "gone.ndjson", "--as", "conf/gone"]);
    assert_eq!(said, "conf/gone: 3 revisions; 1 version equal to the one before\n");
    let out = world.run(&["export", "conf/gone", "--history"]);
    assert_eq!(out.lines().count(), 3);
    assert!(out.lines().nth(1).unwrap().ends_with(",\"deleted\":true}"), "{out}");
    // `import history` reads what `export --history` writes.
    world.file("again.ndjson", &out);
    world.run(&["import", "history", "again.ndjson", "--as", "conf/again"]);
    let values = world.run(&["node-history", "conf/again", "$"]);
    assert_eq!(values.lines().count(), 2, "{values}");
    let answer =
        world.fed(&["import", "history", "-", "--as", "conf/piped", "--json"], "{\"doc\":[]}\n");
    assert!(String::from_utf8_lossy(&answer.stdout).contains("\"revisions\":1"));
}

/// A history with a bad line left the revisions before it behind, and could not be imported again. A line without
/// a document removed it.
#[test]
fn a_bad_line_of_a_history_leaves_nothing_behind() {
    let world = World::new();
    world.run(&["init"]);
    for (bad, why) in [
        ("{oops}", "not JSON"),
        ("[]", "not an object"),
        ("{\"document\":1}", "no `doc`"),
        ("{\"doc\":1,\"deleted\":true}", "both"),
        ("{\"deleted\":1}", "true or false"),
        ("{\"doc\":1,\"time\":\"soon\"}", "seconds"),
    ] {
        let text = format!("{{\"doc\":1}}\n\n{{\"doc\":2}}\n{bad}\n{{\"doc\":3}}\n");
        world.file("history.ndjson", &text);
        let said = world.fails(1, &["import", "history", "history.ndjson", "--as", "c/d"]);
        assert!(said.contains("line 4") && said.contains(why), "{said}");
        let output = world.fed(&["import", "history", "-", "--as", "c/d"], &text);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(world.run(&["ls"]), "", "{bad}");
    }
}

/// Runs git in the world's folder `repository`.
fn git(world: &World, time: u64, words: &[&str]) {
    let status = Command::new("git")
        .arg("-C")
        .arg(world.path("repository"))
        .args(["-c", "user.name=Ada Byron", "-c", "user.email=ada@example.org"])
        .args(["-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"])
        .args(words)
        .env("GIT_AUTHOR_DATE", format!("@{time} +0000"))
        .env("GIT_COMMITTER_DATE", format!("@{time} +0000"))
        .output()
        .expect("git starts");
    assert!(status.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&status.stderr));
}

/// Makes an empty repository in the world's folder `repository`.
fn git_init(world: &World) {
    world.file("repository/.keep", "");
    git(world, 1, &["init", "-q"]);
}

#[test]
fn every_version_of_a_file_in_git_becomes_a_revision_across_renames() {
    let world = World::new();
    let clock = std::cell::Cell::new(1_700_000_000);
    let commit = |name: &str, text: &str, message: &str| {
        world.file(&format!("repository/{name}"), text);
        clock.set(clock.get() + 60);
        git(&world, clock.get(), &["add", "-A"]);
        git(&world, clock.get(), &["commit", "-q", "-m", message]);
    };
    world.file("repository/readme", "x");
    git(&world, 1, &["init", "-q"]);
    let body = |n: u32| {
        format!("{{\"n\": {n}, \"list\": [1, 2, 3], \"text\": \"a text of some length\"}}\n")
    };
    commit("old.json", &body(1), "begin");
    commit("old.json", &body(2), "Second: with a colon\n\nand a body");
    commit("old.json", "{ broken", "a mistake");
    commit("old.json", &body(2), "put right again");
    commit("readme", "y", "nothing to do with it");
    git(&world, clock.get(), &["mv", "old.json", "new name.json"]);
    commit("readme", "z", "renamed");
    commit("new name.json", &body(3), "third");

    let output = world.output(&["import", "git", "repository", "new name.json", "--as", "c/d"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        said,
        "c/d: 3 revisions; 2 versions equal to the one before; 1 version skipped, not valid JSON\n"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("  skipped "));
    let history = world.json(&["history", "c/d"]);
    assert_eq!(
        texts(&history, "message"),
        ["third", "Second: with a colon\n\nand a body", "begin"]
    );
    assert_eq!(texts(&history, "author")[0], "Ada Byron <ada@example.org>");
    assert_eq!(texts(&history, "authored")[2], "2023-11-14T22:14:20.000000Z");
    let json = world.json(&["node-history", "c/d", "n"]);
    assert_eq!(json.root().count(), 3);
    // Removed from git: removed here.
    git(&world, clock.get() + 90, &["rm", "-q", "new name.json"]);
    git(&world, clock.get() + 90, &["commit", "-q", "-m", "gone"]);
    world.run(&["import", "git", "repository", "new name.json"]);
    assert!(world.fails(1, &["get", "git/new name.json"]).contains("removed in revision 4"));
    world.run(&["import", "git", "repository", "new name.json", "--first-parent", "--as", "c/e"]);
}

/// An import of the same file again was refused. It takes in the commits since, and refuses a document that was
/// changed by somebody else.
#[test]
fn an_import_from_git_continues_where_it_stopped() {
    let world = World::new();
    git_init(&world);
    let clock = std::cell::Cell::new(1_700_000_000);
    let commit = |text: &str, message: &str| {
        world.file("repository/x.json", text);
        clock.set(clock.get() + 60);
        git(&world, clock.get(), &["add", "-A"]);
        git(&world, clock.get(), &["commit", "-q", "-m", message]);
    };
    let import = ["import", "git", "repository", "x.json"];
    commit("{\"n\": 1}", "same");
    // Another commit of the same second and message: the document tells them apart.
    clock.set(clock.get() - 60);
    commit("{\"n\": 2}", "same");
    assert_eq!(world.run(&import), "git/x.json: 2 revisions\n");
    assert_eq!(world.run(&import), "git/x.json: 0 new revisions\n");
    commit("{\"n\": 2 }", "spaces");
    commit("{\"n\": 3}", "three");
    let said = "git/x.json: 1 new revision; 1 version equal to the one before\n";
    assert_eq!(world.run(&import), said);
    git(&world, clock.get() + 60, &["rm", "-q", "x.json"]);
    git(&world, clock.get() + 60, &["commit", "-q", "-m", "gone"]);
    assert_eq!(world.run(&import), "git/x.json: 1 new revision\n");
    clock.set(clock.get() + 60);
    commit("{\"n\": 4}", "back");
    assert_eq!(world.run(&import), "git/x.json: 1 new revision\n");
    assert_eq!(world.run(&["get", "git/x.json"]), "{\"n\":4}\n");
    assert_eq!(texts(&world.json(&["history", "git/x.json"]), "message").len(), 5);
    world.run(&["edit", "git/x.json", "set", "n", "5"]);
    let said = world.fails(1, &import);
    assert!(said.contains("is not a commit of this file"), "{said}");
}

/// A folder, another form than JSON, and a file that is JSON in no version are refused with the reason, and nothing
/// is made for them.
#[test]
fn what_is_not_json_in_git_is_refused() {
    let world = World::new();
    git_init(&world);
    world.file("repository/folder/x.json", "1");
    world.file("repository/a.yaml", "n: 1");
    world.file("repository/a.toml", "n = 1");
    world.file("repository/readme", "no JSON at all");
    git(&world, 1, &["add", "-A"]);
    git(&world, 1, &["commit", "-q", "-m", "x"]);
    for (path, why) in [
        ("folder", "is a folder"),
        ("a.yaml", "is YAML"),
        ("a.toml", "is TOML"),
        ("readme", "is not JSON in any version"),
    ] {
        let said = world.fails(1, &["import", "git", "repository", path]);
        assert!(said.contains(path) && said.contains(why), "{said}");
        assert!(!world.path("anywhen-data").exists(), "nothing was made");
    }
}

#[test]
fn what_a_merge_made_of_a_file_is_a_version_too() {
    let world = World::new();
    git_init(&world);
    let clock = std::cell::Cell::new(1_700_000_000);
    let run = |words: &[&str]| {
        clock.set(clock.get() + 60);
        git(&world, clock.get(), words);
    };
    let commit = |text: &str, message: &str| {
        world.file("repository/x.json", text);
        run(&["add", "-A"]);
        run(&["commit", "-q", "-m", message]);
    };
    commit("{\"n\": 1}", "one");
    run(&["checkout", "-q", "-b", "side"]);
    commit("{\"n\": 2}", "two, aside");
    run(&["checkout", "-q", "-"]);
    commit("{\"n\": 3}", "three");
    // Both changed the same line: what stands in the merge is in neither.
    run(&["merge", "-q", "-s", "ours", "--no-commit", "side"]);
    commit("{\"n\": 5}", "both");
    let values = |words: &[&str]| {
        let data = format!("data-{}", words.len());
        let mut all = vec!["--data", &data, "import", "git", "repository", "x.json", "--as", "a/x"];
        all.extend(words);
        world.run(&all);
        let history = world.json(&["--data", &data, "node-history", "a/x", "n"]);
        let values = history.root().children().map(|v| v.get("value").unwrap().as_i64().unwrap());
        values.collect::<Vec<_>>()
    };
    assert_eq!(values(&[]), [1, 2, 3, 5]);
    assert_eq!(values(&["--first-parent"]), [1, 3, 5]);
}

#[test]
fn what_git_does_not_know_is_said() {
    let world = World::new();
    world.file("plain/x.json", "{}");
    assert!(world.fails(1, &["import", "git", "plain", "x.json"]).contains("git repository"));
    world.file("repository/x.json", "{}");
    git(&world, 1, &["init", "-q"]);
    world.fails(1, &["import", "git", "repository", "x.json"]);
    git(&world, 1, &["add", "-A"]);
    git(&world, 1, &["commit", "-q", "-m", "x"]);
    let said = world.fails(1, &["import", "git", "repository", "y.json"]);
    assert!(said.contains("y.json"), "{said}");
    assert!(!world.path("anywhen-data").exists(), "nothing was made");
}
