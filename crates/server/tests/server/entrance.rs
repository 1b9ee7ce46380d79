//! Access to the server: rules, passwords proved by SCRAM, TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use server::auth::hba::Rules;
use server::{Handle, Options, Tls};
use tokio_postgres::NoTls;

use crate::world::{Wire, options, packet, start, startup};

const SSL_REQUEST: u32 = 80_877_103;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/server/tls").join(name)
}

fn tls(is_required: bool) -> Option<Tls> {
    Some(Tls { certificate: file("certificate.pem"), key: file("key.pem"), is_required })
}

fn rules(text: &str) -> Rules {
    Rules::parse(text).unwrap()
}

fn config(protocols: &[&[u8]]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("authority.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

/// A client under TLS, which asks for it first or does not.
fn secure(
    server: &Handle,
    protocols: &[&[u8]],
    asks: bool,
) -> Wire<StreamOwned<ClientConnection, TcpStream>> {
    let mut wire = Wire::open(server.addresses()[0]);
    if asks {
        wire.send(&packet(&SSL_REQUEST.to_be_bytes()));
        let mut answer = [0];
        wire.stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"S");
    }
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(config(protocols), name).unwrap();
    Wire { stream: StreamOwned::new(connection, wire.stream), process: 0, secret: Vec::new() }
}

/// Under TLS all is as without, large results and large messages included.
#[test]
fn under_tls() {
    let server = start(Options { tls: tls(true), ..options() });
    let mut wire = secure(&server, &[], true);
    wire.begin(&[("user", "postgres")]);
    assert!(wire.query("SELECT 1").contains("D 1"));
    let text = format!("SELECT repeat('y', 3000000), length('{}')", "x".repeat(3_000_000));
    let shown = wire.query(&text);
    assert!(shown.contains(&"y".repeat(3_000_000)) && shown.contains("| 3000000\n"));
    // A connection that was encrypted is moved to its core like any other.
    assert_eq!(server.metrics().connections, 1);
}

/// A session that polls for its client works under TLS as well, also where a message comes in many
/// parts.
#[test]
fn awake_under_tls() {
    let busy_poll = Duration::from_secs(3_600);
    let server = start(Options { tls: tls(true), cores: 1, busy_poll, ..options() });
    let mut wire = secure(&server, &[], true);
    wire.begin(&[("user", "postgres")]);
    for _ in 0..40 {
        assert!(wire.query("SELECT 1").contains("D 1"));
    }
    let has_processors = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    assert_eq!(server.metrics().busy_polls_total > 20, has_processors);
    let text = format!("SELECT length('{}')", "x".repeat(3_000_000));
    assert!(wire.query(&text).contains("D 3000000\n"));
}

/// TLS without asking first needs the name of the protocol, so that a client of another protocol is
/// not taken for one of ours.
#[test]
fn tls_without_asking() {
    let server = start(Options { tls: tls(false), ..options() });
    let mut wire = secure(&server, &[b"postgresql"], false);
    wire.begin(&[("user", "postgres")]);
    assert!(wire.query("SELECT 1").contains("D 1"));

    let mut wire = secure(&server, &[], false);
    wire.send(&startup(3 << 16, &[("user", "postgres")]));
    assert_eq!(wire.next().unwrap().state(), "08P01");
}

/// Bytes that were sent in the clear before TLS are not taken as if they had come under TLS.
#[test]
fn nothing_is_slipped_in() {
    let server = start(Options { tls: tls(false), ..options() });
    let mut wire = Wire::open(server.addresses()[0]);
    let early = startup(3 << 16, &[("user", "postgres")]);
    wire.stream.write_all(&[packet(&SSL_REQUEST.to_be_bytes()), early].concat()).unwrap();
    let refusal = wire.next().unwrap();
    assert_eq!(refusal.field(b'M').as_deref(), Some("received unencrypted data after SSL request"));
}

/// Nonsense instead of a handshake ends the connection.
#[test]
fn handshakes_that_are_none() {
    let server = start(Options { tls: tls(false), ..options() });
    let mut wire = Wire::open(server.addresses()[0]);
    wire.send(&packet(&SSL_REQUEST.to_be_bytes()));
    let mut answer = [0];
    wire.stream.read_exact(&mut answer).unwrap();
    wire.send(&[0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5]);
    let mut rest = Vec::new();
    // The alert, or nothing: the end in any case.
    let _ = wire.stream.read_to_end(&mut rest);
    assert!(rest.len() < 100);
    assert!(Wire::connect(&server).query("SELECT 1").contains("D 1"));
}

/// The rules decide by database, user and encryption; without one that fits the client is refused.
#[test]
fn rules_decide() {
    let rules = rules(
        "hostssl all all all trust\n\
         host all nobody all reject\n\
         host other all all trust",
    );
    let server = start(Options { tls: tls(false), rules, ..options() });
    let refused = |user| {
        let mut wire = Wire::open(server.addresses()[0]);
        wire.send(&startup(3 << 16, &[("user", user), ("database", "postgres")]));
        let refusal = wire.next().unwrap();
        assert_eq!(refusal.state(), "28000");
        refusal.field(b'M').unwrap()
    };
    assert_eq!(
        refused("postgres"),
        "no pg_hba.conf entry for host \"127.0.0.1\", user \"postgres\", database \"postgres\", no \
         encryption"
    );
    assert_eq!(
        refused("nobody"),
        "pg_hba.conf rejects connection for host \"127.0.0.1\", user \"nobody\", database \
         \"postgres\", no encryption"
    );
    let mut wire = secure(&server, &[], true);
    wire.begin(&[("user", "postgres")]);
    assert_eq!(server.metrics().connections_refused_total, 2);
}

/// A cleartext password is never asked for without TLS.
#[test]
fn passwords_need_tls() {
    let rules = rules("host all all all password");
    let server = start(Options { tls: tls(false), rules, ..options() });
    let mut wire = Wire::open(server.addresses()[0]);
    wire.send(&startup(3 << 16, &[("user", "postgres")]));
    assert_eq!(wire.next().unwrap().state(), "28000");
    let mut wire = secure(&server, &[], true);
    wire.send(&startup(3 << 16, &[("user", "postgres")]));
    let question = wire.next().unwrap();
    assert_eq!((question.kind, &question.body[..]), (b'R', &[0, 0, 0, 3][..]));
}

/// Connects as a user by a driver; the code of the refusal.
fn come_in(server: &Handle, user: &str, password: &str) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = server.addresses()[0];
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host(address.ip().to_string()).port(address.port()).dbname("postgres");
        config.user(user).password(password);
        match config.connect(NoTls).await {
            Ok(_) => Ok(()),
            Err(error) => Err(match error.as_db_error() {
                Some(error) => format!("{} {}", error.code().code(), error.message()),
                None => error.to_string(),
            }),
        }
    })
}

/// A role with a password comes in with it and with no other, and a role that does not exist is
/// answered as one whose password is wrong.
#[test]
fn passwords_are_proved() {
    let rules = rules("host all postgres all trust\nhost all all all scram-sha-256");
    let server = start(Options { rules, ..options() });
    let mut wire = Wire::connect(&server);
    assert_eq!(wire.query("CREATE ROLE ann LOGIN PASSWORD 'se\u{a0}cret'"), "C CREATE ROLE\nZ I\n");
    wire.query("CREATE ROLE bob LOGIN");
    assert_eq!(come_in(&server, "ann", "se cret"), Ok(()));
    for (user, password) in [("ann", "secret"), ("bob", "x"), ("nobody", "x")] {
        assert_eq!(
            come_in(&server, user, password),
            Err(format!("28P01 password authentication failed for user \"{user}\""))
        );
    }
    assert_eq!(server.metrics().authentication_failures_total, 3);
}

/// By default this machine comes in without a password as roles that have none, and only as those.
#[test]
fn the_first_start() {
    let server = start(options());
    Wire::connect(&server).query("CREATE ROLE ann LOGIN PASSWORD 'secret'");
    assert_eq!(come_in(&server, "ann", "secret"), Ok(()));
    assert_eq!(
        come_in(&server, "ann", ""),
        Err("28P01 password authentication failed for user \"ann\"".to_owned())
    );
}
