//! Kept texts that name the attributes of a composite type: they are found before an attribute is
//! dropped or renamed.
//!
//! The catalog knows from the beginning which tables and columns a kept text names. Its attributes of composite
//! values are known once the text is bound, which is done here, for all texts of the database: a text may spell a
//! name in many ways (`FOO`, `"foo"`, `U&"\0066oo"`).

use ::table::catalog::ddl::TextOf;
use ::table::catalog::{Address, NamePlace, Relation, SqlText};
use sql::bind::AttributeName;
use sql::parse::ast::Alter;
use std::sync::Arc;
use types::TypeSource;

use super::{DdlContext, text};
use crate::error::Result;
use crate::names::{Names, of_value};

/// Tells the catalog which objects depend on the attributes that these actions drop or rename.
///
/// # Errors
/// The errors of writing the catalog.
pub fn note(maker: &mut DdlContext<'_, '_>, relation: &Relation, actions: &[Alter]) -> Result<()> {
    let is_used = relation.row_type.as_ref().is_some_and(|row| {
        let others = [row.ty, row.array].map(|ty| maker.catalog().dependents(ty.oid()));
        others.iter().flat_map(|all| all.iter()).any(|it| it.from.oid != row.ty.oid())
    });
    if !is_used {
        return Ok(());
    }
    let is_renamed = actions.iter().any(|action| matches!(action, Alter::RenameColumn(..)));
    let mut named = actions.iter().filter_map(|action| match action {
        Alter::DropColumn { name, .. } | Alter::RenameColumn(name, _) => Some(name),
        _ => None,
    });
    if !named.any(|name| relation.column_named(&name.text).is_some()) {
        return Ok(());
    }
    let names = Arc::clone(&maker.names);
    let around = maker.around.seeing(&names);
    let mut context = around.types();
    context.types = &*names;
    context.objects = &*names;
    let change = |of: TextOf, kept: &SqlText| {
        let found = found_in(of, kept, &names, context);
        let place = |attribute: &AttributeName| {
            let of = names.catalog.composite_of(attribute.ty)?;
            let column =
                of.live_columns().nth(attribute.index).filter(|_| of.oid == relation.oid)?;
            let at = attribute.at.get()?;
            let object = Address::column(of.oid, column.attnum);
            let len = text::identifier_len(&kept.text, at);
            // Outputs are called what they were called.
            let alias = (is_renamed && attribute.is_output).then(|| Arc::clone(&column.name));
            Some((NamePlace { at: at as u32, len: len as u32, object }, alias))
        };
        kept.naming(&found.iter().filter_map(place).collect::<Vec<_>>())
    };
    let database = names.database;
    maker.ddl.retext_each(database, &change)?;
    maker.see();
    Ok(())
}

/// The attributes that a text names; none if it cannot be bound.
fn found_in(
    of: TextOf,
    kept: &SqlText,
    names: &Names,
    context: types::Context<'_>,
) -> Vec<AttributeName> {
    let over = match of {
        TextOf::Query => {
            let parsed = sql::parse::statements(&kept.text).unwrap_or_default();
            let Some(parsed) = parsed.first() else { return Vec::new() };
            let bound = sql::bind::kept(&parsed.statement, names, context);
            return bound.map(|bound| bound.text.attributes).unwrap_or_default();
        }
        TextOf::Row(table) => names.catalog.relation(table).and_then(|relation| {
            let schema = names.schema_name(relation.schema);
            sql::bind::Names::relation(names, Some(schema), &relation.name)
        }),
        TextOf::Value(domain) => names.shape(domain).and_then(|shape| match shape {
            types::Shape::Domain(base, modifier) => Some(Arc::new(of_value((base, modifier)))),
            _ => None,
        }),
    };
    sql::bind::attributes_in(&kept.text, over.as_deref(), names, context).unwrap_or_default()
}
