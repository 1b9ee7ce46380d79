//! The documents do what they print: every `console` block of the README and of
//! the guides is run in an empty folder, and its output is what stands there.
//!
//! Times differ from run to run: they are compared by their shape. After a
//! change, `UPDATE_DOCUMENTS=1 cargo test -p anywhen-command documents` writes the
//! output into the documents; read the difference before you commit it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{ANYWHEN, World, checkout};

#[test]
fn the_readme_does_what_it_prints() {
    check("README.md");
}

#[test]
fn the_guide_to_the_command_line_does_what_it_prints() {
    check("docs/guide/command-line.md");
}

#[test]
fn the_guide_to_history_does_what_it_prints() {
    check("docs/guide/history.md");
}

#[test]
fn the_guide_to_operations_does_what_it_prints() {
    check("docs/guide/operations.md");
}

/// A line of a document, by what it is to this test.
enum Line<'d> {
    /// `$ ...` in a console block.
    Command(&'d str),
    /// The output of a console block.
    Output,
    Other(&'d str),
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut console = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            console = line == "```console";
            lines.push(Line::Other(line));
        } else if let (true, Some(command)) = (console, line.strip_prefix("$ ")) {
            lines.push(Line::Command(command));
        } else if console {
            lines.push(Line::Output);
        } else {
            lines.push(Line::Other(line));
        }
    }
    lines
}

fn check(document: &str) {
    let path = checkout().join(document);
    let written = std::fs::read_to_string(&path).expect("the document is there");
    let lines = lines(&written);
    let commands: Vec<&str> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Command(command) => Some(*command),
            _ => None,
        })
        .collect();
    assert!(!commands.is_empty(), "{document} shows no command");
    let mut outputs = outputs(&commands).into_iter();

    let mut done = String::new();
    for line in &lines {
        match line {
            Line::Command(command) => {
                done.push_str(&format!("$ {command}\n"));
                done.push_str(&outputs.next().expect("an output for each command"));
            }
            Line::Output => {}
            Line::Other(line) => done.push_str(&format!("{line}\n")),
        }
    }
    if mask(&done) == mask(&written) {
        return;
    }
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        std::fs::write(&path, done).expect("the document can be written");
        return;
    }
    let (done, written) = (mask(&done), mask(&written));
    let differs = done.lines().zip(written.lines()).enumerate().find(|(_, (a, b))| a != b);
    let (line, (now, then)) = differs.unwrap_or((0, ("more or fewer lines", "")));
    panic!(
        "{document}:{}: printed is\n  {then}\nbut the command says\n  {now}\n\
         (UPDATE_DOCUMENTS=1 writes what the commands say)",
        line + 1
    );
}

/// Runs the commands in one shell in an empty folder; what each of them printed.
fn outputs(commands: &[&str]) -> Vec<String> {
    const MARK: &str = "=== next command ===";
    let world = World::new();
    let mut script = "exec 2>&1\n".to_owned();
    for command in commands {
        script.push_str(&format!("{command}\necho '{MARK}'\n"));
    }
    let folder = Path::new(ANYWHEN).parent().expect("the command lies in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .arg("-c")
        .arg(script)
        .current_dir(world.path("."))
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("ANYWHEN_AUTHOR", "ada")
        .env_remove("ANYWHEN_DATA")
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.split_terminator(&format!("{MARK}\n")).map(str::to_owned).collect()
}

/// The text with the digits of every date and time of day made 0.
fn mask(text: &str) -> String {
    let mut masked = text.as_bytes().to_vec();
    for at in 0..masked.len() {
        for shape in ["0000-00-00", "00:00:00.000000", "00:00:00"] {
            let end = at + shape.len();
            let fits = text.as_bytes().get(at..end).is_some_and(|part| {
                part.iter().zip(shape.bytes()).all(|(byte, shape)| match shape {
                    b'0' => byte.is_ascii_digit(),
                    other => *byte == other,
                })
            });
            if fits {
                masked[at..end].copy_from_slice(shape.as_bytes());
            }
        }
    }
    String::from_utf8(masked).expect("only digits were replaced")
}
