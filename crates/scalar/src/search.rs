//! Long texts, piece by piece: a search in them, and the pieces themselves.
//!
//! ```text
//!   find          |....window....|          the next window begins before the end of this one,
//!                          |....window....|   by one byte less than what is looked for
//!   pieces        |....|....|....|          cut between characters
//!   words         |..  |...  |.. |          cut where no letter depends on what is behind the cut
//! ```
//!
//! A text may have a gigabyte, and what is done with it in one go cannot be stopped. Between two pieces
//! it is looked whether the statement is to stop.

use memchr::memmem::Finder;
use types::Result;

/// About how many bytes are looked at between two looks at whether the statement is to stop.
const WINDOW_BYTES: usize = 1 << 20;

/// The search in one text or several.
pub(crate) struct Search<'a> {
    finder: Finder<'a>,
    window_bytes: usize,
}

impl<'a> Search<'a> {
    pub(crate) fn new(part: &'a [u8]) -> Self {
        let window_bytes = WINDOW_BYTES.max(part.len().saturating_mul(2));
        Self { finder: Finder::new(part), window_bytes }
    }

    /// The byte at which the part is first found, from a byte on.
    ///
    /// # Errors
    /// 57014 where the statement is to stop.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Result<Option<usize>> {
        let len = self.finder.needle().len();
        let mut start = from;
        loop {
            let end = (start + self.window_bytes).min(text.len());
            if let Some(at) = self.finder.find(&text[start..end]) {
                return Ok(Some(start + at));
            }
            if end == text.len() {
                return Ok(None);
            }
            interrupt::check()?;
            start = end + 1 - len.max(1);
        }
    }

    /// Calls `f` for each piece of a text between two finds, and for the rest of it.
    ///
    /// # Errors
    /// As [`Search::find`], and those of `f`.
    pub(crate) fn split<'t>(
        &self,
        text: &'t str,
        mut f: impl FnMut(&'t str) -> Result<()>,
    ) -> Result<()> {
        let len = self.finder.needle().len();
        let mut from = 0;
        while let Some(at) = self.find(text.as_bytes(), from)? {
            f(&text[from..at])?;
            from = at + len;
        }
        f(&text[from..])
    }
}

/// The pieces of a text, cut between characters.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    cut(text, |text, at| text.is_char_boundary(at))
}

/// The pieces of a text, cut where both sides can be given a normal form on their
/// own: what a letter becomes may depend on its neighbours, but not across two plain letters, digits or
/// blanks. Letters of Latin-1, precomposed as they are, are plain as well.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ' || ('à'..='þ').contains(&c);
    cut(text, move |text, at| {
        text.is_char_boundary(at)
            && text[..at].chars().next_back().is_some_and(is_plain)
            && text[at..].chars().next().is_some_and(is_plain)
    })
}

fn cut(text: &str, is_cut: impl Fn(&str, usize) -> bool) -> impl Iterator<Item = &str> {
    const PIECE_BYTES: usize = 1 << 16;
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = (PIECE_BYTES..rest.len()).find(|at| is_cut(rest, *at)).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(at);
        rest = behind;
        Some(piece)
    })
}

/// How many characters a text has.
///
/// # Errors
/// 57014 where the statement is to stop.
pub(crate) fn count(text: &str) -> Result<usize> {
    let mut count = 0;
    for window in text.as_bytes().chunks(WINDOW_BYTES) {
        if window.len() == WINDOW_BYTES {
            interrupt::check()?;
        }
        count += begins(window);
    }
    Ok(count)
}

/// How many characters begin in these bytes: a byte that continues one does not begin one.
fn begins(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count()
}

/// The byte where the character of that number, counted from 0, begins; the end where there are not
/// so many.
///
/// # Errors
/// 57014 where the statement is to stop.
pub(crate) fn byte_of(text: &str, at: usize) -> Result<usize> {
    const BLOCK_BYTES: usize = 1 << 12;
    let (mut left, mut start) = (at, 0);
    for (number, block) in text.as_bytes().chunks(BLOCK_BYTES).enumerate() {
        if number % 256 == 255 {
            interrupt::check()?;
        }
        let begins = begins(block);
        if left < begins {
            let mut places = (0..block.len()).filter(|at| (block[*at] as i8) >= -0x40);
            return Ok(start + places.nth(left).unwrap_or(block.len()));
        }
        left -= begins;
        start += block.len();
    }
    Ok(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A find may lie across the end of a window, and is found there once.
    #[test]
    fn a_find_across_two_windows_is_found() {
        for before in WINDOW_BYTES - 4..WINDOW_BYTES + 2 {
            let text = format!("{}needle{}", "x".repeat(before), "y".repeat(10));
            let search = Search::new(b"needle");
            assert_eq!(search.find(text.as_bytes(), 0), Ok(Some(before)));
            assert_eq!(search.find(text.as_bytes(), before + 1), Ok(None));
            let mut pieces = Vec::new();
            let done = search.split(&text, |piece| {
                pieces.push(piece.len());
                Ok(())
            });
            assert_eq!((done, pieces), (Ok(()), vec![before, 10]));
        }
    }

    /// Pieces are the whole text, whatever its characters are.
    #[test]
    fn pieces_are_all_of_the_text() {
        for text in ["", "a", &"\u{20ac}".repeat(100_000), &"ab cd".repeat(50_000)] {
            assert_eq!(pieces(text).collect::<String>(), text);
            assert_eq!(words(text).collect::<String>(), text);
        }
        assert!(words(&"ab".repeat(100_000)).count() > 2);
    }

    /// Characters are counted and found by number as they are one by one.
    #[test]
    fn characters_are_counted_in_blocks() {
        let text = "a\u{e4}\u{20ac}\u{1f600}".repeat(3_000);
        assert_eq!(count(&text), Ok(12_000));
        for at in [0, 1, 5, 1_637, 1_638, 11_999, 12_000, 20_000] {
            let known = text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
            assert_eq!(byte_of(&text, at), Ok(known), "{at}");
        }
    }
}
