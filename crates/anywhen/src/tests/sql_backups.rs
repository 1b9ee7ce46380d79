//! Backups by a statement: what they hold, how they are stopped and go on, and what is refused.

use super::tables::rows;
use crate::{BackupError, Csn, Database, Error, Options, RestoreTo};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use vfs::{Env, SimVfs};

/// A database on a simulated disk, with the clock of this machine.
fn world() -> (Env, Database) {
    let env = Env { clock: Env::os().clock, ..Env::sim(&SimVfs::unrecorded(), 1) };
    let database = Database::open_env(&env, Path::new("/data"), Options::default());
    (env, database.expect("opens"))
}

fn run(database: &Database, statement: &str) {
    database.sql(statement, &[]).expect(statement);
}

/// The code and the message of the error of a statement.
fn refused(database: &Database, statement: &str) -> String {
    let error = database.sql(statement, &[]).expect_err(statement);
    format!("{} {}", error.state().code(), error.message())
}

fn restore(env: &Env, backup: &str, to: &str) -> crate::Result<Database> {
    Database::restore_env(env, Path::new(backup), Path::new(to), RestoreTo::Newest, |_| ())
}

/// A backup that a statement makes while three sessions write restores every commit up to the one that the statement
/// returned, and none after it.
#[test]
fn a_backup_by_a_statement_has_every_commit_up_to_its_own() {
    let (env, database) = world();
    run(&database, "CREATE TABLE t (writer int, n int, PRIMARY KEY (writer, n))");
    run(&database, "INSERT INTO t SELECT 9, n FROM generate_series(1, 5000) n");
    let stop = AtomicBool::new(false);
    let csn = std::thread::scope(|threads| {
        let (wrote, writing) = mpsc::channel();
        for writer in 0..3 {
            let (database, stop, wrote) = (&database, &stop, wrote.clone());
            threads.spawn(move || {
                let mut sql = database.connect().expect("connects");
                for n in 0.. {
                    let insert = format!("INSERT INTO t VALUES ({writer}, {n})");
                    sql.execute(&insert, &[]).expect("written");
                    if n == 20 {
                        wrote.send(()).expect("somebody waits");
                    }
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for _ in 0..3 {
            writing.recv().expect("each writes");
        }
        let csn = rows(&database, "SELECT backup('/saved')")[0].parse().expect("a commit");
        // The writers go on after it.
        while database.newest() <= Csn(csn) {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        csn
    });
    let copy = restore(&env, "/saved", "/restored").expect("it restores");
    assert_eq!(copy.newest(), Csn(csn));
    let then = format!("SELECT * FROM t FOR SYSTEM_VERSION AS OF {csn} ORDER BY 1, 2");
    let all = rows(&copy, "SELECT * FROM t ORDER BY 1, 2");
    assert_eq!(all, rows(&database, &then));
    assert!(all.len() > 5060 && all.len() < rows(&database, "SELECT * FROM t").len());
}

/// A backup tells how far it is. It is cancelled by its client and by another session, also while it is slowed
/// down; the folder is no backup then. The same statement goes on in it, and the folder takes one backup.
#[test]
fn a_backup_is_cancelled_and_goes_on() {
    let (env, database) = world();
    run(&database, "CREATE TABLE t (n int, pad text) WITH (autovacuum_enabled = off)");
    run(&database, "INSERT INTO t SELECT n, md5(n::text) FROM generate_series(1, 30000) n");
    let slowly = |folder: &str| format!("SELECT backup('{folder}', bytes_per_second => 1000)");
    let at = "SELECT phase, backup_streamed <= backup_total, tablespaces_total
              FROM pg_stat_progress_basebackup WHERE backup_total > 0";
    for (way, folder) in [("client", "/saved"), ("backend", "/other")] {
        let slowly = slowly(folder);
        std::thread::scope(|threads| {
            let mut sql = database.connect().expect("connects");
            let cancel = sql.canceller();
            let copy = threads.spawn(move || sql.query(&slowly, &[]).map(drop));
            let told = loop {
                let told = rows(&database, at);
                if !told.is_empty() || copy.is_finished() {
                    break told;
                }
                std::thread::yield_now();
            };
            assert_eq!(told, ["streaming database files|t|1"]);
            match way {
                "client" => cancel(),
                _ => {
                    run(&database, "SELECT pg_cancel_backend(pid) FROM pg_stat_progress_basebackup")
                }
            }
            let error = copy.join().expect("ends").expect_err("it was cancelled");
            assert_eq!(error.state().code(), "57014");
        });
    }
    assert!(rows(&database, at).is_empty(), "nothing runs");
    for folder in ["/saved", "/other"] {
        match restore(&env, folder, "/restored") {
            Err(Error::Backup(BackupError::Unfinished(_))) => {}
            other => panic!("{folder}: {:?}", other.map(drop)),
        }
    }
    run(&database, "SELECT backup('/saved')");
    let again = refused(&database, "SELECT backup('/saved')");
    assert_eq!(again, "58P02 folder \"/saved\" has a backup already");
    let copy = restore(&env, "/saved", "/restored").expect("it restores");
    assert_eq!(rows(&copy, "SELECT count(*) FROM t"), ["30000"]);
}

/// The statement refuses folders that cannot hold a backup and roles that may not make one, and writes nothing.
#[test]
fn backups_by_statements_are_refused() {
    let (env, database) = world();
    let full = env.fs.create_dir_all(Path::new("/full/store"));
    full.and_then(|()| env.fs.create_dir_all(Path::new("/full/other"))).expect("made");
    let refuse = |arguments: &str| refused(&database, &format!("SELECT backup({arguments})"));
    assert_eq!(refuse("'saved'"), "42602 relative path not allowed for backup");
    assert_eq!(refuse("''"), "42602 relative path not allowed for backup");
    assert_eq!(refuse("'/a/../data'"), "42602 path \"/a/../data\" for a backup contains \"..\"");
    assert_eq!(refuse("'/data'"), "22023 folder \"/data\" is in the data folder");
    assert_eq!(refuse("'/data/deep/in'"), "22023 folder \"/data/deep/in\" is in the data folder");
    assert_eq!(refuse("'/full'"), "58P02 folder \"/full\" is not empty");
    assert_eq!(refuse("'/saved', -1"), "22023 bytes_per_second must not be negative: -1");
    assert_eq!(rows(&database, "SELECT backup(NULL)"), ["-"]);
    let mut sql = database.connect().expect("connects");
    sql.batch("CREATE ROLE r REPLICATION; SET ROLE r").expect("made");
    let error = sql.query("SELECT backup('/saved')", &[]).expect_err("no superuser");
    assert_eq!(error.state().code(), "42501");
    assert_eq!(error.message(), "permission denied for function backup");
    assert!(!env.fs.exists(Path::new("/saved")).expect("asked"));
    assert!(!env.fs.exists(Path::new("/data/deep")).expect("asked"));
}

/// A folder in which another session makes a backup is in use.
#[test]
fn two_backups_in_one_folder_are_refused() {
    let (_, database) = world();
    run(&database, "CREATE TABLE t AS SELECT n, md5(n::text) FROM generate_series(1, 30000) n");
    std::thread::scope(|threads| {
        let mut sql = database.connect().expect("connects");
        let cancel = sql.canceller();
        let first =
            threads.spawn(move || sql.query("SELECT backup('/saved', 1000)", &[]).map(drop));
        let at = "SELECT 1 FROM pg_stat_progress_basebackup WHERE backup_total > 0";
        while rows(&database, at).is_empty() && !first.is_finished() {
            std::thread::yield_now();
        }
        let second = refused(&database, "SELECT backup('/saved')");
        assert!(second.starts_with("55006 could not make a backup: /saved is being"), "{second}");
        cancel();
        first.join().expect("ends").expect_err("it was cancelled");
    });
}
