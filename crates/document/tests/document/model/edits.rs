//! Random edits of a document, done to the document and to a plain value alike.

use super::cut;
use crate::values::{self, Path, Step, get, get_mut, path_text, some_path};
use crate::world::Dice;
use document::{DocumentError, Edit, NodeRef, Place};
use serde_json::{Map, Value};

/// Puts a field at a position among others.
fn insert_field(fields: &mut Map<String, Value>, at: usize, name: String, value: Value) {
    let mut entries: Vec<_> = std::mem::take(fields).into_iter().collect();
    entries.insert(at, (name, value));
    fields.extend(entries);
}

/// The target by path or by key.
fn target(dice: &mut Dice, edit: &Edit<'_>, path: &[Step]) -> NodeRef {
    let text = path_text(path);
    match dice.chance(50) {
        true => NodeRef::Path(text),
        false => NodeRef::Key(edit.find(text.as_str()).expect("finds").expect("is there")),
    }
}

/// One random step of an edit, done to the document and to the value beside it.
pub(super) fn change(
    dice: &mut Dice,
    log: &mut Vec<String>,
    edit: &mut Edit<'_>,
    value: &mut Value,
) -> Result<(), DocumentError> {
    let path = some_path(dice, value);
    let text = path_text(&path);
    match dice.below(8) {
        0 | 1 => {
            let new = match dice.below(4) {
                0 => values::value(dice, 5, 3),
                1 => {
                    let mut new = get(value, &path).clone();
                    values::mutate(dice, &mut new);
                    new
                }
                _ => values::scalar(dice),
            };
            log.push(format!("set {text} {}", cut(&new.to_string())));
            edit.set(target(dice, edit, &path), new.to_string())?;
            *get_mut(value, &path) = new;
        }
        2 => set_missing(dice, log, edit, value, &path)?,
        3 => {
            let new = values::value(dice, 4, 3);
            let Some(spot) = spot(dice, value, &path) else { return Ok(()) };
            log.push(format!("insert {} at {spot:?}", cut(&new.to_string())));
            let to = target(dice, edit, &spot.seen_from);
            let done = edit.insert(to, spot.place(), new.to_string());
            if !spot.expect(done)? {
                return Ok(());
            }
            spot.put(value, new);
        }
        4 => rename(dice, log, edit, value, &path)?,
        5 => {
            if path.is_empty() {
                let done = edit.remove("$");
                assert!(matches!(done, Err(DocumentError::BadEdit(_))));
                return Ok(());
            }
            log.push(format!("remove {text}"));
            edit.remove(target(dice, edit, &path))?;
            take(value, &path);
        }
        6 => move_or_copy(dice, log, edit, value, &path)?,
        _ => {
            if path.is_empty() && dice.chance(70) {
                return Ok(());
            }
            let new = values::value(dice, 4, 3);
            log.push(format!("replace {text} {}", cut(&new.to_string())));
            edit.replace(target(dice, edit, &path), new.to_string())?;
            *get_mut(value, &path) = new;
        }
    }
    Ok(())
}

fn set_missing(
    dice: &mut Dice,
    log: &mut Vec<String>,
    edit: &mut Edit<'_>,
    value: &mut Value,
    path: &[Step],
) -> Result<(), DocumentError> {
    let new = values::value(dice, 3, 2);
    let mut path = path.to_vec();
    match get_mut(value, &path) {
        Value::Array(items) => {
            path.push(Step::Index(items.len()));
            items.push(new.clone());
        }
        Value::Object(fields) => {
            let name = values::name(dice);
            path.push(Step::Field(name.clone()));
            fields.insert(name, new.clone());
        }
        _ => {
            let below = format!("{}.below", path_text(&path));
            let done = edit.set(below, new.to_string());
            assert!(matches!(done, Err(DocumentError::NoNode(_))));
            return Ok(());
        }
    }
    log.push(format!("set {} {}", path_text(&path), cut(&new.to_string())));
    edit.set(path_text(&path), new.to_string()).map(drop)
}

fn rename(
    dice: &mut Dice,
    log: &mut Vec<String>,
    edit: &mut Edit<'_>,
    value: &mut Value,
    path: &[Step],
) -> Result<(), DocumentError> {
    let name = values::name(dice);
    let Some((Step::Field(old), above)) = path.split_last() else {
        let done = edit.rename(path_text(path).as_str(), &name);
        assert!(matches!(done, Err(DocumentError::BadEdit(_))));
        return Ok(());
    };
    log.push(format!("rename {} {name:?}", path_text(path)));
    let done = edit.rename(target(dice, edit, path), &name);
    let Value::Object(fields) = get_mut(value, above) else { unreachable!("a field's parent") };
    if name != *old && fields.contains_key(&name) {
        assert!(matches!(done, Err(DocumentError::BadEdit(_))));
        return Ok(());
    }
    let entries = std::mem::take(fields).into_iter();
    fields.extend(
        entries.map(|(key, field)| if key == *old { (name.clone(), field) } else { (key, field) }),
    );
    done
}

/// A place to put something: container, position, name for a field.
#[derive(Debug)]
struct Spot {
    seen_from: Path,
    how: usize,
    parent: Path,
    at: usize,
    name: Option<String>,
    /// The object has such a field already.
    clash: bool,
}

impl Spot {
    fn place(&self) -> Place<'_> {
        match (self.how, &self.name) {
            (0, None) => Place::FirstChild,
            (1, None) => Place::LastChild,
            (2, None) => Place::Before,
            (_, None) => Place::After,
            (0 | 1, Some(name)) => Place::Field(name),
            (2, Some(name)) => Place::FieldBefore(name),
            (_, Some(name)) => Place::FieldAfter(name),
        }
    }

    /// False if it was refused, as it must be where there is such a field.
    fn expect<R>(&self, done: Result<R, DocumentError>) -> Result<bool, DocumentError> {
        if self.clash {
            assert!(matches!(done, Err(DocumentError::BadEdit(_))), "{self:?}");
            return Ok(false);
        }
        done.map(|_| true)
    }

    fn put(&self, value: &mut Value, new: Value) {
        match get_mut(value, &self.parent) {
            Value::Array(items) => items.insert(self.at, new),
            Value::Object(fields) => {
                insert_field(fields, self.at, self.name.clone().expect("a name"), new)
            }
            _ => unreachable!("a container"),
        }
    }
}

/// A random spot in or beside the node at `path`.
fn spot(dice: &mut Dice, value: &Value, path: &[Step]) -> Option<Spot> {
    let here = get(value, path);
    let beside = !path.is_empty() && (dice.chance(50) || !(here.is_array() || here.is_object()));
    let (parent, how) = match beside {
        true => (path[..path.len() - 1].to_vec(), 2 + dice.below(2)),
        false if here.is_array() || here.is_object() => (path.to_vec(), dice.below(2)),
        false => return None,
    };
    let name = values::name(dice);
    let after = (how == 3) as usize;
    let (at, name, clash) = match (get(value, &parent), path.last()) {
        (Value::Array(items), last) => {
            let at = match (how, last) {
                (0, _) => 0,
                (1, _) => items.len(),
                (_, Some(Step::Index(at))) => at + after,
                _ => unreachable!("an element"),
            };
            (at, None, false)
        }
        (Value::Object(fields), last) => {
            let at = match (how, last) {
                (0 | 1, _) => fields.len(),
                (_, Some(Step::Field(name))) => {
                    fields.keys().position(|key| key == name).expect("is there") + after
                }
                _ => unreachable!("a field"),
            };
            let clash = fields.contains_key(&name);
            (at, Some(name), clash)
        }
        _ => unreachable!("a container"),
    };
    Some(Spot { seen_from: path.to_vec(), how, parent, at, name, clash })
}

/// Takes the value at a path away.
fn take(value: &mut Value, path: &[Step]) -> Value {
    let (last, above) = path.split_last().expect("not the root");
    match (get_mut(value, above), last) {
        (Value::Array(items), Step::Index(at)) => items.remove(*at),
        (Value::Object(fields), Step::Field(name)) => fields.shift_remove(name).expect("is there"),
        _ => unreachable!("a child"),
    }
}

fn move_or_copy(
    dice: &mut Dice,
    log: &mut Vec<String>,
    edit: &mut Edit<'_>,
    value: &mut Value,
    from: &[Step],
) -> Result<(), DocumentError> {
    let path = some_path(dice, value);
    let Some(mut spot) = spot(dice, value, &path) else { return Ok(()) };
    let (source, to) = (target(dice, edit, from), target(dice, edit, &path));
    let copy = dice.chance(40);
    log.push(format!("{} {} to {spot:?}", if copy { "copy" } else { "move" }, path_text(from)));
    let moved = get(value, from).clone();
    if copy {
        let done = edit.copy_to(source, to, spot.place());
        if spot.expect(done)? {
            spot.put(value, moved);
        }
        return Ok(());
    }
    let done = edit.move_to(source, to, spot.place());
    if from.is_empty() || path.starts_with(from) {
        assert!(matches!(done, Err(DocumentError::BadEdit(_))), "into itself");
        return Ok(());
    }
    let (last, above) = from.split_last().expect("not the root");
    if let (Step::Field(own), true, Some(name)) = (last, above == &spot.parent[..], &spot.name) {
        // Its own name is free for it.
        spot.clash &= own != name;
    }
    if !spot.expect(done)? {
        return Ok(());
    }
    let same_parent = above == &spot.parent[..];
    match (get_mut(value, above), last) {
        (Value::Array(items), Step::Index(at)) => {
            items.remove(*at);
            shift(&mut spot, above, *at);
        }
        (Value::Object(fields), Step::Field(name)) => {
            let at = fields.keys().position(|key| key == name).expect("is there");
            fields.shift_remove(name);
            if same_parent && at < spot.at {
                spot.at -= 1;
            }
        }
        _ => unreachable!("a child"),
    }
    spot.put(value, moved);
    Ok(())
}

/// The spot after the removal of element `at` of the array at `above`.
fn shift(spot: &mut Spot, above: &[Step], at: usize) {
    if spot.parent == above && at < spot.at {
        spot.at -= 1;
    }
    if spot.parent.len() > above.len()
        && spot.parent.starts_with(above)
        && let Step::Index(index) = &mut spot.parent[above.len()]
        && *index > at
    {
        *index -= 1;
    }
}
