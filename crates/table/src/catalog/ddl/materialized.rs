//! Materialized views: tables whose rows are those of a query, as of the last refresh.
//!
//! ```text
//!   CREATE ... WITH NO DATA   not populated    empty storage
//!   CREATE ... WITH DATA      populated        the rows of the query
//!   REFRESH                   populated        a new storage with the rows of the query
//!   REFRESH CONCURRENTLY      populated        the storage that it has: only rows that differ are written
//!   REFRESH ... WITH NO DATA  not populated    a new, empty storage
//! ```
//!
//! The storage before a refresh is retired as `TRUNCATE` does it, so snapshots and `AS OF` go on reading it.

use std::sync::Arc;

use ::types::{Oid, SqlState};

use super::{Address, Ddl, NewTable, Privileges, Relation, RelationKind};
use crate::catalog::Materialized;
use crate::{Error, Result};

impl Ddl<'_> {
    /// Makes a materialized view, which is about to get the rows of its query where `materialized` says that
    /// it is populated. `new` has no constraints.
    ///
    /// # Errors
    /// 42P07 where the name is taken.
    pub fn create_materialized_view(
        &mut self,
        new: NewTable,
        materialized: Materialized,
    ) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            let made = ddl.create_table(new)?;
            ddl.rely_on_text(&materialized.query)?;
            ddl.put_materialized(&made, materialized)
        })
    }

    /// Gives a materialized view an empty storage, which is about to get the rows of its query
    /// where `is_populated` is set.
    ///
    /// # Errors
    /// 42501 where the role may not maintain it.
    pub fn refresh(&mut self, view: Oid, is_populated: bool) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            ddl.check_may_refresh(view)?;
            ddl.renew_storage(view)?;
            ddl.renew_method(view)?;
            let relation = ddl.relation_to_change(view)?;
            let Some(materialized) = relation.materialized().cloned() else {
                let message = format!("\"{}\" is not a materialized view", relation.name);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            };
            ddl.put_materialized(&relation, Materialized { is_populated, ..materialized })
        })
    }

    /// Fails if the role may not refresh a materialized view.
    ///
    /// # Errors
    /// 42501.
    pub fn check_may_refresh(&self, view: Oid) -> Result<()> {
        self.check_privilege(Address::relation(view), Privileges::MAINTAIN)
    }

    fn put_materialized(
        &mut self,
        relation: &Relation,
        materialized: Materialized,
    ) -> Result<Arc<Relation>> {
        let mut relation = relation.clone();
        if let RelationKind::Table(data) = &mut relation.kind {
            data.materialized = Some(materialized);
        }
        self.put_relation(relation)
    }
}
