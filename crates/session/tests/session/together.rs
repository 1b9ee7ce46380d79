//! Several sessions of one database: messages, locks, cancelling, rights.

use session::{Done, Error, Portal, Session};

use crate::client::{Nothing, connect, instance};

fn start(session: &mut Session, text: &str) -> Result<Portal, Error> {
    let statement = session.read(text)?.pop().expect("there is a statement");
    session.start(statement, true)
}

fn run(session: &mut Session, text: &str) -> Result<Done, Error> {
    let mut portal = start(session, text)?;
    let done = session.execute(&mut portal, 0, &mut Nothing);
    if done.is_err() {
        session.fail();
    }
    done
}

/// A notification reaches who listens, once its transaction has committed and not before.
#[test]
fn notifications_come_with_the_commit() {
    let instance = instance();
    let (mut one, mut other) = (connect(&instance), connect(&instance));
    run(&mut one, "listen news").expect("it listens");
    run(&mut other, "begin").expect("it begins");
    run(&mut other, "notify news, 'first'").expect("it notifies");
    run(&mut other, "notify news, 'first'").expect("twice is once");
    assert!(one.take_messages().notifications.is_empty());
    run(&mut other, "commit").expect("it commits");
    let told = one.take_messages().notifications;
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].channel.as_str(), told[0].payload.as_str()), ("news", "first"));
    assert_eq!(told[0].process, other.process_id());
    run(&mut one, "unlisten *").expect("it no longer listens");
    run(&mut other, "notify news").expect("it notifies");
    assert!(one.take_messages().notifications.is_empty());
}

/// Where nothing may block, a statement that would wait for a row says so, has changed nothing, and
/// can be run again.
#[test]
fn what_would_wait_says_so() {
    let instance = instance();
    let (mut one, mut other) = (connect(&instance), connect(&instance));
    run(&mut one, "create table t (id int primary key, n int)").expect("a table");
    run(&mut one, "insert into t values (1, 0), (2, 0)").expect("rows");
    run(&mut one, "begin").expect("it begins");
    run(&mut one, "update t set n = 1 where id = 2").expect("it has the row");
    other.set_inline(true);
    let mut portal = start(&mut other, "update t set n = n + 10").expect("it starts");
    let blocked = other.execute(&mut portal, 0, &mut Nothing).expect("it is no error");
    assert_eq!(blocked, Done::Blocked);
    run(&mut one, "commit").expect("the row is free");
    let done = other.execute(&mut portal, 0, &mut Nothing).expect("it runs");
    assert!(matches!(done, Done::Complete(tag) if tag.to_string() == "UPDATE 2"));
    let commit = other.take_commit().expect("there is a commit to wait for");
    commit.wait().expect("it is durable");
    let mut kept = crate::client::TextOutput::default();
    let mut portal = start(&mut one, "select n from t order by id").expect("it starts");
    one.execute(&mut portal, 0, &mut kept).expect("it runs");
    assert_eq!(kept.0, ["10", "11"]);
}

/// A long statement does not hold up the other sessions of its core: it is taken back, and run again
/// where it may take its time. Its changes are gone in between.
#[test]
fn long_statements_go_elsewhere() {
    let instance = instance();
    let mut session = connect(&instance);
    run(&mut session, "create table t (n int)").expect("a table");
    run(&mut session, "create table d (id int primary key, doc jsonb) using document")
        .expect("one");
    let large = "select 1, jsonb_agg(n) from generate_series(1, 10000) n";
    run(&mut session, &format!("insert into d {large}")).expect("a large document");
    run(&mut session, "update d set doc = doc || '[1]'").expect("another version");
    for (text, tag) in [
        ("select count(*) from diff('d', '1', 1, 2)", "SELECT 1"),
        ("select json_patch('d', '1', 1, 2)", "SELECT 1"),
        ("select path from blame('d', '1')", "SELECT 10002"),
        ("select count(*) from generate_series(1, 100000)", "SELECT 1"),
        ("select n from generate_series(1, 100000) n", "SELECT 100000"),
        ("insert into t select n from generate_series(1, 100000) n", "INSERT 0 100000"),
        ("update t set n = n + 1", "UPDATE 100000"),
    ] {
        session.set_inline(true);
        let mut portal = start(&mut session, text).expect("it starts");
        let done = session.execute(&mut portal, 0, &mut Nothing).expect("it is no error");
        assert_eq!(done, Done::Blocked, "{text}");
        session.set_inline(false);
        let done = session.execute(&mut portal, 0, &mut Nothing).expect("it runs");
        assert!(matches!(done, Done::Complete(done) if done.to_string() == tag), "{text}");
    }
}

/// A cursor is read on the core's thread for the first time as far as any statement may go there, and
/// then few rows at a time; what may wait is not gone on with there at all. No row is given twice.
#[test]
fn cursors_are_read_here_and_elsewhere() {
    let instance = instance();
    let mut session = connect(&instance);
    let mut fetched = |query: &str, fetches: &[(&str, bool)]| {
        run(&mut session, "begin").expect("a transaction");
        run(&mut session, &format!("declare c cursor for {query}")).expect("a cursor");
        let mut rows = Vec::new();
        for (fetch, is_blocked) in fetches {
            let mut kept = crate::client::TextOutput::default();
            let mut portal = start(&mut session, &format!("fetch {fetch} c")).expect("it starts");
            session.set_inline(true);
            let done = session.execute(&mut portal, 0, &mut kept).expect("it is no error");
            assert_eq!(done == Done::Blocked, *is_blocked, "{query}: {fetch}");
            session.set_inline(false);
            if *is_blocked {
                session.execute(&mut portal, 0, &mut kept).expect("it runs");
            }
            rows.extend(kept.0.iter().map(|row| row.parse::<u32>().expect("a number")));
        }
        run(&mut session, "commit").expect("it ends");
        rows
    };
    let up_to = |last| (1..=last).collect::<Vec<u32>>();
    let all = "select n from generate_series(1, 10000) n";
    assert_eq!(fetched(all, &[("1", false), ("2", false), ("1024", false)]), up_to(1_027));
    assert_eq!(fetched(all, &[("1", false), ("all", true), ("all", false)]), up_to(10_000));
    assert_eq!(fetched(all, &[("all", true), ("1", false)]), up_to(10_000));
    assert_eq!(fetched(all, &[("9000", true), ("1", false)]), up_to(9_001));
    let late = "select n - 9000 from generate_series(1, 10000) n where n > 9000";
    assert_eq!(fetched(late, &[("1", true), ("1", false)]), [1, 2]);
    let naps = "select n from (select n, pg_sleep(0) from generate_series(1, 3) n offset 0) n";
    assert_eq!(fetched(naps, &[("1", false), ("1", true), ("1", true)]), [1, 2, 3]);
}

/// Bytes that are no text were once kept as marks of replacement; they are refused, and nothing of the
/// statement stays.
#[test]
fn copy_takes_only_text() {
    let instance = instance();
    let mut session = connect(&instance);
    run(&mut session, "create table t (c text)").expect("a table");
    for data in [&b"good\n\xff\xfe\n"[..], b"good\n\\377\n", b"good\n\\000\n"] {
        for options in ["", " with (format csv)"] {
            if !options.is_empty() && data.contains(&b'\\') {
                continue;
            }
            let mut portal =
                start(&mut session, &format!("copy t from stdin{options}")).expect("it starts");
            let done = session.execute(&mut portal, 0, &mut Nothing).expect("it wants data");
            assert!(matches!(done, Done::CopyIn(_)));
            let taken = session.copy_in(data).and_then(|()| session.copy_end().map(drop));
            assert_eq!(taken.expect_err("it is no text").state().code(), "22021");
            session.fail();
        }
    }
    let mut kept = crate::client::TextOutput::default();
    let mut portal = start(&mut session, "select count(*) from t").expect("it starts");
    session.execute(&mut portal, 0, &mut kept).expect("it runs");
    assert_eq!(kept.0, ["0"]);
}

/// A client that knows the secret of a session can cancel its statement; nobody else can.
#[test]
fn a_secret_cancels() {
    let instance = instance();
    let mut session = connect(&instance);
    let (process, secret) = (session.process_id(), session.secret().to_vec());
    let mut portal = start(&mut session, "select count(*) from generate_series(1, 100000000)")
        .expect("it starts");
    instance.cancel(process, b"guess");
    instance.cancel(process, &secret);
    let stopped = session.execute(&mut portal, 0, &mut Nothing).expect_err("it was cancelled");
    assert_eq!(stopped.state().code(), "57014");
    assert_eq!(stopped.message(), "canceling statement due to user request");
    session.fail();
    run(&mut session, "select 1").expect("the session goes on");
}

/// A session that waits for the lock of a row or a table can be cancelled there, by its secret and by
/// its own `statement_timeout`. Both waited until the other session had ended.
#[test]
fn who_waits_for_a_lock_is_cancelled() {
    let instance = instance();
    let (mut one, mut other) = (connect(&instance), connect(&instance));
    run(&mut one, "create table t (id int primary key, n int)").expect("a table");
    run(&mut one, "insert into t values (1, 0)").expect("a row");
    run(&mut one, "begin").expect("it begins");
    run(&mut one, "update t set n = 1").expect("it updates");
    for (text, timeout, why) in [
        ("update t set n = 2", "0", "user request"),
        ("lock table t in access exclusive mode", "0", "user request"),
        ("alter table t add c int", "0", "user request"),
        ("update t set n = 2", "30ms", "statement timeout"),
        ("lock table t in access exclusive mode", "30ms", "statement timeout"),
        ("alter table t add c int", "30ms", "statement timeout"),
    ] {
        run(&mut other, "begin").expect("it begins");
        run(&mut other, &format!("set local statement_timeout = '{timeout}'")).expect("it sets");
        let (process, secret) = (other.process_id(), other.secret().to_vec());
        let (refused, back) = std::thread::scope(|scope| {
            let waits = scope.spawn(move || (run(&mut other, text), other));
            while !waits.is_finished() {
                match timeout {
                    "0" => instance.cancel(process, &secret),
                    _ => drop(instance.watch()),
                }
                // The clock goes on as it is looked at.
                std::thread::yield_now();
            }
            waits.join().expect("it ends")
        });
        other = back;
        let refused = refused.expect_err("the row is locked");
        assert_eq!(refused.state().code(), "57014", "{text}");
        assert_eq!(refused.message(), format!("canceling statement due to {why}"), "{text}");
        run(&mut other, "rollback").expect("it goes back");
    }
    for text in ["update t set n = 2", "alter table t add c int"] {
        let mut ended = connect(&instance);
        let end = format!("select pg_terminate_backend({})", ended.process_id());
        let refused = std::thread::scope(|scope| {
            let waits = scope.spawn(move || run(&mut ended, text));
            while !waits.is_finished() {
                run(&mut one, &end).expect("a superuser may");
            }
            waits.join().expect("it ends").expect_err("the row is locked")
        });
        assert_eq!(refused.state().code(), "57P01", "{text}: {refused}");
    }
    run(&mut one, "commit").expect("it commits");
    run(&mut other, "update t set n = 3").expect("nobody is in its way");
}

/// A role without rights is refused what it may not do; `SET ROLE` and `RESET ROLE` go there and back.
#[test]
fn roles_come_and_go() {
    let instance = instance();
    let mut session = connect(&instance);
    run(&mut session, "create role alice login password 'secret'").expect("a role");
    let login = instance.login("alice", "postgres").expect("it may log in");
    assert!(login.verifier.is_some_and(|verifier| verifier.starts_with("SCRAM-SHA-256$4096:")));
    run(&mut session, "set role alice").expect("a superuser may");
    let refused = run(&mut session, "create role bob").expect_err("alice may not");
    assert_eq!(refused.state().code(), "42501");
    run(&mut session, "reset role").expect("it goes back");
    run(&mut session, "create role bob").expect("the superuser may");
    let refused = instance.login("bob", "postgres").expect_err("bob may not log in");
    assert_eq!(refused.state().code(), "28000");
}

/// A statement that waits for a row goes on with it where its key was changed, as often as that was.
#[test]
fn rows_are_followed_to_new_keys() {
    let instance = instance();
    let (mut one, mut other) = (connect(&instance), connect(&instance));
    run(&mut one, "create table t (id int primary key, n int)").expect("a table");
    run(&mut one, "insert into t values (1, 0), (2, 0)").expect("rows");
    let waits = |one: &mut Session, other: &mut Session, moves: &[&str], then: &str| {
        run(one, "begin").expect("it begins");
        for text in moves {
            run(one, text).expect("it moves");
        }
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| run(other, then).expect("it runs"));
            std::thread::sleep(std::time::Duration::from_millis(100));
            run(one, "commit").expect("it commits");
            waiting.join().expect("it ends")
        })
    };
    let moves = ["update t set id = 10 where id = 1", "update t set id = 11 where id = 10"];
    let done =
        waits(&mut one, &mut other, &moves, "update t set n = n + 1 where n = 0 and id < 50");
    assert!(matches!(done, Done::Complete(tag) if tag.to_string() == "UPDATE 2"));
    // It no longer fits under its new key.
    let moves = ["update t set id = 100 where id = 11"];
    let done = waits(&mut one, &mut other, &moves, "delete from t where id in (2, 11)");
    assert!(matches!(done, Done::Complete(tag) if tag.to_string() == "DELETE 1"));
    let moves = ["update t set id = 101 where id = 100"];
    let done = waits(&mut one, &mut other, &moves, "select n from t where n = 1 for update");
    assert!(matches!(done, Done::Complete(tag) if tag.to_string() == "SELECT 1"));
    // A deleted row is gone.
    let moves = ["delete from t where id = 101", "insert into t values (101, 5)"];
    let done = waits(&mut one, &mut other, &moves, "update t set n = 2 where n = 1");
    assert!(matches!(done, Done::Complete(tag) if tag.to_string() == "UPDATE 0"));
}

/// A session that waits for an advisory lock gets it when it is released. Two sessions that wait
/// for each other do not wait for ever. A call that may not wait, and would have to, says so and
/// has taken nothing.
#[test]
fn advisory_locks_are_waited_for() {
    let instance = instance();
    let (mut one, mut other) = (connect(&instance), connect(&instance));
    run(&mut one, "select pg_advisory_lock(1)").expect("it has it");
    run(&mut other, "select pg_advisory_lock(2)").expect("it has it");
    let mut kept = crate::client::TextOutput::default();
    let mut portal = start(&mut other, "select pg_try_advisory_lock(1)").expect("it starts");
    other.execute(&mut portal, 0, &mut kept).expect("it runs");
    assert_eq!(kept.0, ["f"]);
    other.set_inline(true);
    let text = "select pg_advisory_lock(n) from (values (3), (1)) v (n)";
    let mut portal = start(&mut other, text).expect("it starts");
    let blocked = other.execute(&mut portal, 0, &mut Nothing).expect("it is no error");
    assert_eq!(blocked, Done::Blocked);
    other.set_inline(false);
    let mut free = crate::client::TextOutput::default();
    let mut tries = start(&mut one, "select pg_try_advisory_lock(3)").expect("it starts");
    one.execute(&mut tries, 0, &mut free).expect("it runs");
    assert_eq!(free.0, ["t"], "nothing was taken");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&mut other, "select pg_advisory_lock(1)"));
        std::thread::sleep(std::time::Duration::from_millis(100));
        let dead = run(&mut one, "select pg_advisory_lock(2)").expect_err("both would wait");
        assert_eq!(dead.state().code(), "40P01");
        run(&mut one, "select pg_advisory_unlock_all()").expect("it lets go");
        waiting.join().expect("it ends").expect("it has it");
    });
    drop(other);
    run(&mut one, "select pg_advisory_lock(1), pg_advisory_lock(2)").expect("they are free");
}

/// Waits for rows, tables and advisory locks that form a circle together end: one of the sessions
/// that wait for an advisory lock fails, whichever session came last. A chain of such waits is no
/// circle.
#[test]
fn deadlocks_over_all_kinds_of_locks_end() {
    for waits_for in ["update t set n = n + 1 where id = 1", "lock table t"] {
        for advisory_first in [true, false] {
            let instance = instance();
            let (mut one, mut other) = (connect(&instance), connect(&instance));
            run(&mut one, "create table t (id int primary key, n int)").expect("a table");
            run(&mut one, "insert into t values (1, 0)").expect("a row");
            run(&mut one, "begin").expect("it begins");
            run(&mut one, "update t set n = 10 where id = 1").expect("it has the row");
            run(&mut other, "begin").expect("it begins");
            run(&mut other, "select pg_advisory_xact_lock(1)").expect("it has the number");
            let pause = std::time::Duration::from_millis(100);
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    std::thread::sleep(if advisory_first { pause } else { Default::default() });
                    run(&mut other, waits_for)
                });
                std::thread::sleep(if advisory_first { Default::default() } else { pause });
                let dead = run(&mut one, "select pg_advisory_lock(1)").expect_err("a circle");
                assert_eq!(dead.state().code(), "40P01", "{waits_for}");
                waiting.join().expect("it ends").expect("the row is free");
            });
        }
    }
    let instance = instance();
    let mut sessions = [connect(&instance), connect(&instance), connect(&instance)];
    let [one, other, last] = &mut sessions;
    run(one, "create table t (id int primary key, n int)").expect("a table");
    run(one, "insert into t values (1, 0)").expect("a row");
    run(last, "begin").expect("it begins");
    run(last, "update t set n = 10 where id = 1").expect("it has the row");
    run(other, "select pg_advisory_lock(1)").expect("it has the number");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| run(one, "select pg_advisory_lock(1)"));
        let second = scope.spawn(|| {
            run(other, "update t set n = n + 1 where id = 1")?;
            run(other, "select pg_advisory_unlock(1)")
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        run(last, "commit").expect("it commits");
        second.join().expect("it ends").expect("it has had the row");
        first.join().expect("it ends").expect("it has the number");
    });
}

/// Temporary tables are their session's alone, go with it, and are gone when the database is opened
/// again after a crash.
#[test]
fn temporary_tables_are_their_sessions() {
    let instance = instance();
    let (mut one, mut other) = (connect(&instance), connect(&instance));
    run(&mut one, "create temp table t (a int)").expect("a table");
    run(&mut other, "create temp table t (b int)").expect("another of the same name");
    run(&mut one, "insert into t (a) values (1)").expect("a row");
    let schema = format!("pg_temp_{}", one.process_id());
    let hidden = run(&mut other, &format!("select * from {schema}.t")).expect_err("it is not seen");
    assert_eq!(hidden.state().code(), "42P01");
    drop(one);
    let mut kept = crate::client::TextOutput::default();
    let text = "select count(*) from pg_class where relname = 't'";
    let mut portal = start(&mut other, text).expect("it starts");
    other.execute(&mut portal, 0, &mut kept).expect("it runs");
    assert_eq!(kept.0, ["1"]);
}

/// A temporary table keeps no past: a read as of before it was emptied is refused, and does not find the table as if it
/// had been empty then.
#[test]
fn the_past_of_an_emptied_temporary_table_is_refused() {
    let instance = instance();
    let mut one = connect(&instance);
    run(&mut one, "create temp table t (a int)").expect("a table");
    run(&mut one, "insert into t values (1)").expect("a row");
    let version = instance.engine().visible().0;
    run(&mut one, "truncate t").expect("it is emptied");
    let past = format!("select * from t for system_version as of {version}");
    for _ in 0..2 {
        let refused = run(&mut one, &past).expect_err("its past is not kept");
        assert_eq!(
            (refused.state().code(), refused.message()),
            ("22023", "the past of \"t\" is not kept")
        );
        run(&mut one, "checkpoint").expect("it is written");
    }
    run(&mut one, "select * from t").expect("it is read");
}

/// The settings that are kept for a role and a database are set when it logs in, the role's before
/// the database's, and RESET restores them.
#[test]
fn kept_settings_are_set_at_login() {
    let instance = instance();
    let mut one = connect(&instance);
    for text in [
        "alter role all set statement_timeout = '1s'",
        "alter database postgres set statement_timeout = '2s'",
        "alter database postgres set work_mem = '5MB'",
        "alter role postgres set statement_timeout = '3s'",
        "alter role postgres in database postgres set lock_timeout = '4s'",
    ] {
        run(&mut one, text).expect("it is kept");
    }
    let wrong = run(&mut one, "alter role postgres set work_mem = 'much'").expect_err("no value");
    assert_eq!(wrong.state().code(), "22023");
    let mut other = connect(&instance);
    let shown = |session: &Session, name: &str| session.setting(name).unwrap_or_default();
    let names = ["statement_timeout", "work_mem", "lock_timeout"];
    assert_eq!(names.map(|name| shown(&other, name)), ["3s", "5MB", "4s"]);
    run(&mut other, "set statement_timeout = 0").expect("it is set");
    run(&mut other, "reset statement_timeout").expect("it is reset");
    assert_eq!(shown(&other, "statement_timeout"), "3s");
}

/// The first statement of a session finds the objects that another session has made: it has no older
/// catalog yet. (`EXPLAIN` looked at the catalog of the statement before.)
#[test]
fn the_first_statement_finds_what_another_session_has_made() {
    let instance = instance();
    let mut maker = connect(&instance);
    let firsts = [
        "select * from made",
        "explain select * from made",
        "explain (analyze) update made set n = 1",
        "explain create table copied as select * from made",
        "explain declare c cursor for select * from made",
        "prepare p as select * from made",
        "copy made to stdout",
        "copy (select * from made) to stdout",
        "create view seen as select * from made",
        "create table copied as select * from made",
        "create index on made (n)",
        "table made",
        "lock table made",
        "analyze made",
        "truncate made",
    ];
    for first in firsts {
        run(&mut maker, "drop table if exists made, copied cascade").expect("dropped");
        let mut old = connect(&instance);
        run(&mut old, "select 1").expect("it has seen a catalog");
        run(&mut maker, "create table made (n int)").expect("made");
        for (session, age) in [(&mut old, "old"), (&mut connect(&instance), "new")] {
            run(session, "begin").expect("begun");
            if let Err(error) = run(session, first) {
                panic!("{first}, by a session that is {age}: {error:?}");
            }
            run(session, "rollback").expect("rolled back");
        }
        if first != "lock table made" {
            run(&mut connect(&instance), first)
                .unwrap_or_else(|error| panic!("{first}: {error:?}"));
        }
    }
}

/// The answers of one statement.
fn rows(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let mut portal = start(session, text)?;
    let mut kept = crate::client::TextOutput::default();
    let done = session.execute(&mut portal, 0, &mut kept);
    if done.is_err() {
        session.fail();
    }
    done.map(|_| kept.0)
}

/// The workers of `pg_dump -j` asked for a function that was not there. A session with an imported
/// snapshot reads the same state as its transaction, whatever was committed since. The name is gone
/// with the transaction, and an imported snapshot stays.
#[test]
fn an_exported_snapshot_is_read_by_others() {
    let instance = instance();
    let [mut leader, mut worker, mut writer] = [(); 3].map(|()| connect(&instance));
    run(&mut leader, "create table t (n int) with (history = 'none')").expect("a table");
    run(&mut leader, "insert into t values (1)").expect("a row");
    run(&mut leader, "begin isolation level repeatable read").expect("it begins");
    let name = rows(&mut leader, "select pg_export_snapshot()").expect("it exports").remove(0);
    let second = rows(&mut leader, "select pg_export_snapshot()").expect("again").remove(0);
    assert_ne!(name, second);
    run(&mut leader, "savepoint s").expect("a savepoint");
    let error =
        run(&mut leader, "select pg_export_snapshot()").expect_err("it is within a savepoint");
    assert_eq!(error.state().code(), "25001");
    run(&mut leader, "rollback to s").expect("it goes back");
    run(&mut leader, "release s").expect("no savepoint");
    rows(&mut leader, "select pg_export_snapshot()").expect("it exports again");
    run(&mut writer, "update t set n = 2").expect("it changes");
    run(&mut writer, "insert into t values (3)").expect("it adds");

    let take = format!("set transaction snapshot '{name}'");
    run(&mut worker, "begin").expect("it begins");
    let error = run(&mut worker, &take).expect_err("each statement would see another one");
    assert_eq!(error.state().code(), "0A000");
    run(&mut worker, "rollback").expect("it ends");
    run(&mut worker, "begin isolation level serializable read only").expect("it begins");
    let error = run(&mut worker, &take).expect_err("the leader is not serializable");
    assert_eq!(error.state().code(), "0A000");
    run(&mut worker, "rollback").expect("it ends");
    run(&mut worker, "begin isolation level repeatable read").expect("it begins");
    assert_eq!(rows(&mut worker, "select n from t order by 1").expect("it reads"), ["2", "3"]);
    let error = run(&mut worker, &take).expect_err("it has read");
    assert_eq!(error.state().code(), "25001");
    run(&mut worker, "rollback").expect("it ends");

    run(&mut worker, "begin isolation level repeatable read, read only").expect("it begins");
    run(&mut worker, &take).expect("it takes the snapshot");
    assert_eq!(rows(&mut worker, "select n from t").expect("it reads"), ["1"]);
    run(&mut leader, "commit").expect("it ends");
    run(&mut writer, "delete from t").expect("it deletes");
    run(&mut writer, "vacuum").expect("what nobody reads goes");
    assert_eq!(rows(&mut worker, "select n from t").expect("it reads on"), ["1"]);
    run(&mut worker, "commit").expect("it ends");

    run(&mut worker, "begin isolation level repeatable read").expect("it begins");
    let error = run(&mut worker, &take).expect_err("its transaction has ended");
    assert_eq!(error.state().code(), "42704");
    run(&mut worker, "rollback").expect("it ends");
    for ended in ["rollback", "commit"] {
        run(&mut leader, "begin").expect("it begins");
        let name = rows(&mut leader, "select pg_export_snapshot()").expect("it exports").remove(0);
        run(&mut leader, ended).expect("it ends");
        run(&mut worker, "begin isolation level repeatable read").expect("it begins");
        let error = run(&mut worker, &format!("set transaction snapshot '{name}'"));
        assert_eq!(error.expect_err("it is gone").state().code(), "42704");
        run(&mut worker, "rollback").expect("it ends");
    }
}

/// A statement that does not want to wait is told that the table is locked, also on a thread that may not block. The
/// server ran it again elsewhere, because both were the same error.
#[test]
fn a_lock_that_is_not_to_be_waited_for_is_refused_at_once() {
    let instance = instance();
    let (mut one, mut other) = (connect(&instance), connect(&instance));
    run(&mut one, "create table t (id int primary key)").expect("a table");
    run(&mut one, "begin").expect("it begins");
    run(&mut one, "lock table t in access exclusive mode").expect("it has the table");
    run(&mut other, "begin").expect("it begins");
    other.set_inline(true);
    let mut portal = start(&mut other, "lock table t in share mode nowait").expect("it starts");
    let refused = other.execute(&mut portal, 0, &mut Nothing).expect_err("it is locked");
    assert_eq!(refused.state().code(), "55P03");
    run(&mut other, "rollback").expect("it ends");
    let mut portal = start(&mut other, "begin").expect("it starts");
    other.execute(&mut portal, 0, &mut Nothing).expect("it begins");
    let mut portal = start(&mut other, "lock table t in share mode").expect("it starts");
    let blocked = other.execute(&mut portal, 0, &mut Nothing).expect("it is no error");
    assert_eq!(blocked, Done::Blocked);
}
