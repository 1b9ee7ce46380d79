//! Columns of tables: adding them, and changing what they are.

use ::types::{Datum, Error as SqlError, Modifier, Oid, SqlState, Type};

use super::table::COLUMNS_MAX;
use super::{Address, Class, Ddl, NewColumn, NewIdentity, Relation, RelationKind, no_column};
use crate::catalog::{Column, ColumnDefault, IndexKey, IndexPart, Key, SqlText};
use crate::{Error, Result};

/// A change of a column.
#[derive(Clone, Debug)]
pub enum ColumnChange {
    /// `TYPE`: the column has values of another type.
    Type {
        /// The type.
        ty: Type,
        /// Its modifier.
        modifier: Modifier,
        /// The collation, where it is not that of the type.
        collation: Option<Oid>,
        /// The default, as a value of that type; none if there was none.
        default: Option<SqlText>,
        /// True if the values that are there are not yet as the new type has them.
        rewrite: bool,
    },
    /// `SET NOT NULL`, where no row has NULL, or `DROP NOT NULL`.
    NotNull(bool),
    /// `SET DEFAULT` or `DROP DEFAULT`.
    Default(Option<SqlText>),
    /// `SET EXPRESSION`, where all rows are written anew.
    Expression(SqlText),
    /// `DROP EXPRESSION`: the values stay, and are no longer generated.
    DropExpression,
    /// `ADD GENERATED ... AS IDENTITY`.
    AddIdentity(NewIdentity),
    /// `SET GENERATED`: true for `ALWAYS`.
    Identity(bool),
    /// `DROP IDENTITY`.
    DropIdentity,
}

impl ColumnChange {
    /// Returns the name of the change, and whether views and composite types allow it.
    fn action(&self) -> (&'static str, [bool; 2]) {
        match self {
            ColumnChange::Type { .. } => ("ALTER COLUMN ... SET DATA TYPE", [false, true]),
            ColumnChange::NotNull(true) => ("ALTER COLUMN ... SET NOT NULL", [false, false]),
            ColumnChange::NotNull(false) => ("ALTER COLUMN ... DROP NOT NULL", [false, false]),
            ColumnChange::Default(_) => ("ALTER COLUMN ... SET DEFAULT", [true, false]),
            ColumnChange::Expression(_) => ("ALTER COLUMN ... SET EXPRESSION", [false, false]),
            ColumnChange::DropExpression => ("ALTER COLUMN ... DROP EXPRESSION", [false, false]),
            ColumnChange::AddIdentity(_) => ("ALTER COLUMN ... ADD IDENTITY", [false, false]),
            ColumnChange::Identity(_) => ("ALTER COLUMN ... SET", [false, false]),
            ColumnChange::DropIdentity => ("ALTER COLUMN ... DROP IDENTITY", [false, false]),
        }
    }
}

impl Ddl<'_> {
    /// Adds a column to a table or a composite type. Rows that are there have `missing` of it as their
    /// value; where that is not one value for all (`rewrite`), they are written anew.
    ///
    /// # Errors
    /// 42701 where there is a column of that name.
    pub fn add_column(&mut self, relation: Oid, new: NewColumn, rewrite: bool) -> Result<i16> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(relation))?;
            let mut changed = Relation::clone(&*ddl.relation_to_change(relation)?);
            ddl.check_kind(&changed, "ADD COLUMN", [false, true])?;
            if rewrite || new.missing.as_ref().is_some_and(|missing| !missing.is_null()) {
                ddl.check_not_stored(&changed)?;
            }
            check_new_column_name(&changed, &new.name)?;
            if changed.columns.len() >= COLUMNS_MAX {
                let message = format!("tables can have at most {COLUMNS_MAX} columns");
                return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
            }
            let attnum = changed.columns.len() as i16 + 1;
            let mut made = ddl.make_column(relation, attnum, &new)?;
            let above = changed.partition_of().and_then(|of| ddl.catalog().relation(of.parent));
            let above = above.and_then(|above| above.column_named(&new.name));
            // A partition takes the values from the sequence of its table.
            made.identity = above.and_then(|above| above.identity);
            made.not_null |= made.identity.is_some();
            let rewrite = rewrite || made.identity.is_some();
            changed.columns.push(made);
            if let RelationKind::Table(table) = &mut changed.kind {
                table.row_version += 1;
            }
            let keyed_by = changed.table().map(|table| table.keyed_by.clone());
            ddl.put_relation(changed)?;
            if let Some(identity) = &new.identity {
                ddl.make_identity(relation, attnum, identity)?;
            }
            if let Some(keyed_by) = keyed_by.filter(|_| rewrite) {
                ddl.rewrite(relation, keyed_by, None)?;
            }
            ddl.rewrite_stores(relation)?;
            Ok(attnum)
        })
    }

    /// Changes a column.
    ///
    /// # Errors
    /// 42703 where there is none of that name, and PostgreSQL's where it cannot be changed like that.
    pub fn change_column(
        &mut self,
        relation: Oid,
        column: &str,
        change: ColumnChange,
    ) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(relation))?;
            let relation = ddl.relation_to_change(relation)?;
            let (action, others) = change.action();
            ddl.check_kind(&relation, action, others)?;
            let Some(found) = relation.column_named(column) else {
                return Err(no_column(column, &relation.name));
            };
            let found = found.clone();
            match change {
                ColumnChange::Type { ty, modifier, collation, default, rewrite } => {
                    let ty = (ty, modifier, collation);
                    ddl.set_type(&relation, &found, ty, default, rewrite)
                }
                ColumnChange::NotNull(not_null) => ddl.set_not_null(&relation, &found, not_null),
                ColumnChange::Default(expr) => ddl.set_default(&relation, &found, expr),
                ColumnChange::Expression(expr) => ddl.set_expression(&relation, &found, expr),
                ColumnChange::DropExpression => {
                    if !is_generated(&found) {
                        return Err(not_generated(&relation, &found, "a stored generated column"));
                    }
                    ddl.change(&relation, found.attnum, |column| column.default = None)
                }
                ColumnChange::AddIdentity(new) => ddl.add_identity(&relation, &found, &new),
                ColumnChange::Identity(is_always) => {
                    let Some(mut identity) = found.identity else {
                        return Err(not_identity(&relation, &found));
                    };
                    identity.is_always = is_always;
                    let change = |column: &mut Column| column.identity = Some(identity);
                    ddl.change(&relation, found.attnum, change)?;
                    ddl.share_identities(relation.oid)
                }
                ColumnChange::DropIdentity => {
                    let Some(identity) = found.identity else {
                        return Err(not_identity(&relation, &found));
                    };
                    ddl.change(&relation, found.attnum, |column| column.identity = None)?;
                    ddl.share_identities(relation.oid)?;
                    ddl.remove_relation(identity.sequence)
                }
            }
        })
    }

    /// Puts another version of a column in its place.
    fn change(
        &mut self,
        relation: &Relation,
        attnum: i16,
        change: impl FnOnce(&mut Column),
    ) -> Result<()> {
        let mut relation = Relation::clone(&*self.relation(relation.oid)?);
        change(&mut relation.columns[attnum as usize - 1]);
        self.put_relation(relation).map(drop)
    }

    fn set_not_null(&mut self, relation: &Relation, column: &Column, not_null: bool) -> Result<()> {
        if !not_null {
            if column.identity.is_some() {
                return Err(is_identity(relation, column, None));
            }
            let table = self.catalog().table(relation.oid);
            let is_in_key = table.into_iter().flat_map(|table| &table.constraints).any(|known| {
                known.kind_letter() == 'p' && known.columns().contains(&column.attnum)
            });
            if is_in_key {
                let message = format!("column \"{}\" is in a primary key", column.name);
                return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
            }
        }
        self.change(relation, column.attnum, |column| column.not_null = not_null)
    }

    fn set_default(
        &mut self,
        relation: &Relation,
        column: &Column,
        expr: Option<SqlText>,
    ) -> Result<()> {
        if column.identity.is_some() {
            let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.";
            return Err(is_identity(relation, column, expr.is_none().then_some(hint)));
        }
        if is_generated(column) {
            let message = format!(
                "column \"{}\" of relation \"{}\" is a generated column",
                column.name, relation.name
            );
            let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
            let how = if expr.is_none() { "DROP" } else { "SET" };
            let hint = format!("Use ALTER TABLE ... ALTER COLUMN ... {how} EXPRESSION instead.");
            return Err(error.with_hint(hint).into());
        }
        let default = match expr {
            Some(expr) => {
                let expr = expr.of_relation(relation.oid);
                self.rely_on_others(&expr, relation.oid)?;
                Some(ColumnDefault { oid: self.new_oid()?, expr, is_generated: false })
            }
            None => None,
        };
        self.change(relation, column.attnum, |column| column.default = default)
    }

    fn set_expression(
        &mut self,
        relation: &Relation,
        column: &Column,
        expr: SqlText,
    ) -> Result<()> {
        if !is_generated(column) {
            return Err(not_generated(relation, column, "a generated column"));
        }
        let expr = expr.of_relation(relation.oid);
        self.rely_on_others(&expr, relation.oid)?;
        let default = Some(ColumnDefault { oid: self.new_oid()?, expr, is_generated: true });
        self.change(relation, column.attnum, |column| column.default = default)?;
        let keyed_by = relation.table().map(|table| table.keyed_by.clone()).unwrap_or_default();
        self.rewrite(relation.oid, keyed_by, Some(column.attnum))
    }

    fn add_identity(
        &mut self,
        relation: &Relation,
        column: &Column,
        new: &NewIdentity,
    ) -> Result<()> {
        let refuse = |what: &str| {
            let message =
                format!("column \"{}\" of relation \"{}\" {what}", column.name, relation.name);
            Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        };
        if !column.not_null {
            return refuse("must be declared NOT NULL before identity can be added");
        }
        if column.identity.is_some() {
            return refuse("is already an identity column");
        }
        if column.default.is_some() {
            return refuse("already has a default value");
        }
        self.make_identity(relation.oid, column.attnum, new)?;
        self.share_identities(relation.oid)
    }

    fn set_type(
        &mut self,
        relation: &Relation,
        column: &Column,
        (ty, modifier, collation): (Type, Modifier, Option<Oid>),
        default: Option<SqlText>,
        rewrite: bool,
    ) -> Result<()> {
        self.check_not_stored(relation)?;
        self.check_column_type(relation.oid, &column.name, ty)?;
        self.rely_on_type(ty)?;
        self.check_type_is_free(relation, column)?;
        let repr = self.repr_of(ty)?;
        let collation = collation.unwrap_or_else(|| self.catalog().collation_of(ty));
        self.rely_on_collation(collation)?;
        let indexes = self.catalog().table(relation.oid).map(|table| table.indexes.clone());
        let (mut is_key, mut is_sorted_anew) = (false, false);
        for relation in indexes.iter().flatten() {
            let Some(index) = relation.index() else { continue };
            for (key, shown) in index.keys.iter().zip(&relation.columns) {
                if key.part != IndexPart::Column(column.attnum) {
                    continue;
                }
                // An index keeps a collation that was named for it.
                let is_own = shown.collation != column.collation && collation != Oid::NONE;
                let collation = if is_own { shown.collation } else { collation };
                let key = IndexKey { ty, ..key.clone() };
                let sort = match index.storage.is_some() && index.excludes.is_empty() {
                    true => self.catalog().sort_form(collation, &key, index.method),
                    false => None,
                };
                let by_bytes = index.is_unique || !index.excludes.is_empty();
                is_key |= by_bytes && sort.is_none();
                is_sorted_anew |= sort != key.sort;
            }
        }
        self.check_key_collation(collation, is_key)?;
        let before = column.collation;
        let default = match default {
            Some(expr) => {
                let expr = expr.of_relation(relation.oid);
                self.rely_on_others(&expr, relation.oid)?;
                let is_generated = is_generated(column);
                Some(ColumnDefault { oid: self.new_oid()?, expr, is_generated })
            }
            None => None,
        };
        let rewrite = rewrite || repr != column.repr || is_sorted_anew;
        // Rewritten rows have every value. Other rows keep the value that stands for missing ones.
        let missing = column.missing.clone().filter(|_| !rewrite);
        self.change(relation, column.attnum, |column| {
            (column.ty, column.modifier, column.repr, column.collation) =
                (ty, modifier, repr, collation);
            column.default = default;
            column.missing = missing;
        })?;
        self.retype_indexes(relation.oid, column.attnum, before)?;
        match relation.table() {
            Some(table) if rewrite => {
                self.rewrite(relation.oid, table.keyed_by.clone(), Some(column.attnum))
            }
            _ => Ok(()),
        }
    }

    /// Nothing shows the column's type to others that would have to change with it.
    fn check_type_is_free(&self, relation: &Relation, column: &Column) -> Result<()> {
        let catalog = self.catalog();
        for reference in catalog.dependents(relation.oid) {
            let is_known = matches!(reference.from.class, Class::Relation | Class::Policy);
            if reference.to.sub != column.attnum || !is_known {
                continue;
            }
            let refuse = |message: &str, detail: String| {
                let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                Err(error.with_detail(detail).into())
            };
            if reference.from.class == Class::Policy {
                let policy = self.scope().describe(reference.from);
                let detail = format!("{policy} depends on column \"{}\"", column.name);
                let message = "cannot alter type of a column used in a policy definition";
                return refuse(message, detail);
            }
            let Some(other) = catalog.relation(reference.from.oid) else { continue };
            if other.query().is_some() {
                let detail = format!(
                    "rule _RETURN on {} depends on column \"{}\"",
                    self.scope().describe(Address::relation(other.oid)),
                    column.name
                );
                return refuse("cannot alter type of a column used by a view or rule", detail);
            }
            let generated = other.column(reference.from.sub).filter(|other| is_generated(other));
            if let Some(generated) = generated.filter(|_| other.oid == relation.oid) {
                let detail = format!(
                    "Column \"{}\" is used by generated column \"{}\".",
                    column.name, generated.name
                );
                return refuse("cannot alter type of a column used by a generated column", detail);
            }
        }
        Ok(())
    }

    /// Brings the indexes over a column to its type, and to its collation those that had its collation before.
    fn retype_indexes(&mut self, table: Oid, attnum: i16, before: Oid) -> Result<()> {
        let Some(table) = self.catalog().table(table).cloned() else { return Ok(()) };
        let Some(column) = table.relation.column(attnum) else { return Ok(()) };
        for index in &table.indexes {
            let mut changed = Relation::clone(index);
            let RelationKind::Index(data) = &mut changed.kind else { continue };
            let mut has = false;
            let may_sort = data.storage.is_some() && data.excludes.is_empty();
            for (at, key) in data.keys.iter_mut().enumerate() {
                if key.part == IndexPart::Column(attnum) {
                    (key.ty, key.repr, has) = (column.ty, column.repr, true);
                    let own = changed.columns[at].collation;
                    let is_own = own != before && column.collation != Oid::NONE;
                    let collation = if is_own { own } else { column.collation };
                    key.sort = None;
                    if may_sort {
                        key.sort = self.catalog().sort_form(collation, key, data.method);
                    }
                    changed.columns[at].ty = column.ty;
                    changed.columns[at].modifier = column.modifier;
                    changed.columns[at].repr = column.repr;
                    changed.columns[at].collation = collation;
                }
            }
            if has || data.include.contains(&attnum) {
                self.put_relation(changed)?;
            }
        }
        Ok(())
    }

    /// Takes a column away: it keeps its number and its place in rows.
    pub(super) fn remove_column(&mut self, relation: Oid, attnum: i16) -> Result<()> {
        let mut changed = Relation::clone(&*self.relation_to_change(relation)?);
        if changed.column(attnum).is_none() {
            return Ok(());
        }
        if !self.may_rewrite_stores {
            self.check_not_stored(&changed)?;
        }
        let column = &mut changed.columns[attnum as usize - 1];
        *column = Column {
            name: format!("........pg.dropped.{attnum}........").into(),
            ty: Type::NONE,
            modifier: Modifier::NONE,
            collation: Oid::NONE,
            not_null: false,
            is_dropped: true,
            default: None,
            identity: None,
            missing: None::<Datum>,
            acl: None,
            ..column.clone()
        };
        self.remove_comment(Address::column(relation, attnum))?;
        self.put_relation(changed)?;
        self.rewrite_stores(relation)
    }

    /// Takes a default away.
    pub(super) fn remove_default(&mut self, default: Oid) -> Result<()> {
        let found = self.catalog().default_of(default).map(|(relation, at)| (relation.clone(), at));
        let Some((relation, attnum)) = found else { return Ok(()) };
        self.change(&relation, attnum, |column| column.default = None)
    }

    pub(super) fn remove_comment(&mut self, object: Address) -> Result<()> {
        match self.catalog().comment(object) {
            Some(_) => self.remove(Key::Comment(object)),
            None => Ok(()),
        }
    }

    /// Takes a relation away, with what is stored of it and said of it.
    pub(super) fn remove_relation(&mut self, oid: Oid) -> Result<()> {
        let Some(relation) = self.catalog().relation(oid).cloned() else { return Ok(()) };
        for column in relation.live_columns() {
            self.remove_comment(Address::column(oid, column.attnum))?;
        }
        self.remove_comment(Address::relation(oid))?;
        if let Some(row) = &relation.row_type {
            self.remove_comment(Address::of(Class::Type, row.ty.oid()))?;
        }
        self.retire(&relation, relation.storages())?;
        self.leave_partitions(&relation)?;
        self.remove(Key::Relation(oid))
    }
}

/// No column has the name that another is to get.
pub(super) fn check_new_column_name(relation: &Relation, name: &str) -> Result<()> {
    super::name::check_column_name(name)?;
    match relation.column_named(name) {
        None => Ok(()),
        Some(_) => Err(Error::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column \"{name}\" of relation \"{}\" already exists", relation.name),
        )),
    }
}

fn is_generated(column: &Column) -> bool {
    column.default.as_ref().is_some_and(|default| default.is_generated)
}

fn is_identity(relation: &Relation, column: &Column, hint: Option<&str>) -> Error {
    let message = format!(
        "column \"{}\" of relation \"{}\" is an identity column",
        column.name, relation.name
    );
    let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
    match hint {
        Some(hint) => error.with_hint(hint).into(),
        None => error.into(),
    }
}

fn not_identity(relation: &Relation, column: &Column) -> Error {
    Error::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "column \"{}\" of relation \"{}\" is not an identity column",
            column.name, relation.name
        ),
    )
}

fn not_generated(relation: &Relation, column: &Column, what: &str) -> Error {
    Error::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("column \"{}\" of relation \"{}\" is not {what}", column.name, relation.name),
    )
}
