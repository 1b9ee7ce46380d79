//! A query gives the same rows in every order of its joins.
//!
//! Random queries over tables of very different sizes are asked twice: as one list of tables, which may be
//! joined in any order, and step by step, where each step is a table of its own that is made before the next.

use vfs::SimRandom;

use crate::client::{connect, instance};
use crate::methods::answer;

/// The tables, and how many rows each has.
const TABLES: [(&str, u64); 6] =
    [("one", 1), ("few", 12), ("lot", 150), ("many", 2_500), ("more", 4_000), ("most", 9_000)];

/// Conditions that join a table to one that was joined before: `@` is the one, `%` the other.
const CONDITIONS: [&str; 7] = [
    "@.id = %.a",
    "@.a = %.id AND @.id < 1000",
    "@.a = %.a AND @.b = %.b AND @.id < 2000",
    "%.b = @.b AND @.id < 20 AND %.id < 9",
    "@.id = %.id AND @.a + %.b > 3",
    "(@.id = %.a AND @.b = 1 OR @.id = %.a AND %.b = 2)",
    "@.id = %.a AND @.c IS NOT NULL",
];

/// Conditions on one table.
const FILTERS: [&str; 10] = [
    "@.b = 1",
    "@.id < 30",
    "@.c LIKE '%7%'",
    "@.a IN (1, 2, 3)",
    "@.id NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
    "@.a IN (SELECT id FROM many WHERE b = 2)",
    "@.id IN (SELECT a FROM more WHERE id < 500)",
    "EXISTS (SELECT 1 FROM lot x WHERE x.a = @.a AND x.id > 3)",
    "NOT EXISTS (SELECT 1 FROM most x WHERE x.id = @.a AND x.b <> @.b)",
    "@.id > (SELECT min(x.id) FROM few x WHERE x.b = @.b OR x.id = 1)",
];

fn of<'a>(random: &SimRandom, list: &[&'a str]) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

/// The tables of a query with what joins each to those before, and what else it asks for.
struct Query {
    /// The table, its alias, and its condition.
    steps: Vec<(&'static str, String, String)>,
    filters: Vec<String>,
}

impl Query {
    fn new(random: &SimRandom) -> Query {
        let count = 2 + random.below(5);
        let mut steps: Vec<(&str, String, String)> = Vec::new();
        let mut filters = Vec::new();
        for number in 0..count {
            let (table, alias) = (TABLES[random.below(6) as usize].0, format!("t{number}"));
            let condition = match steps.len() as u64 {
                0 => "true".to_owned(),
                before => {
                    let other = &steps[random.below(before) as usize].1;
                    of(random, &CONDITIONS).replace('@', &alias).replace('%', other)
                }
            };
            // So that no query has very many rows.
            filters.push(match number {
                0 => format!("{alias}.id < 200"),
                _ => of(random, &FILTERS).replace('@', &alias),
            });
            steps.push((table, alias, condition));
        }
        Query { steps, filters }
    }

    fn selected(&self) -> String {
        let hash = |(_, alias, _): &(&str, String, String)| format!("{alias}.id * {alias}.b");
        let all: Vec<String> = self.steps.iter().map(hash).collect();
        format!("count(*), sum({}), max({})", all.join(" + "), all.join(" - "))
    }

    /// As one list, in a random order.
    fn at_once(&self, random: &SimRandom) -> String {
        let mut tables: Vec<String> =
            self.steps.iter().map(|(table, alias, _)| format!("{table} {alias}")).collect();
        for at in (1..tables.len()).rev() {
            tables.swap(at, random.below(at as u64 + 1) as usize);
        }
        let conditions: Vec<&str> =
            self.steps.iter().map(|(.., condition)| condition.as_str()).collect();
        format!(
            "SELECT {} FROM {} WHERE {} AND {}",
            self.selected(),
            tables.join(", "),
            conditions.join(" AND "),
            self.filters.join(" AND ")
        )
    }

    /// Table by table. Each step keeps the columns of all tables before, called `t0_id` and so on.
    fn step_by_step(&self) -> String {
        let columns = ["id", "a", "b", "c"];
        let mut with = Vec::new();
        for (at, (table, alias, condition)) in self.steps.iter().enumerate() {
            let own = columns.map(|column| format!("{alias}.{column} AS {alias}_{column}"));
            let filter = &self.filters[at];
            let mut step = match at {
                0 => format!("SELECT {} FROM {table} {alias} WHERE {filter}", own.join(", ")),
                _ => format!(
                    "SELECT s.*, {} FROM s{} s, {table} {alias} WHERE {filter} AND {condition}",
                    own.join(", "),
                    at - 1
                ),
            };
            for (_, before, _) in &self.steps[..at] {
                step = step.replace(&format!("{before}."), &format!("s.{before}_"));
            }
            with.push(format!("s{at} AS MATERIALIZED ({step})"));
        }
        let last = self.steps.len() - 1;
        let mut selected = self.selected();
        for (_, alias, _) in &self.steps {
            selected = selected.replace(&format!("{alias}."), &format!("{alias}_"));
        }
        format!("WITH {} SELECT {selected} FROM s{last}", with.join(", "))
    }
}

#[test]
fn any_order_of_joins_gives_the_same_rows() {
    let instance = instance();
    let mut session = connect(&instance);
    for (table, rows) in TABLES {
        for text in [
            format!("CREATE TABLE {table} (id int PRIMARY KEY, a int, b int NOT NULL, c text)"),
            format!(
                "INSERT INTO {table} SELECT n, n * 7 % 311, n % 3, nullif(n::text, '17') \
                 FROM generate_series(1, {rows}) n"
            ),
            format!("CREATE INDEX ON {table} (a, b)"),
        ] {
            let done = answer(&mut session, &text);
            assert!(!done.contains("ERROR"), "{text}: {done}");
        }
    }
    vfs::seeds(20_261_125, 40, |seed| {
        let random = &SimRandom::new(seed);
        let mut session = connect(&instance);
        for _ in 0..6 {
            let query = Query::new(random);
            let expected = answer(&mut session, &query.step_by_step());
            assert!(!expected.contains("ERROR"), "{}: {expected}", query.step_by_step());
            for _ in 0..2 {
                let text = query.at_once(random);
                assert_eq!(answer(&mut session, &text), expected, "{text}");
            }
        }
    });
}

/// Columns that are joined together depend on each other: no side has more values of them than rows. So a join of two
/// columns is not thought to give next to nothing, and what is joined to it is not looked up row by row.
#[test]
fn two_columns_of_a_key_have_no_more_values_than_rows() {
    let mut session = connect(&instance());
    let mut run = |text: &str| answer(&mut session, text);
    run("CREATE TABLE p (x int, y int)");
    run("CREATE TABLE l (x int, y int)");
    run("INSERT INTO p SELECT i, i FROM generate_series(1, 10000) i");
    run("INSERT INTO l SELECT 1 + i % 10000, 1 + i % 10000 FROM generate_series(1, 20000) i");
    run("ANALYZE");
    let plan = run("EXPLAIN SELECT p.x FROM l JOIN p ON l.x = p.x AND l.y = p.y");
    let join = plan.lines().find(|line| line.contains("Join")).expect("they are joined");
    let rows = join.split("rows=").nth(1).and_then(|rest| rest.split(' ').next());
    let rows: u64 = rows.and_then(|rows| rows.parse().ok()).expect("rows are estimated");
    assert!((8_000..=25_000).contains(&rows), "20,000 rows come: {plan}");
}
