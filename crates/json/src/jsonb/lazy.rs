//! Lazy values: parts of a value that lies elsewhere, and changes of it, without making the whole of it.
//!
//! ```text
//!   Source: nodes of a stored document          Lazy: the source, and changes at places of their own
//!
//!   {"a": 1, "list": [ ...10,000... ]}   ──set {a}──>   [a: 2]   ──set {list,7}──>   [a: 2] [list.7: {}]
//!
//!   -> ->> #> ?          the change at that place, or the nodes there
//!   jsonb_set || - #-    one change more
//!   everything else      the whole value, which is made once
//! ```
//!
//! Each operation has one meaning, that of the whole value. A lazy value does what is simple and frequent by itself:
//! a step to a field or to an element that is there, a change of what a path leads to, a field more. It makes the whole
//! value for the rest.
//!
//! # Invariants
//! * No change lies at or below the place of another, so that their order does not matter.
//! * No change takes the root, or makes it another kind of value.
//! * A change is never without effect.
//! * A source that cannot be read, and a whole value beyond the limits of `jsonb`, stop the statement
//!   ([`interrupt::throw`]): a comparison has no other way to tell it.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::build::Builder;
use super::error::JsonbError;
use super::form::{Jsonb, JsonbRef};
use super::subscript;
use crate::tape::Kind;

/// How many changes a lazy value collects at most. Each that lies below the root costs a copy of the whole value, where
/// that is made.
pub(super) const CHANGES_MAX: usize = 32;

/// Bytes of the new values of the changes at most: so much more than its source may the whole value have.
pub const CHANGES_BYTES_MAX: usize = 16 << 20;

/// How many parts a lazy value makes before it makes the whole.
const PARTS_MAX: usize = 64;

/// Only the whole value can tell.
#[derive(Clone, Copy, Debug)]
pub struct Unknown;

/// The reason why a source cannot give its value: damage, or a value beyond the limits of `jsonb`.
#[derive(Debug)]
pub struct SourceError {
    sqlstate: String,
    source: Box<dyn Error + Send + Sync>,
}

impl SourceError {
    /// An error of the layer that holds the value, with the code by which SQL clients know it.
    pub fn new(
        sqlstate: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> SourceError {
        SourceError { sqlstate: sqlstate.into(), source: source.into() }
    }

    /// The error of making a change of a value anew. The change was possible once: only a limit can refuse it.
    fn of_change(error: JsonbError) -> SourceError {
        let error = match error.sqlstate() {
            "54000" | "54001" => error,
            _ => JsonbError::Damaged("a change does not fit the value that it was made of"),
        };
        SourceError::new(error.sqlstate(), error)
    }

    fn throw(self) -> ! {
        interrupt::throw(self.sqlstate, self.source)
    }
}

/// The nodes of a value that lies elsewhere.
pub trait Source: Send + Sync {
    /// Returns the outermost node.
    fn root(&self) -> Node;
    /// Returns a child of an object or an array, `None` if it has none there.
    fn child(&self, of: Node, step: Step<'_>) -> Result<Option<Node>, Unknown>;
    /// Returns the value of a node.
    fn value(&self, of: Node) -> Result<Jsonb, Unknown>;
    /// Makes the whole value.
    ///
    /// # Errors
    /// Fails if the nodes are damaged, or if the value is beyond the limits of `jsonb`.
    fn whole(&self) -> Result<Jsonb, SourceError>;
    /// Returns the bytes that the nodes hold in memory, for accounting.
    fn held_bytes(&self) -> usize;
}

/// A node of a [`Source`].
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The number by which the source knows it.
    pub number: u64,
    /// The kind of its value.
    pub kind: Kind,
    /// How many children it has.
    pub len: usize,
}

/// A step from a node to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To a field of an object.
    Name(&'a str),
    /// To an element of an array, from 0.
    Position(usize),
}

/// A change of a value.
#[derive(Clone, Debug)]
pub struct Change {
    path: Vec<PathStep>,
    action: Action,
}

/// A step that a change keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Name(String),
    Position(usize),
}

/// The effect of a change.
#[derive(Clone, Debug)]
pub enum Action {
    /// This node gets another value.
    Set {
        /// The node.
        node: Node,
        /// Its value before, if the new one is of the same kind.
        old: Option<Jsonb>,
        /// Its new value.
        value: Jsonb,
    },
    /// This object gets a field more.
    Add {
        /// The object.
        object: Node,
        /// The name of the field.
        name: String,
        /// The value of the field.
        value: Jsonb,
    },
    /// This node goes.
    Remove {
        /// The node.
        node: Node,
    },
}

impl Change {
    /// The effect of the change.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The value that its place has after it.
    fn value(&self) -> Option<&Jsonb> {
        match &self.action {
            Action::Set { value, .. } | Action::Add { value, .. } => Some(value),
            Action::Remove { .. } => None,
        }
    }

    /// Name and value of the field of the root that it makes or changes.
    fn field(&self) -> Option<(&str, &Jsonb)> {
        match &self.path[..] {
            [PathStep::Name(name)] => Some((name, self.value()?)),
            _ => None,
        }
    }

    /// How many steps lead to all that the change moves: the elements behind one that goes have other positions.
    fn reach(&self) -> usize {
        match (&self.action, self.path.last()) {
            (Action::Remove { .. }, Some(PathStep::Position(_))) => self.path.len() - 1,
            _ => self.path.len(),
        }
    }

    /// Returns true if the change and a path have nothing to do with each other.
    fn is_apart(&self, path: &[&str]) -> bool {
        let mut steps = self.path[..self.reach()].iter().zip(path);
        steps.any(|(place, step)| place.differs(step))
    }

    /// Returns the rest of a path that goes through the place of the change.
    fn rest_of<'p>(&self, path: &'p [&'p str]) -> Option<&'p [&'p str]> {
        let rest = path.get(self.path.len()..)?;
        self.path.iter().zip(path).all(|(place, step)| place.is(step)).then_some(rest)
    }
}

impl PathStep {
    fn of(step: Step<'_>) -> PathStep {
        match step {
            Step::Name(name) => PathStep::Name(name.to_owned()),
            Step::Position(position) => PathStep::Position(position),
        }
    }

    fn is(&self, step: &str) -> bool {
        match self {
            PathStep::Name(name) => name == step,
            PathStep::Position(position) => {
                subscript(step).is_some_and(|at| usize::try_from(at) == Ok(*position))
            }
        }
    }

    /// Returns true if the step leads elsewhere. A position from the end may lead anywhere.
    fn differs(&self, step: &str) -> bool {
        match self {
            PathStep::Name(name) => name != step,
            PathStep::Position(position) => {
                subscript(step).is_some_and(|at| at >= 0 && at as usize != *position)
            }
        }
    }
}

/// A value that is made when a caller needs the whole of it.
pub struct Lazy {
    source: Arc<dyn Source>,
    changes: Vec<Change>,
    whole: OnceLock<Jsonb>,
    /// The parts that were asked for.
    parts: OnceLock<Box<Part>>,
}

/// A part that lives as long as the value that it was taken of.
struct Part {
    /// The number of its node.
    number: u64,
    value: Jsonb,
    next: OnceLock<Box<Part>>,
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").field("changes", &self.changes).finish_non_exhaustive()
    }
}

impl Lazy {
    /// A value that lies in `source`; `whole` if it has been made before.
    pub(super) fn new(source: Arc<dyn Source>, whole: Option<Jsonb>) -> Lazy {
        let whole = whole.map(OnceLock::from).unwrap_or_default();
        Lazy { source, changes: Vec::new(), whole, parts: OnceLock::new() }
    }

    /// The kind of the value.
    pub(super) fn kind(&self) -> Kind {
        self.source.root().kind
    }

    /// Bytes of the source, of the changes and of all that was made, for accounting.
    pub(super) fn held_bytes(&self) -> usize {
        let whole = self.whole.get().map_or(0, Jsonb::held_bytes);
        let parts: usize = self.parts().map(|part| part.value.held_bytes()).sum();
        size_of::<Lazy>() + self.source.held_bytes() + self.changes_bytes() + whole + parts
    }

    /// True once the whole value has been made.
    pub(super) fn is_made(&self) -> bool {
        self.whole.get().is_some()
    }

    fn changes_bytes(&self) -> usize {
        self.changes.iter().filter_map(Change::value).map(Jsonb::held_bytes).sum()
    }

    /// The parts that were made.
    fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::successors(self.parts.get(), |part| part.next.get()).map(Box::as_ref)
    }

    /// The changes that make this value of another one; `None` if it was not made of it.
    pub(super) fn changes_of(&self, before: &Lazy) -> Option<&[Change]> {
        let is_same = Arc::ptr_eq(&self.source, &before.source) && before.changes.is_empty();
        is_same.then_some(&self.changes)
    }

    /// The binary form of the whole value. A statement that is told to stop does so after it. A source that fails
    /// stops the statement by [`interrupt::throw`].
    pub(super) fn bytes(&self) -> &[u8] {
        let make = || interrupt::shielded(|| self.make()).unwrap_or_else(|error| error.throw());
        self.whole.get_or_init(make).bytes()
    }

    fn make(&self) -> Result<Jsonb, SourceError> {
        let (fields, below): (Vec<&Change>, Vec<&Change>) =
            self.changes.iter().partition(|change| matches!(&change.path[..], [PathStep::Name(_)]));
        let mut value = self.source.whole()?;
        for change in below {
            let path: Vec<String> = change.path.iter().map(PathStep::to_string).collect();
            let path: Vec<Option<&str>> = path.iter().map(|step| Some(step.as_str())).collect();
            let changed = match change.value() {
                Some(new) => value.root().set(&path, new.root(), true),
                None => value.root().delete_path(&path),
            };
            value = changed.map_err(SourceError::of_change)?;
        }
        if fields.is_empty() {
            return Ok(value);
        }
        // Fields of the root are changed together.
        let mut new = Builder::new();
        new.object(|object| {
            for (name, value) in fields.iter().filter_map(|change| change.field()) {
                object.name(name).value(value.root());
            }
        });
        let gone = fields.iter().filter(|change| change.value().is_none());
        let gone = gone.filter_map(|change| match &change.path[..] {
            [PathStep::Name(name)] => Some(name.as_str()),
            _ => None,
        });
        let kept = value.root().delete_names(gone);
        let changed = new.finish().and_then(|new| kept?.root().concat(new.root()));
        changed.map_err(SourceError::of_change)
    }

    /// Returns what a path leads to, as `#>` does.
    pub(super) fn path(&self, path: &[&str]) -> Result<Option<JsonbRef<'_>>, Unknown> {
        if let Some(known) = self.known(path)? {
            return Ok(known);
        }
        self.follow(path)?.map(|(node, _)| self.part(node)).transpose()
    }

    /// Returns true if a path leads to something.
    pub(super) fn has(&self, path: &[&str]) -> Result<bool, Unknown> {
        match self.known(path)? {
            Some(known) => Ok(known.is_some()),
            None => Ok(self.follow(path)?.is_some()),
        }
    }

    /// Returns what a path leads to by what was made or changed; the outer `None` if the source tells.
    fn known(&self, path: &[&str]) -> Result<Option<Option<JsonbRef<'_>>>, Unknown> {
        if let Some(whole) = self.whole.get() {
            return Ok(Some(whole.root().path(path.iter().copied())));
        }
        for change in &self.changes {
            match (change.value(), change.rest_of(path)) {
                (Some(value), Some(rest)) => {
                    return Ok(Some(value.root().path(rest.iter().copied())));
                }
                // The elements behind one that goes take its place. A field that goes leaves nothing.
                (None, Some(_)) if change.reach() == change.path.len() => return Ok(Some(None)),
                _ => {}
            }
            if !change.is_apart(path) {
                return Err(Unknown);
            }
        }
        Ok(None)
    }

    /// Returns the node that a path leads to in the source, and the same path without positions from the end.
    fn follow(&self, path: &[&str]) -> Result<Option<(Node, Vec<PathStep>)>, Unknown> {
        let (mut node, mut places) = (self.source.root(), Vec::with_capacity(path.len()));
        for step in path {
            let step = match node.kind {
                Kind::Object => Step::Name(step),
                Kind::Array => match position(step, node.len) {
                    Some(position) => Step::Position(position),
                    None => return Ok(None),
                },
                _ => return Ok(None),
            };
            let Some(child) = self.source.child(node, step)? else { return Ok(None) };
            node = child;
            places.push(PathStep::of(step));
        }
        Ok(Some((node, places)))
    }

    /// Returns the value of a node, which is kept as long as this value: once for each node, and no more together than
    /// the nodes themselves.
    fn part(&self, node: Node) -> Result<JsonbRef<'_>, Unknown> {
        let (mut count, mut bytes) = (0, 0);
        for part in self.parts() {
            if part.number == node.number {
                return Ok(part.value.root());
            }
            (count, bytes) = (count + 1, bytes + part.value.held_bytes());
        }
        if count >= PARTS_MAX || bytes > self.source.held_bytes() {
            return Err(Unknown);
        }
        let mut value = Some(self.source.value(node)?);
        let mut cell = &self.parts;
        // Another thread may add a part at the same time: this one goes behind it.
        loop {
            let part = cell.get_or_init(|| {
                let value = value.take().unwrap_or_default();
                Box::new(Part { number: node.number, value, next: OnceLock::new() })
            });
            if value.is_none() {
                return Ok(part.value.root());
            }
            cell = &part.next;
        }
    }

    /// `jsonb_set` with `create`, where the path leads to what is there, or to a new field of an object that is.
    pub(super) fn set(
        &self,
        path: &[&str],
        value: JsonbRef<'_>,
        create: bool,
    ) -> Result<Lazy, Unknown> {
        let (last, above) = path.split_last().ok_or(Unknown)?;
        if let Some(at) = self.changes.iter().position(|change| !change.is_apart(path)) {
            return self.set_again(at, path, value);
        }
        if let Some((node, places)) = self.follow(path)? {
            return match self.setting(node, value)? {
                Some(action) => self.with_change(Change { path: places, action }),
                None => Ok(self.unchanged()),
            };
        }
        let (object, mut places) = self.follow(above)?.ok_or(Unknown)?;
        if object.kind != Kind::Object {
            return Err(Unknown);
        }
        if !create {
            return Ok(self.unchanged());
        }
        places.push(PathStep::Name((*last).to_owned()));
        let action = Action::Add { object, name: (*last).to_owned(), value: value.to_whole() };
        self.with_change(Change { path: places, action })
    }

    /// Gives the place of a change another value.
    fn set_again(&self, at: usize, path: &[&str], value: JsonbRef<'_>) -> Result<Lazy, Unknown> {
        let change = &self.changes[at];
        if !change.rest_of(path).is_some_and(<[_]>::is_empty) {
            return Err(Unknown);
        }
        let action = match &change.action {
            Action::Set { node, .. } => self.setting(*node, value)?,
            Action::Add { object, name, .. } => {
                let name = name.clone();
                Some(Action::Add { object: *object, name, value: value.to_whole() })
            }
            Action::Remove { .. } => return Err(Unknown),
        };
        let mut changes = self.changes.clone();
        match action {
            Some(action) => changes[at].action = action,
            None => drop(changes.remove(at)),
        }
        self.with_changes(changes)
    }

    /// Returns what gives a node of the source another value; `None` if it has this very value.
    fn setting(&self, node: Node, value: JsonbRef<'_>) -> Result<Option<Action>, Unknown> {
        let old = match node.kind == value.kind() {
            true => Some(self.source.value(node)?),
            false => None,
        };
        if old.as_ref().is_some_and(|old| old.bytes() == value.bytes()) {
            return Ok(None);
        }
        Ok(Some(Action::Set { node, old, value: value.to_whole() }))
    }

    /// `jsonb #- text[]`.
    pub(super) fn remove(&self, path: &[&str]) -> Result<Lazy, Unknown> {
        if path.is_empty() || !self.changes.iter().all(|change| change.is_apart(path)) {
            return Err(Unknown);
        }
        let Some((node, path)) = self.follow(path)? else {
            // A step that is no position of an array is an error, which the whole value knows.
            let is_name = |above: &[&str]| {
                Ok(self.follow(above)?.is_some_and(|(node, _)| node.kind == Kind::Object))
            };
            return match is_name(&path[..path.len() - 1])? {
                true => Ok(self.unchanged()),
                false => Err(Unknown),
            };
        };
        let change = Change { path, action: Action::Remove { node } };
        // The elements behind it move: another change among them would have another place.
        let among = change.reach() < change.path.len()
            && self
                .changes
                .iter()
                .any(|other| other.path.starts_with(&change.path[..change.reach()]));
        if among { Err(Unknown) } else { self.with_change(change) }
    }

    /// The same value.
    pub(super) fn unchanged(&self) -> Lazy {
        let made = self.whole.get().cloned();
        Lazy { changes: self.changes.clone(), ..Lazy::new(Arc::clone(&self.source), made) }
    }

    fn with_change(&self, change: Change) -> Result<Lazy, Unknown> {
        self.with_changes(self.changes.iter().cloned().chain([change]).collect())
    }

    fn with_changes(&self, changes: Vec<Change>) -> Result<Lazy, Unknown> {
        let changed = Lazy { changes, ..Lazy::new(Arc::clone(&self.source), None) };
        let is_many = changed.changes.len() > CHANGES_MAX;
        let is_much = changed.changes_bytes() > CHANGES_BYTES_MAX;
        if is_many || is_much { Err(Unknown) } else { Ok(changed) }
    }
}

impl fmt::Display for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathStep::Name(name) => f.write_str(name),
            PathStep::Position(position) => position.fmt(f),
        }
    }
}

/// The position that a step leads to in an array of `len` elements.
fn position(step: &str, len: usize) -> Option<usize> {
    let at = i64::from(subscript(step)?);
    let at = if at < 0 { at + len as i64 } else { at };
    usize::try_from(at).ok().filter(|at| *at < len)
}
