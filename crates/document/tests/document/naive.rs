//! The expected answers of documents, computed the slow and obvious way.

use document::{Metadata, NodeKey, Nodes, Options, PathClass, Tree, subtree_hash, type_name};
use json::Kind;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// How many nodes have each path, and how deep they stand, but for the root.
pub fn paths(value: &Value) -> BTreeMap<String, (u64, u32)> {
    fn walk(value: &Value, path: &str, level: u32, out: &mut BTreeMap<String, (u64, u32)>) {
        let steps: Vec<(&str, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(name, v)| (name.as_str(), v)).collect(),
            Value::Array(items) => items.iter().map(|v| ("[]", v)).collect(),
            _ => Vec::new(),
        };
        for (step, value) in steps {
            let path = format!("{path}/{step}");
            walk(value, &path, level + 1, out);
            out.entry(path).or_insert((0, level + 1)).0 += 1;
        }
    }
    let mut out = BTreeMap::new();
    walk(value, "", 0, &mut out);
    out
}

/// A path summary in the same form. Names with a slash in them can make two paths look alike.
pub fn sorted(summary: Vec<PathClass>) -> BTreeMap<String, (u64, u32)> {
    let mut out = BTreeMap::new();
    for class in summary {
        let entry = out.entry(class.path).or_insert((0, class.level));
        entry.0 += class.count;
    }
    out
}

/// A node, apart from the nodes below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub parent: u64,
    pub order: String,
    pub name: Option<Vec<u8>>,
    pub kind: Kind,
    pub text: Vec<u8>,
    pub count: u32,
}

/// All nodes of a document at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snap {
    pub nodes: BTreeMap<u64, Record>,
    pub next_key: u64,
}

impl Snap {
    /// Walks the tree node by node, and recounts what its header says.
    pub fn of(tree: &Tree, hashes: bool) -> Snap {
        let header = *tree.header();
        let mut nodes = BTreeMap::new();
        let mut placed = 0;
        for key in tree.subtree(tree.root()).expect("walks") {
            let node = tree.expect(key).expect("is there");
            let children = match node.kind.is_container() {
                true => tree.children(key).expect("has children").count(),
                false => 0,
            };
            assert_eq!(node.count as usize, children, "children of {key}");
            placed += tree.place(key).expect("reads").is_some() as u64;
            let record = Record {
                parent: tree.parent(key).expect("has one").map_or(0, |parent| parent.0),
                order: format!("{:?}", tree.label(key).expect("has one")),
                name: node.name.map(<[u8]>::to_vec),
                kind: node.kind,
                text: node.text.to_vec(),
                count: node.count,
            };
            assert!(key.0 < header.next_key, "{key} is below the next key");
            assert!(nodes.insert(key.0, record).is_none(), "{key} stands in two places");
        }
        assert_eq!(header.nodes, nodes.len() as u64, "nodes by the header");
        assert_eq!(header.placed, placed, "placed nodes by the header");
        if hashes {
            assert_eq!(
                header.digest,
                document::digest(tree).expect("hashes"),
                "the rolling digest"
            );
        }
        Snap { nodes, next_key: header.next_key }
    }
}

/// A node with all below it.
pub struct Naive {
    key: u64,
    name: Option<String>,
    kind: Kind,
    named: bool,
    scalar: Value,
    children: Vec<Naive>,
    hash: u64,
}

impl Naive {
    /// `hashes`: also take the hash of each node, which costs.
    pub fn of(tree: &Tree, key: NodeKey, hashes: bool) -> Naive {
        let node = tree.expect(key).expect("is there");
        let unquoted = |text: &[u8]| {
            let quoted = [b"\"", text, b"\""].concat();
            serde_json::from_slice::<String>(&quoted).expect("an escaped string")
        };
        let scalar = match node.kind {
            Kind::String => Value::from(unquoted(node.text)),
            Kind::Number => serde_json::from_slice(node.text).expect("a number"),
            Kind::True | Kind::False => Value::Bool(node.kind == Kind::True),
            _ => Value::Null,
        };
        let children = match node.kind.is_container() {
            true => tree
                .children(key)
                .expect("has children")
                .map(|child| Naive::of(tree, child.expect("reads"), hashes))
                .collect(),
            false => Vec::new(),
        };
        Naive {
            key: key.0,
            name: node.name.map(unquoted),
            kind: node.kind,
            named: node.name.is_some(),
            scalar,
            children,
            hash: if hashes { subtree_hash(tree, key).expect("hashes") } else { 0 },
        }
    }

    fn descendants(&self) -> usize {
        self.children.iter().map(|child| 1 + child.descendants()).sum()
    }

    /// The part of the document that the options ask for.
    pub fn part(&self, options: &Options) -> String {
        let mut budget = options.number_of_nodes.map_or(u64::MAX, |n| n.saturating_sub(1));
        let plain = options.metadata == Metadata::None;
        let mut value = self.value(options, 1, &mut budget);
        if let (Some(_), Some(name), true) = (options.start, &self.name, plain) {
            value = Value::Object(Map::from_iter([(name.clone(), value)]));
        }
        match options.pretty {
            true => serde_json::to_string_pretty(&value).expect("writes"),
            false => value.to_string(),
        }
    }

    fn value(&self, options: &Options, level: u32, budget: &mut u64) -> Value {
        *budget = budget.saturating_sub(1);
        let mut children = Vec::new();
        if options.max_level.is_none_or(|max| level < max) {
            let top = level == 1;
            let after = options.after.filter(|_| top);
            let skipped =
                after.and_then(|after| self.children.iter().position(|c| c.key == after.0));
            for child in self.children.iter().skip(skipped.map_or(0, |at| at + 1)) {
                let reached =
                    |max: Option<u32>| max.is_some_and(|max| children.len() >= max as usize);
                let full =
                    reached(options.max_children) || top && reached(options.next_top_level_nodes);
                if full || *budget == 0 {
                    break;
                }
                children.push((child.name.clone(), child.value(options, level + 1, budget)));
            }
        }
        let values = |all: Vec<(Option<String>, Value)>| all.into_iter().map(|(_, value)| value);
        if options.metadata == Metadata::None {
            return match self.kind {
                Kind::Array => Value::Array(values(children).collect()),
                Kind::Object => Value::Object(
                    children
                        .into_iter()
                        .map(|(name, value)| (name.expect("a field"), value))
                        .collect(),
                ),
                _ => self.scalar.clone(),
            };
        }
        let mut out = Map::new();
        if let Some(name) = self.name.as_ref().filter(|_| level > 1) {
            out.insert("key".into(), Value::from(name.as_str()));
        }
        out.insert("metadata".into(), self.metadata(options));
        let value = match self.kind {
            Kind::Object if children.is_empty() => Value::Object(Map::new()),
            Kind::Array | Kind::Object => Value::Array(values(children).collect()),
            _ => self.scalar.clone(),
        };
        out.insert("value".into(), value);
        Value::Object(out)
    }

    fn metadata(&self, options: &Options) -> Value {
        let container = self.kind.is_container();
        let mut out = Map::new();
        out.insert("nodeKey".into(), self.key.into());
        if options.metadata == Metadata::All {
            out.insert("hash".into(), format!("{:016x}", self.hash).into());
            out.insert("type".into(), type_name(self.kind, self.named).into());
            if container {
                out.insert("descendantCount".into(), self.descendants().into());
            }
        }
        if container && options.metadata != Metadata::NodeKey {
            out.insert("childCount".into(), self.children.len().into());
        }
        Value::Object(out)
    }
}
