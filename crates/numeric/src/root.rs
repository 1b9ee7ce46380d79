//! Square roots, rounded correctly.

use num_integer::Roots;

use crate::value::Finite;
use crate::{Numeric, NumericError, big, scale};

impl Numeric {
    /// The square root, with at least 16 significant digits and at least the scale of the value.
    ///
    /// # Errors
    /// [`NumericError::RootOfNegative`].
    pub fn sqrt(&self) -> Result<Self, NumericError> {
        if self.signum() < 0 {
            return Err(NumericError::RootOfNegative);
        }
        let Some(finite) = self.finite() else { return Ok(self.clone()) };
        // Half as many digits before the point as the groups of the value have.
        let digits = scale::leading(&finite, 1).first * scale::GROUP;
        let weight = if digits >= 0 { digits / 2 + 1 } else { 1 - (1 - digits) / 2 };
        let scale = scale::of_result(weight, &[&finite]);
        root(&finite, scale)
    }

    /// The square root with the value's own scale: what becomes of a variance.
    pub(crate) fn sqrt_same_scale(&self) -> Result<Self, NumericError> {
        match self.finite() {
            Some(finite) => root(&finite, finite.scale()),
            None => Ok(self.clone()),
        }
    }
}

/// The root of a value that is not negative, rounded to a scale.
fn root(value: &Finite<'_>, scale: u32) -> Result<Numeric, NumericError> {
    // The integer root at one digit more, and then that digit rounded away: the digit tells on
    // which side of the middle the root lies.
    let shift = 2 * (scale as i32 + 1) - value.scale() as i32;
    let mantissa = value.mantissa().into_owned();
    let shifted = if shift >= 0 {
        big::scale_up(mantissa, shift as u32)
    } else {
        big::scale_down(mantissa, -shift as u32)
    };
    let root = match i128::try_from(&shifted) {
        Ok(short) => Roots::sqrt(&short).into(),
        Err(_) => shifted.sqrt(),
    };
    Numeric::from_big((root + 5) / 10, scale)
}
