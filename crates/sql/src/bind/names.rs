//! The binder's view of the catalog: relations and types by name, at one moment.
//!
//! The catalog of a transaction implements [`Names`]; tests have a small one of their own. Schemas
//! are searched by the implementation: a name without a schema is looked for along the search
//! path, `pg_catalog` first.

use std::sync::Arc;

use types::time::TimestampTz;
use types::{Modifier, Oid, Origins, SqlState, Type, TypeSource};

/// The names that a statement may use.
pub trait Names: TypeSource {
    /// The relation with this name, in this schema or along the search path.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>>;

    /// The type that a user made under this name.
    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<Type>;

    /// True for the name of the database that all these are in.
    fn is_database(&self, _name: &str) -> bool {
        false
    }

    /// True if there is such a schema.
    fn has_schema(&self, name: &str) -> bool;

    /// Where functions and operators are looked for that are named with this schema.
    fn origins_in(&self, _schema: &str) -> Origins {
        Origins::CORE
    }

    /// All origins that the database has, whatever the search path.
    fn all_origins(&self) -> Origins {
        Origins::CORE
    }

    /// False if the role that runs the statement may not use this schema.
    fn may_use_schema(&self, _name: &str) -> bool {
        true
    }

    /// The collation with this name, in this schema or along the search path.
    fn collation_named(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        let is_meant = schema.is_none_or(|schema| schema == "pg_catalog");
        collate::named(name).filter(|_| is_meant).map(|known| Oid(known.oid))
    }

    /// The collation with this number.
    fn collation(&self, oid: Oid) -> Option<Collation> {
        collate::numbered(oid.0).map(Collation::of_system)
    }

    /// The name of a collation as SQL writes it.
    fn collation_shown(&self, oid: Oid) -> Option<String> {
        let known = collate::numbered(oid.0)?;
        Some(scalar::quote::identifier(&known.name))
    }

    /// The time at which tables are read unless the statement says another; none for the present.
    fn moment(&self) -> Option<TimestampTz> {
        None
    }

    /// The policies of a table that are about a role: `by`, or without one the role that runs the statement. `None`
    /// where the role sees and writes all rows.
    fn policies(&self, _table: Oid, _by: Option<Oid>) -> Option<Vec<Policy>> {
        None
    }

    /// The relation whose rows are those of files: of the kind [`RelationKind::System`].
    ///
    /// # Errors
    /// 42501 where the role that runs the statement may not read files, 58P01 where there is no such
    /// file, and what its reader reports.
    fn file(&self, call: &FileCall<'_>) -> types::Result<Arc<Relation>> {
        let message = format!("{} is not supported here", call.reader);
        Err(types::Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    }
}

/// A collation, as the binder sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collation {
    /// Its name.
    pub name: Arc<str>,
    /// The locale by whose rules texts are ordered; none for the order of bytes.
    pub locale: Option<Arc<str>>,
    /// False if texts can be equal that are not the same.
    pub is_deterministic: bool,
}

impl Collation {
    /// One of those that every database has.
    pub fn of_system(known: &collate::System) -> Self {
        let is_icu = known.provider == collate::Provider::Icu;
        Collation {
            name: known.name.as_str().into(),
            locale: known.locale.filter(|_| is_icu).map(Arc::from),
            is_deterministic: true,
        }
    }
}

/// A call in `FROM` that stands for the rows of files: `read_csv('a-*.csv', header => true)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileCall<'a> {
    /// The function: one of [`FILE_READERS`].
    pub reader: &'a str,
    /// The files: paths, in which `*`, `?` and `[...]` stand for several.
    pub paths: Vec<&'a str>,
    /// The options by name.
    pub options: Vec<(&'a str, FileOption<'a>)>,
}

/// The value of an option of a [`FileCall`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileOption<'a> {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(&'a str),
}

/// The functions that read files.
pub const FILE_READERS: [&str; 4] = ["read_parquet", "read_csv", "read_json", "read_arrow"];

/// A table or view, as the binder sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct Relation {
    /// Its OID.
    pub oid: Oid,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its owner: what a view shows is read in the owner's name.
    pub owner: Oid,
    /// The kind of relation.
    pub kind: RelationKind,
    /// The type of its rows.
    pub row_type: Type,
    /// Its columns, without those that were dropped.
    pub columns: Vec<RelationColumn>,
    /// Its unique indexes, the primary key among them.
    pub unique: Vec<UniqueIndex>,
    /// True if its past is kept.
    pub versioned: bool,
    /// For a view: the check of rows that are written through it.
    pub check: CheckOption,
    /// For a view: `security_barrier`, no condition may reveal the rows that it leaves out.
    pub is_barrier: bool,
    /// For a view: `security_invoker`, its relations are read with the rights of the role that uses
    /// the view, and not of the owner.
    pub is_of_invoker: bool,
}

/// A policy of row-level security.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// True if it lets rows through, false if it keeps rows back.
    pub is_permissive: bool,
    /// The statements that it is about; none for all.
    pub command: Option<PolicyCommand>,
    /// The condition on visible rows, by its text.
    pub using: Option<String>,
    /// The condition on written rows, by its text.
    pub check: Option<String>,
}

/// A statement that a policy may be about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyCommand {
    /// `SELECT`
    Select,
    /// `INSERT`
    Insert,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
}

/// `WITH CHECK OPTION` of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CheckOption {
    /// Nothing.
    #[default]
    None,
    /// The view shows them.
    Local,
    /// The view shows them, and all views below it show them too.
    Cascaded,
}

/// The kind of a relation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RelationKind {
    /// A table.
    Table,
    /// A materialized view: read as a table, and not changed.
    Materialized {
        /// False if it cannot be read before a refresh.
        is_populated: bool,
    },
    /// A view, by the text of its query.
    View(String),
    /// A table of `pg_catalog` or `information_schema`, which is computed.
    System,
    /// A sequence: its one row can be read.
    Sequence,
    /// An index, which cannot be read as a table.
    Index,
    /// A composite type, which has no rows.
    CompositeType,
}

/// A column of a relation.
#[derive(Clone, PartialEq, Debug)]
pub struct RelationColumn {
    /// Its number, which it keeps for ever.
    pub attnum: i16,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The modifier of the type.
    pub modifier: Modifier,
    /// The collation; none for that of the type.
    pub collation: Oid,
    /// True if NULL is refused.
    pub not_null: bool,
    /// The value that it has where none is given.
    pub default: ColumnDefault,
}

impl RelationColumn {
    /// Returns a column that takes NULL and has no default.
    pub fn plain(attnum: i16, name: impl Into<String>, ty: Type, modifier: Modifier) -> Self {
        let (name, not_null, default) = (name.into(), false, ColumnDefault::None);
        let collation = Oid::NONE;
        RelationColumn { attnum, name, ty, modifier, collation, not_null, default }
    }
}

/// The value of a column where none is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ColumnDefault {
    /// NULL.
    None,
    /// An expression, by its text.
    Expr(String),
    /// The next value of a sequence.
    Identity {
        /// The sequence.
        sequence: Oid,
        /// True for `GENERATED ALWAYS`: a value is taken only with `OVERRIDING SYSTEM VALUE`.
        always: bool,
    },
    /// An expression over the other columns, by its text; no value is taken.
    Generated(String),
}

/// A unique index, or that of an exclusion constraint.
#[derive(Clone, PartialEq, Debug)]
pub struct UniqueIndex {
    /// Its OID.
    pub oid: Oid,
    /// The name of its constraint; none for an index that is no constraint.
    pub constraint: Option<String>,
    /// True for the primary key.
    pub primary: bool,
    /// Its keys.
    pub keys: Vec<IndexKey>,
    /// Which rows are in it, by the text of the predicate; none for all.
    pub predicate: Option<String>,
    /// True if the constraint is deferrable, and decides no conflicts.
    pub deferrable: bool,
    /// True if rows exclude each other by other operators than `=`.
    pub excludes: bool,
}

/// A key of an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexKey {
    /// A column, by its number.
    Column(i16),
    /// An expression, by its text.
    Expr(String),
}

impl Relation {
    /// The columns of the primary key; empty where there is none.
    pub fn primary_key(&self) -> Vec<i16> {
        let primary = self.unique.iter().find(|index| index.primary && !index.deferrable);
        primary
            .into_iter()
            .flat_map(|index| &index.keys)
            .filter_map(|key| match key {
                IndexKey::Column(attnum) => Some(*attnum),
                IndexKey::Expr(_) => None,
            })
            .collect()
    }

    /// The name of the kind in messages: `table`, `view`, `index`.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            RelationKind::Table | RelationKind::System => "table",
            RelationKind::View(_) => "view",
            RelationKind::Materialized { .. } => "materialized view",
            RelationKind::Sequence => "sequence",
            RelationKind::Index => "index",
            RelationKind::CompositeType => "composite type",
        }
    }
}
