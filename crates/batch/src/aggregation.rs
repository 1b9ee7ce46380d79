//! [`Aggregation`]: a scan's condition, groups and aggregates, over blocks of columns and over rows.

use std::ops::Range;
use std::sync::Arc;

use scalar::aggregate::{Accumulator, Aggregate as Kernel, Kind};
use scalar::function::{self, Eval};
use scalar::registry;
use sql::eval::{Program, Row};
use sql::plan::{AggregateCall, Cast, Expr, ExprKind};
use table::columnar::{Block, RowMask};
use types::{Datum, DatumRef, Error, Repr, Result, SqlState, Type, TypeSource, bounded};

use crate::ROWS_MAX;
use crate::condition::{Condition, Known};
use crate::counts::Counts;
use crate::distinct::Distinct;
use crate::extremes::Extremes;
use crate::few::add_to_few;
use crate::groups::{Groups, KEYS_MAX, NONE};
use crate::key_hashes::{TakeHashed, give_hashed, put_key_hashes};
use crate::reader::{Piece, Reader, condition_of};
use crate::slice::{Load, Selection, Slice};
use crate::source;
use crate::state::{Floats, Merging, Missing, Rows, State};
use crate::totals::Totals;
use crate::value::{Compiler, Run, Value};
use crate::vector::{Ints, Lent, Values, Vector};

/// The parts of an aggregate over the scan of one table, for [`Aggregation::compile`].
#[derive(Clone, Copy, Debug)]
pub struct Shape<'p> {
    /// The positions and types of the columns of the scan.
    pub columns: &'p [(usize, Type)],
    /// Which rows are wanted.
    pub condition: Option<&'p Expr>,
    /// The keys of the groups.
    pub keys: &'p [Expr],
    /// Which keys tell groups apart. The others depend on these.
    pub leading: &'p [usize],
    /// The calls.
    pub calls: &'p [AggregateCall],
}

/// Returns true if an aggregate with these keys and calls is one that [`Aggregation`] computes.
pub fn can_aggregate(keys: &[Expr], calls: &[AggregateCall]) -> bool {
    keys.len() <= KEYS_MAX && calls.iter().all(is_known)
}

fn is_known(call: &AggregateCall) -> bool {
    let Some(kernel) = kernel_of(call) else { return false };
    match kernel.kind {
        Kind::Normal if call.distinct => {
            call.order.is_empty() && call.name == "count" && call.args.len() == 1
        }
        Kind::Normal => call.order.is_empty(),
        Kind::OrderedSet { .. } => {
            let counted = call.args.first().is_some_and(|arg| counted_type(arg).is_some());
            let is_one = call.args.len() == 1 && call.order.len() == 1;
            is_one && counted && !call.distinct && call.filter.is_none()
        }
        Kind::Hypothetical => false,
    }
}

fn kernel_of(call: &AggregateCall) -> Option<Kernel> {
    match registry::function(call.function)?.eval {
        Eval::Aggregate(kernel) => Some(kernel),
        _ => None,
    }
}

/// Returns the expression whose integers an ordered-set aggregate counts, and whether it sees them as floats.
fn counted_type(arg: &Expr) -> Option<(&Expr, bool)> {
    let is_counted = |ty| {
        let counted = [Type::INT2, Type::INT4, Type::INT8, Type::DATE, Type::TIMESTAMPTZ];
        counted.contains(&ty) || ty == Type::TIMESTAMP
    };
    match &arg.kind {
        ExprKind::Cast { expr, how: Cast::Type { .. } } if arg.ty == Type::FLOAT8 => {
            let is_integer = matches!(expr.ty, Type::INT2 | Type::INT4 | Type::INT8);
            is_integer.then_some((&**expr, true))
        }
        _ => is_counted(arg.ty).then_some((arg, false)),
    }
}

/// The kind of state that a call has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Rows,
    Present,
    Totals,
    Floats,
    Extremes { is_least: bool, repr: Repr },
    Distinct,
    Counts { repr: Repr, is_float: bool, is_descending: bool },
    Each,
}

impl Form {
    fn start(self) -> State {
        match self {
            Form::Rows => State::Rows,
            Form::Present => State::Present(Missing::default()),
            Form::Totals => State::Totals(Totals::default()),
            Form::Floats => State::Floats(Floats::default()),
            Form::Extremes { is_least, repr } => State::Extremes(Extremes::new(is_least, repr)),
            Form::Distinct => State::Distinct(Distinct::default()),
            Form::Counts { repr, is_float, is_descending } => {
                State::Counts(Counts::new(repr, is_float, is_descending))
            }
            Form::Each => State::Each(Vec::new()),
        }
    }
}

/// The place of a key of the shape.
#[derive(Clone, Copy)]
enum GroupKeyColumn {
    Leading(usize),
    Dependent(usize),
}

/// A call of an aggregate.
#[derive(Clone)]
struct Call {
    name: &'static str,
    kernel: Kernel,
    /// The types of the arguments, direct ones first.
    types: Vec<Type>,
    ty: Type,
    direct: Arc<[Program]>,
    /// Which inputs are the arguments.
    inputs: Vec<usize>,
    filter: Option<Condition>,
    form: Form,
    /// The state that it has now, which calls may share.
    state: usize,
}

impl Call {
    /// True if another call needs the same state.
    fn shares_state_with(&self, other: &Call) -> bool {
        let is_alike = self.form == other.form && self.inputs == other.inputs;
        is_alike && self.form != Form::Each && self.filter.is_none() && other.filter.is_none()
    }

    /// Returns true if an accumulator takes in the results of others as if they were values.
    fn takes_results(&self) -> bool {
        const NAMES: [&str; 7] =
            ["min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or"];
        NAMES.contains(&self.name) && self.kernel.kind == Kind::Normal
    }

    fn start(&self) -> Box<dyn Accumulator> {
        (self.kernel.start)(&self.types)
    }

    fn context<'r>(&'r self, run: Run<'r>) -> function::Call<'r> {
        let context = run.frame.context;
        function::Call { context, args: &self.types, ret: self.ty, spread: false }
    }
}

/// An aggregate over the scan of one table, with the states of its groups.
pub struct Aggregation {
    reader: Reader,
    /// The keys that tell groups apart.
    keys: Vec<Value>,
    /// The other keys, and their values in the first row of each group.
    dependent: Vec<(Value, Vec<Datum>)>,
    /// Where each key of the shape is: among the keys that tell groups apart, or among the others.
    places: Vec<GroupKeyColumn>,
    /// How the keys are held, and behind these the results.
    reprs: Vec<Repr>,
    /// The bytes of values of other keys, beyond their places.
    dependent_bytes: usize,
    inputs: Vec<Value>,
    calls: Vec<Call>,
    states: Vec<State>,
    groups: Groups,
    /// The number of rows of each group.
    rows: Vec<u64>,
    numbers: Vec<u32>,
    /// The bytes of the states when they were last counted, and the rows that came after.
    state_bytes: usize,
    uncounted_rows: usize,
}

/// The bytes of states are counted again when there is a new row for each so many groups. So the cost of a row does not
/// depend on the number of groups.
const GROUPS_PER_ROW: usize = 4;

impl Aggregation {
    /// Compiles an aggregate that [`can_aggregate`] knows. `program` makes the programs of expressions.
    ///
    /// # Errors
    /// The errors of making a program; XX000 for an aggregate that is not known.
    pub fn compile(
        shape: Shape<'_>,
        types: &dyn TypeSource,
        program: &mut dyn FnMut(&Expr) -> Result<Program>,
    ) -> Result<Aggregation> {
        let mut compiler = Compiler { types, program, fields: Vec::new() };
        let condition = condition_of(shape.condition, &mut compiler)?;
        let (mut keys, mut dependent) = (Vec::new(), Vec::new());
        let mut places = Vec::with_capacity(shape.keys.len());
        for (at, key) in shape.keys.iter().enumerate() {
            let value = Value::compile(key, &mut compiler)?;
            if shape.leading.contains(&at) {
                places.push(GroupKeyColumn::Leading(keys.len()));
                keys.push(value);
            } else {
                places.push(GroupKeyColumn::Dependent(dependent.len()));
                dependent.push((value, Vec::new()));
            }
        }
        let all = shape.keys.iter().map(|key| key.ty);
        let all = all.chain(shape.calls.iter().map(|call| call.ty));
        let reprs = all.map(|ty| types.repr_of(ty)).collect::<Result<Vec<_>>>()?;
        let mut aggregation = Aggregation {
            reader: Reader::default(),
            groups: Groups::new(keys.len()),
            keys,
            dependent,
            places,
            reprs,
            dependent_bytes: 0,
            inputs: Vec::new(),
            calls: Vec::new(),
            states: Vec::new(),
            rows: Vec::new(),
            numbers: Vec::new(),
            state_bytes: 0,
            uncounted_rows: 0,
        };
        for call in shape.calls {
            aggregation.add_call(call, &mut compiler)?;
        }
        aggregation.reader = Reader::new(shape.columns, condition, compiler)?;
        aggregation.clear();
        Ok(aggregation)
    }

    fn add_call(&mut self, call: &AggregateCall, compiler: &mut Compiler<'_>) -> Result<()> {
        let kernel = kernel_of(call).filter(|_| is_known(call)).ok_or_else(|| {
            let message = format!("aggregate {} is not one over columns", call.name);
            Error::new(SqlState::INTERNAL_ERROR, message)
        })?;
        let is_ordered = kernel.kind != Kind::Normal;
        let mut inputs = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            let counted = counted_type(arg).filter(|_| is_ordered);
            let value = Value::compile(counted.map_or(arg, |(inner, _)| inner), compiler)?;
            inputs.push(self.input(value));
        }
        let filter = call.filter.as_ref().map(|filter| Condition::compile(filter, compiler));
        let filter = filter.transpose()?;
        let direct = call.direct.iter().map(|expr| (compiler.program)(expr));
        let direct = direct.collect::<Result<Vec<_>>>()?.into();
        let types = call.direct.iter().chain(&call.args).map(|arg| arg.ty).collect();
        let form = form_of(call, kernel, filter.is_some(), compiler);
        let ty = call.ty;
        let name = call.name;
        self.calls.push(Call { name, kernel, types, ty, direct, inputs, filter, form, state: 0 });
        Ok(())
    }

    /// Returns the number of an input, which calls share if it is a column.
    fn input(&mut self, value: Value) -> usize {
        let is_same = |known: &Value| matches!((known, &value), (Value::Column(a), Value::Column(b)) if a == b);
        match self.inputs.iter().position(is_same) {
            Some(at) => at,
            None => {
                self.inputs.push(value);
                self.inputs.len() - 1
            }
        }
    }

    /// Returns true if [`Aggregation::merge`] takes in others of this kind.
    pub fn merges(&self) -> bool {
        self.calls.iter().all(|call| call.form != Form::Each || call.takes_results())
    }

    /// Returns an aggregation of the same kind that has taken no rows.
    pub fn fork(&self) -> Aggregation {
        let dependent = self.dependent.iter().map(|(value, _)| (value.clone(), Vec::new()));
        let mut fork = Aggregation {
            reader: self.reader.clone(),
            keys: self.keys.clone(),
            dependent: dependent.collect(),
            places: self.places.clone(),
            reprs: self.reprs.clone(),
            dependent_bytes: 0,
            inputs: self.inputs.clone(),
            calls: self.calls.clone(),
            states: Vec::new(),
            groups: Groups::new(self.keys.len()),
            rows: Vec::new(),
            numbers: Vec::new(),
            state_bytes: 0,
            uncounted_rows: 0,
        };
        fork.clear();
        fork
    }

    /// Merges the groups of another aggregation of this kind; false if that is not possible. Then neither can be used
    /// any more.
    ///
    /// # Errors
    /// The errors of the aggregates.
    pub fn merge(&mut self, run: Run<'_>, mut other: Aggregation) -> Result<bool> {
        let states = other.calls.iter().map(|call| call.state);
        if self.calls.iter().map(|call| call.state).ne(states) {
            return Ok(false);
        }
        let groups = self.groups.merge(&other.groups);
        let count = self.groups.len();
        for ((_, firsts), (_, others)) in self.dependent.iter_mut().zip(&mut other.dependent) {
            // New groups have got their numbers in the order in which they came.
            for (value, to) in others.drain(..).zip(&groups) {
                if *to as usize == firsts.len() {
                    firsts.push(value);
                }
            }
        }
        self.dependent_bytes += other.dependent_bytes;
        self.rows.resize(count, 0);
        let merging = Merging { groups: &groups, rows: &other.rows, rows_before: &self.rows };
        for (at, (state, other)) in self.states.iter_mut().zip(other.states).enumerate() {
            let Some(call) = self.calls.iter().find(|call| call.state == at) else { continue };
            let (start, context) = (|| call.start(), call.context(run));
            // Accumulators that have taken the place of another state go on from rows, not from results.
            if matches!(state, State::Each(_)) && !call.takes_results() {
                return Ok(false);
            }
            if !state.merge(other, merging, &context, &start)? {
                return Ok(false);
            }
        }
        for (rows, to) in other.rows.iter().zip(&groups) {
            self.rows[*to as usize] += rows;
        }
        self.count_state_bytes();
        Ok(true)
    }

    /// Forgets all rows, for another execution.
    pub fn clear(&mut self) {
        self.reader.forget();
        self.calls.iter().filter_map(|call| call.filter.as_ref()).for_each(Condition::forget);
        self.keys.iter().chain(&self.inputs).for_each(Value::forget);
        for (value, firsts) in &mut self.dependent {
            value.forget();
            firsts.clear();
        }
        self.dependent_bytes = 0;
        self.groups = Groups::new(self.keys.len());
        self.rows.clear();
        self.rows.resize(self.groups.len(), 0);
        self.states.clear();
        for at in 0..self.calls.len() {
            let (before, rest) = self.calls.split_at_mut(at);
            let call = &mut rest[0];
            call.state = match before.iter().find(|known| known.shares_state_with(call)) {
                Some(known) => known.state,
                None => {
                    self.states.push(call.form.start());
                    self.states.len() - 1
                }
            };
        }
        self.count_state_bytes();
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns true if there are no groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        let of_group = (self.states.len() + 1) * 2 * size_of::<u64>()
            + self.dependent.len() * size_of::<Datum>();
        let of_groups = self.groups.bytes() + self.groups.len() * of_group;
        of_groups + self.state_bytes + self.dependent_bytes
    }

    fn count_state_bytes(&mut self) {
        self.state_bytes = self.states.iter().map(State::bytes).sum();
        self.uncounted_rows = 0;
    }

    /// Adds the rows of a piece. With `put_off` it makes no new groups, and calls `put_off` with their rows, and the hashes
    /// of their keys. Returns how many rows pass the condition.
    ///
    /// # Errors
    /// The errors of reading the rows, the programs, the aggregates and `put_off`.
    pub fn take(
        &mut self,
        run: Run<'_>,
        piece: &Piece<'_, '_>,
        mut put_off: Option<&mut TakeHashed<'_>>,
    ) -> Result<u64> {
        let (known, mut is_told) = (self.reader.known(run, piece), Vec::new());
        if let Piece::Block(block, _) = piece
            && self.keys.is_empty()
            && known == Known::Always
        {
            is_told.resize(self.states.len(), false);
            self.take_zones(block, &mut is_told)?;
            if is_told.iter().all(|is_told| *is_told) {
                (run.tick)(1)?;
                let rows = block.seen().map_or(block.len(), RowMask::len) as u64;
                self.rows[0] += rows;
                return Ok(rows);
            }
        }
        let (mut reader, mut numbers) =
            (std::mem::take(&mut self.reader), std::mem::take(&mut self.numbers));
        let kept = reader.read_known(run, piece, known, &mut |slice, rows| {
            self.take_selected(run, slice, rows, &is_told, put_off.as_deref_mut(), &mut numbers)
        });
        (self.reader, self.numbers) = (reader, numbers);
        kept
    }

    /// Adds rows that [`Aggregation::take`] or this has put off. `put_off` is as there.
    ///
    /// # Errors
    /// The errors of the programs, the aggregates and `put_off`.
    pub fn take_again(
        &mut self,
        run: Run<'_>,
        rows: &[Vec<Datum>],
        mut put_off: Option<&mut TakeHashed<'_>>,
    ) -> Result<()> {
        let (mut reader, mut numbers) =
            (self.reader.of_values(), std::mem::take(&mut self.numbers));
        let taken = reader.read(run, &Piece::Values(rows), &mut |slice, rows| {
            self.take_selected(run, slice, rows, &[], put_off.as_deref_mut(), &mut numbers)
        });
        self.numbers = numbers;
        taken.map(drop)
    }

    /// Adds the visible rows of a block to the states that need no values, and to those that can be computed from zones.
    /// Marks these states.
    fn take_zones(&mut self, block: &Block, is_told: &mut [bool]) -> Result<()> {
        for call in &self.calls {
            if call.filter.is_some() || is_told[call.state] {
                continue;
            }
            match call.form {
                Form::Rows => {
                    is_told[call.state] = true;
                    continue;
                }
                Form::Totals | Form::Extremes { .. } | Form::Present => {}
                Form::Floats | Form::Distinct | Form::Counts { .. } | Form::Each => continue,
            }
            let [input] = call.inputs[..] else { continue };
            let Value::Column(column) = self.inputs[input] else { continue };
            let position = self.reader.wanted().columns[column].position;
            let Some(column) = block.column(position) else { continue };
            let is_numeric = column.repr() == Repr::Numeric;
            let scale = if is_numeric { source::scale_of(column)? } else { None };
            if (!is_numeric || scale.is_some() || call.form == Form::Present)
                && let Some(zone) = block.seen_zone(position).map_err(table::Error::reported)?
            {
                is_told[call.state] = self.states[call.state].update_by_zone(&zone, scale);
            }
        }
        Ok(())
    }

    /// Adds rows of a slice, except to states that have its rows already.
    fn take_selected(
        &mut self,
        run: Run<'_>,
        slice: &Slice<'_>,
        mut rows: Selection,
        is_told: &[bool],
        put_off: Option<&mut TakeHashed<'_>>,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        let mut groups = None;
        if !self.keys.is_empty() {
            let keys = self.keys.iter().map(|key| key.vector(run, slice, &rows));
            let keys = keys.collect::<Result<Vec<Lent<'_, '_>>>>()?;
            let vectors: Vec<&Vector<'_>> = keys.iter().map(|key| &**key).collect();
            self.groups.numbers(&vectors, &rows, put_off.is_none(), numbers, slice.rows());
            if let Some(put_off) = put_off {
                let mut new = rows.clone();
                new.retain(|row| numbers[row] == NONE);
                if !new.is_empty() {
                    let mut hashes = Vec::new();
                    put_key_hashes(&vectors, &new, slice.rows(), &mut hashes);
                    give_hashed(slice, &new, &hashes, put_off)?;
                    rows.retain(|row| numbers[row] != NONE);
                }
            }
            self.keep_dependent(run, slice, &rows, numbers)?;
            groups = Some(&numbers[..]);
        }
        let count = self.groups.len();
        let selected = Rows { rows: &rows, groups, count };
        let mut is_taken = vec![false; self.states.len()];
        is_taken[..is_told.len()].copy_from_slice(is_told);
        for at in 0..self.calls.len() {
            let call = &self.calls[at];
            if is_taken.get(call.state).is_some_and(|is_taken| *is_taken) {
                continue;
            }
            is_taken[call.state] = true;
            if let Some(filter) = &call.filter {
                let mut wanted = rows.clone();
                filter.narrow(run, slice, &mut wanted)?;
                self.take_filtered(run, slice, at, &wanted, selected)?;
            } else {
                self.take_call(run, slice, at, selected)?;
            }
            // States that were made meanwhile have taken the rows in.
            is_taken.resize(self.states.len(), true);
        }
        self.rows.resize(count, 0);
        match groups {
            None => self.rows[0] += rows.len() as u64,
            Some(groups) => count_groups(groups, &rows, &mut self.rows),
        }
        self.uncounted_rows += rows.len();
        if self.uncounted_rows * GROUPS_PER_ROW >= count {
            self.count_state_bytes();
        }
        Ok(())
    }

    /// Keeps the values that the first rows of new groups have in the keys that depend on others.
    fn keep_dependent(
        &mut self,
        run: Run<'_>,
        slice: &Slice<'_>,
        rows: &Selection,
        numbers: &[u32],
    ) -> Result<()> {
        for (value, firsts) in &mut self.dependent {
            if firsts.len() == self.groups.len() {
                continue;
            }
            let mut new = Vec::new();
            let mut next = firsts.len() as u32;
            // New groups have got their numbers in the order of their first rows.
            rows.each(|row| {
                if numbers[row] == next {
                    new.push(row as u16);
                    next += 1;
                }
            });
            let new = Selection::Some(new);
            let vector = value.vector(run, slice, &new)?;
            new.each(|row| {
                let value = vector.datum(row);
                self.dependent_bytes += value.heap_bytes();
                firsts.push(value);
            });
        }
        Ok(())
    }

    /// Takes rows into the state of a call whose filter is true for the rows that are wanted.
    fn take_filtered(
        &mut self,
        run: Run<'_>,
        slice: &Slice<'_>,
        at: usize,
        wanted: &Selection,
        selected: Rows<'_>,
    ) -> Result<()> {
        let call = &self.calls[at];
        if call.form == Form::Each || matches!(self.states[call.state], State::Each(_)) {
            return self.take_each(run, slice, at, Rows { rows: wanted, ..selected });
        }
        // The other rows have NULL.
        let mut nulls = vec![true; slice.rows()];
        let vector = match call.inputs[..] {
            [input] => self.inputs[input].vector(run, slice, wanted)?,
            _ => {
                let ints = Ints { repr: Repr::Int8, values: Vec::new(), bound: 0 };
                Lent::Owned(Vector { values: Values::Ints(ints), nulls: Vec::new() })
            }
        };
        wanted.each(|row| nulls[row] = vector.is_null(row));
        let vector = Vector { values: vector.values.clone(), nulls };
        if self.states[call.state].update(&vector, selected) {
            return Ok(());
        }
        let state = call.state;
        self.replace(run, state, selected.count)?;
        self.take_each(run, slice, at, Rows { rows: wanted, ..selected })
    }

    fn take_call(
        &mut self,
        run: Run<'_>,
        slice: &Slice<'_>,
        at: usize,
        selected: Rows<'_>,
    ) -> Result<()> {
        let call = &self.calls[at];
        if call.form == Form::Rows {
            return Ok(());
        }
        if matches!(self.states[call.state], State::Each(_)) {
            return self.take_each(run, slice, at, selected);
        }
        let vector = self.inputs[call.inputs[0]].vector(run, slice, selected.rows)?;
        let state = call.state;
        if self.states[state].update(&vector, selected) {
            return Ok(());
        }
        drop(vector);
        for at in self.replace(run, state, selected.count)? {
            self.take_each(run, slice, at, selected)?;
        }
        Ok(())
    }

    /// Puts accumulators that go on in the place of a state, into a state of its own for each call that has it.
    /// Returns these calls.
    fn replace(&mut self, run: Run<'_>, state: usize, groups: usize) -> Result<Vec<usize>> {
        let has_it = |at: &usize| self.calls[*at].state == state;
        let sharing: Vec<usize> = (0..self.calls.len()).filter(has_it).collect();
        let mut made = Vec::with_capacity(sharing.len());
        for at in &sharing {
            let call = &self.calls[*at];
            let context = call.context(run);
            let mut all = Vec::with_capacity(groups);
            for group in 0..groups {
                let mut accumulator = self.begin(run, call, group)?;
                let rows = self.rows.get(group).copied().unwrap_or(0);
                self.states[state].give(group, rows, &context, accumulator.as_mut())?;
                all.push(accumulator);
            }
            made.push(State::Each(all));
        }
        for (place, (at, each)) in sharing.iter().zip(made).enumerate() {
            if place == 0 {
                self.states[state] = each;
            } else {
                self.calls[*at].state = self.states.len();
                self.states.push(each);
            }
        }
        self.count_state_bytes();
        Ok(sharing)
    }

    /// Takes rows into the accumulators of a call.
    fn take_each(
        &mut self,
        run: Run<'_>,
        slice: &Slice<'_>,
        at: usize,
        rows: Rows<'_>,
    ) -> Result<()> {
        let call = &self.calls[at];
        let inputs =
            call.inputs.iter().map(|input| self.inputs[*input].vector(run, slice, rows.rows));
        let inputs = inputs.collect::<Result<Vec<Lent<'_, '_>>>>()?;
        let vectors: Vec<&Vector<'_>> = inputs.iter().map(|input| &**input).collect();
        let known = match &self.states[call.state] {
            State::Each(known) => known.len(),
            _ => 0,
        };
        let new = (known..rows.count).map(|group| self.begin(run, call, group));
        let new = new.collect::<Result<Vec<_>>>()?;
        self.states[call.state].update_each(&vectors, rows, &call.context(run), new)
    }

    /// Returns an accumulator of a call for a group, which has taken no rows.
    fn begin(&self, run: Run<'_>, call: &Call, group: usize) -> Result<Box<dyn Accumulator>> {
        let mut accumulator = call.start();
        if !call.direct.is_empty() {
            let keys: Vec<Datum> =
                (0..self.places.len()).map(|at| self.key(group, at).to_owned()).collect();
            let direct = call.direct.iter().map(|one| run.value(one, Row::Values(&keys)));
            let direct = direct.collect::<Result<Vec<Datum>>>()?;
            let direct: Vec<DatumRef<'_>> = direct.iter().map(Datum::as_ref).collect();
            accumulator.begin(&direct);
        }
        Ok(accumulator)
    }

    /// Calls `f` with up to [`ROWS_MAX`] groups from `first` on: their keys, and behind these their results. Each group
    /// is given once.
    ///
    /// # Errors
    /// The errors of the aggregates and `f`.
    pub fn give(
        &self,
        run: Run<'_>,
        first: usize,
        f: &mut dyn FnMut(&Slice<'_>, &Selection) -> Result<()>,
    ) -> Result<()> {
        let groups = first..self.len().min(first + ROWS_MAX);
        let (count, width) = (groups.len(), self.places.len() + self.calls.len());
        let finished = Finished { aggregation: self, run, groups };
        f(&Slice::new(count, width, 0, &finished), &Selection::All(count))
    }

    /// Returns a key of a group.
    fn key(&self, group: usize, at: usize) -> DatumRef<'_> {
        match self.places[at] {
            GroupKeyColumn::Leading(at) => self.groups.key(group, at),
            GroupKeyColumn::Dependent(at) => self.dependent[at].1[group].as_ref(),
        }
    }

    /// Returns the result of a call for a group, by its accumulator.
    fn result(&self, run: Run<'_>, call: &Call, group: usize) -> Result<Datum> {
        let context = call.context(run);
        if let State::Each(groups) = &self.states[call.state]
            && let Some(accumulator) = groups.get(group)
        {
            return bounded::value(accumulator.finish(&context)?);
        }
        let mut accumulator = self.begin(run, call, group)?;
        let rows = self.rows.get(group).copied().unwrap_or(0);
        self.states[call.state].give(group, rows, &context, accumulator.as_mut())?;
        bounded::value(accumulator.finish(&context)?)
    }
}

/// Groups with their results.
struct Finished<'p> {
    aggregation: &'p Aggregation,
    run: Run<'p>,
    groups: Range<usize>,
}

impl<'p> Load<'p> for Finished<'p> {
    fn column(&self, at: usize) -> Result<Vector<'p>> {
        let Self { aggregation, run, groups } = self;
        let repr = aggregation.reprs[at];
        let Some(call) = at.checked_sub(aggregation.places.len()) else {
            return Ok(match aggregation.places[at] {
                GroupKeyColumn::Leading(at) => aggregation.groups.keys(groups.clone(), at, repr),
                GroupKeyColumn::Dependent(at) => {
                    let values = &aggregation.dependent[at].1[groups.clone()];
                    Vector::of_refs(repr, values.iter().map(Datum::as_ref).collect())
                }
            });
        };
        let call = &aggregation.calls[call];
        let state = &aggregation.states[call.state];
        if let Some(vector) = state.results(call.name, groups.clone(), &aggregation.rows, repr) {
            return Ok(vector);
        }
        let results = groups.clone().map(|group| aggregation.result(*run, call, group));
        Ok(Vector::of_datums(repr, results.collect::<Result<Vec<Datum>>>()?))
    }
}

/// Adds the selected rows of a slice, whose groups these are, to the number of rows of each group.
fn count_groups(groups: &[u32], rows: &Selection, counts: &mut [u64]) {
    if !add_to_few(counts.len(), groups, rows, |_| 1, |group, more| counts[group] += more as u64) {
        rows.each(|row| counts[groups[row] as usize] += 1);
    }
}

/// Returns the form of the state of a call.
fn form_of(
    call: &AggregateCall,
    kernel: Kernel,
    is_filtered: bool,
    compiler: &Compiler<'_>,
) -> Form {
    let arg = call.args.first();
    if kernel.kind != Kind::Normal {
        let counted = arg.and_then(counted_type);
        let repr = counted.and_then(|(inner, _)| compiler.repr(inner.ty)).unwrap_or(Repr::Int8);
        let is_float = counted.is_some_and(|(_, is_float)| is_float);
        let is_descending = call.order.first().is_some_and(|key| key.descending);
        return Form::Counts { repr, is_float, is_descending };
    }
    let is_exact = |ty| matches!(ty, Type::INT2 | Type::INT4 | Type::INT8 | Type::NUMERIC);
    let has_order = |ty| {
        is_exact(ty) || matches!(ty, Type::DATE | Type::TIME | Type::TIMESTAMP | Type::TIMESTAMPTZ)
    };
    match (call.name, arg.map(|arg| arg.ty)) {
        ("count", Some(_)) if call.distinct => Form::Distinct,
        ("count", None) if !is_filtered => Form::Rows,
        ("count", _) if call.args.len() < 2 => Form::Present,
        ("sum" | "avg", Some(ty)) if is_exact(ty) => Form::Totals,
        ("sum", Some(Type::FLOAT8)) => Form::Floats,
        ("avg", Some(Type::FLOAT4 | Type::FLOAT8)) => Form::Floats,
        ("min" | "max", Some(ty)) if has_order(ty) => {
            let repr = compiler.repr(ty).unwrap_or(Repr::Int8);
            Form::Extremes { is_least: call.name == "min", repr }
        }
        _ => Form::Each,
    }
}
