//! Collections as a whole: made, altered, listed, dropped; each command in a process of its own, so that
//! everything is read again from the folder.

use crate::{World, number, texts};

#[test]
fn a_collection_is_made_with_options_that_are_shown_and_last() {
    let world = World::new();
    assert_eq!(
        world.run(&["create", "logs", "--history", "90d", "--hashes"]),
        "logs made: history 90d, hashes\n"
    );
    world.run(&["put", "plain/x", "1"]);
    assert_eq!(
        world.run(&["ls", "--long"]),
        "logs   history 90d, hashes\nplain  history forever\n"
    );
    assert_eq!(world.run(&["ls"]), "logs\nplain\n");
    let listed = world.json(&["ls", "-l"]);
    assert_eq!(texts(&listed, "history"), ["90d", "forever"]);
    let hashes: Vec<_> =
        listed.root().children().map(|of| of.get("hashes").unwrap().as_bool()).collect();
    assert_eq!(hashes, [Some(true), Some(false)]);
    assert_eq!(
        world.run(&["alter", "logs", "--history", "none"]),
        "logs altered: history none, hashes\n"
    );
    let stats = world.run(&["stats"]);
    assert!(stats.ends_with("\nlogs: history none, hashes\n"), "{stats}");
    let options = world.json(&["stats"]);
    let options = options.root().get("options").unwrap();
    assert_eq!(options.at(0).unwrap().get("history").unwrap().as_str().unwrap(), "none");
    world.run(&["verify"]);
}

#[test]
fn history_goes_and_stays_as_the_collection_says() {
    let world = World::new();
    world.run(&["create", "brief", "--history", "none"]);
    for collection in ["brief", "all"] {
        for n in 1..=4 {
            world.run(&["put", &format!("{collection}/x"), &format!("{{\"n\":{n}}}")]);
        }
    }
    assert_eq!(world.run(&["get", "brief/x", "--at", "1"]), "{\"n\":1}\n", "not yet compacted");
    world.run(&["compact"]);
    assert_eq!(world.run(&["get", "all/x", "--at", "1"]), "{\"n\":1}\n");
    assert_eq!(world.run(&["get", "brief/x"]), "{\"n\":4}\n");
    for words in [
        &["get", "brief/x", "--at", "3"][..],
        &["diff", "brief/x", "1", "4"],
        &["revert", "brief/x", "2"],
        &["blame", "brief/x", "--at", "1"],
    ] {
        let said = world.fails(1, words);
        assert!(said.contains("not kept any more; the oldest that is kept is 4"), "{said}");
    }
    // That there were four revisions is still known, and which of them can be read.
    let history = world.run(&["history", "brief/x"]);
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with('4') && !lines[0].contains("not kept"), "{history}");
    assert!(lines[1..].iter().all(|line| line.ends_with("(not kept)")), "{history}");
    let kept = world.json(&["history", "brief/x"]);
    let kept = kept.root().children().filter(|of| of.get("kept").is_none()).count();
    assert_eq!(kept, 1);
    assert_eq!(texts(&world.json(&["node-history", "brief/x", "n"]), "author").len(), 1);
    let exported = world.output(&["export", "brief/x", "--history"]);
    assert_eq!(String::from_utf8_lossy(&exported.stdout).lines().count(), 1);
    assert!(String::from_utf8_lossy(&exported.stderr).contains("3 revisions of brief/x"));
    // From now on everything is kept again.
    world.run(&["alter", "brief", "--history", "forever"]);
    world.run(&["put", "brief/x", "{\"n\":5}"]);
    world.run(&["compact"]);
    assert_eq!(world.run(&["get", "brief/x", "--at", "4"]), "{\"n\":4}\n");
    world.run(&["verify"]);
}

#[test]
fn a_dropped_collection_is_read_at_a_moment_before() {
    let world = World::new();
    let csn = number(&world.json(&["put", "a/x", "{\"n\":1}"]), "csn");
    let then = format!("csn:{csn}");
    assert_eq!(world.run(&["drop", "a"]), "a dropped\n");
    assert_eq!(world.run(&["ls"]), "");
    let said = world.fails(1, &["get", "a/x"]);
    assert!(said.contains("no collection \"a\"") && said.contains("ls --dropped"), "{said}");
    world.run(&["put", "a/x", "{\"n\":2}"]);
    world.run(&["compact"]);
    assert_eq!(world.run(&["get", "a/x"]), "{\"n\":2}\n");
    assert_eq!(world.run(&["get", "a/x", "--at", &then]), "{\"n\":1}\n");
    assert_eq!(world.run(&["ls", "a", "--at", &then]), "x\n");
    assert!(world.run(&["blame", "a/x", "--at", &then]).contains("\"n\": 1"));
    assert_eq!(world.run(&["export", "a", "--at", &then]), "{\"key\":\"x\",\"doc\":{\"n\":1}}\n");
    let dropped = world.json(&["ls", "--dropped"]);
    assert_eq!(
        (texts(&dropped, "name"), texts(&dropped, "history")),
        (vec!["a".to_owned()], vec!["forever".to_owned()])
    );
    assert!(world.run(&["ls", "--dropped"]).starts_with("a  20"));

    assert_eq!(world.run(&["drop", "a", "--purge"]), "a dropped with its past\n");
    world.run(&["compact"]);
    let said = world.fails(1, &["get", "a/x", "--at", &then]);
    assert!(said.contains("is not kept any more"), "{said}");
    assert!(world.fails(1, &["drop", "a", "--purge"]).contains("no collection"));
    assert_eq!(world.run(&["ls", "--dropped"]).matches("history none").count(), 2);
    world.run(&["verify"]);
}

#[test]
fn paths_are_told_of_any_version_whether_kept_or_computed() {
    let world = World::new();
    world.run(&["create", "kept", "--path-summary"]);
    assert_eq!(world.run(&["ls", "-l"]), "kept  history forever, path summary\n");
    for collection in ["kept", "computed"] {
        let doc = format!("{collection}/x");
        world.run(&["put", &doc, r#"{"b":[{"n":1},{"n":2}],"a":true}"#]);
        world.run(&["edit", &doc, "rename", "b", "c"]);
        world.run(&["edit", &doc, "remove", "c[0]"]);
        world.run(&["compact"]);
        assert_eq!(
            world.run(&["paths", &doc, "--at", "1"]),
            "1  /a\n1  /b\n2  /b/[]\n2  /b/[]/n\n"
        );
        assert_eq!(world.run(&["paths", &doc]), "1  /a\n1  /c\n1  /c/[]\n1  /c/[]/n\n");
        let paths = world.json(&["paths", &doc]);
        assert_eq!(texts(&paths, "path"), ["/a", "/c", "/c/[]", "/c/[]/n"]);
        world.run(&["rm", &doc]);
        assert!(world.fails(1, &["paths", &doc]).contains("was removed"));
        world.run(&["revert", &doc, "1"]);
        assert_eq!(world.run(&["paths", &doc]), world.run(&["paths", &doc, "--at", "1"]));
    }
    world.run(&["verify"]);
}
