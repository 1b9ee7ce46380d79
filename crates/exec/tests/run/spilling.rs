//! Rows that do not fit into `work_mem` go to files, and the result is the same; the files are removed
//! with the statement, however it ends.

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::indexes::{Random, seed};
use crate::session::Session;
use crate::world::{TEMPORARY, World};

/// Statements whose operators hold many rows. Where there is no `order by` the rows come in any order.
const QUERIES: [&str; 36] = [
    "select * from big order by b, a",
    "select * from big order by c desc nulls last, d, a limit 700 offset 3000",
    "select a from big order by b",
    "select count(*), count(b), sum(x.a) from (select * from big order by d) x",
    "select b, count(*), sum(a), min(d), max(c) from big group by b",
    "select a, count(*) from big group by a",
    "select b % 7, array_agg(a order by d, a desc) from big group by 1",
    "select count(distinct d), count(distinct b), string_agg(distinct c, ',' order by c) from big",
    "select percentile_disc(0.3) within group (order by d), mode() within group (order by b) from big",
    "select a % 5000, b % 3, count(*), grouping(a % 5000) from big group by grouping sets ((1, 2), (1), (2), ())",
    "select distinct d, c from big",
    "select distinct on (b) b, a from big order by b, d desc, a",
    "select a from big union select a + 100 from big",
    "select b from big intersect select a from big",
    "select c, b from big intersect all select c, b + 1 from big",
    "select a from big except select a * 2 from big",
    "select b from big except all select b from big where a % 3 = 0",
    "select x.a, y.a from big x join big y on x.a = y.b",
    "select x.a, y.d from big x left join big y on x.d = y.d and y.a > x.a",
    "select x.a, y.a from big x right join big y on x.b = y.a + 3500",
    "select x.a, y.a from (select * from big where a % 2 = 0) x full join (select * from big where a % 3 = 0) y on x.a = y.a and x.b = y.b",
    "select a from big x where exists (select from big y where y.b = x.a and y.c > 'm')",
    "select a from big x where not exists (select from big y where y.b = x.a)",
    "select x.a, y.c from big x join big y using (b) where x.a % 50 = 0 and y.a % 7 = 1",
    "select count(*) from big x, (select a from big where a < 40) y where x.a % 40 > y.a",
    "with t as materialized (select * from big) select x.a, y.b from t x join t y on x.a = y.a + 1",
    "with recursive r(n, s) as (select 1, 'x' union all select n + 1, s || n from r where n < 200) select n, length(s) from r",
    "with recursive r(n) as (select a from big where a < 3000 union select n + 3000 from r where n < 9000) select * from r",
    "select a, row_number() over (order by d, a), rank() over (partition by b order by c, a) from big",
    "select a, sum(a) over (partition by b % 3 order by a rows between 2 preceding and current row) from big",
    "select a, lag(c) over (order by a), lead(d, 3) over (order by a), first_value(a) over (partition by c order by d, a) from big",
    "select b, ntile(4) over (order by a), sum(b) over (order by b range between 5 preceding and 1 following) from big",
    "select avg(b) over (), count(*) over (partition by c) from big order by a limit 10",
    "select e, count(*) from big group by e",
    "select f, count(*) from big group by f order by f",
    "select x.f, y.e from big x join big y on x.f = y.f and x.e = y.e where x.a % 100 = 3",
];

fn fill(session: &mut Session) {
    for statement in [
        "create table big (a int primary key, b int, c text, d numeric, e jsonb, f timestamptz)",
        "insert into big select n, case when n % 11 > 0 then n * 7 % 1801 end, \
         chr(97 + n % 20) || repeat('y', n % 17), (n * 37 % 9973) / 8.0, \
         jsonb_build_object('k', n % 500, 'l', array[n % 3, 1]), \
         timestamptz '2020-01-01' + (n % 1000) * interval '1 hour' from generate_series(1, 4000) n",
    ] {
        session.run(statement, &[]).expect("the statement runs");
    }
}

fn files(world: &World) -> usize {
    world.disk.list(Path::new(TEMPORARY)).expect("the folder is there").len()
}

/// The same rows come with a kilobyte, with more, and without a limit.
#[test]
fn the_same_rows_come() {
    let mut random = Random::new(seed());
    let world = World::new();
    let mut session = Session::new(&world);
    session.memory_bytes_max = 1 << 30;
    fill(&mut session);
    let mut spilled = 0;
    let is_ordered = |query: &str| {
        !query.contains("over (") && query.starts_with("select *") && query.contains("order by")
    };
    for query in QUERIES {
        session.work_bytes = None;
        let mut wanted =
            session.run(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
        if !is_ordered(query) {
            wanted.sort();
        }
        let before = world.temporary.files_made();
        for bytes in [16 << 10, 1 << 10, random.below(1 << 18) as usize + 4096] {
            session.work_bytes = Some(bytes);
            let found = session.run(query, &[]);
            let mut found =
                found.unwrap_or_else(|error| panic!("{bytes} bytes: {query}: {error:?}"));
            if !is_ordered(query) {
                found.sort();
            }
            assert!(
                wanted == found,
                "{bytes} bytes: {query}: {} rows, not {}",
                found.len(),
                wanted.len()
            );
            assert_eq!(files(&world), 0, "{query} leaves files");
        }
        spilled += usize::from(world.temporary.files_made() > before);
    }
    assert!(spilled > QUERIES.len() - 4, "only {spilled} statements used files");
}

/// The memory of a statement has a limit, which does not count files.
#[test]
fn little_memory_is_enough_where_files_can_be_used() {
    let world = World::new();
    let mut session = Session::new(&world);
    session.memory_bytes_max = 1 << 20;
    let queries = [
        "select count(*) from (select distinct n from generate_series(1, 100000) n) x",
        "select count(*) from (select n from generate_series(1, 100000) n order by -n) x",
        "select count(*) from (select n, count(*) from generate_series(1, 100000) n group by n) x",
        "select count(*) from generate_series(1, 100000) a join generate_series(1, 100000) b on a = b",
        "with t as materialized (select n from generate_series(1, 100000) n) select count(*) from t",
        "select count(*) from (select n from generate_series(1, 100000) n except select 1) x, \
         generate_series(1, 1)",
    ];
    for query in queries {
        session.work_bytes = None;
        assert_eq!(session.answer(query), "! 53200 out of memory", "{query}");
        session.work_bytes = Some(64 << 10);
        let found = session.answer(query);
        assert!(found == "> 100000" || found == "> 99999", "{query}: {found}");
        assert_eq!(files(&world), 0, "{query} leaves files");
    }
}

/// The rows of a change wait in a file until all have come; each is changed once.
#[test]
fn changes_of_many_rows_need_little_memory() {
    let world = World::new();
    let mut session = Session::new(&world);
    session.memory_bytes_max = 1 << 30;
    fill(&mut session);
    session.memory_bytes_max = 1 << 18;
    let change = "update big set d = d + 1, c = 'changed ' || c where a > 100";
    assert_eq!(session.answer(change), "! 53200 out of memory");
    session.work_bytes = Some(64 << 10);
    let before = world.temporary.files_made();
    for (statement, answer) in [
        (change, "= nothing"),
        (
            "select count(*), sum(d)::text from big where c like 'changed %'",
            "> 3900 | 2452048.12500000000000000000",
        ),
        // Each row comes 20 times.
        ("update big set b = 0 from generate_series(1, 20) n where big.a > 100", "= nothing"),
        ("delete from big where b = 0", "= nothing"),
        ("select count(*), sum(b) from big", "> 100 | 31885"),
    ] {
        assert_eq!(session.answer(statement), answer, "{statement}");
        assert_eq!(files(&world), 0, "{statement} leaves files");
    }
    assert!(world.temporary.files_made() > before, "the rows were held in memory");
}

/// Files are gone after an error, after a statement was cancelled, and after one that was not read to
/// its end.
#[test]
fn files_are_removed() {
    let world = World::new();
    let mut session = Session::new(&world);
    session.work_bytes = Some(16 << 10);
    let error = session.answer(
        "select 1 / (n - 50000) from (select n from generate_series(1, 100000) n order by n) x",
    );
    assert_eq!(error, "! 22012 division by zero");
    assert_eq!(files(&world), 0);
    let rows = session.run(
        "select n from (select n from generate_series(1, 100000) n order by -n offset 1) x limit 2",
        &[],
    );
    assert_eq!(rows.expect("it runs"), ["99999", "99998"]);
    assert_eq!(files(&world), 0);
    session.cancel.store(true, Ordering::Relaxed);
    let sorted = "select count(*) from (select n from generate_series(1, 1000000) n order by -n) x";
    assert_eq!(session.answer(sorted), "! 57014 canceling statement due to user request");
    assert_eq!(files(&world), 0);
}

/// The files that a crash has left are removed when the folder is opened again.
#[test]
fn what_a_crash_left_is_removed() {
    let world = World::new();
    let left = Path::new(TEMPORARY).join("7.tmp");
    let file = world.disk.open(&left, vfs::OpenMode::CreateNew).expect("it can be made");
    file.write_all_at(b"rows", 0).expect("it can be written");
    assert_eq!(files(&world), 1);
    exec::TempFolder::open(&world.disk, Path::new(TEMPORARY)).expect("it opens");
    assert_eq!(files(&world), 0);
}
