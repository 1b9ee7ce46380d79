//! The functions that read and write the forms of types: `int4in`, `array_out`, `uuid_send`. No
//! statement calls them, but `pg_type` names them, and drivers tell arrays by `array_in`.

use std::collections::HashMap;
use std::sync::LazyLock;

use types::Oid;

struct Known {
    by_name: HashMap<&'static str, Oid>,
    by_oid: HashMap<Oid, &'static str>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let lines = include_str!("forms.txt").lines().filter(|line| !line.starts_with('#'));
    let known = lines.filter_map(|line| {
        let (number, name) = line.split_once(' ')?;
        Some((name, Oid(number.parse().ok()?)))
    });
    let by_name: HashMap<&'static str, Oid> = known.collect();
    let by_oid = by_name.iter().map(|(name, oid)| (*oid, *name)).collect();
    Known { by_name, by_oid }
});

/// The number of the function with this name.
pub fn oid_of(name: &str) -> Option<Oid> {
    KNOWN.by_name.get(name).copied()
}

/// The name of the function with this number.
pub fn name_of(oid: Oid) -> Option<&'static str> {
    KNOWN.by_oid.get(&oid).copied()
}
