//! All functions, by name and by number.

use std::collections::HashMap;
use std::sync::LazyLock;

use types::Oid;

use crate::function::Function;
use crate::{
    aggregate, array, bits, bytes, collation, comparison, datetime, decimal, enums, extension,
    float, fulltext, geometry, hash, input, integer, json, jsonb, money, network, order, overlap,
    pattern, quote, random, range, regex, series, server, session, size, snapshot, string,
    template, trigonometry, unicode, uuid, window,
};

/// The tables, one for each subject.
const TABLES: &[&[Function]] = &[
    array::TABLE,
    array::SETS,
    bits::COMPARISONS,
    bits::TABLE,
    bytes::TABLE,
    collation::TABLE,
    comparison::TABLE,
    datetime::TABLE,
    datetime::SETS,
    decimal::TABLE,
    enums::TABLE,
    float::TABLE,
    fulltext::TABLE,
    fulltext::SETS,
    geometry::TABLE,
    hash::TABLE,
    input::TABLE,
    integer::TABLE,
    json::TABLE,
    json::SETS,
    json::make::TABLE,
    json::path::TABLE,
    json::path::SETS,
    json::populate::TABLE,
    json::populate::SETS,
    jsonb::TABLE,
    jsonb::SETS,
    money::TABLE,
    network::COMPARISONS,
    network::TABLE,
    order::TABLE,
    overlap::TABLE,
    pattern::TABLE,
    quote::TABLE,
    random::TABLE,
    range::TABLE,
    range::SETS,
    regex::TABLE,
    regex::SETS,
    series::TABLE,
    server::TABLE,
    server::PAST,
    session::TABLE,
    size::TABLE,
    snapshot::TABLE,
    snapshot::SETS,
    string::TABLE,
    string::SETS,
    template::TABLE,
    trigonometry::TABLE,
    unicode::TABLE,
    uuid::TABLE,
    window::TABLE,
];

/// The functions with this name.
pub fn functions(name: &str) -> &'static [&'static Function] {
    static BY_NAME: LazyLock<HashMap<&str, Vec<&Function>>> = LazyLock::new(|| {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        all().for_each(|function| by_name.entry(function.name).or_default().push(function));
        by_name
    });
    BY_NAME.get(name).map(Vec::as_slice).unwrap_or_default()
}

/// The function with this number.
pub fn function(oid: Oid) -> Option<&'static Function> {
    static BY_OID: LazyLock<HashMap<Oid, &Function>> =
        LazyLock::new(|| all().map(|function| (function.oid, function)).collect());
    BY_OID.get(&oid).copied()
}

/// All functions, subject by subject.
pub fn all() -> impl Iterator<Item = &'static Function> {
    let tables = TABLES.iter().chain(aggregate::TABLES).chain(extension::FUNCTIONS);
    tables.copied().flatten()
}
