//! The examples of SirixDB's documentation, and how they come out here: the same parts of documents,
//! the same node keys, the same diffs with old values and real moves, and right answers where it
//! gives wrong ones.

use crate::world::World;
use document::{
    Diff, DocumentError, Meta, Metadata, NodeKey, Nodes, Options, Place, Revision, path_summary,
};

const EXAMPLE: &str = r#"{"foo":["bar",null,2.33],"bar":{"hello":"world","helloo":true},"baz":"hello","tada":[{"foo":"bar"},{"baz":false},"boo",{},[]]}"#;

fn world() -> World {
    let world = World::new(1, true);
    world.docs.put("r", EXAMPLE).expect("puts");
    world
}

fn part(change: impl Fn(&mut Options)) -> String {
    let mut options = Options::default();
    change(&mut options);
    world().docs.get("r").expect("reads").expect("is there").serialize(&options).expect("writes")
}

/// Node keys are given in document order; a field is one node with its value.
#[test]
fn node_keys() {
    let document = world().docs.get("r").expect("reads").expect("is there");
    let keys = |path: &str| document.find(path).expect("finds").map(|key| key.0);
    let found: Vec<_> =
        ["$", "$.foo", "$.foo[0]", "$.foo[2]", "$.bar", "$.bar.helloo", "$.baz", "$.tada[4]"]
            .into_iter()
            .map(|path| keys(path).expect("is there"))
            .collect();
    assert_eq!(found, [1, 2, 3, 5, 6, 8, 9, 17]);
    assert_eq!(document.node_count(), 17);
}

/// Every part of the example comes out as SirixDB writes it.
#[test]
fn parts() {
    let level = |max: u32| part(|o| o.max_level = Some(max));
    let node = |key: u64| part(|o| o.start = Some(NodeKey(key)));
    assert_eq!(level(1), "{}");
    assert_eq!(level(2), r#"{"foo":[],"bar":{},"baz":"hello","tada":[]}"#);
    let both = part(|o| (o.max_level, o.max_children) = (Some(2), Some(2)));
    assert_eq!(both, r#"{"foo":[],"bar":{}}"#);
    assert_eq!(
        part(|o| o.max_children = Some(2)),
        r#"{"foo":["bar",null],"bar":{"hello":"world","helloo":true}}"#
    );
    assert_eq!(part(|o| o.number_of_nodes = Some(5)), r#"{"foo":["bar",null]}"#);
    let top = |o: &mut Options| o.next_top_level_nodes = Some(2);
    assert_eq!(part(top), r#"{"foo":["bar",null,2.33],"bar":{"hello":"world","helloo":true}}"#);
    let page = part(|o| (o.next_top_level_nodes, o.after) = (Some(2), Some(NodeKey(6))));
    assert_eq!(page, r#"{"baz":"hello","tada":[{"foo":"bar"},{"baz":false},"boo",{},[]]}"#);
    assert_eq!(part(|o| o.after = Some(NodeKey(10))), "{}", "there is nothing after the last");
    let start = |o: &mut Options| (o.start, o.after) = (Some(NodeKey(10)), Some(NodeKey(13)));
    assert_eq!(part(start), r#"{"tada":["boo",{},[]]}"#);
    let stray = world().docs.get("r").expect("reads").expect("is there").serialize(&{
        let mut options = Options::default();
        options.after = Some(NodeKey(13));
        options
    });
    assert!(matches!(stray, Err(DocumentError::NoNode(_))), "not a child of the start");
    assert_eq!(node(2), r#"{"foo":["bar",null,2.33]}"#);
    assert_eq!(node(9), r#"{"baz":"hello"}"#);
    assert_eq!(node(5), "2.33");
    assert_eq!(part(|_| {}), EXAMPLE);
    let pretty = part(|o| (o.pretty, o.max_level) = (true, Some(2)));
    assert_eq!(
        pretty,
        "{\n  \"foo\": [],\n  \"bar\": {},\n  \"baz\": \"hello\",\n  \"tada\": []\n}"
    );
}

/// Metadata stands beside each value; empty containers stay `{}` and `[]`.
#[test]
fn metadata() {
    let keys = part(|o| o.metadata = Metadata::NodeKey);
    let start = r#"{"metadata":{"nodeKey":1},"value":[{"key":"foo","metadata":{"nodeKey":2},"value":[{"metadata":{"nodeKey":3},"value":"bar"},"#;
    assert!(keys.starts_with(start), "{keys}");
    let end =
        r#"{"metadata":{"nodeKey":16},"value":{}},{"metadata":{"nodeKey":17},"value":[]}]}]}"#;
    assert!(keys.ends_with(end), "{keys}");
    let counts = part(|o| o.metadata = Metadata::NodeKeyAndChildCount);
    let start = r#"{"metadata":{"nodeKey":1,"childCount":4},"value":[{"key":"foo","metadata":{"nodeKey":2,"childCount":3},"#;
    assert!(counts.starts_with(start), "{counts}");

    let all = part(|o| o.metadata = Metadata::All);
    // Hashes are our own: their places are the same, their digits are not.
    let mut text = String::new();
    let mut rest = all.as_str();
    while let Some((before, after)) = rest.split_once("\"hash\":\"") {
        assert!(after[..16].bytes().all(|b| b.is_ascii_hexdigit()), "16 digits: {after}");
        text += before;
        text += "\"hash\":\"";
        rest = &after[16..];
    }
    text += rest;
    let start = r#"{"metadata":{"nodeKey":1,"hash":"","type":"OBJECT","descendantCount":16,"childCount":4},"value":[{"key":"foo","metadata":{"nodeKey":2,"hash":"","type":"OBJECT_NAMED_ARRAY","descendantCount":3,"childCount":3},"value":[{"metadata":{"nodeKey":3,"hash":"","type":"STRING_VALUE"},"value":"bar"},"#;
    assert!(text.starts_with(start), "{text}");
    let baz = r#"{"key":"baz","metadata":{"nodeKey":9,"hash":"","type":"OBJECT_NAMED_STRING"},"value":"hello"}"#;
    assert!(text.contains(baz), "{text}");
}

/// The path summary counts nodes by path, sorted; elements of an array share one.
#[test]
fn paths() {
    let document = world().docs.get("r").expect("reads").expect("is there");
    let summary: Vec<String> = path_summary(document.tree())
        .expect("walks")
        .into_iter()
        .map(|c| format!("{} {} {}", c.path, c.count, c.level))
        .collect();
    assert_eq!(
        summary,
        [
            "/bar 1 1",
            "/bar/hello 1 2",
            "/bar/helloo 1 2",
            "/baz 1 1",
            "/foo 1 1",
            "/foo/[] 3 2",
            "/tada 1 1",
            "/tada/[] 5 2",
            "/tada/[]/baz 1 3",
            "/tada/[]/foo 1 3",
        ]
    );
}

fn diffs(diff: &Diff) -> String {
    let text = diff.to_sirix_json("d", "r", Revision(1), Revision(2), true).expect("writes");
    let head = r#"{"database":"d","resource":"r","old-revision":1,"new-revision":2,"diffs":["#;
    text.strip_prefix(head)
        .and_then(|t| t.strip_suffix("]}"))
        .unwrap_or_else(|| panic!("{text}"))
        .to_owned()
}

fn edited(f: impl FnOnce(&mut document::Edit<'_>) -> document::Result<()>) -> String {
    let world = world();
    world.docs.edit("r", f).expect("edits");
    diffs(&world.docs.diff("r", Revision(1), Revision(2)).expect("compares"))
}

/// Each kind of change in SirixDB's form, with the old value beside the new one.
#[test]
fn diff_entries() {
    assert_eq!(
        edited(|e| e.set("$.baz", "\"changed\"").map(drop)),
        r#"{"update":{"nodeKey":9,"path":"/baz","type":"string","value":"changed","oldValue":"hello"}}"#
    );
    assert_eq!(
        edited(|e| e.rename("$.baz", "bazzz")),
        r#"{"update":{"nodeKey":9,"path":"/bazzz","name":"bazzz","oldName":"baz"}}"#
    );
    assert_eq!(
        edited(|e| e.insert(NodeKey(5), Place::After, r#"{"tadaaa":true}"#).map(drop)),
        r#"{"insert":{"nodeKey":18,"insertPositionNodeKey":5,"insertPosition":"asRightSibling","path":"/foo/[3]","type":"jsonFragment","data":"{\"tadaaa\":true}"}}"#
    );
    assert_eq!(
        edited(|e| e.insert(NodeKey(2), Place::FirstChild, "7").map(drop)),
        r#"{"insert":{"nodeKey":18,"insertPositionNodeKey":2,"insertPosition":"asFirstChild","path":"/foo/[0]","type":"number","data":7}}"#
    );
    assert_eq!(
        edited(|e| e.remove(NodeKey(3))),
        r#"{"delete":{"nodeKey":3,"path":"/foo/[0]","oldData":"bar"}}"#
    );
    // Another kind of value makes another node.
    assert_eq!(
        edited(|e| e.set("$.baz", r#"{"a":1}"#).map(drop)),
        r#"{"replace":{"oldNodeKey":9,"newNodeKey":18,"path":"/baz","type":"jsonFragment","data":"{\"a\":1}","oldData":"hello"}}"#
    );
}

/// A move is one entry and keeps the node's key.
#[test]
fn moves_are_moves() {
    assert_eq!(
        edited(|e| e.move_to("$.tada[2]", "$.foo", Place::LastChild)),
        r#"{"move":{"nodeKey":15,"oldPath":"/tada/[2]","insertPositionNodeKey":5,"insertPosition":"asRightSibling","path":"/foo/[3]"}}"#
    );
}

/// After a revert the history of a node goes on: SirixDB forgets it and answers `[1]`.
#[test]
fn a_revert_keeps_the_history_of_nodes() {
    let world = world();
    let baz = NodeKey(9);
    let set = |path: &str, value: &str| {
        world.docs.edit("r", |e| e.set(path, value)).expect("edits");
    };
    set("$.baz", "\"2\"");
    set("$.bar.hello", "\"3\"");
    set("$.bar.hello", "\"4\"");
    set("$.baz", "\"5\"");
    set("$.baz", "\"6\"");
    let done = world.docs.revert("r", Revision(1), &Meta::default()).expect("reverts");
    assert_eq!(done.revision, Revision(7));

    let changes = world.docs.change_revisions("r", baz).expect("reads");
    assert_eq!(changes, [1, 2, 5, 6, 7].map(Revision));
    let runs: Vec<_> = world
        .docs
        .node_history("r", baz)
        .expect("reads")
        .into_iter()
        .map(|run| (run.from.0, run.to.map(|to| to.0), run.value))
        .collect();
    let run = |from, to, value: &str| (from, to, value.to_owned());
    let expected = [
        run(1, Some(1), "\"hello\""),
        run(2, Some(4), "\"2\""),
        run(5, Some(5), "\"5\""),
        run(6, Some(6), "\"6\""),
        run(7, None, "\"hello\""),
    ];
    assert_eq!(runs, expected);
    assert_eq!(
        world.docs.get("r").expect("reads").expect("is there").to_json().expect("writes"),
        EXAMPLE
    );
}

/// The diff of a revert says what the revert did: SirixDB's is empty.
#[test]
fn the_diff_of_a_revert_is_not_empty() {
    let world = world();
    world
        .docs
        .edit("r", |e| {
            e.set("$.baz", "\"changed\"")?;
            e.rename("$.bar.hello", "hullo")?;
            e.remove("$.foo[1]")?;
            e.insert("$.tada", Place::FirstChild, "1")?;
            e.move_to("$.tada[5]", "$.tada", Place::FirstChild)
        })
        .expect("edits");
    world.docs.revert("r", Revision(1), &Meta::default()).expect("reverts");
    let diff = world.docs.diff("r", Revision(2), Revision(3)).expect("compares");
    let ops: Vec<String> = diff
        .changes
        .iter()
        .map(|c| format!("{} {}", c.node, format!("{:?}", c.op).split(' ').next().expect("a word")))
        .collect();
    assert_eq!(ops, ["4 Insert", "7 Rename", "9 Update", "18 Delete", "17 Move"]);
    assert!(world.docs.diff("r", Revision(1), Revision(3)).expect("compares").changes.is_empty());
    let tree = world.docs.get("r").expect("reads").expect("is there");
    assert_eq!(document::digest(&**tree.tree()).expect("hashes"), tree.tree().header().digest);
}
