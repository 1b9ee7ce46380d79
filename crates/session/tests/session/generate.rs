//! Random expressions, conditions and statements, from a seed alone.
//!
//! [`condition`] makes what may stand in `WHERE` over the table of [`TABLE`]: columns, literals near
//! the values that are there, comparisons, `BETWEEN`, `IN`, `LIKE`, `CASE`, subqueries, jsonb.
//! [`statement`] makes whole statements, right or nearly so, of every kind. [`mutated`] takes a
//! statement that somebody wrote and spoils it.

use vfs::SimRandom;

/// The columns that conditions are about. NULL is in each but the first.
pub const TABLE: &str = "(id int, a int, b bigint, c text, d numeric, e date, j jsonb, f float8)";

fn pick<'a>(random: &SimRandom, list: &[&'a str]) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

/// A row of the table, as `VALUES` has it.
pub fn row(random: &SimRandom, id: u64) -> String {
    let or_null = |text: String| match random.below(6) {
        0 => "NULL".to_owned(),
        _ => text,
    };
    let a = or_null(format!("{}", random.below(9) as i64 - 2));
    let b = or_null(format!("{}", random.below(5)));
    let c = or_null(format!("'{}'", pick(random, &["", "a", "ab", "b%", "B", "a_c", "zz"])));
    let d = or_null(pick(random, &["0", "0.0", "1.5", "-2", "1.50", "3", "'NaN'"]).to_owned());
    let e = or_null(format!("date '2024-02-27' + {}", random.below(5)));
    let j =
        or_null(format!("'{}'", pick(random, &["{\"k\":1}", "[1,2]", "{}", "3", "{\"k\":\"a\"}"])));
    let f = or_null(pick(random, &["0", "-0.0", "1.5", "2", "'NaN'", "'infinity'"]).to_owned());
    format!("({id}, {a}, {b}, {c}, {d}, {e}, {j}, {f})")
}

/// A number: a column, a literal, or made of others.
fn number(random: &SimRandom, depth: u32) -> String {
    if depth == 0 || random.below(3) == 0 {
        return pick(
            random,
            &["a", "b", "d", "f", "id", "0", "1", "2", "3", "-1", "1.5", "NULL::int"],
        )
        .to_owned();
    }
    let (left, right) = (number(random, depth - 1), number(random, depth - 1));
    match random.below(8) {
        0 => format!("({left} + {right})"),
        1 => format!("({left} - {right})"),
        2 => format!("({left} * {right})"),
        3 => format!("coalesce({left}, {right})"),
        4 => format!("length({})", text(random, depth - 1)),
        5 => format!("abs({left})"),
        6 => format!("CASE WHEN {} THEN {left} ELSE {right} END", condition(random, depth - 1)),
        _ => format!("nullif({left}, {right})"),
    }
}

fn text(random: &SimRandom, depth: u32) -> String {
    if depth == 0 || random.below(2) == 0 {
        return pick(random, &["c", "c", "'a'", "''", "'ab'", "NULL::text"]).to_owned();
    }
    match random.below(5) {
        0 => format!("upper({})", text(random, depth - 1)),
        1 => format!("({} || {})", text(random, depth - 1), text(random, depth - 1)),
        2 => format!("({})::text", number(random, depth - 1)),
        3 => "(j ->> 'k')".to_owned(),
        _ => format!("coalesce({}, 'x')", text(random, depth - 1)),
    }
}

/// A random condition for `WHERE`.
pub fn condition(random: &SimRandom, depth: u32) -> String {
    if depth > 0 && random.below(3) == 0 {
        let (left, right) = (condition(random, depth - 1), condition(random, depth - 1));
        return match random.below(5) {
            0 | 1 => format!("({left} AND {right})"),
            2 | 3 => format!("({left} OR {right})"),
            _ => format!("(NOT {left})"),
        };
    }
    let depth = depth.saturating_sub(1);
    let compare = pick(random, &["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"]);
    match random.below(14) {
        0..=3 => format!(
            "{} {compare} {}",
            pick(random, &["id", "a", "b", "d", "f"]),
            pick(random, &["0", "1", "2", "3", "5", "-1", "1.5", "17", "40", "NULL"])
        ),
        4 => format!("({}) {compare} ({})", number(random, depth), number(random, depth)),
        5 => format!("{} {compare} {}", text(random, depth), text(random, depth)),
        6 => format!("{} IS {}NULL", number(random, depth), pick(random, &["", "NOT "])),
        7 => format!(
            "{} BETWEEN {} AND {}",
            pick(random, &["a", "id", "d"]),
            random.below(4),
            random.below(30)
        ),
        8 => format!(
            "{} IN (1, {}, {})",
            pick(random, &["a", "b", "id"]),
            random.below(9),
            pick(random, &["3", "NULL"])
        ),
        9 => format!(
            "c {} '{}'",
            pick(random, &["LIKE", "NOT LIKE", "ILIKE", "~"]),
            pick(random, &["a%", "_b", "%", "A", "b\\%"])
        ),
        10 => format!("e {compare} date '2024-02-28'"),
        11 => pick(
            random,
            &[
                "j @> '{\"k\":1}'",
                "j ? 'k'",
                "j -> 'k' = '1'",
                "j = '[1,2]'",
                "jsonb_typeof(j) = 'object'",
            ],
        )
        .to_owned(),
        12 => format!(
            "{} (SELECT 1 FROM plain s WHERE s.a = {} AND s.id < 20)",
            pick(random, &["EXISTS", "NOT EXISTS"]),
            pick(random, &["x.a", "x.b", "x.id"])
        ),
        _ => format!("(a, b) {compare} (1, {})", random.below(4)),
    }
}

/// A value of any type, and calls with whatever arguments.
fn anything(random: &SimRandom, depth: u32) -> String {
    const LEAVES: &[&str] = &[
        "1",
        "-1",
        "0",
        "2147483647",
        "9223372036854775807",
        "1e300",
        "'NaN'::float8",
        "1.5",
        "NULL",
        "'abc'",
        "''",
        "'{1,2}'::int[]",
        "ARRAY[1,NULL]",
        "'{\"a\":[1,{\"b\":2}]}'::jsonb",
        "true",
        "date '2024-02-29'",
        "timestamp 'infinity'",
        "interval '1 mon -1 day'",
        "now()",
        "ROW(1, 'x')",
        "'\\x00ff'::bytea",
        "a",
        "c",
        "j",
        "x.*",
        "*",
        "'2024-01-01'",
        "'99999999999999999999'",
        "e",
        "1::int2",
        "'$.a[*]'::jsonpath",
        "'{}'",
        "current_date",
        "time '24:00'",
        "'x'::char(3)",
    ];
    const CALLS: &[&str] = &[
        "abs",
        "upper",
        "length",
        "substring",
        "lpad",
        "repeat",
        "round",
        "power",
        "to_char",
        "to_date",
        "date_trunc",
        "extract",
        "age",
        "generate_series",
        "unnest",
        "array_agg",
        "sum",
        "max",
        "count",
        "jsonb_set",
        "jsonb_path_query",
        "jsonb_each",
        "to_jsonb",
        "coalesce",
        "greatest",
        "nullif",
        "string_to_array",
        "array_to_string",
        "regexp_replace",
        "split_part",
        "format",
        "row_number",
        "make_date",
        "width_bucket",
        "overlay",
        "trim",
        "left",
        "chr",
        "factorial",
        "gcd",
        "log",
        "array_fill",
        "array_position",
        "date_bin",
        "justify_interval",
        "jsonb_insert",
        "string_agg",
        "percentile_cont",
        "lag",
        "to_timestamp",
        "encode",
        "decode",
        "md5",
        "translate",
        "trunc",
        "mod",
        "div",
        "sqrt",
        "ln",
        "exp",
        "bit_count",
        "set_byte",
        "get_bit",
        "pg_typeof",
        "setseed",
        "jsonb_pretty",
        "json_build_object",
        "row_to_json",
        "num_nulls",
        "quote_literal",
        "parse_ident",
    ];
    if depth == 0 || random.below(3) == 0 {
        return pick(random, LEAVES).to_owned();
    }
    let next = || anything(random, depth - 1);
    match random.below(9) {
        0..=3 => {
            let arguments: Vec<String> =
                (0..random.below(4)).map(|_| anything(random, depth - 1)).collect();
            format!("{}({})", pick(random, CALLS), arguments.join(", "))
        }
        4 => {
            let operator = pick(
                random,
                &[
                    "+",
                    "-",
                    "*",
                    "/",
                    "%",
                    "^",
                    "||",
                    "=",
                    "<",
                    "->",
                    "->>",
                    "@>",
                    "&&",
                    "#>",
                    "<<",
                    "~",
                    "LIKE",
                    "AND",
                    "IS DISTINCT FROM",
                    "AT TIME ZONE",
                ],
            );
            format!("({} {operator} {})", next(), next())
        }
        5 => format!(
            "({})::{}",
            next(),
            pick(
                random,
                &[
                    "int",
                    "int2",
                    "text",
                    "numeric(3,1)",
                    "jsonb",
                    "date",
                    "interval",
                    "float4",
                    "bool",
                    "int[]",
                    "bytea",
                    "timestamptz",
                    "varchar(2)"
                ]
            )
        ),
        6 => format!("CASE WHEN {} THEN {} ELSE {} END", next(), next(), next()),
        7 => format!("({})[{}]", next(), next()),
        _ => format!(
            "(SELECT {} {})",
            next(),
            pick(random, &["", "FROM plain x LIMIT 1", "WHERE false", "UNION SELECT NULL"])
        ),
    }
}

/// A statement of any kind; it may be wrong.
pub fn statement(random: &SimRandom) -> String {
    let (one, two) = (anything(random, 3), anything(random, 2));
    let when = condition(random, 2);
    let past = pick(
        random,
        &[
            "",
            "",
            "FOR SYSTEM_TIME AS OF now()",
            "FOR SYSTEM_TIME ALL",
            "FOR SYSTEM_VERSION AS OF 3",
            "FOR SYSTEM_TIME BETWEEN '-infinity' AND 'infinity'",
            "FOR SYSTEM_VERSION AS OF 999999",
        ],
    );
    match random.below(20) {
        0..=4 => format!("SELECT {one}, {two} FROM plain {past} x WHERE {when} ORDER BY 1 LIMIT 3"),
        5 => format!("SELECT {one}, count(*) FROM plain x GROUP BY {two} HAVING {when}"),
        6 => format!("SELECT {one} OVER (PARTITION BY {two} ORDER BY id) FROM plain x"),
        7 => format!(
            "SELECT * FROM plain x {} JOIN keyed y ON {when}",
            pick(random, &["", "LEFT", "FULL"])
        )
        .replace("x.", "y."),
        8 => format!(
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT {one} FROM r, plain x WHERE {when}"
        ),
        9 => format!("SELECT {one} UNION SELECT {two} ORDER BY 1"),
        10 => format!("INSERT INTO scratch SELECT {one}, {two} FROM plain x LIMIT 2 RETURNING *"),
        11 => format!(
            "INSERT INTO scratch VALUES ({}, {one}) ON CONFLICT (n) DO UPDATE SET v = {two}",
            random.below(5)
        ),
        12 => format!("UPDATE scratch SET v = {one} WHERE n = {} RETURNING {two}", random.below(5)),
        13 => format!("DELETE FROM scratch x USING plain p WHERE {one}"),
        14 => format!(
            "MERGE INTO scratch s USING plain x ON s.n = x.id WHEN MATCHED AND {two} THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (x.id, {one})"
        ),
        15 => format!(
            "CREATE TABLE made{} AS SELECT {one} AS q FROM plain x LIMIT 1",
            random.below(9)
        ),
        16 => format!("DROP TABLE IF EXISTS made{}", random.below(9)),
        17 => format!(
            "ALTER TABLE scratch ADD COLUMN IF NOT EXISTS g{} text DEFAULT {one}",
            random.below(4)
        ),
        18 => format!("CREATE INDEX IF NOT EXISTS si{} ON scratch (({one}))", random.below(4)),
        _ => format!("EXPLAIN SELECT {one} FROM keyed x WHERE {when}"),
    }
}

/// The tokens of a text, as far as spoiling it needs them: words, numbers, strings, signs.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if !token.trim().is_empty() {
            tokens.push(token);
        }
        rest = after;
    }
    tokens
}

/// A statement spoiled in one to four places; `other` lends words.
pub fn mutated(random: &SimRandom, text: &str, other: &str) -> String {
    const STRANGE: &[&str] = &[
        "99999999999999999999999",
        "-9223372036854775808",
        "1e999",
        "''",
        "NULL",
        "(",
        ")",
        ",",
        "'",
        "\"",
        "::int",
        "$1",
        "0",
        "$$",
        "--",
        "/*",
        "\u{1f600}",
        "[",
        "*",
        ";",
        "AS OF",
        "FOR SYSTEM_TIME ALL",
    ];
    let lent = tokens(other);
    let mut tokens: Vec<String> = tokens(text).into_iter().map(str::to_owned).collect();
    for _ in 0..1 + random.below(4) {
        if tokens.is_empty() {
            break;
        }
        let at = random.below(tokens.len() as u64) as usize;
        let elsewhere = random.below(tokens.len() as u64) as usize;
        match random.below(8) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[elsewhere].clone()),
            2 => tokens.swap(at, elsewhere),
            3 => tokens[at] = pick(random, STRANGE).to_owned(),
            4 if !lent.is_empty() => tokens[at] = pick(random, &lent).to_owned(),
            5 => tokens.truncate(at.max(1)),
            6 => {
                let deep = 1 << random.below(11);
                tokens[at] = format!("{}{}{}", "(".repeat(deep), tokens[at], ")".repeat(deep));
            }
            _ => tokens.insert(at, pick(random, STRANGE).to_owned()),
        }
    }
    tokens.join(" ")
}
