//! [`Words`]: the dictionary of a column of texts.

use std::sync::Arc;

use stripe::Dictionary;
use types::{Datum, DatumRef, Repr, Result, row};

use crate::source::text_of;

/// The dictionary of a column or a field of a stripe.
#[derive(Debug, Default)]
pub struct Words {
    /// The bytes that it was read from.
    bytes: Arc<[u8]>,
    entries: Entries,
    /// The code that stands for NULL, if there is one.
    null: Option<u32>,
}

#[derive(Debug)]
enum Entries {
    /// Values that are held like this.
    Raw(Repr, Dictionary),
    /// Values that were made of those of the dictionary.
    Made(Vec<Datum>),
}

impl Default for Entries {
    fn default() -> Entries {
        Entries::Made(Vec::new())
    }
}

impl Words {
    /// Reads a dictionary of values that are held like this; of `jsonb` as text if `is_text`.
    ///
    /// # Errors
    /// XX001 if the bytes are damaged.
    pub fn read(bytes: Arc<[u8]>, repr: Repr, is_text: bool) -> Result<Words> {
        let strings = Dictionary::read(&bytes)
            .map_err(|error| types::Error::from_source(types::SqlState::DATA_CORRUPTED, error))?;
        // The empty string stands for NULL, and need not be a value.
        for string in strings.strings().iter().filter(|string| !string.is_empty()) {
            row::read_value(string, repr)?;
        }
        if !is_text {
            return Ok(Words { bytes, entries: Entries::Raw(repr, strings), null: None });
        }
        let text = |string: &[u8]| match string.is_empty() {
            true => Ok(Datum::Null),
            false => text_of(row::read_value(string, repr)?),
        };
        let made = strings.strings().iter().map(text).collect::<Result<Vec<Datum>>>()?;
        let is_null = |(_, value): &(u32, &Datum)| value.is_null();
        // The empty string is no value of any row.
        let all = (0..).zip(&made).zip(strings.strings().iter());
        let null = all.filter(|(_, string)| !string.is_empty()).map(|(pair, _)| pair).find(is_null);
        let null = null.map(|(code, _)| code);
        Ok(Words { bytes, entries: Entries::Made(made), null })
    }

    /// Returns true if these bytes are the same dictionary: stripes often have equal ones.
    pub fn is_of(&self, bytes: &Arc<[u8]>) -> bool {
        Arc::ptr_eq(&self.bytes, bytes) || self.bytes == *bytes
    }

    /// Returns a dictionary of values that were computed.
    pub fn made(values: Vec<Datum>) -> Words {
        Words { bytes: Arc::default(), entries: Entries::Made(values), null: None }
    }

    /// Returns true if the codes have the order of the bytes of their values.
    pub fn is_sorted(&self) -> bool {
        matches!(self.entries, Entries::Raw(..))
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match &self.entries {
            Entries::Raw(_, strings) => strings.strings().len(),
            Entries::Made(values) => values.len(),
        }
    }

    /// Returns about how many bytes it holds.
    pub fn bytes_held(&self) -> usize {
        let made: usize = match &self.entries {
            Entries::Raw(..) => 0,
            Entries::Made(values) => {
                values.iter().map(|value| size_of::<Datum>() + value.heap_bytes()).sum()
            }
        };
        self.bytes.len() + made
    }

    /// Returns the codes, from the first up to the second, of the values that begin with these bytes; no codes of values
    /// that were made of others.
    pub fn with_prefix(&self, prefix: &[u8]) -> (u32, u32) {
        let Entries::Raw(_, strings) = &self.entries else { return (0, 0) };
        let strings = strings.strings();
        // The dictionary is sorted.
        let first_that = |is: &dyn Fn(&[u8]) -> bool| {
            let (mut low, mut high) = (0, strings.len());
            while low < high {
                let middle = low + (high - low) / 2;
                if is(strings.get(middle)) { high = middle } else { low = middle + 1 }
            }
            low as u32
        };
        let from = first_that(&|string| string >= prefix);
        (from, first_that(&|string| string >= prefix && !string.starts_with(prefix)))
    }

    /// Adds the rows whose code stands for NULL to those that are NULL.
    pub fn nulls(&self, nulls: Vec<bool>, codes: &[u32]) -> Vec<bool> {
        let Some(null) = self.null else { return nulls };
        let of_code = codes.iter().map(|code| *code == null);
        match nulls.is_empty() {
            true if !codes.contains(&null) => nulls,
            true => of_code.collect(),
            false => nulls.iter().zip(of_code).map(|(known, of_code)| known | of_code).collect(),
        }
    }

    /// Returns the value with a code.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn get(&self, code: u32) -> DatumRef<'_> {
        match &self.entries {
            Entries::Raw(repr, strings) => {
                let string = strings.strings().get(code as usize);
                row::read_value(string, *repr).unwrap_or(DatumRef::Null)
            }
            Entries::Made(values) => values[code as usize].as_ref(),
        }
    }
}
