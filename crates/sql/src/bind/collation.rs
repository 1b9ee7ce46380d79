//! Collations that a statement names: which ones there are, and that two of them never meet.
//!
//! Every collation that exists here orders text by its bytes, so a `COLLATE` changes no result and the
//! plan does not keep it. The binder remembers where each one stands, to refuse what PostgreSQL
//! refuses:
//!
//! ```text
//!   a COLLATE "C" < b COLLATE "POSIX"          42P21: two explicit collations for one operator
//!   (a || b COLLATE "C") < c COLLATE "POSIX"   likewise: `||` hands its collation on
//!   length(a COLLATE "C") < length(b COLLATE "POSIX")   fine: an integer has none
//! ```
//!
//! Conflicts between the collations of columns (42P22) are not refused: both orders are the same.

use types::{SqlState, Type};

use crate::error::{At, Error, Result};
use crate::parse::ast;
use crate::plan::{Expr, ExprKind};

use super::Binder;

/// A `COLLATE` of the statement.
pub(super) struct Explicit {
    /// Where the collated expression stands.
    of: At,
    name: String,
    at: At,
}

impl Binder<'_> {
    /// Binds `expr COLLATE collation`, which stands at `at`.
    pub(super) fn collate(
        &mut self,
        expr: &ast::Expr,
        collation: &ast::Path,
        at: At,
    ) -> Result<Expr> {
        let inner = self.expr(expr)?;
        let inner = self.settle(inner)?;
        if !self.is_collatable(inner.ty) {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!("collations are not supported by type {}", self.type_name(inner.ty)),
            )
            .at(at));
        }
        let name = collation.last();
        if !matches!(name, "C" | "POSIX" | "default" | "ucs_basic") {
            return Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("collation \"{collation}\" for encoding \"UTF8\" does not exist"),
            )
            .at(at));
        }
        // The outer of two COLLATE clauses counts, and is bound last.
        self.collations.retain(|known| known.of != inner.at);
        self.collations.push(Explicit { of: inner.at, name: name.to_owned(), at });
        Ok(inner)
    }

    /// Checks that the operands of one operator, function or list have one explicit collation at most.
    ///
    /// # Errors
    /// `42P21` where two of them have different ones.
    pub(super) fn one_collation<'e>(
        &self,
        operands: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<()> {
        if self.collations.len() < 2 {
            return Ok(());
        }
        let mut first: Option<&Explicit> = None;
        for explicit in operands.into_iter().filter_map(|operand| self.explicit(operand)) {
            match first {
                Some(first) if first.name != explicit.name => {
                    return Err(Error::new(
                        SqlState::COLLATION_MISMATCH,
                        format!(
                            "collation mismatch between explicit collations \"{}\" and \"{}\"",
                            first.name, explicit.name
                        ),
                    )
                    .at(explicit.at));
                }
                Some(_) => {}
                None => first = Some(explicit),
            }
        }
        Ok(())
    }

    /// The explicit collation of an expression: its own, or that of an operand that it hands on.
    fn explicit(&self, expr: &Expr) -> Option<&Explicit> {
        if !self.is_collatable(expr.ty) {
            return None;
        }
        let own = self.collations.iter().find(|known| known.of == expr.at && expr.at != At::NONE);
        own.or_else(|| {
            let mut operands: Box<dyn Iterator<Item = &Expr> + '_> = match &expr.kind {
                ExprKind::Call(call) | ExprKind::NullIf(call) => Box::new(call.args.iter()),
                ExprKind::Cast { expr, .. } | ExprKind::Subscript { expr, .. } => {
                    Box::new(std::iter::once(&**expr))
                }
                ExprKind::Coalesce(list)
                | ExprKind::Greatest(list)
                | ExprKind::Least(list)
                | ExprKind::Array { elements: list, .. } => Box::new(list.iter()),
                ExprKind::Case { arms, otherwise, .. } => Box::new(
                    arms.iter().map(|(_, result)| result).chain(std::iter::once(&**otherwise)),
                ),
                _ => return None,
            };
            operands.find_map(|operand| self.explicit(operand))
        })
    }

    /// True for strings, and for arrays of strings.
    fn is_collatable(&self, ty: Type) -> bool {
        let element = self.facts().element(ty).unwrap_or(ty);
        self.facts().category(element) == 'S'
    }
}
