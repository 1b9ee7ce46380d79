//! `lquery`: patterns of whole paths.
//!
//! ```text
//!   Top.*.!a|b@.c{2,}     items between points: how many labels, and which ones
//! ```

use std::fmt::Write;

use super::{LEVELS_MAX, Ltree, Word, check_label, is_label, syntax_error, texts, unexpected_end};
use crate::{Error, Result, SqlState};

/// A pattern of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lquery(Vec<Item>);

/// The pattern for one or more labels in succession.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// The words, one of which a label matches; none if every label does.
    words: Vec<Word>,
    /// True if a label must match none of the words.
    is_not: bool,
    /// How many labels, where that is said.
    count: Option<(usize, usize)>,
}

impl Item {
    fn empty() -> Self {
        Self { words: Vec::new(), is_not: false, count: None }
    }

    fn limits(&self) -> (usize, usize) {
        let usual = if self.words.is_empty() { (0, LEVELS_MAX) } else { (1, 1) };
        self.count.unwrap_or(usual)
    }

    fn matches(&self, label: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| word.matches(label)) != self.is_not
    }
}

/// The characters of a pattern that are left, and the number of the next one.
struct Scan<'a> {
    rest: std::str::Chars<'a>,
    character: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn next(&mut self) -> Option<char> {
        self.character += 1;
        self.rest.next()
    }

    fn wrong(&self) -> Error {
        syntax_error("lquery", self.character)
    }

    /// Words with `|` between.
    fn words(&mut self, words: &mut Vec<Word>) -> Result<()> {
        loop {
            let mut word = Word::default();
            let mut flags = 0;
            loop {
                match self.peek() {
                    Some(c) if is_label(c) && !word.has_flags() => word.text.push(c),
                    Some(c @ ('*' | '@' | '%')) => {
                        word.take_flag(c);
                        flags += 1;
                    }
                    None | Some('|' | '{' | '.') => break,
                    Some(_) => return Err(self.wrong()),
                }
                self.next();
            }
            check_label("lquery", word.text.chars().count(), self.character - flags)?;
            words.push(word);
            if words.len() > usize::from(u16::MAX) {
                let error = Error::new(
                    SqlState::PROGRAM_LIMIT_EXCEEDED,
                    "lquery level has too many variants",
                );
                return Err(error.with_detail(format!(
                    "Number of variants exceeds the maximum allowed ({}).",
                    u16::MAX
                )));
            }
            if self.peek() != Some('|') {
                return Ok(());
            }
            self.next();
            match self.peek() {
                Some(c) if is_label(c) => {}
                Some(_) => return Err(self.wrong()),
                None => return Err(unexpected_end("lquery")),
            }
        }
    }

    /// A number of labels; `end` says which end it is.
    fn number(&mut self, end: &str) -> Result<usize> {
        let character = self.character;
        let mut number = 0_usize;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit as usize);
            self.next();
        }
        if number > LEVELS_MAX {
            let error = Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "lquery syntax error");
            return Err(error.with_detail(format!(
                "{end} limit ({number}) exceeds the maximum allowed ({LEVELS_MAX}), at character {character}."
            )));
        }
        Ok(number)
    }

    /// `{2}`, `{2,}`, `{,3}` or `{2,3}`.
    fn count(&mut self) -> Result<(usize, usize)> {
        self.next();
        let low = match self.peek() {
            Some('0'..='9') => Some(self.number("Low")?),
            Some(',') => None,
            Some(_) => return Err(self.wrong()),
            None => return Err(unexpected_end("lquery")),
        };
        let count = match (self.peek(), low) {
            (Some('}'), Some(low)) => (low, low),
            (Some(','), _) => {
                self.next();
                let (low, character) = (low.unwrap_or(0), self.character);
                match self.peek() {
                    Some('0'..='9') => {
                        let high = self.number("High")?;
                        if low > high {
                            let error = Error::new(SqlState::SYNTAX_ERROR, "lquery syntax error");
                            return Err(error.with_detail(format!(
                                "Low limit ({low}) is greater than high limit ({high}), at character {character}."
                            )));
                        }
                        (low, high)
                    }
                    Some('}') => (low, LEVELS_MAX),
                    Some(_) => return Err(self.wrong()),
                    None => return Err(unexpected_end("lquery")),
                }
            }
            (Some(_), _) => return Err(self.wrong()),
            (None, _) => return Err(unexpected_end("lquery")),
        };
        match self.peek() {
            Some('}') => self.next(),
            Some(_) => return Err(self.wrong()),
            None => return Err(unexpected_end("lquery")),
        };
        Ok(count)
    }

    fn item(&mut self) -> Result<Item> {
        let mut item = Item::empty();
        match self.peek() {
            Some('*') => {
                self.next();
            }
            Some('!') => {
                self.next();
                item.is_not = true;
                self.words(&mut item.words)?;
            }
            Some(c) if is_label(c) => self.words(&mut item.words)?,
            Some(_) => return Err(self.wrong()),
            None => return Err(unexpected_end("lquery")),
        }
        if self.peek() == Some('{') {
            item.count = Some(self.count()?);
        }
        Ok(item)
    }
}

impl Lquery {
    /// The pattern that a text is.
    ///
    /// # Errors
    /// 42601 for a text that is none, 42622 for a label that is too long, 54000 for too many items.
    pub fn parse(text: &str) -> Result<Self> {
        let count = text.bytes().filter(|byte| *byte == b'.').count() + 1;
        if count > LEVELS_MAX {
            let message = format!(
                "number of lquery items ({count}) exceeds the maximum allowed ({LEVELS_MAX})"
            );
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let mut scan = Scan { rest: text.chars(), character: 1 };
        let mut items = Vec::with_capacity(count);
        loop {
            items.push(scan.item()?);
            match scan.peek() {
                None => return Ok(Self(items)),
                Some('.') => scan.next(),
                Some(_) => return Err(scan.wrong()),
            };
        }
    }

    /// True if the whole of a path matches.
    ///
    /// # Errors
    /// 57014 where the statement is to stop.
    pub fn matches(&self, path: Ltree<'_>) -> Result<bool> {
        let labels = texts(path)?;
        // Which numbers of labels, from the top, the items so far match.
        let mut reached = vec![false; labels.len() + 1];
        reached[0] = true;
        let mut pace = interrupt::Pace::new();
        for item in &self.0 {
            let (low, high) = item.limits();
            let matched: Vec<bool> = labels.iter().map(|label| item.matches(label)).collect();
            let mut next = vec![false; labels.len() + 1];
            for start in (0..=labels.len()).filter(|start| reached[*start]) {
                for count in 0..=high.min(labels.len() - start) {
                    pace.step(1)?;
                    if count > 0 && !matched[start + count - 1] {
                        break;
                    }
                    next[start + count] |= count >= low;
                }
            }
            reached = next;
        }
        Ok(reached[labels.len()])
    }
}

impl std::fmt::Display for Lquery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, item) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_char('.')?;
            }
            if item.is_not {
                f.write_char('!')?;
            }
            let mut words = String::new();
            for (at, word) in item.words.iter().enumerate() {
                if at > 0 {
                    words.push('|');
                }
                word.write(&mut words);
            }
            f.write_str(if item.words.is_empty() { "*" } else { &words })?;
            let is_usual = item.words.is_empty() && item.limits() == (0, LEVELS_MAX);
            match item.count.filter(|_| !is_usual) {
                None => {}
                Some((low, high)) if low == high => write!(f, "{{{low}}}")?,
                Some((0, LEVELS_MAX)) => f.write_str("{,}")?,
                Some((0, high)) => write!(f, "{{,{high}}}")?,
                Some((low, LEVELS_MAX)) => write!(f, "{{{low},}}")?,
                Some((low, high)) => write!(f, "{{{low},{high}}}")?,
            }
        }
        Ok(())
    }
}
