//! `pg_stat_statements`: the costs of statements. The session has the figures.

use crate::function::{Default, Function, signatures};

/// The names of the arguments of its function.
pub(crate) const ARGUMENTS: (u32, &[&str]) = (8964, &["userid", "dbid", "queryid", "minmax_only"]);

pub(crate) const OF_SESSION: &[Function] = signatures! { Server
    8964 pg_stat_statements_reset(OID, OID, INT8, BOOL) -> TIMESTAMPTZ
        [volatile, defaults = &[Default::Int(0), Default::Int(0), Default::Int(0), Default::Bool(false)]];
};
