//! The table of changes: which keys of which table each commit has written.
//!
//! ```text
//!   table 2      key: table, commit      value: the keys that the commit wrote there
//!
//!     person 41  [7]                     a reader of the changes of `person` after commit 41
//!     person 44  [7 9 12]                reads two values, however large the table is and
//!     person 58  all                     however many commits wrote elsewhere
//!     order  43  [3]
//! ```
//!
//! A transaction says of which tables it changes the table of changes keeps a record
//! ([`Transaction::note_changes`](crate::Transaction::note_changes)): tables of rows and of documents,
//! not their indexes. The engine derives the values from the record of the commit when the commit
//! enters memory, so a follower has the same table. A commit that wrote very many keys, or loaded them
//! in bulk, has the value *all*: its reader looks for versions of that commit in the table itself.
//!
//! The changes of a table are kept as long as its history: a merge of the store that drops the past of
//! the table drops its changes too ([`store::Table::tells_of`]).
//!
//! # Invariants
//! * A value is written once, by the commit that it describes. Only an erasure replaces it, by a value
//!   without the keys that were erased.
//! * The changes of every commit after [`Engine::changes_kept`](crate::Engine::changes_kept) are there.
//!   Commits before that were made by a release that did not keep them.

use std::ops::Bound;

use smallvec::SmallVec;
use store::{Csn, Loaded, MergeError, Op, Scan, Store, Table, TableId, Write};

use crate::bytes::{Malformed, Reader, put_slice, put_varint, unzigzag, zigzag};
use crate::engine::TableResolver;
use crate::error::TxnError;

/// The table that holds the changes.
pub const CHANGES_TABLE: TableId = TableId(2);
/// Keys of one commit in one table that are kept, in bytes; where there are more the value is *all*.
const KEYS_BYTES_MAX: usize = 64 << 10;

const KEYS: u8 = 1;
const ALL: u8 = 2;

/// The key whose value is the first commit of which the changes are kept.
const BEGIN: [u8; 12] = [0; 12];

/// The effect of a commit on a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touched {
    /// It wrote these keys, ascending; of a document, its key without the number of a record.
    Keys(Vec<Vec<u8>>),
    /// It wrote so many keys that they were not kept, or loaded them in bulk.
    All,
}

/// The key of the changes of a table by a commit.
pub(crate) fn key(table: TableId, csn: Csn) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&table.0.to_be_bytes());
    key[4..].copy_from_slice(&csn.0.to_be_bytes());
    key
}

/// The table and the commit of a key.
fn split(key: &[u8]) -> Option<(TableId, Csn)> {
    let (table, csn) = key.split_first_chunk::<4>()?;
    Some((TableId(u32::from_be_bytes(*table)), Csn(u64::from_be_bytes(csn.try_into().ok()?))))
}

/// The change of one table, as the record of the commit states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableChange {
    /// The table.
    pub table: TableId,
    /// How many rows more it has; below 0 for fewer.
    pub rows: i64,
}

/// The tables that a commit has changed, ascending.
pub type ChangeList = SmallVec<[TableChange; 2]>;

/// Sums up what a transaction has noted, table by table.
pub(crate) fn sum(noted: &[TableChange]) -> ChangeList {
    let mut list: ChangeList = noted.iter().copied().collect();
    list.sort_unstable_by_key(|change| change.table);
    list.dedup_by(|next, kept| {
        let same = next.table == kept.table;
        if same {
            kept.rows = kept.rows.saturating_add(next.rows);
        }
        same
    });
    list
}

/// Appends a list as records and commit pages keep it.
pub(crate) fn put_list(out: &mut Vec<u8>, list: &[TableChange]) {
    for change in list {
        put_varint(out, u64::from(change.table.0));
        put_varint(out, zigzag(change.rows));
    }
}

/// Reads a list.
pub(crate) fn read_list(bytes: &[u8]) -> Result<ChangeList, Malformed> {
    let mut reader = Reader::new(bytes);
    let mut list = ChangeList::new();
    while !reader.is_done() {
        let number = u32::try_from(reader.varint()?);
        let table = TableId(number.map_err(|_| reader.bad("table number beyond 32 bits"))?);
        if list.last().is_some_and(|last| last.table >= table) {
            return Err(reader.bad("tables that do not ascend"));
        }
        list.push(TableChange { table, rows: unzigzag(reader.varint()?) });
    }
    Ok(list)
}

/// The changes of one commit: a value for each table that it has changed, ascending by table.
pub(crate) type Derived = SmallVec<[(TableId, Vec<u8>); 2]>;

/// Derives the changes of a commit in the tables of `list`. Tables of which it has written no key are left
/// out.
pub(crate) fn derive(
    list: &[TableChange],
    writes: &[Write],
    loaded: Option<&Loaded>,
    resolve: &TableResolver,
) -> Derived {
    let values = list.iter().filter_map(|TableChange { table, .. }| {
        let kind = resolve(*table);
        let is_loaded = loaded.is_some_and(|loaded| {
            let mut own = loaded.spans().filter(|span| span.table == *table);
            own.any(|span| kind.subject(span.first).is_some())
        });
        let value = if is_loaded { Some(vec![ALL]) } else { value_of(*table, &*kind, writes) };
        Some((*table, value?))
    });
    values.collect()
}

/// The value of the changes that `writes` make in a table; none if they make none.
fn value_of(table: TableId, kind: &dyn Table, writes: &[Write]) -> Option<Vec<u8>> {
    let own = || writes.iter().filter(|write| write.table == table);
    let mut bytes = 0;
    let mut keys: SmallVec<[&[u8]; 8]> = SmallVec::new();
    for key in own().filter_map(|write| kind.subject(&write.key)) {
        if keys.last() == Some(&key) {
            continue;
        }
        bytes += key.len() + 2;
        if bytes > KEYS_BYTES_MAX {
            return Some(vec![ALL]);
        }
        keys.push(key);
    }
    if own().any(|write| matches!(write.op, Op::Erase { .. })) {
        keys.retain(|key| !is_erased(key, own(), kind));
    }
    if keys.is_empty() {
        return None;
    }
    keys.sort_unstable();
    keys.dedup();
    Some(encode(&keys))
}

/// True if a commit has erased a key and written no value to it after: no file names it from then on.
fn is_erased<'w>(
    subject: &[u8],
    writes: impl Iterator<Item = &'w Write>,
    kind: &dyn Table,
) -> bool {
    let mut is_erased = false;
    for write in writes.filter(|write| kind.subject(&write.key) == Some(subject)) {
        match write.op {
            Op::Erase { .. } => is_erased = true,
            Op::Put(_) | Op::Delta(_) => is_erased = false,
            Op::Delete => {}
        }
    }
    is_erased
}

fn encode(keys: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut value =
        Vec::with_capacity(8 + keys.iter().map(|key| key.as_ref().len() + 2).sum::<usize>());
    value.push(KEYS);
    let mut last: &[u8] = &[];
    for key in keys {
        let key = key.as_ref();
        let shared = last.iter().zip(key).take_while(|(a, b)| a == b).count();
        put_varint(&mut value, shared as u64);
        put_slice(&mut value, &key[shared..]);
        last = key;
    }
    value
}

fn decode(value: &[u8]) -> Result<Touched, Malformed> {
    let mut reader = Reader::new(value);
    match reader.u8()? {
        ALL if reader.is_done() => return Ok(Touched::All),
        KEYS => {}
        _ => return Err(reader.bad("kind of change that this version does not know")),
    }
    let mut keys: Vec<Vec<u8>> = Vec::new();
    while !reader.is_done() {
        let shared = reader.varint()? as usize;
        let mut key = match keys.last() {
            Some(last) if shared <= last.len() => last[..shared].to_vec(),
            None if shared == 0 => Vec::new(),
            _ => return Err(reader.bad("more shared bytes than the key before has")),
        };
        key.extend_from_slice(reader.slice()?);
        if keys.last().is_some_and(|last| *last >= key) {
            return Err(reader.bad("keys that do not ascend"));
        }
        keys.push(key);
    }
    Ok(Touched::Keys(keys))
}

/// The write that keeps the changes of a table.
pub(crate) fn change_write(table: TableId, csn: Csn, value: Vec<u8>) -> Write {
    Write { table: CHANGES_TABLE, key: key(table, csn).to_vec(), op: Op::Put(value) }
}

/// The write that says from which commit on changes are kept.
pub(crate) fn begin_write(csn: Csn) -> Write {
    let value = csn.0.to_le_bytes().to_vec();
    Write { table: CHANGES_TABLE, key: BEGIN.to_vec(), op: Op::Put(value) }
}

/// The first commit of which the changes are kept; `None` if no commit has kept any.
pub(crate) fn read_begin(store: &Store) -> Result<Option<Csn>, TxnError> {
    let Some(found) = store.read(CHANGES_TABLE, &BEGIN, Csn::MAX)? else { return Ok(None) };
    let damaged = |_| TxnError::Damaged {
        csn: found.csn(),
        source: Malformed { what: "the beginning of the table of changes is not 8 bytes", at: 0 },
    };
    found.base().try_into().map(|bytes| Some(Csn(u64::from_le_bytes(bytes)))).map_err(damaged)
}

/// Reads the effect of a commit on a table; `None` if it did nothing, or its changes are not
/// kept.
pub(crate) fn read(store: &Store, table: TableId, csn: Csn) -> Result<Option<Touched>, TxnError> {
    let found = store.read(CHANGES_TABLE, &key(table, csn), Csn::MAX)?;
    found.map(|found| touched(found.base(), csn)).transpose()
}

/// Decodes a value of the table of changes.
pub(crate) fn touched(value: &[u8], csn: Csn) -> Result<Touched, TxnError> {
    decode(value).map_err(|source| TxnError::Damaged { csn, source })
}

/// The value without a key; `None` if nothing is left of it.
pub(crate) fn without(touched: Touched, erased: &[u8]) -> Option<Vec<u8>> {
    match touched {
        Touched::All => Some(vec![ALL]),
        Touched::Keys(mut keys) => {
            keys.retain(|key| key != erased);
            (!keys.is_empty()).then(|| encode(&keys))
        }
    }
}

/// The changes of a table, commit by commit.
pub struct TableChanges {
    scan: Scan,
}

impl TableChanges {
    /// The changes of `table` by the commits after `after` up to `to`, which is visible.
    pub(crate) fn new(store: &Store, table: TableId, after: Csn, to: Csn) -> TableChanges {
        let (low, high) = (key(table, after), key(table, to.max(after)));
        let (low, high) = (Bound::Excluded(&low[..]), Bound::Included(&high[..]));
        TableChanges {
            scan: store.scan(
                CHANGES_TABLE,
                low.map(Into::into),
                high.map(Into::into),
                Csn::MAX,
                false,
            ),
        }
    }
}

impl Iterator for TableChanges {
    type Item = Result<(Csn, Touched), TxnError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.scan.advance().map_err(TxnError::from).transpose()?;
        Some(item.and_then(|(key, found)| {
            let damaged = |source| TxnError::Damaged { csn: found.csn(), source };
            let malformed = Malformed { what: "key of a change that is not 12 bytes", at: 0 };
            let (_, csn) = split(key).ok_or(damaged(malformed))?;
            Ok((csn, decode(found.base()).map_err(damaged)?))
        }))
    }
}

/// The functions that the store needs of the table of changes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes;

impl Table for Changes {
    fn merge(
        &self,
        _key: &[u8],
        _base_csn: Csn,
        _base: &[u8],
        _deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        _out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        Err(MergeError::new("the table of changes has no deltas"))
    }

    /// A value describes its own commit: an older reader skips the keys of later ones.
    fn keeps_history(&self, _key: &[u8]) -> bool {
        false
    }

    fn tells_of(&self, key: &[u8]) -> Option<(TableId, Csn)> {
        split(key).filter(|_| key != BEGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys come back in their order; damaged values are refused and never panic.
    #[test]
    fn keys_come_back_as_they_went_in() {
        let keys: Vec<Vec<u8>> = ["", "a", "apple", "apples", "b", "ba"]
            .iter()
            .map(|key| key.as_bytes().to_vec())
            .collect();
        let value = encode(&keys);
        assert_eq!(value.len(), 1 + 2 * keys.len() + "applesbba".len() - 1);
        assert_eq!(decode(&value), Ok(Touched::Keys(keys)));
        assert_eq!(decode(&[ALL]), Ok(Touched::All));
        for len in 0..value.len() {
            let _ = decode(&value[..len]);
        }
        for bit in 0..value.len() * 8 {
            let mut value = value.clone();
            value[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&value);
        }
        assert!(
            decode(&[]).is_err() && decode(&[ALL, 0]).is_err() && decode(&[KEYS, 1, 0]).is_err()
        );
    }

    /// A list of tables comes back, and one that is out of order is refused.
    #[test]
    fn lists_of_tables() {
        let noted = |table, rows| TableChange { table: TableId(table), rows };
        let all = [noted(u32::MAX, 0), noted(16, 5), noted(1 << 30, -7), noted(16, -6)];
        let list = sum(&all);
        assert_eq!(list.as_slice(), [noted(16, -1), noted(1 << 30, -7), noted(u32::MAX, 0)]);
        let mut bytes = Vec::new();
        put_list(&mut bytes, &list);
        assert_eq!(read_list(&bytes), Ok(list));
        assert!(read_list(&[5, 0, 5, 0]).is_err() && read_list(&[5]).is_err());
    }
}
