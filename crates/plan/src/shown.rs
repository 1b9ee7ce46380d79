//! Expressions as PostgreSQL writes them: `(age > 30)`, `((doc ->> 'name'::text) = 'x'::text)`.
//!
//! Every call of an operator stands in parentheses, constants say their type where it does not follow
//! from how they look, and casts are shown whether they were written or not. A cast of a constant is
//! shown as a constant of the type: PostgreSQL has computed it by then.

use std::fmt::Write;

use scalar::facts::Facts;
use sql::plan::{AggregateCall, Call, Cast, Expr, ExprKind, SortKey, Subscript, WindowCall};
use types::{Builtins, Context, Datum, Modifier, Objects, Oid, Style, Type, TypeSource};

/// How the names in expressions are shown.
pub(crate) struct Shown<'a> {
    /// A column of the row that the expression sees, by its place.
    pub columns: &'a dyn Fn(usize) -> String,
    /// The text for a slot.
    pub slots: &'a dyn Fn(u32) -> String,
    /// The names of types.
    pub types: &'a dyn TypeSource,
}

impl Shown<'_> {
    /// An expression as text.
    pub fn text(&self, expr: &Expr) -> String {
        let mut out = String::new();
        self.write(expr, &mut out);
        out
    }

    /// Several, with commas between.
    pub fn list<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> String {
        let texts: Vec<String> = exprs.into_iter().map(|expr| self.text(expr)).collect();
        texts.join(", ")
    }

    /// A key of an order.
    pub fn sort_key(&self, key: &SortKey) -> String {
        let order = match (key.descending, key.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        };
        format!("{}{order}", self.text(&key.expr))
    }

    /// A call of an aggregate.
    pub fn aggregate(&self, call: &AggregateCall) -> String {
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let args = if call.args.is_empty() && call.direct.is_empty() {
            "*".to_owned()
        } else {
            self.list(call.direct.iter().chain(&call.args))
        };
        let keys: Vec<String> = call.order.iter().map(|key| self.sort_key(key)).collect();
        let order =
            if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) };
        let mut text = format!("{}({distinct}{args}{order})", call.name);
        if let Some(filter) = &call.filter {
            let _ = write!(text, " FILTER (WHERE {})", self.text(filter));
        }
        text
    }

    /// A call of a window function.
    pub fn window(&self, call: &WindowCall) -> String {
        let args = self.list(&call.args);
        let is_count = call.name == "count" && call.args.is_empty();
        format!("{}({}) OVER (?)", call.name, if is_count { "*" } else { &args })
    }

    fn type_name(&self, ty: Type) -> String {
        Facts(self.types).name(ty)
    }

    fn join(&self, list: &[Expr], between: &str, out: &mut String) {
        for (at, expr) in list.iter().enumerate() {
            if at > 0 {
                out.push_str(between);
            }
            self.write(expr, out);
        }
    }

    fn call(&self, name: &str, args: &[Expr], out: &mut String) {
        out.push_str(name);
        out.push('(');
        self.join(args, ", ", out);
        out.push(')');
    }

    fn operator(&self, call: &Call, out: &mut String) {
        out.push('(');
        match &call.args[..] {
            [left, right] => {
                self.write(left, out);
                let _ = write!(out, " {} ", call.name);
                self.write(right, out);
            }
            args => {
                let _ = write!(out, "{} ", call.name);
                self.join(args, ", ", out);
            }
        }
        out.push(')');
    }

    fn constant(&self, value: &Datum, ty: Type, modifier: Modifier, out: &mut String) {
        let style = Style::default();
        let context =
            Context { types: self.types, objects: &Configurations, ..Context::new(&style) };
        let Some(text) = types::text::to_string(value.as_ref(), ty, modifier, &context) else {
            let _ = write!(out, "NULL::{}", self.type_name(ty));
            return;
        };
        let is_bare = match ty {
            Type::INT4 | Type::NUMERIC => {
                text.starts_with(|first: char| first.is_ascii_digit())
                    && (ty == Type::INT4) != text.contains(['.', 'e'])
            }
            Type::BOOL => {
                out.push_str(if *value == Datum::Bool(true) { "true" } else { "false" });
                return;
            }
            _ => false,
        };
        if matches!(ty, Type::BIT | Type::VARBIT) {
            let name = if ty == Type::BIT { "\"bit\"" } else { "bit varying" };
            let _ = write!(out, "B'{text}'::{name}");
        } else if is_bare {
            out.push_str(&text);
        } else {
            let _ = write!(out, "{}::{}", scalar::quote::literal(&text), self.type_name(ty));
        }
    }

    /// The array that constants make.
    fn array(&self, elements: &[Expr], ty: Type) -> Option<Datum> {
        let element = Facts(self.types).element(ty)?;
        let repr = self.types.repr_of(element).ok()?;
        let value = |expr: &Expr| match &expr.kind {
            ExprKind::Const(value) if value.repr().is_none_or(|of| of == repr) => {
                Some(value.clone())
            }
            _ => None,
        };
        let values: Vec<Datum> = elements.iter().map(value).collect::<Option<_>>()?;
        let refs = values.iter().map(Datum::as_ref);
        Some(types::Array::from_elements(element, repr, refs).ok()?.into())
    }

    fn write(&self, expr: &Expr, out: &mut String) {
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, expr.ty, expr.modifier, out),
            ExprKind::Param(number) => {
                let _ = write!(out, "${}", number + 1);
            }
            ExprKind::Column { index, .. } => out.push_str(&(self.columns)(*index as usize)),
            ExprKind::Slot(slot) => out.push_str(&(self.slots)(*slot)),
            ExprKind::Call(call) if call.operator => self.operator(call, out),
            ExprKind::Call(call) => self.call(&call.name, &call.args, out),
            ExprKind::Cast { expr: inner, how: Cast::Type { .. } } => {
                let name = self.type_name(expr.ty);
                match &inner.kind {
                    ExprKind::Const(value) if !value.is_null() => {
                        let mut text = String::new();
                        self.constant(value, inner.ty, inner.modifier, &mut text);
                        let bare = text.split("'::").next().unwrap_or_default();
                        let bare = bare.trim_start_matches('\'');
                        let _ = write!(out, "'{bare}'::{name}");
                    }
                    ExprKind::Cast { .. } | ExprKind::Call(Call { operator: false, .. }) => {
                        out.push('(');
                        self.write(inner, out);
                        let _ = write!(out, ")::{name}");
                    }
                    _ => {
                        let mut text = self.text(inner);
                        if !text.starts_with('(') {
                            text = format!("({text})");
                        }
                        let _ = write!(out, "{text}::{name}");
                    }
                }
            }
            ExprKind::Cast { expr: inner, .. } => self.write(inner, out),
            ExprKind::And(list) | ExprKind::Or(list) => {
                let is_and = matches!(expr.kind, ExprKind::And(_));
                out.push('(');
                self.join(list, if is_and { " AND " } else { " OR " }, out);
                out.push(')');
            }
            ExprKind::Not(inner) => {
                out.push_str("(NOT ");
                self.write(inner, out);
                out.push(')');
            }
            ExprKind::IsNull { expr: inner, negated } => {
                out.push('(');
                self.write(inner, out);
                out.push_str(if *negated { " IS NOT NULL)" } else { " IS NULL)" });
            }
            ExprKind::IsBool { expr: inner, value, negated } => {
                out.push('(');
                self.write(inner, out);
                out.push_str(if *negated { " IS NOT " } else { " IS " });
                out.push_str(match value {
                    Some(true) => "TRUE)",
                    Some(false) => "FALSE)",
                    None => "UNKNOWN)",
                });
            }
            ExprKind::IsDistinct { equal, negated } => {
                let sign = if *negated { " IS NOT DISTINCT FROM " } else { " IS DISTINCT FROM " };
                out.push('(');
                self.join(&equal.args, sign, out);
                out.push(')');
            }
            ExprKind::NullIf(call) => self.call("NULLIF", &call.args, out),
            ExprKind::Coalesce(list) => self.call("COALESCE", list, out),
            ExprKind::Greatest(list) => self.call("GREATEST", list, out),
            ExprKind::Least(list) => self.call("LEAST", list, out),
            ExprKind::Case { operand, arms, otherwise } => {
                out.push_str("CASE");
                if let Some(operand) = operand {
                    out.push(' ');
                    self.write(operand, out);
                }
                for (condition, result) in arms {
                    out.push_str(" WHEN ");
                    self.write(condition, out);
                    out.push_str(" THEN ");
                    self.write(result, out);
                }
                out.push_str(" ELSE ");
                self.write(otherwise, out);
                out.push_str(" END");
            }
            ExprKind::AnyAll { call, all } => {
                out.push('(');
                self.write(&call.args[0], out);
                let word = if *all { "ALL" } else { "ANY" };
                let _ = write!(out, " {} {word} (", call.name);
                self.write(&call.args[1], out);
                out.push_str("))");
            }
            ExprKind::Array { elements, .. } => match self.array(elements, expr.ty) {
                Some(array) => self.constant(&array, expr.ty, Modifier::NONE, out),
                None => {
                    out.push_str("ARRAY[");
                    self.join(elements, ", ", out);
                    out.push(']');
                }
            },
            ExprKind::Row { fields, .. } => self.call("ROW", fields, out),
            ExprKind::Subscript { expr: inner, steps } => {
                self.write(inner, out);
                for step in steps {
                    match step {
                        Subscript::Index(index) => {
                            out.push('[');
                            self.write(index, out);
                            out.push(']');
                        }
                        Subscript::Slice(low, high) => {
                            let side = |side: &Option<Expr>| {
                                side.as_ref().map(|side| self.text(side)).unwrap_or_default()
                            };
                            let _ = write!(out, "[{}:{}]", side(low), side(high));
                        }
                    }
                }
            }
            ExprKind::Subplan { number, .. } => {
                let _ = write!(out, "(SubPlan {})", number + 1);
            }
            ExprKind::Keyword(word) => out.push_str(&word.to_uppercase()),
            // The other expressions have no form of their own in PostgreSQL's plans, or none that
            // is short.
            _ => {
                let _ = write!(out, "{expr}");
            }
        }
    }
}

/// The names of configurations of text search. No other object is named in a plan.
struct Configurations;

impl Objects for Configurations {
    fn oid(&self, class: Type, name: &str) -> types::Result<Oid> {
        Builtins.oid(class, name)
    }

    fn name(&self, class: Type, oid: Oid) -> Option<String> {
        let config = scalar::fulltext::config(oid).filter(|_| class == Type::REGCONFIG)?;
        Some(config.name().to_owned())
    }
}
