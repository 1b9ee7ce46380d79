//! Subqueries in expressions.
//!
//! ```text
//!   args ──> slots ──> were they the same the last time? the result then
//!                  ──> else: rewind, run as far as it decides, keep the result
//!   x IN (...)     the rows once in a hash table, as long as what they depend on stays
//!   WHERE k = ^k   the values of all k in a hash table, once that is cheaper: see `grouped`
//! ```
//!
//! A subquery that reads no slots and no table of `WITH` around it is so computed once in an execution, as PostgreSQL does with its
//! initial plans.

use sql::eval::{Program, Row as EvalRow};
use types::{Array, Datum, Error, Record, Repr, Result, SqlState, Type};

use super::depends::{Depends, Known};
use super::grouped::{Grouped, Memo};
use super::hash::{KeyTable, canonical};
use super::{Input, Row};
use crate::ctx::{Env, Held, Shared};
use crate::spill::{RowStore, StorePosition};

/// How the rows of a subquery are used.
pub(crate) enum Link {
    Scalar,
    /// The types of the columns of the record.
    Row(Vec<(Type, Repr)>),
    Exists,
    /// An array of the rows' only column.
    Array {
        /// The type of the elements.
        element: Type,
        repr: Repr,
        /// True if the rows are arrays themselves: the slices of one with a dimension more.
        nested: bool,
    },
    Test(Test),
}

/// A test against the rows of a subquery.
pub(crate) struct Test {
    pub(crate) all: bool,
    pub(crate) left: Vec<(Program, u32)>,
    pub(crate) condition: Program,
    /// The keys by which the rows are hashed, where the test is equality.
    pub(crate) keys: Option<Vec<Program>>,
}

/// A subquery that is run for one row after the other.
pub(crate) struct Subplan {
    root: Input,
    link: Link,
    args: Vec<u32>,
    /// The dependencies of the result; `None` if it may differ in spite of them.
    depends: Option<Depends>,
    /// The dependencies of its rows.
    rows_depend: Option<Depends>,
    last: Option<(Known, Datum)>,
    /// Earlier results.
    memo: Option<Memo>,
    grouped: Option<Grouped>,
    hashed: Option<(Known, Hashed)>,
    row: Row,
}

impl Subplan {
    pub(crate) fn new(
        root: Input,
        link: Link,
        args: Vec<u32>,
        depends: Option<Depends>,
        rows_depend: Option<Depends>,
        is_kept: bool,
        grouped: Option<Grouped>,
    ) -> Self {
        let has_slots = depends.as_ref().is_some_and(|depends| !depends.has_no_slots());
        let memo = (is_kept && has_slots).then(Memo::default);
        let (last, hashed, row) = (None, None, Row::new());
        Self { root, link, args, depends, rows_depend, last, memo, grouped, hashed, row }
    }

    /// Forgets all results.
    pub(crate) fn forget(&mut self, shared: &Shared) {
        self.last = None;
        self.memo.iter_mut().for_each(|memo| memo.forget(shared));
        self.grouped.iter_mut().for_each(|grouped| grouped.forget(shared));
        if let Some((_, mut hashed)) = self.hashed.take() {
            hashed.held.clear(shared);
        }
        self.root.rewind(shared);
    }

    /// The result for these arguments.
    pub(crate) fn value(
        &mut self,
        env: &Env<'_>,
        args: &mut dyn Iterator<Item = Result<Datum>>,
    ) -> Result<Datum> {
        for (slot, value) in self.args.iter().zip(args) {
            env.shared.set_slot(*slot, value?);
        }
        let shared = env.shared;
        if let (Some(depends), Some((known, result))) = (&self.depends, &self.last)
            && depends.still(shared, known)
        {
            return Ok(result.clone());
        }
        let hashes = matches!(&self.link, Link::Test(Test { keys: Some(_), .. }));
        let result = match &self.rows_depend {
            Some(depends) if hashes => {
                let holds = |(known, _): &(Known, Hashed)| depends.still(shared, known);
                if !self.hashed.as_ref().is_some_and(holds) {
                    let known = depends.now(shared);
                    self.hash(env, known)?;
                }
                self.look_up(env)?
            }
            _ => self.compute(env)?,
        };
        if let Some(depends) = &self.depends {
            self.last = Some((depends.now(shared), result.clone()));
        }
        Ok(result)
    }

    /// Notes what rows will ask for, by the programs of the arguments.
    pub(crate) fn expect(
        &mut self,
        env: &Env<'_>,
        args: &[Program],
        rows: &RowStore,
    ) -> Result<()> {
        let Some(grouped) = &mut self.grouped else { return Ok(()) };
        if !grouped.expects(env) {
            return Ok(());
        }
        let mut place = StorePosition::default();
        for at in 0..rows.len() {
            env.tick()?;
            let Some(row) = rows.get(at, &mut place)? else { break };
            let values = args.iter().map(|program| env.value(program, row));
            // An error is reported when the row asks.
            let Ok(values) = values.collect::<Result<Row>>() else { continue };
            for (slot, value) in self.args.iter().zip(values) {
                env.shared.set_slot(*slot, value);
            }
            grouped.expect(env)?;
        }
        Ok(())
    }

    /// The result for the slots as they are: one that is known, or a new one.
    fn compute(&mut self, env: &Env<'_>) -> Result<Datum> {
        if let Some(grouped) = &mut self.grouped
            && let Some(result) = grouped.value(env)?
        {
            return Ok(result);
        }
        if let (Some(memo), Some(depends)) = (&mut self.memo, &self.depends)
            && let Some(result) = memo.find(env, depends)
        {
            return Ok(result);
        }
        let begun = env.shared.ticks();
        self.root.rewind(env.shared);
        let result = self.run(env)?;
        self.root.rewind(env.shared);
        let rows = env.shared.ticks() - begun;
        self.grouped.iter_mut().for_each(|grouped| grouped.spend(rows));
        if let Some(memo) = &mut self.memo {
            memo.keep(env, &result);
        }
        Ok(result)
    }

    fn run(&mut self, env: &Env<'_>) -> Result<Datum> {
        let Self { root, row, .. } = self;
        match &self.link {
            Link::Exists => Ok(Datum::Bool(root.next(env, row)?)),
            Link::Scalar => {
                if !root.next(env, row)? {
                    return Ok(Datum::Null);
                }
                let value = std::mem::take(&mut row[0]);
                if root.next(env, row)? {
                    return Err(too_many());
                }
                Ok(value)
            }
            Link::Row(types) => {
                if !root.next(env, row)? {
                    return Ok(Datum::Null);
                }
                let fields = types.iter().zip(&*row);
                let record =
                    Record::new(fields.map(|((ty, repr), value)| (*ty, *repr, value.as_ref())));
                if root.next(env, row)? {
                    return Err(too_many());
                }
                Ok(record.into())
            }
            Link::Array { element, repr, nested } => {
                let mut values = Vec::new();
                let mut held = Held::default();
                while root.next(env, row)? {
                    held.add_row(env, row)?;
                    values.push(std::mem::take(&mut row[0]));
                }
                held.clear(env.shared);
                array_of(&values, *element, *repr, *nested)
            }
            Link::Test(test) => {
                for (program, slot) in &test.left {
                    let value = env.value(program, EvalRow::NONE)?;
                    env.shared.set_slot(*slot, value);
                }
                let mut unknown = false;
                while root.next(env, row)? {
                    match env.value(&test.condition, &*row)? {
                        Datum::Bool(value) if value != test.all => {
                            return Ok(Datum::Bool(!test.all));
                        }
                        Datum::Bool(_) => {}
                        _ => unknown = true,
                    }
                }
                Ok(if unknown { Datum::Null } else { Datum::Bool(test.all) })
            }
        }
    }

    /// Puts the rows into a hash table.
    fn hash(&mut self, env: &Env<'_>, known: Known) -> Result<()> {
        if let Some((_, mut old)) = self.hashed.take() {
            old.held.clear(env.shared);
        }
        let Link::Test(Test { keys: Some(keys), .. }) = &self.link else { return Ok(()) };
        let mut hashed = Hashed::default();
        let mut key = Row::new();
        self.root.rewind(env.shared);
        while self.root.next(env, &mut self.row)? {
            key.clear();
            for program in keys {
                key.push(canonical(env.value(program, &self.row)?));
            }
            if hashed.keys.insert(&key).1 {
                hashed.held.add_row(env, &key)?;
                if key.iter().any(Datum::is_null) {
                    hashed.with_nulls.push(key.clone());
                }
            }
        }
        self.root.rewind(env.shared);
        self.hashed = Some((known, hashed));
        Ok(())
    }

    fn look_up(&mut self, env: &Env<'_>) -> Result<Datum> {
        let (Link::Test(test), Some((_, hashed))) = (&self.link, &self.hashed) else {
            return Ok(Datum::Null);
        };
        let mut key = Row::new();
        for (program, _) in &test.left {
            key.push(canonical(env.value(program, EvalRow::NONE)?));
        }
        Ok(match hashed.finds(&key) {
            Some(found) => Datum::Bool(found),
            None => Datum::Null,
        })
    }
}

/// The rows of a subquery that `IN` looks into.
#[derive(Default)]
struct Hashed {
    keys: KeyTable,
    /// Those of them that have a NULL.
    with_nulls: Vec<Row>,
    held: Held,
}

impl Hashed {
    /// Whether the key is among the rows; `None` if that is not known because of a NULL.
    fn finds(&self, key: &[Datum]) -> Option<bool> {
        let may_equal = |row: &[Datum]| {
            let mut pairs = row.iter().zip(key);
            pairs.all(|(a, b)| a.is_null() || b.is_null() || a == b)
        };
        if key.iter().any(Datum::is_null) {
            let may = (0..self.keys.len()).any(|at| may_equal(self.keys.key(at)));
            return if may { None } else { Some(false) };
        }
        if self.keys.find(key).is_some() {
            return Some(true);
        }
        if self.with_nulls.iter().any(|row| may_equal(row)) { None } else { Some(false) }
    }
}

pub(super) fn too_many() -> Error {
    Error::new(
        SqlState::CARDINALITY_VIOLATION,
        "more than one row returned by a subquery used as an expression",
    )
}

/// The array of these values; where they are slices of it, of one dimension more.
fn array_of(values: &[Datum], element: Type, repr: Repr, nested: bool) -> Result<Datum> {
    if !nested || values.iter().all(Datum::is_null) {
        let elements = values.iter().map(Datum::as_ref);
        return Ok(Array::from_elements(element, repr, elements)?.into());
    }
    let mismatch = |message: &str| Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    let mut dimensions: Option<Vec<types::Dimension>> = None;
    let mut elements = Vec::new();
    for value in values {
        let Datum::Array(array) = value else {
            return Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "cannot accumulate null arrays",
            ));
        };
        let inner = array.as_ref().dimensions();
        if inner.is_empty() {
            return Err(mismatch("cannot accumulate empty arrays"));
        }
        if *dimensions.get_or_insert_with(|| inner.clone()) != inner {
            return Err(mismatch("cannot accumulate arrays of different dimensionality"));
        }
        elements.extend(array.as_ref().to_vec());
    }
    let length = i32::try_from(values.len()).unwrap_or(i32::MAX);
    let mut all = vec![types::Dimension { length, lower: 1 }];
    all.extend(dimensions.unwrap_or_default());
    Ok(Array::new(element, repr, &all, elements.iter().map(Datum::as_ref))?.into())
}
