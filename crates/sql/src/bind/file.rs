//! Files in `FROM`: `read_parquet('x.parquet')`, and `'x.parquet'`, which the grammar reads as that call.
//!
//! Which columns a file has is asked while the statement is bound ([`Names::file`](super::Names::file)); so the path
//! and the options are constants. The rows are a scan of a relation that is not stored, of which the planner reads
//! only the columns that are wanted.

use ::types::SqlState;

use super::Binder;
use super::from::{Part, rename};
use super::names::{FILE_READERS, FileCall, FileOption};
use super::scope::Item;
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, Alias, Arg, ExprKind};
use crate::plan::{Moment, Node, Plan, Scan};

/// The call that a source in `FROM` is, where it is one of a function that reads files.
pub(super) fn reader_call(expr: &ast::Expr) -> Option<&ast::Call> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let [name] = &call.name.parts[..] else { return None };
    FILE_READERS.contains(&name.text.as_str()).then_some(call)
}

impl Binder<'_> {
    /// Files as a table.
    pub(super) fn file(
        &mut self,
        call: &ast::Call,
        ordinality: bool,
        alias: Option<&Alias>,
        at: At,
    ) -> Result<Part> {
        if ordinality {
            let message = format!("{} cannot have WITH ORDINALITY", call.name.last());
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .hint("Use row_number() OVER ().")
                .at(at));
        }
        let file = constants(call).map_err(|error| error.at(at))?;
        let relation = self.names.file(&file).map_err(|error| Error::from(error).at(at))?;
        let mut columns = Vec::with_capacity(relation.columns.len());
        for column in &relation.columns {
            columns.push(self.column(&column.name, column.ty, column.modifier, None));
        }
        let name = alias.map_or(call.name.last(), |alias| &alias.name.text).to_owned();
        let mut item = Item::named(&name, &columns);
        if let Some(alias) = alias {
            rename(&mut item, alias)?;
        }
        let scan = Scan {
            relation: relation.oid,
            name: relation.name.clone(),
            alias: name,
            computed: true,
            only: false,
            attnums: relation.columns.iter().map(|column| column.attnum).collect(),
            moment: Moment::Now,
            sample: None,
        };
        let plan = Plan { node: Node::Scan(Box::new(scan)), columns };
        Ok(Part { plan, items: vec![item], outline: None })
    }
}

/// The arguments of a call, which are constants.
fn constants(call: &ast::Call) -> Result<FileCall<'_>> {
    let reader = call.name.last();
    let wrong = |message: String, at: At| {
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .detail("The columns of a file are looked up before the statement runs.")
            .at(at))
    };
    let (mut paths, mut options) = (Vec::new(), Vec::new());
    for Arg { name, value } in &call.args {
        match (name, &value.kind) {
            (None, ExprKind::String(path)) if paths.is_empty() => paths.push(path.as_str()),
            (None, ExprKind::Array(elements)) if paths.is_empty() => {
                for element in elements {
                    let ExprKind::String(path) = &element.kind else {
                        return wrong(format!("{reader} needs constant paths"), element.at);
                    };
                    paths.push(path.as_str());
                }
            }
            (Some(name), ExprKind::Bool(value)) => {
                options.push((name.text.as_str(), FileOption::Bool(*value)));
            }
            (Some(name), ExprKind::String(value)) => {
                options.push((name.text.as_str(), FileOption::Text(value)));
            }
            (Some(name), ExprKind::Number(digits)) if digits.parse::<i64>().is_ok() => {
                let number = digits.parse().unwrap_or_default();
                options.push((name.text.as_str(), FileOption::Number(number)));
            }
            (Some(name), _) => {
                return wrong(
                    format!("option \"{}\" of {reader} must be a constant", name.text),
                    value.at,
                );
            }
            (None, _) => {
                let message = format!("{reader} needs one constant path, or an array of them");
                return wrong(message, value.at);
            }
        }
    }
    if paths.is_empty() {
        return wrong(format!("{reader} needs the path of a file"), At::NONE);
    }
    Ok(FileCall { reader, paths, options })
}
