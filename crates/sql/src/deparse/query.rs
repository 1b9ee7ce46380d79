//! Queries: `WITH`, `SELECT` and its clauses, set operations, `VALUES`.

use super::expr::{Class, bare, class};
use super::{Printer, STANDARD};
use crate::outline::{Body, Cte, Distinct, Group, Key, Query, Select, Source, Target, Window};
use crate::parse::ast::{Bound as Written, Exclude, FrameUnit, LockStrength, LockWait};
use crate::plan::{Bound, Expr, ExprKind, SetOp, SortKey};

impl Printer<'_> {
    /// A query inside of another, with its own names of tables. Its outputs have the names `columns`, where
    /// these are known; `names_visible` where others see them.
    pub(super) fn query(&mut self, query: &Query, columns: Option<&[String]>, names_visible: bool) {
        let (level, taken, rows) = (self.level, self.taken.len(), self.rows.len());
        let (prefix, visible) = (self.prefix, self.names_visible);
        let count = match &query.body {
            Body::Select(select) => select.from.iter().map(count_of).sum(),
            Body::Values { .. } => 1,
            Body::Set { .. } => 2,
        };
        self.prefix = self.is_in_query || count != 1;
        self.names_visible = names_visible;
        let within = std::mem::replace(&mut self.is_in_query, true);
        if let Body::Select(select) = &query.body {
            self.assign(&select.from);
        }
        self.with(&query.with, query.recursive);
        self.body(query, columns);
        self.around(query);
        self.is_in_query = within;
        self.level = level;
        self.taken.truncate(taken);
        self.rows.truncate(rows);
        (self.prefix, self.names_visible) = (prefix, visible);
    }

    fn with(&mut self, tables: &[Cte], recursive: bool) {
        if tables.is_empty() {
            return;
        }
        if self.layout.lines {
            self.level += STANDARD;
            self.push(" ");
        }
        let mut word = if recursive { "WITH RECURSIVE " } else { "WITH " };
        for table in tables {
            self.push(word);
            word = ", ";
            self.name(&table.name);
            if !table.columns.is_empty() {
                self.names(table.columns.iter().map(String::as_str));
            }
            self.push(match table.materialized {
                None => " AS (",
                Some(true) => " AS MATERIALIZED (",
                Some(false) => " AS NOT MATERIALIZED (",
            });
            self.keyword("", 0, 0, 0);
            self.query(&table.query, None, true);
            self.keyword("", 0, 0, 0);
            self.push(")");
        }
        if self.layout.lines {
            self.level -= STANDARD;
            self.keyword("", 0, 0, 0);
        } else {
            self.push(" ");
        }
    }

    fn body(&mut self, query: &Query, columns: Option<&[String]>) {
        match &query.body {
            Body::Select(select) => self.select(select, columns),
            Body::Values { rows, columns } => {
                let name = self.unique("*VALUES*");
                let names: Vec<String> = columns.iter().map(|(_, name)| name.clone()).collect();
                self.call_columns(Some(&name), columns, &names);
                self.begin();
                self.values(rows);
            }
            Body::Set { .. } => self.set(query, columns),
        }
    }

    fn begin(&mut self) {
        if self.layout.lines {
            self.level += STANDARD;
            self.push(" ");
        }
    }

    /// The clauses behind the body.
    fn around(&mut self, query: &Query) {
        let is_set = matches!(query.body, Body::Set { .. });
        if !query.order.is_empty() {
            self.clause(" ORDER BY ", 1);
            self.order(&query.order, is_set);
        }
        if let Some(offset) = &query.offset {
            self.clause(" OFFSET ", 0);
            self.expr(offset, false);
        }
        if let Some(limit) = &query.limit {
            if query.with_ties {
                self.clause(" FETCH FIRST (", 0);
                self.expr(limit, false);
                self.push(") ROWS WITH TIES");
            } else {
                self.clause(" LIMIT ", 0);
                if limit.is_null_const() {
                    self.push("ALL");
                } else {
                    self.expr(limit, false);
                }
            }
        }
        for lock in &query.locks {
            let words = match lock.strength {
                LockStrength::KeyShare => " FOR KEY SHARE",
                LockStrength::Share => " FOR SHARE",
                LockStrength::NoKeyUpdate => " FOR NO KEY UPDATE",
                LockStrength::Update => " FOR UPDATE",
            };
            let mut of: Vec<String> = lock.of.iter().map(|path| path.last().to_owned()).collect();
            if of.is_empty()
                && let Body::Select(select) = &query.body
            {
                select.from.iter().for_each(|source| tables_of(source, &mut of));
            }
            for table in of {
                self.clause(words, 0);
                self.push(" OF ");
                self.name(&table);
                match lock.wait {
                    LockWait::Wait => {}
                    LockWait::NoWait => self.push(" NOWAIT"),
                    LockWait::SkipLocked => self.push(" SKIP LOCKED"),
                }
            }
        }
    }

    fn select(&mut self, select: &Select, columns: Option<&[String]>) {
        self.begin();
        self.push("SELECT");
        match &select.distinct {
            Distinct::No => {}
            Distinct::Yes => self.push(" DISTINCT"),
            Distinct::On(keys) => {
                self.push(" DISTINCT ON (");
                self.separated(keys, |printer, key| printer.sort_expr(key));
                self.push(")");
            }
        }
        self.targets(&select.targets, columns);
        self.from(&select.from);
        if let Some(filter) = &select.filter {
            self.clause(" WHERE ", 1);
            self.expr(filter, false);
        }
        if !select.group.is_empty() {
            self.clause(" GROUP BY ", 1);
            if select.group_distinct {
                self.push("DISTINCT ");
            }
            self.separated(&select.group, |printer, group| printer.group(group, true));
        }
        if let Some(having) = &select.having {
            self.clause(" HAVING ", 0);
            self.expr(having, false);
        }
        for (place, (name, window)) in select.windows.iter().enumerate() {
            if place == 0 {
                self.clause(" WINDOW ", 1);
            } else {
                self.push(", ");
            }
            self.name(name);
            self.push(" AS ");
            self.window(window);
        }
    }

    /// Prints a list with commas.
    pub(super) fn separated<T>(&mut self, list: &[T], mut print: impl FnMut(&mut Self, &T)) {
        for (place, member) in list.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            print(self, member);
        }
    }

    fn targets(&mut self, targets: &[Target], columns: Option<&[String]>) {
        let mut was_long = false;
        for (place, target) in targets.iter().enumerate() {
            self.push(if place == 0 { " " } else { ", " });
            let name = columns.and_then(|columns| columns.get(place)).unwrap_or(&target.name);
            let text = self.apart(|printer| printer.target(&target.expr, name));
            self.wrap(&text, was_long, place > 0);
            was_long = text.trim_start_matches('\n').contains('\n');
            self.push(&text);
        }
    }

    fn target(&mut self, expr: &Expr, name: &str) {
        let own = match &expr.kind {
            ExprKind::Column { index, .. } => {
                self.column(*index);
                self.columns.get(index).map(|(_, name)| name.clone())
            }
            ExprKind::Coalesce(list) if self.merged(list).is_some() => {
                self.expr(expr, true);
                self.merged(list)
            }
            _ if self.whole_row(expr).is_some() => {
                self.expr(expr, true);
                let of = self.type_text(expr.ty, expr.modifier);
                self.push("::");
                self.push(&of);
                None
            }
            _ => {
                self.expr(expr, true);
                (!self.names_visible).then(|| "?column?".to_owned())
            }
        };
        if own.as_deref() != Some(name) {
            self.push(" AS ");
            self.name(name);
        }
    }

    fn set(&mut self, query: &Query, columns: Option<&[String]>) {
        let Body::Set { op, all, left, right } = &query.body else { return };
        let nested = left.is_bare_set()
            && !matches!(&left.body, Body::Set { op: inner, all: other, .. } if inner == op && other == all);
        let indent = if nested { STANDARD } else { 0 };
        if nested {
            self.push("(");
            self.keyword("", indent, 0, 0);
        }
        self.set_side(left, columns);
        match () {
            () if nested => self.keyword(") ", -indent, 0, 0),
            () if self.layout.lines => self.keyword("", 0, 0, 0),
            () => self.push(" "),
        }
        self.push(match op {
            SetOp::Union => "UNION ",
            SetOp::Intersect => "INTERSECT ",
            SetOp::Except => "EXCEPT ",
        });
        if *all {
            self.push("ALL ");
        }
        let nested = right.is_bare_set();
        let indent = if nested { STANDARD } else { 0 };
        if nested {
            self.push("(");
        }
        self.keyword("", indent, 0, 0);
        // The names of the right side's outputs do not matter.
        let visible = std::mem::replace(&mut self.names_visible, false);
        self.set_side(right, columns);
        self.names_visible = visible;
        if self.layout.lines {
            self.level -= indent;
        }
        if nested {
            self.keyword(")", 0, 0, 0);
        }
    }

    fn set_side(&mut self, side: &Query, columns: Option<&[String]>) {
        if side.is_bare_set() {
            return self.set(side, columns);
        }
        let is_enclosed = side.has_clauses();
        if is_enclosed {
            self.push("(");
        }
        self.query(side, columns, self.names_visible);
        if is_enclosed {
            self.push(")");
        }
    }

    fn values(&mut self, rows: &[Vec<Expr>]) {
        self.push("VALUES ");
        self.separated(rows, |printer, row| {
            printer.push("(");
            for (place, value) in row.iter().enumerate() {
                if place > 0 {
                    printer.push(",");
                }
                printer.expr(value, false);
            }
            printer.push(")");
        });
    }

    fn group(&mut self, group: &Group, is_bare: bool) {
        let (word, members, is_bare) = match group {
            Group::Empty => return self.push("()"),
            Group::Keys(keys) => {
                let is_enclosed = !is_bare || keys.len() != 1;
                if is_enclosed {
                    self.push("(");
                }
                self.separated(keys, |printer, key| printer.sort_expr(key));
                if is_enclosed {
                    self.push(")");
                }
                return;
            }
            Group::Rollup(members) => ("ROLLUP(", members, true),
            Group::Cube(members) => ("CUBE(", members, true),
            Group::Sets(members) => ("GROUPING SETS (", members, false),
        };
        self.push(word);
        self.separated(members, |printer, member| printer.group(member, is_bare));
        self.push(")");
    }

    /// The items of an `ORDER BY`: by number where only that is possible.
    fn order(&mut self, keys: &[Key], by_number: bool) {
        self.separated(keys, |printer, key| {
            if by_number {
                printer.push(&key.place.to_string());
            } else {
                printer.sort_expr(&key.key.expr);
            }
            printer.direction(&key.key);
        });
    }

    /// The keys of an order inside of a call.
    pub(super) fn sort_keys(&mut self, keys: &[SortKey]) {
        self.separated(keys, |printer, key| {
            printer.sort_expr(&key.expr);
            printer.direction(key);
        });
    }

    fn direction(&mut self, key: &SortKey) {
        self.push(match (key.descending, key.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        });
    }

    /// An expression that something is sorted or grouped by.
    pub(super) fn sort_expr(&mut self, expr: &Expr) {
        let expr = bare(expr);
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, expr, super::constant::Label::Always),
            ExprKind::Column { .. } => self.expr(expr, true),
            _ => {
                let is_call =
                    matches!(class(expr), Class::Function | Class::CastFunction) && is_call(expr);
                let is_enclosed = self.layout.pretty || is_call;
                if is_enclosed {
                    self.push("(");
                }
                self.expr(expr, true);
                if is_enclosed {
                    self.push(")");
                }
            }
        }
    }

    /// A window in parentheses.
    pub(super) fn window(&mut self, window: &Window) {
        let Window { written, partition, order, frame } = window;
        let mut needs_space = false;
        self.push("(");
        let space = |printer: &mut Self, needs: &mut bool| {
            if std::mem::replace(needs, true) {
                printer.push(" ");
            }
        };
        if let Some(base) = &written.base {
            space(self, &mut needs_space);
            self.name(&base.text);
        } else if !partition.is_empty() {
            space(self, &mut needs_space);
            self.push("PARTITION BY ");
            self.separated(partition, |printer, expr| printer.sort_expr(expr));
        }
        if !written.order.is_empty() {
            space(self, &mut needs_space);
            self.push("ORDER BY ");
            self.sort_keys(order);
        }
        if let Some(said) = &written.frame {
            space(self, &mut needs_space);
            self.push(match said.unit {
                FrameUnit::Range => "RANGE ",
                FrameUnit::Rows => "ROWS ",
                FrameUnit::Groups => "GROUPS ",
            });
            // A frame with one bound has both at the same place.
            let has_end = said.bounds_at.0 != said.bounds_at.1;
            if has_end {
                self.push("BETWEEN ");
            }
            self.bound(&said.start, &frame.start);
            if has_end {
                self.push(" AND ");
                self.bound(&said.end, &frame.end);
            }
            self.push(match said.exclude {
                Exclude::NoOthers => "",
                Exclude::CurrentRow => " EXCLUDE CURRENT ROW",
                Exclude::Group => " EXCLUDE GROUP",
                Exclude::Ties => " EXCLUDE TIES",
            });
        }
        self.push(")");
    }

    fn bound(&mut self, written: &Written, bound: &Bound) {
        match (written, bound) {
            (_, Bound::UnboundedPreceding) => self.push("UNBOUNDED PRECEDING"),
            (_, Bound::UnboundedFollowing) => self.push("UNBOUNDED FOLLOWING"),
            (_, Bound::CurrentRow) => self.push("CURRENT ROW"),
            (_, Bound::Preceding(offset)) => {
                self.expr(offset, false);
                self.push(" PRECEDING");
            }
            (_, Bound::Following(offset)) => {
                self.expr(offset, false);
                self.push(" FOLLOWING");
            }
        }
    }
}

/// True for what PostgreSQL has as the call of a function, also where it prints a cast.
fn is_call(expr: &Expr) -> bool {
    !matches!(
        expr.kind,
        ExprKind::Array { .. }
            | ExprKind::Collate { .. }
            | ExprKind::Row { .. }
            | ExprKind::Coalesce(_)
            | ExprKind::Greatest(_)
            | ExprKind::Least(_)
            | ExprKind::NullIf(_)
            | ExprKind::Subscript { .. }
            | ExprKind::Keyword(_)
            | ExprKind::Grouping { .. }
    )
}

/// How many entries PostgreSQL counts for an item of `FROM`.
fn count_of(source: &Source) -> usize {
    match source {
        Source::Item(_) => 1,
        Source::Join(join) => 1 + count_of(&join.left) + count_of(&join.right),
    }
}

/// The names of the tables that a lock without names is about.
fn tables_of(source: &Source, names: &mut Vec<String>) {
    match source {
        Source::Item(item) => names.push(item.name.clone()),
        Source::Join(join) => {
            tables_of(&join.left, names);
            tables_of(&join.right, names);
        }
    }
}
