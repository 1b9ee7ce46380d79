//! Random histories of a document beside a list of the values that it had.

mod checks;
mod edits;
mod history_of_paths;
mod statements;

use edits::change;

use crate::naive::Snap;
use crate::values::{self, get, path_text, paths};
use crate::world::{Dice, World, seeds};
use document::{
    CollectionOptions, Committed, Document, DocumentError, Meta, NodeKey, Nodes, Revision,
};
use serde_json::Value;

/// A revision as the list has it.
struct Rev {
    value: Option<Value>,
    text: Option<String>,
    csn: store::Csn,
    time_us: u64,
    /// Its nodes; of a removed document none.
    snap: Option<Snap>,
}

struct Case {
    dice: Dice,
    world: World,
    hashes: bool,
    /// Revisions made by more than one step, whose steps may cancel out: blame may say more then.
    stepwise: bool,
    nodes: usize,
    revs: Vec<Rev>,
    next_key: u64,
    log: Vec<String>,
}

const KEY: &str = "the document";

/// Three thousand random histories: every revision reads back byte for byte, at any time, after
/// flushes, compactions and restarts; differences apply; histories of nodes are what reading every
/// revision gives.
#[test]
fn random_histories() {
    seeds(1, 3000, |seed| {
        let mut dice = Dice::new(seed);
        let nodes = match dice.below(100) {
            0..=69 => 2 + dice.below(30),
            70..=95 => 20 + dice.below(100),
            _ => 300 + dice.below(1200),
        };
        run(dice, seed, nodes, 30);
    });
}

/// A few long ones over documents of many chunks.
#[test]
fn random_histories_of_large_documents() {
    seeds(900_001, 8, |seed| {
        let mut dice = Dice::new(seed);
        let nodes = 2000 + dice.below(3000);
        run(dice, seed, nodes, 25);
    });
}

fn run(mut dice: Dice, seed: u64, nodes: usize, operations: usize) {
    let hashes = dice.chance(30);
    let stepwise = dice.chance(50);
    let path_summary = dice.chance(50);
    let options = CollectionOptions { hashes, path_summary, ..CollectionOptions::default() };
    let world = match dice.chance(5) {
        true => World::of_large_commits(seed, options),
        false => World::with(seed, options),
    };
    let log = Vec::new();
    let mut case =
        Case { dice, world, hashes, stepwise, nodes, revs: Vec::new(), next_key: 1, log };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for step in 0..operations {
            case.step();
            if case.dice.chance(if case.nodes > 200 { 2 } else { 8 }) || step + 1 == operations {
                case.check();
            }
        }
    }));
    if let Err(panic) = result {
        let from = case.log.len().saturating_sub(8);
        eprintln!(
            "seed {seed}, {} steps, the last:\n{}",
            case.log.len(),
            case.log[from..].join("\n")
        );
        if let Some(text) =
            case.revs.last().and_then(|rev| rev.text.as_ref()).filter(|t| t.len() < 4000)
        {
            eprintln!("newest revision {}: {text}", case.revs.len());
        }
        std::panic::resume_unwind(panic);
    }
}

/// The value that is made of the nodes is the one that the text has.
pub fn check_value(tree: &document::Tree, text: Option<&str>) {
    let expected = json::jsonb::Jsonb::parse(text.expect("a document has a text"));
    // The second time it may have been kept.
    for _ in 0..2 {
        match (tree.jsonb(), &expected) {
            (Ok(value), Ok(expected)) => {
                assert_eq!(value.bytes(), expected.bytes());
                assert_eq!(tree.jsonb_text().expect("a value has a text"), expected.to_json());
            }
            (value, expected) => panic!("{value:?}, {expected:?}"),
        }
    }
}

impl Case {
    fn now(&self) -> Option<&Value> {
        self.revs.last().and_then(|rev| rev.value.as_ref())
    }

    fn step(&mut self) {
        if self.dice.chance(20) {
            self.world.docs.put("noise", format!("[{}]", self.dice.next())).expect("puts");
        }
        match self.dice.below(100) {
            0..=24 => self.put(),
            25..=29 => self.put_unrelated(),
            30..=69 => self.edit(),
            70..=72 => self.remove(),
            73..=79 => self.revert(),
            80..=82 => self.keep(),
            83..=86 if !self.stepwise => self.statements(),
            83..=87 => self.failing_edit(),
            88..=91 => self.world.flush(),
            92..=93 => self.world.compact(),
            94..=96 => self.world.documents.clear_cache(),
            _ => self.reopen(),
        }
    }

    fn reopen(&mut self) {
        self.log.push("reopen".into());
        let fresh = World::new(0, false);
        let world = std::mem::replace(&mut self.world, fresh);
        self.world = world.reopen();
    }

    fn meta(&mut self) -> Meta {
        Meta::new(format!("author {}", self.revs.len() % 3), format!("step {}", self.log.len()))
    }

    fn put(&mut self) {
        let Some(now) = self.now() else { return self.put_unrelated() };
        let mut value = now.clone();
        for _ in 0..1 + self.dice.below(4) {
            values::mutate(&mut self.dice, &mut value);
        }
        self.put_value(value);
    }

    fn put_unrelated(&mut self) {
        let value = match self.dice.chance(10) {
            true => values::value(&mut self.dice, 1, 1),
            false => values::document(&mut self.dice, self.nodes),
        };
        self.put_value(value);
    }

    fn put_value(&mut self, value: Value) {
        let text = value.to_string();
        self.log.push(format!("put {}", cut(&text)));
        let meta = self.meta();
        let done = self.world.docs.put_with(KEY, &text, &meta).expect("puts");
        let same = self.revs.last().is_some_and(|rev| rev.text.as_ref() == Some(&text));
        assert_eq!(done.changed, !same, "a put of the same value changes nothing");
        self.committed(done, Some(value), same);
    }

    /// An edit of a few steps, or of one.
    fn edit(&mut self) {
        let Some(now) = self.now() else { return self.put_unrelated() };
        let mut value = now.clone();
        let steps = if self.stepwise { 1 } else { 1 + self.dice.below(4) };
        let meta = self.meta();
        let (dice, log) = (&mut self.dice, &mut self.log);
        let (done, ()) = self
            .world
            .docs
            .edit_with(KEY, &meta, |edit| {
                for _ in 0..steps {
                    change(dice, log, edit, &mut value)?;
                }
                Ok(())
            })
            .expect("edits");
        let same = self.now().map(Value::to_string) == Some(value.to_string());
        assert!(done.changed || same, "a change is a change");
        self.committed(done, Some(value), !done.changed);
    }

    fn failing_edit(&mut self) {
        let Some(now) = self.now() else { return };
        let mut value = now.clone();
        let (dice, log) = (&mut self.dice, &mut self.log);
        let failed = self.world.docs.edit(KEY, |edit| {
            change(dice, log, edit, &mut value)?;
            edit.remove("$.there.is.no.such.node")
        });
        assert!(matches!(failed, Err(DocumentError::NoNode(_))), "{:?}", failed.map(|_| ()));
        log.push("that failed".into());
    }

    fn remove(&mut self) {
        if self.now().is_none() {
            let failed = self.world.docs.remove(KEY);
            assert!(matches!(failed, Err(DocumentError::NoDocument { .. })));
            return;
        }
        self.log.push("remove the document".into());
        let done = self.world.docs.remove(KEY).expect("removes");
        self.committed(done, None, false);
    }

    fn revert(&mut self) {
        if self.revs.is_empty() {
            return;
        }
        let to = self.dice.below(self.revs.len());
        self.log.push(format!("revert to {}", to + 1));
        let meta = self.meta();
        let done = self.world.docs.revert(KEY, Revision(to as u64 + 1), &meta);
        let Some(value) = self.revs[to].value.clone() else {
            assert!(matches!(done, Err(DocumentError::NoDocument { .. })));
            return;
        };
        let done = done.expect("reverts");
        let snap = self.revs[to].snap.clone().expect("was there");
        self.committed(done, Some(value), !done.changed);
        let now = self.revs.last().and_then(|rev| rev.snap.as_ref()).expect("is there");
        assert_eq!(now.nodes, snap.nodes, "a revert brings back the very nodes");
    }

    /// A revision that changes nothing.
    fn keep(&mut self) {
        let Some(now) = self.now().cloned() else { return };
        self.log.push("an empty revision".into());
        let meta = Meta { keep_unchanged: true, ..self.meta() };
        let done = self.world.docs.put_with(KEY, now.to_string(), &meta).expect("puts");
        assert!(!done.changed);
        self.committed(done, Some(now), false);
    }

    /// Checks a commit and adds it to the list; `same` where no revision was made.
    fn committed(&mut self, done: Committed, value: Option<Value>, same: bool) {
        if same {
            let last = self.revs.last().expect("was there");
            assert_eq!((done.revision.0, done.csn), (self.revs.len() as u64, last.csn));
            return;
        }
        assert_eq!(done.revision.0, self.revs.len() as u64 + 1, "revisions are dense");
        let text = value.as_ref().map(Value::to_string);
        let document = self.world.docs.get(KEY).expect("reads");
        assert_eq!(json_of(&document), text, "the newest revision");
        if let Some(document) = &document {
            check_value(document.tree(), text.as_deref());
        }
        let snap = document.map(|document| Snap::of(document.tree(), self.hashes));
        self.check_keys(snap.as_ref());
        self.revs.push(Rev { value, text, csn: done.csn, time_us: done.time_us, snap });
    }

    // --- checks ----------------------------------------------------------------------------------
}

fn json_of(document: &Option<Document>) -> Option<String> {
    document.as_ref().map(|document| document.to_json().expect("writes"))
}

fn cut(text: &str) -> String {
    text.chars().take(300).collect()
}

/// All paths are found, and lead back.
#[test]
fn paths_lead_to_nodes_and_back() {
    seeds(1, 50, |seed| {
        let mut dice = Dice::new(seed);
        let value = values::document(&mut dice, 60);
        let world = World::new(seed, false);
        world.docs.put("d", value.to_string()).expect("puts");
        let document = world.docs.get("d").expect("reads").expect("is there");
        for (key, path) in (1..).zip(paths(&value)) {
            let found = document.find(path_text(&path)).expect("finds");
            assert_eq!(found, Some(NodeKey(key)), "keys count in document order");
            assert!(!document.tree().path(NodeKey(key)).expect("has one").to_string().is_empty());
            assert_eq!(
                document.value(NodeKey(key)).expect("reads"),
                Some(get(&value, &path).to_string())
            );
        }
    });
}
