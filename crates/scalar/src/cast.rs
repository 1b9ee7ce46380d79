//! Casts: the casts between types, the contexts that allow them, and their methods.
//!
//! ```text
//!   implicit     anywhere                       int4 -> int8, varchar -> text
//!   assignment   into a column as well          int8 -> int4, anything -> text
//!   explicit     only where it is asked for     int4 -> bool, text -> anything
//! ```
//!
//! The table is PostgreSQL's `pg_cast`. Other casts follow from rules: arrays are cast by their
//! elements, a domain as its base type, and all other types with a text form go through it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::iter;
use std::sync::LazyLock;

use interrupt::Pace;
use types::{
    Array, Coercion, Datum, DatumRef, Error, Modifier, Oid, Record, Repr, Result, Shape, SqlState,
    Type,
};

use crate::context::Context;
use crate::extension;
use crate::facts::Facts;
use crate::function::{Call, internal};
use crate::registry;

/// `int4multirange(int4range)`, whose body takes a range of any type.
const MULTIRANGE: Oid = Oid(4281);

/// The context of a cast; each context allows what the ones before it allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoercionContext {
    /// In an expression, without anybody asking.
    Implicit,
    /// To store a value in a column.
    Assignment,
    /// By `CAST` or `::`.
    Explicit,
}

impl CoercionContext {
    /// Whether a value that is too long for its modifier is cut.
    pub fn coercion(self) -> Coercion {
        match self {
            CoercionContext::Implicit | CoercionContext::Assignment => Coercion::Assignment,
            CoercionContext::Explicit => Coercion::Explicit,
        }
    }
}

/// How a value of one type becomes one of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoercionPath {
    /// The value stays what it is, `varchar` as `text`; at most it is held differently, `int4` as
    /// `oid`.
    Relabel,
    /// By the function with this number, called with the value (and, where it takes them, the
    /// modifier and whether the cast is explicit).
    Function(Oid),
    /// By the function with this number, which makes so many bits of a number.
    Bits(Oid, i32),
    /// By the text form: written as the one, read as the other.
    InOut,
    /// Each element of an array by itself.
    Elements(Box<CoercionPath>),
    /// A named composite type from a record, field by field.
    Record,
}

/// How a value of `source` becomes one of `target` in a context; `None` if it does not.
pub fn find(
    facts: Facts<'_>,
    source: Type,
    target: Type,
    when: CoercionContext,
) -> Option<CoercionPath> {
    let (source, target) = (facts.base(source), facts.base(target));
    if source == target {
        return Some(CoercionPath::Relabel);
    }
    if let Some(cast) = declared(source, target) {
        return (cast.when <= when).then(|| cast.how());
    }
    // An `int2vector` is an array like others where it is cast to one.
    if facts.is_true_array(target)
        && let (Some(from), Some(to)) = (facts.element(source), facts.element(target))
    {
        return Some(CoercionPath::Elements(Box::new(find(facts, from, to, when)?)));
    }
    // The multirange type of a range type of users; the table has those that are built in.
    if facts.range_of(target) == Some(source) {
        return (when >= CoercionContext::Explicit).then_some(CoercionPath::Function(MULTIRANGE));
    }
    if facts.is_composite(source) && target == Type::RECORD {
        return Some(CoercionPath::Relabel);
    }
    if source == Type::RECORD && facts.is_composite(target) {
        return Some(CoercionPath::Record);
    }
    // Every type has a text form.
    if facts.category(target) == 'S' && when >= CoercionContext::Assignment {
        return Some(CoercionPath::InOut);
    }
    (facts.category(source) == 'S' && when >= CoercionContext::Explicit)
        .then_some(CoercionPath::InOut)
}

/// Makes a cast, without a modifier of the target type. A value of a domain meets the constraints of
/// the domain.
///
/// # Errors
/// The errors of the function or the target's text form; 42846 for a record that has other fields
/// than the composite type; 23502 and 23514 where the target is a domain that refuses the value.
pub fn apply(
    how: &CoercionPath,
    value: DatumRef<'_>,
    source: Type,
    target: Type,
    when: CoercionContext,
    context: &Context<'_>,
) -> Result<Datum> {
    if !context.types.types.is_domain(target) {
        return to_base(how, value, source, target, when, context);
    }
    let (base, _) = context.types.types.base_of(target);
    let value = to_base(how, value, source, base, when, context)?;
    context.types.as_domain(target, value, when.coercion())
}

/// Makes a cast to a type that is no domain.
fn to_base(
    how: &CoercionPath,
    value: DatumRef<'_>,
    source: Type,
    target: Type,
    when: CoercionContext,
    context: &Context<'_>,
) -> Result<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let facts = Facts(context.types.types);
    match how {
        CoercionPath::Relabel => hold_as(value, target, context),
        CoercionPath::Function(oid) | CoercionPath::Bits(oid, _) => {
            let function = registry::function(*oid)
                .ok_or_else(|| internal(format!("there is no function {oid}")))?;
            let modifier = if let CoercionPath::Bits(_, modifier) = how { *modifier } else { -1 };
            // Length coercions take a modifier, and some whether they may cut.
            let more =
                [DatumRef::Int4(modifier), DatumRef::Bool(when == CoercionContext::Explicit)];
            let args: Vec<_> = iter::once(value).chain(more).take(function.args.len()).collect();
            let call = Call { context, args: function.args, ret: function.ret, spread: false };
            hold_as(function.call(&call, &args)?.as_ref(), target, context)
        }
        CoercionPath::InOut => {
            let text = types::text::try_to_string(value, source, Modifier::NONE, &context.types)?;
            let text = text.unwrap_or_default();
            types::text::parse(&text, target, Modifier::NONE, &context.types)
        }
        CoercionPath::Elements(each) => {
            let DatumRef::Array(array) = value else {
                return Err(internal(format!("{value:?} is no array")));
            };
            let element = |ty| {
                facts
                    .element(facts.base(ty))
                    .ok_or_else(|| internal("the type of an array is none"))
            };
            let (from, to) = (element(source)?, element(target)?);
            let mut pace = Pace::new();
            let values = array
                .iter()
                .map(|value| {
                    pace.step(64)?;
                    apply(each, value, from, to, when, context)
                })
                .collect::<Result<Vec<_>>>()?;
            let repr = context.types.types.repr_of(to)?;
            let values = values.iter().map(Datum::as_ref);
            Ok(Array::new(to, repr, &array.dimensions(), values)?.into())
        }
        CoercionPath::Record => fields(value, target, when, context),
    }
}

/// A record as a named composite type: each field cast to the type of the column.
fn fields(
    value: DatumRef<'_>,
    target: Type,
    when: CoercionContext,
    context: &Context<'_>,
) -> Result<Datum> {
    let facts = Facts(context.types.types);
    let refuse = |detail: &str| {
        let name = facts.name(target);
        Error::new(SqlState::CANNOT_COERCE, format!("cannot cast type record to {name}"))
            .with_detail(detail)
    };
    let Shape::Composite(columns) = context.types.types.shape_of(facts.base(target))? else {
        return Err(refuse("The target is no composite type."));
    };
    let DatumRef::Record(record) = value else {
        return Err(internal(format!("{value:?} is no record")));
    };
    match record.len().cmp(&columns.len()) {
        Ordering::Less => return Err(refuse("Input has too few columns.")),
        Ordering::Greater => return Err(refuse("Input has too many columns.")),
        Ordering::Equal => {}
    }
    let mut values = Vec::with_capacity(columns.len());
    for ((source, _, value), column) in record.iter().zip(columns.iter()) {
        let how = find(facts, source, column.ty, when)
            .ok_or_else(|| refuse("A column has a type that cannot be cast."))?;
        let value = apply(&how, value, source, column.ty, when, context)?;
        let value = column.modifier.apply(value, column.ty, when.coercion())?;
        values.push((column.ty, context.types.types.repr_of(column.ty)?, value));
    }
    let values = values.iter().map(|(ty, repr, value)| (*ty, *repr, value.as_ref()));
    Ok(Record::new(values).into())
}

/// The value as the target type holds it, where both have the same bits.
fn hold_as(value: DatumRef<'_>, target: Type, context: &Context<'_>) -> Result<Datum> {
    let repr = context.types.types.repr_of(target)?;
    Ok(match (value, repr) {
        (DatumRef::Int4(number), Repr::Oid) => Datum::Oid(Oid(number as u32)),
        (DatumRef::Oid(oid), Repr::Int4) => Datum::Int4(oid.0 as i32),
        (DatumRef::Text(text), Repr::Text) if target == Type::BPCHAR => {
            Datum::text(text.trim_end_matches(' '))
        }
        (DatumRef::Text(text), Repr::Folded) => Datum::Folded(text.into()),
        (DatumRef::Folded(text), Repr::Text) => {
            return hold_as(DatumRef::Text(text), target, context);
        }
        (value, _) => value.to_owned(),
    })
}

/// The function that fits a value of a type to a modifier of it, as `varchar(10)` does: it takes
/// the value, the modifier, and for some types whether the cast is explicit.
pub fn to_modifier(ty: Type) -> Option<Oid> {
    match declared(ty, ty)?.method {
        Method::Function(oid) => Some(Oid(oid)),
        Method::Binary | Method::InOut => None,
    }
}

/// One entry of `pg_cast`.
#[derive(Debug, Clone, Copy)]
pub struct Cast {
    /// The type that is cast.
    pub source: Type,
    /// The type that it becomes.
    pub target: Type,
    /// The least context that allows it.
    pub when: CoercionContext,
    /// The method.
    pub(crate) method: Method,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Method {
    Binary,
    InOut,
    Function(u32),
}

impl Cast {
    /// How the cast is made.
    pub fn how(&self) -> CoercionPath {
        match self.method {
            Method::Binary => CoercionPath::Relabel,
            Method::InOut => CoercionPath::InOut,
            Method::Function(oid) => CoercionPath::Function(Oid(oid)),
        }
    }
}

/// All declared casts.
pub fn all() -> &'static [Cast] {
    static ALL: LazyLock<Vec<Cast>> = LazyLock::new(|| {
        TABLE.iter().chain(extension::CASTS.iter().copied().flatten()).copied().collect()
    });
    &ALL
}

fn declared(source: Type, target: Type) -> Option<&'static Cast> {
    static INDEX: LazyLock<HashMap<(Type, Type), &Cast>> =
        LazyLock::new(|| all().iter().map(|cast| ((cast.source, cast.target), cast)).collect());
    INDEX.get(&(source, target)).copied()
}

macro_rules! casts {
    ($($source:ident -> $target:ident $when:ident $method:ident $(($oid:literal))?;)*) => {
        &[$($crate::cast::Cast {
            source: types::Type::$source,
            target: types::Type::$target,
            when: $crate::cast::CoercionContext::$when,
            method: $crate::cast::Method::$method $(($oid))?,
        }),*]
    };
}

pub(crate) use casts;

const TABLE: &[Cast] = casts! {
    BOOL -> INT4 Explicit Function(2558);
    BOOL -> TEXT Assignment Function(2971);
    BOOL -> BPCHAR Assignment Function(2971);
    BOOL -> VARCHAR Assignment Function(2971);
    CHAR -> INT4 Explicit Function(77);
    CHAR -> TEXT Implicit Function(946);
    CHAR -> BPCHAR Assignment Function(860);
    CHAR -> VARCHAR Assignment Function(946);
    NAME -> TEXT Implicit Function(406);
    NAME -> BPCHAR Assignment Function(408);
    NAME -> VARCHAR Assignment Function(1401);
    INT8 -> INT2 Assignment Function(714);
    INT8 -> INT4 Assignment Function(480);
    INT8 -> REGPROC Implicit Function(1287);
    INT8 -> OID Implicit Function(1287);
    INT8 -> FLOAT4 Implicit Function(652);
    INT8 -> FLOAT8 Implicit Function(482);
    INT8 -> NUMERIC Implicit Function(1781);
    INT8 -> REGPROCEDURE Implicit Function(1287);
    INT8 -> REGOPER Implicit Function(1287);
    INT8 -> REGOPERATOR Implicit Function(1287);
    INT8 -> REGCLASS Implicit Function(1287);
    INT8 -> REGTYPE Implicit Function(1287);
    INT8 -> REGCONFIG Implicit Function(1287);
    INT8 -> REGNAMESPACE Implicit Function(1287);
    INT8 -> REGROLE Implicit Function(1287);
    INT8 -> REGCOLLATION Implicit Function(1287);
    INT2 -> INT8 Implicit Function(754);
    INT2 -> INT4 Implicit Function(313);
    INT2 -> REGPROC Implicit Function(313);
    INT2 -> OID Implicit Function(313);
    INT2 -> FLOAT4 Implicit Function(236);
    INT2 -> FLOAT8 Implicit Function(235);
    INT2 -> NUMERIC Implicit Function(1782);
    INT2 -> REGPROCEDURE Implicit Function(313);
    INT2 -> REGOPER Implicit Function(313);
    INT2 -> REGOPERATOR Implicit Function(313);
    INT2 -> REGCLASS Implicit Function(313);
    INT2 -> REGTYPE Implicit Function(313);
    INT2 -> REGCONFIG Implicit Function(313);
    INT2 -> REGNAMESPACE Implicit Function(313);
    INT2 -> REGROLE Implicit Function(313);
    INT2 -> REGCOLLATION Implicit Function(313);
    INT4 -> BOOL Explicit Function(2557);
    INT4 -> CHAR Explicit Function(78);
    INT4 -> INT8 Implicit Function(481);
    INT4 -> INT2 Assignment Function(314);
    INT4 -> REGPROC Implicit Binary;
    INT4 -> OID Implicit Binary;
    INT4 -> FLOAT4 Implicit Function(318);
    INT4 -> FLOAT8 Implicit Function(316);
    INT4 -> NUMERIC Implicit Function(1740);
    INT4 -> REGPROCEDURE Implicit Binary;
    INT4 -> REGOPER Implicit Binary;
    INT4 -> REGOPERATOR Implicit Binary;
    INT4 -> REGCLASS Implicit Binary;
    INT4 -> REGTYPE Implicit Binary;
    INT4 -> REGCONFIG Implicit Binary;
    INT4 -> REGNAMESPACE Implicit Binary;
    INT4 -> REGROLE Implicit Binary;
    INT4 -> REGCOLLATION Implicit Binary;
    REGPROC -> INT8 Assignment Function(1288);
    REGPROC -> INT4 Assignment Binary;
    REGPROC -> OID Implicit Binary;
    REGPROC -> REGPROCEDURE Implicit Binary;
    TEXT -> CHAR Assignment Function(944);
    TEXT -> NAME Implicit Function(407);
    TEXT -> BPCHAR Implicit Binary;
    TEXT -> VARCHAR Implicit Binary;
    TEXT -> REGCLASS Implicit Function(1079);
    OID -> INT8 Assignment Function(1288);
    OID -> INT4 Assignment Binary;
    OID -> REGPROC Implicit Binary;
    OID -> REGPROCEDURE Implicit Binary;
    OID -> REGOPER Implicit Binary;
    OID -> REGOPERATOR Implicit Binary;
    OID -> REGCLASS Implicit Binary;
    OID -> REGTYPE Implicit Binary;
    OID -> REGCONFIG Implicit Binary;
    OID -> REGNAMESPACE Implicit Binary;
    OID -> REGROLE Implicit Binary;
    OID -> REGCOLLATION Implicit Binary;
    JSON -> JSONB Assignment InOut;
    FLOAT4 -> INT8 Assignment Function(653);
    FLOAT4 -> INT2 Assignment Function(238);
    FLOAT4 -> INT4 Assignment Function(319);
    FLOAT4 -> FLOAT8 Implicit Function(311);
    FLOAT4 -> NUMERIC Assignment Function(1742);
    FLOAT8 -> INT8 Assignment Function(483);
    FLOAT8 -> INT2 Assignment Function(237);
    FLOAT8 -> INT4 Assignment Function(317);
    FLOAT8 -> FLOAT4 Assignment Function(312);
    FLOAT8 -> NUMERIC Assignment Function(1743);
    BPCHAR -> CHAR Assignment Function(944);
    BPCHAR -> NAME Implicit Function(409);
    BPCHAR -> TEXT Implicit Function(401);
    BPCHAR -> BPCHAR Implicit Function(668);
    BPCHAR -> VARCHAR Implicit Function(401);
    VARCHAR -> CHAR Assignment Function(944);
    VARCHAR -> NAME Implicit Function(1400);
    VARCHAR -> TEXT Implicit Binary;
    VARCHAR -> BPCHAR Implicit Binary;
    VARCHAR -> VARCHAR Implicit Function(669);
    VARCHAR -> REGCLASS Implicit Function(1079);
    DATE -> TIMESTAMP Implicit Function(2024);
    DATE -> TIMESTAMPTZ Implicit Function(1174);
    TIME -> TIME Implicit Function(1968);
    TIME -> INTERVAL Implicit Function(1370);
    TIME -> TIMETZ Implicit Function(2047);
    TIMESTAMP -> DATE Assignment Function(2029);
    TIMESTAMP -> TIME Assignment Function(1316);
    TIMESTAMP -> TIMESTAMP Implicit Function(1961);
    TIMESTAMP -> TIMESTAMPTZ Implicit Function(2028);
    TIMESTAMPTZ -> DATE Assignment Function(1178);
    TIMESTAMPTZ -> TIME Assignment Function(2019);
    TIMESTAMPTZ -> TIMESTAMP Assignment Function(2027);
    TIMESTAMPTZ -> TIMESTAMPTZ Implicit Function(1967);
    TIMESTAMPTZ -> TIMETZ Assignment Function(1388);
    INTERVAL -> TIME Assignment Function(1419);
    INTERVAL -> INTERVAL Implicit Function(1200);
    TIMETZ -> TIME Assignment Function(2046);
    TIMETZ -> TIMETZ Implicit Function(1969);
    NUMERIC -> INT8 Assignment Function(1779);
    NUMERIC -> INT2 Assignment Function(1783);
    NUMERIC -> INT4 Assignment Function(1744);
    NUMERIC -> FLOAT4 Implicit Function(1745);
    NUMERIC -> FLOAT8 Implicit Function(1746);
    NUMERIC -> NUMERIC Implicit Function(1703);
    REGPROCEDURE -> INT8 Assignment Function(1288);
    REGPROCEDURE -> INT4 Assignment Binary;
    REGPROCEDURE -> REGPROC Implicit Binary;
    REGPROCEDURE -> OID Implicit Binary;
    REGOPER -> INT8 Assignment Function(1288);
    REGOPER -> INT4 Assignment Binary;
    REGOPER -> OID Implicit Binary;
    REGOPER -> REGOPERATOR Implicit Binary;
    REGOPERATOR -> INT8 Assignment Function(1288);
    REGOPERATOR -> INT4 Assignment Binary;
    REGOPERATOR -> OID Implicit Binary;
    REGOPERATOR -> REGOPER Implicit Binary;
    REGCLASS -> INT8 Assignment Function(1288);
    REGCLASS -> INT4 Assignment Binary;
    REGCLASS -> OID Implicit Binary;
    REGTYPE -> INT8 Assignment Function(1288);
    REGTYPE -> INT4 Assignment Binary;
    REGTYPE -> OID Implicit Binary;
    REGCONFIG -> INT8 Assignment Function(1288);
    REGCONFIG -> INT4 Assignment Binary;
    REGCONFIG -> OID Implicit Binary;
    JSONB -> BOOL Explicit Function(3556);
    JSONB -> INT8 Explicit Function(3452);
    JSONB -> INT2 Explicit Function(3450);
    JSONB -> INT4 Explicit Function(3451);
    JSONB -> JSON Assignment InOut;
    JSONB -> FLOAT4 Explicit Function(3453);
    JSONB -> FLOAT8 Explicit Function(2580);
    JSONB -> NUMERIC Explicit Function(3449);
    REGNAMESPACE -> INT8 Assignment Function(1288);
    REGNAMESPACE -> INT4 Assignment Binary;
    REGNAMESPACE -> OID Implicit Binary;
    REGCOLLATION -> INT8 Assignment Function(1288);
    REGCOLLATION -> INT4 Assignment Binary;
    REGCOLLATION -> OID Implicit Binary;
    REGROLE -> INT8 Assignment Function(1288);
    REGROLE -> INT4 Assignment Binary;
    REGROLE -> OID Implicit Binary;
    XID8 -> XID Explicit Function(5071);
    INT4RANGE -> INT4MULTIRANGE Explicit Function(4281);
    NUMRANGE -> NUMMULTIRANGE Explicit Function(4284);
    TSRANGE -> TSMULTIRANGE Explicit Function(4287);
    TSTZRANGE -> TSTZMULTIRANGE Explicit Function(4290);
    DATERANGE -> DATEMULTIRANGE Explicit Function(4293);
    INT8RANGE -> INT8MULTIRANGE Explicit Function(4296);
    INT8 -> BIT Explicit Function(2075);
    BIT -> INT8 Explicit Function(2076);
    BIT -> BIT Implicit Function(1685);
    BIT -> VARBIT Implicit Binary;
    BIT -> INT4 Explicit Function(1684);
    VARBIT -> BIT Implicit Binary;
    VARBIT -> VARBIT Implicit Function(1687);
    CIDR -> BPCHAR Assignment Function(730);
    CIDR -> VARCHAR Assignment Function(730);
    CIDR -> INET Implicit Binary;
    CIDR -> TEXT Assignment Function(730);
    INET -> BPCHAR Assignment Function(730);
    INET -> VARCHAR Assignment Function(730);
    INET -> CIDR Assignment Function(1715);
    INET -> TEXT Assignment Function(730);
    INT4 -> BIT Explicit Function(1683);
    MACADDR -> MACADDR8 Implicit Function(4123);
    MACADDR8 -> MACADDR Implicit Function(4124);
    MONEY -> NUMERIC Assignment Function(3823);
    NUMERIC -> MONEY Assignment Function(3824);
    INT4 -> MONEY Assignment Function(3811);
    INT8 -> MONEY Assignment Function(3812);
    POINT -> BOX Assignment Function(4091);
    LSEG -> POINT Explicit Function(1532);
    PATH -> POLYGON Assignment Function(1449);
    BOX -> POINT Explicit Function(1534);
    BOX -> LSEG Explicit Function(1541);
    BOX -> POLYGON Assignment Function(1448);
    BOX -> CIRCLE Explicit Function(1479);
    POLYGON -> POINT Explicit Function(1540);
    POLYGON -> PATH Assignment Function(1447);
    POLYGON -> BOX Explicit Function(1446);
    POLYGON -> CIRCLE Explicit Function(1474);
    CIRCLE -> POINT Explicit Function(1416);
    CIRCLE -> BOX Explicit Function(1480);
    CIRCLE -> POLYGON Explicit Function(1544);
};
