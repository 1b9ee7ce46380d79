//! The place of a value: paths such as `$.items[3].qty`, and JSON pointers such as `/items/3/qty`.
//!
//! ```text
//!   $                   the root
//!   $.items[3].qty      field, element (from 0), field
//!   $."odd name"        a name that is no word, in JSON's own escapes
//!   $['it\'s']["b"]     the bracket form, in either kind of quotes
//!   /items/3/a~1b       RFC 6901: `~1` is a slash, `~0` a tilde; "" is the root
//! ```
//!
//! A path names at most one value; there are no wildcards. A pointer does not say whether `3` is an
//! element or a field named "3": that is found out where it meets a document.

use std::fmt;
use std::str::FromStr;

use crate::tape::{Kind, Node, Tape};
use crate::text;

/// One step from a container to a child.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// The field with this name (as people write it, without escapes).
    Field(String),
    /// The element at this position, from 0.
    Index(usize),
    /// A part of a JSON pointer: a position in an array, a name in an object.
    Either(String),
}

/// A path to one value.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct JsonPath {
    /// From the root downwards; empty for the root itself.
    pub steps: Vec<Step>,
}

/// Why a text is no path: what was expected, and after how many bytes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a path: `{path}`: expected {expected} at byte {offset}")]
pub struct PathError {
    /// The text.
    pub path: String,
    /// Where it goes wrong, in bytes.
    pub offset: usize,
    /// The tokens that were possible.
    pub expected: &'static str,
}

impl JsonPath {
    /// The path to the root, `$`.
    pub fn root() -> JsonPath {
        JsonPath::default()
    }

    /// Reads a path that begins with `$`, or a JSON pointer that begins with `/`.
    pub fn parse(path: &str) -> Result<JsonPath, PathError> {
        match path.as_bytes().first() {
            Some(b'$') => Reader { path, at: 1 }.steps(),
            Some(b'/') => JsonPath::pointer(path),
            _ => Err(Reader { path, at: 0 }.fault("`$` or `/`")),
        }
    }

    /// Reads a JSON pointer (RFC 6901), where the empty text is the root.
    pub fn pointer(path: &str) -> Result<JsonPath, PathError> {
        let Some(rest) = path.strip_prefix('/') else {
            let root = path.is_empty().then(JsonPath::root);
            return root.ok_or_else(|| Reader { path, at: 0 }.fault("`/`"));
        };
        if let Some(tilde) = path
            .char_indices()
            .find(|&(at, c)| c == '~' && !matches!(path.as_bytes().get(at + 1), Some(b'0' | b'1')))
        {
            return Err(Reader { path, at: tilde.0 + 1 }.fault("`0` or `1` after `~`"));
        }
        let part = |part: &str| Step::Either(part.replace("~1", "/").replace("~0", "~"));
        Ok(JsonPath { steps: rest.split('/').map(part).collect() })
    }

    /// The path to the field `name` of the value that this path names.
    pub fn field(mut self, name: impl Into<String>) -> JsonPath {
        self.steps.push(Step::Field(name.into()));
        self
    }

    /// The path to element `index` of the value that this path names.
    pub fn index(mut self, index: usize) -> JsonPath {
        self.steps.push(Step::Index(index));
        self
    }

    /// The path to the container of the value, and the last step; none for the root.
    pub fn split_last(&self) -> Option<(JsonPath, &Step)> {
        let (last, parents) = self.steps.split_last()?;
        Some((JsonPath { steps: parents.to_vec() }, last))
    }

    /// The value it names in a document, if there is one.
    pub fn find<'a>(&self, tape: &'a Tape) -> Option<Node<'a>> {
        self.steps.iter().try_fold(tape.root(), |node, step| step.from(node))
    }

    /// The path of a node of a tape.
    pub fn of(node: Node<'_>) -> JsonPath {
        let mut steps = Vec::new();
        let mut node = node;
        while let Some(parent) = node.parent() {
            steps.push(match node.field() {
                Some(name) => Step::Field(name.into_owned()),
                None => {
                    let before = parent.children().take_while(|child| child.index() < node.index());
                    Step::Index(before.count())
                }
            });
            node = parent;
        }
        steps.reverse();
        JsonPath { steps }
    }

    /// The path as a JSON pointer.
    pub fn to_pointer(&self) -> String {
        self.steps.iter().fold(String::new(), |pointer, step| match step {
            Step::Field(name) | Step::Either(name) => {
                format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
            }
            Step::Index(index) => format!("{pointer}/{index}"),
        })
    }
}

impl Step {
    /// The child of `node` that the step leads to, if there is one.
    pub fn from<'a>(&self, node: Node<'a>) -> Option<Node<'a>> {
        match self {
            Step::Field(name) => node.get(name),
            Step::Index(index) => node.at(*index),
            Step::Either(name) if node.kind() == Kind::Object => node.get(name),
            Step::Either(name) => node.at(position(name)?),
        }
    }
}

/// A position as RFC 6901 writes it: digits without a leading zero.
fn position(digits: &str) -> Option<usize> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    if plain { digits.parse().ok() } else { None }
}

impl FromStr for JsonPath {
    type Err = PathError;

    fn from_str(path: &str) -> Result<JsonPath, PathError> {
        JsonPath::parse(path)
    }
}

impl fmt::Display for JsonPath {
    /// Writes the canonical form: words after a point, other names quoted. A path with steps that
    /// only a document can tell apart is written as the JSON pointer it came from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.iter().any(|step| matches!(step, Step::Either(_))) {
            return f.write_str(&self.to_pointer());
        }
        f.write_str("$")?;
        for step in &self.steps {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Field(name) | Step::Either(name) if is_word(name) => write!(f, ".{name}")?,
                Step::Field(name) | Step::Either(name) => write!(f, ".{}", text::quote(name))?,
            }
        }
        Ok(())
    }
}

/// Names that are written without quotes.
fn is_word(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'));
    first && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
}

/// Reads `$` paths.
struct Reader<'a> {
    path: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, expected: &'static str) -> PathError {
        PathError { path: self.path.to_owned(), offset: self.at, expected }
    }

    fn peek(&self) -> Option<char> {
        self.path[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char, expected: &'static str) -> Result<(), PathError> {
        if self.peek() != Some(wanted) {
            return Err(self.fault(expected));
        }
        self.at += wanted.len_utf8();
        Ok(())
    }

    fn steps(mut self) -> Result<JsonPath, PathError> {
        let mut steps = Vec::new();
        while let Some(c) = self.peek() {
            let step = match c {
                '.' => {
                    self.at += 1;
                    Step::Field(if self.peek() == Some('"') {
                        self.quoted('"')?
                    } else {
                        self.word()?
                    })
                }
                '[' => {
                    self.at += 1;
                    let step = match self.peek() {
                        Some(quote @ ('"' | '\'')) => Step::Field(self.quoted(quote)?),
                        _ => Step::Index(self.number()?),
                    };
                    self.take(']', "`]`")?;
                    step
                }
                _ => return Err(self.fault("`.`, `[` or the end")),
            };
            steps.push(step);
        }
        Ok(JsonPath { steps })
    }

    /// A bare name: anything but punctuation of paths, white space and control characters.
    fn word(&mut self) -> Result<String, PathError> {
        let rest = &self.path[self.at..];
        let ends = |c: char| {
            matches!(c, '.' | '[' | ']' | '"' | '\'' | '*' | '?' | '(' | ')')
                || c.is_whitespace()
                || c.is_control()
        };
        let len = rest.find(ends).unwrap_or(rest.len());
        if len == 0 {
            return Err(self.fault("a field name"));
        }
        self.at += len;
        Ok(rest[..len].to_owned())
    }

    fn number(&mut self) -> Result<usize, PathError> {
        let rest = &self.path[self.at..];
        let len = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let index = position(&rest[..len]).filter(|_| len > 0);
        let index = index.ok_or_else(|| self.fault("a position from 0 or a quoted field name"))?;
        self.at += len;
        Ok(index)
    }

    /// A name in quotes with the escapes of JSON, and `\'`.
    fn quoted(&mut self, quote: char) -> Result<String, PathError> {
        self.at += 1;
        let from = self.at;
        let bytes = self.path.as_bytes();
        while self.at < bytes.len() && bytes[self.at] != quote as u8 {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        if self.at >= bytes.len() {
            self.at = bytes.len();
            return Err(self.fault("the closing quote of a field name"));
        }
        let end = self.at;
        self.at += 1;
        let raw = &self.path[from..end];
        // Into JSON's own quotes, so that the one parser knows all escapes. Raw double quotes can
        // only stand in single ones, and are the only ones without a backslash.
        let mut json = String::from("\"");
        let mut chars = raw.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => json.push_str("\\\""),
                '\\' => match chars.next() {
                    Some('\'') => json.push('\''),
                    Some(code) => json.extend(['\\', code]),
                    None => json.push('\\'),
                },
                _ => json.push(c),
            }
        }
        json.push('"');
        let tape = Tape::parse(&json).map_err(|_| PathError {
            offset: from,
            ..self.fault("a field name with JSON's escapes")
        })?;
        Ok(tape.root().as_str().unwrap_or_default().into_owned())
    }
}
