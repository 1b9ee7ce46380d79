//! The completions that the shell offers at the cursor, by the place in the statement.
//!
//! ```text
//!   SELECT na| FROM person      name             columns of the tables in the statement, functions
//!   SELECT name FROM pe|        person           what can be read
//!   DROP TABLE |                dear person      tables
//!   CREATE MA|                  MATERIALIZED     the words of the grammar
//!   \d pe|                      person           what the command of the shell takes
//! ```
//!
//! The place follows from the grammar of the manual ([`super::help`]). Parentheses within an expression are
//! looked at alone: a query in them has the places of a query.

use std::collections::BTreeSet;

use super::help::grammar::{ENDS, Next, Slot, grammar, is_in};
use super::known::{Known, Relation, is_system};
use super::meta;
use super::token::{End, Token, parts, split_tokens, tokens};

/// The words with which an operand can begin.
const OPERANDS: [&str; 14] = [
    "ALL",
    "ARRAY",
    "CASE",
    "CAST",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "DISTINCT",
    "EXISTS",
    "FALSE",
    "INTERVAL",
    "NOT",
    "NULL",
    "TRUE",
    "ROW",
];

/// The words that may follow an operand.
const OPERATORS: [&str; 9] =
    ["AND", "BETWEEN", "COLLATE", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR"];

/// The columns that every table has in addition to its own.
const OF_THE_PAST: [&str; 3] = ["_system_from", "_system_to", "_version"];

/// Keywords that are no names, other than those that end an expression.
const NO_NAMES: &str =
    " ALL ANY ARRAY CASE CAST COLUMN CREATE DISTINCT ELSE END FALSE IN OR TABLE TO TRUE USER ";

/// A table of a statement: its name in parts, and its alias.
type InScope = (Vec<String>, Option<String>);

/// The statement at the cursor.
struct CompletionContext<'a> {
    known: &'a Known,
    /// The word at the cursor as far as it is written, without its qualifier.
    begun: &'a str,
    /// The parts in front of the word.
    qualifier: Vec<String>,
    scope: Vec<InScope>,
}

/// The candidates for the word that ends where `before` ends, and how many bytes of it they replace.
pub(super) fn complete(known: &Known, before: &str, after: &str) -> (usize, Vec<String>) {
    if before.trim_start().starts_with('\\') {
        return command(known, before.trim_start());
    }
    let (mut before_tokens, end) = split_tokens(before);
    if end == End::Inside {
        return (0, Vec::new());
    }
    let mut word = "";
    match before_tokens.last() {
        Some(Token::Name(name)) if before.ends_with(name) => {
            word = name;
            before_tokens.pop();
        }
        Some(Token::Value) if !before.ends_with(char::is_whitespace) => return (0, Vec::new()),
        _ => {}
    }
    if let Some(end) = before_tokens.iter().rposition(|token| token.is_mark(";")) {
        before_tokens.drain(..=end);
    }
    let mut whole = before_tokens.clone();
    whole.extend(tokens(after).into_iter().take_while(|token| !token.is_mark(";")));
    let (qualifier, begun) = qualified(word);
    let place = CompletionContext { known, begun, qualifier, scope: scope(&whole) };
    (begun.len(), place.candidates(&next(&before_tokens)))
}

/// The qualifier of a word, and the rest of it.
fn qualified(word: &str) -> (Vec<String>, &str) {
    let is_quoted = word.matches('"').count() % 2 == 1;
    let end = match is_quoted {
        true => word.rfind('"').unwrap_or(0),
        false => word.rfind('.').map_or(0, |dot| dot + 1),
    };
    let qualifier = word[..end].trim_end_matches('.');
    (if qualifier.is_empty() { Vec::new() } else { parts(qualifier) }, &word[end..])
}

/// The words that may follow the tokens of a statement.
fn next(tokens: &[Token<'_>]) -> Next {
    let mut next = grammar().next(tokens);
    let is_lost = next.words.is_empty() && next.slots.is_empty() && !next.operator && !next.end;
    if !next.inside && !is_lost {
        return next;
    }
    let inner = innermost(tokens);
    let begins_query = |token: &Token<'_>| {
        ["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE"]
            .iter()
            .any(|word| token.is_word(word))
    };
    match inner.first() {
        Some(first) if inner.len() < tokens.len() && begins_query(first) => {
            let more = grammar().next(inner);
            next.words.extend(more.words);
            next.slots.extend(more.slots);
            next.operator |= more.operator;
        }
        first => {
            if first.is_none() {
                next.words.extend(["SELECT", "WITH", "VALUES"]);
            }
            let of_relation = ["FROM", "JOIN", "INTO", "UPDATE", "TABLE"];
            match inner.last() {
                // A statement that the manual does not know: the last word tells what it may be.
                Some(last) if of_relation.iter().any(|word| last.is_word(word)) => {
                    next.slots.push(Slot::Relation);
                }
                last if last.is_none_or(Token::needs_operand) => next.slots.push(Slot::Expression),
                _ => next.operator = true,
            }
        }
    }
    next
}

/// The tokens behind the last parenthesis that is open.
fn innermost<'a, 'b>(tokens: &'b [Token<'a>]) -> &'b [Token<'a>] {
    let mut closed = 0;
    for (at, token) in tokens.iter().enumerate().rev() {
        if token.is_mark(")") {
            closed += 1;
        } else if token.is_mark("(") {
            if closed == 0 {
                return &tokens[at + 1..];
            }
            closed -= 1;
        }
    }
    tokens
}

/// The tables that a statement names.
fn scope(tokens: &[Token<'_>]) -> Vec<InScope> {
    const BEFORE: [&str; 13] = [
        "ANALYZE",
        "COPY",
        "FROM",
        "INTO",
        "JOIN",
        "LATERAL",
        "ON",
        "ONLY",
        "REFERENCES",
        "TABLE",
        "TRUNCATE",
        "UPDATE",
        "USING",
    ];
    let mut found: Vec<InScope> = Vec::new();
    let is_name = |token: Option<&Token<'_>>| {
        let name = token.and_then(Token::name);
        name.filter(|name| !is_in(ENDS, name)).map(parts)
    };
    let mut in_list = false;
    for (at, token) in tokens.iter().enumerate() {
        let begins = BEFORE.iter().any(|word| token.is_word(word));
        if begins {
            in_list = true;
        } else if token.word().is_some_and(|word| is_in(ENDS, word)) {
            in_list = false;
        }
        if !(begins || in_list && token.is_mark(",")) {
            continue;
        }
        let mut at = at + 1;
        while tokens
            .get(at)
            .is_some_and(|t| t.is_word("IF") || t.is_word("EXISTS") || t.is_word("ONLY"))
        {
            at += 1;
        }
        let Some(path) = is_name(tokens.get(at)) else { continue };
        let alias_at =
            if tokens.get(at + 1).is_some_and(|t| t.is_word("AS")) { at + 2 } else { at + 1 };
        let alias = is_name(tokens.get(alias_at)).and_then(|mut alias| alias.pop());
        found.push((path, alias));
    }
    found
}

impl CompletionContext<'_> {
    fn candidates(&self, next: &Next) -> Vec<String> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut slots = next.slots.clone();
        slots.dedup();
        for slot in &slots {
            self.of_slot(*slot, &mut names);
        }
        let mut words: BTreeSet<&str> = BTreeSet::new();
        if self.qualifier.is_empty() {
            words.extend(&next.words);
            if slots.contains(&Slot::Expression) {
                words.extend(OPERANDS);
            }
            if next.operator {
                words.extend(OPERATORS);
            }
        }
        let begun = self.begun.to_lowercase();
        let small = self.begun.starts_with(char::is_lowercase);
        let fits = words.into_iter().filter(|word| {
            word.starts_with(char::is_alphabetic) && word.to_lowercase().starts_with(&begun)
        });
        let words = fits.map(|word| if small { word.to_lowercase() } else { word.to_owned() });
        let mut all: Vec<String> = names.into_iter().collect();
        all.extend(words);
        all
    }

    /// Adds a name where the word at the cursor is the beginning of it.
    fn offer(&self, name: &str, out: &mut BTreeSet<String>) {
        match self.begun.strip_prefix('"') {
            Some(begun) if name.starts_with(begun) => {
                out.insert(format!("\"{name}\""));
            }
            None if name.to_lowercase().starts_with(&self.begun.to_lowercase()) => {
                out.insert(quoted(name));
            }
            _ => {}
        }
    }

    fn of_slot(&self, slot: Slot, out: &mut BTreeSet<String>) {
        match slot {
            Slot::Relation => self.relations("rpvmf", out),
            Slot::Table => self.relations("rp", out),
            Slot::View => self.relations("v", out),
            Slot::MaterializedView => self.relations("m", out),
            Slot::Index => self.relations("i", out),
            Slot::Sequence => self.relations("S", out),
            Slot::Column => self.columns(false, out),
            Slot::Expression => self.columns(true, out),
            Slot::Type | Slot::DataType => self.named(Slot::Type, out),
            Slot::Privilege => {
                for word in [
                    "SELECT",
                    "INSERT",
                    "UPDATE",
                    "DELETE",
                    "TRUNCATE",
                    "REFERENCES",
                    "TRIGGER",
                    "USAGE",
                    "CREATE",
                    "CONNECT",
                    "TEMPORARY",
                    "EXECUTE",
                ] {
                    if word.to_lowercase().starts_with(&self.begun.to_lowercase()) {
                        out.insert(word.to_owned());
                    }
                }
            }
            Slot::Query
                if self.begun.is_empty() || "select".starts_with(&self.begun.to_lowercase()) =>
            {
                out.insert("SELECT".to_owned());
            }
            // There are thousands.
            Slot::Function if self.begun.is_empty() => {}
            Slot::Name | Slot::Value | Slot::Operator | Slot::Query => {}
            other => self.named(other, out),
        }
    }

    fn named(&self, slot: Slot, out: &mut BTreeSet<String>) {
        if self.qualifier.is_empty() {
            // Settings have dots in their names, and types have blanks.
            for name in self.known.named(slot) {
                match slot {
                    Slot::Setting | Slot::Type => {
                        if name.to_lowercase().starts_with(&self.begun.to_lowercase()) {
                            out.insert(name.to_owned());
                        }
                    }
                    _ => self.offer(name, out),
                }
            }
        }
    }

    fn relations(&self, kinds: &str, out: &mut BTreeSet<String>) {
        let wanted = |relation: &&Relation| match &self.qualifier[..] {
            // The system's are offered to a person who begins to write one.
            [] => {
                relation.is_visible
                    && (!is_system(&relation.schema) || self.begun.starts_with("pg_"))
            }
            [.., schema] => relation.schema == *schema,
        };
        let of_kind = |relation: &&Relation| kinds.contains(relation.kind);
        for relation in self.known.relations.iter().filter(of_kind).filter(wanted) {
            self.offer(&relation.name, out);
        }
        if self.qualifier.is_empty() && !self.begun.is_empty() {
            self.schemas(out);
        }
    }

    fn schemas(&self, out: &mut BTreeSet<String>) {
        for schema in &self.known.schemas {
            self.offer(schema, out);
        }
    }

    /// The columns of the tables of the statement; in expressions functions and names of tables as well.
    fn columns(&self, in_expression: bool, out: &mut BTreeSet<String>) {
        if let Some(table) = self.qualifier.last() {
            let named = |(path, alias): &&InScope| match alias {
                Some(alias) => alias == table,
                None => path.last() == Some(table),
            };
            let path = self.scope.iter().find(named).map_or(&self.qualifier, |(path, _)| path);
            for column in self.known.columns(path) {
                self.offer(column, out);
            }
            return;
        }
        let mut columns: BTreeSet<&str> = BTreeSet::new();
        for (path, alias) in &self.scope {
            columns.extend(self.known.columns(path).iter().map(String::as_str));
            if in_expression && !self.known.columns(path).is_empty() {
                columns.extend(alias.as_deref().or(path.last().map(String::as_str)));
            }
        }
        if columns.is_empty() {
            columns = self.known.all_columns();
        }
        for column in columns {
            self.offer(column, out);
        }
        if in_expression && !self.begun.is_empty() {
            self.named(Slot::Function, out);
        }
        if self.begun.starts_with('_') {
            for column in OF_THE_PAST {
                self.offer(column, out);
            }
        }
    }
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    match plain && !is_in(ENDS, name) && !is_in(NO_NAMES, name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// The candidates in a command of the shell.
fn command(known: &Known, line: &str) -> (usize, Vec<String>) {
    let Some((name, argument)) = line.split_once(char::is_whitespace) else {
        let fits = meta::names().filter(|name| name.starts_with(line));
        return (line.len(), fits.map(str::to_owned).collect());
    };
    let argument = argument.trim_start();
    let word = argument.rsplit(char::is_whitespace).next().unwrap_or_default();
    match meta::takes(name) {
        meta::Takes::Words(words) => {
            let fits = words.iter().filter(|known| known.starts_with(argument));
            (argument.len(), fits.map(|word| (*word).to_owned()).collect())
        }
        meta::Takes::Help => {
            let begun = argument.to_uppercase();
            let topics = super::help::manual().topics.iter();
            let fits = topics.filter(|topic| topic.name.starts_with(&begun));
            (argument.len(), fits.map(|topic| topic.name.to_owned()).collect())
        }
        meta::Takes::Relations(kinds) => {
            let (qualifier, begun) = qualified(word);
            let place = CompletionContext { known, begun, qualifier, scope: Vec::new() };
            let mut names = BTreeSet::new();
            place.relations(kinds, &mut names);
            (begun.len(), names.into_iter().collect())
        }
        meta::Takes::Nothing | meta::Takes::File => (0, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        Known::of(&[
            ("person", &["id", "name", "née"]),
            ("Purchase", &["id", "customer", "cents"]),
            ("order", &["number"]),
        ])
    }

    /// The candidates at the `|`.
    fn at(text: &str) -> Vec<String> {
        let (before, after) = text.split_once('|').expect("a cursor");
        complete(&known(), before, after).1
    }

    #[track_caller]
    fn offers(text: &str, wanted: &[&str], unwanted: &[&str]) {
        let found = at(text);
        for word in wanted {
            assert!(found.iter().any(|found| found == word), "{text}: no {word} in {found:?}");
        }
        for word in unwanted {
            assert!(!found.iter().any(|found| found == word), "{text}: {word} in {found:?}");
        }
    }

    /// Each place offers what can stand there, and not what cannot.
    #[test]
    fn what_is_offered_depends_on_the_place() {
        offers("|", &["SELECT", "CREATE", "BEGIN", "WITH"], &["person", "FROM"]);
        offers("sel|", &["select"], &["SELECT"]);
        offers(
            "SELECT * FROM |",
            &["person", "\"Purchase\"", "\"order\""],
            &["name", "WHERE", "SELECT"],
        );
        offers("SELECT * FROM pe|", &["person"], &["\"Purchase\""]);
        offers("SELECT * FROM \"Pu|", &["\"Purchase\""], &["person"]);
        offers("SELECT * FROM public.pe|", &["person"], &[]);
        offers(
            "SELECT | FROM person",
            &["id", "name", "\"née\"", "person", "CASE"],
            &["cents", "WHERE"],
        );
        offers("SELECT n| FROM person", &["name", "not"], &["number", "id"]);
        offers("SELECT lo|", &["lower"], &[]);
        offers("SELECT * FROM person |", &["WHERE", "JOIN", "ORDER", "FOR"], &["name", "person"]);
        offers("SELECT * FROM person FOR |", &["SYSTEM_TIME", "UPDATE"], &["name"]);
        offers("SELECT * FROM person WHERE |", &["name", "NOT"], &["cents", "ORDER"]);
        offers("SELECT * FROM person WHERE name |", &["AND", "ORDER", "LIKE"], &["name"]);
        offers("SELECT * FROM person WHERE name = |", &["name"], &["ORDER", "AND"]);
        offers("SELECT p.| FROM person p", &["id", "name"], &["cents"]);
        offers(
            "SELECT * FROM person p JOIN \"Purchase\" b ON b.|",
            &["cents", "customer"],
            &["name"],
        );
        offers(
            "SELECT * FROM person WHERE id IN (SELECT | FROM \"Purchase\")",
            &["cents"],
            &["FROM"],
        );
        offers("SELECT * FROM person WHERE id IN (SELECT id FROM |", &["person"], &["name", "id"]);
        offers("SELECT lower(|) FROM person", &["name"], &["cents", "FROM"]);
        offers("SELECT left(name, 2) FROM |", &["person"], &["name"]);
        offers("select 1; delete from person w|", &["where"], &["WHERE", "name"]);
        offers("INSERT INTO person (|", &["name", "id"], &["VALUES"]);
        offers("UPDATE person SET |", &["name"], &["cents", "WHERE"]);
        offers("UPDATE person SET name = 'a' |", &["WHERE", "RETURNING"], &["SET"]);
        offers("DROP TABLE |", &["person", "IF"], &["CASCADE"]);
        offers("DROP TABLE person |", &["CASCADE"], &["person"]);
        offers("CREATE M|", &["MATERIALIZED"], &["TABLE", "person"]);
        offers("ALTER TABLE person |", &["ADD", "RENAME", "OWNER"], &["person", "WHERE"]);
        offers("ALTER TABLE person DROP COLUMN |", &["name"], &["cents"]);
        offers("ALTER TABLE person OWNER TO |", &["ada"], &["person"]);
        offers("SET |", &["work_mem", "LOCAL"], &["person"]);
        offers("EXPLAIN |", &["SELECT", "ANALYZE"], &["person"]);
        offers("EXPLAIN SELECT * FROM |", &["person"], &[]);
        offers("GRANT S|", &["SELECT"], &["person"]);
        offers("SELECT 'it|", &[], &["person", "IN"]);
        offers("SELECT _|", &["_system_from"], &[]);
        assert!(at("SELECT 'it is |").is_empty() && at("SELECT 12|").is_empty());
    }

    #[test]
    fn commands_of_the_shell_are_completed() {
        offers("\\d pe|", &["person"], &["\"Purchase\""]);
        offers("\\h create t|", &["CREATE TABLE", "CREATE TYPE"], &["CREATE VIEW"]);
        offers("\\x |", &["on", "off", "auto"], &[]);
        offers("\\ti|", &["\\timing"], &["\\dt"]);
        assert_eq!(complete(&known(), "\\d public.pe", "").0, 2);
    }
}
