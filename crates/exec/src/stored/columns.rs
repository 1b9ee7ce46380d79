//! Scans of columnar indexes in the place of their tables.
//!
//! ```text
//!   csn        10          20  CREATE INDEX        30          now
//!   t          rows ───────────────────────────────────────────
//!   index                  entries ────────────────────────────
//!   AS OF      15: rows                            30: entries
//! ```
//!
//! # Invariants
//! * The entries are read only at a moment at which the index was what it is now, by the catalog of that moment.

use store::Csn;
use table::rows::Reads;
use txn::{KeyRange, Snapshot};
use types::{Oid, Result};

use super::scan::Scan;
use super::{Stored, error};
use crate::tables::{Moment, ScanRequest};

/// Begins a scan of an index of the table that `request` names; `None` if the rows of the table are to be read.
pub(super) fn start(
    stored: &Stored<'_>,
    request: &ScanRequest<'_>,
    index: Oid,
    numbers: &[i16],
) -> Result<Option<Scan>> {
    let past = match request.moment {
        Moment::Now => None,
        Moment::AsOf(time) => Some(stored.csn_at(time)?),
        Moment::AtVersion(version) => match u64::try_from(version) {
            Ok(version) => Some(Csn(version)),
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    };
    let table = stored.table(request.relation)?;
    let Some((columns, entries)) = table.columns_of(index) else { return Ok(None) };
    let past = match past {
        None => None,
        Some(csn) => {
            let store = stored.handles.engine().store();
            let horizon = store.horizon(entries).max(store.horizon(table.storage()));
            match snapshot_at(stored, request.relation, csn)? {
                Some(then) if csn >= horizon && knows(stored, &then, request, index, entries)? => {
                    Some(then)
                }
                _ => return Ok(None),
            }
        }
    };
    let range = match request.ranges.first() {
        Some((lower, upper)) => KeyRange { lower: lower.clone(), upper: upper.clone() },
        None => KeyRange::ALL,
    };
    let scan = Scan::over(columns, numbers, None, range, false, past);
    Ok(Some(scan.counted(Reads::of_index(
        table.usage(),
        table.index_usage(Some(index)),
        stored.counting,
    ))))
}

/// Returns the snapshot after a commit; `None` if the transaction does not see the commit, or its past is deleted.
fn snapshot_at(stored: &Stored<'_>, relation: Oid, csn: Csn) -> Result<Option<Snapshot>> {
    let newest = stored.txn.borrow().snapshot().csn();
    if csn > newest || stored.kept_from(relation).is_some_and(|kept| csn < kept) {
        return Ok(None);
    }
    let engine = stored.handles.engine();
    engine.snapshot_at(csn).map(Some).map_err(|source| error(source.into()))
}

/// Returns true if the index had its entries in the same table of the store at a snapshot, and was complete.
fn knows(
    stored: &Stored<'_>,
    then: &Snapshot,
    request: &ScanRequest<'_>,
    index: Oid,
    entries: store::TableId,
) -> Result<bool> {
    let catalog = stored.cache.at(then).map_err(error)?;
    let table = stored.handles.table(&catalog, request.relation);
    let known = table.and_then(|table| table.columns_of(index));
    Ok(known.is_some_and(|(_, storage)| storage == entries))
}
