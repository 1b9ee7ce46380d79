//! Two variables: correlation, covariance, the least-squares line.
//!
//! The arguments are (Y, X), in that order, as the standard has it. Rows with a NULL in either do
//! not count. The sums of squared distances are updated with the method of Youngs and Cramer.

use types::{Datum, DatumRef, Result};

use crate::aggregate::{Accumulator, Kind, aggregates};
use crate::function::{Argument, Call, Function, Output};

/// The sums of all pairs so far.
#[derive(Default, Clone, Copy)]
struct Pairs {
    n: f64,
    x: f64,
    y: f64,
    /// Squared distances of X from its mean.
    xx: f64,
    /// Squared distances of Y from its mean.
    yy: f64,
    /// Products of both distances.
    xy: f64,
}

struct Regression {
    pairs: Pairs,
    gives: fn(Pairs) -> Option<f64>,
}

impl Regression {
    fn new(gives: fn(Pairs) -> Option<f64>) -> Self {
        Self { pairs: Pairs::default(), gives }
    }
}

impl Pairs {
    fn add(&mut self, y: f64, x: f64) -> Result<()> {
        let before = *self;
        self.n += 1.0;
        self.x += x;
        self.y += y;
        if self.n == 1.0 {
            let or_nan = |value: f64| if value.is_finite() { 0.0 } else { f64::NAN };
            (self.xx, self.yy) = (or_nan(x), or_nan(y));
            self.xy = if self.xx.is_nan() || self.yy.is_nan() { f64::NAN } else { 0.0 };
            return Ok(());
        }
        let (dx, dy) = (x * self.n - self.x, y * self.n - self.y);
        let scale = 1.0 / (self.n * before.n);
        self.xx += dx * dx * scale;
        self.yy += dy * dy * scale;
        self.xy += dx * dy * scale;
        let sums = [self.x, self.xx, self.y, self.yy, self.xy];
        if sums.iter().any(|sum| sum.is_infinite()) {
            let x_finite = before.x.is_finite() && x.is_finite();
            let y_finite = before.y.is_finite() && y.is_finite();
            let lost = |sums: &[f64], finite| finite && sums.iter().any(|sum| sum.is_infinite());
            if lost(&[self.x, self.xx], x_finite)
                || lost(&[self.y, self.yy], y_finite)
                || lost(&[self.xy], x_finite && y_finite)
            {
                return Err(types::float::overflow());
            }
            for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
                if sum.is_infinite() {
                    *sum = f64::NAN;
                }
            }
        }
        Ok(())
    }

    /// A result that needs a row, and one of two where X or Y vary.
    fn when(self, holds: bool, value: impl FnOnce(Self) -> f64) -> Option<f64> {
        (self.n >= 1.0 && holds).then(|| value(self))
    }
}

impl Accumulator for Regression {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        match (Option::<f64>::read(args[0])?, Option::<f64>::read(args[1])?) {
            (Some(y), Some(x)) => self.pairs.add(y, x),
            _ => Ok(()),
        }
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        (self.gives)(self.pairs).put()
    }
}

/// The number of pairs.
#[derive(Default)]
struct Count(i64);

impl Accumulator for Count {
    fn add(&mut self, _: &Call<'_>, args: &[DatumRef<'_>]) -> Result<()> {
        self.0 += i64::from(args.iter().all(|arg| !arg.is_null()));
        Ok(())
    }

    fn finish(&self, _: &Call<'_>) -> Result<Datum> {
        self.0.put()
    }
}

pub(super) const TABLE: &[Function] = aggregates! { Kind::Normal =>
    2818 regr_count(FLOAT8, FLOAT8) -> INT8 = Count::default();
    2819 regr_sxx(FLOAT8, FLOAT8) -> FLOAT8 = Regression::new(|p| p.when(true, |p| p.xx));
    2820 regr_syy(FLOAT8, FLOAT8) -> FLOAT8 = Regression::new(|p| p.when(true, |p| p.yy));
    2821 regr_sxy(FLOAT8, FLOAT8) -> FLOAT8 = Regression::new(|p| p.when(true, |p| p.xy));
    2822 regr_avgx(FLOAT8, FLOAT8) -> FLOAT8 = Regression::new(|p| p.when(true, |p| p.x / p.n));
    2823 regr_avgy(FLOAT8, FLOAT8) -> FLOAT8 = Regression::new(|p| p.when(true, |p| p.y / p.n));
    2824 regr_r2(FLOAT8, FLOAT8) -> FLOAT8 = Regression::new(|p| p.when(p.xx != 0.0, |p| {
        if p.yy == 0.0 { 1.0 } else { p.xy * p.xy / (p.xx * p.yy) }
    }));
    2825 regr_slope(FLOAT8, FLOAT8) -> FLOAT8 =
        Regression::new(|p| p.when(p.xx != 0.0, |p| p.xy / p.xx));
    2826 regr_intercept(FLOAT8, FLOAT8) -> FLOAT8 =
        Regression::new(|p| p.when(p.xx != 0.0, |p| (p.y - p.x * p.xy / p.xx) / p.n));
    2827 covar_pop(FLOAT8, FLOAT8) -> FLOAT8 = Regression::new(|p| p.when(true, |p| p.xy / p.n));
    2828 covar_samp(FLOAT8, FLOAT8) -> FLOAT8 =
        Regression::new(|p| p.when(p.n >= 2.0, |p| p.xy / (p.n - 1.0)));
    2829 corr(FLOAT8, FLOAT8) -> FLOAT8 = Regression::new(|p| {
        p.when(p.xx != 0.0 && p.yy != 0.0, |p| p.xy / (p.xx * p.yy).sqrt())
    });
};
