//! Functions and operators on dates and times.

use types::time::{
    Date, Interval, IntervalFields, IntervalParts, Time, TimeTz, Timestamp, TimestampTz, ZoneName,
    overlaps,
};
use types::{Context, Datum, Error, Modifier, Type, text};

use crate::check;

fn shown(value: impl Into<Datum>, context: &Context<'_>) -> String {
    let value = value.into();
    // Values of the kinds that occur here are written alike under each of their types.
    text::to_string(value.as_ref(), Type::TEXT, Modifier::NONE, context).unwrap_or_default()
}

/// Takes values of known kinds out of a case.
struct Case<'a> {
    fields: &'a [String],
    context: &'a Context<'a>,
}

impl Case<'_> {
    fn date(&self, at: usize) -> Result<Date, Error> {
        Date::parse(&self.fields[at], self.context)
    }

    fn time(&self, at: usize) -> Result<Time, Error> {
        Time::parse(&self.fields[at], self.context)
    }

    fn timetz(&self, at: usize) -> Result<TimeTz, Error> {
        TimeTz::parse(&self.fields[at], self.context)
    }

    fn timestamp(&self, at: usize) -> Result<Timestamp, Error> {
        Timestamp::parse(&self.fields[at], self.context)
    }

    fn timestamptz(&self, at: usize) -> Result<TimestampTz, Error> {
        TimestampTz::parse(&self.fields[at], self.context)
    }

    fn interval(&self, at: usize) -> Result<Interval, Error> {
        let style = self.context.style.interval_style;
        Interval::parse(&self.fields[at], style, IntervalFields::ALL)
    }

    fn int(&self, at: usize) -> i32 {
        self.fields[at].parse().expect("an integer")
    }

    fn float(&self, at: usize) -> f64 {
        self.fields[at].parse().expect("a number")
    }
}

fn function(fields: &[String], context: &Context<'_>) -> Result<String, Error> {
    let case = Case { fields, context };
    let names: Vec<&str> = fields.iter().map(String::as_str).collect();
    let zone = &context.style.time_zone;
    let result: Datum = match (names[0], names[1]) {
        ("extract", "date") => case.date(3)?.extract(names[2])?.into(),
        ("extract", "time") => case.time(3)?.extract(names[2])?.into(),
        ("extract", "timetz") => case.timetz(3)?.extract(names[2])?.into(),
        ("extract", "timestamp") => case.timestamp(3)?.extract(names[2])?.into(),
        ("extract", "timestamptz") => case.timestamptz(3)?.extract(names[2], zone)?.into(),
        ("extract", _) => case.interval(3)?.extract(names[2])?.into(),
        ("trunc", "timestamp") => case.timestamp(3)?.trunc(names[2])?.into(),
        ("trunc", "timestamptz") => case.timestamptz(3)?.trunc(names[2], zone)?.into(),
        ("trunc", _) => case.interval(3)?.trunc(names[2])?.into(),
        ("bin", _) => case.timestamp(3)?.bin(case.interval(2)?, case.timestamp(4)?)?.into(),
        ("add", "timestamp") => case.timestamp(2)?.add(case.interval(3)?)?.into(),
        ("add", "timestamptz") => case.timestamptz(2)?.add(case.interval(3)?, zone)?.into(),
        ("add", "time") => case.time(2)?.add(case.interval(3)?)?.into(),
        ("add", "timetz") => case.timetz(2)?.add(case.interval(3)?)?.into(),
        ("add", _) => case.interval(2)?.add(case.interval(3)?)?.into(),
        ("sub", "timestamp") => case.timestamp(2)?.add(case.interval(3)?.negate()?)?.into(),
        ("sub", "timestamptz") => {
            case.timestamptz(2)?.add(case.interval(3)?.negate()?, zone)?.into()
        }
        ("sub", "time") => case.time(2)?.subtract(case.interval(3)?)?.into(),
        ("sub", "timetz") => case.timetz(2)?.subtract(case.interval(3)?)?.into(),
        ("sub", _) => case.interval(2)?.subtract(case.interval(3)?)?.into(),
        ("neg", _) => case.interval(2)?.negate()?.into(),
        ("since", "date") => case.date(2)?.days_since(case.date(3)?)?.into(),
        ("since", "timestamp") => case.timestamp(2)?.since(case.timestamp(3)?)?.into(),
        ("since", _) => case.timestamptz(2)?.since(case.timestamptz(3)?)?.into(),
        ("age", "timestamp") => case.timestamp(2)?.age(case.timestamp(3)?)?.into(),
        ("age", _) => case.timestamptz(2)?.age(case.timestamptz(3)?, zone)?.into(),
        ("add_days", _) => case.date(2)?.add_days(case.int(3).into())?.into(),
        ("at", _) => case.date(2)?.at(case.time(3)?)?.into(),
        ("at_tz", _) => case.date(2)?.at_tz(case.timetz(3)?)?.into(),
        ("cmp", _) => {
            let order = match names[2] {
                "timestamp" => case.date(3)?.cmp_timestamp(case.timestamp(4)?),
                _ => case.date(3)?.cmp_timestamptz(case.timestamptz(4)?, zone),
            };
            (order as i32).into()
        }
        ("to", target) => convert(&case, target)?,
        ("zone", "timestamp") => case.timestamp(2)?.at_zone(&ZoneName::parse(names[3])?)?.into(),
        ("zone", "timestamptz") => {
            case.timestamptz(2)?.at_zone(&ZoneName::parse(names[3])?)?.into()
        }
        ("zone", _) => case.timetz(2)?.at_zone(&ZoneName::parse(names[3])?, context.now).into(),
        ("izone", kind) => {
            let zone = ZoneName::from_interval(case.interval(3)?, context.style)?;
            match kind {
                "timestamp" => case.timestamp(2)?.at_zone(&zone)?.into(),
                "timestamptz" => case.timestamptz(2)?.at_zone(&zone)?.into(),
                _ => case.timetz(2)?.at_zone(&zone, context.now).into(),
            }
        }
        ("mul", _) => case.interval(2)?.multiply(case.float(3))?.into(),
        ("div", _) => case.interval(2)?.divide(case.float(3))?.into(),
        ("justify_hours", _) => case.interval(2)?.justify_hours()?.into(),
        ("justify_days", _) => case.interval(2)?.justify_days()?.into(),
        ("justify_interval", _) => case.interval(2)?.justify()?.into(),
        ("make_date", _) => Date::make(case.int(1), case.int(2), case.int(3))?.into(),
        ("make_time", _) => Time::make(case.int(1), case.int(2), case.float(3))?.into(),
        ("make_timestamp", _) => {
            let day = (case.int(1), case.int(2), case.int(3));
            Timestamp::make(day, (case.int(4), case.int(5), case.float(6)))?.into()
        }
        ("make_interval", _) => Interval::make(IntervalParts {
            years: case.int(1),
            months: case.int(2),
            weeks: case.int(3),
            days: case.int(4),
            hours: case.int(5),
            minutes: case.int(6),
            seconds: case.float(7),
        })?
        .into(),
        ("from_unix", _) => TimestampTz::from_unix(case.float(1))?.into(),
        ("overlaps", _) => {
            let end = |at: usize| names[at].parse::<i32>().ok();
            let answer = overlaps([end(1), end(2)], [end(3), end(4)]);
            return Ok(answer.map_or("NULL".to_owned(), |answer| answer.to_string()));
        }
        (other, _) => panic!("no such function: {other}"),
    };
    Ok(if result.is_null() { "NULL".to_owned() } else { shown(result, context) })
}

fn convert(case: &Case<'_>, target: &str) -> Result<Datum, Error> {
    let zone = &case.context.style.time_zone;
    Ok(match (case.fields[2].as_str(), target) {
        ("date", "timestamp") => case.date(3)?.to_timestamp()?.into(),
        ("date", _) => case.date(3)?.to_timestamptz(zone)?.into(),
        ("timestamp", "date") => case.timestamp(3)?.date().into(),
        ("timestamp", "time") => case.timestamp(3)?.time().into(),
        ("timestamp", _) => case.timestamp(3)?.at_zone(&ZoneName::Zone(zone.clone()))?.into(),
        ("timestamptz", "date") => case.timestamptz(3)?.date(zone)?.into(),
        ("timestamptz", "time") => case.timestamptz(3)?.time(zone)?.into(),
        ("timestamptz", "timetz") => case.timestamptz(3)?.timetz(zone)?.into(),
        ("timestamptz", _) => case.timestamptz(3)?.at_zone(&ZoneName::Zone(zone.clone()))?.into(),
        (_, _) => case.interval(3)?.to_time()?.into(),
    })
}

#[test]
fn functions() {
    check(include_str!("data/time.tsv"), function);
}
