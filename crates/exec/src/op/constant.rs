//! Constants are computed when a statement starts, so that their errors do not depend on rows.

use plan::Constant;
use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Result};

use crate::ctx::Env;

/// Computes what is known. Its value, where that is known.
pub(crate) fn compute(constant: &Constant<Program>, env: &Env<'_>) -> Result<Option<Datum>> {
    match constant {
        Constant::Open => Ok(None),
        Constant::Known(program) => env.value(program, EvalRow::NONE).map(Some),
        Constant::Parts(parts, strict) => {
            let mut is_null = false;
            for part in parts {
                is_null |= compute(part, env)?.is_some_and(|value| value.is_null());
            }
            Ok((*strict && is_null).then_some(Datum::Null))
        }
        Constant::Until(decides, parts) => {
            for part in parts {
                if let Some(Datum::Bool(value)) = compute(part, env)?
                    && value == *decides
                {
                    return Ok(Some(Datum::Bool(value)));
                }
            }
            Ok(None)
        }
        Constant::Coalesce(parts) => {
            let mut is_first = true;
            for part in parts {
                match compute(part, env)? {
                    Some(value) if value.is_null() => {}
                    Some(value) => return Ok(is_first.then_some(value)),
                    None => is_first = false,
                }
            }
            Ok(None)
        }
        Constant::Case(arms, otherwise) => {
            let mut is_first = true;
            for (when, then) in arms {
                match compute(when, env)? {
                    Some(Datum::Bool(true)) => {
                        let value = compute(then, env)?;
                        return Ok(value.filter(|_| is_first));
                    }
                    Some(_) => {}
                    None => {
                        is_first = false;
                        compute(then, env)?;
                    }
                }
            }
            let value = compute(otherwise, env)?;
            Ok(value.filter(|_| is_first))
        }
    }
}
