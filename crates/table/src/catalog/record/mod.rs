//! Entries as bytes, and back: the records of the catalog's table.
//!
//! ```text
//!   key    72 00 00 40 06                     r, 16390
//!   value  01 86 80 01 98 11 01 74 0a ...     version 1, 16390, schema 2200, "t", owner 10
//! ```
//!
//! `docs/format-table.md` has every byte. Each entry is listed once, field by field, and both
//! directions are made from that list ([`field`]). Bytes that are read are not trusted: whatever they
//! are, the answer is an entry that a catalog can hold, or an error.

mod field;
mod layout;
mod partition;

use store::{Csn, Retention, TableId};
use types::Oid;

use super::version::Key;
use super::{Address, Class, Entry};
use crate::stored::KeptHistory;
use crate::{Error, Result};
use field::{Field, Input};

/// The catalog's own table.
pub(crate) const CATALOG: TableId = TableId(0x4000_0000);
/// The version of the records that are written.
const VERSION: u8 = 4;
/// The key that every commit puts which changes the catalog.
pub(crate) const VERSION_KEY: &[u8] = b"v";
/// The largest OID: numbers of tables are OIDs above that of the catalog.
pub(crate) const OID_MAX: u32 = u32::MAX - CATALOG.0;

/// A table of the store that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retired {
    pub table: TableId,
    /// The relation that it belonged to.
    pub relation: Oid,
    pub kept: KeptHistory,
    /// The commit that gave it up.
    pub csn: Csn,
}

/// A record that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    Entry(Entry),
    Retired(Retired),
    NextOid(Oid),
}

pub(crate) fn damaged<T>(what: &'static str) -> Result<T> {
    Err(Error::Damaged { what })
}

/// The key of an entry's record.
pub(crate) fn key_of(key: Key) -> Vec<u8> {
    let oids = |letter: u8, oids: &[Oid]| {
        let mut bytes = vec![letter];
        oids.iter().for_each(|oid| bytes.extend_from_slice(&oid.0.to_be_bytes()));
        bytes
    };
    match key {
        Key::Database(oid) => oids(b'b', &[oid]),
        Key::Role(oid) => oids(b'u', &[oid]),
        Key::Membership(oid) => oids(b'm', &[oid]),
        Key::Settings { database, role } => oids(b'g', &[database, role]),
        Key::Schema(oid) => oids(b's', &[oid]),
        Key::DefaultAcl(oid) => oids(b'a', &[oid]),
        Key::Relation(oid) => oids(b'r', &[oid]),
        Key::Type(oid) => oids(b't', &[oid]),
        Key::Constraint(oid) => oids(b'c', &[oid]),
        Key::Extension(oid) => oids(b'e', &[oid]),
        Key::Policy(oid) => oids(b'p', &[oid]),
        Key::Collation(oid) => oids(b'o', &[oid]),
        Key::Comment(Address { class, oid, sub }) => {
            let mut bytes = vec![b'k', class as u8];
            bytes.extend_from_slice(&oid.0.to_be_bytes());
            bytes.extend_from_slice(&sub.to_be_bytes());
            bytes
        }
    }
}

/// The key of the entry whose record has these bytes as its key.
///
/// # Errors
/// Damaged where there is no such entry.
pub(crate) fn entry_key_of(bytes: &[u8]) -> Result<Key> {
    let Some((letter, rest)) = bytes.split_first() else {
        return damaged("an empty key in the catalog");
    };
    let one = || rest.try_into().ok().map(|oid| Oid(u32::from_be_bytes(oid)));
    let two = || {
        let (first, second) = rest.split_first_chunk::<4>()?;
        Some((Oid(u32::from_be_bytes(*first)), u32::from_be_bytes(second.try_into().ok()?)))
    };
    let key = match letter {
        b'b' => one().map(Key::Database),
        b'u' => one().map(Key::Role),
        b'm' => one().map(Key::Membership),
        b'g' => two().map(|(database, role)| Key::Settings { database, role: Oid(role) }),
        b's' => one().map(Key::Schema),
        b'a' => one().map(Key::DefaultAcl),
        b'r' => one().map(Key::Relation),
        b't' => one().map(Key::Type),
        b'c' => one().map(Key::Constraint),
        b'e' => one().map(Key::Extension),
        b'p' => one().map(Key::Policy),
        b'o' => one().map(Key::Collation),
        b'k' => comment_key(rest),
        _ => None,
    };
    key.map_or_else(|| damaged("a key of the catalog that no entry has"), Ok)
}

/// The key of a comment, from the bytes behind its letter.
fn comment_key(bytes: &[u8]) -> Option<Key> {
    let (class, rest) = bytes.split_first()?;
    let (oid, sub) = rest.split_first_chunk::<4>()?;
    Some(Key::Comment(Address {
        class: Class::from_number(*class)?,
        oid: Oid(u32::from_be_bytes(*oid)),
        sub: i16::from_be_bytes(sub.try_into().ok()?),
    }))
}

/// The key that a transaction locks when it takes a name within a schema or a database, or, within
/// nothing, that of a role or a database.
pub(crate) fn name_key_of(within: Oid, name: &str) -> Vec<u8> {
    [b"n", &within.0.to_be_bytes()[..], name.as_bytes()].concat()
}

/// The key of the record of a table of the store that was given up.
pub(crate) fn retired_key_of(table: TableId) -> Vec<u8> {
    [b"x", &table.0.to_be_bytes()[..]].concat()
}

/// The value of an entry's record.
pub(crate) fn value_of(entry: &Entry) -> Vec<u8> {
    let mut out = vec![VERSION];
    match entry {
        Entry::Database(entry) => entry.put(&mut out),
        Entry::Role(entry) => entry.put(&mut out),
        Entry::Membership(entry) => entry.put(&mut out),
        Entry::Settings(entry) => entry.put(&mut out),
        Entry::Schema(entry) => entry.put(&mut out),
        Entry::DefaultAcl(entry) => entry.put(&mut out),
        Entry::Relation(entry) => entry.put(&mut out),
        Entry::Type(entry) => entry.put(&mut out),
        Entry::Constraint(entry) => entry.put(&mut out),
        Entry::Comment(entry) => entry.put(&mut out),
        Entry::Extension(entry) => entry.put(&mut out),
        Entry::Policy(entry) => entry.put(&mut out),
        Entry::Collation(entry) => entry.put(&mut out),
    }
    out
}

/// The value of the record of a table that commit `ended` gave up; 0 for the commit that writes it.
pub(crate) fn retired_value_of(relation: Oid, kept: KeptHistory, ended: Csn) -> Vec<u8> {
    let mut out = vec![VERSION];
    (relation, kept.retention, ended.0).put(&mut out);
    kept.from.0.put(&mut out);
    out
}

/// The value under [`VERSION_KEY`].
pub(crate) fn next_oid_value_of(next: Oid) -> Vec<u8> {
    let mut out = vec![VERSION];
    next.put(&mut out);
    out
}

/// The record with this key and value, which commit `written` wrote.
///
/// # Errors
/// Damaged where it is none.
pub(crate) fn decode(key: &[u8], value: &[u8], written: Csn) -> Result<Record> {
    let Some((VERSION, fields)) = value.split_first().map(|(version, rest)| (*version, rest))
    else {
        return damaged("a record of the catalog of an unknown version");
    };
    let Some(letter) = key.first() else { return damaged("an empty key in the catalog") };
    let mut input = Input(fields);
    let record = match letter {
        b'v' if key == VERSION_KEY => Record::NextOid(Field::take(&mut input)?),
        b'x' => {
            let (relation, retention, csn): (Oid, Retention, u64) = Field::take(&mut input)?;
            let from: u64 = Field::take(&mut input)?;
            let kept = KeptHistory { retention, from: Csn(from) };
            let table = match key[1..].try_into() {
                Ok(number) => TableId(u32::from_be_bytes(number)),
                Err(_) => return damaged("a key of the catalog of the wrong length"),
            };
            let csn = if csn == 0 { written } else { Csn(csn) };
            Record::Retired(Retired { table, relation, kept, csn })
        }
        letter => {
            let entry = take_entry(*letter, &mut input)?;
            if key_of(entry.key()) != key {
                return damaged("an entry of the catalog under another key");
            }
            Record::Entry(entry)
        }
    };
    input.end()?;
    Ok(record)
}

fn take_entry(letter: u8, input: &mut Input<'_>) -> Result<Entry> {
    Ok(match letter {
        b'b' => Entry::Database(Field::take(input)?),
        b'u' => Entry::Role(Field::take(input)?),
        b'm' => Entry::Membership(Field::take(input)?),
        b'g' => Entry::Settings(Field::take(input)?),
        b's' => Entry::Schema(Field::take(input)?),
        b'a' => Entry::DefaultAcl(Field::take(input)?),
        b'r' => Entry::Relation(Field::take(input)?),
        b't' => Entry::Type(Field::take(input)?),
        b'c' => Entry::Constraint(Field::take(input)?),
        b'k' => Entry::Comment(Field::take(input)?),
        b'e' => Entry::Extension(Field::take(input)?),
        b'p' => Entry::Policy(Field::take(input)?),
        b'o' => Entry::Collation(Field::take(input)?),
        _ => return damaged("a key of the catalog of an unknown kind"),
    })
}

impl Class {
    fn from_number(number: u8) -> Option<Class> {
        Class::ALL.into_iter().find(|class| *class as u8 == number)
    }
}
