//! Documents that are JSON: the values in them that are searched as texts.
//!
//! ```text
//!   {"a": "fat rats", "n": 1}    "string"   fat rats
//!                                "key"      a · n
//! ```

use ::json::jsonb::{JsonbRef, Value};
use ::json::written;
use types::{Error, Result, SqlState};

/// Which values count.
#[derive(Clone, Copy, Default)]
pub(super) struct JsonParts {
    strings: bool,
    numbers: bool,
    truths: bool,
    keys: bool,
}

impl JsonParts {
    /// Texts alone.
    pub(super) const STRINGS: JsonParts =
        JsonParts { strings: true, numbers: false, truths: false, keys: false };

    /// Reads the kinds that a filter names: a word, or an array of words.
    pub(super) fn read(filter: JsonbRef<'_>) -> Result<Self> {
        let mut wanted = JsonParts::default();
        match filter.value() {
            Value::Object(_) => {
                let message = "wrong flag type, only arrays and scalars are allowed";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
            Value::Array(list) => list.iter().try_for_each(|flag| wanted.add(flag))?,
            _ => wanted.add(filter)?,
        }
        Ok(wanted)
    }

    fn add(&mut self, flag: JsonbRef<'_>) -> Result<()> {
        let hint =
            "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".";
        let Some(flag) = flag.as_str() else {
            let message = "flag array element is not a string";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(hint));
        };
        match flag.to_ascii_lowercase().as_str() {
            "all" => *self = JsonParts { strings: true, numbers: true, truths: true, keys: true },
            "key" => self.keys = true,
            "string" => self.strings = true,
            "numeric" => self.numbers = true,
            "boolean" => self.truths = true,
            _ => {
                let message = format!("wrong flag in flag array: \"{flag}\"");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(hint));
            }
        }
        Ok(())
    }
}

/// Calls a function with each text of a `jsonb`.
pub(super) fn of_jsonb(
    value: JsonbRef<'_>,
    wanted: JsonParts,
    each: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    match value.value() {
        Value::Object(object) => {
            for (name, value) in object.iter() {
                if wanted.keys {
                    each(name)?;
                }
                of_jsonb(value, wanted, each)?;
            }
            Ok(())
        }
        Value::Array(list) => list.iter().try_for_each(|value| of_jsonb(value, wanted, each)),
        Value::String(text) if wanted.strings => each(text),
        Value::Number(_) if wanted.numbers => each(&value.to_string()),
        Value::Bool(truth) if wanted.truths => each(if truth { "true" } else { "false" }),
        _ => Ok(()),
    }
}

/// Calls a function with each text of a `json`.
pub(super) fn of_json(
    json: &str,
    wanted: JsonParts,
    each: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    match written::type_name(json)? {
        "object" => {
            for field in written::each(json)? {
                let (name, value) = field?;
                if wanted.keys {
                    each(&name)?;
                }
                of_json(value.json(), wanted, each)?;
            }
            Ok(())
        }
        "array" => {
            for element in written::elements(json, "json_to_tsvector")? {
                of_json(element?.json(), wanted, each)?;
            }
            Ok(())
        }
        kind => {
            let is_wanted = match kind {
                "string" => wanted.strings,
                "number" => wanted.numbers,
                "boolean" => wanted.truths,
                _ => false,
            };
            // A scalar is the one element of an array of itself.
            let list = format!("[{json}]");
            match written::elements(&list, "json_to_tsvector")?.next().filter(|_| is_wanted) {
                Some(element) => element?.to_text().map_or(Ok(()), |text| each(&text)),
                None => Ok(()),
            }
        }
    }
}
