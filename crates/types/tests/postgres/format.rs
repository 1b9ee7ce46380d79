//! Templates.

use types::format::{DateTemplate, NumberTemplate};
use types::time::{Interval, IntervalFields, Timestamp, TimestampTz};
use types::{Context, Error};

use crate::check;

fn template(fields: &[String], context: &Context<'_>) -> Result<String, Error> {
    let [kind, value, template] = fields else { panic!("three fields: {fields:?}") };
    let (style, zone) = (context.style, &context.style.time_zone);
    let written = match kind.as_str() {
        "ts" => DateTemplate::new(template).timestamp(Timestamp::parse(value, context)?)?,
        "tstz" => {
            DateTemplate::new(template).timestamptz(TimestampTz::parse(value, context)?, zone)?
        }
        "iv" => {
            let interval = Interval::parse(value, style.interval_style, IntervalFields::ALL)?;
            DateTemplate::new(template).interval(interval)?
        }
        "to_timestamp" => {
            let at = DateTemplate::new(template).parse_timestamptz(value, zone)?;
            let mut text = String::new();
            at.write(style, &mut text);
            Some(text)
        }
        "to_date" => {
            let date = DateTemplate::new(template).parse_date(value)?;
            let mut text = String::new();
            date.write(style, &mut text);
            Some(text)
        }
        "int4" => Some(NumberTemplate::new(template)?.int4(value.parse().expect("a number"))?),
        "int8" => Some(NumberTemplate::new(template)?.int8(value.parse().expect("a number"))?),
        "float4" => Some(NumberTemplate::new(template)?.float4(value.parse().expect("a number"))?),
        "float8" => Some(NumberTemplate::new(template)?.float8(value.parse().expect("a number"))?),
        "numeric" => {
            Some(NumberTemplate::new(template)?.numeric(&value.parse().expect("a number"))?)
        }
        "to_number" => NumberTemplate::new(template)?.parse(value)?.map(|n| n.to_string()),
        other => panic!("no such function: {other}"),
    };
    Ok(written.unwrap_or_else(|| "NULL".to_owned()))
}

#[test]
fn templates() {
    check(include_str!("data/format.tsv"), template);
}
