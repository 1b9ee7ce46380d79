//! The options of `COPY`, checked as PostgreSQL checks them.

use charset::Charset;
use interchange::Compression;
use sql::parse::ast::{CopyValue, Name};
use types::SqlState;

use crate::error::{Error, Result};
use crate::portal::{CopyFormat, Format};
use crate::settings::value::bool_of;

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// A line for each row, tabs between values, backslashes.
    Text,
    /// Commas and quotes.
    Csv,
    /// PostgreSQL's binary form.
    Binary,
    /// Columns of Apache Parquet.
    Parquet,
    /// Columns of Arrow IPC.
    Arrow,
}

impl Style {
    /// True for the forms that are lines of text.
    pub fn is_text(self) -> bool {
        matches!(self, Style::Text | Style::Csv)
    }

    /// True for the forms that have columns, with names and types of their own.
    pub fn is_columns(self) -> bool {
        matches!(self, Style::Parquet | Style::Arrow)
    }
}

/// Columns that an option is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Columns {
    /// These.
    Some(Vec<String>),
    /// All.
    All,
}

impl Columns {
    /// True for no column.
    pub fn is_none(&self) -> bool {
        matches!(self, Columns::Some(names) if names.is_empty())
    }

    /// True if a column is among them.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Columns::All => true,
            Columns::Some(names) => names.iter().any(|known| known == name),
        }
    }
}

/// The options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CopyOptions {
    pub style: Style,
    pub delimiter: u8,
    pub null: String,
    /// The text that stands for the default of a column.
    pub default: Option<String>,
    /// True if the first line has the names of the columns.
    pub header: bool,
    /// True if these must be the names of the columns.
    pub header_match: bool,
    pub quote: u8,
    pub escape: u8,
    pub force_quote: Columns,
    pub force_not_null: Columns,
    pub force_null: Columns,
    /// The encoding of the data; that of the client where none is said.
    pub charset: Option<Charset>,
    /// How columns are compressed.
    pub compression: Option<Compression>,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn text<'a>(name: &str, value: &'a CopyValue) -> Result<&'a str> {
    match value {
        CopyValue::Text(text) => Ok(text),
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, format!("{name} requires a parameter"))),
    }
}

fn switch(name: &str, value: &CopyValue) -> Result<bool> {
    match value {
        CopyValue::None => Ok(true),
        CopyValue::Text(text) => bool_of(text).ok_or_else(|| {
            Error::new(SqlState::SYNTAX_ERROR, format!("{name} requires a Boolean value"))
        }),
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, format!("{name} requires a Boolean value"))),
    }
}

fn byte(name: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("COPY {name} must be a single one-byte character"),
        )),
    }
}

fn columns(value: &CopyValue) -> Result<Columns> {
    let names = |names: &[Name]| names.iter().map(|name| name.text.clone()).collect();
    match value {
        CopyValue::All => Ok(Columns::All),
        CopyValue::Names(list) => Ok(Columns::Some(names(list))),
        CopyValue::Text(name) => Ok(Columns::Some(vec![name.clone()])),
        CopyValue::None => Err(invalid("argument to option must be a list of column names")),
    }
}

impl CopyOptions {
    /// Those of CSV where nothing is said.
    pub fn csv() -> Self {
        let none = || Columns::Some(Vec::new());
        CopyOptions {
            style: Style::Csv,
            delimiter: b',',
            null: String::new(),
            default: None,
            header: false,
            header_match: false,
            quote: b'"',
            escape: b'"',
            force_quote: none(),
            force_not_null: none(),
            force_null: none(),
            charset: None,
            compression: None,
        }
    }

    /// The format that is announced to the client for data of so many columns.
    pub fn announced(&self, columns: usize) -> CopyFormat {
        let is_text = self.style.is_text();
        let format = if is_text { Format::Text } else { Format::Binary };
        let charset = self.charset.filter(|_| is_text).unwrap_or_default();
        CopyFormat { format, columns, charset }
    }

    /// The options that were given, for `COPY FROM` or `COPY TO`.
    ///
    /// # Errors
    /// `22023`, `42601` and `0A000` for options that are none, or contradict each other.
    pub fn new(given: &[(String, CopyValue, sql::At)], from: bool) -> Result<Self> {
        let mut style = Style::Text;
        let (mut delimiter, mut null, mut quote, mut escape) = (None, None, None, None);
        let (mut header, mut header_match, mut default) = (false, false, None);
        let (mut compression, mut charset) = (None, None);
        let none = || Columns::Some(Vec::new());
        let (mut force_quote, mut force_not_null, mut force_null) = (none(), none(), none());
        let mut seen: Vec<&str> = Vec::new();
        for (name, value, _) in given {
            if seen.contains(&name.as_str()) {
                let message = "conflicting or redundant options";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            seen.push(name);
            match name.as_str() {
                "format" => {
                    style = match text(name, value)? {
                        "text" => Style::Text,
                        "csv" => Style::Csv,
                        "binary" => Style::Binary,
                        "parquet" => Style::Parquet,
                        "arrow" => Style::Arrow,
                        other => {
                            return Err(invalid(format!("COPY format \"{other}\" not recognized")));
                        }
                    }
                }
                "delimiter" => delimiter = Some(byte("delimiter", text(name, value)?)?),
                "null" => null = Some(text(name, value)?.to_owned()),
                "default" => default = Some(text(name, value)?.to_owned()),
                "quote" => quote = Some(byte("quote", text(name, value)?)?),
                "escape" => escape = Some(byte("escape", text(name, value)?)?),
                "header" => match value {
                    CopyValue::Text(word) if word.eq_ignore_ascii_case("match") => {
                        (header, header_match) = (true, true);
                    }
                    value => header = switch(name, value)?,
                },
                "freeze" => drop(switch(name, value)?),
                "force_quote" => force_quote = columns(value)?,
                "force_not_null" => force_not_null = columns(value)?,
                "force_null" => force_null = columns(value)?,
                "encoding" => {
                    let known = Charset::named(text(name, value)?);
                    let known = known.ok_or_else(|| {
                        let message =
                            format!("argument to option \"{name}\" must be a valid encoding name");
                        invalid(message)
                    })?;
                    if !known.is_converted() {
                        let message = format!("COPY in the encoding {}", known.name());
                        return Err(Error::not_supported(&message));
                    }
                    charset = Some(known);
                }
                "compression" => {
                    let name = text(name, value)?;
                    let known = Compression::named(name).ok_or_else(|| {
                        invalid(format!("COPY compression \"{name}\" not recognized"))
                            .hint("It is one of snappy, zstd, lz4, gzip and none.")
                    })?;
                    compression = Some(known);
                }
                "on_error" => {
                    if text(name, value)? != "stop" {
                        return Err(Error::not_supported("COPY ON_ERROR ignore"));
                    }
                }
                "log_verbosity" => {}
                other => {
                    let message = format!("option \"{other}\" not recognized");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
            }
        }
        let csv = style == Style::Csv;
        let only_csv = |name: &str| Err(invalid(format!("COPY {name} requires CSV mode")));
        if style == Style::Binary {
            let refused =
                [(delimiter.is_some(), "DELIMITER"), (null.is_some(), "NULL"), (header, "HEADER")];
            if let Some((_, name)) = refused.iter().find(|(given, _)| *given) {
                let message = format!("cannot specify {name} in BINARY mode");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
        }
        if style.is_columns() {
            let refused =
                [(delimiter.is_some(), "DELIMITER"), (null.is_some(), "NULL"), (header, "HEADER")];
            if let Some((_, name)) = refused.iter().find(|(given, _)| *given) {
                return Err(invalid(format!("COPY {name} requires text or CSV mode")));
            }
        }
        match () {
            () if compression.is_some() && !style.is_columns() => {
                return Err(invalid("COPY COMPRESSION requires FORMAT parquet or arrow"));
            }
            () if compression.is_some() && from => {
                return Err(invalid("COPY COMPRESSION cannot be used with COPY FROM")
                    .hint("The data say how they are compressed."));
            }
            () if default.is_some() && style.is_columns() => {
                return Err(invalid("COPY DEFAULT requires text or CSV mode"));
            }
            () if quote.is_some() && !csv => return only_csv("QUOTE"),
            () if escape.is_some() && !csv => return only_csv("ESCAPE"),
            () if force_quote != none() && !csv => return only_csv("FORCE_QUOTE"),
            () if force_quote != none() && from => {
                return Err(invalid("COPY FORCE_QUOTE cannot be used with COPY FROM"));
            }
            () if force_not_null != none() && !csv => return only_csv("FORCE_NOT_NULL"),
            () if force_not_null != none() && !from => {
                return Err(invalid("COPY FORCE_NOT_NULL cannot be used with COPY TO"));
            }
            () if force_null != none() && !csv => return only_csv("FORCE_NULL"),
            () if force_null != none() && !from => {
                return Err(invalid("COPY FORCE_NULL cannot be used with COPY TO"));
            }
            () if default.is_some() && !from => {
                return Err(invalid("COPY DEFAULT cannot be used with COPY TO"));
            }
            () if header_match && !from => {
                return Err(invalid("cannot use \"match\" with HEADER in COPY TO"));
            }
            () => {}
        }
        let delimiter = delimiter.unwrap_or(if csv { b',' } else { b'\t' });
        let null = null.unwrap_or_else(|| if csv { "" } else { "\\N" }.to_owned());
        if matches!(delimiter, b'\n' | b'\r') {
            return Err(invalid("COPY delimiter cannot be newline or carriage return"));
        }
        if null.contains(['\n', '\r']) {
            let message = "COPY null representation cannot use newline or carriage return";
            return Err(invalid(message));
        }
        if !csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter) {
            let letter = char::from(delimiter);
            return Err(invalid(format!("COPY delimiter cannot be \"{letter}\"")));
        }
        let quote = quote.unwrap_or(b'"');
        if csv && delimiter == quote {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        Ok(CopyOptions {
            charset,
            compression,
            style,
            delimiter,
            null,
            default,
            header,
            header_match,
            quote,
            escape: escape.unwrap_or(quote),
            force_quote,
            force_not_null,
            force_null,
        })
    }
}
