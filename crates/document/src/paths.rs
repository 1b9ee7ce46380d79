//! The path summary: which paths a document has, and how many nodes stand at each.
//!
//! ```text
//!   {"tada":[{"foo":1},{"foo":2},true]}       /tada          1 node   level 1
//!                                             /tada/[]       3        2
//!                                             /tada/[]/foo   2        3
//! ```
//!
//! Elements of one array share a path, whatever their number, so the summary of a document is small
//! however large the document.

use crate::tree::Nodes;
use crate::{NodeKey, Result, Tree};
use std::collections::HashMap;

/// All nodes of a document with one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathClass {
    /// The path, `/tada/[]/foo`: names as people write them, `[]` for the elements of an array.
    pub path: String,
    /// How many nodes have it.
    pub count: u64,
    /// How deep they stand; fields and elements of the root have level 1.
    pub level: u32,
    /// The first of them in document order.
    pub first: NodeKey,
}

/// The paths of a document, the root's aside, in the order in which they first occur.
pub fn path_summary(tree: &Tree) -> Result<Vec<PathClass>> {
    tree.fetch()?;
    let mut summary = Summary { classes: Vec::new(), known: HashMap::new() };
    // Children of one parent are pushed in reverse, so that they are met in document order.
    let mut stack = vec![(tree.root(), None)];
    while let Some((key, above)) = stack.pop() {
        let node = tree.expect(key)?;
        let class = match key == tree.root() {
            true => None,
            false => Some(summary.add(key, above, node.name)),
        };
        if node.kind.is_container() {
            let from = stack.len();
            for child in tree.children(key)? {
                stack.push((child?, class));
            }
            stack[from..].reverse();
        }
    }
    Ok(summary.classes)
}

struct Summary {
    classes: Vec<PathClass>,
    /// The class of the parent and the name, `None` for elements, to the class.
    known: HashMap<(Option<usize>, Option<Vec<u8>>), usize>,
}

impl Summary {
    /// Counts a node; returns the class of its path.
    fn add(&mut self, key: NodeKey, above: Option<usize>, name: Option<&[u8]>) -> usize {
        let id = (above, name.map(<[u8]>::to_vec));
        if let Some(&class) = self.known.get(&id) {
            self.classes[class].count += 1;
            return class;
        }
        let (path, level) = match above {
            Some(above) => (self.classes[above].path.as_str(), self.classes[above].level),
            None => ("", 0),
        };
        let path = match name {
            Some(name) => format!("{path}/{}", json::text::unescape(name)),
            None => format!("{path}/[]"),
        };
        self.classes.push(PathClass { path, count: 1, level: level + 1, first: key });
        self.known.insert(id, self.classes.len() - 1);
        self.classes.len() - 1
    }
}
