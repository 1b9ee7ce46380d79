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
//! Entries are rows of a table like any other, so DDL is transactional and has a past. What is read
//! is never those rows but a [`Catalog`]: all entries as of one commit, in memory, found by number and
//! by name, shared and never changed. The newest one is kept by the [`CatalogCache`], which makes those
//! of the past when somebody reads there.
//!
//! A transaction that changes the catalog has a [`Draft`]: a catalog of its own, which shares with the
//! newest one what it has not touched. Every change goes into the transaction's writes at once, and
//! the commit's hook makes the draft's changes part of the newest catalog just before the commit
//! becomes visible. A savepoint of a draft is a copy of its catalog, which costs next to nothing.
//!
//! | module | is |
//! |---|---|
//! | `relation`, `entry`, `acl`, `object` | what the entries say |
//! | `version` | [`Catalog`]: entries by number and name as of one commit |
//! | `map` | the maps that it is made of |
//! | `depend` | what depends on what |

mod acl;
mod depend;
mod entry;
mod map;
mod object;
mod relation;
mod version;

pub use acl::{Acl, AclItem, Privileges};
pub use depend::{Dependence, Reference};
pub use entry::{
    Action, Comment, Constraint, ConstraintKind, ConstraintOn, Database, DefaultAcl, Domain, Entry,
    Enum, ForeignKey, MatchType, Membership, Role, RoleFlags, Schema, Settings, UserType,
    UserTypeKind,
};
pub use object::{Address, Class, NamePlace, SqlText};
pub use relation::{
    CheckOption, Column, ColumnDefault, Identity, Index, IndexKey, IndexMethod, IndexPart, OwnedBy,
    Persistence, Relation, RelationKind, RowType, Sequence, TableData, View,
};
pub use version::{Catalog, TableDef, TypeEntry};
