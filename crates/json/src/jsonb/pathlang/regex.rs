//! The pattern of a `like_regex`: XQuery's flags, and the regular expressions of SQL.
//!
//! XQuery's expressions are nearly those of PostgreSQL, which reads them with its own engine. Its
//! flags are others:
//!
//! ```text
//!   i    letters match in both cases          s    . and [^a] match newlines, which else they do not
//!   m    ^ and $ match at line breaks         q    the pattern is a plain text; m and s do not count
//! ```

use std::rc::Rc;

use posix::{Options, Regex, Syntax};

use super::error::PathError;

/// The switches of `like_regex`, in the order in which they are printed.
const FLAGS: [char; 5] = ['i', 's', 'm', 'x', 'q'];

/// A pattern that was looked at: it is an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pattern {
    source: String,
    flags: String,
    options: Options,
}

impl Pattern {
    /// Reads a pattern with the flags of XQuery.
    pub fn new(source: String, flags: &str) -> Result<Pattern, PathError> {
        if let Some(unknown) = flags.chars().find(|flag| !FLAGS.contains(flag)) {
            let what = "Unrecognized flag character";
            let detail = format!("{what} \"{unknown}\" in LIKE_REGEX predicate.");
            return Err(PathError::Meaning { detail });
        }
        let flag = |flag: char| flags.contains(flag);
        let mut options = Options { any_case: flag('i'), ..Options::default() };
        if flag('q') {
            options.syntax = Syntax::Quoted;
        } else if flag('x') {
            let what = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(PathError::Unsupported(what));
        } else {
            (options.breaks_stop, options.breaks_anchor) = (!flag('s'), flag('m'));
        }
        let flags = FLAGS.into_iter().filter(|known| flag(*known)).collect();
        let pattern = Pattern { source, flags, options };
        pattern.regex().map_err(|error| PathError::Regex(error.to_string()))?;
        Ok(pattern)
    }

    /// The compiled expression, of which each thread keeps the last few.
    fn regex(&self) -> Result<Rc<Regex>, posix::Error> {
        Regex::cached(&self.source, self.options, false)
    }

    /// The pattern as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The flags, each once.
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// True if the pattern occurs in `text`. The executor gives no answer of a cancelled
    /// statement, so the result does not matter then.
    pub fn is_match(&self, text: &str) -> bool {
        let Ok(regex) = self.regex() else { return false };
        regex.search(text, interrupt::is_told).is_match(0).unwrap_or(false)
    }
}
