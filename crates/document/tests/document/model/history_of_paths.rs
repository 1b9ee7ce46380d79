//! The histories of paths beside a reading of the path at every revision.

use super::{Case, KEY};
use crate::values::{path_text, some_path};
use document::{DocumentError, Revision};
use serde_json::Value;

impl Case {
    /// The history of a path agrees with reading the path at every revision: which node, and its value.
    pub(super) fn check_paths(&mut self) {
        for _ in 0..3 {
            let values: Vec<&Value> =
                self.revs.iter().filter_map(|rev| rev.value.as_ref()).collect();
            let value = *self.dice.clone().pick(&values);
            let path = path_text(&some_path(&mut self.dice, value));
            self.check_path(&path);
        }
    }

    fn check_path(&self, path: &str) {
        let docs = &self.world.docs;
        let mut runs: Vec<(u64, u64, Option<u64>, String)> = Vec::new();
        let mut changes: Vec<Revision> = Vec::new();
        let mut before = None;
        for number in 1..=self.revs.len() as u64 {
            let document = docs.get_at(KEY, Revision(number)).expect("reads");
            let found = document.and_then(|document| {
                let key = document.find(path).expect("a good path")?;
                Some((key.0, document.value(key).expect("reads")?))
            });
            if found != before {
                changes.push(Revision(number));
                if let (Some(run), Some(_)) = (runs.last_mut(), &before) {
                    run.2 = Some(number - 1);
                }
                runs.extend(found.clone().map(|(key, value)| (key, number, None, value)));
                before = found;
            }
        }
        let found = match docs.node_history(KEY, path) {
            Err(DocumentError::NeverNode { .. }) => Vec::new(),
            found => found.expect("reads"),
        };
        for run in &found {
            assert_eq!(run.from_us, self.revs[run.from.0 as usize - 1].time_us);
            assert_eq!(run.to_us, run.to.map(|to| self.revs[to.0 as usize].time_us));
        }
        let tell =
            |run: document::NodeVersion| (run.node.0, run.from.0, run.to.map(|to| to.0), run.value);
        let found: Vec<_> = found.into_iter().map(tell).collect();
        assert_eq!(found, runs, "the history of {path}");
        if !runs.is_empty() {
            let found = docs.change_revisions(KEY, path).expect("reads");
            assert_eq!(found, changes, "the changes of {path}");
        }
    }
}
