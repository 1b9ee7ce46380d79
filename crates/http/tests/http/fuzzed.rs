//! Random requests made from the description: for each operation hundreds, some as it says, some at the
//! edge of it, some nonsense. The server never fails, and answers as the description says.
//!
//! ```text
//!   /openapi.yaml ── operations ── parameters by their schemas, bodies by their examples ──> request
//!                        └── statuses, media types, the form of a problem <── compared with ── answer
//! ```
//!
//! `ANYWHEN_SEED=<n>` makes the same requests again, `ANYWHEN_TIMES=<n>` so many times as many.

use serde_json::{Value, json};

use crate::described::{mismatch, operations, read_yaml};
use crate::world::{Client, World};

/// Requests for each operation.
const REQUESTS: u64 = 200;

/// A small generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// A request.
#[derive(Debug, Default)]
struct Request {
    head: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// A text with what cannot stand in an address percent-encoded.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'$' | b'*' => {
                out.push(char::from(byte));
            }
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

/// A value of a parameter: most of the time one that its schema allows.
fn value(random: &mut Random, schema: &Value) -> String {
    const NONSENSE: [&str; 8] =
        ["", "x", "-1", "1e3", "18446744073709551616", "\u{0}", "ü€", "' OR 1=1"];
    if random.chance(15) {
        return random.pick(&NONSENSE).to_owned();
    }
    if let Some(allowed) = schema["enum"].as_array() {
        let at = random.below(allowed.len());
        return allowed[at].as_str().expect("a text").to_owned();
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("integer"), _) => {
            random.pick(&["0", "1", "2", "3", "4", "7", "100", "18446744073709551615"]).to_owned()
        }
        (Some("boolean"), _) => random.pick(&["true", "false"]).to_owned(),
        (_, Some("date-time")) => {
            let times = [
                "2026-11-21T10:30:00Z",
                "1970-01-01T00:00:00Z",
                "2200-01-01 00:00:00+01",
                "9999-12-31T23:59:59Z",
                "2026-02-30T00:00:00Z",
            ];
            random.pick(&times).to_owned()
        }
        _ => {
            let texts = [
                "$",
                "$.baz",
                "$.tada",
                "$.foo[0]",
                "$.foo[99999999999]",
                "/foo/0",
                "/foo/-",
                "$[",
                "baz",
                "k",
                "lax $.**",
                "$ ? (@.baz == 1)",
                "$.baz.datetime()",
                "ada",
                "%",
                "a/b",
            ];
            random.pick(&texts).to_owned()
        }
    }
}

/// A part of a path.
fn part(random: &mut Random, name: &str) -> String {
    if random.chance(80) {
        let good = match name {
            "db" | "collection" => "c",
            "revision" => random.pick(&["1", "2"]),
            _ => "k",
        };
        return good.to_owned();
    }
    let odd = ["none", "1", "0", "99", "a b", "é", "..", ".", "a/b", "\u{0}", "%", "-1"];
    let long = "x".repeat(300);
    if random.chance(5) { long } else { random.pick(&odd).to_owned() }
}

/// JSON that is not quite what it was.
fn mutated(random: &mut Random, value: &Value) -> Value {
    let others = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("$.baz"),
        json!([]),
        json!({}),
        json!("\u{0}"),
        json!([[1]]),
        json!({"op": "x"}),
    ];
    if random.chance(20) {
        return others[random.below(others.len())].clone();
    }
    match value {
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            let mut items = items.clone();
            match random.below(4) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => items[at] = mutated(random, &items[at]),
            }
            items.into()
        }
        Value::Object(fields) if !fields.is_empty() => {
            let mut fields = fields.clone();
            let name = fields.keys().nth(random.below(fields.len())).expect("one").clone();
            match random.below(4) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert("another".to_owned(), json!(1))),
                _ => {
                    let value = mutated(random, &fields[&name]);
                    fields.insert(name, value);
                }
            }
            fields.into()
        }
        other => other.clone(),
    }
}

/// A request for an operation.
fn request(random: &mut Random, path: &str, method: &str, told: &Value) -> Request {
    let mut request = Request::default();
    let (mut address, mut question) = (path.to_owned(), Vec::new());
    for parameter in told["parameters"].as_array().expect("parameters") {
        let name = parameter["name"].as_str().expect("a name");
        if parameter["in"] == "path" {
            let part = encoded(&part(random, name));
            address = address.replace(&format!("{{{name}}}"), &part);
        } else if random.chance(if parameter["required"] == true { 90 } else { 20 }) {
            let example = parameter["example"].as_str().filter(|_| random.chance(50));
            let value = match example {
                Some(example) => example.to_owned(),
                None => value(random, &parameter["schema"]),
            };
            question.push(format!("{name}={}", encoded(&value)));
        }
    }
    if path == "/v1/changes" {
        // A stream of changes ends where it is told to.
        question.retain(|text| !text.starts_with("until="));
        question.push("until=1".to_owned());
    }
    if random.chance(5) {
        question.push(random.pick(&["nosuch=1", "%zz=1", "=", "revision=1&revision=1"]).to_owned());
    }
    if let Some(content) = told["requestBody"]["content"].as_object() {
        let (media, said) = content.iter().nth(random.below(content.len())).expect("a type");
        if random.chance(90) {
            let other = ["text/plain", "application/json", "application/json; charset=utf-8", "x"];
            let media = if random.chance(85) { media.as_str() } else { random.pick(&other) };
            request.headers.push(("content-type", media.to_owned()));
        }
        let example =
            if said["example"].is_null() { json!({"baz": null}) } else { said["example"].clone() };
        request.body = match random.below(10) {
            0 => Vec::new(),
            1 => random.pick(&["{", "[1,", "nul", "\"\\ud800\"", "1e999", "{\"a\":1}{"]).into(),
            2 => vec![0xff, 0xfe, b'{'],
            3..7 => mutated(random, &example).to_string().into_bytes(),
            _ => example.to_string().into_bytes(),
        };
    } else if random.chance(5) {
        request.body = b"{}".to_vec();
    }
    for (name, values, percent) in [
        ("if-match", ["1", "\"1\"", "*", "\"", "W/\"2\", \"3\"", "\"1-00\""], 15),
        ("if-none-match", ["1", "\"1\"", "*", "\"", "x, y", ""], 15),
        (
            "accept",
            ["*/*", "application/x-ndjson", "application/json;metadata=true", "x", "", ";"],
            30,
        ),
        ("anywhen-author", ["ada", "é", "", " ", "a\tb", "x"], 10),
        ("last-event-id", ["1", "0", "x", "-1", "", "99999999999999999999"], 5),
        ("if-modified-since", ["Fri, 01 Jan 2100 00:00:00 GMT", "x", "", "0", "1", "2"], 5),
    ] {
        if random.chance(percent) {
            request.headers.push((name, random.pick(&values).to_owned()));
        }
    }
    let sign = if question.is_empty() { "" } else { "?" };
    let method = method.to_ascii_uppercase();
    request.head = format!("{method} {address}{sign}{}", question.join("&"));
    request
}

/// The difference between an answer and the description; `None` if they agree.
fn difference(document: &Value, told: &Value, answer: &crate::world::Response) -> Option<String> {
    if answer.status >= 500 && answer.status != 501 {
        return Some("it failed".to_owned());
    }
    let Some(described) = told["responses"].get(answer.status.to_string()) else {
        return Some("the status is not described".to_owned());
    };
    if answer.body.is_empty() {
        return None;
    }
    let media = answer.header("content-type").unwrap_or("none");
    let known = described["content"].as_object().is_some_and(|known| known.contains_key(media));
    if !known {
        return Some(format!("the type {media} is not described"));
    }
    if media != "application/problem+json" {
        // Numbers are of any size.
        if media != "application/json" {
            return None;
        }
        if json::Tape::parse(answer.text()).is_err() {
            return Some("it is no JSON".to_owned());
        }
        // Values of documents may be beyond what this reader of JSON takes.
        let value = serde_json::from_slice(&answer.body).ok()?;
        let schema = &described["content"][media]["schema"];
        return mismatch(document, schema, &value);
    }
    let (problem, schema) = (answer.json(), &document["components"]["schemas"]["Problem"]);
    let required = schema["required"].as_array().expect("a list");
    let missing =
        required.iter().find(|name| problem.get(name.as_str().expect("a name")).is_none());
    let other = problem.as_object()?.iter().find(|(name, value)| {
        match schema["properties"][name.as_str()]["type"].as_str() {
            Some("string") => !value.is_string(),
            Some("integer") => !value.is_u64(),
            _ => true,
        }
    });
    match (missing, other) {
        (Some(name), _) => Some(format!("the problem has no {name}")),
        (_, Some((name, value))) => Some(format!("{name}: {value} is not as described")),
        _ if problem["status"] != answer.status => {
            Some("the problem has another status".to_owned())
        }
        _ => None,
    }
}

/// Nothing that is asked makes the server fail, and every answer is described.
#[test]
fn answers_are_as_described() {
    let seed = number("ANYWHEN_SEED").unwrap_or(0x5eed_0007);
    println!("ANYWHEN_SEED={seed}");
    let mut random = Random(seed.max(1));
    let world = World::new();
    let document = read_yaml(&world.ask("GET /openapi.yaml", "").text());
    let operations = operations(&document);
    let mut client: Option<Client> = None;
    let (mut wrong, mut good) = (Vec::new(), 0);
    for (path, method, told) in &operations {
        for _ in 0..REQUESTS * number("ANYWHEN_TIMES").unwrap_or(1) {
            if random.chance(50) {
                let found = world.database.collection("c");
                let text = r#"{"foo":["bar",null,2.33],"baz":"hello","tada":[{"foo":"bar"},1]}"#;
                // A collection with another retention than ours exists as well as any.
                found.expect("made").put("k", text).expect("put");
            }
            let asked = request(&mut random, path, method, told);
            let headers: Vec<(&str, &str)> =
                asked.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let mut held = client.take().unwrap_or_else(|| world.client());
            let answer = held.ask(&asked.head, &headers, &asked.body);
            // After an error the server may not want to hear the rest.
            client = Some(held).filter(|_| answer.status < 400);
            good += u64::from(answer.status < 400);
            if let Some(why) = difference(&document, told, &answer) {
                let (head, status) = (&asked.head, answer.status);
                let body = String::from_utf8_lossy(&asked.body);
                let text = answer.text();
                wrong.push(format!("{why}\n  {head} {headers:?} {body}\n  {status} {text}"));
            }
        }
    }
    let first: Vec<&str> = wrong.iter().take(12).map(String::as_str).collect();
    assert!(wrong.is_empty(), "ANYWHEN_SEED={seed}: {} answers\n{}", wrong.len(), first.join("\n"));
    assert!(good > REQUESTS * 5, "only {good} requests were good");
    assert!(world.ask("GET /metrics", "").text().contains("anywhen_http_panics_total 0\n"));
}
