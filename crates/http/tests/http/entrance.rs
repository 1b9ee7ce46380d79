//! Sign-in and rights of callers.

use anywhen::Database;
use anywhen_http::{Auth, Jwt, KeySet, Options, Rights, Server, TokenFile};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use vfs::{Env, FaultKind, FaultPlan, OpClasses, SimVfs};

use crate::world::{Response, World, options};

fn rights(roles: &[&str]) -> Rights {
    let mut rights = Rights::default();
    roles.iter().for_each(|role| rights.add(role).expect("a role"));
    rights
}

#[track_caller]
fn ask(world: &World, head: &str, token: &str, body: &str) -> Response {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    world.client().ask(head, &headers, body.as_bytes())
}

/// A token opens what its roles name and nothing else, signs what is written with it, and ends at once
/// when it is revoked.
#[test]
fn tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = TokenFile::new(folder.path().join("http-tokens"));
    let (_, all) =
        file.create("ada", rights(&["view", "create", "modify", "delete"]), None).expect("makes");
    let (reader, one) = file.create("bob", rights(&["orders-view"]), None).expect("makes");
    let (_, old) = file.create("old", rights(&["view"]), Some(1)).expect("makes");
    assert!(
        !std::fs::read_to_string(folder.path().join("http-tokens")).expect("a file").contains(&all)
    );
    let path = folder.path().join("http-tokens");
    let world = World::with(|options| options.auth.tokens = Some(path));

    let answer = world.ask("GET /orders/a", "");
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(ask(&world, "GET /", "aw_nonsense", "").status, 401);
    assert_eq!(ask(&world, "GET /", &old, "").status, 401, "it has expired");
    for open in ["/health", "/ready", "/metrics", "/openapi.yaml"] {
        assert_eq!(world.ask(&format!("GET {open}"), "").status, 200, "{open}");
    }

    assert_eq!(ask(&world, "PUT /orders/a", &all, "{\"n\":1}").status, 201);
    assert_eq!(ask(&world, "PUT /people/a", &all, "{}").status, 201);
    assert_eq!(ask(&world, "PUT /orders/a?author=bob", &all, "{}").status, 403, "not in her name");
    let history = ask(&world, "GET /orders/a/history", &one, "").json();
    assert_eq!(history["history"][0]["author"], "ada");

    assert_eq!(ask(&world, "GET /orders/a", &one, "").status, 200);
    assert_eq!(ask(&world, "GET /people/a", &one, "").status, 403);
    assert_eq!(ask(&world, "PUT /orders/a", &one, "{}").status, 403);
    assert_eq!(ask(&world, "PUT /orders/new", &one, "{}").status, 403);
    assert_eq!(ask(&world, "DELETE /orders/a", &one, "").status, 403);
    assert_eq!(ask(&world, "DELETE /orders/a?nodeId=2", &one, "").status, 403);
    assert_eq!(ask(&world, "DELETE /orders", &one, "").status, 403);
    assert_eq!(ask(&world, "POST /v1/sql", &one, "{\"sql\":\"SELECT 1\"}").status, 403);
    let shown = ask(&world, "GET /?withResources=true", &one, "").json();
    assert_eq!(shown["databases"].as_array().expect("a list").len(), 1);
    let until = world.database.newest().0;
    let events = ask(&world, &format!("GET /v1/changes?from=0&until={until}"), &one, "");
    assert!(events.text().contains("orders") && !events.text().contains("people"));
    let told = ask(&world, "GET /token", &one, "").json();
    assert_eq!(told, json!({"name": "bob", "roles": ["orders-view"], "sql_role": null}));

    assert!(file.revoke(&reader.id).expect("revokes"));
    assert!(!file.revoke(&reader.id).expect("looks"));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(ask(&world, "GET /orders/a", &one, "").status, 401, "it was revoked");
}

/// A browser signs in once: from then on a cookie, with a header that no page of another origin can send, stands for
/// its token. Neither of the two alone gives access. The session ends when the browser signs out, and with its token.
#[test]
fn sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = TokenFile::new(folder.path().join("http-tokens"));
    let (known, token) = file.create("ada", rights(&["view", "create"]), None).expect("makes");
    let path = folder.path().join("http-tokens");
    let world = World::with(|options| {
        options.auth.tokens = Some(path);
        options.cors = vec!["https://app.example".to_owned()];
    });
    let begun = ask(&world, "POST /v1/session", &token, "");
    assert_eq!(begun.status, 200);
    assert_eq!(
        (&begun.json()["name"], begun.header("cache-control")),
        (&json!("ada"), Some("no-store"))
    );
    let cookie = begun.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    assert!(!cookie.contains(&token), "{cookie}");
    let pair = cookie.split(';').next().expect("a name and a value");
    let cookies = format!("other=1; {pair}");
    let status =
        |head: &str, headers: &[(&str, &str)]| world.client().ask(head, headers, b"").status;
    let both = [("cookie", cookies.as_str()), ("anywhen-session", "cookie")];
    assert_eq!(status("GET /token", &both), 200);
    assert_eq!(status("GET /v1/collections", &both), 200);
    assert_eq!(status("DELETE /v1/collections/c", &both), 403, "the rights are those of the token");
    for headers in [
        &[("cookie", cookies.as_str())][..],
        &[("anywhen-session", "cookie")],
        &[("cookie", "anywhen-session="), ("anywhen-session", "cookie")],
        &[("cookie", &format!("{pair}x")), ("anywhen-session", "cookie")],
        // A token that is sent counts, whatever the cookie says.
        &[both[0], both[1], ("authorization", "Bearer aw_nonsense")],
    ] {
        assert_eq!(status("GET /v1/collections", headers), 401, "{headers:?}");
        assert_eq!(status("POST /v1/session", headers), 401, "{headers:?}");
    }
    assert_eq!(status("POST /v1/session", &both), 401, "a session does not beget another");
    for header in [("origin", "https://evil.example"), ("sec-fetch-site", "same-site")] {
        assert_eq!(status("GET /v1/collections", &[both[0], both[1], header]), 403, "{header:?}");
    }
    // A page whose origin is allowed may send tokens, and the answer says that it may not send this
    // header.
    let preflight = world.client().ask(
        "OPTIONS /v1/collections",
        &[
            ("origin", "https://app.example"),
            ("access-control-request-method", "GET"),
            ("access-control-request-headers", "anywhen-session"),
        ],
        b"",
    );
    let allowed = preflight.header("access-control-allow-headers").unwrap_or_default();
    assert!(!allowed.contains("anywhen-session"), "{allowed}");
    assert_eq!(preflight.header("access-control-allow-credentials"), None);
    // Over TLS, also before a proxy, only this host may set the cookie, and it never goes out in the clear.
    let bearer = format!("Bearer {token}");
    let host = world.client().ask(
        "POST /v1/session",
        &[("authorization", &bearer), ("host", "db.example"), ("origin", "https://db.example")],
        b"",
    );
    let secure = host.header("set-cookie").expect("a cookie");
    assert!(
        secure.starts_with("__Host-anywhen-session=") && secure.ends_with("; Secure"),
        "{secure}"
    );
    // It is found under this name alone, and the plain name, which other hosts of the site can set, not beside it.
    let secure = secure.split(';').next().expect("a name and a value");
    let mark = ("anywhen-session", "cookie");
    assert_eq!(status("GET /token", &[("cookie", secure), mark]), 200);
    let renamed = secure.strip_prefix("__Host-").expect("the name over TLS");
    assert_eq!(status("GET /token", &[("cookie", renamed), mark]), 401);
    let planted = format!("{pair}; __Host-anywhen-session=gone");
    assert_eq!(status("GET /token", &[("cookie", planted.as_str()), mark]), 401);

    assert_eq!(status("DELETE /v1/session", &[("cookie", cookies.as_str())]), 204);
    assert_eq!(status("GET /token", &both), 200, "a cookie alone ends nothing");
    let ended = world.client().ask("DELETE /v1/session", &both, b"");
    assert!(ended.header("set-cookie").is_some_and(|cookie| cookie.ends_with("Max-Age=0")));
    assert_eq!(status("GET /token", &both), 401);

    // A sign-in ends the session that its own request carries.
    let old = ask(&world, "POST /v1/session", &token, "");
    let old = old.header("set-cookie").and_then(|cookie| cookie.split(';').next());
    let old = old.expect("a cookie").to_owned();
    let headers = [("authorization", bearer.as_str()), ("cookie", old.as_str())];
    assert_eq!(status("POST /v1/session", &headers), 200);
    assert_eq!(status("GET /token", &[("cookie", old.as_str()), mark]), 401);

    let again = ask(&world, "POST /v1/session", &token, "");
    let pair =
        again.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let both = [("cookie", pair), ("anywhen-session", "cookie")];
    assert_eq!(status("GET /token", &both), 200);
    assert!(file.revoke(&known.id).expect("revokes"));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(status("GET /token", &both), 401, "its token was revoked");
}

/// Eight clients with a token that may only create put the same new document at once: one of them creates it,
/// and none changes it. The right was chosen before the lock of the write, and so most of them overwrote what
/// another had created a moment before.
#[test]
fn who_may_only_create_overwrites_nothing() {
    const CLIENTS: usize = 8;
    const KEYS: usize = 25;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("http-tokens");
    let file = TokenFile::new(&path);
    let (_, creator) = file.create("carl", rights(&["create"]), None).expect("makes");
    let world = World::with(|options| options.auth.tokens = Some(path));
    let bearer = format!("Bearer {creator}");
    let headers = [("authorization", bearer.as_str())];
    for (name, route) in [
        ("a", "PUT /a/"),
        ("b", "PUT /v1/collections/b/documents/"),
        ("c", "POST /v1/transactions"),
    ] {
        // The routes of documents make the collection on the fly, all of them at once.
        if name == "c" {
            world.database.collection(name).expect("made");
        }
        for key in 0..KEYS {
            let start = std::sync::Barrier::new(CLIENTS);
            let mut statuses: Vec<u16> = std::thread::scope(|scope| {
                let client = |n: usize| {
                    let mut client = world.client();
                    let (start, headers) = (&start, &headers);
                    scope.spawn(move || {
                        let value = json!({ "by": n });
                        let put = json!({"op": "put", "collection": name, "key": format!("k{key}"),
                            "value": value});
                        let (head, body) = match name {
                            "c" => (route.to_owned(), json!({ "operations": [put] })),
                            _ => (format!("{route}k{key}"), value),
                        };
                        start.wait();
                        client.ask(&head, headers, body.to_string().as_bytes()).status
                    })
                };
                let clients: Vec<_> = (0..CLIENTS).map(client).collect();
                clients.into_iter().map(|client| client.join().expect("it is answered")).collect()
            });
            statuses.sort_unstable();
            let created = if name == "c" { 200 } else { 201 };
            assert_eq!(
                (statuses[0], &statuses[1..]),
                (created, &[403; CLIENTS - 1][..]),
                "{route}"
            );
            let collection = world.database.find_collection(name).expect("it is there");
            let history = collection.history(&format!("k{key}"), 9).expect("reads");
            assert_eq!(history.len(), 1, "{route} k{key}: nobody has changed it");
        }
    }
}

/// To bring back a document that was removed is to create it.
#[test]
fn who_may_only_modify_brings_nothing_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("http-tokens");
    let file = TokenFile::new(&path);
    let (_, modifier) = file.create("mona", rights(&["modify"]), None).expect("makes");
    let (_, creator) = file.create("carl", rights(&["create"]), None).expect("makes");
    let world = World::with(|options| options.auth.tokens = Some(path));
    let docs = world.database.collection("docs").expect("made");
    docs.put("d", "1").expect("puts");
    docs.put("d", "2").expect("puts");
    let revert = "POST /v1/collections/docs/documents/d/revert?revision=1";
    assert_eq!(ask(&world, revert, &creator, "").status, 403);
    assert_eq!(ask(&world, revert, &modifier, "").status, 200);
    docs.remove("d").expect("removes");
    assert_eq!(ask(&world, revert, &modifier, "").status, 403);
    assert_eq!(ask(&world, revert, &creator, "").status, 200);
}

/// A token that another signs, as its claims say.
fn signed(key: &EcdsaKeyPair, header: Value, claims: Value) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = key.sign(&SystemRandom::new(), message.as_bytes()).expect("signs");
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// JSON web tokens are let in where a known key has signed them, they hold now, and are meant for us.
#[test]
fn json_web_tokens() {
    let random = SystemRandom::new();
    let pair = || {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key")
    };
    let (known, unknown) = (pair(), pair());
    let point = known.public_key().as_ref();
    let code = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let keys = json!({"keys": [{
        "kty": "EC", "crv": "P-256", "kid": "k1", "use": "sig",
        "x": code(&point[1..33]), "y": code(&point[33..]),
    }]});
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys.json");
    std::fs::write(&path, keys.to_string()).expect("a file");
    let world = World::with(|options| {
        let (issuer, audience) = (Some("us".to_owned()), Some("anywhen".to_owned()));
        options.auth.jwt = Some(Jwt { keys: KeySet::File(path), issuer, audience });
    });
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("now");
    let now = now.as_secs();
    let head = json!({"alg": "ES256", "kid": "k1"});
    let claims = json!({
        "sub": "carol", "iss": "us", "aud": ["x", "anywhen"], "exp": now + 600,
        "roles": ["view", "of another system"], "realm_access": {"roles": ["create"]},
    });
    let good = signed(&known, head.clone(), claims.clone());
    let told = ask(&world, "GET /token", &good, "").json();
    assert_eq!(told, json!({"name": "carol", "roles": ["view", "create"], "sql_role": null}));
    assert_eq!(ask(&world, "PUT /d/r", &good, "{}").status, 201);
    assert_eq!(ask(&world, "DELETE /d/r", &good, "").status, 403);

    let with = |name: &str, value: Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        signed(&known, head.clone(), claims)
    };
    // The role of SQL is the one that the issuer names, or the subject; never a name that people choose themselves.
    let mut session = world.database.connect().expect("connects");
    for role in ["carol LOGIN", "dave LOGIN", "eve SUPERUSER LOGIN"] {
        session.execute(&format!("CREATE ROLE {role}"), &[]).expect("made");
    }
    let role = |token: &str| ask(&world, "GET /token", token, "").json()["sql_role"].clone();
    assert_eq!(role(&good), "carol");
    assert_eq!(role(&with("preferred_username", json!("dave"))), "carol");
    assert_eq!(role(&with("sql_role", json!("dave"))), "dave");
    assert_eq!(role(&with("sql_role", json!("nobody"))), Value::Null);
    assert_eq!(role(&with("sub", json!("eve"))), Value::Null, "a superuser must be named");
    let mut chosen = claims.clone();
    (chosen["sub"], chosen["preferred_username"]) = (Value::Null, json!("carol"));
    assert_eq!(role(&signed(&known, head.clone(), chosen)), Value::Null);
    let none = format!("{}.", good.rsplit_once('.').expect("a point").0);
    let unsigned = signed(&known, json!({"alg": "none"}), claims.clone());
    let other = signed(&known, json!({"alg": "ES256", "kid": "k2"}), claims.clone());
    let mut changed = good.clone();
    changed.replace_range(40..41, if &good[40..41] == "A" { "B" } else { "A" });
    for (bad, why) in [
        (signed(&unknown, head.clone(), claims.clone()), "an unknown key"),
        (with("exp", json!(now - 600)), "it has expired"),
        (with("exp", Value::Null), "it has no end"),
        (with("sub", Value::Null), "it names nobody"),
        (with("nbf", json!(now + 600)), "not yet"),
        (with("iss", json!("them")), "another issuer"),
        (with("aud", json!("them")), "another audience"),
        (none, "no signature"),
        (unsigned, "no algorithm"),
        (other, "another key"),
        (changed, "another text"),
        ("a.b".to_owned(), "no token"),
    ] {
        assert_eq!(ask(&world, "GET /", &bad, "").status, 401, "{why}");
    }
}

/// Where other machines could connect, callers must sign in: else the server does not start.
#[test]
fn open_to_others_is_refused() {
    let database = anywhen::Database::open_in_memory().expect("opens");
    let listen = vec![([0, 0, 0, 0], 0).into()];
    let open = Options { listen: listen.clone(), ..options() };
    let refused = Server::start(database.clone(), open).expect_err("everybody could come in");
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    let folder = tempfile::tempdir().expect("a folder");
    let auth = Auth { tokens: Some(folder.path().join("tokens")), jwt: None };
    let asked = Options { listen, auth, ..options() };
    Server::start(database, asked).expect("somebody asks").shutdown();
}

/// While writes are refused the server is not ready, and says why: as long as the disk is full, and for good
/// after a failed sync. The server keeps running and answers reads.
#[test]
fn readiness_follows_the_disk() {
    let disk = SimVfs::new(7);
    let path = std::path::Path::new("/data");
    let open =
        |env: &Env| Database::open_env(env, path, anywhen::Options::default()).expect("opens");
    let world = World::on(open(&Env::sim(&disk, 7)), options());
    let put = |name: &str| {
        let document = format!("{{\"text\":\"{}\"}}", "x".repeat(20_000));
        world.ask(&format!("PUT /orders/{name}"), &document).status
    };
    assert_eq!((put("a"), world.ask("GET /ready", "").status), (201, 200));
    disk.leave(0);
    let full = (0..1_000).any(|number| put(&format!("n{number}")) == 503);
    assert!(full, "the disk is full some time");
    let answer = world.ask("GET /ready", "");
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.text().contains("the disk is full"), "{}", answer.text());
    assert_eq!(world.ask("GET /health", "").status, 200);
    assert_eq!(world.ask("GET /orders/a", "").status, 200, "reads go on");
    // Nobody writes meanwhile: the disk itself is asked.
    disk.leave(u64::MAX);
    assert_eq!(world.ask("GET /ready", "").status, 200);
    assert_eq!(put("b"), 201);

    disk.fail(FaultPlan { nth: 0, kind: FaultKind::Eio, once: true, on: OpClasses::SYNC });
    assert!(put("c") >= 500);
    let answer = world.ask("GET /ready", "");
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("takes no more writes"), "{}", answer.text());
    drop(world.shutdown());
    let world = World::on(open(&Env::sim(&disk, 7)), options());
    assert_eq!(world.ask("GET /ready", "").status, 200, "opened again");
}
