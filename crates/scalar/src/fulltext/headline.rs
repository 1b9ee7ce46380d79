//! `ts_headline`: the part of a text that shows best why it fits a query.
//!
//! ```text
//!   ... the fat <b>rats</b> sat on a mat and ate a fat <b>cat</b> ...
//!           └────────── a cover: answers the query ───────────┘
//! ```
//!
//! A cover is a shortest part of the text that answers the query. One cover, or some of them, are made
//! longer or shorter until they have as many words as are wanted, and end at good words, which are not
//! short.

use lexeme::{Config, Kind, tokens};
use types::search::{Node, Word};
use types::{Error, Modifier, Result, SqlState, Type};

use super::matching::{Check, Places, Ternary, execute_places, holds, union};

/// How a headline is made.
struct Options {
    words_max: i32,
    words_min: i32,
    short_word: i32,
    fragments_max: i32,
    start: String,
    stop: String,
    delimiter: String,
    is_all: bool,
}

/// Longest mark around a word, in bytes.
const MARK_BYTES_MAX: usize = i16::MAX as usize;

/// Longer words are left out, as PostgreSQL does.
const WORD_BYTES_MAX: usize = 2_046;

#[cold]
fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// Reads `MaxWords = 20, StartSel = "<i>"`.
fn settings(text: &str) -> Result<Vec<(String, String)>> {
    let error = || {
        let message = format!("invalid parameter list format: \"{text}\"");
        Error::new(SqlState::SYNTAX_ERROR, message)
    };
    let quoted = |rest: &mut &str, quote: char| -> Result<String> {
        let mut value = String::new();
        let mut chars = rest[1..].char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                if chars.next_if(|(_, next)| *next == quote).is_none() {
                    *rest = &rest[at + 1 + c.len_utf8()..];
                    return Ok(value);
                }
            } else if c == '\\' && quote == '\'' {
                value.extend(chars.next().map(|(_, c)| c));
                continue;
            }
            value.push(c);
        }
        Err(error())
    };
    let bare = |rest: &mut &str, is_end: fn(char) -> bool| {
        let end = rest.find(is_end).unwrap_or(rest.len());
        let (value, after) = rest.split_at(end);
        *rest = after;
        value.to_owned()
    };
    let mut rest = text.trim_start_matches([' ', '\t', '\n', '\r', ',']);
    let mut list = Vec::new();
    while let Some(first) = rest.chars().next() {
        let name = match first {
            '"' => quoted(&mut rest, '"')?,
            c if c.is_alphabetic() || c == '_' => {
                bare(&mut rest, |c| c == '=' || c.is_whitespace()).to_lowercase()
            }
            _ => return Err(error()),
        };
        rest = rest.trim_start().strip_prefix('=').ok_or_else(error)?.trim_start();
        let value = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(&mut rest, quote)?,
            Some(_) => bare(&mut rest, |c| c == ',' || c.is_whitespace()),
            None => return Err(error()),
        };
        list.push((name, value));
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', ',']);
    }
    Ok(list)
}

impl Options {
    fn read(text: &str) -> Result<Self> {
        let mut options = Options {
            words_max: 35,
            words_min: 15,
            short_word: 3,
            fragments_max: 0,
            start: "<b>".to_owned(),
            stop: "</b>".to_owned(),
            delimiter: " ... ".to_owned(),
            is_all: false,
        };
        let number = |value: &str| -> Result<i32> {
            let style = types::Style::default();
            let context = types::Context::new(&style);
            match types::text::parse(value, Type::INT4, Modifier::NONE, &context)? {
                types::Datum::Int4(number) => Ok(number),
                _ => Ok(0),
            }
        };
        for (name, value) in settings(text)? {
            match name.to_lowercase().as_str() {
                "maxwords" => options.words_max = number(&value)?,
                "minwords" => options.words_min = number(&value)?,
                "shortword" => options.short_word = number(&value)?,
                "maxfragments" => options.fragments_max = number(&value)?,
                "startsel" => options.start = value,
                "stopsel" => options.stop = value,
                "fragmentdelimiter" => options.delimiter = value,
                "highlightall" => {
                    let value = value.to_lowercase();
                    let words = ["1", "on", "true", "t", "y", "yes"];
                    options.is_all = words.contains(&value.as_str());
                }
                _ => return Err(invalid(format!("unrecognized headline parameter: \"{name}\""))),
            }
        }
        if !options.is_all {
            if options.words_min >= options.words_max {
                return Err(invalid("MinWords must be less than MaxWords".to_owned()));
            }
            if options.words_min <= 0 {
                return Err(invalid("MinWords must be positive".to_owned()));
            }
            if options.short_word < 0 {
                return Err(invalid("ShortWord must be >= 0".to_owned()));
            }
            if options.fragments_max < 0 {
                return Err(invalid("MaxFragments must be >= 0".to_owned()));
            }
        }
        let marks = [
            (&options.start, "StartSel"),
            (&options.stop, "StopSel"),
            (&options.delimiter, "FragmentDelimiter"),
        ];
        for (mark, name) in marks {
            if mark.len() > MARK_BYTES_MAX {
                return Err(invalid(format!("value for \"{name}\" is too long")));
            }
        }
        Ok(options)
    }
}

/// A token of the text.
struct Piece<'a> {
    text: &'a str,
    kind: Kind,
    /// Its place among the lexemes of the text, if it is a lexeme of the query.
    at: u32,
    /// The words of the query that it is, by their numbers.
    words: Vec<usize>,
    is_selected: bool,
    is_blank: bool,
    is_skipped: bool,
    is_in: bool,
}

impl Piece<'_> {
    /// True for a token that is a word of its own.
    fn is_word(&self) -> bool {
        !matches!(self.kind, Kind::Blank | Kind::Tag) && !self.is_whole()
    }

    /// True for a token whose parts follow as tokens of their own.
    fn is_whole(&self) -> bool {
        matches!(
            self.kind,
            Kind::Url | Kind::HyphenNumWord | Kind::HyphenAsciiWord | Kind::HyphenWord
        )
    }

    fn is_wanted(&self) -> bool {
        !self.words.is_empty()
    }
}

/// From the first to the last piece.
type Part = (usize, usize);

struct Headline<'a, 'q> {
    pieces: Vec<Piece<'a>>,
    query: Option<&'q Node<'q>>,
    words: Vec<&'q Word<'q>>,
    /// Where each part of the query stands that must be there.
    locations: Vec<Places>,
    options: Options,
}

/// `ts_headline`
pub(super) fn headline(
    config: Config,
    text: &str,
    query: Option<&Node<'_>>,
    options: &str,
) -> Result<String> {
    let options = Options::read(options)?;
    let mut words = Vec::new();
    if let Some(query) = query {
        query.words(&mut words);
    }
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut pace = interrupt::Pace::new();
    for token in tokens(text).filter(|token| token.text.len() <= WORD_BYTES_MAX) {
        pace.step(512)?;
        let mut piece = Piece {
            text: token.text,
            kind: token.kind,
            at: 0,
            words: Vec::new(),
            is_selected: false,
            is_blank: false,
            is_skipped: false,
            is_in: false,
        };
        if let Some(dictionary) = config.dictionary(token.kind) {
            at += 1;
            if let Some(lexeme) = dictionary.lexeme(token.text) {
                piece.at = at.min(u32::from(types::search::vector::POSITION_MAX));
                let found = words.iter().enumerate().filter(|(_, word)| match word.is_prefix {
                    true => lexeme.starts_with(&*word.text),
                    false => lexeme == word.text,
                });
                piece.words = found.map(|(number, _)| number).collect();
            }
        }
        pieces.push(piece);
    }
    let mut headline = Headline { pieces, query, words, locations: Vec::new(), options };
    if let Some(query) = query {
        let all = (0, headline.pieces.len());
        let found = locations(query, &mut |word, places| headline.check(all, word, places));
        headline.locations = found.unwrap_or_default();
    }
    headline.choose();
    headline.write()
}

/// Where the parts of a query stand that must all be there; none if it does not hold.
fn locations(node: &Node<'_>, check: Check<'_>) -> Option<Vec<Places>> {
    match node {
        Node::Stop => None,
        Node::Not(operand) => match locations(operand, check) {
            None => Some(Vec::new()),
            Some(_) => None,
        },
        Node::And(pair) => {
            let mut all = locations(&pair[0], check)?;
            all.append(&mut locations(&pair[1], check)?);
            Some(all)
        }
        Node::Or(pair) => match (locations(&pair[0], check), locations(&pair[1], check)) {
            (None, other) => other,
            (one, None) => one,
            (Some(ones), Some(others)) if ones.is_empty() || others.is_empty() => {
                Some(if ones.is_empty() { others } else { ones })
            }
            // (a & b) | c is (a | c) & (b | c).
            (Some(ones), Some(others)) => {
                let pairs =
                    ones.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
                Some(pairs.map(|(one, other)| union(one, other)).collect())
            }
        },
        Node::Word(_) | Node::Phrase(..) => {
            let found = execute_places(node, check)?;
            match (found.is_negated, found.at.is_empty()) {
                (true, _) => Some(Vec::new()),
                (false, true) => None,
                (false, false) => Some(vec![found]),
            }
        }
    }
}

impl Headline<'_, '_> {
    /// Whether a word stands in a part of the text, up to the second piece, and where.
    fn check(&self, part: Part, word: &Word<'_>, places: Option<&mut Places>) -> Ternary {
        let same = |known: &&Word<'_>| std::ptr::eq::<Word<'_>>(*known, word);
        let Some(number) = self.words.iter().position(same) else {
            return Ternary::No;
        };
        let inside = self.pieces[part.0..part.1].iter();
        let mut found = inside.filter(|piece| piece.words.contains(&number)).map(|piece| piece.at);
        match places {
            None => found.next().is_some().into(),
            Some(places) => {
                places.at = found.collect();
                places.at.dedup();
                Ternary::from(!places.at.is_empty())
            }
        }
    }

    /// The next shortest part that answers the query, from a place of a lexeme on.
    fn cover(&self, from: &mut u32) -> Option<Part> {
        let query = self.query?;
        let mut at = *from;
        loop {
            let ends = self
                .locations
                .iter()
                .map(|places| places.at.iter().copied().find(|end| *end >= at));
            let end = ends.collect::<Option<Vec<u32>>>()?.into_iter().max()?;
            let starts = self.locations.iter().map(|places| {
                let starts =
                    places.at.iter().rev().map(|end| i64::from(*end) - i64::from(places.width));
                starts.into_iter().find(|start| *start <= i64::from(end)).unwrap_or(-1)
            });
            let start = starts.min()?.max(i64::from(at)) as u32;
            if start <= end {
                let wanted =
                    || self.pieces.iter().enumerate().filter(|(_, piece)| piece.is_wanted());
                let first = wanted().find(|(_, piece)| piece.at >= start);
                let last = wanted().take_while(|(_, piece)| piece.at <= end).last();
                if let (Some((first, _)), Some((last, _))) = (first, last)
                    && last >= first
                    && holds(query, false, &mut |word, places| {
                        self.check((first, last + 1), word, places)
                    })
                {
                    *from = start + 1;
                    return Some((first, last));
                }
            }
            at = start + 1;
        }
    }

    /// True for a piece that a headline should not end with.
    fn is_bad_end(&self, at: usize) -> bool {
        let piece = &self.pieces[at];
        let is_number = matches!(
            piece.kind,
            Kind::Scientific | Kind::Version | Kind::Decimal | Kind::SignedInt | Kind::UnsignedInt
        );
        let is_no_text = matches!(piece.kind, Kind::Protocol | Kind::Entity) || !piece.is_word();
        let is_short = piece.text.len() <= self.options.short_word as usize;
        (is_number || is_no_text || is_short) && !piece.is_wanted()
    }

    /// How many words, and how many words of the query, a piece is.
    fn count(&self, at: usize) -> (i32, i32) {
        let piece = &self.pieces[at];
        (i32::from(piece.is_word()), i32::from(piece.is_wanted()))
    }

    fn choose(&mut self) {
        if self.options.fragments_max > 0 {
            self.choose_fragments();
        } else if self.options.is_all {
            self.mark((0, self.pieces.len()));
        } else {
            let part = self.best_part();
            self.mark(part);
        }
    }

    /// Marks the pieces from the first one up to the second as those of the headline.
    fn mark(&mut self, (first, end): Part) {
        let is_all = self.options.is_all;
        for piece in &mut self.pieces[first..end] {
            piece.is_selected = piece.is_wanted();
            piece.is_blank |= !is_all && piece.kind == Kind::Tag;
            piece.is_skipped |= piece.is_whole();
            piece.is_in = true;
        }
    }

    /// The first words, where nothing answers the query: up to which piece.
    fn beginning(&self) -> usize {
        let mut words = 0;
        for at in 0..self.pieces.len() {
            if words >= self.options.words_min {
                return at;
            }
            words += self.count(at).0;
        }
        self.pieces.len()
    }

    /// The one part that shows the query best, up to the second piece.
    fn best_part(&self) -> Part {
        let mut best: Option<(Part, bool, i32)> = None;
        let mut from = 0;
        while let Some(cover) = self.cover(&mut from) {
            let (part, wanted) = self.fitted(cover);
            let has_cover = part.0 <= cover.0 && part.1 >= cover.1;
            let is_better = match best {
                None => true,
                Some((known, known_has, known_wanted)) => {
                    (has_cover, wanted) > (known_has, known_wanted)
                        || (has_cover, wanted) == (known_has, known_wanted)
                            && !self.is_bad_end(part.1)
                            && self.is_bad_end(known.1)
                }
            };
            if is_better {
                best = Some((part, has_cover, wanted));
            }
        }
        best.map_or((0, self.beginning()), |((first, last), ..)| (first, last + 1))
    }

    /// A cover that is made longer, or shorter, and how many words of the query it has.
    fn fitted(&self, (first, last): Part) -> (Part, i32) {
        let (least, most) = (self.options.words_min, self.options.words_max);
        let (mut words, mut wanted) = (0, 0);
        let (mut begin, mut end) = (first, first);
        let mut at = first;
        while at <= last && words < most {
            let (word, is_wanted) = self.count(at);
            (words, wanted, end) = (words + word, wanted + is_wanted, at);
            at += 1;
        }
        if words < most {
            at -= 1;
            while at < self.pieces.len() && words < most {
                if at > last {
                    let (word, is_wanted) = self.count(at);
                    (words, wanted) = (words + word, wanted + is_wanted);
                }
                end = at;
                if !self.is_bad_end(at) && words >= least {
                    break;
                }
                at += 1;
            }
            if words < least {
                begin = 0;
                for before in (0..first).rev() {
                    let (word, is_wanted) = self.count(before);
                    (words, wanted) = (words + word, wanted + is_wanted);
                    if words >= most || !self.is_bad_end(before) && words >= least {
                        begin = before;
                        break;
                    }
                }
            }
        } else {
            at = at.min(last);
            while words > least && self.is_bad_end(at) {
                let (word, is_wanted) = self.count(at);
                (words, wanted) = (words - word, wanted - is_wanted);
                let Some(before) = at.checked_sub(1) else { break };
                (at, end) = (before, before);
            }
        }
        ((begin, end), wanted)
    }

    /// The parts of a cover that have no more words than is wanted, and start and end with words of
    /// the query.
    fn fragments(&self, cover: Part, out: &mut Vec<Fragment>) {
        let most = self.options.words_max;
        let mut start = cover.0;
        while start <= cover.1 {
            let mut end = cover.1;
            start = (start..=end).find(|at| self.pieces[*at].is_wanted()).unwrap_or(end);
            let (mut words, mut wanted) = (0, 0);
            let mut at = start;
            while at <= end && words < most {
                let (word, is_wanted) = self.count(at);
                (words, wanted, at) = (words + word, wanted + is_wanted, at + 1);
            }
            if end > at {
                end = at;
                while end > start && !self.pieces[end].is_wanted() {
                    words -= self.count(end).0;
                    end -= 1;
                }
            }
            out.push(Fragment { part: (start, end), words, wanted, is_over: false });
            start = end + 1;
        }
    }

    fn choose_fragments(&mut self) {
        let mut all = Vec::new();
        let mut from = 0;
        while let Some(cover) = self.cover(&mut from) {
            self.fragments(cover, &mut all);
        }
        let mut is_any = false;
        for _ in 0..self.options.fragments_max {
            let left = all
                .iter()
                .enumerate()
                .filter(|(_, fragment)| !fragment.is_over && fragment.wanted > 0);
            let best = left.min_by_key(|(_, fragment)| (-fragment.wanted, fragment.words));
            let Some((best, _)) = best else { break };
            let (start, end) = self.stretched(&all[best]);
            self.mark((start, end + 1));
            is_any = true;
            all[best].is_over = true;
            for fragment in &mut all {
                let (first, last) = fragment.part;
                fragment.is_over |= first <= end && last >= start;
            }
        }
        if !is_any {
            let end = self.beginning();
            self.mark((0, end));
        }
    }

    /// A fragment with words before and after it.
    fn stretched(&self, fragment: &Fragment) -> Part {
        let (mut start, mut end) = fragment.part;
        let mut words = fragment.words;
        let most = self.options.words_max;
        if words >= most {
            return (start, end);
        }
        let (before_max, mut before) = ((most - words) / 2, 0);
        let mut at = start;
        while at > 0 && before < before_max && !self.pieces[at - 1].is_in {
            at -= 1;
            let word = self.count(at).0;
            (words, before) = (words + word, before + word);
        }
        while at < start && self.is_bad_end(at) {
            words -= self.count(at).0;
            at += 1;
        }
        start = at;
        let mut at = end;
        while at + 1 < self.pieces.len() && words < most && !self.pieces[at + 1].is_in {
            at += 1;
            words += self.count(at).0;
        }
        while at > end && self.is_bad_end(at) {
            at -= 1;
        }
        end = at;
        (start, end)
    }

    fn write(&self) -> Result<String> {
        let mut out = String::new();
        let (mut is_inside, mut is_any) = (false, false);
        for (at, piece) in self.pieces.iter().enumerate() {
            if !piece.is_in {
                is_inside = false;
                continue;
            }
            if !is_inside && is_any {
                out.push_str(&self.options.delimiter);
            }
            (is_inside, is_any) = (true, true);
            if piece.is_blank {
                out.push(' ');
            } else if !piece.is_skipped {
                let is_selected = |at: Option<usize>| {
                    at.and_then(|at| self.pieces.get(at)).is_some_and(|piece| piece.is_selected)
                };
                if piece.is_selected && !is_selected(at.checked_sub(1)) {
                    out.push_str(&self.options.start);
                }
                out.push_str(piece.text);
                if piece.is_selected && !is_selected(Some(at + 1)) {
                    out.push_str(&self.options.stop);
                }
            }
        }
        Ok(out)
    }
}

/// A part of a cover.
struct Fragment {
    part: Part,
    words: i32,
    wanted: i32,
    /// True if it is chosen, or overlaps with one that is.
    is_over: bool,
}
