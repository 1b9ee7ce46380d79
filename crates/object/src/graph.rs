//! [`Graph`]: the references between objects, and the objects that are reachable from one.
//!
//! ```text
//!   oids     0        7     8      in the order of a scan, which is that of ids
//!   begins   0        2     3
//!   refs     7  8     8            of each object from its beginning to that of the next
//! ```

use std::collections::VecDeque;
use std::num::NonZero;
use std::ops::{Bound, ControlFlow};

use store::Csn;
use table::objects::ObjectRows;
use table::rows::Table;
use table::{Error, Result};
use txn::{KeyRange, Snapshot};
use types::SqlState;

use crate::Storage;

/// So many objects are worth another thread.
const OBJECTS_OF_THREAD: u64 = 2_000;
/// No object, in the place of the number of one.
const NONE: u32 = u32::MAX;

/// The graph of the objects of a snapshot.
#[derive(Default)]
pub(crate) struct Graph {
    /// Ascending.
    oids: Vec<u64>,
    /// The commit that made the newest record of each.
    csns: Vec<Csn>,
    /// Where the references of each begin.
    begins: Vec<u32>,
    refs: Vec<u64>,
    is_reached: Vec<bool>,
    to_do: Vec<u32>,
    /// An object whose references are not known.
    unread: Option<u64>,
}

impl Graph {
    fn add(&mut self, oid: u64, csn: Csn) -> Result<()> {
        if self.oids.len() >= NONE as usize {
            return Err(too_many());
        }
        self.oids.push(oid);
        self.csns.push(csn);
        self.begins.push(u32::try_from(self.refs.len()).map_err(|_| too_many())?);
        self.is_reached.push(false);
        Ok(())
    }

    /// Adds the graph of objects with larger ids. Nothing is reached yet.
    fn append(&mut self, mut other: Graph) -> Result<()> {
        let before = self.refs.len();
        if self.oids.len() + other.oids.len() >= NONE as usize {
            return Err(too_many());
        }
        // All positions fit if the last one does.
        u32::try_from(before + other.refs.len()).map_err(|_| too_many())?;
        self.oids.append(&mut other.oids);
        self.csns.append(&mut other.csns);
        self.begins.extend(other.begins.iter().map(|begin| begin + before as u32));
        self.refs.append(&mut other.refs);
        self.is_reached.append(&mut other.is_reached);
        self.unread = self.unread.or(other.unread);
        Ok(())
    }

    fn number(&self, oid: u64) -> Option<u32> {
        // Ids are given away one after the other, so an object is mostly where its id says.
        let guess = oid as usize;
        if self.oids.get(guess) == Some(&oid) {
            return Some(guess as u32);
        }
        self.oids.binary_search(&oid).ok().map(|number| number as u32)
    }

    fn refs_of(&self, number: u32) -> std::ops::Range<usize> {
        let number = number as usize;
        let end = self.begins.get(number + 1).map_or(self.refs.len(), |end| *end as usize);
        self.begins[number] as usize..end
    }

    /// An object whose references are not known, because its pickle could not be read.
    pub fn unread(&self) -> Option<u64> {
        self.unread
    }

    /// The objects with a record after a commit.
    pub fn younger(&self, than: Csn) -> Vec<u64> {
        let all = self.oids.iter().zip(&self.csns);
        all.filter(|(_, csn)| **csn > than).map(|(oid, _)| *oid).collect()
    }

    /// The objects that are not reached, and have no record after a commit.
    pub fn unreached(&self, upto: Csn) -> impl Iterator<Item = u64> + '_ {
        let is_one = move |number: &usize| !self.is_reached[*number] && self.csns[*number] <= upto;
        (0..self.oids.len()).filter(is_one).map(|number| self.oids[number])
    }

    /// True if an object of the graph is reached.
    pub fn is_reached(&self, oid: u64) -> bool {
        self.number(oid).is_some_and(|number| self.is_reached[number as usize])
    }

    /// An object is reached; what it refers to is too, after [`Graph::follow`].
    pub fn reach(&mut self, oid: u64) {
        let Some(number) = self.number(oid) else { return };
        if !std::mem::replace(&mut self.is_reached[number as usize], true) {
            self.to_do.push(number);
        }
    }

    /// Reaches all that reached objects refer to.
    pub fn follow(&mut self) {
        while let Some(number) = self.to_do.pop() {
            for at in self.refs_of(number) {
                self.reach(self.refs[at]);
            }
        }
    }

    /// A shortest way from an object to another: both, and those between.
    fn path(&self, from: u64, to: u64) -> Vec<u64> {
        let (Some(first), Some(last)) = (self.number(from), self.number(to)) else {
            return Vec::new();
        };
        let mut before = vec![NONE; self.oids.len()];
        let mut to_do = VecDeque::from([first]);
        before[first as usize] = first;
        while before[last as usize] == NONE
            && let Some(number) = to_do.pop_front()
        {
            for at in self.refs_of(number) {
                if let Some(next) = self.number(self.refs[at])
                    && before[next as usize] == NONE
                {
                    before[next as usize] = number;
                    to_do.push_back(next);
                }
            }
        }
        if before[last as usize] == NONE {
            return Vec::new();
        }
        let mut path = vec![to];
        let mut at = last;
        while at != first {
            at = before[at as usize];
            path.push(self.oids[at as usize]);
        }
        path.reverse();
        path
    }
}

fn too_many() -> Error {
    let message =
        "the storage has more objects, or more references, than can be followed (2^32 - 1)";
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

impl Storage {
    /// The graph of a snapshot. Where there are many objects, all processors read them.
    pub(crate) fn graph(&self, table: &Table, now: &Snapshot) -> Result<Graph> {
        let mut scan = now.scan(table.storage(), Bound::Unbounded, Bound::Unbounded, true);
        let Some((last, _)) = scan.advance()? else { return Ok(Graph::default()) };
        let last = ObjectRows::oid(last)?;
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get) as u64;
        // Keys are signed.
        let parts = match i64::try_from(last) {
            Ok(_) => (self.count()? / OBJECTS_OF_THREAD).clamp(1, processors),
            Err(_) => 1,
        };
        // Ids are given away one after the other, so each part has about as many objects.
        let part_of = |part: u64| {
            let key = |number: u64| ObjectRows::key(last / parts * number);
            let lower = if part == 0 { Bound::Unbounded } else { Bound::Included(key(part)) };
            let is_last = part + 1 == parts;
            let upper = if is_last { Bound::Unbounded } else { Bound::Excluded(key(part + 1)) };
            read_part(table, now, KeyRange { lower, upper })
        };
        std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..parts).map(|part| scope.spawn(move || part_of(part))).collect();
            let mut graph = part_of(0)?;
            for other in others {
                let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                graph.append(other?)?;
            }
            Ok(graph)
        })
    }

    fn graph_now(&self) -> Result<Graph> {
        self.graph(&*self.table(self.objects)?, &self.engine.snapshot())
    }

    /// Returns a shortest way from the root (object 0) to an object, both included; nothing if it is not reached.
    ///
    /// # Errors
    /// The errors of reading; 54000 for more than 2^32 - 1 objects or references.
    pub fn path(&self, oid: u64) -> Result<Vec<u64>> {
        Ok(self.graph_now()?.path(0, oid))
    }

    /// Returns the objects that are reached from one, itself included, in the order of ids.
    ///
    /// # Errors
    /// As [`Storage::path`].
    pub fn reachable(&self, oid: u64) -> Result<Vec<u64>> {
        let mut graph = self.graph_now()?;
        graph.reach(oid);
        graph.follow();
        let reached = graph.oids.iter().zip(&graph.is_reached).filter(|(_, reached)| **reached);
        Ok(reached.map(|(oid, _)| *oid).collect())
    }

    /// Returns the objects that refer to one, in the order of ids.
    ///
    /// # Errors
    /// As [`Storage::path`].
    pub fn referrers(&self, oid: u64) -> Result<Vec<u64>> {
        let graph = self.graph_now()?;
        let refers = |number: &u32| graph.refs[graph.refs_of(*number)].contains(&oid);
        let all = (0..graph.oids.len() as u32).filter(refers);
        Ok(all.map(|number| graph.oids[number as usize]).collect())
    }
}

/// The graph of the objects with keys in a range.
fn read_part(table: &Table, now: &Snapshot, range: KeyRange) -> Result<Graph> {
    let rows = Storage::rows_of(table)?;
    let (mut graph, mut buffer) = (Graph::default(), Vec::new());
    let mut cursor = txn::Cursor::new(table.storage(), range, false);
    cursor.fill(now.view(), |key, found| {
        let oid = ObjectRows::oid(key)?;
        graph.add(oid, found.csn())?;
        let refs = &mut graph.refs;
        if !rows.references_of(found, &mut buffer, |target| refs.push(target))? {
            graph.unread.get_or_insert(oid);
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(graph)
}
