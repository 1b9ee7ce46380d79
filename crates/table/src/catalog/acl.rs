//! Privileges: the rights of roles on an object, and the roles that gave them.
//!
//! ```text
//!   {alice=arwdDxtm/alice, bob=r*/alice, =r/alice}      all letters to alice, r with grant option to
//!                                                       bob, r to everybody (PUBLIC)
//! ```

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

use types::Oid;

/// A set of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Privileges(pub u16);

/// The letters of the privileges and their names, in the order of their bits.
const NAMES: [(char, &str); 15] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
    ('m', "MAINTAIN"),
];

impl Privileges {
    /// No privilege.
    pub const NONE: Privileges = Privileges(0);
    /// Add rows.
    pub const INSERT: Privileges = Privileges(1);
    /// Read.
    pub const SELECT: Privileges = Privileges(1 << 1);
    /// Change rows.
    pub const UPDATE: Privileges = Privileges(1 << 2);
    /// Remove rows.
    pub const DELETE: Privileges = Privileges(1 << 3);
    /// Remove all rows at once.
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    /// Refer to it by foreign keys.
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    /// Put triggers on it.
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    /// Call it.
    pub const EXECUTE: Privileges = Privileges(1 << 7);
    /// Use it: a schema's names, a type, a sequence.
    pub const USAGE: Privileges = Privileges(1 << 8);
    /// Make objects in it.
    pub const CREATE: Privileges = Privileges(1 << 9);
    /// Make temporary tables in it.
    pub const TEMPORARY: Privileges = Privileges(1 << 10);
    /// Connect to it.
    pub const CONNECT: Privileges = Privileges(1 << 11);
    /// Vacuum, analyse, reindex, lock it.
    pub const MAINTAIN: Privileges = Privileges(1 << 14);
    /// All that there are on tables.
    pub const ALL_TABLE: Privileges = Privileges(0b0100_0000_0111_1111);
    /// All that there are on single columns.
    pub const ALL_COLUMN: Privileges = Privileges(0b0010_0111);
    /// All that there are on sequences.
    pub const ALL_SEQUENCE: Privileges = Privileges(0b1_0000_0110);
    /// All that there are on databases.
    pub const ALL_DATABASE: Privileges = Privileges(0b1110_0000_0000);
    /// All that there are on schemas.
    pub const ALL_SCHEMA: Privileges = Privileges(0b11_0000_0000);

    /// True if nothing is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if all of `other` is in the set.
    pub fn contains(self, other: Privileges) -> bool {
        self & other == other
    }

    /// The privilege with this name, in any case: `SELECT`, `TEMP`.
    pub fn named(name: &str) -> Option<Privileges> {
        let name = if name.eq_ignore_ascii_case("TEMP") { "TEMPORARY" } else { name };
        let at = NAMES.iter().position(|(_, known)| known.eq_ignore_ascii_case(name))?;
        Some(Privileges(1 << at))
    }

    /// The privilege with this letter.
    pub fn of_letter(letter: char) -> Option<Privileges> {
        let at = NAMES.iter().position(|(known, _)| *known == letter)?;
        Some(Privileges(1 << at))
    }

    /// Each privilege in the set, with its name.
    pub fn each(self) -> impl Iterator<Item = (Privileges, &'static str)> {
        (0..NAMES.len())
            .map(|at| (Privileges(1 << at), NAMES[at].1))
            .filter(move |(privilege, _)| self.contains(*privilege))
    }

    /// The names of the privileges in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        (0..NAMES.len()).filter(move |at| self.0 & 1 << at != 0).map(|at| NAMES[at].1)
    }
}

impl BitOr for Privileges {
    type Output = Privileges;
    fn bitor(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;
    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}

impl Not for Privileges {
    type Output = Privileges;
    fn not(self) -> Privileges {
        Privileges(!self.0)
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NAMES
            .iter()
            .enumerate()
            .filter(|(at, _)| self.0 & 1 << at != 0)
            .try_for_each(|(_, (letter, _))| write!(f, "{letter}"))
    }
}

/// The privileges that one role has given to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AclItem {
    /// The role that has them; none for everybody.
    pub grantee: Oid,
    /// The role that gave them.
    pub grantor: Oid,
    /// The privileges.
    pub privileges: Privileges,
    /// The privileges among them that the grantee may give on.
    pub grantable: Privileges,
}

/// All that was given on an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Acl(pub Vec<AclItem>);

impl Acl {
    /// Returns the privileges that are given to `grantee` alone (not by way of PUBLIC or of roles
    /// that it is a member of).
    pub fn of(&self, grantee: Oid) -> Privileges {
        let own = self.0.iter().filter(|item| item.grantee == grantee);
        own.fold(Privileges::NONE, |all, item| all | item.privileges)
    }

    /// The same with `privileges` given by `grantor` to `grantee`.
    pub fn grant(&mut self, item: AclItem) {
        let same =
            |known: &&mut AclItem| known.grantee == item.grantee && known.grantor == item.grantor;
        match self.0.iter_mut().find(same) {
            Some(known) => {
                known.privileges = known.privileges | item.privileges;
                known.grantable = known.grantable | item.grantable;
            }
            None => self.0.push(item),
        }
    }

    /// The same without what `grantor` gave to `grantee`: the privileges, or only the right to give
    /// them on.
    pub fn revoke(
        &mut self,
        grantee: Oid,
        grantor: Oid,
        privileges: Privileges,
        only_grant_option: bool,
    ) {
        for item in &mut self.0 {
            if item.grantee == grantee && item.grantor == grantor {
                item.grantable = item.grantable & !privileges;
                if !only_grant_option {
                    item.privileges = item.privileges & !privileges;
                }
            }
        }
        self.0.retain(|item| !item.privileges.is_empty());
    }

    /// The text of an item, as `aclitem` has it: `bob=r*w/alice`.
    pub fn text_of(item: &AclItem, name_of: &dyn Fn(Oid) -> String) -> String {
        let mut text =
            if item.grantee == Oid::NONE { String::new() } else { name_of(item.grantee) };
        text.push('=');
        for (at, (letter, _)) in NAMES.iter().enumerate() {
            let bit = Privileges(1 << at);
            if item.privileges.contains(bit) {
                text.push(*letter);
                if item.grantable.contains(bit) {
                    text.push('*');
                }
            }
        }
        text.push('/');
        text.push_str(&name_of(item.grantor));
        text
    }
}
