//! Numbers and strings in their JSON form.

use std::cmp::Ordering;

use proptest::prelude::*;

use crate::scan::plain_prefix;
use crate::text::{compare_numbers, compare_strings, escape, number_from_f64, quote, unescape};

/// Numbers in ascending order, equal ones on one line.
#[test]
fn numbers_are_ordered_by_value() {
    let ascending: &[&[&str]] = &[
        &["-1e99999999999999999999", "-1e99999999999999999998"],
        &["-1e400", "-10e399"],
        &["-100", "-1e2", "-0.1E+3"],
        &["-99.99"],
        &["-1", "-1.0", "-1.000e0"],
        &["-1e-400"],
        &["0", "-0", "0.0", "-0e5", "0e99999999999999999999"],
        &["1e-9999"],
        &["0.1", "1e-1", "0.10", "0.01e1"],
        &["0.100000000000000000000000000000000001"],
        &["1", "1.0", "10e-1"],
        &["9007199254740992"],
        &["9007199254740993"],
        &["12345678901234567890.5", "1.23456789012345678905e19"],
        &["1e400"],
    ];
    for (i, row) in ascending.iter().enumerate() {
        for (j, other) in ascending.iter().enumerate() {
            for a in *row {
                for b in *other {
                    assert_eq!(
                        compare_numbers(a.as_bytes(), b.as_bytes()),
                        i.cmp(&j),
                        "{a} and {b}"
                    );
                }
            }
        }
    }
}

/// Doubles are written in their shortest form, as JSON.
#[test]
fn doubles_are_short() {
    let told: Vec<_> = [0.1, 1.0, -0.0, 1e16, 1e300, f64::MIN_POSITIVE, f64::MAX]
        .into_iter()
        .map(number_from_f64)
        .collect();
    let want =
        ["0.1", "1", "-0", "1e16", "1e300", "2.2250738585072014e-308", "1.7976931348623157e308"];
    assert_eq!(told, want.map(|text| Some(text.to_owned())));
    assert_eq!([f64::NAN, f64::INFINITY].map(number_from_f64), [None, None]);
}

/// The first character that needs an escape is found, whatever stands before and behind it.
#[test]
fn what_needs_an_escape_is_found_anywhere() {
    for len in 0..100 {
        let plain = "x\u{7f}é".repeat(len).into_bytes()[..len].to_vec();
        assert_eq!(plain_prefix(&plain), len);
        for at in 0..len {
            for special in [b'"', b'\\', 0, 0x1f] {
                let mut text = plain.clone();
                text[at] = special;
                text[len - 1] = if at + 1 < len { b'"' } else { special };
                assert_eq!(plain_prefix(&text), at, "{len} bytes");
            }
        }
    }
}

/// Text that is not canonical, as from a damaged file, is read without a panic.
#[test]
fn broken_text_is_read_without_panic() {
    for text in [
        &b"\\"[..],
        b"\\u",
        b"\\u00",
        b"\\uzzzz",
        b"\\u00\xff\xff",
        b"\xff",
        b"\\x",
        b"a\\",
        b"\\ud800",
    ] {
        let _ = unescape(text);
        let _ = compare_strings(text, b"\\n");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A string survives its canonical text, and the order of texts is the order of strings.
    #[test]
    fn strings_survive_and_keep_their_order(a in any::<String>(), b in "[\\x00-\\x7f]{0,5}", c in "[\\x00-\\x7f]{0,5}") {
        for string in [&a, &b] {
            let text = escape(string);
            prop_assert_eq!(&unescape(text.as_bytes()), string);
            let tape = crate::Tape::parse(quote(string)).unwrap();
            prop_assert_eq!(tape.root().as_str().unwrap(), string.as_str());
        }
        prop_assert_eq!(compare_strings(escape(&b).as_bytes(), escape(&c).as_bytes()), b.cmp(&c));
        prop_assert_eq!(compare_strings(escape(&b).as_bytes(), escape(&b).as_bytes()), Ordering::Equal);
    }

    /// Doubles come back bit for bit, and are ordered as doubles are.
    #[test]
    fn doubles_survive_and_keep_their_order(a in any::<f64>(), b in any::<f64>()) {
        if let (Some(x), Some(y)) = (number_from_f64(a), number_from_f64(b)) {
            prop_assert_eq!(x.parse::<f64>().unwrap().to_bits(), a.to_bits());
            prop_assert_eq!(Some(compare_numbers(x.as_bytes(), y.as_bytes())), a.partial_cmp(&b));
        }
    }
}
