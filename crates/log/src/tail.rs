//! Reading the durable frames of an open log, beside the writers.
//!
//! The end is fixed when the reading starts; a reader that follows the log asks again from there.
//! If a segment is released and filled anew meanwhile, it no longer verifies. The reader then
//! learns that its position is gone, not that the log is damaged.

use std::collections::VecDeque;

use crate::error::LogError;
use crate::frame::{Kind, decode, seed_of};
use crate::segment::Segment;
use crate::segmented::SegmentedLog;
use crate::{CommitLog, Lsn};

pub(crate) struct Tail<'a> {
    log: &'a SegmentedLog,
    /// The segments still to be read; the first is the one at hand.
    segments: VecDeque<Segment>,
    at: u64,
    end: u64,
    /// The stream from `loaded_from` to the end of the segment at hand.
    bytes: Vec<u8>,
    loaded_from: u64,
    /// True if pieces may come first of a payload whose beginning is not kept any more.
    may_begin_within: bool,
}

impl<'a> Tail<'a> {
    pub fn new(
        log: &'a SegmentedLog,
        segments: VecDeque<Segment>,
        from: u64,
        end: u64,
    ) -> Tail<'a> {
        let mut tail = Tail {
            log,
            segments,
            at: from,
            end,
            bytes: Vec::new(),
            loaded_from: from,
            may_begin_within: false,
        };
        while tail.segments.get(1).is_some_and(|next| next.header.first_lsn <= from) {
            tail.segments.pop_front();
        }
        tail
    }

    /// The same from the oldest position that is kept. That may lie within a payload, which then comes as one
    /// without bytes: only its end is known.
    pub fn of_all(log: &'a SegmentedLog, segments: VecDeque<Segment>, end: u64) -> Tail<'a> {
        let from = segments.front().map_or(0, |segment| segment.header.first_lsn);
        Tail { may_begin_within: true, ..Tail::new(log, segments, from, end) }
    }

    /// The next payload; none at the end.
    fn payload(&mut self) -> Result<Option<Vec<u8>>, LogError> {
        let mut partial: Option<Vec<u8>> = None;
        while self.at < self.end {
            let (kind, piece) = self.piece()?;
            match kind {
                Kind::Middle if self.may_begin_within => continue,
                Kind::Last if std::mem::take(&mut self.may_begin_within) => {
                    return Ok(Some(Vec::new()));
                }
                Kind::Mark | Kind::Fill => {}
                _ => self.may_begin_within = false,
            }
            match (kind, &mut partial) {
                (Kind::Mark | Kind::Fill, None) => {}
                (Kind::Whole, None) => return Ok(Some(piece)),
                (Kind::First, None) => partial = Some(piece),
                (Kind::Middle, Some(payload)) => payload.extend_from_slice(&piece),
                (Kind::Last, Some(payload)) => {
                    payload.extend_from_slice(&piece);
                    return Ok(partial);
                }
                _ => return Err(self.unreadable()),
            }
        }
        Ok(None)
    }

    fn piece(&mut self) -> Result<(Kind, Vec<u8>), LogError> {
        if self.segments.get(1).is_some_and(|next| next.header.first_lsn == self.at) {
            self.segments.pop_front();
            self.bytes.clear();
        }
        let Some(segment) = self.segments.front() else {
            return Err(self.unreadable());
        };
        if self.bytes.is_empty() {
            self.bytes = segment.load(self.at, self.end)?;
            self.loaded_from = self.at;
        }
        let rest = self.bytes.get((self.at - self.loaded_from) as usize..).unwrap_or_default();
        let Some(frame) = decode(rest, self.at, seed_of(segment.header.epoch)) else {
            return Err(self.unreadable());
        };
        self.at += frame.size();
        Ok((frame.kind, frame.payload.to_vec()))
    }

    fn unreadable(&self) -> LogError {
        let oldest = self.log.oldest();
        match self.segments.front() {
            Some(segment) if Lsn(self.at) >= oldest => LogError::Corrupt {
                file: segment.path.to_path_buf(),
                offset: segment.offset_of(self.at),
                detail: format!(
                    "position {} does not verify, but all below {} was durable",
                    self.at, self.end
                ),
            },
            _ => LogError::Released { wanted: Lsn(self.at), oldest },
        }
    }
}

impl Iterator for Tail<'_> {
    type Item = Result<(Lsn, Vec<u8>), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.payload() {
            Ok(payload) => payload.map(|payload| Ok((Lsn(self.at), payload))),
            Err(error) => {
                self.at = self.end; // Nothing after an error.
                Some(Err(error))
            }
        }
    }
}
