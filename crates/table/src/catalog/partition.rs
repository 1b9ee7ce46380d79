//! Partitions: how the rows of a table are divided among others, and which table a row is in.
//!
//! ```text
//!   measurement  PARTITION BY RANGE (day)            Router: ends in key form, in order
//!     measurement_2025  FROM 2025-01-01 TO 2026-01-01     [01 ..2025-01-01, 01 ..2026-01-01)
//!     measurement_2026  FROM 2026-01-01 TO MAXVALUE       [01 ..2026-01-01, 02)
//!     measurement_rest  DEFAULT                           what is in none of them
//! ```
//!
//! The rows of a partitioned table lie in its partitions; it has none itself. A partition may be partitioned again.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use ::types::{Context, Datum, KeyOrder, Modifier, Oid, Repr, Type, hash, key, text};
use foldhash::fast::FixedState;

use super::{Catalog, IndexPart, Relation, TableDef};

/// How the rows of a table are divided.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    /// How the partition of a row is found.
    pub strategy: PartitionStrategy,
    /// The parts of a row that decide.
    pub keys: Vec<PartitionKey>,
    /// The partitions, in the order in which they were attached.
    pub partitions: Vec<Oid>,
}

/// How the partition of a row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PartitionStrategy {
    /// Each partition has what lies between two ends.
    Range = b'r',
    /// Each partition has values that are listed.
    List = b'l',
    /// Each partition has the values whose hash leaves a remainder.
    Hash = b'h',
}

/// A part of what decides in which partition a row is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionKey {
    /// The part of the row.
    pub part: IndexPart,
    /// The type of its values.
    pub ty: Type,
    /// The modifier of the type.
    pub modifier: Modifier,
    /// How its values are held.
    pub repr: Repr,
    /// The collation; none for types that have none.
    pub collation: Oid,
    /// The operator class, where one was named.
    pub class: Option<Arc<str>>,
}

/// The table of which a table is a partition, and the rows that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionOf {
    /// The partitioned table.
    pub parent: Oid,
    /// The rows.
    pub bound: PartitionBound,
}

/// The rows that a partition has. Values are of the types of the keys.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBound {
    /// The rows that no other partition has.
    Default,
    /// The rows whose key is one of these; NULL may be among them.
    List(Vec<Datum>),
    /// The rows at or above the first end, and below the second.
    Range(Vec<RangeEnd>, Vec<RangeEnd>),
    /// The rows whose keys have a hash that leaves a remainder.
    Hash {
        /// By what it is divided; at least 1.
        modulus: u32,
        /// The remainder; below the modulus.
        remainder: u32,
    },
}

/// One value of an end of a range.
#[derive(Clone, Debug, PartialEq)]
pub enum RangeEnd {
    /// Below all values.
    Min,
    /// A value, which is not NULL.
    Value(Datum),
    /// Above all values.
    Max,
}

/// The order of the values of a key.
const ORDER: KeyOrder = KeyOrder { is_descending: false, has_nulls_first: false };
/// The bytes for [`RangeEnd::Min`] and [`RangeEnd::Max`], around [`key::VALUE`].
const MIN: u8 = key::VALUE - 1;
const MAX: u8 = key::VALUE + 1;

/// An end of a range in key form. Values after `MINVALUE` or `MAXVALUE` do not count.
fn end_form(end: &[RangeEnd]) -> Vec<u8> {
    let mut form = Vec::new();
    for value in end {
        match value {
            RangeEnd::Value(value) => key::write(value.as_ref(), ORDER, &mut form),
            RangeEnd::Min | RangeEnd::Max => {
                form.push(if *value == RangeEnd::Min { MIN } else { MAX });
                break;
            }
        }
    }
    form
}

fn value_form(value: &Datum) -> Vec<u8> {
    let mut form = Vec::new();
    key::write(value.as_ref(), ORDER, &mut form);
    form
}

/// Finds the partition of a row.
#[derive(Debug)]
pub struct Router {
    places: Places,
    default: Option<Oid>,
}

#[derive(Debug)]
enum Places {
    /// In the order of their ends, which do not overlap.
    Ranges(Vec<Span>),
    List(HashMap<Vec<u8>, Oid, FixedState>),
    Hash(Vec<(u32, u32, Oid)>),
}

#[derive(Debug)]
struct Span {
    low: Vec<u8>,
    high: Vec<u8>,
    partition: Oid,
}

/// Why a table cannot have a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// Another has some of its rows.
    Overlap(Oid),
    /// Another is the default already.
    Default(Oid),
    /// The lower end of its range is not below the upper one.
    Empty,
    /// It is not divided by the modulus of another, which is smaller.
    NotDivisible(Oid, u32),
    /// It does not divide the modulus of another, which is larger.
    NoFactor(Oid, u32),
}

impl Router {
    /// The router of a partitioned table, and `None` for any other.
    pub fn of(catalog: &Catalog, table: &Relation) -> Option<Router> {
        let partitioning = table.partitioning()?;
        let mut router = Router::empty(partitioning.strategy);
        for oid in &partitioning.partitions {
            let of = catalog.relation(*oid).and_then(|relation| relation.partition_of());
            if let Some(of) = of {
                router.add(*oid, &of.bound);
            }
        }
        router.sort();
        Some(router)
    }

    fn sort(&mut self) {
        if let Places::Ranges(spans) = &mut self.places {
            spans.sort_by(|one, other| one.low.cmp(&other.low));
        }
    }

    fn empty(strategy: PartitionStrategy) -> Router {
        let places = match strategy {
            PartitionStrategy::Range => Places::Ranges(Vec::new()),
            PartitionStrategy::List => Places::List(HashMap::default()),
            PartitionStrategy::Hash => Places::Hash(Vec::new()),
        };
        Router { places, default: None }
    }

    fn add(&mut self, partition: Oid, bound: &PartitionBound) {
        match (&mut self.places, bound) {
            (_, PartitionBound::Default) => self.default = Some(partition),
            (Places::List(all), PartitionBound::List(values)) => {
                all.extend(values.iter().map(|value| (value_form(value), partition)));
            }
            (Places::Ranges(spans), PartitionBound::Range(low, high)) => {
                spans.push(Span { low: end_form(low), high: end_form(high), partition });
            }
            (Places::Hash(all), PartitionBound::Hash { modulus, remainder }) => {
                all.push((*modulus, *remainder, partition));
            }
            // A bound of another kind than its table's is never stored.
            _ => {}
        }
    }

    /// The partition of a row with these keys; `None` if there is none.
    pub fn find(&self, keys: &[Datum]) -> Option<Oid> {
        let found = match &self.places {
            Places::List(all) => {
                keys.first().and_then(|value| all.get(&value_form(value)).copied())
            }
            Places::Hash(all) => {
                let hash = hash::partition(keys);
                let is_its = |(modulus, remainder, _): &&(u32, u32, Oid)| {
                    hash % u64::from(*modulus) == u64::from(*remainder)
                };
                all.iter().find(is_its).map(|(.., partition)| *partition)
            }
            // NULL is in no range.
            Places::Ranges(_) if keys.iter().any(Datum::is_null) => None,
            Places::Ranges(spans) => {
                let mut form = Vec::new();
                keys.iter().for_each(|value| key::write(value.as_ref(), ORDER, &mut form));
                let above = spans.partition_point(|span| span.low <= form);
                let span = above.checked_sub(1).map(|at| &spans[at]);
                span.filter(|span| form < span.high).map(|span| span.partition)
            }
        };
        found.or(self.default)
    }

    /// The partitions that may have rows whose keys are in one of these ranges of key forms; `keys` where the whole key
    /// is known.
    pub fn within(&self, ranges: &[KeyRange], keys: Option<&[Datum]>) -> Vec<Oid> {
        if ranges.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<Oid> = match &self.places {
            Places::Hash(all) => {
                let hash = keys.map(hash::partition);
                let has = |(modulus, remainder, _): &&(u32, u32, Oid)| {
                    hash.is_none_or(|hash| hash % u64::from(*modulus) == u64::from(*remainder))
                };
                return all.iter().filter(has).map(|(.., partition)| *partition).collect();
            }
            Places::Ranges(spans) => {
                let meets =
                    |span: &&Span| ranges.iter().any(|range| meets(range, &span.low, &span.high));
                spans.iter().filter(meets).map(|span| span.partition).collect()
            }
            Places::List(all) => {
                let has = |form: &Vec<u8>| ranges.iter().any(|range| has_form(range, form));
                let of = all.iter().filter(|(form, _)| has(form));
                let mut found: Vec<Oid> = of.map(|(_, partition)| *partition).collect();
                found.sort_unstable();
                found.dedup();
                found
            }
        };
        let is_covered = |range: &KeyRange| match &self.places {
            Places::Ranges(spans) => is_covered(range, spans),
            Places::List(all) => point(range).is_some_and(|form| all.contains_key(form)),
            Places::Hash(_) => true,
        };
        found.extend(self.default.filter(|_| !ranges.iter().all(is_covered)));
        found
    }

    /// The default partition.
    pub fn default(&self) -> Option<Oid> {
        self.default
    }

    /// The partitions in the order of their rows, and the default partition last; `None` if they have no order,
    /// because a value of one lies between two of another.
    pub fn in_order(&self) -> Option<Vec<Oid>> {
        let mut found: Vec<Oid> = match &self.places {
            Places::Ranges(spans) => spans.iter().map(|span| span.partition).collect(),
            Places::List(_) | Places::Hash(_) => return None,
        };
        found.extend(self.default);
        Some(found)
    }

    /// Why there can be no partition with this bound beside those that are there.
    pub(crate) fn clash(&self, bound: &PartitionBound) -> Option<Clash> {
        match (&self.places, bound) {
            (_, PartitionBound::Default) => self.default.map(Clash::Default),
            (Places::List(all), PartitionBound::List(values)) => {
                let known = values.iter().find_map(|value| all.get(&value_form(value)));
                known.copied().map(Clash::Overlap)
            }
            (Places::Ranges(spans), PartitionBound::Range(low, high)) => {
                let (low, high) = (end_form(low), end_form(high));
                if low >= high {
                    return Some(Clash::Empty);
                }
                let meets = |span: &&Span| low < span.high && span.low < high;
                spans.iter().find(meets).map(|span| Clash::Overlap(span.partition))
            }
            (Places::Hash(all), PartitionBound::Hash { modulus, remainder }) => {
                let is_below =
                    |(known, rest, _): &&(u32, u32, Oid)| (known, rest) <= (modulus, remainder);
                let order = |(known, rest, _): &&(u32, u32, Oid)| (*known, *rest);
                let below = all.iter().filter(is_below).max_by_key(order);
                let above = all.iter().filter(|it| !is_below(it)).min_by_key(order);
                if let Some((known, _, partition)) = below.filter(|it| modulus % it.0 != 0) {
                    return Some(Clash::NotDivisible(*partition, *known));
                }
                if let Some((known, _, partition)) = above.filter(|it| it.0 % modulus != 0) {
                    return Some(Clash::NoFactor(*partition, *known));
                }
                let meets = |(known, rest, _): &&(u32, u32, Oid)| {
                    let small = *known.min(modulus);
                    rest % small == remainder % small
                };
                all.iter().find(meets).map(|(.., partition)| Clash::Overlap(*partition))
            }
            _ => None,
        }
    }
}

/// Keys between two bounds, in key form.
type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// True if a range has keys at or above `low` and below `high`.
fn meets((first, last): &KeyRange, low: &[u8], high: &[u8]) -> bool {
    let begins_below = match first {
        Bound::Unbounded => true,
        Bound::Included(form) | Bound::Excluded(form) => form[..] < *high,
    };
    let ends_above = match last {
        Bound::Unbounded => true,
        Bound::Included(form) => form[..] >= *low,
        Bound::Excluded(form) => form[..] > *low,
    };
    begins_below && ends_above
}

/// True if a range has what begins with the form of a value.
fn has_form((first, last): &KeyRange, form: &[u8]) -> bool {
    let is_from = match first {
        Bound::Unbounded => true,
        Bound::Included(first) => *form >= first[..],
        Bound::Excluded(first) => *form > first[..],
    };
    let is_to = match last {
        Bound::Unbounded => true,
        Bound::Included(last) => *form <= last[..],
        Bound::Excluded(last) => *form < last[..],
    };
    is_from && is_to
}

/// The form of the one value whose keys a range has.
fn point((first, last): &KeyRange) -> Option<&Vec<u8>> {
    let (Bound::Included(first), Bound::Excluded(last)) = (first, last) else { return None };
    let (end, before) = first.split_last()?;
    (last.split_last() == Some((&end.checked_add(1)?, before))).then_some(first)
}

/// True if no key of a range is outside of all spans, which are in order.
fn is_covered((first, last): &KeyRange, spans: &[Span]) -> bool {
    let Bound::Included(first) = first else { return false };
    let mut from = first.clone();
    for span in spans.iter().filter(|span| span.high > *first) {
        if span.low > from {
            return false;
        }
        from.clone_from(&span.high);
        let is_end = match last {
            Bound::Excluded(last) => *last <= from,
            Bound::Included(last) => *last < from,
            Bound::Unbounded => false,
        };
        if is_end {
            return true;
        }
    }
    false
}

impl PartitionKey {
    /// A value of the key as SQL writes it in a bound.
    pub fn written(&self, value: &Datum, context: &Context<'_>) -> String {
        let text = text::to_string(value.as_ref(), self.ty, self.modifier, context);
        let Some(text) = text else { return "NULL".to_owned() };
        let is_number = matches!(
            self.ty,
            Type::INT2
                | Type::INT4
                | Type::INT8
                | Type::NUMERIC
                | Type::FLOAT4
                | Type::FLOAT8
                | Type::OID
        );
        match self.ty {
            Type::BOOL => if text == "t" { "true" } else { "false" }.to_owned(),
            _ if is_number && text.starts_with(|c: char| c.is_ascii_digit()) => text,
            _ => format!("'{}'", text.replace('\'', "''")),
        }
    }
}

impl PartitionBound {
    /// The bound as SQL writes it, with `written` for its values.
    pub fn to_sql(&self, written: &mut dyn FnMut(usize, &Datum) -> String) -> String {
        let mut end = |end: &[RangeEnd]| {
            let values = end.iter().enumerate().map(|(at, value)| match value {
                RangeEnd::Min => "MINVALUE".to_owned(),
                RangeEnd::Max => "MAXVALUE".to_owned(),
                RangeEnd::Value(value) => written(at, value),
            });
            values.collect::<Vec<_>>().join(", ")
        };
        match self {
            PartitionBound::Default => "DEFAULT".to_owned(),
            PartitionBound::Hash { modulus, remainder } => {
                format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
            }
            PartitionBound::Range(low, high) => {
                let low = end(low);
                format!("FOR VALUES FROM ({low}) TO ({})", end(high))
            }
            PartitionBound::List(values) => {
                let values = values.iter().map(|value| match value {
                    Datum::Null => "NULL".to_owned(),
                    value => written(0, value),
                });
                format!("FOR VALUES IN ({})", values.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Relation {
    /// How its rows are divided, where it is a partitioned table.
    pub fn partitioning(&self) -> Option<&Partitioning> {
        self.table()?.partitioning.as_ref()
    }

    /// The table of which it is a partition, if it is one.
    pub fn partition_of(&self) -> Option<&PartitionOf> {
        self.table()?.partition_of.as_ref()
    }

    /// The partitions of a partitioned table, as far as they are its own.
    pub fn partitions(&self) -> &[Oid] {
        self.partitioning().map_or(&[], |partitioning| &partitioning.partitions)
    }
}

impl Catalog {
    /// The tables that have the rows of a table: itself, or the partitions below it that are not partitioned.
    pub fn leaves(&self, table: Oid) -> Vec<Oid> {
        let mut all = self.partition_tree(table);
        all.retain(|oid| self.relation(*oid).is_some_and(|it| it.partitioning().is_none()));
        all
    }

    /// A table, and all partitions below it: each before its own, in the order in which they were attached.
    pub fn partition_tree(&self, table: Oid) -> Vec<Oid> {
        let mut all = vec![table];
        for partition in self.relation(table).map_or(&[][..], |relation| relation.partitions()) {
            all.extend(self.partition_tree(*partition));
        }
        all
    }

    /// The partitioned tables above a table, the nearest first.
    pub fn partition_ancestors(&self, table: Oid) -> Vec<Oid> {
        let parent = |oid: &Oid| Some(self.relation(*oid)?.partition_of()?.parent);
        std::iter::successors(parent(&table), parent).collect()
    }

    /// The index of a partition that is a part of an index of a table above it.
    pub fn partition_index(&self, partition: &TableDef, of: Oid) -> Option<Oid> {
        let mut indexes = partition.indexes.iter();
        let above = |index: &Relation| {
            let parent = |oid: &Oid| self.relation(*oid)?.index()?.partition_of;
            std::iter::successors(index.index().and_then(|it| it.partition_of), parent)
                .any(|oid| oid == of)
        };
        indexes.find(|index| above(index)).map(|index| index.oid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(values: &[i32]) -> Vec<RangeEnd> {
        values.iter().map(|value| RangeEnd::Value(Datum::Int4(*value))).collect()
    }

    fn router(strategy: PartitionStrategy, bounds: &[PartitionBound]) -> Router {
        let mut router = Router::empty(strategy);
        for (bound, number) in bounds.iter().zip(1..) {
            router.add(Oid(number), bound);
        }
        router.sort();
        router
    }

    fn form(value: i32) -> Vec<u8> {
        value_form(&Datum::Int4(value))
    }

    /// 1: below 10, 2: from 10 to below 20, 3: the rest.
    fn ranges() -> Router {
        router(
            PartitionStrategy::Range,
            &[
                PartitionBound::Range(vec![RangeEnd::Min], ends(&[10])),
                PartitionBound::Range(ends(&[10]), ends(&[20])),
                PartitionBound::Default,
            ],
        )
    }

    #[test]
    fn a_row_is_where_its_key_is_at_or_above_the_lower_end_and_below_the_upper() {
        let router = ranges();
        for (value, partition) in [(i32::MIN, 1), (9, 1), (10, 2), (19, 2), (20, 3)] {
            assert_eq!(router.find(&[Datum::Int4(value)]), Some(Oid(partition)), "{value}");
        }
        assert_eq!(router.find(&[Datum::Null]), Some(Oid(3)), "NULL is in no range");
    }

    #[test]
    fn the_default_partition_is_left_out_where_the_others_have_all_that_is_wanted() {
        let router = ranges();
        let from = |low: i32, high: i32| (Bound::Included(form(low)), Bound::Excluded(form(high)));
        assert_eq!(router.within(&[from(12, 15)], None), [Oid(2)]);
        assert_eq!(router.within(&[from(5, 20)], None), [Oid(1), Oid(2)]);
        assert_eq!(router.within(&[from(15, 21)], None), [Oid(2), Oid(3)]);
        assert_eq!(router.within(&[(Bound::Unbounded, Bound::Unbounded)], None).len(), 3);
        assert_eq!(router.within(&[], None), []);
    }

    #[test]
    fn values_of_a_list_are_found_and_others_are_in_the_default_partition() {
        let router = router(
            PartitionStrategy::List,
            &[
                PartitionBound::List(vec![Datum::Int4(1), Datum::Null]),
                PartitionBound::List(vec![Datum::Int4(2)]),
                PartitionBound::Default,
            ],
        );
        let point = |value: i32| {
            let (first, mut last) = (form(value), form(value));
            *last.last_mut().unwrap() += 1;
            (Bound::Included(first), Bound::Excluded(last))
        };
        assert_eq!(router.find(&[Datum::Null]), Some(Oid(1)));
        assert_eq!(router.find(&[Datum::Int4(7)]), Some(Oid(3)));
        assert_eq!(router.within(&[point(2)], None), [Oid(2)]);
        assert_eq!(router.within(&[point(7)], None), [Oid(3)]);
    }

    #[test]
    fn bounds_that_meet_clash() {
        let router = ranges();
        let clash =
            |low: i32, high: i32| router.clash(&PartitionBound::Range(ends(&[low]), ends(&[high])));
        assert_eq!(clash(19, 30), Some(Clash::Overlap(Oid(2))));
        assert_eq!(clash(20, 30), None);
        assert_eq!(clash(30, 30), Some(Clash::Empty));
        assert_eq!(router.clash(&PartitionBound::Default), Some(Clash::Default(Oid(3))));
    }

    #[test]
    fn a_modulus_divides_the_next_larger_one() {
        let router = router(
            PartitionStrategy::Hash,
            &[
                PartitionBound::Hash { modulus: 4, remainder: 0 },
                PartitionBound::Hash { modulus: 8, remainder: 1 },
            ],
        );
        let clash = |modulus, remainder| router.clash(&PartitionBound::Hash { modulus, remainder });
        assert_eq!(clash(8, 5), None);
        assert_eq!(clash(8, 4), Some(Clash::Overlap(Oid(1))));
        assert_eq!(clash(12, 5), Some(Clash::NotDivisible(Oid(2), 8)));
        assert_eq!(clash(3, 1), Some(Clash::NoFactor(Oid(1), 4)));
    }
}
