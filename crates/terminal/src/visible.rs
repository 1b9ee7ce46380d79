//! Characters that a terminal obeys, and how they are shown.
//!
//! ```text
//!   author  "ada\x1b]0;owned\x07"       ──>   ada\u001b]0;owned\u0007
//! ```
//!
//! A terminal obeys what it reads: it changes its title, moves the cursor, hides text, and turns the direction of what
//! follows. Keys, authors, messages and values may hold anything, so none of them gets there as it is. The escape is
//! that of JSON, so that JSON stays JSON.

use std::borrow::Cow;

/// True of characters that a terminal obeys, that hide text, or that change the order of what stands around them.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{00ad}'
                | '\u{061c}'
                | '\u{180e}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}'
                | '\u{2066}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text with an escape for each character that a terminal obeys, except those for which `keeps` is true.
pub fn escaped(text: &str, keeps: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |c: char| is_obeyed(c) && !keeps(c);
    if !text.chars().any(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_escaped(c) {
            // As JSON has it: characters above U+FFFF are two escapes.
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out += &format!("\\u{unit:04x}");
                }
            }
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}
