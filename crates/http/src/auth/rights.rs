//! Rights: the operations that a caller may use, in all collections or in one.
//!
//! ```text
//!   view            read documents and their past, in all collections
//!   orders-modify   change documents of the collection `orders`
//! ```

use std::collections::BTreeMap;
use std::fmt;

/// One right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    View,
    Create,
    Modify,
    Delete,
}

const ALL: [Right; 4] = [Right::View, Right::Create, Right::Modify, Right::Delete];

impl Right {
    fn name(self) -> &'static str {
        match self {
            Right::View => "view",
            Right::Create => "create",
            Right::Modify => "modify",
            Right::Delete => "delete",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRole(String);

impl fmt::Display for BadRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadRole(text) = self;
        write!(
            f,
            "{text:?} is not a right: view, create, modify, delete, or COLLECTION-view and so on"
        )
    }
}

impl std::error::Error for BadRole {}

/// The rights of a caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    everywhere: u8,
    of: BTreeMap<String, u8>,
}

impl Rights {
    /// Everything.
    pub fn all() -> Rights {
        let everywhere = ALL.iter().map(|right| right.bit()).sum();
        Rights { everywhere, of: BTreeMap::new() }
    }

    /// Adds a right: `view`, `create`, `modify`, `delete`, or one of these after the name of a
    /// collection and a hyphen.
    ///
    /// # Errors
    /// Fails if the text is not a right.
    pub fn add(&mut self, role: &str) -> Result<(), BadRole> {
        let (collection, name) = match role.rsplit_once('-') {
            Some((collection, name)) => (Some(collection), name),
            None => (None, role),
        };
        let right = ALL.into_iter().find(|right| right.name() == name);
        let right = right.filter(|_| collection != Some("")).ok_or(BadRole(role.to_owned()))?;
        match collection {
            None => self.everywhere |= right.bit(),
            Some(collection) => *self.of.entry(collection.to_owned()).or_default() |= right.bit(),
        }
        Ok(())
    }

    /// The roles, those for all collections first.
    pub fn roles(&self) -> Vec<String> {
        let named = |bits: u8| ALL.into_iter().filter(move |right| bits & right.bit() != 0);
        let everywhere = named(self.everywhere).map(|right| right.to_string());
        let of = self.of.iter();
        let of =
            of.flat_map(|(name, bits)| named(*bits).map(move |right| format!("{name}-{right}")));
        everywhere.chain(of).collect()
    }

    /// True if these rights have one in a collection, or in all where none is named.
    pub(crate) fn allow(&self, right: Right, collection: Option<&str>) -> bool {
        let of = collection.and_then(|name| self.of.get(name)).copied().unwrap_or(0);
        (self.everywhere | of) & right.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A right in one collection is none in another, and a collection's name may have hyphens.
    #[test]
    fn roles() {
        let mut rights = Rights::default();
        for role in ["view", "my-orders-modify", "my-orders-delete"] {
            rights.add(role).expect(role);
        }
        assert!(rights.allow(Right::View, Some("any")) && rights.allow(Right::View, None));
        assert!(rights.allow(Right::Modify, Some("my-orders")));
        assert!(!rights.allow(Right::Modify, Some("orders")) && !rights.allow(Right::Modify, None));
        assert!(!rights.allow(Right::Create, Some("my-orders")));
        assert_eq!(rights.roles(), ["view", "my-orders-modify", "my-orders-delete"]);
        for bad in ["", "admin", "-view", "orders-", "View"] {
            assert!(rights.add(bad).is_err(), "{bad}");
        }
    }
}
