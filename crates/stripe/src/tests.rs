//! A reader gets the values that a writer wrote, bit for bit. Damaged bytes do no harm.

use proptest::prelude::*;

use crate::{BLOCK_ROWS, Bounds, ByteStrings, Chunk, Column, Dictionary, Nulls, Values, Zone};

/// Integers as columns have them: constant, ascending, in runs, near each other, arbitrary.
fn ints() -> impl Strategy<Value = Vec<i64>> {
    let length = || prop_oneof![0..5_usize, 1000..1050_usize, 2040..2060_usize, 0..5000_usize];
    prop_oneof![
        (any::<i64>(), length()).prop_map(|(value, count)| vec![value; count]),
        (any::<i64>(), any::<i64>(), length()).prop_map(|(first, step, count)| {
            (0..count as i64).map(|at| first.wrapping_add(step.wrapping_mul(at))).collect()
        }),
        prop::collection::vec((-5_i64..5, 1..400_usize), 0..20).prop_map(|runs| {
            runs.into_iter().flat_map(|(value, count)| vec![value; count]).collect()
        }),
        prop::collection::vec((0_i64..9, 1..12_usize), 0..400).prop_map(|runs| {
            runs.into_iter().flat_map(|(value, count)| vec![value; count]).collect()
        }),
        (any::<i64>(), 0..64_u32, length()).prop_flat_map(|(least, width, count)| {
            let distances = prop::collection::vec(any::<u64>(), count);
            distances.prop_map(move |distances| {
                let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
                distances.into_iter().map(|one| least.wrapping_add((one & mask) as i64)).collect()
            })
        }),
    ]
}

/// Every so many values are NULL.
fn nulls_of(count: usize, every: usize) -> Vec<bool> {
    (0..count).map(|at| every > 0 && at % every == 0).collect()
}

fn written(column: Column<'_>, is_null: &[bool]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Chunk::write(column, is_null, &mut bytes);
    bytes
}

fn check_nulls(nulls: Nulls<'_>, is_null: &[bool]) {
    for (at, expected) in is_null.iter().enumerate() {
        assert_eq!(nulls.has(at), *expected, "value {at}");
    }
}

proptest! {
    #[test]
    fn integers_are_read_as_they_were_written(values in ints(), every in 0..4_usize) {
        let is_null = nulls_of(values.len(), every);
        let bytes = written(Column::Ints(&values), &is_null);
        let chunk = Chunk::read(&bytes).expect("reads");
        check_nulls(chunk.nulls(), &is_null);
        let Values::Ints(read) = chunk.values() else { panic!("integers: {chunk:?}") };
        prop_assert_eq!(&read.to_vec(), &values);
        for at in (0..values.len()).step_by(97) {
            prop_assert_eq!(read.get(at), values[at]);
            let places = at..values.len().min(at + at % 2_000);
            prop_assert_eq!(&read.range(places.clone()), &values[places]);
        }
        let is_some = |at: usize| at * at % 7 < 4;
        let mut words = vec![0_u64; values.len().div_ceil(64)];
        (0..values.len()).filter(|at| is_some(*at)).for_each(|at| words[at / 64] |= 1 << (at % 64));
        let some = |at: &usize| is_some(*at);
        let some_values: Vec<i64> = (0..values.len()).filter(some).map(|at| values[at]).collect();
        let some_nulls: Vec<bool> = (0..values.len()).filter(some).map(|at| is_null[at]).collect();
        let zone = Zone::of(Column::Ints(&some_values), &some_nulls);
        prop_assert_eq!(Zone::of_some(&chunk, &words), Some(zone));
        for (index, block) in values.chunks(BLOCK_ROWS).enumerate() {
            let farthest = block.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0);
            prop_assert!(read.bound(index) >= farthest, "block {}", index);
            prop_assert_eq!(read.block(index), block);
            let small: Option<Vec<u32>> = block.iter().map(|value| u32::try_from(*value).ok()).collect();
            prop_assert_eq!(read.block_small(index), small, "block {}", index);
            let places: Vec<u16> = (0..block.len() as u16).step_by(31).collect();
            let expected = places.iter().map(|place| block[usize::from(*place)]);
            let few = read.few(index, &places);
            prop_assert!(few.is_none_or(|few| expected.eq(few)), "block {}", index);
            let bounds = [i64::MIN, i64::MAX, 0].into_iter().chain(block.iter().copied().step_by(211));
            for low in bounds.clone() {
                for high in bounds.clone().flat_map(|bound| [bound, bound.saturating_sub(1)]) {
                    let mut marks: [u8; BLOCK_ROWS] = std::array::from_fn(|at| u8::from(at % 5 > 0));
                    if read.unmark(index, low, high, &mut marks).is_some() {
                        let expected = block.iter().enumerate().map(|(at, value)| {
                            u8::from(at % 5 > 0 && (low..=high).contains(value))
                        });
                        prop_assert!(
                            marks.iter().copied().eq(expected),
                            "block {}: {} to {}",
                            index,
                            low,
                            high
                        );
                    }
                }
            }
        }
        // Eight bytes each is the most that they take, with a few more for each block.
        let most = 8 * values.len() + 9 * values.len().div_ceil(BLOCK_ROWS) + values.len().div_ceil(8);
        prop_assert!(bytes.len() <= most + 32, "{} bytes", bytes.len());
    }

    #[test]
    fn floats_are_read_bit_for_bit(
        decimals in prop::collection::vec((-100_000_i64..100_000, 0..4_u32), 0..2100),
        others in prop::collection::vec((any::<u64>(), any::<prop::sample::Index>()), 0..40),
    ) {
        let decimal = |(mantissa, digits): &(i64, u32)| *mantissa as f64 / 10_f64.powi(*digits as i32);
        let mut values: Vec<f64> = decimals.iter().map(decimal).collect();
        for (bits, at) in others {
            if !values.is_empty() {
                let at = at.index(values.len());
                values[at] = f64::from_bits(bits);
            }
        }
        let narrow: Vec<f32> = values.iter().map(|value| *value as f32).collect();
        let is_null = vec![false; values.len()];
        let bytes = written(Column::Floats(&values), &is_null);
        let chunk = Chunk::read(&bytes).expect("reads");
        let Values::Floats(read) = chunk.values() else { panic!("floats: {chunk:?}") };
        for (index, expected) in values.chunks(BLOCK_ROWS).enumerate() {
            let bits: Vec<u64> = expected.iter().map(|value| value.to_bits()).collect();
            prop_assert_eq!(read.block(index, f64::to_bits), bits, "block {}", index);
        }
        let bytes = written(Column::Floats32(&narrow), &is_null);
        let chunk = Chunk::read(&bytes).expect("reads");
        let Values::Floats32(read) = chunk.values() else { panic!("floats: {chunk:?}") };
        for (at, expected) in narrow.iter().enumerate() {
            prop_assert_eq!(read.get(at).to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn strings_are_read_as_they_were_written(
        strings in prop_oneof![
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..200),
            prop::collection::vec("[a-c]{0,2}".prop_map(String::into_bytes), 0..2000),
            prop::collection::vec("([0-9a-f]{2}){0,8}".prop_map(String::into_bytes), 0..200),
            prop::collection::vec(
                "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
                    .prop_map(String::into_bytes),
                0..50
            ),
        ],
        has_dictionary in any::<bool>(),
    ) {
        let column: ByteStrings = strings.iter().collect();
        let dictionary = Dictionary::of(column.iter()).filter(|_| has_dictionary);
        if let Some(dictionary) = &dictionary {
            let read = Dictionary::read(&dictionary.to_bytes()).expect("reads");
            prop_assert_eq!(&read, dictionary);
            let known: Vec<&[u8]> = dictionary.strings().iter().collect();
            let expected: std::collections::BTreeSet<&[u8]> = column.iter().collect();
            prop_assert_eq!(known, expected.into_iter().collect::<Vec<_>>());
        }
        let is_null = vec![false; strings.len()];
        let bytes = written(Column::Strings(&column, dictionary.as_ref()), &is_null);
        let chunk = Chunk::read(&bytes).expect("reads");
        let Values::Strings(read) = chunk.values() else { panic!("strings: {chunk:?}") };
        prop_assert_eq!(read.codes().is_some(), dictionary.is_some());
        for (at, expected) in strings.iter().enumerate() {
            prop_assert_eq!(read.get(at, dictionary.as_ref()).expect("known"), &expected[..]);
        }
    }

    /// A reader of damaged bytes gets an error or other values.
    #[test]
    fn damaged_chunks_do_no_harm(
        values in ints(),
        kind in 0..5_u8,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let strings: ByteStrings = values.iter().map(|value| (value % 50).to_string()).collect();
        let floats: Vec<f64> = values.iter().map(|value| (*value % 1000) as f64 / 8.0).collect();
        let dictionary = Dictionary::of(strings.iter());
        let column = match kind {
            0 => Column::Ints(&values),
            1 => Column::Floats(&floats),
            2 => Column::Strings(&strings, dictionary.as_ref()),
            3 => Column::Strings(&strings, None),
            _ => Column::Decimals { scale: 2, mantissas: &values, shown: &values },
        };
        let mut bytes = written(column, &nulls_of(values.len(), 3));
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        bytes.truncate(bytes.len() - cut.index(3).min(bytes.len()));
        read_all(&bytes, dictionary.as_ref());
    }
}

/// Reads all of a chunk, as far as it can be read.
fn read_all(bytes: &[u8], dictionary: Option<&Dictionary>) {
    let Ok(chunk) = Chunk::read(bytes) else { return };
    for at in 0..chunk.len().min(3000) {
        chunk.nulls().has(at);
        match chunk.values() {
            Values::Ints(values) => drop(values.get(at)),
            Values::Decimals { mantissas, shown, .. } => drop((mantissas.get(at), shown.get(at))),
            Values::Floats(values) => drop(values.get(at)),
            Values::Floats32(values) => drop(values.get(at)),
            Values::Strings(values) => drop(values.get(at, dictionary)),
        }
    }
}

/// A million integers cost what their encoding promises.
#[test]
fn encodings_take_the_bytes_that_they_promise() {
    let count = 16 * BLOCK_ROWS as i64;
    let size = |values: Vec<i64>| written(Column::Ints(&values), &vec![false; values.len()]).len();
    assert!(size(vec![7; count as usize]) < 10);
    assert!(size((0..count).map(|at| 1_000_000 + 30 * at).collect()) < 16);
    assert!(size((0..count).map(|at| at / 2880).collect()) < 64);
    let packed = size((0..count).map(|at| at * 7919 % 100).collect());
    assert!((7 * count / 8..7 * count / 8 + 200).contains(&(packed as i64)), "{packed} bytes");
    let digests: ByteStrings = (0..count).map(|at| format!("{:032x}", at * 7919)).collect();
    let bytes = written(Column::Strings(&digests, None), &vec![false; count as usize]).len();
    assert!(bytes < 16 * count as usize + 64, "{bytes} bytes");
}

#[test]
fn zones_know_bounds_and_sums() {
    let values = [5, 90, -3, 7];
    let zone = Zone::of(Column::Ints(&values), &[false, true, false, false]);
    let bounds = Bounds::Ints(-3, 7);
    assert_eq!(zone, Zone { count: 4, nulls: 1, bounds, sum: Some(9) });
    let floats = [2.5, f64::NAN, -1.0];
    let zone = Zone::of(Column::Floats(&floats), &[false; 3]);
    assert!(matches!(zone.bounds, Bounds::Floats(min, max) if min == -1.0 && max.is_nan()));
    let strings: ByteStrings = ["pear", "apple"].iter().collect();
    let of_strings = Zone::of(Column::Strings(&strings, None), &[false; 2]);
    assert_eq!(of_strings.bounds, Bounds::Strings(b"apple".to_vec(), b"pear".to_vec()));
    let nothing = Zone::of(Column::Ints(&[1, 1]), &[true, true]);
    assert_eq!((nothing.bounds.clone(), nothing.sum), (Bounds::Nothing, Some(0)));
    for zone in [of_strings, nothing] {
        let mut bytes = Vec::new();
        zone.write(&mut bytes);
        let mut rest = &bytes[..];
        assert_eq!(Zone::read(&mut rest).expect("reads"), zone);
        assert!(rest.is_empty());
    }
}
