//! Expressions that the catalog keeps: each must follow from one row, and some for ever.
//!
//! | | other rows | functions that change | columns |
//! |---|---|---|---|
//! | default | no | yes | none |
//! | check | no | yes | of the row |
//! | generated column | no | no | that are not generated |
//! | key or condition of an index | no | no | of the row |

use scalar::Volatility;
use scalar::cast::CoercionPath;
use sql::bind::{ColumnDefault, walk};
use sql::plan::{Cast, Expr, ExprKind};
use types::{Error as SqlError, Repr, SqlState, Type, builtin};

use super::DdlContext;
use crate::error::{Error, Result};
use crate::names::Names;

/// The purpose of a kept expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    Default,
    Check,
    Generated,
    IndexKey,
    IndexPredicate,
}

impl Purpose {
    /// The expression in messages.
    fn name(self) -> &'static str {
        match self {
            Purpose::Default => "DEFAULT expression",
            Purpose::Check => "check constraint",
            Purpose::Generated => "column generation expression",
            Purpose::IndexKey => "index expression",
            Purpose::IndexPredicate => "index predicate",
        }
    }

    /// Fails if the expression asks for more than one row, or changes where it must not.
    ///
    /// # Errors
    /// 0A000 for subqueries and functions that give sets, 42803 for aggregates, 42P20 for window
    /// functions, 42P17 for what is not immutable.
    pub fn check(self, expr: &mut Expr) -> Result<()> {
        let what = self.name();
        let has = |expr: &mut Expr, test: &dyn Fn(&ExprKind) -> bool| {
            walk::any(expr, &|part| test(&part.kind))
        };
        let refuse = |state, message: String| Err(Error::new(state, message));
        if has(expr, &|kind| matches!(kind, ExprKind::Subquery(_))) {
            return refuse(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot use subquery in {what}"),
            );
        }
        if has(expr, &|kind| matches!(kind, ExprKind::Aggregate(_) | ExprKind::Grouping { .. })) {
            return refuse(
                SqlState::GROUPING_ERROR,
                format!("aggregate functions are not allowed in {what}s"),
            );
        }
        if has(expr, &|kind| matches!(kind, ExprKind::Window(_))) {
            return refuse(
                SqlState::WINDOWING_ERROR,
                format!("window functions are not allowed in {what}s"),
            );
        }
        if has(expr, &|kind| matches!(kind, ExprKind::Call(call) if call.set)) {
            return refuse(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("set-returning functions are not allowed in {what}s"),
            );
        }
        let message = match self {
            Purpose::Default | Purpose::Check => return Ok(()),
            Purpose::Generated => "generation expression is not immutable".to_owned(),
            Purpose::IndexKey | Purpose::IndexPredicate => {
                format!("functions in {what} must be marked IMMUTABLE")
            }
        };
        if walk::any(expr, &|part| changes(part)) {
            return refuse(SqlState::INVALID_OBJECT_DEFINITION, message);
        }
        Ok(())
    }
}

/// True if the value of an expression may change though its parts stay the same.
fn changes(expr: &Expr) -> bool {
    let is_stable = |function| {
        let function = scalar::registry::function(function);
        function.is_some_and(|function| function.volatility != Volatility::Immutable)
    };
    match &expr.kind {
        ExprKind::Keyword(_) | ExprKind::NextValue(_) => true,
        ExprKind::Call(call) => is_stable(call.function),
        ExprKind::Cast { expr: inner, how: Cast::Type { how, .. } } => {
            cast_changes(how, inner.ty, expr.ty)
        }
        _ => false,
    }
}

/// True if a cast depends on settings, on the time, or on what the catalog says.
fn cast_changes(how: &CoercionPath, source: Type, target: Type) -> bool {
    let element = |ty| builtin::facts(ty).map_or(ty, |facts| facts.element);
    match how {
        CoercionPath::Relabel | CoercionPath::Record => false,
        CoercionPath::Function(function) | CoercionPath::Bits(function, _) => {
            scalar::registry::function(*function)
                .is_some_and(|function| function.volatility != Volatility::Immutable)
        }
        CoercionPath::Elements(each) => cast_changes(each, element(source), element(target)),
        CoercionPath::InOut => {
            let repr = |ty| builtin::facts(ty).and_then(|facts| facts.repr);
            // Output depends on DateStyle and the like, input on the time zone as well.
            let is_written_so = match repr(source) {
                Some(Repr::Date | Repr::Timestamp | Repr::TimestampTz | Repr::Array) => true,
                Some(Repr::Oid) => source != Type::OID,
                Some(_) => false,
                None => true,
            };
            let is_read_so = match repr(target) {
                Some(
                    Repr::Date
                    | Repr::Time
                    | Repr::TimeTz
                    | Repr::Timestamp
                    | Repr::TimestampTz
                    | Repr::Interval
                    | Repr::Array,
                ) => true,
                Some(Repr::Oid) => target != Type::OID,
                Some(_) => false,
                None => true,
            };
            is_written_so || is_read_so
        }
    }
}

/// Binds a default, or the expression of a generated column over the columns of its table.
pub fn check_default(
    maker: &DdlContext<'_, '_>,
    text: &str,
    over: Option<&sql::bind::Relation>,
    column: &sql::bind::RelationColumn,
    generated: bool,
) -> Result<Expr> {
    let purpose = if generated { Purpose::Generated } else { Purpose::Default };
    let bound = sql::bind::column_value(text, over, column, &*maker.names, maker.context());
    let mut bound = bound.map_err(|error| {
        if over.is_none() && error.cause.state() == SqlState::UNDEFINED_COLUMN {
            let message = format!("cannot use column reference in {}", purpose.name());
            return Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
        }
        Error::from(error.cause)
    })?;
    if let (true, Some(over)) = (generated, over) {
        refuse_generated(&mut bound, over)?;
    }
    purpose.check(&mut bound)?;
    Ok(bound)
}

/// Fails if the expression of a generated column names another, or its own.
fn refuse_generated(expr: &mut Expr, over: &sql::bind::Relation) -> Result<()> {
    for (place, column) in over.columns.iter().enumerate() {
        let is_named = |part: &Expr| matches!(part.kind, ExprKind::Column { levels_up: 0, index } if index as usize == place);
        if matches!(column.default, ColumnDefault::Generated(_)) && walk::any(expr, &is_named) {
            let message = format!(
                "cannot use generated column \"{}\" in column generation expression",
                column.name
            );
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message)
                .with_detail("A generated column cannot reference another generated column.")
                .into());
        }
    }
    Ok(())
}

/// Binds a condition over a table.
pub fn check_condition(
    text: &str,
    over: &sql::bind::Relation,
    names: &Names,
    context: types::Context<'_>,
) -> Result<Expr> {
    let mut bound = sql::bind::expression(text, Some(over), names, context)
        .map_err(|error| Error::from(error.cause))?;
    let types: &dyn types::TypeSource = names;
    if types.base_of(bound.ty).0 != Type::BOOL {
        let message =
            format!("argument of CHECK must be type boolean, not type {}", types.name_of(bound.ty));
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Purpose::Check.check(&mut bound)?;
    Ok(bound)
}
