//! Round trips of every type, and files that are damaged.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    StringViewArray, StructArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use types::{Context, Datum, Modifier, Style, Type};
use vfs::{CrashPolicy, Env, OpenMode, Random, SimRandom, SimVfs};

use crate::*;

/// Types with values at the ends of what they hold.
const EXTREMES: &[(&str, &[&str])] = &[
    ("bool", &["t", "f"]),
    ("int2", &["-32768", "32767", "0"]),
    ("int4", &["-2147483648", "2147483647"]),
    ("int8", &["-9223372036854775808", "9223372036854775807"]),
    ("float4", &["3.4028235e38", "-1e-45", "NaN", "-Infinity", "-0"]),
    ("float8", &["1.7976931348623157e308", "5e-324", "NaN", "Infinity", "0.1"]),
    ("numeric(38,0)", &["99999999999999999999999999999999999999", "-1"]),
    ("numeric(12,4)", &["99999999.9999", "-0.0001", "1.5000"]),
    (
        "numeric(76,38)",
        &["99999999999999999999999999999999999999.00000000000000000000000000000000000001", "-7"],
    ),
    ("numeric(3,-2)", &["99900", "-100"]),
    ("numeric(2,4)", &["0.0099", "-0.0001"]),
    (
        "numeric",
        &["NaN", "Infinity", "1e1000", "0.00000000000000000000000000000000000000000000000001"],
    ),
    (
        "text",
        &["", "\u{10ffff}", "a\tb\nc\"", "long enough that it does not lie in the value itself"],
    ),
    ("varchar(5)", &["12345", ""]),
    ("char(4)", &["ab", "abcd"]),
    ("bytea", &["\\x", "\\x00ff00", "\\xdeadbeef"]),
    ("date", &["4714-11-24 BC", "5874897-12-31", "1970-01-01", "1969-12-31"]),
    ("time", &["00:00:00", "24:00:00", "23:59:59.999999"]),
    ("timetz", &["00:00:00+15:59", "23:59:59.999999-15:59"]),
    (
        "timestamp",
        &["4714-11-24 00:00:00 BC", "294246-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"],
    ),
    ("timestamptz", &["4714-11-24 00:00:00+00 BC", "294246-12-31 23:59:59.999999+00"]),
    (
        "interval",
        &[
            "-178000000 years",
            "2147483647 days",
            "100 years -3 days 04:05:06.000007",
            "-00:00:00.000001",
        ],
    ),
    ("uuid", &["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    ("json", &["{\"b\": 1,  \"a\": [null]}", "1e400"]),
    ("jsonb", &["{\"a\": {\"b\": [1, 2.50, \"\\u00e9\"]}}", "null"]),
    ("int4[]", &["{}", "{1,NULL,-2147483648}"]),
    ("text[]", &["{a,\"b c\",NULL,\"\"}"]),
    ("numeric(10,2)[]", &["{1.50,NULL}"]),
    ("timestamptz[]", &["{\"2001-02-03 04:05:06+00\"}"]),
    ("oid", &["4294967295", "0"]),
    ("pg_lsn", &["16/B374D848", "0/0"]),
];

fn context(style: &Style) -> Context<'_> {
    Context::new(style)
}

/// The type with a name such as `numeric(12,4)[]`.
fn ty(name: &str) -> (Type, Modifier) {
    let (name, is_array) = match name.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let (name, numbers) = name.split_once('(').unwrap_or((name, ""));
    let name = if name == "char" { "bpchar" } else { name };
    let facts = types::builtin::by_name(name).expect("it is a type");
    let numbers: Vec<i32> =
        numbers.trim_end_matches(')').split(',').filter_map(|n| n.parse().ok()).collect();
    let modifier = match numbers.as_slice() {
        [] => Modifier::NONE,
        numbers => Modifier::parse(facts.ty, numbers).unwrap(),
    };
    (if is_array { facts.array } else { facts.ty }, modifier)
}

fn shown(value: &Datum, ty: Type, modifier: Modifier, context: &Context<'_>) -> String {
    types::text::to_string(value.as_ref(), ty, modifier, context).unwrap_or("NULL".to_owned())
}

fn write(
    env: &Env,
    path: &Path,
    format: Format,
    compression: Option<Compression>,
    columns: &[Column],
    rows: &[Vec<Datum>],
) {
    let style = Style::default();
    let context = context(&style);
    let out = Replacement::begin(env, path).unwrap();
    let mut writer =
        Writer::new(out, format, compression, columns.iter().cloned(), &context).unwrap();
    for row in rows {
        writer.push(row, &context).unwrap();
    }
    writer.finish().unwrap().finish().unwrap();
}

/// The rows of a file, of the types that it has by itself.
fn read(
    env: &Env,
    path: &Path,
    format: FileFormat,
    wanted: Option<&[usize]>,
) -> types::Result<Vec<Vec<(Datum, Natural)>>> {
    let mut reader = Reader::open(env, path, format, wanted)?;
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        rows.extend(rows_of(&batch)?);
    }
    Ok(rows)
}

fn rows_of(batch: &RecordBatch) -> types::Result<Vec<Vec<(Datum, Natural)>>> {
    let schema = batch.schema();
    let cells = schema.fields().iter().zip(batch.columns());
    let cells: Vec<Cells> =
        cells.map(|(f, array)| Cells::new(array, f)).collect::<Result<_, _>>()?;
    let row = |at: usize| {
        cells
            .iter()
            .map(|cells| Ok((cells.get(at)?, cells.natural())))
            .collect::<types::Result<_>>()
    };
    (0..batch.num_rows()).map(row).collect()
}

/// A value as the column's own type has it: text, which stands for types that Arrow does not have, is read again.
fn again(
    value: &Datum,
    natural: Natural,
    ty: Type,
    modifier: Modifier,
    context: &Context<'_>,
) -> Datum {
    // The text of `json` comes back too, by `Cells::text`: see `json_keeps_its_text`.
    if value.is_null() || natural.ty == ty || ty == Type::JSON {
        return value.clone();
    }
    let text = shown(value, natural.ty, natural.modifier, context);
    types::text::parse(&text, ty, modifier, context).unwrap()
}

const FORMATS: [(Format, FileFormat, Option<Compression>); 8] = [
    (Format::Parquet, FileFormat::Parquet, None),
    (Format::Parquet, FileFormat::Parquet, Some(Compression::None)),
    (Format::Parquet, FileFormat::Parquet, Some(Compression::Zstd)),
    (Format::Parquet, FileFormat::Parquet, Some(Compression::Lz4)),
    (Format::Parquet, FileFormat::Parquet, Some(Compression::Gzip)),
    (Format::ArrowFile, FileFormat::Arrow, None),
    (Format::ArrowFile, FileFormat::Arrow, Some(Compression::Zstd)),
    (Format::ArrowStream, FileFormat::Arrow, Some(Compression::Lz4)),
];

/// Every type comes back from every format as it was, at the ends of what it holds, and NULL as NULL.
#[test]
fn extremes_come_back() {
    let style = Style::default();
    let context = context(&style);
    let env = Env::sim(&SimVfs::new(1), 1);
    let mut columns = Vec::new();
    let mut values: Vec<Vec<Datum>> = Vec::new();
    for (name, texts) in EXTREMES {
        let (ty, modifier) = ty(name);
        columns.push(Column { name: (*name).to_owned(), ty, modifier });
        let parse = |text: &&str| types::text::parse(text, ty, modifier, &context).unwrap();
        values.push(texts.iter().map(parse).chain([Datum::Null]).collect());
    }
    let row = |at: usize| values.iter().map(|of| of[at % of.len()].clone()).collect::<Vec<_>>();
    let rows: Vec<Vec<Datum>> = (0..60).map(row).collect();
    for (format, file_format, compression) in FORMATS {
        let path = Path::new("extremes");
        // An interval of more than 292 years of microseconds alone is the one that Arrow has no place for.
        write(&env, path, format, compression, &columns, &rows);
        let found = read(&env, path, file_format, None).unwrap();
        assert_eq!(found.len(), rows.len());
        for (row, found) in rows.iter().zip(&found) {
            for ((column, value), (found, natural)) in columns.iter().zip(row).zip(found) {
                let found = again(found, *natural, column.ty, column.modifier, &context);
                let mut expected = shown(value, column.ty, column.modifier, &context);
                if column.ty == Type::JSON && !value.is_null() {
                    let parsed =
                        types::text::parse(&expected, Type::JSONB, Modifier::NONE, &context);
                    expected = shown(&parsed.unwrap(), Type::JSONB, Modifier::NONE, &context);
                }
                assert_eq!(
                    shown(&found, column.ty, column.modifier, &context),
                    expected,
                    "{} in {format:?} {compression:?}",
                    column.name
                );
            }
        }
    }
}

/// Random columns of random values come back, whatever the number of rows and columns.
#[test]
fn random_rows_come_back() {
    vfs::seeds(100, 40, |seed| {
        let style = Style::default();
        let context = context(&style);
        let random = SimRandom::new(seed);
        let below = |n: usize| (random.next_u64() % n as u64) as usize;
        let env = Env::sim(&SimVfs::new(seed), seed);
        let known = EXTREMES.iter().filter(|(name, _)| *name != "json");
        let known: Vec<_> = known.map(|(name, texts)| (*name, *texts, ty(name))).collect();
        let picked: Vec<_> = (0..=below(6)).map(|_| known[below(known.len())]).collect();
        let columns: Vec<Column> = picked
            .iter()
            .enumerate()
            .map(|(at, (name, _, (ty, modifier)))| Column {
                name: format!("{at} {name}"),
                ty: *ty,
                modifier: *modifier,
            })
            .collect();
        let value = |(_, texts, (ty, modifier)): &(&str, &[&str], (Type, Modifier))| {
            if below(4) == 0 {
                return Datum::Null;
            }
            let number = random.next_u64() as i64 >> below(60);
            let text = match *ty {
                Type::INT8 => number.to_string(),
                Type::TEXT => "é\0x".replace('\0', &number.to_string()),
                Type::FLOAT8 => f64::from_bits(random.next_u64()).to_string(),
                Type::JSONB => format!("{{\"n\": {number}, \"a\": [\"{number}\"]}}"),
                _ => texts[below(texts.len())].to_owned(),
            };
            types::text::parse(&text, *ty, *modifier, &context).unwrap()
        };
        let rows: Vec<Vec<Datum>> =
            (0..below(3_000)).map(|_| picked.iter().map(value).collect()).collect();
        let (format, file_format, compression) = FORMATS[below(FORMATS.len())];
        let path = Path::new("random");
        write(&env, path, format, compression, &columns, &rows);
        let all = read(&env, path, file_format, None).unwrap();
        assert_eq!(all.len(), rows.len());
        let wanted: Vec<usize> = (0..columns.len()).filter(|_| below(2) == 0).collect();
        let some = read(&env, path, file_format, Some(&wanted)).unwrap();
        assert_eq!(some.len(), rows.len(), "a file without wanted columns still has its rows");
        for ((row, all), some) in rows.iter().zip(&all).zip(&some) {
            for (place, at) in wanted.iter().enumerate() {
                assert_eq!(some[place].0, all[*at].0);
            }
            for ((column, value), (found, natural)) in columns.iter().zip(row).zip(all) {
                let found = again(found, *natural, column.ty, column.modifier, &context);
                assert_eq!(&found, value, "{}", column.name);
            }
        }
    });
}

/// The text of `json` comes back letter by letter.
#[test]
fn json_keeps_its_text() {
    let env = Env::sim(&SimVfs::new(1), 1);
    let column = Column { name: "j".to_owned(), ty: Type::JSON, modifier: Modifier::NONE };
    let text = "{\"b\": 1,  \"a\": [null], \"b\": 2}";
    write(&env, Path::new("f"), Format::Parquet, None, &[column], &[vec![Datum::text(text)]]);
    let mut reader = Reader::open(&env, Path::new("f"), FileFormat::Parquet, None).unwrap();
    let batch = reader.next_batch().unwrap().unwrap();
    let cells = Cells::new(batch.column(0), batch.schema().field(0)).unwrap();
    assert_eq!((cells.text(0), cells.natural().ty), (Some(text), Type::JSONB));
}

/// A value that goes as text because Arrow has no type for it is a value of its type again, and not
/// text.
#[test]
fn marked_texts_have_their_types() {
    let env = Env::sim(&SimVfs::new(1), 1);
    let names = ["numeric", "interval", "timetz", "numeric[]", "pg_lsn"];
    let column = |name: &&str| {
        let (ty, modifier) = ty(name);
        Column { name: (*name).to_owned(), ty, modifier }
    };
    let columns: Vec<Column> = names.iter().map(column).collect();
    for (format, file_format, compression) in FORMATS {
        let path = Path::new("marked");
        write(&env, path, format, compression, &columns, &[vec![Datum::Null; names.len()]]);
        let found = read(&env, path, file_format, None).unwrap();
        let types: Vec<Type> = found[0].iter().map(|(_, natural)| natural.ty).collect();
        let numeric = ty("numeric[]").0;
        assert_eq!(types, [Type::NUMERIC, Type::INTERVAL, Type::TIMETZ, numeric, Type::TEXT]);
    }
}

/// A value that no column of Arrow has a place for is refused, with the column, and is not changed.
#[test]
fn values_without_a_place_are_refused() {
    let style = Style::default();
    let context = context(&style);
    let cases = [
        ("numeric(4,1)", "NaN"),
        ("date", "infinity"),
        ("timestamptz", "-infinity"),
        ("timestamp", "294276-12-31 00:00:00"),
        ("interval", "3000000:00:00"),
        ("int4[]", "{{1},{2}}"),
    ];
    for (name, text) in cases {
        let (ty, modifier) = ty(name);
        let column = Column { name: "c".to_owned(), ty, modifier };
        let mut encoder = Encoder::new([column], Target::Arrow, &context).unwrap();
        let value = types::text::parse(text, ty, modifier, &context).unwrap();
        let error = encoder.push(&[value], &context).unwrap_err();
        assert_eq!(error.state().code(), "22003", "{name} {text}");
        assert_eq!(error.context(), Some("column c"));
        assert!(error.hint().is_some());
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn texts(batch: &RecordBatch) -> types::Result<Vec<String>> {
    let style = Style::default();
    let context = context(&style);
    let rows = rows_of(batch)?;
    let text = |row: &Vec<(Datum, Natural)>| {
        let row = row.iter().map(|(v, natural)| shown(v, natural.ty, natural.modifier, &context));
        row.collect::<Vec<_>>().join("|")
    };
    Ok(rows.iter().map(text).collect())
}

/// Types that other programs write and we do not: dictionaries, views, large types, unsigned numbers, nested
/// values.
#[test]
fn types_of_others() {
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    dictionary.append_value("x");
    dictionary.append_null();
    let mut lists = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    lists.values().values().append_value(1);
    lists.values().append(true);
    lists.values().append(false);
    lists.append(true);
    lists.append(false);
    let fields = Fields::from(vec![
        Field::new("a \"b\"", DataType::Int64, true),
        Field::new("f", DataType::Float64, true),
    ]);
    let structs = StructArray::new(
        fields,
        vec![
            Arc::new(Int64Array::from(vec![Some(1), None])),
            Arc::new(Float64Array::from(vec![f64::NAN, 0.5])),
        ],
        None,
    );
    let none: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(
        vec![None, None].into(),
        Arc::new(LargeStringArray::from(Vec::<&str>::new())),
    ));
    let found = texts(&batch(vec![
        ("dictionary", Arc::new(dictionary.finish())),
        ("empty dictionary", none),
        ("large", Arc::new(LargeStringArray::from(vec!["l", ""]))),
        ("view", Arc::new(StringViewArray::from(vec!["a view of more than twelve bytes", "v"]))),
        ("unsigned", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
        ("seconds", Arc::new(TimestampSecondArray::from(vec![-1, 0]).with_timezone("+02:00"))),
        ("nanoseconds", Arc::new(TimestampNanosecondArray::from(vec![-1, 1_999]))),
        ("lists", Arc::new(lists.finish())),
        ("structs", Arc::new(structs)),
    ]));
    assert_eq!(
        found.unwrap(),
        [
            "x|NULL|l|a view of more than twelve bytes|18446744073709551615|1969-12-31 23:59:59+00\
             |1969-12-31 23:59:59.999999|[[1], null]|{\"f\": \"NaN\", \"a \\\"b\\\"\": 1}",
            "NULL|NULL||v|0|1970-01-01 00:00:00+00|1970-01-01 00:00:00.000001|NULL\
             |{\"f\": 0.5, \"a \\\"b\\\"\": null}",
        ]
    );
}

/// A value that the type of SQL cannot hold is an error.
#[test]
fn values_out_of_range_are_errors() {
    let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
    assert_eq!(texts(&batch(vec![("t", far)])).unwrap_err().state().code(), "22008");
    let zero: ArrayRef = Arc::new(LargeStringArray::from(vec!["a\0b"]));
    assert_eq!(texts(&batch(vec![("t", zero)])).unwrap_err().state().code(), "22021");
    let field = Field::new("j", DataType::Utf8, true)
        .with_metadata([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())].into());
    let column: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["{"]));
    let schema = Arc::new(Schema::new(vec![field]));
    let wrong = RecordBatch::try_new(schema, vec![column]).unwrap();
    assert_eq!(texts(&wrong).unwrap_err().state().code(), "22P02");
}

/// A file of each format, with some columns of each kind.
fn files() -> Vec<(FileFormat, Vec<u8>)> {
    let style = Style::default();
    let context = context(&style);
    let names = ["int8", "text", "numeric(12,4)", "int4[]", "jsonb", "bool", "uuid"];
    let columns: Vec<Column> = names
        .iter()
        .map(|name| {
            let (ty, modifier) = ty(name);
            Column { name: (*name).to_owned(), ty, modifier }
        })
        .collect();
    let row = |at: usize| -> Vec<Datum> {
        let texts = [
            at.to_string(),
            format!("text {}", at % 7),
            format!("{at}.5"),
            format!("{{{at},NULL}}"),
            format!("{{\"n\": {at}}}"),
            (at.is_multiple_of(2)).to_string(),
            format!("00000000-0000-0000-0000-{at:012}"),
        ];
        let value = |(column, text): (&Column, String)| {
            types::text::parse(&text, column.ty, column.modifier, &context).unwrap()
        };
        columns.iter().zip(texts).map(value).collect()
    };
    let rows: Vec<Vec<Datum>> = (0..150).map(row).collect();
    let mut files = Vec::new();
    for (format, file_format, compression) in FORMATS {
        let env = Env::sim(&SimVfs::new(1), 1);
        write(&env, Path::new("f"), format, compression, &columns, &rows);
        let file = env.fs.open(Path::new("f"), OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        files.push((file_format, bytes));
    }
    files
}

fn read_bytes(bytes: &[u8], format: FileFormat) -> types::Result<usize> {
    let env = Env::sim(&SimVfs::new(1), 1);
    let file = env.fs.open(Path::new("f"), OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    read(&env, Path::new("f"), format, None).map(|rows| rows.len())
}

/// A file that was cut anywhere is an error that names the file, and never a part of the rows.
#[test]
fn truncated_files_are_errors() {
    for (format, bytes) in files() {
        assert_eq!(read_bytes(&bytes, format).unwrap(), 150);
        for length in (0..bytes.len()).step_by(64).chain([bytes.len() - 1]) {
            let error = read_bytes(&bytes[..length], format).unwrap_err();
            assert_eq!(error.state().code(), "XX001", "{format:?} cut at {length}: {error}");
            assert!(error.message().contains("\"f\""), "{error}");
        }
        let other =
            if format == FileFormat::Parquet { FileFormat::Arrow } else { FileFormat::Parquet };
        assert_eq!(read_bytes(&bytes, other).unwrap_err().state().code(), "XX001");
    }
}

/// A file with a flipped bit is an error, or has other values: formats without checksums cannot tell. It never
/// ends the process and never allocates what the file does not have.
#[test]
fn flipped_bits_never_panic() {
    let seed = vfs::seed(7);
    let hook = std::panic::take_hook();
    // The decoders' own panics are what is caught here: they need not be shown.
    std::panic::set_hook(Box::new(|_| {}));
    let found = std::panic::catch_unwind(|| {
        for (format, bytes) in files() {
            let random = SimRandom::new(seed);
            for _ in 0..1_500 {
                let mut bytes = bytes.clone();
                let at = (random.next_u64() % bytes.len() as u64) as usize;
                bytes[at] ^= 1 << (random.next_u64() % 8);
                let _ = read_bytes(&bytes, format);
            }
        }
    });
    std::panic::set_hook(hook);
    assert!(found.is_ok(), "ANYWHEN_SEED={seed}");
}

/// At a power loss after any operation the file with the name is the old one or the new one, whole.
#[test]
fn a_replaced_file_is_old_or_new() {
    let disk = SimVfs::new(3);
    let env = Env::sim(&disk, 3);
    env.fs.create_dir_all(Path::new("d")).unwrap();
    let path = Path::new("d/f");
    let style = Style::default();
    let column = Column { name: "i".to_owned(), ty: Type::INT8, modifier: Modifier::NONE };
    let put = |rows: i64| {
        let rows: Vec<_> = (0..rows).map(|row| vec![Datum::Int8(row)]).collect();
        write(&env, path, Format::Parquet, None, std::slice::from_ref(&column), &rows);
    };
    put(10);
    let before = disk.op_count();
    put(20);
    for at in before..=disk.op_count() {
        for policy in CrashPolicy::ALL {
            let env = Env::sim(&disk.image(at, &policy, 3), 3);
            let rows = read(&env, path, FileFormat::Parquet, None).unwrap().len();
            assert!(rows == 10 || rows == 20, "{rows} rows after operation {at}");
            assert!(at < disk.op_count() || rows == 20, "a finished file is durable");
        }
    }
    // A replacement that is given up leaves nothing.
    let given_up = Replacement::begin(&env, path).unwrap();
    let writer =
        Writer::new(given_up, Format::Parquet, None, [column.clone()], &context(&style)).unwrap();
    drop(writer);
    assert_eq!(env.fs.list(Path::new("d")).unwrap(), [path]);
}
