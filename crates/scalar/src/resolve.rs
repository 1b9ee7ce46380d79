//! Resolution: the choice among the functions or operators of a name.
//!
//! ```text
//!   types of the arguments ──> exact match ─────────────────────────────────> that one
//!                         └──> those that every argument can become, implicitly
//!                                1. most arguments of exactly the type
//!                                2. most exact or of the preferred type of their category
//!                                3. unknown literals: strings win, else the one category there is
//!                                4. unknown literals are what the known arguments all are ──> it
//! ```
//!
//! A literal in quotes is `unknown` until it is known where it goes. After each step the best are
//! kept; the rules end as soon as one is left.

use types::{Error, Origins, Result, SqlState, Type, TypeSource};

use crate::cast::{self, CoercionContext};
use crate::facts::Facts;
use crate::function::Function;
use crate::operators::{self, Operator};
use crate::polymorphic;
use crate::registry;

/// A call of a function, resolved.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The function.
    pub function: &'static Function,
    /// The type that each given argument is to be cast to, implicitly.
    pub args: Vec<Type>,
    /// True if the last arguments, from the place of the declared array on, are elements of it,
    /// and are to be gathered into one.
    pub gathered: bool,
    /// The type of the result.
    pub ret: Type,
}

/// The meaning of a name with arguments.
#[derive(Debug, Clone)]
pub enum Called {
    /// A call of a function.
    Function(Resolved),
    /// A cast to a type, written as a call: `text(5)`, `date('2020-01-01')`.
    Cast(Type),
}

/// A call of an operator, resolved.
#[derive(Debug, Clone)]
pub struct ResolvedOperator {
    /// The operator.
    pub operator: &'static Operator,
    /// The type that the left operand is to be cast to; [`Type::NONE`] for a prefix operator.
    pub left: Type,
    /// The type that the right operand is to be cast to.
    pub right: Type,
    /// The type of the result.
    pub ret: Type,
}

/// One of several functions or operators to choose from.
struct Candidate<T> {
    what: T,
    /// The declared type for each given argument.
    args: Vec<Type>,
    gathered: bool,
}

/// Finds the built-in function that a call means. `spread` says that the last argument was marked
/// `VARIADIC`, and is the array itself.
///
/// # Errors
/// 42883 where there is none, 42725 where there are several.
pub fn function(types: &dyn TypeSource, name: &str, args: &[Type], spread: bool) -> Result<Called> {
    function_of(types, types.origins(), name, args, spread)
}

/// The same among the functions of some origins.
///
/// # Errors
/// As [`function`].
pub fn function_of(
    types: &dyn TypeSource,
    origins: Origins,
    name: &str,
    args: &[Type],
    spread: bool,
) -> Result<Called> {
    let facts = Facts(types);
    let candidates: Vec<_> = registry::functions(name)
        .iter()
        .filter(|function| origins.has(function.oid))
        .filter_map(|function| fitting(function, args.len(), spread))
        .collect();
    if let Some(exact) = candidates.iter().position(|candidate| candidate.args == args) {
        return Ok(Called::Function(finish(facts, candidates, exact, args)?));
    }
    if let [only] = args
        && !spread
        && let Some(target) = types::builtin::by_name_in(name, origins)
        && is_cast(facts, *only, target.ty)
    {
        return Ok(Called::Cast(target.ty));
    }
    match choose(facts, &candidates, args) {
        Choice::One(at) => Ok(Called::Function(finish(facts, candidates, at, args)?)),
        Choice::None => Err(undefined(
            format!("function {}", signature(facts, name, args)),
            "does not exist",
            SqlState::UNDEFINED_FUNCTION,
            "No function matches the given name and argument types. You might need to add \
             explicit type casts.",
        )),
        Choice::Many => Err(undefined(
            format!("function {}", signature(facts, name, args)),
            "is not unique",
            SqlState::AMBIGUOUS_FUNCTION,
            "Could not choose a best candidate function. You might need to add explicit type \
             casts.",
        )),
    }
}

/// Returns what the name of a type of users means when it is called as a function: the making of a range or a
/// multirange, or another spelling of a cast; `None` if it takes no such arguments. `spread` is as for [`function`].
pub fn constructor(
    types: &dyn TypeSource,
    ty: Type,
    args: &[Type],
    spread: bool,
) -> Option<Called> {
    let range = range_constructor(types, ty, args, spread).map(Called::Function);
    range.or_else(|| match args {
        [only] if !spread && is_cast(Facts(types), *only, ty) => Some(Called::Cast(ty)),
        _ => None,
    })
}

fn range_constructor(
    types: &dyn TypeSource,
    ty: Type,
    args: &[Type],
    spread: bool,
) -> Option<Resolved> {
    let facts = Facts(types);
    // The functions of one built-in type have the same bodies, which look at the type of the result.
    let (name, wanted, gathered) = if let Some(element) = facts.bounds(ty) {
        ("int4range", [element, element, Type::TEXT].get(..args.len())?.to_vec(), false)
    } else {
        let range = facts.range_of(ty)?;
        let wanted = match spread {
            true => vec![facts.array_of(range)?],
            false => vec![range; args.len()],
        };
        ("int4multirange", wanted, args.len() > 1)
    };
    let count = if gathered || spread { 1 } else { wanted.len() };
    let function = registry::functions(name).iter().find(|function| {
        function.args.len() == count && function.variadic == (gathered || spread)
    })?;
    let fits = |(actual, wanted): (&Type, &Type)| {
        *actual == Type::UNKNOWN
            || cast::find(facts, *actual, *wanted, CoercionContext::Implicit).is_some()
    };
    let all_fit = args.len() == wanted.len() && args.iter().zip(&wanted).all(fits);
    all_fit.then_some(Resolved { function, args: wanted, gathered, ret: ty })
}

/// True if `name(argument)` is another spelling of a cast: the type must take the value as it
/// is, or be reached through a text form from an unknown literal.
fn is_cast(facts: Facts<'_>, source: Type, target: Type) -> bool {
    use cast::CoercionPath;
    if source == Type::UNKNOWN {
        return true;
    }
    match cast::find(facts, source, target, CoercionContext::Explicit) {
        Some(CoercionPath::Relabel) => true,
        Some(CoercionPath::InOut) => {
            !(facts.is_composite(source) || source == Type::RECORD) || facts.category(target) != 'S'
        }
        _ => false,
    }
}

/// The declared types for so many arguments, where the function takes that many.
fn fitting(
    function: &'static Function,
    count: usize,
    spread: bool,
) -> Option<Candidate<&'static Function>> {
    let declared = function.args;
    if function.variadic && !spread && declared.last() != Some(&Type::ANY) {
        // Any number of elements in the place of the array, but at least one.
        let fixed = declared.len() - 1;
        if count > fixed {
            let element = element_of_variadic(declared[fixed])?;
            let mut args = declared[..fixed].to_vec();
            args.resize(count, element);
            return Some(Candidate { what: function, args, gathered: true });
        }
        return None;
    }
    if function.variadic && !spread {
        let mut args = declared.to_vec();
        if count < args.len() {
            return None;
        }
        args.resize(count, Type::ANY);
        return Some(Candidate { what: function, args, gathered: false });
    }
    let least = declared.len() - function.defaults.len();
    (least..=declared.len()).contains(&count).then(|| Candidate {
        what: function,
        args: declared[..count].to_vec(),
        gathered: false,
    })
}

fn element_of_variadic(array: Type) -> Option<Type> {
    match array {
        Type::ANYARRAY => Some(Type::ANYELEMENT),
        Type::ANYCOMPATIBLEARRAY => Some(Type::ANYCOMPATIBLE),
        array => types::builtin::facts(array).map(|facts| facts.element),
    }
}

fn finish(
    facts: Facts<'_>,
    mut candidates: Vec<Candidate<&'static Function>>,
    at: usize,
    args: &[Type],
) -> Result<Resolved> {
    let Candidate { what: function, args: declared, gathered } = candidates.swap_remove(at);
    let (args, ret) = polymorphic::enforce(facts, args, &declared, function.ret)?;
    Ok(Resolved { function, args, gathered, ret })
}

/// Finds the operator that is meant; `left` is `None` for a prefix operator.
///
/// # Errors
/// 42883 where there is none, 42725 where there are several.
pub fn operator(
    types: &dyn TypeSource,
    name: &str,
    left: Option<Type>,
    right: Type,
) -> Result<ResolvedOperator> {
    operator_of(types, types.origins(), name, left, right)
}

/// The same among the operators of some origins.
///
/// # Errors
/// As [`operator`].
pub fn operator_of(
    types: &dyn TypeSource,
    origins: Origins,
    name: &str,
    left: Option<Type>,
    right: Type,
) -> Result<ResolvedOperator> {
    let facts = Facts(types);
    let args: Vec<Type> = left.into_iter().chain([right]).collect();
    let found = exact_operator(facts, name, left, right);
    let found = found.filter(|operator| origins.has(operator.oid));
    let candidates: Vec<_> = operators::named(name)
        .iter()
        .filter(|operator| (operator.left == Type::NONE) == left.is_none())
        .filter(|operator| origins.has(operator.oid))
        .map(|operator| Candidate {
            what: operator,
            args: left.map(|_| operator.left).into_iter().chain([operator.right]).collect(),
            gathered: false,
        })
        .collect();
    let choice = match found {
        Some(exact) => {
            let at = candidates.iter().position(|candidate| candidate.what == exact);
            at.map_or(Choice::None, Choice::One)
        }
        None => choose(facts, &candidates, &args),
    };
    let written = || {
        let left = left.map_or(String::new(), |left| format!("{} ", facts.name(left)));
        format!("operator {left}{name} {}", facts.name(right))
    };
    let hint = match left {
        Some(_) => {
            "No operator matches the given name and argument types. You might need to add \
             explicit type casts."
        }
        None => {
            "No operator matches the given name and argument type. You might need to add an \
             explicit type cast."
        }
    };
    // "operator does not exist: integer + boolean" has its verb in front.
    let about = |state, verb: &str, hint: &str| {
        let written = written();
        let operands = written.trim_start_matches("operator ");
        Error::new(state, format!("operator {verb}: {operands}")).with_hint(hint)
    };
    match choice {
        Choice::One(at) => {
            let candidate = &candidates[at];
            let (types, ret) =
                polymorphic::enforce(facts, &args, &candidate.args, candidate.what.ret)?;
            let (left, right) = match types[..] {
                [left, right] => (left, right),
                _ => (Type::NONE, types[0]),
            };
            Ok(ResolvedOperator { operator: candidate.what, left, right, ret })
        }
        Choice::None => Err(about(SqlState::UNDEFINED_FUNCTION, "does not exist", hint)),
        Choice::Many => Err(about(
            SqlState::AMBIGUOUS_FUNCTION,
            "is not unique",
            "Could not choose a best candidate operator. You might need to add explicit type \
             casts.",
        )),
    }
}

/// The operator for exactly these operands, where an unknown one is what the other is.
fn exact_operator(
    facts: Facts<'_>,
    name: &str,
    left: Option<Type>,
    right: Type,
) -> Option<&'static Operator> {
    let Some(left) = left else {
        return operators::find(name, Type::NONE, right)
            .or_else(|| operators::find(name, Type::NONE, facts.base(right)));
    };
    let (left, right) = match (left, right) {
        (Type::UNKNOWN, Type::UNKNOWN) => (left, right),
        (Type::UNKNOWN, known) => (known, known),
        (known, Type::UNKNOWN) => (known, known),
        both => both,
    };
    operators::find(name, left, right).or_else(|| {
        let bases = (facts.base(left), facts.base(right));
        if bases == (left, right) { None } else { operators::find(name, bases.0, bases.1) }
    })
}

/// The result of the rules.
enum Choice {
    None,
    One(usize),
    Many,
}

/// Chooses among candidates by the steps in the head of this module.
fn choose<T>(facts: Facts<'_>, candidates: &[Candidate<T>], args: &[Type]) -> Choice {
    let mut left: Vec<usize> = (0..candidates.len())
        .filter(|at| can_become(facts, args, &candidates[*at].args, CoercionContext::Implicit))
        .collect();
    match left[..] {
        [] => return Choice::None,
        [one] => return Choice::One(one),
        _ => {}
    }
    let bases: Vec<Type> = args.iter().map(|arg| facts.base(*arg)).collect();
    let known = |arg: &Type| *arg != Type::UNKNOWN;
    let declared = |at: usize, arg: usize| candidates[at].args[arg];

    let most = |left: &mut Vec<usize>, fits: &dyn Fn(Type, Type) -> bool| {
        let score = |at: &usize| {
            let args = bases.iter().zip(&candidates[*at].args);
            args.filter(|(arg, declared)| known(arg) && fits(**arg, **declared)).count()
        };
        let best = left.iter().map(score).max().unwrap_or(0);
        left.retain(|at| score(at) == best);
    };
    most(&mut left, &|arg, declared| arg == declared);
    if let [one] = left[..] {
        return Choice::One(one);
    }
    most(&mut left, &|arg, declared| {
        arg == declared
            || facts.is_preferred(declared) && facts.category(declared) == facts.category(arg)
    });
    if let [one] = left[..] {
        return Choice::One(one);
    }

    let unknown: Vec<usize> = (0..bases.len()).filter(|arg| !known(&bases[*arg])).collect();
    if unknown.is_empty() {
        return Choice::Many;
    }
    // For each unknown argument a category, and whether a preferred type of it is to be had.
    let slots: Option<Vec<(usize, char, bool)>> = unknown
        .iter()
        .map(|&arg| {
            let category = |at: &usize| facts.category(declared(*at, arg));
            let first = category(&left[0]);
            let chosen = if left.iter().any(|at| category(at) == 'S') {
                'S'
            } else if left.iter().all(|at| category(at) == first) {
                first
            } else {
                return None;
            };
            let preferred = left.iter().any(|at| {
                let ty = declared(*at, arg);
                facts.category(ty) == chosen && facts.is_preferred(ty)
            });
            Some((arg, chosen, preferred))
        })
        .collect();
    if let Some(slots) = slots {
        let fits = |at: &usize| {
            slots.iter().all(|(arg, category, preferred)| {
                let ty = declared(*at, *arg);
                facts.category(ty) == *category && (!preferred || facts.is_preferred(ty))
            })
        };
        if left.iter().any(fits) {
            left.retain(fits);
        }
        if let [one] = left[..] {
            return Choice::One(one);
        }
    }

    let mut types = bases.iter().copied().filter(known);
    if let Some(first) = types.next()
        && types.all(|ty| ty == first)
    {
        let same = vec![first; args.len()];
        let mut fitting = left.iter().filter(|at| {
            can_become(facts, &same, &candidates[**at].args, CoercionContext::Implicit)
        });
        if let (Some(one), None) = (fitting.next(), fitting.next()) {
            return Choice::One(*one);
        }
    }
    Choice::Many
}

/// True if every actual type becomes the declared one, in a context.
pub fn can_become(
    facts: Facts<'_>,
    actual: &[Type],
    declared: &[Type],
    when: CoercionContext,
) -> bool {
    let mut polymorphic = false;
    for (&actual, &declared) in actual.iter().zip(declared) {
        if polymorphic::is_polymorphic(declared) {
            polymorphic = true;
            continue;
        }
        let takes_all = actual == declared || declared == Type::ANY || actual == Type::UNKNOWN;
        if !takes_all && cast::find(facts, actual, declared, when).is_none() {
            return false;
        }
    }
    !polymorphic || polymorphic::is_consistent(facts, actual, declared)
}

/// The type that values of several types become together: in `CASE`, `UNION`, `VALUES`, `ARRAY`
/// and `COALESCE`. `context` is what the error calls it: `CASE`, `UNION`.
///
/// # Errors
/// 42804 where there is none.
pub fn common_type(facts: Facts<'_>, types: &[Type], context: &str) -> Result<Type> {
    if let Some(first) = types.first()
        && *first != Type::UNKNOWN
        && types.iter().all(|ty| ty == first)
    {
        return Ok(*first);
    }
    let mut chosen = Type::UNKNOWN;
    for &ty in types {
        let ty = facts.base(ty);
        if ty == Type::UNKNOWN || ty == chosen {
            continue;
        }
        if chosen == Type::UNKNOWN {
            chosen = ty;
            continue;
        }
        if facts.category(ty) != facts.category(chosen) {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "{context} types {} and {} cannot be matched",
                    facts.name(chosen),
                    facts.name(ty)
                ),
            ));
        }
        let becomes = |from, to| cast::find(facts, from, to, CoercionContext::Implicit).is_some();
        if !facts.is_preferred(chosen) && becomes(chosen, ty) && !becomes(ty, chosen) {
            chosen = ty;
        }
    }
    Ok(if chosen == Type::UNKNOWN { Type::TEXT } else { chosen })
}

/// A call as errors write it: `f(integer, unknown)`.
fn signature(facts: Facts<'_>, name: &str, args: &[Type]) -> String {
    let args: Vec<String> = args.iter().map(|arg| facts.name(*arg)).collect();
    format!("{name}({})", args.join(", "))
}

fn undefined(what: String, verb: &str, state: SqlState, hint: &str) -> Error {
    Error::new(state, format!("{what} {verb}")).with_hint(hint)
}
