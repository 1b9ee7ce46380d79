//! `pg_trgm`: the similarity of two texts, by their trigrams.
//!
//! ```text
//!   "Two words"    "  t" " tw" "two" "wo "    "  w" " wo" "wor" "ord" "rds" "ds "
//! ```
//!
//! A word is a run of letters and digits, in small letters, with two blanks before it and one behind. A trigram of
//! three ASCII characters is these bytes. Of any other it is a part of a checksum, as in PostgreSQL, because it must
//! have three bytes too.

use interrupt::Pace;
use posix::lower_char;
use types::{Array, Result};

use crate::array::texts;
use crate::function::{Call, Function, functions, signatures};
use crate::operators::{Operator, operators};

/// Three characters, or a checksum of them.
pub type Trigram = [u8; 3];

/// About what a trigram takes, in the nanoseconds of a [`Pace`].
const TRIGRAM_WORK: usize = 32;

/// Trigrams of a text in their order, and for each whether it is the first and the last of its word.
struct Positions {
    trigrams: Vec<Trigram>,
    bounds: Vec<(bool, bool)>,
}

/// The trigram of three characters.
fn trigram(letters: &[char]) -> Trigram {
    let mut bytes = [0; 12];
    let mut count = 0;
    for letter in letters {
        count += letter.encode_utf8(&mut bytes[count..]).len();
    }
    if count == 3 {
        return [bytes[0], bytes[1], bytes[2]];
    }
    let sum = bytes[..count]
        .iter()
        .fold(u32::MAX, |sum, byte| checksum_of((sum >> 24) as u8 ^ byte) ^ sum << 8);
    let [first, second, third, _] = (!sum).to_le_bytes();
    [first, second, third]
}

/// Returns the entry of CRC-32's table for a byte. PostgreSQL and [`trigram`] shift the other way.
fn checksum_of(byte: u8) -> u32 {
    (0..8).fold(u32::from(byte), |sum, _| match sum & 1 {
        1 => sum >> 1 ^ 0xEDB8_8320,
        _ => sum >> 1,
    })
}

/// True for what words are made of.
fn is_letter(letter: char) -> bool {
    letter.is_alphabetic() || letter.is_ascii_digit()
}

/// The words of a text in small letters.
fn words(text: &str) -> impl Iterator<Item = Vec<char>> {
    let words = text.split(|letter: char| !is_letter(letter)).filter(|word| !word.is_empty());
    words.map(|word| word.chars().map(lower_char).collect())
}

fn positions(text: &str) -> Result<Positions> {
    let (mut trigrams, mut bounds, mut pace) = (Vec::new(), Vec::new(), Pace::new());
    for word in words(text) {
        let padded = [&[' ', ' '][..], &word[..], &[' '][..]].concat();
        let first = trigrams.len();
        for letters in padded.windows(3) {
            pace.step(TRIGRAM_WORK)?;
            trigrams.push(trigram(letters));
            bounds.push((false, false));
        }
        bounds[first].0 = true;
        if let Some(last) = bounds.last_mut() {
            last.1 = true;
        }
    }
    Ok(Positions { trigrams, bounds })
}

/// The trigrams of a text, each once, in the order of their bytes.
///
/// # Errors
/// 57014 if the statement is to stop.
pub fn trigrams(text: &str) -> Result<Vec<Trigram>> {
    let mut all = positions(text)?.trigrams;
    // Bytes are compared as numbers with a sign.
    all.sort_unstable_by_key(|trigram| trigram.map(|byte| byte as i8));
    all.dedup();
    Ok(all)
}

/// The trigrams that every text has which a pattern of `LIKE` or `ILIKE` matches.
pub fn trigrams_of_pattern(pattern: &str) -> Vec<Trigram> {
    /// The character or the edge at a place of a text that is matched.
    #[derive(PartialEq)]
    enum PatternChar {
        Letter(char),
        /// No letter and no digit, or an end of the text.
        Gap,
        /// Anything.
        Unknown,
    }
    let mut places = vec![PatternChar::Gap];
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let literal = match letter {
            '%' | '_' => None,
            '\\' => letters.next(),
            letter => Some(letter),
        };
        places.push(match literal {
            Some(letter) if is_letter(letter) => PatternChar::Letter(lower_char(letter)),
            Some(_) => PatternChar::Gap,
            None => PatternChar::Unknown,
        });
    }
    places.push(PatternChar::Gap);
    let mut found = Vec::new();
    let mut at = 0;
    while at < places.len() {
        let mut run = Vec::new();
        let start = at;
        while let Some(PatternChar::Letter(letter)) = places.get(at) {
            run.push(*letter);
            at += 1;
        }
        if !run.is_empty() {
            if places[start - 1] == PatternChar::Gap {
                run.splice(0..0, [' ', ' ']);
            }
            if places[at] == PatternChar::Gap {
                run.push(' ');
            }
            found.extend(run.windows(3).map(trigram));
        }
        at += 1;
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The share of common members of two sets among all their members.
fn share(common: usize, one: usize, other: usize) -> f32 {
    match one + other - common {
        0 => 0.0,
        all => common as f32 / all as f32,
    }
}

fn similarity(one: &str, other: &str) -> Result<f32> {
    let (one, other) = (trigrams(one)?, trigrams(other)?);
    if one.is_empty() || other.is_empty() {
        return Ok(0.0);
    }
    let known: std::collections::HashSet<&Trigram> = one.iter().collect();
    let common = other.iter().filter(|trigram| known.contains(trigram)).count();
    Ok(share(common, one.len(), other.len()))
}

/// The greatest similarity of a text and a continuous part of another; of whole words if `strict`.
fn word_similarity(word: &str, text: &str, strict: bool) -> Result<f32> {
    let (word, text) = (positions(word)?, positions(text)?);
    if word.trigrams.is_empty() || text.trigrams.is_empty() {
        return Ok(0.0);
    }
    // Each trigram gets a number; those of the word are `wanted`.
    let mut numbers = std::collections::HashMap::new();
    let mut wanted = Vec::new();
    for trigram in &word.trigrams {
        let next = numbers.len();
        if *numbers.entry(*trigram).or_insert(next) == next {
            wanted.push(true);
        }
    }
    let in_word = wanted.len();
    let numbered: Vec<usize> = text
        .trigrams
        .iter()
        .map(|trigram| {
            let next = numbers.len();
            let number = *numbers.entry(*trigram).or_insert(next);
            if number == next {
                wanted.push(false);
            }
            number
        })
        .collect();
    let mut last: Vec<Option<usize>> = vec![None; wanted.len()];
    let (mut best, mut in_part, mut common) = (0.0_f32, 0_usize, 0_usize);
    let mut lower = strict.then_some(0_usize);
    let mut pace = Pace::new();
    for (at, number) in numbered.iter().copied().enumerate() {
        if lower.is_some() || wanted[number] {
            if last[number].is_none() {
                in_part += 1;
                common += usize::from(wanted[number]);
            }
            last[number] = Some(at);
        }
        let is_upper = if strict { text.bounds[at].1 } else { wanted[number] };
        if !is_upper {
            continue;
        }
        let start = *lower.get_or_insert_with(|| {
            in_part = 1;
            at
        });
        let mut current = share(common, in_word, in_part);
        let (mut other_common, mut other_part, mut new_lower) = (common, in_part, start);
        for (other, number) in numbered.iter().copied().enumerate().take(at + 1).skip(start) {
            pace.step(TRIGRAM_WORK)?;
            if !strict || text.bounds[other].0 {
                let found = share(other_common, in_word, other_part);
                if found > current {
                    (current, in_part, common, new_lower) =
                        (found, other_part, other_common, other);
                }
            }
            if last[number] == Some(other) {
                other_part -= 1;
                other_common -= usize::from(wanted[number]);
            }
        }
        best = best.max(current);
        for other in start..new_lower {
            if last[numbered[other]] == Some(other) {
                last[numbered[other]] = None;
            }
        }
        lower = Some(new_lower);
    }
    Ok(best)
}

/// The trigrams as texts; those that are checksums as numbers.
fn shown(text: &str) -> Result<Array> {
    let shown = |trigram: Trigram| match trigram.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        true => trigram.map(char::from).iter().collect(),
        false => format!("0x{}", trigram.map(|byte| format!("{byte:02x}")).concat()),
    };
    let all: Vec<String> = trigrams(text)?.into_iter().map(shown).collect();
    texts(all.iter().map(|text| Some(text.as_str())))
}

/// The thresholds that operators compare with: setting and usual value.
/// The first is that of `%`.
pub const SIMILARITY: (&str, f64) = ("pg_trgm.similarity_threshold", 0.3);
/// The same for `<%` and `%>`.
pub const WORD: (&str, f64) = ("pg_trgm.word_similarity_threshold", 0.6);
/// The same for `<<%` and `%>>`.
pub const STRICT_WORD: (&str, f64) = ("pg_trgm.strict_word_similarity_threshold", 0.5);

fn threshold(call: &Call<'_>, (name, usual): (&str, f64)) -> f32 {
    let set = call.context.session.setting(name).and_then(|value| value.parse::<f64>().ok());
    set.unwrap_or(usual) as f32
}

pub(crate) const TABLE: &[Function] = functions! {
    15621 show_limit() -> FLOAT4 [stable] = (call;) threshold(call, SIMILARITY);
    15622 show_trgm(TEXT) -> TEXT_ARRAY = (a: &str) shown(a);
    15623 similarity(TEXT, TEXT) -> FLOAT4 = (a: &str, b: &str) similarity(a, b);
    15624 similarity_op(TEXT, TEXT) -> BOOL [stable] = (call; a: &str, b: &str)
        similarity(a, b).map(|found| found >= threshold(call, SIMILARITY));
    15625 word_similarity(TEXT, TEXT) -> FLOAT4 = (a: &str, b: &str) word_similarity(a, b, false);
    15626 word_similarity_op(TEXT, TEXT) -> BOOL [stable] = (call; a: &str, b: &str)
        word_similarity(a, b, false).map(|found| found >= threshold(call, WORD));
    15627 word_similarity_commutator_op(TEXT, TEXT) -> BOOL [stable] = (call; a: &str, b: &str)
        word_similarity(b, a, false).map(|found| found >= threshold(call, WORD));
    15628 similarity_dist(TEXT, TEXT) -> FLOAT4 = (a: &str, b: &str)
        similarity(a, b).map(|found| 1.0 - found);
    15629 word_similarity_dist_op(TEXT, TEXT) -> FLOAT4 = (a: &str, b: &str)
        word_similarity(a, b, false).map(|found| 1.0 - found);
    15630 word_similarity_dist_commutator_op(TEXT, TEXT) -> FLOAT4 = (a: &str, b: &str)
        word_similarity(b, a, false).map(|found| 1.0 - found);
    15631 strict_word_similarity(TEXT, TEXT) -> FLOAT4 = (a: &str, b: &str)
        word_similarity(a, b, true);
    15632 strict_word_similarity_op(TEXT, TEXT) -> BOOL [stable] = (call; a: &str, b: &str)
        word_similarity(a, b, true).map(|found| found >= threshold(call, STRICT_WORD));
    15633 strict_word_similarity_commutator_op(TEXT, TEXT) -> BOOL [stable]
        = (call; a: &str, b: &str)
        word_similarity(b, a, true).map(|found| found >= threshold(call, STRICT_WORD));
    15634 strict_word_similarity_dist_op(TEXT, TEXT) -> FLOAT4 = (a: &str, b: &str)
        word_similarity(a, b, true).map(|found| 1.0 - found);
    15635 strict_word_similarity_dist_commutator_op(TEXT, TEXT) -> FLOAT4 = (a: &str, b: &str)
        word_similarity(b, a, true).map(|found| 1.0 - found);
};

/// Computed by the session, which has the setting.
pub(crate) const OF_SESSION: &[Function] = signatures! { Server
    15620 set_limit(FLOAT4) -> FLOAT4 [volatile];
};

pub(crate) const OPERATORS: &[Operator] = operators! {
    "%" {
        15800 TEXT TEXT -> BOOL = 15624;
    }
    "%>" {
        15801 TEXT TEXT -> BOOL = 15627;
    }
    "%>>" {
        15802 TEXT TEXT -> BOOL = 15633;
    }
    "<%" {
        15803 TEXT TEXT -> BOOL = 15626;
    }
    "<->" {
        15804 TEXT TEXT -> FLOAT4 = 15628;
    }
    "<->>" {
        15805 TEXT TEXT -> FLOAT4 = 15630;
    }
    "<->>>" {
        15806 TEXT TEXT -> FLOAT4 = 15635;
    }
    "<<%" {
        15807 TEXT TEXT -> BOOL = 15632;
    }
    "<<->" {
        15808 TEXT TEXT -> FLOAT4 = 15629;
    }
    "<<<->" {
        15809 TEXT TEXT -> FLOAT4 = 15634;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern needs only trigrams that a matching text must have.
    #[test]
    fn patterns_need_trigrams() {
        let needed = |pattern| {
            let all = trigrams_of_pattern(pattern);
            all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(needed("%aBcd%"), ["abc", "bcd"]);
        assert_eq!(needed("ab%"), ["  a", " ab"]);
        assert_eq!(needed("%x_yz"), ["yz "]);
        assert_eq!(needed("%\\%ab\\_%"), ["  a", " ab", "ab "]);
        assert!(needed("%ab%").is_empty() && needed("").is_empty());
    }
}
