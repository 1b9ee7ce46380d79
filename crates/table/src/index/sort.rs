//! Keys under the collation of a language: sort keys in the place of texts.
//!
//! ```text
//!   name COLLATE "sv-x-icu"      the entry of 'Öl' has     the sort key │ 00 │ Öl
//!   nondeterministic             only                      the sort key
//! ```
//!
//! Sort keys are made with the tables of a version. Where these have changed since the index was made, its entries
//! cannot be compared with new ones: it is not read, and rows cannot be written before it is made anew.

use std::sync::Arc;

use collate::Collation;
use types::{Datum, DatumRef, Error as SqlError, SqlState};

use crate::Result;
use crate::catalog::{IndexKey, Relation, SortForm};

/// How the texts of a key are written in entries.
#[derive(Clone, Debug)]
pub(super) struct Sort {
    form: SortForm,
    /// None if this release does not have the locale.
    collation: Option<Arc<Collation>>,
}

impl Sort {
    /// How a key is written; none if it is as it is.
    pub(super) fn of(key: &IndexKey) -> Option<Sort> {
        let form = key.sort.clone()?;
        let collation = collate::of(&form.locale).ok();
        Some(Sort { form, collation })
    }

    /// True if texts are written as one that are equal without being the same.
    pub(super) fn is_by_class(&self) -> bool {
        !self.form.is_deterministic
    }

    /// True if another key is written in the same way.
    pub(super) fn is_like(&self, other: &Sort) -> bool {
        self.form == other.form
    }

    /// The value as entries have it.
    ///
    /// # Errors
    /// 55000 where the index is of other tables of the language.
    pub(super) fn key(&self, value: DatumRef<'_>, index: &Relation) -> Result<Datum> {
        let text = match value {
            DatumRef::Text(text) => text,
            other => return Ok(other.to_owned()),
        };
        let Some(collation) = self.collation.as_ref().filter(|_| self.form.is_current()) else {
            let SortForm { locale, version, .. } = &self.form;
            let message = format!(
                "index \"{}\" was made with version {version} of the collation of \"{locale}\", and this release has {}",
                index.name,
                collate::VERSION
            );
            let hint = format!("Make it anew with REINDEX INDEX {}.", index.name);
            let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
            return Err(SqlError::new(state, message).with_hint(hint).into());
        };
        let mut key = Vec::with_capacity(text.len() * 3 + 8);
        match self.form.is_deterministic {
            true => collation.key(text, &mut key),
            false => collation.class(text, &mut key),
        }
        Ok(Datum::bytea(key))
    }
}
