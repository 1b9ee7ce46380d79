//! From PostgreSQL's advanced regular expressions to the engine's.
//!
//! ```text
//!   \m \M \y \Y \A \Z     ->  \b{start} \b{end} \b \B \A \z
//!   [[:alpha:]_&&]        ->  [[:alpha:]_\&\&]           the engine has operators in brackets
//!   a{,                   ->  a\{,                       a brace without a number is a character
//!   (?i)...  ***=...      ->  flags                      directors and options in front
//! ```

use types::Result;

use super::{Flags, invalid};

/// The expression in the engine's syntax, flags included.
pub(super) fn translate(pattern: &str, mut flags: Flags) -> Result<String> {
    let mut rest = pattern;
    if let Some(literal) = rest.strip_prefix("***=") {
        (rest, flags.quoted) = (literal, true);
    } else if let Some(advanced) = rest.strip_prefix("***:") {
        rest = advanced;
    } else if rest.starts_with("***") {
        return Err(invalid("invalid regexp (reg version 0.8)"));
    }
    // (?flags) in front, but not the other things that begin so.
    if !flags.quoted
        && let Some((letters, after)) = rest.strip_prefix("(?").and_then(|r| r.split_once(')'))
        && !letters.is_empty()
        && letters.bytes().all(|letter| letter.is_ascii_alphabetic())
    {
        for letter in letters.chars() {
            if letter == 'g' || !flags.set(letter) {
                return Err(invalid("invalid embedded option"));
            }
        }
        rest = after;
    }
    let mut out = String::with_capacity(rest.len() + 8);
    out.push_str("(?");
    if flags.any_case {
        out.push('i');
    }
    if !flags.breaks_stop {
        out.push('s');
    }
    if flags.breaks_anchor {
        out.push('m');
    }
    out.push(if out.len() > 2 { ')' } else { ':' });
    let group = out.ends_with(':');
    if flags.quoted {
        rest.chars().for_each(|c| push_literal(c, &mut out));
    } else {
        Translation { chars: rest.chars().collect(), at: 0, flags, out: &mut out }.run()?;
    }
    if group {
        out.push(')');
    }
    Ok(out)
}

/// A character that stands for itself.
fn push_literal(c: char, out: &mut String) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

struct Translation<'a> {
    chars: Vec<char>,
    at: usize,
    flags: Flags,
    out: &'a mut String,
}

impl Translation<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn follows(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    fn run(mut self) -> Result<()> {
        let mut depth = 0_usize;
        // True behind something that a quantifier can repeat.
        let mut repeatable = false;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if matches!(c, '*' | '+' | '?') && !repeatable {
                return Err(invalid("quantifier operand invalid"));
            }
            repeatable = !matches!(c, '(' | '|' | '^');
            match c {
                '\\' => self.escape()?,
                '[' if self.follows("[:<:]]") => self.boundary("\\b{start}"),
                '[' if self.follows("[:>:]]") => self.boundary("\\b{end}"),
                '[' => self.brackets()?,
                '(' if self.follows("?#") => self.comment(),
                '(' => {
                    depth += 1;
                    self.out.push('(');
                    if self.peek(0) == Some('?') {
                        self.group()?;
                    }
                }
                ')' => {
                    depth = depth.checked_sub(1).ok_or_else(unbalanced)?;
                    self.out.push(')');
                }
                '{' if !self.peek(0).is_some_and(|c| c.is_ascii_digit()) => {
                    self.out.push_str("\\{")
                }
                '{' => self.bound()?,
                '}' | ']' => push_literal(c, self.out),
                c if self.flags.expanded && c.is_whitespace() => {}
                '#' if self.flags.expanded => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '*' | '+' | '?' => {
                    self.out.push(c);
                    if matches!(self.peek(0), Some('*' | '+')) {
                        return Err(invalid("quantifier operand invalid"));
                    }
                }
                '^' | '$' | '.' | '|' => self.out.push(c),
                c => push_literal(c, self.out),
            }
        }
        if depth > 0 { Err(unbalanced()) } else { Ok(()) }
    }

    fn boundary(&mut self, translated: &str) {
        self.at += "[:<:]]".len();
        self.out.push_str(translated);
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != ')') {
            self.at += 1;
        }
        self.at += 1;
    }

    /// What follows a parenthesis and a question mark.
    fn group(&mut self) -> Result<()> {
        for form in ["?:", "?=", "?!", "?<=", "?<!"] {
            if self.follows(form) {
                self.at += form.len();
                self.out.push_str(form);
                return Ok(());
            }
        }
        Err(invalid("quantifier operand invalid"))
    }

    /// `{m}`, `{m,}` or `{m,n}`, whose brace was read.
    fn bound(&mut self) -> Result<()> {
        let end = self.chars[self.at..].iter().position(|c| *c == '}');
        let Some(end) = end else { return Err(invalid("braces {} not balanced")) };
        let text: String = self.chars[self.at..self.at + end].iter().collect();
        self.at += end + 1;
        let (low, high) = text.split_once(',').unwrap_or((&text, &text));
        let number = |text: &str| text.parse::<u16>().ok().filter(|n| *n <= 255);
        match (number(low), high.is_empty(), number(high)) {
            (Some(_), true, _) => {}
            (Some(low), false, Some(high)) if low <= high => {}
            _ => return Err(invalid("invalid repetition count(s)")),
        }
        self.out.push_str(&format!("{{{text}}}"));
        Ok(())
    }

    /// An escape outside of brackets, whose backslash was read.
    fn escape(&mut self) -> Result<()> {
        let Some(c) = self.peek(0) else {
            return Err(invalid("invalid escape \\ sequence"));
        };
        self.at += 1;
        match c {
            'd' => self.out.push_str("[0-9]"),
            'D' if self.flags.breaks_stop => self.out.push_str("[^0-9\\n]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' | 's' => self.out.extend(['\\', c]),
            'W' | 'S' if self.flags.breaks_stop => {
                self.out.push_str(&format!("[^\\{}\\n]", c.to_ascii_lowercase()));
            }
            'W' | 'S' => self.out.extend(['\\', c]),
            'm' => self.out.push_str("\\b{start}"),
            'M' => self.out.push_str("\\b{end}"),
            'y' => self.out.push_str("\\b"),
            'Y' => self.out.push_str("\\B"),
            'A' => self.out.push_str("\\A"),
            'Z' => self.out.push_str("\\z"),
            '1'..='9' => {
                let mut number = c.to_string();
                while let Some(digit) = self.peek(0).filter(char::is_ascii_digit) {
                    number.push(digit);
                    self.at += 1;
                }
                // Kept apart from digits that may follow.
                self.out.push_str(&format!("(?:\\{number})"));
            }
            c if c.is_ascii_alphanumeric() => {
                let character = self.character(c)?;
                push_literal(character, self.out);
            }
            c => push_literal(c, self.out),
        }
        Ok(())
    }

    /// The character that an escape with a letter or a zero stands for.
    fn character(&mut self, letter: char) -> Result<char> {
        let unknown = || invalid("invalid escape \\ sequence");
        let mut hex = |least: usize, most: usize| {
            let digits: String = self.chars[self.at..]
                .iter()
                .take(most)
                .take_while(|c| c.is_ascii_hexdigit())
                .collect();
            self.at += digits.len();
            if digits.len() < least {
                return None;
            }
            u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
        };
        Ok(match letter {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' => '\0',
            'c' => {
                let c = self.peek(0).ok_or_else(unknown)?;
                self.at += 1;
                char::from((c as u32 as u8) & 0x1f)
            }
            'x' => hex(1, 8).ok_or_else(unknown)?,
            'u' => hex(4, 4).ok_or_else(unknown)?,
            'U' => hex(8, 8).ok_or_else(unknown)?,
            _ => return Err(unknown()),
        })
    }

    /// A bracket expression, whose bracket was read.
    fn brackets(&mut self) -> Result<()> {
        let unclosed = || invalid("brackets [] not balanced");
        self.out.push('[');
        if self.peek(0) == Some('^') {
            self.at += 1;
            self.out.push('^');
            if self.flags.breaks_stop {
                self.out.push_str("\\n");
            }
        }
        let mut first = true;
        loop {
            let c = self.peek(0).ok_or_else(unclosed)?;
            self.at += 1;
            match c {
                ']' if !first => break,
                '[' if self.peek(0) == Some(':') => self.class()?,
                '[' if matches!(self.peek(0), Some('.' | '=')) => {
                    // A collating element, or the class of what is equivalent to it: one character.
                    let mark = self.peek(0);
                    let c = self.peek(1).ok_or_else(unclosed)?;
                    if self.peek(2) != mark || self.peek(3) != Some(']') {
                        return Err(invalid("invalid collating element"));
                    }
                    self.at += 4;
                    push_literal(c, self.out);
                }
                '\\' => {
                    let c = self.peek(0).ok_or_else(unclosed)?;
                    self.at += 1;
                    match c {
                        'd' => self.out.push_str("0-9"),
                        'w' | 's' | 'W' | 'S' => self.out.extend(['\\', c]),
                        'D' => self.out.push_str("[^0-9]"),
                        c if c.is_ascii_alphanumeric() => {
                            let character = self.character(c)?;
                            push_literal(character, self.out);
                        }
                        c => push_literal(c, self.out),
                    }
                }
                '-' if !first && self.peek(0) != Some(']') => self.out.push('-'),
                c => push_literal(c, self.out),
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    /// `[:alpha:]` within brackets, whose bracket was read.
    fn class(&mut self) -> Result<()> {
        let rest: String = self.chars[self.at + 1..].iter().collect();
        let name = rest.split_once(":]").map(|(name, _)| name).unwrap_or_default();
        // Letters and digits beyond ASCII belong to the classes too.
        let translated = match name {
            "alpha" => "\\p{Alphabetic}",
            "alnum" => "\\p{Alphabetic}\\p{Nd}",
            "lower" => "\\p{Lowercase}",
            "upper" => "\\p{Uppercase}",
            "space" => "\\s",
            "word" => "\\w",
            "digit" => "0-9",
            "xdigit" => "0-9a-fA-F",
            "blank" => " \\t",
            "punct" => "[:punct:]",
            "cntrl" => "[:cntrl:]",
            "graph" => "[:graph:]",
            "print" => "[:print:]",
            "ascii" => "[:ascii:]",
            _ => return Err(invalid("invalid character class")),
        };
        self.at += name.len() + ":".len() + ":]".len();
        self.out.push_str(translated);
        Ok(())
    }
}

fn unbalanced() -> types::Error {
    invalid("parentheses () not balanced")
}
