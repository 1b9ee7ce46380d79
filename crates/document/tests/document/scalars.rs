//! Histories in which little but scalars changes: the value of a version of the past is made of the
//! newest one's, and must be the one that the version's own nodes have.

use crate::model::check_value;
use crate::values::{self, Path, get, get_mut, path_text, paths};
use crate::world::{Dice, World, seeds};
use serde_json::Value;
use std::sync::Arc;

const KEY: &str = "d";
const REVISIONS: usize = 12;

/// Sets a scalar, or renames a field, in the document and in its model.
fn change(dice: &mut Dice, world: &World, value: &mut Value, scalars: &[Path]) -> store::Csn {
    let count = 1 + dice.below(3);
    let edit = world.docs.edit(KEY, |edit| {
        for _ in 0..count {
            let path = dice.pick(scalars);
            let new = match (dice.below(20), get(value, path)) {
                (0, _) => Value::from("\u{1}"),
                (1, _) => Value::from("long ".repeat(60)),
                // Of the same length, mostly.
                (2..=9, Value::Number(_)) => Value::from(100 + dice.below(800)),
                _ => values::scalar(dice),
            };
            edit.set(path_text(path).as_str(), new.to_string())?;
            *get_mut(value, path) = new;
        }
        Ok(())
    });
    edit.expect("edits").0.csn
}

/// Gives another name to the first field of the root, and to it in the model.
fn rename(dice: &mut Dice, world: &World, value: &mut Value) -> Option<store::Csn> {
    let Value::Object(fields) = value else { return None };
    let old = fields.keys().next()?.clone();
    let new = format!("renamed {}", dice.below(3));
    if fields.contains_key(&new) {
        return None;
    }
    let path = path_text(&[values::Step::Field(old.clone())]);
    let renamed = world.docs.edit(KEY, |edit| edit.rename(path.as_str(), &new)).expect("edits");
    *fields = std::mem::take(fields)
        .into_iter()
        .map(|(name, field)| (if name == old { new.clone() } else { name }, field))
        .collect();
    Some(renamed.0.csn)
}

#[test]
fn a_value_of_the_past_is_that_of_its_nodes() {
    seeds(1, 300, |seed| {
        let mut dice = Dice::new(seed);
        let mut world = World::new(seed, dice.chance(30));
        let nodes = *dice.pick(&[1, 10, 60, 300, 900]);
        let mut value = values::document(&mut dice, nodes);
        let put = world.docs.put(KEY, value.to_string()).expect("puts");
        let mut revisions = vec![(put.csn, value.to_string())];
        for _ in 0..REVISIONS {
            let scalars: Vec<Path> = paths(&value)
                .into_iter()
                .filter(|path| !get(&value, path).is_array() && !get(&value, path).is_object())
                .collect();
            let csn = match dice.below(30) {
                0 => rename(&mut dice, &world, &mut value),
                _ if scalars.is_empty() => None,
                _ => Some(change(&mut dice, &world, &mut value, &scalars)),
            };
            revisions.extend(csn.map(|csn| (csn, value.to_string())));
            match dice.below(12) {
                0 => world.flush(),
                1 => world.compact(),
                2 => world = world.reopen(),
                _ => {}
            }
        }
        // Nothing is known of the newest one, then all of it.
        for is_known in [false, true] {
            world.documents.clear_cache();
            let newest = is_known.then(|| world.docs.get(KEY).expect("reads").expect("is there"));
            for (csn, text) in &revisions {
                let tree = world.docs.tree_as_of(KEY, *csn).expect("reads").expect("was there");
                check_value(&tree, Some(text.as_str()));
                let last = revisions.last().is_some_and(|(last, _)| csn == last);
                let is_kept =
                    newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest.tree(), &tree));
                assert_eq!(is_kept, is_known && last, "the newest is the one that is kept");
            }
        }
    });
}
