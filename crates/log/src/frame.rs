//! Frames: the form of a payload in the stream.
//!
//! ```text
//!   byte  0        4        8                16               24            24+length   8k
//!         ┌────────┬────────┬────────────────┬────────────────┬─────────────┬─────────┐
//!         │ crc32c │ length │ lsn of byte 0  │ durable then   │ payload     │ zeroes  │
//!         │        │ + kind │                │                │             │         │
//!         └────────┴────────┴────────────────┴────────────────┴─────────────┴─────────┘
//!          checksum of ────>└──────────────────────────────────────────────┘
//! ```
//!
//! The checksum starts from the epoch of the segment, so that bytes of an earlier use in a recycled
//! file never verify. `durable` is the position below which everything was durable when the frame
//! was made: the frame *vouches* for everything below it. So recovery can distinguish a torn tail
//! (no frame vouches for it) from damage (a frame vouches for it).
//!
//! A payload that does not fit the rest of its segment is cut in pieces, each a frame of its own:
//! first, middle ..., last. It counts once the last is there.
//!
//! # Invariants
//! * A frame starts at a multiple of 8 and its `lsn` is where it starts.
//! * `durable <= lsn`.
//! * A frame of zeroes is invalid (no kind is 0).

/// Bytes before the payload.
pub(crate) const HEADER: usize = 24;
/// With less room than this a segment is full: a header and eight bytes of payload.
pub(crate) const ROOM_MIN: u64 = HEADER as u64 + 8;
/// The length takes the lower bits of its word, the kind the upper four.
const LENGTH_BITS: u32 = 28;
const LENGTH_MASK: u32 = (1 << LENGTH_BITS) - 1;

/// The part of a payload that a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole payload.
    Whole = 1,
    /// The start of a payload.
    First = 2,
    /// Neither its start nor its end.
    Middle = 3,
    /// Its end.
    Last = 4,
    /// Nothing: the log was closed here, and all before it was durable.
    Mark = 5,
    /// Nothing: zeroes that take up room, so that the stream goes on in the next segment.
    Fill = 6,
}

impl Kind {
    fn from_bits(bits: u32) -> Option<Kind> {
        Some(match bits {
            1 => Kind::Whole,
            2 => Kind::First,
            3 => Kind::Middle,
            4 => Kind::Last,
            5 => Kind::Mark,
            6 => Kind::Fill,
            _ => return None,
        })
    }

    /// The kind of a piece that starts and ends where its payload does, or does not.
    pub fn of_piece(starts: bool, ends: bool) -> Kind {
        match (starts, ends) {
            (true, true) => Kind::Whole,
            (true, false) => Kind::First,
            (false, false) => Kind::Middle,
            (false, true) => Kind::Last,
        }
    }
}

/// A verified frame.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub kind: Kind,
    pub durable: u64,
    pub payload: &'a [u8],
}

impl Frame<'_> {
    /// Bytes in the stream, padding included.
    pub fn size(&self) -> u64 {
        padded(self.payload.len()) as u64
    }
}

/// The size in the stream of a frame with `length` bytes of payload.
pub(crate) fn padded(length: usize) -> usize {
    (HEADER + length).next_multiple_of(8)
}

/// The start value of all checksums under an epoch.
pub(crate) fn seed_of(epoch: u64) -> u32 {
    crc32c::crc32c(&epoch.to_le_bytes())
}

/// Appends a frame that starts at `lsn`.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    kind: Kind,
    lsn: u64,
    durable: u64,
    payload: &[u8],
    seed: u32,
) {
    debug_assert!(lsn.is_multiple_of(8) && durable <= lsn, "frame at {lsn}, durable {durable}");
    debug_assert!(payload.len() <= LENGTH_MASK as usize);
    let start = out.len();
    let word = payload.len() as u32 | (kind as u32) << LENGTH_BITS;
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&word.to_le_bytes());
    header[8..16].copy_from_slice(&lsn.to_le_bytes());
    header[16..24].copy_from_slice(&durable.to_le_bytes());
    out.reserve(padded(payload.len()));
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
    let crc = crc32c::crc32c_append(seed, &out[start + 4..]);
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    out.resize(start + padded(payload.len()), 0);
}

/// The frame at the start of `bytes`, where one that belongs at `lsn` verifies.
pub(crate) fn decode(bytes: &[u8], lsn: u64, seed: u32) -> Option<Frame<'_>> {
    if bytes.len() < HEADER || u64_at(bytes, 8) != lsn {
        return None;
    }
    let word = u32_at(bytes, 4);
    let kind = Kind::from_bits(word >> LENGTH_BITS)?;
    let length = (word & LENGTH_MASK) as usize;
    let payload = bytes.get(HEADER..HEADER + length)?;
    let durable = u64_at(bytes, 16);
    if !checksums_are_ignored()
        && crc32c::crc32c_append(seed, &bytes[4..HEADER + length]) != u32_at(bytes, 0)
    {
        return None;
    }
    (durable <= lsn).then_some(Frame { kind, durable, payload })
}

/// The length up to the end of the payload by the header at the start of `bytes`; `None` if the header
/// says that no frame starts here. Only [`decode`] can tell whether the frame is valid.
pub(crate) fn claim(bytes: &[u8], lsn: u64) -> Option<usize> {
    // A frame has its own position: this comparison rules out nearly every place.
    let claims = bytes.len() >= HEADER && u64_at(bytes, 8) == lsn;
    claims.then(|| HEADER + (u32_at(bytes, 4) & LENGTH_MASK) as usize)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(not(test))]
fn checksums_are_ignored() -> bool {
    false
}

#[cfg(test)]
fn checksums_are_ignored() -> bool {
    IGNORE_CHECKSUMS.get()
}

#[cfg(test)]
thread_local! {
    /// Set by the test that proves the checksums are needed.
    pub(crate) static IGNORE_CHECKSUMS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}
