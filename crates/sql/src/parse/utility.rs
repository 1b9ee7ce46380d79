//! Statements by their first words, and those that are not queries: `EXPLAIN`, `CREATE VIEW`, and
//! the commands that `sqlparser` reads.

use sqlparser::dialect::PostgreSqlDialect;
use types::SqlState;

use super::ast::Statement;
use super::cursor::Parser;
use super::lexer::Token;
use crate::error::{At, Error, Result};

/// The words that a statement may begin with which `sqlparser` reads.
const COMMANDS: [&str; 42] = [
    "abort",
    "alter",
    "analyze",
    "begin",
    "call",
    "checkpoint",
    "close",
    "cluster",
    "comment",
    "commit",
    "copy",
    "create",
    "deallocate",
    "declare",
    "discard",
    "do",
    "drop",
    "end",
    "execute",
    "fetch",
    "grant",
    "import",
    "listen",
    "load",
    "lock",
    "move",
    "notify",
    "prepare",
    "reassign",
    "refresh",
    "reindex",
    "release",
    "reset",
    "revoke",
    "rollback",
    "savepoint",
    "security",
    "set",
    "show",
    "start",
    "truncate",
    "vacuum",
];

impl Parser<'_> {
    /// A statement.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        if self.is(&["delete", "history", "from"]) && !self.is_punct(3, ".") {
            return self.delete_history();
        }
        match self.word(0) {
            Some("explain") => self.explain(),
            Some("erase") => self.erase(),
            Some("create") if self.is_view() => self.create_view(),
            Some(
                "insert" | "update" | "delete" | "merge" | "select" | "values" | "table" | "with",
            ) => self.data_statement(),
            Some("unlisten") => self.command(),
            Some(word) if COMMANDS.contains(&word) => self.command(),
            _ if self.is_punct(0, "(") => self.data_statement(),
            _ => Err(self.unexpected()),
        }
    }

    fn explain(&mut self) -> Result<Statement> {
        self.skip(1);
        let mut options = Vec::new();
        if self.is_punct(0, "(") && !self.is_query_start_at(1) && !self.is_punct(1, "(") {
            options = self.parens(|parser| {
                let name = parser.label()?.text;
                let value = match parser.peek(0) {
                    Token::Word(value)
                    | Token::Quoted(value)
                    | Token::String(value)
                    | Token::Number(value) => Some(value.clone().into_owned()),
                    _ => None,
                };
                if value.is_some() {
                    parser.skip(1);
                }
                Ok((name, value))
            })?;
        } else {
            for word in ["analyze", "verbose"] {
                if self.eat(&[word]) {
                    options.push((word.to_owned(), None));
                }
            }
        }
        let statement = Box::new(self.statement()?);
        Ok(Statement::Explain { options, statement })
    }

    fn is_view(&self) -> bool {
        self.is(&["create", "view"]) || self.is(&["create", "or", "replace", "view"])
    }

    fn create_view(&mut self) -> Result<Statement> {
        let replace = self.is(&["create", "or"]);
        self.skip(if replace { 4 } else { 2 });
        let name = self.path()?;
        let columns = if self.is_punct(0, "(") { self.parens(Self::name)? } else { Vec::new() };
        self.expect(&["as"])?;
        let start = self.start();
        let query = Box::new(self.query()?);
        let text = self.text[start..self.end()].to_owned();
        Ok(Statement::CreateView { name, columns, replace, query, text })
    }

    /// Hands the text up to the next semicolon to `sqlparser`.
    fn command(&mut self) -> Result<Statement> {
        let start = self.start();
        while !self.is_end() && !self.is_punct(0, ";") {
            self.skip(1);
        }
        let text = &self.text[start..self.end()];
        let parsed = sqlparser::parser::Parser::new(&PostgreSqlDialect {})
            .with_recursion_limit(super::DEPTH_MAX)
            .try_with_sql(text)
            .and_then(|mut parser| {
                let statement = parser.parse_statement()?;
                let end = parser.peek_token();
                if end.token == sqlparser::tokenizer::Token::EOF {
                    return Ok(statement);
                }
                parser.expected("end of statement", end)
            });
        match parsed {
            Ok(statement) => Ok(Statement::Utility(Box::new(statement))),
            Err(error) => Err(command_error(&error, text, start)),
        }
    }
}

/// The error of a command as PostgreSQL would word it: about the token where reading stopped.
fn command_error(error: &sqlparser::parser::ParserError, text: &str, start: usize) -> Error {
    use sqlparser::parser::ParserError;
    let message = match error {
        ParserError::RecursionLimitExceeded => {
            return Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
        }
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
    };
    let end = Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input");
    let Some(offset) = place(message, text) else {
        return end.at(At::offset(start + text.len()));
    };
    let Ok(tokens) = super::lexer::tokens(&text[offset..]) else {
        return end.at(At::offset(start + offset));
    };
    let near = &text[offset + tokens[0].start..offset + tokens[0].end];
    if near.is_empty() {
        return end.at(At::offset(start + text.len()));
    }
    Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{near}\""))
        .at(At::offset(start + offset))
}

/// The offset that a message names as `Line: n, Column: m`.
fn place(message: &str, text: &str) -> Option<usize> {
    let (_, place) = message.rsplit_once("Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    let line: usize = line.trim().parse().ok()?;
    let column: usize = column.trim().parse().ok()?;
    let line_start = match line {
        1 => 0,
        _ => text.match_indices('\n').nth(line - 2)?.0 + 1,
    };
    let rest = &text[line_start..];
    Some(line_start + rest.char_indices().nth(column - 1).map_or(rest.len(), |(at, _)| at))
}
