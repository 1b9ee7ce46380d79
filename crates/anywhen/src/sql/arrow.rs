//! Answers as Arrow record batches: columns for programs that compute with them.
//!
//! Which Arrow type stands for which type of SQL is said in [`interchange::encode`]. Rows go into the columns as they
//! are computed; there is no copy of them between.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use interchange::{Encoder, Target};
use session::Output;
use types::Context;

use super::{Column, Connection, Datum, Result, Tag, ToSql};

/// The answer to a statement, in columns.
#[derive(Debug)]
pub struct Batches {
    /// Names and types of the columns; none if the statement gives no rows.
    pub schema: Arc<Schema>,
    /// The rows in order, 65,536 in a batch at most and the rest in the last.
    pub batches: Vec<RecordBatch>,
    /// The tag, such as `SELECT 3`.
    pub tag: Tag,
}

impl Connection {
    /// Runs one statement and gives its rows in columns.
    ///
    /// # Errors
    /// As [`Connection::query`], and 22003 for a value that the Arrow type of its column has no place for:
    /// NaN in a `numeric(p, s)`, a date or time that is infinite or too far away.
    pub fn query_arrow(&mut self, text: &str, parameters: &[&dyn ToSql]) -> Result<Batches> {
        let done = self.run_arrow(text, parameters);
        self.settle(done)
    }

    fn run_arrow(&mut self, text: &str, parameters: &[&dyn ToSql]) -> Result<Batches> {
        self.session.parse("", text, &[])?;
        self.bind_texts("", parameters)?;
        let columns = self.session.portal("")?.columns().unwrap_or_default().to_vec();
        let mut sink = Sink::new(&columns, &self.session.style())?;
        let tag = self.give_rows(&mut sink)?;
        let (schema, batches) = sink.finish()?;
        Ok(Batches { schema, batches, tag })
    }
}

/// Names and types of columns, and rows in batches.
pub type Columns = (Arc<Schema>, Vec<RecordBatch>);

/// Rows that are there already, in columns.
pub(super) fn columns(
    columns: &[Column],
    rows: &[Vec<Datum>],
    context: &Context<'_>,
) -> Result<Columns> {
    let mut sink = Sink::new(columns, context)?;
    for row in rows {
        // It takes every row: there is nothing to look at.
        let _ = sink.row(row, columns, context)?;
    }
    Ok(sink.finish()?)
}

/// Collects rows for columns.
struct Sink {
    encoder: Encoder,
    batches: Vec<RecordBatch>,
}

impl Sink {
    fn new(columns: &[Column], context: &Context<'_>) -> types::Result<Sink> {
        let columns = columns.iter().map(|column| interchange::Column {
            name: column.name.clone(),
            ty: column.ty,
            modifier: column.modifier,
        });
        let encoder = Encoder::new(columns, Target::Arrow, context)?;
        Ok(Sink { encoder, batches: Vec::new() })
    }

    fn finish(mut self) -> types::Result<Columns> {
        self.batches.extend(self.encoder.finish()?);
        Ok((Arc::clone(self.encoder.schema()), self.batches))
    }
}

impl Output for Sink {
    fn row(
        &mut self,
        row: &[Datum],
        _columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.batches.extend(self.encoder.push(row, context)?);
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, TimestampMicrosecondType};
    use arrow_array::{Array, cast};

    use crate::Database;

    /// A column of each kind: what was written is what stands there, NULLs are NULLs.
    #[test]
    fn values_have_their_places() {
        let mut sql = Database::open_in_memory().unwrap().connect().unwrap();
        sql.batch(
            "CREATE TYPE mood AS ENUM ('sad', 'glad');
             CREATE TABLE t (i int, d date, n numeric(10, 2), m numeric, ts timestamptz, u uuid,
                 j jsonb, a int[], s mood, c char(4), b bytea);
             INSERT INTO t VALUES (7, '1970-01-02', 12.5, 1e40, '1970-01-01 00:00:01+00',
                 '00000000-0000-0000-0000-00000000002a', '{\"a\": [1]}', '{1,NULL,3}', 'glad', 'ab', '\\x0102'),
                 (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        )
        .unwrap();
        let answer = sql.query_arrow("SELECT * FROM t WHERE i = $1 OR i IS NULL", &[&7]).unwrap();
        assert_eq!(answer.tag.to_string(), "SELECT 2");
        let [batch] = answer.batches.as_slice() else { panic!("one batch") };
        let at = |name: &str| batch.column_by_name(name).unwrap().clone();
        for column in batch.columns() {
            assert_eq!((column.len(), column.is_null(0), column.is_null(1)), (2, false, true));
        }
        assert_eq!(at("i").as_primitive::<Int32Type>().value(0), 7);
        assert_eq!(at("d").as_primitive::<Date32Type>().value(0), 1);
        assert_eq!(at("n").as_primitive::<Decimal128Type>().value_as_string(0), "12.50");
        assert_eq!(at("m").as_string::<i32>().value(0), format!("1{}", "0".repeat(40)));
        assert_eq!(at("ts").as_primitive::<TimestampMicrosecondType>().value(0), 1_000_000);
        assert_eq!(at("u").as_fixed_size_binary().value(0)[15], 42);
        assert_eq!(at("j").as_string::<i32>().value(0), "{\"a\": [1]}");
        let list = cast::as_list_array(&at("a")).value(0);
        assert_eq!((list.len(), list.null_count()), (3, 1));
        assert_eq!(at("s").as_string::<i32>().value(0), "glad");
        assert_eq!(at("c").as_string::<i32>().value(0), "ab  ");
        assert_eq!(at("b").as_binary::<i32>().value(0), [1, 2]);
        let field = answer.schema.field_with_name("u").unwrap();
        assert_eq!(field.extension_type_name(), Some("arrow.uuid"));
    }

    /// Many rows come in batches; a statement without rows has no columns; what has no place is refused.
    #[test]
    fn batches_and_errors() {
        let mut sql = Database::open_in_memory().unwrap().connect().unwrap();
        let many =
            sql.query_arrow("SELECT g, ARRAY[g] FROM generate_series(1, 70000) g", &[]).unwrap();
        let rows: Vec<usize> = many.batches.iter().map(|batch| batch.num_rows()).collect();
        assert_eq!(rows, [65_536, 4_464]);
        let last = many.batches[1].column(0).as_primitive::<Int32Type>().clone();
        assert_eq!(last.value(last.len() - 1), 70_000);
        assert_eq!(cast::as_list_array(many.batches[1].column(1)).value(0).len(), 1);
        let none = sql.query_arrow("CREATE TABLE t (n numeric(4, 1), d date)", &[]).unwrap();
        assert!(none.schema.fields().is_empty() && none.batches.is_empty());
        sql.batch("INSERT INTO t VALUES ('NaN', 'infinity')").unwrap();
        for column in ["n", "d"] {
            let text = format!("SELECT {column} FROM t");
            let refused = sql.query_arrow(&text, &[]).unwrap_err();
            assert_eq!(refused.state().code(), "22003", "{refused}");
        }
        assert_eq!(sql.query("SELECT 1", &[]).unwrap().len(), 1, "the connection goes on");
    }

    /// A statement is prepared once and run many times.
    #[test]
    fn prepared_statements() {
        let mut sql = Database::open_in_memory().unwrap().connect().unwrap();
        let add = sql.prepare("SELECT $1::int + $2 AS sum").unwrap();
        assert_eq!((add.params.len(), add.columns[0].name.as_str()), (2, "sum"));
        for a in 0..3 {
            let rows = sql.query_prepared(&add, &[&a, &10]).unwrap();
            assert_eq!(rows.get(0).unwrap().get::<i32>("sum").unwrap(), a + 10);
        }
        let known = add.clone();
        sql.close(add);
        assert_eq!(sql.query_prepared(&known, &[&1, &2]).unwrap_err().state().code(), "26000");
        assert!(sql.prepare("SELECT nothing").is_err());
    }
}
