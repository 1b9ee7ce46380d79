//! Checks of a document against the list of its values: reads, lists, differences, nodes, blame, parts.

use super::{Case, KEY, check_value, json_of};
use crate::naive::{self, Naive, Snap, sorted};
use crate::values::apply_patch;
use document::{
    Change, ChangeOp, Diff, DocumentError, Metadata, Moment, NodeKey, NodeRef, Nodes, Options,
    Revision, Tree,
};
use serde_json::Value;
use std::collections::BTreeMap;

impl Case {
    /// Node keys are never given twice: what was not there just before is either new, and then above
    /// all keys so far, or the very node that an older revision had.
    pub(super) fn check_keys(&mut self, snap: Option<&Snap>) {
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

    pub(super) fn check(&mut self) {
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
