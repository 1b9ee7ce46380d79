//! The states of BTrees as lists of keys and values.
//!
//! The package BTrees has six kinds of trees for each pair of key and value types (`OOBTree`,
//! `IISet`, `LLTreeSet`, ...), and all nest their states in tuples in the same way:
//!
//! ```text
//!   Bucket   ((k, v, k, v, ...),)          or with a successor  ((k, v, ...), next)
//!   Set      ((k, k, ...),)                or with a successor  ((k, ...), next)
//!   BTree    None                          empty
//!            ((bucket,),)                  one bucket, inside this record
//!            ((child, k, child, ...), first bucket)
//! ```
//!
//! A state of another form is written as the tuple that it is.

use crate::error::Error;
use crate::tree::{Id, Node};
use crate::view::Writer;

/// The shape of the state of a class of BTrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Values beside the keys.
    has_values: bool,
    /// Children, as against keys alone.
    is_tree: bool,
}

impl Shape {
    /// The shape of the states of a class; none if it is not one of the package BTrees.
    pub fn of(module: &str, name: &str) -> Option<Shape> {
        let family = module.strip_prefix("BTrees.")?;
        let family = family.strip_prefix('_').unwrap_or(family);
        let name = name.strip_suffix("Py").unwrap_or(name);
        let prefix = family.strip_suffix("BTree")?;
        let (has_values, is_tree) = match name.strip_prefix(prefix)? {
            "BTree" => (true, true),
            "TreeSet" => (false, true),
            "Bucket" => (true, false),
            "Set" => (false, false),
            _ => return None,
        };
        Some(Shape { has_values, is_tree })
    }
}

impl<'t> Writer<'t, '_, '_> {
    /// Writes the state of a BTree. Returns false, and has written nothing, if it has another form.
    pub fn btree(&mut self, shape: Shape, state: Id) -> Result<bool, Error> {
        if !shape.is_tree {
            return self.bucket(shape, state);
        }
        let tree = self.tree;
        match tree.tuple_of(state) {
            Some(&[only]) => match tree.tuple_of(only) {
                Some(&[bucket]) => self.bucket(shape, bucket),
                _ => Ok(false),
            },
            Some(&[children, first]) => {
                let Some(children) = tree.tuple_of(children) else { return Ok(false) };
                if children.len().is_multiple_of(2) {
                    return Ok(false);
                }
                self.open("{\"@children\":", 1)?;
                self.array(children)?;
                self.raw(",\"@first\":");
                self.value(first)?;
                self.close("}", 1);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn bucket(&mut self, shape: Shape, state: Id) -> Result<bool, Error> {
        let tree = self.tree;
        let Some(&[entries, ref next @ ..]) = tree.tuple_of(state) else { return Ok(false) };
        let Node::Tuple(range) = tree.node(entries) else { return Ok(false) };
        let entries = tree.items_of(range);
        if next.len() > 1 || (shape.has_values && !entries.len().is_multiple_of(2)) {
            return Ok(false);
        }
        if shape.has_values {
            self.open("{\"@kv\":", 1)?;
            self.pairs(entries)?;
        } else {
            self.open("{\"@ks\":", 1)?;
            self.array(entries)?;
        }
        if let [next] = next {
            self.raw(",\"@next\":");
            self.value(*next)?;
        }
        self.close("}", 1);
        Ok(true)
    }
}
