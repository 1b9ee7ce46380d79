//! Random documents agree with serde_json, another reader of the same grammar.

use proptest::prelude::*;
use serde_json::Value;

use super::compact;
use crate::{JsonPath, Node, Tape, TapeBuilder};

fn documents() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter_map("finite", |x| serde_json::Number::from_f64(x).map(Value::Number)),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?"
            .prop_map(|digits| serde_json::from_str(&digits).expect("a number")),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number,
        "\\PC{0,12}".prop_map(Value::String),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            prop::collection::vec((prop_oneof!["[a-d]{0,2}", any::<String>()], inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn to_serde(node: Node<'_>) -> Value {
    match node.kind() {
        crate::Kind::Array => Value::Array(node.children().map(to_serde).collect()),
        crate::Kind::Object => Value::Object(
            node.children().map(|c| (c.field().unwrap().into_owned(), to_serde(c))).collect(),
        ),
        crate::Kind::String => Value::String(node.as_str().unwrap().into_owned()),
        crate::Kind::Number => serde_json::from_str(node.as_number().unwrap()).unwrap(),
        literal => serde_json::from_str(literal.literal()).unwrap(),
    }
}

fn from_serde(value: &Value, builder: &mut TapeBuilder) {
    match value {
        Value::Null => builder.null(),
        Value::Bool(value) => builder.bool(*value),
        Value::Number(number) => builder.copy(Tape::parse(number.to_string()).unwrap().root()),
        Value::String(string) => builder.string(string),
        Value::Array(items) => builder.array(|b| items.iter().for_each(|item| from_serde(item, b))),
        Value::Object(fields) => builder.object(|b| {
            fields.iter().for_each(|(name, value)| from_serde(value, b.field(name)));
        }),
    };
}

/// Texts of documents whose objects name fields again and again.
fn texts_with_duplicates() -> impl Strategy<Value = String> {
    "[0-9]".prop_recursive(6, 80, 6, |inner| {
        let fields = prop::collection::vec(("[ab]", inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            fields.prop_map(|fields| {
                let field = |(name, value)| format!("\"{name}\":{value}");
                format!("{{{}}}", fields.into_iter().map(field).collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Text to tape to text, compact, pretty and through serde_json, is always the same document.
    #[test]
    fn documents_survive(value in documents()) {
        let text = serde_json::to_string(&value).unwrap();
        let tape = Tape::parse(&text).unwrap();
        prop_assert_eq!(tape.check(), Ok(()));
        prop_assert_eq!(&to_serde(tape.root()), &value);
        prop_assert_eq!(&serde_json::from_str::<Value>(&tape.to_json()).unwrap(), &value);
        prop_assert_eq!(&Tape::parse(serde_json::to_string_pretty(&value).unwrap()).unwrap(), &tape);
        prop_assert_eq!(&Tape::parse(tape.pretty()).unwrap(), &tape);
        let mut builder = TapeBuilder::new();
        from_serde(&value, &mut builder);
        prop_assert_eq!(&builder.finish(), &tape);
    }

    /// Where fields are named twice both readers keep the last value at the place of the first.
    #[test]
    fn duplicates_agree(text in texts_with_duplicates()) {
        let theirs: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(compact(&text).unwrap(), serde_json::to_string(&theirs).unwrap());
    }

    /// Every node is found again by its path, by the text of its path, and by its pointer.
    #[test]
    fn paths_lead_back(value in documents()) {
        let tape = Tape::parse(value.to_string()).unwrap();
        for index in 0..tape.len() {
            let node = tape.node(index).unwrap();
            let path = JsonPath::of(node);
            prop_assert_eq!(path.find(&tape).map(Node::index), Some(index));
            prop_assert_eq!(&JsonPath::parse(&path.to_string()).unwrap(), &path);
            let pointer = JsonPath::pointer(&path.to_pointer()).unwrap();
            prop_assert_eq!(pointer.find(&tape).map(Node::index), Some(index));
            prop_assert_eq!(node.parent().map(Node::index), tape.parent(index));
            prop_assert_eq!(Tape::parse(node.to_json()).unwrap(), node.to_tape());
        }
    }

    /// Text of any characters is taken by both readers or by neither.
    #[test]
    fn acceptance_agrees(text in "[\\[\\]{}\",:0-9eE.tfn\\\\ub \\-a-z]{0,12}") {
        // Infinite numbers and lone surrogates are where readers differ by design.
        let theirs = serde_json::from_str::<Value>(&text);
        prop_assert_eq!(compact(&text).is_ok(), theirs.is_ok(), "{}", text);
    }
}
