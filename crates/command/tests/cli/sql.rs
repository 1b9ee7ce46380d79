//! `anywhen sql` and `anywhen serve`: statements in, tables and errors out; a server that can be looked
//! at before it serves.

use std::io::Write;
use std::process::Stdio;

use crate::serve_killed::serve;
use crate::{World, checkout};

#[test]
fn statements_of_the_readme_run_and_the_past_is_there() {
    let world = World::new();
    let readme = std::fs::read_to_string(checkout().join("README.md")).unwrap();
    let block = readme.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next());
    world.file("readme.sql", block.expect("the README has a block of SQL"));
    world.run(&["sql", "-f", "readme.sql"]);
    let versions = "SELECT item, cents, _system_to = 'infinity' AS is_now
                    FROM price FOR SYSTEM_TIME ALL ORDER BY item, _version";
    assert_eq!(
        world.run(&["sql", "--format", "csv", "-c", versions]),
        "item,cents,is_now\ncake,450,f\ntea,300,f\ntea,350,t\n"
    );
}

#[test]
fn the_sample_of_make_run_loads() {
    let world = World::new();
    let sample = checkout().join("samples/shop.sql");
    world.run(&["sql", "-f", sample.to_str().unwrap()]);
    let spent = world.run(&["sql", "-c", "SELECT * FROM spent ORDER BY name"]);
    assert_eq!(
        spent,
        "   name   | purchases | cents
----------+-----------+-------
 Ada      |         2 |   750
 Grace H. |         2 |  1010
 Linus    |         0 |     0
(3 rows)
"
    );
    let then = "SELECT name, cents FROM product FOR SYSTEM_TIME ALL WHERE id = 1 ORDER BY _version";
    let json = world.run(&["sql", "--json", "-c", then]);
    let prices: Vec<&str> = json.split("\"cents\":").skip(1).map(|text| &text[..3]).collect();
    assert_eq!(prices, ["300", "320", "370", "350"]);
}

#[test]
fn errors_say_where_and_end_the_run() {
    let world = World::new();
    let said = world
        .fails(1, &["sql", "-c", "SELECT 1 AS one,\n       nme FROM pg_class", "-c", "SELECT 2"]);
    assert!(said.contains("column \"nme\" does not exist (42703)"), "{said}");
    assert!(said.contains("line 2:        nme FROM pg_class\n               ^"), "{said}");
    let output =
        world.output(&["sql", "--keep-going", "-c", "SELECT 1/0", "-c", "SELECT 2 AS two"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("two"), "it went on");
}

/// Lines were counted from where the statement begins, whatever stood before it in the file; and that
/// nobody listens at an address was told as damage.
#[test]
fn errors_of_a_file_tell_its_line() {
    let world = World::new();
    world.file("a.sql", "SELECT 1;\n\n-- why\nSELECT 2,\n       nme;\nSELECT 3");
    let said = world.fails(1, &["sql", "-f", "a.sql"]);
    assert!(said.contains("error: a.sql, line 3: column \"nme\""), "{said}");
    assert!(said.contains("\nline 5:        nme"), "{said}");
    world.file("b.sql", "SELECT 1;\nSELECT 1/0;\n\\nope\n");
    let said = world.fails(1, &["sql", "--keep-going", "-f", "b.sql"]);
    assert!(said.contains("b.sql, line 2: division by zero"), "{said}");
    assert!(said.contains("b.sql, line 3: there is no command \\nope"), "{said}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = world.fails(1, &["sql", "--url", &format!("postgres://{free}"), "-c", "SELECT 1"]);
    assert!(said.contains(&free.to_string()), "{said}");
}

#[test]
fn statements_come_by_a_pipe_and_rows_by_copy() {
    let world = World::new();
    world.run(&["sql", "-c", "CREATE TABLE t (id int PRIMARY KEY, word text)"]);
    let mut copy = world.command(&["sql", "-c", "COPY t FROM STDIN CSV"]);
    let mut copy = copy.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    copy.stdin.take().unwrap().write_all(b"1,one\n2,\"two, or so\"\n").unwrap();
    assert!(copy.wait().unwrap().success());
    assert_eq!(world.run(&["sql", "-c", "COPY t TO STDOUT"]), "1\tone\n2\ttwo, or so\n");

    let mut pipe = world.command(&["sql"]);
    let mut pipe = pipe.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let script = b"BEGIN; DELETE FROM t; ROLLBACK;\nSELECT count(*) FROM t;\n\\dt\n";
    pipe.stdin.take().unwrap().write_all(script).unwrap();
    let output = pipe.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(" count\n-------\n     2\n(1 row)"), "{text}");
    assert!(text.contains("public | t"), "{text}");
}

#[test]
fn documents_and_tables_share_a_folder() {
    let world = World::new();
    world.run(&["put", "articles/a1", r#"{"title": "Anywhen"}"#]);
    world.run(&["sql", "-c", "CREATE TABLE t AS SELECT 1 AS one"]);
    world.run(&["edit", "articles/a1", "set", "title", "\"Sometimes\""]);
    assert_eq!(world.run(&["get", "articles/a1", "--at", "1"]), "{\"title\":\"Anywhen\"}\n");
    assert!(world.run(&["sql", "-c", "SELECT * FROM t"]).contains("(1 row)"));
    world.run(&["compact"]);
    world.run(&["verify"]);
    assert!(world.run(&["sql", "-c", "SELECT * FROM t"]).contains("(1 row)"));
}

#[test]
fn serve_looks_before_it_serves() {
    let world = World::new();
    let said = world.run(&["serve", "--check", "--pg-listen", "127.0.0.1:0"]);
    assert!(said.contains("configuration and data are good"), "{said}");
    assert!(said.contains("serve makes a new database"), "{said}");
    assert!(!world.path("anywhen-data").exists(), "a look makes no folder");
    world.run(&["put", "a/k", "1"]);
    let files = || {
        let mut files = Vec::new();
        let mut folders = vec![world.path("anywhen-data")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let entry = entry.expect("an entry");
                let meta = entry.metadata().expect("it is there");
                if meta.is_dir() {
                    folders.push(entry.path());
                }
                let bytes = std::fs::read(entry.path()).unwrap_or_default();
                files.push((entry.path(), meta.modified().expect("a time"), bytes));
            }
        }
        files.sort();
        files
    };
    let before = files();
    let said = world.run(&["serve", "--check", "--pg-listen", "127.0.0.1:0"]);
    assert!(said.contains("a database that opens"), "{said}");
    assert!(files() == before, "a look changes no file");
    let (_served, _) = crate::http::serve(
        &world,
        &["serve", "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"],
    );
    let said = world.run(&["serve", "--check", "--json"]);
    assert!(said.contains("\"found\":\"in use\""), "{said}");
    // Which port is taken, and what to do; of a folder that is in use as well.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has an address").to_string();
    let port = address.rsplit(':').next().expect("a port");
    for words in [
        &["serve", "--data", "new", "--pg-listen", &address][..],
        &["serve", "--data", "new", "--pg-listen", "127.0.0.1:0", "--http-listen", &address],
    ] {
        for check in [&["--check"][..], &[]] {
            let said = world.fails(1, &[words, check].concat());
            assert!(said.contains(&format!("port {port} of 127.0.0.1 is taken")), "{said}");
            assert!(said.contains("-listen 127.0.0.1:PORT") && said.contains("_LISTEN="), "{said}");
        }
    }
    let said = world.fails(1, &["serve", "--pg-listen", "127.0.0.1:0"]);
    assert!(said.contains("anywhen-data is in use") && said.contains("sql --url"), "{said}");
    world.file("bad.toml", "pg-listn = [\"127.0.0.1:0\"]\n");
    let said = world.fails(1, &["serve", "--check", "--config", "bad.toml"]);
    assert!(said.contains("pg-listn"), "{said}");
    let said = world.fails(1, &["serve", "--check", "--tls-key", "key.pem"]);
    assert!(said.contains("TLS needs both"), "{said}");
}

/// The same shell over the wire: tables, errors with their places, parameters of its own commands, COPY
/// both ways, a password that is asked for and a server that is not there.
#[test]
fn a_server_can_be_asked() {
    let world = World::new();
    let (mut server, address) = serve(&world);
    let url = format!("postgres://postgres@{address}/postgres?sslmode=prefer");
    let sql = |texts: &[&str]| {
        let mut words = vec!["sql", "--url", &url];
        texts.iter().for_each(|text| words.extend(["-c", text]));
        world.run(&words)
    };
    let shown = sql(&[
        "CREATE TABLE person (id int PRIMARY KEY, name text, is_in bool, tags jsonb)",
        "INSERT INTO person VALUES (1, 'Ada', true, '[1]'), (20, NULL, false, NULL)",
        "SELECT * FROM person ORDER BY id",
        "\\d person",
    ]);
    let table =
        " id | name | is_in | tags\n----+------+-------+------\n  1 | Ada  | t     | [1]\n 20 |";
    assert!(shown.contains(table), "{shown}");
    assert!(shown.contains("INSERT 0 2\n"), "{shown}");
    assert!(shown.contains("Indexes:\n    CREATE UNIQUE INDEX person_pkey"), "{shown}");
    let json =
        world.run(&["--json", "sql", "--url", &url, "-c", "SELECT * FROM person WHERE id = 1"]);
    assert_eq!(json, "[{\"id\":1,\"name\":\"Ada\",\"is_in\":true,\"tags\":[1]}]\n");

    world.file("more.csv", "3,Grace,f,{}\n4,Linus,t,\n");
    let copied = sql(&["\\copy person from 'more.csv' csv", "\\copy person to 'all.csv' csv"]);
    assert_eq!(copied, "COPY 2\nCOPY 4\n");
    let all = std::fs::read_to_string(world.path("all.csv")).unwrap();
    assert!(all.contains("3,Grace,f,{}\n"), "{all}");

    let said = world.fails(1, &["sql", "--url", &url, "-c", "SELECT nme FROM person"]);
    assert!(said.contains("column \"nme\" does not exist (42703)"), "{said}");
    assert!(said.contains("line 1: SELECT nme FROM person\n               ^"), "{said}");

    sql(&["CREATE ROLE ada LOGIN PASSWORD 'p@ss w'"]);
    let ada = format!("postgres://ada@{address}/postgres");
    let said = world.fails(1, &["sql", "--url", &ada, "-c", "SELECT 1"]);
    assert!(said.contains("the server asks for a password"), "{said}");
    let ada = format!("postgres://ada:p%40ss%20w@{address}/postgres");
    let csv = world.run(&["sql", "--url", &ada, "--format", "csv", "-c", "SELECT current_user"]);
    assert_eq!(csv, "current_user\nada\n");
    let wrong = format!("postgres://ada:wrong@{address}/postgres");
    let said = world.fails(1, &["sql", "--url", &wrong, "-c", "SELECT 1"]);
    assert!(said.contains("password authentication failed"), "{said}");

    server.kill().unwrap();
    server.wait().unwrap();
    let said = world.fails(1, &["sql", "--url", &url, "-c", "SELECT 1"]);
    assert!(said.contains(&format!("no connection to {address}")), "{said}");
}

/// Every command that `\?` lists exists, and `\x` lays values out as psql does.
#[test]
fn commands_of_the_shell_do_what_their_list_says() {
    let world = World::new();
    let fed = |input: &str| {
        let output = world.fed(&["sql", "--keep-going"], input);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (text(output.stdout), text(output.stderr))
    };
    let (list, _) = fed("\\?");
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 15 && names.contains(&"\\x") && names.contains(&"\\h"), "{list}");
    for name in names {
        let (_, said) = fed(&format!("{name} no_such_thing"));
        assert!(!said.contains("there is no command"), "{name}: {said}");
    }
    assert!(fed("\\fly").1.contains("there is no command \\fly: \\? lists them"));

    let (shown, _) =
        fed("\\x on\nSELECT 1 AS id, E'Ada\\nLovelace' AS name, NULL AS \"a much longer name\";\n\
         \\x auto\n\\x off\nSELECT 1 AS id;\n\\x\nSELECT 'Ada' AS name UNION ALL SELECT 'Grace';");
    let expected = "\
Expanded display is on.
-[ RECORD 1 ]------+---------
id                 | 1
name               | Ada     +
                   | Lovelace
a much longer name | 
Expanded display is used automatically.
Expanded display is off.
 id
----
  1
(1 row)
Expanded display is on.
-[ RECORD 1 ]
name | Ada
-[ RECORD 2 ]
name | Grace
";
    assert_eq!(shown, expected);
    assert!(fed("\\x sideways").1.contains("it can be on, off or auto"));
}

/// `\h` tells of the statements that the server reads: each example of it is read.
#[test]
fn examples_of_the_help_are_statements() {
    let world = World::new();
    let all = world.fed(&["sql"], "\\h *");
    let all = String::from_utf8(all.stdout).expect("UTF-8");
    let examples: Vec<&str> = all.split("Example:\n  ").skip(1).collect();
    assert!(examples.len() > 80, "{all}");
    let script: String = examples
        .iter()
        .filter_map(|example| {
            example.split_once(";\n").map_or(example.strip_suffix(';'), |e| Some(e.0))
        })
        // Each for itself, whatever the one before has left.
        .map(|example| format!("{example};\nROLLBACK;\n"))
        .collect();
    let script = format!("CREATE TABLE price (item text PRIMARY KEY, cents int);\n{script}");
    let said = world.fed(&["sql", "--keep-going"], &script).stderr;
    let said = String::from_utf8(said).expect("UTF-8");
    for state in ["42601", "0A000"] {
        assert!(!said.contains(&format!("({state})")), "{said}");
    }
}
