//! From tokens to a path.
//!
//! ```text
//!   path        [strict | lax] any
//!   any         or                                   an expression or a predicate
//!   or          and  { || and }
//!   and         not  { && not }
//!   not         exists ( sum )  |  ! ( predicate )  |  ! exists (…)  |  comparison
//!   comparison  sum [ == sum | starts with … | like_regex … ]
//!   sum         product { + product }
//!   product     sign    { * sign }
//!   sign        - sign  |  accessors
//!   accessors   primary { .key  [n]  ?(…)  .method() … }
//!   primary     literal  $  @  last  $x  ( any )
//! ```
//!
//! Parentheses may hold an expression or a predicate, and which of them is allowed depends on what follows. So every
//! level returns a [`Term`], and the operators ask for the kind that they need. If the term is of the other kind, the
//! token that follows does not fit, and PostgreSQL reports its error there too.
//!
//! Nesting is limited to [`DEPTH_MAX`], so that whatever walks a path may recurse.

use numeric::Numeric;

use super::error::PathError;
use super::lexer::{Lexer, Token};
use super::regex::Pattern;
use super::syntax::{
    Comparison, Expr, Head, LEVEL_LAST, Method, Operator, Predicate, Range, Sign, Step,
};
use crate::jsonb::Jsonb;

/// How deep expressions and predicates stand in each other.
pub(super) const DEPTH_MAX: usize = 128;

/// The kind of a piece of a path.
enum Term {
    Value(Expr),
    /// A predicate.
    Truth(Predicate, Closed),
}

/// Whether a predicate stood in parentheses: only then accessors and `is unknown` may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    No,
    Yes,
}

/// The mode and the expression of a path.
pub(super) fn parse(text: &str) -> Result<(bool, Expr), PathError> {
    let mut parser = Parser { lexer: Lexer::new(text), token: Token::End, depth: 0 };
    parser.advance()?;
    if parser.token == Token::End {
        return Err(PathError::Empty(text.to_owned()));
    }
    let lax = !parser.take_word("strict")?;
    if lax {
        parser.take_word("lax")?;
    }
    let expr = match parser.any()? {
        Term::Value(expr) => expr,
        Term::Truth(predicate, _) => head(Head::Predicate(Box::new(predicate))),
    };
    if parser.token != Token::End {
        return Err(parser.unexpected());
    }
    Scope { filter: false, subscript: false }.check(&expr)?;
    Ok((lax, expr))
}

fn head(head: Head) -> Expr {
    Expr { head, steps: Vec::new() }
}

/// A number as the lexer found it.
fn number(digits: &str) -> Result<Jsonb, PathError> {
    let number: Numeric = digits.parse()?;
    Ok(Jsonb::number(&number))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token that is looked at.
    token: Token,
    depth: usize,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, PathError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    #[cold]
    fn unexpected(&self) -> PathError {
        self.lexer.error("syntax error")
    }

    fn special(&self) -> Option<&'static str> {
        match self.token {
            Token::Special(token) => Some(token),
            _ => None,
        }
    }

    fn is(&self, special: &str) -> bool {
        self.special() == Some(special)
    }

    /// Takes the token if it is this special one.
    fn take(&mut self, special: &str) -> Result<bool, PathError> {
        let there = self.is(special);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect(&mut self, special: &str) -> Result<(), PathError> {
        if self.take(special)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// True if the token is this word of the grammar, in any case.
    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Name(name) if name.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> Result<bool, PathError> {
        let there = self.is_word(word);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect_word(&mut self, word: &str) -> Result<(), PathError> {
        if self.take_word(word)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, PathError>,
    ) -> Result<T, PathError> {
        self.depth += 1;
        let result = if self.depth > DEPTH_MAX { Err(PathError::TooDeep) } else { inner(self) };
        self.depth -= 1;
        result
    }

    /// The term as an expression.
    fn value(&self, term: Term) -> Result<Expr, PathError> {
        match term {
            Term::Value(expr) => Ok(expr),
            Term::Truth(..) => Err(self.unexpected()),
        }
    }

    /// The term as a predicate.
    fn truth(&self, term: Term) -> Result<Predicate, PathError> {
        match term {
            Term::Truth(predicate, _) => Ok(predicate),
            Term::Value(_) => Err(self.unexpected()),
        }
    }

    fn any(&mut self) -> Result<Term, PathError> {
        self.deeper(Self::or)
    }

    fn predicate(&mut self) -> Result<Predicate, PathError> {
        let term = self.any()?;
        self.truth(term)
    }

    fn or(&mut self) -> Result<Term, PathError> {
        self.row("||", Predicate::Or, Self::and)
    }

    fn and(&mut self) -> Result<Term, PathError> {
        self.row("&&", Predicate::And, Self::not)
    }

    /// Predicates with one operator between them.
    fn row(
        &mut self,
        operator: &str,
        join: fn(Vec<Predicate>) -> Predicate,
        next: fn(&mut Self) -> Result<Term, PathError>,
    ) -> Result<Term, PathError> {
        let first = next(self)?;
        if !self.is(operator) {
            return Ok(first);
        }
        // Parentheses around the left side of a row of its own kind change nothing.
        let mut row = match (self.truth(first)?, operator) {
            (Predicate::And(row), "&&") | (Predicate::Or(row), "||") => row,
            (other, _) => vec![other],
        };
        while self.take(operator)? {
            let term = next(self)?;
            row.push(self.truth(term)?);
        }
        Ok(Term::Truth(join(row), Closed::No))
    }

    fn not(&mut self) -> Result<Term, PathError> {
        if self.is_word("exists") {
            return Ok(Term::Truth(self.exists()?, Closed::No));
        }
        if !self.take("!")? {
            return self.comparison();
        }
        if !self.is("(") && !self.is_word("exists") {
            return Err(self.unexpected());
        }
        let inner = self.deeper(|parser| match parser.take("(")? {
            true => {
                let inner = parser.predicate()?;
                parser.expect(")")?;
                Ok(inner)
            }
            false => parser.exists(),
        })?;
        Ok(Term::Truth(Predicate::Not(Box::new(inner)), Closed::No))
    }

    fn comparison(&mut self) -> Result<Term, PathError> {
        let left = self.sum()?;
        let comparison = match &self.token {
            Token::Special("==") => Comparison::Equal,
            Token::Special("!=" | "<>") => Comparison::NotEqual,
            Token::Special("<") => Comparison::Less,
            Token::Special("<=") => Comparison::LessOrEqual,
            Token::Special(">") => Comparison::Greater,
            Token::Special(">=") => Comparison::GreaterOrEqual,
            _ => return self.word_predicate(left),
        };
        let left = self.value(left)?;
        self.advance()?;
        let right = self.sum()?;
        let right = self.value(right)?;
        Ok(Term::Truth(Predicate::Compare(comparison, Box::new((left, right))), Closed::No))
    }

    /// The predicates that are written in words; `left` itself where there is none.
    fn word_predicate(&mut self, left: Term) -> Result<Term, PathError> {
        if let Term::Truth(inner, Closed::Yes) = left {
            if !self.take_word("is")? {
                return Ok(Term::Truth(inner, Closed::Yes));
            }
            self.expect_word("unknown")?;
            return Ok(Term::Truth(Predicate::IsUnknown(Box::new(inner)), Closed::No));
        }
        let starts = self.is_word("starts");
        if !starts && !self.is_word("like_regex") {
            return Ok(left);
        }
        let left = self.value(left)?;
        self.advance()?;
        let predicate = if starts {
            self.expect_word("with")?;
            let initial = match &self.token {
                Token::String(_) | Token::Variable(_) => self.primary()?,
                _ => return Err(self.unexpected()),
            };
            Predicate::StartsWith(Box::new((left, self.value(initial)?)))
        } else {
            let pattern = self.string()?;
            let flags = if self.take_word("flag")? { self.string()? } else { String::new() };
            Predicate::LikeRegex(Box::new((left, Pattern::new(pattern, &flags)?)))
        };
        Ok(Term::Truth(predicate, Closed::No))
    }

    fn string(&mut self) -> Result<String, PathError> {
        match &self.token {
            Token::String(_) => match self.advance()? {
                Token::String(string) => Ok(string),
                _ => unreachable!("the token is a string"),
            },
            _ => Err(self.unexpected()),
        }
    }

    fn sum(&mut self) -> Result<Term, PathError> {
        self.arithmetic(Self::product, |token| match token {
            "+" => Some(Operator::Add),
            "-" => Some(Operator::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Result<Term, PathError> {
        self.arithmetic(Self::sign, |token| match token {
            "*" => Some(Operator::Multiply),
            "/" => Some(Operator::Divide),
            "%" => Some(Operator::Remainder),
            _ => None,
        })
    }

    /// Expressions with operators of one rank between them.
    fn arithmetic(
        &mut self,
        next: fn(&mut Self) -> Result<Term, PathError>,
        operator: fn(&str) -> Option<Operator>,
    ) -> Result<Term, PathError> {
        let first = next(self)?;
        if self.special().and_then(operator).is_none() {
            return Ok(first);
        }
        // Parentheses around the left side of a row of its own rank change nothing.
        let (first, mut row) = match self.value(first)? {
            Expr { head: Head::Arithmetic(first, row), steps }
                if steps.is_empty() && operator(row[0].0.text()).is_some() =>
            {
                (first, row)
            }
            other => (Box::new(other), Vec::new()),
        };
        while let Some(operator) = self.special().and_then(operator) {
            self.advance()?;
            let term = next(self)?;
            row.push((operator, self.value(term)?));
        }
        Ok(Term::Value(head(Head::Arithmetic(first, row))))
    }

    fn sign(&mut self) -> Result<Term, PathError> {
        let sign = match &self.token {
            Token::Special("+") => Sign::Plus,
            Token::Special("-") => Sign::Minus,
            _ => return self.accessors(),
        };
        self.advance()?;
        let operand = self.deeper(Self::sign)?;
        let operand = self.value(operand)?;
        // The sign of a number is a part of it.
        if let Expr { head: Head::Literal(value), steps } = &operand
            && let Some(number) = value.root().as_number()
            && steps.is_empty()
        {
            let number = number.to_numeric();
            let number = if sign == Sign::Minus { number.neg() } else { number };
            return Ok(Term::Value(head(Head::Literal(Jsonb::number(&number)))));
        }
        Ok(Term::Value(head(Head::Sign(sign, Box::new(operand)))))
    }

    fn accessors(&mut self) -> Result<Term, PathError> {
        let mut term = self.primary()?;
        while matches!(&self.token, Token::Special("." | "[" | "?")) {
            let mut expr = match term {
                Term::Value(expr) => expr,
                Term::Truth(inner, Closed::Yes) => head(Head::Predicate(Box::new(inner))),
                Term::Truth(..) => return Err(self.unexpected()),
            };
            expr.steps.push(self.step()?);
            term = Term::Value(expr);
        }
        Ok(term)
    }

    fn primary(&mut self) -> Result<Term, PathError> {
        let expr = match &self.token {
            Token::Special("(") => {
                self.advance()?;
                let inner = self.any()?;
                self.expect(")")?;
                return Ok(match inner {
                    Term::Truth(predicate, _) => Term::Truth(predicate, Closed::Yes),
                    value => value,
                });
            }
            Token::Special("$") => head(Head::Root),
            Token::Special("@") => head(Head::Current),
            Token::Variable(name) => head(Head::Variable(name.clone())),
            Token::String(string) => head(Head::Literal(Jsonb::string(string)?)),
            Token::Integer(digits) | Token::Decimal(digits) => head(Head::Literal(number(digits)?)),
            Token::Name(name) => match name.as_str() {
                "null" => head(Head::Literal(Jsonb::default())),
                "true" => head(Head::Literal(Jsonb::bool(true))),
                "false" => head(Head::Literal(Jsonb::bool(false))),
                name if name.eq_ignore_ascii_case("last") => head(Head::Last),
                _ => return Err(self.unexpected()),
            },
            _ => return Err(self.unexpected()),
        };
        self.advance()?;
        Ok(Term::Value(expr))
    }

    fn exists(&mut self) -> Result<Predicate, PathError> {
        self.expect_word("exists")?;
        self.expect("(")?;
        let inner = self.deeper(Self::sum)?;
        let inner = self.value(inner)?;
        self.expect(")")?;
        Ok(Predicate::Exists(inner))
    }

    fn step(&mut self) -> Result<Step, PathError> {
        if self.take("?")? {
            self.expect("(")?;
            let predicate = self.predicate()?;
            self.expect(")")?;
            return Ok(Step::Filter(predicate));
        }
        if self.take("[")? {
            return self.elements();
        }
        self.expect(".")?;
        if self.take("*")? {
            return Ok(Step::AnyKey);
        }
        if self.take("**")? {
            return self.levels();
        }
        match self.advance_if_key()? {
            Some(Token::Name(name)) if self.is("(") => self.method(&name),
            Some(Token::Name(name) | Token::String(name)) => Ok(Step::Key(name)),
            _ => Err(self.unexpected()),
        }
    }

    fn advance_if_key(&mut self) -> Result<Option<Token>, PathError> {
        match &self.token {
            Token::Name(_) | Token::String(_) => self.advance().map(Some),
            _ => Ok(None),
        }
    }

    fn elements(&mut self) -> Result<Step, PathError> {
        if self.take("*")? {
            self.expect("]")?;
            return Ok(Step::AnyElement);
        }
        let mut ranges = Vec::new();
        loop {
            let from = self.deeper(Self::sum)?;
            let from = self.value(from)?;
            let to = match self.take_word("to")? {
                true => {
                    let to = self.deeper(Self::sum)?;
                    Some(self.value(to)?)
                }
                false => None,
            };
            ranges.push(Range { from, to });
            if !self.take(",")? {
                break;
            }
        }
        self.expect("]")?;
        Ok(Step::Elements(ranges))
    }

    fn levels(&mut self) -> Result<Step, PathError> {
        if !self.take("{")? {
            return Ok(Step::AnyLevel { first: 0, last: LEVEL_LAST });
        }
        let first = self.level()?;
        let last = if self.take_word("to")? { self.level()? } else { first };
        self.expect("}")?;
        Ok(Step::AnyLevel { first, last })
    }

    fn level(&mut self) -> Result<u32, PathError> {
        if self.take_word("last")? {
            return Ok(LEVEL_LAST);
        }
        let Token::Integer(digits) = &self.token else { return Err(self.unexpected()) };
        let level = digits.parse::<Numeric>()?.to_i32();
        let level = level.map_err(|_| PathError::LevelOutOfRange(digits.clone()))?;
        self.advance()?;
        Ok(level.unsigned_abs())
    }

    /// The method called `name`, behind the name.
    fn method(&mut self, name: &str) -> Result<Step, PathError> {
        let name = name.to_ascii_lowercase();
        let plain = Method::plain(&name);
        let known = plain.is_some()
            || Method::with_precision(&name, None).is_some()
            || matches!(name.as_str(), "decimal" | "datetime");
        if !known {
            return Err(self.unexpected());
        }
        self.expect("(")?;
        let method = match (plain, name.as_str()) {
            (Some(plain), _) => plain,
            (None, "decimal") => Method::Decimal(self.signed_integers()?),
            (None, "datetime") => Method::Datetime(match &self.token {
                Token::String(_) => Some(self.string()?),
                _ => None,
            }),
            (None, name) => {
                let precision = match &self.token {
                    Token::Integer(digits) => Some(number(digits)?),
                    _ => None,
                };
                if precision.is_some() {
                    self.advance()?;
                }
                Method::with_precision(name, precision).expect("the name is known")
            }
        };
        self.expect(")")?;
        if let Method::Decimal(arguments) = &method
            && arguments.len() > 2
        {
            let detail = ".decimal() can only have an optional precision[,scale].".to_owned();
            return Err(PathError::Meaning { detail });
        }
        Ok(Step::Method(method))
    }

    /// Integers with signs, separated by commas; none before a closing parenthesis.
    fn signed_integers(&mut self) -> Result<Vec<Jsonb>, PathError> {
        let mut integers = Vec::new();
        while integers.is_empty() && !self.is(")") || self.take(",")? {
            let minus = self.take("-")?;
            if !minus {
                self.take("+")?;
            }
            let Token::Integer(digits) = &self.token else { return Err(self.unexpected()) };
            integers.push(number(&format!("{}{digits}", if minus { "-" } else { "" }))?);
            self.advance()?;
        }
        Ok(integers)
    }
}

/// The names that have a meaning at the place of an expression.
#[derive(Clone, Copy)]
struct Scope {
    /// `@`
    filter: bool,
    /// `last`
    subscript: bool,
}

impl Scope {
    /// Proves that `@` and `last` stand only where they mean something.
    fn check(self, expr: &Expr) -> Result<(), PathError> {
        match &expr.head {
            Head::Current if !self.filter => return Err(PathError::CurrentAtRoot),
            Head::Last if !self.subscript => return Err(PathError::LastOutsideSubscript),
            Head::Sign(_, operand) => self.check(operand)?,
            Head::Arithmetic(first, others) => {
                self.check(first)?;
                others.iter().try_for_each(|(_, other)| self.check(other))?;
            }
            Head::Predicate(predicate) => self.check_predicate(predicate)?,
            _ => {}
        }
        for step in &expr.steps {
            match step {
                Step::Filter(predicate) => {
                    Scope { filter: true, ..self }.check_predicate(predicate)?;
                }
                Step::Elements(ranges) => {
                    let inside = Scope { subscript: true, ..self };
                    for Range { from, to } in ranges {
                        inside.check(from)?;
                        to.iter().try_for_each(|to| inside.check(to))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_predicate(self, predicate: &Predicate) -> Result<(), PathError> {
        match predicate {
            Predicate::And(row) | Predicate::Or(row) => {
                row.iter().try_for_each(|predicate| self.check_predicate(predicate))
            }
            Predicate::Not(inner) | Predicate::IsUnknown(inner) => self.check_predicate(inner),
            Predicate::Compare(_, both) | Predicate::StartsWith(both) => {
                self.check(&both.0)?;
                self.check(&both.1)
            }
            Predicate::Exists(expr) => self.check(expr),
            Predicate::LikeRegex(both) => self.check(&both.0),
        }
    }
}
