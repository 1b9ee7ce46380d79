//! A window on a segment: recovery reads through it, so that opening takes little memory and time
//! however large the segments are.
//!
//! ```text
//!   segment  │ frame │ frame │ a large frame ....... │ zeroes ............................ │
//!   windows  └─────────────────┘                                 └──────────────────┘
//!                    └──── as much as it claims ─────┘   dismissed as a whole
//! ```

use crate::error::LogError;
use crate::frame::{Frame, HEADER, claim, decode, seed_of};
use crate::segment::Segment;

/// Bytes read at a time.
pub(crate) const WINDOW: usize = 256 << 10;

/// Part of a segment, in memory.
pub(crate) struct Window {
    segment: Segment,
    seed: u32,
    bytes: Vec<u8>,
    /// The position of the first byte.
    first: u64,
    /// A byte that is not zero was passed by [`Window::next_claim`].
    pub dirty: bool,
}

impl Window {
    pub fn new(segment: &Segment) -> Window {
        Window {
            segment: segment.clone(),
            seed: seed_of(segment.header.epoch),
            bytes: Vec::new(),
            first: 0,
            dirty: false,
        }
    }

    /// Returns the bytes from position `lsn` on: at least `wanted`, or all there are.
    fn at(&mut self, lsn: u64, wanted: usize) -> Result<&[u8], LogError> {
        let held = self.first..self.first + self.bytes.len() as u64;
        if !held.contains(&lsn) || held.end - lsn < wanted as u64 {
            let to = lsn.saturating_add(wanted.max(WINDOW) as u64);
            self.segment.load_into(lsn, to, &mut self.bytes)?;
            self.first = lsn;
        }
        Ok(&self.bytes[(lsn - self.first) as usize..])
    }

    /// The frame at position `lsn`, where one verifies.
    pub fn frame(&mut self, lsn: u64) -> Result<Option<Frame<'_>>, LogError> {
        let Some(size) = claim(self.at(lsn, HEADER)?, lsn) else { return Ok(None) };
        // A frame that claims more bytes than the segment holds is not read.
        if size as u64 > self.segment.limit().saturating_sub(lsn) {
            return Ok(None);
        }
        let seed = self.seed;
        Ok(decode(self.at(lsn, size)?, lsn, seed))
    }

    /// The first position from `lsn` on that claims to be the start of a frame.
    pub fn next_claim(&mut self, mut lsn: u64) -> Result<Option<u64>, LogError> {
        loop {
            let bytes = self.at(lsn, HEADER)?;
            let len = bytes.len();
            let zero = is_zero(bytes);
            let found = match zero {
                true => None,
                false => {
                    (0..len).step_by(8).find(|&at| claim(&bytes[at..], lsn + at as u64).is_some())
                }
            };
            self.dirty |= !zero;
            match found {
                Some(at) => return Ok(Some(lsn + at as u64)),
                None if len < HEADER => return Ok(None),
                // The last places have not been seen with the whole of their headers.
                None => lsn += ((len - HEADER) as u64 & !7) + 8,
            }
        }
    }
}

/// True if there is nothing but zeroes.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(4096).all(|chunk| chunk.iter().fold(0, |any, byte| any | byte) == 0)
}
