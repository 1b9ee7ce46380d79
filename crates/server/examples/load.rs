//! Load: `SELECT 1` from 1, 4 and 32 connections, against the floor, which is a server that reads a
//! message and writes a fixed answer on the same runtime.
//!
//! ```sh
//! cargo run --release -p server --example load -- [SECONDS] [HOST:PORT ...]
//! ```
//! Every other server whose address is given (PostgreSQL itself, as user `postgres`) is measured in
//! the same rounds: figures of one run can be compared, those of different runs hardly.
//!
//! ```text
//!   load: a thread for each connection    ──>  ours       core 0, core 1
//!   send Query, wait for ReadyForQuery    ──>  floor      the same number of threads
//! ```

#[path = "serve/open.rs"]
mod open;

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use server::{Options, Server};
use vfs::{Env, SimVfs};

const QUERY: &[u8] = b"Q\0\0\0\x0dSELECT 1\0";
/// PostgreSQL's answer.
const ANSWER: &[u8] =
    b"T\0\0\0\x21\0\x01?column?\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
                        D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().map_or(Ok(2.0), |text| text.parse())?;
    let cores = std::thread::available_parallelism()?.get();
    let env = Env { clock: Env::os().clock, ..Env::sim(&SimVfs::new(1), 1) };
    let instance = open::instance(&env, Path::new("/db"))?;
    let options = Options { listen: vec![([127, 0, 0, 1], 0).into()], ..Options::default() };
    let handle = Server::start(instance, options)?;
    let mut servers = vec![
        ("floor".to_owned(), floor(cores)?, false),
        ("anywhen".to_owned(), handle.addresses()[0], true),
    ];
    for address in arguments {
        servers.push((address.clone(), address.parse()?, true));
    }
    println!(
        "{:>12} {:>6} {:>10} {:>10} {:>12}",
        "server", "conns", "p50 us", "p99 us", "per second"
    );
    for connections in [1, 4, 32] {
        let mut rounds = vec![Vec::new(); servers.len()];
        for _ in 0..ROUNDS {
            for (at, (_, address, greets)) in servers.iter().enumerate() {
                rounds[at].push(round(*address, *greets, connections, seconds)?);
            }
        }
        for ((name, ..), mut rounds) in servers.iter().zip(rounds) {
            rounds.sort_by(|left, right| left.per_second.total_cmp(&right.per_second));
            let Round { p50_us, p99_us, per_second } = rounds[ROUNDS / 2];
            println!(
                "{name:>12} {connections:>6} {p50_us:>10.1} {p99_us:>10.1} {per_second:>12.0}"
            );
        }
    }
    handle.shutdown();
    Ok(())
}

/// The result of one round.
#[derive(Clone, Copy)]
struct Round {
    p50_us: f64,
    p99_us: f64,
    per_second: f64,
}

/// Asks from so many connections for so long.
fn round(
    address: SocketAddr,
    greets: bool,
    connections: usize,
    seconds: f64,
) -> Result<Round, Box<dyn Error>> {
    let mut streams = Vec::new();
    for _ in 0..connections {
        streams.push(connect(address, greets)?);
    }
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let asking: Vec<_> =
            streams.iter_mut().map(|stream| scope.spawn(|| ask(stream, &stop))).collect();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        asking.into_iter().flat_map(|thread| thread.join().expect("it asks")).collect()
    });
    let took = start.elapsed().as_secs_f64();
    times.sort();
    let at = |part: f64| times[(times.len() as f64 * part) as usize].as_secs_f64() * 1e6;
    Ok(Round { p50_us: at(0.5), p99_us: at(0.99), per_second: times.len() as f64 / took })
}

/// Asks until told to stop; how long each answer took.
fn ask(stream: &mut TcpStream, stop: &AtomicBool) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut answer = [0; 4_096];
    while !stop.load(Ordering::Relaxed) {
        let start = Instant::now();
        stream.write_all(QUERY).expect("the server takes a query");
        let mut length = 0;
        while !answer[..length].ends_with(b"Z\0\0\0\x05I") {
            length += stream.read(&mut answer[length..]).expect("the server answers");
        }
        times.push(start.elapsed());
    }
    times
}

fn connect(address: SocketAddr, greets: bool) -> Result<TcpStream, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    if greets {
        stream.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0")?;
        let (mut answer, mut length) = ([0; 4_096], 0);
        while !answer[..length].ends_with(b"Z\0\0\0\x05I") {
            match stream.read(&mut answer[length..])? {
                0 => return Err("the server refuses".into()),
                count => length += count,
            }
        }
    }
    Ok(stream)
}

/// Serves fixed answers on so many threads.
fn floor(threads: usize) -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    for _ in 0..threads {
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_io().build().expect("it runs");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("it listens");
                loop {
                    let (stream, _) = listener.accept().await.expect("somebody comes");
                    stream.set_nodelay(true).expect("a socket can be set up");
                    tokio::spawn(answer(stream));
                }
            });
        });
    }
    Ok(address)
}

async fn answer(stream: tokio::net::TcpStream) {
    let mut question = [0; 1_024];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut question) {
            Ok(0) => return,
            Ok(_) => {
                if stream.try_write(ANSWER).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
