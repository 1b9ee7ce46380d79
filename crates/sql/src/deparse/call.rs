//! Functions, aggregates, window functions and casts.

use types::{Datum, Modifier, Type};

use super::Printer;
use super::constant::Label;
use super::expr::{Parent, bare, is_implicit};
use crate::outline::Window;
use crate::parse::ast;
use crate::plan::{AggregateCall, Call, Cast, Expr, ExprKind, WindowCall};

impl Printer<'_> {
    /// A call of a function as it was written.
    fn written(&self, expr: &Expr) -> Option<&'_ ast::Call> {
        self.notes.calls.get(&expr.at)
    }

    fn function_name(&self, function: types::Oid, name: &str) -> String {
        let name = scalar::quote::identifier(name);
        match self.objects.schema_of_function(function) {
            Some(schema) => format!("{}.{name}", scalar::quote::identifier(&schema)),
            None => name,
        }
    }

    pub(super) fn function(&mut self, call: &Call, expr: &Expr) {
        if call.name == "bit" && call.args.len() == 2 {
            return self.cast_text(&call.args[0], expr.ty, expr.modifier);
        }
        let notes = self.notes;
        let written = notes.calls.get(&expr.at);
        if written.is_some_and(|written| written.syntax) && self.syntax(call) {
            return;
        }
        let name = self.function_name(call.function, &call.name);
        self.push(&name);
        self.push("(");
        let has_names = |written: &&ast::Call| written.args.iter().any(|arg| arg.name.is_some());
        match written.filter(has_names) {
            Some(written) => self.named_arguments(call, written),
            None => {
                // An argument that was left out has a default.
                let is_gathered = call.variadic && written.is_some_and(|call| !call.variadic);
                let count = match written {
                    Some(written) if !is_gathered && !written.syntax => written.args.len(),
                    _ => call.args.len(),
                };
                let args = &call.args[..count.min(call.args.len())];
                for (place, arg) in args.iter().enumerate() {
                    if place > 0 {
                        self.push(", ");
                    }
                    if call.variadic && place + 1 == args.len() {
                        self.push("VARIADIC ");
                    }
                    self.expr(arg, true);
                }
            }
        }
        self.push(")");
    }

    fn named_arguments(&mut self, call: &Call, written: &ast::Call) {
        let known = scalar::registry::function(call.function)
            .map(|function| function.argument_names())
            .unwrap_or_default();
        let args: Vec<&ast::Arg> = written.args.iter().collect();
        let mut place = 0;
        self.separated(&args, |printer, arg| {
            let at = match &arg.name {
                Some(name) => {
                    printer.name(&name.text);
                    printer.push(" => ");
                    known.iter().position(|known| *known == name.text)
                }
                None => Some(place),
            };
            place += 1;
            if let Some(value) = at.and_then(|at| call.args.get(at)) {
                printer.expr(value, true);
            }
        });
    }

    /// A function that the grammar has words for; false if it is printed like any other.
    fn syntax(&mut self, call: &Call) -> bool {
        let word = |expr: &Expr| match &expr.kind {
            ExprKind::Const(value) => value.as_text().map(str::to_owned),
            _ => None,
        };
        match (call.name.as_str(), &call.args[..]) {
            ("timezone", [zone, value]) => {
                self.push("(");
                self.operand(value, false, Parent::Other);
                self.push(" AT TIME ZONE ");
                self.operand(zone, false, Parent::Other);
                self.push(")");
            }
            ("timezone", [value]) => {
                self.push("(");
                self.operand(value, false, Parent::Other);
                self.push(" AT LOCAL)");
            }
            ("overlaps", [a, b, c, d]) => {
                self.push("((");
                self.expr(a, false);
                self.push(", ");
                self.expr(b, false);
                self.push(") OVERLAPS (");
                self.expr(c, false);
                self.push(", ");
                self.expr(d, false);
                self.push("))");
            }
            ("extract", [field, value]) => {
                let Some(field) = word(field) else { return false };
                self.push("EXTRACT(");
                self.push(&field);
                self.push(" FROM ");
                self.expr(value, false);
                self.push(")");
            }
            ("is_normalized", [value, form]) => {
                let Some(form) = word(form) else { return false };
                self.push("((");
                self.expr(value, false);
                self.push(")");
                self.push(" IS ");
                let is_written = self.layout.lines && !form.is_empty();
                if is_written {
                    self.push(&form);
                    self.push(" ");
                }
                self.push("NORMALIZED)");
            }
            ("normalize", [value, rest @ ..]) => {
                self.push("NORMALIZE(");
                self.expr(value, false);
                if let Some(form) = rest.first().and_then(word) {
                    self.push(", ");
                    self.push(&form);
                }
                self.push(")");
            }
            ("overlay", [value, by, from, rest @ ..]) => {
                self.push("OVERLAY(");
                self.expr(value, false);
                self.push(" PLACING ");
                self.expr(by, false);
                self.push(" FROM ");
                self.expr(from, false);
                if let Some(length) = rest.first() {
                    self.push(" FOR ");
                    self.expr(length, false);
                }
                self.push(")");
            }
            ("position", [within, what]) => {
                self.push("POSITION((");
                self.expr(what, false);
                self.push(") IN (");
                self.expr(within, false);
                self.push("))");
            }
            ("substring", [value, from, rest @ ..]) => {
                let is_pattern = rest.first().is_some_and(|rest| rest.ty == Type::TEXT);
                let words =
                    if is_pattern { [" SIMILAR ", " ESCAPE "] } else { [" FROM ", " FOR "] };
                self.push("SUBSTRING(");
                self.expr(value, false);
                self.push(words[0]);
                self.expr(from, false);
                if let Some(length) = rest.first() {
                    self.push(words[1]);
                    self.expr(length, false);
                }
                self.push(")");
            }
            (name @ ("ltrim" | "rtrim" | "btrim"), [value, rest @ ..]) => {
                self.push(match name {
                    "ltrim" => "TRIM(LEADING",
                    "rtrim" => "TRIM(TRAILING",
                    _ => "TRIM(BOTH",
                });
                if let Some(letters) = rest.first() {
                    self.push(" ");
                    self.expr(letters, false);
                }
                self.push(" FROM ");
                self.expr(value, false);
                self.push(")");
            }
            ("pg_collation_for", [value, ..]) => {
                self.push("COLLATION FOR (");
                self.expr(value, false);
                self.push(")");
            }
            _ => return false,
        }
        true
    }

    pub(super) fn aggregate(&mut self, call: &AggregateCall, expr: &Expr) {
        let json = self.json_aggregate(call.name, expr);
        match &json {
            Some(json) => self.push(json.name),
            None => {
                let name = self.function_name(call.function, call.name);
                self.push(&name);
            }
        }
        self.push(if call.distinct { "(DISTINCT " } else { "(" });
        let is_within = self.written(expr).is_some_and(|call| !call.within_group.is_empty());
        if is_within {
            self.separated(&call.direct, |printer, arg| printer.expr(arg, true));
            self.push(") WITHIN GROUP (ORDER BY ");
            self.sort_keys(&call.order);
        } else {
            let is_star = self.written(expr).is_some_and(|call| call.star) || call.args.is_empty();
            if is_star {
                self.push("*");
            } else {
                let between = json.as_ref().map_or(", ", |json| json.between);
                for (place, arg) in call.args.iter().enumerate() {
                    self.push(if place > 0 { between } else { "" });
                    self.expr(arg, true);
                }
            }
            if !call.order.is_empty() {
                self.push(" ORDER BY ");
                self.sort_keys(&call.order);
            }
            if let Some(json) = json {
                self.push(&json.words);
            }
        }
        if let Some(filter) = &call.filter {
            self.push(") FILTER (WHERE ");
            self.expr(filter, false);
        }
        self.push(")");
    }

    pub(super) fn window_call(&mut self, call: &WindowCall, expr: &Expr) {
        let notes = self.notes;
        let written = notes.calls.get(&expr.at);
        let json = self.json_aggregate(call.name, expr);
        match &json {
            Some(json) => self.push(json.name),
            None => {
                let name = self.function_name(call.function, call.name);
                self.push(&name);
            }
        }
        self.push("(");
        if written.is_some_and(|call| call.star) {
            self.push("*");
        } else {
            let count = written.map_or(call.args.len(), |written| written.args.len());
            let between = json.as_ref().map_or(", ", |json| json.between);
            for (place, arg) in call.args[..count.min(call.args.len())].iter().enumerate() {
                self.push(if place > 0 { between } else { "" });
                self.expr(arg, true);
            }
            if let Some(json) = json {
                self.push(&json.words);
            }
        }
        if let Some(filter) = &call.filter {
            self.push(") FILTER (WHERE ");
            self.expr(filter, false);
        }
        self.push(") OVER ");
        let Some(over) = written.and_then(|written| written.over.as_ref()) else {
            return self.push("()");
        };
        if let (true, Some(base)) = (over.bare, &over.base) {
            return self.name(&base.text);
        }
        let (partition, order) = (call.partition.clone(), call.order.clone());
        let (written, frame) = (over.clone(), call.frame.clone());
        self.window(&Window { written, partition, order, frame });
    }

    /// A cast, or only its operand if the cast is implicit and is not printed.
    pub(super) fn cast(&mut self, expr: &Expr, implicit: bool) {
        let ExprKind::Cast { expr: inner, .. } = &expr.kind else { return };
        if let ExprKind::Keyword(word) = &inner.kind
            && matches!(expr.kind, ExprKind::Cast { how: Cast::Modifier { explicit: true }, .. })
        {
            return self.push(&format!("{}({})", word.to_uppercase(), expr.modifier.0));
        }
        if is_implicit(expr) && !implicit {
            let parent = Parent::Other;
            return self.operand(within(expr), false, parent);
        }
        self.cast_text(inner, expr.ty, expr.modifier);
    }

    fn cast_text(&mut self, inner: &Expr, ty: Type, modifier: Modifier) {
        let inner = bare(inner);
        // A cast to a type and its modifier, or to a domain, is one.
        let inner = match &inner.kind {
            ExprKind::Cast { expr: below, .. } if self.is_of_one_cast(inner, ty) => below,
            _ => inner,
        };
        match &inner.kind {
            ExprKind::Const(value) if inner.ty == ty && inner.modifier == Modifier::NONE => {
                self.constant(value, inner, Label::Never);
            }
            ExprKind::Const(Datum::Null) if inner.ty == ty => self.push("NULL"),
            _ => {
                self.push(if self.layout.pretty { "" } else { "(" });
                self.operand(inner, false, Parent::Other);
                self.push(if self.layout.pretty { "" } else { ")" });
            }
        }
        let of = self.type_text(ty, modifier);
        self.push("::");
        self.push(&of);
    }

    /// True for the first step of a cast of several.
    fn is_of_one_cast(&self, inner: &Expr, ty: Type) -> bool {
        match &inner.kind {
            ExprKind::Cast { how: Cast::Type { .. }, .. } => {
                inner.ty == ty || !ty.is_builtin() && self.facts().base(ty) == inner.ty
            }
            ExprKind::Cast { how: Cast::Modifier { .. }, .. } => {
                inner.ty != ty && self.facts().base(ty) == inner.ty
            }
            _ => false,
        }
    }
}

/// The operand below all implicit casts.
fn within(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast { expr: inner, .. } if is_implicit(expr) => within(inner),
        _ => expr,
    }
}
