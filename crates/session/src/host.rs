//! [`Host`]: what expressions ask of the server while a statement runs.

use scalar::Function;
use scalar::function::Call;
use sql::eval::Frame;
use types::{Datum, DatumRef, Error, Object, Oid, Result, Shape, SqlState, Type, TypeSource};

use crate::client::Surroundings;
use crate::functions;

/// The server as expressions see it.
pub(crate) struct Host<'a> {
    pub surroundings: &'a Surroundings<'a>,
}

impl sql::eval::Host for Host<'_> {
    fn next_value(&self, sequence: Oid) -> Result<i64> {
        functions::sequence::next(self.surroundings, sequence)
    }

    fn check_domain(&self, domain: Type, value: DatumRef<'_>) -> Result<()> {
        let names = &self.surroundings.names;
        let known = names.domain(domain, self.surroundings.types())?;
        let name = TypeSource::name(&**names, domain).unwrap_or_default();
        let about = |error: Error| match names.catalog.type_entry(domain) {
            Some(entry) => error
                .about(Object::Schema, names.schema_name(entry.schema()))
                .about(Object::Type, &**entry.name()),
            None => error,
        };
        if known.not_null && value.is_null() {
            let message = format!("domain {name} does not allow null values");
            return Err(about(Error::new(SqlState::NOT_NULL_VIOLATION, message)));
        }
        if matches!(names.shape(known.base), Some(Shape::Domain(..))) {
            self.check_domain(known.base, value)?;
        }
        let context = self.surroundings.context();
        let frame = Frame { context: &context, params: &[], host: self };
        for (constraint, check) in &known.checks {
            if matches!(check.run(&[value][..], frame)?, Datum::Bool(false)) {
                let message =
                    format!("value for domain {name} violates check constraint \"{constraint}\"");
                let error = about(Error::new(SqlState::CHECK_VIOLATION, message));
                return Err(error.about(Object::Constraint, constraint.as_str()));
            }
        }
        Ok(())
    }

    fn call(&self, function: &Function, call: &Call<'_>, args: &[DatumRef<'_>]) -> Result<Datum> {
        functions::call(self.surroundings, function, call, args)
    }

    fn rows(
        &self,
        function: &Function,
        _: &Call<'_>,
        args: &[DatumRef<'_>],
    ) -> Result<scalar::Rows> {
        functions::rows(self.surroundings, function, args)
    }
}
