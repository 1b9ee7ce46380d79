//! Parts of a value, and questions about it: PostgreSQL's operators and functions that only read.
//!
//! ```text
//!   ->  field, element      #>  path       ?  exists     @>  contains
//!   jsonb_object_keys  names      jsonb_each  fields     jsonb_array_elements  elements
//! ```
//!
//! `->>` and `#>>` are [`JsonbRef::to_text`] behind them. A position below 0 counts from the end.
//! In some places PostgreSQL takes a scalar at the top for an array of one element; where it does,
//! this says so.

use numeric::Numeric;

use super::compare::compare_scalars;
use super::error::JsonbError;
use super::form::{Array, JsonbRef, Object, Value};
use super::subscript;
use crate::tape::Kind;

/// How deep containment goes into containers before it gives up.
const DEPTH_MAX: usize = 1000;

impl<'a> JsonbRef<'a> {
    /// `jsonb -> text`: the field called `name`, if this is an object that has it.
    #[inline]
    pub fn field(self, name: &str) -> Option<JsonbRef<'a>> {
        if let Some(found) = self.object_at(&[name]) {
            return found;
        }
        self.as_object()?.get(name)
    }

    /// `jsonb -> integer`: the element at `position`, if this is an array that has it. A scalar is
    /// an array of one.
    pub fn element(self, position: i32) -> Option<JsonbRef<'a>> {
        if let Some(lazy) = self.as_lazy()
            && lazy.kind() == Kind::Array
            && let Ok(found) = lazy.path(&[&position.to_string()])
        {
            return found;
        }
        match self.value() {
            Value::Array(array) => array.at(i64::from(position)),
            Value::Object(_) => None,
            _ => matches!(position, 0 | -1).then_some(self),
        }
    }

    /// `jsonb #> text[]`, `jsonb_extract_path` and subscripts: what the path leads to, names in
    /// objects and positions in arrays. The empty path leads to the value itself.
    pub fn path<'p>(self, path: impl IntoIterator<Item = &'p str>) -> Option<JsonbRef<'a>> {
        if let Some(lazy) = self.as_lazy() {
            let path = Vec::from_iter(path);
            if path.is_empty() {
                return Some(self);
            }
            return match lazy.path(&path) {
                Ok(found) => found,
                Err(_) => JsonbRef::new(self.bytes()).path(path),
            };
        }
        path.into_iter().try_fold(self, |value, step| match value.value() {
            Value::Object(object) => object.get(step),
            Value::Array(array) => array.at(i64::from(subscript(step)?)),
            _ => None,
        })
    }

    /// `jsonb ? text`: an object has a field called `name`, an array a string that equals it, or
    /// the value is that string.
    pub fn exists(self, name: &str) -> bool {
        if let Some(lazy) = self.as_lazy().filter(|lazy| lazy.kind() == Kind::Object)
            && let Ok(exists) = lazy.has(&[name])
        {
            return exists;
        }
        match self.value() {
            Value::Object(object) => object.find(name.as_bytes()).is_some(),
            Value::Array(array) => array.iter().any(|element| element.as_str() == Some(name)),
            Value::String(string) => string == name,
            _ => false,
        }
    }

    /// `jsonb ?| text[]`: one of the names exists.
    pub fn exists_any<'p>(self, names: impl IntoIterator<Item = &'p str>) -> bool {
        names.into_iter().any(|name| self.exists(name))
    }

    /// `jsonb ?& text[]`: all of the names exist.
    pub fn exists_all<'p>(self, names: impl IntoIterator<Item = &'p str>) -> bool {
        names.into_iter().all(|name| self.exists(name))
    }

    /// `jsonb @> jsonb`: everything in `other` is in this value too, at the same place. Order and
    /// number of elements do not count, and an array contains a scalar that is one of its elements
    /// where the scalar stands at the top.
    ///
    /// # Errors
    /// [`JsonbError::TooDeep`].
    pub fn contains(self, other: JsonbRef<'_>) -> Result<bool, JsonbError> {
        if let (Some(_), Some(part)) = (self.as_lazy(), other.as_object()) {
            return self.contains_fields(part);
        }
        match (self.value(), other.value()) {
            (Value::Array(array), value) if is_scalar(&value) => Ok(has_scalar(array, other)),
            _ => contains(self, other, 0),
        }
    }

    /// [`JsonbRef::contains`] of an object, whose fields are looked up one by one.
    fn contains_fields(self, part: Object<'_>) -> Result<bool, JsonbError> {
        if self.kind() != Kind::Object {
            return Ok(false);
        }
        for (name, value) in part.iter() {
            let Some(found) = self.field(name) else { return Ok(false) };
            if !contains(found, value, 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns what a path leads to in a lazy object; `None` if this is none, or only the whole value can tell.
    fn object_at(self, path: &[&str]) -> Option<Option<JsonbRef<'a>>> {
        let lazy = self.as_lazy().filter(|lazy| lazy.kind() == Kind::Object)?;
        lazy.path(path).ok()
    }

    /// `jsonb_typeof`: `object`, `array`, `string`, `number`, `boolean` or `null`.
    pub fn type_name(self) -> &'static str {
        match self.kind() {
            Kind::Null => "null",
            Kind::False | Kind::True => "boolean",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }

    /// `jsonb_array_length`.
    ///
    /// # Errors
    /// [`JsonbError::LengthOfScalar`], [`JsonbError::LengthOfNonArray`].
    pub fn array_length(self) -> Result<usize, JsonbError> {
        match self.value() {
            Value::Array(array) => Ok(array.len()),
            Value::Object(_) => Err(JsonbError::LengthOfNonArray),
            _ => Err(JsonbError::LengthOfScalar),
        }
    }

    /// `jsonb_object_keys`: the names of the fields, in the order of the form.
    ///
    /// # Errors
    /// [`JsonbError::WrongKind`].
    pub fn names(self) -> Result<impl ExactSizeIterator<Item = &'a str>, JsonbError> {
        let what = match self.value() {
            Value::Object(object) => return Ok(object.names()),
            Value::Array(_) => "an array",
            _ => "a scalar",
        };
        Err(JsonbError::WrongKind { function: "jsonb_object_keys", what })
    }

    /// `jsonb_each`, called by the name of `function`: names and values, in the order of the form.
    ///
    /// # Errors
    /// [`JsonbError::WrongKind`].
    pub fn fields(
        self,
        function: &'static str,
    ) -> Result<impl ExactSizeIterator<Item = (&'a str, JsonbRef<'a>)>, JsonbError> {
        let object = self.as_object();
        let wrong = JsonbError::WrongKind { function, what: "a non-object" };
        object.map(Object::iter).ok_or(wrong)
    }

    /// `jsonb_array_elements`.
    ///
    /// # Errors
    /// [`JsonbError::ElementsOfObject`], [`JsonbError::ElementsOfScalar`].
    pub fn elements(self) -> Result<impl ExactSizeIterator<Item = JsonbRef<'a>>, JsonbError> {
        match self.value() {
            Value::Array(array) => Ok(array.iter()),
            Value::Object(_) => Err(JsonbError::ElementsOfObject),
            _ => Err(JsonbError::ElementsOfScalar),
        }
    }

    /// The cast to `boolean`.
    ///
    /// # Errors
    /// [`JsonbError::CannotCast`].
    pub fn to_bool(self) -> Result<bool, JsonbError> {
        match self.value() {
            Value::Bool(value) => Ok(value),
            _ => Err(self.cannot_cast("boolean")),
        }
    }

    /// The cast to a numeric type, whose SQL name is `target`, as far as `numeric`.
    ///
    /// # Errors
    /// [`JsonbError::CannotCast`].
    pub fn to_numeric(self, target: &'static str) -> Result<Numeric, JsonbError> {
        match self.value() {
            Value::Number(number) => Ok(number.to_numeric()),
            _ => Err(self.cannot_cast(target)),
        }
    }

    fn cannot_cast(self, target: &'static str) -> JsonbError {
        let kind = match self.type_name() {
            "number" => "numeric",
            kind => kind,
        };
        JsonbError::CannotCast { kind, target }
    }
}

fn is_scalar(value: &Value<'_>) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

fn has_scalar(array: Array<'_>, scalar: JsonbRef<'_>) -> bool {
    array.iter().any(|element| equal_scalars(element, scalar))
}

/// True if both are scalars and equal.
fn equal_scalars(a: JsonbRef<'_>, b: JsonbRef<'_>) -> bool {
    !a.kind().is_container() && !b.kind().is_container() && compare_scalars(a, b).is_eq()
}

/// Containment below the top, where only like contains like.
fn contains(whole: JsonbRef<'_>, part: JsonbRef<'_>, depth: usize) -> Result<bool, JsonbError> {
    if depth > DEPTH_MAX {
        return Err(JsonbError::TooDeep);
    }
    interrupt::check()?;
    if whole.bytes() == part.bytes() {
        return Ok(true);
    }
    match (whole.value(), part.value()) {
        (Value::Object(whole), Value::Object(part)) => {
            if whole.len() < part.len() {
                return Ok(false);
            }
            for field in 0..part.len() {
                let Some(found) = whole.find(part.name_bytes(field)) else { return Ok(false) };
                if !contains(whole.value(found), part.value(field), depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Array(whole), Value::Array(part)) => {
            for wanted in part.iter() {
                if !has_element(whole, wanted, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(equal_scalars(whole, part)),
    }
}

/// True if an element of `array` contains `wanted`.
fn has_element(array: Array<'_>, wanted: JsonbRef<'_>, depth: usize) -> Result<bool, JsonbError> {
    interrupt::check()?;
    if !wanted.kind().is_container() {
        return Ok(has_scalar(array, wanted));
    }
    for element in array.iter() {
        if contains(element, wanted, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}
