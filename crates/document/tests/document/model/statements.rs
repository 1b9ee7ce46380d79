//! Steps of a random history that are transactions of several statements.

use super::{Case, KEY, change, cut, json_of};
use crate::values;
use document::{Committed, Edit, Revision};
use serde_json::Value;
use txn::Isolation;

/// Where rows would lie.
const ROWS: store::TableId = store::TableId(11);

impl Case {
    /// A transaction of a few statements, some of them taken back, that all make one revision. It alone
    /// sees its changes so far.
    pub(super) fn statements(&mut self) {
        let docs = self.world.docs.clone();
        let meta = self.meta();
        let mut txn = self.world.documents.engine().begin(Isolation::ReadCommitted);
        // Stands for the row whose lock decides about the document.
        txn.lock(ROWS, b"row").expect("locks");
        let before = self.now().cloned();
        let (mut value, mut changed) = (before.clone(), false);
        for _ in 0..1 + self.dice.below(4) {
            let saved = (txn.savepoint(), value.clone(), changed);
            let seen = value.as_ref().map(Value::to_string);
            match (self.dice.below(10), &mut value) {
                (0..=3, Some(value)) => {
                    let (dice, log) = (&mut self.dice, &mut self.log);
                    let edit = |edit: &mut Edit<'_>| change(dice, log, edit, value);
                    docs.edit_in_txn(&mut txn, KEY, edit).expect("edits");
                }
                (4, Some(_)) if !self.revs.is_empty() => {
                    self.log.push("remove".into());
                    docs.remove_in_txn(&mut txn, KEY).expect("removes");
                    value = None;
                }
                (5..=7, Some(value)) => {
                    let tree = docs.tree_in_view(txn.view(), KEY, false).expect("reads");
                    let old = tree.expect("is there").jsonb().expect("is a value");
                    values::mutate(&mut self.dice, value);
                    self.log.push(format!("apply_diff {}", cut(&value.to_string())));
                    let new = json::jsonb::Jsonb::parse(&value.to_string()).expect("is a value");
                    docs.apply_diff_in_txn(&mut txn, KEY, &old, &new)
                        .expect("applies the differences");
                    // New fields come after the others, and a number may stay as it was written.
                    let tree = docs.tree_in_view(txn.view(), KEY, false).expect("reads");
                    let tree = tree.expect("is there");
                    assert_eq!(tree.jsonb().expect("is a value"), new);
                    let mut text = Vec::new();
                    tree.write_json(&mut text).expect("writes");
                    *value = serde_json::from_slice(&text).expect("is JSON");
                }
                (_, Some(value)) => {
                    values::mutate(&mut self.dice, value);
                    self.log.push(format!("put {}", cut(&value.to_string())));
                    let tape = json::Tape::parse(value.to_string()).expect("is JSON");
                    docs.put_in_txn(&mut txn, KEY, &tape).expect("puts");
                }
                (_, None) => {
                    let new = values::document(&mut self.dice, self.nodes);
                    self.log.push(format!("put {}", cut(&new.to_string())));
                    let tape = json::Tape::parse(new.to_string()).expect("is JSON");
                    docs.put_in_txn(&mut txn, KEY, &tape).expect("puts");
                    value = Some(new);
                }
            }
            changed |= seen != value.as_ref().map(Value::to_string);
            if self.dice.chance(25) {
                self.log.push("that was taken back".into());
                txn.rollback_to(saved.0);
                (value, changed) = (saved.1, saved.2);
            }
            let mut text = None;
            if let Some(tree) = docs.tree_in_view(txn.view(), KEY, false).expect("reads") {
                tree.write_json(text.insert(Vec::new())).expect("writes");
            }
            assert_eq!(
                text.as_deref(),
                value.as_ref().map(|v| v.to_string()).as_deref().map(str::as_bytes)
            );
        }
        let outside = docs.get(KEY).expect("reads");
        assert_eq!(json_of(&outside), before.as_ref().map(Value::to_string), "nobody else sees it");
        self.log.push("commit".into());
        let meta =
            txn::CommitMeta { author: meta.author, message: meta.message, ..Default::default() };
        let commit = txn.commit(meta).expect("commits");
        // Edits may leave the text as it was and yet change the nodes.
        let newest = docs.newest(KEY).map_or(0, |newest| newest.0);
        assert!(newest > self.revs.len() as u64 || !changed, "a change is a change");
        if newest > self.revs.len() as u64 {
            let revision = Revision(self.revs.len() as u64 + 1);
            let (csn, time_us) = (commit.csn, commit.time_us);
            let created = before.is_none() && value.is_some();
            self.committed(Committed { revision, csn, time_us, changed, created }, value, false);
        }
    }
}
