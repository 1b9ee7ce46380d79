//! The remains of `ERASE`: nothing, in no table of the store, in no index of now or then, in no
//! file.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use session::{Done, Instance, Session};
use store::{Csn, TableId};
use vfs::{OpenMode, SimVfs, Vfs};

use crate::client::{Nothing, TextOutput, connect, instance_on};
use crate::methods::answer;

const SECRET: &[u8] = b"hush";

fn run(session: &mut Session, text: &str) {
    for statement in session.read(text).expect("it can be read") {
        let mut portal = session.start(statement, true).expect("it starts");
        // As the server does: what may take long is run again where it holds nobody up.
        if session.execute(&mut portal, 0, &mut Nothing).expect("it runs") == Done::Blocked {
            session.set_inline(false);
            session.execute(&mut portal, 0, &mut Nothing).expect("it runs");
            session.set_inline(true);
        }
        if let Some(commit) = session.take_commit() {
            commit.wait().expect("it is durable");
        }
    }
}

/// How many keys and versions of SQL's tables have the secret.
fn told(instance: &Arc<Instance>) -> usize {
    let store = instance.engine().store();
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|w| w == SECRET);
    let mut found = 0;
    // The tables of the store that the first definitions of a database get, and more; with what indexes say
    // of the time before them.
    let tables = [0x4000_0000, 0x1000_0000].into_iter();
    let tables = tables.flat_map(|from| (0..400).map(move |n| TableId(from + 16_384 + n)));
    for table in tables.chain([txn::CHANGES_TABLE]) {
        let mut keys = store.keys(table, Bound::Unbounded, Bound::Unbounded, false);
        while let Some(key) = keys.advance().expect("it can be read") {
            found += usize::from(has(key));
            let visit = |version: store::Version<'_>| {
                found += usize::from(has(version.bytes));
                ControlFlow::Continue(())
            };
            store.versions(table, key, Csn(0), Csn::MAX, visit).expect("it can be read");
        }
    }
    found
}

fn is_in_a_file(disk: &SimVfs) -> bool {
    disk.files().iter().any(|(path, len)| {
        let mut bytes = vec![0; *len as usize];
        let file = disk.open(path, OpenMode::Read).expect("it is there");
        file.read_exact_at(&mut bytes, 0).expect("it can be read");
        bytes.windows(SECRET.len()).any(|w| w == SECRET)
    })
}

/// Where a table forgets its past, indexes that were made later forget what was before them, also those
/// that the same transaction has made.
#[test]
fn indexes_forget_what_was_before_them() {
    let disk = SimVfs::unrecorded();
    let instance = instance_on(&disk);
    let mut session = connect(&instance);
    let remembered = || {
        let store = instance.engine().store();
        let mut found = 0;
        for table in (0..400).map(|n| TableId(0x1000_0000 + 16_384 + n)) {
            let mut keys = store.keys(table, Bound::Unbounded, Bound::Unbounded, false);
            while keys.advance().expect("it can be read").is_some() {
                found += 1;
            }
        }
        found
    };
    run(
        &mut session,
        "create table t (id int primary key, code text, tags text[]);
         insert into t select g, 'a' || g, array['x', 'y' || g] from generate_series(1, 50) g;
         update t set code = 'b', tags = '{z}' where id <= 20;
         delete from t where id = 50;
         create index t_code on t (code); create index t_tags on t using gin (tags)",
    );
    assert_eq!(remembered(), 21 + 2 * 21);
    run(&mut session, "alter table t set (history = off)");
    assert_eq!(remembered(), 0, "nothing is kept");
    run(&mut session, "alter table t set (history = on); update t set code = 'c' where id = 1");
    run(&mut session, "create unique index t_both on t (code, id)");
    assert!(remembered() > 0);
    run(&mut session, "delete history from t before system_time now()");
    assert_eq!(remembered(), 0, "what was is deleted");
    run(&mut session, "update t set code = 'd' where id = 1");
    run(
        &mut session,
        "begin; create index t_late on t (code); alter table t set (history = '30 days'); commit",
    );
    assert_eq!(remembered(), 0, "made and forgotten in one");
    run(&mut session, "update t set code = 'e' where id = 1; create index t_last on t (code)");
    assert_eq!(remembered(), 0, "what is kept for a time only is not written down again");
}

/// The versions that `DELETE HISTORY` removes are gone for the next statement, also where commits are
/// waited for elsewhere, as the server does. There statements once read them until something else
/// changed the catalog.
#[test]
fn history_that_is_deleted_is_gone_at_once() {
    let instance = instance_on(&SimVfs::unrecorded());
    let mut session = connect(&instance);
    session.set_inline(true);
    run(
        &mut session,
        "create table s (id int primary key, v text);
         insert into s values (1, 'secret');
         update s set v = 'public';
         delete history from s before system_time now()",
    );
    let mut kept = TextOutput::default();
    for text in ["select v from s for system_time all", "table s"] {
        let statement = session.read(text).expect("it can be read").remove(0);
        let mut portal = session.start(statement, true).expect("it starts");
        session.execute(&mut portal, 0, &mut kept).expect("it runs");
    }
    assert_eq!(kept.0, ["public", "1|public"]);
}

/// `CHECKPOINT` has all that is committed in the store's files when it returns.
#[test]
fn a_checkpoint_is_one() {
    let instance = instance_on(&SimVfs::unrecorded());
    let mut session = connect(&instance);
    run(&mut session, "create table t (n int); insert into t values (1)");
    let committed = instance.engine().snapshot().csn();
    assert!(instance.engine().store().checkpoint().csn < committed, "else it proves nothing");
    run(&mut session, "checkpoint");
    assert!(instance.engine().store().checkpoint().csn >= committed);
}

/// A row that was changed, moved between unique keys, written anew by an `ALTER TABLE`, indexed by an
/// index that is gone, and in the end deleted, leaves nothing once it is erased and `VACUUM` was said; the
/// others keep all they had, the unique key included that they share with it.
#[test]
fn a_row_with_a_long_past_leaves_nothing() {
    let disk = SimVfs::unrecorded();
    let instance = instance_on(&disk);
    let mut session = connect(&instance);
    run(
        &mut session,
        "create table t (id text primary key, code text unique, tags text[], note text);
         create index old_note on t (note);
         create index t_tags on t using gin (tags);
         insert into t values ('hush 1', 'hush a', '{hush t}', 'hush n'), ('two', 'b', '{u}', 'n');
         update t set code = 'shared', note = 'hush m' where id = 'hush 1';
         drop index old_note;
         alter table t alter note type varchar(100);
         alter table t alter tags type varchar[] using tags::varchar[];
         update t set tags = '{hush v}', code = 'hush c' where id = 'hush 1';
         update t set code = 'shared' where id = 'two';
         update t set note = 'hush o', id = 'hush 2' where id = 'hush 1';
         create index late_gone on t (lower(note));
         create unique index late_code on t (code, id);
         drop index late_gone;
         create index late_tags on t using gin (tags);
         delete from t where id = 'hush 2';
         create index late_note on t (note)",
    );
    assert!(told(&instance) > 10 && is_in_a_file(&disk), "else it proves nothing");
    run(&mut session, "erase from t where id like 'hush%'");
    assert_eq!(told(&instance), 0, "nobody reads it");
    run(&mut session, "vacuum");
    assert_eq!(instance.engine().store().erasures(), []);
    assert_eq!(told(&instance), 0, "and it is gone");
    assert!(!is_in_a_file(&disk));
    let mut shown = crate::client::TextOutput::default();
    let text = "select count(*) > 1 from t for system_time all where id = 'two'";
    let statement = session.read(text).expect("it can be read").pop().expect("there is one");
    let mut portal = session.start(statement, true).expect("it starts");
    session.execute(&mut portal, 0, &mut shown).expect("it runs");
    assert_eq!(shown.0, ["t"]);
}

/// A transaction changes a row, has the table written anew, and erases the row. Nothing of the change stays where the
/// row was before: a patch of a row that never was could not be read.
#[test]
fn a_change_before_the_rewrite_is_erased_with_its_row() {
    for using in ["", "using document", "using columnar", "using rowcompress"] {
        let mut session = connect(&instance_on(&SimVfs::new(4)));
        let statements = [
            &format!("create table t (k text primary key, n int, note text, doc jsonb) {using}"),
            "insert into t select k, 1, repeat('x', 2000), '[]' from unnest(array['a', 'b']) k",
            "begin",
            "update t set n = 2, doc = doc || '1'",
            "alter table t alter n type bigint",
            "erase from t where k = 'a'",
            "commit",
        ];
        statements.into_iter().for_each(|text| run(&mut session, text));
        let versions = "select k, n, doc from t for system_time all order by n";
        assert_eq!(
            answer(&mut session, versions),
            "k|n|doc\nb|1|[]\nb|2|[1]\n(2 rows)\n",
            "{using}"
        );
    }
}
