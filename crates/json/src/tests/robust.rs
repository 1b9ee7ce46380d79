//! Hostile input: no panic, no answer but a correct tape or an error, memory within bounds.

use super::{Dice, seed};
use crate::{Kind, NO_NAME, Tape};

/// Bytes of memory for each byte of input, at most, beyond a fixed kilobyte.
const MEMORY_FACTOR: usize = 16;

fn try_parse(text: &[u8]) {
    if let Ok(tape) = Tape::parse(text) {
        assert_eq!(tape.check(), Ok(()), "{:?}", String::from_utf8_lossy(text));
        assert!(
            tape.memory_bytes() <= MEMORY_FACTOR * text.len() + 1024,
            "{} bytes",
            tape.memory_bytes()
        );
        let back = tape.to_json();
        assert_eq!(Tape::parse(&back).unwrap(), tape, "{back}");
        assert_eq!(Tape::parse(tape.pretty()).unwrap(), tape);
    }
}

/// Every invalid byte at every place of a string is found, at that place.
#[test]
fn invalid_utf8_is_found_at_every_byte() {
    let text = "[\"plain text, é, € and 😀 in one\",{\"näme\":\"\"}]".as_bytes();
    for at in 0..text.len() {
        for bad in [0x80, 0xbf, 0xc0, 0xc1, 0xf5, 0xff, 0xe2, 0xf0, 0xed] {
            if text[at] == bad {
                continue;
            }
            let mut broken = text.to_vec();
            broken[at] = bad;
            let valid = std::str::from_utf8(&broken).is_ok();
            match Tape::parse(&broken) {
                Ok(_) => assert!(valid, "0x{bad:02x} at {at} was taken"),
                Err(error) => assert!(error.place().unwrap().offset <= at as u64 + 3, "{error}"),
            }
        }
    }
    for surrogate in [
        &b"\"\xed\xa0\x80\""[..],
        b"\"\xed\xbf\xbf\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xc0\x80\"",
        b"\"\xe0\x80\x80\"",
    ] {
        assert!(Tape::parse(surrogate).is_err());
    }
}

/// NUL is kept where it is escaped, refused where it is raw, wherever it stands.
#[test]
fn nul_is_kept_only_when_escaped() {
    let tape = Tape::parse(r#"{"a\u0000":"\u0000b"}"#).unwrap();
    let child = tape.root().children().next().unwrap();
    assert_eq!((child.field().unwrap().as_ref(), child.as_str().unwrap().as_ref()), ("a\0", "\0b"));
    let text = br#"{"a":[1,"b"]}"#;
    for at in 0..=text.len() {
        let mut with_nul = text.to_vec();
        with_nul.insert(at, 0);
        assert!(Tape::parse(&with_nul).is_err(), "at {at}");
    }
}

/// Random tokens, which parse far more often than random bytes do.
#[test]
fn random_tokens_do_no_harm() {
    let tokens: [&[u8]; 24] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"a\":",
        b"\"b\":",
        b"\"\":",
        b"\"",
        b"\\",
        b"1",
        b"-0.5e2",
        b"true",
        b"null",
        b"\"x\\n\"",
        b"\"\\u00e9\"",
        b" ",
        b"\xff",
        "é".as_bytes(),
        b"0",
        b"e",
        b"[]",
        b"{}",
    ];
    let mut dice = Dice(seed());
    for _ in 0..30_000 {
        let mut text = Vec::new();
        for _ in 0..dice.below(30) {
            text.extend_from_slice(tokens[dice.below(tokens.len())]);
        }
        try_parse(&text);
    }
}

/// Random bytes, and random damage to good documents.
#[test]
fn random_bytes_do_no_harm() {
    let mut dice = Dice(seed());
    let good = br#"{"a":[1,2.5,"x\u00e9\n",{"b":null,"c":[true,false,{}]}],"long enough a name":"and text"}"#;
    for _ in 0..30_000 {
        let random: Vec<u8> = (0..dice.below(24)).map(|_| dice.next() as u8).collect();
        try_parse(&random);
        let mut text = good.to_vec();
        for _ in 0..=dice.below(3) {
            let at = dice.below(text.len());
            match dice.below(3) {
                0 => text[at] = dice.next() as u8,
                1 => drop(text.remove(at)),
                _ => text.insert(at, good[dice.below(good.len())]),
            }
        }
        try_parse(&text);
    }
}

/// The most nodes for the fewest bytes: the columns stay within 16 times the text.
#[test]
fn memory_is_bounded() {
    for (open, item, close) in
        [("[", "1,", "1]"), ("[", "[],", "1]"), ("{", "\"\":1,", "\"\":1}"), ("[", "{},", "{}]")]
    {
        for items in [10, 1000, 99_999, 1_000_000] {
            try_parse(format!("{open}{}{close}", item.repeat(items)).as_bytes());
        }
    }
    let fields: Vec<_> = (0..200_000).map(|i| format!("\"{i:x}\":{{}}")).collect();
    try_parse(format!("{{{}}}", fields.join(",")).as_bytes());
}

/// The check finds columns of a damaged file before anything walks them.
#[test]
fn damaged_tapes_are_found() {
    let good = Tape::parse(r#"{"a":[1,{"b":"xé"}],"c":[[],null]}"#).unwrap();
    let mut dice = Dice(seed());
    let mut found = 0;
    for _ in 0..20_000 {
        let mut tape = good.clone();
        let node = dice.below(tape.len());
        let value = [0, 1, 2, 3, NO_NAME, NO_NAME - 1, 9][dice.below(7)];
        match dice.below(7) {
            0 => tape.kinds[node] = Kind::from_u8(1 + dice.below(7) as u8).unwrap(),
            1 => tape.ups[node] = value,
            2 => tape.extents[node] = value,
            3 => tape.counts[node] = value,
            4 => tape.name_lens[node] = value,
            5 => tape.text_lens[node] = value,
            _ => drop(tape.heap.pop()),
        }
        match tape.check() {
            Err(_) => found += 1,
            Ok(()) => {
                // A tape that passes can be walked and written without a panic.
                let _ = (tape.to_json(), tape.pretty(), tape.offsets());
                tape.root().children().for_each(|child| drop(child.to_tape()));
            }
        }
    }
    assert!(found > 10_000);
}
