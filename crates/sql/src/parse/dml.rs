//! Statements that change rows: `INSERT`, `UPDATE`, `DELETE`, `MERGE`, and those that change the
//! past: `DELETE HISTORY` and `ERASE`.

use super::ast::{
    Alias, Arbiter, Assignment, Conflict, ConflictUpdate, Delete, Expr, ExprKind, Insert, Merge,
    MergeAction, MergeClause, MergeWhen, Output, Part, Portion, Query, Statement, TableRef, Target,
    Update, With,
};
use super::cursor::Parser;
use crate::error::{At, Result};

impl Parser<'_> {
    /// A query, or a statement that changes rows: what may stand in `WITH`.
    pub(super) fn data_statement(&mut self) -> Result<Statement> {
        let at = self.at();
        let with = if self.is(&["with"]) { Some(self.with()?) } else { None };
        Ok(match self.word(0) {
            Some("insert") => Statement::Insert(Box::new(self.insert(with, at)?)),
            Some("update") => Statement::Update(Box::new(self.update(with, at)?)),
            Some("delete") => Statement::Delete(Box::new(self.delete(with, at)?)),
            Some("merge") => Statement::Merge(Box::new(self.merge(with, at)?)),
            _ => Statement::Query(Box::new(self.query_after_with(with, at)?)),
        })
    }

    fn insert(&mut self, with: Option<With>, at: At) -> Result<Insert> {
        self.expect(&["insert", "into"])?;
        let name = self.path()?;
        let alias = match self.eat(&["as"]) {
            true => Some(Alias { name: self.name()?, columns: Vec::new() }),
            false => None,
        };
        let table = TableRef { name, only: false, alias, moment: None, sample: None };
        let mut columns = Vec::new();
        let mut ahead = 0;
        while self.is_punct(ahead, "(") {
            ahead += 1;
        }
        if ahead == 1 && !self.is_query_start_at(ahead) {
            columns = self.parens(Self::target)?;
        }
        let overriding_system = self.overriding()?;
        let source = match self.eat(&["default", "values"]) {
            true => None,
            false => Some(self.insert_source()?),
        };
        let conflict = if self.is(&["on"]) { Some(self.conflict()?) } else { None };
        let returning = self.returning()?;
        Ok(Insert { with, table, columns, overriding_system, source, conflict, returning, at })
    }

    fn insert_source(&mut self) -> Result<Query> {
        if self.is_query_start() || self.is_punct(0, "(") {
            return self.query();
        }
        Err(self.unexpected())
    }

    fn overriding(&mut self) -> Result<Option<bool>> {
        if !self.eat(&["overriding"]) {
            return Ok(None);
        }
        let system = self.eat(&["system"]);
        if !system {
            self.expect(&["user"])?;
        }
        self.expect(&["value"])?;
        Ok(Some(system))
    }

    /// A column, or a part of one, that is given a value.
    fn target(&mut self) -> Result<Target> {
        Ok(Target { column: self.name()?, steps: self.step_list()? })
    }

    fn conflict(&mut self) -> Result<Conflict> {
        let at = self.at();
        self.expect(&["on", "conflict"])?;
        let arbiter = if self.eat(&["on", "constraint"]) {
            Arbiter::Constraint(self.name()?)
        } else if self.is_punct(0, "(") {
            let at = self.at();
            let keys = self.parens(Self::conflict_key)?;
            let filter = if self.eat(&["where"]) { Some(self.expr()?) } else { None };
            Arbiter::Index { keys, filter, at }
        } else {
            Arbiter::Any
        };
        self.expect(&["do"])?;
        let update = if self.eat(&["nothing"]) {
            None
        } else {
            self.expect(&["update", "set"])?;
            let set = self.list(Self::assignment)?;
            let filter = if self.eat(&["where"]) { Some(self.expr()?) } else { None };
            Some(ConflictUpdate { set, filter })
        };
        Ok(Conflict { arbiter, update, at })
    }

    /// A column or expression of an index. Its collation and operator class are those of the
    /// index in any case.
    fn conflict_key(&mut self) -> Result<Expr> {
        let at = self.at();
        let key = self.expr_above(super::expr::level::COLLATE)?;
        if self.is_name() {
            self.path()?;
        }
        Ok(match key.kind {
            ExprKind::Collate { expr, .. } => Expr { kind: expr.kind, at },
            kind => Expr { kind, at: key.at },
        })
    }

    /// `RETURNING ...`, or nothing.
    fn returning(&mut self) -> Result<Vec<Output>> {
        if self.eat(&["returning"]) { self.list(Self::output) } else { Ok(Vec::new()) }
    }

    /// An item of `SET`.
    fn assignment(&mut self) -> Result<Assignment> {
        if self.is_punct(0, "(") {
            let targets = self.parens(Self::target)?;
            self.expect_equals()?;
            return Ok(Assignment::Many(targets, self.expr()?));
        }
        let target = self.target()?;
        self.expect_equals()?;
        Ok(Assignment::One(target, self.expr()?))
    }

    fn expect_equals(&mut self) -> Result<()> {
        if self.eat_symbol("=") { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The table that is changed, with its alias.
    fn changed_table(&mut self) -> Result<TableRef> {
        let mut table = self.changed_name()?;
        table.alias = self.changed_alias()?;
        Ok(table)
    }

    /// The table of `UPDATE` or `DELETE`, of which only a portion may be meant.
    fn changed_portion(&mut self) -> Result<(TableRef, Option<Portion>)> {
        let mut table = self.changed_name()?;
        let portion =
            if self.eat(&["for", "portion", "of"]) { Some(self.portion()?) } else { None };
        table.alias = self.changed_alias()?;
        Ok((table, portion))
    }

    fn changed_name(&mut self) -> Result<TableRef> {
        let only = self.eat(&["only"]);
        let name = self.path()?;
        if !only {
            self.eat_symbol("*");
        }
        Ok(TableRef { name, only, alias: None, moment: None, sample: None })
    }

    fn changed_alias(&mut self) -> Result<Option<Alias>> {
        match self.eat(&["as"]) || self.is_name() && !self.is(&["set"]) {
            true => Ok(Some(Alias { name: self.name()?, columns: Vec::new() })),
            false => Ok(None),
        }
    }

    fn portion(&mut self) -> Result<Portion> {
        let column = self.name()?;
        if self.eat_punct("(") {
            let part = Part::Range(self.expr()?);
            self.expect_punct(")")?;
            return Ok(Portion { column, part });
        }
        self.expect(&["from"])?;
        let from = self.end_of_portion()?;
        self.expect(&["to"])?;
        Ok(Portion { column, part: Part::Between(from, self.end_of_portion()?) })
    }

    fn end_of_portion(&mut self) -> Result<Option<Expr>> {
        if self.eat(&["unbounded"]) { Ok(None) } else { self.expr().map(Some) }
    }

    /// `WHERE e`, `WHERE CURRENT OF cursor`, or nothing.
    fn where_or_cursor(&mut self) -> Result<Option<Expr>> {
        if !self.eat(&["where"]) {
            return Ok(None);
        }
        let at = self.at();
        if self.is(&["current", "of"]) {
            self.skip(2);
            return Ok(Some(Expr { kind: ExprKind::CurrentOf(self.name()?), at }));
        }
        self.expr().map(Some)
    }

    fn update(&mut self, with: Option<With>, at: At) -> Result<Update> {
        self.expect(&["update"])?;
        let (table, portion) = self.changed_portion()?;
        self.expect(&["set"])?;
        let set = self.list(Self::assignment)?;
        let from = if self.eat(&["from"]) { self.sources()? } else { Vec::new() };
        let filter = self.where_or_cursor()?;
        let returning = self.returning()?;
        Ok(Update { with, table, portion, set, from, filter, returning, at })
    }

    fn delete(&mut self, with: Option<With>, at: At) -> Result<Delete> {
        self.expect(&["delete"])?;
        self.delete_from(with, at)
    }

    fn delete_from(&mut self, with: Option<With>, at: At) -> Result<Delete> {
        self.expect(&["from"])?;
        let (table, portion) = self.changed_portion()?;
        let using = if self.eat(&["using"]) { self.sources()? } else { Vec::new() };
        let filter = self.where_or_cursor()?;
        let returning = self.returning()?;
        Ok(Delete { with, table, portion, using, filter, returning, at })
    }

    /// `DELETE HISTORY FROM t BEFORE SYSTEM_TIME e`
    pub(super) fn delete_history(&mut self) -> Result<Statement> {
        self.expect(&["delete", "history", "from"])?;
        let table = self.path()?;
        self.expect(&["before"])?;
        if !self.eat(&["system_time"]) {
            self.expect(&["system", "time"])?;
        }
        Ok(Statement::DeleteHistory { table, before: self.sql_expr()? })
    }

    /// `ERASE FROM t [WHERE ...]`
    pub(super) fn erase(&mut self) -> Result<Statement> {
        let at = self.at();
        self.expect(&["erase"])?;
        Ok(Statement::Erase(Box::new(self.delete_from(None, at)?)))
    }

    fn merge(&mut self, with: Option<With>, at: At) -> Result<Merge> {
        self.expect(&["merge", "into"])?;
        let table = self.changed_table()?;
        self.expect(&["using"])?;
        let source = self.source()?;
        self.expect(&["on"])?;
        let on = self.expr()?;
        let mut clauses = Vec::new();
        while self.is(&["when"]) {
            clauses.push(self.merge_clause()?);
        }
        if clauses.is_empty() {
            return Err(self.unexpected());
        }
        let returning = self.returning()?;
        Ok(Merge { with, table, source, on, clauses, returning, at })
    }

    fn merge_clause(&mut self) -> Result<MergeClause> {
        let at = self.at();
        self.expect(&["when"])?;
        let when = if self.eat(&["matched"]) {
            MergeWhen::Matched
        } else {
            self.expect(&["not", "matched"])?;
            if self.eat(&["by", "source"]) {
                MergeWhen::NotMatchedBySource
            } else {
                self.eat(&["by", "target"]);
                MergeWhen::NotMatchedByTarget
            }
        };
        let filter = if self.eat(&["and"]) { Some(self.expr()?) } else { None };
        self.expect(&["then"])?;
        let target_row = when != MergeWhen::NotMatchedByTarget;
        let action = match () {
            () if self.eat(&["do", "nothing"]) => MergeAction::Nothing,
            () if target_row && self.eat(&["delete"]) => MergeAction::Delete,
            () if target_row && self.eat(&["update"]) => {
                self.expect(&["set"])?;
                MergeAction::Update(self.list(Self::assignment)?)
            }
            () if !target_row && self.eat(&["insert"]) => self.merge_insert()?,
            () => return Err(self.unexpected()),
        };
        Ok(MergeClause { when, filter, action, at })
    }

    fn merge_insert(&mut self) -> Result<MergeAction> {
        let columns = if self.is_punct(0, "(") { self.parens(Self::target)? } else { Vec::new() };
        let overriding_system = self.overriding()?;
        let values = if self.eat(&["default", "values"]) {
            None
        } else {
            self.expect(&["values"])?;
            Some(self.parens(Self::expr)?)
        };
        Ok(MergeAction::Insert { columns, overriding_system, values })
    }
}
