//! The keys of a document's records in its collection's table.
//!
//! ```text
//!   document key, NUL bytes escaped | 0x00 0x00 | 0x01 | chunk number, 4 bytes big-endian
//!                                               | 0x02 | revision page, 4 bytes big-endian
//!                                               | 0x03 | 0: the path summary
//! ```
//!
//! Documents come in the order of their keys' bytes, and all records of one lie together: chunks
//! first, in order, then the pages that list its revisions, then its path summary, where it has one.

use crate::error::DocumentError;
use crate::limits::KEY_BYTES_MAX;
use smallvec::SmallVec;

const CHUNK: u8 = 1;
const REVISIONS: u8 = 2;
const PATHS: u8 = 3;

/// The record that a stored key names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Chunk(u32),
    Revisions(u32),
    Paths,
}

/// A stored key, without a piece of memory of its own where it is short.
pub(crate) type StoredKey = SmallVec<[u8; 48]>;

/// The prefix of all of a document's records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Prefix(StoredKey);

impl Prefix {
    /// The prefix for a document key.
    pub fn new(key: &str) -> Result<Prefix, DocumentError> {
        if key.is_empty() {
            return Err(DocumentError::BadKey("is empty"));
        }
        if key.len() > KEY_BYTES_MAX {
            return Err(DocumentError::BadKey("is too long"));
        }
        let mut bytes = StoredKey::from_slice(key.as_bytes());
        if key.contains('\0') {
            bytes = StoredKey::from_vec(escape(key));
        }
        bytes.extend_from_slice(&[0, 0]);
        Ok(Prefix(bytes))
    }

    /// The prefix of a stored key; `None` if the key is too short to have one.
    pub fn of(key: &[u8]) -> Option<Prefix> {
        Some(Prefix(StoredKey::from_slice(key.get(..key.len().checked_sub(5)?)?)))
    }

    /// The prefix that [`subject`] has given.
    pub fn of_subject(subject: &[u8]) -> Prefix {
        Prefix(StoredKey::from_slice(subject))
    }

    /// How the table of changes names the document.
    pub fn subject(&self) -> &[u8] {
        &self.0
    }

    /// The key of a record.
    pub fn record(&self, record: Record) -> StoredKey {
        let (tag, number) = match record {
            Record::Chunk(number) => (CHUNK, number),
            Record::Revisions(number) => (REVISIONS, number),
            Record::Paths => (PATHS, 0),
        };
        let mut key = self.0.clone();
        key.push(tag);
        key.extend_from_slice(&number.to_be_bytes());
        key
    }

    /// A key after all records of the document and before the next document's.
    pub fn end(&self) -> Vec<u8> {
        let mut key = self.0.to_vec();
        key.push(0xff);
        key
    }
}

/// The escaped document key, without its terminator: where keys with this prefix start.
pub(crate) fn escape(key: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(key.len() + 7);
    for &byte in key.as_bytes() {
        bytes.push(byte);
        if byte == 0 {
            bytes.push(0xff);
        }
    }
    bytes
}

/// The record that a stored key names; `None` if it is no key of this module.
pub(crate) fn record_of(key: &[u8]) -> Option<Record> {
    let (head, number) = key.split_last_chunk::<4>()?;
    match *head.last()? {
        CHUNK => Some(Record::Chunk(u32::from_be_bytes(*number))),
        REVISIONS => Some(Record::Revisions(u32::from_be_bytes(*number))),
        PATHS if *number == [0; 4] => Some(Record::Paths),
        _ => None,
    }
}

/// The key of the document that the table of changes names so; `None` if none is named so.
pub fn name_of(subject: &[u8]) -> Option<String> {
    document_of(&Prefix::of_subject(subject).record(Record::Paths))
}

/// How the table of changes names a document: by its prefix, once for each revision
/// ([`store::Table::subject`]).
pub(crate) fn subject(key: &[u8]) -> Option<&[u8]> {
    match record_of(key)? {
        Record::Revisions(_) => key.get(..key.len().checked_sub(5)?),
        Record::Chunk(_) | Record::Paths => None,
    }
}

/// The document key in a stored key.
pub(crate) fn document_of(key: &[u8]) -> Option<String> {
    let escaped = key.get(..key.len().checked_sub(7)?)?;
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut at = 0;
    while at < escaped.len() {
        bytes.push(escaped[at]);
        at += if escaped[at] == 0 { 2 } else { 1 };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored keys sort as document keys do, and give them back.
    #[test]
    fn order_and_round_trip() {
        let keys =
            ["\0", "\0\0", "\0a", "a", "a\0", "a\0b", "a\u{1}", "aa", "ab", "b", "é", "日本"];
        let stored: Vec<Vec<u8>> = keys
            .iter()
            .flat_map(|k| {
                let prefix = Prefix::new(k).unwrap();
                [
                    prefix.record(Record::Chunk(0)).to_vec(),
                    prefix.record(Record::Chunk(7)).to_vec(),
                    prefix.record(Record::Revisions(0)).to_vec(),
                    prefix.record(Record::Paths).to_vec(),
                    prefix.end(),
                ]
            })
            .collect();
        assert!(stored.is_sorted());
        for (key, records) in keys.iter().zip(stored.chunks(5)) {
            assert_eq!(document_of(&records[1]).unwrap(), *key);
            assert_eq!(Prefix::of(&records[1]), Prefix::new(key).ok());
            assert_eq!(record_of(&records[1]), Some(Record::Chunk(7)));
            assert_eq!(record_of(&records[2]), Some(Record::Revisions(0)));
        }
        assert!(Prefix::new("").is_err() && Prefix::new(&"x".repeat(KEY_BYTES_MAX + 1)).is_err());
    }
}
