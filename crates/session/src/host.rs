//! [`Host`]: what expressions ask of the server while a statement runs.

use scalar::Function;
use scalar::function::Call;
use types::{Datum, DatumRef, Error, Oid, Result, SqlState, Type};

use crate::client::Surroundings;
use crate::functions;

/// The server as expressions see it.
pub(crate) struct Host<'a> {
    pub surroundings: &'a Surroundings<'a>,
}

impl sql::eval::Host for Host<'_> {
    fn next_value(&self, sequence: Oid) -> Result<i64> {
        Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("the sequence {sequence} cannot be advanced here"),
        ))
    }

    fn check_domain(&self, _domain: Type, _value: DatumRef<'_>) -> Result<()> {
        Ok(())
    }

    fn call(&self, function: &Function, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Datum> {
        functions::call(self.surroundings, function, call, args)
    }
}
