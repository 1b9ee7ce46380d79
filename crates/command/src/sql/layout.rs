//! The layout of rows for people and for programs.
//!
//! ```text
//!    id | name           -[ RECORD 1 ]-        id,name        [{"id":1,"name":"Ada"}]
//!   ----+------          id   | 1              1,Ada
//!     1 | Ada            name | Ada
//!   (1 row)
//!     table              expanded              csv            json
//! ```

use anywhen::sql::{Oid, Type};

use super::source::Answer;
use crate::args::SqlFormat;
use crate::failure::Outcome;
use crate::visible::on_terminal;
use crate::{json_out, screen};

/// How answers are laid out.
pub(super) struct Layout {
    pub format: SqlFormat,
    pub expanded: Expanded,
    /// The text for NULL in tables.
    pub null: String,
}

/// When each value gets a line of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expanded {
    On,
    Off,
    /// Where the table would be wider than the terminal.
    Auto,
}

/// The rows as texts, and how wide each column is.
struct Cells<'a> {
    heads: Vec<&'a str>,
    rows: &'a [Vec<Option<String>>],
    widths: Vec<usize>,
    /// True for columns of numbers, which stand at the right.
    right: Vec<bool>,
}

impl Layout {
    pub(super) fn new(format: SqlFormat) -> Self {
        Layout { format, expanded: Expanded::Auto, null: String::new() }
    }

    /// Writes an answer to standard output.
    pub(super) fn show(&self, answer: &Answer) -> Outcome {
        if answer.heads.is_empty() {
            return match self.format {
                SqlFormat::Table if !answer.tag.is_empty() => screen::text(&answer.tag),
                _ => Ok(()),
            };
        }
        match self.format {
            SqlFormat::Json => screen::text(&json(answer)),
            SqlFormat::Csv => screen::lines(&csv(answer)),
            SqlFormat::Table => {
                // Escaped before it is measured, so that columns stay where they are.
                let escaped;
                let answer = match on_terminal() {
                    true => {
                        escaped = answer.visible();
                        &escaped
                    }
                    false => answer,
                };
                let cells = Cells::of(answer, &self.null);
                let width = match self.expanded {
                    Expanded::On => 0,
                    Expanded::Off => usize::MAX,
                    Expanded::Auto => terminal_width(),
                };
                match cells.width() > width {
                    true => screen::lines(&cells.expanded(&self.null)),
                    false => screen::lines(&cells.table(&self.null)),
                }
            }
        }
    }
}

/// The width of the terminal; without one there is no limit.
fn terminal_width() -> usize {
    let terminal = console::Term::stdout();
    if terminal.is_term() { usize::from(terminal.size().1) } else { usize::MAX }
}

fn width(text: &str) -> usize {
    text.lines().map(console::measure_text_width).max().unwrap_or(0)
}

fn is_number(oid: Oid) -> bool {
    [Type::INT2, Type::INT4, Type::INT8, Type::FLOAT4, Type::FLOAT8, Type::NUMERIC, Type::OID]
        .iter()
        .any(|ty| ty.oid() == oid)
}

impl<'a> Cells<'a> {
    fn of(answer: &'a Answer, null: &str) -> Cells<'a> {
        let heads: Vec<&str> = answer.heads.iter().map(|head| head.name.as_str()).collect();
        let right = answer.heads.iter().map(|head| is_number(head.ty)).collect();
        let mut widths: Vec<usize> = heads.iter().map(|head| width(head)).collect();
        for row in &answer.rows {
            for (widest, text) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(text.as_deref().unwrap_or(null)));
            }
        }
        Cells { heads, rows: &answer.rows, widths, right }
    }

    fn width(&self) -> usize {
        self.widths.iter().map(|width| width + 3).sum::<usize>().saturating_sub(1)
    }

    fn table(&self, null: &str) -> String {
        let mut out = String::new();
        let heads: Vec<String> = self
            .heads
            .iter()
            .zip(&self.widths)
            .map(|(head, wide)| {
                let space = wide - width(head);
                format!("{}{head}{}", " ".repeat(space / 2), " ".repeat(space - space / 2))
            })
            .collect();
        push_line(&mut out, &heads);
        let rule: Vec<String> = self.widths.iter().map(|width| "-".repeat(width + 2)).collect();
        out += &rule.join("+");
        out.push('\n');
        for row in self.rows {
            // A value of several lines takes as many lines of the table.
            let lines = row.iter().map(|text| text.as_deref().unwrap_or(null).lines().count());
            for line in 0..lines.max().unwrap_or(1).max(1) {
                let cells: Vec<String> = row
                    .iter()
                    .enumerate()
                    .map(|(at, text)| {
                        let text = text.as_deref().unwrap_or(null);
                        let part = text.lines().nth(line).unwrap_or_default();
                        let more = if text.lines().count() > line + 1 { "+" } else { "" };
                        let space = " ".repeat(self.widths[at] - width(part));
                        match self.right[at] {
                            true => format!("{space}{part}{more}"),
                            false => format!("{part}{space}{more}"),
                        }
                    })
                    .collect();
                push_line(&mut out, &cells);
            }
        }
        let s = if self.rows.len() == 1 { "" } else { "s" };
        out + &format!("({} row{s})\n", self.rows.len())
    }

    /// Each value on a line of its own, as psql writes it.
    fn expanded(&self, null: &str) -> String {
        if self.rows.is_empty() {
            return "(0 rows)\n".to_owned();
        }
        let heads = self.heads.iter().map(|head| width(head)).max().unwrap_or(0);
        let values = self.widths_of_values(null);
        let mut out = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            out += &record_line(number + 1, heads, values);
            for (head, text) in self.heads.iter().zip(row) {
                let text = text.as_deref().unwrap_or(null);
                let mut lines: Vec<&str> = text.lines().collect();
                if lines.is_empty() {
                    lines.push("");
                }
                for (at, line) in lines.iter().enumerate() {
                    let head = if at == 0 { head } else { "" };
                    let space = " ".repeat(heads - width(head));
                    // A line that goes on is as wide as the widest value, and has a sign.
                    let more = match at + 1 < lines.len() {
                        true => format!("{}+", " ".repeat(values - width(line))),
                        false => String::new(),
                    };
                    out += &format!("{head}{space} | {line}{more}\n");
                }
            }
        }
        out
    }

    /// The width of the widest value.
    fn widths_of_values(&self, null: &str) -> usize {
        let values = self.rows.iter().flatten().map(|text| width(text.as_deref().unwrap_or(null)));
        values.max().unwrap_or(0)
    }
}

/// `-[ RECORD 1 ]-+----`, where the cross stands above the bars if there is room for it.
fn record_line(number: usize, heads: usize, values: usize) -> String {
    let mut line = format!("-[ RECORD {number} ]");
    while line.len() < heads + 1 {
        line.push('-');
    }
    if line.len() == heads + 1 {
        line.push('+');
    }
    while line.len() < heads + values + 3 {
        line.push('-');
    }
    line + "\n"
}

fn push_line(out: &mut String, cells: &[String]) {
    let line = format!(" {} ", cells.join(" | "));
    *out += line.trim_end();
    out.push('\n');
}

fn csv(answer: &Answer) -> String {
    let quoted = |text: &str| match text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let mut out = String::new();
    let heads: Vec<String> = answer.heads.iter().map(|head| quoted(&head.name)).collect();
    out += &(heads.join(",") + "\n");
    for row in &answer.rows {
        let cell = |text: &Option<String>| text.as_deref().map_or(String::new(), quoted);
        let cells: Vec<String> = row.iter().map(cell).collect();
        out += &(cells.join(",") + "\n");
    }
    out
}

/// The rows as an array of objects; numbers, truth values and JSON as such, all else as strings.
fn json(answer: &Answer) -> String {
    let is_json = |oid: Oid| oid == Type::JSON.oid() || oid == Type::JSONB.oid();
    let value = |text: &Option<String>, ty: Oid| match text {
        None => "null".to_owned(),
        Some(text) if ty == Type::BOOL.oid() => (text == "t").to_string(),
        // There are numbers that JSON does not know: NaN, Infinity.
        Some(text) if is_number(ty) && text.ends_with(|c: char| c.is_ascii_digit()) => text.clone(),
        Some(text) if is_json(ty) => text.clone(),
        Some(text) => json_out::quoted(text),
    };
    json_out::array(answer.rows.iter().map(|row| {
        let mut object = json_out::Object::new();
        for (text, head) in row.iter().zip(&answer.heads) {
            object = object.raw(&head.name, &value(text, head.ty));
        }
        object.end()
    }))
}
