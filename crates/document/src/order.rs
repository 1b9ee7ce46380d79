//! The order of siblings: labels that always leave room for one more.
//!
//! A node that stands where its document was first read needs no label: siblings then follow each
//! other in the order of their keys. A node that was put between two others later, or was moved,
//! carries a label, a short list of digits compared like words in a dictionary. The label of a node
//! without one is its key, as a single digit.
//!
//! ```text
//!   keys      5          9          12
//!   labels   [5]        [9]        [12]
//!                  ^ [7]      ^ [9, 2^48]  then  [10]
//! ```
//!
//! Between two labels there is always a third ([`Label::between`]), so an insertion writes one node
//! and never touches its neighbours. Runs of insertions at one place step by 2^24 from the middle of
//! a digit, so that millions of them fit in either direction before a label grows by a digit;
//! insertions that keep halving the same gap grow it by a digit every twenty or so.
//!
//! Invariants:
//! * a label is never empty and never ends in the digit 0, so there is always room below it;
//! * `between(a, b)` is strictly between `a` and `b`.

use crate::NodeKey;
use crate::codec::{Reader, put_varint};
use crate::error::Damaged;
use smallvec::SmallVec;

/// How far a label steps away from its neighbour where the gap allows: room for later insertions.
const STEP: u64 = 1 << 24;
/// Where a new digit starts that has no neighbour on either side: room for runs in both directions.
const MIDDLE: u64 = 1 << 48;

/// Where a node stands among its siblings. Compared digit by digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(SmallVec<[u64; 2]>);

impl Label {
    /// The label of a node that has none of its own.
    pub fn of_key(key: NodeKey) -> Label {
        debug_assert!(key.0 > 0);
        Label(SmallVec::from_slice(&[key.0]))
    }

    /// Below every label that a node can have.
    pub(crate) fn lowest() -> Label {
        Label(SmallVec::new())
    }

    /// The key from which on nodes without a label of their own stand after one with this.
    pub(crate) fn key_after(&self) -> NodeKey {
        NodeKey(self.0.first().map_or(0, |digit| digit.saturating_add(1)))
    }

    /// True if this is the label that `key` has anyway.
    pub fn is_of_key(&self, key: NodeKey) -> bool {
        self.0.as_slice() == [key.0]
    }

    /// A label for the new node `key` after `left` and before `right` (either may be missing).
    pub fn between(left: Option<&Label>, right: Option<&Label>, key: NodeKey) -> Label {
        let own = Label::of_key(key);
        if left.is_none_or(|l| *l < own) && right.is_none_or(|r| own < *r) {
            return own;
        }
        let mut digits: SmallVec<[u64; 2]> = SmallVec::new();
        let (mut left, mut right) = (left.map(|l| &l.0[..]), right.map(|r| &r.0[..]));
        loop {
            let low = left.and_then(|l| l.first().copied());
            let high = right.and_then(|r| r.first().copied());
            let (a, b) = (low.unwrap_or(0), high.unwrap_or(u64::MAX));
            if b > a && b - a > 1 {
                let room = (b - a) / 2;
                let step = room.min(STEP);
                // Next to the neighbour that exists: runs of insertions go on in one direction.
                digits.push(match (low, high) {
                    (None, None) => MIDDLE,
                    (None, Some(_)) => b - step,
                    _ => a + step,
                });
                break;
            }
            digits.push(a);
            left = left.and_then(|l| l.get(1..)).filter(|l| !l.is_empty());
            right = if high == Some(a) { right.and_then(|r| r.get(1..)) } else { None };
        }
        let label = Label(digits);
        debug_assert!(*label.0.last().expect("a digit was pushed") != 0);
        label
    }

    /// The digits, of which there is at least one.
    pub(crate) fn digits(&self) -> &[u64] {
        &self.0
    }

    /// The label with these digits, of which there is at least one.
    pub(crate) fn of_digits(digits: &[u64]) -> Result<Label, Damaged> {
        match digits.last() {
            None | Some(0) => Err(Damaged::new("an order label that ends in zero")),
            Some(_) => Ok(Label(SmallVec::from_slice(digits))),
        }
    }

    /// Appends: digit count, then each digit as a varint.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.0.len() as u64);
        for &digit in &self.0 {
            put_varint(out, digit);
        }
    }

    /// Reads what [`encode`](Label::encode) wrote.
    pub fn decode(input: &mut Reader<'_>) -> Result<Label, Damaged> {
        let count = input.varint()? as usize;
        if count == 0 || count > input.rest().len() {
            return Err(Damaged::new("an order label without digits"));
        }
        let digits = (0..count).map(|_| input.varint()).collect::<Result<SmallVec<_>, _>>()?;
        if digits.last() == Some(&0) {
            return Err(Damaged::new("an order label that ends in zero"));
        }
        Ok(Label(digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(digits: &[u64]) -> Label {
        Label(SmallVec::from_slice(digits))
    }

    /// For every gap a label exists strictly inside it.
    #[test]
    fn between_is_strictly_between() {
        let samples: Vec<Label> = [
            &[1][..],
            &[2],
            &[3],
            &[1, 1],
            &[1, 2],
            &[1, u64::MAX],
            &[2, 1, 1],
            &[u64::MAX],
            &[1, 0, 5],
            &[4, STEP],
        ]
        .iter()
        .map(|d| label(d))
        .collect();
        for a in &samples {
            for b in &samples {
                if a < b {
                    for key in [1, 2, 3, 100, u64::MAX / 2] {
                        let m = Label::between(Some(a), Some(b), NodeKey(key));
                        assert!(*a < m && m < *b, "{a:?} < {m:?} < {b:?}");
                    }
                }
            }
            let before = Label::between(None, Some(a), NodeKey(1000));
            let after = Label::between(Some(a), None, NodeKey(1000));
            assert!(before < *a && *a < after, "{before:?} < {a:?} < {after:?}");
        }
    }

    /// A million insertions at one place, from either side, keep labels at two digits.
    #[test]
    fn runs_of_insertions_stay_short() {
        let (first, last) = (label(&[5]), label(&[6]));
        let (mut left, mut right) = (first.clone(), last.clone());
        for key in 100..100_100 {
            let next = Label::between(Some(&left), Some(&last), NodeKey(key));
            assert!(left < next && next < last);
            left = next;
            let next = Label::between(Some(&first), Some(&right), NodeKey(key));
            assert!(first < next && next < right);
            right = next;
        }
        assert!(left.0.len() <= 2 && right.0.len() <= 2, "{left:?} {right:?}");
    }

    /// Prepending for ever works too: below the smallest label there is always another.
    #[test]
    fn there_is_always_room_below() {
        let mut right = label(&[2]);
        for key in 100..10_100 {
            let next = Label::between(None, Some(&right), NodeKey(key));
            assert!(next < right);
            right = next;
        }
        assert!(right.0.len() <= 4, "{right:?}");
    }

    /// A label reads back as it was written.
    #[test]
    fn codec_round_trip() {
        for l in [label(&[1]), label(&[7, STEP]), label(&[0, 0, 3])] {
            let mut bytes = Vec::new();
            l.encode(&mut bytes);
            assert_eq!(Label::decode(&mut Reader::new(&bytes)).unwrap(), l);
        }
    }
}
