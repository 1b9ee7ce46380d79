//! `pg_snapshot` and `txid_snapshot`: the transactions in a snapshot.

use types::snapshot::Visibility;
use types::{Datum, DatumRef, Result};

use crate::function::{Argument, Function, functions, sets};
use crate::rows::Rows;

impl<'a> Argument<'a> for Visibility {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        Visibility::parse(<&str>::read(value)?)
    }
}

fn running(snapshot: Visibility) -> Rows {
    Box::new(snapshot.running.into_iter().map(|number| Ok(Datum::Int8(number as i64))))
}

pub(crate) const TABLE: &[Function] = functions! {
    2945 txid_snapshot_xmin(TXID_SNAPSHOT) -> INT8 = (a: Visibility) a.xmin as i64;
    2946 txid_snapshot_xmax(TXID_SNAPSHOT) -> INT8 = (a: Visibility) a.xmax as i64;
    2948 txid_visible_in_snapshot(INT8, TXID_SNAPSHOT) -> BOOL = (number: i64, a: Visibility)
        a.has(number as u64);
    5062 pg_snapshot_xmin(PG_SNAPSHOT) -> XID8 = (a: Visibility) a.xmin as i64;
    5063 pg_snapshot_xmax(PG_SNAPSHOT) -> XID8 = (a: Visibility) a.xmax as i64;
    5065 pg_visible_in_snapshot(XID8, PG_SNAPSHOT) -> BOOL = (number: i64, a: Visibility)
        a.has(number as u64);
};

pub(crate) const SETS: &[Function] = sets! {
    2947 txid_snapshot_xip(TXID_SNAPSHOT) -> INT8 = (_call; a: Visibility) Ok(running(a));
    5064 pg_snapshot_xip(PG_SNAPSHOT) -> XID8 = (_call; a: Visibility) Ok(running(a));
};
