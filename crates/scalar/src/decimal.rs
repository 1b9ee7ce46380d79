//! `numeric`: the functions of [`Numeric`] under their SQL names, and its casts.

use numeric::{Numeric, Precision};
use types::{Error, Result, SqlState};

use crate::function::{Function, functions};

/// Fits a number to a type modifier.
fn to_modifier(value: Numeric, modifier: i32) -> Result<Numeric> {
    match Precision::from_typmod(modifier) {
        Some(precision) => Ok(value.with_precision(precision)?),
        None => Ok(value),
    }
}

/// A position in the log, so many bytes further.
fn move_position(position: i64, bytes: &Numeric) -> Result<i64> {
    if bytes.is_nan() {
        let message = "cannot add NaN to pg_lsn";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let moved = bytes.to_i128()? + i128::from(position as u64);
    u64::try_from(moved)
        .map(|position| position as i64)
        .map_err(|_| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "pg_lsn out of range"))
}

pub(crate) const TABLE: &[Function] = functions! {
    1724 numeric_add(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.checked_add(&b);
    1725 numeric_sub(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.checked_sub(&b);
    1726 numeric_mul(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.checked_mul(&b);
    1727 numeric_div(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.checked_div(&b);
    1729 numeric_mod(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.checked_rem(&b);
    1728 mod(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.checked_rem(&b);
    1980 numeric_div_trunc(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.div_trunc(&b);
    1973 div(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.div_trunc(&b);
    1739 numeric_power(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.power(&b);
    1738 pow(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.power(&b);
    2169 power(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.power(&b);
    5048 gcd(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.gcd(&b);
    5049 lcm(NUMERIC, NUMERIC) -> NUMERIC = (a: Numeric, b: Numeric) a.lcm(&b);
    1736 log(NUMERIC, NUMERIC) -> NUMERIC = (base: Numeric, a: Numeric) a.log(&base);
    1737 numeric_log(NUMERIC, NUMERIC) -> NUMERIC = (base: Numeric, a: Numeric) a.log(&base);
    1704 numeric_abs(NUMERIC) -> NUMERIC = (a: Numeric) a.abs();
    1705 abs(NUMERIC) -> NUMERIC = (a: Numeric) a.abs();
    1771 numeric_uminus(NUMERIC) -> NUMERIC = (a: Numeric) a.neg();
    1706 sign(NUMERIC) -> NUMERIC = (a: Numeric) a.sign();
    1711 ceil(NUMERIC) -> NUMERIC = (a: Numeric) a.ceil();
    2167 ceiling(NUMERIC) -> NUMERIC = (a: Numeric) a.ceil();
    1712 floor(NUMERIC) -> NUMERIC = (a: Numeric) a.floor();
    1708 round(NUMERIC) -> NUMERIC = (a: Numeric) a.round(0);
    1710 trunc(NUMERIC) -> NUMERIC = (a: Numeric) a.trunc(0);
    1730 sqrt(NUMERIC) -> NUMERIC = (a: Numeric) a.sqrt();
    1731 numeric_sqrt(NUMERIC) -> NUMERIC = (a: Numeric) a.sqrt();
    1732 exp(NUMERIC) -> NUMERIC = (a: Numeric) a.exp();
    1733 numeric_exp(NUMERIC) -> NUMERIC = (a: Numeric) a.exp();
    1734 ln(NUMERIC) -> NUMERIC = (a: Numeric) a.ln();
    1735 numeric_ln(NUMERIC) -> NUMERIC = (a: Numeric) a.ln();
    1741 log(NUMERIC) -> NUMERIC = (a: Numeric) a.log10();
    1481 log10(NUMERIC) -> NUMERIC = (a: Numeric) a.log10();
    5043 trim_scale(NUMERIC) -> NUMERIC = (a: Numeric) a.trim_scale();
    1915 numeric_uplus(NUMERIC) -> NUMERIC = (a: Numeric) a;
    1764 numeric_inc(NUMERIC) -> NUMERIC = (a: Numeric) a.checked_add(&Numeric::ONE);
    1707 round(NUMERIC, INT4) -> NUMERIC = (a: Numeric, digits: i32) a.round(digits);
    1709 trunc(NUMERIC, INT4) -> NUMERIC = (a: Numeric, digits: i32) a.trunc(digits);
    3281 scale(NUMERIC) -> INT4 = (a: Numeric) a.scale().map(|scale| scale as i32);
    5042 min_scale(NUMERIC) -> INT4 = (a: Numeric) a.min_scale().map(|scale| scale as i32);
    1376 factorial(INT8) -> NUMERIC = (n: i64) Numeric::factorial(n);
    2170 width_bucket(NUMERIC, NUMERIC, NUMERIC, INT4) -> INT4 = (x: Numeric, low: Numeric, high: Numeric, count: i32) x.width_bucket(&low, &high, count);

    1703 numeric(NUMERIC, INT4) -> NUMERIC = (a: Numeric, modifier: i32) to_modifier(a, modifier);
    1740 numeric(INT4) -> NUMERIC = (a: i32) Numeric::from(a);
    1781 numeric(INT8) -> NUMERIC = (a: i64) Numeric::from(a);
    1782 numeric(INT2) -> NUMERIC = (a: i16) Numeric::from(a);
    1742 numeric(FLOAT4) -> NUMERIC = (a: f32) Numeric::from(a);
    1743 numeric(FLOAT8) -> NUMERIC = (a: f64) Numeric::from(a);
    1783 int2(NUMERIC) -> INT2 = (a: Numeric) a.to_i16();
    1744 int4(NUMERIC) -> INT4 = (a: Numeric) a.to_i32();
    1779 int8(NUMERIC) -> INT8 = (a: Numeric) a.to_i64();
    1745 float4(NUMERIC) -> FLOAT4 = (a: Numeric) a.to_f32();
    1746 float8(NUMERIC) -> FLOAT8 = (a: Numeric) a.to_f64();

    3237 pg_lsn_mi(PG_LSN, PG_LSN) -> NUMERIC = (a: i64, b: i64) Numeric::from(i128::from(a as u64) - i128::from(b as u64));
    5022 pg_lsn_pli(PG_LSN, NUMERIC) -> PG_LSN = (a: i64, n: Numeric) move_position(a, &n);
    5023 numeric_pl_pg_lsn(NUMERIC, PG_LSN) -> PG_LSN = (n: Numeric, a: i64) move_position(a, &n);
    5024 pg_lsn_mii(PG_LSN, NUMERIC) -> PG_LSN = (a: i64, n: Numeric) move_position(a, &n.neg());
};
