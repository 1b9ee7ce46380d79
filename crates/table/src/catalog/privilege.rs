//! The rights of roles: ownership, memberships, privileges.
//!
//! ```text
//!   alice ──member──> staff ──member──> admins        alice has what was given to alice, to staff,
//!            inherit          no inherit               to everybody; may SET ROLE to admins
//! ```

use types::{Oid, Type};

use super::bootstrap::DATABASE_OWNER_ROLE;
use super::{Acl, Address, Catalog, Class, Policy, Privileges, RelationKind};

impl Catalog {
    /// True for a role that may do everything.
    pub fn is_superuser(&self, role: Oid) -> bool {
        self.role(role).is_some_and(|role| role.may.superuser)
    }

    /// True if `role` has the privileges of `other` without more ado: it is that role, a
    /// superuser, or a member by memberships that inherit. `database` is the one that the session is
    /// connected to: its owner is a member of `pg_database_owner`.
    pub fn has_privileges_of(&self, role: Oid, other: Oid, database: Oid) -> bool {
        self.is_superuser(role) || self.reaches(role, other, database, |m| m.inherit)
    }

    /// True if `role` may become `other` by `SET ROLE`.
    pub fn may_set_role(&self, role: Oid, other: Oid) -> bool {
        self.is_superuser(role) || self.reaches(role, other, Oid::NONE, |m| m.set)
    }

    /// True if `role` is `other` or a member of it in any way.
    pub fn is_member_of(&self, role: Oid, other: Oid) -> bool {
        self.reaches(role, other, Oid::NONE, |_| true)
    }

    /// True if `role` may make others members of `other`.
    pub fn may_grant_role(&self, role: Oid, other: Oid) -> bool {
        let admin = |m: &&std::sync::Arc<super::Membership>| m.role == other && m.admin;
        self.is_superuser(role)
            || self.memberships().filter(admin).any(|m| self.is_member_of(role, m.member))
    }

    /// Follows memberships from `role` until `other` is found.
    fn reaches(
        &self,
        role: Oid,
        other: Oid,
        database: Oid,
        through: impl Fn(&super::Membership) -> bool,
    ) -> bool {
        let mut found = vec![role];
        let mut at = 0;
        while let Some(&member) = found.get(at) {
            if member == other {
                return true;
            }
            at += 1;
            let owner = self.database(database).map(|database| database.owner);
            if owner == Some(member) && !found.contains(&DATABASE_OWNER_ROLE) {
                found.push(DATABASE_OWNER_ROLE);
            }
            for membership in self.memberships_of(member) {
                if through(membership) && !found.contains(&membership.role) {
                    found.push(membership.role);
                }
            }
        }
        false
    }

    /// The policies of a table that are about a role; `None` if the role sees and writes all rows.
    pub fn policies_for(&self, table: Oid, role: Oid, database: Oid) -> Option<Vec<&Policy>> {
        let table = self.table(table)?;
        let relation = &table.relation;
        let security = relation.table().map(|data| data.row_security)?;
        let may = self.role(role).map(|role| role.may).unwrap_or_default();
        let owns = || self.has_privileges_of(role, relation.owner, database);
        if !security.is_enabled || may.superuser || may.bypass_rls || !security.is_forced && owns()
        {
            return None;
        }
        let is_about = |policy: &&Policy| {
            let has = |of: &Oid| *of == Oid::NONE || self.has_privileges_of(role, *of, database);
            policy.roles.iter().any(has)
        };
        Some(table.policies.iter().map(|policy| &**policy).filter(is_about).collect())
    }

    /// The role that owns an object; none for objects that have no owner.
    pub fn owner_of(&self, object: Address) -> Option<Oid> {
        match object.class {
            Class::Relation => self.relation(object.oid).map(|known| known.owner),
            Class::Type => self.type_entry(Type(object.oid)).map(|known| known.owner()),
            Class::Schema => self.schema(object.oid).map(|known| known.owner),
            Class::Database => self.database(object.oid).map(|known| known.owner),
            Class::Constraint => match self.constraint(object.oid)?.on {
                super::ConstraintOn::Table(table) => self.owner_of(Address::relation(table)),
                super::ConstraintOn::Domain(ty) => {
                    self.owner_of(Address::of(Class::Type, ty.oid()))
                }
            },
            Class::Default => self.default_of(object.oid).map(|(relation, _)| relation.owner),
            Class::DefaultAcl => {
                self.default_acls().find(|known| known.oid == object.oid).map(|known| known.role)
            }
            Class::Extension => self.extension(object.oid).map(|known| known.owner),
            Class::Policy => self.owner_of(Address::relation(self.policy(object.oid)?.table)),
            Class::Collation => self.collation(object.oid).map(|known| known.owner),
            Class::Role
            | Class::Membership
            | Class::Function
            | Class::Operator
            | Class::OperatorClass => None,
        }
    }

    /// Returns the privileges that were given on an object, or the usual privileges of its owner
    /// and of everybody if none were given.
    pub fn acl_of(&self, object: Address) -> Acl {
        let given = match object.class {
            Class::Relation => {
                let relation = self.relation(object.oid);
                match object.sub {
                    0 => relation.and_then(|known| known.acl.clone()),
                    // Columns have what the table has not been asked for: nothing of their own.
                    sub => {
                        let column = relation.and_then(|known| known.column(sub));
                        return column.and_then(|column| column.acl.clone()).unwrap_or_default();
                    }
                }
            }
            Class::Type => self.user_type(Type(object.oid)).and_then(|known| known.acl.clone()),
            Class::Schema => self.schema(object.oid).and_then(|known| known.acl.clone()),
            Class::Database => self.database(object.oid).and_then(|known| known.acl.clone()),
            _ => return Acl::default(),
        };
        given.unwrap_or_else(|| self.usual_acl(object))
    }

    /// Returns the privileges of an object's owner and of everybody where none were given or taken.
    pub fn usual_acl(&self, object: Address) -> Acl {
        let Some(owner) = self.owner_of(object) else { return Acl::default() };
        let all = self.all_privileges(object);
        Acl::usual(owner, all, object.class)
    }

    /// All privileges that there are on an object.
    pub fn all_privileges(&self, object: Address) -> Privileges {
        match object.class {
            Class::Relation if object.sub != 0 => Privileges::ALL_COLUMN,
            Class::Relation => match self.relation(object.oid).map(|relation| &relation.kind) {
                Some(RelationKind::Sequence(_)) => Privileges::ALL_SEQUENCE,
                _ => Privileges::ALL_TABLE,
            },
            Class::Type => Privileges::USAGE,
            Class::Schema => Privileges::ALL_SCHEMA,
            Class::Database => Privileges::ALL_DATABASE,
            _ => Privileges::NONE,
        }
    }

    /// Returns the privileges among `wanted` that a role has on an object: as its owner, by itself,
    /// as a member of others, or as everybody has them.
    pub fn privileges_on(
        &self,
        role: Oid,
        object: Address,
        wanted: Privileges,
        database: Oid,
    ) -> Privileges {
        if self.is_superuser(role) {
            return wanted;
        }
        let acl = self.acl_of(object);
        let mut has = acl.of(Oid::NONE);
        for item in &acl.0 {
            if !(has & wanted == wanted)
                && item.grantee != Oid::NONE
                && self.has_privileges_of(role, item.grantee, database)
            {
                has = has | item.privileges;
            }
        }
        if object.class == Class::Relation && object.sub == 0 {
            has = has | self.predefined_privileges(role, database);
        }
        if object.class == Class::Schema && self.reads_or_writes_all(role, database) {
            has = has | Privileges::USAGE;
        }
        has & wanted
    }

    /// Returns the privileges among `wanted` that a role may give to others on an object. Its owner
    /// may give all of them. Another role may give those that it was given with that right, itself
    /// or as a member of others.
    pub fn grantable_on(
        &self,
        role: Oid,
        object: Address,
        wanted: Privileges,
        database: Oid,
    ) -> Privileges {
        let owner = self.owner_of(object);
        if self.is_superuser(role)
            || owner.is_some_and(|owner| self.has_privileges_of(role, owner, database))
        {
            return wanted;
        }
        let acl = self.acl_of(object);
        let own = |item: &&super::AclItem| {
            item.grantee != Oid::NONE && self.has_privileges_of(role, item.grantee, database)
        };
        let all = acl.0.iter().filter(own);
        all.fold(Privileges::NONE, |all, item| all | item.grantable) & wanted
    }

    /// Returns the privileges of the members of `pg_read_all_data`, `pg_write_all_data` and
    /// `pg_maintain` on all tables.
    fn predefined_privileges(&self, role: Oid, database: Oid) -> Privileges {
        let writes = Privileges::INSERT | Privileges::UPDATE | Privileges::DELETE;
        [(6_181, Privileges::SELECT), (6_182, writes), (6_337, Privileges::MAINTAIN)]
            .into_iter()
            .filter(|(other, _)| self.has_privileges_of(role, Oid(*other), database))
            .fold(Privileges::NONE, |all, (_, privileges)| all | privileges)
    }

    fn reads_or_writes_all(&self, role: Oid, database: Oid) -> bool {
        [6_181, 6_182].into_iter().any(|other| self.has_privileges_of(role, Oid(other), database))
    }

    /// True if a role owns an object, or has the privileges of its owner.
    pub fn is_owner(&self, role: Oid, object: Address, database: Oid) -> bool {
        self.owner_of(object).is_some_and(|owner| self.has_privileges_of(role, owner, database))
    }
}

impl Acl {
    /// Returns the privileges of the owner and of everybody on an object of a class where none were
    /// given or taken.
    pub fn usual(owner: Oid, all: Privileges, class: Class) -> Acl {
        let everybody = match class {
            Class::Database => Privileges::CONNECT | Privileges::TEMPORARY,
            Class::Type => Privileges::USAGE,
            _ => Privileges::NONE,
        };
        let item = |grantee, privileges| super::AclItem {
            grantee,
            grantor: owner,
            privileges,
            grantable: Privileges::NONE,
        };
        let items = [item(Oid::NONE, everybody), item(owner, all)];
        Acl(items.into_iter().filter(|item| !item.privileges.is_empty()).collect())
    }
}
