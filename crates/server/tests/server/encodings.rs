//! Clients whose encoding is not UTF-8.

use crate::world::{Answer, Wire, message, options, start};

/// Sends a query in whatever encoding and gives all answers.
fn ask(wire: &mut Wire, text: &[u8]) -> Vec<Answer> {
    wire.send(&message(b'Q', &[text, b"\0"].concat()));
    wire.until(b'Z')
}

/// The first value of the first row.
fn value(answers: &[Answer]) -> Vec<u8> {
    let row = answers.iter().find(|answer| answer.kind == b'D').expect("a row");
    row.body[6..].to_vec()
}

/// The error, with code and message alone.
fn error(answers: &[Answer]) -> String {
    let error = answers.iter().find(|answer| answer.kind == b'E').expect("an error");
    format!("{} {}", error.state(), error.field(b'M').expect("it has a message"))
}

/// Statements, names, rows, messages and settings are in the encoding that the client began with.
#[test]
fn startup() {
    let server = start(options());
    let mut wire = Wire::open(server.addresses()[0]);
    let greeting = wire.begin(&[("user", "postgres"), ("client_encoding", "iso-8859-1")]);
    let told = greeting.iter().any(|answer| answer.body == b"client_encoding\0LATIN1\0");
    assert!(told, "{greeting:?}");

    ask(&mut wire, b"CREATE TABLE caf\xe9 (\xe9t\xe9 text)");
    ask(&mut wire, b"INSERT INTO caf\xe9 VALUES ('\xe0 la \xbd')");
    assert_eq!(value(&ask(&mut wire, b"SELECT \xe9t\xe9 FROM caf\xe9")), b"\xe0 la \xbd");
    let columns = ask(&mut wire, b"SELECT * FROM caf\xe9");
    assert!(columns[0].body[2..].starts_with(b"\xe9t\xe9\0"), "{:?}", columns[0]);
    assert_eq!(value(&ask(&mut wire, b"SELECT octet_length('\xe9')::text")), b"2");
    assert_eq!(value(&ask(&mut wire, b"SELECT pg_client_encoding()")), b"LATIN1");
    let missing = ask(&mut wire, b"SELECT \xfc FROM caf\xe9");
    let message = missing[0].body.split(|byte| *byte == 0).find(|field| field.starts_with(b"M"));
    assert_eq!(message, Some(&b"Mcolumn \"\xfc\" does not exist"[..]));

    // A character that the client has not is an error of the statement, and the session goes on.
    let answers = ask(&mut wire, b"SELECT U&'\\20ac'");
    assert_eq!(
        error(&answers),
        "22P05 character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent \
         in encoding \"LATIN1\""
    );
    assert_eq!(value(&ask(&mut wire, b"SELECT 'still'")), b"still");
}

/// `SET` and `SET NAMES` change the encoding; the client gets the new value. Bytes that are no
/// character, and encodings that are not there, are refused.
#[test]
fn changes() {
    let server = start(options());
    let mut wire = Wire::connect(&server);
    let told = ask(&mut wire, b"SET client_encoding = 'sjis'");
    assert!(told.iter().any(|answer| answer.body == b"client_encoding\0SJIS\0"), "{told:?}");
    assert_eq!(value(&ask(&mut wire, b"SELECT '\x83\x41'")), b"\x83\x41");
    ask(&mut wire, b"SET NAMES 'WIN1252'");
    assert_eq!(value(&ask(&mut wire, b"SELECT length('\x80')::text")), b"1");
    assert_eq!(
        error(&ask(&mut wire, b"SELECT '\x81'")),
        "22P05 character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in \
         encoding \"UTF8\""
    );
    ask(&mut wire, b"SET client_encoding = 'EUC_JP'");
    assert_eq!(
        error(&ask(&mut wire, b"SELECT '\xa5 '")),
        "22021 invalid byte sequence for encoding \"EUC_JP\": 0xa5 0x20"
    );
    assert_eq!(
        error(&ask(&mut wire, b"SET client_encoding = 'nope'")),
        "22023 invalid value for parameter \"client_encoding\": \"nope\""
    );
    ask(&mut wire, b"BEGIN; SET LOCAL client_encoding = LATIN1");
    assert_eq!(value(&ask(&mut wire, b"SELECT '\xe9'")), b"\xe9");
    ask(&mut wire, b"ROLLBACK");
    assert_eq!(value(&ask(&mut wire, b"SHOW client_encoding")), b"EUC_JP");
    ask(&mut wire, b"SET client_encoding = SQL_ASCII");
    assert_eq!(value(&ask(&mut wire, "SELECT 'é'".as_bytes())), "é".as_bytes());
    ask(&mut wire, b"RESET client_encoding");
    assert_eq!(value(&ask(&mut wire, "SELECT 'é'".as_bytes())), "é".as_bytes());
}

/// Parameters in text form are converted, as are the results of the extended protocol.
#[test]
fn parameters() {
    let server = start(options());
    let mut wire = Wire::connect(&server);
    ask(&mut wire, b"SET client_encoding = LATIN1");
    let parse = message(b'P', b"\xe9\0SELECT $1 || '\xe9', octet_length($1)::text\0\0\0");
    let bind = message(b'B', b"\0\xe9\0\0\0\0\x01\0\0\0\x02a\xfc\0\x02\0\x01\0\0");
    let execute = message(b'E', b"\0\0\0\0\0");
    wire.send(&[parse, bind, execute, message(b'S', b"")].concat());
    let answers = wire.until(b'Z');
    let row = answers.iter().find(|answer| answer.kind == b'D').expect("a row");
    assert_eq!(row.body, b"\0\x02\0\0\0\x03a\xfc\xe9\0\0\0\x013", "{answers:?}");
}

/// The data of `COPY` is in the client's encoding, or in that of its own that it names; a character
/// may be cut in two by the messages.
#[test]
fn copied_data() {
    let server = start(options());
    let mut wire = Wire::connect(&server);
    ask(&mut wire, b"CREATE TABLE words (n int, word text); SET client_encoding = SJIS");
    wire.send(&message(b'Q', b"COPY words FROM STDIN\0"));
    wire.until(b'G');
    for piece in [&b"1\t\x83"[..], b"\x41\n2\tb\n"] {
        wire.send(&message(b'd', piece));
    }
    wire.send(&message(b'c', b""));
    wire.until(b'Z');
    assert_eq!(value(&ask(&mut wire, b"SELECT word FROM words WHERE n = 1")), b"\x83\x41");
    let data = |answers: Vec<Answer>| {
        let data = answers.into_iter().filter(|answer| answer.kind == b'd');
        data.flat_map(|answer| answer.body).collect::<Vec<u8>>()
    };
    let copied = data(ask(&mut wire, b"COPY words TO STDOUT"));
    assert_eq!(copied, b"1\t\x83\x41\n2\tb\n");
    let copied = data(ask(&mut wire, b"COPY words TO STDOUT (FORMAT csv, ENCODING 'UTF8')"));
    assert_eq!(copied, "1,ア\n2,b\n".as_bytes());
    let answers = ask(&mut wire, b"COPY words TO STDOUT (ENCODING 'LATIN1')");
    assert_eq!(
        error(&answers),
        "22P05 character with byte sequence 0xe3 0x82 0xa2 in encoding \"UTF8\" has no equivalent \
         in encoding \"LATIN1\""
    );
    wire.send(&message(b'Q', b"COPY words FROM STDIN\0"));
    wire.until(b'G');
    wire.send(&message(b'd', b"3\t\x83"));
    wire.send(&message(b'c', b""));
    assert_eq!(error(&wire.until(b'Z')), "22021 invalid byte sequence for encoding \"SJIS\": 0x83");
    assert_eq!(
        error(&ask(&mut wire, b"COPY words TO STDOUT (ENCODING 'nope')")),
        "22023 argument to option \"encoding\" must be a valid encoding name"
    );
    assert_eq!(value(&ask(&mut wire, b"SELECT count(*)::text FROM words")), b"2");
}
