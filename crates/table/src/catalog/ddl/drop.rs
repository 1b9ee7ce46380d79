//! Dropping objects, and what depends on them.
//!
//! ```text
//!   DROP TABLE a                         found, depth first                    told
//!   a <──normal── constraint of b        constraint of b   normal, of a        keeps a from going
//!     <──auto──── index of a             index of a        auto                silently
//!     <──normal── view v <──normal── w   w, v              normal, of v, of a  keep a from going
//! ```
//!
//! The search finds dependents depth first, newer objects before older ones, so that each object
//! comes after all that depends on it. That is also the order in which they are dropped. The
//! message lists them the other way round. This is how PostgreSQL does it, and its messages are
//! made of it.

use ::types::{Error as SqlError, Oid, SqlState, Type};
use txn::{RelationLock, RowLock, Wait};

use super::{Address, Class, Ddl, RelationKind, Rewrite};
use crate::catalog::{
    Catalog, ConstraintKind, Dependence, Entry, Key, Scope, TypeEntry, UserTypeKind,
};
use crate::{Error, Result};

/// Objects that a message lists at most.
const LISTED_MAX: usize = 100;

/// The fate of the objects that depend on a dropped one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// They keep it from being dropped.
    Restrict,
    /// They are dropped as well.
    Cascade,
}

/// A notice for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The message.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
}

/// An object that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    object: Address,
    /// It is one of those that were to be dropped.
    is_original: bool,
    /// It goes silently, as a part of another.
    is_part: bool,
    /// The object through which the search found it: it depends on this one.
    on: Address,
}

impl Ddl<'_> {
    /// Drops objects: relations, columns, defaults, constraints, types, schemas. With them go those
    /// that depend on them, if `behavior` says so, of which the notice tells.
    ///
    /// # Errors
    /// 2BP01 where others depend on one of them; 42501 where one is not the role's.
    pub fn drop_objects(
        &mut self,
        objects: &[Address],
        behavior: Behavior,
    ) -> Result<Option<Notice>> {
        self.whole(|ddl| {
            for object in objects {
                ddl.check_may_drop(*object)?;
            }
            let objects: Vec<Address> =
                objects.iter().map(|object| ddl.catalog().canonical(*object)).collect();
            let targets = ddl.lock_targets(&objects)?;
            let notice = report(ddl.scope(), &objects, &targets, behavior)?;
            for target in &targets {
                ddl.remove_object(target.object, &targets)?;
            }
            Ok(notice)
        })
    }

    /// The owner of an object may drop it, and so may that of its schema.
    fn check_may_drop(&self, object: Address) -> Result<()> {
        let catalog = self.catalog();
        let schema = match object.class {
            Class::Relation if object.sub == 0 => {
                catalog.relation(object.oid).map(|relation| relation.schema)
            }
            Class::Relation => {
                if let Some(relation) = catalog.relation(object.oid) {
                    self.check_kind(relation, "DROP COLUMN", [false, true])?;
                }
                None
            }
            Class::Type => catalog.type_entry(Type(object.oid)).map(TypeEntry::schema),
            Class::Collation => catalog.collation(object.oid).map(|known| known.schema),
            Class::Extension if object.oid.is_builtin() => {
                let what = self.scope().describe(object);
                let message =
                    format!("cannot drop {what} because it is required by the database system");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message));
            }
            Class::Schema if object.oid.is_builtin() => {
                let schema = catalog.schema(object.oid);
                if schema.is_some_and(|schema| schema.database == Oid::NONE) {
                    let what = self.scope().describe(object);
                    let message =
                        format!("cannot drop {what} because it is required by the database system");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message));
                }
                None
            }
            _ => None,
        };
        let schema = schema.map(|oid| Address::of(Class::Schema, oid));
        if schema.is_some_and(|schema| self.check_owner(schema).is_ok()) {
            return Ok(());
        }
        self.check_owner(object)
    }

    /// Finds all that goes, and locks it. Others may have made something dependent until then.
    fn lock_targets(&mut self, objects: &[Address]) -> Result<Vec<Target>> {
        let mut known = Vec::new();
        loop {
            let targets = find(self.catalog(), objects, self.scope())?;
            if targets == known {
                return Ok(targets);
            }
            for table in self.tables_of(&targets) {
                self.txn.lock_relation(table.0, RelationLock::Define, Wait::Allowed)?;
            }
            for target in &targets {
                if let Some(key) = self.catalog().key_of(target.object) {
                    self.draft.lock(self.txn, key, RowLock::Update)?;
                }
            }
            known = targets;
        }
    }

    /// The tables that go, or lose an index or a constraint; of a foreign key both tables. Also the composite types that
    /// lose an attribute.
    fn tables_of(&self, targets: &[Target]) -> Vec<Oid> {
        let catalog = self.catalog();
        let mut tables = Vec::new();
        for Target { object, .. } in targets {
            match object.class {
                Class::Relation => match catalog.relation(object.oid).map(|it| &it.kind) {
                    Some(RelationKind::Table(_)) => tables.push(object.oid),
                    Some(RelationKind::Index(index)) => tables.push(index.table),
                    Some(RelationKind::Composite) if object.sub != 0 => tables.push(object.oid),
                    _ => {}
                },
                Class::Constraint => {
                    let constraint = catalog.constraint(object.oid);
                    tables.extend(constraint.and_then(|constraint| constraint.table()));
                    let key = constraint.and_then(|constraint| constraint.foreign_key());
                    tables.extend(key.map(|key| key.references));
                }
                Class::Policy => tables.extend(catalog.policy(object.oid).map(|it| it.table)),
                _ => {}
            }
        }
        tables
    }

    /// Removes an object that goes with `all`.
    fn remove_object(&mut self, object: Address, all: &[Target]) -> Result<()> {
        match object.class {
            Class::Relation if object.sub != 0 => self.remove_column(object.oid, object.sub),
            Class::Relation => {
                self.rewrites.retain(|Rewrite { before }| before.relation.oid != object.oid);
                self.remove_relation(object.oid)
            }
            Class::Default => self.remove_default(object.oid),
            Class::Constraint => self.remove_constraint(object.oid, all),
            Class::Type => match self.catalog().type_entry(Type(object.oid)) {
                Some(TypeEntry::User(_)) => {
                    self.remove_comment(object)?;
                    self.remove(Key::Type(object.oid))
                }
                // A type that goes with a relation, or with another type.
                _ => Ok(()),
            },
            Class::Schema => {
                self.remove_comment(object)?;
                self.remove(Key::Schema(object.oid))
            }
            Class::DefaultAcl => self.remove(Key::DefaultAcl(object.oid)),
            Class::Collation => {
                self.remove_comment(object)?;
                self.remove(Key::Collation(object.oid))
            }
            Class::Extension => {
                self.remove_comment(object)?;
                self.remove(Key::Extension(object.oid))
            }
            Class::Policy => {
                self.remove_comment(object)?;
                self.remove(Key::Policy(object.oid))
            }
            Class::Role
            | Class::Database
            | Class::Membership
            | Class::Function
            | Class::Operator
            | Class::OperatorClass => Ok(()),
        }
    }

    fn remove_constraint(&mut self, oid: Oid, all: &[Target]) -> Result<()> {
        let Some(constraint) = self.catalog().constraint(oid).cloned() else { return Ok(()) };
        self.remove_comment(Address::of(Class::Constraint, oid))?;
        self.remove(Key::Constraint(oid))?;
        let table = constraint.table().and_then(|table| self.catalog().table(table));
        let (Some(table), ConstraintKind::Key { columns, is_primary: true, .. }) =
            (table, &constraint.kind)
        else {
            return Ok(());
        };
        let is_key = table.relation.table().is_some_and(|table| table.keyed_by == *columns);
        let own = Address::relation(table.relation.oid);
        let stays = all.iter().all(|target| target.object != own);
        match is_key && stays && !columns.is_empty() {
            // Two rows may have the same values from now on.
            true => {
                let table = table.relation.oid;
                self.rewrite(table, Vec::new(), None)
            }
            false => Ok(()),
        }
    }
}

/// All that goes with some objects, each after what depends on it.
fn find(catalog: &Catalog, objects: &[Address], scope: Scope<'_>) -> Result<Vec<Target>> {
    let mut search = Search { catalog, targets: Vec::new(), stack: Vec::new() };
    for object in objects.iter().copied() {
        let extension = catalog.extension_with(scope.database, object.oid);
        let extension = extension.map(|of| Address::of(Class::Extension, of.oid));
        if let Some(owner) = extension.or_else(|| catalog.owner_by_part(object))
            && !objects.contains(&owner)
        {
            let (part, owner) = (scope.describe(object), scope.describe(owner));
            let message = format!("cannot drop {part} because {owner} requires it");
            let error = SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message);
            return Err(error.with_hint(format!("You can drop {owner} instead.")).into());
        }
        search.visit(Target { object, is_original: true, is_part: false, on: object });
    }
    Ok(search.targets)
}

struct Search<'c> {
    catalog: &'c Catalog,
    /// The objects to drop, each after its dependents.
    targets: Vec<Target>,
    /// The objects that the search is visiting.
    stack: Vec<Target>,
}

impl Search<'_> {
    fn visit(&mut self, target: Target) {
        let object = target.object;
        let same = |known: &&mut Target| known.object == object || known.object == object.whole();
        // A target that is found again only adds how it was found.
        let found = self.stack.iter_mut().chain(self.targets.iter_mut()).find(same);
        if let Some(known) = found {
            known.is_original |= target.is_original && known.object == object;
            known.is_part |= target.is_part;
            return;
        }
        self.stack.push(target);
        let mut dependents = self.dependents(object);
        // Newer objects first; whole objects before their parts.
        dependents.sort_by_key(|target| {
            let Address { class, oid, sub } = target.object;
            (std::cmp::Reverse(oid), class, sub as u16)
        });
        for dependent in dependents {
            self.visit(dependent);
        }
        if let Some(target) = self.stack.pop() {
            self.targets.push(target);
        }
    }

    /// Returns the objects that depend on an object, each with how.
    fn dependents(&self, object: Address) -> Vec<Target> {
        let mut found = Vec::new();
        let mut add = |from: Address, on: Address, how: Dependence| {
            if from.whole() != object {
                let is_part = how != Dependence::Normal;
                found.push(Target { object: from, is_original: false, is_part, on });
            }
        };
        let catalog = self.catalog;
        for reference in catalog.dependents(object.oid) {
            if object.sub == 0 || reference.to.sub == object.sub {
                add(reference.from, object, reference.how);
            }
        }
        for part in catalog.parts_of(object) {
            add(part, object, Dependence::Internal);
        }
        if let Some(extension) =
            catalog.extension(object.oid).filter(|_| object.class == Class::Extension)
        {
            for reference in catalog.dependents_of_extension(extension) {
                add(reference.from, reference.to, reference.how);
            }
        }
        if object.class == Class::Schema {
            for (from, how) in catalog.contents(object.oid) {
                add(from, object, how);
            }
        }
        found
    }
}

/// Says what goes with the objects, or why they cannot go.
fn report(
    scope: Scope<'_>,
    objects: &[Address],
    targets: &[Target],
    behavior: Behavior,
) -> Result<Option<Notice>> {
    let is_whole_gone = |target: &&Target| {
        target.object.sub != 0 && targets.iter().any(|other| other.object == target.object.whole())
    };
    let others: Vec<&Target> = targets
        .iter()
        .rev()
        .filter(|target| !target.is_original && !target.is_part && !is_whole_gone(target))
        .collect();
    let describe = |target: &&Target| match behavior {
        Behavior::Cascade => format!("drop cascades to {}", scope.describe(target.object)),
        Behavior::Restrict => {
            format!("{} depends on {}", scope.describe(target.object), scope.describe(target.on))
        }
    };
    let mut lines: Vec<String> = others.iter().take(LISTED_MAX).map(describe).collect();
    if let Some(rest) = others.len().checked_sub(LISTED_MAX).filter(|rest| *rest > 0) {
        let plural = if rest == 1 { "" } else { "s" };
        lines.push(format!("and {rest} other object{plural} (see server log for list)"));
    }
    match behavior {
        Behavior::Cascade => Ok(match (&others[..], lines.first()) {
            ([], _) | (_, None) => None,
            ([_], Some(line)) => Some(Notice { message: line.clone(), detail: None }),
            (all, _) => Some(Notice {
                message: format!("drop cascades to {} other objects", all.len()),
                detail: Some(lines.join("\n")),
            }),
        }),
        Behavior::Restrict if others.is_empty() => Ok(None),
        Behavior::Restrict => {
            let message = match objects {
                [object] => format!(
                    "cannot drop {} because other objects depend on it",
                    scope.describe(*object)
                ),
                _ => {
                    "cannot drop desired object(s) because other objects depend on them".to_owned()
                }
            };
            let error = SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message);
            let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
            Err(error.with_detail(lines.join("\n")).with_hint(hint).into())
        }
    }
}

impl Catalog {
    /// The entry that an object is, or is a part of.
    pub(super) fn key_of(&self, object: Address) -> Option<Key> {
        match object.class {
            Class::Relation => Some(Key::Relation(object.oid)),
            Class::Default => self.default_of(object.oid).map(|(of, _)| Key::Relation(of.oid)),
            Class::Constraint => Some(Key::Constraint(object.oid)),
            Class::Schema => Some(Key::Schema(object.oid)),
            Class::Role => Some(Key::Role(object.oid)),
            Class::Database => Some(Key::Database(object.oid)),
            Class::Membership => Some(Key::Membership(object.oid)),
            Class::DefaultAcl => Some(Key::DefaultAcl(object.oid)),
            Class::Extension => Some(Key::Extension(object.oid)),
            Class::Policy => Some(Key::Policy(object.oid)),
            Class::Collation => Some(Key::Collation(object.oid)),
            Class::Function | Class::Operator | Class::OperatorClass => None,
            Class::Type => match self.type_entry(Type(object.oid))? {
                TypeEntry::User(of) | TypeEntry::UserArray(of) => Some(Key::Type(of.ty.oid())),
                TypeEntry::Row(of) | TypeEntry::RowArray(of) => Some(Key::Relation(of.oid)),
            },
        }
    }

    /// A composite type is dropped as a type, whichever way it was named.
    fn canonical(&self, object: Address) -> Address {
        let relation = match object {
            Address { class: Class::Relation, oid, sub: 0 } => self.relation(oid),
            _ => None,
        };
        match relation.and_then(|relation| Some((&relation.kind, relation.row_type.as_ref()?))) {
            Some((RelationKind::Composite, row)) => Address::of(Class::Type, row.ty.oid()),
            _ => object,
        }
    }

    /// Returns the owner of an object that is a part of it, and so cannot go alone.
    fn owner_by_part(&self, object: Address) -> Option<Address> {
        if object.class == Class::Type {
            return match self.type_entry(Type(object.oid))? {
                TypeEntry::Row(relation) if matches!(relation.kind, RelationKind::Composite) => {
                    None
                }
                TypeEntry::User(user) => match &user.kind {
                    UserTypeKind::Multirange(range) => Some(Address::of(Class::Type, range.oid())),
                    _ => None,
                },
                TypeEntry::Row(relation) => Some(Address::relation(relation.oid)),
                array => array.element().map(|of| Address::of(Class::Type, of.oid())),
            };
        }
        if object.class == Class::Constraint {
            let whole = self.constraint(object.oid)?.partition_of;
            return whole.map(|oid| Address::of(Class::Constraint, oid));
        }
        if object.class != Class::Relation || object.sub != 0 {
            return None;
        }
        let relation = self.relation(object.oid)?;
        match &relation.kind {
            RelationKind::Index(index) => {
                let of_constraint = index.constraint.map(|oid| Address::of(Class::Constraint, oid));
                index.partition_of.map(Address::relation).or(of_constraint)
            }
            RelationKind::Sequence(sequence) => {
                let owner = sequence.owned_by.filter(|owner| owner.is_identity)?;
                Some(Address::column(owner.table, owner.attnum))
            }
            _ => None,
        }
    }

    /// Returns the parts of an object, which go with it: the type of a table's rows, the type of
    /// arrays of a type, the columns of a composite type.
    fn parts_of(&self, object: Address) -> Vec<Address> {
        let of_type = |ty: Type| Address::of(Class::Type, ty.oid());
        match object.class {
            Class::Relation if object.sub == 0 => {
                let row = self.relation(object.oid).and_then(|relation| relation.row_type.as_ref());
                row.map(|row| of_type(row.ty)).into_iter().collect()
            }
            Class::Type => {
                let entry = self.type_entry(Type(object.oid));
                let array = entry.and_then(TypeEntry::array).map(of_type);
                // The row type of a table is a part of the table, and not the other way round.
                let relation = self.composite_of(Type(object.oid));
                let relation = relation
                    .filter(|relation| matches!(relation.kind, RelationKind::Composite))
                    .map(|relation| Address::relation(relation.oid));
                array.into_iter().chain(relation).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the objects of a schema, except those that belong to another object there.
    fn contents(&self, schema: Oid) -> Vec<(Address, Dependence)> {
        let mut found = Vec::new();
        for entry in self.entries() {
            match entry {
                Entry::Relation(relation)
                    if relation.schema == schema && relation.index().is_none() =>
                {
                    let object = self.canonical(Address::relation(relation.oid));
                    found.push((object, Dependence::Normal));
                }
                Entry::Type(ty) if ty.schema == schema => {
                    found.push((Address::of(Class::Type, ty.ty.oid()), Dependence::Normal));
                }
                Entry::Collation(collation) if collation.schema == schema => {
                    let object = Address::of(Class::Collation, collation.oid);
                    found.push((object, Dependence::Normal));
                }
                Entry::Extension(extension) if extension.schema == schema => {
                    let object = Address::of(Class::Extension, extension.oid);
                    found.push((object, Dependence::Normal));
                }
                Entry::DefaultAcl(acl) if acl.schema == schema => {
                    found.push((Address::of(Class::DefaultAcl, acl.oid), Dependence::Auto));
                }
                _ => {}
            }
        }
        found
    }
}
