//! Sums of a few groups, for which neighbouring rows need not wait for each other.

use crate::slice::Selection;

/// Up to so many groups have several tables each.
const FEW: usize = 64;

/// Tables of so many groups are shorter.
const VERY_FEW: usize = 8;

/// Calls `add` with each group and the sum of what `value` gives for its selected rows, if there are few groups, and no fewer
/// rows; else returns false. `groups` has the group of each row of the slice. No sum may have more than 63 bits.
#[inline(always)]
pub(crate) fn add_to_few(
    count: usize,
    groups: &[u32],
    rows: &Selection,
    value: impl Fn(usize) -> i64,
    mut add: impl FnMut(usize, i64),
) -> bool {
    match count {
        0..=VERY_FEW => {
            let sums = sums_of_few::<VERY_FEW>(groups, rows, value);
            (0..count).for_each(|group| add(group, sums[group]));
        }
        ..=FEW if rows.len() >= count => {
            let sums = sums_of_few::<FEW>(groups, rows, value);
            (0..count).for_each(|group| add(group, sums[group]));
        }
        _ => return false,
    }
    true
}

/// Returns the sums of up to `N` groups.
#[inline(always)]
fn sums_of_few<const N: usize>(
    groups: &[u32],
    rows: &Selection,
    value: impl Fn(usize) -> i64,
) -> [i64; N] {
    // Neighbours are often of one group: in tables of their own no addition waits for the one before it.
    let mut tables = [[0_i64; N]; 4];
    let mut add = |table: usize, row: usize| {
        tables[table][groups[row] as usize % N] += value(row);
    };
    match rows {
        Selection::All(count) => {
            let of_fours = count / 4 * 4;
            (0..of_fours).step_by(4).for_each(|row| (0..4).for_each(|at| add(at, row + at)));
            (of_fours..*count).for_each(|row| add(0, row));
        }
        Selection::Some(rows) => {
            let (fours, rest) = rows.as_chunks::<4>();
            fours.iter().for_each(|rows| (0..4).for_each(|at| add(at, usize::from(rows[at]))));
            rest.iter().for_each(|row| add(0, usize::from(*row)));
        }
    }
    let [mut sums, others @ ..] = tables;
    for table in others {
        sums.iter_mut().zip(table).for_each(|(sum, more)| *sum += more);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of few groups are those of adding row after row, of all rows and of some; many groups are refused.
    #[test]
    fn sums_of_few_groups_are_those_of_their_rows() {
        for count in [1, 3, 8, 9, 64] {
            let groups: Vec<u32> = (0..203).map(|row| row * row / 3 % count as u32).collect();
            let some = (0..203).filter(|row| row % 7 < 4).collect();
            for rows in [Selection::All(203), Selection::Some(some)] {
                let mut expected = vec![0; count];
                rows.each(|row| expected[groups[row] as usize] += row as i64 - 50);
                let mut found = vec![0; count];
                let value = |row| row as i64 - 50;
                assert!(add_to_few(count, &groups, &rows, value, |group, sum| found[group] = sum));
                assert_eq!(found, expected, "{count} groups");
            }
        }
        for (count, rows) in [(65, 203), (64, 63)] {
            let rows = Selection::All(rows);
            assert!(!add_to_few(count, &[0; 203], &rows, |_| 1, |_, _| unreachable!()));
        }
    }
}
