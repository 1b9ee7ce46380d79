//! The tight loops of the parser: the ends of strings and numbers, and the canonical form of
//! strings.
//!
//! A token is always looked at as a whole: where a window ends inside one, the scanner answers
//! [`Scan::Short`] and is asked again with more input. So no state is kept inside tokens, and a
//! token in pieces means exactly what it means in one.
//!
//! ```text
//!   "caf\u00e9 \/ x"   --string()-->  end, escaped   --canonical()-->   café / x
//! ```

use crate::error::Fault;
use crate::text::push_escaped;

/// The answer of a scanner.
pub(crate) enum Scan<T> {
    /// The token is complete.
    Whole(T),
    /// The window ends inside the token.
    Short,
}

/// A complete string, as found between its quotes.
pub(crate) struct StringToken {
    /// Offset of the closing quote.
    pub end: usize,
    /// It has escapes, so it may not be canonical.
    pub escaped: bool,
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Marks (in the high bit of each byte) quotes, backslashes and control characters. Marks above
/// the lowest one may be false; the lowest is always true.
#[inline(always)]
fn specials(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let hits =
        quote.wrapping_sub(ONES) | backslash.wrapping_sub(ONES) | word.wrapping_sub(ONES * 0x20);
    // `!word` keeps bytes of other characters (0x80 and up) from being taken for anything.
    hits & !word & HIGHS
}

/// Where the first quote, backslash or control character of a word is.
#[inline(always)]
fn first_special(word: [u8; 8]) -> Option<usize> {
    let marks = specials(u64::from_le_bytes(word));
    if marks == 0 { None } else { Some((marks.trailing_zeros() / 8) as usize) }
}

/// Bytes that are looked at without a branch between them, so all at once.
pub(crate) const BLOCK_BYTES: usize = 32;

#[inline(always)]
fn is_special(byte: &u8) -> bool {
    (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\')
}

/// True if the first `len` bytes of a block need no escape in a JSON string.
#[inline]
pub(crate) fn is_plain_block(block: &[u8; BLOCK_BYTES], len: usize) -> bool {
    const PLACES: [u8; BLOCK_BYTES] = {
        let (mut places, mut at) = ([0; BLOCK_BYTES], 0);
        while at < BLOCK_BYTES {
            places[at] = at as u8;
            at += 1;
        }
        places
    };
    let len = len as u8;
    let bytes = block.iter().zip(&PLACES);
    !bytes.fold(false, |found, (byte, at)| found | (is_special(byte) & (*at < len)))
}

/// How many bytes from the front need no escape in a JSON string.
#[inline]
pub(crate) fn plain_prefix(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = text[at..].first_chunk::<BLOCK_BYTES>() {
        if block.iter().fold(false, |found, byte| found | is_special(byte)) {
            break;
        }
        at += block.len();
    }
    while let Some(word) = text[at..].first_chunk() {
        if let Some(found) = first_special(*word) {
            return at + found;
        }
        at += word.len();
    }
    match text.last_chunk() {
        // The end once more together with what stands before it, which is plain.
        Some(word) => first_special(*word).map_or(text.len(), |found| text.len() - 8 + found),
        None => text.iter().position(is_special).unwrap_or(text.len()),
    }
}

/// Finds the end of the string whose first byte after the quote is at `from`, and proves it UTF-8.
#[inline]
pub(crate) fn string(window: &[u8], from: usize) -> Result<Scan<StringToken>, Fault> {
    let mut at = from;
    let mut seen = 0u64;
    let mut escaped = false;
    loop {
        while let Some(chunk) = window.get(at..at + 8) {
            let word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
            seen |= word;
            let marks = specials(word);
            if marks != 0 {
                at += (marks.trailing_zeros() / 8) as usize;
                break;
            }
            at += 8;
        }
        let Some(&byte) = window.get(at) else { return Ok(Scan::Short) };
        match byte {
            b'"' => break,
            b'\\' => {
                escaped = true;
                let Some(&code) = window.get(at + 1) else { return Ok(Scan::Short) };
                if !matches!(code, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u') {
                    return Err(Fault::expected(at + 1, r#"one of `"\/bfnrtu` after a backslash"#));
                }
                at += 2;
            }
            0..0x20 => {
                return Err(Fault::expected(at, "control characters to be escaped in a string"));
            }
            _ => {
                seen |= byte as u64;
                at += 1;
            }
        }
    }
    if seen & HIGHS != 0
        && let Err(error) = std::str::from_utf8(&window[from..at])
    {
        return Err(Fault::expected(from + error.valid_up_to(), "valid UTF-8"));
    }
    Ok(Scan::Whole(StringToken { end: at, escaped }))
}

/// Appends the canonical form of the string at `window[from..end]` to `out`.
pub(crate) fn canonical(
    window: &[u8],
    from: usize,
    end: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let mut at = from;
    while let Some(step) = memchr::memchr(b'\\', &window[at..end]) {
        out.extend_from_slice(&window[at..at + step]);
        at += step + 1;
        match window[at] {
            b'/' => out.push(b'/'),
            b'u' => {
                let (c, next) = unicode(window, at + 1, end)?;
                push_escaped(c, out);
                at = next;
                continue;
            }
            code => out.extend_from_slice(&[b'\\', code]),
        }
        at += 1;
    }
    out.extend_from_slice(&window[at..end]);
    Ok(())
}

/// Reads the four digits of a `\u` at `at` and, for half a pair, the other half; returns the
/// character and where the text goes on.
fn unicode(window: &[u8], at: usize, end: usize) -> Result<(char, usize), Fault> {
    let first = hex4(window, at, end)?;
    let lone = || Fault::expected(at, "a pair of surrogates, high and then low");
    match first {
        0xd800..=0xdbff => {
            if end < at + 6 || window[at + 4..at + 6] != *b"\\u" {
                return Err(lone());
            }
            let second = hex4(window, at + 6, end)?;
            if !(0xdc00..=0xdfff).contains(&second) {
                return Err(lone());
            }
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            Ok((char::from_u32(code).ok_or_else(lone)?, at + 10))
        }
        _ => Ok((char::from_u32(first).ok_or_else(lone)?, at + 4)),
    }
}

fn hex4(window: &[u8], at: usize, end: usize) -> Result<u32, Fault> {
    let mut code = 0;
    for place in at..at + 4 {
        let digit = window[..end].get(place).and_then(|&byte| (byte as char).to_digit(16));
        let Some(digit) = digit else {
            return Err(Fault::expected(place, "four hexadecimal digits after `\\u`"));
        };
        code = code << 4 | digit;
    }
    Ok(code)
}

/// Finds the end of the number that starts at `from`. `last`: the input ends with the window.
#[inline]
pub(crate) fn number(window: &[u8], from: usize, last: bool) -> Result<Scan<usize>, Fault> {
    let digits = |mut at: usize| {
        while window.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    // Digits are wanted at `at`: where they end, or why there are none.
    let wanted = |at: usize, what: &'static str| match digits(at) {
        end if end > at => Ok(Some(end)),
        end if end == window.len() && !last => Ok(None),
        end => Err(Fault::expected(end, what)),
    };
    let mut at = from + (window[from] == b'-') as usize;
    if window.get(at) == Some(&b'0') {
        at += 1;
        if window.get(at).is_some_and(u8::is_ascii_digit) {
            return Err(Fault::expected(at, "no digit after a leading zero"));
        }
    } else {
        match wanted(at, "a digit after `-`")? {
            Some(end) => at = end,
            None => return Ok(Scan::Short),
        }
    }
    if window.get(at) == Some(&b'.') {
        match wanted(at + 1, "a digit after the decimal point")? {
            Some(end) => at = end,
            None => return Ok(Scan::Short),
        }
    }
    if matches!(window.get(at), Some(b'e' | b'E')) {
        let signed = matches!(window.get(at + 1), Some(b'+' | b'-'));
        match wanted(at + 1 + signed as usize, "a digit in the exponent")? {
            Some(end) => at = end,
            None => return Ok(Scan::Short),
        }
    }
    if at == window.len() && !last { Ok(Scan::Short) } else { Ok(Scan::Whole(at)) }
}
