//! Inserting beside or below a node, as SirixDB does it: into an array goes the value, into an object go
//! the fields of the value.

use anywhen::{DocumentError, Edit, NodeKey, Nodes, Place};
use json::{Kind, Tape};

use crate::problem::Problem;

/// Where a value goes.
#[derive(Clone, Copy)]
pub(super) enum Way {
    FirstChild,
    LeftSibling,
    RightSibling,
    Replace,
}

impl std::str::FromStr for Way {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        Ok(match text {
            "asFirstChild" => Way::FirstChild,
            "asLeftSibling" => Way::LeftSibling,
            "asRightSibling" => Way::RightSibling,
            "replace" => Way::Replace,
            _ => {
                return Err(Problem::bad(format!(
                    "the parameter insert cannot be {text:?}: it can be asFirstChild, asLeftSibling, asRightSibling or replace"
                )));
            }
        })
    }
}

/// Inserts a value.
pub(super) fn insert(
    edit: &mut Edit<'_>,
    node: NodeKey,
    way: Way,
    value: &Tape,
) -> Result<(), DocumentError> {
    let parent = match way {
        Way::Replace => return edit.set(node, value.to_json()).map(drop),
        Way::FirstChild => Some(node),
        Way::LeftSibling | Way::RightSibling => {
            edit.nodes().expect(node)?;
            edit.nodes().parent(node)?
        }
    };
    let parent = parent.ok_or_else(|| DocumentError::BadEdit("the root has no siblings".into()))?;
    if edit.nodes().expect(parent)?.kind != Kind::Object {
        let place = match way {
            Way::LeftSibling => Place::Before,
            Way::RightSibling => Place::After,
            _ => Place::FirstChild,
        };
        return edit.insert(node, place, value.to_json()).map(drop);
    }
    if value.root().kind() != Kind::Object || value.root().count() == 0 {
        let text = "into an object go the fields of an object: send one with at least a field";
        return Err(DocumentError::BadEdit(text.into()));
    }
    // The field beside which the next one goes, and on which side.
    let (mut beside, mut is_before) = match way {
        Way::LeftSibling => (Some(node), true),
        Way::RightSibling => (Some(node), false),
        _ => (edit.nodes().children(parent)?.next().transpose()?, true),
    };
    for field in value.root().children() {
        let name = field.field().unwrap_or_default();
        let json = field.to_json();
        let key = match (beside, is_before) {
            (None, _) => edit.insert(parent, Place::Field(&name), json)?,
            (Some(beside), true) => edit.insert(beside, Place::FieldBefore(&name), json)?,
            (Some(beside), false) => edit.insert(beside, Place::FieldAfter(&name), json)?,
        };
        (beside, is_before) = (Some(key), false);
    }
    Ok(())
}
