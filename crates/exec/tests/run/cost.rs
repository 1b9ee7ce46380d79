//! The cost of small statements: a row by its key, a change of it, a range, a join.
//!
//! ```text
//! ANYWHEN_MEASURE=1 cargo test --release -p exec cost -- --nocapture
//! ```
//! On a disk in memory and without a commit: what is measured is a prepared plan being run, in a
//! transaction begun before. Without the variable the statements are run a few times only, to see
//! that they can be. `ANYWHEN_MEASURE=join` measures those that have the word in them.

use std::time::Instant;

use types::Datum;

use crate::session::Session;
use crate::world::World;

#[test]
fn cost() {
    let measured = std::env::var("ANYWHEN_MEASURE").ok();
    let is_measured = measured.is_some();
    let word = measured.filter(|word| word != "1").unwrap_or_default();
    let rows = if is_measured { 100_000 } else { 1_000 };
    let mut session = Session::new(&World::new());
    for statement in [
        "create table t (id int primary key, v int, c text)".to_owned(),
        "create index t_v on t (v)".to_owned(),
        "create table copy (id int primary key, v int, c text)".to_owned(),
        format!("insert into t select n, n % 1000, 'row ' || n from generate_series(1, {rows}) n"),
    ] {
        session.run(&statement, &[]).expect("the statement runs");
    }
    println!("{:<64} {:>9}", "statement", "us");
    for (statement, count) in [
        ("select c from t where id = $1", 100_000),
        ("select id from t where v = $1 limit 1", 50_000),
        ("update t set v = v + 1 where id = $1", 50_000),
        ("select sum(v) from t where id between $1 and $1 + 100", 5_000),
        ("select a.c from t a join t b on b.id = a.v where a.id = $1", 50_000),
        ("select $1 + 1", 100_000),
        ("select count(*) from t where $1 > 0", 3),
        ("select v, count(*) from t where $1 > 0 group by v", 3),
        ("select count(*) from t a join t b on a.id = b.id + 0 where $1 > 0", 3),
        ("select count(a.c), sum(b.v) from t a join t b on a.id = b.v where $1 > 0", 3),
        ("select count(*) from (select * from t where $1 > 0 order by c desc, v) x", 3),
        ("select count(*) from (select distinct c from t where $1 > 0) x", 3),
        ("insert into copy select id + $1 * 0, v, c from t on conflict do nothing", 1),
    ] {
        if !statement.contains(&*word) {
            continue;
        }
        let count = if is_measured { count } else { 3 };
        let best = (0..3)
            .map(|_| {
                let start = Instant::now();
                session.repeat(statement, count, |at| Datum::Int4(at as i32 % rows + 1));
                start.elapsed().as_secs_f64() / count as f64
            })
            .fold(f64::MAX, f64::min);
        println!("{statement:<64} {:>9.2}", best * 1e6);
    }
}
