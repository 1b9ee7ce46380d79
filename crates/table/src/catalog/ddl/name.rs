//! Names: which can be had, and which are chosen where the user gives none.
//!
//! Relations of a schema share one space of names, types another; a table takes a name of both. The
//! array type of a type is called `_` and its name, and takes another name as soon as an object
//! wants that name.

use std::sync::Arc;

use ::types::{Error as SqlError, Oid, SqlState};

use super::{Ddl, Entry};
use crate::catalog::{Relation, TypeEntry, UserType};
use crate::{Error, Result};

/// Longest name, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 63;

/// Columns that every table has, without being asked.
const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"];

impl Ddl<'_> {
    /// Takes a name for a relation in a schema; its row type takes it too.
    pub(super) fn take_relation_name(
        &mut self,
        schema: Oid,
        name: &str,
        has_row_type: bool,
    ) -> Result<()> {
        self.draft.lock_name(self.txn, schema, name)?;
        if self.catalog().relation_named(schema, name).is_some() {
            return Err(Error::new(
                SqlState::DUPLICATE_TABLE,
                format!("relation \"{name}\" already exists"),
            ));
        }
        if has_row_type && !self.make_room_for_type(schema, name)? {
            let hint = "A relation has an associated type of the same name, so you must use a \
                        name that doesn't conflict with any existing type.";
            let message = format!("type \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message).with_hint(hint).into());
        }
        Ok(())
    }

    /// Takes a name for a type in a schema.
    pub(super) fn take_type_name(&mut self, schema: Oid, name: &str) -> Result<()> {
        self.draft.lock_name(self.txn, schema, name)?;
        if !self.make_room_for_type(schema, name)? {
            return Err(Error::new(
                SqlState::DUPLICATE_OBJECT,
                format!("type \"{name}\" already exists"),
            ));
        }
        Ok(())
    }

    /// True if no type has the name, or an array type that was given another.
    fn make_room_for_type(&mut self, schema: Oid, name: &str) -> Result<bool> {
        let Some(ty) = self.catalog().type_named(schema, name) else {
            return Ok(self.catalog().extension_type_named(schema, name).is_none());
        };
        let Some(entry) = self.catalog().type_entry(ty).cloned() else { return Ok(true) };
        let other = self.choose_array_name(schema, name)?;
        match entry {
            TypeEntry::User(_) | TypeEntry::Row(_) => return Ok(false),
            TypeEntry::UserArray(of) => {
                let of = UserType { array_name: other, ..(*of).clone() };
                self.put(Entry::Type(Arc::new(of)))?;
            }
            TypeEntry::RowArray(of) => {
                let mut of = Relation::clone(&of);
                of.row_type = of.row_type.map(|mut row| {
                    row.array_name = other;
                    row
                });
                self.put_relation(of)?;
            }
        }
        Ok(true)
    }

    /// The name that the type of arrays of `name` gets: underscores in front until it is free.
    pub(super) fn choose_array_name(&mut self, schema: Oid, name: &str) -> Result<Arc<str>> {
        let mut chosen = name.to_owned();
        loop {
            chosen = clip(&format!("_{chosen}"), NAME_BYTES_MAX).to_owned();
            let is_taken = self.catalog().type_named(schema, &chosen).is_some();
            if !is_taken || !chosen.starts_with('_') {
                self.draft.lock_name(self.txn, schema, &chosen)?;
            }
            if self.catalog().type_named(schema, &chosen).is_none() {
                return Ok(chosen.into());
            }
            if chosen.bytes().all(|byte| byte == b'_') && chosen.len() == NAME_BYTES_MAX {
                return Err(Error::new(
                    SqlState::DUPLICATE_OBJECT,
                    format!("could not form array type name for type \"{name}\""),
                ));
            }
        }
    }

    /// A free name for a relation that belongs to a column of a table: `table_column_seq`.
    pub fn choose_relation_name(
        &self,
        schema: Oid,
        table: &str,
        column: Option<&str>,
        label: &str,
    ) -> String {
        let is_free = |name: &str| self.catalog().relation_named(schema, name).is_none();
        choose(table, column, label, is_free)
    }
}

/// Puts table, column and label together, and a number where that name is not free.
pub(super) fn choose(
    table: &str,
    column: Option<&str>,
    label: &str,
    is_free: impl Fn(&str) -> bool,
) -> String {
    let plain = object_name(table, column, label);
    let numbered = (1..).map(|number| object_name(table, column, &format!("{label}{number}")));
    std::iter::once(plain).chain(numbered).find(|name| is_free(name)).unwrap_or_default()
}

/// Two names and a label, joined by underscores. Where that is too long, the longer name is cut.
fn object_name(first: &str, second: Option<&str>, label: &str) -> String {
    let joints = label.len() + 1 + usize::from(second.is_some());
    let room = NAME_BYTES_MAX.saturating_sub(joints);
    let (mut first_len, mut second_len) = (first.len(), second.map_or(0, str::len));
    while first_len + second_len > room {
        if first_len > second_len {
            first_len -= 1;
        } else {
            second_len -= 1;
        }
    }
    let first = clip(first, first_len);
    match second {
        Some(second) => format!("{first}_{}_{label}", clip(second, second_len)),
        None => format!("{first}_{label}"),
    }
}

/// As much of a text as fits in so many bytes without cutting a character.
pub(super) fn clip(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The column may be called that, as far as all columns may.
pub(super) fn check_column_name(name: &str) -> Result<()> {
    if SYSTEM_COLUMNS.contains(&name) {
        return Err(Error::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column name \"{name}\" conflicts with a system column name"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chosen names are PostgreSQL's, also where they must be cut.
    #[test]
    fn names_are_put_together() {
        let long = "a".repeat(63);
        assert_eq!(object_name("t", Some("c"), "seq"), "t_c_seq");
        assert_eq!(object_name("t", None, "pkey"), "t_pkey");
        assert_eq!(object_name(&long, None, "pkey"), format!("{}_pkey", "a".repeat(58)));
        let both = object_name(&long, Some(&"b".repeat(40)), "idx");
        assert_eq!(both, format!("{}_{}_idx", "a".repeat(29), "b".repeat(29)));
        assert_eq!(object_name(&"ü".repeat(40), None, "key"), format!("{}_key", "ü".repeat(29)));
        let taken = ["t_key", "t_key1"];
        assert_eq!(choose("t", None, "key", |name| !taken.contains(&name)), "t_key2");
    }
}
