//! SQL/JSON of the standard: constructors, `IS JSON`, searches by path.
//!
//! ```text
//!   JSON_OBJECT('a': 1 RETURNING text)   Cast (Construct Object [a, 1])
//!   JSON_ARRAYAGG(x)                     json_agg_strict(x)
//!   JSON_VALUE(doc, '$.a')               Search over jsonb, text
//! ```
//!
//! A constructor makes `json` or `jsonb`; another type that is to be returned is cast to. A search
//! gives the type itself, since whether that is possible is what `ON ERROR` is about.

use scalar::standard::{Construct, JsonSearchKind, Search};
use types::{Datum, Modifier, Origins, SqlState, Type};

use super::Binder;
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, JsonBehavior, JsonSearch, TypeName};
use crate::plan::{self, Expr, ExprKind, Json};

impl Binder<'_> {
    /// A construct of SQL/JSON.
    pub(super) fn json(&mut self, json: &ast::Json, at: At) -> Result<Expr> {
        if let Some(notes) = self.notes() {
            notes.json.insert(at, json.clone());
        }
        match json {
            ast::Json::Object { fields, absent, unique, returning } => {
                let mut args = Vec::with_capacity(2 * fields.len());
                for (name, value) in fields {
                    for part in [name, value] {
                        let part = self.expr(part)?;
                        args.push(self.settle(part)?);
                    }
                }
                let construct = Construct::Object { absent: *absent, unique: *unique };
                self.construct(construct, args, returning.as_ref(), at)
            }
            ast::Json::Array { elements, absent, returning } => {
                let mut args = Vec::with_capacity(elements.len());
                for element in elements {
                    let element = self.expr(element)?;
                    args.push(self.settle(element)?);
                }
                let construct = Construct::Array { absent: *absent };
                self.construct(construct, args, returning.as_ref(), at)
            }
            ast::Json::Rows { rows, returning } => {
                let rows = self.expr(rows)?;
                self.construct(Construct::Rows, vec![rows], returning.as_ref(), at)
            }
            ast::Json::Aggregate { call, returning } => {
                let call = self.expr(call)?;
                self.returned(call, returning.as_ref(), at)
            }
            ast::Json::Parse { value, unique } => {
                let value = self.expr(value)?;
                if matches!(value.ty, Type::JSON | Type::JSONB) || !is_text(value.ty) {
                    let at = value.at;
                    return self.cast(value, Type::JSON, Modifier::NONE, at);
                }
                let text = self.settle(value)?;
                self.construct(Construct::Parse { unique: *unique }, vec![text], None, at)
            }
            ast::Json::Scalar(value) => {
                let value = self.expr(value)?;
                let value = self.settle(value)?;
                self.call_of(Origins::CORE, "to_json", vec![value], at)
            }
            ast::Json::Serialize { value, returning } => {
                let bound = self.expr(value)?;
                if !is_text(bound.ty) && !matches!(bound.ty, Type::JSON | Type::JSONB) {
                    let message = "cannot use non-string types with implicit FORMAT JSON clause";
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(value.at));
                }
                let json = match bound.ty {
                    Type::JSONB => bound,
                    _ => self.cast(bound, Type::JSON, Modifier::NONE, value.at)?,
                };
                let made = match returning {
                    None => self.cast(json, Type::TEXT, Modifier::NONE, at),
                    returning => self.returned(json, returning.as_ref(), at),
                }?;
                Ok(Expr { at, ..made })
            }
            ast::Json::Is { expr, kind, unique, negated } => {
                let tested = self.expr(expr)?;
                let tested = self.settle(tested)?;
                let base = self.facts().base(tested.ty);
                if !is_text(base) && !matches!(base, Type::JSON | Type::JSONB | Type::BYTEA) {
                    let message = format!(
                        "cannot use type {} in IS JSON predicate",
                        self.type_name(tested.ty)
                    );
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
                }
                let construct = Construct::Is { kind: *kind, unique: *unique };
                let json = Json::Construct { construct, args: vec![tested] };
                let test = Expr::of(ExprKind::Json(json), Type::BOOL, at);
                Ok(match negated {
                    true => Expr::of(ExprKind::Not(Box::new(test)), Type::BOOL, at),
                    false => test,
                })
            }
            ast::Json::Search(search) => self.search(search, at),
        }
    }

    /// A constructor: `jsonb` where that is to be returned, else `json`, cast to what is.
    fn construct(
        &mut self,
        construct: Construct,
        args: Vec<Expr>,
        returning: Option<&TypeName>,
        at: At,
    ) -> Result<Expr> {
        let ty = match returning {
            Some(name) if self.type_of_name(name)?.0 == Type::JSONB => Type::JSONB,
            _ => Type::JSON,
        };
        let json = Json::Construct { construct, args };
        let made = Expr::of(ExprKind::Json(json), ty, at);
        self.returned(made, returning, at)
    }

    /// JSON as the type that `RETURNING` names.
    fn returned(&mut self, json: Expr, returning: Option<&TypeName>, at: At) -> Result<Expr> {
        let Some(name) = returning else { return Ok(json) };
        let (ty, modifier) = self.type_of_name(name)?;
        if ty != Type::BYTEA {
            return self.cast(json, ty, modifier, at);
        }
        let text = self.cast(json, Type::TEXT, Modifier::NONE, at)?;
        let encoding = Expr::of(ExprKind::Const(Datum::text("UTF8")), Type::NAME, at);
        self.call_of(Origins::CORE, "convert_to", vec![text, encoding], at)
    }

    fn search(&mut self, search: &JsonSearch, at: At) -> Result<Expr> {
        let document = self.expr(&search.document)?;
        let document = self.cast(document, Type::JSONB, Modifier::NONE, search.document.at)?;
        let path = self.expr(&search.path)?;
        let path = match path.ty {
            Type::UNKNOWN => self.implicit(path, Type::JSONPATH)?,
            Type::JSONPATH => path,
            other => {
                let message = format!(
                    "JSON path expression must be of type jsonpath, not of type {}",
                    self.type_name(other)
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(search.path.at));
            }
        };
        let (mut passing, mut names) = (Vec::new(), Vec::new());
        for (value, name) in &search.passing {
            let value = self.expr(value)?;
            passing.push(self.settle(value)?);
            names.push(name.text.clone());
        }
        let (ty, modifier) = match (&search.returning, search.what) {
            (Some(name), _) => self.type_of_name(name)?,
            (None, JsonSearchKind::Exists) => (Type::BOOL, Modifier::NONE),
            (None, JsonSearchKind::Value) => (Type::TEXT, Modifier::NONE),
            (None, JsonSearchKind::Query { .. }) => (Type::JSONB, Modifier::NONE),
        };
        let nothing = match search.what {
            JsonSearchKind::Exists => Expr { at, ..Expr::bool(false) },
            _ => Expr { modifier, ..Expr::null(ty, at) },
        };
        let mut given = [None, None];
        let clauses = [("EMPTY", &search.on_empty), ("ERROR", &search.on_error)];
        for (given, (clause, said)) in given.iter_mut().zip(clauses) {
            *given = match said {
                None => Some(nothing.clone()),
                Some((said, at)) => {
                    check_behavior(said, search.what, clause, *at)?;
                    self.behavior(said, ty, modifier, *at)?
                }
            };
        }
        let [on_empty, on_error] = given;
        let what = search.what;
        let search = Search { what, names };
        let found = plan::JsonSearch { search, document, path, passing, on_empty, on_error };
        let json = Json::Search(Box::new(found));
        Ok(Expr { kind: ExprKind::Json(json), ty, modifier, at })
    }

    /// The result where a search finds nothing or fails; none for an error.
    fn behavior(
        &mut self,
        behavior: &JsonBehavior,
        ty: Type,
        modifier: Modifier,
        at: At,
    ) -> Result<Option<Expr>> {
        let literal = |text: &str| Expr::of(ExprKind::Const(Datum::text(text)), Type::TEXT, at);
        Ok(Some(match behavior {
            JsonBehavior::Error => return Ok(None),
            JsonBehavior::Null => Expr { modifier, ..Expr::null(ty, at) },
            JsonBehavior::Bool(value) => Expr { at, ..Expr::bool(*value) },
            JsonBehavior::EmptyArray if self.facts().is_true_array(ty) => {
                self.cast(literal("{}"), ty, modifier, at)?
            }
            JsonBehavior::EmptyArray => self.cast(literal("[]"), ty, modifier, at)?,
            JsonBehavior::EmptyObject => self.cast(literal("{}"), ty, modifier, at)?,
            JsonBehavior::Default(value) => {
                let value = self.expr(value)?;
                self.cast(value, ty, modifier, at)?
            }
        }))
    }
}

/// Refuses what a search cannot give.
fn check_behavior(
    behavior: &JsonBehavior,
    what: JsonSearchKind,
    clause: &str,
    at: At,
) -> Result<()> {
    let allowed = match (what, behavior) {
        (_, JsonBehavior::Error | JsonBehavior::Null) => true,
        (JsonSearchKind::Exists, JsonBehavior::Bool(_)) => true,
        (JsonSearchKind::Exists, _) | (_, JsonBehavior::Bool(_)) => false,
        (JsonSearchKind::Value, JsonBehavior::EmptyArray | JsonBehavior::EmptyObject) => false,
        _ => true,
    };
    if !allowed {
        let choice = match what {
            JsonSearchKind::Exists => "Only ERROR, TRUE, FALSE, or UNKNOWN is allowed",
            JsonSearchKind::Value => "Only ERROR, NULL, or DEFAULT expression is allowed",
            JsonSearchKind::Query { .. } => {
                "Only ERROR, NULL, EMPTY ARRAY, EMPTY OBJECT, or DEFAULT expression is allowed"
            }
        };
        return Err(Error::new(SqlState::SYNTAX_ERROR, format!("invalid ON {clause} behavior"))
            .detail(format!("{choice} in ON {clause} for {}().", what.name()))
            .at(at));
    }
    Ok(())
}

/// True for the types whose text may be JSON; a literal is of none yet.
fn is_text(ty: Type) -> bool {
    matches!(ty, Type::UNKNOWN | Type::TEXT | Type::VARCHAR | Type::BPCHAR)
}
