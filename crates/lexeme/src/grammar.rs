//! The rules of the parser, read from `grammar.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::token::Kind;

/// A state of the parser: its place among all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State(usize);

/// The test of a rule on the next character, or on the state of the parser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    /// The text is over.
    End,
    Any,
    Is(char),
    AsciiLetter,
    Letter,
    Digit,
    HexDigit,
    Alnum,
    NotAlnum,
    Space,
    Special,
    UrlChar,
    /// The text is part of a script or a style.
    Ignored,
    /// A host was wanted and is over now.
    StopHost,
    /// A host follows, which is read.
    HostAhead,
    /// The path of a URL follows, which is read.
    PathAhead,
}

/// The effect of a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// `> state`: takes the character.
    To(State),
    /// `! state`: the same, and there is no way back to the last choice.
    Settle(State),
    /// `? state`: the same, and comes back to the next rule where that leads nowhere.
    Try(State),
    /// `back`: returns to the last choice.
    Back,
    /// `restart state`: reads the token anew.
    Restart(State),
    /// `stay state`: goes on without taking the character.
    Stay(State),
    /// `= kind state`: the token is over, and the next one starts in the state.
    Accept(Kind, State),
    /// `reread kind state`: the same, and the next one starts where this one did.
    AcceptAndReread { kind: Kind, state: State, wants_host: bool },
}

/// A rule of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) test: Test,
    pub(crate) then: Move,
    /// True if the token so far may be the tag of a script.
    pub(crate) sees_tag: bool,
}

/// All rules.
pub(crate) struct Grammar {
    rules: Vec<Vec<Rule>>,
    /// Where a token usually starts.
    pub(crate) start: State,
    /// Where the path of a URL starts.
    pub(crate) path: State,
}

impl Grammar {
    /// The one grammar.
    pub(crate) fn get() -> &'static Grammar {
        static GRAMMAR: LazyLock<Grammar> =
            LazyLock::new(|| read(include_str!("grammar.txt")).expect("a grammar"));
        &GRAMMAR
    }

    pub(crate) fn rules(&self, state: State) -> &[Rule] {
        &self.rules[state.0]
    }
}

/// The lines without comments and without those that are empty.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn read(text: &str) -> Option<Grammar> {
    let names = lines(text).filter(|line| !line.starts_with(' '));
    let states: HashMap<&str, State> =
        names.enumerate().map(|(at, name)| (name, State(at))).collect();
    let mut rules: Vec<Vec<Rule>> = Vec::new();
    for line in lines(text) {
        match line.strip_prefix(' ') {
            None => rules.push(Vec::new()),
            Some(line) => rules.last_mut()?.push(rule(line.trim(), &states)?),
        }
    }
    Some(Grammar { rules, start: *states.get("start")?, path: *states.get("url-path-first")? })
}

fn rule(line: &str, states: &HashMap<&str, State>) -> Option<Rule> {
    let mut words = line.split_whitespace();
    let test = match words.next()? {
        "end" => Test::End,
        "any" => Test::Any,
        "a-z" => Test::AsciiLetter,
        "letter" => Test::Letter,
        "0-9" => Test::Digit,
        "hex" => Test::HexDigit,
        "alnum" => Test::Alnum,
        "other" => Test::NotAlnum,
        "space" => Test::Space,
        "special" => Test::Special,
        "url-char" => Test::UrlChar,
        "ignored" => Test::Ignored,
        "stop-host" => Test::StopHost,
        "host" => Test::HostAhead,
        "path" => Test::PathAhead,
        quoted => Test::Is(quoted.strip_prefix('\'')?.strip_suffix('\'')?.parse().ok()?),
    };
    let action = words.next()?;
    let rest: Vec<&str> = words.collect();
    let state = |at: usize| states.get(rest.get(at)?).copied();
    let kind = || {
        let name = rest.first()?;
        Kind::ALL.iter().copied().find(|kind| kind.name() == *name)
    };
    let then = match action {
        ">" => Move::To(state(0)?),
        "!" => Move::Settle(state(0)?),
        "?" => Move::Try(state(0)?),
        "back" => Move::Back,
        "restart" => Move::Restart(state(0)?),
        "stay" => Move::Stay(state(0)?),
        "=" => Move::Accept(kind()?, state(1)?),
        "reread" => {
            let wants_host = rest.get(2) == Some(&"wants-host");
            Move::AcceptAndReread { kind: kind()?, state: state(1)?, wants_host }
        }
        _ => return None,
    };
    Some(Rule { test, then, sees_tag: rest.last() == Some(&"tag?") })
}
