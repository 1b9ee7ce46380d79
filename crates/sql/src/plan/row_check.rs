//! What is asked of rows that are written, beyond the constraints of the table.

use super::Expr;

/// What a view or a policy asks of rows that are written.
#[derive(Clone, Debug)]
pub struct RowCheck {
    /// Who asks.
    pub by: CheckedBy,
    /// The rows that are asked; `None` for all that are written.
    pub of: Option<Written>,
    /// A condition over the row, which must be true.
    pub expr: Expr,
}

/// Who asks something of rows that are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckedBy {
    /// A constraint of the table, by its name. It is not broken by NULL.
    Constraint(String),
    /// The view of this name: `WITH CHECK OPTION`.
    View(String),
    /// Policies of the table: the name of a restrictive one; none for the permissive ones together.
    Policy(Option<String>),
}

/// How a row is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// It is inserted.
    Inserted,
    /// It takes the place of another.
    Updated,
}
