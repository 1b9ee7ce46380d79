//! Lists of revisions: in both directions, over the ends of pages, and kept while the document goes on.

use crate::world::World;
use document::{History, Meta, Revision, RevisionInfo};

/// More revisions than a page lists and more commits than a commit page tells of.
const REVISIONS: u64 = 2_500;
/// Revisions that remove the document; the one after puts it again.
const REMOVALS: [u64; 3] = [3, 1_024, 2_050];

fn author(number: u64) -> &'static str {
    ["ada", "grace", ""][number as usize % 3]
}

fn write(world: &World, number: u64) {
    let meta = Meta::new(author(number), format!("revision {number}"));
    let done = match REMOVALS.contains(&number) {
        true => world.docs.remove_with("d", &meta),
        false => world.docs.put_with("d", format!("[{number}]"), &meta),
    };
    assert_eq!(done.expect("writes").revision, Revision(number));
}

fn world() -> World {
    let world = World::new(1, false);
    (1..=REVISIONS).for_each(|number| write(&world, number));
    world
}

fn check(row: RevisionInfo<&str>, number: u64) {
    assert_eq!(row.revision, Revision(number));
    assert_eq!((row.author, row.deleted), (author(number), REMOVALS.contains(&number)));
    assert_eq!(row.message, format!("revision {number}"));
}

fn check_all(history: &History, numbers: impl DoubleEndedIterator<Item = u64> + Clone) {
    assert_eq!(history.len(), numbers.clone().count());
    assert_eq!(history.iter().len(), history.len());
    history.iter().zip(numbers.clone()).for_each(|(row, number)| check(row, number));
    history.iter().rev().zip(numbers.clone().rev()).for_each(|(row, number)| check(row, number));
    for (index, number) in numbers.enumerate().step_by(37) {
        check(history.get(index).expect("is listed"), number);
    }
    assert_eq!(history.get(history.len()), None);
}

/// A list has the revisions asked for, newest first, whichever pages they lie on; what is past the
/// ends is left out.
#[test]
fn ranges() {
    let world = world();
    let range = |from, to| world.docs.history_range("d", Revision(from), Revision(to));
    for (from, to) in [(1, 1), (1_023, 1_026), (900, 2_100), (2_499, REVISIONS)] {
        check_all(&range(from, to).expect("reads"), (from..=to).rev());
    }
    check_all(&range(0, u64::MAX).expect("reads"), (1..=REVISIONS).rev());
    check_all(&range(0, 2).expect("reads"), (1..=2).rev());
    assert!(range(5, 4).expect("reads").is_empty());
    assert!(range(REVISIONS + 1, u64::MAX).expect("reads").is_empty());
    check_all(&world.docs.history("d", 100).expect("reads"), (REVISIONS - 99..=REVISIONS).rev());
    assert!(world.docs.history("d", 0).expect("reads").is_empty());
}

/// The ends of an iterator meet in the middle: no revision twice, none left out.
#[test]
fn from_both_ends() {
    let world = world();
    let history = world.docs.history("d", usize::MAX).expect("reads");
    let mut rows = history.iter();
    let (mut front, mut back) = (REVISIONS, 1);
    while rows.len() > 1 {
        check(rows.next().expect("is left"), front);
        check(rows.next_back().expect("is left"), back);
        (front, back) = (front - 1, back + 1);
    }
    assert!(rows.next().is_none() && rows.next_back().is_none());
    assert_eq!(front + 1, back);
}

/// A list shares the page that the next commits are written to: they must go to a copy. It may be
/// read by another thread meanwhile.
#[test]
fn a_list_stays_as_it_was() {
    let world = world();
    let history = world.docs.history("d", usize::MAX).expect("reads");
    let reader = std::thread::spawn(move || {
        for _ in 0..20 {
            check_all(&history, (1..=REVISIONS).rev());
        }
    });
    let newest = REVISIONS + 200;
    (REVISIONS + 1..=newest).for_each(|number| write(&world, number));
    reader.join().expect("the list stays as it was");
    check_all(&world.docs.history("d", usize::MAX).expect("reads"), (1..=newest).rev());
}
