//! Intervals: ranges in a tree of halves, so that those which overlap another are found.
//!
//! ```text
//!            8                 the tree: every place is a node; a node halves the places around it
//!      4          12           [3, 6] lies at 4, the topmost node within it
//!   2    6     10    14        [5, 5] lies at 5, [6, 9] at 8
//!  1 3  5 7   9 11 13 15
//!
//!   which overlap [5, 6]?      nodes within 5..=6                  all of their intervals
//!                              nodes above 5, on its left (4)      those that end at 5 or later
//!                              nodes above 6, on its right (8)     those that begin at 6 or before
//! ```
//!
//! A place is a number of 64 bits: the first 8 bytes of the key form of a bound. So intervals whose
//! places overlap may still not overlap, or only touch: the reader looks at the rows again. An
//! interval has two entries, in the order of where it begins and of where it ends; the empty range,
//! which overlaps nothing, has one.
//!
//! ```text
//!   keys that are compared by = │ 0 │ node │ lower place │ row's key
//!   keys that are compared by = │ 1 │ node │ upper place │ row's key
//!   keys that are compared by = │ 2 │ row's key                          the empty range
//! ```
//!
//! Of a value in the plane the interval is that from its left end to its right one, a little wider than it is,
//! because its operators take coordinates for equal that are near each other.
//!
//! The tree is that of Kriegel, Pötke and Seidl, *Managing Intervals Efficiently in Object-Relational
//! Databases* (VLDB 2000), over all 64-bit numbers: it has no root to be kept and never grows. A search
//! passes over levels without entries by looking for the next entry there is.

use std::net::IpAddr;
use std::ops::Bound;

use scalar::operators;
use txn::KeyRange;
use types::geometry::{Extent, is_geometric};
use types::ltree::SEPARATOR;
use types::{Datum, DatumRef, Inet, KeyOrder, Repr, Type, key, range};

use super::fit::{Fit, fit};
use super::search::{Entries, Query, ScanKey, Strategy};
use crate::Result;
use crate::catalog::{Index, IndexKey};

const LOWER: u8 = 0;
const UPPER: u8 = 1;
const EMPTY: u8 = 2;

/// The keys of an index of intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Intervals {
    /// The positions of the keys that are compared by `=`, and how their values are held.
    equal: Vec<(usize, Repr)>,
    /// The position of the key whose values are intervals, and what they are. Where others are, they are
    /// compared in the row.
    interval: Option<(usize, Values)>,
}

/// The values that intervals are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Ranges and lists of them, from bound to bound.
    Ranges,
    /// Networks, from the first address to the last.
    Networks,
    /// Points, boxes, polygons and circles, from left to right.
    Extents,
    /// Paths through a tree, each at one place, below which those are that it contains.
    Trees,
}

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interval {
    /// Nowhere: it is the empty range.
    Empty,
    /// From a place to another, both included.
    Places(u64, u64),
}

/// Returns the kind of a key's values, where they are intervals.
fn values_of(key: &IndexKey) -> Option<Values> {
    match key.ty {
        _ if matches!(key.repr, Repr::Range | Repr::Multirange) => Some(Values::Ranges),
        Type::INET | Type::CIDR => Some(Values::Networks),
        Type::LTREE => Some(Values::Trees),
        ty if is_geometric(ty) => Some(Values::Extents),
        _ => None,
    }
}

impl Intervals {
    /// Says how the keys of an index are searched.
    pub(super) fn new(index: &Index) -> Intervals {
        let by = |at: usize| match index.excludes.get(at) {
            Some(operator) => operators::by_oid(*operator).map_or("", |operator| operator.name),
            None if values_of(&index.keys[at]).is_some() => "&&",
            None => "=",
        };
        let all = || index.keys.iter().enumerate();
        let mut intervals = all().filter_map(|(at, key)| {
            let values = values_of(key).filter(|_| matches!(by(at), "&&" | "-|-" | "~="));
            Some((at, values?))
        });
        let equal = all().filter(|(at, _)| by(*at) == "=");
        Intervals {
            interval: intervals.next(),
            equal: equal.map(|(at, key)| (at, key.repr)).collect(),
        }
    }

    /// The position of the key whose values are intervals.
    pub(super) fn interval(&self) -> Option<usize> {
        self.interval.map(|(at, _)| at)
    }

    /// The positions of the keys that are compared by `=`.
    pub(super) fn equal(&self) -> impl Iterator<Item = usize> + '_ {
        self.equal.iter().map(|(at, _)| *at)
    }

    /// Returns the prefix of the entries of all rows whose keys are equal to these; `None` if
    /// one is NULL.
    pub(super) fn prefix(&self, keys: &[Datum]) -> Option<Vec<u8>> {
        let mut prefix = Vec::with_capacity(32);
        for (at, _) in &self.equal {
            key::write(keys[*at].as_ref(), KeyOrder::ASCENDING, &mut prefix);
        }
        keys.iter().all(|key| !key.is_null()).then_some(prefix)
    }

    /// The beginnings of the entries of a row, to which the row's key is added: none if a key is NULL,
    /// which no operator is true of.
    pub(super) fn items(&self, keys: &[Datum]) -> Vec<Vec<u8>> {
        let Some(prefix) = self.prefix(keys) else { return Vec::new() };
        let Some((at, values)) = self.interval else { return vec![prefix] };
        match interval_of(keys[at].as_ref(), values) {
            Interval::Empty => vec![[&prefix[..], &[EMPTY]].concat()],
            Interval::Places(lower, upper) => {
                let node = node(lower, upper);
                vec![place_at(&prefix, LOWER, node, lower), place_at(&prefix, UPPER, node, upper)]
            }
        }
    }

    /// The rows that may have keys of which all that is asked is true; `None` if any may.
    pub(super) fn query(&self, asked: &[ScanKey]) -> Option<Query> {
        let nothing = || Some(Query::Any(Vec::new()));
        let mut prefix = Vec::with_capacity(32);
        for (at, repr) in &self.equal {
            let of = asked
                .iter()
                .find(|asked| asked.part == *at && asked.strategy == Strategy::Equal)?;
            match fit(of.value.clone(), *repr) {
                Fit::Value(value) => key::write(value.as_ref(), KeyOrder::ASCENDING, &mut prefix),
                Fit::Null | Fit::Below | Fit::Above => return nothing(),
            }
        }
        let (at, values) = self.interval.unwrap_or((usize::MAX, Values::Ranges));
        let mut parts = Vec::new();
        for asked in asked.iter().filter(|asked| asked.part == at) {
            if let (Values::Trees, Datum::Bytea(held)) = (values, &asked.value) {
                parts.push(tree_query(&prefix, asked.strategy, held));
                continue;
            }
            let empty = || Query::Item([&prefix[..], &[EMPTY]].concat());
            let overlap =
                |lower, upper| Query::Overlap(Overlap { prefix: prefix.clone(), lower, upper });
            parts.push(match (asked.strategy, interval_of(asked.value.as_ref(), values)) {
                // Every range contains the empty one.
                (Strategy::Contains, Interval::Empty) => continue,
                (Strategy::Within | Strategy::Equal, Interval::Empty) => empty(),
                (_, Interval::Empty) => return nothing(),
                (Strategy::Within, Interval::Places(lower, upper)) => {
                    Query::Any(vec![overlap(lower, upper), empty()])
                }
                (Strategy::Equal, Interval::Places(lower, upper)) => {
                    Query::Item(place_at(&prefix, LOWER, node(lower, upper), lower))
                }
                (_, Interval::Places(lower, upper)) => overlap(lower, upper),
            });
        }
        match (parts.is_empty(), self.equal.is_empty()) {
            (true, true) => None,
            (true, false) => Some(Query::Item(prefix)),
            (false, _) => Some(Query::All(parts)),
        }
    }
}

/// Returns the query for the paths that a path contains, or those that contain it, or itself.
fn tree_query(prefix: &[u8], strategy: Strategy, held: &[u8]) -> Query {
    let at = |held: &[u8]| {
        let place = place(DatumRef::Bytea(held));
        Query::Item(place_at(prefix, LOWER, place, place))
    };
    match strategy {
        // All paths are below the one without labels.
        Strategy::Within if held.is_empty() => {
            Query::Overlap(Overlap { prefix: prefix.to_vec(), lower: 0, upper: u64::MAX })
        }
        Strategy::Within => {
            // Behind all paths below it: the separator of labels is one less.
            let end = [held, &[SEPARATOR + 1]].concat();
            let (lower, upper) = (place(DatumRef::Bytea(held)), place(DatumRef::Bytea(&end)));
            Query::Overlap(Overlap { prefix: prefix.to_vec(), lower, upper })
        }
        Strategy::Contains => {
            let ends = held.iter().enumerate().filter(|(_, byte)| **byte == SEPARATOR);
            let above = ends.map(|(end, _)| at(&held[..end]));
            Query::Any(above.chain([at(&[]), at(held)]).collect())
        }
        _ => at(held),
    }
}

/// The intervals below a prefix that overlap one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overlap {
    prefix: Vec<u8>,
    lower: u64,
    upper: u64,
}

impl Overlap {
    /// Adds the keys of the rows of these intervals.
    pub(super) fn rows(&self, entries: &impl Entries, out: &mut Vec<Vec<u8>>) -> Result<()> {
        let Overlap { prefix, lower, upper } = self;
        let within = KeyRange {
            lower: Bound::Included(place_at(prefix, LOWER, *lower, 0)),
            upper: KeyRange::end_of(&place_at(prefix, LOWER, *upper, u64::MAX)),
        };
        entries.rows(within, out)?;
        let left = above(*lower).filter(|node| node < lower);
        self.along(UPPER, left, (*lower, u64::MAX), entries, out)?;
        let right = above(*upper).filter(|node| node > upper);
        self.along(LOWER, right, (0, *upper), entries, out)
    }

    /// Adds the rows of the intervals at these nodes that begin, or end, between two places.
    fn along(
        &self,
        kind: u8,
        nodes: impl Iterator<Item = u64>,
        (from, to): (u64, u64),
        entries: &impl Entries,
        out: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        let mut nodes: Vec<u64> = nodes.collect();
        nodes.sort_unstable();
        let Some(last) = nodes.last().copied() else { return Ok(()) };
        let key = |node, place| place_at(&self.prefix, kind, node, place);
        let end = KeyRange::end_of(&key(last, to));
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            let rest = KeyRange { lower: Bound::Included(key(*node, from)), upper: end.clone() };
            let next = entries.first(rest)?;
            let Some(found) = next.and_then(|entry| node_of(&entry, self.prefix.len())) else {
                return Ok(());
            };
            if found > *node {
                // No entry is left at the nodes between.
                at += nodes[at..].partition_point(|node| *node < found);
                continue;
            }
            let upper = KeyRange::end_of(&key(*node, to));
            entries.rows(KeyRange { lower: Bound::Included(key(*node, from)), upper }, out)?;
            at += 1;
        }
        Ok(())
    }
}

/// The topmost node from a place to another.
fn node(lower: u64, upper: u64) -> u64 {
    match lower ^ upper {
        0 => lower,
        // The highest bit in which they differ is 0 in the lower place and 1 in the upper one.
        differ => upper & (u64::MAX << (63 - differ.leading_zeros())),
    }
}

/// The nodes above a place: an interval that has the place lies at one of them, or at the place.
fn above(place: u64) -> impl Iterator<Item = u64> {
    (0..u64::BITS).map(move |bit| (place & (u64::MAX << bit)) | (1 << bit))
}

fn place_at(prefix: &[u8], kind: u8, node: u64, place: u64) -> Vec<u8> {
    [prefix, &[kind], &node.to_be_bytes(), &place.to_be_bytes()].concat()
}

/// The node of an entry.
fn node_of(entry: &[u8], prefix_bytes: usize) -> Option<u64> {
    let bytes = entry.get(prefix_bytes + 1..prefix_bytes + 9)?;
    bytes.try_into().ok().map(u64::from_be_bytes)
}

/// Where a value lies: a range or an address with its net between its bounds, a value in the plane from left to
/// right, anything else at one place.
fn interval_of(value: DatumRef<'_>, values: Values) -> Interval {
    let between = |bounds: Option<(range::Bound<'_>, range::Bound<'_>)>| match bounds {
        None => Interval::Empty,
        Some((lower, upper)) => {
            let lower = lower.value.map_or(0, place);
            Interval::Places(lower, upper.value.map_or(u64::MAX, place))
        }
    };
    match value {
        DatumRef::Range(range) => between(range.bounds()),
        DatumRef::Multirange(ranges) => between(ranges.bounds()),
        // A value without a known extent may be anywhere.
        value if values == Values::Extents => match Extent::of_held(value) {
            Some(Extent { left, right }) => {
                Interval::Places(place(DatumRef::Float8(left)), place(DatumRef::Float8(right)))
            }
            None => Interval::Places(0, u64::MAX),
        },
        DatumRef::Bytea(held) if values == Values::Networks => match Inet::held(held) {
            Ok(net) => {
                let (first, last) = (net.network().address(), net.broadcast().address());
                Interval::Places(place_of_address(first), place_of_address(last))
            }
            // A value that cannot be read may be anywhere: the reader of the row finds the damage.
            Err(_) => Interval::Places(0, u64::MAX),
        },
        other => {
            let place = place(other);
            Interval::Places(place, place)
        }
    }
}

fn place_of_address(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u64::from(u32::from(address)) << 24,
        IpAddr::V6(address) => 1 << 56 | (u128::from(address) >> 72) as u64,
    }
}

/// The place of a bound: larger values never lie at smaller places.
fn place(value: DatumRef<'_>) -> u64 {
    let mut form = Vec::with_capacity(16);
    key::write(value, KeyOrder::ASCENDING, &mut form);
    // The first byte says that there is a value.
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(&form[1..]) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval that overlaps another is found at the nodes where a search looks for it.
    #[test]
    fn intervals_lie_where_they_are_sought() {
        let step = u64::MAX / 15;
        for lower in 0..16 {
            for upper in lower..16 {
                for (from, to) in (0..16).flat_map(|from| (from..16).map(move |to| (from, to))) {
                    for scale in [1, step] {
                        let (lower, upper) = (lower * scale, upper * scale);
                        let (from, to) = (from * scale, to * scale);
                        let node = node(lower, upper);
                        assert!(lower <= node && node <= upper);
                        let is_left = above(from).any(|one| one == node) && node < from;
                        let is_right = above(to).any(|one| one == node) && node > to;
                        let is_found = (from..=to).contains(&node)
                            || is_left && upper >= from
                            || is_right && lower <= to;
                        assert_eq!(is_found, lower <= to && from <= upper);
                    }
                }
            }
        }
    }
}
