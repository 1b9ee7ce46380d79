//! The past that a table has given up: read as of every commit after merges of all files, and after an opening.
//!
//! ```text
//!   commit    create  insert  index  update  TRUNCATE  ...  ALTER TYPE  ...  DROP TABLE
//!   answers   told at each moment, and compared as of each moment once the files are merged
//! ```

use std::sync::Arc;

use session::{Instance, Session};
use vfs::SimVfs;

use crate::client::{connect, instance_on};
use crate::methods::answer;

/// Commands after each of which the table is asked. They give up storages of rows, of indexes and of documents, by every
/// command that does so.
const COMMANDS: &[&str] = &[
    "insert into t values (1, 11, 'a', '[1]'), (2, 12, 'b', '[2]'), (3, 13, 'c', '[3]')",
    "update t set n = 21, doc = doc || '7' where k = 1",
    "create index t_n on t (n)",
    "delete from t where k = 2",
    "truncate t",
    "insert into t values (4, 14, 'd', '[4]'), (5, 15, 'e', '[5]')",
    "alter table t alter n type bigint",
    "update t set note = 'f' where k = 4",
    "drop index t_n",
    "create index t_note on t (note)",
    "alter table t set access method heap",
    "insert into t values (6, 16, 'g', '[6]')",
    "alter table t set access method columnar",
    "update t set n = 26 where k = 6",
    "alter table t set access method heap",
    "create index t_columns on t using columnar (k, n, note)",
    "delete from t where k = 5",
    "reindex table t",
    "begin; truncate t; insert into t values (7, 17, 'h', '[7]'); truncate t; \
     insert into t values (8, 18, 'i', '[8]'); commit",
    "begin; alter table t alter n type numeric; savepoint s; truncate t; rollback to s; commit",
    // A table without a row has a past.
    "delete from t",
];

const QUESTIONS: &[&str] = &[
    "select k, n, note, doc from t order by k",
    "select k from t where n in (11, 14, 16, 18, 21, 26) order by k",
    "select k from t where note in ('a', 'd', 'f', 'g', 'i') order by k",
    "select count(*), sum(n), min(note) from t",
];

/// The answers of a table at one moment.
struct Then {
    at: String,
    after: String,
    answers: Vec<String>,
}

fn ask(session: &mut Session) -> Vec<String> {
    QUESTIONS.iter().map(|question| answer(session, question)).collect()
}

fn run(session: &mut Session, text: &str) {
    let shown = answer(session, text);
    assert!(!shown.contains("ERROR"), "{text}\n{shown}");
}

/// The time of the newest commit.
fn now(session: &mut Session) -> String {
    let shown = answer(session, "select committed_at from commits order by version desc limit 1");
    shown.lines().nth(1).expect("there is a commit").to_owned()
}

fn tell(session: &mut Session, after: &str) -> Then {
    Then { at: now(session), after: after.to_owned(), answers: ask(session) }
}

/// Writes all to files, merges them, and asks as of each moment.
fn check(instance: &Arc<Instance>, session: &mut Session, all: &[Then]) {
    instance.engine().checkpoint().expect("it is written");
    instance.engine().store().compact().expect("it is merged");
    for Then { at, after, answers } in all {
        run(session, &format!("set system_time_as_of = '{at}'"));
        assert_eq!(ask(session), *answers, "after {after}");
        run(session, "reset system_time_as_of");
    }
}

/// Compaction takes away tables of the store whose number is below the next one and that no record of the catalog names. So
/// nothing may be among them that somebody reads as of a commit from before. Temporary tables, sequences and tables that were
/// rolled back, which are among them, lie between those of the table.
#[test]
fn a_past_that_was_given_up_is_read_after_merges() {
    for method in ["heap", "document", "columnar", "rowcompress"] {
        let disk = SimVfs::unrecorded();
        let instance = instance_on(&disk);
        let mut session = connect(&instance);
        run(
            &mut session,
            &format!(
                "create table t (k int primary key, n int, note text, doc jsonb) using {method}"
            ),
        );
        let mut all = vec![tell(&mut session, "the creation")];
        for command in COMMANDS {
            run(&mut session, "create temp table gone (k serial primary key, v text)");
            run(&mut session, "insert into gone (v) values ('x'), ('y'); drop table gone");
            run(&mut session, "begin; create table never (k serial primary key, v text)");
            run(&mut session, "insert into never (v) values ('z'); rollback");
            run(&mut session, command);
            all.push(tell(&mut session, &format!("{command} ({method})")));
            instance.engine().store().flush().expect("it is written");
        }
        let versions = "select k, n, note, doc from t for system_time all order by 1, 2, 3, 4";
        let before = answer(&mut session, versions);
        check(&instance, &mut session, &all);
        assert_eq!(answer(&mut session, versions), before, "{method}");
        run(&mut session, "drop table t");
        check(&instance, &mut session, &all);
        drop((session, instance));
        let instance = instance_on(&disk);
        let mut session = connect(&instance);
        check(&instance, &mut session, &all);
    }
}
