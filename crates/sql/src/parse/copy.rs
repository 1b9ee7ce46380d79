//! `COPY`, with the options of today and those of before 9.0.

use super::ast::{Command, Copy, CopyEnd, CopyValue, CopyWhat, Statement};
use super::cursor::Parser;
use super::lexer::Token;
use crate::error::{At, Result};

impl Parser<'_> {
    pub(super) fn copy(&mut self) -> Result<Command> {
        self.skip(1);
        let mut options = Vec::new();
        let at = self.at();
        if self.eat(&["binary"]) {
            options.push(("format".to_owned(), CopyValue::Text("binary".to_owned()), at));
        }
        let what = self.copied()?;
        let from = match &what {
            CopyWhat::Table(..) if self.eat(&["from"]) => true,
            _ => {
                self.expect(&["to"])?;
                false
            }
        };
        let end = match () {
            () if self.is_any(&["stdin", "stdout"]) => {
                self.skip(1);
                CopyEnd::Client
            }
            () if self.eat(&["program"]) => CopyEnd::Program(self.string_value()?),
            () => CopyEnd::File(self.string_value()?),
        };
        let at = self.at();
        if self.is(&["delimiters"]) || self.is(&["using", "delimiters"]) {
            self.eat(&["using"]);
            self.skip(1);
            let value = CopyValue::Text(self.string_value()?);
            options.push(("delimiter".to_owned(), value, at));
        }
        self.eat(&["with"]);
        if self.is_punct(0, "(") {
            options.extend(self.parens(Self::copy_option)?);
        } else {
            while let Some(option) = self.old_copy_option()? {
                options.push(option);
            }
        }
        let filter = match from && self.eat(&["where"]) {
            true => Some(self.sql_expr()?),
            false => None,
        };
        Ok(Command::Copy(Box::new(Copy { what, from, end, options, filter })))
    }

    fn copied(&mut self) -> Result<CopyWhat> {
        if self.eat_punct("(") {
            let start = self.start();
            let statement: Statement = self.data_statement()?;
            let text = self.text[start..self.end()].to_owned();
            self.expect_punct(")")?;
            return Ok(CopyWhat::Statement(Box::new(statement), text));
        }
        let table = self.path()?;
        let columns = if self.is_punct(0, "(") { self.parens(Self::name)? } else { Vec::new() };
        Ok(CopyWhat::Table(table, columns))
    }

    fn copy_option(&mut self) -> Result<(String, CopyValue, At)> {
        let at = self.at();
        let name = self.label()?.text;
        let value = match self.peek(0).clone() {
            Token::Word(text) | Token::Quoted(text) | Token::String(text) => {
                self.skip(1);
                CopyValue::Text(text.into_owned())
            }
            Token::Number(_) => CopyValue::Text(self.signed()?.to_string()),
            _ if self.is_symbol(0, "-") || self.is_symbol(0, "+") => {
                CopyValue::Text(self.signed()?.to_string())
            }
            _ if self.eat_symbol("*") => CopyValue::All,
            _ if self.is_punct(0, "(") => CopyValue::Names(self.parens(Self::label)?),
            _ => CopyValue::None,
        };
        Ok((name, value, at))
    }

    fn old_copy_option(&mut self) -> Result<Option<(String, CopyValue, At)>> {
        let at = self.at();
        let text = |text: &str| CopyValue::Text(text.to_owned());
        let (name, value) = match self.word(0) {
            Some("binary") => ("format", text("binary")),
            Some("csv") => ("format", text("csv")),
            Some("header") => ("header", CopyValue::None),
            Some("freeze") => ("freeze", CopyValue::None),
            Some(word @ ("delimiter" | "null" | "quote" | "escape" | "encoding")) => {
                let name = match word {
                    "delimiter" => "delimiter",
                    "null" => "null",
                    "quote" => "quote",
                    "escape" => "escape",
                    _ => "encoding",
                };
                self.skip(1);
                self.eat(&["as"]);
                return Ok(Some((name.to_owned(), CopyValue::Text(self.string_value()?), at)));
            }
            Some("force") => {
                let name = match self.word(1) {
                    Some("quote") => "force_quote",
                    Some("null") => "force_null",
                    Some("not") if self.word(2) == Some("null") => {
                        self.skip(1);
                        "force_not_null"
                    }
                    _ => return Err(self.unexpected()),
                };
                self.skip(2);
                let value = match self.eat_symbol("*") {
                    true => CopyValue::All,
                    false => CopyValue::Names(self.list(Self::label)?),
                };
                return Ok(Some((name.to_owned(), value, at)));
            }
            _ => return Ok(None),
        };
        self.skip(1);
        Ok(Some((name.to_owned(), value, at)))
    }
}
