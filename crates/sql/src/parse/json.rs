//! SQL/JSON of the standard: its constructors, aggregates, `IS JSON` and searches by path.
//!
//! ```text
//!   JSON_OBJECT(name: value, ... [NULL | ABSENT ON NULL] [WITH UNIQUE KEYS] [RETURNING type])
//!   JSON_ARRAY(value, ... | query)      JSON_OBJECTAGG(name: value)     JSON_ARRAYAGG(value)
//!   JSON(text)   JSON_SCALAR(value)   JSON_SERIALIZE(json)   e IS [NOT] JSON [OBJECT | ...]
//!   JSON_VALUE(json, path [PASSING value AS name, ...] [RETURNING type] [... ON EMPTY] [... ON ERROR])
//! ```
//!
//! The aggregates are calls of those that PostgreSQL has functions for. `JSON_OBJECT` with
//! arguments that are no fields is the function of that name.

use scalar::standard::{JsonKind, JsonSearchKind, Wrapper};
use types::SqlState;

use super::ast::{Expr, ExprKind, Json, JsonBehavior, JsonSearch, Link, Path, TypeName};
use super::cursor::Parser;
use super::expr::{Inner, plain_call};
use crate::error::{At, Error, Result};

fn expr(json: Json, at: At) -> Expr {
    Expr { kind: ExprKind::Json(Box::new(json)), at }
}

impl Parser<'_> {
    /// The construct that `word`, which comes next, begins with a parenthesis behind it.
    pub(super) fn sql_json(&mut self, word: &str, at: At) -> Result<Expr> {
        self.skip(2);
        let json = match word {
            "json_object" => return self.json_object(at),
            "json_array" => self.json_array(at)?,
            "json_objectagg" => return self.json_object_aggregate(at),
            "json_arrayagg" => return self.json_array_aggregate(at),
            "json" => {
                let value = self.json_value()?;
                Json::Parse { value: Box::new(value), unique: self.unique_keys() }
            }
            "json_scalar" => Json::Scalar(Box::new(self.expr()?)),
            "json_serialize" => {
                let value = self.json_value()?;
                Json::Serialize { value: Box::new(value), returning: self.returning_type()? }
            }
            "json_exists" => self.search(JsonSearchKind::Exists, at)?,
            "json_value" => self.search(JsonSearchKind::Value, at)?,
            "json_query" => {
                let plain = JsonSearchKind::Query { wrapper: Wrapper::Never, omit_quotes: false };
                self.search(plain, at)?
            }
            word => return Err(self.not_supported(&word.to_uppercase())),
        };
        self.expect_punct(")")?;
        Ok(expr(json, at))
    }

    /// A value, which `FORMAT JSON` behind it makes one of type `json`.
    fn json_value(&mut self) -> Result<Expr> {
        let value = self.expr()?;
        self.formatted(value)
    }

    fn formatted(&mut self, value: Expr) -> Result<Expr> {
        if !self.format_json()? {
            return Ok(value);
        }
        let at = value.at;
        let to = TypeName {
            name: Path::system("json", at),
            modifiers: Vec::new(),
            fields: None,
            dimensions: 0,
            set: false,
            at,
        };
        Ok(Expr { kind: ExprKind::Cast { expr: Box::new(value), to }, at })
    }

    fn format_json(&mut self) -> Result<bool> {
        if !self.eat(&["format", "json"]) {
            return Ok(false);
        }
        if self.eat(&["encoding"]) {
            let at = self.at();
            if !self.name()?.text.eq_ignore_ascii_case("utf8") {
                let message = "unrecognized JSON encoding";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(at));
            }
        }
        Ok(true)
    }

    /// `{WITH | WITHOUT} UNIQUE [KEYS]`
    fn unique_keys(&mut self) -> bool {
        let unique = self.eat(&["with", "unique"]);
        if unique || self.eat(&["without", "unique"]) {
            self.eat(&["keys"]);
        }
        unique
    }

    /// `{NULL | ABSENT} ON NULL`: whether NULLs are left out; none if nothing is said.
    fn on_null(&mut self) -> Option<bool> {
        if self.eat(&["absent", "on", "null"]) {
            return Some(true);
        }
        self.eat(&["null", "on", "null"]).then_some(false)
    }

    /// `RETURNING type [FORMAT JSON]`
    fn returning_type(&mut self) -> Result<Option<TypeName>> {
        if !self.eat(&["returning"]) {
            return Ok(None);
        }
        let ty = self.type_name()?;
        self.format_json()?;
        Ok(Some(ty))
    }

    /// True if the clauses behind the values begin, or nothing is left.
    fn is_json_tail(&self) -> bool {
        self.is_punct(0, ")")
            || self.is(&["returning"])
            || self.is(&["null", "on", "null"])
            || self.is(&["absent", "on", "null"])
    }

    /// Parses the value after the name of a field: `: value` or `VALUE value`.
    fn field_value(&mut self) -> Result<Expr> {
        if !self.eat_punct(":") {
            self.expect(&["value"])?;
        }
        self.json_value()
    }

    fn json_object(&mut self, at: At) -> Result<Expr> {
        let mut fields = Vec::new();
        if !self.is_json_tail() {
            let name = self.expr()?;
            if !self.is_punct(0, ":") && !self.is(&["value"]) {
                return self.plain_json_object(name, at);
            }
            fields.push((name, self.field_value()?));
            while self.eat_punct(",") {
                let name = self.expr()?;
                fields.push((name, self.field_value()?));
            }
        }
        let absent = self.on_null().unwrap_or(false);
        let unique = self.unique_keys();
        let returning = self.returning_type()?;
        self.expect_punct(")")?;
        Ok(expr(Json::Object { fields, absent, unique, returning }, at))
    }

    /// The function `json_object` of arrays.
    fn plain_json_object(&mut self, first: Expr, at: At) -> Result<Expr> {
        let mut args = vec![first];
        while self.eat_punct(",") {
            args.push(self.expr()?);
        }
        self.expect_punct(")")?;
        let mut call = plain_call(Path::system("json_object", at), args);
        call.name.parts.remove(0);
        Ok(Expr { kind: ExprKind::Call(Box::new(call)), at })
    }

    fn json_array(&mut self, at: At) -> Result<Json> {
        let mut elements = Vec::new();
        if !self.is_json_tail() {
            match self.query_or(|parser| parser.list(Self::expr))? {
                Inner::Query(query) => {
                    self.format_json()?;
                    let kind = ExprKind::Subquery { link: Link::Array, query };
                    let rows = Box::new(Expr { kind, at });
                    return Ok(Json::Rows { rows, returning: self.returning_type()? });
                }
                // The first of those that say their format ends the list of plain ones.
                Inner::Other(list) => {
                    elements = list;
                    if let Some(last) = elements.pop() {
                        elements.push(self.formatted(last)?);
                    }
                }
            }
            while self.eat_punct(",") {
                elements.push(self.json_value()?);
            }
        }
        let absent = self.on_null().unwrap_or(true);
        Ok(Json::Array { elements, absent, returning: self.returning_type()? })
    }

    fn json_object_aggregate(&mut self, at: At) -> Result<Expr> {
        let name = self.expr()?;
        let value = self.field_value()?;
        let absent = self.on_null().unwrap_or(false);
        let unique = self.unique_keys();
        let returning = self.returning_type()?;
        self.expect_punct(")")?;
        let name_of = format!(
            "{}_object_agg{}{}",
            family(returning.as_ref()),
            if unique { "_unique" } else { "" },
            if absent { "_strict" } else { "" },
        );
        let call = plain_call(Path::system(&name_of, at), vec![name, value]);
        self.json_aggregate(call, returning, at)
    }

    fn json_array_aggregate(&mut self, at: At) -> Result<Expr> {
        let value = self.json_value()?;
        let order = self.order_by()?;
        let absent = self.on_null().unwrap_or(true);
        let returning = self.returning_type()?;
        self.expect_punct(")")?;
        let strict = if absent { "_strict" } else { "" };
        let name_of = format!("{}_agg{strict}", family(returning.as_ref()));
        let mut call = plain_call(Path::system(&name_of, at), vec![value]);
        call.order = order;
        self.json_aggregate(call, returning, at)
    }

    fn json_aggregate(
        &mut self,
        mut call: super::ast::Call,
        returning: Option<TypeName>,
        at: At,
    ) -> Result<Expr> {
        call.syntax = true;
        self.after_call(&mut call)?;
        let call = Box::new(Expr { kind: ExprKind::Call(Box::new(call)), at });
        Ok(expr(Json::Aggregate { call, returning }, at))
    }

    /// Parses the test after `IS [NOT]`.
    pub(super) fn is_json(&mut self, tested: Box<Expr>, negated: bool, at: At) -> Expr {
        self.skip(1);
        let kind = match self.word(0) {
            Some("object") => Some(JsonKind::Object),
            Some("array") => Some(JsonKind::Array),
            Some("scalar") => Some(JsonKind::Scalar),
            _ => None,
        };
        if kind.is_some() || self.is(&["value"]) {
            self.skip(1);
        }
        let unique = self.unique_keys();
        expr(Json::Is { expr: tested, kind, unique, negated }, at)
    }

    /// `JSON_EXISTS`, `JSON_VALUE` and `JSON_QUERY`, up to the parenthesis at the end.
    fn search(&mut self, what: JsonSearchKind, start: At) -> Result<Json> {
        let document = self.json_value()?;
        self.expect_punct(",")?;
        let path = self.expr()?;
        let mut passing = Vec::new();
        if self.eat(&["passing"]) {
            loop {
                let value = self.json_value()?;
                self.expect(&["as"])?;
                passing.push((value, self.label()?));
                if !self.eat_punct(",") {
                    break;
                }
            }
        }
        let mut returning = None;
        let mut what = what;
        if what != JsonSearchKind::Exists && self.eat(&["returning"]) {
            returning = Some(self.type_name()?);
            let at = self.at();
            if self.format_json()? && what == JsonSearchKind::Value {
                let message = "cannot specify FORMAT JSON in RETURNING clause of JSON_VALUE()";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
            }
        }
        if let JsonSearchKind::Query { wrapper, omit_quotes } = &mut what {
            *wrapper = self.wrapper()?;
            *omit_quotes = self.eat(&["omit", "quotes"]);
            if *omit_quotes || self.eat(&["keep", "quotes"]) {
                self.eat(&["on", "scalar", "string"]);
            }
            if *omit_quotes && *wrapper != Wrapper::Never {
                let message =
                    "SQL/JSON QUOTES behavior must not be specified when WITH WRAPPER is used";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(start));
            }
        }
        let (mut on_empty, mut on_error) = (None, None);
        while !self.is_punct(0, ")") {
            let at = self.at();
            let behavior = self.behavior()?;
            self.expect(&["on"])?;
            if what == JsonSearchKind::Exists && self.is(&["empty"]) {
                return Err(self.unexpected());
            }
            let is_empty = self.eat(&["empty"]);
            if !is_empty {
                self.expect(&["error"])?;
            }
            // `ON EMPTY` comes first.
            let late = is_empty && on_error.is_some();
            let place = if is_empty { &mut on_empty } else { &mut on_error };
            if place.is_some() || late {
                let message = "syntax error at or near \"ON\"";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
            }
            *place = Some((behavior, at));
        }
        let search = JsonSearch { what, document, path, passing, returning, on_empty, on_error };
        Ok(Json::Search(Box::new(search)))
    }

    /// `{WITH [CONDITIONAL | UNCONDITIONAL] | WITHOUT} [ARRAY] WRAPPER`
    fn wrapper(&mut self) -> Result<Wrapper> {
        let wrapper = if self.eat(&["without"]) {
            Wrapper::Never
        } else if self.eat(&["with"]) {
            match self.eat(&["conditional"]) {
                true => Wrapper::Conditional,
                false => {
                    self.eat(&["unconditional"]);
                    Wrapper::Always
                }
            }
        } else {
            return Ok(Wrapper::Never);
        };
        self.eat(&["array"]);
        self.expect(&["wrapper"])?;
        Ok(wrapper)
    }

    /// Parses the behavior before `ON EMPTY` and `ON ERROR`.
    fn behavior(&mut self) -> Result<JsonBehavior> {
        Ok(match () {
            () if self.eat(&["error"]) => JsonBehavior::Error,
            () if self.eat(&["null"]) || self.eat(&["unknown"]) => JsonBehavior::Null,
            () if self.eat(&["true"]) => JsonBehavior::Bool(true),
            () if self.eat(&["false"]) => JsonBehavior::Bool(false),
            () if self.eat(&["empty", "object"]) => JsonBehavior::EmptyObject,
            () if self.eat(&["empty"]) => {
                self.eat(&["array"]);
                JsonBehavior::EmptyArray
            }
            () if self.eat(&["default"]) => JsonBehavior::Default(self.expr()?),
            () => return Err(self.unexpected()),
        })
    }
}

/// The family of aggregates that makes what is to be returned.
fn family(returning: Option<&TypeName>) -> &'static str {
    match returning {
        Some(ty) if ty.name.last() == "jsonb" && ty.dimensions == 0 => "jsonb",
        _ => "json",
    }
}
