//! [`Turns`]: long work under a real-time priority gives the other threads of the machine their turn.
//!
//! Under `SCHED_RR` a thread that never waits keeps its processor for 100 milliseconds at a time, and threads
//! without that priority, the kernel's own among them, get a few milliseconds each second: a commit that waits
//! for the disk waits for those. A large transaction waits for nothing for seconds, so it pauses for a moment
//! after each millisecond or so. It sleeps, because who only yields lets nobody of a lower priority go on.
//! Without such a priority the system divides the processors by itself, and nothing pauses.

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
    /// Whether the thread has a real-time priority, once that was asked.
    is_realtime: Option<bool>,
}

impl Turns {
    /// Pauses after so many steps each time.
    pub(crate) fn new(every: u32) -> Turns {
        Turns { steps: 0, every, is_realtime: None }
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
        if *self.is_realtime.get_or_insert_with(vfs::is_realtime) {
            std::thread::sleep(PAUSE);
        }
    }
}
