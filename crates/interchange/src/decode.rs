//! Arrow record batches into rows.
//!
//! | Arrow | SQL |
//! |---|---|
//! | `Boolean`, `Int8` to `Int64`, `Float16` to `Float64` | `bool`, `int2`, `int4`, `int8`, `float4`, `float8` |
//! | `UInt8`, `UInt16`, `UInt32`, `UInt64` | `int2`, `int4`, `int8`, `numeric(20, 0)`: the next type that holds all |
//! | `Decimal32` to `Decimal256` | `numeric(p, s)`, exactly |
//! | `Utf8`, `LargeUtf8`, `Utf8View` | `text`; `jsonb` with the extension type `arrow.json`; the type that [`encode`](crate::encode) has marked |
//! | `Binary`, `LargeBinary`, `BinaryView`, `FixedSizeBinary` | `bytea`; `uuid` with the extension type `arrow.uuid` |
//! | `Date32`, `Date64`, `Time32`, `Time64` | `date`, `time` |
//! | `Timestamp` of any unit, with a zone | `timestamp`, `timestamptz` |
//! | `Duration`, `Interval` of any unit | `interval` |
//! | `List`, `LargeList`, `FixedSizeList` of one of the above | an array of it |
//! | `Struct`, `Map`, lists of these and of lists | `jsonb` |
//! | `Dictionary` | what its values are |
//! | `Null` | `text`, all NULL |
//!
//! Nanoseconds are cut to microseconds. A value that a type of SQL cannot hold, such as a timestamp of the year
//! 300000, is an error and not another value.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use types::time::{DAY_US, Date, Interval, Time, Timestamp, TimestampTz};
use types::{Context, Datum, Error, Modifier, Repr, Result, SqlState, Style, Type, builtin};

use crate::encode::{EPOCH_DAYS, EPOCH_US, MARKED_TYPES, TYPE_KEY};
use crate::nested;

/// The type of SQL that holds all values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Natural {
    /// The type.
    pub ty: Type,
    /// Its modifier.
    pub modifier: Modifier,
}

impl From<Type> for Natural {
    fn from(ty: Type) -> Natural {
        Natural { ty, modifier: Modifier::NONE }
    }
}

/// The type of SQL that holds all values of an Arrow column.
///
/// # Errors
/// 0A000 for unions and other types without a counterpart in SQL.
pub fn natural(field: &Field) -> Result<Natural> {
    of_type(field.data_type(), meaning(field)).ok_or_else(|| {
        let message =
            format!("column \"{}\" has the Arrow type {}", field.name(), field.data_type());
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .with_detail("No type of SQL stands for it.")
    })
}

/// The meaning that a field gives its values beyond their Arrow type: the name of an extension type, or of a
/// type of SQL.
fn meaning(field: &Field) -> Option<&str> {
    let marked = field.metadata().get(TYPE_KEY).map(String::as_str);
    field.extension_type_name().or(marked)
}

fn of_type(ty: &DataType, extension: Option<&str>) -> Option<Natural> {
    Some(match ty {
        DataType::Boolean => Type::BOOL.into(),
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => Type::INT2.into(),
        DataType::Int32 | DataType::UInt16 => Type::INT4.into(),
        DataType::Int64 | DataType::UInt32 => Type::INT8.into(),
        DataType::UInt64 => numeric(20, 0),
        DataType::Float16 | DataType::Float32 => Type::FLOAT4.into(),
        DataType::Float64 => Type::FLOAT8.into(),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => numeric(*precision, *scale),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => match extension {
            Some("arrow.json") => Type::JSONB.into(),
            meaning => {
                let marked = MARKED_TYPES.iter().find(|(_, name)| meaning == Some(*name));
                marked.map_or(Type::TEXT, |(ty, _)| *ty).into()
            }
        },
        DataType::FixedSizeBinary(16) if extension == Some("arrow.uuid") => Type::UUID.into(),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Type::BYTEA.into(),
        DataType::Date32 | DataType::Date64 => Type::DATE.into(),
        DataType::Time32(_) | DataType::Time64(_) => Type::TIME.into(),
        DataType::Timestamp(_, None) => Type::TIMESTAMP.into(),
        DataType::Timestamp(_, Some(_)) => Type::TIMESTAMPTZ.into(),
        DataType::Duration(_) | DataType::Interval(_) => Type::INTERVAL.into(),
        DataType::Null => Type::TEXT.into(),
        DataType::Dictionary(_, values) => return of_type(values, extension),
        DataType::Struct(_) | DataType::Map(..) => Type::JSONB.into(),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let element = of_type(item.data_type(), meaning(item))?;
            let is_nested = item.data_type().is_nested() && !is_dictionary(item.data_type());
            match array_of(element.ty).filter(|_| !is_nested) {
                Some(ty) => Natural { ty, modifier: element.modifier },
                None => Type::JSONB.into(),
            }
        }
        _ => return None,
    })
}

fn is_dictionary(ty: &DataType) -> bool {
    matches!(ty, DataType::Dictionary(..))
}

fn numeric(precision: u8, scale: i8) -> Natural {
    let precision = numeric::Precision::new(i32::from(precision), i32::from(scale));
    let modifier = precision.map_or(Modifier::NONE, Modifier::of_numeric);
    Natural { ty: Type::NUMERIC, modifier }
}

fn array_of(element: Type) -> Option<Type> {
    builtin::facts(element).map(|facts| facts.array).filter(|array| *array != Type::NONE)
}

/// The values of a column of one batch.
pub struct Cells {
    array: ArrayRef,
    kind: Kind,
    natural: Natural,
}

/// How the values of an array are read.
enum Kind {
    Plain,
    /// The values, and which of them each row has.
    Dictionary(Box<Cells>, Vec<usize>),
    List(Box<Cells>, Type, Repr),
    Nested,
}

impl Cells {
    /// Returns the values of a column; `field` gives their type.
    ///
    /// # Errors
    /// As [`natural`].
    pub fn new(array: &ArrayRef, field: &Field) -> Result<Cells> {
        let natural = natural(field)?;
        let inner = |values: &ArrayRef, of: &Field| Cells::new(values, of).map(Box::new);
        let kind = match array.data_type() {
            DataType::Dictionary(_, values) => {
                let dictionary = array.as_any_dictionary();
                let field = Field::new(field.name(), (**values).clone(), true)
                    .with_metadata(field.metadata().clone());
                let keys = match dictionary.values().is_empty() {
                    true => vec![0; array.len()],
                    false => dictionary.normalized_keys(),
                };
                Kind::Dictionary(inner(dictionary.values(), &field)?, keys)
            }
            DataType::Struct(_) | DataType::Map(..) => Kind::Nested,
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                match natural.ty {
                    Type::JSONB => Kind::Nested,
                    _ => {
                        let values = match array.data_type() {
                            DataType::List(_) => array.as_list::<i32>().values(),
                            DataType::LargeList(_) => array.as_list::<i64>().values(),
                            _ => array.as_fixed_size_list().values(),
                        };
                        let elements = inner(values, item)?;
                        let element = elements.natural.ty;
                        let repr = builtin::facts(element).and_then(|facts| facts.repr);
                        Kind::List(elements, element, repr.unwrap_or(Repr::Text))
                    }
                }
            }
            _ => Kind::Plain,
        };
        Ok(Cells { array: array.clone(), kind, natural })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.array.is_empty()
    }

    /// The type of the values.
    pub fn natural(&self) -> Natural {
        self.natural
    }

    /// Returns the JSON or text of a row as the file has it; `None` for NULL and for values that are not text.
    pub fn text(&self, row: usize) -> Option<&str> {
        if self.array.is_null(row) {
            return None;
        }
        match (&self.kind, self.array.data_type()) {
            (Kind::Dictionary(values, keys), _) => values.text(keys[row]),
            (_, DataType::Utf8) => Some(self.array.as_string::<i32>().value(row)),
            (_, DataType::LargeUtf8) => Some(self.array.as_string::<i64>().value(row)),
            (_, DataType::Utf8View) => Some(self.array.as_string_view().value(row)),
            _ => None,
        }
    }

    /// The value of a row, of the type [`Cells::natural`].
    ///
    /// # Errors
    /// 22003 and 22008 for a value that this type cannot hold; 22021 for text with U+0000; 22P02 for text that
    /// should be JSON and is not.
    pub fn get(&self, row: usize) -> Result<Datum> {
        if self.array.is_null(row) {
            return Ok(Datum::Null);
        }
        match &self.kind {
            Kind::Plain => plain(&self.array, row, self.natural.ty),
            Kind::Dictionary(values, keys) => values.get(keys[row]),
            Kind::List(elements, ty, repr) => {
                let range = list_range(&self.array, row);
                let values: Vec<Datum> = range.map(|at| elements.get(at)).collect::<Result<_>>()?;
                if values.is_empty() {
                    return Ok(Datum::Array(types::Array::empty(*ty, *repr)));
                }
                let values = values.iter().map(Datum::as_ref);
                Ok(Datum::Array(types::Array::from_elements(*ty, *repr, values)?))
            }
            Kind::Nested => {
                let mut text = String::new();
                nested::write(&self.array, row, &mut text)?;
                parsed(&text, Type::JSONB)
            }
        }
    }
}

/// Where the elements of a list lie in the array of all elements.
pub(crate) fn list_range(array: &ArrayRef, row: usize) -> std::ops::Range<usize> {
    match array.data_type() {
        DataType::List(_) => {
            let offsets = array.as_list::<i32>().value_offsets();
            offsets[row] as usize..offsets[row + 1] as usize
        }
        DataType::LargeList(_) => {
            let offsets = array.as_list::<i64>().value_offsets();
            offsets[row] as usize..offsets[row + 1] as usize
        }
        _ => {
            let list = array.as_fixed_size_list();
            let start = list.value_offset(row) as usize;
            start..start + list.value_length() as usize
        }
    }
}

fn parsed(text: &str, ty: Type) -> Result<Datum> {
    let style = Style::default();
    types::text::parse(text, ty, Modifier::NONE, &Context::new(&style))
}

fn text(text: &str, ty: Type) -> Result<Datum> {
    if ty != Type::TEXT {
        return parsed(text, ty);
    }
    if text.as_bytes().contains(&0) {
        let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
        return Err(Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
            .with_detail("A text of SQL has no U+0000."));
    }
    Ok(Datum::text(text))
}

/// The value of a row that is not NULL, of a type that is neither nested nor a dictionary.
fn plain(array: &ArrayRef, row: usize, ty: Type) -> Result<Datum> {
    macro_rules! at {
        ($ty:ty) => {
            array.as_primitive::<$ty>().value(row)
        };
    }
    Ok(match array.data_type() {
        DataType::Boolean => Datum::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Datum::Int2(at!(Int8Type).into()),
        DataType::Int16 => Datum::Int2(at!(Int16Type)),
        DataType::Int32 => Datum::Int4(at!(Int32Type)),
        DataType::Int64 => Datum::Int8(at!(Int64Type)),
        DataType::UInt8 => Datum::Int2(at!(UInt8Type).into()),
        DataType::UInt16 => Datum::Int4(at!(UInt16Type).into()),
        DataType::UInt32 => Datum::Int8(at!(UInt32Type).into()),
        DataType::UInt64 => Datum::Numeric(i128::from(at!(UInt64Type)).into()),
        DataType::Float16 => Datum::Float4(at!(Float16Type).to_f32()),
        DataType::Float32 => Datum::Float4(at!(Float32Type)),
        DataType::Float64 => Datum::Float8(at!(Float64Type)),
        DataType::Decimal32(_, scale) => decimal(at!(Decimal32Type).into(), *scale)?,
        DataType::Decimal64(_, scale) => decimal(at!(Decimal64Type).into(), *scale)?,
        DataType::Decimal128(_, scale) => decimal(at!(Decimal128Type), *scale)?,
        DataType::Decimal256(_, scale) => wide_decimal(&at!(Decimal256Type).to_string(), *scale)?,
        DataType::Utf8 => text(array.as_string::<i32>().value(row), ty)?,
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(row), ty)?,
        DataType::Utf8View => text(array.as_string_view().value(row), ty)?,
        DataType::Binary => Datum::bytea(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Datum::bytea(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Datum::bytea(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => {
            let bytes = array.as_fixed_size_binary().value(row);
            match <[u8; 16]>::try_from(bytes) {
                Ok(bytes) if ty == Type::UUID => Datum::Uuid(bytes),
                _ => Datum::bytea(bytes),
            }
        }
        DataType::Date32 => date(at!(Date32Type).into())?,
        DataType::Date64 => date(at!(Date64Type).div_euclid(86_400_000))?,
        DataType::Time32(TimeUnit::Second) => time(i64::from(at!(Time32SecondType)) * 1_000_000)?,
        DataType::Time32(_) => time(i64::from(at!(Time32MillisecondType)) * 1_000)?,
        DataType::Time64(TimeUnit::Nanosecond) => {
            time(at!(Time64NanosecondType).div_euclid(1_000))?
        }
        DataType::Time64(_) => time(at!(Time64MicrosecondType))?,
        DataType::Timestamp(unit, zone) => {
            let us = match unit {
                TimeUnit::Second => i128::from(at!(TimestampSecondType)) * 1_000_000,
                TimeUnit::Millisecond => i128::from(at!(TimestampMillisecondType)) * 1_000,
                TimeUnit::Microsecond => at!(TimestampMicrosecondType).into(),
                TimeUnit::Nanosecond => at!(TimestampNanosecondType).div_euclid(1_000).into(),
            };
            timestamp(us, zone.is_some())?
        }
        DataType::Duration(unit) => {
            let us = match unit {
                TimeUnit::Second => i128::from(at!(DurationSecondType)) * 1_000_000,
                TimeUnit::Millisecond => i128::from(at!(DurationMillisecondType)) * 1_000,
                TimeUnit::Microsecond => at!(DurationMicrosecondType).into(),
                TimeUnit::Nanosecond => at!(DurationNanosecondType).div_euclid(1_000).into(),
            };
            let us = i64::try_from(us).map_err(|_| out_of_range("interval", us))?;
            Datum::Interval(Interval { months: 0, days: 0, us })
        }
        DataType::Interval(unit) => Datum::Interval(match unit {
            IntervalUnit::YearMonth => {
                Interval { months: at!(IntervalYearMonthType), days: 0, us: 0 }
            }
            IntervalUnit::DayTime => {
                let value = at!(IntervalDayTimeType);
                let us = i64::from(value.milliseconds) * 1_000;
                Interval { months: 0, days: value.days, us }
            }
            IntervalUnit::MonthDayNano => {
                let value = at!(IntervalMonthDayNanoType);
                let us = value.nanoseconds.div_euclid(1_000);
                Interval { months: value.months, days: value.days, us }
            }
        }),
        DataType::Null => Datum::Null,
        other => {
            let message = format!("the Arrow type {other} cannot be read");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
    })
}

fn out_of_range(what: &str, value: impl std::fmt::Display) -> Error {
    let message = format!("{what} out of range: {value} since 1970");
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

fn date(days: i64) -> Result<Datum> {
    let date = days.checked_sub(EPOCH_DAYS.into()).and_then(Date::from_days);
    date.map(Datum::Date).ok_or_else(|| out_of_range("date", format_args!("day {days}")))
}

fn time(us: i64) -> Result<Datum> {
    if !(0..=DAY_US).contains(&us) {
        let message = format!("time out of range: {us} microseconds since midnight");
        return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message));
    }
    Ok(Datum::Time(Time(us)))
}

fn timestamp(us: i128, has_zone: bool) -> Result<Datum> {
    let since_2000 = i64::try_from(us - i128::from(EPOCH_US)).ok();
    let found = match has_zone {
        true => since_2000.and_then(TimestampTz::in_range).map(Datum::TimestampTz),
        false => since_2000.and_then(Timestamp::in_range).map(Datum::Timestamp),
    };
    found.ok_or_else(|| out_of_range("timestamp", format_args!("{us} microseconds")))
}

fn decimal(mantissa: i128, scale: i8) -> Result<Datum> {
    match u32::try_from(scale) {
        Ok(scale) => match numeric::Numeric::new(mantissa, scale) {
            Ok(value) => Ok(Datum::Numeric(value)),
            Err(_) => wide_decimal(&mantissa.to_string(), scale as i8),
        },
        Err(_) => wide_decimal(&mantissa.to_string(), scale),
    }
}

/// A decimal whose mantissa is written in digits.
fn wide_decimal(digits: &str, scale: i8) -> Result<Datum> {
    let text = format!("{digits}e{}", -i32::from(scale));
    let value = text
        .parse::<numeric::Numeric>()
        .map_err(|error| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, error.to_string()))?;
    Ok(Datum::Numeric(value))
}
