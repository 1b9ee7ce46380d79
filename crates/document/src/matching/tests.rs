//! Matchings told as the edits they imply: documents in, edits out.

use expect_test::{Expect, expect};
use json::{JsonPath, Tape};
use proptest::prelude::*;

use super::align::longest_ascent;
use super::{Matching, NONE, budget, match_trees};

/// Fails unless the matching keeps every promise of the module's first page.
fn check(old: &Tape, new: &Tape, matching: &Matching) {
    assert_eq!(matching.olds().len(), new.len());
    let mut used = vec![false; old.len()];
    let (old_offsets, new_offsets) = (old.offsets(), new.offsets());
    for (n, &o) in matching.olds().iter().enumerate().filter(|&(_, &o)| o != NONE) {
        let o = o as usize;
        assert!(!std::mem::replace(&mut used[o], true), "old {o} is continued twice");
        let (a, b) = (old.kinds[o], new.kinds[n]);
        assert!(a == b || !(a.is_container() || b.is_container()), "{a:?} became {b:?}");
        let mut above = new.parent(n);
        while let Some(ancestor) = above {
            let inverted = matching.old_of(ancestor).is_some_and(|old_ancestor| {
                (o..o + old.extents[o] as usize).contains(&old_ancestor)
            });
            assert!(!inverted, "{o} became its own descendant");
            above = new.parent(ancestor);
        }
        if matching.is_whole(n) {
            let inner =
                |offsets: &[usize], tape: &Tape, i| offsets[i] + tape.name_len(i).unwrap_or(0);
            let (at, to) = (inner(&old_offsets, old, o), inner(&new_offsets, new, n));
            assert_eq!(old.heap[at..old_offsets[o + 1]], new.heap[to..new_offsets[n + 1]]);
            let nodes = new.extents[n] as usize;
            assert!(
                (1..nodes)
                    .all(|i| matching.old_of(n + i) == Some(o + i) && matching.is_whole(n + i))
            );
        }
    }
    assert!(matching.steps() <= budget(old.len() + new.len()) * 2, "{} steps", matching.steps());
}

/// The children of a node, by index.
fn children(tape: &Tape, node: usize) -> Vec<usize> {
    let mut next = node + 1;
    let step = |_| {
        let child = next;
        next += tape.extents[child] as usize;
        child
    };
    (0..tape.counts[node]).map(step).collect()
}

/// The edits that make the new document from the old one, if the matching is right.
fn edits(old: &Tape, new: &Tape) -> Vec<String> {
    let matching = match_trees(old, new);
    check(old, new, &matching);
    assert_eq!(match_trees(old, new), matching, "same input, same answer");
    let (olds, news) = (matching.olds(), matching.news(old.len()));
    let path = |tape: &Tape, node: usize| JsonPath::of(tape.node(node).unwrap()).to_string();
    let whole_path = |parent: Option<usize>, matches: &[u32]| {
        parent.is_none_or(|parent| matches[parent] != NONE)
    };
    let mut edits = Vec::new();
    for o in (0..old.len()).filter(|&o| news[o] == NONE && whole_path(old.parent(o), &news)) {
        edits.push(format!("delete {}", path(old, o)));
    }
    // Children that stayed with their parent: those out of their old order have moved.
    let mut stays = vec![false; new.len()];
    let has_same_parent = |n: usize, o: usize| match (new.parent(n), old.parent(o)) {
        (Some(p), Some(q)) => matching.old_of(p) == Some(q),
        (p, q) => p == q,
    };
    for parent in 0..new.len() {
        let kept = |n: usize| matching.old_of(n).filter(|&o| has_same_parent(n, o)).map(|o| (n, o));
        let kept: Vec<_> = children(new, parent).into_iter().filter_map(kept).collect();
        longest_ascent(&kept).into_iter().for_each(|(n, _)| stays[n] = true);
    }
    let (old_offsets, new_offsets) = (old.offsets(), new.offsets());
    for (n, &stays) in stays.iter().enumerate() {
        let parent = new.parent(n);
        let json = || new.node(n).unwrap().to_json();
        let Some(o) = matching.old_of(n) else {
            if whole_path(parent, olds) {
                edits.push(format!("insert {} = {}", path(new, n), json()));
            }
            continue;
        };
        let split = |tape: &Tape, offsets: &[usize], i: usize| {
            let (name, value) =
                tape.heap[offsets[i]..offsets[i + 1]].split_at(tape.name_len(i).unwrap_or(0));
            (name.to_vec(), value.to_vec())
        };
        let (old_name, old_text) = split(old, &old_offsets, o);
        let (new_name, new_text) = split(new, &new_offsets, n);
        if parent.is_some() && !stays {
            edits.push(format!("move {} to {}", path(old, o), path(new, n)));
        } else if old_name != new_name {
            edits.push(format!("rename {} to {}", path(old, o), path(new, n)));
        }
        if !new.kinds[n].is_container() && (old.kinds[o], old_text) != (new.kinds[n], new_text) {
            edits.push(format!("update {} = {}", path(new, n), json()));
        }
    }
    edits
}

fn case(old: &str, new: &str, expected: Expect) {
    let (old, new) = (Tape::parse(old).unwrap(), Tape::parse(new).unwrap());
    expected.assert_eq(&edits(&old, &new).join("\n"));
}

/// Nothing is done where nothing changed.
#[test]
fn equal_documents_match_in_full() {
    for text in ["1", "[]", r#"{"a":[1,1,{"b":null}],"c":{}}"#] {
        case(text, text, expect![[""]]);
    }
}

/// Scalars keep their identity whatever they become; containers only as their own kind.
#[test]
fn roots_and_kinds() {
    case("1", "\"x\"", expect![[r#"update $ = "x""#]]);
    case(
        "1",
        "[1]",
        expect![[r#"
        delete $
        insert $ = [1]"#]],
    );
    case(
        "{}",
        "[]",
        expect![[r#"
        delete $
        insert $ = []"#]],
    );
    case(
        r#"{"a":1,"b":{},"c":[1]}"#,
        r#"{"a":null,"b":[],"c":{"x":1}}"#,
        expect![[r#"
        delete $.b
        delete $.c
        update $.a = null
        insert $.b = []
        insert $.c = {"x":1}"#]],
    );
}

/// Fields are known by their names, in whatever order; a new name with the old value is a rename.
#[test]
fn fields() {
    case(
        r#"{"a":1,"b":2,"c":3}"#,
        r#"{"a":1,"c":4,"d":5}"#,
        expect![[r#"
        delete $.b
        update $.c = 4
        insert $.d = 5"#]],
    );
    case(r#"{"a":1,"b":2}"#, r#"{"a":1,"z":2}"#, expect!["rename $.b to $.z"]);
    case(r#"{"a":1,"b":2,"c":3}"#, r#"{"c":3,"a":1,"b":2}"#, expect!["move $.c to $.c"]);
    case(
        r#"{"x":{"p":1,"q":2,"r":3,"s":4}}"#,
        r#"{"y":{"p":1,"q":2,"r":3,"s":5}}"#,
        expect![[r#"
            rename $.x to $.y
            update $.y.s = 5"#]],
    );
    case(
        r#"{"x":{"p":1,"q":2}}"#,
        r#"{"y":{"r":1,"s":[]}}"#,
        expect![[r#"
        delete $.x
        insert $.y = {"r":1,"s":[]}"#]],
    );
}

/// Elements are aligned by value first, so that an insertion does not shift what follows.
#[test]
fn elements() {
    case("[1,2,3]", "[0,1,2,3]", expect!["insert $[0] = 0"]);
    case("[1,2,3]", "[1,3]", expect!["delete $[1]"]);
    case("[1,2,3]", "[1,9,3]", expect!["update $[1] = 9"]);
    case("[1,2]", "[2,1]", expect!["move $[1] to $[0]"]);
    case(
        "[true,true,false,true]",
        "[true,false,true,true,true]",
        expect![[r#"
        move $[2] to $[1]
        insert $[3] = true"#]],
    );
    case(
        r#"["alpha","beta","gamma"]"#,
        r#"["Beta","gamma","delta"]"#,
        expect![[r#"
        delete $[0]
        update $[0] = "Beta"
        insert $[2] = "delta""#]],
    );
    case(
        "[[1,2],[3,4],[5,6]]",
        "[[1,2],[3,5],[5,6],[7]]",
        expect![[r#"
        update $[1][1] = 5
        insert $[3] = [7]"#]],
    );
}

/// Elements that say who they are keep their identity even when they move and change at once;
/// an element in the place of another is not taken for it.
#[test]
fn elements_with_identity() {
    let old = r#"[{"id":1,"n":5},{"id":2,"n":6},{"id":3,"n":7}]"#;
    case(
        old,
        r#"[{"id":3,"n":8},{"id":1,"n":5},{"id":2,"n":9}]"#,
        expect![[r#"
        move $[2] to $[0]
        update $[0].n = 8
        update $[2].n = 9"#]],
    );
    case(
        old,
        r#"[{"id":1,"n":5},{"id":9,"n":1},{"id":3,"n":7}]"#,
        expect![[r#"
        delete $[1]
        insert $[1] = {"id":9,"n":1}"#]],
    );
    case(
        r#"[{"name":"threads","type":"BIGINT","scope":"global","about":"how many"}]"#,
        r#"[{"name":"workers","type":"BIGINT","scope":"global","about":"how many"}]"#,
        expect![[r#"update $[0].name = "workers""#]],
    );
}

/// Elements without identity are matched by what they have in common, in order.
#[test]
fn elements_by_likeness() {
    case(
        r#"[{"a":1,"b":2,"c":3},{"a":4,"b":5,"c":6}]"#,
        r#"[{"x":0},{"a":4,"b":5,"c":7},{"a":1,"b":2,"c":8}]"#,
        expect![[r#"
            insert $[0] = {"x":0}
            move $[1] to $[1]
            update $[1].c = 7
            update $[2].c = 8"#]],
    );
    case(r#"[{"v":1}]"#, r#"[{"v":2}]"#, expect!["update $[0].v = 2"]);
    case(
        r#"[{"v":1}]"#,
        r#"[{"w":{"x":[1,2]}}]"#,
        expect![[r#"
        delete $[0]
        insert $[0] = {"w":{"x":[1,2]}}"#]],
    );
}

/// Equal values of some size are followed to wherever they went.
#[test]
fn moves() {
    case(
        r#"{"a":{"big":["some","text",1]},"b":{}}"#,
        r#"{"a":{},"b":{"other":["some","text",1]}}"#,
        expect!["move $.a.big to $.b.other"],
    );
    case(
        r#"{"a":{"x":1},"b":{}}"#,
        r#"{"a":{},"b":{"x":1}}"#,
        expect![[r#"
        delete $.a.x
        insert $.b.x = 1"#]],
    );
    case(
        r#"{"list":[{"name":"a","text":"a long enough text"},{"name":"b"}],"bin":[]}"#,
        r#"{"list":[{"name":"b"}],"bin":[{"name":"a","text":"a long enough text"}]}"#,
        expect!["move $.list[0] to $.bin[0]"],
    );
    case(
        r#"{"doc":{"title":"a title that is long enough to be worth following to the new wrapper"}}"#,
        r#"{"wrapper":{"doc":{"title":"a title that is long enough to be worth following to the new wrapper"}}}"#,
        expect![[r#"
            insert $.wrapper = {"doc":{"title":"a title that is long enough to be worth following to the new wrapper"}}
            move $.doc to $.wrapper.doc"#]],
    );
}

fn rows(count: usize, change: impl FnMut(usize) -> String) -> Tape {
    Tape::parse(format!("[{}]", (0..count).map(change).collect::<Vec<_>>().join(","))).unwrap()
}

/// In an array of 10,000, one insertion in front is one edit, one swap one, one deep change one.
#[test]
fn large_arrays_yield_small_edits() {
    let row = |i: usize| format!(r#"{{"id":{i},"deep":{{"list":[{i},{{"x":{}}}]}}}}"#, i % 7);
    let old = rows(10_000, row);
    let inserted = rows(10_001, |i| if i == 0 { row(77_777) } else { row(i - 1) });
    let swapped = rows(10_000, |i| {
        row(if i == 500 {
            501
        } else if i == 501 {
            500
        } else {
            i
        })
    });
    let deep =
        rows(10_000, |i| if i == 5000 { row(i).replace("\"x\":2", "\"x\":99") } else { row(i) });
    expect![[r#"insert $[0] = {"id":77777,"deep":{"list":[77777,{"x":0}]}}"#]]
        .assert_eq(&edits(&old, &inserted).join("\n"));
    expect!["move $[501] to $[500]"].assert_eq(&edits(&old, &swapped).join("\n"));
    expect!["update $[5000].deep.list[1].x = 99"].assert_eq(&edits(&old, &deep).join("\n"));
}

/// Arrays with nothing in common, with few values, and reversed ones stay within the budget.
#[test]
fn hostile_arrays_stay_within_the_budget() {
    let mut state = 7u64;
    let mut random = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for bound in [2, 10, 1000, 1 << 31] {
        let mut make = || rows(10_000, |_| random(bound).to_string());
        let (old, new) = (make(), make());
        check(&old, &new, &match_trees(&old, &new));
    }
    let objects =
        |shift: usize| rows(10_000, |i| format!(r#"{{"a":{},"b":{}}}"#, i + shift, i % 10));
    let reversed = rows(10_000, |i| format!(r#"{{"a":{},"b":{}}}"#, 10_000 - i, i % 3));
    check(&objects(0), &objects(5), &match_trees(&objects(0), &objects(5)));
    check(&objects(0), &objects(20_000), &match_trees(&objects(0), &objects(20_000)));
    check(&objects(0), &reversed, &match_trees(&objects(0), &reversed));
    let same = |count| rows(count, |_| r#"{"a":["some longer text",1]}"#.into());
    check(&same(10_000), &same(7_000), &match_trees(&same(10_000), &same(7_000)));
}

/// Random small documents from few names and values, so that much is alike.
fn documents() -> impl Strategy<Value = String> {
    let scalar = prop_oneof!["[0-3]", Just("null".into()), Just("\"some longer text\"".into())];
    scalar.prop_recursive(5, 60, 6, |inner| {
        let fields = prop::collection::vec(("[a-d]|id|name", inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(|items| format!("[{}]", items.join(","))),
            fields.prop_map(|fields| {
                let fields: Vec<_> =
                    fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Between any two documents the matching is one to one, keeps kinds, and makes no circles.
    #[test]
    fn matchings_are_valid(old in documents(), new in documents()) {
        let (old, new) = (Tape::parse(old).unwrap(), Tape::parse(new).unwrap());
        edits(&old, &new);
        let same = match_trees(&old, &old.clone());
        prop_assert!((0..old.len()).all(|i| same.old_of(i) == Some(i) && same.is_whole(i)));
    }

    /// A document put into another one, twice, is found there once in full.
    #[test]
    fn what_is_embedded_is_found(part in documents(), other in documents()) {
        let old = Tape::parse(format!("{{\"p\":{part},\"q\":{other}}}")).unwrap();
        let new = Tape::parse(format!("{{\"r\":[{part},{other}],\"p\":{part}}}")).unwrap();
        edits(&old, &new);
        let kept = new.root().get("p").unwrap().index();
        prop_assert!(match_trees(&old, &new).is_whole(kept));
    }
}
