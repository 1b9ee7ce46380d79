//! `anywhen serve`: the database for clients that speak PostgreSQL's protocol.
//!
//! ```text
//!   defaults < --config FILE < environment and flags ──> server::Options ──> Handle ── until a signal
//! ```
//!
//! Log lines go to standard error, so that standard output has only what a script waits for: where
//! clients connect.

use std::fs;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use serde::Deserialize;
use server::{Limits, Options, Tls};
use tracing_subscriber::filter::LevelFilter;

use crate::args::{LogFormat, LogLevel, ServeArgs};
use crate::failure::{Failure, Outcome};
use crate::json_out::Object;
use crate::session::Session;

/// Where clients connect if nothing else is said: beside PostgreSQL's own port.
const LISTEN: ([u8; 4], u16) = ([127, 0, 0, 1], 5433);

/// The configuration file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Config {
    pg_listen: Option<Vec<SocketAddr>>,
    unix_socket_dir: Option<PathBuf>,
    hba: Option<PathBuf>,
    tls_certificate: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_required: bool,
    max_connections: Option<usize>,
    threads: Option<usize>,
    slow_statement_ms: Option<u64>,
}

pub(crate) fn serve(session: &mut Session, args: &ServeArgs) -> Outcome {
    let options = options(args)?;
    if args.check {
        return check(session, &options);
    }
    start_logging(args);
    let database = session.database_or_new()?;
    let instance = database.instance().map_err(|error| Failure::refused(error.to_string()))?;
    let handle = server::Server::start(instance, options)
        .map_err(|error| Failure::refused(format!("cannot listen: {error}")))?;
    announce(session, handle.addresses())?;

    let (told, wait) = mpsc::channel();
    ctrlc::set_handler(move || {
        // Where nobody waits any more the server is ending already.
        let _ = told.send(());
    })
    .map_err(|error| Failure::refused(format!("cannot wait for signals: {error}")))?;
    // An error would mean that nobody can tell any more, which is the end too.
    let _ = wait.recv();
    handle.shutdown();
    Ok(())
}

/// The options of the server: the file, and above it what the command line and the environment say.
fn options(args: &ServeArgs) -> Outcome<Options> {
    let config = match &args.config {
        None => Config::default(),
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
            toml::from_str(&text).map_err(|error| {
                Failure::refused(format!("{}: {error}", path.display()))
                    .hint("`anywhen help serve` lists what a configuration file can say")
            })?
        }
    };
    let listen = match (&args.pg_listen[..], config.pg_listen) {
        ([], None) => vec![LISTEN.into()],
        ([], Some(listen)) => listen,
        (listen, _) => listen.to_vec(),
    };
    let certificate = args.tls_certificate.clone().or(config.tls_certificate);
    let tls = match (certificate, args.tls_key.clone().or(config.tls_key)) {
        (None, None) => None,
        (Some(certificate), Some(key)) => {
            Some(Tls { certificate, key, is_required: args.tls_required || config.tls_required })
        }
        _ => {
            return Err(Failure::refused("TLS needs both a certificate and its key")
                .hint("give --tls-certificate and --tls-key"));
        }
    };
    let mut options = Options {
        listen,
        unix_folder: args.unix_socket_dir.clone().or(config.unix_socket_dir),
        tls,
        cores: args.threads.or(config.threads).unwrap_or(0),
        slow_statement: args
            .slow_statement_ms
            .or(config.slow_statement_ms)
            .map(Duration::from_millis),
        ..Options::default()
    };
    if let Some(path) = args.hba.clone().or(config.hba) {
        let text = fs::read_to_string(&path).map_err(|error| Failure::file(&path, &error))?;
        options.rules = server::auth::hba::Rules::parse(&text)
            .map_err(|error| Failure::refused(format!("{}: {error}", path.display())))?;
    }
    if let Some(connections_max) = args.max_connections.or(config.max_connections) {
        options.limits = Limits { connections_max, ..options.limits };
    }
    Ok(options)
}

/// Says what would be done, and whether the data folder can be opened.
fn check(session: &mut Session, options: &Options) -> Outcome {
    let database = session.database_or_new()?;
    database.instance().map_err(|error| Failure::refused(error.to_string()))?;
    let listen: Vec<String> = options.listen.iter().map(SocketAddr::to_string).collect();
    if session.json {
        let object = Object::new()
            .text("data", &session.data.display().to_string())
            .text("pg_listen", &listen.join(", "))
            .plain("tls", options.tls.is_some());
        anstream::println!("{}", object.end());
        return Ok(());
    }
    anstream::println!("configuration and data are good");
    anstream::println!("data     {}", session.data.display());
    anstream::println!("listen   {}", listen.join(", "));
    anstream::println!("tls      {}", if options.tls.is_some() { "offered" } else { "off" });
    Ok(())
}

/// Tells where clients connect.
fn announce(session: &Session, addresses: &[SocketAddr]) -> Outcome {
    let mut out = std::io::stdout().lock();
    let told = addresses.iter().try_for_each(|address| match session.json {
        true => {
            let object = Object::new().text("listening", &address.to_string());
            writeln!(out, "{}", object.end())
        }
        false => writeln!(
            out,
            "serving {} at {address}: psql -h {} -p {} -U postgres",
            session.data.display(),
            address.ip(),
            address.port()
        ),
    });
    // Whoever started the server may not read what it says.
    let _ = told.and_then(|()| out.flush());
    Ok(())
}

fn start_logging(args: &ServeArgs) {
    let level = match args.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // Somebody may log already: a program that has the command as a library.
    let _ = match args.log_format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_target(false).try_init(),
    };
}
