//! The layout of each entry, field by field, and the rules that it must keep.

use std::sync::Arc;

use store::Retention;
use types::{Datum, EnumOrder, Oid, Repr, RowView, row};

use super::field::{Field, Input, choices, fields, put_varint, shared};
use super::{damaged, partition};
use crate::Result;
use crate::catalog::{
    Acl, AclItem, Action, Address, CheckOption, Class, Collation, CollationProvider, Column,
    ColumnDefault, Comment, Constraint, ConstraintKind, ConstraintOn, Database, DefaultAcl, Domain,
    Enum, Extension, ForeignKey, Identity, Index, IndexKey, IndexMethod, IndexPart, MatchType,
    Materialized, Membership, MethodData, NamePlace, OwnedBy, Persistence, Policy, PolicyCommand,
    Privileges, RangeType, Relation, RelationKind, Role, RoleFlags, RowSecurity, RowType, Schema,
    Sequence, Settings, SortForm, SqlText, TableData, UserType, UserTypeKind, View,
};
use crate::documents::DocumentData;
use crate::heap::Heap;

shared!(
    Database Role Membership Settings Schema DefaultAcl Relation UserType Constraint Comment Extension
    Policy
    Collation
);

fields! {
    Database {
        oid, name, owner, acl, is_template, allows_connections, connection_limit,
    }
    Role { oid, name, may, connection_limit, password, valid_until_us }
    RoleFlags { superuser, inherit, create_role, create_db, login, replication, bypass_rls }
    Membership { oid, role, member, grantor, admin, inherit, set }
    Settings { database, role, values }
    Schema { oid, database, name, owner, acl }
    UserType { ty, schema, name, owner, acl, array, array_name, kind }
    Domain { base, modifier, repr, collation, not_null, default }
    RangeType { element, collation, multirange, difference }
    Comment { object, text }
    Extension { oid, database, name, schema, owner, version }
    Policy { oid, name, table, is_permissive, command, roles, using, check }
    RowSecurity { is_enabled, is_forced }
    Collation {
        oid, schema, name, owner, provider, is_deterministic, is_utf8, locale, ctype, version,
    }
    AclItem { grantee, grantor, privileges, grantable }
    RowType { ty, array, array_name }
    ColumnDefault { oid, expr, is_generated }
    Identity { sequence, is_always }
    NamePlace { at, len, object }
    Address { class, oid, sub }
    View { query, check }
    Materialized { query, is_populated }
    SortForm { locale, is_deterministic, version }
    Sequence {
        storage, data_type, start, increment, min, max, cache, cycle, owned_by,
    }
    OwnedBy { table, attnum, is_identity }
}

choices! {
    Persistence { Permanent, Unlogged, Temporary }
    CheckOption { None, Local, Cascaded }
    IndexMethod { Btree, Hash, Gin, Columnar, Gist, Brin, Bloom, Spgist }
    MatchType { Simple, Full }
    PolicyCommand { All, Select, Insert, Update, Delete }
    CollationProvider { Builtin, Libc, Icu }
    Action { NoAction, Restrict, Cascade, SetNull, SetDefault }
}

impl Field for Class {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Class::from_number(input.u8()?).map_or_else(|| damaged("a class that is unknown"), Ok)
    }
}

impl Field for Privileges {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        u16::take(input).map(Privileges)
    }
}

impl Field for Acl {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Field::take(input).map(Acl)
    }
}

impl Field for DefaultAcl {
    fn put(&self, out: &mut Vec<u8>) {
        (self.oid, self.role, self.schema).put(out);
        out.push(self.kind as u8);
        self.acl.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let (oid, role, schema) = Field::take(input)?;
        let kind = match input.u8()? {
            kind @ (b'r' | b'S' | b'T' | b'n' | b'f') => kind as char,
            _ => return damaged("default privileges of an unknown kind"),
        };
        Ok(DefaultAcl { oid, role, schema, kind, acl: Field::take(input)? })
    }
}

/// `heap` is a 0. Before other methods were possible, a 1 and four fields said that a table was one of
/// documents.
impl Field for MethodData {
    fn put(&self, out: &mut Vec<u8>) {
        if self.oid == Heap::OID {
            out.push(0);
            return;
        }
        out.push(2);
        self.oid.put(out);
        self.storages.put(out);
        put_varint(out, self.settings.len() as u64);
        out.extend_from_slice(&self.settings);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        match input.u8()? {
            0 => Ok(MethodData { oid: Heap::OID, storages: Vec::new(), settings: Vec::new() }),
            1 => {
                let (column, storage) = Field::take(input)?;
                let (hashes, path_summary) = Field::take(input)?;
                Ok(DocumentData { column, storage, hashes, path_summary }.into_method())
            }
            2 => {
                let (oid, storages) = Field::take(input)?;
                let len = input.varint()?;
                let settings = input.bytes(usize::try_from(len).unwrap_or(usize::MAX))?;
                Ok(MethodData { oid, storages, settings: settings.to_vec() })
            }
            _ => damaged("an access method in the catalog is of an unknown form"),
        }
    }
}

impl Field for Retention {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            // An unsettled retention is a state of the store, and never that of an entry.
            Retention::Forever | Retention::Unsettled => out.push(0),
            Retention::Since(us) => {
                out.push(1);
                us.put(out);
            }
            Retention::None => out.push(2),
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok(match input.u8()? {
            0 => Retention::Forever,
            1 => Retention::Since(Field::take(input)?),
            2 => Retention::None,
            _ => return damaged("a history of an unknown kind"),
        })
    }
}

impl Field for SqlText {
    fn put(&self, out: &mut Vec<u8>) {
        self.text.put(out);
        self.names.put(out);
        self.depends.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let text: Arc<str> = Field::take(input)?;
        let names: Vec<NamePlace> = Field::take(input)?;
        let mut done = 0u64;
        for place in &names {
            let (from, to) = (u64::from(place.at), u64::from(place.at) + u64::from(place.len));
            if from < done || text.get(from as usize..to as usize).is_none() {
                return damaged("a name that is not in its text");
            }
            done = to;
        }
        Ok(SqlText { text, names, depends: Field::take(input)? })
    }
}

/// The default of a column in rows that are older, as a row of one column.
pub(super) struct Value(pub(super) Datum);

impl Field for Value {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.0.repr().map_or(0, |repr| repr as u8));
        let mut bytes = Vec::new();
        row::write(0, [self.0.as_ref()], &mut bytes);
        put_varint(out, bytes.len() as u64);
        out.extend_from_slice(&bytes);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let Some(repr) = Repr::from_number(input.u8()?) else {
            return damaged("a value of an unknown representation");
        };
        let len = input.varint()?;
        let bytes = input.bytes(usize::try_from(len).unwrap_or(usize::MAX))?;
        let columns = [repr];
        match RowView::new(bytes, &columns)?.get(0)? {
            Some(value) if !value.is_null() => Ok(Value(value.to_owned())),
            _ => damaged("a value that is none"),
        }
    }
}

impl Field for Column {
    fn put(&self, out: &mut Vec<u8>) {
        (self.attnum, self.name.clone(), self.ty).put(out);
        (self.modifier, self.repr, self.collation).put(out);
        (self.not_null, self.is_dropped).put(out);
        self.default.put(out);
        self.identity.put(out);
        let missing = self.missing.clone().filter(|value| !value.is_null());
        missing.map(Value).put(out);
        self.acl.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let (attnum, name, ty) = Field::take(input)?;
        let (modifier, repr, collation) = Field::take(input)?;
        let (not_null, is_dropped) = Field::take(input)?;
        let (default, identity) = Field::take(input)?;
        let missing: Option<Value> = Field::take(input)?;
        if missing.as_ref().is_some_and(|value| value.0.repr() != Some(repr)) {
            return damaged("a value of another representation than its column");
        }
        Ok(Column {
            attnum,
            name,
            ty,
            modifier,
            repr,
            collation,
            not_null,
            is_dropped,
            default,
            identity,
            missing: missing.map(|value| value.0),
            acl: Field::take(input)?,
        })
    }
}

impl Field for Relation {
    fn put(&self, out: &mut Vec<u8>) {
        (self.oid, self.schema, self.name.clone()).put(out);
        self.owner.put(out);
        self.acl.put(out);
        self.persistence.put(out);
        self.row_type.put(out);
        self.columns.put(out);
        self.options.put(out);
        self.kind.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let (oid, schema, name) = Field::take(input)?;
        let (owner, acl, persistence) = Field::take(input)?;
        let row_type = Field::take(input)?;
        let columns: Vec<Column> = Field::take(input)?;
        let numbered = |(at, column): (usize, &Column)| {
            i16::try_from(at + 1).is_ok_and(|attnum| attnum == column.attnum)
        };
        if !columns.iter().enumerate().all(numbered) {
            return damaged("a column with the wrong number");
        }
        let (options, kind) = Field::take(input)?;
        Ok(Relation {
            oid,
            schema,
            name,
            owner,
            acl,
            persistence,
            row_type,
            columns,
            options,
            kind,
        })
    }
}

/// A table, without what a materialized view has more.
impl Field for TableData {
    fn put(&self, out: &mut Vec<u8>) {
        (self.storage, self.row_version, self.keyed_by.clone()).put(out);
        (self.history, self.forgotten).put(out);
        self.method.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let (storage, row_version, keyed_by) = Field::take(input)?;
        let (history, forgotten) = Field::take(input)?;
        let method = Field::take(input)?;
        Ok(TableData {
            storage,
            row_version,
            keyed_by,
            history,
            forgotten,
            method,
            materialized: None,
            row_security: RowSecurity::default(),
            partitioning: None,
            partition_of: None,
        })
    }
}

/// An index, without what one of an exclusion constraint has more.
impl Field for Index {
    fn put(&self, out: &mut Vec<u8>) {
        (self.table, self.storage, self.method).put(out);
        self.keys.put(out);
        self.include.put(out);
        self.predicate.put(out);
        (self.is_unique, self.nulls_distinct, self.is_primary).put(out);
        (self.is_immediate, self.is_valid, self.is_whole).put(out);
        self.constraint.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let (table, storage, method) = Field::take(input)?;
        let (keys, include) = Field::take(input)?;
        let predicate = Field::take(input)?;
        let (is_unique, nulls_distinct, is_primary) = Field::take(input)?;
        let (is_immediate, is_valid, is_whole) = Field::take(input)?;
        Ok(Index {
            table,
            storage,
            method,
            keys,
            include,
            predicate,
            is_unique,
            nulls_distinct,
            is_primary,
            is_immediate,
            is_valid,
            is_whole,
            constraint: Field::take(input)?,
            excludes: Vec::new(),
            partition_of: None,
        })
    }
}

/// A foreign key, without what tells one with `PERIOD`.
impl Field for ForeignKey {
    fn put(&self, out: &mut Vec<u8>) {
        self.columns.put(out);
        self.references.put(out);
        self.referenced.put(out);
        self.index.put(out);
        (self.match_type, self.on_update, self.on_delete).put(out);
        self.on_delete_columns.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let (columns, references, referenced) = Field::take(input)?;
        let index = Field::take(input)?;
        let (match_type, on_update, on_delete) = Field::take(input)?;
        Ok(ForeignKey {
            columns,
            references,
            referenced,
            index,
            match_type,
            on_update,
            on_delete,
            on_delete_columns: Field::take(input)?,
            is_period: false,
        })
    }
}

impl Field for RelationKind {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            RelationKind::Table(table) => {
                let is_secured = table.row_security != RowSecurity::default();
                if table.partitioning.is_some() || table.partition_of.is_some() {
                    out.push(9);
                    table.put(out);
                    table.row_security.put(out);
                    table.partitioning.put(out);
                    return table.partition_of.put(out);
                }
                out.push(match (&table.materialized, is_secured) {
                    (None, false) => 1,
                    (Some(_), _) => 6,
                    (None, true) => 8,
                });
                table.put(out);
                match &table.materialized {
                    Some(materialized) => materialized.put(out),
                    None if is_secured => table.row_security.put(out),
                    None => {}
                }
            }
            RelationKind::View(view) => {
                out.push(2);
                view.put(out);
            }
            RelationKind::Index(index) if index.partition_of.is_some() => {
                out.push(10);
                index.put(out);
                index.excludes.put(out);
                index.partition_of.put(out);
            }
            RelationKind::Index(index) => {
                out.push(if index.excludes.is_empty() { 3 } else { 7 });
                index.put(out);
                if !index.excludes.is_empty() {
                    index.excludes.put(out);
                }
            }
            RelationKind::Sequence(sequence) => {
                out.push(4);
                sequence.put(out);
            }
            RelationKind::Composite => out.push(5),
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok(match input.u8()? {
            1 => RelationKind::Table(Field::take(input)?),
            2 => RelationKind::View(Field::take(input)?),
            3 => RelationKind::Index(Field::take(input)?),
            4 => RelationKind::Sequence(Field::take(input)?),
            5 => RelationKind::Composite,
            6 => {
                let table = Field::take(input)?;
                let materialized = Some(Field::take(input)?);
                RelationKind::Table(TableData { materialized, ..table })
            }
            7 => {
                let index: Index = Field::take(input)?;
                let excludes: Vec<Oid> = Field::take(input)?;
                if excludes.len() != index.keys.len() {
                    return damaged("an exclusion constraint without an operator for each key");
                }
                RelationKind::Index(Index { excludes, ..index })
            }
            8 => {
                let table = Field::take(input)?;
                let row_security = Field::take(input)?;
                RelationKind::Table(TableData { row_security, ..table })
            }
            9 => {
                let table = Field::take(input)?;
                let (row_security, partitioning) = Field::take(input)?;
                let partition_of = Field::take(input)?;
                RelationKind::Table(TableData { row_security, partitioning, partition_of, ..table })
            }
            10 => {
                let index: Index = Field::take(input)?;
                let (excludes, partition_of): (Vec<Oid>, _) = Field::take(input)?;
                if !excludes.is_empty() && excludes.len() != index.keys.len() {
                    return damaged("an exclusion constraint without an operator for each key");
                }
                RelationKind::Index(Index { excludes, partition_of, ..index })
            }
            _ => return damaged("a relation of an unknown kind"),
        })
    }
}

/// A key with sort keys has a byte 3 in front of what other keys are.
const SORTED: u8 = 3;

impl Field for IndexKey {
    fn put(&self, out: &mut Vec<u8>) {
        if let Some(sort) = &self.sort {
            out.push(SORTED);
            sort.put(out);
        }
        self.part.put(out);
        (self.ty, self.repr).put(out);
        (self.is_descending, self.nulls_first, self.class.clone()).put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let mut first = input.u8()?;
        let mut sort = None;
        if first == SORTED {
            sort = Some(Field::take(input)?);
            first = input.u8()?;
        }
        let part = IndexPart::of_kind(first, input)?;
        let (ty, repr) = Field::take(input)?;
        let (is_descending, nulls_first, class) = Field::take(input)?;
        Ok(IndexKey { part, ty, repr, is_descending, nulls_first, class, sort })
    }
}

impl IndexPart {
    /// Reads what follows the byte that tells the kind.
    fn of_kind(kind: u8, input: &mut Input<'_>) -> Result<Self> {
        Ok(match kind {
            1 => IndexPart::Column(Field::take(input)?),
            2 => IndexPart::Expr(Field::take(input)?),
            _ => return damaged("a key of an index of an unknown kind"),
        })
    }
}

impl Field for IndexPart {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            IndexPart::Column(attnum) => {
                out.push(1);
                attnum.put(out);
            }
            IndexPart::Expr(expr) => {
                out.push(2);
                expr.put(out);
            }
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let kind = input.u8()?;
        IndexPart::of_kind(kind, input)
    }
}

impl Field for UserTypeKind {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            UserTypeKind::Enum(of) => {
                out.push(1);
                of.put(out);
            }
            UserTypeKind::Domain(domain) => {
                out.push(2);
                domain.put(out);
            }
            UserTypeKind::Range(range) => {
                out.push(3);
                range.put(out);
            }
            UserTypeKind::Multirange(range) => {
                out.push(4);
                range.put(out);
            }
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok(match input.u8()? {
            1 => UserTypeKind::Enum(Field::take(input)?),
            2 => UserTypeKind::Domain(Field::take(input)?),
            3 => UserTypeKind::Range(Field::take(input)?),
            4 => UserTypeKind::Multirange(Field::take(input)?),
            _ => return damaged("a type of an unknown kind"),
        })
    }
}

impl Field for Enum {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.labels.len() as u64);
        for (oid, order, label) in &self.labels {
            (*oid, order.get(), label.clone()).put(out);
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let read: Vec<(Oid, f64, Arc<str>)> = Field::take(input)?;
        let mut labels: Vec<(Oid, EnumOrder, Arc<str>)> = Vec::with_capacity(read.len());
        for (oid, order, label) in read {
            match EnumOrder::new(order) {
                Some(order) if labels.last().is_none_or(|(_, last, _)| *last < order) => {
                    labels.push((oid, order, label));
                }
                _ => return damaged("labels of an enum that are not in order"),
            }
        }
        Ok(Enum::new(labels))
    }
}

impl Field for Constraint {
    fn put(&self, out: &mut Vec<u8>) {
        (self.oid, self.name.clone(), self.on).put(out);
        (self.is_deferrable, self.is_deferred, self.is_validated).put(out);
        if let Some(whole) = self.partition_of {
            out.push(partition::PART);
            whole.put(out);
        }
        self.kind.put(out);
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        let (oid, name, on) = Field::take(input)?;
        let (is_deferrable, is_deferred, is_validated) = Field::take(input)?;
        let partition_of = partition::take_part(input)?;
        let kind = Field::take(input)?;
        Ok(Constraint {
            oid,
            name,
            on,
            is_deferrable,
            is_deferred,
            is_validated,
            kind,
            partition_of,
        })
    }
}

impl Field for ConstraintOn {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            ConstraintOn::Table(oid) => {
                out.push(1);
                oid.put(out);
            }
            ConstraintOn::Domain(ty) => {
                out.push(2);
                ty.put(out);
            }
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok(match input.u8()? {
            1 => ConstraintOn::Table(Field::take(input)?),
            2 => ConstraintOn::Domain(Field::take(input)?),
            _ => return damaged("a constraint on something unknown"),
        })
    }
}

impl Field for ConstraintKind {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            ConstraintKind::Check { expr, columns } => {
                out.push(1);
                expr.put(out);
                columns.put(out);
            }
            ConstraintKind::Key { index, columns, is_primary, is_period } => {
                out.push(if *is_period { 4 } else { 2 });
                index.put(out);
                columns.put(out);
                is_primary.put(out);
            }
            ConstraintKind::Foreign(key) => {
                out.push(if key.is_period { 5 } else { 3 });
                key.put(out);
            }
            ConstraintKind::Exclude { index, columns } => {
                out.push(6);
                index.put(out);
                columns.put(out);
            }
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self> {
        Ok(match input.u8()? {
            1 => ConstraintKind::Check { expr: Field::take(input)?, columns: Field::take(input)? },
            kind @ (2 | 4) => {
                let (index, columns, is_primary) = Field::take(input)?;
                ConstraintKind::Key { index, columns, is_primary, is_period: kind == 4 }
            }
            kind @ (3 | 5) => {
                let key: ForeignKey = Field::take(input)?;
                ConstraintKind::Foreign(ForeignKey { is_period: kind == 5, ..key })
            }
            6 => {
                ConstraintKind::Exclude { index: Field::take(input)?, columns: Field::take(input)? }
            }
            _ => return damaged("a constraint of an unknown kind"),
        })
    }
}
