//! Hash joins: one side is put into a hash table, the other looks its partners up in it.
//!
//! ```text
//!   build side   key -> rows, in the order in which they came; a flag for each that found a partner
//!   probe side   row after row: key -> partners -> condition
//!   at the end   rows of the build side without a partner, where the kind of join keeps them
//! ```
//!
//! A build side that is too large is divided by the hashes of its keys, and the probe side with it; the
//! pairs of partitions are joined one after the other, and divided again where that is needed.

use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Result};

use super::hash::{KeyTable, join_key};
use super::rows::Rows;
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::spill::{LEVEL_MAX, Partitions, Reader, Tape};
use plan::JoinKind;

/// The end of a chain of rows.
const NONE: u32 = u32::MAX;

/// A join by a hash table.
pub(crate) struct HashJoin {
    kind: JoinKind,
    /// The side whose rows look for partners, and its keys.
    probe: Input,
    probe_keys: Vec<Program>,
    build: Input,
    build_keys: Vec<Program>,
    /// True if the left side is the one in the table.
    build_left: bool,
    condition: Option<Program>,
    probe_width: usize,
    build_width: usize,
    built: bool,
    table: KeyTable,
    /// The first and last row of each key.
    chains: Vec<(u32, u32)>,
    /// The row after each row with the same key.
    following: Vec<u32>,
    rows: Rows,
    partners: Vec<bool>,
    probe_row: Row,
    key: Row,
    /// The next partner to look at; `None` if the next probe row is to be taken.
    at: Option<u32>,
    matched: bool,
    /// When the probe side is done, which row of the table is looked at next.
    rest: Option<usize>,
    held: Held,
    /// Partitions of the build side and of the probe side, and how often they have been divided.
    pending: Vec<(Tape, Tape, u32)>,
    /// The probe rows of the partition that is being joined.
    reader: Option<Reader>,
}

/// One side of a hash join.
pub(crate) struct Side {
    pub(crate) input: Input,
    pub(crate) keys: Vec<Program>,
    pub(crate) width: usize,
}

impl HashJoin {
    pub(crate) fn new(
        kind: JoinKind,
        left: Side,
        right: Side,
        condition: Option<Program>,
        build_left: bool,
    ) -> Self {
        let (probe, build) = if build_left { (right, left) } else { (left, right) };
        Self {
            kind,
            probe: probe.input,
            probe_keys: probe.keys,
            build: build.input,
            build_keys: build.keys,
            build_left,
            condition,
            probe_width: probe.width,
            build_width: build.width,
            built: false,
            table: KeyTable::default(),
            chains: Vec::new(),
            following: Vec::new(),
            rows: Rows::default(),
            partners: Vec::new(),
            probe_row: Row::new(),
            key: Row::new(),
            at: None,
            matched: false,
            rest: None,
            held: Held::default(),
            pending: Vec::new(),
            reader: None,
        }
    }

    fn keeps_build(&self) -> bool {
        if self.build_left { self.kind.keeps_left() } else { self.kind.keeps_right() }
    }

    fn keeps_probe(&self) -> bool {
        if self.build_left { self.kind.keeps_right() } else { self.kind.keeps_left() }
    }

    /// True if rows of the probe side come out that have no partner.
    fn keeps_unmatched(&self) -> bool {
        self.keeps_probe() || self.kind == JoinKind::Anti
    }

    /// Puts the build side into the table, or, where it is too large, both sides into partitions.
    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        self.built = true;
        let Some(build) = self.load(env, None, 0)? else { return Ok(()) };
        self.divide(env, None, build, 0)?;
        self.begin_partitions(env)
    }

    /// Goes to the first partition.
    fn begin_partitions(&mut self, env: &Env<'_>) -> Result<()> {
        // Without a partition there is nothing more to come.
        if !self.next_partition(env)? {
            self.rest = Some(0);
        }
        Ok(())
    }

    /// Returns the inputs of the probe side and of the build side.
    pub(crate) fn inputs(&mut self) -> (&mut Input, &mut Input) {
        (&mut self.probe, &mut self.build)
    }

    /// Returns true once the inputs have been read.
    pub(crate) fn is_filled(&self) -> bool {
        self.built
    }

    /// Takes both sides in partitions, into which the caller has divided the rows of the inputs.
    pub(crate) fn fill_from(
        &mut self,
        env: &Env<'_>,
        probe: Vec<Tape>,
        build: Vec<Tape>,
    ) -> Result<()> {
        self.built = true;
        self.wait_for(probe, build, 1);
        self.begin_partitions(env)
    }

    /// Puts rows of the build side, or of a partition of it, into the table; gives them as partitions
    /// where there are too many.
    fn load(
        &mut self,
        env: &Env<'_>,
        mut from: Option<Reader>,
        level: u32,
    ) -> Result<Option<Partitions>> {
        let keeps = self.keeps_build();
        // One row of each key tells whether there is a partner.
        let is_known_enough =
            matches!(self.kind, JoinKind::Semi | JoinKind::Anti) && self.condition.is_none();
        let mut later: Option<Partitions> = None;
        let mut row = Row::new();
        loop {
            let more = match &mut from {
                None => self.build.next(env, &mut row)?,
                Some(reader) => reader.row(&mut row)?,
            };
            if !more {
                return Ok(later);
            }
            let keyed = join_key(env, &self.build_keys, &row, &mut self.key)?;
            if !keyed && !keeps {
                continue;
            }
            let hash = if keyed { self.table.hash(&self.key) } else { 0 };
            if let Some(later) = &mut later {
                later.add(hash, &row, None)?;
                continue;
            }
            let found = if keyed { self.table.find_hashed(hash, &self.key) } else { None };
            if found.is_some() && is_known_enough {
                continue;
            }
            self.held.add_row(env, &row)?;
            let at = self.rows.len() as u32;
            self.rows.push(&mut row);
            self.following.push(NONE);
            if keeps {
                self.partners.push(false);
            }
            if keyed {
                match found {
                    None => {
                        self.held.add_row(env, &self.key)?;
                        self.table.insert_hashed(hash, &self.key);
                        self.chains.push((at, at));
                    }
                    Some(chain) => {
                        let last = &mut self.chains[chain].1;
                        self.following[*last as usize] = at;
                        *last = at;
                    }
                }
            }
            // Rows of one key stay together, however often they are divided.
            if level < LEVEL_MAX
                && self.table.len() > 1
                && let Some(folder) = self.held.is_over(env, true)
            {
                let mut partitions = Partitions::new(folder, level);
                for row in self.rows.iter() {
                    let keyed = join_key(env, &self.build_keys, row, &mut self.key)?;
                    let hash = if keyed { self.table.hash(&self.key) } else { 0 };
                    partitions.add(hash, row, None)?;
                }
                self.forget_table(env.shared);
                later = Some(partitions);
            }
        }
    }

    /// Divides rows of the probe side as those of the build side have been.
    fn divide(
        &mut self,
        env: &Env<'_>,
        mut from: Option<Reader>,
        build: Partitions,
        level: u32,
    ) -> Result<()> {
        let Some(spill) = &env.ctx.spill else { return Ok(()) };
        let keeps = self.keeps_unmatched();
        let (mut probe, mut row) = (Partitions::new(spill.folder, level), Row::new());
        loop {
            let more = match &mut from {
                None => self.probe.next(env, &mut row)?,
                Some(reader) => reader.row(&mut row)?,
            };
            if !more {
                break;
            }
            env.tick()?;
            let keyed = join_key(env, &self.probe_keys, &row, &mut self.key)?;
            if keyed || keeps {
                let hash = if keyed { self.table.hash(&self.key) } else { 0 };
                probe.add(hash, &row, None)?;
            }
        }
        self.wait_for(probe.finish()?, build.finish()?, level + 1);
        Ok(())
    }

    /// Notes the partitions that are joined later: those from which a row may come.
    fn wait_for(&mut self, probe: Vec<Tape>, build: Vec<Tape>, level: u32) {
        let (keeps_build, keeps_probe) = (self.keeps_build(), self.keeps_unmatched());
        let is_needed = |(build, probe): &(Tape, Tape)| match (build.len() > 0, probe.len() > 0) {
            (true, true) => true,
            (true, false) => keeps_build,
            (false, true) => keeps_probe,
            (false, false) => false,
        };
        let pairs = build.into_iter().zip(probe).filter(is_needed);
        self.pending.extend(pairs.map(|(build, probe)| (build, probe, level)));
    }

    /// Goes to the next partition; false if there is none.
    fn next_partition(&mut self, env: &Env<'_>) -> Result<bool> {
        while let Some((build, probe, level)) = self.pending.pop() {
            self.forget_table(env.shared);
            match self.load(env, Some(build.read()), level)? {
                Some(build) => self.divide(env, Some(probe.read()), build, level)?,
                None => {
                    self.reader = Some(probe.read());
                    self.rest = None;
                    self.at = None;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn forget_table(&mut self, shared: &Shared) {
        self.table.clear();
        self.chains.clear();
        self.following.clear();
        self.rows.clear();
        self.partners.clear();
        self.held.clear(shared);
    }

    fn pair(&self, at: u32) -> EvalRow<'_> {
        let build = self.rows.get(at as usize);
        match self.build_left {
            true => EvalRow::Pair(build, &self.probe_row),
            false => EvalRow::Pair(&self.probe_row, build),
        }
    }

    /// Puts both sides into `out`, in their places.
    fn put(build_left: bool, probe: &[Datum], build: &[Datum], out: &mut Row) {
        let (left, right) = if build_left { (build, probe) } else { (probe, build) };
        out.clear();
        out.extend_from_slice(left);
        out.extend_from_slice(right);
    }

    /// The next partner of the probe row.
    fn next_partner(&mut self, env: &Env<'_>) -> Result<Option<u32>> {
        while let Some(at) = self.at.filter(|at| *at != NONE) {
            env.tick()?;
            self.at = Some(self.following[at as usize]);
            if let Some(condition) = &self.condition
                && !env.test(condition, self.pair(at))?
            {
                continue;
            }
            self.matched = true;
            if let Some(partner) = self.partners.get_mut(at as usize) {
                *partner = true;
            }
            return Ok(Some(at));
        }
        Ok(None)
    }

    /// The rows of the table without a partner.
    fn next_rest(&mut self, out: &mut Row, mut at: usize) -> bool {
        while let Some(partner) = self.partners.get(at) {
            at += 1;
            if !partner {
                let nulls = vec![Datum::Null; self.probe_width];
                Self::put(self.build_left, &nulls, self.rows.get(at - 1), out);
                self.rest = Some(at);
                return true;
            }
        }
        self.rest = Some(at);
        false
    }
}

impl Operator for HashJoin {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if !self.built {
            self.fill(env)?;
        }
        loop {
            if let Some(at) = self.rest {
                if self.next_rest(out, at) {
                    return Ok(true);
                }
                if self.pending.is_empty() || !self.next_partition(env)? {
                    return Ok(false);
                }
                continue;
            }
            if self.at.is_none() {
                let more = match &mut self.reader {
                    None => self.probe.next(env, &mut self.probe_row)?,
                    Some(reader) => {
                        env.tick()?;
                        reader.row(&mut self.probe_row)?
                    }
                };
                if !more {
                    self.rest = Some(0);
                    continue;
                }
                self.matched = false;
                let keyed = join_key(env, &self.probe_keys, &self.probe_row, &mut self.key)?;
                let chain = if keyed { self.table.find(&self.key) } else { None };
                self.at = Some(chain.map_or(NONE, |chain| self.chains[chain].0));
            }
            let partner = self.next_partner(env)?;
            match self.kind {
                JoinKind::Semi | JoinKind::Anti => {
                    self.at = None;
                    if partner.is_some() == (self.kind == JoinKind::Semi) {
                        std::mem::swap(out, &mut self.probe_row);
                        return Ok(true);
                    }
                }
                _ => match partner {
                    Some(at) => {
                        let build = self.rows.get(at as usize);
                        Self::put(self.build_left, &self.probe_row, build, out);
                        return Ok(true);
                    }
                    None => {
                        self.at = None;
                        if !self.matched && self.keeps_probe() {
                            let nulls = vec![Datum::Null; self.build_width];
                            Self::put(self.build_left, &self.probe_row, &nulls, out);
                            return Ok(true);
                        }
                    }
                },
            }
        }
    }

    fn rewind(&mut self, shared: &Shared) {
        self.built = false;
        self.forget_table(shared);
        self.pending.clear();
        self.reader = None;
        self.at = None;
        self.rest = None;
        self.probe.rewind(shared);
        self.build.rewind(shared);
    }
}
