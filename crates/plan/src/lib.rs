//! Plans: the operators of a bound statement, and the way in which each part of it is computed.
//!
//! ```text
//!   sql::plan::Plan ──lower──> Plan ──rewrite──> Plan          run by exec
//!                              slots, subplans   access paths, join order and methods,
//!                              by number         top-n
//! ```
//!
//! All engines run the same plan. The row engine (`exec`) runs every plan, and defines the meaning with
//! which another engine is compared.
//!
//! | module | is |
//! |---|---|
//! | `tree` | [`Plan`], [`Node`]: the operators |
//! | `lower` | from bound plans to plans: rows further out become slots, subqueries become subplans |
//! | `rewrite` | the rules, the estimates, the order of joins |
//! | `schema` | [`Schema`]: the questions to tables |
//! | `stored` | [`facts`]: the answers of the catalog and the statistics |
//! | `shown` | expressions as PostgreSQL writes them |
//! | [`explain`] | plans as text, for tests and as PostgreSQL shows them |
//!
//! # Rows
//! A column of an outer row is a *slot*: a number under which its value is kept while the inner rows are
//! computed. A subquery in an expression is a *subplan*, identified by a number, with the values of its slots
//! as arguments. So a rule can move an expression without changing it.
//!
//! # Absent on purpose
//! No SQL text, no transaction, no row: a plan is made from a bound statement and from the facts about tables.

pub mod explain;
mod lower;
mod ranges;
mod rewrite;
mod schema;
mod shown;
mod stored;
mod tree;

use sql::bind::Names;
use types::{Context, Datum, Result};

pub use ranges::{Binding, Range};
pub use rewrite::{all_of, asks};
pub use schema::{
    ItemClass, KeyFacts, KeyPart, PartFacts, PartitionFacts, Schema, Strategy, TableFacts, Values,
};
pub use stored::facts;
pub use tree::*;

/// The options of the planner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes<'a> {
    /// The values that parameters have in every execution, from the first one on; the others stay open.
    pub values: &'a [Datum],
    /// Joins are made in the order in which the statement writes them.
    pub keeps_join_order: bool,
}

/// The plan of a bound statement, which holds as long as the catalog that the statement was bound with.
///
/// # Errors
/// 0A000 for what cannot be run.
pub fn plan(
    bound: sql::plan::Plan,
    names: &dyn Names,
    context: Context<'_>,
    schema: &dyn Schema,
    wishes: Wishes<'_>,
) -> Result<Plan> {
    let mut plan = lower::lower(bound, names, context, schema)?;
    plan.set_params(wishes.values);
    rewrite::rewrite(&mut plan, names, schema, wishes.keeps_join_order);
    Ok(plan)
}
