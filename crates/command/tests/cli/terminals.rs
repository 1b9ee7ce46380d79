//! On a terminal: whatever keys, authors, messages and values hold, the terminal obeys none of it.

use crate::{ANYWHEN, World};
use std::process::Stdio;

/// Sets the title, clears the screen, turns the direction of writing.
const EVIL: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}1m\u{202e}y\u{2066}\u{7f}";
/// The same as a terminal is shown it.
const SHOWN: &str = r"x\u001b]0;owned\u0007\u001b[2J\u009b1m\u202ey\u2066\u007f";

/// The bytes that a command sends to a terminal: `script` is the terminal, and records them.
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

/// A person at a terminal of their own, who reads along.
struct Person {
    child: std::process::Child,
    keys: std::process::ChildStdin,
    read: std::sync::Arc<std::sync::Mutex<String>>,
}

impl Person {
    fn at(world: &World, line: &str) -> Person {
        let mut command = std::process::Command::new("script");
        // The shell tells the exit code: that of `script` depends on which end it sees first. Ctrl-C reaches the
        // shell too, and ends one that has no trap for it (dash) as soon as the command ends.
        let line =
            format!("stty rows 24 cols 90; trap : INT; '{ANYWHEN}' {line}; echo \"exit code $?\"");
        command.args(["-qc", &line, "/dev/null"]).env("SHELL", "/bin/sh");
        command.current_dir(world.path("")).env_remove("ANYWHEN_DATA").env("TERM", "dumb");
        command.env("HOME", world.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("`script` of util-linux makes a terminal");
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let read = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let written = std::sync::Arc::clone(&read);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = std::io::Read::read(&mut out, &mut bytes) {
                written.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Person { child, keys, read }
    }

    fn types(&mut self, keys: &str) {
        std::io::Write::write_all(&mut self.keys, keys.as_bytes()).expect("the terminal is there");
        std::io::Write::flush(&mut self.keys).expect("the terminal is there");
    }

    /// Waits until the terminal shows this, behind what was waited for before.
    fn sees(&self, text: &str) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let mut read = self.read.lock().unwrap();
            if let Some(at) = read.find(text) {
                read.drain(..at + text.len());
                return;
            }
            assert!(std::time::Instant::now() < end, "{text:?} is not in {read:?}");
            drop(read);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Ctrl-C ended the shell, and with it the transaction that the person was in. It cancels the statement that
/// runs, here and at a server, and a prompt of its own tells that the transaction block has failed.
#[test]
fn ctrl_c_cancels_the_statement_and_not_the_shell() {
    let world = World::new();
    let (mut server, address) = crate::serve_killed::serve(&world);
    let at_server = format!("sql --url postgres://postgres@{address}/postgres");
    for line in ["sql --data own", &at_server] {
        let mut person = Person::at(&world, line);
        person.sees("anywhen=# ");
        person.types("SELECT 'it ' || 'begins', pg_sleep(600);\n");
        // The statement runs once the terminal is no longer read key by key.
        std::thread::sleep(std::time::Duration::from_secs(1));
        person.types("\u{3}");
        person.sees("canceling statement due to user request");
        person.sees("anywhen=# ");
        person.types("BEGIN;\n");
        person.sees("anywhen=*# ");
        person.types("SELECT 1 / 0;\n");
        person.sees("division by zero");
        person.sees("anywhen=!# ");
        person.types("ROLLBACK;\n");
        person.sees("anywhen=# ");
        person.types("SELECT 6 * 7 AS answer;\n");
        person.sees("42");
        person.types("\\q\n");
        person.sees("exit code 0");
        person.child.wait().expect("it ends");
    }
    server.kill().expect("the server runs");
    server.wait().expect("it ends");
}

/// `sql` begins in a shell as often as the person wants. The second time it failed, because the first had taken the
/// signals of the process; ctrl-c cancels the statement of the one that goes on.
#[test]
fn a_shell_begins_sql_twice() {
    let world = World::new();
    let mut person = Person::at(&world, "shell");
    for _ in 0..2 {
        person.sees("anywhen> ");
        person.types("sql\n");
        person.sees("anywhen=# ");
        person.types("SELECT 'it ' || 'begins', pg_sleep(600);\n");
        // The statement runs once the terminal is no longer read key by key.
        std::thread::sleep(std::time::Duration::from_secs(1));
        person.types("\u{3}");
        person.sees("canceling statement due to user request");
        person.sees("anywhen=# ");
        person.types("\\q\n");
    }
    person.sees("anywhen> ");
    person.types("\u{4}");
    person.sees("exit code 0");
    person.child.wait().expect("it ends");
}

/// The explorer takes the whole screen and gives it back, whether the person quits or interrupts it; over a folder, and
/// over a server with a token. Nothing of the data reaches the terminal as it is.
#[test]
fn the_explorer_gives_the_terminal_back() {
    const TAKES: &str = "\u{1b}[?1049h";
    const GIVES: &str = "\u{1b}[?1049l";
    let world = World::new();
    for number in 1..=3 {
        let text = format!("{{\"n\":{number},\"evil\":{}}}", json::text::quote(EVIL));
        world.run(&["put", "docs/a", &text, "--message", EVIL]);
    }
    let mut person = Person::at(&world, "explore docs/a");
    person.sees(TAKES);
    person.sees("revision 3 of 3");
    person.sees(r"x\u001b]0;owned");
    person.types("\u{1b}[D");
    person.sees("2");
    person.types("q");
    person.sees(GIVES);
    person.sees("exit code 0");
    person.child.wait().expect("it ends");

    let made = world.json(&["token", "create", "ada", "--role", "view"]);
    let token = made.root().get("token").and_then(|token| token.as_str()).expect("a token");
    world.file("token", token.as_bytes());
    let words =
        ["serve", "--pg-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--http-auth"];
    let (_server, address) = crate::http::serve(&world, &words);
    let line = format!("explore http://{address} docs/a --token-file token");
    let mut person = Person::at(&world, &line);
    person.sees(TAKES);
    person.sees("revision 3 of 3");
    person.types("\u{3}");
    person.sees(GIVES);
    person.sees("exit code 0");
    person.child.wait().expect("it ends");

    // The reader sees a refusal of the first request where the command was typed.
    let mut person = Person::at(&world, &format!("explore http://{address} docs/a"));
    person.sees("a token is missing");
    person.sees("exit code 1");
    assert!(!person.read.lock().unwrap().contains(TAKES));
    person.child.wait().expect("it ends");
    let text = world.fails(1, &["explore", "docs/a"]);
    assert!(text.contains("explore needs a terminal"), "{text}");
    world.fails(2, &["explore", "docs/a", "--json"]);
}

/// A terminal that is closed under the explorer ends it, and the folder is free again. It once read from the terminal
/// that was gone, for ever, and held the folder.
#[test]
fn the_explorer_ends_with_its_terminal() {
    let world = World::new();
    world.run(&["put", "docs/a", "1"]);
    let mut person = Person::at(&world, "explore docs/a");
    person.sees("revision 1 of 1");
    // Without its terminal: `script` closes it.
    person.child.kill().expect("it runs");
    person.child.wait().expect("it ends");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !world.output(&["history", "docs/a"]).status.success() {
        assert!(std::time::Instant::now() < end, "the folder is still held");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
