//! Collections of a release that had a catalog of their own become tables when the folder is opened.
//!
//! `tests/earlier` is a folder that such a release wrote (commit 4deb8d4):
//!
//! ```text
//!   commit   1  articles is made        5  gone is made            9  taken is made      13  brief is made,
//!            2  a1 is {"n":1}           6  x is {"x":1}           10  t is {"t":1}           history none
//!            3  a1 is {"n":2}           7  x is {"x":2}           11  the catalog of SQL  14  b is 1 ... 16  b is 3
//!            4  a2 is [1]               8  gone is dropped        12  CREATE TABLE taken  17  a2 is removed
//! ```

use std::path::Path;

use crate::World;
use crate::formats::unpack;

fn world() -> World {
    let world = World::new();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/earlier");
    unpack(&packed, &world.path("anywhen-data"));
    world
}

fn sql(world: &World, text: &str) -> String {
    world.run(&["sql", "-c", text, "--format", "csv"])
}

/// Everything is there under its name, in SQL as for the other commands; a name that a table of SQL had
/// already is that of the table, and the collection is found in the schema `collections`.
#[test]
fn collections_become_tables() {
    let world = world();
    let numbers = "SELECT oid, relname FROM pg_class WHERE oid >= 16384 ORDER BY 1";
    let made = sql(&world, numbers);
    for opening in 0..2 {
        assert_eq!(world.run(&["ls"]), "articles\nbrief\ncollections.taken\n", "{opening}");
        assert_eq!(sql(&world, "SELECT * FROM articles"), "key,doc\na1,\"{\"\"n\"\": 2}\"\n");
        let taken = sql(&world, "SELECT * FROM collections.taken");
        assert_eq!(taken, "key,doc\nt,\"{\"\"t\"\": 1}\"\n");
        assert_eq!(sql(&world, "SELECT * FROM brief"), "key,doc\nb,3\n");
        assert_eq!(sql(&world, numbers), made, "they are made once");
    }
    let owners = "SELECT DISTINCT relowner::regrole FROM pg_class WHERE relname = 'articles'";
    assert_eq!(sql(&world, owners), "relowner\npg_collections\n");
    world.run(&["put", "articles/a3", "{}"]);
    assert_eq!(sql(&world, "SELECT key FROM articles ORDER BY 1"), "key\na1\na3\n");
    assert_eq!(sql(&world, "SELECT count(*) FROM history('articles', 'a1')"), "count\n2\n");
    world.run(&["verify"]);
}

/// The past is what it was: of what is there, of what was dropped, and of names that mean something else now.
#[test]
fn their_past_stays() {
    let world = world();
    for _ in 0..2 {
        assert_eq!(world.run(&["get", "articles/a1", "--at", "csn:2"]), "{\"n\":1}\n");
        assert_eq!(world.run(&["get", "articles/a2", "--at", "1"]), "[1]\n");
        assert_eq!(world.run(&["get", "gone/x", "--at", "csn:6"]), "{\"x\":1}\n");
        assert_eq!(world.run(&["get", "taken/t", "--at", "csn:10"]), "{\"t\":1}\n");
        world.fails(1, &["get", "gone/x"]);
        world.fails(1, &["get", "brief/b", "--at", "csn:8"]);
        let dropped = world.run(&["ls", "--dropped"]);
        assert!(dropped.starts_with("gone ") && dropped.contains("csn:8"), "{dropped}");
        world.run(&["compact"]);
    }
    // A collection without a past keeps none.
    world.fails(1, &["get", "brief/b", "--at", "1"]);
    world.run(&["drop", "gone", "--purge"]);
    world.run(&["compact"]);
    let said = world.fails(1, &["get", "gone/x", "--at", "csn:6"]);
    assert!(said.contains("not kept any more"), "{said}");
    world.run(&["verify"]);
}
