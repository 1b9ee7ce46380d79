//! [`Catalog`]: all that the catalog says as of one commit, found by number and by name.
//!
//! ```text
//!   relations       16390 ─> t          names   (2200, "t") ─> 16390
//!   tables          16390 ─> t with its indexes, its constraints, the foreign keys that refer to it
//!   dependents      16384 ─> column 3 of 16390
//! ```
//!
//! A catalog does not change once others can see it. Making another from it costs what differs, not
//! what they have in common: its maps share their parts.
//!
//! # Invariants
//! * Whatever is found by a name or as a part of a table is found by its number too.
//! * The catalog depends only on the set of its entries: the order in which they came makes no difference, as long as
//!   tables come before their parts.

use std::sync::Arc;

use hashbrown::Equivalent;
use store::Csn;
use types::{Modifier, Oid, Type};

use super::depend::{Reference, references};
use super::map::Map;
use super::{
    Address, Class, Collation, Comment, Constraint, ConstraintKind, ConstraintOn, Database,
    DefaultAcl, Entry, Extension, Membership, Policy, Relation, RelationKind, Role, Schema,
    Settings, UserType, UserTypeKind,
};

/// A name within a schema, or within a database.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    within: Oid,
    name: Arc<str>,
}

/// A borrowed [`Name`].
#[derive(Hash)]
struct NameRef<'a> {
    within: Oid,
    name: &'a str,
}

impl Equivalent<Name> for NameRef<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        self.within == name.within && *self.name == *name.name
    }
}

/// The identity of an entry, as the key of its record has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Key {
    Database(Oid),
    Role(Oid),
    Membership(Oid),
    Settings { database: Oid, role: Oid },
    Schema(Oid),
    DefaultAcl(Oid),
    Relation(Oid),
    Type(Oid),
    Constraint(Oid),
    Comment(Address),
    Extension(Oid),
    Policy(Oid),
    Collation(Oid),
}

impl Entry {
    pub(crate) fn key(&self) -> Key {
        match self {
            Entry::Database(entry) => Key::Database(entry.oid),
            Entry::Schema(entry) => Key::Schema(entry.oid),
            Entry::Role(entry) => Key::Role(entry.oid),
            Entry::Membership(entry) => Key::Membership(entry.oid),
            Entry::Settings(entry) => Key::Settings { database: entry.database, role: entry.role },
            Entry::DefaultAcl(entry) => Key::DefaultAcl(entry.oid),
            Entry::Relation(entry) => Key::Relation(entry.oid),
            Entry::Type(entry) => Key::Type(entry.ty.oid()),
            Entry::Constraint(entry) => Key::Constraint(entry.oid),
            Entry::Comment(entry) => Key::Comment(entry.object),
            Entry::Extension(entry) => Key::Extension(entry.oid),
            Entry::Policy(entry) => Key::Policy(entry.oid),
            Entry::Collation(entry) => Key::Collation(entry.oid),
        }
    }
}

/// A table with all that belongs to it. Any change of these makes another `Arc` (see [`Arc::ptr_eq`]), so a caller can
/// keep what it has derived from a definition as long as the `Arc` is the same.
#[derive(Clone, Debug)]
pub struct TableDef {
    /// The table.
    pub relation: Arc<Relation>,
    /// Its indexes, in the order of their OIDs.
    pub indexes: Vec<Arc<Relation>>,
    /// Its constraints, in the order of their OIDs.
    pub constraints: Vec<Arc<Constraint>>,
    /// The foreign keys that refer to it, its own ones among them, in the order of their OIDs.
    pub referenced_by: Vec<Arc<Constraint>>,
    /// Its policies, in the order of their OIDs.
    pub policies: Vec<Arc<Policy>>,
}

/// The object that a type of users belongs to.
#[derive(Clone, Debug)]
pub enum TypeEntry {
    /// An enum or a domain.
    User(Arc<UserType>),
    /// Arrays of it.
    UserArray(Arc<UserType>),
    /// The rows of a relation.
    Row(Arc<Relation>),
    /// Arrays of rows of a relation.
    RowArray(Arc<Relation>),
}

impl TypeEntry {
    /// The name.
    pub fn name(&self) -> &Arc<str> {
        match self {
            TypeEntry::User(ty) => &ty.name,
            TypeEntry::UserArray(ty) => &ty.array_name,
            TypeEntry::Row(relation) => &relation.name,
            TypeEntry::RowArray(relation) => {
                relation.row_type.as_ref().map_or(&relation.name, |row| &row.array_name)
            }
        }
    }

    /// The schema that it is in.
    pub fn schema(&self) -> Oid {
        match self {
            TypeEntry::User(ty) | TypeEntry::UserArray(ty) => ty.schema,
            TypeEntry::Row(relation) | TypeEntry::RowArray(relation) => relation.schema,
        }
    }

    /// The role that owns it.
    pub fn owner(&self) -> Oid {
        match self {
            TypeEntry::User(ty) | TypeEntry::UserArray(ty) => ty.owner,
            TypeEntry::Row(relation) | TypeEntry::RowArray(relation) => relation.owner,
        }
    }

    /// The type of arrays of it.
    pub fn array(&self) -> Option<Type> {
        match self {
            TypeEntry::User(ty) => Some(ty.array),
            TypeEntry::Row(relation) => relation.row_type.as_ref().map(|row| row.array),
            TypeEntry::UserArray(_) | TypeEntry::RowArray(_) => None,
        }
    }

    /// The type of the elements, where it is a type of arrays.
    pub fn element(&self) -> Option<Type> {
        match self {
            TypeEntry::UserArray(ty) => Some(ty.ty),
            TypeEntry::RowArray(relation) => relation.row_type.as_ref().map(|row| row.ty),
            TypeEntry::User(_) | TypeEntry::Row(_) => None,
        }
    }
}

/// The catalog as of one commit, or as a transaction has made it.
#[derive(Clone, Default, Debug)]
pub struct Catalog {
    version: Csn,
    /// The last commit that changed more than relations.
    wide: Csn,
    databases: Map<Oid, Arc<Database>>,
    database_names: Map<Arc<str>, Arc<Database>>,
    roles: Map<Oid, Arc<Role>>,
    role_names: Map<Arc<str>, Arc<Role>>,
    memberships: Map<Oid, Arc<Membership>>,
    /// By the member.
    memberships_of: Map<Oid, Arc<[Arc<Membership>]>>,
    settings: Map<(Oid, Oid), Arc<Settings>>,
    default_acls: Map<Oid, Arc<DefaultAcl>>,
    schemas: Map<Oid, Arc<Schema>>,
    schema_names: Map<Name, Arc<Schema>>,
    relations: Map<Oid, Arc<Relation>>,
    relation_names: Map<Name, Arc<Relation>>,
    tables: Map<Oid, Arc<TableDef>>,
    types: Map<Oid, TypeEntry>,
    type_names: Map<Name, Type>,
    constraints: Map<Oid, Arc<Constraint>>,
    domain_checks: Map<Oid, Arc<[Arc<Constraint>]>>,
    /// By the OID of a default, the relation that has it.
    defaults: Map<Oid, Oid>,
    comments: Map<Address, Arc<Comment>>,
    extensions: Map<Oid, Arc<Extension>>,
    extension_names: Map<Name, Arc<Extension>>,
    policies: Map<Oid, Arc<Policy>>,
    collations: Map<Oid, Arc<Collation>>,
    collation_names: Map<Name, Arc<Collation>>,
    /// By what is referred to.
    dependents: Map<Oid, Arc<[Reference]>>,
}

impl Catalog {
    /// The commit that last changed the catalog. A transaction's own catalog has the version of the catalog that it
    /// began from.
    pub fn version(&self) -> Csn {
        self.version
    }

    /// The last commit that changed more than relations, or gave a relation the name of a type. A plan that depends on
    /// relations alone is valid as long as this commit and the relations stay the same.
    pub fn changed_widely(&self) -> Csn {
        self.wide
    }

    pub(crate) fn set_version(&mut self, version: Csn, is_wide: bool) {
        self.version = version;
        if is_wide {
            self.wide = version;
        }
    }

    /// True if the changes touch only relations and their parts, and give no type a name that another type has.
    pub(crate) fn is_narrow(&self, put: &[Entry], removed: &[Key]) -> bool {
        let of_table = |constraint: &Constraint| matches!(constraint.on, ConstraintOn::Table(_));
        let is_removed = |key: &Key| match key {
            Key::Relation(_) | Key::Comment(_) | Key::Policy(_) => true,
            Key::Constraint(oid) => self.constraint(*oid).is_none_or(|known| of_table(known)),
            _ => false,
        };
        let is_put = |entry: &Entry| match entry {
            Entry::Comment(_) | Entry::Policy(_) => true,
            Entry::Constraint(constraint) => of_table(constraint),
            Entry::Relation(relation) => match &relation.row_type {
                Some(row) => !self.is_type_elsewhere(relation, &row.array_name),
                None => true,
            },
            _ => false,
        };
        removed.iter().all(is_removed) && put.iter().all(is_put)
    }

    /// True if a built-in type, or one in another schema, has the name of a relation's row type or of its
    /// array type.
    fn is_type_elsewhere(&self, relation: &Relation, array_name: &str) -> bool {
        let names = [&*relation.name, array_name];
        let is_known = self
            .relation(relation.oid)
            .is_some_and(|known| (known.schema, &known.name) == (relation.schema, &relation.name));
        let is_builtin = || types::builtin::all().iter().any(|facts| names.contains(&facts.name));
        let mut others = self.schemas().filter(|schema| schema.oid != relation.schema);
        !is_known
            && (is_builtin()
                || others.any(|schema| {
                    names.iter().any(|name| self.type_named(schema.oid, name).is_some())
                }))
    }

    // --- databases and roles ---------------------------------------------------------------------

    /// The database with this OID.
    pub fn database(&self, oid: Oid) -> Option<&Arc<Database>> {
        self.databases.get(&oid)
    }

    /// The database with this name.
    pub fn database_named(&self, name: &str) -> Option<&Arc<Database>> {
        self.database_names.get(name)
    }

    /// All databases, in no order.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<Database>> {
        self.databases.values()
    }

    /// The role with this OID.
    pub fn role(&self, oid: Oid) -> Option<&Arc<Role>> {
        self.roles.get(&oid)
    }

    /// The role with this name.
    pub fn role_named(&self, name: &str) -> Option<&Arc<Role>> {
        self.role_names.get(name)
    }

    /// All roles, in no order.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<Role>> {
        self.roles.values()
    }

    /// The membership with this OID.
    pub fn membership(&self, oid: Oid) -> Option<&Arc<Membership>> {
        self.memberships.get(&oid)
    }

    /// All memberships, in no order.
    pub fn memberships(&self) -> impl Iterator<Item = &Arc<Membership>> {
        self.memberships.values()
    }

    /// The memberships of a role in others, in the order of their OIDs.
    pub fn memberships_of(&self, member: Oid) -> &[Arc<Membership>] {
        self.memberships_of.get(&member).map_or(&[], |all| all)
    }

    /// The settings with which sessions of `role` in `database` start; [`Oid::NONE`] stands for all roles or all
    /// databases.
    pub fn settings_of(&self, database: Oid, role: Oid) -> Option<&Arc<Settings>> {
        self.settings.get(&(database, role))
    }

    /// All settings that sessions start with, in no order.
    pub fn settings(&self) -> impl Iterator<Item = &Arc<Settings>> {
        self.settings.values()
    }

    /// All privileges that future objects get, in no order.
    pub fn default_acls(&self) -> impl Iterator<Item = &Arc<DefaultAcl>> {
        self.default_acls.values()
    }

    // --- schemas and relations -------------------------------------------------------------------

    /// The schema with this OID.
    pub fn schema(&self, oid: Oid) -> Option<&Arc<Schema>> {
        self.schemas.get(&oid)
    }

    /// The schema with this name in a database: one of its own, or one of the system.
    pub fn schema_named(&self, database: Oid, name: &str) -> Option<&Arc<Schema>> {
        let within = |within| self.schema_names.get(&NameRef { within, name });
        within(database).or_else(|| within(Oid::NONE))
    }

    /// All schemas of all databases, in no order.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<Schema>> {
        self.schemas.values()
    }

    /// The relation with this OID.
    pub fn relation(&self, oid: Oid) -> Option<&Arc<Relation>> {
        self.relations.get(&oid)
    }

    /// The relation with this name in a schema.
    pub fn relation_named(&self, schema: Oid, name: &str) -> Option<&Arc<Relation>> {
        self.relation_names.get(&NameRef { within: schema, name })
    }

    /// All relations of all databases, in no order.
    pub fn relations(&self) -> impl Iterator<Item = &Arc<Relation>> {
        self.relations.values()
    }

    /// The table with this OID, with its indexes and constraints; none for other relations.
    pub fn table(&self, oid: Oid) -> Option<&Arc<TableDef>> {
        self.tables.get(&oid)
    }

    /// The relation and the number of the column that a default belongs to.
    pub fn default_of(&self, oid: Oid) -> Option<(&Arc<Relation>, i16)> {
        let relation = self.relation(*self.defaults.get(&oid)?)?;
        let has = |column: &&super::Column| column.default.as_ref().is_some_and(|d| d.oid == oid);
        relation.live_columns().find(has).map(|column| (relation, column.attnum))
    }

    // --- types -----------------------------------------------------------------------------------

    /// Returns the object that a type of users belongs to.
    pub fn type_entry(&self, ty: Type) -> Option<&TypeEntry> {
        self.types.get(&ty.oid())
    }

    /// The enum or domain with this type.
    pub fn user_type(&self, ty: Type) -> Option<&Arc<UserType>> {
        match self.type_entry(ty)? {
            TypeEntry::User(entry) => Some(entry),
            _ => None,
        }
    }

    /// The type below a domain, and its modifier; of other types these themselves.
    pub fn base_type(&self, ty: Type, modifier: Modifier) -> (Type, Modifier) {
        match self.user_type(ty).map(|user| &user.kind) {
            Some(UserTypeKind::Domain(domain)) => self.base_type(domain.base, domain.modifier),
            _ => (ty, modifier),
        }
    }

    /// The type of users with this name in a schema: an enum, a domain, rows of a relation, or arrays
    /// of one of these.
    pub fn type_named(&self, schema: Oid, name: &str) -> Option<Type> {
        self.type_names.get(&NameRef { within: schema, name }).copied()
    }

    /// All types of users, in no order.
    pub fn types(&self) -> impl Iterator<Item = (Type, &TypeEntry)> {
        self.types.iter().map(|(oid, entry)| (Type(*oid), entry))
    }

    // --- constraints, comments, dependencies -----------------------------------------------------

    /// The constraint with this OID.
    pub fn constraint(&self, oid: Oid) -> Option<&Arc<Constraint>> {
        self.constraints.get(&oid)
    }

    /// All constraints, in no order.
    pub fn constraints(&self) -> impl Iterator<Item = &Arc<Constraint>> {
        self.constraints.values()
    }

    /// The constraints of a table or a domain, in the order of their OIDs.
    pub fn constraints_of(&self, on: ConstraintOn) -> &[Arc<Constraint>] {
        match on {
            ConstraintOn::Table(table) => self.table(table).map_or(&[], |table| &table.constraints),
            ConstraintOn::Domain(ty) => self.domain_checks.get(&ty.oid()).map_or(&[], |all| all),
        }
    }

    /// The comment on an object.
    pub fn comment(&self, object: Address) -> Option<&Arc<Comment>> {
        self.comments.get(&object)
    }

    /// All comments, in no order.
    pub fn comments(&self) -> impl Iterator<Item = &Arc<Comment>> {
        self.comments.values()
    }

    /// The extension with this OID.
    pub fn extension(&self, oid: Oid) -> Option<&Arc<Extension>> {
        self.extensions.get(&oid)
    }

    /// The extension of a database with this name.
    pub fn extension_named(&self, database: Oid, name: &str) -> Option<&Arc<Extension>> {
        self.extension_names.get(&NameRef { within: database, name })
    }

    /// The policy with this OID.
    pub fn policy(&self, oid: Oid) -> Option<&Arc<Policy>> {
        self.policies.get(&oid)
    }

    /// All policies, in no order.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.policies.values()
    }

    /// The collation of users with this OID.
    pub fn collation(&self, oid: Oid) -> Option<&Arc<Collation>> {
        self.collations.get(&oid)
    }

    /// The collation of a schema with this name.
    pub fn collation_named(&self, schema: Oid, name: &str) -> Option<&Arc<Collation>> {
        self.collation_names.get(&NameRef { within: schema, name })
    }

    /// All collations of users, in no order.
    pub fn collations(&self) -> impl Iterator<Item = &Arc<Collation>> {
        self.collations.values()
    }

    /// Returns the references to the object with this OID or to parts of it. The contents of
    /// schemas and databases and the belongings of roles are not among them.
    pub fn dependents(&self, oid: Oid) -> &[Reference] {
        self.dependents.get(&oid).map_or(&[], |all| all)
    }

    /// All references between objects, in no order.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.dependents.values().flat_map(|all| all.iter())
    }

    // --- changing --------------------------------------------------------------------------------

    /// The entry with this key.
    pub(crate) fn entry(&self, key: Key) -> Option<Entry> {
        Some(match key {
            Key::Database(oid) => Entry::Database(self.databases.get(&oid)?.clone()),
            Key::Role(oid) => Entry::Role(self.roles.get(&oid)?.clone()),
            Key::Membership(oid) => Entry::Membership(self.memberships.get(&oid)?.clone()),
            Key::Settings { database, role } => {
                Entry::Settings(self.settings.get(&(database, role))?.clone())
            }
            Key::Schema(oid) => Entry::Schema(self.schemas.get(&oid)?.clone()),
            Key::DefaultAcl(oid) => Entry::DefaultAcl(self.default_acls.get(&oid)?.clone()),
            Key::Relation(oid) => Entry::Relation(self.relations.get(&oid)?.clone()),
            Key::Type(oid) => Entry::Type(self.user_type(Type(oid))?.clone()),
            Key::Constraint(oid) => Entry::Constraint(self.constraints.get(&oid)?.clone()),
            Key::Comment(object) => Entry::Comment(self.comments.get(&object)?.clone()),
            Key::Extension(oid) => Entry::Extension(self.extensions.get(&oid)?.clone()),
            Key::Policy(oid) => Entry::Policy(self.policies.get(&oid)?.clone()),
            Key::Collation(oid) => Entry::Collation(self.collations.get(&oid)?.clone()),
        })
    }

    /// All entries, in no order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let types = self.types.values().filter_map(|entry| match entry {
            TypeEntry::User(ty) => Some(Entry::Type(ty.clone())),
            _ => None,
        });
        (self.databases.values().cloned().map(Entry::Database))
            .chain(self.roles.values().cloned().map(Entry::Role))
            .chain(self.memberships.values().cloned().map(Entry::Membership))
            .chain(self.settings.values().cloned().map(Entry::Settings))
            .chain(self.default_acls.values().cloned().map(Entry::DefaultAcl))
            .chain(self.schemas.values().cloned().map(Entry::Schema))
            .chain(self.relations.values().cloned().map(Entry::Relation))
            .chain(types)
            .chain(self.constraints.values().cloned().map(Entry::Constraint))
            .chain(self.comments.values().cloned().map(Entry::Comment))
            .chain(self.extensions.values().cloned().map(Entry::Extension))
            .chain(self.policies.values().cloned().map(Entry::Policy))
            .chain(self.collations.values().cloned().map(Entry::Collation))
    }

    /// Applies a commit: the entries that it has put, and the keys of the entries that it has dropped, in any order.
    pub(crate) fn apply(&mut self, mut put: Vec<Entry>, removed: &[Key]) {
        removed.iter().for_each(|key| self.remove(*key));
        // Tables come before their parts, whatever their OIDs.
        put.sort_by_key(|entry| match entry {
            Entry::Relation(relation) => relation.index().is_some() as u8,
            _ => 2,
        });
        put.into_iter().for_each(|entry| self.put(entry));
    }

    /// Adds an entry. It replaces the one with the same key.
    pub(crate) fn put(&mut self, entry: Entry) {
        self.remove_names(entry.key());
        references(&entry, &mut |reference| {
            self.change_dependents(reference.to.oid, |all| all.push(reference));
        });
        match entry {
            Entry::Database(entry) => {
                self.database_names.insert(entry.name.clone(), entry.clone());
                self.databases.insert(entry.oid, entry);
            }
            Entry::Role(entry) => {
                self.role_names.insert(entry.name.clone(), entry.clone());
                self.roles.insert(entry.oid, entry);
            }
            Entry::Membership(entry) => {
                self.change_memberships(entry.member, |all| {
                    put_in_order(all, entry.clone(), |known| known.oid);
                });
                self.memberships.insert(entry.oid, entry);
            }
            Entry::Settings(entry) => {
                self.settings.insert((entry.database, entry.role), entry);
            }
            Entry::DefaultAcl(entry) => drop(self.default_acls.insert(entry.oid, entry)),
            Entry::Schema(entry) => {
                let name = Name { within: entry.database, name: entry.name.clone() };
                self.schema_names.insert(name, entry.clone());
                self.schemas.insert(entry.oid, entry);
            }
            Entry::Relation(entry) => self.put_relation(entry),
            Entry::Type(entry) => {
                self.put_type(TypeEntry::User(entry.clone()), entry.ty);
                self.put_type(TypeEntry::UserArray(entry.clone()), entry.array);
            }
            Entry::Constraint(entry) => self.put_constraint(entry),
            Entry::Comment(entry) => drop(self.comments.insert(entry.object, entry)),
            Entry::Extension(entry) => {
                let name = Name { within: entry.database, name: entry.name.clone() };
                self.extension_names.insert(name, entry.clone());
                self.extensions.insert(entry.oid, entry);
            }
            Entry::Policy(entry) => {
                self.change_table(entry.table, |table| {
                    put_in_order(&mut table.policies, entry.clone(), |known| known.oid);
                });
                self.policies.insert(entry.oid, entry);
            }
            Entry::Collation(entry) => {
                let name = Name { within: entry.schema, name: entry.name.clone() };
                self.collation_names.insert(name, entry.clone());
                self.collations.insert(entry.oid, entry);
            }
        }
    }

    fn put_type(&mut self, entry: TypeEntry, ty: Type) {
        let name = Name { within: entry.schema(), name: entry.name().clone() };
        self.type_names.insert(name, ty);
        self.types.insert(ty.oid(), entry);
    }

    fn put_relation(&mut self, relation: Arc<Relation>) {
        let name = Name { within: relation.schema, name: relation.name.clone() };
        self.relation_names.insert(name, relation.clone());
        if let Some(row) = &relation.row_type {
            self.put_type(TypeEntry::Row(relation.clone()), row.ty);
            self.put_type(TypeEntry::RowArray(relation.clone()), row.array);
        }
        for default in relation.live_columns().filter_map(|column| column.default.as_ref()) {
            self.defaults.insert(default.oid, relation.oid);
        }
        match &relation.kind {
            RelationKind::Table(_) => {
                let table = match self.tables.get(&relation.oid) {
                    Some(known) => TableDef { relation: relation.clone(), ..(**known).clone() },
                    None => TableDef {
                        relation: relation.clone(),
                        indexes: Vec::new(),
                        constraints: Vec::new(),
                        referenced_by: Vec::new(),
                        policies: Vec::new(),
                    },
                };
                self.tables.insert(relation.oid, Arc::new(table));
            }
            RelationKind::Index(index) => self.change_table(index.table, |table| {
                put_in_order(&mut table.indexes, relation.clone(), |index| index.oid);
            }),
            RelationKind::View(_) | RelationKind::Sequence(_) | RelationKind::Composite => {}
        }
        self.relations.insert(relation.oid, relation);
    }

    fn put_constraint(&mut self, constraint: Arc<Constraint>) {
        match constraint.on {
            ConstraintOn::Table(table) => self.change_table(table, |table| {
                put_in_order(&mut table.constraints, constraint.clone(), |known| known.oid);
            }),
            ConstraintOn::Domain(ty) => {
                let mut all = self.constraints_of(constraint.on).to_vec();
                put_in_order(&mut all, constraint.clone(), |known| known.oid);
                self.domain_checks.insert(ty.oid(), all.into());
            }
        }
        if let ConstraintKind::Foreign(key) = &constraint.kind {
            self.change_table(key.references, |table| {
                put_in_order(&mut table.referenced_by, constraint.clone(), |known| known.oid);
            });
        }
        self.constraints.insert(constraint.oid, constraint);
    }

    /// Removes the entry with this key, if there is one.
    pub(crate) fn remove(&mut self, key: Key) {
        self.remove_names(key);
        match key {
            Key::Database(oid) => drop(self.databases.remove(&oid)),
            Key::Role(oid) => drop(self.roles.remove(&oid)),
            Key::Membership(oid) => drop(self.memberships.remove(&oid)),
            Key::Settings { database, role } => drop(self.settings.remove(&(database, role))),
            Key::Schema(oid) => drop(self.schemas.remove(&oid)),
            Key::DefaultAcl(oid) => drop(self.default_acls.remove(&oid)),
            Key::Comment(object) => drop(self.comments.remove(&object)),
            Key::Extension(oid) => drop(self.extensions.remove(&oid)),
            Key::Policy(oid) => {
                let Some(policy) = self.policies.remove(&oid) else { return };
                self.change_table(policy.table, |table| {
                    table.policies.retain(|known| known.oid != oid);
                });
            }
            Key::Collation(oid) => drop(self.collations.remove(&oid)),
            // `remove_names` has removed everything of a type already.
            Key::Type(_) => {}
            Key::Relation(oid) => {
                let Some(relation) = self.relations.remove(&oid) else { return };
                if let Some(index) = relation.index() {
                    self.change_table(index.table, |table| {
                        table.indexes.retain(|index| index.oid != oid);
                    });
                }
                self.tables.remove(&oid);
            }
            Key::Constraint(oid) => {
                let Some(constraint) = self.constraints.remove(&oid) else { return };
                match constraint.on {
                    ConstraintOn::Table(table) => self.change_table(table, |table| {
                        table.constraints.retain(|known| known.oid != oid);
                    }),
                    ConstraintOn::Domain(ty) => {
                        let mut all = self.constraints_of(constraint.on).to_vec();
                        all.retain(|known| known.oid != oid);
                        match all.is_empty() {
                            true => drop(self.domain_checks.remove(&ty.oid())),
                            false => drop(self.domain_checks.insert(ty.oid(), all.into())),
                        }
                    }
                }
                if let ConstraintKind::Foreign(key) = &constraint.kind {
                    self.change_table(key.references, |table| {
                        table.referenced_by.retain(|known| known.oid != oid);
                    });
                }
            }
        }
    }

    /// Removes everything by which the entry with this key is found, apart from its OID, and removes its references.
    fn remove_names(&mut self, key: Key) {
        let Some(entry) = self.entry(key) else { return };
        references(&entry, &mut |reference| {
            self.change_dependents(reference.to.oid, |all| {
                if let Some(at) = all.iter().position(|known| *known == reference) {
                    all.remove(at);
                }
            });
        });
        match &entry {
            Entry::Database(database) => {
                let named = self.database_names.get(&*database.name);
                if named.is_some_and(|named| named.oid == database.oid) {
                    self.database_names.remove(&*database.name);
                }
            }
            Entry::Role(role) => {
                let named = self.role_names.get(&*role.name);
                if named.is_some_and(|named| named.oid == role.oid) {
                    self.role_names.remove(&*role.name);
                }
            }
            Entry::Membership(membership) => self.change_memberships(membership.member, |all| {
                all.retain(|known| known.oid != membership.oid);
            }),
            Entry::Schema(schema) => {
                let name = NameRef { within: schema.database, name: &schema.name };
                if self.schema_names.get(&name).is_some_and(|named| named.oid == schema.oid) {
                    self.schema_names.remove(&name);
                }
            }
            Entry::Extension(extension) => {
                let name = NameRef { within: extension.database, name: &extension.name };
                let named = self.extension_names.get(&name);
                if named.is_some_and(|named| named.oid == extension.oid) {
                    self.extension_names.remove(&name);
                }
            }
            Entry::Collation(collation) => {
                let name = NameRef { within: collation.schema, name: &collation.name };
                let named = self.collation_names.get(&name);
                if named.is_some_and(|named| named.oid == collation.oid) {
                    self.collation_names.remove(&name);
                }
            }
            Entry::Type(ty) => {
                self.remove_type(ty.schema, &ty.name, ty.ty);
                self.remove_type(ty.schema, &ty.array_name, ty.array);
            }
            Entry::Relation(relation) => {
                let name = NameRef { within: relation.schema, name: &relation.name };
                if self.relation_names.get(&name).is_some_and(|named| named.oid == relation.oid) {
                    self.relation_names.remove(&name);
                }
                if let Some(row) = &relation.row_type {
                    self.remove_type(relation.schema, &relation.name, row.ty);
                    self.remove_type(relation.schema, &row.array_name, row.array);
                }
                for default in relation.live_columns().filter_map(|column| column.default.as_ref())
                {
                    self.defaults.remove(&default.oid);
                }
            }
            _ => {}
        }
    }

    fn remove_type(&mut self, schema: Oid, name: &str, ty: Type) {
        let name = NameRef { within: schema, name };
        if self.type_names.get(&name) == Some(&ty) {
            self.type_names.remove(&name);
        }
        self.types.remove(&ty.oid());
    }

    fn change_table(&mut self, oid: Oid, change: impl FnOnce(&mut TableDef)) {
        let Some(table) = self.tables.get(&oid) else { return };
        let mut table = (**table).clone();
        change(&mut table);
        self.tables.insert(oid, Arc::new(table));
    }

    fn change_memberships(&mut self, member: Oid, change: impl FnOnce(&mut Vec<Arc<Membership>>)) {
        let mut all = self.memberships_of(member).to_vec();
        change(&mut all);
        match all.is_empty() {
            true => drop(self.memberships_of.remove(&member)),
            false => drop(self.memberships_of.insert(member, all.into())),
        }
    }

    fn change_dependents(&mut self, oid: Oid, change: impl FnOnce(&mut Vec<Reference>)) {
        let mut all = self.dependents(oid).to_vec();
        change(&mut all);
        if all.is_empty() {
            self.dependents.remove(&oid);
        } else {
            self.dependents.insert(oid, all.into());
        }
    }

    /// True if this catalog has the object that an address names.
    pub fn exists(&self, object: Address) -> bool {
        match object.class {
            Class::Relation if object.sub == 0 => self.relations.contains(&object.oid),
            Class::Relation => {
                let relation = self.relation(object.oid);
                relation.is_some_and(|relation| relation.column(object.sub).is_some())
            }
            Class::Type => self.types.contains(&object.oid),
            Class::Constraint => self.constraints.contains(&object.oid),
            Class::Default => self.default_of(object.oid).is_some(),
            Class::Schema => self.schemas.contains(&object.oid),
            Class::Role => self.roles.contains(&object.oid),
            Class::Database => self.databases.contains(&object.oid),
            Class::Membership => self.memberships.contains(&object.oid),
            Class::DefaultAcl => self.default_acls.contains(&object.oid),
            Class::Extension => self.extensions.contains(&object.oid),
            Class::Policy => self.policies.contains(&object.oid),
            Class::Collation => self.collations.contains(&object.oid),
            Class::Function | Class::Operator | Class::OperatorClass => false,
        }
    }
}

/// Inserts a part in the order of the OIDs. It replaces the part with the same OID.
fn put_in_order<T>(all: &mut Vec<Arc<T>>, part: Arc<T>, oid: impl Fn(&T) -> Oid) {
    match all.binary_search_by_key(&oid(&part), |known| oid(known)) {
        Ok(at) => all[at] = part,
        Err(at) => all.insert(at, part),
    }
}
