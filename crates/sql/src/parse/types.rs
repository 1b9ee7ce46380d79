//! The names of types, with the standard's spellings turned into catalog names.
//!
//! ```text
//!   double precision        pg_catalog.float8
//!   character varying(10)[] pg_catalog.varchar, modifier 10, one dimension
//!   interval day to second  pg_catalog.interval, fields DAY..SECOND
//! ```

use types::SqlState;

use super::ast::{Expr, ExprKind, Path, TypeName};
use super::cursor::Parser;
use super::lexer::Token;
use crate::error::{At, Error, Result};

/// The bit of a field in the mask that an interval's modifier has.
fn field_bit(word: &str) -> Option<i32> {
    Some(match word {
        "month" => 1 << 1,
        "year" => 1 << 2,
        "day" => 1 << 3,
        "hour" => 1 << 10,
        "minute" => 1 << 11,
        "second" => 1 << 12,
        _ => return None,
    })
}

/// The ranges that `INTERVAL a TO b` may name, as masks.
const RANGES: [(&str, &str, i32); 7] = [
    ("year", "month", 0x6),
    ("day", "hour", 0x408),
    ("day", "minute", 0xc08),
    ("day", "second", 0x1c08),
    ("hour", "minute", 0xc00),
    ("hour", "second", 0x1c00),
    ("minute", "second", 0x1800),
];

impl Parser<'_> {
    /// A type with its modifiers and array bounds.
    pub(super) fn type_name(&mut self) -> Result<TypeName> {
        let set = self.eat(&["setof"]);
        let mut ty = self.element_type()?;
        ty.set = set;
        if self.eat(&["array"]) {
            ty.dimensions = 1;
            if self.eat_punct("[") {
                self.bound()?;
            }
        } else {
            while self.eat_punct("[") {
                self.bound()?;
                ty.dimensions = ty.dimensions.saturating_add(1);
            }
        }
        Ok(ty)
    }

    /// `n]` or `]`: the bounds of arrays are written for the reader only.
    fn bound(&mut self) -> Result<()> {
        if let Token::Number(_) = self.peek(0) {
            self.skip(1);
        }
        self.expect_punct("]")
    }

    /// True if the next word begins one of the standard's own type names.
    pub(super) fn is_standard_type(&self) -> bool {
        self.is_any(&[
            "int",
            "integer",
            "smallint",
            "bigint",
            "real",
            "float",
            "double",
            "decimal",
            "dec",
            "numeric",
            "boolean",
            "bit",
            "character",
            "char",
            "varchar",
            "national",
            "nchar",
            "timestamp",
            "time",
            "interval",
            "json",
        ]) && (self.word(0) != Some("double") || self.word(1) == Some("precision"))
    }

    /// A type that is no array.
    fn element_type(&mut self) -> Result<TypeName> {
        let at = self.at();
        if self.is_standard_type() {
            return self.standard_type();
        }
        let name = self.function_path()?;
        let modifiers = if self.is_punct(0, "(") { self.parens(Self::expr)? } else { Vec::new() };
        Ok(TypeName { name, modifiers, fields: None, dimensions: 0, set: false, at })
    }

    /// One of the standard's own type names, without array bounds.
    pub(super) fn standard_type(&mut self) -> Result<TypeName> {
        let at = self.at();
        let Some(word) = self.word(0).map(str::to_owned) else { return Err(self.unexpected()) };
        self.skip(1);
        let mut modifiers = Vec::new();
        let mut fields = None;
        let name = match word.as_str() {
            "int" | "integer" => "int4",
            "smallint" => "int2",
            "bigint" => "int8",
            "real" => "float4",
            "double" => {
                self.expect(&["precision"])?;
                "float8"
            }
            "float" => self.float()?,
            "decimal" | "dec" | "numeric" => {
                if self.is_punct(0, "(") {
                    modifiers = self.parens(Self::expr)?;
                }
                "numeric"
            }
            "boolean" => "bool",
            "json" => "json",
            "bit" => {
                let name = if self.eat(&["varying"]) { "varbit" } else { "bit" };
                modifiers = self.length(name == "bit")?;
                name
            }
            "varchar" => {
                modifiers = self.length(false)?;
                "varchar"
            }
            "character" | "char" | "nchar" | "national" => {
                if word == "national" && !self.eat(&["character"]) {
                    self.expect(&["char"])?;
                }
                let name = if self.eat(&["varying"]) { "varchar" } else { "bpchar" };
                modifiers = self.length(name == "bpchar")?;
                name
            }
            "time" | "timestamp" => {
                modifiers = self.length(false)?;
                let with = self.eat(&["with", "time", "zone"]);
                if !with {
                    self.eat(&["without", "time", "zone"]);
                }
                match (word.as_str(), with) {
                    ("time", false) => "time",
                    ("time", true) => "timetz",
                    (_, false) => "timestamp",
                    (_, true) => "timestamptz",
                }
            }
            _ => {
                if self.is_punct(0, "(") {
                    modifiers = self.length(false)?;
                } else {
                    (fields, modifiers) = self.interval_fields()?;
                }
                "interval"
            }
        };
        Ok(TypeName {
            name: Path::system(name, at),
            modifiers,
            fields,
            dimensions: 0,
            set: false,
            at,
        })
    }

    /// `(n)`, or the length one where none is written and `one` is true.
    fn length(&mut self, one: bool) -> Result<Vec<Expr>> {
        if self.is_punct(0, "(") {
            return self.parens(Self::expr);
        }
        let one = one.then(|| Expr { kind: ExprKind::Number("1".into()), at: At::NONE });
        Ok(one.into_iter().collect())
    }

    fn float(&mut self) -> Result<&'static str> {
        if !self.eat_punct("(") {
            return Ok("float8");
        }
        let at = self.at();
        let Token::Number(digits) = self.take() else { return Err(self.unexpected()) };
        self.expect_punct(")")?;
        let wrong =
            |message: &str| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(at));
        match digits.parse::<i64>() {
            Ok(..=0) => wrong("precision for type float must be at least 1 bit"),
            Ok(1..=24) => Ok("float4"),
            Ok(25..=53) => Ok("float8"),
            _ => wrong("precision for type float must be less than 54 bits"),
        }
    }

    /// The fields of an interval and the precision of its seconds.
    pub(super) fn interval_fields(&mut self) -> Result<(Option<i32>, Vec<Expr>)> {
        let Some(bit) = self.word(0).and_then(field_bit) else { return Ok((None, Vec::new())) };
        let first = self.take();
        let Token::Word(first) = first else { return Err(self.unexpected()) };
        let mut last = first.clone();
        let mut mask = bit;
        if self.is(&["to"]) {
            let range =
                RANGES.iter().find(|(from, to, _)| *from == first && self.word(1) == Some(to));
            let Some((_, to, range)) = range else {
                self.skip(1);
                return Err(self.unexpected());
            };
            self.skip(2);
            mask = *range;
            last = (*to).into();
        }
        let precision = if last == "second" { self.length(false)? } else { Vec::new() };
        Ok((Some(mask), precision))
    }
}
