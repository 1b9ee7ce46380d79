//! Which object is meant: by its number, and by the places where a text of SQL names it.
//!
//! A default, a check or a view is kept as text. Names in it would go stale when what they name is
//! renamed; so a text knows the places of its names, and a rename writes the new name there.
//!
//! ```text
//!   CHECK (price > 0 AND kind = 'a'::color)
//!          ^^^^^         ^^^^        ^^^^^     (7, 5) column 2 of table 16390
//!                                              (21, 4) column 3 of table 16390
//!                                              (32, 5) type 16384
//! ```

use std::sync::Arc;

use types::Oid;

/// The kind of object that an OID names: the system catalog that PostgreSQL keeps it in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// A relation (`pg_class`), or with a sub-number one of its columns.
    Relation = 1,
    /// A type (`pg_type`).
    Type = 2,
    /// A constraint (`pg_constraint`).
    Constraint = 3,
    /// The default of a column (`pg_attrdef`).
    Default = 4,
    /// A schema (`pg_namespace`).
    Schema = 5,
    /// A role (`pg_authid`).
    Role = 6,
    /// A database (`pg_database`).
    Database = 7,
    /// A membership in a role (`pg_auth_members`).
    Membership = 8,
    /// Privileges that future objects get (`pg_default_acl`).
    DefaultAcl = 9,
    /// An extension (`pg_extension`).
    Extension = 10,
    /// A function of an extension (`pg_proc`).
    Function = 11,
    /// An operator of an extension (`pg_operator`).
    Operator = 12,
    /// An operator class of an extension (`pg_opclass`).
    OperatorClass = 13,
    /// A collation (`pg_collation`).
    Collation = 14,
    /// A policy of row-level security (`pg_policy`).
    Policy = 15,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 15] = [
        Class::Relation,
        Class::Type,
        Class::Constraint,
        Class::Default,
        Class::Schema,
        Class::Role,
        Class::Database,
        Class::Membership,
        Class::DefaultAcl,
        Class::Extension,
        Class::Function,
        Class::Operator,
        Class::OperatorClass,
        Class::Collation,
        Class::Policy,
    ];

    /// The OID of the system catalog: `classid` of `pg_depend` and `pg_description`.
    pub fn oid(self) -> Oid {
        Oid(match self {
            Class::Relation => 1259,
            Class::Type => 1247,
            Class::Constraint => 2606,
            Class::Default => 2604,
            Class::Schema => 2615,
            Class::Role => 1260,
            Class::Database => 1262,
            Class::Membership => 1261,
            Class::DefaultAcl => 826,
            Class::Extension => 3079,
            Class::Function => 1255,
            Class::Operator => 2617,
            Class::OperatorClass => 2616,
            Class::Collation => 3456,
            Class::Policy => 3256,
        })
    }
}

/// An object, or a part of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    /// The kind of the object.
    pub class: Class,
    /// Which.
    pub oid: Oid,
    /// The number of a column of a relation; 0 for the whole object.
    pub sub: i16,
}

impl Address {
    /// A whole object.
    pub const fn of(class: Class, oid: Oid) -> Self {
        Address { class, oid, sub: 0 }
    }

    /// A relation.
    pub const fn relation(oid: Oid) -> Self {
        Self::of(Class::Relation, oid)
    }

    /// A column of a relation.
    pub const fn column(relation: Oid, attnum: i16) -> Self {
        Address { class: Class::Relation, oid: relation, sub: attnum }
    }

    /// The whole object that this is, or is a part of.
    pub const fn whole(self) -> Self {
        Address { sub: 0, ..self }
    }
}

/// A text of SQL (an expression or a query), and the objects that it depends on.
///
/// It is read with an empty search path: names of objects outside `pg_catalog` have their schema.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SqlText {
    /// The text.
    pub text: Arc<str>,
    /// Where it names objects by identifiers that a rename changes; in the order of the places.
    pub names: Vec<NamePlace>,
    /// The other objects that it depends on, without naming them: by their number, or through `*`.
    pub depends: Vec<Address>,
}

/// A place in a text where an identifier stands for an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamePlace {
    /// The offset of the identifier, quotes included, in bytes.
    pub at: u32,
    /// Its length, in bytes.
    pub len: u32,
    /// The object that it names. For a schema in front of a name this is the schema.
    pub object: Address,
}

impl SqlText {
    /// A text that depends on nothing.
    pub fn plain(text: &str) -> Self {
        SqlText { text: text.into(), ..Self::default() }
    }

    /// Everything it depends on; some may come more than once.
    pub fn references(&self) -> impl Iterator<Item = Address> + '_ {
        self.names.iter().map(|place| place.object).chain(self.depends.iter().copied())
    }

    /// The same text where `object` is called `name`.
    pub fn renamed(&self, object: Address, name: &str) -> SqlText {
        self.with_names(|place, _| (place.object == object).then(|| (object, name.into())))
    }

    /// The same text, which names these objects too: of each where its name is, how long that is, and the alias
    /// that it gets if it is an output.
    pub fn naming(&self, found: &[(NamePlace, Option<Arc<str>>)]) -> SqlText {
        let mut all: Vec<(NamePlace, Option<Arc<str>>)> =
            self.names.iter().map(|place| (*place, None)).collect();
        for (place, alias) in found {
            if !self.names.iter().any(|known| known.at == place.at) {
                all.push((*place, alias.clone()));
            }
        }
        all.sort_by_key(|(place, _)| place.at);
        let mut text = String::with_capacity(self.text.len());
        let (mut names, mut done) = (Vec::with_capacity(all.len()), 0);
        for (place, alias) in all {
            let end = (place.at + place.len) as usize;
            let at = (text.len() + place.at as usize - done) as u32;
            text.push_str(&self.text[done..end]);
            names.push(NamePlace { at, ..place });
            if let Some(alias) = alias {
                text.push_str(" AS ");
                text.push_str(&scalar::quote::identifier(&alias));
            }
            done = end;
        }
        text.push_str(&self.text[done..]);
        SqlText { text: text.into(), names, depends: self.depends.clone() }
    }

    /// The same text where `object` has moved from schema `from` to schema `to`, called `name`.
    pub fn moved(&self, object: Address, from: Oid, to: Oid, name: &str) -> SqlText {
        let schema = |oid| Address::of(Class::Schema, oid);
        self.with_names(|place, next| {
            let is_before = next.is_some_and(|next| next.object == object);
            (place.object == schema(from) && is_before).then(|| (schema(to), name.into()))
        })
    }

    /// The same text with other names in the places that `other` says, which sees each place and the
    /// one after it.
    fn with_names(
        &self,
        other: impl Fn(&NamePlace, Option<&NamePlace>) -> Option<(Address, Arc<str>)>,
    ) -> SqlText {
        let mut text = String::with_capacity(self.text.len());
        let mut names = Vec::with_capacity(self.names.len());
        let mut done = 0;
        for (index, place) in self.names.iter().enumerate() {
            let (from, to) = (place.at as usize, (place.at + place.len) as usize);
            text.push_str(&self.text[done..from]);
            let at = text.len() as u32;
            let object = match other(place, self.names.get(index + 1)) {
                Some((object, name)) => {
                    text.push_str(&scalar::quote::identifier(&name));
                    object
                }
                None => {
                    text.push_str(&self.text[from..to]);
                    place.object
                }
            };
            names.push(NamePlace { at, len: text.len() as u32 - at, object });
            done = to;
        }
        text.push_str(&self.text[done..]);
        SqlText { text: text.into(), names, depends: self.depends.clone() }
    }
}
