//! Rights: whether a role may run a statement.
//!
//! ```text
//!   Uses of a plan ──> each relation: its owner, what was given on it, on its columns, to everybody
//!                                     and to roles that the role is a member of
//! ```
//!
//! A superuser may do everything, which costs a comparison. For others the answer is found once for
//! a plan: a plan belongs to one version of the catalog, which has the rights. A reader of the past
//! has the rights of the present; objects that were dropped since are for superusers.

use sql::bind::{Use, Uses};
use table::catalog::{Address, Catalog, Class, Privileges};
use types::{Oid, SqlState};

use crate::error::{Error, Result};
use crate::names::Names;
use crate::system;

/// Relations of the system that only superusers may read, unless others were let.
const SECRET: [&str; 14] = [
    "pg_authid",
    "pg_backend_memory_contexts",
    "pg_config",
    "pg_file_settings",
    "pg_hba_file_rules",
    "pg_ident_file_mappings",
    "pg_largeobject",
    "pg_replication_origin_status",
    "pg_shadow",
    "pg_shmem_allocations",
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_subscription",
    "pg_user_mapping",
];

/// The rights of one role.
#[derive(Clone, Copy)]
pub(crate) struct Rights<'a> {
    pub catalog: &'a Catalog,
    /// Where relations have their names: the catalog of then where the past is looked at.
    pub named_in: &'a Catalog,
    pub database: Oid,
    pub role: Oid,
}

impl<'a> Rights<'a> {
    /// The rights of the role that runs statements with these names.
    pub fn of(names: &'a Names) -> Self {
        let (catalog, named_in) = (&*names.present, &*names.catalog);
        Rights { catalog, named_in, database: names.database, role: names.role }
    }

    /// Those of another role.
    pub fn of_role(self, role: Oid) -> Self {
        Rights { role, ..self }
    }

    /// The part of `wanted` that the role has on an object.
    pub fn on(self, object: Address, wanted: Privileges) -> Privileges {
        if object.class == Class::Relation
            && let Some(system) = system::by_oid(object.oid)
            && !self.catalog.is_superuser(self.role)
        {
            let all =
                if SECRET.contains(&system.name) { Privileges::NONE } else { Privileges::SELECT };
            return all & wanted;
        }
        self.catalog.privileges_on(self.role, object, wanted, self.database)
    }

    /// True if the role may do all of `wanted` with an object.
    pub fn has(self, object: Address, wanted: Privileges) -> bool {
        self.on(object, wanted) == wanted
    }

    /// True if the role may give all of `wanted` on an object to others.
    pub fn may_grant(self, object: Address, wanted: Privileges) -> bool {
        self.catalog.grantable_on(self.role, object, wanted, self.database) == wanted
    }

    /// True if the role may do it with these columns of a relation; with any of them where none
    /// are given.
    pub fn has_on_columns(self, relation: Oid, columns: &[i16], wanted: Privileges) -> bool {
        let has =
            |attnum: &i16| *attnum > 0 && self.has(Address::column(relation, *attnum), wanted);
        match columns {
            [] => self
                .catalog
                .relation(relation)
                .is_some_and(|known| known.live_columns().any(|column| has(&column.attnum))),
            columns => columns.iter().all(has),
        }
    }

    /// Fails if the role may not do what is done with a relation.
    ///
    /// # Errors
    /// `42501`.
    pub fn require_use(self, used: &Use) -> Result<()> {
        if self.catalog.is_superuser(self.role) {
            return Ok(());
        }
        let by_column = [
            (&used.reads, Privileges::SELECT),
            (&used.inserts, Privileges::INSERT),
            (&used.updates, Privileges::UPDATE),
        ];
        let mut wanted = if used.deletes { Privileges::DELETE } else { Privileges::NONE };
        for (columns, privilege) in &by_column {
            if columns.is_some() {
                wanted = wanted | *privilege;
            }
        }
        let missing = wanted & !self.on(Address::relation(used.relation), wanted);
        let mut allowed = (missing & Privileges::DELETE).is_empty();
        for (columns, privilege) in by_column {
            if let (Some(columns), false) = (columns, (missing & privilege).is_empty()) {
                allowed &= self.has_on_columns(used.relation, columns, privilege);
            }
        }
        if allowed { Ok(()) } else { Err(self.denied(used.relation)) }
    }

    /// True if policies of a table say which of its rows the role sees.
    pub fn sees_in_part(self, relation: Oid) -> bool {
        self.catalog.policies_for(relation, self.role, self.database).is_some()
    }

    /// Fails if policies of a table say which of its rows the role sees: what reads rows past them is
    /// refused.
    ///
    /// # Errors
    /// `42501`.
    pub fn require_whole(self, relation: Oid) -> Result<()> {
        if !self.sees_in_part(relation) {
            return Ok(());
        }
        let detail = "The function would show all rows of the table, whose row-level security policies \
                      show the role some of them only.";
        Err(self.denied(relation).detail(detail))
    }

    /// The error for a relation that the role may not use.
    pub fn denied(self, relation: Oid) -> Error {
        error(format!("permission denied for {}", self.described(relation)))
    }

    fn described(self, relation: Oid) -> String {
        match (self.named_in.relation(relation), system::by_oid(relation)) {
            (Some(relation), _) => format!("{} {}", relation.kind_name(), relation.name),
            (None, Some(system)) if system.is_view => format!("view {}", system.name),
            (None, Some(system)) => format!("table {}", system.name),
            (None, None) => format!("relation {relation}"),
        }
    }
}

/// Fails if the role of `names` may not do what a statement does, or the owner of a view what the
/// view does.
///
/// # Errors
/// `42501`.
pub(crate) fn require(names: &Names, uses: &Uses) -> Result<()> {
    let rights = Rights::of(names);
    for schema in &uses.schemas {
        names.require_schema(Some(schema))?;
    }
    uses.relations
        .iter()
        .try_for_each(|used| rights.of_role(used.by.unwrap_or(names.role)).require_use(used))
}

/// True if a superuser may do what a statement does without a look: nothing of it is done in the
/// name of a role that is none.
pub(crate) fn is_open_to_superusers(names: &Names, uses: &Uses) -> bool {
    let open = |used: &Use| used.by.is_none_or(|by| names.present.is_superuser(by));
    uses.relations.iter().all(open)
}

fn error(message: String) -> Error {
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}
