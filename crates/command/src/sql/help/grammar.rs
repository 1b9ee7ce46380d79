//! The syntax of the manual as an automaton, and the words that may follow the tokens of an unfinished
//! statement.
//!
//! ```text
//!   DROP TABLE [IF EXISTS] table [, ...]
//!
//!   Word DROP ── Word TABLE ── Fork ── Word IF ── Word EXISTS ──┐
//!                               └──────────────────────────────── Slot Table ── Fork ── End
//!                                                                     └── Mark , ──┘
//! ```
//!
//! The automaton is in many states at the same time, because names and expressions can look alike. An
//! expression takes tokens until a word that cannot be part of one; what is in its parentheses is looked at by
//! the caller.

use std::sync::LazyLock;

use super::{Manual, manual};
use crate::sql::token::Token;

/// A place in the syntax where a name or a value stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sql) enum Slot {
    /// Anything that can be read: a table, a view, a materialized view.
    Relation,
    Table,
    View,
    MaterializedView,
    Index,
    Sequence,
    Column,
    Schema,
    Role,
    Type,
    Database,
    Extension,
    Collation,
    Policy,
    Setting,
    Function,
    AccessMethod,
    /// A privilege that can be granted: a key word, or a role.
    Privilege,
    /// A name that is new, or that the shell does not know.
    Name,
    /// A string, a number or a word.
    Value,
    /// An operator.
    Operator,
    Expression,
    DataType,
    /// A query in parentheses.
    Query,
}

/// The places by their names in the manual.
const SLOTS: [(&str, Slot); 41] = [
    ("relation", Slot::Relation),
    ("relation_column", Slot::Relation),
    ("table", Slot::Table),
    ("view", Slot::View),
    ("materialized_view", Slot::MaterializedView),
    ("index", Slot::Index),
    ("sequence", Slot::Sequence),
    ("column", Slot::Column),
    ("schema", Slot::Schema),
    ("role", Slot::Role),
    ("type", Slot::Type),
    ("domain", Slot::Type),
    ("database", Slot::Database),
    ("extension", Slot::Extension),
    ("collation", Slot::Collation),
    ("policy", Slot::Policy),
    ("setting", Slot::Setting),
    ("function", Slot::Function),
    ("access_method", Slot::AccessMethod),
    ("privilege", Slot::Privilege),
    ("new_name", Slot::Name),
    ("name", Slot::Name),
    ("alias", Slot::Name),
    ("label", Slot::Name),
    ("constraint", Slot::Name),
    ("cursor", Slot::Name),
    ("prepared", Slot::Name),
    ("savepoint", Slot::Name),
    ("channel", Slot::Name),
    ("operator_class", Slot::Name),
    ("option", Slot::Value),
    ("version", Slot::Value),
    ("string", Slot::Value),
    ("number", Slot::Value),
    ("value", Slot::Value),
    ("operator", Slot::Operator),
    ("expression", Slot::Expression),
    ("condition", Slot::Expression),
    ("data_type", Slot::DataType),
    ("query_text", Slot::Query),
    ("window", Slot::Query),
];

/// Words that end an expression, and that are no names.
pub(in crate::sql) const ENDS: &str = " ALTER AND AS ASC BY CASCADE CHECK COLLATE CONSTRAINT CROSS DEFAULT DESC DO EXCEPT FETCH FOR \
    FOREIGN FROM FULL GRANT GROUP HAVING INNER INTERSECT INTO JOIN LEFT LIMIT NATURAL NOT NULL OFFSET ON ORDER PRIMARY \
    REFERENCES RESTRICT RETURNING RIGHT SELECT SET TABLESAMPLE THEN UNION UNIQUE USING VALUES WHEN WHERE WINDOW WITH ";

/// Words of [`ENDS`] that can also be part of an expression.
const IN_EXPRESSIONS: &str = " AND NOT NULL COLLATE THEN WHEN ";

/// Words after which an operand must follow.
pub(in crate::sql) const OPERATORS: &str = " AND OR NOT IS IN LIKE ILIKE BETWEEN SIMILAR TO CASE WHEN THEN ELSE ANY SOME ALL DISTINCT ESCAPE SYMMETRIC ";

pub(in crate::sql) fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(word))
}

/// The tokens before and after one.
type AdjacentTokens<'a> = (Option<&'a Token<'a>>, Option<&'a Token<'a>>);

/// True if a word of [`ENDS`] does not end the expression that it stands in.
fn goes_on(token: &Token<'_>, (before, after): AdjacentTokens<'_>) -> bool {
    token.word().is_some_and(|word| is_in(IN_EXPRESSIONS, word))
        || token.is_word("FROM") && before.is_some_and(|before| before.is_word("DISTINCT"))
        // The functions of these names.
        || (token.is_word("LEFT") || token.is_word("RIGHT"))
            && after.is_some_and(|after| after.is_mark("("))
}

/// A part of the syntax.
#[derive(Clone, Debug)]
enum Form {
    Word(&'static str),
    Mark(&'static str),
    Slot(Slot),
    /// Another statement.
    Statement,
    All(Vec<Form>),
    OneOf(Vec<Form>),
    Maybe(Box<Form>),
    /// Once or more, with a comma between if it is true.
    Many(Box<Form>, bool),
}

/// A state of the automaton.
#[derive(Debug)]
enum Node {
    Word(&'static str, usize),
    Mark(&'static str, usize),
    Slot(Slot, usize),
    Fork(Vec<usize>),
    End,
}

/// Where the automaton stands: a node, and in an expression how far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    node: usize,
    /// `None` if no token of the place has been read; else the number of open parentheses in it.
    open: Option<usize>,
}

/// The words that may come next.
#[derive(Clone, Debug, Default)]
pub(in crate::sql) struct Next {
    pub(in crate::sql) words: Vec<&'static str>,
    pub(in crate::sql) slots: Vec<Slot>,
    /// True within an expression behind an operand: an operator may follow.
    pub(in crate::sql) operator: bool,
    /// True if the cursor is in parentheses of an expression.
    pub(in crate::sql) inside: bool,
    /// True if the statement may end here.
    pub(in crate::sql) end: bool,
}

/// All commands as one automaton.
pub(in crate::sql) struct Grammar {
    nodes: Vec<Node>,
    start: usize,
}

/// The grammar of the manual.
pub(in crate::sql) fn grammar() -> &'static Grammar {
    static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| Grammar::of(manual()));
    &GRAMMAR
}

/// The words of a line of syntax in small letters.
pub(super) fn words(line: &'static str) -> impl Iterator<Item = &'static str> {
    symbols(line).filter(|symbol| symbol.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// The symbols of a line of syntax.
fn symbols(line: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = line.trim_start();
    std::iter::from_fn(move || {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match rest.chars().next()? {
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            '.' => 3,
            '=' if rest.starts_with("=>") => 2,
            _ => 1,
        };
        let (symbol, more) = rest.split_at(length);
        rest = more.trim_start();
        Some(symbol)
    })
}

/// Reads syntax.
struct Reader<'a> {
    manual: &'a Manual,
    symbols: Vec<&'static str>,
    at: usize,
    /// Names that are neither rules nor places.
    unknown: Vec<&'static str>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<&'static str> {
        let symbol = self.symbols.get(self.at).copied();
        self.at += 1;
        symbol
    }

    fn peek(&self, ahead: usize) -> &'static str {
        self.symbols.get(self.at + ahead).copied().unwrap_or_default()
    }

    /// Alternatives up to a closing bracket, which is taken.
    fn alternatives(&mut self) -> Form {
        let mut all = vec![Vec::new()];
        while let Some(symbol) = self.next() {
            let form = match symbol {
                "]" | "}" => break,
                "|" => {
                    all.push(Vec::new());
                    continue;
                }
                "[" if self.peek(0) == "," && self.peek(1) == "..." => {
                    self.at += 3;
                    let last = all.last_mut().and_then(Vec::pop);
                    Form::Many(Box::new(last.unwrap_or(Form::All(Vec::new()))), true)
                }
                "[" => Form::Maybe(Box::new(self.alternatives())),
                "{" => self.alternatives(),
                "..." => {
                    let last = all.last_mut().and_then(Vec::pop);
                    Form::Many(Box::new(last.unwrap_or(Form::All(Vec::new()))), false)
                }
                "statement" => Form::Statement,
                word if word.starts_with(|c: char| c.is_ascii_uppercase()) => Form::Word(word),
                word if word.starts_with(|c: char| c.is_ascii_lowercase()) => self.named(word),
                mark => Form::Mark(mark),
            };
            if let Some(last) = all.last_mut() {
                last.push(form);
            }
        }
        match all.len() {
            1 => Form::All(all.remove(0)),
            _ => Form::OneOf(all.into_iter().map(Form::All).collect()),
        }
    }

    fn named(&mut self, name: &'static str) -> Form {
        if let Some((_, slot)) = SLOTS.iter().find(|(known, _)| *known == name) {
            return Form::Slot(*slot);
        }
        match self.manual.rule(name) {
            Some(syntax) => {
                let mut reader = Reader {
                    manual: self.manual,
                    symbols: syntax.iter().flat_map(|line| symbols(line)).collect(),
                    at: 0,
                    unknown: Vec::new(),
                };
                let form = reader.alternatives();
                self.unknown.append(&mut reader.unknown);
                form
            }
            None => {
                self.unknown.push(name);
                Form::Slot(Slot::Name)
            }
        }
    }
}

/// The syntax of a command: each line that does not begin with a space begins another form of it.
fn forms(manual: &Manual, syntax: &[&'static str]) -> (Vec<Form>, Vec<&'static str>) {
    let (mut forms, mut unknown) = (Vec::new(), Vec::new());
    let starts = (0..syntax.len()).filter(|line| !syntax[*line].starts_with(' '));
    for start in starts {
        let more = syntax[start + 1..].iter().take_while(|line| line.starts_with(' ')).count();
        let lines = &syntax[start..=start + more];
        let symbols = lines.iter().flat_map(|line| symbols(line)).collect();
        let mut reader = Reader { manual, symbols, at: 0, unknown: Vec::new() };
        forms.push(reader.alternatives());
        unknown.append(&mut reader.unknown);
    }
    (forms, unknown)
}

impl Grammar {
    fn of(manual: &Manual) -> Grammar {
        let mut grammar = Grammar { nodes: vec![Node::Fork(Vec::new()), Node::End], start: 0 };
        let mut starts = Vec::new();
        for topic in &manual.topics {
            for form in forms(manual, &topic.syntax).0 {
                starts.push(grammar.compile(&form, 1));
            }
        }
        grammar.nodes[0] = Node::Fork(starts);
        grammar
    }

    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The node at which `form` begins, behind which `next` comes.
    fn compile(&mut self, form: &Form, next: usize) -> usize {
        match form {
            Form::Word(word) => self.push(Node::Word(word, next)),
            Form::Mark(mark) => self.push(Node::Mark(mark, next)),
            Form::Slot(slot) => self.push(Node::Slot(*slot, next)),
            // A statement within another is the last part of it.
            Form::Statement => self.start,
            Form::All(parts) => {
                parts.iter().rev().fold(next, |next, part| self.compile(part, next))
            }
            Form::OneOf(ways) => {
                let starts = ways.iter().map(|way| self.compile(way, next)).collect();
                self.push(Node::Fork(starts))
            }
            Form::Maybe(form) => {
                let start = self.compile(form, next);
                self.push(Node::Fork(vec![start, next]))
            }
            Form::Many(form, has_comma) => {
                let fork = self.push(Node::Fork(Vec::new()));
                let start = self.compile(form, fork);
                let again = if *has_comma { self.push(Node::Mark(",", start)) } else { start };
                self.nodes[fork] = Node::Fork(vec![again, next]);
                start
            }
        }
    }

    /// Adds the state of a node, and those that follow without a token.
    fn enter(&self, node: usize, states: &mut Vec<State>) {
        let state = State { node, open: None };
        if states.contains(&state) {
            return;
        }
        states.push(state);
        if let Node::Fork(ways) = &self.nodes[node] {
            for way in ways {
                self.enter(*way, states);
            }
        }
    }

    /// The states behind `tokens`, beginning with those of a statement.
    fn run(&self, tokens: &[Token<'_>]) -> Vec<State> {
        let mut states = Vec::new();
        self.enter(self.start, &mut states);
        for (at, token) in tokens.iter().enumerate() {
            let adjacent = (at.checked_sub(1).map(|at| &tokens[at]), tokens.get(at + 1));
            let mut after = Vec::new();
            for state in &states {
                self.step(*state, token, adjacent, &mut after);
            }
            states = after;
        }
        states
    }

    fn step(
        &self,
        state: State,
        token: &Token<'_>,
        adjacent: AdjacentTokens<'_>,
        out: &mut Vec<State>,
    ) {
        match &self.nodes[state.node] {
            Node::Word(word, next) if token.is_word(word) => self.enter(*next, out),
            Node::Mark(mark, next) if token.is_mark(mark) => self.enter(*next, out),
            Node::Slot(slot, next) => self.step_slot((*slot, *next), state, token, adjacent, out),
            _ => {}
        }
    }

    fn step_slot(
        &self,
        (slot, next): (Slot, usize),
        state: State,
        token: &Token<'_>,
        adjacent: AdjacentTokens<'_>,
        out: &mut Vec<State>,
    ) {
        match slot {
            Slot::Expression | Slot::DataType | Slot::Query => {}
            Slot::Value | Slot::Privilege if token.is_value() => return self.enter(next, out),
            Slot::Value if token.is_mark("-") || token.is_mark("+") => return out.push(state),
            Slot::Operator if matches!(token, Token::Mark(_)) => return self.enter(next, out),
            Slot::Privilege | Slot::Value | Slot::Operator => return,
            _ if token.name().is_some_and(|word| !is_in(ENDS, word)) => {
                return self.enter(next, out);
            }
            _ => return,
        }
        let open = state.open.unwrap_or(0);
        let opens = token.is_mark("(") || token.is_mark("[") || token.is_word("CASE");
        let closes = token.is_mark(")") || token.is_mark("]") || token.is_word("END");
        let mut go = |open| {
            let state = State { node: state.node, open: Some(open) };
            if !out.contains(&state) {
                out.push(state);
            }
        };
        match () {
            () if opens => return go(open + 1),
            () if closes && open == 0 => return,
            () if closes && open > 1 => return go(open - 1),
            () if closes => go(0),
            () if open > 0 => return go(open),
            () if slot == Slot::Query => go(0),
            () if token.is_mark(",") || token.is_mark(";") => return,
            () if slot == Slot::DataType && token.is_value() => {
                if token.name().is_some_and(|word| is_in(ENDS, word) && !is_in(" WITH ", word)) {
                    return;
                }
                go(0);
            }
            () if slot == Slot::DataType => return,
            () => {
                let ends = token.word().is_some_and(|word| is_in(ENDS, word));
                if ends && !goes_on(token, adjacent) {
                    return;
                }
                go(0);
                if token.needs_operand() {
                    return;
                }
            }
        }
        self.enter(next, out);
    }

    /// The words that may follow `tokens`, with which a statement begins.
    pub(in crate::sql) fn next(&self, tokens: &[Token<'_>]) -> Next {
        let mut next = Next::default();
        let needs_operand = tokens.last().is_none_or(Token::needs_operand);
        for state in self.run(tokens) {
            match &self.nodes[state.node] {
                Node::Word(word, _) if !next.words.contains(word) => next.words.push(word),
                Node::Slot(slot, _) => match state.open {
                    None if !next.slots.contains(slot) => next.slots.push(*slot),
                    Some(0) if *slot == Slot::Expression && needs_operand => {
                        next.slots.push(Slot::Expression);
                    }
                    Some(0) if *slot == Slot::Expression => next.operator = true,
                    Some(1..) => next.inside = true,
                    _ => {}
                },
                Node::End => next.end = true,
                _ => {}
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::token::tokens;

    /// A name that is misspelt in the manual would be taken for one that a person chooses.
    #[test]
    fn every_name_in_the_manual_is_a_rule_or_a_place() {
        let manual = manual();
        for topic in &manual.topics {
            let (_, unknown) = forms(manual, &topic.syntax);
            assert!(unknown.is_empty(), "{}: {unknown:?}", topic.name);
        }
    }

    #[test]
    fn examples_of_the_manual_have_the_syntax_that_it_shows() {
        for topic in &manual().topics {
            let next = grammar().next(&tokens(topic.example));
            assert!(next.end, "{}: {next:?}", topic.example);
        }
    }
}
