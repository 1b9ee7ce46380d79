//! Text search: functions and operators of `tsvector` and `tsquery`.
//!
//! ```text
//!   to_tsvector('english', 'The fat rats')   'fat':2 'rat':3
//!   to_tsquery('english', 'rats & !cats')    'rat' & !'cat'
//!   a @@ b                                   true
//! ```
//!
//! * [`matching`][]: `@@`.
//! * [`rank`][]: `ts_rank` and `ts_rank_cd`.
//! * [`headline`][]: `ts_headline`.
//! * [`rewrite`][]: `ts_rewrite`.
//! * [`json`][]: which texts a JSON document has.
//! * [`table`][]: the list of functions.
//!
//! How values are held, read and written is in [`types::search`]; parser and dictionaries are in the
//! crate [`lexeme`].

mod headline;
mod json;
pub(crate) mod matching;
mod rank;
mod rewrite;
mod table;

use std::borrow::Cow;

use lexeme::dictionary::Language;
use lexeme::{Config, Dictionary};
use types::search::vector::{self, Lexeme, Position};
use types::search::{Node, Syntax, Vector, Word, parse_query, query};
use types::{ArrayRef, Datum, DatumRef, Error, Oid, Result, SqlState};

use crate::function::{Argument, Call, internal, unexpected};
pub(crate) use table::{SETS, TABLE};

/// The setting that names the configuration of functions that are given none.
pub const SETTING: &str = "default_text_search_config";

/// The numbers of `simple`, the configuration and the dictionary.
const SIMPLE_CONFIG: Oid = Oid(3_748);
const SIMPLE_DICTIONARY: Oid = Oid(3_765);

/// The number of the first dictionary of a language. Configurations and dictionaries alternate.
const FIRST_DICTIONARY: u32 = 13_078;

/// The default parser.
pub const PARSER: Oid = Oid(3_722);

fn language_of(number: u32) -> Option<Language> {
    let at = number.checked_sub(FIRST_DICTIONARY).filter(|at| at % 2 == 0)? / 2;
    Language::ALL.get(at as usize).copied()
}

/// The configuration with this number.
pub fn config(oid: Oid) -> Option<Config> {
    if oid == SIMPLE_CONFIG {
        return Some(Config::Simple);
    }
    language_of(oid.0.checked_sub(1)?).map(Config::Of)
}

/// The number of a configuration.
pub fn config_oid(config: Config) -> Oid {
    match config {
        Config::Simple => SIMPLE_CONFIG,
        Config::Of(language) => Oid(FIRST_DICTIONARY + 2 * language as u32 + 1),
    }
}

/// The dictionary with this number.
pub fn dictionary(oid: Oid) -> Option<Dictionary> {
    if oid == SIMPLE_DICTIONARY {
        return Some(Dictionary::Simple);
    }
    language_of(oid.0).map(Dictionary::Stem)
}

/// All dictionaries.
pub fn dictionaries() -> Vec<Dictionary> {
    let stems = Language::ALL.iter().map(|language| Dictionary::Stem(*language));
    std::iter::once(Dictionary::Simple).chain(stems).collect()
}

/// The number of a dictionary.
pub fn dictionary_oid(dictionary: Dictionary) -> Oid {
    match dictionary {
        Dictionary::Simple => SIMPLE_DICTIONARY,
        Dictionary::Stem(language) => Oid(FIRST_DICTIONARY + 2 * language as u32),
    }
}

/// The name of a dictionary.
pub fn dictionary_name(dictionary: Dictionary) -> String {
    match dictionary {
        Dictionary::Simple => "simple".to_owned(),
        Dictionary::Stem(language) => format!("{}_stem", language.name()),
    }
}

/// The configuration that a name finds, with or without `pg_catalog` before it.
pub fn config_named(name: &str) -> Option<Config> {
    Config::named(name.strip_prefix("pg_catalog.").unwrap_or(name))
}

fn known_config(oid: Oid) -> Result<Config> {
    config(oid)
        .ok_or_else(|| internal(format!("cache lookup failed for text search configuration {oid}")))
}

/// The configuration of the session.
fn usual_config(call: &Call<'_>) -> Result<Config> {
    let name = call.context.session.setting(SETTING).unwrap_or_default();
    config_named(&name).ok_or_else(|| {
        let message = format!("text search configuration \"{name}\" does not exist");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

impl<'a> Argument<'a> for Vector<'a> {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Bytea(held) => Ok(Vector::new(held)),
            other => Err(unexpected("a tsvector", other)),
        }
    }
}

/// A query as an argument: none without words.
struct Query<'a>(Option<Node<'a>>);

impl<'a> Argument<'a> for Query<'a> {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Bytea(held) => Ok(Query(query::read(held))),
            other => Err(unexpected("a tsquery", other)),
        }
    }
}

/// The words that a row must have of which a query is true, for an index of lexemes.
pub enum Needs {
    /// All of these.
    All(Vec<Needs>),
    /// Any of these.
    Any(Vec<Needs>),
    /// A lexeme.
    Lexeme(String),
    /// A lexeme that starts so.
    Prefix(String),
}

/// The words that rows need for a query to be true; none if no row fits.
pub fn needs(held: &[u8]) -> Option<Needs> {
    fn of(node: &Node<'_>) -> Needs {
        match node {
            Node::Word(Word { text, is_prefix: false, .. }) => Needs::Lexeme(text.to_string()),
            Node::Word(Word { text, .. }) => Needs::Prefix(text.to_string()),
            Node::Not(_) | Node::Stop => Needs::All(Vec::new()),
            Node::Or(pair) => Needs::Any(pair.iter().map(of).collect()),
            Node::And(pair) | Node::Phrase(pair, _) => Needs::All(pair.iter().map(of).collect()),
        }
    }
    query::read(held).as_ref().map(of)
}

/// The lexemes of texts, which stand one after the other.
struct Document {
    config: Config,
    entries: Vec<(String, Vec<Position>)>,
    /// How many places there are so far.
    end: u32,
}

impl Document {
    fn new(config: Config) -> Self {
        Document { config, entries: Vec::new(), end: 0 }
    }

    /// Adds a text; true if it has a lexeme.
    fn add(&mut self, text: &str) -> Result<bool> {
        let mut pace = interrupt::Pace::new();
        let (start, before) = (self.end, self.entries.len());
        for (lexeme, at) in self.config.places(text) {
            pace.step(512)?;
            self.end = start.saturating_add(at);
            if let Some(lexeme) = lexeme {
                self.entries.push((lexeme, vec![Position::new(self.end, 0)]));
            }
        }
        Ok(self.entries.len() > before)
    }

    /// Adds a part of a document, which is not next to the one before.
    fn add_part(&mut self, text: &str) -> Result<()> {
        if self.add(text)? {
            self.end += 1;
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<u8>> {
        let limited = self.entries.into_iter().map(|(text, at)| (Cow::Owned(text), at));
        vector::build_document(limited)
    }
}

fn document(config: Config, text: &str) -> Result<Vec<u8>> {
    let mut document = Document::new(config);
    document.add(text)?;
    document.finish()
}

/// How the lexemes of one word of a query are joined.
#[derive(Clone, Copy)]
enum Joined {
    And,
    Phrase,
}

fn read_query(config: Config, text: &str, syntax: Syntax, joined: Joined) -> Result<Vec<u8>> {
    let mut to_node = |word: &str, weights: u8, is_prefix: bool| {
        let join = |left: Option<Node<'static>>, right: Node<'static>| match left {
            None => right,
            Some(left) => match joined {
                Joined::And => Node::And(Box::new([left, right])),
                Joined::Phrase => Node::Phrase(Box::new([left, right]), 1),
            },
        };
        let mut node = None;
        let mut last = 0;
        for (text, at) in config.lexemes(word) {
            if at as usize > query::DEPTH_MAX {
                return Err(query::too_deep());
            }
            // A stop word in between takes a place.
            if last > 0 {
                for _ in last + 1..at {
                    node = Some(join(node, Node::Stop));
                }
            }
            last = at;
            let word = Word { text: text.into(), weights, is_prefix };
            node = Some(join(node, Node::Word(word)));
        }
        Ok(node.unwrap_or(Node::Stop))
    };
    let node = parse_query(text, syntax, &mut to_node)?;
    query::build(node.as_ref())
}

/// A weight from its letter.
fn weight_of(letter: &str) -> Result<u8> {
    let mut letters = letter.chars();
    let weight = letters.next().and_then(vector::weight);
    weight.filter(|_| letters.next().is_none()).ok_or_else(|| {
        let number = letter.chars().next().map_or(0, |c| c as u32 as u8 as i8);
        let message = format!("unrecognized weight: {number}");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })
}

type Entry<'a> = (Cow<'a, str>, Vec<Position>);

fn entry<'a>(lexeme: &Lexeme<'a>) -> Entry<'a> {
    (Cow::Borrowed(lexeme.text), lexeme.positions().collect())
}

fn with_weight(document: &Vector<'_>, weight: u8, only: impl Fn(&str) -> bool) -> Result<Vec<u8>> {
    vector::build(document.lexemes().iter().map(|lexeme| {
        let (text, mut positions) = entry(lexeme);
        if only(lexeme.text) {
            for position in &mut positions {
                *position = Position::new(position.at().into(), weight);
            }
        }
        (text, positions)
    }))
}

/// The second document behind the first one.
fn concatenated(first: &Vector<'_>, second: &Vector<'_>) -> Result<Vec<u8>> {
    let all = first.lexemes().iter().flat_map(|lexeme| lexeme.positions());
    let end = all.map(|position| u32::from(position.at())).max().unwrap_or(0);
    let moved = second.lexemes().iter().map(|lexeme| {
        let mut positions: Vec<Position> = Vec::new();
        for position in lexeme.positions() {
            let at = Position::new(u32::from(position.at()) + end, position.weight());
            // Positions beyond the largest one all become that one, which the vector holds once.
            if positions.last().is_none_or(|last| last.at() < at.at()) {
                positions.push(at);
            }
        }
        (Cow::Borrowed(lexeme.text), positions)
    });
    vector::build(first.lexemes().iter().map(entry).chain(moved))
}

/// The texts of an array, none of which may be NULL or empty.
fn lexemes_of<'a>(array: ArrayRef<'a>) -> Result<Vec<&'a str>> {
    array
        .iter()
        .map(|value| match value {
            DatumRef::Text("") => {
                let message = "lexeme array may not contain empty strings";
                Err(Error::new(SqlState::ZERO_LENGTH_CHARACTER_STRING, message))
            }
            DatumRef::Text(text) => Ok(text),
            _ => {
                let message = "lexeme array may not contain nulls";
                Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message))
            }
        })
        .collect()
}

/// The texts of an array that are not NULL.
fn known_texts(array: ArrayRef<'_>) -> Vec<&str> {
    let texts = array.iter().filter_map(|value| match value {
        DatumRef::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// The document without some lexemes.
fn without(document: &Vector<'_>, gone: &[&str]) -> Result<Vec<u8>> {
    let kept = document.lexemes().iter().filter(|lexeme| !gone.contains(&lexeme.text));
    vector::build(kept.map(entry))
}

/// The document with positions of some weights only.
fn filtered(document: &Vector<'_>, weights: ArrayRef<'_>) -> Result<Vec<u8>> {
    let mut wanted = 0_u8;
    for value in weights.iter() {
        let DatumRef::Text(letter) = value else {
            let message = "weight array may not contain nulls";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        let weight = weight_of(letter).map_err(|_| {
            let message = format!("unrecognized weight: \"{letter}\"");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })?;
        wanted |= 1 << weight;
    }
    let lexemes = document.lexemes().iter().filter_map(|lexeme| {
        let positions = lexeme.positions().filter(|at| wanted >> at.weight() & 1 == 1);
        let positions: Vec<Position> = positions.collect();
        (!positions.is_empty()).then_some((Cow::Borrowed(lexeme.text), positions))
    });
    vector::build(lexemes)
}

/// Two queries as one, where there are two.
fn joined<'a>(
    left: Option<Node<'a>>,
    right: Option<Node<'a>>,
    join: impl FnOnce(Box<[Node<'a>; 2]>) -> Node<'a>,
) -> Result<Vec<u8>> {
    let node = match (left, right) {
        (Some(left), Some(right)) => Some(join(Box::new([left, right]))),
        (one, other) => one.or(other),
    };
    query::build(node.as_ref())
}

/// The part of a query that an index can find: nothing that is negated.
fn indexable(node: Node<'_>) -> Option<Node<'_>> {
    match node {
        Node::Not(_) | Node::Stop => None,
        Node::Word(_) => Some(node),
        Node::Or(pair) => {
            let [left, right] = pair.map(indexable);
            Some(Node::Or(Box::new([left?, right?])))
        }
        Node::And(pair) => {
            let [left, right] = pair.map(indexable);
            match (left, right) {
                (Some(left), Some(right)) => Some(Node::And(Box::new([left, right]))),
                (one, other) => one.or(other),
            }
        }
        Node::Phrase(pair, distance) => {
            let [left, right] = pair.map(indexable);
            match (left, right) {
                (Some(left), Some(right)) => Some(Node::Phrase(Box::new([left, right]), distance)),
                (one, other) => one.or(other),
            }
        }
    }
}

fn query_tree(query: Query<'_>) -> Result<String> {
    let mut out = String::new();
    if let Some(node) = query.0 {
        match indexable(node) {
            Some(node) => node.write(&mut out)?,
            None => out.push('T'),
        }
    }
    Ok(out)
}

/// True if a query has all words of another one.
fn has_words(query: &Query<'_>, part: &Query<'_>) -> bool {
    let words = |query: &Query<'_>| {
        let mut words = Vec::new();
        if let Some(node) = &query.0 {
            node.words(&mut words);
        }
        words.iter().map(|word| word.text.to_string()).collect::<std::collections::HashSet<_>>()
    };
    words(query).is_superset(&words(part))
}

fn bytes(held: Vec<u8>) -> Datum {
    Datum::bytea(held)
}
