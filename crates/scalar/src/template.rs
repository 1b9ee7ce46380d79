//! Templates: `to_char`, `to_date`, `to_timestamp` and `to_number` under their SQL names.
//!
//! ```text
//!   to_char(1234.5, 'FM9,999.00')              1,234.50
//!   to_timestamp('2 Feb 2024', 'DD Mon YYYY')  2024-02-02 00:00:00+00
//! ```
//!
//! [`types::format`] defines the meaning of a template. All of these are stable in PostgreSQL's
//! catalog, because names of months and signs of numbers could come from a locale.

use numeric::Numeric;
use types::format::{DateTemplate, NumberTemplate};
use types::time::{Interval, Timestamp, TimestampTz};
use types::{Error, Result, SqlState};

use crate::datetime::zone;
use crate::function::{Function, functions};

/// Longest template, in bytes.
const TEMPLATE_BYTES_MAX: usize = 1 << 20;

/// A template that is no longer than it may be.
fn checked(form: &str) -> Result<&str> {
    if form.len() > TEMPLATE_BYTES_MAX {
        let message = format!(
            "template of {} bytes is too long: at most {TEMPLATE_BYTES_MAX} bytes are allowed",
            form.len()
        );
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(form)
}

/// An empty template makes nothing of a number.
fn number(text: Result<String>, form: &str) -> Result<String> {
    if form.is_empty() { Ok(String::new()) } else { text }
}

pub(crate) const TABLE: &[Function] = functions! {
    1768 to_char(INTERVAL, TEXT) -> TEXT [stable] = (a: Interval, form: &str)
        DateTemplate::new(checked(form)?).interval(a);
    1770 to_char(TIMESTAMPTZ, TEXT) -> TEXT [stable] = (call; a: TimestampTz, form: &str)
        DateTemplate::new(checked(form)?).timestamptz(a, zone(call));
    2049 to_char(TIMESTAMP, TEXT) -> TEXT [stable] = (a: Timestamp, form: &str)
        DateTemplate::new(checked(form)?).timestamp(a);
    1772 to_char(NUMERIC, TEXT) -> TEXT [stable] = (a: Numeric, form: &str)
        number(NumberTemplate::new(checked(form)?)?.numeric(&a), form);
    1773 to_char(INT4, TEXT) -> TEXT [stable] = (a: i32, form: &str)
        number(NumberTemplate::new(checked(form)?)?.int4(a), form);
    1774 to_char(INT8, TEXT) -> TEXT [stable] = (a: i64, form: &str)
        number(NumberTemplate::new(checked(form)?)?.int8(a), form);
    1775 to_char(FLOAT4, TEXT) -> TEXT [stable] = (a: f32, form: &str)
        number(NumberTemplate::new(checked(form)?)?.float4(a), form);
    1776 to_char(FLOAT8, TEXT) -> TEXT [stable] = (a: f64, form: &str)
        number(NumberTemplate::new(checked(form)?)?.float8(a), form);

    1778 to_timestamp(TEXT, TEXT) -> TIMESTAMPTZ [stable] = (call; text: &str, form: &str)
        DateTemplate::new(checked(form)?).parse_timestamptz(text, zone(call));
    1780 to_date(TEXT, TEXT) -> DATE [stable] = (text: &str, form: &str)
        DateTemplate::new(checked(form)?).parse_date(text);
    1777 to_number(TEXT, TEXT) -> NUMERIC [stable] = (text: &str, form: &str)
        NumberTemplate::new(checked(form)?)?.parse(text);
};
