//! Values of storage parameters: the allowed ones, and the errors for others.

use std::ops::RangeInclusive;

use stripe::Compression;
use types::text::parse;
use types::{Context, Datum, Error as SqlError, Modifier, SqlState, Style, Type};

use super::Options;
use crate::{Error, Result};

/// The names that `compression` can have, by the number that the catalog keeps.
const COMPRESSIONS: [&str; 5] = ["none", "pglz", "lz4", "zstd", "deflate"];
/// The numbers of some of them.
const NONE: u8 = 0;
const PGLZ: u8 = 1;
const LZ4: u8 = 2;
/// The level of what is named after methods that are fast and weak.
const LEVEL_FAST: i32 = 1;
/// The level where none is given.
const LEVEL: i32 = 3;
/// The levels of `compression_level`.
const LEVELS: RangeInclusive<u32> = 1..=19;

/// Returns the value of a parameter, the last one where it comes several times.
pub(crate) fn value_of<'o>(options: &'o Options, name: &str) -> Option<&'o str> {
    options.iter().rfind(|(known, _)| **known == *name).map(|(_, value)| &**value)
}

/// Reads the value of a parameter that is on or off.
///
/// # Errors
/// 22023 if it is neither.
pub(crate) fn switch(name: &str, value: &str) -> Result<bool> {
    let style = Style::default();
    match parse(value, Type::BOOL, Modifier::NONE, &Context::new(&style)) {
        Ok(Datum::Bool(value)) => Ok(value),
        _ => Err(invalid("boolean option", name, value).into()),
    }
}

/// Reads the value of a parameter that is a number.
///
/// # Errors
/// 22023 if it is none, or not in the range.
pub(crate) fn integer(name: &str, value: &str, range: &RangeInclusive<u32>) -> Result<u32> {
    let number: i64 = value.trim().parse().map_err(|_| invalid("integer option", name, value))?;
    match u32::try_from(number).ok().filter(|number| range.contains(number)) {
        Some(number) => Ok(number),
        None => {
            let message = format!("value {number} out of bounds for option \"{name}\"");
            let detail =
                format!("Valid values are between \"{}\" and \"{}\".", range.start(), range.end());
            let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
            Err(error.with_detail(detail).into())
        }
    }
}

/// Returns the error for a value that a parameter cannot have.
pub(crate) fn invalid(kind: &str, name: &str, value: &str) -> SqlError {
    let message = format!("invalid value for {kind} \"{name}\": {value}");
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// `compression` and `compression_level`, as far as a table has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compressing {
    /// The position in [`COMPRESSIONS`].
    pub name: Option<u8>,
    /// The level.
    pub level: Option<u8>,
}

impl Compressing {
    /// Returns true for the names of the two parameters.
    pub fn takes(parameter: &str) -> bool {
        matches!(parameter, "compression" | "compression_level")
    }

    /// Takes the two out of the parameters of a table.
    ///
    /// # Errors
    /// 22023 if one of them has a value that it cannot have.
    pub fn of(options: &Options) -> Result<Compressing> {
        let name = value_of(options, "compression").map(|value| {
            let known = COMPRESSIONS.iter().position(|known| known.eq_ignore_ascii_case(value));
            known.map(|at| at as u8).ok_or_else(|| {
                let detail =
                    "Valid values are \"none\", \"zstd\", \"lz4\", \"pglz\" and \"deflate\".";
                Error::from(invalid("enum option", "compression", value).with_detail(detail))
            })
        });
        let level = value_of(options, "compression_level")
            .map(|value| integer("compression_level", value, &LEVELS));
        Ok(Compressing { name: name.transpose()?, level: level.transpose()?.map(|l| l as u8) })
    }

    /// Returns the two as parameters.
    pub fn parameters(self) -> impl Iterator<Item = (&'static str, String)> {
        let name = self.name.and_then(|at| COMPRESSIONS.get(usize::from(at)));
        let name = name.map(|name| ("compression", (*name).to_owned()));
        let level = self.level.map(|level| ("compression_level", level.to_string()));
        name.into_iter().chain(level)
    }

    /// Returns the name and the level that a table has, whether they were said or not.
    pub fn effective(self) -> (&'static str, i32) {
        let name = self.name.and_then(|at| COMPRESSIONS.get(usize::from(at)));
        (name.unwrap_or(&"zstd"), self.level.map_or(LEVEL, i32::from))
    }

    /// Returns how the bytes of a table are compressed.
    pub fn compression(self) -> Compression {
        match self.name {
            Some(NONE) => Compression::None,
            Some(PGLZ | LZ4) => Compression::Zstd(LEVEL_FAST),
            _ => Compression::Zstd(self.level.map_or(LEVEL, i32::from)),
        }
    }

    /// Returns the two as the catalog keeps them: each a byte, 255 where nothing is said.
    pub fn to_bytes(self) -> [u8; 2] {
        [self.name.unwrap_or(u8::MAX), self.level.unwrap_or(u8::MAX)]
    }

    /// Reads what [`Compressing::to_bytes`] gives.
    pub fn from_bytes([name, level]: [u8; 2]) -> Compressing {
        let said = |byte: u8| (byte != u8::MAX).then_some(byte);
        Compressing { name: said(name), level: said(level) }
    }
}
