//! The actions of `ALTER TABLE`, `ALTER TYPE` and `ALTER DOMAIN`.

use super::{
    ColumnConstraint, ColumnDefinition, Name, PartitionBound, Path, SequenceOption, SqlExpr,
    StorageOption, TableConstraint, Timing, TypeName,
};

/// An action of `ALTER TABLE`.
#[derive(Clone, PartialEq, Debug)]
pub enum Alter {
    /// `ADD COLUMN`
    AddColumn {
        /// The column.
        column: ColumnDefinition,
        /// True for `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `DROP COLUMN`
    DropColumn {
        /// Its name.
        name: Name,
        /// True for `IF EXISTS`.
        if_exists: bool,
        /// True for `CASCADE`.
        cascade: bool,
    },
    /// `ENABLE`, `DISABLE`, `FORCE` or `NO FORCE` `ROW LEVEL SECURITY`: whether policies are in force, and whether
    /// they are for the owner.
    RowSecurity {
        /// `ENABLE`, `DISABLE`
        is_enabled: Option<bool>,
        /// `FORCE`, `NO FORCE`
        is_forced: Option<bool>,
    },
    /// `ALTER COLUMN ... TYPE`
    ColumnType {
        /// The column.
        name: Name,
        /// The type.
        ty: TypeName,
        /// `COLLATE`
        collation: Option<Path>,
        /// `USING`
        using: Option<SqlExpr>,
    },
    /// `ALTER COLUMN ... SET EXPRESSION AS (...)`
    Expression(Name, SqlExpr),
    /// `ALTER COLUMN ... SET DEFAULT`; `None` for `DROP DEFAULT`.
    Default(Name, Option<SqlExpr>),
    /// `ALTER COLUMN ... {SET | DROP} NOT NULL`
    NotNull(Name, bool),
    /// `ALTER COLUMN ... DROP EXPRESSION`
    DropExpression(Name, bool),
    /// `ALTER COLUMN ... ADD GENERATED ... AS IDENTITY`
    AddIdentity(Name, bool, Vec<SequenceOption>),
    /// `ALTER COLUMN ... SET GENERATED ...`, and the options of its sequence.
    SetIdentity(Name, Option<bool>, Vec<SequenceOption>),
    /// `ALTER COLUMN ... DROP IDENTITY`
    DropIdentity(Name, bool),
    /// An action without a visible effect: `SET STATISTICS`, `SET STORAGE` ...
    Ignored,
    /// `ADD constraint`
    AddConstraint(TableConstraint),
    /// `DROP CONSTRAINT`
    DropConstraint {
        /// Its name.
        name: Name,
        /// True for `IF EXISTS`.
        if_exists: bool,
        /// True for `CASCADE`.
        cascade: bool,
    },
    /// `VALIDATE CONSTRAINT`
    Validate(Name),
    /// `ALTER CONSTRAINT`
    AlterConstraint(Name, Timing),
    /// `SET (...)`
    SetOptions(Vec<StorageOption>),
    /// `RESET (...)`
    ResetOptions(Vec<String>),
    /// `SET ACCESS METHOD`; `None` for `DEFAULT`.
    SetMethod(Option<Name>),
    /// `OWNER TO`
    Owner(Name),
    /// `RENAME TO`
    Rename(Name),
    /// `RENAME COLUMN ... TO`
    RenameColumn(Name, Name),
    /// `RENAME CONSTRAINT ... TO`
    RenameConstraint(Name, Name),
    /// `SET SCHEMA`
    SetSchema(Name),
    /// `ATTACH PARTITION`
    Attach {
        /// The table, or the index, that becomes a partition.
        partition: Path,
        /// The rows that are for it; `None` for an index.
        bound: Option<PartitionBound>,
    },
    /// `DETACH PARTITION`
    Detach {
        /// The partition.
        partition: Path,
        /// True for `CONCURRENTLY`.
        concurrently: bool,
    },
    /// An action that is not supported: its words.
    Unsupported(String),
}

/// A change of an enum by `ALTER TYPE`.
#[derive(Clone, PartialEq, Debug)]
pub enum EnumChange {
    /// `ADD VALUE`
    Add {
        /// The label.
        label: String,
        /// True for `IF NOT EXISTS`.
        if_not_exists: bool,
        /// The label that it stands next to, and true for `BEFORE`.
        next_to: Option<(String, bool)>,
    },
    /// `RENAME VALUE`
    Rename(String, String),
}

/// A change of a domain by `ALTER DOMAIN`.
#[derive(Clone, PartialEq, Debug)]
pub enum DomainChange {
    /// `SET DEFAULT`; `None` for `DROP DEFAULT`.
    Default(Option<SqlExpr>),
    /// `{SET | DROP} NOT NULL`
    NotNull(bool),
    /// `ADD constraint`
    AddConstraint(ColumnConstraint),
    /// `DROP CONSTRAINT`
    DropConstraint {
        /// Its name.
        name: Name,
        /// True for `IF EXISTS`.
        if_exists: bool,
        /// True for `CASCADE`.
        cascade: bool,
    },
    /// `RENAME CONSTRAINT`
    RenameConstraint(Name, Name),
    /// `VALIDATE CONSTRAINT`
    Validate(Name),
}
