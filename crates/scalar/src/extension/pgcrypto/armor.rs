//! `armor` and `dearmor`: bytes as the text that OpenPGP messages are sent as.
//!
//! ```text
//!   -----BEGIN PGP MESSAGE-----
//!   Version: 1                        headers
//!
//!   YWJj                              base 64, 76 digits a line
//!   =uhx7                             a checksum of 24 bits
//!   -----END PGP MESSAGE-----
//! ```

use types::{ArrayRef, Datum, DatumRef, Error, Repr, Result, SqlState, Type};

use super::failed;
use crate::bytes::{from_base64, to_base64};
use crate::rows::{Columns, Rows};

const BEGIN: &str = "-----BEGIN PGP MESSAGE-----\n";
const END: &str = "-----END PGP MESSAGE-----";

/// The checksum of RFC 9580.
fn checksum(data: &[u8]) -> [u8; 3] {
    let mut sum = 0x00b7_04ce_u32;
    for byte in data {
        sum ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            sum <<= 1;
            if sum & 0x0100_0000 != 0 {
                sum ^= 0x0186_4cfb;
            }
        }
    }
    let [_, high, middle, low] = sum.to_be_bytes();
    [high, middle, low]
}

/// The text of bytes, with headers.
pub(super) fn armor(data: &[u8], headers: &[(&str, &str)]) -> String {
    let mut text = String::from(BEGIN);
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    text.push('\n');
    let digits = to_base64(data);
    if !data.is_empty() {
        text.push_str(&digits);
        text.push('\n');
    }
    text.push_str(&format!("={}\n{END}\n", to_base64(&checksum(data))));
    text
}

/// The same with headers in two arrays.
pub(super) fn with_headers(
    data: &[u8],
    names: ArrayRef<'_>,
    values: ArrayRef<'_>,
) -> Result<String> {
    if names.dimensions().len() > 1 || values.dimensions().len() > 1 {
        let message = "wrong number of array subscripts";
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    }
    if names.len() != values.len() {
        let message = "mismatched array dimensions";
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    }
    let mut headers = Vec::with_capacity(names.len());
    for (name, value) in names.iter().zip(values.iter()) {
        let name = header_part(name, "key")?;
        let value = header_part(value, "value")?;
        if name.contains(": ") {
            let message = "header key must not contain \": \"";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        headers.push((name, value));
    }
    Ok(armor(data, &headers))
}

fn header_part<'a>(part: DatumRef<'a>, what: &str) -> Result<&'a str> {
    let DatumRef::Text(text) = part else {
        let message = format!("null value not allowed for header {what}");
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    };
    let refuse = |why| {
        let message = format!("header {what} must not contain {why}");
        Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
    };
    match text {
        text if !text.is_ascii() => refuse("non-ASCII characters"),
        text if text.contains('\n') => refuse("newlines"),
        text => Ok(text),
    }
}

fn corrupt() -> Error {
    failed("Corrupt ascii-armor")
}

/// The lines between the first and the last one.
fn inside(text: &str) -> Result<&str> {
    let start = text.find("-----BEGIN").ok_or_else(corrupt)?;
    let rest = &text[start..];
    let rest = &rest[rest.find('\n').ok_or_else(corrupt)? + 1..];
    let end = rest.find("-----END").ok_or_else(corrupt)?;
    Ok(&rest[..end])
}

/// The bytes of a text.
pub(super) fn dearmor(text: &str) -> Result<Vec<u8>> {
    let mut lines = inside(text)?.lines().map(|line| line.trim_end_matches('\r'));
    lines.by_ref().find(|line| line.is_empty()).ok_or_else(corrupt)?;
    let (mut digits, mut sum) = (String::new(), None);
    for line in lines {
        match line.strip_prefix('=') {
            Some(digits) if digits.len() == 4 => sum = Some(digits),
            _ => digits.push_str(line),
        }
    }
    let data = from_base64(&digits).map_err(|_| corrupt())?;
    let sum = from_base64(sum.ok_or_else(corrupt)?).map_err(|_| corrupt())?;
    if sum != checksum(&data) {
        return Err(corrupt());
    }
    Ok(data)
}

/// The headers of a text.
pub(super) fn headers(text: &str) -> Result<Rows> {
    let mut found = Vec::new();
    for line in inside(text)?.lines().map(|line| line.trim_end_matches('\r')) {
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").ok_or_else(corrupt)?;
        found.push(Ok([Datum::text(name), Datum::text(value)]));
    }
    Ok(Box::new(Columns::new([(Type::TEXT, Repr::Text); 2], found.into_iter())))
}
