//! Opening a log: finds the valid frames, replays them, and destroys those that must never come back.
//!
//! ```text
//!                                   first bad place          does any later frame vouch for it?
//!   00000004.log   00000005.log     │                        ("all below P was durable", P > cut)
//!   [ A ][ B ]     [ C ][ D first ] x [ F ]   00000006.log
//!                       └─ cut here, where the incomplete payload starts
//!     no frame vouches: a torn tail. Zero everything from the cut on, then go on writing there.
//!     F or a later one vouches: D was acknowledged and is damaged. Refuse; change nothing.
//! ```
//!
//! The order of steps: read all headers, replay, decide between torn tail and damage. Only then the first
//! byte is changed.
//!
//! # Invariants
//! * Every frame that the visitor sees is durable before the log accepts a new frame. A former
//!   process may have left it in the page cache only, even marked clean by a sync that failed. So
//!   recovery writes again all bytes that no frame vouches for, and syncs every file in use.
//! * Nothing that verifies is left past the cut, in this segment or in later ones: a frame that
//!   recovery once did not show could otherwise join the stream behind new ones of equal length.
//! * Running recovery again after it was interrupted anywhere gives the same answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use vfs::{Env, File, OpenMode, Vfs};

use crate::error::LogError;
use crate::frame::Kind;
use crate::reserve::{SPARES_MAX, Spare};
use crate::segment::{DATA_START, Found, Header, Segment, VERSION, number_of};
use crate::window::{Window, is_zero};
use crate::{LogOptions, Lsn, Visitor};

/// Zeroes are written in steps of so many bytes.
const STEP: u64 = 64 << 10;

/// A recovered log, ready for new frames.
pub(crate) struct Recovered {
    /// In use, oldest first, without a gap.
    pub segments: Vec<Segment>,
    /// Where the next frame goes.
    pub end: u64,
    /// True if the last frame is the mark of a clean close, or there is none at all.
    pub marked: bool,
    /// Files prepared for the next segments, by number.
    pub ready: BTreeMap<u64, Arc<dyn File>>,
    /// Released files, kept for their next use.
    pub spares: Vec<Spare>,
}

pub(crate) fn recover(
    env: &Env,
    dir: &Path,
    options: &LogOptions,
    from: u64,
    f: &mut Visitor<'_>,
) -> Result<Recovered, LogError> {
    let fs = &*env.fs;
    fs.create_dir_all(dir).map_err(LogError::io("create", dir))?;
    let mut files = Files::survey(fs, dir)?;
    let Some(start) = files.start(dir, from)? else {
        files.invalidate_after(0)?;
        return files.finish(fs, dir, options, Vec::new(), 0, true);
    };
    let mut walk =
        Walk { live: vec![start], at: from, vouched: from, partial: None, marked: false };
    walk.run(&files, f)?;
    let clean = walk.judge(&files)?;

    let cut = walk.cut();
    while walk.live.len() > 1 && walk.last().header.first_lsn > cut {
        walk.live.pop();
    }
    files.invalidate_after(walk.last().header.number)?;
    if !(clean && cut == walk.at) {
        erase(walk.last(), cut)?;
    }
    for segment in &walk.live {
        rewrite(segment, walk.vouched, cut)?;
        segment.file.sync_data().map_err(LogError::io("sync", &segment.path))?;
    }
    let segments = files.with_predecessors(walk.live);
    // The mark says that everything before it is durable. A torn frame after the mark does not change that.
    files.finish(fs, dir, options, segments, cut, walk.marked && walk.partial.is_none())
}

/// The files of the directory, by number and by what their first sector says.
struct Files {
    used: BTreeMap<u64, Segment>,
    unused: BTreeMap<u64, (PathBuf, Arc<dyn File>)>,
    damaged: BTreeMap<u64, (PathBuf, Arc<dyn File>)>,
}

impl Files {
    fn survey(fs: &dyn Vfs, dir: &Path) -> Result<Files, LogError> {
        let mut files =
            Files { used: BTreeMap::new(), unused: BTreeMap::new(), damaged: BTreeMap::new() };
        for path in fs.list(dir).map_err(LogError::io("list", dir))? {
            let Some(number) = number_of(&path) else { continue };
            let file = fs.open(&path, OpenMode::ReadWrite).map_err(LogError::io("open", &path))?;
            let mut sector = [0; DATA_START as usize];
            let len = file.len().map_err(LogError::io("measure", &path))?.min(DATA_START) as usize;
            file.read_exact_at(&mut sector[..len], 0).map_err(LogError::io("read", &path))?;
            match Header::decode(&sector, number) {
                Found::Unused => {
                    files.unused.insert(number, (path, file));
                }
                Found::Used(header) => {
                    files.used.insert(number, Segment { header, path: path.into(), file });
                }
                Found::Damaged => {
                    files.damaged.insert(number, (path, file));
                }
                Found::Version(found) => {
                    return Err(LogError::Version { file: path, found, known: VERSION });
                }
            }
        }
        Ok(files)
    }

    /// The segment that holds position `from`; none if the log is new.
    fn start(&self, dir: &Path, from: u64) -> Result<Option<Segment>, LogError> {
        let start = self.used.values().rev().find(|s| s.header.first_lsn <= from);
        if let Some(start) = start {
            if from > start.limit() || !from.is_multiple_of(8) {
                let detail = format!("the log ends before position {from}, which was durable");
                return Err(LogError::Corrupt {
                    file: start.path.to_path_buf(),
                    offset: DATA_START,
                    detail,
                });
            }
            return Ok(Some(start.clone()));
        }
        if let Some((path, _)) = self.damaged.values().next() {
            return Err(damaged_header(path));
        }
        match self.used.values().next() {
            // The very first write reached past the first segment, and the header of the first segment was lost.
            Some(_) if from == 0 && self.unused.contains_key(&1) => match self.vouched_from(2)? {
                Some(durable) if durable > 0 => {
                    let detail = format!(
                        "segment 1 has no header, but positions below {durable} were durable"
                    );
                    Err(LogError::Corrupt { file: dir.to_path_buf(), offset: 0, detail })
                }
                _ => Ok(None),
            },
            Some(oldest) => {
                Err(LogError::Released { wanted: Lsn(from), oldest: Lsn(oldest.header.first_lsn) })
            }
            None if from == 0 => Ok(None),
            None => {
                let detail = format!("no file holds position {from}, which was durable");
                Err(LogError::Corrupt { file: dir.to_path_buf(), offset: 0, detail })
            }
        }
    }

    /// The furthest position that a frame in segment `number` or a later one vouches for.
    fn vouched_from(&self, number: u64) -> Result<Option<u64>, LogError> {
        let mut furthest = None;
        for segment in self.used.range(number..).map(|(_, segment)| segment) {
            furthest = furthest.max(vouched(segment, segment.header.first_lsn)?.0);
        }
        Ok(furthest)
    }

    /// Clears the header of every file after segment `last`, durably, so that the file is a reserve file.
    fn invalidate_after(&mut self, last: u64) -> Result<(), LogError> {
        let used = self
            .used
            .split_off(&(last + 1))
            .into_iter()
            .map(|(n, s)| (n, (s.path.to_path_buf(), s.file)));
        for (number, (path, file)) in used.chain(self.damaged.split_off(&(last + 1))) {
            file.write_all_at(&[0; DATA_START as usize], 0)
                .map_err(LogError::io("clear", &path))?;
            file.sync_data().map_err(LogError::io("sync", &path))?;
            self.unused.insert(number, (path, file));
        }
        Ok(())
    }

    /// Adds the older segments that lead up to the `live` ones without a gap.
    fn with_predecessors(&mut self, mut live: Vec<Segment>) -> Vec<Segment> {
        let mut older = Vec::new();
        let mut first = live[0].header;
        while let Some(segment) = first.number.checked_sub(1).and_then(|n| self.used.get(&n)) {
            let filled =
                segment.header.first_lsn < first.first_lsn && first.first_lsn <= segment.limit();
            if !filled || !segment.is_full_at(first.first_lsn) {
                break;
            }
            first = segment.header;
            older.push(segment.clone());
        }
        older.reverse();
        older.append(&mut live);
        older
    }

    /// Sorts the files that are not in use into ready, spare and superfluous.
    fn finish(
        self,
        fs: &dyn Vfs,
        dir: &Path,
        options: &LogOptions,
        segments: Vec<Segment>,
        end: u64,
        marked: bool,
    ) -> Result<Recovered, LogError> {
        let oldest = segments.first().map_or(u64::MAX, |s| s.header.number);
        let last = segments.last().map_or(0, |s| s.header.number);
        let released = self
            .used
            .into_iter()
            .filter(|(n, _)| *n < oldest)
            .map(|(n, s)| (n, (s.path.to_path_buf(), s.file)));
        let mut recovered =
            Recovered { segments, end, marked, ready: BTreeMap::new(), spares: Vec::new() };
        for (number, (path, file)) in released.chain(self.unused).chain(self.damaged) {
            let size = file.len().map_err(LogError::io("measure", &path))?;
            if number > last && size == options.size_of(number) {
                file.sync_all().map_err(LogError::io("sync", &path))?;
                recovered.ready.insert(number, file);
            } else if recovered.spares.len() < SPARES_MAX && size == options.segment_bytes {
                recovered.spares.push(Spare { path, file, size });
            } else {
                fs.remove(&path).map_err(LogError::io("remove", &path))?;
            }
        }
        fs.sync_dir(dir).map_err(LogError::io("sync", dir))?;
        Ok(recovered)
    }
}

/// The walk along the stream, as far as frames verify.
struct Walk {
    /// The segments seen, oldest first; at least one.
    live: Vec<Segment>,
    /// Everything before this position verifies.
    at: u64,
    /// Everything before this position was durable, as the last frame that verifies says.
    vouched: u64,
    /// A payload whose last piece has not come: where it starts, and its pieces.
    partial: Option<(u64, Vec<u8>)>,
    /// The last frame is a mark.
    marked: bool,
}

impl Walk {
    fn last(&self) -> &Segment {
        &self.live[self.live.len() - 1]
    }

    /// Where the stream will go on: an incomplete payload does not count.
    fn cut(&self) -> u64 {
        self.partial.as_ref().map_or(self.at, |(start, _)| *start)
    }

    /// Shows each payload to `f`, up to the first place that does not verify.
    fn run(&mut self, files: &Files, f: &mut Visitor<'_>) -> Result<(), LogError> {
        loop {
            let segment = self.last().clone();
            let mut window = Window::new(&segment);
            while let Some(frame) = window.frame(self.at)? {
                if matches!(frame.kind, Kind::Middle | Kind::Last) != self.partial.is_some() {
                    break;
                }
                let start = self.at;
                self.at += frame.size();
                self.vouched = self.vouched.max(frame.durable);
                self.marked = frame.kind == Kind::Mark;
                match frame.kind {
                    Kind::Mark | Kind::Fill => {}
                    Kind::Whole => f(Lsn(self.at), frame.payload)?,
                    Kind::First => self.partial = Some((start, frame.payload.to_vec())),
                    Kind::Middle | Kind::Last => {
                        let (start, mut payload) = self.partial.take().unwrap_or_default();
                        payload.extend_from_slice(frame.payload);
                        match frame.kind {
                            Kind::Last => f(Lsn(self.at), &payload)?,
                            _ => self.partial = Some((start, payload)),
                        }
                    }
                }
            }
            match files.used.get(&(segment.header.number + 1)) {
                Some(next) if segment.is_full_at(self.at) && next.header.first_lsn == self.at => {
                    self.live.push(next.clone());
                }
                _ => return Ok(()),
            }
        }
    }

    /// Torn tail or damage? True if nothing but zeroes follows in the segment.
    fn judge(&self, files: &Files) -> Result<bool, LogError> {
        let (cut, last) = (self.cut(), self.last());
        let next = last.header.number + 1;
        if last.is_full_at(self.at)
            && let Some((path, _)) = files.damaged.get(&next)
        {
            return Err(damaged_header(path));
        }
        let (here, dirty) = vouched(last, self.at)?;
        match here.max(files.vouched_from(next)?) {
            Some(durable) if durable > cut => Err(LogError::Corrupt {
                file: last.path.to_path_buf(),
                offset: last.offset_of(self.at),
                detail: format!(
                    "position {} does not verify, but all below {durable} was durable",
                    self.at
                ),
            }),
            _ => Ok(!dirty),
        }
    }
}

/// The furthest position that any valid frame of a segment from `lsn` on vouches for, and whether there
/// is anything but zeroes.
fn vouched(segment: &Segment, mut lsn: u64) -> Result<(Option<u64>, bool), LogError> {
    let mut furthest = None;
    let mut window = Window::new(segment);
    while let Some(claimed) = window.next_claim(lsn)? {
        if let Some(frame) = window.frame(claimed)? {
            furthest = furthest.max(Some(frame.durable));
        }
        lsn = claimed + 8;
    }
    Ok((furthest, window.dirty))
}

/// Writes zeroes over whatever is not zero from position `cut` to the end of the file.
fn erase(segment: &Segment, cut: u64) -> Result<(), LogError> {
    let mut bytes = Vec::new();
    for lsn in (cut..segment.limit()).step_by(STEP as usize) {
        segment.load_into(lsn, lsn + STEP, &mut bytes)?;
        if !is_zero(&bytes) {
            bytes.fill(0);
            segment
                .file
                .write_all_at(&bytes, segment.offset_of(lsn))
                .map_err(LogError::io("clear", &segment.path))?;
        }
    }
    Ok(())
}

/// Writes the bytes from position `from` up to `to` once more, unchanged.
fn rewrite(segment: &Segment, from: u64, to: u64) -> Result<(), LogError> {
    let failed = || LogError::io("rewrite", &segment.path);
    let first = segment.header.first_lsn;
    if from <= first {
        segment.file.write_all_at(&segment.header.encode(), 0).map_err(failed())?;
    }
    let (from, to) = (from.max(first), to.min(segment.limit()));
    if from < to {
        let bytes = segment.load(from, to)?;
        segment.file.write_all_at(&bytes, segment.offset_of(from)).map_err(failed())?;
    }
    Ok(())
}

fn damaged_header(path: &Path) -> LogError {
    let detail = String::from("the header does not verify");
    LogError::Corrupt { file: path.to_path_buf(), offset: 0, detail }
}
