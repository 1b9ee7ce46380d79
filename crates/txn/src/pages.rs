//! Commit pages: author, time and message of each commit, 1024 commits to a value of one table.
//!
//! The table of commits (`TableId` 1) is an ordinary table of the store whose keys are the big-endian
//! number of a page and whose values are columns. Every commit appends one entry as a delta, the
//! first of a page as an image of one; the store merges them when it flushes, by way of [`Commits`].
//!
//! ```text
//!   key 0: csn   1 .. 1023      key 1: csn 1024 .. 2047      key 2: csn 2048 ..      csn / 1024
//!        +------------------------------------------------------------+
//!   image| first time | +12 us | +7 us | +7 us ...                    |  times, as differences
//!        | authors    : one for all, or an index each                 |  indexes into the strings
//!        | messages   : one for all, or an index each                 |
//!        | authored   : (which, difference to the commit time) ...    |  imports only
//!        | roles      : one for all, or an index each                 |  where anybody had to prove
//!        | tables     : one list for all, or an index each            |  what each has changed
//!        | extensions : (which, bytes) ...                            |  what applications keep with some
//!        | strings    : each once                                     |
//!        +------------------------------------------------------------+
//! ```
//!
//! So a commit costs about three bytes for its time, and one byte for each author, message or other value that the page
//! has already. A search of the whole history by time reads one page for each halving. A caller can ask for thousands
//! of times at the cost of one decoded page.
//!
//! # Invariants
//! * Times never decrease within a page, nor from one page to the next.
//! * A page holds the commits from its first on without a gap; entry `i` of page `p` is commit
//!   `first_csn(p) + i`.
//! * String 0 is the empty string and is not stored.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use store::{Csn, MergeError, Op, Packer, Table, TableId, Write};

use crate::bytes::{Malformed, Reader, put_slice, put_varint, unzigzag, zigzag};
use crate::changes::read_list;
use crate::pages_pack::PagePacker;
use crate::record::{Note, read_role};

/// The table that holds the commits.
pub const COMMITS_TABLE: TableId = TableId(1);
/// The number of commits in a page.
pub(crate) const PAGE_COMMITS: u64 = 1024;

const FORMAT: u8 = 1;
const FLAG_ONE_AUTHOR: u8 = 1;
const FLAG_ONE_MESSAGE: u8 = 2;
const FLAG_AUTHORED: u8 = 4;
const FLAG_ROLES: u8 = 8;
const FLAG_ONE_ROLE: u8 = 16;
const FLAG_TABLES: u8 = 32;
const FLAG_ONE_LIST: u8 = 64;
const FLAG_EXTENSIONS: u8 = 128;
const ENTRY_AUTHORED: u8 = 1;
const ENTRY_ROLE_IS_AUTHOR: u8 = 2;
const ENTRY_ROLE: u8 = 4;
const ENTRY_TABLES: u8 = 8;
const ENTRY_EXTENSION: u8 = 16;

/// In the place of a role: it is the author. The role that is string *k* is *k* + 1.
const ROLE_IS_AUTHOR: u32 = 1;

/// The number of the page that has `csn`.
pub(crate) fn page_of(csn: Csn) -> u64 {
    csn.0 / PAGE_COMMITS
}

/// The first commit of a page; commit 0 is before everything and is on none.
pub(crate) fn first_csn(page: u64) -> Csn {
    Csn((page * PAGE_COMMITS).max(1))
}

/// The key of a page in the table of commits.
pub(crate) fn page_key(page: u64) -> [u8; 8] {
    page.to_be_bytes()
}

/// One page, decoded: columns with an element for each commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub number: u64,
    pub times: Vec<u64>,
    authors: Vec<u32>,
    messages: Vec<u32>,
    /// (position, authored time) of the commits that carry one, ascending.
    authored: Vec<(u32, u64)>,
    /// 0 for none, [`ROLE_IS_AUTHOR`], or a string; nothing at all where no commit has one.
    roles: Vec<u32>,
    /// 0 for no table, or a list of tables; nothing at all where no commit has one.
    tables: Vec<u32>,
    /// The positions of the commits that have an extension, ascending.
    extended: Vec<u32>,
    /// Their extensions, in that order.
    extensions: Lists,
    strings: Strings,
    lists: Lists,
}

/// The strings of a page, numbered from 1, one after the other in one piece of memory: to copy or
/// drop a page is to copy or drop seven pieces, however many strings it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Strings {
    text: String,
    ends: Vec<u32>,
}

impl Strings {
    /// Adds a string and returns its number.
    fn push(&mut self, string: &str) -> u32 {
        self.text.push_str(string);
        self.ends.push(u32::try_from(self.text.len()).expect("3,072 strings of 64 KB at most"));
        self.ends.len() as u32
    }

    /// The string with a number; 0 is the empty one.
    #[inline]
    fn get(&self, id: u32) -> &str {
        let Some(at) = (id as usize).checked_sub(1) else { return "" };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[at] as usize]
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        (1..=self.ends.len() as u32).map(|id| self.get(id))
    }
}

/// Byte strings of a page, numbered from 1, one after the other: its lists of tables, encoded, or its extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lists {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Lists {
    /// Adds a byte string and returns its number.
    fn push(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(u32::try_from(self.bytes.len()).expect("1,024 of far less than 4 MB"));
        self.ends.len() as u32
    }

    /// The byte string with a number; 0 is the empty one.
    #[inline]
    fn get(&self, id: u32) -> &[u8] {
        let Some(at) = (id as usize).checked_sub(1) else { return &[] };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[at] as usize]
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (1..=self.ends.len() as u32).map(|id| self.get(id))
    }
}

impl Page {
    pub(crate) fn new(number: u64) -> Self {
        Page {
            number,
            times: Vec::new(),
            authors: Vec::new(),
            messages: Vec::new(),
            authored: Vec::new(),
            roles: Vec::new(),
            tables: Vec::new(),
            extended: Vec::new(),
            extensions: Lists::default(),
            strings: Strings::default(),
            lists: Lists::default(),
        }
    }

    /// The number of the commit after the last on this page.
    pub(crate) fn end(&self) -> Csn {
        Csn(first_csn(self.number).0 + self.times.len() as u64)
    }

    /// True if no further commit belongs here.
    pub(crate) fn is_full(&self) -> bool {
        self.end() == first_csn(self.number + 1)
    }

    /// Bytes held, for accounting.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Page>()
            + (self.authors.len()
                + self.messages.len()
                + self.roles.len()
                + self.tables.len()
                + self.strings.ends.len()
                + self.lists.ends.len()
                + self.extended.len()
                + self.extensions.ends.len())
                * size_of::<u32>()
            + self.times.len() * size_of::<u64>()
            + self.authored.len() * size_of::<(u32, u64)>()
            + self.strings.text.len()
            + self.lists.bytes.len()
            + self.extensions.bytes.len()
    }

    #[inline]
    fn position(&self, csn: Csn) -> Option<usize> {
        let position = csn.0.checked_sub(first_csn(self.number).0)? as usize;
        (position < self.times.len()).then_some(position)
    }

    /// True if the page has `csn`.
    #[inline]
    pub(crate) fn tells_of(&self, csn: Csn) -> bool {
        self.position(csn).is_some()
    }

    /// The time of `csn` in microseconds; `None` if it is not on this page.
    pub(crate) fn time_us(&self, csn: Csn) -> Option<u64> {
        self.position(csn).map(|position| self.times[position])
    }

    /// The authored time of `csn`; `None` if it has none, or if it is not on this page.
    pub(crate) fn authored_us(&self, csn: Csn) -> Option<u64> {
        if self.authored.is_empty() { None } else { self.authored_at(self.position(csn)?) }
    }

    #[cold]
    fn authored_at(&self, position: usize) -> Option<u64> {
        let at = self.authored.binary_search_by_key(&(position as u32), |entry| entry.0).ok()?;
        Some(self.authored[at].1)
    }

    #[cold]
    fn role_at<'a>(&'a self, position: usize, author: &'a str) -> &'a str {
        match self.roles[position] {
            0 => "",
            ROLE_IS_AUTHOR => author,
            role => self.strings.get(role - ROLE_IS_AUTHOR),
        }
    }

    /// Time, author, message, role and authored time of `csn`; `None` if it is not on this page.
    #[inline]
    pub(crate) fn entry(&self, csn: Csn) -> Option<(u64, Note<'_>)> {
        let position = self.position(csn)?;
        let author = self.strings.get(self.authors[position]);
        // Most pages have neither roles nor authored times.
        let role = if self.roles.is_empty() { "" } else { self.role_at(position, author) };
        let authored_us = if self.authored.is_empty() { None } else { self.authored_at(position) };
        let message = self.strings.get(self.messages[position]);
        let (tables, extension) = (self.tables_at(position), self.extension_at(position));
        let note = Note { author, role, message, authored_us, tables, extension };
        Some((self.times[position], note))
    }

    /// The tables that `csn` has changed, encoded; none if it is not on this page.
    pub(crate) fn tables(&self, csn: Csn) -> &[u8] {
        self.position(csn).map_or(&[], |position| self.tables_at(position))
    }

    /// Returns the bytes that the application keeps with `csn`; empty where it is not on this page.
    pub(crate) fn extension(&self, csn: Csn) -> &[u8] {
        self.position(csn).map_or(&[], |position| self.extension_at(position))
    }

    #[inline]
    fn extension_at(&self, position: usize) -> &[u8] {
        if self.extended.is_empty() {
            return &[];
        }
        let at = self.extended.binary_search(&(position as u32));
        at.map_or(&[], |at| self.extensions.get(at as u32 + 1))
    }

    #[inline]
    fn tables_at(&self, position: usize) -> &[u8] {
        self.tables.get(position).map_or(&[], |list| self.lists.get(*list))
    }

    /// The image as the store keeps it.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        assert!(!self.times.is_empty() && self.times.len() as u64 <= PAGE_COMMITS);
        let one = |ids: &[u32]| ids.iter().all(|id| *id == ids[0]);
        let mut flags = 0;
        flags |= if one(&self.authors) { FLAG_ONE_AUTHOR } else { 0 };
        flags |= if one(&self.messages) { FLAG_ONE_MESSAGE } else { 0 };
        flags |= if self.authored.is_empty() { 0 } else { FLAG_AUTHORED };
        flags |= match self.roles.is_empty() {
            true => 0,
            false if one(&self.roles) => FLAG_ROLES | FLAG_ONE_ROLE,
            false => FLAG_ROLES,
        };
        flags |= match self.tables.is_empty() {
            true => 0,
            false if one(&self.tables) => FLAG_TABLES | FLAG_ONE_LIST,
            false => FLAG_TABLES,
        };
        flags |= if self.extended.is_empty() { 0 } else { FLAG_EXTENSIONS };
        out.extend_from_slice(&[FORMAT, flags]);
        out.extend_from_slice(&(self.times.len() as u16).to_le_bytes());
        out.extend_from_slice(&self.times[0].to_le_bytes());
        for pair in self.times.windows(2) {
            put_varint(out, pair[1] - pair[0]);
        }
        for (ids, flag) in [(&self.authors, FLAG_ONE_AUTHOR), (&self.messages, FLAG_ONE_MESSAGE)] {
            let stored = if flags & flag != 0 { &ids[..1] } else { &ids[..] };
            stored.iter().for_each(|id| put_varint(out, u64::from(*id)));
        }
        if !self.authored.is_empty() {
            put_varint(out, self.authored.len() as u64);
            for (position, authored_us) in &self.authored {
                put_varint(out, u64::from(*position));
                put_varint(
                    out,
                    zigzag(authored_us.wrapping_sub(self.times[*position as usize]) as i64),
                );
            }
        }
        if !self.roles.is_empty() {
            let stored = if flags & FLAG_ONE_ROLE != 0 { &self.roles[..1] } else { &self.roles };
            stored.iter().for_each(|id| put_varint(out, u64::from(*id)));
        }
        if !self.tables.is_empty() {
            let stored = if flags & FLAG_ONE_LIST != 0 { &self.tables[..1] } else { &self.tables };
            stored.iter().for_each(|id| put_varint(out, u64::from(*id)));
            put_varint(out, self.lists.ends.len() as u64);
            self.lists.iter().for_each(|list| put_slice(out, list));
        }
        if !self.extended.is_empty() {
            put_varint(out, self.extended.len() as u64);
            for (position, extension) in self.extended.iter().zip(self.extensions.iter()) {
                put_varint(out, u64::from(*position));
                put_slice(out, extension);
            }
        }
        put_varint(out, self.strings.ends.len() as u64);
        self.strings.iter().for_each(|string| put_slice(out, string.as_bytes()));
    }

    /// Reads the image of page `number`.
    pub(crate) fn decode(number: u64, bytes: &[u8]) -> Result<Page, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != FORMAT {
            return Err(Malformed {
                what: "format of commit page that this version does not know",
                at: 0,
            });
        }
        let flags = reader.u8()?;
        let of_lists = FLAG_TABLES | FLAG_ONE_LIST;
        let of_roles = FLAG_ROLES | FLAG_ONE_ROLE;
        // Each of the eight flags is known.
        if flags & of_roles == FLAG_ONE_ROLE || flags & of_lists == FLAG_ONE_LIST {
            return Err(Malformed { what: "flags that this version does not know", at: 1 });
        }
        let count = usize::from(reader.u16()?);
        let room = first_csn(number + 1).0 - first_csn(number).0;
        if count == 0 || count as u64 > room {
            return Err(reader.bad("number of commits that no page has"));
        }
        let mut page = Page::new(number);
        page.decode_times(&mut reader, count)?;
        page.authors = decode_ids(&mut reader, count, flags & FLAG_ONE_AUTHOR != 0)?;
        page.messages = decode_ids(&mut reader, count, flags & FLAG_ONE_MESSAGE != 0)?;
        if flags & FLAG_AUTHORED != 0 {
            page.decode_authored(&mut reader, count)?;
        }
        if flags & FLAG_ROLES != 0 {
            page.roles = decode_ids(&mut reader, count, flags & FLAG_ONE_ROLE != 0)?;
        }
        if flags & FLAG_TABLES != 0 {
            page.tables = decode_ids(&mut reader, count, flags & FLAG_ONE_LIST != 0)?;
            page.decode_lists(&mut reader)?;
        }
        if flags & FLAG_EXTENSIONS != 0 {
            page.decode_extensions(&mut reader, count)?;
        }
        page.decode_strings(&mut reader)?;
        Ok(page)
    }

    fn decode_times(&mut self, reader: &mut Reader<'_>, count: usize) -> Result<(), Malformed> {
        let mut time_us = reader.u64()?;
        self.times.reserve_exact(count);
        self.times.push(time_us);
        for _ in 1..count {
            time_us =
                time_us.checked_add(reader.varint()?).ok_or(reader.bad("time beyond 64 bits"))?;
            self.times.push(time_us);
        }
        Ok(())
    }

    fn decode_authored(&mut self, reader: &mut Reader<'_>, count: usize) -> Result<(), Malformed> {
        let authored = reader.varint()?;
        if authored > count as u64 {
            return Err(reader.bad("more authored times than commits"));
        }
        for _ in 0..authored {
            let position = reader.varint()?;
            let ascending = self.authored.last().is_none_or(|last| u64::from(last.0) < position);
            if position >= count as u64 || !ascending {
                return Err(reader.bad("authored time out of place"));
            }
            let difference = unzigzag(reader.varint()?);
            let authored_us = self.times[position as usize].wrapping_add(difference as u64);
            self.authored.push((position as u32, authored_us));
        }
        Ok(())
    }

    /// Takes the authored times out: the position of each on the page, ascending, and the time.
    pub(crate) fn take_authored(&mut self) -> Vec<(u32, u64)> {
        std::mem::take(&mut self.authored)
    }

    /// Puts back what [`Page::take_authored`] took.
    pub(crate) fn put_authored(&mut self, authored: Vec<(u32, u64)>) {
        self.authored = authored;
    }

    fn decode_lists(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let count = reader.varint()?;
        if count > PAGE_COMMITS || self.tables.iter().any(|id| u64::from(*id) > count) {
            return Err(reader.bad("list of tables that the page does not have"));
        }
        for _ in 0..count {
            let list = reader.slice()?;
            read_list(list)?;
            self.lists.push(list);
        }
        Ok(())
    }

    fn decode_extensions(
        &mut self,
        reader: &mut Reader<'_>,
        count: usize,
    ) -> Result<(), Malformed> {
        let extended = reader.varint()?;
        if extended > count as u64 {
            return Err(reader.bad("more extensions than commits"));
        }
        for _ in 0..extended {
            let position = reader.varint()?;
            let ascending = self.extended.last().is_none_or(|last| u64::from(*last) < position);
            if position >= count as u64 || !ascending {
                return Err(reader.bad("extension out of place"));
            }
            self.extended.push(position as u32);
            self.extensions.push(reader.slice()?);
        }
        Ok(())
    }

    fn decode_strings(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let count = reader.varint()?;
        if count > 3 * PAGE_COMMITS {
            return Err(reader.bad("more strings than commits can have"));
        }
        for _ in 0..count {
            self.strings.push(reader.text()?);
        }
        let role = |id: &u32| u64::from(*id) > count + u64::from(ROLE_IS_AUTHOR);
        if self.authors.iter().chain(&self.messages).any(|id| u64::from(*id) > count)
            || self.roles.iter().any(role)
        {
            return Err(reader.bad("string that the page does not have"));
        }
        if !reader.is_done() {
            return Err(reader.bad("bytes after the last string"));
        }
        Ok(())
    }
}

fn decode_ids(reader: &mut Reader<'_>, count: usize, one: bool) -> Result<Vec<u32>, Malformed> {
    let id = |reader: &mut Reader<'_>| {
        let id = reader.varint()?;
        u32::try_from(id).map_err(|_| reader.bad("string number beyond 32 bits"))
    };
    if one { Ok(vec![id(reader)?; count]) } else { (0..count).map(|_| id(reader)).collect() }
}

/// A page that commits are appended to: the columns, and where each string is.
#[derive(Debug)]
pub(crate) struct OpenPage {
    /// Shared with readers: where one holds it, the next commit goes to a copy.
    pub page: Arc<Page>,
    ids: HashMap<Box<str>, u32, FixedState>,
    list_ids: HashMap<Box<[u8]>, u32, FixedState>,
}

impl OpenPage {
    pub(crate) fn new(page: Page) -> Self {
        let ids = page.strings.iter().zip(1..).map(|(string, id)| (string.into(), id)).collect();
        let list_ids = page.lists.iter().zip(1..).map(|(list, id)| (list.into(), id)).collect();
        OpenPage { page: Arc::new(page), ids, list_ids }
    }

    /// Appends the next commit; its time is not before the last one's.
    pub(crate) fn push(&mut self, time_us: u64, note: &Note<'_>) {
        assert!(!self.page.is_full(), "a full page takes no commit");
        assert!(
            self.page.times.last().is_none_or(|last| *last <= time_us),
            "commit times never decrease"
        );
        let author = self.intern(note.author, self.page.authors.last().copied());
        let message = self.intern(note.message, self.page.messages.last().copied());
        let role = match note.role {
            "" => 0,
            role if role == note.author => ROLE_IS_AUTHOR,
            role => {
                let last = self.page.roles.last().filter(|last| **last > ROLE_IS_AUTHOR);
                let last = last.map(|last| last - ROLE_IS_AUTHOR);
                self.intern(role, last) + ROLE_IS_AUTHOR
            }
        };
        let list = self.intern_list(note.tables);
        let page = Arc::make_mut(&mut self.page);
        if list != 0 && page.tables.is_empty() {
            page.tables.resize(page.times.len(), 0);
        }
        if list != 0 || !page.tables.is_empty() {
            page.tables.push(list);
        }
        if role != 0 && page.roles.is_empty() {
            page.roles.resize(page.times.len(), 0);
        }
        if role != 0 || !page.roles.is_empty() {
            page.roles.push(role);
        }
        if let Some(authored_us) = note.authored_us {
            page.authored.push((page.times.len() as u32, authored_us));
        }
        if !note.extension.is_empty() {
            page.extended.push(page.times.len() as u32);
            page.extensions.push(note.extension);
        }
        page.times.push(time_us);
        page.authors.push(author);
        page.messages.push(message);
    }

    fn intern_list(&mut self, list: &[u8]) -> u32 {
        if list.is_empty() {
            return 0;
        }
        if let Some(last) =
            self.page.tables.last().filter(|last| self.page.lists.get(**last) == list)
        {
            return *last;
        }
        if let Some(id) = self.list_ids.get(list) {
            return *id;
        }
        let id = Arc::make_mut(&mut self.page).lists.push(list);
        self.list_ids.insert(list.into(), id);
        id
    }

    fn intern(&mut self, text: &str, last: Option<u32>) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(last) = last.filter(|last| self.page.strings.get(*last) == text) {
            return last;
        }
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = Arc::make_mut(&mut self.page).strings.push(text);
        self.ids.insert(text.into(), id);
        id
    }
}

/// Entry of one commit, as a delta of its page.
fn encode_entry(out: &mut Vec<u8>, time_us: u64, note: &Note<'_>) {
    let role = note.role_flag(ENTRY_ROLE_IS_AUTHOR, ENTRY_ROLE);
    let tables = if note.tables.is_empty() { 0 } else { ENTRY_TABLES };
    let extension = if note.extension.is_empty() { 0 } else { ENTRY_EXTENSION };
    let authored = if note.authored_us.is_some() { ENTRY_AUTHORED } else { 0 };
    out.push(role | tables | extension | authored);
    out.extend_from_slice(&time_us.to_le_bytes());
    if let Some(authored_us) = note.authored_us {
        out.extend_from_slice(&authored_us.to_le_bytes());
    }
    put_slice(out, note.author.as_bytes());
    put_slice(out, note.message.as_bytes());
    if role == ENTRY_ROLE {
        put_slice(out, note.role.as_bytes());
    }
    if tables != 0 {
        put_slice(out, note.tables);
    }
    if extension != 0 {
        put_slice(out, note.extension);
    }
}

fn decode_entry(bytes: &[u8]) -> Result<(u64, Note<'_>), Malformed> {
    let mut reader = Reader::new(bytes);
    let flags = reader.u8()?;
    let two_roles = ENTRY_ROLE_IS_AUTHOR | ENTRY_ROLE;
    let known = ENTRY_AUTHORED | two_roles | ENTRY_TABLES | ENTRY_EXTENSION;
    if flags & !known != 0 || flags & two_roles == two_roles {
        return Err(Malformed { what: "flags that this version does not know", at: 0 });
    }
    let time_us = reader.u64()?;
    let authored_us = if flags & ENTRY_AUTHORED != 0 { Some(reader.u64()?) } else { None };
    let (author, message) = (reader.text()?, reader.text()?);
    let role = read_role(&mut reader, author, flags, ENTRY_ROLE_IS_AUTHOR, ENTRY_ROLE)?;
    let tables = if flags & ENTRY_TABLES != 0 { reader.slice()? } else { &[] };
    read_list(tables)?;
    let extension = if flags & ENTRY_EXTENSION != 0 { reader.slice()? } else { &[] };
    let note = Note { author, message, role, authored_us, tables, extension };
    if !reader.is_done() {
        return Err(reader.bad("bytes after the last text"));
    }
    Ok((time_us, note))
}

/// The write that records commit `csn` in the table of commits: derived, never logged.
pub(crate) fn page_write(csn: Csn, time_us: u64, note: &Note<'_>) -> Write {
    let page = page_of(csn);
    let mut value = Vec::with_capacity(24 + note.author.len() + note.message.len());
    let op = if csn == first_csn(page) {
        let mut first = OpenPage::new(Page::new(page));
        first.push(time_us, note);
        first.page.encode(&mut value);
        Op::Put(value)
    } else {
        encode_entry(&mut value, time_us, note);
        Op::Delta(value)
    };
    Write { table: COMMITS_TABLE, key: page_key(page).to_vec(), op }
}

/// The page of which `base` is the image and `deltas` are the entries since.
pub(crate) fn assemble<'a>(
    number: u64,
    base: &[u8],
    deltas: impl Iterator<Item = (Csn, &'a [u8])>,
) -> Result<OpenPage, Malformed> {
    let mut open = OpenPage::new(Page::decode(number, base)?);
    for (csn, bytes) in deltas {
        let (time_us, note) = decode_entry(bytes)?;
        let last = open.page.times.last().copied().unwrap_or(0);
        if csn != open.page.end() || open.page.is_full() || time_us < last {
            return Err(Malformed { what: "entry that does not follow the last", at: 0 });
        }
        open.push(time_us, &note);
    }
    Ok(open)
}

/// The functions that the store needs of the table of commits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Commits;

impl Table for Commits {
    fn merge(
        &self,
        key: &[u8],
        _base_csn: Csn,
        base: &[u8],
        deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        let no_key = |_| MergeError::new("the key of a commit page is not 8 bytes");
        let number = key.try_into().map(u64::from_be_bytes).map_err(no_key)?;
        assemble(number, base, deltas).map_err(MergeError::new)?.page.encode(out);
        Ok(())
    }

    /// The engine keeps the open page decoded in memory, so stored pages are read too rarely to be worth an image.
    fn rebase(&self, _image_bytes: usize, _delta_bytes: usize) -> bool {
        false
    }

    fn packer(&self) -> Option<Box<dyn Packer>> {
        Some(Box::new(PagePacker))
    }

    /// A page only ever grows: every earlier state of it is a prefix of the newest.
    fn keeps_history(&self, _key: &[u8]) -> bool {
        false
    }
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
