//! [`NumericRef`]: a `numeric` that lies elsewhere.

use numeric::Numeric;

/// A `numeric` that lies elsewhere, as a value or in its stored form.
#[derive(Clone, Copy)]
pub struct NumericRef<'a>(NumericPlace<'a>);

#[derive(Clone, Copy)]
enum NumericPlace<'a> {
    Value(&'a Numeric),
    Stored(&'a [u8]),
}

impl<'a> NumericRef<'a> {
    /// The number in the stored form `bytes`; `None` if they are none.
    pub fn from_stored(bytes: &'a [u8]) -> Option<Self> {
        Numeric::is_stored(bytes).then_some(Self(NumericPlace::Stored(bytes)))
    }

    /// How many bytes the number has, beyond those that every value has.
    pub(crate) fn heap_bytes(self) -> usize {
        match self.0 {
            NumericPlace::Value(value) => value.heap_bytes(),
            NumericPlace::Stored(bytes) => bytes.len(),
        }
    }

    /// The number. Nothing is allocated for up to 38 digits.
    #[inline]
    pub fn get(self) -> Numeric {
        match self.0 {
            NumericPlace::Value(value) => value.clone(),
            NumericPlace::Stored(bytes) => {
                Numeric::from_stored(bytes).expect("read when the reference was made")
            }
        }
    }

    /// Mantissa and scale, where the mantissa fits 64 bits: the value is `mantissa / 10^scale`.
    #[inline]
    pub fn as_short(self) -> Option<(i64, u32)> {
        match self.0 {
            NumericPlace::Value(value) => {
                let (mantissa, scale) = value.as_small()?;
                Some((i64::try_from(mantissa).ok()?, scale))
            }
            NumericPlace::Stored(bytes) => Numeric::short_from_stored(bytes),
        }
    }

    /// Writes the stored form after what is in `out`.
    pub(crate) fn put_stored(self, out: &mut Vec<u8>) {
        match self.0 {
            NumericPlace::Value(value) => value.to_stored(out),
            NumericPlace::Stored(bytes) => out.extend_from_slice(bytes),
        }
    }
}

impl Ord for NumericRef<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Most numbers have as many digits after the point as those that they are compared with.
        if let (Some((a, a_scale)), Some((b, b_scale))) = (self.as_short(), other.as_short())
            && a_scale == b_scale
        {
            return a.cmp(&b);
        }
        self.get().cmp(&other.get())
    }
}

impl PartialOrd for NumericRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NumericRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for NumericRef<'_> {}

impl<'a> From<&'a Numeric> for NumericRef<'a> {
    fn from(value: &'a Numeric) -> Self {
        Self(NumericPlace::Value(value))
    }
}
