//! Folders written by every release open, read as they did then, and verify.
//!
//! `tests/formats/VERSION/` holds such a folder, each file compressed by gzip, and `expected.txt`:
//! what the commands below answered when it was written. A release that changes a format adds a
//! folder (`NEW_FORMAT=VERSION cargo test -p anywhen-command formats`) and never changes those that are there;
//! where a command comes to tell the same in another way, its answer in `expected.txt` does too.

use crate::World;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// The requests to a folder; the answers must stay the same.
const QUESTIONS: &[&[&str]] = &[
    &["ls", "shop"],
    &["history", "shop/order", "--json"],
    &["get", "shop/order", "--at", "1"],
    &["get", "shop/order", "--at", "2"],
    &["get", "shop/order", "--at", "3"],
    &["get", "shop/order", "--at", "4"],
    &["get", "shop/order", "--at", "5"],
    &["get", "shop/order", "--at", "6"],
    &["get", "shop/order"],
    &["diff", "shop/order", "1", "4", "--json"],
    &["diff", "shop/order", "4", "7", "--format", "rfc6902"],
    &["node-history", "shop/order", "$.total", "--json"],
    &["get", "shop/gone", "--at", "1"],
    &["get", "shop/long", "--at", "2", "--path", "$.items[250]"],
    &["get", "shop/long", "--path", "$.items[250]"],
];

/// A folder with each kind of thing in it: whole documents and edits, moves, renames, a removal, a
/// way back, a document of many chunks; some of it in files of the store, the rest in the log.
fn write(world: &World) {
    let long: Vec<String> =
        (0..400).map(|n| format!("{{\"id\":{n},\"text\":\"item {n}\"}}")).collect();
    let long = format!("{{\"items\":[{}]}}", long.join(","));
    world.run(&[
        "put",
        "shop/order",
        r#"{"total":10,"lines":[{"sku":"a","n":1},{"sku":"b","n":2}],"note":"é\n\"x\""}"#,
        "-m",
        "first",
    ]);
    world.run(&["put", "shop/gone", "[1,2.50,-0,1e400,true,null]"]);
    world.run(&["put", "shop/long", &long]);
    world.run(&["edit", "shop/order", "set", "$.total", "12.50", "-m", "dearer"]);
    world.run(&["put", "shop/order", r#"{"total":12.50,"lines":[{"sku":"b","n":2},{"sku":"c","n":9},{"sku":"a","n":1}],"remark":"é\n\"x\""}"#]);
    world.run(&["edit", "shop/order", "remove", "$.lines[0]"]);
    world.run(&["compact"]);
    world.run(&["edit", "shop/long", "set", "$.items[250].text", "\"other\""]);
    world.run(&["revert", "shop/order", "1"]);
    world.run(&["edit", "shop/order", "set", "$.total", "13"]);
    world.run(&["edit", "shop/order", "set", "$.paid", "true"]);
    world.run(&["rm", "shop/gone"]);
}

fn answers(world: &World) -> String {
    QUESTIONS
        .iter()
        .map(|words| format!("$ {}\n{}\n", words.join(" "), world.run(words).trim_end()))
        .collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
    {
        if entry.is_dir() { files.extend(files_below(&entry)) } else { files.push(entry) }
    }
    files.sort();
    files
}

fn pack(from: &Path, to: &Path) {
    for file in files_below(from) {
        let name =
            file.strip_prefix(from).expect("below").to_str().expect("a name").to_owned() + ".gz";
        let path = to.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        let mut out =
            GzEncoder::new(fs::File::create(path).expect("a file"), flate2::Compression::best());
        out.write_all(&fs::read(&file).expect("a file")).expect("compresses");
        out.finish().expect("compresses");
    }
}

pub(crate) fn unpack(from: &Path, to: &Path) {
    for file in files_below(from).iter().filter(|file| file.extension().is_some_and(|e| e == "gz"))
    {
        let path = to.join(file.strip_prefix(from).expect("below")).with_extension("");
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        let mut bytes = Vec::new();
        GzDecoder::new(fs::File::open(file).expect("a file"))
            .read_to_end(&mut bytes)
            .expect("whole");
        fs::write(path, bytes).expect("a file");
    }
}

/// Every folder ever released answers today what it answered then, and goes on taking writes.
#[test]
fn formats_of_every_release_open() {
    if let Ok(version) = std::env::var("NEW_FORMAT") {
        let world = World::new();
        write(&world);
        let folder = formats().join(version);
        pack(&world.path("anywhen-data"), &folder);
        fs::write(folder.join("expected.txt"), answers(&world)).expect("a file");
    }
    let mut seen = 0;
    for folder in
        fs::read_dir(formats()).expect("formats").map(|entry| entry.expect("an entry").path())
    {
        let world = World::new();
        unpack(&folder, &world.path("anywhen-data"));
        let expected = fs::read_to_string(folder.join("expected.txt")).expect("expected.txt");
        assert_eq!(answers(&world), expected, "{}", folder.display());
        world.run(&["verify"]);
        world.run(&["edit", "shop/order", "set", "$.total", "14"]);
        world.run(&["compact"]);
        world.run(&["verify"]);
        assert_eq!(world.run(&["get", "shop/order", "--path", "$.total"]).trim(), "14");
        seen += 1;
    }
    assert!(seen > 0, "no format is kept");
}
