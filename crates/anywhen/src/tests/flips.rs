//! Rot, as a reader of documents meets it: one flipped bit in any file of a closed database.
//!
//! Every question that has an answer before the flip is asked again after it: the answer is the same, or
//! an error that says that something is damaged. Verification finds all that the answers do not.

use crate::{
    CollectionOptions, Create, Csn, Database, DocumentError, Error, Meta, Options, Revision,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use vfs::{CrashPolicy, Env, Random, SimRandom, SimVfs};

const FLIPS: usize = 1_000;
const SEED: u64 = 41;
/// Collections, and whether they keep hashes.
const COLLECTIONS: [(&str, bool); 2] = [("plain", false), ("hashed", true)];
const KEYS: [&str; 3] = ["a", "b", "large"];

fn open(disk: &SimVfs) -> Result<Database, Error> {
    let options = Options { cache_bytes: 1 << 20, create: Create::IfMissing, ..Options::default() };
    Database::open_env(&Env::sim(disk, SEED), Path::new("/data"), options)
}

/// A few documents with histories: part of it merged, part of it flushed since, the end in the log.
fn closed() -> SimVfs {
    let disk = SimVfs::new(SEED);
    let random = SimRandom::new(SEED);
    let database = open(&disk).unwrap();
    for round in 0..36 {
        for (name, hashes) in COLLECTIONS {
            let collection = database
                .collection_with(name, CollectionOptions { hashes, ..CollectionOptions::default() })
                .unwrap();
            let author = ["ada", "grace"][random.below(2) as usize].into();
            let meta = Meta { author, message: format!("round {round}"), ..Meta::default() };
            let key = KEYS[random.below(3) as usize];
            let number = random.next_u64();
            if collection.get(key).unwrap().is_none() {
                let rows = if key == "large" { 120 } else { 4 };
                let row = |_| format!(r#"{{"id":{},"tags":["x","y"]}}"#, random.next_u64());
                let rows: Vec<String> = (0..rows).map(row).collect();
                let text = format!(r#"{{"n":{number},"rows":[{}]}}"#, rows.join(","));
                collection.put_with(key, text, &meta).unwrap();
                continue;
            }
            match random.below(8) {
                0 => drop(collection.remove_with(key, &meta).unwrap()),
                1 => drop(collection.revert(key, Revision(1), &meta)),
                2 => {
                    let insert = |edit: &mut crate::Edit<'_>| {
                        edit.insert("$.rows[1]", crate::Place::Before, r#"{"new":[1,"two"]}"#)
                    };
                    collection.edit_with(key, &meta, insert).unwrap();
                }
                _ => drop(collection.edit_with(key, &meta, |edit| {
                    edit.set("$.n", number.to_string())?;
                    edit.set("$.rows[0].id", random.next_u64().to_string())
                })),
            }
        }
        match round {
            12 | 24 => database.compact().unwrap(),
            30 => database.checkpoint().unwrap(),
            _ => {}
        }
    }
    database.close().unwrap();
    disk.image(disk.op_count(), &CrashPolicy::Everything, 0)
}

/// Every answer that the database gives, with its question.
fn answers(database: &Database, out: &mut Vec<(String, Result<String, Error>)>) {
    let mut tell = |question: String, answer: Result<String, Error>| out.push((question, answer));
    tell("collections".into(), Ok(database.collections().join(",")));
    let commits = database.commits(Csn(1), Csn::MAX, false);
    let commits = commits.map(|info| info.map(|info| format!("{info:?}")));
    tell("commits".into(), commits.collect::<Result<Vec<_>, _>>().map(|all| all.join("\n")));
    for (name, _) in COLLECTIONS {
        let Some(collection) = database.find_collection(name) else { continue };
        let keys = collection.keys("").collect::<Result<Vec<_>, _>>();
        tell(format!("keys of {name}"), keys.map(|keys| keys.join(",")).map_err(Error::from));
        for key in KEYS {
            let mut ask = |question: String, answer: Result<String, DocumentError>| {
                tell(format!("{question} of {name}/{key}"), answer.map_err(Error::from));
            };
            let text = |document: Option<crate::Document>| match document {
                Some(document) => document.to_json(),
                None => Ok("none".into()),
            };
            ask("newest".into(), collection.get(key).and_then(text));
            let history = collection.history(key, usize::MAX);
            let revisions = history.as_ref().map_or(0, |history| history.len() as u64);
            ask("history".into(), history.map(|history| format!("{history:?}")));
            for revision in (1..=revisions).map(Revision) {
                let then = collection.at(revision).get(key).and_then(text);
                ask(format!("revision {revision}"), then);
            }
            if revisions > 1 {
                let runs = collection.node_history(key, "$.n");
                ask("node history".into(), runs.map(|runs| format!("{runs:?}")));
                let (one, two) = (Revision(revisions - 1), Revision(revisions));
                let diff = collection.diff(key, one, two).map(|diff| format!("{:?}", diff.changes));
                // Of a document that is not there, now or before, there are no differences.
                if !matches!(diff, Err(DocumentError::NoDocument { .. })) {
                    ask("diff".into(), diff);
                }
            }
        }
    }
}

fn is_damage(error: &Error) -> bool {
    error.is_damage()
}

/// The counts of the flips.
#[derive(Debug, Default)]
struct Tally {
    refused: usize,
    found_by_reads: usize,
    found_by_verification: usize,
    harmless: usize,
}

fn flip(disk: &SimVfs, truth: &[(String, String)], path: &Path, bit: u64, tally: &mut Tally) {
    let disk = disk.image(0, &CrashPolicy::Everything, 0);
    assert!(disk.flip_bit(path, bit));
    let database = match open(&disk) {
        Ok(database) => database,
        Err(error) => {
            assert!(is_damage(&error), "not an error of damage: {error}");
            tally.refused += 1;
            return;
        }
    };
    let mut found = Vec::new();
    answers(&database, &mut found);
    let mut found = found.into_iter();
    let mut damaged = 0;
    for (question, right) in truth {
        // Where the history cannot be read, nothing is asked of single revisions.
        let Some((_, answer)) = found.by_ref().find(|(asked, _)| asked == question) else {
            assert!(damaged > 0, "{question}: nobody asked");
            break;
        };
        match answer {
            Ok(answer) => assert_eq!(&answer, right, "{question}"),
            Err(error) => {
                assert!(is_damage(&error), "{question}: not an error of damage: {error}");
                damaged += 1;
            }
        }
    }
    let problems = match database.verify(|_| {}) {
        Ok(report) => report.problems.len(),
        Err(error) => {
            assert!(is_damage(&error), "verification: not an error of damage: {error}");
            1
        }
    };
    assert!(damaged == 0 || problems > 0, "an answer is refused, and verification finds nothing");
    match (damaged, problems) {
        (0, 0) => tally.harmless += 1,
        (0, _) => tally.found_by_verification += 1,
        _ => tally.found_by_reads += 1,
    }
}

/// A flip is found or harmless: never another answer, never a panic.
#[test]
fn flipped_bits_never_give_another_answer() {
    let disk = closed();
    let database = open(&disk.image(0, &CrashPolicy::Everything, 0)).unwrap();
    let mut truth = Vec::new();
    answers(&database, &mut truth);
    drop(database);
    let truth: Vec<(String, String)> =
        truth.into_iter().map(|(question, answer)| (question, answer.unwrap())).collect();
    assert!(truth.len() > 80, "{} questions", truth.len());
    // Bytes that mean something: of the log's files those that were ever written.
    let extent = |path: &PathBuf| {
        let bytes = disk.content(path).expect("it is there");
        bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
    };
    let files = disk.files().into_iter().map(|(path, _)| (extent(&path), path));
    let files: Vec<_> = files.filter(|(extent, _)| *extent > 0).collect();
    let random = SimRandom::new(SEED + 1);
    let mut tally = Tally::default();
    for i in 0..FLIPS {
        let (extent, path) = &files[i % files.len()];
        let bit = random.below(extent * 8);
        let flipped = AssertUnwindSafe(|| flip(&disk, &truth, path, bit, &mut tally));
        assert!(catch_unwind(flipped).is_ok(), "bit {bit} of {}", path.display());
    }
    println!("{FLIPS} flips, {} questions, {} files: {tally:?}", truth.len(), files.len());
    assert!(tally.refused > 50 && tally.found_by_reads > 50, "{tally:?}");
}
