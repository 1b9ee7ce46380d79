//! The queue of readers, apart from `tracker.rs` because that is compiled twice in tests.

use crate::tracker::Readers;

/// Random joining and leaving, against a sorted list; the queue never outgrows its readers much.
#[test]
fn the_oldest_is_always_known() {
    let mut random = 88_172_645_463_325_252u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut readers = Readers::new();
    let (mut oracle, mut csn) = (Vec::<u64>::new(), 0);
    for _ in 0..50_000 {
        csn += next(2);
        if next(100) < 50 {
            readers.join(csn, || csn);
            oracle.push(csn);
        } else if !oracle.is_empty() {
            // Mostly the newest leave, so that some old ones stay on.
            let at = oracle.len() - 1 - next(oracle.len().min(20) as u64) as usize;
            let gone = oracle.remove(at);
            let hold = readers.leave(gone);
            assert_eq!(
                hold.is_some(),
                !oracle.contains(&gone),
                "the hold lives as long as its readers"
            );
        }
        assert_eq!(readers.oldest(), oracle.first().copied());
        let mut distinct = oracle.clone();
        distinct.dedup();
        assert!(readers.len() <= (2 * distinct.len()).max(64));
    }
}
