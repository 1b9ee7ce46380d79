//! [`Turns`]: long work of a preferred thread gives the other threads of the machine their turn.
//!
//! A thread with a negative nice value or a real-time priority that never waits leaves next to
//! nothing of its processor to threads of ordinary priority, some of the kernel's own among them. A
//! large transaction waits for nothing for seconds, so it pauses for a moment after each
//! millisecond or so. It sleeps, because a thread that only yields lets no thread of a lower
//! priority go on. With ordinary priority the system divides the processors fairly, and nothing
//! pauses.
//!
//! `make bench SUITE=large` runs at nice -20 and tells what it brings. Without pauses one run added 87 to 125
//! milliseconds to the p99.9 of other commits, and another 3 to 6; with them a run added 2 to 5.

use std::time::Duration;

/// Writes of a transaction in a turn.
pub(crate) const WRITES: u32 = 1024;
/// Keys in a turn that are written to a file.
pub(crate) const KEYS: u32 = 2048;
/// Operations in a turn that leave memory.
pub(crate) const OPERATIONS: u32 = 1 << 13;

const PAUSE: Duration = Duration::from_micros(50);

/// Counts the steps of long work.
#[derive(Debug)]
pub(crate) struct Turns {
    steps: u32,
    every: u32,
    /// Whether the thread is preferred to others, once that was asked.
    is_preferred: Option<bool>,
}

impl Turns {
    /// Pauses after so many steps each time.
    pub(crate) fn new(every: u32) -> Turns {
        Turns { steps: 0, every, is_preferred: None }
    }

    /// One more step is done.
    #[inline]
    pub(crate) fn step(&mut self) {
        self.steps += 1;
        if self.steps == self.every {
            self.end();
        }
    }

    #[cold]
    fn end(&mut self) {
        self.steps = 0;
        if *self.is_preferred.get_or_insert_with(vfs::is_preferred) {
            std::thread::sleep(PAUSE);
        }
    }
}
