//! The cost of reading and editing documents: `cargo run --release -p document --example figures`.
//!
//! Documents of 2.4 KB, 100 KB and 1 MB whose counter was set again and again. Everything is in
//! memory and commits are not synced, so the figures are those of the code and not of a disk. At the
//! end, what the options of a collection cost.

use document::{
    Collection, CollectionOptions, DocumentTable, Documents, Edit, Meta, Nodes, Place, Revision,
};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::TableId;
use txn::{Engine, EngineOptions};
use vfs::{Env, SimVfs};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("options") {
        return options();
    }
    if std::env::args().nth(1).as_deref() == Some("paths") {
        return paths();
    }
    for (name, items, filler, versions) in
        [("2.4 KB", 20, 50, 5_001), ("100 KB", 1_600, 50, 1_001), ("1 MB", 16_000, 50, 301)]
    {
        let text = document(items, filler);
        println!("{name} ({} bytes, {versions} versions)", text.len());
        let meta = Meta::new("someone", "a change of the counter");
        edits_of_leaves(&meta, &text, items, versions);
        let docs = collection(CollectionOptions::default());
        docs.put_with("d", &text, &meta).expect("puts");
        let start = Instant::now();
        for value in 1..versions {
            docs.edit_with("d", &meta, |edit| edit.set("$.counter", value.to_string()))
                .expect("edits");
        }
        println!("  {:>10.2} us  edit of the counter", us(start) / (versions - 1) as f64);
        for flushed in [false, true] {
            println!(
                "{}",
                if flushed { "  after a flush and a compaction" } else { "  in the memtable" }
            );
            reads(&docs, versions as u64, items);
            docs_engine(&docs);
        }
    }
    options();
    paths();
}

/// The history of paths, in the memtable and in files.
fn paths() {
    const VERSIONS: u64 = 5_000;
    let docs = collection(CollectionOptions::default());
    come_and_go(&docs, VERSIONS);
    println!("{VERSIONS} versions, in which nodes come and go, in the memtable");
    read_paths(&docs, VERSIONS);
    docs_engine(&docs);
    println!("after a flush and a compaction");
    read_paths(&docs, VERSIONS);
}

/// The cost of hashes and path summaries: time and bytes of a commit, and the time to read the
/// summary. The collections take turns, so that other work of the machine falls on all of them.
fn options() {
    const ROUNDS: usize = 20;
    const COMMITS: usize = 250;
    println!(
        "a document of 100 KB in collections that keep more, {} commits each",
        ROUNDS * COMMITS
    );
    let plain = CollectionOptions::default();
    let kept = [
        ("nothing", plain),
        ("hashes", CollectionOptions { hashes: true, ..plain }),
        ("path summary", CollectionOptions { path_summary: true, ..plain }),
    ];
    let worlds = kept.map(|(name, options)| {
        let docs = collection(options);
        docs.put("d", document(1_600, 50)).expect("puts");
        (name, docs, ENGINE.with_borrow(|engine| engine.clone()).expect("opened"))
    });
    for (name, docs, _) in &worlds {
        summary(docs, name);
    }
    type Change = fn(&mut Edit<'_>, usize) -> document::Result<()>;
    let changes: [(&str, Change); 2] = [
        ("set a field", |edit, n| edit.set("$.counter", n.to_string()).map(drop)),
        ("add an object of 4 fields, or remove one", |edit, n| {
            let item = format!("{{\"id\":{n},\"name\":\"item {n}\",\"qty\":1,\"ok\":true}}");
            match n % 2 {
                0 => edit.insert("$.items", Place::LastChild, item).map(drop),
                _ => edit.remove("$.items[700]"),
            }
        }),
    ];
    for (what, change) in changes {
        let mut spent = [0.0; 3];
        let logged = |engine: &Engine| engine.stats().log.appended_bytes;
        let before = worlds.each_ref().map(|(.., engine)| logged(engine));
        let mut n = 0;
        for _ in 0..ROUNDS {
            for ((_, docs, _), spent) in worlds.iter().zip(&mut spent) {
                let start = Instant::now();
                for _ in 0..COMMITS {
                    n += 1;
                    docs.edit("d", |edit| change(edit, n)).expect("edits");
                }
                *spent += us(start);
            }
        }
        for (((name, _, engine), spent), before) in worlds.iter().zip(spent).zip(before) {
            let commits = (ROUNDS * COMMITS) as f64;
            let bytes = (logged(engine) - before) as f64 / commits;
            println!(
                "  {:>10.2} us, {bytes:>6.1} bytes in the log  {what}: {name}",
                spent / commits
            );
        }
    }
    for (name, docs, engine) in &worlds {
        engine.checkpoint().expect("flushes");
        engine.store().compact().expect("compacts");
        let stats = engine.store().stats();
        let bytes = (stats.current_bytes + stats.history_bytes) as f64;
        println!(
            "  {:>10.1} bytes a version in files: {name}",
            bytes / (2 * ROUNDS * COMMITS) as f64
        );
        summary(docs, name);
    }
}

fn summary(docs: &Collection, name: &str) {
    time(&format!("path summary of now: {name}"), 50, || {
        drop(black_box(docs.path_summary("d", store::Csn::MAX).expect("reads")))
    });
    time(&format!("path summary of the first version: {name}"), 50, || {
        drop(black_box(docs.path_summary("d", Revision(1)).expect("reads")))
    });
}

/// Edits of random leaves, on a document of their own.
fn edits_of_leaves(meta: &Meta, text: &str, items: usize, versions: usize) {
    let docs = collection(CollectionOptions::default());
    docs.put_with("d", text, meta).expect("puts");
    let mut dice = dice();
    let edits: Vec<(String, String)> = (1..versions)
        .map(|value| match dice(100) {
            0..50 => (format!("$.field{}", dice(50)), format!("\"another value {value}\"")),
            _ => (format!("$.items[{}].qty", dice(items as u64)), value.to_string()),
        })
        .collect();
    let start = Instant::now();
    for (path, value) in &edits {
        docs.edit_with("d", meta, |edit| edit.set(path.as_str(), value)).expect("edits");
    }
    println!("  {:>10.2} us  edit of a random leaf", us(start) / edits.len() as f64);
}

/// Random numbers below a bound, the same in every run.
fn dice() -> impl FnMut(u64) -> u64 {
    let mut random = 7u64;
    move |bound| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % bound
    }
}

thread_local! {
    static ENGINE: std::cell::RefCell<Option<Arc<Engine>>> = const { std::cell::RefCell::new(None) };
}

/// Flushes and compacts.
fn docs_engine(_docs: &Collection) {
    ENGINE.with_borrow(|engine| {
        let engine = engine.as_ref().expect("opened");
        engine.checkpoint().expect("flushes");
        engine.store().compact().expect("compacts");
    });
}

fn collection(options: CollectionOptions) -> Collection {
    let env = Env { clock: Env::os().clock, ..Env::sim(&SimVfs::new(1), 1) };
    let mut engine = EngineOptions::default();
    engine.durability = log::Durability::Os;
    let table = Arc::new(DocumentTable::new(options));
    let known = Arc::clone(&table);
    let resolve = Arc::new(move |_: TableId| -> Arc<dyn store::Table> { Arc::clone(&known) as _ });
    let engine = Engine::open(&env, Path::new("/db"), engine, resolve).expect("opens");
    ENGINE.set(Some(Arc::clone(&engine)));
    Documents::new(engine, 256 << 20, |_| true).collection(TableId(10), table)
}

/// Fifty fields and an array of objects.
fn document(items: usize, fields: usize) -> String {
    let mut text = String::from("{\"counter\":0");
    for field in 0..fields {
        text += &format!(",\"field{field}\":\"value {field}\"");
    }
    text += ",\"items\":[";
    for item in 0..items {
        let comma = if item > 0 { "," } else { "" };
        text += &format!(
            "{comma}{{\"id\":{item},\"name\":\"item {item}\",\"qty\":{},\"ok\":true}}",
            item % 7
        );
    }
    text + "]}"
}

fn us(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / 1000.0
}

/// The median of some runs of `f`, in microseconds.
fn time(name: &str, runs: usize, mut f: impl FnMut()) {
    let mut all: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            f();
            us(start)
        })
        .collect();
    all.sort_by(f64::total_cmp);
    println!("  {:>10.2} us  {name}", all[runs / 2]);
}

fn reads(docs: &Collection, versions: u64, items: usize) {
    let runs = if items > 1000 { 100 } else { 2000 };
    let mut out = Vec::new();
    let mut dice = dice();
    let mut next = move || 1 + dice(versions);
    time("now, serialised", runs, || {
        out.clear();
        docs.get("d").expect("reads").expect("is there").write_json(&mut out).expect("writes");
        black_box(&out);
    });
    time("a random version, serialised", runs, || {
        out.clear();
        let document = docs.get_at("d", Revision(next())).expect("reads").expect("is there");
        document.write_json(&mut out).expect("writes");
        black_box(&out);
    });
    // Fifty objects of the array with all their fields: 251 nodes.
    let mut part = document::Options::default();
    (part.max_level, part.max_children) = (Some(4), Some(50));
    part.metadata = document::Metadata::NodeKeyAndChildCount;
    let start = docs.get("d").expect("reads").expect("is there").find("$.items").expect("finds");
    part.start = start;
    time("a part of now, with keys and counts", 2_000, || {
        out.clear();
        let document = docs.get("d").expect("reads").expect("is there");
        document::write_part(document.tree(), &part, &mut out).expect("writes");
        black_box(&out);
    });
    time("timestamps of all versions", 200, || {
        drop(black_box(docs.timestamps("d").expect("reads")))
    });
    time("history of all versions", 100, || {
        for revision in &docs.history("d", usize::MAX).expect("reads") {
            black_box(revision);
        }
    });
    time("sum of the counter over all versions", 200, || {
        let mut sum = 0u64;
        docs.scan_values("d", "$.counter", |_, value| {
            for digit in value.map_or(&b""[..], |value| value.text) {
                sum += (digit - b'0') as u64;
            }
        })
        .expect("scans");
        black_box(sum);
    });
    time("values of a field that never changed", 500, || {
        docs.scan_values("d", "$.field7", |_, value| _ = black_box(value)).expect("scans");
    });
    let counter =
        docs.get("d").expect("reads").expect("is there").find("$.counter").expect("finds");
    let counter = counter.expect("is there");
    time("node history of the counter", 20, || {
        drop(black_box(docs.node_history("d", counter).expect("reads")))
    });
    time("node history of its path", 20, || {
        drop(black_box(docs.node_history("d", "$.counter").expect("reads")))
    });
    time("diff of neighbours", runs, || {
        let at = next().max(2);
        drop(black_box(docs.diff("d", Revision(at - 1), Revision(at)).expect("compares")));
    });
    let newest = docs.newest("d").expect("reads");
    let leaf = format!("$.items[{}].qty", items * 2 / 3);
    docs.edit("d", |edit| edit.set(leaf.as_str(), "99")).expect("edits");
    time("diff of neighbours, a leaf deep in the array", runs, || {
        drop(black_box(docs.diff("d", newest, Revision(newest.0 + 1)).expect("compares")));
    });
    docs.edit("d", |edit| edit.set(leaf.as_str(), "98")).expect("edits");
    let document = docs.get("d").expect("reads").expect("is there");
    black_box(document.tree().header());
}

/// A document of many versions, whose nodes come and go.
fn come_and_go(docs: &Collection, versions: u64) {
    let fields: Vec<String> = (0..150).map(|n| format!("\"f{n}\":{n}")).collect();
    let text = format!("{{{},\"stays\":{{\"n\":0}},\"list\":[0]}}", fields.join(","));
    docs.put("p", text).expect("puts");
    for n in 2..=versions {
        let edit = docs.edit("p", |edit| match n % 4 {
            0 => edit.remove("$.f7"),
            1 if n > 4 => edit.set("$.f7", n.to_string()).map(drop),
            2 => edit.insert("$.list", document::Place::LastChild, n.to_string()).map(drop),
            _ => edit.set("$.stays.n", n.to_string()).map(drop),
        });
        edit.expect("edits");
    }
}

fn read_paths(docs: &Collection, versions: u64) {
    for (path, what) in [
        ("$.stays.n", "that stays, and changes"),
        ("$.f9", "that stays"),
        ("$.f7", "that is removed and added again"),
        ("$.list[0]", "the first of a list that grows"),
        ("$.list[500]", "the 501st"),
    ] {
        let runs = docs.node_history("p", path).expect("reads").len();
        time(&format!("{path}, {what}: {runs} values"), 5, || {
            drop(black_box(docs.node_history("p", path).expect("reads")))
        });
    }
    time("reading one path at every version", 1, || {
        for n in 1..=versions {
            let then = docs.get_at("p", Revision(n)).expect("reads").expect("is there");
            black_box(then.value("$.f7").expect("reads"));
        }
    });
}
