//! Answers as Arrow record batches: columns for programs that compute with them.
//!
//! | SQL | Arrow |
//! |---|---|
//! | `bool`, `int2`, `int4`, `int8`, `float4`, `float8` | `Boolean`, `Int16`, `Int32`, `Int64`, `Float32`, `Float64` |
//! | `oid` and its kin | `UInt32` |
//! | `numeric(p, s)` with p <= 38 and 0 <= s <= p | `Decimal128(p, s)` |
//! | any other `numeric` | `Utf8`: all digits, as PostgreSQL shows them |
//! | `bytea` | `Binary` |
//! | `date`, `time` | `Date32`, `Time64(us)` |
//! | `timestamp`, `timestamptz` | `Timestamp(us)`, `Timestamp(us, "UTC")` |
//! | `interval` | `Interval(MonthDayNano)` |
//! | `uuid` | `FixedSizeBinary(16)`, the extension type `arrow.uuid` |
//! | `json`, `jsonb` | `Utf8`, the extension type `arrow.json` |
//! | arrays of one dimension | `List` |
//! | everything else | `Utf8`, as PostgreSQL shows it |
//!
//! (Apache Arrow, *Columnar Format* and *Canonical Extension Types*.) Rows go into the columns as they are
//! computed; there is no copy of them between.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, FixedSizeBinaryBuilder,
    Float32Builder, Float64Builder, Int16Builder, Int32Builder, Int64Builder,
    IntervalMonthDayNanoBuilder, StringBuilder, Time64MicrosecondBuilder,
    TimestampMicrosecondBuilder, UInt32Builder,
};
use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{ArrayRef, ListArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, IntervalUnit, Schema, TimeUnit};
use session::Output;
use types::{Context, DatumRef, Modifier, Shape, SqlState};

use super::{Column, Connection, Datum, Result, Tag, ToSql, Type};

/// Rows in a batch at most.
const BATCH_ROWS: usize = 65_536;
/// Days, and microseconds, from 1970 to 2000.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_US: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// What a statement gave, in columns.
#[derive(Debug)]
pub struct Batches {
    /// Names and types of the columns; none where the statement gives no rows.
    pub schema: Arc<Schema>,
    /// The rows in order, 65,536 in a batch and the rest in the last.
    pub batches: Vec<RecordBatch>,
    /// What was done, such as `SELECT 3`.
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
        sink.end_batch()?;
        Ok(Batches { schema: sink.schema, batches: sink.batches, tag })
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
    sink.end_batch()?;
    Ok((sink.schema, sink.batches))
}

/// Rows on their way into columns.
struct Sink {
    schema: Arc<Schema>,
    columns: Vec<(Type, Modifier, Builder)>,
    rows: usize,
    batches: Vec<RecordBatch>,
}

impl Sink {
    fn new(columns: &[Column], context: &Context<'_>) -> Result<Sink> {
        let mut fields = Vec::with_capacity(columns.len());
        let mut builders = Vec::with_capacity(columns.len());
        for column in columns {
            let builder = Builder::new(column.ty, column.modifier, context)?;
            let field = Field::new(&column.name, builder.data_type(), true);
            fields.push(field.with_metadata(extension(column.ty)));
            builders.push((column.ty, column.modifier, builder));
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Sink { schema, columns: builders, rows: 0, batches: Vec::new() })
    }

    fn end_batch(&mut self) -> types::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let arrays = self.columns.iter_mut().map(|(.., builder)| builder.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        self.batches.push(batch.map_err(|error| unfit(&error))?);
        Ok(())
    }
}

impl Output for Sink {
    fn row(
        &mut self,
        row: &[Datum],
        _columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        for ((ty, modifier, builder), value) in self.columns.iter_mut().zip(row) {
            builder.push(value.as_ref(), *ty, *modifier, context)?;
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS {
            self.end_batch()?;
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn unfit(error: &ArrowError) -> types::Error {
    types::Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, error.to_string())
}

fn no_place(what: &str) -> types::Error {
    types::Error::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{what} has no place in an Arrow column"),
    )
    .with_hint("Cast the column to text.")
}

/// The name of the extension type of a column.
fn extension(ty: Type) -> HashMap<String, String> {
    let name = match ty {
        Type::UUID => "arrow.uuid",
        Type::JSON | Type::JSONB => "arrow.json",
        _ => return HashMap::new(),
    };
    HashMap::from([("ARROW:extension:name".to_owned(), name.to_owned())])
}

/// A column that grows.
enum Builder {
    Bool(BooleanBuilder),
    Int2(Int16Builder),
    Int4(Int32Builder),
    Int8(Int64Builder),
    Oid(UInt32Builder),
    Float4(Float32Builder),
    Float8(Float64Builder),
    Decimal(Decimal128Builder, u8, i8),
    Binary(BinaryBuilder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder, bool),
    Interval(IntervalMonthDayNanoBuilder),
    Uuid(FixedSizeBinaryBuilder),
    Text(StringBuilder, String),
    List(Box<List>),
}

/// A column of arrays: their elements one behind the other, and where each ends.
struct List {
    element: Type,
    elements: Builder,
    /// Elements so far, and how many of them were there after each array.
    count: i32,
    ends: Vec<i32>,
    is_there: Vec<bool>,
}

impl Builder {
    fn new(ty: Type, modifier: Modifier, context: &Context<'_>) -> Result<Builder> {
        if let Shape::Array(element) = context.types.shape_of(ty)? {
            let elements = Builder::new(element, modifier, context)?;
            return Ok(Builder::List(Box::new(List::new(element, elements))));
        }
        Ok(match ty {
            Type::BOOL => Builder::Bool(BooleanBuilder::new()),
            Type::INT2 => Builder::Int2(Int16Builder::new()),
            Type::INT4 => Builder::Int4(Int32Builder::new()),
            Type::INT8 => Builder::Int8(Int64Builder::new()),
            Type::OID => Builder::Oid(UInt32Builder::new()),
            Type::FLOAT4 => Builder::Float4(Float32Builder::new()),
            Type::FLOAT8 => Builder::Float8(Float64Builder::new()),
            Type::NUMERIC => match decimal(modifier) {
                Some((precision, scale)) => {
                    let ty = DataType::Decimal128(precision, scale);
                    let builder = Decimal128Builder::new().with_data_type(ty);
                    Builder::Decimal(builder, precision, scale)
                }
                None => Builder::text(),
            },
            Type::BYTEA => Builder::Binary(BinaryBuilder::new()),
            Type::DATE => Builder::Date(Date32Builder::new()),
            Type::TIME => Builder::Time(Time64MicrosecondBuilder::new()),
            Type::TIMESTAMP => Builder::Timestamp(TimestampMicrosecondBuilder::new(), false),
            Type::TIMESTAMPTZ => {
                let builder = TimestampMicrosecondBuilder::new().with_timezone("UTC");
                Builder::Timestamp(builder, true)
            }
            Type::INTERVAL => Builder::Interval(IntervalMonthDayNanoBuilder::new()),
            Type::UUID => Builder::Uuid(FixedSizeBinaryBuilder::new(16)),
            _ => Builder::text(),
        })
    }

    fn text() -> Builder {
        Builder::Text(StringBuilder::new(), String::new())
    }

    fn data_type(&self) -> DataType {
        match self {
            Builder::Bool(_) => DataType::Boolean,
            Builder::Int2(_) => DataType::Int16,
            Builder::Int4(_) => DataType::Int32,
            Builder::Int8(_) => DataType::Int64,
            Builder::Oid(_) => DataType::UInt32,
            Builder::Float4(_) => DataType::Float32,
            Builder::Float8(_) => DataType::Float64,
            Builder::Decimal(_, precision, scale) => DataType::Decimal128(*precision, *scale),
            Builder::Binary(_) => DataType::Binary,
            Builder::Date(_) => DataType::Date32,
            Builder::Time(_) => DataType::Time64(TimeUnit::Microsecond),
            Builder::Timestamp(_, has_zone) => {
                DataType::Timestamp(TimeUnit::Microsecond, has_zone.then(|| "UTC".into()))
            }
            Builder::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
            Builder::Uuid(_) => DataType::FixedSizeBinary(16),
            Builder::Text(..) => DataType::Utf8,
            Builder::List(list) => DataType::List(Arc::new(list.field())),
        }
    }

    /// Adds a value.
    fn push(
        &mut self,
        value: DatumRef<'_>,
        ty: Type,
        modifier: Modifier,
        context: &Context<'_>,
    ) -> types::Result<()> {
        macro_rules! append {
            ($builder:expr, $pattern:pat => $value:expr) => {
                match value {
                    DatumRef::Null => $builder.append_null(),
                    $pattern => $builder.append_value($value),
                    _ => return Err(no_place("a value of another type")),
                }
            };
        }
        match self {
            Builder::Bool(builder) => append!(builder, DatumRef::Bool(value) => value),
            Builder::Int2(builder) => append!(builder, DatumRef::Int2(value) => value),
            Builder::Int4(builder) => append!(builder, DatumRef::Int4(value) => value),
            Builder::Int8(builder) => append!(builder, DatumRef::Int8(value) => value),
            Builder::Oid(builder) => append!(builder, DatumRef::Oid(value) => value.0),
            Builder::Float4(builder) => append!(builder, DatumRef::Float4(value) => value),
            Builder::Float8(builder) => append!(builder, DatumRef::Float8(value) => value),
            Builder::Binary(builder) => append!(builder, DatumRef::Bytea(value) => value),
            Builder::Time(builder) => append!(builder, DatumRef::Time(value) => value.0),
            Builder::Decimal(builder, precision, scale) => match value {
                DatumRef::Null => builder.append_null(),
                DatumRef::Numeric(value) => {
                    let value = value.get();
                    let mantissa = value.as_small().and_then(|small| scaled(small, *scale as u32));
                    let fits = |mantissa: &i128| {
                        mantissa.unsigned_abs() < 10_u128.pow(u32::from(*precision))
                    };
                    let mantissa = mantissa.filter(fits);
                    builder.append_value(mantissa.ok_or_else(|| no_place(&value.to_string()))?);
                }
                _ => return Err(no_place("a value of another type")),
            },
            Builder::Date(builder) => match value {
                DatumRef::Null => builder.append_null(),
                DatumRef::Date(date) => {
                    let days = date.0.checked_add(EPOCH_DAYS).filter(|_| date.0 != i32::MIN);
                    builder.append_value(days.ok_or_else(|| no_place("an infinite date"))?);
                }
                _ => return Err(no_place("a value of another type")),
            },
            Builder::Timestamp(builder, _) => match value {
                DatumRef::Null => builder.append_null(),
                DatumRef::Timestamp(types::time::Timestamp(us))
                | DatumRef::TimestampTz(types::time::TimestampTz(us)) => {
                    let us = us.checked_add(EPOCH_US).filter(|_| us != i64::MIN);
                    builder.append_value(us.ok_or_else(|| no_place("an infinite timestamp"))?);
                }
                _ => return Err(no_place("a value of another type")),
            },
            Builder::Interval(builder) => match value {
                DatumRef::Null => builder.append_null(),
                DatumRef::Interval(value) => {
                    let ns = value.us.checked_mul(1000);
                    let ns = ns.ok_or_else(|| no_place("an interval of more than 292 years"))?;
                    builder.append_value(IntervalMonthDayNano::new(value.months, value.days, ns));
                }
                _ => return Err(no_place("a value of another type")),
            },
            Builder::Uuid(builder) => match value {
                DatumRef::Null => builder.append_null(),
                DatumRef::Uuid(value) => {
                    builder.append_value(value).map_err(|error| unfit(&error))?;
                }
                _ => return Err(no_place("a value of another type")),
            },
            Builder::Text(builder, text) => match value {
                DatumRef::Null => builder.append_null(),
                DatumRef::Text(value) if ty != Type::BPCHAR => builder.append_value(value),
                value => {
                    text.clear();
                    types::text::write(value, ty, modifier, context, text)?;
                    builder.append_value(&*text);
                }
            },
            Builder::List(list) => list.push(value, modifier, context)?,
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Bool(builder) => Arc::new(builder.finish()),
            Builder::Int2(builder) => Arc::new(builder.finish()),
            Builder::Int4(builder) => Arc::new(builder.finish()),
            Builder::Int8(builder) => Arc::new(builder.finish()),
            Builder::Oid(builder) => Arc::new(builder.finish()),
            Builder::Float4(builder) => Arc::new(builder.finish()),
            Builder::Float8(builder) => Arc::new(builder.finish()),
            Builder::Decimal(builder, ..) => Arc::new(builder.finish()),
            Builder::Binary(builder) => Arc::new(builder.finish()),
            Builder::Date(builder) => Arc::new(builder.finish()),
            Builder::Time(builder) => Arc::new(builder.finish()),
            Builder::Timestamp(builder, _) => Arc::new(builder.finish()),
            Builder::Interval(builder) => Arc::new(builder.finish()),
            Builder::Uuid(builder) => Arc::new(builder.finish()),
            Builder::Text(builder, _) => Arc::new(builder.finish()),
            Builder::List(list) => list.finish(),
        }
    }
}

impl List {
    fn new(element: Type, elements: Builder) -> List {
        List { element, elements, count: 0, ends: vec![0], is_there: Vec::new() }
    }

    fn field(&self) -> Field {
        let field = Field::new("item", self.elements.data_type(), true);
        field.with_metadata(extension(self.element))
    }

    fn push(
        &mut self,
        value: DatumRef<'_>,
        modifier: Modifier,
        context: &Context<'_>,
    ) -> types::Result<()> {
        if let DatumRef::Array(array) = value {
            if array.dimensions().len() > 1 {
                return Err(no_place("an array of several dimensions"));
            }
            for element in array.iter() {
                self.elements.push(element, self.element, modifier, context)?;
                let count = self.count.checked_add(1);
                self.count = count.ok_or_else(|| no_place("so many elements in one batch"))?;
            }
        }
        self.ends.push(self.count);
        self.is_there.push(!matches!(value, DatumRef::Null));
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let nulls = NullBuffer::from(std::mem::take(&mut self.is_there));
        self.count = 0;
        let (field, elements) = (Arc::new(self.field()), self.elements.finish());
        Arc::new(ListArray::new(field, OffsetBuffer::new(ends.into()), elements, Some(nulls)))
    }
}

/// Precision and scale, where 128 bits hold all such values.
fn decimal(modifier: Modifier) -> Option<(u8, i8)> {
    let (digits, scale) = modifier.numeric()?;
    (digits <= 38 && (0..=digits).contains(&scale)).then_some((digits as u8, scale as i8))
}

/// A mantissa with a scale as one with another, where it fits.
fn scaled((mantissa, has): (i128, u32), scale: u32) -> Option<i128> {
    match has.cmp(&scale) {
        std::cmp::Ordering::Greater => {
            let by = 10_i128.checked_pow(has - scale)?;
            (mantissa % by == 0).then_some(mantissa / by)
        }
        _ => mantissa.checked_mul(10_i128.checked_pow(scale - has)?),
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
