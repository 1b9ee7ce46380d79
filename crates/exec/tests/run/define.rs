//! `CREATE TABLE` and `CREATE INDEX` as far as the tests need them. The crate `session` has the
//! whole of both. Here the parser knows a few words, in lower case and with one space between them.

use std::sync::Arc;

use store::Retention;
use table::catalog::ddl::{
    NewColumn, NewConstraint, NewConstraintKind, NewIdentity, NewIndex, NewIndexKey, NewTable,
};
use table::catalog::{self, IndexMethod, IndexPart, PUBLIC, Persistence, SqlText};
use types::{Context, Result, Style};

use crate::world::View;

/// The words that end the type or the default of a column.
const WORDS: [&str; 7] = [
    "primary key",
    "not null",
    "unique",
    "default ",
    "check ",
    "constraint ",
    "generated always as ",
];

/// The pieces of a list, without the commas inside of parentheses and quotes.
fn pieces(list: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start, mut found) = (0, false, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                found.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(list[start..].trim());
    found
}

/// The text in the parentheses that a text begins with, and the rest after them.
fn inside(text: &str) -> (&str, &str) {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[1..at], text[at + 1..].trim());
        }
    }
    panic!("{text} has no end");
}

/// A text up to the first of the words, and the rest.
fn until_word(text: &str) -> (&str, &str) {
    let end = WORDS.iter().filter_map(|word| text.find(&format!(" {word}"))).min();
    match end {
        Some(end) => (text[..end].trim(), text[end..].trim()),
        None => (text.trim(), ""),
    }
}

fn key(columns: &str, is_primary: bool) -> NewConstraintKind {
    NewConstraintKind::Key {
        columns: pieces(columns).into_iter().map(Arc::from).collect(),
        include: Vec::new(),
        is_primary,
        nulls_distinct: true,
        options: Vec::new(),
        overlaps: Vec::new(),
    }
}

/// The name of a constraint, where it has one, and the rest.
fn named(text: &str) -> (Option<Arc<str>>, &str) {
    match text.strip_prefix("constraint ").and_then(|rest| rest.split_once(' ')) {
        Some((name, rest)) => (Some(name.into()), rest),
        None => (None, text),
    }
}

/// A constraint of the table, where an item is one.
fn table_constraint(item: &str) -> Option<NewConstraint> {
    let (name, text) = named(item);
    let kind = if let Some(columns) = text.strip_prefix("primary key ") {
        key(inside(columns).0, true)
    } else if let Some(columns) = text.strip_prefix("unique (") {
        key(columns.trim_end_matches(')'), false)
    } else if let Some(check) = text.strip_prefix("check ") {
        NewConstraintKind::Check(SqlText::plain(inside(check).0))
    } else {
        return None;
    };
    Some(NewConstraint { name, ..NewConstraint::new(kind) })
}

/// The table of `create table name (...)`.
pub fn table(statement: &str, names: &View) -> Result<NewTable> {
    let rest = statement.strip_prefix("create table ").expect("a table");
    let (name, rest) = rest.split_once(' ').expect("a name");
    let (mut columns, mut constraints) = (Vec::new(), Vec::new());
    for item in pieces(inside(rest).0) {
        if let Some(constraint) = table_constraint(item) {
            constraints.push(constraint);
            continue;
        }
        let (column, rest) = item.split_once(' ').expect("a column has a type");
        let (ty, mut rest) = until_word(rest);
        let (ty, modifier) = names.type_of(ty)?;
        let mut new = NewColumn { modifier, ..NewColumn::new(column, ty) };
        while !rest.is_empty() {
            let (constraint, text) = named(rest);
            if let Some(after) = text.strip_prefix("primary key") {
                constraints.push(NewConstraint::new(key(column, true)));
                rest = after.trim();
            } else if let Some(after) = text.strip_prefix("not null") {
                new.not_null = true;
                rest = after.trim();
            } else if let Some(after) = text.strip_prefix("unique") {
                constraints.push(NewConstraint::new(key(column, false)));
                rest = after.trim();
            } else if let Some(after) = text.strip_prefix("default ") {
                let (default, after) = until_word(after);
                new.default = Some(SqlText::plain(default));
                rest = after;
            } else if let Some(after) = text.strip_prefix("check ") {
                let (check, after) = inside(after);
                let kind = NewConstraintKind::Check(SqlText::plain(check));
                constraints.push(NewConstraint { name: constraint, ..NewConstraint::new(kind) });
                rest = after;
            } else if let Some(after) = text.strip_prefix("generated always as identity") {
                new.identity = Some(NewIdentity { is_always: true, ..NewIdentity::default() });
                rest = after.trim();
            } else if let Some(after) = text.strip_prefix("generated always as ") {
                let (expr, after) = inside(after);
                new.default = Some(SqlText::plain(expr));
                new.is_generated = true;
                rest = after.trim_start_matches("stored").trim();
            } else {
                panic!("{text} is not for tests");
            }
        }
        columns.push(new);
    }
    Ok(NewTable {
        schema: PUBLIC,
        name: name.into(),
        persistence: Persistence::Permanent,
        columns,
        constraints,
        options: Vec::new(),
        history: Retention::Forever,
        method: table::method::NewMethod::default(),
        partitioning: None,
        partition_of: None,
    })
}

/// The table and the index of `create [unique] index name on table [using gin] (...) [where ...]`.
pub fn index(statement: &str, names: &View) -> Result<(types::Oid, NewIndex)> {
    let is_unique = statement.starts_with("create unique");
    let (_, rest) = statement.split_once("index ").expect("an index");
    let (name, rest) = rest.split_once(" on ").expect("a table");
    let (table, rest) = rest.split_once(' ').expect("keys");
    let (method, rest) = match rest.strip_prefix("using gin ") {
        Some(rest) => (IndexMethod::Gin, rest),
        None => (IndexMethod::Btree, rest),
    };
    let (list, rest) = inside(rest);
    let relation = names.find(table).expect("the table is there");
    let mut keys = Vec::new();
    for text in pieces(list) {
        let mut text = text;
        let mut take = |word: &str| match text.strip_suffix(word) {
            Some(rest) => {
                text = rest.trim();
                true
            }
            None => false,
        };
        let nulls_first =
            if take("nulls first") { Some(true) } else { take("nulls last").then_some(false) };
        let is_descending = take(" desc");
        let class = take(" jsonb_path_ops").then(|| "jsonb_path_ops".into());
        let key = match relation.column_named(text) {
            Some(column) => NewIndexKey::column(column.attnum),
            None => {
                let part = IndexPart::Expr(SqlText::plain(text));
                NewIndexKey { part, ty: type_of(text, relation, names)?, ..NewIndexKey::column(0) }
            }
        };
        keys.push(NewIndexKey { is_descending, nulls_first, class, ..key });
    }
    let index = NewIndex {
        name: Some(name.into()),
        method,
        keys,
        include: Vec::new(),
        predicate: rest.strip_prefix("where ").map(SqlText::plain),
        is_unique,
        nulls_distinct: true,
        is_valid: true,
        options: Vec::new(),
        excludes: Vec::new(),
        partition_of: None,
    };
    Ok((relation.oid, index))
}

fn type_of(text: &str, relation: &catalog::Relation, names: &View) -> Result<types::Type> {
    let over = names.make(relation);
    let style = Style::default();
    let expr = sql::bind::expression(text, Some(&over), names, Context::new(&style));
    Ok(expr.map_err(|error| error.cause)?.ty)
}
