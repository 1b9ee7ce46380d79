//! Damage that no checksum tells, as statements meet it: records that decode and contradict each other. The statement
//! fails with a code of damage, its session goes on, and sound parts can be read.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use document::Documents;
use session::{Instance, Session};
use store::{Op, TableId};
use table::catalog::POSTGRES_DATABASE;
use table::{Collections, Tables};
use txn::{CommitMeta, Engine, EngineOptions, Isolation};
use vfs::SimVfs;

use crate::client::{connect, options};
use crate::methods::answer;

/// A database on a disk, with the tables of its store.
struct World {
    disk: SimVfs,
    collections: Arc<Collections>,
    instance: Arc<Instance>,
}

impl World {
    fn open(disk: SimVfs) -> World {
        let (options, tables) = (options(&disk), Tables::new());
        let resolver = tables.resolver();
        let engine =
            Engine::open(&options.env, Path::new("db"), EngineOptions::default(), resolver);
        let documents = Documents::new(engine.expect("it opens"), 8 << 20, Tables::has_documents);
        let collections = Collections::open(documents, tables).expect("it has a catalog");
        let collections = Arc::new(collections);
        let instance = Instance::open(Arc::clone(&collections), options).expect("it opens");
        World { disk, collections, instance }
    }

    /// A database with these statements run.
    fn with(statements: &[&str]) -> World {
        let world = World::open(SimVfs::new(7));
        let mut session = world.connect();
        for text in statements {
            let said = answer(&mut session, text);
            assert!(!said.contains("ERROR"), "{text}: {said}");
        }
        world
    }

    fn connect(&self) -> Session {
        connect(&self.instance)
    }

    /// Puts `to` in the place of `from` in the one record of a table of the store that has it, and opens the database
    /// anew.
    fn overwrite(self, table: TableId, from: &[u8], to: &[u8]) -> World {
        self.change(table, from, |record, at| {
            record[at..at + from.len()].copy_from_slice(to);
            Op::Put(std::mem::take(record))
        })
    }

    /// Deletes the one record of the table that has these bytes, and not what belongs to it.
    fn delete(self, table: TableId, part: &[u8]) -> World {
        self.change(table, part, |_, _| Op::Delete)
    }

    fn change(
        self,
        table: TableId,
        part: &[u8],
        change: impl Fn(&mut Vec<u8>, usize) -> Op,
    ) -> World {
        let engine = self.collections.engine();
        let mut txn = engine.begin(Isolation::ReadCommitted);
        let mut changed = 0;
        for item in engine.snapshot().scan(table, Bound::Unbounded, Bound::Unbounded, false) {
            let (key, value) = item.expect("it is read");
            let mut record = value.base().to_vec();
            if let Some(at) = record.windows(part.len()).position(|found| found == part) {
                txn.write(table, key, change(&mut record, at)).expect("it is written");
                changed += 1;
            }
        }
        txn.commit(CommitMeta::default()).expect("it is committed");
        assert_eq!(changed, 1, "one record has it");
        self.reopen()
    }

    /// The table of the store that has the rows of a table of `public`.
    fn rows_of(&self, name: &str) -> TableId {
        let catalog = self.collections.catalogs().newest();
        let schema = catalog.schema_named(POSTGRES_DATABASE, "public").expect("it is there");
        let relation = catalog.relation_named(schema.oid, name).expect("it is there");
        relation.storage().expect("it has rows")
    }

    fn reopen(self) -> World {
        let World { disk, collections, instance } = self;
        let engine = Arc::clone(collections.engine());
        drop((collections, instance));
        engine.close().expect("it closes");
        World::open(disk)
    }
}

/// A statement, and a part of its answer.
fn check(session: &mut Session, text: &str, expected: &str) {
    let said = answer(session, text);
    assert!(said.contains(expected), "{text}: {said}");
}

/// A statement that fails with an error of damage.
fn check_damage(session: &mut Session, text: &str, fault: &str) {
    let said = answer(session, text);
    let expected = format!("a stored document is damaged: {fault}");
    assert!(said.contains("ERROR:  XX001") && said.contains(&expected), "{text}: {said}");
}

const NO_JSON: &str = "its text is not JSON";

/// A large document, whose value is lazy, and a small one.
fn documents() -> World {
    World::with(&[
        "CREATE ROLE reader",
        "CREATE TABLE d (id int PRIMARY KEY, doc jsonb) USING document",
        "INSERT INTO d SELECT 1, jsonb_build_object('kind', 'large', 'list', \
         (SELECT jsonb_agg(jsonb_build_object('at', g, 'name', 'item ' || g)) FROM generate_series(1, 1500) g))",
        "INSERT INTO d VALUES (2, '{\"n\": 777}')",
        "GRANT SELECT ON d TO reader",
        "CREATE MATERIALIZED VIEW shown AS SELECT id, doc::text AS doc FROM d WITH NO DATA",
        "ALTER MATERIALIZED VIEW shown OWNER TO reader",
    ])
}

/// A statement that needs the whole of a lazy value, deep in an expression or in the output, fails if its nodes are
/// damaged. Another statement reads a sound field of the same document.
#[test]
fn a_damaged_document_fails_the_statement_that_needs_the_whole() {
    let world = documents();
    let documents = world.collections.find("d").expect("it is a collection").id();
    let world = world.overwrite(documents, b"\"at\":1234", b"\"at\":12x4");
    let mut session = world.connect();
    for text in [
        "select doc from d where id = 1",
        "select doc::text from d where id = 1",
        "select id from d where doc = '{}'",
        "select id from d order by doc",
        "select doc #> '{list,1233}' from d where id = 1 and jsonb_array_length(doc -> 'list') > 1",
        "copy (select doc from d) to stdout",
        "insert into d select 3, doc from d where id = 1",
        "create table copied as select doc from d",
    ] {
        check_damage(&mut session, text, NO_JSON);
        check(
            &mut session,
            "select doc ->> 'kind', doc #>> '{list,7,name}' from d where id = 1",
            "large|item 8",
        );
    }
    check(&mut session, "select count(*) from d", "2");
    check(&mut session, "select doc from d where id = 2", "{\"n\": 777}");
}

/// After such a failure the session is as after any other: role, savepoints, cursors and handlers of errors.
#[test]
fn a_session_goes_on_after_a_damaged_document() {
    let world = documents();
    let documents = world.collections.find("d").expect("it is a collection").id();
    let world = world.overwrite(documents, b"\"at\":1234", b"\"at\":12x4");
    let mut session = world.connect();
    check_damage(&mut session, "refresh materialized view shown", NO_JSON);
    check(&mut session, "select current_user", "postgres");
    check(
        &mut session,
        "do $$ begin perform doc::text from d where id = 1; \
         exception when data_corrupted then raise notice 'handled %', sqlstate; end $$",
        "NOTICE:  00000: handled XX001",
    );
    check(
        &mut session,
        "do $$ declare whole jsonb; begin select doc into whole from d where id = 1; \
         if whole = '{}' then raise notice 'empty'; end if; \
         exception when others then raise notice 'handled %', sqlstate; end $$",
        "NOTICE:  00000: handled XX001",
    );
    check(&mut session, "begin", "BEGIN");
    check(&mut session, "insert into d values (4, '{}')", "INSERT 0 1");
    check(&mut session, "savepoint s", "SAVEPOINT");
    check(&mut session, "declare c cursor for select id, doc from d order by id", "DECLARE CURSOR");
    check_damage(&mut session, "fetch 1 from c", NO_JSON);
    check(&mut session, "select 1", "25P02");
    check(&mut session, "rollback to s", "ROLLBACK");
    check(&mut session, "select count(*) from d", "3");
    check(&mut session, "commit", "COMMIT");
    check(&mut session, "select count(*) from d", "3");
}

/// Stored text that is not JSON is damage, and no mistake of the statement that reads it.
#[test]
fn a_small_document_whose_text_is_not_json_is_damaged() {
    let world = documents();
    let documents = world.collections.find("d").expect("it is a collection").id();
    let world = world.overwrite(documents, b"\"n\":777", b"\"n\":7x7");
    let mut session = world.connect();
    for text in ["select doc from d where id = 2", "select doc ->> 'n' from d where id = 2"] {
        check_damage(&mut session, text, NO_JSON);
    }
    drop(session);
    let world = world.overwrite(documents, b"item 1234", b"item 12\xff4");
    let mut session = world.connect();
    for text in ["select doc::text from d where id = 1", "select doc || '[]' from d where id = 1"] {
        check_damage(&mut session, text, "a text that is not UTF-8");
    }
}

/// An entry of an index that leads to no row is damage of that index: reads do not leave the row out, constraints do not
/// hold without it, and `ON CONFLICT` does not look for it for ever. `REINDEX` makes the index anew.
#[test]
fn an_entry_without_its_row_is_damage_of_the_index() {
    let world = World::with(&[
        "CREATE TABLE h (id int PRIMARY KEY, n int, tag text UNIQUE)",
        "CREATE INDEX h_n ON h (n)",
        "INSERT INTO h SELECT g, g, CASE g WHEN 42 THEN 'gone' ELSE 'tag ' || g END FROM generate_series(1, 2000) g",
        "ANALYZE h",
        "CREATE TABLE booked (id int PRIMARY KEY, during int4range, note text, \
         CONSTRAINT apart EXCLUDE USING gist (during WITH &&))",
        "INSERT INTO booked VALUES (1, '[1,5)', 'stays'), (2, '[5,9)', 'gone')",
        "CREATE MATERIALIZED VIEW shown AS SELECT id, tag FROM h WHERE id > 40 AND id < 45",
        "CREATE UNIQUE INDEX shown_id ON shown (id)",
    ]);
    let (rows, bookings, shown) =
        (world.rows_of("h"), world.rows_of("booked"), world.rows_of("shown"));
    let world = world.delete(rows, b"gone").delete(bookings, b"gone").delete(shown, b"tag 43");
    let mut session = world.connect();
    let fault = "is damaged: an entry leads to no row";
    for (text, index) in [
        ("select id from h where tag = 'gone'", "h_tag_key"),
        ("select tag from h where n between 41 and 43", "h_n"),
        (
            "insert into h values (3000, 1, 'gone') on conflict (tag) do update set n = 5",
            "h_tag_key",
        ),
        ("insert into booked values (3, '[6,7)', 'new')", "apart"),
        ("refresh materialized view concurrently shown", "shown_id"),
    ] {
        check(&mut session, text, &format!("ERROR:  XX002: index \"{index}\" {fault}"));
        check(&mut session, text, "HINT:  REINDEX INDEX makes the index anew from the rows");
    }
    check(&mut session, "reindex index h_tag_key", "REINDEX");
    check(&mut session, "select count(*) from h where tag = 'gone'", "0");
    let upsert = "insert into h values (3000, 1, 'gone') on conflict (tag) do update set n = 5";
    check(&mut session, upsert, "INSERT 0 1");
    check(&mut session, "select id, n from h where tag = 'gone'", "3000|1");
    check(&mut session, upsert, "INSERT 0 1");
    check(&mut session, "select id, n from h where tag = 'gone'", "3000|5");
}
