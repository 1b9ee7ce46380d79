//! Histories of JSON documents as people keep them in a repository: the same versions on every machine.
//!
//! ```text
//!   settings    a list of objects of one form: entries come, in the order of their names, and go; descriptions are
//!               written anew; a field is added to all; two branches alternate for a while
//!   schema      nested objects: properties and values come, below one another; descriptions are written anew
//!   lock file   packages by path: versions go up, each with a new checksum; packages come and go
//! ```
//!
//! Invariants: the same arguments give the same bytes for ever (a published figure depends on it); every version
//! is a JSON object or array, and differs from the one before.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::document::Numbers;

/// A history of one document.
pub struct History {
    /// The name in tables.
    pub label: &'static str,
    /// The beginning of the ids of its rows.
    pub id: &'static str,
    /// Each version as compact JSON, oldest first.
    pub versions: Vec<String>,
}

/// The three histories, each of about so many versions.
pub fn all(versions: usize) -> Vec<History> {
    vec![
        History { label: "a list of settings", id: "settings", versions: settings(versions) },
        History { label: "a schema", id: "schema", versions: schema(versions) },
        History { label: "a lock file", id: "lock", versions: lock_file(versions) },
    ]
}

const WORDS: [&str; 64] = [
    "the",
    "a",
    "whether",
    "to",
    "of",
    "maximum",
    "number",
    "size",
    "memory",
    "buffer",
    "when",
    "enable",
    "disable",
    "threads",
    "for",
    "in",
    "file",
    "path",
    "directory",
    "used",
    "by",
    "query",
    "optimizer",
    "join",
    "table",
    "default",
    "output",
    "format",
    "columns",
    "rows",
    "cache",
    "temporary",
    "allow",
    "extensions",
    "remote",
    "secure",
    "timeout",
    "milliseconds",
    "progress",
    "bar",
    "printed",
    "errors",
    "as",
    "json",
    "on",
    "startup",
    "if",
    "not",
    "set",
    "index",
    "scan",
    "before",
    "writing",
    "checkpoint",
    "threshold",
    "bytes",
    "automatic",
    "loading",
    "known",
    "list",
    "prefix",
    "current",
    "session",
    "version",
];

/// A sentence of 5 to 16 words.
fn sentence(numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for at in 0..5 + numbers.below(12) {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(WORDS[numbers.below(WORDS.len())]);
    }
    text
}

/// A sentence of which some words are others now.
fn rewritten(numbers: &mut Numbers, text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(words.len());
        words[at] = WORDS[numbers.below(WORDS.len())];
    }
    words.join(" ")
}

/// A name of two or three words.
fn name(numbers: &mut Numbers) -> String {
    let words: Vec<&str> =
        (0..2 + numbers.below(2)).map(|_| WORDS[5 + numbers.below(WORDS.len() - 5)]).collect();
    words.join("_")
}

/// Adds a version that differs from the one before.
fn keep(versions: &mut Vec<String>, document: &Value) {
    let text = document.to_string();
    if versions.last() != Some(&text) {
        versions.push(text);
    }
}

fn setting(numbers: &mut Numbers) -> Value {
    let kind = ["VARCHAR", "BOOLEAN", "BIGINT", "UBIGINT", "DOUBLE"][numbers.below(5)];
    let scope = ["global", "global_local", "local"][numbers.below(3)];
    json!({"name": name(numbers), "description": sentence(numbers), "type": kind, "scope": scope, "verified": numbers.below(4) == 0})
}

fn settings(count: usize) -> Vec<String> {
    let mut numbers = Numbers::new(41);
    let by_name = |one: &Value, other: &Value| one["name"].as_str().cmp(&other["name"].as_str());
    let mut list: Vec<Value> = (0..80).map(|_| setting(&mut numbers)).collect();
    list.sort_by(by_name);
    let mut versions = Vec::new();
    let mut branch: Option<Vec<Value>> = None;
    while versions.len() < count {
        keep(&mut versions, &Value::Array(list.clone()));
        // For a while every other version is of a branch that was left behind.
        match (&branch, numbers.below(24)) {
            (None, 0) => branch = Some(list.clone()),
            (Some(_), 0..3) => branch = None,
            _ => {}
        }
        if let Some(old) = &branch
            && numbers.below(2) == 0
        {
            keep(&mut versions, &Value::Array(old.clone()));
        }
        let at = numbers.below(list.len());
        match numbers.below(40) {
            0..14 => {
                list.push(setting(&mut numbers));
                list.sort_by(by_name);
            }
            14..18 => drop(list.remove(at)),
            18..32 => {
                let text = list[at]["description"].as_str().unwrap_or_default().to_owned();
                list[at]["description"] = rewritten(&mut numbers, &text).into();
            }
            32..36 => list[at]["scope"] = ["global", "session", "local"][numbers.below(3)].into(),
            36..38 => list[at]["default_value"] = numbers.below(1_000).to_string().into(),
            38 => {
                // A field that many have from now on.
                let field = name(&mut numbers);
                list.iter_mut().step_by(2).for_each(|one| one[field.as_str()] = false.into());
            }
            _ => list[at]["aliases"] = json!([name(&mut numbers), name(&mut numbers)]),
        }
    }
    versions
}

fn property(numbers: &mut Numbers, depth: usize) -> Value {
    let text = sentence(numbers);
    match numbers.below(if depth < 3 { 5 } else { 4 }) {
        0 => json!({"type": "boolean", "description": text, "default": numbers.below(2) == 0}),
        1 => {
            json!({"type": "integer", "description": text, "default": numbers.below(100), "minimum": 0})
        }
        2 => {
            let values: Vec<String> = (0..2 + numbers.below(4)).map(|_| name(numbers)).collect();
            json!({"type": "string", "description": text, "enum": values})
        }
        3 => json!({"type": "array", "description": text, "items": {"type": "string"}}),
        _ => {
            let properties: Map<String, Value> = (0..1 + numbers.below(4))
                .map(|_| (name(numbers), property(numbers, depth + 1)))
                .collect();
            json!({"type": "object", "description": text, "properties": properties})
        }
    }
}

/// An object with properties, somewhere below.
fn any_object<'v>(numbers: &mut Numbers, from: &'v mut Value) -> &'v mut Map<String, Value> {
    let properties = from["properties"].as_object_mut().expect("an object with properties");
    let inner: Vec<String> = properties
        .iter()
        .filter(|(_, value)| value["properties"].is_object())
        .map(|(name, _)| name.clone())
        .collect();
    if inner.is_empty() || numbers.below(3) == 0 {
        return properties;
    }
    let name = &inner[numbers.below(inner.len())];
    any_object(numbers, properties.get_mut(name).expect("a name of its own"))
}

fn schema(count: usize) -> Vec<String> {
    let mut numbers = Numbers::new(43);
    let first: Map<String, Value> =
        (0..12).map(|_| (name(&mut numbers), property(&mut numbers, 0))).collect();
    let mut schema = json!({"title": "Configuration", "type": "object", "description": sentence(&mut numbers), "properties": first});
    let mut versions = Vec::new();
    while versions.len() < count {
        keep(&mut versions, &schema);
        let properties = any_object(&mut numbers, &mut schema);
        let names: Vec<String> = properties.keys().cloned().collect();
        let any = names.get(numbers.below(names.len().max(1))).cloned().unwrap_or_default();
        match numbers.below(10) {
            0..5 => {
                let new = property(&mut numbers, 2);
                properties.insert(name(&mut numbers), new);
            }
            5..8 => {
                if let Some(one) = properties.get_mut(&any) {
                    let text = one["description"].as_str().unwrap_or_default().to_owned();
                    one["description"] = rewritten(&mut numbers, &text).into();
                }
            }
            8 => {
                if let Some(values) =
                    properties.get_mut(&any).and_then(|one| one["enum"].as_array_mut())
                {
                    values.push(name(&mut numbers).into());
                }
            }
            _ if names.len() > 3 => drop(properties.shift_remove(&any)),
            _ => {}
        }
    }
    versions
}

/// A version of a package: nothing in it can be guessed from the version before.
fn release(numbers: &mut Numbers, name: &str, major: usize) -> Map<String, Value> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let version = format!("{major}.{}.{}", numbers.below(30), numbers.below(12));
    let mut checksum = String::from("sha512-");
    for _ in 0..86 {
        checksum.push(char::from(DIGITS[numbers.below(64)]));
    }
    checksum.push_str("==");
    let mut entry = Map::new();
    entry.insert("version".into(), version.as_str().into());
    let address = format!("https://packages.example/{name}/{name}-{version}.tgz");
    entry.insert("resolved".into(), address.into());
    entry.insert("integrity".into(), checksum.into());
    entry
}

fn package(numbers: &mut Numbers, name: &str) -> Value {
    let major = 1 + numbers.below(8);
    let mut entry = release(numbers, name, major);
    entry.insert("dev".into(), (numbers.below(3) > 0).into());
    entry.insert("license".into(), ["MIT", "ISC", "Apache-2.0"][numbers.below(3)].into());
    if numbers.below(2) == 0 {
        let mut needs = Map::new();
        for _ in 0..=numbers.below(4) {
            let version = format!("^{}.{}.0", 1 + numbers.below(8), numbers.below(20));
            needs.insert(self::name(numbers).replace('_', "-"), version.into());
        }
        entry.insert("dependencies".into(), needs.into());
    }
    entry.insert("engines".into(), json!({"node": format!(">= {}", 10 + 2 * numbers.below(6))}));
    Value::Object(entry)
}

fn lock_file(count: usize) -> Vec<String> {
    let mut numbers = Numbers::new(47);
    let mut packages = Map::new();
    let add = |packages: &mut Map<String, Value>, numbers: &mut Numbers| {
        let name = name(numbers).replace('_', "-");
        let package = package(numbers, &name);
        packages.insert(format!("node_modules/{name}"), package);
        packages.sort_keys();
    };
    for _ in 0..130 {
        add(&mut packages, &mut numbers);
    }
    let mut versions = Vec::new();
    let mut patch = 0;
    while versions.len() < count {
        patch += 1;
        let version = format!("0.{}.{}-pre.{}", 1 + patch / 40, patch / 8 % 5, patch % 8);
        let document = json!({"name": "example", "version": version, "lockfileVersion": 3, "packages": packages});
        keep(&mut versions, &document);
        let names: Vec<String> = packages.keys().cloned().collect();
        let changes = if numbers.below(8) == 0 { 1 + numbers.below(12) } else { numbers.below(2) };
        for _ in 0..changes {
            let path = &names[numbers.below(names.len())];
            match (numbers.below(10), packages.get_mut(path)) {
                (0..2, _) => add(&mut packages, &mut numbers),
                (2, Some(_)) => drop(packages.shift_remove(path)),
                (_, Some(entry)) => {
                    let major = 1 + numbers.below(8);
                    let name = path.rsplit('/').next().unwrap_or_default();
                    for (field, value) in release(&mut numbers, name, major) {
                        entry[field.as_str()] = value;
                    }
                }
                _ => {}
            }
        }
    }
    versions
}

/// All versions, one a line.
pub fn lines(history: &History) -> String {
    let mut text = String::new();
    for version in &history.versions {
        let _ = writeln!(text, "{version}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_versions_every_time_and_no_two_alike_in_a_row() {
        for (one, other) in all(60).into_iter().zip(all(60)) {
            assert_eq!(one.versions, other.versions);
            assert!(one.versions.len() >= 60);
            assert!(one.versions.windows(2).all(|two| two[0] != two[1]));
        }
    }
}
