//! The document that is read: an export of users, as an application would keep it.
//!
//! ```text
//! 1 {"exported":..., 3 "users":[ 4 {"id":1000,"name":"..","age":42,
//!    2                              5           6           7
//!      "address":{"street":..,"city":..,"zip":..,"country":..},    8 and below
//!      "orders":[{"sku":..,"qty":..,"price":..},{...}]},          13 and below
//!   22 {"id":1001, ...                                           18 nodes each, in document order
//! ```
//! Invariants: the same bytes on every machine; the age of every user has two digits, so that an answer
//! is as long after a change of it as before.

use std::fmt::Write;

use crate::document::Numbers;

/// Users are added until the text has so many bytes.
const BYTES: usize = 1_710_000;
const FIRST_USER: u64 = 4;
const NODES_A_USER: u64 = 18;
const AGES: std::ops::Range<u8> = 18..88;
/// Where the age of a user stands, from the user on.
const AGE: u64 = 3;

/// The text of the document, and the ages of its users.
pub fn document() -> (String, Vec<u8>) {
    const FIRST: [&str; 8] = ["Ada", "Boris", "Chen", "Dalia", "Emeka", "Freya", "Goran", "Hana"];
    const LAST: [&str; 8] =
        ["Lindqvist", "Moreau", "Nakamura", "Okafor", "Petrov", "Quispe", "Rossi", "Suzuki"];
    const CITIES: [&str; 6] = ["Aarhus", "Braga", "Cork", "Dresden", "Espoo", "Ghent"];
    let mut numbers = Numbers::new(9);
    let mut out = String::from("{\"exported\":\"2026-11-01T00:00:00Z\",\"users\":[");
    let mut ages = Vec::new();
    while out.len() < BYTES {
        let of = |numbers: &mut Numbers, words: &[&'static str]| words[numbers.below(words.len())];
        let comma = if ages.is_empty() { "" } else { "," };
        let age = AGES.start + numbers.below(AGES.len()) as u8;
        let name = format!("{} {}", of(&mut numbers, &FIRST), of(&mut numbers, &LAST));
        let _ = write!(
            out,
            "{comma}{{\"id\":{},\"name\":\"{name}\",\"age\":{age},\"address\":{{\"street\":\"{} {} Street\",\
             \"city\":\"{}\",\"zip\":\"{:05}\",\"country\":\"EU\"}},\"orders\":[",
            1_000 + ages.len(),
            1 + numbers.below(200),
            of(&mut numbers, &LAST),
            of(&mut numbers, &CITIES),
            numbers.below(100_000),
        );
        for order in 0..2 {
            let _ = write!(
                out,
                "{}{{\"sku\":\"{:08x}\",\"qty\":{},\"price\":{}.95}}",
                if order > 0 { "," } else { "" },
                numbers.next() as u32,
                1 + numbers.below(9),
                10 + numbers.below(90),
            );
        }
        out.push_str("]}");
        ages.push(age);
    }
    out.push_str("]}");
    (out, ages)
}

/// Another age.
pub fn another(age: u8, numbers: &mut Numbers) -> u8 {
    let count = AGES.len();
    AGES.start + ((usize::from(age - AGES.start) + 1 + numbers.below(count - 1)) % count) as u8
}

/// The key of the node that holds the age of a user, counted from 0.
pub fn age_key(user: usize) -> u64 {
    FIRST_USER + user as u64 * NODES_A_USER + AGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Counts the nodes before what is looked for, as keys are given.
    fn nodes(value: &Value) -> u64 {
        1 + match value {
            Value::Array(items) => items.iter().map(nodes).sum(),
            Value::Object(fields) => fields.values().map(nodes).sum::<u64>(),
            _ => 0,
        }
    }

    #[test]
    fn a_user_has_so_many_nodes_and_an_age_of_two_digits() {
        let (text, ages) = document();
        assert!((BYTES..BYTES + 1_000).contains(&text.len()));
        let value: Value = serde_json::from_str(&text).expect("the generator writes JSON");
        let users = value["users"].as_array().expect("users");
        assert_eq!(users.len(), ages.len());
        let mut numbers = Numbers::new(1);
        for (user, age) in users.iter().zip(ages) {
            assert_eq!((nodes(user), user["age"].as_u64()), (NODES_A_USER, Some(age.into())));
            let new = another(age, &mut numbers);
            assert!(AGES.contains(&age) && AGES.contains(&new) && age != new);
        }
    }
}
