//! The extensions that a database can have: their list, and the extension of each object.
//!
//! Functions, operators and types of an extension stand in the same tables as the built-in ones, under numbers
//! of the extension:
//!
//! ```text
//!   14336 .. 14591      uuid-ossp       0x3800 .. 0x38FF
//!   14592 .. 14847      pgcrypto        0x3900 .. 0x39FF
//!   ...                                 256 numbers for each extension, from its `first` on
//!    8192 ..  8447      btree_gin       0x2000 .. 0x20FF
//! ```
//!
//! So the number of an object says which extension it belongs to ([`of`]). A database has an extension once
//! `CREATE EXTENSION` made an entry of the catalog; names of its objects are found where the schema of that entry
//! is looked in. [`Origins`] is such a set of places: what is built in, and some extensions.
//!
//! The numbers are part of stored rows and texts and never change. An extension is only appended to [`ALL`].

use crate::Oid;

/// The numbers among which those of extensions are.
const ALL_NUMBERS: std::ops::Range<u32> = 0x2000..0x4000;
/// How many numbers an extension has.
const EACH: u32 = 256;

/// An extension that a database can have.
#[derive(Debug, PartialEq, Eq)]
pub struct Extension {
    /// The name.
    pub name: &'static str,
    /// The version, which is that of PostgreSQL 17's.
    pub version: &'static str,
    /// The comment that it comes with.
    pub comment: &'static str,
    /// True if a role with `CREATE` on the database may make it without being a superuser.
    pub is_trusted: bool,
    /// The first of its numbers.
    first: u32,
}

/// PL/pgSQL, which every database has from the start, in `pg_catalog`.
pub const PLPGSQL: Extension = Extension {
    name: "plpgsql",
    version: "1.0",
    comment: "PL/pgSQL procedural language",
    is_trusted: true,
    // It has no objects, so it has no range of numbers.
    first: 0,
};

/// The number of [`PLPGSQL`], as PostgreSQL 17 gives it.
pub const PLPGSQL_OID: Oid = Oid(13_569);

/// All extensions.
pub static ALL: [Extension; 11] = [
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        comment: "generate universally unique identifiers (UUIDs)",
        is_trusted: true,
        first: 0x3800,
    },
    Extension {
        name: "pgcrypto",
        version: "1.3",
        comment: "cryptographic functions",
        is_trusted: true,
        first: 0x3900,
    },
    Extension {
        name: "unaccent",
        version: "1.1",
        comment: "text search dictionary that removes accents",
        is_trusted: true,
        first: 0x3A00,
    },
    Extension {
        name: "citext",
        version: "1.6",
        comment: "data type for case-insensitive character strings",
        is_trusted: true,
        first: 0x3B00,
    },
    Extension {
        name: "hstore",
        version: "1.8",
        comment: "data type for storing sets of (key, value) pairs",
        is_trusted: true,
        first: 0x3C00,
    },
    Extension {
        name: "pg_trgm",
        version: "1.6",
        comment: "text similarity measurement and index searching based on trigrams",
        is_trusted: true,
        first: 0x3D00,
    },
    Extension {
        name: "btree_gin",
        version: "1.3",
        comment: "support for indexing common datatypes in GIN",
        is_trusted: true,
        first: 0x2000,
    },
    Extension {
        name: "btree_gist",
        version: "1.7",
        comment: "support for indexing common datatypes in GiST",
        is_trusted: true,
        first: 0x2100,
    },
    Extension {
        name: "bloom",
        version: "1.0",
        comment: "bloom access method - signature file based index",
        is_trusted: false,
        first: 0x2200,
    },
    Extension {
        name: "ltree",
        version: "1.3",
        comment: "data type for hierarchical tree-like structures",
        is_trusted: true,
        first: 0x3E00,
    },
    Extension {
        name: "pg_stat_statements",
        version: "1.11",
        comment: "track planning and execution statistics of all SQL statements executed",
        is_trusted: false,
        first: 0x2300,
    },
];

/// The numbers of the views `pg_stat_statements` and `pg_stat_statements_info`.
pub const STATEMENTS: Oid = Oid(0x2300);
/// See [`STATEMENTS`].
pub const STATEMENTS_INFO: Oid = Oid(0x2302);

/// The number in `pg_am` of the access method of `bloom`.
pub const BLOOM: Oid = Oid(0x2200);

/// The operator classes of extensions that an index keeps by name: number, name, and access method.
pub const CLASSES: [(Oid, &str, &str); 32] = [
    (Oid(15_242), "citext_pattern_ops", "btree"),
    (Oid(15_840), "gin_trgm_ops", "gin"),
    (Oid(8192), "int2_ops", "gin"),
    (Oid(8193), "int4_ops", "gin"),
    (Oid(8194), "int8_ops", "gin"),
    (Oid(8195), "float4_ops", "gin"),
    (Oid(8196), "float8_ops", "gin"),
    (Oid(8197), "oid_ops", "gin"),
    (Oid(8198), "timestamp_ops", "gin"),
    (Oid(8199), "timestamptz_ops", "gin"),
    (Oid(8200), "time_ops", "gin"),
    (Oid(8201), "timetz_ops", "gin"),
    (Oid(8202), "date_ops", "gin"),
    (Oid(8203), "interval_ops", "gin"),
    (Oid(8204), "macaddr_ops", "gin"),
    (Oid(8205), "macaddr8_ops", "gin"),
    (Oid(8206), "inet_ops", "gin"),
    (Oid(8207), "cidr_ops", "gin"),
    (Oid(8208), "text_ops", "gin"),
    (Oid(8209), "varchar_ops", "gin"),
    (Oid(8210), "char_ops", "gin"),
    (Oid(8211), "bytea_ops", "gin"),
    (Oid(8212), "bit_ops", "gin"),
    (Oid(8213), "varbit_ops", "gin"),
    (Oid(8214), "numeric_ops", "gin"),
    (Oid(8215), "enum_ops", "gin"),
    (Oid(8216), "uuid_ops", "gin"),
    (Oid(8217), "name_ops", "gin"),
    (Oid(8218), "bool_ops", "gin"),
    (Oid(8219), "bpchar_ops", "gin"),
    (Oid(8705), "int4_ops", "bloom"),
    (Oid(8706), "text_ops", "bloom"),
];

/// One of [`CLASSES`] by its name, for an access method.
pub fn class_named(name: &str, method: &str) -> Option<&'static (Oid, &'static str, &'static str)> {
    CLASSES.iter().find(|(_, known, of)| *known == name && *of == method)
}

impl Extension {
    /// The numbers of its objects.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        self.first..self.first + EACH
    }
}

/// The extension with this name.
pub fn named(name: &str) -> Option<&'static Extension> {
    ALL.iter().find(|extension| extension.name == name)
}

/// The place in [`ALL`] of the extension that an object belongs to.
fn place_of(object: Oid) -> Option<usize> {
    if !ALL_NUMBERS.contains(&object.0) {
        return None;
    }
    ALL.iter().position(|extension| extension.first == object.0 / EACH * EACH)
}

/// The extension that an object belongs to; none for what is built in or made by users.
pub fn of(object: Oid) -> Option<&'static Extension> {
    place_of(object).map(|at| &ALL[at])
}

/// Where functions, operators and types with a name are looked for: what is built in, and some extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origins(u32);

impl Origins {
    /// Nowhere.
    pub const NONE: Origins = Origins(0);
    /// Among what is built in.
    pub const CORE: Origins = Origins(1);

    /// The same, and an extension.
    #[must_use]
    pub fn with(self, extension: &Extension) -> Origins {
        let at = ALL.iter().position(|known| known == extension);
        at.map_or(self, |at| Origins(self.0 | 2 << at))
    }

    /// The same, and another set.
    #[must_use]
    pub fn and(self, other: Origins) -> Origins {
        Origins(self.0 | other.0)
    }

    /// True if an object is among them.
    pub fn has(self, object: Oid) -> bool {
        self.0 & place_of(object).map_or(1, |at| 2 << at) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of an object says whose it is, and a set of origins has it or not.
    #[test]
    fn objects_belong_to_extensions() {
        for extension in &ALL {
            let numbers = extension.numbers();
            let (first, last) = (Oid(numbers.start), Oid(numbers.end - 1));
            assert_eq!([of(first), of(last)], [Some(extension); 2]);
            let origins = Origins::CORE.with(extension);
            assert!(origins.has(first) && origins.has(last) && origins.has(Oid(25)));
            assert!(!Origins::CORE.has(first) && !Origins::NONE.with(extension).has(Oid(25)));
            assert_eq!(named(extension.name), Some(extension));
        }
        assert!(of(Oid(ALL_NUMBERS.start - 1)).is_none() && of(Oid::FIRST_USER).is_none());
    }
}
