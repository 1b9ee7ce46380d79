//! Sessions beside each other, limits, and the past: what one script of statements cannot tell.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use types::Datum;

use crate::session::Session;
use crate::world::World;

/// A world with the table `t (id int primary key, v int)` and the rows (1, 10), (2, 20), (3, 30).
fn world() -> (Arc<World>, Session) {
    let world = World::new();
    let mut session = Session::new(&world);
    for statement in [
        "create table t (id int primary key, v int)",
        "insert into t values (1, 10), (2, 20), (3, 30)",
    ] {
        assert_eq!(session.answer(statement), "= nothing", "{statement}");
    }
    (world, session)
}

/// The answer to a statement of another session when this one commits while it waits.
fn after_commit(mut first: Session, world: &Arc<World>, statement: &'static str) -> String {
    let mut second = Session::new(world);
    let waiting = std::thread::spawn(move || second.answer(statement));
    std::thread::sleep(Duration::from_millis(100));
    assert!(!waiting.is_finished(), "{statement} waits for the row");
    first.answer("commit");
    waiting.join().expect("the statement ends")
}

/// An update that waited for a row goes on from its newest state.
#[test]
fn update_sees_what_it_waited_for() {
    let (world, mut first) = world();
    first.answer("begin");
    assert_eq!(first.answer("update t set v = v + 1 where id = 1 returning v"), "> 11");
    let second = "update t set v = v * 2 where id = 1 returning v";
    assert_eq!(after_commit(first, &world, second), "> 22");
}

/// A row that no longer fits when it is free is left alone.
#[test]
fn update_looks_at_the_condition_again() {
    let (world, mut first) = world();
    first.answer("begin");
    first.answer("update t set v = 100 where id = 2");
    let second = "update t set v = 0 where v = 20 returning id";
    assert_eq!(after_commit(first, &world, second), "= nothing");
}

/// A row that was deleted while it was waited for is gone.
#[test]
fn delete_of_what_is_gone() {
    let (world, mut first) = world();
    first.answer("begin");
    first.answer("delete from t where id = 3");
    let second = "delete from t where id >= 2 returning id";
    assert_eq!(after_commit(first, &world, second), "> 2");
}

/// `FOR UPDATE` gives the newest state of a row that it waited for, joins included.
#[test]
fn lock_gives_the_newest_state() {
    let (world, mut first) = world();
    first.answer("begin");
    first.answer("update t set v = 99 where id = 1");
    let second =
        "select t.id, t.v, n from t join generate_series(1, 1) n on n = t.id for update of t";
    assert_eq!(after_commit(first, &world, second), "> 1 | 99 | 1");
}

/// `NOWAIT` fails, `SKIP LOCKED` goes on without the row.
#[test]
fn locks_that_do_not_wait() {
    let (world, mut first) = world();
    first.answer("begin");
    first.answer("select id from t where id = 2 for update");
    let mut second = Session::new(&world);
    assert_eq!(
        second.answer("select id from t order by id for update nowait"),
        "! 55P03 could not obtain lock on row in relation \"t\""
    );
    assert_eq!(second.answer("select id from t order by id for update skip locked"), "> 1\n> 3");
}

/// An insertion that waited for the same key is a conflict when the other commits.
#[test]
fn conflict_with_another_session() {
    let (world, mut first) = world();
    first.answer("begin");
    first.answer("insert into t values (4, 40)");
    let second = "insert into t values (4, 1) on conflict (id) do update set v = t.v + excluded.v \
                  returning v";
    assert_eq!(after_commit(first, &world, second), "> 41");
}

/// A statement that holds too much ends, and the next one has all of the memory again.
#[test]
fn memory_has_a_limit() {
    let (_, mut session) = world();
    session.memory_bytes_max = 100_000;
    for from in [
        "(select distinct n from generate_series(1, 100000) n) x",
        "(select n from generate_series(1, 100000) n order by n desc) x",
        "(select n, count(*) from generate_series(1, 100000) n group by n) x",
        "generate_series(1, 100000) a join generate_series(1, 100000) b on a = b",
        "(select row_number() over () from generate_series(1, 100000) n) x",
        "(select array_agg(n) from generate_series(1, 100000) n) x",
        "(select array_agg(array[n]) from generate_series(1, 100000) n) x",
        "(select n % 2, string_agg(n::text, ',') from generate_series(1, 100000) n group by 1) x",
        "(select array_agg(n order by -n) from generate_series(1, 100000) n) x",
        "(select jsonb_agg(n), json_object_agg(n, n) from generate_series(1, 100000) n) x",
        "(select array_agg(n) over (order by n) from generate_series(1, 200) n) x",
    ] {
        let statement = format!("select count(*) from {from}");
        assert_eq!(session.answer(&statement), "! 53200 out of memory", "{statement}");
    }
    for (statement, answer) in [
        ("select n from generate_series(1, 100000) n order by n limit 1", "> 1"),
        // The memory of a group is released with it, and that of a frame as well.
        (
            "select count(*), max(cardinality(a)) from generate_series(1, 500) g, \
             lateral (select array_agg(n order by n) a from generate_series(1, 100) n) x",
            "> 500 | 100",
        ),
        (
            "select max(cardinality(a)) from (select array_agg(n) over (partition by n % 100 order by n) a \
             from generate_series(1, 400) n) x",
            "> 4",
        ),
    ] {
        assert_eq!(session.answer(statement), answer, "{statement}");
    }
}

/// The longest chains of queries and joins that the parser lets through are planned and run on the stack
/// that the server gives its threads.
#[test]
fn long_chains() {
    let work = || {
        let (_, mut session) = world();
        let chain = |link: &str, count: usize| -> String {
            (1..count).map(|at| link.replace('#', &at.to_string())).collect()
        };
        let (long, deep) = (sql::parse::CHAIN_MAX, sql::parse::DEPTH_MAX);
        for (statement, expected) in [
            (format!("select 1{}", chain(" union all select 1", long)), long),
            (format!("select 0{}", chain(" union select #", long)), long),
            (format!("select 1{}", chain(" except select 0", long)), 1),
            (format!("select 1{}", chain(" intersect select 1", long)), 1),
            (format!("select 1 from (select 1) t0{}", chain(", (select 1) t#", deep)), 1),
            (
                format!(
                    "select 1 from (select 1) t0{}",
                    chain(" join (select 1) t# on true", deep)
                ),
                1,
            ),
        ] {
            let counted = session.answer(&format!("select count(*) from ({statement}) c"));
            assert_eq!(counted, format!("> {expected}"), "{}", &statement[..30]);
        }
    };
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(work).expect("a thread");
    thread.join().expect("the stack is large enough");
}

/// A statement that is canceled ends soon.
#[test]
fn canceled() {
    let (_, mut session) = world();
    session.cancel.store(true, Ordering::Relaxed);
    let error = "! 57014 canceling statement due to user request";
    assert_eq!(session.answer("select count(*) from generate_series(1, 1000000000)"), error);
    let loops = "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b";
    assert_eq!(session.answer(loops), error);
    session.cancel.store(false, Ordering::Relaxed);
    assert_eq!(session.answer("select 1"), "> 1");
}

/// Parameters are taken anew at each execution of a prepared plan.
#[test]
fn parameters() {
    let (_, mut session) = world();
    for (id, v) in [(1, "> 10"), (3, "> 30"), (1, "> 10")] {
        let rows = session.run("select v from t where id = $1", &[Datum::Int4(id)]);
        assert_eq!(rows.expect("it runs"), [&v[2..]]);
    }
    assert!(session.run("select v from t where id = $1", &[Datum::Null]).expect("runs").is_empty());
}

/// Tables are read as they were at a version, and all versions with their times.
#[test]
fn past() {
    let (_, mut session) = world();
    let version = session.answer("select max(_version) from t");
    let version = version.trim_start_matches("> ").to_owned();
    session.answer("update t set v = 11 where id = 1");
    session.answer("delete from t where id = 2");
    let then = format!("select id, v from t for system_version as of {version} order by id");
    assert_eq!(session.answer(&then), "> 1 | 10\n> 2 | 20\n> 3 | 30");
    assert_eq!(session.answer("select id, v from t order by id"), "> 1 | 11\n> 3 | 30");
    let all = "select id, v, _system_to = 'infinity' from t for system_time all order by id, v";
    assert_eq!(session.answer(all), "> 1 | 10 | f\n> 1 | 11 | t\n> 2 | 20 | f\n> 3 | 30 | t");
}
