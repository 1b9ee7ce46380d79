//! A client that many programs use: tokio-postgres.

use std::future::Future;

use server::Handle;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::world::{options, start};

/// Runs what needs a runtime, with a client of the server.
fn with_client<F: Future<Output = ()>>(server: &Handle, work: impl FnOnce(Client) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = server.addresses()[0];
    runtime.block_on(async {
        let config = format!("host={} port={} user=postgres", address.ip(), address.port());
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        let driving = tokio::spawn(connection);
        work(client).await;
        driving.await.unwrap().unwrap();
    });
}

/// Values go there and back in the forms that a driver chooses.
#[test]
fn values() {
    let server = start(options());
    with_client(&server, |client| async move {
        let row = client
            .query_one(
                "SELECT $1::int4 + 1, $2::text || '!', $3::bool, $4::float8 * 2, $5::int8, \
                 $6::bytea, NULL::text",
                &[&41, &"abc", &true, &1.25_f64, &(1_i64 << 40), &&b"\0\xff"[..]],
            )
            .await
            .unwrap();
        assert_eq!(row.get::<_, i32>(0), 42);
        assert_eq!(row.get::<_, &str>(1), "abc!");
        assert!(row.get::<_, bool>(2));
        assert_eq!(row.get::<_, f64>(3), 2.5);
        assert_eq!(row.get::<_, i64>(4), 1 << 40);
        assert_eq!(row.get::<_, &[u8]>(5), b"\0\xff");
        assert_eq!(row.get::<_, Option<&str>>(6), None);

        let statement = client.prepare("SELECT $1 + 1::int8 AS sum").await.unwrap();
        assert_eq!(statement.params(), [Type::INT8]);
        assert_eq!(statement.columns()[0].name(), "sum");
        assert_eq!(statement.columns()[0].type_(), &Type::INT8);
        let sums = (0..50_i64).map(|n| {
            let (client, statement) = (&client, &statement);
            async move { client.query_one(statement, &[&n]).await.unwrap().get::<_, i64>(0) }
        });
        for (n, sum) in sums.enumerate() {
            assert_eq!(sum.await, n as i64 + 1);
        }
    });
}

/// Transactions, and portals that are read piece by piece.
#[test]
fn transactions_and_portals() {
    let server = start(options());
    with_client(&server, |mut client| async move {
        let transaction = client.transaction().await.unwrap();
        let portal = transaction.bind("SELECT g FROM generate_series(1, 5) g", &[]).await.unwrap();
        let mut seen = Vec::new();
        loop {
            let rows = transaction.query_portal(&portal, 2).await.unwrap();
            if rows.is_empty() {
                break;
            }
            seen.push(rows.iter().map(|row| row.get::<_, i32>(0)).collect::<Vec<_>>());
        }
        assert_eq!(seen, [vec![1, 2], vec![3, 4], vec![5]]);
        let error = transaction.query_one("SELECT 1/0", &[]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "22012");
        let error = transaction.query_one("SELECT 1", &[]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "25P02");
        transaction.rollback().await.unwrap();

        let messages = client.simple_query("SELECT 1 AS a; SELECT 'b' AS b").await.unwrap();
        let rows: Vec<&str> = messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            })
            .collect();
        assert_eq!(rows, ["1", "b"]);
    });
}

/// A driver's token cancels what it runs.
#[test]
fn cancelling() {
    let server = start(options());
    with_client(&server, |client| async move {
        let token = client.cancel_token();
        let cancelling = tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            token.cancel_query(NoTls).await.unwrap();
        });
        let endless = "SELECT count(*) FROM generate_series(1, 1000000000000)";
        let error = client.query(endless, &[]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "57014");
        cancelling.await.unwrap();
        assert_eq!(client.query_one("SELECT 7", &[]).await.unwrap().get::<_, i32>(0), 7);
    });
}
