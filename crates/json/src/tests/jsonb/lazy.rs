//! Lazy values: the same answers and the same errors as the whole value gives, and no whole value where none is needed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::super::{Dice, seed};
use crate::jsonb::lazy::{Action, Node, Source, SourceError, Step, Unknown};
use crate::jsonb::{Jsonb, JsonbError, JsonbRef, Subscript, Value, assign};

/// Counts how often the whole value is made.
#[derive(Default)]
struct Made(AtomicUsize);

/// A source whose nodes are the values inside a value.
pub(super) struct Nodes {
    known: Mutex<Vec<Jsonb>>,
    made: Arc<Made>,
}

impl Nodes {
    /// A lazy value that is equal to `value`.
    pub(super) fn lazy(value: &Jsonb) -> Jsonb {
        Nodes::counting(value).0
    }

    fn counting(value: &Jsonb) -> (Jsonb, Arc<Made>) {
        let made = Arc::new(Made::default());
        let nodes = Nodes { known: Mutex::new(vec![value.clone()]), made: Arc::clone(&made) };
        (Jsonb::lazy(Arc::new(nodes), None), made)
    }

    fn known(&self, number: u64) -> Jsonb {
        self.known.lock().unwrap()[number as usize].clone()
    }
}

fn node(number: usize, value: JsonbRef<'_>) -> Node {
    let len = match value.value() {
        Value::Array(array) => array.len(),
        Value::Object(object) => object.len(),
        _ => 0,
    };
    Node { number: number as u64, kind: value.kind(), len }
}

impl Source for Nodes {
    fn root(&self) -> Node {
        node(0, self.known(0).root())
    }

    fn child(&self, of: Node, step: Step<'_>) -> Result<Option<Node>, Unknown> {
        let parent = self.known(of.number);
        let child = match step {
            Step::Name(name) => parent.root().as_object().and_then(|object| object.get(name)),
            Step::Position(at) => parent.root().as_array().and_then(|array| array.get(at)),
        };
        Ok(child.map(|child| {
            let mut known = self.known.lock().unwrap();
            let known_as = known.iter().position(|value| value.bytes() == child.bytes());
            let number = known_as.unwrap_or(known.len());
            if number == known.len() {
                known.push(child.to_jsonb());
            }
            node(number, child)
        }))
    }

    fn value(&self, of: Node) -> Result<Jsonb, Unknown> {
        Ok(self.known(of.number))
    }

    fn whole(&self) -> Result<Jsonb, SourceError> {
        self.made.0.fetch_add(1, Ordering::Relaxed);
        Ok(self.known(0))
    }

    fn held_bytes(&self) -> usize {
        100
    }
}

const DOCUMENT: &str =
    r#"{"a": 1, "b": {"c": [10, {"d": "x"}, 30], "e": null}, "f": "text", "g": [], "h": {}}"#;

fn document() -> (Jsonb, Arc<Made>) {
    Nodes::counting(&DOCUMENT.parse().unwrap())
}

fn value(text: &str) -> Jsonb {
    text.parse().unwrap()
}

/// A statement that reads fields, or changes one, is what lazy values are for.
#[test]
fn fields_are_read_and_changed_without_the_whole() {
    let (lazy, made) = document();
    let root = lazy.root();
    assert_eq!(root.field("f").unwrap().to_string(), r#""text""#);
    assert_eq!(root.path(["b", "c", "-2", "d"]).unwrap().to_string(), r#""x""#);
    assert!(root.path(["b", "zz"]).is_none() && root.exists("a") && !root.exists("zz"));
    assert!(root.contains(value(r#"{"b": {"c": [30]}, "a": 1}"#).root()).unwrap());
    assert_eq!(root.type_name(), "object");

    let (five, x) = (value("5"), value(r#"{"i": 1}"#));
    let changed = root.set(&[Some("b"), Some("c"), Some("1"), Some("d")], five.root(), true);
    let changed = changed.unwrap().root().concat(x.root()).unwrap();
    let changed = changed.root().delete_names(["f", "f", "zz"]).unwrap();
    let changed = changed.root().delete_path(&[Some("b"), Some("e")]).unwrap();
    assert_eq!(changed.root().path(["b", "c", "1", "d"]).unwrap().to_string(), "5");
    assert_eq!(changed.root().field("i").unwrap().to_string(), "1");
    assert!(!changed.root().exists("f"));
    let changes = changed.changes_of(&lazy).unwrap();
    assert_eq!(changes.len(), 4, "{changes:?}");
    assert_eq!(made.0.load(Ordering::Relaxed), 0);

    let again = assign(Some(root), &[Some(Subscript::Name("a"))], value("1").root()).unwrap();
    assert!(again.changes_of(&lazy).unwrap().is_empty(), "the value that is there is no change");
    assert!(lazy.clone().changes_of(&lazy).unwrap().is_empty());
    assert!(
        (100..1_000).contains(&lazy.held_bytes()),
        "the nodes count, and nothing is made to count them"
    );
}

/// A change of a change takes its place, and one that takes it back leaves none.
#[test]
fn a_place_that_is_changed_twice_has_one_change() {
    let (lazy, made) = document();
    let set = |of: &Jsonb, text: &str| of.root().set(&[Some("a")], value(text).root(), true);
    let two = set(&lazy, "2").unwrap();
    let three = set(&two, "3").unwrap();
    assert_eq!(three.root().field("a").unwrap().to_string(), "3");
    let [change] = three.changes_of(&lazy).unwrap() else { panic!("one change") };
    let Action::Set { old: Some(old), value, .. } = change.action() else { panic!("{change:?}") };
    assert_eq!((old.to_string(), value.to_string()), ("1".to_owned(), "3".to_owned()));
    assert!(set(&three, "1").unwrap().changes_of(&lazy).unwrap().is_empty());
    assert_eq!(made.0.load(Ordering::Relaxed), 0);
    assert!(three.changes_of(&two).is_none(), "two has changes of its own");
}

/// The element behind one that goes has its place: a second change among them is made on the whole value.
#[test]
fn elements_that_move_are_not_taken_for_others() {
    let (lazy, _) = document();
    let path = [Some("b"), Some("c"), Some("0")];
    let once = lazy.root().delete_path(&path).unwrap();
    assert_eq!(once.changes_of(&lazy).unwrap().len(), 1);
    assert_eq!(once.root().path(["b", "c", "0", "d"]).unwrap().to_string(), r#""x""#);
    let twice = once.root().delete_path(&path).unwrap();
    assert!(twice.changes_of(&lazy).is_none());
    assert_eq!(twice.root().path(["b", "c"]).unwrap().to_string(), "[30]");
    let set = lazy.root().set(&[Some("b"), Some("c"), Some("2")], value("31").root(), true);
    let set = set.unwrap().root().delete_path(&path).unwrap();
    assert_eq!(set.root().path(["b", "c"]).unwrap().to_string(), r#"[{"d": "x"}, 31]"#);
}

/// Fields of the root are changed together when the whole is made, however many: in one copy, not one for each.
#[test]
fn many_fields_are_one_change_of_the_whole() {
    let whole = value(DOCUMENT);
    let many: Vec<String> = (0..20).map(|n| format!(r#""a{n}": {n}"#)).collect();
    let many = value(&format!("{{{}, \"f\": 1}}", many.join(", ")));
    let change = |of: &Jsonb| {
        let changed = of.root().concat(many.root()).unwrap();
        let changed = changed.root().delete_names(["a", "h"]).unwrap();
        changed.root().set(&[Some("b"), Some("e")], value("7").root(), true).unwrap()
    };
    let lazy = change(&Nodes::lazy(&whole));
    assert_eq!(lazy.bytes(), change(&whole).bytes());
    let more: Vec<String> = (0..100).map(|n| format!(r#""a{n}": {n}"#)).collect();
    let more = value(&format!("{{{}}}", more.join(", ")));
    let first = Nodes::lazy(&whole);
    let changed = first.root().concat(more.root()).unwrap();
    assert!(changed.changes_of(&first).is_none(), "so many are merged into the whole");
    assert_eq!(changed.bytes(), whole.root().concat(more.root()).unwrap().bytes());
}

/// A statement that is told to stop while it makes the whole value ends with its own error, not with a panic here.
#[test]
fn the_whole_is_made_also_by_a_statement_that_is_told_to_stop() {
    let large = value(&format!("[{}1]", "1, ".repeat(100_000)));
    let lazy = Nodes::lazy(&large);
    let lazy = lazy.root().set(&[Some("7")], value("8").root(), true).unwrap();
    let told = std::sync::atomic::AtomicBool::new(true);
    let made = interrupt::during(&told, || lazy.bytes().len());
    assert!(made > 100_000);
}

/// A source that cannot be read.
struct Broken(Nodes);

impl Source for Broken {
    fn root(&self) -> Node {
        self.0.root()
    }

    fn child(&self, _: Node, _: Step<'_>) -> Result<Option<Node>, Unknown> {
        Err(Unknown)
    }

    fn value(&self, _: Node) -> Result<Jsonb, Unknown> {
        Err(Unknown)
    }

    fn whole(&self) -> Result<Jsonb, SourceError> {
        let error = JsonbError::Damaged("a node outside of its parent");
        Err(SourceError::new(error.sqlstate(), error))
    }

    fn held_bytes(&self) -> usize {
        100
    }
}

/// A source that cannot be read stops the statement with its own error, and no caller takes another value for it.
#[test]
fn a_source_that_fails_stops_the_statement() {
    let nodes = Nodes { known: Mutex::new(vec![value(DOCUMENT)]), made: Arc::default() };
    let broken = Jsonb::lazy(Arc::new(Broken(nodes)), None);
    let (root, one) = (broken.root(), value("1"));
    let failures: [&dyn Fn() -> bool; 6] = [
        &|| root.field("a").is_some(),
        &|| root.exists("a"),
        &|| broken == one,
        &|| root.to_json().is_empty(),
        &|| root.set(&[Some("a")], one.root(), true).is_ok(),
        &|| broken.bytes().is_empty(),
    ];
    for (number, failure) in failures.iter().enumerate() {
        let thrown = interrupt::catch(failure).expect_err(&format!("number {number}"));
        assert_eq!(thrown.sqlstate(), "XX001");
        assert_eq!(thrown.to_string(), "stored jsonb is damaged: a node outside of its parent");
        let source = std::error::Error::source(&thrown).and_then(|source| source.downcast_ref());
        assert_eq!(source, Some(&JsonbError::Damaged("a node outside of its parent")));
    }
}

/// Changes that might carry a value beyond the limits of `jsonb` are made on the whole, which knows the limits.
#[test]
fn large_changes_are_left_to_the_whole() {
    let (lazy, _) = document();
    let large = value(&format!("\"{}\"", "x".repeat(17 << 20)));
    let changed = lazy.root().set(&[Some("a")], large.root(), true).unwrap();
    assert!(changed.changes_of(&lazy).is_none());
}

/// A part is made once, however often it is asked for.
#[test]
fn a_part_is_made_once() {
    let (lazy, made) = document();
    let held = lazy.held_bytes();
    let part = lazy.root().field("b").unwrap().bytes().as_ptr();
    let once = lazy.held_bytes();
    assert!(once > held);
    for _ in 0..1_000 {
        assert_eq!(lazy.root().field("b").unwrap().bytes().as_ptr(), part);
    }
    assert_eq!((lazy.held_bytes(), made.0.load(Ordering::Relaxed)), (once, 0));
}

/// Steps, positions and names as statements have them, also wrong ones.
const STEPS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "0", "1", "-1", "x"];
const VALUES: [&str; 8] =
    ["1", "2.50", "null", r#""text""#, "[]", r#"{"d": "x"}"#, r#"{"a": 2, "n": [1]}"#, r#"["a"]"#];

fn steps<'s>(dice: &mut Dice) -> Vec<Option<&'s str>> {
    let len = dice.below(4);
    let step = |dice: &mut Dice| match dice.below(40) {
        0 => None,
        _ => Some(STEPS[dice.below(STEPS.len())]),
    };
    (0..len).map(|_| step(dice)).collect()
}

/// Makes one change of both values, the same.
fn change(dice: &mut Dice, of: [&Jsonb; 2]) -> [Result<Jsonb, JsonbError>; 2] {
    let (path, new) = (steps(dice), value(VALUES[dice.below(VALUES.len())]));
    let (name, create) = (STEPS[dice.below(STEPS.len())], dice.below(3) > 0);
    let names = [name, STEPS[dice.below(STEPS.len())]];
    let kind = dice.below(7);
    of.map(|of| match kind {
        0..=2 => of.root().set(&path, new.root(), create),
        3 => of.root().delete_path(&path),
        4 => of.root().concat(new.root()),
        5 => of.root().delete_names(names),
        _ => {
            let subscripts: Vec<_> = path.iter().map(|step| step.map(Subscript::Name)).collect();
            assign(Some(of.root()), &subscripts, new.root())
        }
    })
}

/// A question about a value, asked of both.
fn ask(dice: &mut Dice, of: [&Jsonb; 2]) -> [String; 2] {
    let (path, part) = (steps(dice), value(VALUES[dice.below(VALUES.len())]));
    let path: Vec<&str> = path.into_iter().flatten().collect();
    let (name, position) = (STEPS[dice.below(STEPS.len())], dice.below(5) as i32 - 2);
    let kind = dice.below(6);
    of.map(|of| match kind {
        0 => format!("{:?}", of.root().path(path.iter().copied())),
        1 => format!("{:?}", of.root().field(name)),
        2 => format!("{:?}", of.root().element(position)),
        3 => of.root().exists(name).to_string(),
        4 => of.root().type_name().to_owned(),
        _ => format!("{:?}", of.root().contains(part.root())),
    })
}

/// Histories of changes and questions, of a lazy value and of the whole one.
#[test]
fn lazy_values_are_the_whole_ones() {
    let mut dice = Dice(seed());
    let (mut lazies, mut errors) = (0, 0);
    for _ in 0..20_000 {
        let text = if dice.below(8) == 0 { VALUES[dice.below(VALUES.len())] } else { DOCUMENT };
        let mut whole = value(text);
        let first = Nodes::lazy(&whole);
        let mut lazy = first.clone();
        for _ in 0..1 + dice.below(4) {
            let [asked, expected] = ask(&mut dice, [&lazy, &whole]);
            assert_eq!(asked, expected, "of {whole}");
            match change(&mut dice, [&lazy, &whole]) {
                [Ok(changed), Ok(expected)] => (lazy, whole) = (changed, expected),
                [Err(error), Err(expected)] => {
                    assert_eq!(error, expected, "of {whole}");
                    errors += 1;
                }
                [found, expected] => panic!("{found:?} and {expected:?} of {whole}"),
            }
            lazies +=
                usize::from(lazy.changes_of(&first).is_some_and(|changes| !changes.is_empty()));
        }
        let [asked, expected] = ask(&mut dice, [&lazy, &whole]);
        assert_eq!(asked, expected, "of {whole}");
        assert_eq!(lazy.bytes(), whole.bytes());
    }
    assert!(lazies > 5_000 && errors > 1_000, "{lazies} {errors}");
}
