//! From the first packet to the end: versions, limits, time running out, cancelling, shutting down.

use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use server::{Limits, Options, Server};

use crate::world::{Wire, instance, message, options, packet, show, start, startup};

/// A statement that would run for hours, and gives no rows meanwhile.
const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 1000000000000)";

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

/// The first answers are those that drivers wait for, settings that they read among them.
#[test]
fn the_first_answers() {
    let server = start(options());
    let mut wire = Wire::open(server.addresses()[0]);
    let answers = wire.begin(&[
        ("user", "postgres"),
        ("application_name", "first"),
        ("options", "-c DateStyle=German --intervalstyle=iso_8601"),
    ]);
    let shown = show(&answers);
    assert!(shown.starts_with("R 00 00 00 00\nS "), "{shown}");
    assert!(shown.ends_with("\nK process secret\nZ I\n"), "{shown}");
    for setting in [
        "application_name=first",
        "client_encoding=UTF8",
        "DateStyle=German, DMY",
        "default_transaction_read_only=off",
        "in_hot_standby=off",
        "integer_datetimes=on",
        "IntervalStyle=iso_8601",
        "is_superuser=on",
        "server_encoding=UTF8",
        "session_authorization=postgres",
        "standard_conforming_strings=on",
    ] {
        assert!(shown.contains(&format!("\nS {setting}\n")), "{setting} is missing: {shown}");
    }
    assert!(shown.contains("\nS server_version=17."), "{shown}");
    assert_eq!(wire.secret.len(), 4);
}

/// Newer versions and extensions are negotiated, older protocols refused.
#[test]
fn versions() {
    let server = start(options());
    let address = server.addresses()[0];
    let user = &[("user", "postgres")];

    let mut wire = Wire::open(address);
    wire.send(&startup(3 << 16 | 2, user));
    assert!(!show(&wire.greeted()).starts_with('v'));
    assert_eq!(wire.secret.len(), 32);

    let mut wire = Wire::open(address);
    wire.send(&startup(3 << 16 | 9, &[("user", "postgres"), ("_pq_.later", "1")]));
    let answers = wire.greeted();
    assert_eq!(answers[0].kind, b'v');
    assert_eq!(&answers[0].body[..8], [0, 3, 0, 2, 0, 0, 0, 1]);
    assert_eq!(&answers[0].body[8..], b"_pq_.later\0");

    let mut wire = Wire::open(address);
    wire.send(&startup(2 << 16, user));
    let refusal = wire.next().unwrap();
    assert_eq!(refusal.state(), "0A000");
    assert_eq!(refusal.field(b'S').as_deref(), Some("FATAL"));
    assert_eq!(wire.next(), None);
}

/// First packets that are none end the connection, and nothing else.
#[test]
fn first_packets_that_are_none() {
    let server = start(options());
    let address = server.addresses()[0];
    for (bytes, state) in [
        (vec![0, 0, 0, 4], "08P01"),
        (vec![0, 0, 0x27, 0x11], "08P01"),
        (vec![0xff; 8], "08P01"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "08P01"),
        (startup(3 << 16, &[("user", "")]), "28000"),
        (startup(3 << 16, &[("user", "postgres"), ("options", "-z")]), "42601"),
        (startup(3 << 16, &[("user", "postgres"), ("replication", "on")]), "0A000"),
        (startup(3 << 16, &[("user", "postgres"), ("DateStyle", "none")]), "22023"),
        (startup(3 << 16, &[("user", "postgres"), ("nothing", "at all")]), "42704"),
        (startup(3 << 16, &[("user", "nobody")]), "28000"),
        (startup(3 << 16, &[("user", "postgres"), ("database", "none")]), "3D000"),
    ] {
        let mut wire = Wire::open(address);
        wire.send(&bytes);
        // Settings are looked at after the client has proved who it is.
        let refusal = wire.until(b'E').pop().unwrap();
        assert_eq!(refusal.state(), state, "{}", bytes.escape_ascii());
        assert_eq!(refusal.field(b'V').as_deref(), Some("FATAL"));
        assert_eq!(wire.next(), None);
    }
    assert!(Wire::connect(&server).query("SELECT 1").contains("D 1"));
}

/// Programs that ask for commands of replication, as `pg_basebackup` does, get an error that names the
/// alternatives.
#[test]
fn replication_is_refused_with_the_ways_to_make_a_backup() {
    let server = start(options());
    for mode in ["true", "database", "1"] {
        let mut wire = Wire::open(server.addresses()[0]);
        wire.send(&startup(3 << 16, &[("user", "postgres"), ("replication", mode)]));
        let refusal = wire.until(b'E').pop().expect("it answers");
        assert_eq!(refusal.state(), "0A000");
        let message = refusal.field(b'M').expect("it has a message");
        assert_eq!(message, "a replication connection is not supported");
        let hint = refusal.field(b'H').expect("it has a hint");
        assert!(
            hint.contains("SELECT backup(") && hint.contains("anywhen backup --from"),
            "{hint}"
        );
    }
}

/// Without TLS both requests to encrypt are declined, and the session begins in the clear.
#[test]
fn encryption_is_declined() {
    let server = start(options());
    let mut wire = Wire::open(server.addresses()[0]);
    for code in [80_877_104_u32, 80_877_103] {
        wire.send(&packet(&code.to_be_bytes()));
        let mut answer = [0];
        std::io::Read::read_exact(&mut wire.stream, &mut answer).unwrap();
        assert_eq!(&answer, b"N");
    }
    wire.begin(&[("user", "postgres")]);
    assert!(wire.query("SELECT 1").contains("D 1"));
}

/// A client that knows the secret cancels a statement, though it keeps its core busy, and the
/// session goes on.
#[test]
fn cancelling() {
    let server = start(Options { cores: 1, ..options() });
    let mut wire = Wire::connect(&server);
    let cancel = |secret: &[u8]| {
        let mut other = Wire::open(server.addresses()[0]);
        let request = [&80_877_102_u32.to_be_bytes(), &wire.process.to_be_bytes()[..], secret];
        other.send(&packet(&request.concat()));
        // No answer: the connection is closed when it is done.
        assert_eq!(other.next(), None);
    };
    wire.stream
        .try_clone()
        .map(|mut stream| {
            std::io::Write::write_all(&mut stream, &query(ENDLESS)).unwrap();
        })
        .unwrap();
    std::thread::sleep(Duration::from_millis(50));
    cancel(&[0; 4]);
    std::thread::sleep(Duration::from_millis(50));
    cancel(&wire.secret);
    let shown = show(&wire.until(b'Z'));
    assert_eq!(
        shown,
        "T count type 20 length 8\nE ERROR 57014: canceling statement due to user request\nZ I\n"
    );
    assert!(wire.query("SELECT 1").contains("D 1"));
    assert_eq!(server.metrics().cancel_requests_total, 2);
}

/// A statement ends by itself when its time is up.
#[test]
fn statement_timeout() {
    let server = start(options());
    let mut wire = Wire::connect(&server);
    wire.query("SET statement_timeout = 50");
    assert_eq!(
        wire.query(ENDLESS),
        "T count type 20 length 8\nE ERROR 57014: canceling statement due to statement timeout\nZ I\n"
    );
    assert!(wire.query("SELECT 1").contains("D 1"));
}

/// Deadlines are met while a later one is waited for, after an earlier one was called off, and by a server
/// that comes after another one over the same database.
#[test]
fn deadlines_in_any_order() {
    let instance = instance();
    for _ in 0..2 {
        let server = Server::start(Arc::clone(&instance), options()).expect("it starts");
        let mut patient = Wire::connect(&server);
        patient.query("SET statement_timeout = 600000");
        patient.query("SELECT 1");
        let mut wire = Wire::connect(&server);
        for timeout in ["100000", "40"] {
            wire.query(&format!("SET statement_timeout = {timeout}"));
            wire.query("SELECT 1");
        }
        let start = Instant::now();
        assert!(wire.query(ENDLESS).contains("E ERROR 57014"));
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(40), "{took:?}");
        assert!(wire.query("SELECT 1").contains("D 1"));
        drop((patient, wire));
        server.shutdown();
    }
}

/// A client that is silent for too long is disconnected, with the code of where it was silent.
#[test]
fn silence() {
    let server = start(options());
    for (setup, state) in [
        ("SET idle_session_timeout = 50", "57P05"),
        ("SET idle_in_transaction_session_timeout = 50; BEGIN", "25P03"),
    ] {
        let mut wire = Wire::connect(&server);
        wire.query(setup);
        let last = wire.next().unwrap();
        assert_eq!(last.state(), state);
        assert_eq!(last.field(b'S').as_deref(), Some("FATAL"));
        assert_eq!(wire.next(), None);
    }
    let mut patient = Wire::connect(&server);
    patient.query("SET idle_in_transaction_session_timeout = 50");
    std::thread::sleep(Duration::from_millis(150));
    assert!(patient.query("SELECT 1").contains("D 1"));
}

/// A client has a limited time to authenticate.
#[test]
fn authentication_timeout() {
    let limits = Limits { authentication: Duration::from_millis(50), ..Limits::default() };
    let server = start(Options { limits, ..options() });
    let mut wire = Wire::open(server.addresses()[0]);
    wire.send(&[0, 0, 0]);
    assert_eq!(wire.next().unwrap().state(), "57014");
    assert_eq!(wire.next(), None);
}

/// A session too many gets an error; when one ends there is room again.
#[test]
fn too_many() {
    let limits = Limits { connections_max: 2, ..Limits::default() };
    let server = start(Options { limits, ..options() });
    let first = Wire::connect(&server);
    let _second = Wire::connect(&server);
    let mut third = Wire::open(server.addresses()[0]);
    third.send(&startup(3 << 16, &[("user", "postgres")]));
    assert_eq!(third.next().unwrap().state(), "53300");
    first.stream.shutdown(Shutdown::Both).unwrap();
    let start = Instant::now();
    loop {
        let mut again = Wire::open(server.addresses()[0]);
        again.send(&startup(3 << 16, &[("user", "postgres")]));
        if again.next().unwrap().kind == b'R' {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "no room came free");
    }
}

/// Clients that connect and say nothing, or half of a startup, kept others out for a minute once there were
/// more of them than places. The one that came first leaves for the next.
#[test]
fn silent_clients_leave_for_others() {
    let limits = Limits { connections_max: 5, ..Limits::default() };
    let server = start(Options { limits, ..options() });
    let mut known = Wire::connect(&server);
    let hello = startup(3 << 16, &[("user", "postgres")]);
    let silent: Vec<Wire> = (0..300)
        .map(|number| {
            let mut wire = Wire::open(server.addresses()[0]);
            wire.send(&hello[..number % hello.len()]);
            wire
        })
        .collect();
    for _ in 0..10 {
        let begun = Instant::now();
        assert!(Wire::connect(&server).query("SELECT 1").contains("D 1"));
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
    assert!(known.query("SELECT 1").contains("D 1"), "who has a session keeps it");
    let mut first = silent.into_iter().next().unwrap();
    assert_eq!(first.next().unwrap().state(), "53300", "it is told why");
}

/// Clients that are asked for a password and do not answer held the places of those who can prove who they
/// are.
#[test]
fn unproved_clients_hold_no_session() {
    let limits = Limits { connections_max: 2, ..Limits::default() };
    let server = start(Options { limits, ..options() });
    let mut known = Wire::connect(&server);
    known.query("CREATE ROLE ann LOGIN PASSWORD 'secret'");
    let mut asked = Vec::new();
    for _ in 0..5 {
        let mut wire = Wire::open(server.addresses()[0]);
        wire.send(&startup(3 << 16, &[("user", "ann"), ("database", "postgres")]));
        assert_eq!(wire.next().unwrap().kind, b'R');
        asked.push(wire);
    }
    assert!(Wire::connect(&server).query("SELECT 1").contains("D 1"));
}

/// 2,000 connections are opened and dropped, at every stage, and leave nothing behind.
#[test]
fn a_crowd_that_goes() {
    let server = start(options());
    let hello = startup(3 << 16, &[("user", "postgres")]);
    for number in 0..2_000 {
        let mut wire = Wire::open(server.addresses()[0]);
        match number % 5 {
            0 => {}
            1 => wire.send(&hello[..number % hello.len()]),
            2 => wire.send(&hello),
            3 => {
                wire.begin(&[("user", "postgres")]);
            }
            _ => {
                wire.begin(&[("user", "postgres")]);
                wire.send(&query("SELECT 1; SELECT g FROM generate_series(1, 100000) g"));
            }
        }
    }
    assert!(Wire::connect(&server).query("SELECT 1").contains("D 1"));
    let start = Instant::now();
    while server.metrics().connections > 1 {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", server.metrics());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(server.metrics().panics_total, 0);
}

/// When the server stops, all clients get a message, whatever they are doing, and it stops soon.
#[test]
fn shutting_down() {
    let server = start(options());
    let mut idle = Wire::connect(&server);
    let mut in_block = Wire::connect(&server);
    in_block.query("BEGIN");
    let mut busy = Wire::connect(&server);
    busy.send(&query(ENDLESS));
    let mut guest = Wire::open(server.addresses()[0]);
    guest.send(&[0, 0]);
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    server.shutdown();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    for wire in [&mut idle, &mut in_block, &mut busy] {
        let last = wire.until(b'E').pop().unwrap();
        assert_eq!(last.state(), "57P01");
        assert_eq!(
            last.field(b'M').as_deref(),
            Some("terminating connection due to administrator command")
        );
        assert_eq!(wire.next(), None);
    }
    assert_eq!(guest.next(), None);
}

/// Results that are larger than any buffer come whole, and the server does not keep them.
#[test]
fn large_results() {
    let server = start(options());
    let mut wire = Wire::connect(&server);
    wire.send(&query("SELECT g, repeat('x', 1000) FROM generate_series(1, 20000) g"));
    let answers = wire.until(b'Z');
    let rows = answers.iter().filter(|answer| answer.kind == b'D').count();
    assert_eq!(rows, 20_000);
    let sends = server.metrics().sends_total;
    // 64 KB each, and 256 KB once another thread computes them.
    assert!((60..1_000).contains(&sends), "20 MB went out in {sends} pieces");
}

/// A parameter of 20 MB is taken, and one above the limit is refused before it is read.
#[test]
fn giant_parameters() {
    let limits = Limits { message_bytes_max: 32 << 20, ..Limits::default() };
    let server = start(Options { limits, ..options() });
    let mut wire = Wire::connect(&server);
    let text = format!("SELECT length('{}')", "x".repeat(20 << 20));
    assert!(wire.query(&text).contains(&format!("D {}", 20 << 20)));
    wire.send(&[b'Q', 0x7f, 0, 0, 0]);
    let last = wire.next().unwrap();
    assert_eq!(last.field(b'M').as_deref(), Some("invalid message length"));
    assert_eq!(wire.next(), None);
}

/// A series of messages is answered with one send, whatever its length.
#[test]
fn few_sends() {
    let server = start(options());
    let mut wire = Wire::connect(&server);
    let before = server.metrics().sends_total;
    let mut series = Vec::new();
    for _ in 0..20 {
        series.extend(message(b'P', b"\0SELECT 1\0\0\0"));
        series.extend(message(b'B', b"\0\0\0\0\0\0\0\0"));
        series.extend(message(b'D', b"P\0"));
        series.extend(message(b'E', b"\0\0\0\0\0"));
    }
    series.extend(message(b'S', b""));
    wire.send(&series);
    assert_eq!(wire.until(b'Z').len(), 20 * 5 + 1);
    assert_eq!(server.metrics().sends_total - before, 1);
}

/// A notification reaches a session that says nothing.
#[test]
fn notifications() {
    let server = start(options());
    let mut listener = Wire::connect(&server);
    let mut speaker = Wire::connect(&server);
    listener.query("LISTEN news");
    speaker.query("NOTIFY news, 'it rains'");
    let heard = listener.next().unwrap();
    assert_eq!(show(&[heard]), "A process news it rains\n");
    // One's own comes with the answer, before ReadyForQuery.
    assert_eq!(listener.query("NOTIFY news, 'mine'"), "C NOTIFY\nA process news mine\nZ I\n");
}

/// In a transaction block a row that is locked for a moment is waited for without a thread; one that
/// stays locked, with one; and a client that goes away in the middle leaves the queue to the next.
#[test]
fn waiting_in_a_queue() {
    let server = start(Options { cores: 1, ..options() });
    let mut owner = Wire::connect(&server);
    owner.query("CREATE TABLE l (id int PRIMARY KEY, n int)");
    owner.query("INSERT INTO l VALUES (1, 0)");
    let (rounds, mut gone) = (300, 0);
    let mut waiters = [Wire::connect(&server), Wire::connect(&server)];
    for round in 0..rounds {
        owner.query("BEGIN; UPDATE l SET n = n + 1 WHERE id = 1");
        for waiter in &mut waiters {
            waiter.send(&query("BEGIN; UPDATE l SET n = n + 1 WHERE id = 1; COMMIT"));
        }
        match round % 100 {
            98 => std::thread::sleep(Duration::from_millis(50)),
            99 => {
                waiters[0] = Wire::connect(&server);
                gone += 1;
            }
            _ => {}
        }
        owner.query("COMMIT");
        for waiter in &mut waiters[if round % 100 == 99 { 1 } else { 0 }..] {
            assert_eq!(show(&waiter.until(b'Z')), "C BEGIN\nC UPDATE 1\nC COMMIT\nZ I\n");
        }
    }
    // Whether those who left had gone before their statement was done is chance.
    let answer = owner.query("SELECT n FROM l");
    let value = answer.lines().find_map(|line| line.strip_prefix("D ")).expect("a row");
    let sum: i32 = value.parse().expect("a number");
    assert!((3 * rounds - gone..=3 * rounds).contains(&sum), "{sum}");
    let metrics = server.metrics();
    assert!(metrics.queued_statements_total >= 100, "{metrics:?}");
    // Three rounds held the row for longer than a statement waits without a thread. A busy machine adds others, but at
    // least 100 of the statements needed none.
    let statements = 2 * rounds as u64;
    assert!((3..statements - 100).contains(&metrics.moved_statements_total), "{metrics:?}");
}

/// A client that waits for a lock blocks no other, whichever core it is on.
#[test]
fn waiting_for_a_lock() {
    let server = start(Options { cores: 1, ..options() });
    let mut owner = Wire::connect(&server);
    let mut waiter = Wire::connect(&server);
    owner.query("CREATE TABLE l (id int PRIMARY KEY, n int)");
    owner.query("INSERT INTO l VALUES (1, 0)");
    owner.query("BEGIN; UPDATE l SET n = 1 WHERE id = 1");
    waiter.send(&query("UPDATE l SET n = n + 10 WHERE id = 1"));
    std::thread::sleep(Duration::from_millis(100));
    assert!(owner.query("SELECT 1").contains("D 1"));
    owner.query("COMMIT");
    assert_eq!(show(&waiter.until(b'Z')), "C UPDATE 1\nZ I\n");
    assert!(owner.query("SELECT n FROM l").contains("D 11"));
    assert!(server.metrics().moved_statements_total > 0);
}

/// A statement that has given rows and has to wait for the next does so on a thread of its own:
/// cursors, portals that are run piece by piece, and results that go out in several pieces.
#[test]
fn waiting_between_rows() {
    let server = start(Options { cores: 1, ..options() });
    let mut owner = Wire::connect(&server);
    let mut waiter = Wire::connect(&server);
    owner.query("CREATE TABLE l (id int PRIMARY KEY, n int)");
    owner.query("INSERT INTO l VALUES (1, 0), (2, 0)");
    for declare in ["DECLARE c CURSOR FOR", "DECLARE c SCROLL CURSOR WITH HOLD FOR"] {
        waiter.query(&format!("BEGIN; {declare} SELECT id, pg_advisory_lock(id) FROM l"));
        owner.query("SELECT pg_advisory_lock(2)");
        let shown = waiter.query("FETCH 1 FROM c");
        assert!(shown.contains("\nD 1 |"), "{shown}");
        waiter.send(&query("FETCH 1 FROM c"));
        std::thread::sleep(Duration::from_millis(50));
        owner.query("SELECT pg_advisory_unlock(2)");
        assert!(show(&waiter.until(b'Z')).contains("\nD 2 |"));
        waiter.query("COMMIT; SELECT pg_advisory_unlock_all(); CLOSE ALL");
    }

    owner.query("BEGIN; UPDATE l SET n = 1 WHERE id = 2");
    waiter.query("BEGIN; DECLARE c CURSOR FOR SELECT id, n FROM l ORDER BY id FOR UPDATE");
    waiter.send(&query("FETCH ALL FROM c"));
    std::thread::sleep(Duration::from_millis(50));
    owner.query("COMMIT");
    assert!(show(&waiter.until(b'Z')).contains("D 1 | 0\nD 2 | 1\nC FETCH 2"));
    waiter.query("COMMIT");

    let slow = "SELECT g, CASE WHEN g > 1 THEN pg_sleep(0.001) END FROM generate_series(1, 3) g";
    let mut messages = message(b'P', format!("\0{slow}\0\0\0").as_bytes());
    messages.extend(message(b'B', &[0; 8]));
    for _ in 0..3 {
        messages.extend(message(b'E', b"\0\0\0\0\x01"));
    }
    messages.extend(message(b'S', b""));
    waiter.send(&messages);
    let shown = show(&waiter.until(b'Z'));
    assert!(["D 1", "D 2", "D 3"].iter().all(|row| shown.contains(row)), "{shown}");

    let held = "DECLARE h CURSOR WITH HOLD FOR SELECT pg_sleep(0) FROM generate_series(1, 20000)";
    let mut messages = message(b'P', format!("\0{held}\0\0\0").as_bytes());
    messages.extend(message(b'B', &[0; 8]));
    messages.extend(message(b'E', b"\0\0\0\0\0"));
    messages.extend(message(b'P', b"\0SELECT 1\0\0\0"));
    messages.extend(message(b'S', b""));
    waiter.send(&messages);
    assert!(show(&waiter.until(b'Z')).contains("C DECLARE CURSOR\n"));
    assert!(waiter.query("FETCH ALL FROM h").contains("C FETCH 20000\n"));

    let late = "CASE WHEN g > 200 THEN pg_sleep(0.001) END FROM generate_series(1, 201) g";
    let shown = waiter.query(&format!("SELECT repeat('x', 1000), {late}"));
    assert!(shown.contains("C SELECT 201\n"), "{}", &shown[shown.len().saturating_sub(100)..]);
}

/// A session that polls for its client hears notifications nevertheless, and does not keep others of the
/// core waiting. A session that is not alone, or for whose client nobody polls, sleeps.
#[test]
fn waits_that_are_awake() {
    let for_ever = Duration::from_secs(3_600);
    let server = start(Options { cores: 1, busy_poll: for_ever, ..options() });
    let mut alone = Wire::connect(&server);
    for _ in 0..40 {
        alone.query("SELECT 1");
    }
    let polls = server.metrics().busy_polls_total;
    let has_processors = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    assert_eq!(polls > 20, has_processors, "{polls}");
    alone.query("LISTEN news");
    let mut other = Wire::connect(&server);
    other.query("NOTIFY news, 'it rains'");
    let heard = alone.next().unwrap();
    assert_eq!(show(&[heard]), "A process news it rains\n");

    let polls = server.metrics().busy_polls_total;
    for _ in 0..40 {
        alone.query("SELECT 1");
        other.query("SELECT 1");
    }
    assert!(server.metrics().busy_polls_total - polls <= 1, "the first of two is not alone either");
    assert_eq!(server.metrics().busy_polls_in_vain_total, 0);

    let server = start(Options { busy_poll: Duration::ZERO, ..options() });
    let mut alone = Wire::connect(&server);
    for _ in 0..40 {
        alone.query("SELECT 1");
    }
    assert_eq!(server.metrics().busy_polls_total, 0);
}

/// `DROP INDEX CONCURRENTLY` waits for the transactions that use the table, those that only read too, and
/// blocks no use of it meanwhile; it gives up when its time is over.
#[test]
fn an_index_goes_while_others_work() {
    let server = start(options());
    let mut one = Wire::connect(&server);
    let mut other = Wire::connect(&server);
    let mut third = Wire::connect(&server);
    one.query("CREATE TABLE t (id int PRIMARY KEY, n int); CREATE INDEX t_n ON t (n)");
    for used in ["INSERT INTO t VALUES (1, 1)", "SELECT n FROM t WHERE id = 1"] {
        one.query(&format!("BEGIN; {used}"));
        other.query("SET lock_timeout = '50ms'");
        assert_eq!(
            other.query("DROP INDEX CONCURRENTLY t_n"),
            "E ERROR 55P03: canceling statement due to lock timeout\nZ I\n"
        );
        other.query("RESET lock_timeout");
        other.send(&query("DROP INDEX CONCURRENTLY t_n"));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(third.query("INSERT INTO t VALUES (2, 2)"), "C INSERT 0 1\nZ I\n");
        assert_eq!(third.query("DELETE FROM t WHERE id = 2"), "C DELETE 1\nZ I\n");
        one.query("COMMIT");
        assert_eq!(show(&other.until(b'Z')), "C DROP INDEX\nZ I\n");
        one.query("CREATE INDEX t_n ON t (n)");
    }
}

/// The table locks of transactions, and the sessions that wait for them, are in `pg_locks`.
#[test]
fn locks_of_tables_are_shown() {
    let server = start(options());
    let mut one = Wire::connect(&server);
    let mut other = Wire::connect(&server);
    one.query("CREATE TABLE t (id int PRIMARY KEY)");
    one.query("BEGIN; SELECT * FROM t; INSERT INTO t VALUES (1)");
    let locks = "SELECT l.mode, l.granted, l.fastpath FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
                 WHERE c.relname = 't' ORDER BY 1, 2";
    let mut watcher = Wire::connect(&server);
    let rows = |text: String| {
        let rows = text.lines().filter_map(|line| line.strip_prefix("D ").map(str::to_owned));
        rows.collect::<Vec<_>>()
    };
    let shown = rows(watcher.query(locks));
    assert_eq!(shown, ["AccessShareLock | t | t", "RowExclusiveLock | t | t"]);
    other.send(&query("BEGIN; LOCK TABLE t"));
    std::thread::sleep(Duration::from_millis(100));
    let shown = rows(watcher.query(locks));
    assert_eq!(
        shown,
        ["AccessExclusiveLock | f | f", "AccessShareLock | t | f", "RowExclusiveLock | t | f"]
    );
    one.query("COMMIT");
    other.until(b'Z');
    assert_eq!(rows(watcher.query(locks)), ["AccessExclusiveLock | t | f"]);
    other.query("ROLLBACK");
    assert!(rows(watcher.query(locks)).is_empty());
}
