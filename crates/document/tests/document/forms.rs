//! Diffs written out.

use crate::values::apply_patch;
use crate::world::World;
use document::{Diff, Edit, Place, Revision};
use serde_json::Value;

/// The diff that an edit makes.
fn diff(before: &str, f: impl FnOnce(&mut Edit<'_>) -> document::Result<()>) -> Diff {
    let world = World::new(1, false);
    world.docs.put("d", before).expect("puts");
    world.docs.edit("d", f).expect("edits");
    world.docs.diff("d", Revision(1), Revision(2)).expect("compares")
}

/// The patch of an edit, after making sure that it makes the new document of the old one.
fn patch(before: &str, f: impl FnOnce(&mut Edit<'_>) -> document::Result<()>) -> String {
    let diff = diff(before, f);
    let patch = diff.to_rfc6902().expect("writes");
    let mut after: Value = serde_json::from_str(before).expect("is JSON");
    apply_patch(&mut after, &serde_json::from_str(&patch).expect("is JSON"));
    let mut expected = Vec::new();
    diff.new.write_json(&mut expected).expect("writes");
    assert_eq!(after, serde_json::from_slice::<Value>(&expected).expect("is JSON"), "{patch}");
    patch
}

/// A patch has one step for each change where the order does not matter.
#[test]
fn plain_patches() {
    let before = r#"{"a":1,"b":[1,2,3],"c/d~e":{"x":true}}"#;
    assert_eq!(
        patch(before, |e| {
            e.set("$.a", "2")?;
            e.remove("$.b[0]")?;
            e.insert("$.b", Place::LastChild, "4")?;
            e.rename("$.\"c/d~e\"", "f")
        }),
        r#"[{"op":"replace","path":"/a","value":2},{"op":"remove","path":"/b/0"},{"op":"move","from":"/c~1d~0e","path":"/f"},{"op":"add","path":"/b/2","value":4}]"#
    );
    assert_eq!(
        patch(before, |e| e.set("$", "7").map(drop)),
        r#"[{"op":"replace","path":"","value":7}]"#
    );
    assert_eq!(
        patch(before, |e| e.set("$.b", "7").map(drop)),
        r#"[{"op":"replace","path":"/b","value":7}]"#
    );
}

/// An element that moves into the next one moves to the end of the array first: once the patch moved `/1`
/// to `/1/0`, where the next one is by then, and readers that keep to the RFC refused it.
#[test]
fn an_element_into_the_next() {
    let patch = patch(r#"[0,{"a":1},["b"],2]"#, |e| e.move_to("$[1]", "$[2]", Place::FirstChild));
    assert_eq!(
        patch,
        r#"[{"op":"move","from":"/1","path":"/3"},{"op":"move","from":"/3","path":"/1/0"}]"#
    );
}

/// Two fields that swap their names do so by way of a third.
#[test]
fn swapped_names() {
    let patch = patch(r#"{"a":1,"b":2}"#, |e| {
        e.rename("$.a", "c")?;
        e.rename("$.b", "a")?;
        e.rename("$.c", "b")
    });
    assert_eq!(
        patch,
        r#"[{"op":"move","from":"/b","path":"/~01"},{"op":"move","from":"/a","path":"/b"},{"op":"move","from":"/~01","path":"/a"}]"#
    );
}

/// A chain of names is renamed from its end, without a third name.
#[test]
fn shifted_names() {
    let patch = patch(r#"{"a":1,"b":2}"#, |e| {
        e.rename("$.b", "c")?;
        e.rename("$.a", "b")
    });
    assert_eq!(
        patch,
        r#"[{"op":"move","from":"/b","path":"/c"},{"op":"move","from":"/a","path":"/b"}]"#
    );
}

/// A node that moves out of a removed subtree moves first; a node that moves into a new one, last.
#[test]
fn moves_out_of_and_into() {
    let out = patch(r#"{"old":{"kept":[1,2]},"to":[]}"#, |e| {
        e.move_to("$.old.kept", "$.to", Place::LastChild)?;
        e.remove("$.old")
    });
    assert_eq!(
        out,
        r#"[{"op":"move","from":"/old/kept","path":"/to/0"},{"op":"remove","path":"/old"}]"#
    );
    let into = patch(r#"{"kept":[1,2]}"#, |e| {
        e.insert("$", Place::Field("new"), r#"{"x":1}"#)?;
        e.move_to("$.kept", "$.new", Place::Field("kept"))
    });
    assert_eq!(
        into,
        r#"[{"op":"add","path":"/new","value":{"x":1}},{"op":"move","from":"/kept","path":"/new/kept"}]"#
    );
    // Parent and child change places.
    patch(r#"{"p":{"c":{"x":1}}}"#, |e| {
        e.move_to("$.p.c", "$", Place::Field("q"))?;
        e.move_to("$.p", "$.q", Place::Field("c"))
    });
}

/// The other forms, each on the same diff.
#[test]
fn text_and_json() {
    let diff = diff(r#"{"a":1,"b":[1,2],"c":"x"}"#, |e| {
        e.set("$.a", "2")?;
        e.remove("$.b[0]")?;
        e.move_to("$.b[0]", "$", Place::Field("moved \"it\""))?;
        e.rename("$.c", "d")?;
        e.insert("$.b", Place::FirstChild, "[true]").map(drop)
    });
    assert_eq!(
        diff.to_text(false).expect("writes"),
        "~ $.a  1 → 2\n- $.b[0]  1\n+ $.b[0]  [true]\n= $.d  \"c\" → \"d\"\n> $.\"moved \\\"it\\\"\"  from $.b[1]\n"
    );
    assert!(diff.to_text(true).expect("writes").starts_with("\x1b[33m~ $.a  1 → 2\x1b[0m\n"));
    assert_eq!(
        diff.to_json().expect("writes"),
        concat!(
            r#"[{"node_key":2,"path":"$.a","op":"update","old":1,"new":2},"#,
            r#"{"node_key":4,"path":"$.b[0]","op":"delete","old":1,"parent_node_key":3},"#,
            r#"{"node_key":7,"path":"$.b[0]","op":"insert","new":[true],"position":{"first_child_of":3}},"#,
            r#"{"node_key":6,"path":"$.d","op":"rename","old":"c","new":"d"},"#,
            r#"{"node_key":5,"path":"$.\"moved \\\"it\\\"\"","op":"move","from":"$.b[1]","position":{"right_sibling_of":6}}]"#
        )
    );
}

/// Every form tells changes in the order of the document, whatever keys the nodes have: what came or
/// moved where it stands now, what is gone where it stood, a node before what is below it.
#[test]
fn changes_come_in_document_order() {
    let before = r#"{"a":{"x":1,"y":2},"b":[10,20,30,40],"c":true,"d":{"e":"f"}}"#;
    let diff = diff(before, |e| {
        e.set("$.d.e", "\"g\"")?;
        e.move_to("$.c", "$.a", Place::FieldBefore("c"))?;
        e.insert("$.b[0]", Place::Before, "5")?;
        e.remove("$.b[3]")?;
        e.insert("$.b[2]", Place::After, "25")?;
        e.remove("$.a.x")?;
        e.set("$.a.y", "3")?;
        e.rename("$.a", "A").map(drop)
    });
    let text = diff.to_text(false).expect("writes");
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "> $.c  from $.c",
            "= $.A  \"a\" → \"A\"",
            "- $.a.x  1",
            "~ $.A.y  2 → 3",
            "+ $.b[0]  5",
            "- $.b[2]  30",
            "+ $.b[3]  25",
            "~ $.d.e  \"f\" → \"g\"",
        ]
    );
    let json: Value = serde_json::from_str(&diff.to_json().expect("writes")).expect("is JSON");
    let of_json = json.as_array().expect("an array").iter().map(|c| c["path"].to_string());
    let of_diff = diff.changes.iter().map(|c| format!("\"{}\"", c.path));
    assert_eq!(of_json.collect::<Vec<_>>(), of_diff.collect::<Vec<_>>());
    // A patch is a program: values and removals in document order, then what comes, by container.
    let patch = diff.to_rfc6902().expect("writes");
    let steps: Value = serde_json::from_str(&patch).expect("is JSON");
    let told: Vec<String> = steps
        .as_array()
        .expect("an array")
        .iter()
        .map(|step| format!("{} {}", step["op"].as_str().unwrap(), step["path"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            "remove /a/x",
            "replace /a/y",
            "remove /b/2",
            "replace /d/e",
            "move /A",
            "add /b/0",
            "add /b/3",
        ]
    );
}

/// Where most elements of a long array changed places, the patch has the array and not thousands of moves;
/// what else changed, within the elements too, comes out right. Found by a diff of 20,000 elements in reverse,
/// which took 40 s and could not be stopped: where each stood was counted for each.
#[test]
fn a_long_array_in_reverse() {
    let element = |n: usize, more: &str| format!(r#"{{"id":{n},"tags":["t{n}"{more}]}}"#);
    let before: Vec<String> = (0..7_000).map(|n| element(n, "")).collect();
    let mut after: Vec<String> =
        (0..6_990).map(|n| element(n, if n % 1000 == 7 { ",\"more\"" } else { "" })).collect();
    after.reverse();
    let before = format!(r#"{{"a":[1,2,3],"list":[{}],"b":1}}"#, before.join(","));
    let after = format!(r#"{{"a":[3,1,2],"list":[{}],"c":1}}"#, after.join(","));
    let world = World::new(1, false);
    world.docs.put("d", &before).expect("puts");
    world.docs.put("d", &after).expect("puts");
    let diff = world.docs.diff("d", Revision(1), Revision(2)).expect("compares");
    let patch: Value = serde_json::from_str(&diff.to_rfc6902().expect("writes")).expect("is JSON");
    assert!(patch.as_array().expect("steps").len() < 100);
    let mut patched: Value = serde_json::from_str(&before).expect("is JSON");
    apply_patch(&mut patched, &patch);
    assert_eq!(patched, serde_json::from_str::<Value>(&after).expect("is JSON"));
}

/// A move to where a node stands already changes nothing: once it made a revision each time, and blame named
/// its author.
#[test]
fn moves_to_where_it_stands() {
    let world = World::new(1, false);
    world.docs.put("d", r#"{"a":[1,2,3],"b":{"x":1,"y":2}}"#).expect("puts");
    let moved = |node: &str, to: &str, place: Place<'_>| {
        world.docs.edit("d", |e| e.move_to(node, to, place)).expect("moves").0.changed
    };
    assert!(!moved("$.a[0]", "$.a[1]", Place::Before));
    assert!(!moved("$.a[1]", "$.a[0]", Place::After));
    assert!(!moved("$.a[0]", "$.a", Place::FirstChild));
    assert!(!moved("$.a[2]", "$.a", Place::LastChild));
    assert!(!moved("$.b.y", "$.b", Place::Field("y")));
    assert!(!moved("$.b.x", "$.b.y", Place::FieldBefore("x")));
    assert!(moved("$.b.x", "$.b.y", Place::FieldBefore("z")), "it has another name");
    assert!(moved("$.a[0]", "$.a[1]", Place::After));
    let document = world.docs.get("d").expect("reads").expect("is there");
    let mut text = Vec::new();
    document.tree().write_json(&mut text).expect("writes");
    assert_eq!(text, br#"{"a":[2,1,3],"b":{"z":1,"y":2}}"#);
}
