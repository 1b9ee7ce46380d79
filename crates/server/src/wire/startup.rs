//! The first packets of a connection: a request for encryption, a request to cancel, or the start
//! of a session.
//!
//! ```text
//!   80877103  SSLRequest       answered with one byte: S or N
//!   80877104  GSSENCRequest    answered with N
//!   80877102  CancelRequest    process, secret; no answer
//!   196608    version 3.0      name value name value ... and an empty name
//!   196610    version 3.2      the same; the secret for cancelling may be long
//! ```

use session::Error;
use types::SqlState;
use types::text::NAME_BYTES_MAX;

use super::{Reader, violation};

/// The newest minor version of protocol 3 that is spoken.
pub(crate) const MINOR: u16 = 2;

/// The first minor version in which the secret for cancelling is longer than four bytes.
pub(crate) const MINOR_LONG_SECRET: u16 = 2;

const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// The first packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// May we speak TLS?
    Tls,
    /// May we encrypt by GSSAPI?
    Gss,
    /// Interrupt what another connection is doing.
    Cancel {
        /// The number of its process.
        process: i32,
        /// The proof that the sender may cancel.
        secret: Vec<u8>,
    },
    /// Begin a session.
    Start(Start),
}

/// The client's names and the settings of its session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The minor version of the protocol that both speak.
    pub(crate) minor: u16,
    /// True if the client asked for a newer version, or for extensions.
    pub(crate) negotiates: bool,
    /// Extensions of the protocol that were asked for. There are none.
    pub(crate) extensions: Vec<String>,
    /// The role.
    pub(crate) user: String,
    /// The database.
    pub(crate) database: String,
    /// Settings: those of `options` first, then those that stand by themselves.
    pub(crate) settings: Vec<(String, String)>,
}

impl First {
    /// Reads a first packet, which comes without its length.
    ///
    /// # Errors
    /// 08P01 where it is malformed, 0A000 for another protocol, 28000 where no user is named.
    pub(crate) fn read(packet: &[u8]) -> Result<Self, Error> {
        let mut packet = Reader(packet);
        let code = packet.int32()? as u32;
        match code {
            TLS | GSS => {
                if !packet.0.is_empty() {
                    return Err(violation("invalid length of startup packet"));
                }
                Ok(if code == TLS { First::Tls } else { First::Gss })
            }
            CANCEL => {
                let process = packet.int32()?;
                // At most 256 bytes since version 3.2, exactly four before.
                let secret = packet.0;
                if !(4..=256).contains(&secret.len()) {
                    return Err(violation("invalid length of cancel request packet"));
                }
                Ok(First::Cancel { process, secret: secret.to_vec() })
            }
            _ if code >> 16 == 3 => Start::read(code as u16, packet).map(First::Start),
            _ => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "unsupported frontend protocol {}.{}: server supports 3.0 to 3.{MINOR}",
                    code >> 16,
                    code & 0xffff
                ),
            )),
        }
    }
}

impl Start {
    fn read(minor: u16, mut packet: Reader<'_>) -> Result<Self, Error> {
        let mut start = Start {
            minor: minor.min(MINOR),
            negotiates: minor > MINOR,
            extensions: Vec::new(),
            user: String::new(),
            database: String::new(),
            settings: Vec::new(),
        };
        let (mut options, mut settings) = (Vec::new(), Vec::new());
        let layout =
            || violation("invalid startup packet layout: expected terminator as last byte");
        loop {
            let name = packet.string().map_err(|_| layout())?;
            if name.is_empty() {
                break;
            }
            let value = packet.string()?;
            match name {
                "user" => start.user = cut(value),
                "database" => start.database = cut(value),
                "options" => options = read_options(value)?,
                "replication" => match value {
                    "false" | "off" | "no" | "0" => {}
                    _ => return Err(no_replication()),
                },
                name if name.starts_with("_pq_.") => {
                    start.extensions.push(name.to_owned());
                    start.negotiates = true;
                }
                name => settings.push((name.to_owned(), value.to_owned())),
            }
        }
        packet.end().map_err(|_| layout())?;
        if start.user.is_empty() {
            return Err(Error::new(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                "no PostgreSQL user name specified in startup packet",
            ));
        }
        if start.database.is_empty() {
            start.database.clone_from(&start.user);
        }
        start.settings = options;
        start.settings.append(&mut settings);
        Ok(start)
    }
}

/// The error for `pg_basebackup`, `pg_receivewal` and subscribers, which ask for commands of replication.
fn no_replication() -> Error {
    Error::not_supported("a replication connection").hint(
        "SELECT backup('/folder') makes a backup on the server's machine, and \
         \"anywhen backup --from URL\" makes one on another machine. pg_dump needs no replication.",
    )
}

/// A name, cut to as many bytes as names have.
fn cut(name: &str) -> String {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

/// The settings of `options`, which is a command line: `-c name=value`, `--name=value`.
fn read_options(line: &str) -> Result<Vec<(String, String)>, Error> {
    let mut settings = Vec::new();
    let mut words = split(line).into_iter();
    let refuse = |word: &str| {
        Error::new(
            SqlState::SYNTAX_ERROR,
            format!("invalid command-line argument for server process: {word}"),
        )
        .hint("Settings are given as -c name=value.")
    };
    while let Some(word) = words.next() {
        let (setting, is_long) = match word.strip_prefix("--") {
            Some(setting) => (setting.to_owned(), true),
            None => match word.strip_prefix("-c") {
                Some("") => (words.next().ok_or_else(|| refuse(&word))?, false),
                Some(setting) => (setting.to_owned(), false),
                None => return Err(refuse(&word)),
            },
        };
        let Some((name, value)) = setting.split_once('=') else {
            let start = if is_long { "--" } else { "-c " };
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("{start}{setting} requires a value"),
            ));
        };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// The words of a command line: spaces part them, a backslash keeps the character after it.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(characters.next()),
            character => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// The bytes of a packet.
#[cfg(test)]
fn packet(code: u32, body: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], body].concat()
}

/// True for the first byte of a TLS handshake, which a client may send without asking.
pub(crate) fn is_tls(first: u8) -> bool {
    first == 0x16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(minor: u32, body: &[u8]) -> Result<Start, Error> {
        match First::read(&packet(3 << 16 | minor, body))? {
            First::Start(start) => Ok(start),
            other => panic!("{other:?}"),
        }
    }

    fn settings(start: &Start) -> Vec<(&str, &str)> {
        start.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    /// The database is the user's where none is named, and options become settings.
    #[test]
    fn names_and_settings() {
        let body = b"user\0ann\0application_name\0psql\0options\0-c a=1 --b-c=x\\ y -cd=\0\0";
        let start = start(0, body).unwrap();
        assert_eq!((start.user.as_str(), start.database.as_str()), ("ann", "ann"));
        assert_eq!(
            settings(&start),
            [("a", "1"), ("b_c", "x y"), ("d", ""), ("application_name", "psql")]
        );
        assert!(!start.negotiates);
    }

    /// A newer version and extensions are not refused but negotiated down.
    #[test]
    fn versions() {
        let newer = start(9, b"user\0ann\0_pq_.x\0on\0\0").unwrap();
        assert!(newer.negotiates);
        assert_eq!((newer.minor, newer.extensions), (MINOR, vec!["_pq_.x".to_owned()]));
        assert_eq!(start(2, b"user\0ann\0\0").unwrap().minor, 2);
        let error = First::read(&packet(2 << 16, b"user\0ann\0\0")).unwrap_err();
        assert_eq!(error.state(), SqlState::FEATURE_NOT_SUPPORTED);
    }

    /// A malformed packet is refused, wherever it is cut.
    #[test]
    fn malformed() {
        let body = b"user\0ann\0database\0d\0\0";
        for end in 0..body.len() {
            let error = start(0, &body[..end]).unwrap_err();
            assert_eq!(error.state(), SqlState::PROTOCOL_VIOLATION, "cut at {end}");
        }
        let error = start(0, b"\0").unwrap_err();
        assert_eq!(error.message(), "no PostgreSQL user name specified in startup packet");
        assert!(start(0, b"user\0ann\0options\0-x\0\0").is_err());
        assert!(start(0, b"user\0ann\0\0more").is_err());
    }
}
