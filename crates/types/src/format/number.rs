//! Templates for numbers, taken apart.
//!
//! ```text
//!   S 9 9 9 G 0 9 0 D 9 9            pre 6, post 2, zeros from the 4th digit on
//!   sign      group point
//! ```
//!
//! Digits, the point and signs say together how wide the number is and where its sign goes; the
//! rest is written where it stands. Templates that contradict themselves are refused.

use super::template::quoted_text;
use crate::{Error, Result, SqlState};

/// A template for `to_char` and `to_number`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumberTemplate {
    pub(super) nodes: Vec<NumberNode>,
    pub(super) layout: Layout,
}

/// A piece of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberNode {
    /// `9`
    Digit,
    /// `0`
    Zero,
    /// `.` or `D`
    Point,
    /// `,`
    Comma,
    /// `G`
    Group,
    /// `L`
    Currency,
    /// `MI`
    Minus,
    /// `PL`
    Plus,
    /// `SG`
    PlusMinus,
    /// `RN`, or `rn` for false.
    Roman(bool),
    /// `TH`, or `th` for false.
    Ordinal(bool),
    /// A field that counts for the whole, and writes nothing at its place.
    Silent,
    /// A character of text.
    Char(char),
}

/// The layout of all nodes together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Layout {
    /// Digits before the point.
    pub(super) pre: usize,
    /// Digits after the point.
    pub(super) post: usize,
    /// Digits after `V`.
    pub(super) multi: usize,
    /// Digits before the first zero, if there is one before the point.
    pub(super) zero_start: Option<usize>,
    /// Digits up to the last zero.
    pub(super) zero_end: usize,
    /// Where the sign of `S` stands.
    pub(super) anchored: Option<Anchor>,
    /// Digits before `S`.
    pub(super) pre_sign: usize,
    pub(super) has_point: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    /// `PR`
    pub(super) has_bracket: bool,
    /// `FM`
    pub(super) is_fill: bool,
    /// `B`, before any digit
    pub(super) is_blank: bool,
    /// `V`
    pub(super) has_multi: bool,
    /// `EEEE`
    pub(super) is_scientific: bool,
    /// `RN`
    pub(super) is_roman: bool,
}

/// On which side of the digits the sign of `S` is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Before,
    After,
}

/// The field that a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Node(NumberNode),
    Blank,
    /// `C`, `SP`: known, and done nothing about.
    Ignored,
    Scientific,
    Fill,
    Bracket,
    Sign,
    Multi,
}

/// The names in capital letters. Of names that begin alike the longest is first.
const NAMES: &[(&str, Name)] = &[
    (",", Name::Node(NumberNode::Comma)),
    (".", Name::Node(NumberNode::Point)),
    ("0", Name::Node(NumberNode::Zero)),
    ("9", Name::Node(NumberNode::Digit)),
    ("B", Name::Blank),
    ("C", Name::Ignored),
    ("D", Name::Node(NumberNode::Point)),
    ("EEEE", Name::Scientific),
    ("FM", Name::Fill),
    ("G", Name::Node(NumberNode::Group)),
    ("L", Name::Node(NumberNode::Currency)),
    ("MI", Name::Node(NumberNode::Minus)),
    ("PL", Name::Node(NumberNode::Plus)),
    ("PR", Name::Bracket),
    ("RN", Name::Node(NumberNode::Roman(true))),
    ("SG", Name::Node(NumberNode::PlusMinus)),
    ("SP", Name::Ignored),
    ("S", Name::Sign),
    ("TH", Name::Node(NumberNode::Ordinal(true))),
    ("V", Name::Multi),
];

/// The name at the front, and its length. Names are all in capital letters or all in small ones.
fn name_at(rest: &str) -> Option<(Name, usize)> {
    NAMES.iter().find_map(|(name, meaning)| {
        let front = rest.get(..name.len())?;
        if front == *name {
            return Some((*meaning, name.len()));
        }
        let is_small = front.eq_ignore_ascii_case(name) && front == front.to_ascii_lowercase();
        is_small.then_some(match meaning {
            Name::Node(NumberNode::Roman(_)) => (Name::Node(NumberNode::Roman(false)), name.len()),
            Name::Node(NumberNode::Ordinal(_)) => {
                (Name::Node(NumberNode::Ordinal(false)), name.len())
            }
            meaning => (*meaning, name.len()),
        })
    })
}

fn wrong(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

impl NumberTemplate {
    /// Takes a template apart.
    ///
    /// # Errors
    /// 42601 for parts that do not go together.
    pub fn new(template: &str) -> Result<Self> {
        let mut nodes = Vec::new();
        let mut layout = Layout::default();
        let mut rest = template;
        while let Some(c) = rest.chars().next() {
            if let Some((name, length)) = name_at(rest) {
                rest = &rest[length..];
                nodes.push(layout.take(name)?);
            } else if let Some(quoted) = rest.strip_prefix('"') {
                rest = quoted_text(quoted, |c| nodes.push(NumberNode::Char(c)));
            } else if rest.starts_with("\\\"") {
                rest = &rest[2..];
                nodes.push(NumberNode::Char('"'));
            } else {
                rest = &rest[c.len_utf8()..];
                nodes.push(NumberNode::Char(c));
            }
        }
        Ok(Self { nodes, layout })
    }
}

impl Layout {
    /// Takes a name into account: the node that stands for it.
    fn take(&mut self, name: Name) -> Result<NumberNode> {
        if self.is_scientific && name != Name::Scientific {
            return Err(wrong("\"EEEE\" must be the last pattern used"));
        }
        let node = match name {
            Name::Node(node) => node,
            _ => NumberNode::Silent,
        };
        match name {
            Name::Node(NumberNode::Digit) => {
                if self.has_bracket {
                    return Err(wrong("\"9\" must be ahead of \"PR\""));
                }
                match (self.has_multi, self.has_point) {
                    (true, _) => self.multi += 1,
                    (false, true) => self.post += 1,
                    (false, false) => self.pre += 1,
                }
            }
            Name::Node(NumberNode::Zero) => {
                if self.has_bracket {
                    return Err(wrong("\"0\" must be ahead of \"PR\""));
                }
                if self.has_point {
                    self.post += 1;
                } else {
                    self.zero_start.get_or_insert(self.pre);
                    self.pre += 1;
                }
                self.zero_end = self.pre + self.post;
            }
            Name::Node(NumberNode::Point) => {
                if self.has_point {
                    return Err(wrong("multiple decimal points"));
                }
                if self.has_multi {
                    return Err(wrong("cannot use \"V\" and decimal point together"));
                }
                self.has_point = true;
            }
            Name::Sign => {
                if self.anchored.is_some() {
                    return Err(wrong("cannot use \"S\" twice"));
                }
                if self.has_plus || self.has_minus || self.has_bracket {
                    return Err(wrong("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                if self.has_point {
                    self.anchored = Some(Anchor::After);
                } else {
                    (self.anchored, self.pre_sign) = (Some(Anchor::Before), self.pre);
                }
            }
            Name::Node(NumberNode::Minus) => {
                self.refuse_anchored("MI")?;
                self.has_minus = true;
            }
            Name::Node(NumberNode::Plus) => {
                self.refuse_anchored("PL")?;
                self.has_plus = true;
            }
            Name::Node(NumberNode::PlusMinus) => {
                self.refuse_anchored("SG")?;
                (self.has_plus, self.has_minus) = (true, true);
            }
            Name::Bracket => {
                if self.anchored.is_some() || self.has_plus || self.has_minus {
                    return Err(wrong("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.has_bracket = true;
            }
            Name::Node(NumberNode::Roman(_)) => self.is_roman = true,
            Name::Blank => {
                self.is_blank |= self.pre == 0 && self.post == 0 && self.zero_start.is_none();
            }
            Name::Fill => self.is_fill = true,
            Name::Multi => {
                if self.has_point {
                    return Err(wrong("cannot use \"V\" and decimal point together"));
                }
                self.has_multi = true;
            }
            Name::Scientific => self.take_scientific()?,
            Name::Node(_) | Name::Ignored => {}
        }
        Ok(node)
    }

    fn refuse_anchored(&self, name: &str) -> Result<()> {
        match self.anchored {
            Some(_) => Err(wrong(&format!("cannot use \"S\" and \"{name}\" together"))),
            None => Ok(()),
        }
    }

    fn take_scientific(&mut self) -> Result<()> {
        if self.is_scientific {
            return Err(wrong("cannot use \"EEEE\" twice"));
        }
        let is_mixed = self.is_blank
            || self.is_fill
            || self.anchored.is_some()
            || self.has_bracket
            || self.has_minus
            || self.has_plus
            || self.is_roman
            || self.has_multi;
        if is_mixed {
            return Err(wrong("\"EEEE\" is incompatible with other formats").with_detail(
                "\"EEEE\" may only be used together with digit and decimal point patterns.",
            ));
        }
        self.is_scientific = true;
        Ok(())
    }
}
