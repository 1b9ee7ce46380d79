//! The changed documents, commit by commit.
//!
//! ```text
//!   table of changes   commit 41  [a]     commit 44  [b c]     commit 58  all
//!                              │                  │                    │
//!   list of revisions          a: revision 7      b: 1   c: removed    a pass over the documents
//! ```
//!
//! The table of changes names the documents that a commit has changed; the lists of revisions have the
//! revision that the commit made of each. So a reader pays for the changes, not for the documents. For
//! some commits a pass over all documents finds the changes instead, because the lists of revisions are
//! never forgotten: those that loaded documents in bulk, those of which retention has dropped the
//! changes, and those of releases that kept no table of changes.
//!
//! No file names a document that was erased. That it is gone is kept in memory alone, for the readers that
//! follow at the moment ([`Erased`]).

use crate::collection::{Collection, Documents};
use crate::erased::Changed;
use crate::key::{Prefix, Record, document_of, record_of};
use crate::{Result, Revision};
use std::collections::BTreeMap;
use std::ops::Bound;
use store::{Csn, TableId};
use txn::Touched;

/// Changes that one pass over the documents gathers; more only where one commit alone has more.
const GATHERED_MAX: usize = 65_536;

impl Documents {
    /// The changes of the documents of some collections by the commits after `after` up to `to`, in the
    /// order of commits, and the commit up to which these are all. About `limit` of them: a commit is
    /// never cut in two.
    pub fn changes(
        &self,
        collections: &[&Collection],
        after: Csn,
        to: Csn,
        limit: usize,
    ) -> Result<(Vec<Changed>, Csn)> {
        let mut to = to.min(self.engine().visible());
        let (mut found, mut passed) = (Vec::new(), Vec::new());
        let is_kept = |of: &&&Collection| self.engine().changes_kept(of.id()) <= after;
        let (kept, dropped): (Vec<&Collection>, Vec<&Collection>) =
            collections.iter().partition(is_kept);
        for collection in dropped {
            let (changes, end) = collection.pass(after, to)?;
            to = end;
            passed.extend(changes);
        }
        if after < to {
            to = match kept.as_slice() {
                [] => to,
                [one] => one.changes_kept(after, to, limit, &mut found)?,
                all => self.changes_of_all(all, after, to, limit, &mut found)?,
            };
        }
        passed.extend(self.cache().erased().between(after, to, |table| {
            collections.iter().any(|collection| collection.id() == table)
        }));
        if !passed.is_empty() {
            found.extend(passed);
            found.retain(|change| change.csn <= to);
            let place = |of: &Changed| (of.csn, of.table);
            found.sort_by(|a, b| (place(a), &a.key).cmp(&(place(b), &b.key)));
            // The commit that erased a document may have put another one in its place, which comes first.
            found.dedup_by(|next, kept| (place(next), &next.key) == (place(kept), &kept.key));
        }
        Ok((found, to))
    }

    /// The changes of several collections, by what each commit says of the tables that it has changed.
    fn changes_of_all(
        &self,
        collections: &[&Collection],
        after: Csn,
        to: Csn,
        limit: usize,
        out: &mut Vec<Changed>,
    ) -> Result<Csn> {
        let by_table: BTreeMap<TableId, &Collection> =
            collections.iter().map(|collection| (collection.id(), *collection)).collect();
        for csn in (after.0 + 1..=to.0).map(Csn) {
            for table in self.engine().tables_changed(csn)?.iter().map(|change| change.table) {
                let Some(collection) = by_table.get(&table) else { continue };
                if let Some(touched) = self.engine().change(table, csn)? {
                    collection.push_changes(csn, touched, out)?;
                }
            }
            if out.len() >= limit {
                return Ok(csn);
            }
        }
        Ok(to)
    }
}

impl Collection {
    /// Appends changes that the table of changes names to `out`; returns the commit up to which these are
    /// all.
    fn changes_kept(
        &self,
        after: Csn,
        to: Csn,
        limit: usize,
        out: &mut Vec<Changed>,
    ) -> Result<Csn> {
        for change in self.engine().changes(self.id(), after, to)? {
            let (csn, touched) = change?;
            if out.len() >= limit {
                return Ok(Csn(csn.0 - 1));
            }
            self.push_changes(csn, touched, out)?;
        }
        Ok(to)
    }

    /// Appends the changes of one commit to `out`.
    fn push_changes(&self, csn: Csn, touched: Touched, out: &mut Vec<Changed>) -> Result<()> {
        let keys = match touched {
            Touched::Keys(keys) => keys,
            Touched::All => {
                out.extend(self.pass(Csn(csn.0 - 1), csn)?.0);
                return Ok(());
            }
        };
        let at = self.last(self.engine().visible());
        for prefix in keys.iter().map(|key| Prefix::of_subject(key)) {
            let state = self.state_in_passing(&prefix, at)?;
            let list = &state.list;
            let revision = list.at(self.engine(), csn, state.revision)?;
            let entry = list.entry(self.engine(), revision)?;
            // A document that was erased since has no such revision.
            let Some(entry) = entry.filter(|entry| entry.csn == csn) else { continue };
            let Some(key) = document_of(&prefix.record(Record::Paths)) else { continue };
            let (table, deleted) = (self.id(), entry.deleted.is_some());
            out.push(Changed { csn, table, key, revision, deleted });
        }
        Ok(())
    }

    /// The changes of the collection's documents by the commits after `after` up to `to`, in their order,
    /// and the commit up to which these are all: about 65,536 changes. It looks at the newest state of
    /// every document of the collection.
    fn pass(&self, after: Csn, to: Csn) -> Result<(Vec<Changed>, Csn)> {
        let snapshot = self.engine().snapshot();
        let at = self.last(snapshot.csn());
        let mut to = to.min(at);
        let mut found: BTreeMap<Csn, Vec<Changed>> = BTreeMap::new();
        let mut count = 0;
        let mut scan =
            self.engine().store().scan(self.id(), Bound::Unbounded, Bound::Unbounded, at, false);
        while let Some(item) = scan.next() {
            let (key, _) = item?;
            let (Some(document), Some(_)) = (document_of(&key), record_of(&key)) else { continue };
            let Ok(prefix) = Prefix::new(&document) else { continue };
            scan.seek(&prefix.end());
            let state = self.state_in_passing(&prefix, at)?;
            if state.csn <= after {
                continue;
            }
            let first = state.list.at(self.engine(), after, state.revision)?.0 + 1;
            let last = state.list.at(self.engine(), to, state.revision)?.0;
            if first > last {
                continue;
            }
            let (csns, deleted) = state.list.newest_first(self.engine(), first, last)?;
            for (revision, csn) in (first..=last).rev().map(Revision).zip(csns) {
                let deleted = deleted.contains(&revision);
                let (table, key) = (self.id(), document.clone());
                let change = Changed { csn, table, key, revision, deleted };
                found.entry(csn).or_default().push(change);
                count += 1;
                while count > GATHERED_MAX && found.len() > 1 {
                    count -= found.pop_last().map_or(0, |(_, gone)| gone.len());
                    to = found.last_key_value().map_or(to, |(last, _)| *last);
                }
            }
        }
        Ok((found.into_values().flatten().collect(), to))
    }
}
