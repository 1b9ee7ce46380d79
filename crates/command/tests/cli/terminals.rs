//! On a terminal: whatever keys, authors, messages and values hold, the terminal obeys none of it.

use crate::{ANYWHEN, World};
use std::process::Stdio;

/// Sets the title, clears the screen, turns the direction of writing.
const EVIL: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}1m\u{202e}y\u{2066}\u{7f}";
/// The same as a terminal is shown it.
const SHOWN: &str = r"x\u001b]0;owned\u0007\u001b[2J\u009b1m\u202ey\u2066\u007f";

/// What a terminal gets of a command: `script` is one, and writes down what it is told.
fn on_terminal(world: &World, words: &[&str]) -> String {
    let quoted: Vec<String> =
        words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let line = format!("'{ANYWHEN}' {}", quoted.join(" "));
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(world.path(""));
    command.env_remove("ANYWHEN_DATA").env("TERM", "xterm").stdin(Stdio::null());
    let output = command.output().expect("`script` of util-linux makes a terminal");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Colours are all that is left for the terminal to obey; and none but ours.
fn check(text: &str, words: &[&str]) {
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        rest = &rest[at + 1..];
        let end = rest.find('m').unwrap_or_default();
        let is_colour =
            rest.starts_with('[') && rest[1..end].chars().all(|c| c.is_ascii_digit() || c == ';');
        assert!(is_colour, "{words:?}: {text:?}");
    }
    let obeyed = |c: char| {
        c.is_control() && !"\n\r\t\u{1b}".contains(c)
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(obeyed), "{words:?}: {text:?}");
}

/// An author whose name began with `ESC ] 0 ;` set the title of the window of everybody who asked for a
/// history, and a message with U+202E turned the line around. In a pipe names and rows stay as they are.
#[test]
fn a_terminal_gets_no_control_characters_of_the_data() {
    let world = World::new();
    let target = format!("docs/{EVIL}");
    let document =
        format!(r#"{{"a":{{"{}":1}},"s":"{}"}}"#, "\u{202e}n", "\u{9b}2J\u{202e}v\u{7f}");
    let put = |text: &str| {
        let mut command = world.command(&["put", &target, text, "--message", EVIL]);
        assert!(command.env("ANYWHEN_AUTHOR", EVIL).status().expect("it starts").success());
    };
    put(&document);
    put(&document.replace("\"s\"", "\"t\"").replace(":1}", ":2}"));
    // Authors and values are cut where they are long; errors quote names in a way of their own.
    for (words, is_named) in [
        (&["history", &target][..], true),
        (&["blame", &target], false),
        (&["diff", &target, "1", "2"], true),
        (&["node-history", &target, "t"], false),
        (&["paths", &target], false),
        (&["get", &target], false),
        (&["get", &target, "--pretty"], false),
        (&["get", &target, "--path", "t"], false),
        (&["ls", "docs"], true),
        (&["history", &target, "--json"], false),
        (&["get", &format!("{target}none")], false),
        (&["get", &format!("{EVIL}/a")], false),
        (&["sql", "-c", "SELECT key, doc FROM documents('docs')"], true),
        (&["sql", "-c", "SELECT chr(27) || ']0;owned' AS \"\u{1b}[2J\""], false),
        (&["sql", "--format", "csv", "-c", "SELECT chr(27), chr(8238)"], false),
        (&["sql", "-c", "COPY (SELECT chr(27) || chr(8238)) TO STDOUT"], false),
        (&["sql", "-c", "SELECT 1 AS a WHERE \"\u{1b}[2J\u{202e}\" = 1"], false),
    ] {
        let text = on_terminal(&world, words);
        check(&text, words);
        assert!(!is_named || text.contains(SHOWN), "{words:?}: {text:?}");
    }
    assert_eq!(world.run(&["ls", "docs"]), format!("{EVIL}\n"));
    // In a pipe, what a message holds is no colour of ours, and was once taken out with these.
    let (key, author) = ("a\u{1b}[31mb", "\u{1b}[1mada\u{1b}[0m");
    let mut command = world.command(&["put", &format!("reds/{key}"), "1", "-m", EVIL]);
    assert!(command.env("ANYWHEN_AUTHOR", author).status().expect("it starts").success());
    let line = world.run(&["history", &format!("reds/{key}")]);
    assert!(line.ends_with(&format!("  {author}  {EVIL}\n")), "{line:?}");
    let line = world.run(&["diff", &format!("docs/{EVIL}"), "1", "2"]);
    assert!(line.starts_with(&format!("docs/{EVIL}: revision 1 to 2")), "{line:?}");
    let csv = world.run(&["sql", "--format", "csv", "-c", "SELECT chr(27) AS c"]);
    assert_eq!(csv, "c\n\u{1b}\n");
}
