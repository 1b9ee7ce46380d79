//! The uses of relations by a statement, for which the rights of its role are checked.
//!
//! ```text
//!   create view adult as select id, name as who from person where age >= 18
//!
//!   update adult set who = upper(who)      adult    updates who     reads who
//!                                          person   updates name    reads name, age    by adult's owner
//! ```
//!
//! A column counts as read where its name is written, `*` included. The text of a view is run with
//! the rights of the view's owner. Defaults, generated columns and the expressions of indexes need
//! no rights.

use types::{Oid, SqlState};

use super::Binder;
use super::insert::ValueTarget;
use super::names::{IndexKey, Relation, UniqueIndex};
use super::updatable::Shown;
use crate::error::{At, Error, Result};
use crate::parse::ast::Name;
use crate::plan::{Column, Expr, ExprKind, Node, Plan};

/// The uses of a statement.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Uses {
    /// The schemas whose names are written before others.
    pub schemas: Vec<String>,
    /// Relations, in the order in which they stand in the statement.
    pub relations: Vec<Use>,
    /// The name of a materialized view that is read and not populated: the statement cannot be run.
    pub unpopulated: Option<String>,
    /// The name of a table whose policies leave out rows.
    pub secured: Option<String>,
}

/// The use of a relation by a statement. Columns are given by their numbers. A use of no column in
/// particular needs the right on any of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Use {
    /// The relation.
    pub relation: Oid,
    /// The role in whose name it is used; none for the role that runs the statement.
    pub by: Option<Oid>,
    /// The columns that are read.
    pub reads: Option<Vec<i16>>,
    /// The columns that new rows are given values for.
    pub inserts: Option<Vec<i16>>,
    /// The columns that are changed; none of them where rows are only locked.
    pub updates: Option<Vec<i16>>,
    /// True if rows are deleted.
    pub deletes: bool,
}

impl Binder<'_> {
    /// Counts a relation among those that are used; gives its place among them.
    pub(super) fn use_of(&mut self, relation: Oid) -> usize {
        self.uses.relations.push(Use { relation, by: self.by, ..Use::default() });
        self.uses.relations.len() - 1
    }

    /// Counts the table that is changed, and the views that it is changed through before it.
    pub(super) fn use_of_target(&mut self, base: &Relation, shown: Option<&Shown>) -> usize {
        for layer in shown.into_iter().flat_map(|shown| shown.layers.iter().rev()) {
            self.use_of(layer.view.oid);
        }
        self.use_of(base.oid)
    }

    /// Columns show those of a relation that is used, which have these numbers there.
    pub(super) fn show_used(
        &mut self,
        used: usize,
        columns: &[Column],
        attnums: impl Iterator<Item = i16>,
    ) {
        for (column, attnum) in columns.iter().zip(attnums) {
            self.sources[column.id as usize] = Some((used, attnum));
        }
    }

    /// The columns of a scan show those of a relation that is used.
    pub(super) fn show_scanned(&mut self, used: usize, plan: &Plan) {
        if let Node::Scan(scan) = &plan.node {
            self.show_used(used, &plan.columns, scan.attnums.iter().copied());
        }
    }

    /// An expression that was written, whose columns are read.
    pub(super) fn read(&mut self, expr: Expr) -> Expr {
        match &expr.kind {
            ExprKind::Column { index, .. } => self.read_column(*index),
            ExprKind::Row { fields, .. } => {
                for field in fields {
                    if let ExprKind::Column { index, .. } = field.kind {
                        self.read_column(index);
                    }
                }
            }
            _ => {}
        }
        expr
    }

    fn read_column(&mut self, id: u32) {
        if let (Some((used, attnum)), false) = (self.sources[id as usize], self.kept) {
            add(self.uses.relations[used].reads.get_or_insert_default(), attnum);
        }
    }

    /// The rows whose key is in a column are locked.
    pub(super) fn lock_used(&mut self, key: &Column) {
        if let Some((used, _)) = self.sources[key.id as usize] {
            self.uses.relations[used].updates.get_or_insert_default();
        }
    }

    /// Rows get values for the columns at these places.
    pub(super) fn insert_used(
        &mut self,
        used: usize,
        relation: &Relation,
        places: &[ValueTarget<'_>],
    ) {
        let columns = self.uses.relations[used].inserts.get_or_insert_default();
        for place in places {
            add(columns, relation.columns[place.index].attnum);
        }
    }

    /// The columns at these places are changed.
    pub(super) fn update_used(&mut self, used: usize, relation: &Relation, set: &[(usize, Expr)]) {
        let columns = self.uses.relations[used].updates.get_or_insert_default();
        for (place, _) in set {
            add(columns, relation.columns[*place].attnum);
        }
    }

    /// The key columns of an index are read.
    pub(super) fn read_index(&mut self, used: usize, index: &UniqueIndex) {
        let columns = self.uses.relations[used].reads.get_or_insert_default();
        for key in &index.keys {
            if let IndexKey::Column(attnum) = key {
                add(columns, *attnum);
            }
        }
    }

    /// A schema is named.
    ///
    /// # Errors
    /// `42501` where the role that runs the statement may not use it.
    pub(super) fn use_schema(&mut self, schema: &Name) -> Result<()> {
        if self.kept || self.by.is_some() {
            return Ok(());
        }
        if !self.names.may_use_schema(&schema.text) {
            let message = format!("permission denied for schema {}", schema.text);
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).at(schema.at));
        }
        if !self.uses.schemas.contains(&schema.text) {
            self.uses.schemas.push(schema.text.clone());
        }
        Ok(())
    }

    /// Binds what the catalog keeps and the user has not written.
    pub(super) fn keeping<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.kept, true);
        let result = bind(self).map_err(|error| Error { at: At::NONE, ..error });
        self.kept = before;
        result
    }

    /// A use of a table through views is a use of each view too, by the owner of the view above it;
    /// the owner of the innermost view uses the table.
    pub(super) fn use_through(&mut self, target: usize, shown: &Shown) {
        let done = self.uses.relations[target].clone();
        let outermost = target - shown.layers.len();
        let mut by = done.by;
        for (place, layer) in shown.layers.iter().rev().enumerate() {
            let through = |attnums: &Option<Vec<i16>>| {
                let named = |attnum: &i16| layer.attnum_of(*attnum, &shown.base);
                attnums.as_ref().map(|attnums| attnums.iter().filter_map(named).collect())
            };
            // The inputs of its expressions were read of the view alone.
            let known = self.uses.relations[outermost + place].reads.take();
            let reads = match (through(&done.reads), known) {
                (Some(reads), Some(known)) => Some([reads, known].concat()),
                (reads, known) => reads.or(known),
            };
            self.uses.relations[outermost + place] = Use {
                relation: layer.view.oid,
                by,
                reads,
                inserts: through(&done.inserts),
                updates: through(&done.updates),
                ..done
            };
            if !layer.view.is_of_invoker {
                by = Some(layer.view.owner);
            }
        }
        self.uses.relations[target].by = by;
    }
}

/// Adds a column to those of a kind of use.
fn add(columns: &mut Vec<i16>, attnum: i16) {
    if !columns.contains(&attnum) {
        columns.push(attnum);
    }
}
