//! Words that name something: a document, a part of one, a moment of the past.

use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use anywhen::time;

/// `COLLECTION/DOC`. A document's key may hold more slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub collection: String,
    pub key: String,
}

impl FromStr for Target {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((collection, key)) if !collection.is_empty() && !key.is_empty() => {
                Ok(Self { collection: collection.to_owned(), key: key.to_owned() })
            }
            _ => Err("a document is named COLLECTION/DOC, for example articles/a1".to_owned()),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.collection, self.key)
    }
}

/// A part of a document, by path or by node key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeArg {
    /// From `$` on, or a JSON pointer from `/` on.
    Path(String),
    Key(u64),
}

impl FromStr for NodeArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(key) = text.strip_prefix('#') {
            return match key.parse() {
                Ok(key) => Ok(Self::Key(key)),
                Err(_) => Err("a node key is `#` and a number, for example #12".to_owned()),
            };
        }
        Ok(Self::Path(match text.as_bytes().first() {
            None => return Err("a path cannot be empty; `$` is the whole document".to_owned()),
            // Whole already, or a JSON pointer.
            Some(b'$' | b'/') => text.to_owned(),
            Some(b'[' | b'.') => format!("${text}"),
            Some(_) => format!("$.{text}"),
        }))
    }
}

/// A moment of the past, as the user named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Revision(u64),
    /// Microseconds since 1970.
    Time(u64),
    /// Microseconds since 1970, by the time that an import brought along.
    Authored(u64),
    Csn(u64),
}

impl FromStr for At {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(number) = text.strip_prefix("csn:") {
            return number.parse().map(Self::Csn).map_err(|_| {
                "csn: must be followed by the number of a commit, for example csn:12".to_owned()
            });
        }
        if let Some(instant) = text.strip_prefix("authored:") {
            return moment(instant).map(Self::Authored);
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return match text.parse() {
                Ok(0) | Err(_) => Err("a revision must be 1 or more".to_owned()),
                Ok(revision) => Ok(Self::Revision(revision)),
            };
        }
        moment(text).map(Self::Time)
    }
}

/// Reads a time; says what a moment can be where it is none.
fn moment(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!(
            "{text:?} cannot be a moment: give a revision number, a time such as '2026-11-21 10:30:00', \
             2026-11, yesterday or '2 hours ago', authored:TIME or csn:N"
        )
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_us = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
    time::parse_at(text, now_us).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_completed_and_moments_told_apart() {
        assert_eq!("a.b[1]".parse(), Ok(NodeArg::Path("$.a.b[1]".to_owned())));
        assert_eq!("[1].a".parse(), Ok(NodeArg::Path("$[1].a".to_owned())));
        assert_eq!("$".parse(), Ok(NodeArg::Path("$".to_owned())));
        assert_eq!("#12".parse(), Ok(NodeArg::Key(12)));
        assert!("".parse::<NodeArg>().is_err() && "#x".parse::<NodeArg>().is_err());
        assert_eq!("3".parse(), Ok(At::Revision(3)));
        assert_eq!("csn:17".parse(), Ok(At::Csn(17)));
        assert_eq!("1970-01-02".parse(), Ok(At::Time(86_400_000_000)));
        assert_eq!("authored:1970-01-02".parse(), Ok(At::Authored(86_400_000_000)));
        assert!("0".parse::<At>().is_err() && "soon".parse::<At>().is_err());
        assert!("a".parse::<Target>().is_err() && "/a".parse::<Target>().is_err());
        let target: Target = "a/b/c".parse().unwrap();
        assert_eq!((target.collection.as_str(), target.key.as_str()), ("a", "b/c"));
    }
}
