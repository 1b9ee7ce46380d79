//! [`BusyPoll`]: decides when a session busy-polls for the next message of its client.
//!
//! ```text
//!             answer                     the next message
//!   client      └─ wakes up ─ asks ─────────┐
//!   asleep      ........................... └─ wakes up ─ answers
//!   polling     reads the socket again      └─ answers
//! ```
//!
//! A wake-up of a thread takes 10 to 100 us, and the processor caches are mostly cold after it. That is more
//! than many statements take. A thread that polls for at most as long as a wake-up loses at most the cost of
//! one wake-up (Karlin, Li, Manasse and Owicki, "Empirical Studies of Competitive Spinning for a
//! Shared-Memory Multiprocessor", SOSP 1991). A session polls if all of these hold:
//!
//! * nearly all of the last messages of the session came soon;
//! * no other session of the server was served between them: several polling sessions would take the
//!   processors from their own clients;
//! * the machine has a processor for the client.
//!
//! Each time that a message comes late (the client had other work, or other programs had the processor),
//! twice as many messages must come soon before the session polls again.

use std::time::Duration;

/// So many messages must have come soon before a session polls: at first, and at most.
const NEEDED_FIRST: u32 = 4;
const NEEDED_MOST: u32 = 1 << 16;
/// A late message cancels so many early ones. The counter exceeds the needed number by at most so many.
const LATE_WEIGHT: u32 = 8;
const BEYOND: u32 = 4 * LATE_WEIGHT;
/// A message that comes later than so many times "soon" is late.
const FAR_LATER: u32 = 5;
/// After so many successful polls, half as many early messages are needed. Together these polls have saved about as
/// much as one poll in vain costs if other programs need the processor.
const FORGIVEN_AFTER: u32 = 32;

/// The measured return times of a session's client.
#[derive(Debug)]
pub(crate) struct BusyPoll {
    /// The limit of "soon", and the longest poll; zero for never.
    limit: Duration,
    /// How many messages came soon, less those that came late.
    soon: u32,
    needed: u32,
    /// The successful polls since `needed` changed.
    kept: u32,
}

impl BusyPoll {
    /// The state for a new client.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, soon: 0, needed: NEEDED_FIRST, kept: 0 }
    }

    /// How long to poll for the next message.
    pub(crate) fn patience(&self) -> Duration {
        if self.soon >= self.needed { self.limit } else { Duration::ZERO }
    }

    /// Records how long a message took, and whether the session was the only one meanwhile.
    pub(crate) fn learn(&mut self, waited: Duration, is_alone: bool) {
        let was_awake = !self.patience().is_zero();
        // A session that slept had to wake up as well.
        let soon = if was_awake { self.limit } else { self.limit.saturating_mul(2) };
        if waited > self.limit.saturating_mul(FAR_LATER) {
            if was_awake {
                self.needed = (self.needed * 2).min(NEEDED_MOST);
                self.kept = 0;
            }
            self.soon = 0;
        } else if !is_alone {
            self.soon = 0;
        } else if waited > soon {
            self.soon = self.soon.saturating_sub(LATE_WEIGHT);
        } else {
            self.soon = (self.soon + 1).min(self.needed + BEYOND);
            self.kept += u32::from(was_awake);
            if self.kept == FORGIVEN_AFTER {
                self.needed = (self.needed / 2).max(NEEDED_FIRST);
                self.kept = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_micros(200);
    const SOON: Duration = Duration::from_micros(40);
    const LATE: Duration = Duration::from_micros(500);
    const AWAY: Duration = Duration::from_millis(3);

    /// How many messages have to come soon before one is waited for awake.
    fn needed(poll: &mut BusyPoll) -> u32 {
        let mut count = 0;
        while poll.patience().is_zero() {
            poll.learn(SOON, true);
            count += 1;
        }
        count
    }

    /// A client that always comes back soon is waited for awake; one that was alone no longer is not, and
    /// has lost no trust by that.
    #[test]
    fn a_quick_client_that_is_alone() {
        let mut poll = BusyPoll::new(LIMIT);
        assert_eq!(needed(&mut poll), NEEDED_FIRST);
        assert_eq!(poll.patience(), LIMIT);
        poll.learn(SOON, false);
        assert_eq!(needed(&mut poll), NEEDED_FIRST);
    }

    /// A client that keeps its session waiting in vain is trusted less each time, and more again after
    /// it has come often.
    #[test]
    fn in_vain() {
        let mut poll = BusyPoll::new(LIMIT);
        needed(&mut poll);
        poll.learn(AWAY, true);
        assert_eq!(needed(&mut poll), 2 * NEEDED_FIRST);
        poll.learn(AWAY, true);
        assert_eq!(needed(&mut poll), 4 * NEEDED_FIRST);
        (0..FORGIVEN_AFTER).for_each(|_| poll.learn(SOON, true));
        // A pause in which the session slept costs nothing.
        poll.learn(SOON, false);
        poll.learn(AWAY, true);
        assert_eq!(needed(&mut poll), 2 * NEEDED_FIRST);
        for _ in 0..40 {
            needed(&mut poll);
            poll.learn(AWAY, true);
        }
        assert_eq!(needed(&mut poll), NEEDED_MOST);
    }

    /// A little late now and then is no reason to stop; often is.
    #[test]
    fn a_little_late() {
        let mut poll = BusyPoll::new(LIMIT);
        needed(&mut poll);
        for _ in 0..1_000 {
            (0..2 * LATE_WEIGHT).for_each(|_| poll.learn(SOON, true));
            assert_eq!(poll.patience(), LIMIT);
            poll.learn(LATE, true);
        }
        (0..BEYOND / LATE_WEIGHT).for_each(|_| poll.learn(LATE, true));
        assert_eq!(poll.patience(), Duration::ZERO);
        assert!(needed(&mut poll) <= NEEDED_FIRST);
    }

    /// Without a limit it is never done.
    #[test]
    fn turned_off() {
        let mut poll = BusyPoll::new(Duration::ZERO);
        (0..1_000).for_each(|_| poll.learn(Duration::ZERO, true));
        assert_eq!(poll.patience(), Duration::ZERO);
    }
}
