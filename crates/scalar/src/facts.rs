//! The facts about a type that the rules of resolution need, for built-in types and those of users
//! alike.

use types::{Shape, Type, TypeSource, builtin};

/// The facts of types, as resolution asks for them.
#[derive(Clone, Copy)]
pub struct Facts<'a>(pub &'a dyn TypeSource);

impl Facts<'_> {
    /// The letter of the category: `N` numbers, `S` strings, `E` enums, `A` arrays ...
    pub fn category(self, ty: Type) -> char {
        match builtin::facts(ty) {
            Some(facts) => facts.category,
            None => match self.0.shape(ty) {
                Some(Shape::Array(_)) => 'A',
                Some(Shape::Enum(_)) => 'E',
                Some(Shape::Composite(_)) => 'C',
                Some(Shape::Range(_) | Shape::Multirange(_)) => 'R',
                Some(Shape::Domain(base, _)) => self.category(base),
                Some(Shape::Scalar(_)) | None => 'U',
            },
        }
    }

    /// True for the type of a category that others are cast to when there is a choice.
    pub fn is_preferred(self, ty: Type) -> bool {
        builtin::facts(ty).is_some_and(|facts| facts.is_preferred())
    }

    /// The type that a domain is made of, through all layers; any other type itself.
    pub fn base(self, ty: Type) -> Type {
        match self.user_shape(ty) {
            Some(Shape::Domain(base, _)) => self.base(base),
            _ => ty,
        }
    }

    /// The type of the elements of an array type, also under a domain.
    pub fn element(self, ty: Type) -> Option<Type> {
        match builtin::facts(ty) {
            Some(facts) => (facts.is_array()
                || facts.element != Type::NONE && facts.category == 'A')
                .then_some(facts.element),
            None => match self.0.shape(ty) {
                Some(Shape::Array(element)) => Some(element),
                Some(Shape::Domain(base, _)) => self.element(base),
                _ => None,
            },
        }
    }

    /// True for the array types proper, without `int2vector` and `oidvector`.
    pub fn is_true_array(self, ty: Type) -> bool {
        match builtin::facts(ty) {
            Some(facts) => facts.is_array(),
            None => matches!(self.0.shape(ty), Some(Shape::Array(_))),
        }
    }

    /// The type of arrays of this type.
    pub fn array_of(self, ty: Type) -> Option<Type> {
        match builtin::facts(ty) {
            Some(facts) => (facts.array != Type::NONE).then_some(facts.array),
            None => self.0.array_of(ty),
        }
    }

    /// Returns the type of the bounds of a range type, also under a domain.
    pub fn bounds(self, ty: Type) -> Option<Type> {
        match self.0.shape_of(self.base(ty)) {
            Ok(Shape::Range(element)) => Some(element),
            _ => None,
        }
    }

    /// Returns the range type of a multirange type, also under a domain.
    pub fn range_of(self, ty: Type) -> Option<Type> {
        match self.0.shape_of(self.base(ty)) {
            Ok(Shape::Multirange(range)) => Some(range),
            _ => None,
        }
    }

    /// Returns the type of multiranges of a range type.
    pub fn multirange_of(self, range: Type) -> Option<Type> {
        let builtin = builtin::RANGES.iter().find(|facts| facts.range == range);
        match builtin {
            Some(facts) => Some(facts.multirange),
            None => self.0.multirange_of(range),
        }
    }

    /// True for enum types.
    pub fn is_enum(self, ty: Type) -> bool {
        matches!(self.user_shape(self.base(ty)), Some(Shape::Enum(_)))
    }

    /// True for composite types with a name.
    pub fn is_composite(self, ty: Type) -> bool {
        matches!(self.user_shape(self.base(ty)), Some(Shape::Composite(_)))
    }

    /// The name of a type in SQL.
    pub fn name(self, ty: Type) -> String {
        self.0.name_of(ty)
    }

    fn user_shape(self, ty: Type) -> Option<Shape> {
        if ty.is_builtin() { None } else { self.0.shape(ty) }
    }
}
