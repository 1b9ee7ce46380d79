//! Following: changes as they happen, and what was missed.

use std::time::Duration;

use crate::world::{Client, World};

/// A stream of events.
struct Events {
    client: Client,
    /// What came and was not looked at yet.
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

/// Whoever follows is told of each change, and whoever comes again of what was missed meanwhile.
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

/// What was written before the server began is told from the lists of revisions, in the order of
/// commits, and a commit of many documents is one step for whoever comes again.
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
