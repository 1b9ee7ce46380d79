//! Tables `USING document` as collections: what SQL and the library do to one document is one history.

use crate::{Database, DocumentError, Error, Meta, Place, Retention, Revision};
use std::sync::Barrier;

/// The rows of a query, their values with `|` between.
pub(super) fn rows(database: &Database, query: &str) -> Vec<String> {
    let mut sql = database.connect().unwrap();
    let found = sql.query(query, &[]).unwrap();
    let columns = found.columns.clone();
    let line = |row: crate::sql::Row<'_>| {
        let values = row.values().iter().zip(&columns);
        let texts = values.map(|(value, column)| sql.text(value, column).unwrap_or("-".into()));
        texts.collect::<Vec<_>>().join("|")
    };
    found.iter().map(line).collect()
}

fn run(database: &Database, statement: &str) {
    database.sql(statement, &[]).unwrap();
}

fn prepared() -> Database {
    let database = Database::open_in_memory().unwrap();
    run(&database, "CREATE TABLE articles (id text PRIMARY KEY, doc jsonb, n int) USING document");
    database
}

/// A document that is put by the library is a row, whose other columns are NULL; one that is inserted is a
/// document; and each sees what the other has done, in the same history.
#[test]
fn a_table_of_documents_is_a_collection() {
    let database = prepared();
    assert_eq!(database.collections(), ["articles"]);
    let articles = database.collection("articles").unwrap();
    articles.put_with("a", r#"{"n":1}"#, &Meta::new("ada", "first")).unwrap();
    run(&database, "UPDATE articles SET doc['n'] = '2', n = 7 WHERE id = 'a'");
    articles.edit("a", |edit| edit.set("$.n", "3")).unwrap();
    assert_eq!(rows(&database, "SELECT * FROM articles"), [r#"a|{"n": 3}|7"#]);
    let then = "SELECT doc FROM articles FOR SYSTEM_TIME ALL ORDER BY _version";
    assert_eq!(rows(&database, then), [r#"{"n": 1}"#, r#"{"n": 2}"#, r#"{"n": 3}"#]);
    let by = "SELECT version, author, message FROM history('articles', 'a') ORDER BY 1 LIMIT 1";
    assert_eq!(rows(&database, by), ["1|ada|first"]);
    assert_eq!(articles.newest("a").unwrap(), Revision(3));
    assert_eq!(articles.node_history("a", "$.n").unwrap().len(), 3);

    run(&database, "INSERT INTO articles VALUES ('b', '[1]', 1), ('c', NULL, 2)");
    assert_eq!(articles.get("b").unwrap().unwrap().to_json().unwrap(), "[1]");
    assert!(articles.get("c").unwrap().is_none(), "a row without a document");
    articles.put("c", "{}").unwrap();
    articles.remove("b").unwrap();
    assert_eq!(rows(&database, "SELECT id, doc, n FROM articles WHERE id > 'a'"), ["c|{}|2"]);
    assert!(matches!(articles.remove("b"), Err(DocumentError::NoDocument { .. })));
    articles.import("d", &mut r#"{"long":[1,2,3]}"#.as_bytes(), &Meta::default()).unwrap();
    assert_eq!(rows(&database, "SELECT count(*) FROM articles WHERE doc ? 'long'"), ["1"]);

    let mut txn = database.begin().unwrap();
    txn.collection("articles").unwrap().put("e", "1").unwrap();
    txn.collection("articles").unwrap().remove("c").unwrap();
    txn.collection("plain").unwrap().put("x", "1").unwrap();
    assert_eq!(rows(&database, "SELECT count(*) FROM articles"), ["3"]);
    let csn = txn.commit().unwrap();
    let one = format!("SELECT id FROM articles FOR SYSTEM_VERSION AS OF {} ORDER BY id", csn.0);
    assert_eq!(rows(&database, &one), ["a", "d", "e"]);
    assert_eq!(database.collections(), ["articles", "plain"]);
    let keys: Vec<_> = articles.keys("").map(|key| key.unwrap()).collect();
    assert_eq!(keys, ["a", "d", "e"]);
}

/// SQL reads documents of a collection that is no table, now and as of then, with tables of SQL, for roles
/// that may read everything.
#[test]
fn sql_reads_collections_that_are_no_tables() {
    let database = prepared();
    let plain = database.collection("plain \"one\"").unwrap();
    plain.put("a", r#"{"n":1}"#).unwrap();
    plain.put("b", r#"{"n":2}"#).unwrap();
    run(&database, "CREATE TABLE marked AS SELECT now()::text AS at");
    plain.edit("a", |edit| edit.set("$.n", "10")).unwrap();
    plain.remove("b").unwrap();
    plain.put("c", "[1.50]").unwrap();
    let all = "SELECT * FROM documents('plain \"one\"')";
    assert_eq!(rows(&database, all), [r#"a|2|{"n": 10}"#, "c|1|[1.50]"]);
    run(&database, "INSERT INTO articles SELECT key, doc FROM documents('plain \"one\"')");
    let both = "SELECT d.doc = a.doc FROM articles a JOIN documents('plain \"one\"') d ON key = id";
    assert_eq!(rows(&database, both), ["t", "t"]);
    assert_eq!(rows(&database, "SELECT key, doc FROM documents('articles') LIMIT 1").len(), 1);

    let mut session = database.connect().unwrap();
    session.query("SELECT set_config('system_time_as_of', at, false) FROM marked", &[]).unwrap();
    let then = session.query(all, &[]).unwrap();
    assert_eq!(then.iter().count(), 2);
    let mut read =
        session.query("SELECT sum((doc ->> 'n')::int) FROM documents($1)", &[&"plain \"one\""]);
    let sum = read.as_mut().unwrap().iter().next().map(|row| format!("{:?}", row.values()[0]));
    assert!(sum.unwrap().contains('3'), "1 and 2, as they were");

    let state = |result: session::Result<crate::sql::Rows>| result.err().unwrap().to_string();
    let nowhere = database.sql("SELECT * FROM documents('nowhere')", &[]);
    assert!(state(nowhere).contains("\"nowhere\" does not exist"));
    run(&database, "CREATE ROLE bob");
    let mut bob = database.connect().unwrap();
    bob.execute("SET ROLE bob", &[]).unwrap();
    assert!(state(bob.query(all, &[])).contains("permission denied"));
    run(&database, "GRANT pg_read_all_data TO bob");
    assert_eq!(bob.query(all, &[]).unwrap().iter().count(), 2);
    database.drop_collection("plain \"one\"").unwrap();
    assert!(state(database.sql(all, &[])).contains("does not exist"));
}

/// A transaction that changes a document waits for the other, in SQL and in the library: no change
/// is lost.
#[test]
fn sql_and_the_library_wait_for_each_other() {
    const TIMES: usize = 60;
    let database = prepared();
    database.collection("articles").unwrap().put("a", r#"{"n":0}"#).unwrap();
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (database, start) = (&database, &start);
            scope.spawn(move || {
                let articles = database.collection("articles").unwrap();
                let mut sql = database.connect().unwrap();
                start.wait();
                for _ in 0..TIMES {
                    if number % 2 == 0 {
                        let add = |edit: &mut crate::Edit<'_>| {
                            let n: u64 = edit.scalar("$.n")?.unwrap().parse().unwrap();
                            edit.set("$.n", (n + 1).to_string())
                        };
                        articles.edit("a", add).unwrap();
                    } else {
                        let add = "UPDATE articles SET doc['n'] = to_jsonb((doc ->> 'n')::int + 1)";
                        assert_eq!(sql.execute(add, &[]).unwrap(), 1);
                    }
                }
            });
        }
    });
    let total = 4 * TIMES;
    assert_eq!(rows(&database, "SELECT doc -> 'n' FROM articles"), [total.to_string()]);
    let articles = database.collection("articles").unwrap();
    assert_eq!(articles.newest("a").unwrap(), Revision(total as u64 + 1));

    // The first to change a document of two transactions wins.
    let mut txn = database.begin().unwrap();
    assert!(txn.collection("articles").unwrap().get("a").unwrap().is_some());
    run(&database, "UPDATE articles SET doc['n'] = '0'");
    let late = txn.collection("articles").unwrap().put("a", "1").unwrap_err();
    assert!(matches!(late, Error::Document(DocumentError::Conflict { .. })), "{late}");
}

/// Rows with values that only SQL can compute are left to SQL: nothing is changed, and the error
/// says why.
#[test]
fn rows_that_need_more_are_changed_by_sql() {
    let database = prepared();
    let articles = database.collection("articles").unwrap();
    articles.put("a", r#"{"n":1}"#).unwrap();
    let refused = |words: &str| {
        let error = articles.put("b", "1").unwrap_err();
        assert!(matches!(error, DocumentError::Refused(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(articles.get("b").unwrap().is_none());
    };
    run(&database, "ALTER TABLE articles ADD COLUMN m int NOT NULL DEFAULT 3");
    refused("needs a value for column \"m\"");
    articles.put("a", r#"{"n":2}"#).unwrap();
    run(&database, "ALTER TABLE articles DROP COLUMN m");
    run(&database, "CREATE INDEX by_n ON articles ((doc ->> 'n'))");
    refused("indexes");
    assert!(articles.edit("a", |edit| edit.set("$.n", "3")).is_err());
    assert_eq!(articles.get("a").unwrap().unwrap().to_json().unwrap(), r#"{"n":2}"#);
    run(&database, "DROP INDEX by_n");
    run(&database, "ALTER TABLE articles ADD CHECK (doc ? 'n')");
    refused("checks");

    run(&database, "CREATE TABLE numbered (id int PRIMARY KEY, doc jsonb) USING document");
    let numbered = database.collection("numbered").unwrap();
    numbered.put("7", "[]").unwrap();
    assert_eq!(rows(&database, "SELECT * FROM numbered WHERE id = 7"), ["7|[]"]);
    assert!(matches!(numbered.put("seven", "[]"), Err(DocumentError::BadKey(_))));

    // Without a primary key documents are called by numbers that only SQL gives.
    run(&database, "CREATE TABLE keyless (doc jsonb) USING document");
    run(&database, r#"INSERT INTO keyless VALUES ('{"n":1}'), ('{"n":2}')"#);
    let keyless = database.collection("keyless").unwrap();
    assert_eq!(keyless.get("2").unwrap().unwrap().to_json().unwrap(), r#"{"n":2}"#);
    for key in ["2", "a"] {
        let error = keyless.put(key, "[]").unwrap_err();
        assert!(error.to_string().contains("has no primary key"), "{error}");
    }
    assert_eq!(rows(&database, "SELECT doc->'n' FROM keyless ORDER BY 1"), ["1", "2"]);
}

/// Tables and collections refuse a value that no `jsonb` can hold, on every way in. Collections once
/// took it: SQL could read neither it nor, in a scan, its neighbours.
#[test]
fn documents_are_values() {
    let database = prepared();
    for name in ["articles", "plain"] {
        values_alone_are_taken(&database, name);
    }
    let there = [r#"a|{"n": 1, "s": "back\\u0000slash"}|-"#];
    assert_eq!(rows(&database, "SELECT * FROM articles"), there);
    let there = [r#"{"n": 1, "s": "back\\u0000slash"}"#];
    assert_eq!(rows(&database, "SELECT doc FROM documents('plain')"), there);
}

fn values_alone_are_taken(database: &Database, name: &str) {
    let articles = database.collection(name).unwrap();
    articles.put("a", r#"{"n":1, "s":"back\\u0000slash"}"#).unwrap();
    let refused = |error: DocumentError| {
        assert!(matches!(error, DocumentError::Unstorable { .. }), "{error}");
    };
    for bad in [r#""\u0000""#, r#"{"\u0000":1}"#, "[1e200000]", r#"["x\\\u0000"]"#] {
        refused(articles.put("b", bad).unwrap_err());
        refused(articles.edit("a", |edit| edit.set("$.n", bad)).unwrap_err());
        refused(articles.edit("a", |edit| edit.insert("$", Place::Field("x"), bad)).unwrap_err());
        refused(articles.edit("a", |edit| edit.replace("$.n", bad)).unwrap_err());
        let mut txn = database.begin().unwrap();
        let late = txn.collection(name).unwrap().put("b", bad).unwrap_err();
        assert!(matches!(late, Error::Document(DocumentError::Unstorable { .. })), "{late}");
        drop(txn);
        // So long that it is read as a stream.
        let long = format!("[\"{}\", {bad}]", "x".repeat(17 << 20));
        refused(articles.import("b", &mut long.as_bytes(), &Meta::default()).unwrap_err());
    }
    refused(articles.edit("a", |edit| edit.rename("$.n", "\0")).unwrap_err());
    refused(articles.edit("a", |edit| edit.insert("$", Place::Field("\0"), "1")).unwrap_err());
    let named = articles.put("b", r#"{"a":[0,{"b":1e131072}]}"#).unwrap_err().to_string();
    assert!(named.contains("$.a[1].b"), "{named}");
    // Nor do keys, authors and messages hold what no text of SQL can.
    assert!(matches!(articles.put("a\0", "1"), Err(DocumentError::BadKey(_))));
    for meta in [Meta::new("a\0", ""), Meta::new("", "\0")] {
        assert!(matches!(articles.put_with("b", "1", &meta), Err(DocumentError::BadMeta(_))));
        let mut txn = database.begin().unwrap();
        txn.collection(name).unwrap().put("b", "1").unwrap();
        txn.commit_with(&meta).unwrap_err();
    }
    assert!(articles.get("b").unwrap().is_none());
}

/// A table ends as a collection does: for those who hold it, it was dropped.
#[test]
fn tables_of_documents_end() {
    let database = prepared();
    let articles = database.collection("articles").unwrap();
    articles.put("a", "1").unwrap();
    run(&database, "TRUNCATE articles");
    assert!(matches!(articles.put("a", "2"), Err(DocumentError::Dropped { .. })));
    let articles = database.collection("articles").unwrap();
    assert_eq!(articles.put("a", "2").unwrap().revision, Revision(1));
    database.set_history("articles", Retention::None).unwrap();
    let options = database.find_collection("articles").unwrap().options();
    assert_eq!(options.history, Retention::None);
    assert!(database.drop_collection("articles").unwrap());
    assert!(matches!(articles.put("a", "3"), Err(DocumentError::Dropped { .. })));
    assert!(database.find_collection("articles").is_none());
    run(&database, "CREATE SCHEMA s");
    run(&database, "CREATE TABLE s.\"Of it\" (id uuid PRIMARY KEY, doc jsonb) USING document");
    assert_eq!(database.collections(), ["s.Of it"]);
    assert!(database.drop_collection("s.Of it").unwrap());
    assert!(!database.drop_collection("s.Of it").unwrap());
}
