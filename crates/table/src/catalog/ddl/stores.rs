//! Tables that store rows of another relation in their columns. A command that adds or drops an attribute rewrites these
//! tables.

use std::sync::Arc;

use ::types::{Oid, Type};
use txn::{RelationLock, Wait};

use super::{Ddl, not_supported};
use crate::Result;
use crate::catalog::{Catalog, Class, Column, Relation, RelationKind, UserTypeKind};

/// Where rows of a relation are stored.
#[derive(Default)]
struct Stores {
    /// The tables, and their columns.
    tables: Vec<(Oid, Vec<i16>)>,
    /// True if a range type has them in its bounds.
    in_range: bool,
}

impl Stores {
    fn add(&mut self, table: Oid, attnum: i16) {
        match self.tables.iter_mut().find(|(known, _)| *known == table) {
            Some((_, columns)) if columns.contains(&attnum) => {}
            Some((_, columns)) => columns.push(attnum),
            None => self.tables.push((table, vec![attnum])),
        }
    }
}

impl Ddl<'_> {
    /// Fails if a column of some table has the rows of this relation in it: they would have to be
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

    /// Requires new rows for all tables that have rows of this relation in their columns.
    pub(super) fn rewrite_stores(&mut self, relation: Oid) -> Result<()> {
        let changed = self.relation(relation)?;
        let Stores { tables, in_range } = self.catalog().find_stores(&changed);
        if in_range {
            let message =
                format!("cannot alter \"{}\" because a range type over it is stored", changed.name);
            return Err(not_supported(message));
        }
        for (table, columns) in tables {
            // A session that saw an older catalog may not have locked it.
            self.txn.lock_relation(table.0, RelationLock::Define, Wait::Allowed)?;
            let mut known = Relation::clone(&*self.relation_to_change(table)?);
            let keyed_by = known.table().map(|table| table.keyed_by.clone()).unwrap_or_default();
            for attnum in &columns {
                // Rewritten rows have every value.
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
    /// domains, in ranges, in other rows.
    pub fn stores_of(&self, relation: &Relation) -> Vec<(Oid, Vec<i16>)> {
        self.find_stores(relation).tables
    }

    fn find_stores(&self, relation: &Relation) -> Stores {
        let mut stores = Stores::default();
        let mut waiting: Vec<(Type, bool)> = Vec::new();
        waiting.extend(
            relation.row_type.iter().flat_map(|row| [row.ty, row.array]).map(|ty| (ty, false)),
        );
        let mut seen = waiting.clone();
        while let Some((ty, in_range)) = waiting.pop() {
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
                            stores.add(other.oid, attnum);
                            stores.in_range |= in_range;
                        }
                        let row = other.row_type.iter().flat_map(|row| [row.ty, row.array]);
                        above.extend(row.map(|ty| (ty, in_range)));
                    }
                    Class::Type => {
                        let Some(user) = self.user_type(Type(reference.from.oid)) else { continue };
                        let in_range = in_range || matches!(user.kind, UserTypeKind::Range(_));
                        above.extend([user.ty, user.array].map(|ty| (ty, in_range)));
                    }
                    _ => {}
                }
            }
            for one in above {
                if !seen.contains(&one) {
                    seen.push(one);
                    waiting.push(one);
                }
            }
        }
        stores
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
