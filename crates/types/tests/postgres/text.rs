//! The text form, read and written.

use types::{Context, Error, text};

use crate::{check, type_of};

/// A text is read as a value of the type, and the value is written again.
fn read_and_write(fields: &[String], context: &Context<'_>) -> Result<String, Error> {
    let [name, input] = fields else { panic!("two fields: {fields:?}") };
    let (ty, modifier) = type_of(name);
    let value = text::parse(input, ty, modifier, context)?;
    Ok(text::to_string(value.as_ref(), ty, modifier, context).expect("not NULL"))
}

#[test]
fn plain_types() {
    check(include_str!("data/text.tsv"), read_and_write);
}

#[test]
fn moments() {
    check(include_str!("data/moments.tsv"), read_and_write);
}

#[test]
fn times_and_intervals() {
    check(include_str!("data/intervals.tsv"), read_and_write);
}
