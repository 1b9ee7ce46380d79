//! A server that speaks PostgreSQL's protocol, asked by the driver `postgres`.

use std::net::SocketAddr;
use std::time::Instant;

use postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::Result;

/// Opens a connection over TCP.
pub fn connect(address: SocketAddr) -> Result<Client> {
    Ok(Config::new()
        .host(&address.ip().to_string())
        .port(address.port())
        .user("postgres")
        .dbname("postgres")
        .connect(NoTls)?)
}

/// The rows of an answer: the texts of their values, `None` for NULL.
pub type Answer = Vec<Vec<Option<String>>>;

/// Returns the rows of a statement, each value as text; `None` for NULL.
pub fn answer(client: &mut Client, sql: &str) -> Result<Answer> {
    let mut rows = Vec::new();
    for message in client.simple_query(sql)? {
        if let SimpleQueryMessage::Row(row) = message {
            rows.push((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect());
        }
    }
    Ok(rows)
}

/// Runs a statement and returns how many milliseconds it took.
pub fn timed_ms(client: &mut Client, sql: &str) -> Result<f64> {
    let start = Instant::now();
    client.simple_query(sql)?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
