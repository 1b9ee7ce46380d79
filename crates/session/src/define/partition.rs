//! Partitions: `PARTITION BY`, `PARTITION OF`, `ATTACH PARTITION`, `DETACH PARTITION`, and the parts that a partition
//! takes over from its table.
//!
//! ```text
//!   parent        columns   checks         keys, other indexes   foreign keys
//!   partition     the same  the same       each a part of that of the parent
//!   its partition ...
//! ```

use std::sync::Arc;

use ::table::catalog::ddl::{NewColumn, NewConstraint, NewConstraintKind};
use ::table::catalog::{
    Constraint, ConstraintKind, IndexMethod, IndexPart, PartitionBound, PartitionKey, PartitionOf,
    PartitionStrategy, Partitioning, RangeEnd, Relation, Router,
};
use sql::parse::ast::{self, Alter, Name, PartitionBy, Path, SqlExpr};
use types::{Datum, Error as SqlError, Modifier, Object, Oid, SqlState, TypeSource};

use super::DdlContext;
use super::alter::add_constraint;
use super::index::index_key;
use super::like::Like;
use super::table::Parts;
use super::text::{self, Over};
use crate::error::{Error, Result};
use crate::evaluate::Evaluator;

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

/// How a new table is divided.
///
/// # Errors
/// 42P17 for keys that cannot be that, 42703 for columns that are not there.
pub fn partitioning(
    maker: &DdlContext<'_, '_>,
    by: &PartitionBy,
    parts: &Parts,
    bound: &sql::bind::Relation,
) -> Result<Partitioning> {
    let strategy = match by.strategy {
        ast::PartitionStrategy::Range => PartitionStrategy::Range,
        ast::PartitionStrategy::List => PartitionStrategy::List,
        ast::PartitionStrategy::Hash => PartitionStrategy::Hash,
    };
    if strategy == PartitionStrategy::List && by.keys.len() > 1 {
        return Err(invalid("cannot use \"list\" partition strategy with more than one column"));
    }
    let columns = parts.names();
    let mut keys = Vec::with_capacity(by.keys.len());
    for element in &by.keys {
        if let Some(name) = &element.column
            && !parts.columns.iter().any(|column| *column.name == *name.text)
        {
            let message = format!("column \"{}\" named in partition key does not exist", name.text);
            let error = Error::new(SqlState::UNDEFINED_COLUMN, message);
            return Err(maker.at(error, Some(name.at)));
        }
        let key = index_key(maker, element, bound, parts.over(&columns), IndexMethod::Btree)?;
        let column = match key.part {
            IndexPart::Column(attnum) => parts.columns.get(attnum as usize - 1),
            IndexPart::Expr(_) => None,
        };
        if column.is_some_and(|column| column.is_generated) {
            let name = column.map_or("", |column| &column.name);
            let error = invalid("cannot use generated column in partition key")
                .detail(format!("Column \"{name}\" is a generated column."));
            return Err(error);
        }
        let ty = key.ty;
        let collation = key.collation.or(column.and_then(|column| column.collation));
        let collation = collation.unwrap_or_else(|| maker.catalog().collation_of(ty));
        let is_of_language = sql::bind::Names::collation(&*maker.names, collation)
            .is_some_and(|known| known.locale.is_some());
        if is_of_language {
            return Err(Error::not_supported("a partition key in the order of a language"));
        }
        let repr = (&*maker.names as &dyn TypeSource).repr_of(ty)?;
        let modifier = column.map_or(Modifier::NONE, |column| column.modifier);
        keys.push(PartitionKey { part: key.part, ty, modifier, repr, collation, class: key.class });
    }
    Ok(Partitioning { strategy, keys, partitions: Vec::new() })
}

/// The rows that a partition is to have.
///
/// # Errors
/// 42P17 for a bound of another kind than the table's, and what computing its values reports.
pub fn bound(
    maker: &DdlContext<'_, '_>,
    parent: &Relation,
    given: &ast::PartitionBound,
) -> Result<PartitionBound> {
    let Some(partitioning) = parent.partitioning() else {
        return Err(invalid(format!("table \"{}\" is not partitioned", parent.name)));
    };
    let wrong = |what: &str| {
        let message = format!("invalid bound specification for a {what} partition");
        Error::new(SqlState::INVALID_TABLE_DEFINITION, message)
    };
    Ok(match (partitioning.strategy, given) {
        (PartitionStrategy::Hash, ast::PartitionBound::Default) => {
            let message = "a hash-partitioned table may not have a default partition";
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        (_, ast::PartitionBound::Default) => PartitionBound::Default,
        (PartitionStrategy::Hash, ast::PartitionBound::Hash { modulus, remainder }) => {
            let refuse =
                |message: &str| Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
            let Some(modulus) = u32::try_from(*modulus).ok().filter(|modulus| *modulus > 0) else {
                return refuse(
                    "modulus for hash partition must be an integer value greater than zero",
                );
            };
            let Ok(remainder) = u32::try_from(*remainder) else {
                return refuse(
                    "remainder for hash partition must be an integer value greater than or equal to \
                     zero",
                );
            };
            if remainder >= modulus {
                return refuse("remainder for hash partition must be less than modulus");
            }
            PartitionBound::Hash { modulus, remainder }
        }
        (PartitionStrategy::Hash, _) => return Err(wrong("hash")),
        (PartitionStrategy::List, ast::PartitionBound::List(values)) => {
            let mut all: Vec<Datum> = Vec::with_capacity(values.len());
            for expr in values {
                let value = value(maker, &partitioning.keys[0], parent, expr)?;
                if !all.contains(&value) {
                    all.push(value);
                }
            }
            PartitionBound::List(all)
        }
        (PartitionStrategy::List, _) => return Err(wrong("list")),
        (PartitionStrategy::Range, ast::PartitionBound::Range(low, high)) => {
            let end = |end: &[ast::RangeEnd], word: &str| -> Result<Vec<RangeEnd>> {
                if end.len() != partitioning.keys.len() {
                    let message =
                        format!("{word} must specify exactly one value per partitioning column");
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
                }
                let mut all = Vec::with_capacity(end.len());
                for (given, key) in end.iter().zip(&partitioning.keys) {
                    all.push(match given {
                        ast::RangeEnd::Min => RangeEnd::Min,
                        ast::RangeEnd::Max => RangeEnd::Max,
                        ast::RangeEnd::Value(expr) => match value(maker, key, parent, expr)? {
                            Datum::Null => {
                                return Err(invalid("cannot specify NULL in range bound"));
                            }
                            value => RangeEnd::Value(value),
                        },
                    });
                }
                let is_open = |end: &RangeEnd| !matches!(end, RangeEnd::Value(_));
                let first = all.iter().position(is_open).unwrap_or(all.len());
                if let Some(rest) = all.get(first + 1..)
                    && rest.iter().any(|end| *end != all[first])
                {
                    let word = if all[first] == RangeEnd::Min { "MINVALUE" } else { "MAXVALUE" };
                    let message = format!("every bound following {word} must also be {word}");
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
                }
                Ok(all)
            };
            PartitionBound::Range(end(low, "FROM")?, end(high, "TO")?)
        }
        (PartitionStrategy::Range, _) => return Err(wrong("range")),
    })
}

/// The value of an expression of a bound, as the key has it.
fn value(
    maker: &DdlContext<'_, '_>,
    key: &PartitionKey,
    parent: &Relation,
    expr: &SqlExpr,
) -> Result<Datum> {
    let name = match key.part {
        IndexPart::Column(attnum) => parent.column(attnum).map_or("", |column| &column.name),
        IndexPart::Expr(_) => "expr",
    };
    let column = sql::bind::RelationColumn::plain(0, name, key.ty, key.modifier);
    let bound = sql::bind::column_value(&expr.text, None, &column, &*maker.names, maker.context())
        .map_err(|error| Error::from(error.cause))?;
    let evaluator = Evaluator::new(maker.around, &maker.names);
    let none: &[Datum] = &[];
    Ok(evaluator.compile(&bound)?.run(none, evaluator.frame())?)
}

/// The parts that a new partition takes over from its table: columns and checks, with its own options for
/// columns.
pub fn columns(maker: &DdlContext<'_, '_>, parent: &Relation, parts: &mut Parts) -> Result<()> {
    for column in parent.live_columns() {
        let mut made = NewColumn::new(&column.name, column.ty);
        made.modifier = column.modifier;
        made.collation = Some(column.collation);
        made.not_null = column.not_null;
        if let Some(default) = column.default.as_ref().filter(|default| !default.is_generated) {
            made.default = Some(default.expr.clone());
        }
        parts.columns.push(made);
    }
    let names = parts.names();
    let kept = |text: &str| text::expression(text, Some(parts.over(&names)), &maker.names);
    let mut generated = Vec::new();
    for (place, column) in parent.live_columns().enumerate() {
        if let Some(default) = column.default.as_ref().filter(|default| default.is_generated) {
            generated.push((place, kept(&default.expr.text)?));
        }
    }
    let mut constraints = Vec::new();
    let table = maker.catalog().table(parent.oid).cloned();
    for constraint in table.iter().flat_map(|table| &table.constraints) {
        if let ConstraintKind::Check { expr, .. } = &constraint.kind {
            constraints.push(NewConstraint {
                name: Some(Arc::clone(&constraint.name)),
                partition_of: Some(constraint.oid),
                is_validated: constraint.is_validated,
                ..NewConstraint::new(NewConstraintKind::Check(kept(&expr.text)?))
            });
        }
        // The rows of a table can be keyed by a primary key that it is made with.
        if let ConstraintKind::Key { is_primary: true, .. } = &constraint.kind {
            constraints.extend(like_constraint(maker, parent, constraint)?);
        }
    }
    for (place, expr) in generated {
        parts.columns[place].default = Some(expr);
        parts.columns[place].is_generated = true;
    }
    parts.constraints.extend(constraints);
    Ok(())
}

/// The constraint of a partition that is a part of one of its table; `None` for a check, which is made with the table.
fn like_constraint(
    maker: &DdlContext<'_, '_>,
    parent: &Relation,
    constraint: &Constraint,
) -> Result<Option<NewConstraint>> {
    let names = |attnums: &[i16]| -> Vec<Arc<str>> {
        let columns = attnums.iter().filter_map(|attnum| parent.column(*attnum));
        columns.map(|column| Arc::clone(&column.name)).collect()
    };
    let (name, kind) = match &constraint.kind {
        ConstraintKind::Key { index, columns, is_primary, .. } => {
            let relation = maker.catalog().relation(*index);
            let index = relation.and_then(|known| known.index());
            let kind = NewConstraintKind::Key {
                columns: names(columns),
                include: index.map_or_else(Vec::new, |index| names(&index.include)),
                is_primary: *is_primary,
                nulls_distinct: index.is_none_or(|index| index.nulls_distinct),
                options: Vec::new(),
                overlaps: index.map_or_else(Vec::new, |index| index.excludes.clone()),
            };
            (None, kind)
        }
        ConstraintKind::Foreign(key) => {
            let target = maker.catalog().relation(key.references).cloned();
            let referenced = key.referenced.iter().filter_map(|attnum| {
                let column = target.as_ref()?.column(*attnum)?;
                Some(Arc::clone(&column.name))
            });
            let kind = NewConstraintKind::Foreign {
                columns: names(&key.columns),
                references: key.references,
                referenced: referenced.collect(),
                match_type: key.match_type,
                on_update: key.on_update,
                on_delete: key.on_delete,
                on_delete_columns: names(&key.on_delete_columns),
                is_period: key.is_period,
            };
            (Some(Arc::clone(&constraint.name)), kind)
        }
        ConstraintKind::Check { .. } | ConstraintKind::Exclude { .. } => return Ok(None),
    };
    Ok(Some(NewConstraint {
        name,
        is_deferrable: constraint.is_deferrable,
        is_deferred: constraint.is_deferred,
        is_validated: constraint.is_validated,
        partition_of: Some(constraint.oid),
        kind,
    }))
}

/// Gives a partition its parts of the indexes and constraints of its table.
pub fn inherit(maker: &mut DdlContext<'_, '_>, parent: Oid, partition: Oid) -> Result<()> {
    let Some(table) = maker.catalog().table(parent).cloned() else { return Ok(()) };
    for constraint in &table.constraints {
        inherit_constraint(maker, constraint, partition)?;
    }
    for index in &table.indexes {
        if index.index().is_some_and(|index| index.constraint.is_none()) {
            inherit_index(maker, index, partition)?;
        }
    }
    Ok(())
}

/// Gives a partition, and the partitions below it, a part of an index of its table that is no constraint.
pub fn inherit_index(
    maker: &mut DdlContext<'_, '_>,
    whole: &Arc<Relation>,
    partition: Oid,
) -> Result<()> {
    let Some(index) = whole.index() else { return Ok(()) };
    let Some(parent) = maker.catalog().relation(index.table).cloned() else { return Ok(()) };
    let part = match maker.ddl.like_index(whole.oid, partition) {
        Some(known) => {
            maker.ddl.attach_index(whole.oid, known)?;
            maker.see();
            return Ok(());
        }
        None => {
            let like = Like { of: parent, options: &[] };
            let mut new = like.index(maker, partition, whole, index)?;
            new.partition_of = Some(whole.oid);
            new.options = whole.options.clone();
            new.is_valid = true;
            maker.ddl.create_index(partition, new)?
        }
    };
    maker.see();
    maker.fill_index(partition, part.oid)?;
    for below in partitions(maker, partition) {
        inherit_index(maker, &part, below)?;
    }
    maker.ddl.validate_whole(whole.oid)?;
    maker.see();
    Ok(())
}

/// Gives a partition, and the partitions below it, a part of a constraint of its table.
pub fn inherit_constraint(
    maker: &mut DdlContext<'_, '_>,
    whole: &Arc<Constraint>,
    partition: Oid,
) -> Result<()> {
    let parent = whole.table().and_then(|table| maker.catalog().relation(table)).cloned();
    let (Some(parent), Some(def)) = (parent, maker.catalog().table(partition).cloned()) else {
        return Ok(());
    };
    if def.constraints.iter().any(|own| own.partition_of == Some(whole.oid)) {
        return Ok(());
    }
    match &whole.kind {
        ConstraintKind::Key { index, .. } | ConstraintKind::Exclude { index, .. } => {
            if let Some(known) = maker.ddl.like_index(*index, partition) {
                maker.ddl.attach_index(*index, known)?;
                maker.see();
                return Ok(());
            }
        }
        ConstraintKind::Foreign(key) => {
            let names = |relation: &Relation, attnums: &[i16]| -> Vec<Arc<str>> {
                let columns = attnums.iter().filter_map(|attnum| relation.column(*attnum));
                columns.map(|column| Arc::clone(&column.name)).collect()
            };
            let is_same = |own: &&Arc<Constraint>| {
                own.partition_of.is_none()
                    && own.foreign_key().is_some_and(|other| {
                        (other.references, &other.referenced, other.match_type)
                            == (key.references, &key.referenced, key.match_type)
                            && (other.on_update, other.on_delete) == (key.on_update, key.on_delete)
                            && names(&def.relation, &other.columns) == names(&parent, &key.columns)
                    })
            };
            if let Some(own) = def.constraints.iter().find(is_same) {
                maker.ddl.attach_constraint(whole.oid, own.oid)?;
                maker.see();
                return Ok(());
            }
        }
        ConstraintKind::Check { .. } => {}
    }
    let new = match &whole.kind {
        ConstraintKind::Check { expr, .. } => {
            let columns = text::columns_of(def.relation.live_columns());
            let over = Over::of(&def.relation, &columns);
            let expr = text::expression(&expr.text, Some(over), &maker.names)?;
            NewConstraint {
                name: Some(Arc::clone(&whole.name)),
                partition_of: Some(whole.oid),
                is_validated: whole.is_validated,
                ..NewConstraint::new(NewConstraintKind::Check(expr))
            }
        }
        ConstraintKind::Exclude { index, .. } => {
            let Some(relation) = maker.catalog().relation(*index).cloned() else { return Ok(()) };
            let Some(index) = relation.index() else { return Ok(()) };
            let like = Like { of: parent, options: &[] };
            let mut new = like.index(maker, partition, &relation, index)?;
            new.options = relation.options.clone();
            NewConstraint {
                is_deferrable: whole.is_deferrable,
                is_deferred: whole.is_deferred,
                partition_of: Some(whole.oid),
                ..NewConstraint::new(NewConstraintKind::Exclude(Box::new(new)))
            }
        }
        _ => match like_constraint(maker, &parent, whole)? {
            Some(new) => new,
            None => return Ok(()),
        },
    };
    add_constraint(maker, partition, new, false)
}

/// The partitions right below a table.
pub fn partitions(maker: &DdlContext<'_, '_>, table: Oid) -> Vec<Oid> {
    let relation = maker.catalog().relation(table);
    relation.map_or_else(Vec::new, |relation| relation.partitions().to_vec())
}

/// `ATTACH PARTITION`
pub fn attach(
    maker: &mut DdlContext<'_, '_>,
    parent: &Arc<Relation>,
    partition: &Path,
    given: Option<&ast::PartitionBound>,
) -> Result<()> {
    let other = maker.relation(partition)?;
    if parent.index().is_some() {
        maker.ddl.attach_index(parent.oid, other.oid)?;
        maker.see();
        return Ok(());
    }
    let Some(given) = given else {
        let message = "ATTACH PARTITION of a table needs FOR VALUES or DEFAULT";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    };
    if other.table().is_none() {
        let message = format!(
            "ALTER action ATTACH PARTITION cannot be performed on relation \"{}\"",
            other.name
        );
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    let bound = bound(maker, parent, given)?;
    maker.ddl.attach_partition(parent.oid, other.oid, bound)?;
    maker.see();
    check_rows(maker, parent.oid, other.oid)?;
    inherit(maker, parent.oid, other.oid)
}

/// `DETACH PARTITION`
pub fn detach(maker: &mut DdlContext<'_, '_>, parent: &Relation, partition: &Path) -> Result<()> {
    let other = maker.relation(partition)?;
    let referring = referring(maker, other.oid);
    maker.ddl.detach_partition(parent.oid, other.oid)?;
    maker.see();
    check_referring(maker, &other.name, &referring)
}

/// The foreign keys that refer to the tables above a partition.
pub fn referring(maker: &DdlContext<'_, '_>, partition: Oid) -> Vec<Arc<Constraint>> {
    let catalog = maker.catalog();
    let above = catalog.partition_ancestors(partition);
    let above = above.iter().filter_map(|oid| catalog.table(*oid));
    above.flat_map(|table| table.referenced_by.clone()).collect()
}

/// Checks that rows still find what they refer to, once a partition is gone.
pub fn check_referring(
    maker: &mut DdlContext<'_, '_>,
    partition: &str,
    referring: &[Arc<Constraint>],
) -> Result<()> {
    for constraint in referring {
        let Some(table) = constraint.table().filter(|oid| maker.catalog().table(*oid).is_some())
        else {
            continue;
        };
        let checked = maker.check_rows(table, constraint);
        let is_missed = |error: &Error| error.state() == SqlState::FOREIGN_KEY_VIOLATION;
        if !checked.as_ref().is_err_and(is_missed) {
            checked?;
            continue;
        }
        let name = maker.catalog().relation(table).map_or("", |relation| &relation.name);
        let message = format!(
            "removing partition \"{partition}\" violates foreign key constraint \"{}\"",
            constraint.name
        );
        let detail = format!("Rows of table \"{name}\" refer to rows of the partition.");
        let error = SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message);
        return Err(error.with_detail(detail).into());
    }
    Ok(())
}

/// Checks that the rows of a new partition are in its bound, and that those of the default partition are not.
pub fn check_rows(maker: &mut DdlContext<'_, '_>, parent: Oid, partition: Oid) -> Result<()> {
    let catalog = Arc::clone(maker.catalog());
    let Some(whole) = catalog.relation(parent).cloned() else { return Ok(()) };
    let Some(router) = Router::of(&catalog, &whole) else { return Ok(()) };
    let default = router.default().filter(|default| *default != partition);
    for (of, is_new) in std::iter::once((partition, true)).chain(default.map(|it| (it, false))) {
        let name = catalog.relation(of).map_or("", |relation| &relation.name);
        for leaf in catalog.leaves(of) {
            if !has_stranger(maker, &whole, &router, of, leaf)? {
                continue;
            }
            let message = match is_new {
                true => {
                    format!("partition constraint of relation \"{name}\" is violated by some row")
                }
                false => format!(
                    "updated partition constraint for default partition \"{name}\" would be violated \
                     by some row"
                ),
            };
            let error = SqlError::new(SqlState::CHECK_VIOLATION, message);
            return Err(error.about(Object::Table, name).into());
        }
    }
    Ok(())
}

/// True if a table has a row that belongs to another partition than the one that it is in.
fn has_stranger(
    maker: &mut DdlContext<'_, '_>,
    whole: &Arc<Relation>,
    router: &Router,
    partition: Oid,
    leaf: Oid,
) -> Result<bool> {
    let names = Arc::clone(&maker.names);
    let Some(relation) = maker.catalog().relation(leaf).cloned() else { return Ok(false) };
    let evaluator = Evaluator::new(maker.around, &names);
    let mut values = evaluator.values();
    let place = |name: &str| relation.column_named(name).map(|column| column.attnum as usize - 1);
    let places: Vec<Option<usize>> = whole
        .columns
        .iter()
        .map(|column| if column.is_dropped { None } else { place(&column.name) })
        .collect();
    let mut look = |row: &[Datum]| {
        let value = |place: &Option<usize>| {
            place.and_then(|place| row.get(place).cloned()).unwrap_or_default()
        };
        let above: Vec<Datum> = places.iter().map(value).collect();
        let mut keys = Vec::new();
        ::table::rows::RowValues::partition_keys(&mut values, whole, &above, &mut keys)?;
        Ok((router.find(&keys) != Some(partition)).then_some(()))
    };
    Ok(maker.find_row(leaf, &mut look)?.is_some())
}

/// The actions of a statement that are done to the partitions of its table as well.
pub fn passed_on(actions: &[Alter]) -> Vec<Alter> {
    let mut all = Vec::new();
    for action in actions {
        match action {
            // Constraints of the new column are passed on by themselves.
            Alter::AddColumn { column, if_not_exists } => {
                let mut column = column.clone();
                column.constraints.retain(|constraint| {
                    use ast::ColumnConstraintKind as Kind;
                    matches!(
                        constraint.kind,
                        Kind::NotNull | Kind::Null | Kind::Default(_) | Kind::Generated(_)
                    )
                });
                all.push(Alter::AddColumn { column, if_not_exists: *if_not_exists });
            }
            Alter::DropColumn { .. }
            | Alter::ColumnType { .. }
            | Alter::Expression(..)
            | Alter::Default(..)
            | Alter::NotNull(..)
            | Alter::DropExpression(..)
            | Alter::RenameColumn(..)
            | Alter::AlterConstraint(..)
            | Alter::Validate(_) => all.push(action.clone()),
            Alter::SetOptions(options) => {
                let history = options.iter().filter(|(name, _)| name == "history");
                let history: Vec<_> = history.cloned().collect();
                if !history.is_empty() {
                    all.push(Alter::SetOptions(history));
                }
            }
            _ => {}
        }
    }
    all
}

/// Refuses what is to be done to the partitioned table, and not to a partition or to the table alone.
pub fn check_actions(
    maker: &DdlContext<'_, '_>,
    relation: &Relation,
    actions: &[Alter],
    only: bool,
) -> Result<()> {
    let refuse = |state: SqlState, message: String| Err(Error::new(state, message));
    let wrong = SqlState::INVALID_TABLE_DEFINITION;
    if let Some(of) = relation.partition_of() {
        let above = maker.catalog().relation(of.parent);
        for action in actions {
            let inherited = |verb: &str, name: &Name| {
                refuse(wrong, format!("cannot {verb} inherited column \"{}\"", name.text))
            };
            match action {
                Alter::AddColumn { .. } => {
                    let message = "cannot add column to a partition";
                    return refuse(SqlState::WRONG_OBJECT_TYPE, message.to_owned());
                }
                Alter::AddIdentity(..) => {
                    let message = "cannot add identity to a column of a partition";
                    return refuse(wrong, message.to_owned());
                }
                Alter::SetIdentity(..) => {
                    let message = "cannot change identity column of a partition";
                    return refuse(wrong, message.to_owned());
                }
                Alter::DropIdentity(..) => {
                    let message = "cannot drop identity from a column of a partition";
                    return refuse(wrong, message.to_owned());
                }
                Alter::DropColumn { name, .. } => return inherited("drop", name),
                Alter::RenameColumn(name, _) => return inherited("rename", name),
                Alter::ColumnType { name, .. } => return inherited("alter", name),
                Alter::NotNull(name, false) => {
                    let column = above.and_then(|above| above.column_named(&name.text));
                    if column.is_some_and(|column| column.not_null) {
                        let message =
                            format!("column \"{}\" is marked NOT NULL in parent table", name.text);
                        return refuse(wrong, message);
                    }
                }
                Alter::DropConstraint { name, .. } => {
                    let table = maker.catalog().table(relation.oid);
                    let mut all = table.into_iter().flat_map(|table| &table.constraints);
                    let is_part =
                        |it: &Arc<Constraint>| *it.name == *name.text && it.partition_of.is_some();
                    if all.any(is_part) {
                        let message = format!(
                            "cannot drop inherited constraint \"{}\" of relation \"{}\"",
                            name.text, relation.name
                        );
                        return refuse(wrong, message);
                    }
                }
                _ => {}
            }
        }
    }
    let Some(partitioning) = relation.partitioning() else { return Ok(()) };
    let uses = |name: &Name| {
        let Some(column) = relation.column_named(&name.text) else { return false };
        partitioning.keys.iter().any(|key| match &key.part {
            IndexPart::Column(attnum) => *attnum == column.attnum,
            IndexPart::Expr(text) => text.references().any(|object| object.sub == column.attnum),
        })
    };
    for action in actions {
        match action {
            Alter::DropColumn { name, .. } | Alter::ColumnType { name, .. } if uses(name) => {
                let verb =
                    if matches!(action, Alter::DropColumn { .. }) { "drop" } else { "alter" };
                let message = format!(
                    "cannot {verb} column \"{}\" because it is part of the partition key of relation \
                     \"{}\"",
                    name.text, relation.name
                );
                return refuse(wrong, message);
            }
            Alter::AddColumn { .. } if only && !partitioning.partitions.is_empty() => {
                return refuse(wrong, "column must be added to child tables too".to_owned());
            }
            Alter::DropColumn { .. } if only && !partitioning.partitions.is_empty() => {
                let message =
                    "cannot drop column from only the partitioned table when partitions exist";
                return refuse(wrong, message.to_owned());
            }
            Alter::ColumnType { name, .. } | Alter::RenameColumn(name, _)
                if only && !partitioning.partitions.is_empty() =>
            {
                let message = match action {
                    Alter::ColumnType { .. } => format!(
                        "type of inherited column \"{}\" must be changed in child tables too",
                        name.text
                    ),
                    _ => format!(
                        "inherited column \"{}\" must be renamed in child tables too",
                        name.text
                    ),
                };
                return refuse(wrong, message);
            }
            Alter::AddIdentity(..) | Alter::SetIdentity(..) | Alter::DropIdentity(..) if only => {
                let message = match action {
                    Alter::AddIdentity(..) => {
                        "cannot add identity to a column of only the partitioned table"
                    }
                    Alter::SetIdentity(..) => {
                        "cannot change identity column of only the partitioned table"
                    }
                    _ => "cannot drop identity from a column of only the partitioned table",
                };
                return Err(Error::new(wrong, message).hint("Do not specify the ONLY keyword."));
            }
            Alter::SetMethod(_) => {
                return Err(Error::not_supported("SET ACCESS METHOD of a partitioned table"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The table of which a new table is a partition.
pub fn partition_of(
    maker: &DdlContext<'_, '_>,
    path: &Path,
    given: &ast::PartitionBound,
) -> Result<(Arc<Relation>, PartitionOf)> {
    let parent = maker.relation(path)?;
    if parent.partitioning().is_none() {
        let message = format!("\"{}\" is not partitioned", parent.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    let bound = bound(maker, &parent, given)?;
    let of = PartitionOf { parent: parent.oid, bound };
    Ok((parent, of))
}

/// The name of a relation, as a statement would write it.
pub fn path_of(maker: &DdlContext<'_, '_>, oid: Oid) -> Option<Path> {
    let relation = maker.catalog().relation(oid)?;
    let name = |text: &str| Name { text: text.to_owned(), at: sql::At::NONE };
    let schema = maker.catalog().schema(relation.schema)?;
    Some(Path { parts: vec![name(&schema.name), name(&relation.name)] })
}
