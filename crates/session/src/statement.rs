//! Statements: those that were parsed from a text, and those that were prepared under a name.

use std::ops::Range;
use std::sync::Arc;

use sql::parse::ast::Statement;
use sql::parse::template::{Constant, template};
use types::time::TimestampTz;
use types::{Oid, Type};

use crate::error::{Error, Result};
use crate::plans::{Known, Plans};
use crate::portal::{Column, Format};

/// A statement of a query, and the text that it stands in.
#[derive(Clone)]
pub struct Parsed {
    /// The statement; `None` for no statement at all.
    pub(crate) statement: Option<Arc<Statement>>,
    /// The whole text, which places count in.
    pub(crate) source: Arc<str>,
    /// The part of it that is this statement.
    pub(crate) range: Range<usize>,
    /// Where plans of it are kept.
    pub(crate) known: Option<Arc<Known>>,
    /// Where the statement is a template, what stands for its parameters in the text.
    pub(crate) constants: Arc<[Constant]>,
}

impl Parsed {
    /// The text of the statement.
    pub fn text(&self) -> &str {
        &self.source[self.range.clone()]
    }

    /// The statements of a query, of which those that differ only in constants share their plans.
    pub(crate) fn query(text: &str, plans: &Plans) -> Result<Vec<Parsed>> {
        if let Some(made) = template(text)
            && let Ok(mut read) = Parsed::shared(&made.text, plans)
            && let Some(mut parsed) = read.pop()
            && parsed.known.as_ref().is_some_and(|known| known.is_fit())
        {
            if !made.constants.is_empty() {
                parsed.source = text.into();
                parsed.range = 0..text.len();
                parsed.constants = made.constants.into();
            }
            return Ok(vec![parsed]);
        }
        Parsed::shared(text, plans)
    }

    /// The statements of a text; one that has a plan shares it with those of the same text.
    pub(crate) fn shared(text: &str, plans: &Plans) -> Result<Vec<Parsed>> {
        if let Some(known) = plans.find(text) {
            return Ok(vec![Parsed::known(&known)]);
        }
        let parsed = Parsed::all(text)?;
        if let [Parsed { statement: Some(statement), .. }] = &parsed[..]
            && let Some(known) = plans.add(text, statement)
        {
            return Ok(vec![Parsed::known(&known)]);
        }
        Ok(parsed)
    }

    fn known(known: &Arc<Known>) -> Parsed {
        Parsed {
            statement: Some(Arc::clone(&known.statement)),
            source: Arc::clone(&known.text),
            range: 0..known.text.len(),
            known: Some(Arc::clone(known)),
            constants: Arc::default(),
        }
    }

    /// All statements of a text, read anew.
    pub(crate) fn all(text: &str) -> Result<Vec<Parsed>> {
        let parsed = sql::parse::statements(text).map_err(|error| Error::in_text(error, text))?;
        let source: Arc<str> = text.into();
        Ok(parsed
            .into_iter()
            .map(|parsed| {
                let start = parsed.text.as_ptr() as usize - text.as_ptr() as usize;
                Parsed {
                    statement: Some(Arc::new(parsed.statement)),
                    source: Arc::clone(&source),
                    range: start..start + parsed.text.len(),
                    known: None,
                    constants: Arc::default(),
                }
            })
            .collect())
    }

    /// A statement that is a part of a text, in which its places count.
    pub(crate) fn of(statement: Arc<Statement>, source: Arc<str>) -> Parsed {
        let (range, constants) = (0..source.len(), Arc::default());
        Parsed { statement: Some(statement), source, range, known: None, constants }
    }

    /// No statement.
    pub(crate) fn empty(text: &str) -> Parsed {
        Parsed {
            statement: None,
            source: text.into(),
            range: 0..text.len(),
            known: None,
            constants: Arc::default(),
        }
    }
}

/// A statement that was prepared.
#[derive(Clone)]
pub(crate) struct Prepared {
    /// When it was made, where it has a name.
    pub made: TimestampTz,
    /// The text that made it: of the statement itself, or of `PREPARE`.
    pub text: Arc<str>,
    /// True if `PREPARE` made it.
    pub is_command: bool,
    pub parsed: Parsed,
    pub params: Vec<Type>,
    pub columns: Option<Arc<[Column]>>,
}

impl Prepared {
    /// Fails if the statement would give other columns now than it was said to give.
    ///
    /// # Errors
    /// `0A000`.
    pub fn same_result(&self, columns: Option<&[Column]>) -> Result<()> {
        let is_same = match (self.columns.as_deref(), columns) {
            (Some(then), Some(now)) => {
                then.len() == now.len()
                    && then.iter().zip(now).all(|(then, now)| {
                        (&then.name, then.ty, then.modifier) == (&now.name, now.ty, now.modifier)
                    })
            }
            (then, now) => then.is_some() == now.is_some(),
        };
        if is_same { Ok(()) } else { Err(Error::plan_changed()) }
    }
}

/// The parameters and the columns of a prepared statement.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// The types of its parameters.
    pub params: &'a [Type],
    /// The columns of its rows; `None` if it gives none.
    pub columns: Option<&'a [Column]>,
}

/// The values of parameters, as they were sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params<'a> {
    /// How they are written: none for all as text, one for all, or one for each.
    pub formats: &'a [Format],
    /// The values; `None` for NULL.
    pub values: &'a [Option<&'a [u8]>],
}

/// The types that a client gave for the parameters: 0 for those that follow from their use.
pub(crate) fn given(types: &[Oid]) -> Vec<Type> {
    types.iter().map(|oid| if *oid == Oid::NONE { Type::UNKNOWN } else { Type(*oid) }).collect()
}
