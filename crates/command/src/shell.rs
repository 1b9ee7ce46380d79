//! Commands from standard input, one a line, on one open database.
//!
//! Opening a database costs more than most commands: a script that makes many
//! small changes does them here. A line's answer is written before the next
//! line is read, and a write is durable when its answer appears.

use std::io::{BufRead, IsTerminal, Write};

use clap::Parser;

use crate::args::{Arguments, Command};
use crate::failure::{Failure, Kind, Outcome};
use crate::paint::has_colours;
use crate::screen::{self, count};
use crate::session::Session;

pub(crate) fn shell(session: &mut Session) -> Outcome {
    session.database_or_new()?;
    let stdin = std::io::stdin();
    let prompted = stdin.is_terminal();
    if prompted {
        screen::note(
            "commands as on the command line, without `anywhen`; `help`, or ctrl-d to leave",
        );
    }
    let json = session.json;
    let mut failed = 0;
    let mut line = String::new();
    loop {
        if prompted {
            anstream::eprint!("anywhen> ");
            // A prompt that cannot be shown is no reason to stop.
            let _ = std::io::stderr().flush();
        }
        line.clear();
        match stdin.lock().read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                return Err(Failure::new(Kind::Broken, format!("standard input: {error}")));
            }
        }
        let outcome = one_line(session, &line);
        session.json = json;
        if let Err(failure) = outcome {
            failure.report(json);
            // Once the disk has failed nothing more is acknowledged.
            if failure.ends_everything() {
                return Err(Failure::new(Kind::Broken, "the shell stopped"));
            }
            failed += 1;
        }
    }
    match failed {
        0 => Ok(()),
        _ if prompted => Ok(()),
        _ => Err(Failure::refused(format!("{} failed", count(failed, "line")))),
    }
}

fn one_line(session: &mut Session, line: &str) -> Outcome {
    let words = words(line).map_err(|message| Failure::new(Kind::Usage, message))?;
    if words.is_empty() {
        return Ok(());
    }
    let arguments = std::iter::once("anywhen".to_owned()).chain(words);
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) if !error.use_stderr() => {
            let help = error.render();
            return match has_colours() {
                true => screen::painted(&help.ansi().to_string()),
                false => screen::lines(&help.to_string()),
            };
        }
        Err(error) => return Err(Failure::usage(&error)),
    };
    // The explorer takes the signals of the process, and reads a folder of its own.
    if let Command::Shell
    | Command::Explore(_)
    | Command::Init
    | Command::Restore(_)
    | Command::Serve(_)
    | Command::Completions(_)
    | Command::ManPages(_)
    | Command::Token(_) = arguments.command
    {
        return Err(Failure::refused("this works outside the shell only"));
    }
    session.json |= arguments.global.json;
    crate::run(session, &arguments.command)
}

/// Splits a line into words as a shell does: quotes of both kinds, backslash, `#` for a comment. A
/// word that begins with a bracket or a brace is JSON up to the closing one, so JSON needs no
/// quotes.
fn words(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(&c) = chars.peek() {
        if matches!(c, '{' | '[') && word.is_none() {
            json_word(&mut chars, word.insert(String::new()))?;
            continue;
        }
        chars.next();
        match c {
            '\'' | '"' => quoted_word(c, &mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '#' if word.is_none() => break,
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Takes what stands up to the closing quote. Between double quotes a backslash
/// guards a quote or a backslash.
fn quoted_word(
    quote: char,
    chars: &mut impl Iterator<Item = char>,
    word: &mut String,
) -> Result<(), &'static str> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next() {
                Some(c @ ('"' | '\\')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err("a quote is not closed")
}

/// Takes JSON as it stands, from its opening bracket to where it closes.
fn json_word(
    chars: &mut impl Iterator<Item = char>,
    word: &mut String,
) -> Result<(), &'static str> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for c in chars {
        word.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(());
        }
    }
    Err("a bracket is not closed")
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn lines_are_split_as_in_a_shell() {
        let split = |line| words(line).unwrap();
        assert_eq!(split("put a/1 '{\"n\": 1}'\n"), ["put", "a/1", "{\"n\": 1}"]);
        assert_eq!(split("a \"b \\\" \\n\" c\\ d '' # e"), ["a", "b \" \\n", "c d", ""]);
        assert_eq!(split("edit a/1 set '#12' 1#2"), ["edit", "a/1", "set", "#12", "1#2"]);
        assert!(split("  # nothing\n").is_empty());
        assert_eq!(
            split(r#"put a {"n": "} \" ]", "m": [1, 2]} -m 'x y'"#)[2..4],
            [r#"{"n": "} \" ]", "m": [1, 2]}"#, "-m",]
        );
        assert_eq!(split("edit a/1 set [0].n 1 'a[1]' a[2]")[3..], ["[0].n", "1", "a[1]", "a[2]"]);
        assert!(words("'open").is_err() && words("\"open").is_err() && words("{[}").is_err());
    }
}
