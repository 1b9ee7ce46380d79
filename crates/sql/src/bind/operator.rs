//! Operators and comparisons: of values, rows, lists and subqueries.

use super::call::padded;
use super::expr::unsupported;
use super::{Binder, collation};
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, ExprKind as Ast, Operator};
use crate::plan::{Call, Expr, ExprKind};
use scalar::{operators, resolve};
use types::geometry::is_geometric;
use types::{Origins, SqlState, Type};

fn order_symbol(symbol: &str, at: At) -> Result<&'static str> {
    ["<", "<=", ">", ">="].into_iter().find(|known| *known == symbol).ok_or_else(|| {
        Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("could not determine interpretation of row comparison operator {symbol}"),
        )
        .hint("Row comparison operators must be associated with btree operator families.")
        .at(at)
    })
}

impl Binder<'_> {
    /// An operator between bound operands.
    pub(super) fn operate(
        &mut self,
        symbol: &str,
        left: Option<Expr>,
        right: Expr,
        at: At,
    ) -> Result<Expr> {
        self.operate_of(self.origins(), symbol, left, right, at)
    }

    /// The same with an operator of some origins.
    fn operate_of(
        &mut self,
        origins: Origins,
        symbol: &str,
        left: Option<Expr>,
        right: Expr,
        at: At,
    ) -> Result<Expr> {
        let left_type = left.as_ref().map(|left| left.ty);
        let found = resolve::operator_of(self.names, origins, symbol, left_type, right.ty)
            .map_err(|error| Error::from(error).at(at))?;
        self.compares_elements(symbol, found.operator, found.left).map_err(|error| error.at(at))?;
        let mut args = Vec::with_capacity(2);
        if let Some(left) = left {
            args.push(padded(self.implicit(left, found.left)?, found.operator.function));
        }
        args.push(self.implicit(right, found.right)?);
        self.one_collation(&args)?;
        let function = self.compared(found.operator.function, symbol, &mut args, at)?;
        let call = Call {
            function,
            name: symbol.to_owned(),
            operator: true,
            args,
            set: false,
            variadic: false,
        };
        Ok(Expr::of(ExprKind::Call(call), found.ret, at))
    }

    /// Checks that elements of arrays that an operator compares can be compared.
    fn compares_elements(
        &self,
        symbol: &str,
        operator: &operators::Operator,
        array: Type,
    ) -> Result<()> {
        let Some(element) = self.facts().element(array).filter(|_| operator.left == Type::ANYARRAY)
        else {
            return Ok(());
        };
        match symbol {
            "=" | "<>" | "&&" | "@>" | "<@" => self.needs_equality(element, At::NONE),
            "<" | "<=" | ">" | ">=" => self.needs_order(element, At::NONE).map_err(|_| {
                let name = self.type_name(element);
                let message = format!("could not identify a comparison function for type {name}");
                Error::new(SqlState::UNDEFINED_FUNCTION, message)
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn operator(
        &mut self,
        op: &Operator,
        left: Option<&ast::Expr>,
        right: &ast::Expr,
    ) -> Result<Expr> {
        let origins = match &op.schema {
            Some(schema) => self.names.origins_in(&schema.text),
            None => self.origins(),
        };
        if let Some(schema) = &op.schema
            && !operators::named(&op.symbol).iter().any(|known| origins.has(known.oid))
        {
            let message = format!("operator does not exist: {}.{}", schema.text, op.symbol);
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(op.at));
        }
        if let (Some(left), Ast::Subquery { link: ast::Link::Scalar, query }) = (left, &right.kind)
            && let Ast::Row { fields, .. } = &left.kind
        {
            return self.row_subquery(op, fields, query);
        }
        let Some(left) = left else {
            let right = self.expr(right)?;
            return self.operate_of(origins, &op.symbol, None, right, op.at);
        };
        if let (Ast::Row { fields: one, .. }, Ast::Row { fields: other, .. }) =
            (&left.kind, &right.kind)
        {
            let one = self.expr_list(one)?;
            let other = self.expr_list(other)?;
            return self.compare_rows(&op.symbol, one, other, op.at);
        }
        // A long chain of one operator nests on the left: it is bound from the inside out.
        let mut chain = Vec::new();
        let mut innermost = left;
        while let Ast::Op { op: inner, left: Some(left), right } = &innermost.kind
            && inner.schema.is_none()
            && !matches!((&left.kind, &right.kind), (Ast::Row { .. }, _))
        {
            chain.push((inner, right));
            innermost = left;
        }
        let mut bound = self.expr(innermost)?;
        for (inner, right) in chain.into_iter().rev() {
            let right = self.expr(right)?;
            bound = self.operate(&inner.symbol, Some(bound), right, inner.at)?;
        }
        let right = self.expr(right)?;
        self.operate_of(origins, &op.symbol, Some(bound), right, op.at)
    }

    /// The calls of an operator for the fields of two rows.
    pub(super) fn pairs(
        &mut self,
        symbol: &str,
        left: Vec<Expr>,
        right: Vec<Expr>,
        at: At,
    ) -> Result<Vec<Call>> {
        if left.len() != right.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "unequal number of entries in row expressions",
            )
            .at(at));
        }
        if left.is_empty() {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot compare rows of zero length",
            )
            .at(at));
        }
        let mut calls = Vec::with_capacity(left.len());
        for (left, right) in left.into_iter().zip(right) {
            let compared = self.operate(symbol, Some(left), right, at)?;
            if compared.ty != Type::BOOL {
                return Err(Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "row comparison operator must yield type boolean, not type {}",
                        self.type_name(compared.ty)
                    ),
                )
                .at(at));
            }
            if let ExprKind::Call(call) = compared.kind {
                if call.args.iter().any(|arg| is_geometric(self.facts().base(arg.ty))) {
                    let message = format!(
                        "could not determine interpretation of row comparison operator {symbol}"
                    );
                    let hint =
                        "Row comparison operators must be associated with btree operator families.";
                    let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                    return Err(error.hint(hint).at(at));
                }
                calls.push(call);
            }
        }
        Ok(calls)
    }

    pub(super) fn compare_rows(
        &mut self,
        symbol: &str,
        left: Vec<Expr>,
        right: Vec<Expr>,
        at: At,
    ) -> Result<Expr> {
        let calls = self.pairs(symbol, left, right, at)?;
        let bools = |calls: Vec<Call>| {
            calls.into_iter().map(|call| Expr::of(ExprKind::Call(call), Type::BOOL, at)).collect()
        };
        let kind = match symbol {
            "=" => ExprKind::And(bools(calls)),
            "<>" => ExprKind::Or(bools(calls)),
            _ => ExprKind::RowCompare { symbol: order_symbol(symbol, at)?, pairs: calls },
        };
        Ok(Expr::of(kind, Type::BOOL, at))
    }

    /// `x op ANY (array)`
    pub(super) fn any_all(
        &mut self,
        symbol: &str,
        all: bool,
        left: Expr,
        right: Expr,
        at: At,
    ) -> Result<Expr> {
        let wrong =
            |message: &str| Error::new(SqlState::WRONG_OBJECT_TYPE, message.to_owned()).at(at);
        let element = match right.ty {
            Type::UNKNOWN => Type::UNKNOWN,
            ty => self
                .facts()
                .element(self.facts().base(ty))
                .ok_or_else(|| wrong("op ANY/ALL (array) requires array on right side"))?,
        };
        let found =
            resolve::operator_of(self.names, self.origins(), symbol, Some(left.ty), element)
                .map_err(|error| Error::from(error).at(at))?;
        if found.ret != Type::BOOL {
            return Err(wrong("op ANY/ALL (array) requires operator to yield boolean"));
        }
        let array = self
            .facts()
            .array_of(found.right)
            .ok_or_else(|| unsupported("an array of this type", at))?;
        let left = padded(self.implicit(left, found.left)?, found.operator.function);
        let right = self.implicit(right, array)?;
        let mut args = vec![left, right];
        self.one_collation(&args)?;
        let function = self.compared(found.operator.function, symbol, &mut args, at)?;
        let call = Call {
            function,
            name: symbol.to_owned(),
            operator: true,
            args,
            set: false,
            variadic: false,
        };
        Ok(Expr::of(ExprKind::AnyAll { call, all }, Type::BOOL, at))
    }

    pub(super) fn in_list(
        &mut self,
        expr: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        at: At,
    ) -> Result<Expr> {
        let symbol = if negated { "<>" } else { "=" };
        let row = matches!(expr.kind, Ast::Row { .. })
            || list.iter().any(|item| matches!(item.kind, Ast::Row { .. }));
        if !row && list.len() > 1 {
            let left = self.expr(expr)?;
            let items = self.expr_list(list)?;
            let plain = |item: &&Expr| !matches!(item.kind, ExprKind::Column { .. });
            let all: Vec<&Expr> =
                std::iter::once(&left).chain(items.iter().filter(plain)).collect();
            let types: Vec<Type> = all.iter().map(|item| item.ty).collect();
            if items.iter().all(|item| plain(&item))
                && let Ok(common) = self.common_of(&types, "IN")
                && common != Type::RECORD
                && let Some(array) = self.facts().array_of(common)
            {
                let mut elements = Vec::with_capacity(items.len());
                for item in items {
                    elements.push(self.common_value(item, common, "IN")?);
                }
                let kind = ExprKind::Array { elements, nested: false };
                return self.any_all(symbol, negated, left, Expr::of(kind, array, at), at);
            }
        }
        let mut tests = Vec::with_capacity(list.len());
        for item in list {
            let test = match (&expr.kind, &item.kind) {
                (Ast::Row { fields: one, .. }, Ast::Row { fields: other, .. }) => {
                    let one = self.expr_list(one)?;
                    let other = self.expr_list(other)?;
                    self.compare_rows(symbol, one, other, at)?
                }
                _ => {
                    let left = self.expr(expr)?;
                    let right = self.expr(item)?;
                    self.operate(symbol, Some(left), right, at)?
                }
            };
            tests.push(self.boolean(test, "IN")?);
        }
        if tests.len() == 1
            && let Some(only) = tests.pop()
        {
            return Ok(only);
        }
        let kind = if negated { ExprKind::And(tests) } else { ExprKind::Or(tests) };
        Ok(Expr::of(kind, Type::BOOL, at))
    }

    pub(super) fn between(
        &mut self,
        expr: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
        symmetric: bool,
        at: At,
    ) -> Result<Expr> {
        let mut within = |low: &ast::Expr, high: &ast::Expr| -> Result<Expr> {
            let (first, second) = if negated { ("<", ">") } else { (">=", "<=") };
            let mut tests = Vec::with_capacity(2);
            for (symbol, bound) in [(first, low), (second, high)] {
                let left = self.expr(expr)?;
                let right = self.expr(bound)?;
                tests.push(self.operate(symbol, Some(left), right, at)?);
            }
            let kind = if negated { ExprKind::Or(tests) } else { ExprKind::And(tests) };
            Ok(Expr::of(kind, Type::BOOL, at))
        };
        let straight = within(low, high)?;
        if !symmetric {
            return Ok(straight);
        }
        let turned = within(high, low)?;
        let both = vec![straight, turned];
        let kind = if negated { ExprKind::And(both) } else { ExprKind::Or(both) };
        Ok(Expr::of(kind, Type::BOOL, at))
    }

    pub(super) fn is_distinct(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        negated: bool,
        at: At,
    ) -> Result<Expr> {
        if let (Ast::Row { fields: one, .. }, Ast::Row { fields: other, .. }) =
            (&left.kind, &right.kind)
        {
            let one = self.expr_list(one)?;
            let other = self.expr_list(other)?;
            let calls = self.pairs("=", one, other, at)?;
            let test = |equal| Expr::of(ExprKind::IsDistinct { equal, negated }, Type::BOOL, at);
            let tests: Vec<Expr> = calls.into_iter().map(test).collect();
            let kind = if negated { ExprKind::And(tests) } else { ExprKind::Or(tests) };
            return Ok(Expr::of(kind, Type::BOOL, at));
        }
        let left = self.expr(left)?;
        let right = self.expr(right)?;
        for (null, other) in [(&right, &left), (&left, &right)] {
            if null.is_null_const() && null.ty == Type::UNKNOWN {
                let expr = Box::new(self.settle(other.clone())?);
                return Ok(Expr::of(ExprKind::IsNull { expr, negated: !negated }, Type::BOOL, at));
            }
        }
        let equal = self.operate("=", Some(left), right, at)?;
        match equal.kind {
            ExprKind::Call(call) if equal.ty == Type::BOOL => {
                Ok(Expr::of(ExprKind::IsDistinct { equal: call, negated }, Type::BOOL, at))
            }
            _ => Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "IS DISTINCT FROM requires = operator to yield boolean",
            )
            .at(at)),
        }
    }

    pub(super) fn null_if(&mut self, equal: Expr, at: At) -> Result<Expr> {
        match equal.kind {
            ExprKind::Call(call) if equal.ty == Type::BOOL => {
                if call.args[0].ty == Type::BYTEA && collation::is_key(&call.args[0]) {
                    return collation::null_if(call, at);
                }
                let (ty, modifier) = (call.args[0].ty, call.args[0].modifier);
                Ok(Expr { kind: ExprKind::NullIf(call), ty, modifier, at })
            }
            _ => Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "NULLIF requires = operator to yield boolean",
            )
            .at(at)),
        }
    }

    /// Values of the type can be put in order.
    pub(super) fn needs_order(&self, ty: Type, at: At) -> Result<()> {
        if self.is_set_of_pairs(ty) {
            return Ok(());
        }
        match resolve::operator_of(self.names, self.names.all_origins(), "<", Some(ty), ty) {
            Ok(found) if found.ret == Type::BOOL && self.orders(ty) => Ok(()),
            _ => Err(Error::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("could not identify an ordering operator for type {}", self.type_name(ty)),
            )
            .hint("Use an explicit ordering operator or modify the query.")
            .at(at)),
        }
    }

    /// Values of the type can be told apart.
    pub(super) fn needs_equality(&self, ty: Type, at: At) -> Result<()> {
        match resolve::operator_of(self.names, self.names.all_origins(), "=", Some(ty), ty) {
            Ok(found) if found.ret == Type::BOOL && self.orders(ty) => Ok(()),
            _ => Err(Error::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("could not identify an equality operator for type {}", self.type_name(ty)),
            )
            .at(at)),
        }
    }

    /// True for `hstore` and its arrays, whose operators of order have other symbols.
    fn is_set_of_pairs(&self, ty: Type) -> bool {
        [Type::HSTORE, Type::HSTORE_ARRAY].contains(&self.facts().base(ty))
    }

    /// An array has an order where its elements have one. Of values in the plane `<` and `=` are no order.
    fn orders(&self, ty: Type) -> bool {
        if is_geometric(self.facts().base(ty)) {
            return false;
        }
        match self.facts().element(ty) {
            Some(element) if self.is_set_of_pairs(element) => true,
            Some(element) if self.facts().is_true_array(ty) && element != ty => {
                let origins = self.names.all_origins();
                !is_geometric(self.facts().base(element))
                    && resolve::operator_of(self.names, origins, "<", Some(element), element)
                        .is_ok()
            }
            _ => true,
        }
    }
}
