//! The same calls, the same answers as PostgreSQL: each line of `postgres.tsv` is a function or an
//! operator, its arguments as text, and what a server of version 17 said.

mod patterns;

use std::fmt::Write;

use scalar::aggregate::Kind;
use scalar::facts::Facts;
use scalar::function::{Call, Function};
use scalar::resolve::{self, Called};
use scalar::{Clock, Context, Eval, Random, Session, registry};
use types::time::TimestampTz;
use types::{
    DateFormat, DateOrder, Datum, DatumRef, Error, IntervalStyle, Modifier, Record, Result, Style,
    Type, builtin,
};

/// A session in which nothing ever happens.
struct Quiet;

impl Clock for Quiet {
    fn now(&self) -> TimestampTz {
        TimestampTz(0)
    }
}

impl Random for Quiet {
    fn bits(&self) -> u64 {
        0
    }

    fn seed(&self, _: f64) {}

    fn secret(&self) -> [u8; 16] {
        [0; 16]
    }
}

impl Session for Quiet {
    fn setting(&self, _: &str) -> Option<String> {
        None
    }

    fn database(&self) -> &str {
        "postgres"
    }

    fn user(&self) -> &str {
        "postgres"
    }

    fn session_user(&self) -> &str {
        "postgres"
    }
}

#[test]
fn every_line_is_answered_as_postgres_answers_it() {
    let style = style();
    let context = Context {
        types: types::Context::new(&style),
        statement: TimestampTz(0),
        clock: &Quiet,
        random: &Quiet,
        session: &Quiet,
    };
    let (mut lines, mut count, mut wrong) = (0, 0, String::new());
    for line in include_str!("postgres.tsv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<String> = line.split('\t').map(unescape).collect();
        let [kind, name, arguments @ .., expected] = fields.as_slice() else {
            panic!("no result in {line}");
        };
        let found = answer(&context, kind, name, arguments).unwrap_or_else(refusal);
        if !same(&found, expected) {
            count += 1;
            writeln!(
                wrong,
                "{kind} {name} {arguments:?}\n  expected {expected}\n  found    {found}"
            )
            .unwrap();
        }
        lines += 1;
    }
    assert!(lines > 5_000, "only {lines} lines");
    assert!(count == 0, "{count} of {lines}\n{wrong}");
}

/// Texts are the same, and so are floats that differ in their last digit: sines and logarithms come
/// from the libraries of two machines.
fn same(found: &str, expected: &str) -> bool {
    if found == expected {
        return true;
    }
    match (found.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(found), Ok(expected)) if expected.fract() != 0.0 || expected.abs() > 1e15 => {
            (found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs()
        }
        _ => false,
    }
}

fn style() -> Style {
    Style {
        date_format: DateFormat::Iso,
        date_order: DateOrder::Mdy,
        interval_style: IntervalStyle::Postgres,
        ..Style::default()
    }
}

fn unescape(field: &str) -> String {
    let mut out = String::new();
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                other => out.extend(other),
            },
            c => out.push(c),
        }
    }
    out
}

fn refusal(error: Error) -> String {
    let mut out = format!("!{} {}", error.state(), error.message());
    if let Some(detail) = error.detail() {
        write!(out, " / {detail}").unwrap();
    }
    if let Some(hint) = error.hint() {
        write!(out, " // {hint}").unwrap();
    }
    out
}

fn type_named(name: &str) -> Type {
    if let Some(element) = name.strip_suffix("[]") {
        return builtin::by_name(element).unwrap().array;
    }
    builtin::by_name(name).unwrap_or_else(|| panic!("no type {name}")).ty
}

fn answer(context: &Context<'_>, kind: &str, name: &str, arguments: &[String]) -> Result<String> {
    let (mut types, mut values) = (Vec::new(), Vec::new());
    let mut wanted = None;
    for argument in arguments {
        if let Some(columns) = argument.strip_prefix("as:") {
            wanted = Some(columns.to_owned());
            continue;
        }
        let (ty, text) = argument.split_once(':').unwrap();
        let ty = type_named(ty);
        types.push(ty);
        values.push(match text {
            "\\N" => Datum::Null,
            text => types::text::parse(text, ty, Modifier::NONE, &context.types)?,
        });
    }
    let values: Vec<DatumRef<'_>> = values.iter().map(Datum::as_ref).collect();
    let source = context.types.types;
    let (function, ret): (&Function, Type) = if kind == "o" {
        let (left, right) = match types[..] {
            [left, right] => (Some(left), right),
            _ => (None, types[0]),
        };
        let found = resolve::operator(source, name, left, right)?;
        (registry::function(found.operator.function).expect("a function"), found.ret)
    } else {
        let sorted = types.len() - usize::from(kind == "w").min(types.len());
        if kind == "w" {
            types[sorted] = Facts(source).element(types[sorted]).unwrap();
        }
        if kind == "a" {
            types = types.iter().map(|ty| Facts(source).element(*ty).unwrap()).collect();
        }
        match resolve::function(source, name, &types, false)? {
            Called::Function(found) => (found.function, found.ret),
            Called::Cast(ty) => panic!("{name} is a cast to {ty:?}"),
        }
    };
    let mut values = values;
    let defaults: Vec<Datum> = function
        .defaults
        .iter()
        .skip(values.len() + function.defaults.len() - function.args.len().max(values.len()))
        .map(|default| default.value())
        .collect();
    values.extend(defaults.iter().map(Datum::as_ref));
    let call = Call { context, args: &types, ret, spread: false };
    let show = |value: &Datum, ty| {
        // The output of the cast to text, which differs from that of the type itself.
        match value {
            Datum::Bool(value) => value.to_string(),
            value => types::text::to_string(value.as_ref(), ty, Modifier::NONE, &context.types)
                .unwrap_or_else(|| "NULL".to_owned()),
        }
    };
    if kind == "a" || kind == "w" {
        return aggregate(&call, function, &values).map(|value| show(&value, ret));
    }
    if kind == "r" {
        return rows_of(&call, function, &values, wanted.as_deref().unwrap_or_default());
    }
    if kind == "s" {
        let rows = all(function.rows(&call, &values)?)?;
        let shown: Vec<_> = rows.iter().map(|row| show(row, ret)).collect();
        return Ok(shown.join("|"));
    }
    let value = function.call(&call, &values)?;
    if !value.is_null() {
        assert_eq!(value.repr(), Some(source.repr_of(ret)?), "{name}");
        assert!(ret == Type::RECORD || Facts(source).category(ret) != 'P', "{name} gives {ret:?}");
    }
    Ok(show(&value, ret))
}

/// Every row of a set.
fn all(mut rows: scalar::Rows) -> Result<Vec<Datum>> {
    std::iter::from_fn(move || rows.next_value()).collect()
}

/// The rows of a function that gives records of these columns: `a int4, b text[]`.
fn rows_of(
    call: &Call<'_>,
    function: &Function,
    values: &[DatumRef<'_>],
    columns: &str,
) -> Result<String> {
    let types = &call.context.types;
    let columns: Vec<(&str, Type, Modifier)> = columns
        .split(", ")
        .map(|column| {
            let (name, ty) = column.split_once(' ').unwrap();
            match ty.strip_prefix("varchar(") {
                Some(length) => {
                    let length = length.trim_end_matches(')').parse().unwrap();
                    (name, Type::VARCHAR, Modifier::parse(Type::VARCHAR, &[length]).unwrap())
                }
                None => (name, type_named(ty), Modifier::NONE),
            }
        })
        .collect();
    let fields: Vec<_> = columns
        .iter()
        .map(|(_, ty, _)| Ok((*ty, types.types.repr_of(*ty)?, DatumRef::Null)))
        .collect::<Result<_>>()?;
    let names = columns.iter().map(|(name, _, modifier)| (*name, *modifier));
    let described: Datum = Record::new(fields).named(names).into();
    let args: Vec<_> = values.iter().copied().chain([described.as_ref()]).collect();
    let rows = match function.set {
        true => all(function.rows(call, &args)?)?,
        false => vec![function.call(call, &args)?],
    };
    let show =
        |row: &Datum| types::text::to_string(row.as_ref(), Type::RECORD, Modifier::NONE, types);
    Ok(rows.iter().map(|row| show(row).unwrap_or_default()).collect::<Vec<_>>().join("|"))
}

/// The aggregate over the elements of arrays: the first elements are the first row.
fn aggregate(call: &Call<'_>, function: &Function, arrays: &[DatumRef<'_>]) -> Result<Datum> {
    let Eval::Aggregate(aggregate) = function.eval else { panic!("{}", function.name) };
    let direct = match aggregate.kind {
        Kind::OrderedSet { direct } => direct,
        _ => 0,
    };
    let columns: Vec<Vec<Datum>> = arrays[direct..]
        .iter()
        .map(|array| match array {
            DatumRef::Array(array) => array.to_vec(),
            other => panic!("{other:?} is no array"),
        })
        .collect();
    let mut accumulator = (aggregate.start)(call.args);
    accumulator.begin(&arrays[..direct]);
    for row in 0..columns[0].len() {
        let row: Vec<_> = columns.iter().map(|column| column[row].as_ref()).collect();
        accumulator.add(call, &row)?;
    }
    accumulator.finish(call)
}
