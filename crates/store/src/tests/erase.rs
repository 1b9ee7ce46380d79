//! Erasure: nobody reads what was erased, and no file keeps its bytes.

use super::world::*;
use crate::*;
use std::collections::BTreeSet;
use std::path::PathBuf;
use vfs::{OpenMode, SimVfs, Vfs};

/// Bytes that no compression hides.
fn noise(dice: &SimRandom) -> Vec<u8> {
    (0..24).map(|_| dice.below(256) as u8).collect()
}

fn holds(disk: &SimVfs, bytes: &[u8]) -> bool {
    disk.files().iter().any(|(path, len)| {
        let mut content = vec![0; *len as usize];
        disk.open(path, OpenMode::Read).unwrap().read_exact_at(&mut content, 0).unwrap();
        content.windows(bytes.len()).any(|w| w == bytes)
    })
}

fn segments(disk: &SimVfs) -> BTreeSet<PathBuf> {
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|e| e == "seg");
    disk.files().into_iter().map(|file| file.0).filter(is_segment).collect()
}

/// An erased key is gone for every reader from the commit that erases it, also for a reader that
/// had a snapshot before. Its bytes, key included, are gone from every file once no such snapshot
/// is open. Segments that never had the key stay as they are.
#[test]
fn what_is_erased_leaves_no_byte() {
    seeds(900, 8, |seed| {
        let dice = SimRandom::new(seed);
        let options = StoreOptions { segment_bytes: 2_000, ..small_options() };
        let mut world = World::new(seed, SimVfs::unrecorded(), options);
        let mut names: Vec<Vec<u8>> = (0..60).map(|_| noise(&dice)).collect();
        names.sort();
        let mut secrets = names[30..32].to_vec();
        for round in 0..6 {
            for (at, name) in names.iter().enumerate() {
                let value = noise(&dice);
                if (30..32).contains(&at) {
                    secrets.push(value.clone());
                }
                let live = world.model.is_live(PLAIN, name);
                let write = if live && dice.chance(40, 100) { delta } else { put };
                world.commit_durably(vec![write(PLAIN, name, &value)]);
            }
            if round % 2 == 0 {
                world.store.flush().unwrap();
            }
        }
        world.store.flush().unwrap();
        assert!(secrets.iter().all(|secret| holds(&world.disk, secret)), "else it proves nothing");

        let before = world.last();
        let hold = world.store.hold(Csn(before));
        world.commit_durably(vec![erase(PLAIN, &names[30], 0, None), delete(PLAIN, &names[30])]);
        world.commit_durably(vec![
            erase(PLAIN, &names[31], 0, None),
            put(PLAIN, &names[31], b"anew"),
        ]);
        world.check_all();
        let mut bytes = Vec::new();
        assert_eq!(world.store.get(PLAIN, &names[30], Csn(before), &mut bytes).unwrap(), None);

        world.store.scrub().unwrap();
        let pending = [(Csn(before + 1), 1), (Csn(before + 2), 1)];
        assert_eq!(world.store.erasures(), pending, "a snapshot is older");
        drop(hold);
        world = world.reopen();
        assert_eq!(world.store.erasures(), pending, "and a restart forgets nothing");

        let files = segments(&world.disk);
        world.store.scrub().unwrap();
        assert_eq!(world.store.erasures(), []);
        let left = files.intersection(&segments(&world.disk)).count();
        assert!(left > 0 && left < files.len(), "{left} of {} stay", files.len());
        secrets.swap_remove(1); // this key lives on
        for secret in &secrets {
            assert!(!holds(&world.disk, secret), "{secret:?}");
        }
        world.check_all();
        let report = world.store.verify(&mut |_, _| {}).expect("verifies");
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    });
}

/// If a key belonged to other owners before and after, these keep their versions. Between them
/// there is nothing: neither the erased versions nor those that they had superseded.
#[test]
fn a_stretch_of_a_key_is_erased_and_the_rest_stays() {
    let mut world = World::new(5, SimVfs::unrecorded(), small_options());
    for value in ["ada", "grace", "edsger"] {
        world.commit_durably(vec![put(PLAIN, b"k", value.as_bytes())]);
    }
    world.commit_durably(vec![erase(PLAIN, b"k", 2, Some(3))]);
    let answers = |world: &World| -> Vec<Option<String>> {
        let get = |at| {
            let mut out = Vec::new();
            let found = world.store.get(PLAIN, b"k", Csn(at), &mut out).unwrap();
            found.map(|_| String::from_utf8(out).unwrap())
        };
        (1..=4).map(get).collect()
    };
    let expected = [Some("ada".to_owned()), None, Some("edsger".into()), Some("edsger".into())];
    assert_eq!(answers(&world), expected);
    world.store.scrub().unwrap();
    assert_eq!(world.store.erasures(), []);
    assert!(!holds(&world.disk, b"grace") && holds(&world.disk, b"edsger"));
    assert_eq!(answers(&world), expected);
}
