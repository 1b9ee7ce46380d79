//! Groups and their aggregates, by hash tables: one for each grouping set.
//!
//! ```text
//!   row ──keys──> group ──> one state for each call: an accumulator, which takes the row at once,
//!                           or rows that wait to be sorted (DISTINCT, ORDER BY, WITHIN GROUP)
//!   at the end: set by set, group by group    keys, aggregates, GROUPING masks
//! ```

use scalar::aggregate::{Accumulator, Aggregate as Kernel, Kind};
use scalar::function::Call;
use sql::eval::Program;
use types::{Datum, DatumRef, KeyOrder, Result, Type, key};

use super::hash::KeyTable;
use super::sort::{SortKey, Sorter, write_keys};
use super::{Input, Operator, Row};
use crate::ctx::{Env, Held, Shared};

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
}

/// What a call has come to for a group.
pub(crate) enum State {
    Running(Box<dyn Accumulator>),
    /// The arguments of the rows, to be sorted first; the values of the direct arguments.
    Waiting(Sorter, Row),
}

impl AggregateCall {
    /// The state before any row; `row` is the first one, which direct arguments see.
    pub(crate) fn start(&self, env: &Env<'_>, row: &Row) -> Result<State> {
        if self.order.is_empty() && !self.distinct && self.kernel.kind == Kind::Normal {
            return Ok(State::Running((self.kernel.start)(&self.types)));
        }
        let direct = self.direct.iter().map(|program| env.value(program, row));
        Ok(State::Waiting(Sorter::default(), direct.collect::<Result<_>>()?))
    }

    fn call<'a>(&'a self, env: &Env<'a>) -> Call<'a> {
        let context = env.ctx.frame.context;
        Call { context, args: &self.types, ret: self.ty, spread: false }
    }

    /// Takes a row in.
    pub(crate) fn add(
        &self,
        env: &Env<'_>,
        state: &mut State,
        row: &Row,
        held: &mut Held,
    ) -> Result<()> {
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
                        Some(column) => accumulator.add(&self.call(env), &[row[column].as_ref()]),
                        None => {
                            let value = env.value(arg, row)?;
                            accumulator.add(&self.call(env), &[value.as_ref()])
                        }
                    },
                    args => {
                        let values: Row =
                            args.iter().map(|arg| env.value(arg, row)).collect::<Result<_>>()?;
                        let refs: Vec<DatumRef<'_>> = values.iter().map(Datum::as_ref).collect();
                        accumulator.add(&self.call(env), &refs)
                    }
                }
            }
            State::Waiting(sorter, _) => {
                let args: Row =
                    self.args.iter().map(|arg| env.value(arg, row)).collect::<Result<_>>()?;
                held.add_row(env, &args)?;
                sorter.push(args, |args, out| {
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

    /// The result.
    pub(crate) fn finish(&self, env: &Env<'_>, state: State) -> Result<Datum> {
        let (sorter, direct) = match state {
            State::Running(accumulator) => return accumulator.finish(&self.call(env)),
            State::Waiting(sorter, direct) => (sorter, direct),
        };
        let call = self.call(env);
        // An ordered-set aggregate knows all of its arguments, the direct ones first.
        let types: Vec<Type> = self.direct_types.iter().chain(&self.types).copied().collect();
        let mut accumulator = (self.kernel.start)(&types);
        let direct_refs: Vec<DatumRef<'_>> = direct.iter().map(Datum::as_ref).collect();
        accumulator.begin(&direct_refs);
        if self.kernel.kind == Kind::Hypothetical {
            self.place(env, sorter, &direct, accumulator.as_mut())?;
            return accumulator.finish(&call);
        }
        let mut last: Option<Row> = None;
        for args in sorter.into_rows() {
            if self.distinct && last.as_ref() == Some(&args) {
                continue;
            }
            let refs: Vec<DatumRef<'_>> = args.iter().map(Datum::as_ref).collect();
            accumulator.add(&call, &refs)?;
            last = self.distinct.then_some(args);
        }
        accumulator.finish(&call)
    }

    /// Tells a hypothetical aggregate how each row stands to the one of the direct arguments.
    fn place(
        &self,
        env: &Env<'_>,
        sorter: Sorter,
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
        for args in sorter.into_rows() {
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
    /// True where it has all of them.
    is_whole: bool,
    groups: KeyTable,
    states: Vec<Vec<State>>,
}

/// One row for each group.
pub(crate) struct Aggregate {
    input: Input,
    keys: Vec<Program>,
    calls: Vec<AggregateCall>,
    masks: Vec<Vec<usize>>,
    /// How many columns the input has.
    width: usize,
    sets: Vec<Set>,
    filled: bool,
    /// The set and the group that come out next.
    at: (usize, usize),
    held: Held,
}

impl Aggregate {
    pub(crate) fn new(
        input: Input,
        keys: Vec<Program>,
        sets: &[Vec<usize>],
        calls: Vec<AggregateCall>,
        masks: Vec<Vec<usize>>,
        width: usize,
    ) -> Self {
        let sets = sets
            .iter()
            .map(|set| Set {
                has: (0..keys.len()).map(|key| set.contains(&key)).collect(),
                is_whole: (0..keys.len()).all(|key| set.contains(&key)),
                groups: KeyTable::default(),
                states: Vec::new(),
            })
            .collect();
        let held = Held::default();
        Self { input, keys, calls, masks, width, sets, filled: false, at: (0, 0), held }
    }

    fn fill(&mut self, env: &Env<'_>) -> Result<()> {
        let Self { input, keys, calls, sets, held, .. } = self;
        let (mut row, mut values, mut key) = (Row::new(), Row::new(), Row::new());
        while input.next(env, &mut row)? {
            values.clear();
            for program in keys.iter() {
                values.push(env.value(program, &row)?);
            }
            for set in sets.iter_mut() {
                let key = if set.is_whole {
                    &values
                } else {
                    key.clear();
                    let own = values.iter().zip(&set.has);
                    key.extend(own.map(|(value, has)| match has {
                        true => value.clone(),
                        false => Datum::Null,
                    }));
                    &key
                };
                let (group, new) = match keys.is_empty() && set.groups.len() > 0 {
                    true => (0, false),
                    false => set.groups.insert(key),
                };
                if new {
                    held.add_row(env, key)?;
                    held.add(env, calls.len() * STATE_BYTES)?;
                    set.states.push(start_all(calls, env, &row)?);
                }
                for (call, state) in calls.iter().zip(&mut set.states[group]) {
                    call.add(env, state, &row, held)?;
                }
            }
        }
        // A set without keys has one group, rows or not.
        for set in sets.iter_mut() {
            if set.groups.len() == 0 && !set.has.contains(&true) {
                set.groups.insert(&vec![Datum::Null; keys.len()]);
                let nulls = vec![Datum::Null; self.width];
                set.states.push(start_all(calls, env, &nulls)?);
            }
        }
        self.filled = true;
        Ok(())
    }
}

/// About how many bytes the state of a call takes.
const STATE_BYTES: usize = 64;

fn start_all(calls: &[AggregateCall], env: &Env<'_>, row: &Row) -> Result<Vec<State>> {
    calls.iter().map(|call| call.start(env, row)).collect()
}

impl Operator for Aggregate {
    fn next(&mut self, env: &Env<'_>, out: &mut Row) -> Result<bool> {
        if !self.filled {
            self.fill(env)?;
        }
        let (mut set, mut group) = self.at;
        while self.sets.get(set).is_some_and(|set| group >= set.groups.len()) {
            (set, group) = (set + 1, 0);
        }
        self.at = (set, group + 1);
        let Some(set) = self.sets.get_mut(set) else { return Ok(false) };
        out.clear();
        out.extend_from_slice(set.groups.key(group));
        let states = std::mem::take(&mut set.states[group]);
        for (call, state) in self.calls.iter().zip(states) {
            out.push(call.finish(env, state)?);
        }
        for mask in &self.masks {
            let bits = mask.iter().fold(0, |bits, key| bits << 1 | i32::from(!set.has[*key]));
            out.push(Datum::Int4(bits));
        }
        Ok(true)
    }

    fn rewind(&mut self, shared: &Shared) {
        for set in &mut self.sets {
            set.groups.clear();
            set.states.clear();
        }
        self.filled = false;
        self.at = (0, 0);
        self.held.clear(shared);
        self.input.rewind(shared);
    }
}
