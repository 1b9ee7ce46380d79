//! Keys of tokens at an address: the signer may begin to use another key, and may be away for a
//! while.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anywhen_http::{Jwt, KeySet, Options};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};

use crate::world::{World, options};

/// A server that signs tokens with one key.
struct Signer {
    id: &'static str,
    pair: EcdsaKeyPair,
}

impl Signer {
    fn new(id: &'static str) -> Signer {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        Signer { id, pair }
    }

    /// The key as a set of keys has it.
    fn key(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        let code = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({"kty": "EC", "crv": "P-256", "kid": self.id, "x": code(&point[1..33]), "y": code(&point[33..])})
    }

    /// A token that holds until the year 2100.
    fn token(&self) -> String {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let head = part(json!({"alg": "ES256", "kid": self.id}));
        let message = format!(
            "{head}.{}",
            part(json!({"sub": "ada", "exp": 4_102_444_800_u64, "roles": ["view"]}))
        );
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).expect("signs");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// A server of a set of keys: its answer, which can be changed, and how often it was asked.
struct Keys {
    address: SocketAddr,
    answer: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

/// An answer with this status and body.
fn answer(status: u16, body: &Value) -> String {
    let body = body.to_string();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

impl Keys {
    /// Serves on this machine, with TLS where there is a configuration of it, until the test ends.
    fn serve(first: String, tls: Option<Arc<rustls::ServerConfig>>) -> Keys {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let keys = Keys {
            address: listener.local_addr().expect("an address"),
            answer: Arc::new(Mutex::new(first)),
            asked: Arc::default(),
        };
        let (answer, asked) = (Arc::clone(&keys.answer), Arc::clone(&keys.asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.expect("a connection");
                asked.fetch_add(1, Ordering::SeqCst);
                let answer = answer.lock().expect("nobody failed").clone();
                match &tls {
                    None => say(stream, &answer),
                    Some(config) => {
                        let session = rustls::ServerConnection::new(Arc::clone(config));
                        say(rustls::StreamOwned::new(session.expect("a session"), stream), &answer);
                    }
                }
            }
        });
        keys
    }

    fn say(&self, answer: String) {
        *self.answer.lock().expect("nobody failed") = answer;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Reads a request and answers it; a client that does not trust us goes before.
fn say(mut stream: impl Read + Write, answer: &str) {
    let mut reader = BufReader::new(&mut stream);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
        line.clear();
    }
    let _ = stream.write_all(answer.as_bytes());
    let _ = stream.flush();
}

fn jwt(url: String, authorities: Option<&Path>) -> Option<Jwt> {
    let authorities = authorities.map(Path::to_owned);
    Some(Jwt { keys: KeySet::Url { url, authorities }, issuer: None, audience: None })
}

fn status(world: &World, token: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    world.client().ask("GET /v1/collections", &[("authorization", &bearer)], b"").status
}

/// Keys are there from the start; a token with a new key has them asked for again, at once, but not again
/// and again for unknown tokens.
#[test]
fn a_new_key_is_learned() {
    let (old, new, nobody) = (Signer::new("old"), Signer::new("new"), Signer::new("nobody"));
    let keys = Keys::serve(answer(200, &json!({"keys": [old.key()]})), None);
    let url = format!("http://{}/keys?of=us", keys.address);
    let world = World::with(|options| options.auth.jwt = jwt(url, None));
    assert_eq!(status(&world, &old.token()), 200);
    assert_eq!(keys.asked(), 1);
    keys.say(answer(200, &json!({"keys": [old.key(), new.key()]})));
    assert_eq!(status(&world, &new.token()), 200);
    assert_eq!(keys.asked(), 2);
    assert_eq!(status(&world, &old.token()), 200);
    for _ in 0..5 {
        assert_eq!(status(&world, &nobody.token()), 401);
        assert_eq!(status(&world, "a.b.c"), 401);
    }
    assert_eq!(keys.asked(), 2, "no more than once a minute");
}

/// Where no keys come the server starts nevertheless, accepts no token and logs the reason; known keys
/// stay known where the next answer is none.
#[test]
fn keys_that_do_not_come() {
    let (one, two) = (Signer::new("one"), Signer::new("two"));
    let keys = Keys::serve(answer(500, &json!({})), None);
    let url = format!("http://{}/", keys.address);
    let world = World::with(|options| options.auth.jwt = jwt(url.clone(), None));
    assert_eq!(status(&world, &one.token()), 503, "they may come");
    let checked = |url: String| {
        let mut options: Options = options();
        options.auth.jwt = jwt(url, None);
        options.check().expect_err("they do not come").to_string()
    };
    assert!(checked(url.clone()).contains("the answer is 500"), "{}", checked(url.clone()));
    keys.say(answer(200, &json!({"keys": [{"kty": "oct"}]})));
    assert!(checked(url.clone()).contains("no RSA and no P-256 key"), "{}", checked(url.clone()));
    keys.say("nonsense\r\n\r\n".to_owned());
    assert!(checked(url.clone()).contains(&url), "{}", checked(url.clone()));

    let keys = Keys::serve(answer(200, &json!({"keys": [one.key()]})), None);
    let url = format!("http://{}/", keys.address);
    let world = World::with(|options| options.auth.jwt = jwt(url, None));
    assert_eq!(status(&world, &one.token()), 200);
    keys.say(answer(404, &json!({})));
    assert_eq!(status(&world, &two.token()), 401);
    assert_eq!((status(&world, &one.token()), keys.asked()), (200, 2), "what was known holds");
}

/// Over TLS the one who is asked must be who they say they are.
#[test]
fn keys_over_tls() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/server/tls");
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
    let chain = CertificateDer::pem_slice_iter(&read("certificate.pem"))
        .collect::<Result<Vec<_>, _>>()
        .expect("certificates");
    let key = PrivateKeyDer::from_pem_slice(&read("key.pem")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .expect("a configuration");
    let signer = Signer::new("one");
    let keys = Keys::serve(answer(200, &json!({"keys": [signer.key()]})), Some(Arc::new(config)));
    let url = format!("https://localhost:{}/", keys.address.port());
    let world = World::with(|options| {
        options.auth.jwt = jwt(url.clone(), Some(&folder.join("authority.pem")));
    });
    assert_eq!(status(&world, &signer.token()), 200);
    // The system does not know the authority that signed its certificate.
    let mut strangers = options();
    strangers.auth.jwt = jwt(url, None);
    let refused = strangers.check().expect_err("nobody vouches for it").to_string();
    assert!(refused.contains("certificate"), "{refused}");
}
