//! The operators: symbol, types of the operands and of the result, and the function behind it.
//!
//! The numbers are those of PostgreSQL's `pg_operator` and `pg_proc`. A prefix operator has no left
//! operand. Commutators and negators follow from the symbols and are not written down.

mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use types::geometry::is_geometric;
use types::{Oid, Type};

use crate::{extension, geometry};
use table::TABLE;

/// One entry of `pg_operator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operator {
    /// The number that `pg_operator` has for it.
    pub oid: Oid,
    /// The symbol.
    pub name: &'static str,
    /// The type of the left operand; [`Type::NONE`] for a prefix operator.
    pub left: Type,
    /// The type of the right operand.
    pub right: Type,
    /// The type of the result.
    pub ret: Type,
    /// The function that computes it.
    pub function: Oid,
}

impl Operator {
    /// The operator that gives the same with its operands exchanged: `>` for `<`.
    pub fn commutator(&self) -> Option<&'static Operator> {
        let name = match self.name {
            // Addresses have no commutators of these in PostgreSQL's catalog.
            "&" | "|" if is_address(self.left) => return None,
            "&&" if self.left == Type::TSQUERY => return None,
            // Values in the plane have some that others lack, and none for their sides.
            "<<" | ">>" if is_geometric(self.right) => return None,
            "#" | "?#" if matches!(self.left, Type::BOX | Type::PATH) => return None,
            same @ ("~=" | "<->" | "?#" | "?-" | "?|" | "?-|" | "?||" | "*" | "+" | "#")
                if is_geometric(self.right) =>
            {
                same
            }
            // Of numbers and strings of bits these are shifts.
            "<<" if self.ret == Type::BOOL => ">>",
            ">>" if self.ret == Type::BOOL => "<<",
            "<<=" => ">>=",
            ">>=" => "<<=",
            "<" => ">",
            ">" => "<",
            "<=" => ">=",
            ">=" => "<=",
            "@>" => "<@",
            "<@" => "@>",
            "#<#" => "#>#",
            "#>#" => "#<#",
            "#<=#" => "#>=#",
            "#>=#" => "#<=#",
            "~<~" if self.left == Type::CITEXT => "~>~",
            "~>~" if self.left == Type::CITEXT => "~<~",
            "~<=~" if self.left == Type::CITEXT => "~>=~",
            "~>=~" if self.left == Type::CITEXT => "~<=~",
            "<%" => "%>",
            "%>" => "<%",
            "<<%" => "%>>",
            "%>>" => "<<%",
            "<<->" => "<->>",
            "<->>" => "<<->",
            "<<<->" => "<->>>",
            "<->>>" => "<<<->",
            same @ ("%" | "<->") if self.left == Type::TEXT => same,
            same @ ("@" | "~" | "?" | "^@" | "^~" | "^?")
                if extension::is_of_tree(self.left, self.right) =>
            {
                same
            }
            "^@>" => "^<@",
            "^<@" => "^@>",
            "@@" if self.left != self.right => "@@",
            "@@@" => "@@@",
            same @ ("=" | "<>" | "*" | "&&" | "&" | "|" | "#" | "+" | "-|-") => same,
            _ => return None,
        };
        let found = find(name, self.right, self.left)?;
        // Sums are symmetric where the table has both directions; `date + time` has.
        (found.ret == self.ret).then_some(found)
    }

    /// The operator that gives the opposite truth value: `>=` for `<`.
    pub fn negator(&self) -> Option<&'static Operator> {
        let name = match self.name {
            _ if self.left == Type::PATH => return None,
            "<" => ">=",
            ">" => "<=",
            "<=" => ">",
            ">=" => "<",
            "=" => "<>",
            "<>" if self.left == Type::POINT => "~=",
            "~=" if self.left == Type::POINT => "<>",
            "<>" => "=",
            "#<#" => "#>=#",
            "#>=#" => "#<#",
            "#>#" => "#<=#",
            "#<=#" => "#>#",
            "~~" => "!~~",
            "!~~" => "~~",
            "~~*" => "!~~*",
            "!~~*" => "~~*",
            "~" if self.ret == Type::BOOL => "!~",
            "!~" => "~",
            "~*" => "!~*",
            "!~*" => "~*",
            _ => return None,
        };
        find(name, self.left, self.right)
    }
}

/// True for the types whose values are addresses.
fn is_address(ty: Type) -> bool {
    matches!(ty, Type::INET | Type::MACADDR | Type::MACADDR8)
}

/// The operators of this symbol, of any operands.
pub fn named(name: &str) -> &'static [Operator] {
    static BY_NAME: LazyLock<HashMap<&str, &[Operator]>> = LazyLock::new(|| {
        all().chunk_by(|a, b| a.name == b.name).map(|same| (same[0].name, same)).collect()
    });
    BY_NAME.get(name).copied().unwrap_or_default()
}

/// The operator of this symbol for exactly these operands.
pub fn find(name: &str, left: Type, right: Type) -> Option<&'static Operator> {
    named(name).iter().find(|operator| operator.left == left && operator.right == right)
}

/// The operator with this number.
pub fn by_oid(oid: Oid) -> Option<&'static Operator> {
    static BY_OID: LazyLock<HashMap<Oid, &Operator>> =
        LazyLock::new(|| all().iter().map(|operator| (operator.oid, operator)).collect());
    BY_OID.get(&oid).copied()
}

/// All operators, those of one symbol together.
pub fn all() -> &'static [Operator] {
    static ALL: LazyLock<Vec<Operator>> = LazyLock::new(|| {
        let of_extensions = extension::OPERATORS.iter().copied().flatten();
        let of_core = TABLE.iter().chain(geometry::OPERATORS);
        let mut all: Vec<Operator> = of_core.chain(of_extensions).copied().collect();
        all.sort_by_key(|operator| operator.name);
        all
    });
    &ALL
}

macro_rules! operators {
    ($($name:literal { $($oid:literal $left:ident $right:ident -> $ret:ident = $function:literal;)* })*) => {
        &[$($($crate::operators::Operator {
            oid: types::Oid($oid),
            name: $name,
            left: types::Type::$left,
            right: types::Type::$right,
            ret: types::Type::$ret,
            function: types::Oid($function),
        },)*)*]
    };
}

pub(crate) use operators;
