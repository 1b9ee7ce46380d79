//! Conditions over slices, which select rows, and their results from the bounds of a block.
//!
//! ```text
//!   day between $1 and $2       Compare(day >= $1), Compare(day <= $2)      arrays
//!   url like '/page/1%'         Word: once for each entry of the dictionary
//!   length(note) > 10           Rows: row by row
//! ```
//!
//! The parts of a conjunction narrow the selection one after the other, cheap ones first: a part is computed only for rows
//! that the parts before it have left.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use json::jsonb::{Jsonb, JsonbRef};
use scalar::{Comparison, registry};
use sql::eval::Row;
use sql::plan::{Expr, ExprKind};
use stripe::Zone;
use types::{Datum, DatumRef, Repr, Result};

use crate::ROWS_MAX;
use crate::by_row::ByRow;
use crate::compare::{Compare, compare, compare_is_native, keep_pairs};
use crate::slice::{Marks, Place, Selection, Slice};
use crate::source::FieldForm;
use crate::texts::TextTest;
use crate::value::{Compiler, Run, Value, column_and_name};
use crate::vector::{Values, Vector, is_int};
use crate::words::Words;

/// A condition.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// All of them are true.
    And(Vec<Condition>),
    /// One of them is true.
    Or(Vec<Condition>),
    /// A value against one that is the same for all rows.
    Compare(Box<Compare>),
    /// A value against another one of the row.
    Columns(Box<[Value; 2]>, Comparison, ByRow),
    /// A value is NULL, or is not.
    IsNull(Value, bool),
    /// Objects contain these fields.
    Contains(Vec<Member>, ByRow),
    /// Objects have a field.
    HasField(usize, ByRow),
    /// Texts of a column begin with these bytes.
    Prefix(usize, String, ByRow),
    /// A condition on one column, for each entry of its dictionary.
    Word(usize, ByRow, RefCell<Memo>, Option<TextTest>),
    Rows(ByRow),
}

/// A field that objects are to contain.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    field: usize,
    value: Jsonb,
    memo: RefCell<Memo>,
}

impl Member {
    /// Returns true if a value of the field contains that of the member.
    fn is_in(&self, value: DatumRef<'_>) -> Result<bool> {
        let DatumRef::Jsonb(value) = value else { return Ok(false) };
        let wanted = self.value.root();
        // Only at its top an array contains a scalar.
        let is_alike = wanted.kind().is_container() == value.kind().is_container();
        Ok(is_alike && value.contains(wanted)?)
    }

    fn narrow(&self, vector: &Vector<'_>, rows: &mut Selection) -> Result<()> {
        if !vector.nulls.is_empty() {
            rows.retain_by(&vector.nulls, |is_null| !is_null);
        }
        let Values::Codes(words, codes) = &vector.values else {
            return rows.try_retain(|row| vector.with(row, |value| self.is_in(value)));
        };
        let test = |row: usize| self.is_in(words.get(codes[row])).map(Some);
        self.memo.borrow_mut().narrow(words, codes, rows, test)
    }
}

/// The results of a condition for the entries of a dictionary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    words: Option<Arc<Words>>,
    verdicts: Vec<Verdict>,
    /// How many entries have no verdict yet.
    open: usize,
    /// The codes of the entries that fulfil the condition, once they are looked for: `None` if they are in no range.
    range: Option<Option<Range<u32>>>,
}

/// The verdict of a condition on an entry. The bits of verdicts can be put together: those of some entries have
/// [`UNKNOWN`] if one of them has no verdict yet.
type Verdict = u8;

const FALSE: Verdict = 0;
const TRUE: Verdict = 1;
const UNKNOWN: Verdict = 2;

impl Memo {
    fn begin(&mut self, words: &Arc<Words>) {
        if !self.words.as_ref().is_some_and(|known| Arc::ptr_eq(known, words)) {
            self.words = Some(Arc::clone(words));
            self.verdicts.clear();
            self.verdicts.resize(words.len(), UNKNOWN);
            self.open = words.len();
            self.range = None;
        }
    }

    /// Returns the codes of the entries that fulfil the condition, if they are one after the other in a small dictionary.
    /// `test` says whether an entry does.
    fn range(
        &mut self,
        words: &Arc<Words>,
        mut test: impl FnMut(DatumRef<'_>) -> Result<bool>,
    ) -> Option<Range<u32>> {
        /// Dictionaries with more entries are asked only about those that rows have.
        const ENTRIES_MAX: usize = 256;
        self.begin(words);
        if self.range.is_none() {
            let mut found: Option<Range<u32>> = Some(0..0);
            for code in (0..words.len() as u32).take_while(|_| words.len() <= ENTRIES_MAX) {
                // An error is one only if a row has the entry.
                match (test(words.get(code)), &mut found) {
                    (Ok(true), Some(range)) if range.start == range.end => *range = code..code + 1,
                    (Ok(true), Some(range)) if range.end == code => range.end += 1,
                    (Ok(false), _) => {}
                    _ => found = None,
                }
            }
            self.range = Some(found.filter(|_| words.len() <= ENTRIES_MAX));
        }
        self.range.clone().flatten()
    }

    /// Returns what the condition says of the entries that rows have. `test` gives the verdict of the entry that a row
    /// has; `None` if the row does not tell.
    fn judge(
        &mut self,
        words: &Arc<Words>,
        codes: &[u32],
        rows: &Selection,
        mut test: impl FnMut(usize) -> Result<Option<bool>>,
    ) -> Result<&[Verdict]> {
        self.begin(words);
        // Some entries may never get a verdict, as no row has them. So a pass without a branch finds out first whether the
        // entry of a row lacks it.
        if self.open > 0 && rows.either(codes, |code| self.verdicts[code as usize]) & UNKNOWN != 0 {
            rows.try_each(|row| {
                let verdict = &mut self.verdicts[codes[row] as usize];
                if *verdict == UNKNOWN
                    && let Some(is_true) = test(row)?
                {
                    *verdict = if is_true { TRUE } else { FALSE };
                    self.open -= 1;
                }
                Ok::<_, types::Error>(())
            })?;
        }
        Ok(&self.verdicts)
    }

    /// Keeps the rows, none of which is NULL, whose entries fulfil the condition. `test` is as in [`Memo::judge`].
    fn narrow(
        &mut self,
        words: &Arc<Words>,
        codes: &[u32],
        rows: &mut Selection,
        test: impl FnMut(usize) -> Result<Option<bool>>,
    ) -> Result<()> {
        let verdicts = self.judge(words, codes, rows, test)?;
        rows.retain_by(codes, |code| verdicts[code as usize] == TRUE);
        Ok(())
    }
}

/// How many rows of a block fulfil a condition, as far as the zones of its columns tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// None.
    Never,
    /// All.
    Always,
    /// The zones do not tell: the condition must be evaluated for each row.
    Open,
}

impl Condition {
    /// Returns the fastest form of a condition over the columns of a slice.
    ///
    /// # Errors
    /// The errors of compiling a program.
    pub fn compile(expr: &Expr, compiler: &mut Compiler<'_>) -> Result<Condition> {
        let all = |list: &[Expr], compiler: &mut Compiler<'_>| {
            list.iter().map(|part| Condition::compile(part, compiler)).collect::<Result<Vec<_>>>()
        };
        match &expr.kind {
            ExprKind::And(list) => {
                let mut parts = all(list, compiler)?;
                // The cheap ones leave fewer rows to the others.
                parts.sort_by_key(Condition::cost);
                return Ok(Condition::And(parts));
            }
            ExprKind::Or(list) => return Ok(Condition::Or(all(list, compiler)?)),
            ExprKind::IsNull { expr: inner, negated }
                if !matches!(inner.kind, ExprKind::Row { .. }) =>
            {
                return Ok(Condition::IsNull(Value::compile(inner, compiler)?, *negated));
            }
            _ => {}
        }
        let whole = compiler.by_row(expr)?;
        if let ExprKind::Call(call) = &expr.kind {
            let name = registry::function(call.function).map(|function| function.name);
            if let (Some("jsonb_exists"), Some((column, field))) =
                (name, column_and_name(&call.args))
            {
                let number = compiler.field(column, field, FieldForm::Presence);
                return Ok(Condition::HasField(number, whole));
            }
            if name == Some("textlike")
                && let Some((column, prefix)) = column_and_name(&call.args).and_then(prefix_of)
            {
                return Ok(Condition::Prefix(column, prefix, whole));
            }
            if name == Some("jsonb_contains")
                && let Some(members) = members(&call.args, compiler)
            {
                return Ok(Condition::Contains(members, whole));
            }
        }
        if let Some(compare) = compare(expr, compiler)? {
            let (value, how, with) = compare;
            let of_text = matches!(&value, Value::Column(_)) && !compare_is_native(expr, compiler);
            if !of_text {
                return Ok(Condition::Compare(Box::new(Compare { value, how, with, whole })));
            }
        }
        if let Some(column) = whole.only_column() {
            return Ok(Condition::Word(column, whole, RefCell::default(), TextTest::of(expr)));
        }
        if let ExprKind::Call(call) = &expr.kind
            && let Some(how) = registry::function(call.function).and_then(Comparison::of)
            && let [left, right] = &call.args[..]
            && left.ty == right.ty
            && compiler.repr(left.ty).is_some_and(|repr| is_int(repr) || repr == Repr::Numeric)
        {
            let sides = [Value::compile(left, compiler)?, Value::compile(right, compiler)?];
            return Ok(Condition::Columns(Box::new(sides), how, whole));
        }
        Ok(Condition::Rows(whole))
    }

    /// Returns what the condition costs for a row, in classes: numbers, then texts, then what its program computes.
    fn cost(&self) -> u8 {
        match self {
            Condition::IsNull(..) | Condition::HasField(..) => 0,
            Condition::Compare(compare) => compare.value.cost(),
            Condition::Columns(sides, ..) => sides.iter().map(Value::cost).max().unwrap_or(0),
            Condition::Prefix(..) | Condition::Contains(..) | Condition::Word(.., Some(_)) => 1,
            Condition::And(list) | Condition::Or(list) => {
                list.iter().map(Condition::cost).max().unwrap_or(0)
            }
            Condition::Word(.., None) | Condition::Rows(_) => 2,
        }
    }

    /// Keeps the rows for which the condition is true.
    ///
    /// # Errors
    /// The errors of reading the columns and the programs.
    pub fn narrow(&self, run: Run<'_>, slice: &Slice<'_>, rows: &mut Selection) -> Result<()> {
        let list = match self {
            Condition::And(list) => &list[..],
            _ => std::slice::from_ref(self),
        };
        if rows.is_empty() {
            return Ok(());
        }
        let rest = narrow_packed(list, run, slice, rows)?;
        rest.iter().try_for_each(|part| part.narrow_decoded(run, slice, rows))
    }

    /// As [`Condition::narrow`], for a condition that packed numbers and codes do not decide.
    fn narrow_decoded(&self, run: Run<'_>, slice: &Slice<'_>, rows: &mut Selection) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        match self {
            Condition::And(_) => self.narrow(run, slice, rows),
            Condition::Or(list) => narrow_any(list, run, slice, rows),
            Condition::IsNull(value, negated) => {
                let vector = value.vector(run, slice, rows)?;
                rows.retain(|row| vector.is_null(row) != *negated);
                Ok(())
            }
            Condition::Compare(compare) => compare.narrow(run, slice, rows),
            Condition::Contains(members, whole) => {
                let fields = members.iter().map(|member| slice.field(member.field));
                let fields = fields.collect::<Result<Option<Vec<&Vector<'_>>>>>()?;
                let Some(fields) = fields else {
                    return rows.try_retain(|row| whole.test(run, slice, row));
                };
                let mut pairs = members.iter().zip(fields);
                pairs.try_for_each(|(member, vector)| member.narrow(vector, rows))
            }
            Condition::Prefix(column, prefix, whole) => {
                let vector = slice.column_of(*column, rows)?;
                let begins = |value: DatumRef<'_>| matches!(value, DatumRef::Text(text) if text.starts_with(prefix.as_str()));
                match &vector.values {
                    Values::Codes(words, codes) if words.is_sorted() => {
                        let (from, to) = words.with_prefix(prefix.as_bytes());
                        rows.retain_by(codes, |code| code.wrapping_sub(from) < to - from);
                    }
                    Values::Codes(words, codes) => {
                        let all = (0..words.len()).map(|code| begins(words.get(code as u32)));
                        let verdicts: Vec<bool> = all.collect();
                        rows.retain_by(codes, |code| verdicts[code as usize]);
                    }
                    Values::Refs(values) => rows.retain_by(values, begins),
                    _ => return rows.try_retain(|row| whole.test(run, slice, row)),
                }
                if !vector.nulls.is_empty() {
                    rows.retain_by(&vector.nulls, |is_null| !is_null);
                }
                Ok(())
            }
            Condition::HasField(number, whole) => match slice.field(*number)? {
                None => rows.try_retain(|row| whole.test(run, slice, row)),
                Some(vector) => {
                    rows.retain(|row| !vector.is_null(row));
                    Ok(())
                }
            },
            Condition::Word(column, whole, memo, test) => {
                let vector = slice.column_of(*column, rows)?;
                let (words, codes) = match (&vector.values, test) {
                    (Values::Codes(words, codes), _) => (words, codes),
                    (Values::Refs(values), Some(test)) => {
                        rows.retain(|row| test.is_true(values[row]) && !vector.is_null(row));
                        return Ok(());
                    }
                    _ => {
                        let mut found = vec![false; slice.rows()];
                        let is_true = |value: &Datum| matches!(value, Datum::Bool(true));
                        if whole.each_by_int(run, slice, rows, |row, value| {
                            found[row] = is_true(value);
                        })? {
                            rows.retain(|row| found[row]);
                            return Ok(());
                        }
                        return rows.try_retain(|row| whole.test(run, slice, row));
                    }
                };
                let mut memo = memo.borrow_mut();
                let test = |row| match vector.is_null(row) {
                    true => Ok(None),
                    false => whole.test(run, slice, row).map(Some),
                };
                if vector.nulls.is_empty() {
                    return memo.narrow(words, codes, rows, test);
                }
                let verdicts = memo.judge(words, codes, rows, test)?;
                rows.try_retain(|row| match vector.is_null(row) {
                    true => whole.test(run, slice, row),
                    false => Ok(verdicts[codes[row] as usize] == TRUE),
                })
            }
            Condition::Columns(sides, how, whole) => {
                let left = sides[0].vector(run, slice, rows)?;
                let right = sides[1].vector(run, slice, rows)?;
                match (&left.values, &right.values) {
                    (Values::Ints(left), Values::Ints(right)) => {
                        keep_pairs(*how, &left.values, &right.values, rows);
                    }
                    (Values::Decimals(left), Values::Decimals(right))
                        if left.scale == right.scale =>
                    {
                        keep_pairs(*how, &left.mantissas, &right.mantissas, rows);
                    }
                    _ => return rows.try_retain(|row| whole.test(run, slice, row)),
                }
                for vector in [&left, &right] {
                    if !vector.nulls.is_empty() {
                        rows.retain_by(&vector.nulls, |is_null| !is_null);
                    }
                }
                Ok(())
            }
            Condition::Rows(whole) => rows.try_retain(|row| whole.test(run, slice, row)),
        }
    }

    /// Sets the marks of rows to 0 for which the condition is not true. Returns false, and sets none, if packed numbers or
    /// codes do not decide it.
    fn unmark(&self, run: Run<'_>, slice: &Slice<'_>, marks: &mut Marks) -> Result<bool> {
        match self {
            Condition::And(list) => {
                let mut all = *marks;
                for part in list {
                    if !part.unmark(run, slice, &mut all)? {
                        return Ok(false);
                    }
                }
                *marks = all;
                Ok(true)
            }
            Condition::Or(list) => {
                let mut any: Marks = [0; ROWS_MAX];
                for part in list {
                    let mut own = *marks;
                    if !part.unmark(run, slice, &mut own)? {
                        return Ok(false);
                    }
                    any.iter_mut().zip(own).for_each(|(any, own)| *any |= own);
                }
                *marks = any;
                Ok(true)
            }
            Condition::Compare(compare) => compare.unmark(run, slice, marks),
            Condition::Prefix(column, prefix, _) => {
                slice.unmark_codes(Place::Column(*column), marks, |words| {
                    let (from, to) = words.with_prefix(prefix.as_bytes());
                    words.is_sorted().then_some(from..to)
                })
            }
            Condition::Contains(members, _) => {
                let [member] = &members[..] else { return Ok(false) };
                slice.unmark_codes(Place::Field(member.field), marks, |words| {
                    member.memo.borrow_mut().range(words, |value| member.is_in(value))
                })
            }
            Condition::Word(column, whole, memo, _) => {
                slice.unmark_codes(Place::Column(*column), marks, |words| {
                    let test = |value: DatumRef<'_>| {
                        let mut values = vec![DatumRef::Null; *column + 1];
                        values[*column] = value;
                        run.test(&whole.program, Row::Refs(&values))
                    };
                    memo.borrow_mut().range(words, test)
                })
            }
            _ => Ok(false),
        }
    }

    /// Forgets what parameters and values around have decided.
    pub fn forget(&self) {
        match self {
            Condition::And(list) | Condition::Or(list) => list.iter().for_each(Condition::forget),
            Condition::Compare(compare) => compare.value.forget(),
            Condition::IsNull(value, _) => value.forget(),
            Condition::Columns(sides, ..) => sides.iter().for_each(Value::forget),
            Condition::Word(_, whole, memo, _) => {
                *memo.borrow_mut() = Memo::default();
                whole.forget();
            }
            // Their members are known without either.
            Condition::Contains(..) | Condition::HasField(..) => {}
            Condition::Prefix(..) | Condition::Rows(_) => {}
        }
    }

    /// Says what the zones of a block tell of the condition. `zone` gives that of a column, and how its values are
    /// held, `field` that of a field of objects, by its number; `None` if nothing is known.
    pub fn known<'z>(
        &self,
        run: Run<'_>,
        zone: &dyn Fn(usize) -> Option<(&'z Zone, Repr)>,
        field: &dyn Fn(usize) -> Option<&'z Zone>,
    ) -> Known {
        match self {
            Condition::And(list) => {
                let mut known = Known::Always;
                for part in list {
                    match part.known(run, zone, field) {
                        Known::Never => return Known::Never,
                        Known::Open => known = Known::Open,
                        Known::Always => {}
                    }
                }
                known
            }
            Condition::Or(list) => {
                let mut known = Known::Never;
                for part in list {
                    match part.known(run, zone, field) {
                        Known::Always => return Known::Always,
                        Known::Open => known = Known::Open,
                        Known::Never => {}
                    }
                }
                known
            }
            Condition::IsNull(Value::Column(column), negated) => match zone(*column) {
                Some((zone, _)) => has_values(zone, *negated),
                None => Known::Open,
            },
            Condition::HasField(number, _) => {
                field(*number).map_or(Known::Open, |zone| has_values(zone, true))
            }
            Condition::Compare(compare) => compare.known(run, zone),
            _ => Known::Open,
        }
    }
}

/// Keeps the rows for which one of the conditions is true.
fn narrow_any(
    list: &[Condition],
    run: Run<'_>,
    slice: &Slice<'_>,
    rows: &mut Selection,
) -> Result<()> {
    let mut rest = rows.clone();
    let mut found = vec![false; slice.rows()];
    for part in list {
        let mut taken = rest.clone();
        part.narrow(run, slice, &mut taken)?;
        taken.each(|row| found[row] = true);
        rest.retain(|row| !found[row]);
    }
    rows.retain(|row| found[row]);
    Ok(())
}

/// Keeps the rows for which the first conditions are true, as far as packed numbers and codes decide these. Returns the
/// other conditions.
fn narrow_packed<'c>(
    list: &'c [Condition],
    run: Run<'_>,
    slice: &Slice<'_>,
    rows: &mut Selection,
) -> Result<&'c [Condition]> {
    let Some(mut marks) = slice.marks(rows) else { return Ok(list) };
    let mut rest = list;
    while let [first, others @ ..] = rest
        && first.unmark(run, slice, &mut marks)?
    {
        rest = others;
    }
    if rest.len() < list.len() {
        rows.retain_marked(&marks);
    }
    Ok(rest)
}

/// Says how many rows of a block have a value in a column; how many have none if `wanted` is false.
fn has_values(zone: &Zone, wanted: bool) -> Known {
    match zone.nulls {
        0 => is_known(wanted),
        nulls if nulls == zone.count => is_known(!wanted),
        _ => Known::Open,
    }
}

fn is_known(always: bool) -> Known {
    if always { Known::Always } else { Known::Never }
}

/// Returns a column, and what a pattern of `LIKE` says that its texts begin with, if it says no more.
fn prefix_of((column, pattern): (usize, &str)) -> Option<(usize, String)> {
    let prefix = pattern.strip_suffix('%')?;
    let is_plain = !prefix.is_empty() && !prefix.contains(['%', '_', '\\']);
    is_plain.then(|| (column, prefix.to_owned()))
}

/// Returns the fields of an object that a column is to contain; `None` if that is not what is asked.
fn members(args: &[Expr], compiler: &mut Compiler<'_>) -> Option<Vec<Member>> {
    let [column, wanted] = args else { return None };
    let (ExprKind::Column { levels_up: 0, index }, ExprKind::Const(Datum::Jsonb(wanted))) =
        (&column.kind, &wanted.kind)
    else {
        return None;
    };
    // Every object contains the empty one, with or without fields that are columns.
    let object = wanted.root().as_object().filter(|object| !object.is_empty())?;
    let member = |(name, value): (&str, JsonbRef<'_>)| Member {
        field: compiler.field(*index as usize, name, FieldForm::Value),
        value: value.to_jsonb(),
        memo: RefCell::default(),
    };
    Some(object.iter().map(member).collect())
}
