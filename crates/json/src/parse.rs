//! The strict parser: one pass over the input, tokens handed to a [`Sink`] as they are found.
//!
//! ```text
//!   &[u8] ──────────────────────────┐
//!                                   v
//!   io::Read ──> window ──> Machine::run ──> Sink: name, scalar, open, close
//!                  ^            |
//!                  └── the unfinished token moves to the front, more is read behind it
//! ```
//!
//! The machine keeps its state *between* tokens only (what may come next, and the open
//! containers), so one loop serves whole texts and streams. A stream needs memory for its window,
//! or for twice its longest string, whichever is more.
//!
//! # Invariants
//! * Nothing is delivered of a token that is not complete and correct.
//! * `name` comes directly before the `scalar` or `open` of each field, and nowhere else.
//! * Every `open` of a document that parses has its `close`.
//! * Texts are canonical: [`crate::text`] says what that is.

use std::io;

use crate::error::{Fault, FaultKind, JsonError, Passed};
use crate::scan::{self, Scan};
use crate::tape::Kind;

/// The limits of a document; a text beyond them is refused, never cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Containers open at once.
    pub depth: usize,
    /// Bytes of the text.
    pub bytes: u64,
    /// Bytes of the name of a field, escaped.
    pub name_bytes: usize,
    /// Values, containers included.
    pub nodes: u64,
}

impl Default for Limits {
    /// 1,000 deep, 1 GiB of text, names of 65,000 bytes, and as many nodes as a tape can number.
    fn default() -> Limits {
        Limits { depth: 1000, bytes: 1 << 30, name_bytes: 65_000, nodes: (u32::MAX / 2) as u64 }
    }
}

/// A sink's wish to end the parse; the parser answers with [`JsonError::Stopped`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Receives the tokens of a document in order.
///
/// Texts are canonical JSON without quotes, valid UTF-8, and borrowed for the call only.
pub trait Sink {
    /// The name of the field whose value comes next.
    fn name(&mut self, text: &[u8]) -> Result<(), Stopped>;
    /// A value that is not a container; `text` is empty for null, true and false.
    fn scalar(&mut self, kind: Kind, text: &[u8]) -> Result<(), Stopped>;
    /// An array or an object begins.
    fn open(&mut self, kind: Kind) -> Result<(), Stopped>;
    /// The innermost open container ends.
    fn close(&mut self) -> Result<(), Stopped>;
}

/// Parses a whole text into `sink`.
pub fn parse_slice<S: Sink>(text: &[u8], limits: &Limits, sink: &mut S) -> Result<(), JsonError> {
    let passed = Passed::default();
    if text.len() as u64 > limits.bytes {
        let at = limits.bytes as usize;
        return Err(Fault::limit(at, "bytes of text", limits.bytes).locate(text, &passed));
    }
    match Machine::new(limits).run(text, true, sink) {
        Ok(_) => Ok(()),
        Err(fault) => Err(fault.locate(text, &passed)),
    }
}

/// Parses a stream in windows, so that a document never has to be in memory as text.
pub struct Parser<R> {
    reader: R,
    limits: Limits,
    window_bytes: usize,
}

impl<R: io::Read> Parser<R> {
    /// A parser of what `reader` gives, with the default limits and a window of 64 KiB.
    pub fn new(reader: R) -> Parser<R> {
        Parser { reader, limits: Limits::default(), window_bytes: 64 << 10 }
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the size of the window in bytes (at least 1); it grows only for a longer token.
    pub fn window(mut self, bytes: usize) -> Self {
        self.window_bytes = bytes.max(1);
        self
    }

    /// Reads to the end of the stream and delivers the one document in it.
    pub fn parse_into<S: Sink>(mut self, sink: &mut S) -> Result<(), JsonError> {
        let limits = self.limits;
        let mut machine = Machine::new(&limits);
        let mut passed = Passed::default();
        let mut window: Vec<u8> = Vec::with_capacity(self.window_bytes);
        loop {
            // An unfinished token is looked at again only once the window has doubled, so that
            // a long string costs linear time however small the pieces are that it comes in.
            let want = self.window_bytes.max(window.len().saturating_mul(2));
            let last = self.fill(&mut window, want, passed.bytes)?;
            let limit = limits.bytes;
            if passed.bytes + window.len() as u64 > limit {
                let at = (limit - passed.bytes) as usize;
                return Err(Fault::limit(at, "bytes of text", limit).locate(&window, &passed));
            }
            let used = match machine.run(&window, last, sink) {
                Ok(used) => used,
                Err(fault) => return Err(fault.locate(&window, &passed)),
            };
            if last {
                debug_assert_eq!(used, window.len());
                return Ok(());
            }
            passed.advance(&window[..used]);
            window.drain(..used);
        }
    }

    /// Reads until the window holds `want` bytes; true at the end of the stream.
    fn fill(&mut self, window: &mut Vec<u8>, want: usize, before: u64) -> Result<bool, JsonError> {
        let mut filled = window.len();
        window.resize(want, 0);
        let mut last = false;
        while filled < want {
            match self.reader.read(&mut window[filled..]) {
                Ok(0) => {
                    last = true;
                    break;
                }
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(JsonError::Read { offset: before + filled as u64, source });
                }
            }
        }
        window.truncate(filled);
        Ok(last)
    }
}

/// The tokens that may come next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Value,
    FirstElement,
    FirstName,
    Name,
    Colon,
    AfterElement,
    AfterField,
    Done,
}

impl State {
    fn expected(self) -> &'static str {
        match self {
            State::Value => "a value",
            State::FirstElement => "a value or `]`",
            State::FirstName => "a field name in double quotes or `}`",
            State::Name => "a field name in double quotes",
            State::Colon => "`:` after a field name",
            State::AfterElement => "`,` or `]`",
            State::AfterField => "`,` or `}`",
            State::Done => "nothing after the value",
        }
    }
}

struct Machine<'a> {
    limits: &'a Limits,
    state: State,
    /// Open containers, outermost first.
    open: Vec<Kind>,
    nodes: u64,
    /// Strings that had to be rewritten.
    scratch: Vec<u8>,
}

impl<'a> Machine<'a> {
    fn new(limits: &'a Limits) -> Self {
        Machine { limits, state: State::Value, open: Vec::new(), nodes: 0, scratch: Vec::new() }
    }

    /// Delivers every complete token of the window; returns how many bytes they took. With `last`
    /// that is all of them, and the document is complete.
    fn run<S: Sink>(&mut self, window: &[u8], last: bool, sink: &mut S) -> Result<usize, Fault> {
        let mut at = 0;
        let short = |at: usize, what| {
            if last { Err(Fault::expected(window.len(), what)) } else { Ok(at) }
        };
        loop {
            let byte = match window.get(at) {
                Some(&byte) => byte,
                None if last && self.state != State::Done => {
                    return Err(Fault::expected(at, self.state.expected()));
                }
                None => return Ok(at),
            };
            if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                at += 1;
                continue;
            }
            match self.state {
                State::Value | State::FirstElement => match byte {
                    b'"' => {
                        let Scan::Whole(token) = scan::string(window, at + 1)? else {
                            return short(at, "the closing quote of a string");
                        };
                        self.count(at)?;
                        let text = self.text(window, at + 1, &token)?;
                        stop(at, sink.scalar(Kind::String, text))?;
                        at = token.end + 1;
                        self.state = self.after();
                    }
                    b'-' | b'0'..=b'9' => {
                        let Scan::Whole(end) = scan::number(window, at, last)? else {
                            return Ok(at);
                        };
                        self.count(at)?;
                        stop(at, sink.scalar(Kind::Number, &window[at..end]))?;
                        at = end;
                        self.state = self.after();
                    }
                    b'{' | b'[' => {
                        self.open(byte, at, sink)?;
                        at += 1;
                    }
                    b']' if self.state == State::FirstElement => {
                        self.close(at, sink)?;
                        at += 1;
                    }
                    b't' | b'f' | b'n' => {
                        let (kind, word): (_, &[u8]) = match byte {
                            b't' => (Kind::True, b"true"),
                            b'f' => (Kind::False, b"false"),
                            _ => (Kind::Null, b"null"),
                        };
                        let Scan::Whole(end) = literal(window, at, word, last)? else {
                            return Ok(at);
                        };
                        self.count(at)?;
                        stop(at, sink.scalar(kind, &[]))?;
                        at = end;
                        self.state = self.after();
                    }
                    _ => return Err(Fault::expected(at, self.state.expected())),
                },
                State::Name | State::FirstName => match byte {
                    b'"' => {
                        let Scan::Whole(token) = scan::string(window, at + 1)? else {
                            return short(at, "the closing quote of a field name");
                        };
                        let limit = self.limits.name_bytes;
                        let text = self.text(window, at + 1, &token)?;
                        if text.len() > limit {
                            return Err(Fault::limit(at, "bytes in a field name", limit as u64));
                        }
                        stop(at, sink.name(text))?;
                        at = token.end + 1;
                        self.state = State::Colon;
                    }
                    b'}' if self.state == State::FirstName => {
                        self.close(at, sink)?;
                        at += 1;
                    }
                    _ => return Err(Fault::expected(at, self.state.expected())),
                },
                State::Colon if byte == b':' => {
                    at += 1;
                    self.state = State::Value;
                }
                State::AfterElement | State::AfterField if byte == b',' => {
                    at += 1;
                    self.state =
                        if self.state == State::AfterField { State::Name } else { State::Value };
                }
                State::AfterElement if byte == b']' => {
                    self.close(at, sink)?;
                    at += 1;
                }
                State::AfterField if byte == b'}' => {
                    self.close(at, sink)?;
                    at += 1;
                }
                state => return Err(Fault::expected(at, state.expected())),
            }
        }
    }

    /// The canonical text of a string: a part of the window where it is that already.
    #[inline]
    fn text<'t>(
        &'t mut self,
        window: &'t [u8],
        from: usize,
        token: &scan::StringToken,
    ) -> Result<&'t [u8], Fault> {
        if !token.escaped {
            return Ok(&window[from..token.end]);
        }
        self.scratch.clear();
        scan::canonical(window, from, token.end, &mut self.scratch)?;
        Ok(&self.scratch)
    }

    /// Counts a node against the limit.
    #[inline]
    fn count(&mut self, at: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(Fault::limit(at, "nodes", self.limits.nodes));
        }
        Ok(())
    }

    #[inline]
    fn open<S: Sink>(&mut self, byte: u8, at: usize, sink: &mut S) -> Result<(), Fault> {
        self.count(at)?;
        if self.open.len() == self.limits.depth {
            return Err(Fault::limit(at, "containers inside each other", self.limits.depth as u64));
        }
        let (kind, state) = if byte == b'{' {
            (Kind::Object, State::FirstName)
        } else {
            (Kind::Array, State::FirstElement)
        };
        self.open.push(kind);
        self.state = state;
        stop(at, sink.open(kind))
    }

    #[inline]
    fn close<S: Sink>(&mut self, at: usize, sink: &mut S) -> Result<(), Fault> {
        self.open.pop();
        self.state = self.after();
        stop(at, sink.close())
    }

    /// The tokens that may follow a complete value here.
    #[inline]
    fn after(&self) -> State {
        match self.open.last() {
            None => State::Done,
            Some(Kind::Object) => State::AfterField,
            Some(_) => State::AfterElement,
        }
    }
}

#[inline]
fn stop(at: usize, answer: Result<(), Stopped>) -> Result<(), Fault> {
    answer.map_err(|Stopped| Fault { at, what: FaultKind::Stopped })
}

/// Matches a literal at `at`.
#[inline]
fn literal(window: &[u8], at: usize, word: &[u8], last: bool) -> Result<Scan<usize>, Fault> {
    let found = &window[at..window.len().min(at + word.len())];
    if found == word {
        return Ok(Scan::Whole(at + word.len()));
    }
    let same = found.iter().zip(word).take_while(|(a, b)| a == b).count();
    if same == found.len() && !last {
        return Ok(Scan::Short);
    }
    // A word without quotes is often meant as a string.
    let expected = match word[0] {
        b't' => "`true` or a string in double quotes",
        b'f' => "`false` or a string in double quotes",
        _ => "`null` or a string in double quotes",
    };
    Err(Fault::expected(at + same, expected))
}
