//! HTTP/2 with and without TLS, connections that are used again, and shutting down.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anywhen_http::Tls;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::world::World;

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Puts and gets a document over HTTP/2; many requests at once on the one connection.
async fn talk(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, scheme: &str) {
    let io = TokioIo::new(stream);
    let (client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("HTTP/2");
    tokio::spawn(connection);
    let request = |method: &str, body: &'static str| {
        let request = Request::builder()
            .method(method)
            .uri(format!("{scheme}://localhost/d/r"))
            .header("content-type", "application/json");
        request.body(Full::new(Bytes::from_static(body.as_bytes()))).expect("a request")
    };
    let answer = client.clone().send_request(request("PUT", "{\"n\":1}")).await.expect("an answer");
    assert_eq!(answer.status(), 201);
    let mut asked = Vec::new();
    for _ in 0..50 {
        asked.push(tokio::spawn(client.clone().send_request(request("GET", ""))));
    }
    for asked in asked {
        let answer = asked.await.expect("runs").expect("an answer");
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(body, "{\"n\":1}");
    }
}

/// A client that knows beforehand may speak HTTP/2 without encryption.
#[test]
fn http2_by_prior_knowledge() {
    let world = World::new();
    run(async {
        talk(TcpStream::connect(world.address()).await.expect("connects"), "http").await;
    });
}

/// With TLS the protocol is agreed on inside of the handshake.
#[test]
fn http2_with_tls() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/server/tls");
    let world = World::with(|options| {
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        options.tls = Some(Tls { certificate, key });
    });
    let authority = std::fs::read(folder.join("authority.pem")).expect("a file");
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&authority) {
        roots.add(certificate.expect("a certificate")).expect("is one");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    run(async {
        let stream = TcpStream::connect(world.address()).await.expect("connects");
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let name = "localhost".try_into().expect("a name");
        let stream = connector.connect(name, stream).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        talk(stream, "https").await;
    });
    // Without TLS nothing is said.
    let mut client = world.client();
    client.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert!(!client.line().starts_with("HTTP/1.1 200"));
}

/// One connection serves many requests, also where they are sent before the answers come.
#[test]
fn connections_are_used_again() {
    let world = World::new();
    let mut client = world.client();
    for n in 0..100 {
        let answer = client.ask("PUT /d/r", &[], format!("{{\"n\":{n}}}").as_bytes());
        assert!(answer.status < 300, "{}", answer.text());
    }
    for _ in 0..10 {
        client.send("GET /d/r", &[], b"");
    }
    for _ in 0..10 {
        assert_eq!(client.answer(false).text(), "{\"n\":99}");
    }
    assert!(world.ask("GET /metrics", "").text().contains("anywhen_http_connections_total 2\n"));
}

/// Pages of other origins are let in where they are named, and only those.
#[test]
fn cross_origin() {
    let world = World::with(|options| options.cors = vec!["https://a.example".to_owned()]);
    let asked = |origin: &str| {
        let headers = [("origin", origin), ("access-control-request-method", "PUT")];
        let answer = world.client().ask("OPTIONS /d/r", &headers, b"");
        answer.header("access-control-allow-origin").map(str::to_owned)
    };
    assert_eq!(asked("https://a.example").as_deref(), Some("https://a.example"));
    assert_eq!(asked("https://b.example"), None);
}

/// A server that is told to stop lets requests come to their end and streams of changes go, and the
/// database can be closed then.
#[test]
fn shutting_down() {
    let world = World::new();
    world.ask("PUT /d/r", "{}");
    let mut follower = world.client();
    follower.send("GET /v1/changes", &[], b"");
    assert_eq!(follower.head().0, 200);
    let idle = world.client();
    let begun = Instant::now();
    let address = world.address();
    let database = world.shutdown();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(std::net::TcpStream::connect(address).is_err());
    database.close().expect("nobody else holds it");
    drop((idle, follower));
}
