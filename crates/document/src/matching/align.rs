//! Equal elements in the same order in two lists: the backbone of matching two arrays.
//!
//! ```text
//!   a   1 2 3 4 5 6 7        equal ends        1 2 · · · · 7
//!   b   1 2 9 5 3 6 7        few differences   Myers: exact
//!                            many              around values unique on both sides; where there are
//!                                              none, the k-th of a value with the k-th
//! ```
//!
//! Each way costs about as much as the lists are long, Myers up to [`DIFFERENCES_MAX`] times that;
//! once the budget of steps is spent, only the last way is taken, and only once.

use std::ops::Range;

use super::Map;

/// Differences up to which two lists are compared exactly (Myers).
const DIFFERENCES_MAX: usize = 128;

/// Finds equal elements in the same order in two lists of hashes.
pub(super) struct Aligner<'a> {
    pub a: &'a [u64],
    pub b: &'a [u64],
    /// The pairs found, ascending in both.
    pub pairs: &'a mut Vec<(usize, usize)>,
    pub steps: &'a mut u64,
    pub budget: u64,
}

impl Aligner<'_> {
    /// Aligns `a[i]` and `b[j]`: equal ends; exactly where there are few differences; else around
    /// the elements that are unique on both sides; else the k-th with the k-th of each value.
    pub fn align(&mut self, mut i: Range<usize>, mut j: Range<usize>) {
        while !i.is_empty() && !j.is_empty() && self.a[i.start] == self.b[j.start] {
            self.pairs.push((i.start, j.start));
            (i.start, j.start) = (i.start + 1, j.start + 1);
        }
        let (i_end, j_end) = (i.end, j.end);
        while !i.is_empty() && !j.is_empty() && self.a[i.end - 1] == self.b[j.end - 1] {
            (i.end, j.end) = (i.end - 1, j.end - 1);
        }
        *self.steps += (i_end - i.end + i.len() + j.len()) as u64;
        if !i.is_empty() && !j.is_empty() && !self.few_differences(i.clone(), j.clone()) {
            let within = *self.steps <= self.budget;
            let unique =
                if within { self.in_order(i.clone(), j.clone(), true) } else { Vec::new() };
            if unique.is_empty() {
                let all = self.in_order(i.clone(), j.clone(), false);
                self.pairs.extend(all);
            } else {
                let (mut from_i, mut from_j) = (i.start, j.start);
                for (at_i, at_j) in unique {
                    self.align(from_i..at_i, from_j..at_j);
                    self.pairs.push((at_i, at_j));
                    (from_i, from_j) = (at_i + 1, at_j + 1);
                }
                self.align(from_i..i.end, from_j..j.end);
            }
        }
        self.pairs.extend((i.end..i_end).zip(j.end..j_end));
    }

    /// Myers' greedy algorithm (An O(ND) Difference Algorithm, 1986) up to [`DIFFERENCES_MAX`];
    /// false if there are more, and nothing is added.
    fn few_differences(&mut self, i: Range<usize>, j: Range<usize>) -> bool {
        let (a, b) = (&self.a[i.clone()], &self.b[j.clone()]);
        let (n, m) = (a.len() as isize, b.len() as isize);
        let most = DIFFERENCES_MAX.min(a.len() + b.len()) as isize;
        if n.abs_diff(m) as isize > most {
            return false;
        }
        // How far each diagonal x - y = k reaches, at k + most + 1; and a copy for each round.
        let mut reach = vec![0isize; 2 * most as usize + 3];
        let mut rounds: Vec<Vec<isize>> = Vec::new();
        let at = |k: isize| (k + most + 1) as usize;
        for d in 0..=most {
            rounds.push(reach[at(-d - 1)..=at(d + 1)].to_vec());
            for k in (-d..=d).step_by(2) {
                let down = k == -d || (k != d && reach[at(k - 1)] < reach[at(k + 1)]);
                let mut x = if down { reach[at(k + 1)] } else { reach[at(k - 1)] + 1 };
                let start = x;
                while x < n && x - k < m && a[x as usize] == b[(x - k) as usize] {
                    x += 1;
                }
                *self.steps += 1 + (x - start) as u64;
                reach[at(k)] = x;
                if x >= n && x - k >= m {
                    self.trace(&rounds, (i, j), (n, m));
                    return true;
                }
            }
            if *self.steps > self.budget {
                return false;
            }
        }
        false
    }

    /// Walks Myers' rounds backwards from the end and adds the diagonals on the way.
    fn trace(
        &mut self,
        rounds: &[Vec<isize>],
        (i, j): (Range<usize>, Range<usize>),
        end: (isize, isize),
    ) {
        let mut pairs = Vec::new();
        let (mut x, mut y) = end;
        for (d, reach) in rounds.iter().enumerate().rev() {
            let d = d as isize;
            let k = x - y;
            let at = |k: isize| reach[(k + d + 1) as usize];
            let down = k == -d || (k != d && at(k - 1) < at(k + 1));
            let (from_x, from_k) = if down { (at(k + 1), k + 1) } else { (at(k - 1), k - 1) };
            let start = if d == 0 { 0 } else { from_x + !down as isize };
            while x > start {
                (x, y) = (x - 1, y - 1);
                pairs.push((i.start + x as usize, j.start + y as usize));
            }
            (x, y) = (from_x, from_x - from_k);
        }
        self.pairs.extend(pairs.into_iter().rev());
    }

    /// Pairs equal elements, the first of a value with the first, the second with the second, and
    /// keeps the longest run of pairs that ascends on both sides. `unique`: only values that are
    /// there once on both sides.
    fn in_order(&mut self, i: Range<usize>, j: Range<usize>, unique: bool) -> Vec<(usize, usize)> {
        *self.steps += (i.len() + j.len()) as u64;
        let mut places: Map<(Vec<usize>, usize)> = Map::default();
        for at in j.clone() {
            places.entry(self.b[at]).or_default().0.push(at);
        }
        let mut seconds: Map<()> = Map::default();
        if unique {
            let mut firsts: Map<()> = Map::default();
            for at in i.clone() {
                if firsts.insert(self.a[at], ()).is_some() {
                    seconds.insert(self.a[at], ());
                }
            }
        }
        let mut pairs = Vec::new();
        for at in i {
            if let Some((places, used)) = places.get_mut(&self.a[at])
                && (!unique || (places.len() == 1 && !seconds.contains_key(&self.a[at])))
                && let Some(&place) = places.get(*used)
            {
                *used += 1;
                pairs.push((at, place));
            }
        }
        longest_ascent(&pairs)
    }
}

/// The longest subsequence of `pairs` whose second parts ascend (patience sorting).
pub(super) fn longest_ascent(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // tails[l]: the pair with the smallest end of all ascents of length l + 1.
    let mut tails: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for (i, pair) in pairs.iter().enumerate() {
        let length = tails.partition_point(|&tail| pairs[tail].1 < pair.1);
        if length > 0 {
            before[i] = tails[length - 1];
        }
        match tails.get_mut(length) {
            Some(tail) => *tail = i,
            None => tails.push(i),
        }
    }
    let mut ascent = Vec::with_capacity(tails.len());
    let mut at = tails.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        ascent.push(pairs[at]);
        at = before[at];
    }
    ascent.reverse();
    ascent
}
