//! New values from old ones: PostgreSQL's operators and functions that change a value. All of them
//! leave the old value unchanged.
//!
//! ```text
//!   ||  concat           -  delete_name, delete_names, delete_element        #-  delete_path
//!   jsonb_set  set       jsonb_insert  insert       subscripts  assign       strip_nulls
//! ```
//!
//! The edits at a path are one walk down it. On each level everything before the place goes into
//! the new value, then the walk goes down, and what is behind the place follows on the way back:
//!
//! ```text
//!   {"a": 1, "b": [1, 2, 3], "c": 4}   at {b,1}
//!
//!   {  a: 1     b: [  1                                  before, level by level
//!                        ↓ the change
//!                                3  ]  c: 4  }           behind, innermost first
//! ```

use super::build::Builder;
use super::error::JsonbError;
use super::form::{Array, Jsonb, JsonbRef, Object, Value};
use super::lazy::{CHANGES_MAX, Lazy, Unknown};
use super::subscript;
use super::walk::{Token, Walk};
use crate::tape::Kind;

/// Elements that an assignment behind the end of an array may leave empty, at most.
const GAP_MAX: usize = 1 << 24;

/// The treatment of a new value that is SQL's null, by `jsonb_set_lax`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NullTreatment {
    /// `raise_exception`
    Raise,
    /// `use_json_null`
    UseJsonNull,
    /// `delete_key`
    DeleteKey,
    /// `return_target`
    ReturnTarget,
}

impl NullTreatment {
    /// The treatment of that name; null is no name.
    ///
    /// # Errors
    /// [`JsonbError::UnknownNullTreatment`].
    pub fn named(name: Option<&str>) -> Result<NullTreatment, JsonbError> {
        match name {
            Some("raise_exception") => Ok(NullTreatment::Raise),
            Some("use_json_null") => Ok(NullTreatment::UseJsonNull),
            Some("delete_key") => Ok(NullTreatment::DeleteKey),
            Some("return_target") => Ok(NullTreatment::ReturnTarget),
            _ => Err(JsonbError::UnknownNullTreatment),
        }
    }
}

/// A subscript of an assignment.
#[derive(Clone, Debug)]
pub enum Subscript<'p> {
    /// `[1]`: makes an array where there is nothing yet.
    Position(i32),
    /// `['a']`: makes an object where there is nothing yet.
    Name(&'p str),
}

/// The change at the end of a path.
#[derive(Clone, Copy)]
enum Change<'a> {
    Delete,
    /// Replaces what is there; `create` adds what is not.
    Set {
        value: JsonbRef<'a>,
        create: bool,
    },
    /// Adds a field that is not there, or an element at a place.
    Insert {
        value: JsonbRef<'a>,
        after: bool,
    },
    /// Replaces or adds, and makes all that the path needs on the way.
    Assign {
        value: JsonbRef<'a>,
    },
}

impl<'a> Change<'a> {
    /// The value for a place where there is none yet, if the change makes one.
    fn created(self) -> Option<JsonbRef<'a>> {
        match self {
            Change::Set { value, create: true }
            | Change::Insert { value, .. }
            | Change::Assign { value } => Some(value),
            Change::Delete | Change::Set { .. } => None,
        }
    }

    fn fills_gaps(self) -> bool {
        matches!(self, Change::Assign { .. })
    }
}

impl<'a> JsonbRef<'a> {
    /// `jsonb || jsonb`: the fields of two objects, where the second wins if both have a field; else the elements of
    /// both, where a value that is no array counts as an array of one.
    ///
    /// # Errors
    /// [`JsonbError::ArrayTooLarge`], [`JsonbError::ObjectTooLarge`].
    pub fn concat(self, other: JsonbRef<'a>) -> Result<Jsonb, JsonbError> {
        if let Some(lazy) = self.as_lazy()
            && let Ok(changed) = lazy_concat(lazy, other)
        {
            return Ok(changed.into());
        }
        let mut builder = Builder::new();
        match (self.value(), other.value()) {
            (Value::Object(left), Value::Object(right)) => builder.object(|o| {
                take_fields(left, 0..left.len(), o);
                take_fields(right, 0..right.len(), o);
            }),
            _ => builder.array(|a| {
                for side in [self, other] {
                    match side.value() {
                        Value::Array(array) => take_elements(array, 0..array.len(), a),
                        _ => {
                            a.value(side);
                        }
                    }
                }
            }),
        };
        builder.finish()
    }

    /// `jsonb - text`: without the field called `name`, or the strings that equal it.
    ///
    /// # Errors
    /// [`JsonbError::DeleteFromScalar`].
    pub fn delete_name(self, name: &str) -> Result<Jsonb, JsonbError> {
        self.delete_names([name])
    }

    /// `jsonb - text[]`: without the fields of these names, or the strings that equal one.
    ///
    /// # Errors
    /// [`JsonbError::DeleteFromScalar`].
    pub fn delete_names<'p>(
        self,
        names: impl IntoIterator<Item = &'p str>,
    ) -> Result<Jsonb, JsonbError> {
        let mut names = Vec::from_iter(names);
        if let Some(lazy) = self.as_lazy()
            && let Ok(changed) = lazy_without(lazy, &names)
        {
            return Ok(changed.into());
        }
        names.sort_unstable();
        let named = |name: &str| names.binary_search(&name).is_ok();
        let mut builder = Builder::new();
        match self.value() {
            Value::Object(object) => builder.object(|o| {
                for (name, value) in object.iter().filter(|(name, _)| !named(name)) {
                    o.name(name).value(value);
                }
            }),
            Value::Array(array) => builder.array(|a| {
                let kept = |element: &JsonbRef<'_>| !element.as_str().is_some_and(named);
                for element in array.iter().filter(kept) {
                    a.value(element);
                }
            }),
            _ => return Err(JsonbError::DeleteFromScalar),
        };
        builder.finish()
    }

    /// `jsonb - integer`: without the element at `position`, if there is one.
    ///
    /// # Errors
    /// [`JsonbError::DeleteFromScalar`], [`JsonbError::DeleteFromObjectByIndex`].
    pub fn delete_element(self, position: i32) -> Result<Jsonb, JsonbError> {
        let array = match self.value() {
            Value::Array(array) => array,
            Value::Object(_) => return Err(JsonbError::DeleteFromObjectByIndex),
            _ => return Err(JsonbError::DeleteFromScalar),
        };
        let place = i64::from(position) + if position < 0 { array.len() as i64 } else { 0 };
        let mut builder = Builder::new();
        builder.array(|a| {
            for (_, element) in array.iter().enumerate().filter(|(at, _)| *at as i64 != place) {
                a.value(element);
            }
        });
        builder.finish()
    }

    /// `jsonb #- text[]`: without what the path leads to, if it leads anywhere.
    ///
    /// # Errors
    /// [`JsonbError::DeletePathInScalar`], and those of the path.
    pub fn delete_path(self, path: &[Option<&str>]) -> Result<Jsonb, JsonbError> {
        if let Some((lazy, path)) = self.lazy_at(path)
            && let Ok(changed) = lazy.remove(&path)
        {
            return Ok(changed.into());
        }
        match self.value() {
            Value::Array(array) if array.is_empty() => Ok(self.to_jsonb()),
            Value::Object(object) if object.is_empty() => Ok(self.to_jsonb()),
            Value::Array(_) | Value::Object(_) => edit(self, path, Change::Delete),
            _ => Err(JsonbError::DeletePathInScalar),
        }
    }

    /// `jsonb_set`: with `value` in the place that the path leads to. If nothing is there but a container for it, the
    /// value is added only with `create`.
    ///
    /// # Errors
    /// [`JsonbError::SetPathInScalar`], and those of the path.
    pub fn set(
        self,
        path: &[Option<&str>],
        value: JsonbRef<'a>,
        create: bool,
    ) -> Result<Jsonb, JsonbError> {
        if let Some((lazy, path)) = self.lazy_at(path)
            && let Ok(changed) = lazy.set(&path, value, create)
        {
            return Ok(changed.into());
        }
        match self.value() {
            Value::Array(array) if array.is_empty() && !create => Ok(self.to_jsonb()),
            Value::Object(object) if object.is_empty() && !create => Ok(self.to_jsonb()),
            Value::Array(_) | Value::Object(_) => edit(self, path, Change::Set { value, create }),
            _ => Err(JsonbError::SetPathInScalar),
        }
    }

    /// Returns the lazy value that this is, and a path that has no NULL.
    fn lazy_at<'p>(self, path: &[Option<&'p str>]) -> Option<(&'a Lazy, Vec<&'p str>)> {
        let lazy = self.as_lazy()?;
        Some((lazy, path.iter().copied().collect::<Option<_>>()?))
    }

    /// `jsonb_set_lax`: as [`JsonbRef::set`], but a new value that is SQL's null is treated as
    /// `nulls` says.
    ///
    /// # Errors
    /// [`JsonbError::NullRefused`], and those of what is done.
    pub fn set_lax(
        self,
        path: &[Option<&str>],
        value: Option<JsonbRef<'a>>,
        create: bool,
        nulls: NullTreatment,
    ) -> Result<Jsonb, JsonbError> {
        match (value, nulls) {
            (Some(value), _) => self.set(path, value, create),
            (None, NullTreatment::UseJsonNull) => self.set(path, Jsonb::default().root(), create),
            (None, NullTreatment::DeleteKey) => self.delete_path(path),
            (None, NullTreatment::ReturnTarget) => Ok(self.to_jsonb()),
            (None, NullTreatment::Raise) => Err(JsonbError::NullRefused),
        }
    }

    /// `jsonb_insert`: with `value` before or after the element that the path leads to, or as a
    /// new field.
    ///
    /// # Errors
    /// [`JsonbError::SetPathInScalar`], [`JsonbError::KeyExists`], and those of the path.
    pub fn insert(
        self,
        path: &[Option<&str>],
        value: JsonbRef<'a>,
        after: bool,
    ) -> Result<Jsonb, JsonbError> {
        if !self.kind().is_container() {
            return Err(JsonbError::SetPathInScalar);
        }
        edit(self, path, Change::Insert { value, after })
    }

    /// `jsonb_strip_nulls`: without the fields that are null, at any depth.
    pub fn strip_nulls(self) -> Jsonb {
        let mut builder = Builder::new();
        let mut name = None;
        for token in Walk::new(self) {
            if let (Some(_), Token::Scalar(value)) = (name, &token)
                && value.kind() == Kind::Null
            {
                name = None;
                continue;
            }
            if let Some(name) = name.take() {
                builder.name_bytes(name);
            }
            match token {
                Token::Name(bytes) => name = Some(bytes),
                Token::Scalar(value) => {
                    builder.value(value);
                }
                Token::Array(_) => builder.open_array(),
                Token::Object(_) => builder.open_object(),
                Token::Close => builder.close_container(),
            }
        }
        // Nothing grows, so no limit can be crossed.
        builder.finish().unwrap_or_default()
    }
}

/// An assignment to `target['a'][1]...`; a target that is SQL's null becomes an array or an object,
/// as the first subscript needs it.
///
/// # Errors
/// [`JsonbError::SubscriptNull`] where a subscript is `None`, [`JsonbError::SubscriptOfScalar`],
/// [`JsonbError::ArrayTooLarge`], and those of the path.
pub fn assign(
    target: Option<JsonbRef<'_>>,
    subscripts: &[Option<Subscript<'_>>],
    value: JsonbRef<'_>,
) -> Result<Jsonb, JsonbError> {
    let mut path = Vec::with_capacity(subscripts.len());
    for subscript in subscripts {
        path.push(match subscript.as_ref().ok_or(JsonbError::SubscriptNull)? {
            Subscript::Position(position) => position.to_string(),
            Subscript::Name(name) => (*name).to_owned(),
        });
    }
    let path = Vec::from_iter(path.iter().map(|step| Some(step.as_str())));
    if let Some((lazy, path)) = target.and_then(|target| target.lazy_at(&path))
        && let Ok(changed) = lazy.set(&path, value, true)
    {
        return Ok(changed.into());
    }
    let mut empty = Builder::new();
    match subscripts.first() {
        Some(Some(Subscript::Position(_))) => empty.array(|_| {}),
        _ => empty.object(|_| {}),
    };
    let empty = empty.finish()?;
    edit(target.unwrap_or(empty.root()), &path, Change::Assign { value })
}

/// `jsonb || jsonb` of two objects.
fn lazy_concat(lazy: &Lazy, other: JsonbRef<'_>) -> Result<Lazy, Unknown> {
    let fields = other.as_object().filter(|_| lazy.kind() == Kind::Object).ok_or(Unknown)?;
    if fields.len() > CHANGES_MAX {
        return Err(Unknown);
    }
    let mut fields = fields.iter();
    fields.try_fold(lazy.unchanged(), |changed, (name, value)| changed.set(&[name], value, true))
}

/// `jsonb - text[]` of an object.
fn lazy_without(lazy: &Lazy, names: &[&str]) -> Result<Lazy, Unknown> {
    if lazy.kind() != Kind::Object || names.len() > CHANGES_MAX {
        return Err(Unknown);
    }
    let mut names = names.iter().enumerate().filter(|(at, name)| !names[..*at].contains(name));
    names.try_fold(lazy.unchanged(), |changed, (_, name)| changed.remove(&[name]))
}

/// A container that is open in the new value: what of the old one is still to be taken over.
enum Behind<'a> {
    Elements(Array<'a>, usize),
    Fields(Object<'a>, usize),
    /// Nothing was there before.
    Nothing,
}

/// Makes a change at the place that a path leads to. The empty path changes nothing.
fn edit<'a>(
    root: JsonbRef<'a>,
    path: &[Option<&str>],
    change: Change<'a>,
) -> Result<Jsonb, JsonbError> {
    let mut edit = Edit { path, change, builder: Builder::new(), behind: Vec::new() };
    let (mut value, mut level) = (root, 0);
    while let Some(inner) = edit.level(value, level)? {
        (value, level) = (inner, level + 1);
    }
    while let Some(behind) = edit.behind.pop() {
        match behind {
            Behind::Elements(array, from) => {
                take_elements(array, from..array.len(), &mut edit.builder);
            }
            Behind::Fields(object, from) => {
                take_fields(object, from..object.len(), &mut edit.builder);
            }
            Behind::Nothing => {}
        }
        edit.builder.close_container();
    }
    edit.builder.finish()
}

/// An edit during the descent.
struct Edit<'a, 'p> {
    path: &'p [Option<&'p str>],
    change: Change<'a>,
    builder: Builder<'a>,
    behind: Vec<Behind<'a>>,
}

impl<'a> Edit<'a, '_> {
    /// Goes through one value on the path; returns the child to go on with.
    fn level(
        &mut self,
        value: JsonbRef<'a>,
        level: usize,
    ) -> Result<Option<JsonbRef<'a>>, JsonbError> {
        let Some(&step) = self.path.get(level) else {
            self.builder.value(value);
            return Ok(None);
        };
        let step = step.ok_or(JsonbError::PathElementNull { position: level + 1 })?;
        match value.value() {
            Value::Object(object) => self.object(object, step, level),
            Value::Array(array) => self.array(array, step, level),
            _ if self.change.fills_gaps() => Err(JsonbError::SubscriptOfScalar),
            _ => {
                self.builder.value(value);
                Ok(None)
            }
        }
    }

    fn is_last(&self, level: usize) -> bool {
        level + 1 == self.path.len()
    }

    fn object(
        &mut self,
        object: Object<'a>,
        name: &str,
        level: usize,
    ) -> Result<Option<JsonbRef<'a>>, JsonbError> {
        self.builder.open_object();
        let Some(field) = object.find(name.as_bytes()) else {
            self.behind.push(Behind::Fields(object, 0));
            if self.is_last(level) {
                if let Some(value) = self.change.created() {
                    self.builder.name(name).value(value);
                }
            } else if let Change::Assign { value } = self.change {
                self.builder.name(name);
                self.make_path(level + 1, value)?;
            }
            return Ok(None);
        };
        take_fields(object, 0..field, &mut self.builder);
        self.behind.push(Behind::Fields(object, field + 1));
        if !self.is_last(level) {
            self.builder.name(name);
            return Ok(Some(object.value(field)));
        }
        match self.change {
            Change::Delete => {}
            Change::Set { value, .. } | Change::Assign { value } => {
                self.builder.name(name).value(value);
            }
            Change::Insert { .. } => return Err(JsonbError::KeyExists),
        }
        Ok(None)
    }

    fn array(
        &mut self,
        array: Array<'a>,
        step: &str,
        level: usize,
    ) -> Result<Option<JsonbRef<'a>>, JsonbError> {
        let position = level + 1;
        let index = subscript(step)
            .ok_or_else(|| JsonbError::PathElementNotInteger { position, text: step.to_owned() })?;
        let len = array.len();
        // Before the first element, at one of them, or so many behind the last.
        let (before_all, place) = match usize::try_from(index) {
            Ok(place) => (false, place),
            Err(_) => match len.checked_sub(index.unsigned_abs() as usize) {
                Some(place) => (false, place),
                None if self.change.fills_gaps() => {
                    return Err(JsonbError::PathElementOutOfRange { position, index });
                }
                None => (true, 0),
            },
        };
        self.builder.open_array();
        if place < len && !before_all {
            take_elements(array, 0..place, &mut self.builder);
            self.behind.push(Behind::Elements(array, place + 1));
            let Some(old) = array.get(place) else { return Ok(None) };
            if !self.is_last(level) {
                return Ok(Some(old));
            }
            match self.change {
                Change::Delete => {}
                Change::Set { value, .. } | Change::Assign { value } => {
                    self.builder.value(value);
                }
                Change::Insert { value, after: false } => {
                    self.builder.value(value).value(old);
                }
                Change::Insert { value, after: true } => {
                    self.builder.value(old).value(value);
                }
            }
            return Ok(None);
        }
        let kept = if before_all { 0 } else { len };
        take_elements(array, 0..kept, &mut self.builder);
        self.behind.push(Behind::Elements(array, kept));
        if self.change.fills_gaps() {
            self.gap(place - len)?;
        }
        if self.is_last(level) {
            if let Some(value) = self.change.created() {
                self.builder.value(value);
            }
        } else if let Change::Assign { value } = self.change {
            self.make_path(level + 1, value)?;
        }
        Ok(None)
    }

    /// Makes the containers that the path needs from `level` on, and puts `value` into the last.
    fn make_path(&mut self, level: usize, value: JsonbRef<'a>) -> Result<(), JsonbError> {
        for step in self.path[level..].iter().flatten() {
            self.behind.push(Behind::Nothing);
            match subscript(step) {
                Some(index) => {
                    self.builder.open_array();
                    self.gap(index.max(0) as usize)?;
                }
                None => {
                    self.builder.open_object();
                    self.builder.name(step);
                }
            }
        }
        self.builder.value(value);
        Ok(())
    }

    /// Adds nulls up to the place of an assignment.
    fn gap(&mut self, len: usize) -> Result<(), JsonbError> {
        if len > GAP_MAX {
            return Err(JsonbError::ArrayTooLarge);
        }
        for _ in 0..len {
            self.builder.null();
        }
        Ok(())
    }
}

fn take_elements<'a>(array: Array<'a>, range: std::ops::Range<usize>, to: &mut Builder<'a>) {
    for element in range.filter_map(|position| array.get(position)) {
        to.value(element);
    }
}

fn take_fields<'a>(object: Object<'a>, range: std::ops::Range<usize>, to: &mut Builder<'a>) {
    for field in range {
        to.name_bytes(object.name_bytes(field)).value(object.value(field));
    }
}
