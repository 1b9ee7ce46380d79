//! Arrays: any number of elements of one type, in up to six dimensions.
//!
//! ```text
//!   repr  type         ndim   dimensions (length, lower bound)      elements
//!   03    17 00 00 00  02     02 02   03 02   (zigzag varints)      flag [nulls] value value ...
//!         int4                [1:2]   [1:3]                          row by row
//! ```
//!
//! An array is one run of bytes, in memory and in a row alike: [`Array`] shares one, [`ArrayRef`]
//! looks at one. An empty array has no dimensions. The two vector types of the catalogs are arrays
//! of one dimension that counts from 0.

use std::fmt;
use std::sync::Arc;

use interrupt::Pace;

use crate::bounded::VALUE_BYTES_MAX;
use crate::packed::{self, DEPTH_MAX, Sequence, damaged};
use crate::{Datum, DatumRef, Error, Oid, Repr, Result, SqlState, Type};

/// The most dimensions that an array can have.
pub const DIMENSIONS_MAX: usize = 6;

/// The most elements that an array can have.
pub const ELEMENTS_MAX: usize = 134_217_727;

/// The size of an array along one axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dimension {
    /// How many elements.
    pub length: i32,
    /// The subscript of the first one.
    pub lower: i32,
}

impl Dimension {
    /// The subscript of the last element.
    pub fn upper(self) -> i32 {
        self.lower + self.length - 1
    }
}

/// An array that is owned; clones share it.
#[derive(Clone)]
pub struct Array(Arc<[u8]>);

/// An array that lies elsewhere.
#[derive(Clone, Copy)]
pub struct ArrayRef<'a>(&'a [u8]);

/// The bytes before the elements.
struct Head<'a> {
    repr: Repr,
    element: Type,
    dimensions: [Dimension; DIMENSIONS_MAX],
    ndim: usize,
    body: &'a [u8],
}

impl Head<'_> {
    fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..self.ndim]
    }
}

/// How many elements arrays of these dimensions have.
///
/// # Errors
/// 54000 where there are more than [`DIMENSIONS_MAX`] dimensions or [`ELEMENTS_MAX`] elements, or
/// where an upper bound is not a subscript.
pub fn count(dimensions: &[Dimension]) -> Result<usize> {
    if dimensions.len() > DIMENSIONS_MAX {
        return Err(Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!(
                "number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})",
                dimensions.len()
            ),
        ));
    }
    let mut count = usize::from(!dimensions.is_empty());
    for dimension in dimensions {
        let length = usize::try_from(dimension.length).unwrap_or(0);
        count = count.saturating_mul(length);
        if count > ELEMENTS_MAX {
            return Err(too_many());
        }
        if dimension.lower.checked_add(dimension.length).is_none() {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("array lower bound is too large: {}", dimension.lower),
            ));
        }
    }
    Ok(count)
}

/// The error of an array with more than [`ELEMENTS_MAX`] elements.
pub fn too_many() -> Error {
    Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"),
    )
}

/// Elements up to the limit of a value's bytes, and as long as the statement may go on.
struct Measured<I> {
    elements: I,
    bytes: usize,
    pace: Pace,
    end: Result<()>,
}

impl<'a, I: Iterator<Item = DatumRef<'a>>> Iterator for Measured<I> {
    type Item = DatumRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<DatumRef<'a>> {
        let element = self.elements.next()?;
        let bytes = element.heap_bytes();
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > VALUE_BYTES_MAX {
            let message = format!("array size exceeds the maximum allowed ({VALUE_BYTES_MAX})");
            self.end = Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            return None;
        }
        // An element of fixed width costs about as much as so many bytes.
        if let Err(interrupted) = self.pace.step(bytes + 8) {
            self.end = Err(interrupted.into());
            return None;
        }
        Some(element)
    }
}

impl Array {
    /// The array of these dimensions; the elements come row by row and are all held as `repr`.
    ///
    /// # Errors
    /// As [`count`]; 2202E where there are not as many elements as the dimensions say.
    ///
    /// # Panics
    /// Where an element is held otherwise.
    pub fn new<'a>(
        element: Type,
        repr: Repr,
        dimensions: &[Dimension],
        elements: impl IntoIterator<Item = DatumRef<'a>>,
    ) -> Result<Self> {
        let count = count(dimensions)?;
        let dimensions = if count == 0 { &[] } else { dimensions };
        let mut bytes = vec![repr as u8];
        bytes.extend_from_slice(&element.oid().0.to_le_bytes());
        bytes.push(dimensions.len() as u8);
        for dimension in dimensions {
            packed::put_varint(&mut bytes, zigzag(dimension.length));
            packed::put_varint(&mut bytes, zigzag(dimension.lower));
        }
        let elements = elements.into_iter().inspect(|element| {
            assert!(element.repr().is_none_or(|of| of == repr), "{element:?} in {repr:?}");
        });
        let mut elements = Measured { elements, bytes: 0, pace: Pace::new(), end: Ok(()) };
        let seen = packed::put_sequence(&mut bytes, count, &mut elements);
        elements.end?;
        if seen != count {
            return Err(Error::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                format!("array of {count} elements was given {seen}"),
            ));
        }
        Ok(Self(bytes.into()))
    }

    /// The array of one dimension, counted from 1, with these elements.
    ///
    /// # Errors
    /// As [`count`].
    pub fn from_elements<'a>(
        element: Type,
        repr: Repr,
        elements: impl IntoIterator<Item = DatumRef<'a>, IntoIter: ExactSizeIterator>,
    ) -> Result<Self> {
        let elements = elements.into_iter();
        let length = i32::try_from(elements.len()).unwrap_or(i32::MAX);
        Self::new(element, repr, &[Dimension { length, lower: 1 }], elements)
    }

    /// The array without elements.
    pub fn empty(element: Type, repr: Repr) -> Self {
        Self::new(element, repr, &[], []).expect("nothing is within every limit")
    }

    /// A look at the array.
    pub fn as_ref(&self) -> ArrayRef<'_> {
        ArrayRef(&self.0)
    }
}

fn zigzag(number: i32) -> u64 {
    u64::from((number << 1 ^ number >> 31) as u32)
}

fn unzigzag(number: u64) -> Result<i32> {
    let number = u32::try_from(number).map_err(|_| damaged("a bound has more than 32 bits"))?;
    Ok((number >> 1) as i32 ^ -((number & 1) as i32))
}

impl<'a> ArrayRef<'a> {
    /// The array in `bytes`, which [`ArrayRef::as_bytes`] once gave.
    ///
    /// # Errors
    /// XX001 where the bytes are no array.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self> {
        Self::check(bytes, 0)
    }

    /// As [`ArrayRef::from_bytes`], for an array that lies `depth` deep in others.
    pub(crate) fn check(bytes: &'a [u8], depth: u32) -> Result<Self> {
        if depth > DEPTH_MAX {
            return Err(damaged("arrays and records lie too deep in one another"));
        }
        let head = Self::read_head(bytes)?;
        let count = count(head.dimensions()).map_err(|_| damaged("an array is too big"))?;
        if head.dimensions().iter().any(|dimension| dimension.length < 1) {
            return Err(damaged("an array has an empty dimension"));
        }
        let sequence = Sequence::new(head.body, count)?;
        let mut values = sequence.values;
        for at in 0..count {
            if !sequence.is_null(at) {
                packed::take(&mut values, head.repr, depth)?;
            }
        }
        if !values.is_empty() {
            return Err(damaged("an array goes on after its last element"));
        }
        Ok(Self(bytes))
    }

    /// The array in bytes that passed [`ArrayRef::check`] before.
    pub(crate) fn sound(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn read_head(bytes: &'a [u8]) -> Result<Head<'a>> {
        let mut body = bytes;
        let [repr] = packed::take_array(&mut body)?;
        let repr = Repr::from_number(repr).ok_or_else(|| damaged("an array is of nothing"))?;
        let element = Type(Oid(u32::from_le_bytes(packed::take_array(&mut body)?)));
        let [ndim] = packed::take_array(&mut body)?;
        let ndim = usize::from(ndim);
        if ndim > DIMENSIONS_MAX {
            return Err(damaged("an array has too many dimensions"));
        }
        let mut dimensions = [Dimension { length: 0, lower: 1 }; DIMENSIONS_MAX];
        for dimension in &mut dimensions[..ndim] {
            dimension.length = unzigzag(packed::take_varint(&mut body)?)?;
            dimension.lower = unzigzag(packed::take_varint(&mut body)?)?;
        }
        Ok(Head { repr, element, dimensions, ndim, body })
    }

    fn head(self) -> Head<'a> {
        Self::read_head(self.0).expect("checked when the array was read or made")
    }

    /// The bytes of the array.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// An array of its own, equal to this one.
    pub fn to_owned(self) -> Array {
        Array(self.0.into())
    }

    /// The type of the elements.
    pub fn element_type(self) -> Type {
        self.head().element
    }

    /// How the elements are held.
    pub fn element_repr(self) -> Repr {
        self.head().repr
    }

    /// The dimensions, the outermost first; none if the array is empty.
    pub fn dimensions(self) -> Vec<Dimension> {
        self.head().dimensions().to_vec()
    }

    /// How many elements there are, in all dimensions together.
    pub fn len(self) -> usize {
        count(self.head().dimensions()).expect("checked when the array was read or made")
    }

    /// True if there are no elements.
    pub fn is_empty(self) -> bool {
        self.head().ndim == 0
    }

    /// True if an element is NULL.
    pub fn has_nulls(self) -> bool {
        self.iter().sequence.has_nulls()
    }

    /// The elements, row by row.
    pub fn iter(self) -> Elements<'a> {
        let head = self.head();
        let count = self.len();
        let sequence =
            Sequence::new(head.body, count).expect("checked when the array was read or made");
        Elements { repr: head.repr, values: sequence.values, sequence, at: 0, count }
    }

    /// The element at a place in the order of [`ArrayRef::iter`], from 0.
    pub fn get(self, at: usize) -> Option<DatumRef<'a>> {
        self.iter().nth(at)
    }

    /// The element with these subscripts; `None` if there is none, and where there are not as
    /// many subscripts as dimensions.
    pub fn at(self, subscripts: &[i32]) -> Option<DatumRef<'a>> {
        let head = self.head();
        if subscripts.is_empty() || subscripts.len() != head.ndim {
            return None;
        }
        let mut at = 0;
        for (subscript, dimension) in subscripts.iter().zip(head.dimensions()) {
            if *subscript < dimension.lower || *subscript > dimension.upper() {
                return None;
            }
            let within = (i64::from(*subscript) - i64::from(dimension.lower)) as usize;
            at = at * dimension.length as usize + within;
        }
        self.get(at)
    }

    /// The elements as values of their own.
    pub fn to_vec(self) -> Vec<Datum> {
        self.iter().map(DatumRef::to_owned).collect()
    }
}

impl IntoIterator for Array {
    type Item = Datum;
    type IntoIter = OwnedElements;

    fn into_iter(self) -> OwnedElements {
        OwnedElements { array: self, at: 0, taken_bytes: 0 }
    }
}

/// The elements of an array that is kept for them, each made as it is asked for.
pub struct OwnedElements {
    array: Array,
    at: usize,
    /// How many bytes the values before took.
    taken_bytes: usize,
}

impl Iterator for OwnedElements {
    type Item = Datum;

    fn next(&mut self) -> Option<Datum> {
        let mut elements = self.array.as_ref().iter();
        let before = elements.values.len() - self.taken_bytes;
        elements.values = &elements.values[self.taken_bytes..];
        elements.at = self.at;
        let element = elements.next()?.to_owned();
        self.at += 1;
        self.taken_bytes += before - elements.values.len();
        Some(element)
    }
}

/// The elements of an array, row by row.
#[derive(Clone)]
pub struct Elements<'a> {
    repr: Repr,
    sequence: Sequence<'a>,
    values: &'a [u8],
    at: usize,
    count: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = DatumRef<'a>;

    fn next(&mut self) -> Option<DatumRef<'a>> {
        if self.at == self.count {
            return None;
        }
        self.at += 1;
        if self.sequence.is_null(self.at - 1) {
            return Some(DatumRef::Null);
        }
        Some(packed::take_again(&mut self.values, self.repr))
    }

    fn nth(&mut self, n: usize) -> Option<DatumRef<'a>> {
        if n < self.count - self.at
            && let Some(width) = packed::width(self.repr)
            && !self.sequence.has_nulls()
        {
            self.at += n;
            self.values = &self.values[n * width..];
            return self.next();
        }
        for _ in 0..n {
            if self.at == self.count {
                return None;
            }
            if !self.sequence.is_null(self.at) {
                packed::take_raw(&mut self.values, self.repr)
                    .expect("checked when the array was read or made");
            }
            self.at += 1;
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.at, Some(self.count - self.at))
    }
}

impl ExactSizeIterator for Elements<'_> {}

impl fmt::Debug for ArrayRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array({:?}", self.element_type())?;
        for dimension in self.dimensions() {
            write!(f, "[{}:{}]", dimension.lower, dimension.upper())?;
        }
        f.write_str(" ")?;
        f.debug_list().entries(self.iter()).finish()?;
        f.write_str(")")
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
