//! The printed form of a definition can be executed, and then prints the same.

use std::path::Path;

use crate::world::{self, Answer, Wire, message};

/// The views of `tests/sql/printed.slt`, made again from what they are printed as.
#[test]
fn printed_views_can_be_made_again() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql/printed.slt");
    let text = std::fs::read_to_string(file).expect("the file is there");
    let server = world::start(world::options());
    let mut wire = Wire::connect(&server);
    let statements = text.split("\n\n").filter_map(|record| record.split_once("statement ok\n"));
    let mut views = Vec::new();
    for (_, statement) in statements {
        let made = ["CREATE TYPE", "CREATE DOMAIN", "CREATE TABLE", "CREATE SCHEMA", "CREATE SEQ"];
        let is_view = statement.starts_with("CREATE VIEW");
        if is_view || made.iter().any(|word| statement.starts_with(word)) {
            wire.query(statement);
        }
        views.extend(is_view.then(|| statement.split_whitespace().nth(2).unwrap_or_default()));
    }
    assert!(views.len() > 100, "{} views", views.len());
    for view in views {
        for pretty in ["", ", true"] {
            let printed = definition(&mut wire, view, pretty);
            let again = made_again(&mut wire, &printed, pretty);
            if printed == again {
                continue;
            }
            // An array that was cast as a whole is made of cast elements when it is read again, as PostgreSQL
            // does it too. Then it stays so.
            assert!(printed.contains("character varying]"), "{view}\n{printed}\n{again}");
            assert_eq!(again, made_again(&mut wire, &again, pretty), "{view}");
        }
    }
}

/// The printed form of a view.
fn definition(wire: &mut Wire, view: &str, pretty: &str) -> String {
    let answers = ask(wire, &format!("SELECT pg_get_viewdef('{view}'{pretty})"));
    first(&answers).unwrap_or_else(|| panic!("{view} is printed: {answers:?}"))
}

/// The printed form of a view of this query.
fn made_again(wire: &mut Wire, query: &str, pretty: &str) -> String {
    let made = wire.query(&format!("CREATE VIEW again AS {query}"));
    let printed = ask(wire, &format!("SELECT pg_get_viewdef('again'{pretty})"));
    wire.query("DROP VIEW IF EXISTS again");
    first(&printed).unwrap_or_else(|| panic!("{query}\n{made:?}"))
}

/// Everything that a statement is answered with.
fn ask(wire: &mut Wire, text: &str) -> Vec<Answer> {
    wire.send(&message(b'Q', &[text.as_bytes(), b"\0"].concat()));
    wire.until(b'Z')
}

/// The one value of the first row.
fn first(answers: &[Answer]) -> Option<String> {
    let row = answers.iter().find(|answer| answer.kind == b'D')?;
    let value = row.body.get(6..)?;
    Some(String::from_utf8_lossy(value).into_owned()).filter(|text| !text.is_empty())
}
