//! `CREATE TABLE`.

use std::sync::Arc;

use ::table::catalog::ddl::{
    NewColumn, NewConstraint, NewConstraintKind, NewIdentity, NewTable, SequenceOptions,
};
use ::table::catalog::{
    Action, MatchType, PartitionOf, Persistence, Relation, RelationKind, SqlText,
};
use ::table::method::{NewMethod, Options};
use sql::bind::ColumnDefault;
use sql::parse::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDefinition, CreateTable, ForeignAction, Name,
    Path, References, SequenceOption, SqlExpr, StorageOption, TableConstraint, TableConstraintKind,
    TableElement, Timing,
};
use store::Retention;
use types::{Modifier, Oid, SqlState, Type};

use super::like::Like;
use super::one_row::{check_condition, check_default};
use super::temporary::usual_history;
use super::text::{self, Over};
use super::{DdlContext, exclusion, misc, partition};
use crate::error::{Error, Result};

/// The types that are integers with a sequence.
const SERIALS: [(&str, Type); 6] = [
    ("serial", Type::INT4),
    ("serial4", Type::INT4),
    ("bigserial", Type::INT8),
    ("serial8", Type::INT8),
    ("smallserial", Type::INT2),
    ("serial2", Type::INT2),
];

/// A table that is being put together.
pub struct Parts {
    pub schema: Oid,
    pub name: String,
    pub columns: Vec<NewColumn>,
    pub constraints: Vec<NewConstraint>,
    /// The columns whose values come from a sequence that is made with the table, and their type.
    pub serials: Vec<(usize, Type)>,
}

impl Parts {
    /// The names that expressions may use, given [`names`](Parts::names).
    pub fn over<'a>(&'a self, columns: &'a [(Arc<str>, i16)]) -> Over<'a> {
        Over { relation: Oid::NONE, schema: self.schema, name: &self.name, columns }
    }

    /// The columns as expressions may name them.
    pub fn names(&self) -> Vec<(Arc<str>, i16)> {
        self.columns.iter().zip(1..).map(|(column, at)| (Arc::clone(&column.name), at)).collect()
    }
}

/// `CREATE TABLE`
pub fn create(maker: &mut DdlContext<'_, '_>, create: &CreateTable) -> Result<()> {
    let (schema, name, mut persistence) = maker.new_relation(&create.name, create.temporary)?;
    maker.require_creation(schema, &create.name)?;
    if create.if_not_exists && maker.catalog().relation_named(schema, name).is_some() {
        maker.notice(
            SqlState::DUPLICATE_TABLE,
            format!("relation \"{name}\" already exists, skipping"),
        );
        return Ok(());
    }
    if create.unlogged && persistence == Persistence::Temporary {
        let message = "only temporary relations may be created in temporary schemas";
        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    if create.unlogged {
        persistence = Persistence::Unlogged;
    }
    let mut likes = Vec::new();
    let mut parts = Parts {
        schema,
        name: name.to_owned(),
        columns: Vec::new(),
        constraints: Vec::new(),
        serials: Vec::new(),
    };
    let partition_of = match &create.partition_of {
        Some((table, bound)) => {
            let (parent, of) = partition::partition_of(maker, table, bound)?;
            partition::columns(maker, &parent, &mut parts)?;
            Some((parent, of))
        }
        None => None,
    };
    // Columns first: constraints may name those that follow them.
    for element in &create.elements {
        match element {
            TableElement::Column(column) => add_column(maker, &mut parts, column)?,
            TableElement::Like { table, options } => {
                let like = Like { of: maker.relation(table)?, options };
                if matches!(like.of.kind, RelationKind::Sequence(_) | RelationKind::Index(_)) {
                    let message =
                        format!("relation \"{}\" is invalid in LIKE clause", like.of.name);
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                like.columns(&mut parts);
                likes.push(like);
            }
            TableElement::Constraint(_) | TableElement::Options { .. } => {}
        }
    }
    for like in &likes {
        like.expressions(maker, &mut parts)?;
    }
    for element in &create.elements {
        match element {
            TableElement::Column(column) => {
                let said = (&column.name, &column.constraints[..]);
                for constraint in &column.constraints {
                    column_constraint(maker, &mut parts, said, constraint)?;
                }
            }
            TableElement::Options { name, constraints } => {
                let Some(column) = parts.columns.iter_mut().find(|it| *it.name == *name.text)
                else {
                    let message = format!("column \"{}\" does not exist", name.text);
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                };
                // The option of the partition replaces that of its table.
                use ColumnConstraintKind::{Default, Identity};
                if constraints.iter().any(|it| matches!(it.kind, Identity { .. })) {
                    let message = "identity columns are not supported on partitions";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                if constraints.iter().any(|it| matches!(it.kind, Default(_))) {
                    column.default = None;
                }
                for constraint in constraints {
                    column_constraint(maker, &mut parts, (name, constraints), constraint)?;
                }
            }
            TableElement::Constraint(constraint) => {
                let over = parts.names();
                let bound = shadow(maker, parts.schema, &parts);
                let made = table_constraint(maker, constraint, parts.over(&over), &bound)?;
                parts.constraints.push(made);
            }
            TableElement::Like { .. } => {}
        }
    }
    one_primary_key(&parts)?;
    let partitioning = match &create.partition_by {
        Some(by) => {
            let bound = shadow(maker, parts.schema, &parts);
            Some(partition::partitioning(maker, by, &parts, &bound)?)
        }
        None => None,
    };
    let method = create.method.clone().or_else(|| method_of(maker, partition_of.as_ref()));
    let Storage { options, history, method } = storage(maker, method.as_ref(), &create.options)?;
    let kept = partition_of.as_ref().and_then(|(parent, _)| Some(parent.table()?.history));
    // Sequences of serial columns come first, because the columns' defaults name them.
    let mut sequences = Vec::new();
    for (place, ty) in &parts.serials {
        let column = Arc::clone(&parts.columns[*place].name);
        let sequence = maker.ddl.choose_relation_name(schema, name, Some(&column), "seq");
        let wanted = SequenceOptions { data_type: Some(*ty), ..SequenceOptions::default() };
        let made = maker.ddl.create_sequence(schema, &sequence, persistence, &wanted)?;
        parts.columns[*place].default =
            Some(text::next_value(&maker.names, schema, made.oid, &sequence));
        sequences.push((made.oid, *place as i16 + 1));
    }
    check_expressions(maker, schema, &parts)?;
    let made = maker.ddl.create_table(NewTable {
        schema,
        name: name.into(),
        persistence,
        columns: parts.columns,
        constraints: parts.constraints,
        options,
        history: history.or(kept).unwrap_or_else(|| usual_history(persistence)),
        method,
        partitioning,
        partition_of: partition_of.as_ref().map(|(_, of)| of.clone()),
    })?;
    maker.on_commit(made.oid, persistence, create.on_commit)?;
    for (sequence, attnum) in sequences {
        maker.ddl.own_sequence(sequence, Some((made.oid, attnum)))?;
    }
    maker.see();
    likes.iter().try_for_each(|like| like.beside(maker, made.oid))?;
    if let Some((parent, _)) = partition_of {
        partition::check_rows(maker, parent.oid, made.oid)?;
        partition::inherit(maker, parent.oid, made.oid)?;
    }
    Ok(())
}

/// The access method of the table that a new partition is of.
fn method_of(
    maker: &DdlContext<'_, '_>,
    of: Option<&(Arc<Relation>, PartitionOf)>,
) -> Option<Name> {
    let data = of?.0.table()?;
    let method = maker.names.handles.methods().get(data.method.oid).ok()?;
    Some(Name { text: method.name().to_owned(), at: sql::At::NONE })
}

/// A column without its constraints, but with its type and what makes it serial.
fn add_column(
    maker: &DdlContext<'_, '_>,
    parts: &mut Parts,
    definition: &ColumnDefinition,
) -> Result<()> {
    let column = new_column(maker, definition)?;
    if serial_type(definition).is_some() {
        parts.serials.push((parts.columns.len(), column.ty));
    }
    parts.columns.push(column);
    Ok(())
}

/// The integer type behind a serial one.
pub fn serial_type(definition: &ColumnDefinition) -> Option<Type> {
    let plain = definition.ty.name.parts.len() == 1 && definition.ty.dimensions == 0;
    let name = definition.ty.name.last();
    SERIALS.iter().find(|(serial, _)| plain && *serial == name).map(|(_, ty)| *ty)
}

/// A column of a type, NOT NULL where it is serial.
pub fn new_column(maker: &DdlContext<'_, '_>, definition: &ColumnDefinition) -> Result<NewColumn> {
    let (ty, modifier) = match serial_type(definition) {
        Some(ty) => (ty, Modifier::NONE),
        None => maker.type_of(&definition.ty)?,
    };
    let mut column = NewColumn::new(&definition.name.text, ty);
    column.collation = collation(maker, definition.collation.as_ref(), ty)?;
    column.modifier = modifier;
    column.not_null = serial_type(definition).is_some();
    Ok(column)
}

/// The collation that is named for values of a type.
pub fn collation(
    maker: &DdlContext<'_, '_>,
    named: Option<&Path>,
    ty: Type,
) -> Result<Option<Oid>> {
    let Some(path) = named else { return Ok(None) };
    let oid = super::collation::find(maker, path)?;
    let facts = scalar::facts::Facts(&*maker.names);
    let base = facts.base(ty);
    let of = facts.element(base).unwrap_or(base);
    let is_text = types::builtin::facts(of).is_some_and(|facts| facts.collation() != Oid::NONE);
    if !is_text {
        let types: &dyn types::TypeSource = &*maker.names;
        let message = format!("collations are not supported by type {}", types.name_of(ty));
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Ok(Some(oid))
}

/// Adds a constraint of a column to it, or to the table.
pub fn column_constraint(
    maker: &DdlContext<'_, '_>,
    parts: &mut Parts,
    (said_of, said): (&Name, &[ColumnConstraint]),
    constraint: &ColumnConstraint,
) -> Result<()> {
    let over = parts.names();
    let own = Over { relation: Oid::NONE, schema: parts.schema, name: &parts.name, columns: &over };
    let name = &said_of.text;
    let place = parts.columns.iter().position(|column| *column.name == **name);
    // The default of a serial column is set once its sequence is there.
    let is_serial = parts.serials.iter().any(|(serial, _)| Some(*serial) == place);
    let column = &mut parts.columns[place.expect("the column was added")];
    let conflict = |what: &str| {
        let message = format!("{what} for column \"{name}\" of table \"{}\"", parts.name);
        Error::new(SqlState::SYNTAX_ERROR, message)
    };
    let mut add = |kind: NewConstraintKind| {
        parts.constraints.push(named(constraint.name.as_ref(), kind, constraint.timing));
    };
    match &constraint.kind {
        ColumnConstraintKind::NotNull => column.not_null = true,
        ColumnConstraintKind::Null => {
            let is_not_null = said.iter().any(|known| {
                let kind = &known.kind;
                matches!(
                    kind,
                    ColumnConstraintKind::NotNull | ColumnConstraintKind::Identity { .. }
                )
            });
            if column.not_null || is_not_null {
                return Err(conflict("conflicting NULL/NOT NULL declarations"));
            }
        }
        ColumnConstraintKind::Default(expr) => {
            if column.is_generated {
                return Err(conflict("both default and generation expression specified"));
            }
            if column.identity.is_some() {
                return Err(conflict("both default and identity specified"));
            }
            if column.default.is_some() || is_serial {
                return Err(conflict("multiple default values specified"));
            }
            column.default = column_default(maker, expr, column.ty)?;
        }
        ColumnConstraintKind::Generated(expr) => {
            if column.default.is_some() || is_serial {
                return Err(conflict("both default and generation expression specified"));
            }
            if column.identity.is_some() {
                return Err(conflict("both identity and generation expression specified"));
            }
            column.default = Some(kept(maker, expr, Some(own))?);
            column.is_generated = true;
        }
        ColumnConstraintKind::Identity { always, options } => {
            if column.identity.is_some() {
                return Err(conflict("multiple identity specifications"));
            }
            if column.default.is_some() || is_serial {
                return Err(conflict("both default and identity specified"));
            }
            column.identity = Some(identity(maker, *always, options)?);
            column.not_null = true;
        }
        ColumnConstraintKind::Check(expr) => {
            let kept = kept(maker, expr, Some(own))?;
            add(NewConstraintKind::Check(kept));
        }
        ColumnConstraintKind::Unique { nulls_distinct } => add(NewConstraintKind::Key {
            columns: vec![name.as_str().into()],
            include: Vec::new(),
            is_primary: false,
            nulls_distinct: *nulls_distinct,
            options: Vec::new(),
            overlaps: Vec::new(),
        }),
        ColumnConstraintKind::PrimaryKey => add(NewConstraintKind::Key {
            columns: vec![name.as_str().into()],
            include: Vec::new(),
            is_primary: true,
            nulls_distinct: true,
            options: Vec::new(),
            overlaps: Vec::new(),
        }),
        ColumnConstraintKind::References(references) => {
            let columns = std::slice::from_ref(said_of);
            let kind = foreign(maker, (columns, false), references, &parts.name)?;
            add(kind);
        }
    }
    Ok(())
}

/// An identity, with the options of its sequence.
pub fn identity(
    maker: &DdlContext<'_, '_>,
    always: bool,
    options: &[SequenceOption],
) -> Result<NewIdentity> {
    let name = options.iter().find_map(|option| match option {
        SequenceOption::Name(path) => Some(path.last().into()),
        _ => None,
    });
    Ok(NewIdentity { is_always: always, name, options: misc::sequence_options(maker, options)? })
}

/// An expression as it is kept.
pub fn kept(maker: &DdlContext<'_, '_>, expr: &SqlExpr, over: Option<Over<'_>>) -> Result<SqlText> {
    text::expression(&expr.text, over, &maker.names)
}

/// The default of a column as it is kept; none for NULL, unless the type has a default of its own.
pub fn column_default(
    maker: &DdlContext<'_, '_>,
    expr: &SqlExpr,
    ty: Type,
) -> Result<Option<SqlText>> {
    let types: &dyn types::TypeSource = &*maker.names;
    match types.is_domain(ty) {
        true => kept(maker, expr, None).map(Some),
        false => match array_literal(maker, expr, ty) {
            Some(text) => kept(maker, &SqlExpr { text, at: expr.at }, None).map(Some),
            None => kept_default(maker, expr, None),
        },
    }
}

/// A string that is the default of an array, as PostgreSQL writes it down: `'{a,b}'::text[]`.
///
/// Tools compare the default in the catalog with their own. `None` for other expressions, for strings
/// that are no such array, which binding refuses, and for elements whose text depends on a setting.
fn array_literal(maker: &DdlContext<'_, '_>, expr: &SqlExpr, ty: Type) -> Option<String> {
    const ELEMENTS: [Type; 9] = [
        Type::TEXT,
        Type::VARCHAR,
        Type::BPCHAR,
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::NUMERIC,
        Type::BOOL,
        Type::UUID,
    ];
    let context = maker.context();
    let Ok(types::Shape::Array(element)) = context.types.shape_of(ty) else { return None };
    if !ELEMENTS.contains(&element) {
        return None;
    }
    let parsed = sql::parse::expression(&expr.text).ok()?;
    let sql::parse::ast::ExprKind::String(text) = &parsed.kind else { return None };
    let value = types::text::parse(text, ty, Modifier::NONE, &context).ok()?;
    let text = types::text::to_string(value.as_ref(), ty, Modifier::NONE, &context)?;
    let name = types::format_type(context.types, ty, Modifier::NONE);
    Some(format!("{}::{name}", scalar::quote::literal(&text)))
}

/// A default as it is kept; none for NULL.
pub fn kept_default(
    maker: &DdlContext<'_, '_>,
    expr: &SqlExpr,
    over: Option<Over<'_>>,
) -> Result<Option<SqlText>> {
    let is_null = expr.text.trim().eq_ignore_ascii_case("null");
    if is_null { Ok(None) } else { kept(maker, expr, over).map(Some) }
}

fn named(name: Option<&Name>, kind: NewConstraintKind, timing: Timing) -> NewConstraint {
    NewConstraint {
        name: name.map(|name| name.text.as_str().into()),
        is_deferrable: timing.deferrable,
        is_deferred: timing.deferred,
        is_validated: !timing.not_valid,
        partition_of: None,
        kind,
    }
}

/// A constraint of a table.
pub fn table_constraint(
    maker: &DdlContext<'_, '_>,
    constraint: &TableConstraint,
    over: Over<'_>,
    bound: &sql::bind::Relation,
) -> Result<NewConstraint> {
    let Over { name: table, columns, .. } = over;
    let texts = |names: &[Name]| names.iter().map(|name| name.text.as_str().into()).collect();
    let kind = match &constraint.kind {
        TableConstraintKind::Check(expr) => {
            NewConstraintKind::Check(kept(maker, expr, Some(over))?)
        }
        TableConstraintKind::Unique { using_index: Some(_), .. } => {
            return Err(Error::not_supported("ADD CONSTRAINT USING INDEX"));
        }
        TableConstraintKind::Unique {
            primary,
            columns: keys,
            include,
            nulls_distinct,
            without_overlaps,
            ..
        } => {
            for key in keys {
                if !columns.iter().any(|(name, _)| **name == *key.text) {
                    let message = format!("column \"{}\" named in key does not exist", key.text);
                    let mut error = Error::new(SqlState::UNDEFINED_COLUMN, message);
                    error.position = constraint.at.position(maker.source);
                    return Err(error);
                }
            }
            NewConstraintKind::Key {
                columns: texts(keys),
                include: texts(include),
                is_primary: *primary,
                nulls_distinct: *nulls_distinct,
                options: Vec::new(),
                overlaps: match without_overlaps {
                    true => exclusion::overlaps(maker, keys, bound)?,
                    false => Vec::new(),
                },
            }
        }
        TableConstraintKind::ForeignKey { columns: keys, is_period, references } => {
            if *is_period != references.is_period && !references.columns.is_empty() {
                let (with, without) = match is_period {
                    true => ("referencing", "referenced"),
                    false => ("referenced", "referencing"),
                };
                let message = format!(
                    "foreign key uses PERIOD on the {with} table but not the {without} table"
                );
                return Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message));
            }
            for key in keys {
                if !columns.iter().any(|(name, _)| **name == *key.text) {
                    let message = format!(
                        "column \"{}\" referenced in foreign key constraint does not exist",
                        key.text
                    );
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                }
            }
            foreign(maker, (keys, *is_period), references, table)?
        }
        TableConstraintKind::Exclude(excluded) => {
            NewConstraintKind::Exclude(Box::new(exclusion::index(maker, excluded, over, bound)?))
        }
    };
    Ok(named(constraint.name.as_ref(), kind, constraint.timing))
}

/// A foreign key. A foreign key to the table that is being made refers to none yet.
fn foreign(
    maker: &DdlContext<'_, '_>,
    (columns, is_period): (&[Name], bool),
    references: &References,
    own: &str,
) -> Result<NewConstraintKind> {
    let found = maker.find(&references.table)?;
    if let Some(view) = found.as_ref().filter(|found| found.materialized().is_some()) {
        let message = format!("referenced relation \"{}\" is not a table", view.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    let is_own = references.table.last() == own && found.is_none();
    let target = match found {
        Some(relation) => relation.oid,
        None if is_own => Oid::NONE,
        None => return Err(maker.no_relation(&references.table)),
    };
    let texts = |names: &[Name]| names.iter().map(|name| name.text.as_str().into()).collect();
    let action = |action: &ForeignAction| match action {
        ForeignAction::NoAction => Action::NoAction,
        ForeignAction::Restrict => Action::Restrict,
        ForeignAction::Cascade => Action::Cascade,
        ForeignAction::SetNull(_) => Action::SetNull,
        ForeignAction::SetDefault(_) => Action::SetDefault,
    };
    let on_delete_columns = match &references.on_delete {
        ForeignAction::SetNull(columns) | ForeignAction::SetDefault(columns) => texts(columns),
        _ => Vec::new(),
    };
    Ok(NewConstraintKind::Foreign {
        columns: texts(columns),
        references: target,
        referenced: texts(&references.columns),
        match_type: if references.full { MatchType::Full } else { MatchType::Simple },
        on_update: action(&references.on_update),
        on_delete: action(&references.on_delete),
        on_delete_columns,
        is_period,
    })
}

fn one_primary_key(parts: &Parts) -> Result<()> {
    let is_primary = |constraint: &&NewConstraint| {
        matches!(constraint.kind, NewConstraintKind::Key { is_primary: true, .. })
    };
    if parts.constraints.iter().filter(is_primary).count() > 1 {
        let message = format!("multiple primary keys for table \"{}\" are not allowed", parts.name);
        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
    }
    Ok(())
}

/// How a table is to be stored.
pub struct Storage {
    /// Storage parameters that no access method takes.
    pub options: Options,
    /// How much of its past is to be kept, where that is said.
    pub history: Option<Retention>,
    /// How its rows are kept.
    pub method: NewMethod,
}

/// The storage options of `USING` and `WITH`. Without `USING` the method is that of the setting
/// `default_table_access_method`.
///
/// # Errors
/// 42704 for an access method that does not exist, 22023 for an unknown parameter or value.
pub fn storage(
    maker: &DdlContext<'_, '_>,
    method: Option<&Name>,
    wanted: &[StorageOption],
) -> Result<Storage> {
    let methods = maker.names.handles.methods();
    let settings = maker.around.client.settings.borrow();
    let name = method.map_or_else(|| settings.text("default_table_access_method"), |m| &m.text);
    let method = methods.named(name)?;
    let (own, others) = options(wanted).into_iter().partition(|(name, _)| method.takes(name));
    let method = NewMethod { oid: method.oid(), options: own, storages: None };
    let (options, history) = parameters(others)?;
    Ok(Storage { options, history, method })
}

/// Parts parameters of a relation: those that its access method can change, and all others.
pub fn of_method(
    maker: &DdlContext<'_, '_>,
    relation: &Relation,
    wanted: Options,
) -> Result<(Options, Options)> {
    let Some(data) = relation.table() else { return Ok((Vec::new(), wanted)) };
    let method = maker.names.handles.methods().get(data.method.oid)?;
    Ok(wanted.into_iter().partition(|(name, _)| method.changes(name)))
}

/// Storage parameters as they were written.
pub fn options(wanted: &[StorageOption]) -> Options {
    let value = |value: &Option<String>| value.as_deref().unwrap_or("true").into();
    wanted.iter().map(|(name, given)| (name.as_str().into(), value(given))).collect()
}

/// Takes the parameter `history` out of parameters that no access method has taken.
///
/// # Errors
/// 22023 for an unknown parameter or value.
pub fn parameters(mut wanted: Options) -> Result<(Options, Option<Retention>)> {
    let mut history = None;
    for (name, value) in &wanted {
        if **name == *"history" {
            history = Some(retention(value)?);
        } else if let Some(problem) = unknown_option(name) {
            return Err(problem);
        }
    }
    wanted.retain(|(name, _)| **name != *"history");
    Ok((wanted, history))
}

/// How much of the past a word or an interval asks for.
fn retention(value: &str) -> Result<Retention> {
    let invalid = || {
        let message = format!("invalid value for parameter \"history\": \"{value}\"");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .hint("Write \"forever\", \"none\" or an interval such as \"30 days\".")
    };
    match value.to_ascii_lowercase().as_str() {
        "forever" | "on" | "true" => Ok(Retention::Forever),
        "none" | "off" | "false" => Ok(Retention::None),
        text => {
            let style = types::Style::default();
            let context = types::Context::new(&style);
            let parsed = types::text::parse(text, Type::INTERVAL, Modifier::NONE, &context);
            match parsed {
                Ok(types::Datum::Interval(interval)) => {
                    let days = i64::from(interval.months) * 30 + i64::from(interval.days);
                    let us = days * 86_400_000_000 + interval.us;
                    u64::try_from(us).map(Retention::Since).map_err(|_| invalid())
                }
                _ => Err(invalid()),
            }
        }
    }
}

/// The error for a storage parameter that PostgreSQL does not have either.
fn unknown_option(name: &str) -> Option<Error> {
    let known = [
        "fillfactor",
        "parallel_workers",
        "toast_tuple_target",
        "log_autovacuum_min_duration",
        "user_catalog_table",
        "vacuum_index_cleanup",
        "vacuum_truncate",
        "deduplicate_items",
        "fastupdate",
        "gin_pending_list_limit",
        "oids",
        "buffering",
    ];
    if known.contains(&name) || name.starts_with("autovacuum_") || name.starts_with("toast.") {
        return None;
    }
    let message = format!("unrecognized parameter \"{name}\"");
    Some(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// The relation as the binder would see it, so that its expressions can be checked.
fn shadow(maker: &DdlContext<'_, '_>, schema: Oid, parts: &Parts) -> sql::bind::Relation {
    sql::bind::Relation {
        oid: Oid::NONE,
        schema: maker.names.schema_name(schema).to_owned(),
        name: parts.name.clone(),
        kind: sql::bind::RelationKind::Table,
        row_type: Type::RECORD,
        columns: parts
            .columns
            .iter()
            .zip(1..)
            .map(|(column, attnum)| sql::bind::RelationColumn {
                attnum,
                name: column.name.to_string(),
                ty: column.ty,
                modifier: column.modifier,
                collation: column.collation.unwrap_or_default(),
                not_null: column.not_null,
                default: match &column.default {
                    Some(default) if column.is_generated => {
                        ColumnDefault::Generated(default.text.to_string())
                    }
                    _ => ColumnDefault::None,
                },
            })
            .collect(),
        unique: Vec::new(),
        owner: Oid::NONE,
        versioned: true,
        check: sql::bind::CheckOption::None,
        is_barrier: false,
        is_of_invoker: false,
    }
}

/// Binds defaults, generated columns and checks once, so that what is wrong is found now.
fn check_expressions(maker: &mut DdlContext<'_, '_>, schema: Oid, parts: &Parts) -> Result<()> {
    maker.see();
    let over = shadow(maker, schema, parts);
    let context = maker.context();
    for (column, bound) in parts.columns.iter().zip(&over.columns) {
        let Some(expr) = &column.default else { continue };
        let over = column.is_generated.then_some(&over);
        check_default(maker, &expr.text, over, bound, column.is_generated)?;
    }
    for constraint in &parts.constraints {
        if let NewConstraintKind::Check(expr) = &constraint.kind {
            check_condition(&expr.text, &over, &maker.names, context)?;
        }
    }
    Ok(())
}
