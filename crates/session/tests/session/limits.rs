//! The limits of one statement: memory, bytes of a value, and time after it was told to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use session::{Error, Session};

use crate::client::{TextOutput, connect, instance};

pub fn rows(session: &mut Session, text: &str) -> Result<Vec<String>, Error> {
    let mut kept = TextOutput::default();
    let done = session.read(text).and_then(|mut parsed| {
        let mut portal = session.start(parsed.pop().expect("there is a statement"), true)?;
        session.execute(&mut portal, 0, &mut kept)
    });
    match done {
        Ok(_) => Ok(kept.0),
        Err(error) => {
            session.fail();
            Err(error)
        }
    }
}

/// A cancel was heard only between 256 rows: `count(length(repeat('x', 100000000)))` went on for minutes,
/// and one call of `LIKE` or `&&` could go on for hours. Printing one large value, or making all rows of a
/// set from one, was not interrupted either. Each of these would run for a minute or more.
#[test]
fn a_cancel_is_heard_inside_of_functions() {
    /// The longest time that a cancel may take on a busy machine, in a build that is not optimised.
    const PATIENCE: Duration = Duration::from_secs(3);
    let instance = instance();
    let mut session = connect(&instance);
    rows(&mut session, "create table n as select i from generate_series(1, 200000) i")
        .expect("a table");
    // Values that take a second or more to be printed, or to be taken apart.
    for text in [
        "create table v as select jsonb_agg(i) j from generate_series(1, 4000000) i",
        "create table a as select array_agg(i) a from generate_series(1, 3000000) i",
    ] {
        rows(&mut session, text).expect(text);
    }
    for text in [
        "select j from v, generate_series(1, 1000)",
        "select count(length(j::text)) from v, generate_series(1, 1000)",
        "select count(length(jsonb_pretty(j))) from v, generate_series(1, 1000)",
        "select count(j || j) from v, generate_series(1, 1000)",
        "select count(e) from v, generate_series(1, 1000) g, jsonb_array_elements(j || to_jsonb(g)) e",
        "select count(e) from v, generate_series(1, 1000) g, json_array_elements(j::text::json) e",
        "select a from a, generate_series(1, 1000)",
        "select count(length(a::text)) from a, generate_series(1, 1000)",
        "select count(cardinality(a::text[])) from a, generate_series(1, 1000)",
        "select count(length(convert_to(repeat('x', 50000000 + g), 'UTF8')::text)) \
         from generate_series(1, 1000) g",
        "select count(length(repeat('x', 50000000 + g))) from generate_series(1, 10000) g",
        "select repeat('a', 1000000) like '%' || repeat('a', 500000) || 'b'",
        "select array_agg(i) && array_agg(-i) from n",
        "select array_agg(i order by i desc) @> array_agg(i) from n",
        "select 0 = any (array_agg(i)) from n, generate_series(1, 100000) group by i",
        "select jsonb_path_exists(jsonb_agg(i), '$[*] ? (exists($[*] ? (@ < 0)))') from n",
        "select jsonb_agg(i) @> (jsonb_agg(i) || jsonb '[{}]') from n",
        "select max(x) from (select numeric '1.000000000001' ^ (1000000007 + g) \
         from generate_series(1, 100000) g) s (x)",
        "select count(*) from generate_series(1, 10000000000)",
        "select string_agg(repeat('x', 1000), ',' order by a.i desc) from n a, n b where a.i + b.i < 0",
        "select count(*) from n a join n b on a.i > b.i + 300000",
        "select sum(s.l) from n, lateral (select length(translate(repeat('x', 1000000 + i % 9), 'x', 'y')) \
         l) s",
        "select count(*) from n where md5(repeat('x', 10000000 + i)) = ''",
        "select count(*) from n where encode(repeat('x', 10000000 + i)::bytea, 'base64') = ''",
        "select count(*) from n where upper(repeat('\u{e4}b ', 3000000 + i)) = ''",
        "select count(*) from n where replace(repeat('ab', 5000000 + i), 'b', 'cc') = ''",
        "select count(*) from n where cardinality(string_to_array(repeat('a,', 3000000 + i), ',')) = 1",
        "select count(*) from n where to_json(repeat('\"', 5000000 + i))::text = ''",
        "select count(*) from n where jsonb_array_length(to_jsonb(array(select i from n))) = n.i",
        "select count(*) from n where regexp_count(repeat('ab', 40000000 + i), 'b') = 0",
        "select count(*) from n where cardinality(regexp_split_to_array(repeat('ab', 30000000 + i), 'b')) = 0",
        "select count(*) from n, regexp_matches(repeat('ab', 10000000 + i), 'b', 'g')",
        "select count(*) from n where normalize(repeat('\u{e4}b ', 20000000 + i), NFD) = ''",
        "select count(*) from n where upper(repeat('a\u{e4}', 60000000 + i)) = ''",
        "select count(*) from n where repeat('a\u{e4}', 60000000 + i) ilike '%Z%'",
        "select count(*) from n where get_byte(repeat('ab', 150000000 + i)::bytea, 0) = 0",
    ] {
        let (process, secret) = (session.process_id(), session.secret().to_vec());
        let is_over = AtomicBool::new(false);
        let (stopped, told) = std::thread::scope(|scope| {
            let (instance, is_over) = (&instance, &is_over);
            let cancels = scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                let told = Instant::now();
                // A cancel that comes before the statement has begun is forgotten, so it is sent
                // again.
                while !is_over.load(Ordering::Acquire) {
                    instance.cancel(process, &secret);
                    std::thread::sleep(Duration::from_millis(20));
                }
                told
            });
            let stopped = rows(&mut session, text);
            is_over.store(true, Ordering::Release);
            (stopped, cancels.join().expect("it tells"))
        });
        let took = told.elapsed();
        let stopped = stopped.map(|rows| rows.len()).expect_err(text);
        assert_eq!(stopped.state().code(), "57014", "{text}: {stopped}");
        assert!(took < PATIENCE, "{text}: stopped after {took:?}");
    }
    assert_eq!(rows(&mut session, "select 1").expect("the session goes on"), ["1"]);
}

/// An aggregate without groups looked at no limit: `string_agg` over enough rows took all memory of the
/// server. Each of these keeps far more than the statement may hold.
#[test]
fn what_aggregates_keep_is_counted() {
    let instance = instance();
    let mut session = connect(&instance);
    rows(&mut session, "set query_mem_max = '16MB'").expect("it sets");
    let long = "repeat('x', 1000)";
    let from = "from generate_series(1, 50000) i";
    for what in [
        format!("string_agg({long}, ',') {from}"),
        format!("string_agg({long}::bytea, '') {from}"),
        format!("array_agg({long}) {from}"),
        "array_agg(array[i, i]) from generate_series(1, 500000) i".to_owned(),
        format!("json_agg({long}) {from}"),
        format!("jsonb_agg({long}) {from}"),
        format!("json_object_agg(i, {long}) {from}"),
        format!("jsonb_object_agg(i, {long}) {from}"),
        format!("json_object_agg_unique({long} || i, 1) {from}"),
        format!("percentile_disc(0.5) within group (order by {long} || i) {from}"),
        format!("array_agg(distinct {long} || i) {from}"),
        format!("string_agg({long}, ',' order by i) {from}"),
        format!("string_agg({long}, ',') filter (where i > 0) {from}"),
        "max(repeat('x', 20000000)) from generate_series(1, 2) i".to_owned(),
        format!("i % 2, string_agg({long}, ',') {from} group by 1"),
        format!("array_agg({long}) over (order by i) from generate_series(1, 500) i"),
        format!("array_agg(numeric '1e10000' + i) {from}"),
    ] {
        let text = format!("select count(*) from (select {what}) s");
        // Values that nothing reads are not computed: here something reads them.
        let text = text.replace("count(*)", "count(s)");
        match rows(&mut session, &text) {
            Ok(_) => panic!("{text}: it holds more than it may"),
            Err(error) => assert_eq!(error.state().code(), "53200", "{text}: {error}"),
        }
    }
    // A result that fits is given, and its memory is free afterwards.
    for _ in 0..5 {
        let text = format!("select length(string_agg({long}, '')) from generate_series(1, 5000)");
        assert_eq!(rows(&mut session, &text).expect("it fits"), ["5000000"]);
    }
}

/// A value ends at a gigabyte, as in PostgreSQL: `||` made values of any size.
#[test]
fn values_end_at_a_gigabyte() {
    let instance = instance();
    let mut session = connect(&instance);
    for (text, message) in [
        ("select repeat('xy', 1073741820)", "requested length too large"),
        ("select lpad('x', 268435455)", "requested length too large"),
        ("select rpad('x', 1073741820)", "requested length too large"),
        ("select format('%2000000000s', 'x')", "out of memory"),
        (
            "select array_fill(1, array[134217728])",
            "array size exceeds the maximum allowed (134217727)",
        ),
        (
            "select x || x from (select repeat('x', 540000000)) s (x)",
            "invalid memory alloc request size 1080000004",
        ),
    ] {
        let refused = rows(&mut session, text).map(|rows| rows.len()).expect_err(text);
        assert_eq!(refused.state().code(), "54000", "{text}: {refused}");
        assert_eq!(refused.message(), message, "{text}");
    }
    assert_eq!(
        rows(&mut session, "select length(lpad('x', 1000000)), length(repeat('ab', 1000000))")
            .expect("these fit"),
        ["1000000|2000000"]
    );
}

/// Two plans took as long as all pairs of rows: a lateral side that only picks rows by values of the left
/// one, and a subquery that picks its rows by equality without an index. Both have keys to be found by.
#[test]
fn what_picks_rows_by_equality_does_not_look_at_all_pairs() {
    let instance = instance();
    let mut session = connect(&instance);
    for text in [
        "create table a (id int primary key, k int, v int)",
        "insert into a select i, i % 5000, i * 7 % 1000 from generate_series(1, 20000) i",
        "create table b (id int, k int, v int)",
        "insert into b select i, i % 5000, i * 11 % 1000 from generate_series(1, 20000) i",
        "set statement_timeout = '20s'",
    ] {
        rows(&mut session, text).expect(text);
    }
    for (text, wanted) in [
        (
            "select count(*) from b x, b y join lateral (values (x.id)) ss (i) on y.id = ss.i",
            "20000",
        ),
        (
            "select count(*) from b x left join lateral \
             (select y.v from b y where y.k = x.k and y.v > 990) s on true where s.v is null",
            "19820",
        ),
        ("select count(*) from a where v = (select max(v) from b where b.k = a.k)", "80"),
        (
            "select count(*) from a where v >= (select max(x.v) from b x where x.k = a.k \
             and x.v >= (select avg(y.v) from b y where y.k = x.k))",
            "10040",
        ),
        ("select sum((select count(*) from b where b.k = a.k - 2500)) from a", "40000"),
    ] {
        let done = crate::fuzz::watched(&instance, || rows(&mut session, text));
        assert_eq!(done.expect(text), [wanted], "{text}");
    }
}

/// A slice of an array of texts looked for each of its elements from the beginning: one of four million
/// elements ran for an hour, and nothing could stop it, not even SIGTERM.
#[test]
fn a_slice_takes_one_pass() {
    let instance = instance();
    let mut session = connect(&instance);
    rows(&mut session, "set statement_timeout = '20s'").expect("set");
    let of_texts = "select cardinality(t[2:]), (t[2:])[1], t[999999:] from \
                    (select array_agg(i::text) t from generate_series(1, 1000000) i) x";
    let of_numbers = "select cardinality(t[2:]), (t[2:])[1], t[999999:] from \
                      (select array_agg(i) t from generate_series(1, 1000000) i) x";
    for text in [of_texts, of_numbers] {
        let found = rows(&mut session, text).expect(text);
        assert_eq!(found, ["999999|2|{999999,1000000}"], "{text}");
    }
    let of_planes = "select (array[[[1,2],[3,null]],[[5,6],[7,8]]])[1:2][2:2][1:2]";
    assert_eq!(rows(&mut session, of_planes).expect(of_planes), ["{{{3,NULL}},{{7,8}}}"]);
}

/// `DO` blocks nest as deep as they may on the stack of a small thread; deeper ones are refused, also those that
/// blocks make of text and run.
#[test]
fn blocks_nest_up_to_a_limit() {
    let nested = |open: &str, close: &str, count: usize| {
        let (open, close) = (open.repeat(count), close.repeat(count));
        format!("do $o$ begin {open} perform 1 + (select 1); {close} end $o$")
    };
    let handled = ("begin ", " exception when no_data_found then null; end; ");
    let by_text = (1..20).fold("null;".to_owned(), |inner, depth| {
        format!("execute $t{depth}$do $d{depth}$begin if true then {inner} end if; end$d{depth}$$t{depth}$;")
    });
    let cases = [
        (nested("if true then ", " end if; ", 90), None),
        (nested("for i in 1..1 loop ", " end loop; ", 90), None),
        (nested(handled.0, handled.1, 45), None),
        (nested("if true then ", " end if; ", 120), Some("54001")),
        (nested(handled.0, handled.1, 80), Some("54001")),
        (format!("do $o$ begin {by_text} end $o$"), Some("54001")),
    ];
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let asked = thread.spawn(move || {
        let instance = instance();
        let mut session = connect(&instance);
        for (text, wanted) in cases {
            let given = rows(&mut session, &text).err().map(|error| error.state());
            let given = given.as_ref().map(|state| state.code());
            assert_eq!(given, wanted, "{text}");
        }
    });
    asked.expect("a thread starts").join().expect("the stack is large enough");
}

/// A loop over many rows keeps what is more than `work_mem` of them in a file, and its turns see the rows as they
/// were when it began.
#[test]
fn a_loop_over_many_rows_is_bounded() {
    let instance = instance();
    let mut session = connect(&instance);
    for text in [
        "create table t as select i, repeat('x', 200) v from generate_series(1, 3000) i",
        "set work_mem = '64kB'",
        "do $$ declare r record; n int := 0; begin \
         for r in select i, v from t order by i loop \
           n := n + 1; \
           if r.i <> n or length(r.v) <> 200 then raise exception 'row % is %', n, r.i; end if; \
           if n = 1 then delete from t; end if; \
         end loop; \
         if n <> 3000 then raise exception '% rows', n; end if; end $$",
    ] {
        rows(&mut session, text).expect(text);
    }
    assert_eq!(rows(&mut session, "select count(*) from t").expect("it counts"), ["0"]);
}
