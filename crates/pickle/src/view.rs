//! The values of a record as JSON, within limits.
//!
//! The writer goes through the graph from the state on. It writes a shared container as often as it
//! meets it, which is why the output has limits of its own: a record of 264 bytes can stand for
//! billions of values. A container that is met inside itself is a cycle and becomes a marker.
//!
//! ```text
//!   a = [1]; a.append(a)        nodes: 0 List [1, 0]       1 Int 1
//!
//!   value(0)  open[0] = 1       [1,
//!   value(0)  open already           {"@cycle":1}
//!                                ]
//! ```
//!
//! # Invariants
//! * `levels` counts the containers that are open in the JSON; the recursion is not deeper.
//! * The size is checked before a string is written and after each value. The output is at most
//!   six times the record longer than allowed at any time.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::btree::Shape;
use crate::error::Error;
use crate::head;
use crate::machine::{Construction, Machine};
use crate::tree::{Id, Node, Object, Reference, Tree};

/// The limits of a state's JSON; a state beyond them is refused, never cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of the JSON.
    pub bytes_out: usize,
    /// Arrays and objects of the JSON that are open at once; values above 1,000 count as 1,000. The
    /// writer calls itself for each level.
    pub depth: usize,
    /// Values beyond the number of bytes of the record. A record has fewer values than bytes, so this
    /// counts the values that are written again because the record shares their container.
    pub nodes: u64,
}

impl Default for Limits {
    /// 16 MiB, 512 deep, 500,000 values beyond the number of bytes.
    fn default() -> Limits {
        Limits { bytes_out: 16 << 20, depth: 512, nodes: 500_000 }
    }
}

/// The largest depth: the writer calls itself for each level.
const DEPTH_MAX: usize = 1000;

/// Floating point numbers from this size on are not written in decimal digits.
const DECIMAL_FLOAT_MAX: f64 = 1e31;

/// Floating point numbers below this size, except 0, are not written in decimal digits.
const DECIMAL_FLOAT_MIN: f64 = 1e-30;

/// Reads `record` and appends its state; see [`crate::to_json`].
pub(crate) fn write(record: &[u8], limits: &Limits, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut machine = Machine::new(record, 0, Tree::with_room_for(record.len()))?;
    let class = machine.run("class")?;
    let state = machine.run("state")?;
    let tree = machine.heap;
    let class = head::class_of(&tree, class);
    let start = out.len();
    let nodes_max = limits.nodes.saturating_add(record.len() as u64);
    let mut writer = Writer {
        tree: &tree,
        bytes_max: start.saturating_add(limits.bytes_out),
        out,
        limits: Limits { depth: limits.depth.min(DEPTH_MAX), ..*limits },
        nodes_left: nodes_max,
        nodes_max,
        levels: 0,
        open: vec![0; tree.len()],
        containers: 0,
    };
    let written = writer.state(Shape::of(&class.module, &class.name), state);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Appends bytes in base64.
pub(crate) fn push_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    debug_assert_eq!(start + written, out.len(), "base64 has four characters for three bytes");
}

/// A JSON text in the making.
pub(crate) struct Writer<'t, 'a, 'o> {
    /// The values.
    pub tree: &'t Tree<'a>,
    out: &'o mut Vec<u8>,
    limits: Limits,
    /// The length of `out` that must not be exceeded.
    bytes_max: usize,
    /// Values that may be written, and how many of them are left.
    nodes_max: u64,
    nodes_left: u64,
    /// Arrays and objects that are open in the JSON.
    levels: usize,
    /// For each node that is being written: its place among the open containers, from 1; else 0.
    open: Vec<u32>,
    /// Containers of Python that are being written.
    containers: u32,
}

impl<'t> Writer<'t, '_, '_> {
    /// Writes the state of an object of a class that has this shape.
    pub fn state(&mut self, shape: Option<Shape>, state: Id) -> Result<(), Error> {
        match shape {
            Some(shape) if self.btree(shape, state)? => Ok(()),
            _ => self.value(state),
        }
    }

    /// Writes a value.
    pub fn value(&mut self, id: Id) -> Result<(), Error> {
        if self.nodes_left == 0 {
            return Err(Error::Limit { what: "values", limit: self.nodes_max });
        }
        self.nodes_left -= 1;
        self.check_bytes(0)?;
        let tree = self.tree;
        match tree.node(id) {
            Node::None => self.raw("null"),
            Node::Bool(true) => self.raw("true"),
            Node::Bool(false) => self.raw("false"),
            Node::Int(value) => self.int(*value),
            Node::Big(value) => {
                self.check_bytes(value.len())?;
                let text = value.to_text();
                self.check_bytes(text.len())?;
                self.marked("@bi", &text);
            }
            Node::Float(value) => self.float(*value),
            Node::Text(text) => self.text(text)?,
            Node::OddText(bytes) => self.base64("@su", bytes)?,
            Node::Bytes(bytes) | Node::ByteArray(bytes) => self.base64("@b", bytes)?,
            Node::Class { .. } => {
                self.open("{\"@cls\":", 1)?;
                self.class_names(id)?;
                self.close("}", 1);
            }
            Node::Reference(reference) => self.reference(*reference)?,
            Node::Tuple(_) | Node::List(_) | Node::Set(_) | Node::FrozenSet(_) | Node::Dict(_) => {
                self.container(id, |writer| writer.collection(id))?;
            }
            Node::Object(object) => self.container(id, |writer| writer.object(object))?,
        }
        Ok(())
    }

    /// Writes a container by `write`, or the marker of a cycle if the container is open.
    fn container(
        &mut self,
        id: Id,
        write: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let open = self.open[id as usize];
        if open > 0 {
            let up = self.containers - open + 1;
            let _ = write!(self.out, "{{\"@cycle\":{up}}}");
            return Ok(());
        }
        self.containers += 1;
        self.open[id as usize] = self.containers;
        write(self)?;
        self.open[id as usize] = 0;
        self.containers -= 1;
        Ok(())
    }

    fn collection(&mut self, id: Id) -> Result<(), Error> {
        let tree = self.tree;
        match tree.node(id) {
            Node::List(items) => self.array(items),
            Node::Tuple(range) => self.marked_array("{\"@t\":", tree.items_of(range)),
            Node::Set(items) => self.marked_array("{\"@set\":", items),
            Node::FrozenSet(items) => self.marked_array("{\"@fset\":", items),
            Node::Dict(pairs) if pairs.iter().step_by(2).all(|&key| self.is_name(key)) => {
                self.open("{", 1)?;
                for (i, pair) in pairs.chunks_exact(2).enumerate() {
                    self.comma(i);
                    self.value(pair[0])?;
                    self.raw(":");
                    self.value(pair[1])?;
                }
                self.close("}", 1);
                Ok(())
            }
            Node::Dict(pairs) => {
                self.open("{\"@d\":", 1)?;
                self.pairs(pairs)?;
                self.close("}", 1);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// True for a key of a dict that can be the name of a field.
    fn is_name(&self, key: Id) -> bool {
        self.tree.text_of(key).is_some_and(|key| !key.starts_with('@'))
    }

    fn object(&mut self, object: &Object) -> Result<(), Error> {
        if self.known(object)? {
            return Ok(());
        }
        let call = self.call_of(object);
        let Some(call) = call.filter(|call| call.args.is_empty() && call.is_instance) else {
            return self.reduction(object);
        };
        self.open("{\"@cls\":", 1)?;
        self.class_names(call.class)?;
        self.raw(",\"@s\":");
        match object.state {
            Some(state) => {
                let class = self.tree.class(call.class);
                let shape = class.and_then(|(module, name)| Shape::of(module, name));
                self.state(shape, state)?;
            }
            None => self.raw("null"),
        }
        self.contents("\"@items\":", "\"@kv\":", object)?;
        self.close("}", 1);
        Ok(())
    }

    /// Writes a call with all that it has.
    fn reduction(&mut self, object: &Object) -> Result<(), Error> {
        self.open("{\"@reduce\":{\"callable\":", 2)?;
        self.value(object.callable)?;
        self.raw(",\"args\":");
        self.value(object.args)?;
        if let Some(kwargs) = object.kwargs {
            self.raw(",\"kwargs\":");
            self.value(kwargs)?;
        }
        if let Some(state) = object.state {
            self.raw(",\"state\":");
            self.value(state)?;
        }
        self.contents("\"items\":", "\"kv\":", object)?;
        self.close("}}", 2);
        Ok(())
    }

    /// Writes what is appended to an object and which keys it sets, as fields with these names.
    fn contents(&mut self, items: &str, pairs: &str, object: &Object) -> Result<(), Error> {
        if !object.items.is_empty() {
            self.raw(",");
            self.raw(items);
            self.array(&object.items)?;
        }
        if !object.pairs.is_empty() {
            self.raw(",");
            self.raw(pairs);
            self.pairs(&object.pairs)?;
        }
        Ok(())
    }

    fn reference(&mut self, reference: Reference) -> Result<(), Error> {
        match reference {
            Reference::Strong(oid, None) => self.marked_oid("{\"@ref\":", oid)?,
            Reference::Strong(oid, Some(class)) => {
                self.open("{\"@ref\":[", 2)?;
                self.oid(oid);
                self.raw(",");
                self.dotted_class(class)?;
                self.close("]}", 2);
            }
            Reference::Weak(oid, None) => self.marked_oid("{\"@wref\":", oid)?,
            Reference::Weak(oid, Some(database)) => {
                self.open("{\"@wref\":[", 2)?;
                self.oid(oid);
                self.raw(",");
                self.value(database)?;
                self.close("]}", 2);
            }
            Reference::Foreign(database, oid, class) => {
                self.open("{\"@xref\":[", 2)?;
                self.value(database)?;
                self.raw(",");
                self.oid(oid);
                if let Some(class) = class {
                    self.raw(",");
                    self.dotted_class(class)?;
                }
                self.close("]}", 2);
            }
        }
        Ok(())
    }

    /// Writes a class of a reference as `"module.Name"`; old records name it by a tuple.
    fn dotted_class(&mut self, class: Id) -> Result<(), Error> {
        let tree = self.tree;
        let pair = tree.class(class).or_else(|| match tree.tuple_of(class) {
            Some(&[module, name]) => Some((tree.text_of(module)?, tree.text_of(name)?)),
            _ => None,
        });
        let Some((module, name)) = pair else {
            return self.value(class);
        };
        self.check_bytes(module.len() + name.len())?;
        self.raw("\"");
        json::text::escape_into(module, self.out);
        self.raw(".");
        json::text::escape_into(name, self.out);
        self.raw("\"");
        Ok(())
    }

    /// Writes `["module","Name"]`; a class that is no name is written as a value.
    fn class_names(&mut self, class: Id) -> Result<(), Error> {
        match self.tree.class(class) {
            Some((module, name)) => {
                self.open("[", 1)?;
                self.text(module)?;
                self.raw(",");
                self.text(name)?;
                self.close("]", 1);
                Ok(())
            }
            None => self.value(class),
        }
    }

    /// Writes values as an array.
    pub fn array(&mut self, items: &[Id]) -> Result<(), Error> {
        self.open("[", 1)?;
        for (i, &item) in items.iter().enumerate() {
            self.comma(i);
            self.value(item)?;
        }
        self.close("]", 1);
        Ok(())
    }

    /// Writes keys and values as an array of pairs.
    pub fn pairs(&mut self, pairs: &[Id]) -> Result<(), Error> {
        self.open("[", 1)?;
        for (i, pair) in pairs.chunks_exact(2).enumerate() {
            self.comma(i);
            self.array(pair)?;
        }
        self.close("]", 1);
        Ok(())
    }

    /// Writes an object with one field, an array; `before` is all that stands before the array.
    pub fn marked_array(&mut self, before: &str, items: &[Id]) -> Result<(), Error> {
        self.open(before, 1)?;
        self.array(items)?;
        self.close("}", 1);
        Ok(())
    }

    /// Writes an object with one field, a string that needs no escaping.
    pub fn marked(&mut self, marker: &str, text: &str) {
        for part in ["{\"", marker, "\":\"", text, "\"}"] {
            self.raw(part);
        }
    }

    /// Writes a string that JSON can hold.
    pub fn text(&mut self, text: &str) -> Result<(), Error> {
        self.check_bytes(text.len())?;
        self.raw("\"");
        json::text::escape_into(text, self.out);
        self.raw("\"");
        Ok(())
    }

    /// Writes an object with one field, bytes in base64.
    pub fn base64(&mut self, marker: &str, bytes: &[u8]) -> Result<(), Error> {
        self.check_bytes(bytes.len())?;
        for part in ["{\"", marker, "\":\""] {
            self.raw(part);
        }
        push_base64(bytes, self.out);
        self.raw("\"}");
        Ok(())
    }

    fn int(&mut self, value: i64) {
        const DIGITS_MAX: usize = 20;
        let mut digits = [0; DIGITS_MAX];
        let mut first = DIGITS_MAX;
        let mut rest = value.unsigned_abs();
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if value < 0 {
            self.raw("-");
        }
        self.out.extend_from_slice(&digits[first..]);
    }

    /// Writes an oid as a string of 16 hexadecimal digits.
    fn oid(&mut self, oid: u64) {
        let mut text = [b'"'; 18];
        for (i, digit) in text[1..17].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(oid >> (60 - 4 * i)) as usize & 15];
        }
        self.out.extend_from_slice(&text);
    }

    /// Writes an object with one field, an oid.
    fn marked_oid(&mut self, before: &str, oid: u64) -> Result<(), Error> {
        self.open(before, 1)?;
        self.oid(oid);
        self.close("}", 1);
        Ok(())
    }

    fn float(&mut self, value: f64) {
        let size = value.abs();
        if value == 0.0 && value.is_sign_negative() {
            self.marked("@f", "-0.0");
        } else if value.is_nan() {
            self.marked("@f", "nan");
        } else if value.is_infinite() {
            self.marked("@f", if value > 0.0 { "inf" } else { "-inf" });
        } else if size >= DECIMAL_FLOAT_MAX || (size < DECIMAL_FLOAT_MIN && size > 0.0) {
            self.marked("@f", &format!("{value:e}"));
        } else {
            let start = self.out.len();
            let _ = write!(self.out, "{value}");
            if !self.out[start..].contains(&b'.') {
                self.raw(".0");
            }
        }
    }

    /// Writes text that is JSON.
    #[inline]
    pub fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes text that opens so many arrays and objects.
    pub fn open(&mut self, text: &str, levels: usize) -> Result<(), Error> {
        self.levels += levels;
        if self.levels > self.limits.depth {
            return Err(Error::Limit { what: "levels", limit: self.limits.depth as u64 });
        }
        self.raw(text);
        Ok(())
    }

    /// Writes text that closes so many arrays and objects.
    pub fn close(&mut self, text: &str, levels: usize) {
        debug_assert!(self.levels >= levels, "what is closed was opened");
        self.levels -= levels;
        self.raw(text);
    }

    /// Writes the comma before the value `index` of an array or object.
    pub fn comma(&mut self, index: usize) {
        if index > 0 {
            self.raw(",");
        }
    }

    /// Fails if the output would exceed its limit with so many more bytes.
    fn check_bytes(&self, more: usize) -> Result<(), Error> {
        if self.out.len().saturating_add(more) > self.bytes_max {
            return Err(Error::Limit { what: "bytes", limit: self.limits.bytes_out as u64 });
        }
        Ok(())
    }

    /// The class and the arguments of an object that is made by calling a class.
    ///
    /// Protocols 0 and 1 write `copyreg._reconstructor(class, object, None)` where later ones write
    /// `class.__new__(class)`.
    pub fn call_of(&self, object: &Object) -> Option<Call<'t>> {
        let tree = self.tree;
        let args = tree.tuple_of(object.args)?;
        if object.kwargs.is_some() {
            return None;
        }
        let is_instance = object.construction == Construction::New || object.state.is_some();
        match (tree.python3_class(object.callable), args) {
            (Some(("copyreg", "_reconstructor")), &[class, base, state])
                if tree.python3_class(base) == Some(("builtins", "object"))
                    && matches!(tree.node(state), Node::None) =>
            {
                Some(Call { class, args: &[], is_instance: true })
            }
            (Some(("copyreg", "__newobj__")), [class, args @ ..]) => {
                Some(Call { class: *class, args, is_instance: true })
            }
            _ => Some(Call { class: object.callable, args, is_instance }),
        }
    }
}

/// The call of a class.
pub(crate) struct Call<'t> {
    pub class: Id,
    pub args: &'t [Id],
    /// True if the result is an instance of the class; else the callable may be a function.
    pub is_instance: bool,
}
