//! Commands of the shell itself: they begin with a backslash, as psql's do.

use std::path::Path;

use super::layout::Expanded;
use super::{Next, Shell, failure};
use crate::failure::{Failure, Outcome};
use crate::screen;

const HELP: &str = "\
  \\d [NAME]      tables, views and sequences; or the columns and indexes of one
  \\dt \\di \\dv \\dm     tables, indexes, views, materialized views
  \\ds \\dn \\du \\dT     sequences, schemas, roles, types
  \\l             databases
  \\i FILE        run the statements in a file
  \\copy ...      COPY with the files of this machine: \\copy t from 'f.csv' csv
  \\x [on|off|auto]     each value on a line of its own
  \\timing        say how long statements take
  \\pset null TEXT      what stands for NULL
  \\history TABLE       every version of the rows of a table
  \\q             leave
";

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

/// Does a command; `None` where there is no such command.
pub(super) fn run(shell: &mut Shell, line: &str) -> Outcome<Option<Next>> {
    let line = line.trim().trim_end_matches(';');
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    let done = match name {
        "\\q" => return Ok(Some(Next::Quit)),
        "\\?" | "\\h" | "\\help" => screen::lines(HELP),
        "\\timing" => {
            shell.timing = !shell.timing;
            screen::text(if shell.timing { "Timing is on." } else { "Timing is off." })
        }
        "\\x" => {
            shell.layout.expanded = match (argument, shell.layout.expanded) {
                ("on", _) | ("", Expanded::Off | Expanded::Auto) => Expanded::On,
                ("auto", _) => Expanded::Auto,
                _ => Expanded::Off,
            };
            Ok(())
        }
        "\\pset" => match argument.split_once(char::is_whitespace) {
            Some(("null", text)) => {
                shell.layout.null = text.trim().trim_matches('\'').to_owned();
                Ok(())
            }
            _ => Err(Failure::refused("\\pset null TEXT")),
        },
        "\\i" => shell.file(Path::new(argument.trim_matches('\''))),
        "\\copy" => copy(shell, argument),
        "\\l" => {
            ask(shell, "SELECT datname AS \"Name\" FROM pg_catalog.pg_database ORDER BY 1", &[])
        }
        "\\dn" => ask(
            shell,
            "SELECT nspname AS \"Name\", pg_catalog.pg_get_userbyid(nspowner) AS \"Owner\"
             FROM pg_catalog.pg_namespace
             WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1",
            &[],
        ),
        "\\du" => ask(
            shell,
            "SELECT rolname AS \"Role\", rolsuper AS \"Superuser\", rolcanlogin AS \"Can log in\"
             FROM pg_catalog.pg_roles ORDER BY 1",
            &[],
        ),
        "\\dT" => ask(
            shell,
            "SELECT n.nspname AS \"Schema\", pg_catalog.format_type(t.oid, NULL) AS \"Name\"
             FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
             WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
               AND t.typtype IN ('e', 'd') ORDER BY 1, 2",
            &[],
        ),
        "\\d" if argument.is_empty() => relations(shell, "'r', 'v', 'm', 'S'"),
        "\\dt" => relations(shell, "'r'"),
        "\\di" => relations(shell, "'i'"),
        "\\dv" => relations(shell, "'v'"),
        "\\dm" => relations(shell, "'m'"),
        "\\ds" => relations(shell, "'S'"),
        "\\d" => describe(shell, argument),
        "\\history" => {
            let text = format!(
                "SELECT _system_from, _system_to, _version, * FROM {argument} FOR SYSTEM_TIME ALL
                 ORDER BY _version"
            );
            shell.statement(&text, 1)
        }
        _ => return Ok(None),
    };
    if let Err(failure) = done {
        if shell.stops {
            return Err(failure);
        }
        failure.report(false);
    }
    Ok(Some(Next::Go))
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
