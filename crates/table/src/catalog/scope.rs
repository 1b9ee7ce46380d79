//! [`Scope`]: the catalog as one session sees it, along its search path. Names in messages are made
//! here: with their schema where the path would not find them.

use types::{Modifier, Oid, Shape, Type, TypeSource, builtin, extension, format_type};

use super::bootstrap::PG_CATALOG;
use super::{
    Address, Catalog, Class, ConstraintOn, Relation, RelationKind, TypeEntry, UserTypeKind,
};

/// A catalog, seen from a database along a search path.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The catalog.
    pub catalog: &'a Catalog,
    /// The database that the session is connected to.
    pub database: Oid,
    /// The schemas of the search path, in its order. Where `pg_catalog` is not among them it comes
    /// first.
    pub path: &'a [Oid],
}

impl<'a> Scope<'a> {
    /// The schemas where a name is looked for: the one that is given, or those of the path.
    fn schemas(self, schema: Option<&str>) -> impl Iterator<Item = Oid> + use<'a> {
        let given = schema.map(|name| self.catalog.schema_named(self.database, name));
        let path = if given.is_none() { self.path } else { &[] };
        given.flatten().map(|schema| schema.oid).into_iter().chain(path.iter().copied())
    }

    /// The relation with this name, in this schema or along the path.
    pub fn relation(
        self,
        schema: Option<&str>,
        name: &str,
    ) -> Option<&'a std::sync::Arc<Relation>> {
        self.schemas(schema).find_map(|schema| self.catalog.relation_named(schema, name))
    }

    /// The type of users with this name, in this schema or along the path.
    pub fn user_type(self, schema: Option<&str>, name: &str) -> Option<Type> {
        self.schemas(schema).find_map(|schema| {
            let of_extension = || self.catalog.extension_type_named(schema, name);
            self.catalog.type_named(schema, name).or_else(of_extension)
        })
    }

    /// True if the path finds a relation by its bare name: `pg_table_is_visible`.
    pub fn is_relation_visible(self, relation: &Relation) -> bool {
        self.relation(None, &relation.name).is_some_and(|found| found.oid == relation.oid)
    }

    /// True if the path finds a type by its bare name: `pg_type_is_visible`.
    pub fn is_type_visible(self, ty: Type) -> bool {
        let Some(entry) = self.catalog.type_entry(ty) else {
            return match builtin::facts(ty) {
                Some(_) if extension::of(ty.oid()).is_none() => true,
                Some(facts) => self.user_type(None, facts.name) == Some(ty),
                None => false,
            };
        };
        let system_is_first = !self.path.contains(&PG_CATALOG);
        if system_is_first && builtin::by_name(entry.name()).is_some() {
            return false;
        }
        self.user_type(None, entry.name()) == Some(ty)
    }

    /// A name as SQL writes it, with its schema where it is not visible.
    fn qualified(self, schema: Oid, name: &str, is_visible: bool) -> String {
        let name = scalar::quote::identifier(name);
        match self.catalog.schema(schema) {
            Some(schema) if !is_visible => {
                format!("{}.{name}", scalar::quote::identifier(&schema.name))
            }
            _ => name,
        }
    }

    /// The name of an object of an extension, with the extension's schema where the path does not have that.
    fn member_name(self, object: Oid, name: &str) -> String {
        let owner = self.catalog.extension_with(self.database, object);
        let schema = owner.map_or(PG_CATALOG, |extension| extension.schema);
        self.qualified(schema, name, owner.is_none() || self.path.contains(&schema))
    }

    /// The name of a relation as SQL writes it, with its schema where that is needed.
    pub fn relation_name(self, relation: &Relation) -> String {
        self.qualified(relation.schema, &relation.name, self.is_relation_visible(relation))
    }

    /// The name of a type with its modifier, as `format_type` gives it.
    pub fn type_name(self, ty: Type, modifier: Modifier) -> String {
        format_type(&self, ty, modifier)
    }

    /// Returns the name of an object in messages: `table t`, `column a of table t`, `type color`.
    pub fn describe(self, object: Address) -> String {
        let Address { class, oid, sub } = object;
        let named = |kind: &str, name: Option<&str>| match name {
            Some(name) => format!("{kind} {name}"),
            None => format!("{kind} {oid}"),
        };
        match class {
            Class::Relation => {
                let Some(relation) = self.catalog.relation(oid) else {
                    return format!("relation {oid}");
                };
                let of = format!("{} {}", relation.kind_name(), self.relation_name(relation));
                match relation.column(sub) {
                    Some(column) => format!("column {} of {of}", column.name),
                    None => of,
                }
            }
            Class::Type => format!("type {}", self.type_name(Type(oid), Modifier::NONE)),
            Class::Constraint => {
                let Some(constraint) = self.catalog.constraint(oid) else {
                    return format!("constraint {oid}");
                };
                match constraint.on {
                    ConstraintOn::Table(table) => format!(
                        "constraint {} on {}",
                        constraint.name,
                        self.describe(Address::relation(table))
                    ),
                    ConstraintOn::Domain(_) => format!("constraint {}", constraint.name),
                }
            }
            Class::Default => match self.catalog.default_of(oid) {
                Some((relation, attnum)) => format!(
                    "default value for {}",
                    self.describe(Address::column(relation.oid, attnum))
                ),
                None => format!("default value {oid}"),
            },
            Class::Schema => named("schema", self.catalog.schema(oid).map(|known| &*known.name)),
            Class::Role => named("role", self.catalog.role(oid).map(|known| &*known.name)),
            Class::Database => {
                named("database", self.catalog.database(oid).map(|known| &*known.name))
            }
            Class::Extension if oid == extension::PLPGSQL_OID => "extension plpgsql".to_owned(),
            Class::Extension => {
                named("extension", self.catalog.extension(oid).map(|known| &*known.name))
            }
            Class::Collation => match self.catalog.collation(oid) {
                Some(known) => {
                    let is_seen = self.path.contains(&known.schema);
                    let name = scalar::quote::identifier(&known.name);
                    match self.catalog.schema(known.schema).filter(|_| !is_seen) {
                        Some(schema) => {
                            format!("collation {}.{name}", scalar::quote::identifier(&schema.name))
                        }
                        None => format!("collation {name}"),
                    }
                }
                None => format!("collation {oid}"),
            },
            Class::Function => match scalar::registry::function(oid) {
                Some(function) => {
                    let args = function.args.iter().map(|ty| self.type_name(*ty, Modifier::NONE));
                    let args: Vec<String> = args.collect();
                    format!("function {}({})", self.member_name(oid, function.name), args.join(","))
                }
                None => format!("function {oid}"),
            },
            Class::Operator => match scalar::operators::by_oid(oid) {
                Some(operator) => {
                    let name = |ty| match ty {
                        Type::NONE => "NONE".to_owned(),
                        ty => self.type_name(ty, Modifier::NONE),
                    };
                    let (left, right) = (name(operator.left), name(operator.right));
                    format!("operator {}({left},{right})", operator.name)
                }
                None => format!("operator {oid}"),
            },
            Class::OperatorClass => {
                let known = extension::CLASSES.iter().find(|(number, ..)| *number == oid);
                match known {
                    Some((_, name, method)) => {
                        format!("operator class {name} for access method {method}")
                    }
                    None => format!("operator class {oid}"),
                }
            }
            Class::Policy => match self.catalog.policy(oid) {
                Some(policy) => format!(
                    "policy {} on {}",
                    policy.name,
                    self.describe(Address::relation(policy.table))
                ),
                None => format!("policy {oid}"),
            },
            Class::Membership => {
                let membership = self.catalog.membership(oid);
                let Some(membership) = membership else { return format!("membership {oid}") };
                let name = |role| self.catalog.role(role).map_or("???", |role| &*role.name);
                format!(
                    "membership of role {} in role {}",
                    name(membership.member),
                    name(membership.role)
                )
            }
            Class::DefaultAcl => {
                let known = self.catalog.default_acls().find(|known| known.oid == oid);
                let Some(known) = known else { return format!("default privileges {oid}") };
                let role = self.catalog.role(known.role).map_or("???", |role| &*role.name);
                let what = match known.kind {
                    'r' => "relations",
                    'S' => "sequences",
                    'T' => "types",
                    'f' => "functions",
                    _ => "schemas",
                };
                let within = match self.catalog.schema(known.schema) {
                    Some(schema) => format!(" in schema {}", schema.name),
                    None => String::new(),
                };
                format!("default privileges on new {what} belonging to role {role}{within}")
            }
        }
    }
}

impl TypeSource for Scope<'_> {
    fn shape(&self, ty: Type) -> Option<Shape> {
        self.catalog.shape(ty)
    }

    fn name(&self, ty: Type) -> Option<String> {
        let Some(entry) = self.catalog.type_entry(ty) else {
            let facts = builtin::facts(ty)?;
            if facts.is_array() {
                return Some(format!("{}[]", TypeSource::name(self, facts.element)?));
            }
            return Some(self.member_name(ty.oid(), facts.name));
        };
        if let Some(element) = entry.element() {
            return Some(format!("{}[]", TypeSource::name(self, element)?));
        }
        Some(self.qualified(entry.schema(), entry.name(), self.is_type_visible(ty)))
    }

    fn array_of(&self, ty: Type) -> Option<Type> {
        self.catalog.type_entry(ty)?.array()
    }

    fn multirange_of(&self, range: Type) -> Option<Type> {
        self.catalog.multirange_of(range)
    }
}

impl Catalog {
    /// How values of a type of users are made; `None` if there is no such type.
    pub fn shape(&self, ty: Type) -> Option<Shape> {
        Some(match self.type_entry(ty)? {
            TypeEntry::UserArray(of) => Shape::Array(of.ty),
            TypeEntry::RowArray(of) => Shape::Array(of.row_type.as_ref()?.ty),
            TypeEntry::Row(relation) => Shape::Composite(relation.fields()),
            TypeEntry::User(user) => match &user.kind {
                UserTypeKind::Enum(of) => Shape::Enum(of.known.clone()),
                UserTypeKind::Domain(domain) => Shape::Domain(domain.base, domain.modifier),
                UserTypeKind::Range(range) => Shape::Range(range.element),
                UserTypeKind::Multirange(range) => Shape::Multirange(*range),
            },
        })
    }

    /// The type of multiranges of a range type of users.
    pub fn multirange_of(&self, range: Type) -> Option<Type> {
        match &self.user_type(range)?.kind {
            UserTypeKind::Range(range) => Some(range.multirange),
            _ => None,
        }
    }

    /// The database that a relation is in.
    pub fn database_of(&self, relation: &Relation) -> Option<Oid> {
        self.schema(relation.schema).map(|schema| schema.database)
    }

    /// The database that an object is in; that of no OID where it is the system's, `None` for what all
    /// databases share.
    pub(super) fn database_with(&self, object: Address) -> Option<Oid> {
        let schema = match object.class {
            Class::Relation => self.relation(object.oid)?.schema,
            Class::Type => self.type_entry(Type(object.oid))?.schema(),
            Class::Schema => object.oid,
            Class::Collation => self.collation(object.oid)?.schema,
            Class::Extension => return self.extension(object.oid).map(|known| known.database),
            Class::Default => self.default_of(object.oid)?.0.schema,
            Class::Policy => self.relation(self.policy(object.oid)?.table)?.schema,
            Class::Constraint => match self.constraint(object.oid)?.on {
                ConstraintOn::Table(table) => self.relation(table)?.schema,
                ConstraintOn::Domain(ty) => self.type_entry(ty)?.schema(),
            },
            _ => return None,
        };
        self.schema(schema).map(|schema| schema.database)
    }

    /// The relation whose columns a type of users has: a composite type, or the rows of a table.
    pub fn composite_of(&self, ty: Type) -> Option<&std::sync::Arc<Relation>> {
        match self.type_entry(ty)? {
            TypeEntry::Row(relation) => Some(relation),
            _ => None,
        }
    }

    /// True for a type that `CREATE TYPE ... AS (...)` made, and not for that of a table's rows.
    pub fn is_composite_type(&self, ty: Type) -> bool {
        let relation = self.composite_of(ty);
        relation.is_some_and(|relation| matches!(relation.kind, RelationKind::Composite))
    }
}
