//! Answers that need no connection any more, for programs that use values later, or elsewhere.
//!
//! The connection alone knows the text of a value of a user's type, and the name of an `oid`, and only as
//! of the statement. So these become text while the statement runs; all others stay what they are:
//!
//! | SQL | in an [`Answer`] |
//! |---|---|
//! | truth values, numbers, texts, bytes, dates and times, `uuid`, `json`, `jsonb` | themselves |
//! | arrays of these | themselves |
//! | arrays of others | arrays of `text` |
//! | everything else: enums, rows, `pg_lsn`, `regclass`, `char(n)` ... | `text`, as PostgreSQL shows it |
//!
//! The texts that a server sends ([`Answer::from_texts`]) come to the same.

use std::ops::ControlFlow;

use session::Output;
use types::{Array, Context, Datum, DatumRef, Modifier, Oid, Repr, Shape, Style, Type};

use super::{Column, Connection, Result, ToSql};

/// The answer to a statement, in values that stand for themselves.
#[derive(Debug)]
pub struct Answer {
    /// The columns, of built-in types alone; none if the statement gives no rows.
    pub columns: Vec<Column>,
    /// The type of each column in the database: its number, and its name in SQL.
    pub declared: Vec<(Oid, String)>,
    /// The rows, a value for each column.
    pub rows: Vec<Vec<Datum>>,
    /// The tag, such as `INSERT 0 1`.
    pub tag: String,
    /// How many rows that were, where the command counts them.
    pub count: Option<u64>,
}

/// How the values of a column are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keep {
    /// As they are.
    Plain,
    /// As the text that PostgreSQL shows.
    Shown,
    /// As arrays of such texts; this is the type of the elements.
    ShownElements(Type),
}

/// Types whose values say all that there is to say.
const PLAIN: [Type; 21] = [
    Type::BOOL,
    Type::INT2,
    Type::INT4,
    Type::INT8,
    Type::OID,
    Type::FLOAT4,
    Type::FLOAT8,
    Type::NUMERIC,
    Type::TEXT,
    Type::VARCHAR,
    Type::NAME,
    Type::BYTEA,
    Type::DATE,
    Type::TIME,
    Type::TIMETZ,
    Type::TIMESTAMP,
    Type::TIMESTAMPTZ,
    Type::INTERVAL,
    Type::UUID,
    Type::JSON,
    Type::JSONB,
];

impl Keep {
    fn of(ty: Type, context: &Context<'_>) -> Keep {
        if PLAIN.contains(&ty) {
            return Keep::Plain;
        }
        // The two vectors of the catalogs are arrays that are not shown as such.
        let is_vector = types::builtin::facts(ty).is_some_and(|facts| !facts.is_array());
        match context.types.shape_of(ty) {
            Ok(Shape::Array(_)) if is_vector => Keep::Shown,
            Ok(Shape::Array(element)) if PLAIN.contains(&element) => Keep::Plain,
            Ok(Shape::Array(element)) => Keep::ShownElements(element),
            _ => Keep::Shown,
        }
    }

    /// The type of what is kept.
    fn ty(self, ty: Type) -> Type {
        match self {
            Keep::Plain => ty,
            Keep::Shown => Type::TEXT,
            Keep::ShownElements(_) => Type::TEXT_ARRAY,
        }
    }

    fn value(self, value: &Datum, column: &Column, context: &Context<'_>) -> types::Result<Datum> {
        let shown = |value: DatumRef<'_>, ty| -> types::Result<Datum> {
            let mut text = String::new();
            types::text::write(value, ty, column.modifier, context, &mut text)?;
            Ok(if value.is_null() { Datum::Null } else { Datum::text(text) })
        };
        Ok(match (self, value) {
            (Keep::Plain, value) => value.clone(),
            (Keep::ShownElements(element), Datum::Array(array)) => {
                let array = array.as_ref();
                let texts = array.iter().map(|value| shown(value, element));
                let texts = texts.collect::<types::Result<Vec<Datum>>>()?;
                let dimensions = array.dimensions();
                let texts = texts.iter().map(Datum::as_ref);
                Datum::Array(Array::new(Type::TEXT, Repr::Text, &dimensions, texts)?)
            }
            (_, value) => shown(value.as_ref(), column.ty)?,
        })
    }
}

/// Collects rows for an answer.
struct Sink {
    keep: Vec<Keep>,
    rows: Vec<Vec<Datum>>,
}

impl Output for Sink {
    fn row(
        &mut self,
        row: &[Datum],
        columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        row.iter().for_each(Datum::make);
        let values = row.iter().zip(columns).zip(&self.keep);
        let kept = values.map(|((value, column), keep)| keep.value(value, column, context));
        self.rows.push(kept.collect::<types::Result<_>>()?);
        Ok(ControlFlow::Continue(()))
    }
}

impl Connection {
    /// Runs one statement and gives its rows as values that need this connection no more.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn answer(&mut self, text: &str, parameters: &[&dyn ToSql]) -> Result<Answer> {
        let done = self.run_answer(text, parameters);
        self.settle(done)
    }

    fn run_answer(&mut self, text: &str, parameters: &[&dyn ToSql]) -> Result<Answer> {
        self.session.parse("", text, &[])?;
        self.bind_texts("", parameters)?;
        let mut columns = self.session.portal("")?.columns().unwrap_or_default().to_vec();
        let (keep, declared) = {
            let context = self.session.style();
            let keep: Vec<Keep> =
                columns.iter().map(|column| Keep::of(column.ty, &context)).collect();
            let names = columns.iter().map(|column| context.types.name_of(column.ty));
            let oids = columns.iter().map(|column| column.ty.oid());
            (keep, oids.zip(names).collect())
        };
        for (column, keep) in columns.iter_mut().zip(&keep) {
            column.ty = keep.ty(column.ty);
        }
        let mut sink = Sink { keep, rows: Vec::new() };
        let tag = self.give_rows(&mut sink)?;
        Ok(Answer { columns, declared, rows: sink.rows, tag: tag.to_string(), count: tag.rows })
    }
}

impl Answer {
    /// The answer that a server gave as texts, `None` for NULL; a column is its name, the number of its
    /// type and the modifier of that, -1 for none.
    ///
    /// # Errors
    /// `22P02` and the like, where a text is no value of its type.
    pub fn from_texts<T: AsRef<str>>(
        columns: impl IntoIterator<Item = (String, Oid, i32)>,
        rows: impl IntoIterator<Item = Vec<Option<T>>>,
        tag: String,
    ) -> Result<Answer> {
        let style = Style::default();
        let context = Context::new(&style);
        let (mut kept, mut declared) = (Vec::new(), Vec::new());
        for (name, oid, modifier) in columns {
            let ty = Type(oid);
            let facts = types::builtin::facts(ty);
            let name_of_type = facts.map_or_else(|| oid.0.to_string(), |facts| facts.sql_name());
            declared.push((oid, name_of_type));
            kept.push(Column {
                name,
                table: Oid(0),
                attnum: 0,
                ty: Keep::of(ty, &context).ty(ty),
                modifier: Modifier(modifier),
                length: facts.map_or(-1, |facts| facts.length),
            });
        }
        let value = |(column, text): (&Column, Option<T>)| match text {
            None => Ok(Datum::Null),
            // The server has brought it under the modifier.
            Some(text) => types::text::parse(text.as_ref(), column.ty, Modifier::NONE, &context),
        };
        let rows = rows.into_iter().map(|row| kept.iter().zip(row).map(value).collect());
        let rows: Vec<Vec<Datum>> = rows.collect::<types::Result<_>>()?;
        let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
        Ok(Answer { columns: kept, declared, rows, tag, count })
    }

    /// The number of a built-in type with this name in SQL, such as `integer` or `text[]`; `None` for
    /// any other.
    pub fn type_named(name: &str) -> Option<Oid> {
        let mut all = types::builtin::all().iter();
        all.find(|facts| facts.sql_name() == name).map(|facts| facts.ty.oid())
    }

    /// The text of a value as PostgreSQL shows it, dates and times in its ISO style; `None` for NULL.
    pub fn text(&self, value: &Datum, column: usize) -> Option<String> {
        let style = Style::default();
        let column = &self.columns[column];
        types::text::to_string(value.as_ref(), column.ty, column.modifier, &Context::new(&style))
    }

    /// The same rows in columns.
    ///
    /// # Errors
    /// As [`Connection::query_arrow`].
    #[cfg(feature = "arrow")]
    pub fn to_arrow(&self) -> Result<super::arrow::Columns> {
        let style = Style::default();
        super::arrow::columns(&self.columns, &self.rows, &Context::new(&style))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    /// Values that only the connection can show are texts; all others are themselves.
    #[test]
    fn what_an_answer_keeps() {
        let mut sql = Database::open_in_memory().unwrap().connect().unwrap();
        sql.batch("CREATE TYPE mood AS ENUM ('sad', 'glad')").unwrap();
        let text = "SELECT $1::int AS i, 'glad'::mood AS m, ARRAY['sad', NULL]::mood[] AS ms,
                        '0/16B3748'::pg_lsn AS a, 'pg_class'::regclass AS r, ARRAY[1.5, 2] AS n,
                        'ab'::char(4) AS c";
        let answer = sql.answer(text, &[&7]).unwrap();
        drop(sql);
        let row = &answer.rows[0];
        let shown: Vec<Option<String>> =
            row.iter().enumerate().map(|(at, value)| answer.text(value, at)).collect();
        let shown: Vec<&str> = shown.iter().map(|text| text.as_deref().unwrap()).collect();
        assert_eq!(shown, ["7", "glad", "{sad,NULL}", "0/16B3748", "pg_class", "{1.5,2}", "ab  "]);
        let types: Vec<Type> = answer.columns.iter().map(|column| column.ty).collect();
        assert_eq!(types[..4], [Type::INT4, Type::TEXT, Type::TEXT_ARRAY, Type::TEXT]);
        let declared: Vec<&str> = answer.declared.iter().map(|(_, name)| name.as_str()).collect();
        let names = ["integer", "mood", "mood[]", "pg_lsn", "regclass", "numeric[]", "character"];
        assert_eq!(declared, names);
        assert_eq!((answer.tag.as_str(), answer.count), ("SELECT 1", Some(1)));
    }

    /// The texts of a server become the same values.
    #[test]
    fn texts_are_values_again() {
        let mut sql = Database::open_in_memory().unwrap().connect().unwrap();
        let text = "SELECT 1.50::numeric(8, 2) AS n, '2026-11-21 10:00+00'::timestamptz AS t,
                        ARRAY[[1, 2], [3, NULL]] AS a, '{\"a\": 1}'::jsonb AS j, '0/16B3748'::pg_lsn AS i,
                        NULL::bytea AS b";
        let here = sql.answer(text, &[]).unwrap();
        let columns = here.columns.iter().zip(&here.declared);
        let columns: Vec<_> = columns
            .map(|(column, (oid, _))| (column.name.clone(), *oid, column.modifier.0))
            .collect();
        let texts: Vec<Option<String>> =
            here.rows[0].iter().enumerate().map(|(at, value)| here.text(value, at)).collect();
        let there = Answer::from_texts(columns, [texts], here.tag.clone()).unwrap();
        assert_eq!(format!("{here:?}"), format!("{there:?}"));
        assert_eq!(Answer::type_named("integer[]"), Some(Type::INT4_ARRAY.oid()));
        let bad =
            Answer::from_texts([("n".into(), Type::INT4.oid(), -1)], [vec![Some("x")]], "".into());
        assert_eq!(bad.unwrap_err().state().code(), "22P02");
    }

    /// A statement is stopped from another thread, and the connection goes on; so it does where data are
    /// asked of a statement that gives none, which then did not happen.
    #[test]
    fn what_a_connection_survives() {
        let db = Database::open_in_memory().unwrap();
        let mut sql = db.connect().unwrap();
        sql.batch("CREATE TABLE t (n int)").unwrap();
        let cancel = sql.canceller();
        let long = std::thread::spawn(move || {
            let error = sql.query("SELECT count(*) FROM generate_series(1, 100000000000) g", &[]);
            (sql, error.unwrap_err().state().code().to_owned())
        });
        while !long.is_finished() {
            cancel();
            std::thread::yield_now();
        }
        let (mut sql, code) = long.join().unwrap();
        assert_eq!(code, "57014");
        let refused = sql.copy_out("INSERT INTO t VALUES (1)", &mut Vec::new()).unwrap_err();
        assert_eq!(refused.state().code(), "42601");
        let mut data = Vec::new();
        assert_eq!(sql.copy_out("COPY t TO STDOUT", &mut data).unwrap(), 0);
        drop((sql, cancel));
        db.close().expect("a canceller keeps nothing open");
    }

    /// Columns for Arrow come of an answer as they do of a connection.
    #[cfg(feature = "arrow")]
    #[test]
    fn an_answer_in_columns() {
        let mut sql = Database::open_in_memory().unwrap().connect().unwrap();
        sql.batch("CREATE TYPE mood AS ENUM ('sad', 'glad')").unwrap();
        let text = "SELECT g, g::numeric(9, 1), ARRAY['sad']::mood[], '{}'::jsonb, now()::date
                    FROM generate_series(1, 70000) g";
        let direct = sql.query_arrow(text, &[]).unwrap();
        let (schema, batches) = sql.answer(text, &[]).unwrap().to_arrow().unwrap();
        assert_eq!((schema, batches), (direct.schema, direct.batches));
    }
}
