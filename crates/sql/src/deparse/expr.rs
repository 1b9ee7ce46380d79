//! Expressions, with the parentheses that they need.
//!
//! ```text
//!   plain    ((a + (b * 2)) > 0)      each operator has parentheses of its own
//!   pretty   (a + b * 2) > 0          only operands that are not simple have any
//! ```

use scalar::cast::{CoercionContext, CoercionPath};
use scalar::collation;

use super::Printer;
use super::constant::Label;
use crate::plan::{Call, Cast, Expr, ExprKind, Link, Subquery, Subscript, Test};

/// `rpad(text, integer)`, which the binder puts around values of `char(n)`.
const RPAD: types::Oid = types::Oid(880);

/// The class of an expression in the rules about parentheses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// One word.
    Word,
    /// With parentheses or brackets of its own.
    Function,
    /// A cast by a function.
    CastFunction,
    /// Another cast: as simple as its argument.
    Cast,
    /// A field of a row.
    Field,
    /// An operator.
    Operator,
    /// A test or a subquery.
    Test,
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `NOT`
    Not,
    /// Anything else.
    Complex,
}

/// The construct around an operand.
#[derive(Clone, Copy)]
pub(super) enum Parent<'e> {
    /// An operator.
    Operator(&'e Call),
    /// `AND`, `OR` or `NOT`.
    Bool(Class),
    /// Anything else.
    Other,
}

/// The class of an expression.
pub(super) fn class(expr: &Expr) -> Class {
    let expr = bare(expr);
    match &expr.kind {
        ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::Column { .. }
        | ExprKind::Keyword(_)
        | ExprKind::CurrentOf(_) => Class::Word,
        ExprKind::Call(call) if call.operator => Class::Operator,
        ExprKind::Call(call) if call.name == "bit" => Class::CastFunction,
        ExprKind::Cast { how, .. } => match how {
            Cast::Type { how: CoercionPath::Function(_) | CoercionPath::Bits(..), .. }
            | Cast::Modifier { .. } => Class::CastFunction,
            Cast::Type { .. } | Cast::Domain => Class::Cast,
        },
        ExprKind::And(_) => Class::And,
        ExprKind::Or(_) => Class::Or,
        ExprKind::Not(_) | ExprKind::IsDistinct { negated: true, .. } => Class::Not,
        ExprKind::IsNull { .. }
        | ExprKind::IsBool { .. }
        | ExprKind::IsDistinct { .. }
        | ExprKind::Subquery(_) => Class::Test,
        ExprKind::AnyAll { .. } | ExprKind::RowCompare { .. } => Class::Complex,
        ExprKind::Field { .. } => Class::Field,
        _ => Class::Function,
    }
}

/// The expression without the implicit parts that the binder has added.
pub(super) fn bare(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Call(call)
            if call.function == RPAD
                && call.args.first().is_some_and(|arg| arg.ty == types::Type::BPCHAR) =>
        {
            &call.args[0]
        }
        // The call that the binder puts around a value for its collation was not written.
        ExprKind::Call(call)
            if matches!(call.function, collation::KEY | collation::CLASS | collation::TEXT) =>
        {
            bare(&call.args[0])
        }
        _ => expr,
    }
}

/// True for an expression with a `COLLATE`.
pub(super) fn is_collated(expr: &Expr) -> bool {
    matches!(bare(expr).kind, ExprKind::Collate { .. })
}

/// True for what is written like the call of a function.
pub(super) fn looks_like_function(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => !call.operator && call.name != "bit",
        ExprKind::Coalesce(_)
        | ExprKind::Greatest(_)
        | ExprKind::Least(_)
        | ExprKind::NullIf(_)
        | ExprKind::Keyword(_)
        | ExprKind::Json(_) => true,
        _ => false,
    }
}

/// True for an implicit cast.
pub(super) fn is_implicit(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Cast { how: Cast::Type { when, .. }, .. } => *when != CoercionContext::Explicit,
        ExprKind::Cast { how: Cast::Modifier { explicit }, .. } => !explicit,
        _ => false,
    }
}

/// The symbol of an operator with two operands.
fn binary(call: &Call) -> Option<&str> {
    (call.operator && call.args.len() == 2).then_some(call.name.as_str())
}

impl Printer<'_> {
    /// An operand, in parentheses where it needs them.
    pub(super) fn operand(&mut self, expr: &Expr, implicit: bool, parent: Parent<'_>) {
        let is_enclosed = self.layout.pretty && !self.is_simple(expr, parent);
        if is_enclosed {
            self.push("(");
        }
        self.expr(expr, implicit);
        if is_enclosed {
            self.push(")");
        }
    }

    fn is_simple(&self, expr: &Expr, parent: Parent<'_>) -> bool {
        let expr = bare(expr);
        if is_collated(expr) {
            return false;
        }
        let class = class(expr);
        let in_bool = matches!(parent, Parent::Bool(_));
        match class {
            Class::Word | Class::Function | Class::CastFunction | Class::Field => true,
            Class::Cast => match &expr.kind {
                ExprKind::Cast { expr: inner, .. } => self.is_simple(inner, Parent::Other),
                _ => true,
            },
            Class::Operator => match (parent, &expr.kind) {
                (Parent::Operator(outer), ExprKind::Call(call)) => binds_first(call, outer, expr),
                _ => in_bool,
            },
            // No rule distinguishes a query from a test.
            Class::Test => in_bool,
            Class::And | Class::Not => {
                matches!(parent, Parent::Bool(Class::And | Class::Or))
            }
            Class::Or => matches!(parent, Parent::Bool(Class::Or)),
            Class::Complex => false,
        }
    }

    fn open(&mut self) {
        if !self.layout.pretty {
            self.push("(");
        }
    }

    fn close(&mut self) {
        if !self.layout.pretty {
            self.push(")");
        }
    }

    /// An expression. Implicit casts are printed if `implicit` is true.
    pub(super) fn expr(&mut self, expr: &Expr, implicit: bool) {
        let expr = bare(expr);
        if let ExprKind::Collate { expr: inner, collation } = &expr.kind {
            self.open();
            let simple = !self.layout.pretty || self.is_simple_inside(bare(inner));
            if !simple {
                self.push("(");
            }
            self.expr(inner, implicit);
            if !simple {
                self.push(")");
            }
            let name = self.objects.collation(*collation);
            self.push(" COLLATE ");
            self.push(&name);
            return self.close();
        }
        self.inside(expr, implicit);
    }

    fn is_simple_inside(&self, expr: &Expr) -> bool {
        matches!(class(expr), Class::Word | Class::Function | Class::CastFunction | Class::Field)
    }

    fn inside(&mut self, expr: &Expr, implicit: bool) {
        if self.json(expr) || self.compared_row(expr) {
            return;
        }
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, expr, Label::Needed),
            ExprKind::Param(number) => self.push(&format!("${}", number + 1)),
            ExprKind::Column { index, .. } => self.column(*index),
            ExprKind::Call(call) if call.operator => self.operator(call),
            ExprKind::Call(call) => self.function(call, expr),
            ExprKind::Cast { .. } => self.cast(expr, implicit),
            ExprKind::And(list) => self.logical(list, " AND ", Class::And),
            ExprKind::Or(list) => self.logical(list, " OR ", Class::Or),
            ExprKind::Not(inner) => {
                self.open();
                self.push("NOT ");
                self.operand(inner, false, Parent::Bool(Class::Not));
                self.close();
            }
            ExprKind::IsNull { expr: inner, negated } => {
                self.test(inner, true, if *negated { " IS NOT NULL" } else { " IS NULL" });
            }
            ExprKind::IsBool { expr: inner, value, negated } => {
                let word = match (value, negated) {
                    (Some(true), false) => " IS TRUE",
                    (Some(true), true) => " IS NOT TRUE",
                    (Some(false), false) => " IS FALSE",
                    (Some(false), true) => " IS NOT FALSE",
                    (None, false) => " IS UNKNOWN",
                    (None, true) => " IS NOT UNKNOWN",
                };
                self.test(inner, false, word);
            }
            ExprKind::IsDistinct { equal, negated } => self.is_distinct(equal, *negated),
            ExprKind::NullIf(call) => self.listed("NULLIF(", &call.args, ")"),
            ExprKind::Coalesce(list) => match self.merged(list) {
                Some(name) => self.name(&name),
                None => self.listed("COALESCE(", list, ")"),
            },
            ExprKind::Greatest(list) => self.listed("GREATEST(", list, ")"),
            ExprKind::Least(list) => self.listed("LEAST(", list, ")"),
            ExprKind::Case { operand, arms, otherwise } => {
                self.case(operand.as_deref(), arms, otherwise);
            }
            ExprKind::AnyAll { call, all } => self.any_all(call, *all),
            ExprKind::Array { elements, .. } => {
                self.listed("ARRAY[", elements, "]");
                if elements.is_empty() {
                    let of = self.type_text(expr.ty, expr.modifier);
                    self.push("::");
                    self.push(&of);
                }
            }
            ExprKind::Row { fields, .. } => match self.whole_row(expr) {
                Some(table) => {
                    self.name(&table);
                    self.push(".*");
                }
                None => {
                    self.listed("ROW(", fields, ")");
                    if expr.ty != types::Type::RECORD {
                        let of = self.type_text(expr.ty, expr.modifier);
                        self.push("::");
                        self.push(&of);
                    }
                }
            },
            ExprKind::RowCompare { symbol, pairs } => {
                self.push("(ROW(");
                self.separated(pairs, |printer, pair| printer.expr(&pair.args[0], true));
                self.push(&format!(") {symbol} ROW("));
                self.separated(pairs, |printer, pair| printer.expr(&pair.args[1], true));
                self.push("))");
            }
            ExprKind::Field { expr: row, index } => self.field(row, *index),
            ExprKind::Subscript { expr: inner, steps } => self.subscripts(inner, steps, implicit),
            ExprKind::Subquery(subquery) => self.subquery(subquery, expr),
            ExprKind::Aggregate(call) => self.aggregate(call, expr),
            ExprKind::Window(call) => self.window_call(call, expr),
            ExprKind::Grouping { args, .. } => self.listed("GROUPING(", args, ")"),
            ExprKind::Keyword(word) => self.push(&word.to_uppercase()),
            // Nothing else stands in a definition.
            _ => self.push(&expr.to_string()),
        }
    }

    pub(super) fn listed(&mut self, before: &str, list: &[Expr], after: &str) {
        self.push(before);
        self.separated(list, |printer, expr| printer.expr(expr, true));
        self.push(after);
    }

    pub(super) fn column(&mut self, id: u32) {
        if self.is_of_domain {
            return self.push("VALUE");
        }
        let Some((table, name)) = self.columns.get(&id).cloned() else {
            return self.push("?column?");
        };
        if let Some(table) = table.filter(|_| self.prefix) {
            self.name(&table);
            self.push(".");
        }
        self.name(&name);
    }

    /// The name of the column of a full join that is made of both sides.
    pub(super) fn merged(&self, list: &[Expr]) -> Option<String> {
        let [left, right] = list else { return None };
        let id = |expr: &Expr| match expr.kind {
            ExprKind::Column { index, .. } => Some(index),
            _ => None,
        };
        let (left, right) = (id(left)?, id(right)?);
        let known = self.both.iter().find(|(one, other, _)| (*one, *other) == (left, right));
        known.map(|(.., name)| name.clone())
    }

    /// The name of the table whose whole row an expression is.
    pub(super) fn whole_row(&self, expr: &Expr) -> Option<String> {
        let ExprKind::Row { fields, .. } = &expr.kind else { return None };
        let id = |field: &Expr| match field.kind {
            ExprKind::Column { index, .. } => Some(index),
            _ => None,
        };
        let ids: Vec<u32> = fields.iter().map(id).collect::<Option<_>>()?;
        let is_it = |(known, _): &&(Vec<u32>, String)| !ids.is_empty() && *known == ids;
        self.rows.iter().rev().find(is_it).map(|(_, name)| name.clone())
    }

    /// The symbol of an operator, with its schema where the search path does not have it.
    pub(super) fn symbol(&self, call: &Call) -> String {
        match self.objects.schema_of_function(call.function) {
            Some(schema) if types::extension::of(call.function).is_some() => {
                format!("OPERATOR({}.{})", scalar::quote::identifier(&schema), call.name)
            }
            _ => call.name.clone(),
        }
    }

    fn operator(&mut self, call: &Call) {
        self.open();
        let symbol = self.symbol(call);
        match &call.args[..] {
            [left, right] => {
                self.operand(left, true, Parent::Operator(call));
                self.push(&format!(" {symbol} "));
                self.operand(right, true, Parent::Operator(call));
            }
            args => {
                self.push(&format!("{symbol} "));
                for arg in args {
                    self.operand(arg, true, Parent::Operator(call));
                }
            }
        }
        self.close();
    }

    fn logical(&mut self, list: &[Expr], word: &str, class: Class) {
        self.open();
        for (place, operand) in list.iter().enumerate() {
            if place > 0 {
                self.push(word);
            }
            self.operand(operand, false, Parent::Bool(class));
        }
        self.close();
    }

    fn test(&mut self, inner: &Expr, implicit: bool, words: &str) {
        self.open();
        self.operand(inner, implicit, Parent::Other);
        self.push(words);
        self.close();
    }

    fn is_distinct(&mut self, equal: &Call, negated: bool) {
        if negated {
            self.open();
            self.push("NOT ");
        }
        self.open();
        for (place, arg) in equal.args.iter().enumerate() {
            if place > 0 {
                self.push(" IS DISTINCT FROM ");
            }
            self.operand(arg, true, Parent::Other);
        }
        self.close();
        if negated {
            self.close();
        }
    }

    fn case(&mut self, operand: Option<&Expr>, arms: &[(Expr, Expr)], otherwise: &Expr) {
        self.keyword("CASE", 0, super::OUTPUT, 0);
        if let Some(operand) = operand {
            self.push(" ");
            self.expr(operand, true);
        }
        let between = if self.layout.lines { "" } else { " " };
        for (condition, result) in arms {
            self.push(between);
            self.keyword("WHEN ", 0, 0, 0);
            let compared = match &condition.kind {
                ExprKind::Call(call) if operand.is_some() && call.operator => call.args.get(1),
                _ => None,
            };
            self.expr(compared.unwrap_or(condition), false);
            self.push(" THEN ");
            self.expr(result, true);
        }
        self.push(between);
        self.keyword("ELSE ", 0, 0, 0);
        self.expr(otherwise, true);
        self.push(between);
        self.keyword("END", -super::OUTPUT, 0, 0);
    }

    fn any_all(&mut self, call: &Call, all: bool) {
        let [left, array] = &call.args[..] else { return };
        self.open();
        self.operand(left, true, Parent::Other);
        let symbol = self.symbol(call);
        self.push(&format!(" {symbol} {} (", if all { "ALL" } else { "ANY" }));
        self.operand(array, true, Parent::Other);
        if let ExprKind::Subquery(subquery) = &array.kind
            && matches!(subquery.link, Link::Scalar)
        {
            // Without a cast it would be read as a subquery of many rows.
            let of = self.type_text(array.ty, array.modifier);
            self.push("::");
            self.push(&of);
        }
        self.push(")");
        self.close();
    }

    fn field(&mut self, row: &Expr, index: usize) {
        let is_enclosed = !matches!(row.kind, ExprKind::Subscript { .. } | ExprKind::Field { .. });
        if is_enclosed {
            self.push("(");
        }
        self.expr(row, true);
        if is_enclosed {
            self.push(")");
        }
        self.push(".");
        let name = self.field_name(row, index);
        self.name(&name);
    }

    fn field_name(&self, row: &Expr, index: usize) -> String {
        if let Some(types::Shape::Composite(fields)) =
            self.context.types.shape(self.facts().base(row.ty))
            && let Some(field) = fields.get(index)
        {
            return field.name.to_string();
        }
        let named = match &row.kind {
            ExprKind::Row { names, .. } => names.get(index).cloned(),
            ExprKind::Call(call) => scalar::registry::function(call.function)
                .and_then(|function| function.columns().get(index).map(|(name, _)| (*name).into())),
            _ => None,
        };
        named.unwrap_or_else(|| format!("f{}", index + 1))
    }

    fn subscripts(&mut self, inner: &Expr, steps: &[Subscript], implicit: bool) {
        let is_enclosed = !matches!(inner.kind, ExprKind::Column { .. } | ExprKind::Field { .. });
        if is_enclosed {
            self.push("(");
        }
        self.expr(inner, implicit);
        if is_enclosed {
            self.push(")");
        }
        for step in steps {
            self.push("[");
            match step {
                Subscript::Index(index) => self.expr(index, false),
                Subscript::Slice(low, high) => {
                    if let Some(low) = low {
                        self.expr(low, false);
                    }
                    self.push(":");
                    if let Some(high) = high {
                        self.expr(high, false);
                    }
                }
            }
            self.push("]");
        }
    }

    fn subquery(&mut self, subquery: &Subquery, expr: &Expr) {
        let notes = self.notes;
        let Some(query) = notes.queries.get(&expr.at) else {
            return self.push("( SELECT ?)");
        };
        self.push(if matches!(subquery.link, Link::Array) { "ARRAY(" } else { "(" });
        let is_enclosed = match &subquery.link {
            Link::Scalar | Link::Row | Link::Array => false,
            Link::Exists => {
                self.push("EXISTS (");
                true
            }
            Link::Any(test) => {
                self.left_of(test);
                let symbol = test.calls.first().map_or_else(String::new, |call| self.symbol(call));
                match symbol.as_str() {
                    "=" => self.push(" IN ("),
                    symbol => self.push(&format!(" {symbol} ANY (")),
                }
                true
            }
            Link::All(test) => {
                self.left_of(test);
                let symbol = test.calls.first().map_or_else(String::new, |call| self.symbol(call));
                self.push(&format!(" {symbol} ALL ("));
                true
            }
        };
        self.query(query, None, false);
        self.push(if is_enclosed { "))" } else { ")" });
    }

    /// A row that is compared with the one row of a subquery; false for any other expression.
    fn compared_row(&mut self, expr: &Expr) -> bool {
        let call_of = |part: &'_ Expr| match &part.kind {
            ExprKind::Call(call) if call.operator => Some(call.clone()),
            _ => None,
        };
        let calls: Option<Vec<Call>> = match &expr.kind {
            ExprKind::And(list) | ExprKind::Or(list) => list.iter().map(call_of).collect(),
            ExprKind::RowCompare { pairs, .. } => Some(pairs.clone()),
            ExprKind::Call(_) => call_of(expr).map(|call| vec![call]),
            _ => None,
        };
        let Some(calls) = calls else { return false };
        let mut row = None;
        for call in &calls {
            match call.args.get(1).map(row_of) {
                Some(Some(at)) if row.is_none_or(|known| known == at) => row = Some(at),
                _ => return false,
            }
        }
        let notes = self.notes;
        let Some(query) = row.and_then(|at| notes.queries.get(&at)) else { return false };
        self.push("((");
        self.separated(&calls, |printer, call| printer.expr(&call.args[0], true));
        let symbol = calls.first().map_or_else(String::new, |call| self.symbol(call));
        let symbol = match &expr.kind {
            ExprKind::RowCompare { symbol, .. } => (*symbol).to_owned(),
            _ => symbol,
        };
        self.push(&format!(") {symbol} ("));
        self.query(query, None, false);
        self.push("))");
        true
    }

    /// The operand that is compared with the rows of a subquery.
    fn left_of(&mut self, test: &Test) {
        match &test.calls[..] {
            [call] => self.expr(&call.args[0], true),
            calls => {
                self.push("(");
                self.separated(calls, |printer, call| printer.expr(&call.args[0], true));
                self.push(")");
            }
        }
    }
}

/// Where the subquery stands whose row's field an expression is.
fn row_of(expr: &Expr) -> Option<crate::error::At> {
    match &expr.kind {
        ExprKind::Cast { expr: inner, .. } => row_of(inner),
        ExprKind::Field { expr: row, .. } => match &row.kind {
            ExprKind::Subquery(subquery) if matches!(subquery.link, Link::Row) => Some(row.at),
            _ => None,
        },
        _ => None,
    }
}

/// True if an operand of an arithmetic operator needs no parentheses inside of another.
fn binds_first(call: &Call, outer: &Call, expr: &Expr) -> bool {
    let rank = |call: &Call| match binary(call)?.as_bytes() {
        [b'+' | b'-', ..] => Some(1),
        [b'*' | b'/' | b'%', ..] => Some(2),
        _ => None,
    };
    let (Some(inner), Some(around)) = (rank(call), rank(outer)) else { return false };
    let is_first = outer.args.first().is_some_and(|first| std::ptr::eq(first, expr));
    inner > around || inner == around && is_first
}
