//! Documents beyond a limit are refused, at the limit they are not; large objects stay cheap.

use crate::{JsonError, Limits, Tape, TapeBuilder};

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

fn limited(text: &str, limits: Limits) -> Option<&'static str> {
    match Tape::parse_with(text, &limits) {
        Ok(tape) => {
            assert_eq!(tape.check(), Ok(()));
            None
        }
        Err(JsonError::Limit { what, .. }) => Some(what),
        Err(error) => panic!("{error}"),
    }
}

/// A thousand containers may lie in each other, not one more; with a larger limit a million may.
#[test]
fn depth_is_limited() {
    assert_eq!(limited(&nested(1000), Limits::default()), None);
    assert_eq!(limited(&nested(1001), Limits::default()), Some("containers inside each other"));
    let deep = nested(1_000_000);
    assert_eq!(limited(&deep, Limits { depth: 1_000_000, ..Limits::default() }), None);
    let tape = Tape::parse_with(&deep, &Limits { depth: usize::MAX, ..Limits::default() }).unwrap();
    assert_eq!(tape.to_json(), deep);
    let deep = "{\"a\":".repeat(5000) + "1" + &"}".repeat(5000);
    let tape = Tape::parse_with(&deep, &Limits { depth: 5000, ..Limits::default() }).unwrap();
    assert_eq!(tape.to_json(), deep);
    assert!(tape.pretty().ends_with('}'));
}

/// Bytes, nodes and names are limited, each exactly.
#[test]
fn sizes_are_limited() {
    let text = r#"{"name":[1,2]}"#;
    let with = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limited(text, limits)
    };
    assert_eq!(with(|l| l.bytes = 14), None);
    assert_eq!(with(|l| l.bytes = 13), Some("bytes of text"));
    assert_eq!(with(|l| l.nodes = 4), None);
    assert_eq!(with(|l| l.nodes = 3), Some("nodes"));
    assert_eq!(with(|l| l.name_bytes = 4), None);
    assert_eq!(with(|l| l.name_bytes = 3), Some("bytes in a field name"));
    let long = format!("{{\"{}\":1}}", "n".repeat(65_001));
    assert_eq!(limited(&long, Limits::default()), Some("bytes in a field name"));
}

/// A number of a million digits is a number, and comes back digit for digit.
#[test]
fn huge_numbers_are_kept() {
    for text in
        ["9".repeat(1_000_000), format!("0.{}1e-{}", "0".repeat(500_000), "9".repeat(100_000))]
    {
        assert_eq!(Tape::parse(&text).unwrap().to_json(), text);
    }
}

/// Objects of many fields, with and without duplicates, at every size around the change of method.
#[test]
fn duplicates_are_found_at_every_size() {
    for fields in (1..40).chain([100, 1000, 50_000]) {
        let name = |i: usize| format!("\"a-common-beginning-{i}-and-a-common-end\"");
        let object = |names: &mut dyn Iterator<Item = (usize, usize)>| {
            let fields: Vec<_> = names.map(|(i, value)| format!("{}:{value}", name(i))).collect();
            format!("{{{}}}", fields.join(","))
        };
        let distinct = object(&mut (0..fields).map(|i| (i, i)));
        assert_eq!(super::compact(&distinct).unwrap(), distinct);
        let twice =
            object(&mut (0..fields).map(|i| (i, 0)).chain((0..fields).rev().map(|i| (i, i))));
        assert_eq!(super::compact(&twice).unwrap(), distinct);
        let same = object(&mut (0..fields).map(|i| (0, i)));
        assert_eq!(super::compact(&same).unwrap(), object(&mut std::iter::once((0, fields - 1))));
    }
}

/// Duplicates inside duplicates are settled in one pass, not once for each level.
#[test]
fn nested_duplicates_are_linear() {
    let mut text = format!("[{}0]", "1,".repeat(100_000));
    for _ in 0..900 {
        text = format!("{{\"a\":1,\"b\":2,\"a\":{text}}}");
    }
    let tape = Tape::parse(&text).unwrap();
    assert_eq!(tape.check(), Ok(()));
    assert_eq!(tape.len(), 900 * 2 + 1 + 100_001);
}

/// Programs build the same tapes that the parser makes, and copies of parts are whole documents.
#[test]
fn builder_and_parser_agree() {
    let mut builder = TapeBuilder::new();
    builder.object(|o| {
        o.field("n").null().field("t").bool(true).field("f").bool(false);
        o.field("i")
            .int(i64::MIN)
            .field("x")
            .float(1.5e300)
            .field("one")
            .float(1.0)
            .field("nan")
            .float(f64::NAN);
        o.field("odd \"name\"").string("line\nbreak \u{1} 😀");
        o.field("list").array(|a| {
            a.string("").array(|_| {}).object(|_| {});
        });
        o.field("i").int(2);
    });
    let tape = builder.finish();
    assert_eq!(tape.check(), Ok(()));
    let text = r#"{"n":null,"t":true,"f":false,"i":2,"x":1.5e300,"one":1,"nan":null,"odd \"name\"":"line\nbreak \u0001 😀","list":["",[],{}]}"#;
    assert_eq!(tape.to_json(), text);
    assert_eq!(Tape::parse(text).unwrap(), tape);
    let mut copy = TapeBuilder::new();
    copy.array(|a| {
        for child in tape.root().children() {
            a.copy(child);
            assert_eq!(child.to_tape(), Tape::parse(child.to_json()).unwrap());
        }
        a.copy(tape.root());
    });
    let copy = copy.finish();
    assert_eq!(copy.check(), Ok(()));
    assert_eq!(Tape::parse(copy.to_json()).unwrap(), copy);
}
