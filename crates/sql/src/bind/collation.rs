//! Collations: the collation of each expression, and its effect on comparisons.
//!
//! ```text
//!   a COLLATE "C" < b COLLATE "POSIX"       42P21: two explicit collations for one operator
//!   length(a COLLATE "C") < length(b)       fine: an integer has none
//!   a || b, of columns with different ones  none can be told: 42P22 where a comparison needs it
//!
//!   name < 'b'   under "sv-x-icu"           collation_key(name, 'sv') < collation_key('b', 'sv')
//!   order by name                           order by collation_key(name, 'sv')
//!   max(name)                               collation_text(max(collation_key(name, 'sv')))
//!   name = 'b'                              the same bytes, where the collation is deterministic
//! ```
//!
//! Texts whose order is that of their bytes are compared as they are. Under the collation of a locale
//! the binder compares sort keys ([`scalar::collation`]), which are bytes, so no other part of the
//! server knows collations.

use types::{Datum, Oid, SqlState, Type};

use scalar::collation::{CLASS, INITCAP, KEY, LOWER, TEXT, UPPER};
use scalar::{Function, resolve};

use super::place::UNPLACED;
use super::{Binder, Collation, walk};
use crate::error::{At, Error, Result};
use crate::parse::ast;
use crate::plan::{Call, Column, Expr, ExprKind, Link, SortKey};

/// The collation of the database.
const DEFAULT: Oid = Oid(100);
/// The collation `C`.
const C: Oid = Oid(950);

/// The collation of an expression, and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Derived {
    /// It has none. A column has that of its type then.
    #[default]
    None,
    /// That of a column or a type.
    Implicit(Oid),
    /// The one that a `COLLATE` names, and the place of the `COLLATE`.
    Explicit(Oid, At),
    /// Its parts have different ones.
    Conflict(Oid, Oid),
    /// It is the column of a query, where its parts have different ones.
    Indeterminate,
}

impl Derived {
    /// The collation of two operands together.
    fn and(self, other: Derived) -> Derived {
        match (self, other) {
            (Derived::None, other) => other,
            (one @ Derived::Explicit(..), _) => one,
            (_, other @ Derived::Explicit(..)) => other,
            (one, Derived::None | Derived::Indeterminate) => one,
            (Derived::Indeterminate, other) => other,
            (one @ Derived::Conflict(..), _) => one,
            (_, other @ Derived::Conflict(..)) => other,
            (Derived::Implicit(one), Derived::Implicit(other)) => match (one, other) {
                _ if one == other || other == DEFAULT => Derived::Implicit(one),
                (DEFAULT, _) => Derived::Implicit(other),
                _ => Derived::Conflict(one, other),
            },
        }
    }

    pub(super) fn oid(self) -> Oid {
        match self {
            Derived::Implicit(oid) | Derived::Explicit(oid, _) => oid,
            Derived::None | Derived::Conflict(..) | Derived::Indeterminate => Oid::NONE,
        }
    }
}

/// The use that a function or an operator makes of its texts.
enum Use {
    /// It searches in them, which nondeterministic collations do not allow: what messages call it.
    Search(&'static str),
    /// It changes the case of letters.
    Case(Oid),
}

/// The functions, and those behind operators, whose result depends on a collation, other than
/// comparisons.
fn used_by(name: &str) -> Option<Use> {
    Some(match name {
        "~~" | "!~~" | "like" | "notlike" | "textlike" | "textnlike" => Use::Search("LIKE"),
        "~~*" | "!~~*" | "texticlike" | "texticnlike" => Use::Search("ILIKE"),
        "~"
        | "!~"
        | "~*"
        | "!~*"
        | "regexp_replace"
        | "regexp_match"
        | "regexp_matches"
        | "regexp_like"
        | "regexp_count"
        | "regexp_instr"
        | "regexp_substr"
        | "regexp_split_to_array"
        | "regexp_split_to_table" => Use::Search("regular expressions"),
        "strpos" | "position" | "replace" | "split_part" | "starts_with" | "^@"
        | "string_to_array" | "string_to_table" => Use::Search("substring searches"),
        "lower" => Use::Case(LOWER),
        "upper" => Use::Case(UPPER),
        "initcap" => Use::Case(INITCAP),
        _ => return None,
    })
}

impl Binder<'_> {
    /// Binds `expr COLLATE collation`, which stands at `at`.
    pub(super) fn collate(
        &mut self,
        expr: &ast::Expr,
        collation: &ast::Path,
        at: At,
    ) -> Result<Expr> {
        let inner = self.expr(expr)?;
        let inner = self.settle(inner)?;
        if !self.is_collatable(inner.ty) {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!("collations are not supported by type {}", self.type_name(inner.ty)),
            )
            .at(at));
        }
        let (schema, name) = collation.split(|database| self.names.is_database(database))?;
        let schema = schema.map(|schema| schema.text.as_str());
        let Some(oid) = self.names.collation_named(schema, &name.text) else {
            return Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("collation \"{collation}\" for encoding \"UTF8\" does not exist"),
            )
            .at(at));
        };
        self.has_collations = true;
        let (ty, modifier) = (inner.ty, inner.modifier);
        let kind = ExprKind::Collate { expr: Box::new(inner), collation: oid };
        Ok(Expr { kind, ty, modifier, at })
    }

    /// Says which collation a column has; none for that of its type.
    pub(super) fn set_collation(&mut self, column: &Column, collation: Oid) {
        if collation != Oid::NONE {
            self.collations[column.id as usize] = Derived::Implicit(collation);
            self.has_collations |= !matches!(collation, DEFAULT | C);
        }
    }

    /// Says that a column has values of a collation.
    fn hold(&mut self, column: &Column, derived: Derived) {
        self.collations[column.id as usize] = match derived {
            Derived::Explicit(oid, _) => Derived::Implicit(oid),
            derived => derived,
        };
    }

    /// Says that columns are those of a query in another.
    pub(super) fn leave_query(&mut self, columns: &[Column]) {
        for column in columns {
            let derived = &mut self.collations[column.id as usize];
            if let Derived::Conflict(..) = derived {
                *derived = Derived::Indeterminate;
            }
        }
    }

    /// Says that a column has the values of an expression.
    pub(super) fn note_collation(&mut self, column: &Column, expr: &Expr) {
        self.note_collations(column, std::slice::from_ref(expr));
    }

    /// Says that a column has the values of expressions.
    pub(super) fn note_collations(&mut self, column: &Column, exprs: &[Expr]) {
        if self.has_collations {
            let derived = self.merged(exprs);
            self.hold(column, derived);
        }
    }

    /// Notes the collation of a call with these arguments for its column.
    pub(super) fn note_call(&mut self, column: &Column, args: &[Expr]) {
        if self.has_collations {
            let derived = self.of_keys(args);
            self.hold(column, derived);
        }
    }

    /// Says which columns a table of `WITH` has.
    pub(super) fn note_table(&mut self, table: u32, columns: &[Column]) {
        if self.has_collations {
            self.leave_query(columns);
            let of = columns.iter().map(|column| self.collations[column.id as usize]).collect();
            self.of_tables.insert(table, of);
        }
    }

    /// Gives the columns of a table of `WITH` their collations.
    pub(super) fn set_table_collations(&mut self, table: u32, columns: &[Column]) {
        let of = self.of_tables.get(&table).cloned().unwrap_or_default();
        for (column, derived) in columns.iter().zip(of) {
            self.hold(column, derived);
        }
    }

    /// Says which collation a column of a set operation has, whose sides are these. `compares` is true
    /// if the operation compares rows.
    pub(super) fn combine_collations(
        &mut self,
        column: &Column,
        sides: [&Column; 2],
        compares: bool,
        at: At,
    ) -> Result<()> {
        if !self.has_collations || !self.is_collatable(column.ty) {
            return Ok(());
        }
        let of = sides.map(|side| self.implicit_of(side.id, side.ty));
        let derived = of[0].and(of[1]);
        if let (true, Derived::Conflict(..)) = (compares, derived) {
            return Err(self.mismatch(derived).at(at));
        }
        self.hold(column, derived);
        self.leave_query(std::slice::from_ref(column));
        Ok(())
    }

    /// Checks that the operands of one operator, function or list have one explicit collation at most.
    ///
    /// # Errors
    /// `42P21` where two of them have different ones.
    pub(super) fn one_collation<'e>(
        &self,
        operands: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<()> {
        if !self.has_collations {
            return Ok(());
        }
        let mut first = None;
        for operand in operands {
            let Derived::Explicit(oid, at) = self.derived(operand) else { continue };
            if *first.get_or_insert(oid) != oid {
                let name = |oid| self.collation_name(oid);
                return Err(Error::new(
                    SqlState::COLLATION_MISMATCH,
                    format!(
                        "collation mismatch between explicit collations \"{}\" and \"{}\"",
                        name(first.unwrap_or_default()),
                        name(oid)
                    ),
                )
                .at(at));
            }
        }
        Ok(())
    }

    fn collation_name(&self, oid: Oid) -> String {
        self.names.collation(oid).map_or_else(String::new, |found| found.name.to_string())
    }

    /// The error where an order needs one collation of columns with different ones.
    pub(super) fn mismatch(&self, derived: Derived) -> Error {
        let Derived::Conflict(one, other) = derived else { return indeterminate("") };
        Error::new(
            SqlState::COLLATION_MISMATCH,
            format!(
                "collation mismatch between implicit collations \"{}\" and \"{}\"",
                self.collation_name(one),
                self.collation_name(other)
            ),
        )
        .hint("You can choose the collation by applying the COLLATE clause to one or both expressions.")
    }

    /// The collation of several expressions together.
    pub(super) fn merged<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Derived {
        exprs.into_iter().fold(Derived::None, |found, expr| found.and(self.derived(expr)))
    }

    fn implicit_of(&self, column: u32, ty: Type) -> Derived {
        match self.collations.get(column as usize) {
            None | Some(Derived::None) => self.of_type(ty),
            Some(own) => *own,
        }
    }

    fn of_type(&self, ty: Type) -> Derived {
        if !self.is_collatable(ty) {
            return Derived::None;
        }
        let base = self.facts().base(self.facts().element(ty).unwrap_or(ty));
        match types::builtin::facts(base).map(|facts| facts.collation()) {
            None | Some(Oid::NONE) => Derived::Implicit(DEFAULT),
            Some(oid) => Derived::Implicit(oid),
        }
    }

    /// The collation of an expression.
    pub(super) fn derived(&self, expr: &Expr) -> Derived {
        let of_parts = match &expr.kind {
            _ if !self.is_collatable(expr.ty) => return Derived::None,
            ExprKind::Collate { collation, .. } => return Derived::Explicit(*collation, expr.at),
            ExprKind::Column { levels_up: UNPLACED, index } => {
                return self.implicit_of(*index, expr.ty);
            }
            ExprKind::CaseOperand => self.operands.last().copied().unwrap_or(Derived::None),
            // A value that was made of a key has the collation of what the key was made of.
            ExprKind::Call(call) if matches!(call.function, KEY | CLASS | TEXT) => {
                self.of_keyed(&call.args[0])
            }
            ExprKind::Call(call) | ExprKind::NullIf(call) => self.merged(&call.args),
            ExprKind::Cast { expr, .. }
            | ExprKind::Subscript { expr, .. }
            | ExprKind::Assign { expr, .. } => self.derived(expr),
            ExprKind::Coalesce(list)
            | ExprKind::Greatest(list)
            | ExprKind::Least(list)
            | ExprKind::Array { elements: list, .. } => self.merged(list),
            ExprKind::Case { arms, otherwise, .. } => {
                self.merged(arms.iter().map(|(_, result)| result).chain([&**otherwise]))
            }
            ExprKind::Aggregate(call) => self.merged(&call.args),
            ExprKind::Window(call) => self.merged(&call.args),
            ExprKind::Subquery(subquery) => match (&subquery.link, &subquery.plan.columns[..]) {
                (Link::Scalar | Link::Array, [column]) => self.implicit_of(column.id, column.ty),
                _ => Derived::None,
            },
            _ => Derived::None,
        };
        match of_parts {
            Derived::None => self.of_type(expr.ty),
            found => found,
        }
    }

    /// The collation of the text that a key is made of.
    fn of_keyed(&self, key: &Expr) -> Derived {
        match &key.kind {
            ExprKind::Call(call) if matches!(call.function, KEY | CLASS) => {
                self.derived(&call.args[0])
            }
            ExprKind::Column { levels_up: UNPLACED, index } => self.implicit_of(*index, key.ty),
            ExprKind::Aggregate(call) => self.of_keys(&call.args),
            ExprKind::Window(call) => self.of_keys(&call.args),
            ExprKind::Greatest(list) | ExprKind::Least(list) => self.of_keys(list),
            _ => self.derived(key),
        }
    }

    fn of_keys(&self, keys: &[Expr]) -> Derived {
        keys.iter().fold(Derived::None, |found, key| found.and(self.of_keyed(key)))
    }

    /// The collation of a locale that decides about values; none if their bytes do.
    ///
    /// # Errors
    /// `42P22` where they have no one collation.
    pub(super) fn orders_by_locale<'e>(
        &self,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<Option<Collation>> {
        if !self.has_collations {
            return Ok(None);
        }
        self.of_locale(self.merged(exprs), "string comparison")
    }

    fn of_locale(&self, derived: Derived, what: &str) -> Result<Option<Collation>> {
        if let Derived::Conflict(..) | Derived::Indeterminate = derived {
            return Err(indeterminate(what));
        }
        let found = self.names.collation(derived.oid());
        Ok(found.filter(|collation| collation.locale.is_some()))
    }

    /// Puts sort keys in the place of texts that an operator compares, where their bytes do not decide.
    /// Returns the function of the operator for them.
    pub(super) fn compared(
        &mut self,
        function: Oid,
        symbol: &str,
        args: &mut [Expr],
        at: At,
    ) -> Result<Oid> {
        if !self.has_collations {
            return Ok(function);
        }
        let is_equality = matches!(symbol, "=" | "<>");
        if !is_equality && !matches!(symbol, "<" | "<=" | ">" | ">=") {
            if let Some(Use::Search(what)) = used_by(symbol) {
                self.refuse_search(args, what, at)?;
            }
            return Ok(function);
        }
        if args.len() != 2 || !args.iter().all(|arg| self.is_collatable(arg.ty)) {
            return Ok(function);
        }
        let Some(collation) = self.orders_by_locale(&*args)? else { return Ok(function) };
        if is_equality && collation.is_deterministic {
            return Ok(function);
        }
        // For arrays (`= ANY`) the elements are compared.
        let is_array = args.iter().all(|arg| self.facts().element(arg.ty).is_some());
        for arg in args.iter_mut() {
            *arg = self.key_of(arg.clone(), &collation)?;
        }
        let ty = if is_array { Type::BYTEA_ARRAY } else { Type::BYTEA };
        let found = resolve::operator_of(self.names, types::Origins::CORE, symbol, Some(ty), ty)
            .map_err(|error| Error::from(error).at(at))?;
        Ok(found.operator.function)
    }

    /// The function that replaces a call under the collation of its arguments; none if the call stays.
    pub(super) fn called(
        &mut self,
        function: &'static Function,
        args: &mut Vec<Expr>,
        at: At,
    ) -> Result<Oid> {
        if function.name == "pg_collation_for" {
            let ty = args[0].ty;
            if ty != Type::UNKNOWN && !self.is_collatable(ty) {
                let message =
                    format!("collations are not supported by type {}", self.type_name(ty));
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            let name = match self.derived(&args[0]) {
                Derived::Conflict(..) | Derived::Indeterminate | Derived::None => None,
                found => self.names.collation_shown(found.oid()),
            };
            args.push(name.map_or_else(|| Expr::null(Type::TEXT, at), |name| text(&name)));
            return Ok(function.oid);
        }
        if !self.has_collations {
            return Ok(function.oid);
        }
        match used_by(function.name) {
            Some(Use::Search(what)) => self.refuse_search(args, what, at)?,
            Some(Use::Case(own)) if args.len() == 1 && self.is_collatable(args[0].ty) => {
                let what = format!("{}() function", function.name);
                let found = self.of_locale(self.merged(&*args), &what);
                if let Some(locale) =
                    found.map_err(|error| error.at(At::NONE))?.and_then(|c| c.locale)
                {
                    args.push(text(&locale));
                    return Ok(own);
                }
            }
            _ => {}
        }
        Ok(function.oid)
    }

    fn refuse_search(&self, args: &[Expr], what: &str, at: At) -> Result<()> {
        let collation = match self.merged(args) {
            Derived::Conflict(..) => {
                return Err(indeterminate(what));
            }
            found => self.names.collation(found.oid()),
        };
        match collation {
            Some(collation) if !collation.is_deterministic => {
                let message = format!("nondeterministic collations are not supported for {what}");
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at))
            }
            _ => Ok(()),
        }
    }

    fn refuse_equivalence(&self, derived: Derived, at: At) -> Result<()> {
        match self.names.collation(derived.oid()) {
            Some(collation) if !collation.is_deterministic => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "DISTINCT of the values of an aggregate is not supported under nondeterministic collations",
            )
            .hint("Apply COLLATE with a deterministic collation.")
            .at(at)),
            _ => Ok(()),
        }
    }

    /// Checks that values are equal only where they are the same, where they are to be told apart.
    ///
    /// # Errors
    /// `0A000` under a nondeterministic collation, `42P21` where they have no one collation.
    pub(super) fn needs_same_texts(&self, exprs: &[Expr]) -> Result<()> {
        if !self.has_collations {
            return Ok(());
        }
        exprs.iter().try_for_each(|expr| match self.derived(expr) {
            derived @ Derived::Conflict(..) => Err(self.mismatch(derived).at(expr.at)),
            derived => self.refuse_equivalence(derived, expr.at),
        })
    }

    /// The key that orders a value; itself where its bytes do.
    pub(super) fn order_key(&mut self, expr: Expr) -> Result<Expr> {
        Ok(match self.orders_by_locale([&expr])? {
            Some(collation) => {
                self.key_of(expr, &Collation { is_deterministic: true, ..collation })?
            }
            None => expr,
        })
    }

    /// The keys of an order, with sort keys where bytes do not decide.
    pub(super) fn order_keys(&mut self, keys: Vec<SortKey>) -> Result<Vec<SortKey>> {
        if !self.has_collations {
            return Ok(keys);
        }
        let one = |key: SortKey| {
            let derived = self.derived(&key.expr);
            if let Derived::Conflict(..) = derived {
                return Err(self.mismatch(derived).at(key.expr.at));
            }
            Ok(match self.orders_by_locale([&key.expr])? {
                Some(collation) => SortKey { expr: self.key_of(key.expr, &collation)?, ..key },
                None => key,
            })
        };
        keys.into_iter().map(one).collect()
    }

    /// Values by which equality is decided: their classes, where a collation is nondeterministic.
    pub(super) fn equal_keys(&mut self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        let one = |expr: Expr| {
            Ok(match self.orders_by_locale([&expr])? {
                Some(collation) if !collation.is_deterministic => self.key_of(expr, &collation)?,
                _ => expr,
            })
        };
        exprs.into_iter().map(one).collect()
    }

    /// The call that gives the sort key of a text, or those of the texts in an array.
    ///
    /// # Errors
    /// `0A000` for `citext`, whose sort key would have to leave out case.
    pub(super) fn key_of(&self, expr: Expr, collation: &Collation) -> Result<Expr> {
        let Some(locale) = collation.locale.as_deref() else { return Ok(expr) };
        if self.facts().base(self.facts().element(expr.ty).unwrap_or(expr.ty)) == Type::CITEXT {
            let message = "ordering values of citext by the collation of a locale is not supported";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(expr.at));
        }
        let is_array = self.facts().element(expr.ty).is_some();
        let key = sort_key(expr, locale, collation.is_deterministic);
        Ok(if is_array { Expr { ty: Type::BYTEA_ARRAY, ..key } } else { key })
    }

    /// True for strings, and for arrays of strings.
    fn is_collatable(&self, ty: Type) -> bool {
        let element = self.facts().element(ty).unwrap_or(ty);
        self.facts().category(element) == 'S'
    }
}

/// The error where no collation can be told.
fn indeterminate(what: &str) -> Error {
    let message = format!("could not determine which collation to use for {what}");
    Error::new(SqlState::INDETERMINATE_COLLATION, message)
        .hint("Use the COLLATE clause to set the collation explicitly.")
}

fn text(text: &str) -> Expr {
    Expr::of(ExprKind::Const(Datum::text(text)), Type::TEXT, At::NONE)
}

fn call(function: Oid, name: &str, args: Vec<Expr>, ty: Type, at: At) -> Expr {
    let (name, operator, set, variadic) = (name.to_owned(), false, false, false);
    Expr::of(ExprKind::Call(Call { function, name, operator, args, set, variadic }), ty, at)
}

/// The call that gives the sort key of a text by the rules of a locale, as the binder makes it: the key of an index
/// under a collation of that locale.
pub fn sort_key(expr: Expr, locale: &str, is_deterministic: bool) -> Expr {
    let (function, name) = match is_deterministic {
        true => (KEY, "collation_key"),
        false => (CLASS, "collation_class"),
    };
    let at = expr.at;
    call(function, name, vec![expr, text(locale)], Type::BYTEA, at)
}

/// The text and the locale that the sort key of [`sort_key`] is made of, where an expression is one that has the text
/// in it.
pub fn keyed_text(key: &Expr) -> Option<(&Expr, &Expr)> {
    match &key.kind {
        ExprKind::Call(call) if call.function == KEY => match &call.args[..] {
            [text, locale] => Some((text, locale)),
            _ => None,
        },
        _ => None,
    }
}

/// The text, of a type, that a key was made of.
pub(super) fn text_of(key: Expr, ty: Type) -> Expr {
    let at = key.at;
    call(TEXT, "collation_text", vec![key], ty, at)
}

/// True for the call that gives the key of a text.
pub(super) fn is_key(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(call) if matches!(call.function, KEY | CLASS))
}

/// `NULLIF` of two texts, from the call that compares their keys.
pub(super) fn null_if(equal: Call, at: At) -> Result<Expr> {
    let ExprKind::Call(key) = &equal.args[0].kind else {
        return Err(Error::new(SqlState::INTERNAL_ERROR, "a key is no call").at(at));
    };
    let value = key.args[0].clone();
    if walk::is_volatile(&value) {
        let message = "NULLIF of a volatile value is not supported under this collation";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
    }
    let (ty, modifier) = (value.ty, value.modifier);
    let condition = Expr::of(ExprKind::Call(equal), Type::BOOL, at);
    let arms = vec![(condition, Expr { modifier, ..Expr::null(ty, At::NONE) })];
    let kind = ExprKind::Case { operand: None, arms, otherwise: Box::new(value) };
    Ok(Expr { kind, ty, modifier, at })
}

/// Puts a sort key in the place of the argument of `min` or `max`, where its bytes do not decide. Returns
/// the type that the result is then to be made again.
pub(super) fn extreme(
    binder: &mut Binder<'_>,
    name: &str,
    args: &mut [Expr],
    ty: Type,
) -> Result<Option<Type>> {
    let [arg] = args else { return Ok(None) };
    if !matches!(name, "min" | "max") || binder.facts().element(ty).is_some() {
        return Ok(None);
    }
    let key = binder.order_key(arg.clone())?;
    let is_keyed = is_key(&key);
    *arg = key;
    Ok(is_keyed.then_some(ty))
}
