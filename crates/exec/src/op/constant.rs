//! Constants are computed when a statement starts, so that their errors do not depend on rows.

use sql::eval::{Program, Row as EvalRow};
use types::{Datum, Result};

use crate::ctx::Env;
use crate::plan::Constant;

impl Constant<Program> {
    /// Computes what is known. Its value, where that is known.
    pub(crate) fn compute(&self, env: &Env<'_>) -> Result<Option<Datum>> {
        match self {
            Constant::Open => Ok(None),
            Constant::Known(program) => env.value(program, EvalRow::NONE).map(Some),
            Constant::Parts(parts, strict) => {
                let mut is_null = false;
                for part in parts {
                    is_null |= part.compute(env)?.is_some_and(|value| value.is_null());
                }
                Ok((*strict && is_null).then_some(Datum::Null))
            }
            Constant::Until(decides, parts) => {
                for part in parts {
                    if let Some(Datum::Bool(value)) = part.compute(env)?
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
                    match part.compute(env)? {
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
                    match when.compute(env)? {
                        Some(Datum::Bool(true)) => {
                            let value = then.compute(env)?;
                            return Ok(value.filter(|_| is_first));
                        }
                        Some(_) => {}
                        None => {
                            is_first = false;
                            then.compute(env)?;
                        }
                    }
                }
                let value = otherwise.compute(env)?;
                Ok(value.filter(|_| is_first))
            }
        }
    }
}
