//! Colours of the command's answers, on terminals alone.
//!
//! ```text
//!   "3".yellow()      on a terminal   ESC [33m 3 ESC [0m
//!                     in a pipe       3
//! ```
//!
//! A colour is left out where it is made, never taken out of a finished answer: what an author or a
//! message holds may look like a colour, and a pipe gets it byte for byte. `NO_COLOR`, `CLICOLOR_FORCE`
//! and `TERM` decide as usual.

use std::fmt::Display;
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};

/// True if answers on standard output have colours.
pub(crate) fn has_colours() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| AutoStream::choice(&std::io::stdout()) != ColorChoice::Never)
}

/// True if messages on standard error have colours.
fn has_colours_on_stderr() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// A text with a colour, given as the parameters of the sequence that sets it.
fn painted(is_painted: bool, colour: &str, text: &dyn Display) -> String {
    match is_painted {
        true => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
        false => text.to_string(),
    }
}

/// A word of a message on standard error.
pub(crate) fn on_stderr(colour: &str, word: &str) -> String {
    painted(has_colours_on_stderr(), colour, &word)
}

/// The colours of answers on standard output.
pub(crate) trait Paint: Display + Sized {
    /// A name or another heading.
    fn bold(&self) -> String {
        painted(has_colours(), "1", self)
    }

    /// A time, or something else that is read last.
    fn dimmed(&self) -> String {
        painted(has_colours(), "2", self)
    }

    /// Something that is gone.
    fn red(&self) -> String {
        painted(has_colours(), "31", self)
    }

    /// Something new.
    fn green(&self) -> String {
        painted(has_colours(), "32", self)
    }

    /// A number of a version, or a changed value.
    fn yellow(&self) -> String {
        painted(has_colours(), "33", self)
    }

    /// Another place or name.
    fn blue(&self) -> String {
        painted(has_colours(), "34", self)
    }

    /// An author.
    fn cyan(&self) -> String {
        painted(has_colours(), "36", self)
    }
}

impl<T: Display> Paint for T {}
