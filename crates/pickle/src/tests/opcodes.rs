//! Each opcode of the protocols 0 to 5, and each way to use it against its rules.

use super::{CLASS, check, head, json, record};
use crate::Error;

/// Constants and integers come out as JSON's own values.
#[test]
fn constants_and_integers() {
    check(b"N", "null");
    check(b"\x88", "true");
    check(b"\x89", "false");
    check(b"I01\n", "true");
    check(b"I00\n", "false");
    check(b"I-42\n", "-42");
    check(b"I9223372036854775808\n", r#"{"@bi":"9223372036854775808"}"#);
    check(b"L7L\n", "7");
    check(b"L-00012345678901234567890L\n", r#"{"@bi":"-12345678901234567890"}"#);
    check(b"K\xff", "255");
    check(b"M\xff\xff", "65535");
    check(b"J\xff\xff\xff\xff", "-1");
    check(b"\x8a\x00", "0");
    check(b"\x8a\x01\xff", "-1");
    check(b"\x8a\x02\xff\x00", "255");
    check(b"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", "-9223372036854775808");
    check(b"\x8a\x0a\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00", "5");
    check(b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00", r#"{"@bi":"9223372036854775808"}"#);
    check(
        b"\x8b\x09\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f\xff",
        r#"{"@bi":"-9223372036854775809"}"#,
    );
    check(b"F1.5\n", "1.5");
    check(b"Finf\n", r#"{"@f":"inf"}"#);
    check(b"G\x3f\xf8\0\0\0\0\0\0", "1.5");
}

/// Integers of more than 4,096 bits are hexadecimal: their conversion to decimal would be slow.
#[test]
fn very_large_integers_are_hexadecimal() {
    let mut state = b"\x8b\x01\x02\x00\x00".to_vec();
    state.extend([0; 512]);
    state.push(1);
    check(&state, &format!(r#"{{"@bi":"0x1{}"}}"#, "0".repeat(1024)));
    *state.last_mut().expect("it has bytes") = 0xff;
    check(&state, &format!(r#"{{"@bi":"-0x1{}"}}"#, "0".repeat(1024)));
}

/// Strings of each protocol, with its escapes.
#[test]
fn strings() {
    check(b"X\x03\0\0\0caf", r#""caf""#);
    check(b"\x8c\x05caf\xc3\xa9", r#""café""#);
    check(b"\x8d\x01\0\0\0\0\0\0\0a", r#""a""#);
    check(b"Vcaf\xe9 \\u20ac \\U0001f600 \\\\u0041 \\x\n", r#""café € 😀 \\\\u0041 \\x""#);
    check(b"V\\ud800\n", r#"{"@su":"7aCA"}"#);
    check(
        br"S'a\n\t\x41\101\'\\\q'
",
        r#""a\n\tAA'\\\\q""#,
    );
    check(b"S\"it's\"\n", r#""it's""#);
    check(b"U\x01a", r#""a""#);
    check(b"T\x01\0\0\0a", r#""a""#);
}

/// Python 3 reads a string of Python 2 as bytes if it is not ASCII, and this crate does too.
#[test]
fn strings_of_python_2() {
    check(b"U\x02\xc3\xa9", r#"{"@b":"w6k="}"#);
    check(b"S'\\xff'\n", r#"{"@b":"/w=="}"#);
}

/// Bytes of each protocol; protocols 0 to 2 of Python 3 write them as calls.
#[test]
fn bytes() {
    check(b"C\x02ab", r#"{"@b":"YWI="}"#);
    check(b"B\x02\0\0\0ab", r#"{"@b":"YWI="}"#);
    check(b"\x8e\x02\0\0\0\0\0\0\0ab", r#"{"@b":"YWI="}"#);
    check(b"\x96\x02\0\0\0\0\0\0\0ab", r#"{"@b":"YWI="}"#);
    check(b"c_codecs\nencode\n(V\xff\nVlatin1\ntR", r#"{"@b":"/w=="}"#);
    check(b"c__builtin__\nbytes\n)R", r#"{"@b":""}"#);
    check(b"cbuiltins\nbytearray\nC\x02ab\x85R", r#"{"@b":"YWI="}"#);
    check(b"c__builtin__\nbytearray\n(V\xff\nVlatin-1\ntR", r#"{"@b":"/w=="}"#);
}

/// Containers, and the two ways to fill them.
#[test]
fn containers() {
    check(b"(lp1\nI1\naI2\na", "[1,2]");
    check(b"](K\x01K\x02e", "[1,2]");
    check(b"(K\x01K\x02l", "[1,2]");
    check(b"(dVa\nI1\ns", r#"{"a":1}"#);
    check(b"(Va\nI1\nd", r#"{"a":1}"#);
    check(b"}(X\x01\0\0\0aK\x01X\x01\0\0\0bK\x02u", r#"{"a":1,"b":2}"#);
    check(b")", r#"{"@t":[]}"#);
    check(b"(t", r#"{"@t":[]}"#);
    check(b"(K\x01K\x02K\x03K\x04t", r#"{"@t":[1,2,3,4]}"#);
    check(b"K\x01\x85", r#"{"@t":[1]}"#);
    check(b"K\x01K\x02\x86", r#"{"@t":[1,2]}"#);
    check(b"K\x01K\x02K\x03\x87", r#"{"@t":[1,2,3]}"#);
    check(b"\x8f(K\x01K\x02\x90", r#"{"@set":[1,2]}"#);
    check(b"(K\x01\x91", r#"{"@fset":[1]}"#);
}

/// The memo gives values again, and the stack can be edited.
#[test]
fn memo_and_stack() {
    check(b"(K\x07p5\ng5\nt", r#"{"@t":[7,7]}"#);
    check(b"(K\x07q\x05h\x05t", r#"{"@t":[7,7]}"#);
    check(b"(K\x07r\x05\0\0\0j\x05\0\0\0t", r#"{"@t":[7,7]}"#);
    // MEMOIZE takes the number of values in the memo: the class pickle has put one there.
    check(b"(K\x07\x94h\x01t", r#"{"@t":[7,7]}"#);
    check(b"(K\x072t", r#"{"@t":[7,7]}"#);
    check(b"K\x07N0", "7");
    check(b"K\x07(NN1", "7");
    check(b"K\x07(0", "7");
}

/// The state refers to values of the class pickle: both are written by one pickler.
#[test]
fn the_memo_of_the_class_is_that_of_the_state() {
    check(b"h\x00", r#"{"@cls":["m","C"]}"#);
    let both_ways = [b"\x80\x04\x8c\x01m\x94\x8c\x01C\x94\x93\x94.".as_slice(), b"h\x02."].concat();
    assert_eq!(json(&both_ways), r#"{"@cls":["m","C"]}"#);
}

/// Objects, by each opcode that makes one.
#[test]
fn objects() {
    let plain = r#"{"@cls":["a","B"],"@s":{"x":1}}"#;
    let state = b"}X\x01\0\0\0xK\x01sb";
    let with_state = |object: &[u8]| [object, state].concat();
    check(&with_state(b"(ia\nB\n"), plain);
    check(&with_state(b"(ca\nB\no"), plain);
    check(&with_state(b"ca\nB\n)R"), plain);
    check(&with_state(b"ca\nB\n)\x81"), plain);
    check(&with_state(b"\x8c\x01a\x8c\x01B\x93)\x81"), plain);
    check(&with_state(b"ccopy_reg\n_reconstructor\n(ca\nB\nc__builtin__\nobject\nNtR"), plain);
    check(b"ca\nB\n)\x81", r#"{"@cls":["a","B"],"@s":null}"#);
    check(
        b"ca\nB\nK\x05\x85\x81",
        r#"{"@reduce":{"callable":{"@cls":["a","B"]},"args":{"@t":[5]}}}"#,
    );
    check(
        b"ca\nB\n)}X\x01\0\0\0kK\x01s\x92",
        r#"{"@reduce":{"callable":{"@cls":["a","B"]},"args":{"@t":[]},"kwargs":{"k":1}}}"#,
    );
    check(b"(K\x05ia\nB\n", r#"{"@reduce":{"callable":{"@cls":["a","B"]},"args":{"@t":[5]}}}"#);
}

/// Persistent ids in each form of ZODB. Weak and foreign references are not among the references.
#[test]
fn persistent_ids() {
    let oid = b"C\x08\0\0\0\0\0\0\0\x05";
    let class = b"h\x00";
    let check = |state: &[&[u8]], references: &[u64], json: &str| {
        let record = record(&state.concat());
        let (_, found) = head(&record).expect("the record is well-formed");
        assert_eq!(found, references, "{json}");
        assert_eq!(super::json(&record), json);
    };
    check(&[oid, b"Q"], &[5], r#"{"@ref":"0000000000000005"}"#);
    check(&[oid, class, b"\x86Q"], &[5], r#"{"@ref":["0000000000000005","m.C"]}"#);
    check(&[b"(", oid, class, b"tQ"], &[5], r#"{"@ref":["0000000000000005","m.C"]}"#);
    check(&[oid, b"(U\x01mU\x01Ct\x86Q"], &[5], r#"{"@ref":["0000000000000005","m.C"]}"#);
    check(&[b"](X\x01\0\0\0w", oid, b"\x85eQ"], &[], r#"{"@wref":"0000000000000005"}"#);
    check(
        &[b"](X\x01\0\0\0w", oid, b"X\x01\0\0\0d\x86eQ"],
        &[],
        r#"{"@wref":["0000000000000005","d"]}"#,
    );
    check(&[b"]", oid, b"aQ"], &[], r#"{"@wref":"0000000000000005"}"#);
    check(
        &[b"](X\x01\0\0\0nX\x01\0\0\0d", oid, b"\x86eQ"],
        &[],
        r#"{"@xref":["d","0000000000000005"]}"#,
    );
    check(
        &[b"](X\x01\0\0\0mX\x01\0\0\0d", oid, class, b"\x87eQ"],
        &[],
        r#"{"@xref":["d","0000000000000005","m.C"]}"#,
    );
    check(&[b"Pabcdefgh\n"], &[0x6162636465666768], r#"{"@ref":"6162636465666768"}"#);
}

/// An oid of Python 2 is a string: text if each byte is below 0x80, and bytes if not. An oid may
/// also be the result of a call, which the tags of the fast reader do not follow.
#[test]
fn oids_of_python_2_and_of_calls() {
    let references = |state: &[u8]| head(&record(state)).expect("the record is well-formed").1;
    assert_eq!(references(b"U\x08\0\0\0\0\0\0\0\x05h\x00\x86Q"), [5]);
    assert_eq!(references(b"U\x08\0\0\0\0\0\0\0\xf5h\x00\x86Q"), [0xf5]);
    assert_eq!(references(b"X\x08\0\0\0\0\0\0\0\0\0\0\x05Q"), [5]);
    assert_eq!(
        references(
            br"S'\x00\x00\x00\x00\x00\x00\x01\xff'
Q"
        ),
        [0x1ff]
    );
    assert_eq!(
        references(b"c_codecs\nencode\n(V\0\0\0\0\0\0\0\xf5\nVlatin1\ntRh\x00\x86Q"),
        [0xf5]
    );
}

/// Each reference is found once, at the place of the first, whatever their number.
#[test]
fn references_are_found_once() {
    let mut state = b"](".to_vec();
    for oid in (0..100u64).chain(0..100).rev() {
        state.push(b'C');
        state.push(8);
        state.extend(oid.to_be_bytes());
        state.push(b'Q');
    }
    state.push(b'e');
    let expected: Vec<u64> = (0..100).rev().collect();
    assert_eq!(head(&record(&state)).expect("the record is well-formed").1, expected);
}

/// Class pickles in each form, written by each generation of ZODB.
#[test]
fn class_pickles() {
    let state = b"N.";
    let class = |pickle: &[u8]| {
        let record = [pickle, state].concat();
        let named = head(&record).map(|(class, _)| format!("{} {}", class.module, class.name));
        named.unwrap_or_else(|error| error.to_string())
    };
    assert_eq!(class(b"\x80\x03cm\nC\nq\x00."), "m C");
    assert_eq!(class(b"cm\nC\n."), "m C");
    assert_eq!(class(b"cm\nC\np1\n."), "m C");
    assert_eq!(class(b"\x80\x04\x95\x09\0\0\0\0\0\0\0\x8c\x01m\x8c\x01C\x93."), "m C");
    assert_eq!(class(b"(cm\nC\n)t."), "m C");
    assert_eq!(class(b"(cm\nC\nNt."), "m C");
    assert_eq!(class(b"((U\x01mU\x01CtNt."), "m C");
    assert_eq!(class(b"((X\x01\0\0\0mX\x01\0\0\0CtK\x05\x85t."), "m C");
    assert_eq!(class(b"(U\x01mU\x01Ct."), "m C");
    // A class that is itself an object of the database has no name here, and a value is no class.
    assert_eq!(class(b"C\x08\0\0\0\0\0\0\0\x05Q."), " ");
    for other in [b"K\x05.".as_slice(), b"N.", b").", b"K\x05K\x06\x86.", b"}."] {
        assert_eq!(class(other), " ");
    }
}

/// A record that ends too early is an error that says where.
#[test]
fn records_that_end_too_early() {
    let error = |record: &[u8]| head(record).expect_err("the record is cut").to_string();
    assert_eq!(head(b"").expect_err("the record is empty"), Error::Empty);
    assert_eq!(error(CLASS), "byte 10: the record ends before the STOP opcode of its state pickle");
    assert_eq!(
        error(b"cm\nC\n"),
        "byte 5: the record ends before the STOP opcode of its class pickle"
    );
    assert_eq!(error(b"cm\nC"), "byte 0: GLOBAL needs 2 bytes, the record has 1 more");
    for state in [
        b"X\xff\xff\xff\xffab".as_slice(),
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffab",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7fab",
        b"\x96\0\0\0\0\x01\0\0\0ab",
        b"B\xff\xff\xff\xffab",
        b"\x8b\xff\xff\xff\xffab",
        b"\x8a\x09ab",
        b"C\x08ab",
        b"T\xff\xff\xff\xffab",
        b"\x95\xff\0\0\0\0\0\0\0ab",
        b"J\x01",
        b"G\x01",
        b"Vno line feed",
    ] {
        let record = record(state);
        let error = head(&record).expect_err("a length is too large");
        assert!(
            matches!(error, Error::Truncated { at: 10, .. }),
            "{}: {error}",
            state.escape_ascii()
        );
        assert_eq!(format!("error: {error}"), json(&record));
    }
}

/// A pickle that breaks the rules of an opcode is an error at its byte.
#[test]
fn broken_rules() {
    for (state, at) in [
        (b"a".as_slice(), 10),
        (b"Na", 11),
        (b"NNa", 12),
        (b"(e", 11),
        (b"e", 10),
        (b"N(NNu", 14),
        (b"}(Nu", 13),
        (b"}(]Nu", 14),
        (b"\x8f(]\x90", 13),
        (b"(}\x91", 12),
        (b"N(", 12),
        (b"h\x05", 10),
        (b"g99\n", 10),
        (b"gx\n", 10),
        (b"Nr\xff\xff\xff\x7f", 11),
        (b"\x80\x06", 10),
        (b"\x81", 10),
        (b"N)R", 12),
        (b"h\x00NNR", 14),
        (b"h\x00KK\x81", 14),
        (b"Nh\x00b", 13),
        (b"h\x00)RNbNb", 17),
        (b"o", 10),
        (b"(o", 11),
        (b"NQ", 11),
        (b"C\x07abcdefgQ", 19),
        (b"]Q", 11),
        (b"](X\x01\0\0\0zNeQ", 20),
        (b"X\x01\0\0\0\xff", 10),
        (b"Sno quotes\n", 10),
        (b"V\\uzzzz\n", 10),
        (b"V\\U00110000\n", 10),
        (b"I1x\n", 10),
        (b"F1x\n", 10),
        (b"ca\0\nB\n", 10),
        (b"NN\x93", 12),
        (b"\x82\x01", 10),
        (b"\x83\x01\x00", 10),
        (b"\x84\x01\x00\x00\x00", 10),
        (b"\x97", 10),
        (b"\x98", 10),
        (b"\xff", 10),
        (b"z", 10),
    ] {
        let shown = json(&record(state));
        assert!(
            shown.starts_with(&format!("error: byte {at}: ")),
            "state {}: {shown}",
            state.escape_ascii()
        );
    }
}

/// The errors of what is not supported say why.
#[test]
fn unsupported_opcodes_say_why() {
    assert_eq!(
        json(&record(b"\x82\x01")),
        "error: byte 10: extension codes (EXT1, EXT2, EXT4) are not supported: \
         their classes are known to the process that wrote them only"
    );
    assert_eq!(
        json(&record(b"\xff")),
        "error: byte 10: 0xff is not an opcode of the pickle protocols 0 to 5"
    );
}

/// ZODB ignores bytes after the second pickle, and this crate does too.
#[test]
fn bytes_after_the_state_are_ignored() {
    assert_eq!(json(&[CLASS, b"K\x05.rest"].concat()), "5");
}
