//! The numbers of the values of a key: each different value has one ([`KeyValues`], [`Numbers`]), from 0 on.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use types::{Datum, DatumRef, Repr};

use crate::groups::NONE;
use crate::slice::Selection;
use crate::vector::{Ints, Values, Vector, bound_of, int_datum, int_of};
use crate::words::Words;

/// Gives integers numbers, from 0 on: by an array if they lie close together, else by a hash table.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// The integer at the start of the array.
    base: i64,
    slots: Vec<u32>,
    others: HashMap<i64, u32, FixedState>,
}

/// The longest array of numbers, unless there are many: then it may have [`SPARE`] places for each.
const SLOTS_MAX: usize = 1 << 20;

const SPARE: usize = 16;

impl Numbers {
    #[inline]
    fn slot_of(&self, value: i64) -> Option<usize> {
        let at = value.wrapping_sub(self.base) as u64;
        (at < self.slots.len() as u64).then_some(at as usize)
    }

    /// Returns the number of an integer that has one in the array; else [`NONE`].
    #[inline]
    fn known(&self, value: i64) -> u32 {
        let at = value.wrapping_sub(self.base) as u64;
        self.slots.get(at as usize).copied().unwrap_or(NONE)
    }

    /// Returns the number of an integer; if it has none, `next` gives it one, or [`NONE`].
    #[inline]
    pub fn get(&mut self, value: i64, next: impl FnOnce() -> u32) -> u32 {
        match self.slot_of(value) {
            Some(at) if self.slots[at] != NONE => self.slots[at],
            _ => self.find(value, next),
        }
    }

    fn find(&mut self, value: i64, next: impl FnOnce() -> u32) -> u32 {
        if let Some(known) = self.others.get(&value) {
            return *known;
        }
        let number = next();
        if number == NONE {
            return NONE;
        }
        if self.reach(value, SLOTS_MAX.max(number as usize * SPARE))
            && let Some(at) = self.slot_of(value)
        {
            self.slots[at] = number;
        } else {
            self.others.insert(value, number);
        }
        number
    }

    /// Makes the array longer, to have a place for an integer, unless it would have more than `most` places.
    fn reach(&mut self, value: i64, most: usize) -> bool {
        const SLOTS_MIN: usize = 1 << 10;
        if self.slots.is_empty() {
            // There is room before the first integer and behind it.
            self.base = value.saturating_sub(SLOTS_MIN as i64 / 2);
            self.slots = vec![NONE; SLOTS_MIN];
        }
        if self.slot_of(value).is_some() {
            return true;
        }
        let Some(distance) = value.checked_sub(self.base) else { return false };
        if distance >= 0 {
            let Some(needed) = (distance as usize).checked_add(1).filter(|needed| *needed <= most)
            else {
                return false;
            };
            self.slots.resize(needed.next_power_of_two().min(most), NONE);
            return true;
        }
        let before = usize::try_from(distance.unsigned_abs()).unwrap_or(usize::MAX);
        let before = before.max(self.slots.len());
        if before > most || before + self.slots.len() > most {
            return false;
        }
        let Some(base) = self.base.checked_sub(before as i64) else { return false };
        self.base = base;
        self.slots.splice(0..0, std::iter::repeat_n(NONE, before));
        true
    }

    /// Returns the number of an integer; [`NONE`] if it has none.
    #[inline]
    fn find_known(&self, value: i64) -> u32 {
        match self.known(value) {
            NONE => self.others.get(&value).copied().unwrap_or(NONE),
            number => number,
        }
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u32>() + self.others.capacity() * 24
    }
}

/// The different values of a key.
#[derive(Debug, Default)]
pub struct KeyValues {
    values: ByNumber,
    /// The numbers of values that are not in `ints`, by their hashes.
    others: HashTable<(u64, u32)>,
    hasher: FixedState,
    ints: Numbers,
    /// The representation of `ints`.
    repr: Option<Repr>,
    null: Option<u32>,
    /// The numbers of the entries of a dictionary.
    words: EntryNumbers,
    /// The bytes of texts and other values that lie elsewhere.
    heap_bytes: usize,
}

/// The values of a key by their numbers.
#[derive(Debug)]
enum ByNumber {
    /// Integers in the representation of the key. The integer at the number of NULL means nothing.
    Ints(Vec<i64>),
    Datums(Vec<Datum>),
}

impl Default for ByNumber {
    fn default() -> ByNumber {
        ByNumber::Datums(Vec::new())
    }
}

/// A dictionary, and the numbers that its entries have as values of a key.
pub type EntryNumbers = Option<(Arc<Words>, Vec<u32>)>;

impl KeyValues {
    /// Returns the number of a value; [`NONE`] if it is new and `may_grow` is false.
    fn number(&mut self, value: Datum, may_grow: bool) -> u32 {
        if value.is_null() {
            if self.null.is_none() && may_grow {
                self.null = Some(self.push(Datum::Null));
            }
            return self.null.unwrap_or(NONE);
        }
        let hash = self.hasher.hash_one(&value);
        let known = self.known(hash, &value);
        if known != NONE || !may_grow {
            return known;
        }
        let number = self.push(value);
        self.others.insert_unique(hash, (hash, number), |(hash, _)| *hash);
        number
    }

    /// Returns the number of a value with a hash; [`NONE`] if it has none.
    fn known(&self, hash: u64, value: &Datum) -> u32 {
        let is_it = |other: &(u64, u32)| other.0 == hash && self.value(other.1) == value.as_ref();
        self.others.find(hash, is_it).map_or(NONE, |(_, number)| *number)
    }

    /// Keeps a value under the next number.
    fn push(&mut self, value: Datum) -> u32 {
        let number = self.len() as u32;
        self.heap_bytes += value.heap_bytes();
        match &mut self.values {
            ByNumber::Ints(ints) if value.is_null() => ints.push(0),
            ByNumber::Datums(_) if number == 0 && value.is_null() && self.repr.is_some() => {
                self.values = ByNumber::Ints(vec![0]);
            }
            ByNumber::Datums(datums) => datums.push(value),
            ByNumber::Ints(_) => {
                let known = (0..number).map(|number| self.value(number).to_owned());
                self.values = ByNumber::Datums(known.chain([value]).collect());
            }
        }
        number
    }

    /// Keeps an integer of the key's representation under the next number.
    fn push_int(&mut self, repr: Repr, value: i64) -> u32 {
        let number = self.len() as u32;
        match &mut self.values {
            ByNumber::Ints(ints) => ints.push(value),
            ByNumber::Datums(_) if number == 0 => self.values = ByNumber::Ints(vec![value]),
            ByNumber::Datums(datums) => datums.push(int_datum(repr, value).to_owned()),
        }
        number
    }

    /// Puts the numbers of the selected rows' values into `out`, which has a place for each row.
    pub fn numbers(
        &mut self,
        vector: &Vector<'_>,
        rows: &Selection,
        may_grow: bool,
        out: &mut [u32],
    ) {
        match &vector.values {
            Values::Ints(ints) if self.repr.is_none_or(|repr| repr == ints.repr) => {
                self.repr = Some(ints.repr);
                self.int_numbers(ints, vector, rows, may_grow, out);
            }
            Values::Codes(words, codes) => {
                let (known, mut numbers) = match self.words.take() {
                    Some((known, numbers)) if Arc::ptr_eq(&known, words) => (known, numbers),
                    _ => (Arc::clone(words), vec![NONE; words.len()]),
                };
                let has_nulls = !vector.nulls.is_empty();
                if !has_nulls && put_known(rows, codes, out, |code| numbers[code as usize]) {
                    self.words = Some((known, numbers));
                    return;
                }
                rows.each(|row| {
                    if has_nulls && vector.nulls[row] {
                        out[row] = self.number(Datum::Null, may_grow);
                        return;
                    }
                    let code = codes[row];
                    let mut number = numbers[code as usize];
                    if number == NONE {
                        number = self.number(words.get(code).to_owned(), may_grow);
                        numbers[code as usize] = number;
                    }
                    out[row] = number;
                });
                self.words = Some((known, numbers));
            }
            _ => rows.each(|row| out[row] = self.number(vector.datum(row), may_grow)),
        }
    }

    /// Puts the numbers of the selected rows' values, none of which is NULL, into `out`, which has a place for each row:
    /// [`NONE`] for values that have none. `memo` is for calls of this alone.
    pub fn find(
        &self,
        vector: &Vector<'_>,
        rows: &Selection,
        memo: &mut EntryNumbers,
        out: &mut [u32],
    ) {
        let number = |value: Datum| self.known(self.hasher.hash_one(&value), &value);
        match &vector.values {
            Values::Ints(ints) if self.repr == Some(ints.repr) => {
                rows.each(|row| out[row] = self.ints.find_known(ints.values[row]));
            }
            Values::Codes(words, codes) => {
                const NOT_ASKED: u32 = NONE - 1;
                if !memo.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, words)) {
                    *memo = Some((Arc::clone(words), vec![NOT_ASKED; words.len()]));
                }
                let Some((_, numbers)) = memo else { return };
                rows.each(|row| {
                    let known = &mut numbers[codes[row] as usize];
                    if *known == NOT_ASKED {
                        *known = number(words.get(codes[row]).to_owned());
                    }
                    out[row] = *known;
                });
            }
            _ => rows.each(|row| out[row] = number(vector.datum(row))),
        }
    }

    /// Takes in the values of another key. Returns the numbers that these have here, by the numbers that they have there.
    pub fn merge(&mut self, other: &KeyValues) -> Vec<u32> {
        let repr = other.repr.filter(|repr| self.repr.is_none_or(|known| known == *repr));
        self.repr = self.repr.or(repr);
        let mut ints = std::mem::take(&mut self.ints);
        let number = |number: u32| {
            let value = other.value(number);
            let int = repr.and_then(|repr| {
                let int = int_of(value)?;
                (int_datum(repr, int) == value).then_some((repr, int))
            });
            match int {
                Some((repr, int)) => ints.get(int, || self.push_int(repr, int)),
                None => self.number(value.to_owned(), true),
            }
        };
        let numbers = (0..other.len() as u32).map(number).collect();
        self.ints = ints;
        numbers
    }

    fn int_numbers(
        &mut self,
        ints: &Ints,
        vector: &Vector<'_>,
        rows: &Selection,
        may_grow: bool,
        out: &mut [u32],
    ) {
        let mut numbers = std::mem::take(&mut self.ints);
        let mut last = None;
        let has_nulls = !vector.nulls.is_empty();
        if !has_nulls && put_known(rows, &ints.values, out, |value| numbers.known(value)) {
            self.ints = numbers;
            return;
        }
        rows.each(|row| {
            if has_nulls && vector.nulls[row] {
                out[row] = self.number(Datum::Null, may_grow);
                return;
            }
            let value = ints.values[row];
            // Sorted columns have the same value many times in a row.
            let number = match last {
                Some((before, number)) if before == value => number,
                _ => numbers.get(value, || match may_grow {
                    true => self.push_int(ints.repr, value),
                    false => NONE,
                }),
            };
            last = Some((value, number));
            out[row] = number;
        });
        self.ints = numbers;
    }

    /// Returns the value with a number.
    pub fn value(&self, number: u32) -> DatumRef<'_> {
        match (&self.values, self.repr) {
            (ByNumber::Datums(datums), _) => datums[number as usize].as_ref(),
            (ByNumber::Ints(ints), Some(repr)) if self.null != Some(number) => {
                int_datum(repr, ints[number as usize])
            }
            (ByNumber::Ints(_), _) => DatumRef::Null,
        }
    }

    /// Returns the values with these numbers, whose representation is `repr`.
    pub fn vector(&self, repr: Repr, numbers: Range<usize>) -> Vector<'_> {
        let is_plain = self.repr == Some(repr)
            && self.null.is_none_or(|null| !numbers.contains(&(null as usize)));
        if let ByNumber::Ints(ints) = &self.values
            && is_plain
        {
            let values = ints[numbers].to_vec();
            let bound = bound_of(&values);
            let values = Values::Ints(Ints { repr, values, bound });
            return Vector { values, nulls: Vec::new() };
        }
        Vector::of_refs(repr, numbers.map(|number| self.value(number as u32)).collect())
    }

    /// Returns the number of different values.
    pub fn len(&self) -> usize {
        match &self.values {
            ByNumber::Ints(ints) => ints.len(),
            ByNumber::Datums(datums) => datums.len(),
        }
    }

    /// Returns about how many bytes are held.
    pub fn bytes(&self) -> usize {
        let values = match &self.values {
            ByNumber::Ints(ints) => ints.len() * size_of::<i64>(),
            ByNumber::Datums(datums) => datums.len() * size_of::<Datum>(),
        };
        values + self.others.capacity() * 2 * size_of::<u64>() + self.heap_bytes + self.ints.bytes()
    }
}

/// Puts the numbers of the selected rows' values into `out`, which has a place for each row; false if a value has none yet.
#[inline]
fn put_known<T: Copy>(
    rows: &Selection,
    values: &[T],
    out: &mut [u32],
    number: impl Fn(T) -> u32,
) -> bool {
    match rows {
        Selection::Some(some) if some.len() * 2 < values.len() => {
            some.iter().fold(true, |is_known, row| {
                let row = usize::from(*row);
                out[row] = number(values[row]);
                is_known & (out[row] != NONE)
            })
        }
        // Of most rows: to look up all of them, one after the other, is faster than to ask which.
        _ => {
            let slots = out.iter_mut().zip(values);
            let is_known = slots.fold(true, |is_known, (slot, value)| {
                *slot = number(*value);
                is_known & (*slot != NONE)
            });
            is_known || rows.all(|row| out[row] != NONE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers keep their numbers, near or far, however the array grows.
    #[test]
    fn integers_keep_their_numbers() {
        let mut numbers = Numbers::default();
        let all = [5, 6, -400, 100_000, i64::MIN, i64::MAX, -900_000, 1 << 40, 5, -400, i64::MAX];
        let mut known: Vec<i64> = Vec::new();
        for value in all {
            let before = known.iter().position(|known| *known == value);
            let next = known.len() as u32;
            let number = numbers.get(value, || next);
            assert_eq!(number, before.map_or(next, |before| before as u32), "{value}");
            if before.is_none() {
                known.push(value);
            }
        }
        for (number, value) in known.iter().enumerate() {
            assert_eq!(numbers.get(*value, || panic!("{value} is known")), number as u32);
        }
        assert_eq!(numbers.get(77, || NONE), NONE, "there is no room");
        assert_eq!(numbers.get(77, || 100), 100);
    }

    /// Integers, NULL and the values of another key keep their numbers, however they are held.
    #[test]
    fn values_keep_their_numbers() {
        let vector = |all: &[Option<i64>]| {
            let datum =
                |value: &Option<i64>| value.map_or(Datum::Null, |value| Datum::Int4(value as i32));
            Vector::of_datums(Repr::Int4, all.iter().map(datum).collect())
        };
        let numbers_of = |key: &mut KeyValues, all: &[Option<i64>]| {
            let mut out = vec![NONE; all.len()];
            key.numbers(&vector(all), &Selection::All(all.len()), true, &mut out);
            out
        };
        let value = |value: i32| DatumRef::Int4(value);
        for null_comes_first in [true, false] {
            let first = if null_comes_first { [None, Some(7)] } else { [Some(7), None] };
            let mut key = KeyValues::default();
            assert_eq!(numbers_of(&mut key, &first), [0, 1]);
            assert_eq!(numbers_of(&mut key, &[Some(-3), None, Some(7)])[0], 2);
            assert!(
                matches!(key.values, ByNumber::Ints(_)),
                "NULL does not change how they are held"
            );
            let null = u32::from(!null_comes_first);
            assert_eq!(
                [key.value(null), key.value(1 - null), key.value(2)],
                [DatumRef::Null, value(7), value(-3)]
            );
            let all = key.vector(Repr::Int4, 0..3);
            assert_eq!((all.is_null(null as usize), all.datum(2)), (true, Datum::Int4(-3)));
            assert_eq!(key.vector(Repr::Int4, 2..3).datum(0), Datum::Int4(-3));

            let mut other = KeyValues::default();
            numbers_of(&mut other, &[Some(-3), Some(8), None]);
            assert_eq!(key.merge(&other), [2, 3, null]);
            assert_eq!((key.len(), key.value(3)), (4, value(8)));
        }

        // A text among integers is a value of its own.
        let mut mixed = KeyValues::default();
        numbers_of(&mut mixed, &[Some(1), None]);
        let text = Vector::of_datums(Repr::Text, vec![Datum::from("one")]);
        let mut out = [NONE];
        mixed.numbers(&text, &Selection::All(1), true, &mut out);
        assert_eq!((out, mixed.len()), ([2], 3));
        assert_eq!(
            [mixed.value(0), mixed.value(1), mixed.value(2)],
            [value(1), DatumRef::Null, DatumRef::Text("one")]
        );
        assert_eq!(numbers_of(&mut mixed, &[Some(2), Some(1), None]), [3, 0, 1]);
    }
}
