//! The description: what it says is what the server does.

use serde_json::Value;

use crate::world::World;

const DOCUMENT: &str =
    r#"{"foo":["bar",null,2.33],"bar":{"hello":"world"},"baz":"hello","tada":[{"foo":"bar"},1]}"#;

/// The description as the server gives it.
fn description(world: &World) -> Value {
    world.ask("GET /openapi.yaml?form=json", "").json()
}

/// The operations: path, method, what is said of each.
pub fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("methods");
        methods.iter().map(move |(method, told)| (path.clone(), method.clone(), told.clone()))
    });
    operations.collect()
}

/// The address of an operation, with its examples.
fn address(path: &str, told: &Value, key: &str) -> String {
    let mut address = path.to_owned();
    for (name, value) in [
        ("db", "c"),
        ("r", key),
        ("collection", "c"),
        ("key", key),
        ("revision", "1"),
        ("backup", "0"),
        ("file", "x"),
    ] {
        address = address.replace(&format!("{{{name}}}"), value);
    }
    let mut sign = '?';
    for parameter in told["parameters"].as_array().expect("parameters") {
        if let Some(example) = parameter["example"].as_str() {
            address += &format!("{sign}{}={example}", parameter["name"].as_str().expect("a name"));
            sign = '&';
        }
    }
    if path == "/v1/changes" {
        address += "?from=0&until=1";
    }
    address
}

/// Every operation of the description can be called as it says, and answers with what it says.
#[test]
fn every_operation_is_called() {
    let world = World::new();
    let document = description(&world);
    assert_eq!(document["openapi"], "3.1.0");
    let operations = operations(&document);
    assert!(operations.len() > 40, "{} operations", operations.len());
    for (number, (path, method, told)) in operations.into_iter().enumerate() {
        // Some of them leave nothing behind: each gets a document of its own.
        let key = format!("k{number}");
        world.database.collection("c").expect("made").put(&key, DOCUMENT).expect("put");
        let head = format!("{} {}", method.to_ascii_uppercase(), address(&path, &told, &key));
        let mut headers = Vec::new();
        let mut body = String::new();
        if let Some(content) = told["requestBody"]["content"].as_object() {
            let (media, example) = content.iter().next().expect("a type");
            headers.push(("content-type", media.as_str()));
            body = example["example"].to_string();
        }
        let answer = world.client().ask(&head, &headers, body.as_bytes());
        let status = answer.status.to_string();
        let responses = &told["responses"];
        assert!(responses.get(&status).is_some(), "{head}: {status} {}", answer.text());
        if let Some(known) =
            responses[&status]["content"].as_object().filter(|_| !answer.body.is_empty())
        {
            let media = answer.header("content-type").expect("a type");
            assert!(known.contains_key(media), "{head}: {media}");
            if ["application/json", "application/json-patch+json"].contains(&media) {
                let wrong = mismatch(&document, &known[media]["schema"], &answer.json());
                assert_eq!(wrong, None, "{head}: {}", answer.text());
            }
        }
    }
}

/// Where a value is not of the form that a schema describes; members that it does not describe are none of it.
pub fn mismatch(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let form = document.pointer(name.strip_prefix('#').expect("a form of this document"));
        return mismatch(document, form.unwrap_or_else(|| panic!("{name} is not there")), value);
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        let fits = forms.iter().any(|form| mismatch(document, form, value).is_none());
        return (!fits).then(|| format!("{value} is of none of the forms"));
    }
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() || number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(types) => types.iter().any(|of| of == is),
        of => of == is,
    };
    if !fits || schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        return Some(format!("{value} is not {schema}"));
    }
    if let Some(items) = value.as_array().filter(|_| schema["items"].is_object()) {
        return items.iter().find_map(|item| mismatch(document, &schema["items"], item));
    }
    let (Some(members), Some(known)) = (value.as_object(), schema["properties"].as_object()) else {
        return None;
    };
    let required = schema["required"].as_array().into_iter().flatten();
    let mut missing =
        required.filter_map(Value::as_str).filter(|name| !members.contains_key(*name));
    if let Some(name) = missing.next() {
        return Some(format!("{name} is missing"));
    }
    members.iter().find_map(|(name, value)| match known.get(name) {
        None => Some(format!("{name} is not described")),
        Some(form) => mismatch(document, form, value).map(|text| format!("{name}: {text}")),
    })
}

/// Every JSON answer has a form, and it is another than "any JSON" where it is not a document.
#[test]
fn answers_have_forms() {
    const DOCUMENTS: [&str; 6] =
        ["getDocument", "getResource", "putResource", "insertNode", "runSql", "getOpenapi"];
    for (path, method, told) in operations(&description(&World::new())) {
        for (status, answer) in told["responses"].as_object().expect("answers") {
            for (media, body) in answer["content"].as_object().into_iter().flatten() {
                let schema = &body["schema"];
                let name = schema["$ref"].as_str().unwrap_or_default();
                assert!(schema["type"] == "string" || !name.is_empty(), "{method} {path} {status}");
                let is_any = name.ends_with("/Json");
                let id = told["operationId"].as_str().expect("a name");
                assert!(!is_any || DOCUMENTS.contains(&id), "{id} {status} {media}");
            }
        }
    }
}

/// The description names its server, and says which operations need a token.
#[test]
fn security_is_told() {
    let open = description(&World::new());
    assert_eq!(open["servers"][0]["url"], "/");
    assert_eq!(open["security"], serde_json::json!([]));
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = folder.path().join("tokens");
    let world = World::with(|options| options.auth.tokens = Some(tokens));
    let closed = description(&world);
    let bearer = serde_json::json!([{"bearer": []}]);
    assert_eq!(closed["security"], bearer);
    assert_eq!(closed["paths"]["/v1/sql"]["post"]["security"], bearer);
    for free in ["/health", "/token"] {
        assert_eq!(closed["paths"][free]["get"]["security"], serde_json::json!([]), "{free}");
    }
}

/// Operations that the description does not have are refused: other methods of its paths.
#[test]
fn nothing_else_is_there() {
    let world = World::new();
    world.database.collection("c").expect("made").put("k", DOCUMENT).expect("put");
    let document = description(&world);
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in ["GET", "PUT", "POST", "PATCH", "DELETE"] {
            if methods.get(method.to_ascii_lowercase()).is_some() {
                continue;
            }
            let address = address(
                path,
                &methods[methods.as_object().expect("some").keys().next().expect("one")],
                "k",
            );
            let answer = world.ask(&format!("{method} {address}"), "");
            assert_eq!(answer.status, 405, "{method} {address}: {}", answer.text());
            assert_eq!(answer.json()["status"], 405);
        }
    }
}

/// Bodies must have the form of the description: a body of another form is refused, and a body with an
/// unknown member, where the description allows no others.
#[test]
fn bodies_have_the_form_that_is_told() {
    let world = World::new();
    world.database.collection("c").expect("made").put("k", DOCUMENT).expect("put");
    let mut forms = 0;
    let document = description(&world);
    for (path, method, told) in operations(&document) {
        let Some(content) = told["requestBody"]["content"].as_object() else { continue };
        for (media, body) in content {
            let name = body["schema"]["$ref"].as_str().expect("a form");
            let form = document.pointer(&name[1..]).expect("a form of this document");
            if !form["type"].is_string() {
                continue;
            }
            forms += 1;
            let mut wrong = vec!["17".to_owned(), "\"text\"".to_owned()];
            if form["additionalProperties"] == false {
                let example = &content.iter().next().expect("a type").1["example"];
                let mut more = example.clone();
                more["another"] = 1.into();
                wrong.push(more.to_string());
            }
            let head = format!("{} {}", method.to_ascii_uppercase(), address(&path, &told, "k"));
            for body in wrong {
                let headers = [("content-type", media.as_str())];
                let answer = world.client().ask(&head, &headers, body.as_bytes());
                assert!([400, 422].contains(&answer.status), "{head} {body}: {}", answer.text());
            }
        }
    }
    assert!(forms >= 6, "{forms} forms");
}

/// The YAML says what the JSON says: a reader of this small part of YAML gets the same from it.
#[test]
fn yaml_and_json_are_one() {
    let world = World::new();
    assert_eq!(read_yaml(&world.ask("GET /openapi.yaml", "").text()), description(&world));
}

/// Reads the part of YAML that descriptions are written in.
pub fn read_yaml(yaml: &str) -> Value {
    let lines: Vec<(usize, &str)> = yaml
        .lines()
        .map(|line| (line.len() - line.trim_start().len(), line.trim_start()))
        .collect();
    let mut at = 0;
    let value = block(&lines, &mut at);
    assert_eq!(at, lines.len());
    value
}

fn block(lines: &[(usize, &str)], at: &mut usize) -> Value {
    let indent = lines[*at].0;
    let is_list = lines[*at].1.starts_with('-');
    let (mut list, mut fields) = (Vec::new(), serde_json::Map::new());
    while *at < lines.len() && lines[*at].0 == indent {
        let line = lines[*at].1;
        *at += 1;
        let (name, rest) = match is_list {
            true => (String::new(), line.strip_prefix('-').expect("an item")),
            false => name(line),
        };
        let value = match rest.trim() {
            "" => block(lines, at),
            scalar => serde_json::from_str(scalar).expect("a scalar"),
        };
        match is_list {
            true => list.push(value),
            false => drop(fields.insert(name, value)),
        }
    }
    if is_list { Value::Array(list) } else { Value::Object(fields) }
}

/// The name of a field, and what comes after its colon.
fn name(line: &str) -> (String, &str) {
    if line.starts_with('"') {
        let end = line.find("\":").expect("an end") + 1;
        return (serde_json::from_str(&line[..end]).expect("a name"), &line[end + 1..]);
    }
    let (name, rest) = line.split_once(':').expect("a colon");
    (name.to_owned(), rest)
}
