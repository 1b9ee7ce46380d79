//! `anywhen serve`: the database for clients that speak PostgreSQL's protocol, or HTTP.
//!
//! ```text
//!   defaults < --config FILE < environment and flags ──> server::Options ──> Handle ── until a signal
//! ```
//!
//! Log lines go to standard error, so that standard output has only what a script waits for: where
//! clients connect.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anywhen::Database;
use serde::Deserialize;
use server::{Options, Tls};
use tracing_subscriber::filter::LevelFilter;

use crate::allocator;
use crate::args::{HttpArgs, LogFormat, LogLevel, ServeArgs};
use crate::budget::Budget;
use crate::failure::{Failure, Outcome};
use crate::json_out::Object;
use crate::log_file::{LogFile, Rotation};
use crate::screen;
use crate::session::{Session, holds_data};
use crate::token;
use crate::visible::Shown;

/// `shared_buffers` counts blocks of so many bytes.
const BLOCK_BYTES: u64 = 8_192;

/// So often the server returns free memory to the system.
const RELEASE_EVERY: Duration = Duration::from_secs(1);

/// The default address for clients: the port next to PostgreSQL's own.
const LISTEN: ([u8; 4], u16) = ([127, 0, 0, 1], 5433);

/// The addresses of one protocol, and how a person chooses others.
struct Entrance {
    protocol: &'static str,
    flag: &'static str,
    variable: &'static str,
}

const OF_PG: Entrance = Entrance {
    protocol: "clients of PostgreSQL's protocol",
    flag: "--pg-listen",
    variable: "ANYWHEN_PG_LISTEN",
};

const OF_HTTP: Entrance =
    Entrance { protocol: "HTTP", flag: "--http-listen", variable: "ANYWHEN_HTTP_LISTEN" };

/// Says why a server cannot listen, and what to do. The error begins with the address, if it is about one.
fn cannot_listen(error: &io::Error, entrance: &Entrance) -> Failure {
    let Entrance { protocol, flag, variable } = entrance;
    let text = error.to_string();
    let address = text.split(": ").next().and_then(|address| address.parse::<SocketAddr>().ok());
    let elsewhere = |ip: String| format!("{flag} {ip}:PORT, or {variable}={ip}:PORT");
    let Some(address) = address else {
        return Failure::refused(format!("cannot listen for {protocol}: {text}"));
    };
    let (ip, port) = (address.ip(), address.port());
    match error.kind() {
        io::ErrorKind::AddrInUse => Failure::refused(format!(
            "cannot listen for {protocol}: port {port} of {ip} is taken by another program"
        ))
        .hint(format!("end that program, or choose another port: {}", elsewhere(ip.to_string()))),
        io::ErrorKind::PermissionDenied => Failure::refused(format!(
            "cannot listen for {protocol}: this user may not listen on port {port}"
        ))
        .hint(format!("choose a port from 1024 on: {}", elsewhere(ip.to_string()))),
        io::ErrorKind::AddrNotAvailable => Failure::refused(format!(
            "cannot listen for {protocol}: this machine does not have the address {ip}"
        ))
        .hint(format!(
            "choose one that it has, or 127.0.0.1 for programs of this machine: {}",
            elsewhere("ADDRESS".to_owned())
        )),
        _ => Failure::refused(format!("cannot listen for {protocol}: {text}")),
    }
}

/// Fails if an address cannot be listened on now.
fn look_at_addresses(addresses: &[SocketAddr], entrance: &Entrance) -> Outcome {
    for address in addresses {
        TcpListener::bind(address).map_err(|error| {
            let error = io::Error::new(error.kind(), format!("{address}: {error}"));
            cannot_listen(&error, entrance)
        })?;
    }
    Ok(())
}

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
    cache_mib: Option<u64>,
    memtable_mib: Option<u64>,
    statement_mib: Option<u64>,
    statements_mib: Option<u64>,
    settings: BTreeMap<String, String>,
    log_file: Option<PathBuf>,
    log_rotation_mib: Option<u64>,
    log_rotation_hours: Option<u64>,
    log_files: Option<u64>,
    slow_statement_ms: Option<u64>,
    busy_poll_us: Option<u64>,
    http_listen: Vec<SocketAddr>,
    http_auth: bool,
    http_tokens: Option<PathBuf>,
    http_jwks: Option<PathBuf>,
    http_jwks_url: Option<String>,
    http_jwks_authorities: Option<PathBuf>,
    http_jwt_issuer: Option<String>,
    http_jwt_audience: Option<String>,
    http_cors: Vec<String>,
    http_require_preconditions: bool,
    http_statement_timeout_ms: Option<u64>,
}

pub(crate) fn serve(session: &mut Session, args: &ServeArgs) -> Outcome {
    let config = config(args)?;
    let http = http_options(session, args, &config)?;
    let connections_max = budgets(session, args, &config)?;
    let log = log_file(args, &config)?;
    let mut options = options(args, config)?;
    options.limits.connections_max = connections_max;
    options.release_memory = allocator::release_all;
    if args.check {
        return check(session, &options, http.as_ref());
    }
    let hangups = Hangups::take();
    let log = log.map(|(path, rotation)| {
        LogFile::open(&path, rotation).map_err(|error| Failure::file(&path, &error))
    });
    let log = log.transpose()?;
    start_logging(args, log.clone());
    let database = session.database_or_new()?;
    let instance = database.instance().map_err(|error| Failure::refused(error.to_string()))?;
    let handle =
        server::Server::start(instance, options).map_err(|error| cannot_listen(&error, &OF_PG))?;
    let handle = Arc::new(handle);
    let scheme = match &http {
        Some(options) if options.tls.is_some() => "https",
        _ => "http",
    };
    let http = http.map(|mut options| {
        // A weak reference: a reader of metrics does not keep the server alive.
        let served = Arc::downgrade(&handle);
        let metrics =
            move || served.upgrade().map_or_else(String::new, |of| of.metrics().prometheus());
        options.more_metrics = Some(http::MoreMetrics(Arc::new(metrics)));
        http::Server::start(database.clone(), options)
            .map_err(|error| cannot_listen(&error, &OF_HTTP))
    });
    let http = http.transpose()?;
    let addresses = http.as_ref().map_or(&[][..], |http| http.addresses());
    announce(session, handle.addresses(), scheme, addresses)?;

    hangups.reload(&database, log);
    let (told, wait) = mpsc::channel();
    ctrlc::set_handler(move || {
        // If the receiver is gone, the server is ending already.
        let _ = told.send(());
    })
    .map_err(|error| Failure::refused(format!("cannot wait for signals: {error}")))?;
    // The other error means that the sender is gone, which is the end too.
    while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(RELEASE_EVERY) {
        allocator::release();
    }
    if let Some(http) = http {
        http.shutdown();
    }
    // Dropping the last of it stops it.
    drop(handle);
    Ok(())
}

/// The settings of the configuration file.
fn config(args: &ServeArgs) -> Outcome<Config> {
    let Some(path) = &args.config else { return Ok(Config::default()) };
    let text = fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    toml::from_str(&text).map_err(|error| {
        Failure::refused(format!("{}: {error}", path.display()))
            .hint("`anywhen help serve` lists what a configuration file can say")
    })
}

/// The options of the HTTP server, where there is to be one.
fn http_options(
    session: &Session,
    args: &ServeArgs,
    config: &Config,
) -> Outcome<Option<http::Options>> {
    let given = &args.http;
    let listen =
        if given.http_listen.is_empty() { &config.http_listen } else { &given.http_listen };
    if listen.is_empty() {
        return Ok(None);
    }
    let or =
        |given: &Option<String>, known: &Option<String>| given.clone().or_else(|| known.clone());
    let tokens = given.http_tokens.as_ref().or(config.http_tokens.as_ref());
    let is_asked = given.http_auth || config.http_auth || tokens.is_some();
    let keys = keys(given, config)?;
    let statement = given.http_statement_timeout_ms.or(config.http_statement_timeout_ms);
    let limits =
        http::Limits { statement: statement.map(Duration::from_millis), ..http::Limits::default() };
    let cors = if given.http_cors.is_empty() { &config.http_cors } else { &given.http_cors };
    Ok(Some(http::Options {
        listen: listen.clone(),
        tls: tls(args, config)?.map(|(certificate, key)| http::Tls { certificate, key }),
        auth: http::Auth {
            tokens: is_asked.then(|| token::file(&session.data, tokens)),
            jwt: keys.map(|keys| http::Jwt {
                keys,
                issuer: or(&given.http_jwt_issuer, &config.http_jwt_issuer),
                audience: or(&given.http_jwt_audience, &config.http_jwt_audience),
            }),
        },
        cores: args.threads.or(config.threads).unwrap_or(0),
        cors: cors.clone(),
        require_preconditions: given.http_require_preconditions
            || config.http_require_preconditions,
        limits,
        explorer: crate::explorer_files::files(),
        export_page: crate::explorer_files::export_page(),
        ..http::Options::default()
    }))
}

/// Sets the memory budgets of the database and the settings of SQL. The command line overrides the configuration
/// file, and the file overrides `ALTER SYSTEM`. The defaults are shares of the memory. Returns the most sessions
/// that there may be.
fn budgets(session: &mut Session, args: &ServeArgs, config: &Config) -> Outcome<usize> {
    let given = &args.budget;
    let mut said: Vec<(String, String)> = config.settings.clone().into_iter().collect();
    for setting in &args.settings {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(Failure::refused(format!("{setting:?} is not of the form NAME=VALUE")));
        };
        said.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        said.push((name.to_owned(), value.to_owned()));
    }
    let file = session.data.join("postgresql.auto.conf");
    let kept = anywhen::sql::kept_settings(&session.data);
    let kept = kept.map_err(|error| Failure::file(&file, &error))?;
    let number = |name: &str| {
        let mut all = said.iter().chain(&kept);
        let (_, value) = all.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        anywhen::sql::setting_number(name, value)
    };
    let budget = Budget::of_machine();
    let bytes = |mib: Option<u64>, share: u64| {
        usize::try_from(mib.map_or(share, |mib| mib << 20)).unwrap_or(usize::MAX)
    };
    let cache = given.cache_mib.or(config.cache_mib).map(|mib| mib << 20);
    let cache = cache.or_else(|| number("shared_buffers").map(|blocks| blocks * BLOCK_BYTES));
    let cache = cache.unwrap_or(budget.cache);
    let connections = args.max_connections.or(config.max_connections);
    let connections = connections.or_else(|| number("max_connections").map(|most| most as usize));
    let connections_max = connections.unwrap_or(server::Limits::default().connections_max);
    let options = &mut session.options;
    options.cache_bytes = usize::try_from(cache).unwrap_or(usize::MAX);
    options.memtable_bytes = bytes(given.memtable_mib.or(config.memtable_mib), budget.memtable);
    let statements = bytes(given.statements_mib.or(config.statements_mib), budget.statements);
    options.statements_bytes = Some(statements);
    let statement = bytes(given.statement_mib.or(config.statement_mib), budget.statement);
    options.statement_bytes = statement.min(statements);
    let mut say = |name: &str, value: String| {
        said.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        said.push((name.to_owned(), value));
    };
    if let Some(ms) = args.slow_statement_ms.or(config.slow_statement_ms) {
        say("log_min_duration_statement", ms.to_string());
    }
    // The value of an option overrides `ALTER SYSTEM`; `ALTER SYSTEM` overrides a share of the memory.
    let blocks = format!("{}kB", cache.max(BLOCK_BYTES * 16) >> 10);
    // PostgreSQL's default is off: here the log has connections unless the setting is off.
    let mut defaults: Vec<(String, String)> =
        ["log_connections", "log_disconnections"].map(|it| (it.into(), "on".into())).into();
    for (name, value, is_named) in [
        ("shared_buffers", blocks, given.cache_mib.or(config.cache_mib).is_some()),
        (
            "max_connections",
            connections_max.to_string(),
            args.max_connections.or(config.max_connections).is_some(),
        ),
    ] {
        match is_named {
            true => say(name, value),
            false => defaults.push((name.to_owned(), value)),
        }
    }
    options.setting_defaults = defaults;
    options.settings = said;
    Ok(connections_max)
}

/// The file for log lines, where there is to be one.
fn log_file(args: &ServeArgs, config: &Config) -> Outcome<Option<(PathBuf, Rotation)>> {
    let given = &args.log_file;
    let Some(path) = given.log_file.as_ref().or(config.log_file.as_ref()) else { return Ok(None) };
    let or = |given: Option<u64>, known: Option<u64>, usual| given.or(known).unwrap_or(usual);
    let limit = |number: u64| (number > 0).then_some(number);
    let mib = or(given.log_rotation_mib, config.log_rotation_mib, 10);
    let hours = or(given.log_rotation_hours, config.log_rotation_hours, 24);
    let files = or(given.log_files, config.log_files, 10);
    let rotation = Rotation {
        bytes: limit(mib).map(|mib| mib << 20),
        age: limit(hours).map(|hours| Duration::from_secs(hours * 3_600)),
        files: usize::try_from(files).unwrap_or(usize::MAX),
    };
    Ok(Some((path.clone(), rotation)))
}

/// SIGHUP: the configuration is read again, and the file for log lines opened again.
struct Hangups;

#[cfg(unix)]
impl Hangups {
    /// Keeps the signal from ending the process. To be called before there are other threads, which inherit it.
    fn take() -> Hangups {
        // Where the signal cannot be held back it ends the server, as it did.
        let _ = Self::signals().thread_block();
        Hangups
    }

    fn signals() -> nix::sys::signal::SigSet {
        let mut signals = nix::sys::signal::SigSet::empty();
        signals.add(nix::sys::signal::Signal::SIGHUP);
        signals
    }

    /// Reloads with each signal, on a thread of its own.
    fn reload(self, database: &Database, log: Option<LogFile>) {
        // Held weakly: the thread does not keep the database open.
        let instance = database.instance().map(|instance| Arc::downgrade(&instance));
        let Ok(instance) = instance else { return };
        let wait = move || {
            while Self::signals().wait().is_ok() {
                let Some(instance) = instance.upgrade() else { return };
                if let Some(Err(error)) = log.as_ref().map(LogFile::reopen) {
                    tracing::error!("the log file was not opened again: {error}");
                }
                match instance.reload() {
                    Ok(()) => tracing::info!("the configuration was read again"),
                    Err(error) => tracing::error!("the configuration was not read again: {error}"),
                }
            }
        };
        let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
    }
}

#[cfg(not(unix))]
impl Hangups {
    fn take() -> Hangups {
        Hangups
    }

    fn reload(self, _: &Database, _: Option<LogFile>) {}
}

/// Returns where the keys of JSON web tokens are. The command line overrides the file.
fn keys(given: &HttpArgs, config: &Config) -> Outcome<Option<http::KeySet>> {
    let of = |file: &Option<PathBuf>, url: &Option<String>| match (file, url) {
        (None, None) => Ok(None),
        (Some(file), None) => Ok(Some(http::KeySet::File(file.clone()))),
        (None, Some(url)) => {
            let authorities = given.http_jwks_authorities.as_ref();
            let authorities = authorities.or(config.http_jwks_authorities.as_ref()).cloned();
            Ok(Some(http::KeySet::Url { url: url.clone(), authorities }))
        }
        (Some(_), Some(_)) => {
            Err(Failure::refused("keys are in a file or at an address, not both")
                .hint("give one of http-jwks and http-jwks-url"))
        }
    };
    match of(&given.http_jwks, &given.http_jwks_url)? {
        None => of(&config.http_jwks, &config.http_jwks_url),
        found => Ok(found),
    }
}

/// The files of certificate and key.
fn tls(args: &ServeArgs, config: &Config) -> Outcome<Option<(PathBuf, PathBuf)>> {
    let certificate = args.tls_certificate.clone().or_else(|| config.tls_certificate.clone());
    match (certificate, args.tls_key.clone().or_else(|| config.tls_key.clone())) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        _ => Err(Failure::refused("TLS needs both a certificate and its key")
            .hint("give --tls-certificate and --tls-key")),
    }
}

/// Returns the options of the server. The command line and the environment override the file.
fn options(args: &ServeArgs, config: Config) -> Outcome<Options> {
    let is_required = args.tls_required || config.tls_required;
    let tls = tls(args, &config)?.map(|(certificate, key)| Tls { certificate, key, is_required });
    let listen = match (&args.pg_listen[..], config.pg_listen) {
        ([], None) => vec![LISTEN.into()],
        ([], Some(listen)) => listen,
        (listen, _) => listen.to_vec(),
    };
    let mut options = Options {
        listen,
        unix_folder: args.unix_socket_dir.clone().or(config.unix_socket_dir),
        tls,
        cores: args.threads.or(config.threads).unwrap_or(0),
        ..Options::default()
    };
    if let Some(limit_us) = args.busy_poll_us.or(config.busy_poll_us) {
        options.busy_poll = Duration::from_micros(limit_us);
    }
    if let Some(path) = args.hba.clone().or(config.hba) {
        let text = fs::read_to_string(&path).map_err(|error| Failure::file(&path, &error))?;
        options.rules = server::auth::hba::Rules::parse(&text)
            .map_err(|error| Failure::refused(format!("{}: {error}", path.display())))?;
    }
    Ok(options)
}

/// Says what the server would do, and whether it can open the data folder and listen. If another process has
/// the folder open, that process may be the server that listens on these addresses.
fn check(session: &Session, options: &Options, http: Option<&http::Options>) -> Outcome {
    let found = look(session)?;
    let named = |listen: &[SocketAddr]| {
        listen.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ")
    };
    let listen = named(&options.listen);
    if let Some(http) = http {
        http.check().map_err(|error| Failure::refused(error.to_string()))?;
    }
    if !matches!(found, Found::InUse) {
        look_at_addresses(&options.listen, &OF_PG)?;
        look_at_addresses(http.map_or(&[], |http| &http.listen), &OF_HTTP)?;
    }
    if session.json {
        let object = Object::new()
            .text("data", &session.data.display().to_string())
            .text("found", found.word())
            .text("pg_listen", &listen)
            .text_or_null("http_listen", http.map(|http| named(&http.listen)).as_deref())
            .plain("tls", options.tls.is_some());
        return screen::raw(object.end().as_bytes());
    }
    let mut lines = match found {
        Found::InUse => "configuration is good\n".to_owned(),
        _ => "configuration and data are good\n".to_owned(),
    };
    lines += &format!("data     {}: {}\n", session.data.display(), found.sentence());
    lines += &format!("listen   {listen}\n");
    if let Some(http) = http {
        let open = if http.auth.is_open() { "everybody may come in" } else { "with tokens" };
        lines += &format!("http     {}, {open}\n", named(&http.listen));
    }
    lines += &format!("tls      {}\n", if options.tls.is_some() { "offered" } else { "off" });
    screen::lines(&lines)
}

/// The state of the data folder that `serve --check` finds.
enum Found {
    Nothing,
    Database,
    InUse,
}

impl Found {
    fn word(&self) -> &'static str {
        match self {
            Found::Nothing => "nothing",
            Found::Database => "database",
            Found::InUse => "in use",
        }
    }

    fn sentence(&self) -> &'static str {
        match self {
            Found::Nothing => "nothing there, serve makes a new database",
            Found::Database => "a database that opens",
            Found::InUse => "in use, so only the process that has it open can read it",
        }
    }
}

/// Looks whether the data folder can be opened, and changes nothing there.
fn look(session: &Session) -> Outcome<Found> {
    if !holds_data(&session.data) {
        let made = session.data.ancestors().find(|path| path.exists());
        return match made {
            Some(path) if !path.is_dir() => {
                Err(Failure::refused(format!("{} is not a folder", path.display())))
            }
            _ => Ok(Found::Nothing),
        };
    }
    match Database::look_at_folder(&session.data) {
        Ok(()) => Ok(Found::Database),
        Err(anywhen::Error::Engine(anywhen::EngineError::InUse { .. })) => Ok(Found::InUse),
        Err(error) => Err(error.into()),
    }
}

/// Tells where clients connect.
fn announce(
    session: &Session,
    addresses: &[SocketAddr],
    scheme: &str,
    http: &[SocketAddr],
) -> Outcome {
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
    let told = told.and_then(|()| {
        http.iter().try_for_each(|address| match session.json {
            true => {
                let object = Object::new().text("listening_http", &address.to_string());
                writeln!(out, "{}", object.end())
            }
            false => {
                writeln!(out, "serving HTTP at {address}: open {scheme}://{address}/ in a browser")
            }
        })
    });
    // The process that started the server may not read its output.
    let _ = told.and_then(|()| out.flush());
    Ok(())
}

fn start_logging(args: &ServeArgs, file: Option<LogFile>) {
    let level = match args.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let on_terminal = file.is_none() && std::io::stderr().is_terminal();
    // Text that clients send about themselves is logged too.
    let writer = move || -> Box<dyn Write> {
        match &file {
            Some(file) => Box::new(file.clone()),
            None => Box::new(Shown::new(std::io::stderr(), on_terminal, true)),
        }
    };
    let builder =
        tracing_subscriber::fmt().with_max_level(level).with_writer(writer).with_ansi(on_terminal);
    // A logger may be installed already, by a program that uses the command as a library.
    let _ = match args.log_format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_target(false).try_init(),
    };
}
