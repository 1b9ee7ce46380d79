//! Constraints of tables: checks, keys with their indexes, foreign keys.

use std::sync::Arc;

use ::types::{Error as SqlError, Modifier, Oid, SqlState};

use super::index::{IndexRole, NewIndex, NewIndexKey};
use super::name::choose;
use super::{Address, Class, Ddl, Entry, Relation, RelationKind, TableDef};
use crate::catalog::{
    Action, Constraint, ConstraintKind, ConstraintOn, ForeignKey, Index, IndexMethod, Key,
    MatchType, Persistence, Privileges, SqlText,
};
use crate::foreign::may_refer;
use crate::{Error, Result};

/// A constraint to be made.
#[derive(Clone, Debug)]
pub struct NewConstraint {
    /// Its name; one is chosen where there is none.
    pub name: Option<Arc<str>>,
    /// The rule that it enforces.
    pub kind: NewConstraintKind,
    /// `DEFERRABLE`.
    pub is_deferrable: bool,
    /// `INITIALLY DEFERRED`.
    pub is_deferred: bool,
    /// False for `NOT VALID`.
    pub is_validated: bool,
    /// The constraint of the partitioned table that it is a part of.
    pub partition_of: Option<Oid>,
}

/// The rule that a new constraint enforces.
#[derive(Clone, Debug)]
pub enum NewConstraintKind {
    /// `CHECK`. The relation with OID 0 is the table.
    Check(SqlText),
    /// `PRIMARY KEY` or `UNIQUE`.
    Key {
        /// The columns.
        columns: Vec<Arc<str>>,
        /// Columns whose values are kept beside.
        include: Vec<Arc<str>>,
        /// True for `PRIMARY KEY`.
        is_primary: bool,
        /// False for `NULLS NOT DISTINCT`.
        nulls_distinct: bool,
        /// Storage parameters of the index.
        options: Vec<(Arc<str>, Arc<str>)>,
        /// `WITHOUT OVERLAPS`: the operators that rows with equal keys are found by, `&&` the last of them.
        /// Empty for any other key.
        overlaps: Vec<Oid>,
    },
    /// `EXCLUDE`: the index, with the operators that rows exclude each other by.
    Exclude(Box<NewIndex>),
    /// `PRIMARY KEY` or `UNIQUE` `USING INDEX`.
    UsingIndex {
        /// The index.
        index: Oid,
        /// True for `PRIMARY KEY`.
        is_primary: bool,
    },
    /// `FOREIGN KEY`.
    Foreign {
        /// The columns that refer.
        columns: Vec<Arc<str>>,
        /// The table that they refer to; 0 for the table itself.
        references: Oid,
        /// The columns of that table; empty for its primary key.
        referenced: Vec<Arc<str>>,
        /// When NULLs are let through.
        match_type: MatchType,
        /// The action when the key that is referred to changes.
        on_update: Action,
        /// The action when the row that is referred to is deleted.
        on_delete: Action,
        /// The columns that `ON DELETE SET ...` sets; empty for all.
        on_delete_columns: Vec<Arc<str>>,
        /// `PERIOD`: the last column is a range.
        is_period: bool,
    },
}

impl NewConstraint {
    /// A constraint without a name that is checked at once.
    pub fn new(kind: NewConstraintKind) -> Self {
        NewConstraint {
            name: None,
            kind,
            is_deferrable: false,
            is_deferred: false,
            is_validated: true,
            partition_of: None,
        }
    }
}

impl Ddl<'_> {
    /// Makes a constraint on a table. Whether the rows that are there meet it is for the caller to see
    /// to, and to fill the index of a key.
    ///
    /// # Errors
    /// 42710 where the name is taken, and PostgreSQL's where it cannot be.
    pub fn add_constraint(&mut self, table: Oid, new: NewConstraint) -> Result<Arc<Constraint>> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(table))?;
            let relation = ddl.relation_to_change(table)?;
            ddl.check_kind(&relation, "ADD CONSTRAINT", [false, false])?;
            let def = ddl.table(table)?;
            if let Some(name) = &new.name {
                ddl.check_constraint_name(&def, name)?;
            }
            let oid = ddl.new_oid()?;
            let NewConstraint {
                name,
                kind,
                is_deferrable,
                is_deferred,
                is_validated,
                partition_of,
            } = new;
            let (name, kind) = match kind {
                NewConstraintKind::Check(expr) => ddl.make_check(&def, name, expr)?,
                NewConstraintKind::Key { .. } => {
                    ddl.make_key_constraint(&def, oid, name, kind, is_deferrable)?
                }
                NewConstraintKind::Exclude(index) => {
                    ddl.make_exclusion(table, oid, name, *index, is_deferrable)?
                }
                NewConstraintKind::UsingIndex { index, is_primary } => {
                    ddl.take_index(&def, oid, name, index, is_primary, is_deferrable)?
                }
                NewConstraintKind::Foreign { .. } => ddl.make_foreign(&def, name, kind)?,
            };
            let constraint = Arc::new(Constraint {
                oid,
                name,
                on: ConstraintOn::Table(table),
                is_deferrable,
                is_deferred,
                is_validated,
                kind,
                partition_of,
            });
            ddl.put(Entry::Constraint(constraint.clone()))?;
            ddl.link_key(&constraint)?;
            Ok(constraint)
        })
    }

    /// All rows meet the constraint.
    ///
    /// # Errors
    /// 42704 where there is none.
    pub fn validate_constraint(&mut self, constraint: Oid) -> Result<()> {
        self.change_constraint(constraint, |constraint| {
            constraint.is_validated = true;
            Ok(())
        })
    }

    /// Sets when a foreign key may be checked.
    ///
    /// # Errors
    /// 42809 where it is no foreign key.
    pub fn set_deferrable(
        &mut self,
        constraint: Oid,
        is_deferrable: bool,
        is_deferred: bool,
    ) -> Result<()> {
        self.change_constraint(constraint, |constraint| {
            if constraint.foreign_key().is_none() {
                let name = &constraint.name;
                let message = format!("constraint \"{name}\" is not a foreign key constraint");
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            (constraint.is_deferrable, constraint.is_deferred) = (is_deferrable, is_deferred);
            Ok(())
        })
    }

    pub(super) fn change_constraint(
        &mut self,
        oid: Oid,
        change: impl FnOnce(&mut Constraint) -> Result<()>,
    ) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::of(Class::Constraint, oid))?;
            ddl.draft.lock(ddl.txn, Key::Constraint(oid), txn::RowLock::NoKeyUpdate)?;
            let Some(constraint) = ddl.catalog().constraint(oid) else {
                let message = format!("constraint {oid} does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            };
            let mut constraint = Constraint::clone(constraint);
            change(&mut constraint)?;
            ddl.put(Entry::Constraint(Arc::new(constraint)))
        })
    }

    pub(super) fn check_constraint_name(&self, table: &TableDef, name: &str) -> Result<()> {
        if table.constraints.iter().all(|known| *known.name != *name) {
            return Ok(());
        }
        let table = &table.relation.name;
        let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
        Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
    }

    fn choose_constraint_name(
        &self,
        table: &TableDef,
        columns: Option<&str>,
        label: &str,
    ) -> Arc<str> {
        let is_free = |name: &str| table.constraints.iter().all(|known| *known.name != *name);
        choose(&table.relation.name, columns, label, is_free).into()
    }

    fn make_check(
        &mut self,
        table: &TableDef,
        name: Option<Arc<str>>,
        expr: SqlText,
    ) -> Result<(Arc<str>, ConstraintKind)> {
        let own = table.relation.oid;
        let expr = expr.of_relation(own);
        self.rely_on_others(&expr, own)?;
        let mut columns: Vec<i16> = expr
            .references()
            .filter(|object| object.class == Class::Relation && object.oid == own && object.sub > 0)
            .map(|object| object.sub)
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let only = match columns[..] {
            [only] => table.relation.column(only).map(|column| &*column.name),
            _ => None,
        };
        let name = name.unwrap_or_else(|| self.choose_constraint_name(table, only, "check"));
        Ok((name, ConstraintKind::Check { expr, columns }))
    }

    fn make_key_constraint(
        &mut self,
        table: &TableDef,
        constraint: Oid,
        name: Option<Arc<str>>,
        kind: NewConstraintKind,
        is_deferrable: bool,
    ) -> Result<(Arc<str>, ConstraintKind)> {
        let NewConstraintKind::Key {
            columns,
            include,
            is_primary,
            nulls_distinct,
            options,
            overlaps,
        } = kind
        else {
            unreachable!("called for keys");
        };
        self.check_only_primary(table, is_primary)?;
        let is_period = !overlaps.is_empty();
        let relation = &table.relation;
        let mut numbers: Vec<i16> = Vec::with_capacity(columns.len());
        for name in &columns {
            let Some(column) = relation.column_named(name) else {
                let message = format!("column \"{name}\" named in key does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            };
            if numbers.contains(&column.attnum) {
                let kind = if is_primary { "primary key" } else { "unique" };
                let message = format!("column \"{name}\" appears twice in {kind} constraint");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
            numbers.push(column.attnum);
        }
        if is_primary {
            self.set_columns_not_null(relation.oid, &numbers)?;
            if let Some(data) = relation.table().filter(|data| data.keyed_by.is_empty())
                && !is_deferrable
                && !is_period
                && data.partitioning.is_none()
                && self.draft.cache().methods().get(data.method.oid)?.takes_late_key()
            {
                self.rewrite(relation.oid, numbers.clone(), None)?;
            }
        }
        let index = NewIndex {
            name,
            method: if is_period { IndexMethod::Gist } else { IndexMethod::Btree },
            keys: numbers.iter().map(|attnum| NewIndexKey::column(*attnum)).collect(),
            include,
            predicate: None,
            is_unique: !is_period,
            nulls_distinct,
            is_valid: true,
            options,
            excludes: overlaps,
            partition_of: None,
        };
        let constraint = Some(constraint);
        let role = IndexRole { constraint, is_primary, is_deferrable, is_period };
        let index = self.make_index(relation.oid, index, role)?;
        let columns = numbers;
        let kind = ConstraintKind::Key { index: index.oid, columns, is_primary, is_period };
        Ok((index.name.clone(), kind))
    }

    fn make_exclusion(
        &mut self,
        table: Oid,
        constraint: Oid,
        name: Option<Arc<str>>,
        index: NewIndex,
        is_deferrable: bool,
    ) -> Result<(Arc<str>, ConstraintKind)> {
        let constraint = Some(constraint);
        let role = IndexRole { constraint, is_deferrable, ..IndexRole::default() };
        let index = self.make_index(table, NewIndex { name, ..index }, role)?;
        let keys = index.index().map(|index| &index.keys[..]).unwrap_or_default();
        let columns = keys.iter().map(|key| key.column().unwrap_or(0)).collect();
        let kind = ConstraintKind::Exclude { index: index.oid, columns };
        Ok((index.name.clone(), kind))
    }

    fn take_index(
        &mut self,
        table: &TableDef,
        constraint: Oid,
        name: Option<Arc<str>>,
        index: Oid,
        is_primary: bool,
        is_deferrable: bool,
    ) -> Result<(Arc<str>, ConstraintKind)> {
        self.check_only_primary(table, is_primary)?;
        let mut relation = Relation::clone(&*self.relation_to_change(index)?);
        let old_name = relation.name.clone();
        let refuse = |what: String| Err(Error::new(SqlState::WRONG_OBJECT_TYPE, what));
        let RelationKind::Index(data) = &mut relation.kind else {
            return refuse(format!("\"{old_name}\" is not an index"));
        };
        if data.table != table.relation.oid {
            let table = &table.relation.name;
            return Err(Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("index \"{old_name}\" does not belong to table \"{table}\""),
            ));
        }
        if data.constraint.is_some() {
            return Err(Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("index \"{old_name}\" is already associated with a constraint"),
            ));
        }
        if !data.is_unique {
            return refuse(format!("\"{old_name}\" is not a unique index"));
        }
        if data.predicate.is_some() {
            return refuse(format!("\"{old_name}\" is a partial index"));
        }
        let columns: Option<Vec<i16>> = data.keys.iter().map(|key| key.column()).collect();
        let Some(columns) = columns else {
            return refuse(format!("index \"{old_name}\" contains expressions"));
        };
        data.constraint = Some(constraint);
        data.is_primary = is_primary;
        data.is_immediate = !is_deferrable;
        if let Some(name) = name.filter(|name| *name != old_name) {
            self.take_relation_name(relation.schema, &name, false)?;
            relation.name = name;
        }
        let name = relation.name.clone();
        self.put_relation(relation)?;
        if is_deferrable {
            // Entries of an index that is checked later have the key of the row in theirs.
            self.renew_relation(index)?;
        }
        if is_primary {
            self.set_columns_not_null(table.relation.oid, &columns)?;
        }
        Ok((name, ConstraintKind::Key { index, columns, is_primary, is_period: false }))
    }

    fn check_only_primary(&self, table: &TableDef, is_primary: bool) -> Result<()> {
        let has = table.constraints.iter().any(|known| known.kind_letter() == 'p');
        if has && is_primary {
            let table = &table.relation.name;
            let message = format!("multiple primary keys for table \"{table}\" are not allowed");
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        Ok(())
    }

    fn set_columns_not_null(&mut self, table: Oid, columns: &[i16]) -> Result<()> {
        let relation = self.relation(table)?;
        let nullable = |attnum: &i16| relation.column(*attnum).is_some_and(|c| !c.not_null);
        if !columns.iter().any(nullable) {
            return Ok(());
        }
        let mut relation = Relation::clone(&relation);
        for attnum in columns {
            relation.columns[*attnum as usize - 1].not_null = true;
        }
        self.put_relation(relation).map(drop)
    }

    fn make_foreign(
        &mut self,
        table: &TableDef,
        name: Option<Arc<str>>,
        kind: NewConstraintKind,
    ) -> Result<(Arc<str>, ConstraintKind)> {
        let NewConstraintKind::Foreign {
            columns,
            references,
            referenced,
            match_type,
            on_update,
            on_delete,
            on_delete_columns,
            is_period,
        } = kind
        else {
            unreachable!("called for foreign keys");
        };
        let own = table.relation.clone();
        let references = if references == Oid::NONE { own.oid } else { references };
        self.rely_on(Key::Relation(references))?;
        let target = self.referenced_table(references)?;
        self.check_persistence(&own, &target.relation)?;
        let numbers = numbers_in_key(&own, &columns)?;
        let (referenced, index) = match is_period {
            true => self.referenced_period(&target, &referenced)?,
            false => self.referenced_key(&target, &referenced)?,
        };
        if is_period {
            check_period_actions(on_update, on_delete)?;
        }
        if numbers.len() != referenced.len() {
            return Err(Error::new(
                SqlState::INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        self.rely_on(Key::Relation(index))?;
        let joined = columns.iter().map(|name| &**name).collect::<Vec<_>>().join("_");
        let name =
            name.unwrap_or_else(|| self.choose_constraint_name(table, Some(&joined), "fkey"));
        self.check_key_types(&name, (&own, &numbers), (&target.relation, &referenced))?;
        let on_delete_columns = numbers_in_key(&own, &on_delete_columns)?;
        for attnum in &on_delete_columns {
            if !numbers.contains(attnum) {
                let column = own.column(*attnum).map_or("", |column| &column.name);
                let message = format!(
                    "column \"{column}\" referenced in ON DELETE SET action must be part of \
                     foreign key"
                );
                return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
            }
        }
        self.check_generated(&own, &numbers, on_update, on_delete)?;
        let key = ForeignKey {
            columns: numbers,
            references,
            referenced,
            index,
            match_type,
            on_update,
            on_delete,
            on_delete_columns,
            is_period,
        };
        Ok((name, ConstraintKind::Foreign(key)))
    }

    fn referenced_table(&self, oid: Oid) -> Result<Arc<TableDef>> {
        if let Some(table) = self.catalog().table(oid) {
            self.check_privilege(Address::relation(oid), Privileges::REFERENCES)?;
            return Ok(table.clone());
        }
        let name = self.relation(oid)?.name.clone();
        let message = format!("referenced relation \"{name}\" is not a table");
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
    }

    fn check_persistence(&self, own: &Relation, target: &Relation) -> Result<()> {
        let (own, target) = (own.persistence, target.persistence);
        let message = match (own, target) {
            (Persistence::Permanent, Persistence::Unlogged | Persistence::Temporary) => {
                "constraints on permanent tables may reference only permanent tables"
            }
            (Persistence::Unlogged, Persistence::Temporary) => {
                "constraints on unlogged tables may reference only permanent or unlogged tables"
            }
            (Persistence::Temporary, Persistence::Permanent | Persistence::Unlogged) => {
                "constraints on temporary tables may reference only temporary tables"
            }
            _ => return Ok(()),
        };
        Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
    }

    /// The indexes of partitions know how texts are equal, that of their table does not.
    fn refuse_classes(&self, target: &TableDef, index: &Index) -> Result<()> {
        if target.relation.partitioning().is_none() {
            return Ok(());
        }
        let columns = index.keys.iter().filter_map(|key| target.relation.column(key.column()?));
        for column in columns {
            let is_by_class =
                |collation| self.catalog().locale_of(collation).is_some_and(|(_, same)| !same);
            if is_by_class(column.collation) {
                return Err(super::not_supported(format!(
                    "a foreign key to column \"{}\" of the partitioned table \"{}\", which has a \
                     nondeterministic collation",
                    column.name, target.relation.name
                )));
            }
        }
        Ok(())
    }

    /// The columns of the table that are referred to, and the unique index over them.
    fn referenced_key(&self, target: &TableDef, names: &[Arc<str>]) -> Result<(Vec<i16>, Oid)> {
        let table = &target.relation.name;
        let mut indexes =
            target.indexes.iter().filter_map(|index| Some((index.oid, index.index()?)));
        if names.is_empty() {
            let primary = indexes.find(|(_, index)| index.is_primary);
            if primary.as_ref().is_some_and(|(_, index)| !index.excludes.is_empty()) {
                return Err(Error::new(
                    SqlState::INVALID_FOREIGN_KEY,
                    "foreign key must use PERIOD when referencing a primary key using WITHOUT \
                     OVERLAPS",
                ));
            }
            let Some((oid, index)) = primary else {
                let message = format!("there is no primary key for referenced table \"{table}\"");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            };
            if !index.is_immediate {
                let message =
                    format!("cannot use a deferrable primary key for referenced table \"{table}\"");
                return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
            }
            self.refuse_classes(target, index)?;
            return Ok((index.keys.iter().filter_map(|key| key.column()).collect(), oid));
        }
        let numbers = numbers_in_key(&target.relation, names)?;
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::new(
                SqlState::INVALID_FOREIGN_KEY,
                "foreign key referenced-columns list must not contain duplicates",
            ));
        }
        let mut is_deferrable = false;
        for (oid, index) in indexes {
            let mut columns: Vec<i16> = index.keys.iter().filter_map(|key| key.column()).collect();
            columns.sort_unstable();
            let serves = index.is_unique && index.predicate.is_none() && index.is_valid;
            if serves && columns == sorted && columns.len() == index.keys.len() {
                if index.is_immediate {
                    self.refuse_classes(target, index)?;
                    return Ok((numbers, oid));
                }
                is_deferrable = true;
            }
        }
        let message =
            format!("cannot use a deferrable unique constraint for referenced table \"{table}\"");
        if is_deferrable {
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        Err(Error::new(
            SqlState::INVALID_FOREIGN_KEY,
            format!(
                "there is no unique constraint matching given keys for referenced table \"{table}\""
            ),
        ))
    }

    /// The columns of the table that are referred to with `PERIOD`, and the index of its key
    /// `WITHOUT OVERLAPS` over those columns.
    fn referenced_period(&self, target: &TableDef, names: &[Arc<str>]) -> Result<(Vec<i16>, Oid)> {
        let wanted = numbers_in_key(&target.relation, names)?;
        let mut is_deferrable = false;
        for constraint in &target.constraints {
            let ConstraintKind::Key { index, columns, is_primary, is_period } = &constraint.kind
            else {
                continue;
            };
            if names.is_empty() && *is_primary && !is_period {
                return Err(Error::new(
                    SqlState::INVALID_FOREIGN_KEY,
                    "foreign key uses PERIOD on the referencing table but not the referenced table",
                ));
            }
            let has_all = wanted.iter().all(|attnum| columns.contains(attnum));
            let is_same =
                has_all && wanted.len() == columns.len() && wanted.last() == columns.last();
            if *is_period && (is_same || names.is_empty() && *is_primary) {
                if !constraint.is_deferrable {
                    let columns = if names.is_empty() { columns.clone() } else { wanted };
                    return Ok((columns, *index));
                }
                is_deferrable = true;
            }
        }
        let table = &target.relation.name;
        let (state, message) = match (is_deferrable, names.is_empty()) {
            (true, _) => (
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "cannot use a deferrable unique constraint for referenced table \"{table}\""
                ),
            ),
            (_, true) => (
                SqlState::UNDEFINED_OBJECT,
                format!("there is no primary key for referenced table \"{table}\""),
            ),
            _ => (
                SqlState::INVALID_FOREIGN_KEY,
                format!(
                    "there is no unique constraint matching given keys for referenced table \
                     \"{table}\""
                ),
            ),
        };
        Err(Error::new(state, message))
    }

    /// Checks that the foreign keys over columns of a table, whose types have changed, and those
    /// that refer to them can be.
    ///
    /// # Errors
    /// 42804 where the types cannot be compared any more.
    pub fn check_foreign_types(&self, table: Oid, columns: &[i16]) -> Result<()> {
        let def = self.table(table)?;
        let has = |list: &[i16]| list.iter().any(|column| columns.contains(column));
        for constraint in def.constraints.iter().chain(&def.referenced_by) {
            let Some(key) = constraint.foreign_key() else { continue };
            let (Some(from), to) = (constraint.table(), key.references) else { continue };
            let is_changed =
                from == table && has(&key.columns) || to == table && has(&key.referenced);
            if is_changed {
                let (own, target) = (self.relation(from)?, self.relation(to)?);
                let pair = ((&*own, &key.columns[..]), (&*target, &key.referenced[..]));
                self.check_key_types(&constraint.name, pair.0, pair.1)?;
            }
        }
        Ok(())
    }

    fn check_key_types(
        &self,
        constraint: &str,
        (own, columns): (&Relation, &[i16]),
        (target, referenced): (&Relation, &[i16]),
    ) -> Result<()> {
        for (from, to) in columns.iter().zip(referenced) {
            let (Some(from), Some(to)) = (own.column(*from), target.column(*to)) else { continue };
            let base = |ty| self.catalog().base_type(ty, Modifier::NONE).0;
            if may_refer(base(from.ty), base(to.ty)) {
                continue;
            }
            let name = |ty| self.scope().type_name(ty, Modifier::NONE);
            let message = format!("foreign key constraint \"{constraint}\" cannot be implemented");
            let detail = format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                from.name,
                to.name,
                name(from.ty),
                name(to.ty)
            );
            let error = SqlError::new(SqlState::DATATYPE_MISMATCH, message);
            return Err(error.with_detail(detail).into());
        }
        Ok(())
    }

    fn check_generated(
        &self,
        own: &Relation,
        columns: &[i16],
        on_update: Action,
        on_delete: Action,
    ) -> Result<()> {
        let is_generated = |attnum: &i16| {
            let default = own.column(*attnum).and_then(|column| column.default.as_ref());
            default.is_some_and(|default| default.is_generated)
        };
        if !columns.iter().any(is_generated) {
            return Ok(());
        }
        let sets = [Action::SetNull, Action::SetDefault];
        let invalid = |event: &str| {
            let message = format!(
                "invalid {event} action for foreign key constraint containing generated column"
            );
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        };
        if sets.contains(&on_update) || on_update == Action::Cascade {
            return invalid("ON UPDATE");
        }
        if sets.contains(&on_delete) { invalid("ON DELETE") } else { Ok(()) }
    }
}

/// 0A000 for what a foreign key with `PERIOD` cannot do.
fn check_period_actions(on_update: Action, on_delete: Action) -> Result<()> {
    for (action, event) in [(on_update, "UPDATE"), (on_delete, "DELETE")] {
        if action != Action::NoAction {
            let message =
                format!("unsupported ON {event} action for foreign key constraint using PERIOD");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
    }
    Ok(())
}

/// The numbers of columns that a foreign key names.
fn numbers_in_key(relation: &Relation, names: &[Arc<str>]) -> Result<Vec<i16>> {
    let number = |name: &Arc<str>| match relation.column_named(name) {
        Some(column) => Ok(column.attnum),
        None => {
            let message =
                format!("column \"{name}\" referenced in foreign key constraint does not exist");
            Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
        }
    };
    names.iter().map(number).collect()
}
