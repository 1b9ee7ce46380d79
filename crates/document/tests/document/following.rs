//! Documents in a database that follows another one: it gets no hints, only the records of commits.

use log::Lsn;
use store::Csn;

use crate::world::{Dice, World, follower, seeds};

/// After each commit a follower that has read every document before, and so has all of them in its
/// cache, reads what the leader reads, and tells the same changes.
#[test]
fn a_follower_reads_what_its_leader_reads() {
    seeds(1, 20, |seed| {
        let mut dice = Dice::new(seed);
        let (leader, (documents, follower)) = (World::new(seed, false), follower(seed + 1));
        let engine = leader.documents.engine();
        let mut at = Lsn::START;
        for step in 0..60 {
            let key = format!("k{}", dice.below(4));
            let text = format!("{{\"n\":{step},\"list\":[1,{}]}}", dice.below(3));
            let is_there = leader.docs.get(&key).expect("reads").is_some();
            match dice.below(5) {
                0 if is_there => drop(leader.docs.remove(&key).expect("removes")),
                1 | 2 if is_there => {
                    let edited = leader.docs.edit(&key, |doc| doc.set("$.n", format!("-{step}")));
                    edited.expect("edits");
                }
                _ => drop(leader.docs.put(&key, text).expect("puts")),
            }
            // Commits of these tests are not synced one by one, and a follower gets durable ones.
            leader.flush();
            for frame in engine.records(at).expect("the log is there") {
                let (end, record) = frame.expect("the log is sound");
                documents.engine().apply(&[record]).expect("it follows");
                at = end;
            }
            assert_eq!(documents.engine().visible(), engine.visible());
            for key in ["k0", "k1", "k2", "k3"] {
                let read = |docs: &document::Collection| {
                    let found = docs.get(key).expect("reads");
                    found.map(|found| (found.revision(), found.to_json().expect("prints")))
                };
                assert_eq!(read(&follower), read(&leader.docs), "step {step}, {key}");
            }
            let after = Csn(dice.below(engine.visible().0 as usize + 1) as u64);
            let newest = engine.visible();
            let told = leader.documents.changes(&[&leader.docs], after, newest, 9);
            let followed = documents.changes(&[&follower], after, newest, 9);
            assert_eq!(followed.expect("told"), told.expect("told"), "step {step}");
        }
    });
}
