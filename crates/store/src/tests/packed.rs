//! Packed blocks: they are what was packed, smaller, and harmless where they are damaged.

use super::world::*;
use crate::block::{Block, BlockBuilder};
use crate::group::{Group, Tag};
use crate::key;
use crate::pack::{expand, pack};
use vfs::SimVfs;

fn any_text(dice: &SimRandom, len_max: u64) -> Vec<u8> {
    (0..dice.below(len_max)).map(|_| b'a' + dice.below(26) as u8).collect()
}

/// A block of groups as a history run has them: of several keys and tables, with images that follow from the
/// deltas before them, and some that do not.
fn any_block(dice: &SimRandom) -> Vec<u8> {
    let mut builder = BlockBuilder::default();
    let mut csn = 1 + dice.below(1000);
    for table in [EAGER, PLAIN, PAGES] {
        let mut number = dice.below(3);
        for _ in 0..=dice.below(6) {
            let full = key::full(table, &number.to_be_bytes());
            number += 1 + dice.below(2) * dice.below(400);
            let mut image = Vec::new();
            for part in 0..=dice.below(3) {
                // A part that does not begin the key may begin with what the one before ended with.
                let anchor = if part > 0 && dice.chance(70, 100) { Tag::Image } else { Tag::Put };
                if anchor == Tag::Put {
                    csn += dice.below(3);
                    image = any_text(dice, 30);
                }
                let mut group = Group::default();
                group.push(csn, anchor, &image);
                for _ in 0..dice.below(20) {
                    csn += 1 + dice.below(200) * dice.below(2);
                    let delta = any_text(dice, 9);
                    group.push(csn, Tag::Delta, &delta);
                    merge_text(&mut image, csn, &delta);
                    match dice.below(9) {
                        0 => group.push(csn, Tag::Image, &image),
                        1 => {
                            image = any_text(dice, 40);
                            group.push(csn, Tag::Image, &image);
                        }
                        _ => {}
                    }
                }
                builder.push(&full, &group);
            }
            if dice.chance(20, 100) {
                csn += 1;
                let mut group = Group::default();
                group.push(csn, Tag::Delete, b"");
                builder.push(&full, &group);
            }
        }
    }
    let mut raw = Vec::new();
    builder.finish(&mut raw);
    raw
}

/// Any block expands to what it was. Flipped, missing and added bytes give an error or a block, never a panic.
#[test]
fn blocks_expand_to_what_they_were() {
    seeds(0, 200, |seed| {
        let dice = SimRandom::new(seed);
        let raw = any_block(&dice);
        let packed = pack(&raw, &resolve()).unwrap_or_else(|| panic!("seed {seed}: not packed"));
        assert_eq!(expand(&packed, &resolve()).as_deref(), Ok(&raw[..]), "seed {seed}");
        for _ in 0..200 {
            let mut bad = packed.clone();
            let at = dice.below(packed.len() as u64) as usize;
            match dice.below(3) {
                0 => bad.truncate(at),
                1 => bad.push(dice.below(256) as u8),
                _ => bad[at] ^= 1 << dice.below(8),
            }
            // The checks of a block still stand between these bytes and a reader.
            if let Ok(raw) = expand(&bad, &resolve()) {
                Block::decode(raw, 0);
            }
        }
    });
}

/// An image that follows from what stands before it takes no bytes, and every other is kept.
#[test]
fn images_that_follow_are_left_out() {
    let packed_with = |other: Option<&[u8]>| {
        let (mut builder, mut group) = (BlockBuilder::default(), Group::default());
        let mut image = b"a text to begin with, ".to_vec();
        group.push(5, Tag::Put, &image);
        group.push(6, Tag::Delta, b"and another");
        merge_text(&mut image, 6, b"and another");
        group.push(6, Tag::Image, other.unwrap_or(&image));
        builder.push(&key::full(EAGER, b"k"), &group);
        let mut raw = Vec::new();
        builder.finish(&mut raw);
        let packed = pack(&raw, &resolve()).expect("the block can be packed");
        assert_eq!(expand(&packed, &resolve()).as_deref(), Ok(&raw[..]));
        packed.len()
    };
    let other = b"as large, but another";
    assert_eq!(packed_with(Some(other)), packed_with(None) + other.len() + 1);
}

/// A compaction packs what a flush has written, and the next one finds nothing to do, also after a reopening.
/// Reads, versions and later commits see no difference.
#[test]
fn a_compaction_packs_once() {
    let mut world = World::new(7, SimVfs::new(7), small_options());
    world.commit_durably(vec![put(EAGER, b"k", b"begin"), put(PLAIN, b"k", b"begin")]);
    for round in 0..40u8 {
        let text = [b'a' + round % 26; 9];
        world.commit_durably(vec![delta(EAGER, b"k", &text), delta(PLAIN, b"k", &text)]);
    }
    world.store.flush().unwrap();
    world.store.compact().unwrap();
    let written = world.store.stats().written_bytes;
    world.store.compact().unwrap();
    assert_eq!(world.store.stats().written_bytes, written, "all is packed");
    world.check_all();
    let mut world = world.reopen();
    world.store.compact().unwrap();
    assert_eq!(world.store.stats().compactions, 0, "all is still packed");
    world.commit_durably(vec![delta(EAGER, b"k", b"more"), put(PLAIN, b"k", b"anew")]);
    world.check_all();
    world.store.flush().unwrap();
    world.store.compact().unwrap();
    world.check_all();
    assert!(world.store.verify(&mut |_, _| ()).unwrap().problems.is_empty());
}
