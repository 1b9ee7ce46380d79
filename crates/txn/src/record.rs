//! The commit record: one commit in the log.
//!
//! ```text
//!   0      1       2          4            8        16         24
//!   +------+-------+----------+------------+--------+----------+----------------+----------------+
//!   | kind | flags | reserved | write count|  csn   | time_us  | authored,      | [role, load],  |
//!   | 1    | u8    | u16 = 0  | u32        |  u64   | u64      | author, message| tables, writes |
//!   +------+-------+----------+------------+--------+----------+----------------+----------------+
//!     '------------------ patched under the commit mutex: csn and time ------'
//! ```
//!
//! Everything but the number and the time is known before the commit mutex is taken, so the record
//! is built outside it and two fields are filled in at the end ([`number`]). The log's frame brings
//! length and checksum. The commit's entry in the table of commits is not in the record: it is
//! derived from it, when it is applied and when it is replayed. `docs/format-txn.md` has every byte.
//!
//! # Invariants
//! * [`decode`] of what [`begin`], [`push`] and [`number`] made gives the same commit.
//! * [`decode`] of any other bytes is an error or a commit, never a panic, and allocates no more
//!   than a small multiple of the bytes it was given.

use store::{Csn, Op, TableId, Write};

use crate::bytes::{Malformed, Reader, put_slice, put_varint};
use crate::changes::{ChangeList, read_list};

/// First byte of a commit record; other kinds of record may come with later versions.
const KIND_COMMIT: u8 = 1;
const FLAG_AUTHORED: u8 = 1;
const FLAG_LOADED: u8 = 2;
const FLAG_ROLE_IS_AUTHOR: u8 = 4;
const FLAG_ROLE: u8 = 8;
const FLAG_TABLES: u8 = 16;
const FLAG_EXTENSION: u8 = 32;
const HEADER_BYTES: usize = 24;
const AT_COUNT: usize = 4;
const AT_CSN: usize = 8;
const AT_TIME: usize = 16;

const OP_PUT: u8 = 1;
const OP_DELTA: u8 = 2;
const OP_DELETE: u8 = 3;
const OP_ERASE: u8 = 4;

/// A commit record may hold so many bytes: what the log takes in one frame, less room for headers.
pub const RECORD_BYTES_MAX: usize = (1 << 30) - 4096;
/// Longest author, in bytes.
pub const AUTHOR_BYTES_MAX: usize = 4 << 10;
/// Longest role, in bytes.
pub const ROLE_BYTES_MAX: usize = 4 << 10;
/// Longest message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Longest extension, in bytes.
pub const EXTENSION_BYTES_MAX: usize = 256 << 10;

/// The author and the message of a commit, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Note<'a> {
    pub author: &'a str,
    pub message: &'a str,
    /// The authenticated role of the committing client; empty without authentication.
    pub role: &'a str,
    pub authored_us: Option<u64>,
    /// The tables of which the commit has noted changes, encoded: [`crate::changes::read_list`].
    pub tables: &'a [u8],
    /// The bytes that the application keeps with the commit; may be empty.
    pub extension: &'a [u8],
}

impl Note<'_> {
    /// Returns the flag of a stored note for its role: `is_author` if the role is the author, `follows` if the text of
    /// the role follows; 0 if there is no role.
    pub(crate) fn role_flag(&self, is_author: u8, follows: u8) -> u8 {
        match self.role {
            "" => 0,
            role if role == self.author => is_author,
            _ => follows,
        }
    }
}

/// One commit as the log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub csn: Csn,
    pub time_us: u64,
    pub note: Note<'a>,
    /// A bulk load that is part of the commit: the bytes by which the store knows it.
    pub loaded: Option<&'a [u8]>,
    /// False for a commit of a release that kept no table of changes.
    pub notes_changes: bool,
    pub writes: Vec<Write>,
}

/// Starts a record in `out`, which is cleared.
pub(crate) fn begin(out: &mut Vec<u8>, note: &Note<'_>, loaded: Option<&[u8]>) {
    out.clear();
    out.resize(HEADER_BYTES, 0);
    out[0] = KIND_COMMIT;
    if let Some(authored_us) = note.authored_us {
        out[1] |= FLAG_AUTHORED;
        out.extend_from_slice(&authored_us.to_le_bytes());
    }
    put_slice(out, note.author.as_bytes());
    put_slice(out, note.message.as_bytes());
    let role = note.role_flag(FLAG_ROLE_IS_AUTHOR, FLAG_ROLE);
    out[1] |= role;
    if role == FLAG_ROLE {
        put_slice(out, note.role.as_bytes());
    }
    if let Some(loaded) = loaded {
        out[1] |= FLAG_LOADED;
        put_slice(out, loaded);
    }
    out[1] |= FLAG_TABLES;
    put_slice(out, note.tables);
    if !note.extension.is_empty() {
        out[1] |= FLAG_EXTENSION;
        put_slice(out, note.extension);
    }
}

/// Bytes that `writes` take in a record, rounded up.
pub(crate) fn size_hint(writes: &[Write]) -> usize {
    writes.iter().map(size_of_write).sum()
}

/// Bytes that a write takes in a record, rounded up.
pub(crate) fn size_of_write(write: &Write) -> usize {
    let value = match &write.op {
        Op::Put(bytes) | Op::Delta(bytes) => bytes.len(),
        Op::Delete => 0,
        Op::Erase { .. } => 20,
    };
    write.key.len() + value + 16
}

/// Adds one write.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, write: &Write) {
    let (kind, value) = match &write.op {
        Op::Put(image) => (OP_PUT, Some(image)),
        Op::Delta(delta) => (OP_DELTA, Some(delta)),
        Op::Delete => (OP_DELETE, None),
        Op::Erase { .. } => (OP_ERASE, None),
    };
    out.push(kind);
    put_varint(out, u64::from(write.table.0));
    put_slice(out, &write.key);
    if let Some(value) = value {
        put_slice(out, value);
    }
    if let Op::Erase { from, to } = &write.op {
        put_varint(out, from.0);
        put_varint(out, to.map_or(0, |to| to.0));
    }
}

/// Fills in how many writes there are.
pub(crate) fn finish(out: &mut [u8], write_count: u32) {
    out[AT_COUNT..AT_COUNT + 4].copy_from_slice(&write_count.to_le_bytes());
}

/// The number in the header of a record; `None` if there is no header.
pub(crate) fn csn(bytes: &[u8]) -> Option<Csn> {
    let number = bytes.get(AT_CSN..AT_TIME)?.try_into().ok()?;
    Some(Csn(u64::from_le_bytes(number)))
}

/// Fills in the number and the time of the commit: the only step under the commit mutex.
#[inline]
pub(crate) fn number(out: &mut [u8], csn: Csn, time_us: u64) {
    out[AT_CSN..AT_CSN + 8].copy_from_slice(&csn.0.to_le_bytes());
    out[AT_TIME..AT_TIME + 8].copy_from_slice(&time_us.to_le_bytes());
}

/// Reads a record back.
pub(crate) fn decode(bytes: &[u8]) -> Result<Record<'_>, Malformed> {
    let (head, mut left) = open(bytes)?;
    let mut writes = Vec::with_capacity(left.count);
    while left.count > 0 {
        writes.push(left.read()?.to_write());
    }
    if !left.reader.is_done() {
        return Err(left.reader.bad("bytes after the last write"));
    }
    let Head { csn, time_us, note, loaded, notes_changes } = head;
    Ok(Record { csn, time_us, note, loaded, notes_changes, writes })
}

/// The writes of a record that this process has encoded or decoded before.
pub(crate) fn writes(bytes: &[u8]) -> RecordWrites<'_> {
    open(bytes).expect("the record was read before").1
}

/// Returns the authored time of the commit in such a record; `None` if its writer gave none.
pub(crate) fn authored_us(bytes: &[u8]) -> Option<u64> {
    open(bytes).expect("the record was read before").0.note.authored_us
}

/// The tables that the commit of such a record has changed.
pub(crate) fn changes(bytes: &[u8]) -> ChangeList {
    let head = open(bytes).expect("the record was read before").0;
    read_list(head.note.tables).expect("the record was read before")
}

/// The part of a record before its writes.
struct Head<'a> {
    csn: Csn,
    time_us: u64,
    note: Note<'a>,
    loaded: Option<&'a [u8]>,
    notes_changes: bool,
}

/// Reads a record up to its writes.
fn open(bytes: &[u8]) -> Result<(Head<'_>, RecordWrites<'_>), Malformed> {
    let mut reader = Reader::new(bytes);
    if reader.u8()? != KIND_COMMIT {
        return Err(Malformed { what: "kind of record that this version does not know", at: 0 });
    }
    let flags = reader.u8()?;
    let two_roles = FLAG_ROLE_IS_AUTHOR | FLAG_ROLE;
    let known = FLAG_AUTHORED | FLAG_LOADED | two_roles | FLAG_TABLES | FLAG_EXTENSION;
    if flags & !known != 0 || flags & two_roles == two_roles || reader.u16()? != 0 {
        return Err(Malformed { what: "flags that this version does not know", at: 1 });
    }
    let count = reader.u32()? as usize;
    let (csn, time_us) = (Csn(reader.u64()?), reader.u64()?);
    if csn.0 == 0 || csn == Csn::MAX {
        return Err(Malformed { what: "commit number that no commit has", at: AT_CSN });
    }
    let authored_us = if flags & FLAG_AUTHORED != 0 { Some(reader.u64()?) } else { None };
    let (author, message) = (reader.text()?, reader.text()?);
    let role = read_role(&mut reader, author, flags, FLAG_ROLE_IS_AUTHOR, FLAG_ROLE)?;
    let loaded = if flags & FLAG_LOADED != 0 { Some(reader.slice()?) } else { None };
    let notes_changes = flags & FLAG_TABLES != 0;
    let tables = if notes_changes { reader.slice()? } else { &[] };
    read_list(tables)?;
    let extension = if flags & FLAG_EXTENSION != 0 { reader.slice()? } else { &[] };
    let note = Note { author, message, role, authored_us, tables, extension };
    // The smallest write is three bytes: the count alone must not decide what is allocated.
    if count > reader.remaining() / 3 {
        return Err(reader.bad("more writes than bytes"));
    }
    Ok((Head { csn, time_us, note, loaded, notes_changes }, RecordWrites { reader, count }))
}

/// Reads the role of a stored note, by its flags: see [`Note::role_flag`].
pub(crate) fn read_role<'a>(
    reader: &mut Reader<'a>,
    author: &'a str,
    flags: u8,
    is_author: u8,
    follows: u8,
) -> Result<&'a str, Malformed> {
    if flags & follows != 0 {
        return reader.text();
    }
    Ok(if flags & is_author != 0 { author } else { "" })
}

/// One write of a commit, where it lies in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRef<'a> {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: &'a [u8],
    /// The operation on the key.
    pub op: OpRef<'a>,
}

/// The operation of a write on its key, where it lies in the record: see [`Op`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpRef<'a> {
    /// The key gets this value.
    Put(&'a [u8]),
    /// The value of the key becomes another one.
    Delta(&'a [u8]),
    /// The key has no value.
    Delete,
    /// Versions of the key from one commit to before another are erased.
    Erase {
        /// The first commit.
        from: Csn,
        /// The commit before which it ends, or none if it has no end.
        to: Option<Csn>,
    },
}

impl WriteRef<'_> {
    fn to_write(self) -> Write {
        let op = match self.op {
            OpRef::Put(image) => Op::Put(image.to_vec()),
            OpRef::Delta(delta) => Op::Delta(delta.to_vec()),
            OpRef::Delete => Op::Delete,
            OpRef::Erase { from, to } => Op::Erase { from, to },
        };
        Write { table: self.table, key: self.key.to_vec(), op }
    }
}

/// The writes of a record, in their order.
#[derive(Clone)]
pub struct RecordWrites<'a> {
    reader: Reader<'a>,
    /// How many are left.
    count: usize,
}

impl<'a> RecordWrites<'a> {
    /// Reads the next write. The caller makes sure that there is one.
    fn read(&mut self) -> Result<WriteRef<'a>, Malformed> {
        let reader = &mut self.reader;
        let kind = reader.u8()?;
        let table = u32::try_from(reader.varint()?)
            .map_err(|_| reader.bad("table number beyond 32 bits"))?;
        let key = reader.slice()?;
        let op = match kind {
            OP_PUT => OpRef::Put(reader.slice()?),
            OP_DELTA => OpRef::Delta(reader.slice()?),
            OP_DELETE => OpRef::Delete,
            OP_ERASE => {
                let (from, to) = (Csn(reader.varint()?), Csn(reader.varint()?));
                OpRef::Erase { from, to: (to != Csn::ZERO).then_some(to) }
            }
            _ => return Err(reader.bad("kind of write that this version does not know")),
        };
        self.count -= 1;
        Ok(WriteRef { table: TableId(table), key, op })
    }
}

impl<'a> Iterator for RecordWrites<'a> {
    type Item = WriteRef<'a>;

    fn next(&mut self) -> Option<WriteRef<'a>> {
        (self.count > 0).then(|| self.read().expect("the record was read before"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: Note<'_> = Note {
        author: "Ada",
        message: "why: \u{1f980}",
        role: "ada",
        authored_us: Some(5),
        tables: &[2, 7, 16, 0],
        extension: b"\x80\0",
    };

    fn sample(note: &Note<'_>) -> (Vec<u8>, Vec<Write>) {
        let write = |table, key: &[u8], op| Write { table: TableId(table), key: key.to_vec(), op };
        let writes = vec![
            write(7, b"a", Op::Put(vec![1; 300])),
            write(u32::MAX, b"", Op::Delete),
            write(2, &[0xff; 200], Op::Delta(vec![])),
            write(2, b"e", Op::Erase { from: Csn(300), to: None }),
            write(2, b"e", Op::Erase { from: Csn(0), to: Some(Csn(1 << 40)) }),
        ];
        let mut bytes = vec![9; 50];
        begin(&mut bytes, note, Some(b"files"));
        writes.iter().for_each(|write| push(&mut bytes, write));
        finish(&mut bytes, writes.len() as u32);
        number(&mut bytes, Csn(77), 1_700_000_000_000_000);
        (bytes, writes)
    }

    /// A decoded record equals the encoded one.
    #[test]
    fn a_record_comes_back_as_it_went_in() {
        for (role, role_bytes) in [("ada", 4), ("", 0), ("Ada", 0)] {
            let note = Note { role, ..NOTE };
            let (bytes, writes) = sample(&note);
            let record = decode(&bytes).unwrap();
            assert_eq!((record.csn, record.time_us), (Csn(77), 1_700_000_000_000_000));
            assert_eq!(record.note, note);
            assert_eq!(record.loaded, Some(&b"files"[..]));
            assert_eq!(record.writes, writes);
            let without = sample(&Note { role: "", ..NOTE }).0;
            assert_eq!(
                bytes.len() - without.len(),
                role_bytes,
                "the role {role:?} costs that much"
            );
        }
    }

    /// A record of a release that knew neither roles nor the table of changes is read.
    #[test]
    fn records_of_the_first_release_are_read() {
        let mut old = vec![1, 1, 0, 0, 1, 0, 0, 0];
        old.extend_from_slice(&77_u64.to_le_bytes());
        old.extend_from_slice(&1_700_000_000_000_000_u64.to_le_bytes());
        old.extend_from_slice(&5_u64.to_le_bytes());
        old.extend_from_slice(b"\x03Ada\x03why");
        old.extend_from_slice(&[3, 7, 1, b'a']);
        let record = decode(&old).unwrap();
        let note = Note { author: "Ada", message: "why", authored_us: Some(5), ..Note::default() };
        assert_eq!((record.note, record.writes.len()), (note, 1));
        assert!(!record.notes_changes);
    }

    /// A record that was cut anywhere is refused, and no flipped bit makes decoding panic.
    #[test]
    fn damaged_records_are_refused_or_read_but_never_panic() {
        let (bytes, _) = sample(&NOTE);
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "cut to {len} bytes");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bytes);
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(decode(&longer).is_err());
    }
}
