//! The messages of clients, once the connection has begun.
//!
//! ```text
//!   Q  Query      text                                    simple protocol
//!   P  Parse      name text types...                      extended protocol
//!   B  Bind       portal statement formats... values... formats of the result...
//!   D  Describe   'S' | 'P' name
//!   E  Execute    portal rows_max
//!   C  Close      'S' | 'P' name
//!   H  Flush      S  Sync      X  Terminate      F  FunctionCall
//!   d  CopyData   bytes        c  CopyDone       f  CopyFail reason
//! ```

use session::{Error, Format};
use types::{Oid, SqlState};

use super::{Reader, violation};

/// A message, its parts still where they came in.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Run the statements of a text.
    Query(&'a str),
    /// Make a prepared statement.
    Parse {
        /// Its name; empty for the one without.
        name: &'a str,
        /// The statement.
        text: &'a str,
        /// The types of the first parameters; 0 for one to be found out.
        types: Vec<Oid>,
    },
    /// Make a portal.
    Bind(Bind<'a>),
    /// Say what a statement takes and gives, or what a portal gives.
    Describe(Target<'a>),
    /// Run a portal.
    Execute {
        /// Its name.
        portal: &'a str,
        /// Most rows to give; 0 for all.
        rows_max: u64,
    },
    /// Forget a statement or a portal.
    Close(Target<'a>),
    /// Send what has been said so far.
    Flush,
    /// The end of a series: of the implicit transaction, and of skipping after an error.
    Sync,
    /// Some data of `COPY ... FROM STDIN`.
    CopyData(&'a [u8]),
    /// All data was sent.
    CopyDone,
    /// No more data will come, because of this.
    CopyFail(&'a str),
    /// The call of a function by its OID.
    FunctionCall,
    /// An answer of an authentication.
    Password,
    /// Farewell.
    Terminate,
}

/// A statement with values for its parameters.
#[derive(Debug)]
pub(crate) struct Bind<'a> {
    /// The name of the portal; empty for the one without.
    pub(crate) portal: &'a str,
    /// The name of the statement.
    pub(crate) statement: &'a str,
    /// How the values are written: none (all text), one for all, or one for each.
    pub(crate) formats: Vec<Format>,
    /// The values; none for NULL.
    pub(crate) values: Vec<Option<&'a [u8]>>,
    /// How the columns of the result are to be written, in the same way.
    pub(crate) result_formats: Vec<Format>,
}

/// The object of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target<'a> {
    /// The prepared statement of the name.
    Statement(&'a str),
    /// The portal of the name.
    Portal(&'a str),
}

impl<'a> Message<'a> {
    /// Reads the body of a message of a kind.
    ///
    /// # Errors
    /// 08P01 where the body is not what the kind promises, 22021 for what is no text. The next
    /// message can be read all the same.
    pub(crate) fn read(kind: u8, body: &'a [u8]) -> Result<Self, Error> {
        let mut body = Reader(body);
        let message = match kind {
            b'Q' => Message::Query(body.string()?),
            b'P' => {
                let (name, text) = (body.string()?, body.string()?);
                let count = body.count()?;
                let mut types = Vec::new();
                for _ in 0..count {
                    types.push(Oid(body.int32()? as u32));
                }
                Message::Parse { name, text, types }
            }
            b'B' => Message::Bind(Bind::read(&mut body)?),
            b'D' => Message::Describe(Target::read(&mut body, "DESCRIBE")?),
            b'E' => {
                let portal = body.string()?;
                // Below 0 means all, as 0 does.
                let rows_max = u64::try_from(body.int32()?).unwrap_or(0);
                Message::Execute { portal, rows_max }
            }
            b'C' => Message::Close(Target::read(&mut body, "CLOSE")?),
            b'H' => Message::Flush,
            b'S' => Message::Sync,
            b'd' => Message::CopyData(body.bytes(body.0.len())?),
            b'c' => Message::CopyDone,
            b'f' => Message::CopyFail(body.string()?),
            // Nothing of it is looked at.
            b'F' => return Ok(Message::FunctionCall),
            b'p' => return Ok(Message::Password),
            b'X' => return Ok(Message::Terminate),
            kind => return Err(violation(format!("invalid frontend message type {kind}"))),
        };
        body.end()?;
        Ok(message)
    }
}

impl<'a> Target<'a> {
    fn read(body: &mut Reader<'a>, message: &str) -> Result<Self, Error> {
        let kind = body.byte()?;
        let name = body.string()?;
        match kind {
            b'S' => Ok(Target::Statement(name)),
            b'P' => Ok(Target::Portal(name)),
            _ => Err(violation(format!("invalid {message} message subtype {kind}"))),
        }
    }
}

impl<'a> Bind<'a> {
    fn read(body: &mut Reader<'a>) -> Result<Self, Error> {
        let (portal, statement) = (body.string()?, body.string()?);
        let of_value = |at: usize, error: Error| {
            let portal = match portal {
                "" => "unnamed portal".to_owned(),
                name => format!("portal \"{name}\""),
            };
            let place = format!("{portal} parameter ${}", at + 1);
            Error { cause: error.cause.with_context(place), ..error }
        };
        let formats = read_formats(body).map_err(|(at, error)| match at {
            Some(at) => of_value(at, error),
            None => error,
        })?;
        let count = body.count()?;
        if formats.len() > 1 && formats.len() != count {
            return Err(violation(format!(
                "bind message has {} parameter formats but {count} parameters",
                formats.len()
            )));
        }
        let mut values = Vec::with_capacity(count.min(body.0.len() / 4));
        for at in 0..count {
            values.push(body.value().map_err(|error| of_value(at, error))?);
        }
        let result_formats = read_formats(body).map_err(|(_, error)| error)?;
        Ok(Bind { portal, statement, formats, values, result_formats })
    }
}

/// A list of formats; an error comes with the number of the one that is none.
fn read_formats(body: &mut Reader<'_>) -> Result<Vec<Format>, (Option<usize>, Error)> {
    let count = body.count().map_err(|error| (None, error))?;
    let mut formats = Vec::with_capacity(count.min(body.0.len() / 2));
    for at in 0..count {
        formats.push(match body.int16().map_err(|error| (None, error))? {
            0 => Format::Text,
            1 => Format::Binary,
            code => {
                let message = format!("unsupported format code: {code}");
                return Err((Some(at), Error::new(SqlState::INVALID_PARAMETER_VALUE, message)));
            }
        });
    }
    Ok(formats)
}

/// The text of a message with a password.
pub(crate) fn password(body: &[u8]) -> Result<&str, Error> {
    match body.split_last() {
        Some((0, text)) if !text.contains(&0) => Ok(types::text::utf8(text)?),
        _ => Err(violation("invalid password packet size")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No body, however it is cut or changed, makes a reader panic or read past its end.
    #[test]
    fn cut_bodies() {
        let bind = b"p\0s\0\0\x02\0\0\0\x01\0\x02\0\0\0\x01a\xff\xff\xff\xff\0\x01\0\x01";
        let parse = b"s\0SELECT 1\0\0\x01\0\0\0\x17";
        for (kind, body) in [(b'B', &bind[..]), (b'P', &parse[..]), (b'D', b"Sx\0")] {
            assert!(Message::read(kind, body).is_ok());
            for end in 0..body.len() {
                assert!(Message::read(kind, &body[..end]).is_err(), "{kind} cut at {end}");
            }
            let longer = [body, b"\0"].concat();
            let error = Message::read(kind, &longer).unwrap_err();
            assert_eq!(error.message(), "invalid message format");
        }
    }

    /// A count that is larger than the body costs no memory.
    #[test]
    fn counts_are_not_believed() {
        let error = Message::read(b'B', b"\0\0\0\0\xff\xff").unwrap_err();
        assert_eq!(error.message(), "insufficient data left in message");
        let error = Message::read(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff").unwrap_err();
        assert_eq!(error.message(), "insufficient data left in message");
    }
}
