//! `export --html`: a page that shows the history of a document without a database.

use json::Tape;

use crate::{World, number};

/// The history of a document goes into one page, in which nothing of the data ends the element that it is in. A build
/// without the explorer says how to get it.
#[test]
fn a_history_goes_into_a_page() {
    let world = World::new();
    world.run(&["put", "notes/a", r#"{"n": "</script><script>"}"#]);
    world.run(&["edit", "notes/a", "set", "n", "2", "--message", "<!-- second"]);
    let said = world.fails(2, &["export", "notes", "--html", "all.html"]);
    assert!(said.contains("--html needs COLLECTION/DOC"), "{said}");
    let output = world.output(&["export", "notes/a", "--html", "a.html", "--json"]);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("this build has no explorer"), "{said}");
        assert!(said.contains("scripts/web.sh"), "{said}");
        return;
    }
    let told = Tape::parse(output.stdout.trim_ascii()).expect("JSON");
    assert_eq!(number(&told, "revisions"), 2);
    let page = std::fs::read_to_string(world.path("a.html")).expect("the page");
    assert_eq!(number(&told, "bytes"), page.len() as u64);
    assert!(page.contains(r#""nodes":{"1":[[1,"o",null,[2]]],"2":[[1,"s","n","#), "{}", &page[..9]);
    assert!(page.contains(r#""message":"\u003c!-- second""#));
    assert_eq!(page.matches("</script>").count(), 2);
}
