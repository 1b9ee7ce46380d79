//! The answers of PostgreSQL 17, as tables, and ours to the same questions.
//!
//! Each line of a table in `data/` is a case whose last field was written down from a real server;
//! `!` begins an error: its code and message, then detail and hint where there are any. Lines that
//! begin with `@` change a setting for those after them. A test goes through a whole table and shows
//! every line that differs.

mod binary;
mod facts;
mod format;
mod order;
mod settings;
mod text;
mod time;

use types::{ByteaOutput, Context, Error, IntervalStyle, Style};

/// Runs `answer` on every case of a table: it is given the fields before the last and what the case
/// depends on, and gives what the last field should be.
fn check(table: &str, answer: impl Fn(&[String], &Context<'_>) -> Result<String, Error>) {
    let mut style = Style::default();
    let mut differences = Vec::new();
    let mut cases = 0;
    for (number, line) in table.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        if let Some(setting) = line.strip_prefix("@ ") {
            set(&mut style, setting);
            continue;
        }
        let mut fields: Vec<String> = line.split('\t').map(unescape).collect();
        let expected = fields.pop().expect("every case has an answer");
        let got = match answer(&fields, &Context::new(&style)) {
            Ok(text) => text,
            Err(error) => describe(&error),
        };
        cases += 1;
        if got != expected {
            differences.push(format!("line {}: {line}\n    got  {got}", number + 1));
        }
    }
    assert!(cases > 0, "the table is empty");
    assert!(
        differences.is_empty(),
        "{} of {cases} cases differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

fn describe(error: &Error) -> String {
    let mut text = format!("!{} {}", error.state(), error.message());
    for more in [error.detail(), error.hint()].into_iter().flatten() {
        text += &format!(" | {more}");
    }
    text
}

fn set(style: &mut Style, setting: &str) {
    let (name, value) = setting.split_once('=').expect("a setting has a value");
    match name {
        "datestyle" => style.set_date_style(value).expect("a date style"),
        "timezone" => style.set_time_zone(value).expect("a time zone"),
        "intervalstyle" => style.interval_style = IntervalStyle::parse(value).expect("a style"),
        "bytea_output" => style.bytea_output = ByteaOutput::parse(value).expect("a form"),
        "extra_float_digits" => style.extra_float_digits = value.parse().expect("a number"),
        other => panic!("no such setting: {other}"),
    }
}

fn unescape(field: &str) -> String {
    let mut text = String::new();
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    text
}

/// The type that a table names: `int4`, `interval day to second(3)`, `text[]`, `"char"`.
fn type_of(name: &str) -> (types::Type, types::Modifier) {
    use types::time::IntervalFields;
    use types::{Modifier, builtin};
    let (element, is_array) = match name.strip_suffix("[]") {
        Some(element) => (element, true),
        None => (name, false),
    };
    let (plain, precision) = match element.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((plain, numbers)) => (plain, numbers),
        None => (element, ""),
    };
    let (base, fields) = match plain.strip_prefix("interval") {
        Some(words) => ("interval", words),
        None => (plain, ""),
    };
    // `char` is a character, `"char"` is a byte.
    let (base, precision) = match (base, precision) {
        ("char", "") => ("bpchar", "1"),
        ("char", length) => ("bpchar", length),
        ("\"char\"", _) => ("char", ""),
        other => other,
    };
    let facts = builtin::by_name(base).unwrap_or_else(|| panic!("no such type: {base}"));
    let mut numbers: Vec<i32> = precision
        .split(',')
        .filter(|n| !n.is_empty())
        .map(|n| n.parse().expect("a number"))
        .collect();
    if base == "interval" && (!fields.is_empty() || !numbers.is_empty()) {
        let all = [
            IntervalFields::ALL,
            IntervalFields::YEAR,
            IntervalFields::MONTH,
            IntervalFields::DAY,
            IntervalFields::HOUR,
            IntervalFields::MINUTE,
            IntervalFields::SECOND,
            IntervalFields::YEAR_TO_MONTH,
            IntervalFields::DAY_TO_HOUR,
            IntervalFields::DAY_TO_MINUTE,
            IntervalFields::DAY_TO_SECOND,
            IntervalFields::HOUR_TO_MINUTE,
            IntervalFields::HOUR_TO_SECOND,
            IntervalFields::MINUTE_TO_SECOND,
        ];
        let fields = all.iter().find(|known| known.words() == fields).expect("fields");
        numbers.insert(0, i32::from(fields.bits()));
    }
    let modifier = match numbers.is_empty() {
        true => Modifier::NONE,
        false => Modifier::parse(facts.ty, &numbers).expect("a modifier"),
    };
    (if is_array { facts.array } else { facts.ty }, modifier)
}
