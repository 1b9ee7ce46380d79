//! Binding: a portal is made of a prepared statement and the values of its parameters.
//!
//! ```text
//!   Bind   values as text or as bytes ──> read_params ──> values of the statement's types ──> plan ──> Portal
//!          formats of the result      ──> formats     ──> one for each column
//! ```
//!
//! A statement of the simple protocol has no values: one that names a parameter is refused ([`require_no_parameters`]).

use std::sync::Arc;

use types::{Datum, SqlState, Type};

use crate::error::{Error, Result};
use crate::portal::{Format, Portal, Work};
use crate::session::Session;
use crate::statement::{Params, Parsed, Prepared};

impl Session {
    /// Makes a portal of a prepared statement and its parameters; the empty name can be used again.
    ///
    /// # Errors
    /// `26000` if there is no such statement, `08P01` if the number of parameters differs, and the errors of
    /// invalid values.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        params: &Params<'_>,
        result_formats: &[Format],
    ) -> Result<()> {
        let prepared = self.prepared(statement)?.clone();
        self.begin_statement(&prepared.parsed)?;
        let is_taken = self.portals.contains_key(portal) || self.cursors.contains_key(portal);
        if !portal.is_empty() && is_taken {
            return Err(Error::new(
                SqlState::DUPLICATE_CURSOR,
                format!("cursor \"{portal}\" already exists"),
            ));
        }
        let mut made = self.interruptible(|session| {
            let values = session.read_params(portal, statement, &prepared, params)?;
            session.plan_prepared(&prepared, values)
        })?;
        made.number = self.next_portal();
        made.formats = formats(result_formats, made.formats.len())?;
        self.portals.insert(portal.to_owned(), made);
        Ok(())
    }

    fn read_params(
        &self,
        portal: &str,
        name: &str,
        prepared: &Prepared,
        params: &Params<'_>,
    ) -> Result<Arc<[Datum]>> {
        let (given, wanted) = (params.values.len(), prepared.params.len());
        if params.formats.len() > 1 && params.formats.len() != given {
            let count = params.formats.len();
            return Err(Error::new(
                SqlState::PROTOCOL_VIOLATION,
                format!("bind message has {count} parameter formats but {given} parameters"),
            ));
        }
        if given != wanted {
            return Err(Error::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message supplies {given} parameters, \
                     but prepared statement \"{name}\" requires {wanted}"
                ),
            ));
        }
        let statement_context = self.statement_context();
        let context = statement_context.types();
        let mut values = Vec::with_capacity(given);
        for (at, (bytes, ty)) in params.values.iter().zip(&prepared.params).enumerate() {
            let format = match params.formats {
                [] => Format::Text,
                [all] => *all,
                each => each[at],
            };
            let value = param(*bytes, format, *ty, &context).map_err(|error| {
                let portal = match portal {
                    "" => "unnamed portal".to_owned(),
                    name => format!("portal \"{name}\""),
                };
                // A parameter that was sent as text is shown, if a setting of the server allows a
                // length above 0.
                let value = if format == Format::Text { " = '...'" } else { "" };
                let place = format!("{portal} parameter ${}{value}", at + 1);
                Error::from(error.with_context(place))
            })?;
            values.push(value);
        }
        Ok(values.into())
    }
}

/// Fails if a statement without parameter values has parameters.
///
/// # Errors
/// `42P02`, at the first of them.
pub(crate) fn require_no_parameters(portal: &Portal) -> Result<()> {
    let Work::Plan(running) = &portal.work else { return Ok(()) };
    if running.planned.params.len() <= portal.params.len() {
        return Ok(());
    }
    Err(no_parameter(&portal.parsed))
}

/// The error for a parameter of unknown type, if the statement cannot have parameters.
pub(crate) fn no_parameter_instead(error: Error, parsed: &Parsed) -> Error {
    let is_of_parameter = error.state() == SqlState::INDETERMINATE_DATATYPE
        && error.message().starts_with("could not determine data type of parameter $");
    if is_of_parameter { no_parameter(parsed) } else { error }
}

/// The error of the first parameter in a text that has none: `42P02`.
fn no_parameter(parsed: &Parsed) -> Error {
    let (source, start) = (&*parsed.source, parsed.range.start);
    let digits = |at: usize| source[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
    let found = parsed.text().match_indices('$').map(|(at, _)| start + at);
    let found = found.map(|at| (at, digits(at))).find(|(_, digits)| *digits > 0);
    let (name, position) = match found {
        Some((at, digits)) => (&source[at..=at + digits], source[..at].chars().count() as u32 + 1),
        None => ("$1", 1),
    };
    let error = Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}"));
    Error { position: Some(position), ..error }
}

/// One format for each of so many columns.
fn formats(given: &[Format], columns: usize) -> Result<Vec<Format>> {
    match given {
        [] => Ok(vec![Format::Text; columns]),
        [all] => Ok(vec![*all; columns]),
        each if each.len() == columns => Ok(each.to_vec()),
        each => Err(Error::new(
            SqlState::PROTOCOL_VIOLATION,
            format!(
                "bind message has {} result formats but query has {columns} columns",
                each.len()
            ),
        )),
    }
}

/// The value of a parameter.
fn param(
    bytes: Option<&[u8]>,
    format: Format,
    ty: Type,
    context: &types::Context<'_>,
) -> types::Result<Datum> {
    let modifier = types::Modifier::NONE;
    match format {
        Format::Binary => types::binary::read_nullable(bytes, ty, modifier, context),
        Format::Text => {
            let text = bytes.map(types::text::utf8).transpose()?;
            types::text::parse_nullable(text, ty, modifier, context)
        }
    }
}
