//! sqlx: migrations, a pool, bound values, nested transactions, built queries, COPY and a listener.

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use clients::{keeps_the_past, note, place, same, well};
use futures_util::TryStreamExt;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::types::PgInterval;
use sqlx::postgres::{
    PgConnectOptions, PgConnection, PgListener, PgPool, PgPoolCopyExt, PgPoolOptions, PgRow,
};
use sqlx::types::Json;
use sqlx::{
    Acquire, Column, Connection, Decode, Either, Encode, Executor, FromRow, Postgres, QueryBuilder,
    Row, Statement, Type, TypeInfo,
};
use uuid::Uuid;

fn options() -> PgConnectOptions {
    PgConnectOptions::new()
        .host(&place("PGHOST"))
        .port(place("PGPORT").parse().unwrap())
        .username(&place("PGUSER"))
        .database(&place("PGDATABASE"))
        .application_name("library")
}

async fn pool() -> PgPool {
    well(PgPoolOptions::new().max_connections(4).connect_with(options()).await)
}

/// Checks that the server refused with this code; gives its error.
#[track_caller]
fn refused<T>(state: &str, result: Result<T, sqlx::Error>) -> sqlx::Error {
    let error = result.err().unwrap_or_else(|| panic!("nothing was refused, wanted {state}"));
    let code = error.as_database_error().and_then(|told| told.code());
    note(code.as_deref() == Some(state), || format!("{state}: {error:?}"));
    drop(code);
    error
}

/// A row of the table `book`.
#[derive(PartialEq, Debug)]
struct Book {
    id: i64,
    title: String,
    stock: i32,
    about: Option<serde_json::Value>,
}

impl FromRow<'_, PgRow> for Book {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Book {
            id: row.try_get("id")?,
            title: row.try_get("title")?,
            stock: row.try_get("stock")?,
            about: row.try_get("about")?,
        })
    }
}

async fn migrations() {
    let db = pool().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let migrator = well(Migrator::new(folder).await);
    // Two at once: one waits for the other, and then has nothing to do.
    let (one, two) = tokio::join!(migrator.run(&db), migrator.run(&db));
    well(one);
    well(two);
    let done = "SELECT version, success FROM _sqlx_migrations ORDER BY version";
    let done: Vec<(i64, bool)> = well(sqlx::query_as(done).fetch_all(&db).await);
    same(done, [(1, true), (2, true)]);
    well(migrator.undo(&db, 1).await);
    refused("42703", sqlx::query("SELECT stock FROM book").execute(&db).await);
    well(migrator.run(&db).await);
    well(sqlx::query("SELECT stock FROM book").execute(&db).await);
    // A value that differs is noticed.
    well(
        sqlx::query("UPDATE _sqlx_migrations SET checksum = 'x' WHERE version = 2")
            .execute(&db)
            .await,
    );
    let noticed = migrator.run(&db).await;
    note(matches!(noticed, Err(MigrateError::VersionMismatch(2))), || format!("{noticed:?}"));
}

/// A value comes back as it was bound, in binary.
async fn there_and_back<T>(db: &PgPool, name: &str, value: T)
where
    T: for<'a> Encode<'a, Postgres> + for<'a> Decode<'a, Postgres> + Type<Postgres>,
    T: Clone + PartialEq + Debug + Send + Unpin + 'static,
{
    let text = format!("SELECT $1::{name}");
    let query = sqlx::query_scalar::<_, T>(&text).bind(value.clone());
    same(well(query.fetch_one(db).await), value);
}

async fn values() {
    let db = pool().await;
    there_and_back(&db, "bool", true).await;
    there_and_back(&db, "int2", -5_i16).await;
    there_and_back(&db, "int4", 1_i32 << 30).await;
    there_and_back(&db, "int8", i64::MIN).await;
    there_and_back(&db, "int8", None::<i64>).await;
    there_and_back(&db, "float4", 1.5_f32).await;
    there_and_back(&db, "float8", 1e300_f64).await;
    there_and_back(&db, "text", "häß 😀".to_owned()).await;
    there_and_back(&db, "varchar(3)", "abc".to_owned()).await;
    there_and_back(&db, "bytea", vec![0_u8, 255]).await;
    there_and_back(&db, "int4[]", vec![1_i32, -2]).await;
    there_and_back(&db, "text[]", vec!["a,b".to_owned(), String::new()]).await;
    there_and_back(&db, "int8[]", vec![Some(1_i64), None]).await;
    there_and_back(&db, "bool[]", Vec::<bool>::new()).await;
    there_and_back(&db, "jsonb", serde_json::json!({"a": [1, null, "x"]})).await;
    there_and_back(&db, "json", Json(serde_json::json!([true]))).await;
    let id = Uuid::from_u128(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
    there_and_back(&db, "uuid", id).await;
    there_and_back(&db, "uuid[]", vec![id, Uuid::nil()]).await;
    let day = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    let hour = NaiveTime::from_hms_micro_opt(23, 59, 58, 1).unwrap();
    there_and_back(&db, "date", day).await;
    there_and_back(&db, "time", hour).await;
    there_and_back::<NaiveDateTime>(&db, "timestamp", day.and_time(hour)).await;
    there_and_back::<DateTime<Utc>>(&db, "timestamptz", day.and_time(hour).and_utc()).await;
    there_and_back(&db, "timestamptz[]", vec![day.and_time(hour).and_utc()]).await;
    there_and_back(&db, "interval", PgInterval { months: 1, days: -2, microseconds: 3 }).await;
    // By simple query, the values come as text.
    let row =
        well(db.fetch_one("SELECT 7, 'x', date '2024-02-29', NULL::int8, '{1,2}'::int4[]").await);
    same((row.get::<i32, _>(0), row.get::<String, _>(1)), (7, "x".to_owned()));
    same((row.get::<NaiveDate, _>(2), row.get::<Option<i64>, _>(3)), (day, None));
    same(row.get::<Vec<i32>, _>(4), [1, 2]);
}

async fn statements() {
    let db = pool().await;
    let text = "SELECT id, title, price, about FROM book WHERE id = $1 AND title <> $2";
    let statement = well((&db).prepare(text).await);
    let names: Vec<&str> =
        statement.columns().iter().map(|column| column.type_info().name()).collect();
    same(names, ["INT8", "TEXT", "NUMERIC", "JSONB"]);
    let Some(Either::Left(parameters)) = statement.parameters() else { panic!("no parameters") };
    same(parameters.iter().map(TypeInfo::name).collect::<Vec<_>>(), ["INT8", "TEXT"]);
    // sqlx asks the catalog and EXPLAIN which columns may be NULL.
    let described = well((&db).describe("SELECT id, title, price FROM book").await);
    same([0, 1, 2].map(|at| described.nullable(at)), [Some(false), Some(false), Some(true)]);
    // A statement that is kept fails once its table has changed, and is prepared anew after that.
    let mut one: PgConnection = well(PgConnection::connect_with(&options()).await);
    well(sqlx::raw_sql("CREATE TABLE changing AS SELECT 1 AS a").execute(&mut one).await);
    let changing = || sqlx::query("SELECT * FROM changing");
    same(well(changing().fetch_one(&mut one).await).len(), 1);
    well(sqlx::raw_sql("ALTER TABLE changing ADD b text").execute(&mut one).await);
    refused("0A000", changing().fetch_one(&mut one).await);
    well(one.clear_cached_statements().await);
    same(well(changing().fetch_one(&mut one).await).len(), 2);
    well(one.close().await);
}

async fn work() {
    let db = pool().await;
    let mut builder = QueryBuilder::<Postgres>::new("INSERT INTO book (title, stock, about) ");
    builder.push_values(1..=200_i32, |mut row, n| {
        let about = Json(serde_json::json!({"n": n}));
        row.push_bind(format!("book {n}")).push_bind(n % 7).push_bind(about);
    });
    same(well(builder.build().execute(&db).await).rows_affected(), 200);
    let sums = sqlx::query_as("SELECT count(*), sum(stock)::int8 FROM book");
    let sums: (i64, i64) = well(sums.fetch_one(&db).await);
    same(sums, (200, (1..=200).map(|n| n % 7).sum::<i64>()));
    let books = sqlx::query_as::<_, Book>("SELECT * FROM book WHERE id IN (1, 9) ORDER BY id");
    let book = |id: i64, stock| Book {
        id,
        title: format!("book {id}"),
        stock,
        about: Some(serde_json::json!({"n": id})),
    };
    same(well(books.fetch_all(&db).await), [book(1, 1), book(9, 2)]);
    let mut rows =
        sqlx::query("SELECT id FROM book WHERE stock > $1 ORDER BY id").bind(4).fetch(&db);
    let mut ids = Vec::new();
    while let Some(row) = well(rows.try_next().await) {
        ids.push(row.get::<i64, _>(0));
    }
    drop(rows);
    same(ids.len(), (1..=200).filter(|n| n % 7 > 4).count());
    // A result that is not read to its end leaves the connection whole.
    let mut one = well(db.acquire().await);
    let mut rows = sqlx::query("SELECT * FROM generate_series(1, 100000)").fetch(&mut *one);
    same(well(rows.try_next().await).is_some(), true);
    drop(rows);
    same(well(sqlx::query_scalar::<_, i32>("SELECT 7").fetch_one(&mut *one).await), 7);
    drop(one);
    let mut some = QueryBuilder::<Postgres>::new("SELECT count(*) FROM book WHERE id IN (");
    let mut list = some.separated(", ");
    for id in [1_i64, 2, 3, 99_999] {
        list.push_bind(id);
    }
    some.push(")");
    same(well(some.build_query_scalar::<i64>().fetch_one(&db).await), 3);
    let found =
        sqlx::query_scalar::<_, i64>("SELECT id FROM book WHERE title = ANY ($1) ORDER BY id");
    same(well(found.bind(vec!["book 4", "book 2"]).fetch_all(&db).await), [2, 4]);
    let upsert = "INSERT INTO book (id, title, stock) OVERRIDING SYSTEM VALUE VALUES ($1, $2, 1)
                  ON CONFLICT (id) DO UPDATE SET stock = book.stock + excluded.stock RETURNING stock";
    let upsert = sqlx::query_scalar::<_, i32>(upsert).bind(7_i64).bind("x");
    same(well(upsert.fetch_one(&db).await), 1);
    same(well(sqlx::query("SELECT 1 WHERE false").fetch_optional(&db).await).is_none(), true);
    let many =
        sqlx::raw_sql("CREATE TEMP TABLE raw (x int); INSERT INTO raw VALUES (1); DROP TABLE raw");
    well(many.execute(&db).await);
    // Twenty at once through four connections.
    let updates =
        (0..20).map(|_| sqlx::query("UPDATE book SET stock = stock + 1 WHERE id = 1").execute(&db));
    for done in futures_util::future::join_all(updates).await {
        same(well(done).rows_affected(), 1);
    }
    let stock = sqlx::query_scalar::<_, i32>("SELECT stock FROM book WHERE id = 1");
    same(well(stock.fetch_one(&db).await), 21);
    note((1..=4).contains(&db.size()), || format!("{} connections", db.size()));
}

async fn transactions() {
    let db = pool().await;
    let stock = || sqlx::query_scalar::<_, i32>("SELECT stock FROM book WHERE id = 2");
    let mut outer = well(db.begin().await);
    well(sqlx::query("UPDATE book SET stock = 50 WHERE id = 2").execute(&mut *outer).await);
    let mut inner = well(outer.begin().await);
    let wrong = sqlx::query("UPDATE book SET stock = -1 WHERE id = 2").execute(&mut *inner).await;
    let error = refused("23514", wrong);
    let told = error.as_database_error();
    note(told.is_some_and(|told| told.is_check_violation()), || format!("{error:?}"));
    well(inner.rollback().await);
    let mut inner = well(outer.begin().await);
    well(sqlx::query("UPDATE book SET stock = stock + 1 WHERE id = 2").execute(&mut *inner).await);
    well(inner.commit().await);
    same(well(stock().fetch_one(&mut *outer).await), 51);
    same(well(stock().fetch_one(&db).await), 2);
    well(outer.commit().await);
    same(well(stock().fetch_one(&db).await), 51);
    let mut lost = well(db.begin().await);
    well(sqlx::query("DELETE FROM book").execute(&mut *lost).await);
    drop(lost);
    let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM book");
    same(well(count.fetch_one(&db).await), 200);
    let mut serial = well(db.begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY").await);
    refused("25006", sqlx::query("DELETE FROM book").execute(&mut *serial).await);
    well(serial.rollback().await);
    // Of two that change one row from one snapshot the second is to try again.
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    let (mut one, mut two) = (well(db.begin_with(begin).await), well(db.begin_with(begin).await));
    well(stock().fetch_one(&mut *two).await);
    well(sqlx::query("UPDATE book SET stock = 60 WHERE id = 2").execute(&mut *one).await);
    well(one.commit().await);
    let late = sqlx::query("UPDATE book SET stock = 70 WHERE id = 2").execute(&mut *two).await;
    refused("40001", late);
    well(two.rollback().await);
    same(well(stock().fetch_one(&db).await), 60);
}

async fn refusals() {
    let db = pool().await;
    let twice = sqlx::query("INSERT INTO book (title) VALUES ('book 1')").execute(&db).await;
    let told = refused("23505", twice).into_database_error().unwrap();
    note(told.is_unique_violation(), || format!("{told:?}"));
    same((told.constraint(), told.table()), (Some("book_title_key"), Some("book")));
    let lost = sqlx::query("INSERT INTO review VALUES (123456, 'x')").execute(&db).await;
    let told = refused("23503", lost).into_database_error().unwrap();
    note(told.is_foreign_key_violation(), || format!("{told:?}"));
    for (state, text) in [
        ("42601", "SELEC"),
        ("42P01", "SELECT * FROM nothing"),
        ("42703", "SELECT nothing FROM book"),
        ("22P02", "SELECT 'x'::int"),
        ("23502", "INSERT INTO book (title) VALUES (NULL)"),
    ] {
        refused(state, sqlx::query(text).execute(&db).await);
    }
    refused("22012", sqlx::query("SELECT 1 / $1").bind(0).execute(&db).await);
    let wrong = sqlx::query_scalar::<_, i32>("SELECT 'x'").fetch_one(&db).await;
    note(matches!(wrong, Err(sqlx::Error::ColumnDecode { .. })), || format!("{wrong:?}"));
    let none = sqlx::query("SELECT 1 WHERE false").fetch_one(&db).await;
    note(matches!(none, Err(sqlx::Error::RowNotFound)), || "a row of none".to_owned());
    let elsewhere = PgConnection::connect_with(&options().database("nothing_of_this_name")).await;
    refused("3D000", elsewhere);
    let slow = options().options([("statement_timeout", "100ms")]);
    let mut slow = well(PgConnection::connect_with(&slow).await);
    refused("57014", sqlx::query("SELECT pg_sleep(20)").execute(&mut slow).await);
    well(slow.ping().await);
}

async fn copying() {
    let db = pool().await;
    let mut copy = well(db.copy_in_raw("COPY review (book, words) FROM STDIN (FORMAT csv)").await);
    for n in 1..=100 {
        well(copy.send(format!("{n},\"good, {n}\"\n").into_bytes()).await);
    }
    same(well(copy.finish().await), 100);
    // A copy that is given up, or wrong, brings nothing.
    let mut copy = well(db.copy_in_raw("COPY review (book, words) FROM STDIN").await);
    well(copy.send(&b"1\tlost\n"[..]).await);
    well(copy.abort("no more").await);
    let mut copy = well(db.copy_in_raw("COPY review (book, words) FROM STDIN").await);
    well(copy.send(&b"1\tlost\nx\ty\n"[..]).await);
    refused("22P02", copy.finish().await);
    let out = "COPY (SELECT words FROM review ORDER BY book LIMIT 1) TO STDOUT";
    let pieces: Vec<_> = well(well(db.copy_out_raw(out).await).try_collect().await);
    same(pieces.concat(), b"good, 1\n");
    let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM review");
    same(well(count.fetch_one(&db).await), 100);
}

async fn messages() {
    let db = pool().await;
    let mut listener = well(PgListener::connect_with(&db).await);
    well(listener.listen_all(["bell", "door"]).await);
    well(sqlx::query("SELECT pg_notify('door', 'knock')").execute(&db).await);
    well(sqlx::query("NOTIFY bell").execute(&db).await);
    let patience = Duration::from_secs(5);
    for wanted in [("door", "knock"), ("bell", "")] {
        let told = well(well(tokio::time::timeout(patience, listener.recv()).await));
        same((told.channel(), told.payload()), wanted);
    }
    well(listener.unlisten("door").await);
    well(sqlx::raw_sql("NOTIFY door, 'again'; NOTIFY bell, 'last'").execute(&db).await);
    let told = well(well(tokio::time::timeout(patience, listener.recv()).await));
    same((told.channel(), told.payload()), ("bell", "last"));
}

async fn the_past() {
    if !keeps_the_past() {
        return;
    }
    let db = pool().await;
    let then = sqlx::query_scalar("SELECT max(version) FROM commits");
    let then: i64 = well(then.fetch_one(&db).await);
    well(sqlx::query("DELETE FROM review").execute(&db).await);
    let count = "SELECT count(*) FROM review FOR SYSTEM_VERSION AS OF $1";
    let count = sqlx::query_scalar::<_, i64>(count).bind(then);
    same(well(count.fetch_one(&db).await), 100);
}

fn main() {
    clients::parts! { "sqlx",
        migrations values statements work transactions refusals copying messages the_past
    }
}
