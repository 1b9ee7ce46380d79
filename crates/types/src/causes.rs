//! [`Causes`]: an error with its sources, in one line for a log.
//!
//! ```text
//!   the database takes no more writes until it is opened again, because: cannot sync log/3.log: No space left on device (os error 28)
//! ```

use std::error::Error;
use std::fmt;

/// An error and the errors that it follows from, down to the first; each text once.
#[derive(Clone, Copy, Debug)]
pub struct Causes<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.to_string();
        f.write_str(&shown)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let text = error.to_string();
            if !shown.contains(&text) {
                write!(f, ": {text}")?;
                shown.push_str(&text);
            }
            next = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error as SqlError, SqlState};

    /// The line names the first cause, and repeats no text that an error above it has.
    #[test]
    fn each_text_stands_once() {
        let disk = std::io::Error::other("the disk is gone");
        let below = SqlError::from_source(SqlState::IO_ERROR, disk);
        let above = SqlError::new(SqlState::IO_ERROR, "could not read a row").with_source(below);
        assert_eq!(Causes(&above).to_string(), "could not read a row: the disk is gone");
    }
}
