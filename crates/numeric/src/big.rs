//! Powers of ten and their uses: counting digits, scaling mantissas up and down.

use std::f64::consts::LOG10_2;

use num_bigint::{BigInt, BigUint, Sign};

/// The powers of ten that fit an `i128`.
pub(crate) const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// `10^n`.
pub(crate) fn power(n: u32) -> BigUint {
    match POWERS.get(n as usize) {
        Some(power) => BigUint::from(*power as u128),
        None => BigUint::from(5_u8).pow(n) << n,
    }
}

/// `mantissa * 10^n`, where that fits.
pub(crate) fn scale_up_small(mantissa: i128, n: u32) -> Option<i128> {
    match POWERS.get(n as usize) {
        Some(power) => mantissa.checked_mul(*power).filter(|product| *product != i128::MIN),
        None => (mantissa == 0).then_some(0),
    }
}

/// `mantissa * 10^n`.
pub(crate) fn scale_up(mantissa: BigInt, n: u32) -> BigInt {
    if n == 0 { mantissa } else { mantissa * BigInt::from(power(n)) }
}

/// `mantissa / 10^n`, cut off.
pub(crate) fn scale_down(mantissa: BigInt, n: u32) -> BigInt {
    if n == 0 { mantissa } else { mantissa / BigInt::from(power(n)) }
}

/// `numerator / denominator`, the nearest integer, halves away from zero.
pub(crate) fn divide_round(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    let quotient = numerator / denominator;
    let rest = numerator - &quotient * denominator;
    if rest.magnitude() << 1_u32 < *denominator.magnitude() {
        quotient
    } else if (numerator.sign() == Sign::Minus) == (denominator.sign() == Sign::Minus) {
        quotient + 1
    } else {
        quotient - 1
    }
}

/// As [`divide_round`].
pub(crate) fn divide_round_small(numerator: i128, denominator: i128) -> i128 {
    let (quotient, rest) = match (i64::try_from(numerator), i64::try_from(denominator)) {
        // A division of 64 bits takes a fraction of the time; i64::MIN / -1 does not fit it.
        (Ok(n), Ok(d)) if d != -1 => (i128::from(n / d), i128::from(n % d)),
        _ => (numerator / denominator, numerator % denominator),
    };
    let rest = rest.unsigned_abs();
    if rest < denominator.unsigned_abs() - rest {
        quotient
    } else if (numerator < 0) == (denominator < 0) {
        quotient + 1
    } else {
        quotient - 1
    }
}

/// The number of decimal digits; zero has none.
pub(crate) fn digits(value: &BigUint) -> u32 {
    let bits = value.bits();
    if bits == 0 {
        return 0;
    }
    // Both bounds follow from the length in bits; a comparison decides where they differ. The
    // product is off by far less than a digit, so a hair's breadth on either side is safe.
    let estimate = |bits: u64, hair: f64| (bits as f64 * LOG10_2 + hair) as u32 + 1;
    let (low, high) = (estimate(bits - 1, -1e-6), estimate(bits, 1e-6));
    (low..high).find(|n| *value < power(*n)).unwrap_or(high)
}

/// As [`digits`].
pub(crate) fn digits_small(value: u128) -> u32 {
    if value == 0 { 0 } else { value.ilog10() + 1 }
}

/// How often ten divides a value that is not zero.
pub(crate) fn trailing_zeros(value: &BigUint) -> u32 {
    // Ten divides no more often than two. Halving steps keep the divisions few.
    let limit = value.trailing_zeros().unwrap_or(0).min(u64::from(u32::MAX)) as u32;
    let (mut rest, mut zeros) = (value.clone(), 0);
    let mut step = limit.next_power_of_two();
    while step > 0 {
        if zeros + step <= limit {
            let power = power(step);
            let quotient = &rest / &power;
            if &quotient * &power == rest {
                rest = quotient;
                zeros += step;
                continue;
            }
        }
        step /= 2;
    }
    zeros
}
