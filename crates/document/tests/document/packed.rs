//! A compaction packs a history: all versions and differences stay as they were, in a part of the bytes.

use crate::world::{Dice, World, seeds};
use document::Revision;
use serde_json::{Value, json};

const WORDS: [&str; 12] = [
    "maximum",
    "size",
    "of the",
    "buffer",
    "before",
    "writing",
    "\"quoted\"",
    "back\\slash",
    "Grüße",
    "threads",
    "whether",
    "to log",
];

fn sentence(dice: &mut Dice) -> String {
    (0..3 + dice.below(9)).map(|_| WORDS[dice.below(WORDS.len())]).collect::<Vec<_>>().join(" ")
}

fn setting(dice: &mut Dice, number: usize) -> Value {
    let kind = ["text", "boolean", "integer"][dice.below(3)];
    let default =
        [json!(null), json!(number), json!(true), json!(-1.5e3), json!([])][dice.below(5)].clone();
    json!({
        "name": format!("setting_{:04}", dice.below(5_000)),
        "description": sentence(dice),
        "type": kind,
        "default": default,
    })
}

/// Versions of a list of settings, as a file in a repository has them.
fn history(dice: &mut Dice, versions: usize) -> Vec<String> {
    let mut list: Vec<Value> = (0..60 + dice.below(60)).map(|at| setting(dice, at)).collect();
    let mut all: Vec<String> = Vec::new();
    for number in 0.. {
        let text = Value::Array(list.clone()).to_string();
        if all.last() != Some(&text) {
            all.push(text);
        }
        if all.len() == versions {
            break;
        }
        let at = dice.below(list.len());
        match dice.below(8) {
            0..=2 => list.insert(at, setting(dice, number)),
            3 => drop(list.remove(at)),
            4 => {
                let moved = list.remove(at);
                list.push(moved);
            }
            5 => list[at]["default"] = json!(number),
            // Back to what it was some versions ago.
            6 if all.len() > 9 => list = serde_json::from_str(&all[all.len() - 9]).expect("JSON"),
            _ => list[at]["description"] = json!(sentence(dice)),
        }
    }
    all
}

fn version(world: &World, revision: usize) -> String {
    let then = world.docs.at(Revision(revision as u64)).get("d").expect("reads");
    then.expect("it was there").to_json().expect("writes")
}

/// The changes between two versions, and the revision that last changed each node of the later one.
fn changes(world: &World, from: usize, to: usize) -> String {
    let (from, to) = (Revision(from as u64), Revision(to as u64));
    let diff = world.docs.diff("d", from, to).expect("compares");
    let blame = world.docs.blame("d", Some(to)).expect("reads");
    format!("{:?} {blame:?}", diff.changes)
}

/// Histories of settings: a compaction leaves at most three fifths of their bytes, and all of their versions,
/// differences and blame, also after more commits, another compaction and a restart.
#[test]
fn a_compacted_history_is_the_same_and_smaller() {
    seeds(1, 6, |seed| {
        let mut dice = Dice::new(seed);
        let hashes = dice.below(2) == 0;
        let mut world = World::new(seed, hashes);
        let versions = history(&mut dice, 120);
        let bytes = |world: &World| {
            let stats = world.documents.engine().store().stats();
            stats.current_bytes + stats.history_bytes
        };
        let mut pair = |_| {
            let from = 1 + dice.below(79);
            (from, from + 1 + dice.below(80 - from))
        };
        let pairs: Vec<(usize, usize)> = (0..20).map(&mut pair).collect();
        let mut known: Vec<String> = Vec::new();
        for (at, text) in versions.iter().enumerate() {
            world.docs.put("d", text).expect("puts");
            if at + 1 != 80 && at + 1 != versions.len() {
                continue;
            }
            world.flush();
            let flushed = bytes(&world);
            if at + 1 == 80 {
                known = pairs.iter().map(|(from, to)| changes(&world, *from, *to)).collect();
            }
            world.compact();
            let packed = bytes(&world);
            assert!(
                at + 1 != 80 || packed * 5 < flushed * 3,
                "seed {seed}: {packed} of {flushed} bytes after {} versions",
                at + 1
            );
        }
        for round in 0..2 {
            for (at, text) in versions.iter().enumerate() {
                let is_same = version(&world, at + 1) == *text;
                assert!(is_same, "seed {seed}, round {round}: version {}", at + 1);
            }
            for ((from, to), known) in pairs.iter().zip(&known) {
                assert_eq!(&changes(&world, *from, *to), known, "seed {seed}, round {round}");
            }
            world = world.reopen();
        }
    });
}
