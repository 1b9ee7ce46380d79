//! Calls: functions, casts written as functions, aggregates and window functions.

use scalar::function::{Default, Eval};
use scalar::resolve::{self, Called, Resolved};
use scalar::{Function, registry};
use types::{Datum, Modifier, Oid, Origins, SqlState, Type};

use super::Binder;
use crate::error::{At, Error, Result};
use crate::parse::ast;
use crate::plan::{Call, Expr, ExprKind};

/// The functions, some of them behind operators, that see the spaces which fill up a `char(n)`:
/// patterns (`LIKE`, `ILIKE`, `~`, `~*` and their opposites), `octet_length`, `concat`, `concat_ws`,
/// `format`, `to_json` and what builds JSON. All others take the value as `text`, or compare it.
const SEE_PADDING: &[u32] = &[
    1631, 1632, 1660, 1661, 1658, 1659, 1656, 1657, 1375, 3058, 3059, 3539, 3176, 3787, 3198, 3200,
    3271, 3273,
];

/// `rpad(text, integer)`
const RPAD: Oid = Oid(880);

/// An argument of a function as that sees it. Values of `char(n)` are kept without the spaces at their
/// end, which mean nothing to nearly all of them.
pub(super) fn padded(arg: Expr, function: Oid) -> Expr {
    if arg.ty != Type::BPCHAR || !SEE_PADDING.contains(&function.0) {
        return arg;
    }
    let Some(length) = arg.modifier.length() else { return arg };
    let at = arg.at;
    let length = Datum::Int4(i32::try_from(length).unwrap_or(i32::MAX));
    let kind = ExprKind::Call(Call {
        function: RPAD,
        name: "rpad".to_owned(),
        operator: false,
        args: vec![arg, Expr::of(ExprKind::Const(length), Type::INT4, at)],
        set: false,
        variadic: false,
    });
    Expr::of(kind, Type::TEXT, at)
}

impl Binder<'_> {
    /// A call of a function.
    pub(super) fn call(&mut self, call: &ast::Call, at: At) -> Result<Expr> {
        self.known_schema(call, at)?;
        if let Some(notes) = self.notes() {
            notes.calls.insert(at, call.clone());
        }
        if call.syntax && call.name.last() == "merge_action" {
            if !self.merge_action {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "MERGE_ACTION() can only be used in the RETURNING list of a MERGE command",
                )
                .at(at));
            }
            return Ok(Expr::of(ExprKind::MergeAction, Type::TEXT, at));
        }
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            let value = self.expr(&arg.value)?;
            // A driver that calls a function sends its result as a parameter of no value.
            let is_result = value.ty == Type::VOID
                && matches!(value.kind, ExprKind::Param(_))
                && call.within_group.is_empty()
                && call.args.iter().all(|arg| arg.name.is_none());
            if !is_result {
                args.push(value);
            }
        }
        let direct = args.len();
        let mut set_order = Vec::new();
        for item in &call.within_group {
            let key = self.sort_key(item)?;
            args.push(key.expr.clone());
            set_order.push(key);
        }
        self.put_named(call, &mut args, at)?;
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        let origins = self.origins_of(call);
        let name = call.name.last();
        let found = match resolve::function_of(self.names, origins, name, &types, call.variadic) {
            Ok(found) => found,
            Err(error) => match self.called_type(call, &types) {
                Some(found) => found,
                None => return Err(self.call_error(call, &types, error, at)),
            },
        };
        let plain = call.within_group.is_empty()
            && call.order.is_empty()
            && call.filter.is_none()
            && call.over.is_none()
            && !call.distinct
            && !call.star;
        match found {
            Called::Cast(target) if plain => {
                let arg = args.swap_remove(0);
                self.cast(arg, target, Modifier::NONE, at)
            }
            Called::Cast(_) => Err(not_aggregate(call, at)),
            Called::Function(resolved) => match resolved.function.eval {
                Eval::Aggregate(_) => {
                    self.check_star(call, args.len(), at)?;
                    let sorts = call.distinct && !call.order.is_empty();
                    let written = if sorts { args.clone() } else { Vec::new() };
                    let args = self.arguments(&resolved, args)?;
                    match &call.over {
                        Some(window) => self.window_call(call, &resolved, args, window, at),
                        None => {
                            self.aggregate(call, &resolved, (args, written), direct, set_order, at)
                        }
                    }
                }
                Eval::Window => {
                    let args = self.arguments(&resolved, args)?;
                    match &call.over {
                        Some(window) => self.window_call(call, &resolved, args, window, at),
                        None => Err(Error::new(
                            SqlState::WRONG_OBJECT_TYPE,
                            format!("window function {} requires an OVER clause", call.name),
                        )
                        .at(at)),
                    }
                }
                _ if !plain => Err(not_aggregate(call, at)),
                _ => {
                    self.searches_elements(&resolved).map_err(|error| error.at(at))?;
                    self.function(call, &resolved, args, at)
                }
            },
        }
    }

    /// Checks that elements of arrays can be told apart where a function looks for one.
    fn searches_elements(&self, resolved: &Resolved) -> Result<()> {
        let searches = ["array_position", "array_positions", "array_remove", "array_replace"];
        let array = resolved.args.first().filter(|_| searches.contains(&resolved.function.name));
        match array.and_then(|array| self.facts().element(*array)) {
            Some(element) => self.needs_equality(element, At::NONE),
            None => Ok(()),
        }
    }

    /// The meaning of a call whose name is that of a type of users.
    fn called_type(&self, call: &ast::Call, types: &[Type]) -> Option<Called> {
        let (schema, name) = match &call.name.parts[..] {
            [name] => (None, name),
            [schema, name] => (Some(schema.text.as_str()), name),
            _ => return None,
        };
        let ty = self.names.user_type(schema, &name.text)?;
        resolve::constructor(self.names, ty, types, call.variadic)
    }

    /// A call of a function of some origins for bound arguments.
    pub(super) fn call_of(
        &mut self,
        origins: Origins,
        name: &str,
        args: Vec<Expr>,
        at: At,
    ) -> Result<Expr> {
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        let found = resolve::function_of(self.names, origins, name, &types, false)
            .map_err(|error| Error::from(error).at(at))?;
        let Called::Function(resolved) = found else {
            let message = format!("{name} is not a function");
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(at));
        };
        let kind = ExprKind::Call(Call {
            function: resolved.function.oid,
            name: resolved.function.name.to_owned(),
            operator: false,
            args: self.arguments(&resolved, args)?,
            set: resolved.function.set,
            variadic: resolved.gathered,
        });
        Ok(Expr::of(kind, resolved.ret, at))
    }

    /// Puts named arguments into the places that the function has for them, with the defaults of
    /// those between that were left out.
    fn put_named(&self, call: &ast::Call, args: &mut Vec<Expr>, at: At) -> Result<()> {
        let Some(first) = call.args.iter().position(|arg| arg.name.is_some()) else {
            return Ok(());
        };
        let positional = |arg: &&ast::Arg| arg.name.is_none();
        if let Some(late) = call.args[first..].iter().find(positional) {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "positional argument cannot follow named argument",
            )
            .at(late.value.at));
        }
        let names = call.args[first..].iter().filter_map(|arg| arg.name.as_ref());
        let names: Vec<&str> = names.map(|name| name.text.as_str()).collect();
        let origins = self.origins_of(call);
        let named = registry::functions(call.name.last()).iter();
        for function in named.filter(|function| origins.has(function.oid)) {
            let known = function.argument_names();
            let places: Option<Vec<usize>> = names
                .iter()
                .map(|name| known.iter().position(|known| known == name).filter(|at| *at >= first))
                .collect();
            let Some(places) = places else { continue };
            let Some(last) = places.iter().max().copied() else { continue };
            let required = function.args.len() - function.defaults.len();
            let mut filled: Vec<Option<Expr>> = args[..first].iter().cloned().map(Some).collect();
            filled.resize(last + 1, None);
            for (place, value) in places.iter().zip(&args[first..]) {
                filled[*place] = Some(value.clone());
            }
            let complete: Option<Vec<Expr>> = filled
                .into_iter()
                .enumerate()
                .map(|(place, value)| {
                    value.or_else(|| {
                        let default = place.checked_sub(required)?;
                        function.defaults.get(default).map(default_value)
                    })
                })
                .collect();
            if let Some(complete) = complete {
                *args = complete;
                return Ok(());
            }
        }
        let types: Vec<String> = call
            .args
            .iter()
            .zip(args.iter())
            .map(|(arg, value)| match &arg.name {
                Some(name) => format!("{} => {}", name.text, self.type_name(value.ty)),
                None => self.type_name(value.ty),
            })
            .collect();
        let message = format!("function {}({}) does not exist", call.name, types.join(", "));
        Err(Error::new(SqlState::UNDEFINED_FUNCTION, message)
            .hint(
                "No function matches the given name and argument types. You might need to add \
                 explicit type casts.",
            )
            .at(at))
    }

    fn known_schema(&self, call: &ast::Call, at: At) -> Result<()> {
        let [schema, _] = &call.name.parts[..] else { return Ok(()) };
        if schema.text == "pg_catalog" || call.syntax {
            return Ok(());
        }
        if !self.names.has_schema(&schema.text) {
            let message = format!("schema \"{}\" does not exist", schema.text);
            return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message).at(at));
        }
        Ok(())
    }

    /// The error of a call with its name as it was written.
    fn call_error(&self, call: &ast::Call, types: &[Type], error: types::Error, at: At) -> Error {
        let error = Error::from(error).at(at);
        let state = error.cause.state();
        let verb = match state {
            SqlState::UNDEFINED_FUNCTION => "does not exist",
            SqlState::AMBIGUOUS_FUNCTION => "is not unique",
            // Types that do not go together are about no place.
            SqlState::DATATYPE_MISMATCH => return Error { at: At::NONE, ..error },
            _ => return error,
        };
        if call.name.parts.len() == 1 && call.within_group.is_empty() {
            return error;
        }
        let types: Vec<String> = types.iter().map(|ty| self.type_name(*ty)).collect();
        let message = format!("function {}({}) {verb}", call.name, types.join(", "));
        let same = Error::new(state, message).at(at);
        match error.cause.hint() {
            Some(hint) => same.hint(hint),
            None => same,
        }
    }

    fn check_star(&self, call: &ast::Call, count: usize, at: At) -> Result<()> {
        if count == 0 && !call.star && call.within_group.is_empty() {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{}(*) must be used to call a parameterless aggregate function", call.name),
            )
            .at(at));
        }
        Ok(())
    }

    /// The arguments as the function takes them: cast, gathered, with what was left out.
    fn arguments(&mut self, resolved: &Resolved, args: Vec<Expr>) -> Result<Vec<Expr>> {
        let mut cast = Vec::with_capacity(args.len());
        for (arg, ty) in args.into_iter().zip(&resolved.args) {
            cast.push(padded(self.implicit(arg, *ty)?, resolved.function.oid));
        }
        let declared = resolved.function.args;
        if resolved.gathered {
            let elements = cast.split_off(declared.len() - 1);
            let element = elements[0].ty;
            let at = elements[0].at;
            let array = self.facts().array_of(element).unwrap_or(Type::TEXT_ARRAY);
            let kind = ExprKind::Array { elements, nested: false };
            cast.push(Expr::of(kind, array, at));
        }
        let left_out = declared.len().saturating_sub(cast.len());
        let defaults = resolved.function.defaults;
        for default in &defaults[defaults.len().saturating_sub(left_out)..] {
            let ty = declared[cast.len()];
            let value = default_value(default);
            cast.push(self.implicit(value, ty)?);
        }
        Ok(cast)
    }

    fn function(
        &mut self,
        call: &ast::Call,
        resolved: &Resolved,
        args: Vec<Expr>,
        at: At,
    ) -> Result<Expr> {
        let function = resolved.function;
        if function.set
            && let Some(scope) = self.scopes.last()
            && !scope.clause.sets
        {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("set-returning functions are not allowed in {}", scope.clause.name),
            )
            .at(at));
        }
        if call.variadic
            && function.args.last() == Some(&Type::ANY)
            && let Some(last) = args.last()
            && self.facts().element(last.ty).is_none()
        {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "VARIADIC argument must be an array",
            )
            .at(last.at));
        }
        let mut args = self.arguments(resolved, args)?;
        self.one_collation(&args)?;
        let function_oid = self.called(function, &mut args, at)?;
        let kind = ExprKind::Call(Call {
            function: function_oid,
            name: function.name.to_owned(),
            operator: false,
            args,
            set: function.set,
            variadic: resolved.gathered || call.variadic,
        });
        Ok(Expr::of(kind, resolved.ret, at))
    }

    /// The columns of a function's result that is a row.
    pub(super) fn outputs_of(&self, call: &Call) -> Vec<(String, Type)> {
        let function: Option<&'static Function> = registry::function(call.function);
        let outputs = function.map_or(&[][..], |function| function.columns());
        // A polymorphic column is of the type of the elements of the first argument.
        let element = call.args.first().and_then(|arg| self.facts().element(arg.ty));
        let of = |ty: Type| match ty {
            Type::ANYELEMENT => element.unwrap_or(ty),
            ty => ty,
        };
        outputs.iter().map(|(name, ty)| ((*name).to_owned(), of(*ty))).collect()
    }
}

fn default_value(default: &Default) -> Expr {
    let (value, ty) = match default {
        Default::Null => (Datum::Null, Type::UNKNOWN),
        Default::Bool(value) => (Datum::Bool(*value), Type::BOOL),
        Default::Text(text) => (Datum::text(*text), Type::UNKNOWN),
        Default::Int(value) => (Datum::Int4(*value), Type::INT4),
        Default::Float(value) => (Datum::Float8(*value), Type::FLOAT8),
        Default::EmptyObject => (default.value(), Type::JSONB),
    };
    Expr::of(ExprKind::Const(value), ty, At::NONE)
}

/// The error about words around a call that only aggregates and window functions take.
pub(super) fn not_aggregate(call: &ast::Call, at: At) -> Error {
    let name = &call.name;
    let message = if call.star {
        format!("{name}(*) specified, but {name} is not an aggregate function")
    } else if call.distinct {
        format!("DISTINCT specified, but {name} is not an aggregate function")
    } else if !call.within_group.is_empty() {
        format!("WITHIN GROUP specified, but {name} is not an aggregate function")
    } else if !call.order.is_empty() {
        format!("ORDER BY specified, but {name} is not an aggregate function")
    } else if call.filter.is_some() {
        format!("FILTER specified, but {name} is not an aggregate function")
    } else {
        format!("OVER specified, but {name} is not a window function nor an aggregate function")
    };
    Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(at)
}

/// True if two expressions are the same, place in the text aside.
pub(super) fn same(one: &Expr, other: &Expr) -> bool {
    one.ty == other.ty
        && one.modifier == other.modifier
        && std::mem::discriminant(&one.kind) == std::mem::discriminant(&other.kind)
        && one.to_string() == other.to_string()
}
