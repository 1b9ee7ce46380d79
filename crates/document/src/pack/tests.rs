//! Chunks and deltas of every form: packed, unpacked, damaged.

use super::*;
use crate::chunk_buf::ChunkBuf;
use crate::delta::Op;
use crate::key::Prefix;
use crate::node::{CHUNK_NODES, Node};
use json::Kind as NodeKind;
use store::Csn;
use vfs::{SimRandom, seeds};

const SCALARS: [(NodeKind, &[u8]); 8] = [
    (NodeKind::Null, b""),
    (NodeKind::True, b""),
    (NodeKind::False, b""),
    (NodeKind::Number, b"-12.5e+3"),
    (NodeKind::Number, b"0"),
    (NodeKind::String, b""),
    (NodeKind::String, br#"a \"quoted\" \\ text, with \u0001 and: more"#),
    (NodeKind::String, "Grüße".as_bytes()),
];
const NAMES: [Option<&[u8]>; 5] =
    [None, Some(b"name"), Some(b""), Some(br#"a\"b\\"#), Some(b"description")];

/// One of some values.
fn one<T: Copy>(dice: &SimRandom, of: &[T]) -> T {
    of[dice.below(of.len() as u64) as usize]
}

fn any_label(dice: &SimRandom, key: u64) -> Label {
    match dice.below(3) {
        0 => Label::of_key(NodeKey(key)),
        1 => Label::of_digits(&[1 + dice.below(1 << 50)]).expect("no zero at its end"),
        _ => Label::of_digits(&[dice.below(9), 0, 1 + dice.below(300)]).expect("likewise"),
    }
}

fn any_node<'a>(dice: &SimRandom, slot: usize) -> (Node<'a>, Option<(NodeKey, Label)>) {
    let (kind, text) = match dice.below(4) {
        0 => (one(dice, &[NodeKind::Array, NodeKind::Object]), &b""[..]),
        _ => one(dice, &SCALARS),
    };
    let place = dice
        .chance(20, 100)
        .then(|| (NodeKey(1 + dice.below(2000)), any_label(dice, key_of(CHUNK, slot))));
    let (extent, count) = match kind.is_container() {
        true => (1 + dice.below(9) as u32, dice.below(5) as u32),
        false => (1, 0),
    };
    let up = if place.is_some() { 0 } else { 1 + dice.below(slot as u64 + 3) as u32 };
    let changed = Csn(dice.below(3) * dice.below(1000));
    (Node { kind, up, extent, count, changed, name: one(dice, &NAMES), text }, place)
}

const CHUNK: u32 = 7;

fn any_header(dice: &SimRandom) -> Header {
    Header {
        next_key: 1 + dice.below(100_000),
        root: 1,
        nodes: dice.below(3000),
        placed: dice.below(3),
        shape: Csn(0),
        digest: u128::from(dice.below(2)) * u128::from(dice.next()),
    }
}

/// The next step on a chunk, as the delta of a commit has it.
fn any_step<'a>(dice: &SimRandom, buf: &ChunkBuf) -> Option<Op<'a>> {
    let live: Vec<u8> = (0..buf.slots.len())
        .filter(|slot| buf.slots[*slot].kind != 0)
        .map(|slot| slot as u8)
        .collect();
    if live.is_empty() || dice.chance(40, 100) {
        let slot = buf.slots.len() + dice.below(3) as usize;
        let (node, place) = any_node(dice, slot);
        return (slot < CHUNK_NODES).then_some(Op::Insert { slot: slot as u8, node, place });
    }
    let slot = one(dice, &live);
    let is_container = buf.slots[usize::from(slot)].kind >= NodeKind::Array as u8;
    Some(match dice.below(7) {
        0 => Op::Remove { slot, count: 1 },
        1 => Op::Rename { slot, name: b"another name" },
        2 => Op::Place { slot, up: 3, place: None, name: one(dice, &NAMES) },
        3 => {
            let place =
                (NodeKey(1 + dice.below(9)), any_label(dice, key_of(CHUNK, usize::from(slot))));
            Op::Place { slot, up: 0, place: Some(place), name: one(dice, &NAMES) }
        }
        4 => Op::Header(any_header(dice), dice.chance(50, 100)),
        _ if is_container => Op::Count { slot, count: dice.below(40) as u32 },
        _ => {
            let (kind, text) = one(dice, &SCALARS);
            Op::Set { slot, kind, text }
        }
    })
}

/// Deltas of a chunk, and the images in between.
fn any_history(dice: &SimRandom) -> Vec<(Kind, Vec<u8>)> {
    let mut buf =
        ChunkBuf { header: dice.chance(50, 100).then(|| any_header(dice)), ..ChunkBuf::default() };
    let mut all = Vec::new();
    for csn in 1..=dice.below(60) {
        let mut delta = Vec::new();
        for _ in 0..=dice.below(8) {
            if let Some(step) = any_step(dice, &buf) {
                let mut bytes = Vec::new();
                step.encode(&mut bytes);
                buf.apply(Csn(1000 + csn), &bytes).expect("a step that fits the chunk");
                delta.extend(bytes);
            }
        }
        all.push((Kind::Delta, delta));
        if dice.chance(20, 100) {
            let mut image = Vec::new();
            buf.encode(&mut image);
            all.push((Kind::Put, image));
        }
    }
    all
}

/// All that a commit writes into a chunk is packed, and comes back byte for byte. Damaged streams give an error
/// or other bytes, never a panic.
#[test]
fn every_form_of_a_chunk_is_packed() {
    seeds(0, 300, |seed| {
        let dice = SimRandom::new(seed);
        let key = Prefix::new("the document").expect("a key").record(Record::Chunk(CHUNK));
        let all = any_history(&dice);
        let (mut packer, mut packed) = (DocumentPacker::default(), Packed::default());
        for (kind, bytes) in &all {
            assert!(packer.pack(&key, *kind, bytes, &mut packed), "not packed: {kind:?} {bytes:?}");
        }
        let unpack = |texts: &[u8], numbers: &[u8], check: bool| {
            let mut packer = DocumentPacker::default();
            let mut input = Unpacking { texts, numbers };
            for (kind, bytes) in &all {
                let mut out = Vec::new();
                let unpacked = packer.unpack(&key, *kind, &mut input, &mut out);
                if check {
                    unpacked.expect("what was packed");
                    assert_eq!(&out, bytes, "{kind:?}");
                } else if unpacked.is_err() {
                    return;
                }
            }
            assert!(!check || input.texts.is_empty() && input.numbers.is_empty());
        };
        unpack(&packed.texts, &packed.numbers, true);
        for _ in 0..100 {
            let mut streams = [packed.texts.clone(), packed.numbers.clone()];
            let bad = &mut streams[dice.below(2) as usize];
            if bad.is_empty() {
                continue;
            }
            let at = dice.below(bad.len() as u64) as usize;
            match dice.below(3) {
                0 => bad.truncate(at),
                1 => bad.insert(at, dice.below(256) as u8),
                _ => bad[at] ^= 1 << dice.below(8),
            }
            unpack(&streams[0], &streams[1], false);
        }
    });
}

/// Records of other forms, images of earlier versions and bytes that are no chunk stay as they are.
#[test]
fn what_is_not_known_is_not_packed() {
    let prefix = Prefix::new("k").expect("a key");
    let mut packed = Packed::default();
    let mut packs = |record, kind, bytes: &[u8]| {
        DocumentPacker::default().pack(&prefix.record(record), kind, bytes, &mut packed)
    };
    let mut image = Vec::new();
    ChunkBuf::default().encode(&mut image);
    assert!(packs(Record::Chunk(0), Kind::Put, &image));
    assert!(!packs(Record::Revisions(0), Kind::Put, &image));
    assert!(!packs(Record::Paths, Kind::Put, &image));
    image[0] = 1;
    assert!(!packs(Record::Chunk(0), Kind::Put, &image));
    assert!(!packs(Record::Chunk(0), Kind::Put, b""));
    assert!(!packs(Record::Chunk(0), Kind::Delta, &[0x77]));
}
