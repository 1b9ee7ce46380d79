//! All that belongs to a role: handing it to another, or dropping it, before the role is dropped.

use ::types::Oid;

use super::role::denied;
use super::{Address, Behavior, Class, Ddl, Entry, Notice};
use crate::Result;
use crate::catalog::{Acl, Key};

impl Ddl<'_> {
    /// Gives all that some roles own, in the session's database, and databases themselves, to another.
    ///
    /// # Errors
    /// 42501 where the acting role is no member of one of them.
    pub fn reassign_owned(&mut self, roles: &[Oid], owner: Oid) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_roles("reassign objects", roles)?;
            ddl.check_roles("reassign objects", &[owner])?;
            ddl.rely_on(Key::Role(owner))?;
            for object in ddl.owned_by(roles) {
                ddl.give(object, owner)?;
            }
            Ok(())
        })
    }

    /// Drops all that some roles own in the session's database, and takes away what was given to them
    /// there.
    ///
    /// # Errors
    /// 2BP01 where objects of others depend on it, and `behavior` is to restrict.
    pub fn drop_owned(&mut self, roles: &[Oid], behavior: Behavior) -> Result<Option<Notice>> {
        self.whole(|ddl| {
            ddl.check_roles("drop objects", roles)?;
            let given: Vec<Address> =
                ddl.catalog().entries().flat_map(|entry| entry.acl_addresses()).collect();
            for object in given {
                let acl = ddl.catalog().acl_of(object);
                let kept = acl.0.iter().filter(|item| {
                    !roles.contains(&item.grantee) && !roles.contains(&item.grantor)
                });
                let kept = Acl(kept.copied().collect());
                let is_owned =
                    ddl.catalog().owner_of(object).is_some_and(|owner| roles.contains(&owner));
                if kept != acl && !is_owned {
                    ddl.set_acl(object, kept)?;
                }
            }
            let mut objects = ddl.owned_by(roles);
            objects.retain(|object| object.class != Class::Database);
            ddl.drop_objects(&objects, behavior)
        })
    }

    fn check_roles(&self, what: &str, roles: &[Oid]) -> Result<()> {
        for role in roles {
            let acting = self.acting;
            if !self.catalog().has_privileges_of(acting.role, *role, acting.database) {
                let name = &self.role(*role)?.name;
                let detail = format!(
                    "Only roles with privileges of role \"{name}\" may {what}{}.",
                    if what == "drop objects" { " owned by it" } else { "" }
                );
                return Err(denied(what, detail));
            }
        }
        Ok(())
    }

    /// What the roles own in the session's database, but for what goes with something else.
    fn owned_by(&self, roles: &[Oid]) -> Vec<Address> {
        let catalog = self.catalog();
        let is_here = |schema: Oid| {
            let schema = catalog.schema(schema);
            schema.is_some_and(|schema| schema.database == self.acting.database)
        };
        let is_own = |entry: &Entry| match entry {
            Entry::Relation(relation) => {
                let owned = relation.sequence().and_then(|sequence| sequence.owned_by);
                roles.contains(&relation.owner)
                    && is_here(relation.schema)
                    && relation.index().is_none()
                    && owned.is_none()
            }
            Entry::Type(ty) => roles.contains(&ty.owner) && is_here(ty.schema),
            Entry::Schema(schema) => roles.contains(&schema.owner) && is_here(schema.oid),
            Entry::Database(database) => roles.contains(&database.owner),
            Entry::DefaultAcl(acl) => roles.contains(&acl.role),
            _ => false,
        };
        catalog.entries().filter(is_own).filter_map(|entry| entry.address()).collect()
    }
}
