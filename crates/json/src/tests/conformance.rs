//! Which texts are JSON and which are not, case by case, and what the accepted ones become.

use expect_test::expect;

use super::compact;
use crate::Tape;

/// Text, and what it is written back as (`=`: the same).
const ACCEPTED: &[(&str, &str)] = &[
    // Literals and white space
    ("null", "="),
    ("true", "="),
    ("false", "="),
    (" null ", "null"),
    ("\t\r\n null\n", "null"),
    ("[ ]", "[]"),
    ("{ }", "{}"),
    ("[\n]", "[]"),
    ("[ null , true ]", "[null,true]"),
    ("{ \"a\" : 1 }", "{\"a\":1}"),
    // Numbers, kept as written
    ("0", "="),
    ("-0", "="),
    ("-0.0", "="),
    ("1", "="),
    ("-1", "="),
    ("10", "="),
    ("1234567890123456789012345678901234567890", "="),
    ("0.5", "="),
    ("0.000000000000000000000000000000000000001", "="),
    ("1.0", "="),
    ("1.50", "="),
    ("1e5", "="),
    ("1E5", "="),
    ("1e+5", "="),
    ("1e-5", "="),
    ("1.5E+05", "="),
    ("0e0", "="),
    ("0e+0", "="),
    ("-0e-0", "="),
    ("1e999999999999", "="),
    ("-1.7976931348623157e309", "="),
    ("[0,1,-2.5e3]", "="),
    // Strings
    ("\"\"", "="),
    ("\"a\"", "="),
    ("\" \"", "="),
    ("\"\u{7f}\"", "="),
    ("\"\u{80}\"", "="),
    ("\"é\"", "="),
    ("\"€\"", "="),
    ("\"😀\"", "="),
    ("\"\u{feff}\"", "="),
    ("\"\u{fffe}\u{ffff}\u{10ffff}\"", "="),
    ("\"\u{2028}\u{2029}\"", "="),
    (r#""\"""#, "="),
    (r#""\\""#, "="),
    (r#""\/""#, r#""/""#),
    (r#""\b\f\n\r\t""#, "="),
    (r#""\u0000""#, "="),
    (r#""\u0001\u001f""#, "="),
    (r#""\u001F""#, r#""\u001f""#),
    (r#""\u0008\u000c\u000a\u000d\u0009""#, r#""\b\f\n\r\t""#),
    (r#""\u0022\u005c\u002f""#, r#""\"\\/""#),
    (r#""\u0041""#, "\"A\""),
    (r#""\u007f""#, "\"\u{7f}\""),
    (r#""\u00e9\u00E9""#, "\"éé\""),
    (r#""\u20ac""#, "\"€\""),
    (r#""\uD83D\uDE00""#, "\"😀\""),
    (r#""\ud800\udc00""#, "\"\u{10000}\""),
    (r#""\udbff\udfff""#, "\"\u{10ffff}\""),
    (r#""\uFFFF""#, "\"\u{ffff}\""),
    (r#""\ufeff""#, "\"\u{feff}\""),
    (r#""a\\u0041""#, "="),
    (r#""12345678\n12345678\"12345678""#, "="),
    ("\"a string that is longer than one block of thirty-two bytes\"", "="),
    ("\"// no comment\"", "="),
    ("\"[{]}\"", "="),
    // Arrays
    ("[]", "="),
    ("[1]", "="),
    ("[[]]", "="),
    ("[[],[]]", "="),
    ("[[[1],2],3]", "="),
    ("[null,1,\"1\",{}]", "="),
    ("[{},{},[]]", "="),
    ("[\"\"]", "="),
    ("[[1,[2,[3,[4]]]],5]", "="),
    // Objects
    ("{}", "="),
    ("{\"\":0}", "="),
    ("{\"a\":null}", "="),
    ("{\"a\":{\"b\":{}},\"c\":[]}", "="),
    ("{\"b\":1,\"a\":2}", "="),
    ("{\"a\\u0000b\":1}", "="),
    ("{\"\\u0061\":1}", "{\"a\":1}"),
    ("{\"a\\/b\":1}", "{\"a/b\":1}"),
    ("{\"odd \\\"name\\\"\":[{}]}", "="),
    ("{\"😀\":\"é\"}", "="),
    ("{\"a\":{},\"b\":{\"c\":[]}}", "="),
    // A field named twice: the last value, at the place of the first
    ("{\"a\":1,\"a\":2}", "{\"a\":2}"),
    ("{\"a\":1,\"a\":1}", "{\"a\":1}"),
    ("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"),
    ("{\"a\":1,\"b\":2,\"a\":3,\"b\":4,\"a\":5,\"c\":6}", "{\"a\":5,\"b\":4,\"c\":6}"),
    ("{\"a\":1,\"\\u0061\":2}", "{\"a\":2}"),
    ("{\"\":1,\"\":2}", "{\"\":2}"),
    ("{\"a\":{\"x\":1},\"b\":0,\"a\":{\"y\":[1,2]}}", "{\"a\":{\"y\":[1,2]},\"b\":0}"),
    ("{\"a\":[1,2],\"b\":0,\"a\":{}}", "{\"a\":{},\"b\":0}"),
    (
        "{\"a\":{\"x\":1,\"x\":2},\"a\":{\"y\":1,\"z\":0,\"y\":{\"q\":1,\"q\":2}}}",
        "{\"a\":{\"y\":{\"q\":2},\"z\":0}}",
    ),
    ("[{\"a\":1,\"b\":[],\"a\":[{}]},{\"c\":1,\"c\":2},3]", "[{\"a\":[{}],\"b\":[]},{\"c\":2},3]"),
    (
        "{\"p\":{\"a\":1,\"b\":2,\"a\":{\"x\":1}},\"q\":3}",
        "{\"p\":{\"a\":{\"x\":1},\"b\":2},\"q\":3}",
    ),
    ("{\"ab\":1,\"ba\":2,\"a\":3,\"b\":4}", "="),
    ("{\"a-prefix-1\":1,\"a-prefix-2\":2,\"b-prefix-1\":3}", "="),
];

/// Text that is refused, each for one reason.
const REFUSED: &[&str] = &[
    // Nothing, or no value
    "",
    " ",
    "\n\t",
    ",",
    ":",
    "]",
    "}",
    "#",
    "\u{feff}null",
    "\u{a0}1",
    "\u{c}1",
    "\u{b}1",
    "\0",
    // Literals
    "nul",
    "nulll",
    "NULL",
    "True",
    "tru",
    "truE",
    "fals",
    "falsee",
    "n",
    "t",
    "f",
    "undefined",
    "nan",
    "None",
    // Numbers
    "-",
    "+1",
    "01",
    "-01",
    "00",
    "0x1",
    "1.",
    ".5",
    "-.5",
    "1e",
    "1e+",
    "1E-",
    "1.e5",
    "1.5e",
    "1ee5",
    "1e5.5",
    "--1",
    "1-",
    "1+1",
    "1_000",
    "0.1.2",
    "NaN",
    "-NaN",
    "Infinity",
    "-Infinity",
    "inf",
    "1f",
    "0b1",
    "1,0",
    "１",
    "-a",
    "1a",
    "2.a",
    "0e",
    "012",
    "-0123",
    "0..1",
    "1e0x",
    // Strings
    "\"",
    "\"a",
    "\"\\\"",
    "\"\\",
    "\"\\a\"",
    "\"\\x41\"",
    "\"\\'\"",
    "\"\\0\"",
    "\"\\U0041\"",
    "\"\\ \"",
    "\"\\\n\"",
    "\"\\é\"",
    "'a'",
    "a",
    "\"a\nb\"",
    "\"a\tb\"",
    "\"\0\"",
    "\"\u{1}\"",
    "\"\u{1f}\"",
    "\"\\u\"",
    "\"\\u1\"",
    "\"\\u12\"",
    "\"\\u123\"",
    "\"\\u123g\"",
    "\"\\u+123\"",
    "\"\\u 123\"",
    "\"\\u00\"",
    "\"a\"b",
    "\"\"\"",
    "\"1234567\n\"",
    "\"12345678\n\"",
    "\"\\u00é9\"",
    "`a`",
    // Lone surrogates
    "\"\\ud800\"",
    "\"\\udbff\"",
    "\"\\udc00\"",
    "\"\\udfff\"",
    "\"\\ud800\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud800a\"",
    "\"\\ud800\\n\"",
    "\"\\ud800\\u\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud800\\uDBFF\"",
    "\"\\uD83D\\\"",
    "\"\\ud800\\udc0\"",
    "\"\\ud800\\",
    "{\"\\ud800\":1}",
    // Arrays
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[,]",
    "[1 2]",
    "[1;2]",
    "[1}",
    "[[]",
    "[]]",
    "[1],",
    "[\"a\"",
    "[\"a\",\n",
    "[1:2]",
    "[true false]",
    "[...]",
    "(1)",
    "[1 true]",
    "[-]",
    "[\"a\"\"b\"]",
    "[[[",
    "[{]",
    "[]{}",
    "[],[]",
    // Objects
    "{",
    "{\"",
    "{\"a",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,}",
    "{,\"a\":1}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{null:1}",
    "{\"a\" 1}",
    "{\"a\":}",
    "{\"a\",1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1]",
    "{\"a\"::1}",
    "{\"a\":1,,\"b\":2}",
    "{[]:1}",
    "{\"a\":1:2}",
    "{}}",
    "{{}}",
    "{\"a\"}",
    "{\"a\":1;}",
    "{\"a\":\"b}",
    "{\"a\n\":1}",
    "{\"a\":{\"b\":}}",
    "{:1}",
    // Comments and more than one value
    "// c\n1",
    "1 // c",
    "/* c */ 1",
    "1 2",
    "null null",
    "{} {}",
    "1\0",
    "\"a\" \"b\"",
    "[1] x",
    "1]",
    "1}",
];

/// Everything in the grammar is taken, and comes back in canonical form.
#[test]
fn accepted_texts_come_back_in_canonical_form() {
    for &(text, back) in ACCEPTED {
        let back = if back == "=" { text } else { back };
        let got = compact(text).unwrap_or_else(|error| panic!("{text:?} was refused: {error}"));
        assert_eq!(got, back, "of {text:?}");
        assert_eq!(compact(&got).unwrap(), got, "canonical text is a fixed point");
    }
}

/// Everything outside the grammar is refused, at a place within the text.
#[test]
fn refused_texts_are_refused() {
    for &text in REFUSED {
        match compact(text) {
            Ok(got) => panic!("{text:?} was taken as {got}"),
            Err(error) => assert!(
                error.place().is_some_and(|at| at.offset <= text.len() as u64),
                "{text:?}: {error}"
            ),
        }
    }
}

/// The lists above have the size that is promised.
#[test]
fn the_lists_are_long_enough() {
    assert!(ACCEPTED.len() + REFUSED.len() >= 250, "{} + {}", ACCEPTED.len(), REFUSED.len());
}

/// Errors name the line, the column in characters, what was expected and what was found.
#[test]
fn errors_say_where_and_what() {
    let told = |text: &[u8]| Tape::parse(text).unwrap_err().to_string();
    let lines = [
        told(b""),
        told(b"{\n  \"a\": 1,\n  \"b\" 2\n}"),
        told("[\"éé\", x]".as_bytes()),
        told(b"[1, 2"),
        told(b"\"\xff\""),
        told(b"[1]\n\n]"),
        told(b"{\"a\": tru}"),
        told(b"\"\\ud800\""),
        told(b"\"a\tb\""),
        told(b"01"),
        told(b"\xef\xbb\xbf1"),
        told(b"\x80"),
    ];
    expect![[r#"
        line 1, column 1 (byte 0): expected a value, found the end of the input
        line 3, column 7 (byte 18): expected `:` after a field name, found `2`
        line 1, column 8 (byte 9): expected a value, found `x`
        line 1, column 6 (byte 5): expected `,` or `]`, found the end of the input
        line 1, column 2 (byte 1): expected valid UTF-8, found the byte 0xff
        line 3, column 1 (byte 5): expected nothing after the value, found `]`
        line 1, column 10 (byte 9): expected `true` or a string in double quotes, found `}`
        line 1, column 4 (byte 3): expected a pair of surrogates, high and then low, found `d`
        line 1, column 3 (byte 2): expected control characters to be escaped in a string, found the character U+0009
        line 1, column 2 (byte 1): expected no digit after a leading zero, found `1`
        line 1, column 1 (byte 0): expected a value, found the character U+FEFF
        line 1, column 1 (byte 0): expected a value, found the byte 0x80"#]]
    .assert_eq(&lines.join("\n"));
}

/// The columns of a small document, as the crate's first page draws them.
#[test]
fn columns_are_as_drawn() {
    let tape = Tape::parse(r#"{"id":7,"tags":["a","b\n"]}"#).unwrap();
    expect![[r#"
        Tape {
            kinds: [
                Object,
                Number,
                Array,
                String,
                String,
            ],
            ups: [
                0,
                1,
                2,
                1,
                2,
            ],
            extents: [
                5,
                1,
                3,
                1,
                1,
            ],
            counts: [
                2,
                0,
                2,
                0,
                0,
            ],
            name_lens: [
                4294967295,
                2,
                4,
                4294967295,
                4294967295,
            ],
            text_lens: [
                0,
                3,
                4,
                1,
                3,
            ],
            heap: [
                105,
                100,
                55,
                116,
                97,
                103,
                115,
                97,
                98,
                92,
                110,
            ],
        }"#]]
    .assert_eq(&format!("{tape:#?}"));
}

/// Pretty text is indented by two spaces, keeps empty containers on one line, and parses back.
#[test]
fn pretty_text_is_for_people() {
    let tape = Tape::parse(r#"{"a":[1,{"b":[]},"x\n"],"c":{},"d":{"e":null}}"#).unwrap();
    expect![[r#"
        {
          "a": [
            1,
            {
              "b": []
            },
            "x\n"
          ],
          "c": {},
          "d": {
            "e": null
          }
        }"#]]
    .assert_eq(&tape.pretty());
    assert_eq!(Tape::parse(tape.pretty()).unwrap(), tape);
    let inner = tape.root().get("a").unwrap();
    assert_eq!(Tape::parse(inner.pretty()).unwrap(), inner.to_tape());
}
