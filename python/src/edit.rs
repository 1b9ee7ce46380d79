//! Edits of one node, as Python asks for them: what, where, and with what.

use anywhen::{DocumentError, Edit, Meta, Moment, NodeKey, NodeRef, Nodes, Place, Revision};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{Failure, Outcome};

/// A node: a path, or a node key.
#[derive(FromPyObject)]
pub(crate) enum NodeArgument {
    Key(u64),
    Path(String),
}

impl From<NodeArgument> for NodeRef {
    fn from(node: NodeArgument) -> Self {
        match node {
            NodeArgument::Key(key) => NodeRef::Key(NodeKey(key)),
            NodeArgument::Path(path) => NodeRef::Path(path),
        }
    }
}

/// Message, author, the authored time, and the version that the new one must follow.
pub(crate) type MetaArgument = (String, String, Option<u64>, Option<u64>);

pub(crate) fn meta((message, author, authored_us, if_version): MetaArgument) -> Meta {
    Meta { authored_us, only_at: if_version.map(Revision), ..Meta::new(author, message) }
}

/// `version`, `time` or `authored` (microseconds since 1970), or `csn`, and the number.
pub(crate) type MomentArgument = (String, u64);

pub(crate) fn moment((kind, number): MomentArgument) -> PyResult<Moment> {
    Ok(match kind.as_str() {
        "version" => Moment::Revision(Revision(number)),
        "time" => Moment::Time(number),
        "authored" => Moment::Authored(number),
        "csn" => Moment::Csn(anywhen::Csn(number)),
        _ => return Err(PyValueError::new_err(format!("a moment has no {kind:?}"))),
    })
}

/// The edit of a node.
enum Op {
    Set(Vec<u8>),
    Insert(Where, Vec<u8>),
    Remove,
    Rename(String),
    Move(NodeRef, Where),
}

/// Where a node goes, seen from another.
struct Where {
    at: String,
    name: Option<String>,
}

impl Where {
    fn new(at: Option<String>, name: Option<String>) -> Outcome<Where> {
        let at = at.unwrap_or_else(|| "last".to_owned());
        Place::named(&at, name.as_deref()).map_err(|text| Failure::edit(text.into()))?;
        Ok(Where { at, name })
    }

    fn place(&self) -> Result<Place<'_>, DocumentError> {
        Place::named(&self.at, self.name.as_deref())
            .map_err(|text| DocumentError::BadEdit(text.into()))
    }
}

/// One edit.
pub(crate) struct Step {
    node: NodeRef,
    op: Op,
}

impl Step {
    /// Reads an edit: `set`, `insert`, `remove`, `rename` or `move`, and what each needs of the rest.
    pub(crate) fn new(
        op: &str,
        node: NodeArgument,
        json: Option<&[u8]>,
        to: Option<NodeArgument>,
        at: Option<String>,
        name: Option<String>,
    ) -> Outcome<Step> {
        let json = || json.map(<[u8]>::to_vec).ok_or_else(|| missing("a value"));
        let op = match op {
            "set" => Op::Set(json()?),
            "insert" => Op::Insert(Where::new(at, name)?, json()?),
            "remove" => Op::Remove,
            "rename" => Op::Rename(name.ok_or_else(|| missing("a name"))?),
            "move" => {
                let to = to.ok_or_else(|| missing("a node to move it to"))?;
                Op::Move(to.into(), Where::new(at, name)?)
            }
            other => return Err(Failure::edit(format!("there is no edit {other:?}"))),
        };
        Ok(Step { node: node.into(), op })
    }

    /// Applies the edit; returns the key of the node that is new or holds the value.
    pub(crate) fn apply(&self, edit: &mut Edit<'_>) -> Result<Option<NodeKey>, DocumentError> {
        let node = &self.node;
        match &self.op {
            Op::Set(json) => edit.set(node, json).map(Some),
            Op::Insert(place, json) => edit.insert(node, place.place()?, json).map(Some),
            Op::Remove => edit.remove(node).map(|()| None),
            Op::Rename(name) => {
                if let Some(found) = edit.find(node)?
                    && edit.nodes().expect(found)?.name.is_none()
                {
                    let text = "only a field of an object has a name";
                    return Err(DocumentError::BadEdit(text.into()));
                }
                edit.rename(node, name).map(|()| None)
            }
            Op::Move(to, place) => edit.move_to(node, to, place.place()?).map(|()| None),
        }
    }
}

fn missing(what: &str) -> Box<Failure> {
    Failure::edit(format!("{what} is wanted"))
}
