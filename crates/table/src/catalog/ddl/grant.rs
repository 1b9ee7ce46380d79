//! Privileges: giving them, taking them away, and those that future objects get.
//!
//! ```text
//!   owner ──SELECT*──> bob ──SELECT──> carol       revoked from bob: carol's depends on it, and goes
//!                                                  with CASCADE or keeps it with RESTRICT
//! ```

use std::sync::Arc;

use ::types::{Error as SqlError, Oid, SqlState};

use super::{Address, Behavior, Class, Ddl, Entry, Notice, Relation};
use crate::catalog::{Acl, AclItem, Database, DefaultAcl, Key, Privileges, Schema, UserType};
use crate::{Error, Result};

/// The privileges that a statement gives or takes away.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The privileges.
    pub privileges: Privileges,
    /// To whom, or from whom; 0 is everybody.
    pub grantees: Vec<Oid>,
    /// With the right to give it on; when it is taken away, only that right.
    pub grant_option: bool,
}

impl Ddl<'_> {
    /// Gives privileges on an object, or on a column. Privileges that the acting role cannot give
    /// are left out, and the warning says so.
    ///
    /// # Errors
    /// 42501 where it has no privilege on the object at all, 0LP01 for privileges that there are not.
    pub fn grant(&mut self, object: Address, grant: &Grant) -> Result<Option<Notice>> {
        self.whole(|ddl| {
            let (grantor, allowed) = ddl.grantor(object, grant)?;
            let mut acl = ddl.catalog().acl_of(object);
            if grant.grant_option && grant.grantees.contains(&Oid::NONE) {
                let message = "grant options can only be granted to roles";
                return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
            }
            for grantee in &grant.grantees {
                if *grantee != Oid::NONE {
                    ddl.rely_on(Key::Role(*grantee))?;
                }
                let grantable = if grant.grant_option { allowed } else { Privileges::NONE };
                acl.grant(AclItem { grantee: *grantee, grantor, privileges: allowed, grantable });
            }
            ddl.set_acl(object, acl)?;
            Ok(ddl.warning(object, grant.privileges, allowed, "granted"))
        })
    }

    /// Takes privileges on an object away, and those that their holders have given on.
    ///
    /// # Errors
    /// 2BP01 where others depend on them, and `behavior` is to restrict.
    pub fn revoke(
        &mut self,
        object: Address,
        grant: &Grant,
        behavior: Behavior,
    ) -> Result<Option<Notice>> {
        self.whole(|ddl| {
            let (grantor, allowed) = ddl.grantor(object, grant)?;
            let mut acl = ddl.catalog().acl_of(object);
            for grantee in &grant.grantees {
                revoke(&mut acl, *grantee, grantor, allowed, grant.grant_option, behavior)?;
            }
            ddl.set_acl(object, acl)?;
            // A privilege that is taken away on a table is taken away on its columns.
            if object.class == Class::Relation && object.sub == 0 {
                let relation = ddl.relation(object.oid)?;
                let given = relation.live_columns().filter(|column| column.acl.is_some());
                for attnum in given.map(|column| column.attnum) {
                    let column = Address::column(object.oid, attnum);
                    let mut acl = ddl.catalog().acl_of(column);
                    for grantee in &grant.grantees {
                        let of_columns = allowed & Privileges::ALL_COLUMN;
                        let only = grant.grant_option;
                        revoke(&mut acl, *grantee, grantor, of_columns, only, behavior)?;
                    }
                    ddl.set_acl(column, acl)?;
                }
            }
            Ok(ddl.warning(object, grant.privileges, allowed, "revoked"))
        })
    }

    /// In whose name privileges are given, and which of them can be.
    fn grantor(&self, object: Address, grant: &Grant) -> Result<(Oid, Privileges)> {
        let catalog = self.catalog();
        let all = catalog.all_privileges(object);
        if let Some(name) = (grant.privileges & !all).names().next() {
            let kind = match object.class {
                Class::Relation if object.sub != 0 => "column",
                Class::Relation => {
                    catalog.relation(object.oid).map_or("relation", |known| known.kind_name())
                }
                Class::Type => "type",
                Class::Schema => "schema",
                _ => "database",
            };
            let message = format!("invalid privilege type {name} for {kind}");
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        let Some(owner) = catalog.owner_of(object) else {
            return Err(super::not_supported("objects of this kind have no privileges"));
        };
        let (role, database) = (self.acting.role, self.acting.database);
        if catalog.has_privileges_of(role, owner, database) {
            return Ok((owner, grant.privileges));
        }
        let acl = catalog.acl_of(object);
        let best = acl
            .0
            .iter()
            .filter(|item| {
                item.grantee != Oid::NONE && catalog.has_privileges_of(role, item.grantee, database)
            })
            .max_by_key(|item| (item.grantable & grant.privileges).0.count_ones());
        match best.map(|item| (item.grantee, item.grantable & grant.privileges)) {
            Some((grantor, allowed)) if !allowed.is_empty() => Ok((grantor, allowed)),
            _ if catalog.privileges_on(role, object, all, database).is_empty() => {
                let message = format!("permission denied for {}", self.bare(object));
                Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
            }
            _ => Ok((role, Privileges::NONE)),
        }
    }

    fn warning(
        &self,
        object: Address,
        asked: Privileges,
        done: Privileges,
        verb: &str,
    ) -> Option<Notice> {
        if asked == done {
            return None;
        }
        let what = self.bare(object);
        let name = what.split_once(' ').map_or(&*what, |(_, name)| name);
        let how_many = if done.is_empty() { "no" } else { "not all" };
        let could = if verb == "granted" { "were granted" } else { "could be revoked" };
        Some(Notice {
            message: format!("{how_many} privileges {could} for \"{name}\""),
            detail: None,
        })
    }

    /// Sets what is given on an object.
    pub(super) fn set_acl(&mut self, object: Address, acl: Acl) -> Result<()> {
        let Some(key) = self.catalog().key_of(object) else { return Ok(()) };
        let Some(entry) = self.catalog().entry(key) else { return Ok(()) };
        match entry {
            Entry::Relation(relation) if object.sub != 0 => {
                let mut relation = Relation::clone(&relation);
                let Some(column) = relation.columns.get_mut(object.sub as usize - 1) else {
                    return Ok(());
                };
                column.acl = Some(acl).filter(|acl| !acl.0.is_empty());
                self.put_relation(relation).map(drop)
            }
            Entry::Relation(relation) => {
                let acl = Some(acl);
                self.put_relation(Relation { acl, ..(*relation).clone() }).map(drop)
            }
            Entry::Type(ty) => {
                let acl = Some(acl);
                self.put(Entry::Type(Arc::new(UserType { acl, ..(*ty).clone() })))
            }
            Entry::Schema(schema) => {
                let acl = Some(acl);
                self.put(Entry::Schema(Arc::new(Schema { acl, ..(*schema).clone() })))
            }
            Entry::Database(database) => {
                let acl = Some(acl);
                self.put(Entry::Database(Arc::new(Database { acl, ..(*database).clone() })))
            }
            _ => Ok(()),
        }
    }

    // --- privileges of future objects ------------------------------------------------------------

    /// Gives or takes away privileges on objects that a role makes from now on, in a schema or (0) in
    /// all. `kind` is the letter of [`DefaultAcl::kind`].
    ///
    /// # Errors
    /// 42501 where the acting role may not become the role.
    pub fn change_default_privileges(
        &mut self,
        role: Oid,
        schema: Oid,
        kind: char,
        grant: &Grant,
        is_revoke: bool,
        behavior: Behavior,
    ) -> Result<()> {
        self.whole(|ddl| {
            let acting = ddl.acting;
            if !ddl.catalog().has_privileges_of(acting.role, role, acting.database) {
                let message = "permission denied to change default privileges";
                return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            let (class, all) = match kind {
                'r' => (Class::Relation, Privileges::ALL_TABLE),
                'S' => (Class::Relation, Privileges::ALL_SEQUENCE),
                'T' => (Class::Type, Privileges::USAGE),
                'n' => (Class::Schema, Privileges::ALL_SCHEMA),
                _ => (Class::Relation, Privileges::EXECUTE),
            };
            let usual = match schema {
                Oid::NONE => Acl::usual(role, all, class),
                _ => Acl::default(),
            };
            let known = ddl
                .catalog()
                .default_acls()
                .find(|known| (known.role, known.schema, known.kind) == (role, schema, kind));
            let known = known.cloned();
            let mut acl = known.as_ref().map_or_else(|| usual.clone(), |known| known.acl.clone());
            for grantee in &grant.grantees {
                let asked = grant.privileges & all;
                if is_revoke {
                    revoke(&mut acl, *grantee, role, asked, grant.grant_option, behavior)?;
                } else {
                    let grantable = if grant.grant_option { asked } else { Privileges::NONE };
                    let (privileges, grantor) = (asked, role);
                    acl.grant(AclItem { grantee: *grantee, grantor, privileges, grantable });
                }
            }
            match (known, acl == usual) {
                (Some(known), true) => ddl.remove(Key::DefaultAcl(known.oid)),
                (None, true) => Ok(()),
                (known, false) => {
                    let oid = match known {
                        Some(known) => known.oid,
                        None => ddl.new_oid()?,
                    };
                    let entry = DefaultAcl { oid, role, schema, kind, acl };
                    ddl.put(Entry::DefaultAcl(Arc::new(entry)))
                }
            }
        })
    }

    /// Returns the privileges on an object that the acting role makes; `None` for the usual ones.
    pub(super) fn initial_acl(
        &self,
        schema: Oid,
        kind: char,
        class: Class,
        all: Privileges,
    ) -> Option<Acl> {
        let owner = self.acting.role;
        let find = |schema| {
            self.catalog()
                .default_acls()
                .find(|known| (known.role, known.schema, known.kind) == (owner, schema, kind))
        };
        let general = find(Oid::NONE);
        let special = if schema == Oid::NONE { None } else { find(schema) };
        if general.is_none() && special.is_none() {
            return None;
        }
        let usual = Acl::usual(owner, all, class);
        let mut acl = general.map_or_else(|| usual.clone(), |general| general.acl.clone());
        for item in special.iter().flat_map(|special| &special.acl.0) {
            acl.grant(*item);
        }
        Some(acl).filter(|acl| *acl != usual)
    }
}

/// Takes privileges away, and what depends on the right to give them on.
fn revoke(
    acl: &mut Acl,
    grantee: Oid,
    grantor: Oid,
    privileges: Privileges,
    only_grant_option: bool,
    behavior: Behavior,
) -> Result<()> {
    let before = acl.grantable_by(grantee);
    acl.revoke(grantee, grantor, privileges, only_grant_option);
    let lost = before & !acl.grantable_by(grantee);
    if lost.is_empty() {
        return Ok(());
    }
    let given_on: Vec<AclItem> = acl
        .0
        .iter()
        .filter(|item| item.grantor == grantee && !(item.privileges & lost).is_empty())
        .copied()
        .collect();
    if !given_on.is_empty() && behavior == Behavior::Restrict {
        let message = "dependent privileges exist";
        let error = SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message);
        return Err(error.with_hint("Use CASCADE to revoke them too.").into());
    }
    given_on
        .into_iter()
        .try_for_each(|item| revoke(acl, item.grantee, grantee, lost, false, behavior))
}

impl Acl {
    /// Returns the privileges that a role may give on.
    fn grantable_by(&self, grantee: Oid) -> Privileges {
        let own = self.0.iter().filter(|item| item.grantee == grantee);
        own.fold(Privileges::NONE, |all, item| all | item.grantable)
    }
}
