//! Functions over the catalog: names of objects, comments, sizes.

use std::sync::Arc;

use store::TableId;
use table::catalog::{Address, Class, Relation};
use types::{
    Datum, DatumRef, Modifier, Objects, Oid, Result, SqlState, Type, TypeSource, extension,
};

use super::{integer, oid, text};
use crate::client::StatementContext;
use crate::names::Names;

fn some(text: Option<String>) -> Datum {
    text.map_or(Datum::Null, Datum::text)
}

pub(super) fn call(
    around: &StatementContext<'_>,
    name: &str,
    args: &[DatumRef<'_>],
) -> Result<Option<Datum>> {
    let names = &*around.names;
    let types: &dyn TypeSource = names;
    let catalog = &names.catalog;
    Ok(Some(match name {
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
        "pg_relation_is_updatable" => Datum::Int4(match is_updatable(around, oid(args, 0), None) {
            true => INSERT_UPDATE_DELETE,
            false => 0,
        }),
        "pg_column_is_updatable" => {
            Datum::Bool(is_updatable(around, oid(args, 0), Some(integer(args, 1))))
        }
        "pg_relation_filepath"
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
        "pg_collation_for" => args.get(1).map_or(Datum::Null, |name| (*name).to_owned()),
        _ => return Ok(None),
    }))
}

/// The object of a name; NULL where there is none, or more than one.
fn found(names: &Names, class: Type, text: &str) -> Result<Datum> {
    Objects::oid(names, class, text).map(Datum::Oid).or_else(unknown)
}

/// NULL for a name that finds nothing. A text that is no name is an error also where the answer
/// could be NULL.
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
        "pg_extension" => Class::Extension,
        "pg_collation" => Class::Collation,
        _ => return None,
    })
}

/// The comment on an object of one of these classes.
fn comment(names: &Names, oid: Oid, sub: i16, classes: &[Class]) -> Option<String> {
    classes.iter().find_map(|class| {
        let comment = names.catalog.comment(Address { class: *class, oid, sub });
        match comment {
            Some(comment) => Some(comment.text.to_string()),
            None if *class == Class::Extension && oid == extension::PLPGSQL_OID => {
                Some(extension::PLPGSQL.comment.to_owned())
            }
            None => None,
        }
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

/// The events of `pg_relation_is_updatable`: a bit each.
const INSERT_UPDATE_DELETE: i32 = 1 << 3 | 1 << 2 | 1 << 4;

/// True if rows can be changed through a relation, or a column of it be given values.
fn is_updatable(around: &StatementContext<'_>, relation: Oid, column: Option<i64>) -> bool {
    use sql::parse::ast::{Body, ExprKind, Source, Statement};
    let names = &*around.names;
    let Some(relation) = names.catalog.relation(relation) else { return false };
    if relation.view().is_none() {
        return relation.is_plain_table();
    }
    let Some(text) = relation.query().map(|query| &query.text) else { return false };
    let Ok(parsed) = sql::parse::statements(text) else { return false };
    let Some(Statement::Query(query)) = parsed.first().map(|parsed| &parsed.statement) else {
        return false;
    };
    let bound = sql::bind::statement(&parsed[0].statement, names, around.types(), &[]);
    let is_open =
        bound.is_ok_and(|bound| sql::bind::why_not_updatable(query, &bound.plan).is_none());
    let Body::Select(select) = &query.body else { return false };
    let [Source::Table(table)] = &select.from[..] else { return false };
    let Ok((schema, name)) = names.split(&table.name) else { return false };
    let under = names.user_relation(schema, name).map(|under| under.oid);
    let is_shown = column.is_none_or(|column| {
        let at = usize::try_from(column - 1).unwrap_or(usize::MAX);
        let output = select.outputs.get(at);
        output.is_some_and(|output| matches!(output.expr.kind, ExprKind::Column(_)))
    });
    is_open && is_shown && under.is_some_and(|under| is_updatable(around, under, None))
}
