//! The files of the time zone database, in the format of RFC 8536.
//!
//! ```text
//!   header, 32-bit data     for readers of the 1980s: skipped
//!   header, 64-bit data     moments of change | which kind each begins | the kinds | their names
//!   \n TZ string \n         what holds after the last change
//! ```

use super::posix::Rule;

/// The bytes of a header.
const HEADER: usize = 44;

/// The contents of a file.
pub(super) struct File {
    /// Moments of change, in seconds since 1970-01-01 UTC, and the kind that begins with each.
    pub changes: Vec<(i64, u8)>,
    /// The kinds of local time: seconds east, whether it is summer time, the name.
    pub kinds: Vec<(i32, bool, Box<str>)>,
    /// The rule after the last change; `None` if the last kind goes on for ever.
    pub rule: Option<Rule>,
}

/// The sizes of the parts of a block of data.
struct Counts {
    universal_flags: usize,
    standard_flags: usize,
    leap_seconds: usize,
    changes: usize,
    kinds: usize,
    names: usize,
}

impl Counts {
    fn read(header: &[u8]) -> Option<Self> {
        let is_file = header.starts_with(b"TZif") && header.get(4)? >= &b'2';
        let count = |at: usize| Some(be_u32(header.get(20 + at * 4..24 + at * 4)?) as usize);
        is_file.then_some(())?;
        Some(Self {
            universal_flags: count(0)?,
            standard_flags: count(1)?,
            leap_seconds: count(2)?,
            changes: count(3)?,
            kinds: count(4)?,
            names: count(5)?,
        })
    }

    /// The bytes of the block, where moments take `width` bytes.
    fn bytes(&self, width: usize) -> usize {
        self.changes * (width + 1)
            + self.kinds * 6
            + self.names
            + self.leap_seconds * (width + 4)
            + self.standard_flags
            + self.universal_flags
    }
}

fn be_u32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("cut to four bytes"))
}

impl File {
    /// Reads a file; `None` if it is none of version 2 or later.
    pub(super) fn parse(file: &[u8]) -> Option<Self> {
        let old = Counts::read(file)?;
        let file = file.get(HEADER + old.bytes(4)..)?;
        let counts = Counts::read(file)?;
        let (data, footer) = file.get(HEADER..)?.split_at_checked(counts.bytes(8))?;
        let (moments, data) = data.split_at(counts.changes * 8);
        let (begun, data) = data.split_at(counts.changes);
        let (kinds, data) = data.split_at(counts.kinds * 6);
        let names = &data[..counts.names];

        let kinds = kinds.chunks_exact(6).map(|kind| {
            let name = names.get(usize::from(kind[5])..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            let name = std::str::from_utf8(name).ok()?;
            Some((be_u32(&kind[..4]) as i32, kind[4] != 0, name.into()))
        });
        let kinds: Vec<_> = kinds.collect::<Option<_>>()?;
        let is_sound =
            !kinds.is_empty() && begun.iter().all(|kind| usize::from(*kind) < kinds.len());
        is_sound.then_some(())?;

        let moments = moments.chunks_exact(8);
        let moments = moments.map(|at| i64::from_be_bytes(at.try_into().expect("chunks of eight")));
        let footer = std::str::from_utf8(footer).ok()?.trim_matches('\n');
        let rule = if footer.is_empty() { None } else { Some(Rule::parse(footer)?) };
        Some(Self { changes: moments.zip(begun.iter().copied()).collect(), kinds, rule })
    }
}
