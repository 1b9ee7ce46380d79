//! Queries: `SELECT`, `VALUES`, `TABLE`, set operations, and `WITH`.
//!
//! ```text
//!   query   [WITH ...] set [ORDER BY ...] [LIMIT ...] [OFFSET ...] [FOR UPDATE ...]
//!   set     inner { UNION | EXCEPT inner }      inner   simple { INTERSECT simple }
//!   simple  SELECT ... | VALUES ... | TABLE t | ( query )
//! ```

use types::SqlState;

use super::ast::{
    Body, CreateTableAs, Cte, Define, Distinct, Expr, ExprKind, Lock, LockStrength, LockWait,
    Output, Path, Query, RowsOf, Select, SetOp, Source, Statement, TableRef, With,
};
use super::cursor::{CHAIN_MAX, Parser};
use super::keywords;
use super::lexer::Token;
use crate::error::{At, Error, Result};

/// A query that is nothing but its body.
fn bare(body: Body, at: At) -> Query {
    Query {
        with: None,
        body,
        order: Vec::new(),
        limit: None,
        with_ties: false,
        offset: None,
        locks: Vec::new(),
        at,
    }
}

impl Parser<'_> {
    /// True if a query begins, parentheses aside.
    pub(super) fn is_query_start(&self) -> bool {
        self.is_query_start_at(0)
    }

    pub(super) fn is_query_start_at(&self, ahead: usize) -> bool {
        match self.word(ahead) {
            Some("select" | "with" | "table") => true,
            Some("values") => self.is_punct(ahead + 1, "("),
            _ => false,
        }
    }

    /// True if something follows that makes a query in parentheses part of a larger one.
    pub(super) fn is_query_rest(&self) -> bool {
        self.is_any(&["union", "intersect", "except", "order", "limit", "offset", "fetch", "for"])
    }

    /// A query.
    pub(super) fn query(&mut self) -> Result<Query> {
        self.deeper(|parser| {
            let at = parser.at();
            let with = if parser.is(&["with"]) { Some(parser.with()?) } else { None };
            let query = parser.set_operation()?;
            let query = parser.query_tail(query)?;
            parser.put_with(query, with, at)
        })
    }

    /// A query whose `WITH` has been read.
    pub(super) fn query_after_with(&mut self, with: Option<With>, at: At) -> Result<Query> {
        let query = self.set_operation()?;
        let query = self.query_tail(query)?;
        self.put_with(query, with, at)
    }

    fn put_with(&self, mut query: Query, with: Option<With>, at: At) -> Result<Query> {
        if let Some(with) = with {
            if query.with.is_some() {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "multiple WITH clauses not allowed",
                )
                .at(with.at));
            }
            query.with = Some(with);
            query.at = at;
        }
        Ok(query)
    }

    /// Reads on after `first`, which stood in parentheses.
    pub(super) fn query_rest(&mut self, first: Query) -> Result<Query> {
        let first = self.intersections(first)?;
        let query = self.unions(first)?;
        self.query_tail(query)
    }

    fn set_operation(&mut self) -> Result<Query> {
        let first = self.simple_query()?;
        let first = self.intersections(first)?;
        self.unions(first)
    }

    fn unions(&mut self, mut left: Query) -> Result<Query> {
        for _ in 0..CHAIN_MAX {
            let op = match self.word(0) {
                Some("union") => SetOp::Union,
                Some("except") => SetOp::Except,
                _ => return Ok(left),
            };
            let at = left.at;
            self.skip(1);
            let all = self.all_or_distinct();
            let right = self.simple_query()?;
            let right = Box::new(self.intersections(right)?);
            left = bare(Body::Set { op, all, left: Box::new(left), right }, at);
        }
        Err(self.too_deep())
    }

    fn intersections(&mut self, mut left: Query) -> Result<Query> {
        for _ in 0..CHAIN_MAX {
            if !self.eat(&["intersect"]) {
                return Ok(left);
            }
            let at = left.at;
            let all = self.all_or_distinct();
            let right = Box::new(self.simple_query()?);
            left = bare(Body::Set { op: SetOp::Intersect, all, left: Box::new(left), right }, at);
        }
        Err(self.too_deep())
    }

    fn all_or_distinct(&mut self) -> bool {
        let all = self.eat(&["all"]);
        if !all {
            self.eat(&["distinct"]);
        }
        all
    }

    fn simple_query(&mut self) -> Result<Query> {
        let at = self.at();
        if self.eat_punct("(") {
            let query = self.query()?;
            self.expect_punct(")")?;
            return Ok(query);
        }
        let body = match self.word(0) {
            Some("select") => Body::Select(Box::new(self.select()?)),
            Some("values") => {
                self.skip(1);
                Body::Values(self.list(|parser| parser.parens(Self::expr))?)
            }
            Some("table") => {
                self.skip(1);
                Body::Select(Box::new(self.table_query(at)?))
            }
            _ => return Err(self.unexpected()),
        };
        Ok(bare(body, at))
    }

    /// `TABLE name`, which is `SELECT * FROM name`.
    fn table_query(&mut self, at: At) -> Result<Select> {
        let table = self.table_name()?;
        let star = Expr { kind: ExprKind::Star(Vec::new()), at };
        Ok(Select {
            distinct: Distinct::No,
            outputs: vec![Output { expr: star, alias: None }],
            into: None,
            from: vec![Source::Table(Box::new(table))],
            filter: None,
            group: Vec::new(),
            group_distinct: false,
            having: None,
            windows: Vec::new(),
        })
    }

    /// A table with `ONLY` or `*`, without a name of its own.
    fn table_name(&mut self) -> Result<TableRef> {
        let only = self.eat(&["only"]);
        let name = self.path()?;
        if !only {
            self.eat_symbol("*");
        }
        Ok(TableRef { name, only, alias: None, moment: None, sample: None })
    }

    fn select(&mut self) -> Result<Select> {
        self.expect(&["select"])?;
        let mut distinct = Distinct::No;
        if self.eat(&["distinct"]) {
            distinct = Distinct::Yes;
            if self.eat(&["on"]) {
                distinct = Distinct::On(self.parens(Self::expr)?);
            }
        } else {
            self.eat(&["all"]);
        }
        let outputs = self.outputs()?;
        // Only a plain SELECT may give rows without columns.
        if outputs.is_empty() && !matches!(distinct, Distinct::No) {
            return Err(self.unexpected());
        }
        let into = if self.eat(&["into"]) { Some(self.target_of_into()?) } else { None };
        let from = if self.eat(&["from"]) { self.sources()? } else { Vec::new() };
        let filter = if self.eat(&["where"]) { Some(self.expr()?) } else { None };
        let mut group = Vec::new();
        let mut group_distinct = false;
        if self.eat(&["group"]) {
            self.expect(&["by"])?;
            group_distinct = self.eat(&["distinct"]);
            if !group_distinct {
                self.eat(&["all"]);
            }
            group = self.list(Self::group_item)?;
        }
        let having = if self.eat(&["having"]) { Some(self.expr()?) } else { None };
        let windows = match self.eat(&["window"]) {
            true => self.list(|parser| {
                let name = parser.name()?;
                parser.expect(&["as"])?;
                let at = parser.at();
                Ok((name, parser.window(at)?))
            })?,
            false => Vec::new(),
        };
        Ok(Select { distinct, outputs, into, from, filter, group, group_distinct, having, windows })
    }

    /// The table of `INTO`, and whether it is temporary.
    fn target_of_into(&mut self) -> Result<(Path, bool)> {
        let temporary = self.eat(&["temporary"]) || self.eat(&["temp"]);
        if !temporary {
            self.eat(&["unlogged"]);
        }
        self.eat(&["table"]);
        Ok((self.path()?, temporary))
    }

    /// The outputs of `SELECT`, which may be none.
    fn outputs(&mut self) -> Result<Vec<Output>> {
        let none = self.is_end()
            || self.is_punct(0, ")")
            || self.is_punct(0, ";")
            || self.is_query_rest()
            || self.is_any(&["from", "into", "where", "group", "having", "window"]);
        if none { Ok(Vec::new()) } else { self.list(Self::output) }
    }

    /// An output of `SELECT` or `RETURNING`.
    pub(super) fn output(&mut self) -> Result<Output> {
        let at = self.at();
        if self.eat_symbol("*") {
            return Ok(Output { expr: Expr { kind: ExprKind::Star(Vec::new()), at }, alias: None });
        }
        let expr = self.expr()?;
        let alias = if self.eat(&["as"]) {
            Some(self.label()?)
        } else {
            match self.peek(0) {
                Token::Quoted(_) => Some(self.label()?),
                Token::Word(word) if keywords::is_bare_label(word) => Some(self.label()?),
                _ => None,
            }
        };
        Ok(Output { expr, alias })
    }

    /// An item of `GROUP BY`.
    fn group_item(&mut self) -> Result<Expr> {
        let at = self.at();
        if self.is_punct(0, "(") && self.is_punct(1, ")") {
            self.skip(2);
            return Ok(Expr { kind: ExprKind::EmptyGroup, at });
        }
        if self.is(&["rollup"]) && self.is_punct(1, "(") {
            self.skip(1);
            return Ok(Expr { kind: ExprKind::Rollup(self.parens(Self::expr)?), at });
        }
        if self.is(&["cube"]) && self.is_punct(1, "(") {
            self.skip(1);
            return Ok(Expr { kind: ExprKind::Cube(self.parens(Self::expr)?), at });
        }
        if self.eat(&["grouping", "sets"]) {
            let sets = self.deeper(|parser| parser.parens(Self::group_item))?;
            return Ok(Expr { kind: ExprKind::GroupingSets(sets), at });
        }
        self.expr()
    }

    /// `ORDER BY`, `LIMIT`, `OFFSET`, `FETCH` and `FOR`, in the orders that PostgreSQL takes.
    fn query_tail(&mut self, mut query: Query) -> Result<Query> {
        let twice = |what: &str, at: At| {
            let message = format!("multiple {what} clauses not allowed");
            Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at))
        };
        if self.is(&["order"]) {
            let order = self.order_by()?;
            if !query.order.is_empty() {
                return twice("ORDER BY", order[0].expr.at);
            }
            query.order = order;
        }
        let (mut limited, mut skipped) = (false, false);
        loop {
            let at = self.at();
            if !limited && (self.is(&["limit"]) || self.is(&["fetch"])) {
                limited = true;
                let fetch = self.is(&["fetch"]);
                self.skip(1);
                if query.limit.is_some() {
                    return twice("LIMIT", self.at());
                }
                if fetch {
                    self.fetch(&mut query)?;
                } else if self.eat(&["all"]) {
                    query.limit = Some(Expr { kind: ExprKind::Null, at });
                } else {
                    query.limit = Some(self.expr()?);
                    if self.is_punct(0, ",") {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            "LIMIT #,# syntax is not supported",
                        )
                        .hint("Use separate LIMIT and OFFSET clauses.")
                        .at(at));
                    }
                }
            } else if !skipped && self.eat(&["offset"]) {
                skipped = true;
                if query.offset.is_some() {
                    return twice("OFFSET", self.at());
                }
                query.offset = Some(self.expr()?);
                if !self.eat(&["rows"]) {
                    self.eat(&["row"]);
                }
            } else if self.is(&["for"]) {
                self.locks(&mut query)?;
            } else {
                return Ok(query);
            }
        }
    }

    /// `FIRST|NEXT [n] ROW|ROWS ONLY|WITH TIES` after `FETCH`.
    fn fetch(&mut self, query: &mut Query) -> Result<()> {
        if !self.eat(&["first"]) {
            self.expect(&["next"])?;
        }
        let at = self.at();
        query.limit = Some(if self.is_any(&["row", "rows"]) {
            Expr { kind: ExprKind::Number("1".into()), at }
        } else {
            self.expr_above(super::expr::level::UNARY)?
        });
        if !self.eat(&["rows"]) {
            self.expect(&["row"])?;
        }
        query.with_ties = self.eat(&["with", "ties"]);
        if query.with_ties && query.order.is_empty() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "WITH TIES cannot be specified without ORDER BY clause",
            ));
        }
        if query.with_ties { Ok(()) } else { self.expect(&["only"]) }
    }

    fn locks(&mut self, query: &mut Query) -> Result<()> {
        while self.is(&["for"]) {
            let at = self.at();
            self.skip(1);
            if self.eat(&["read", "only"]) {
                continue;
            }
            let strength = match () {
                () if self.eat(&["update"]) => LockStrength::Update,
                () if self.eat(&["no", "key", "update"]) => LockStrength::NoKeyUpdate,
                () if self.eat(&["share"]) => LockStrength::Share,
                () if self.eat(&["key", "share"]) => LockStrength::KeyShare,
                () => return Err(self.unexpected()),
            };
            let of = if self.eat(&["of"]) { self.list(Self::path)? } else { Vec::new() };
            let wait = match () {
                () if self.eat(&["nowait"]) => LockWait::NoWait,
                () if self.eat(&["skip", "locked"]) => {
                    if query.with_ties {
                        let message = "SKIP LOCKED and WITH TIES options cannot be used together";
                        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                    }
                    LockWait::SkipLocked
                }
                () => LockWait::Wait,
            };
            query.locks.push(Lock { strength, of, wait, at });
        }
        Ok(())
    }

    /// `WITH [RECURSIVE] name [(columns)] AS (statement), ...`
    pub(super) fn with(&mut self) -> Result<With> {
        let at = self.at();
        self.expect(&["with"])?;
        let recursive = self.eat(&["recursive"]);
        let tables = self.list(Self::cte)?;
        Ok(With { recursive, tables, at })
    }

    fn cte(&mut self) -> Result<Cte> {
        let name = self.name()?;
        let columns = if self.is_punct(0, "(") { self.parens(Self::name)? } else { Vec::new() };
        self.expect(&["as"])?;
        let materialized = match () {
            () if self.eat(&["materialized"]) => Some(true),
            () if self.eat(&["not", "materialized"]) => Some(false),
            () => None,
        };
        self.expect_punct("(")?;
        let statement: Statement = self.deeper(Self::data_statement)?;
        self.expect_punct(")")?;
        if self.is_any(&["search", "cycle"]) {
            let clause = if self.is(&["search"]) { "SEARCH" } else { "CYCLE" };
            return Err(self.not_supported(clause));
        }
        Ok(Cte { name, columns, materialized, statement: Box::new(statement) })
    }
}

/// A query with `INTO` as the `CREATE TABLE ... AS` that it means; any other statement as it is.
pub(super) fn made_of_into(statement: Statement, text: &str) -> Statement {
    let Statement::Query(mut query) = statement else { return statement };
    let Some((name, temporary)) = first_select(&mut query).and_then(|select| select.into.take())
    else {
        return Statement::Query(query);
    };
    Statement::Define(Box::new(Define::TableAs(Box::new(CreateTableAs {
        materialized: false,
        name,
        if_not_exists: false,
        temporary,
        on_commit: None,
        columns: Vec::new(),
        method: None,
        options: Vec::new(),
        rows: RowsOf::Query(query),
        text: text.to_owned(),
        data: true,
    }))))
}

/// The one `SELECT` of a query that may have `INTO`: the leftmost.
fn first_select(query: &mut Query) -> Option<&mut Select> {
    match &mut query.body {
        Body::Select(select) => Some(select),
        Body::Set { left, .. } => first_select(left),
        _ => None,
    }
}
