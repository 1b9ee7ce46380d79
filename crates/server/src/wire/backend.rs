//! The messages of the server: one function for each, appended to a buffer.
//!
//! ```text
//!   T  RowDescription     1  ParseComplete     E  ErrorResponse        R  Authentication...
//!   D  DataRow            2  BindComplete      N  NoticeResponse       S  ParameterStatus
//!   C  CommandComplete    3  CloseComplete     A  NotificationResponse K  BackendKeyData
//!   I  EmptyQueryResponse s  PortalSuspended   G  CopyInResponse       v  NegotiateProtocolVersion
//!   Z  ReadyForQuery      n  NoData            H  CopyOutResponse      d  CopyData   c  CopyDone
//!                         t  ParameterDescription
//! ```

use std::borrow::Cow;

use charset::Charset;
use session::{Column, CopyFormat, Error, Format, Notification, Severity, Status, Tag};
use types::{Context, Datum, Object, SqlState, Type, binary, text};

/// Most bytes of a message that is sent: clients take no more.
const MESSAGE_BYTES_MAX: usize = (1 << 30) - 1;

/// Appends a message, whose body `write` appends.
fn message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn string(out: &mut Vec<u8>, text: &str) {
    // A zero would end the string early and leave the rest to be misread.
    debug_assert!(!text.contains('\0'), "strings of the protocol hold no zero byte");
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// A text that must reach the client, if need be with question marks for some of its characters.
fn encoded(out: &mut Vec<u8>, charset: Charset, text: &str) {
    debug_assert!(!text.contains('\0'), "strings of the protocol hold no zero byte");
    out.extend_from_slice(&charset.encode_lossy(text));
    out.push(0);
}

fn int16(out: &mut Vec<u8>, value: i16) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn int32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// The request or result of an authentication.
pub(crate) enum Authentication<'a> {
    /// All is well.
    Ok,
    /// The password as it is.
    CleartextPassword,
    /// One of these mechanisms.
    Sasl(&'a [&'a str]),
    /// The next step of the mechanism.
    SaslContinue(&'a str),
    /// Its last step.
    SaslFinal(&'a str),
}

/// AuthenticationOk and the like.
pub(crate) fn authentication(out: &mut Vec<u8>, what: Authentication<'_>) {
    message(out, b'R', |out| match what {
        Authentication::Ok => int32(out, 0),
        Authentication::CleartextPassword => int32(out, 3),
        Authentication::Sasl(mechanisms) => {
            int32(out, 10);
            mechanisms.iter().for_each(|mechanism| string(out, mechanism));
            out.push(0);
        }
        Authentication::SaslContinue(text) => {
            int32(out, 11);
            out.extend_from_slice(text.as_bytes());
        }
        Authentication::SaslFinal(text) => {
            int32(out, 12);
            out.extend_from_slice(text.as_bytes());
        }
    });
}

/// NegotiateProtocolVersion: the version that is spoken, and what is not known.
pub(crate) fn negotiate(out: &mut Vec<u8>, minor: u16, unknown: &[String]) {
    message(out, b'v', |out| {
        int32(out, 3 << 16 | i32::from(minor));
        int32(out, unknown.len() as i32);
        unknown.iter().for_each(|name| string(out, name));
    });
}

/// BackendKeyData: what a request to cancel must know.
pub(crate) fn key_data(out: &mut Vec<u8>, process: i32, secret: &[u8]) {
    message(out, b'K', |out| {
        int32(out, process);
        out.extend_from_slice(secret);
    });
}

/// ParameterStatus: a setting that is reported to the client.
pub(crate) fn parameter(out: &mut Vec<u8>, charset: Charset, name: &str, value: &str) {
    message(out, b'S', |out| {
        string(out, name);
        encoded(out, charset, value);
    });
}

/// ReadyForQuery.
pub(crate) fn ready(out: &mut Vec<u8>, status: Status) {
    let status = match status {
        Status::Idle => b'I',
        Status::InTransaction => b'T',
        Status::Failed => b'E',
    };
    message(out, b'Z', |out| out.push(status));
}

/// A message without a body: `1` ParseComplete, `2` BindComplete, `3` CloseComplete, `n` NoData, `s`
/// PortalSuspended, `I` EmptyQueryResponse, `c` CopyDone.
pub(crate) fn bare(out: &mut Vec<u8>, kind: u8) {
    message(out, kind, |_| {});
}

/// CommandComplete.
pub(crate) fn complete(out: &mut Vec<u8>, tag: &Tag) {
    use std::io::Write;
    message(out, b'C', |out| {
        write!(out, "{tag}\0").expect("vectors take everything");
    });
}

/// ParameterDescription.
pub(crate) fn parameters(out: &mut Vec<u8>, types: &[Type]) {
    message(out, b't', |out| {
        int16(out, types.len() as i16);
        types.iter().for_each(|ty| int32(out, ty.oid().0 as i32));
    });
}

/// How a column is written: `formats` is empty (all text), one for all, or one for each.
fn format_of(formats: &[Format], column: usize) -> Format {
    match formats {
        [] => Format::Text,
        [format] => *format,
        formats => formats.get(column).copied().unwrap_or_default(),
    }
}

fn format_code(format: Format) -> i16 {
    match format {
        Format::Text => 0,
        Format::Binary => 1,
    }
}

/// RowDescription.
pub(crate) fn columns(out: &mut Vec<u8>, charset: Charset, columns: &[Column], formats: &[Format]) {
    message(out, b'T', |out| {
        int16(out, columns.len() as i16);
        for (at, column) in columns.iter().enumerate() {
            encoded(out, charset, &column.name);
            int32(out, column.table.0 as i32);
            int16(out, column.attnum);
            int32(out, column.ty.oid().0 as i32);
            int16(out, column.length);
            int32(out, column.modifier.0);
            int16(out, format_code(format_of(formats, at)));
        }
    });
}

/// How the values of a row are written.
#[derive(Clone, Copy)]
pub(crate) struct Forms<'a> {
    /// None (all as text), one for all, or one for each column.
    pub(crate) formats: &'a [Format],
    /// The encoding of the client.
    pub(crate) charset: Charset,
}

/// DataRow. `scratch` is emptied and used for what is written as text.
///
/// # Errors
/// 54000 for a row that no message can hold, 22P05 for a character that the client's encoding does not have, 57014 if the
/// statement is to stop. Nothing is appended then.
pub(crate) fn row(
    out: &mut Vec<u8>,
    row: &[Datum],
    columns: &[Column],
    forms: Forms<'_>,
    context: &Context<'_>,
    scratch: &mut String,
) -> types::Result<()> {
    let start = out.len();
    let mut written = Ok(());
    message(out, b'D', |out| written = values(out, row, columns, forms, context, scratch));
    if written.is_err() {
        out.truncate(start);
        return written;
    }
    if out.len() - start > MESSAGE_BYTES_MAX {
        let bytes = out.len() - start;
        out.truncate(start);
        return Err(types::Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("a row of {bytes} bytes is too large to be sent"),
        )
        .with_hint("Ask for fewer columns, or for parts of the values."));
    }
    Ok(())
}

/// The values of a DataRow, with their lengths.
fn values(
    out: &mut Vec<u8>,
    row: &[Datum],
    columns: &[Column],
    forms: Forms<'_>,
    context: &Context<'_>,
    scratch: &mut String,
) -> types::Result<()> {
    let is_same = forms.charset.is_same();
    int16(out, row.len() as i16);
    for (at, (value, column)) in row.iter().zip(columns).enumerate() {
        if value.is_null() {
            int32(out, -1);
            continue;
        }
        let length_at = out.len();
        int32(out, 0);
        match format_of(forms.formats, at) {
            Format::Binary if !is_same && is_plain_text(column.ty) => {
                let text = value.as_text().unwrap_or_default();
                types::bounded::append_bytes(out, &forms.charset.encode(text)?)?;
            }
            Format::Binary => {
                binary::write(value.as_ref(), column.ty, column.modifier, context, out)?;
            }
            Format::Text => {
                scratch.clear();
                text::write(value.as_ref(), column.ty, column.modifier, context, scratch)?;
                let bytes = if is_same {
                    Cow::Borrowed(scratch.as_bytes())
                } else {
                    forms.charset.encode(scratch)?
                };
                types::bounded::append_bytes(out, &bytes)?;
            }
        }
        let length = (out.len() - length_at - 4) as u32;
        out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// True for the types whose binary form is their text in the encoding of the client.
fn is_plain_text(ty: Type) -> bool {
    matches!(ty, Type::TEXT | Type::VARCHAR | Type::NAME | Type::JSON)
}

/// CopyInResponse (`G`) and CopyOutResponse (`H`).
pub(crate) fn copy(out: &mut Vec<u8>, kind: u8, format: CopyFormat) {
    message(out, kind, |out| {
        let code = format_code(format.format);
        out.push(code as u8);
        int16(out, format.columns as i16);
        (0..format.columns).for_each(|_| int16(out, code));
    });
}

/// CopyData.
pub(crate) fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'd', |out| out.extend_from_slice(data));
}

/// NotificationResponse.
pub(crate) fn notification(out: &mut Vec<u8>, charset: Charset, notification: &Notification) {
    message(out, b'A', |out| {
        int32(out, notification.process);
        encoded(out, charset, &notification.channel);
        encoded(out, charset, &notification.payload);
    });
}

/// ErrorResponse, or NoticeResponse for what is no error.
pub(crate) fn report(out: &mut Vec<u8>, charset: Charset, report: &Error) {
    let kind = if report.severity >= Severity::Error { b'E' } else { b'N' };
    message(out, kind, |out| {
        let mut field = |code: u8, text: Option<&str>| {
            if let Some(text) = text {
                out.push(code);
                // A message may quote what a client sent, and that may hold anything.
                out.extend(charset.encode_lossy(text).iter().filter(|byte| **byte != 0));
                out.push(0);
            }
        };
        let cause = &report.cause;
        field(b'S', Some(report.severity.name()));
        field(b'V', Some(report.severity.name()));
        field(b'C', Some(cause.state().code()));
        field(b'M', Some(cause.message()));
        field(b'D', cause.detail());
        field(b'H', cause.hint());
        field(b'P', report.position.map(|position| position.to_string()).as_deref());
        field(b'W', cause.context());
        if let Some((query, position)) = report.inner.as_deref() {
            field(b'p', Some(&position.to_string()));
            field(b'q', Some(query));
        }
        field(b's', cause.object(Object::Schema));
        field(b't', cause.object(Object::Table));
        field(b'c', cause.object(Object::Column));
        field(b'd', cause.object(Object::Type));
        field(b'n', cause.object(Object::Constraint));
        field(b'L', report.line.map(|line| line.to_string()).as_deref());
        field(b'R', report.routine);
        out.push(0);
    });
}
