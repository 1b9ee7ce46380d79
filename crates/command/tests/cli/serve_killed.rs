//! A server is killed at random moments while many clients write, again and again: nothing that it
//! acknowledged is lost, no transaction and no `COPY` is there in part, indexes agree with their
//! tables, and the past reads as it did before.
//!
//! ```text
//!   writer, writer        BEGIN; INSERT, UPDATE, DELETE note; COMMIT        rows of their own
//!   banker, banker        UPDATE account -n; UPDATE account +n; INSERT transfer
//!   loader                COPY load FROM STDIN, hundreds of rows each
//!   definer               CREATE or DROP TABLE, and its row in registry     one transaction
//!         |
//!      serve ...x SIGKILL   ─>  serve: for each client  found = acknowledged
//!                                                    or found = acknowledged + in flight
//! ```
//!
//! The test keeps the expected rows of each client, outside of the process that dies: as they were
//! when the last COMMIT was answered, and as they would be if the one without an answer happened.
//! `ANYWHEN_KILLS=<n>` kills so many times; `ANYWHEN_SEED=<n>` does the same things again, though the
//! machine decides where the kills fall.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use json::Tape;

use crate::World;
use crate::kill::Random;
use crate::wire::{Answer, Wire, message};

/// A new folder after so many kills, so that each stays small.
const KILLS_PER_FOLDER: u32 = 15;
/// How many moments of the past are read again after each kill.
const MOMENTS: usize = 4;
const ACCOUNTS: u64 = 12;
const WORDS: [&str; 5] = ["ash", "birch", "cedar", "elm", "fir"];

const TABLES: &str = "
    CREATE TABLE note (client int, n int, word text NOT NULL, pad text, PRIMARY KEY (client, n));
    CREATE INDEX note_word ON note (word);
    CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
    CREATE INDEX account_balance ON account (balance);
    INSERT INTO account SELECT g, 1000 FROM generate_series(0, 11) g;
    CREATE TABLE transfer (client int, n int, source int REFERENCES account,
        target int REFERENCES account, amount int, PRIMARY KEY (client, n));
    CREATE TABLE load (batch int, n int, pad text, PRIMARY KEY (batch, n));
    CREATE INDEX load_n ON load (n);
    CREATE TABLE registry (n int PRIMARY KEY)";

/// Everything that a moment of the past is compared by: all rows of all tables, in order.
const PAST: [&str; 4] = [
    "SELECT client, n, word, length(pad) FROM note FOR SYSTEM_VERSION AS OF $ ORDER BY 1, 2",
    "SELECT id, balance FROM account FOR SYSTEM_VERSION AS OF $ ORDER BY 1",
    "SELECT client, n, source, target, amount FROM transfer FOR SYSTEM_VERSION AS OF $ ORDER BY 1, 2",
    "SELECT batch, count(*), sum(n), sum(length(pad)) FROM load FOR SYSTEM_VERSION AS OF $ \
     GROUP BY batch ORDER BY 1",
];

/// Questions whose answer is no row, whatever has happened.
const NEVER: [(&str, &str); 4] = [
    (
        "an account is what its transfers make of it",
        "SELECT a.id, a.balance FROM account a WHERE a.balance <> 1000
           + coalesce((SELECT sum(amount) FROM transfer WHERE target = a.id), 0)
           - coalesce((SELECT sum(amount) FROM transfer WHERE source = a.id), 0)",
    ),
    ("nothing is made or lost", "SELECT sum(balance) FROM account HAVING sum(balance) <> 12000"),
    (
        "a batch is there from its first row to its last",
        "SELECT batch FROM load GROUP BY batch HAVING min(n) <> 0 OR max(n) + 1 <> count(*)",
    ),
    (
        "a table is there where its row is",
        "SELECT n, relname FROM registry FULL JOIN (SELECT * FROM pg_class WHERE relname LIKE 'side%'
           AND relkind = 'r') c ON relname = 'side' || n WHERE n IS NULL OR relname IS NULL",
    ),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Writer,
    Banker,
    Loader,
    Definer,
}

/// The rows of a client by their number, as its query shows them.
type Rows = BTreeMap<u64, String>;

/// A client, and what is known of its rows.
struct Client {
    number: usize,
    work: Work,
    random: Random,
    acknowledged: Rows,
    /// The expected rows if the change without an answer happened.
    in_flight: Option<Rows>,
    changes: u64,
}

/// The server has died: no answer comes.
pub(crate) struct Died;

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let seed = number_of("ANYWHEN_SEED").unwrap_or(0x5eed_0003);
    let kills = number_of("ANYWHEN_KILLS").unwrap_or(30) as u32;
    println!("ANYWHEN_SEED={seed}");
    let mut random = Random::new(seed);
    let (mut changes, mut happened, start) = (0, 0, Instant::now());
    let mut done = 0;
    while done < kills {
        let world = World::new();
        world.run(&["init"]);
        let mut clients = clients(&mut random);
        let mut past = BTreeMap::new();
        let (mut server, address) = serve(&world);
        ask(&mut Wire::connect_to(address), TABLES).unwrap_or_else(|_| panic!("tables"));
        let mut address = address;
        for _ in 0..KILLS_PER_FOLDER.min(kills - done) {
            done += 1;
            write_until_killed(server, address, &mut clients, &mut random);
            if random.below(4) == 0 {
                kill_while_opening(&world, &mut random);
            }
            (server, address) = serve(&world);
            let what = format!("ANYWHEN_SEED={seed}, kill {done}");
            happened += check(address, &mut clients, &mut past, &mut random, &what);
        }
        server.kill().expect("the server can be killed");
        server.wait().expect("the server is gone");
        world.run(&["verify"]);
        changes += clients.iter().map(|client| client.changes).sum::<u64>();
    }
    println!(
        "{kills} kills, {changes} acknowledged transactions, {happened} that happened unacknowledged, \
         {:.1} s",
        start.elapsed().as_secs_f64()
    );
    assert!(changes > u64::from(kills) * 5, "the clients hardly wrote: {changes}");
}

pub(crate) fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, which is no number")))
}

fn clients(random: &mut Random) -> Vec<Client> {
    use Work::{Banker, Definer, Loader, Writer};
    [Writer, Writer, Banker, Banker, Loader, Definer]
        .into_iter()
        .zip(0..)
        .map(|(work, number)| Client {
            number,
            work,
            random: Random::new(random.below(u64::MAX >> 11)),
            acknowledged: Rows::new(),
            in_flight: None,
            changes: 0,
        })
        .collect()
}

/// Starts the server; it has said where it listens.
pub(crate) fn serve(world: &World) -> (Child, SocketAddr) {
    let mut server = spawn(world);
    let mut line = String::new();
    let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
    said.read_line(&mut line).expect("the server says where it listens");
    let told = Tape::parse(line.trim()).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    let address = told.root().get("listening").and_then(|node| node.as_str()).expect("an address");
    (server, address.parse().expect("an address"))
}

fn spawn(world: &World) -> Child {
    world
        .command(&["serve", "--json", "--pg-listen", "127.0.0.1:0", "--log-level", "error"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// Kills a server that has not yet opened the folder, or just has, or the command that compacts it.
fn kill_while_opening(world: &World, random: &mut Random) {
    let mut child = match random.below(2) {
        0 => spawn(world),
        _ => world.command(&["compact"]).stdout(Stdio::null()).spawn().expect("it starts"),
    };
    std::thread::sleep(Duration::from_millis(random.below(100)));
    child.kill().expect("the child can be killed");
    child.wait().expect("the child is gone");
}

/// Lets the clients write, each on its own thread, until the server is killed.
fn write_until_killed(
    mut server: Child,
    address: SocketAddr,
    clients: &mut [Client],
    random: &mut Random,
) {
    let delay = Duration::from_micros(random.below(200_000));
    std::thread::scope(|scope| {
        for client in clients {
            let mut wire = Wire::connect_to(address);
            scope.spawn(move || while client.change(&mut wire).is_ok() {});
        }
        std::thread::sleep(delay);
        // SIGKILL: the process gets no chance to put anything in order.
        server.kill().expect("the server can be killed");
        server.wait().expect("the server is gone");
    });
}

/// Says something and reads the answers up to ReadyForQuery.
pub(crate) fn say(wire: &mut Wire, bytes: &[u8]) -> Result<Vec<Answer>, Died> {
    wire.stream.write_all(bytes).map_err(|_| Died)?;
    let mut answers = Vec::new();
    while answers.last().is_none_or(|answer: &Answer| answer.kind != b'Z') {
        answers.push(wire.next().ok_or(Died)?);
    }
    Ok(answers)
}

pub(crate) fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

/// Runs statements that must not fail; their rows, fields separated by bars.
pub(crate) fn ask(wire: &mut Wire, text: &str) -> Result<Vec<String>, Died> {
    let answers = say(wire, &query(text))?;
    if let Some(error) = answers.iter().find(|answer| answer.kind == b'E') {
        panic!("{text}: {:?} {:?}", error.field(b'C'), error.field(b'M'));
    }
    Ok(answers.iter().filter(|answer| answer.kind == b'D').map(row).collect())
}

pub(crate) fn row(answer: &Answer) -> String {
    let mut rest = &answer.body[2..];
    let mut fields = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = i32::from_be_bytes(*length).max(0) as usize;
        fields.push(String::from_utf8_lossy(&after[..length]).into_owned());
        rest = &after[length..];
    }
    fields.join("|")
}

impl Client {
    /// One transaction; what it changes is acknowledged, refused as a whole, or in flight.
    fn change(&mut self, wire: &mut Wire) -> Result<(), Died> {
        let next = self.acknowledged.last_key_value().map_or(0, |(last, _)| last + 1);
        let mut rows = self.acknowledged.clone();
        let statements = match self.work {
            Work::Writer => self.notes(next, &mut rows),
            Work::Banker => self.transfer(next, &mut rows),
            Work::Definer => self.define(next, &mut rows),
            Work::Loader => return self.load(wire, next, rows),
        };
        if self.random.below(2) == 0 {
            // All at once: the server may be killed at any of them, and all may have happened.
            let text = format!("BEGIN; {}; COMMIT", statements.join("; "));
            return self.commit(wire, &query(&text), rows);
        }
        let _: Vec<String> = ask(wire, "BEGIN")?;
        for statement in statements {
            let answers = say(wire, &query(&statement))?;
            if is_refused(&answers) {
                return ask(wire, "ROLLBACK").map(drop);
            }
        }
        self.commit(wire, &query("COMMIT"), rows)
    }

    /// Says what makes the rows these, and remembers that it was said before the answer.
    fn commit(&mut self, wire: &mut Wire, bytes: &[u8], rows: Rows) -> Result<(), Died> {
        self.in_flight = Some(rows);
        let answers = say(wire, bytes)?;
        let rows = self.in_flight.take().expect("it was put there above");
        if is_refused(&answers) {
            return ask(wire, "ROLLBACK").map(drop);
        }
        self.acknowledged = rows;
        self.changes += 1;
        Ok(())
    }

    fn notes(&mut self, next: u64, rows: &mut Rows) -> Vec<String> {
        let number = self.number;
        let mut statements = Vec::new();
        for step in 0..1 + self.random.below(5) {
            let word = WORDS[self.random.below(WORDS.len() as u64) as usize];
            let n = self.random.below(next + 1);
            let of = format!("WHERE client = {number} AND n = {n}");
            match self.random.below(4) {
                0 if rows.remove(&n).is_some() => statements.push(format!("DELETE FROM note {of}")),
                1 | 2 if rows.contains_key(&n) => {
                    rows.insert(n, format!("{n}|{word}"));
                    statements.push(format!("UPDATE note SET word = '{word}' {of}"));
                }
                _ => {
                    let n = next + step;
                    rows.insert(n, format!("{n}|{word}"));
                    let pad = "x".repeat(self.random.below(400) as usize);
                    statements.push(format!(
                        "INSERT INTO note VALUES ({number}, {n}, '{word}', '{pad}')"
                    ));
                }
            }
        }
        statements
    }

    fn transfer(&mut self, next: u64, rows: &mut Rows) -> Vec<String> {
        let (source, amount) = (self.random.below(ACCOUNTS), 1 + self.random.below(90));
        let target = (source + 1 + self.random.below(ACCOUNTS - 1)) % ACCOUNTS;
        rows.insert(next, format!("{next}|{source}|{target}|{amount}"));
        let number = self.number;
        vec![
            format!("UPDATE account SET balance = balance - {amount} WHERE id = {source}"),
            format!("UPDATE account SET balance = balance + {amount} WHERE id = {target}"),
            format!("INSERT INTO transfer VALUES ({number}, {next}, {source}, {target}, {amount})"),
        ]
    }

    fn define(&mut self, next: u64, rows: &mut Rows) -> Vec<String> {
        let n = self.random.below(next + 1);
        if self.random.below(2) == 0 && rows.remove(&n).is_some() {
            return vec![
                format!("DELETE FROM registry WHERE n = {n}"),
                format!("DROP TABLE side{n}"),
            ];
        }
        rows.insert(next, next.to_string());
        vec![
            format!("CREATE TABLE side{next} (n int PRIMARY KEY, word text DEFAULT 'none')"),
            format!("INSERT INTO side{next} SELECT g FROM generate_series(1, 20) g"),
            format!("INSERT INTO registry VALUES ({next})"),
        ]
    }

    /// Copies a batch; it is in flight once CopyDone may have been read.
    fn load(&mut self, wire: &mut Wire, next: u64, mut rows: Rows) -> Result<(), Died> {
        let count = 1 + self.random.below(400);
        let pad = "y".repeat(self.random.below(200) as usize);
        wire.stream.write_all(&query("COPY load FROM STDIN")).map_err(|_| Died)?;
        if wire.next().ok_or(Died)?.kind != b'G' {
            panic!("COPY does not begin");
        }
        let lines: Vec<String> = (0..count).map(|n| format!("{next}\t{n}\t{pad}\n")).collect();
        let pieces = lines.chunks(1 + self.random.below(300) as usize);
        for piece in pieces.map(|lines| message(b'd', lines.concat().as_bytes())) {
            wire.stream.write_all(&piece).map_err(|_| Died)?;
        }
        rows.insert(next, format!("{next}|{count}|{}", count as usize * pad.len()));
        self.commit(wire, &message(b'c', b""), rows)
    }

    /// A query for the rows of this client.
    fn question(&self) -> String {
        let number = self.number;
        match self.work {
            Work::Writer => format!("SELECT n, word FROM note WHERE client = {number} ORDER BY n"),
            Work::Banker => format!(
                "SELECT n, source, target, amount FROM transfer WHERE client = {number} ORDER BY n"
            ),
            Work::Loader => {
                "SELECT batch, count(*), sum(length(pad)) FROM load GROUP BY batch ORDER BY batch"
                    .to_owned()
            }
            Work::Definer => "SELECT n FROM registry ORDER BY n".to_owned(),
        }
    }
}

/// True if the answers hold an error: of a deadlock or a conflict, and of nothing else.
pub(crate) fn is_refused(answers: &[Answer]) -> bool {
    let Some(error) = answers.iter().find(|answer| answer.kind == b'E') else { return false };
    let state = error.state();
    assert!(matches!(state.as_str(), "40P01" | "40001"), "{state} {:?}", error.field(b'M'));
    true
}

/// All that must hold after a kill; how many unacknowledged changes had happened.
fn check(
    address: SocketAddr,
    clients: &mut [Client],
    past: &mut BTreeMap<u64, Vec<String>>,
    random: &mut Random,
    what: &str,
) -> u64 {
    let mut wire = Wire::connect_to(address);
    let mut rows = |text: &str| ask(&mut wire, text).unwrap_or_else(|_| panic!("{what}: it died"));
    let mut happened = 0;
    for client in clients {
        let found = rows(&client.question());
        let is = |rows: &Rows| rows.values().eq(&found);
        let in_flight = client.in_flight.take();
        if let Some(changed) = in_flight.filter(|changed| is(changed)) {
            client.acknowledged = changed;
            happened += 1;
        }
        assert!(
            is(&client.acknowledged),
            "{what}: client {} ({:?})\n  found {found:?}\n  acknowledged {:?}",
            client.number,
            client.work,
            client.acknowledged.values().collect::<Vec<_>>()
        );
    }
    for (why, question) in NEVER {
        assert_eq!(rows(question), [""; 0], "{what}: {why}");
    }
    let plan = rows("EXPLAIN SELECT * FROM note WHERE word = 'elm'").concat();
    assert!(plan.contains("note_word"), "this test asks an index: {plan}");
    for word in WORDS {
        let by = |condition: String| {
            format!("SELECT client, n, pad FROM note WHERE {condition} ORDER BY client, n")
        };
        let (index, scan) = (by(format!("word = '{word}'")), by(format!("word || '' = '{word}'")));
        assert_eq!(rows(&index), rows(&scan), "{what}: note_word");
    }
    for (column, table) in [("balance", "account"), ("n", "load")] {
        let by = |condition: &str| {
            format!("SELECT * FROM {table} WHERE {condition} BETWEEN 200 AND 1000 ORDER BY 1, 2")
        };
        let (index, scan) = (by(column), by(&format!("{column} + 0")));
        assert_eq!(rows(&index), rows(&scan), "{what}: the index on {table} ({column})");
    }
    for (version, then) in &*past {
        assert_eq!(then, &state_at(&mut rows, *version), "{what}: the past at {version}");
    }
    if past.len() == MOMENTS {
        let forgotten = *past.keys().nth(random.below(MOMENTS as u64) as usize).expect("one");
        past.remove(&forgotten);
    }
    let newest = rows("SELECT max(version) FROM commits")[0].parse().expect("a number");
    let then = state_at(&mut rows, newest);
    past.insert(newest, then);
    happened
}

/// All rows of all tables as of a version.
fn state_at(rows: &mut impl FnMut(&str) -> Vec<String>, version: u64) -> Vec<String> {
    PAST.iter().flat_map(|question| rows(&question.replace('$', &version.to_string()))).collect()
}
