//! Edits of one node, by a request of its own or by a step of a transaction.

use anywhen::{DocumentError, Edit, NodeKey, NodeRef, Nodes, Place};

use crate::problem::Problem;

/// Where a node goes, seen from another.
pub(super) struct Spot {
    at: String,
    name: Option<String>,
}

impl Spot {
    /// Reads `at` and `name`; last below the other where nothing is said.
    ///
    /// # Errors
    /// 400 where there is no such place.
    pub(super) fn new(at: Option<&str>, name: Option<&str>) -> Result<Spot, Problem> {
        let spot = Spot { at: at.unwrap_or("last").to_owned(), name: name.map(str::to_owned) };
        Place::named(&spot.at, name).map_err(Problem::bad)?;
        Ok(spot)
    }

    fn place(&self) -> Result<Place<'_>, DocumentError> {
        Place::named(&self.at, self.name.as_deref())
            .map_err(|text| DocumentError::BadEdit(text.into()))
    }
}

/// The change of a node.
pub(super) enum Change {
    Set(String),
    Insert(Spot, String),
    Remove,
    Move(NodeRef, Spot),
    Rename(String),
}

impl Change {
    /// Does it; gives the key of the node that is new, or holds the value.
    pub(super) fn apply(
        &self,
        edit: &mut Edit<'_>,
        node: &NodeRef,
    ) -> Result<Option<NodeKey>, DocumentError> {
        match self {
            Change::Set(value) => edit.set(node, value).map(Some),
            Change::Insert(spot, value) => edit.insert(node, spot.place()?, value).map(Some),
            Change::Remove => edit.remove(node).map(|()| None),
            Change::Move(to, spot) => edit.move_to(node, to, spot.place()?).map(|()| None),
            Change::Rename(name) => {
                if let Some(found) = edit.find(node)?
                    && edit.nodes().expect(found)?.name.is_none()
                {
                    let text = "only a field of an object has a name";
                    return Err(DocumentError::BadEdit(text.into()));
                }
                edit.rename(node, name).map(|()| None)
            }
        }
    }
}
