//! `CREATE TABLE (LIKE t INCLUDING ...)`: columns and their defaults, constraints and indexes, copied
//! from another table.
//!
//! ```text
//!   columns       names, types, NOT NULL; defaults, identity        with the columns that are listed
//!   expressions   generated columns, checks, keys                   once all columns are there
//!   beside        other indexes, comments                           once the table is there
//! ```
//!
//! Texts that are kept name columns of the table that they were made for, so they are kept anew.

use std::sync::Arc;

use ::table::catalog::ddl::{
    NewColumn, NewConstraint, NewConstraintKind, NewIdentity, NewIndex, NewIndexKey,
};
use ::table::catalog::{Address, Class, ConstraintKind, Index, IndexPart, Relation};
use types::Oid;

use super::DdlContext;
use super::index::key_name;
use super::table::Parts;
use super::text::{self, Over};
use crate::error::Result;

/// A table to be like.
pub struct Like<'a> {
    pub of: Arc<Relation>,
    /// The parts to copy, in order: the word and true for `INCLUDING`.
    pub options: &'a [(String, bool)],
}

impl Like<'_> {
    fn including(&self, what: &str) -> bool {
        let said = self.options.iter().rev().find(|(word, _)| word == what || word == "all");
        said.is_some_and(|(_, including)| *including)
    }

    /// The name of a column of the table.
    fn name(&self, attnum: i16) -> Arc<str> {
        self.of.column(attnum).map_or_else(|| "".into(), |column| Arc::clone(&column.name))
    }

    /// Adds the columns.
    pub fn columns(&self, parts: &mut Parts) {
        for column in self.of.live_columns() {
            let mut made = NewColumn::new(&column.name, column.ty);
            made.modifier = column.modifier;
            made.collation = Some(column.collation);
            made.not_null = column.not_null;
            let default = column.default.as_ref().filter(|default| !default.is_generated);
            if let (Some(default), true) = (default, self.including("defaults")) {
                made.default = Some(default.expr.clone());
            }
            if let (Some(identity), true) = (&column.identity, self.including("identity")) {
                let is_always = identity.is_always;
                made.identity = Some(NewIdentity { is_always, ..NewIdentity::default() });
            }
            parts.columns.push(made);
        }
    }

    /// Adds what is computed of columns, and the constraints.
    pub fn expressions(&self, maker: &DdlContext<'_, '_>, parts: &mut Parts) -> Result<()> {
        let columns = parts.names();
        let name = parts.name.clone();
        let over =
            Over { relation: Oid::NONE, schema: parts.schema, name: &name, columns: &columns };
        let kept = |text: &str| text::expression(text, Some(over), &maker.names);
        if self.including("generated") {
            for column in self.of.live_columns() {
                let Some(default) = column.default.as_ref().filter(|known| known.is_generated)
                else {
                    continue;
                };
                let made = parts.columns.iter_mut().find(|made| made.name == column.name);
                if let Some(made) = made {
                    made.default = Some(kept(&default.expr.text)?);
                    made.is_generated = true;
                }
            }
        }
        let Some(table) = maker.catalog().table(self.of.oid).cloned() else { return Ok(()) };
        for constraint in &table.constraints {
            let kind = match &constraint.kind {
                ConstraintKind::Check { expr, .. } if self.including("constraints") => {
                    NewConstraintKind::Check(kept(&expr.text)?)
                }
                ConstraintKind::Exclude { index, .. } if self.including("indexes") => {
                    let relation = maker.catalog().relation(*index).cloned();
                    let Some((relation, index)) =
                        relation.as_ref().and_then(|relation| Some((relation, relation.index()?)))
                    else {
                        continue;
                    };
                    let new = self.index_over(maker, over, relation, index)?;
                    NewConstraintKind::Exclude(Box::new(new))
                }
                ConstraintKind::Key { columns, is_primary, index, .. }
                    if self.including("indexes") =>
                {
                    let index = maker.catalog().relation(*index).and_then(|known| known.index());
                    let names = |attnums: &[i16]| attnums.iter().map(|at| self.name(*at)).collect();
                    NewConstraintKind::Key {
                        columns: names(columns),
                        include: index.map_or_else(Vec::new, |index| names(&index.include)),
                        is_primary: *is_primary,
                        nulls_distinct: index.is_none_or(|index| index.nulls_distinct),
                        options: Vec::new(),
                        overlaps: index.map_or_else(Vec::new, |index| index.excludes.clone()),
                    }
                }
                _ => continue,
            };
            // A check has the same name; keys have names of their own.
            let is_check = matches!(kind, NewConstraintKind::Check(_));
            parts.constraints.push(NewConstraint {
                name: is_check.then(|| Arc::clone(&constraint.name)),
                is_deferrable: constraint.is_deferrable,
                is_deferred: constraint.is_deferred,
                ..NewConstraint::new(kind)
            });
        }
        Ok(())
    }

    /// Makes the further objects of the table: indexes that are no constraints, and comments.
    pub fn beside(&self, maker: &mut DdlContext<'_, '_>, made: Oid) -> Result<()> {
        let catalog = Arc::clone(maker.catalog());
        let comment =
            |object: Address| catalog.comment(object).map(|known| Arc::clone(&known.text));
        let mut comments = Vec::new();
        if let (Some(new), true) = (catalog.table(made), self.including("comments")) {
            for column in self.of.live_columns() {
                let of = new.relation.column_named(&column.name);
                let text = comment(Address::column(self.of.oid, column.attnum));
                comments.extend(of.map(|of| Address::column(made, of.attnum)).zip(text));
            }
            let old = catalog.table(self.of.oid);
            for constraint in old.into_iter().flat_map(|table| &table.constraints) {
                let of = new.constraints.iter().find(|known| known.name == constraint.name);
                let text = comment(Address::of(Class::Constraint, constraint.oid));
                comments.extend(of.map(|of| Address::of(Class::Constraint, of.oid)).zip(text));
            }
        }
        if self.including("indexes") {
            for relation in catalog.table(self.of.oid).into_iter().flat_map(|table| &table.indexes)
            {
                let Some(index) = relation.index().filter(|index| index.constraint.is_none())
                else {
                    continue;
                };
                let new =
                    maker.ddl.create_index(made, self.index(maker, made, relation, index)?)?;
                let text = comment(Address::relation(relation.oid));
                if let (Some(text), true) = (text, self.including("comments")) {
                    comments.push((Address::relation(new.oid), text));
                }
            }
        }
        for (object, text) in comments {
            maker.ddl.comment(object, Some(&text))?;
        }
        maker.see();
        Ok(())
    }

    /// An index over the new table like one over the old.
    pub fn index(
        &self,
        maker: &DdlContext<'_, '_>,
        made: Oid,
        like: &Relation,
        index: &Index,
    ) -> Result<NewIndex> {
        let relation = maker.catalog().relation(made).cloned();
        let columns = relation.iter().flat_map(|relation| relation.live_columns());
        let columns = text::columns_of(columns);
        let name = relation.as_ref().map_or("", |relation| &relation.name);
        let schema = relation.as_ref().map_or(Oid::NONE, |relation| relation.schema);
        let over = Over { relation: made, schema, name, columns: &columns };
        self.index_over(maker, over, like, index)
    }

    /// An index over a table that may still be in the making like one over the old.
    fn index_over(
        &self,
        maker: &DdlContext<'_, '_>,
        over: Over<'_>,
        like: &Relation,
        index: &Index,
    ) -> Result<NewIndex> {
        let kept = |text: &str| text::expression(text, Some(over), &maker.names);
        let attnum = |old: i16| {
            let name = self.name(old);
            over.columns.iter().find(|(known, _)| *known == name).map_or(0, |(_, attnum)| *attnum)
        };
        let mut keys = Vec::new();
        for (key, column) in index.keys.iter().zip(&like.columns) {
            let part = match &key.part {
                IndexPart::Column(old) => IndexPart::Column(attnum(*old)),
                IndexPart::Expr(expr) => IndexPart::Expr(kept(&expr.text)?),
            };
            keys.push(NewIndexKey {
                name: key_name(&part),
                part,
                ty: key.ty,
                is_descending: key.is_descending,
                // A default need not be asked for, and for some methods may not.
                nulls_first: (key.nulls_first != key.is_descending).then_some(key.nulls_first),
                collation: Some(column.collation),
                class: key.class.clone(),
            });
        }
        Ok(NewIndex {
            name: None,
            method: index.method,
            keys,
            include: index.include.iter().map(|old| self.name(*old)).collect(),
            predicate: index.predicate.as_ref().map(|text| kept(&text.text)).transpose()?,
            is_unique: index.is_unique,
            nulls_distinct: index.nulls_distinct,
            is_valid: true,
            options: Vec::new(),
            excludes: index.excludes.clone(),
            partition_of: None,
        })
    }
}
