//! The cost of jsonb: `cargo run --release -p json --example figures`.
//!
//! Nanoseconds on documents of 2.4 KB, which have a few fields and an array of objects, and 100 KB.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use json::Tape;
use json::jsonb::pathlang::{Options, Path};
use json::jsonb::{Jsonb, JsonbRef};
use json::written;

fn main() {
    for (fields, items) in [(24, 32), (900, 1_400)] {
        let text = document(fields, items);
        let value: Jsonb = text.parse().expect("a document");
        let root = value.root();
        println!("{} bytes of text, {} of jsonb", text.len(), value.bytes().len());
        time("text to tape, for comparison", || Tape::parse(&text).is_ok());
        time("text to jsonb", || Jsonb::parse(&text).is_ok());
        time("bytes to jsonb, checked", || Jsonb::decode(value.bytes()).is_ok());
        time("jsonb to text", || root.to_json());
        let field = format!("field{}", fields / 2);
        time("field of an object", || root.field(&field).is_some());
        let path = ["items", "20", "name"];
        time("#> items, 20, name", || root.path(path).is_some());
        let as_written = path.map(written::Path::either);
        time("#> the same, of json", || written::get_path(&text, &as_written).is_ok());
        let part: Jsonb = r#"{"items": [{"id": 1020, "ok": true}]}"#.parse().expect("a part");
        time("@> an item", || root.contains(part.root()));
        time("@> itself", || root.contains(root));
        let new = Jsonb::int(7);
        let place = path.map(Some);
        time("jsonb_set of the name", || root.set(&place, new.root(), true));
        time("|| a field", || root.concat(part.root()));
        time("key form", || key(root));
        let other = Jsonb::parse(&text.replace("\"qty\":6", "\"qty\":6.0")).expect("a document");
        time("= to another spelling", || value == other);
        let key: Path = "$.items[20].name".parse().expect("a path");
        time("path $.items[20].name", || key.query_first(root, Options::default()).is_ok());
        let filter: Path = "$.items[*] ? (@.qty > 3 && @.ok == true).id".parse().expect("a path");
        time("path with a filter over items", || filter.query_array(root, Options::default()));
    }
}

fn key(value: JsonbRef<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    value.write_key(&mut key);
    key
}

fn document(fields: usize, items: usize) -> String {
    let mut text = String::from("{\"counter\":0");
    for field in 0..fields {
        let _ = write!(text, ",\"field{field}\":\"value {field}\"");
    }
    text += ",\"items\":[";
    for item in 0..items {
        let (comma, id, qty) = (if item > 0 { "," } else { "" }, 1_000 + item, item % 7);
        let _ = write!(
            text,
            "{comma}{{\"id\":{id},\"name\":\"item {item}\",\"qty\":{qty},\"price\":{qty}.95,\"ok\":true}}"
        );
    }
    text + "]}"
}

/// The median of some runs of `f`, in nanoseconds.
fn time<T>(name: &str, mut f: impl FnMut() -> T) {
    let start = Instant::now();
    let mut warm = 0u32;
    while start.elapsed().as_millis() < 20 {
        black_box(f());
        warm += 1;
    }
    let batch = (warm / 200).max(1);
    let mut runs: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            (0..batch).for_each(|_| drop(black_box(f())));
            start.elapsed().as_nanos() as f64 / f64::from(batch)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    println!("  {:>12.0} ns  {name}", runs[50]);
}
