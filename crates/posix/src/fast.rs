//! The begin of the first match, by the `regex` crate.
//!
//! The crate and PostgreSQL can choose different matches, but they agree on whether a match exists and
//! where the first one begins. So an expression that is used often is translated for the crate, from its
//! parsed form: each set as its ranges, without classes, which the crate may define differently.
//! Expressions that cannot be translated (lookaround constraints, back references) or become too large
//! are left to the automata of this crate.

use std::cell::{Cell, OnceCell};

use crate::chars::CharSet;
use crate::tree::{Assertion, Expr};

/// After so many searches an expression is translated for the crate: compiling it takes about as long as they do.
const USES_MIN: u32 = 32;

/// A search in a long text counts once more for each piece of this many bytes.
const PIECE_BYTES: usize = 512;

/// Longer texts are read by automata that ask between pieces whether to go on.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// How large the crate's program may be, and the text that it is made from.
const PROGRAM_BYTES_MAX: usize = 1 << 20;
const SOURCE_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Default)]
pub(crate) struct Fast {
    uses: Cell<u32>,
    regex: OnceCell<Option<Written>>,
}

#[derive(Debug)]
struct Written {
    regex: regex::Regex,
    /// The crate's idea of a word is PostgreSQL's only in ASCII.
    ascii_only: bool,
}

impl Fast {
    /// Counts a search in `text`. Returns the crate's expression if it is in use and can search this text.
    pub fn get(&self, expr: &Expr, sets: &[CharSet], text: &str) -> Option<&regex::Regex> {
        let uses = 1 + (text.len() / PIECE_BYTES).min(USES_MIN as usize) as u32;
        self.uses.set(self.uses.get().saturating_add(uses));
        if self.uses.get() < USES_MIN || text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let written = self.regex.get_or_init(|| write(expr, sets)).as_ref()?;
        (!written.ascii_only || text.is_ascii()).then_some(&written.regex)
    }
}

fn write(expr: &Expr, sets: &[CharSet]) -> Option<Written> {
    let mut writer = Writer { sets, out: String::new(), ascii_only: false };
    writer.write(expr)?;
    let regex = regex::RegexBuilder::new(&writer.out).size_limit(PROGRAM_BYTES_MAX).build().ok()?;
    Some(Written { regex, ascii_only: writer.ascii_only })
}

struct Writer<'a> {
    sets: &'a [CharSet],
    out: String,
    ascii_only: bool,
}

impl Writer<'_> {
    fn write(&mut self, expr: &Expr) -> Option<()> {
        if self.out.len() > SOURCE_BYTES_MAX {
            return None;
        }
        match expr {
            Expr::Empty => {}
            Expr::Set(set) => self.set(&self.sets[*set as usize]),
            Expr::Look { .. } => return None,
            Expr::Assert(assertion) => {
                self.out.push_str(match assertion {
                    Assertion::TextStart => "\\A",
                    Assertion::TextEnd => "\\z",
                    Assertion::LineStart => "(?m:^)",
                    Assertion::LineEnd => "(?m:$)",
                    Assertion::WordStart => "(?-u:\\b{start})",
                    Assertion::WordEnd => "(?-u:\\b{end})",
                    Assertion::WordBoundary => "(?-u:\\b)",
                    // Outside of Unicode the crate would find it within a character.
                    Assertion::NotWordBoundary => return None,
                });
                self.ascii_only |= !matches!(
                    assertion,
                    Assertion::TextStart
                        | Assertion::TextEnd
                        | Assertion::LineStart
                        | Assertion::LineEnd
                );
            }
            Expr::Sequence(parts) => parts.iter().try_for_each(|part| self.write(part))?,
            Expr::Alternatives(parts) => {
                self.out.push_str("(?:");
                for (number, part) in parts.iter().enumerate() {
                    if number > 0 {
                        self.out.push('|');
                    }
                    self.write(part)?;
                }
                self.out.push(')');
            }
            Expr::Repeat { body, least, most } => {
                self.out.push_str("(?:");
                self.write(body)?;
                self.out.push(')');
                match most {
                    None => self.out.push_str(&format!("{{{least},}}")),
                    Some(most) => self.out.push_str(&format!("{{{least},{most}}}")),
                }
            }
        }
        Some(())
    }

    fn set(&mut self, set: &CharSet) {
        if let Some(c) = set.only() {
            self.out.push_str(&format!("\\x{{{:x}}}", c as u32));
            return;
        }
        self.out.push('[');
        let before = self.out.len();
        for &(low, high) in set.ranges() {
            // Surrogates are in no text, and cannot be written.
            let low = if (0xd800..0xe000).contains(&low) { 0xe000 } else { low };
            let high = high.min(char::MAX as u32);
            let high = if (0xd800..0xe000).contains(&high) { 0xd7ff } else { high };
            if low <= high {
                self.out.push_str(&format!("\\x{{{low:x}}}-\\x{{{high:x}}}"));
            }
        }
        if self.out.len() == before {
            self.out.push_str("^\\x{0}-\\x{10ffff}");
        }
        self.out.push(']');
    }
}
