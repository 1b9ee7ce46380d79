//! Random histories of a document beside a list of the values that it had.

mod history_of_paths;
mod statements;

use crate::naive::{self, Naive, Snap, sorted};
use crate::values::{self, Path, Step, apply_patch, get, get_mut, path_text, paths, some_path};
use crate::world::{Dice, World, seeds};
use document::{
    Change, ChangeOp, CollectionOptions, Committed, Diff, Document, DocumentError, Edit, Meta,
    Metadata, Moment, NodeKey, NodeRef, Nodes, Options, Place, Revision, Tree,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

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
    let world = World::with(seed, options);
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

    /// Node keys are never given twice: what was not there just before is either new, and then above
    /// all keys so far, or the very node that an older revision had.
    fn check_keys(&mut self, snap: Option<&Snap>) {
        let Some(snap) = snap else { return };
        for (key, record) in &snap.nodes {
            let known =
                self.revs.iter().rev().filter_map(|rev| rev.snap.as_ref()?.nodes.get(key)).next();
            match known {
                Some(known) => assert_eq!(
                    record.kind.is_container(),
                    known.kind.is_container(),
                    "node {key} was another one"
                ),
                None => assert!(*key >= self.next_key, "key {key} is not fresh"),
            }
        }
        assert!(snap.next_key >= self.next_key);
        self.next_key = snap.next_key;
    }

    // --- checks ----------------------------------------------------------------------------------

    fn check(&mut self) {
        if self.revs.is_empty() {
            return;
        }
        self.check_reads();
        self.check_lists();
        self.check_diffs();
        self.check_nodes();
        self.check_paths();
        self.check_blame();
        self.check_parts();
    }

    fn check_reads(&mut self) {
        let docs = &self.world.docs;
        for (number, rev) in (1..).zip(&self.revs) {
            let document = docs.get_at(KEY, Revision(number)).expect("reads");
            assert_eq!(json_of(&document), rev.text, "revision {number}");
            if let Some(document) = &document {
                assert_eq!(document.revision(), Revision(number));
                let paths = docs.path_summary(KEY, Revision(number)).expect("reads");
                let paths = paths.expect("is there with the document");
                assert_eq!(Some(sorted(paths)), rev.value.as_ref().map(naive::paths));
                let snap = Snap::of(document.tree(), self.hashes);
                assert_eq!(Some(&snap), rev.snap.as_ref(), "the nodes of revision {number}");
                check_value(document.tree(), rev.text.as_deref());
            }
            for moment in
                [Moment::Csn(rev.csn), Moment::Time(rev.time_us), Moment::Authored(rev.time_us)]
            {
                assert_eq!(
                    json_of(&docs.at(moment).get(KEY).expect("reads")),
                    rev.text,
                    "{moment:?}"
                );
            }
        }
        let first = &self.revs[0];
        assert!(docs.at(Moment::Time(first.time_us - 1)).get(KEY).expect("reads").is_none());
        assert!(docs.at(store::Csn(first.csn.0 - 1)).get(KEY).expect("reads").is_none());
        let past = docs.get_at(KEY, Revision(self.revs.len() as u64 + 1));
        assert!(matches!(past, Err(DocumentError::NoRevision { .. })));
    }

    fn check_lists(&mut self) {
        let docs = &self.world.docs;
        let history = docs.history(KEY, usize::MAX).expect("reads");
        let times = docs.timestamps(KEY).expect("reads");
        assert_eq!(history.len(), self.revs.len());
        for ((info, rev), number) in history.iter().rev().zip(&self.revs).zip(1..) {
            let expected = (Revision(number), rev.csn, rev.time_us, rev.value.is_none());
            assert_eq!((info.revision, info.csn, info.time_us, info.deleted), expected);
        }
        assert_eq!(times, self.revs.iter().map(|rev| rev.time_us).collect::<Vec<_>>());
        let there = self.now().is_some();
        let keys: Vec<String> = docs.keys("the").map(|key| key.expect("reads")).collect();
        assert_eq!(keys, if there { vec![KEY] } else { vec![] });
    }

    fn check_diffs(&mut self) {
        for _ in 0..6 {
            let from = self.dice.below(self.revs.len());
            let to = match self.dice.chance(40) {
                true => (from + 1).min(self.revs.len() - 1),
                false => self.dice.below(self.revs.len()),
            };
            let (a, b) = (&self.revs[from], &self.revs[to]);
            let diff =
                self.world.docs.diff(KEY, Revision(from as u64 + 1), Revision(to as u64 + 1));
            let (Some(old), Some(new)) = (&a.value, &b.value) else {
                assert!(matches!(diff, Err(DocumentError::NoDocument { .. })));
                continue;
            };
            let diff = diff.expect("compares");
            let same_nodes = a.snap.as_ref().map(|s| &s.nodes) == b.snap.as_ref().map(|s| &s.nodes);
            assert_eq!(diff.changes.is_empty(), same_nodes, "{from} to {to}: {:?}", diff.changes);
            check_order(&diff);
            let patch = diff.to_rfc6902().expect("writes");
            let mut patched = old.clone();
            apply_patch(&mut patched, &serde_json::from_str(&patch).expect("is JSON"));
            assert_eq!(&patched, new, "{} to {}: {patch}\nfrom {old}", from + 1, to + 1);
            for form in
                [diff.to_json(), diff.to_sirix_json("d", "r", Revision(1), Revision(2), true)]
            {
                let form = form.expect("writes");
                serde_json::from_str::<Value>(&form).unwrap_or_else(|e| panic!("{e}: {form}"));
            }
            diff.to_text(self.dice.chance(50)).expect("writes");
        }
    }

    /// The value of a node at each revision, as reading every revision gives it.
    fn values_of(&self, key: u64) -> Vec<Option<String>> {
        (1..=self.revs.len() as u64)
            .zip(&self.revs)
            .map(|(number, rev)| {
                rev.snap.as_ref()?.nodes.get(&key)?;
                let document = self.world.docs.get_at(KEY, Revision(number)).expect("reads")?;
                document.value(NodeKey(key)).expect("reads")
            })
            .collect()
    }

    fn check_nodes(&mut self) {
        for _ in 0..3 {
            let snaps: Vec<&Snap> = self.revs.iter().filter_map(|rev| rev.snap.as_ref()).collect();
            let snap = *self.dice.clone().pick(&snaps);
            let keys: Vec<u64> = snap.nodes.keys().copied().collect();
            let key = *self.dice.pick(&keys);
            self.check_node(key);
        }
    }

    fn check_node(&self, key: u64) {
        let values = self.values_of(key);
        let docs = &self.world.docs;
        // Runs of one value: (first, last, value).
        let mut runs: Vec<(u64, Option<u64>, String)> = Vec::new();
        let mut changes: Vec<Revision> = Vec::new();
        let mut events: Vec<(store::Csn, Option<String>)> = Vec::new();
        for (number, value) in (1..).zip(&values) {
            let before = if number == 1 { &None } else { &values[number as usize - 2] };
            if value != before {
                changes.push(Revision(number));
                events.push((self.revs[number as usize - 1].csn, value.clone()));
                if let (Some(run), Some(_)) = (runs.last_mut(), before) {
                    run.1 = Some(number - 1);
                }
                if let Some(value) = value {
                    runs.push((number, None, value.clone()));
                }
            }
        }
        let found = docs.node_history(KEY, NodeKey(key)).expect("reads");
        for run in &found {
            assert_eq!(run.from_us, self.revs[run.from.0 as usize - 1].time_us);
            assert_eq!(run.to_us, run.to.map(|to| self.revs[to.0 as usize].time_us));
        }
        let found: Vec<_> =
            found.into_iter().map(|run| (run.from.0, run.to.map(|to| to.0), run.value)).collect();
        assert_eq!(found, runs, "the history of node {key}");
        let found = docs.change_revisions(KEY, NodeKey(key)).expect("reads");
        assert_eq!(found, changes, "the changes of node {key}");

        let scalar = values.iter().flatten().all(|value| !value.starts_with(['{', '[']));
        if scalar {
            let mut scanned: BTreeMap<store::Csn, Option<String>> = BTreeMap::new();
            docs.scan_values(KEY, NodeKey(key), |csn, scalar| {
                scanned.insert(csn, scalar.map(|scalar| scalar.to_json()));
            })
            .expect("scans");
            let mut scanned: Vec<_> = scanned.into_iter().collect();
            scanned.dedup_by(|b, a| a.1 == b.1);
            if scanned.first().is_some_and(|(_, value)| value.is_none()) {
                scanned.remove(0);
            }
            assert_eq!(scanned, events, "the values of node {key}");
            let page = docs.container_history(KEY, NodeKey(key), None, 1).expect("reads");
            assert_eq!(page, None, "node {key} is no container");
        } else if key % 2 == 1 {
            self.check_container(key, &values);
        }
    }

    /// The pages of a container's history, put together, have every revision that changed its value, and each says
    /// until when it held. A version with an unchanged value has put equal nodes in the place of others.
    fn check_container(&self, key: u64, values: &[Option<String>]) {
        let value = |revision: u64| values.get(revision as usize - 1).and_then(Option::as_ref);
        let (mut before, mut versions) = (None, Vec::new());
        loop {
            let limit = 1 + key as usize % 3;
            let page = self.world.docs.container_history(KEY, NodeKey(key), before, limit);
            let page = page.expect("reads").expect("it is a container");
            assert!(page.versions.len() <= limit, "node {key}");
            versions.splice(0..0, page.versions);
            match page.earlier {
                Some(earlier) => before = Some(earlier),
                None => break,
            }
        }
        // Above the newest revision there is nothing; a page has one version at least.
        let page = |before, limit| {
            self.world.docs.container_history(KEY, NodeKey(key), before, limit).expect("reads")
        };
        let beyond = Revision(values.len() as u64 + 1 + key % 3);
        assert_eq!(page(Some(beyond), 2), page(None, 2), "node {key}");
        assert_eq!(page(None, 0), page(None, 1), "node {key}");
        for number in 1..=values.len() as u64 {
            let was = if number == 1 { None } else { value(number - 1) };
            let is = value(number);
            let found = versions.iter().find(|version| version.from.0 == number);
            assert!(found.is_some() || is.is_none() || is == was, "node {key}, {number}");
            let Some(found) = found else { continue };
            assert_eq!(found.is_new, was.is_none(), "node {key}, {number}");
            assert_eq!(found.from_us, self.revs[number as usize - 1].time_us);
            let ends = |next: &u64| {
                value(*next).is_none() || versions.iter().any(|version| version.from.0 == *next)
            };
            let next = (number + 1..=values.len() as u64).find(ends);
            assert_eq!(found.to.map(|to| to.0 + 1), next, "node {key}, {number}");
            assert_eq!(found.to_us, next.map(|next| self.revs[next as usize - 1].time_us));
        }
    }

    fn check_blame(&mut self) {
        let at = self.dice.below(self.revs.len());
        let blame = self.world.docs.blame(KEY, Some(Revision(at as u64 + 1)));
        let Some(snap) = &self.revs[at].snap else {
            assert!(matches!(blame, Err(DocumentError::NoDocument { .. })));
            return;
        };
        let blame = blame.expect("reads");
        assert_eq!(blame.len(), snap.nodes.len());
        let document =
            self.world.docs.get_at(KEY, Revision(at as u64 + 1)).expect("reads").expect("is there");
        for line in blame {
            let key = line.node.0;
            let is =
                |rev: usize| self.revs[rev].snap.as_ref().and_then(|snap| snap.nodes.get(&key));
            let mut since = at;
            while since > 0 && is(since - 1) == is(at) {
                since -= 1;
            }
            let since = Revision(since as u64 + 1);
            match self.stepwise {
                true => assert_eq!(line.revision, since, "node {key} at revision {}", at + 1),
                false => assert!(line.revision >= since, "node {key} at revision {}", at + 1),
            }
            if self.dice.chance(5) {
                let target = NodeRef::Path(line.path.to_string());
                assert_eq!(document.find(&target).expect("finds"), Some(line.node), "{target}");
                assert_eq!(document.tree().path(line.node).expect("has one"), line.path);
            }
        }
    }

    fn check_parts(&mut self) {
        let at = self.dice.below(self.revs.len());
        let Some(snap) = &self.revs[at].snap else { return };
        let document =
            self.world.docs.get_at(KEY, Revision(at as u64 + 1)).expect("reads").expect("is there");
        let keys: Vec<u64> = snap.nodes.keys().copied().collect();
        let dice = &mut self.dice;
        for _ in 0..4 {
            let mut options = Options::default();
            options.start = dice.chance(50).then(|| NodeKey(*dice.pick(&keys)));
            options.max_level = dice.chance(40).then(|| 1 + dice.below(4) as u32);
            options.max_children = dice.chance(40).then(|| dice.below(5) as u32);
            options.number_of_nodes = dice.chance(40).then(|| dice.below(20) as u64);
            options.next_top_level_nodes = dice.chance(40).then(|| dice.below(5) as u32);
            options.metadata = match dice.below(5) {
                0 => Metadata::NodeKey,
                1 => Metadata::NodeKeyAndChildCount,
                2 if keys.len() < 200 => Metadata::All,
                _ => Metadata::None,
            };
            options.pretty = dice.chance(30);
            let tree = document.tree();
            let top = options.start.unwrap_or(tree.root());
            if dice.chance(40) && tree.expect(top).expect("is there").count > 0 {
                let children: Vec<_> = tree.children(top).expect("has some").collect();
                options.after = dice.pick(&children).as_ref().ok().copied();
            }
            let naive = Naive::of(tree, top, options.metadata == Metadata::All);
            let part = document.serialize(&options).expect("writes");
            assert_eq!(part, naive.part(&options), "{options:?}");
        }
    }
}

fn json_of(document: &Option<Document>) -> Option<String> {
    document.as_ref().map(|document| document.to_json().expect("writes"))
}

fn cut(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Puts a field at a position among others.
fn insert_field(fields: &mut Map<String, Value>, at: usize, name: String, value: Value) {
    let mut entries: Vec<_> = std::mem::take(fields).into_iter().collect();
    entries.insert(at, (name, value));
    fields.extend(entries);
}

/// The target by path or by key.
fn target(dice: &mut Dice, edit: &Edit<'_>, path: &[Step]) -> NodeRef {
    let text = path_text(path);
    match dice.chance(50) {
        true => NodeRef::Path(text),
        false => NodeRef::Key(edit.find(text.as_str()).expect("finds").expect("is there")),
    }
}

/// One random step of an edit, done to the document and to the value beside it.
fn change(
    dice: &mut Dice,
    log: &mut Vec<String>,
    edit: &mut Edit<'_>,
    value: &mut Value,
) -> Result<(), DocumentError> {
    let path = some_path(dice, value);
    let text = path_text(&path);
    match dice.below(8) {
        0 | 1 => {
            let new = match dice.below(4) {
                0 => values::value(dice, 5, 3),
                1 => {
                    let mut new = get(value, &path).clone();
                    values::mutate(dice, &mut new);
                    new
                }
                _ => values::scalar(dice),
            };
            log.push(format!("set {text} {}", cut(&new.to_string())));
            edit.set(target(dice, edit, &path), new.to_string())?;
            *get_mut(value, &path) = new;
        }
        2 => set_missing(dice, log, edit, value, &path)?,
        3 => {
            let new = values::value(dice, 4, 3);
            let Some(spot) = spot(dice, value, &path) else { return Ok(()) };
            log.push(format!("insert {} at {spot:?}", cut(&new.to_string())));
            let to = target(dice, edit, &spot.seen_from);
            let done = edit.insert(to, spot.place(), new.to_string());
            if !spot.expect(done)? {
                return Ok(());
            }
            spot.put(value, new);
        }
        4 => rename(dice, log, edit, value, &path)?,
        5 => {
            if path.is_empty() {
                let done = edit.remove("$");
                assert!(matches!(done, Err(DocumentError::BadEdit(_))));
                return Ok(());
            }
            log.push(format!("remove {text}"));
            edit.remove(target(dice, edit, &path))?;
            take(value, &path);
        }
        6 => move_or_copy(dice, log, edit, value, &path)?,
        _ => {
            if path.is_empty() && dice.chance(70) {
                return Ok(());
            }
            let new = values::value(dice, 4, 3);
            log.push(format!("replace {text} {}", cut(&new.to_string())));
            edit.replace(target(dice, edit, &path), new.to_string())?;
            *get_mut(value, &path) = new;
        }
    }
    Ok(())
}

fn set_missing(
    dice: &mut Dice,
    log: &mut Vec<String>,
    edit: &mut Edit<'_>,
    value: &mut Value,
    path: &[Step],
) -> Result<(), DocumentError> {
    let new = values::value(dice, 3, 2);
    let mut path = path.to_vec();
    match get_mut(value, &path) {
        Value::Array(items) => {
            path.push(Step::Index(items.len()));
            items.push(new.clone());
        }
        Value::Object(fields) => {
            let name = values::name(dice);
            path.push(Step::Field(name.clone()));
            fields.insert(name, new.clone());
        }
        _ => {
            let below = format!("{}.below", path_text(&path));
            let done = edit.set(below, new.to_string());
            assert!(matches!(done, Err(DocumentError::NoNode(_))));
            return Ok(());
        }
    }
    log.push(format!("set {} {}", path_text(&path), cut(&new.to_string())));
    edit.set(path_text(&path), new.to_string()).map(drop)
}

fn rename(
    dice: &mut Dice,
    log: &mut Vec<String>,
    edit: &mut Edit<'_>,
    value: &mut Value,
    path: &[Step],
) -> Result<(), DocumentError> {
    let name = values::name(dice);
    let Some((Step::Field(old), above)) = path.split_last() else {
        let done = edit.rename(path_text(path).as_str(), &name);
        assert!(matches!(done, Err(DocumentError::BadEdit(_))));
        return Ok(());
    };
    log.push(format!("rename {} {name:?}", path_text(path)));
    let done = edit.rename(target(dice, edit, path), &name);
    let Value::Object(fields) = get_mut(value, above) else { unreachable!("a field's parent") };
    if name != *old && fields.contains_key(&name) {
        assert!(matches!(done, Err(DocumentError::BadEdit(_))));
        return Ok(());
    }
    let entries = std::mem::take(fields).into_iter();
    fields.extend(
        entries.map(|(key, field)| if key == *old { (name.clone(), field) } else { (key, field) }),
    );
    done
}

/// A place to put something: container, position, name for a field.
#[derive(Debug)]
struct Spot {
    seen_from: Path,
    how: usize,
    parent: Path,
    at: usize,
    name: Option<String>,
    /// The object has such a field already.
    clash: bool,
}

impl Spot {
    fn place(&self) -> Place<'_> {
        match (self.how, &self.name) {
            (0, None) => Place::FirstChild,
            (1, None) => Place::LastChild,
            (2, None) => Place::Before,
            (_, None) => Place::After,
            (0 | 1, Some(name)) => Place::Field(name),
            (2, Some(name)) => Place::FieldBefore(name),
            (_, Some(name)) => Place::FieldAfter(name),
        }
    }

    /// False where it was refused, as it must be where there is such a field.
    fn expect<R>(&self, done: Result<R, DocumentError>) -> Result<bool, DocumentError> {
        if self.clash {
            assert!(matches!(done, Err(DocumentError::BadEdit(_))), "{self:?}");
            return Ok(false);
        }
        done.map(|_| true)
    }

    fn put(&self, value: &mut Value, new: Value) {
        match get_mut(value, &self.parent) {
            Value::Array(items) => items.insert(self.at, new),
            Value::Object(fields) => {
                insert_field(fields, self.at, self.name.clone().expect("a name"), new)
            }
            _ => unreachable!("a container"),
        }
    }
}

/// A random spot in or beside the node at `path`.
fn spot(dice: &mut Dice, value: &Value, path: &[Step]) -> Option<Spot> {
    let here = get(value, path);
    let beside = !path.is_empty() && (dice.chance(50) || !(here.is_array() || here.is_object()));
    let (parent, how) = match beside {
        true => (path[..path.len() - 1].to_vec(), 2 + dice.below(2)),
        false if here.is_array() || here.is_object() => (path.to_vec(), dice.below(2)),
        false => return None,
    };
    let name = values::name(dice);
    let after = (how == 3) as usize;
    let (at, name, clash) = match (get(value, &parent), path.last()) {
        (Value::Array(items), last) => {
            let at = match (how, last) {
                (0, _) => 0,
                (1, _) => items.len(),
                (_, Some(Step::Index(at))) => at + after,
                _ => unreachable!("an element"),
            };
            (at, None, false)
        }
        (Value::Object(fields), last) => {
            let at = match (how, last) {
                (0 | 1, _) => fields.len(),
                (_, Some(Step::Field(name))) => {
                    fields.keys().position(|key| key == name).expect("is there") + after
                }
                _ => unreachable!("a field"),
            };
            let clash = fields.contains_key(&name);
            (at, Some(name), clash)
        }
        _ => unreachable!("a container"),
    };
    Some(Spot { seen_from: path.to_vec(), how, parent, at, name, clash })
}

/// Takes the value at a path away.
fn take(value: &mut Value, path: &[Step]) -> Value {
    let (last, above) = path.split_last().expect("not the root");
    match (get_mut(value, above), last) {
        (Value::Array(items), Step::Index(at)) => items.remove(*at),
        (Value::Object(fields), Step::Field(name)) => fields.shift_remove(name).expect("is there"),
        _ => unreachable!("a child"),
    }
}

fn move_or_copy(
    dice: &mut Dice,
    log: &mut Vec<String>,
    edit: &mut Edit<'_>,
    value: &mut Value,
    from: &[Step],
) -> Result<(), DocumentError> {
    let path = some_path(dice, value);
    let Some(mut spot) = spot(dice, value, &path) else { return Ok(()) };
    let (source, to) = (target(dice, edit, from), target(dice, edit, &path));
    let copy = dice.chance(40);
    log.push(format!("{} {} to {spot:?}", if copy { "copy" } else { "move" }, path_text(from)));
    let moved = get(value, from).clone();
    if copy {
        let done = edit.copy_to(source, to, spot.place());
        if spot.expect(done)? {
            spot.put(value, moved);
        }
        return Ok(());
    }
    let done = edit.move_to(source, to, spot.place());
    if from.is_empty() || path.starts_with(from) {
        assert!(matches!(done, Err(DocumentError::BadEdit(_))), "into itself");
        return Ok(());
    }
    let (last, above) = from.split_last().expect("not the root");
    if let (Step::Field(own), true, Some(name)) = (last, above == &spot.parent[..], &spot.name) {
        // Its own name is free for it.
        spot.clash &= own != name;
    }
    if !spot.expect(done)? {
        return Ok(());
    }
    let same_parent = above == &spot.parent[..];
    match (get_mut(value, above), last) {
        (Value::Array(items), Step::Index(at)) => {
            items.remove(*at);
            shift(&mut spot, above, *at);
        }
        (Value::Object(fields), Step::Field(name)) => {
            let at = fields.keys().position(|key| key == name).expect("is there");
            fields.shift_remove(name);
            if same_parent && at < spot.at {
                spot.at -= 1;
            }
        }
        _ => unreachable!("a child"),
    }
    spot.put(value, moved);
    Ok(())
}

/// The spot after the removal of element `at` of the array at `above`.
fn shift(spot: &mut Spot, above: &[Step], at: usize) {
    if spot.parent == above && at < spot.at {
        spot.at -= 1;
    }
    if spot.parent.len() > above.len()
        && spot.parent.starts_with(above)
        && let Step::Index(index) = &mut spot.parent[above.len()]
        && *index > at
    {
        *index -= 1;
    }
}

/// Changes come in the order of the document: what is there in that of the new one, what is gone from
/// one container in that of the old one.
fn check_order(diff: &Diff) {
    let places = |tree: &Tree| -> BTreeMap<NodeKey, usize> {
        tree.subtree(tree.root()).expect("walks").into_iter().zip(0..).collect()
    };
    let (old, new) = (places(&diff.old), places(&diff.new));
    let mut places: BTreeMap<Option<NodeKey>, Vec<usize>> = BTreeMap::new();
    for Change { node, op, .. } in &diff.changes {
        let (group, place) = match op {
            ChangeOp::Delete { .. } => (diff.old.parent(*node).expect("reads"), old[node]),
            _ => (None, new[node]),
        };
        places.entry(group).or_default().push(place);
    }
    assert!(places.values().all(|places| places.is_sorted()), "{:?}", diff.changes);
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
