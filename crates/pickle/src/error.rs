//! The errors of a record, and the byte of each.
//!
//! Offsets count from the first byte of the record, so the class pickle is included. An error names
//! the opcode or the field that is wrong and what is allowed in its place.

/// Why a record was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The record has no bytes.
    #[error("the record is empty: a record is two pickles, the class and the state")]
    Empty,
    /// The record is longer than the reader can number.
    #[error("the record has {bytes} bytes: {limit} are allowed")]
    TooLong {
        /// The length of the record.
        bytes: usize,
        /// The longest record that is read.
        limit: usize,
    },
    /// The record ends inside one of its pickles.
    #[error("byte {at}: {what} needs {needed} bytes, the record has {left} more")]
    Truncated {
        /// Offset of the opcode.
        at: usize,
        /// The opcode or the field.
        what: &'static str,
        /// Bytes that the field announces.
        needed: u64,
        /// Bytes that the record still has.
        left: usize,
    },
    /// The record ends before the STOP opcode of a pickle.
    #[error("byte {at}: the record ends before the STOP opcode of its {pickle} pickle")]
    Unfinished {
        /// Length of the record.
        at: usize,
        /// `class` or `state`.
        pickle: &'static str,
    },
    /// A byte stands where an opcode is expected, and is none.
    #[error("byte {at}: 0x{code:02x} is not an opcode of the pickle protocols 0 to 5")]
    Opcode {
        /// Offset of the byte.
        at: usize,
        /// The byte.
        code: u8,
    },
    /// An opcode is used against its rules.
    #[error("byte {at}: {what}")]
    Invalid {
        /// Offset of the opcode.
        at: usize,
        /// The fault, and the allowed forms.
        what: &'static str,
    },
    /// The JSON of the state goes beyond a limit of [`Limits`](crate::Limits).
    #[error("the state has more than {limit} {what} as JSON")]
    Limit {
        /// The limited quantity.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

/// The reason why a heap refuses an operation; the machine adds the offset.
pub(crate) type Refused = &'static str;
