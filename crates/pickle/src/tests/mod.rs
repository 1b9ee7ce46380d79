//! Tests of the crate, by subject.
//!
//! | module | shows |
//! |---|---|
//! | `records` | records that ZODB made: class, references and JSON are those that Python finds |
//! | `opcodes` | each opcode, and each way to use it against its rules |
//! | `forms` | each form of the JSON; the values that other readers lose |
//! | `hostile` | limits; no bytes cause a panic |

mod forms;
mod hostile;
mod opcodes;
mod records;

use crate::{Class, Error, Limits};

/// The class pickle that the tests put before a state: `m.C`, under memo index 0.
pub(crate) const CLASS: &[u8] = b"\x80\x03cm\nC\nq\x00.";

/// A record of the class `m.C` whose state pickle is `state` and a STOP opcode.
pub(crate) fn record(state: &[u8]) -> Vec<u8> {
    [CLASS, state, b"."].concat()
}

/// Class and references of a record.
pub(crate) fn head(record: &[u8]) -> Result<(Class<'_>, Vec<u64>), Error> {
    let mut references = vec![7];
    let class = crate::read_head(record, &mut references)?;
    Ok((class, references))
}

/// The JSON of a record, or the error as text.
pub(crate) fn json(record: &[u8]) -> String {
    json_within(record, &Limits::default())
}

/// The JSON of a record within limits, or the error as text.
pub(crate) fn json_within(record: &[u8], limits: &Limits) -> String {
    let mut out = b"before".to_vec();
    match crate::to_json(record, limits, &mut out) {
        Ok(()) => {
            let text = std::str::from_utf8(&out).expect("JSON is UTF-8");
            let text = text.strip_prefix("before").expect("JSON is appended");
            json::Tape::parse(text.as_bytes()).expect("JSON is valid");
            assert!(!text.contains("\\u0000"), "jsonb cannot hold U+0000: {text}");
            text.to_owned()
        }
        Err(error) => {
            assert_eq!(out, b"before", "a failure leaves the output as it was");
            format!("error: {error}")
        }
    }
}

/// Checks the JSON of a state.
#[track_caller]
pub(crate) fn check(state: &[u8], expected: &str) {
    assert_eq!(json(&record(state)), expected, "state {}", state.escape_ascii());
}
