//! SQL/JSON: constructors, tests, searches and aggregates.
//!
//! ```text
//!   JSON_OBJECT('a' : 1 ABSENT ON NULL RETURNING jsonb)
//!   JSON_VALUE(doc, '$."a"' RETURNING integer DEFAULT 0 ON EMPTY)
//! ```
//!
//! The type that a constructor returns is always printed, except that of `JSON` and `JSON_SCALAR`.

use scalar::standard::{Construct, JsonKind, JsonSearchKind, Wrapper};
use types::{Modifier, Type};

use super::Printer;
use super::expr::Parent;
use crate::parse::ast::{self, ExprKind as Ast, JsonBehavior};
use crate::plan::{Cast, Expr, ExprKind, Json, JsonSearch};

impl Printer<'_> {
    /// A construct of SQL/JSON; false for any other expression.
    pub(super) fn json(&mut self, expr: &Expr) -> bool {
        if let ExprKind::Json(Json::Construct { construct: Construct::Is { kind, unique }, args }) =
            &expr.kind
        {
            self.is_json(&args[0], *kind, *unique);
            return true;
        }
        let notes = self.notes;
        let Some(written) = notes.json.get(&expr.at) else { return false };
        match (&expr.kind, written) {
            (ExprKind::Json(Json::Search(search)), ast::Json::Search(said)) => {
                self.search(search, said, expr);
            }
            (ExprKind::Json(Json::Construct { construct, args }), _) => {
                self.construct(construct, args, written, (expr.ty, expr.modifier));
            }
            (ExprKind::Call(call), ast::Json::Scalar(_)) if call.name == "to_json" => {
                self.listed("JSON_SCALAR(", &call.args, ")");
            }
            (ExprKind::Cast { expr: inner, .. }, ast::Json::Serialize { value, .. })
                if is_explicit(expr) =>
            {
                self.push("JSON_SERIALIZE(");
                self.json_value(inner, value);
                self.returning(expr.ty, expr.modifier);
                self.push(")");
            }
            (ExprKind::Cast { expr: inner, .. }, _) if is_explicit(expr) => match &inner.kind {
                ExprKind::Json(Json::Construct { construct, args }) if returns(written) => {
                    self.construct(construct, args, written, (expr.ty, expr.modifier));
                }
                _ => return false,
            },
            _ => return false,
        }
        true
    }

    fn is_json(&mut self, tested: &Expr, kind: Option<JsonKind>, unique: bool) {
        self.push(if self.layout.pretty { "" } else { "(" });
        self.operand(tested, true, Parent::Other);
        self.push(match kind {
            None => " IS JSON",
            Some(JsonKind::Object) => " IS JSON OBJECT",
            Some(JsonKind::Array) => " IS JSON ARRAY",
            Some(JsonKind::Scalar) => " IS JSON SCALAR",
        });
        self.push(if unique { " WITH UNIQUE KEYS" } else { "" });
        self.push(if self.layout.pretty { "" } else { ")" });
    }

    /// A value as it was written: a literal without the type that it came to be of.
    fn json_value(&mut self, value: &Expr, written: &ast::Expr) {
        let mut value = value;
        let is_to_json = matches!(&written.kind, Ast::Cast { to, .. } if to.name.last() == "json");
        if let (ExprKind::Cast { expr: inner, .. }, Type::JSON, false) =
            (&value.kind, value.ty, is_to_json)
        {
            value = inner;
        }
        match &written.kind {
            Ast::String(text) => {
                self.literal(text);
                self.push("::text");
            }
            _ => self.expr(value, true),
        }
    }

    fn literal_or(&mut self, value: &Expr, written: &ast::Expr) {
        match &written.kind {
            Ast::String(text) => self.literal(text),
            _ => self.expr(value, true),
        }
    }

    fn construct(
        &mut self,
        construct: &Construct,
        args: &[Expr],
        written: &ast::Json,
        (ty, modifier): (Type, Modifier),
    ) {
        match (construct, written) {
            (Construct::Object { absent, unique }, ast::Json::Object { fields, .. }) => {
                self.push("JSON_OBJECT(");
                for (place, (pair, (name, value))) in args.chunks(2).zip(fields).enumerate() {
                    self.push(if place > 0 { ", " } else { "" });
                    self.literal_or(&pair[0], name);
                    self.push(" : ");
                    self.literal_or(&pair[1], value);
                }
                self.push(if *absent { " ABSENT ON NULL" } else { "" });
                self.push(if *unique { " WITH UNIQUE KEYS" } else { "" });
            }
            (Construct::Array { absent }, ast::Json::Array { elements, .. }) => {
                self.push("JSON_ARRAY(");
                for (place, (value, written)) in args.iter().zip(elements).enumerate() {
                    self.push(if place > 0 { ", " } else { "" });
                    self.literal_or(value, written);
                }
                self.push(if *absent { "" } else { " NULL ON NULL" });
            }
            (Construct::Parse { unique }, ast::Json::Parse { value, .. }) => {
                self.push("JSON(");
                self.json_value(&args[0], value);
                self.push(if *unique { " WITH UNIQUE KEYS)" } else { ")" });
                return;
            }
            _ => {
                // PostgreSQL has a subquery with an aggregate here; this means the same.
                self.push("JSON_ARRAY(");
                let text =
                    self.apart(|printer| printer.separated(args, |p, arg| p.expr(arg, true)));
                let query = text.strip_prefix("ARRAY(").and_then(|text| text.strip_suffix(')'));
                let query = query.map(str::to_owned);
                self.push(query.as_deref().unwrap_or(&text));
            }
        }
        self.returning(ty, modifier);
        self.push(")");
    }

    fn returning(&mut self, ty: Type, modifier: Modifier) {
        let of = self.type_text(ty, modifier);
        self.push(" RETURNING ");
        self.push(&of);
    }

    fn search(&mut self, found: &JsonSearch, written: &ast::JsonSearch, expr: &Expr) {
        let what = found.search.what;
        self.push(what.name());
        self.push("(");
        match (&found.document.kind, &written.document.kind) {
            (ExprKind::Cast { .. }, Ast::Cast { .. }) => self.expr(&found.document, true),
            (ExprKind::Cast { expr: inner, .. }, _) => self.expr(inner, true),
            _ => self.expr(&found.document, true),
        }
        self.push(", ");
        match &found.path.kind {
            ExprKind::Const(value) => {
                self.constant(value, &found.path, super::constant::Label::Never);
            }
            _ => self.expr(&found.path, true),
        }
        for (place, (name, value)) in found.search.names.iter().zip(&found.passing).enumerate() {
            self.push(if place > 0 { ", " } else { " PASSING " });
            self.expr(value, true);
            self.push(" AS ");
            self.name(name);
        }
        if !(what == JsonSearchKind::Exists && expr.ty == Type::BOOL) {
            self.returning(expr.ty, expr.modifier);
        }
        if let JsonSearchKind::Query { wrapper, omit_quotes } = what {
            self.push(match wrapper {
                Wrapper::Never => " WITHOUT WRAPPER",
                Wrapper::Conditional => " WITH CONDITIONAL WRAPPER",
                Wrapper::Always => " WITH UNCONDITIONAL WRAPPER",
            });
            self.push(if omit_quotes { " OMIT QUOTES" } else { " KEEP QUOTES" });
        }
        let clauses = [
            (&written.on_empty, &found.on_empty, "EMPTY"),
            (&written.on_error, &found.on_error, "ERROR"),
        ];
        for (said, given, clause) in clauses {
            let Some((said, _)) = said else { continue };
            let words = match (said, what) {
                (JsonBehavior::Null, JsonSearchKind::Exists) => " UNKNOWN",
                (JsonBehavior::Null, _) | (JsonBehavior::Bool(false), JsonSearchKind::Exists) => {
                    continue;
                }
                (JsonBehavior::Error, _) => " ERROR",
                (JsonBehavior::Bool(true), _) => " TRUE",
                (JsonBehavior::Bool(false), _) => " FALSE",
                (JsonBehavior::EmptyArray, _) => " EMPTY ARRAY",
                (JsonBehavior::EmptyObject, _) => " EMPTY OBJECT",
                (JsonBehavior::Default(_), _) => " DEFAULT ",
            };
            self.push(words);
            if let (JsonBehavior::Default(_), Some(given)) = (said, given) {
                self.expr(given, false);
            }
            self.push(" ON ");
            self.push(clause);
        }
        self.push(")");
    }

    /// The name of an aggregate of SQL/JSON, and the words that stand behind its arguments.
    pub(super) fn json_aggregate(&self, name: &str, expr: &Expr) -> Option<JsonAggregate> {
        let notes = self.notes;
        let Some(ast::Json::Aggregate { returning, .. }) = notes.json.get(&expr.at) else {
            return None;
        };
        let (is_object, is_strict) = (name.contains("object"), name.contains("strict"));
        let mut words = match (is_object, is_strict) {
            (true, true) => " ABSENT ON NULL".to_owned(),
            (false, false) => " NULL ON NULL".to_owned(),
            _ => String::new(),
        };
        if name.contains("unique") {
            words.push_str(" WITH UNIQUE KEYS");
        }
        let is_own =
            returning.as_ref().is_none_or(|ty| ["json", "jsonb"].contains(&ty.name.last()));
        if is_own {
            words.push_str(" RETURNING ");
            words.push_str(&self.type_text(expr.ty, expr.modifier));
        }
        let name = if is_object { "JSON_OBJECTAGG" } else { "JSON_ARRAYAGG" };
        Some(JsonAggregate { name, between: if is_object { " : " } else { ", " }, words })
    }
}

/// How an aggregate of SQL/JSON is printed.
pub(super) struct JsonAggregate {
    pub name: &'static str,
    pub between: &'static str,
    pub words: String,
}

fn is_explicit(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Cast { how: Cast::Type { .. }, .. })
        && !super::expr::is_implicit(expr)
}

/// True if a type was written that a constructor is cast to.
fn returns(written: &ast::Json) -> bool {
    match written {
        ast::Json::Object { returning, .. }
        | ast::Json::Array { returning, .. }
        | ast::Json::Rows { returning, .. } => returning.is_some(),
        _ => false,
    }
}
