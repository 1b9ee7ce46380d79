//! Random messages, some of them almost right: whatever comes, the server answers or hangs up, and
//! serves the next one.

use std::io::Write;

use server::Limits;
use vfs::{Random, SimRandom, seeds};

use crate::world::{Wire, is_end, message, options, start, startup};

/// Some of what is sent is so close to right that it gets far.
const WORDS: &[&str] = &[
    "",
    "s",
    "p",
    "SELECT 1",
    "SELECT $1::int4, $2",
    "BEGIN",
    "COMMIT",
    "SELECT 1/0",
    "SELECT '",
    "SELECT g FROM generate_series(1, 3) g",
    "SELECT 1; SELECT 2",
    "SET DateStyle = 'SQL'",
    "\u{e4}",
];

struct Chance(SimRandom);

impl Chance {
    fn below(&self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn string(&self) -> Vec<u8> {
        [WORDS[self.below(WORDS.len())].as_bytes(), b"\0"].concat()
    }

    fn bytes(&self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.0.next_u64() as u8).collect()
    }

    fn counted(&self, width: usize) -> Vec<u8> {
        let count = self.below(4);
        let mut bytes = (count as u16).to_be_bytes().to_vec();
        bytes.extend((0..count).flat_map(|_| {
            let value = self.below(3) as u64;
            value.to_be_bytes()[8 - width..].to_vec()
        }));
        bytes
    }

    fn body(&self, kind: u8) -> Vec<u8> {
        let target = [b'S', b'P', b'Z'][self.below(3)];
        match kind {
            b'Q' => self.string(),
            b'P' => [self.string(), self.string(), self.counted(4)].concat(),
            b'B' => {
                let mut body = [self.string(), self.string(), self.counted(2)].concat();
                let count = self.below(4);
                body.extend((count as u16).to_be_bytes());
                for _ in 0..count {
                    let length = self.below(6);
                    body.extend((length as i32 - 1).to_be_bytes());
                    body.extend(self.bytes(length.saturating_sub(1)));
                }
                [body, self.counted(2)].concat()
            }
            b'D' | b'C' => [vec![target], self.string()].concat(),
            b'E' => [self.string(), (self.below(4) as u32).to_be_bytes().to_vec()].concat(),
            b'f' => self.string(),
            b'd' => self.bytes(self.below(30)),
            _ => Vec::new(),
        }
    }

    /// A message, mostly whole.
    fn message(&self) -> Vec<u8> {
        const KINDS: &[u8] = b"QQPPPBBBDDEEEECSSSSHdcfF";
        let kind = KINDS[self.below(KINDS.len())];
        let mut body = self.body(kind);
        match self.below(12) {
            0 => body.truncate(self.below(body.len() + 1)),
            1 => body.extend(self.bytes(3)),
            2 if !body.is_empty() => {
                let at = self.below(body.len());
                body[at] = self.0.next_u64() as u8;
            }
            _ => {}
        }
        let mut bytes = message(kind, &body);
        match self.below(200) {
            0 => bytes[0] = self.0.next_u64() as u8,
            1 => bytes[1 + self.below(4)] = self.0.next_u64() as u8,
            _ => {}
        }
        bytes
    }
}

/// The server survives any bytes, and serves the next client.
#[test]
fn anything() {
    let limits = Limits { message_bytes_max: 1 << 20, ..Limits::default() };
    let server = start(server::Options { limits, ..options() });
    seeds(1, 400, |seed| {
        let chance = Chance(SimRandom::new(seed));
        let mut wire = Wire::open(server.addresses()[0]);
        if chance.below(10) == 0 {
            let mut first = startup(3 << 16, &[("user", "postgres"), ("options", "-c a=b")]);
            let at = chance.below(first.len());
            first[at] = chance.0.next_u64() as u8;
            wire.send(&first);
        } else {
            wire.begin(&[("user", "postgres")]);
        }
        // Read by another thread, as a client must that sends without waiting.
        let mut reader =
            Wire { stream: wire.stream.try_clone().unwrap(), process: 0, secret: vec![] };
        let reading = std::thread::spawn(move || while reader.next().is_some() {});
        let bytes: Vec<u8> = (0..chance.below(60)).flat_map(|_| chance.message()).collect();
        for piece in bytes.chunks(1 + chance.below(200)) {
            match wire.stream.write_all(piece) {
                Ok(()) => {}
                Err(error) if is_end(&error) => break,
                Err(error) => panic!("{error}"),
            }
        }
        // Hanging up on our side ends what is left, a COPY or half a message.
        let _ = wire.stream.shutdown(std::net::Shutdown::Write);
        reading.join().expect("the server answers and then hangs up");
    });
    assert!(Wire::connect(&server).query("SELECT 1").contains("D 1"));
    assert_eq!(server.metrics().panics_total, 0);
    server.shutdown();
}
