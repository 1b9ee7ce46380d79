//! `CREATE SCHEMA` with the objects that it makes.
//!
//! The owner of the schema makes its elements. Their names are looked for in the schema first. Sequences are
//! made first, then tables, views and indexes, and rights are given last, in whatever order they are written.

use sql::parse::ast::{Define, Name, Path, Statement};
use types::SqlState;

use super::misc;
use crate::error::{Error, Result, caught};
use crate::portal::Portal;
use crate::session::Session;

/// The place of an element among others, and the name of what it makes.
fn place(element: &Statement) -> (u8, Option<&Path>) {
    match element {
        Statement::CreateView(view) => (2, Some(&view.name)),
        Statement::Define(define) => match &**define {
            Define::Sequence { name, .. } => (0, Some(name)),
            Define::Table(create) => (1, Some(&create.name)),
            Define::Index(create) => (3, Some(&create.table)),
            _ => (4, None),
        },
        _ => (4, None),
    }
}

impl Session {
    /// `CREATE SCHEMA` with elements
    pub(super) fn create_whole_schema(
        &mut self,
        name: Option<&Name>,
        owner: Option<&Name>,
        elements: &[Statement],
        portal: &Portal,
    ) -> Result<()> {
        let source = &portal.parsed.source;
        let (schema, owner) = self.make(source, |maker| {
            let made = misc::create_schema(maker, name, false, owner)?;
            let schema = made.and_then(|oid| maker.catalog().schema(oid).cloned());
            let owner = schema.as_ref().and_then(|schema| maker.catalog().role(schema.owner));
            let owner = owner.map(|role| role.name.to_string()).unwrap_or_default();
            Ok((schema.map(|schema| schema.name.to_string()).unwrap_or_default(), owner))
        })?;
        let mut ordered: Vec<&Statement> = elements.iter().collect();
        ordered.sort_by_key(|element| place(element).0);
        for element in &ordered {
            if let Some(path) = place(element).1
                && let [.., other, _] = &path.parts[..]
                && other.text != schema
            {
                let message = format!(
                    "CREATE specifies a schema ({}) different from the one being created ({schema})",
                    other.text
                );
                return Err(Error::new(SqlState::INVALID_SCHEMA_DEFINITION, message));
            }
        }
        let mut settings = self.client.settings.borrow_mut();
        let (identity, path) = (settings.act_as(&owner), settings.look_first_in(&schema));
        drop(settings);
        let made = caught(|| {
            ordered.into_iter().try_for_each(|element| self.make_element(element, portal))
        });
        let mut settings = self.client.settings.borrow_mut();
        settings.set_identity(identity);
        settings.set_search_path(path);
        drop(settings);
        made?;
        self.see_catalog()
    }

    fn make_element(&mut self, element: &Statement, portal: &Portal) -> Result<()> {
        self.see_catalog()?;
        match element {
            Statement::CreateView(view) => self.create_view(view, portal).map(drop),
            Statement::Define(define) => self.define(define, portal).map(drop),
            _ => Err(Error::not_supported("this element of a schema")),
        }
    }
}
