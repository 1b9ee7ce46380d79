//! The view of an operator on the sessions: their states and waits, which session waits for which, and
//! the locks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::world::{Wire, message, options, start};

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

/// The rows of an answer, each as a text.
fn rows(answers: &str) -> Vec<String> {
    assert!(!answers.lines().any(|line| line.starts_with("E ")), "{answers}");
    answers.lines().filter_map(|line| line.strip_prefix("D ").map(str::to_owned)).collect()
}

/// The only value of the only row.
fn one(wire: &mut Wire, text: &str) -> String {
    let rows = rows(&wire.query(text));
    assert_eq!(rows.len(), 1, "{text}: {rows:?}");
    rows.into_iter().next().unwrap_or_default()
}

fn pid(wire: &mut Wire) -> String {
    one(wire, "SELECT pg_backend_pid()")
}

/// Asks until the answer is the wanted one.
fn until(wire: &mut Wire, text: &str, wanted: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let given = rows(&wire.query(text)).join(";");
        if given == wanted {
            return;
        }
        assert!(Instant::now() < end, "{text} gives {given}, and not {wanted}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A session is idle, active, idle in a transaction, or in one that has failed; and its times say since when.
#[test]
fn states_of_sessions() {
    let server = start(options());
    let (mut one_, mut watcher) = (Wire::connect(&server), Wire::connect(&server));
    one_.query("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2)");
    let id = pid(&mut one_);
    let look = |what: &str| format!("SELECT {what} FROM pg_stat_activity WHERE pid = {id}");
    let state = look("state, wait_event_type, wait_event, query");
    until(&mut watcher, &state, "idle | Client | ClientRead | SELECT pg_backend_pid()");
    let times = look(
        "xact_start IS NULL, backend_xid IS NULL, backend_xmin IS NULL, backend_start <= query_start, \
         query_start <= state_change, state_change <= clock_timestamp()",
    );
    assert_eq!(one(&mut watcher, &times), "t | t | t | t | t | t");

    one_.query("BEGIN");
    one_.query("SELECT * FROM t");
    let in_transaction = "idle in transaction | Client | ClientRead | SELECT * FROM t";
    until(&mut watcher, &state, in_transaction);
    let open = look(
        "xact_start <= query_start, backend_xid IS NULL, backend_xmin IS NULL, age(backend_xmin)",
    );
    assert_eq!(one(&mut watcher, &open), "t | t | f | 0");
    // Commits of others make the snapshot old, by one for each commit.
    watcher.query("INSERT INTO t VALUES (3, 3)");
    watcher.query("INSERT INTO t VALUES (4, 4)");
    assert_eq!(one(&mut watcher, &look("age(backend_xmin)")), "2");

    // The number of a transaction that writes is the stamp of its rows.
    let written = one(&mut one_, "UPDATE t SET n = 3 WHERE id = 1 RETURNING xmin");
    assert_eq!(one(&mut watcher, &look("backend_xid")), written);
    one_.query("SELECT 1/0");
    let failed = "idle in transaction (aborted) | Client | ClientRead | SELECT 1/0";
    until(&mut watcher, &state, failed);
    assert_eq!(one(&mut watcher, &look("backend_xid IS NULL, xact_start IS NOT NULL")), "t | t");
    one_.query("ROLLBACK");
    assert_eq!(one(&mut watcher, &look("state, xact_start IS NULL")), "idle | t");

    one_.send(&query("SELECT pg_sleep(60)"));
    until(&mut watcher, &state, "active | Timeout | PgSleep | SELECT pg_sleep(60)");
    let running = "xact_start IS NOT NULL, state_change >= backend_start, \
                   query_start <= clock_timestamp()";
    assert_eq!(one(&mut watcher, &look(running)), "t | t | t");
    assert_eq!(one(&mut watcher, &format!("SELECT pg_cancel_backend({id})")), "t");
    one_.until(b'Z');

    // A client that is in the middle of a COPY is waited for, by a statement that runs.
    one_.send(&query("COPY t FROM STDIN"));
    one_.until(b'G');
    until(&mut watcher, &state, "active | Client | ClientRead | COPY t FROM STDIN");
    one_.send(&message(b'f', b"enough\0"));
    one_.until(b'Z');
    // Every event that is shown has a description.
    let known = "SELECT count(*) FROM pg_wait_events WHERE name IN \
                 ('ClientRead', 'ClientWrite', 'WalSync', 'PgSleep', 'transactionid', 'relation', 'advisory')";
    assert_eq!(one(&mut watcher, known), "7");
}

/// The views tell with whom a session waits for a row, a table or an advisory lock, and since when.
#[test]
fn waits_for_locks() {
    let server = start(options());
    let mut holder = Wire::connect(&server);
    let mut waiter = Wire::connect(&server);
    let mut watcher = Wire::connect(&server);
    holder.query("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)");
    let (first, second) = (pid(&mut holder), pid(&mut waiter));
    for (hold, wait, event, kind, mode) in [
        (
            "UPDATE t SET n = 2 WHERE id = 1",
            "UPDATE t SET n = 3 WHERE id = 1",
            "transactionid",
            "transactionid",
            "ShareLock",
        ),
        (
            "SELECT * FROM t WHERE id = 1 FOR UPDATE",
            "DELETE FROM t",
            "transactionid",
            "transactionid",
            "ShareLock",
        ),
        (
            "INSERT INTO t VALUES (7)",
            "INSERT INTO t VALUES (7)",
            "transactionid",
            "transactionid",
            "ShareLock",
        ),
        ("LOCK TABLE t", "SELECT * FROM t", "relation", "relation", "AccessShareLock"),
        (
            "SELECT pg_advisory_xact_lock(5)",
            "SELECT pg_advisory_xact_lock(5)",
            "advisory",
            "advisory",
            "ExclusiveLock",
        ),
    ] {
        holder.query("BEGIN");
        holder.query(hold);
        waiter.send(&query(&format!("BEGIN; {wait}; ROLLBACK")));
        let activity = format!(
            "SELECT state, wait_event_type, wait_event FROM pg_stat_activity WHERE pid = {second}"
        );
        until(&mut watcher, &activity, &format!("active | Lock | {event}"));
        // The statement is begun again on a thread that may wait, so that it does not wait for a moment.
        until(&mut watcher, &format!("SELECT pg_blocking_pids({second})"), &format!("{{{first}}}"));
        assert_eq!(one(&mut watcher, &format!("SELECT pg_blocking_pids({first})")), "{}");
        let waits = format!(
            "SELECT locktype, mode, waitstart <= clock_timestamp() FROM pg_locks WHERE NOT granted AND pid = {second}"
        );
        until(&mut watcher, &waits, &format!("{kind} | {mode} | t"));
        // The query by which everybody finds who blocks whom.
        let pairs = format!(
            "WITH l AS MATERIALIZED (SELECT * FROM pg_locks) \
             SELECT DISTINCT w.pid = {second}, h.pid = {first} FROM l w JOIN l h ON h.granted AND h.pid <> w.pid \
             AND h.locktype = w.locktype AND h.database IS NOT DISTINCT FROM w.database \
             AND h.relation IS NOT DISTINCT FROM w.relation \
             AND h.transactionid IS NOT DISTINCT FROM w.transactionid \
             AND h.classid IS NOT DISTINCT FROM w.classid AND h.objid IS NOT DISTINCT FROM w.objid \
             AND h.objsubid IS NOT DISTINCT FROM w.objsubid WHERE NOT w.granted"
        );
        until(&mut watcher, &pairs, "t | t");
        holder.query("ROLLBACK");
        waiter.until(b'Z');
        assert_eq!(one(&mut watcher, &format!("SELECT pg_blocking_pids({second})")), "{}");
        assert_eq!(one(&mut watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted"), "0");
    }
    assert_eq!(one(&mut watcher, "SELECT pg_blocking_pids(2147483647)"), "{}");
}

/// Another role sees that a session exists, and not what it runs.
#[test]
fn statements_of_others_are_hidden() {
    let server = start(options());
    let mut wire = Wire::connect(&server);
    let id = pid(&mut wire);
    let mut other = Wire::connect(&server);
    other.query("CREATE ROLE ann; SET ROLE ann");
    let look = format!(
        "SELECT query, state, xact_start, wait_event, backend_xmin FROM pg_stat_activity WHERE pid = {id}"
    );
    assert_eq!(one(&mut other, &look), "<insufficient privilege> | NULL | NULL | NULL | NULL");
}

/// Says that something is over, however it ends.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// While many sessions write the same few rows, every answer makes sense: a waiting session is active, waits
/// for another session, and not longer than the test takes.
#[test]
fn answers_under_load() {
    const WRITERS: usize = 6;
    let server = start(options());
    let mut watcher = Wire::connect(&server);
    watcher.query(
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 3) i",
    );
    let began = one(&mut watcher, "SELECT clock_timestamp()");
    let done = AtomicBool::new(false);
    let (mut waits_seen, mut looks) = (0, 0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let done = &done;
            let mut wire = Wire::connect(&server);
            scope.spawn(move || {
                let mut turn = writer;
                while !done.load(Ordering::Relaxed) {
                    turn += 1;
                    let id = turn % 3 + 1;
                    let given = wire.query(&format!(
                        "BEGIN; UPDATE t SET n = n + 1 WHERE id = {id}; SELECT count(*) FROM t; COMMIT"
                    ));
                    assert!(given.contains("C COMMIT"), "{given}");
                }
            });
        }
        // The writers end also where a look finds something wrong.
        let _end = Done(&done);
        let end = Instant::now() + Duration::from_secs(4);
        while Instant::now() < end {
            looks += 1;
            let wrong = format!(
                "SELECT pid, state, wait_event_type, wait_event, query FROM pg_stat_activity \
                 WHERE wait_event_type = 'Lock' AND (state <> 'active' OR wait_event <> 'transactionid') \
                 OR state IS NULL OR query_start > clock_timestamp() OR state_change > clock_timestamp() \
                 OR backend_start < '{began}'::timestamptz - interval '1 minute'"
            );
            assert_eq!(rows(&watcher.query(&wrong)), Vec::<String>::new());
            let waits = "WITH a AS MATERIALIZED (SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock') \
                         SELECT pid, pg_blocking_pids(pid) FROM a";
            for row in rows(&watcher.query(waits)) {
                let (waiter, blockers) = row.split_once(" | ").expect("two columns");
                let blockers = blockers.trim_matches(['{', '}']);
                // It may have been given the lock between the two looks.
                let mut blockers = blockers.split(',').filter(|pid| !pid.is_empty());
                assert!(blockers.all(|blocker| blocker != waiter), "{row}");
                waits_seen += 1;
            }
            let locks = format!(
                "WITH l AS MATERIALIZED (SELECT * FROM pg_locks) SELECT * FROM l w WHERE NOT granted AND \
                 (waitstart IS NULL OR waitstart < '{began}' OR waitstart > clock_timestamp() \
                  OR NOT EXISTS (SELECT FROM l h WHERE h.granted AND h.locktype = w.locktype \
                  AND h.transactionid = w.transactionid))"
            );
            assert_eq!(rows(&watcher.query(&locks)), Vec::<String>::new());
        }
    });
    assert!(looks > 10 && waits_seen > 0, "{looks} looks have seen {waits_seen} waits");
    // Once all is quiet nothing is left over.
    let left = "SELECT count(*) FROM pg_locks WHERE locktype <> 'virtualxid' AND NOT (locktype = 'relation' AND fastpath)";
    until(&mut watcher, left, "0");
}

/// The uses of tables, indexes and databases are counted, while many sessions use them at once. A reset begins
/// counting anew.
#[test]
fn use_is_counted() {
    const WRITERS: i32 = 4;
    const ROWS: i32 = 50;
    let server = start(options());
    let mut wire = Wire::connect(&server);
    wire.query("CREATE TABLE t (id int PRIMARY KEY, n int); CREATE INDEX t_n ON t (n)");
    let of_table =
        |what: &str| format!("SELECT {what} FROM pg_stat_user_tables WHERE relname = 't'");
    let of_database = |what: &str| {
        format!("SELECT {what} FROM pg_stat_database WHERE datname = current_database()")
    };
    let commits: i64 = one(&mut wire, &of_database("xact_commit")).parse().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let server = &server;
            scope.spawn(move || {
                let mut wire = Wire::connect(server);
                for row in 0..ROWS {
                    let id = writer * ROWS + row;
                    wire.query(&format!("INSERT INTO t VALUES ({id}, {id})"));
                    wire.query(&format!("UPDATE t SET n = n + 1 WHERE id = {id}"));
                    wire.query(&format!("SELECT n FROM t WHERE id = {id}"));
                    if row % 5 == 0 {
                        wire.query(&format!("DELETE FROM t WHERE id = {id}"));
                    }
                }
                wire.query("BEGIN; INSERT INTO t VALUES (-1, 1); ROLLBACK");
            });
        }
    });
    // PostgreSQL counts what was rolled back, too.
    let counted = "n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_mod_since_analyze";
    assert_eq!(one(&mut wire, &of_table(counted)), "204 | 200 | 40 | 160 | 444");
    let scans = "idx_scan >= 440, idx_tup_fetch >= 440, seq_scan, last_idx_scan <= clock_timestamp(), last_seq_scan";
    assert_eq!(one(&mut wire, &of_table(scans)), "t | t | 0 | t | NULL");
    let done: i64 = one(&mut wire, &of_database("xact_commit")).parse().unwrap();
    assert!(done - commits >= 640, "{commits} and then {done}");
    let rest = "xact_rollback, tup_inserted, tup_updated, tup_deleted, sessions, active_time > 0, session_time > 0";
    assert_eq!(one(&mut wire, &of_database(rest)), "4 | 204 | 200 | 40 | 5 | t | t");

    wire.query("SELECT count(*) FROM t WHERE n + 0 > 5");
    wire.query("SELECT id FROM t WHERE n = 18");
    assert_eq!(
        one(&mut wire, &of_table("seq_scan, seq_tup_read, last_seq_scan <= clock_timestamp()")),
        "1 | 160 | t"
    );
    let of_indexes = "SELECT indexrelname, idx_scan, idx_tup_read FROM pg_stat_user_indexes WHERE relname = 't' \
                      AND idx_scan < 100 ORDER BY 1";
    assert_eq!(rows(&wire.query(of_indexes)), ["t_n | 1 | 1"]);
    let analyzed =
        "analyze_count, last_analyze <= clock_timestamp(), n_mod_since_analyze, vacuum_count";
    wire.query("ANALYZE t");
    assert_eq!(one(&mut wire, &of_table(analyzed)), "1 | t | 0 | 0");
    wire.query("VACUUM t");
    assert_eq!(
        one(&mut wire, &of_table("vacuum_count, last_vacuum <= clock_timestamp()")),
        "1 | t"
    );

    let logged = "SELECT wal_records > 0, wal_bytes > 1000, wal_sync > 0, stats_reset IS NULL FROM pg_stat_wal";
    assert_eq!(one(&mut wire, logged), "t | t | t | t");
    wire.query("SELECT pg_stat_reset(); SELECT pg_stat_reset_shared('wal')");
    assert_eq!(
        one(&mut wire, &of_table("n_tup_ins, idx_scan, last_analyze, n_live_tup")),
        "0 | 0 | NULL | 160"
    );
    assert_eq!(
        one(&mut wire, &of_database("tup_inserted, stats_reset <= clock_timestamp()")),
        "0 | t"
    );
    let logged = "SELECT wal_records, wal_bytes, stats_reset IS NULL FROM pg_stat_wal";
    assert_eq!(one(&mut wire, logged), "0 | 0 | f");
    assert!(wire.query("SELECT pg_stat_reset_shared('nothing')").contains("22023"));
    wire.query("CREATE ROLE ann; SET ROLE ann");
    assert!(wire.query("SELECT pg_stat_reset()").contains("42501"));
}

/// Statements that differ in constants alone are one row of `pg_stat_statements`, in the databases that have the
/// extension, with their costs in all; a reset begins its figures anew.
#[test]
fn statements_are_recorded() {
    const SESSIONS: i32 = 4;
    const TURNS: i32 = 50;
    let server = start(options());
    let mut wire = Wire::connect(&server);
    wire.query("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (0, 0)");
    assert!(wire.query("SELECT * FROM pg_stat_statements").contains("42P01"));
    let hidden = "SELECT count(*) FROM pg_class WHERE relname = 'pg_stat_statements'";
    assert_eq!(one(&mut wire, hidden), "0");
    wire.query("CREATE SCHEMA seen");
    wire.query("CREATE EXTENSION pg_stat_statements SCHEMA seen");
    assert_eq!(
        one(
            &mut wire,
            "SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'pg_stat_statements'"
        ),
        "seen"
    );
    assert!(wire.query("SELECT * FROM pg_stat_statements").contains("42P01"));
    wire.query("SET search_path = public, seen");
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let server = &server;
            scope.spawn(move || {
                let mut wire = Wire::connect(server);
                for turn in 1..=TURNS {
                    let id = session * TURNS + turn;
                    wire.query(&format!("INSERT INTO t VALUES ({id}, {turn}), (-{id}, 1)"));
                    wire.query(&format!("select n from T where id = {id}; -- it"));
                    wire.query(&format!("SELECT n\nFROM t WHERE id = {id}"));
                    wire.query("SELECT 1 / 0");
                }
            });
        }
    });
    let of = |like: &str| {
        format!(
            "SELECT query, calls, rows, total_exec_time > 0, min_exec_time <= mean_exec_time, \
             mean_exec_time <= max_exec_time, stddev_exec_time >= 0, toplevel, \
             abs(total_exec_time - calls * mean_exec_time) < 0.01 \
             FROM pg_stat_statements WHERE query ILIKE '{like}'"
        )
    };
    let inserted = one(&mut wire, &of("insert into t values (%), (%"));
    assert!(inserted.contains(" | 200 | 400 | t | t | t | t | t | t"), "{inserted}");
    assert!(inserted.starts_with("INSERT INTO t VALUES ($1, $2), ("), "{inserted}");
    let found = one(&mut wire, &of("select n%from t where id = %"));
    assert!(found.contains(" | 400 | 400 | t | t | t | t | t | t"), "{found}");
    // A failed statement is not counted.
    assert!(rows(&wire.query(&of("SELECT $1 / $2"))).is_empty());
    let numbers = "SELECT count(*) = count(DISTINCT queryid), bool_and(queryid <> 0), bool_and(dbid = \
                   (SELECT oid FROM pg_database WHERE datname = current_database())), bool_and(userid = 10) \
                   FROM pg_stat_statements";
    assert_eq!(one(&mut wire, numbers), "t | t | t | t");

    // Other roles see that there are statements, and not which.
    let mut other = Wire::connect(&server);
    other.query("CREATE ROLE ann; GRANT USAGE ON SCHEMA seen TO ann; SET ROLE ann");
    let texts = "SELECT DISTINCT query, queryid FROM seen.pg_stat_statements WHERE userid = 10";
    assert_eq!(one(&mut other, texts), "<insufficient privilege> | NULL");
    assert!(other.query("SELECT seen.pg_stat_statements_reset()").contains("42501"));

    wire.query("SET pg_stat_statements.track = none");
    wire.query("SELECT pg_stat_statements_reset()");
    assert_eq!(one(&mut wire, "SELECT count(*) FROM pg_stat_statements"), "0");
    let info = "SELECT dealloc, stats_reset <= clock_timestamp() FROM pg_stat_statements_info";
    assert_eq!(one(&mut wire, info), "0 | t");
    wire.query("SET pg_stat_statements.track = top");
    wire.query("SELECT 5");
    wire.query("SET pg_stat_statements.track_utility = off");
    wire.query("BEGIN; COMMIT");
    assert_eq!(
        one(&mut wire, "SELECT count(*) FROM pg_stat_statements WHERE query = 'SELECT $1'"),
        "1"
    );
    assert_eq!(
        one(&mut wire, "SELECT count(*) FROM pg_stat_statements WHERE query = 'BEGIN'"),
        "0"
    );
    let by_number = "SELECT pg_stat_statements_reset(0, 0, queryid) IS NOT NULL FROM pg_stat_statements WHERE query = 'SELECT $1'";
    assert_eq!(one(&mut wire, by_number), "t");
    assert_eq!(
        one(&mut wire, "SELECT count(*) FROM pg_stat_statements WHERE query = 'SELECT $1'"),
        "0"
    );
    wire.query("DROP EXTENSION pg_stat_statements");
    assert!(
        wire.query("SELECT count(*) FROM pg_stat_statements WHERE query = 'SELECT $1'")
            .contains("42P01")
    );
}

/// A long command tells how far it has come, and nothing once it has ended; rows that `COPY` brings count.
#[test]
fn progress_is_shown() {
    const ROWS: usize = 100_000;
    let server = start(options());
    let (mut wire, mut watcher) = (Wire::connect(&server), Wire::connect(&server));
    wire.query("CREATE TABLE t (id int PRIMARY KEY, n int)");
    wire.send(&query("COPY t FROM STDIN"));
    wire.until(b'G');
    let data: String = (0..ROWS).map(|id| format!("{id}\t{id}\n")).collect();
    wire.send(&message(b'd', data.as_bytes()));
    let copied = format!(
        "SELECT command, type, relid = 't'::regclass, tuples_processed BETWEEN 0 AND {ROWS}, bytes_processed \
         FROM pg_stat_progress_copy"
    );
    let wanted = format!("COPY FROM | PIPE | t | t | {}", data.len());
    until(&mut watcher, &copied, &wanted);
    wire.send(&message(b'c', b""));
    wire.until(b'Z');
    assert!(rows(&watcher.query(&copied)).is_empty());
    let counted = "SELECT n_tup_ins, n_live_tup FROM pg_stat_user_tables WHERE relname = 't'";
    assert_eq!(one(&mut watcher, counted), format!("{ROWS} | {ROWS}"));

    wire.send(&query("CREATE INDEX t_n ON t (n)"));
    let indexed = "SELECT relid = 't'::regclass, index_relid > 16383, command, phase, tuples_total \
                   FROM pg_stat_progress_create_index";
    let wanted = format!("t | t | CREATE INDEX | building index: scanning table | {ROWS}");
    until(&mut watcher, indexed, &wanted);
    wire.until(b'Z');
    assert!(rows(&watcher.query(indexed)).is_empty());
}
