//! The time axis: the number of versions in each column, and the column of a revision.
//!
//! ```text
//!   by time       ▁  ▃█▁        ▂▁      a column is a span of time
//!   by revision   █████████████████     a column is so many revisions
//! ```

use crate::answers::{Bucket, Density};

/// Places revisions in columns.
pub(crate) struct Scale<'a> {
    density: &'a Density,
    by_time: bool,
    width: u16,
}

impl<'a> Scale<'a> {
    pub(crate) fn new(density: &'a Density, by_time: bool, width: u16) -> Scale<'a> {
        Scale { density, by_time, width: width.max(1) }
    }

    /// The column of a place between two ends.
    fn place(&self, at: u64, first: u64, last: u64) -> u16 {
        let span = u128::from(last.saturating_sub(first));
        if span == 0 {
            return 0;
        }
        let at = u128::from(at.clamp(first, last) - first);
        u16::try_from(at * u128::from(self.width - 1) / span).unwrap_or(self.width - 1)
    }

    fn time_column(&self, time_us: u64) -> u16 {
        let buckets = &self.density.buckets;
        let first = buckets.first().map_or(0, |bucket| bucket.from_us);
        let last = buckets.last().map_or(0, |bucket| bucket.to_us);
        self.place(time_us, first, last)
    }

    /// The column of a revision. Inside of a bucket the revisions are spread evenly.
    pub(crate) fn column(&self, revision: u64) -> u16 {
        let buckets = &self.density.buckets;
        if !self.by_time {
            let first = buckets.first().map_or(1, |bucket| bucket.from);
            let last = buckets.last().map_or(1, |bucket| bucket.to);
            return self.place(revision, first, last);
        }
        let at = buckets.partition_point(|bucket| bucket.to < revision);
        let Some(bucket) = buckets.get(at) else { return self.width - 1 };
        let Bucket { from, to, from_us, to_us } = *bucket;
        let part = u128::from(revision.saturating_sub(from)) * u128::from(to_us - from_us);
        let part = part / u128::from((to - from).max(1));
        self.time_column(from_us + u64::try_from(part).unwrap_or_default())
    }
}

/// The number of versions in each column.
pub(crate) fn bars(density: &Density, by_time: bool, width: u16) -> Vec<u64> {
    let scale = Scale::new(density, by_time, width);
    let mut bars = vec![0; usize::from(scale.width)];
    for bucket in &density.buckets {
        let (first, last) = (scale.column(bucket.from), scale.column(bucket.to));
        let columns = u64::from(last - first) + 1;
        let count = bucket.to - bucket.from + 1;
        // Few versions stand where their marks do; many are spread evenly.
        if count <= u64::from(width) {
            for revision in bucket.from..=bucket.to {
                bars[usize::from(scale.column(revision))] += 1;
            }
            continue;
        }
        for (number, column) in (first..=last).enumerate() {
            // The remainder of the division goes to the first columns.
            let share = count / columns + u64::from((number as u64) < count % columns);
            bars[usize::from(column)] += share;
        }
    }
    bars
}
