//! Sums, means, variances of numbers.
//!
//! Integers and numerics are added exactly. Floats are added as they come; their variances are
//! updated value by value with the method of Youngs and Cramer, which does not lose digits where
//! the mean is large.

use std::marker::PhantomData;

use numeric::{Numeric, Spread, Squares, Sum};
use types::time::Interval;
use types::{Datum, DatumRef, Result};

use Spread::{Population, Sample};

use crate::aggregate::{Accumulator, Kind, aggregates};
use crate::function::{Argument, Call, Function, Output};
use crate::integer::Integer;
use types::float;

/// The only argument, where it is not NULL.
fn value<'a, T: Argument<'a>>(args: &[DatumRef<'a>]) -> Result<Option<T>> {
    args.first().map_or(Ok(None), |arg| Option::<T>::read(*arg))
}

/// The sum of short integers, as `bigint`.
#[derive(Default)]
struct Wide<T> {
    sum: Option<i64>,
    of: PhantomData<T>,
}

impl<T: for<'a> Argument<'a> + Into<i64> + Send> Accumulator for Wide<T> {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if let Some(value) = value::<T>(args)? {
            let sum = self.sum.unwrap_or(0).checked_add(value.into());
            self.sum = Some(sum.ok_or_else(i64::out_of_range)?);
        }
        Ok(())
    }

    fn add_sum(&mut self, sum: &Sum) -> Result<()> {
        if let Some(sum) = sum.sum()? {
            let sum = sum.to_i64().map_err(|_| i64::out_of_range())?;
            let sum = self.sum.unwrap_or(0).checked_add(sum);
            self.sum = Some(sum.ok_or_else(i64::out_of_range)?);
        }
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        self.sum.put()
    }
}

/// The result that is made of an exact sum.
enum Exactly {
    Sum,
    Mean,
}

/// The sum or the mean, as `numeric`.
struct Exact<T> {
    sum: Sum,
    gives: Exactly,
    of: PhantomData<T>,
}

impl<T> Exact<T> {
    fn new(gives: Exactly) -> Self {
        Self { sum: Sum::new(), gives, of: PhantomData }
    }
}

impl<T: for<'a> Argument<'a> + Into<Numeric> + Send> Accumulator for Exact<T> {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if let Some(value) = value::<T>(args)? {
            self.sum.add(&value.into());
        }
        Ok(())
    }

    fn add_sum(&mut self, sum: &Sum) -> Result<()> {
        self.sum.merge(sum);
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        match self.gives {
            Exactly::Sum => self.sum.sum().put(),
            Exactly::Mean => self.sum.avg().put(),
        }
    }
}

/// The exact variance or standard deviation, as `numeric`.
struct Spreads<T> {
    squares: Squares,
    spread: Spread,
    root: bool,
    of: PhantomData<T>,
}

impl<T> Spreads<T> {
    fn new(spread: Spread, root: bool) -> Self {
        Self { squares: Squares::new(), spread, root, of: PhantomData }
    }
}

impl<T: for<'a> Argument<'a> + Into<Numeric> + Send> Accumulator for Spreads<T> {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if let Some(value) = value::<T>(args)? {
            self.squares.add(&value.into());
        }
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        if self.root {
            self.squares.deviation(self.spread).put()
        } else {
            self.squares.variance(self.spread).put()
        }
    }
}

/// The sum of floats, in their own precision.
#[derive(Default)]
struct Plain<T> {
    sum: Option<T>,
}

macro_rules! plain {
    ($($float:ty, $add:path;)*) => {$(
        impl Accumulator for Plain<$float> {
            fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
                if let Some(value) = value::<$float>(args)? {
                    self.sum = Some(match self.sum {
                        Some(sum) => $add(sum, value)?,
                        None => value,
                    });
                }
                Ok(())
            }

            fn add_floats(&mut self, sum: f64, _: u64) -> Result<()> {
                // A sum of float4 may differ in its last digits: the caller has added in 64 bits, `add` rounds each step to 32.
                self.sum = Some(match self.sum {
                    Some(before) => $add(before, sum as $float)?,
                    None => sum as $float,
                });
                Ok(())
            }

            fn finish(&self, _: &Call<'_>) -> Result<Datum> {
                self.sum.put()
            }
        }
    )*};
}
plain! {
    f32, float::add4;
    f64, float::add8;
}

/// The result that is made of the moments of floats.
enum Moment {
    Mean,
    Variance(Spread),
    Deviation(Spread),
}

/// The mean, the variance or the standard deviation of floats.
struct Moments<T> {
    count: f64,
    sum: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
    gives: Moment,
    of: PhantomData<T>,
}

impl<T> Moments<T> {
    fn new(gives: Moment) -> Self {
        Self { count: 0.0, sum: 0.0, squares: 0.0, gives, of: PhantomData }
    }
}

impl<T: for<'a> Argument<'a> + Into<f64> + Send> Accumulator for Moments<T> {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        let Some(value) = value::<T>(args)? else { return Ok(()) };
        let value = value.into();
        let before = self.sum;
        self.count += 1.0;
        self.sum += value;
        if self.count == 1.0 {
            // An infinity has no distance from itself.
            self.squares = if value.is_finite() { 0.0 } else { f64::NAN };
            return Ok(());
        }
        let distance = value * self.count - self.sum;
        self.squares += distance * distance / (self.count * (self.count - 1.0));
        if self.sum.is_infinite() || self.squares.is_infinite() {
            if before.is_finite() && value.is_finite() {
                return Err(float::overflow());
            }
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn add_floats(&mut self, sum: f64, count: u64) -> Result<()> {
        self.count += count as f64;
        self.sum += sum;
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        let variance = |spread| match spread {
            Sample if self.count > 1.0 => Some(self.squares / (self.count - 1.0)),
            Population if self.count > 0.0 => Some(self.squares / self.count),
            _ => None,
        };
        match self.gives {
            Moment::Mean => (self.count > 0.0).then(|| self.sum / self.count),
            Moment::Variance(spread) => variance(spread),
            Moment::Deviation(spread) => variance(spread).map(f64::sqrt),
        }
        .put()
    }
}

/// The sum or the mean of intervals.
struct Intervals {
    sum: Option<Interval>,
    count: u32,
    gives: Exactly,
}

impl Intervals {
    fn new(gives: Exactly) -> Self {
        Self { sum: None, count: 0, gives }
    }
}

impl Accumulator for Intervals {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        if let Some(value) = value::<Interval>(args)? {
            self.sum = Some(self.sum.map_or(Ok(value), |sum| sum.add(value))?);
            self.count += 1;
        }
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        let Some(sum) = self.sum else { return Ok(Datum::Null) };
        match self.gives {
            Exactly::Sum => sum.put(),
            Exactly::Mean => sum.divide(f64::from(self.count)).put(),
        }
    }
}

pub(super) const TABLE: &[Function] = aggregates! { Kind::Normal =>
2100 avg(INT8) -> NUMERIC = Exact::<i64>::new(Exactly::Mean);
2101 avg(INT4) -> NUMERIC = Exact::<i32>::new(Exactly::Mean);
2102 avg(INT2) -> NUMERIC = Exact::<i16>::new(Exactly::Mean);
2103 avg(NUMERIC) -> NUMERIC = Exact::<Numeric>::new(Exactly::Mean);
2104 avg(FLOAT4) -> FLOAT8 = Moments::<f32>::new(Moment::Mean);
2105 avg(FLOAT8) -> FLOAT8 = Moments::<f64>::new(Moment::Mean);
2154 stddev(INT8) -> NUMERIC = Spreads::<i64>::new(Sample, true);
2155 stddev(INT4) -> NUMERIC = Spreads::<i32>::new(Sample, true);
2156 stddev(INT2) -> NUMERIC = Spreads::<i16>::new(Sample, true);
2157 stddev(FLOAT4) -> FLOAT8 = Moments::<f32>::new(Moment::Deviation(Sample));
2158 stddev(FLOAT8) -> FLOAT8 = Moments::<f64>::new(Moment::Deviation(Sample));
2159 stddev(NUMERIC) -> NUMERIC = Spreads::<Numeric>::new(Sample, true);
2724 stddev_pop(INT8) -> NUMERIC = Spreads::<i64>::new(Population, true);
2725 stddev_pop(INT4) -> NUMERIC = Spreads::<i32>::new(Population, true);
2726 stddev_pop(INT2) -> NUMERIC = Spreads::<i16>::new(Population, true);
2727 stddev_pop(FLOAT4) -> FLOAT8 = Moments::<f32>::new(Moment::Deviation(Population));
2728 stddev_pop(FLOAT8) -> FLOAT8 = Moments::<f64>::new(Moment::Deviation(Population));
2729 stddev_pop(NUMERIC) -> NUMERIC = Spreads::<Numeric>::new(Population, true);
2712 stddev_samp(INT8) -> NUMERIC = Spreads::<i64>::new(Sample, true);
2713 stddev_samp(INT4) -> NUMERIC = Spreads::<i32>::new(Sample, true);
2714 stddev_samp(INT2) -> NUMERIC = Spreads::<i16>::new(Sample, true);
2715 stddev_samp(FLOAT4) -> FLOAT8 = Moments::<f32>::new(Moment::Deviation(Sample));
2716 stddev_samp(FLOAT8) -> FLOAT8 = Moments::<f64>::new(Moment::Deviation(Sample));
2717 stddev_samp(NUMERIC) -> NUMERIC = Spreads::<Numeric>::new(Sample, true);
2107 sum(INT8) -> NUMERIC = Exact::<i64>::new(Exactly::Sum);
2108 sum(INT4) -> INT8 = Wide::<i32>::default();
2109 sum(INT2) -> INT8 = Wide::<i16>::default();
2110 sum(FLOAT4) -> FLOAT4 = Plain::<f32>::default();
2111 sum(FLOAT8) -> FLOAT8 = Plain::<f64>::default();
2114 sum(NUMERIC) -> NUMERIC = Exact::<Numeric>::new(Exactly::Sum);
2718 var_pop(INT8) -> NUMERIC = Spreads::<i64>::new(Population, false);
2719 var_pop(INT4) -> NUMERIC = Spreads::<i32>::new(Population, false);
2720 var_pop(INT2) -> NUMERIC = Spreads::<i16>::new(Population, false);
2721 var_pop(FLOAT4) -> FLOAT8 = Moments::<f32>::new(Moment::Variance(Population));
2722 var_pop(FLOAT8) -> FLOAT8 = Moments::<f64>::new(Moment::Variance(Population));
2723 var_pop(NUMERIC) -> NUMERIC = Spreads::<Numeric>::new(Population, false);
2641 var_samp(INT8) -> NUMERIC = Spreads::<i64>::new(Sample, false);
2642 var_samp(INT4) -> NUMERIC = Spreads::<i32>::new(Sample, false);
2643 var_samp(INT2) -> NUMERIC = Spreads::<i16>::new(Sample, false);
2644 var_samp(FLOAT4) -> FLOAT8 = Moments::<f32>::new(Moment::Variance(Sample));
2645 var_samp(FLOAT8) -> FLOAT8 = Moments::<f64>::new(Moment::Variance(Sample));
2646 var_samp(NUMERIC) -> NUMERIC = Spreads::<Numeric>::new(Sample, false);
2148 variance(INT8) -> NUMERIC = Spreads::<i64>::new(Sample, false);
2149 variance(INT4) -> NUMERIC = Spreads::<i32>::new(Sample, false);
2150 variance(INT2) -> NUMERIC = Spreads::<i16>::new(Sample, false);
2151 variance(FLOAT4) -> FLOAT8 = Moments::<f32>::new(Moment::Variance(Sample));
2152 variance(FLOAT8) -> FLOAT8 = Moments::<f64>::new(Moment::Variance(Sample));
2153 variance(NUMERIC) -> NUMERIC = Spreads::<Numeric>::new(Sample, false);    2113 sum(INTERVAL) -> INTERVAL = Intervals::new(Exactly::Sum);
    2106 avg(INTERVAL) -> INTERVAL = Intervals::new(Exactly::Mean);
};
