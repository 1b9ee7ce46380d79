//! Sequences: making and altering them, with PostgreSQL's defaults and limits.
//!
//! ```text
//!              ascending                     descending
//!   min        1                             the smallest of the type
//!   max        the largest of the type       -1
//!   start      min                           max
//! ```

use std::sync::Arc;

use ::types::{Error as SqlError, Oid, SqlState, Type};

use super::{Address, Class, Ddl, Relation, RelationKind};
use crate::catalog::{OwnedBy, Persistence, Privileges, Sequence};
use crate::{Error, Result};

/// The properties that a statement sets for a sequence; `None` for those that it does not name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceOptions {
    /// `AS type`.
    pub data_type: Option<Type>,
    /// `START WITH`.
    pub start: Option<i64>,
    /// `INCREMENT BY`.
    pub increment: Option<i64>,
    /// `MINVALUE`, or none for `NO MINVALUE`.
    pub min: Option<Option<i64>>,
    /// `MAXVALUE`, or none for `NO MAXVALUE`.
    pub max: Option<Option<i64>>,
    /// `CACHE`.
    pub cache: Option<i64>,
    /// `CYCLE` or `NO CYCLE`.
    pub cycle: Option<bool>,
}

/// The smallest and the largest value of a type of sequences.
fn range_of(ty: Type) -> Result<(i64, i64)> {
    match ty {
        Type::INT2 => Ok((i16::MIN.into(), i16::MAX.into())),
        Type::INT4 => Ok((i32::MIN.into(), i32::MAX.into())),
        Type::INT8 => Ok((i64::MIN, i64::MAX)),
        _ => Err(invalid("sequence type must be smallint, integer, or bigint")),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl SequenceOptions {
    /// Returns the sequence that results from `old`, or a new one.
    fn apply(&self, old: Option<&Sequence>, new: Sequence) -> Result<Sequence> {
        let mut made = old.cloned().unwrap_or(new);
        let old_range = old.map(|old| range_of(old.data_type)).transpose()?;
        if let Some(ty) = self.data_type {
            made.data_type = ty;
        }
        let (lowest, highest) = range_of(made.data_type)?;
        if let Some(increment) = self.increment {
            if increment == 0 {
                return Err(invalid("INCREMENT must not be zero"));
            }
            made.increment = increment;
        }
        made.cycle = self.cycle.unwrap_or(made.cycle);
        let ascends = made.increment > 0;
        // Limits that were those of the type follow when the type changes.
        let (follows_min, follows_max) = match old_range {
            None => (true, true),
            Some((low, high)) => {
                let retyped = self.data_type.is_some();
                (retyped && !ascends && made.min == low, retyped && ascends && made.max == high)
            }
        };
        made.max = match self.max {
            Some(Some(max)) => max,
            Some(None) => {
                if ascends {
                    highest
                } else {
                    -1
                }
            }
            None if follows_max => {
                if ascends {
                    highest
                } else {
                    -1
                }
            }
            None => made.max,
        };
        if made.max < lowest || made.max > highest {
            return Err(invalid(format!(
                "MAXVALUE ({}) is out of range for sequence data type {}",
                made.max,
                type_name(made.data_type)
            )));
        }
        made.min = match self.min {
            Some(Some(min)) => min,
            Some(None) => {
                if ascends {
                    1
                } else {
                    lowest
                }
            }
            None if follows_min => {
                if ascends {
                    1
                } else {
                    lowest
                }
            }
            None => made.min,
        };
        if made.min < lowest || made.min > highest {
            return Err(invalid(format!(
                "MINVALUE ({}) is out of range for sequence data type {}",
                made.min,
                type_name(made.data_type)
            )));
        }
        if made.min >= made.max {
            return Err(invalid(format!(
                "MINVALUE ({}) must be less than MAXVALUE ({})",
                made.min, made.max
            )));
        }
        match self.start {
            Some(start) => made.start = start,
            None if old.is_none() => made.start = if ascends { made.min } else { made.max },
            None => {}
        }
        if made.start < made.min {
            return Err(invalid(format!(
                "START value ({}) cannot be less than MINVALUE ({})",
                made.start, made.min
            )));
        }
        if made.start > made.max {
            return Err(invalid(format!(
                "START value ({}) cannot be greater than MAXVALUE ({})",
                made.start, made.max
            )));
        }
        if let Some(cache) = self.cache {
            if cache < 1 {
                return Err(invalid(format!("CACHE ({cache}) must be greater than zero")));
            }
            made.cache = cache;
        }
        Ok(made)
    }
}

fn type_name(ty: Type) -> String {
    ::types::builtin::facts(ty).map_or_else(|| "???".to_owned(), |facts| facts.sql_name())
}

impl Ddl<'_> {
    /// Makes a sequence.
    ///
    /// # Errors
    /// 42P07 where the name is taken, 22023 where the options contradict each other.
    pub fn create_sequence(
        &mut self,
        schema: Oid,
        name: &str,
        persistence: Persistence,
        options: &SequenceOptions,
    ) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            ddl.schema_to_create_in(schema, name)?;
            ddl.make_sequence(schema, name, persistence, options, None)
        })
    }

    pub(super) fn make_sequence(
        &mut self,
        schema: Oid,
        name: &str,
        persistence: Persistence,
        options: &SequenceOptions,
        owned_by: Option<OwnedBy>,
    ) -> Result<Arc<Relation>> {
        self.take_relation_name(schema, name, false)?;
        let new = Sequence {
            storage: self.new_storage()?,
            data_type: Type::INT8,
            start: 1,
            increment: 1,
            min: 1,
            max: i64::MAX,
            cache: 1,
            cycle: false,
            owned_by,
        };
        let sequence = options.apply(None, new)?;
        let oid = self.new_oid()?;
        self.put_relation(Relation {
            oid,
            schema,
            name: name.into(),
            owner: self.acting.role,
            acl: self.initial_acl(schema, 'S', Class::Relation, Privileges::ALL_SEQUENCE),
            persistence,
            row_type: None,
            columns: Vec::new(),
            options: Vec::new(),
            kind: RelationKind::Sequence(sequence),
        })
    }

    /// Alters how a sequence counts. Where it stands is another matter.
    ///
    /// # Errors
    /// 42809 where it is none, 22023 where the options contradict each other.
    pub fn alter_sequence(
        &mut self,
        sequence: Oid,
        options: &SequenceOptions,
    ) -> Result<Arc<Relation>> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(sequence))?;
            let mut relation = Relation::clone(&*ddl.relation_to_change(sequence)?);
            let RelationKind::Sequence(old) = &mut relation.kind else {
                return Err(not_a_sequence(&relation.name));
            };
            *old = options.apply(Some(old), old.clone())?;
            ddl.put_relation(relation)
        })
    }

    /// Makes a sequence go with a column, or with none.
    ///
    /// # Errors
    /// 42809 where it is none, 55000 where table and sequence are not alike, 0A000 for the sequence
    /// of an identity column.
    pub fn own_sequence(&mut self, sequence: Oid, column: Option<(Oid, i16)>) -> Result<()> {
        self.whole(|ddl| {
            ddl.check_owner(Address::relation(sequence))?;
            let mut relation = Relation::clone(&*ddl.relation_to_change(sequence)?);
            if let Some((table, _)) = column {
                let table = ddl.table(table)?.relation.clone();
                let unlike = |what: &str| {
                    let message = format!("sequence must {what} as table it is linked to");
                    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                };
                if table.owner != relation.owner {
                    return Err(unlike("have same owner"));
                }
                if table.schema != relation.schema {
                    return Err(unlike("be in same schema"));
                }
            }
            let name = relation.name.clone();
            let RelationKind::Sequence(data) = &mut relation.kind else {
                return Err(not_a_sequence(&name));
            };
            if let Some(owner) = data.owned_by.filter(|owner| owner.is_identity) {
                let table = ddl.relation(owner.table)?;
                let message = "cannot change ownership of identity sequence";
                let detail = format!("Sequence \"{name}\" is linked to table \"{}\".", table.name);
                let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                return Err(error.with_detail(detail).into());
            }
            data.owned_by =
                column.map(|(table, attnum)| OwnedBy { table, attnum, is_identity: false });
            ddl.put_relation(relation).map(drop)
        })
    }
}

fn not_a_sequence(name: &str) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a sequence"))
}
