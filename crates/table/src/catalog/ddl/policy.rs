//! Policies of row-level security: made, changed, renamed, taken from roles.

use std::sync::Arc;

use ::types::{Oid, SqlState};
use txn::RowLock;

use super::{Address, Class, Ddl, Entry, Relation, RelationKind};
use crate::catalog::{Key, Policy, PolicyCommand, RowSecurity, SqlText};
use crate::objects::Objects;
use crate::{Error, Result};

/// A policy to be made.
#[derive(Clone, Debug)]
pub struct NewPolicy {
    /// Its name.
    pub name: Arc<str>,
    /// False for `RESTRICTIVE`.
    pub is_permissive: bool,
    /// The statements that it is about.
    pub command: PolicyCommand,
    /// The roles that it is about.
    pub roles: Vec<Oid>,
    /// The condition for rows that are seen.
    pub using: Option<SqlText>,
    /// The condition for rows that are written.
    pub check: Option<SqlText>,
}

/// The changes of `ALTER POLICY`; `None` for a part that stays.
#[derive(Clone, Debug, Default)]
pub struct PolicyChange {
    /// The roles.
    pub roles: Option<Vec<Oid>>,
    /// The condition for rows that are seen.
    pub using: Option<SqlText>,
    /// The condition for rows that are written.
    pub check: Option<SqlText>,
}

impl Ddl<'_> {
    /// Makes a policy of a table.
    ///
    /// # Errors
    /// 42710 where the table has one of that name; 42809 where it is no table; 42501 if the role is
    /// not the owner.
    pub fn create_policy(&mut self, table: Oid, new: NewPolicy) -> Result<()> {
        self.whole(|ddl| {
            let relation = ddl.secured_table(table)?;
            ddl.check_policy_name(&relation, &new.name)?;
            let NewPolicy { name, is_permissive, command, roles, using, check } = new;
            ddl.rely_on_policy(table, &roles, [&using, &check])?;
            let oid = ddl.new_oid()?;
            let policy = Policy { oid, name, table, is_permissive, command, roles, using, check };
            ddl.put(Entry::Policy(Arc::new(policy)))
        })
    }

    /// Changes a policy.
    ///
    /// # Errors
    /// 42601 where the statements that it is about see no rows, or write none; 42501 if the role
    /// does not own the table.
    pub fn alter_policy(&mut self, policy: Oid, change: PolicyChange) -> Result<()> {
        self.whole(|ddl| {
            let mut policy = Policy::clone(&*ddl.policy_to_change(policy)?);
            let refuse = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message));
            match policy.command {
                PolicyCommand::Select | PolicyCommand::Delete if change.check.is_some() => {
                    return refuse("only USING expression allowed for SELECT, DELETE");
                }
                PolicyCommand::Insert if change.using.is_some() => {
                    return refuse("only WITH CHECK expression allowed for INSERT");
                }
                _ => {}
            }
            policy.roles = change.roles.unwrap_or(policy.roles);
            policy.using = change.using.or(policy.using);
            policy.check = change.check.or(policy.check);
            ddl.rely_on_policy(policy.table, &policy.roles, [&policy.using, &policy.check])?;
            ddl.put(Entry::Policy(Arc::new(policy)))
        })
    }

    /// Says whether the policies of a table are in force; `None` for what stays.
    ///
    /// # Errors
    /// 42809 where it is no table; 42501 if the role is not the owner.
    pub fn set_row_security(
        &mut self,
        table: Oid,
        is_enabled: Option<bool>,
        is_forced: Option<bool>,
    ) -> Result<()> {
        self.whole(|ddl| {
            let mut relation = Relation::clone(&*ddl.secured_table(table)?);
            if let RelationKind::Table(data) = &mut relation.kind {
                if is_enabled == Some(true) && data.method.oid == Objects::OID {
                    let message = format!(
                        "row-level security is not supported for \"{}\", which is a table of objects",
                        relation.name
                    );
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                let known = data.row_security;
                data.row_security = RowSecurity {
                    is_enabled: is_enabled.unwrap_or(known.is_enabled),
                    is_forced: is_forced.unwrap_or(known.is_forced),
                };
            }
            ddl.put_relation(relation).map(drop)
        })
    }

    pub(super) fn rename_policy(&mut self, policy: Oid, name: &str) -> Result<()> {
        let policy = self.policy_to_change(policy)?;
        let relation = self.relation_to_change(policy.table)?;
        self.check_policy_name(&relation, name)?;
        self.put(Entry::Policy(Arc::new(Policy { name: name.into(), ..(*policy).clone() })))
    }

    /// Takes roles out of the policies of the session's database. A policy that is about nobody else goes.
    pub(super) fn forget_in_policies(&mut self, roles: &[Oid]) -> Result<()> {
        let catalog = self.catalog();
        let concerned = catalog.policies().filter(|policy| {
            let database = catalog.database_with(Address::of(Class::Policy, policy.oid));
            database == Some(self.acting.database)
                && policy.roles.iter().any(|role| roles.contains(role))
        });
        let concerned: Vec<Arc<Policy>> = concerned.cloned().collect();
        for policy in concerned {
            let mut policy = Policy::clone(&*policy);
            policy.roles.retain(|role| !roles.contains(role));
            match policy.roles.is_empty() {
                true => {
                    self.remove_comment(Address::of(Class::Policy, policy.oid))?;
                    self.remove(Key::Policy(policy.oid))?;
                }
                false => self.put(Entry::Policy(Arc::new(policy)))?,
            }
        }
        Ok(())
    }

    /// The table whose policies change, which nobody else changes meanwhile.
    fn secured_table(&mut self, table: Oid) -> Result<Arc<Relation>> {
        self.check_owner(Address::relation(table))?;
        let relation = self.relation_to_change(table)?;
        if !relation.is_plain_table() {
            let message = format!("\"{}\" is not a table", relation.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        Ok(relation)
    }

    fn policy_to_change(&mut self, oid: Oid) -> Result<Arc<Policy>> {
        let missing = || {
            let message = format!("policy with OID {oid} does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        };
        let table = self.catalog().policy(oid).ok_or_else(missing)?.table;
        self.secured_table(table)?;
        self.draft.lock(self.txn, Key::Policy(oid), RowLock::NoKeyUpdate)?;
        self.catalog().policy(oid).cloned().ok_or_else(missing)
    }

    fn check_policy_name(&self, table: &Relation, name: &str) -> Result<()> {
        let known = self.catalog().table(table.oid).map_or(&[][..], |table| &table.policies);
        if known.iter().all(|policy| *policy.name != *name) {
            return Ok(());
        }
        let message = format!("policy \"{name}\" for table \"{}\" already exists", table.name);
        Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
    }

    fn rely_on_policy(
        &mut self,
        table: Oid,
        roles: &[Oid],
        texts: [&Option<SqlText>; 2],
    ) -> Result<()> {
        for role in roles.iter().filter(|role| **role != Oid::NONE) {
            self.rely_on(Key::Role(*role))?;
        }
        texts.into_iter().flatten().try_for_each(|text| self.rely_on_others(text, table))
    }
}
