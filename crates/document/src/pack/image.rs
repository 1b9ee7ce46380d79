//! The image of a chunk, packed.
//!
//! ```text
//!   texts     the heap: its fragments say kinds, names and lengths
//!   numbers   slots | flags | [document header, shape] | rows of nodes and of none, in turn | placed nodes
//!             extents of containers and of slots without a node | wrong guesses of ups | of counts | changed
//! ```
//!
//! Of scalars the extent is 1 and the count 0: an image where it is otherwise is not packed.

use super::text::{Fragment, fragment};
use super::{Input, Last, Parents, difference, key_of, put_difference};
use crate::NodeKey;
use crate::codec::{Reader, put_varint};
use crate::error::Damaged;
use crate::image::{self, Image, Row};
use crate::node::{CHUNK_NODES, NO_NAME, placed};
use crate::order::Label;
use json::Kind;
use std::iter::repeat_n;
use store::{Csn, Packed};

const HEADER: u8 = 1;

/// Appends the packed form of an image; `None` if it has none.
pub fn pack(bytes: &[u8], chunk: u32, last: &mut Last, out: &mut Packed) -> Option<()> {
    if !image::is_newest(bytes) {
        return None;
    }
    let image = Image::parse(bytes).ok()?;
    let slots = image.kinds.len();
    let numbers = &mut out.numbers;
    put_varint(numbers, slots as u64);
    let header = image.header();
    numbers.push(if header.is_some() { HEADER } else { 0 });
    if let Some(header) = header {
        last.put_header(&header, numbers);
        put_varint(numbers, header.shape.0);
    }
    put_rows(image.kinds, numbers);
    let places = placed(image.placed).collect::<Result<Vec<_>, _>>().ok()?;
    let mut is_placed = [false; CHUNK_NODES];
    put_varint(numbers, places.len() as u64);
    let mut before = 0;
    for (slot, parent, label) in &places {
        put_difference(numbers, u64::from(*slot), before);
        before = u64::from(*slot) + 1;
        last.put_place(key_of(chunk, usize::from(*slot)), *parent, label, numbers);
        is_placed[usize::from(*slot)] = true;
    }
    let is_container =
        |slot: usize| Kind::from_u8(image.kinds[slot]).is_some_and(Kind::is_container);
    for slot in 0..slots {
        if is_container(slot) || image.kinds[slot] == 0 {
            put_varint(numbers, u64::from(image.extent(slot)));
        } else if image.extent(slot) != 1 || image.count(slot) != 0 {
            return None;
        }
    }
    let mut parents = Parents::default();
    let mut wrong = Wrong::default();
    let mut children = [0u32; CHUNK_NODES];
    for slot in (0..slots).filter(|slot| image.kinds[*slot] != 0) {
        let guess = parents.guess(slot);
        let up = image.up(slot);
        if is_placed[slot] {
            (up == 0).then_some(())?;
        } else {
            if up != guess {
                wrong.add(slot, u64::from(up), u64::from(guess));
            }
            parents.learn(slot, up);
            count_child(&mut children, slot, up);
        }
        if is_container(slot) {
            parents.open(slot, image.extent(slot));
        }
    }
    wrong.finish(numbers);
    let mut wrong = Wrong::default();
    for slot in (0..slots).filter(|slot| is_container(*slot)) {
        if image.count(slot) != children[slot] {
            wrong.add(slot, u64::from(image.count(slot)), u64::from(children[slot]));
        }
    }
    wrong.finish(numbers);
    put_changed((0..slots).map(|slot| image.changed(slot)), numbers);
    out.texts.extend_from_slice(image.heap);
    Some(())
}

/// Appends to `out` the image that was packed.
pub fn unpack(
    input: &mut Input<'_>,
    chunk: u32,
    last: &mut Last,
    out: &mut Vec<u8>,
) -> Result<(), Damaged> {
    let numbers = &mut input.numbers;
    let slots = numbers.varint()? as usize;
    if slots > CHUNK_NODES {
        return Err(Damaged::new("a packed chunk with too many slots"));
    }
    let header = match numbers.u8()? {
        0 => None,
        HEADER => {
            let mut header = last.header(numbers)?;
            header.shape = Csn(numbers.varint()?);
            Some(header)
        }
        _ => return Err(Damaged::new("a packed chunk with unknown flags")),
    };
    let is_there = rows(numbers, slots)?;
    let (places, is_placed) = places(numbers, chunk, last)?;
    let heap = input.texts.rest();
    let mut table: Vec<Row> = Vec::with_capacity(slots);
    for is_there in &is_there {
        let node = if *is_there { Some(fragment(&mut input.texts)?) } else { None };
        table.push(row(node.as_ref()));
    }
    let heap = &heap[..heap.len() - input.texts.rest().len()];
    for row in &mut table {
        row.extent = if is_scalar(row) { 1 } else { numbers.varint_u32()? };
    }
    let mut parents = Parents::default();
    let mut children = [0u32; CHUNK_NODES];
    let mut wrong = Guessed::new(numbers)?;
    for slot in (0..slots).filter(|slot| is_there[*slot]) {
        let guess = parents.guess(slot);
        if !is_placed[slot] {
            let up = wrong.number(numbers, slot, guess)?;
            table[slot].up = up;
            parents.learn(slot, up);
            count_child(&mut children, slot, up);
        }
        if !is_scalar(&table[slot]) {
            parents.open(slot, table[slot].extent);
        }
    }
    wrong.finish()?;
    let mut wrong = Guessed::new(numbers)?;
    for slot in (0..slots).filter(|slot| is_there[*slot]) {
        if !is_scalar(&table[slot]) {
            table[slot].count = wrong.number(numbers, slot, children[slot])?;
        }
    }
    wrong.finish()?;
    changed(numbers, &mut table)?;
    let mut placed = Vec::new();
    for (slot, parent, label) in &places {
        placed.push(*slot);
        put_varint(&mut placed, parent.0);
        label.encode(&mut placed);
    }
    image::encode(out, header.as_ref(), table.into_iter(), &placed);
    out.extend_from_slice(heap);
    Ok(())
}

fn row(node: Option<&Fragment<'_>>) -> Row {
    Row {
        kind: node.map_or(0, |node| node.kind as u8),
        name_len: node.map_or(NO_NAME, |node| node.name_len),
        frag_len: node.map_or(0, |node| node.bytes.len() as u32),
        up: 0,
        extent: 0,
        count: 0,
        changed: 0,
    }
}

fn is_scalar(row: &Row) -> bool {
    Kind::from_u8(row.kind).is_some_and(|kind| !kind.is_container())
}

/// Counts a node with the parent, if that is of the same chunk.
fn count_child(children: &mut [u32; CHUNK_NODES], slot: usize, up: u32) {
    if let Some(parent) = slot.checked_sub(up as usize)
        && up > 0
    {
        children[parent] += 1;
    }
}

/// Appends how many slots in turn have a node and have none, beginning with those that have one.
fn put_rows(kinds: &[u8], out: &mut Vec<u8>) {
    let (mut at, mut there) = (0, true);
    while at < kinds.len() {
        let row = kinds[at..].iter().take_while(|kind| (**kind != 0) == there).count();
        put_varint(out, row as u64);
        (at, there) = (at + row, !there);
    }
}

fn rows(input: &mut Reader<'_>, slots: usize) -> Result<Vec<bool>, Damaged> {
    let mut is_there = Vec::with_capacity(slots);
    let mut there = true;
    while is_there.len() < slots {
        let row = input.varint()? as usize;
        if row > slots - is_there.len() || row == 0 && !is_there.is_empty() {
            return Err(Damaged::new("a packed chunk with slots too many or too few"));
        }
        is_there.extend(repeat_n(there, row));
        there = !there;
    }
    Ok(is_there)
}

/// Placed nodes, and which slots have one.
type Places = (Vec<(u8, NodeKey, Label)>, [bool; CHUNK_NODES]);

fn places(input: &mut Reader<'_>, chunk: u32, last: &mut Last) -> Result<Places, Damaged> {
    let count = input.varint()? as usize;
    if count > CHUNK_NODES {
        return Err(Damaged::new("a packed chunk with too many placed nodes"));
    }
    let (mut places, mut is_placed) = (Vec::with_capacity(count), [false; CHUNK_NODES]);
    let mut before = 0;
    for _ in 0..count {
        let slot = u8::try_from(difference(input, before)?)
            .map_err(|_| Damaged::new("a placed node past the end"))?;
        before = u64::from(slot) + 1;
        let (parent, label) = last.place(key_of(chunk, usize::from(slot)), input)?;
        is_placed[usize::from(slot)] = true;
        places.push((slot, parent, label));
    }
    Ok((places, is_placed))
}

/// Numbers that were guessed wrongly: for each the distance of its slot, and the difference to the guess.
#[derive(Default)]
struct Wrong {
    count: u64,
    bytes: Vec<u8>,
    before: usize,
}

impl Wrong {
    fn add(&mut self, slot: usize, number: u64, guess: u64) {
        put_varint(&mut self.bytes, (slot - self.before) as u64);
        put_difference(&mut self.bytes, number, guess);
        self.before = slot;
        self.count += 1;
    }

    fn finish(self, out: &mut Vec<u8>) {
        put_varint(out, self.count);
        out.extend_from_slice(&self.bytes);
    }
}

/// Reads the pairs that [`Wrong`] wrote, in the order of the slots.
struct Guessed {
    left: u64,
    /// The next slot that was guessed wrongly.
    next: usize,
}

impl Guessed {
    fn new(input: &mut Reader<'_>) -> Result<Guessed, Damaged> {
        let left = input.varint()?;
        let next = if left == 0 { usize::MAX } else { input.varint()? as usize };
        Ok(Guessed { left, next })
    }

    fn number(&mut self, input: &mut Reader<'_>, slot: usize, guess: u32) -> Result<u32, Damaged> {
        if slot != self.next {
            return Ok(guess);
        }
        let number = u32::try_from(difference(input, u64::from(guess))?)
            .map_err(|_| Damaged::new("a number longer than 32 bits"))?;
        self.left -= 1;
        self.next = match self.left {
            0 => usize::MAX,
            _ => slot.saturating_add(input.varint()? as usize),
        };
        Ok(number)
    }

    fn finish(self) -> Result<(), Damaged> {
        if self.left == 0 { Ok(()) } else { Err(Damaged::new("a wrong guess for no node")) }
    }
}

/// Appends the commits of the slots, in rows of one commit: how many slots, and 0, or 1 more than the
/// difference to the commit before that was not 0.
fn put_changed(commits: impl Iterator<Item = u64>, out: &mut Vec<u8>) {
    let mut commits = commits.peekable();
    let mut before = 0;
    while let Some(csn) = commits.next() {
        let mut row = 1;
        while commits.next_if_eq(&csn).is_some() {
            row += 1;
        }
        put_varint(out, row);
        if csn == 0 {
            out.push(0);
        } else {
            out.push(1);
            put_difference(out, csn, before);
            before = csn;
        }
    }
}

fn changed(input: &mut Reader<'_>, table: &mut [Row]) -> Result<(), Damaged> {
    let (mut at, mut before) = (0, 0);
    while at < table.len() {
        let row = input.varint()? as usize;
        if row == 0 || row > table.len() - at {
            return Err(Damaged::new("commits of slots too many or too few"));
        }
        let csn = match input.u8()? {
            0 => 0,
            _ => difference(input, before)?,
        };
        if csn != 0 {
            before = csn;
        }
        table[at..at + row].iter_mut().for_each(|slot| slot.changed = csn);
        at += row;
    }
    Ok(())
}
