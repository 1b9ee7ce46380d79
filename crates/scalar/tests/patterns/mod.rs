//! 5,000 regular expressions, made at random, and what PostgreSQL 17 finds with them.
//!
//! ```text
//!   kind   pattern            flags  text      what each function gives, or the error
//!   ~      (a|ab)(c|bcd)*            abcd      true | {ab,cd} | 1 | 5 | 1 | <ab|abcd> | {"",""} | ab
//! ```
//!
//! The cases and their answers are in `patterns.tsv`. `ANYWHEN_POSTGRES=127.0.0.1:5432` and
//! `UPDATE_EXPECT=1` make both anew, from the seed `ANYWHEN_SEED`; `psql` asks the server. With
//! `ANYWHEN_POSTGRES` alone, `ANYWHEN_TIMES` times as many fresh cases are compared with that server.
//! Its database `postgres` must have the encoding UTF-8 and the locale `C.UTF-8`.

mod generate;

use std::io::Write;
use std::process::{Command, Stdio};

use generate::{Case, Random};

use super::{Context, Quiet, TimestampTz, answer, refusal, style, unescape};

/// How many cases there are.
const CASES: usize = 5_000;

/// Asks PostgreSQL for a case: the answer, without the characters that divide lines and fields.
const PROBE: &str = r"
CREATE FUNCTION pg_temp.probe(kind text, p text, f text, t text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text; s text; m text; d text; h text;
BEGIN
    BEGIN
        IF kind = '~' THEN
            r := concat_ws(' | ', regexp_like(t, p, f)::text,
                coalesce((SELECT string_agg(x::text, '|') FROM regexp_matches(t, p, f || 'g') x), ''),
                regexp_instr(t, p, 1, 1, 0, f), regexp_instr(t, p, 1, 1, 1, f),
                regexp_count(t, p, 1, f), regexp_replace(t, p, '<\1|\&>', f || 'g'),
                regexp_split_to_array(t, p, f)::text, coalesce(substring(t from p), 'NULL'));
        ELSE
            r := concat_ws(' | ', (t ~ similar_to_escape(p, '#'))::text,
                coalesce(substring(t similar p escape '#'), 'NULL'));
        END IF;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS s = RETURNED_SQLSTATE, m = MESSAGE_TEXT,
            d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
        r := '!' || s || ' ' || m || coalesce(' / ' || nullif(d, ''), '')
            || coalesce(' // ' || nullif(h, ''), '');
    END;
    RETURN replace(replace(replace(r, '\', '\\'), E'\n', '\n'), E'\t', '\t');
END $$;
";

/// `substring('foobar' from 'foo|foobar')` was `foo`: of alternatives the first that matched was
/// taken. PostgreSQL takes the longest match, and divides it by rules of its own. Each of 5,000
/// patterns finds what it finds there, or is refused in the same words.
#[test]
fn patterns_find_what_postgresql_finds() {
    let Ok(server) = std::env::var("ANYWHEN_POSTGRES") else {
        let lines: Vec<&str> = include_str!("../patterns.tsv").lines().collect();
        assert_eq!(lines.len(), CASES);
        return compare(lines.iter().map(|line| {
            let fields: Vec<String> = line.split('\t').map(unescape).collect();
            let [kind, pattern, flags, text, answer] = &fields[..] else { panic!("{line}") };
            let [pattern, flags, text] = [pattern, flags, text].map(String::clone);
            (Case { similar: kind != "~", pattern, flags, text }, answer.clone())
        }));
    };
    let number = |name| std::env::var(name).ok().map(|n: String| n.parse().expect("a number"));
    let seed: u64 = number("ANYWHEN_SEED").unwrap_or(17);
    println!("ANYWHEN_SEED={seed}");
    let mut random = Random::new(seed);
    let writes = std::env::var_os("UPDATE_EXPECT").is_some();
    let times = if writes { 1 } else { number("ANYWHEN_TIMES").unwrap_or(1) as usize };
    let cases: Vec<Case> = (0..CASES * times).map(|_| generate::case(&mut random)).collect();
    let answers = ask(&server, &cases);
    if writes {
        let lines = cases.iter().zip(&answers).map(|(case, answer)| {
            let fields = [kind(case), &case.pattern, &case.flags, &case.text].map(escape);
            format!("{}\t{answer}\n", fields.join("\t"))
        });
        let lines: String = lines.collect();
        return expect_test::expect_file!["../patterns.tsv"].assert_eq(&lines);
    }
    compare(cases.into_iter().zip(answers.iter().map(|answer| unescape(answer))));
}

fn kind(case: &Case) -> &'static str {
    if case.similar { "similar" } else { "~" }
}

/// Tells of all wrong answers at once.
fn compare(cases: impl Iterator<Item = (Case, String)>) {
    let (mut count, mut wrong) = (0, Vec::new());
    for (case, expected) in cases {
        count += 1;
        let found = ours(&case).unwrap_or_else(refusal);
        if found != expected {
            let Case { pattern, flags, text, .. } = case;
            wrong.push(format!(
                "pattern {pattern:?}, flags {flags:?}, text {text:?}\n  expected {expected}\n  \
                 found    {found}"
            ));
        }
    }
    let shown = wrong.len().min(20);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong[..shown].join("\n"));
}

/// The answer of this crate's functions for a case.
fn ours(case: &Case) -> types::Result<String> {
    let style = style();
    let context = Context {
        types: types::Context::new(&style),
        statement: TimestampTz(0),
        clock: &Quiet,
        random: &Quiet,
        session: &Quiet,
    };
    let text = format!("text:{}", case.text);
    let pattern = format!("text:{}", case.pattern);
    let flags = format!("text:{}", case.flags);
    let all = format!("text:{}g", case.flags);
    let call = |kind, name, arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        answer(&context, kind, name, &arguments)
    };
    let answers = if case.similar {
        let pattern = call("f", "similar_to_escape", &[&pattern, "text:#"])?;
        let expression = format!("text:{pattern}");
        vec![
            call("o", "~", &[&text, &expression])?,
            call("f", "substring", &[&text, &format!("text:{}", case.pattern), "text:#"])?,
        ]
    } else {
        let one = "int4:1";
        vec![
            call("f", "regexp_like", &[&text, &pattern, &flags])?,
            call("s", "regexp_matches", &[&text, &pattern, &all])?,
            call("f", "regexp_instr", &[&text, &pattern, one, one, "int4:0", &flags])?,
            call("f", "regexp_instr", &[&text, &pattern, one, one, one, &flags])?,
            call("f", "regexp_count", &[&text, &pattern, one, &flags])?,
            call("f", "regexp_replace", &[&text, &pattern, "text:<\\1|\\&>", &all])?,
            call("f", "regexp_split_to_array", &[&text, &pattern, &flags])?,
            call("f", "substring", &[&text, &pattern])?,
        ]
    };
    Ok(answers.join(" | "))
}

/// The answer of a PostgreSQL server for each case, escaped.
fn ask(server: &str, cases: &[Case]) -> Vec<String> {
    let (host, port) = server.rsplit_once(':').expect("an address and a port");
    let mut script = PROBE.to_owned();
    for case in cases {
        let quoted = [kind(case), &case.pattern, &case.flags, &case.text]
            .map(|value| format!("'{}'", value.replace('\'', "''")));
        script.push_str(&format!("SELECT pg_temp.probe({});\n", quoted.join(", ")));
    }
    let mut psql = Command::new("psql")
        .args(["-h", host, "-p", port, "-U", "postgres", "-d", "postgres", "-XqAt", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("psql is there");
    let mut input = psql.stdin.take().expect("its input");
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
    let output = psql.wait_with_output().expect("psql ends");
    writer.join().expect("the script is made").expect("psql reads");
    let answers = String::from_utf8(output.stdout).expect("answers are UTF-8");
    let answers: Vec<String> = answers.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), cases.len(), "psql answers each case");
    answers
}

/// A value without the characters that divide the file.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}
