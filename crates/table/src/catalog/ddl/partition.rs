//! Partitions: attached to a partitioned table and detached from it, with their indexes and constraints.

use std::sync::Arc;

use ::types::{Error as SqlError, Oid, SqlState};
use scalar::operators::by_oid;

use super::index::IndexRole;
use super::{Address, Ddl, Entry, Relation, RelationKind, TableDef, not_supported};
use crate::catalog::{
    Clash, Constraint, ConstraintKind, IndexKey, IndexPart, PartitionBound, PartitionOf,
    Partitioning, Persistence, Router,
};
use crate::documents::Document;
use crate::objects::Objects;
use crate::{Error, Result};

impl Partitioning {
    /// The same, where the relation with OID 0 is `own`.
    pub(super) fn of_relation(mut self, own: Oid) -> Partitioning {
        for key in &mut self.keys {
            if let IndexPart::Expr(expr) = &mut key.part {
                *expr = std::mem::take(expr).of_relation(own);
            }
        }
        self
    }
}

impl Ddl<'_> {
    /// Keeps what the keys of a new partitioned table name from being dropped.
    pub(super) fn rely_on_partition_keys(&mut self, own: Oid, new: &Partitioning) -> Result<()> {
        for key in &new.keys {
            self.rely_on_collation(key.collation)?;
            if let IndexPart::Expr(expr) = &key.part {
                self.rely_on_others(expr, own)?;
            }
        }
        Ok(())
    }

    /// Enters a table that has just been made among the partitions of another.
    pub(super) fn enter_partition(&mut self, of: &PartitionOf, partition: Oid) -> Result<()> {
        let parent = self.partitioned(of.parent)?;
        self.check_owner(Address::relation(of.parent))?;
        let relation = self.relation(partition)?;
        self.check_partition_persistence(&parent, &relation)?;
        self.check_bound(&parent, &relation.name, &of.bound)?;
        self.change_partitions(of.parent, |partitions| partitions.push(partition))?;
        self.share_identities(of.parent)
    }

    /// Makes a table a partition of another. Whether its rows are in the bound is for the caller to see to, and that
    /// it has the indexes and the foreign keys of the other.
    ///
    /// # Errors
    /// 42809 where one of the two cannot be that, 42804 where columns or checks are not alike, 42P17 where another
    /// partition has some of the rows.
    pub fn attach_partition(
        &mut self,
        parent: Oid,
        table: Oid,
        bound: PartitionBound,
    ) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(parent))?;
            ddl.check_owner(Address::relation(table))?;
            let whole = ddl.partitioned(parent)?;
            let mut relation = Relation::clone(&*ddl.relation_to_change(table)?);
            let def = ddl.table(table)?;
            let refuse = |message: String| Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            if relation.partition_of().is_some() {
                return refuse(format!("\"{}\" is already a partition", relation.name));
            }
            if relation.materialized().is_some() {
                return refuse(format!("\"{}\" is not a table", relation.name));
            }
            if ddl.catalog().partition_tree(table).contains(&parent) {
                let message = "circular inheritance not allowed";
                let detail =
                    format!("\"{}\" is already a child of \"{}\".", whole.name, relation.name);
                let error = SqlError::new(SqlState::DUPLICATE_TABLE, message);
                return Err(error.with_detail(detail).into());
            }
            ddl.check_partition_persistence(&whole, &relation)?;
            ddl.check_partition_method(relation.table().map_or(Oid::NONE, |data| data.method.oid))?;
            ddl.check_alike(&whole, &relation)?;
            ddl.check_bound(&whole, &relation.name, &bound)?;
            ddl.take_checks(parent, &def)?;
            if let RelationKind::Table(data) = &mut relation.kind {
                data.partition_of = Some(PartitionOf { parent, bound });
            }
            ddl.put_relation(relation)?;
            ddl.change_partitions(parent, |partitions| partitions.push(table))?;
            ddl.share_identities(parent)
        })
    }

    /// Makes a partition a table of its own, with its indexes and constraints.
    ///
    /// # Errors
    /// 42P01 where it is no partition of the other.
    pub fn detach_partition(&mut self, parent: Oid, partition: Oid) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(parent))?;
            let whole = ddl.partitioned(parent)?;
            let mut relation = Relation::clone(&*ddl.relation_to_change(partition)?);
            if relation.partition_of().is_none_or(|of| of.parent != parent) {
                let message = format!(
                    "relation \"{}\" is not a partition of relation \"{}\"",
                    relation.name, whole.name
                );
                return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
            }
            if let RelationKind::Table(data) = &mut relation.kind {
                data.partition_of = None;
            }
            // Its values come from the sequence of the table that it leaves.
            relation.columns.iter_mut().for_each(|column| column.identity = None);
            ddl.put_relation(relation)?;
            ddl.share_identities(partition)?;
            let def = ddl.table(partition)?;
            for index in def.indexes.iter().filter(|it| is_part(it)) {
                ddl.change_index(index.oid, |index| index.partition_of = None)?;
            }
            for constraint in def.constraints.iter().filter(|it| it.partition_of.is_some()) {
                let mut own = Constraint::clone(constraint);
                own.partition_of = None;
                ddl.put(Entry::Constraint(Arc::new(own)))?;
            }
            ddl.change_partitions(parent, |partitions| partitions.retain(|it| *it != partition))
        })
    }

    /// Makes the columns of all partitions below a table identity columns where those of the table are: they take
    /// their values from the same sequences.
    pub(super) fn share_identities(&mut self, table: Oid) -> Result<()> {
        let whole = self.relation(table)?;
        for partition in whole.partitions() {
            let part = self.relation(*partition)?;
            let mut changed = Relation::clone(&*part);
            for column in changed.columns.iter_mut().filter(|column| !column.is_dropped) {
                let above = whole.column_named(&column.name);
                column.identity = above.and_then(|above| above.identity);
                column.not_null |= column.identity.is_some();
            }
            if changed.columns != part.columns {
                self.put_relation(changed)?;
            }
            self.share_identities(*partition)?;
        }
        Ok(())
    }

    /// Makes an index of a partition a part of an index of its table. The latter can be used once all partitions have
    /// theirs.
    ///
    /// # Errors
    /// 42809 where one of them is none of these, 55000 where the partition has one already or they are not alike.
    pub fn attach_index(&mut self, whole: Oid, part: Oid) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(whole))?;
            ddl.check_owner(Address::relation(part))?;
            let (relation, other) = (ddl.relation(whole)?, ddl.relation(part)?);
            let (Some(index), Some(own)) = (relation.index(), other.index()) else {
                let name = if relation.index().is_none() { &relation.name } else { &other.name };
                let message = format!("\"{name}\" is not an index");
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            };
            if own.partition_of == Some(whole) {
                return Ok(());
            }
            let message = format!(
                "cannot attach index \"{}\" as a partition of index \"{}\"",
                other.name, relation.name
            );
            let refuse = |detail: String| {
                let error = SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, &*message);
                Err(error.with_detail(detail).into())
            };
            if own.partition_of.is_some() {
                return refuse(format!(
                    "Index \"{}\" is already attached to another index.",
                    other.name
                ));
            }
            let (table, partition) = (ddl.table(index.table)?, ddl.table(own.table)?);
            if partition.relation.partition_of().is_none_or(|of| of.parent != index.table) {
                return refuse(format!(
                    "Index \"{}\" is not an index on any partition of table \"{}\".",
                    other.name, table.relation.name
                ));
            }
            if !is_like((&table.relation, &relation), (&partition.relation, &other)) {
                return refuse("The index definitions do not match.".to_owned());
            }
            if ddl.catalog().partition_index(&partition, whole).is_some() {
                return refuse(format!(
                    "Another index is already attached for partition \"{}\".",
                    partition.relation.name
                ));
            }
            let of_constraint = |constraint: Option<Oid>| {
                constraint.and_then(|oid| ddl.catalog().constraint(oid).cloned())
            };
            match (of_constraint(index.constraint), of_constraint(own.constraint)) {
                (Some(whole), Some(part)) => {
                    let partition_of = Some(whole.oid);
                    let part = Constraint { partition_of, ..Constraint::clone(&part) };
                    ddl.put(Entry::Constraint(Arc::new(part)))?;
                }
                (Some(constraint), None) => {
                    return refuse(format!(
                        "The index \"{}\" belongs to a constraint in table \"{}\" but no constraint \
                         exists for index \"{}\".",
                        constraint.name, table.relation.name, other.name
                    ));
                }
                (None, _) => {}
            }
            ddl.change_index(part, |index| index.partition_of = Some(whole))?;
            ddl.validate_whole(whole)
        })
    }

    /// The index of a table that an index of the table above it can have as its part.
    pub fn like_index(&self, whole: Oid, partition: Oid) -> Option<Oid> {
        let catalog = self.catalog();
        let relation = catalog.relation(whole)?;
        let table = catalog.relation(relation.index()?.table)?;
        let partition = catalog.table(partition)?;
        let has_constraint = relation.index()?.constraint.is_some();
        let fits = |index: &&Arc<Relation>| {
            index.index().is_some_and(|own| {
                own.partition_of.is_none()
                    && own.is_valid
                    && (own.constraint.is_some() || !has_constraint)
            }) && is_like((table, relation), (&partition.relation, index))
        };
        partition.indexes.iter().find(fits).map(|index| index.oid)
    }

    /// An index of a partitioned table, and those it is a part of, can be used where all partitions have theirs.
    pub fn validate_whole(&mut self, whole: Oid) -> Result<()> {
        let relation = self.relation(whole)?;
        let Some(index) = relation.index() else { return Ok(()) };
        let table = self.relation(index.table)?;
        let catalog = Arc::clone(self.catalog());
        let has_part = |partition: &Oid| {
            let part = catalog.table(*partition).and_then(|it| catalog.partition_index(it, whole));
            part.and_then(|part| catalog.relation(part)?.index()).is_some_and(|part| part.is_valid)
        };
        if index.is_valid || !table.partitions().iter().all(has_part) {
            return Ok(());
        }
        let above = index.partition_of;
        self.change_index(whole, |index| index.is_valid = true)?;
        above.map_or(Ok(()), |above| self.validate_whole(above))
    }

    /// A relation that goes is no partition any more.
    pub(super) fn leave_partitions(&mut self, relation: &Relation) -> Result<()> {
        let Some(of) = relation.partition_of() else { return Ok(()) };
        match self.catalog().relation(of.parent).is_some() {
            true => self.change_partitions(of.parent, |all| all.retain(|it| *it != relation.oid)),
            false => Ok(()),
        }
    }

    /// The index of a constraint that is a part of another is a part of the index of that.
    pub(super) fn link_key(&mut self, constraint: &Constraint) -> Result<()> {
        let index_of = |constraint: &Constraint| match constraint.kind {
            ConstraintKind::Key { index, .. } | ConstraintKind::Exclude { index, .. } => {
                Some(index)
            }
            _ => None,
        };
        let whole = constraint.partition_of.and_then(|oid| self.catalog().constraint(oid));
        match (whole.and_then(|whole| index_of(whole)), index_of(constraint)) {
            (Some(whole), Some(part)) => {
                self.change_index(part, |index| index.partition_of = Some(whole))
            }
            _ => Ok(()),
        }
    }

    /// A constraint of a partition becomes a part of that of its table.
    ///
    /// # Errors
    /// 42704 where there is none.
    pub fn attach_constraint(&mut self, whole: Oid, part: Oid) -> Result<()> {
        self.change_constraint(part, |constraint| {
            constraint.partition_of = Some(whole);
            Ok(())
        })
    }

    /// A key that no two rows of a partitioned table may share has what decides in which partition a row is.
    pub(super) fn check_unique_partitions(
        &self,
        table: &Relation,
        (keys, excludes): (&[IndexKey], &[Oid]),
        role: IndexRole,
    ) -> Result<()> {
        let Some(partitioning) = table.partitioning() else { return Ok(()) };
        let what = match role {
            IndexRole { is_primary: true, .. } => "PRIMARY KEY",
            IndexRole { is_period: false, .. } if !excludes.is_empty() => "EXCLUDE",
            _ => "UNIQUE",
        };
        let refuse = |message: String, detail: String| {
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            Err(error.with_detail(detail).into())
        };
        for key in &partitioning.keys {
            let IndexPart::Column(attnum) = key.part else {
                return refuse(
                    format!("unsupported {what} constraint with partition key definition"),
                    format!(
                        "{what} constraints cannot be used when partition keys include expressions."
                    ),
                );
            };
            let column = table.column(attnum).map_or("", |column| &column.name);
            let name_of = |at: usize| {
                excludes.get(at).map_or("=", |oid| by_oid(*oid).map_or("", |known| known.name))
            };
            let mut has_column = false;
            for (at, _) in keys.iter().enumerate().filter(|(_, it)| it.column() == Some(attnum)) {
                // Rows of two partitions exclude each other as soon as it is not equality.
                if name_of(at) != "=" {
                    let message = format!(
                        "cannot match partition key to index on column \"{column}\" using non-equal \
                         operator \"{}\"",
                        name_of(at)
                    );
                    return Err(not_supported(message));
                }
                has_column = true;
            }
            if !has_column {
                return refuse(
                    "unique constraint on partitioned table must include all partitioning columns"
                        .to_owned(),
                    format!(
                        "{what} constraint on table \"{}\" lacks column \"{column}\" which is part of \
                         the partition key.",
                        table.name
                    ),
                );
            }
        }
        Ok(())
    }

    fn partitioned(&mut self, table: Oid) -> Result<Arc<Relation>> {
        let relation = self.relation_to_change(table)?;
        if relation.partitioning().is_none() {
            let message = format!("\"{}\" is not partitioned", relation.name);
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        Ok(relation)
    }

    /// 0A000 for a table whose rows have a place by their key alone, as documents and objects have.
    pub(super) fn check_partition_method(&self, method: Oid) -> Result<()> {
        if matches!(method, Document::OID | Objects::OID) {
            let name = self.draft.cache().methods().get(method)?.name();
            return Err(not_supported(format!(
                "a partition of access method \"{name}\" is not supported"
            )));
        }
        Ok(())
    }

    fn change_partitions(&mut self, table: Oid, change: impl FnOnce(&mut Vec<Oid>)) -> Result<()> {
        let mut relation = Relation::clone(&*self.relation_to_change(table)?);
        if let RelationKind::Table(data) = &mut relation.kind
            && let Some(partitioning) = &mut data.partitioning
        {
            change(&mut partitioning.partitions);
        }
        self.put_relation(relation).map(drop)
    }

    fn check_partition_persistence(&self, whole: &Relation, part: &Relation) -> Result<()> {
        let is_temporary = |relation: &Relation| relation.persistence == Persistence::Temporary;
        let message = match (is_temporary(whole), is_temporary(part)) {
            (true, false) => format!(
                "cannot create a permanent relation as partition of temporary relation \"{}\"",
                whole.name
            ),
            (false, true) => format!(
                "cannot create a temporary relation as partition of permanent relation \"{}\"",
                whole.name
            ),
            _ => return Ok(()),
        };
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
    }

    /// No other partition has rows of the bound.
    fn check_bound(&self, whole: &Relation, name: &str, bound: &PartitionBound) -> Result<()> {
        let router = Router::of(self.catalog(), whole);
        let Some(clash) = router.and_then(|router| router.clash(bound)) else { return Ok(()) };
        let named = |oid| self.catalog().relation(oid).map_or("", |relation| &relation.name);
        let error = |message: String| SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message);
        Err(match clash {
            Clash::Overlap(other) => {
                error(format!("partition \"{name}\" would overlap partition \"{}\"", named(other)))
            }
            Clash::Default(other) => error(format!(
                "partition \"{name}\" conflicts with existing default partition \"{}\"",
                named(other)
            )),
            Clash::Empty => {
                let style = ::types::Style::default();
                let scope = self.scope();
                let context = ::types::Context { types: &scope, ..::types::Context::new(&style) };
                let keys = whole.partitioning().map_or(&[][..], |partitioning| &partitioning.keys);
                let ends = bound.to_sql(&mut |at, value| keys[at].written(value, &context));
                let ends = ends.strip_prefix("FOR VALUES FROM ").unwrap_or(&ends);
                let (low, high) = ends.split_once(" TO ").unwrap_or((ends, ""));
                error(format!("empty range bound specified for partition \"{name}\"")).with_detail(
                    format!(
                        "Specified lower bound {low} is greater than or equal to upper bound {high}."
                    ),
                )
            }
            Clash::NotDivisible(other, known) | Clash::NoFactor(other, known) => {
                let PartitionBound::Hash { modulus, .. } = bound else { return Ok(()) };
                let is_larger = matches!(clash, Clash::NotDivisible(..));
                let what = if is_larger { "divisible by" } else { "a factor of" };
                error(
                    "every hash partition modulus must be a factor of the next larger modulus"
                        .to_owned(),
                )
                .with_detail(format!(
                    "The new modulus {modulus} is not {what} {known}, the modulus of existing partition \
                     \"{}\".",
                    named(other)
                ))
            }
        }
        .into())
    }

    /// A table has the columns of another, and no more.
    fn check_alike(&self, whole: &Relation, part: &Relation) -> Result<()> {
        let wrong = |message: String| SqlError::new(SqlState::DATATYPE_MISMATCH, message);
        for column in whole.live_columns() {
            let Some(own) = part.column_named(&column.name) else {
                let message = format!("child table is missing column \"{}\"", column.name);
                return Err(wrong(message).into());
            };
            let is_generated = |column: &crate::catalog::Column| {
                column.default.as_ref().is_some_and(|default| default.is_generated)
            };
            let message = if (own.ty, own.modifier) != (column.ty, column.modifier) {
                format!(
                    "child table \"{}\" has different type for column \"{}\"",
                    part.name, column.name
                )
            } else if own.collation != column.collation {
                format!(
                    "child table \"{}\" has different collation for column \"{}\"",
                    part.name, column.name
                )
            } else if column.not_null && !own.not_null {
                format!("column \"{}\" in child table must be marked NOT NULL", column.name)
            } else if is_generated(column) && !is_generated(own) {
                format!("column \"{}\" in child table must be a generated column", column.name)
            } else if !is_generated(column) && is_generated(own) {
                format!("column \"{}\" in child table must not be a generated column", column.name)
            } else {
                continue;
            };
            return Err(wrong(message).into());
        }
        for column in part.live_columns() {
            if whole.column_named(&column.name).is_none() {
                let message = format!(
                    "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
                    part.name, column.name, whole.name
                );
                let detail = "The new partition may contain only the columns present in parent.";
                return Err(wrong(message).with_detail(detail).into());
            }
            if column.identity.is_some() {
                let message = format!(
                    "table \"{}\" being attached contains an identity column \"{}\"",
                    part.name, column.name
                );
                let error = SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
                let detail = "The new partition may not contain an identity column.";
                return Err(error.with_detail(detail).into());
            }
        }
        Ok(())
    }

    /// The checks of a partitioned table are those of the same name in a table, which become parts of them.
    fn take_checks(&mut self, whole: Oid, part: &TableDef) -> Result<()> {
        let checks: Vec<Arc<Constraint>> = self.table(whole)?.constraints.clone();
        for check in checks {
            let ConstraintKind::Check { expr, .. } = &check.kind else { continue };
            let own = part.constraints.iter().find(|known| known.name == check.name);
            let own = own.and_then(|own| match &own.kind {
                ConstraintKind::Check { expr, .. } => Some((own, expr)),
                _ => None,
            });
            let Some((own, known)) = own else {
                let message = format!("child table is missing constraint \"{}\"", check.name);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            };
            if known.text != expr.text {
                let message = format!(
                    "child table \"{}\" has different definition for check constraint \"{}\"",
                    part.relation.name, check.name
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            let own = Constraint { partition_of: Some(check.oid), ..Constraint::clone(own) };
            self.put(Entry::Constraint(Arc::new(own)))?;
        }
        Ok(())
    }
}

fn is_part(index: &Relation) -> bool {
    index.index().is_some_and(|index| index.partition_of.is_some())
}

/// True if an index of a partition says of its columns what that of the table says of the columns with the same
/// names.
fn is_like(
    (table, whole): (&Relation, &Relation),
    (partition, part): (&Relation, &Relation),
) -> bool {
    let (Some(one), Some(other)) = (whole.index(), part.index()) else { return false };
    let same_column = |one: i16, other: i16| {
        let name = |relation: &Relation, attnum| {
            relation.column(attnum).map(|column| Arc::clone(&column.name))
        };
        name(table, one) == name(partition, other)
    };
    let same_key = |one: &IndexKey, other: &IndexKey| {
        let is_same_part = match (&one.part, &other.part) {
            (IndexPart::Column(one), IndexPart::Column(other)) => same_column(*one, *other),
            (IndexPart::Expr(one), IndexPart::Expr(other)) => one.text == other.text,
            _ => false,
        };
        is_same_part
            && (one.is_descending, one.nulls_first, &one.class)
                == (other.is_descending, other.nulls_first, &other.class)
    };
    let text = |index: &crate::catalog::Index| index.predicate.as_ref().map(|it| it.text.clone());
    let collations = |index: &Relation| -> Vec<Oid> {
        index.columns.iter().map(|column| column.collation).collect()
    };
    one.method == other.method
        && one.is_unique == other.is_unique
        && one.nulls_distinct == other.nulls_distinct
        && one.keys.len() == other.keys.len()
        && one.keys.iter().zip(&other.keys).all(|(one, other)| same_key(one, other))
        && one.include.len() == other.include.len()
        && one.include.iter().zip(&other.include).all(|(one, other)| same_column(*one, *other))
        && text(one) == text(other)
        && one.excludes == other.excludes
        && collations(whole) == collations(part)
}
