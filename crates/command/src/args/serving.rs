//! The arguments of `anywhen serve` and `anywhen token`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Listen here for PostgreSQL's protocol; may be given again [default: 127.0.0.1:5433]
    #[arg(long, env = "ANYWHEN_PG_LISTEN", value_name = "ADDRESS:PORT", value_delimiter = ',')]
    pub pg_listen: Vec<SocketAddr>,
    /// A folder for a socket, for clients of this machine
    #[arg(long, env = "ANYWHEN_UNIX_SOCKET_DIR", value_name = "DIR")]
    pub unix_socket_dir: Option<PathBuf>,
    /// A configuration file in TOML, with the same options as these flags
    #[arg(long, env = "ANYWHEN_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A file with access rules: lines as in pg_hba.conf
    #[arg(long, env = "ANYWHEN_HBA", value_name = "FILE")]
    pub hba: Option<PathBuf>,
    /// The certificate of this server, PEM
    #[arg(long, env = "ANYWHEN_TLS_CERTIFICATE", value_name = "FILE")]
    pub tls_certificate: Option<PathBuf>,
    /// The key of the certificate, PEM
    #[arg(long, env = "ANYWHEN_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Refuse clients of other machines that do not use TLS
    #[arg(long)]
    pub tls_required: bool,
    #[command(flatten)]
    pub http: HttpArgs,
    /// Clients at the same time [default: 1000]
    #[arg(long, value_name = "N")]
    pub max_connections: Option<usize>,
    /// Threads that serve clients [default: one for each core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// A setting for all sessions, such as work_mem=16MB; overrides ALTER SYSTEM; may be given again
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Log statements that take so many milliseconds or more (log_min_duration_statement)
    #[arg(long, value_name = "MS")]
    pub slow_statement_ms: Option<u64>,
    /// Busy-poll for the next statement of a single quick client, for so many microseconds; 0: never [default: 200]
    #[arg(long, value_name = "US")]
    pub busy_poll_us: Option<u64>,
    /// The lowest level of events that are logged
    #[arg(long, env = "ANYWHEN_LOG", value_enum, value_name = "LEVEL", default_value_t = LogLevel::Info)]
    pub log_level: LogLevel,
    /// The form of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    #[command(flatten)]
    pub log_file: LogFileArgs,
    /// Check configuration and data, print the effective options, change nothing, and exit
    #[arg(long)]
    pub check: bool,
}

/// The memory budgets of the server.
#[derive(Args, Debug)]
pub(crate) struct BudgetArgs {
    /// Keep so many MiB of the data's blocks, decompressed, in memory (shared_buffers) [default: a quarter of
    /// the machine's memory, or of the cgroup's]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub cache_mib: Option<u64>,
    /// Gather so many MiB of changes in memory before they are written to files [default: 32]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 12))]
    pub memtable_mib: Option<u64>,
    /// The most MiB of memory for one statement [default: an eighth of the memory, 512 at most]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub statement_mib: Option<u64>,
    /// The most MiB of memory for all statements together [default: a quarter of the memory]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub statements_mib: Option<u64>,
}

/// A file for log lines.
#[derive(Args, Debug)]
pub(crate) struct LogFileArgs {
    /// Write the log to this file, and not to standard error
    #[arg(long, env = "ANYWHEN_LOG_FILE", value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Begin the file anew when it has so many MiB; 0: never [default: 10]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    pub log_rotation_mib: Option<u64>,
    /// Begin the file anew when it is so many hours old; 0: never [default: 24]
    #[arg(long, value_name = "HOURS", value_parser = clap::value_parser!(u64).range(..=1 << 16))]
    pub log_rotation_hours: Option<u64>,
    /// Keep so many files, the current one included [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub log_files: Option<u64>,
}

/// The level of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// The options of the HTTP server.
#[derive(Args, Debug)]
pub(crate) struct HttpArgs {
    /// Listen here for HTTP; may be given again [default: nowhere]
    #[arg(long, env = "ANYWHEN_HTTP_LISTEN", value_name = "ADDRESS:PORT", value_delimiter = ',')]
    pub http_listen: Vec<SocketAddr>,
    /// Require a token from every client of HTTP (`anywhen token create`)
    #[arg(long, env = "ANYWHEN_HTTP_AUTH")]
    pub http_auth: bool,
    /// The file of the tokens [default: http-tokens in the data folder]
    #[arg(long, env = "ANYWHEN_HTTP_TOKENS", value_name = "FILE")]
    pub http_tokens: Option<PathBuf>,
    /// Accept JSON web tokens that are signed by one of the keys in this file (JWKS)
    #[arg(long, env = "ANYWHEN_HTTP_JWKS", value_name = "FILE")]
    pub http_jwks: Option<PathBuf>,
    /// The same with keys from this address, which the server fetches again as they change
    #[arg(long, env = "ANYWHEN_HTTP_JWKS_URL", value_name = "URL", conflicts_with = "http_jwks")]
    pub http_jwks_url: Option<String>,
    /// The certificate authorities that are trusted for that address (PEM) [default: the system's]
    #[arg(long, env = "ANYWHEN_HTTP_JWKS_AUTHORITIES", value_name = "FILE")]
    pub http_jwks_authorities: Option<PathBuf>,
    /// The issuer that JSON web tokens must have
    #[arg(long, env = "ANYWHEN_HTTP_JWT_ISSUER", value_name = "NAME")]
    pub http_jwt_issuer: Option<String>,
    /// The audience that JSON web tokens must have
    #[arg(long, env = "ANYWHEN_HTTP_JWT_AUDIENCE", value_name = "NAME")]
    pub http_jwt_audience: Option<String>,
    /// An origin whose web pages may call the HTTP server, or * for all; others are refused; may be given again
    #[arg(long, env = "ANYWHEN_HTTP_CORS", value_name = "ORIGIN", value_delimiter = ',')]
    pub http_cors: Vec<String>,
    /// Require If-Match for changes of existing documents
    #[arg(long, env = "ANYWHEN_HTTP_REQUIRE_PRECONDITIONS")]
    pub http_require_preconditions: bool,
    /// Cancel statements of SQL over HTTP that take longer [default: never]
    #[arg(long, env = "ANYWHEN_HTTP_STATEMENT_TIMEOUT_MS", value_name = "MILLISECONDS",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub http_statement_timeout_ms: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct TokenArgs {
    /// The file of the tokens [default: http-tokens in the data folder]
    #[arg(long, env = "ANYWHEN_HTTP_TOKENS", value_name = "FILE", global = true)]
    pub http_tokens: Option<PathBuf>,
    #[command(subcommand)]
    pub what: TokenCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum TokenCommand {
    /// Make a token; it is shown this once
    Create {
        /// The user of the token: the author of everything written with it
        name: String,
        /// The rights of the token: view, create, modify, delete, or COLLECTION-view and so on
        #[arg(long = "role", value_name = "ROLE", required = true, value_delimiter = ',')]
        roles: Vec<String>,
        /// The SQL role of the token [default: the role with its name, if that is not a superuser]
        #[arg(long, value_name = "ROLE")]
        sql_role: Option<String>,
        /// Days until the token expires
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=36_500))]
        days: Option<u64>,
    },
    /// List the tokens
    List,
    /// Revoke a token
    Revoke {
        /// The token, as `list` shows it
        id: String,
    },
}
