//! Random JSON values, and random changes of them.

use crate::world::Dice;
use serde_json::{Map, Value};

const NAMES: [&str; 16] = [
    "a",
    "b",
    "c",
    "id",
    "name",
    "qty",
    "tags",
    "items",
    "",
    "with \"quotes\"",
    "näme",
    "a/b~c",
    "日本",
    "tab\there",
    "thirty-two bytes, copied at once",
    "a name that is longer than what is copied at once",
];
const STRINGS: [&str; 10] = [
    "",
    "x",
    "hello",
    "hello, world",
    "line\nbreak",
    "quote \" and \\",
    "\u{1}\u{1f}",
    "日本語",
    "/slash/",
    "a somewhat longer text that weighs enough to be moved about",
];
const NUMBERS: [&str; 9] =
    ["0", "1", "-1", "2.50", "1e10", "-0.0", "12345678901234567890123", "3.14159265358979", "7"];

pub fn name(dice: &mut Dice) -> String {
    match dice.chance(80) {
        true => (*dice.pick(&NAMES)).to_owned(),
        false => format!("f{}", dice.below(30)),
    }
}

pub fn number(text: &str) -> Value {
    serde_json::from_str(text).expect("a number")
}

pub fn scalar(dice: &mut Dice) -> Value {
    match dice.below(8) {
        0 => Value::Null,
        1 => Value::Bool(dice.chance(50)),
        2 | 3 => number(dice.pick::<&str>(&NUMBERS)),
        4 => Value::from(dice.below(1000)),
        5 => Value::from(format!("s{}", dice.below(100))),
        _ => Value::from(*dice.pick(&STRINGS)),
    }
}

/// A value of about so many nodes.
pub fn value(dice: &mut Dice, nodes: usize, depth: usize) -> Value {
    if nodes <= 1 || depth == 0 {
        return match dice.below(10) {
            0 => Value::Array(vec![]),
            1 => Value::Object(Map::new()),
            _ => scalar(dice),
        };
    }
    let most = if dice.chance(20) { nodes } else { nodes.min(6) };
    let children = 1 + dice.below(most);
    let each = (nodes - 1) / children;
    if dice.chance(50) {
        Value::Array((0..children).map(|_| part(dice, each, depth)).collect())
    } else {
        (0..children).map(|_| (name(dice), part(dice, each, depth))).collect()
    }
}

fn part(dice: &mut Dice, each: usize, depth: usize) -> Value {
    let nodes = match dice.chance(30) {
        true => 1,
        false => dice.below(2 * each + 1),
    };
    value(dice, nodes, depth - 1)
}

/// A container of about so many nodes.
pub fn document(dice: &mut Dice, nodes: usize) -> Value {
    loop {
        let found = value(dice, nodes, 8);
        if found.is_array() || found.is_object() {
            return found;
        }
    }
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Field(String),
    Index(usize),
}

pub type Path = Vec<Step>;

/// The path as the database reads it.
pub fn path_text(path: &[Step]) -> String {
    path.iter().fold("$".to_owned(), |text, step| match step {
        Step::Field(name) => format!("{text}.{}", Value::from(name.as_str())),
        Step::Index(index) => format!("{text}[{index}]"),
    })
}

pub fn get<'a>(value: &'a Value, path: &[Step]) -> &'a Value {
    path.iter().fold(value, |value, step| match step {
        Step::Field(name) => &value[name],
        Step::Index(index) => &value[index],
    })
}

pub fn get_mut<'a>(value: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Field(name) => value.get_mut(name).expect("is there"),
        Step::Index(index) => value.get_mut(index).expect("is there"),
    })
}

/// All paths of a value, in document order.
pub fn paths(value: &Value) -> Vec<Path> {
    fn walk(value: &Value, path: &mut Path, out: &mut Vec<Path>) {
        out.push(path.clone());
        match value {
            Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| {
                path.push(Step::Index(at));
                walk(item, path, out);
                path.pop();
            }),
            Value::Object(fields) => fields.iter().for_each(|(name, field)| {
                path.push(Step::Field(name.clone()));
                walk(field, path, out);
                path.pop();
            }),
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(value, &mut Vec::new(), &mut out);
    out
}

/// A random path; short walks down, so that large documents cost little.
pub fn some_path(dice: &mut Dice, value: &Value) -> Path {
    let mut path = Vec::new();
    let mut at = value;
    while !dice.chance(15) {
        match at {
            Value::Array(items) if !items.is_empty() => {
                let index = dice.below(items.len());
                path.push(Step::Index(index));
                at = &items[index];
            }
            Value::Object(fields) if !fields.is_empty() => {
                let (name, field) = fields.iter().nth(dice.below(fields.len())).expect("within");
                path.push(Step::Field(name.clone()));
                at = field;
            }
            _ => break,
        }
    }
    path
}

/// Changes something of a value, as a program that rewrites its document would.
pub fn mutate(dice: &mut Dice, value: &mut Value) {
    let path = some_path(dice, value);
    let target = get_mut(value, &path);
    match target {
        Value::Array(items) => match dice.below(6) {
            0 if !items.is_empty() => drop(items.remove(dice.below(items.len()))),
            1 if items.len() > 1 => {
                let (a, b) = (dice.below(items.len()), dice.below(items.len()));
                items.swap(a, b);
            }
            2 if !items.is_empty() => {
                let item = items.remove(dice.below(items.len()));
                items.insert(dice.below(items.len() + 1), item);
            }
            3 => items.reverse(),
            _ => {
                let item = self::value(dice, 4, 3);
                items.insert(dice.below(items.len() + 1), item);
            }
        },
        Value::Object(fields) => match dice.below(5) {
            0 if !fields.is_empty() => {
                let name = fields.keys().nth(dice.below(fields.len())).expect("within").clone();
                fields.shift_remove(&name);
            }
            1 if !fields.is_empty() => {
                let name = fields.keys().nth(dice.below(fields.len())).expect("within").clone();
                let field = fields.shift_remove(&name).expect("is there");
                fields.insert(self::name(dice), field);
            }
            2 => {
                let mut entries: Vec<_> = std::mem::take(fields).into_iter().collect();
                entries.reverse();
                fields.extend(entries);
            }
            _ => {
                let field = self::value(dice, 4, 3);
                fields.insert(self::name(dice), field);
            }
        },
        other => *other = if dice.chance(85) { scalar(dice) } else { self::value(dice, 4, 3) },
    }
}

/// A patch of RFC 6902 applied; panics where it does not apply.
pub fn apply_patch(value: &mut Value, patch: &Value) {
    for step in patch.as_array().expect("a list") {
        let text =
            |name: &str| step[name].as_str().unwrap_or_else(|| panic!("no {name} in {step}"));
        match text("op") {
            "add" => add(value, text("path"), step["value"].clone()),
            "remove" => drop(remove(value, text("path"))),
            "replace" => {
                let place =
                    value.pointer_mut(text("path")).unwrap_or_else(|| panic!("nothing at {step}"));
                *place = step["value"].clone();
            }
            "move" => {
                let below = text("path").strip_prefix(text("from"));
                let is_below = below.is_some_and(|below| below.starts_with('/'));
                assert!(!is_below, "no place can be moved below itself: {step}");
                let moved = remove(value, text("from"));
                add(value, text("path"), moved);
            }
            "copy" => {
                let copy = value.pointer(text("from")).expect("is there").clone();
                add(value, text("path"), copy);
            }
            other => panic!("no such step: {other}"),
        }
    }
}

fn split(pointer: &str) -> (&str, String) {
    let (above, last) = pointer.rsplit_once('/').expect("not the root");
    (above, last.replace("~1", "/").replace("~0", "~"))
}

fn add(value: &mut Value, pointer: &str, added: Value) {
    if pointer.is_empty() {
        *value = added;
        return;
    }
    let (above, last) = split(pointer);
    match value.pointer_mut(above).unwrap_or_else(|| panic!("nothing at {above:?}")) {
        Value::Array(items) if last == "-" => items.push(added),
        Value::Array(items) => items.insert(last.parse().expect("a position"), added),
        Value::Object(fields) => drop(fields.insert(last, added)),
        other => panic!("{other} has no children"),
    }
}

fn remove(value: &mut Value, pointer: &str) -> Value {
    let (above, last) = split(pointer);
    match value.pointer_mut(above).unwrap_or_else(|| panic!("nothing at {above:?}")) {
        Value::Array(items) => items.remove(last.parse().expect("a position")),
        Value::Object(fields) => {
            fields.shift_remove(&last).unwrap_or_else(|| panic!("no {pointer}"))
        }
        other => panic!("{other} has no children"),
    }
}
