//! `object`: an access method for the objects of ZODB, Python's object database.
//!
//! ```text
//!   zoid   tid       class_mod  class_name  refs     data_tid  pickle    state
//!   7      of its    'app'      'Page'      {8, 9}   NULL      \x8003..  {"title": ..}
//!          commit     '-- read from the pickle when it is stored --'     computed when it is asked for
//! ```
//!
//! A row is the newest record of an object; the records before it are the versions of the row. The pickle is kept
//! byte for byte, and `state` is a view of it ([`pickle::to_json`]). Rows are written by a storage of ZODB, through
//! [`ObjectRows::put`], and not by `INSERT` and `UPDATE`.
//!
//! | module | is |
//! |---|---|
//! | `rows` | [`ObjectRows`]: the rows of a table of objects |
//! | `tid` | [`Tid`]: the ids of ZODB's transactions, and their times |
//!
//! # Invariants
//! * `class_mod`, `class_name` and `refs` say what the pickle says. All are NULL where the pickle cannot be read, the
//!   first two also where it names no class.
//! * The stored `tid` is NULL if it follows from the commit, and a value if the record was copied from another storage.

mod rows;
mod tid;

use std::sync::Arc;

use types::{Oid, SqlState, Type};

use crate::catalog::{Address, Class, Column, Index, IndexPart, Relation, SqlText, TableData};
use crate::method::{AccessMethod, Options, Rows};
use crate::rows::Layout;
use crate::{Error, Result};

pub use rows::{Object, ObjectRows, Record};
pub use tid::Tid;

/// The columns of each table of objects, in their order.
pub const COLUMNS: [(&str, Type); 8] = [
    ("zoid", Type::INT8),
    ("tid", Type::INT8),
    ("class_mod", Type::TEXT),
    ("class_name", Type::TEXT),
    ("refs", Type::INT8_ARRAY),
    ("data_tid", Type::INT8),
    ("pickle", Type::BYTEA),
    ("state", Type::JSONB),
];

/// The number of the column `tid`.
const TID_NUMBER: i16 = 2;

/// The access method `object`.
#[derive(Clone, Copy, Debug)]
pub struct Objects;

impl Objects {
    /// The number in `pg_am`.
    pub const OID: Oid = Oid(16_374);
}

fn has_columns(columns: &[Column]) -> bool {
    let is = |(column, (name, ty)): (&Column, &(&str, Type))| {
        !column.is_dropped && *column.name == **name && column.ty == *ty
    };
    columns.len() == COLUMNS.len() && columns.iter().zip(&COLUMNS).all(is)
}

impl AccessMethod for Objects {
    fn name(&self) -> &'static str {
        "object"
    }

    fn oid(&self) -> Oid {
        Objects::OID
    }

    fn define(&self, _: &Options, columns: &[Column]) -> Result<Vec<u8>> {
        if has_columns(columns) {
            Ok(Vec::new())
        } else {
            Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, wrong_columns()))
        }
    }

    fn refusal(&self, relation: &Relation, data: &TableData) -> Option<String> {
        let is_own = data.method.oid == Objects::OID;
        if !is_own || has_columns(&relation.columns) && data.keyed_by == [1] {
            return None;
        }
        Some(wrong_columns())
    }

    /// A record has no `tid` before its commit is made.
    fn index_refusal(&self, relation: &Relation, index: &Index) -> Option<String> {
        let mut columns: Vec<i16> = index.include.clone();
        let mut texts: Vec<&SqlText> = index.predicate.iter().collect();
        for key in &index.keys {
            match &key.part {
                IndexPart::Column(attnum) => columns.push(*attnum),
                IndexPart::Expr(text) => texts.push(text),
            }
        }
        let reads_tid = |to: Address| {
            to.class == Class::Relation
                && to.oid == relation.oid
                && [0, TID_NUMBER].contains(&to.sub)
        };
        if !columns.contains(&TID_NUMBER)
            && !texts.iter().any(|text| text.references().any(reads_tid))
        {
            return None;
        }
        Some(
            "an index of a table of objects cannot have the column \"tid\", nor the whole row"
                .to_owned(),
        )
    }

    fn open(&self, _: &Relation, data: &TableData, layout: &Arc<Layout>) -> Box<dyn Rows> {
        Box::new(ObjectRows::new(data.storage, layout))
    }
}

fn wrong_columns() -> String {
    "a table of objects has the columns zoid bigint PRIMARY KEY, tid bigint, class_mod text, class_name text, \
     refs bigint[], data_tid bigint, pickle bytea, state jsonb, and no others"
        .to_owned()
}
