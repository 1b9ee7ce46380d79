//! Expressions and assignments.

use std::collections::HashMap;
use std::sync::Arc;

use sql::bind::PartValue;
use sql::eval::{Program, Row};
use sql::parse::ast::{Body, ExprKind, Statement, Step as Part};
use sql::parse::plpgsql::{Fragment, FragmentKind, Target};
use types::{Datum, Modifier, SqlState, Style, Type};

use super::values::{ASSIGNED, Cell, Kind, Scope, Slot, fields_of, no_field, not_assigned};
use super::{Failure, Runner, Tried, Typed, with_context};
use crate::cursor::Taken;
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::names::Names;
use crate::portal::{Column, Done, Portal};
use crate::query::{Planned, plan_with_variables};
use crate::statement::Parsed;

/// The plan of a fragment, and what it was made with.
pub(super) struct Plan {
    planned: Arc<Planned>,
    /// For each parameter the type of the variable, and the form of the record that it is of.
    made_for: Vec<(Type, Modifier, u64)>,
    names: Arc<Names>,
    style: Arc<Style>,
}

/// Casts between types, by the types and modifiers.
pub(super) type Casts = HashMap<(Type, Modifier, Type, Modifier), Arc<Program>>;

impl Runner<'_> {
    /// The plan of a fragment, and the values of the variables in it.
    pub(super) fn planned(&mut self, fragment: &Fragment) -> Tried<(Arc<Planned>, Arc<[Datum]>)> {
        self.session.look()?;
        if let Some(plan) = self.plans.get(&fragment.number)
            && self.still_fits(plan)
        {
            let planned = Arc::clone(&plan.planned);
            let values = self.values_of(&planned);
            return Ok((planned, values));
        }
        let statement_context = self.session.statement_context();
        let scope = Scope { values: &self.values, seen: fragment.seen };
        let planned =
            plan_with_variables(&fragment.statement, &fragment.source, &scope, &statement_context)
                .map_err(|error| in_fragment(error, fragment))?;
        let planned = Arc::new(planned);
        let made_for = planned.variables.iter().map(|number| self.made_for(*number)).collect();
        let (names, style) =
            (Arc::clone(&self.session.names), Arc::clone(&statement_context.style));
        let values = self.values_of(&planned);
        let plan = Plan { planned: Arc::clone(&planned), made_for, names, style };
        self.plans.insert(fragment.number, plan);
        Ok((planned, values))
    }

    fn made_for(&self, number: u32) -> (Type, Modifier, u64) {
        let known = self.values.value(number);
        let (ty, modifier) = known.map_or((Type::NONE, Modifier::NONE), |(_, ty, of)| (ty, of));
        (ty, modifier, self.values.form(number))
    }

    fn still_fits(&self, plan: &Plan) -> bool {
        let names = &self.session.names;
        let same_names = Arc::ptr_eq(&plan.names, names)
            || (!self.session.has_own_catalog()
                && names.moment.is_none()
                && plan.names.path == names.path
                && plan.names.role == names.role
                && plan.planned.is_valid_for(names));
        let style = self.session.client.settings.borrow();
        let variables = plan.planned.variables.iter().zip(&plan.made_for);
        same_names
            && Arc::ptr_eq(&plan.style, style.style())
            && variables.into_iter().all(|(number, made)| self.made_for(*number) == *made)
    }

    fn values_of(&self, planned: &Planned) -> Arc<[Datum]> {
        let value = |number: &u32| {
            self.values.value(*number).map_or(Datum::Null, |(value, ..)| value.clone())
        };
        planned.variables.iter().map(value).collect()
    }

    /// A portal that runs a fragment.
    pub(super) fn portal(&mut self, fragment: &Fragment) -> Tried<Portal> {
        let (planned, values) = self.planned(fragment)?;
        let parsed = Parsed::empty("");
        let portal = self.session.plan_portal(parsed, planned);
        let mut portal = portal.map_err(|error| in_fragment(error, fragment))?;
        portal.params = values;
        Ok(portal)
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, fragment: &Fragment) -> Tried<Typed> {
        let mut portal = self.portal(fragment)?;
        let columns: Arc<[Column]> = portal.columns.clone().unwrap_or_default();
        let [column] = &columns[..] else {
            let what = match fragment.kind {
                FragmentKind::Assignment => "assignment source",
                _ => "query",
            };
            let count = columns.len();
            let plural = if count == 1 { "" } else { "s" };
            let message = format!("{what} returned {count} column{plural}");
            let error = Error::new(SqlState::SYNTAX_ERROR, message);
            return Err(in_fragment(error, fragment).into());
        };
        let mut rows = Vec::new();
        let done = self.session.run_plan(&mut portal, 2, &mut Taken { rows: &mut rows });
        let done = done.map_err(|error| self.of_running(error, fragment, &portal))?;
        if rows.len() > 1 || matches!(done, Done::Suspended) && rows.len() > 1 {
            let message = "query returned more than one row";
            let error = Error::new(SqlState::CARDINALITY_VIOLATION, message);
            return Err(with_context(error, &format!("query: {}", fragment.text)).into());
        }
        let value = rows.pop().and_then(|mut row| row.pop()).unwrap_or(Datum::Null);
        Ok(Typed { value, ty: column.ty, modifier: column.modifier })
    }

    /// The error of running a fragment. An expression that is computed without a query adds nothing to the context,
    /// unless it is computed when it is planned.
    pub(super) fn of_running(&self, error: Error, fragment: &Fragment, portal: &Portal) -> Failure {
        let is_constant = portal.params.is_empty();
        match fragment.is_simple && !is_constant {
            true => error.into(),
            false => in_fragment(error, fragment).into(),
        }
    }

    /// The value of an expression as one of a type.
    pub(super) fn value_as(&mut self, fragment: &Fragment, ty: Type) -> Tried<Datum> {
        let value = self.value(fragment)?;
        self.cast(value, ty, Modifier::NONE)
    }

    /// True if a condition is true; false if it is false or NULL.
    pub(super) fn is_true(&mut self, fragment: &Fragment) -> Tried<bool> {
        Ok(matches!(self.value_as(fragment, Type::BOOL)?, Datum::Bool(true)))
    }

    /// A value as one of another type.
    pub(super) fn cast(&mut self, from: Typed, ty: Type, modifier: Modifier) -> Tried<Datum> {
        let is_same = from.ty == ty && (modifier == Modifier::NONE || from.modifier == modifier);
        let statement_context = self.session.statement_context();
        let names = &*self.session.names;
        if is_same && scalar::facts::Facts(names).base(ty) == ty {
            return Ok(from.value);
        }
        let key = (from.ty, from.modifier, ty, modifier);
        let program = match self.casts.get(&key) {
            Some(program) => Arc::clone(program),
            None => {
                let context = statement_context.types();
                let (from, to) = ((from.ty, from.modifier), (ty, modifier));
                let expr = sql::bind::variable_cast(from, to, names, context)
                    .map_err(|error| Error::from(error.cause))?;
                let program = Arc::new(Program::compile(&expr, names)?);
                // Domains and rows may change while the block runs.
                if ty.is_builtin() && from.0.is_builtin() {
                    self.casts.insert(key, Arc::clone(&program));
                }
                program
            }
        };
        let params = [from.value];
        let evaluator = Evaluator::with_params(&statement_context, names, &params);
        Ok(program.run(Row::NONE, evaluator.frame())?)
    }

    /// `target := value`
    pub(super) fn assign_fragment(
        &mut self,
        target: &Target,
        part: &[Part],
        fragment: &Fragment,
    ) -> Tried<()> {
        if !part.is_empty() {
            return self.assign_part(target, part, fragment);
        }
        self.require_target(target).map_err(|error| in_fragment(error, fragment))?;
        let value = self.value(fragment)?;
        self.assign(target, value).map_err(|failure| {
            // PostgreSQL casts a constant when it reads or plans the assignment.
            let is_constant = fragment.is_simple
                && self.plans.get(&fragment.number).is_some_and(|plan| plan.made_for.is_empty());
            if failure.is_placed || !is_constant || failure.error.state() == not_null() {
                return failure;
            }
            let is_of_length = failure.error.state() == SqlState::STRING_DATA_RIGHT_TRUNCATION;
            let at = literal_of(fragment).filter(|_| !is_of_length).unwrap_or(sql::At::NONE);
            let error = sql::Error { at, cause: failure.error.cause };
            in_fragment(Error::in_text(error, &fragment.source), fragment).into()
        })
    }

    /// Fails if a field is assigned to that is not there.
    fn require_target(&self, target: &Target) -> Result<(), Error> {
        let Some(field) = &target.field else { return Ok(()) };
        let name = &self.code.variables[target.variable].name;
        match &self.values.slots[target.variable] {
            Slot::Row(_, cells, _) if cells.iter().any(|cell| *cell.name == **field) => Ok(()),
            Slot::Row(..) | Slot::Scalar(..) => Err(no_field(name, field).into()),
            Slot::Unassigned => Err(not_assigned(name).into()),
        }
    }

    /// Gives a variable, or a field of one, a value.
    pub(super) fn assign(&mut self, target: &Target, value: Typed) -> Tried<()> {
        self.require_target(target)?;
        let number = target.variable;
        let (name, not_null) =
            (&self.code.variables[number].name, self.code.variables[number].not_null);
        if let Some(field) = &target.field {
            let Slot::Row(_, cells, _) = &self.values.slots[number] else { return Ok(()) };
            let Some(at) = cells.iter().position(|cell| *cell.name == **field) else {
                return Ok(());
            };
            let (ty, modifier) = (cells[at].ty, cells[at].modifier);
            let value = self.cast(value, ty, modifier)?;
            if let Slot::Row(_, cells, _) = &mut self.values.slots[number] {
                cells[at].value = value;
            }
            return Ok(());
        }
        if not_null && value.value.is_null() {
            let message =
                format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).into());
        }
        match self.values.kinds[number].clone() {
            Kind::Scalar(ty, modifier) => {
                let value = self.cast(value, ty, modifier)?;
                self.values.slots[number] = Slot::Scalar(ty, modifier, value);
                Ok(())
            }
            Kind::Any => {
                self.values.slots[number] = Slot::Scalar(value.ty, value.modifier, value.value);
                Ok(())
            }
            Kind::Row(..) | Kind::Record => self.assign_whole(number, value),
        }
    }

    /// Gives a row the fields of a row that is one value.
    fn assign_whole(&mut self, number: usize, value: Typed) -> Tried<()> {
        let names = Arc::clone(&self.session.names);
        let known = fields_of(&names, value.ty);
        let cells = match &value.value {
            Datum::Record(record) => {
                let record = record.as_ref();
                let named = record.names();
                let values = record.to_vec();
                let cell = |(at, (value, (ty, _))): (usize, (Datum, (Type, _)))| {
                    let (name, ty, modifier) = match (&known, &named) {
                        (Some(known), _) => known
                            .get(at)
                            .map(|field| (Arc::clone(&field.name), field.ty, field.modifier))?,
                        (None, Some(named)) => (named[at].0.into(), ty, named[at].1),
                        (None, None) => (format!("f{}", at + 1).into(), ty, Modifier::NONE),
                    };
                    Some(Cell { name, ty, modifier, value })
                };
                let fields: Vec<(Type, types::Repr)> =
                    record.iter().map(|field| (field.0, field.1)).collect();
                values.into_iter().zip(fields).enumerate().map(cell).collect::<Option<Vec<_>>>()
            }
            Datum::Null => match (&known, &self.values.kinds[number]) {
                (Some(known), _) => Some(
                    known
                        .iter()
                        .map(|field| Cell {
                            name: Arc::clone(&field.name),
                            ty: field.ty,
                            modifier: field.modifier,
                            value: Datum::Null,
                        })
                        .collect(),
                ),
                (None, _) => {
                    // NULL of no type: the fields stay those that they are.
                    match &mut self.values.slots[number] {
                        Slot::Row(_, cells, _) => {
                            cells.iter_mut().for_each(|cell| cell.value = Datum::Null);
                        }
                        _ => self.values.clear(number),
                    }
                    return Ok(());
                }
            },
            _ => None,
        };
        let Some(cells) = cells else {
            let what = match self.values.kinds[number] {
                Kind::Row(..) => "row",
                _ => "record",
            };
            let message = format!("cannot assign non-composite value to a {what} variable");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).into());
        };
        self.assign_cells(number, cells)
    }

    /// Gives a row these fields: a record takes them as they are, a row of a type by their order.
    pub(super) fn assign_cells(&mut self, number: usize, cells: Vec<Cell>) -> Tried<()> {
        let Kind::Row(ty, wanted) = self.values.kinds[number].clone() else {
            self.values.set_record(number, cells);
            return Ok(());
        };
        let mut given = cells.into_iter();
        let mut row = Vec::with_capacity(wanted.len());
        for cell in wanted.iter() {
            let value = match given.next() {
                Some(Cell { ty, modifier, value, .. }) => {
                    self.cast(Typed { value, ty, modifier }, cell.ty, cell.modifier)?
                }
                None => Datum::Null,
            };
            row.push(Cell { value, ..cell.clone() });
        }
        self.values.slots[number] = Slot::Row(ty, row, 0);
        Ok(())
    }

    /// `target[i] := value`, `target.f[i].g := value`
    fn assign_part(&mut self, target: &Target, part: &[Part], fragment: &Fragment) -> Tried<()> {
        self.require_target(target).map_err(|error| in_fragment(error, fragment))?;
        let number = target.variable;
        let name = self.code.variables[number].name.clone();
        let place = match (&self.values.slots[number], &target.field) {
            (Slot::Row(_, cells, _), Some(field)) => {
                let at = cells.iter().position(|cell| *cell.name == **field).unwrap_or(0);
                ((number as u32) << 16) | (at as u32 + 1)
            }
            _ => (number as u32) << 16,
        };
        let Some((_, ty, modifier)) = self.values.value(place) else {
            let error = Error::not_supported("an assignment to a part of a row by its subscript");
            return Err(in_fragment(error, fragment).into());
        };
        // An expression takes the type of the part; the value of a query has its own.
        let own = outputs_of(fragment).filter(|_| fragment.is_simple).cloned();
        let assigned = match &own {
            Some(_) => None,
            None => Some(self.value(fragment)?),
        };
        self.session.look()?;
        let statement_context = self.session.statement_context();
        let names = &*self.session.names;
        let context = statement_context.types();
        let value = match (&own, &assigned) {
            (Some(expr), _) => PartValue::Expr(expr),
            (None, Some(known)) => PartValue::Known(ASSIGNED, known.ty),
            (None, None) => unreachable!("one of both is there"),
        };
        let scope = Scope { values: &self.values, seen: fragment.seen };
        let variable = (name.as_str(), place, ty, modifier);
        let bound = sql::bind::part_of_variable(variable, part, value, names, context, &scope);
        let (expr, numbers) = bound
            .map_err(|error| in_fragment(Error::in_text(error, &fragment.source), fragment))?;
        let params: Vec<Datum> = numbers
            .iter()
            .map(|number| match (*number, &assigned) {
                (ASSIGNED, Some(known)) => known.value.clone(),
                (number, _) => {
                    self.values.value(number).map_or(Datum::Null, |(value, ..)| value.clone())
                }
            })
            .collect();
        let program = Program::compile(&expr, names)?;
        let evaluator = Evaluator::with_params(&statement_context, names, &params);
        let value = program.run(Row::NONE, evaluator.frame())?;
        drop(statement_context);
        self.assign(target, Typed { value, ty, modifier })
    }
}

/// The code of NULL where it is refused.
fn not_null() -> SqlState {
    SqlState::NULL_VALUE_NOT_ALLOWED
}

/// The one output of an expression.
fn outputs_of(fragment: &Fragment) -> Option<&sql::parse::ast::Expr> {
    let Statement::Query(query) = &fragment.statement else { return None };
    let Body::Select(select) = &query.body else { return None };
    match &select.outputs[..] {
        [output] => Some(&output.expr),
        _ => None,
    }
}

/// Where the string stands, where an expression is nothing else.
fn literal_of(fragment: &Fragment) -> Option<sql::At> {
    let expr = outputs_of(fragment)?;
    matches!(expr.kind, ExprKind::String(_)).then_some(expr.at)
}

/// The error of a fragment: with a place in it, the error has the text with the place, else in the
/// context.
pub(super) fn in_fragment(mut error: Error, fragment: &Fragment) -> Error {
    if error.inner.is_some() {
        return error;
    }
    if let Some(position) = error.position.take() {
        let offset = position as i64 - 1;
        let shift = match fragment.kind {
            FragmentKind::Statement => 0,
            // The text before the value has as many characters as it has.
            _ => {
                let lead = (fragment.shift + 7).unsigned_abs();
                fragment.text[..lead].chars().count() as i64 - 7
            }
        };
        let position = u32::try_from(offset + shift + 1).unwrap_or(1).max(1);
        error.inner = Some(Box::new((fragment.text.clone(), position)));
        return error;
    }
    let words = match fragment.kind {
        FragmentKind::Expression => "SQL expression",
        FragmentKind::Assignment => "PL/pgSQL assignment",
        FragmentKind::Statement => "SQL statement",
    };
    with_context(error, &format!("{words} \"{}\"", fragment.text))
}
