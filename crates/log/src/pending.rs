//! The log's buffer: frames that were appended and are not written yet.
//!
//! Frames are encoded here, in the order of the calls, straight into the bytes that the next leader
//! will write. The plan of segments is made here too, since a frame's checksum depends on the epoch
//! of its segment: where the stream comes to the end of one, a *roll* notes the number, epoch and
//! place of the next, and the leader carries it out.
//!
//! # Invariants
//! * `end == start + bytes.len()`: the few bytes that no frame fits at the end of a segment have no
//!   positions.
//! * No frame crosses a roll.

use std::ops::RangeInclusive;

use vfs::Random;

use crate::frame::{HEADER, Kind, ROOM_MIN, encode, padded, seed_of};
use crate::segment::{Header, Segment, capacity};
use crate::{LogError, LogOptions, PAYLOAD_MAX};

/// The most zeroes with which one frame fills the end of a segment.
const FILL_BYTES: usize = 1 << 20;
/// Buffers larger than this are given back after they were written.
const KEPT_BYTES: usize = 4 << 20;

/// The frames that the next leader will write.
#[derive(Default)]
pub(crate) struct Batch {
    pub bytes: Vec<u8>,
    /// The position of the first byte.
    pub start: u64,
    /// Where to go over to the next segment: the index in `bytes`, and its header.
    pub rolls: Vec<(usize, Header)>,
}

impl Batch {
    /// The position just past the last byte.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Makes room for the next frames, which start at `start`.
    pub fn reset(&mut self, start: u64) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.rolls.clear();
        self.start = start;
    }
}

pub(crate) struct Pending {
    pub batch: Batch,
    pub fenced: bool,
    /// Frames appended since the log was opened.
    pub frames: u64,
    /// True if the last frame is the mark of a clean close, or there is none at all.
    pub marked: bool,
    number: u64,
    seed: u32,
    /// Bytes left in the segment that the next frame goes to.
    room: u64,
}

impl Pending {
    /// Goes on at `end`, in `segment` if the log has any.
    pub fn new(end: u64, segment: Option<&Segment>, marked: bool) -> Pending {
        let (number, seed, room) = match segment {
            Some(s) => (s.header.number, seed_of(s.header.epoch), s.limit() - end),
            None => (0, 0, 0),
        };
        let batch = Batch { start: end, ..Batch::default() };
        Pending { batch, fenced: false, frames: 0, marked, number, seed, room }
    }

    pub fn end(&self) -> u64 {
        self.batch.end()
    }

    /// Returns the numbers of the segments that a payload of so many bytes begins. Fails if the log is fenced, or if
    /// the payload is too large.
    pub fn begun_by(
        &self,
        bytes: usize,
        options: &LogOptions,
    ) -> Result<RangeInclusive<u64>, LogError> {
        self.must_be_open()?;
        if bytes > PAYLOAD_MAX {
            return Err(LogError::TooLarge { bytes, limit: PAYLOAD_MAX });
        }
        let (mut last, mut room, mut left) = (self.number, self.room, bytes as u64);
        loop {
            if room < ROOM_MIN {
                last += 1;
                room = capacity(options.size_of(last));
            }
            left = left.saturating_sub(room - HEADER as u64);
            if left == 0 {
                return Ok(self.number + 1..=last);
            }
            room = 0;
        }
    }

    /// Returns the number of the segment that a turn begins. Fails if the log is fenced.
    pub fn begun_by_turn(&self) -> Result<RangeInclusive<u64>, LogError> {
        self.must_be_open()?;
        Ok(self.number + 1..=self.number + 1)
    }

    fn must_be_open(&self) -> Result<(), LogError> {
        if self.fenced { Err(LogError::Fenced) } else { Ok(()) }
    }

    /// Appends a payload, in pieces where it does not fit; returns the position past it.
    pub fn push(
        &mut self,
        payload: &[u8],
        durable: u64,
        random: &dyn Random,
        options: &LogOptions,
    ) -> u64 {
        let mut done = 0;
        loop {
            self.make_room(random, options);
            let piece = (payload.len() - done).min(self.room as usize - HEADER);
            let kind = Kind::of_piece(done == 0, done + piece == payload.len());
            self.put(kind, durable, &payload[done..done + piece]);
            done += piece;
            if done == payload.len() {
                break;
            }
        }
        self.frames += 1;
        self.marked = false;
        self.end()
    }

    /// Fills up the segment and begins the next; returns its first position, and the position past the
    /// frame that it begins with.
    pub fn turn(&mut self, durable: u64, random: &dyn Random, options: &LogOptions) -> (u64, u64) {
        while self.room >= ROOM_MIN {
            let zeroes = vec![0; (self.room as usize - HEADER).min(FILL_BYTES)];
            self.put(Kind::Fill, durable, &zeroes);
        }
        self.make_room(random, options);
        let first = self.end();
        self.put(Kind::Fill, durable, &[]);
        self.marked = false;
        (first, self.end())
    }

    /// Appends the mark of a clean close: everything before it is durable.
    pub fn push_mark(&mut self, random: &dyn Random, options: &LogOptions) -> u64 {
        self.make_room(random, options);
        let end = self.end();
        self.put(Kind::Mark, end, &[]);
        self.marked = true;
        self.end()
    }

    fn make_room(&mut self, random: &dyn Random, options: &LogOptions) {
        if self.room >= ROOM_MIN {
            return;
        }
        let number = self.number + 1;
        let size = options.size_of(number);
        let header = Header { number, epoch: random.next_u64(), first_lsn: self.end(), size };
        self.batch.rolls.push((self.batch.bytes.len(), header));
        self.number = number;
        self.seed = seed_of(header.epoch);
        self.room = capacity(size);
    }

    fn put(&mut self, kind: Kind, durable: u64, payload: &[u8]) {
        let lsn = self.end();
        encode(&mut self.batch.bytes, kind, lsn, durable, payload, self.seed);
        self.room -= padded(payload.len()) as u64;
    }
}
