//! Expressions that the grammar has words of its own for: `CASE`, `CAST`, `EXTRACT`, `TRIM`,
//! `CURRENT_DATE`, constructors of arrays and rows, and windows.
//!
//! A construct that is only another spelling of a function becomes the call, with the arguments in
//! the order of the function: `position(a IN b)` is `pg_catalog.position(b, a)`.

use super::ast::{Bound, Exclude, Expr, ExprKind, Frame, FrameUnit, Link, Name, TypeName, Window};
use super::cursor::Parser;
use super::expr::{level, syntax_call};
use super::lexer::Token;
use crate::error::{At, Result};

fn expr(kind: ExprKind, at: At) -> Expr {
    Expr { kind, at }
}

/// The words that are values, and whether a precision may follow.
const KEYWORDS: [(&str, bool); 12] = [
    ("current_date", false),
    ("current_time", true),
    ("current_timestamp", true),
    ("localtime", true),
    ("localtimestamp", true),
    ("current_role", false),
    ("current_user", false),
    ("session_user", false),
    ("system_user", false),
    ("user", false),
    ("current_catalog", false),
    ("current_schema", false),
];

impl Parser<'_> {
    /// The construct that `word`, which comes next, begins; `None` if it is an ordinary name.
    pub(super) fn special(&mut self, word: &str) -> Result<Option<Expr>> {
        let at = self.at();
        let called = self.is_punct(1, "(");
        if let Some((word, precise)) = KEYWORDS.iter().find(|(known, _)| *known == word)
            && !(called && *word == "current_schema")
        {
            self.skip(1);
            return self.keyword(word, *precise, at).map(Some);
        }
        let kind = match word {
            "null" => self.constant(ExprKind::Null),
            "true" => self.constant(ExprKind::Bool(true)),
            "false" => self.constant(ExprKind::Bool(false)),
            "default" => self.constant(ExprKind::Default),
            "case" => self.case()?,
            "cast" => self.cast()?,
            "array" => self.array()?,
            "row" if called => self.row()?,
            "exists" if called => {
                self.skip(2);
                let query = Box::new(self.query()?);
                self.expect_punct(")")?;
                ExprKind::Subquery { link: Link::Exists, query }
            }
            "coalesce" if called => ExprKind::Coalesce(self.arguments()?),
            "greatest" if called => ExprKind::Greatest(self.arguments()?),
            "least" if called => ExprKind::Least(self.arguments()?),
            "grouping" if called => ExprKind::Grouping(self.arguments()?),
            "nullif" if called => {
                self.skip(2);
                let first = Box::new(self.expr()?);
                self.expect_punct(",")?;
                let second = Box::new(self.expr()?);
                self.expect_punct(")")?;
                ExprKind::NullIf(first, second)
            }
            "extract" | "overlay" | "position" | "substring" | "trim" | "normalize" if called => {
                self.skip(2);
                let call = match word {
                    "extract" => self.extract(at)?,
                    "overlay" => self.overlay(at)?,
                    "position" => self.position(at)?,
                    "substring" => self.substring(at)?,
                    "trim" => self.trim(at)?,
                    _ => self.normalize(at)?,
                };
                self.expect_punct(")")?;
                return Ok(Some(call));
            }
            "merge_action" if called => {
                self.skip(2);
                self.expect_punct(")")?;
                return Ok(Some(syntax_call("merge_action", Vec::new(), at)));
            }
            "collation" if self.word(1) == Some("for") => {
                self.skip(2);
                self.expect_punct("(")?;
                let value = self.expr()?;
                self.expect_punct(")")?;
                return Ok(Some(syntax_call("pg_collation_for", vec![value], at)));
            }
            "treat" | "xmlconcat" | "xmlelement" | "xmlexists" | "xmlforest" | "xmlparse"
            | "xmlpi" | "xmlroot" | "xmlserialize" | "json_table"
                if called =>
            {
                return Err(self.not_supported(&word.to_uppercase()));
            }
            "json" | "json_array" | "json_arrayagg" | "json_exists" | "json_object"
            | "json_objectagg" | "json_query" | "json_scalar" | "json_serialize" | "json_value"
                if called =>
            {
                return self.sql_json(word, at).map(Some);
            }
            _ if self.is_standard_type() && (called || self.is_type_literal()) => {
                return self.typed_literal(at).map(Some);
            }
            _ => return Ok(None),
        };
        Ok(Some(expr(kind, at)))
    }

    fn constant(&mut self, kind: ExprKind) -> ExprKind {
        self.skip(1);
        kind
    }

    fn keyword(&mut self, word: &'static str, precise: bool, at: At) -> Result<Expr> {
        let mut precision = None;
        if precise && self.eat_punct("(") {
            let Token::Number(digits) = self.peek(0) else { return Err(self.unexpected()) };
            precision = digits.parse().ok();
            if precision.is_none() {
                return Err(self.unexpected());
            }
            self.skip(1);
            self.expect_punct(")")?;
        }
        Ok(expr(ExprKind::Keyword { word, precision }, at))
    }

    /// One or more arguments after a word and a parenthesis.
    fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.skip(1);
        self.parens(Self::expr)
    }

    fn case(&mut self) -> Result<ExprKind> {
        self.skip(1);
        let operand = if self.is(&["when"]) { None } else { Some(Box::new(self.expr()?)) };
        let mut arms = Vec::new();
        while self.eat(&["when"]) {
            let condition = self.expr()?;
            self.expect(&["then"])?;
            arms.push((condition, self.expr()?));
        }
        if arms.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat(&["else"]) { Some(Box::new(self.expr()?)) } else { None };
        self.expect(&["end"])?;
        Ok(ExprKind::Case { operand, arms, otherwise })
    }

    fn cast(&mut self) -> Result<ExprKind> {
        self.skip(1);
        self.expect_punct("(")?;
        let expr = Box::new(self.expr()?);
        self.expect(&["as"])?;
        let to = self.type_name()?;
        self.expect_punct(")")?;
        Ok(ExprKind::Cast { expr, to })
    }

    /// `ARRAY[...]` or `ARRAY(SELECT ...)`
    fn array(&mut self) -> Result<ExprKind> {
        self.skip(1);
        if self.is_punct(0, "[") {
            return self.array_items();
        }
        self.expect_punct("(")?;
        let query = Box::new(self.query()?);
        self.expect_punct(")")?;
        Ok(ExprKind::Subquery { link: Link::Array, query })
    }

    /// `[a, b]` or `[[a], [b]]`
    fn array_items(&mut self) -> Result<ExprKind> {
        self.deeper(|parser| {
            parser.expect_punct("[")?;
            if parser.eat_punct("]") {
                return Ok(ExprKind::Array(Vec::new()));
            }
            let nested = parser.is_punct(0, "[");
            let items = parser.list(|parser| match nested {
                true => {
                    let at = parser.at();
                    Ok(expr(parser.array_items()?, at))
                }
                false => parser.expr(),
            })?;
            parser.expect_punct("]")?;
            Ok(ExprKind::Array(items))
        })
    }

    fn row(&mut self) -> Result<ExprKind> {
        self.skip(2);
        let fields = if self.is_punct(0, ")") { Vec::new() } else { self.list(Self::expr)? };
        self.expect_punct(")")?;
        Ok(ExprKind::Row { fields, explicit: true })
    }

    fn extract(&mut self, at: At) -> Result<Expr> {
        let field_at = self.at();
        let field = match self.take() {
            Token::Word(word) | Token::Quoted(word) | Token::String(word) => word.into_owned(),
            _ => return Err(self.unexpected()),
        };
        self.expect(&["from"])?;
        let field = expr(ExprKind::String(field), field_at);
        Ok(syntax_call("extract", vec![field, self.expr()?], at))
    }

    fn overlay(&mut self, at: At) -> Result<Expr> {
        let mut args = vec![self.expr()?];
        if self.eat_punct(",") {
            args.extend(self.list(Self::expr)?);
            let mut call = syntax_call("overlay", args, at);
            if let ExprKind::Call(call) = &mut call.kind {
                call.name.parts.remove(0);
                call.syntax = false;
            }
            return Ok(call);
        }
        self.expect(&["placing"])?;
        args.push(self.expr()?);
        self.expect(&["from"])?;
        args.push(self.expr()?);
        if self.eat(&["for"]) {
            args.push(self.expr()?);
        }
        Ok(syntax_call("overlay", args, at))
    }

    fn position(&mut self, at: At) -> Result<Expr> {
        let what = self.expr_above(level::OTHER)?;
        self.expect(&["in"])?;
        let within = self.expr_above(level::OTHER)?;
        Ok(syntax_call("position", vec![within, what], at))
    }

    fn substring(&mut self, at: At) -> Result<Expr> {
        let mut args = vec![self.expr_above(level::LIKE + 1)?];
        if self.eat(&["similar"]) {
            args.push(self.expr()?);
            self.expect(&["escape"])?;
            args.push(self.expr()?);
        } else if self.eat(&["from"]) {
            args.push(self.expr()?);
            if self.eat(&["for"]) {
                args.push(self.expr()?);
            }
        } else if self.eat(&["for"]) {
            let length = self.expr()?;
            // Without a start the count is an integer and nothing else.
            let to = TypeName {
                name: super::ast::Path::system("int4", At::NONE),
                modifiers: Vec::new(),
                fields: None,
                dimensions: 0,
                set: false,
                at: At::NONE,
            };
            if self.eat(&["from"]) {
                args.push(self.expr()?);
                args.push(length);
            } else {
                args.push(expr(ExprKind::Number("1".into()), At::NONE));
                args.push(expr(ExprKind::Cast { expr: Box::new(length), to }, At::NONE));
            }
        } else {
            while self.eat_punct(",") {
                args.push(self.expr()?);
            }
            let mut call = super::expr::plain_call(super::ast::Path::system("substring", at), args);
            call.name.parts.remove(0);
            return Ok(expr(ExprKind::Call(Box::new(call)), at));
        }
        Ok(syntax_call("substring", args, at))
    }

    fn trim(&mut self, at: At) -> Result<Expr> {
        let name = match self.word(0) {
            Some("leading") => "ltrim",
            Some("trailing") => "rtrim",
            _ => "btrim",
        };
        if self.is_any(&["leading", "trailing", "both"]) {
            self.skip(1);
        }
        if self.eat(&["from"]) {
            return Ok(syntax_call(name, self.list(Self::expr)?, at));
        }
        let first = self.expr()?;
        let args = if self.eat(&["from"]) {
            let mut args = self.list(Self::expr)?;
            args.push(first);
            args
        } else if self.eat_punct(",") {
            let mut args = vec![first];
            args.extend(self.list(Self::expr)?);
            args
        } else {
            vec![first]
        };
        Ok(syntax_call(name, args, at))
    }

    fn normalize(&mut self, at: At) -> Result<Expr> {
        let mut args = vec![self.expr()?];
        if self.eat_punct(",") {
            let form_at = self.at();
            if !self.is_any(&["nfc", "nfd", "nfkc", "nfkd"]) {
                return Err(self.unexpected());
            }
            if let Token::Word(form) = self.take() {
                args.push(expr(ExprKind::String(form.to_uppercase()), form_at));
            }
        }
        Ok(syntax_call("normalize", args, at))
    }

    /// True if a standard type is followed by the string that is a constant of it.
    fn is_type_literal(&self) -> bool {
        let mut ahead = 1;
        while matches!(
            self.word(ahead),
            Some(
                "precision"
                    | "varying"
                    | "character"
                    | "char"
                    | "with"
                    | "without"
                    | "time"
                    | "zone"
            )
        ) {
            ahead += 1;
        }
        if self.is_punct(ahead, "(") {
            while !self.is_punct(ahead, ")") && *self.peek(ahead) != Token::End {
                ahead += 1;
            }
            ahead += 1;
            while matches!(self.word(ahead), Some("with" | "without" | "time" | "zone")) {
                ahead += 1;
            }
        }
        matches!(self.peek(ahead), Token::String(_))
    }

    /// `type 'text'`, and `INTERVAL 'text' fields`.
    fn typed_literal(&mut self, at: At) -> Result<Expr> {
        let mut to = self.standard_type()?;
        // `bit` and `char` without a length take all of the text.
        to.modifiers.retain(|modifier| modifier.at != At::NONE);
        let text_at = self.at();
        let Token::String(text) = self.take() else { return Err(self.unexpected()) };
        if to.name.last() == "interval" && to.modifiers.is_empty() && to.fields.is_none() {
            (to.fields, to.modifiers) = self.interval_fields()?;
        }
        let text = Box::new(expr(ExprKind::String(text.into_owned()), text_at));
        Ok(expr(ExprKind::Cast { expr: text, to }, at))
    }

    /// Parses the window after `OVER`: a name or a definition.
    pub(super) fn over(&mut self) -> Result<Window> {
        let at = self.at();
        if self.is_punct(0, "(") {
            return self.window(at);
        }
        let base = Some(self.name()?);
        Ok(Window { base, bare: true, partition: Vec::new(), order: Vec::new(), frame: None, at })
    }

    /// `(name PARTITION BY ... ORDER BY ... frame)`
    pub(super) fn window(&mut self, at: At) -> Result<Window> {
        self.expect_punct("(")?;
        let starts = ["partition", "order", "range", "rows", "groups"];
        let base: Option<Name> = match self.is_name() && !self.is_any(&starts) {
            true => Some(self.name()?),
            false => None,
        };
        let mut partition = Vec::new();
        if self.eat(&["partition"]) {
            self.expect(&["by"])?;
            partition = self.list(Self::expr)?;
        }
        let order = self.order_by()?;
        let frame =
            if self.is_any(&["range", "rows", "groups"]) { Some(self.frame()?) } else { None };
        self.expect_punct(")")?;
        Ok(Window { base, bare: false, partition, order, frame, at })
    }

    fn frame(&mut self) -> Result<Frame> {
        let unit = match self.word(0) {
            Some("range") => FrameUnit::Range,
            Some("rows") => FrameUnit::Rows,
            _ => FrameUnit::Groups,
        };
        self.skip(1);
        let between = self.eat(&["between"]);
        let start_at = self.at();
        let start = self.frame_bound()?;
        let mut end = Bound::CurrentRow;
        let mut end_at = start_at;
        if between {
            self.expect(&["and"])?;
            end_at = self.at();
            end = self.frame_bound()?;
        }
        let mut exclude = Exclude::NoOthers;
        if self.eat(&["exclude"]) {
            exclude = match () {
                () if self.eat(&["current", "row"]) => Exclude::CurrentRow,
                () if self.eat(&["group"]) => Exclude::Group,
                () if self.eat(&["ties"]) => Exclude::Ties,
                () => {
                    self.expect(&["no", "others"])?;
                    Exclude::NoOthers
                }
            };
        }
        Ok(Frame { unit, start, end, exclude, bounds_at: (start_at, end_at) })
    }

    fn frame_bound(&mut self) -> Result<Bound> {
        if self.eat(&["unbounded", "preceding"]) {
            return Ok(Bound::UnboundedPreceding);
        }
        if self.eat(&["unbounded", "following"]) {
            return Ok(Bound::UnboundedFollowing);
        }
        if self.eat(&["current", "row"]) {
            return Ok(Bound::CurrentRow);
        }
        let offset = Box::new(self.expr()?);
        if self.eat(&["preceding"]) {
            return Ok(Bound::Preceding(offset));
        }
        self.expect(&["following"])?;
        Ok(Bound::Following(offset))
    }
}
