//! Following: changes as they happen, and what was missed.

use std::time::Duration;

use crate::world::{Client, World};

/// A stream of events.
struct Events {
    client: Client,
    /// Received text that was not looked at yet.
    text: String,
}

impl Events {
    /// The next line.
    #[track_caller]
    fn line(&mut self) -> String {
        loop {
            if let Some((line, rest)) = self.text.split_once('\n') {
                let (line, rest) = (line.to_owned(), rest.to_owned());
                self.text = rest;
                return line;
            }
            let chunk = self.client.chunk().expect("the stream goes on");
            assert!(!chunk.is_empty(), "the stream has an end");
            self.text += &String::from_utf8(chunk).expect("text");
        }
    }

    /// The next event with data: its data, and the identity after it.
    #[track_caller]
    fn event(&mut self) -> (serde_json::Value, String) {
        let mut data = None::<serde_json::Value>;
        loop {
            let line = self.line();
            if let Some(text) = line.strip_prefix("data: ") {
                data = Some(serde_json::from_str(text).expect("is JSON"));
            }
            if let (Some(data), Some(id)) = (&data, line.strip_prefix("id: ")) {
                return (data.clone(), id.to_owned());
            }
        }
    }
}

#[track_caller]
fn follow(world: &World, address: &str, headers: &[(&str, &str)]) -> Events {
    let mut client = world.client();
    client.send(&format!("GET {address}"), headers, b"");
    let (status, head) = client.head();
    assert_eq!(status, 200);
    let kind = head.iter().find(|(name, _)| name == "content-type").expect("a type");
    assert_eq!(kind.1, "text/event-stream");
    Events { client, text: String::new() }
}

/// A subscriber gets each change, and a subscriber that reconnects gets the changes that it missed.
#[test]
fn changes_as_they_happen() {
    let world = World::with(|options| options.limits.heartbeat = Duration::from_millis(100));
    let articles = world.database.collection("articles").expect("made");
    let other = world.database.collection("other").expect("made");
    articles.put("a", "{\"n\":1,\"m\":1}").expect("put");
    let mut client = follow(&world, "/v1/changes?collection=articles&path=$.n&diff=true", &[]);
    other.put("x", "{}").expect("put");
    articles.edit("a", |edit| edit.set("$.m", "2")).expect("edits");
    articles.edit("a", |edit| edit.set("$.n", "2")).expect("edits");
    let (data, id) = client.event();
    assert_eq!((&data["key"], &data["revision"]), (&"a".into(), &3.into()));
    assert_eq!(data["changes"][0]["old"], 1);
    drop(client);

    articles.put("b", "[]").expect("put");
    articles.remove("b").expect("removes");
    let mut client = follow(&world, "/v1/changes?collection=articles", &[("last-event-id", &id)]);
    let (data, _) = client.event();
    assert_eq!((&data["key"], &data["deleted"]), (&"b".into(), &false.into()));
    let (data, id) = client.event();
    assert_eq!((&data["key"], &data["deleted"]), (&"b".into(), &true.into()));
    assert_eq!(id, world.database.newest().0.to_string());
    // Where nothing happens there is a sign of life.
    while client.line() != ": still here" {}
}

/// Changes from before the server began come from the lists of revisions, in the order of commits.
/// A commit of many documents is one step for a subscriber that reconnects.
#[test]
fn changes_of_the_past() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = anywhen::Database::create(folder.path().join("db")).expect("made");
    let collection = database.collection("c").expect("made");
    for n in 0..300 {
        collection.put(&format!("k{}", n % 30), format!("{{\"n\":{n}}}")).expect("put");
    }
    let mut together = database.begin().expect("begins");
    for key in ["k1", "k2", "k3"] {
        together.collection("c").expect("there").put(key, "[]").expect("put");
    }
    together.commit().expect("commits");
    let newest = database.newest();
    drop(collection);
    database.close().expect("closes");

    let database = anywhen::Database::open(folder.path().join("db")).expect("opens");
    let options = crate::world::options();
    let handle = anywhen_http::Server::start(database, options).expect("listens");
    let mut client = Client::connect(handle.addresses()[0]);
    let answer =
        client.ask(&format!("GET /v1/changes?from=0&until={newest}", newest = newest.0), &[], b"");
    let text = answer.text();
    let csns: Vec<u64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str::<serde_json::Value>(data).expect("is JSON"))
        .map(|data| data["csn"].as_u64().expect("a number"))
        .collect();
    assert_eq!(csns.len(), 303);
    assert!(csns.is_sorted());
    assert_eq!(csns[300..], [newest.0; 3]);
    let ids = text.lines().filter(|line| **line == format!("id: {}", newest.0)).count();
    assert!(ids >= 1 && text.ends_with(&format!("id: {}\n\n", newest.0)));
}

/// The events of a stream that has an end, one a line: `id: 7` where a commit is over, else its kind and
/// the part of its data that is the same every time.
#[track_caller]
fn told(client: &mut Client, address: &str) -> Vec<String> {
    let answer = client.ask(&format!("GET {address}"), &[], b"");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.is_whole, "the stream breaks off");
    let (mut told, mut kind) = (Vec::new(), String::new());
    for line in answer.text().lines() {
        match line.split_once(": ") {
            Some(("event", name)) => kind = name.to_owned(),
            Some(("data", data)) => {
                let data: serde_json::Value = serde_json::from_str(data).expect("is JSON");
                let name = data["collection"].as_str().expect("a name");
                let document = match (data["key"].as_str(), data["revision"].as_u64()) {
                    (Some(key), Some(revision)) => format!("/{key} {revision}"),
                    _ => String::new(),
                };
                assert!(data["time"].is_string(), "{data}");
                told.push(format!("{kind} {name}{document}"));
            }
            Some(("id", _)) => told.push(line.to_owned()),
            _ => {}
        }
    }
    told
}

/// A collection that was dropped was forgotten: a subscriber that came again from before that got
/// neither its changes nor its end, and one that followed it alone was disconnected without an event.
/// Now its changes come as they were, then its end, and there a stream of it alone ends.
#[test]
fn a_collection_that_is_dropped_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = anywhen::Database::create(folder.path().join("db")).expect("made");
    let articles = database.collection("articles").expect("made");
    articles.put("a", "{\"n\":1}").expect("put");
    articles.put("a", "{\"n\":2}").expect("put");
    database.collection("other").expect("made").put("x", "1").expect("put");
    let server = |database: &anywhen::Database| {
        anywhen_http::Server::start(database.clone(), crate::world::options()).expect("listens")
    };
    let handle = server(&database);
    let mut client = Client::connect(handle.addresses()[0]);
    client.send("GET /v1/changes?collection=articles&from=0", &[], b"");
    assert_eq!(client.head().0, 200);
    let mut events = Events { client, text: String::new() };
    assert_eq!(events.event().0["revision"], 1);
    assert_eq!(events.event().0["revision"], 2);
    assert!(database.drop_collection("articles").expect("drops"));
    let dropped = database.newest().0;
    let again = database.collection("articles").expect("made");
    again.put("a", "\"another\"").expect("put");
    let (data, id) = events.event();
    assert_eq!(data["csn"], dropped);
    assert_eq!((&data["collection"], &data["key"]), (&"articles".into(), &().into()));
    assert_eq!(id, dropped.to_string());
    while let Some(chunk) = events.client.chunk() {
        let text = String::from_utf8(chunk).expect("text");
        assert!(!text.contains("event"), "{text}");
        if text.is_empty() {
            break;
        }
    }

    let newest = database.newest().0;
    let ask = |database: &anywhen::Database, address: &str| {
        let handle = server(database);
        told(&mut Client::connect(handle.addresses()[0]), address)
    };
    let all = ["change articles/a 1", "id: 2", "change articles/a 2", "id: 3"];
    let of_one = [&all[..], &["dropped articles", "id: 6"]].concat();
    let of_all = [&all[..], &["change other/x 1", "id: 5", "dropped articles", "id: 6"]].concat();
    let of_all = [&of_all[..], &["change articles/a 1", "id: 8"]].concat();
    let check = |database: &anywhen::Database| {
        assert_eq!(ask(database, "/v1/changes?from=0&collection=articles"), of_one);
        assert_eq!(ask(database, &format!("/v1/changes?from=0&until={newest}")), of_all);
        let rest = ask(database, "/v1/changes?from=6&until=8&collection=articles");
        assert_eq!(rest, ["change articles/a 1", "id: 8"]);
        let diffs = ask(database, "/v1/changes?from=0&collection=articles&path=$.n&diff=true");
        assert_eq!(diffs, of_one);
    };
    // From memory, and from the lists of revisions.
    check(&database);
    handle.shutdown();
    drop((articles, again));
    database.close().expect("closes");
    let database = anywhen::Database::open(folder.path().join("db")).expect("opens");
    check(&database);
}

/// The same of a table: one that is truncated goes on, and what is in it by that commit comes after it.
#[test]
fn a_table_that_is_truncated_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = anywhen::Database::create(folder.path().join("db")).expect("made");
    let run = |text: &str| drop(database.sql(text, &[]).expect(text));
    run("CREATE TABLE t (id text PRIMARY KEY, doc jsonb) USING document");
    let before = database.newest().0;
    run("INSERT INTO t VALUES ('a', '{\"n\":1}')");
    run("UPDATE t SET doc = '{\"n\":2}'");
    let mut together = database.connect().expect("connects");
    for text in ["BEGIN", "TRUNCATE t", "INSERT INTO t VALUES ('b', '1')", "COMMIT"] {
        together.execute(text, &[]).expect(text);
    }
    drop(together);
    run("UPDATE t SET doc = '2'");
    run("DROP TABLE t");
    let newest = database.newest().0;
    let wanted: Vec<String> = [
        "change t/a 1",
        &format!("id: {}", before + 1),
        "change t/a 2",
        &format!("id: {}", before + 2),
        "truncated t",
        "change t/b 1",
        &format!("id: {}", before + 3),
        "change t/b 2",
        &format!("id: {}", before + 4),
        "dropped t",
        &format!("id: {newest}"),
    ]
    .map(str::to_owned)
    .to_vec();
    let ask = |database: &anywhen::Database, more: &str| {
        let options = crate::world::options();
        let handle = anywhen_http::Server::start(database.clone(), options).expect("listens");
        let address = format!("/v1/changes?from={before}{more}");
        told(&mut Client::connect(handle.addresses()[0]), &address)
    };
    assert_eq!(ask(&database, "&collection=t"), wanted);
    database.close().expect("closes");
    let database = anywhen::Database::open(folder.path().join("db")).expect("opens");
    assert_eq!(ask(&database, "&collection=t"), wanted);
    assert_eq!(ask(&database, &format!("&until={newest}")), wanted);
    assert_eq!(ask(&database, "&collection=t&path=$.n"), wanted);
}

/// A client that asks for changes after a future commit has another database in mind: the stream began
/// all the same, and told nothing until then. An unknown collection or document is refused too.
#[test]
fn what_cannot_be_followed_is_said() {
    let world = World::new();
    world.database.collection("c").expect("made").put("a", "1").expect("put");
    let newest = world.database.newest().0;
    let answer = world.ask(&format!("GET /v1/changes?from={}", newest + 1), "");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains(&format!("the newest is {newest}")), "{}", answer.text());
    let late = (newest + 7).to_string();
    let answer = world.client().ask("GET /v1/changes", &[("last-event-id", &late)], b"");
    assert_eq!(answer.status, 400);
    assert_eq!(world.ask("GET /v1/changes?from=0&collection=none", "").status, 404);
}
