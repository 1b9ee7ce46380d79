//! [`Sample`]: latencies of a slice as three figures.

use crate::report::median;

/// The results of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Half of the operations took no longer.
    pub p50_us: f64,
    /// All but one in a hundred took no longer.
    pub p99_us: f64,
    /// Operations a second.
    pub rate: f64,
}

impl Sample {
    /// The figures of operations that took so many microseconds each, within `seconds`; NaN latencies
    /// where there was none.
    pub fn of(mut micros: Vec<f64>, seconds: f64) -> Sample {
        let rate = micros.len() as f64 / seconds;
        micros.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = micros.len().saturating_sub(1);
            micros.get((last as f64 * share) as usize).copied().unwrap_or(f64::NAN)
        };
        Sample { p50_us: at(0.5), p99_us: at(0.99), rate }
    }

    /// The median of each figure.
    pub fn median(samples: &[Sample]) -> Sample {
        let of =
            |figure: fn(&Sample) -> f64| median(&samples.iter().map(figure).collect::<Vec<f64>>());
        Sample { p50_us: of(|s| s.p50_us), p99_us: of(|s| s.p99_us), rate: of(|s| s.rate) }
    }
}
