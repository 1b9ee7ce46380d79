//! The edges: sizes where a chunk ends, limits, odd names, and the same place hit again and again.

use crate::naive::Snap;
use crate::values::paths;
use crate::world::World;
use document::{
    CollectionOptions, DEPTH_MAX, DocumentError, Edit, Meta, NodeKey, Nodes, PathClass, Place,
    Revision,
};
use serde_json::{Value, json};
use std::ops::Bound;
use store::Op;
use txn::{CommitMeta, Isolation};

fn text(world: &World) -> String {
    let document = world.docs.get("d").expect("reads").expect("is there");
    Snap::of(document.tree(), false);
    document.to_json().expect("writes")
}

fn put(value: &Value) -> World {
    let world = World::new(1, false);
    world.docs.put("d", value.to_string()).expect("puts");
    assert_eq!(text(&world), value.to_string());
    world
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

/// Documents nest to a limit; what would reach below it is refused, whichever way it comes.
#[test]
fn depth() {
    let world = World::new(1, false);
    world.docs.put("d", nested(DEPTH_MAX)).expect("puts");
    assert_eq!(text(&world), nested(DEPTH_MAX));
    assert!(world.docs.put("e", nested(DEPTH_MAX + 1)).is_err());
    let deepest = NodeKey(DEPTH_MAX as u64);
    let below = world.docs.edit("d", |e| e.insert(deepest, Place::FirstChild, "1"));
    assert!(matches!(below, Err(DocumentError::TooLarge(_))), "{:?}", below.map(|_| ()));
    let set = world.docs.edit("d", |e| e.set(deepest, "[1]"));
    assert!(set.is_err(), "a whole value is held to the limit too");
    world.docs.put("f", format!("[{},[]]", nested(DEPTH_MAX - 1))).expect("puts");
    let moved = world.docs.edit("f", |e| e.move_to("$[0]", "$[1]", Place::FirstChild));
    assert!(matches!(moved, Err(DocumentError::TooLarge(_))), "{:?}", moved.map(|_| ()));
    assert_eq!(text(&world), nested(DEPTH_MAX));
}

/// Two containers that swap their names, in one commit or in three, do so in the value too. It was once made of the value of
/// the version before, in which scalars alone were replaced, and kept the old names.
#[test]
fn swapped_containers() {
    let value = json!({
        "a": {"x": 1, "list": [1, 2, 3, 4, 5, 6, 7, 8]},
        "b": {"x": 2, "list": [9, 8, 7, 6, 5, 4, 3, 2]},
        "n": 0,
    });
    let swap = [("$.a", "t"), ("$.b", "a"), ("$.t", "b")];
    for is_one_commit in [true, false] {
        let world = put(&value);
        let check = || {
            let document = world.docs.get("d").expect("reads").expect("is there");
            let text = document.to_json().expect("writes");
            crate::model::check_value(document.tree(), Some(&text));
        };
        check();
        world.docs.edit("d", |e| e.set("$.n", "1")).expect("edits");
        check();
        if is_one_commit {
            let all = |e: &mut Edit<'_>| swap.iter().try_for_each(|(from, to)| e.rename(*from, to));
            world.docs.edit("d", all).expect("edits");
        } else {
            for (from, to) in swap {
                world.docs.edit("d", |e| e.rename(from, to)).expect("edits");
            }
        }
        check();
        world.docs.edit("d", |e| e.set("$.a.x", "7")).expect("edits");
        check();
    }
}

/// Values of megabytes, and their edits.
#[test]
fn huge_strings() {
    let huge = "x\"y\n".repeat(1 << 20);
    let world = put(&json!({"a": 1, "huge": huge, "b": 2}));
    world.docs.edit("d", |e| e.set("$.a", "3")).expect("edits");
    world.docs.edit("d", |e| e.set("$.huge", "\"small\"")).expect("edits");
    assert_eq!(text(&world), r#"{"a":3,"huge":"small","b":2}"#);
    let before = world.docs.get_at("d", Revision(2)).expect("reads").expect("is there");
    assert_eq!(
        before.to_json().expect("writes"),
        json!({"a": 3, "huge": huge, "b": 2}).to_string()
    );
}

/// A hundred thousand elements: insert in the middle, remove, move, and read each version.
#[test]
fn a_large_array() {
    let mut items: Vec<u32> = (0..100_000).collect();
    let world = put(&json!(items));
    let docs = &world.docs;
    docs.edit("d", |e| e.insert("$[50000]", Place::Before, "7")).expect("edits");
    items.insert(50_000, 7);
    assert_eq!(text(&world), json!(items).to_string());
    docs.edit("d", |e| e.remove("$[70000]")).expect("edits");
    items.remove(70_000);
    docs.edit("d", |e| e.move_to("$[99999]", "$[0]", Place::Before)).expect("edits");
    let last = items.pop().expect("there is one");
    items.insert(0, last);
    assert_eq!(text(&world), json!(items).to_string());
    let document = docs.get("d").expect("reads").expect("is there");
    assert_eq!(document.value("$[0]").expect("reads").as_deref(), Some("99999"));
    assert_eq!(document.value("$[50001]").expect("reads").as_deref(), Some("7"));
    items[500] = 1_000_000;
    let done = docs.put("d", json!(items).to_string()).expect("puts");
    assert_eq!(text(&world), json!(items).to_string());
    let diff = docs.diff("d", Revision(done.revision.0 - 1), done.revision).expect("compares");
    assert_eq!(diff.changes.len(), 1, "one element was set");
    let first = docs.get_at("d", Revision(1)).expect("reads").expect("is there");
    assert_eq!(
        first.to_json().expect("writes"),
        json!((0..100_000).collect::<Vec<u32>>()).to_string()
    );
}

/// Names with quotes, escapes, unicode, dots, none at all: stored, found, renamed.
#[test]
fn names() {
    let names =
        ["", "\"", "\\", "\n\t", "\u{1}", "日本", "a.b", "a[0]", "$", "~1/", "é", "e\u{301}", "😀"];
    let value: Value =
        Value::Object(names.iter().map(|n| ((*n).to_owned(), json!(n.len()))).collect());
    let world = put(&value);
    let document = world.docs.get("d").expect("reads").expect("is there");
    for (key, path) in (1..).zip(paths(&value)) {
        let found = document.find(crate::values::path_text(&path).as_str()).expect("finds");
        assert_eq!(found, Some(NodeKey(key)));
    }
    world.docs.edit("d", |e| e.rename("$.\"\\n\\t\"", "quote \" slash \\")).expect("edits");
    assert!(text(&world).contains(r#""quote \" slash \\":2"#));
    let clash = world.docs.edit("d", |e| e.rename("$.\"日本\"", ""));
    assert!(matches!(clash, Err(DocumentError::BadEdit(_))));
    let nul = world.docs.edit("d", |e| e.rename("$.\"日本\"", "\0"));
    assert!(matches!(nul, Err(DocumentError::Unstorable { .. })), "no name of a jsonb");
    let long = "n".repeat(65_001);
    assert!(world.docs.edit("d", |e| e.rename("$.\"日本\"", &long)).is_err());
    assert!(world.docs.edit("d", |e| e.insert("$", Place::Field(&long), "1")).is_err());
    let long = "n".repeat(65_000);
    world.docs.edit("d", |e| e.rename("$.\"日本\"", &long)).expect("edits");
    assert!(text(&world).contains(&long));
}

/// Where a text names a field twice, the last value counts, at the place of the first.
#[test]
fn duplicate_names_and_order() {
    let world = World::new(1, false);
    world.docs.put("d", r#"{"z":1,"a":2,"z":3,"m":{}}"#).expect("puts");
    assert_eq!(text(&world), r#"{"z":3,"a":2,"m":{}}"#);
    world.docs.put("d", r#"{"m":{},"z":3,"a":2}"#).expect("puts");
    assert_eq!(text(&world), r#"{"m":{},"z":3,"a":2}"#, "the order of fields is kept");
    let history = world.docs.node_history("d", "$.z").expect("reads");
    assert_eq!(history.len(), 1, "a field that was only moved has one value");
}

/// Empty containers fill and empty again, and a root turns into anything and back.
#[test]
fn empty_containers_and_roots() {
    let world = World::new(1, false);
    let mut versions = Vec::new();
    let steps = [
        "{}",
        "[]",
        "7",
        "\"\"",
        "null",
        "{\"a\":{}}",
        "{\"a\":[]}",
        "[[]]",
        "[{}]",
        "{}",
        "true",
        "[[],{},[]]",
    ];
    for json in steps {
        world.docs.put("d", json).expect("puts");
        assert_eq!(text(&world), json);
        versions.push(json);
    }
    world.docs.edit("d", |e| e.insert("$[1]", Place::Field("x"), "[]")).expect("edits");
    world.docs.edit("d", |e| e.insert("$[1].x", Place::FirstChild, "{}")).expect("edits");
    assert_eq!(text(&world), r#"[[],{"x":[{}]},[]]"#);
    world.docs.edit("d", |e| e.remove("$[1].x[0]")).expect("edits");
    world.docs.edit("d", |e| e.remove("$[1].x")).expect("edits");
    assert_eq!(text(&world), "[[],{},[]]");
    for (number, json) in (1..).zip(versions) {
        let document = world.docs.get_at("d", Revision(number)).expect("reads").expect("is there");
        assert_eq!(document.to_json().expect("writes"), json);
    }
}

/// Ten thousand elements put in front, one revision for a thousand of them.
#[test]
fn prepending() {
    let world = put(&json!([0]));
    let mut items: Vec<u32> = vec![0];
    for round in 0..10 {
        world
            .docs
            .edit("d", |e| {
                for number in 1..=1000 {
                    e.insert("$", Place::FirstChild, (round * 1000 + number).to_string())?;
                }
                Ok(())
            })
            .expect("edits");
        items.splice(0..0, (1..=1000).rev().map(|number| round * 1000 + number));
        assert_eq!(text(&world), json!(items).to_string());
    }
}

/// Five thousand insertions at one place, from either side.
#[test]
fn inserting_at_one_place() {
    let world = put(&json!(["left", "right"]));
    let right = NodeKey(3);
    let mut items = vec![json!("left"), json!("right")];
    for round in 0..5 {
        world
            .docs
            .edit("d", |e| {
                for number in 0..500 {
                    e.insert(right, Place::Before, (round * 1000 + number).to_string())?;
                    e.insert("$[0]", Place::After, (round * 1000 + 500 + number).to_string())?;
                }
                Ok(())
            })
            .expect("edits");
        for number in 0..500 {
            items.insert(items.len() - 1, json!(round * 1000 + number));
            items.insert(1, json!(round * 1000 + 500 + number));
        }
        assert_eq!(text(&world), json!(items).to_string());
    }
}

/// All nodes of a chunk removed, and brought back by a revert.
#[test]
fn a_chunk_that_dies_and_comes_back() {
    let items: Vec<u32> = (0..1000).collect();
    let world = put(&json!(items));
    world
        .docs
        .edit("d", |e| {
            // Keys 256 to 767: two chunks, whole.
            for key in 256..768 {
                e.remove(NodeKey(key))?;
            }
            Ok(())
        })
        .expect("edits");
    let left: Vec<u32> = (0..254).chain(766..1000).collect();
    assert_eq!(text(&world), json!(left).to_string());
    world.docs.edit("d", |e| e.insert("$[254]", Place::Before, "\"new\"")).expect("edits");
    world.compact();
    world.docs.revert("d", Revision(1), &Default::default()).expect("reverts");
    assert_eq!(text(&world), json!(items).to_string());
    let history = world.docs.node_history("d", NodeKey(300)).expect("reads");
    let runs: Vec<_> =
        history.iter().map(|r| (r.from.0, r.to.map(|t| t.0), r.value.as_str())).collect();
    assert_eq!(runs, [(1, Some(1), "298"), (4, None, "298")]);
    let diff = world.docs.diff("d", Revision(2), Revision(1)).expect("compares");
    assert_eq!(diff.changes.len(), 512);
}

/// Documents that end just before, at, and just after the end of a chunk.
#[test]
fn the_end_of_a_chunk() {
    for nodes in [255u32, 256, 257, 511, 512, 513] {
        let mut items: Vec<Value> = (1..nodes).map(|n| json!(n)).collect();
        let world = put(&json!(items));
        let document = world.docs.get("d").expect("reads").expect("is there");
        assert_eq!(document.node_count(), nodes as u64);
        let end = NodeKey(nodes as u64 - 1);
        let of_end = document.value(end).expect("reads").expect("is there");
        assert_eq!(of_end, (nodes - 2).to_string());
        world.docs.edit("d", |e| e.insert("$", Place::LastChild, "{\"a\":[1,2]}")).expect("edits");
        items.push(json!({"a": [1, 2]}));
        assert_eq!(text(&world), json!(items).to_string());
        world.docs.edit("d", |e| e.set(format!("$[{}].a[1]", nodes - 1), "3")).expect("edits");
        items[nodes as usize - 1] = json!({"a": [1, 3]});
        assert_eq!(text(&world), json!(items).to_string());
        world.docs.edit("d", |e| e.remove(format!("$[{}]", nodes - 2))).expect("edits");
        items.remove(nodes as usize - 2);
        assert_eq!(text(&world), json!(items).to_string());
        assert_eq!(document.tree().header().next_key, nodes as u64 + 1);
    }
}

/// Names and positions lead to the same nodes whether they are looked up in chunks and kept lists or
/// by walking from sibling to sibling: short and long lists, over the ends of chunks, past what was
/// removed, among what was inserted and moved; in the newest version, in old ones, and within an edit.
#[test]
fn a_child_is_found_by_name_and_position_as_by_walking() {
    fn check(nodes: &impl Nodes) {
        for parent in nodes.subtree(nodes.root()).expect("walks") {
            if !nodes.expect(parent).expect("is there").kind.is_container() {
                continue;
            }
            let mut at = 0;
            for child in nodes.children(parent).expect("walks") {
                let child = child.expect("walks");
                assert_eq!(nodes.child_at(parent, at).expect("finds"), Some(child));
                assert_eq!(nodes.walk_to_position(parent, at).expect("finds"), Some(child));
                assert_eq!(nodes.position(parent, child).expect("counts"), at);
                if let Some(name) = nodes.expect(child).expect("is there").name {
                    assert_eq!(nodes.child_named(parent, name).expect("finds"), Some(child));
                    assert_eq!(nodes.walk_to_name(parent, name).expect("finds"), Some(child));
                }
                at += 1;
            }
            assert_eq!(nodes.child_at(parent, at).expect("finds"), None);
            assert_eq!(nodes.child_named(parent, b"no such name").expect("finds"), None);
        }
    }
    let fields: Vec<String> =
        (0..300).map(|i| format!("\"field{i}\":[{i},{{\"in\":{i}}}]")).collect();
    let world = World::new(1, false);
    let json = format!("{{{},\"long\":[{}]}}", fields.join(","), vec!["0"; 700].join(","));
    world.docs.put("d", json).expect("puts");
    type Change<'a> = &'a dyn Fn(&mut Edit<'_>) -> document::Result<()>;
    let edits: [Change<'_>; 5] = [
        &|e| e.set("$.field9[0]", "\"nine\"").map(drop),
        &|e| (10..80).try_for_each(|i| e.remove(format!("$.field{i}"))),
        &|e| (0..300).try_for_each(|_| e.remove("$.long[100]")),
        &|e| e.insert("$.field3[0]", Place::Before, "\"first\"").map(drop),
        &|e| e.move_to("$.long[70]", "$.long[10]", Place::Before),
    ];
    for edit in edits {
        world.docs.edit("d", |e| edit(e).inspect(|()| check(e.nodes()))).expect("edits");
        check(&**world.docs.get("d").expect("reads").expect("is there").tree());
    }
    world.compact();
    for revision in 1..=6 {
        let then = world.docs.get_at("d", Revision(revision)).expect("reads").expect("is there");
        check(&**then.tree());
    }
}

/// A document too large to be parsed as a whole comes in as a stream, with digest and path summary as
/// if it had been put, and goes on from there.
#[test]
fn a_streamed_import_keeps_what_the_collection_keeps() {
    let options =
        CollectionOptions { hashes: true, path_summary: true, ..CollectionOptions::default() };
    let world = World::with(1, options);
    let filler = "x".repeat(1_300);
    let items = 13_000;
    let mut text = String::from("{\"items\":[");
    for item in 0..items {
        let comma = if item > 0 { "," } else { "" };
        text += &format!("{comma}{{\"id\":{item},\"sub\":{{\"text\":\"{filler}\"}}}}");
    }
    text += "]}";
    assert!(text.len() > 16 << 20);
    world.docs.import("d", text.as_bytes(), &Meta::default()).expect("imports");
    let paths = |revision| {
        let paths = world.docs.path_summary("d", Revision(revision)).expect("reads");
        let text = |c: PathClass| format!("{} {}", c.path, c.count);
        paths.expect("is there").into_iter().map(text).collect::<Vec<_>>()
    };
    let expected = |n: u32| {
        let sub = ["", "/id", "/sub", "/sub/text"].map(|path| format!("/items/[]{path} {n}"));
        [vec!["/items 1".to_owned()], sub.to_vec()].concat()
    };
    assert_eq!(paths(1), expected(items));
    world.docs.edit("d", |e| e.remove("$.items[7]")).expect("edits");
    assert_eq!((paths(2), paths(1)), (expected(items - 1), expected(items)));
    let document = world.docs.get("d").expect("reads").expect("is there");
    assert_eq!(
        document::digest(&**document.tree()).expect("walks"),
        document.tree().header().digest
    );
}

/// Stored text that is not JSON, or not UTF-8, is damage: it was checked when it was stored. It was told as a mistake of the
/// caller (22P02).
#[test]
fn stored_text_that_is_not_json() {
    let damages: [(&[u8], &[u8], &str); 2] = [
        (b":777", b":7x7", "its text is not JSON"),
        (b"word", b"w\xffrd", "a text that is not UTF-8"),
    ];
    for (from, to, fault) in damages {
        let world = put(&json!({"n": 777, "s": "word"}));
        let (engine, table) = (world.documents.engine(), world.docs.id());
        let mut txn = engine.begin(Isolation::ReadCommitted);
        for item in engine.snapshot().scan(table, Bound::Unbounded, Bound::Unbounded, false) {
            let (key, stored) = item.expect("reads");
            let mut record = stored.base().to_vec();
            if let Some(at) = record.windows(from.len()).position(|part| part == from) {
                record[at..at + from.len()].copy_from_slice(to);
                txn.write(table, key, Op::Put(record)).expect("writes");
            }
        }
        txn.commit(CommitMeta::default()).expect("commits");
        let world = world.reopen();
        let document = world.docs.get("d").expect("reads").expect("is there");
        let error = document.tree().jsonb().expect_err("it is damaged");
        assert_eq!(error.sqlstate_below(), Some("XX001"), "{error}");
        assert!(error.to_string().contains(fault), "{error}");
    }
}
