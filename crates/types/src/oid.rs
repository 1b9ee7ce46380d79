//! Object identifiers, and types as the OIDs that name them.
//!
//! ```text
//!   1 .. 16383      built in: PostgreSQL's fixed numbers, which clients know by heart
//!   16384 ..        made by users: enums, domains, composites, tables and arrays of them
//! ```
//!
//! The [`builtin`](crate::builtin) table has the facts about built-in types; a
//! [`TypeSource`](crate::TypeSource) answers for users' types.

use std::fmt;

/// The identity of a catalog object; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Oid(pub u32);

impl Oid {
    /// No object.
    pub const NONE: Oid = Oid(0);
    /// The first number that is given to objects made by users.
    pub const FIRST_USER: Oid = Oid(16384);

    /// True for an object that came with the database.
    pub fn is_builtin(self) -> bool {
        self < Self::FIRST_USER
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({})", self.0)
    }
}

/// A data type, by its OID. The built-in ones are constants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type(pub Oid);

impl Type {
    /// No type: the element type of what is no array, for example.
    pub const NONE: Type = Type(Oid::NONE);

    /// The type with this OID.
    pub const fn from_oid(oid: u32) -> Self {
        Type(Oid(oid))
    }

    /// The OID.
    pub const fn oid(self) -> Oid {
        self.0
    }

    /// True for a type that came with the database.
    pub fn is_builtin(self) -> bool {
        self.0.is_builtin()
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::builtin::facts(*self) {
            Some(facts) => write!(f, "Type({})", facts.name),
            None => write!(f, "Type({})", self.0),
        }
    }
}
