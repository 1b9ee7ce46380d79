//! The records of the catalog: what is said of one collection, there or dropped.
//!
//! `docs/format.md` has every byte. Version 1 is that of Anywhen 0.1.0, which knew of hashes alone;
//! version 2 is what is written.

use crate::{Error, Result};
use document::{CollectionOptions, Retention};
use std::time::Duration;
use store::{Csn, TableId};

const VERSION_1: u8 = 1;
const VERSION: u8 = 2;
const HASHES: u8 = 1;
const PATH_SUMMARY: u8 = 2;
const FOREVER: u8 = 0;
const FOR: u8 = 1;
const NONE: u8 = 2;

/// What the catalog says of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub id: TableId,
    pub options: CollectionOptions,
}

impl Entry {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let CollectionOptions { history, hashes, path_summary } = self.options;
        out.push(VERSION);
        out.extend_from_slice(&self.id.0.to_le_bytes());
        out.push((hashes as u8 * HASHES) | (path_summary as u8 * PATH_SUMMARY));
        let (kind, us) = match history {
            Retention::Forever => (FOREVER, 0),
            Retention::For(age) => (FOR, age.as_micros().try_into().unwrap_or(u64::MAX)),
            Retention::None => (NONE, 0),
        };
        out.push(kind);
        out.extend_from_slice(&us.to_le_bytes());
    }

    pub fn decode(input: &mut Input<'_>) -> Result<Entry> {
        let version = input.u8()?;
        if !(VERSION_1..=VERSION).contains(&version) {
            return Err(Error::Catalog("an entry of an unknown version"));
        }
        let id = TableId(input.u32()?);
        let flags = input.u8()?;
        let known = if version == VERSION_1 { HASHES } else { HASHES | PATH_SUMMARY };
        if flags & !known != 0 {
            return Err(Error::Catalog("an option that this version does not know"));
        }
        let history = if version == VERSION_1 {
            Retention::Forever
        } else {
            match (input.u8()?, input.u64()?) {
                (FOREVER, 0) => Retention::Forever,
                (FOR, us) => Retention::For(Duration::from_micros(us)),
                (NONE, 0) => Retention::None,
                _ => return Err(Error::Catalog("a history that this version does not know")),
            }
        };
        let (hashes, path_summary) = (flags & HASHES != 0, flags & PATH_SUMMARY != 0);
        Ok(Entry { id, options: CollectionOptions { history, hashes, path_summary } })
    }
}

/// What the catalog says of a collection that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dropped {
    pub entry: Entry,
    /// The commit that dropped it; 0 stands for the commit of the record.
    pub csn: Csn,
    pub name: String,
}

impl Dropped {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.entry.encode(&mut bytes);
        bytes.extend_from_slice(&self.csn.0.to_le_bytes());
        bytes.extend_from_slice(self.name.as_bytes());
        bytes
    }

    /// Reads the record that commit `written` wrote.
    pub fn decode(bytes: &[u8], written: Csn) -> Result<Dropped> {
        let mut input = Input(bytes);
        let entry = Entry::decode(&mut input)?;
        let csn = match input.u64()? {
            0 => written,
            csn => Csn(csn),
        };
        Ok(Dropped { entry, csn, name: name(input.0)? })
    }
}

/// A collection's name, as it stands in a key or a record.
pub(super) fn name(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Error::Catalog("a name that is not UTF-8"))
}

/// Bytes that are read from the front.
pub(super) struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) =
            self.0.split_first_chunk().ok_or(Error::Catalog("a record of the wrong length"))?;
        self.0 = rest;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// An error where something is left.
    pub fn end(&self) -> Result<()> {
        match self.0 {
            [] => Ok(()),
            _ => Err(Error::Catalog("a record of the wrong length")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records come back as they went in, and one that was cut is refused.
    #[test]
    fn records_round_trip() {
        for history in [Retention::Forever, Retention::For(Duration::from_secs(9)), Retention::None]
        {
            let path_summary = history != Retention::Forever;
            let hashes = history == Retention::None;
            let options = CollectionOptions { history, hashes, path_summary };
            let entry = Entry { id: TableId(300), options };
            let name = "bücher".to_owned();
            let mut dropped = Dropped { entry, csn: Csn(0), name };
            let bytes = dropped.encode();
            dropped.csn = Csn(7);
            assert_eq!(Dropped::decode(&bytes, Csn(7)).unwrap(), dropped);
            assert_eq!(Dropped::decode(&dropped.encode(), Csn(9)).unwrap(), dropped);
            for len in 0..bytes.len() - dropped.name.len() {
                assert!(Dropped::decode(&bytes[..len], Csn(7)).is_err(), "cut to {len} bytes");
            }
        }
    }

    /// What Anywhen 0.1.0 wrote: version, table, hashes.
    #[test]
    fn the_first_version_is_read() {
        let entry = Entry::decode(&mut Input(&[1, 16, 0, 0, 0, 1])).unwrap();
        let options = CollectionOptions { hashes: true, ..CollectionOptions::default() };
        assert_eq!(entry, Entry { id: TableId(16), options });
        assert!(Entry::decode(&mut Input(&[3, 16, 0, 0, 0, 0])).is_err());
        assert!(Entry::decode(&mut Input(&[1, 16, 0, 0, 0, 2])).is_err());
    }
}
