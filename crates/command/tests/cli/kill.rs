//! A process that writes is killed at random moments, again and again: nothing
//! that it acknowledged is lost, nothing else appears but the write in flight,
//! and the folder is sound each time.
//!
//! ```text
//!   this test                          anywhen shell
//!      | put a/3 {"n":17,...}  ------>   commit, sync
//!      | expected: +1 (in flight)           |
//!      |                       <------   a/3 revision 5     acknowledged
//!      |  ... SIGKILL at a random moment ...x
//!      | reopen, read every history: acknowledged <= found <= acknowledged + in flight
//! ```
//!
//! The expected state is kept here, outside the process that dies.
//!
//! An import of one large document is killed likewise: it is there as a whole or
//! not at all, and the files that it had written by then are gone again.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use json::Tape;

use crate::World;

const KILLS: u32 = 300;
/// A new folder after so many kills, so that each stays small.
const KILLS_PER_FOLDER: u32 = 25;
const DOCUMENTS: usize = 4;

/// The content of each revision of a document: the number in it, or `None` if it was removed.
type Revisions = Vec<Option<u64>>;

/// A small generator of random numbers (xorshift), replayable by its seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.max(1))
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

#[test]
fn no_acknowledged_write_is_lost_over_300_kills() {
    let seed = match std::env::var("ANYWHEN_SEED") {
        Ok(seed) => seed.parse().expect("ANYWHEN_SEED is a number"),
        Err(_) => 0x5eed_0001_u64,
    };
    println!("replay with ANYWHEN_SEED={seed} (the moments of the kills differ from run to run)");
    let mut random = Random::new(seed);
    let mut world = World::new();
    let mut expected = vec![Revisions::new(); DOCUMENTS];
    let mut acknowledged = 0u64;
    for kill in 0..KILLS {
        if kill.is_multiple_of(KILLS_PER_FOLDER) {
            world = World::new();
            world.run(&["init"]);
            expected = vec![Revisions::new(); DOCUMENTS];
        }
        let in_flight = write_until_killed(&world, &mut random, &mut expected, &mut acknowledged);
        check(&world, &mut expected, in_flight, kill);
    }
    println!("{KILLS} kills, {acknowledged} acknowledged writes");
    assert!(acknowledged > u64::from(KILLS), "the writers hardly wrote: {acknowledged}");
}

/// Writes through a child until it dies; what was acknowledged is added to
/// `expected`. Returns the write whose answer never came.
fn write_until_killed(
    world: &World,
    random: &mut Random,
    expected: &mut [Revisions],
    acknowledged: &mut u64,
) -> Option<(usize, Option<u64>)> {
    let mut child = world
        .command(&["shell"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut commands = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    // Mostly the clock starts at the first answer, so that writes are hit; now
    // and then at once, so that opening is.
    let (first_answer, answered) = mpsc::channel::<()>();
    let mut first_answer = Some(first_answer).filter(|_| random.below(5) > 0);
    let delay = Duration::from_micros(random.below(20_000));
    let killer = std::thread::spawn(move || {
        // An error says that no answer is waited for, or that none will come.
        let _ = answered.recv();
        kill_after(child, delay);
    });

    let in_flight = loop {
        let document = random.below(DOCUMENTS as u64) as usize;
        let (command, value) = next_write(random, document, &expected[document]);
        // The child may be dead already: then nothing of this was seen.
        if commands.write_all(command.as_bytes()).is_err() {
            break None;
        }
        let mut answer = String::new();
        let complete = answers.read_line(&mut answer).is_ok() && answer.ends_with('\n');
        if !complete {
            break Some((document, value));
        }
        let revision = format!("revision {}\n", expected[document].len() + 1);
        assert!(answer.ends_with(&revision), "{command} was answered with {answer}");
        expected[document].push(value);
        *acknowledged += 1;
        drop(first_answer.take());
        if random.below(40) == 0 {
            // Answered or killed: either way it changes nothing that is read. The last line of the answer is about
            // the log.
            let sent = commands.write_all(b"compact\n");
            while sent.is_ok() && !answer.starts_with("the log apart") {
                answer.clear();
                if !matches!(answers.read_line(&mut answer), Ok(1..)) {
                    break;
                }
            }
            if !answer.starts_with("the log apart") {
                break None;
            }
        }
    };
    drop(first_answer);
    killer.join().expect("the killer ends");
    in_flight
}

fn kill_after(mut child: Child, delay: Duration) {
    std::thread::sleep(delay);
    // SIGKILL: the process gets no chance to put anything in order.
    child.kill().expect("the child can be killed");
    child.wait().expect("the child is gone");
}

/// A random write to a document, and the number that it will then hold.
fn next_write(
    random: &mut Random,
    document: usize,
    revisions: &Revisions,
) -> (String, Option<u64>) {
    let next = revisions.len() as u64 + 1;
    let present = matches!(revisions.last(), Some(Some(_)));
    match random.below(10) {
        0 if present => (format!("rm a/{document}\n"), None),
        1..=6 if present => (format!("edit a/{document} set n {next}\n"), Some(next)),
        _ => {
            let size = [10, 200, 5_000][random.below(3) as usize];
            let pad = "x".repeat(size);
            (format!("put a/{document} '{{\"n\":{next},\"pad\":\"{pad}\"}}'\n"), Some(next))
        }
    }
}

/// Reopens the folder: it is sound, and every history is what was expected.
fn check(
    world: &World,
    expected: &mut [Revisions],
    in_flight: Option<(usize, Option<u64>)>,
    kill: u32,
) {
    let mut script = "verify\n".to_owned();
    for document in 0..expected.len() {
        script.push_str(&format!("export a/{document} --history\nls\n"));
    }
    let output = world.fed(&["shell", "--json"], &script);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = said.lines();
    let verified = lines.next().unwrap_or("");
    assert!(verified.contains("\"ok\":true"), "kill {kill}: {verified}{wrong}");
    for (document, expected) in expected.iter_mut().enumerate() {
        let mut found = Revisions::new();
        for line in lines.by_ref().take_while(|line| !line.starts_with('[')) {
            let version = Tape::parse(line).expect("a line of JSON");
            let doc = version.root().get("doc");
            found.push(doc.map(|doc| doc.get("n").and_then(|n| n.as_u64()).expect("a number")));
        }
        let mut with_in_flight = expected.clone();
        with_in_flight.extend(in_flight.filter(|(at, _)| *at == document).map(|(_, value)| value));
        assert!(
            found == *expected || found == with_in_flight,
            "kill {kill}, document {document}:\n  found    {found:?}\n  expected {expected:?}\n  \
             in flight {in_flight:?}\n{wrong}"
        );
        *expected = found;
    }
}

/// Imports of a document that is streamed into files of its own, killed at
/// moments from the first to the last of what an import takes.
#[test]
fn a_killed_import_leaves_a_whole_document_or_nothing() {
    const KILLS: u32 = 15;
    let mut random = Random::new(0x5eed_0002);
    let world = World::new();
    // 17 MB that do not compress well.
    let numbers = |random: &mut Random| {
        (0..200).map(|_| random.below(1 << 52).to_string()).collect::<Vec<_>>().join(",")
    };
    let rows: Vec<String> = (0..5_500).map(|_| format!("[{}]", numbers(&mut random))).collect();
    let json = format!("[{}]", rows.join(","));
    assert!(json.len() > 17 << 20, "{} bytes are not streamed", json.len());
    world.file("large.json", &json);
    let start = std::time::Instant::now();
    world.run(&["import", "large.json", "--as", "a/whole"]);
    let whole = start.elapsed();
    let mut there = 1;
    for kill in 0..KILLS {
        let key = format!("a/{kill}");
        let mut child = world
            .command(&["import", "large.json", "--as", &key])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        // Now and then as soon as it has answered.
        let answered = kill % 5 == 4;
        if answered {
            let mut answer = String::new();
            let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
            said.read_line(&mut answer).expect("an answer");
            assert_eq!(answer, format!("{key} revision 1\n"));
        }
        kill_after(child, if answered { Duration::ZERO } else { whole * kill / KILLS });
        let found = world.output(&["get", &key]);
        match found.status.code() {
            Some(0) => {
                assert!(found.stdout.trim_ascii_end() == json.as_bytes(), "{key} is not whole");
                there += 1;
            }
            Some(1) => assert!(!answered && found.stdout.is_empty(), "kill {kill}: it is lost"),
            other => panic!("kill {kill}: {other:?}, {}", String::from_utf8_lossy(&found.stderr)),
        }
        let files = std::fs::read_dir(world.path("anywhen-data/store")).expect("a folder");
        let loads = files.filter(|file| {
            let file = file.as_ref().expect("a name").file_name();
            file.to_string_lossy().ends_with("-bulk.seg")
        });
        let loads = loads.count();
        assert!(loads <= there, "kill {kill}: {loads} files of {there} imports that happened");
    }
    println!("{KILLS} kills, {} of them after the commit", there - 1);
    assert!(there < KILLS as usize, "the kills missed the import");
    assert_eq!(world.run(&["ls", "a"]).lines().count(), there);
    world.run(&["verify"]);
}
