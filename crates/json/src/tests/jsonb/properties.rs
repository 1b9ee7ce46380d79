//! Random values against a naive model: a tree of boxes whose functions are as plain as their
//! definitions.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use numeric::Numeric;
use proptest::prelude::*;

use super::super::{Dice, seed};
use crate::jsonb::pathlang::{Options, Path};
use crate::jsonb::{self, Jsonb, JsonbError, JsonbRef};
use crate::{Kind, Limits, Step, Tape, TapeBuilder, parse_slice, text, written};

/// A value as it is written: names may repeat, numbers are texts.
#[derive(Clone, Debug)]
enum Model {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Model>),
    Object(Vec<(String, Model)>),
}

use Model::{Array, Bool, Null, Number, Object};

fn models() -> impl Strategy<Value = Model> {
    let number = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (-20i32..20).prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,45})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?",
        "-?[1-9](\\.[0-9]{1,3})?e-?[0-9]{1,3}",
    ];
    let leaf = prop_oneof![
        Just(Null),
        any::<bool>().prop_map(Bool),
        number.prop_map(Number),
        "[a-c]{0,2}".prop_map(Model::String),
        "[^\\x00]{0,12}".prop_map(Model::String),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        let name = prop_oneof![3 => "[a-c]{0,2}", 1 => "[^\\x00]{0,300}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Array),
            prop::collection::vec((name, inner), 0..8).prop_map(Object),
        ]
    })
}

impl Model {
    /// A text of the value, with spaces and escapes here and there.
    fn write(&self, dice: &mut Dice, out: &mut String) {
        let space = ["", " ", "\n\t"][dice.below(3)];
        out.push_str(space);
        match self {
            Null => out.push_str("null"),
            Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Number(digits) => out.push_str(digits),
            Model::String(string) => write_string(string, dice, out),
            Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    element.write(dice, out);
                }
                out.push(']');
            }
            Object(fields) => {
                out.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    write_string(name, dice, out);
                    out.push_str(" :");
                    value.write(dice, out);
                }
                out.push('}');
            }
        }
        out.push_str(space);
    }

    /// Fields sorted, the last of equal names only, numbers as `numeric` prints them.
    fn settled(&self) -> Model {
        match self {
            Number(digits) => Number(digits.parse::<Numeric>().unwrap().to_string()),
            Array(elements) => Array(elements.iter().map(Model::settled).collect()),
            Object(fields) => {
                let mut settled: Vec<(String, Model)> = Vec::new();
                for (name, value) in fields {
                    settled.retain(|(other, _)| other != name);
                    settled.push((name.clone(), value.settled()));
                }
                settled.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
                Object(settled)
            }
            other => other.clone(),
        }
    }

    /// The text that PostgreSQL prints for a settled value.
    fn printed(&self) -> String {
        let joined = |parts: Vec<String>| parts.join(", ");
        match self {
            Null => "null".into(),
            Bool(value) => value.to_string(),
            Number(digits) => digits.clone(),
            Model::String(string) => text::quote(string),
            Array(elements) => {
                format!("[{}]", joined(elements.iter().map(Self::printed).collect()))
            }
            Object(fields) => {
                let field = |(name, value): &(String, Model)| {
                    format!("{}: {}", text::quote(name), value.printed())
                };
                format!("{{{}}}", joined(fields.iter().map(field).collect()))
            }
        }
    }

    fn class(&self) -> u8 {
        match self {
            Null => 0,
            Model::String(_) => 1,
            Number(_) => 2,
            Bool(_) => 3,
            Array(_) => 4,
            Object(_) => 5,
        }
    }

    /// The order of two settled values inside others.
    fn order(&self, other: &Model) -> Ordering {
        match (self, other) {
            (Bool(a), Bool(b)) => a.cmp(b),
            (Number(a), Number(b)) => number(a).cmp(&number(b)),
            (Model::String(a), Model::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Array(a), Array(b)) => a.len().cmp(&b.len()).then_with(|| {
                let orders = a.iter().zip(b).map(|(a, b)| a.order(b));
                orders.fold(Ordering::Equal, Ordering::then)
            }),
            (Object(a), Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let pairs = a.iter().zip(b);
                let orders = pairs.map(|((an, a), (bn, b))| an.cmp(bn).then_with(|| a.order(b)));
                orders.fold(Ordering::Equal, Ordering::then)
            }),
            _ => self.class().cmp(&other.class()),
        }
    }

    /// The order of two settled values at the top.
    fn order_at_top(&self, other: &Model) -> Ordering {
        let empty = |model: &Model| matches!(model, Array(elements) if elements.is_empty());
        match (empty(self), empty(other)) {
            (false, false) => self.order(other),
            (left, right) => right.cmp(&left),
        }
    }

    /// Containment of settled values inside others.
    fn contains(&self, part: &Model) -> bool {
        match (self, part) {
            (Object(whole), Object(part)) => part.iter().all(|(name, part)| {
                whole.iter().any(|(other, value)| other == name && value.contains(part))
            }),
            (Array(whole), Array(part)) => {
                part.iter().all(|part| whole.iter().any(|value| value.contains(part)))
            }
            _ => self.order(part).is_eq() && self.class() < 4,
        }
    }

    fn get(&self, step: &str) -> Option<&Model> {
        match self {
            Object(fields) => Some(&fields.iter().find(|(name, _)| name == step)?.1),
            Array(elements) => {
                let position: i64 = step.parse().ok()?;
                let len = elements.len() as i64;
                elements.get(
                    usize::try_from(if position < 0 { position + len } else { position }).ok()?,
                )
            }
            _ => None,
        }
    }
}

fn number(digits: &str) -> Numeric {
    digits.parse().unwrap()
}

fn write_string(string: &str, dice: &mut Dice, out: &mut String) {
    out.push('"');
    for c in string.chars() {
        if dice.below(4) == 0 {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| *out += &format!("\\u{unit:04X}"));
        } else {
            *out += &text::escape(c.encode_utf8(&mut [0; 4]));
        }
    }
    out.push('"');
}

fn written_with(model: &Model, dice: u64) -> String {
    let mut out = String::new();
    model.write(&mut Dice(dice), &mut out);
    out
}

fn value(model: &Model) -> Jsonb {
    written_with(model, 1).parse().unwrap()
}

fn key(value: &Jsonb) -> Vec<u8> {
    let mut key = Vec::new();
    value.root().write_key(&mut key);
    key
}

fn hash(value: &Jsonb) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The paths of all scalars.
fn scalars(value: JsonbRef<'_>, path: &mut Vec<Step>, out: &mut Vec<Vec<Step>>) {
    let mut child = |step, value| {
        path.push(step);
        scalars(value, path, out);
        path.pop();
    };
    match value.value() {
        jsonb::Value::Array(array) => {
            array.iter().enumerate().for_each(|(at, value)| child(Step::Index(at), value));
        }
        jsonb::Value::Object(object) => {
            object.iter().for_each(|(name, value)| child(Step::Field(name.to_owned()), value));
        }
        _ => out.push(path.clone()),
    }
}

fn scalar() -> impl Strategy<Value = (Kind, String)> {
    let strings = prop_oneof![3 => "[a-c]{0,3}", 1 => "[a-c]{200,300}"];
    prop_oneof![
        4 => strings.prop_map(|text| (Kind::String, text)),
        4 => "-?[1-9][0-9]{0,20}(\\.[0-9]{1,3})?".prop_map(|text| (Kind::Number, text)),
        1 => prop::sample::select(vec![Kind::Null, Kind::True, Kind::False])
            .prop_map(|kind| (kind, String::new())),
    ]
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// A text becomes what the model says, the same bytes however it was written, and these bytes
    /// are good. The grammar that words errors takes the same texts.
    #[test]
    fn texts_become_what_the_model_says(model in models(), one in any::<u64>(), two in any::<u64>()) {
        let (text, other) = (written_with(&model, one), written_with(&model, two));
        let value: Jsonb = text.parse().unwrap();
        assert_eq!(value.to_string(), model.settled().printed());
        assert_eq!(other.parse::<Jsonb>().unwrap().bytes(), value.bytes());
        let decoded = Jsonb::decode(value.bytes()).unwrap();
        assert_eq!(decoded.bytes(), value.bytes());
        assert_eq!(value.to_string().parse::<Jsonb>().unwrap().bytes(), value.bytes());
        assert_eq!(value.root().pretty().unwrap().parse::<Jsonb>().unwrap().bytes(), value.bytes());
        assert_eq!(written::check_escapes(&text), Ok(()));
    }

    /// Among many others a value has the bytes that it has alone, although containers are folded then.
    #[test]
    fn folded_values_have_the_same_bytes(model in models(), dice in any::<u64>()) {
        let text = written_with(&model, dice);
        let alone: Jsonb = text.parse().unwrap();
        let many: Jsonb = format!("[{}, [{text}]]", [text.as_str(); 20].join(",")).parse().unwrap();
        let elements = Vec::from_iter((0..20).filter_map(|at| many.root().element(at)));
        assert!(elements.len() == 20 && elements.iter().all(|one| one.bytes() == alone.bytes()));
        let last = many.root().element(20).and_then(|last| last.element(0)).unwrap();
        assert_eq!(last.bytes(), alone.bytes());
        assert_eq!(Jsonb::decode(many.bytes()).unwrap().bytes(), many.bytes());
    }

    /// The tokens of a value make the tape of its text.
    #[test]
    fn tokens_are_those_of_the_text(model in models()) {
        let value = value(&model);
        let mut tape = TapeBuilder::new();
        assert_eq!(value.root().feed(&mut tape), Ok(()));
        assert_eq!(tape.finish(), Tape::parse(value.to_string()).unwrap());
    }

    /// Texts that are cut or changed are refused by the parser and by the grammar that words the
    /// refusal, or taken by both.
    /// A text that is written without the value is the value's; only what has never been `jsonb`, or has
    /// escapes, needs one.
    #[test]
    fn direct_texts(model in models(), dice in any::<u64>()) {
        let direct = |text: &str| {
            let mut sink = jsonb::DirectText::with_capacity(0);
            parse_slice(text.as_bytes(), &Limits::default(), &mut sink).ok()?;
            sink.finish()
        };
        let text = written_with(&model, dice);
        let value = text.parse::<Jsonb>().unwrap().to_string();
        if let Some(text) = direct(&text) {
            assert_eq!(text, value);
        }
        if !value.contains('\\') {
            assert_eq!(direct(&value), Some(value));
        }
    }

    #[test]
    fn refusals_have_words(model in models(), dice in any::<u64>(), at in any::<prop::sample::Index>(), c in "[\\x01-~é]") {
        let text = written_with(&model, dice);
        let at = text.char_indices().map(|(at, _)| at).nth(at.index(text.chars().count())).unwrap();
        for damaged in [text[..at].to_owned(), format!("{}{c}{}", &text[..at], &text[at..])] {
            let is_text = written::check_escapes(&damaged).is_ok();
            match damaged.parse::<Jsonb>() {
                Ok(_) => assert!(is_text, "{damaged}"),
                Err(JsonbError::Syntax(_)) => assert!(!is_text, "{damaged}"),
                // A number that `numeric` does not have is an error before those that come after
                // it.
                Err(_) => {}
            }
        }
    }

    /// Comparison, equality, hash and key agree with the model, and with each other.
    #[test]
    fn order_is_the_models(a in models(), b in models()) {
        let order = a.settled().order_at_top(&b.settled());
        let (a, b) = (value(&a), value(&b));
        assert_eq!(a.cmp(&b), order);
        assert_eq!(a == b, order.is_eq());
        assert_eq!(key(&a).cmp(&key(&b)), order);
        if order.is_eq() {
            assert_eq!(hash(&a), hash(&b));
        } else {
            assert!(!key(&a).starts_with(&key(&b)) && !key(&b).starts_with(&key(&a)));
        }
    }

    /// Scalars that are replaced give what they give when each is set by its path; where that is not
    /// done nothing is. It is always done where lengths stay the same.
    #[test]
    fn scalars_are_replaced(
        model in models(),
        new in prop::collection::vec((any::<prop::sample::Index>(), scalar()), 1..4),
    ) {
        let mut expected = value(&model);
        let mut paths = Vec::new();
        scalars(expected.root(), &mut Vec::new(), &mut paths);
        let mut replacing = expected.replacing();
        for (at, (kind, text)) in new.iter().filter(|_| !paths.is_empty()) {
            let path = at.get(&paths);
            let written = match kind {
                Kind::String => format!("\"{text}\""),
                Kind::Number => text.clone(),
                kind => kind.literal().to_owned(),
            };
            let new: Jsonb = written.parse().unwrap();
            let texts = Vec::from_iter(path.iter().map(|step| match step {
                Step::Field(name) | Step::Either(name) => name.clone(),
                Step::Index(at) => at.to_string(),
            }));
            let texts = Vec::from_iter(texts.iter().map(|text| Some(text.as_str())));
            let set = match path.is_empty() {
                true => new,
                false => expected.root().set(&texts, new.root(), false).unwrap(),
            };
            let is_replaced = replacing.set(path, *kind, text.as_bytes());
            assert!(is_replaced || set.bytes().len() != expected.bytes().len(), "{path:?} {text}");
            if is_replaced {
                expected = set;
            }
        }
        assert_eq!(replacing.finish().bytes(), expected.bytes());
    }

    /// Numbers compare by value in every form that they have.
    #[test]
    fn numbers_are_ordered(a in "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?(e-?[0-9]{1,3})?", zeros in 0usize..40) {
        let longer = |digits: &str| match digits.split_once('e') {
            Some((mantissa, exponent)) => (mantissa.to_owned(), format!("e{exponent}")),
            None => (digits.to_owned(), String::new()),
        };
        let (mut mantissa, exponent) = longer(&a);
        if !mantissa.contains('.') {
            mantissa.push('.');
        }
        let same = format!("{mantissa}0{}{exponent}", "0".repeat(zeros));
        let next = format!("{mantissa}0{}1{exponent}", "0".repeat(zeros));
        let order = if a.starts_with('-') { Ordering::Greater } else { Ordering::Less };
        let values = [&a, &same, &next].map(|digits| digits.parse::<Jsonb>().unwrap());
        assert_eq!(&values[0], &values[1]);
        assert_eq!(key(&values[0]), key(&values[1]));
        assert_eq!(hash(&values[0]), hash(&values[1]));
        assert_eq!(values[1].cmp(&values[2]), order);
        assert_eq!(key(&values[1]).cmp(&key(&values[2])), order);
        assert_eq!(values[2].root().as_number().unwrap().to_numeric().to_string(), values[2].to_string());
        assert_eq!(Jsonb::number(&number(&next)).bytes(), values[2].bytes());
    }

    /// Containment is the model's: of anything, and of a value in itself.
    #[test]
    fn containment_is_the_models(whole in models(), part in models()) {
        let (whole, part) = (whole.settled(), part.settled());
        let as_element = match (&whole, &part) {
            (Array(elements), scalar) if scalar.class() < 4 => elements.iter().any(|e| e.contains(scalar)),
            _ => whole.contains(&part),
        };
        let (whole, part) = (value(&whole), value(&part));
        assert_eq!(whole.root().contains(part.root()), Ok(as_element));
        assert_eq!(whole.root().contains(whole.root()), Ok(true));
    }

    /// Paths lead where the model's lead, and what is set at one is found there.
    #[test]
    fn paths_lead_where_the_model_says(model in models(), steps in prop::collection::vec("[a-c]{0,2}|-?[0-3]", 1..4)) {
        let model = model.settled();
        let expected = steps.iter().try_fold(&model, |model, step| model.get(step));
        let value = value(&model);
        let path = || steps.iter().map(String::as_str);
        let found = value.root().path(path());
        assert_eq!(found.map(JsonbRef::to_json), expected.map(Model::printed));
        let text = written_with(&model, 7);
        let written_path = Vec::from_iter(path().map(written::Path::either));
        let found = written::get_path(&text, &written_path).unwrap();
        assert_eq!(found.map(|found| found.json().parse::<Jsonb>().unwrap()), expected.map(|m| m.printed().parse().unwrap()));
        let new = Jsonb::int(4711);
        let nullable = Vec::from_iter(path().map(Some));
        if let Ok(set) = value.root().set(&nullable, new.root(), false) {
            assert_eq!(Jsonb::decode(set.bytes()).unwrap().bytes(), set.bytes());
            match expected {
                Some(_) => assert_eq!(set.root().path(path()), Some(new.root())),
                None => assert_eq!(set.bytes(), value.bytes()),
            }
        }
        if expected.is_some() {
            let deleted = value.root().delete_path(&nullable).unwrap();
            assert!(deleted.bytes().len() < value.bytes().len());
            assert_eq!(Jsonb::decode(deleted.bytes()).unwrap().bytes(), deleted.bytes());
        }
    }

    /// A concatenation of objects has the fields of both, one of arrays the elements of both.
    #[test]
    fn concatenation_is_the_models(a in models(), b in models()) {
        let joined = match (&a, &b) {
            (Object(a), Object(b)) => Object([&a[..], &b[..]].concat()),
            _ => {
                let elements = |model: &Model| match model {
                    Array(elements) => elements.clone(),
                    other => vec![other.clone()],
                };
                Array([elements(&a), elements(&b)].concat())
            }
        };
        let both = value(&a).root().concat(value(&b).root()).unwrap();
        assert_eq!(both.bytes(), value(&joined).bytes());
    }

    /// Nothing that is written as a path makes the reader panic, and what reads also prints and
    /// runs.
    #[test]
    fn random_paths_do_no_harm(path in "((\\$|@|last|[0-9.]{1,3}|\"a\"|\\$v)(\\.[a-z*]{1,8}|\\[[0-9*]\\]|\\.\\*\\*|\\(\\)|\\?\\()?[ ]?(==|&&|\\|\\||\\+|-|/|\\)| starts with | like_regex | is unknown|!)?[ ]?){0,5}", model in models()) {
        if let Ok(path) = Path::parse(&path) {
            assert_eq!(path.to_string().parse(), Ok(path.clone()));
            let value = value(&model);
            let _ = path.query_array(value.root(), Options::default());
            let _ = path.exists(value.root(), Options { silent: true, ..Options::default() });
        }
    }
}

/// Damage is found, or the bytes are another value in its one form; and bytes that nobody looked at
/// give nonsense, but no panic.
#[test]
fn damaged_bytes_do_no_harm() {
    let text = r#"{"a": [1, 2.50, "x", {"b": null, "c": [true, false, {}]}], "bb": "text", "e": 1e300,
        "long": "01234567890123456789", "n": -12345678901234567890.5}"#;
    let mut wide = format!("[{text}");
    (0..300).for_each(|n| wide += &format!(", {n}"));
    wide += "]";
    let mut dice = Dice(seed());
    for (text, runs) in [(text.to_owned(), 30_000), (wide, 5_000)] {
        let good: Jsonb = text.parse().unwrap();
        let (mut found, mut other) = (0, 0);
        for _ in 0..runs {
            let mut bytes = good.bytes().to_vec();
            for _ in 0..=dice.below(2) {
                let at = dice.below(bytes.len());
                match dice.below(4) {
                    0 => bytes[at] = dice.next() as u8,
                    1 => bytes[at] ^= 1 << dice.below(8),
                    2 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, dice.next() as u8),
                }
            }
            match Jsonb::decode(&bytes) {
                Err(error) => {
                    assert_eq!(error.sqlstate(), "XX001");
                    found += 1;
                }
                Ok(value) => {
                    let again: Jsonb = value.to_string().parse().unwrap();
                    assert_eq!(again.bytes(), bytes, "{value}");
                    other += 1;
                }
            }
            let unchecked = JsonbRef::new(&bytes);
            let _ = (unchecked.to_json(), unchecked.cmp(&good.root()), unchecked.type_name());
            let _ = (unchecked.field("a"), unchecked.path(["a", "3", "c"]), unchecked.exists("bb"));
            unchecked.write_key(&mut Vec::new());
        }
        assert!(found > runs / 3 && other > runs / 300, "{found} {other}");
    }
    for bytes in
        [&[][..], &[0x07], &[0x0b], &[0x08], &[0x0c], &[0x0a, 255, 255, 255, 255], &[0x04, 0]]
    {
        assert!(Jsonb::decode(bytes).is_err(), "{bytes:?}");
    }
}

/// The form is as small as its picture says, and stays so: it is what lies on disks.
#[test]
fn the_form_is_pinned() {
    for (text, bytes) in [
        ("null", "00"),
        ("[]", "08 00"),
        ("{}", "0c 00"),
        ("\"hi\"", "03 68 69"),
        ("0", "04"),
        ("7", "04 07"),
        ("-129", "04 7f ff"),
        ("1e2", "04 64"),
        ("1.10", "05 02 6e"),
        ("0.00", "05 02"),
        ("1e300", "06 00 00 2d 01 00 00 0a"),
        ("-1e-300", "06 2c 81 d5 fe ff ff 0a"),
        (
            "{\"b\": [1, true], \"a\": \"hi\"}",
            "0c 02 01 02 05 0c 61 62 03 68 69 08 02 02 03 04 01 02",
        ),
    ] {
        let value: Jsonb = text.parse().unwrap();
        let found = Vec::from_iter(value.bytes().iter().map(|byte| format!("{byte:02x}")));
        assert_eq!(found.join(" "), bytes, "{text}");
    }
    let wide: Jsonb = format!("[{}1]", "1,".repeat(299)).parse().unwrap();
    assert_eq!((wide.bytes()[0], wide.bytes().len()), (0x09, 1 + 2 + 2 * 300 + 2 * 300));
    let huge: Jsonb = format!("[\"{}\"]", "x".repeat(70_000)).parse().unwrap();
    assert_eq!((huge.bytes()[0], huge.bytes().len()), (0x0a, 1 + 4 + 4 + 1 + 70_000));
}

/// A short text that stands for long numbers takes little memory.
#[test]
fn long_numbers_are_small() {
    let text = format!("[{}0]", "1e131071,".repeat(10_000));
    let value: Jsonb = text.parse().unwrap();
    assert!(value.bytes().len() < 2 * text.len());
    assert_eq!(value, value.root().to_jsonb());
    assert_eq!(value.root().element(0).unwrap().to_json().len(), 131_072);
}

/// A scalar is replaced; not replaced are containers, missing members, and a scalar whose table must
/// become wider.
#[test]
fn a_scalar_is_replaced_where_it_stands() {
    let value: Jsonb = r#"{"a": "hi", "b": [1, true]}"#.parse().unwrap();
    let path = |text: &str| crate::JsonPath::parse(text).unwrap().steps;
    let mut replacing = value.replacing();
    assert!(replacing.set(&path("$.a"), Kind::String, b"hey \\\"you\\\""));
    assert!(replacing.set(&path("$.b[1]"), Kind::Number, b"-1234.50"));
    assert!(replacing.set(&path("$.b[0]"), Kind::Null, b""));
    for refused in ["$", "$.b", "$.c", "$.b[2]", "$.a.b", "$.b.a"] {
        assert!(!replacing.set(&path(refused), Kind::Number, b"7"), "{refused}");
    }
    assert!(!replacing.set(&path("$.a"), Kind::Array, b""));
    assert!(!replacing.set(&path("$.a"), Kind::String, b"a NUL: \\u0000"));
    assert!(!replacing.set(&path("$.a"), Kind::String, &[b'x'; 300]));
    let value = replacing.finish();
    assert_eq!(value.to_string(), r#"{"a": "hey \"you\"", "b": [null, -1234.50]}"#);
    assert_eq!(Jsonb::decode(value.bytes()).unwrap(), value);
}
