//! A refused command prints the reason, a hint and the right exit code: 1 for a missing object or
//! an impossible request, 2 for wrong usage, 3 for damage.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use crate::{World, checkout};
use json::Tape;

#[test]
fn reading_without_a_database_says_how_to_make_one_and_makes_none() {
    let world = World::new();
    for words in [
        &["get", "a/b"][..],
        &["ls"],
        &["history", "a/b"],
        &["diff", "a/b"],
        &["blame", "a/b"],
        &["node-history", "a/b", "x"],
        &["edit", "a/b", "set", "x", "1"],
        &["rm", "a/b"],
        &["revert", "a/b", "1"],
        &["export", "a"],
        &["alter", "a", "--history", "none"],
        &["drop", "a"],
        &["verify"],
        &["compact"],
        &["backup", "x"],
        &["stats"],
    ] {
        let said = world.fails(1, words);
        assert!(
            said.contains("no database in anywhen-data") && said.contains("anywhen init"),
            "{said}"
        );
    }
    assert!(!world.path("anywhen-data").exists());
}

#[test]
fn what_is_not_there_is_exit_code_1() {
    let world = World::new();
    world.run(&["put", "a/b", "{\"n\": [1]}"]);
    for (words, expected) in [
        (&["get", "x/b"][..], "no collection \"x\""),
        (&["get", "a/x"], "no document \"x\""),
        (&["history", "a/x"], "no document \"x\""),
        (&["diff", "a/x"], "no document \"x\""),
        (&["blame", "a/x"], "no document \"x\""),
        (&["rm", "a/x"], "no document \"x\""),
        (&["edit", "a/x", "set", "n", "1"], "no document \"x\""),
        (&["export", "a/x"], "no document \"x\""),
        (&["create", "a"], "a collection \"a\" already"),
        (&["create", "a\\b"], "backslash"),
        (&["alter", "x", "--history", "none"], "no collection \"x\""),
        (&["drop", "x"], "no collection \"x\""),
        (&["drop", "x", "--purge"], "no collection \"x\""),
        (&["get", "a/b", "--at", "7"], ""),
        (&["get", "a/b", "--at", "1999-01-01"], "did not exist at that moment"),
        (&["get", "a/b", "--path", "m"], ""),
        (&["get", "a/b", "--path", "n[3]"], ""),
        (&["diff", "a/b"], "one revision"),
        (&["diff", "a/b", "1", "9"], ""),
        (&["revert", "a/b", "9"], ""),
        (&["node-history", "a/b", "m"], ""),
        (&["edit", "a/b", "remove", "m"], ""),
        (&["edit", "a/b", "rename", "n[0]", "x"], ""),
        (&["put", "a/c", "missing.json"], "missing.json"),
        (&["import", "missing.json"], "missing.json"),
        (&["import", "history", "missing.ndjson", "--as", "a/c"], "missing.ndjson"),
        (&["ls", "a", "--at", "3"], "for each document"),
    ] {
        let said = world.fails(1, words);
        assert!(said.starts_with("error: ") && said.contains(expected), "{words:?}: {said}");
    }
    assert_eq!(world.run(&["get", "a/b"]), "{\"n\":[1]}\n", "nothing was changed");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let world = World::new();
    for words in [
        &[][..],
        &["frobnicate"],
        &["get"],
        &["get", "no-slash"],
        &["get", "a/b", "--at", "0"],
        &["get", "a/b", "--at", "tomorrow"],
        &["edit", "a/b", "set", "x"],
        &["edit", "a/b", "set", "x", "1", "y"],
        &["edit", "a/b", "insert", "x", "1", "--first", "--last"],
        &["diff", "a/b", "one", "two"],
        &["create", "c", "--history", "soon"],
        &["alter", "a"],
        &["ls", "a", "--long"],
        &["import"],
        &["export", "a", "--history"],
        &["node-history", "a/b", "#x"],
    ] {
        if words.first() == Some(&"export") {
            world.run(&["put", "a/b", "{}"]);
        }
        world.fails(2, words);
    }
}

#[test]
fn text_that_is_no_json_is_refused_with_its_place() {
    let world = World::new();
    world.file("bad.json", "{\n  \"a\": 1,\n  oops\n}");
    let said = world.fails(1, &["put", "a/b", "bad.json"]);
    assert!(said.contains('3') && said.contains("oops") || said.contains("line 3"), "{said}");
    world.run(&["put", "a/b", "{}"]);
    let said = world.fails(1, &["edit", "a/b", "set", "x", "hello"]);
    assert!(said.contains("\"hello\" is not JSON") && said.contains("--text"), "{said}");
    world.file("lines.ndjson", "{\"n\":1}\n\n{oops}\n");
    let said = world.fails(1, &["import", "lines.ndjson"]);
    assert!(said.contains("line 3"), "{said}");
}

#[test]
fn nothing_is_overwritten() {
    let world = World::new();
    world.run(&["put", "a/b", "{}"]);
    world.file("full/x", "x");
    assert!(world.fails(1, &["init"]).contains("not empty"));
    assert!(world.fails(1, &["backup", "full"]).contains("not empty"));
    world.run(&["backup", "saved"]);
    assert!(world.fails(1, &["restore", "saved"]).contains("not empty"));
    assert!(world.fails(1, &["--data", "new", "restore", "nowhere"]).contains("no backup"));
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let world = World::new();
    world.run(&["put", "a/b", "{}"]);
    let said = world.fails(1, &["get", "a/x", "--json"]);
    let error = Tape::parse(said.trim()).unwrap();
    assert!(error.root().get("error").unwrap().as_str().unwrap().contains("no document"));
    assert!(error.root().get("hint").unwrap().as_str().unwrap().contains("anywhen ls a"));
    // Errors of the command line were printed as for a person.
    for words in [&["--json", "frobnicate"][..], &["get", "--json"], &["token", "--json"]] {
        let said = world.fails(2, words);
        let error = Tape::parse(said.trim()).unwrap_or_else(|error| panic!("{error}: {said}"));
        let text = error.root().get("error").unwrap().as_str().unwrap().into_owned();
        assert!(text.contains("Usage:") && !text.starts_with("error"), "{text}");
    }
    assert!(world.fails(2, &["get", "--", "--json"]).starts_with("error: "));
}

/// A token that has ended before it is made, or has no end that a number could tell.
#[test]
fn a_token_lives_a_day_at_least() {
    let world = World::new();
    for days in ["0", "36501", "18446744073709551615"] {
        world.fails(2, &["token", "create", "ada", "--role", "view", "--days", days]);
    }
    world.run(&["token", "create", "ada", "--role", "view", "--days", "1"]);
}

/// Where nothing in the environment said who that was, the author was `unknown`.
#[test]
#[cfg(target_os = "linux")]
fn the_author_is_known_without_the_environment() {
    let world = World::new();
    let mut put = world.command(&["put", "a/b", "1"]);
    for name in ["ANYWHEN_AUTHOR", "USER", "LOGNAME", "USERNAME"] {
        put.env_remove(name);
    }
    assert!(put.output().unwrap().status.success());
    let who = std::process::Command::new("id").arg("-un").output().unwrap();
    let who = String::from_utf8(who.stdout).unwrap();
    let listed = std::fs::read_to_string("/etc/passwd").unwrap();
    let is_listed = listed.lines().any(|line| line.split(':').next() == Some(who.trim()));
    let expected = if is_listed { who.trim() } else { "unknown" };
    assert_eq!(crate::texts(&world.json(&["history", "a/b"]), "author"), [expected]);
}

/// A backup or a restore that was cut short leaves a folder that is not empty, and that was all that the
/// next try said.
#[test]
fn what_was_cut_short_is_told() {
    let world = World::new();
    world.run(&["put", "a/b", "1"]);
    world.file("half/store/0000000001-0000000000000000.seg", "the beginning");
    let said = world.fails(1, &["backup", "half"]);
    assert!(said.contains("interrupted copy") && said.contains("remove the folder"), "{said}");
    world.run(&["backup", "saved"]);
    let said = world.fails(1, &["--data", "half", "restore", "saved"]);
    assert!(said.contains("interrupted copy") && said.contains("remove the folder"), "{said}");
    let said = world.fails(1, &["--data", "new", "restore", "half"]);
    assert!(said.contains("incomplete"), "{said}");
    world.fails(1, &["--data", "half", "get", "a/b"]);
}

/// A damaged folder was copied as it was, and the backup said that all is well.
#[test]
fn no_backup_is_made_of_what_is_damaged() {
    let world = World::new();
    // So large that opening it does not come by the place.
    let numbers: Vec<String> = (0..200_000_u64).map(|n| (n * n % 1_000_003).to_string()).collect();
    world.file("big.json", format!("[{}]", numbers.join(",")));
    world.run(&["put", "a/b", "big.json"]);
    world.run(&["compact"]);
    world.run(&["backup", "saved"]);
    for folder in ["anywhen-data", "saved"] {
        let segments = files(&world.path(&format!("{folder}/store")));
        let (name, bytes) = segments.iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
        let mut bytes = bytes.clone();
        let middle = bytes.len() / 3;
        bytes[middle] ^= 0x10;
        world.file(&format!("{folder}/store/{name}"), bytes);
    }
    let said = world.fails(3, &["backup", "again"]);
    assert!(said.contains("anywhen verify"), "{said}");
    assert!(!world.path("again").exists(), "nothing is left of it");
    world.fails(3, &["--data", "new", "restore", "saved"]);
}

#[test]
fn a_folder_in_use_is_refused() {
    let world = World::new();
    world.run(&["put", "a/b", "{}"]);
    let mut shell = world
        .command(&["shell"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The answer to a first command says that the shell has the folder open.
    use std::io::{BufRead, BufReader, Write};
    let mut stdin = shell.stdin.take().unwrap();
    stdin.write_all(b"get a/b\n").unwrap();
    let mut answer = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert_eq!(answer, "{}\n");
    let said = world.fails(1, &["get", "a/b"]);
    assert!(said.contains("in use") || said.contains("open"), "{said}");
    drop(stdin);
    assert!(shell.wait().unwrap().success());
    world.run(&["get", "a/b"]);
}

/// `anywhen verify` said that it changes nothing. It opened the folder as any command does: it replayed what a
/// killed process had left in the log, wrote files from it, and removed what was not needed any more. So it
/// failed where the folder could only be read.
#[test]
fn verify_changes_nothing_and_needs_a_folder_to_read_only() {
    let world = World::new();
    let mut shell = world.command(&["shell"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = shell.stdin.take().unwrap();
    for n in 0..40 {
        writeln!(stdin, "put a/{} '[{n}]'", n % 7).unwrap();
    }
    // The last line is answered once all are done.
    while !world.path("anywhen-data/LOCK").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_millis(700));
    shell.kill().unwrap();
    shell.wait().unwrap();

    let folder = world.path("anywhen-data");
    let before = states(&folder);
    let set_writable = |is_writable: bool| {
        for path in before.keys() {
            let mut permissions = std::fs::metadata(path).unwrap().permissions();
            permissions.set_mode(match (path.is_dir(), is_writable) {
                (true, true) => 0o755,
                (true, false) => 0o555,
                (false, true) => 0o644,
                (false, false) => 0o444,
            });
            std::fs::set_permissions(path, permissions).unwrap();
        }
    };
    set_writable(false);
    let report = world.json(&["verify"]);
    assert!(report.root().get("documents").unwrap().as_u64().unwrap() > 0);
    assert!(states(&folder) == before, "verify changed the folder");
    set_writable(true);
    world.run(&["verify"]);
    assert!(states(&folder) == before, "verify changed the folder");

    // Without its lock file the folder was said to be no database.
    std::fs::remove_file(folder.join("LOCK")).unwrap();
    world.run(&["verify"]);
    assert!(!folder.join("LOCK").exists());
    assert_eq!(world.run(&["ls", "a"]).lines().count(), 7);
}

/// All files and folders, with what they hold and when they were changed.
fn states(folder: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)> {
    let mut states = BTreeMap::new();
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        let known = std::fs::metadata(&path).unwrap();
        if known.is_dir() {
            paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let content = known.is_file().then(|| std::fs::read(&path).unwrap());
        states.insert(path, (content, known.modified().unwrap()));
    }
    states
}

#[test]
fn damage_is_found_and_is_exit_code_3() {
    let world = World::new();
    world.file("big.json", std::fs::read(checkout().join("samples/settings.json")).unwrap());
    for n in 0..50 {
        world.run(&["put", &format!("a/{n}"), "big.json"]);
    }
    world.run(&["compact"]);
    world.run(&["verify"]);
    let sound = files(&world.path("anywhen-data"));
    let mut found = 0;
    for damaged in sound.keys() {
        // The folder anew, with a flipped bit in the middle of what one file holds.
        let folder = world.path("damaged");
        let _ = std::fs::remove_dir_all(&folder);
        for (name, bytes) in &sound {
            let mut bytes = bytes.clone();
            let last = bytes.iter().rposition(|byte| *byte != 0);
            if let (true, Some(last)) = (name == damaged, last) {
                bytes[last / 2] ^= 0x10;
            }
            world.file(&format!("damaged/{name}"), bytes);
        }
        let output = world.output(&["--data", "damaged", "verify"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            // The reserve of the log and the lock hold nothing that counts.
            Some(0) => {}
            Some(3) => {
                found += 1;
                assert!(said.contains("error: "), "{said}");
            }
            code => panic!("{damaged}: exit code {code:?}: {said}"),
        }
    }
    assert!(found >= 1, "no damage was found");
    world.run(&["verify"]);
}

/// Every file below a folder: its name from there, and its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            files.extend(self::files(&path).into_iter().map(|(n, b)| (format!("{name}/{n}"), b)));
        } else {
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
    files
}

/// A word without quotes was answered with "expected null" alone. The error names what can stand there.
#[test]
fn a_word_without_quotes_is_told_how_a_text_is_written() {
    let world = World::new();
    world.run(&["put", "a/1", "{}"]);
    let said = world.fails(1, &["edit", "a/1", "set", "state", "new"]);
    assert!(said.contains("expected `null` or a string in double quotes"), "{said}");
}
