//! Properties of all numbers: the forms keep values and order, the arithmetic is that of integers.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use num_bigint::BigInt;
use numeric::{Numeric, Squares, Sum};
use proptest::prelude::*;

/// Mantissas from short to far beyond 128 bits, and around the powers of two that divide the forms.
fn mantissa() -> impl Strategy<Value = BigInt> {
    prop_oneof![
        4 => any::<i16>().prop_map(BigInt::from),
        3 => any::<i64>().prop_map(BigInt::from),
        3 => any::<i128>().prop_map(BigInt::from),
        2 => proptest::collection::vec(any::<u8>(), 0..60)
            .prop_map(|bytes| BigInt::from_signed_bytes_le(&bytes)),
        2 => (0_u32..200, -2_i32..=2, any::<bool>()).prop_map(|(bits, near, negative)| {
            let value = (BigInt::from(1) << bits) + near;
            if negative { -value } else { value }
        }),
        1 => (0_u32..60, -9_i32..=9).prop_map(|(zeros, n)| BigInt::from(10).pow(zeros) * n),
    ]
}

/// The parts of a finite number.
fn parts() -> impl Strategy<Value = (BigInt, u32)> {
    (mantissa(), prop_oneof![6 => 0_u32..6, 3 => 0_u32..80, 1 => 180_u32..400])
}

fn number(mantissa: &BigInt, scale: u32) -> Numeric {
    format!("{mantissa}e-{scale}").parse().unwrap()
}

fn finite() -> impl Strategy<Value = Numeric> {
    parts().prop_map(|(mantissa, scale)| number(&mantissa, scale))
}

fn any_number() -> impl Strategy<Value = Numeric> {
    prop_oneof![
        20 => finite(),
        2 => (any::<i32>(), -16_000_i32..130_000)
            .prop_map(|(digits, power)| format!("{digits}e{power}").parse().unwrap()),
        1 => Just(Numeric::NAN),
        1 => Just(Numeric::INFINITY),
        1 => Just(Numeric::NEG_INFINITY),
    ]
}

fn key(value: &Numeric) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write_key(&mut bytes);
    bytes
}

fn hash(value: &Numeric) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Equal, and printed alike.
fn same(left: &Numeric, right: &Numeric) -> bool {
    left == right && left.to_string() == right.to_string()
}

proptest! {
    /// Text, row form and wire form bring back the value with its scale.
    #[test]
    fn forms_keep_value_and_scale(value in any_number()) {
        prop_assert!(same(&value.to_string().parse().unwrap(), &value));
        let mut bytes = Vec::new();
        value.to_stored(&mut bytes);
        prop_assert!(same(&Numeric::from_stored(&bytes).unwrap(), &value));
        bytes.clear();
        value.to_wire(&mut bytes);
        prop_assert!(same(&Numeric::from_wire(&bytes).unwrap(), &value));
    }

    /// Keys order as values do, say where they end, and are alike for equal values only.
    #[test]
    fn keys_order_as_values(left in any_number(), right in any_number(), tail in any::<[u8; 3]>()) {
        let (a, b) = (key(&left), key(&right));
        prop_assert_eq!(a.cmp(&b), left.cmp(&right));
        prop_assert!(left == right || !(a.starts_with(&b) || b.starts_with(&a)));
        let (back, length) = Numeric::read_key(&[&a[..], &tail[..]].concat()).unwrap();
        prop_assert_eq!(length, a.len());
        prop_assert_eq!(&back, &left);
        prop_assert_eq!(back.scale(), left.min_scale());
    }

    /// Values that differ only in trailing zeros are equal, with equal hashes and keys.
    #[test]
    fn trailing_zeros_do_not_count(value in any_number(), zeros in 0_i32..50) {
        let Ok(longer) = value.round(value.scale().unwrap_or(0) as i32 + zeros) else {
            return Ok(());
        };
        prop_assert_eq!(&longer, &value);
        prop_assert_eq!(hash(&longer), hash(&value));
        prop_assert_eq!(key(&longer), key(&value));
        prop_assert!(same(&longer.trim_scale(), &value.trim_scale()));
    }

    /// Sums, differences, products and order are those of integers over a power of ten.
    #[test]
    fn arithmetic_is_that_of_integers((m, s) in parts(), (n, t) in parts()) {
        let (left, right) = (number(&m, s), number(&n, t));
        let scale = s.max(t);
        let a = &m * BigInt::from(10).pow(scale - s);
        let b = &n * BigInt::from(10).pow(scale - t);
        prop_assert!(same(&left.checked_add(&right).unwrap(), &number(&(&a + &b), scale)));
        prop_assert!(same(&left.checked_sub(&right).unwrap(), &number(&(&a - &b), scale)));
        prop_assert!(same(&left.checked_mul(&right).unwrap(), &number(&(&m * &n), s + t)));
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        if b != BigInt::ZERO {
            prop_assert!(same(&left.div_trunc(&right).unwrap(), &number(&(&a / &b), 0)));
            prop_assert!(same(&left.checked_rem(&right).unwrap(), &number(&(&a % &b), scale)));
        }
    }

    /// A quotient times its divisor is the dividend, to within half of the last digit.
    #[test]
    fn quotients_are_rounded((m, s) in parts(), (n, t) in parts()) {
        prop_assume!(n != BigInt::ZERO);
        let (left, right) = (number(&m, s), number(&n, t));
        let quotient = left.checked_div(&right).unwrap();
        let half = number(&BigInt::from(5), quotient.scale().unwrap() + 1);
        let error = quotient.checked_mul(&right).unwrap().checked_sub(&left).unwrap().abs();
        prop_assert!(error <= half.checked_mul(&right.abs()).unwrap());
    }

    /// A root lies within half of its last digit.
    #[test]
    fn roots_are_rounded((m, s) in parts()) {
        let value = number(&m, s).abs();
        let root = value.sqrt().unwrap();
        let half = number(&BigInt::from(5), root.scale().unwrap() + 1);
        let square = |x: Numeric| x.checked_mul(&x).unwrap();
        prop_assert!(square(root.checked_add(&half).unwrap()) >= value);
        let below = root.checked_sub(&half).unwrap();
        prop_assert!(below < Numeric::ZERO || square(below) <= value);
    }

    /// Logarithm and exponential undo each other to the digits that the steps keep.
    #[test]
    fn logarithms_undo_exponentials(mantissa in 1_i64.., scale in 0_u32..18) {
        let value = Numeric::new(i128::from(mantissa), scale).unwrap();
        let back = value.ln().unwrap().exp().unwrap();
        let error = back.checked_sub(&value).unwrap().abs().checked_div(&value).unwrap();
        prop_assert!(error < "1e-14".parse().unwrap(), "{} is off by {}", back, error);
    }

    /// A number becomes the nearest float, as the text of it would.
    #[test]
    fn floats_are_nearest(value in finite()) {
        let text = value.to_string();
        if let Ok(float) = value.to_f64() {
            prop_assert_eq!(float, text.parse::<f64>().unwrap());
        }
        if let Ok(float) = value.to_f32() {
            prop_assert_eq!(float, text.parse::<f32>().unwrap());
        }
    }

    /// An accumulator's sum is the sum, in any grouping, and values can be taken out again.
    #[test]
    fn accumulators_are_exact(values in proptest::collection::vec(finite(), 1..20), cut in 0_usize..20) {
        let plain = values.iter().fold(Numeric::ZERO, |sum, v| sum.checked_add(v).unwrap());
        let (front, back) = values.split_at(cut.min(values.len()));
        let gather = |part: &[Numeric]| {
            let mut sum = Sum::new();
            part.iter().for_each(|value| sum.add(value));
            sum
        };
        let mut sum = gather(front);
        sum.merge(&gather(back));
        prop_assert!(same(&sum.sum().unwrap().unwrap(), &plain));
        back.iter().for_each(|value| sum.remove(value));
        let front_sum = gather(front).sum().unwrap();
        prop_assert_eq!(sum.sum().unwrap(), front_sum);

        let mut squares = Squares::new();
        values.iter().for_each(|value| squares.add(value));
        let (mut left, mut right) = (Squares::new(), Squares::new());
        front.iter().for_each(|value| left.add(value));
        back.iter().for_each(|value| right.add(value));
        left.merge(&right);
        let spread = numeric::Spread::Population;
        prop_assert_eq!(left.variance(spread).unwrap(), squares.variance(spread).unwrap());
    }

    /// Bytes from outside are refused or read, and never more than that.
    #[test]
    fn arbitrary_bytes_are_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = Numeric::from_wire(&bytes);
        let _ = Numeric::from_stored(&bytes);
        let _ = Numeric::read_key(&bytes);
        let _ = String::from_utf8_lossy(&bytes).parse::<Numeric>();
    }
}

/// The pictures in the documentation of the key and row forms.
#[test]
fn documented_bytes() {
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    let keys = [
        ("0.00", "80"),
        ("1", "9302"),
        ("1.0", "9302"),
        ("1.5", "930364"),
        ("99999", "9513C7C6"),
        ("-1.5", "6CFC9B"),
        ("1e-40", "811FED02"),
        ("1e300", "F7003202"),
        ("Infinity", "FE"),
        ("-Infinity", "01"),
        ("NaN", "FF"),
    ];
    for (text, expected) in keys {
        assert_eq!(hex(key(&text.parse().unwrap())), expected, "key of {text}");
    }
    let rows = [
        ("0", "00"),
        ("1.10", "026E"),
        ("-1", "00FF"),
        ("128", "008000"),
        ("1000000", "0040420F"),
        ("0.000", "03"),
        ("1e-200", "C0C801"),
        ("NaN", "C000"),
        ("Infinity", "C001"),
        ("-Infinity", "C002"),
    ];
    for (text, expected) in rows {
        let mut bytes = Vec::new();
        text.parse::<Numeric>().unwrap().to_stored(&mut bytes);
        assert_eq!(hex(bytes), expected, "row form of {text}");
    }
}

/// A value takes no more room than three words, so that a column of them is dense.
#[test]
fn values_are_small() {
    assert_eq!(size_of::<Numeric>(), 24);
    assert_eq!(size_of::<Option<Numeric>>(), 24);
}
