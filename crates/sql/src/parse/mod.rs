//! Text to statements.
//!
//! ```text
//!   "select 1; update t set a = 2"          lexer     tokens, comments left out
//!                  │                        cursor    looking and taking, syntax errors
//!                  v                        expr      expressions, by precedence
//!   [Parsed { Query,  "select 1" },         special   CASE, EXTRACT, windows ...
//!    Parsed { Update, "update t ..." }]     types     names of types
//!                                           query     SELECT, WITH, UNION ...
//!                                           source    FROM, joins, moments
//!                                           dml       INSERT, UPDATE, DELETE, MERGE
//!                                           define    CREATE, ALTER, DROP, GRANT
//!                                           command   BEGIN, SET, PREPARE, FETCH, COPY
//!                                           plpgsql   the blocks of DO
//! ```
//!
//! The grammar is PostgreSQL's rule for rule, because what is valid, how it nests, what names a
//! column and where an error points all follow from it, and because tables have a past here, which
//! no other grammar has words for.

pub mod ast;
mod command;
mod copy;
mod cursor;
mod define;
mod dml;
mod expr;
mod json;
mod keywords;
mod lexer;
pub mod normal;
pub mod plpgsql;
mod query;
mod source;
mod special;
pub mod template;
mod types;
mod utility;
pub mod visit;

pub use cursor::{CHAIN_MAX, DEPTH_MAX, Parser};
pub use lexer::{NAME_BYTES_MAX, name_len};
pub use source::file_reader;

/// The comment behind the `ON` of a join for which `USING` or `NATURAL` was written. The catalog keeps such
/// a join with its condition, which stays right when a column is renamed.
pub const WAS_USING: &str = "/*USING*/";

use ::types::SqlState;

use crate::error::{Error, Result};
use ast::{Expr, Statement, TypeName};

/// The longest text that is read, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 << 20;

/// A statement and its text.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed<'a> {
    /// The statement. Its places count from the beginning of the whole text.
    pub statement: Statement,
    /// Its part of the text, without the semicolon.
    pub text: &'a str,
}

/// The statements of `text`, which semicolons part. Empty ones are left out.
///
/// # Errors
/// `42601` for what is no SQL, `54001` and `54000` for what is too deep or too long.
pub fn statements(text: &str) -> Result<Vec<Parsed<'_>>> {
    let mut parser = open(text)?;
    let mut found = Vec::new();
    loop {
        while parser.eat_punct(";") {}
        if parser.is_end() {
            return Ok(found);
        }
        let start = parser.start();
        let statement = parser.statement()?;
        let statement = query::made_of_into(statement, &text[start..parser.end()]);
        found.push(Parsed { statement, text: &text[start..parser.end()] });
        if !parser.is_end() && !parser.is_punct(0, ";") {
            return Err(parser.unexpected());
        }
    }
}

/// The expression that `text` is, such as a stored default or check.
///
/// # Errors
/// As [`statements`].
pub fn expression(text: &str) -> Result<Expr> {
    let mut parser = open(text)?;
    let expr = parser.expr()?;
    if parser.is_end() { Ok(expr) } else { Err(parser.unexpected()) }
}

/// The type that `text` names, as in `'numeric(10,2)[]'::regtype`.
///
/// # Errors
/// As [`statements`].
pub fn type_name(text: &str) -> Result<TypeName> {
    let mut parser = open(text)?;
    let ty = parser.type_name()?;
    if parser.is_end() { Ok(ty) } else { Err(parser.unexpected()) }
}

fn open(text: &str) -> Result<Parser<'_>> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("statement is longer than {TEXT_BYTES_MAX} bytes"),
        ));
    }
    Parser::new(text)
}
