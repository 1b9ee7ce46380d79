//! The objects that belong to roles: listing them, giving them to another role, dropping them.
//!
//! ```text
//!   DROP ROLE ann                   refused: owner of table t, 2 objects in database shop
//!   REASSIGN OWNED BY ann TO bob    what she owns in this database, and her databases
//!   DROP OWNED BY ann               what she owns in this database, and what she was given
//!   DROP ROLE ann
//! ```

use std::collections::BTreeMap;

use ::types::{Oid, SqlState};

use super::role::denied;
use super::{Address, Behavior, Class, Ddl, Entry, Notice};
use crate::catalog::{Key, POSTGRES_ROLE};
use crate::{Error, Result};

impl Ddl<'_> {
    /// Gives what roles own in the session's database, and the databases that they own, to another.
    ///
    /// # Errors
    /// 42501 where the acting role has not the privileges of all of them, 2BP01 for the role that is
    /// there from the start.
    pub fn reassign_owned(&mut self, roles: &[Oid], to: Oid) -> Result<()> {
        self.whole(|ddl| {
            for role in roles {
                ddl.check_acts_for(*role, "reassign objects", "reassign objects owned by it")?;
            }
            ddl.check_acts_for(to, "reassign objects", "reassign objects to it")?;
            ddl.check_not_first(roles, "reassign ownership of")?;
            ddl.rely_on(Key::Role(to))?;
            let databases = ddl.catalog().databases().filter(|it| roles.contains(&it.owner));
            let databases = databases.map(|database| Address::of(Class::Database, database.oid));
            let all: Vec<Address> = databases.chain(ddl.owned_by(roles)).collect();
            all.into_iter().try_for_each(|object| ddl.give(object, to))
        })
    }

    /// Drops what roles own in the session's database, and takes from them what they were given there
    /// and on databases.
    ///
    /// # Errors
    /// As [`Ddl::reassign_owned`]; 2BP01 where something of others depends on what is dropped.
    pub fn drop_owned(&mut self, roles: &[Oid], behavior: Behavior) -> Result<Option<Notice>> {
        self.whole(|ddl| {
            for role in roles {
                ddl.check_acts_for(*role, "drop objects", "drop objects owned by it")?;
            }
            ddl.check_not_first(roles, "drop")?;
            let is_here = |object: &Address| {
                let database = ddl.catalog().database_with(*object);
                database.is_none_or(|database| database == ddl.acting.database)
            };
            let given: Vec<Address> =
                ddl.catalog().entries().flat_map(|it| it.acl_addresses()).collect();
            let given: Vec<Address> = given.into_iter().filter(is_here).collect();
            for object in given {
                let mut acl = ddl.catalog().acl_of(object);
                let count = acl.0.len();
                acl.0.retain(|item| {
                    !roles.contains(&item.grantee) && !roles.contains(&item.grantor)
                });
                if acl.0.len() < count && ddl.owner_is_none_of(object, roles) {
                    ddl.set_acl(object, acl)?;
                }
            }
            let defaults = ddl.catalog().default_acls().filter(|it| roles.contains(&it.role));
            let defaults: Vec<Key> = defaults.map(|entry| Key::DefaultAcl(entry.oid)).collect();
            defaults.into_iter().try_for_each(|key| ddl.remove(key))?;
            ddl.forget_in_policies(roles)?;
            let owned: Vec<Address> = ddl.owned_by(roles).collect();
            ddl.drop_objects(&owned, behavior)
        })
    }

    fn owner_is_none_of(&self, object: Address, roles: &[Oid]) -> bool {
        self.catalog().owner_of(object).is_none_or(|owner| !roles.contains(&owner))
    }

    /// Returns the objects that roles own in the session's database, except those that go with
    /// their table.
    fn owned_by(&self, roles: &[Oid]) -> impl Iterator<Item = Address> {
        let owned = self.catalog().entries().filter_map(|entry| {
            let object = entry.address()?;
            let is_part = match &entry {
                Entry::Relation(relation) => {
                    let owner = relation.sequence().and_then(|sequence| sequence.owned_by);
                    relation.index().is_some() || owner.is_some()
                }
                entry => matches!(entry, Entry::Constraint(_) | Entry::Policy(_)),
            };
            let is_here = self.catalog().database_with(object) == Some(self.acting.database);
            (is_here && !is_part && !self.owner_is_none_of(object, roles)).then_some(object)
        });
        owned.collect::<Vec<_>>().into_iter()
    }

    fn check_acts_for(&self, role: Oid, what: &str, may: &str) -> Result<()> {
        let Self { acting, .. } = self;
        if self.catalog().has_privileges_of(acting.role, role, acting.database) {
            return Ok(());
        }
        let name = &self.role(role)?.name;
        Err(denied(what, format!("Only roles with privileges of role \"{name}\" may {may}.")))
    }

    fn check_not_first(&self, roles: &[Oid], what: &str) -> Result<()> {
        if !roles.contains(&POSTGRES_ROLE) {
            return Ok(());
        }
        let name = &self.role(POSTGRES_ROLE)?.name;
        let message = format!(
            "cannot {what} objects owned by role {name} because they are required by the database \
             system"
        );
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message))
    }

    /// Returns the objects that keep a role from being dropped, a line each; of other databases
    /// only their number.
    pub(super) fn belongings(&self, role: Oid) -> Vec<String> {
        let scope = self.scope();
        let mut lines: Vec<(Oid, String)> = Vec::new();
        let mut elsewhere: BTreeMap<Oid, u32> = BTreeMap::new();
        let mut note = |object: Address, word: &str| match self.catalog().database_with(object) {
            Some(other) if other != Oid::NONE && other != self.acting.database => {
                *elsewhere.entry(other).or_default() += 1;
            }
            _ => lines.push((object.oid, format!("{word} {}", scope.describe(object)))),
        };
        for entry in self.catalog().entries() {
            let Some(object) = entry.address() else { continue };
            if matches!(&entry, Entry::Relation(relation) if relation.index().is_some()) {
                continue;
            }
            let is_part = matches!(object.class, Class::Constraint | Class::Policy);
            if self.catalog().owner_of(object) == Some(role) && !is_part {
                note(object, "owner of");
            }
            if matches!(&entry, Entry::Policy(policy) if policy.roles.contains(&role)) {
                note(object, "target of");
            }
            for object in entry.acl_addresses() {
                let acl = self.catalog().acl_of(object);
                let owner = self.catalog().owner_of(object);
                let is_named =
                    acl.0.iter().any(|item| item.grantee == role || item.grantor == role);
                if is_named && owner != Some(role) {
                    note(object, "privileges for");
                }
            }
        }
        lines.sort();
        let elsewhere = elsewhere.into_iter().map(|(database, count)| {
            let name = self.catalog().database(database).map_or("???", |database| &database.name);
            format!("{count} object{} in database {name}", if count == 1 { "" } else { "s" })
        });
        lines.into_iter().map(|(_, line)| line).chain(elsewhere).collect()
    }
}
