//! The catalog: which databases, schemas, tables, types, roles there are and were, at any commit.
//!
//! ```text
//!   table 0x4000_0000   "r" oid -> a relation    "c" oid -> a constraint    ...    "v" -> next OID
//!
//!   csn          10              20              30              40
//!   "v"          put             put                             put
//!   Catalog      ├── of 10 ──────┼── of 20 ──────────────────────┼── of 40        one for each "v"
//!   reads at        15 ↑              25 ↑            35 ↑
//! ```
//!
//! Entries are rows of a table like any other, so DDL is transactional and has a past. Readers
//! never read those rows but a [`Catalog`]: all entries as of one commit, in memory, found by
//! number and by name, shared and never changed. The [`CatalogCache`] keeps the newest one, and
//! makes those of the past when a reader asks for them.
//!
//! A transaction that changes the catalog has a [`Draft`]: a catalog of its own, which shares with the
//! newest one what it has not touched. Every change goes into the transaction's writes at once, and
//! the commit's hook makes the draft's changes part of the newest catalog just before the commit
//! becomes visible. A savepoint of a draft is a copy of its catalog, which costs next to nothing.
//!
//! | module | is |
//! |---|---|
//! | `relation`, `entry`, `acl`, `object` | what the entries say |
//! | `partition` | partitions, and which of them a row is in |
//! | `record` | entries as bytes |
//! | `version` | [`Catalog`]: entries by number and name as of one commit |
//! | `map` | the maps that it is made of |
//! | `depend` | what depends on what |
//! | `extension` | the extensions of a database, and whose an object is |
//! | `cache` | the newest catalog, and some of the past |
//! | `draft` | [`Draft`]: the catalog of a transaction that changes it |
//! | `ddl` | [`Ddl`](ddl::Ddl): the statements that change it |
//! | `scope` | names along a search path, and in messages |
//! | `privilege` | who may do what |
//! | `bootstrap` | what a new database comes with |

mod acl;
mod bootstrap;
mod cache;
pub mod ddl;
mod depend;
mod draft;
mod entry;
mod extension;
mod map;
mod object;
mod partition;
mod privilege;
mod record;
mod relation;
mod scope;
#[cfg(test)]
mod tests;
mod version;

pub use acl::{Acl, AclItem, Privileges};
pub use bootstrap::{
    DATABASE_OWNER_ROLE, INFORMATION_SCHEMA, PG_CATALOG, POSTGRES_DATABASE, POSTGRES_ROLE, PUBLIC,
};
pub use cache::CatalogCache;
pub use depend::{Dependence, Reference};
pub(crate) use draft::Change;
pub use draft::{Draft, DraftSavepoint};
pub use entry::{
    Action, Collation, CollationProvider, Comment, Constraint, ConstraintKind, ConstraintOn,
    Database, DefaultAcl, Domain, Entry, Enum, Extension, ForeignKey, MatchType, Membership,
    Policy, PolicyCommand, RangeType, Role, RoleFlags, Schema, Settings, UserType, UserTypeKind,
};
pub use object::{Address, Class, NamePlace, SqlText};
pub(crate) use partition::Clash;
pub use partition::{
    PartitionBound, PartitionKey, PartitionOf, PartitionStrategy, Partitioning, RangeEnd, Router,
};
pub(crate) use record::{CATALOG, Record, decode, key_of};
pub use relation::{
    CheckOption, Column, ColumnDefault, Identity, Index, IndexKey, IndexMethod, IndexPart,
    Materialized, MethodData, OwnedBy, Persistence, Relation, RelationKind, RowSecurity, RowType,
    Sequence, SortForm, TableData, View,
};
pub use scope::Scope;
pub(crate) use version::Key;
pub use version::{Catalog, TableDef, TypeEntry};
