//! Scopes: the tables and columns that a query can name, and the look-up of names in them.
//!
//! ```text
//!   select ... from a join b using (id), lateral (select a.x) c
//!
//!   scope of the outer query     a   b     by name only: their columns are those of the join
//!                                -         the join: id (once), then the others
//!                                c
//!   scope of the inner query     (empty)   finds a.x one scope further out
//! ```

use std::sync::Arc;

use types::{Modifier, Origins, SqlState, Type};

use super::names::Relation;
use super::outline::Clauses;
use super::place::UNPLACED;
use super::{Binder, Named, Written};
use crate::error::{At, Error, Result};
use crate::parse::ast::{Lock, Name, Window};
use crate::plan::{Column, Expr, ExprKind, Origin};

/// A clause, and what may stand in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clause {
    /// The name in messages.
    pub name: &'static str,
    /// Whether aggregates may.
    pub aggregates: bool,
    /// Whether window functions may.
    pub windows: bool,
    /// Whether functions that give sets may.
    pub sets: bool,
}

impl Clause {
    const fn strict(name: &'static str) -> Self {
        Clause { name, aggregates: false, windows: false, sets: false }
    }

    pub const SELECT: Clause =
        Clause { name: "SELECT", aggregates: true, windows: true, sets: true };
    pub const ORDER_BY: Clause =
        Clause { name: "ORDER BY", aggregates: true, windows: true, sets: true };
    pub const DISTINCT_ON: Clause =
        Clause { name: "DISTINCT ON", aggregates: true, windows: true, sets: true };
    pub const GROUP_BY: Clause =
        Clause { name: "GROUP BY", aggregates: false, windows: false, sets: true };
    pub const HAVING: Clause =
        Clause { name: "HAVING", aggregates: true, windows: false, sets: false };
    pub const WINDOW: Clause =
        Clause { name: "window definitions", aggregates: true, windows: false, sets: true };
    pub const WHERE: Clause = Clause::strict("WHERE");
    pub const FILTER: Clause = Clause::strict("FILTER");
    pub const FROM: Clause = Clause::strict("FROM clause of their own query level");
    pub const JOIN: Clause = Clause::strict("JOIN conditions");
    pub const FUNCTION: Clause =
        Clause { name: "functions in FROM", aggregates: false, windows: false, sets: true };
    pub const LIMIT: Clause = Clause::strict("LIMIT");
    pub const OFFSET: Clause = Clause::strict("OFFSET");
    pub const VALUES: Clause =
        Clause { name: "VALUES", aggregates: false, windows: false, sets: true };
    pub const UPDATE: Clause = Clause::strict("UPDATE");
    pub const RETURNING: Clause = Clause::strict("RETURNING");
    pub const MERGE_WHEN: Clause = Clause::strict("MERGE WHEN conditions");
    pub const MOMENT: Clause = Clause::strict("FOR SYSTEM_TIME");
    pub const POLICY: Clause = Clause::strict("policy expressions");
    pub const INDEX: Clause = Clause::strict("index expressions");
}

/// The names that a query can use.
pub(super) struct Scope {
    /// Its number.
    pub serial: u32,
    /// The items of `FROM`.
    pub items: Vec<Item>,
    /// The clause that is being bound.
    pub clause: Clause,
    /// The tables of its `WITH`.
    pub tables: Vec<WithTable>,
    /// The windows of its `WINDOW` clause.
    pub windows: Vec<(Name, Window)>,
    /// True if an aggregate of this query was found.
    pub aggregated: bool,
    /// True if its `FROM` reads the table that it is a step of, in `WITH RECURSIVE`.
    pub is_step: bool,
    /// The names of tables of its `WITH` that are not yet in sight.
    pub pending: Vec<String>,
    /// True while a lateral item of `FROM` is bound.
    pub lateral: bool,
    /// `FOR UPDATE` and the like, for the queries and views in `FROM`.
    pub locks: Vec<Lock>,
    /// True if its first item is a table with rows that the statement has just written.
    pub is_written: bool,
    /// The outlines of its clauses.
    pub clauses: Clauses,
}

/// Columns as names, types and modifiers.
pub(super) type Described = Vec<(String, Type, Modifier)>;

/// A table of `WITH` that is in sight.
#[derive(Clone)]
pub(super) struct WithTable {
    /// Its number.
    pub table: u32,
    /// Its name.
    pub name: String,
    /// Its columns; none while it is still being bound, or where it gives no rows.
    pub columns: Option<Described>,
    /// True inside the recursive part of the table itself.
    pub working: bool,
    /// How it may not be used.
    pub refused: Option<&'static str>,
}

/// An item of `FROM`.
#[derive(Clone)]
pub(super) struct Item {
    /// The name that it goes by; none for a join without one.
    pub name: Option<String>,
    /// The table, where it is one.
    pub relation: Option<Arc<Relation>>,
    /// The schema that may qualify the name.
    pub schema: Option<String>,
    /// Its columns.
    pub columns: Vec<ItemColumn>,
    /// The type of its row as a value.
    pub row_type: Type,
    /// True if its name may qualify columns.
    pub by_name: bool,
    /// True if its columns may be used without its name.
    pub by_column: bool,
    /// True if only lateral items may use it.
    pub lateral_only: bool,
    /// False if even these may not: it is on the wrong side of an outer join.
    pub lateral_ok: bool,
    /// Where the row is that `FOR UPDATE` locks.
    pub key: Option<Column>,
    /// True if the rows are those of a query, which gets `FOR UPDATE` and locks its own.
    pub locks_inside: bool,
}

/// A column of an item of `FROM`.
#[derive(Clone)]
pub(super) struct ItemColumn {
    /// The name that it goes by here.
    pub name: String,
    /// The column.
    pub column: Column,
    /// True if `*` leaves it out.
    pub hidden: bool,
    /// True if an alias has given it its name.
    pub is_renamed: bool,
}

/// The expression that a column is.
pub(super) fn reference(column: &Column, at: At) -> Expr {
    Expr {
        kind: ExprKind::Column { levels_up: UNPLACED, index: column.id },
        ty: column.ty,
        modifier: column.modifier,
        at,
    }
}

impl Item {
    /// The item without a name that shows columns.
    pub fn unnamed(columns: Vec<ItemColumn>) -> Self {
        Item {
            name: None,
            relation: None,
            schema: None,
            columns,
            row_type: Type::RECORD,
            by_name: false,
            by_column: true,
            lateral_only: false,
            lateral_ok: true,
            key: None,
            locks_inside: false,
        }
    }

    /// An item with a name.
    pub fn named(name: impl Into<String>, columns: &[Column]) -> Self {
        let columns = columns
            .iter()
            .map(|column| ItemColumn {
                name: column.name.clone(),
                column: column.clone(),
                hidden: false,
                is_renamed: false,
            })
            .collect();
        Item { name: Some(name.into()), by_name: true, ..Item::unnamed(columns) }
    }

    /// The columns that `*` shows.
    pub fn shown(&self) -> impl Iterator<Item = &ItemColumn> {
        self.columns.iter().filter(|column| !column.hidden)
    }

    fn answers_to(&self, schema: Option<&str>, name: &str) -> bool {
        self.by_name
            && self.name.as_deref() == Some(name)
            && (schema.is_none() || self.schema.as_deref() == schema)
    }
}

impl Binder<'_> {
    /// Begins a query.
    pub(super) fn enter(&mut self) {
        let serial = self.next_scope;
        self.next_scope += 1;
        self.scopes.push(Scope {
            serial,
            items: Vec::new(),
            clause: Clause::SELECT,
            tables: Vec::new(),
            windows: Vec::new(),
            aggregated: false,
            is_step: false,
            pending: Vec::new(),
            lateral: false,
            locks: Vec::new(),
            is_written: false,
            clauses: Clauses::default(),
        });
    }

    /// Ends a query.
    pub(super) fn leave(&mut self) -> Scope {
        self.scopes.pop().expect("a query that ends has begun")
    }

    /// The scope of the query that is being bound.
    pub(super) fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a query is being bound")
    }

    /// Binds in a clause.
    pub(super) fn within<T>(
        &mut self,
        clause: Clause,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.scope().clause, clause);
        let result = bind(self);
        self.scope().clause = before;
        result
    }

    /// The column, whole row or field that a name means.
    pub(super) fn column_ref(&mut self, names: &[Name], at: At) -> Result<Expr> {
        if self.is_own_stamp(names) {
            return self.own_stamp(at);
        }
        let found = self.column_named(names, at);
        let found = self.or_variable(found, names, at)?;
        if let (None, Some(_), Some(name), ExprKind::Column { index, .. }) =
            (&self.by, &self.text, names.last(), &found.kind)
        {
            self.note_name(names, name, *index);
        }
        Ok(self.read(found))
    }

    /// True for `xmin` in `RETURNING` of a statement that writes rows.
    fn is_own_stamp(&mut self, names: &[Name]) -> bool {
        let scope = self.scope();
        let (true, Some((last, table))) = (scope.is_written, names.split_last()) else {
            return false;
        };
        let Some(item) = scope.items.first().filter(|_| last.text == "xmin") else { return false };
        let has_column = item.columns.iter().any(|known| !known.hidden && known.name == "xmin");
        let is_meant = match table {
            [] => true,
            [.., table] => item.answers_to(None, &table.text),
        };
        is_meant && !has_column
    }

    /// The `xmin` of rows that the transaction writes.
    fn own_stamp(&mut self, at: At) -> Result<Expr> {
        self.call_of(Origins::CORE, "own_xmin", Vec::new(), at)
    }

    /// Notes the column that a name in the statement's own text stands for. An unqualified name is
    /// written with its table where another column could come to have the name.
    fn note_name(&mut self, names: &[Name], name: &Name, id: u32) {
        let found = self.scopes.iter().enumerate().rev().find_map(|(at, scope)| {
            let is_alone = at + 1 == self.scopes.len() && scope.items.len() == 1;
            Some((is_alone, self.written(&scope.items, &name.text, id)?))
        });
        let Some((is_alone, mut column)) = found else { return };
        let mut from = name.at;
        if let Written::Column(table, ..) = &mut column {
            match names {
                [_] if is_alone => *table = None,
                [_] => {}
                [first, _] => from = first.at,
                // A schema stands before the table.
                _ => *table = None,
            }
        }
        if let Some(text) = &mut self.text
            && !text.named.iter().any(|known| known.at == name.at)
        {
            text.named.push(Named { at: name.at, from, column, is_output: false });
        }
    }

    /// A column as these items know it by a name.
    pub(super) fn written(&self, items: &[Item], name: &str, id: u32) -> Option<Written> {
        let named = items.iter().filter(|item| item.by_name && item.name.is_some());
        let column = named.filter_map(|item| {
            let known = |known: &&ItemColumn| known.column.id == id && known.name == name;
            let column = item.columns.iter().find(known)?;
            let is_own = item.relation.is_some() && !column.is_renamed && !column.hidden;
            let origin = self.sources[id as usize].filter(|_| is_own).map(|(used, attnum)| {
                Origin { relation: self.uses.relations[used].relation, attnum }
            });
            // Without an alias it goes by the name of the relation, which may change.
            let own_name = item.relation.as_ref().filter(|_| item.schema.is_some());
            let table = (item.name.clone()?, own_name.map(|relation| relation.oid));
            Some(Written::Column(Some(table), name.to_owned(), origin))
        });
        let merged = self.merged.iter().filter(|(merged, _)| *merged == id);
        column.chain(merged.map(|(_, column)| column.clone())).next()
    }

    fn column_named(&mut self, names: &[Name], at: At) -> Result<Expr> {
        match self.in_database(names, 3)? {
            [column] => self.bare_column(column, at),
            [table, column] => self.table_column(None, &table.text, column, at),
            names => self.table_column(Some(&names[0].text), &names[1].text, &names[2], at),
        }
    }

    /// A name of up to `most` parts, without that of the database before it.
    pub(super) fn in_database<'n>(&self, names: &'n [Name], most: usize) -> Result<&'n [Name]> {
        crate::parse::ast::in_database(names, most, "", |database| self.names.is_database(database))
    }

    fn bare_column(&mut self, name: &Name, at: At) -> Result<Expr> {
        for scope in self.scopes.iter().rev() {
            if let Some(found) = find_bare(scope, &name.text, at)? {
                return Ok(found);
            }
        }
        // A table's name is its whole row.
        for scope in self.scopes.iter().rev() {
            let visible = |item: &&Item| {
                item.answers_to(None, &name.text) && (!item.lateral_only || scope.lateral)
            };
            if let Some(item) = scope.items.iter().find(visible) {
                return Ok(whole_row(item, at));
            }
        }
        Err(self.no_column(None, name, at))
    }

    fn table_column(
        &mut self,
        schema: Option<&str>,
        table: &str,
        column: &Name,
        at: At,
    ) -> Result<Expr> {
        let item = self.item_named(schema, table, at)?;
        let mut found = item.columns.iter().filter(|known| known.name == column.text);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(reference(&only.column, at)),
            (Some(_), Some(_)) => Err(ambiguous(&column.text, at)),
            (None, _) => Err(self.no_column(Some(table), column, at)),
        }
    }

    /// The item of `FROM` that a name means, in this query or one around.
    pub(super) fn item_named(&self, schema: Option<&str>, name: &str, at: At) -> Result<&Item> {
        for scope in self.scopes.iter().rev() {
            let mut found = scope.items.iter().filter(|item| {
                item.answers_to(schema, name) && (!item.lateral_only || scope.lateral)
            });
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => {
                    let message = format!("table reference \"{name}\" is ambiguous");
                    return Err(Error::new(SqlState::AMBIGUOUS_ALIAS, message).at(at));
                }
                (Some(only), None) if !only.lateral_ok => {
                    return Err(wrong_side(name).at(at));
                }
                (Some(only), None) => return Ok(only),
                (None, _) => {}
            }
        }
        Err(self.no_table(schema, name, at))
    }

    fn no_table(&self, schema: Option<&str>, name: &str, at: At) -> Error {
        let all = || self.scopes.iter().flat_map(|scope| &scope.items);
        let error = |message: String| Error::new(SqlState::UNDEFINED_TABLE, message).at(at);
        let renamed = all().find(|item| {
            item.relation.as_ref().is_some_and(|relation| relation.name == name)
                && item.name.as_deref() != Some(name)
        });
        if let (Some(alias), None) = (renamed.and_then(|item| item.name.as_deref()), schema) {
            return error(format!("invalid reference to FROM-clause entry for table \"{name}\""))
                .hint(format!("Perhaps you meant to reference the table alias \"{alias}\"."));
        }
        if let Some(hidden) = all().find(|item| item.name.as_deref() == Some(name)) {
            let error =
                error(format!("invalid reference to FROM-clause entry for table \"{name}\""))
                    .detail(format!(
                        "There is an entry for table \"{name}\", but it cannot be referenced from \
                         this part of the query."
                    ));
            return match hidden.lateral_only && hidden.lateral_ok {
                true => {
                    error.hint("To reference that table, you must mark this subquery with LATERAL.")
                }
                false => error,
            };
        }
        error(format!("missing FROM-clause entry for table \"{name}\""))
    }

    fn no_column(&self, table: Option<&str>, column: &Name, at: At) -> Error {
        let name = &column.text;
        let message = match table {
            Some(table) => format!("column {table}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = Error::new(SqlState::UNDEFINED_COLUMN, message).at(at);
        match self.hint_for(table, name) {
            Some((true, hint)) => error.hint(hint),
            Some((false, detail)) => error.detail(detail),
            None => error,
        }
    }

    /// Advice about a column that was not found: true and a hint, or false and a detail.
    fn hint_for(&self, table: Option<&str>, name: &str) -> Option<(bool, String)> {
        let mut best: Vec<(String, String)> = Vec::new();
        let mut least = (name.chars().count() / 2).min(3);
        for scope in self.scopes.iter().rev() {
            for item in &scope.items {
                let Some(item_name) = &item.name else { continue };
                // A different table's name counts as a difference too.
                let penalty = match table {
                    Some(table) => distance(table, item_name),
                    None => 0,
                };
                for column in item.shown() {
                    if table.is_none() && column.name == name {
                        return Some((
                            false,
                            format!(
                                "There is a column named \"{name}\" in table \"{item_name}\", but it \
                             cannot be referenced from this part of the query."
                            ),
                        ));
                    }
                    let far = distance(name, &column.name) + penalty;
                    if far > least {
                        continue;
                    }
                    if far < least {
                        best.clear();
                    }
                    least = far;
                    best.push((item_name.clone(), column.name.clone()));
                }
            }
        }
        match &best[..] {
            [(table, column)] => Some((
                true,
                format!("Perhaps you meant to reference the column \"{table}.{column}\"."),
            )),
            [(one, first), (other, second)] => Some((
                true,
                format!(
                    "Perhaps you meant to reference the column \"{one}.{first}\" or the column \
                     \"{other}.{second}\"."
                ),
            )),
            _ => None,
        }
    }
}

fn find_bare(scope: &Scope, name: &str, at: At) -> Result<Option<Expr>> {
    let mut found: Option<Expr> = None;
    for item in &scope.items {
        if !item.by_column || item.lateral_only && !scope.lateral {
            continue;
        }
        for column in item.columns.iter().filter(|column| column.name == name) {
            // System columns are found only where nothing else has the name.
            if column.hidden && found.is_some() {
                continue;
            }
            if found.is_some() {
                return Err(ambiguous(name, at));
            }
            if !item.lateral_ok {
                return Err(wrong_side(item.name.as_deref().unwrap_or("unnamed_join")).at(at));
            }
            found = Some(reference(&column.column, at));
        }
    }
    Ok(found)
}

fn ambiguous(name: &str, at: At) -> Error {
    Error::new(SqlState::AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"))
        .at(at)
}

fn wrong_side(table: &str) -> Error {
    Error::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        format!("invalid reference to FROM-clause entry for table \"{table}\""),
    )
    .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
}

/// The row of an item as one value.
pub(super) fn whole_row(item: &Item, at: At) -> Expr {
    let mut fields: Vec<Expr> = item.shown().map(|column| reference(&column.column, at)).collect();
    // The whole row of a function that gives single values is the value.
    if fields.len() == 1 && item.row_type.is_builtin() && item.row_type != Type::RECORD {
        return fields.swap_remove(0);
    }
    let names = match item.row_type {
        Type::RECORD => item.shown().map(|column| column.name.clone()).collect(),
        _ => [].into(),
    };
    Expr::of(ExprKind::Row { fields, names }, item.row_type, at)
}

/// How many letters must be put in, taken out or exchanged to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let exchange = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = exchange.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[other.len()]
}
