//! Changes of objects of all kinds: renaming, moving to another schema, giving them to another
//! role, commenting on them.
//!
//! A rename writes the new name into every text that names the object, see [`SqlText`].

use std::sync::Arc;

use ::types::{Error as SqlError, Modifier, Oid, SqlState, Type};

use super::column::check_new_column_name;
use super::{Address, Class, Ddl, Entry, Relation, RelationKind, no_column};
use crate::catalog::{
    Acl, AclItem, Comment, Constraint, ConstraintKind, ConstraintOn, Database, Extension,
    IndexPart, Policy, Privileges, Role, RowType, Schema, SqlText, TypeEntry, UserType,
    UserTypeKind,
};
use crate::{Error, Result};

/// The meaning of the names of columns in a text that the catalog keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextOf {
    /// It is a query, which has its own tables.
    Query,
    /// Columns of this relation.
    Row(Oid),
    /// `VALUE`, of this domain.
    Value(Type),
}

impl Ddl<'_> {
    // --- renaming --------------------------------------------------------------------------------

    /// Renames an object or a column.
    ///
    /// # Errors
    /// PostgreSQL's for a name that is taken.
    pub fn rename(&mut self, object: Address, name: &str) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_no_member(object)?;
            match object.class {
                Class::Role => ddl.check_may_alter_role(object.oid)?,
                _ => ddl.check_owner(object)?,
            }
            match object.class {
                Class::Relation if object.sub == 0 => ddl.rename_relation(object.oid, name),
                Class::Relation => ddl.rename_column(object, name),
                Class::Type => ddl.rename_type(Type(object.oid), name),
                Class::Collation => ddl.rename_collation(object.oid, name),
                Class::Constraint => ddl.rename_constraint(object.oid, name),
                Class::Schema => ddl.rename_schema(object.oid, name),
                Class::Role => ddl.rename_role(object.oid, name),
                Class::Database => ddl.rename_database(object.oid, name),
                Class::Policy => ddl.rename_policy(object.oid, name),
                Class::Default
                | Class::Membership
                | Class::DefaultAcl
                | Class::Extension
                | Class::Function
                | Class::Operator
                | Class::OperatorClass => {
                    Err(super::not_supported("objects of this kind cannot be renamed"))
                }
            }
        })
    }

    fn rename_relation(&mut self, oid: Oid, name: &str) -> Result<()> {
        let mut relation = Relation::clone(&*self.relation_to_change(oid)?);
        self.take_relation_name(relation.schema, name, relation.row_type.is_some())?;
        self.retext(Address::relation(oid), |text| text.renamed(Address::relation(oid), name))?;
        if let Some(row) = relation.row_type.take() {
            let ty = Address::of(Class::Type, row.ty.oid());
            self.retext(ty, |text| text.renamed(ty, name))?;
            let array_name = self.choose_array_name(relation.schema, name)?;
            relation.row_type = Some(RowType { array_name, ..row });
        }
        // The texts of the relation itself may have changed.
        let current = self.relation(oid)?;
        let constraint = current.index().and_then(|index| index.constraint);
        let row_type = relation.row_type;
        self.put_relation(Relation { name: name.into(), row_type, ..(*current).clone() })?;
        match constraint {
            Some(constraint) => self.name_constraint(constraint, name),
            None => Ok(()),
        }
    }

    fn rename_column(&mut self, column: Address, name: &str) -> Result<()> {
        let relation = self.relation_to_change(column.oid)?;
        if relation.column(column.sub).is_none() {
            return Err(no_column(&column.sub.to_string(), &relation.name));
        }
        check_new_column_name(&relation, name)?;
        self.retext(Address::relation(column.oid), |text| text.renamed(column, name))?;
        let mut relation = Relation::clone(&*self.relation(column.oid)?);
        relation.columns[column.sub as usize - 1].name = name.into();
        self.put_relation(relation).map(drop)
    }

    fn rename_type(&mut self, ty: Type, name: &str) -> Result<()> {
        let object = Address::of(Class::Type, ty.oid());
        let user = match self.catalog().type_entry(ty).cloned() {
            Some(TypeEntry::User(user)) => user,
            Some(TypeEntry::Row(relation)) if self.catalog().is_composite_type(ty) => {
                return self.rename_relation(relation.oid, name);
            }
            Some(TypeEntry::Row(_)) => {
                let name = self.scope().type_name(ty, Modifier::NONE);
                let message = format!("{name} is a table's row type");
                let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
                return Err(error.with_hint("Use ALTER TABLE instead.").into());
            }
            _ => {
                let what = self.scope().describe(object);
                let message = format!("cannot alter array {what}");
                let error = SqlError::new(SqlState::WRONG_OBJECT_TYPE, message);
                let element = what.trim_end_matches("[]");
                let hint =
                    format!("You can alter {element}, which will alter the array type as well.");
                return Err(error.with_hint(hint).into());
            }
        };
        self.take_type_name(user.schema, name)?;
        self.retext(object, |text| text.renamed(object, name))?;
        let array_name = self.choose_array_name(user.schema, name)?;
        let current = self.user_type_to_change(ty)?;
        let changed = UserType { name: name.into(), array_name, ..(*current).clone() };
        self.put(Entry::Type(Arc::new(changed)))
    }

    fn rename_constraint(&mut self, oid: Oid, name: &str) -> Result<()> {
        let Some(constraint) = self.catalog().constraint(oid).cloned() else {
            let message = format!("constraint {oid} does not exist");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        };
        match &constraint.kind {
            ConstraintKind::Key { index, .. } | ConstraintKind::Exclude { index, .. } => {
                self.rename_relation(*index, name)
            }
            _ => {
                self.check_new_constraint_name(&constraint, name)?;
                self.name_constraint(oid, name)
            }
        }
    }

    fn check_new_constraint_name(&self, constraint: &Constraint, name: &str) -> Result<()> {
        let known = self.catalog().constraints_of(constraint.on);
        if known.iter().all(|known| *known.name != *name) {
            return Ok(());
        }
        let message = match constraint.table().and_then(|oid| self.catalog().relation(oid)) {
            Some(table) => {
                format!("constraint \"{name}\" for relation \"{}\" already exists", table.name)
            }
            None => format!("constraint \"{name}\" for domain already exists"),
        };
        Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
    }

    fn name_constraint(&mut self, oid: Oid, name: &str) -> Result<()> {
        self.change_constraint(oid, |constraint| {
            constraint.name = name.into();
            Ok(())
        })
    }

    fn rename_schema(&mut self, oid: Oid, name: &str) -> Result<()> {
        let Some(schema) = self.catalog().schema(oid).cloned() else {
            let message = format!("schema with OID {oid} does not exist");
            return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
        };
        super::schema::check_schema_name(name)?;
        self.take_schema_name(schema.database, name)?;
        let object = Address::of(Class::Schema, oid);
        let changed: Vec<Entry> = self
            .catalog()
            .entries()
            .filter_map(|entry| entry.retexted(&|text| text.renamed(object, name)))
            .collect();
        changed.into_iter().try_for_each(|entry| self.put(entry))?;
        self.put(Entry::Schema(Arc::new(Schema { name: name.into(), ..(*schema).clone() })))
    }

    fn rename_role(&mut self, oid: Oid, name: &str) -> Result<()> {
        let Some(role) = self.catalog().role(oid).cloned() else {
            let message = format!("role with OID {oid} does not exist");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        };
        self.take_role_name(name)?;
        self.put(Entry::Role(Arc::new(Role { name: name.into(), ..(*role).clone() })))
    }

    fn rename_database(&mut self, oid: Oid, name: &str) -> Result<()> {
        let Some(database) = self.catalog().database(oid).cloned() else {
            let message = format!("database with OID {oid} does not exist");
            return Err(Error::new(SqlState::INVALID_CATALOG_NAME, message));
        };
        if oid == self.acting.database {
            let message = "current database cannot be renamed";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.take_database_name(name)?;
        let database = Database { name: name.into(), ..(*database).clone() };
        self.put(Entry::Database(Arc::new(database)))
    }

    /// Changes the texts of all that depends on an object.
    pub(super) fn retext(
        &mut self,
        object: Address,
        change: impl Fn(&SqlText) -> SqlText,
    ) -> Result<()> {
        let catalog = self.catalog();
        let mut keys: Vec<_> = catalog
            .dependents(object.oid)
            .iter()
            .filter_map(|reference| catalog.key_of(reference.from))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let entry = self.catalog().entry(key);
            if let Some(entry) = entry.and_then(|entry| entry.retexted(&change)) {
                self.put(entry)?;
            }
        }
        Ok(())
    }

    /// Changes the texts that the catalog keeps for a database, each of which is bound as [`TextOf`] says.
    ///
    /// # Errors
    /// Fails if the catalog cannot be written.
    pub fn retext_each(
        &mut self,
        database: Oid,
        change: &dyn Fn(TextOf, &SqlText) -> SqlText,
    ) -> Result<()> {
        let catalog = Arc::clone(self.catalog());
        let is_in = |schema| catalog.schema(schema).is_some_and(|it| it.database == database);
        let has = |oid| catalog.relation(oid).is_some_and(|relation| is_in(relation.schema));
        for entry in catalog.entries() {
            let (is_known, of) = match &entry {
                Entry::Relation(relation) => {
                    let over = relation.index().map_or(relation.oid, |index| index.table);
                    let of =
                        if relation.view().is_some() { TextOf::Query } else { TextOf::Row(over) };
                    (is_in(relation.schema), of)
                }
                Entry::Constraint(constraint) => match constraint.on {
                    ConstraintOn::Table(table) => (has(table), TextOf::Row(table)),
                    ConstraintOn::Domain(ty) => {
                        let schema = catalog.type_entry(ty).map(|known| known.schema());
                        (schema.is_some_and(is_in), TextOf::Value(ty))
                    }
                },
                Entry::Policy(policy) => (has(policy.table), TextOf::Row(policy.table)),
                _ => continue,
            };
            let query = match &entry {
                Entry::Relation(relation) => {
                    relation.materialized().map(|it| it.query.text.clone())
                }
                _ => None,
            };
            let each = |text: &SqlText| match &query {
                Some(query) if Arc::ptr_eq(query, &text.text) => change(TextOf::Query, text),
                _ => change(of, text),
            };
            if let Some(changed) = entry.retexted(&each).filter(|_| is_known) {
                self.put(changed)?;
            }
        }
        Ok(())
    }

    // --- moving ----------------------------------------------------------------------------------

    /// Moves a relation, or a type, to another schema; with a table go its indexes and the sequences
    /// that belong to its columns.
    ///
    /// # Errors
    /// 42P07 or 42710 where the name is taken there.
    pub fn set_schema(&mut self, object: Address, schema: Oid) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_no_member(object)?;
            ddl.check_owner(object)?;
            match object.class {
                Class::Relation => ddl.move_table(object.oid, schema),
                Class::Type => match ddl.catalog().composite_of(Type(object.oid)) {
                    Some(relation) => {
                        let relation = relation.oid;
                        ddl.move_table(relation, schema)
                    }
                    None => ddl.move_type(Type(object.oid), schema),
                },
                Class::Collation => ddl.move_collation(object.oid, schema),
                _ => Err(super::not_supported("objects of this kind are in no schema")),
            }
        })
    }

    fn move_table(&mut self, oid: Oid, schema: Oid) -> Result<()> {
        let relation = self.relation_to_change(oid)?;
        if relation.schema == schema {
            return Ok(());
        }
        if let Some(owner) = relation.sequence().and_then(|sequence| sequence.owned_by) {
            let table = self.relation(owner.table)?;
            let message = "cannot move an owned sequence into another schema";
            let detail =
                format!("Sequence \"{}\" is linked to table \"{}\".", relation.name, table.name);
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            return Err(error.with_detail(detail).into());
        }
        self.schema_to_create_in(schema, &relation.name)?;
        self.move_relation(oid, schema)?;
        let indexes = self.catalog().table(oid).map(|table| table.indexes.clone());
        for index in indexes.into_iter().flatten() {
            self.move_relation(index.oid, schema)?;
        }
        for sequence in self.sequences_of(oid, None) {
            self.move_relation(sequence, schema)?;
        }
        Ok(())
    }

    fn move_relation(&mut self, oid: Oid, schema: Oid) -> Result<()> {
        let relation = self.relation_to_change(oid)?;
        let (from, name) = (relation.schema, relation.name.clone());
        self.draft.lock_name(self.txn, schema, &name)?;
        if self.catalog().relation_named(schema, &name).is_some() {
            let schema = self.schema_name(schema);
            let message = format!("relation \"{name}\" already exists in schema \"{schema}\"");
            return Err(Error::new(SqlState::DUPLICATE_TABLE, message));
        }
        self.take_relation_name(schema, &name, relation.row_type.is_some())?;
        let to_name = self.schema_name(schema);
        let object = Address::relation(oid);
        self.retext(object, |text| text.moved(object, from, schema, &to_name))?;
        if let Some(row) = &relation.row_type {
            let ty = Address::of(Class::Type, row.ty.oid());
            self.retext(ty, |text| text.moved(ty, from, schema, &to_name))?;
        }
        let mut relation = Relation::clone(&*self.relation(oid)?);
        relation.schema = schema;
        if let Some(row) = relation.row_type.take() {
            let array_name = self.choose_array_name(schema, &name)?;
            relation.row_type = Some(RowType { array_name, ..row });
        }
        self.put_relation(relation).map(drop)
    }

    fn move_type(&mut self, ty: Type, schema: Oid) -> Result<()> {
        let user = self.user_type_to_change(ty)?;
        if user.schema == schema {
            return Ok(());
        }
        let (from, name) = (user.schema, user.name.clone());
        self.schema_to_create_in(schema, &name)?;
        self.draft.lock_name(self.txn, schema, &name)?;
        let to_name = self.schema_name(schema);
        if self.catalog().type_named(schema, &name).is_some() {
            let message = format!("type \"{name}\" already exists in schema \"{to_name}\"");
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        let object = Address::of(Class::Type, ty.oid());
        self.retext(object, |text| text.moved(object, from, schema, &to_name))?;
        let array_name = self.choose_array_name(schema, &name)?;
        let user = self.user_type_to_change(ty)?;
        self.put(Entry::Type(Arc::new(UserType { schema, array_name, ..(*user).clone() })))
    }

    pub(super) fn schema_name(&self, schema: Oid) -> String {
        self.catalog().schema(schema).map_or_else(String::new, |schema| schema.name.to_string())
    }

    // --- owners ----------------------------------------------------------------------------------

    /// Gives an object to another role; with a table go its indexes and its columns' sequences.
    ///
    /// # Errors
    /// 42501 where the acting role may not become the other.
    pub fn set_owner(&mut self, object: Address, owner: Oid) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_no_member(object)?;
            ddl.check_owner(object)?;
            ddl.check_may_become(owner)?;
            ddl.rely_on(crate::catalog::Key::Role(owner))?;
            ddl.give(object, owner)
        })
    }

    /// Fails with 42501 where the acting role may not become another.
    pub(super) fn check_may_become(&self, role: Oid) -> Result<()> {
        if self.catalog().may_set_role(self.acting.role, role) {
            return Ok(());
        }
        let name = self.catalog().role(role).map_or("???", |role| &role.name);
        let message = format!("must be able to SET ROLE \"{name}\"");
        Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
    }

    pub(super) fn give(&mut self, object: Address, owner: Oid) -> Result<()> {
        let old = self.catalog().owner_of(object);
        let hand_on = |acl: &Option<Acl>| match (acl, old) {
            (Some(acl), Some(old)) => Some(acl.of_new_owner(old, owner)),
            _ => None,
        };
        let key = self.catalog().key_of(object);
        let Some(entry) = key.and_then(|key| self.catalog().entry(key)) else { return Ok(()) };
        match entry {
            Entry::Relation(relation) => {
                let oid = relation.oid;
                let acl = hand_on(&relation.acl);
                self.put_relation(Relation { owner, acl, ..(*relation).clone() })?;
                let indexes = self.catalog().table(oid).map(|table| table.indexes.clone());
                for index in indexes.into_iter().flatten() {
                    self.put_relation(Relation { owner, ..(*index).clone() })?;
                }
                for sequence in self.sequences_of(oid, None) {
                    self.give(Address::relation(sequence), owner)?;
                }
                Ok(())
            }
            Entry::Type(ty) => {
                let acl = hand_on(&ty.acl);
                self.put(Entry::Type(Arc::new(UserType { owner, acl, ..(*ty).clone() })))
            }
            Entry::Schema(schema) => {
                let acl = hand_on(&schema.acl);
                self.put(Entry::Schema(Arc::new(Schema { owner, acl, ..(*schema).clone() })))
            }
            Entry::Database(database) => {
                let acl = hand_on(&database.acl);
                let database = Database { owner, acl, ..(*database).clone() };
                self.put(Entry::Database(Arc::new(database)))
            }
            Entry::Collation(known) => {
                let collation = crate::catalog::Collation { owner, ..(*known).clone() };
                self.put(Entry::Collation(Arc::new(collation)))
            }
            Entry::Extension(extension) => {
                self.put(Entry::Extension(Arc::new(Extension { owner, ..(*extension).clone() })))
            }
            _ => Ok(()),
        }
    }

    // --- comments --------------------------------------------------------------------------------

    /// Says something about an object, or, without a text, nothing any more.
    ///
    /// # Errors
    /// 42501 where the object is not the role's.
    pub fn comment(&mut self, object: Address, text: Option<&str>) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_no_member(object)?;
            match object.class {
                Class::Role => ddl.check_may_alter_role(object.oid)?,
                _ => ddl.check_owner(object)?,
            }
            match text.filter(|text| !text.is_empty()) {
                Some(text) => {
                    let comment = Comment { object, text: text.into() };
                    ddl.put(Entry::Comment(Arc::new(comment)))
                }
                None => ddl.remove_comment(object),
            }
        })
    }
}

impl Entry {
    /// The entry with other texts; `None` if they are the same.
    fn retexted(&self, change: &dyn Fn(&SqlText) -> SqlText) -> Option<Entry> {
        let one = |text: &mut SqlText| *text = change(text);
        let entry = match self {
            Entry::Relation(relation) => {
                let mut relation = Relation::clone(relation);
                for column in &mut relation.columns {
                    if let Some(default) = &mut column.default {
                        one(&mut default.expr);
                    }
                }
                match &mut relation.kind {
                    RelationKind::View(view) => one(&mut view.query),
                    RelationKind::Index(index) => {
                        for key in &mut index.keys {
                            if let IndexPart::Expr(expr) = &mut key.part {
                                one(expr);
                            }
                        }
                        index.predicate.iter_mut().for_each(one);
                    }
                    RelationKind::Table(table) => {
                        table.materialized.iter_mut().for_each(|shown| one(&mut shown.query));
                    }
                    RelationKind::Sequence(_) | RelationKind::Composite => {}
                }
                Entry::Relation(Arc::new(relation))
            }
            Entry::Constraint(constraint) => {
                let mut constraint = Constraint::clone(constraint);
                if let ConstraintKind::Check { expr, .. } = &mut constraint.kind {
                    one(expr);
                }
                Entry::Constraint(Arc::new(constraint))
            }
            Entry::Policy(policy) => {
                let mut policy = Policy::clone(policy);
                policy.using.iter_mut().chain(&mut policy.check).for_each(one);
                Entry::Policy(Arc::new(policy))
            }
            Entry::Type(ty) => {
                let mut ty = UserType::clone(ty);
                if let UserTypeKind::Domain(domain) = &mut ty.kind {
                    domain.default.iter_mut().for_each(one);
                }
                Entry::Type(Arc::new(ty))
            }
            _ => return None,
        };
        (entry != *self).then_some(entry)
    }
}

impl Acl {
    /// The same where `new` has and gives what `old` had and gave.
    fn of_new_owner(&self, old: Oid, new: Oid) -> Acl {
        let mut acl = Acl::default();
        let other = |role| if role == old { new } else { role };
        for item in &self.0 {
            let (grantee, grantor) = (other(item.grantee), other(item.grantor));
            acl.grant(AclItem { grantee, grantor, ..*item });
        }
        acl.0.retain(|item| item.privileges != Privileges::NONE);
        acl
    }
}
