//! `ALTER TABLE`, and its actions for indexes, views and sequences.

use std::sync::Arc;

use ::table::catalog::ddl::{ColumnChange, NewConstraint, NewConstraintKind, SequenceOptions};
use ::table::catalog::{
    Address, Class, Constraint, ConstraintKind, ConstraintOn, Relation, RelationKind,
};
use ::table::method::Options;
use sql::parse::ast::{
    Alter, ColumnDefinition, Name, ObjectKind, Path, SequenceOption, SqlExpr, TableConstraintKind,
    TypeName,
};
use types::{Datum, Modifier, Oid, SqlState, Type};

use super::drop::behavior;
use super::table::{self, Parts, Storage};
use super::text::{self, Over};
use super::{DdlContext, misc, one_row, partition, using_index};
use crate::error::{Error, Result};

/// `ALTER TABLE name actions`
pub fn alter(
    maker: &mut DdlContext<'_, '_>,
    kind: ObjectKind,
    (path, only): (&Path, bool),
    if_exists: bool,
    actions: &[Alter],
) -> Result<()> {
    let Some(relation) = maker.find(path)? else {
        if if_exists {
            let message = format!("relation \"{path}\" does not exist, skipping");
            maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            return Ok(());
        }
        return Err(maker.no_relation(path));
    };
    let what = kind.word().to_lowercase();
    let renames = actions.iter().all(|action| {
        matches!(
            action,
            Alter::Rename(_) | Alter::Owner(_) | Alter::SetSchema(_) | Alter::RenameColumn(..)
        )
    });
    let of_columns = actions.iter().all(|action| {
        matches!(action, Alter::AddColumn { .. } | Alter::Default(..) | Alter::NotNull(..))
    });
    let is_view = relation.view().is_some();
    let is_materialized = relation.materialized().is_some();
    // ALTER TABLE takes the others as well, where it only renames them. Actions on columns that
    // views do not have are refused one by one.
    let is_composite = matches!(relation.kind, RelationKind::Composite);
    if kind == ObjectKind::Type && !is_composite {
        let message = format!("\"{}\" is not a composite type", relation.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    let fits = relation.kind_name() == what
        || kind == ObjectKind::Type
        || kind == ObjectKind::Table && (renames || is_view && of_columns || is_materialized);
    if !fits {
        let article = if kind == ObjectKind::Index { "an" } else { "a" };
        let message = format!("\"{}\" is not {article} {what}", relation.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    if is_materialized {
        super::materialized::check_actions(&relation, actions)?;
    }
    partition::check_actions(maker, &relation, actions, only)?;
    maker.ddl.allow_rewriting_stores();
    super::attributes::note(maker, &relation, actions)?;
    alter_one(maker, &relation, path, actions, only)?;
    if only {
        return Ok(());
    }
    let passed_on = partition::passed_on(actions);
    let mut below: Vec<Oid> = maker.catalog().partition_tree(relation.oid);
    below.remove(0);
    for oid in below.into_iter().filter(|_| !passed_on.is_empty()) {
        let Some(path) = partition::path_of(maker, oid) else { continue };
        let part = maker.relation(&path)?;
        alter_one(maker, &part, &path, &passed_on, true)?;
    }
    Ok(())
}

/// Does actions to one relation. Where `only` is false, constraints are passed on to its partitions.
fn alter_one(
    maker: &mut DdlContext<'_, '_>,
    relation: &Arc<Relation>,
    path: &Path,
    actions: &[Alter],
    only: bool,
) -> Result<()> {
    let mut change =
        TableChange { only, retyped: retypings(maker, relation, actions)?, ..Default::default() };
    let mut ordered: Vec<&Alter> = actions.iter().collect();
    ordered.sort_by_key(|action| Pass::of(action));
    let mut at = Pass::Drop;
    for action in ordered {
        let pass = Pass::of(action);
        if at <= Pass::AddColumn && pass > Pass::AddColumn {
            change.columns_done(maker, relation.oid)?;
        }
        if at <= Pass::Keys && pass > Pass::Keys {
            change.add_constraints(maker, relation.oid, true)?;
        }
        at = pass;
        // Each action sees what those before it have made.
        let now = maker.catalog().relation(relation.oid).cloned();
        let relation = now.ok_or_else(|| maker.no_relation(path))?;
        one(maker, &relation, action, &mut change)?;
        maker.see();
    }
    change.columns_done(maker, relation.oid)?;
    change.add_constraints(maker, relation.oid, true)?;
    change.add_constraints(maker, relation.oid, false)?;
    maker.rewrite_rows()
}

/// The order in which the actions of one statement are done, whatever order they are written in.
///
/// ```text
///   rows as they were  ──> Drop ─> Type ─> AddColumn ──> rows as they will be ──> what they must meet
///                          USING and defaults see these        written once       Attributes ... Others
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Pass {
    Drop,
    Type,
    AddColumn,
    Attributes,
    Keys,
    Constraints,
    Others,
}

impl Pass {
    fn of(action: &Alter) -> Pass {
        match action {
            Alter::DropColumn { .. }
            | Alter::DropConstraint { .. }
            | Alter::Default(_, None)
            | Alter::NotNull(_, false)
            | Alter::DropExpression(..)
            | Alter::DropIdentity(..) => Pass::Drop,
            Alter::ColumnType { .. } => Pass::Type,
            Alter::AddColumn { .. } | Alter::Expression(..) => Pass::AddColumn,
            Alter::NotNull(_, true) => Pass::Attributes,
            Alter::AddConstraint(constraint) => match constraint.kind {
                TableConstraintKind::Unique { .. } => Pass::Keys,
                _ => Pass::Constraints,
            },
            Alter::Default(_, Some(_)) | Alter::AddIdentity(..) => Pass::Constraints,
            _ => Pass::Others,
        }
    }
}

/// The changes that the actions of one statement leave for its later passes.
#[derive(Default)]
struct TableChange {
    /// The columns that get another type, bound over the table as it was.
    retyped: Vec<Retyping>,
    /// Constraints of new columns, with the definition of the column.
    constraints: Vec<(ColumnDefinition, NewConstraint)>,
    /// True once rows are as the new columns are.
    has_columns: bool,
    /// True if partitions get no constraints.
    only: bool,
}

/// A column that gets another type.
struct Retyping {
    attnum: i16,
    ty: Type,
    modifier: Modifier,
    collation: Option<Oid>,
    value: sql::plan::Expr,
    has_using: bool,
}

impl TableChange {
    /// All columns are what they will be: rows are written anew, where they must be, and what is
    /// said of the columns is looked at again.
    fn columns_done(&mut self, maker: &mut DdlContext<'_, '_>, table: Oid) -> Result<()> {
        if std::mem::replace(&mut self.has_columns, true) {
            return Ok(());
        }
        let retyped: Vec<i16> = self.retyped.iter().map(|retyped| retyped.attnum).collect();
        if !retyped.is_empty() {
            maker.check_expressions(table)?;
            maker.ddl.check_foreign_types(table, &retyped)?;
        }
        let rewritten = maker.ddl.will_rewrite(table);
        maker.rewrite_rows()?;
        if rewritten {
            maker.check_references(table, &retyped)?;
        }
        Ok(())
    }

    /// Adds the constraints of new columns: keys first, because foreign keys may refer to them.
    fn add_constraints(
        &mut self,
        maker: &mut DdlContext<'_, '_>,
        table: Oid,
        keys: bool,
    ) -> Result<()> {
        let is_key =
            |(_, new): &(_, NewConstraint)| matches!(new.kind, NewConstraintKind::Key { .. });
        let (now, later) =
            std::mem::take(&mut self.constraints).into_iter().partition(|new| !keys || is_key(new));
        self.constraints = later;
        let now: Vec<(ColumnDefinition, NewConstraint)> = now;
        for (definition, constraint) in now {
            let constraint = rebase(maker, table, &definition, constraint)?;
            add_constraint(maker, table, constraint, self.only)?;
            maker.see();
        }
        Ok(())
    }
}

fn one(
    maker: &mut DdlContext<'_, '_>,
    relation: &Arc<Relation>,
    action: &Alter,
    done: &mut TableChange,
) -> Result<()> {
    let oid = relation.oid;
    let object = Address::relation(oid);
    let change = |maker: &mut DdlContext<'_, '_>, name: &Name, change: ColumnChange| {
        maker.ddl.change_column(oid, &name.text, change).map_err(Error::from)
    };
    match action {
        Alter::AddColumn { column, if_not_exists } => {
            add_column(maker, relation, column, *if_not_exists, done)
        }
        Alter::DropColumn { name, if_exists, cascade } => match column(relation, name) {
            Ok(attnum) => {
                let column = Address::column(oid, attnum);
                let notice = maker.ddl.drop_objects(&[column], behavior(*cascade))?;
                maker.tell(notice);
                Ok(())
            }
            Err(error) if *if_exists => {
                let message = format!("{}, skipping", error.message());
                maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                Ok(())
            }
            Err(error) => Err(error),
        },
        Alter::ColumnType { name, ty, collation, .. }
            if matches!(relation.kind, RelationKind::Composite) =>
        {
            // No rows have the type, so that nothing is cast.
            let (ty, modifier) = maker.type_of(ty)?;
            let collation = table::collation(maker, collation.as_ref(), ty)?;
            let (default, rewrite) = (None, false);
            let new = ColumnChange::Type { ty, modifier, collation, default, rewrite };
            change(maker, name, new)
        }
        Alter::ColumnType { name, .. } => column_type(maker, relation, name, done),
        Alter::Default(name, expr) => {
            let default = match expr {
                Some(expr) => {
                    let ty = relation.column_named(&name.text).map(|column| column.ty);
                    let kept = table::column_default(maker, expr, ty.unwrap_or(Type::NONE))?;
                    check_default(maker, relation, name, kept.as_ref().map(|kept| &*kept.text))?;
                    kept
                }
                None => None,
            };
            change(maker, name, ColumnChange::Default(default))
        }
        Alter::NotNull(name, not_null) => {
            let attnum = column(relation, name)?;
            if *not_null && relation.table().is_some() {
                maker.check_no_nulls(oid, attnum, &name.text)?;
            }
            change(maker, name, ColumnChange::NotNull(*not_null))
        }
        Alter::Expression(name, expr) => {
            let attnum = column(relation, name)?;
            let columns = text::columns_of(relation.live_columns());
            let over = Over::of(relation, &columns);
            let kept = table::kept(maker, expr, Some(over))?;
            let known = relation.column(attnum).map(|known| (known.ty, known.modifier));
            let (ty, modifier) = known.unwrap_or((Type::NONE, Modifier::NONE));
            let schema = maker.names.schema_name(relation.schema);
            let shown = sql::bind::Names::relation(&*maker.names, Some(schema), &relation.name);
            let target = target(attnum, name, ty, modifier);
            if is_generated(relation, attnum) {
                one_row::check_default(maker, &kept.text, shown.as_deref(), &target, true)?;
            }
            change(maker, name, ColumnChange::Expression(kept))
        }
        Alter::DropExpression(name, if_exists) => {
            let attnum = column(relation, name)?;
            if !is_generated(relation, attnum) && *if_exists {
                let message = format!(
                    "column \"{}\" of relation \"{}\" is not a stored generated column, skipping",
                    name.text, relation.name
                );
                maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                return Ok(());
            }
            change(maker, name, ColumnChange::DropExpression)
        }
        Alter::AddIdentity(name, always, options) => {
            let identity = table::identity(maker, *always, options)?;
            change(maker, name, ColumnChange::AddIdentity(identity))
        }
        Alter::SetIdentity(name, always, options) => {
            if let Some(always) = always {
                change(maker, name, ColumnChange::Identity(*always))?;
            }
            alter_identity(maker, relation, name, options)
        }
        Alter::DropIdentity(name, if_exists) => {
            let attnum = column(relation, name)?;
            let has = relation.column(attnum).is_some_and(|column| column.identity.is_some());
            if !has && *if_exists {
                let message = format!(
                    "column \"{}\" of relation \"{}\" is not an identity column, skipping",
                    name.text, relation.name
                );
                maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                return Ok(());
            }
            change(maker, name, ColumnChange::DropIdentity)
        }
        Alter::Ignored => Ok(()),
        Alter::AddConstraint(constraint) => {
            if let TableConstraintKind::Unique { using_index: Some(index), primary, .. } =
                &constraint.kind
            {
                return using_index::add(maker, relation, constraint, index, *primary);
            }
            let columns = text::columns_of(relation.live_columns());
            let over = Over::of(relation, &columns);
            let schema = maker.names.schema_name(relation.schema);
            let bound = sql::bind::Names::relation(&*maker.names, Some(schema), &relation.name)
                .ok_or_else(|| Error::new(SqlState::UNDEFINED_TABLE, "the table is gone"))?;
            let made = table::table_constraint(maker, constraint, over, &bound)?;
            add_constraint(maker, oid, made, done.only)
        }
        Alter::DropConstraint { name, if_exists, cascade } => {
            match find_constraint(maker, relation, name) {
                Ok(constraint) => {
                    let object = Address::of(Class::Constraint, constraint.oid);
                    let notice = maker.ddl.drop_objects(&[object], behavior(*cascade))?;
                    maker.tell(notice);
                    Ok(())
                }
                Err(error) if *if_exists => {
                    let message = format!("{}, skipping", error.message());
                    maker.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    Ok(())
                }
                Err(error) => Err(error),
            }
        }
        Alter::Validate(name) => {
            let constraint = find_constraint(maker, relation, name)?;
            if !constraint.is_validated {
                maker.check_rows(oid, &constraint)?;
                maker.ddl.validate_constraint(constraint.oid)?;
            }
            Ok(())
        }
        Alter::RowSecurity { is_enabled, is_forced } => {
            Ok(maker.ddl.set_row_security(oid, *is_enabled, *is_forced)?)
        }
        Alter::AlterConstraint(name, timing) => {
            let constraint = find_constraint(maker, relation, name)?;
            Ok(maker.ddl.set_deferrable(constraint.oid, timing.deferrable, timing.deferred)?)
        }
        Alter::SetOptions(options) if relation.view().is_some() => {
            let kept = table::options(options);
            for (name, value) in &kept {
                super::view::check_view_option(name, value)?;
            }
            let kept: Vec<_> = kept.into_iter().map(|(name, value)| (name, Some(value))).collect();
            Ok(maker.ddl.set_options(oid, &kept)?)
        }
        Alter::SetOptions(options) => {
            let (own, others) = table::of_method(maker, relation, table::options(options))?;
            if !own.is_empty() {
                let own: Vec<_> =
                    own.into_iter().map(|(name, value)| (name, Some(value))).collect();
                maker.ddl.set_parameters(oid, &own)?;
            }
            let (kept, history) = table::parameters(others)?;
            if let Some(history) = history {
                maker.ddl.set_history(oid, history)?;
            }
            let kept: Vec<_> = kept.into_iter().map(|(name, value)| (name, Some(value))).collect();
            if kept.is_empty() {
                return Ok(());
            }
            Ok(maker.ddl.set_options(oid, &kept)?)
        }
        Alter::SetMethod(method) => {
            let Storage { method, .. } = table::storage(maker, method.as_ref(), &[])?;
            Ok(maker.ddl.set_method(oid, method)?)
        }
        Alter::ResetOptions(names) => {
            if names.iter().any(|name| name == "history") {
                maker.ddl.set_history(oid, store::Retention::Forever)?;
            }
            let named = names.iter().map(|name| (name.as_str().into(), "".into())).collect();
            let (own, others) = table::of_method(maker, relation, named)?;
            let none = |named: Options| -> Vec<(Arc<str>, Option<Arc<str>>)> {
                named.into_iter().map(|(name, _)| (name, None)).collect()
            };
            if !own.is_empty() {
                maker.ddl.set_parameters(oid, &none(own))?;
            }
            Ok(maker.ddl.set_options(oid, &none(others))?)
        }
        Alter::Owner(role) => {
            let owner = maker.role(role)?;
            Ok(maker.ddl.set_owner(object, owner)?)
        }
        Alter::Rename(name) => Ok(maker.ddl.rename(object, &name.text)?),
        Alter::RenameColumn(old, new) => {
            let attnum = match relation.column_named(&old.text) {
                Some(column) => column.attnum,
                None => {
                    let message = format!("column \"{}\" does not exist", old.text);
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                }
            };
            Ok(maker.ddl.rename(Address::column(oid, attnum), &new.text)?)
        }
        Alter::RenameConstraint(old, new) => {
            let constraint = find_constraint(maker, relation, old)?;
            Ok(maker.ddl.rename(Address::of(Class::Constraint, constraint.oid), &new.text)?)
        }
        Alter::SetSchema(name) => {
            let schema = maker.schema(name)?;
            Ok(maker.ddl.set_schema(object, schema)?)
        }
        Alter::Attach { partition, bound } => {
            partition::attach(maker, relation, partition, bound.as_ref())
        }
        Alter::Detach { partition, .. } => partition::detach(maker, relation, partition),
        Alter::Unsupported(words) => Err(Error::not_supported(format!("ALTER TABLE {words}"))),
    }
}

/// True for a generated column.
fn is_generated(relation: &Relation, attnum: i16) -> bool {
    let default = relation.column(attnum).and_then(|column| column.default.as_ref());
    default.is_some_and(|default| default.is_generated)
}

/// The number of a column.
fn column(relation: &Relation, name: &Name) -> Result<i16> {
    relation.column_named(&name.text).map(|column| column.attnum).ok_or_else(|| {
        let message =
            format!("column \"{}\" of relation \"{}\" does not exist", name.text, relation.name);
        Error::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

fn find_constraint(
    maker: &DdlContext<'_, '_>,
    relation: &Relation,
    name: &Name,
) -> Result<Arc<Constraint>> {
    let all = maker.catalog().constraints_of(ConstraintOn::Table(relation.oid));
    all.iter().find(|known| *known.name == *name.text).cloned().ok_or_else(|| {
        let message = format!(
            "constraint \"{}\" of relation \"{}\" does not exist",
            name.text, relation.name
        );
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

/// Adds a constraint; the rows that are there must meet it. The partitions of the table get it too, unless `only` the
/// table is to have it.
pub fn add_constraint(
    maker: &mut DdlContext<'_, '_>,
    table: Oid,
    new: NewConstraint,
    only: bool,
) -> Result<()> {
    let is_primary = matches!(new.kind, NewConstraintKind::Key { is_primary: true, .. });
    if is_primary && let NewConstraintKind::Key { columns, .. } = &new.kind {
        let relation = maker.catalog().relation(table).cloned();
        for name in columns {
            let found = relation.as_ref().and_then(|relation| relation.column_named(name));
            if let Some(column) = found.filter(|column| !column.not_null) {
                maker.check_no_nulls(table, column.attnum, name)?;
            }
        }
    }
    let below = partition::partitions(maker, table);
    let constraint = maker.ddl.add_constraint(table, new)?;
    maker.see();
    match &constraint.kind {
        ConstraintKind::Key { index, .. } => {
            // Where the rows themselves become keyed by it they are written anew, and checked.
            maker.rewrite_rows()?;
            maker.fill_index(table, *index)?;
            if only && !below.is_empty() {
                maker.ddl.invalidate_index(*index)?;
            }
        }
        ConstraintKind::Exclude { index, .. } => maker.fill_index(table, *index)?,
        ConstraintKind::Check { .. } if only && !below.is_empty() => {
            let message = "constraint must be added to child tables too";
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        _ if constraint.is_validated => maker.check_rows(table, &constraint)?,
        _ => {}
    }
    for partition in below.into_iter().filter(|_| !only) {
        partition::inherit_constraint(maker, &constraint, partition)?;
    }
    Ok(())
}

/// `ADD COLUMN`
fn add_column(
    maker: &mut DdlContext<'_, '_>,
    relation: &Arc<Relation>,
    definition: &ColumnDefinition,
    if_not_exists: bool,
    done: &mut TableChange,
) -> Result<()> {
    let name = &definition.name.text;
    if if_not_exists && relation.column_named(name).is_some() {
        let message =
            format!("column \"{name}\" of relation \"{}\" already exists, skipping", relation.name);
        maker.notice(SqlState::DUPLICATE_COLUMN, message);
        return Ok(());
    }
    let mut parts = Parts {
        schema: relation.schema,
        name: relation.name.to_string(),
        columns: vec![table::new_column(maker, definition)?],
        constraints: Vec::new(),
        serials: Vec::new(),
    };
    for constraint in &definition.constraints {
        let said = (&definition.name, &definition.constraints[..]);
        table::column_constraint(maker, &mut parts, said, constraint)?;
    }
    let mut new = parts.columns.remove(0);
    let mut sequence = None;
    if let Some(ty) = table::serial_type(definition) {
        let chosen =
            maker.ddl.choose_relation_name(relation.schema, &relation.name, Some(name), "seq");
        let options = SequenceOptions { data_type: Some(ty), ..SequenceOptions::default() };
        let made =
            maker.ddl.create_sequence(relation.schema, &chosen, relation.persistence, &options)?;
        new.default = Some(text::next_value(&maker.names, relation.schema, made.oid, &chosen));
        sequence = Some(made.oid);
        maker.see();
    }
    let over = text::columns_of(relation.live_columns());
    if new.is_generated
        && let Some(ColumnConstraintText(text)) = generated_text(definition)
    {
        // Its expression names the columns that are there.
        let over = Over::of(relation, &over);
        new.default = Some(text::expression(text, Some(over), &maker.names)?);
    }
    let bound = sql::bind::RelationColumn::plain(0, name.clone(), new.ty, new.modifier);
    let mut rewrite = new.identity.is_some() || new.is_generated;
    if let Some(default) = &new.default {
        let schema = maker.names.schema_name(relation.schema);
        let shown = sql::bind::Names::relation(&*maker.names, Some(schema), &relation.name);
        let over = if new.is_generated { shown.as_deref() } else { None };
        let expr = one_row::check_default(maker, &default.text, over, &bound, new.is_generated)?;
        match maker.constant(&expr)? {
            Some(value) => new.missing = Some(value),
            None => rewrite = true,
        }
    }
    // A domain may have a default, and may refuse NULL: each row gets what an insert would give it.
    let types: &dyn types::TypeSource = &*maker.names;
    rewrite |= new.default.is_none() && types.is_domain(new.ty);
    let lacks = new.missing.as_ref().is_none_or(Datum::is_null) && !rewrite;
    if new.not_null && lacks && !maker.is_empty(relation.oid)? {
        let message =
            format!("column \"{name}\" of relation \"{}\" contains null values", relation.name);
        let error = types::Error::new(SqlState::NOT_NULL_VIOLATION, message)
            .about(types::Object::Schema, maker.names.schema_name(relation.schema))
            .about(types::Object::Table, &*relation.name)
            .about(types::Object::Column, name.as_str());
        return Err(error.into());
    }
    let attnum = maker.ddl.add_column(relation.oid, new, rewrite)?;
    if let Some(sequence) = sequence {
        maker.ddl.own_sequence(sequence, Some((relation.oid, attnum)))?;
    }
    maker.see();
    let constraints = parts.constraints.into_iter();
    done.constraints.extend(constraints.map(|constraint| (definition.clone(), constraint)));
    Ok(())
}

/// The text of `GENERATED ALWAYS AS (...)`.
struct ColumnConstraintText<'a>(&'a str);

fn generated_text(definition: &ColumnDefinition) -> Option<ColumnConstraintText<'_>> {
    definition.constraints.iter().find_map(|constraint| match &constraint.kind {
        sql::parse::ast::ColumnConstraintKind::Generated(expr) => {
            Some(ColumnConstraintText(&expr.text))
        }
        _ => None,
    })
}

/// A check of the new column, over all columns of the table that now has it.
fn rebase(
    maker: &DdlContext<'_, '_>,
    table: Oid,
    definition: &ColumnDefinition,
    mut constraint: NewConstraint,
) -> Result<NewConstraint> {
    let NewConstraintKind::Check(kept) = &mut constraint.kind else { return Ok(constraint) };
    let Some(relation) = maker.catalog().relation(table) else { return Ok(constraint) };
    let columns = text::columns_of(relation.live_columns());
    let over = Over::of(relation, &columns);
    let text = definition.constraints.iter().find_map(|known| match &known.kind {
        sql::parse::ast::ColumnConstraintKind::Check(SqlExpr { text, .. })
            if known.name.as_ref().map(|name| name.text.as_str()) == constraint.name.as_deref() =>
        {
            Some(text)
        }
        _ => None,
    });
    if let Some(text) = text {
        *kept = text::expression(text, Some(over), &maker.names)?;
    }
    Ok(constraint)
}

fn check_default(
    maker: &DdlContext<'_, '_>,
    relation: &Relation,
    name: &Name,
    text: Option<&str>,
) -> Result<()> {
    let attnum = column(relation, name)?;
    let (Some(text), Some(column)) = (text, relation.column(attnum)) else { return Ok(()) };
    let bound = sql::bind::RelationColumn {
        attnum,
        name: column.name.to_string(),
        ty: column.ty,
        modifier: column.modifier,
        collation: column.collation,
        not_null: column.not_null,
        default: sql::bind::ColumnDefault::None,
    };
    one_row::check_default(maker, text, None, &bound, false).map(drop)
}

/// The columns that get another type, and their values: of the row as it was, whatever the other
/// actions do.
fn retypings(
    maker: &DdlContext<'_, '_>,
    relation: &Arc<Relation>,
    actions: &[Alter],
) -> Result<Vec<Retyping>> {
    let mut found: Vec<Retyping> = Vec::new();
    for action in actions {
        let Alter::ColumnType { name, ty, collation, using } = action else { continue };
        if matches!(relation.kind, RelationKind::Composite) {
            continue;
        }
        let retyping = retyping(maker, relation, name, ty, collation.as_ref(), using.as_ref())?;
        let before = found.iter().position(|known| known.attnum == retyping.attnum);
        if let Some(before) = before.map(|at| found.remove(at)) {
            let old = relation.column(before.attnum);
            if old.is_none_or(|old| (old.ty, old.modifier) != (before.ty, before.modifier)) {
                let message = format!("cannot alter type of column \"{}\" twice", name.text);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
        found.push(retyping);
    }
    Ok(found)
}

fn retyping(
    maker: &DdlContext<'_, '_>,
    relation: &Arc<Relation>,
    name: &Name,
    ty: &TypeName,
    collation: Option<&Path>,
    using: Option<&SqlExpr>,
) -> Result<Retyping> {
    let attnum = column(relation, name)?;
    if using.is_some() && is_generated(relation, attnum) {
        let message = "cannot specify USING when altering type of generated column";
        let error = Error::new(SqlState::INVALID_COLUMN_DEFINITION, message);
        return Err(error.detail(format!("Column \"{}\" is a generated column.", name.text)));
    }
    let (ty, modifier) = maker.type_of(ty)?;
    let collation = table::collation(maker, collation, ty)?;
    let columns = text::columns_of(relation.live_columns());
    let over = Over::of(relation, &columns);
    let value = match using {
        Some(using) => text::expression(&using.text, Some(over), &maker.names)?.text.to_string(),
        None => scalar::quote::identifier(&name.text),
    };
    let target = target(attnum, name, ty, modifier);
    let schema = maker.names.schema_name(relation.schema);
    let shown = sql::bind::Names::relation(&*maker.names, Some(schema), &relation.name);
    let value =
        sql::bind::column_value(&value, shown.as_deref(), &target, &*maker.names, maker.context())
            .map_err(|error| cannot_cast(maker, name, ty, modifier, using.is_some(), error))?;
    Ok(Retyping { attnum, ty, modifier, collation, value, has_using: using.is_some() })
}

/// A column of a type, as expressions that are to be stored in it are bound.
fn target(attnum: i16, name: &Name, ty: Type, modifier: Modifier) -> sql::bind::RelationColumn {
    sql::bind::RelationColumn::plain(attnum, name.text.clone(), ty, modifier)
}

/// `ALTER COLUMN ... TYPE`
fn column_type(
    maker: &mut DdlContext<'_, '_>,
    relation: &Arc<Relation>,
    name: &Name,
    done: &TableChange,
) -> Result<()> {
    let attnum = column(relation, name)?;
    let retyping = done.retyped.iter().find(|retyping| retyping.attnum == attnum);
    let (Some(old), Some(retyping)) = (relation.column(attnum).cloned(), retyping) else {
        return Ok(());
    };
    let Retyping { ty, modifier, collation, ref value, has_using, .. } = *retyping;
    if let Some(identity) = &old.identity {
        retype_identity(maker, identity.sequence, ty)?;
    }
    let target = target(attnum, name, ty, modifier);
    let default = match &old.default {
        Some(default) if !default.is_generated => {
            one_row::check_default(maker, &default.expr.text, None, &target, false).map_err(
                |_| {
                    let types: &dyn types::TypeSource = &*maker.names;
                    let message = format!(
                        "default for column \"{}\" cannot be cast automatically to type {}",
                        name.text,
                        types::format_type(types, ty, modifier)
                    );
                    Error::new(SqlState::DATATYPE_MISMATCH, message)
                },
            )?;
            Some(default.expr.clone())
        }
        Some(default) => Some(default.expr.clone()),
        None => None,
    };
    let is_same = old.ty == ty && (old.modifier == modifier || modifier == Modifier::NONE);
    let widened =
        old.ty == ty && ty == Type::VARCHAR && modifier.0 >= old.modifier.0 && old.modifier.0 >= 0;
    let text_like = [Type::TEXT, Type::VARCHAR];
    let relabelled =
        text_like.contains(&old.ty) && text_like.contains(&ty) && modifier == Modifier::NONE;
    let rewrite = has_using || !(is_same || widened || relabelled);
    if rewrite {
        maker.using.push((relation.oid, attnum, value.clone()));
    }
    let change = ColumnChange::Type { ty, modifier, collation, default, rewrite };
    Ok(maker.ddl.change_column(relation.oid, &name.text, change)?)
}

/// The sequence of an identity column counts as the column's new type does.
fn retype_identity(maker: &mut DdlContext<'_, '_>, sequence: Oid, ty: Type) -> Result<()> {
    if ![Type::INT2, Type::INT4, Type::INT8].contains(&ty) {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let options = SequenceOptions { data_type: Some(ty), ..SequenceOptions::default() };
    maker.ddl.alter_sequence(sequence, &options)?;
    Ok(())
}

fn cannot_cast(
    maker: &DdlContext<'_, '_>,
    name: &Name,
    ty: Type,
    modifier: Modifier,
    using: bool,
    error: sql::Error,
) -> Error {
    if error.cause.state() != SqlState::DATATYPE_MISMATCH {
        return error.cause.into();
    }
    let types: &dyn types::TypeSource = &*maker.names;
    let target = types::format_type(types, ty, modifier);
    if using {
        let message = format!(
            "result of USING clause for column \"{}\" cannot be cast automatically to type {target}",
            name.text
        );
        return Error::new(SqlState::DATATYPE_MISMATCH, message)
            .hint("You might need to add an explicit cast.");
    }
    let message = format!("column \"{}\" cannot be cast automatically to type {target}", name.text);
    let column = scalar::quote::identifier(&name.text);
    Error::new(SqlState::DATATYPE_MISMATCH, message)
        .hint(format!("You might need to specify \"USING {column}::{target}\"."))
}

/// The options of the sequence behind an identity column.
fn alter_identity(
    maker: &mut DdlContext<'_, '_>,
    relation: &Relation,
    name: &Name,
    options: &[SequenceOption],
) -> Result<()> {
    if options.is_empty() {
        return Ok(());
    }
    let attnum = column(relation, name)?;
    let identity = relation.column(attnum).and_then(|column| column.identity);
    let Some(identity) = identity else {
        let message = format!(
            "column \"{}\" of relation \"{}\" is not an identity column",
            name.text, relation.name
        );
        return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    };
    let said = misc::sequence_options(maker, options)?;
    let changed = maker.ddl.alter_sequence(identity.sequence, &said)?;
    for option in options {
        if let SequenceOption::Restart(value) = option {
            let last = value.or(changed.sequence().map(|sequence| sequence.start)).unwrap_or(1);
            maker.around.client.instance.sequences.restart(&changed, last)?;
        }
    }
    Ok(())
}
