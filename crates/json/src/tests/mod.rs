//! Tests of the crate as a whole; each file opens with what it shows.

mod conformance;
mod jsonb;
mod limits;
mod paths;
mod robust;
mod round_trip;
mod streaming;
mod texts;

use crate::{JsonError, Tape};

/// Parses, proves the invariants of the tape, and gives the document back as compact text.
fn compact(text: impl AsRef<[u8]>) -> Result<String, JsonError> {
    let tape = Tape::parse(text)?;
    assert_eq!(tape.check(), Ok(()));
    Ok(tape.to_json())
}

/// The seed of a random test: `ANYWHEN_SEED`, or a fixed one. Printed, so that a failure names it.
fn seed() -> u64 {
    let seed =
        std::env::var("ANYWHEN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_121);
    println!("ANYWHEN_SEED={seed}");
    seed
}

/// A small random generator (splitmix64), so that tests replay from one number.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
