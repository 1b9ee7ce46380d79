//! Expressions, by precedence.
//!
//! ```text
//!   OR  <  AND  <  NOT  <  IS  <  = < > <= >= <>  <  BETWEEN IN LIKE  <  other operators
//!       <  + -  <  * / %  <  ^  <  AT TIME ZONE  <  COLLATE  <  unary + -  <  [ ] :: .
//! ```
//!
//! Each loop takes the operators that bind at least as tightly as `least`. `most` is what may
//! follow without parentheses: comparisons, `LIKE` and `IS` do not follow one another, so
//! `1 < 2 < 3` is a syntax error at the second sign.

use types::SqlState;

use super::ast::{Arg, Call, Expr, ExprKind, Link, Name, Operator, OrderItem, Path, Query, Step};
use super::cursor::{CHAIN_MAX, Parser};
use super::keywords;
use super::lexer::Token;
use crate::error::{At, Error, Result};

/// How tightly operators bind.
pub(super) mod level {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const IS: u8 = 4;
    pub const COMPARE: u8 = 5;
    pub const LIKE: u8 = 6;
    pub const OTHER: u8 = 8;
    pub const ADD: u8 = 9;
    pub const MULTIPLY: u8 = 10;
    pub const POWER: u8 = 11;
    pub const AT: u8 = 12;
    pub const COLLATE: u8 = 13;
    pub const UNARY: u8 = 14;
    pub const PRIMARY: u8 = 16;
}

fn expr(kind: ExprKind, at: At) -> Expr {
    Expr { kind, at }
}

/// A call that the grammar has a syntax of its own for.
pub(super) fn syntax_call(name: &str, args: Vec<Expr>, at: At) -> Expr {
    let mut call = plain_call(Path::system(name, at), args);
    call.syntax = true;
    expr(ExprKind::Call(Box::new(call)), at)
}

/// A call with nothing but arguments.
pub(super) fn plain_call(name: Path, args: Vec<Expr>) -> Call {
    Call {
        name,
        args: args.into_iter().map(|value| Arg { name: None, value }).collect(),
        star: false,
        distinct: false,
        variadic: false,
        order: Vec::new(),
        within_group: Vec::new(),
        filter: None,
        over: None,
        syntax: false,
    }
}

impl<'a> Parser<'a> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.expr_above(level::OR)
    }

    /// An expression of operators that bind at least as tightly as `least`.
    pub(super) fn expr_above(&mut self, least: u8) -> Result<Expr> {
        self.deeper(|parser| {
            let (first, most) = parser.prefix()?;
            parser.infixes(first, least, most)
        })
    }

    /// The operand that begins an expression, and what may follow it without parentheses.
    fn prefix(&mut self) -> Result<(Expr, u8)> {
        let at = self.at();
        match self.peek(0) {
            Token::Word(word) if word == "not" => {
                self.skip(1);
                let operand = self.expr_above(level::NOT)?;
                Ok((expr(ExprKind::Not(Box::new(operand)), at), level::NOT))
            }
            Token::Symbol(symbol) if symbol == "+" || symbol == "-" => {
                let symbol = symbol.clone().into_owned();
                self.skip(1);
                let operand = self.expr_above(level::UNARY)?;
                Ok((self.prefix_op(symbol, None, at, operand), level::UNARY))
            }
            Token::Symbol(symbol)
                if !matches!(&**symbol, "*" | "/" | "%" | "^" | "<" | ">" | "=") =>
            {
                let symbol = symbol.clone().into_owned();
                self.skip(1);
                let operand = self.expr_above(level::OTHER + 1)?;
                Ok((self.prefix_op(symbol, None, at, operand), level::OTHER))
            }
            Token::Word(word) if word == "operator" && self.is_punct(1, "(") => {
                let op = self.qualified_operator()?;
                let operand = self.expr_above(level::OTHER + 1)?;
                Ok((self.prefix_op(op.symbol, op.schema, at, operand), level::OTHER))
            }
            _ => Ok((self.primary()?, level::PRIMARY)),
        }
    }

    fn prefix_op(&self, symbol: String, schema: Option<Name>, at: At, operand: Expr) -> Expr {
        // The sign of a number is part of it, as far as its type is concerned.
        if let ("-", None, ExprKind::Number(digits)) = (symbol.as_str(), &schema, &operand.kind) {
            let opposite = match digits.strip_prefix('-') {
                Some(digits) => digits.to_owned(),
                None => format!("-{digits}"),
            };
            return expr(ExprKind::Number(opposite), at);
        }
        let op = Operator { schema, symbol, at };
        expr(ExprKind::Op { op, left: None, right: Box::new(operand) }, at)
    }

    /// How tightly the operator that comes next binds; 0 where there is none.
    fn infix_level(&self) -> u8 {
        match self.peek(0) {
            Token::Symbol(symbol) => match &**symbol {
                "=" | "<" | ">" | "<=" | ">=" | "<>" => level::COMPARE,
                "+" | "-" => level::ADD,
                "*" | "/" | "%" => level::MULTIPLY,
                "^" => level::POWER,
                _ => level::OTHER,
            },
            Token::Word(word) => match &**word {
                "or" => level::OR,
                "and" => level::AND,
                "is" | "isnull" | "notnull" => level::IS,
                "between" | "in" | "like" | "ilike" | "similar" => level::LIKE,
                "not" => match self.word(1) {
                    Some("between" | "in" | "like" | "ilike" | "similar") => level::LIKE,
                    _ => 0,
                },
                "operator" if self.is_punct(1, "(") => level::OTHER,
                "overlaps" => level::OTHER,
                "at" if matches!(self.word(1), Some("time" | "local")) => level::AT,
                "collate" => level::COLLATE,
                _ => 0,
            },
            Token::Punct("::") => level::PRIMARY,
            _ => 0,
        }
    }

    /// Takes the operators that follow `left`.
    pub(super) fn infixes(&mut self, mut left: Expr, least: u8, mut most: u8) -> Result<Expr> {
        for _ in 0..CHAIN_MAX {
            let found = self.infix_level();
            if found == 0 || found < least || found > most {
                return Ok(left);
            }
            left = self.infix(left, found)?;
            most = match (found, &left.kind) {
                // Nothing is open to its right: any operator may take it as it is.
                (_, ExprKind::AnyAll { .. } | ExprKind::Subquery { .. }) => level::PRIMARY,
                (level::LIKE, ExprKind::InList { .. } | ExprKind::Not(_)) => level::PRIMARY,
                (level::IS, ExprKind::IsDistinct { .. }) | (level::COMPARE, _) => found - 1,
                (level::LIKE, ExprKind::Op { .. } | ExprKind::Between { .. }) => found - 1,
                (level::IS, _) => level::PRIMARY,
                _ => found,
            };
        }
        Err(self.too_deep())
    }

    fn infix(&mut self, left: Expr, found: u8) -> Result<Expr> {
        match found {
            level::OR | level::AND => self.connective(left, found),
            level::IS => self.is_test(left),
            level::LIKE => self.like(left),
            level::AT => self.at_time_zone(left),
            level::COLLATE => {
                let at = self.at();
                self.skip(1);
                let collation = self.path()?;
                Ok(expr(ExprKind::Collate { expr: Box::new(left), collation }, at))
            }
            level::PRIMARY => {
                let at = self.at();
                self.skip(1);
                let to = self.type_name()?;
                Ok(expr(ExprKind::Cast { expr: Box::new(left), to }, at))
            }
            _ if self.is(&["overlaps"]) => self.overlaps(left),
            _ => self.operator(left, found),
        }
    }

    /// A run of `AND` or `OR`, kept flat so that long ones do not nest.
    fn connective(&mut self, left: Expr, found: u8) -> Result<Expr> {
        let at = self.at();
        let word = if found == level::OR { "or" } else { "and" };
        let mut operands = vec![left];
        while self.eat(&[word]) {
            operands.push(self.expr_above(found + 1)?);
        }
        let kind =
            if found == level::OR { ExprKind::Or(operands) } else { ExprKind::And(operands) };
        Ok(expr(kind, at))
    }

    /// Takes an operator, which may be written `OPERATOR(schema.+)`.
    pub(super) fn any_operator(&mut self) -> Result<Operator> {
        let at = self.at();
        match self.peek(0) {
            Token::Symbol(symbol) => {
                let symbol = symbol.clone().into_owned();
                self.skip(1);
                Ok(Operator { schema: None, symbol, at })
            }
            Token::Word(word) if word == "operator" => self.qualified_operator(),
            _ => Err(self.unexpected()),
        }
    }

    fn qualified_operator(&mut self) -> Result<Operator> {
        let at = self.at();
        self.skip(1);
        self.expect_punct("(")?;
        let mut schema = None;
        while !matches!(self.peek(0), Token::Symbol(_)) {
            schema = Some(self.name()?);
            self.expect_punct(".")?;
        }
        let Token::Symbol(symbol) = self.take() else { return Err(self.unexpected()) };
        self.expect_punct(")")?;
        Ok(Operator { schema, symbol: symbol.into_owned(), at })
    }

    fn operator(&mut self, left: Expr, found: u8) -> Result<Expr> {
        let op = self.any_operator()?;
        if self.is_any(&["any", "some", "all"]) && self.is_punct(1, "(") {
            return self.any_or_all(left, op);
        }
        let at = op.at;
        let right = Box::new(self.expr_above(found + 1)?);
        Ok(expr(ExprKind::Op { op, left: Some(Box::new(left)), right }, at))
    }

    /// `ANY (...)`, `SOME (...)` or `ALL (...)` after an operator.
    fn any_or_all(&mut self, left: Expr, op: Operator) -> Result<Expr> {
        let at = op.at;
        let all = self.is(&["all"]);
        self.skip(1);
        self.expect_punct("(")?;
        let left = Box::new(left);
        let right = self.query_or(Self::expr)?;
        self.expect_punct(")")?;
        Ok(match right {
            Inner::Query(query) => {
                let link = if all { Link::All(left, op) } else { Link::Any(left, op) };
                expr(ExprKind::Subquery { link, query }, at)
            }
            Inner::Other(right) => {
                expr(ExprKind::AnyAll { op, all, left, right: Box::new(right) }, at)
            }
        })
    }

    /// Parses the test after `IS`, and the words that are short for it.
    fn is_test(&mut self, left: Expr) -> Result<Expr> {
        let at = self.at();
        let left = Box::new(left);
        if self.eat(&["isnull"]) {
            return Ok(expr(ExprKind::IsNull { expr: left, negated: false }, at));
        }
        if self.eat(&["notnull"]) {
            return Ok(expr(ExprKind::IsNull { expr: left, negated: true }, at));
        }
        self.skip(1);
        let negated = self.eat(&["not"]);
        let kind = match self.word(0) {
            Some("null") => ExprKind::IsNull { expr: left, negated },
            Some("true") => ExprKind::IsBool { expr: left, value: Some(true), negated },
            Some("false") => ExprKind::IsBool { expr: left, value: Some(false), negated },
            Some("unknown") => ExprKind::IsBool { expr: left, value: None, negated },
            Some("distinct") => {
                self.skip(1);
                self.expect(&["from"])?;
                let right = Box::new(self.expr_above(level::IS + 1)?);
                return Ok(expr(ExprKind::IsDistinct { left, right, negated }, at));
            }
            Some("normalized" | "nfc" | "nfd" | "nfkc" | "nfkd") => {
                return self.is_normalized(*left, negated, at);
            }
            Some("json") => return Ok(self.is_json(left, negated, at)),
            Some("document") => return Err(self.not_supported("IS DOCUMENT")),
            _ => return Err(self.unexpected()),
        };
        self.skip(1);
        Ok(expr(kind, at))
    }

    fn is_normalized(&mut self, left: Expr, negated: bool, at: At) -> Result<Expr> {
        let mut args = vec![left];
        if let Some(form) = self.word(0).filter(|word| *word != "normalized") {
            args.push(expr(ExprKind::String(form.to_uppercase()), self.at()));
            self.skip(1);
        }
        self.expect(&["normalized"])?;
        let test = syntax_call("is_normalized", args, at);
        Ok(if negated { expr(ExprKind::Not(Box::new(test)), at) } else { test })
    }

    /// The error about something that PostgreSQL has and this server does not.
    pub(super) fn not_supported(&self, what: &str) -> Error {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
            .at(self.at())
    }

    /// `[NOT] LIKE`, `ILIKE`, `SIMILAR TO`, `BETWEEN`, `IN`
    fn like(&mut self, left: Expr) -> Result<Expr> {
        let at = self.at();
        let negated = self.eat(&["not"]);
        let Token::Word(word) = self.take() else { return Err(self.unexpected()) };
        match &*word {
            "between" => self.between(left, negated, at),
            "in" => self.in_list(left, negated, at),
            word => {
                if word == "similar" {
                    self.expect(&["to"])?;
                }
                let symbol = match (word, negated) {
                    ("like", false) => "~~",
                    ("like", true) => "!~~",
                    ("ilike", false) => "~~*",
                    ("ilike", true) => "!~~*",
                    (_, false) => "~",
                    (_, true) => "!~",
                };
                let op = Operator { schema: None, symbol: symbol.to_owned(), at };
                if word != "similar"
                    && self.is_any(&["any", "some", "all"])
                    && self.is_punct(1, "(")
                {
                    return self.any_or_all(left, op);
                }
                let mut right = self.expr_above(level::LIKE + 1)?;
                let escape = match self.eat(&["escape"]) {
                    true => Some(self.expr_above(level::LIKE + 1)?),
                    false => None,
                };
                if word == "similar" {
                    let args = std::iter::once(right).chain(escape).collect();
                    right = syntax_call("similar_to_escape", args, at);
                } else if let Some(escape) = escape {
                    right = syntax_call("like_escape", vec![right, escape], at);
                }
                Ok(expr(
                    ExprKind::Op { op, left: Some(Box::new(left)), right: Box::new(right) },
                    at,
                ))
            }
        }
    }

    fn between(&mut self, left: Expr, negated: bool, at: At) -> Result<Expr> {
        let symmetric = self.eat(&["symmetric"]);
        if !symmetric {
            self.eat(&["asymmetric"]);
        }
        let low = Box::new(self.expr_above(level::COMPARE)?);
        self.expect(&["and"])?;
        let high = Box::new(self.expr_above(level::LIKE + 1)?);
        let kind = ExprKind::Between { expr: Box::new(left), low, high, negated, symmetric };
        Ok(expr(kind, at))
    }

    fn in_list(&mut self, left: Expr, negated: bool, at: At) -> Result<Expr> {
        self.expect_punct("(")?;
        let inner = self.query_or(|parser| parser.list(Self::expr))?;
        self.expect_punct(")")?;
        let left = Box::new(left);
        Ok(match inner {
            Inner::Other(list) => expr(ExprKind::InList { expr: left, list, negated }, at),
            Inner::Query(query) => {
                let link = Link::In(left);
                let test = expr(ExprKind::Subquery { link, query }, at);
                if negated { expr(ExprKind::Not(Box::new(test)), at) } else { test }
            }
        })
    }

    fn at_time_zone(&mut self, left: Expr) -> Result<Expr> {
        let at = self.at();
        self.skip(1);
        if self.eat(&["local"]) {
            return Ok(syntax_call("timezone", vec![left], at));
        }
        self.expect(&["time", "zone"])?;
        let zone = self.expr_above(level::AT + 1)?;
        Ok(syntax_call("timezone", vec![zone, left], at))
    }

    fn overlaps(&mut self, left: Expr) -> Result<Expr> {
        let at = self.at();
        self.skip(1);
        let right = self.expr_above(level::OTHER + 1)?;
        let mut args = Vec::with_capacity(4);
        for (side, name) in [(left, "left"), (right, "right")] {
            match side.kind {
                ExprKind::Row { fields, .. } if fields.len() == 2 => args.extend(fields),
                ExprKind::Row { .. } => {
                    let message =
                        format!("wrong number of parameters on {name} side of OVERLAPS expression");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(side.at));
                }
                _ => {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        "syntax error at or near \"overlaps\"",
                    )
                    .at(at));
                }
            }
        }
        Ok(syntax_call("overlaps", args, at))
    }

    /// A constant, column, call, or something in parentheses, with the steps into it.
    fn primary(&mut self) -> Result<Expr> {
        let at = self.at();
        match self.peek(0).clone() {
            Token::Number(digits) => {
                self.skip(1);
                Ok(expr(ExprKind::Number(digits.into_owned()), at))
            }
            Token::String(text) => {
                self.skip(1);
                Ok(expr(ExprKind::String(text.into_owned()), at))
            }
            Token::Bits(digits) => {
                self.skip(1);
                Ok(expr(ExprKind::Bits(digits), at))
            }
            Token::Param(number) => {
                self.skip(1);
                self.steps(expr(ExprKind::Param(number), at))
            }
            Token::Punct("(") => {
                let inner = self.parenthesised()?;
                self.steps(inner)
            }
            Token::Quoted(_) => self.column_or_call(),
            Token::Word(word) => match self.special(&word)? {
                Some(special) => Ok(special),
                None => self.column_or_call(),
            },
            _ => Err(self.unexpected()),
        }
    }

    /// The fields and subscripts that follow an expression.
    fn steps(&mut self, base: Expr) -> Result<Expr> {
        let steps = self.step_list()?;
        if steps.is_empty() {
            return Ok(base);
        }
        let at = base.at;
        Ok(expr(ExprKind::Indirection { base: Box::new(base), steps }, at))
    }

    /// `.field`, `.*`, `[i]` and `[low:high]`, as many as there are.
    pub(super) fn step_list(&mut self) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if self.eat_punct(".") {
                let at = self.at();
                if self.eat_symbol("*") {
                    steps.push(Step::Star(at));
                    return Ok(steps);
                }
                steps.push(Step::Field(self.label()?));
            } else if self.eat_punct("[") {
                steps.push(self.subscript()?);
            } else {
                return Ok(steps);
            }
        }
    }

    fn subscript(&mut self) -> Result<Step> {
        if self.eat_punct(":") {
            let high = if self.is_punct(0, "]") { None } else { Some(self.expr()?) };
            self.expect_punct("]")?;
            return Ok(Step::Slice(None, high));
        }
        let low = self.expr()?;
        if self.eat_punct("]") {
            return Ok(Step::Index(low));
        }
        self.expect_punct(":")?;
        let high = if self.is_punct(0, "]") { None } else { Some(self.expr()?) };
        self.expect_punct("]")?;
        Ok(Step::Slice(Some(low), high))
    }

    /// `(e)`, `(a, b)` or `(SELECT ...)`
    fn parenthesised(&mut self) -> Result<Expr> {
        let at = self.at();
        self.expect_punct("(")?;
        let inner = self.query_or(|parser| parser.list(Self::expr))?;
        self.expect_punct(")")?;
        match inner {
            Inner::Query(query) => Ok(expr(ExprKind::Subquery { link: Link::Scalar, query }, at)),
            Inner::Other(mut list) => match (list.pop(), list.is_empty()) {
                (Some(single), true) => Ok(single),
                (last, _) => {
                    list.extend(last);
                    Ok(expr(ExprKind::Row { fields: list, explicit: false }, at))
                }
            },
        }
    }

    /// A query, or what `other` reads, inside parentheses that are open already.
    ///
    /// Only the token behind the inner parentheses tells them apart: `((SELECT 1) + 1)` is an expression and
    /// `((SELECT 1) UNION SELECT 2)` a query. An expression that is nothing but a query in parentheses becomes a query
    /// if the next token continues the query or closes the parentheses.
    pub(super) fn query_or<T: FromExpr>(
        &mut self,
        other: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Inner<T>> {
        if self.is_query_start() {
            return Ok(Inner::Query(Box::new(self.query()?)));
        }
        let mut ahead = 0;
        while self.is_punct(ahead, "(") {
            ahead += 1;
        }
        if ahead == 0 || !self.is_query_start_at(ahead) {
            return Ok(Inner::Other(other(self)?));
        }
        let first = self.deeper(|parser| parser.parenthesised())?;
        match first.kind {
            ExprKind::Subquery { link: Link::Scalar, query } if self.is_query_rest() => {
                Ok(Inner::Query(Box::new(self.query_rest(*query)?)))
            }
            ExprKind::Subquery { link: Link::Scalar, query } if self.is_punct(0, ")") => {
                Ok(Inner::Query(query))
            }
            kind => {
                let first = self.steps(expr(kind, first.at))?;
                let first = self.infixes(first, level::OR, level::PRIMARY)?;
                T::go_on(self, first).map(Inner::Other)
            }
        }
    }

    /// A column, or a call where a parenthesis follows the name, or `type 'literal'`.
    fn column_or_call(&mut self) -> Result<Expr> {
        let at = self.at();
        let mut length = 1;
        while self.is_punct(length, ".")
            && matches!(self.peek(length + 1), Token::Word(_) | Token::Quoted(_))
        {
            length += 2;
        }
        match self.peek(length) {
            Token::Punct("(") => {
                let name = self.function_path()?;
                return self.call(name, at);
            }
            Token::String(text) if self.is_type_word() => {
                let text = text.clone().into_owned();
                let name = self.function_path()?;
                let literal = expr(ExprKind::String(text), self.at());
                self.skip(1);
                let to = super::ast::TypeName {
                    name,
                    modifiers: Vec::new(),
                    fields: None,
                    dimensions: 0,
                    set: false,
                    at,
                };
                return Ok(expr(ExprKind::Cast { expr: Box::new(literal), to }, at));
            }
            _ => {}
        }
        let mut names = vec![self.name()?];
        loop {
            if self.is_punct(0, ".") && self.is_symbol(1, "*") {
                self.skip(2);
                return Ok(expr(ExprKind::Star(names), at));
            }
            if !self.eat_punct(".") {
                break;
            }
            names.push(self.label()?);
        }
        let column = expr(ExprKind::Column(names), at);
        if self.is_punct(0, "[") { self.steps(column) } else { Ok(column) }
    }

    /// True if the next token may be the first of the name of a type.
    fn is_type_word(&self) -> bool {
        match self.peek(0) {
            Token::Quoted(_) => true,
            Token::Word(word) => keywords::names_function(word) || self.is_punct(1, "."),
            _ => false,
        }
    }

    /// The arguments of a call and what follows them.
    fn call(&mut self, name: Path, at: At) -> Result<Expr> {
        let mut call = plain_call(name, Vec::new());
        self.expect_punct("(")?;
        if self.eat_symbol("*") {
            call.star = true;
        } else if !self.is_punct(0, ")") {
            call.distinct = self.eat(&["distinct"]);
            if !call.distinct {
                self.eat(&["all"]);
            }
            loop {
                call.variadic = self.eat(&["variadic"]);
                call.args.push(self.argument()?);
                if call.variadic || !self.eat_punct(",") {
                    break;
                }
            }
            call.order = self.order_by()?;
        }
        self.expect_punct(")")?;
        let plain = !call.star && !call.distinct && call.order.is_empty();
        if let (Token::String(text), true) = (self.peek(0), plain) {
            let literal = expr(ExprKind::String(text.clone().into_owned()), self.at());
            self.skip(1);
            let to = super::ast::TypeName {
                name: call.name,
                modifiers: call.args.into_iter().map(|arg| arg.value).collect(),
                fields: None,
                dimensions: 0,
                set: false,
                at,
            };
            return Ok(expr(ExprKind::Cast { expr: Box::new(literal), to }, at));
        }
        self.after_call(&mut call)?;
        Ok(expr(ExprKind::Call(Box::new(call)), at))
    }

    /// `WITHIN GROUP`, `FILTER` and `OVER`
    pub(super) fn after_call(&mut self, call: &mut Call) -> Result<()> {
        let within = self.at();
        if self.is(&["within", "group"]) {
            self.skip(2);
            let problem = match () {
                () if !call.order.is_empty() => {
                    Some("cannot use multiple ORDER BY clauses with WITHIN GROUP")
                }
                () if call.distinct => Some("cannot use DISTINCT with WITHIN GROUP"),
                () if call.variadic => Some("cannot use VARIADIC with WITHIN GROUP"),
                () => None,
            };
            if let Some(problem) = problem {
                return Err(Error::new(SqlState::SYNTAX_ERROR, problem).at(within));
            }
            self.expect_punct("(")?;
            call.within_group = self.order_by()?;
            if call.within_group.is_empty() {
                return Err(self.unexpected());
            }
            self.expect_punct(")")?;
        }
        if self.is(&["filter"]) && self.is_punct(1, "(") {
            self.skip(2);
            self.expect(&["where"])?;
            call.filter = Some(self.expr()?);
            self.expect_punct(")")?;
        }
        if self.eat(&["over"]) {
            call.over = Some(self.over()?);
        }
        Ok(())
    }

    fn argument(&mut self) -> Result<Arg> {
        let named = matches!(self.peek(0), Token::Word(_) | Token::Quoted(_))
            && (self.is_punct(1, "=>") || self.is_punct(1, ":="));
        if named {
            let name = self.label()?;
            self.skip(1);
            return Ok(Arg { name: Some(name), value: self.expr()? });
        }
        Ok(Arg { name: None, value: self.expr()? })
    }

    /// `ORDER BY ...`, or nothing.
    pub(super) fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        if !self.eat(&["order"]) {
            return Ok(Vec::new());
        }
        self.expect(&["by"])?;
        self.list(Self::order_item)
    }

    fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expr()?;
        let mut item = OrderItem { expr, descending: false, nulls_first: None, using: None };
        if self.eat(&["using"]) {
            item.using = Some(self.any_operator()?);
        } else if self.eat(&["desc"]) {
            item.descending = true;
        } else {
            self.eat(&["asc"]);
        }
        if self.eat(&["nulls", "first"]) {
            item.nulls_first = Some(true);
        } else if self.eat(&["nulls", "last"]) {
            item.nulls_first = Some(false);
        }
        Ok(item)
    }
}

/// The content of parentheses: a query or something else.
pub(super) enum Inner<T> {
    /// A query.
    Query(Box<Query>),
    /// Something else.
    Other(T),
}

/// A node that an expression may begin.
pub(super) trait FromExpr: Sized {
    /// Reads on after its first expression.
    fn go_on(parser: &mut Parser<'_>, first: Expr) -> Result<Self>;
}

impl FromExpr for Expr {
    fn go_on(_: &mut Parser<'_>, first: Expr) -> Result<Self> {
        Ok(first)
    }
}

impl FromExpr for Vec<Expr> {
    fn go_on(parser: &mut Parser<'_>, first: Expr) -> Result<Self> {
        let mut list = vec![first];
        while parser.eat_punct(",") {
            list.push(parser.expr()?);
        }
        Ok(list)
    }
}
