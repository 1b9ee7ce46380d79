//! `CALL`: procedures, of which there is one.
//!
//! ```text
//!   CALL revert('articles', $1, 3)
//!     ──> UPDATE public.articles SET doc = node_at('public.articles', ($1)::text, '$', (3)::bigint)
//!         WHERE id = (($1)::text)::text
//! ```
//! It is that statement, with the rights, locks, constraints and parameters of that statement.

use sql::bind::{ColumnDefault, RelationColumn};
use sql::parse::ast::{Name, Path, SqlExpr};
use table::documents::RowDocuments;
use types::{Datum, Modifier, Oid, SqlState, Type, format_type, text};

use crate::error::{Error, Result};
use crate::evaluate::Evaluator;
use crate::session::Session;
use crate::statement::Parsed;

/// An argument of a call, and its name where it is passed by name.
pub(crate) type CallArgument = (Option<Name>, SqlExpr);

impl Session {
    /// The statement that a call stands for.
    ///
    /// # Errors
    /// 42883 where there is no such procedure, 42809 where the table has no documents.
    pub(crate) fn called(&mut self, name: &Path, args: &[CallArgument]) -> Result<Parsed> {
        self.look()?;
        let args: Vec<&SqlExpr> = args.iter().map(|(_, value)| value).collect();
        let words: Vec<&str> = name.parts.iter().map(|part| part.text.as_str()).collect();
        match (&words[..], &args[..]) {
            (["revert"] | ["pg_catalog", "revert"], [table, key, version]) => {
                let text = self.revert(table, key, version)?;
                let made = Parsed::shared(&text, &self.client.instance.plans)?.pop();
                Ok(made.unwrap_or_else(|| Parsed::empty("")))
            }
            _ => {
                let unknown = vec!["unknown"; args.len()].join(", ");
                let message = format!("procedure {}({unknown}) does not exist", words.join("."));
                Err(Error::new(SqlState::UNDEFINED_FUNCTION, message)
                    .hint("There is revert(table, key, version)."))
            }
        }
    }

    /// The document with a key as it was in a version, as the newest.
    fn revert(&self, table: &SqlExpr, key: &SqlExpr, version: &SqlExpr) -> Result<String> {
        let oid = match self.constant(table, "table", Type::REGCLASS)? {
            Datum::Oid(oid) => oid,
            _ => Oid::NONE,
        };
        let names = &self.names;
        let handle = names.handles.table(&names.catalog, oid);
        let Some((handle, documents)) =
            handle.as_ref().and_then(|table| Some((table, RowDocuments::of(table)?)))
        else {
            return Err(crate::functions::documents::no_documents(names, oid).into());
        };
        let relation = handle.relation();
        let named = |at: usize| scalar::quote::identifier(&relation.columns[at].name);
        let statement_context = self.statement_context();
        let context = statement_context.types();
        let type_of = |at: usize| {
            let column = &relation.columns[at];
            format_type(context.types, column.ty, column.modifier)
        };
        let key_text = format!("({})::text", key.text);
        let condition = match handle.keyed_by() {
            [at] => format!("{} = ({key_text})::{}", named(*at), type_of(*at)),
            several => {
                let key = self.constant(key, "key", Type::TEXT)?;
                let text = key.as_text().ok_or_else(bad_key)?;
                let values = documents.values_of(text).ok_or_else(bad_key)?;
                let equal = several.iter().zip(&values).map(|(at, value)| {
                    let ty = relation.columns[*at].ty;
                    let text = text::to_string(value.as_ref(), ty, Modifier::NONE, &context);
                    let value = scalar::quote::literal(&text.unwrap_or_default());
                    format!("{} = {value}::{}", named(*at), type_of(*at))
                });
                equal.collect::<Vec<_>>().join(" AND ")
            }
        };
        let schema = scalar::quote::identifier(names.schema_name(relation.schema));
        let table = format!("{schema}.{}", scalar::quote::identifier(&relation.name));
        // By its name: a statement that was prepared finds a table that was made anew.
        let (of, column) = (scalar::quote::literal(&table), named(documents.column()));
        Ok(format!(
            "UPDATE {table} \
             SET {column} = node_at({of}, {key_text}, '$', coalesce(({})::bigint, 0)) WHERE {condition}",
            version.text
        ))
    }

    /// The value of an argument that must be known when the statement is planned.
    pub(crate) fn constant(&self, arg: &SqlExpr, name: &str, ty: Type) -> Result<Datum> {
        let column = RelationColumn {
            attnum: 0,
            name: name.to_owned(),
            ty,
            modifier: Modifier::NONE,
            collation: Oid::NONE,
            not_null: true,
            default: ColumnDefault::None,
        };
        let statement_context = self.statement_context();
        let bound = sql::bind::column_value(
            &arg.text,
            None,
            &column,
            &*self.names,
            statement_context.types(),
        )
        .map_err(|error| Error::from(error.cause))?;
        Ok(Evaluator::new(&statement_context, &self.names).value(&bound)?)
    }
}

fn bad_key() -> Error {
    let message = "the key is not the text of a key of the table";
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
