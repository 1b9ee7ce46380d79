//! The values of a record as a tree, or rather a graph: the source of the JSON.
//!
//! ```text
//!   nodes     0 Text "data"   1 Dict [0,2]   2 List [3,3]   3 Tuple 0..2   ...
//!   tuples    4 5 ...                                         └── items, by id
//! ```
//!
//! A node is named by its index. A value that the memo gives again is the same node, so a graph with
//! shared parts and cycles is kept as it is, in memory proportional to the record.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::error::Refused;
use crate::literal::Big;
use crate::machine::{Construction, Heap};

/// The index of a node.
pub(crate) type Id = u32;

/// One value.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    None,
    Bool(bool),
    Int(i64),
    Big(Box<Big<'a>>),
    Float(f64),
    /// A string that JSON can hold.
    Text(Cow<'a, str>),
    /// A string with U+0000 or lone surrogates, in UTF-8 that encodes surrogates like other
    /// characters.
    OddText(Cow<'a, [u8]>),
    Bytes(Cow<'a, [u8]>),
    ByteArray(Cow<'a, [u8]>),
    /// A class or function; both nodes are `Text`.
    Class {
        module: Id,
        name: Id,
    },
    /// Items in `Tree::tuples`.
    Tuple(Range<u32>),
    List(Vec<Id>),
    Set(Vec<Id>),
    FrozenSet(Vec<Id>),
    /// A key and a value in turn.
    Dict(Vec<Id>),
    Reference(Reference),
    Object(Box<Object>),
}

/// An object of another record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reference {
    /// In this database: oid, and the class if the record names it.
    Strong(u64, Option<Id>),
    /// A weak reference: oid, and the name of the database if it is another one.
    Weak(u64, Option<Id>),
    /// In another database: its name, oid, class.
    Foreign(Id, u64, Option<Id>),
}

/// An object that Python would make by a call.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub construction: Construction,
    pub callable: Id,
    /// A tuple, or `None`.
    pub args: Id,
    pub kwargs: Option<Id>,
    /// The state that the object's `__setstate__` would get.
    pub state: Option<Id>,
    /// The items that are appended to the object, or added to it.
    pub items: Vec<Id>,
    /// Keys that are set: a key and a value in turn.
    pub pairs: Vec<Id>,
}

/// All values of a record, and its references.
#[derive(Default)]
pub(crate) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    tuples: Vec<Id>,
    /// The results of calls that make bytes, by the argument and by whether the result is mutable. A call
    /// takes five bytes of a record and may have a long string as its argument, so equal calls share a node.
    called_bytes: HashMap<(Id, bool), Option<Id>>,
    /// Strong references within the database, in the order met.
    pub references: Vec<u64>,
}

impl<'a> Tree<'a> {
    /// A tree with room for the values of a typical record of so many bytes.
    pub fn with_room_for(record_bytes: usize) -> Tree<'a> {
        let slots = (record_bytes / 6).clamp(16, 1024);
        Tree {
            nodes: Vec::with_capacity(slots),
            tuples: Vec::with_capacity(slots / 2),
            called_bytes: HashMap::new(),
            references: Vec::new(),
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The value of a node.
    #[inline]
    pub fn node(&self, id: Id) -> &Node<'a> {
        &self.nodes[id as usize]
    }

    /// The items of a tuple, if the node is one.
    pub fn tuple_of(&self, id: Id) -> Option<&[Id]> {
        match self.node(id) {
            Node::Tuple(range) => Some(self.items_of(range)),
            _ => None,
        }
    }

    /// The items of a tuple, given its node.
    pub fn items_of(&self, range: &Range<u32>) -> &[Id] {
        &self.tuples[range.start as usize..range.end as usize]
    }

    /// The items of a list or a tuple, if the node is one.
    pub fn sequence(&self, id: Id) -> Option<&[Id]> {
        match self.node(id) {
            Node::List(items) => Some(items),
            _ => self.tuple_of(id),
        }
    }

    /// The string of a node, if JSON can hold it.
    pub fn text_of(&self, id: Id) -> Option<&str> {
        match self.node(id) {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The integer of a node, if it is one of 64 bits.
    pub fn int_of(&self, id: Id) -> Option<i64> {
        match self.node(id) {
            Node::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The bytes of a node, if there are few enough for an oid or a date. Python 2 wrote bytes as
    /// strings, and those of ASCII are read as text.
    pub fn short_bytes(&self, id: Id) -> Option<&[u8]> {
        const SHORT_BYTES_MAX: usize = 16;
        let (bytes, is_text) = match self.node(id) {
            Node::Bytes(bytes) => (&**bytes, false),
            Node::Text(text) => (text.as_bytes(), true),
            Node::OddText(bytes) => (&**bytes, true),
            _ => return None,
        };
        (bytes.len() <= SHORT_BYTES_MAX && (!is_text || bytes.is_ascii())).then_some(bytes)
    }

    /// Module and name, if the node is a class or function.
    pub fn class(&self, id: Id) -> Option<(&str, &str)> {
        match self.node(id) {
            Node::Class { module, name } => Some((self.text_of(*module)?, self.text_of(*name)?)),
            _ => None,
        }
    }

    /// Like [`Tree::class`], with the modules of Python 2 under their names of Python 3.
    pub fn python3_class(&self, id: Id) -> Option<(&str, &str)> {
        let (module, name) = self.class(id)?;
        Some(match module {
            "__builtin__" => ("builtins", name),
            "copy_reg" => ("copyreg", name),
            _ => (module, name),
        })
    }

    fn add(&mut self, node: Node<'a>) -> Id {
        let id = self.nodes.len() as Id;
        self.nodes.push(node);
        id
    }

    fn check_hashable(&self, ids: impl Iterator<Item = Id>) -> Result<(), Refused> {
        for id in ids {
            if let Node::List(_) | Node::Dict(_) | Node::Set(_) | Node::ByteArray(_) = self.node(id)
            {
                return Err(
                    "a key of a dict or an item of a set is a list, dict, set or bytearray",
                );
            }
        }
        Ok(())
    }

    /// The oid that a node spells.
    fn oid(&self, id: Id) -> Option<u64> {
        let bytes = self.short_bytes(id)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }

    /// Reads a persistent id.
    fn reference(&self, pid: Id) -> Option<Reference> {
        if let Some(oid) = self.oid(pid) {
            return Some(Reference::Strong(oid, None));
        }
        if let Some(items) = self.tuple_of(pid) {
            let oid = self.oid(*items.first()?)?;
            return Some(Reference::Strong(oid, items.get(1).copied()));
        }
        let Node::List(items) = self.node(pid) else { return None };
        let (kind, args) = match items.as_slice() {
            [oid] => return Some(Reference::Weak(self.oid(*oid)?, None)),
            [kind, args] => (self.text_of(*kind)?, self.sequence(*args)?),
            _ => return None,
        };
        Some(match (kind, args) {
            ("w", [oid]) => Reference::Weak(self.oid(*oid)?, None),
            ("w", [oid, database]) => Reference::Weak(self.oid(*oid)?, Some(*database)),
            ("n", [database, oid]) => Reference::Foreign(*database, self.oid(*oid)?, None),
            ("m", [database, oid, class]) => {
                Reference::Foreign(*database, self.oid(*oid)?, Some(*class))
            }
            _ => return None,
        })
    }

    fn is_latin1(&self, encoding: Id) -> bool {
        matches!(self.text_of(encoding), Some("latin1" | "latin-1"))
    }

    /// The node of a call that makes bytes: how protocols 0 to 2 of Python 3 write them.
    fn called_bytes(&mut self, callable: Id, args: Id) -> Option<Id> {
        let function = self.python3_class(callable)?;
        let (is_mutable, argument, is_encoded) = match (function, self.tuple_of(args)?) {
            (("builtins", "bytes"), []) => return Some(self.bytes(Cow::Borrowed(b""), false)),
            (("builtins", "bytearray"), []) => return Some(self.bytes(Cow::Borrowed(b""), true)),
            (("builtins", "bytearray"), &[bytes]) => (true, bytes, false),
            (("builtins", "bytearray"), &[text, encoding]) if self.is_latin1(encoding) => {
                (true, text, true)
            }
            (("_codecs", "encode"), &[text, encoding]) if self.is_latin1(encoding) => {
                (false, text, true)
            }
            _ => return None,
        };
        if let Some(known) = self.called_bytes.get(&(argument, is_mutable)) {
            return *known;
        }
        let bytes = match self.node(argument) {
            Node::Text(text) if is_encoded => latin1(text).map(Cow::Owned),
            Node::OddText(bytes) if is_encoded => {
                std::str::from_utf8(bytes).ok().and_then(latin1).map(Cow::Owned)
            }
            Node::Bytes(bytes) if !is_encoded => Some(bytes.clone()),
            _ => None,
        };
        let made = bytes.map(|bytes| self.bytes(bytes, is_mutable));
        self.called_bytes.insert((argument, is_mutable), made);
        made
    }
}

/// The bytes of a string in Latin-1, if it has them all.
fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(c).ok()).collect()
}

const NOT_AN_OBJECT: Refused =
    "a class that is called, or the object that gets a state, is a plain value";

impl<'a> Heap<'a> for Tree<'a> {
    type Value = Id;

    fn none(&mut self) -> Id {
        self.add(Node::None)
    }

    fn bool(&mut self, value: bool) -> Id {
        self.add(Node::Bool(value))
    }

    fn int(&mut self, value: i64) -> Id {
        self.add(Node::Int(value))
    }

    fn big(&mut self, value: Big<'a>) -> Id {
        self.add(Node::Big(Box::new(value)))
    }

    fn float(&mut self, value: f64) -> Id {
        self.add(Node::Float(value))
    }

    fn text(&mut self, value: Cow<'a, str>) -> Id {
        if !value.as_bytes().contains(&0) {
            return self.add(Node::Text(value));
        }
        self.add(Node::OddText(match value {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }))
    }

    fn surrogates(&mut self, value: Cow<'a, [u8]>) -> Id {
        self.add(Node::OddText(value))
    }

    fn bytes(&mut self, value: Cow<'a, [u8]>, mutable: bool) -> Id {
        self.add(if mutable { Node::ByteArray(value) } else { Node::Bytes(value) })
    }

    fn global(&mut self, module: &'a str, name: &'a str) -> Result<Id, Refused> {
        let module = Heap::text(self, Cow::Borrowed(module));
        let name = Heap::text(self, Cow::Borrowed(name));
        self.stack_global(module, name)
    }

    fn stack_global(&mut self, module: Id, name: Id) -> Result<Id, Refused> {
        match (self.node(module), self.node(name)) {
            (Node::Text(_), Node::Text(_)) => Ok(self.add(Node::Class { module, name })),
            _ => Err("the name of a module or class is not a string without U+0000"),
        }
    }

    fn tuple(&mut self, items: &[Id]) -> Id {
        let start = self.tuples.len() as u32;
        self.tuples.extend_from_slice(items);
        let end = self.tuples.len() as u32;
        self.add(Node::Tuple(start..end))
    }

    fn list(&mut self, items: &[Id]) -> Id {
        self.add(Node::List(items.to_vec()))
    }

    fn dict(&mut self) -> Id {
        self.add(Node::Dict(Vec::new()))
    }

    fn set(&mut self) -> Id {
        self.add(Node::Set(Vec::new()))
    }

    fn frozen_set(&mut self, items: &[Id]) -> Result<Id, Refused> {
        self.check_hashable(items.iter().copied())?;
        Ok(self.add(Node::FrozenSet(items.to_vec())))
    }

    fn append(&mut self, to: Id, items: &[Id]) -> Result<(), Refused> {
        match &mut self.nodes[to as usize] {
            Node::List(list) => list.extend_from_slice(items),
            Node::Object(object) => object.items.extend_from_slice(items),
            _ => return Err("APPEND finds neither a list nor an object"),
        }
        Ok(())
    }

    fn add_items(&mut self, to: Id, items: &[Id]) -> Result<(), Refused> {
        self.check_hashable(items.iter().copied())?;
        match &mut self.nodes[to as usize] {
            Node::Set(set) => set.extend_from_slice(items),
            Node::Object(object) => object.items.extend_from_slice(items),
            _ => return Err("ADDITEMS finds neither a set nor an object"),
        }
        Ok(())
    }

    fn set_items(&mut self, to: Id, pairs: &[Id]) -> Result<(), Refused> {
        if !pairs.len().is_multiple_of(2) {
            return Err("a dict gets a key without a value");
        }
        self.check_hashable(pairs.iter().step_by(2).copied())?;
        match &mut self.nodes[to as usize] {
            Node::Dict(dict) => dict.extend_from_slice(pairs),
            Node::Object(object) => object.pairs.extend_from_slice(pairs),
            _ => return Err("SETITEM finds neither a dict nor an object"),
        }
        Ok(())
    }

    fn make(
        &mut self,
        construction: Construction,
        callable: Id,
        args: Id,
        kwargs: Option<Id>,
    ) -> Result<Id, Refused> {
        if !matches!(self.node(callable), Node::Class { .. } | Node::Object(_) | Node::Reference(_))
        {
            return Err(NOT_AN_OBJECT);
        }
        if !matches!(self.node(args), Node::Tuple(_) | Node::None) {
            return Err("the arguments of a call are not a tuple");
        }
        if kwargs.is_some_and(|kwargs| !matches!(self.node(kwargs), Node::Dict(_))) {
            return Err("the named arguments of a call are not a dict");
        }
        if construction == Construction::Call
            && let Some(bytes) = self.called_bytes(callable, args)
        {
            return Ok(bytes);
        }
        Ok(self.add(Node::Object(Box::new(Object {
            construction,
            callable,
            args,
            kwargs,
            state: None,
            items: Vec::new(),
            pairs: Vec::new(),
        }))))
    }

    fn build(&mut self, object: Id, state: Id) -> Result<(), Refused> {
        match &mut self.nodes[object as usize] {
            Node::Object(object) if object.state.is_some() => Err("an object gets a second state"),
            Node::Object(object) => {
                object.state = Some(state);
                Ok(())
            }
            _ => Err(NOT_AN_OBJECT),
        }
    }

    fn persistent(&mut self, pid: Id) -> Result<Id, Refused> {
        let Some(reference) = self.reference(pid) else {
            return Err(
                "a persistent id is none of those of ZODB: allowed are oid, (oid, class), [oid], \
                 ['w', (oid, ...)], ['n', (database, oid)] and ['m', (database, oid, class)], \
                 with oids of 8 bytes",
            );
        };
        if let Reference::Strong(oid, _) = reference {
            self.references.push(oid);
        }
        Ok(self.add(Node::Reference(reference)))
    }
}
