//! [`Note`]: the metadata of a commit of ZODB.
//!
//! ```text
//!   author, message    user and description, if they are texts of SQL and not too long
//!   extension          'Z' flags [tid] [user] [description] extension pickle
//! ```
//!
//! A commit without an extension of ours is a transaction with the author as its user.

use table::objects::Tid;
use txn::{AUTHOR_BYTES_MAX, CommitMeta, MESSAGE_BYTES_MAX};

const MAGIC: u8 = b'Z';
const HAS_TID: u8 = 1;
const HAS_USER: u8 = 2;
const HAS_DESCRIPTION: u8 = 4;
const IS_PACK: u8 = 8;
const IS_PACKED: u8 = 16;

/// The metadata of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// The id that the transaction had elsewhere.
    pub tid: Option<Tid>,
    pub user: Vec<u8>,
    pub description: Vec<u8>,
    /// The pickle of a dict, or nothing.
    pub extension: Vec<u8>,
    /// The commit removes what nothing reaches.
    pub is_pack: bool,
    /// The transaction was packed where it comes from.
    pub is_packed: bool,
}

impl Note {
    /// The same as the engine keeps it.
    pub fn to_meta(&self) -> CommitMeta {
        let text = |bytes: &[u8], most: usize| {
            let text = std::str::from_utf8(bytes).ok()?;
            (bytes.len() <= most && !bytes.contains(&0)).then(|| text.to_owned())
        };
        let author = text(&self.user, AUTHOR_BYTES_MAX);
        let message = text(&self.description, MESSAGE_BYTES_MAX);
        let mut flags = if self.is_pack { IS_PACK } else { 0 };
        flags |= if self.is_packed { IS_PACKED } else { 0 };
        let mut rest = Vec::new();
        if let Some(tid) = self.tid {
            flags |= HAS_TID;
            rest.extend_from_slice(&tid.0.to_be_bytes());
        }
        for (kept, bytes, flag) in
            [(&author, &self.user, HAS_USER), (&message, &self.description, HAS_DESCRIPTION)]
        {
            if kept.is_none() {
                flags |= flag;
                rest.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                rest.extend_from_slice(bytes);
            }
        }
        let mut extension = Vec::new();
        if flags != 0 || !self.extension.is_empty() {
            extension.extend_from_slice(&[MAGIC, flags]);
            extension.append(&mut rest);
            extension.extend_from_slice(&self.extension);
        }
        CommitMeta {
            author: author.unwrap_or_default(),
            message: message.unwrap_or_default(),
            extension,
            ..CommitMeta::default()
        }
    }

    /// Reads back what the engine has kept. The extension of another application is none of ours.
    pub fn of_commit(author: &str, message: &str, extension: &[u8]) -> Note {
        let mut note = Note {
            user: author.as_bytes().to_vec(),
            description: message.as_bytes().to_vec(),
            ..Note::default()
        };
        // An extension that does not decode was written by another program.
        let _ = note.read(extension);
        note
    }

    fn read(&mut self, extension: &[u8]) -> Option<()> {
        let [MAGIC, flags, rest @ ..] = extension else { return None };
        let (flags, mut rest) = (*flags, rest);
        if flags & HAS_TID != 0 {
            let (tid, behind) = rest.split_first_chunk::<8>()?;
            self.tid = Some(Tid(u64::from_be_bytes(*tid)));
            rest = behind;
        }
        for (flag, field) in [(HAS_USER, &mut self.user), (HAS_DESCRIPTION, &mut self.description)]
        {
            if flags & flag != 0 {
                let (length, behind) = rest.split_first_chunk::<4>()?;
                let (bytes, behind) =
                    behind.split_at_checked(u32::from_be_bytes(*length) as usize)?;
                *field = bytes.to_vec();
                rest = behind;
            }
        }
        self.is_pack = flags & IS_PACK != 0;
        self.is_packed = flags & IS_PACKED != 0;
        self.extension = rest.to_vec();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The bytes of ZODB's user, description and extension come back, whatever they are.
        #[test]
        fn notes_come_back(
            user in prop::collection::vec(any::<u8>(), 0..40),
            text in "[a-z\u{0}é]{0,20}",
            extension in prop::collection::vec(any::<u8>(), 0..40),
            tid in prop::option::of(any::<u64>()),
            (is_pack, is_packed) in any::<(bool, bool)>(),
        ) {
            let description = text.into_bytes();
            let note = Note { tid: tid.map(Tid), user, description, extension, is_pack, is_packed };
            let meta = note.to_meta();
            prop_assert_eq!(Note::of_commit(&meta.author, &meta.message, &meta.extension), note);
        }

        /// The extension of another application makes no note of ours unreadable, and never a panic.
        #[test]
        fn other_extensions_are_let_alone(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Note::of_commit("ada", "why", &bytes);
        }
    }
}
