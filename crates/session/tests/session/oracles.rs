//! Answers that must agree with one another, whatever they are: faults of logic without a second
//! database.
//!
//! ```text
//!   partition   rows where P + rows where NOT P + rows where P IS NULL  =  all rows       TLP
//!   no help     count(*) WHERE P                                       =  sum over P of all rows   NoREC
//!   indexes     the same question of a table without and with them
//!   past        the same of versions and moments, where some indexes were made later
//!   now         FROM t                             =  FROM t FOR SYSTEM_VERSION AS OF the newest
//! ```
//!
//! The first two are Rigger and Su's, "Finding bugs in database systems via query partitioning" and
//! "Detecting optimization bugs in database engines via non-optimizing reference engine construction"
//! (both 2020). Rows change meanwhile, in both tables alike. `ANYWHEN_SEED` and `ANYWHEN_TIMES` as
//! ever.

use std::sync::atomic::{AtomicU64, Ordering};

use session::Session;
use vfs::{SimRandom, seeds};

use crate::client::connect;
use crate::fuzz::{ask, watched, world};
use crate::generate::{condition, row};

/// A database and what was asked of it.
struct Asking {
    session: Session,
    queries: u64,
    /// The first commit after which both tables were there.
    first: u64,
    seed: u64,
}

/// Indexes that are made of what is there by then.
const LATER: &[&str] = &[
    "INDEX later_$ ON keyed (b)",
    "INDEX later_$ ON keyed (d DESC, a)",
    "INDEX later_$ ON keyed ((a + b), c)",
    "INDEX later_$ ON keyed (c) WHERE a > 1",
    "INDEX later_$ ON keyed ((j ->> 'k'))",
    "INDEX later_$ ON keyed USING gin (j jsonb_path_ops)",
    "UNIQUE INDEX later_$ ON keyed (a, id)",
    "UNIQUE INDEX later_$ ON keyed (b, id) NULLS NOT DISTINCT",
];

impl Asking {
    /// The rows in order; none if the question cannot be answered (a division by zero, say), which
    /// one way of asking may meet and another may not.
    fn rows(&mut self, text: &str) -> Option<Vec<String>> {
        self.queries += 1;
        match ask(&mut self.session, text) {
            Ok(mut rows) => {
                rows.sort();
                Some(rows)
            }
            Err(error) => {
                let code = error.state().to_string();
                assert!(code.starts_with("22"), "ANYWHEN_SEED={}: {error:?} of {text}", self.seed);
                None
            }
        }
    }

    /// Two questions that mean the same.
    fn same(&mut self, one: &str, two: &str) {
        let (Some(first), Some(second)) = (self.rows(one), self.rows(two)) else { return };
        assert_eq!(first, second, "ANYWHEN_SEED={}:\n  {one}\n  {two}", self.seed);
    }

    fn agree(&mut self, random: &SimRandom) {
        let p = condition(random, 3);
        let table = ["plain", "keyed"][random.below(2) as usize];
        let list = "id, a, b, c, d, e, j, f";
        let partition = format!(
            "SELECT {list} FROM {table} x WHERE {p} UNION ALL SELECT {list} FROM {table} x WHERE NOT ({p}) \
             UNION ALL SELECT {list} FROM {table} x WHERE ({p}) IS NULL"
        );
        self.same(&partition, &format!("SELECT {list} FROM {table}"));
        self.same(
            &format!("SELECT count(*) FROM {table} x WHERE {p}"),
            &format!("SELECT coalesce(sum(CASE WHEN {p} THEN 1 ELSE 0 END), 0) FROM {table} x"),
        );
        let question = match random.below(5) {
            0 => format!("SELECT {list} FROM $ x WHERE {p} ORDER BY a, id LIMIT 5"),
            1 => format!("SELECT a, count(*), max(e), min(c) FROM $ x WHERE {p} GROUP BY a"),
            2 => format!("SELECT DISTINCT b, c FROM $ x WHERE {p}"),
            3 => {
                format!("SELECT id, rank() OVER (PARTITION BY a ORDER BY d, id) FROM $ x WHERE {p}")
            }
            _ => format!("SELECT {list} FROM $ x WHERE {p}"),
        };
        self.same(&question.replace('$', "plain"), &question.replace('$', "keyed"));
        let now = "FOR SYSTEM_VERSION AS OF (SELECT max(version) FROM commits) x";
        self.same(
            &format!("SELECT {list} FROM {table} x WHERE {p}"),
            &format!("SELECT {list} FROM {table} {now} WHERE {p}"),
        );
        self.same(
            "SELECT x.id, y.id FROM plain x JOIN plain y ON x.a = y.b AND y.id < 20",
            "SELECT x.id, y.id FROM keyed x JOIN keyed y ON y.b = x.a WHERE y.id < 20",
        );
    }

    /// The number of the newest commit.
    fn newest(&mut self) -> u64 {
        let rows = self.rows("SELECT max(version) FROM commits").expect("there are commits");
        rows[0].parse().expect("a number")
    }

    /// Asks for all versions, and for rows as they were.
    fn ask_the_past(&mut self, random: &SimRandom) {
        let p = condition(random, 2);
        let list = "id, a, b, c, d, e, j, f";
        let then = self.first + random.below(self.newest() + 1 - self.first);
        for moment in ["SYSTEM_TIME ALL", &format!("SYSTEM_VERSION AS OF {then}")] {
            let question = format!("SELECT {list} FROM $ FOR {moment} x WHERE {p}");
            self.same(&question.replace('$', "plain"), &question.replace('$', "keyed"));
        }
    }

    /// Makes an index of what is in memory or in files, or drops one that was made.
    fn index(&mut self, random: &SimRandom) {
        if random.below(2) == 0 {
            self.rows("CHECKPOINT");
        }
        let number = random.below(LATER.len() as u64);
        self.rows(&format!("DROP INDEX IF EXISTS later_{number}"));
        if random.below(3) > 0 {
            let index = LATER[number as usize].replace('$', &number.to_string());
            self.rows(&format!("CREATE {index}"));
        }
    }

    /// Changes rows of both tables, in the same way.
    fn change(&mut self, random: &SimRandom) {
        let p = condition(random, 1);
        let text = match random.below(4) {
            0 => format!("DELETE FROM $ x WHERE {p} AND id % 3 = 0"),
            1 => format!("UPDATE $ x SET a = b, c = upper(c), d = d * 2 WHERE {p}"),
            _ => {
                // Some come before those that are there, some behind them.
                let id = if random.below(2) == 0 { 100 } else { 1_000_000 - 2 * self.queries };
                let row = row(random, id + self.queries);
                format!("INSERT INTO $ VALUES {row}")
            }
        };
        // One statement, so that both conditions look at the tables as they were, and both fail or none.
        let both =
            format!("WITH one AS ({}) {}", text.replace('$', "plain"), text.replace('$', "keyed"));
        self.rows(&both);
    }
}

#[test]
fn answers_agree() {
    let queries = AtomicU64::new(0);
    seeds(1, 20, |seed| {
        let random = SimRandom::new(seed);
        let instance = world(&random);
        watched(&instance, || {
            let mut asking = Asking { session: connect(&instance), queries: 0, first: 0, seed };
            asking.first = asking.newest();
            for round in 0..100 {
                asking.agree(&random);
                asking.ask_the_past(&random);
                if round % 10 == 4 {
                    asking.index(&random);
                }
                if round % 10 == 9 {
                    asking.change(&random);
                    asking.same("SELECT * FROM plain", "SELECT * FROM keyed");
                }
            }
            queries.fetch_add(asking.queries, Ordering::Relaxed);
        });
    });
    println!("{} queries", queries.into_inner());
}
