//! The files of `tests/sql` in sqllogictest's form: what SQL answers, subject by subject.
//!
//! ```text
//!   query IT                         the types of the columns, a letter each: see `Kind`
//!   SELECT 1, 'a'                    the statement, up to an empty line or `----`
//!   ----
//!   1  a                              rows: values as text, a tab between them, NULL, (empty)
//!
//!   statement count 3                rows changed        statement error (23505)    the code
//!   connection b                     the next record is said by another session
//!   onlyif anywhen                   the next record asks for what PostgreSQL does not have
//! ```
//!
//! Each file is played over the wire to a database of its own. Its answers are PostgreSQL 17's: with
//! `ANYWHEN_POSTGRES=127.0.0.1:5432` the files are played to such a server instead (each in a database
//! that is made for it), and with `UPDATE_EXPECT=1` besides its answers are written down. A record
//! with `onlyif anywhen` follows from the rules in docs/guide/sql.md, and is written by hand.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sqllogictest::{
    ColumnType, DB, DBOutput, ExpectedError, QueryExpect, Record, RecordOutput, Runner,
    StatementExpect,
};

use crate::wire::{Answer, Wire, message};
use crate::world;

/// Every file gives its answers; all differences are reported together.
#[test]
fn sql_answers() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the files are there")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "slt"))
        .collect();
    files.sort();
    let (mut records, mut wrong) = (0, Vec::new());
    for file in &files {
        records += play(file, &mut wrong);
    }
    println!("{} files, {records} records", files.len());
    assert!(wrong.is_empty(), "{} of {records} records:\n{}", wrong.len(), wrong.join("\n"));
    assert!(records >= 3_000, "{records} records");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql")
}

/// Plays one file; how many statements and queries it has.
fn play(file: &Path, wrong: &mut Vec<String>) -> usize {
    let other: Option<SocketAddr> = std::env::var("ANYWHEN_POSTGRES")
        .ok()
        .map(|address| address.parse().expect("an address and a port"));
    let server = other.is_none().then(|| world::start(world::options()));
    let address = server.as_ref().map_or_else(|| other.expect("one of them"), |s| s.addresses()[0]);
    let database = match other {
        Some(_) => anew(address, file),
        None => "postgres".to_owned(),
    };
    let engine = if other.is_some() { "postgresql" } else { "anywhen" };
    let mut runner = Runner::new(|| async { Client::connect(address, &database, engine) });
    runner.with_normalizer(|text| text.clone());
    runner.with_validator(|_, rows, wanted| lines(rows) == wanted);
    runner.with_column_validator(sqllogictest::strict_column_validator);
    let script = sqllogictest::parse_file::<Kind>(file).expect("the file can be read");
    let mut count = 0;
    let mut text = String::new();
    let writes = other.is_some() && std::env::var_os("UPDATE_EXPECT").is_some();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for record in script {
        count += usize::from(matches!(record, Record::Statement { .. } | Record::Query { .. }));
        if writes {
            let output = runtime.block_on(runner.apply_record(record.clone()));
            text.push_str(&format!("{}\n", answered(record, &output)));
        } else if let Err(error) = runner.run(record) {
            wrong.push(error.to_string());
        }
    }
    runner.shutdown();
    if writes {
        std::fs::write(file, format!("{}\n", text.trim_end())).expect("answers can be written");
    }
    count
}

/// Makes a database for a file, and gives its name.
fn anew(address: SocketAddr, file: &Path) -> String {
    let stem = file.file_stem().expect("it has a name").to_string_lossy();
    let name = format!("anywhen_{}", stem.replace('-', "_"));
    let mut wire = Wire::connect_to(address);
    wire.query(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
    wire.query(&format!("CREATE DATABASE {name} TEMPLATE template0 LOCALE 'C'"));
    name
}

/// The record as it is with this answer.
fn answered(record: Record<Kind>, output: &RecordOutput<Kind>) -> Record<Kind> {
    let failed = |error: &dyn std::error::Error| {
        let (state, _) = error.to_string().split_once(' ').map(owned).expect("a code comes first");
        ExpectedError::SqlState(state)
    };
    match (record, output) {
        // It was not asked: it is `onlyif anywhen`.
        (record, RecordOutput::Nothing) => record,
        (Record::Statement { loc, conditions, connection, sql, retry, .. }, output) => {
            let expected = match output {
                RecordOutput::Statement { error: Some(error), .. } => {
                    StatementExpect::Error(failed(error))
                }
                RecordOutput::Statement { count: 0, .. } => StatementExpect::Ok,
                RecordOutput::Statement { count, .. } => StatementExpect::Count(*count),
                _ => panic!("{loc}: rows where none were to be: make it a query"),
            };
            Record::Statement { loc, conditions, connection, sql, expected, retry }
        }
        (Record::Query { loc, conditions, connection, sql, retry, .. }, output) => {
            let RecordOutput::Query { types, rows, error } = output else {
                panic!("{loc}: no rows where there were to be: make it a statement")
            };
            let (types, results) = (types.clone(), lines(rows));
            let expected = match error {
                Some(error) => QueryExpect::Error(failed(error)),
                None => QueryExpect::Results {
                    types,
                    sort_mode: None,
                    result_mode: None,
                    label: None,
                    results,
                },
            };
            Record::Query { loc, conditions, connection, sql, expected, retry }
        }
        (record, _) => record,
    }
}

fn owned((first, second): (&str, &str)) -> (String, String) {
    (first.to_owned(), second.to_owned())
}

fn lines(rows: &[Vec<String>]) -> Vec<String> {
    rows.iter().map(|row| row.join("\t")).collect()
}

/// The kind of value that a column holds: `B`oolean, `I`nteger, `N`umeric, `R`eal, `D`ate and time,
/// `J`son, `A`rray, `T`ext, and `?` for others.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Kind(char);

impl ColumnType for Kind {
    fn from_char(value: char) -> Option<Self> {
        "BINRDJAT?".contains(value).then_some(Kind(value))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

impl Kind {
    fn of(type_number: i32) -> Kind {
        Kind(match type_number {
            16 => 'B',
            20 | 21 | 23 | 26 => 'I',
            1700 => 'N',
            700 | 701 => 'R',
            1082 | 1083 | 1114 | 1184 | 1186 | 1266 => 'D',
            114 | 3802 => 'J',
            18 | 19 | 25 | 1042 | 1043 => 'T',
            199 | 1000..=1023 | 1028 | 1115 | 1182..=1187 | 1231 | 1270 | 2951 | 3807 => 'A',
            _ => '?',
        })
    }
}

/// An error as records compare it: the code, then the message.
#[derive(Debug)]
struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// A session, told one Query message at a time.
struct Client {
    wire: Wire,
    engine: &'static str,
}

impl Client {
    fn connect(address: SocketAddr, database: &str, engine: &'static str) -> Result<Self, Refusal> {
        let mut wire = Wire::open(address);
        let zone = ("TimeZone", "UTC");
        wire.begin(&[("user", "postgres"), ("database", database), zone]);
        Ok(Client { wire, engine })
    }
}

impl DB for Client {
    type Error = Refusal;
    type ColumnType = Kind;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Kind>, Refusal> {
        self.wire.send(&message(b'Q', &[sql.as_bytes(), b"\0"].concat()));
        let (mut types, mut rows, mut count) = (None, Vec::new(), 0);
        for answer in self.wire.until(b'Z') {
            match answer.kind {
                b'T' => types = Some(answer.kinds()),
                b'D' => rows.push(answer.values()),
                b'C' => count = answer.count(),
                b'E' => {
                    let message = answer.field(b'M').unwrap_or_default();
                    return Err(Refusal(format!("{} {message}", answer.state())));
                }
                _ => {}
            }
        }
        Ok(match types {
            Some(types) => DBOutput::Rows { types, rows },
            None => DBOutput::StatementComplete(count),
        })
    }

    fn engine_name(&self) -> &str {
        self.engine
    }

    fn error_sql_state(error: &Refusal) -> Option<String> {
        error.0.get(..5).map(str::to_owned)
    }
}

impl Answer {
    /// The kinds of the columns of a RowDescription.
    fn kinds(&self) -> Vec<Kind> {
        let mut rest = &self.body[2..];
        let mut kinds = Vec::new();
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            // After the name: its table and number, the type, its length and modifier, the format.
            let fields = &rest[end + 1..];
            kinds.push(Kind::of(i32::from_be_bytes(fields[6..10].try_into().expect("four bytes"))));
            rest = &fields[18..];
        }
        kinds
    }

    /// The values of a DataRow, on one line.
    fn values(&self) -> Vec<String> {
        let mut rest = &self.body[2..];
        let mut values = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = i32::from_be_bytes(*length);
            let (value, after) = after.split_at(length.max(0) as usize);
            let text = String::from_utf8_lossy(value);
            values.push(match length {
                -1 => "NULL".to_owned(),
                0 => "(empty)".to_owned(),
                _ => text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r"),
            });
            rest = after;
        }
        values
    }

    /// How many rows a CommandComplete tells of.
    fn count(&self) -> u64 {
        let tag = String::from_utf8_lossy(&self.body);
        tag.trim_end_matches('\0').rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    }
}
