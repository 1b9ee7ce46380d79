//! `FOR PORTION OF`: a change of a part of the time of each row.
//!
//! ```text
//!   UPDATE price FOR PORTION OF valid FROM 3 TO 5 SET amount = 9
//!
//!   (7, [1, 8), 4)  ──>  (7, [3, 5), 9)             the part that is changed: valid * [3, 5)
//!                        (7, [1, 3), 4)  (7, [5, 8), 4)   what is left of the row, inserted
//! ```
//!
//! Only rows are changed whose time overlaps the part.

use types::{Shape, SqlState, Type, TypeSource};

use super::Binder;
use super::names::Relation;
use crate::error::{At, Error, Result};
use crate::parse::ast::{
    Arg, Assignment, Call, Expr, ExprKind, Name, Operator, Part, Path, Portion, TableRef, Target,
};

/// A portion in the words of the grammar.
pub(super) struct Parts {
    /// The place of the column in the table's row.
    pub place: usize,
    /// Which rows are changed.
    pub filter: Expr,
    /// The time of the row that is changed.
    pub set: Assignment,
    /// The time that is left.
    pub left: Expr,
}

impl Binder<'_> {
    /// The plan of a change of a portion of the rows of a table. `assigned` are the columns that
    /// `SET` names.
    ///
    /// # Errors
    /// 42703 where there is no such column, 42804 where it has no ranges, 42601 where `SET` names it.
    pub(super) fn portion(
        &mut self,
        portion: &Portion,
        table: &TableRef,
        relation: &Relation,
        assigned: &[&str],
    ) -> Result<Parts> {
        let name = &portion.column;
        let place = relation.columns.iter().position(|column| column.name == name.text);
        let Some(place) = place else {
            let message = format!(
                "column \"{}\" of relation \"{}\" does not exist",
                name.text, relation.name
            );
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(name.at));
        };
        if assigned.contains(&&*name.text) {
            let message = format!(
                "cannot update column \"{}\" because it is used in FOR PORTION OF",
                name.text
            );
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(name.at));
        }
        let types: &dyn TypeSource = self.names;
        let (ty, _) = types.base_of(relation.columns[place].ty);
        let is_range = match types.shape_of(ty) {
            Ok(Shape::Range(..)) => true,
            Ok(Shape::Multirange(..)) => false,
            _ => {
                let message = format!(
                    "column \"{}\" of relation \"{}\" is not a range or multirange type",
                    name.text, relation.name
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(name.at));
            }
        };
        let at = name.at;
        let target = match &portion.part {
            Part::Range(range) => self.cast_to(ty, range.clone(), at)?,
            Part::Between(from, to) if is_range => {
                let bound = |bound: &Option<Expr>| {
                    bound.clone().unwrap_or(Expr { kind: ExprKind::Null, at })
                };
                self.range_of(ty, [bound(from), bound(to)], at)?
            }
            Part::Between(..) => {
                let message = format!(
                    "FOR PORTION OF column \"{}\" of multiranges needs a multirange in parentheses",
                    name.text
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(at));
            }
        };
        // The part is one for all rows: it sees none of them.
        self.enter();
        let seen = self.expr(&target);
        self.leave();
        seen?;
        let own = match &table.alias {
            Some(alias) => alias.name.clone(),
            None => table.name.parts[table.name.parts.len() - 1].clone(),
        };
        let column = || Expr { kind: ExprKind::Column(vec![own.clone(), name.clone()]), at };
        let as_list = |value: Expr| match is_range {
            true => call("multirange", vec![value], at),
            false => value,
        };
        Ok(Parts {
            place,
            filter: operation("&&", column(), target.clone(), at),
            set: Assignment::One(
                Target { column: name.clone(), steps: Vec::new() },
                operation("*", column(), target.clone(), at),
            ),
            left: operation("-", as_list(column()), as_list(target), at),
        })
    }

    /// A value as one of a type.
    fn cast_to(&self, ty: Type, value: Expr, at: At) -> Result<Expr> {
        let types: &dyn TypeSource = self.names;
        let parsed = crate::parse::expression(&format!("null::{}", types.name_of(ty)))?;
        Ok(match parsed.kind {
            ExprKind::Cast { to, .. } => {
                Expr { kind: ExprKind::Cast { expr: Box::new(value), to }, at }
            }
            _ => value,
        })
    }

    /// The range of a type between two bounds.
    fn range_of(&self, ty: Type, bounds: [Expr; 2], at: At) -> Result<Expr> {
        let types: &dyn TypeSource = self.names;
        let text = format!("{}(null, null)", types.name_of(ty));
        let parsed = crate::parse::expression(&text)?;
        let ExprKind::Call(mut call) = parsed.kind else {
            let message = format!("type {} has no function of its name", types.name_of(ty));
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(at));
        };
        for (arg, bound) in call.args.iter_mut().zip(bounds) {
            arg.value = bound;
        }
        Ok(Expr { kind: ExprKind::Call(call), at })
    }
}

/// Both conditions, where there are two.
pub(super) fn both(one: Expr, other: Option<Expr>) -> Expr {
    let Some(other) = other else { return one };
    let at = other.at;
    Expr { kind: ExprKind::And(vec![one, other]), at }
}

fn operation(symbol: &str, left: Expr, right: Expr, at: At) -> Expr {
    let op = Operator { schema: None, symbol: symbol.to_owned(), at };
    let (left, right) = (Some(Box::new(left)), Box::new(right));
    Expr { kind: ExprKind::Op { op, left, right }, at }
}

fn call(name: &str, args: Vec<Expr>, at: At) -> Expr {
    let word = |text: &str| Name { text: text.to_owned(), at };
    let args = args.into_iter().map(|value| Arg { name: None, value }).collect();
    let call = Call {
        name: Path { parts: ["pg_catalog", name].map(word).to_vec() },
        args,
        star: false,
        distinct: false,
        variadic: false,
        order: Vec::new(),
        within_group: Vec::new(),
        filter: None,
        over: None,
        syntax: false,
    };
    Expr { kind: ExprKind::Call(Box::new(call)), at }
}
