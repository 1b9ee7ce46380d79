//! Definitions as SQL: views, constraints, indexes, defaults.
//!
//! ```text
//!   catalog    price > 0 and kind = 'a'::public.color     the text that the catalog keeps
//!   bound      Call(int4gt ..) ..                         bound anew when it is asked for
//!   printed    ((price > 0) AND (kind = 'a'::color))      as PostgreSQL prints it (sql::deparse)
//! ```
//!
//! A text that cannot be bound any more is answered as it is kept.

use sql::bind::DefinitionUse;
use sql::deparse::{self, Layout, ObjectNames};
use sql::parse::ast::Statement;
use table::catalog::{
    Action, Class, Constraint, ConstraintKind, ConstraintOn, Index, IndexMethod, IndexPart,
    MatchType, Relation, SqlText, UserTypeKind,
};
use types::{Datum, DatumRef, Objects, Oid, Result, Type};

use super::{bool, integer, oid, text};
use crate::client::StatementContext;
use crate::names::{Names, of_value};
use crate::system::class_of;

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let names = &*around.names;
    let some = |text: Option<String>| text.map_or(Datum::Null, Datum::text);
    Ok(Some(match name {
        "pg_get_expr" => {
            let pretty = args.len() > 2 && bool(args, 2);
            Datum::text(node(around, text(args, 0), oid(args, 1), Layout::new(pretty)))
        }
        "pg_get_indexdef" => {
            let column = if args.len() > 1 { integer(args, 1) } else { 0 };
            some(index(around, oid(args, 0), column as usize, bool(args, 2)))
        }
        "pg_get_constraintdef" => {
            let found = names.catalog.constraint(oid(args, 0));
            some(found.map(|found| constraint(around, found, bool(args, 1))))
        }
        "pg_get_viewdef" => {
            let view = match args[0] {
                DatumRef::Oid(view) => view,
                _ => names.regclass(text(args, 0))?,
            };
            let layout = match args.get(1) {
                Some(DatumRef::Int4(wrap)) => Layout { wrap: *wrap, ..Layout::new(true) },
                Some(DatumRef::Bool(pretty)) => Layout::new(*pretty),
                _ => Layout::new(false),
            };
            let relation = names.catalog.relation(view);
            some(relation.and_then(|relation| definition(around, relation, layout)))
        }
        _ => return Ok(None),
    }))
}

/// The names that an expression of the catalog may use.
#[derive(Clone, Copy)]
pub(super) enum Over {
    /// The columns of a relation.
    Relation(Oid),
    /// The value of a domain.
    Domain(Type),
}

impl Over {
    fn of(constraint: &Constraint) -> Self {
        match constraint.on {
            ConstraintOn::Table(table) => Over::Relation(table),
            ConstraintOn::Domain(ty) => Over::Domain(ty),
        }
    }
}

/// An expression as it is printed, and whether that looks like the call of a function.
pub(super) struct Printed {
    pub(super) text: String,
    pub(super) is_call: bool,
}

impl ObjectNames for Names {
    fn relation(&self, relation: Oid) -> String {
        let Some((schema, name)) = self.relation_name(relation) else { return "???".to_owned() };
        self.written(schema, name, self.is_relation_visible(relation))
    }

    fn schema_of_function(&self, function: Oid) -> Option<String> {
        if self.is_member_visible(function) {
            return None;
        }
        self.member_schema(function).map(|schema| self.schema_name(schema).to_owned())
    }

    fn collation(&self, collation: Oid) -> String {
        let shown = types::Objects::name(self, Type::REGCOLLATION, collation);
        shown.unwrap_or_else(|| collation.to_string())
    }
}

/// An expression of the catalog as PostgreSQL prints it.
pub(super) fn printed(
    around: &StatementContext<'_>,
    kept: &SqlText,
    over: Over,
    wanted: DefinitionUse<'_>,
    layout: Layout,
) -> Printed {
    let names = &*around.names;
    let relation = match over {
        Over::Relation(oid) => names.catalog.relation(oid).and_then(|relation| {
            let schema = names.schema_name(relation.schema);
            sql::bind::Names::relation(names, Some(schema), &relation.name)
        }),
        Over::Domain(ty) => names.catalog.user_type(ty).and_then(|user| match &user.kind {
            UserTypeKind::Domain(domain) => Some(of_value((domain.base, domain.modifier)).into()),
            _ => None,
        }),
    };
    let over_relation = relation.as_deref();
    let bound =
        sql::bind::outline_expression(&kept.text, over_relation, wanted, names, around.types());
    match bound {
        Ok(mut outlined) => {
            outlined.is_of_domain = matches!(over, Over::Domain(_));
            let text = deparse::expression(&outlined, names, around.types(), layout);
            Printed { text, is_call: deparse::looks_like_function(&outlined) }
        }
        Err(_) => {
            let text = shown(names, kept);
            let parsed = sql::parse::expression(&kept.text);
            let is_call = parsed
                .is_ok_and(|parsed| matches!(parsed.kind, sql::parse::ast::ExprKind::Call(_)));
            Printed { text: text.trim().to_owned(), is_call }
        }
    }
}

/// An expression as the catalog shows it to those who hand it to `pg_get_expr`: which one it is, and its
/// text.
pub(crate) fn node_of(kind: &str, of: impl std::fmt::Display, kept: &str) -> String {
    format!("{{{kind} :of {of} :text {kept}}}")
}

/// The expression behind such a text; any other text is what it is.
fn node(around: &StatementContext<'_>, text: &str, relation: Oid, layout: Layout) -> String {
    expression_of(around, text, relation, layout).unwrap_or_else(|| text.to_owned())
}

fn expression_of(
    around: &StatementContext<'_>,
    text: &str,
    relation: Oid,
    layout: Layout,
) -> Option<String> {
    let catalog = &around.names.catalog;
    let (kind, rest) = text.strip_prefix('{')?.split_once(" :of ")?;
    let (of, _) = rest.split_once(" :text ")?;
    match kind {
        "DEFAULT" => {
            let column = catalog.relation(relation)?.column(of.parse().ok()?)?;
            let wanted = DefinitionUse::Column(&column.name, column.ty, column.modifier);
            let kept = &column.default.as_ref()?.expr;
            Some(printed(around, kept, Over::Relation(relation), wanted, layout).text)
        }
        "USING" | "WITH_CHECK" => {
            let policy = catalog.policy(Oid(of.parse().ok()?))?;
            let expr = if kind == "USING" { &policy.using } else { &policy.check };
            let over = Over::Relation(policy.table);
            Some(printed(around, expr.as_ref()?, over, DefinitionUse::Condition, layout).text)
        }
        "CHECK" => {
            let constraint = catalog.constraint(Oid(of.parse().ok()?))?;
            let ConstraintKind::Check { expr, .. } = &constraint.kind else { return None };
            Some(printed(around, expr, Over::of(constraint), DefinitionUse::Condition, layout).text)
        }
        "PARTITION_BOUND" => super::partitions::bound(around, catalog.relation(relation)?),
        "PARTITION_KEYS" => super::partitions::key_exprs(around, catalog.relation(relation)?),
        kind => {
            let index = catalog.relation(Oid(of.parse().ok()?))?.index()?;
            let over = Over::Relation(index.table);
            if kind == "PREDICATE" {
                let predicate = index.predicate.as_ref()?;
                return Some(
                    printed(around, predicate, over, DefinitionUse::Condition, layout).text,
                );
            }
            let keys = index.keys.iter().filter_map(|key| match &key.part {
                IndexPart::Expr(expr) => {
                    Some(printed(around, expr, over, DefinitionUse::Any, layout).text)
                }
                IndexPart::Column(_) => None,
            });
            Some(keys.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The query of a view or a materialized view, whose columns have the names of the relation.
fn definition(
    around: &StatementContext<'_>,
    relation: &Relation,
    layout: Layout,
) -> Option<String> {
    let kept = relation.query()?;
    let columns: Vec<String> =
        relation.live_columns().map(|column| column.name.to_string()).collect();
    let names = &*around.names;
    let parsed = sql::parse::statements(&kept.text).ok();
    let outlined = parsed.as_ref().and_then(|parsed| match &parsed.first()?.statement {
        Statement::Query(query) => sql::bind::outline(query, names, around.types()).ok()?,
        _ => None,
    });
    if let Some(outlined) = outlined {
        let text = deparse::query(&outlined, &columns, names, around.types(), layout);
        return Some(format!("{text};"));
    }
    let text = shown(names, kept);
    let bound = parsed.as_ref().and_then(|parsed| {
        let statement = &parsed.first()?.statement;
        sql::bind::statement(statement, names, around.types(), &[]).ok()
    });
    let is_called = |bound: sql::bind::Bound| {
        bound.plan.columns.iter().map(|column| &column.name).eq(columns.iter())
    };
    if bound.is_none_or(is_called) {
        return Some(format!(" {text};"));
    }
    let quoted: Vec<String> =
        columns.iter().map(|column| scalar::quote::identifier(column)).collect();
    let (columns, name) = (quoted.join(", "), scalar::quote::identifier(&relation.name));
    Some(format!(" SELECT {columns} FROM ({text}) AS {name}({columns});"))
}

/// The names of columns of a relation, in parentheses.
fn columns(relation: Option<&std::sync::Arc<Relation>>, attnums: &[i16]) -> String {
    let name = |attnum: &i16| {
        let column = relation.and_then(|relation| relation.column(*attnum));
        column.map_or_else(String::new, |column| scalar::quote::identifier(&column.name))
    };
    format!("({})", attnums.iter().map(name).collect::<Vec<_>>().join(", "))
}

/// The definition of a constraint, as `ALTER TABLE ... ADD` takes it.
fn constraint(around: &StatementContext<'_>, constraint: &Constraint, pretty: bool) -> String {
    let names = &*around.names;
    let table = constraint.table().and_then(|table| names.catalog.relation(table));
    let mut text = match &constraint.kind {
        ConstraintKind::Check { expr, .. } => {
            let (over, wanted) = (Over::of(constraint), DefinitionUse::Condition);
            format!("CHECK ({})", printed(around, expr, over, wanted, Layout::new(pretty)).text)
        }
        ConstraintKind::Exclude { index, .. } => exclusion(around, *index, pretty),
        ConstraintKind::Key { columns: keys, is_primary, index, is_period } => {
            let index = names.catalog.relation(*index).and_then(|relation| relation.index());
            let nulls = match index {
                Some(index) if !index.nulls_distinct => " NULLS NOT DISTINCT",
                _ => "",
            };
            let word = if *is_primary { "PRIMARY KEY" } else { "UNIQUE" };
            let mut text = format!("{word}{nulls} {}", columns(table, keys));
            if *is_period {
                text.pop();
                text.push_str(" WITHOUT OVERLAPS)");
            }
            if let Some(index) = index.filter(|index| !index.include.is_empty()) {
                text.push_str(" INCLUDE ");
                text.push_str(&columns(table, &index.include));
            }
            text
        }
        ConstraintKind::Foreign(key) => {
            let other = names.catalog.relation(key.references);
            let name = other.map_or_else(String::new, |other| {
                let visible = names.is_relation_visible(other.oid);
                names.written(other.schema, &other.name, visible)
            });
            let shown = |table: Option<&std::sync::Arc<Relation>>, attnums: &[i16]| {
                let [others @ .., last] = attnums else { return String::new() };
                let (others, last) = (columns(table, others), columns(table, &[*last]));
                match key.is_period {
                    true => format!("{}, PERIOD {}", others.trim_end_matches(')'), &last[1..]),
                    false => columns(table, attnums),
                }
            };
            let mut text = format!(
                "FOREIGN KEY {} REFERENCES {name}{}",
                shown(table, &key.columns),
                shown(other, &key.referenced)
            );
            if key.match_type == MatchType::Full {
                text.push_str(" MATCH FULL");
            }
            for (action, event) in [(key.on_update, "UPDATE"), (key.on_delete, "DELETE")] {
                let words = match action {
                    Action::NoAction => continue,
                    Action::Restrict => "RESTRICT",
                    Action::Cascade => "CASCADE",
                    Action::SetNull => "SET NULL",
                    Action::SetDefault => "SET DEFAULT",
                };
                text.push_str(&format!(" ON {event} {words}"));
                if event == "DELETE" && !key.on_delete_columns.is_empty() {
                    text.push(' ');
                    text.push_str(&columns(table, &key.on_delete_columns));
                }
            }
            text
        }
    };
    if constraint.is_deferrable {
        text.push_str(" DEFERRABLE");
    }
    if constraint.is_deferred {
        text.push_str(" INITIALLY DEFERRED");
    }
    if !constraint.is_validated {
        text.push_str(" NOT VALID");
    }
    text
}

/// A text that the catalog keeps, as it reads along the search path: the schema of a name that is
/// found without it is left out.
fn shown(names: &Names, kept: &SqlText) -> String {
    let text = &*kept.text;
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for pair in kept.names.windows(2) {
        let (schema, named) = (&pair[0], &pair[1]);
        let (at, end) = (schema.at as usize, (schema.at + schema.len) as usize);
        let is_visible = match named.object.class {
            Class::Relation => named.object.sub == 0 && names.is_relation_visible(named.object.oid),
            Class::Type => names.is_type_visible(Type(named.object.oid)),
            Class::Function => names.is_member_visible(named.object.oid),
            _ => false,
        };
        let is_path = schema.object.class == Class::Schema && named.at as usize == end + 1;
        if is_path && is_visible {
            shown.push_str(&text[from..at]);
            from = end + 1;
        }
    }
    shown.push_str(&text[from..]);
    shown
}

/// The definition of an exclusion constraint by its index.
fn exclusion(around: &StatementContext<'_>, oid: Oid, pretty: bool) -> String {
    let layout = Layout::new(pretty);
    let of = around.names.catalog.relation(oid).and_then(|relation| {
        let index = relation.index()?;
        Some((index, keys(around, relation, index, layout)?))
    });
    let Some((index, keys)) = of else { return String::new() };
    let with = keys.iter().zip(&index.excludes).map(|(key, operator)| {
        let operator = scalar::operators::by_oid(*operator).map_or("", |operator| operator.name);
        format!("{key} WITH {operator}")
    });
    let with: Vec<String> = with.collect();
    let mut text = format!("EXCLUDE USING {} ({})", index.method.name(), with.join(", "));
    if !index.include.is_empty() {
        text.push_str(" INCLUDE ");
        text.push_str(&columns(around.names.catalog.relation(index.table), &index.include));
    }
    if let Some(predicate) = &index.predicate {
        let over = Over::Relation(index.table);
        let condition = printed(around, predicate, over, DefinitionUse::Condition, layout);
        text.push_str(&format!(" WHERE ({})", condition.text));
    }
    text
}

/// The keys of an index, with their collations and operator classes, without their order.
fn keys(
    around: &StatementContext<'_>,
    relation: &Relation,
    index: &Index,
    layout: Layout,
) -> Option<Vec<String>> {
    let names = &*around.names;
    let table = names.catalog.relation(index.table)?;
    let mut keys = Vec::new();
    for (key, shown_as) in index.keys.iter().zip(&relation.columns) {
        let mut text = match &key.part {
            IndexPart::Column(attnum) => scalar::quote::identifier(&table.column(*attnum)?.name),
            IndexPart::Expr(expr) => {
                let over = Over::Relation(index.table);
                match printed(around, expr, over, DefinitionUse::Any, layout) {
                    Printed { text, is_call: true } => text,
                    Printed { text, .. } => format!("({text})"),
                }
            }
        };
        let own = match key.column().and_then(|attnum| table.column(attnum)) {
            Some(column) => column.collation,
            None => collation_of(names, key.ty),
        };
        if shown_as.collation != own && shown_as.collation != Oid::NONE {
            let collation = Objects::name(names, Type::REGCOLLATION, shown_as.collation);
            text.push_str(" COLLATE ");
            text.push_str(&collation.unwrap_or_default());
        }
        let class = key.class.as_deref().filter(|class| {
            let known = class_of(names, key.ty, index.method, Some(class));
            known.is_none_or(|class| !class.is_default)
        });
        if let Some(class) = class {
            let number = types::extension::class_named(class, index.method.name())
                .map(|(number, ..)| *number);
            let schema = number.and_then(|number| names.member_schema(number));
            let is_visible = schema.is_none_or(|schema| names.path.contains(&schema));
            text.push(' ');
            text.push_str(&names.written(schema.unwrap_or(Oid::NONE), class, is_visible));
        }
        keys.push(text);
    }
    Some(keys)
}

/// The definition of an index, or of one of its keys where `column` is not 0.
fn index(around: &StatementContext<'_>, oid: Oid, column: usize, pretty: bool) -> Option<String> {
    let names = &*around.names;
    let layout = Layout::new(pretty);
    let relation = names.catalog.relation(oid)?;
    let index = relation.index()?;
    let table = names.catalog.relation(index.table)?;
    let mut keys = keys(around, relation, index, layout)?;
    for (text, key) in keys.iter_mut().zip(&index.keys) {
        if column == 0 && index.method == IndexMethod::Btree {
            if key.is_descending {
                text.push_str(" DESC");
            }
            if key.nulls_first != key.is_descending {
                text.push_str(if key.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
            }
        }
    }
    if column > 0 {
        let included = index.include.get(column.wrapping_sub(1 + index.keys.len()));
        let included = included.and_then(|attnum| table.column(*attnum));
        return keys
            .get(column - 1)
            .cloned()
            .or_else(|| included.map(|column| scalar::quote::identifier(&column.name)))
            .or(Some(String::new()));
    }
    let mut text = format!(
        "CREATE {}INDEX {} ON {}{} USING {} ({})",
        if index.is_unique || names.is_of_period(index) { "UNIQUE " } else { "" },
        scalar::quote::identifier(&relation.name),
        if table.partitioning().is_some() { "ONLY " } else { "" },
        names.written(table.schema, &table.name, pretty && names.is_relation_visible(table.oid)),
        index.method.name(),
        keys.join(", ")
    );
    if !index.include.is_empty() {
        text.push_str(" INCLUDE ");
        text.push_str(&columns(Some(table), &index.include));
    }
    if index.is_unique && !index.nulls_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    if let Some(predicate) = &index.predicate {
        let over = Over::Relation(index.table);
        let condition = printed(around, predicate, over, DefinitionUse::Condition, layout);
        text.push_str(&format!(" WHERE {}", condition.text));
    }
    Some(text)
}

/// The collation of the values of a type, where nothing else is said.
fn collation_of(names: &Names, ty: Type) -> Oid {
    let facts = scalar::facts::Facts(names);
    let base = facts.base(ty);
    let of = facts.element(base).unwrap_or(base);
    types::builtin::facts(of).map_or(Oid::NONE, |facts| facts.collation())
}
