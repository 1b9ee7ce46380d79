//! Tables, views and composite types: making them, emptying tables, changing their options.

use std::sync::Arc;

use ::types::{Datum, Error as SqlError, Modifier, Oid, SqlState, Type, builtin};
use store::{Csn, Retention};

use super::index::in_columns_already;
use super::name::check_column_name;
use super::{
    Address, Catalog, Class, Ddl, NewConstraint, NewConstraintKind, Relation, RelationKind,
    Rewrite, SequenceOptions,
};
use crate::catalog::{
    CheckOption, Column, ColumnDefault, Identity, IndexMethod, OwnedBy, PartitionOf, Partitioning,
    Persistence, Privileges, RowSecurity, RowType, SqlText, TableData, View,
};
use crate::columnar::Columnar;
use crate::method::NewMethod;
use crate::{Error, Result};

/// Columns of a table at most.
pub(super) const COLUMNS_MAX: usize = 1_600;

/// A table to be made.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// The schema that it is put into.
    pub schema: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// How long it lives.
    pub persistence: Persistence,
    /// Its columns.
    pub columns: Vec<NewColumn>,
    /// Its constraints, in the order in which they were written.
    pub constraints: Vec<NewConstraint>,
    /// Storage parameters.
    pub options: Vec<(Arc<str>, Arc<str>)>,
    /// How much of its past is kept.
    pub history: Retention,
    /// How its rows are kept.
    pub method: NewMethod,
    /// How its rows are divided; it has no partitions yet.
    pub partitioning: Option<Partitioning>,
    /// The table of which it is a partition, and the rows that it has.
    pub partition_of: Option<PartitionOf>,
}

/// A column to be made. In its expressions, the relation with OID 0 is the table itself.
#[derive(Clone, Debug)]
pub struct NewColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// The modifier of the type.
    pub modifier: Modifier,
    /// The collation, where it is not that of the type.
    pub collation: Option<Oid>,
    /// True if NULL is refused.
    pub not_null: bool,
    /// The value where none is given.
    pub default: Option<SqlText>,
    /// True if `default` is the expression of `GENERATED ALWAYS AS (...) STORED`.
    pub is_generated: bool,
    /// `GENERATED ... AS IDENTITY`.
    pub identity: Option<NewIdentity>,
    /// For an added column: its value in the existing rows.
    pub missing: Option<Datum>,
}

/// `GENERATED ... AS IDENTITY`, to be made.
#[derive(Clone, Debug, Default)]
pub struct NewIdentity {
    /// True for `ALWAYS`.
    pub is_always: bool,
    /// The name of the sequence, where one was given.
    pub name: Option<Arc<str>>,
    /// How the sequence counts.
    pub options: SequenceOptions,
}

/// A view to be made.
#[derive(Clone, Debug)]
pub struct NewView {
    /// The schema that it is put into.
    pub schema: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// How long it lives.
    pub persistence: Persistence,
    /// Its columns.
    pub columns: Vec<NewColumn>,
    /// Its query, which gives as many columns of these types.
    pub query: SqlText,
    /// The condition for rows that are written through it.
    pub check: CheckOption,
    /// View options, such as `security_barrier`.
    pub options: Vec<(Arc<str>, Arc<str>)>,
}

impl NewColumn {
    /// A column of a type, with nothing more to it.
    pub fn new(name: &str, ty: Type) -> Self {
        NewColumn {
            name: name.into(),
            ty,
            modifier: Modifier::NONE,
            collation: None,
            not_null: false,
            default: None,
            is_generated: false,
            identity: None,
            missing: None,
        }
    }
}

impl SqlText {
    /// The same text, where the relation with OID 0 is `own`.
    pub(super) fn of_relation(mut self, own: Oid) -> SqlText {
        let bind = |object: &mut Address| {
            if object.oid == Oid::NONE {
                object.oid = own;
            }
        };
        self.names.iter_mut().for_each(|place| bind(&mut place.object));
        self.depends.iter_mut().for_each(bind);
        self
    }
}

impl Ddl<'_> {
    /// Makes a table with its constraints, and the sequences of its identity columns.
    ///
    /// # Errors
    /// 42P07 where the name is taken, and what is wrong with columns and constraints.
    pub fn create_table(&mut self, new: NewTable) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            ddl.schema_to_create_in(new.schema, &new.name)?;
            ddl.take_relation_name(new.schema, &new.name, true)?;
            let oid = ddl.new_oid()?;
            let mut columns = ddl.make_columns(oid, &new.columns)?;
            let partitioning = new.partitioning.map(|it| it.of_relation(oid));
            if partitioning.is_some() || new.partition_of.is_some() {
                ddl.check_partition_method(new.method.oid)?;
            }
            if let Some(partitioning) = &partitioning {
                ddl.rely_on_partition_keys(oid, partitioning)?;
            }
            let method = ddl.draft.cache().methods().get(new.method.oid)?;
            let mut keyed_by = match method.is_keyed(&new.method.options) && partitioning.is_none()
            {
                true => keyed_by(&columns, &new.constraints),
                false => Vec::new(),
            };
            // Rows lie in the order of bytes. An index has the order of a locale.
            let by_locale = |column: &Column| {
                keyed_by.contains(&column.attnum)
                    && ddl.catalog().locale_of(column.collation).is_some()
            };
            if !method.takes_late_key() && columns.iter().any(by_locale) {
                keyed_by.clear();
            }
            for column in &mut columns {
                column.not_null |= keyed_by.contains(&column.attnum);
            }
            let storage = ddl.new_storage()?;
            let table = TableData {
                storage,
                row_version: 1,
                keyed_by,
                history: new.history,
                forgotten: 0,
                method: ddl.draft.cache().methods().define(new.method, &columns, storage)?,
                materialized: None,
                row_security: RowSecurity::default(),
                partitioning,
                partition_of: new.partition_of.clone(),
            };
            let relation = Relation {
                oid,
                schema: new.schema,
                name: new.name.clone(),
                owner: ddl.acting.role,
                acl: ddl.initial_acl(new.schema, 'r', Class::Relation, Privileges::ALL_TABLE),
                persistence: new.persistence,
                row_type: Some(ddl.new_row_type(new.schema, &new.name)?),
                columns,
                options: new.options,
                kind: RelationKind::Table(table),
            };
            ddl.put_relation(relation)?;
            for (at, column) in new.columns.iter().enumerate() {
                if let Some(identity) = &column.identity {
                    ddl.make_identity(oid, at as i16 + 1, identity)?;
                }
            }
            if let Some(of) = &new.partition_of {
                ddl.enter_partition(of, oid)?;
            }
            for constraint in new.constraints {
                ddl.add_constraint(oid, constraint)?;
            }
            ddl.relation(oid)
        })
    }

    /// Makes a composite type with these columns.
    ///
    /// # Errors
    /// 42710 or 42P07 where the name is taken.
    pub fn create_composite_type(
        &mut self,
        schema: Oid,
        name: &str,
        columns: Vec<NewColumn>,
    ) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            ddl.schema_to_create_in(schema, name)?;
            ddl.take_type_name(schema, name)?;
            ddl.take_relation_name(schema, name, true)?;
            let oid = ddl.new_oid()?;
            let columns = ddl.make_columns(oid, &columns)?;
            let row_type = Some(ddl.new_row_type(schema, name)?);
            ddl.put_relation(Relation {
                oid,
                schema,
                name: name.into(),
                owner: ddl.acting.role,
                acl: None,
                persistence: Persistence::Permanent,
                row_type,
                columns,
                options: Vec::new(),
                kind: RelationKind::Composite,
            })
        })
    }

    /// Makes a view.
    ///
    /// # Errors
    /// 42P07 where the name is taken.
    pub fn create_view(&mut self, new: NewView) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            ddl.schema_to_create_in(new.schema, &new.name)?;
            ddl.take_relation_name(new.schema, &new.name, true)?;
            let oid = ddl.new_oid()?;
            let columns = ddl.make_columns(oid, &new.columns)?;
            ddl.rely_on_text(&new.query)?;
            let relation = Relation {
                oid,
                schema: new.schema,
                name: new.name.clone(),
                owner: ddl.acting.role,
                acl: ddl.initial_acl(new.schema, 'r', Class::Relation, Privileges::ALL_TABLE),
                persistence: new.persistence,
                row_type: Some(ddl.new_row_type(new.schema, &new.name)?),
                columns,
                options: new.options,
                kind: RelationKind::View(View { query: new.query, check: new.check }),
            };
            ddl.put_relation(relation)
        })
    }

    /// Gives a view another query, which has the columns of the one before and may have more behind
    /// them.
    ///
    /// # Errors
    /// 42P16 where columns are gone or are others than they were.
    pub fn replace_view(&mut self, view: Oid, new: NewView) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(view))?;
            let old = ddl.relation_to_change(view)?;
            if old.view().is_none() {
                let message = format!("\"{}\" is not a view", old.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            ddl.rely_on_text(&new.query)?;
            let mut columns = ddl.make_columns(view, &new.columns)?;
            ddl.check_same_columns(&old, &columns)?;
            for (column, old) in columns.iter_mut().zip(&old.columns) {
                column.default.clone_from(&old.default);
                column.acl.clone_from(&old.acl);
            }
            let kind = RelationKind::View(View { query: new.query, check: new.check });
            ddl.put_relation(Relation { columns, options: new.options, kind, ..(*old).clone() })
        })
    }

    fn check_same_columns(&self, old: &Relation, new: &[Column]) -> Result<()> {
        let invalid = |message: String| SqlError::new(SqlState::INVALID_TABLE_DEFINITION, message);
        if new.len() < old.columns.len() {
            return Err(invalid("cannot drop columns from view".to_owned()).into());
        }
        for (old, new) in old.columns.iter().zip(new) {
            if old.name != new.name {
                let message = format!(
                    "cannot change name of view column \"{}\" to \"{}\"",
                    old.name, new.name
                );
                let hint = "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column \
                            instead.";
                return Err(invalid(message).with_hint(hint).into());
            }
            if (old.ty, old.modifier) != (new.ty, new.modifier) {
                let name = |column: &Column| self.scope().type_name(column.ty, column.modifier);
                let message = format!(
                    "cannot change data type of view column \"{}\" from {} to {}",
                    old.name,
                    name(old),
                    name(new)
                );
                return Err(invalid(message).into());
            }
        }
        Ok(())
    }

    /// Empties tables: each, and each of its indexes, has an empty storage from now on. Where
    /// `restart` is set, so have the sequences that belong to their columns. All that refer to them by
    /// foreign keys must be among them.
    ///
    /// # Errors
    /// 0A000 where another table refers to one of them.
    pub fn truncate(&mut self, tables: &[Oid], restart: bool) -> Result<()> {
        self.whole(|ddl| {
            for oid in tables {
                // A role that may empty a partitioned table may empty its partitions.
                let above = ddl.catalog().partition_ancestors(*oid);
                if !above.iter().any(|table| tables.contains(table)) {
                    ddl.check_privilege(Address::relation(*oid), Privileges::TRUNCATE)?;
                }
                let table = ddl.table(*oid)?;
                let above = above.iter().filter_map(|oid| ddl.catalog().table(*oid));
                let referenced_by = above.flat_map(|above| above.referenced_by.clone());
                for constraint in table.referenced_by.iter().cloned().chain(referenced_by) {
                    let Some(other) = constraint.table().filter(|other| !tables.contains(other))
                    else {
                        continue;
                    };
                    let other = ddl.relation(other)?;
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                    let detail =
                        format!("Table \"{}\" references \"{}\".", other.name, table.relation.name);
                    let hint = format!(
                        "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                        other.name
                    );
                    return Err(error.with_detail(detail).with_hint(hint).into());
                }
            }
            for oid in tables {
                ddl.renew_storage(*oid)?;
                ddl.renew_method(*oid)?;
                if restart {
                    for sequence in ddl.sequences_of(*oid, None) {
                        ddl.renew_relation(sequence)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// The tables that `truncate` needs beside those given: all that refer to them, and so on.
    pub fn truncate_cascade(&self, tables: &[Oid]) -> Vec<Oid> {
        let mut all = tables.to_vec();
        let mut at = 0;
        while let Some(table) = all.get(at).and_then(|oid| self.catalog().table(*oid)) {
            at += 1;
            for other in table.referenced_by.iter().filter_map(|constraint| constraint.table()) {
                if !all.contains(&other) {
                    all.push(other);
                }
            }
        }
        all
    }

    /// Gives a table and its indexes new, empty storages.
    pub(super) fn renew_storage(&mut self, table: Oid) -> Result<()> {
        self.renew_relation(table)?;
        let indexes: Vec<Oid> = self.table(table)?.indexes.iter().map(|index| index.oid).collect();
        indexes.into_iter().try_for_each(|index| self.renew_relation(index))
    }

    /// Gives the access method of a table new, empty tables of the store, where it has any beside the rows.
    pub(super) fn renew_method(&mut self, table: Oid) -> Result<()> {
        let mut relation = Relation::clone(&*self.relation_to_change(table)?);
        let RelationKind::Table(data) = &mut relation.kind else { return Ok(()) };
        if data.method.storages.is_empty() {
            return Ok(());
        }
        let new = self.draft.cache().methods().get(data.method.oid)?.storages(data.storage);
        let old = std::mem::replace(&mut data.method.storages, new);
        self.retire(&relation, old)?;
        self.put_relation(relation).map(drop)
    }

    /// Gives a relation that has a storage a new, empty one.
    pub(super) fn renew_relation(&mut self, oid: Oid) -> Result<()> {
        let mut relation = Relation::clone(&*self.relation_to_change(oid)?);
        if relation.storage().is_none() {
            return Ok(());
        }
        self.retire(&relation, relation.storage())?;
        let new = self.new_storage()?;
        match &mut relation.kind {
            RelationKind::Table(table) => table.storage = new,
            RelationKind::Index(index) => (index.storage, index.is_whole) = (Some(new), true),
            RelationKind::Sequence(sequence) => sequence.storage = new,
            RelationKind::View(_) | RelationKind::Composite => {}
        }
        self.put_relation(relation).map(drop)
    }

    /// Requires the rows of a table to be written anew, keyed by its primary key where that has
    /// been asked for and can be. The keys of rows are others where the key is another one, or has
    /// other values, in the column that was `changed`.
    pub(super) fn rewrite(
        &mut self,
        table: Oid,
        keyed_by: Vec<i16>,
        changed: Option<i16>,
    ) -> Result<()> {
        let def = self.table(table)?;
        let Some(before) = def.relation.table() else { return Ok(()) };
        let same_keys =
            before.keyed_by == keyed_by && changed.is_none_or(|column| !keyed_by.contains(&column));
        let method = self.draft.cache().methods().get(before.method.oid)?;
        let stays = method.outlives_rewrite(same_keys);
        self.rewrite_as(table, |data| data.keyed_by = keyed_by)?;
        if stays { Ok(()) } else { self.renew_method(table) }
    }

    /// `SET ACCESS METHOD`: the rows of a table are written anew, unless it has the method.
    ///
    /// # Errors
    /// 42809 where it is no table, 42501 where the role is not the owner, 0A000 where the method cannot keep
    /// such a table.
    pub fn set_method(&mut self, table: Oid, method: NewMethod) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(table))?;
            let before = ddl.table(table)?;
            let relation = &before.relation;
            let Some(data) = relation.table().filter(|data| data.method.oid != method.oid) else {
                return Ok(());
            };
            let is_columnar = |index: &Arc<Relation>| {
                index.index().is_some_and(|index| index.method == IndexMethod::Columnar)
            };
            if method.oid == Columnar::OID && before.indexes.iter().any(is_columnar) {
                return Err(in_columns_already("Drop the columnar indexes of the table first."));
            }
            ddl.retire(relation, data.method.storages.iter().copied())?;
            let methods = ddl.draft.cache().methods();
            let new = methods.define(method, &relation.columns, data.storage)?;
            ddl.rewrite_as(table, |data| data.method = new)
        })
    }

    /// Changes parameters of the access method of a table, or takes them away where the value is `None`. All
    /// are parameters that the method [changes](crate::method::AccessMethod::changes).
    ///
    /// # Errors
    /// 42501 if the role is not the owner, and as [`crate::method::AccessMethod::define`].
    pub fn set_parameters(
        &mut self,
        table: Oid,
        changes: &[(Arc<str>, Option<Arc<str>>)],
    ) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(table))?;
            let mut relation = Relation::clone(&*ddl.relation_to_change(table)?);
            let Some(data) = relation.table() else { return Ok(()) };
            let method = ddl.draft.cache().methods().get(data.method.oid)?;
            let mut options = method.parameters(&relation, &data.method);
            for (name, value) in changes {
                options.retain(|(known, _)| known != name);
                options.extend(value.clone().map(|value| (name.clone(), value)));
            }
            let settings = method.define(&options, &relation.columns)?;
            if let RelationKind::Table(data) = &mut relation.kind {
                data.method.settings = settings;
            }
            ddl.put_relation(relation).map(drop)
        })
    }

    /// Requires the rows of a table to be written anew under hidden ids, or under the keys that
    /// they have. The primary key of rows that had their place by it is an index from then on.
    ///
    /// # Errors
    /// 42809 if it is no table, 42501 if the role is not the owner.
    pub fn rewrite_rows(&mut self, table: Oid, under_ids: bool) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(table))?;
            let def = ddl.table(table)?;
            let Some(data) = def.relation.table() else { return Ok(()) };
            let keyed_by = if under_ids { Vec::new() } else { data.keyed_by.clone() };
            ddl.rewrite(table, keyed_by, None)?;
            let is_table = |index: &&Arc<Relation>| index.storage().is_none();
            let Some(index) = def.indexes.iter().find(is_table).filter(|_| under_ids) else {
                return Ok(());
            };
            let mut index = Relation::clone(index);
            let storage = ddl.new_storage()?;
            if let RelationKind::Index(data) = &mut index.kind {
                (data.storage, data.is_whole) = (Some(storage), true);
            }
            ddl.put_relation(index).map(drop)
        })
    }

    /// Requires the rows of a table to be written anew, where and as `change` says.
    fn rewrite_as(&mut self, table: Oid, change: impl FnOnce(&mut TableData)) -> Result<()> {
        let before = self.table(table)?;
        let mut relation = Relation::clone(&before.relation);
        if let RelationKind::Table(data) = &mut relation.kind {
            change(data);
        }
        self.put_relation(relation)?;
        self.renew_storage(table)?;
        // Where one statement changes a table twice, its rows lie where they did before the first.
        if !self.rewrites.iter().any(|known| known.before.relation.oid == table) {
            self.rewrites.push(Rewrite { before });
        }
        Ok(())
    }

    /// Sets how much of a table's past is kept. Versions that were forgotten do not come back.
    ///
    /// # Errors
    /// 42809 where it is no table.
    pub fn set_history(&mut self, table: Oid, history: Retention) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(table))?;
            ddl.table(table)?;
            if history != Retention::Forever {
                ddl.erase_backfill(table)?;
            }
            let mut relation = Relation::clone(&*ddl.relation_to_change(table)?);
            if let RelationKind::Table(data) = &mut relation.kind {
                data.history = history;
            }
            ddl.put_relation(relation).map(drop)
        })
    }

    /// Forgets the past of a table before a commit.
    ///
    /// # Errors
    /// 42809 where it is no table, 42501 where the role is not the owner.
    pub fn forget(&mut self, table: Oid, before: Csn) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(table))?;
            ddl.erase_backfill(table)?;
            let def = ddl.table(table)?;
            let mut all: Vec<Oid> = def.indexes.iter().map(|index| index.oid).collect();
            all.push(table);
            let mut relation = Relation::clone(&*ddl.relation_to_change(table)?);
            if let RelationKind::Table(data) = &mut relation.kind {
                data.forgotten = data.forgotten.max(before.0);
            }
            for oid in all {
                ddl.draft.forget_past(ddl.txn, oid, before)?;
            }
            ddl.put_relation(relation).map(drop)
        })
    }

    /// Sets storage parameters, or takes them away where the value is none.
    ///
    /// # Errors
    /// 42501 where the role is not the owner.
    pub fn set_options(
        &mut self,
        relation: Oid,
        options: &[(Arc<str>, Option<Arc<str>>)],
    ) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(relation))?;
            let mut relation = Relation::clone(&*ddl.relation_to_change(relation)?);
            for (name, value) in options {
                relation.options.retain(|(known, _)| known != name);
                relation.options.extend(value.clone().map(|value| (name.clone(), value)));
            }
            ddl.put_relation(relation).map(drop)
        })
    }

    // --- columns and row types -------------------------------------------------------------------

    fn new_row_type(&mut self, schema: Oid, name: &str) -> Result<RowType> {
        let array_name = self.choose_array_name(schema, name)?;
        Ok(RowType { ty: Type(self.new_oid()?), array: Type(self.new_oid()?), array_name })
    }

    /// The columns of a relation that is to be made.
    fn make_columns(&mut self, relation: Oid, new: &[NewColumn]) -> Result<Vec<Column>> {
        if new.len() > COLUMNS_MAX {
            let message = format!("tables can have at most {COLUMNS_MAX} columns");
            return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        let mut columns: Vec<Column> = Vec::with_capacity(new.len());
        for new in new {
            if columns.iter().any(|column| column.name == new.name) {
                return Err(Error::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", new.name),
                ));
            }
            let attnum = columns.len() as i16 + 1;
            columns.push(self.make_column(relation, attnum, new)?);
        }
        Ok(columns)
    }

    /// A column of a relation. Its identity is made later, because that needs the relation.
    pub(super) fn make_column(
        &mut self,
        relation: Oid,
        attnum: i16,
        new: &NewColumn,
    ) -> Result<Column> {
        check_column_name(&new.name)?;
        self.check_column_type(relation, &new.name, new.ty)?;
        self.rely_on_type(new.ty)?;
        self.rely_on_collation(new.collation.unwrap_or_default())?;
        let default = match &new.default {
            Some(expr) => {
                let expr = expr.clone().of_relation(relation);
                self.rely_on_others(&expr, relation)?;
                let is_generated = new.is_generated;
                Some(ColumnDefault { oid: self.new_oid()?, expr, is_generated })
            }
            None => None,
        };
        Ok(Column {
            attnum,
            name: new.name.clone(),
            ty: new.ty,
            modifier: new.modifier,
            repr: self.repr_of(new.ty)?,
            collation: new.collation.unwrap_or_else(|| self.catalog().collation_of(new.ty)),
            not_null: new.not_null || new.identity.is_some(),
            is_dropped: false,
            default,
            identity: None,
            missing: new.missing.clone().filter(|value| !value.is_null()),
            acl: None,
        })
    }

    /// As [`Ddl::rely_on_text`], of what is not the relation itself.
    pub(super) fn rely_on_others(&mut self, text: &SqlText, own: Oid) -> Result<()> {
        let others = SqlText {
            depends: text.references().filter(|object| object.oid != own).collect(),
            ..SqlText::default()
        };
        self.rely_on_text(&others)
    }

    /// The type can be that of a column of the relation.
    pub(super) fn check_column_type(&self, relation: Oid, column: &str, ty: Type) -> Result<()> {
        let invalid = |message| Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        if let Some(facts) = builtin::facts(ty) {
            // A view may have columns of unknown type; nothing else may.
            if facts.is_pseudo() {
                return invalid(format!("column \"{column}\" has pseudo-type {}", facts.name));
            }
            return Ok(());
        }
        let catalog = self.catalog();
        if catalog.type_entry(ty).is_none() {
            let message = format!("type with OID {} does not exist", ty.oid());
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
        if catalog.is_made_of(ty, relation) {
            let name = catalog.relation(relation).map_or("", |relation| &relation.name);
            return invalid(format!("composite type {name} cannot be made a member of itself"));
        }
        Ok(())
    }

    /// Makes the sequence of an identity column, and the column one.
    pub(super) fn make_identity(
        &mut self,
        table: Oid,
        attnum: i16,
        new: &NewIdentity,
    ) -> Result<()> {
        let mut relation = Relation::clone(&*self.relation(table)?);
        let Some(column) = relation.column(attnum).cloned() else {
            return Err(super::no_column("?", &relation.name));
        };
        let takes = [Type::INT2, Type::INT4, Type::INT8];
        if !takes.contains(&column.ty) {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let name = match &new.name {
            Some(name) => name.clone(),
            None => {
                let (schema, of) = (relation.schema, Some(&*column.name));
                self.choose_relation_name(schema, &relation.name, of, "seq").into()
            }
        };
        let mut options = new.options.clone();
        options.data_type.get_or_insert(column.ty);
        let owner = OwnedBy { table, attnum, is_identity: true };
        let sequence = self.make_sequence(
            relation.schema,
            &name,
            relation.persistence,
            &options,
            Some(owner),
        )?;
        let column = &mut relation.columns[attnum as usize - 1];
        column.identity = Some(Identity { sequence: sequence.oid, is_always: new.is_always });
        column.not_null = true;
        self.put_relation(relation).map(drop)
    }

    /// The sequences that belong to a table, or to one of its columns.
    pub(super) fn sequences_of(&self, table: Oid, attnum: Option<i16>) -> Vec<Oid> {
        let catalog = self.catalog();
        let mut sequences: Vec<Oid> = catalog
            .dependents(table)
            .iter()
            .filter(|reference| attnum.is_none_or(|attnum| reference.to.sub == attnum))
            .filter_map(|reference| catalog.relation(reference.from.oid))
            .filter(|relation| {
                relation.sequence().is_some_and(|sequence| {
                    sequence.owned_by.is_some_and(|owner| owner.table == table)
                })
            })
            .map(|relation| relation.oid)
            .collect();
        sequences.sort_unstable();
        sequences.dedup();
        sequences
    }
}

/// The columns by which the rows of a new table are keyed: those of its primary key, unless that is
/// checked later than at once, because two rows may have equal keys until then, or is
/// `WITHOUT OVERLAPS`, because equal keys are not all that is searched for.
fn keyed_by(columns: &[Column], constraints: &[NewConstraint]) -> Vec<i16> {
    let primary = constraints.iter().find_map(|constraint| match &constraint.kind {
        NewConstraintKind::Key { columns, is_primary: true, overlaps, .. } => {
            (!constraint.is_deferrable && overlaps.is_empty()).then_some(columns)
        }
        _ => None,
    });
    let number = |name: &Arc<str>| {
        columns.iter().find(|column| column.name == *name).map(|column| column.attnum)
    };
    // A name that is not there is found where the constraint is made.
    primary.and_then(|names| names.iter().map(number).collect()).unwrap_or_default()
}

impl Catalog {
    /// The collation of a type's values; none for types that have none.
    pub fn collation_of(&self, ty: Type) -> Oid {
        match builtin::facts(ty) {
            Some(facts) => facts.collation(),
            None => match self.user_type(ty).map(|user| &user.kind) {
                Some(crate::catalog::UserTypeKind::Domain(domain)) => domain.collation,
                _ => Oid::NONE,
            },
        }
    }

    /// True if values of a type have rows of the relation in them.
    fn is_made_of(&self, ty: Type, relation: Oid) -> bool {
        use crate::catalog::{TypeEntry, UserTypeKind};
        match self.type_entry(ty) {
            None => false,
            Some(TypeEntry::UserArray(of)) => self.is_made_of(of.ty, relation),
            Some(TypeEntry::User(of)) => match &of.kind {
                UserTypeKind::Domain(domain) => self.is_made_of(domain.base, relation),
                UserTypeKind::Range(range) => self.is_made_of(range.element, relation),
                UserTypeKind::Multirange(range) => self.is_made_of(*range, relation),
                UserTypeKind::Enum(_) => false,
            },
            Some(TypeEntry::Row(of) | TypeEntry::RowArray(of)) => {
                of.oid == relation
                    || of.live_columns().any(|column| self.is_made_of(column.ty, relation))
            }
        }
    }
}
