//! The list of a document's revisions, in pages of 1,024.
//!
//! Revisions are numbered 1, 2, 3 ... without gaps, so the page of one is arithmetic, and finding the
//! commit of revision 1,000,000 costs the same look-up as that of revision 1.
//!
//! ```text
//!   page p     entries of revisions p*1024+1 .. (p+1)*1024
//!   entry      commit number less the one before (varint) | flags | [touched chunks] | [next node key]
//! ```
//!
//! A page only grows: each commit of the document appends one entry as a delta, and a reader at an
//! older commit passes over what is newer. So pages keep no history of their own. A transaction that
//! changes a document more than once may append as many entries: all of one commit are one revision.
//! Which chunks a revision touched stands with it, so that a diff of neighbours reads those alone.

use crate::Revision;
use crate::codec::{Reader, put_varint};
use crate::error::Damaged;
use store::Csn;

/// Revisions in a page.
pub(crate) const PAGE: u64 = 1024;
/// More touched chunks than this are not listed: a reader then looks at all.
const TOUCHED_MAX: usize = 16;

const DELETED: u8 = 1;
const LISTED: u8 = 2;
const MANY: u8 = 4;

/// Which chunks a revision touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// Chunk 0 alone: small documents, at no cost.
    First,
    /// These, ascending.
    These(Vec<u32>),
    /// Too many to list.
    Many,
}

impl Touched {
    /// That these were touched, which ascend.
    pub fn of(chunks: Vec<u32>) -> Touched {
        match chunks.len() {
            1 if chunks[0] == 0 => Touched::First,
            0..=TOUCHED_MAX => Touched::These(chunks),
            _ => Touched::Many,
        }
    }

    /// The chunks, ascending, where they are listed.
    fn list(&self) -> Option<Vec<u32>> {
        match self {
            Touched::First => Some(vec![0]),
            Touched::These(chunks) => Some(chunks.clone()),
            Touched::Many => None,
        }
    }
}

/// The entry of a page for one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The commit; 0 in an entry that is being written, where the store knows it.
    pub csn: Csn,
    /// For a revision that removed the document: the next free node key, so that none is used again.
    pub deleted: Option<u64>,
    pub touched: Touched,
}

impl Entry {
    /// The entry without its commit: the delta that appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let deleted = if self.deleted.is_some() { DELETED } else { 0 };
        match &self.touched {
            Touched::First => out.push(deleted),
            Touched::Many => out.push(deleted | MANY),
            Touched::These(chunks) => {
                out.push(deleted | LISTED);
                put_varint(out, chunks.len() as u64);
                let mut before = 0;
                for &chunk in chunks {
                    put_varint(out, (chunk - before) as u64);
                    before = chunk;
                }
            }
        }
        if let Some(next_key) = self.deleted {
            put_varint(out, next_key);
        }
    }

    /// Joins this entry with one before it of the same commit.
    fn after(self, before: Entry) -> Entry {
        let touched = match (before.touched.list(), self.touched.list()) {
            (Some(mut all), Some(own)) => {
                all.extend(own);
                all.sort_unstable();
                all.dedup();
                Touched::of(all)
            }
            _ => Touched::Many,
        };
        Entry { touched, ..self }
    }

    fn decode(csn: Csn, input: &mut Reader<'_>) -> Result<Entry, Damaged> {
        let flags = input.u8()?;
        let touched = if flags & LISTED != 0 {
            let count = input.varint()? as usize;
            if count > TOUCHED_MAX {
                return Err(Damaged::new("a revision with too many chunks"));
            }
            let mut before = 0u32;
            let mut next = || {
                before = before
                    .checked_add(input.varint_u32()?)
                    .ok_or(Damaged::new("a chunk number past the end"))?;
                Ok(before)
            };
            Touched::These((0..count).map(|_| next()).collect::<Result<_, _>>()?)
        } else if flags & MANY != 0 {
            Touched::Many
        } else {
            Touched::First
        };
        let deleted = if flags & DELETED != 0 { Some(input.varint()?) } else { None };
        Ok(Entry { csn, deleted, touched })
    }
}

/// A page in memory: commit numbers in an array of their own, because most readers want just them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub csns: Vec<Csn>,
    touched: Vec<Touched>,
    /// The entries that removed the document, by index, with the next free node key.
    deleted: Vec<(usize, u64)>,
}

impl Page {
    /// Reads a page: a stored image, then the entries appended since.
    pub fn read<'a>(
        base_csn: Csn,
        image: &[u8],
        deltas: impl Iterator<Item = (Csn, &'a [u8])>,
    ) -> Result<Page, Damaged> {
        let mut page = Page::default();
        let mut input = Reader::new(image);
        let mut csn = Csn(0);
        while !input.is_empty() {
            let step = input.varint()?;
            // A fresh page is put before its commit has a number: 0 stands for it.
            csn = if step == 0 { base_csn } else { Csn(csn.0 + step) };
            page.push(Entry::decode(csn, &mut input)?);
        }
        for (csn, delta) in deltas {
            page.push(Entry::decode(csn, &mut Reader::new(delta))?);
        }
        if page.csns.len() as u64 > PAGE || !page.csns.is_sorted() {
            return Err(Damaged::new("a page of revisions out of order"));
        }
        Ok(page)
    }

    /// Appends an entry, or joins it to the last where that is of the same commit.
    pub fn push(&mut self, entry: Entry) {
        let entry = match self.csns.last() {
            Some(last) if *last == entry.csn => match self.pop() {
                Some(before) => entry.after(before),
                None => entry,
            },
            _ => entry,
        };
        self.deleted.extend(entry.deleted.map(|next_key| (self.csns.len(), next_key)));
        self.csns.push(entry.csn);
        self.touched.push(entry.touched);
    }

    fn pop(&mut self) -> Option<Entry> {
        let last = self.csns.len().checked_sub(1)?;
        let entry = self.entry(last);
        self.truncate(last);
        entry
    }

    /// Leaves out the entries from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.csns.truncate(len);
        self.touched.truncate(len);
        self.deleted.truncate(self.deleted.partition_point(|(index, _)| *index < len));
    }

    /// The entry at `index`.
    pub fn entry(&self, index: usize) -> Option<Entry> {
        let touched = self.touched.get(index)?.clone();
        let deleted = self.deleted.binary_search_by_key(&index, |(index, _)| *index);
        let deleted = deleted.ok().map(|at| self.deleted[at].1);
        Some(Entry { csn: self.csns[index], deleted, touched })
    }

    /// Which entries removed the document, ascending.
    pub fn deletions(&self) -> impl Iterator<Item = usize> {
        self.deleted.iter().map(|(index, _)| *index)
    }

    /// Appends the image.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut before = 0;
        for entry in (0..self.csns.len()).filter_map(|index| self.entry(index)) {
            put_varint(out, entry.csn.0 - before);
            before = entry.csn.0;
            entry.encode(out);
        }
    }

    /// Bytes held, for accounting.
    pub fn bytes(&self) -> usize {
        self.csns.len() * (8 + std::mem::size_of::<Touched>())
    }
}

/// The image of a fresh page with its first entry, whose commit has no number yet.
pub(crate) fn fresh_page(entry: &Entry) -> Vec<u8> {
    let mut image = vec![0];
    entry.encode(&mut image);
    image
}

/// The merge function of a page.
pub(crate) fn merge(
    base_csn: Csn,
    base: &[u8],
    deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
    out: &mut Vec<u8>,
) -> Result<(), Damaged> {
    Page::read(base_csn, base, deltas)?.encode(out);
    Ok(())
}

/// The page that the revision after this one falls into.
pub(crate) fn page_after(revision: Revision) -> crate::Result<u32> {
    u32::try_from(revision.0 / PAGE).map_err(|_| crate::DocumentError::TooLarge("2^42 revisions"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page reads back what was appended, merged or not, and from a fresh page on.
    #[test]
    fn append_and_merge() {
        let entries = [
            Entry { csn: Csn(7), deleted: None, touched: Touched::First },
            Entry { csn: Csn(9), deleted: None, touched: Touched::These(vec![0, 3, 300]) },
            Entry { csn: Csn(1 << 40), deleted: Some(77), touched: Touched::Many },
        ];
        let image = fresh_page(&entries[0]);
        let deltas: Vec<(Csn, Vec<u8>)> = entries[1..]
            .iter()
            .map(|e| {
                let mut bytes = Vec::new();
                e.encode(&mut bytes);
                (e.csn, bytes)
            })
            .collect();
        let mut merged = Vec::new();
        let mut deltas = deltas.iter().map(|(csn, d)| (*csn, d.as_slice()));
        merge(Csn(7), &image, &mut deltas, &mut merged).unwrap();
        let page = Page::read(Csn(1 << 40), &merged, std::iter::empty()).unwrap();
        for (index, entry) in entries.iter().enumerate() {
            assert_eq!(page.entry(index).unwrap(), *entry);
        }
    }

    /// Bytes cut anywhere give an error or fewer entries, never a panic.
    #[test]
    fn truncated_pages() {
        let mut page = Page::default();
        for n in 1..20u64 {
            page.push(Entry {
                csn: Csn(n * n),
                deleted: None,
                touched: Touched::These(vec![n as u32]),
            });
        }
        let mut image = Vec::new();
        page.encode(&mut image);
        for end in 0..image.len() {
            let _ = Page::read(Csn(1), &image[..end], std::iter::empty());
        }
    }
}
