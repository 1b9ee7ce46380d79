//! The rank of a document for a query: `ts_rank`, by how often and how close together its words are,
//! and `ts_rank_cd`, by how dense the parts of the document are that answer the query (cover density,
//! by Clarke, Cormack and Tudhope, 1999).
//!
//! As in PostgreSQL, sums are kept in single precision where PostgreSQL keeps them so: the results are
//! the same to the last bit.

use std::collections::VecDeque;

use types::search::vector::POSITION_MAX;
use types::search::{Lexeme, Node, Position, Vector, Word};
use types::{ArrayRef, DatumRef, Error, Result, SqlState};

use super::matching::{Places, Ternary, holds};

/// The weights of `D`, `C`, `B` and `A`.
pub(super) const USUAL: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// The divisors of the rank, as bits of a method.
const LOG_LENGTH: i32 = 1;
const LENGTH: i32 = 2;
const DISTANCE: i32 = 4;
const LEXEMES: i32 = 8;
const LOG_LEXEMES: i32 = 16;
const ITSELF: i32 = 32;

/// The weights that an array has.
pub(super) fn weights(array: ArrayRef<'_>) -> Result<[f32; 4]> {
    let error = |state, message: &str| Err(Error::new(state, message));
    if array.dimensions().len() != 1 {
        let message = "array of weight must be one-dimensional";
        return error(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
    }
    if array.len() < USUAL.len() {
        return error(SqlState::ARRAY_SUBSCRIPT_ERROR, "array of weight is too short");
    }
    if array.iter().any(|value| value.is_null()) {
        let message = "array of weight must not contain nulls";
        return error(SqlState::NULL_VALUE_NOT_ALLOWED, message);
    }
    let mut weights = USUAL;
    for (weight, value) in weights.iter_mut().zip(array.iter()) {
        match value {
            DatumRef::Float4(value) if value > 1.0 => {
                return error(SqlState::INVALID_PARAMETER_VALUE, "weight out of range");
            }
            DatumRef::Float4(value) if value >= 0.0 => *weight = value,
            _ => {}
        }
    }
    Ok(weights)
}

/// The lexemes of a document that are a word's.
fn found<'v, 'a>(document: &'v Vector<'a>, word: &Word<'_>) -> &'v [Lexeme<'a>] {
    match word.is_prefix {
        true => document.starting_with(&word.text),
        false => document.get(&word.text).map_or(&[][..], std::slice::from_ref),
    }
}

/// How many words a document has, as far as it tells.
fn length(document: &Vector<'_>) -> usize {
    document.lexemes().iter().map(|lexeme| lexeme.positions().len().max(1)).sum()
}

/// The words of a query, each once, in order.
fn distinct<'n, 'a>(query: &'n Node<'a>) -> Vec<&'n Word<'a>> {
    let mut words = Vec::new();
    query.words(&mut words);
    words.sort_by(|a, b| a.text.cmp(&b.text));
    words.dedup_by(|a, b| a.text == b.text);
    words
}

/// The positions of a lexeme; without any, the last one.
fn positions(lexeme: &Lexeme<'_>) -> (Vec<Position>, bool) {
    let known: Vec<_> = lexeme.positions().collect();
    match known.is_empty() {
        true => (vec![Position::new(u32::from(POSITION_MAX), 0)], false),
        false => (known, true),
    }
}

fn closeness(distance: u32) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * libm::exp(f64::from(distance) / 1.5 - 2.0))) as f32
}

/// By how close together the words stand.
fn of_all(weights: &[f32; 4], document: &Vector<'_>, query: &Node<'_>) -> f32 {
    let words = distinct(query);
    if words.len() < 2 {
        return of_any(weights, document, query);
    }
    let weight = |position: Position| weights[usize::from(position.weight())];
    let mut last: Vec<Option<(Vec<Position>, bool)>> = vec![None; words.len()];
    let mut rank = -1.0_f32;
    for (at, word) in words.iter().enumerate() {
        for lexeme in found(document, word) {
            let own = positions(lexeme);
            for (others, others_known) in last[..at].iter().flatten() {
                for one in &own.0 {
                    for other in others {
                        let mut distance = u32::from(one.at().abs_diff(other.at()));
                        if distance == 0 {
                            if own.1 && *others_known {
                                continue;
                            }
                            distance = u32::from(POSITION_MAX) + 1;
                        }
                        let product = weight(*one) * weight(*other) * closeness(distance);
                        let next = f64::from(product).sqrt() as f32;
                        rank = if rank < 0.0 {
                            next
                        } else {
                            (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(next))) as f32
                        };
                    }
                }
            }
            last[at] = Some(own);
        }
    }
    rank
}

/// By how often the words stand there.
fn of_any(weights: &[f32; 4], document: &Vector<'_>, query: &Node<'_>) -> f32 {
    let words = distinct(query);
    let mut rank = 0.0_f32;
    for word in &words {
        for lexeme in found(document, word) {
            let (mut sum, mut best, mut best_at) = (0.0_f32, -1.0_f32, 0);
            for (at, position) in positions(lexeme).0.iter().enumerate() {
                let weight = weights[usize::from(position.weight())];
                sum += weight / ((at + 1) * (at + 1)) as f32;
                if weight > best {
                    (best, best_at) = (weight, at);
                }
            }
            // The sum of 1 / n² is π² / 6.
            let part = best + sum - best / ((best_at + 1) * (best_at + 1)) as f32;
            rank = (f64::from(rank) + f64::from(part) / 1.644_934_066_85) as f32;
        }
    }
    if words.is_empty() { rank } else { rank / words.len() as f32 }
}

/// `ts_rank`
pub(super) fn rank(
    weights: &[f32; 4],
    document: &Vector<'_>,
    query: Option<&Node<'_>>,
    method: i32,
) -> f32 {
    let lexemes = document.lexemes().len();
    let Some(query) = query.filter(|_| lexemes > 0) else { return 0.0 };
    let mut rank = match query {
        Node::And(_) | Node::Phrase(..) => of_all(weights, document, query),
        _ => of_any(weights, document, query),
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let by_log = |rank: f32, count: usize| {
        (f64::from(rank) / (libm::log((count + 1) as f64) / libm::log(2.0))) as f32
    };
    if method & LOG_LENGTH != 0 {
        rank = by_log(rank, length(document));
    }
    if method & LENGTH != 0 {
        rank /= length(document) as f32;
    }
    if method & LEXEMES != 0 {
        rank /= lexemes as f32;
    }
    if method & LOG_LEXEMES != 0 {
        rank = by_log(rank, lexemes);
    }
    if method & ITSELF != 0 {
        rank /= rank + 1.0;
    }
    rank
}

/// A place of the document at which words of the query stand.
struct WordPosition {
    position: Position,
    /// The numbers of the words.
    words: Vec<usize>,
}

/// The places of a document at which words of a query stand, in order.
fn places_of(document: &Vector<'_>, words: &[&Word<'_>]) -> Vec<WordPosition> {
    let mut all = Vec::new();
    for (number, word) in words.iter().enumerate() {
        for lexeme in found(document, word) {
            for position in lexeme.positions() {
                if word.weights == 0 || word.weights >> position.weight() & 1 == 1 {
                    all.push((position, lexeme.text, number));
                }
            }
        }
    }
    all.sort_by_key(|(position, text, _)| (*position, *text));
    let mut places: Vec<WordPosition> = Vec::new();
    let mut last = None;
    for (position, text, number) in all {
        match places.last_mut().filter(|_| last == Some((position, text))) {
            Some(place) => place.words.push(number),
            None => places.push(WordPosition { position, words: vec![number] }),
        }
        last = Some((position, text));
    }
    places
}

/// The part of a document that answers a query, from a place to a place.
struct Cover {
    begin: usize,
    end: usize,
}

/// The places of each word in a part of the document that grows at one of its ends.
struct Part<'n, 'a> {
    words: &'n [&'n Word<'a>],
    at: Vec<VecDeque<u32>>,
}

impl<'n, 'a> Part<'n, 'a> {
    fn new(words: &'n [&'n Word<'a>]) -> Self {
        Part { words, at: vec![VecDeque::new(); words.len()] }
    }

    fn add(&mut self, place: &WordPosition, is_after: bool) {
        let at = u32::from(place.position.at());
        for number in &place.words {
            let known = &mut self.at[*number];
            match is_after {
                true if known.back() != Some(&at) => known.push_back(at),
                false if known.front() != Some(&at) => known.push_front(at),
                _ => {}
            }
        }
    }

    fn answers(&self, query: &Node<'_>, skips_not: bool) -> bool {
        holds(query, skips_not, &mut |word, found: Option<&mut Places>| {
            // The words are those of the query itself.
            let same = |known: &&Word<'_>| std::ptr::eq::<Word<'_>>(*known, word);
            let Some(number) = self.words.iter().position(same) else {
                return Ternary::No;
            };
            if let Some(found) = found {
                found.at = self.at[number].iter().copied().collect();
            }
            Ternary::from(!self.at[number].is_empty())
        })
    }
}

/// The next cover that starts at a place or after it.
fn cover(
    places: &[WordPosition],
    query: &Node<'_>,
    words: &[&Word<'_>],
    from: &mut usize,
) -> Option<Cover> {
    loop {
        let mut part = Part::new(words);
        let end = (*from..places.len()).find(|end| {
            part.add(&places[*end], true);
            part.answers(query, true)
        })?;
        let mut part = Part::new(words);
        let begin = (*from..=end).rev().find(|begin| {
            part.add(&places[*begin], false);
            part.answers(query, false)
        });
        match begin {
            Some(begin) => {
                *from = begin + 1;
                return Some(Cover { begin, end });
            }
            None => *from += 1,
        }
    }
}

/// `ts_rank_cd`
pub(super) fn cover_density(
    weights: &[f32; 4],
    document: &Vector<'_>,
    query: Option<&Node<'_>>,
    method: i32,
) -> f32 {
    let Some(query) = query else { return 0.0 };
    let mut words = Vec::new();
    query.words(&mut words);
    let places = places_of(document, &words);
    if places.is_empty() {
        return 0.0;
    }
    let inverse = weights.map(|weight| 1.0 / f64::from(weight));
    let (mut rank, mut distances, mut last, mut count) = (0.0_f64, 0.0_f64, 0.0_f64, 0);
    let mut from = 0;
    while let Some(Cover { begin, end }) = cover(&places, query, &words, &mut from) {
        let inside = &places[begin..=end];
        let sum: f64 =
            inside.iter().map(|place| inverse[usize::from(place.position.weight())]).sum();
        let (first_at, last_at) = (inside[0].position.at(), places[end].position.at());
        let steps = (end - begin) as i32;
        let mut noise = i32::from(last_at) - i32::from(first_at) - steps;
        // Places after the last distinct one count as one.
        if noise < 0 {
            noise = steps / 2;
        }
        rank += inside.len() as f64 / sum / f64::from(1 + noise);
        let middle = (f64::from(last_at) + f64::from(first_at)) / 2.0;
        if count > 0 && middle > last {
            distances += 1.0 / (middle - last);
        }
        last = middle;
        count += 1;
    }
    let lexemes = document.lexemes().len();
    if method & LOG_LENGTH != 0 {
        rank /= libm::log((length(document) + 1) as f64);
    }
    if method & LENGTH != 0 {
        rank /= length(document) as f64;
    }
    if method & DISTANCE != 0 && count > 0 && distances > 0.0 {
        rank /= f64::from(count) / distances;
    }
    if method & LEXEMES != 0 {
        rank /= lexemes as f64;
    }
    if method & LOG_LEXEMES != 0 {
        rank /= libm::log((lexemes + 1) as f64) / libm::log(2.0);
    }
    if method & ITSELF != 0 {
        rank /= rank + 1.0;
    }
    rank as f32
}
