//! The storage parameters of columnar tables.
//!
//! ```text
//!   orderby = 'event_date ASC, user_id'     bulk loads sort by it           column numbers and directions
//!   stripe_row_limit, chunk_group_row_limit rows of a stripe, of a block    numbers, at most those of the format
//!   compression, compression_level          byte strings without a shorter form
//! ```
//!
//! The catalog keeps columns by their numbers, so an order survives that they are renamed. A column that is
//! dropped leaves the order. The bytes are described in `docs/format-table.md`.

use std::ops::RangeInclusive;

use scalar::quote::identifier;
use store::{BLOCK_ROWS_MAX, STRIPE_ROWS_MAX};
use types::geometry::is_geometric;
use types::{KeyOrder, SqlState, Type};

use super::codec::Form;
use crate::catalog::{Column, Relation};
use crate::method::Options;
use crate::method::parameters::{Compressing, integer, invalid, value_of};
use crate::{Error, Result};

/// The rows that `stripe_row_limit` can name. A stripe has at most [`STRIPE_ROWS_MAX`].
const STRIPE_LIMITS: RangeInclusive<u32> = 1_000..=10_000_000;
/// The rows that `chunk_group_row_limit` can name. A block has at most [`BLOCK_ROWS_MAX`].
const BLOCK_LIMITS: RangeInclusive<u32> = 1_000..=100_000;
/// The bytes before the order.
const FIXED: usize = 10;
/// Set for a column that descends, and for one that has NULLs first.
const DESCENDING: u8 = 1;
const NULLS_FIRST: u8 = 2;

/// A column of an order, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedColumn {
    /// The number of the column.
    pub attnum: i16,
    /// Its direction.
    pub order: KeyOrder,
}

/// The parameters of a columnar table; `None` for those that are not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub(crate) compressing: Compressing,
    stripe_rows: Option<u32>,
    block_rows: Option<u32>,
    order: Vec<OrderedColumn>,
}

impl Settings {
    /// Returns true for the names of these parameters.
    pub(super) fn takes(parameter: &str) -> bool {
        matches!(parameter, "orderby" | "stripe_row_limit" | "chunk_group_row_limit")
            || Compressing::takes(parameter)
    }

    /// Takes the parameters of a table with these columns apart.
    pub(super) fn of(options: &Options, columns: &[Column]) -> Result<Settings> {
        let number = |name, range| {
            value_of(options, name).map(|value| integer(name, value, range)).transpose()
        };
        Ok(Settings {
            compressing: Compressing::of(options)?,
            stripe_rows: number("stripe_row_limit", &STRIPE_LIMITS)?,
            block_rows: number("chunk_group_row_limit", &BLOCK_LIMITS)?,
            order: match value_of(options, "orderby") {
                Some(value) => parse_order(value, columns)?,
                None => Vec::new(),
            },
        })
    }

    /// Returns the settings of a table as the catalog keeps them.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        if *self == Settings::default() {
            return Vec::new();
        }
        let mut out = self.compressing.to_bytes().to_vec();
        for rows in [self.stripe_rows, self.block_rows] {
            out.extend_from_slice(&rows.unwrap_or(0).to_le_bytes());
        }
        for OrderedColumn { attnum, order } in &self.order {
            out.extend_from_slice(&attnum.to_le_bytes());
            let descending = if order.is_descending { DESCENDING } else { 0 };
            out.push(descending | if order.has_nulls_first { NULLS_FIRST } else { 0 });
        }
        out
    }

    /// Reads what [`Settings::to_bytes`] gives; `None` for anything else.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Settings> {
        let Some((fixed, order)) = bytes.split_first_chunk::<FIXED>() else {
            return bytes.is_empty().then(Settings::default);
        };
        let rows = |at: usize| {
            let rows = fixed.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            rows.map(u32::from_le_bytes).filter(|rows| *rows > 0)
        };
        let (order, rest) = order.as_chunks::<3>();
        let column = |[low, high, flags]: &[u8; 3]| OrderedColumn {
            attnum: i16::from_le_bytes([*low, *high]),
            order: KeyOrder {
                is_descending: flags & DESCENDING != 0,
                has_nulls_first: flags & NULLS_FIRST != 0,
            },
        };
        rest.is_empty().then(|| Settings {
            compressing: Compressing::from_bytes([fixed[0], fixed[1]]),
            stripe_rows: rows(2),
            block_rows: rows(6),
            order: order.iter().map(column).collect(),
        })
    }

    /// Returns the settings as parameters, with the names that the columns have now.
    pub(super) fn parameters(&self, relation: &Relation) -> Options {
        let rows =
            [("stripe_row_limit", self.stripe_rows), ("chunk_group_row_limit", self.block_rows)];
        let rows = rows.into_iter().filter_map(|(name, rows)| Some((name, rows?.to_string())));
        let order = self.order_text(relation).map(|order| ("orderby", order));
        let all = order.into_iter().chain(self.compressing.parameters()).chain(rows);
        all.map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// Returns the order as `orderby` writes it; `None` if there is none.
    pub fn order_text(&self, relation: &Relation) -> Option<String> {
        let text = |ordered: &OrderedColumn| {
            let name = identifier(&relation.column(ordered.attnum)?.name);
            Some(match (ordered.order.is_descending, ordered.order.has_nulls_first) {
                (false, false) => name,
                (false, true) => format!("{name} NULLS FIRST"),
                (true, true) => format!("{name} DESC"),
                (true, false) => format!("{name} DESC NULLS LAST"),
            })
        };
        let texts: Vec<String> = self.order.iter().filter_map(text).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Returns the columns that bulk loads sort by.
    pub(super) fn order(&self) -> &[OrderedColumn] {
        &self.order
    }

    /// Returns the rows of a full stripe.
    pub fn stripe_rows(&self) -> usize {
        self.stripe_rows.map_or(STRIPE_ROWS_MAX, |rows| STRIPE_ROWS_MAX.min(rows as usize))
    }

    /// Returns the rows of a full block.
    pub fn block_rows(&self) -> usize {
        self.block_rows.map_or(BLOCK_ROWS_MAX, |rows| BLOCK_ROWS_MAX.min(rows as usize))
    }

    /// Returns the compression and its level.
    pub fn compression(&self) -> (&'static str, i32) {
        self.compressing.effective()
    }

    /// Returns how stripes are written.
    pub(super) fn form(&self) -> Form {
        Form {
            stripe_rows: self.stripe_rows(),
            block_rows: self.block_rows(),
            compression: self.compressing.compression(),
        }
    }
}

/// Reads `event_date DESC, "Key" NULLS FIRST`.
fn parse_order(text: &str, columns: &[Column]) -> Result<Vec<OrderedColumn>> {
    let wrong = || {
        let detail = "Valid values are columns with commas between, each with ASC or DESC, and \
                      NULLS FIRST or NULLS LAST, where wanted.";
        Error::from(invalid("option", "orderby", text).with_detail(detail))
    };
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut rest = text;
    let mut order = Vec::new();
    loop {
        let name = take_name(&mut rest).ok_or_else(wrong)?;
        let end = rest.find(',').unwrap_or(rest.len());
        let words: Vec<String> =
            rest[..end].split_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (is_descending, nulls) = match &words[..] {
            ["desc", nulls @ ..] => (true, nulls),
            ["asc", nulls @ ..] => (false, nulls),
            nulls => (false, nulls),
        };
        let has_nulls_first = match nulls {
            [] => is_descending,
            ["nulls", "first"] => true,
            ["nulls", "last"] => false,
            _ => return Err(wrong()),
        };
        let column = columns.iter().find(|column| !column.is_dropped && *column.name == *name);
        let column = column.ok_or_else(|| {
            let message = format!("column \"{name}\" named in option \"orderby\" does not exist");
            let live = columns.iter().filter(|column| !column.is_dropped);
            let names: Vec<String> = live.map(|column| identifier(&column.name)).collect();
            let error = types::Error::new(SqlState::UNDEFINED_COLUMN, message);
            Error::from(error.with_hint(format!("The columns are {}.", names.join(", "))))
        })?;
        if matches!(column.ty, Type::JSON | Type::JSONPATH) || is_geometric(column.ty) {
            let message =
                format!("rows cannot be ordered by column \"{name}\": its type has no order");
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let order_of = KeyOrder { is_descending, has_nulls_first };
        order.push(OrderedColumn { attnum: column.attnum, order: order_of });
        rest = match rest[end..].strip_prefix(',') {
            Some(rest) => rest,
            None => return Ok(order),
        };
    }
}

/// Takes an identifier off the front of a text, as SQL writes it.
fn take_name(rest: &mut &str) -> Option<String> {
    let text = rest.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        *rest = &text[end..];
        return (end > 0).then(|| text[..end].to_lowercase());
    };
    let (mut name, mut left) = (String::new(), quoted);
    loop {
        let (part, after) = left.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                left = after;
            }
            None => {
                *rest = after;
                return (!name.is_empty()).then_some(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings() -> impl Strategy<Value = Settings> {
        let column = (1..100_i16, any::<bool>(), any::<bool>()).prop_map(
            |(attnum, is_descending, has_nulls_first)| OrderedColumn {
                attnum,
                order: KeyOrder { is_descending, has_nulls_first },
            },
        );
        let rows = || prop::option::of(1_u32..10_000_000);
        let compressing = (prop::option::of(0..5_u8), prop::option::of(1..20_u8));
        let order = prop::collection::vec(column, 0..4);
        (compressing, rows(), rows(), order).prop_map(
            |((name, level), stripe_rows, block_rows, order)| Settings {
                compressing: Compressing { name, level },
                stripe_rows,
                block_rows,
                order,
            },
        )
    }

    proptest! {
        /// The catalog gives settings back as they were, and damaged bytes do no harm.
        #[test]
        fn settings_come_back(settings in settings(), other in prop::collection::vec(any::<u8>(), 0..20)) {
            prop_assert_eq!(Settings::from_bytes(&settings.to_bytes()), Some(settings));
            Settings::from_bytes(&other);
        }
    }

    /// Names are read as SQL reads them.
    #[test]
    fn names_are_those_of_sql() {
        for (text, name, rest) in [
            ("Day, x", Some("day"), ", x"),
            (" \"Day\" desc", Some("Day"), " desc"),
            ("\"a\"\"b, c\"", Some("a\"b, c"), ""),
            ("\"open", None, ""),
            (", x", None, ""),
        ] {
            let mut left = text;
            assert_eq!(take_name(&mut left).as_deref(), name, "{text}");
            assert!(name.is_none() || left == rest, "{text}: {left}");
        }
    }
}
