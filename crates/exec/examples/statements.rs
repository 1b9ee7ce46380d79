//! What small statements cost in the executor: a row by its key, a change of it, a range, a join.
//!
//! ```text
//! cargo run --release -p exec --example statements [rows]
//! ```
//! On a disk in memory and without a commit: what is measured is a prepared plan being run, its
//! transaction begun before. Each figure is the best of three rounds.

#[path = "../tests/run/session.rs"]
mod session;
#[path = "../tests/run/world.rs"]
mod world;

use std::time::Instant;

use session::Session;
use types::Datum;

fn main() {
    let rows: i32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let world = world::World::new();
    let mut session = Session::new(&world);
    for statement in [
        "create table t (id int primary key, v int, c text)".to_owned(),
        "create index t_v on t (v)".to_owned(),
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
    ] {
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
