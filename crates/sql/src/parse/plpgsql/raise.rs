//! `RAISE`, `ASSERT` and `GET DIAGNOSTICS`.

use ::types::SqlState;

use super::Reader;
use super::ast::{Diagnostic, FragmentKind, Level, Raise, RaiseOption, Step};
use crate::error::{Error, Result};
use crate::parse::lexer::Token;

impl Reader<'_> {
    pub(super) fn raise(&mut self) -> Result<Step> {
        let line = self.line();
        self.parser.skip(1);
        let mut raise = Raise {
            level: Level::Exception,
            again: false,
            condition: None,
            format: None,
            values: Vec::new(),
            options: Vec::new(),
        };
        if self.parser.eat_punct(";") {
            raise.again = true;
            return Ok(Step::Raise(Box::new(raise)));
        }
        let level = match self.parser.word(0) {
            Some("debug") => Some(Level::Debug),
            Some("log") => Some(Level::Log),
            Some("info") => Some(Level::Info),
            Some("notice") => Some(Level::Notice),
            Some("warning") => Some(Level::Warning),
            Some("exception") => Some(Level::Exception),
            _ => None,
        };
        if let Some(level) = level {
            self.parser.skip(1);
            raise.level = level;
        }
        if self.parser.is_punct(0, ";") {
            return Err(self.parser.unexpected());
        }
        match self.parser.peek(0).clone() {
            Token::String(format) => {
                self.parser.skip(1);
                while self.parser.eat_punct(",") {
                    raise.values.push(self.one_of_list(&["using"])?);
                }
                self.check_format(&format, raise.values.len(), line)?;
                raise.format = Some(format.into_owned());
            }
            _ if self.parser.is(&["using"]) => {}
            _ if self.parser.eat(&["sqlstate"]) => {
                let state = self.state_literal()?;
                raise.condition = Some((state, state.code().to_owned()));
            }
            _ => {
                let (name, _) = self.any_name()?;
                let state = self.states_of(&name, line)?[0];
                raise.condition = Some((state, name));
            }
        }
        if self.parser.eat(&["using"]) {
            loop {
                raise.options.push(self.raise_option()?);
                if !self.parser.eat_punct(",") {
                    break;
                }
            }
        }
        self.expect_end()?;
        Ok(Step::Raise(Box::new(raise)))
    }

    /// Fails if a format has more or fewer places than there are values.
    fn check_format(&self, format: &str, values: usize, line: u32) -> Result<()> {
        let places = format.replace("%%", "").matches('%').count();
        let which = match places.cmp(&values) {
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => "many",
            std::cmp::Ordering::Greater => "few",
        };
        let message = format!("too {which} parameters specified for RAISE");
        Err(self.about_line(Error::new(SqlState::SYNTAX_ERROR, message), line))
    }

    fn raise_option(&mut self) -> Result<(RaiseOption, super::Fragment)> {
        let option = match self.parser.word(0) {
            Some("errcode") => RaiseOption::State,
            Some("message") => RaiseOption::Message,
            Some("detail") => RaiseOption::Detail,
            Some("hint") => RaiseOption::Hint,
            Some("column") => RaiseOption::Column,
            Some("constraint") => RaiseOption::Constraint,
            Some("datatype") => RaiseOption::Type,
            Some("table") => RaiseOption::Table,
            Some("schema") => RaiseOption::Schema,
            _ => return Err(self.near("unrecognized RAISE statement option")),
        };
        self.parser.skip(1);
        if !self.parser.eat_symbol("=") && !self.parser.eat_punct(":=") {
            return Err(self.near("syntax error, expected \"=\""));
        }
        Ok((option, self.one_of_list(&[])?))
    }

    pub(super) fn assert(&mut self) -> Result<Step> {
        self.parser.skip(1);
        let condition = Box::new(self.one_of_list(&[])?);
        let mut message = None;
        if self.parser.eat_punct(",") {
            message = Some(Box::new(self.fragment(FragmentKind::Expression, &[], ";")?));
        }
        self.expect_end()?;
        Ok(Step::Assert(condition, message))
    }

    pub(super) fn diagnostics(&mut self) -> Result<Step> {
        self.parser.skip(1);
        let stacked = self.parser.eat(&["stacked"]);
        if !stacked {
            self.parser.eat(&["current"]);
        }
        self.parser.expect(&["diagnostics"])?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if !self.parser.eat_symbol("=") && !self.parser.eat_punct(":=") {
                return Err(self.parser.unexpected());
            }
            let at = self.parser.at();
            let (item, of_error) = match self.parser.word(0) {
                Some("row_count") => (Diagnostic::RowCount, false),
                Some("pg_context") => (Diagnostic::Context, false),
                Some("pg_routine_oid") => (Diagnostic::Routine, false),
                Some("returned_sqlstate") => (Diagnostic::State, true),
                Some("message_text") => (Diagnostic::Message, true),
                Some("pg_exception_detail") => (Diagnostic::Detail, true),
                Some("pg_exception_hint") => (Diagnostic::Hint, true),
                Some("pg_exception_context") => (Diagnostic::ErrorContext, true),
                Some("column_name") => (Diagnostic::Column, true),
                Some("constraint_name") => (Diagnostic::Constraint, true),
                Some("pg_datatype_name") => (Diagnostic::Type, true),
                Some("table_name") => (Diagnostic::Table, true),
                Some("schema_name") => (Diagnostic::Schema, true),
                _ => return Err(self.near("unrecognized GET DIAGNOSTICS item")),
            };
            if of_error != stacked {
                let word = self.parser.word(0).unwrap_or_default().to_uppercase();
                let which = if stacked { "STACKED" } else { "CURRENT" };
                let message =
                    format!("diagnostics item {word} is not allowed in GET {which} DIAGNOSTICS");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
            }
            self.parser.skip(1);
            items.push((target, item));
            if !self.parser.eat_punct(",") {
                break;
            }
        }
        self.expect_end()?;
        Ok(Step::Diagnostics(stacked, items))
    }
}
