//! The Rust tour of the README: compiled, run, and equal to what is printed.

use crate::{World, checkout};

#[test]
fn the_rust_tour_of_the_readme_works_as_printed() {
    let world = World::new();
    tour(&world.path("data")).expect("the tour runs");

    let readme = std::fs::read_to_string(checkout().join("README.md")).unwrap();
    let printed = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let printed = printed.expect("the README has a block of Rust").trim();
    let here = include_str!("tour.rs");
    let begin = here.find("    // The tour begins.\n").expect("the mark");
    let end = here.find("    // The tour ends.\n").expect("the mark");
    let run: Vec<&str> = here[begin..end]
        .lines()
        .skip(1)
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    assert_eq!(run.join("\n").trim(), printed, "the README prints what is run here");
}

fn tour(folder: &std::path::Path) -> anywhen::Result<()> {
    // The tour begins.
    use anywhen::{Database, Revision};

    let db = Database::open_or_create(folder)?;
    let articles = db.collection("articles")?;

    articles.put("a1", r#"{"title": "Anywhen", "counter": 0}"#)?;
    articles.edit("a1", |doc| doc.set("$.counter", "1"))?;

    let now = articles.get("a1")?.expect("it was just written");
    assert_eq!(now.to_json()?, r#"{"title":"Anywhen","counter":1}"#);

    let then = articles.at(Revision(1)).get("a1")?.expect("revisions stay");
    assert_eq!(then.to_json()?, r#"{"title":"Anywhen","counter":0}"#);

    for change in articles.diff("a1", Revision(1), Revision(2))?.changes {
        println!("{} {:?}", change.path, change.op);
    }
    // The tour ends.
    Ok(())
}
