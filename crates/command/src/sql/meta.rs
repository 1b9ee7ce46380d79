//! Commands of the shell itself: they begin with a backslash, as psql's do.

use std::path::Path;

use super::help::manual;
use super::layout::Expanded;
use super::{Next, Shell, failure};
use crate::failure::{Failure, Outcome};
use crate::screen;

/// The kind of completions behind a command.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    Nothing,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Relations of these letters of `pg_class.relkind`.
    Relations(&'static str),
    /// A command of SQL.
    Help,
    /// A file of this machine.
    File,
}

/// A command of the shell.
struct Meta {
    name: &'static str,
    /// The text that `\?` shows behind the name.
    argument: &'static str,
    about: &'static str,
    takes: Takes,
    run: fn(&mut Shell, &str) -> Outcome,
}

const fn meta(
    name: &'static str,
    argument: &'static str,
    about: &'static str,
    takes: Takes,
    run: fn(&mut Shell, &str) -> Outcome,
) -> Meta {
    Meta { name, argument, about, takes, run }
}

/// All commands but `\q`, in the order in which `\?` lists them.
const COMMANDS: [Meta; 20] = [
    meta("\\?", "", "this list", Takes::Nothing, |_, _| help()),
    meta(
        "\\h",
        "[NAME]",
        "help on the commands of SQL: all of them, or one",
        Takes::Help,
        |_, name| screen::lines(&manual().help(name)),
    ),
    meta(
        "\\d",
        "[NAME]",
        "tables, views and sequences; or the columns and indexes of one",
        Takes::Relations("rpvmfiS"),
        |shell, name| match name {
            "" => relations(shell, "'r', 'v', 'm', 'S'"),
            name => describe(shell, name),
        },
    ),
    meta("\\dt", "", "tables", Takes::Nothing, |shell, _| relations(shell, "'r'")),
    meta("\\di", "", "indexes", Takes::Nothing, |shell, _| relations(shell, "'i'")),
    meta("\\dv", "", "views", Takes::Nothing, |shell, _| relations(shell, "'v'")),
    meta("\\dm", "", "materialized views", Takes::Nothing, |shell, _| relations(shell, "'m'")),
    meta("\\ds", "", "sequences", Takes::Nothing, |shell, _| relations(shell, "'S'")),
    meta("\\dn", "", "schemas", Takes::Nothing, |shell, _| ask(shell, SCHEMAS, &[])),
    meta("\\du", "", "roles", Takes::Nothing, |shell, _| ask(shell, ROLES, &[])),
    meta("\\dT", "", "types", Takes::Nothing, |shell, _| ask(shell, TYPES, &[])),
    meta("\\l", "", "databases", Takes::Nothing, |shell, _| ask(shell, DATABASES, &[])),
    meta("\\i", "FILE", "run the statements in a file", Takes::File, |shell, file| {
        shell.file(Path::new(file.trim_matches('\'')))
    }),
    meta(
        "\\copy",
        "...",
        "COPY with the files of this machine: \\copy t from 'f.csv' csv",
        Takes::Relations("rpvm"),
        copy,
    ),
    meta(
        "\\x",
        "[on|off|auto]",
        "each value on a line of its own; auto: where a table is too wide",
        Takes::Words(&["on", "off", "auto"]),
        expand,
    ),
    meta(
        "\\timing",
        "[on|off]",
        "say how long statements take",
        Takes::Words(&["on", "off"]),
        timing,
    ),
    meta("\\pset", "null TEXT", "what stands for NULL", Takes::Words(&["null"]), set_null),
    meta(
        "\\history",
        "TABLE",
        "every version of the rows of a table",
        Takes::Relations("rp"),
        history,
    ),
    meta("\\echo", "TEXT", "write a text", Takes::Nothing, |_, text| screen::text(text)),
    meta(
        "\\conninfo",
        "",
        "the server or data folder of this session",
        Takes::Nothing,
        |shell, _| screen::text(&shell.source.described()),
    ),
];

const LEAVE: &str = "\\q";

const SCHEMAS: &str = "\
SELECT nspname AS \"Name\", pg_catalog.pg_get_userbyid(nspowner) AS \"Owner\"
FROM pg_catalog.pg_namespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1";

const ROLES: &str = "\
SELECT rolname AS \"Role\", rolsuper AS \"Superuser\", rolcanlogin AS \"Can log in\"
FROM pg_catalog.pg_roles ORDER BY 1";

const TYPES: &str = "\
SELECT n.nspname AS \"Schema\", pg_catalog.format_type(t.oid, NULL) AS \"Name\"
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
  AND t.typtype IN ('e', 'd') ORDER BY 1, 2";

const DATABASES: &str = "SELECT datname AS \"Name\" FROM pg_catalog.pg_database ORDER BY 1";

const RELATIONS: &str = "
SELECT n.nspname AS \"Schema\", c.relname AS \"Name\",
       CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'i' THEN 'index'
                      WHEN 'm' THEN 'materialized view'
                      WHEN 'S' THEN 'sequence' WHEN 'c' THEN 'type' ELSE c.relkind::text END AS \"Type\",
       pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\"
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')";

/// True for `COPY` with the client's own streams.
pub(super) fn is_copy(text: &str) -> bool {
    let text = text.trim_start().to_ascii_lowercase();
    text.starts_with("copy") && (text.contains("stdin") || text.contains("stdout"))
}

/// The names of all commands.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|known| known.name).chain([LEAVE])
}

/// The kind of argument of a command.
pub(super) fn takes(name: &str) -> Takes {
    COMMANDS.iter().find(|known| known.name == name).map_or(Takes::Nothing, |known| known.takes)
}

/// Does a command; `None` if there is no such command.
pub(super) fn run(shell: &mut Shell, line: &str) -> Outcome<Option<Next>> {
    let line = line.trim().trim_end_matches(';');
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let name = if name == "\\help" { "\\h" } else { name };
    if name == LEAVE {
        return Ok(Some(Next::Quit));
    }
    let Some(command) = COMMANDS.iter().find(|known| known.name == name) else { return Ok(None) };
    if let Err(failure) = (command.run)(shell, argument.trim()) {
        if shell.stops {
            return Err(failure);
        }
        failure.report(false);
    }
    Ok(Some(Next::Go))
}

fn help() -> Outcome {
    let leave = [(format!("  {LEAVE}"), "leave")];
    let all = COMMANDS.iter().map(|known| {
        (format!("  {} {}", known.name, known.argument).trim_end().to_owned(), known.about)
    });
    let lines: Vec<String> =
        all.chain(leave).map(|(name, about)| format!("{name:22}{about}\n")).collect();
    screen::lines(&lines.concat())
}

/// The new state for a word that switches an option on or off; without a word, the opposite of
/// `is_on`.
fn switched(command: &str, word: &str, is_on: bool) -> Outcome<bool> {
    match word {
        "" => Ok(!is_on),
        "on" | "true" | "1" | "yes" => Ok(true),
        "off" | "false" | "0" | "no" => Ok(false),
        word => Err(Failure::refused(format!("{command} {word}: it can be on or off"))),
    }
}

fn timing(shell: &mut Shell, word: &str) -> Outcome {
    shell.timing = switched("\\timing", word, shell.timing)?;
    screen::text(if shell.timing { "Timing is on." } else { "Timing is off." })
}

fn expand(shell: &mut Shell, word: &str) -> Outcome {
    let expanded = match word {
        "auto" => Expanded::Auto,
        word => match switched("\\x", word, shell.layout.expanded == Expanded::On) {
            Ok(true) => Expanded::On,
            Ok(false) => Expanded::Off,
            Err(_) => {
                return Err(Failure::refused(format!("\\x {word}: it can be on, off or auto")));
            }
        },
    };
    shell.layout.expanded = expanded;
    screen::text(match expanded {
        Expanded::On => "Expanded display is on.",
        Expanded::Off => "Expanded display is off.",
        Expanded::Auto => "Expanded display is used automatically.",
    })
}

fn set_null(shell: &mut Shell, argument: &str) -> Outcome {
    match argument.split_once(char::is_whitespace) {
        Some(("null", text)) => {
            shell.layout.null = text.trim().trim_matches('\'').to_owned();
            Ok(())
        }
        _ => Err(Failure::refused("\\pset null TEXT")),
    }
}

fn history(shell: &mut Shell, table: &str) -> Outcome {
    if table.is_empty() {
        return Err(Failure::refused("\\history needs the name of a table"));
    }
    let text = format!(
        "SELECT _system_from, _system_to, _version, * FROM {table} FOR SYSTEM_TIME ALL
         ORDER BY _version"
    );
    shell.statement(&text, 1)
}

fn ask(shell: &mut Shell, text: &str, parameters: &[&str]) -> Outcome {
    let answer = shell.source.query(text, parameters).map_err(|refusal| failure(&refusal))?;
    shell.show(&answer)
}

fn relations(shell: &mut Shell, kinds: &str) -> Outcome {
    ask(shell, &format!("{RELATIONS} AND c.relkind IN ({kinds}) ORDER BY 1, 2"), &[])
}

/// The columns, indexes and constraints of a relation.
fn describe(shell: &mut Shell, name: &str) -> Outcome {
    ask(
        shell,
        "SELECT a.attname AS \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) AS \"Type\",
                CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS \"Nullable\",
                pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS \"Default\"
         FROM pg_catalog.pg_attribute a
              LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
         WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        &[name],
    )?;
    for (title, text) in [
        (
            "Indexes:",
            "SELECT pg_catalog.pg_get_indexdef(indexrelid) FROM pg_catalog.pg_index
             WHERE indrelid = $1::regclass ORDER BY indisprimary DESC, 1",
        ),
        (
            "Constraints:",
            "SELECT conname || ' ' || pg_catalog.pg_get_constraintdef(oid)
             FROM pg_catalog.pg_constraint WHERE conrelid = $1::regclass AND contype <> 'n' ORDER BY 1",
        ),
    ] {
        let answer = shell.source.query(text, &[name]).map_err(|refusal| failure(&refusal))?;
        if !answer.rows.is_empty() {
            screen::text(title)?;
        }
        for line in answer.rows.iter().filter_map(|row| row.first()?.as_ref()) {
            screen::text(&format!("    {line}"))?;
        }
    }
    Ok(())
}

/// `\copy t from 'file' options`, `\copy (query) to 'file' options`
fn copy(shell: &mut Shell, argument: &str) -> Outcome {
    let usage = || {
        Failure::refused("\\copy needs a table or a query, FROM or TO, and a file")
            .hint("for example: \\copy person from 'person.csv' csv header")
    };
    let lower = argument.to_ascii_lowercase();
    let (at, reads) = match (lower.rfind(" from "), lower.rfind(" to ")) {
        (Some(from), None) => (from, true),
        (None, Some(to)) => (to, false),
        (Some(from), Some(to)) if !lower.trim_start().starts_with('(') && from < to => (from, true),
        (Some(_), Some(to)) => (to, false),
        (None, None) => return Err(usage()),
    };
    let what = &argument[..at];
    let rest = argument[at..].trim_start();
    let rest = rest[rest.find(char::is_whitespace).ok_or_else(usage)?..].trim_start();
    let (file, options) = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'').ok_or_else(usage)?,
        None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
    };
    let path = Path::new(file);
    let done = if reads {
        let mut from = std::fs::File::open(path).map_err(|error| Failure::file(path, &error))?;
        shell.source.copy_in(&format!("COPY {what} FROM STDIN {options}"), &mut from)
    } else {
        let to = std::fs::File::create(path).map_err(|error| Failure::file(path, &error))?;
        let mut to = std::io::BufWriter::new(to);
        let done = shell.source.copy_out(&format!("COPY {what} TO STDOUT {options}"), &mut to);
        std::io::Write::flush(&mut to).map_err(|error| Failure::file(path, &error))?;
        done
    };
    screen::text(&format!("COPY {}", done.map_err(|refusal| failure(&refusal))?))
}
