//! A client that shows what `psql` would, without a wire between.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use session::{Column, Done, Error, Instance, Options, Output, Portal, Session, StartUp};
use txn::EngineOptions;
use types::{Context, Datum};
use vfs::{Env, SimVfs};

/// A database on a disk that is not there.
pub fn instance() -> Arc<Instance> {
    instance_on(&SimVfs::new(7))
}

/// A database on such a disk.
pub fn instance_on(disk: &SimVfs) -> Arc<Instance> {
    Instance::open_at(Path::new("db"), EngineOptions::default(), options(disk)).expect("it opens")
}

/// The options of a database on such a disk.
pub fn options(disk: &SimVfs) -> Options {
    let env = Env::sim(disk, 7);
    let temporary = Some(Path::new("db").join("temporary"));
    let memory_bytes_max = 256 << 20;
    Options {
        env,
        settings: Vec::new(),
        memory_bytes_max,
        memory_total_bytes: None,
        defaults: Vec::new(),
        folder: None,
        temporary,
    }
}

/// A session of the superuser.
pub fn connect(instance: &Arc<Instance>) -> Session {
    connect_to(instance, "postgres", "postgres").expect("a session begins")
}

/// A session of a role in a database.
pub fn connect_to(instance: &Arc<Instance>, database: &str, user: &str) -> Result<Session, Error> {
    let start = StartUp {
        user: user.to_owned(),
        database: database.to_owned(),
        settings: vec![("application_name".to_owned(), "psql".to_owned())],
        ..StartUp::default()
    };
    instance.connect(start)
}

/// Rows as they are shown.
#[derive(Default)]
struct Shown {
    rows: Vec<String>,
    copied: Vec<u8>,
}

impl Output for Shown {
    fn row(
        &mut self,
        row: &[Datum],
        columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        let mut line = String::new();
        for (at, (value, column)) in row.iter().zip(columns).enumerate() {
            if at > 0 {
                line.push('|');
            }
            match value {
                Datum::Null => line.push_str("NULL"),
                value => {
                    let value = value.as_ref();
                    types::text::write(value, column.ty, column.modifier, context, &mut line)?;
                }
            }
        }
        self.rows.push(line);
        Ok(ControlFlow::Continue(()))
    }

    fn copy_data(&mut self, data: &[u8]) -> ControlFlow<()> {
        self.copied.extend_from_slice(data);
        ControlFlow::Continue(())
    }
}

/// Runs a script on a server of its own. `\c database user` connects anew.
pub fn run_script(script: &str) -> String {
    let instance = instance();
    let mut session = connect(&instance);
    let mut shown = String::new();
    let mut statement = String::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        writeln!(shown, "{line}").expect("a string takes all");
        if let Some((database, user)) = line.strip_prefix("\\c ").and_then(|it| it.split_once(' '))
        {
            session = connect_to(&instance, database, user).expect("a session begins");
            let told = format!("connected to database \"{database}\" as user \"{user}\"");
            writeln!(shown, "You are now {told}.").expect("a string takes all");
            continue;
        }
        let code = line.split("--").next().unwrap_or_default();
        if statement.is_empty() && code.trim().is_empty() {
            continue;
        }
        statement.push_str(line);
        statement.push('\n');
        if !code.trim_end().ends_with(';') {
            continue;
        }
        let text = std::mem::take(&mut statement);
        query(&mut session, text.trim_end(), &mut lines, &mut shown);
    }
    shown
}

/// A Query message and all that comes back.
pub fn query<'a>(
    session: &mut Session,
    text: &str,
    data: &mut impl Iterator<Item = &'a str>,
    shown: &mut String,
) {
    // psql sends statements without their semicolon's line end; places count in the same text.
    let done = run(session, text, data, shown);
    if let Err(error) = done {
        notices(session, shown);
        show_error(&error, text, shown);
        session.fail();
    }
    if let Err(error) = session.end() {
        show_error(&error, text, shown);
        session.fail();
    }
    notices(session, shown);
}

fn run<'a>(
    session: &mut Session,
    text: &str,
    data: &mut impl Iterator<Item = &'a str>,
    shown: &mut String,
) -> Result<(), Error> {
    let statements = session.read(text)?;
    let alone = statements.len() == 1;
    for statement in statements {
        let mut portal = session.start(statement, alone)?;
        let mut out = Shown::default();
        let tag = loop {
            match session.execute(&mut portal, 0, &mut out)? {
                Done::Complete(tag) => break tag,
                Done::Empty => return Ok(()),
                Done::CopyIn(_) => {
                    let mut failed = None;
                    for line in data.by_ref().take_while(|line| *line != "\\.") {
                        let line = format!("{line}\n");
                        if failed.is_none() {
                            failed = session.copy_in(line.as_bytes()).err();
                        }
                    }
                    match failed {
                        Some(error) => return Err(error),
                        None => break session.copy_end()?,
                    }
                }
                _ => {}
            }
        };
        notices(session, shown);
        shown.push_str(&String::from_utf8_lossy(&out.copied));
        show(&portal, &out.rows, &tag.to_string(), shown);
    }
    Ok(())
}

fn show(portal: &Portal, rows: &[String], tag: &str, shown: &mut String) {
    if let Some(columns) = portal.columns() {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        writeln!(shown, "{}", names.join("|")).expect("a string takes all");
        for row in rows {
            writeln!(shown, "{row}").expect("a string takes all");
        }
        let plural = if rows.len() == 1 { "" } else { "s" };
        writeln!(shown, "({} row{plural})", rows.len()).expect("a string takes all");
    }
    let hidden = ["SELECT", "SHOW", "FETCH", "EXPLAIN"].iter().any(|word| tag.starts_with(word));
    if portal.columns().is_none() || !hidden {
        writeln!(shown, "{tag}").expect("a string takes all");
    }
}

fn notices(session: &mut Session, shown: &mut String) {
    for notice in session.take_messages().notices {
        show_error(&notice, "", shown);
    }
}

/// As psql shows it where it is verbose.
fn show_error(error: &Error, text: &str, shown: &mut String) {
    let (state, message) = (error.state(), error.message());
    let state = state.code();
    let mut put = |line: String| {
        shown.push_str(&line);
        shown.push('\n');
    };
    put(format!("{}:  {state}: {message}", error.severity.name()));
    if let Some(position) = error.position {
        let mut column = position as usize - 1;
        for (line, number) in text.split('\n').zip(1..) {
            let length = line.chars().count();
            if column <= length {
                let head = format!("LINE {number}: ");
                put(format!("{head}{line}"));
                put(format!("{}^", " ".repeat(head.len() + column)));
                break;
            }
            column -= length + 1;
        }
    }
    let cause = &error.cause;
    let query = error.inner.as_deref().map(|(query, position)| {
        let before: String = query.chars().take(*position as usize - 1).collect();
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let head = format!("LINE {}: ", line + 1);
        put(format!("{head}{}", query.split('\n').nth(line).unwrap_or_default()));
        put(format!("{}^", " ".repeat(head.len() + column)));
        query.as_str()
    });
    let parts = [
        ("DETAIL", cause.detail()),
        ("HINT", cause.hint()),
        ("QUERY", query),
        ("CONTEXT", cause.context()),
    ];
    for (name, part) in parts {
        if let Some(part) = part {
            put(format!("{name}:  {part}"));
        }
    }
    let objects = [
        ("SCHEMA NAME", types::Object::Schema),
        ("TABLE NAME", types::Object::Table),
        ("COLUMN NAME", types::Object::Column),
        ("DATATYPE NAME", types::Object::Type),
        ("CONSTRAINT NAME", types::Object::Constraint),
    ];
    for (name, object) in objects {
        if let Some(value) = cause.object(object) {
            put(format!("{name}:  {value}"));
        }
    }
}

/// An output that discards its rows.
pub struct Nothing;

impl Output for Nothing {
    fn row(
        &mut self,
        _: &[Datum],
        _: &[Column],
        _: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

/// Collects rows as text.
#[derive(Default)]
pub struct TextOutput(pub Vec<String>);

impl Output for TextOutput {
    fn row(
        &mut self,
        row: &[Datum],
        columns: &[Column],
        context: &Context<'_>,
    ) -> types::Result<ControlFlow<()>> {
        let mut shown = Shown::default();
        let flow = shown.row(row, columns, context)?;
        self.0.append(&mut shown.rows);
        Ok(flow)
    }
}
