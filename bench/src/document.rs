//! The benchmark's JSON documents: the same bytes for every database, on every machine.
//!
//! ```text
//! {"counter":0,                          <- the field that W1 updates, always first
//!  "s01":"...", ... "s36":"...",         <- 36 strings
//!  "i01":..., ... "i08":...,             <- 8 integers
//!  "b01":true, ... "b04":...,            <- 4 booleans
//!  "items":[{"id":..,"name":"..","qty":..,"price":..}, ...]}   <- 20 objects, or more
//! ```
//! A larger document has longer strings and more and larger items. The text is made of
//! phrases, some common and some rare, so that it compresses about as application data does:
//! PostgreSQL's pglz keeps 0.26 to 0.41 of it.
//!
//! Invariants: a document of `bytes` bytes is exactly that long with `counter` at 0; 50 top-level
//! fields; the same arguments give the same bytes for ever (a published figure depends on it).

use std::fmt::Write;

/// Strings, integers and booleans at the top level, beside `counter` and `items`.
const STRINGS: usize = 36;
const INTEGERS: usize = 8;
const BOOLEANS: usize = 4;
/// Items of the smallest document; larger ones fill the space that is left.
const ITEMS_MIN: usize = 20;

/// A size at which the suite runs, and how many versions are made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How the size is called in tables: `2.4 KB`.
    pub label: &'static str,
    /// The size's part of a row id: `100k`.
    pub id: &'static str,
    /// Length of the first version, bytes.
    pub bytes: usize,
    /// Updates after the first version.
    pub updates: u32,
}

/// The four sizes of the versioned suite, smallest first.
pub const SIZES: [Size; 4] = [
    Size { label: "2.4 KB", id: "2k", bytes: 2_404, updates: 5_000 },
    Size { label: "100 KB", id: "100k", bytes: 100_000, updates: 500 },
    Size { label: "1 MB", id: "1m", bytes: 1_000_000, updates: 100 },
    Size { label: "10 MB", id: "10m", bytes: 10_000_000, updates: 20 },
];

/// A small, fast, seeded generator of numbers (splitmix64): the same sequence everywhere.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Numbers(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; `bound` is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// Text of exactly `length` ASCII letters and spaces: some of `phrases` phrases of words of syllables.
fn text(numbers: &mut Numbers, phrases: usize, length: usize, out: &mut String) {
    const SYLLABLES: [&str; 16] = [
        "ba", "con", "di", "fer", "gla", "hon", "in", "ju", "ker", "lo", "men", "nor", "pra",
        "qui", "sta", "vel",
    ];
    let start = out.len();
    while out.len() - start < length {
        // A phrase, and a word, are the same every time they are chosen; low numbers are common.
        let few = 1 + numbers.below(phrases);
        let mut phrase = Numbers::new(1_000 + numbers.below(few) as u64);
        for _ in 0..4 + phrase.below(6) {
            let mut word = Numbers::new(phrase.below(WORDS) as u64);
            for _ in 0..2 + word.below(2) {
                out.push_str(SYLLABLES[word.below(SYLLABLES.len())]);
            }
            out.push(' ');
        }
    }
    out.truncate(start + length);
}

/// Different words that there are.
const WORDS: usize = 200;

/// Different phrases in a document of `bytes` bytes. Together with `WORDS` this decides how the text
/// compresses: chosen so that PostgreSQL stores about what the published table says, at every size.
fn phrases(bytes: usize) -> usize {
    (bytes / 75).min(700)
}

/// Length of an item's name, bytes, in a document of `bytes` bytes.
fn name_length(bytes: usize) -> usize {
    bytes.isqrt() / 6
}

fn item(numbers: &mut Numbers, index: usize, bytes: usize, out: &mut String) {
    let _ = write!(out, "{{\"id\":{},\"name\":\"", 1_000 + index);
    text(numbers, phrases(bytes), name_length(bytes), out);
    let (qty, price) = (1 + numbers.below(9), 10 + 5 * numbers.below(18));
    let _ = write!(out, "\",\"qty\":{qty},\"price\":{price}.95}}");
}

/// The first version of the document, exactly `bytes` long (at least 2,404).
pub fn generate(bytes: usize) -> String {
    assert!(bytes >= SIZES[0].bytes, "the smallest document has {} bytes", SIZES[0].bytes);
    let mut numbers = Numbers::new(6);

    let mut tail = String::new();
    for i in 1..=INTEGERS {
        let _ = write!(tail, ",\"i{i:02}\":{}", 1_000 * (100 + numbers.below(900)));
    }
    for i in 1..=BOOLEANS {
        let _ =
            write!(tail, ",\"b{i:02}\":{}", if numbers.below(2) == 0 { "false" } else { "true" });
    }
    tail.push_str(",\"items\":[");
    const HEAD: &str = "{\"counter\":0";
    const STRING_FRAME: usize = ",\"s01\":\"\"".len();
    let strings_want = STRINGS * bytes.isqrt() * 11 / 20;
    let mut one = String::new();
    for index in 0.. {
        one.clear();
        item(&mut numbers, index, bytes, &mut one);
        let used = HEAD.len() + STRINGS * STRING_FRAME + strings_want + tail.len() + "]}".len();
        if index >= ITEMS_MIN && used + one.len() + 1 > bytes {
            break;
        }
        if index > 0 {
            tail.push(',');
        }
        tail.push_str(&one);
        if bytes == SIZES[0].bytes && index + 1 == ITEMS_MIN {
            break;
        }
    }
    tail.push_str("]}");

    // The bytes that are left after the items go to the strings, evenly, the remainder one byte
    // each.
    let left = bytes - HEAD.len() - STRINGS * STRING_FRAME - tail.len();
    let mut out = String::with_capacity(bytes);
    out.push_str(HEAD);
    for i in 1..=STRINGS {
        let _ = write!(out, ",\"s{i:02}\":\"");
        text(
            &mut numbers,
            phrases(bytes),
            left / STRINGS + usize::from(i <= left % STRINGS),
            &mut out,
        );
        out.push('"');
    }
    out.push_str(&tail);
    assert_eq!(out.len(), bytes);
    out
}

/// Number of objects in the array `items` of the document of `bytes` bytes.
pub fn item_count(document: &str) -> usize {
    document.matches("{\"id\":").count()
}

/// One update of one value somewhere in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafUpdate {
    /// The place as Anywhen writes it: `$.items[3].qty`.
    pub path: String,
    /// The place as PostgreSQL writes it: `{items,3,qty}`.
    pub postgres_path: String,
    /// The new value, JSON.
    pub value: String,
}

/// The n-th update of the random-leaf run: any string, integer, boolean, quantity or price.
pub fn leaf_update(numbers: &mut Numbers, items: usize) -> LeafUpdate {
    // Chosen so that a leaf is as likely as any other: 48 at the top, two in each item.
    let leaf = numbers.below(STRINGS + INTEGERS + BOOLEANS + 2 * items);
    let top = |kind: char, index: usize, value: String| {
        let name = format!("{kind}{:02}", index + 1);
        LeafUpdate { path: format!("$.{name}"), postgres_path: format!("{{{name}}}"), value }
    };
    if leaf < STRINGS {
        let mut value = String::from("\"");
        text(numbers, phrases(SIZES[0].bytes), 27, &mut value);
        value.push('"');
        top('s', leaf, value)
    } else if leaf < STRINGS + INTEGERS {
        top('i', leaf - STRINGS, (1_000 * (100 + numbers.below(900))).to_string())
    } else if leaf < STRINGS + INTEGERS + BOOLEANS {
        top('b', leaf - STRINGS - INTEGERS, (numbers.below(2) == 0).to_string())
    } else {
        let rest = leaf - STRINGS - INTEGERS - BOOLEANS;
        let (index, field) = (rest / 2, if rest.is_multiple_of(2) { "qty" } else { "price" });
        let value = match field {
            "qty" => (1 + numbers.below(9)).to_string(),
            _ => format!("{}.{:02}", 10 + numbers.below(90), numbers.below(100)),
        };
        LeafUpdate {
            path: format!("$.items[{index}].{field}"),
            postgres_path: format!("{{items,{index},{field}}}"),
            value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_size_has_its_exact_length_and_fifty_fields_with_the_counter_first() {
        for size in SIZES.iter().filter(|size| size.bytes < 10_000_000) {
            let document = generate(size.bytes);
            assert_eq!(document.len(), size.bytes, "{}", size.label);
            let value: Value = serde_json::from_str(&document).expect("the generator writes JSON");
            let fields = value.as_object().expect("an object");
            assert_eq!(fields.len(), 50);
            assert_eq!(fields.keys().next().map(String::as_str), Some("counter"));
            let count =
                |test: fn(&Value) -> bool| fields.values().filter(|value| test(value)).count();
            assert_eq!((count(Value::is_string), count(Value::is_boolean)), (36, 4));
            assert_eq!(count(Value::is_number), 9, "the counter and eight integers");
            assert_eq!(fields["items"].as_array().map(Vec::len), Some(item_count(&document)));
        }
    }

    #[test]
    fn the_small_document_has_twenty_items() {
        assert_eq!(item_count(&generate(2_404)), 20);
    }

    #[test]
    fn the_same_size_always_gives_the_same_bytes() {
        assert_eq!(generate(100_000), generate(100_000));
    }

    #[test]
    fn every_leaf_update_names_a_value_that_is_there() {
        let document: Value = serde_json::from_str(&generate(2_404)).expect("JSON");
        let mut numbers = Numbers::new(7);
        for _ in 0..2_000 {
            let update = leaf_update(&mut numbers, 20);
            let pointer =
                format!("/{}", update.postgres_path.trim_matches(['{', '}']).replace(',', "/"));
            let old =
                document.pointer(&pointer).unwrap_or_else(|| panic!("{pointer} is not there"));
            let new: Value = serde_json::from_str(&update.value).expect("a JSON value");
            assert_eq!(old.is_string(), new.is_string(), "{}", update.path);
            assert_eq!(old.is_number(), new.is_number(), "{}", update.path);
        }
    }
}
