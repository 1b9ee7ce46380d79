//! Files of rows into tables, and out of them.

use crate::{World, number};

const CSV: &str = "id,name,amount,day\n1,tea,3.00,2026-11-26\n2,\"cake, large\",4.50,2026-11-27\n";

/// A file makes a table of its name, whose columns and types are said before; files go out and come in again.
#[test]
fn files_make_tables() {
    let world = World::new();
    world.file("sales.csv", CSV);
    let output = world.output(&["import", "sales.csv"]);
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sales: 2 rows\n");
    let said = String::from_utf8_lossy(&output.stderr);
    let schema = "table sales (new), columns of sales.csv:\n  id      bigint\n  name    text\n  \
                  amount  numeric\n  day     date\n";
    assert!(said.ends_with(schema), "{said}");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, CSV.as_bytes()).unwrap();
    std::fs::write(world.path("packed.csv.gz"), gzip.finish().unwrap()).unwrap();
    assert_eq!(world.run(&["import", "packed.csv.gz"]), "packed: 2 rows\n");
    for file in ["out.parquet", "out.arrow", "out.csv"] {
        assert_eq!(world.run(&["export", "sales", file]), format!("{file}: 2 rows\n"));
    }
    assert_eq!(std::fs::read_to_string(world.path("out.csv")).unwrap(), CSV);
    let query = "SELECT id, amount * 2 AS double FROM sales WHERE id = 2";
    let answer = world.json(&["export", query, "two.parquet", "--compression", "zstd"]);
    assert_eq!(number(&answer, "rows"), 1);
    let columnar =
        ["import", "out.parquet", "out.parquet", "--into", "fast", "--using", "columnar"];
    assert_eq!(world.run(&columnar), "fast: 4 rows\n");
    let answer = world.json(&["import", "out.arrow", "--into", "fast"]);
    assert_eq!(number(&answer, "rows"), 2);
    let sums = "SELECT count(*), sum(amount), max(name) FROM fast";
    let shown = world.run(&["sql", "-c", sums]);
    assert!(shown.contains("22.50") && shown.contains('6'), "{shown}");
    let two = world.run(&["sql", "-c", "SELECT double FROM 'two.parquet'"]);
    assert!(two.contains("9.00"), "{two}");
    world.file("lines.ndjson", "{\"id\": 1, \"tags\": [\"a\"]}\n{\"id\": 2}\n");
    assert_eq!(
        world.run(&["import", "lines.ndjson", "--into", "\"Lines\""]),
        "\"Lines\": 2 rows\n"
    );
    assert_eq!(world.run(&["import", "lines.ndjson"]), "lines: 2 documents\n");
}

/// The command refuses a wrong import or export with the exit code for it, and leaves neither a table nor a file.
#[test]
fn what_is_refused_leaves_nothing() {
    let world = World::new();
    world.file("bad.csv", "a,b\n1,2\n3\n");
    world.file("cut.parquet", b"PAR1 and then nothing");
    world.file("x.json", "{}");
    world.run(&["init"]);
    let said = world.fails(1, &["import", "bad.csv"]);
    assert!(said.contains("missing data for column \"b\"") && said.contains("line 3"), "{said}");
    let said = world.fails(1, &["import", "cut.parquet"]);
    assert!(said.contains("damaged or incomplete"), "{said}");
    world.fails(1, &["import", "missing.csv"]);
    assert_eq!(world.run(&["ls"]), "");
    for words in [
        &["import", "bad.csv", "--as", "documents"][..],
        &["import", "x.json", "--into", "t"],
        &["import", "bad.csv", "cut.parquet"],
        &["import", "x.json", "x.json"],
        &["import", "x.json", "--using", "columnar"],
        &["export", "t", "out.txt"],
        &["export", "t", "out.csv", "--history"],
        &["export", "t", "--compression", "zstd"],
    ] {
        world.fails(2, words);
    }
    world.fails(1, &["export", "nothing", "out.parquet"]);
    world.fails(1, &["export", "SELECT 1 / 0", "out.parquet"]);
    // An export replaces regular files only.
    let made = std::process::Command::new("mkfifo").arg(world.path("pipe")).status();
    if made.is_ok_and(|status| status.success()) {
        let copy = format!("COPY (SELECT 1) TO '{}'", world.path("pipe").display());
        let said = world.fails(1, &["sql", "-c", &copy]);
        assert!(said.contains("not a regular file"), "{said}");
    }
    let left = std::fs::read_dir(world.path("")).unwrap().filter_map(|entry| entry.ok());
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("out")), "{left:?}");
}
