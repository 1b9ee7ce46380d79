//! Verification changes nothing, wherever the process that had the folder was killed.

use crate::{Create, Database, Error, Options, Retention};
use std::path::{Path, PathBuf};
use vfs::{CrashPolicy, Env, SimVfs, Vfs};

const FOLDER: &str = "/data";

fn open(disk: &SimVfs) -> Database {
    let options = Options {
        cache_bytes: 1 << 20,
        memtable_bytes: 64 << 10,
        create: Create::IfMissing,
        ..Options::default()
    };
    Database::open_env(&Env::sim(disk, 1), Path::new(FOLDER), options).unwrap()
}

fn content(disk: &SimVfs) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let files = disk.files().into_iter();
    files.map(|(path, _)| (path.clone(), disk.content(path))).collect()
}

/// `anywhen verify` said that it changes nothing, and replayed the log, wrote files from it and removed it.
/// It finds as many documents and revisions as the one who opens the folder next.
#[test]
fn a_folder_is_verified_without_a_change_to_it() {
    let disk = SimVfs::new(5);
    let database = open(&disk);
    for round in 0..60u32 {
        let docs = database.collection(["a", "b"][(round % 2) as usize]).unwrap();
        let text = format!("{{\"n\":{round},\"long\":\"{}\"}}", "x".repeat(4_000));
        docs.put(&format!("{}", round % 7), text).unwrap();
        match round {
            20 => database.set_history("a", Retention::None).unwrap(),
            30 => database.checkpoint().unwrap(),
            45 => database.compact().unwrap(),
            _ => {}
        }
    }
    drop(database);
    let mut verified = 0;
    for at in (0..=disk.op_count()).step_by(7) {
        for policy in CrashPolicy::ALL {
            let found = disk.image(at, &policy, at as u64);
            let (before, ops) = (content(&found), found.op_count());
            let env = Env::sim(&found, 1);
            let report = match Database::verify_env(&env, Path::new(FOLDER), |_| ()) {
                Err(Error::NoDatabase(_)) => continue,
                report => report.unwrap(),
            };
            assert_eq!(report.problems, Vec::<String>::new(), "at {at}, {policy:?}");
            assert_eq!(found.op_count(), ops, "at {at}, {policy:?}: it changed something");
            assert!(content(&found) == before, "at {at}, {policy:?}: it changed something");
            let then = open(&found).verify(|_| ()).unwrap();
            assert_eq!(
                (report.documents, report.revisions),
                (then.documents, then.revisions),
                "at {at}, {policy:?}"
            );
            verified += 1;
        }
    }
    assert!(verified > 50, "{verified}");
}

/// A folder that is open is left to the process that has it, and one whose lock file is gone is still a
/// database, which once was denied.
#[test]
fn a_folder_without_its_lock_file_is_a_database() {
    let disk = SimVfs::new(5);
    let database = open(&disk);
    database.collection("a").unwrap().put("k", "1").unwrap();
    let env = Env::sim(&disk, 1);
    let refused = Database::verify_env(&env, Path::new(FOLDER), |_| ());
    assert!(matches!(refused, Err(Error::Engine(crate::EngineError::InUse { .. }))), "{refused:?}");
    database.close().unwrap();
    disk.remove(&Path::new(FOLDER).join("LOCK")).unwrap();
    let report = Database::verify_env(&env, Path::new(FOLDER), |_| ()).unwrap();
    assert_eq!(report.documents, 1);
    assert!(!disk.exists(&Path::new(FOLDER).join("LOCK")).unwrap());
    let database = Database::open_env(
        &env,
        Path::new(FOLDER),
        Options { create: Create::Never, ..Options::default() },
    );
    assert!(database.unwrap().collection("a").unwrap().get("k").unwrap().is_some());
}
