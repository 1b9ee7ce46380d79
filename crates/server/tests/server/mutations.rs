//! Conversations that are almost right: whole ones are made by a seed, changed in a few places, and
//! cut anywhere on their way.
//!
//! ```text
//!   start-up · SCRAM · simple · extended · pipelined · COPY both ways · portals · transactions
//!      └─> whole messages ─> swapped, doubled, lost, slipped in, cut short, flipped,
//!                            lengths and counts that lie, NUL, bytes that are no text
//!             └─> bytes ─> pieces of any size ─> the server ─> answers, each of which must be one
//! ```
//!
//! Invariants, whatever the client sends: the server answers or hangs up, in time; each error has a
//! code that says what the client did, never that the server failed; another connection goes on; rows
//! that were acknowledged are there in the end; memory does not grow with what was said.
//!
//! `ANYWHEN_SEED=<seed>` plays one conversation again, `ANYWHEN_TIMES=<n>` so many times as many.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use server::Limits;
use server::auth::hba::Rules;
use vfs::{SimRandom, seeds};

use crate::world::{Answer, Wire, is_end, message, options, packet, start, startup};

/// Conversations of one run.
const CONVERSATIONS: u64 = 4_000;

/// How much more memory the process may have after a run, in KiB: what tests beside this one hold is
/// part of it.
const GROWTH_KIB_MAX: u64 = 256 << 10;

/// The bytes that a client sends: packets without a kind, then messages.
#[derive(Clone)]
struct Conversation {
    first: Vec<Vec<u8>>,
    /// True if the user has a password, which is proved between the two.
    proves: bool,
    messages: Vec<Vec<u8>>,
}

fn string(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\0"].concat()
}

fn pick<'a, T: ?Sized>(random: &SimRandom, of: &[&'a T]) -> &'a T {
    of[random.below(of.len() as u64) as usize]
}

fn simple(text: &str) -> Vec<u8> {
    message(b'Q', &string(text))
}

fn parse(name: &str, text: &str, types: &[u32]) -> Vec<u8> {
    let mut body = [string(name), string(text)].concat();
    body.extend((types.len() as u16).to_be_bytes());
    types.iter().for_each(|ty| body.extend(ty.to_be_bytes()));
    message(b'P', &body)
}

fn bind(portal: &str, name: &str, formats: &[u16], values: &[&[u8]], results: &[u16]) -> Vec<u8> {
    let counted = |codes: &[u16]| {
        let count = (codes.len() as u16).to_be_bytes().to_vec();
        [count, codes.iter().flat_map(|code| code.to_be_bytes()).collect()].concat()
    };
    let mut body = [string(portal), string(name), counted(formats)].concat();
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(*value);
    }
    body.extend(counted(results));
    message(b'B', &body)
}

fn describe(target: u8, name: &str) -> Vec<u8> {
    message(b'D', &[vec![target], string(name)].concat())
}

fn execute(portal: &str, rows: u32) -> Vec<u8> {
    message(b'E', &[string(portal), rows.to_be_bytes().to_vec()].concat())
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

/// One insertion by the extended protocol, with values as text or binary.
fn insertion(random: &SimRandom) -> Vec<Vec<u8>> {
    let number = random.below(1_000).to_be_bytes();
    let (formats, value): (&[u16], &[u8]) =
        pick(random, &[&(&[1_u16, 0][..], &number[..]), &(&[][..], &b"17"[..])]).to_owned();
    let bound = bind("", "", formats, &[value, "ä".as_bytes()], &[]);
    let text = "INSERT INTO played VALUES ($1, $2)";
    vec![parse("", text, pick(random, &[&[20, 25][..], &[]])), bound, execute("", 0)]
}

/// A whole piece of a conversation.
fn part(random: &SimRandom) -> Vec<Vec<u8>> {
    let copied: &[u8] = b"1\tone\n2\t\\N\n3\tthree\n";
    match random.below(10) {
        0 => vec![simple("INSERT INTO played VALUES (1, 'x')")],
        1 => vec![simple("SELECT g, repeat('x', g) FROM generate_series(1, 5) g; SELECT NULL")],
        2 => vec![simple(pick(
            random,
            &["INSERT INTO played VALUES (2, 'y'); SELECT 1 / 0", "", "SELEC", "SHOW work_mem"],
        ))],
        3 => [insertion(random), vec![sync()]].concat(),
        4 => {
            let pipelined = (0..2 + random.below(4)).flat_map(|_| insertion(random)).collect();
            [pipelined, vec![message(b'H', b""), sync()]].concat()
        }
        5 => vec![
            parse("s", "SELECT $1::int4 + 1, $2::text, now()", &[]),
            describe(b'S', "s"),
            bind("p", "s", &[1, 0], &[&[0, 0, 0, 7], b"seven"], &[*pick(random, &[&0, &1])]),
            describe(b'P', "p"),
            execute("p", 0),
            message(b'C', b"Pp\0"),
            message(b'C', b"Ss\0"),
            sync(),
        ],
        6 => vec![
            simple("BEGIN"),
            parse("", "SELECT * FROM generate_series(1, 10)", &[]),
            bind("rows", "", &[], &[], &[1]),
            execute("rows", 4),
            execute("rows", 4),
            sync(),
            simple("INSERT INTO played VALUES (3, NULL)"),
            simple(pick(random, &["COMMIT", "ROLLBACK", "SELECT 1 / 0; COMMIT"])),
        ],
        7 => {
            let mut said = vec![simple("COPY played FROM STDIN")];
            said.extend(
                copied.chunks(1 + random.below(9) as usize).map(|piece| message(b'd', piece)),
            );
            said.push(match random.below(4) {
                0 => message(b'f', b"changed my mind\0"),
                _ => message(b'c', b""),
            });
            said
        }
        8 => {
            let row = [&2_u16.to_be_bytes()[..], &[0, 0, 0, 8], &7_u64.to_be_bytes(), &[0xff; 4]];
            let head = [&b"PGCOPY\n\xff\r\n\0"[..], &[0; 8]].concat();
            let data = [head, row.concat(), row.concat(), vec![0xff; 2]].concat();
            vec![
                parse("", "COPY played FROM STDIN (FORMAT binary)", &[]),
                bind("", "", &[], &[], &[]),
                execute("", 0),
                message(b'd', &data),
                message(b'c', b""),
                sync(),
            ]
        }
        _ => vec![simple(pick(
            random,
            &[
                "COPY (SELECT g, 'x' FROM generate_series(1, 20) g) TO STDOUT",
                "COPY (SELECT 1, 'a,b') TO STDOUT (FORMAT csv, HEADER)",
                "COPY (SELECT 1::int8) TO STDOUT (FORMAT binary)",
            ],
        ))],
    }
}

/// A whole conversation.
fn conversation(random: &SimRandom) -> Conversation {
    let proves = random.chance(1, 8);
    let user = ("user", if proves { "ann" } else { "postgres" });
    let settings: &[(&str, &str)] = match random.below(4) {
        0 => &[("options", "-c work_mem=1MB -c search_path=public")],
        1 => &[("application_name", "almost"), ("client_encoding", "UTF8")],
        2 => &[("database", "postgres"), ("DateStyle", "German"), ("_pq_.nothing", "x")],
        _ => &[],
    };
    let version = if random.chance(1, 6) { (3 << 16) + 2 } else { 3 << 16 };
    let mut first = vec![startup(version, &[&[user], settings].concat())];
    if random.chance(1, 20) {
        // A request to cancel what is not there, or to encrypt where nothing is.
        let code = pick(random, &[&80_877_102_u32, &80_877_104]).to_be_bytes();
        first.insert(0, packet(&[&code[..], &[0; 8]].concat()));
    }
    let mut messages: Vec<_> = (0..1 + random.below(4)).flat_map(|_| part(random)).collect();
    if random.chance(1, 2) {
        messages.push(message(b'X', b""));
    }
    Conversation { first, proves, messages }
}

/// Changes one message; where its head lies, all that comes after is read in other places.
fn damage(random: &SimRandom, bytes: &mut Vec<u8>, head: usize) {
    let at = |from: usize, end: usize| from + random.below((end - from).max(1) as u64) as usize;
    let body = head + 4;
    let relength = |bytes: &mut Vec<u8>| {
        let length = (bytes.len() - head) as u32;
        bytes[head..body].copy_from_slice(&length.to_be_bytes());
    };
    if bytes.len() < body {
        return;
    }
    let length = (bytes.len() - head) as i32;
    match random.below(9) {
        // A length that lies: by one, by much, below nothing.
        0 => {
            let wrong = [length - 1, length + 1, 0, 3, -1, i32::MIN, i32::MAX, 1 << 20, 100_000];
            let wrong = wrong[random.below(wrong.len() as u64) as usize];
            bytes[head..body].copy_from_slice(&wrong.to_be_bytes());
        }
        // Cut short, with the length as it was or as it is.
        1 | 2 => {
            bytes.truncate(at(body, bytes.len()));
            if random.chance(2, 3) {
                relength(bytes);
            }
        }
        // Bits flipped.
        3 | 4 => {
            for _ in 0..1 + random.below(3) {
                let at = at(0, bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        // A count, a format, a type or a length within that lies.
        5 | 6 if bytes.len() > body + 4 => {
            let at = at(body, bytes.len() - 3);
            match random.below(2) {
                0 => {
                    let wrong = *pick(random, &[&0_u16, &1, &2, &0x7fff, &0x8000, &0xffff]);
                    bytes[at..at + 2].copy_from_slice(&wrong.to_be_bytes());
                }
                _ => {
                    let wrong = *pick(random, &[&-1_i32, &-2, &0, &i32::MAX, &i32::MIN, &70_000]);
                    bytes[at..at + 4].copy_from_slice(&wrong.to_be_bytes());
                }
            }
        }
        // Zeros, and bytes that are no text; more than was said.
        _ => {
            let slipped: &[u8] =
                pick(random, &[&b"\0"[..], b"\xff\xfe", b"\xed\xa0\x80", b"'", b"\0\0\0\x01"]);
            let at = at(body, bytes.len() + 1);
            bytes.splice(at..at, slipped.iter().copied());
            relength(bytes);
        }
    }
}

/// Changes a conversation in one place.
fn change(random: &SimRandom, said: &mut Conversation) {
    let any = |messages: &[Vec<u8>]| random.below(messages.len() as u64) as usize;
    match random.below(12) {
        0 if !said.first.is_empty() => {
            let at = any(&said.first);
            damage(random, &mut said.first[at], 0);
            // It may announce more than it is: then there is no answer to wait for.
            said.proves = false;
        }
        1 if !said.messages.is_empty() => {
            let (one, other) = (any(&said.messages), any(&said.messages));
            said.messages.swap(one, other);
        }
        2 if !said.messages.is_empty() => {
            let twice = said.messages[any(&said.messages)].clone();
            let at = any(&said.messages);
            said.messages.insert(at, twice);
        }
        3 if !said.messages.is_empty() => {
            let lost = any(&said.messages);
            said.messages.remove(lost);
        }
        // A message where it has no place: of another piece, or an unexpected one.
        4 | 5 => {
            let mut others = part(random);
            let unexpected = [&b"d"[..], b"c", b"f", b"p", b"F", b"X", b"?", b"\0", b"R"];
            others.push(message(pick(random, &unexpected)[0], pick(random, &[&b""[..], b"x\0"])));
            let other = others.swap_remove(any(&others));
            let at = random.below(said.messages.len() as u64 + 1) as usize;
            said.messages.insert(at, other);
        }
        _ if !said.messages.is_empty() => {
            let at = any(&said.messages);
            damage(random, &mut said.messages[at], 1);
        }
        _ => {}
    }
}

/// Sends bytes in pieces of any size; false if the server has hung up.
fn send(random: &SimRandom, stream: &mut TcpStream, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let most = *pick(random, &[&1_u64, &7, &100, &100_000]);
        let (piece, later) = rest.split_at(rest.len().min(1 + random.below(most) as usize));
        match stream.write_all(piece) {
            Ok(()) => rest = later,
            Err(error) if is_end(&error) => return false,
            Err(error) => panic!("the server takes nothing: {error}"),
        }
    }
    true
}

/// Proves a password, most of the time; false if the server does not want to go on.
fn prove(random: &SimRandom, wire: &mut Wire) -> bool {
    let mut scram = ScramSha256::new(b"secret", ChannelBinding::unsupported());
    let heard = |wire: &mut Wire, step: u8| {
        let answer = wire.next().filter(|answer| (answer.kind, answer.body[3]) == (b'R', step))?;
        Some(answer.body[4..].to_vec())
    };
    let mut steps = || {
        heard(wire, 10)?;
        let length = (scram.message().len() as u32).to_be_bytes();
        let mut said = message(b'p', &[b"SCRAM-SHA-256\0", &length[..], scram.message()].concat());
        let is_damaged = random.chance(1, 4);
        if is_damaged {
            damage(random, &mut said, 1);
        }
        send(random, &mut wire.stream, &said).then_some(())?;
        // The server waits for the rest of a packet that announces more bytes than it has: it has
        // no answer before its end.
        (!is_damaged).then_some(())?;
        scram.update(&heard(wire, 11)?).ok()?;
        let mut said = message(b'p', scram.message());
        if random.chance(1, 4) {
            damage(random, &mut said, 1);
        }
        send(random, &mut wire.stream, &said).then_some(())
    };
    steps().is_some()
}

/// Has a conversation; what was answered until the server hung up.
fn have(random: &SimRandom, address: SocketAddr, said: &Conversation) -> Vec<Answer> {
    let mut wire = Wire::open(address);
    let mut goes_on = send(random, &mut wire.stream, &said.first.concat());
    if said.proves && said.first.len() == 1 {
        goes_on = goes_on && prove(random, &mut wire);
    }
    if goes_on {
        send(random, &mut wire.stream, &said.messages.concat());
    }
    // Hanging up on our side ends what is left, a COPY or half a message.
    let _ = wire.stream.shutdown(Shutdown::Write);
    let (mut bytes, mut is_whole) = (Vec::new(), true);
    if let Err(error) = wire.stream.read_to_end(&mut bytes) {
        assert!(is_end(&error), "the server neither answers nor hangs up: {error}");
        is_whole = false;
    }
    let mut rest = &bytes[..];
    // A request to encrypt is answered with a letter alone.
    if said.first.len() > 1 && rest.first() == Some(&b'N') && rest.get(1..5) != Some(&[0; 4]) {
        rest = &rest[1..];
    }
    let mut answers = Vec::new();
    while let [kind, a, b, c, d, body @ ..] = rest {
        let length = (u32::from_be_bytes([*a, *b, *c, *d]) as usize).checked_sub(4);
        let Some((body, later)) = length.and_then(|length| body.split_at_checked(length)) else {
            break;
        };
        answers.push(Answer { kind: *kind, body: body.to_vec() });
        rest = later;
    }
    assert!(!is_whole || rest.is_empty(), "half an answer: {}", rest.escape_ascii());
    answers
}

/// Checks that answers are ones, and counts the rows that they acknowledge.
fn acknowledged(answers: &[Answer]) -> u64 {
    let (mut kept, mut pending, mut is_copied_in) = (0, 0, false);
    for (at, answer) in answers.iter().enumerate() {
        let body = &answer.body[..];
        match answer.kind {
            b'E' => {
                std::str::from_utf8(body).expect("errors are text");
                let state = answer.state();
                let is_code =
                    state.len() == 5 && state.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let blames_server = ["XX", "58", "F0"].iter().any(|class| state.starts_with(class));
                assert!(is_code && !blames_server, "{}", body.escape_ascii());
                let severity = answer.field(b'V').expect("errors have a severity");
                let is_last = at + 1 == answers.len();
                assert!(
                    severity == "ERROR" || severity == "FATAL" && is_last,
                    "{severity} {state}"
                );
                pending = 0;
            }
            b'Z' => match body {
                b"I" => kept += std::mem::take(&mut pending),
                b"T" | b"E" => {}
                other => panic!("no status is {other:?}"),
            },
            b'G' => is_copied_in = true,
            b'H' => is_copied_in = false,
            b'C' => {
                let tag = std::str::from_utf8(body).expect("tags are text").trim_end_matches('\0');
                let rows = || tag.rsplit(' ').next().and_then(|rows| rows.parse::<u64>().ok());
                match tag.split(' ').next() {
                    Some("INSERT") => pending += rows().expect("it counts"),
                    Some("COPY") if is_copied_in => pending += rows().expect("it counts"),
                    Some("COMMIT") => kept += std::mem::take(&mut pending),
                    Some("ROLLBACK") => pending = 0,
                    _ => {}
                }
            }
            b'T' | b'D' | b'I' | b'N' | b'A' | b'R' | b'S' | b'K' | b'v' | b't' | b'n' | b's'
            | b'd' | b'c' | b'1' | b'2' | b'3' => {}
            other => panic!("no answer is called {:?}", other as char),
        }
    }
    kept
}

/// The memory of this process that is there, in KiB; none if the machine does not tell.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[test]
fn almost_right() {
    let limits = Limits { message_bytes_max: 1 << 20, ..Limits::default() };
    let rules = Rules::parse("host all ann all scram-sha-256\nhost all all all trust").unwrap();
    let server = start(server::Options { limits, rules, ..options() });
    let address = server.addresses()[0];
    let mut witness = Wire::connect(&server);
    witness.query("CREATE ROLE ann SUPERUSER LOGIN PASSWORD 'secret'");
    witness
        .query("CREATE TABLE played (k int8, v text); CREATE TABLE seen (seed int8 PRIMARY KEY)");
    let before = resident_kib();
    let (witness, kept, whole) = (Mutex::new(witness), AtomicU64::new(0), AtomicU64::new(0));
    seeds(1, CONVERSATIONS, |seed| {
        let random = SimRandom::new(seed);
        let mut said = conversation(&random);
        // One in ten is as it should be, and then every part of it is.
        let changes = if random.chance(1, 10) { 0 } else { 1 + random.below(3) };
        (0..changes).for_each(|_| change(&random, &mut said));
        let shown = [&said.first[..], &said.messages].concat();
        let shown: Vec<_> = shown.iter().map(|bytes| bytes.escape_ascii().to_string()).collect();
        let told = std::panic::catch_unwind(|| {
            let answers = have(&random, address, &said);
            whole.fetch_add(
                answers.iter().any(|answer| answer.kind == b'Z').into(),
                Ordering::Relaxed,
            );
            kept.fetch_add(acknowledged(&answers), Ordering::Relaxed);
            let added = format!("INSERT INTO seen VALUES ({seed})");
            let mut witness = witness.lock().unwrap_or_else(|failed| failed.into_inner());
            assert_eq!(witness.query(&added), "C INSERT 0 1\nZ I\n", "another connection goes on");
        });
        if let Err(failure) = told {
            eprintln!("{}", shown.join("\n"));
            std::panic::resume_unwind(failure);
        }
    });
    let mut witness = witness.into_inner().unwrap();
    let number = |witness: &mut Wire, text: &str| -> u64 {
        let shown = witness.query(text);
        let row = shown.lines().find_map(|line| line.strip_prefix("D "));
        row.and_then(|row| row.parse().ok()).unwrap_or_else(|| panic!("{shown}"))
    };
    let (kept, whole) = (kept.into_inner(), whole.into_inner());
    let rows = number(&mut witness, "SELECT count(*) FROM played");
    let seen = number(&mut witness, "SELECT count(*) FROM seen");
    println!("{seen} conversations, {whole} got in, {kept} rows acknowledged, {rows} there");
    assert!(rows >= kept, "{kept} rows were acknowledged, and {rows} are there");
    if seen == CONVERSATIONS {
        assert!(whole > seen / 2 && kept > seen / 2, "most were heard: {whole}, {kept}");
    }
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        assert!(after < before + GROWTH_KIB_MAX, "from {before} KiB to {after} KiB");
    }
    // No session has been left behind, and no thread has panicked.
    let metrics = server.metrics();
    assert_eq!(metrics.panics_total, 0);
    assert!(Wire::connect(&server).query("SELECT 1").contains("D 1"));
    server.shutdown();
}

/// A message is not given the memory that it announces, but what has come of it.
#[test]
fn announced_is_not_taken() {
    let server = start(options());
    let before = resident_kib();
    let mut waiting: Vec<Wire> = (0..100).map(|_| Wire::connect(&server)).collect();
    for wire in &mut waiting {
        let announced = ((1_u32 << 30) - 5).to_be_bytes();
        wire.send(&[&b"Q"[..], &announced, b"SELECT '", &[b'x'; 10_000]].concat());
    }
    assert!(Wire::connect(&server).query("SELECT 1").contains("D 1"));
    if let (Some(before), Some(after)) = (before, resident_kib()) {
        assert!(after < before + GROWTH_KIB_MAX, "from {before} KiB to {after} KiB");
    }
    drop(waiting);
    server.shutdown();
}
