//! Values of one type become values of another: casts that are written, casts that are not, and
//! literals and parameters that take the type that is wanted.

use scalar::cast::{self, CoercionContext, CoercionPath};
use scalar::resolve;
use types::{Datum, Modifier, Oid, Shape, SqlState, Type};

use super::Binder;
use crate::error::{At, Error, Result};
use crate::plan::{Call, Cast, Expr, ExprKind};

impl Binder<'_> {
    /// A value as one of the type `target`, where the context allows it.
    ///
    /// # Errors
    /// `22P02` and its like where a literal is none of the type; `42P08` where a parameter is of
    /// another type elsewhere.
    pub(super) fn coerce(
        &mut self,
        expr: Expr,
        target: Type,
        when: CoercionContext,
    ) -> Result<Option<Expr>> {
        let at = expr.at;
        if expr.ty == target || target == Type::RECORD && self.facts().is_composite(expr.ty) {
            return Ok(Some(expr));
        }
        if target == Type::ANY {
            return Ok(Some(self.settle(expr)?));
        }
        if expr.ty == Type::UNKNOWN {
            return self.coerce_unknown(expr, target, when).map(Some);
        }
        // A value of any array type is one of `anyarray`, and keeps its type.
        if target == Type::ANYARRAY && self.facts().is_true_array(expr.ty) {
            return Ok(Some(expr));
        }
        if let (ExprKind::Row { .. }, Type::RECORD) = (&expr.kind, expr.ty)
            && self.facts().is_composite(target)
        {
            return self.coerce_row(expr, target, when);
        }
        let Some(how) = cast::find(self.facts(), expr.ty, target, when) else { return Ok(None) };
        if how == CoercionPath::Record {
            return Ok(None);
        }
        let base = self.facts().base(target);
        let same_base = self.facts().base(expr.ty) == base;
        let modifier = if same_base { expr.modifier } else { Modifier::NONE };
        let inner = if same_base && expr.ty == base {
            expr
        } else {
            let kind = ExprKind::Cast { expr: Box::new(expr), how: Cast::Type { how, when } };
            Expr { kind, ty: base, modifier, at }
        };
        Ok(Some(self.domain_value(inner, target, when)))
    }

    /// A value of a base type as one of a domain, whose constraints it must fulfil. An explicit cast
    /// cuts what is too long for the domain's modifier.
    pub(super) fn domain_value(&mut self, expr: Expr, domain: Type, when: CoercionContext) -> Expr {
        let facts = self.facts();
        if domain == expr.ty || facts.base(domain) == domain {
            return expr;
        }
        let modifier = self.domain_modifier(domain);
        let at = expr.at;
        let fitted = self.fit(expr, modifier, when == CoercionContext::Explicit);
        let kind = ExprKind::Cast { expr: Box::new(fitted), how: Cast::Domain };
        Expr { kind, ty: domain, modifier: Modifier::NONE, at }
    }

    fn domain_modifier(&self, domain: Type) -> Modifier {
        match self.names.shape(domain) {
            Some(Shape::Domain(base, Modifier::NONE)) if !base.is_builtin() => {
                self.domain_modifier(base)
            }
            Some(Shape::Domain(_, modifier)) => modifier,
            _ => Modifier::NONE,
        }
    }

    /// A literal without a type, or a parameter without one, becomes what is wanted.
    fn coerce_unknown(&mut self, expr: Expr, target: Type, when: CoercionContext) -> Result<Expr> {
        let at = expr.at;
        let base = self.facts().base(target);
        match expr.kind {
            ExprKind::Const(Datum::Null) => {
                let null = Expr::null(base, at);
                Ok(self.domain_value(null, target, when))
            }
            ExprKind::Const(value @ (Datum::Text(_) | Datum::Short(_))) => {
                let text = value.as_text().unwrap_or_default();
                let value = types::text::parse(text, base, Modifier::NONE, &self.context)
                    .map_err(|error| Error::from(error).at(at))?;
                let literal = Expr::of(ExprKind::Const(value), base, at);
                Ok(self.domain_value(literal, target, when))
            }
            ExprKind::Param(index) => {
                let known = self.params[index];
                if known == Type::UNKNOWN {
                    self.params[index] = target;
                } else if known != target {
                    return Err(Error::new(
                        SqlState::AMBIGUOUS_PARAMETER,
                        format!("inconsistent types deduced for parameter ${}", index + 1),
                    )
                    .detail(format!("{} versus {}", self.type_name(known), self.type_name(target)))
                    .at(at));
                }
                Ok(Expr::of(ExprKind::Param(index), target, at))
            }
            kind => {
                let inner = Expr::of(kind, Type::UNKNOWN, at);
                let how = Cast::Type { how: CoercionPath::InOut, when: CoercionContext::Implicit };
                let cast = ExprKind::Cast { expr: Box::new(inner), how };
                Ok(Expr::of(cast, target, at))
            }
        }
    }

    /// `ROW(...)` as a row of a composite type, field by field.
    fn coerce_row(
        &mut self,
        expr: Expr,
        target: Type,
        when: CoercionContext,
    ) -> Result<Option<Expr>> {
        let at = expr.at;
        let base = self.facts().base(target);
        let Some(Shape::Composite(wanted)) = self.names.shape(base) else { return Ok(None) };
        let ExprKind::Row { fields, .. } = expr.kind else { return Ok(None) };
        let mismatch = |self_: &Self, detail: String| {
            Error::new(
                SqlState::CANNOT_COERCE,
                format!("cannot cast type record to {}", self_.type_name(target)),
            )
            .detail(detail)
            .at(at)
        };
        if fields.len() != wanted.len() {
            let few = fields.len() < wanted.len();
            let detail = format!("Input has too {} columns.", if few { "few" } else { "many" });
            return Err(mismatch(self, detail));
        }
        let mut row = Vec::with_capacity(fields.len());
        for (place, (field, wanted)) in fields.into_iter().zip(wanted.iter()).enumerate() {
            let given = field.ty;
            let cast = self.coerce(field, wanted.ty, when)?;
            let Some(cast) = cast else {
                return Err(mismatch(
                    self,
                    format!(
                        "Cannot cast type {} to {} in column {}.",
                        self.type_name(given),
                        self.type_name(wanted.ty),
                        place + 1
                    ),
                ));
            };
            row.push(self.fit(cast, wanted.modifier, when == CoercionContext::Explicit));
        }
        let row = Expr::row(row, base, at);
        Ok(Some(self.domain_value(row, target, when)))
    }

    /// A value fitted to a modifier, as `varchar(10)` does.
    pub(super) fn fit(&mut self, expr: Expr, modifier: Modifier, explicit: bool) -> Expr {
        if modifier == Modifier::NONE || expr.modifier == modifier {
            return expr;
        }
        if expr.is_null_const() {
            return Expr { modifier, ..expr };
        }
        let facts = self.facts();
        let base = facts.base(expr.ty);
        let element = if facts.is_true_array(base) { facts.element(base) } else { None };
        if cast::to_modifier(element.unwrap_or(base)).is_none() {
            return expr;
        }
        let how = Cast::Modifier { explicit };
        let (ty, at) = (expr.ty, expr.at);
        Expr { kind: ExprKind::Cast { expr: Box::new(expr), how }, ty, modifier, at }
    }

    /// `CAST(expr AS target)`
    pub(super) fn cast(
        &mut self,
        expr: Expr,
        target: Type,
        modifier: Modifier,
        at: At,
    ) -> Result<Expr> {
        let source = expr.ty;
        if let (Type::INTERVAL, Type::UNKNOWN) = (target, source)
            && modifier != Modifier::NONE
        {
            return self.interval_literal(expr, modifier);
        }
        if let Some(function) = self.number_to_bits(source, target) {
            return Ok(self.bits_of_number(expr, function, target, modifier));
        }
        let elements = (self.facts().element(source), self.facts().element(target));
        if let (Some(of), Some(to)) = elements
            && let Some(function) = self.number_to_bits(of, to)
            && self.facts().is_true_array(self.facts().base(source))
        {
            let how = CoercionPath::Elements(Box::new(CoercionPath::Bits(function, modifier.0)));
            let how = Cast::Type { how, when: CoercionContext::Explicit };
            let kind = ExprKind::Cast { expr: Box::new(expr), how };
            let base = self.facts().base(target);
            let bits = Expr { kind, ty: base, modifier, at };
            return Ok(self.domain_value(bits, target, CoercionContext::Explicit));
        }
        let row = matches!(expr.kind, ExprKind::Row { .. });
        let cast = self.coerce(expr, target, CoercionContext::Explicit).map_err(|error| {
            match row && error.cause.state() == SqlState::CANNOT_COERCE {
                true => Error { at, ..error },
                false => error,
            }
        });
        match cast? {
            Some(cast) => {
                let fitted = self.fit(cast, modifier, true);
                Ok(fitted)
            }
            None => Err(Error::new(
                SqlState::CANNOT_COERCE,
                format!(
                    "cannot cast type {} to {}",
                    self.type_name(source),
                    self.type_name(target)
                ),
            )
            .at(at)),
        }
    }

    /// The function that makes a `bit(n)` of a number, where that is the cast.
    fn number_to_bits(&self, source: Type, target: Type) -> Option<Oid> {
        let facts = self.facts();
        match (facts.base(source), facts.base(target)) {
            (Type::INT4, Type::BIT) => Some(Oid(1683)),
            (Type::INT8, Type::BIT) => Some(Oid(2075)),
            _ => None,
        }
    }

    /// A number as a `bit(n)`. The cast has to know the length, because it takes the last bits of
    /// the number, and a string of bits is fitted at its end.
    fn bits_of_number(
        &mut self,
        expr: Expr,
        function: Oid,
        target: Type,
        modifier: Modifier,
    ) -> Expr {
        let at = expr.at;
        let modifier = if target == Type::BIT { modifier } else { self.domain_modifier(target) };
        let length = Expr::of(ExprKind::Const(Datum::Int4(modifier.0)), Type::INT4, at);
        let kind = ExprKind::Call(Call {
            function,
            name: "bit".to_owned(),
            operator: false,
            args: vec![expr, length],
            set: false,
            variadic: false,
        });
        let bits = Expr { kind, ty: Type::BIT, modifier, at };
        self.domain_value(bits, target, CoercionContext::Explicit)
    }

    /// An interval with fields. A literal is read with them: `interval '1' year` is no second.
    fn interval_literal(&mut self, expr: Expr, modifier: Modifier) -> Result<Expr> {
        let at = expr.at;
        let literal = match expr.kind {
            ExprKind::Const(value @ (Datum::Text(_) | Datum::Short(_))) => {
                let text = value.as_text().unwrap_or_default();
                let value = types::text::parse(text, Type::INTERVAL, modifier, &self.context)
                    .map_err(|error| Error::from(error).at(at))?;
                Expr::of(ExprKind::Const(value), Type::INTERVAL, at)
            }
            _ => self.coerce_unknown(expr, Type::INTERVAL, CoercionContext::Explicit)?,
        };
        Ok(self.fit(literal, modifier, true))
    }

    /// A value that is stored in a column.
    pub(super) fn assign(
        &mut self,
        expr: Expr,
        column: &str,
        target: Type,
        modifier: Modifier,
    ) -> Result<Expr> {
        let (source, at) = (expr.ty, expr.at);
        match self.coerce(expr, target, CoercionContext::Assignment)? {
            Some(cast) => Ok(self.fit(cast, modifier, false)),
            None => Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "column \"{column}\" is of type {} but expression is of type {}",
                    self.type_name(target),
                    self.type_name(source)
                ),
            )
            .hint("You will need to rewrite or cast the expression.")
            .at(at)),
        }
    }

    /// A value as one of a type that it is known to fit.
    pub(super) fn implicit(&mut self, expr: Expr, target: Type) -> Result<Expr> {
        let (source, at) = (expr.ty, expr.at);
        self.coerce(expr, target, CoercionContext::Implicit)?.ok_or_else(|| {
            Error::new(
                SqlState::CANNOT_COERCE,
                format!(
                    "cannot cast type {} to {}",
                    self.type_name(source),
                    self.type_name(target)
                ),
            )
            .at(at)
        })
    }

    /// A truth value, as `WHERE` and its like want one.
    pub(super) fn boolean(&mut self, expr: Expr, construct: &str) -> Result<Expr> {
        self.specific(expr, Type::BOOL, construct)
    }

    /// A value of a type that a clause wants.
    pub(super) fn specific(&mut self, expr: Expr, target: Type, construct: &str) -> Result<Expr> {
        let (source, at) = (expr.ty, expr.at);
        self.coerce(expr, target, CoercionContext::Assignment)?.ok_or_else(|| {
            Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "argument of {construct} must be type {}, not type {}",
                    self.type_name(target),
                    self.type_name(source)
                ),
            )
            .at(at)
        })
    }

    /// A value whose type nothing has said is text.
    pub(super) fn settle(&mut self, expr: Expr) -> Result<Expr> {
        match expr.ty {
            Type::UNKNOWN => self.coerce_unknown(expr, Type::TEXT, CoercionContext::Implicit),
            _ => Ok(expr),
        }
    }

    /// The type that these values have in common; `context` is what messages call them.
    pub(super) fn common_type(&self, exprs: &[&Expr], context: &str) -> Result<Type> {
        let types: Vec<Type> = exprs.iter().map(|expr| expr.ty).collect();
        self.common_of(&types, context).map_err(|(error, culprit)| error.at(exprs[culprit].at))
    }

    /// The type that these have in common, or the error and the first that has none with those
    /// before it.
    pub(super) fn common_of(
        &self,
        types: &[Type],
        context: &str,
    ) -> std::result::Result<Type, (Error, usize)> {
        resolve::common_type(self.facts(), types, context).map_err(|error| {
            let culprit = (1..types.len()).find(|last| {
                resolve::common_type(self.facts(), &types[..=*last], context).is_err()
            });
            (Error::from(error), culprit.unwrap_or(0))
        })
    }

    /// These values as values of the type that they have in common.
    pub(super) fn unify(&mut self, exprs: Vec<Expr>, context: &str) -> Result<(Vec<Expr>, Type)> {
        let common = self.common_type(&exprs.iter().collect::<Vec<_>>(), context)?;
        self.one_collation(&exprs)?;
        let mut unified = Vec::with_capacity(exprs.len());
        for expr in exprs {
            unified.push(self.common_value(expr, common, context)?);
        }
        Ok((unified, common))
    }

    /// A value as one of the type chosen for it and others.
    pub(super) fn common_value(&mut self, expr: Expr, common: Type, context: &str) -> Result<Expr> {
        let (source, at) = (expr.ty, expr.at);
        self.coerce(expr, common, CoercionContext::Implicit)?.ok_or_else(|| {
            Error::new(
                SqlState::CANNOT_COERCE,
                format!(
                    "{context} could not convert type {} to {}",
                    self.type_name(source),
                    self.type_name(common)
                ),
            )
            .at(at)
        })
    }

    /// The modifier of values that are unified: theirs, if it is the same for all.
    pub(super) fn common_modifier(exprs: &[Expr], common: Type) -> Modifier {
        let mut modifiers = exprs.iter().map(|expr| (expr.ty, expr.modifier));
        match modifiers.next() {
            Some((ty, first)) if ty == common && modifiers.all(|other| other == (ty, first)) => {
                first
            }
            _ => Modifier::NONE,
        }
    }
}
