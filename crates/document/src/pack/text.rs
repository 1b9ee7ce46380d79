//! Fragments read from a stream of texts: where one ends follows from its own bytes.
//!
//! ```text
//!   ,"title":"Anywhen"  ,"tags":[  ,"a"  ,12  ,true          a name is a string with a colon after it
//! ```
//!
//! A number ends where no byte of a number follows; what comes next begins with a comma. So texts of
//! another form must never stand behind a fragment.

use crate::codec::Reader;
use crate::error::Damaged;
use crate::node::{NO_NAME, cut, prefix_len};
use json::Kind;

/// A fragment: the text that a node opens with.
pub struct Fragment<'a> {
    pub kind: Kind,
    /// Bytes of the name, or [`NO_NAME`].
    pub name_len: u16,
    pub bytes: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// Name and text, as a node has them.
    pub fn cut(&self) -> (Option<&'a [u8]>, &'a [u8]) {
        cut(self.kind, self.name_len, self.bytes)
    }
}

/// Bytes of the string, with its quotes, that `text` begins with.
fn string_len(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += plain_len(text.get(at..)?);
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Bytes before the first quote or backslash, as far as they come in eights.
#[inline]
fn plain_len(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    // The highest bit of the lowest byte that equals `byte`; bits above it may be wrong.
    let find = |word: u64, byte: u8| {
        let other = word ^ (ONES * u64::from(byte));
        other.wrapping_sub(ONES) & !other & (ONES << 7)
    };
    let mut len = 0;
    for eight in text.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*eight);
        let found = find(word, b'"') | find(word, b'\\');
        if found != 0 {
            return len + found.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len
}

fn measure(text: &[u8]) -> Option<(Kind, u16, usize)> {
    if *text.first()? != b',' {
        return None;
    }
    let mut name_len = NO_NAME;
    if *text.get(1)? == b'"' {
        let end = 1 + string_len(&text[1..])?;
        if text.get(end) != Some(&b':') {
            return Some((Kind::String, NO_NAME, end));
        }
        name_len = u16::try_from(end - 3).ok().filter(|len| *len != NO_NAME)?;
    }
    let start = prefix_len(name_len);
    let value = text.get(start..)?;
    let (kind, len) = match *value.first()? {
        b'"' => (Kind::String, string_len(value)?),
        b'[' => (Kind::Array, 1),
        b'{' => (Kind::Object, 1),
        b'n' => (Kind::Null, 4),
        b'f' => (Kind::False, 5),
        b't' => (Kind::True, 4),
        b'-' | b'0'..=b'9' => {
            let is_of_number =
                |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
            (Kind::Number, value.iter().take_while(|byte| is_of_number(byte)).count())
        }
        _ => return None,
    };
    Some((kind, name_len, start + len))
}

/// Takes the next fragment off the texts.
pub fn fragment<'a>(texts: &mut Reader<'a>) -> Result<Fragment<'a>, Damaged> {
    let (kind, name_len, len) =
        measure(texts.rest()).ok_or(Damaged::new("a packed text that is no fragment"))?;
    Ok(Fragment { kind, name_len, bytes: texts.bytes(len)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each fragment ends where it was cut, whatever stands in its strings.
    #[test]
    fn fragments_end_by_themselves() {
        let all = [
            r#",{"#,
            r#","a":["#,
            r#",-1.5e+3"#,
            r#",12"#,
            r#","":null"#,
            r#","\":\\":"x,\"y""#,
            r#",true"#,
            r#",false"#,
            r#","plain""#,
            r#","n":0"#,
        ];
        let text = all.concat();
        let mut texts = Reader::new(text.as_bytes());
        for expected in all {
            let found = fragment(&mut texts).unwrap();
            assert_eq!(found.bytes, expected.as_bytes());
        }
        assert!(texts.is_empty());
        for cut in 0..text.len() {
            let mut texts = Reader::new(&text.as_bytes()[..cut]);
            while fragment(&mut texts).is_ok() {}
        }
    }
}
