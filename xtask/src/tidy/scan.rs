//! A small reader of Rust text: enough to tell code from comments and strings.
//!
//! ```text
//!   let a = "mod x;"; // mod y;        what is written
//!   let a = "      ";                  what `code` returns: same length, same lines
//! ```
//!
//! A rule that searched the raw text would find names in comments and in
//! strings. Here those are blanked out, and every byte stays at its place, so
//! that an offset still tells its line. A rule about the comments themselves
//! asks for [`line_comments`].

/// A comment, or the contents of a string or character literal, by its bytes.
struct Span {
    from: usize,
    to: usize,
    is_comment: bool,
}

/// The text with the contents of comments and of string and character
/// literals replaced by spaces; line breaks stay.
pub(super) fn code(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    for Span { from, to, .. } in spans(text) {
        for byte in &mut out[from..to] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    // Only whole literals and comments were replaced, byte for byte by spaces.
    String::from_utf8_lossy(&out).into_owned()
}

/// The line comments of the text in order: the offset of each and its text,
/// which begins with `//` and ends with its line.
pub(super) fn line_comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let comments = spans(text).into_iter().filter(|span| span.is_comment);
    comments
        .map(|span| (span.from, &text[span.from..span.to]))
        .filter(|(_, comment)| comment.starts_with("//"))
}

/// The comments and literals of the text, in order.
fn spans(text: &str) -> Vec<Span> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        // The bytes that are no code, and where reading goes on.
        let found = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let end = line_end(bytes, at);
                Some((at, end, end))
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = comment_end(bytes, at);
                Some((at, end, end))
            }
            b'"' => {
                let quote = string_end(bytes, at);
                Some((at + 1, quote, quote + 1))
            }
            b'r' if !follows_word(bytes, at) => {
                raw_string(bytes, at).map(|(from, quote)| (from, quote, quote + 1))
            }
            b'\'' => character(bytes, at).map(|quote| (at + 1, quote, quote + 1)),
            _ => None,
        };
        let Some((from, to, next)) = found else {
            at += 1;
            continue;
        };
        spans.push(Span { from, to: to.min(bytes.len()), is_comment: bytes[at] == b'/' });
        at = next;
    }
    spans
}

/// The line of `offset`, counted from 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

/// The offset just past the brace that closes the one at `open`.
pub(super) fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return offset + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// True if `needle` stands at `offset` as words of its own.
pub(super) fn is_word(code: &str, offset: usize, needle: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = code.as_bytes();
    let before = offset > 0 && word(bytes[offset - 1]);
    let after = bytes.get(offset + needle.len()).is_some_and(|byte| word(*byte));
    !before && !after
}

fn follows_word(bytes: &[u8], at: usize) -> bool {
    // `br"..."` and `cr"..."` are raw strings too.
    match at.checked_sub(1).map(|before| bytes[before]) {
        Some(b'b' | b'c') => at >= 2 && is_word_byte(bytes[at - 2]),
        Some(byte) => is_word_byte(byte),
        None => false,
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn comment_end(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    let mut at = at;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The offset of the quote that closes the string opened at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The contents of the raw string that starts with the `r` at `at`.
fn raw_string(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let open = at + 1 + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let length = bytes[open + 1..].windows(close.len()).position(|window| window == close)?;
    Some((open + 1, open + 1 + length))
}

/// The offset of the quote that closes the character literal opened at `at`;
/// nothing for a lifetime.
fn character(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'\\' => {
            bytes[at + 3..].iter().position(|byte| *byte == b'\'').map(|length| at + 3 + length)
        }
        first => {
            let width = match first {
                0x00..=0x7f => 1,
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            (bytes.get(at + 1 + width) == Some(&b'\'')).then_some(at + 1 + width)
        }
    }
}
