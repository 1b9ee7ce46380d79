//! `money`: arithmetic of amounts.
//!
//! ```text
//!   '$10'::money / 3          $3.33
//!   '$10'::money / '$3'       3.3333333333333335
//!   cash_words('$1.05')       One dollar and five cents
//! ```

use std::cmp::Ordering;

use numeric::Numeric;
use types::{Datum, DatumRef, Error, Result, SqlState};

use crate::aggregate::collect::Extreme;
use crate::aggregate::{Accumulator, Kind, aggregates};
use crate::function::{Argument, Call, Function, Output, functions, unexpected};

/// An amount in cents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Money(i64);

impl<'a> Argument<'a> for Money {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Int8(cents) => Ok(Money(cents)),
            other => Err(unexpected("an amount", other)),
        }
    }
}

impl Output for Money {
    fn put(self) -> Result<Datum> {
        Ok(self.0.into())
    }
}

#[cold]
fn out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "money out of range")
}

#[cold]
fn bigint_out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")
}

#[cold]
fn by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

fn plus(a: Money, b: Money) -> Result<Money> {
    a.0.checked_add(b.0).map(Money).ok_or_else(out_of_range)
}

fn minus(a: Money, b: Money) -> Result<Money> {
    a.0.checked_sub(b.0).map(Money).ok_or_else(out_of_range)
}

fn times(a: Money, factor: i64) -> Result<Money> {
    a.0.checked_mul(factor).map(Money).ok_or_else(out_of_range)
}

fn divided(a: Money, by: i64) -> Result<Money> {
    if by == 0 {
        return Err(by_zero());
    }
    a.0.checked_div(by).map(Money).ok_or_else(out_of_range)
}

/// The nearest amount.
fn rounded(cents: f64) -> Result<Money> {
    let cents = cents.round_ties_even();
    let is_amount = cents >= i64::MIN as f64 && cents < -(i64::MIN as f64);
    if is_amount { Ok(Money(cents as i64)) } else { Err(out_of_range()) }
}

fn divided_float(a: Money, by: f64) -> Result<Money> {
    if by == 0.0 { Err(by_zero()) } else { rounded(a.0 as f64 / by) }
}

fn ratio(a: Money, b: Money) -> Result<f64> {
    if b.0 == 0 { Err(by_zero()) } else { Ok(a.0 as f64 / b.0 as f64) }
}

fn of_integer(units: i64) -> Result<Money> {
    units.checked_mul(100).map(Money).ok_or_else(bigint_out_of_range)
}

fn of_numeric(units: &Numeric) -> Result<Money> {
    let cents = units.checked_mul(&Numeric::from(100_i64))?.round(0)?;
    Ok(Money(cents.to_i64()?))
}

fn to_numeric(a: Money) -> Result<Numeric> {
    let digits = a.0.unsigned_abs();
    let sign = if a.0 < 0 { "-" } else { "" };
    Ok(format!("{sign}{}.{:02}", digits / 100, digits % 100).parse::<Numeric>()?)
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// A number below 1000 in words.
fn below_thousand(number: usize) -> String {
    let (hundreds, rest) = (number / 100, number % 100);
    let small = match rest {
        0..20 => SMALL[rest].to_owned(),
        _ if rest.is_multiple_of(10) => TENS[rest / 10].to_owned(),
        _ => format!("{} {}", TENS[rest / 10], SMALL[rest % 10]),
    };
    match (hundreds, rest) {
        (0, _) => small,
        (_, 0) => format!("{} hundred", SMALL[hundreds]),
        (_, 1..20) => format!("{} hundred and {small}", SMALL[hundreds]),
        _ => format!("{} hundred {small}", SMALL[hundreds]),
    }
}

/// An amount in words.
fn words(a: Money) -> String {
    let cents = a.0.unsigned_abs();
    let units = cents / 100;
    let mut out = String::new();
    for (scale, name) in [
        (1_000_000_000_000_000, " quadrillion "),
        (1_000_000_000_000, " trillion "),
        (1_000_000_000, " billion "),
        (1_000_000, " million "),
        (1_000, " thousand "),
        (1, ""),
    ] {
        let part = units / scale % 1_000;
        if part > 0 {
            out.push_str(&below_thousand(part as usize));
            out.push_str(name);
        }
    }
    if out.is_empty() {
        out.push_str("zero");
    }
    out.push_str(if units == 1 { " dollar and " } else { " dollars and " });
    out.push_str(&below_thousand((cents % 100) as usize));
    out.push_str(if cents % 100 == 1 { " cent" } else { " cents" });
    if a.0 < 0 {
        out.insert_str(0, "minus ");
    }
    out[..1].make_ascii_uppercase();
    out
}

pub(crate) const TABLE: &[Function] = functions! {
    888 cash_eq(MONEY, MONEY) -> BOOL = (a: Money, b: Money) a == b;
    889 cash_ne(MONEY, MONEY) -> BOOL = (a: Money, b: Money) a != b;
    890 cash_lt(MONEY, MONEY) -> BOOL = (a: Money, b: Money) a < b;
    891 cash_le(MONEY, MONEY) -> BOOL = (a: Money, b: Money) a <= b;
    892 cash_gt(MONEY, MONEY) -> BOOL = (a: Money, b: Money) a > b;
    893 cash_ge(MONEY, MONEY) -> BOOL = (a: Money, b: Money) a >= b;
    377 cash_cmp(MONEY, MONEY) -> INT4 = (a: Money, b: Money) a.cmp(&b) as i32;
    894 cash_pl(MONEY, MONEY) -> MONEY = (a: Money, b: Money) plus(a, b);
    895 cash_mi(MONEY, MONEY) -> MONEY = (a: Money, b: Money) minus(a, b);
    846 cash_mul_flt4(MONEY, FLOAT4) -> MONEY = (a: Money, by: f32)
        rounded(a.0 as f64 * f64::from(by));
    848 flt4_mul_cash(FLOAT4, MONEY) -> MONEY = (by: f32, a: Money)
        rounded(a.0 as f64 * f64::from(by));
    847 cash_div_flt4(MONEY, FLOAT4) -> MONEY = (a: Money, by: f32) divided_float(a, by.into());
    896 cash_mul_flt8(MONEY, FLOAT8) -> MONEY = (a: Money, by: f64) rounded(a.0 as f64 * by);
    919 flt8_mul_cash(FLOAT8, MONEY) -> MONEY = (by: f64, a: Money) rounded(a.0 as f64 * by);
    897 cash_div_flt8(MONEY, FLOAT8) -> MONEY = (a: Money, by: f64) divided_float(a, by);
    3344 cash_mul_int8(MONEY, INT8) -> MONEY = (a: Money, by: i64) times(a, by);
    3399 int8_mul_cash(INT8, MONEY) -> MONEY = (by: i64, a: Money) times(a, by);
    3345 cash_div_int8(MONEY, INT8) -> MONEY = (a: Money, by: i64) divided(a, by);
    864 cash_mul_int4(MONEY, INT4) -> MONEY = (a: Money, by: i32) times(a, by.into());
    862 int4_mul_cash(INT4, MONEY) -> MONEY = (by: i32, a: Money) times(a, by.into());
    865 cash_div_int4(MONEY, INT4) -> MONEY = (a: Money, by: i32) divided(a, by.into());
    866 cash_mul_int2(MONEY, INT2) -> MONEY = (a: Money, by: i16) times(a, by.into());
    863 int2_mul_cash(INT2, MONEY) -> MONEY = (by: i16, a: Money) times(a, by.into());
    867 cash_div_int2(MONEY, INT2) -> MONEY = (a: Money, by: i16) divided(a, by.into());
    3822 cash_div_cash(MONEY, MONEY) -> FLOAT8 = (a: Money, b: Money) ratio(a, b);
    898 cashlarger(MONEY, MONEY) -> MONEY = (a: Money, b: Money) a.max(b);
    899 cashsmaller(MONEY, MONEY) -> MONEY = (a: Money, b: Money) a.min(b);
    935 cash_words(MONEY) -> TEXT = (a: Money) words(a);
    3811 money(INT4) -> MONEY [stable] = (units: i32) of_integer(units.into());
    3812 money(INT8) -> MONEY [stable] = (units: i64) of_integer(units);
    3823 numeric(MONEY) -> NUMERIC [stable] = (a: Money) to_numeric(a);
    3824 money(NUMERIC) -> MONEY [stable] = (units: Numeric) of_numeric(&units);
};

/// The sum of all amounts so far.
struct Sum(Option<Money>);

impl Accumulator for Sum {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let Some(next) = Option::<Money>::read(args[0])? else { return Ok(()) };
        self.0 = Some(self.0.map_or(Ok(next), |sum| plus(sum, next))?);
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        self.0.put()
    }
}

pub(crate) const AGGREGATES: &[Function] = aggregates! { Kind::Normal =>
    2112 sum(MONEY) -> MONEY = Sum(None);
    2125 max(MONEY) -> MONEY = @args Extreme::new(args, Ordering::Greater);
    2141 min(MONEY) -> MONEY = @args Extreme::new(args, Ordering::Less);
};
