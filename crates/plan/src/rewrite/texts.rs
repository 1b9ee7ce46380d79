//! Values that are kept out of line, as documents are, and of which only the text is needed, are not
//! made.
//!
//! ```text
//!   Project [#0, #1::text]                   Project [#0, #1]
//!     Scan articles [id, doc]         ──>      Scan articles [id, text of doc]
//! ```
//!
//! The access method `document` writes the text of a document from its nodes, without the `jsonb` in between.
//! Not for versions, whose rows bring their values with them.

use sql::plan::{Cast, Expr, ExprKind, Moment, system};
use types::{Modifier, Type};

use super::expr::columns;
use crate::schema::Schema;
use crate::tree::{Kind, Node, Scan, each_part};

/// Makes scans give the text of an out-of-line value if the plan uses nothing else of it.
pub(super) fn texts(node: &mut Node, schema: &dyn Schema) {
    node.inputs(&mut |input| texts(input, schema));
    let Kind::Project { input, exprs } = &mut node.kind else { return };
    let Node { kind: Kind::Scan(scan), types } = &mut **input else { return };
    if scan.computed || !matches!(scan.moment, Moment::Now | Moment::AsOf(_) | Moment::AtVersion(_))
    {
        return;
    }
    // A row that is to be locked may be read again, at another moment.
    if scan.attnums.contains(&system::KEY) {
        return;
    }
    let Some(facts) = schema.table(scan.relation).filter(|facts| !facts.out_of_line.is_empty())
    else {
        return;
    };
    for at in 0..scan.attnums.len() {
        if facts.out_of_line.contains(&scan.attnums[at]) {
            text_of(scan, types, exprs, at);
        }
    }
}

/// Makes a scan give the text of a column instead of its value, if the plan uses nothing else of it.
fn text_of(scan: &mut Scan, types: &mut [Type], exprs: &mut [Expr], at: usize) {
    let is_seen = [&scan.condition, &scan.sure].into_iter().flatten().any(|expr| uses(expr, at));
    if is_seen || !exprs.iter().all(|expr| makes_only_text(expr, at)) {
        return;
    }
    scan.attnums[at] = system::TEXT_OF - scan.attnums[at];
    types[at] = Type::TEXT;
    exprs.iter_mut().for_each(|expr| {
        each_part(expr, &mut |part| {
            if is_text_of(part, at)
                && let ExprKind::Cast { expr, .. } = &mut part.kind
            {
                let column = Expr { ty: Type::TEXT, modifier: Modifier::NONE, ..(**expr).clone() };
                *part = column;
            }
            true
        });
    });
}

fn uses(expr: &Expr, at: usize) -> bool {
    let mut found = false;
    columns(expr, &mut |column| found |= column == at);
    found
}

/// True for `column::text`.
fn is_text_of(expr: &Expr, at: usize) -> bool {
    let ExprKind::Cast { expr: of, how: Cast::Type { .. } } = &expr.kind else { return false };
    expr.ty == Type::TEXT
        && matches!(of.kind, ExprKind::Column { levels_up: 0, index } if index as usize == at)
}

/// True if an expression does nothing with a column but to make it text.
fn makes_only_text(expr: &Expr, at: usize) -> bool {
    let mut is_so = true;
    each_part(&mut expr.clone(), &mut |part| {
        if is_text_of(part, at) {
            return false;
        }
        is_so &= !matches!(part.kind, ExprKind::Column { index, .. } if index as usize == at);
        is_so
    });
    is_so
}
