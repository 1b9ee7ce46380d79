//! The extended protocol, without a wire between.

use std::ops::ControlFlow;

use session::{Column, Done, Format, Output, Params, Status};
use types::{Context, Datum, Oid, SqlState, Type};

use crate::client::{connect, instance};

/// Collects rows, and pauses after each `enough` of them.
struct PausingOutput {
    rows: Vec<Vec<Datum>>,
    enough: usize,
}

impl Output for PausingOutput {
    fn row(
        &mut self,
        row: &[Datum],
        _: &[Column],
        _: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        self.rows.push(row.to_vec());
        Ok(match self.rows.len() % self.enough {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    }
}

fn kept() -> PausingOutput {
    PausingOutput { rows: Vec::new(), enough: usize::MAX }
}

/// A statement is parsed, described, bound with parameters in both formats, and run.
#[test]
fn parameters_are_inferred_and_read() {
    let instance = instance();
    let mut session = connect(&instance);
    session.parse("add", "select $1 + 1 as next, $2 || 'x'", &[]).expect("it parses");
    let described = session.describe_statement("add").expect("it is there");
    assert_eq!(described.params, &[Type::INT4, Type::TEXT]);
    assert_eq!(described.columns.map(|columns| columns[0].name.clone()), Some("next".to_owned()));
    let params = Params {
        formats: &[Format::Binary, Format::Text],
        values: &[Some(&[0, 0, 0, 41]), Some(b"y")],
    };
    session.bind("", "add", &params, &[Format::Binary]).expect("it binds");
    assert_eq!(session.portal("").expect("it is there").formats().len(), 2);
    let mut out = kept();
    let done = session.execute_named("", 0, &mut out).expect("it runs");
    assert!(matches!(done, Done::Complete(tag) if tag.to_string() == "SELECT 1"));
    assert_eq!(out.rows, [[Datum::Int4(42), Datum::text("yx")]]);
    session.end().expect("nothing is wrong");
    let missing = session.bind("", "nope", &Params::default(), &[]).expect_err("there is none");
    assert_eq!(missing.state().code(), "26000");
}

/// A call has parameters, as the statement has that it stands for, and finds a table that was made anew.
#[test]
fn a_call_has_parameters() {
    let instance = instance();
    let mut session = connect(&instance);
    let mut run = |name: &str, text: Option<&str>, values: &[Option<&[u8]>]| {
        if let Some(text) = text {
            session.parse(name, text, &[]).expect("it parses");
        }
        let params = Params { formats: &[], values };
        session.bind("", name, &params, &[]).expect("it binds");
        let mut out = kept();
        let done = session.execute_named("", 0, &mut out).expect("it runs");
        session.end().expect("nothing is wrong");
        match done {
            Done::Complete(tag) => (tag.to_string(), out.rows),
            other => panic!("{other:?}"),
        }
    };
    let make = "create table page (id int primary key, doc jsonb) using document";
    for (turn, call) in [(1, Some("call revert('page', $1, $2)")), (2, None)] {
        run("", Some(make), &[]);
        run("", Some("insert into page values (7, '[1]')"), &[]);
        run("", Some("update page set doc = '[2]'"), &[]);
        let (tag, _) = run("back", call, &[Some(b"7"), Some(b"1")]);
        assert_eq!(tag, "UPDATE 1", "turn {turn}");
        let (_, rows) = run("", Some("select doc::text from page"), &[]);
        assert_eq!(rows, [[Datum::text("[1]")]], "turn {turn}");
        run("", Some("drop table page"), &[]);
    }
}

/// A function that is run as a command is described as a query of one row, which it gives each time; and a `CALL` of
/// it as a command without rows. Where nothing may block it says so.
#[test]
fn functions_that_are_commands_give_a_row() {
    let instance = instance();
    let mut session = connect(&instance);
    for text in [
        "create table t (n int) using columnar with (orderby = 'n')",
        "insert into t values (2), (1)",
    ] {
        session.parse("", text, &[]).expect("it parses");
        session.bind("", "", &Params::default(), &[]).expect("it binds");
        session.execute_named("", 0, &mut kept()).expect("it runs");
        session.end().expect("nothing is wrong");
    }
    for (text, columns, tag) in [
        ("select engine.colcompress_merge('t')", 1, "SELECT 1"),
        ("call engine.colcompress_repack('t')", 0, "CALL"),
    ] {
        session.parse(tag, text, &[]).expect("it parses");
        let described = session.describe_statement(tag).expect("it is there");
        assert_eq!(described.columns.map_or(0, <[Column]>::len), columns, "{text}");
        for _ in 0..2 {
            session.bind("", tag, &Params::default(), &[]).expect("it binds");
            let mut out = kept();
            session.set_inline(true);
            let done = session.execute_named("", 0, &mut out).expect("it is no error");
            assert_eq!(done, Done::Blocked, "{text}");
            session.set_inline(false);
            let done = session.execute_named("", 0, &mut out).expect("it runs");
            assert!(matches!(done, Done::Complete(done) if done.to_string() == tag), "{text}");
            assert_eq!(out.rows.len(), columns, "{text}");
            session.end().expect("nothing is wrong");
        }
    }
}

/// A portal stops after as many rows as were asked for, or where the output has enough, and goes on.
#[test]
fn portals_are_suspended_and_go_on() {
    let instance = instance();
    let mut session = connect(&instance);
    session.parse("", "select i from generate_series(1, 10) i", &[]).expect("it parses");
    session.bind("p", "", &Params::default(), &[]).expect("it binds");
    let mut out = PausingOutput { rows: Vec::new(), enough: 2 };
    let mut seen = Vec::new();
    for _ in 0..6 {
        seen.push(match session.execute_named("p", 3, &mut out).expect("it runs") {
            Done::Suspended => "suspended".to_owned(),
            Done::More => "more".to_owned(),
            Done::Complete(tag) => tag.to_string(),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(out.rows.len(), 10);
    assert_eq!(seen.last().map(String::as_str), Some("SELECT 10"), "{seen:?}");
    session.end().expect("nothing is wrong");
    let gone =
        session.execute_named("p", 0, &mut kept()).expect_err("it ended with its transaction");
    assert_eq!(gone.state().code(), "34000");
}

/// A statement without rows runs once: a second Execute once said again that a row was inserted.
#[test]
fn a_portal_without_rows_runs_once() {
    let instance = instance();
    let mut session = connect(&instance);
    let mut run = |text: &str, times: usize| -> Vec<String> {
        session.parse("", text, &[]).expect("it parses");
        session.bind("", "", &Params::default(), &[]).expect("it binds");
        let mut one = || match session.execute_named("", 0, &mut kept()) {
            Ok(Done::Complete(tag)) => tag.to_string(),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{}: {}", error.state().code(), error.message()),
        };
        let seen = (0..times).map(|_| one()).collect();
        match text.contains("insert") && !text.contains("returning") {
            true => session.fail(),
            false => session.end().expect("nothing is wrong"),
        }
        seen
    };
    run("create table t (n int)", 1);
    let refused = "55000: portal \"\" cannot be run";
    assert_eq!(run("insert into t values (1)", 2), ["INSERT 0 1", refused]);
    assert_eq!(run("select n from t", 2), ["SELECT 0", "SELECT 0"]);
    assert_eq!(run("insert into t values (2) returning n", 2), ["INSERT 0 1", "INSERT 0 1"]);
}

/// After an error in a block nothing but its end is taken.
#[test]
fn a_failed_block_takes_nothing_but_its_end() {
    let instance = instance();
    let mut session = connect(&instance);
    let mut run = |text: &str| -> Result<String, String> {
        let done = (|| {
            session.parse("", text, &[])?;
            session.bind("", "", &Params::default(), &[])?;
            session.execute_named("", 0, &mut kept())
        })();
        let ended = match done {
            Ok(done) => session.end().map(|()| done),
            Err(error) => {
                session.fail();
                Err(error)
            }
        };
        let status = char::from(session.status().byte());
        match ended {
            Ok(Done::Complete(tag)) => Ok(format!("{tag} {status}")),
            Ok(other) => Ok(format!("{other:?} {status}")),
            Err(error) => Err(format!("{} {status}", error.state().code())),
        }
    };
    assert_eq!(run("begin"), Ok("BEGIN T".into()));
    assert_eq!(run("select 1/0"), Err("22012 E".into()));
    assert_eq!(run("select 1"), Err("25P02 E".into()));
    assert_eq!(run("commit"), Ok("ROLLBACK I".into()));
    assert_eq!(run(""), Ok("Empty I".into()));
    assert_eq!(session.status(), Status::Idle);
}

/// Types that a client gives count; numbers of parameters and formats must fit.
#[test]
fn bind_checks_what_it_is_given() {
    let instance = instance();
    let mut session = connect(&instance);
    session.parse("", "select $1", &[Oid(20)]).expect("it parses");
    let described = session.describe_statement("").expect("it is there");
    assert_eq!(described.params, &[Type::INT8]);
    let none = session.bind("", "", &Params::default(), &[]).expect_err("a value is missing");
    assert_eq!(
        none.message(),
        "bind message supplies 0 parameters, but prepared statement \"\" requires 1"
    );
    let bad = Params { formats: &[], values: &[Some(b"x")] };
    let bad = session.bind("", "", &bad, &[]).expect_err("it is no number");
    assert_eq!(bad.message(), "invalid input syntax for type bigint: \"x\"");
}

/// `EXPLAIN EXECUTE` is a statement like others: it was refused when it was parsed, and sqlx asks so
/// which columns may be NULL.
#[test]
fn explain_execute_is_parsed() {
    let instance = instance();
    let mut session = connect(&instance);
    session.parse("s", "select $1 + 1", &[]).expect("it parses");
    session.parse("e", "explain (verbose, format json) execute s (null)", &[]).expect("it parses");
    let described = session.describe_statement("e").expect("it is there");
    assert_eq!((described.params, described.columns.map(<[_]>::len)), (&[][..], Some(1)));
    session.bind("", "e", &Params::default(), &[]).expect("it binds");
    let mut out = kept();
    session.execute_named("", 0, &mut out).expect("it runs");
    assert_eq!(out.rows.len(), 1);
    session.end().expect("nothing is wrong");
}

/// A statement that must be a transaction of its own is one by itself, also where the client has not
/// said that no other message belongs to it; behind another statement it is refused.
#[test]
fn what_stands_alone_commits_at_once() {
    let instance = instance();
    let mut session = connect(&instance);
    let mut run = |text: &str, ends: bool| {
        session.parse("", text, &[])?;
        session.bind("", "", &Params::default(), &[])?;
        let done = session.execute_named("", 0, &mut kept());
        match &done {
            Err(_) => session.fail(),
            Ok(_) if ends => session.end()?,
            Ok(_) => {}
        }
        done.map(drop)
    };
    run("create database shop", false).expect("it is made");
    run("select 1", false).expect("it is a transaction by now");
    let refused = run("drop database shop", true).expect_err("there was another before it");
    assert_eq!(refused.state(), SqlState::ACTIVE_SQL_TRANSACTION);
    run("vacuum", true).expect("it cleans");
    run("drop database shop", true).expect("it was there, though the transaction failed");
}
