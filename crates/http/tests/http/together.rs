//! Transactions over many documents, by many clients at once.

use crate::world::World;
use serde_json::{Value, json};

/// Clients move amounts between accounts, each move one transaction with the versions that it has read:
/// the slower client gets an error, and no amount is created or lost. Clients that add without having
/// read anything never get one: the server runs their requests again.
#[test]
fn nothing_is_made_or_lost() {
    const ACCOUNTS: usize = 4;
    const MOVES: usize = 25;
    let world = World::new();
    let accounts = world.database.collection("accounts").expect("made");
    let log = world.database.collection("log").expect("made");
    for n in 0..ACCOUNTS {
        accounts.put(&format!("a{n}"), "{\"balance\":100}").expect("put");
    }
    log.put("all", "[]").expect("put");
    let ask = |operations: Value| {
        world.ask("POST /v1/transactions", &json!({"operations": operations}).to_string())
    };
    let read = |n: usize| {
        let answer = world.ask(&format!("GET /v1/collections/accounts/documents/a{n}"), "");
        let tag = answer.header("etag").expect("a tag").to_owned();
        (answer.json()["balance"].as_i64().expect("a number"), tag)
    };
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (ask, read) = (&ask, &read);
            scope.spawn(move || {
                let mut done = 0;
                while done < MOVES {
                    let (from, to) =
                        ((client + done) % ACCOUNTS, (client + 2 * done + 1) % ACCOUNTS);
                    if from == to {
                        done += 1;
                        continue;
                    }
                    let ((one, tag), (other, other_tag)) = (read(from), read(to));
                    let put = |n: usize, balance: i64, tag: &str| {
                        json!({"op": "put", "collection": "accounts", "key": format!("a{n}"),
                            "value": {"balance": balance}, "if_match": tag})
                    };
                    let answer =
                        ask(json!([put(from, one - 1, &tag), put(to, other + 1, &other_tag)]));
                    match answer.status {
                        200 => done += 1,
                        409 | 412 => {}
                        other => panic!("{other}: {}", answer.text()),
                    }
                }
            });
        }
        for client in 0..2 {
            let ask = &ask;
            scope.spawn(move || {
                for n in 0..MOVES {
                    let answer = ask(json!([
                        {"op": "insert_node", "collection": "log", "key": "all", "path": "$",
                            "value": format!("{client} {n}")},
                    ]));
                    // Others may be faster ten times in a row, though they have to be many for that.
                    assert!([200, 409].contains(&answer.status), "{}", answer.text());
                }
            });
        }
    });
    let total: i64 = (0..ACCOUNTS).map(|n| read(n).0).sum();
    assert_eq!(total, 100 * ACCOUNTS as i64);
    for n in 0..ACCOUNTS {
        for info in &accounts.history(&format!("a{n}"), usize::MAX).expect("reads") {
            let sum: i64 = (0..ACCOUNTS)
                .map(|n| {
                    let then = accounts.at(info.csn).get(&format!("a{n}")).expect("reads");
                    let text = then.map_or("{\"balance\":100}".to_owned(), |then| {
                        then.to_json().expect("writes")
                    });
                    let value: Value = serde_json::from_str(&text).expect("is JSON");
                    value["balance"].as_i64().expect("a number")
                })
                .sum();
            // Before all were there the others counted as full above.
            assert_eq!(sum, 100 * ACCOUNTS as i64, "at commit {}", info.csn.0);
        }
    }
}

/// An operation that a client may not do is refused in a transaction as well.
#[test]
fn rights_of_each_operation() {
    use anywhen_http::{Rights, TokenFile};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tokens");
    let mut rights = Rights::default();
    for role in ["orders-create", "orders-modify", "stock-view"] {
        rights.add(role).expect("a role");
    }
    let (_, token) = TokenFile::new(path.clone()).create("ada", rights, None).expect("makes");
    let world = World::with(|options| options.auth.tokens = Some(path));
    for name in ["orders", "stock"] {
        world.database.collection(name).expect("made").put("k", "{\"n\":1}").expect("put");
    }
    let ask = |operations: Value| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let body = json!({"operations": operations}).to_string();
        world.client().ask("POST /v1/transactions", &headers, body.as_bytes())
    };
    let put = |collection: &str, key: &str| json!({"op": "put", "collection": collection, "key": key, "value": 7});
    let delete = json!({"op": "delete", "collection": "orders", "key": "k"});
    let answer = ask(json!([put("orders", "k"), put("stock", "k")]));
    assert_eq!((answer.status, &answer.json()["operation"]), (403, &json!(1)), "{}", answer.text());
    assert_eq!(ask(json!([put("stock", "new")])).status, 403);
    assert_eq!(ask(json!([delete])).status, 403);
    assert_eq!(ask(json!([put("orders", "k"), put("orders", "new")])).status, 200);
    let history =
        world.database.collection("orders").expect("there").history("k", 9).expect("reads");
    assert_eq!((history.len(), history.get(0).expect("one").author), (2, "ada"));
}
