//! Order, equality, hash and keys.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use types::{Context, Datum, Error, KeyOrder, Record, Repr, Type, key, text};

use crate::{check, type_of};

fn value(name: &str, input: &str, context: &Context<'_>) -> Result<Datum, Error> {
    if name != "record" {
        let (ty, modifier) = type_of(name);
        return text::parse(input, ty, modifier, context);
    }
    let (number, word) = input[1..input.len() - 1].split_once(',').expect("two fields");
    let number = number.parse::<i32>().ok().map_or(Datum::Null, Datum::from);
    let word = if word.is_empty() { Datum::Null } else { word.into() };
    let fields =
        [(Type::INT4, Repr::Int4, number.as_ref()), (Type::TEXT, Repr::Text, word.as_ref())];
    Ok(Record::new(fields).into())
}

fn key_of(value: &Datum, order: KeyOrder) -> Vec<u8> {
    let mut out = Vec::new();
    key::write(value.as_ref(), order, &mut out);
    out
}

/// Two values are compared; their keys and their hashes must agree with the result.
fn compare(fields: &[String], context: &Context<'_>) -> Result<String, Error> {
    let [name, a, b] = fields else { panic!("three fields: {fields:?}") };
    let (a, b) = (value(name, a, context)?, value(name, b, context)?);
    let order = a.cmp(&b);
    let keys = |order| key_of(&a, order).cmp(&key_of(&b, order));
    assert_eq!(keys(KeyOrder::ASCENDING), order, "keys of {a:?} and {b:?}");
    assert_eq!(keys(KeyOrder::DESCENDING), order.reverse(), "keys of {a:?} and {b:?}");
    if order == Ordering::Equal {
        let state = RandomState::new();
        assert_eq!(state.hash_one(&a), state.hash_one(&b), "hashes of {a:?} and {b:?}");
    }
    Ok((order as i32).to_string())
}

#[test]
fn orders() {
    check(include_str!("data/order.tsv"), compare);
}
