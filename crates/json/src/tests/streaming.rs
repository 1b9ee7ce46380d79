//! A stream means what the whole text means, however it is cut: the same tape or the same error.

use std::io::{self, Read};

use super::{Dice, seed};
use crate::{JsonError, Kind, Limits, Parser, Sink, Stopped, Tape, TapeBuilder};

const SAMPLE: &str = concat!(
    " {\"id\" : -12.50e+3, \"name\":\"caf\\u00e9 \\\"é\\\" \\ud83d\\ude00 and on to a longer string\",\n",
    "\"flags\":[true,false , null,[],{}],\"deep\":{\"a\":{\"b\":[1,{\"c\":\"\"}]}},\r\n\t\"id\":0} \n"
);

/// Gives at most `piece` bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.1.min(buf.len()).min(self.0.len());
        buf[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

fn streamed(text: &[u8], window: usize, piece: usize) -> Result<Tape, JsonError> {
    let mut builder = TapeBuilder::new();
    Parser::new(Pieces(text, piece)).window(window).parse_into(&mut builder)?;
    Ok(builder.finish())
}

fn assert_same(text: &[u8], window: usize, piece: usize) {
    let told = |result: Result<Tape, JsonError>| result.map_err(|error| error.to_string());
    let (whole, stream) = (told(Tape::parse(text)), told(streamed(text, window, piece)));
    assert_eq!(
        stream,
        whole,
        "{:?} in windows of {window}, pieces of {piece}",
        String::from_utf8_lossy(text)
    );
}

/// The sample, in windows and pieces of every size.
#[test]
fn streaming_equals_whole_at_every_window() {
    for window in 1..=SAMPLE.len() + 2 {
        for piece in [1, 2, 7, window, usize::MAX] {
            assert_same(SAMPLE.as_bytes(), window, piece);
        }
    }
}

/// The sample cut at every byte is an error, the same one in a stream.
#[test]
fn truncation_is_found_at_every_byte() {
    for end in 0..SAMPLE.trim_end().len() {
        assert!(Tape::parse(&SAMPLE[..].as_bytes()[..end]).is_err(), "cut at {end}");
        for window in [1, 3, 16, 1000] {
            assert_same(&SAMPLE.as_bytes()[..end], window, usize::MAX);
        }
    }
}

/// The sample with one byte changed, everywhere and many ways, means the same in a stream.
#[test]
fn damage_is_told_alike() {
    let mut dice = Dice(seed());
    for at in 0..SAMPLE.len() {
        for byte in [b'"', b'\\', b',', b'}', b'0', b'u', 0, 0x80, 0xff, dice.next() as u8] {
            let mut text = SAMPLE.as_bytes().to_vec();
            text[at] = byte;
            assert_same(&text, 1 + dice.below(40), 1 + dice.below(10));
        }
    }
}

/// A long string that trickles in byte by byte costs linear time: few windows, not one per byte.
#[test]
fn long_strings_do_not_cost_quadratic_time() {
    let text = format!("\"{}\"", "x".repeat(3_000_000));
    assert_eq!(streamed(text.as_bytes(), 16, 1).unwrap().to_json(), text);
}

/// The limit on bytes holds for endless streams.
#[test]
fn endless_streams_end() {
    let limits = Limits { bytes: 100_000, ..Limits::default() };
    let mut builder = TapeBuilder::new();
    let error = Parser::new(io::repeat(b' ')).limits(limits).parse_into(&mut builder).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 100001 (byte 100000): more than 100000 bytes of text"
    );
}

/// The error of a failing reader has the place at which it failed.
#[test]
fn read_errors_are_kept() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable"))
        }
    }
    let error = Parser::new(b"[1,".as_slice().chain(Failing))
        .parse_into(&mut TapeBuilder::new())
        .unwrap_err();
    assert_eq!(error.to_string(), "reading JSON failed after byte 3");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the cable");
}

/// Tokens arrive in order, names before their values, and a sink may stop at any of them.
#[test]
fn sinks_see_tokens_in_order_and_may_stop() {
    struct Log(Vec<String>, usize);
    impl Log {
        fn add(&mut self, token: String) -> Result<(), Stopped> {
            self.0.push(token);
            if self.0.len() == self.1 { Err(Stopped) } else { Ok(()) }
        }
    }
    impl Sink for Log {
        fn name(&mut self, text: &[u8]) -> Result<(), Stopped> {
            self.add(format!("{}:", String::from_utf8_lossy(text)))
        }
        fn scalar(&mut self, kind: Kind, text: &[u8]) -> Result<(), Stopped> {
            self.add(format!("{kind:?} {}", String::from_utf8_lossy(text)))
        }
        fn open(&mut self, kind: Kind) -> Result<(), Stopped> {
            self.add(format!("open {kind:?}"))
        }
        fn close(&mut self) -> Result<(), Stopped> {
            self.add("close".into())
        }
    }
    let text = br#"{"a":[1,"x\u0041"],"b":null}"#;
    let mut all = Log(Vec::new(), usize::MAX);
    crate::parse_slice(text, &Limits::default(), &mut all).unwrap();
    assert_eq!(
        all.0.join("|"),
        "open Object|a:|open Array|Number 1|String xA|close|b:|Null |close"
    );
    for stop in 1..=all.0.len() {
        let mut log = Log(Vec::new(), stop);
        let error = Parser::new(text.as_slice()).window(4).parse_into(&mut log).unwrap_err();
        assert!(matches!(error, JsonError::Stopped { .. }));
        assert_eq!(log.0, all.0[..stop]);
    }
}
