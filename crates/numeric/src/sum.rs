//! Sums over many values: exact, and without an allocation for each.
//!
//! ```text
//!   total = (low: i128 + high: big integer) / 10^scale
//! ```
//!
//! Values are added to `low`, at the largest scale seen so far. Only when that overflows is `low` emptied into `high`.
//! NaN and infinities are counted apart, so that values can be taken out again when a window moves.

use num_bigint::BigInt;

use crate::value::Finite;
use crate::{Numeric, NumericError, big};

/// An exact running total.
#[derive(Clone, Default)]
struct Total {
    low: i128,
    high: Option<Box<BigInt>>,
    scale: u32,
}

impl Total {
    /// Makes the scale at least so large.
    fn raise(&mut self, scale: u32) {
        if scale <= self.scale {
            return;
        }
        let up = scale - self.scale;
        match big::scale_up_small(self.low, up) {
            Some(low) => self.low = low,
            None => {
                self.spill();
                self.low = 0;
            }
        }
        if let Some(high) = &mut self.high {
            **high *= BigInt::from(big::power(up));
        }
        self.scale = scale;
    }

    /// Empties `low` into `high`.
    fn spill(&mut self) {
        **self.high.get_or_insert_default() += self.low;
        self.low = 0;
    }

    fn add_small(&mut self, mantissa: i128, scale: u32) {
        self.raise(scale);
        match big::scale_up_small(mantissa, self.scale - scale) {
            Some(mantissa) => match self.low.checked_add(mantissa) {
                Some(low) => self.low = low,
                None => {
                    self.spill();
                    self.low = mantissa;
                }
            },
            None => self.add_big(BigInt::from(mantissa), scale),
        }
    }

    fn add_big(&mut self, mantissa: BigInt, scale: u32) {
        self.raise(scale);
        **self.high.get_or_insert_default() += big::scale_up(mantissa, self.scale - scale);
    }

    fn merge(&mut self, other: &Self) {
        self.add_small(other.low, other.scale);
        if let Some(high) = &other.high {
            self.add_big((**high).clone(), other.scale);
        }
    }

    fn value(&self) -> Result<Numeric, NumericError> {
        match &self.high {
            None => Numeric::new(self.low, self.scale),
            Some(high) => Numeric::from_big(self.low + &**high, self.scale),
        }
    }
}

/// The accumulator of `sum` and `avg`.
#[derive(Clone, Default)]
pub struct Sum {
    total: Total,
    count: u64,
    nans: u64,
    infinities: u64,
    neg_infinities: u64,
}

impl Sum {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a value in.
    pub fn add(&mut self, value: &Numeric) {
        self.count += 1;
        match value.finite() {
            Some(Finite::Small(mantissa, scale)) => self.total.add_small(mantissa, scale),
            Some(Finite::Large(mantissa, scale)) => self.total.add_big(mantissa.clone(), scale),
            None => *self.special(value) += 1,
        }
    }

    /// Takes out a value that was taken in before.
    pub fn remove(&mut self, value: &Numeric) {
        self.count -= 1;
        match value.finite() {
            Some(Finite::Small(mantissa, scale)) => self.total.add_small(-mantissa, scale),
            Some(Finite::Large(mantissa, scale)) => self.total.add_big(-mantissa, scale),
            None => *self.special(value) -= 1,
        }
    }

    /// Takes `count` values in whose sum is `total`. Its scale is the largest of theirs.
    pub fn add_total(&mut self, total: &Numeric, count: u64) {
        self.add(total);
        self.count = self.count - 1 + count;
    }

    /// Takes in all that another one took in.
    pub fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.count += other.count;
        self.nans += other.nans;
        self.infinities += other.infinities;
        self.neg_infinities += other.neg_infinities;
    }

    fn special(&mut self, value: &Numeric) -> &mut u64 {
        match value.signum() {
            0 => &mut self.nans,
            1.. => &mut self.infinities,
            _ => &mut self.neg_infinities,
        }
    }

    /// How many values were taken in.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum, with the largest scale among the values; `None` for no values.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn sum(&self) -> Result<Option<Numeric>, NumericError> {
        if self.count == 0 {
            return Ok(None);
        }
        Ok(Some(match (self.nans, self.infinities, self.neg_infinities) {
            (0, 0, 0) => self.total.value()?,
            (0, 1.., 0) => Numeric::INFINITY,
            (0, 0, 1..) => Numeric::NEG_INFINITY,
            _ => Numeric::NAN,
        }))
    }

    /// The mean; `None` for no values.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn avg(&self) -> Result<Option<Numeric>, NumericError> {
        match self.sum()? {
            Some(sum) => Ok(Some(sum.checked_div(&Numeric::from(self.count))?)),
            None => Ok(None),
        }
    }
}

/// The accumulator of variances and standard deviations.
#[derive(Clone, Default)]
pub struct Squares {
    sum: Sum,
    squares: Total,
}

/// The kind of values of a variance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// A sample: divided by one less than the count, and undefined for one value.
    Sample,
    /// All there is: divided by the count.
    Population,
}

impl Squares {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a value in.
    pub fn add(&mut self, value: &Numeric) {
        self.sum.add(value);
        match value.finite() {
            Some(Finite::Small(mantissa, scale)) => match mantissa.checked_mul(mantissa) {
                Some(square) => self.squares.add_small(square, 2 * scale),
                None => {
                    let mantissa = BigInt::from(mantissa);
                    self.squares.add_big(&mantissa * &mantissa, 2 * scale);
                }
            },
            Some(Finite::Large(mantissa, scale)) => {
                self.squares.add_big(mantissa * mantissa, 2 * scale);
            }
            None => {}
        }
    }

    /// Takes in all that another one took in.
    pub fn merge(&mut self, other: &Self) {
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
    }

    /// How many values were taken in.
    pub fn count(&self) -> u64 {
        self.sum.count
    }

    /// The variance; `None` if there are too few values for one.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn variance(&self, spread: Spread) -> Result<Option<Numeric>, NumericError> {
        let count = self.sum.count;
        let least = if spread == Spread::Sample { 2 } else { 1 };
        if count < least {
            return Ok(None);
        }
        if self.sum.nans + self.sum.infinities + self.sum.neg_infinities > 0 {
            return Ok(Some(Numeric::NAN));
        }
        // count * sum of squares - square of the sum, over count * (count - 1) or count^2.
        let count = Numeric::from(count);
        let sum = self.sum.total.value()?;
        let above =
            self.squares.value()?.checked_mul(&count)?.checked_sub(&sum.checked_mul(&sum)?)?;
        if above <= Numeric::ZERO {
            return Ok(Some(Numeric::ZERO));
        }
        let below = match spread {
            Spread::Sample => count.checked_sub(&Numeric::ONE)?,
            Spread::Population => count.clone(),
        };
        above.checked_div(&count.checked_mul(&below)?).map(Some)
    }

    /// The square root of the variance; `None` if there are too few values for one.
    ///
    /// # Errors
    /// [`NumericError::Overflow`].
    pub fn deviation(&self, spread: Spread) -> Result<Option<Numeric>, NumericError> {
        match self.variance(spread)? {
            Some(variance) if !variance.is_zero() => variance.sqrt_same_scale().map(Some),
            variance => Ok(variance),
        }
    }
}
