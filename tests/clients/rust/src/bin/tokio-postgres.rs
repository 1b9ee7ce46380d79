//! tokio-postgres: a workshop, through prepared and pipelined statements, portals, COPY both ways,
//! messages, cancelling and nested transactions.

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use clients::{keeps_the_past, note, place, same, well};
use futures_util::future::try_join_all;
use futures_util::{SinkExt, StreamExt, TryStreamExt, pin_mut, stream};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::{FromSqlOwned, Json, Kind, ToSql, Type};
use tokio_postgres::{
    AsyncMessage, Client, Config, Error, IsolationLevel, NoTls, SimpleQueryMessage,
};
use uuid::Uuid;

fn config() -> Config {
    let mut config = Config::new();
    config.host(place("PGHOST")).port(place("PGPORT").parse().unwrap());
    config.user(place("PGUSER")).dbname(place("PGDATABASE")).application_name("workshop");
    config
}

async fn connect() -> Client {
    let (client, connection) = well(config().connect(NoTls).await);
    tokio::spawn(connection);
    client
}

/// Checks that the server refused with this code; gives its error.
#[track_caller]
fn refused<T>(state: &str, result: Result<T, Error>) -> Error {
    let error = result.err().unwrap_or_else(|| panic!("nothing was refused, wanted {state}"));
    note(error.code().is_some_and(|code| code.code() == state), || format!("{state}: {error:?}"));
    error
}

async fn tables() {
    let db = connect().await;
    well(
        db.batch_execute(
            "CREATE TYPE kind AS ENUM ('hand', 'power');
             CREATE DOMAIN weight AS float8 CHECK (VALUE > 0);
             CREATE TYPE size AS (width int, height int);
             CREATE TABLE tool (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                 name text NOT NULL UNIQUE, price numeric(8, 2) CHECK (price >= 0), weight float8,
                 data jsonb, tags text[], code uuid, bought date, seen timestamptz);
             CREATE TABLE loan (tool int NOT NULL REFERENCES tool, who text, day int)",
        )
        .await,
    );
}

/// A value comes back as it was sent, in binary.
async fn there_and_back<T>(db: &Client, name: &str, value: T)
where
    T: ToSql + Sync + FromSqlOwned + PartialEq + Debug,
{
    let row = well(db.query_one(&format!("SELECT $1::{name}"), &[&value]).await);
    same(well(row.try_get::<_, T>(0)), value);
}

async fn values() {
    let db = connect().await;
    there_and_back(&db, "bool", true).await;
    there_and_back(&db, "int2", -5_i16).await;
    there_and_back(&db, "int4", 1_i32 << 30).await;
    there_and_back(&db, "int8", i64::MIN).await;
    there_and_back(&db, "int8", None::<i64>).await;
    there_and_back(&db, "oid", u32::MAX).await;
    there_and_back(&db, "float4", 1.5_f32).await;
    there_and_back(&db, "float8", 1e300_f64).await;
    there_and_back(&db, "text", "häß 😀".to_owned()).await;
    there_and_back(&db, "varchar", String::new()).await;
    there_and_back(&db, "\"char\"", 65_i8).await;
    there_and_back(&db, "bytea", vec![0_u8, 255]).await;
    there_and_back(&db, "int4[]", vec![1_i32, -2]).await;
    there_and_back(&db, "text[]", vec![Some("a\"b".to_owned()), None]).await;
    there_and_back(&db, "float8[]", vec![0.5_f64]).await;
    there_and_back(&db, "bool[]", Vec::<bool>::new()).await;
    let json = serde_json::json!({"a": [1, null, "ü"], "b": 1.5});
    there_and_back(&db, "jsonb", json.clone()).await;
    there_and_back(&db, "json", json.clone()).await;
    there_and_back(&db, "jsonb[]", vec![json, serde_json::Value::Null]).await;
    let id = Uuid::from_u128(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
    there_and_back(&db, "uuid", id).await;
    there_and_back(&db, "uuid[]", vec![id, Uuid::nil()]).await;
    let day = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    let hour = NaiveTime::from_hms_micro_opt(23, 59, 58, 1).unwrap();
    there_and_back(&db, "date", day).await;
    there_and_back(&db, "time", hour).await;
    there_and_back::<NaiveDateTime>(&db, "timestamp", day.and_time(hour)).await;
    there_and_back::<DateTime<Utc>>(&db, "timestamptz", day.and_time(hour).and_utc()).await;
    there_and_back(&db, "date[]", vec![Some(day), None]).await;
    // The number of microseconds is the server's: what is read is what it computed.
    let row = well(
        db.query_one("SELECT $1::timestamptz + '1 day 2 us'", &[&day.and_time(hour).and_utc()])
            .await,
    );
    let later = day.succ_opt().unwrap().and_hms_micro_opt(23, 59, 58, 3).unwrap().and_utc();
    same(row.get::<_, DateTime<Utc>>(0), later);
}

async fn statements() {
    let db = connect().await;
    let statement = well(db.prepare("SELECT $1 + 1, $2 || 'x', now(), NULL::uuid AS id").await);
    same(statement.params(), [Type::INT4, Type::TEXT]);
    let types: Vec<&Type> = statement.columns().iter().map(|column| column.type_()).collect();
    same(types, [&Type::INT4, &Type::TEXT, &Type::TIMESTAMPTZ, &Type::UUID]);
    same(statement.columns()[3].name(), "id");
    let typed = well(db.prepare_typed("SELECT $1", &[Type::INT8]).await);
    same(well(db.query_one(&typed, &[&7_i64]).await).get::<_, i64>(0), 7);
    let rows = well(db.query_typed("SELECT $1 * 2", &[(&21_i32, Type::INT4)]).await);
    same(rows[0].get::<_, i32>(0), 42);
    // Types of our own: the driver asks the catalog what they are.
    let own = "SELECT 'hand'::kind, 1::weight, ROW(1, 2)::size, ARRAY['hand']::kind[]";
    let statement = well(db.prepare(own).await);
    let kinds: Vec<&Kind> =
        statement.columns().iter().map(|column| column.type_().kind()).collect();
    same(kinds[0], &Kind::Enum(vec!["hand".to_owned(), "power".to_owned()]));
    // A result tells the type below a domain.
    same(kinds[1], &Kind::Simple);
    let Kind::Composite(fields) = kinds[2] else { panic!("size is {:?}", kinds[2]) };
    let fields: Vec<(&str, &Type)> =
        fields.iter().map(|field| (field.name(), field.type_())).collect();
    same(fields, [("width", &Type::INT4), ("height", &Type::INT4)]);
    note(matches!(kinds[3], Kind::Array(of) if of.name() == "kind"), || format!("{:?}", kinds[3]));
    let parameter = well(db.prepare("SELECT $1::weight").await);
    let [weight] = parameter.params() else { panic!("{:?}", parameter.params()) };
    same((weight.name(), weight.kind()), ("weight", &Kind::Domain(Type::FLOAT8)));
    refused("23514", db.query("SELECT $1::float8::weight", &[&-1_f64]).await);
    let messages = well(db.simple_query("SELECT 1 AS one; SELECT NULL; SELECT 'b' AS b").await);
    let rows: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0)),
            _ => None,
        })
        .collect();
    same(rows, [Some("1"), None, Some("b")]);
}

async fn work() {
    let db = connect().await;
    let insert = "INSERT INTO tool (name, weight, data, tags, code, bought, seen)
                  VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id";
    let insert = well(db.prepare(insert).await);
    // All are sent before the first answer is read.
    let numbers: Vec<i32> = (1..=100).collect();
    let day = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
    let ids = well(
        try_join_all(numbers.iter().map(|n| {
            let (db, insert) = (&db, &insert);
            async move {
                let (name, tags) = (format!("tool {n}"), vec![format!("t{}", n % 3)]);
                let data = Json(serde_json::json!({"n": n}));
                let (code, bought) =
                    (Uuid::from_u128(*n as u128), day + chrono::Days::new(*n as u64));
                let seen = bought.and_hms_opt(12, 0, 0).unwrap().and_utc();
                let row = db
                    .query_one(
                        insert,
                        &[&name, &f64::from(*n), &data, &tags, &code, &bought, &seen],
                    )
                    .await?;
                Ok::<i32, Error>(row.get(0))
            }
        }))
        .await,
    );
    same(&ids, &numbers);
    // Of several that are on their way together one may fail, and the others do not.
    let divided =
        [1, 0, 2].map(|n| {
            let db = &db;
            async move {
                db.query_one("SELECT 10 / $1::int", &[&n]).await.map(|row| row.get::<_, i32>(0))
            }
        });
    let [one, none, two] = divided;
    let (one, none, two) = tokio::join!(one, none, two);
    same((well(one), well(two)), (10, 5));
    refused("22012", none);
    same(well(db.execute("UPDATE tool SET price = weight WHERE id <= $1", &[&50]).await), 50);
    let sums = "SELECT tags[1], count(*), sum(price)::float8 FROM tool GROUP BY 1 ORDER BY 1";
    let rows = well(db.query(sums, &[]).await);
    let got: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    same(got, [("t0".to_owned(), 33), ("t1".to_owned(), 34), ("t2".to_owned(), 33)]);
    same(rows.iter().map(|row| row.get::<_, f64>(2)).sum::<f64>(), 1275.0);
    let wanted = vec!["tool 3", "tool 5"];
    let found = "SELECT id FROM tool WHERE name = ANY ($1) ORDER BY id";
    let found = well(db.query(found, &[&wanted]).await);
    same(found.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [3, 5]);
    let by_day = "SELECT data->>'n' FROM tool WHERE bought = $1 AND code = $2";
    let row =
        well(db.query_one(by_day, &[&(day + chrono::Days::new(9)), &Uuid::from_u128(9)]).await);
    same(row.get::<_, &str>(0), "9");
    same(well(db.query_opt("SELECT 1 FROM tool WHERE id = $1", &[&9999]).await).is_none(), true);
    let streamed = well(db.query_raw("SELECT id FROM tool ORDER BY id", Vec::<i32>::new()).await);
    pin_mut!(streamed);
    let mut sum = 0;
    while let Some(row) = well(streamed.try_next().await) {
        sum += row.get::<_, i32>(0);
    }
    same(sum, 5050);
}

async fn transactions() {
    let (mut db, other) = (connect().await, connect().await);
    let price = "SELECT price::float8 FROM tool WHERE id = 1";
    let mut outer = well(db.transaction().await);
    well(outer.execute("UPDATE tool SET price = 10 WHERE id = 1", &[]).await);
    let inner = well(outer.savepoint("before").await);
    refused("23514", inner.execute("UPDATE tool SET price = -1 WHERE id = 1", &[]).await);
    refused("25P02", inner.query("SELECT 1", &[]).await);
    well(inner.rollback().await);
    let within = well(outer.transaction().await);
    well(within.execute("UPDATE tool SET price = price + 5 WHERE id = 1", &[]).await);
    well(within.commit().await);
    let portal = well(outer.bind("SELECT id FROM tool ORDER BY id", &[]).await);
    let mut sizes = Vec::new();
    loop {
        let rows = well(outer.query_portal(&portal, 40).await);
        if rows.is_empty() {
            break;
        }
        sizes.push(rows.len());
    }
    same(sizes, [40, 40, 20]);
    same(well(other.query_one(price, &[]).await).get::<_, f64>(0), 1.0);
    well(outer.commit().await);
    same(well(other.query_one(price, &[]).await).get::<_, f64>(0), 15.0);
    // A dropped transaction is rolled back.
    let lost = well(db.transaction().await);
    same(well(lost.execute("DELETE FROM tool", &[]).await), 100);
    drop(lost);
    same(well(db.query_one("SELECT count(*) FROM tool", &[]).await).get::<_, i64>(0), 100);
    let builder = db.build_transaction().isolation_level(IsolationLevel::Serializable);
    let reading = well(builder.read_only(true).deferrable(true).start().await);
    same(
        well(reading.query_one("SHOW transaction_isolation", &[]).await).get::<_, &str>(0),
        "serializable",
    );
    refused("25006", reading.execute("DELETE FROM loan", &[]).await);
    well(reading.rollback().await);
    let builder = db.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let repeatable = well(builder.start().await);
    well(repeatable.query_one(price, &[]).await);
    well(other.execute("UPDATE tool SET price = 11 WHERE id = 1", &[]).await);
    refused("40001", repeatable.execute("UPDATE tool SET price = 12 WHERE id = 1", &[]).await);
    drop(repeatable);
    same(well(db.query_one(price, &[]).await).get::<_, f64>(0), 11.0);
}

async fn copying() {
    let db = connect().await;
    let sink = well(db.copy_in("COPY loan (tool, who, day) FROM STDIN").await);
    pin_mut!(sink);
    let lines = (0..500).map(|n| Ok(Bytes::from(format!("{}\tann {n}\t{n}\n", 1 + n % 100))));
    well(sink.send_all(&mut stream::iter(lines)).await);
    same(well(sink.finish().await), 500);
    let sink = well(db.copy_in("COPY loan (tool, who, day) FROM STDIN BINARY").await);
    let writer = BinaryCopyInWriter::new(sink, &[Type::INT4, Type::TEXT, Type::INT4]);
    pin_mut!(writer);
    for n in 0..300_i32 {
        well(writer.as_mut().write(&[&(1 + n % 100), &"bob", &n]).await);
    }
    same(well(writer.finish().await), 300);
    let binary = "COPY (SELECT tool, day FROM loan WHERE who = 'bob') TO STDOUT BINARY";
    let rows = BinaryCopyOutStream::new(well(db.copy_out(binary).await), &[Type::INT4, Type::INT4]);
    let rows: Vec<_> = well(rows.try_collect::<Vec<_>>().await);
    same(rows.iter().map(|row| row.get::<i32>(1)).sum::<i32>(), 44_850);
    let text =
        well(db.copy_out("COPY (SELECT 1, 'a,b' UNION ALL SELECT 2, NULL) TO STDOUT CSV").await);
    let pieces: Vec<Bytes> = well(text.try_collect().await);
    same(pieces.concat(), b"1,\"a,b\"\n2,\n");
    // A copy that is dropped before its end has brought nothing.
    let sink = well(db.copy_in("COPY loan (tool, who) FROM STDIN").await);
    {
        pin_mut!(sink);
        well(sink.send(Bytes::from_static(b"1\teve\n")).await);
    }
    for (state, line) in [("22P02", "x\teve\n"), ("22P04", "1\n"), ("23503", "1234\teve\n")] {
        let sink = well(db.copy_in("COPY loan (tool, who) FROM STDIN").await);
        pin_mut!(sink);
        well(sink.send(Bytes::from(line)).await);
        refused(state, sink.finish().await);
    }
    let count = "SELECT count(*), count(*) FILTER (WHERE who = 'eve') FROM loan";
    let row = well(db.query_one(count, &[]).await);
    same((row.get::<_, i64>(0), row.get::<_, i64>(1)), (800, 0));
}

async fn refusals() {
    let db = connect().await;
    let twice = db.execute("INSERT INTO tool (name) VALUES ('tool 1')", &[]).await;
    let error = refused("23505", twice);
    let told = error.as_db_error().unwrap();
    same((told.table(), told.constraint()), (Some("tool"), Some("tool_name_key")));
    same(told.detail(), Some("Key (name)=(tool 1) already exists."));
    for (state, text) in [
        ("42601", "SELEC"),
        ("42P01", "SELECT * FROM nothing"),
        ("42703", "SELECT nothing FROM tool"),
        ("42883", "SELECT nothing(1)"),
        ("22012", "SELECT 1 / 0"),
        ("22P02", "SELECT 'x'::int"),
        ("22P02", "SELECT 'saw'::kind"),
        ("22003", "SELECT 2147483647 + 1"),
        ("23503", "INSERT INTO loan (tool) VALUES (12345)"),
        ("23502", "INSERT INTO tool (name) VALUES (NULL)"),
        ("428C9", "INSERT INTO tool (id, name) VALUES (1, 'x')"),
    ] {
        refused(state, db.query(text, &[]).await);
    }
    let error = refused("42703", db.query("SELECT nam FROM tool", &[]).await);
    let told = error.as_db_error().unwrap();
    same(told.hint(), Some("Perhaps you meant to reference the column \"tool.name\"."));
    note(db.query("SELECT $1::int", &[&"x"]).await.is_err(), || "a wrong type is taken".to_owned());
    let mut elsewhere = config();
    refused("3D000", elsewhere.dbname("nothing_of_this_name").connect(NoTls).await.map(|_| ()));
}

async fn cancelling() {
    let db = connect().await;
    let token = db.cancel_token();
    let cancel = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(150)).await;
        token.cancel_query(NoTls).await
    });
    refused("57014", db.query("SELECT pg_sleep(20)", &[]).await);
    well(well(cancel.await));
    well(db.batch_execute("SET statement_timeout = '100ms'").await);
    refused("57014", db.query("SELECT pg_sleep(20)", &[]).await);
    same(well(db.query_one("SELECT 7", &[]).await).get::<_, i32>(0), 7);
}

async fn messages() {
    let (client, mut connection) = well(config().connect(NoTls).await);
    let (heard, mut hearing) = tokio::sync::mpsc::unbounded_channel();
    let driving = stream::poll_fn(move |context| connection.poll_message(context));
    tokio::spawn(async move {
        pin_mut!(driving);
        while let Some(Ok(message)) = driving.next().await {
            let told = match message {
                AsyncMessage::Notification(told) => {
                    (told.channel().to_owned(), told.payload().to_owned())
                }
                AsyncMessage::Notice(told) => {
                    (told.severity().to_owned(), told.message().to_owned())
                }
                _ => continue,
            };
            let _ = heard.send(told);
        }
    });
    let mut next = async || {
        let told = well(tokio::time::timeout(Duration::from_secs(5), hearing.recv()).await);
        told.expect("the connection is there")
    };
    well(client.batch_execute("LISTEN bell").await);
    let mut other = connect().await;
    well(other.execute("SELECT pg_notify('bell', 'ding')", &[]).await);
    same(next().await, ("bell".to_owned(), "ding".to_owned()));
    // A notification of an uncommitted transaction is not sent.
    let lost = well(other.transaction().await);
    well(lost.batch_execute("NOTIFY bell, 'lost'").await);
    well(lost.rollback().await);
    well(client.batch_execute("NOTIFY bell, 'own'").await);
    same(next().await, ("bell".to_owned(), "own".to_owned()));
    well(client.batch_execute("DROP TABLE IF EXISTS nothing").await);
    let told = "table \"nothing\" does not exist, skipping";
    same(next().await, ("NOTICE".to_owned(), told.to_owned()));
}

async fn the_past() {
    if !keeps_the_past() {
        return;
    }
    let db = connect().await;
    let row = well(db.query_one("SELECT max(version) FROM commits", &[]).await);
    let then: i64 = row.get(0);
    same(well(db.execute("DELETE FROM loan WHERE who = 'bob'", &[]).await), 300);
    let count = "SELECT count(*) FROM loan FOR SYSTEM_VERSION AS OF $1";
    same(well(db.query_one(count, &[&then]).await).get::<_, i64>(0), 800);
}

fn main() {
    clients::parts! { "tokio-postgres",
        tables values statements work transactions copying refusals cancelling messages the_past
    }
}
