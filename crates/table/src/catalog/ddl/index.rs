//! Indexes: their keys, and the columns that they show.

use std::sync::Arc;

use ::types::geometry::is_geometric;
use ::types::{Datum, Error as SqlError, Modifier, Oid, SqlState, Type, builtin};
use store::Retention;

use super::name::{NAME_BYTES_MAX, choose, clip};
use super::table::COLUMNS_MAX;
use super::{Address, Ddl, Relation, RelationKind, TableDef};
use crate::catalog::{
    Catalog, CollationProvider, Column, Index, IndexKey, IndexMethod, IndexPart, SortForm, SqlText,
    UserTypeKind,
};
use crate::columnar::Columnar;
use crate::index::erase_backfill;
use crate::stored::backfill_of;
use crate::{Error, Result};

/// Columns of an index that is searched at most.
const KEYS_MAX: usize = 32;

/// An index to be made. In its expressions, the relation with OID 0 is the table.
#[derive(Clone, Debug)]
pub struct NewIndex {
    /// Its name; one is chosen where there is none.
    pub name: Option<Arc<str>>,
    /// How it is searched.
    pub method: IndexMethod,
    /// The keys that it orders by.
    pub keys: Vec<NewIndexKey>,
    /// Columns whose values are kept beside.
    pub include: Vec<Arc<str>>,
    /// Which rows are in it; none for all.
    pub predicate: Option<SqlText>,
    /// True if two rows may not have equal keys.
    pub is_unique: bool,
    /// True if NULLs are different from one another.
    pub nulls_distinct: bool,
    /// False while it has to be filled.
    pub is_valid: bool,
    /// Storage parameters.
    pub options: Vec<(Arc<str>, Arc<str>)>,
    /// The operators of an exclusion constraint, one for each key; none for any other index.
    pub excludes: Vec<Oid>,
    /// The index of the partitioned table that it is a part of.
    pub partition_of: Option<Oid>,
}

/// A key of an index to be made.
#[derive(Clone, Debug)]
pub struct NewIndexKey {
    /// The part of the row.
    pub part: IndexPart,
    /// The type of an expression; that of a column is known.
    pub ty: Type,
    /// The name of an expression; a column has its own name.
    pub name: Arc<str>,
    /// True for `DESC`.
    pub is_descending: bool,
    /// `NULLS FIRST` or `NULLS LAST`; NULLs count as larger than all others where neither is said.
    pub nulls_first: Option<bool>,
    /// The collation, where it is not that of the column or the type.
    pub collation: Option<Oid>,
    /// The operator class, where one was named.
    pub class: Option<Arc<str>>,
}

impl NewIndexKey {
    /// A column, in ascending order.
    pub fn column(attnum: i16) -> Self {
        NewIndexKey {
            part: IndexPart::Column(attnum),
            ty: Type::NONE,
            name: "expr".into(),
            is_descending: false,
            nulls_first: None,
            collation: None,
            class: None,
        }
    }
}

/// The role of an index, beside being an index.
#[derive(Clone, Copy, Default)]
pub(super) struct IndexRole {
    pub constraint: Option<Oid>,
    pub is_primary: bool,
    pub is_deferrable: bool,
    pub is_period: bool,
}

impl Ddl<'_> {
    /// Makes an index on a table. Filling it is up to the caller.
    ///
    /// # Errors
    /// 42P07 where the name is taken, 42704 for types that cannot be searched like that.
    pub fn create_index(&mut self, table: Oid, new: NewIndex) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(table))?;
            let relation = ddl.relation_to_change(table)?;
            ddl.check_kind(&relation, "create index", [false, false])?;
            ddl.make_index(table, new, IndexRole::default())
        })
    }

    pub(super) fn make_index(
        &mut self,
        table: Oid,
        new: NewIndex,
        role: IndexRole,
    ) -> Result<Arc<Relation>> {
        let table = self.table(table)?;
        let relation = &table.relation;
        // Columns that are only read can be as many as those of a table.
        let most = if new.method == IndexMethod::Columnar { COLUMNS_MAX } else { KEYS_MAX };
        if new.keys.len() + new.include.len() > most {
            let message = format!("cannot use more than {most} columns in an index");
            return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        check_method(&new)?;
        if !new.excludes.is_empty() && new.excludes.len() != new.keys.len() {
            let message = "an exclusion constraint must have an operator for each key";
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        }
        if new.method == IndexMethod::Columnar && is_in_columns(relation) {
            return Err(in_columns_already("The table keeps its rows in columns already."));
        }
        let include = self.numbers_of(relation, &new.include)?;
        let (mut keys, mut columns) = (Vec::new(), Vec::new());
        for key in &new.keys {
            let collation = key.collation;
            let name = Arc::clone(&key.name);
            let mut key = self.make_key(relation, key, new.method)?;
            let mut column = self.key_column(relation, &key, &name, &columns);
            column.collation = collation.unwrap_or(column.collation);
            self.rely_on_collation(column.collation)?;
            if new.excludes.is_empty() {
                key.sort = self.catalog().sort_form(column.collation, &key, new.method);
            }
            let is_told_apart = new.is_unique && key.sort.is_none() || !new.excludes.is_empty();
            self.check_key_collation(column.collation, is_told_apart)?;
            columns.push(column);
            keys.push(key);
        }
        for attnum in &include {
            let key = IndexKey {
                part: IndexPart::Column(*attnum),
                ty: Type::NONE,
                repr: ::types::Repr::Bool,
                is_descending: false,
                nulls_first: false,
                class: None,
                sort: None,
            };
            columns.push(self.key_column(relation, &key, "", &columns));
        }
        let predicate = new.predicate.map(|text| text.of_relation(relation.oid));
        if let Some(predicate) = &predicate {
            self.rely_on_others(predicate, relation.oid)?;
        }
        let name = match new.name {
            Some(name) => name,
            None => self.choose_index_name(&table, &columns, new.is_unique, role).into(),
        };
        self.take_relation_name(relation.schema, &name, false)?;
        // The primary key by which a table's rows are keyed is the table itself.
        let key_columns: Vec<i16> = keys.iter().filter_map(IndexKey::column).collect();
        let is_table = role.is_primary
            && relation.table().is_some_and(|data| {
                data.keyed_by == key_columns && !key_columns.is_empty() && !role.is_deferrable
            });
        if is_table {
            // The rows themselves lie in the order of bytes.
            for (key, column) in keys.iter_mut().zip(&columns) {
                key.sort = None;
                self.check_key_collation(column.collation, true)?;
            }
        }
        let storage = if is_table { None } else { Some(self.new_storage()?) };
        // A session that builds the index beside other writers does not know when the first rows
        // came. If the past is to be forgotten, the versions that are over are better not written
        // down again.
        let is_whole = match relation.table() {
            Some(data) if new.is_valid => {
                data.history == Retention::Forever && storage.and_then(backfill_of).is_some()
                    || self.txn.engine().store().is_fresh(data.storage)?
            }
            _ => false,
        };
        if new.is_unique || !new.excludes.is_empty() {
            self.check_unique_partitions(relation, (&keys, &new.excludes), role)?;
        }
        let index = Index {
            table: relation.oid,
            storage,
            method: new.method,
            keys,
            include,
            predicate,
            is_unique: new.is_unique,
            nulls_distinct: new.nulls_distinct,
            is_primary: role.is_primary,
            is_immediate: !role.is_deferrable,
            is_valid: new.is_valid,
            is_whole,
            constraint: role.constraint,
            excludes: new.excludes,
            partition_of: new.partition_of,
        };
        if let Some(refusal) = self.draft.cache().methods().index_refusal(relation, &index)? {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, refusal));
        }
        let oid = self.new_oid()?;
        self.put_relation(Relation {
            oid,
            schema: relation.schema,
            name,
            owner: relation.owner,
            acl: None,
            persistence: relation.persistence,
            row_type: None,
            columns,
            options: new.options,
            kind: RelationKind::Index(index),
        })
    }

    /// An index has been filled: it can be read.
    ///
    /// # Errors
    /// 42809 where it is no index.
    pub fn validate_index(&mut self, index: Oid) -> Result<()> {
        self.whole(|ddl| ddl.change_index(index, |data| data.is_valid = true))
    }

    /// An index of a partitioned table cannot be used before all partitions have theirs.
    ///
    /// # Errors
    /// 42809 where it is no index.
    pub fn invalidate_index(&mut self, index: Oid) -> Result<()> {
        self.whole(|ddl| ddl.change_index(index, |data| data.is_valid = false))
    }

    /// An index has no entries of versions that were over before it.
    ///
    /// # Errors
    /// 42809 where it is no index.
    pub fn leave_past(&mut self, index: Oid) -> Result<()> {
        self.whole(|ddl| ddl.change_index(index, |data| data.is_whole = false))
    }

    /// An index is to be filled anew: it gets a storage without entries, and the sort keys of today.
    ///
    /// # Errors
    /// 42809 where it is no index, 42501 where it is not the role's.
    pub fn renew_index(&mut self, index: Oid) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(index))?;
            ddl.change_index(index, |data| {
                for sort in data.keys.iter_mut().filter_map(|key| key.sort.as_mut()) {
                    sort.version = collate::VERSION.into();
                }
            })?;
            ddl.renew_relation(index)
        })
    }

    /// Makes an index look as if its sort keys were of other tables of the language.
    #[cfg(test)]
    pub(crate) fn age_sort_keys(&mut self, index: Oid) -> Result<()> {
        self.change_index(index, |data| {
            for sort in data.keys.iter_mut().filter_map(|key| key.sort.as_mut()) {
                sort.version = "0".into();
            }
        })
    }

    /// Erases the backfills of the indexes of a table.
    pub(super) fn erase_backfill(&mut self, table: Oid) -> Result<()> {
        for index in self.table(table)?.indexes.clone() {
            if let Some(storage) = index.storage()
                && erase_backfill(self.txn, storage)?
            {
                self.change_index(index.oid, |data| data.is_whole = false)?;
            }
        }
        Ok(())
    }

    pub(super) fn change_index(
        &mut self,
        index: Oid,
        change: impl FnOnce(&mut Index),
    ) -> Result<()> {
        let mut relation = Relation::clone(&*self.relation_to_change(index)?);
        let RelationKind::Index(data) = &mut relation.kind else {
            let message = format!("\"{}\" is not an index", relation.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        change(data);
        self.put_relation(relation).map(drop)
    }

    fn make_key(
        &mut self,
        relation: &Relation,
        new: &NewIndexKey,
        method: IndexMethod,
    ) -> Result<IndexKey> {
        let (part, ty) = match &new.part {
            IndexPart::Column(attnum) => match relation.column(*attnum) {
                Some(column) => (new.part.clone(), column.ty),
                None => return Err(super::no_column(&attnum.to_string(), &relation.name)),
            },
            IndexPart::Expr(expr) => {
                let expr = expr.clone().of_relation(relation.oid);
                self.rely_on_others(&expr, relation.oid)?;
                self.rely_on_type(new.ty)?;
                (IndexPart::Expr(expr), new.ty)
            }
        };
        if new.class.is_none() && !self.catalog().has_operators(ty, method) {
            let method = method.name();
            let name = self.scope().type_name(ty, Modifier::NONE);
            let message = format!(
                "data type {name} has no default operator class for access method \"{method}\""
            );
            let hint = "You must specify an operator class for the index or define a default \
                        operator class for the data type.";
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message).with_hint(hint).into());
        }
        Ok(IndexKey {
            part,
            ty,
            repr: self.repr_of(ty)?,
            is_descending: new.is_descending,
            nulls_first: new.nulls_first.unwrap_or(new.is_descending),
            class: new.class.clone(),
            sort: None,
        })
    }

    /// The column that an index shows for a key: named as the table's, or, of an expression, as `name`.
    fn key_column(
        &self,
        table: &Relation,
        key: &IndexKey,
        name: &str,
        before: &[Column],
    ) -> Column {
        let of = key.column().and_then(|attnum| table.column(attnum));
        let base = of.map_or(name, |column| &*column.name);
        let is_free = |name: &str| before.iter().all(|column| *column.name != *name);
        let name = std::iter::once(base.to_owned())
            .chain((1u32..).map(|number| {
                let number = number.to_string();
                format!("{}{number}", clip(base, NAME_BYTES_MAX - number.len()))
            }))
            .find(|name| is_free(name))
            .unwrap_or_default();
        let (ty, modifier) = of.map_or((key.ty, Modifier::NONE), |of| (of.ty, of.modifier));
        Column {
            attnum: before.len() as i16 + 1,
            name: name.into(),
            ty,
            modifier,
            repr: of.map_or(key.repr, |of| of.repr),
            collation: of.map_or_else(|| self.catalog().collation_of(ty), |of| of.collation),
            not_null: false,
            is_dropped: false,
            default: None,
            identity: None,
            missing: None::<Datum>,
            acl: None,
        }
    }

    fn choose_index_name(
        &self,
        table: &TableDef,
        columns: &[Column],
        is_unique: bool,
        role: IndexRole,
    ) -> String {
        let TableDef { relation, .. } = table;
        let is_free = |name: &str| self.catalog().relation_named(relation.schema, name).is_none();
        if role.is_primary {
            return choose(&relation.name, None, "pkey", is_free);
        }
        let label = match role.constraint {
            Some(_) if is_unique || role.is_period => "key",
            Some(_) => "excl",
            None => "idx",
        };
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        // No more than a name takes is ever used.
        let joined = names.join("_");
        choose(&relation.name, Some(clip(&joined, 2 * NAME_BYTES_MAX)), label, is_free)
    }

    /// The numbers of the columns with these names.
    pub(super) fn numbers_of(&self, relation: &Relation, names: &[Arc<str>]) -> Result<Vec<i16>> {
        let number = |name: &Arc<str>| match relation.column_named(name) {
            Some(column) => Ok(column.attnum),
            None => Err(super::no_column(name, &relation.name)),
        };
        names.iter().map(number).collect()
    }
}

/// True for a table whose rows are kept in columns.
fn is_in_columns(table: &Relation) -> bool {
    table.table().is_some_and(|data| Columnar::settings(data).is_some())
}

/// The error for a columnar index on a columnar table.
pub(super) fn in_columns_already(hint: &str) -> Error {
    let message = "a columnar table cannot have a columnar index";
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint).into()
}

/// Fails if the access method does not support the index.
fn check_method(new: &NewIndex) -> Result<()> {
    let method = new.method.name();
    let refuse = |what: &str| {
        let message = format!("access method \"{method}\" does not support {what}");
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    };
    if new.method == IndexMethod::Btree {
        return Ok(());
    }
    if new.is_unique {
        return refuse("unique indexes");
    }
    let is_of_intervals = matches!(new.method, IndexMethod::Gist | IndexMethod::Spgist);
    // An index of intervals has them in the catalog alone: rows are looked at anyway.
    if !new.include.is_empty() && !is_of_intervals {
        return refuse("included columns");
    }
    if new.method == IndexMethod::Columnar && new.predicate.is_some() {
        return refuse("partial indexes");
    }
    if new.method == IndexMethod::Columnar && new.keys.iter().any(|key| key.class.is_some()) {
        return refuse("operator classes");
    }
    if matches!(new.method, IndexMethod::Hash | IndexMethod::Spgist) && new.keys.len() > 1 {
        return refuse("multicolumn indexes");
    }
    if new.keys.iter().any(|key| key.is_descending) {
        return refuse("ASC/DESC options");
    }
    if new.keys.iter().any(|key| key.nulls_first.is_some()) {
        return refuse("NULLS FIRST/LAST options");
    }
    Ok(())
}

impl IndexMethod {
    /// The name, as `USING` has it.
    pub fn name(self) -> &'static str {
        match self {
            IndexMethod::Btree => "btree",
            IndexMethod::Hash => "hash",
            IndexMethod::Gin => "gin",
            IndexMethod::Columnar => "columnar",
            IndexMethod::Gist => "gist",
            IndexMethod::Brin => "brin",
            IndexMethod::Bloom => "bloom",
            IndexMethod::Spgist => "spgist",
        }
    }
}

impl IndexKey {
    /// The column, where the key is one.
    pub fn column(&self) -> Option<i16> {
        if let IndexPart::Column(attnum) = self.part { Some(attnum) } else { None }
    }
}

impl Catalog {
    /// The locale by which a collation orders texts, and whether it is deterministic; none if their bytes do.
    pub fn locale_of(&self, collation: Oid) -> Option<(Arc<str>, bool)> {
        if let Some(known) = collate::numbered(collation.0) {
            let locale = known.locale.filter(|_| known.provider == collate::Provider::Icu)?;
            return Some((locale.into(), true));
        }
        let known = self.collation(collation)?;
        let is_icu = known.provider == CollationProvider::Icu;
        is_icu.then(|| (Arc::clone(&known.locale), known.is_deterministic))
    }

    /// The indexes whose sort keys are of other tables of a language than this release has, with their tables: one
    /// index, those of a table, or all.
    pub fn stale_indexes(&self, of: Option<Oid>) -> impl Iterator<Item = (Oid, Oid)> + '_ {
        self.relations().filter_map(move |relation| {
            let index = relation.index()?;
            let is_meant = of.is_none_or(|of| of == relation.oid || of == index.table);
            let mut sorts = index.keys.iter().filter_map(|key| key.sort.as_ref());
            let is_stale = is_meant && sorts.any(|sort| !sort.is_current());
            is_stale.then_some((index.table, relation.oid))
        })
    }

    /// How a key of an index orders texts of a collation; none if their bytes do.
    pub(super) fn sort_form(
        &self,
        collation: Oid,
        key: &IndexKey,
        method: IndexMethod,
    ) -> Option<SortForm> {
        // A class such as `text_pattern_ops` compares bytes. Other methods take values apart, or only show them.
        let has_order =
            matches!(method, IndexMethod::Btree | IndexMethod::Hash | IndexMethod::Brin);
        let of_bytes = key.class.as_deref().is_some_and(|class| class.contains("_pattern_ops"));
        if !has_order || of_bytes || !self.is_text(key.ty) {
            return None;
        }
        let (locale, is_deterministic) = self.locale_of(collation)?;
        Some(SortForm { locale, is_deterministic, version: collate::VERSION.into() })
    }

    /// True for `text`, `varchar` and domains over them: texts that are equal where their bytes are.
    fn is_text(&self, ty: Type) -> bool {
        match self.user_type(ty).map(|user| &user.kind) {
            Some(UserTypeKind::Domain(domain)) => self.is_text(domain.base),
            _ => matches!(ty, Type::TEXT | Type::VARCHAR),
        }
    }

    /// True if values of a type can be searched by a method without an operator class being named.
    fn has_operators(&self, ty: Type, method: IndexMethod) -> bool {
        // Values of it are not compared.
        if method == IndexMethod::Columnar {
            return true;
        }
        if let Some(facts) = builtin::facts(ty) {
            return match method {
                IndexMethod::Gin => {
                    facts.is_array() || matches!(ty, Type::JSONB | Type::HSTORE | Type::TSVECTOR)
                }
                IndexMethod::Hash if matches!(ty, Type::TSVECTOR | Type::TSQUERY | Type::MONEY) => {
                    false
                }
                // `<` and `=` of these types do not define an order of values.
                _ if is_geometric(ty) || facts.is_array() && is_geometric(facts.element) => {
                    method == IndexMethod::Gist
                        && matches!(ty, Type::POINT | Type::BOX | Type::POLYGON | Type::CIRCLE)
                }
                // The session names the class of every key.
                IndexMethod::Bloom => false,
                IndexMethod::Brin if facts.is_array() => false,
                _ => {
                    let element = if facts.is_array() { facts.element } else { ty };
                    !matches!(
                        element,
                        Type::JSON
                            | Type::JSONPATH
                            | Type::PG_NODE_TREE
                            | Type::REFCURSOR
                            | Type::ACLITEM
                            | Type::UNKNOWN
                            | Type::INT2VECTOR
                            | Type::LQUERY
                            | Type::PG_SNAPSHOT
                            | Type::TXID_SNAPSHOT
                            | Type::LTXTQUERY
                            | Type::XID
                    )
                }
            };
        }
        let Some(entry) = self.type_entry(ty) else { return false };
        if let Some(UserTypeKind::Domain(domain)) = self.user_type(ty).map(|user| &user.kind) {
            return self.has_operators(domain.base, method);
        }
        method != IndexMethod::Gin || entry.element().is_some()
    }
}
