//! Time and randomness that a seed decides.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Clock, Random};

/// Random numbers that depend on the seed alone (SplitMix64).
#[derive(Debug)]
pub struct SimRandom(AtomicU64);

impl SimRandom {
    /// A source that gives the same numbers for the same seed.
    pub fn new(seed: u64) -> SimRandom {
        SimRandom(AtomicU64::new(seed))
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
        mix(self.0.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA))
    }

    /// A number below `n`, all equally likely for the small `n` of tests; 0 where `n` is 0.
    pub fn below(&self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.next() % n }
    }

    /// True in `part` of `of` cases.
    pub fn chance(&self, part: u64, of: u64) -> bool {
        self.below(of) < part
    }
}

impl Clone for SimRandom {
    /// A source that gives the numbers that this one would give from here on.
    fn clone(&self) -> SimRandom {
        SimRandom(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl Random for SimRandom {
    fn next_u64(&self) -> u64 {
        self.next()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A clock that moves by one to four microseconds each time it is read.
#[derive(Debug)]
pub struct SimClock {
    now_us: AtomicU64,
    seed: u64,
}

impl SimClock {
    /// A clock that starts in the year 2025, at a moment the seed decides.
    pub fn new(seed: u64) -> SimClock {
        SimClock { now_us: AtomicU64::new(1_750_000_000_000_000 + mix(seed) % 1_000_000), seed }
    }

    /// Lets `us` microseconds pass.
    pub fn advance(&self, us: u64) {
        self.now_us.fetch_add(us, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now_us(&self) -> u64 {
        let before = self.now_us.load(Ordering::Relaxed);
        let step = 1 + mix(before ^ self.seed) % 4;
        self.now_us.fetch_add(step, Ordering::Relaxed) + step
    }

    fn monotonic_us(&self) -> u64 {
        self.now_us()
    }
}
