//! Context: all inputs of a conversion between forms, other than the value and its type.
//!
//! ```text
//!   Context ── style      DateStyle, TimeZone ...           the session
//!           ── now        'now', 'today', age(x)            the transaction
//!           ── types      labels of an enum, columns of a composite type, the base of a domain
//!           ── domains    the constraints of domains
//!           ── objects    'pg_class'::regclass and back
//! ```
//!
//! The catalog implements [`TypeSource`] and [`Objects`]; [`Builtins`] is the catalog of a database
//! in which nobody has made anything. A session implements [`Domains`], because checks are
//! expressions: [`Context::as_domain`] is the one place where a value becomes a value of a domain.

use std::sync::Arc;

use crate::time::TimestampTz;
use crate::{
    Coercion, Datum, DatumRef, EnumOrder, Error, Facts, Modifier, Oid, Origins, Repr, Result,
    SqlState, Style, Type, builtin, extension,
};

/// The context of a conversion.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The session's settings.
    pub style: &'a Style,
    /// The start of the transaction.
    pub now: TimestampTz,
    /// The types that users made.
    pub types: &'a dyn TypeSource,
    /// The constraints of domains. [`Builtins`] checks none: it is for values that are only written.
    pub domains: &'a dyn Domains,
    /// The names of objects.
    pub objects: &'a dyn Objects,
}

/// Where the facts of the types made by users come from.
pub trait TypeSource {
    /// How values of a user's type are made; `None` if there is no such type.
    fn shape(&self, ty: Type) -> Option<Shape>;

    /// The name of a user's type as SQL writes it: quoted where needed, with its schema where the
    /// search path would not find it.
    fn name(&self, ty: Type) -> Option<String>;

    /// The type of arrays of a user's type; `None` if there is none.
    fn array_of(&self, ty: Type) -> Option<Type>;

    /// The type of multiranges of a user's range type; `None` if there is none.
    fn multirange_of(&self, range: Type) -> Option<Type>;

    /// Where functions and operators are looked for that are named without a schema.
    fn origins(&self) -> Origins {
        Origins::CORE
    }
}

/// Names of objects, for the types that hold an OID and show a name: `regclass` and the like.
pub trait Objects {
    /// The OID of the object that `name` finds, for a value of type `class`.
    ///
    /// # Errors
    /// PostgreSQL's error where there is none, or more than one.
    fn oid(&self, class: Type, name: &str) -> Result<Oid>;

    /// The name of an object as a value of type `class` shows it.
    fn name(&self, class: Type, oid: Oid) -> Option<String>;
}

/// The constraints of domains.
pub trait Domains {
    /// Checks a value of the base type against the constraints of a domain and of all domains below
    /// it.
    ///
    /// # Errors
    /// 23502 and 23514 where a constraint refuses the value; whatever a check reports.
    fn check(&self, domain: Type, value: DatumRef<'_>) -> Result<()>;
}

/// How values of a type are made.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A single value of a built-in type.
    Scalar(Repr),
    /// Any number of elements of the type.
    Array(Type),
    /// One of a list of labels.
    Enum(Arc<EnumLabels>),
    /// A value of the base type, with a modifier; [`Domains`] checks its constraints.
    Domain(Type, Modifier),
    /// A row with these columns.
    Composite(Arc<[Field]>),
    /// The values between two bounds of this type.
    Range(Type),
    /// Any number of ranges of this type.
    Multirange(Type),
}

/// A column of a composite type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// The name, as it is in the catalog.
    pub name: Arc<str>,
    /// The type.
    pub ty: Type,
    /// Its modifier.
    pub modifier: Modifier,
}

/// The labels of an enum type, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnumLabels(Vec<(EnumOrder, Arc<str>)>);

impl EnumLabels {
    /// The type with these labels, in any order.
    pub fn new(mut labels: Vec<(EnumOrder, Arc<str>)>) -> Self {
        labels.sort_by_key(|(order, _)| *order);
        Self(labels)
    }

    /// The label at a place.
    pub fn label(&self, order: EnumOrder) -> Option<&Arc<str>> {
        self.0.binary_search_by_key(&order, |(order, _)| *order).ok().map(|at| &self.0[at].1)
    }

    /// The place of a label.
    pub fn order(&self, label: &str) -> Option<EnumOrder> {
        self.0.iter().find(|(_, known)| **known == *label).map(|(order, _)| *order)
    }

    /// The labels in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (EnumOrder, &Arc<str>)> {
        self.0.iter().map(|(order, label)| (*order, label))
    }
}

impl<'a> Context<'a> {
    /// A context without the types and objects of users, for which `now` is 2000-01-01 00:00 UTC.
    pub fn new(style: &'a Style) -> Self {
        let builtins = &Builtins;
        Self { style, now: TimestampTz(0), types: builtins, domains: builtins, objects: builtins }
    }

    /// A value of the base type as a value of a domain: fitted to the modifier of the domain, and
    /// checked. NULL too, which some domains refuse.
    ///
    /// # Errors
    /// 23502 and 23514 where a constraint refuses the value, 22001 and its like where it does not
    /// fit.
    pub fn as_domain(&self, domain: Type, value: Datum, how: Coercion) -> Result<Datum> {
        let (base, modifier) = self.types.base_of(domain);
        let value = modifier.apply(value, base, how)?;
        self.domains.check(domain, value.as_ref())?;
        Ok(value)
    }

    /// NULL as a value of a type.
    ///
    /// # Errors
    /// 23502 and 23514 where the type is a domain that refuses it.
    pub fn null_of(&self, ty: Type) -> Result<Datum> {
        if self.types.is_domain(ty) {
            self.domains.check(ty, DatumRef::Null)?;
        }
        Ok(Datum::Null)
    }
}

impl dyn TypeSource + '_ {
    /// How values of any type are made.
    ///
    /// # Errors
    /// 42704 for an OID that is no type; 0A000 for pseudo-types, which have no values.
    pub fn shape_of(&self, ty: Type) -> Result<Shape> {
        if let Some(facts) = builtin::facts(ty) {
            return match facts.repr {
                Some(Repr::Array) => Ok(Shape::Array(facts.element)),
                Some(Repr::Range) => Ok(Shape::Range(builtin::range(ty).element)),
                Some(Repr::Multirange) => Ok(Shape::Multirange(builtin::range(ty).range)),
                Some(repr) => Ok(Shape::Scalar(repr)),
                None => Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("cannot accept a value of type {}", facts.name),
                )),
            };
        }
        self.shape(ty).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_OBJECT, format!("type with OID {} does not exist", ty.0))
        })
    }

    /// How values of any type are held.
    ///
    /// # Errors
    /// As [`TypeSource::shape_of`].
    pub fn repr_of(&self, ty: Type) -> Result<Repr> {
        Ok(match self.shape_of(ty)? {
            Shape::Scalar(repr) => repr,
            Shape::Array(_) => Repr::Array,
            Shape::Enum(_) => Repr::Enum,
            Shape::Domain(base, _) => return self.repr_of(base),
            Shape::Composite(_) => Repr::Record,
            Shape::Range(_) => Repr::Range,
            Shape::Multirange(_) => Repr::Multirange,
        })
    }

    /// True for a domain.
    pub fn is_domain(&self, ty: Type) -> bool {
        !ty.is_builtin() && matches!(self.shape(ty), Some(Shape::Domain(..)))
    }

    /// The type that a domain is made of, through all layers, and its modifier; any other type
    /// itself, without one.
    pub fn base_of(&self, ty: Type) -> (Type, Modifier) {
        let mut found = (ty, Modifier::NONE);
        while !found.0.is_builtin()
            && let Some(Shape::Domain(base, modifier)) = self.shape(found.0)
        {
            found = (base, modifier);
        }
        found
    }

    /// The type of the bounds of a range type.
    ///
    /// # Errors
    /// As [`TypeSource::shape_of`]; XX000 for a type that is no range.
    pub fn bounds_of(&self, range: Type) -> Result<Type> {
        match self.shape_of(range)? {
            Shape::Range(element) => Ok(element),
            _ => Err(Error::new(
                SqlState::INTERNAL_ERROR,
                format!("type {} is not a range type", self.name_of(range)),
            )),
        }
    }

    /// The name of any type in SQL, without a modifier; `???` for an OID that is no type.
    pub fn name_of(&self, ty: Type) -> String {
        let named = extension::of(ty.oid()).and_then(|_| self.name(ty));
        match builtin::facts(ty) {
            Some(facts) => named.unwrap_or_else(|| facts.sql_name()),
            None => self.name(ty).unwrap_or_else(|| "???".to_owned()),
        }
    }
}

/// No types and no objects other than the built-in ones.
#[derive(Clone, Copy, Debug)]
pub struct Builtins;

impl TypeSource for Builtins {
    fn shape(&self, _: Type) -> Option<Shape> {
        None
    }

    fn name(&self, _: Type) -> Option<String> {
        None
    }

    fn array_of(&self, _: Type) -> Option<Type> {
        None
    }

    fn multirange_of(&self, _: Type) -> Option<Type> {
        None
    }
}

impl Domains for Builtins {
    fn check(&self, _: Type, _: DatumRef<'_>) -> Result<()> {
        Ok(())
    }
}

impl Objects for Builtins {
    /// Types are found by their names in the catalog and in SQL.
    fn oid(&self, class: Type, name: &str) -> Result<Oid> {
        let found = match class {
            Type::REGTYPE => builtin::all()
                .iter()
                .find(|facts| facts.name == name || facts.sql_name() == name)
                .map(|facts| facts.ty.oid()),
            _ => None,
        };
        found.ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_OBJECT, format!("\"{name}\" does not exist"))
        })
    }

    fn name(&self, class: Type, oid: Oid) -> Option<String> {
        match class {
            Type::REGTYPE => builtin::facts(Type(oid)).map(Facts::sql_name),
            _ => None,
        }
    }
}
