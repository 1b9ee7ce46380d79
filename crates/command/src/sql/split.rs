//! Text to statements: the end of each, by the quotes and comments of SQL.
//!
//! ```text
//!   select ';', $$;$$ -- ;        the end is the last one
//!   from t;
//!   \d t                          a command of the shell is a line of its own
//! ```

/// A statement, or a command of the shell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// SQL, without its semicolon.
    Statement(String),
    /// A line that begins with a backslash.
    Meta(String),
}

/// The construct that the text is inside of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum Inside {
    #[default]
    Nothing,
    /// `'...'`; true for `E'...'`, where a backslash escapes.
    String(bool),
    Name,
    /// `$tag$ ... $tag$`
    Dollar(String),
    /// `/* ... */`, so many deep.
    Comment(usize),
}

/// Splits lines as they come.
#[derive(Default, Debug)]
pub(super) struct Splitter {
    text: String,
    inside: Inside,
    /// Lines that were taken in before the one at hand.
    lines: usize,
    /// The number of the line, from 1, in which `text` begins.
    first: usize,
}

impl Splitter {
    /// Takes a line; returns the pieces that end in it, each with the number of the line in which it begins.
    pub(super) fn feed(&mut self, line: &str) -> Vec<(Piece, usize)> {
        self.lines += 1;
        if self.is_empty() && line.trim_start().starts_with('\\') {
            self.text.clear();
            return vec![(Piece::Meta(line.trim().to_owned()), self.lines)];
        }
        let mut pieces = Vec::new();
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let taken = self.step(rest, c);
            if taken == 0 {
                let statement = std::mem::take(&mut self.text);
                if !statement.trim().is_empty() {
                    pieces.push((Piece::Statement(statement.trim().to_owned()), self.first));
                }
                rest = &rest[1..];
                continue;
            }
            if self.text.trim().is_empty() {
                self.first = self.lines;
            }
            self.text.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
        self.text.push('\n');
        pieces
    }

    /// The unfinished statement, and the line in which it begins.
    pub(super) fn rest(self) -> Option<(String, usize)> {
        let rest = self.text.trim();
        (!rest.is_empty()).then(|| (rest.to_owned(), self.first))
    }

    /// The lines of the statement that has begun.
    pub(super) fn begun(&self) -> &str {
        &self.text
    }

    /// True if no statement has begun.
    pub(super) fn is_empty(&self) -> bool {
        self.inside == Inside::Nothing && self.text.trim().is_empty()
    }

    /// How many bytes of `rest`, which begins with `c`, belong together; 0 at the end of a statement.
    fn step(&mut self, rest: &str, c: char) -> usize {
        let one = c.len_utf8();
        match &mut self.inside {
            Inside::Nothing => match c {
                ';' => return 0,
                '\'' => self.inside = Inside::String(self.text.ends_with(['e', 'E'])),
                '"' => self.inside = Inside::Name,
                '-' if rest.starts_with("--") => return rest.len(),
                '/' if rest.starts_with("/*") => {
                    self.inside = Inside::Comment(1);
                    return 2;
                }
                '$' => {
                    if let Some(tag) = dollar_tag(rest) {
                        self.inside = Inside::Dollar(tag.to_owned());
                        return tag.len();
                    }
                }
                _ => {}
            },
            Inside::String(true) if c == '\\' => {
                return one + rest[one..].chars().next().map_or(0, char::len_utf8);
            }
            Inside::String(_) if c == '\'' => self.inside = Inside::Nothing,
            Inside::Name if c == '"' => self.inside = Inside::Nothing,
            Inside::Dollar(tag) if rest.starts_with(tag.as_str()) => {
                let length = tag.len();
                self.inside = Inside::Nothing;
                return length;
            }
            Inside::Comment(depth) if rest.starts_with("/*") => {
                *depth += 1;
                return 2;
            }
            Inside::Comment(depth) if rest.starts_with("*/") => {
                *depth -= 1;
                if *depth == 0 {
                    self.inside = Inside::Nothing;
                }
                return 2;
            }
            _ => {}
        }
        one
    }
}

/// The `$tag$` that a text begins with.
pub(super) fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 1;
    let tag = &text[1..end];
    let named = tag.chars().all(|c| c.is_alphanumeric() || c == '_');
    let starts = tag.chars().next().is_none_or(|c| !c.is_ascii_digit());
    (named && starts).then(|| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut all: Vec<String> = text
            .lines()
            .flat_map(|line| splitter.feed(line))
            .map(|(piece, _)| match piece {
                Piece::Statement(text) => text,
                Piece::Meta(line) => format!("<{line}>"),
            })
            .collect();
        all.extend(splitter.rest().map(|(rest, _)| rest));
        all
    }

    #[test]
    fn statements_end_at_semicolons_that_are_not_quoted() {
        assert_eq!(split("select 1; select 2;\nselect 3"), ["select 1", "select 2", "select 3"]);
        assert_eq!(
            split("select ';', \"a;b\", E'\\';' , $$;$$, $x$ $$;$x$;"),
            ["select ';', \"a;b\", E'\\';' , $$;$$, $x$ $$;$x$"]
        );
        assert_eq!(
            split("select 1 -- ;\n/* ; /* ; */ ; */;"),
            ["select 1 -- ;\n/* ; /* ; */ ; */"]
        );
        assert_eq!(split(";;\n ;"), Vec::<String>::new());
        assert_eq!(split("select $1;"), ["select $1"]);
    }

    /// A statement begins where its first word or comment stands.
    #[test]
    fn lines_are_counted() {
        let mut splitter = Splitter::default();
        let text = "\nselect 1;\n\n -- why\nselect\n2; select 3;\n\\d\n\nselect 4\n";
        let lines = text.lines().flat_map(|line| splitter.feed(line)).map(|(_, line)| line);
        assert_eq!(lines.collect::<Vec<_>>(), [2, 4, 6, 7]);
        assert_eq!(splitter.rest(), Some(("select 4".to_owned(), 9)));
    }

    #[test]
    fn commands_of_the_shell_stand_alone() {
        assert_eq!(split("\\d t\nselect\n\\d;"), ["<\\d t>", "select\n\\d"]);
    }
}
