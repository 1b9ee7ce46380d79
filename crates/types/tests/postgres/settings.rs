//! Settings that text forms depend on, and codes of errors.

use types::{ByteaOutput, Context, Error, IntervalStyle, SqlState, Style};

use crate::check;

/// A setting is changed from its default, and shown.
fn set_and_show(fields: &[String], _: &Context<'_>) -> Result<String, Error> {
    let [name, value] = fields else { panic!("two fields: {fields:?}") };
    let mut style = Style::default();
    Ok(match name.as_str() {
        "DateStyle" => {
            style.set_date_style(value)?;
            style.date_style().to_owned()
        }
        "TimeZone" => {
            style.set_time_zone(value)?;
            style.time_zone.to_string()
        }
        "IntervalStyle" => IntervalStyle::parse(value)?.name().to_owned(),
        "bytea_output" => ByteaOutput::parse(value)?.name().to_owned(),
        other => panic!("no such setting: {other}"),
    })
}

#[test]
fn settings() {
    check(include_str!("data/settings.tsv"), set_and_show);
}

/// Codes are found by their conditions and the other way round; two classes share some names.
#[test]
fn codes_and_conditions() {
    assert_eq!(SqlState::DIVISION_BY_ZERO.code(), "22012");
    assert_eq!(SqlState::DIVISION_BY_ZERO.class(), "22");
    assert_eq!(SqlState::from_code("22012"), Some(SqlState::DIVISION_BY_ZERO));
    assert_eq!(SqlState::DIVISION_BY_ZERO.condition(), Some("division_by_zero"));
    let codes = |name| SqlState::from_condition(name).map(|state| state.to_string());
    assert_eq!(codes("unique_violation").collect::<Vec<_>>(), ["23505"]);
    assert_eq!(codes("string_data_right_truncation").collect::<Vec<_>>(), ["01004", "22001"]);
    assert_eq!(codes("no_such_condition").next(), None);
    assert_eq!(SqlState::from_code("2201"), None);
    assert_eq!(SqlState::from_code("2201x"), None);
    let unknown = SqlState::from_code("ZZ999").expect("five characters");
    assert_eq!(unknown.condition(), None);
}
