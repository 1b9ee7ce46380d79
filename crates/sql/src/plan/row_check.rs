//! Conditions on written rows, beyond the constraints of the table.

use super::Expr;

/// The condition of a view or a policy on rows that are written.
#[derive(Clone, Debug)]
pub struct RowCheck {
    /// The view or policy that has the condition.
    pub by: CheckedBy,
    /// The rows that are asked; `None` for all that are written.
    pub of: Option<Written>,
    /// A condition over the row, which must be true.
    pub expr: Expr,
}

/// The view or policy that has a condition on written rows.
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
