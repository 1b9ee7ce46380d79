//! Rows into Arrow record batches.
//!
//! | SQL | Arrow |
//! |---|---|
//! | `bool`, `int2`, `int4`, `int8`, `float4`, `float8` | `Boolean`, `Int16`, `Int32`, `Int64`, `Float32`, `Float64` |
//! | `oid` | `UInt32` |
//! | `numeric(p, s)` of up to 38 digits, of up to 76 | `Decimal128`, `Decimal256` |
//! | any other `numeric` | `Utf8`: all digits, as PostgreSQL shows them; marked |
//! | `bytea` | `Binary` |
//! | `date`, `time` | `Date32`, `Time64(us)` |
//! | `timestamp`, `timestamptz` | `Timestamp(us)`, `Timestamp(us, "UTC")` |
//! | `interval` | `Interval(MonthDayNano)`; marked `Utf8` in Parquet, which has no such type |
//! | `uuid` | `FixedSizeBinary(16)`, the extension type `arrow.uuid` |
//! | `json`, `jsonb` | `Utf8`, the extension type `arrow.json` |
//! | arrays of one dimension | `List` |
//! | everything else | `Utf8`, as PostgreSQL shows it |
//!
//! The metadata of a marked column names the SQL type of its texts, so that [`decode`](crate::decode) reads them as
//! values of that type.
//!
//! (Apache Arrow, *Columnar Format* and *Canonical Extension Types*.) The encoder appends
//! rows to the columns as they are computed, without a copy in between.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Decimal256Builder,
    FixedSizeBinaryBuilder, Float32Builder, Float64Builder, Int16Builder, Int32Builder,
    Int64Builder, IntervalMonthDayNanoBuilder, StringBuilder, Time64MicrosecondBuilder,
    TimestampMicrosecondBuilder, UInt32Builder,
};
use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{ArrayRef, ListArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{ArrowError, DataType, Field, IntervalUnit, Schema, TimeUnit};
use types::{Context, Datum, DatumRef, Error, Modifier, Result, Shape, SqlState, Style, Type};

/// Rows in a batch at most.
pub const BATCH_ROWS_MAX: usize = 65_536;
/// A batch ends with the row after which its values have so many bytes. The offsets of a column of text have 31 bits,
/// and one value may have a gigabyte.
const BATCH_BYTES_MAX: usize = 64 << 20;
/// Days, and microseconds, from 1970 to 2000.
pub(crate) const EPOCH_DAYS: i32 = 10_957;
pub(crate) const EPOCH_US: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// A column that is written.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// Its modifier.
    pub modifier: Modifier,
}

/// The use of the batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Programs, and files of Arrow.
    Arrow,
    /// Parquet, which has no intervals of months, days and microseconds.
    Parquet,
}

/// Collects rows for batches.
pub struct Encoder {
    schema: Arc<Schema>,
    columns: Vec<(Column, Builder)>,
    rows: usize,
    bytes: usize,
}

impl Encoder {
    /// An encoder for rows of these columns.
    ///
    /// # Errors
    /// 42704 for a type that does not exist.
    pub fn new(
        columns: impl IntoIterator<Item = Column>,
        target: Target,
        context: &Context<'_>,
    ) -> Result<Encoder> {
        let (mut fields, mut builders) = (Vec::new(), Vec::new());
        for column in columns {
            let builder = Builder::new(column.ty, column.modifier, target, context)?;
            let field = Field::new(&column.name, builder.data_type(), true);
            let metadata = metadata(column.ty, field.data_type());
            fields.push(field.with_metadata(metadata));
            builders.push((column, builder));
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Encoder { schema, columns: builders, rows: 0, bytes: 0 })
    }

    /// Names and types of the batches' columns.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Adds a row; returns a batch if this row completes one.
    ///
    /// # Errors
    /// 22003 for a value that the Arrow type of its column has no place for: NaN in a `numeric(p, s)`, a date or
    /// time that is infinite or too far away.
    pub fn push(&mut self, row: &[Datum], context: &Context<'_>) -> Result<Option<RecordBatch>> {
        for ((column, builder), value) in self.columns.iter_mut().zip(row) {
            builder
                .push(value.as_ref(), column.ty, column.modifier, context)
                .map_err(|error| error.with_context(format!("column {}", column.name)))?;
            self.bytes += value.heap_bytes();
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS_MAX || self.bytes >= BATCH_BYTES_MAX {
            return self.finish();
        }
        Ok(None)
    }

    /// The rows since the last batch; none if there are none.
    ///
    /// # Errors
    /// 22003 where Arrow refuses the values.
    pub fn finish(&mut self) -> Result<Option<RecordBatch>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let arrays = self.columns.iter_mut().map(|(_, builder)| builder.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        batch.map(Some).map_err(|error| unfit(&error))
    }
}

fn unfit(error: &ArrowError) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, error.to_string())
}

fn no_place(what: &str) -> Error {
    Error::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{what} has no place in an Arrow column"),
    )
    .with_hint("Cast the column to text.")
}

/// The metadata key that names the SQL type of a column of texts, and the types that are marked in this way. Readers
/// other than this crate see text.
pub(crate) const TYPE_KEY: &str = "anywhen.type";
pub(crate) const MARKED_TYPES: [(Type, &str); 3] =
    [(Type::NUMERIC, "numeric"), (Type::INTERVAL, "interval"), (Type::TIMETZ, "timetz")];

/// The metadata for the field of a column beyond its Arrow type: an extension type, or the type of SQL of its
/// texts.
fn metadata(ty: Type, arrow: &DataType) -> HashMap<String, String> {
    let name = match ty {
        Type::UUID => "arrow.uuid",
        Type::JSON | Type::JSONB => "arrow.json",
        _ => {
            let marked = MARKED_TYPES.iter().filter(|(known, _)| *known == ty);
            let marked = marked.filter(|_| *arrow == DataType::Utf8);
            return marked.map(|(_, name)| (TYPE_KEY.to_owned(), (*name).to_owned())).collect();
        }
    };
    let key = |end: &str| format!("ARROW:extension:{end}");
    HashMap::from([(key("name"), name.to_owned()), (key("metadata"), String::new())])
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
    WideDecimal(Decimal256Builder, u8, i8),
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
    fn new(ty: Type, modifier: Modifier, target: Target, context: &Context<'_>) -> Result<Builder> {
        if let Shape::Array(element) = context.types.shape_of(ty)? {
            let elements = Builder::new(element, modifier, target, context)?;
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
                Some((precision, scale)) if precision <= 38 => {
                    let ty = DataType::Decimal128(precision, scale);
                    let builder = Decimal128Builder::new().with_data_type(ty);
                    Builder::Decimal(builder, precision, scale)
                }
                Some((precision, scale)) => {
                    let ty = DataType::Decimal256(precision, scale);
                    let builder = Decimal256Builder::new().with_data_type(ty);
                    Builder::WideDecimal(builder, precision, scale)
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
            Type::INTERVAL if target == Target::Arrow => {
                Builder::Interval(IntervalMonthDayNanoBuilder::new())
            }
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
            Builder::WideDecimal(_, precision, scale) => DataType::Decimal256(*precision, *scale),
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
    ) -> Result<()> {
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
            Builder::Decimal(builder, precision, scale) => append!(
                builder,
                DatumRef::Numeric(value) => {
                    let value = value.get();
                    let mantissa = value.as_small().and_then(|small| scaled(small, *scale as u32));
                    let fits = |mantissa: &i128| {
                        mantissa.unsigned_abs() < 10_u128.pow(u32::from(*precision))
                    };
                    let mantissa = mantissa.filter(fits);
                    mantissa.ok_or_else(|| no_place(&value.to_string()))?
                }
            ),
            Builder::WideDecimal(builder, precision, scale) => append!(
                builder,
                DatumRef::Numeric(value) => {
                    let text = value.get().to_string();
                    let mantissa = wide_mantissa(&text, *precision, *scale as u8);
                    mantissa.ok_or_else(|| no_place(&text))?
                }
            ),
            Builder::Date(builder) => append!(
                builder,
                DatumRef::Date(date) => {
                    let days = date.0.checked_add(EPOCH_DAYS).filter(|_| date.is_finite());
                    days.ok_or_else(|| no_place("an infinite date"))?
                }
            ),
            Builder::Timestamp(builder, _) => append!(
                builder,
                DatumRef::Timestamp(types::time::Timestamp(us))
                | DatumRef::TimestampTz(types::time::TimestampTz(us)) => {
                    let us = us.checked_add(EPOCH_US).filter(|_| us != i64::MIN);
                    us.ok_or_else(|| no_place("an infinite timestamp, or one after 294246,"))?
                }
            ),
            Builder::Interval(builder) => append!(
                builder,
                DatumRef::Interval(value) => {
                    let ns = value.us.checked_mul(1000);
                    let ns = ns.ok_or_else(|| no_place("an interval of more than 292 years"))?;
                    IntervalMonthDayNano::new(value.months, value.days, ns)
                }
            ),
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
                    // The text of an interval must not depend on the style of the session.
                    let style = (ty == Type::INTERVAL).then(Style::default);
                    let context =
                        Context { style: style.as_ref().unwrap_or(context.style), ..*context };
                    types::text::write(value, ty, modifier, &context, text)?;
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
            Builder::WideDecimal(builder, ..) => Arc::new(builder.finish()),
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
        let metadata = metadata(self.element, field.data_type());
        field.with_metadata(metadata)
    }

    fn push(
        &mut self,
        value: DatumRef<'_>,
        modifier: Modifier,
        context: &Context<'_>,
    ) -> Result<()> {
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

/// The precision and scale of the narrowest Arrow decimal that holds all values of a `numeric(p, s)`; `None` if
/// 256 bits are too few, or no precision was declared.
fn decimal(modifier: Modifier) -> Option<(u8, i8)> {
    let (digits, scale) = modifier.numeric()?;
    // A negative scale means zeroes before the point, one above the precision zeroes after it.
    let precision = (digits - scale.min(0)).max(scale);
    (precision <= 76).then_some((precision as u8, scale.max(0) as i8))
}

/// Converts a mantissa to another scale; `None` if the result does not fit or is not exact.
fn scaled((mantissa, has): (i128, u32), scale: u32) -> Option<i128> {
    match has.cmp(&scale) {
        std::cmp::Ordering::Greater => {
            let by = 10_i128.checked_pow(has - scale)?;
            (mantissa % by == 0).then_some(mantissa / by)
        }
        _ => mantissa.checked_mul(10_i128.checked_pow(scale - has)?),
    }
}

/// The mantissa of a number, which is written in digits, with this scale; `None` if it does not fit.
fn wide_mantissa(text: &str, precision: u8, scale: u8) -> Option<i256> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = match fraction.get(usize::from(scale)..) {
        Some(rest) if rest.bytes().any(|digit| digit != b'0') => return None,
        Some(_) => &fraction[..usize::from(scale)],
        None => fraction,
    };
    let digits = format!("{whole}{fraction:0<width$}", width = usize::from(scale));
    let count = digits.trim_start_matches(['-', '0']).len();
    if count > usize::from(precision) {
        return None;
    }
    i256::from_string(&digits)
}
