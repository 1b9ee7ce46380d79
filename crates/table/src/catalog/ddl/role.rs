//! Roles, memberships, and the settings that sessions start with.

use std::sync::Arc;

use ::types::{Error as SqlError, Oid, SqlState};

use super::{Address, Behavior, Class, Ddl, Entry};
use crate::catalog::{Key, Membership, POSTGRES_ROLE, Role, RoleFlags, Settings};
use crate::{Error, Result};

/// The properties that a statement sets for a role; `None` for those that it does not name.
#[derive(Clone, Debug, Default)]
pub struct RoleChange {
    /// `SUPERUSER`.
    pub superuser: Option<bool>,
    /// `INHERIT`.
    pub inherit: Option<bool>,
    /// `CREATEROLE`.
    pub create_role: Option<bool>,
    /// `CREATEDB`.
    pub create_db: Option<bool>,
    /// `LOGIN`.
    pub login: Option<bool>,
    /// `REPLICATION`.
    pub replication: Option<bool>,
    /// `BYPASSRLS`.
    pub bypass_rls: Option<bool>,
    /// `CONNECTION LIMIT`.
    pub connection_limit: Option<i32>,
    /// `PASSWORD`: the verifier, or none for `PASSWORD NULL`.
    pub password: Option<Option<Arc<str>>>,
    /// `VALID UNTIL`, in microseconds since 2000 UTC; none for ever.
    pub valid_until_us: Option<Option<i64>>,
}

impl RoleChange {
    fn apply(&self, role: &mut Role) {
        let set = |flag: &mut bool, value: Option<bool>| *flag = value.unwrap_or(*flag);
        set(&mut role.may.superuser, self.superuser);
        set(&mut role.may.inherit, self.inherit);
        set(&mut role.may.create_role, self.create_role);
        set(&mut role.may.create_db, self.create_db);
        set(&mut role.may.login, self.login);
        set(&mut role.may.replication, self.replication);
        set(&mut role.may.bypass_rls, self.bypass_rls);
        role.connection_limit = self.connection_limit.unwrap_or(role.connection_limit);
        if let Some(password) = &self.password {
            role.password.clone_from(password);
        }
        role.valid_until_us = self.valid_until_us.unwrap_or(role.valid_until_us);
    }

    /// True if it says only what every role may change of itself.
    fn is_password_only(&self) -> bool {
        let flags = [
            self.superuser,
            self.inherit,
            self.create_role,
            self.create_db,
            self.login,
            self.replication,
            self.bypass_rls,
        ];
        flags.iter().all(Option::is_none)
            && self.connection_limit.is_none()
            && self.valid_until_us.is_none()
    }
}

/// How a role becomes a member of another; `None` for the usual way.
#[derive(Clone, Copy, Debug, Default)]
pub struct MembershipChange {
    /// `ADMIN`.
    pub admin: Option<bool>,
    /// `INHERIT`.
    pub inherit: Option<bool>,
    /// `SET`.
    pub set: Option<bool>,
}

pub(super) fn denied(what: &str, detail: impl Into<String>) -> Error {
    let message = format!("permission denied to {what}");
    SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message).with_detail(detail).into()
}

impl Ddl<'_> {
    /// Makes a role.
    ///
    /// # Errors
    /// 42710 where the name is taken, 42501 where the acting role may not make it.
    pub fn create_role(&mut self, name: &str, change: &RoleChange) -> Result<Arc<Role>> {
        self.whole(|ddl| {
            ddl.check_may_make_roles("create role", change)?;
            ddl.take_role_name(name)?;
            let mut role = Role {
                oid: ddl.new_oid()?,
                name: name.into(),
                may: RoleFlags { inherit: true, ..RoleFlags::default() },
                connection_limit: -1,
                password: None,
                valid_until_us: None,
            };
            change.apply(&mut role);
            let role = Arc::new(role);
            ddl.put(Entry::Role(role.clone()))?;
            // A role that may make roles without being a superuser administers those that it has
            // made.
            if !ddl.catalog().is_superuser(ddl.acting.role) {
                let membership = Membership {
                    oid: ddl.new_oid()?,
                    role: role.oid,
                    member: ddl.acting.role,
                    grantor: POSTGRES_ROLE,
                    admin: true,
                    inherit: false,
                    set: false,
                };
                ddl.put(Entry::Membership(Arc::new(membership)))?;
            }
            Ok(role)
        })
    }

    pub(super) fn take_role_name(&mut self, name: &str) -> Result<()> {
        if name.starts_with("pg_") || matches!(name, "public" | "none") {
            let error =
                SqlError::new(SqlState::RESERVED_NAME, format!("role name \"{name}\" is reserved"));
            let detail = "Role names starting with \"pg_\" are reserved.";
            return Err(match name.starts_with("pg_") {
                true => error.with_detail(detail).into(),
                false => error.into(),
            });
        }
        // Not the names of databases, which are within nothing too.
        self.draft.lock_name(self.txn, Class::Role.oid(), name)?;
        match self.catalog().role_named(name) {
            None => Ok(()),
            Some(_) => Err(Error::new(
                SqlState::DUPLICATE_OBJECT,
                format!("role \"{name}\" already exists"),
            )),
        }
    }

    /// Changes a role.
    ///
    /// # Errors
    /// 42501 where the acting role may not.
    pub fn change_role(&mut self, role: Oid, change: &RoleChange) -> Result<()> {
        self.whole(|ddl| {
            let is_own = role == ddl.acting.role && change.is_password_only();
            if !is_own {
                ddl.check_may_alter_role(role)?;
                ddl.check_may_make_roles("alter role", change)?;
            }
            ddl.draft.lock(ddl.txn, Key::Role(role), txn::RowLock::NoKeyUpdate)?;
            let mut role = Role::clone(&*ddl.role(role)?);
            change.apply(&mut role);
            if role.oid == POSTGRES_ROLE && !role.may.superuser {
                return Err(denied(
                    "alter role",
                    "The bootstrap superuser must have the SUPERUSER attribute.",
                ));
            }
            ddl.put(Entry::Role(Arc::new(role)))
        })
    }

    pub(super) fn role(&self, oid: Oid) -> Result<Arc<Role>> {
        self.catalog().role(oid).cloned().ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_OBJECT, format!("role with OID {oid} does not exist"))
        })
    }

    /// The acting role may make roles, and give them what it is to give them.
    fn check_may_make_roles(&self, what: &str, change: &RoleChange) -> Result<()> {
        let acting = self.role(self.acting.role)?.may;
        if acting.superuser {
            return Ok(());
        }
        let verb = if what == "create role" { "create roles" } else { "alter roles" };
        if !acting.create_role {
            return Err(denied(
                what,
                format!("Only roles with the CREATEROLE attribute may {verb}."),
            ));
        }
        let asked = [
            (change.superuser, false, "SUPERUSER"),
            (change.create_db, acting.create_db, "CREATEDB"),
            (change.replication, acting.replication, "REPLICATION"),
            (change.bypass_rls, acting.bypass_rls, "BYPASSRLS"),
        ];
        for (asked, has, name) in asked {
            if asked == Some(true) && !has {
                let detail = match what {
                    "create role" => format!(
                        "Only roles with the {name} attribute may create roles with the {name} \
                         attribute."
                    ),
                    _ => format!(
                        "Only roles with the {name} attribute may change the {name} attribute."
                    ),
                };
                return Err(denied(what, detail));
            }
        }
        Ok(())
    }

    /// The acting role may change the role.
    pub(super) fn check_may_alter_role(&self, role: Oid) -> Result<()> {
        let acting = self.role(self.acting.role)?;
        if acting.may.superuser {
            return Ok(());
        }
        let role = self.role(role)?;
        if role.may.superuser {
            return Err(denied(
                "alter role",
                "Only roles with the SUPERUSER attribute may alter roles with the SUPERUSER \
                 attribute.",
            ));
        }
        if acting.may.create_role && self.catalog().may_grant_role(acting.oid, role.oid) {
            return Ok(());
        }
        Err(denied(
            "alter role",
            format!(
                "Only roles with the CREATEROLE attribute and the ADMIN option on role \"{}\" may \
                 alter this role.",
                role.name
            ),
        ))
    }

    /// Drops roles that own nothing and were given nothing.
    ///
    /// # Errors
    /// 2BP01 where something depends on one, 55006 for the role that is in use.
    pub fn drop_roles(&mut self, roles: &[Oid]) -> Result<()> {
        self.whole(|ddl| {
            for oid in roles {
                let role = ddl.role(*oid)?;
                if *oid == ddl.acting.role {
                    let message = "current user cannot be dropped";
                    return Err(Error::new(SqlState::OBJECT_IN_USE, message));
                }
                if oid.is_builtin() {
                    let message = format!(
                        "cannot drop role {} because it is required by the database system",
                        role.name
                    );
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message));
                }
                let may = ddl.catalog().is_superuser(ddl.acting.role)
                    || ddl.role(ddl.acting.role)?.may.create_role
                        && ddl.catalog().may_grant_role(ddl.acting.role, *oid);
                if !may {
                    return Err(denied(
                        "drop role",
                        "Only roles with the CREATEROLE attribute and the ADMIN option on the \
                         target roles may drop roles.",
                    ));
                }
                ddl.draft.lock(ddl.txn, Key::Role(*oid), txn::RowLock::Update)?;
                let belongings = ddl.belongings(*oid);
                if !belongings.is_empty() {
                    let message = format!(
                        "role \"{}\" cannot be dropped because some objects depend on it",
                        role.name
                    );
                    let error = SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message);
                    return Err(error.with_detail(belongings.join("\n")).into());
                }
            }
            for oid in roles {
                ddl.remove_memberships(|membership| {
                    membership.role == *oid || membership.member == *oid
                })?;
                let settings: Vec<Key> = ddl
                    .catalog()
                    .settings()
                    .filter(|settings| settings.role == *oid)
                    .map(|settings| Key::Settings { database: settings.database, role: *oid })
                    .collect();
                settings.into_iter().try_for_each(|key| ddl.remove(key))?;
                ddl.remove_comment(Address::of(Class::Role, *oid))?;
                ddl.remove(Key::Role(*oid))?;
            }
            Ok(())
        })
    }

    // --- memberships -----------------------------------------------------------------------------

    /// Makes a role a member of another, or changes how it is one.
    ///
    /// # Errors
    /// 42501 where the acting role may not, 0LP01 where that would go in a circle.
    pub fn grant_role(&mut self, role: Oid, member: Oid, change: MembershipChange) -> Result<()> {
        self.whole(|ddl| {
            let grantor = ddl.grantor_of_role("grant role", role)?;
            ddl.rely_on(Key::Role(role))?;
            ddl.rely_on(Key::Role(member))?;
            let (of, to) = (ddl.role(role)?, ddl.role(member)?);
            if ddl.catalog().is_member_of(role, member) {
                let message = format!("role \"{}\" is a member of role \"{}\"", of.name, to.name);
                return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
            }
            let mut of = ddl.catalog().memberships_of(member).iter();
            let known = of.find(|known| known.role == role && known.grantor == grantor);
            let mut membership = match known {
                Some(known) => Membership::clone(known),
                None => Membership {
                    oid: ddl.new_oid()?,
                    role,
                    member,
                    grantor,
                    admin: false,
                    inherit: to.may.inherit,
                    set: true,
                },
            };
            membership.admin = change.admin.unwrap_or(membership.admin);
            membership.inherit = change.inherit.unwrap_or(membership.inherit);
            membership.set = change.set.unwrap_or(membership.set);
            ddl.put(Entry::Membership(Arc::new(membership)))
        })
    }

    /// Ends a membership, or takes an option of it away; false if there was none.
    ///
    /// # Errors
    /// 42501 where the acting role may not.
    pub fn revoke_role(
        &mut self,
        role: Oid,
        member: Oid,
        only: Option<MembershipChange>,
        behavior: Behavior,
    ) -> Result<bool> {
        self.whole(|ddl| {
            let grantor = ddl.grantor_of_role("revoke role", role)?;
            let mut of = ddl.catalog().memberships_of(member).iter();
            let known = of.find(|known| known.role == role && known.grantor == grantor);
            let Some(known) = known.cloned() else { return Ok(false) };
            let loses_admin = known.admin && only.is_none_or(|change| change.admin == Some(false));
            if loses_admin {
                ddl.revoke_granted(role, member, behavior)?;
            }
            match only {
                None => ddl.remove(Key::Membership(known.oid))?,
                Some(change) => {
                    let mut membership = Membership::clone(&known);
                    membership.admin = change.admin.unwrap_or(membership.admin);
                    membership.inherit = change.inherit.unwrap_or(membership.inherit);
                    membership.set = change.set.unwrap_or(membership.set);
                    ddl.put(Entry::Membership(Arc::new(membership)))?;
                }
            }
            Ok(true)
        })
    }

    /// Ends the memberships that a role has granted by its admin option.
    fn revoke_granted(&mut self, role: Oid, grantor: Oid, behavior: Behavior) -> Result<()> {
        let granted: Vec<Arc<Membership>> = self
            .catalog()
            .memberships()
            .filter(|known| known.role == role && known.grantor == grantor)
            .cloned()
            .collect();
        if !granted.is_empty() && behavior == Behavior::Restrict {
            let message = "dependent privileges exist";
            let error = SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message);
            return Err(error.with_hint("Use CASCADE to revoke them too.").into());
        }
        for membership in granted {
            if membership.admin {
                self.revoke_granted(role, membership.member, behavior)?;
            }
            self.remove(Key::Membership(membership.oid))?;
        }
        Ok(())
    }

    fn remove_memberships(&mut self, which: impl Fn(&Membership) -> bool) -> Result<()> {
        let found: Vec<Oid> = self
            .catalog()
            .memberships()
            .filter(|membership| which(membership))
            .map(|membership| membership.oid)
            .collect();
        found.into_iter().try_for_each(|oid| self.remove(Key::Membership(oid)))
    }

    /// In whose name the acting role grants a role.
    fn grantor_of_role(&self, what: &str, role: Oid) -> Result<Oid> {
        let catalog = self.catalog();
        if catalog.is_superuser(self.acting.role) {
            return Ok(POSTGRES_ROLE);
        }
        let admin = catalog.memberships().find(|known| {
            known.role == role
                && known.admin
                && catalog.is_member_of(self.acting.role, known.member)
        });
        match admin {
            Some(admin) => Ok(admin.member),
            None => {
                let name = &self.role(role)?.name;
                Err(denied(
                    &format!("{what} \"{name}\""),
                    format!(
                        "Only roles with the ADMIN option on role \"{name}\" may {}.",
                        if what == "grant role" { "grant this role" } else { "revoke this role" }
                    ),
                ))
            }
        }
    }

    // --- settings --------------------------------------------------------------------------------

    /// Sets what sessions of a role in a database start with (0 for all), or takes it away where the
    /// value is none. Without a name, all of it is taken away.
    ///
    /// # Errors
    /// 42501 where the acting role may not.
    pub fn change_setting(
        &mut self,
        database: Oid,
        role: Oid,
        setting: Option<(&str, Option<&str>)>,
    ) -> Result<()> {
        self.whole(|ddl| {
            match (database, role) {
                (Oid::NONE, Oid::NONE) => {
                    ddl.check_superuser("must be superuser to alter settings globally")?;
                }
                (database, Oid::NONE) => {
                    ddl.check_owner(Address::of(Class::Database, database))?;
                }
                (_, role) if role == ddl.acting.role => {}
                (_, role) => ddl.check_may_alter_role(role)?,
            }
            let known = ddl.catalog().settings_of(database, role);
            let mut values = known.map(|known| known.values.clone()).unwrap_or_default();
            match setting {
                Some((name, value)) => {
                    let place = values.iter().position(|(known, _)| **known == *name);
                    match (place, value) {
                        (Some(at), Some(value)) => values[at].1 = value.into(),
                        (Some(at), None) => drop(values.remove(at)),
                        (None, Some(value)) => values.push((name.into(), value.into())),
                        (None, None) => {}
                    }
                }
                None => values.clear(),
            }
            let key = Key::Settings { database, role };
            match (values.is_empty(), ddl.catalog().entry(key).is_some()) {
                (true, true) => ddl.remove(key),
                (true, false) => Ok(()),
                (false, _) => {
                    ddl.put(Entry::Settings(Arc::new(Settings { database, role, values })))
                }
            }
        })
    }
}

impl Entry {
    /// The object that the entry is; none for comments and settings.
    pub(super) fn address(&self) -> Option<Address> {
        Some(match self {
            Entry::Database(entry) => Address::of(Class::Database, entry.oid),
            Entry::Schema(entry) => Address::of(Class::Schema, entry.oid),
            Entry::Role(entry) => Address::of(Class::Role, entry.oid),
            Entry::Membership(entry) => Address::of(Class::Membership, entry.oid),
            Entry::DefaultAcl(entry) => Address::of(Class::DefaultAcl, entry.oid),
            Entry::Relation(entry) => Address::relation(entry.oid),
            Entry::Type(entry) => Address::of(Class::Type, entry.ty.oid()),
            Entry::Constraint(entry) => Address::of(Class::Constraint, entry.oid),
            Entry::Extension(entry) => Address::of(Class::Extension, entry.oid),
            Entry::Policy(entry) => Address::of(Class::Policy, entry.oid),
            Entry::Collation(entry) => Address::of(Class::Collation, entry.oid),
            Entry::Settings(_) | Entry::Comment(_) => return None,
        })
    }

    /// The object and its columns, where something was given on them.
    pub(super) fn acl_addresses(&self) -> Vec<Address> {
        let (acl, columns) = match self {
            Entry::Database(entry) => (&entry.acl, None),
            Entry::Schema(entry) => (&entry.acl, None),
            Entry::Type(entry) => (&entry.acl, None),
            Entry::Relation(entry) => (&entry.acl, Some(entry)),
            _ => return Vec::new(),
        };
        let whole = self.address().filter(|_| acl.is_some());
        let columns = columns.into_iter().flat_map(|relation| {
            let given = relation.live_columns().filter(|column| column.acl.is_some());
            given.map(|column| Address::column(relation.oid, column.attnum))
        });
        whole.into_iter().chain(columns).collect()
    }
}
