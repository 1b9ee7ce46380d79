//! Keys as a scan sees them: the expressions over its rows that are parts of a key.
//!
//! ```text
//!   index on person (lower(name), age)      Scan person [id, age, name]
//!                                             lower(#2), #1
//! ```
//!
//! No condition of the scan has a part that needs a column which the scan does not read.

use sql::bind::{keyed_text, sort_key};
use sql::imply;
use sql::plan::{Expr, ExprKind};
use types::geometry::is_geometric;
use types::{KeyOrder, Repr, Type, TypeSource};

use super::expr::column_of;
use crate::schema::{KeyFacts, KeyPart, TableFacts};
use crate::shown::Shown;
use crate::tree::{Path, Scan, each_part};

/// A part of a key, over the rows of a scan.
pub(super) struct Part {
    what: PartSource,
    pub(super) repr: Repr,
    pub(super) order: KeyOrder,
    /// True if its type is `boolean`.
    pub(super) is_bool: bool,
    /// True if its type is `inet` or `cidr`.
    pub(super) is_network: bool,
    /// True if its type is geometric.
    pub(super) is_geometric: bool,
    /// True if its type is `ltree`.
    pub(super) is_tree: bool,
    shown: String,
}

enum PartSource {
    Column(usize),
    Expr(Expr),
    /// An expression that needs a column which the scan does not read.
    Unread,
}

impl Part {
    /// True if an expression is this part.
    pub(super) fn is(&self, expr: &Expr) -> bool {
        match &self.what {
            PartSource::Column(column) => column_of(expr) == Some(*column),
            PartSource::Expr(part) => imply::same(part, expr),
            PartSource::Unread => false,
        }
    }

    /// True if it is the sort key of an expression. The sort key is NULL if the expression is.
    pub(super) fn is_key_of(&self, expr: &Expr) -> bool {
        self.key_of(expr).is_some()
    }

    /// The locale of its sort keys, if it is the deterministic sort key of an expression.
    fn key_of(&self, expr: &Expr) -> Option<&Expr> {
        let PartSource::Expr(part) = &self.what else { return None };
        let (text, locale) = keyed_text(part)?;
        imply::same(text, expr).then_some(locale)
    }

    /// The sort key that a value has in it, where it is the sort key of `expr`: then `expr` is equal to the value
    /// where the sort keys are equal.
    pub(super) fn key_for(&self, expr: &Expr, value: &Expr) -> Option<Expr> {
        let locale = self.key_of(expr)?;
        let ExprKind::Const(locale) = &locale.kind else { return None };
        let types::DatumRef::Text(locale) = locale.as_ref() else { return None };
        Some(sort_key(value.clone(), locale, true))
    }

    /// Makes it the next bound column of a path.
    pub(super) fn bind(&self, path: &mut Path) {
        path.columns.push((self.repr, self.order));
        path.shown.push(self.shown.clone());
    }

    /// True if it is never NULL.
    pub(super) fn is_never_null(&self, scan: &Scan, facts: &TableFacts) -> bool {
        let PartSource::Column(column) = self.what else { return false };
        facts.is_never_null(scan.attnums[column])
    }
}

/// The parts of a key.
pub(super) fn parts(
    key: &KeyFacts,
    facts: &TableFacts,
    scan: &Scan,
    types: &dyn TypeSource,
) -> Vec<Part> {
    let columns = &facts.relation.columns;
    let name = |place: usize| scalar::quote::identifier(&columns[place].name);
    let shown = Shown { columns: &name, slots: &|slot| format!("@{slot}"), types };
    let part = |(part, order): &(KeyPart, KeyOrder)| {
        let (what, ty, shown) = match part {
            KeyPart::Column(attnum) => {
                let place = columns.iter().position(|one| one.attnum == *attnum)?;
                let column = scan.attnums.iter().position(|known| known == attnum);
                (column.map(PartSource::Column), columns[place].ty, name(place))
            }
            KeyPart::Expr(expr) => {
                (over(expr, facts, scan).map(PartSource::Expr), expr.ty, shown.text(expr))
            }
        };
        let repr = types.repr_of(ty).ok()?;
        let (what, is_bool) = (what.unwrap_or(PartSource::Unread), ty == Type::BOOL);
        let is_network = matches!(ty, Type::INET | Type::CIDR);
        let (is_geometric, is_tree) = (is_geometric(ty), ty == Type::LTREE);
        Some(Part { what, repr, order: *order, is_bool, is_network, is_geometric, is_tree, shown })
    };
    key.parts.iter().map_while(part).collect()
}

/// The predicate of a key over the rows of a scan: `Some(None)` where it has none, none if the scan
/// cannot say anything of it.
pub(super) fn predicate(key: &KeyFacts, facts: &TableFacts, scan: &Scan) -> Option<Option<Expr>> {
    match &key.predicate {
        None => Some(None),
        Some(predicate) => over(predicate, facts, scan).map(Some),
    }
}

/// Returns the start conditions under which a key has all rows that meet some conditions; `None` if it does
/// not follow from the conditions.
pub(super) fn covers(
    key: &KeyFacts,
    facts: &TableFacts,
    scan: &Scan,
    conditions: &[Expr],
) -> Option<Vec<Expr>> {
    match predicate(key, facts, scan)? {
        None => Some(Vec::new()),
        Some(predicate) => imply::implied(conditions, &predicate),
    }
}

/// An expression over the columns of a table as one over the columns of a scan.
pub(super) fn over(expr: &Expr, facts: &TableFacts, scan: &Scan) -> Option<Expr> {
    let mut expr = expr.clone();
    let mut is_there = true;
    each_part(&mut expr, &mut |part| {
        if let ExprKind::Column { index, .. } = &mut part.kind {
            let attnum = facts.relation.columns.get(*index as usize).map(|column| column.attnum);
            match scan.attnums.iter().position(|known| Some(*known) == attnum) {
                Some(column) => *index = column as u32,
                None => is_there = false,
            }
        }
        true
    });
    is_there.then_some(expr)
}
