//! tokio-postgres: a workshop, through prepared and pipelined statements, portals, COPY both ways,
//! messages, cancelling and nested transactions.

use bytes::Bytes;
use clients::{keeps_the_past, note, place, same, well};
use futures_util::future::try_join_all;
use futures_util::{SinkExt, StreamExt, TryStreamExt, pin_mut, stream};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::{Json, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Error, IsolationLevel, NoTls, SimpleQueryMessage};

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

/// The server refused with this code; its error.
#[track_caller]
fn refused<T>(state: &str, result: Result<T, Error>) -> Error {
    let error = result.err().expect("it is refused");
    note(error.code().is_some_and(|code| code.code() == state), || format!("{state}: {error:?}"));
    error
}

async fn tables() {
    let db = connect().await;
    well(
        db.batch_execute(
            "CREATE TABLE tool (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE,
                 price numeric(8, 2) CHECK (price >= 0), weight float8, data jsonb, tags text[]);
             CREATE TABLE loan (tool int NOT NULL REFERENCES tool, who text, day int)",
        )
        .await,
    );
}

async fn values() {
    let db = connect().await;
    macro_rules! there_and_back {
        ($($name:literal $value:expr;)*) => {
            $(
                let value = $value;
                let row = well(db.query_one(concat!("SELECT $1::", $name), &[&value]).await);
                let mut got = value.clone();
                got.clone_from(&row.get(0));
                same(got, value);
            )*
        };
    }
    there_and_back! {
        "bool" true; "int2" -5_i16; "int4" 1_i32 << 30; "int8" i64::MIN; "oid" u32::MAX;
        "float4" 1.5_f32; "float8" 1e300_f64; "text" "häß 😀".to_owned(); "varchar" String::new();
        "bytea" vec![0_u8, 255]; "int4[]" vec![1_i32, -2]; "text[]" vec![Some("a".to_owned()), None];
        "float8[]" vec![0.5_f64]; "int8" None::<i64>; "jsonb" serde_json::json!({"a": [1, null]});
        "json" serde_json::json!([true]); "\"char\"" 65_i8; "bool[]" vec![true, false];
    }
    let statement = well(db.prepare("SELECT $1 + 1, $2 || 'x', now(), NULL::uuid AS id").await);
    same(statement.params(), [Type::INT4, Type::TEXT]);
    let types: Vec<&Type> = statement.columns().iter().map(|column| column.type_()).collect();
    same(types, [&Type::INT4, &Type::TEXT, &Type::TIMESTAMPTZ, &Type::UUID]);
    same(statement.columns()[3].name(), "id");
    let typed = well(db.prepare_typed("SELECT $1", &[Type::INT8]).await);
    same(well(db.query_one(&typed, &[&7_i64]).await).get::<_, i64>(0), 7);
}

async fn work() {
    let db = connect().await;
    let insert = well(
        db.prepare("INSERT INTO tool (name, weight, data, tags) VALUES ($1, $2, $3, $4) RETURNING id").await,
    );
    // All are sent before the first answer is read.
    let numbers: Vec<i32> = (1..=100).collect();
    let ids = well(
        try_join_all(numbers.iter().map(|n| {
            let (db, insert) = (&db, &insert);
            async move {
                let data = Json(serde_json::json!({"n": n}));
                let tags = vec![format!("t{}", n % 3)];
                let row = db
                    .query_one(insert, &[&format!("tool {n}"), &f64::from(*n), &data, &tags])
                    .await?;
                Ok::<i32, Error>(row.get(0))
            }
        }))
        .await,
    );
    same(&ids, &numbers);
    same(well(db.execute("UPDATE tool SET price = weight WHERE id <= $1", &[&50]).await), 50);
    let rows = well(
        db.query("SELECT tags[1], count(*), sum(price)::float8 FROM tool GROUP BY 1 ORDER BY 1", &[])
            .await,
    );
    let got: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    same(got, [("t0".to_owned(), 33), ("t1".to_owned(), 34), ("t2".to_owned(), 33)]);
    same(rows.iter().map(|row| row.get::<_, f64>(2)).sum::<f64>(), 1275.0);
    let wanted = vec!["tool 3", "tool 5"];
    let found = well(db.query("SELECT id FROM tool WHERE name = ANY ($1) ORDER BY id", &[&wanted]).await);
    same(found.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [3, 5]);
    same(well(db.query_opt("SELECT 1 FROM tool WHERE id = $1", &[&9999]).await).is_none(), true);
    let streamed = well(db.query_raw("SELECT id FROM tool ORDER BY id", Vec::<i32>::new()).await);
    pin_mut!(streamed);
    let mut sum = 0;
    while let Some(row) = well(streamed.try_next().await) {
        sum += row.get::<_, i32>(0);
    }
    same(sum, 5050);
    let messages = well(db.simple_query("SELECT 1 AS one; SELECT name FROM tool WHERE id = 2").await);
    let rows: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        })
        .collect();
    same(rows, ["1", "tool 2"]);
}

async fn transactions() {
    let (mut db, other) = (connect().await, connect().await);
    let price = "SELECT price::float8 FROM tool WHERE id = 1";
    let mut outer = well(db.transaction().await);
    well(outer.execute("UPDATE tool SET price = 10 WHERE id = 1", &[]).await);
    let inner = well(outer.savepoint("inner").await);
    refused("23514", inner.execute("UPDATE tool SET price = -1 WHERE id = 1", &[]).await);
    well(inner.rollback().await);
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
    same(well(other.query_one(price, &[]).await).get::<_, f64>(0), 10.0);
    let builder = db.build_transaction().isolation_level(IsolationLevel::Serializable).read_only(true);
    let reading = well(builder.start().await);
    refused("25006", reading.execute("DELETE FROM loan", &[]).await);
    well(reading.rollback().await);
    let repeatable = db.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let repeatable = well(repeatable.start().await);
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
    let out = well(db.copy_out("COPY (SELECT tool, day FROM loan WHERE who = 'bob') TO STDOUT BINARY").await);
    let rows = BinaryCopyOutStream::new(out, &[Type::INT4, Type::INT4]);
    let rows: Vec<_> = well(rows.try_collect::<Vec<_>>().await);
    same(rows.iter().map(|row| row.get::<i32>(1)).sum::<i32>(), 44_850);
    let out = well(db.copy_out("COPY (SELECT 1, 'a,b') TO STDOUT CSV").await);
    pin_mut!(out);
    same(well(out.next().await.expect("a piece")).as_ref(), b"1,\"a,b\"\n");
    drop(out);
    let sink = well(db.copy_in::<_, Bytes>("COPY loan FROM STDIN").await);
    drop(sink);
    // One that is dropped is none.
    same(well(db.query_one("SELECT count(*) FROM loan", &[]).await).get::<_, i64>(0), 800);
}

async fn refusals() {
    let db = connect().await;
    let error = refused("23505", db.execute("INSERT INTO tool (name) VALUES ('tool 1')", &[]).await);
    let told = error.as_db_error().unwrap();
    same(told.constraint(), Some("tool_name_key"));
    same(told.detail(), Some("Key (name)=(tool 1) already exists."));
    for (state, text) in [
        ("42601", "SELEC"),
        ("42P01", "SELECT * FROM nothing"),
        ("42703", "SELECT nothing FROM tool"),
        ("22012", "SELECT 1 / 0"),
        ("22P02", "SELECT 'x'::int"),
        ("23503", "INSERT INTO loan (tool) VALUES (12345)"),
        ("23502", "INSERT INTO tool (name) VALUES (NULL)"),
    ] {
        refused(state, db.query(text, &[]).await);
    }
    note(db.query("SELECT $1::int", &[&"x"]).await.is_err(), || "a wrong type is taken".to_owned());
    let token = db.cancel_token();
    let cancelling = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(150)).await;
        token.cancel_query(NoTls).await
    });
    refused("57014", db.query("SELECT pg_sleep(20)", &[]).await);
    well(well(cancelling.await));
    same(well(db.query_one("SELECT 7", &[]).await).get::<_, i32>(0), 7);
}

async fn messages() {
    let (client, mut connection) = well(config().connect(NoTls).await);
    let (heard, mut hearing) = tokio::sync::mpsc::unbounded_channel();
    let driving = stream::poll_fn(move |context| connection.poll_message(context));
    tokio::spawn(async move {
        pin_mut!(driving);
        while let Some(Ok(message)) = driving.next().await {
            if let AsyncMessage::Notification(told) = message {
                let _ = heard.send((told.channel().to_owned(), told.payload().to_owned()));
            }
        }
    });
    well(client.batch_execute("LISTEN bell").await);
    let other = connect().await;
    well(other.execute("SELECT pg_notify('bell', 'ding')", &[]).await);
    let patience = std::time::Duration::from_secs(5);
    let told = well(tokio::time::timeout(patience, hearing.recv()).await);
    same(told, Some(("bell".to_owned(), "ding".to_owned())));
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
    clients::parts! { "tokio-postgres 0.7", tables values work transactions copying refusals messages the_past }
}
