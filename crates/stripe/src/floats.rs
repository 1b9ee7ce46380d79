//! Floating point numbers: as decimals if nearly all of them are decimals, else unchanged.
//!
//! ```text
//!   19.99  5.00  7.25        decimal, 2 digits     1999 500 725
//!   0.5  nan  0.25           decimal, 2 digits     50 50 25, and an exception: value 1 is nan
//!   0.1234567890123456 ...   plain
//! ```
//!
//! The decimal form is a simpler ALP (Afroozeh, Kuffo, Boncz: ALP, Adaptive Lossless floating-Point
//! Compression, SIGMOD 2024): one division by a power of ten in place of two multiplications, because the
//! quotient of two exact numbers is the nearest floating point number to the decimal.

use crate::cursor::{Cursor, put_unsigned};
use crate::ints::Ints;
use crate::{BLOCK_ROWS, Error, Result};

const PLAIN: u8 = 0;
const DECIMAL: u8 = 1;

/// The most digits after the point of a number that is kept as a decimal.
const DIGITS_MAX: usize = 17;

/// Integers up to here are exact as floating point numbers of 64 bits.
const EXACT_MAX: f64 = (1_u64 << 53) as f64;

const POWERS: [f64; DIGITS_MAX + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17,
];

/// A floating point number of 32 or 64 bits.
pub trait Float: Copy + sealed::Sealed {
    #[doc(hidden)]
    const BYTES: usize;
    #[doc(hidden)]
    fn widen(self) -> f64;
    #[doc(hidden)]
    fn narrow(value: f64) -> Self;
    #[doc(hidden)]
    fn is(self, other: Self) -> bool;
    #[doc(hidden)]
    fn put(self, out: &mut Vec<u8>);
    #[doc(hidden)]
    fn of(bytes: &[u8]) -> Self;
    #[doc(hidden)]
    fn map<T>(bytes: &[u8], f: impl Fn(Self) -> T) -> Vec<T>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! float {
    ($($float:ty),*) => {$(
        impl Float for $float {
            const BYTES: usize = size_of::<$float>();
            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn narrow(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn is(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }
            #[inline(always)]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            #[inline(always)]
            fn map<T>(bytes: &[u8], f: impl Fn(Self) -> T) -> Vec<T> {
                let (numbers, _) = bytes.as_chunks::<{ size_of::<$float>() }>();
                numbers.iter().map(|bytes| f(<$float>::from_le_bytes(*bytes))).collect()
            }
            #[inline(always)]
            fn of(bytes: &[u8]) -> Self {
                <$float>::from_le_bytes(bytes.try_into().expect("the bytes of one number"))
            }
        }
    )*};
}

float!(f32, f64);

/// A stream of floating point numbers, as its bytes give it.
#[derive(Clone, Debug)]
pub struct Floats<'a, F> {
    count: usize,
    form: Form<'a, F>,
}

#[derive(Clone, Debug)]
enum Form<'a, F> {
    Plain(&'a [u8]),
    Decimal {
        power: f64,
        mantissas: Ints<'a>,
        /// The values that are not such decimals, with their positions, ascending.
        exceptions: Vec<(u32, F)>,
    },
}

impl<'a, F: Float> Floats<'a, F> {
    pub(crate) fn write(values: &[F], out: &mut Vec<u8>) {
        if let Some(mut decimals) = as_decimals(values)
            && decimals.len() < values.len() * F::BYTES
        {
            out.push(DECIMAL);
            out.append(&mut decimals);
        } else {
            out.push(PLAIN);
            values.iter().for_each(|value| value.put(out));
        }
    }

    pub(crate) fn read(input: &mut Cursor<'a>, count: usize) -> Result<Floats<'a, F>> {
        let form = match input.byte()? {
            PLAIN => Form::Plain(input.take(count * F::BYTES)?),
            DECIMAL => {
                let power = POWERS[input.count(DIGITS_MAX)?];
                let mantissas = Ints::read(input, count)?;
                let held = input.count(count)?;
                let positions = Ints::read(input, held)?.to_vec();
                let ascend = positions.windows(2).all(|pair| pair[0] < pair[1]);
                let within = |at: &i64| (0..count as i64).contains(at);
                if !ascend || !positions.iter().all(within) {
                    return Err(Error("an exception of a decimal is out of place"));
                }
                let bytes = input.take(held * F::BYTES)?.chunks_exact(F::BYTES);
                let exceptions = positions.into_iter().zip(bytes);
                let exceptions = exceptions.map(|(at, bytes)| (at as u32, F::of(bytes))).collect();
                Form::Decimal { power, mantissas, exceptions }
            }
            _ => return Err(Error("there is no such encoding of floating point numbers")),
        };
        Ok(Floats { count, form })
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns what `f` makes of the values of block `index`.
    pub fn block<T>(&self, index: usize, f: impl Fn(F) -> T) -> Vec<T> {
        let start = index * BLOCK_ROWS;
        let count = BLOCK_ROWS.min(self.count - start);
        match &self.form {
            Form::Plain(bytes) => F::map(&bytes[start * F::BYTES..][..count * F::BYTES], f),
            Form::Decimal { power, mantissas, exceptions } => {
                let mantissas = mantissas.block(index);
                let values = mantissas.into_iter().map(|one| f(decimal(one, *power)));
                let mut values: Vec<T> = values.collect();
                let first = exceptions.partition_point(|(at, _)| (*at as usize) < start);
                let within = |(at, _): &&(u32, F)| (*at as usize) < start + count;
                for (at, number) in exceptions[first..].iter().take_while(within) {
                    values[*at as usize - start] = f(*number);
                }
                values
            }
        }
    }

    /// Returns the value at `index`.
    pub fn get(&self, index: usize) -> F {
        assert!(index < self.count, "value {index} of {}", self.count);
        match &self.form {
            Form::Plain(bytes) => F::of(&bytes[index * F::BYTES..][..F::BYTES]),
            Form::Decimal { power, mantissas, exceptions } => {
                match exceptions.binary_search_by_key(&(index as u32), |(at, _)| *at) {
                    Ok(found) => exceptions[found].1,
                    Err(_) => decimal(mantissas.get(index), *power),
                }
            }
        }
    }
}

fn decimal<F: Float>(mantissa: i64, power: f64) -> F {
    F::narrow(mantissa as f64 / power)
}

/// Returns the mantissa of a number that is exactly `mantissa / power`; `None` for other numbers.
fn mantissa_of<F: Float>(value: F, power: f64) -> Option<i64> {
    let scaled = (value.widen() * power).round();
    let mantissa = scaled as i64;
    (scaled.abs() <= EXACT_MAX && decimal::<F>(mantissa, power).is(value)).then_some(mantissa)
}

/// Returns the number of digits with which most of a sample are decimals; `None` if fewer than nine tenths are.
fn choose_digits<F: Float>(values: &[F]) -> Option<usize> {
    const SAMPLE: usize = 64;
    let step = values.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<F> = values.iter().copied().step_by(step).collect();
    let fitting = |digits: usize| {
        sample.iter().filter(|value| mantissa_of(**value, POWERS[digits]).is_some()).count()
    };
    let (fit, digits) = (0..=DIGITS_MAX)
        .map(|digits| (fitting(digits), digits))
        .max_by_key(|(fit, digits)| (*fit, DIGITS_MAX - digits))?;
    (fit * 10 >= sample.len() * 9 && !sample.is_empty()).then_some(digits)
}

fn as_decimals<F: Float>(values: &[F]) -> Option<Vec<u8>> {
    let digits = choose_digits(values)?;
    let mut exceptions = Vec::new();
    let mut before = 0;
    let mantissas: Vec<i64> = values
        .iter()
        .enumerate()
        .map(|(at, value)| {
            match mantissa_of(*value, POWERS[digits]) {
                Some(mantissa) => before = mantissa,
                None => exceptions.push((at as i64, *value)),
            }
            before
        })
        .collect();
    let mut out = Vec::new();
    put_unsigned(&mut out, digits as u64);
    Ints::write(&mantissas, &mut out);
    put_unsigned(&mut out, exceptions.len() as u64);
    let positions: Vec<i64> = exceptions.iter().map(|(at, _)| *at).collect();
    Ints::write(&positions, &mut out);
    exceptions.iter().for_each(|(_, value)| value.put(&mut out));
    Some(out)
}
