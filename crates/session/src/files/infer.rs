//! The types of columns whose values are texts.
//!
//! A column has the narrowest type that all its values in the sample have. Numbers stay exact: `bigint`, then
//! `numeric`; `double precision` only where an exponent is written. Numbers that begin with zeroes (`00123`) are
//! texts, because they are names and not amounts.

use types::{Context, Modifier, Style, Type};

/// The type of a column's values, as far as they were seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InferredType {
    Nothing,
    Bool,
    Int,
    Numeric,
    Float,
    Date,
    Timestamp,
    TimestampTz,
    Uuid,
    Text,
}

impl InferredType {
    /// The type of one value.
    pub fn of(text: &str) -> InferredType {
        let bytes = text.as_bytes();
        match bytes.first() {
            Some(b'0'..=b'9' | b'+' | b'-' | b'.') => {
                let found = number(bytes).or_else(|| moment(text)).or_else(|| uuid(bytes));
                found.filter(|seen| seen.is_value(text)).unwrap_or(InferredType::Text)
            }
            Some(b't' | b'T' | b'f' | b'F')
                if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") =>
            {
                InferredType::Bool
            }
            _ => uuid(bytes).unwrap_or(InferredType::Text),
        }
    }

    /// The type of a column that has values of both.
    pub fn and(self, other: InferredType) -> InferredType {
        match (self, other) {
            (same, other) if same == other => same,
            (InferredType::Nothing, other) | (other, InferredType::Nothing) => other,
            (InferredType::Int, InferredType::Numeric)
            | (InferredType::Numeric, InferredType::Int) => InferredType::Numeric,
            (InferredType::Int | InferredType::Numeric, InferredType::Float)
            | (InferredType::Float, InferredType::Int | InferredType::Numeric) => {
                InferredType::Float
            }
            (InferredType::Date, InferredType::Timestamp)
            | (InferredType::Timestamp, InferredType::Date) => InferredType::Timestamp,
            _ => InferredType::Text,
        }
    }

    /// The type of a column with such values.
    pub fn ty(self) -> Type {
        match self {
            InferredType::Bool => Type::BOOL,
            InferredType::Int => Type::INT8,
            InferredType::Numeric => Type::NUMERIC,
            InferredType::Float => Type::FLOAT8,
            InferredType::Date => Type::DATE,
            InferredType::Timestamp => Type::TIMESTAMP,
            InferredType::TimestampTz => Type::TIMESTAMPTZ,
            InferredType::Uuid => Type::UUID,
            InferredType::Nothing | InferredType::Text => Type::TEXT,
        }
    }

    /// True if the type reads the text: 2026-02-30 looks like a date and is none.
    fn is_value(self, text: &str) -> bool {
        let style = Style::default();
        let context = Context::new(&style);
        types::text::parse(text, self.ty(), Modifier::NONE, &context).is_ok()
    }
}

fn number(bytes: &[u8]) -> Option<InferredType> {
    let digits = bytes.strip_prefix(b"-").or(bytes.strip_prefix(b"+")).unwrap_or(bytes);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if whole == 0 || (whole > 1 && digits[0] == b'0') {
        return None;
    }
    let (mut rest, mut seen) = (&digits[whole..], InferredType::Int);
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (rest, seen) = (&fraction[length..], InferredType::Numeric);
        if length == 0 {
            return None;
        }
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+"));
        let exponent = exponent.unwrap_or(&rest[1..]);
        let is_number = !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit);
        return is_number.then_some(InferredType::Float);
    }
    if !rest.is_empty() {
        return None;
    }
    // More than 64 bits hold.
    if seen == InferredType::Int && std::str::from_utf8(bytes).ok()?.parse::<i64>().is_err() {
        return Some(InferredType::Numeric);
    }
    Some(seen)
}

/// `2026-11-26`, and with a time of day behind a blank or a `T`.
fn moment(text: &str) -> Option<InferredType> {
    let (date, rest) = text.split_at_checked(10)?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if !is_date {
        return None;
    }
    let Some(time) = rest.strip_prefix(['T', ' ']) else {
        return rest.is_empty().then_some(InferredType::Date);
    };
    let clock = time.bytes().take_while(|byte| byte.is_ascii_digit() || b":.".contains(byte));
    let clock = clock.count();
    if clock < 5 {
        return None;
    }
    match &time[clock..] {
        "" => Some(InferredType::Timestamp),
        "Z" => Some(InferredType::TimestampTz),
        zone if zone.starts_with(['+', '-'])
            && zone[1..].bytes().all(|byte| byte.is_ascii_digit() || byte == b':') =>
        {
            Some(InferredType::TimestampTz)
        }
        _ => None,
    }
}

fn uuid(bytes: &[u8]) -> Option<InferredType> {
    let is_uuid = bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    is_uuid.then_some(InferredType::Uuid)
}

#[cfg(test)]
mod tests {
    use super::InferredType::{self, *};

    /// Each text has the narrowest type that shows it as it is.
    #[test]
    fn types_of_texts() {
        for (text, seen) in [
            ("1", Int),
            ("-9223372036854775808", Int),
            ("9223372036854775808", Numeric),
            ("0.10", Numeric),
            ("1e3", Float),
            ("007", Text),
            ("1.", Text),
            ("true", Bool),
            ("yes", Text),
            ("2026-11-26", Date),
            ("2026-02-30", Text),
            ("2026-11-26T10:00:00", Timestamp),
            ("2026-11-26 10:00", Timestamp),
            ("2026-11-26T10:00:00.123Z", TimestampTz),
            ("2026-11-26 10:00:00+01", TimestampTz),
            ("2026-11-26 25:00:00", Text),
            ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", Uuid),
            ("12345678-9dad-11d1-80b4-00c04fd430c8", Uuid),
            ("", Text),
        ] {
            assert_eq!(InferredType::of(text), seen, "{text}");
        }
        assert_eq!(Int.and(Float), Float);
        assert_eq!(Date.and(Timestamp), Timestamp);
        assert_eq!(Timestamp.and(TimestampTz), Text);
        assert_eq!(Nothing.and(Uuid), Uuid);
    }
}
