//! Aggregates over columns: whatever is grouped, filtered and summed, a table in columns and one in rows give the
//! same answer.
//!
//! ```text
//!   r    a heap                        row by row
//!   c    USING columnar                over blocks of columns, and over the rows between them
//!   c    rows, and a columnar index    over the entries of the index, or over the rows of the time before it
//! ```
//!
//! Values are extreme on purpose: NULL, NaN, infinities, numbers of 19 and of 40 digits, empty texts, decimals that
//! show different digits. `ANYWHEN_SEED` and `ANYWHEN_TIMES` as ever.

use session::Session;
use vfs::{SimRandom, SimVfs, seeds};

use crate::client::{connect, instance_on};
use crate::methods::answer;

/// The columns of both tables, with how often two values of one are equal: often for keys.
const COLUMNS: &str = "id int primary key, word text, code char(2), flag bool, small int2, n int4, big int8, \
                       exact numeric, money numeric(12, 2), f float8, r float4, day date, at timestamptz, note text, \
                       doc jsonb, tags text[]";

/// The columns of the tables that are joined with them.
const PARTNERS: &str = "sid int, sn int4, sword text, scode char(2), sday date, sbig int8, smoney numeric(12, 2), \
                        sf float8, snote text";

struct Twins {
    dice: SimRandom,
    session: Session,
    seed: u64,
    rows: u64,
    /// How many questions were asked, and how many of them failed for one table alone.
    asked: u64,
    failed_once: u64,
}

impl Twins {
    fn pick<'t>(&self, of: &[&'t str]) -> &'t str {
        of[self.dice.below(of.len() as u64) as usize]
    }

    fn run(&mut self, text: &str) -> String {
        answer(&mut self.session, text)
    }

    /// Does the same to both tables, `%` being the name, in one commit: they are alike at every moment.
    fn both(&mut self, text: &str) {
        self.run("BEGIN");
        let rows = self.run(&text.replace('%', "r"));
        if rows.contains("ERROR") {
            return drop(self.run("ROLLBACK"));
        }
        let columns = self.run(&text.replace('%', "c"));
        self.run("COMMIT");
        assert_eq!(columns, rows, "ANYWHEN_SEED={}: {text}", self.seed);
    }

    /// A row after the key, as values of SQL.
    fn row(&self) -> String {
        let odd = self.dice.below(40) == 0;
        let or_null = |value: String| if self.dice.below(8) == 0 { "NULL".into() } else { value };
        let word = self.pick(&["'a'", "'b'", "'c d'", "''", "'ä'"]).to_owned();
        let code = self.pick(&["'DE'", "'US'", "'F'"]).to_owned();
        let flag = self.pick(&["true", "false"]).to_owned();
        let small = self.dice.below(7).to_string();
        let n = if odd {
            "2147483647".into()
        } else {
            (self.dice.below(2_000) as i64 - 900).to_string()
        };
        let big = match odd {
            true => self.pick(&["9223372036854775807", "-9223372036854775808"]).to_owned(),
            false => (self.dice.below(1 << 40) as i64 - (1 << 39)).to_string(),
        };
        let exact = match odd {
            true => self.pick(&["'NaN'", "1e30", "-1e-20", "0.000"]).to_owned(),
            false => format!("{}.{}", self.dice.below(90), self.pick(&["5", "50", "125", "0"])),
        };
        let money = format!("{}.{:02}", self.dice.below(5_000), self.dice.below(100));
        let f = match odd {
            true => self.pick(&["'NaN'", "'Infinity'", "1e100", "-1e90", "0"]).to_owned(),
            false => format!("{}.{}", self.dice.below(900), self.dice.below(100)),
        };
        let r = format!("{}.25", self.dice.below(50));
        let day = format!("date '2024-01-01' + {}", self.dice.below(60));
        let at = format!(
            "timestamptz '2024-01-01 00:00:00+00' + interval '1 minute' * {}",
            self.dice.below(90_000)
        );
        let note = format!("'note {} of many'", self.dice.below(100_000));
        let (k, s) = (self.dice.below(4), self.dice.below(3));
        let doc = match self.dice.below(12) {
            0 => self.pick(&["{}", "[\"s\", 1]", "\"s\"", "7", "null"]).to_owned(),
            1 => format!("{{\"k\": null, \"deep\": {{\"k\": {k}}}, \"s\": [\"x{s}\"]}}"),
            2 => format!("{{\"s\": {k}.50, \"n{k}{s}\": true}}"),
            _ => format!("{{\"k\": {k}, \"s\": \"x{s}\"}}"),
        };
        let doc = format!("'{doc}'");
        let tags = self.pick(&["'{a,b}'", "'{}'", "'{c,NULL}'"]).to_owned();
        let all = [word, code, flag, small, n, big, exact, money, f, r, day, at, note, doc, tags];
        all.map(or_null).join(", ")
    }

    fn fill(&mut self, rows: u64) {
        let mut values = Vec::new();
        for id in self.rows..self.rows + rows {
            values.push(format!("({id}, {})", self.row()));
        }
        self.rows += rows;
        for some in values.chunks(500) {
            self.both(&format!("INSERT INTO % VALUES {}", some.join(", ")));
        }
    }

    fn fill_partners(&mut self, rows: u64) {
        let mut values = Vec::new();
        for id in 0..rows {
            let or_null =
                |value: String| if self.dice.below(9) == 0 { "NULL".into() } else { value };
            let n = (self.dice.below(2_000) as i64 - 900) / [1, 20][self.dice.below(2) as usize];
            let all = [
                id.to_string(),
                n.to_string(),
                self.pick(&["'a'", "'b'", "'z'"]).into(),
                self.pick(&["'DE'", "'F'", "'XX'"]).into(),
                format!("date '2024-01-01' + {}", self.dice.below(80)),
                self.dice.below(1 << 40).to_string(),
                format!("{}.{:02}", self.dice.below(5_000), self.dice.below(100)),
                format!("{}.5", self.dice.below(900)),
                format!("'partner {}'", self.dice.below(1_000)),
            ];
            values.push(format!("({})", all.map(or_null).join(", ")));
        }
        self.both(&format!("INSERT INTO %s VALUES {}", values.join(", ")));
    }

    /// The source of rows: one table, or a join of two or three.
    fn source(&self, moment: &str) -> (String, bool) {
        let key = self.pick(&[
            "n = sn",
            "n = sn AND word = sword",
            "code = scode AND n = sn",
            "day = sday AND mod(n, 9) = mod(sn, 9)",
            "big = sbig",
            "money = smoney",
            "f = sf",
            "mod(n, 50) = sn",
            "id = sid",
            "n + 1 = sn AND sbig > 5",
            "n = sn AND small < sn",
            "n = sn AND note > snote",
            "n = sn AND f < 300",
        ]);
        let (rows, partners) = (format!("%{moment}"), format!("%s{moment}"));
        match self.dice.below(14) {
            0..=5 => (rows, false),
            6 => (format!("{rows} JOIN {partners} ON {key}"), true),
            7 => (format!("{partners} JOIN {rows} ON {key}"), true),
            8 => {
                let kind = self.pick(&["LEFT", "RIGHT", "FULL"]);
                (format!("{rows} {kind} JOIN {partners} ON {key}"), true)
            }
            9 => {
                let kind = self.pick(&["LEFT", "RIGHT"]);
                (
                    format!(
                        "(SELECT * FROM {partners} WHERE sn > 3) x {kind} JOIN {rows} ON {key}"
                    ),
                    true,
                )
            }
            10 | 11 => {
                let not = self.pick(&["", "NOT "]);
                let partners = format!("SELECT FROM {partners} WHERE {key}");
                (format!("(SELECT * FROM {rows} WHERE {not}EXISTS ({partners})) x"), false)
            }
            12 => {
                let other = "(VALUES ('a', 1), ('b', 2)) v (vword, vn)";
                (format!("{rows} JOIN {partners} ON {key} JOIN {other} ON vword = word"), true)
            }
            _ => {
                let other =
                    format!("(SELECT sn AS tn, count(*) AS many FROM {partners} GROUP BY sn) t");
                (format!("{rows} JOIN {partners} ON {key} LEFT JOIN {other} ON tn = n"), true)
            }
        }
    }

    fn condition(&self) -> String {
        let n = self.dice.below(1_800) as i64 - 850;
        match self.dice.below(17) {
            0 => format!("n > {n}"),
            1 => format!("{n} <= n"),
            2 => format!("n BETWEEN {} AND {n}", n - 300),
            3 => format!("money < {}.{}", self.dice.below(5_000), self.dice.below(1_000)),
            4 => format!("exact = {}.5", self.dice.below(90)),
            5 => format!("f >= {}", self.dice.below(900)),
            6 => format!("word {} 'b'", self.pick(&["=", "<>", "<", ">=", "IS DISTINCT FROM"])),
            7 => {
                let texts = ["word", "note"];
                let patterns =
                    ["c_d", "%e %7%", "note 1%many", "%3%4%", "%", "note%note%many", "%of many"];
                let not = self.pick(&["", "NOT "]);
                format!("{} {not}LIKE '{}'", self.pick(&texts), self.pick(&patterns))
            }
            8 => self.pick(&["flag", "NOT flag", "flag IS NULL", "n IS NOT NULL"]).into(),
            9 => {
                let how = self.pick(&["<", "<=", ">", ">=", "=", "<>"]);
                match self.dice.below(3) {
                    0 => format!("day {how} date '2024-01-01' + {}", self.dice.below(70)),
                    // A day begins before a moment within it.
                    1 => {
                        let hours = self.pick(&["0", "12"]);
                        let days = self.dice.below(70);
                        format!(
                            "day {how} timestamp '2024-01-01' + interval '{days} days {hours} hours'"
                        )
                    }
                    _ => format!("day {how} {}", self.pick(&["at", "timestamp 'infinity'", "day"])),
                }
            }
            10 => format!("starts_with(note, 'note {}')", self.dice.below(10)),
            11 => {
                let k = self.dice.below(4);
                let others = ["doc ? 's'", "doc ? 'k'", "doc ? 'deep'", "doc @> '{}'"];
                match self.dice.below(8) {
                    6 => format!("(doc ->> 'k')::int > {k}"),
                    7 => format!("coalesce(doc -> 'deep' ->> 'k', doc ->> 'k') <> '{k}'"),
                    0 => format!("doc @> '{{\"k\": {k}, \"s\": \"x1\"}}'"),
                    1 => format!("doc @> '{{\"s\": {k}.5}}'"),
                    2 => self.pick(&others).into(),
                    3 => format!("doc ->> 'k' = '{k}'"),
                    4 => format!("doc @> '{{\"deep\": {{\"k\": {k}}}}}'"),
                    _ => format!("doc @> '{{\"k\": {k}}}'"),
                }
            }
            12 => "tags @> '{a}'".into(),
            13 => match self.dice.below(3) {
                0 => format!("code = '{}'", self.pick(&["DE", "F ", "XX", "   "])),
                1 => format!("code::text = '{}'", self.pick(&["DE", "F", "F "])),
                _ => format!("code IN ('DE', '{}')", self.pick(&["US", "F", "XX"])),
            },
            15 => {
                let text = self.pick(&["note", "code", "word"]);
                let part = self.pick(&["1, 1", "6, 1", "1, 200", "7, 0", "3, 2"]);
                format!("substring({text}, {part}) IN ('1', 'D', '', NULL, 'd', 'te', '7')")
            }
            14 => format!("(n + small > {n} OR word = 'a')"),
            _ => self
                .pick(&[
                    "mod(big, 3) = 1",
                    "mod(n, 7) > 2",
                    "extract(dow from day) < 3",
                    "n IN (SELECT 3 * g FROM generate_series(1, 40) g)",
                ])
                .into(),
        }
    }

    fn conditions(&self) -> String {
        let all: Vec<_> = (0..self.dice.below(3)).map(|_| self.condition()).collect();
        if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
    }

    fn key(&self) -> &'static str {
        self.pick(&[
            "id",
            "word",
            "code",
            "flag",
            "small",
            "n",
            "day",
            "trim_scale(exact)",
            "money",
            "f",
            "note",
            "upper(word)",
            "mod(n, 10)",
            "doc ->> 's'",
            "doc -> 'k'",
            "upper(doc ->> 's')",
            "doc -> 'deep' ->> 'k'",
            "date_trunc('day', at)",
            "tags",
            "length(note)",
            "big",
        ])
    }

    fn number(&self) -> &'static str {
        self.pick(&[
            "small",
            "n",
            "big",
            "exact",
            "money",
            "f",
            "r",
            "n + 1",
            "n * small",
            "f * n",
            "money * exact",
            "money - exact",
            "big + n",
            "CASE WHEN word = 'a' THEN money END",
            "CASE WHEN n > 0 THEN f END",
            "n::float8",
            "-n",
            "length(note)",
            "(doc ->> 'k')::numeric",
            "(doc -> 'deep' ->> 'k')::int",
            "length(doc ->> 's') + (doc ->> 'k')::int",
        ])
    }

    fn call(&self) -> String {
        let any = self
            .pick(&["word", "n", "exact", "at", "note", "flag", "doc", "f", "day", "tags", "r"]);
        let call = match self.dice.below(14) {
            0 => "count(*)".into(),
            1 => format!("count({any})"),
            2 => format!(
                "count(DISTINCT {})",
                self.pick(&["word", "n", "exact", "note", "day", "f", "r"])
            ),
            3..=5 => format!("sum({})", self.number()),
            6 | 7 => format!("avg({})", self.number()),
            8 | 9 => {
                let of = self.pick(&[
                    "n",
                    "big",
                    "trim_scale(exact)",
                    "money",
                    "at",
                    "day",
                    "word",
                    "f",
                    "note",
                    "small",
                ]);
                format!("{}({of})", self.pick(&["min", "max"]))
            }
            10 => {
                let of = self.pick(&["n", "day", "small", "big"]);
                let order = self.pick(&["", " DESC"]);
                return format!(
                    "percentile_disc(0.{}) WITHIN GROUP (ORDER BY {of}{order})",
                    self.dice.below(100)
                );
            }
            11 => {
                return format!(
                    "percentile_cont(0.{}) WITHIN GROUP (ORDER BY n)",
                    self.dice.below(100)
                );
            }
            12 => format!("stddev({})", self.pick(&["n", "r", "money"])),
            _ => self.pick(&["bool_or(flag)", "bit_or(small)", "max(length(note))"]).into(),
        };
        match self.dice.below(6) {
            0 => format!("{call} FILTER (WHERE {})", self.condition()),
            _ => call,
        }
    }

    /// Asks both tables; rows come in any order.
    fn ask(&mut self, moment: &str) {
        let (source, has_partners) = self.source(moment);
        let is_joined = source.contains("%s");
        let mut keys: Vec<_> = (0..self.dice.below(4)).map(|_| self.key()).collect();
        if has_partners && self.dice.below(2) == 0 {
            keys.push(self.pick(&["sword", "scode", "sday", "sn", "snote", "smoney"]));
        }
        let mut calls: Vec<_> = (0..1 + self.dice.below(5)).map(|_| self.call()).collect();
        if has_partners {
            let of = self.pick(&["sum(sn)", "max(sday)", "min(smoney)", "count(snote)", "sum(sf)"]);
            calls.push(of.into());
        }
        let list: Vec<String> = keys.iter().map(|key| (*key).to_owned()).chain(calls).collect();
        let mut group =
            if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
        if self.dice.below(4) == 0 {
            let of = ["count(*) > 2", "sum(money) > 900", "max(n) IS NULL", "avg(small) < 3.5"];
            group = format!("{group} HAVING {}", self.pick(&of));
        }
        let mut condition = self.conditions();
        if has_partners && self.dice.below(6) == 0 {
            // A subquery that many rows ask is computed for all of them together.
            let link = if condition.is_empty() { " WHERE" } else { " AND" };
            let of = self.pick(&["avg(sn)", "max(sn) + count(*)", "count(*)", "sum(smoney)"]);
            let key = self.pick(&["x.scode = code", "x.sn = n", "x.sword = word AND x.sn = n"]);
            condition += &format!("{link} n > (SELECT {of} FROM %s{moment} x WHERE {key})");
        }
        let text = match self.dice.below(5) {
            // The first rows in an order of all columns, and different rows.
            0 => {
                let columns: Vec<_> = (0..1 + self.dice.below(3)).map(|_| self.key()).collect();
                let order = |at: usize| {
                    let how = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"];
                    format!("{}{}", at + 1, self.pick(&how))
                };
                let order: Vec<_> = (0..columns.len()).map(order).collect();
                let (limit, offset) = (1 + self.dice.below(90), self.pick(&["", " OFFSET 7"]));
                format!(
                    "SELECT {} FROM {source}{condition} ORDER BY {} LIMIT {limit}{offset}",
                    columns.join(", "),
                    order.join(", ")
                )
            }
            1 => {
                let columns: Vec<_> = (0..1 + self.dice.below(3)).map(|_| self.key()).collect();
                format!("SELECT DISTINCT {} FROM {source}{condition}", columns.join(", "))
            }
            2 => {
                let columns: Vec<_> = (0..1 + self.dice.below(4))
                    .map(|_| if self.dice.below(2) == 0 { self.key() } else { self.number() })
                    .collect();
                format!("SELECT {} FROM {source}{condition}", columns.join(", "))
            }
            _ => format!("SELECT {} FROM {source}{condition}{group}", list.join(", ")),
        };
        let sorted = |shown: String| {
            // Of an error the code: which row is met first decides what it says.
            if let Some(at) = shown.find("ERROR:") {
                return shown[at..].chars().take(14).collect();
            }
            let mut lines: Vec<&str> = shown.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        // In a transaction an error of the one is not in the way of the other.
        let mut asked = |table: &str| {
            self.run("SAVEPOINT asked");
            let mut text = text.clone();
            if table == "r" {
                // A sample of all rows is read row by row, however many there are.
                let rows = format!("r{moment} TABLESAMPLE BERNOULLI (100)");
                text = text.replace("%s", "rs").replace(&format!("%{moment}"), &rows);
            }
            let shown = self.run(&text.replace('%', table));
            self.run("ROLLBACK TO asked");
            sorted(shown)
        };
        let (rows, columns) = (asked("r"), asked("c"));
        self.asked += 1;
        // Over columns, AND stops at NULL; row by row it evaluates the next part, which may fail. And a condition may
        // fail for a row that has no partner, if the join does not come first.
        let fails = [&rows, &columns].map(|one| one.starts_with("ERROR:  22"));
        if fails[0] != fails[1] && (fails[0] || is_joined) {
            self.failed_once += 1;
            return;
        }
        let same = rows.lines().count() == columns.lines().count();
        let differ = columns.lines().zip(rows.lines()).find(|(one, other)| !is_near(one, other));
        assert!(same && differ.is_none(), "ANYWHEN_SEED={}: {text}: {differ:?}", self.seed);
    }
}

/// True where two rows are the same, or differ in the last digits of floating point numbers: these are added in
/// another order.
fn is_near(one: &str, other: &str) -> bool {
    const NEAR: f64 = 1e-9;
    let near = |(one, other): (&str, &str)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(a), Ok(b)) if a.is_finite() => (a - b).abs() <= NEAR * a.abs().max(b.abs()),
        _ => one == other,
    };
    one == other || one.split('|').zip(other.split('|')).all(near)
}

/// How the second table has its columns.
#[derive(Clone, Copy, PartialEq)]
enum Second {
    /// It has this access method, and enough rows for the batch engine.
    Plain { using: &'static str },
    /// It is one of rows, with a columnar index. `using` is its access method.
    Indexed { using: &'static str },
}

impl Second {
    fn using(self) -> &'static str {
        match self {
            Second::Plain { using } | Second::Indexed { using } => using,
        }
    }
}

/// The columnar index of the second table, on columns and on what is computed of them.
const INDEX: &str = "CREATE INDEX c_columns ON c USING columnar (id, word, code, flag, small, n, big, exact, money, f, \
                     r, day, at, note, doc, tags, (doc ->> 's'), (doc -> 'k'), upper(word), (mod(n, 10)), (n::float8), (money - exact))";

fn compare(seed: u64, second: Second, steps: u64) {
    let dice = SimRandom::new(seed);
    let session = connect(&instance_on(&SimVfs::new(seed)));
    let mut twins = Twins { dice, session, seed, rows: 0, asked: 0, failed_once: 0 };
    let using = second.using();
    let is_indexed = matches!(second, Second::Indexed { .. });
    twins.run(&format!("CREATE TABLE r ({COLUMNS})"));
    // Blocks are small, so that tables have many.
    let small = match using {
        "columnar" => " WITH (chunk_group_row_limit = 1000)",
        _ => "",
    };
    twins.run(&format!("CREATE TABLE c ({COLUMNS}) USING {using}{small}"));
    twins.run(&format!("CREATE TABLE rs ({PARTNERS})"));
    // The partners have no document.
    let using = if using == "document" { "heap" } else { using };
    twins.run(&format!("CREATE TABLE cs ({PARTNERS}) USING {using}"));
    if is_indexed {
        // Versions from before the index are asked for as well.
        twins.fill(700);
        twins.both("UPDATE % SET n = 1 - n, doc = jsonb_set(doc, '{k}', '7') WHERE n < 0");
        assert_eq!(twins.run(INDEX), "CREATE INDEX\n");
        let names: Vec<&str> =
            PARTNERS.split(", ").filter_map(|one| one.split(' ').next()).collect();
        let names = names.join(", ").replace(", 2)", "");
        twins.run(&format!("CREATE INDEX cs_columns ON cs USING columnar ({names})"));
    }
    if using != "columnar" {
        twins.fill(1_500);
    }
    let plan = twins.run("EXPLAIN SELECT word, sum(n) FROM c GROUP BY word");
    assert!(plan.contains("Batches"), "columns are grouped over columns: {plan}");
    assert_eq!(plan.contains("using c_columns"), is_indexed, "{plan}");
    let plan = twins.run("EXPLAIN SELECT word, sum(n) FROM c JOIN cs ON n = sn GROUP BY word");
    assert_eq!(plan.matches("Batches").count(), 2, "and joined: {plan}");
    assert_eq!(plan.matches("Index Only Scan").count(), if is_indexed { 2 } else { 0 }, "{plan}");
    twins.fill(3_000);
    twins.fill_partners(250);
    twins.run("CHECKPOINT");
    twins.run("SET min_parallel_table_scan_size = 0");
    for step in 0..steps {
        match twins.dice.below(14) {
            0 => twins.fill(200),
            1 => drop(twins.run("CHECKPOINT")),
            2 => {
                let condition = twins.condition();
                twins.both(&format!("UPDATE % SET n = n / 2, word = 'b' WHERE {condition}"));
            }
            3 => twins.both(&format!("DELETE FROM % WHERE mod(id, 97) = {step}")),
            4 => {
                let work = twins.pick(&["64kB", "4MB"]);
                twins.run(&format!("SET work_mem = '{work}'"));
            }
            5 => {
                let condition = twins.condition();
                let set = "doc = jsonb_set(doc, '{s}', '\"x9\"'), tags = tags";
                twins.both(&format!("UPDATE % SET {set} WHERE {condition}"));
            }
            6 => {
                // Small tables are read by several threads too, or none is.
                let help = twins.pick(&["min_parallel_table_scan_size", "max_parallel_workers"]);
                let other = twins.pick(&["min_parallel_table_scan_size", "max_parallel_workers"]);
                twins.run(&format!("SET {help} = 0; RESET {other}"));
            }
            7 if is_indexed && twins.dice.below(3) == 0 => {
                twins.run("DROP INDEX c_columns");
                assert_eq!(twins.run(INDEX), "CREATE INDEX\n");
            }
            _ => {}
        }
        for _ in 0..5 {
            twins.ask("");
        }
        // A transaction sees its own changes over both.
        if twins.dice.below(3) == 0 {
            twins.run("BEGIN");
            let condition = twins.condition();
            for table in ["r", "c"] {
                let set = format!("UPDATE {table} SET n = 3, word = NULL WHERE {condition}");
                twins.run(&set);
                twins.run("SAVEPOINT own");
                twins.run(&format!("UPDATE {table} SET n = 4, doc = NULL WHERE small = 2"));
                twins.run("ROLLBACK TO own");
                twins.run(&format!("DELETE FROM {table} WHERE mod(id, 11) = 3"));
                let row = "VALUES (-7, 'new', 'DE'), (-8, 'a', 'US')";
                twins.run(&format!("INSERT INTO {table} (id, word, code) {row}"));
            }
            twins.ask("");
            twins.ask("");
            twins.run("ROLLBACK");
        }
        let version = 8 + twins.dice.below(60);
        twins.ask(&format!(" FOR SYSTEM_VERSION AS OF {version}"));
    }
    let (asked, failed) = (twins.asked, twins.failed_once);
    assert!(failed * 5 < asked, "ANYWHEN_SEED={seed}: {failed} of {asked} failed for one alone");
}

#[test]
fn columns_and_rows_have_the_same_aggregates() {
    seeds(6_100, 3, |seed| compare(seed, Second::Plain { using: "columnar" }, 60));
}

/// Many rows in row form are computed on arrays, and one by one: the answers are the same.
#[test]
fn arrays_of_rows_and_rows_have_the_same_aggregates() {
    seeds(6_500, 1, |seed| compare(seed, Second::Plain { using: "heap" }, 40));
    seeds(6_600, 1, |seed| compare(seed, Second::Plain { using: "rowcompress" }, 20));
    seeds(6_700, 1, |seed| compare(seed, Second::Plain { using: "document" }, 20));
}

/// A scan that stands in the place of a sort gives its rows in order, after changes too. It once gave them block by
/// block, and an aggregate that depends on the order, or the client, got them so.
#[test]
fn rows_that_need_no_sort_come_in_order() {
    let mut session = connect(&instance_on(&SimVfs::new(8)));
    let mut run = |text: &str| answer(&mut session, text);
    for using in ["heap", "columnar", "rowcompress", "document"] {
        let (column, doc) = match using {
            "document" => (", doc jsonb", ", '{}'"),
            _ => ("", ""),
        };
        run(&format!("CREATE TABLE t (id int PRIMARY KEY, n int{column}) USING {using}"));
        run(&format!("INSERT INTO t SELECT g, g % 5{doc} FROM generate_series(1, 3000) g"));
        run("CHECKPOINT");
        run("UPDATE t SET n = n + 1 WHERE id % 100 = 3");
        run(&format!("INSERT INTO t SELECT g, 1{doc} FROM generate_series(-9, 0) g"));
        let ordered = "(SELECT id FROM t WHERE n < 9 ORDER BY id OFFSET 0) s";
        for from in
            [ordered, &ordered.replace(" OFFSET 0", ""), &ordered.replace("WHERE n < 9 ", "")]
        {
            let same = "string_agg(id::text, ',') = string_agg(id::text, ',' ORDER BY id)";
            let found = run(&format!("SELECT {same} AS same, count(*) FROM {from}"));
            assert_eq!(found, "same|count\nt|3010\n(1 row)\n", "{using}: {from}");
        }
        let rows = run("SELECT id FROM t WHERE n < 9 ORDER BY id");
        let ids: Vec<i32> = rows.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(ids.len() == 3010 && ids.is_sorted(), "{using}");
        run("DROP TABLE t");
    }
}

/// A table of rows and one with a columnar index beside are asked the same: now, within transactions, and in the past
/// before and after the index was made.
#[test]
fn a_columnar_index_and_its_rows_have_the_same_aggregates() {
    seeds(6_200, 2, |seed| compare(seed, Second::Indexed { using: "heap" }, 50));
    seeds(6_300, 1, |seed| compare(seed, Second::Indexed { using: "rowcompress" }, 25));
    seeds(6_400, 1, |seed| compare(seed, Second::Indexed { using: "document" }, 25));
}

/// The plan computes joins and conditions over columns below operators that take rows, and so the groups that `HAVING`
/// looks at.
#[test]
fn rows_of_joins_come_out_of_columns() {
    let mut session = connect(&instance_on(&SimVfs::new(5)));
    let mut run = |text: &str| answer(&mut session, text);
    run("CREATE TABLE sale (id int PRIMARY KEY, shop int, amount int) USING columnar");
    run("CREATE TABLE shop (id int PRIMARY KEY, name text, town text) USING columnar");
    run("INSERT INTO sale SELECT g, g % 50, g % 7 FROM generate_series(1, 20000) g");
    run("INSERT INTO shop SELECT g, 'shop ' || g, 'town ' || g % 5 FROM generate_series(0, 49) g");
    run("CHECKPOINT");
    run("ANALYZE");
    let mut batches = |text: &str| run(&format!("EXPLAIN {text}")).matches("Batches").count();
    let sorted = "SELECT sale.id, name FROM sale JOIN shop ON shop = shop.id WHERE amount = 6 \
                  ORDER BY sale.id DESC LIMIT 2";
    assert_eq!(batches(sorted), 1, "the join below the sort");
    let found = "SELECT count(*) FROM (SELECT id FROM shop WHERE name LIKE '%p 4_' OFFSET 0) x";
    assert_eq!(batches(found), 1, "the condition below the offset");
    // Rows that are locked are looked at again, one by one.
    assert_eq!(batches("SELECT id FROM shop WHERE name LIKE '%7' FOR UPDATE"), 0);
    assert_eq!(run(sorted), "id|name\n19998|shop 48\n19991|shop 41\n(2 rows)\n");
    assert_eq!(run(found), "count\n10\n(1 row)\n");
    let having = "SELECT shop, sum(amount) FROM sale GROUP BY shop HAVING sum(amount) > 1202";
    assert_eq!(
        run(having),
        "shop|sum\n6|1203\n13|1203\n20|1203\n27|1203\n34|1203\n41|1203\n48|1203\n(7 rows)\n"
    );
    // More rows wait than `work_mem` has room for.
    run("SET work_mem = '64kB'");
    let many = "SELECT a.id, b.id FROM sale a JOIN sale b ON a.shop = b.shop WHERE a.amount = 1 \
                AND b.id < 2000 ORDER BY 1 DESC, 2 DESC LIMIT 1";
    assert_eq!(run(many), "id|id\n20000|1950\n(1 row)\n");
}

/// The key of a table alone identifies groups, if the other keys are columns of the same row. A unique column that may
/// be NULL identifies no row, and neither does the key of a table that has several versions.
#[test]
fn keys_that_depend_on_another_do_not_tell_groups_apart() {
    let mut session = connect(&instance_on(&SimVfs::new(6)));
    let mut run = |text: &str| answer(&mut session, text);
    run("CREATE TABLE p (id int PRIMARY KEY, u int UNIQUE, name text) USING columnar");
    run("CREATE TABLE q (p int, n int) USING columnar");
    run("INSERT INTO p VALUES (1, 1, 'a'), (2, NULL, 'b'), (3, NULL, 'c'), (4, 4, NULL)");
    run("INSERT INTO q VALUES (1, 10), (1, 20), (2, 5), (3, 6), (9, 1), (NULL, 2)");
    run("CHECKPOINT");
    let joined = "SELECT p, name, sum(n) FROM q JOIN p ON p = p.id GROUP BY p, name ORDER BY p";
    assert_eq!(run(joined), "p|name|sum\n1|a|30\n2|b|5\n3|c|6\n(3 rows)\n");
    let left =
        "SELECT id, name, sum(n) FROM q LEFT JOIN p ON p = p.id GROUP BY name, id ORDER BY id";
    assert_eq!(run(left), "id|name|sum\n1|a|30\n2|b|5\n3|c|6\nNULL|NULL|3\n(4 rows)\n");
    let unique = "SELECT u, name, count(*) FROM p GROUP BY u, name ORDER BY name";
    assert_eq!(run(unique), "u|name|count\n1|a|1\nNULL|b|1\nNULL|c|1\n4|NULL|1\n(4 rows)\n");
    run("UPDATE p SET name = 'z' WHERE id = 1");
    let versions = "SELECT id, name, count(*) FROM p FOR SYSTEM_TIME ALL WHERE id = 1 \
                    GROUP BY id, name ORDER BY name";
    assert_eq!(run(versions), "id|name|count\n1|a|1\n1|z|1\n(2 rows)\n");
}

/// `NOT IN` is an anti join where neither side is ever NULL, and else it is true of no row that is not known to be
/// missing.
#[test]
fn not_in_is_a_join_where_nothing_is_null() {
    let mut session = connect(&instance_on(&SimVfs::new(6)));
    let mut run = |text: &str| answer(&mut session, text);
    run("CREATE TABLE p (id int PRIMARY KEY, u int) USING columnar");
    run("CREATE TABLE q (id int NOT NULL, u int) USING columnar");
    run("INSERT INTO p VALUES (1, 1), (2, NULL), (3, 3)");
    run("INSERT INTO q VALUES (1, 1), (5, NULL)");
    run("CHECKPOINT");
    let mut asked = |condition: &str| {
        let asked = format!("SELECT id FROM p WHERE {condition} ORDER BY id");
        let is_join = run(&format!("EXPLAIN {asked}")).contains("Anti Join");
        (run(&asked).lines().skip(1).map(str::to_owned).collect::<Vec<_>>().join(" "), is_join)
    };
    let is = |rows: &str, is_join: bool| (rows.to_owned(), is_join);
    assert_eq!(asked("id NOT IN (SELECT id FROM q)"), is("2 3 (2 rows)", true));
    assert_eq!(asked("id NOT IN (SELECT id FROM q WHERE u > 0)"), is("2 3 (2 rows)", true));
    assert_eq!(asked("id NOT IN (SELECT u FROM q)"), is("(0 rows)", false));
    assert_eq!(asked("u NOT IN (SELECT id FROM q)"), is("3 (1 row)", false));
    assert_eq!(asked("u NOT IN (SELECT id FROM q WHERE id < 0)"), is("1 2 3 (3 rows)", false));
    // A column of a row that a join left out is NULL.
    let left_out = "id NOT IN (SELECT q.id FROM p x LEFT JOIN q ON q.id = x.id)";
    assert_eq!(asked(left_out), is("(0 rows)", false));
    // A column that has no NULL now may have had one.
    let past = "id NOT IN (SELECT id FROM q FOR SYSTEM_VERSION AS OF 0)";
    assert!(!asked(past).1);
    run("ALTER TABLE q ALTER id DROP NOT NULL");
    run("INSERT INTO q VALUES (NULL, 1)");
    let rows = run("SELECT id FROM p WHERE id NOT IN (SELECT id FROM q)");
    assert_eq!(rows, "id\n(0 rows)\n");
}

/// A subquery that a condition above a join asks for many values is computed for these together, and gives each row
/// what it gives alone.
#[test]
fn a_subquery_is_computed_for_the_values_that_rows_ask_for() {
    let mut session = connect(&instance_on(&SimVfs::new(7)));
    let mut run = |text: &str| answer(&mut session, text);
    run("CREATE TABLE item (part int, n int) USING columnar");
    run("CREATE TABLE part (id int PRIMARY KEY, brand text) USING columnar");
    run("INSERT INTO item SELECT g % 400, g % 13 FROM generate_series(1, 8000) g");
    run("INSERT INTO part SELECT g, 'brand ' || g % 40 FROM generate_series(0, 399) g");
    run("CHECKPOINT");
    run("ANALYZE");
    let from = "FROM item JOIN part ON part = id WHERE brand = 'brand 3'";
    let above = "n > (SELECT avg(x.n) FROM item x WHERE x.part = part.id)";
    let question = format!("SELECT count(*), sum(n) {from} AND {above}");
    let plan = run(&format!("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) {question}"));
    assert!(plan.contains("Aggregate (never executed)"), "not value by value: {plan}");
    let by_join =
        "WITH mean AS MATERIALIZED (SELECT part AS of, avg(n) AS of_part FROM item GROUP BY 1)";
    let expected = run(&format!(
        "{by_join} SELECT count(*), sum(n) FROM item, part, mean WHERE part = id \
         AND brand = 'brand 3' AND of = part AND n > of_part"
    ));
    assert!(expected.contains("(1 row)"), "{expected}");
    assert_eq!(run(&question), expected);
    // A value that no row has gives what the aggregate gives of no rows; NULL asks for nothing.
    run("INSERT INTO part VALUES (900, 'brand 3'), (901, 'brand 3')");
    let counted = "SELECT id, (SELECT count(*) FROM item x WHERE x.part = p.id) c FROM part p \
                   JOIN part o USING (id) WHERE p.id >= 398 \
                   AND 20 >= (SELECT count(*) FROM item x WHERE x.part = p.id) ORDER BY id";
    assert_eq!(run(counted), "id|c\n398|20\n399|20\n900|0\n901|0\n(4 rows)\n");
    // A subquery that finds its rows by an index is asked row by row: no rows are read that a limit leaves out.
    run("CREATE TABLE indexed (part int, n int)");
    run("INSERT INTO indexed SELECT part, n FROM item");
    run("CREATE INDEX ON indexed (part)");
    run("ANALYZE");
    let limited = "SELECT n FROM indexed i JOIN part ON part = id \
                   WHERE n >= (SELECT min(x.n) FROM indexed x WHERE x.part = i.part) LIMIT 1";
    let plan = run(&format!("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) {limited}"));
    assert!(plan.contains("Aggregate (actual rows=1 loops=1)"), "{plan}");
    let listed = "SELECT (SELECT min(x.n) FROM indexed x WHERE x.part = i.part) FROM item i \
                  JOIN part ON part = id LIMIT 1";
    let plan = run(&format!("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) {listed}"));
    assert!(plan.contains("Aggregate (actual rows=1 loops=1)"), "{plan}");
}

/// One execution of a prepared statement evaluates the entries of a dictionary; the next, which has another
/// parameter, does so anew.
#[test]
fn a_parameter_decides_anew_in_each_execution() {
    let mut session = connect(&instance_on(&SimVfs::new(3)));
    let mut run = |text: &str| answer(&mut session, text);
    run("CREATE TABLE c (word text, n int) USING columnar");
    run("INSERT INTO c SELECT (array['a', 'b', 'c'])[g % 3 + 1], g FROM generate_series(1, 100) g");
    run("CHECKPOINT");
    run(
        "PREPARE p AS SELECT count(*), sum(CASE WHEN word = $1 THEN n END) FROM c WHERE word >= $1",
    );
    for _ in 0..2 {
        assert_eq!(run("EXECUTE p('a')"), "count|sum\n100|1683\n(1 row)\n");
        assert_eq!(run("EXECUTE p('b')"), "count|sum\n67|1717\n(1 row)\n");
    }
    // A value of the row around is no other than a parameter.
    let outer =
        "SELECT w, (SELECT count(*) FROM c WHERE word = w) FROM (VALUES ('a'), ('b'), ('x')) v(w)";
    assert_eq!(run(outer), "w|count\na|33\nb|34\nx|0\n(3 rows)\n");
}

/// A join starts again row by row if its smaller side does not fit `work_mem`, also below another join. Each kind of join
/// gives the rows that it gives in memory.
#[test]
fn a_join_that_does_not_fit_gives_the_same_rows() {
    let mut session = connect(&instance_on(&SimVfs::new(4)));
    let mut run = |text: &str| answer(&mut session, text);
    for (table, factor, rows) in [("a", 3, 9_000), ("b", 2, 12_000), ("c", 5, 8_000)] {
        run(&format!(
            "CREATE TABLE {table} ({table}k int, {table}n int, {table}t text) USING columnar"
        ));
        run(&format!(
            "INSERT INTO {table} SELECT g * {factor} % 10007, nullif(g % 100, 7), 'text ' || g FROM generate_series(1, {rows}) g"
        ));
    }
    run("CHECKPOINT");
    let calls = "count(*), sum(an), sum(bn), min(at), max(bt)";
    let mut questions: Vec<String> = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
        .iter()
        .map(|kind| format!("SELECT {calls} FROM a {kind} b ON ak = bk"))
        .collect();
    questions.push(format!("SELECT {calls}, sum(cn) FROM a JOIN b ON ak = bk JOIN c ON bk = ck"));
    questions.push(format!("SELECT {calls} FROM a JOIN b ON ak = bk AND an < bn"));
    for not in ["", "NOT "] {
        let partners = "SELECT FROM b WHERE ak = bk";
        questions.push(format!(
            "SELECT count(*), sum(an), max(at) FROM a WHERE {not}EXISTS ({partners})"
        ));
        let partners = "SELECT FROM a WHERE ak = bk";
        questions.push(format!(
            "SELECT count(*), sum(bn), max(bt) FROM b WHERE {not}EXISTS ({partners})"
        ));
    }
    for question in questions {
        let plan = run(&format!("EXPLAIN {question}"));
        assert!(plan.matches("Batches").count() >= 2, "{question}: {plan}");
        run("SET work_mem = '64MB'");
        let in_memory = run(&question);
        assert!(in_memory.contains("(1 row)"), "{in_memory}");
        run("SET work_mem = '64kB'");
        assert_eq!(run(&question), in_memory, "{question}");
    }
}
