//! Row-level security: the rows of a table that a role may see, and those that it may write.
//!
//! ```text
//!   create policy own on t using (who = current_user)
//!
//!   select ... from t where f(a)       Filter f(a)
//!                                        Barrier                    f sees no row of others
//!                                          Filter who = current_user
//!                                            Scan t
//! ```
//!
//! Of the permissive policies that are about a statement and a role one must accept a row, of the restrictive
//! ones all. A statement that reads rows to change them is asked by the policies of `SELECT` as well. Policies are
//! those of the present, also where the past is read.

use types::{SqlState, Type};

use super::Binder;
use super::names::{Names, Policy, PolicyCommand, Relation};
use super::scope::Clause as ScopeClause;
use super::select::filtered;
use super::updatable::Shown;
use crate::error::{At, Error, Result};
use crate::plan::{CheckedBy, Column, Expr, ExprKind, Node, Plan, RowCheck, Written};

/// The access to rows of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The statement.
    pub command: PolicyCommand,
    /// True if it reads rows to do so.
    pub reads: bool,
}

impl Access {
    /// Rows are read, and may be locked as those are that change.
    pub fn read(locks: bool) -> Access {
        let command = if locks { PolicyCommand::Update } else { PolicyCommand::Select };
        Access { command, reads: true }
    }

    /// The statements whose policies are asked, the first for the access itself.
    fn commands(self) -> impl Iterator<Item = PolicyCommand> {
        let read = self.reads && self.command != PolicyCommand::Select;
        [self.command].into_iter().chain(read.then_some(PolicyCommand::Select))
    }
}

/// The condition of policies that rows meet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    Using,
    Check,
}

impl Policy {
    fn is_about(&self, command: PolicyCommand) -> bool {
        self.command.is_none_or(|known| known == command)
    }

    /// The text of a condition. A visible row may be written, unless the policy says something
    /// else.
    fn text(&self, clause: Clause) -> Option<&str> {
        match clause {
            Clause::Using => self.using.as_deref(),
            Clause::Check => self.check.as_deref().or(self.using.as_deref()),
        }
    }
}

/// Keeps conditions above the plan that could reveal rows which it filters out.
pub(super) fn barrier(plan: Plan) -> Plan {
    let columns = plan.columns.clone();
    Plan { node: Node::Barrier(Box::new(plan)), columns }
}

/// Binds the condition of a policy over the rows of its table.
///
/// # Errors
/// As [`statement`](super::statement); 42804 where it is no truth value, 42803 for aggregates and the like.
pub fn policy_condition(
    text: &str,
    over: &Relation,
    names: &dyn Names,
    context: ::types::Context<'_>,
) -> Result<()> {
    let ast = crate::parse::expression(text)?;
    let (mut binder, _) = Binder::over(names, context, Some(over));
    let bound = binder.within(ScopeClause::POLICY, |binder| binder.expr(&ast))?;
    binder.boolean(bound, "POLICY").map(drop)
}

impl Binder<'_> {
    /// The role that reads a view's relations; none for the role that runs the statement.
    pub(super) fn reader_of(&self, view: &Relation) -> Option<types::Oid> {
        if view.is_of_invoker { self.by } else { Some(view.owner) }
    }

    /// Does something in the name of the role that reads the table below views.
    pub(super) fn in_name_of<T>(
        &mut self,
        shown: &Shown,
        act: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.by;
        for layer in shown.layers.iter().rev() {
            self.by = self.reader_of(&layer.view);
        }
        let done = act(self);
        self.by = before;
        done
    }

    /// The rows of a table that policies let through, of which `plan` is the scan.
    pub(super) fn secured(
        &mut self,
        plan: Plan,
        relation: &Relation,
        access: Access,
    ) -> Result<Plan> {
        let Some(policies) = self.policies(relation) else { return Ok(plan) };
        let row = plan.columns[..relation.columns.len()].to_vec();
        let condition = self.accepted(&policies, (relation, &row), access)?;
        Ok(barrier(filtered(plan, condition)))
    }

    /// Adds what policies ask of rows that are written.
    pub(super) fn policy_checks(
        &mut self,
        base: &Relation,
        shown: Option<&Shown>,
        (row, written): (&[Column], Written),
        access: Access,
        checks: &mut Vec<RowCheck>,
    ) -> Result<()> {
        let mut add = |binder: &mut Self| {
            let Some(policies) = binder.policies(base) else { return Ok(()) };
            let mut add = |policy, expr| {
                checks.push(RowCheck { by: CheckedBy::Policy(policy), of: Some(written), expr });
            };
            for (place, command) in access.commands().enumerate() {
                let clause = if place == 0 { Clause::Check } else { Clause::Using };
                let about: Vec<&Policy> =
                    policies.iter().filter(|policy| policy.is_about(command)).collect();
                add(None, binder.permitted(&about, (base, row), clause)?);
                for policy in about.iter().filter(|policy| !policy.is_permissive) {
                    if let Some(text) = policy.text(clause) {
                        add(Some(policy.name.clone()), binder.condition(text, (base, row))?);
                    }
                }
            }
            Ok(())
        };
        match shown {
            Some(shown) => self.in_name_of(shown, add),
            None => add(self),
        }
    }

    /// A condition with what policies ask of a row that is to be changed, which is an error where they do not accept
    /// it. `what` is what the message calls the row.
    pub(super) fn asked_of_old(
        &mut self,
        (what, base): (&str, &Relation),
        shown: Option<&Shown>,
        row: &[Column],
        access: Access,
        condition: Option<Expr>,
    ) -> Result<Option<Expr>> {
        let ask = |binder: &mut Self| {
            let Some(policies) = binder.policies(base) else { return Ok(None) };
            let accepted = binder.accepted(&policies, (base, row), access)?;
            let text = format!(
                "pg_catalog.row_security_refuse({})",
                scalar::quote::literal(&format!(
                    "{what} violates row-level security policy (USING expression) for table \"{}\"",
                    base.name
                ))
            );
            let refuse = binder.condition(&text, (base, row))?;
            let arms = vec![(accepted, Expr::bool(true))];
            let kind = ExprKind::Case { operand: None, arms, otherwise: Box::new(refuse) };
            Ok(Some(Expr::of(kind, Type::BOOL, At::NONE)))
        };
        let asked = match shown {
            Some(shown) => self.in_name_of(shown, ask)?,
            None => ask(self)?,
        };
        Ok(all([condition, asked].into_iter().flatten().collect()))
    }

    /// The policies of a table, where they are in force.
    fn policies(&mut self, relation: &Relation) -> Option<Vec<Policy>> {
        let policies = self.names.policies(relation.oid, self.by)?;
        self.uses.secured.get_or_insert_with(|| relation.name.clone());
        Some(policies)
    }

    /// That all policies which are asked let a row through.
    fn accepted(
        &mut self,
        policies: &[Policy],
        over: (&Relation, &[Column]),
        access: Access,
    ) -> Result<Expr> {
        let mut conditions = Vec::new();
        for command in access.commands() {
            let about: Vec<&Policy> =
                policies.iter().filter(|policy| policy.is_about(command)).collect();
            for policy in about.iter().filter(|policy| !policy.is_permissive) {
                if let Some(text) = policy.text(Clause::Using) {
                    conditions.push(self.condition(text, over)?);
                }
            }
            conditions.push(self.permitted(&about, over, Clause::Using)?);
        }
        Ok(all(conditions).unwrap_or_else(|| Expr::bool(true)))
    }

    /// That a permissive policy lets a row through; false if there is none.
    fn permitted(
        &mut self,
        about: &[&Policy],
        over: (&Relation, &[Column]),
        clause: Clause,
    ) -> Result<Expr> {
        let mut any = Vec::new();
        for policy in about.iter().filter(|policy| policy.is_permissive) {
            any.push(match policy.text(clause) {
                Some(text) => self.condition(text, over)?,
                None => Expr::bool(true),
            });
        }
        Ok(match any.len() {
            0 => Expr::bool(false),
            1 => any.remove(0),
            _ => Expr::of(ExprKind::Or(any), Type::BOOL, At::NONE),
        })
    }

    /// The condition of a policy over the row of its table.
    fn condition(&mut self, text: &str, (relation, row): (&Relation, &[Column])) -> Result<Expr> {
        if self.secured.contains(&relation.oid) {
            let message =
                format!("infinite recursion detected in policy for relation \"{}\"", relation.name);
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        self.secured.push(relation.oid);
        let scopes = std::mem::take(&mut self.scopes);
        // Names in the policy are no part of the text that is bound.
        let (moment, text_of) = (self.moment.take(), self.text.take());
        let outlining = self.outlining.take();
        let bound = self.stored(text, Some((relation, row)));
        (self.moment, self.text, self.outlining) = (moment, text_of, outlining);
        self.scopes = scopes;
        self.secured.pop();
        let bound = bound?;
        self.boolean(bound, "POLICY")
    }
}

/// That all of these are true; `None` if there are none.
fn all(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(Expr::of(ExprKind::And(conditions), Type::BOOL, At::NONE)),
    }
}
