//! The operators and functions, case by case.

use super::lazy::Nodes;
use super::{Case, cases, check, nullable, refusal, report, rows, text_array};
use crate::jsonb::{
    Jsonb, JsonbError, JsonbRef, NullTreatment, Subscript, assign, build_array, build_object,
    check_pairs, object_of, object_of_two,
};
use crate::text;
use crate::written::{self, Path, Written};

/// Texts become the values that PostgreSQL prints, or are refused in its words.
#[test]
fn texts_are_read_and_written() {
    check(include_str!("values.txt"), |case| settle(value(case)));
}

/// Every operator and function that reads a value.
#[test]
fn values_are_taken_apart() {
    check(include_str!("operators.txt"), |case| settle(read(case, &parsed)));
}

/// The same of lazy values.
#[test]
fn lazy_values_are_taken_apart() {
    check(include_str!("operators.txt"), |case| settle(read(case, &lazy)));
}

/// Every operator and function that makes a new value of an old one.
#[test]
fn values_are_changed() {
    check(include_str!("edits.txt"), |case| settle(edited(case, &parsed)));
}

/// The same of lazy values.
#[test]
fn lazy_values_are_changed() {
    check(include_str!("edits.txt"), |case| settle(edited(case, &lazy)));
}

/// The type json: its texts stay as they are written.
#[test]
fn written_texts_are_read() {
    check(include_str!("written.txt"), |case| settle(of_written(case)));
}

/// Values that PostgreSQL sorted are in that order here, by comparison and by key; equal ones have
/// one hash.
#[test]
fn values_are_in_order() {
    let table = include_str!("order.txt");
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let values: Vec<(usize, Jsonb)> = lines
        .enumerate()
        .flat_map(|(rank, line)| line.split(" | ").map(move |v| (rank, v.parse().unwrap())))
        .collect();
    for (left_rank, left) in &values {
        for (right_rank, right) in &values {
            let order = left_rank.cmp(right_rank);
            assert_eq!(left.cmp(right), order, "{left} and {right}");
            assert_eq!(left == right, order.is_eq(), "{left} and {right}");
            assert_eq!(key(left).cmp(&key(right)), order, "keys of {left} and {right}");
            if order.is_eq() {
                assert_eq!(hash(left), hash(right), "hashes of {left} and {right}");
            }
        }
    }
    assert!(values.len() > 50);
}

fn key(value: &Jsonb) -> Vec<u8> {
    let mut key = Vec::new();
    value.root().write_key(&mut key);
    key
}

fn hash(value: &Jsonb) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The tables are read as they are meant.
#[test]
fn tables_are_understood() {
    let case = cases("# a\n\nx(y) | (empty) | b => c => d").next().unwrap();
    assert_eq!(
        (case.signature, &case.arguments[..], case.result),
        ("x(y)", &["", "b"][..], "c => d")
    );
    let texts = |texts: &[&str]| Vec::from_iter(texts.iter().map(|t| Some((*t).to_owned())));
    assert_eq!(text_array("{}"), (vec![], vec![]));
    assert_eq!(text_array("{a,\"b \\\"c\"}"), (vec![2], texts(&["a", "b \"c"])));
    assert_eq!(text_array("{{a,b},{c,d},{e,f}}").0, [3, 2]);
    assert_eq!(text_array("{NULL}").1, [None]);
}

type Answer = Result<String, JsonbError>;

/// Makes the first argument of a function.
type Make = dyn Fn(&str) -> Result<Jsonb, JsonbError>;

fn parsed(text: &str) -> Result<Jsonb, JsonbError> {
    text.parse()
}

fn lazy(text: &str) -> Result<Jsonb, JsonbError> {
    Ok(Nodes::lazy(&text.parse()?))
}

fn settle(answer: Answer) -> String {
    answer.unwrap_or_else(|error| refusal(&error))
}

fn value(case: &Case<'_>) -> Answer {
    let text = case.arguments[0];
    Ok(match case.signature {
        "jsonb" => text.parse::<Jsonb>()?.to_string(),
        "json" => {
            written::check(text)?;
            text.to_owned()
        }
        "jsonb_pretty(jsonb)" => text.parse::<Jsonb>()?.root().pretty()?,
        other => panic!("{other}?"),
    })
}

/// The elements of an array argument as the functions take them.
fn borrowed(texts: &[Option<String>]) -> Vec<Option<&str>> {
    texts.iter().map(|text| text.as_deref()).collect()
}

fn read(case: &Case<'_>, make: &Make) -> Answer {
    let value = make(case.arguments[0])?;
    let value = value.root();
    let argument = case.arguments.get(1).copied().unwrap_or_default();
    let null = argument == "NULL";
    let position = || argument.parse().expect("an integer");
    let other = || argument.parse::<Jsonb>();
    let texts = case.texts();
    let names = || texts.iter().flatten().map(String::as_str);
    let path = || {
        let path = texts.iter().map(|text| text.as_deref()).collect::<Option<Vec<_>>>()?;
        value.path(path)
    };
    let field = || if null { None } else { value.field(argument) };
    let json = |found: Option<JsonbRef<'_>>| Ok(nullable(found));
    let text = |found: Option<JsonbRef<'_>>| {
        Ok(nullable(found.and_then(|value| value.to_text().unwrap())))
    };
    match case.signature {
        "jsonb -> text" => json(field()),
        "jsonb ->> text" => text(field()),
        "jsonb -> integer" => json(value.element(position())),
        "jsonb ->> integer" => text(value.element(position())),
        "jsonb #> text[]" => json(path()),
        "jsonb #>> text[]" => text(path()),
        "jsonb[text]" | "jsonb[integer]" | "jsonb[text][text]" | "jsonb[text][integer]" => {
            let null = case.arguments.contains(&"NULL");
            json(if null { None } else { value.path(case.arguments[1..].iter().copied()) })
        }
        "jsonb ? text" => Ok(value.exists(argument).to_string()),
        "jsonb ?| text[]" => Ok(value.exists_any(names()).to_string()),
        "jsonb ?& text[]" => Ok(value.exists_all(names()).to_string()),
        "jsonb @> jsonb" => Ok(value.contains(other()?.root())?.to_string()),
        "jsonb <@ jsonb" => Ok(other()?.root().contains(value)?.to_string()),
        "jsonb = jsonb" => Ok((value == other()?.root()).to_string()),
        "jsonb < jsonb" => Ok((value < other()?.root()).to_string()),
        "jsonb_typeof(jsonb)" => Ok(value.type_name().to_owned()),
        "jsonb_array_length(jsonb)" => Ok(value.array_length()?.to_string()),
        "jsonb_object_keys(jsonb)" => Ok(rows(value.names()?.map(str::to_owned))),
        "jsonb_each(jsonb)" => {
            Ok(rows(value.fields("jsonb_each")?.map(|(name, value)| format!("{name}={value}"))))
        }
        "jsonb_each_text(jsonb)" => Ok(rows(
            value
                .fields("jsonb_each_text")?
                .map(|(name, value)| format!("{name}={}", nullable(value.to_text().unwrap()))),
        )),
        "jsonb_array_elements(jsonb)" => Ok(rows(value.elements()?.map(|v| v.to_json()))),
        "jsonb_array_elements_text(jsonb)" => {
            Ok(rows(value.elements()?.map(|v| nullable(v.to_text().unwrap()))))
        }
        "cast(jsonb as boolean)" => Ok(value.to_bool()?.to_string()),
        "cast(jsonb as numeric)" => Ok(value.to_numeric("numeric")?.to_string()),
        other => panic!("{other}?"),
    }
}

fn edited(case: &Case<'_>, make: &Make) -> Answer {
    let arguments = &case.arguments;
    if case.signature.starts_with("update") {
        return subscript_assigned(case, make);
    }
    if case.signature.starts_with("jsonb_object(") {
        let (dimensions, texts) = text_array(arguments[0]);
        return Ok(match arguments.get(1) {
            None => object_of(&dimensions, &borrowed(&texts))?,
            Some(values) => object_of_two(&borrowed(&texts), &borrowed(&text_array(values).1))?,
        }
        .to_string());
    }
    let value = make(arguments[0])?;
    let value = value.root();
    let argument = arguments.get(1).copied().unwrap_or_default();
    let path = case.texts();
    let path = borrowed(&path);
    let new = arguments.get(2).filter(|new| **new != "NULL");
    let new = new.map(|new| new.parse::<Jsonb>()).transpose()?;
    let new_root = || new.as_ref().map(Jsonb::root).unwrap();
    let flag = |default| arguments.get(3).map_or(default, |flag| *flag == "true");
    let result = match case.signature.split('(').next().unwrap() {
        "jsonb || jsonb" => value.concat(argument.parse::<Jsonb>()?.root()),
        "jsonb - text" => value.delete_name(argument),
        "jsonb - text[]" => value.delete_names(path.iter().copied().flatten()),
        "jsonb - integer" => value.delete_element(argument.parse().unwrap()),
        "jsonb #- text[]" => value.delete_path(&path),
        "jsonb_set" => value.set(&path, new_root(), flag(true)),
        "jsonb_set_lax" => {
            let treatment = Some(arguments[4]).filter(|name| *name != "NULL");
            let treatment = NullTreatment::named(treatment)?;
            value.set_lax(&path, new.as_ref().map(Jsonb::root), flag(true), treatment)
        }
        "jsonb_insert" => value.insert(&path, new_root(), flag(false)),
        "jsonb_strip_nulls" => Ok(value.strip_nulls()),
        other => panic!("{other}?"),
    };
    Ok(result?.to_string())
}

/// `update jsonb[text][integer] = jsonb`: the value, a subscript for each bracket, the new value.
fn subscript_assigned(case: &Case<'_>, make: &Make) -> Answer {
    let kinds = case.signature.split(['[', ']']).filter(|part| matches!(*part, "text" | "integer"));
    let subscripts =
        Vec::from_iter(kinds.zip(&case.arguments[1..]).map(|(kind, &text)| match kind {
            _ if text == "NULL" => None,
            "integer" => Some(Subscript::Position(text.parse().unwrap())),
            _ => Some(Subscript::Name(text)),
        }));
    let target = Some(case.arguments[0]).filter(|text| *text != "NULL");
    let target = target.map(make).transpose()?;
    let new = case.arguments.last().filter(|text| **text != "NULL").unwrap_or(&"null");
    let new: Jsonb = new.parse()?;
    Ok(assign(target.as_ref().map(Jsonb::root), &subscripts, new.root())?.to_string())
}

fn of_written(case: &Case<'_>) -> Answer {
    let json = case.arguments[0];
    let argument = case.arguments.get(1).copied().unwrap_or_default();
    if case.signature.starts_with("json_object(") {
        return written_object(case);
    }
    written::check(json)?;
    let position = || argument.parse().expect("an integer");
    let texts = case.texts();
    let path = || match texts.iter().map(|t| t.as_deref().map(Path::either)).collect() {
        Some(path) => written::get_path(json, &Vec::from_iter::<Vec<Path<'_>>>(path)),
        None => Ok(None),
    };
    let as_json = |found: Option<Written<'_>>| Ok(nullable(found.map(Written::json)));
    let as_text = |found: Option<Written<'_>>| Ok(nullable(found.and_then(Written::to_text)));
    match case.signature {
        "json -> text" => as_json(written::field(json, argument)?),
        "json ->> text" => as_text(written::field(json, argument)?),
        "json -> integer" => as_json(written::get(json, position())?),
        "json ->> integer" => as_text(written::get(json, position())?),
        "json #> text[]" => as_json(path()?),
        "json #>> text[]" => as_text(path()?),
        "json_typeof(json)" => Ok(written::type_name(json)?.to_owned()),
        "json_array_length(json)" => Ok(written::array_length(json)?.to_string()),
        "json_object_keys(json)" => Ok(rows(written::object_names(json)?.into_iter())),
        "json_each(json)" => {
            let fields = written::each(json)?.collect::<Result<Vec<_>, _>>()?;
            Ok(rows(fields.iter().map(|(name, value)| format!("{name}={}", value.json()))))
        }
        "json_each_text(json)" => {
            let fields = written::each(json)?.collect::<Result<Vec<_>, _>>()?;
            let text = |value: &Written<'_>| nullable(value.to_text());
            Ok(rows(fields.iter().map(|(name, value)| format!("{name}={}", text(value)))))
        }
        "json_array_elements(json)" => {
            let elements = written::elements(json, "json_array_elements")?;
            let elements = elements.collect::<Result<Vec<_>, _>>()?;
            Ok(rows(elements.iter().map(|value| value.json().to_owned())))
        }
        "json_array_elements_text(json)" => {
            let elements = written::elements(json, "json_array_elements_text")?;
            let elements = elements.collect::<Result<Vec<_>, _>>()?;
            Ok(rows(elements.iter().map(|value| nullable(value.to_text()))))
        }
        "json_strip_nulls(json)" => Ok(written::strip_nulls(json)?),
        other => panic!("{other}?"),
    }
}

fn written_object(case: &Case<'_>) -> Answer {
    let (dimensions, texts) = text_array(case.arguments[0]);
    let pairs: Vec<(Option<String>, Option<String>)> = match case.arguments.get(1) {
        None => {
            check_pairs(&dimensions)?;
            texts.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        }
        Some(values) => texts.into_iter().zip(text_array(values).1).collect(),
    };
    let mut fields = Vec::new();
    for (name, value) in pairs {
        let value = value.map_or("null".to_owned(), |value| text::quote(&value));
        fields.push((name.ok_or(JsonbError::NullKey)?, value));
    }
    Ok(written::build_object(fields.iter().map(|(name, value)| (&name[..], &value[..]))))
}

/// The places of errors, as they stand in the context line of a report.
#[test]
fn errors_know_their_place() {
    let context = |text: &str| text.parse::<Jsonb>().unwrap_err().context().unwrap().to_owned();
    let digits = |n: usize| "0123456789".repeat(10)[..n].to_owned();
    for (text, expected) in [
        ("{\"a\" 1}".to_owned(), "line 1: {\"a\" 1...".to_owned()),
        ("{\"a\":1,\n\"b\": foo\n}".into(), "line 2: \"b\": foo".into()),
        ("[\"é\", \"\\ud83dabc\"]".into(), "line 1: [\"é\", \"\\ud83da...".into()),
        ("[\"é\", \"\\q\"]".into(), "line 1: [\"é\", \"\\q...".into()),
        ("[\"é\", \"\\u00g1\"]".into(), "line 1: [\"é\", \"\\u00g...".into()),
        ("[\"a\nb\"]".into(), "line 1: [\"a".into()),
        ("[\"a\", \"bcd".into(), "line 1: [\"a\", \"bcd".into()),
        ("[\"a\", ".into(), "line 1: [\"a\", ".into()),
        ("[\"a\", \n ".into(), "line 2:  ".into()),
        (String::new(), "line 1: ".into()),
        ("\"\\u0000a\"".into(), "line 1: \"\\u0000...".into()),
        ("1 \n x".into(), "line 2:  x".into()),
        (format!("[\"{}\", foo, 3]", digits(43)), format!("line 1: [\"{}\", foo...", digits(43))),
        (format!("[\"{}\", foo, 3]", digits(44)), format!("line 1: [\"{}\", foo...", digits(44))),
        (
            format!("[\"{}\", foo, 3]", digits(47)),
            format!("line 1: ...{}\", foo...", &digits(47)[4..]),
        ),
    ] {
        assert_eq!(context(&text), format!("JSON data, {expected}"), "{text}");
    }
    let deep = "[".repeat(1001);
    let error = deep.parse::<Jsonb>().unwrap_err();
    assert_eq!(
        report(error.sqlstate(), &error, error.detail(), error.hint()),
        "!54001 stack depth limit exceeded"
    );
}

/// Objects and arrays are built of what was converted before.
#[test]
fn values_are_built() {
    let values = ["1", "\"x\"", "[2]"].map(|text| text.parse::<Jsonb>().unwrap());
    let roots = values.each_ref().map(Jsonb::root);
    let built = build_object(&[Some("b"), Some("a"), Some("b")], &roots).unwrap();
    assert_eq!(built.to_string(), r#"{"a": "x", "b": [2]}"#);
    assert_eq!(build_array(roots).unwrap().to_string(), r#"[1, "x", [2]]"#);
    let null = build_object(&[Some("a"), None, Some("b")], &roots).unwrap_err();
    assert_eq!(refusal(&null), "!22023 argument 3: key must not be null");
    let odd = build_object(&[Some("a"); 4], &roots).unwrap_err();
    assert_eq!(
        refusal(&odd),
        "!22023 argument list must have even number of elements // The arguments of \
         jsonb_build_object() must consist of alternating keys and values."
    );
    assert_eq!(written::build_array(["1", "[ 2 ]"]), "[1, [ 2 ]]");
    let nul = Jsonb::string("a\0b").unwrap_err();
    assert_eq!(nul.sqlstate(), "22P05");
}
