//! [`Vector`]: the values of a column or an expression in a slice.

use std::sync::Arc;

use crate::slice::Selection;
use crate::words::Words;
use numeric::Numeric;
use types::time::{Date, Time, Timestamp, TimestampTz};
use types::{Datum, DatumRef, NumericRef, Oid, Repr, Result, row};

/// The values of a column or an expression, one for each row of a slice. Where a value is NULL or its row is not
/// selected, any value stands.
#[derive(Clone, Debug)]
pub struct Vector<'a> {
    /// The values.
    pub values: Values<'a>,
    /// Which values are NULL; empty if none is.
    pub nulls: Vec<bool>,
}

/// The values of a vector.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Truth values, integers, dates and times, as the representation says.
    Ints(Ints),
    /// Decimal numbers of at most 64 bits.
    Decimals(Decimals),
    /// Floating point numbers. Those of 32 bits are widened.
    Floats(Floats),
    /// Positions in a dictionary.
    Codes(Arc<Words>, Vec<u32>),
    /// Values that lie in a block or in rows.
    Refs(Vec<DatumRef<'a>>),
    /// Values that were computed.
    Datums(Vec<Datum>),
}

/// Integers, and what is kept as such.
#[derive(Clone, Debug)]
pub struct Ints {
    /// Their type.
    pub repr: Repr,
    /// The numbers.
    pub values: Vec<i64>,
    /// No number is further from 0 than this.
    pub bound: u64,
}

/// Floating point numbers.
#[derive(Clone, Debug)]
pub struct Floats {
    /// Their type.
    pub repr: Repr,
    /// The numbers.
    pub values: Vec<f64>,
    /// No number is further from 0 than this; `None` if that is not known.
    pub bound: Option<f64>,
}

impl Floats {
    /// Returns numbers of 64 bits.
    pub fn of(values: Vec<f64>) -> Floats {
        Floats { repr: Repr::Float8, values, bound: None }
    }
}

/// Decimal numbers: each is `mantissa / 10^scale`.
#[derive(Clone, Debug)]
pub struct Decimals {
    /// The digits after the point that all mantissas have, at most 18.
    pub scale: u32,
    /// The mantissas.
    pub mantissas: Vec<i64>,
    /// The digits after the point that the numbers show.
    pub shown: Shown,
    /// No mantissa is further from 0 than this.
    pub bound: u64,
}

/// The digits after the point that decimals show, at most as many as they have.
#[derive(Clone, Debug)]
pub enum Shown {
    /// All show the same number.
    Same(u8),
    /// Each shows its own.
    Each(Vec<u8>),
}

impl Shown {
    /// Returns the digits that a number shows.
    #[inline]
    pub fn get(&self, row: usize) -> u8 {
        match self {
            Shown::Same(digits) => *digits,
            Shown::Each(digits) => digits[row],
        }
    }
}

impl Decimals {
    /// As [`Vector::put_together`], with the largest scale of the parts.
    fn put_together(parts: &[(&Selection, &Vector<'_>)], count: usize) -> Option<Decimals> {
        let of = |vector: &'_ Vector<'_>| match &vector.values {
            Values::Decimals(all) => Some((all.scale, all.bound)),
            _ => None,
        };
        let forms = parts.iter().map(|(_, vector)| of(vector)).collect::<Option<Vec<_>>>()?;
        let scale = forms.iter().map(|(scale, _)| *scale).max()?;
        let (mut mantissas, mut shown, mut bound) = (vec![0; count], vec![0; count], 0);
        for (rows, vector) in parts {
            let Values::Decimals(all) = &vector.values else { return None };
            let factor = power(scale - all.scale);
            bound = all.bound.checked_mul(factor.unsigned_abs())?.max(bound);
            i64::try_from(bound).ok()?;
            // Where a value is NULL any integer stands.
            rows.each(|row| mantissas[row] = all.mantissas[row].wrapping_mul(factor));
            rows.each(|row| shown[row] = all.shown.get(row));
        }
        let mut same = parts.iter().map(|(_, vector)| match &vector.values {
            Values::Decimals(Decimals { shown: Shown::Same(digits), .. }) => Some(*digits),
            _ => None,
        });
        let first = same.next().flatten();
        let shown = match first.filter(|first| same.all(|other| other == Some(*first))) {
            Some(digits) => Shown::Same(digits),
            None => Shown::Each(shown),
        };
        Some(Decimals { scale, mantissas, shown, bound })
    }
}

/// The largest scale of decimals of 64 bits.
pub const SCALE_MAX: u32 = 18;

/// Returns `10^digits`.
pub fn power(digits: u32) -> i64 {
    10_i64.pow(digits.min(SCALE_MAX))
}

/// Returns the numeric that shows so many digits of a decimal.
pub fn numeric(mantissa: i64, scale: u32, shown: u8) -> Numeric {
    let shown = u32::from(shown);
    let cut = mantissa / power(scale.saturating_sub(shown));
    Numeric::new(cut.into(), shown).expect("a scale of two digits")
}

/// Returns an integer as a value of a representation that is kept as integers.
pub fn int_datum(repr: Repr, value: i64) -> DatumRef<'static> {
    match repr {
        Repr::Bool => DatumRef::Bool(value != 0),
        Repr::Int2 => DatumRef::Int2(value as i16),
        Repr::Int4 => DatumRef::Int4(value as i32),
        Repr::Oid => DatumRef::Oid(Oid(value as u32)),
        Repr::Date => DatumRef::Date(Date(value as i32)),
        Repr::Time => DatumRef::Time(Time(value)),
        Repr::Timestamp => DatumRef::Timestamp(Timestamp(value)),
        Repr::TimestampTz => DatumRef::TimestampTz(TimestampTz(value)),
        _ => DatumRef::Int8(value),
    }
}

/// Returns a value that is kept as an integer; `None` for others and for NULL.
pub fn int_of(value: DatumRef<'_>) -> Option<i64> {
    Some(match value {
        DatumRef::Bool(value) => value.into(),
        DatumRef::Int2(value) => value.into(),
        DatumRef::Int4(value) => value.into(),
        DatumRef::Int8(value) => value,
        DatumRef::Oid(value) => value.0.into(),
        DatumRef::Date(value) => value.0.into(),
        DatumRef::Time(value) => value.0,
        DatumRef::Timestamp(value) => value.0,
        DatumRef::TimestampTz(value) => value.0,
        _ => return None,
    })
}

/// Returns true for representations that are kept as integers.
pub fn is_int(repr: Repr) -> bool {
    matches!(
        repr,
        Repr::Bool
            | Repr::Int2
            | Repr::Int4
            | Repr::Int8
            | Repr::Oid
            | Repr::Date
            | Repr::Time
            | Repr::Timestamp
            | Repr::TimestampTz
    )
}

fn float_of(value: DatumRef<'_>) -> Option<f64> {
    match value {
        DatumRef::Float4(value) => Some(value.into()),
        DatumRef::Float8(value) => Some(value),
        _ => None,
    }
}

fn float_datum(repr: Repr, value: f64) -> DatumRef<'static> {
    match repr {
        Repr::Float4 => DatumRef::Float4(value as f32),
        _ => DatumRef::Float8(value),
    }
}

/// Returns the largest distance of a number from 0.
pub fn bound_of(values: &[i64]) -> u64 {
    values.iter().fold(0, |bound, value| bound.max(value.unsigned_abs()))
}

/// Values of one representation, which are collected one by one.
enum Typed {
    Ints(Vec<i64>),
    Decimals(Vec<i64>, Vec<u8>),
    Floats(Vec<f64>),
}

impl<'a> Vector<'a> {
    /// Returns the values at these positions.
    pub fn gather(&self, positions: &[u16]) -> Vector<'a> {
        fn of<T: Clone>(all: &[T], positions: &[u16]) -> Vec<T> {
            positions.iter().map(|at| all[usize::from(*at)].clone()).collect()
        }
        let nulls = match self.nulls.is_empty() {
            true => Vec::new(),
            false => of(&self.nulls, positions),
        };
        let values = match &self.values {
            Values::Ints(Ints { repr, values, bound }) => {
                Values::Ints(Ints { repr: *repr, values: of(values, positions), bound: *bound })
            }
            Values::Decimals(all) => Values::Decimals(Decimals {
                scale: all.scale,
                mantissas: of(&all.mantissas, positions),
                shown: match &all.shown {
                    Shown::Same(digits) => Shown::Same(*digits),
                    Shown::Each(digits) => Shown::Each(of(digits, positions)),
                },
                bound: all.bound,
            }),
            Values::Floats(Floats { repr, values, bound }) => {
                Values::Floats(Floats { repr: *repr, values: of(values, positions), bound: *bound })
            }
            Values::Codes(words, codes) => Values::Codes(Arc::clone(words), of(codes, positions)),
            Values::Refs(refs) => Values::Refs(of(refs, positions)),
            Values::Datums(all) => Values::Datums(of(all, positions)),
        };
        Vector { values, nulls }
    }

    /// Returns a vector of values that are held like this, in the form for them. Values that do not fit the form
    /// leave all of them as they are.
    pub fn of_refs(repr: Repr, values: Vec<DatumRef<'a>>) -> Vector<'a> {
        match Vector::typed(repr, values.iter().copied()) {
            Some(vector) => vector,
            None => {
                Vector { nulls: nulls_of(values.iter().copied()), values: Values::Refs(values) }
            }
        }
    }

    /// Returns a vector of values whose bytes lie in rows; `None` stands for NULL.
    ///
    /// # Errors
    /// XX001 if the bytes of a value are damaged.
    pub fn of_raw(repr: Repr, raw: &[Option<&'a [u8]>]) -> Result<Vector<'a>> {
        fn each<const N: usize, T: Default>(
            raw: &[Option<&[u8]>],
            of: impl Fn([u8; N]) -> T,
        ) -> Option<Vec<T>> {
            let value = |bytes: &Option<&[u8]>| match bytes {
                Some(bytes) => Some(of((*bytes).try_into().ok()?)),
                None => Some(T::default()),
            };
            raw.iter().map(value).collect()
        }
        let ints = |values: Option<Vec<i64>>| {
            let values = values?;
            Some(Values::Ints(Ints { repr, bound: bound_of(&values), values }))
        };
        let floats = |values: Option<Vec<f64>>| {
            Some(Values::Floats(Floats { repr, values: values?, bound: None }))
        };
        let values = match repr {
            Repr::Int2 => ints(each(raw, |bytes| i16::from_le_bytes(bytes).into())),
            Repr::Int4 | Repr::Date => ints(each(raw, |bytes| i32::from_le_bytes(bytes).into())),
            Repr::Oid => ints(each(raw, |bytes| u32::from_le_bytes(bytes).into())),
            Repr::Int8 | Repr::Time | Repr::Timestamp | Repr::TimestampTz => {
                ints(each(raw, i64::from_le_bytes))
            }
            Repr::Float4 => floats(each(raw, |bytes| f32::from_le_bytes(bytes).into())),
            Repr::Float8 => floats(each(raw, f64::from_le_bytes)),
            Repr::Numeric => decimals_of(raw).map(Values::Decimals),
            _ => None,
        };
        let Some(values) = values else {
            let value = |bytes: &Option<&'a [u8]>| match bytes {
                Some(bytes) => row::read_value(bytes, repr),
                None => Ok(DatumRef::Null),
            };
            return Ok(Vector::of_refs(repr, raw.iter().map(value).collect::<Result<_>>()?));
        };
        Ok(Vector { values, nulls: raw_nulls(raw) })
    }

    /// Returns the values of a dictionary that have these codes; NULL where the bytes are `None`.
    pub fn of_codes(words: Arc<Words>, codes: Vec<u32>, raw: &[Option<&[u8]>]) -> Vector<'a> {
        Vector { values: Values::Codes(words, codes), nulls: raw_nulls(raw) }
    }

    /// As [`Vector::of_raw`], of a few rows; for other rows it reads nothing, and any value stands. `None` if reading
    /// all of them takes no longer.
    ///
    /// # Errors
    /// XX001 if the bytes of a value are damaged.
    pub fn of_few_raw(
        repr: Repr,
        raw: &[Option<&'a [u8]>],
        rows: &Selection,
    ) -> Result<Option<Vector<'a>>> {
        let values = match repr {
            Repr::Numeric => few_decimals_of(raw, rows).map(Values::Decimals),
            Repr::Text => {
                let mut values = vec![DatumRef::Text(""); raw.len()];
                rows.try_each(|row| {
                    if let Some(bytes) = raw[row] {
                        values[row] = row::read_value(bytes, repr)?;
                    }
                    Ok::<_, types::Error>(())
                })?;
                Some(Values::Refs(values))
            }
            _ => None,
        };
        Ok(values.map(|values| Vector { values, nulls: raw_nulls(raw) }))
    }

    /// As [`Vector::of_refs`] for values that were computed.
    pub fn of_datums(repr: Repr, values: Vec<Datum>) -> Vector<'a> {
        match Vector::typed(repr, values.iter().map(Datum::as_ref)) {
            Some(vector) => vector,
            None => Vector {
                nulls: nulls_of(values.iter().map(Datum::as_ref)),
                values: Values::Datums(values),
            },
        }
    }

    fn typed<'d>(
        repr: Repr,
        values: impl ExactSizeIterator<Item = DatumRef<'d>>,
    ) -> Option<Vector<'a>> {
        let count = values.len();
        let mut typed = match repr {
            _ if is_int(repr) => Typed::Ints(Vec::with_capacity(count)),
            Repr::Numeric => Typed::Decimals(Vec::with_capacity(count), Vec::with_capacity(count)),
            Repr::Float4 | Repr::Float8 => Typed::Floats(Vec::with_capacity(count)),
            _ => return None,
        };
        let mut nulls = Vec::new();
        for (at, value) in values.enumerate() {
            if value.is_null() {
                nulls.resize(count, false);
                nulls[at] = true;
            }
            match &mut typed {
                Typed::Ints(all) => all.push(if value.is_null() { 0 } else { int_of(value)? }),
                Typed::Floats(all) => {
                    all.push(if value.is_null() { 0.0 } else { float_of(value)? });
                }
                Typed::Decimals(all, shown) => {
                    let (mantissa, digits) = match value {
                        DatumRef::Null => (0, 0),
                        DatumRef::Numeric(number) => number.as_short()?,
                        _ => return None,
                    };
                    all.push(mantissa);
                    shown.push(u8::try_from(digits).ok().filter(|d| u32::from(*d) <= SCALE_MAX)?);
                }
            }
        }
        let values = match typed {
            Typed::Ints(values) => {
                let bound = bound_of(&values);
                Values::Ints(Ints { repr, values, bound })
            }
            Typed::Floats(values) => Values::Floats(Floats { repr, values, bound: None }),
            Typed::Decimals(mantissas, shown) => Values::Decimals(scaled(mantissas, shown)?),
        };
        Some(Vector { values, nulls })
    }

    /// Returns a vector in which every row has the same value.
    pub fn constant(repr: Option<Repr>, value: &Datum, rows: usize) -> Vector<'a> {
        let repr = repr.or(value.repr()).unwrap_or(Repr::Text);
        Vector::of_datums(repr, vec![value.clone()]).gather(&vec![0; rows])
    }

    /// Returns a vector with so many rows that has the values of each part in its rows, and NULL in rows of no part, of
    /// which there are some if `leaves_rows`; `None` if there is no part, or if the parts have values of different forms.
    pub fn put_together(
        parts: &[(&Selection, &Vector<'a>)],
        count: usize,
        leaves_rows: bool,
    ) -> Option<Vector<'a>> {
        let values = match &parts.first()?.1.values {
            only if parts.len() == 1 => only.clone(),
            Values::Ints(first) => {
                let (mut values, mut bound) = (vec![0; count], 0);
                for (rows, vector) in parts {
                    let Values::Ints(all) = &vector.values else { return None };
                    rows.each(|row| values[row] = all.values[row]);
                    bound = all.bound.max(bound);
                    (all.repr == first.repr).then_some(())?;
                }
                Values::Ints(Ints { repr: first.repr, values, bound })
            }
            Values::Floats(first) => {
                let (mut values, mut bound) = (vec![0.0; count], Some(0.0_f64));
                for (rows, vector) in parts {
                    let Values::Floats(all) = &vector.values else { return None };
                    rows.each(|row| values[row] = all.values[row]);
                    bound = bound.zip(all.bound).map(|(one, other)| one.max(other));
                    (all.repr == first.repr).then_some(())?;
                }
                Values::Floats(Floats { repr: first.repr, values, bound })
            }
            Values::Decimals(_) => Values::Decimals(Decimals::put_together(parts, count)?),
            Values::Codes(..) | Values::Refs(_) | Values::Datums(_) => return None,
        };
        let mut nulls = Vec::new();
        if leaves_rows || parts.iter().any(|(_, vector)| !vector.nulls.is_empty()) {
            nulls.resize(count, true);
            for (rows, vector) in parts {
                rows.each(|row| nulls[row] = vector.is_null(row));
            }
        }
        Some(Vector { values, nulls })
    }

    /// Returns true if the value of a row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.get(row).is_some_and(|is_null| *is_null)
    }

    /// Calls `f` with the value of a row.
    pub fn with<R>(&self, row: usize, f: impl FnOnce(DatumRef<'_>) -> R) -> R {
        if self.is_null(row) {
            return f(DatumRef::Null);
        }
        match &self.values {
            Values::Decimals(all) => {
                let number = numeric(all.mantissas[row], all.scale, all.shown.get(row));
                f(DatumRef::Numeric(NumericRef::from(&number)))
            }
            _ => f(self.get(row).unwrap_or(DatumRef::Null)),
        }
    }

    /// Returns the value of a row where it lies; `None` for decimals, which are not kept as values.
    pub fn get(&self, row: usize) -> Option<DatumRef<'_>> {
        if self.is_null(row) {
            return Some(DatumRef::Null);
        }
        Some(match &self.values {
            Values::Ints(all) => int_datum(all.repr, all.values[row]),
            Values::Floats(all) => float_datum(all.repr, all.values[row]),
            Values::Codes(words, codes) => words.get(codes[row]),
            Values::Refs(all) => all[row],
            Values::Datums(all) => all[row].as_ref(),
            Values::Decimals(_) => return None,
        })
    }

    /// Returns the value of a row.
    pub fn datum(&self, row: usize) -> Datum {
        self.with(row, |value| value.to_owned())
    }
}

/// A vector that a slice has, or that was computed.
pub(crate) enum Lent<'s, 'a> {
    Borrowed(&'s Vector<'a>),
    Owned(Vector<'a>),
}

impl<'a> std::ops::Deref for Lent<'_, 'a> {
    type Target = Vector<'a>;

    fn deref(&self) -> &Vector<'a> {
        match self {
            Lent::Borrowed(vector) => vector,
            Lent::Owned(vector) => vector,
        }
    }
}

fn nulls_of<'d>(values: impl ExactSizeIterator<Item = DatumRef<'d>> + Clone) -> Vec<bool> {
    match values.clone().any(DatumRef::is_null) {
        true => values.map(DatumRef::is_null).collect(),
        false => Vec::new(),
    }
}

/// Returns which values are NULL; nothing if none is.
fn raw_nulls(raw: &[Option<&[u8]>]) -> Vec<bool> {
    match raw.iter().any(Option::is_none) {
        true => raw.iter().map(Option::is_none).collect(),
        false => Vec::new(),
    }
}

/// As [`decimals_of`], of these rows; 0 stands for the others.
fn few_decimals_of(raw: &[Option<&[u8]>], rows: &Selection) -> Option<Decimals> {
    let mut few = Vec::with_capacity(rows.len());
    rows.each(|row| few.push(raw[row]));
    let Decimals { scale, mantissas, shown, bound } = decimals_of(&few)?;
    let shown = match shown {
        Shown::Same(digits) => Shown::Same(digits),
        Shown::Each(digits) => Shown::Each(spread(&digits, rows, raw.len())),
    };
    Some(Decimals { scale, mantissas: spread(&mantissas, rows, raw.len()), shown, bound })
}

/// Returns a vector of so many values, in which the selected rows have the given values, in order, and the others 0.
pub(crate) fn spread<T: Copy + Default>(values: &[T], rows: &Selection, count: usize) -> Vec<T> {
    let (mut all, mut at) = (vec![T::default(); count], 0);
    rows.each(|row| {
        all[row] = values[at];
        at += 1;
    });
    all
}

/// Returns stored numerics as decimals, if they fit.
fn decimals_of(raw: &[Option<&[u8]>]) -> Option<Decimals> {
    let (mut mantissas, mut shown) = (Vec::with_capacity(raw.len()), Vec::with_capacity(raw.len()));
    for bytes in raw {
        let (mantissa, digits) = match bytes {
            Some(bytes) => Numeric::short_from_stored(bytes)?,
            None => (0, 0),
        };
        mantissas.push(mantissa);
        shown.push(u8::try_from(digits).ok().filter(|digits| u32::from(*digits) <= SCALE_MAX)?);
    }
    scaled(mantissas, shown)
}

/// Brings mantissas to a common scale, if they fit.
fn scaled(mut mantissas: Vec<i64>, shown: Vec<u8>) -> Option<Decimals> {
    let scale = shown.iter().copied().max().unwrap_or(0);
    let is_same = shown.iter().all(|digits| *digits == scale);
    if !is_same {
        for (mantissa, digits) in mantissas.iter_mut().zip(&shown) {
            *mantissa = mantissa.checked_mul(power((scale - digits).into()))?;
        }
    }
    let bound = bound_of(&mantissas);
    let shown = if is_same { Shown::Same(scale) } else { Shown::Each(shown) };
    Some(Decimals { scale: scale.into(), mantissas, shown, bound })
}
