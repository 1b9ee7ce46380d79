//! The tables of functions, operators and casts agree with PostgreSQL's catalog.

use std::collections::{HashMap, HashSet};

use scalar::{Eval, Volatility, cast, operators, registry};
use types::{Type, builtin};

fn name(ty: Type) -> &'static str {
    builtin::facts(ty).map_or("none", |facts| facts.name)
}

fn repr(ty: Type) -> Option<types::Repr> {
    builtin::facts(ty).and_then(|facts| facts.repr)
}

/// Every signature agrees with the row of the same number, down to volatility and strictness.
#[test]
fn signatures_are_those_of_the_catalog() {
    let rows: HashMap<u32, &str> = include_str!("pg_proc.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| (line.split('\t').next().unwrap().parse().unwrap(), line))
        .collect();
    let mut seen = HashSet::new();
    let mut wrong = Vec::new();
    // Those from 8000 on are not PostgreSQL's.
    for function in registry::all().filter(|function| function.oid.0 < 8_000) {
        assert!(seen.insert(function.oid), "{} is listed twice", function.oid);
        let letter = |holds| if holds { "t" } else { "f" };
        let kind = match function.eval {
            Eval::Aggregate(_) => "a",
            Eval::Window => "w",
            _ => "f",
        };
        let volatility = match function.volatility {
            Volatility::Immutable => "i",
            Volatility::Stable => "s",
            Volatility::Volatile => "v",
        };
        let args: Vec<_> = function.args.iter().map(|ty| name(*ty)).collect();
        let line = [
            &function.oid.to_string(),
            function.name,
            kind,
            volatility,
            letter(function.strict),
            letter(function.set),
            letter(function.variadic),
            &function.defaults.len().to_string(),
            name(function.ret),
            &args.join(" "),
        ]
        .join("\t");
        let expected = rows.get(&function.oid.0).copied().unwrap_or("no such function");
        if line != expected {
            wrong.push(format!("{line}\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(seen.len() > 800);
}

/// Each operator has the types of its function, and a commutator and a negator undo themselves.
#[test]
fn operators_fit_their_functions() {
    let mut missing = Vec::new();
    for operator in operators::all() {
        let Some(function) = registry::function(operator.function) else {
            missing.push(format!("{} {}", operator.name, operator.function));
            continue;
        };
        let args: Vec<_> =
            [operator.left, operator.right].into_iter().filter(|ty| *ty != Type::NONE).collect();
        assert_eq!((function.args, function.ret), (&args[..], operator.ret), "{operator:?}");
        for back in [operator.commutator(), operator.negator()].into_iter().flatten() {
            let again = [back.commutator(), back.negator()];
            assert!(again.contains(&Some(operator)), "{operator:?} and {back:?}");
        }
    }
    assert!(missing.is_empty(), "{} operators compute nothing: {missing:?}", missing.len());
}

/// Each cast by a function has one that takes the one type and gives the other.
#[test]
fn casts_fit_their_functions() {
    let mut missing = Vec::new();
    for cast in cast::all() {
        let cast::CoercionPath::Function(oid) = cast.how() else { continue };
        match registry::function(oid) {
            None => missing.push(format!("{} -> {} {oid}", name(cast.source), name(cast.target))),
            // A cast between types with the same bits needs no function of its own: any of the
            // kinds of OID.
            Some(function) => {
                let bits = |ty| match repr(ty) {
                    Some(types::Repr::Oid) => Some(types::Repr::Int4),
                    other => other,
                };
                assert_eq!(bits(function.ret), bits(cast.target), "{cast:?}");
            }
        }
    }
    assert!(missing.is_empty(), "{} casts do nothing: {missing:?}", missing.len());
}
