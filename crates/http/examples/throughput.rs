//! How fast a part of a document is read over HTTP, beside the same bytes out of memory.
//!
//! ```sh
//! cargo run --release -p anywhen-http --example throughput [seconds]
//! ```
//!
//! A document of about 1.7 MB is read with `maxLevel=4&maxChildren=50&withMetaData=nodeKeyAndChildCount`
//! by 1 to 32 clients that keep their connections, first from the server, then the very bytes of its
//! answer from a server that has nothing else; then from the server again, while a writer commits.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anywhen::Database;
use anywhen_http::{Options, Server};
use axum::Router;
use bytes::Bytes;

const PATH: &str = "/d/r?maxLevel=4&maxChildren=50&withMetaData=nodeKeyAndChildCount";

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3.0);
    let time = Duration::from_secs_f64(seconds);
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open_or_create(folder.path().join("db")).expect("opens");
    let documents = database.collection("d").expect("made");
    documents.put("r", document()).expect("put");
    documents.put("other", "{\"n\":0}").expect("put");
    let options = Options { listen: vec![([127, 0, 0, 1], 0).into()], ..Default::default() };
    let server = Server::start(database, options).expect("listens");
    let ours = server.addresses()[0];
    let bytes = answer(ours);
    println!("document {} bytes, answer {} bytes", document().len(), bytes.len());
    let memory = memory(bytes);
    println!("clients   from memory/s     document/s   share   while it commits/s");
    for clients in [1, 2, 4, 8, 16, 32] {
        let plain = load(memory, clients, time);
        let read = load(ours, clients, time);
        let stop = Arc::new(AtomicBool::new(false));
        let (told, writer) = (Arc::clone(&stop), documents.clone());
        let writer = std::thread::spawn(move || {
            let mut number = 0u64;
            while !told.load(Ordering::Relaxed) {
                number += 1;
                writer
                    .edit("r", |edit| edit.set("$.users[0].age", number.to_string()))
                    .expect("edits");
            }
        });
        let beside = load(ours, clients, time);
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("writes");
        let share = read / plain * 100.0;
        println!("{clients:>7}   {plain:>13.0}   {read:>12.0}   {share:>4.0}%   {beside:>13.0}");
    }
    server.shutdown();
}

/// About 1.7 MB.
fn document() -> String {
    let user = |n: u32| {
        format!(
            "{{\"id\":{n},\"name\":\"user number {n}\",\"mail\":\"user{n}@example.org\",\"age\":{},\
             \"tags\":[\"a{n}\",\"b{n}\",\"c\"],\"address\":{{\"city\":\"town {n}\",\"code\":\"{n:05}\"}}}}",
            n % 90
        )
    };
    let users: Vec<String> = (0..11_000).map(user).collect();
    format!("{{\"title\":\"users\",\"users\":[{}]}}", users.join(","))
}

/// A server of the same kind that answers everything with these bytes.
fn memory(bytes: Vec<u8>) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    let bytes = Bytes::from(bytes);
    let router: Router = Router::new().fallback(move || {
        let bytes = bytes.clone();
        async move { ([("content-type", "application/json")], bytes) }
    });
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("listens");
            loop {
                let (stream, _) = listener.accept().await.expect("accepts");
                stream.set_nodelay(true).expect("a socket");
                let service = hyper_util::service::TowerToHyperService::new(router.clone());
                tokio::spawn(async move {
                    let executor = hyper_util::rt::TokioExecutor::new();
                    let http = hyper_util::server::conn::auto::Builder::new(executor);
                    let stream = hyper_util::rt::TokioIo::new(stream);
                    // A client that goes away is no news.
                    let _ = http.serve_connection(stream, service).await;
                });
            }
        });
    });
    address
}

fn answer(address: SocketAddr) -> Vec<u8> {
    let mut stream = BufReader::new(TcpStream::connect(address).expect("connects"));
    ask(&mut stream)
}

/// Requests in a second, by so many clients.
fn load(address: SocketAddr, clients: usize, time: Duration) -> f64 {
    let count = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let count = Arc::clone(&count);
            std::thread::spawn(move || {
                let stream = TcpStream::connect(address).expect("connects");
                stream.set_nodelay(true).expect("a socket");
                let mut stream = BufReader::with_capacity(64 << 10, stream);
                while begun.elapsed() < time {
                    assert!(!ask(&mut stream).is_empty());
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("runs"));
    count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()
}

fn ask(stream: &mut BufReader<TcpStream>) -> Vec<u8> {
    let request = format!("GET {PATH} HTTP/1.1\r\nhost: here\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).expect("sends");
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        stream.read_line(&mut line).expect("reads");
        match line.trim_end().split_once(": ") {
            Some(("content-length", text)) => length = text.parse().expect("a length"),
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("reads");
    body
}
