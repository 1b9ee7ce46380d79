//! Names of tables, types and other objects, as one transaction finds them.

use std::sync::Arc;

use sql::bind::Relation;
use types::{Builtins, Objects, Oid, Result, Shape, Type, TypeSource};

/// The catalog at one moment, seen along a search path.
#[derive(Debug, Default)]
pub struct Names;

impl TypeSource for Names {
    fn shape(&self, ty: Type) -> Option<Shape> {
        Builtins.shape(ty)
    }

    fn name(&self, ty: Type) -> Option<String> {
        TypeSource::name(&Builtins, ty)
    }

    fn array_of(&self, ty: Type) -> Option<Type> {
        Builtins.array_of(ty)
    }
}

impl Objects for Names {
    fn oid(&self, class: Type, name: &str) -> Result<Oid> {
        Builtins.oid(class, name)
    }

    fn name(&self, class: Type, oid: Oid) -> Option<String> {
        Objects::name(&Builtins, class, oid)
    }
}

impl sql::bind::Names for Names {
    fn relation(&self, _: Option<&str>, _: &str) -> Option<Arc<Relation>> {
        None
    }

    fn user_type(&self, _: Option<&str>, _: &str) -> Option<Type> {
        None
    }

    fn has_schema(&self, name: &str) -> bool {
        matches!(name, "public" | "pg_catalog" | "information_schema")
    }
}
