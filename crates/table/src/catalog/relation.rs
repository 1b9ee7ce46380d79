//! Relations: tables, views, indexes, sequences and composite types. They share one space of names in
//! a schema, as in PostgreSQL's `pg_class`.

use std::sync::Arc;

use store::{Retention, TableId};
use types::{Datum, Field, Modifier, Oid, Repr, Type};

use super::{Acl, PartitionOf, Partitioning, SqlText};

/// A relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// Its OID.
    pub oid: Oid,
    /// The schema that it is in.
    pub schema: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// The role that owns it.
    pub owner: Oid,
    /// The privileges of roles; `None` for the owner's defaults.
    pub acl: Option<Acl>,
    /// How long it lives.
    pub persistence: Persistence,
    /// The types of its rows and of arrays of them; none for indexes and sequences.
    pub row_type: Option<RowType>,
    /// Its columns, the dropped ones too: the column with number n is at n - 1. An index has those
    /// of its keys and then those that it includes.
    pub columns: Vec<Column>,
    /// Storage parameters as they were given, such as `fillfactor`.
    pub options: Vec<(Arc<str>, Arc<str>)>,
    /// Its kind, with the data that only this kind has.
    pub kind: RelationKind,
}

/// How long a relation lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Persistence {
    /// Until it is dropped.
    #[default]
    Permanent = b'p',
    /// As `Permanent`.
    Unlogged = b'u',
    /// Until the session that made it ends.
    Temporary = b't',
}

/// The kind of a relation.
#[derive(Clone, Debug, PartialEq)]
pub enum RelationKind {
    /// A table, or a materialized view.
    Table(TableData),
    /// A view.
    View(View),
    /// An index.
    Index(Index),
    /// A sequence.
    Sequence(Sequence),
    /// A composite type made by `CREATE TYPE ... AS (...)`.
    Composite,
}

/// The type of a relation's rows, and that of arrays of them. The former has the relation's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowType {
    /// The type of the rows.
    pub ty: Type,
    /// The type of arrays of them.
    pub array: Type,
    /// The name of the array type: `_` and the relation's name, unless that was taken.
    pub array_name: Arc<str>,
}

/// A column of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its number, from 1, which it keeps for ever.
    pub attnum: i16,
    /// Its name; of a dropped column `........pg.dropped.N........`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// The modifier of the type.
    pub modifier: Modifier,
    /// The representation of values in rows. It stays the same when the column is dropped, and its type with it.
    pub repr: Repr,
    /// The collation; none for types that have none.
    pub collation: Oid,
    /// True for `NOT NULL`.
    pub not_null: bool,
    /// True if it was dropped: it keeps its position, and new rows have NULL there.
    pub is_dropped: bool,
    /// The value of a new row that gives none.
    pub default: Option<ColumnDefault>,
    /// Values come from a sequence.
    pub identity: Option<Identity>,
    /// The value that it has in rows that were written before it was added; NULL where there is none.
    pub missing: Option<Datum>,
    /// Privileges on this column alone.
    pub acl: Option<Acl>,
}

/// The default of a column, or the expression that generates it: a row of `pg_attrdef`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefault {
    /// Its OID.
    pub oid: Oid,
    /// The expression.
    pub expr: SqlText,
    /// True for `GENERATED ALWAYS AS (...) STORED`: no other value is taken.
    pub is_generated: bool,
}

/// `GENERATED ... AS IDENTITY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The sequence that gives the values.
    pub sequence: Oid,
    /// True for `ALWAYS`, false for `BY DEFAULT`.
    pub is_always: bool,
}

/// The data that only a table has.
#[derive(Clone, Debug, PartialEq)]
pub struct TableData {
    /// The table of the store that has its rows. `TRUNCATE`, and every statement that writes all rows anew, replaces it.
    pub storage: TableId,
    /// The version of new rows. Every added column increments it.
    pub row_version: u32,
    /// The columns by whose values rows are keyed; empty where they have hidden row ids.
    pub keyed_by: Vec<i16>,
    /// How much of its past is kept.
    pub history: Retention,
    /// The commit before which nothing is kept, whatever `history` says.
    pub forgotten: u64,
    /// Its access method.
    pub method: MethodData,
    /// The query of a materialized view; `None` for a table.
    pub materialized: Option<Materialized>,
    /// Whether row-level security is enabled.
    pub row_security: RowSecurity,
    /// The partition key and the partitions of a partitioned table.
    pub partitioning: Option<Partitioning>,
    /// The parent table and the bound of a partition.
    pub partition_of: Option<PartitionOf>,
}

/// Whether the policies of a table apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RowSecurity {
    /// `ENABLE ROW LEVEL SECURITY`: they apply to all roles but the owner.
    pub is_enabled: bool,
    /// `FORCE ROW LEVEL SECURITY`: if they are enabled, they apply to the owner too.
    pub is_forced: bool,
}

/// The data of a materialized view beside those of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Materialized {
    /// The query that a refresh runs. Its columns are taken by position.
    pub query: SqlText,
    /// False before the first refresh, and after `WITH NO DATA`: it cannot be read then.
    pub is_populated: bool,
}

/// The catalog's data for the access method of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodData {
    /// The access method, by its number in `pg_am`.
    pub oid: Oid,
    /// The tables of the store that the method has beside that of the rows. `TRUNCATE` replaces them.
    pub storages: Vec<TableId>,
    /// The settings, which only the method reads.
    pub settings: Vec<u8>,
}

/// The data that only a view has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The query. Its columns are taken by position; their names are those of the relation.
    pub query: SqlText,
    /// The condition for rows that are written through it.
    pub check: CheckOption,
}

/// `WITH CHECK OPTION` of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum CheckOption {
    /// Nothing.
    #[default]
    None = 0,
    /// They are visible through this view.
    Local = 1,
    /// They are visible through this view and the views below it.
    Cascaded = 2,
}

/// The data that only an index has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The table.
    pub table: Oid,
    /// The table of the store that has its entries; `None` for the primary key by which the table's rows are keyed.
    pub storage: Option<TableId>,
    /// How it is searched.
    pub method: IndexMethod,
    /// The keys that it orders by.
    pub keys: Vec<IndexKey>,
    /// The columns of `INCLUDE`.
    pub include: Vec<i16>,
    /// Which rows are in it; none for all.
    pub predicate: Option<SqlText>,
    /// True if two rows may not have equal keys.
    pub is_unique: bool,
    /// True if NULLs are different from one another.
    pub nulls_distinct: bool,
    /// True for the primary key.
    pub is_primary: bool,
    /// False if uniqueness is checked at the end of the statement or later (deferrable).
    pub is_immediate: bool,
    /// False while it is being built: it is written to, and not read.
    pub is_valid: bool,
    /// True if every version that the table's rows ever had has its entry, also versions that had ended before the
    /// index was made.
    pub is_whole: bool,
    /// The constraint that it stands for.
    pub constraint: Option<Oid>,
    /// The operators of an exclusion constraint, one for each key: no two rows may have keys for which all operators
    /// are true. Empty for other indexes.
    pub excludes: Vec<Oid>,
    /// The index of the partitioned table that it is a part of.
    pub partition_of: Option<Oid>,
}

/// How an index is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum IndexMethod {
    /// By order: equality, ranges, sorting. So are `hash` indexes.
    Btree = 1,
    /// An index by `USING hash`: kept in order, searched by equality.
    Hash = 2,
    /// By the items that values are made of: elements of arrays, keys and values of `jsonb`.
    Gin = 3,
    /// Not searched: its columns are read instead of rows.
    Columnar = 4,
    /// By intervals, below keys that are equal.
    Gist = 5,
    /// An index by `USING brin`: kept in order.
    Brin = 6,
    /// By the values of each column, any of which may be asked for.
    Bloom = 7,
    /// An index by `USING spgist`: intervals as `gist` has them, and text in order.
    Spgist = 8,
}

/// A key of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexKey {
    /// The part of the row.
    pub part: IndexPart,
    /// The type of its values.
    pub ty: Type,
    /// The representation of its values.
    pub repr: Repr,
    /// True for `DESC`.
    pub is_descending: bool,
    /// True for `NULLS FIRST`.
    pub nulls_first: bool,
    /// The operator class, where not the default one: `jsonb_path_ops`, `text_pattern_ops`.
    pub class: Option<Arc<str>>,
    /// The sort keys of its texts; `None` if texts are ordered by their bytes, as in indexes of earlier releases.
    pub sort: Option<SortForm>,
}

/// The rules of a language by which an index orders texts: its entries have sort keys ([`collate::Collation`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortForm {
    /// The locale.
    pub locale: Arc<str>,
    /// True if the text follows the sort key, so that only identical texts are equal.
    pub is_deterministic: bool,
    /// The version of the tables that the sort keys were made with.
    pub version: Arc<str>,
}

impl SortForm {
    /// True if sort keys that are made now can be compared with those of the index.
    pub fn is_current(&self) -> bool {
        *self.version == *collate::VERSION
    }
}

/// The part of the row that is a key of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// A column, by its number.
    Column(i16),
    /// An expression over the row.
    Expr(SqlText),
}

/// The data that only a sequence has. Its position is a row of its storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Where its state lies.
    pub storage: TableId,
    /// `smallint`, `integer` or `bigint`.
    pub data_type: Type,
    /// The first value.
    pub start: i64,
    /// The difference between two values; may be negative.
    pub increment: i64,
    /// The smallest value.
    pub min: i64,
    /// The largest value.
    pub max: i64,
    /// How many values a session takes at once.
    pub cache: i64,
    /// True for `CYCLE`.
    pub cycle: bool,
    /// The column with which it is dropped.
    pub owned_by: Option<OwnedBy>,
}

/// The column that a sequence belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedBy {
    /// The table.
    pub table: Oid,
    /// The number of the column.
    pub attnum: i16,
    /// True if it is the sequence of an identity column: it cannot be dropped alone.
    pub is_identity: bool,
}

impl Relation {
    /// Returns the name of the relation's kind in messages: `table`, `view`, `index`.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            RelationKind::Table(_) if self.materialized().is_some() => "materialized view",
            RelationKind::Table(_) => "table",
            RelationKind::View(_) => "view",
            RelationKind::Index(_) => "index",
            RelationKind::Sequence(_) => "sequence",
            RelationKind::Composite => "composite type",
        }
    }

    /// The letter of the kind: `relkind` of `pg_class`.
    pub fn kind_letter(&self) -> char {
        match self.kind {
            RelationKind::Table(_) if self.materialized().is_some() => 'm',
            RelationKind::Table(_) if self.partitioning().is_some() => 'p',
            RelationKind::Table(_) => 'r',
            RelationKind::View(_) => 'v',
            RelationKind::Index(_) => 'i',
            RelationKind::Sequence(_) => 'S',
            RelationKind::Composite => 'c',
        }
    }

    /// Returns the data of a table or a materialized view; none for other relations.
    pub fn table(&self) -> Option<&TableData> {
        if let RelationKind::Table(table) = &self.kind { Some(table) } else { None }
    }

    /// Returns the data of a materialized view; none for other relations.
    pub fn materialized(&self) -> Option<&Materialized> {
        self.table()?.materialized.as_ref()
    }

    /// True for a table whose rows statements may change.
    pub fn is_plain_table(&self) -> bool {
        self.table().is_some_and(|table| table.materialized.is_none())
    }

    /// The query of a view or a materialized view.
    pub fn query(&self) -> Option<&SqlText> {
        match &self.kind {
            RelationKind::View(view) => Some(&view.query),
            _ => self.materialized().map(|materialized| &materialized.query),
        }
    }

    /// Returns the data of a view; none for other relations.
    pub fn view(&self) -> Option<&View> {
        if let RelationKind::View(view) = &self.kind { Some(view) } else { None }
    }

    /// Returns the data of an index; none for other relations.
    pub fn index(&self) -> Option<&Index> {
        if let RelationKind::Index(index) = &self.kind { Some(index) } else { None }
    }

    /// Returns the data of a sequence; none for other relations.
    pub fn sequence(&self) -> Option<&Sequence> {
        if let RelationKind::Sequence(sequence) = &self.kind { Some(sequence) } else { None }
    }

    /// Where its rows, entries or state lie.
    pub fn storage(&self) -> Option<TableId> {
        match &self.kind {
            RelationKind::Table(table) => Some(table.storage),
            RelationKind::Index(index) => index.storage,
            RelationKind::Sequence(sequence) => Some(sequence.storage),
            RelationKind::View(_) | RelationKind::Composite => None,
        }
    }

    /// True for a relation whose past is not readable once the relation is dropped: a temporary one, or a sequence.
    /// The catalog keeps no record of the tables of the store that such a relation gives up.
    pub(crate) fn has_no_past(&self) -> bool {
        self.persistence == Persistence::Temporary || matches!(self.kind, RelationKind::Sequence(_))
    }

    /// All tables of the store that it has: [`Relation::storage`], and those of its access method.
    pub fn storages(&self) -> impl Iterator<Item = TableId> {
        let of_method = self.table().map_or(&[][..], |table| &table.method.storages);
        self.storage().into_iter().chain(of_method.iter().copied())
    }

    /// The columns that were not dropped.
    pub fn live_columns(&self) -> impl DoubleEndedIterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.is_dropped)
    }

    /// The column with this number, where it is there.
    pub fn column(&self, attnum: i16) -> Option<&Column> {
        let at = usize::try_from(attnum).ok()?.checked_sub(1)?;
        self.columns.get(at).filter(|column| !column.is_dropped)
    }

    /// The column with this name, where it is there.
    pub fn column_named(&self, name: &str) -> Option<&Column> {
        self.live_columns().find(|column| *column.name == *name)
    }

    /// The columns that were not dropped, as fields of a composite type.
    pub fn fields(&self) -> Arc<[Field]> {
        let field = |column: &Column| Field {
            name: column.name.clone(),
            ty: column.ty,
            modifier: column.modifier,
        };
        self.live_columns().map(field).collect()
    }
}
