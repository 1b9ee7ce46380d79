//! Reading documents by authored time: the newest revision whose moment is at or before the time asked for.
//!
//! The moment of a revision is its authored time where its writer gave one, and the time of its commit otherwise.
//! Authored times come in any order, so an older revision may have a later moment. The model walks over all
//! revisions, newest first.

use document::{Meta, Moment, Revision};

use crate::world::{Dice, World, seeds};

/// Revisions in a page of a document's list.
const PAGE: usize = 1_024;

/// The answer of the walk: the number of the newest revision with a moment at or before `us`.
fn walked(moments: &[u64], us: u64) -> Option<u64> {
    let newest_first = moments.iter().enumerate().rev();
    newest_first.map(|(at, moment)| (at as u64 + 1, *moment)).find(|(_, m)| *m <= us).map(|it| it.0)
}

fn check(world: &World, key: &str, moments: &[u64], dice: &mut Dice, questions: usize) {
    let ask = |us: u64| {
        let found = world.docs.at(Moment::Authored(us)).revision(key).expect("reads");
        let found = found.map(|info| info.revision.0);
        assert_eq!(found, walked(moments, us), "revision of {key} at {us}");
    };
    for us in [0, u64::MAX] {
        ask(us);
    }
    for _ in 0..questions {
        let near = moments[dice.below(moments.len())];
        for us in [near.saturating_sub(1), near, near + 1] {
            ask(us);
        }
    }
}

/// Writes revisions of which some have authored times. `authored` gives the time of each.
fn write(
    world: &World,
    key: &str,
    count: usize,
    moments: &mut Vec<u64>,
    mut authored: impl FnMut(usize) -> Option<u64>,
) {
    for number in moments.len()..moments.len() + count {
        let meta = Meta { authored_us: authored(number), ..Meta::default() };
        let done = world.docs.put_with(key, number.to_string(), &meta).expect("writes");
        assert_eq!(done.revision, Revision(number as u64 + 1));
        moments.push(meta.authored_us.unwrap_or(done.time_us));
    }
}

/// Random authored times, of some revisions or all: each answer is that of the walk, while the list grows, and after
/// the database was closed and opened again.
#[test]
fn every_answer_is_that_of_a_walk_over_all_revisions() {
    seeds(0xA17, 6, |seed| {
        let mut world = World::new(seed, false);
        let mut dice = Dice::new(seed);
        let stated = *dice.pick(&[0, 3, 50, 100]);
        let mut moments = Vec::new();
        for _ in 0..6 {
            let count = 1 + dice.below(60);
            write(&world, "a", count, &mut moments, |_| {
                let us = dice.next() % 1_000;
                dice.chance(stated).then_some(us * 1_000_000)
            });
            check(&world, "a", &moments, &mut dice, 20);
            match dice.below(4) {
                0 => world = world.reopen(),
                1 => world.compact(),
                _ => {}
            }
        }
        check(&world, "a", &moments, &mut dice, 50);
    });
}

/// A history of many pages, such as an import makes: mostly ascending, with a few revisions that are out of order, and
/// with a page that nobody gave authored times.
#[test]
fn a_history_of_many_pages_gives_the_answers_of_the_walk() {
    let seed = 7;
    let world = World::new(seed, false);
    let mut dice = Dice::new(seed);
    let mut moments = Vec::new();
    let count = 4 * PAGE + 17;
    write(&world, "a", count, &mut moments, |number| {
        let late = if number % 997 == 0 { 5_000_000 } else { 0 };
        let early = if number == 3 * PAGE + 5 { number as u64 * 1_000 } else { 0 };
        (number / PAGE != 2).then_some(number as u64 * 1_000 + late - early)
    });
    check(&world, "a", &moments, &mut dice, 300);
    let world = world.reopen();
    check(&world, "a", &moments, &mut dice, 300);
    // The list goes on to grow after its pages were looked at.
    write(&world, "a", PAGE, &mut moments, |number| Some(number as u64 * 500));
    check(&world, "a", &moments, &mut dice, 300);
}
