//! Groups and their aggregates, by hash tables: one for each grouping set.
//!
//! ```text
//!   row ──keys──> group ──> one state for each call: an accumulator, which takes the row at once,
//!                           or rows that wait to be sorted (DISTINCT, ORDER BY, WITHIN GROUP)
//!   at the end: set by set, group by group    keys, aggregates, GROUPING masks
//! ```
//!
//! Where there is no room for more groups, the rows of other ones go to partitions by their keys, and
//! are taken in when the groups that are there have come out. The state of a group is never written.

use scalar::aggregate::{Accumulator, Aggregate as Kernel, Kind};
use scalar::function::Call;
use sql::eval::Program;
use types::{Datum, DatumRef, KeyOrder, Result, Type, key};

use super::hash::KeyTable;
use super::sort::{SortKey, Sorter, write_keys};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};
use crate::spill::{LEVEL_MAX, Partitions, Tape};

/// A call of an aggregate, ready to be computed.
pub(crate) struct AggregateCall {
    pub(crate) kernel: Kernel,
    pub(crate) args: Vec<Program>,
    pub(crate) types: Vec<Type>,
    pub(crate) direct: Vec<Program>,
    pub(crate) direct_types: Vec<Type>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<SortKey>,
    pub(crate) filter: Option<Program>,
    pub(crate) ty: Type,
    /// True if the accumulator grows with every row.
    pub(crate) keeps: bool,
}

/// The state of a call for a group.
pub(crate) enum State {
    Running(Box<dyn Accumulator>),
    /// The arguments of the rows, to be sorted first; the values of the direct arguments.
    Waiting(Box<Sorter>, Row),
    /// It has been given.
    Given,
}

impl AggregateCall {
    /// The state before any row of a group with these keys, which direct arguments see.
    pub(crate) fn start(&self, env: &Env<'_>, keys: &Row) -> Result<State> {
        if self.order.is_empty() && !self.distinct && self.kernel.kind == Kind::Normal {
            return Ok(State::Running((self.kernel.start)(&self.types)));
        }
        let direct = self.direct.iter().map(|program| env.value(program, keys));
        Ok(State::Waiting(Box::default(), direct.collect::<Result<_>>()?))
    }

    pub(crate) fn call<'a>(&'a self, env: &Env<'a>) -> Call<'a> {
        let context = env.ctx.frame.context;
        Call { context, args: &self.types, ret: self.ty, spread: false }
    }

    /// True for `count(*)`: which rows there are does not matter, only how many.
    fn counts_rows(&self) -> bool {
        let is_plain = self.kernel.kind == Kind::Normal && !self.distinct && self.order.is_empty();
        is_plain && self.args.is_empty() && self.filter.is_none()
    }

    /// Takes a row in; what is kept of it counts as held.
    fn add(&self, env: &Env<'_>, state: &mut State, row: &Row, held: &mut Held) -> Result<()> {
        if let Some(filter) = &self.filter
            && !env.test(filter, row)?
        {
            return Ok(());
        }
        match state {
            State::Running(accumulator) => {
                // The usual aggregates have one argument, and most of these are columns.
                match &self.args[..] {
                    [] => accumulator.add(&self.call(env), &[]),
                    [arg] => match arg.column() {
                        Some(column) => {
                            let args = [row[column].as_ref()];
                            self.give(env, accumulator.as_mut(), &args, held)
                        }
                        None => {
                            let value = env.value(arg, row)?;
                            let args = [value.as_ref()];
                            self.give(env, accumulator.as_mut(), &args, held)
                        }
                    },
                    args => {
                        let values: Row =
                            args.iter().map(|arg| env.value(arg, row)).collect::<Result<_>>()?;
                        let refs: Vec<DatumRef<'_>> = values.iter().map(Datum::as_ref).collect();
                        self.give(env, accumulator.as_mut(), &refs, held)
                    }
                }
            }
            State::Given => Ok(()),
            State::Waiting(sorter, _) => {
                let args = self.args.iter().map(|arg| env.value(arg, row));
                let mut args: Row = args.collect::<Result<_>>()?;
                sorter.push(env, &mut args, |args, out| {
                    write_keys(env, &self.order, row, out)?;
                    if self.distinct {
                        args.iter()
                            .for_each(|arg| key::write(arg.as_ref(), KeyOrder::ASCENDING, out));
                    }
                    Ok(())
                })
            }
        }
    }

    /// Gives an accumulator the arguments of a row; what it keeps of them counts as held.
    #[inline]
    pub(crate) fn give(
        &self,
        env: &Env<'_>,
        accumulator: &mut dyn Accumulator,
        args: &[DatumRef<'_>],
        held: &mut Held,
    ) -> Result<()> {
        if !self.keeps {
            return accumulator.add(&self.call(env), args);
        }
        let before = accumulator.held_bytes();
        accumulator.add(&self.call(env), args)?;
        held.add(env, accumulator.held_bytes().saturating_sub(before))
    }

    /// The result of an accumulator, which lies in memory beside what the accumulator holds.
    pub(crate) fn result(&self, env: &Env<'_>, accumulator: &dyn Accumulator) -> Result<Datum> {
        let call = self.call(env);
        if !self.keeps {
            return accumulator.finish(&call);
        }
        let mut held = Held::default();
        let done = held
            .add(env, accumulator.held_bytes())
            .and_then(|()| types::bounded::value(accumulator.finish(&call)?));
        held.clear(env.shared);
        done
    }

    /// The result.
    pub(crate) fn finish(&self, env: &Env<'_>, state: State) -> Result<Datum> {
        let (mut sorter, direct) = match state {
            State::Running(accumulator) => return self.result(env, accumulator.as_ref()),
            State::Waiting(sorter, direct) => (sorter, direct),
            State::Given => return Ok(Datum::Null),
        };
        sorter.finish(env)?;
        // An ordered-set aggregate knows all of its arguments, the direct ones first.
        let types: Vec<Type> = self.direct_types.iter().chain(&self.types).copied().collect();
        let mut accumulator = (self.kernel.start)(&types);
        let direct_refs: Vec<DatumRef<'_>> = direct.iter().map(Datum::as_ref).collect();
        accumulator.begin(&direct_refs);
        if self.kernel.kind == Kind::Hypothetical {
            self.place(env, &mut sorter, &direct, accumulator.as_mut())?;
            sorter.clear(env.shared);
            return self.result(env, accumulator.as_ref());
        }
        let (mut args, mut last, mut held) = (Row::new(), None, Held::default());
        while sorter.next(&mut args, None)? {
            env.go_on()?;
            if self.distinct && last.as_ref() == Some(&args) {
                continue;
            }
            let refs: Vec<DatumRef<'_>> = args.iter().map(Datum::as_ref).collect();
            self.give(env, accumulator.as_mut(), &refs, &mut held)?;
            last = self.distinct.then(|| std::mem::take(&mut args));
        }
        sorter.clear(env.shared);
        let done = self.result(env, accumulator.as_ref());
        held.clear(env.shared);
        done
    }

    /// Tells a hypothetical aggregate how each row stands to the one of the direct arguments.
    fn place(
        &self,
        env: &Env<'_>,
        sorter: &mut Sorter,
        direct: &Row,
        accumulator: &mut dyn Accumulator,
    ) -> Result<()> {
        let write = |row: &Row| {
            let mut bytes = Vec::new();
            for (value, sort) in row.iter().zip(&self.order) {
                key::write(value.as_ref(), sort.order, &mut bytes);
            }
            bytes
        };
        let (wanted, mut before) = (write(direct), None);
        let mut args = Row::new();
        while sorter.next(&mut args, None)? {
            env.go_on()?;
            let place = write(&args);
            let order = match place.cmp(&wanted) {
                std::cmp::Ordering::Less => -1,
                std::cmp::Ordering::Equal => 0,
                std::cmp::Ordering::Greater => 1,
            };
            let starts = before.as_ref() != Some(&place);
            let args = [DatumRef::Int4(order), DatumRef::Bool(starts)];
            accumulator.add(&self.call(env), &args)?;
            before = Some(place);
        }
        Ok(())
    }
}

/// The groups of a grouping set.
struct Set {
    /// For each key of the whole aggregate, whether this set has it.
    has: Vec<bool>,
    /// True if it has all of them.
    is_whole: bool,
    groups: KeyTable,
    /// The states of the calls of each group, one group after the other.
    states: Vec<State>,
    /// Rows of groups that there is no room for.
    later: Option<Partitions>,
}

/// One row for each group.
pub(crate) struct Aggregate {
    input: Input,
    keys: Vec<Program>,
    calls: Vec<AggregateCall>,
    masks: Vec<Vec<usize>>,
    sets: Vec<Set>,
    filled: bool,
    /// The set and the group that come out next.
    at: (usize, usize),
    held: Held,
    /// The keys of a row, and those of them that a set has.
    values: Row,
    own: Row,
    /// Rows that wait: of which set, and how often they have been divided.
    pending: Vec<(usize, Tape, u32)>,
}

impl Aggregate {
    pub(crate) fn new(
        input: Input,
        keys: Vec<Program>,
        sets: &[Vec<usize>],
        calls: Vec<AggregateCall>,
        masks: Vec<Vec<usize>>,
    ) -> Self {
        let sets = sets
            .iter()
            .map(|set| Set {
                has: (0..keys.len()).map(|key| set.contains(&key)).collect(),
                is_whole: (0..keys.len()).all(|key| set.contains(&key)),
                groups: KeyTable::default(),
                states: Vec::new(),
                later: None,
            })
            .collect();
        Self {
            input,
            keys,
            calls,
            masks,
            sets,
            filled: false,
            at: (0, 0),
            held: Held::default(),
            values: Row::new(),
            own: Row::new(),
            pending: Vec::new(),
        }
    }

    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        let is_counted = self.keys.is_empty()
            && self.masks.is_empty()
            && self.calls.iter().all(AggregateCall::counts_rows);
        let (mut row, mut rows) = (Row::new(), 0);
        if is_counted {
            rows = self.input.count(env)?;
        } else {
            while self.input.next(env, &mut row)? {
                self.take(env, &row, None, 0)?;
            }
        }
        // A set without keys has one group, rows or not.
        for set in &mut self.sets {
            if set.groups.len() == 0 && !set.has.contains(&true) {
                let nulls = vec![Datum::Null; self.keys.len()];
                set.groups.insert(&nulls);
                start_all(&self.calls, env, &nulls, &mut set.states)?;
            }
        }
        if is_counted {
            for (call, state) in each_call(&self.calls, &mut self.sets) {
                if let State::Running(accumulator) = state {
                    accumulator.add_rows(&call.call(env), rows)?;
                }
            }
        }
        self.divide(0)?;
        self.filled = true;
        Ok(())
    }

    /// Takes a row in: into all sets, or into the one that it waited for.
    fn take(&mut self, env: &Env<'_>, row: &Row, only: Option<usize>, level: u32) -> Result<()> {
        let Self { keys, calls, sets, held, values, own, .. } = self;
        values.clear();
        for program in keys.iter() {
            values.push(env.value(program, row)?);
        }
        for (at, set) in sets.iter_mut().enumerate() {
            if only.is_some_and(|only| only != at) {
                continue;
            }
            let key = if set.is_whole {
                &*values
            } else {
                own.clear();
                own.extend(values.iter().zip(&set.has).map(|(value, has)| match has {
                    true => value.clone(),
                    false => Datum::Null,
                }));
                &*own
            };
            let group = if keys.is_empty() && set.groups.len() > 0 {
                0
            } else {
                let hash = set.groups.hash(key);
                match set.groups.find_hashed(hash, key) {
                    Some(group) => group,
                    None => {
                        if level < LEVEL_MAX
                            && let Some(folder) = held.is_over(env, true)
                        {
                            let new = || Partitions::new(folder, level);
                            set.later.get_or_insert_with(new).add(hash, row, None)?;
                            continue;
                        }
                        held.add_row(env, key)?;
                        held.add(env, calls.len() * STATE_BYTES)?;
                        start_all(calls, env, key, &mut set.states)?;
                        set.groups.insert_hashed(hash, key)
                    }
                }
            };
            let states = &mut set.states[group * calls.len()..][..calls.len()];
            for (call, state) in calls.iter().zip(states) {
                call.add(env, state, row, held)?;
            }
        }
        Ok(())
    }

    /// Closes the partitions of rows that were divided so many times before.
    fn divide(&mut self, level: u32) -> Result<()> {
        for (at, set) in self.sets.iter_mut().enumerate() {
            if let Some(later) = set.later.take() {
                let tapes = later.finish()?.into_iter().filter(|tape| tape.len() > 0);
                self.pending.extend(tapes.map(|tape| (at, tape, level + 1)));
            }
        }
        Ok(())
    }

    /// Makes the groups of rows that waited; false if there are none.
    fn fill_later(&mut self, env: &Env<'_>) -> Result<bool> {
        let Some((set, tape, level)) = self.pending.pop() else { return Ok(false) };
        self.forget_groups(env.shared);
        let (mut reader, mut row) = (tape.read(), Row::new());
        while reader.row(&mut row)? {
            env.tick()?;
            self.take(env, &row, Some(set), level)?;
        }
        self.divide(level)?;
        self.at = (set, 0);
        Ok(true)
    }

    fn forget_groups(&mut self, shared: &Shared) {
        for set in &mut self.sets {
            set.groups.clear();
            for state in set.states.drain(..) {
                if let State::Waiting(mut sorter, _) = state {
                    sorter.clear(shared);
                }
            }
        }
        self.held.clear(shared);
    }
}

/// About how many bytes the state of a call takes.
const STATE_BYTES: usize = 64;

/// Each call with its state, in the first group of each set.
fn each_call<'a>(
    calls: &'a [AggregateCall],
    sets: &'a mut [Set],
) -> impl Iterator<Item = (&'a AggregateCall, &'a mut State)> {
    sets.iter_mut().flat_map(|set| calls.iter().zip(&mut set.states))
}

/// Adds the states of a new group.
fn start_all(
    calls: &[AggregateCall],
    env: &Env<'_>,
    keys: &Row,
    states: &mut Vec<State>,
) -> Result<()> {
    for call in calls {
        states.push(call.start(env, keys)?);
    }
    Ok(())
}

impl Operator for Aggregate {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if !self.filled {
            self.fill(env)?;
        }
        let (set, group) = loop {
            let (mut set, mut group) = self.at;
            while self.sets.get(set).is_some_and(|set| group >= set.groups.len()) {
                (set, group) = (set + 1, 0);
            }
            self.at = (set, group + 1);
            if set < self.sets.len() {
                break (set, group);
            }
            if !self.fill_later(env)? {
                return Ok(false);
            }
        };
        let set = &mut self.sets[set];
        out.clear();
        out.extend_from_slice(set.groups.key(group));
        let states = &mut set.states[group * self.calls.len()..][..self.calls.len()];
        for (call, state) in self.calls.iter().zip(states) {
            out.push(call.finish(env, std::mem::replace(state, State::Given))?);
        }
        for mask in &self.masks {
            let bits = mask.iter().fold(0, |bits, key| bits << 1 | i32::from(!set.has[*key]));
            out.push(Datum::Int4(bits));
        }
        Ok(true)
    }

    fn rewind(&mut self, shared: &Shared) {
        self.forget_groups(shared);
        self.sets.iter_mut().for_each(|set| set.later = None);
        self.pending.clear();
        self.filled = false;
        self.at = (0, 0);
        self.input.rewind(shared);
    }
}
