//! Plans over columns and rows, each with the answer that it once got wrong or the plan that it should have.

use crate::client::{connect, instance_on};
use crate::methods::answer;
use vfs::SimVfs;

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

/// A join whose smaller side does not fit `work_mem` is divided by keys, also below another join. Each kind of join gives
/// the rows that it gives in memory, for keys of each kind, for rows without a key, and when it runs again.
#[test]
fn a_join_that_does_not_fit_gives_the_same_rows() {
    let mut session = connect(&instance_on(&SimVfs::new(4)));
    let mut run = |text: &str| answer(&mut session, text);
    for (table, factor, rows) in [("a", 3, 9_000), ("b", 2, 12_000), ("c", 5, 8_000)] {
        run(&format!(
            "CREATE TABLE {table} ({table}k int, {table}n int, {table}t text) USING columnar"
        ));
        run(&format!(
            "INSERT INTO {table} SELECT nullif(g * {factor} % 10007, 77), nullif(g % 100, 7), 'text ' || nullif(g, 5) \
             FROM generate_series(1, {rows}) g"
        ));
    }
    run("CHECKPOINT");
    let calls = "count(*), sum(an), sum(bn), min(at), max(bt)";
    let mut questions: Vec<String> = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
        .iter()
        .flat_map(|kind| {
            ["ak = bk", "at = bt", "ak = bk AND an = bn", "ak + 0.50 = bk + 0.5"]
                .map(|condition| format!("SELECT {calls} FROM a {kind} b ON {condition}"))
        })
        .collect();
    questions.push(format!(
        "SELECT {calls} FROM generate_series(1, 3) x \
         CROSS JOIN LATERAL (SELECT * FROM a JOIN b ON ak = bk WHERE an % 4 = x OFFSET 0) r"
    ));
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
        assert!(plan.contains("Batches: columns\n"), "{question}: {plan}");
        run("SET work_mem = '64MB'");
        let in_memory = run(&question);
        assert!(in_memory.contains("(1 row)"), "{in_memory}");
        run("SET work_mem = '64kB'");
        assert_eq!(run(&question), in_memory, "{question}");
    }
}

/// A join that does not fit `work_mem` writes the rows of its smaller side into files, and of the other side those that may
/// have a partner. It once wrote all.
#[test]
fn rows_without_a_partner_do_not_go_to_files() {
    let mut session = connect(&instance_on(&SimVfs::new(5)));
    let mut run = |text: &str| answer(&mut session, text);
    for (table, rows, factor) in [("few", 9_000, 37), ("many", 60_000, 1)] {
        run(&format!("CREATE TABLE {table} ({table}_key int, {table}_text text) USING columnar"));
        run(&format!(
            "INSERT INTO {table} SELECT g * {factor}, 'text ' || g FROM generate_series(1, {rows}) g"
        ));
    }
    run("CHECKPOINT");
    run("SET work_mem = '64kB'");
    let mut written = |join: &str| {
        let select = format!("SELECT count(few_text) FROM many {join} few ON few_key = many_key");
        let explained = run(&format!("EXPLAIN (ANALYZE, BUFFERS) {select}"));
        let blocks = explained.split("written=").nth(1).map(|rest| {
            rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u64>()
        });
        blocks.unwrap_or_else(|| panic!("nothing went to a file: {explained}")).expect("a number")
    };
    let (of_all, of_partners) = (written("LEFT JOIN"), written("JOIN"));
    assert!(of_partners * 3 < of_all, "{of_partners} and {of_all} blocks");
}

/// `CASE` over several columns is computed on arrays that are put together, with the digits that each value shows, NULLs,
/// numbers of 40 digits, and errors only of values that are chosen.
#[test]
fn case_gives_the_value_of_each_row() {
    let mut session = connect(&instance_on(&SimVfs::new(6)));
    let mut run = |text: &str| answer(&mut session, text);
    run(
        "CREATE TABLE t (id int, word text, price numeric(10, 2), share numeric(5, 4), big numeric, f float8) \
         USING columnar",
    );
    run("INSERT INTO t SELECT g, 'word ' || g % 50, nullif(g % 1000, 3) / 4.0, g % 7 / 10.0, \
         CASE g % 900 WHEN 5 THEN 1e39 + g ELSE g END, g / 8.0 FROM generate_series(1, 5000) g");
    run("CHECKPOINT");
    let cases = [
        "CASE WHEN word LIKE 'word 1%' THEN price * (1 - share) ELSE 0 END",
        "CASE WHEN id % 3 = 0 THEN price WHEN share > 0.3 THEN share ELSE 0.123456 END",
        "CASE WHEN word < 'word 3' THEN price WHEN id < 700 THEN big END",
        "CASE WHEN price > 100 AND word <> 'word 7' THEN id WHEN f > 400 THEN id * 2 ELSE -1 END",
        "CASE WHEN word = 'word 7' THEN f WHEN id > 9000 THEN -f END",
        "CASE WHEN id <> 4711 AND f > 0 THEN 1 / (id - 4711) ELSE 0 END",
        "CASE WHEN word > 'x' THEN id ELSE NULL END",
    ];
    for case in cases {
        let calls = format!("sum({case}), min({case}), max({case}), count({case})");
        for tail in ["", " GROUP BY word ORDER BY word"] {
            let select = |from: &str| format!("SELECT {calls} FROM {from} t{tail}");
            let plan = run(&format!("EXPLAIN {}", select("t")));
            assert!(plan.contains("Batches: columns"), "{plan}");
            let found = run(&select("t"));
            assert!(!found.contains("ERROR"), "{case}: {found}");
            // Rows that are locked are read one by one.
            assert_eq!(found, run(&select("(SELECT * FROM t FOR UPDATE)")), "{case}");
        }
    }
    let failing = "SELECT sum(CASE WHEN f > 0 THEN 1 / (id - 4711) ELSE 0 END) FROM t";
    assert!(run(failing).contains("division by zero"));
}

/// Scans of a heap read columns that earlier scans have taken out of its blocks. Rows that have changed since, rows that are
/// older than a column, NULLs, long texts and numbers of 40 digits have their own values all the same, now and as of before.
#[test]
fn columns_that_scans_keep_of_a_heap_follow_its_changes() {
    let mut session = connect(&instance_on(&SimVfs::new(9)));
    let mut run = |text: &str| answer(&mut session, text);
    run(
        "CREATE TABLE t (id int PRIMARY KEY, word text, price numeric(10, 2), big numeric, note text, \
         day date, flag bool, f float8)",
    );
    let insert = "INSERT INTO t SELECT g, 'word ' || g % 7, g % 100 + 0.25, \
                  CASE WHEN g % 999 = 3 THEN 1e39 + g ELSE g / 4.0 END, \
                  CASE WHEN g % 10 > 0 THEN 'note ' || repeat('x', g % 90) END, date '2024-01-01' + g % 60, \
                  CASE g % 3 WHEN 0 THEN true WHEN 1 THEN false END, g / 8.0 FROM generate_series";
    run(&format!("{insert}(1, 5000) g"));
    run("CHECKPOINT");
    let of = "count(*), sum(id), count(DISTINCT word), max(word), sum(price), sum(big), count(big), \
              sum(length(note)), count(*) FILTER (WHERE note LIKE '%xxx'), max(day), count(flag), \
              count(*) FILTER (WHERE flag), sum(f), count(*) FILTER (WHERE note IS NULL AND id > 900)";
    let check = |run: &mut dyn FnMut(&str) -> String, of: &str, moment: &str| {
        // Rows that are locked are read one by one.
        let by_row = format!("SELECT {of} FROM (SELECT * FROM t FOR UPDATE) t");
        let ask = format!("SELECT {of} FROM t{moment}");
        let expected = if moment.is_empty() { run(&by_row) } else { run(&ask) };
        assert!(!run(&format!("EXPLAIN {by_row}")).contains("Batches"));
        assert!(run(&format!("EXPLAIN {ask}")).contains("Batches"));
        // The first scan reads the rows, the second one takes columns out of them, and the others read these.
        for _ in 0..4 {
            assert_eq!(run(&ask), expected, "{ask}");
        }
        expected
    };
    let first = check(&mut run, of, "");
    let version = run("SELECT max(version) FROM commits").lines().nth(1).map(str::to_owned);
    let version = version.expect("one row");
    run("ALTER TABLE t ADD COLUMN extra int DEFAULT 5");
    let wider = format!("{of}, sum(extra), min(extra)");
    check(&mut run, &wider, "");
    run("UPDATE t SET word = NULL, price = price + 0.005, extra = 6 WHERE id % 9 = 4");
    run("DELETE FROM t WHERE id % 11 = 5");
    run(&format!("{insert}(5001, 5600) g"));
    let changed = check(&mut run, &wider, "");
    run("CHECKPOINT");
    assert_eq!(check(&mut run, &wider, ""), changed);
    assert_eq!(check(&mut run, of, &format!(" FOR SYSTEM_VERSION AS OF {version}")), first);
    run("ALTER TABLE t DROP COLUMN price, ALTER COLUMN id TYPE bigint, ALTER COLUMN f TYPE text");
    check(&mut run, "count(*), sum(id), max(f), sum(extra), count(word)", "");
}

/// Conditions on texts, arrays and fields of objects with few different values compare packed codes. They select the same
/// rows as their programs: of all rows of a block, and after some rows are gone, now and as of before. An entry of a
/// dictionary that no row has any more is no error.
#[test]
fn conditions_on_packed_codes_select_the_rows_that_programs_select() {
    let mut session = connect(&instance_on(&SimVfs::new(10)));
    let mut run = |text: &str| answer(&mut session, text);
    for (name, how) in [("c", "USING columnar"), ("r", "")] {
        run(&format!(
            "CREATE TABLE {name} (id int PRIMARY KEY, word text, path text, tags text[], doc jsonb, rare text) {how}"
        ));
        run(&format!(
            "INSERT INTO {name} SELECT g, repeat('w', g % 6), '/page/' || g % 500, \
             ARRAY['tag_' || g % 5, 'cat_' || g % 4], \
             jsonb_build_object('os', (ARRAY['android', 'ios', 'linux'])[1 + g % 3], 'n', g % 7), \
             CASE WHEN g % 3000 = 7 THEN NULL ELSE 'rare ' || g % 2 END FROM generate_series(1, 5000) g"
        ));
    }
    run("CHECKPOINT");
    let conditions = [
        "word = 'ww'",
        "word <> 'ww'",
        "word IN ('w', 'ww', 'www')",
        "word IN ('w', 'www')",
        "word < 'www' AND id > 100",
        "word LIKE 'wwww%' OR word = 'w'",
        "NOT (word = 'none')",
        "word = 'none'",
        "100 / length(word) > 30",
        "path LIKE '/page/1%'",
        "path LIKE '/page/1%' AND word = 'w'",
        "path LIKE '/none/%'",
        "id BETWEEN 100 AND 900 OR id BETWEEN 800 AND 2000 OR id > 4990",
        "word = 'w' AND id < 2000 OR path LIKE '/page/2%' OR length(path) = 7",
        "tags @> ARRAY['tag_3']",
        "tags @> ARRAY['tag_3', 'cat_1'] AND doc @> '{\"os\": \"ios\"}'",
        "doc @> '{\"os\": \"android\"}'",
        "doc @> '{\"os\": \"android\", \"n\": 3}'",
        "doc ->> 'os' = 'linux'",
        "doc ? 'os' AND rare = 'rare 1'",
        "rare IS DISTINCT FROM 'rare 0'",
    ];
    let check = |run: &mut dyn FnMut(&str) -> String, moment: &str| {
        for condition in conditions {
            let ask = |name: &str, moment: &str| {
                format!("SELECT count(*), sum(id) FROM {name}{moment} WHERE {condition}")
            };
            let by_row = format!(
                "SELECT count(*), sum(id) FROM (SELECT * FROM r WHERE {condition} FOR UPDATE) r"
            );
            let expected = if moment.is_empty() { run(&by_row) } else { run(&ask("r", moment)) };
            assert_eq!(run(&ask("c", moment)), expected, "{condition}{moment}");
        }
    };
    check(&mut run, "");
    let failing = "SELECT count(*) FROM c WHERE 100 / length(word) > 30";
    assert!(run(failing).contains("division by zero"));
    let version = run("SELECT max(version) FROM commits").lines().nth(1).map(str::to_owned);
    let version = version.expect("one row");
    for name in ["c", "r"] {
        run(&format!("DELETE FROM {name} WHERE id % 6 = 0 OR id % 100 = 7"));
        run(&format!(
            "UPDATE {name} SET word = 'new', doc = '{{\"os\": \"new\"}}' WHERE id % 50 = 3"
        ));
    }
    for _ in 0..2 {
        check(&mut run, "");
        assert!(!run(failing).contains("ERROR"), "no row has the empty word");
        check(&mut run, &format!(" FOR SYSTEM_VERSION AS OF {version}"));
        run("CHECKPOINT");
    }
}
