//! The functions, operators and casts of extensions, one module for each extension.
//!
//! They stand in the same registry as the built-in ones. Their numbers say which extension they belong to
//! ([`types::extension`]), and a name is only found where that extension is ([`types::Origins`]). A new extension
//! is a module here, a line in each of the lists below and an entry of [`types::extension::ALL`].

mod btree_gist;
mod citext;
pub(crate) mod hstore;
mod ltree;
mod pgcrypto;
mod statements;
pub mod trgm;
pub mod unaccent;
mod uuid_ossp;

use crate::cast::Cast;
use crate::function::Function;
use crate::names::Columns;
use crate::operators::Operator;

/// The tables of functions.
pub(crate) const FUNCTIONS: &[&[Function]] = &[
    uuid_ossp::TABLE,
    pgcrypto::TABLE,
    pgcrypto::SETS,
    unaccent::TABLE,
    citext::TABLE,
    citext::SETS,
    citext::AGGREGATES,
    hstore::TABLE,
    hstore::SETS,
    ltree::TABLE,
    trgm::TABLE,
    trgm::OF_SESSION,
    btree_gist::TABLE,
    statements::OF_SESSION,
];

/// The tables of operators.
pub(crate) const OPERATORS: &[&[Operator]] = &[
    citext::OPERATORS,
    hstore::OPERATORS,
    ltree::OPERATORS,
    trgm::OPERATORS,
    btree_gist::OPERATORS,
];

/// The tables of casts.
pub(crate) const CASTS: &[&[Cast]] = &[citext::CASTS, hstore::CASTS];

/// The names of arguments, by the number of the function.
pub(crate) const ARGUMENTS: &[(u32, &[&str])] =
    &[(14343, &["namespace", "name"]), (14345, &["namespace", "name"]), statements::ARGUMENTS];

/// The columns of functions that return rows.
pub(crate) const COLUMNS: &[(u32, Columns)] = &[(14627, KEY_AND_VALUE), (15412, KEY_AND_VALUE)];

const KEY_AND_VALUE: Columns = &[("key", types::Type::TEXT), ("value", types::Type::TEXT)];

/// True if one of two types is of `ltree`, or an array of such.
pub(crate) fn is_of_tree(left: types::Type, right: types::Type) -> bool {
    let ltree = types::extension::named("ltree");
    [left, right].into_iter().any(|ty| ltree.is_some() && types::extension::of(ty.oid()) == ltree)
}
