//! The services of the server for expressions while a statement runs: [`Host`], and the constraints
//! of domains.

use scalar::Function;
use scalar::function::Call;
use sql::eval::Frame;
use types::{Datum, DatumRef, Domains, Error, Object, Oid, Result, SqlState, Type, TypeSource};

use crate::client::StatementContext;
use crate::error::caught;
use crate::functions;

/// The server as expressions see it.
pub(crate) struct Host<'a> {
    pub statement_context: &'a StatementContext<'a>,
}

impl sql::eval::Host for Host<'_> {
    fn next_value(&self, sequence: Oid) -> Result<i64> {
        functions::sequence::next(self.statement_context, sequence)
    }

    fn call(&self, function: &Function, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Datum> {
        functions::call(self.statement_context, function, call, args)
    }

    fn rows(
        &self,
        function: &Function,
        _: &Call<'_>,
        args: &[DatumRef<'_>],
    ) -> Result<scalar::Rows> {
        functions::rows(self.statement_context, function, args)
    }
}

/// How deep checks of domains may use domains in turn: one that uses its own would go on for ever.
const CHECKS_DEPTH_MAX: u32 = 64;

impl Domains for StatementContext<'_> {
    fn check(&self, domain: Type, value: DatumRef<'_>) -> Result<()> {
        let depth = self.client.checks_depth.get();
        if depth >= CHECKS_DEPTH_MAX {
            let message = "stack depth limit exceeded";
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.client.checks_depth.set(depth + 1);
        let checked = caught(|| self.check_value(domain, value));
        self.client.checks_depth.set(depth);
        checked
    }
}

impl StatementContext<'_> {
    fn check_value(&self, domain: Type, value: DatumRef<'_>) -> Result<()> {
        let names = &self.names;
        let known = names.domain(domain, self.types())?;
        let name = || TypeSource::name(&**names, domain).unwrap_or_default();
        let refused = |state, message: String| {
            let error = Error::new(state, message);
            match names.catalog.type_entry(domain) {
                Some(entry) => error
                    .about(Object::Schema, names.schema_name(entry.schema()))
                    .about(Object::Type, &**entry.name()),
                None => error,
            }
        };
        if known.not_null && value.is_null() {
            let message = format!("domain {} does not allow null values", name());
            return Err(refused(SqlState::NOT_NULL_VIOLATION, message));
        }
        let context = self.context();
        let frame =
            Frame { context: &context, params: &[], host: &Host { statement_context: self } };
        for (constraint, check) in &known.checks {
            if matches!(check.run(&[value][..], frame)?, Datum::Bool(false)) {
                let message = format!(
                    "value for domain {} violates check constraint \"{constraint}\"",
                    name()
                );
                let error = refused(SqlState::CHECK_VIOLATION, message);
                return Err(error.about(Object::Constraint, constraint.as_str()));
            }
        }
        Ok(())
    }
}
