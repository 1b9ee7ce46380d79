//! Regular expressions as PostgreSQL writes them, run by the `regex` crate.
//!
//! PostgreSQL's are "advanced regular expressions". Most of their syntax means the same in the
//! crate; this module reads a pattern piece by piece and writes the crate's spelling of each:
//!
//! ```text
//!   .  [^a]            with newlines excluded or not        \y \m \M \A \Z   \b \b{start} \b{end} \A \z
//!   ^  $               of the text, or of each line         \d \w \s         digits, words, space
//!   [[:alpha:]] [a[]   classes; a bracket is no set         \x41 \u0041 …    characters
//!   {2,3}  *?  (?:a)   as they are                          {  alone         \{
//! ```
//!
//! What has no counterpart is refused with a message that says so: back references and look-around.
//! In exchange, matching takes time that is linear in the text, whatever the pattern.

use std::iter::Peekable;
use std::str::Chars;

use super::error::PathError;

/// The switches of `like_regex`, in the order in which they are printed.
const FLAGS: [char; 5] = ['i', 's', 'm', 'x', 'q'];

/// Repetitions that a quantifier may ask for, at most.
const REPEAT_MAX: u32 = 255;

/// The pattern of a `like_regex`, compiled.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    source: String,
    flags: String,
    regex: regex::Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.source, &self.flags) == (&other.source, &other.flags)
    }
}

impl Pattern {
    /// Compiles a pattern with the flags of XQuery.
    pub fn new(source: String, flags: &str) -> Result<Pattern, PathError> {
        if let Some(unknown) = flags.chars().find(|flag| !FLAGS.contains(flag)) {
            let what = "Unrecognized flag character";
            let detail = format!("{what} \"{unknown}\" in LIKE_REGEX predicate.");
            return Err(PathError::Meaning { detail });
        }
        let flag = |flag: char| flags.contains(flag);
        if flag('x') && !flag('q') {
            let what = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(PathError::Unsupported(what));
        }
        let mut mode = Mode {
            ignore_case: flag('i'),
            literal: flag('q'),
            dot_is_all: flag('s'),
            line_anchors: flag('m'),
        };
        let pattern = if mode.literal { &source } else { mode.read_prefix(&source)? };
        let syntax = match mode.literal {
            true => regex::escape(pattern),
            false => Translator::new(pattern, mode).run()?,
        };
        let regex = regex::RegexBuilder::new(&syntax).case_insensitive(mode.ignore_case).build();
        let regex = regex.map_err(|error| {
            PathError::Regex(match error {
                regex::Error::CompiledTooBig(_) => "regular expression is too complex".to_owned(),
                other => other.to_string(),
            })
        })?;
        let flags = FLAGS.iter().filter(|known| flag(**known)).collect();
        Ok(Pattern { source, flags, regex })
    }

    /// The pattern as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The flags, each once.
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// True where the pattern occurs in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// How a pattern is to be read.
#[derive(Clone, Copy)]
struct Mode {
    ignore_case: bool,
    /// No character means anything but itself.
    literal: bool,
    /// `.` and `[^a]` match newlines.
    dot_is_all: bool,
    /// `^` and `$` match behind and before newlines.
    line_anchors: bool,
}

impl Mode {
    /// Takes in what the pattern itself says at its front (`***=`, `***:`, `(?i)`), and returns the
    /// rest of it.
    fn read_prefix<'p>(&mut self, pattern: &'p str) -> Result<&'p str, PathError> {
        if let Some(rest) = pattern.strip_prefix("***=") {
            self.literal = true;
            return Ok(rest);
        }
        let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
        let options = pattern
            .strip_prefix("(?")
            .filter(|options| options.starts_with(|c: char| c.is_ascii_alphabetic()));
        let Some((options, rest)) = options.and_then(|options| options.split_once(')')) else {
            return Ok(pattern);
        };
        for option in options.chars() {
            match option {
                'i' => self.ignore_case = true,
                'c' => self.ignore_case = false,
                's' => (self.dot_is_all, self.line_anchors) = (true, false),
                'n' | 'm' => (self.dot_is_all, self.line_anchors) = (false, true),
                'p' => (self.dot_is_all, self.line_anchors) = (false, false),
                'w' => (self.dot_is_all, self.line_anchors) = (true, true),
                'q' => self.literal = true,
                't' => {}
                'b' | 'e' | 'x' => {
                    let what = "this option of regular expressions is not supported";
                    return Err(PathError::Unsupported(what));
                }
                _ => return Err(refused("invalid embedded option")),
            }
        }
        Ok(rest)
    }
}

/// What stands before a place, as far as a quantifier there cares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing that could be repeated.
    Nothing,
    Atom,
    Quantifier,
}

struct Translator<'a> {
    chars: Peekable<Chars<'a>>,
    mode: Mode,
    out: String,
    before: Before,
    /// Groups that are open.
    open: usize,
    /// Groups so far that a back reference could name.
    groups: u32,
}

fn refused(what: &str) -> PathError {
    PathError::Regex(what.to_owned())
}

const BAD_PARENTHESES: &str = "parentheses () not balanced";
const BAD_BRACKETS: &str = "brackets [] not balanced";
const BAD_BRACES: &str = "braces {} not balanced";
const BAD_QUANTIFIER: &str = "quantifier operand invalid";
const BAD_COUNT: &str = "invalid repetition count(s)";
const BAD_ESCAPE: &str = "invalid escape \\ sequence";
const BAD_CLASS: &str = "invalid character class";
const BAD_RANGE: &str = "invalid character range";
const BAD_COLLATING: &str = "invalid collating element";

impl<'a> Translator<'a> {
    fn new(pattern: &'a str, mode: Mode) -> Translator<'a> {
        Translator {
            chars: pattern.chars().peekable(),
            mode,
            out: String::with_capacity(pattern.len() + 8),
            before: Before::Nothing,
            open: 0,
            groups: 0,
        }
    }

    fn run(mut self) -> Result<String, PathError> {
        while let Some(c) = self.chars.next() {
            self.piece(c)?;
        }
        if self.open > 0 {
            return Err(refused(BAD_PARENTHESES));
        }
        Ok(self.out)
    }

    fn atom(&mut self, syntax: &str) {
        self.out.push_str(syntax);
        self.before = Before::Atom;
    }

    /// Something that matches no character and cannot be repeated.
    fn constraint(&mut self, syntax: &str) {
        self.out.push_str(syntax);
        self.before = Before::Nothing;
    }

    fn literal(&mut self, c: char) {
        push_literal(c, &mut self.out);
        self.before = Before::Atom;
    }

    fn piece(&mut self, c: char) -> Result<(), PathError> {
        match c {
            '.' => self.atom(if self.mode.dot_is_all { "(?s:.)" } else { "." }),
            '^' => self.constraint(if self.mode.line_anchors { "(?m:^)" } else { "\\A" }),
            '$' => self.constraint(if self.mode.line_anchors { "(?m:$)" } else { "\\z" }),
            '|' => self.constraint("|"),
            '(' => self.group()?,
            ')' if self.open > 0 => {
                self.open -= 1;
                self.atom(")");
            }
            ')' => return Err(refused(BAD_PARENTHESES)),
            '[' => self.brackets()?,
            '*' | '+' | '?' => self.quantifier(&c.to_string())?,
            '{' if self.chars.peek().is_some_and(char::is_ascii_digit) => {
                self.can_repeat()?;
                let bounds = self.bounds()?;
                self.quantifier(&bounds)?;
            }
            '\\' => self.escape()?,
            c => self.literal(c),
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), PathError> {
        self.open += 1;
        if self.chars.next_if_eq(&'?').is_none() {
            self.groups += 1;
            self.constraint("(");
            return Ok(());
        }
        match self.chars.next() {
            Some(':') => self.constraint("(?:"),
            Some('=' | '!' | '<') => {
                let what = "look-around constraints of regular expressions are not supported";
                return Err(PathError::Unsupported(what));
            }
            _ => return Err(refused(BAD_QUANTIFIER)),
        }
        Ok(())
    }

    /// Proves that there is something to repeat.
    fn can_repeat(&self) -> Result<(), PathError> {
        if self.before == Before::Atom { Ok(()) } else { Err(refused(BAD_QUANTIFIER)) }
    }

    fn quantifier(&mut self, syntax: &str) -> Result<(), PathError> {
        self.can_repeat()?;
        self.out.push_str(syntax);
        // Whether it is greedy makes no difference to whether there is a match.
        self.chars.next_if_eq(&'?');
        self.before = Before::Quantifier;
        Ok(())
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(10)) {
            self.chars.next();
            number = Some((number.unwrap_or(0) * 10 + digit).min(REPEAT_MAX + 1));
        }
        number
    }

    fn bounds(&mut self) -> Result<String, PathError> {
        let least = self.number().ok_or_else(|| refused(BAD_COUNT))?;
        let most = match self.chars.next_if_eq(&',') {
            Some(_) => self.number(),
            None => Some(least),
        };
        match self.chars.next() {
            Some('}') => {}
            None => return Err(refused(BAD_BRACES)),
            Some(_) => return Err(refused(BAD_COUNT)),
        }
        if least.max(most.unwrap_or(0)) > REPEAT_MAX || most.is_some_and(|most| most < least) {
            return Err(refused(BAD_COUNT));
        }
        Ok(match most {
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        })
    }

    /// What a backslash makes of the characters behind it, outside brackets.
    fn escape(&mut self) -> Result<(), PathError> {
        let Some(&c) = self.chars.peek() else { return Err(refused(BAD_ESCAPE)) };
        match c {
            'A' => self.constraint("\\A"),
            'Z' => self.constraint("\\z"),
            'm' => self.constraint("\\b{start}"),
            'M' => self.constraint("\\b{end}"),
            'y' => self.constraint("\\b"),
            'Y' => self.constraint("\\B"),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                self.out.push('[');
                push_shorthand(c, &mut self.out);
                self.out.push(']');
                self.before = Before::Atom;
            }
            '1'..='9' if c.to_digit(10) > Some(self.groups) => {
                return Err(refused("invalid backreference number"));
            }
            '1'..='9' => {
                let what = "back references of regular expressions are not supported";
                return Err(PathError::Unsupported(what));
            }
            _ => {
                let c = self.character()?;
                self.literal(c);
                return Ok(());
            }
        }
        self.chars.next();
        Ok(())
    }

    /// The one character that an escape stands for, behind the backslash.
    fn character(&mut self) -> Result<char, PathError> {
        let c = self.chars.next().ok_or_else(|| refused(BAD_ESCAPE))?;
        Ok(match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'c' => match self.chars.next() {
                Some(c) => char::from((c as u32 & 0x1f) as u8),
                None => return Err(refused(BAD_ESCAPE)),
            },
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'u' => self.code(4, 4)?,
            'U' => self.code(8, 8)?,
            'x' => self.code(1, 255)?,
            '0' => '\0',
            c if c.is_ascii_alphanumeric() => return Err(refused(BAD_ESCAPE)),
            c => c,
        })
    }

    /// A character by its number in hexadecimal.
    fn code(&mut self, least: usize, most: usize) -> Result<char, PathError> {
        let (mut code, mut digits) = (0u32, 0);
        while digits < most
            && let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(16))
        {
            self.chars.next();
            code = code.saturating_mul(16).saturating_add(digit);
            digits += 1;
        }
        let c = char::from_u32(code).filter(|_| digits >= least);
        c.ok_or_else(|| refused(BAD_ESCAPE))
    }

    /// A bracket expression, behind its `[`.
    fn brackets(&mut self) -> Result<(), PathError> {
        for (word, syntax) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
            if self.chars.clone().take(word.len()).eq(word.chars()) {
                self.chars.nth(word.len() - 1);
                self.constraint(syntax);
                return Ok(());
            }
        }
        let negated = self.chars.next_if_eq(&'^').is_some();
        let mut inside = String::new();
        let mut first = true;
        loop {
            let c = self.chars.next().ok_or_else(|| refused(BAD_BRACKETS))?;
            if c == ']' && !first {
                break;
            }
            first = false;
            let low = match (self.bracket_item(c, &mut inside)?, self.is_range()) {
                (Some(low), true) => low,
                (Some(low), false) => {
                    push_literal(low, &mut inside);
                    continue;
                }
                (None, true) => return Err(refused(BAD_RANGE)),
                (None, false) => continue,
            };
            self.chars.next();
            let c = self.chars.next().ok_or_else(|| refused(BAD_BRACKETS))?;
            let high = self.bracket_item(c, &mut inside)?.ok_or_else(|| refused(BAD_RANGE))?;
            if low > high {
                return Err(refused(BAD_RANGE));
            }
            push_literal(low, &mut inside);
            inside.push('-');
            push_literal(high, &mut inside);
        }
        let newline = if negated && !self.mode.dot_is_all { "\\n" } else { "" };
        let caret = if negated { "^" } else { "" };
        self.atom(&format!("[{caret}{inside}{newline}]"));
        Ok(())
    }

    /// True where a `-` follows that stands between two ends.
    fn is_range(&mut self) -> bool {
        let mut ahead = self.chars.clone();
        ahead.next() == Some('-') && ahead.next() != Some(']')
    }

    /// One item of a bracket expression: a character, which is returned, or a class, which is
    /// added to `inside`.
    fn bracket_item(&mut self, c: char, inside: &mut String) -> Result<Option<char>, PathError> {
        match c {
            '[' => match self.chars.next_if(|c| matches!(c, ':' | '.' | '=')) {
                Some(':') => {
                    let name = self.until(':')?;
                    inside.push_str(class(&name).ok_or_else(|| refused(BAD_CLASS))?);
                    Ok(None)
                }
                Some(delimiter) => {
                    let name = self.until(delimiter)?;
                    let mut chars = name.chars();
                    match (chars.next(), chars.next()) {
                        (Some(c), None) => Ok(Some(c)),
                        _ => Err(refused(BAD_COLLATING)),
                    }
                }
                None => Ok(Some('[')),
            },
            '\\' => match self.chars.next_if(|c| "dDsSwW".contains(*c)) {
                Some(shorthand) => {
                    push_shorthand(shorthand, inside);
                    Ok(None)
                }
                None => self.character().map(Some),
            },
            c => Ok(Some(c)),
        }
    }

    /// The text up to `delimiter` and `]`, which are taken too.
    fn until(&mut self, delimiter: char) -> Result<String, PathError> {
        let mut name = String::new();
        while let Some(c) = self.chars.next() {
            if c == delimiter && self.chars.next_if_eq(&']').is_some() {
                return Ok(name);
            }
            name.push(c);
        }
        Err(refused(BAD_BRACKETS))
    }
}

fn push_literal(c: char, out: &mut String) {
    // Behind a backslash these two are not themselves; all other punctuation is.
    if c.is_ascii_punctuation() && !matches!(c, '<' | '>') {
        out.push('\\');
    }
    out.push(c);
}

/// What a shorthand means, as the inside of brackets.
fn push_shorthand(shorthand: char, out: &mut String) {
    out.push_str(match shorthand {
        'd' => "0-9",
        'D' => "[^0-9]",
        's' => "\\s",
        'S' => "\\S",
        'w' => "\\w",
        _ => "\\W",
    });
}

/// A named class, as the inside of brackets.
fn class(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => "\\p{Alphabetic}",
        "upper" => "\\p{Uppercase}",
        "lower" => "\\p{Lowercase}",
        "digit" => "0-9",
        "xdigit" => "0-9A-Fa-f",
        "alnum" => "\\p{Alphabetic}0-9",
        "space" => "\\s",
        "blank" => " \\t",
        "punct" => "\\p{Punctuation}\\p{Symbol}",
        "cntrl" => "\\p{Control}",
        "graph" => "[^\\s\\p{Control}\\p{Unassigned}]",
        "print" => "[^\\p{Control}\\p{Unassigned}]",
        "word" => "\\w",
        _ => return None,
    })
}
