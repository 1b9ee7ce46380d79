//! Functions over the catalog: definitions as SQL, names of objects, comments, sizes.

use std::sync::Arc;

use store::TableId;
use table::catalog::{
    Action, Address, Class, Constraint, ConstraintKind, IndexMethod, IndexPart, MatchType,
    Relation, SqlText,
};
use types::{Datum, DatumRef, Modifier, Objects, Oid, Result, SqlState, Type, TypeSource};

use super::{bool, integer, oid, text};
use crate::client::Surroundings;
use crate::names::Names;
use crate::system::class_of;

fn some(text: Option<String>) -> Datum {
    text.map_or(Datum::Null, Datum::text)
}

pub(super) fn call(
    around: &Surroundings<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let names = &*around.names;
    let types: &dyn TypeSource = names;
    let catalog = &names.catalog;
    Ok(Some(match name {
        "pg_get_expr" => {
            let kept = kept(names, text(args, 0), oid(args, 1));
            Datum::text(kept.unwrap_or_else(|| text(args, 0).to_owned()))
        }
        "pg_get_indexdef" => {
            let column = if args.len() > 1 { integer(args, 1) } else { 0 };
            some(index(names, oid(args, 0), column as usize, bool(args, 2)))
        }
        "pg_get_constraintdef" => {
            let found = catalog.constraint(oid(args, 0));
            some(found.map(|constraint| constraint_text(names, constraint, bool(args, 1))))
        }
        "pg_get_viewdef" => {
            let view = match args[0] {
                DatumRef::Oid(view) => view,
                _ => names.regclass(text(args, 0))?,
            };
            let view = catalog.relation(view).and_then(|relation| relation.view());
            some(view.map(|view| format!(" {};", shown(names, &view.query))))
        }
        "pg_get_userbyid" => {
            let role = catalog.role(oid(args, 0)).map(|role| role.name.to_string());
            Datum::text(role.unwrap_or_else(|| format!("unknown (OID={})", oid(args, 0))))
        }
        "pg_get_serial_sequence" => serial_sequence(names, text(args, 0), text(args, 1))?,
        "format_type" => match args {
            [DatumRef::Oid(ty), modifier, ..] => {
                let modifier = match modifier {
                    DatumRef::Int4(modifier) => Modifier(*modifier),
                    _ => Modifier::NONE,
                };
                Datum::text(types::format_type(types, Type(*ty), modifier))
            }
            _ => Datum::Null,
        },
        "obj_description" => {
            // Without a class the object is of any.
            let classes = match args.get(1) {
                Some(DatumRef::Text(class)) => class_named(class).into_iter().collect(),
                _ => Class::ALL.to_vec(),
            };
            some(comment(names, oid(args, 0), 0, &classes))
        }
        "shobj_description" => {
            let class = class_named(text(args, 1));
            some(comment(names, oid(args, 0), 0, class.as_slice()))
        }
        "col_description" => {
            let attnum = integer(args, 1) as i16;
            some(comment(names, oid(args, 0), attnum, &[Class::Relation]))
        }
        "to_regclass" => found(names, Type::REGCLASS, text(args, 0))?,
        "to_regtype" => found(names, Type::REGTYPE, text(args, 0))?,
        "to_regproc" => found(names, Type::REGPROC, text(args, 0))?,
        "to_regprocedure" => found(names, Type::REGPROCEDURE, text(args, 0))?,
        "to_regoper" => found(names, Type::REGOPER, text(args, 0))?,
        "to_regoperator" => found(names, Type::REGOPERATOR, text(args, 0))?,
        "to_regnamespace" => found(names, Type::REGNAMESPACE, text(args, 0))?,
        "to_regrole" => found(names, Type::REGROLE, text(args, 0))?,
        "to_regcollation" => found(names, Type::REGCOLLATION, text(args, 0))?,
        "to_regtypemod" => match names.regtypemod(text(args, 0), around.types()) {
            Ok(modifier) => Datum::Int4(modifier.0),
            Err(error) => unknown(error)?,
        },
        "pg_relation_size" | "pg_table_size" | "pg_total_relation_size" | "pg_indexes_size" => {
            size(names, oid(args, 0), name)
        }
        "pg_database_size" => {
            let database = match args[0] {
                DatumRef::Oid(oid) => names.present.database(oid),
                _ => Some(super::privilege::database(names, text(args, 0))?),
            };
            database.map_or(Datum::Null, |database| database_size(names, database.oid))
        }
        "pg_relation_is_updatable" => Datum::Int4(28),
        "pg_column_is_updatable" => Datum::Bool(true),
        "pg_relation_filepath"
        | "pg_get_partkeydef"
        | "pg_get_partition_constraintdef"
        | "pg_get_statisticsobjdef"
        | "pg_get_statisticsobjdef_columns"
        | "pg_get_triggerdef"
        | "pg_get_ruledef"
        | "pg_get_functiondef"
        | "pg_get_function_sqlbody"
        | "pg_get_function_arg_default"
        | "pg_get_replica_identity_index" => Datum::Null,
        "pg_get_function_result" => {
            let function = scalar::registry::function(oid(args, 0));
            some(function.map(|function| {
                let set = if function.set { "SETOF " } else { "" };
                format!("{set}{}", types.name_of(function.ret))
            }))
        }
        "pg_get_function_arguments" | "pg_get_function_identity_arguments" => {
            let function = scalar::registry::function(oid(args, 0));
            some(function.map(|function| {
                let args: Vec<String> = function.args.iter().map(|ty| types.name_of(*ty)).collect();
                args.join(", ")
            }))
        }
        "pg_collation_for" => Datum::text("\"default\""),
        _ => return Ok(None),
    }))
}

/// The object of a name; NULL where there is none, or more than one.
fn found(names: &Names, class: Type, text: &str) -> Result<Datum> {
    Objects::oid(names, class, text).map(Datum::Oid).or_else(unknown)
}

/// NULL for a name that finds nothing. What is no name is an error also where the answer could be
/// NULL.
fn unknown(error: types::Error) -> Result<Datum> {
    match error.state() {
        SqlState::SYNTAX_ERROR | SqlState::FEATURE_NOT_SUPPORTED => Err(error),
        _ => Ok(Datum::Null),
    }
}

/// The class of objects that a system catalog keeps.
fn class_named(name: &str) -> Option<Class> {
    Some(match name {
        "pg_class" => Class::Relation,
        "pg_type" => Class::Type,
        "pg_constraint" => Class::Constraint,
        "pg_namespace" => Class::Schema,
        "pg_authid" => Class::Role,
        "pg_database" => Class::Database,
        _ => return None,
    })
}

/// The comment on an object of one of these classes.
fn comment(names: &Names, oid: Oid, sub: i16, classes: &[Class]) -> Option<String> {
    classes.iter().find_map(|class| {
        let comment = names.catalog.comment(Address { class: *class, oid, sub })?;
        Some(comment.text.to_string())
    })
}

/// How many bytes of files a relation takes, its past included. Of what lies in memory the rows are counted, their
/// lengths are not known.
fn size(names: &Names, relation: Oid, name: &str) -> Datum {
    let index = names.catalog.relation(relation).filter(|relation| relation.index().is_some());
    let of = index.and_then(|index| index.index()).map_or(relation, |index| index.table);
    let Some(table) = names.catalog.table(of) else {
        let known = names.relation_name(relation).is_some();
        return if known { Datum::Int8(0) } else { Datum::Null };
    };
    let storage = table.relation.table().map(|data| data.storage);
    let count = storage.map_or(0, |storage| names.handles.row_count(storage));
    let width: u64 = 16 + 12 * table.relation.columns.len() as u64;
    // If a file cannot be read, the size is an estimate; a query of its rows reports the damage.
    let in_files = |storage| names.handles.engine().store().table_bytes(storage).unwrap_or(0);
    let bytes = |storage: Option<TableId>, estimated: u64| match storage.map_or(0, in_files) {
        0 => estimated,
        bytes => bytes,
    };
    let rows = bytes(storage, count * width);
    let of_index = |relation: &Arc<Relation>| {
        bytes(relation.index().and_then(|index| index.storage), count * 24)
    };
    if let Some(index) = index {
        return Datum::Int8(if name == "pg_indexes_size" { 0 } else { of_index(index) as i64 });
    }
    let indexes: u64 = table.indexes.iter().map(of_index).sum();
    Datum::Int8(match name {
        "pg_indexes_size" => indexes,
        "pg_total_relation_size" => rows + indexes,
        _ => rows,
    } as i64)
}

/// About how many bytes the tables of a database take, with their indexes.
fn database_size(names: &Names, database: Oid) -> Datum {
    let relations = names.present.relations();
    let own = relations.filter(|relation| names.present.database_of(relation) == Some(database));
    let bytes =
        own.filter_map(|relation| match size(names, relation.oid, "pg_total_relation_size") {
            Datum::Int8(bytes) => Some(bytes),
            _ => None,
        });
    Datum::Int8(bytes.sum())
}

fn serial_sequence(names: &Names, table: &str, column: &str) -> Result<Datum> {
    let table = names.regclass(table)?;
    let Some(relation) = names.catalog.relation(table) else { return Ok(Datum::Null) };
    let Some(attnum) = relation.column_named(column).map(|column| column.attnum) else {
        let message =
            format!("column \"{column}\" of relation \"{}\" does not exist", relation.name);
        return Err(types::Error::new(types::SqlState::UNDEFINED_COLUMN, message));
    };
    let owned = names.catalog.relations().find(|relation| {
        let owner = relation.sequence().and_then(|sequence| sequence.owned_by);
        owner.is_some_and(|owner| owner.table == table && owner.attnum == attnum)
    });
    Ok(some(owned.map(|sequence| names.written(sequence.schema, &sequence.name, false))))
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
fn constraint_text(names: &Names, constraint: &Constraint, pretty: bool) -> String {
    let table = constraint.table().and_then(|table| names.catalog.relation(table));
    let mut text = match &constraint.kind {
        ConstraintKind::Check { expr, .. } => {
            format!("CHECK ({})", condition(names, expr, pretty))
        }
        ConstraintKind::Key { columns: keys, is_primary, index } => {
            let index = names.catalog.relation(*index).and_then(|relation| relation.index());
            let nulls = match index {
                Some(index) if !index.nulls_distinct => " NULLS NOT DISTINCT",
                _ => "",
            };
            let word = if *is_primary { "PRIMARY KEY" } else { "UNIQUE" };
            let mut text = format!("{word}{nulls} {}", columns(table, keys));
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
            let mut text = format!(
                "FOREIGN KEY {} REFERENCES {name}{}",
                columns(table, &key.columns),
                columns(other, &key.referenced)
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

/// A condition, in the parentheses that PostgreSQL writes around it where it is not to be pretty.
fn condition(names: &Names, expr: &SqlText, pretty: bool) -> String {
    let text = shown(names, expr);
    match pretty {
        true => text.trim().to_owned(),
        false => format!("({})", text.trim()),
    }
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

/// An expression that belongs to a relation (a default, a key, a condition of an index, a check) as
/// it reads along the search path; none where it is of something else.
fn kept(names: &Names, text: &str, relation: Oid) -> Option<String> {
    let owner = names.catalog.relation(relation)?;
    let defaults = owner.columns.iter().filter_map(|column| column.default.as_ref());
    let table = names.catalog.table(relation);
    let indexes = table.into_iter().flat_map(|table| &table.indexes);
    let of_indexes = indexes.filter_map(|index| index.index()).flat_map(|index| {
        let keys = index.keys.iter().filter_map(|key| match &key.part {
            IndexPart::Expr(expr) => Some(expr),
            IndexPart::Column(_) => None,
        });
        keys.chain(&index.predicate)
    });
    let checks = table.into_iter().flat_map(|table| &table.constraints);
    let checks = checks.filter_map(|constraint| match &constraint.kind {
        ConstraintKind::Check { expr, .. } => Some(expr),
        _ => None,
    });
    let mut all = defaults.map(|default| &default.expr).chain(of_indexes).chain(checks);
    all.find(|kept| *kept.text == *text).map(|kept| shown(names, kept))
}

/// The definition of an index, or of one of its keys where `column` is not 0.
fn index(names: &Names, oid: Oid, column: usize, pretty: bool) -> Option<String> {
    let relation = names.catalog.relation(oid)?;
    let index = relation.index()?;
    let table = names.catalog.relation(index.table)?;
    let mut keys = Vec::new();
    for (key, shown_as) in index.keys.iter().zip(&relation.columns) {
        let mut text = match &key.part {
            IndexPart::Column(attnum) => scalar::quote::identifier(&table.column(*attnum)?.name),
            IndexPart::Expr(expr) if is_call(&expr.text) => shown(names, expr),
            IndexPart::Expr(expr) => format!("({})", shown(names, expr)),
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
            text.push(' ');
            text.push_str(class);
        }
        if column == 0 && index.method == IndexMethod::Btree {
            if key.is_descending {
                text.push_str(" DESC");
            }
            if key.nulls_first != key.is_descending {
                text.push_str(if key.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
            }
        }
        keys.push(text);
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
        "CREATE {}INDEX {} ON {} USING {} ({})",
        if index.is_unique { "UNIQUE " } else { "" },
        scalar::quote::identifier(&relation.name),
        names.written(table.schema, &table.name, false),
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
        text.push_str(&format!(" WHERE {}", condition(names, predicate, pretty)));
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

/// True for the call of a function, which stands in an index without parentheses.
fn is_call(text: &str) -> bool {
    let Ok(parsed) = sql::parse::expression(text) else { return false };
    matches!(parsed.kind, sql::parse::ast::ExprKind::Call(_))
}
