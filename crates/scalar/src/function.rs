//! Functions: their signatures, and the form in which a table of functions is written.
//!
//! The tables of this crate are lists of lines like these, one for each entry of PostgreSQL's
//! `pg_proc`, with its number, its name and the types of arguments and result:
//!
//! ```text
//!   1397 abs(INT4) -> INT4 = (x: i32) x.checked_abs().ok_or_else(int_range);
//!   1778 to_timestamp(TEXT, TEXT) -> TIMESTAMPTZ [stable] = (call; text: &str, form: &str) ...;
//!   3058 concat(ANY) -> TEXT [stable, nullable, variadic] = [call, args] ...;
//! ```
//!
//! A body with typed parameters gets the values taken out of their [`DatumRef`]s; one after `[call,
//! args]` gets them as they are. A function is strict (NULL for any NULL argument, without being
//! called) unless it is `nullable`, and immutable unless it is `stable` or `volatile`.

use types::bounded::{self, BytesBuilder, TextBuilder};
use types::time::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
use types::{
    Array, ArrayRef, Datum, DatumRef, Error, Multirange, MultirangeRef, Oid, Range, RangeRef,
    Record, RecordRef, Result, SqlState, Type,
};

use ::json::jsonb::{Jsonb, JsonbRef};
use numeric::Numeric;

use crate::aggregate::Aggregate;
use crate::context::Context;
use crate::names;
use crate::rows::Rows;

/// One entry of `pg_proc`.
#[derive(Debug)]
pub struct Function {
    /// The number that `pg_proc` has for it.
    pub oid: Oid,
    /// The name, as it is in the catalog.
    pub name: &'static str,
    /// The types of the arguments as declared; for a variadic function the last is the type of the
    /// array, or `"any"`.
    pub args: &'static [Type],
    /// True if the last argument takes any number of values.
    pub variadic: bool,
    /// How many of the last arguments may be left out.
    pub defaults: &'static [Default],
    /// The type of the result as declared.
    pub ret: Type,
    /// True if the result is a set of rows.
    pub set: bool,
    /// True if any NULL argument makes the result NULL.
    pub strict: bool,
    /// When the result may change.
    pub volatility: Volatility,
    /// The implementation.
    pub eval: Eval,
}

/// The value of an argument that was left out, as it would be written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(&'static str),
    /// An integer.
    Int(i32),
    /// A floating point number.
    Float(f64),
    /// The `jsonb` object without fields.
    EmptyObject,
}

impl Default {
    /// The value, as the type of its argument holds it.
    pub fn value(&self) -> Datum {
        match *self {
            Self::Null => Datum::Null,
            Self::Bool(value) => Datum::Bool(value),
            Self::Text(value) => Datum::text(value),
            Self::Int(value) => Datum::Int4(value),
            Self::Float(value) => Datum::Float8(value),
            Self::EmptyObject => {
                Datum::Jsonb(::json::jsonb::build_object(&[], &[]).unwrap_or_default())
            }
        }
    }
}

/// When the result of a function for the same arguments may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// Never.
    Immutable,
    /// Between statements.
    Stable,
    /// At any call.
    Volatile,
}

/// The implementation of a function.
#[derive(Clone, Copy)]
pub enum Eval {
    /// Gives one value.
    Scalar(fn(&Call<'_>, &[DatumRef<'_>]) -> Result<Datum>),
    /// Gives the rows of a set; a row of more than one column is a record.
    Set(fn(&Call<'_>, &[DatumRef<'_>]) -> Result<Rows>),
    /// Gives one value for many rows.
    Aggregate(Aggregate),
    /// A window operator computes it, which knows the rows of the window: `row_number`, `lag` and
    /// their kin.
    Window,
    /// The server computes it, which knows the catalog and the transaction: `nextval`,
    /// `pg_get_indexdef`.
    Server,
}

impl std::fmt::Debug for Eval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Scalar(_) => "Scalar",
            Self::Set(_) => "Set",
            Self::Aggregate(_) => "Aggregate",
            Self::Window => "Window",
            Self::Server => "Server",
        })
    }
}

/// The circumstances of a call.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The statement and the session.
    pub context: &'a Context<'a>,
    /// The types that the arguments really have.
    pub args: &'a [Type],
    /// The type that the result really has.
    pub ret: Type,
    /// True if the last argument was marked `VARIADIC` and is an array of arguments.
    pub spread: bool,
}

impl Function {
    /// The result for these arguments, NULL where a strict function gets one.
    ///
    /// # Errors
    /// The errors of the function; XX000 where it is no scalar function.
    pub fn call(&self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Datum> {
        if self.strict && args.iter().any(|arg| arg.is_null()) {
            return Ok(Datum::Null);
        }
        match self.eval {
            Eval::Scalar(eval) => bounded::value(eval(call, args)?),
            _ => Err(internal(format!("{} gives no single value", self.name))),
        }
    }

    /// The rows for these arguments, none if a strict function gets NULL.
    ///
    /// # Errors
    /// The errors of the function; XX000 where it gives no set.
    pub fn rows(&self, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Rows> {
        if self.strict && args.iter().any(|arg| arg.is_null()) {
            return Ok(Box::new(std::iter::empty()));
        }
        match self.eval {
            Eval::Set(eval) => eval(call, args),
            _ => Err(internal(format!("{} gives no set", self.name))),
        }
    }

    /// The names of the arguments; empty where they have none.
    pub fn argument_names(&self) -> &'static [&'static str] {
        names::of_arguments(self.oid)
    }

    /// The columns of the rows that it returns, where they have more than one.
    pub fn columns(&self) -> names::Columns {
        names::of_columns(self.oid)
    }

    /// True if calls are for the binder to compute in groups.
    pub fn is_aggregate(&self) -> bool {
        matches!(self.eval, Eval::Aggregate(_))
    }
}

/// A fault of the program: the plan does not fit the function.
pub(crate) fn internal(message: impl Into<String>) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, message)
}

/// A Rust value that an argument holds.
pub(crate) trait Argument<'a>: Sized {
    fn read(value: DatumRef<'a>) -> Result<Self>;
}

macro_rules! arguments {
    ($($variant:ident $from:ty;)*) => {$(
        impl<'a> Argument<'a> for $from {
            #[inline]
            fn read(value: DatumRef<'a>) -> Result<Self> {
                match value {
                    DatumRef::$variant(value) => Ok(value),
                    other => Err(unexpected(stringify!($variant), other)),
                }
            }
        }
    )*};
}

#[cold]
pub(crate) fn unexpected(wanted: &str, found: DatumRef<'_>) -> Error {
    internal(format!("an argument should be {wanted} and is {found:?}"))
}

arguments! {
    Bool bool;
    Int2 i16;
    Int4 i32;
    Int8 i64;
    Float4 f32;
    Float8 f64;
    Bytea &'a [u8];
    Date Date;
    Time Time;
    TimeTz TimeTz;
    Timestamp Timestamp;
    TimestampTz TimestampTz;
    Interval Interval;
    Uuid [u8; 16];
    Oid Oid;
    Array ArrayRef<'a>;
    Record RecordRef<'a>;
    Range RangeRef<'a>;
    Multirange MultirangeRef<'a>;
    Jsonb JsonbRef<'a>;
}

impl<'a> Argument<'a> for &'a str {
    #[inline]
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Text(value) | DatumRef::Folded(value) => Ok(value),
            other => Err(unexpected("Text", other)),
        }
    }
}

impl<'a> Argument<'a> for Numeric {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        match value {
            DatumRef::Numeric(value) => Ok(value.get()),
            other => Err(unexpected("Numeric", other)),
        }
    }
}

impl<'a> Argument<'a> for DatumRef<'a> {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        Ok(value)
    }
}

impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    fn read(value: DatumRef<'a>) -> Result<Self> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }
}

/// A Rust value that becomes a result.
pub(crate) trait Output {
    fn put(self) -> Result<Datum>;
}

macro_rules! outputs {
    ($($from:ty)*) => {$(
        impl Output for $from {
            #[inline]
            fn put(self) -> Result<Datum> {
                Ok(Datum::from(self))
            }
        }
    )*};
}

outputs! {
    bool i16 i32 i64 f32 f64 &str String Numeric
    Date Time TimeTz Timestamp TimestampTz Interval Oid Array Record Jsonb Range Multirange
}

impl Output for Datum {
    fn put(self) -> Result<Datum> {
        Ok(self)
    }
}

impl Output for TextBuilder {
    fn put(self) -> Result<Datum> {
        Ok(Datum::text(self.finish()))
    }
}

impl Output for BytesBuilder {
    fn put(self) -> Result<Datum> {
        Ok(Datum::bytea(self.finish()))
    }
}

impl Output for Vec<u8> {
    fn put(self) -> Result<Datum> {
        Ok(Datum::bytea(self))
    }
}

impl Output for [u8; 16] {
    fn put(self) -> Result<Datum> {
        Ok(Datum::Uuid(self))
    }
}

impl<T: Output> Output for Option<T> {
    fn put(self) -> Result<Datum> {
        self.map_or(Ok(Datum::Null), Output::put)
    }
}

impl<T: Output, E: Into<Error>> Output for std::result::Result<T, E> {
    fn put(self) -> Result<Datum> {
        self.map_err(Into::into)?.put()
    }
}

/// Makes a table of functions that give one value: see the head of this module.
macro_rules! functions {
    ($($oid:literal $name:ident($($arg:ident),*) -> $ret:ident
       $([$($flag:ident $(= $value:expr)?),*])? = $params:tt $body:expr;)*) => {
        &[$($crate::function::entry!(
            $oid $name($($arg),*) -> $ret [$($($flag $(= $value)?),*)?]
            $crate::function::Eval::Scalar($crate::function::body!($params $body))
        )),*]
    };
}

/// Makes a table of functions that give sets of rows, written like the others.
macro_rules! sets {
    ($($oid:literal $name:ident($($arg:ident),*) -> $ret:ident
       $([$($flag:ident $(= $value:expr)?),*])? = $params:tt $body:expr;)*) => {
        &[$($crate::function::entry!(
            $oid $name($($arg),*) -> $ret [set $($(, $flag $(= $value)?)*)?]
            $crate::function::Eval::Set($crate::function::body!(rows $params $body))
        )),*]
    };
}

/// Makes a table of functions that are computed elsewhere: an [`Eval`] without contents, then
/// signatures.
macro_rules! signatures {
    ($eval:ident $($oid:literal $name:ident($($arg:ident),*) -> $ret:ident
       $([$($flag:ident $(= $value:expr)?),*])?;)*) => {
        &[$($crate::function::entry!(
            $oid $name($($arg),*) -> $ret [$($($flag $(= $value)?),*)?]
            $crate::function::Eval::$eval
        )),*]
    };
}

/// One entry of a table.
macro_rules! entry {
    ($oid:literal $name:ident($($arg:ident),*) -> $ret:ident
     [$($flag:ident $(= $value:expr)?),*] $eval:expr) => {{
        #[allow(unused_mut)]
        let mut function = $crate::function::Function {
            oid: types::Oid($oid),
            name: stringify!($name),
            args: &[$(types::Type::$arg),*],
            variadic: false,
            defaults: &[],
            ret: types::Type::$ret,
            set: false,
            strict: true,
            volatility: $crate::function::Volatility::Immutable,
            eval: $eval,
        };
        $($crate::function::flag!(function $flag $(= $value)?);)*
        function
    }};
}

macro_rules! flag {
    ($function:ident stable) => {
        $function.volatility = $crate::function::Volatility::Stable
    };
    ($function:ident volatile) => {
        $function.volatility = $crate::function::Volatility::Volatile
    };
    ($function:ident nullable) => {
        $function.strict = false
    };
    ($function:ident variadic) => {
        $function.variadic = true
    };
    ($function:ident set) => {
        $function.set = true
    };
    ($function:ident defaults = $value:expr) => {
        $function.defaults = $value
    };
}

/// The closure that takes the arguments out of their values.
macro_rules! body {
    ([$call:ident, $args:ident] $body:expr) => {
        |$call, $args| $crate::function::Output::put($body)
    };
    (($call:ident;) $body:expr) => {
        |$call, _| $crate::function::Output::put($body)
    };
    (() $body:expr) => {
        |_, _| $crate::function::Output::put($body)
    };
    (($call:ident; $($arg:ident: $type:ty),*) $body:expr) => {
        |$call, args| {
            let mut args = args.iter().copied();
            $(let $arg = <$type as $crate::function::Argument<'_>>::read(
                args.next().unwrap_or(types::DatumRef::Null),
            )?;)*
            $crate::function::Output::put($body)
        }
    };
    (($($arg:ident: $type:ty),*) $body:expr) => {
        $crate::function::body!((_call; $($arg: $type),*) $body)
    };
    (rows [$call:ident, $args:ident] $body:expr) => {
        |$call, $args| $body
    };
    (rows ($call:ident; $($arg:ident: $type:ty),*) $body:expr) => {
        |$call, args| {
            let mut args = args.iter().copied();
            $(let $arg = <$type as $crate::function::Argument<'_>>::read(
                args.next().unwrap_or(types::DatumRef::Null),
            )?;)*
            $body
        }
    };
    (rows ($($arg:ident: $type:ty),*) $body:expr) => {
        $crate::function::body!(rows (_call; $($arg: $type),*) $body)
    };
}

pub(crate) use {body, entry, flag, functions, sets, signatures};
