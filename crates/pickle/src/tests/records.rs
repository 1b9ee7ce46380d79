//! Records that ZODB made, from `records.txt`: what this crate finds is what Python finds.
//!
//! `make_records.py` writes the file. The references in it are those of
//! `ZODB.serialize.referencesf`, and the JSON is made in Python from the live objects.

use super::{head, json};
use crate::head::read_both_ways;

/// A line of the file.
pub(crate) struct Sample {
    pub name: &'static str,
    pub record: Vec<u8>,
    class: &'static str,
    references: Vec<u64>,
    json: &'static str,
}

/// All lines of the file.
pub(crate) fn samples() -> Vec<Sample> {
    let lines = include_str!("records.txt").lines();
    let samples: Vec<Sample> = lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let &[name, hex, class, references, json] = fields.as_slice() else {
                panic!("a line has five fields: {line}");
            };
            let hex = hex.as_bytes().chunks(2);
            let record = hex.map(|pair| {
                let digits = std::str::from_utf8(pair).expect("ASCII");
                u8::from_str_radix(digits, 16).expect("hexadecimal digits")
            });
            let references = references.split(',').filter(|oid| !oid.is_empty());
            Sample {
                name,
                record: record.collect(),
                class,
                references: references
                    .map(|oid| u64::from_str_radix(oid, 16).expect("hexadecimal digits"))
                    .collect(),
                json,
            }
        })
        .collect();
    assert!(samples.len() > 30, "the file has its lines");
    samples
}

/// The class and the references of each record are those that ZODB reads, in its order.
#[test]
fn heads_are_those_of_zodb() {
    for sample in samples() {
        let (class, references) = head(&sample.record).expect(sample.name);
        assert_eq!(format!("{}.{}", class.module, class.name), sample.class, "{}", sample.name);
        assert_eq!(references, sample.references, "{}", sample.name);
    }
}

/// The fast reader of heads and the tree agree on each record.
#[test]
fn both_readers_agree() {
    for sample in samples() {
        let (fast, thorough) = read_both_ways(&sample.record);
        assert!(thorough.is_ok(), "{}", sample.name);
        if let Some(fast) = fast {
            assert_eq!(Ok(fast), thorough, "{}", sample.name);
        } else {
            assert!(
                ["protocol", "zoneinfo", "named"].iter().any(|part| sample.name.contains(part)),
                "ZODB's own records are read the fast way: {}",
                sample.name
            );
        }
    }
}

/// The JSON of each state is Python's JSON of the live object, byte for byte.
#[test]
fn states_are_those_of_python() {
    for sample in samples() {
        assert_eq!(json(&sample.record), sample.json, "{}", sample.name);
    }
}
