//! Modifiers: the `(10)` of `varchar(10)`, the `(10,2)` of `numeric(10,2)`.
//!
//! ```text
//!   char(n), varchar(n)         n + 4
//!   numeric(p,s)                (p << 16 | s & 0x7ff) + 4
//!   bit(n), varbit(n)           n
//!   time(p), timestamp(p) ...   p
//!   interval ... (p)            bits of the fields << 16 | p, which is 0xFFFF for none
//! ```
//!
//! The numbers are PostgreSQL's, because clients see them in the description of a row. A modifier of
//! an array type is that of its elements.
//!
//! A value is brought under a modifier when it is stored and when it is cast. The difference is what
//! happens to a text that is too long: storing it is an error, casting it cuts it off.

use numeric::Precision;

use crate::time::{Interval, IntervalFields, SECOND_US, Time, TimeTz, Timestamp, TimestampTz};
use crate::{Array, Bits, Datum, Error, Result, SqlState, Type, TypeSource, builtin};

/// The modifier that narrows a type: PostgreSQL's typmod, a number whose meaning the type knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Modifier(pub i32);

/// The number that is added to lengths and precisions.
const OFFSET: i32 = 4;

/// Longest length of `char(n)` and `varchar(n)`, in characters.
const LENGTH_MAX: i32 = 10_485_760;

/// Longest length of `bit(n)` and `bit varying(n)`, in bits.
const BITS_LENGTH_MAX: i32 = LENGTH_MAX * 8;

/// Most digits of a fraction of a second.
const PRECISION_MAX: i32 = 6;

/// The precision of an interval for which none was given.
const INTERVAL_FULL_PRECISION: i32 = 0xffff;

/// Why a value is brought under a modifier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coercion {
    /// It is stored, or passed: what does not fit is an error.
    Assignment,
    /// A cast asks for it: what does not fit is cut off, where the type allows that.
    Explicit,
}

impl Default for Modifier {
    fn default() -> Self {
        Self::NONE
    }
}

impl Modifier {
    /// The type as wide as it is.
    pub const NONE: Modifier = Modifier(-1);

    /// The number, where there is a modifier.
    pub fn get(self) -> Option<i32> {
        (self.0 >= 0).then_some(self.0)
    }

    /// The modifier of `char(length)` and `varchar(length)`.
    pub const fn of_length(length: i32) -> Self {
        Modifier(length + OFFSET)
    }

    /// The modifier of `numeric(precision, scale)`.
    pub fn of_numeric(precision: Precision) -> Self {
        Modifier(precision.to_typmod())
    }

    /// The digits and the scale of `numeric(digits, scale)`.
    pub fn numeric(self) -> Option<(i32, i32)> {
        let precision = Precision::from_typmod(self.get()?)?;
        Some((precision.digits(), precision.scale()))
    }

    /// The modifier of `interval fields (precision)`.
    pub fn of_interval(fields: IntervalFields, precision: Option<u8>) -> Self {
        let precision = precision.map_or(INTERVAL_FULL_PRECISION, i32::from);
        if fields == IntervalFields::ALL && precision == INTERVAL_FULL_PRECISION {
            return Self::NONE;
        }
        Modifier(i32::from(fields.bits()) << 16 | precision)
    }

    /// The length of `char(n)` and `varchar(n)`, in characters.
    pub fn length(self) -> Option<usize> {
        usize::try_from(self.get()? - OFFSET).ok()
    }

    /// The fields of an interval.
    pub fn interval_fields(self) -> IntervalFields {
        self.get()
            .and_then(|bits| IntervalFields::from_bits((bits >> 16) as u16 & 0x7fff))
            .unwrap_or(IntervalFields::ALL)
    }

    /// The digits of a fraction of a second, for a type that has one.
    fn precision(self, ty: Type) -> Option<u32> {
        let number = self.get()?;
        let precision =
            if ty == Type::INTERVAL { number & INTERVAL_FULL_PRECISION } else { number };
        u32::try_from(precision).ok().filter(|precision| *precision < 7)
    }

    /// The modifier that the numbers in parentheses after a type's name make. Those of an interval
    /// are the bits of its fields, and the precision.
    ///
    /// A precision of seconds beyond six digits counts as six.
    ///
    /// # Errors
    /// 22023 for numbers that the type does not take, 42601 for a type that takes none.
    pub fn parse(ty: Type, numbers: &[i32]) -> Result<Self> {
        let invalid = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
        let facts = builtin::facts(ty).filter(|facts| facts.takes_modifier());
        let Some(facts) = facts else {
            let name = builtin::facts(ty).map_or("???", |facts| facts.name);
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("type modifier is not allowed for type \"{name}\""),
            ));
        };
        if facts.is_array() {
            return Self::parse(facts.element, numbers);
        }
        match (ty, numbers) {
            (Type::BPCHAR | Type::VARCHAR, [length]) => {
                let name = if ty == Type::BPCHAR { "char" } else { "varchar" };
                if *length < 1 {
                    return Err(invalid(format!("length for type {name} must be at least 1")));
                }
                if *length > LENGTH_MAX {
                    let message = format!("length for type {name} cannot exceed {LENGTH_MAX}");
                    return Err(invalid(message));
                }
                Ok(Self::of_length(*length))
            }
            (Type::BIT | Type::VARBIT, [length]) => {
                let name = facts.name;
                if *length < 1 {
                    return Err(invalid(format!("length for type {name} must be at least 1")));
                }
                if *length > BITS_LENGTH_MAX {
                    let message = format!("length for type {name} cannot exceed {BITS_LENGTH_MAX}");
                    return Err(invalid(message));
                }
                Ok(Modifier(*length))
            }
            (Type::NUMERIC, [precision]) => Ok(Self::of_numeric(Precision::new(*precision, 0)?)),
            (Type::NUMERIC, [precision, scale]) => {
                Ok(Self::of_numeric(Precision::new(*precision, *scale)?))
            }
            (Type::NUMERIC, _) => Err(invalid("invalid NUMERIC type modifier".to_owned())),
            (Type::INTERVAL, [fields, precision @ ..]) if precision.len() < 2 => {
                let fields = u16::try_from(*fields).ok().and_then(IntervalFields::from_bits);
                let fields =
                    fields.ok_or_else(|| invalid("invalid INTERVAL type modifier".to_owned()))?;
                let Some(precision) = precision.first() else {
                    return Ok(Self::of_interval(fields, None));
                };
                if *precision < 0 {
                    let message = format!("INTERVAL({precision}) precision must not be negative");
                    return Err(invalid(message));
                }
                Ok(Self::of_interval(fields, Some((*precision).min(PRECISION_MAX) as u8)))
            }
            (Type::TIME | Type::TIMETZ | Type::TIMESTAMP | Type::TIMESTAMPTZ, [precision]) => {
                if *precision < 0 {
                    let (name, zone) = time_words(ty);
                    let message =
                        format!("{name}({precision}){zone} precision must not be negative");
                    return Err(invalid(message));
                }
                Ok(Modifier((*precision).min(PRECISION_MAX)))
            }
            _ => Err(invalid("invalid type modifier".to_owned())),
        }
    }

    /// The modifier as it is written after the name of its type: `(10)`, `(10,2)`, ` day to hour`;
    /// nothing where there is none.
    pub fn print(self, ty: Type) -> String {
        let Some(number) = self.get() else {
            return String::new();
        };
        let ty = element_of(ty);
        match ty {
            Type::BPCHAR | Type::VARCHAR if number >= OFFSET => format!("({})", number - OFFSET),
            Type::NUMERIC => Precision::from_typmod(number).map_or_else(String::new, |precision| {
                format!("({},{})", precision.digits(), precision.scale())
            }),
            Type::INTERVAL => {
                let precision = self.precision(ty).map(|precision| format!("({precision})"));
                format!("{}{}", self.interval_fields().words(), precision.unwrap_or_default())
            }
            Type::TIME
            | Type::TIMETZ
            | Type::TIMESTAMP
            | Type::TIMESTAMPTZ
            | Type::BIT
            | Type::VARBIT => {
                format!("({number})")
            }
            _ => String::new(),
        }
    }

    /// The value as a column of the type with this modifier holds it.
    ///
    /// # Errors
    /// 22001 for a text that is too long, 22003 for a number that does not fit, 22008 for an
    /// interval that is out of range after rounding.
    pub fn apply(self, value: Datum, ty: Type, coercion: Coercion) -> Result<Datum> {
        if self.get().is_none() {
            return Ok(value);
        }
        Ok(match value {
            Datum::Array(array) => {
                let of = array.as_ref();
                let element = of.element_type();
                let elements: Vec<Datum> = of
                    .iter()
                    .map(|value| self.apply(value.to_owned(), element, coercion))
                    .collect::<Result<_>>()?;
                let elements = elements.iter().map(Datum::as_ref);
                Array::new(element, of.element_repr(), &of.dimensions(), elements)?.into()
            }
            Datum::Text(_) | Datum::Short(_) => match (self.length(), value.as_text()) {
                (Some(length), Some(text)) if matches!(ty, Type::BPCHAR | Type::VARCHAR) => {
                    match fit(text, length, ty, coercion)? {
                        None => value,
                        Some(fitting) => Datum::text(fitting),
                    }
                }
                _ => value,
            },
            Datum::Bytea(held) if matches!(ty, Type::BIT | Type::VARBIT) => {
                fit_bits(self.0, &held, ty, coercion)?.map_or(Datum::Bytea(held), Datum::from)
            }
            Datum::Numeric(number) => match Precision::from_typmod(self.0) {
                Some(precision) => number.with_precision(precision)?.into(),
                None => number.into(),
            },
            Datum::Time(time) => Time(self.round(time.0, ty)).into(),
            Datum::TimeTz(time) => {
                TimeTz { time: Time(self.round(time.time.0, ty)), ..time }.into()
            }
            Datum::Timestamp(at) if at.is_finite() => Timestamp(self.round(at.0, ty)).into(),
            Datum::TimestampTz(at) if at.is_finite() => TimestampTz(self.round(at.0, ty)).into(),
            Datum::Interval(interval) if interval.is_finite() => {
                let cut = interval.cut_to(self.interval_fields());
                Interval { us: self.round(cut.us, ty), ..cut }.into()
            }
            other => other,
        })
    }

    /// Microseconds rounded to the precision, halves away from zero.
    fn round(self, us: i64, ty: Type) -> i64 {
        let Some(precision) = self.precision(ty) else {
            return us;
        };
        let unit = SECOND_US / 10_i64.pow(precision);
        let rounded = us.unsigned_abs().saturating_add(unit as u64 / 2) / unit as u64 * unit as u64;
        let rounded = i64::try_from(rounded).unwrap_or(i64::MAX);
        if us < 0 { -rounded } else { rounded }
    }
}

fn element_of(ty: Type) -> Type {
    match builtin::facts(ty) {
        Some(facts) if facts.is_array() => facts.element,
        _ => ty,
    }
}

/// The words of a type of time, before its precision and after.
fn time_words(ty: Type) -> (&'static str, &'static str) {
    match ty {
        Type::TIME => ("TIME", ""),
        Type::TIMETZ => ("TIME", " WITH TIME ZONE"),
        Type::TIMESTAMP => ("TIMESTAMP", ""),
        _ => ("TIMESTAMP", " WITH TIME ZONE"),
    }
}

/// The beginning of a text that has at most `length` characters; `None` if it is all of it.
fn fit(text: &str, length: usize, ty: Type, coercion: Coercion) -> Result<Option<&str>> {
    if text.len() <= length {
        return Ok(None);
    }
    let Some((end, _)) = text.char_indices().nth(length) else {
        return Ok(None);
    };
    let (fitting, rest) = text.split_at(end);
    // Excess blanks are cut off without an error.
    if coercion == Coercion::Assignment && !rest.bytes().all(|byte| byte == b' ') {
        let name = if ty == Type::BPCHAR { "character" } else { "character varying" };
        return Err(Error::new(
            SqlState::STRING_DATA_RIGHT_TRUNCATION,
            format!("value too long for type {name}({length})"),
        ));
    }
    Ok(Some(if ty == Type::BPCHAR { fitting.trim_end_matches(' ') } else { fitting }))
}

/// A string of bits with the length that a modifier says; `None` if it is right as it is.
fn fit_bits(number: i32, held: &[u8], ty: Type, coercion: Coercion) -> Result<Option<Bits>> {
    let bits = Bits::held(held)?;
    let (length, wanted) = (bits.length(), usize::try_from(number).unwrap_or(0));
    let is_right = if ty == Type::BIT { length == wanted } else { length <= wanted };
    if wanted == 0 || is_right {
        return Ok(None);
    }
    if coercion == Coercion::Explicit {
        return Ok(Some(bits.resized(wanted)));
    }
    let (state, message) = if ty == Type::BIT {
        let message = format!("bit string length {length} does not match type bit({wanted})");
        (SqlState::STRING_DATA_LENGTH_MISMATCH, message)
    } else {
        let message = format!("bit string too long for type bit varying({wanted})");
        (SqlState::STRING_DATA_RIGHT_TRUNCATION, message)
    };
    Err(Error::new(state, message))
}

/// The name of a type with its modifier, as `format_type` gives it: `character varying(10)`,
/// `timestamp(3) without time zone[]`, `???` for an OID that is no type.
pub fn format_type(types: &dyn TypeSource, ty: Type, modifier: Modifier) -> String {
    if ty == Type::NONE {
        return "-".to_owned();
    }
    let Some(facts) = builtin::facts(ty) else {
        return types.name_of(ty);
    };
    let element = element_of(ty);
    let suffix = modifier.print(element);
    let name = match element {
        // Without a length `character` would mean one character.
        Type::BPCHAR if suffix.is_empty() => "bpchar".to_owned(),
        // Nor `bit` any number of them.
        Type::BIT if suffix.is_empty() => "\"bit\"".to_owned(),
        Type::TIME | Type::TIMETZ | Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let name = types.name_of(element);
            let (first, rest) = name.split_once(' ').unwrap_or((&name, ""));
            return format!("{first}{suffix} {rest}{}", if facts.is_array() { "[]" } else { "" });
        }
        element => types.name_of(element),
    };
    format!("{name}{suffix}{}", if facts.is_array() { "[]" } else { "" })
}

/// A text held for `char(n)`, with the blanks that its length adds.
pub(crate) fn padded(text: &str, modifier: Modifier, out: &mut String) {
    out.push_str(text);
    if let Some(length) = modifier.length() {
        let characters = text.chars().count();
        out.extend(std::iter::repeat_n(' ', length.saturating_sub(characters)));
    }
}
