//! Several databases of one server, and who is connected to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use session::{Error, Instance, Session};
use types::SqlState;

use crate::client::{connect, connect_to, instance, query};

/// The output of psql for a statement.
fn show(session: &mut Session, text: &str) -> String {
    let mut shown = String::new();
    query(session, text, &mut std::iter::empty(), &mut shown);
    shown
}

fn refusal(instance: &Arc<Instance>, database: &str, user: &str) -> Error {
    connect_to(instance, database, user).err().expect("it is refused")
}

/// A database that others are connected to is neither dropped nor renamed, and says how many they are.
#[test]
fn who_is_connected_keeps_a_database() {
    let instance = instance();
    let mut one = connect(&instance);
    show(&mut one, "create database shop;");
    let others = [(); 2].map(|()| connect_to(&instance, "shop", "postgres").expect("it connects"));
    let in_use = "ERROR:  55006: database \"shop\" is being accessed by other users\n";
    let two = "DETAIL:  There are 2 other sessions using the database.\n";
    assert_eq!(show(&mut one, "drop database shop;"), format!("{in_use}{two}"));
    let [first, second] = others;
    drop(first);
    let left = "DETAIL:  There is 1 other session using the database.\n";
    let rename = "alter database shop rename to store;";
    assert_eq!(show(&mut one, rename), format!("{in_use}{left}"));
    drop(second);
    assert_eq!(show(&mut one, rename), "ALTER DATABASE\n");
    assert_eq!(show(&mut one, "drop database store;"), "DROP DATABASE\n");
    assert_eq!(refusal(&instance, "store", "postgres").state(), SqlState::INVALID_CATALOG_NAME);
}

/// `WITH (FORCE)` ends the sessions of others, and takes their temporary tables along.
#[test]
fn force_ends_the_sessions_of_others() {
    let instance = instance();
    let mut one = connect(&instance);
    show(&mut one, "create database shop;");
    let mut other = connect_to(&instance, "shop", "postgres").expect("it connects");
    show(&mut other, "create table t (a int); create temp table own (a int);");
    let thrown_out = std::thread::spawn(move || {
        let shown = show(&mut other, "select pg_sleep(3600);");
        assert!(other.terminated().is_some());
        shown
    });
    assert_eq!(show(&mut one, "drop database shop with (force);"), "DROP DATABASE\n");
    let shown = thrown_out.join().expect("it ends");
    assert!(shown.contains("57P01: terminating connection"), "{shown}");
    let left = "select count(*) from pg_namespace where nspname like 'pg_temp%';";
    assert!(show(&mut one, left).contains("\n0\n"));
}

/// A notification stays in its database.
#[test]
fn notifications_stay_in_their_database() {
    let instance = instance();
    let mut one = connect(&instance);
    show(&mut one, "create database shop; ");
    let mut other = connect_to(&instance, "shop", "postgres").expect("it connects");
    show(&mut one, "listen news;");
    show(&mut other, "listen news;");
    show(&mut other, "notify news, 'of the shop';");
    assert!(one.take_messages().notifications.is_empty());
    // The answer took the notification to itself along; so it notifies itself again.
    show(&mut one, "notify news, 'of the first';");
    assert!(other.take_messages().notifications.is_empty());
}

/// Roles and databases have as many sessions as they may; superusers are not counted out.
#[test]
fn there_are_no_more_sessions_than_may_be() {
    let instance = instance();
    let mut one = connect(&instance);
    show(&mut one, "create database shop connection limit 2;");
    show(&mut one, "create role ann login connection limit 1;");
    show(&mut one, "create role bob login;");
    let ann = connect_to(&instance, "postgres", "ann").expect("her first");
    let error = refusal(&instance, "shop", "ann");
    assert_eq!(error.state(), SqlState::TOO_MANY_CONNECTIONS);
    assert_eq!(error.message(), "too many connections for role \"ann\"");
    drop(ann);
    let _ann = connect_to(&instance, "shop", "ann").expect("she has none");
    let _bob = connect_to(&instance, "shop", "bob").expect("there is room");
    let error = refusal(&instance, "shop", "bob");
    assert_eq!(error.message(), "too many connections for database \"shop\"");
    connect_to(&instance, "shop", "postgres").expect("a superuser");
    connect_to(&instance, "postgres", "bob").expect("another database");
    show(&mut one, "alter database shop allow_connections false;");
    let error = refusal(&instance, "shop", "postgres");
    assert_eq!(error.message(), "database \"shop\" is not currently accepting connections");
}

/// The objects of a role in another database are counted, because nobody could be shown them there.
#[test]
fn belongings_elsewhere_are_counted() {
    let instance = instance();
    let mut one = connect(&instance);
    show(&mut one, "create role ann login;");
    show(&mut one, "create database shop owner ann;");
    let mut other = connect_to(&instance, "shop", "ann").expect("it connects");
    show(&mut other, "create schema s;");
    show(&mut other, "create table s.t (a int);");
    let told = "DETAIL:  owner of database shop\n2 objects in database shop\n";
    let shown = show(&mut one, "drop role ann;");
    assert!(shown.ends_with(told), "{shown}");
    let seen =
        "select datname, numbackends from pg_stat_database where numbackends > 0 order by 1;";
    assert!(show(&mut one, seen).contains("postgres|1\nshop|1\n"));
}

/// A role without special rights may end only sessions of roles that it is a member of.
#[test]
fn sessions_of_others_are_not_ended_by_anybody() {
    let instance = instance();
    let mut one = connect(&instance);
    for role in ["ann", "bob", "watch in role pg_signal_backend"] {
        show(&mut one, &format!("create role {role} login;"));
    }
    let session = |role| connect_to(&instance, "postgres", role).expect("it connects");
    let (mut ann, bob, mut watch) = (session("ann"), session("bob"), session("watch"));
    let seen = "select usename, query like 'select usename%' from pg_stat_activity order by 1;";
    show(&mut one, seen);
    assert!(show(&mut ann, seen).contains("ann|t\nbob|f\npostgres|f\n"));
    assert!(show(&mut one, seen).contains("ann|t\nbob|f\npostgres|t\n"));
    let ends = |pid: i32| format!("select pg_terminate_backend({pid});");
    let shown = show(&mut ann, &ends(one.process_id()));
    assert!(shown.contains("42501: permission denied to terminate process"), "{shown}");
    assert!(shown.contains("SUPERUSER attribute may terminate"), "{shown}");
    let shown = show(&mut ann, &ends(bob.process_id()));
    assert!(shown.contains("\"pg_signal_backend\" role may terminate this process."), "{shown}");
    let shown = show(&mut watch, &ends(one.process_id()));
    assert!(shown.contains("42501"), "{shown}");
    assert!(bob.terminated().is_none() && one.terminated().is_none());
    assert!(show(&mut watch, &ends(bob.process_id())).contains("\nt\n"));
    assert!(bob.terminated().is_some());
    let nobody = show(&mut watch, &ends(i32::MAX));
    assert!(nobody.contains("WARNING:  01000: PID 2147483647 is not"), "{nobody}");
}

/// A session that begins while a database is dropped connects before, or not at all, or gets an
/// error: nothing is left in a database that is gone.
#[test]
fn logins_race_with_drops() {
    let instance = instance();
    let mut one = connect(&instance);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for at in 0..2 {
            let (instance, done) = (&instance, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let mut session = match connect_to(instance, "shop", "postgres") {
                        Ok(session) => session,
                        Err(error) => {
                            assert_eq!(error.state(), SqlState::INVALID_CATALOG_NAME, "{error}");
                            continue;
                        }
                    };
                    let shown = show(&mut session, &format!("create table t{at} (a int);"));
                    let is_known = ["CREATE TABLE", "3D000", "42P07", "3F000", "40001", "57P01"]
                        .iter()
                        .any(|known| shown.contains(known));
                    assert!(is_known, "{shown}");
                }
            });
        }
        for _ in 0..60 {
            show(&mut one, "create database shop;");
            let shown = show(&mut one, "drop database shop with (force);");
            assert!(shown == "DROP DATABASE\n" || shown.contains("55006"), "{shown}");
        }
        done.store(true, Ordering::Relaxed);
    });
    show(&mut one, "drop database if exists shop with (force);");
    let left = "select count(*) from pg_class c left join pg_namespace n on n.oid = relnamespace \
                where n.oid is null or relname like 't_';";
    assert!(show(&mut one, left).contains("\n0\n"));
}
