//! Histograms: the number of the equal interval into which a value falls.

use std::cmp::Ordering;

use crate::{Numeric, NumericError};

impl Numeric {
    /// The interval, from 1 to `count`, that the value falls into when the range from `low` to
    /// `high` is divided evenly; 0 before `low`, `count + 1` from `high` on. The range may run
    /// downwards.
    ///
    /// # Errors
    /// [`NumericError::WidthBucket`]; [`NumericError::OutOfRange`] for `i32::MAX + 1`.
    pub fn width_bucket(&self, low: &Self, high: &Self, count: i32) -> Result<i32, NumericError> {
        let refuse = |why| Err(NumericError::WidthBucket(why));
        if count <= 0 {
            return refuse("count must be greater than zero");
        }
        if self.is_nan() || low.is_nan() || high.is_nan() {
            return refuse("operand, lower bound, and upper bound cannot be NaN");
        }
        if low.is_infinite() || high.is_infinite() {
            return refuse("lower and upper bounds must be finite");
        }
        let (before, behind) = match low.cmp(high) {
            Ordering::Equal => return refuse("lower bound cannot equal upper bound"),
            Ordering::Less => (self < low, self >= high),
            Ordering::Greater => (self > low, self <= high),
        };
        if before {
            return Ok(0);
        }
        if behind {
            return count.checked_add(1).ok_or(NumericError::OutOfRange("integer"));
        }
        let offset = self.checked_sub(low)?.checked_mul(&Self::from(count))?;
        Ok(offset.div_trunc(&high.checked_sub(low)?)?.to_i32()? + 1)
    }
}
