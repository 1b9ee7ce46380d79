//! Commands of a session: `BEGIN`, `SET`, `PREPARE`, `FETCH`, `LISTEN` and the like.

use ::types::SqlState;

use super::ast::{
    Command, Direction, Discard, Modes, Name, Path, RowsOf, SetValue, Statement, TypeName,
};
use super::cursor::Parser;
use super::lexer::Token;
use crate::error::{Error, Result};

/// The modes of table locks.
const LOCK_MODES: [(&[&str], &str); 8] = [
    (&["access", "share"], "access share"),
    (&["row", "share"], "row share"),
    (&["row", "exclusive"], "row exclusive"),
    (&["share", "update", "exclusive"], "share update exclusive"),
    (&["share", "row", "exclusive"], "share row exclusive"),
    (&["share"], "share"),
    (&["exclusive"], "exclusive"),
    (&["access", "exclusive"], "access exclusive"),
];

/// The functions that change definitions, which a session runs as commands wherever they come from.
const COMMAND_FUNCTIONS: [&str; 9] = [
    "alter_columnar_table_set",
    "alter_columnar_table_reset",
    "colcompress_merge",
    "colcompress_repack",
    "rowcompress_repack",
    "alter_colcompress_table_set",
    "alter_colcompress_table_reset",
    "alter_rowcompress_table_set",
    "alter_rowcompress_table_reset",
];

impl Parser<'_> {
    /// A command of a session, where its first word is one of theirs.
    pub(super) fn session_command(&mut self) -> Result<Option<Command>> {
        let Some(word) = self.word(0).map(str::to_owned) else { return Ok(None) };
        Ok(Some(match word.as_str() {
            "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint"
            | "release" => self.transaction(&word)?,
            "set" => self.set()?,
            "reset" => self.reset()?,
            "alter" if self.word(1) == Some("system") => self.alter_system()?,
            "show" => self.show()?,
            "discard" => self.discard()?,
            "prepare" => self.prepare()?,
            "execute" => self.execute()?,
            "deallocate" => {
                self.skip(1);
                self.eat(&["prepare"]);
                Command::Deallocate(self.name_or_all()?)
            }
            "declare" => self.declare()?,
            "fetch" | "move" => self.fetch_rows(word == "move")?,
            "close" => {
                self.skip(1);
                Command::Close(self.name_or_all()?)
            }
            "copy" => self.copy()?,
            "listen" => {
                self.skip(1);
                Command::Listen(self.name()?)
            }
            "unlisten" => {
                self.skip(1);
                let all = self.eat_symbol("*") || self.eat_punct("*");
                Command::Unlisten(if all { None } else { Some(self.name()?) })
            }
            "notify" => self.notify()?,
            "lock" => self.lock_table()?,
            "vacuum" | "analyze" | "cluster" | "checkpoint" => self.maintain(&word)?,
            "do" => self.do_block()?,
            "call" => self.call_command(false)?,
            "load" => self.rest("LOAD")?,
            "import" => self.rest("IMPORT FOREIGN SCHEMA")?,
            "security" => self.rest("SECURITY LABEL")?,
            _ => return Ok(None),
        }))
    }

    /// True if `SELECT` calls a function that a session runs as a command, and nothing else.
    pub(super) fn selects_command(&self) -> bool {
        let is_command = |ahead| {
            let name = self.word(ahead).is_some_and(|word| COMMAND_FUNCTIONS.contains(&word));
            name && self.is_punct(ahead + 1, "(")
        };
        self.is(&["select"]) && (is_command(1) || self.is_punct(2, ".") && is_command(3))
    }

    /// `CALL name (arguments)`, or the same with `SELECT`.
    pub(super) fn call_command(&mut self, selects: bool) -> Result<Command> {
        self.skip(1);
        let name = self.path()?;
        let args = self.parens(|parser| {
            let named = matches!(parser.peek(0), Token::Word(_) | Token::Quoted(_))
                && (parser.is_punct(1, "=>") || parser.is_punct(1, ":="));
            let name = if named { Some(parser.label()?) } else { None };
            parser.skip(usize::from(named));
            Ok((name, parser.sql_expr()?))
        })?;
        Ok(Command::Call { name, args, selects })
    }

    /// Steps over what is left of a statement.
    fn skip_rest(&mut self) {
        while !self.is_end() && !self.is_punct(0, ";") {
            self.skip(1);
        }
    }

    fn rest(&mut self, tag: &'static str) -> Result<Command> {
        self.skip_rest();
        Ok(Command::Other(tag))
    }

    // --- transactions ----------------------------------------------------------------------------

    fn transaction(&mut self, word: &str) -> Result<Command> {
        self.skip(1);
        Ok(match word {
            "begin" => {
                self.transaction_word();
                Command::Begin { tag: "BEGIN", modes: self.modes(true)? }
            }
            "start" => {
                self.expect(&["transaction"])?;
                Command::Begin { tag: "START TRANSACTION", modes: self.modes(true)? }
            }
            "commit" if self.is(&["prepared"]) => self.two_phase("COMMIT PREPARED")?,
            "commit" | "end" => {
                self.transaction_word();
                Command::Commit { chain: self.chain()? }
            }
            "rollback" if self.is(&["prepared"]) => self.two_phase("ROLLBACK PREPARED")?,
            "rollback" | "abort" => {
                self.transaction_word();
                if word == "rollback" && self.eat(&["to"]) {
                    self.eat(&["savepoint"]);
                    return Ok(Command::RollbackTo(self.name()?));
                }
                Command::Rollback { chain: self.chain()? }
            }
            "savepoint" => Command::Savepoint(self.name()?),
            _ => {
                self.eat(&["savepoint"]);
                Command::Release(self.name()?)
            }
        })
    }

    fn two_phase(&mut self, words: &'static str) -> Result<Command> {
        self.skip(1);
        self.string_value()?;
        Ok(Command::TwoPhase(words))
    }

    fn transaction_word(&mut self) {
        if self.is_any(&["work", "transaction"]) {
            self.skip(1);
        }
    }

    fn chain(&mut self) -> Result<bool> {
        if !self.eat(&["and"]) {
            return Ok(false);
        }
        let no = self.eat(&["no"]);
        self.expect(&["chain"])?;
        Ok(!no)
    }

    /// The modes of a transaction; none only where that is `optional`.
    fn modes(&mut self, optional: bool) -> Result<Modes> {
        let mut modes = Modes::default();
        let mut first = true;
        loop {
            let comma = !first && self.eat_punct(",");
            if self.eat(&["isolation", "level"]) {
                modes.isolation = Some(match () {
                    () if self.eat(&["serializable"]) => "serializable",
                    () if self.eat(&["repeatable"]) => {
                        self.expect(&["read"])?;
                        "repeatable read"
                    }
                    () => {
                        self.expect(&["read"])?;
                        if self.eat(&["uncommitted"]) {
                            "read uncommitted"
                        } else {
                            self.expect(&["committed"])?;
                            "read committed"
                        }
                    }
                });
            } else if self.eat(&["read"]) {
                let only = self.eat(&["only"]);
                if !only {
                    self.expect(&["write"])?;
                }
                modes.read_only = Some(only);
            } else if self.eat(&["deferrable"]) {
                modes.deferrable = Some(true);
            } else if self.is(&["not"]) {
                self.expect(&["not", "deferrable"])?;
                modes.deferrable = Some(false);
            } else if comma || (first && !optional) {
                return Err(self.unexpected());
            } else {
                return Ok(modes);
            }
            first = false;
        }
    }

    // --- settings --------------------------------------------------------------------------------

    fn set(&mut self) -> Result<Command> {
        self.skip(1);
        if self.eat(&["transaction"]) {
            if self.eat(&["snapshot"]) {
                return Ok(Command::SetSnapshot(self.string_value()?));
            }
            return Ok(Command::SetTransaction(self.modes(false)?));
        }
        if self.eat(&["constraints"]) {
            let names = if self.eat(&["all"]) { Vec::new() } else { self.list(Self::path)? };
            let deferred = self.eat(&["deferred"]);
            if !deferred {
                self.expect(&["immediate"])?;
            }
            return Ok(Command::SetConstraints { names, deferred });
        }
        if self.eat(&["session", "characteristics"]) {
            self.expect(&["as", "transaction"])?;
            return Ok(Command::SetCharacteristics(self.modes(false)?));
        }
        let local = self.eat(&["local"]);
        if !local && self.is(&["session"]) && self.word(1) != Some("authorization") {
            self.skip(1);
        }
        let (name, values) = self.assigned_setting()?;
        Ok(Command::Set { local, name, values })
    }

    /// `name {= | TO} values`, and the older spellings of some settings.
    pub(super) fn assigned_setting(&mut self) -> Result<(String, Vec<SetValue>)> {
        let word = |text: &str| text.to_owned();
        if self.eat(&["time", "zone"]) {
            let values = match self.word(0) {
                Some("local" | "default") => {
                    self.skip(1);
                    Vec::new()
                }
                Some("interval") => {
                    self.skip(1);
                    let text = self.string_value()?;
                    let (_, _) = self.interval_fields()?;
                    vec![SetValue::Interval(text)]
                }
                _ => vec![self.set_value()?],
            };
            return Ok((word("timezone"), values));
        }
        let old = match () {
            () if self.eat(&["session", "authorization"]) => Some("session_authorization"),
            () if self.is(&["role"]) && !self.is_assignment(1) => {
                self.skip(1);
                Some("role")
            }
            () if self.is(&["names"]) && !self.is_assignment(1) => {
                self.skip(1);
                Some("client_encoding")
            }
            () if self.is(&["schema"]) && matches!(self.peek(1), Token::String(_)) => {
                self.skip(1);
                Some("search_path")
            }
            () if self.eat(&["xml", "option"]) => Some("xmloption"),
            () => None,
        };
        if let Some(name) = old {
            let default = self.eat(&["default"])
                || (name == "client_encoding" && (self.is_end() || self.is_punct(0, ";")));
            let values = if default { Vec::new() } else { vec![self.set_value()?] };
            return Ok((word(name), values));
        }
        let name = self.setting_name()?;
        if !self.eat(&["to"]) && !self.eat_symbol("=") {
            return Err(self.unexpected());
        }
        let values = if self.eat(&["default"]) { Vec::new() } else { self.list(Self::set_value)? };
        Ok((name, values))
    }

    fn is_assignment(&self, ahead: usize) -> bool {
        self.is_symbol(ahead, "=") || self.word(ahead) == Some("to")
    }

    /// The name of a setting: words with points between.
    pub(super) fn setting_name(&mut self) -> Result<String> {
        let path = self.path()?;
        let parts: Vec<&str> = path.parts.iter().map(|part| part.text.as_str()).collect();
        Ok(parts.join("."))
    }

    fn set_value(&mut self) -> Result<SetValue> {
        let negative = self.eat_symbol("-");
        if !negative {
            self.eat_symbol("+");
        }
        Ok(match self.peek(0).clone() {
            Token::Number(digits) => {
                self.skip(1);
                let sign = if negative { "-" } else { "" };
                SetValue::Number(format!("{sign}{digits}"))
            }
            _ if negative => return Err(self.unexpected()),
            Token::String(text) => {
                self.skip(1);
                SetValue::String(text.into_owned())
            }
            Token::Word(text) | Token::Quoted(text) => {
                self.skip(1);
                SetValue::Word(text.into_owned())
            }
            _ => return Err(self.unexpected()),
        })
    }

    fn reset(&mut self) -> Result<Command> {
        self.skip(1);
        Ok(Command::Reset(self.shown_setting()?))
    }

    fn alter_system(&mut self) -> Result<Command> {
        self.skip(2);
        if self.eat(&["set"]) {
            let (name, values) = self.assigned_setting()?;
            return Ok(Command::AlterSystem { name: Some(name), values });
        }
        self.expect(&["reset"])?;
        let name = if self.eat(&["all"]) { None } else { Some(self.setting_name()?) };
        Ok(Command::AlterSystem { name, values: Vec::new() })
    }

    fn show(&mut self) -> Result<Command> {
        self.skip(1);
        Ok(Command::Show(self.shown_setting()?))
    }

    fn shown_setting(&mut self) -> Result<Option<String>> {
        Ok(match () {
            () if self.eat(&["all"]) => None,
            () if self.eat(&["time", "zone"]) => Some("TimeZone".to_owned()),
            () if self.eat(&["transaction", "isolation", "level"]) => {
                Some("transaction_isolation".to_owned())
            }
            () if self.eat(&["session", "authorization"]) => {
                Some("session_authorization".to_owned())
            }
            () => Some(self.setting_name()?),
        })
    }

    fn discard(&mut self) -> Result<Command> {
        self.skip(1);
        let what = match self.word(0) {
            Some("all") => Discard::All,
            Some("plans") => Discard::Plans,
            Some("sequences") => Discard::Sequences,
            Some("temp" | "temporary") => Discard::Temp,
            _ => return Err(self.unexpected()),
        };
        self.skip(1);
        Ok(Command::Discard(what))
    }

    // --- prepared statements and cursors ---------------------------------------------------------

    fn prepare(&mut self) -> Result<Command> {
        self.skip(1);
        if self.eat(&["transaction"]) {
            self.string_value()?;
            return Ok(Command::TwoPhase("PREPARE TRANSACTION"));
        }
        let name = self.name()?;
        let types: Vec<TypeName> =
            if self.is_punct(0, "(") { self.parens(Self::type_name)? } else { Vec::new() };
        self.expect(&["as"])?;
        let start = self.start();
        let statement = Box::new(self.data_statement()?);
        let text = self.text[start..self.end()].to_owned();
        Ok(Command::Prepare { name, types, statement, text })
    }

    fn execute(&mut self) -> Result<Command> {
        self.skip(1);
        let name = self.name()?;
        let args = if self.is_punct(0, "(") { self.parens(Self::sql_expr)? } else { Vec::new() };
        Ok(Command::Execute { name, args })
    }

    /// Parses the rest of `AS EXECUTE`.
    pub(super) fn rows_of_execute(&mut self) -> Result<RowsOf> {
        let name = self.name()?;
        let args = if self.is_punct(0, "(") { self.parens(Self::sql_expr)? } else { Vec::new() };
        Ok(RowsOf::Execute { name, args })
    }

    fn name_or_all(&mut self) -> Result<Option<Name>> {
        if self.eat(&["all"]) { Ok(None) } else { self.name().map(Some) }
    }

    fn declare(&mut self) -> Result<Command> {
        self.skip(1);
        let name = self.name()?;
        let (mut binary, mut scroll) = (false, None);
        loop {
            match () {
                () if self.eat(&["binary"]) => binary = true,
                () if self.is_any(&["insensitive", "asensitive"]) => self.skip(1),
                () if self.eat(&["scroll"]) => scroll = Some(true),
                () if self.eat(&["no", "scroll"]) => scroll = Some(false),
                () => break,
            }
        }
        self.expect(&["cursor"])?;
        let hold = self.eat(&["with", "hold"]);
        if !hold {
            self.eat(&["without", "hold"]);
        }
        self.expect(&["for"])?;
        let start = self.start();
        let query = Box::new(self.query()?);
        let text = self.text[start..self.end()].to_owned();
        Ok(Command::Declare { name, binary, scroll, hold, query, text })
    }

    fn fetch_rows(&mut self, moves: bool) -> Result<Command> {
        self.skip(1);
        let direction = match self.word(0) {
            Some("next") => self.fixed(Direction::Forward(1)),
            Some("prior") => self.fixed(Direction::Backward(1)),
            Some("first") => self.fixed(Direction::Absolute(1)),
            Some("last") => self.fixed(Direction::Absolute(-1)),
            Some("all") => self.fixed(Direction::Forward(i64::MAX)),
            Some("absolute") => {
                self.skip(1);
                Direction::Absolute(self.signed()?)
            }
            Some("relative") => {
                self.skip(1);
                Direction::Relative(self.signed()?)
            }
            Some("forward") => {
                self.skip(1);
                Direction::Forward(self.fetch_count()?)
            }
            Some("backward") => {
                self.skip(1);
                Direction::Backward(self.fetch_count()?)
            }
            _ if self.is_signed() => Direction::Forward(self.signed()?),
            _ => Direction::Forward(1),
        };
        if self.is_any(&["from", "in"]) {
            self.skip(1);
        }
        Ok(Command::Fetch { cursor: self.name()?, direction, moves })
    }

    fn fixed(&mut self, direction: Direction) -> Direction {
        self.skip(1);
        direction
    }

    fn fetch_count(&mut self) -> Result<i64> {
        match () {
            () if self.eat(&["all"]) => Ok(i64::MAX),
            () if self.is_signed() => self.signed(),
            () => Ok(1),
        }
    }

    fn is_signed(&self) -> bool {
        self.is_symbol(0, "-") || self.is_symbol(0, "+") || matches!(self.peek(0), Token::Number(_))
    }

    /// An integer with or without a sign.
    pub(super) fn signed(&mut self) -> Result<i64> {
        let negative = self.eat_symbol("-");
        if !negative {
            self.eat_symbol("+");
        }
        let number = match self.peek(0) {
            Token::Number(digits) => digits.parse::<i64>().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected())?;
        self.skip(1);
        Ok(if negative { -number } else { number })
    }

    /// A string.
    pub(super) fn string_value(&mut self) -> Result<String> {
        let Token::String(text) = self.peek(0).clone() else { return Err(self.unexpected()) };
        self.skip(1);
        Ok(text.into_owned())
    }

    /// `DO [LANGUAGE name] text`, in any order.
    fn do_block(&mut self) -> Result<Command> {
        self.skip(1);
        let (mut language, mut body) = (None, None);
        loop {
            let at = self.at();
            if self.eat(&["language"]) {
                let name = match self.peek(0).clone() {
                    Token::String(text) => {
                        self.skip(1);
                        text.into_owned()
                    }
                    _ => self.label()?.text,
                };
                if language.replace(name).is_some() {
                    let message = "conflicting or redundant options";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
                }
            } else if let Token::String(text) = self.peek(0).clone() {
                self.skip(1);
                if body.replace((text.into_owned(), at)).is_some() {
                    let message = "conflicting or redundant options";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
                }
            } else if language.is_none() && body.is_none() {
                return Err(self.unexpected());
            } else {
                return Ok(Command::Do { language, body });
            }
        }
    }

    // --- messages, locks, maintenance ------------------------------------------------------------

    fn notify(&mut self) -> Result<Command> {
        self.skip(1);
        let channel = self.name()?;
        let payload = if self.eat_punct(",") { Some(self.string_value()?) } else { None };
        Ok(Command::Notify { channel, payload })
    }

    fn lock_table(&mut self) -> Result<Command> {
        self.skip(1);
        self.eat(&["table"]);
        let tables = self.list(Self::table_path)?;
        let mut mode = "access exclusive";
        if self.eat(&["in"]) {
            let found = LOCK_MODES
                .iter()
                .find(|(words, _)| self.is(words) && self.word(words.len()) == Some("mode"));
            let Some((words, name)) = found else { return Err(self.unexpected()) };
            self.skip(words.len() + 1);
            mode = name;
        }
        let nowait = self.eat(&["nowait"]);
        Ok(Command::Lock { tables, mode, nowait })
    }

    /// The name of a table, after `ONLY` and before `*`, which change nothing.
    pub(super) fn table_path(&mut self) -> Result<Path> {
        self.table_alone().map(|(path, _)| path)
    }

    /// The name of a table, and whether `ONLY` stands before it: its partitions are not meant then.
    pub(super) fn table_alone(&mut self) -> Result<(Path, bool)> {
        let only = self.eat(&["only"]);
        let path = self.path()?;
        self.eat_symbol("*");
        Ok((path, only))
    }

    fn maintain(&mut self, word: &str) -> Result<Command> {
        self.skip(1);
        let tag = match word {
            "vacuum" => "VACUUM",
            "analyze" => "ANALYZE",
            "cluster" => "CLUSTER",
            _ => "CHECKPOINT",
        };
        let mut tables = Vec::new();
        let mut analyzes = word == "analyze";
        if self.is_punct(0, "(") {
            while !self.is_end() && !self.eat_punct(")") {
                if self.eat(&["analyze"]) {
                    analyzes |= !self.is_any(&["false", "off"]);
                } else {
                    self.skip(1);
                }
            }
        }
        while self.is_any(&["full", "freeze", "verbose", "analyze", "concurrently"]) {
            analyzes |= self.is_any(&["analyze"]);
            self.skip(1);
        }
        if self.is_name() && word != "checkpoint" {
            tables = self.list(|parser| {
                let path = parser.table_path()?;
                if parser.is_punct(0, "(") {
                    parser.parens(Self::name)?;
                }
                Ok(path)
            })?;
            if word == "cluster" && self.eat(&["using"]) {
                self.name()?;
            }
        }
        Ok(Command::Maintain { tag, analyzes: analyzes && word != "cluster", tables })
    }
}

impl From<Command> for Statement {
    fn from(command: Command) -> Self {
        Statement::Command(Box::new(command))
    }
}
