//! Blocks: labels, declarations, statements and handlers.

use ::types::{SqlState, Type};

use super::Reader;
use super::ast::{Block, Condition, Handlers, ItemKind, Line, VariableType};
use crate::error::{Error, Result};
use crate::parse::lexer::Token;

/// The words that end a list of statements.
const ENDS: [&str; 6] = ["end", "exception", "else", "elsif", "elseif", "when"];

impl Reader<'_> {
    /// `<<label>>`, where it comes next.
    pub(super) fn label(&mut self) -> Result<Option<String>> {
        if !self.parser.eat_symbol("<<") {
            return Ok(None);
        }
        let (name, _) = self.any_name()?;
        if !self.parser.eat_symbol(">>") {
            return Err(self.parser.unexpected());
        }
        Ok(Some(name))
    }

    /// A block with its label, up to its `END`.
    pub(super) fn block(&mut self) -> Result<Block> {
        let label = self.label()?;
        self.block_of(label)
    }

    pub(super) fn block_of(&mut self, label: Option<String>) -> Result<Block> {
        let outside = self.seen;
        self.open_level(label.clone(), ItemKind::Block);
        self.loops.push((label.clone(), false));
        let variables = self.declarations()?;
        self.parser.expect(&["begin"])?;
        let body = self.deeper(Self::lines)?;
        let handlers = if self.parser.is(&["exception"]) { Some(self.handlers()?) } else { None };
        self.parser.expect(&["end"])?;
        self.end_label(label.as_deref(), "block's")?;
        self.loops.pop();
        self.seen = outside;
        Ok(Block { label, variables, body, handlers })
    }

    /// The label that may follow an `END`.
    pub(super) fn end_label(&mut self, label: Option<&str>, of: &str) -> Result<()> {
        if self.parser.is_punct(0, ";") || self.parser.is_end() {
            return Ok(());
        }
        let (name, at) = self.any_name()?;
        let message = match label {
            None => format!("end label \"{name}\" specified for unlabeled block"),
            Some(label) if label != name => {
                format!("end label \"{name}\" differs from {of} label \"{label}\"")
            }
            Some(_) => return Ok(()),
        };
        Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at))
    }

    /// Statements, up to a word that ends them.
    pub(super) fn lines(&mut self) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        while !self.parser.is_end() && !self.parser.is_any(&ENDS) {
            let number = self.line();
            let step = self.step()?;
            lines.push(Line { number, step });
        }
        Ok(lines)
    }

    fn handlers(&mut self) -> Result<Handlers> {
        let line = self.line();
        self.parser.skip(1);
        let state = self.declare("sqlstate", VariableType::Fixed(Type::TEXT), line);
        let message = self.declare("sqlerrm", VariableType::Fixed(Type::TEXT), line);
        for number in [state, message] {
            self.variables[number].constant = true;
        }
        let mut arms = Vec::new();
        while self.parser.eat(&["when"]) {
            let mut conditions = Vec::new();
            loop {
                conditions.extend(self.condition()?);
                if !self.parser.eat(&["or"]) {
                    break;
                }
            }
            self.parser.expect(&["then"])?;
            arms.push((conditions, self.deeper(Self::lines)?));
        }
        if arms.is_empty() {
            return Err(self.parser.unexpected());
        }
        Ok(Handlers { state, message, arms })
    }

    fn condition(&mut self) -> Result<Vec<Condition>> {
        let line = self.line();
        if self.parser.eat(&["sqlstate"]) {
            return Ok(vec![Condition::State(self.state_literal()?)]);
        }
        let (name, _) = self.any_name()?;
        if name == "others" {
            return Ok(vec![Condition::Others]);
        }
        self.states_of(&name, line).map(|states| states.into_iter().map(Condition::State).collect())
    }

    /// The codes that a condition's name stands for.
    pub(super) fn states_of(&self, name: &str, line: u32) -> Result<Vec<SqlState>> {
        let states: Vec<SqlState> = SqlState::from_condition(name).collect();
        if states.is_empty() {
            let message = format!("unrecognized exception condition \"{name}\"");
            let error = Error::new(SqlState::UNDEFINED_OBJECT, message);
            return Err(self.about_line(error, line));
        }
        Ok(states)
    }

    /// The code behind `SQLSTATE`.
    pub(super) fn state_literal(&mut self) -> Result<SqlState> {
        let at = self.parser.at();
        let Token::String(text) = self.parser.peek(0).clone() else {
            return Err(self.parser.unexpected());
        };
        let Some(state) = SqlState::from_code(&text) else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code").at(at));
        };
        self.parser.skip(1);
        Ok(state)
    }
}
