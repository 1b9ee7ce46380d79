//! Arrays, rows and documents: making arrays, and reaching for fields and elements.

use scalar::cast::CoercionContext;
use types::{Datum, Modifier, Origins, Shape, SqlState, Type, geometry, hstore};

use super::Binder;
use super::scope::Described;
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, ExprKind as Ast, Step};
use crate::plan::{Expr, ExprKind, Subscript};

impl Binder<'_> {
    /// `ARRAY[...]`, of a type that is wanted or of what the elements have in common.
    pub(super) fn array(
        &mut self,
        elements: &[ast::Expr],
        wanted: Option<(Type, Modifier)>,
        at: At,
    ) -> Result<Expr> {
        let mut bound = Vec::with_capacity(elements.len());
        for element in elements {
            bound.push(match &element.kind {
                Ast::Array(inner) => self.array(inner, wanted, element.at)?,
                _ => self.expr(element)?,
            });
        }
        if let Some((array, modifier)) = wanted {
            // The number of bits is a part of the cast of a number to them.
            let is_of_bits = self.facts().element(array) == Some(Type::BIT);
            let modifier = if is_of_bits { modifier } else { Modifier::NONE };
            let is_array = |(written, bound): (&ast::Expr, &Expr)| {
                matches!(written.kind, Ast::Array(_)) || self.facts().is_true_array(bound.ty)
            };
            let nested = elements.iter().zip(&bound).any(is_array);
            let target = match nested {
                true => array,
                false => self.facts().element(array).unwrap_or(Type::NONE),
            };
            let mut cast = Vec::with_capacity(bound.len());
            for element in bound {
                let at = element.at;
                cast.push(self.cast(element, target, modifier, at)?);
            }
            let kind = ExprKind::Array { elements: cast, nested };
            return Ok(Expr { kind, ty: array, modifier, at });
        }
        if bound.is_empty() {
            return Err(Error::new(
                SqlState::INDETERMINATE_DATATYPE,
                "cannot determine type of empty array",
            )
            .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
            .at(at));
        }
        let (bound, common) = self.unify(bound, "ARRAY")?;
        // Elements that are arrays make an array of more dimensions.
        let nested = self.facts().is_true_array(common);
        let ty = match nested {
            true => Some(common),
            false => self.facts().array_of(common),
        };
        let Some(ty) = ty else {
            return Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("could not find array type for data type {}", self.type_name(common)),
            )
            .at(at));
        };
        let modifier = Self::common_modifier(&bound, common);
        Ok(Expr { kind: ExprKind::Array { elements: bound, nested }, ty, modifier, at })
    }

    /// Fields and subscripts of an expression.
    pub(super) fn indirection(&mut self, base: &ast::Expr, steps: &[Step]) -> Result<Expr> {
        let mut expr = self.expr(base)?;
        let mut steps = steps.iter().peekable();
        while let Some(step) = steps.peek() {
            match step {
                Step::Field(name) => {
                    expr = self.field(expr, name)?;
                    steps.next();
                }
                Step::Star(at) => {
                    return Err(Error::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "row expansion via \"*\" is not supported here",
                    )
                    .at(*at));
                }
                Step::Index(_) | Step::Slice(..) => {
                    let mut run = Vec::new();
                    while let Some(step @ (Step::Index(_) | Step::Slice(..))) = steps.peek() {
                        run.push(*step);
                        steps.next();
                    }
                    expr = self.subscripts(expr, &run)?;
                }
            }
        }
        Ok(expr)
    }

    /// A field of a row.
    pub(super) fn field(&mut self, expr: Expr, name: &ast::Name) -> Result<Expr> {
        let fields = self.fields_of(&expr);
        let Some(fields) = fields else {
            let error = if expr.ty == Type::RECORD {
                Error::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("could not identify column \"{}\" in record data type", name.text),
                )
            } else {
                Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!(
                        "column notation .{} applied to type {}, which is not a composite type",
                        name.text,
                        self.type_name(expr.ty)
                    ),
                )
            };
            return Err(error.at(expr.at));
        };
        let Some(index) = fields.iter().position(|(known, ..)| *known == name.text) else {
            let error = if expr.ty == Type::RECORD {
                format!("could not identify column \"{}\" in record data type", name.text)
            } else if let ExprKind::Row { .. } = expr.kind {
                format!("column {}.{} does not exist", self.type_name(expr.ty), name.text)
            } else {
                format!(
                    "column \"{}\" not found in data type {}",
                    name.text,
                    self.type_name(expr.ty)
                )
            };
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, error).at(expr.at));
        };
        let (_, ty, modifier) = fields[index].clone();
        let at = name.at;
        let row = self.facts().base(expr.ty);
        if let (None, Some(text), false) = (&self.by, &mut self.text, row == Type::RECORD)
            && !text.attributes.iter().any(|known| known.at == at)
        {
            text.attributes.push(super::AttributeName { at, ty: row, index, is_output: false });
        }
        Ok(Expr { kind: ExprKind::Field { expr: Box::new(expr), index }, ty, modifier, at })
    }

    /// The names and types of the fields of a row, where they are known.
    pub(super) fn fields_of(&self, expr: &Expr) -> Option<Described> {
        if expr.ty == Type::RECORD {
            if let ExprKind::Call(call) = &expr.kind {
                let outputs = self.outputs_of(call);
                let fields = outputs.into_iter().map(|(name, ty)| (name, ty, Modifier::NONE));
                return Some(fields.collect::<Vec<_>>()).filter(|fields| !fields.is_empty());
            }
            if let ExprKind::Column { index, .. } = &expr.kind {
                return self.records.get(index).cloned();
            }
            let ExprKind::Row { fields, names } = &expr.kind else { return None };
            let fields = fields.iter().enumerate();
            let name = |at: usize| names.get(at).cloned().unwrap_or(format!("f{}", at + 1));
            return Some(fields.map(|(at, field)| (name(at), field.ty, field.modifier)).collect());
        }
        match self.names.shape(self.facts().base(expr.ty)) {
            Some(Shape::Composite(fields)) if !expr.ty.is_builtin() => Some(
                fields
                    .iter()
                    .map(|field| (field.name.to_string(), field.ty, field.modifier))
                    .collect(),
            ),
            _ => None,
        }
    }

    /// Subscripts that stand together.
    pub(super) fn subscripts(&mut self, expr: Expr, steps: &[&Step]) -> Result<Expr> {
        if let (true, [Step::Index(index)]) = (self.facts().base(expr.ty) == Type::NAME, steps) {
            return self.letter_of_name(expr, index);
        }
        if self.facts().base(expr.ty) == Type::HSTORE {
            return steps.iter().try_fold(expr, |value, step| self.value_of_key(value, step));
        }
        let (bound, ty) = self.subscript_steps(&expr, steps)?;
        let (modifier, at) = (expr.modifier, expr.at);
        let kind = ExprKind::Subscript { expr: Box::new(expr), steps: bound };
        Ok(Expr { kind, ty, modifier, at })
    }

    /// The value of a key of an `hstore`, which is a text.
    fn value_of_key(&mut self, value: Expr, step: &Step) -> Result<Expr> {
        let at = value.at;
        let refuse =
            |message: &str| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
        if self.facts().base(value.ty) != Type::HSTORE {
            return refuse("hstore allows only one subscript");
        }
        let Step::Index(key) = step else {
            return refuse("hstore allows only one subscript");
        };
        let key = self.expr(key)?;
        let Some(key) = self.coerce(key, Type::TEXT, CoercionContext::Assignment)? else {
            let message = "subscript for hstore must be of type text";
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(at));
        };
        let origins = self.names.all_origins();
        self.call_of(origins, "fetchval", vec![value, key], at)
    }

    /// An `hstore` with another value of a key.
    pub(super) fn with_key(&mut self, old: Expr, steps: &[&Step], value: Expr) -> Result<Expr> {
        let at = old.at;
        let [Step::Index(key)] = steps else {
            let message = "hstore allows only one subscript";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
        };
        let key = self.expr(key)?;
        let origins = self.names.all_origins();
        let mut texts = Vec::with_capacity(2);
        for part in [key, value] {
            let text = self.coerce(part, Type::TEXT, CoercionContext::Assignment)?;
            texts.push(text.ok_or_else(|| {
                let message = "subscript for hstore must be of type text";
                Error::new(SqlState::DATATYPE_MISMATCH, message).at(at)
            })?);
        }
        let pair = self.call_of(origins, "hstore", texts, at)?;
        let empty = Datum::bytea(hstore::build([]).unwrap_or_default());
        let empty = Expr::of(ExprKind::Const(empty), Type::HSTORE, at);
        let old = Expr::of(ExprKind::Coalesce(vec![old, empty]), Type::HSTORE, at);
        self.call_of(origins, "hs_concat", vec![old, pair], at)
    }

    /// A `name` is an array of `"char"` that begins with 0.
    fn letter_of_name(&mut self, name: Expr, index: &ast::Expr) -> Result<Expr> {
        let at = name.at;
        let number = |value| Expr::of(ExprKind::Const(Datum::Int4(value)), Type::INT4, at);
        let index = self.subscript(index, false)?;
        let place = self.operate("+", Some(index), number(1), at)?;
        let text = self.cast(name, Type::TEXT, Modifier::NONE, at)?;
        let letter = self.call_of(Origins::CORE, "substr", vec![text, place, number(1)], at)?;
        self.cast(letter, Type::CHAR, Modifier::NONE, at)
    }

    /// The subscripts and the type that they lead to.
    pub(super) fn subscript_steps(
        &mut self,
        expr: &Expr,
        steps: &[&Step],
    ) -> Result<(Vec<Subscript>, Type)> {
        let base = self.facts().base(expr.ty);
        let json = base == Type::JSONB;
        let element = match geometry::part_type(base) {
            Some(_) if steps.iter().any(|step| matches!(step, Step::Slice(..))) => {
                let message = "slices of fixed-length arrays not implemented";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(expr.at));
            }
            None if json => Some(Type::JSONB),
            None => self.facts().element(base),
            part => part,
        };
        let Some(element) = element else {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "cannot subscript type {} because it does not support subscripting",
                    self.type_name(expr.ty)
                ),
            )
            .at(expr.at));
        };
        if !json && steps.len() > types::array::DIMENSIONS_MAX {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "number of array dimensions ({}) exceeds the maximum allowed ({})",
                    steps.len(),
                    types::array::DIMENSIONS_MAX
                ),
            ));
        }
        let slice = steps.iter().any(|step| matches!(step, Step::Slice(..)));
        if json && slice {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "jsonb subscript does not support slices",
            )
            .at(expr.at));
        }
        let mut bound = Vec::with_capacity(steps.len());
        for step in steps {
            bound.push(match step {
                Step::Index(index) if slice => Subscript::Slice(
                    Some(Expr::of(ExprKind::Const(Datum::Int4(1)), Type::INT4, index.at)),
                    Some(self.subscript(index, json)?),
                ),
                Step::Index(index) => Subscript::Index(self.subscript(index, json)?),
                Step::Slice(low, high) => {
                    let mut end = |end: &Option<ast::Expr>| {
                        end.as_ref().map(|end| self.subscript(end, json)).transpose()
                    };
                    Subscript::Slice(end(low)?, end(high)?)
                }
                Step::Field(_) | Step::Star(_) => continue,
            });
        }
        Ok((bound, if slice { base } else { element }))
    }

    fn subscript(&mut self, index: &ast::Expr, json: bool) -> Result<Expr> {
        let bound = self.expr(index)?;
        let at = bound.at;
        if json {
            let target = if bound.ty == Type::UNKNOWN { Type::TEXT } else { bound.ty };
            for wanted in [Type::INT4, Type::TEXT] {
                if (target == Type::TEXT) == (wanted == Type::TEXT)
                    && let Some(cast) =
                        self.coerce(bound.clone(), wanted, CoercionContext::Implicit)?
                {
                    return Ok(cast);
                }
            }
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!("subscript type {} is not supported", self.type_name(bound.ty)),
            )
            .hint("jsonb subscript must be coercible to either integer or text.")
            .at(at));
        }
        self.coerce(bound, Type::INT4, CoercionContext::Assignment)?.ok_or_else(|| {
            Error::new(SqlState::DATATYPE_MISMATCH, "array subscript must have type integer").at(at)
        })
    }
}
