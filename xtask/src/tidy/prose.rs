//! Rules about the English of comments and of Markdown: a sentence names its actor.
//!
//! ```text
//!   /// What a plan reads.   ──> a sentence ──> begins with `What`: found
//!   /// Returns the tables that a plan reads.                       quiet
//! ```
//!
//! Lines that follow one another are put together, and cut into paragraphs, list
//! items, cells of tables and sentences. Code in fences is left out. A question
//! may begin as it likes.

use super::{Finding, Tree, scan};

/// Words that a sentence does not begin with: they stand for an actor that has a name.
const OPENINGS: &[&str] = &[
    "What",
    "Who",
    "Whoever",
    "Whom",
    "That which",
    "Those that",
    "Those which",
    "Those who",
    "One that",
    "One which",
    "One who",
    "He who",
];

/// Phrases that make a reader look back for the verb or for the actor.
const PHRASES: &[&str] = &[
    "so does",
    "so do",
    "so did",
    "that which",
    "whoever",
    "is there for",
    "are there for",
    "true where",
    "false where",
    "fails where",
];

/// No sentence begins with a pronoun in the place of its actor.
pub(super) fn openings(tree: &Tree) -> Vec<Finding> {
    sentences(tree, |sentence| {
        let opening = OPENINGS.iter().find(|opening| begins_with(sentence, opening))?;
        (!sentence.ends_with('?')).then(|| {
            format!("a sentence begins with `{opening}`: name the actor, or say what is returned")
        })
    })
}

/// No sentence has one of the [`PHRASES`].
pub(super) fn phrases(tree: &Tree) -> Vec<Finding> {
    sentences(tree, |sentence| {
        let sentence = without_code(sentence).to_lowercase();
        let phrase = PHRASES.iter().find(|phrase| {
            sentence.match_indices(*phrase).any(|(at, _)| scan::is_word(&sentence, at, phrase))
        })?;
        Some(match phrase.ends_with(" where") {
            true => format!("a sentence has `{phrase}`: a condition begins with `if`"),
            false => format!("a sentence has `{phrase}`: name the actor, then the verb"),
        })
    })
}

/// The findings of a rule on the sentences of all comments in Rust, and of all Markdown.
fn sentences(tree: &Tree, rule: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let comments = tree.ending("rs").map(|(path, text)| (path, paragraphs(text)));
    let pages = tree.ending("md").map(|(path, text)| (path, paragraphs_of_markdown(text)));
    for (path, paragraphs) in comments.chain(pages) {
        for (line, sentence) in paragraphs.iter().flat_map(Paragraph::sentences) {
            findings.extend(rule(sentence).map(|message| Finding::new(path, line, message)));
        }
    }
    findings
}

/// A paragraph or a list item, its lines joined by spaces.
#[derive(Default)]
struct Paragraph {
    text: String,
    /// Where each line begins in `text`, and its number.
    lines: Vec<(usize, usize)>,
}

impl Paragraph {
    fn push(&mut self, number: usize, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(line);
    }

    /// The sentences, each with the number of the line in which it begins.
    fn sentences(&self) -> Vec<(usize, &str)> {
        let mut sentences = Vec::new();
        let mut from = 0;
        let bytes = self.text.as_bytes();
        for at in 0..bytes.len() {
            let ends = matches!(bytes[at], b'.' | b'!' | b'?');
            if at + 1 == bytes.len() || (ends && bytes[at + 1] == b' ') {
                let line = self.lines.iter().rev().find(|(begin, _)| *begin <= from);
                sentences.push((line.map_or(0, |(_, line)| *line), self.text[from..=at].trim()));
                from = (at + 2).min(bytes.len());
            }
        }
        sentences
    }
}

/// The paragraphs of all line comments of a file.
fn paragraphs(text: &str) -> Vec<Paragraph> {
    let mut pages = Paragraphs::default();
    let (mut last, mut marker) = (0, "");
    for (offset, comment) in scan::line_comments(text) {
        let number = scan::line_of(text, offset);
        let begin = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let is_alone = text[begin..offset].trim().is_empty();
        let mark = if is_alone { marker_of(comment) } else { "" };
        if number != last + 1 || mark != marker || mark.is_empty() {
            pages.begin_text();
        }
        (last, marker) = (number, mark);
        pages.line(number, comment[marker_of(comment).len()..].trim());
    }
    pages.done
}

/// The paragraphs of a page of Markdown.
fn paragraphs_of_markdown(text: &str) -> Vec<Paragraph> {
    let mut page = Paragraphs::default();
    for (number, line) in (1..).zip(text.lines()) {
        page.line(number, line.trim());
    }
    page.done
}

/// Puts lines together to paragraphs.
#[derive(Default)]
struct Paragraphs {
    /// The paragraphs so far; a line goes on with the last one.
    done: Vec<Paragraph>,
    /// True inside of a fence.
    is_code: bool,
}

impl Paragraphs {
    fn begin_text(&mut self) {
        self.is_code = false;
        self.begin();
    }

    fn begin(&mut self) {
        self.done.push(Paragraph::default());
    }

    fn line(&mut self, number: usize, line: &str) {
        if line.starts_with("```") {
            self.is_code = !self.is_code;
            return self.begin();
        }
        if self.is_code {
            return;
        }
        if let Some(row) = line.strip_prefix('|') {
            for cell in row.split('|') {
                self.begin();
                self.push(number, cell.trim());
            }
            return self.begin();
        }
        let item = item_of(line);
        if line.is_empty() || item.is_some() {
            self.begin();
        }
        self.push(number, item.unwrap_or(line));
        if line.starts_with('#') {
            self.begin();
        }
    }

    fn push(&mut self, number: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.done.last_mut() {
            Some(paragraph) => paragraph.push(number, text),
            None => {
                self.begin();
                self.push(number, text);
            }
        }
    }
}

/// The slashes with which a comment begins: `//`, `///` or `//!`.
fn marker_of(comment: &str) -> &str {
    let length = match comment.as_bytes().get(2) {
        Some(b'/' | b'!') => 3,
        _ => 2,
    };
    &comment[..length.min(comment.len())]
}

/// The text of a list item or heading; none for any other line.
fn item_of(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(['#', '*', '-']);
    if rest.len() < line.len() && (rest.is_empty() || rest.starts_with(' ')) {
        return Some(rest.trim());
    }
    let rest = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let item = rest.strip_prefix(". ").filter(|_| rest.len() < line.len());
    item.map(str::trim)
}

/// The sentence without its code in backquotes.
fn without_code(sentence: &str) -> String {
    sentence.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// True if the sentence begins with these words, emphasised or not.
fn begins_with(sentence: &str, words: &str) -> bool {
    let sentence = sentence.trim_start_matches('*');
    sentence.starts_with(words) && scan::is_word(sentence, 0, words)
}
