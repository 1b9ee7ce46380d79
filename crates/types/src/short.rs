//! [`ShortText`]: a text that lies in its value.
//!
//! ```text
//!   Datum::Text   ──> Arc<str>             an allocation, shared by clones
//!   Datum::Short  length, up to 21 bytes   none
//! ```

use std::ops::Deref;

/// The most bytes of a text that lies in its value: as many as fit next to the tag without making a
/// [`Datum`](crate::Datum) larger than the 24 bytes that it has.
pub const SHORT_TEXT_BYTES_MAX: usize = 21;

/// A text of up to [`SHORT_TEXT_BYTES_MAX`] bytes.
#[derive(Clone, Copy)]
pub struct ShortText {
    length: u8,
    bytes: [u8; SHORT_TEXT_BYTES_MAX],
}

impl ShortText {
    /// The same text; `None` if it is longer.
    #[inline]
    pub fn new(text: &str) -> Option<ShortText> {
        let mut bytes = [0; SHORT_TEXT_BYTES_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(ShortText { length: text.len() as u8, bytes })
    }
}

impl Deref for ShortText {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        let bytes = &self.bytes[..usize::from(self.length)];
        // SAFETY: `new`, which alone makes such texts, has copied these bytes from a `str`.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Datum;

    /// A value takes 24 bytes, and short texts are what they were made of.
    #[test]
    fn short_texts_lie_in_their_values() {
        assert_eq!(size_of::<Datum>(), 24);
        for text in ["", "a", "zwölf Äpfel", "123456789012345678901", "1234567890123456789ü"] {
            let short = ShortText::new(text).expect("it is short");
            assert_eq!(&*short, text);
            assert!(matches!(Datum::text(text), Datum::Short(_)), "{text}");
            assert_eq!(Datum::text(text), Datum::Text(text.into()), "equal, however they are held");
        }
        let long = "1234567890123456789012";
        assert!(ShortText::new(long).is_none());
        assert!(matches!(Datum::text(long), Datum::Text(_)));
    }
}
