//! A history many times as large as the caches: opening reads next to nothing of it, and whatever is
//! read then, memory stays within what was asked for. The benchmarks do the same with two gigabytes.

use crate::{Create, Database, Durability, Options, Revision};
use std::path::Path;
use vfs::{Env, SimRandom, SimVfs};

const DOCUMENTS: u64 = 100;
const FIELDS: u64 = 4;
/// Commits, each of which sets a field in so many documents.
const COMMITS: u64 = 2_600;
const TOGETHER: u64 = 20;
/// The least bytes of their history after merging.
const HISTORY_BYTES: u64 = 40 << 20;
const CACHE_BYTES: usize = 8 << 20;
const DOCUMENT_CACHE_BYTES: usize = 2 << 20;
/// Chunks of 256 nodes; the nodes beside the fields are there so that there are several.
const ROWS: u64 = 600;

fn open(env: &Env, small: bool) -> Database {
    let mut options = Options { create: Create::IfMissing, ..Options::default() };
    options.durability = Durability::Os;
    if small {
        (options.cache_bytes, options.document_cache_bytes) = (CACHE_BYTES, DOCUMENT_CACHE_BYTES);
    }
    Database::open_env(env, Path::new("/data"), options).unwrap()
}

fn key(document: u64) -> String {
    format!("document {document}")
}

/// Text that does not compress below three quarters of its length.
fn text(random: &SimRandom) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    let sign = |_| SIGNS[random.below(64) as usize] as char;
    format!("\"{}\"", (0..1_000).map(sign).collect::<String>())
}

/// Documents whose fields were set again and again; returns the number of revisions of each.
fn build(env: &Env) -> Vec<u64> {
    let database = open(env, false);
    let random = SimRandom::new(51);
    let collection = database.collection("a").unwrap();
    for document in 0..DOCUMENTS {
        let fields = (0..FIELDS).map(|field| format!("\"f{field}\":{}", text(&random)));
        let rows: Vec<String> = (0..ROWS).map(|row| row.to_string()).collect();
        let fields = fields.collect::<Vec<_>>().join(",");
        let json = format!("{{{fields},\"rows\":[{}]}}", rows.join(","));
        collection.put(&key(document), json).unwrap();
    }
    let mut revisions = vec![1; DOCUMENTS as usize];
    for _ in 0..COMMITS {
        let mut transaction = database.begin().unwrap();
        let first = random.below(DOCUMENTS);
        for document in (first..first + TOGETHER).map(|document| document % DOCUMENTS) {
            let path = format!("$.f{}", random.below(FIELDS));
            let mut collection = transaction.collection("a").unwrap();
            let row = format!("$.rows[{}]", random.below(ROWS - 1));
            let set = |edit: &mut crate::Edit<'_>| {
                edit.set(&*row, random.below(1_000).to_string())?;
                edit.set(&*path, text(&random))
            };
            collection.edit(&key(document), set).unwrap();
            revisions[document as usize] += 1;
        }
        transaction.commit().unwrap();
    }
    database.compact().unwrap();
    drop(collection);
    database.close().unwrap();
    revisions
}

#[test]
fn memory_stays_within_the_caches() {
    let env = Env::sim(&SimVfs::unrecorded(), 51);
    let revisions = build(&env);
    let database = open(&env, true);
    let opened = database.stats();
    assert!(opened.store_bytes >= HISTORY_BYTES, "{} bytes of history", opened.store_bytes);
    assert!(opened.cached_bytes < 1 << 20, "opening has read {} bytes", opened.cached_bytes);
    let collection = database.collection("a").unwrap();
    let random = SimRandom::new(52);
    let mut most = (0, 0);
    for read in 0..3_000 {
        let document = random.below(DOCUMENTS);
        let revision = Revision(1 + random.below(revisions[document as usize]));
        let then = collection.at(revision).get(&key(document)).unwrap().unwrap();
        let last = format!("$.rows[{}]", ROWS - 1);
        assert_eq!(then.value(&*last).unwrap().unwrap(), (ROWS - 1).to_string());
        if read % 3 == 0 {
            // Of now, whole: all of its chunks come into the cache of newest versions.
            let now = collection.get(&key(document)).unwrap().unwrap();
            assert_eq!(now.revision().0, revisions[document as usize]);
            assert!(now.to_json().unwrap().len() > 5_000);
        }
        if read % 5 == 0 && revision.0 > 1 {
            // Paths of rows: the position of each is remembered.
            let before = Revision(revision.0 - 1);
            let diff = collection.diff(&key(document), before, revision).unwrap();
            assert!(
                diff.changes.iter().any(|change| change.path.to_string().starts_with("$.rows"))
            );
        }
        if read % 20 > 0 {
            continue;
        }
        let stats = database.stats();
        most = (most.0.max(stats.cached_bytes), most.1.max(stats.cached_document_bytes));
    }
    println!("{} MB of history; at most {most:?} bytes cached", opened.store_bytes >> 20);
    assert!(most.0 <= CACHE_BYTES as u64 && most.0 > CACHE_BYTES as u64 / 2, "blocks: {}", most.0);
    // The bytes of one document may come on top in each of the cache's parts.
    let limit = DOCUMENT_CACHE_BYTES as u64 * 5 / 4;
    assert!(most.1 <= limit && most.1 > limit / 2, "documents: {}", most.1);
}

/// Documents come into the cache of newest versions as little more than their first chunk, and grow as
/// they are read: that growth counts, also where each document is asked for once and never again. It once
/// did not: positions of children and pages of revisions were counted never, chunks by a guess.
#[test]
fn documents_that_grow_in_the_cache_are_counted() {
    const LARGE: u64 = 64;
    let env = Env::sim(&SimVfs::unrecorded(), 53);
    let database = open(&env, false);
    let collection = database.collection("a").unwrap();
    let rows: Vec<String> = (0..20_000).map(|row| format!("\"row number {row}\"")).collect();
    let json = format!("[{}]", rows.join(","));
    for document in 0..LARGE {
        collection.put(&key(document), &json).unwrap();
    }
    drop(collection);
    database.close().unwrap();

    let database = open(&env, true);
    let collection = database.collection("a").unwrap();
    (0..LARGE).for_each(|document| assert_eq!(collection.newest(&key(document)).unwrap().0, 1));
    let light = database.stats().cached_document_bytes;
    assert!(light < DOCUMENT_CACHE_BYTES as u64, "{light} bytes before any was read");
    let whole = |document| {
        let found = collection.get(&key(document)).unwrap().unwrap();
        assert!(found.to_json().unwrap() == json);
    };
    whole(0);
    let one = database.stats().cached_document_bytes.saturating_sub(light);
    assert!(one > json.len() as u64, "a document takes {one} bytes");
    let mut most = 0;
    for document in 1..LARGE {
        whole(document);
        most = most.max(database.stats().cached_document_bytes);
    }
    // The cache has 16 parts, each of which keeps its newest document, whatever that takes.
    let limit = DOCUMENT_CACHE_BYTES as u64 + 16 * one;
    assert!(most <= limit, "{most} bytes of {limit}, and {} in all", one * LARGE);
}
