//! Tokens stand for roles of SQL: one set of rights for statements and for documents.

use anywhen::Database;
use anywhen_http::{Rights, TokenFile};
use serde_json::{Value, json};

use crate::world::{Response, World};

const ALL: [&str; 4] = ["view", "create", "modify", "delete"];

/// A server with tokens, and the folder of their file.
struct Entrance {
    world: World,
    file: TokenFile,
    _folder: tempfile::TempDir,
}

impl Entrance {
    fn new() -> Entrance {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("http-tokens");
        let file = TokenFile::new(&path);
        let world = World::with(|options| options.auth.tokens = Some(path));
        Entrance { world, file, _folder: folder }
    }

    /// A token that names a role of SQL, or none, once the server knows it: within a second or so.
    fn token(&self, name: &str, roles: &[&str], sql_role: Option<&str>) -> String {
        let mut rights = Rights::default();
        roles.iter().for_each(|role| rights.add(role).expect("a role"));
        let made = self.file.create_for_role(name, rights, None, sql_role).expect("makes");
        let is_known = || self.ask("GET /token", &made.1, "").status == 200;
        for _ in 0..200 {
            if is_known() {
                return made.1;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("the server does not learn of the token of {name}");
    }

    fn ask(&self, head: &str, token: &str, body: &str) -> Response {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.world.client().ask(head, &headers, body.as_bytes())
    }

    fn sql(&self, token: &str, text: &str) -> Response {
        self.ask("POST /v1/sql", token, &json!({ "sql": text }).to_string())
    }

    /// Statements of the superuser.
    fn setup(&self, texts: &[&str]) {
        let mut session = self.world.database.connect().expect("connects");
        for text in texts {
            session.execute(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
}

/// The author and the role of the newest change, as SQL shows them.
fn newest(database: &Database) -> (String, Option<String>) {
    let text = "SELECT author, role FROM commits ORDER BY version DESC LIMIT 1";
    let rows = database.sql(text, &[]).expect("it is told");
    let row = rows.get(0).expect("a commit");
    (row.get("author").expect("an author"), row.get("role").expect("a role"))
}

/// A statement runs as the role that the token stands for: with its grants, with SET ROLE as far as it may, and
/// never as a superuser by chance. Every token with all rights ran SQL as the superuser before.
#[test]
fn statements_run_as_the_role_of_the_token() {
    let entrance = Entrance::new();
    entrance.setup(&[
        "CREATE ROLE reporting LOGIN",
        "CREATE ROLE clerks",
        "CREATE ROLE ada LOGIN IN ROLE clerks NOINHERIT",
        "CREATE ROLE nobody_logs_in",
        "CREATE ROLE boss LOGIN SUPERUSER",
        "CREATE TABLE secret (n int)",
        "CREATE TABLE orders (n int)",
        "GRANT SELECT ON orders TO reporting",
        "GRANT SELECT, INSERT ON orders TO clerks",
    ]);
    let reporting = entrance.token("rita", &ALL, Some("reporting"));
    let answer = entrance.sql(&reporting, "SELECT current_user, session_user");
    assert_eq!(answer.json()["rows"], json!([["reporting", "reporting"]]), "{}", answer.text());
    assert_eq!(entrance.sql(&reporting, "SELECT * FROM orders").status, 200);
    for text in [
        "SELECT * FROM secret",
        "INSERT INTO orders VALUES (1)",
        "CREATE ROLE evil SUPERUSER",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "DROP TABLE orders",
    ] {
        let answer = entrance.sql(&reporting, text);
        assert_eq!(answer.json()["sqlstate"], "42501", "{text}: {}", answer.text());
        assert_eq!(answer.status, 403, "{text}");
    }

    // Without a role that it names it has the one with its own name, and what that may become.
    let ada = entrance.token("ada", &ALL, None);
    assert_eq!(entrance.sql(&ada, "SELECT current_user").json()["rows"], json!([["ada"]]));
    assert_eq!(entrance.sql(&ada, "SELECT * FROM orders").status, 403, "it inherits nothing");
    assert_eq!(entrance.sql(&ada, "SET ROLE clerks").status, 200);

    // Where there is none, or none that may log in, or a superuser that it does not name: no SQL.
    let told = entrance.ask("GET /token", &ada, "").json();
    assert_eq!(told, json!({"name": "ada", "roles": ALL, "sql_role": "ada"}));
    for (name, role) in
        [("carol", None), ("nobody_logs_in", None), ("boss", None), ("x", Some("nobody_logs_in"))]
    {
        let token = entrance.token(name, &ALL, role);
        let answer = entrance.sql(&token, "SELECT 1");
        assert_eq!(answer.status, 403, "{name}: {}", answer.text());
        assert!(answer.json()["hint"].is_string(), "{name}: {}", answer.text());
        let told = entrance.ask("GET /token", &token, "").json();
        assert_eq!(told["sql_role"], Value::Null, "{name}");
    }
    let boss = entrance.token("bob", &ALL, Some("boss"));
    assert_eq!(entrance.sql(&boss, "SELECT * FROM secret").status, 200, "it is named");
}

/// The rights of a token limit its role: SQL wants all rights in all collections, whatever the role may do.
#[test]
fn the_rights_of_a_token_limit_its_role() {
    let entrance = Entrance::new();
    entrance.setup(&["CREATE TABLE t (n int)"]);
    for roles in [&["view"][..], &["view", "create", "modify", "t-delete"], &["t-view"]] {
        let token = entrance.token("rita", roles, Some("postgres"));
        assert_eq!(entrance.sql(&token, "SELECT * FROM t").status, 403, "{roles:?}");
    }
    let token = entrance.token("rita", &ALL, Some("postgres"));
    assert_eq!(entrance.sql(&token, "SELECT * FROM t").status, 200);
}

/// A document of a table of SQL is read and written over HTTP as far as SQL lets the role: a token that may view
/// everything read tables before whose role was granted nothing.
#[test]
fn documents_of_tables_want_the_privileges_of_the_role() {
    let entrance = Entrance::new();
    entrance.setup(&[
        "CREATE ROLE ada LOGIN",
        "CREATE ROLE owner LOGIN",
        "CREATE TABLE docs (id text PRIMARY KEY, doc jsonb) USING document",
        "INSERT INTO docs VALUES ('a', '{\"n\": 1}')",
        "ALTER TABLE docs OWNER TO owner",
    ]);
    let (ada, carol) = (entrance.token("ada", &ALL, None), entrance.token("carol", &ALL, None));
    let owner = entrance.token("olga", &ALL, Some("owner"));
    entrance.world.database.collection("plain").expect("made").put("p", "1").expect("puts");
    // A collection that was made in nobody's name belongs to a role, of which others can be
    // members.
    entrance.setup(&["GRANT pg_collections TO ada", "GRANT SELECT ON plain TO owner"]);
    let v1 = |rest: &str| format!("/v1/collections/docs{rest}");
    let reads = [
        "/docs".to_owned(),
        "/docs/a".to_owned(),
        "/docs/a?revision=1".to_owned(),
        "/docs/a/history".to_owned(),
        "/docs/a/diff".to_owned(),
        v1(""),
        v1("/documents"),
        v1("/documents?timestamp=2100-01-01T00:00:00Z"),
        v1("/documents/a"),
        v1("/documents/a?csn=1000"),
        v1("/documents/a/node?path=$.n"),
        v1("/documents/a/node/history?path=$.n"),
        v1("/documents/a/versions"),
        v1("/documents/a/range"),
        v1("/documents/a/blame"),
        v1("/documents/a/paths"),
        v1("/documents/a/hash"),
        "/v1/changes?collection=docs&from=0&until=1".to_owned(),
    ];
    let read = |token: &str, wanted: u16| {
        for path in &reads {
            let answer = entrance.ask(&format!("GET {path}"), token, "");
            assert_eq!(answer.status, wanted, "{path}: {}", answer.text());
        }
        let is_there = wanted == 200;
        let listed = entrance.ask("GET /v1/collections", token, "").text();
        let databases = entrance.ask("GET /?withResources=true", token, "").text();
        let until = entrance.world.database.newest().0;
        let changes = entrance.ask(&format!("GET /v1/changes?from=0&until={until}"), token, "");
        for text in [listed, databases, changes.text()] {
            let told = (text.contains("plain"), text.contains("docs"));
            assert_eq!(told, (true, is_there), "{text}");
        }
    };
    let status = |head: String, token: &str, body: &str| entrance.ask(&head, token, body).status;
    let put = |key: &str, token: &str| {
        status(format!("PUT {}", v1(&format!("/documents/{key}"))), token, "{\"n\":7}")
    };
    let delete = |key: &str, token: &str| status(format!("DELETE /docs/{key}"), token, "");
    let put_in = |key: &str, token: &str| {
        let put = json!({"op": "put", "collection": "docs", "key": key, "value": {"n": 8}});
        status("POST /v1/transactions".to_owned(), token, &json!({"operations": [put]}).to_string())
    };
    read(&owner, 200);
    for token in [&ada, &carol] {
        read(token, 403);
        for key in ["a", "new"] {
            assert_eq!((put(key, token), delete("a", token), put_in(key, token)), (403, 403, 403));
        }
        assert_eq!(
            status(format!("POST {}", v1("/documents/a/revert?revision=1")), token, ""),
            403
        );
        assert_eq!(status("POST /docs/a?nodeId=1".to_owned(), token, "{\"x\":1}"), 403);
    }
    let answer = entrance.ask("GET /docs/a", &carol, "");
    assert!(answer.json()["hint"].is_string(), "she learns why: {}", answer.text());

    entrance.setup(&["GRANT SELECT (id, doc) ON docs TO ada"]);
    read(&ada, 200);
    assert_eq!((put("a", &ada), put("new", &ada)), (403, 403));
    entrance.setup(&["GRANT INSERT ON docs TO ada"]);
    assert_eq!((put("a", &ada), put_in("a", &ada), put("new", &ada)), (403, 403, 201));
    entrance.setup(&["GRANT UPDATE ON docs TO ada"]);
    assert_eq!((put("a", &ada), put_in("a", &ada), delete("a", &ada)), (200, 200, 403));
    entrance.setup(&["GRANT DELETE ON docs TO ada", "REVOKE SELECT (id, doc) ON docs FROM ada"]);
    assert_eq!(delete("new", &ada), 204);
    read(&ada, 403);
    // A privilege of everybody is also that of a token without a role.
    entrance.setup(&["GRANT SELECT ON docs TO PUBLIC"]);
    read(&carol, 200);
    entrance.setup(&["REVOKE USAGE ON SCHEMA public FROM PUBLIC"]);
    assert_eq!(status("GET /docs/a".to_owned(), &carol, ""), 403);
    assert_eq!(status("GET /plain/p".to_owned(), &carol, ""), 403, "it is in that schema as well");
    entrance.setup(&["GRANT USAGE ON SCHEMA public TO PUBLIC"]);

    // The table itself is its owner's.
    let history = format!("PATCH {}", v1(""));
    assert_eq!(status(history.clone(), &ada, "{\"history\":\"90d\"}"), 403);
    assert_eq!(status("DELETE /docs".to_owned(), &ada, ""), 403);
    assert_eq!(status(format!("DELETE {}", v1("")), &ada, ""), 403);
    assert_eq!(status(history, &owner, "{\"history\":\"90d\"}"), 200);
    assert_eq!(status("DELETE /docs".to_owned(), &owner, ""), 204);
    // The past of a table that was dropped is for its owner, and for superusers.
    let until = entrance.world.database.newest().0;
    let changes = format!("GET /v1/changes?from=0&until={until}");
    assert!(!entrance.ask(&changes, &ada, "").text().contains("docs"));
    assert!(entrance.ask(&changes, &owner, "").text().contains("docs"));
    let boss = entrance.token("bea", &ALL, Some("postgres"));
    assert!(entrance.ask(&changes, &boss, "").text().contains("docs"));
}

/// Lines of the release before, which knew no roles of SQL, are tokens as they were, for what is no table; they
/// stay as they are beside new ones.
#[test]
fn tokens_of_the_release_before() {
    let entrance = Entrance::new();
    let path = entrance._folder.path().join("http-tokens");
    let token = entrance.token("ada", &ALL, None);
    let written = std::fs::read_to_string(&path).expect("a file");
    let old = written.lines().last().expect("a line").to_owned();
    assert_eq!(old.split('\t').count(), 6, "a token without a role of SQL is written as before");
    entrance.token("bob", &["view"], Some("reporting"));
    let both = std::fs::read_to_string(&path).expect("a file");
    assert!(both.contains(&old) && both.ends_with("\tbob\treporting\n"), "{both}");
    let listed = entrance.file.list().expect("reads");
    let roles: Vec<Option<&str>> = listed.iter().map(|token| token.sql_role.as_deref()).collect();
    assert_eq!(roles, [None, Some("reporting")]);

    assert_eq!(entrance.ask("PUT /orders/a", &token, "{}").status, 201);
    assert_eq!(entrance.ask("GET /orders/a", &token, "").status, 200);
    assert_eq!(entrance.sql(&token, "SELECT 1").status, 403, "it is no superuser any more");
    assert!(entrance.file.create_for_role("x", Rights::default(), None, Some("a\tb")).is_err());
}

/// The author is the name that a writer gives; the role is the one that it has proved, and stays the same whatever
/// the writer gives: in SQL, in the versions of a document, in blame, and in the events of subscribers.
#[test]
fn the_role_of_a_commit_cannot_be_chosen() {
    let entrance = Entrance::new();
    let database = &entrance.world.database;
    entrance.setup(&[
        "CREATE ROLE app LOGIN",
        "CREATE TABLE docs (id text PRIMARY KEY, doc jsonb) USING document",
        "GRANT ALL ON docs TO app",
    ]);
    assert_eq!(newest(database).1, None, "the program that has the database open proves nothing");
    let (ada, carl) =
        (entrance.token("ada", &ALL, Some("app")), entrance.token("carl", &ALL, None));
    let insert = "INSERT INTO docs VALUES ('a', '{\"n\": 1}')";
    assert_eq!(entrance.sql(&ada, insert).status, 200);
    assert_eq!(newest(database), ("ada".to_owned(), Some("app".to_owned())));
    let forged = "WITH who AS (SELECT set_config('commit.author', 'grace', false) AS who) \
                  UPDATE docs SET doc['n'] = '2' FROM who WHERE who = 'grace'";
    let answer = entrance.sql(&ada, forged);
    assert_eq!(answer.json()["count"], 1, "{}", answer.text());
    assert_eq!(newest(database), ("grace".to_owned(), Some("app".to_owned())));
    assert_eq!(
        entrance.ask("PUT /plain/p?commitTimestamp=2001-02-03T04:05:06Z", &carl, "1").status,
        201
    );
    assert_eq!(newest(database), ("carl".to_owned(), Some("carl".to_owned())));

    entrance.setup(&["GRANT SELECT ON plain TO app"]);
    let get = |path: &str, token: &str| entrance.ask(&format!("GET {path}"), token, "").json();
    let versions = get("/v1/collections/docs/documents/a/versions", &ada);
    let told = |row: &Value| (row["author"].clone(), row["role"].clone());
    let forged = (json!("grace"), json!("app"));
    assert_eq!(told(&versions["versions"][0]), forged);
    let blame = get("/v1/collections/docs/documents/a/blame", &ada);
    assert!(blame["nodes"].as_array().expect("nodes").iter().any(|node| told(node) == forged));
    let until = database.newest().0;
    let changes = entrance.ask(&format!("GET /v1/changes?from=0&until={until}"), &ada, "").text();
    assert!(changes.contains("\"author\":\"grace\"") && changes.contains("\"role\":\"app\""));

    // The time at which the source made it comes with it.
    let when = json!("2001-02-03T04:05:06.000000Z");
    let document = "/v1/collections/plain/documents/p";
    assert_eq!(get(&format!("{document}/versions"), &carl)["versions"][0]["authored"], when);
    assert_eq!(get(&format!("{document}/versions/1"), &carl)["authored"], when);
    assert_eq!(get(&format!("{document}/blame"), &carl)["nodes"][0]["authored"], when);
    let runs = get(&format!("{document}/node/history?path=$"), &carl);
    assert_eq!(runs["versions"][0]["authored"], when);
    assert!(changes.contains(&format!("\"authored\":{when}")), "{changes}");
}

/// A revision is found by when it was made where it comes from: by `authored` on our own routes, and on those of
/// SirixDB, whose clients say `commitTimestamp`, by `revision-timestamp`.
#[test]
fn revisions_are_found_by_when_they_were_made() {
    let world = World::new();
    for (n, year) in [(1, 2001), (2, 2003)] {
        let put = format!("PUT /d/r?commitTimestamp={year}-01-01T00:00:00Z");
        assert!([200, 201].contains(&world.ask(&put, &n.to_string()).status));
    }
    assert_eq!(world.ask("PUT /d/r", "3").status, 200);
    for (at, found) in [("2000", "1"), ("2002", "1"), ("2004", "2"), ("2100", "3")] {
        let read = format!("GET /d/r?revision-timestamp={at}-06-01T00:00:00Z");
        assert_eq!(world.ask(&read, "").text(), found, "{at}");
    }
    let history = world.ask("GET /d/r/history", "").json();
    assert_eq!(history["history"][2]["revisionTimestamp"], "2001-01-01T00:00:00.000Z");
    let read = |parameters: &str| {
        let answer = world.ask(&format!("GET /v1/collections/d/documents/r?{parameters}"), "");
        (answer.status, answer.text())
    };
    assert_eq!(read("authored=2002-06-01T00:00:00Z"), (200, "1".to_owned()));
    assert_eq!(read("authored=2004-06-01T00:00:00Z"), (200, "2".to_owned()));
    assert_eq!(read("authored=2000-06-01T00:00:00Z").0, 404, "there was none yet");
    assert_eq!(read("timestamp=2004-06-01T00:00:00Z").0, 404, "nothing was committed by then");
    assert_eq!(read("authored=2004-06-01T00:00:00Z&revision=1").0, 400);
}

/// One request drops all databases, of all schemas, or none: the caller must own each of them, and no other object may
/// depend on one.
#[test]
fn all_databases_are_dropped_or_none() {
    let entrance = Entrance::new();
    entrance.setup(&[
        "CREATE ROLE ada LOGIN",
        "CREATE SCHEMA shop",
        "CREATE TABLE mine (id text PRIMARY KEY, doc jsonb) USING document",
        "CREATE TABLE shop.\"o'rders\" (id text PRIMARY KEY, doc jsonb) USING document",
        "CREATE TABLE rows (n int)",
        "CREATE VIEW seen AS SELECT * FROM mine",
        "GRANT ALL ON mine, shop.\"o'rders\" TO ada",
    ]);
    let ada = entrance.token("ada", &ALL, None);
    let of_one = entrance.token("one", &["view", "mine-delete"], Some("ada"));
    let owner = entrance.token("boss", &ALL, Some("postgres"));
    let all = || entrance.world.database.collections().len();
    assert_eq!(entrance.ask("DELETE /", &ada, "").status, 403);
    assert_eq!(entrance.ask("DELETE /", &of_one, "").status, 403);
    let refused = entrance.ask("DELETE /", &owner, "");
    assert_eq!((refused.status, all()), (422, 2), "{}", refused.text());
    entrance.setup(&["DROP VIEW seen"]);
    let done = entrance.ask("DELETE /", &owner, "");
    assert_eq!((done.status, all()), (204, 0), "{}", done.text());
    entrance.setup(&["SELECT * FROM rows"]);
    assert_eq!(entrance.ask("DELETE /", &owner, "").status, 204);
}

/// The name and the text of a token are a login; another name, an unknown token and a revoked one are none.
#[test]
fn a_token_is_a_password() {
    let entrance = Entrance::new();
    let token = entrance.token("ada", &ALL, None);
    let log_in = |name: &str, password: &str| {
        let body = json!({"username": name, "password": password, "grant_type": "password"});
        entrance.world.ask("POST /token", &body.to_string())
    };
    let done = log_in("ada", &token);
    assert_eq!(done.json()["access_token"], token.as_str(), "{}", done.text());
    assert_eq!(log_in("grace", &token).status, 401);
    assert_eq!(log_in("ada", "aw_unknown").status, 401);
    let again = json!({"refresh_token": token}).to_string();
    assert_eq!(entrance.world.ask("POST /token", &again).status, 200);
    let id = entrance.file.list().expect("tokens")[0].id.clone();
    entrance.file.revoke(&id).expect("revokes");
    for _ in 0..200 {
        if entrance.world.ask("POST /token", &again).status == 401 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("a revoked token still logs in");
}
