//! The items of `FROM`: tables, subqueries, functions and joins, and the moment at which a table is
//! read.
//!
//! ```text
//!   t FOR SYSTEM_TIME AS OF e        t FOR SYSTEM_TIME FROM a TO b      t FOR SYSTEM_TIME ALL
//!   t FOR SYSTEM_VERSION AS OF n     t FOR SYSTEM_TIME BETWEEN a AND b
//!   t AS OF SYSTEM TIME e            t FOR SYSTEM_TIME CONTAINED IN (a, b)
//!   t AT (TIMESTAMP => e)            t AT (VERSION => n)
//! ```
//!
//! The clause stands between the name of the table and its alias. A file is written as its path, `'x.parquet'`.

use super::ast::{
    Alias, ColumnDef, Expr, ExprKind, Join, JoinCondition, JoinKind, Moment, Name, Path, Sample,
    Source, TableRef,
};
use super::cursor::{DEPTH_MAX, Parser};
use super::expr::{level, plain_call};
use super::lexer::Token;
use crate::error::{At, Result};

/// The words that begin a join.
const JOIN_WORDS: [&str; 7] = ["join", "inner", "left", "right", "full", "cross", "natural"];

/// Returns the function that reads a file, by the extension of its name, which may have .gz behind it; `None` if no
/// function does.
pub fn file_reader(path: &str) -> Option<&'static str> {
    let path = path.to_ascii_lowercase();
    let plain = path.strip_suffix(".gz");
    let (_, extension) = plain.unwrap_or(&path).rsplit_once('.')?;
    Some(match extension {
        // These have compression of their own.
        "parquet" | "arrow" | "arrows" | "feather" | "ipc" if plain.is_some() => return None,
        "parquet" => "read_parquet",
        "csv" | "tsv" => "read_csv",
        "ndjson" | "jsonl" | "json" => "read_json",
        "arrow" | "arrows" | "feather" | "ipc" => "read_arrow",
        _ => return None,
    })
}

impl Parser<'_> {
    /// The items of `FROM`, each joined with those before it.
    pub(super) fn sources(&mut self) -> Result<Vec<Source>> {
        let sources = self.list(Self::source)?;
        if sources.len() > DEPTH_MAX { Err(self.too_deep()) } else { Ok(sources) }
    }

    /// An item of `FROM`, with the joins that hang on it.
    pub(super) fn source(&mut self) -> Result<Source> {
        self.deeper(|parser| {
            let mut source = parser.simple_source()?;
            for _ in 0..DEPTH_MAX {
                if !parser.is_any(&JOIN_WORDS) {
                    return Ok(source);
                }
                source = parser.join(source)?;
            }
            Err(parser.too_deep())
        })
    }

    fn join(&mut self, left: Source) -> Result<Source> {
        let at = self.at();
        let natural = self.eat(&["natural"]);
        let cross = !natural && self.eat(&["cross"]);
        let mut kind = JoinKind::Inner;
        if !cross {
            for (word, outer) in
                [("left", JoinKind::Left), ("right", JoinKind::Right), ("full", JoinKind::Full)]
            {
                if self.eat(&[word]) {
                    kind = outer;
                    self.eat(&["outer"]);
                }
            }
            if kind == JoinKind::Inner {
                self.eat(&["inner"]);
            }
        }
        self.expect(&["join"])?;
        let mut right = self.simple_source()?;
        let mut right_end = self.end();
        let condition = if natural {
            JoinCondition::Natural
        } else if cross {
            JoinCondition::None
        } else {
            // `a JOIN b JOIN c ON ... ON ...`: what follows belongs to the right side.
            while self.is_any(&JOIN_WORDS) {
                right = self.deeper(|parser| parser.join(right))?;
            }
            right_end = self.end();
            self.join_condition()?
        };
        let ends = (right_end, self.end());
        Ok(Source::Join(Box::new(Join { kind, left, right, condition, alias: None, at, ends })))
    }

    fn join_condition(&mut self) -> Result<JoinCondition> {
        if self.eat(&["on"]) {
            let between = self.text.get(self.end()..self.start());
            if between.is_some_and(|between| between.contains(super::WAS_USING)) {
                return Ok(JoinCondition::WasUsing(self.expr()?));
            }
            return Ok(JoinCondition::On(self.expr()?));
        }
        self.expect(&["using"])?;
        let columns = self.parens(Self::name)?;
        let alias = if self.eat(&["as"]) { Some(self.name()?) } else { None };
        Ok(JoinCondition::Using(columns, alias))
    }

    fn simple_source(&mut self) -> Result<Source> {
        let at = self.at();
        let lateral = self.eat(&["lateral"]);
        if self.is_punct(0, "(") {
            return self.source_in_parens(lateral);
        }
        if self.is(&["rows", "from"]) && self.is_punct(2, "(") {
            self.skip(2);
            let calls = self.parens(|parser| {
                let call = parser.source_call()?;
                let columns = match parser.eat(&["as"]) {
                    true => parser.parens(Self::column_def)?,
                    false => Vec::new(),
                };
                Ok((call, columns))
            })?;
            return self.functions(calls, lateral, at);
        }
        if lateral || self.is_source_call() {
            let call = self.source_call()?;
            return self.functions(vec![(call, Vec::new())], lateral, at);
        }
        if let Token::String(path) = self.peek(0)
            && let Some(reader) = file_reader(path)
        {
            let path = path.clone().into_owned();
            return self.file(reader, path, at);
        }
        let table = self.table_ref()?;
        Ok(Source::Table(Box::new(table)))
    }

    /// A file by its path, which is a call of the function that reads it. It goes by the name of the file without
    /// folders and extension.
    fn file(&mut self, reader: &str, path: String, at: At) -> Result<Source> {
        self.skip(1);
        let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = file.split('.').next().unwrap_or_default();
        let name = Name { text: stem.to_owned(), at };
        let argument = Expr { kind: ExprKind::String(path), at };
        let function = Path { parts: vec![Name { text: reader.to_owned(), at }] };
        let call = plain_call(function, vec![argument]);
        let call = Expr { kind: ExprKind::Call(Box::new(call)), at };
        let alias = self.alias()?.or(Some(Alias { name, columns: Vec::new() }));
        Ok(Source::Functions {
            calls: vec![(call, Vec::new())],
            ordinality: false,
            lateral: false,
            alias,
            columns: Vec::new(),
            at,
        })
    }

    /// True if a call stands as a table.
    fn is_source_call(&self) -> bool {
        if self.is(&["only"]) {
            return false;
        }
        let mut ahead = 1;
        while self.is_punct(ahead, ".") {
            ahead += 2;
        }
        let words =
            ["cast", "coalesce", "greatest", "least", "nullif", "extract", "current_schema"];
        match self.peek(0) {
            Token::Word(_) if self.is_any(&words) => true,
            Token::Word(word)
                if super::keywords::is_reserved(word) && word.starts_with("current_") =>
            {
                true
            }
            Token::Word(_) | Token::Quoted(_) => self.is_punct(ahead, "("),
            _ => false,
        }
    }

    fn source_call(&mut self) -> Result<Expr> {
        self.expr_above(level::PRIMARY + 1)
    }

    /// Parses the clauses after one or more functions as a table.
    fn functions(
        &mut self,
        calls: Vec<(Expr, Vec<ColumnDef>)>,
        lateral: bool,
        at: At,
    ) -> Result<Source> {
        let ordinality = self.eat(&["with", "ordinality"]);
        let mut alias = None;
        let mut columns = Vec::new();
        let named = self.eat(&["as"]);
        if named && self.is_punct(0, "(") {
            columns = self.parens(Self::column_def)?;
        } else if named || self.is_name() {
            let name = self.name()?;
            let mut names = Vec::new();
            if self.is_punct(0, "(") {
                if self.is_punct(2, ",") || self.is_punct(2, ")") {
                    names = self.parens(Self::name)?;
                } else {
                    columns = self.parens(Self::column_def)?;
                }
            }
            alias = Some(Alias { name, columns: names });
        }
        Ok(Source::Functions { calls, ordinality, lateral, alias, columns, at })
    }

    /// A column of a column definition list.
    pub(super) fn column_def(&mut self) -> Result<ColumnDef> {
        Ok(ColumnDef { name: self.name()?, ty: self.type_name()? })
    }

    /// `(query) alias`, or joins in parentheses.
    fn source_in_parens(&mut self, lateral: bool) -> Result<Source> {
        let at = self.at();
        let mut ahead = 0;
        while self.is_punct(ahead, "(") {
            ahead += 1;
        }
        if lateral || self.is_query_start_at(ahead) {
            return self.query_or_joins(lateral, at);
        }
        self.expect_punct("(")?;
        let inner = self.source()?;
        self.expect_punct(")")?;
        self.alias_joins(inner)
    }

    /// Parentheses in which a query is the first thing: all of it, or the first side of a join.
    fn query_or_joins(&mut self, lateral: bool, at: At) -> Result<Source> {
        self.deeper(|parser| {
            parser.expect_punct("(")?;
            if parser.is_query_start() || lateral {
                let query = Box::new(parser.query()?);
                parser.expect_punct(")")?;
                let alias = parser.alias()?;
                return Ok(Source::Subquery { query, lateral, alias, at });
            }
            let inner = parser.query_or_joins(false, parser.at())?;
            match inner {
                Source::Subquery { query, alias: None, .. }
                    if parser.is_punct(0, ")") || parser.is_query_rest() =>
                {
                    let query = Box::new(parser.query_rest(*query)?);
                    parser.expect_punct(")")?;
                    let alias = parser.alias()?;
                    Ok(Source::Subquery { query, lateral, alias, at })
                }
                mut inner => {
                    while parser.is_any(&JOIN_WORDS) {
                        inner = parser.join(inner)?;
                    }
                    parser.expect_punct(")")?;
                    parser.alias_joins(inner)
                }
            }
        })
    }

    /// The alias of a join in parentheses.
    fn alias_joins(&mut self, inner: Source) -> Result<Source> {
        let Source::Join(mut join) = inner else { return Ok(inner) };
        if join.alias.is_none() {
            join.alias = self.alias()?;
        }
        Ok(Source::Join(join))
    }

    /// `[AS] name [(columns)]`, or nothing.
    pub(super) fn alias(&mut self) -> Result<Option<Alias>> {
        if !self.eat(&["as"]) && !self.is_name() {
            return Ok(None);
        }
        let name = self.name()?;
        let columns = if self.is_punct(0, "(") { self.parens(Self::name)? } else { Vec::new() };
        Ok(Some(Alias { name, columns }))
    }

    /// A table with its moment, alias and sample.
    fn table_ref(&mut self) -> Result<TableRef> {
        let only = self.eat(&["only"]);
        let parens = only && self.eat_punct("(");
        let name = self.path()?;
        if parens {
            self.expect_punct(")")?;
        } else if !only {
            self.eat_symbol("*");
        }
        let moment = self.moment()?;
        let alias = self.alias()?;
        let mut sample = None;
        if self.eat(&["tablesample"]) {
            let method = self.function_path()?;
            let args = self.parens(Self::expr)?;
            let mut seed = None;
            if self.eat(&["repeatable"]) {
                self.expect_punct("(")?;
                seed = Some(self.expr()?);
                self.expect_punct(")")?;
            }
            sample = Some(Sample { method, args, seed });
        }
        Ok(TableRef { name, only, alias, moment, sample })
    }

    /// Which of a table's past is read; nothing for the present.
    pub(super) fn moment(&mut self) -> Result<Option<Moment>> {
        if self.eat(&["for", "system_version", "as", "of"]) {
            return Ok(Some(Moment::AtVersion(self.moment_expr()?)));
        }
        if self.eat(&["as", "of", "system", "time"]) {
            return Ok(Some(Moment::AsOf(self.moment_expr()?)));
        }
        if self.is(&["at"]) && self.is_punct(1, "(") && self.is_punct(3, "=>") {
            return self.at_moment().map(Some);
        }
        if !self.eat(&["for", "system_time"]) {
            return Ok(None);
        }
        let moment = match () {
            () if self.eat(&["all"]) => Moment::All,
            () if self.eat(&["as", "of"]) => Moment::AsOf(self.moment_expr()?),
            () if self.eat(&["from"]) => {
                let from = self.moment_expr()?;
                self.expect(&["to"])?;
                Moment::FromTo(from, self.moment_expr()?)
            }
            () if self.eat(&["between"]) => {
                let from = self.moment_expr()?;
                self.expect(&["and"])?;
                Moment::Between(from, self.moment_expr()?)
            }
            () => {
                self.expect(&["contained", "in"])?;
                self.expect_punct("(")?;
                let from = self.expr()?;
                self.expect_punct(",")?;
                let to = self.expr()?;
                self.expect_punct(")")?;
                Moment::ContainedIn(from, to)
            }
        };
        Ok(Some(moment))
    }

    /// A time: what binds more tightly than the words that may follow it.
    fn moment_expr(&mut self) -> Result<Expr> {
        self.expr_above(level::LIKE + 1)
    }

    fn at_moment(&mut self) -> Result<Moment> {
        self.skip(2);
        let version = self.is(&["version"]);
        if !version && !self.is(&["timestamp"]) {
            return Err(self.unexpected());
        }
        self.skip(2);
        let value = self.expr()?;
        self.expect_punct(")")?;
        Ok(if version { Moment::AtVersion(value) } else { Moment::AsOf(value) })
    }
}
