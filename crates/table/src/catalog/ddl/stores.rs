//! Rows of a relation that are stored in columns of tables: what changes a composite type, or the columns of a table
//! whose rows are stored elsewhere, has these tables written anew.

use std::sync::Arc;

use ::types::{Oid, Type};

use super::{Ddl, not_supported};
use crate::Result;
use crate::catalog::{Catalog, Class, Column, Relation, RelationKind, UserTypeKind};

impl Ddl<'_> {
    /// Fails where a column of some table has the rows of this relation in it: they would have to be
    /// written anew.
    pub(super) fn check_not_stored(&self, relation: &Relation) -> Result<()> {
        let Some(row) = &relation.row_type else { return Ok(()) };
        let Some((table, column)) = self.catalog().stored_in(&[row.ty, row.array]) else {
            return Ok(());
        };
        let (kind, its) = match relation.kind {
            RelationKind::Composite => ("type", "uses it"),
            _ => (relation.kind_name(), "uses its row type"),
        };
        Err(not_supported(format!(
            "cannot alter {kind} \"{}\" because column \"{}.{}\" {its}",
            relation.name, table.name, column.name
        )))
    }

    /// Has the rows of all tables written anew that have rows of this relation in their columns.
    pub(super) fn rewrite_stores(&mut self, relation: Oid) -> Result<()> {
        let changed = self.relation(relation)?;
        let stores = self.catalog().stores_of(&changed);
        if stores.is_empty() {
            return Ok(());
        }
        if self.catalog().is_in_range(&changed) {
            let message =
                format!("cannot alter \"{}\" because a range type over it is stored", changed.name);
            return Err(not_supported(message));
        }
        for (table, columns) in stores {
            let mut known = Relation::clone(&*self.relation_to_change(table)?);
            let keyed_by = known.table().map(|table| table.keyed_by.clone()).unwrap_or_default();
            for attnum in &columns {
                // What is written anew has every value.
                known.columns[*attnum as usize - 1].missing = None;
            }
            self.put_relation(known)?;
            let in_key = columns.iter().find(|attnum| keyed_by.contains(attnum));
            self.rewrite(table, keyed_by.clone(), in_key.copied())?;
        }
        Ok(())
    }
}

impl Catalog {
    /// The tables that have rows of a relation in their columns, and these columns: as they are, in arrays, in
    /// domains, in other rows.
    pub fn stores_of(&self, relation: &Relation) -> Vec<(Oid, Vec<i16>)> {
        let mut stores: Vec<(Oid, Vec<i16>)> = Vec::new();
        let mut waiting = Vec::new();
        waiting.extend(relation.row_type.iter().flat_map(|row| [row.ty, row.array]));
        let mut seen = waiting.clone();
        while let Some(ty) = waiting.pop() {
            let mut above = Vec::new();
            for reference in self.dependents(ty.oid()) {
                match reference.from.class {
                    Class::Relation => {
                        let Some(other) = self.relation(reference.from.oid) else { continue };
                        let attnum = reference.from.sub;
                        if other.column(attnum).is_none() {
                            continue;
                        }
                        if other.table().is_some() {
                            match stores.iter_mut().find(|(known, _)| *known == other.oid) {
                                Some((_, columns)) if columns.contains(&attnum) => {}
                                Some((_, columns)) => columns.push(attnum),
                                None => stores.push((other.oid, vec![attnum])),
                            }
                        }
                        above.extend(other.row_type.iter().flat_map(|row| [row.ty, row.array]));
                    }
                    Class::Type => {
                        let user = self.user_type(Type(reference.from.oid));
                        above.extend(user.iter().flat_map(|user| [user.ty, user.array]));
                    }
                    _ => {}
                }
            }
            for ty in above {
                if !seen.contains(&ty) {
                    seen.push(ty);
                    waiting.push(ty);
                }
            }
        }
        stores
    }

    /// True where a range type is made over rows of a relation, and stored.
    fn is_in_range(&self, relation: &Relation) -> bool {
        let row = relation.row_type.iter().flat_map(|row| [row.ty, row.array]);
        row.flat_map(|ty| self.dependents(ty.oid())).any(|reference| {
            let user = self.user_type(Type(reference.from.oid));
            let of_range = user.filter(|user| matches!(user.kind, UserTypeKind::Range(_)));
            reference.from.class == Class::Type
                && of_range.is_some_and(|user| self.stored_in(&[user.ty, user.array]).is_some())
        })
    }

    /// A column of a table whose values have such types in them.
    pub(crate) fn stored_in(&self, types: &[Type]) -> Option<(&Arc<Relation>, &Column)> {
        for ty in types {
            for reference in self.dependents(ty.oid()) {
                match reference.from.class {
                    Class::Relation => {
                        let Some(relation) = self.relation(reference.from.oid) else { continue };
                        let Some(column) = relation.column(reference.from.sub) else { continue };
                        if relation.table().is_some() {
                            return Some((relation, column));
                        }
                        let row = relation.row_type.as_ref();
                        let found = row.and_then(|row| self.stored_in(&[row.ty, row.array]));
                        if found.is_some() {
                            return found;
                        }
                    }
                    Class::Type => {
                        let user = self.user_type(Type(reference.from.oid));
                        let found = user.and_then(|user| self.stored_in(&[user.ty, user.array]));
                        if found.is_some() {
                            return found;
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }
}
