//! sqlx: migrations, a pool, bound values, nested transactions, built queries, COPY and a listener.

use std::path::Path;
use std::time::Duration;

use clients::{keeps_the_past, note, place, same, well};
use futures_util::TryStreamExt;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolCopyExt, PgPoolOptions};
use sqlx::types::Json;
use sqlx::{Acquire, Connection, Executor, Postgres, QueryBuilder, Row, Statement, TypeInfo};

async fn pool() -> PgPool {
    let options = PgConnectOptions::new()
        .host(&place("PGHOST"))
        .port(place("PGPORT").parse().unwrap())
        .username(&place("PGUSER"))
        .database(&place("PGDATABASE"));
    well(PgPoolOptions::new().max_connections(4).connect_with(options).await)
}

/// The server refused with this code.
#[track_caller]
fn refused<T>(state: &str, result: Result<T, sqlx::Error>) -> sqlx::Error {
    let error = result.err().expect("it is refused");
    let code = error.as_database_error().and_then(|told| told.code()).map(|code| code.into_owned());
    note(code.as_deref() == Some(state), || format!("{state}: {error:?}"));
    error
}

async fn migrations() {
    let db = pool().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let migrator = well(Migrator::new(folder).await);
    well(migrator.run(&db).await);
    // Once is enough.
    well(migrator.run(&db).await);
    let done = well(sqlx::query("SELECT version, success FROM _sqlx_migrations ORDER BY version").fetch_all(&db).await);
    let done: Vec<(i64, bool)> = done.iter().map(|row| (row.get(0), row.get(1))).collect();
    same(done, [(1, true), (2, true)]);
    well(migrator.undo(&db, 1).await);
    refused("42703", sqlx::query("SELECT stock FROM book").execute(&db).await);
    well(migrator.run(&db).await);
    well(sqlx::query("SELECT stock FROM book").execute(&db).await);
}

async fn values() {
    let db = pool().await;
    macro_rules! there_and_back {
        ($($name:literal $ty:ty = $value:expr;)*) => {
            $(
                let value: $ty = $value;
                let query = sqlx::query_scalar::<_, $ty>(concat!("SELECT $1::", $name));
                same(well(query.bind(value.clone()).fetch_one(&db).await), value);
            )*
        };
    }
    there_and_back! {
        "bool" bool = true; "int2" i16 = -5; "int4" i32 = 1 << 30; "int8" i64 = i64::MIN;
        "float4" f32 = 1.5; "float8" f64 = 1e300; "text" String = "häß 😀".into();
        "bytea" Vec<u8> = vec![0, 255]; "int4[]" Vec<i32> = vec![1, -2]; "text[]" Vec<String> = vec!["a,b".into()];
        "int8" Option<i64> = None; "varchar(3)" String = "abc".into(); "bool[]" Vec<bool> = vec![true];
        "float8[]" Vec<f64> = vec![]; "int8[]" Vec<Option<i64>> = vec![Some(1), None];
    }
    let json = sqlx::query_scalar::<_, Json<serde_json::Value>>("SELECT $1::jsonb");
    let value = serde_json::json!({"a": [1, null, "x"]});
    same(well(json.bind(Json(&value)).fetch_one(&db).await).0, value);
    let statement = well((&db).prepare("SELECT id, title, price FROM book WHERE id = $1").await);
    let names: Vec<&str> = statement.columns().iter().map(|column| sqlx::Column::type_info(column).name()).collect();
    same(names, ["INT8", "TEXT", "NUMERIC"]);
}

async fn work() {
    let db = pool().await;
    let mut builder = QueryBuilder::<Postgres>::new("INSERT INTO book (title, stock, about) ");
    builder.push_values(1..=200_i32, |mut row, n| {
        row.push_bind(format!("book {n}")).push_bind(n % 7).push_bind(Json(serde_json::json!({"n": n})));
    });
    same(well(builder.build().execute(&db).await).rows_affected(), 200);
    let (count, sum): (i64, i64) =
        well(sqlx::query_as("SELECT count(*), sum(stock)::int8 FROM book").fetch_one(&db).await);
    same((count, sum), (200, (1..=200).map(|n| n % 7).sum::<i64>()));
    let mut rows = sqlx::query("SELECT id FROM book WHERE stock > $1 ORDER BY id").bind(4).fetch(&db);
    let mut ids = Vec::new();
    while let Some(row) = well(rows.try_next().await) {
        ids.push(row.get::<i64, _>(0));
    }
    drop(rows);
    same(ids.len(), (1..=200).filter(|n| n % 7 > 4).count());
    let mut some = QueryBuilder::<Postgres>::new("SELECT count(*) FROM book WHERE id IN (");
    let mut list = some.separated(", ");
    for id in [1_i64, 2, 3, 99_999] {
        list.push_bind(id);
    }
    some.push(")");
    same(well(some.build_query_scalar::<i64>().fetch_one(&db).await), 3);
    let found = sqlx::query_scalar::<_, i64>("SELECT id FROM book WHERE title = ANY ($1) ORDER BY id");
    same(well(found.bind(vec!["book 4", "book 2"]).fetch_all(&db).await), [2, 4]);
    let upsert = "INSERT INTO book (id, title, stock) OVERRIDING SYSTEM VALUE VALUES ($1, $2, 1)
                  ON CONFLICT (id) DO UPDATE SET stock = book.stock + excluded.stock RETURNING stock";
    same(well(sqlx::query_scalar::<_, i32>(upsert).bind(7_i64).bind("x").fetch_one(&db).await), 1);
    same(well(sqlx::query("SELECT 1 WHERE false").fetch_optional(&db).await).is_none(), true);
    well(sqlx::raw_sql("CREATE TEMP TABLE raw (x int); INSERT INTO raw VALUES (1); DROP TABLE raw").execute(&db).await);
    let updates = (0..20).map(|_| sqlx::query("UPDATE book SET stock = stock + 1 WHERE id = 1").execute(&db));
    for done in futures_util::future::join_all(updates).await {
        same(well(done).rows_affected(), 1);
    }
    same(well(sqlx::query_scalar::<_, i32>("SELECT stock FROM book WHERE id = 1").fetch_one(&db).await), 21);
}

async fn transactions() {
    let db = pool().await;
    let stock = || sqlx::query_scalar::<_, i32>("SELECT stock FROM book WHERE id = 2");
    let mut outer = well(db.begin().await);
    well(sqlx::query("UPDATE book SET stock = 50 WHERE id = 2").execute(&mut *outer).await);
    let mut inner = well(outer.begin().await);
    let error = refused("23514", sqlx::query("UPDATE book SET stock = -1 WHERE id = 2").execute(&mut *inner).await);
    note(error.as_database_error().is_some_and(|told| told.is_check_violation()), || "its kind".into());
    well(inner.rollback().await);
    same(well(stock().fetch_one(&mut *outer).await), 50);
    same(well(stock().fetch_one(&db).await), 2);
    well(outer.commit().await);
    same(well(stock().fetch_one(&db).await), 50);
    let mut lost = well(db.begin().await);
    well(sqlx::query("DELETE FROM book").execute(&mut *lost).await);
    drop(lost);
    same(well(sqlx::query_scalar::<_, i64>("SELECT count(*) FROM book").fetch_one(&db).await), 200);
    let mut serial = well(db.begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY").await);
    refused("25006", sqlx::query("DELETE FROM book").execute(&mut *serial).await);
    well(serial.rollback().await);
}

async fn refusals() {
    let db = pool().await;
    let error = refused("23505", sqlx::query("INSERT INTO book (title) VALUES ('book 1')").execute(&db).await);
    let told = error.into_database_error().unwrap();
    note(told.is_unique_violation(), || format!("{told:?}"));
    same((told.constraint(), told.table()), (Some("book_title_key"), Some("book")));
    let error = refused("23503", sqlx::query("INSERT INTO review VALUES (123456, 'x')").execute(&db).await);
    note(error.as_database_error().is_some_and(|told| told.is_foreign_key_violation()), || "its kind".into());
    refused("42601", sqlx::query("SELEC").execute(&db).await);
    refused("42P01", sqlx::query("SELECT * FROM nothing").execute(&db).await);
    refused("22012", sqlx::query("SELECT 1 / $1").bind(0).execute(&db).await);
    note(sqlx::query_scalar::<_, i32>("SELECT 'x'").fetch_one(&db).await.is_err(), || "a wrong type".into());
}

async fn copying_and_messages() {
    let db = pool().await;
    let mut copy = well(db.copy_in_raw("COPY review (book, words) FROM STDIN (FORMAT csv)").await);
    for n in 1..=100 {
        well(copy.send(format!("{n},\"good, {n}\"\n").into_bytes()).await);
    }
    same(well(copy.finish().await), 100);
    let copy = well(db.copy_in_raw("COPY review (book, words) FROM STDIN").await);
    well(copy.abort("no more").await);
    let out = well(db.copy_out_raw("COPY (SELECT words FROM review ORDER BY book LIMIT 1) TO STDOUT").await);
    let pieces: Vec<_> = well(out.try_collect().await);
    same(pieces.concat(), b"good, 1\n");
    let mut listener = well(PgListener::connect_with(&db).await);
    well(listener.listen_all(["bell", "door"]).await);
    well(sqlx::query("SELECT pg_notify('door', 'knock')").execute(&db).await);
    let told = well(well(tokio::time::timeout(Duration::from_secs(5), listener.recv()).await));
    same((told.channel(), told.payload()), ("door", "knock"));
    let mut one = well(db.acquire().await);
    well(one.ping().await);
}

async fn the_past() {
    if !keeps_the_past() {
        return;
    }
    let db = pool().await;
    let then: i64 = well(sqlx::query_scalar("SELECT max(version) FROM commits").fetch_one(&db).await);
    well(sqlx::query("DELETE FROM review").execute(&db).await);
    let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM review FOR SYSTEM_VERSION AS OF $1");
    same(well(count.bind(then).fetch_one(&db).await), 100);
}

fn main() {
    clients::parts! { "sqlx 0.8", migrations values work transactions refusals copying_and_messages the_past }
}
