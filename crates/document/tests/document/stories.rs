//! Bugs that random histories found, each told by itself: the shortest history that showed it.

use crate::world::World;
use document::{ChangeOp, CollectionOptions, NodeKey, Nodes, Place, Revision};
use json::Tape;
use txn::{CommitMeta, Isolation};

fn put(hashes: bool, json: &str) -> World {
    let world = World::new(1, hashes);
    world.docs.put("d", json).expect("puts");
    world
}

/// A revision, read from the store and not from what is kept of the newest.
fn read(world: &World, revision: u64) -> String {
    let then = world.docs.at(Revision(revision)).get("d").expect("reads").expect("it was there");
    then.to_json().expect("writes")
}

/// The header's digest is that of the nodes, and so are its counts.
fn header_is_right(world: &World, revision: u64) {
    let then = world.docs.at(Revision(revision)).get("d").expect("reads").expect("it was there");
    let (tree, header) = (then.tree(), then.tree().header());
    assert_eq!(document::digest(tree.as_ref()).expect("reads"), header.digest, "at {revision}");
    let keys = tree.subtree(tree.root()).expect("walks");
    assert_eq!(keys.len() as u64, header.nodes, "at {revision}");
    let placed = keys.iter().filter(|key| tree.place(**key).expect("reads").is_some());
    assert_eq!(placed.count() as u64, header.placed, "at {revision}");
}

fn runs(world: &World, node: NodeKey) -> Vec<(u64, Option<u64>, String)> {
    let runs = world.docs.node_history("d", node).expect("reads");
    runs.into_iter().map(|run| (run.from.0, run.to.map(|to| to.0), run.value)).collect()
}

/// One edit sets a value twice: both sets stand in one delta, and where deltas were laid over an image
/// unmerged, newest first, the first of the two was shown.
#[test]
fn a_value_set_twice_in_one_edit_is_the_last() {
    let world = put(false, r#"{"n":0,"m":"x"}"#);
    let twice = world.docs.edit("d", |edit| {
        edit.set("$.n", "1")?;
        edit.set("$.m", "\"y\"")?;
        edit.set("$.n", "2")
    });
    twice.expect("edits");
    world.docs.edit("d", |edit| edit.set("$.m", "\"z\"")).expect("edits");
    let n = NodeKey(2);
    for _ in 0..2 {
        assert_eq!(read(&world, 2), r#"{"n":2,"m":"y"}"#);
        let expected = [(1, Some(1), "0".to_owned()), (2, None, "2".to_owned())];
        assert_eq!(runs(&world, n), expected);
        world.compact();
    }
}

/// More values of one chunk were set than are laid over its image: from there on it is merged. Each
/// version reads as it was, on either side of that.
#[test]
fn many_values_over_one_image() {
    let zeroes = vec!["0"; 40].join(",");
    let world = put(true, &format!("[{zeroes}]"));
    let mut expected = vec![0; 40];
    let mut texts = vec![format!("[{zeroes}]")];
    for (at, value) in (0..40).zip(1..) {
        world
            .docs
            .edit("d", |edit| edit.set(&*format!("$[{at}]"), value.to_string()))
            .expect("edits");
        expected[at] = value;
        texts.push(serde_json::to_string(&expected).expect("numbers"));
    }
    for round in 0..2 {
        for (revision, text) in (1..).zip(&texts) {
            assert_eq!(&read(&world, revision), text, "revision {revision}, round {round}");
            header_is_right(&world, revision);
        }
        world.compact();
    }
}

/// A revert brings another root back. The root that is given up was hashed as if it had a parent, because
/// the older one had taken its place already: the digest was wrong from then on.
#[test]
fn a_root_given_up_by_a_revert_is_hashed_as_a_root() {
    let world = put(true, "[1,2]");
    world.docs.put("d", r#"{"a":{"b":null}}"#).expect("puts");
    world.docs.put("d", "3").expect("puts");
    for (revision, text) in [(1, "[1,2]"), (2, r#"{"a":{"b":null}}"#), (1, "[1,2]")] {
        let reverted = world.docs.revert("d", Revision(revision), &Default::default());
        let made = reverted.expect("reverts").revision.0;
        assert_eq!(read(&world, made), text);
        header_is_right(&world, made);
    }
}

/// A node that is moved away and back is written down as one that was put where it stands. A revert wrote
/// it down as one that stands there by its key, and blame took that for a change.
#[test]
fn a_node_that_stands_where_it_did_is_not_changed_by_a_revert() {
    let world = put(true, r#"["a","b","c"]"#);
    world.docs.edit("d", |edit| edit.move_to("$[0]", "$[2]", Place::After)).expect("moves");
    world.docs.put("d", r#"["a","b","c"]"#).expect("puts");
    world.docs.revert("d", Revision(1), &Default::default()).expect("reverts");
    let blame = world.docs.blame("d", None).expect("reads");
    let last: Vec<u64> = blame.iter().map(|line| line.revision.0).collect();
    assert_eq!(last, [1, 3, 1, 1]);
    header_is_right(&world, 3);
}

/// The keys of chunk 1 of an array of so many numbers: all that is in a chunk of its own.
const CHUNK: std::ops::Range<u64> = 256..512;

/// Revision 1 has 600 numbers, 2 lacks two of chunk 1, 3 lacks all of that chunk; 4 is as 2 was: the
/// chunk has begun anew, without the two.
fn chunk_begun_anew(middle: u64, last: u64) -> World {
    let numbers: Vec<u32> = (0..600).collect();
    let world = put(true, &serde_json::to_string(&numbers).expect("numbers"));
    let remove = |keys: Vec<u64>| {
        let all = |edit: &mut document::Edit<'_>| {
            keys.into_iter().try_for_each(|key| edit.remove(NodeKey(key)))
        };
        world.docs.edit("d", all).expect("edits");
    };
    remove(vec![middle, last]);
    remove(CHUNK.filter(|key| ![middle, last].contains(key)).collect());
    world.compact();
    world.docs.revert("d", Revision(2), &Default::default()).expect("reverts");
    assert_eq!(read(&world, 4), read(&world, 2));
    header_is_right(&world, 4);
    world
}

/// The history of a node ended where its chunk had begun anew without it: the slot knew nothing, and that
/// was taken for "never there".
#[test]
fn the_history_of_a_node_goes_on_where_its_chunk_began_anew() {
    let world = chunk_begun_anew(300, 511);
    for (key, value) in [(300, "298"), (511, "509")] {
        assert_eq!(runs(&world, NodeKey(key)), [(1, Some(1), value.to_owned())], "node {key}");
    }
    let comes_back = [(1, Some(2), "299".to_owned()), (4, None, "299".to_owned())];
    assert_eq!(runs(&world, NodeKey(301)), comes_back);
}

/// A diff looked at the slots that changed in the newer chunk. A chunk that began anew has no slot
/// for a node that stood behind all that came back: its removal was not in the diff.
#[test]
fn a_diff_sees_what_a_chunk_lost_when_it_began_anew() {
    let world = chunk_begun_anew(300, 511);
    let gone = |from, to| {
        let diff = world.docs.diff("d", Revision(from), Revision(to)).expect("compares");
        let deleted = |op: &ChangeOp| matches!(op, ChangeOp::Delete { .. });
        assert!(diff.changes.iter().all(|change| deleted(&change.op)), "{:?}", diff.changes);
        diff.changes.iter().map(|change| change.node.0).collect::<Vec<_>>()
    };
    assert_eq!(gone(1, 2), [300, 511]);
    assert_eq!(gone(1, 4), [300, 511]);
    assert_eq!(gone(1, 3), CHUNK.collect::<Vec<_>>());
    assert!(gone(2, 4).is_empty());
}

/// A field moved within its object keeps its name: that name was found to be taken, by itself.
#[test]
fn a_field_moves_within_its_object_under_its_own_name() {
    let world = put(false, r#"{"a":1,"b":{"c":2},"d":3}"#);
    let moved = world.docs.edit("d", |edit| edit.move_to("$.b", "$.a", Place::FieldBefore("b")));
    moved.expect("moves");
    assert_eq!(read(&world, 2), r#"{"b":{"c":2},"a":1,"d":3}"#);
    let taken = world.docs.edit("d", |edit| edit.move_to("$.b", "$.d", Place::FieldAfter("a")));
    assert!(taken.expect_err("there is another a").to_string().contains("already has a field"));
}

/// A chunk's fresh image holds all of the header, also what no later delta says again: how many nodes are
/// placed, and the digest.
#[test]
fn an_image_holds_the_whole_header() {
    let world = put(true, r#"{"list":[1,2,3],"n":0}"#);
    let insert = |edit: &mut document::Edit<'_>| edit.insert("$.list[1]", Place::Before, "[9]");
    world.docs.edit("d", insert).expect("inserts");
    // So many values that the store puts fresh images beside the deltas.
    for n in 1..=300 {
        world.docs.edit("d", |edit| edit.set("$.n", n.to_string())).expect("edits");
    }
    let check = |world: &World| {
        for revision in [1, 2, 3, 150, 302] {
            header_is_right(world, revision);
        }
        assert_eq!(read(world, 302), r#"{"list":[1,[9],2,3],"n":300}"#);
    };
    check(&world);
    world.flush();
    check(&world);
    world.compact();
    check(&world.reopen());
}

/// The history of a path told of one node: what a field was before it was removed and added again, or before
/// another was renamed to it, was left out, of 14 of the 20 fields of a real history.
#[test]
fn a_path_tells_of_all_nodes_that_stood_there() {
    let world = put(false, r#"{"a":1,"b":{"c":1},"l":["x","y"]}"#);
    let edit = |f: &dyn Fn(&mut document::Edit<'_>) -> document::Result<()>| {
        world.docs.edit("d", f).expect("edits");
    };
    edit(&|edit| edit.remove("$.a"));
    edit(&|edit| edit.set("$.a", "2").map(drop));
    edit(&|edit| edit.rename("$.a", "z"));
    edit(&|edit| edit.set("$.a", "3").map(drop));
    edit(&|edit| edit.remove("$.b"));
    edit(&|edit| edit.set("$.b", r#"{"c":9}"#).map(drop));
    edit(&|edit| edit.insert("$.l", Place::FirstChild, r#""w""#).map(drop));
    edit(&|edit| edit.move_to("$.b.c", "$.l[1]", Place::Before));
    world.docs.remove("d").expect("removes");
    world.docs.put("d", r#"{"a":4,"l":[[]]}"#).expect("puts");
    let tell = |path: &str| -> Vec<(u64, u64, Option<u64>, String)> {
        let runs = world.docs.node_history("d", path).expect("reads");
        let run =
            |run: document::NodeVersion| (run.node.0, run.from.0, run.to.map(|to| to.0), run.value);
        runs.into_iter().map(run).collect()
    };
    for _ in 0..2 {
        assert_eq!(
            tell("$.a"),
            [
                (2, 1, Some(1), "1".into()),
                (8, 3, Some(3), "2".into()),
                (9, 5, Some(9), "3".into()),
                (14, 11, None, "4".into()),
            ]
        );
        assert_eq!(tell("$.z"), [(8, 4, Some(9), "2".into())]);
        assert_eq!(tell("/b/c"), [(4, 1, Some(5), "1".into()), (11, 7, Some(8), "9".into())]);
        let first = [
            (6, 1, Some(7), r#""x""#.into()),
            (12, 8, Some(9), r#""w""#.into()),
            (16, 11, None, "[]".into()),
        ];
        assert_eq!(tell("$.l[0]"), first);
        assert_eq!(tell("/l/0"), first);
        let second = [
            (7, 1, Some(7), r#""y""#.into()),
            (6, 8, Some(8), r#""x""#.into()),
            (11, 9, Some(9), "9".into()),
        ];
        assert_eq!(tell("$.l[1]"), second);
        assert_eq!(tell("$").len(), 10, "every revision that has one");
        let changes = world.docs.change_revisions("d", "$.a").expect("reads");
        assert_eq!(changes, [1, 2, 3, 4, 5, 10, 11].map(Revision));
        world.compact();
    }
}

/// A large transaction moved the chunk that it had put to a file, and merged it with its later changes when it committed.
/// The merge wrote the number of no commit as that of the changed nodes.
#[test]
fn a_node_that_a_large_transaction_made_and_changed_has_its_commit() {
    let world = World::of_large_commits(1, CollectionOptions::default());
    let mut txn = world.documents.engine().begin(Isolation::ReadCommitted);
    let tape = Tape::parse(r#"{"a": 1, "b": [2, 3]}"#).expect("is JSON");
    world.docs.put_in_txn(&mut txn, "d", &tape).expect("puts");
    for value in ["5", "6"] {
        world.docs.edit_in_txn(&mut txn, "d", |edit| edit.set("$.a", value)).expect("edits");
    }
    txn.commit(CommitMeta::default()).expect("commits");
    assert_eq!(runs(&world, NodeKey(2)), [(1, None, "6".to_owned())]);
    assert_eq!(read(&world, 1), r#"{"a":6,"b":[2,3]}"#);
}
