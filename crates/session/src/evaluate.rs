//! Evaluation of expressions with the state of a session: by plans, and outside of them where
//! definitions, `COPY` and constraints need the value of a default, a check, or the key of an
//! index.

use exec::stored::Values;
use sql::eval::{Frame, Program, Row};
use sql::plan::Expr;
use types::{Datum, Result};

use crate::client::StatementContext;
use crate::host::Host;
use crate::names::Names;

/// Computes expressions for one statement, with the names of one catalog.
pub(crate) struct Evaluator<'a> {
    context: scalar::Context<'a>,
    host: Host<'a>,
    names: &'a Names,
    params: &'a [Datum],
}

impl<'a> Evaluator<'a> {
    /// Expressions without parameters. `names` may be newer than those of the statement: a
    /// definition goes on with the catalog that it has made so far.
    pub fn new(statement_context: &'a StatementContext<'a>, names: &'a Names) -> Self {
        Self::with_params(statement_context, names, &[])
    }

    /// Expressions with the values of their parameters.
    pub fn with_params(
        statement_context: &'a StatementContext<'a>,
        names: &'a Names,
        params: &'a [Datum],
    ) -> Self {
        let mut context = statement_context.context();
        context.types.types = names;
        context.types.objects = names;
        Evaluator { context, host: Host { statement_context }, names, params }
    }

    /// The frame in which programs are run.
    pub fn frame(&self) -> Frame<'_> {
        Frame { context: &self.context, params: self.params, host: &self.host }
    }

    /// The values of rows that only SQL can compute.
    pub fn values(&self) -> Values<'_> {
        Values {
            names: self.names,
            schema: self.names,
            programs: &self.names.programs,
            frame: self.frame(),
        }
    }

    /// A program for an expression that was bound.
    pub fn compile(&self, expr: &Expr) -> Result<Program> {
        Program::compile(expr, self.names)
    }

    /// The value of an expression that was bound over no row.
    pub fn value(&self, expr: &Expr) -> Result<Datum> {
        self.compile(expr)?.run(Row::NONE, self.frame())
    }
}
