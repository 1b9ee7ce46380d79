//! The SQL/JSON path language (`jsonpath`): expressions that find values in a value.
//!
//! ```text
//!   $.track[*] ? (@.hr > 130 && @.name starts with "a").time
//!
//!   text ──lexer──> tokens ──parser──> Path ──print──> text, as PostgreSQL prints it
//!                                        │
//!   Jsonb, variables ────────────────────┴──run──> items
//! ```
//!
//! A path is *lax* unless it says `strict`: steps for objects are taken by each element of an
//! array, steps for arrays treat anything else as an array of one, and what is not there is simply
//! not found. A strict path has errors for all of these.
//!
//! Errors while a path runs are of two kinds. Most are *soft*: inside a predicate they make it
//! unknown, and a silent run ends there with what it has. A few are *hard* and always come out: a
//! variable that was not given, a path or a value too deep.

mod datetime;
mod error;
mod item;
mod lexer;
mod method;
mod needs;
mod parser;
mod predicate;
mod print;
mod regex;
mod run;
mod syntax;

use std::str::FromStr;

pub use datetime::{Datetime, DatetimeKind, DatetimeMethod, Datetimes, NoDatetimes};
pub use error::PathError;
pub use item::Item;
pub use needs::Needs;

use run::{Found, Run};

use super::{Builder, Jsonb, JsonbRef};

/// A path: read once, run as often as wanted.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    lax: bool,
    expr: syntax::Expr,
}

/// The context of a run of a path, other than the value.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The variables: an object.
    pub vars: Option<JsonbRef<'a>>,
    /// Soft errors end the run without being errors.
    pub silent: bool,
    /// The functions for dates and times.
    pub datetimes: &'a dyn Datetimes,
}

impl Default for Options<'_> {
    /// No variables, errors, no dates.
    fn default() -> Self {
        Options { vars: None, silent: false, datetimes: &NoDatetimes }
    }
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// Fails if the text is not a path: [`PathError::Syntax`] and similar errors.
    pub fn parse(text: &str) -> Result<Path, PathError> {
        let (lax, expr) = parser::parse(text)?;
        Ok(Path { lax, expr })
    }

    /// True if the path is lax.
    pub fn is_lax(&self) -> bool {
        self.lax
    }

    /// `jsonb_path_exists` and, silently, `@?`: whether the path finds anything. None after a
    /// silent error.
    ///
    /// # Errors
    /// Those of the run.
    pub fn exists<'a>(
        &'a self,
        value: JsonbRef<'a>,
        options: Options<'a>,
    ) -> Result<Option<bool>, PathError> {
        // A strict path exists only if there is no error anywhere, so it has to run to its end.
        let mut items = Vec::new();
        let found = Found(if self.lax { None } else { Some(&mut items) });
        let outcome = Run::new(self.lax, value, options)?.expr(&self.expr, found);
        Ok(settle(outcome, options.silent)?
            .map(|found| if self.lax { found } else { !items.is_empty() }))
    }

    /// `jsonb_path_match` and, silently, `@@`: the truth value that the path gives, none for
    /// unknown and after a silent error.
    ///
    /// # Errors
    /// Those of the run, and [`PathError::NotOneBool`].
    pub fn matches<'a>(
        &'a self,
        value: JsonbRef<'a>,
        options: Options<'a>,
    ) -> Result<Option<bool>, PathError> {
        let items = self.items(value, options)?;
        if let [item] = &items[..] {
            match item.view() {
                item::View::Bool(value) => return Ok(Some(value)),
                item::View::Null => return Ok(None),
                _ => {}
            }
        }
        if options.silent { Ok(None) } else { Err(PathError::NotOneBool) }
    }

    /// `jsonb_path_query`: what the path finds, in order.
    ///
    /// # Errors
    /// Those of the run. A silent run that ends with an error gives what it found before.
    pub fn query<'a>(
        &'a self,
        value: JsonbRef<'a>,
        options: Options<'a>,
    ) -> Result<impl ExactSizeIterator<Item = Item<'a>> + use<'a>, PathError> {
        Ok(self.items(value, options)?.into_iter())
    }

    /// `jsonb_path_query_array`: what the path finds, as an array.
    ///
    /// # Errors
    /// Those of the run.
    pub fn query_array<'a>(
        &'a self,
        value: JsonbRef<'a>,
        options: Options<'a>,
    ) -> Result<Jsonb, PathError> {
        let items = self.items(value, options)?;
        let mut builder = Builder::new();
        builder.array(|array| items.iter().for_each(|item| item.write_to(array)));
        Ok(builder.finish()?)
    }

    /// `jsonb_path_query_first`: the first of what the path finds.
    ///
    /// # Errors
    /// Those of the run, of all of it.
    pub fn query_first<'a>(
        &'a self,
        value: JsonbRef<'a>,
        options: Options<'a>,
    ) -> Result<Option<Item<'a>>, PathError> {
        Ok(self.items(value, options)?.into_iter().next())
    }

    fn items<'a>(
        &'a self,
        value: JsonbRef<'a>,
        options: Options<'a>,
    ) -> Result<Vec<Item<'a>>, PathError> {
        let mut items = Vec::new();
        let outcome = Run::new(self.lax, value, options)?.expr(&self.expr, Found(Some(&mut items)));
        settle(outcome, options.silent)?;
        Ok(items)
    }
}

/// The result of a run, after an error at its end.
fn settle<T>(outcome: Result<T, PathError>, silent: bool) -> Result<Option<T>, PathError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if silent && !error.is_hard() => Ok(None),
        Err(error) => Err(error),
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Path, PathError> {
        Path::parse(text)
    }
}
