//! Extensions: `pg_extension`, those that a database can have, and their members.

use scalar::{operators, registry};
use table::catalog::{Address, Class};
use types::extension::{self, ALL};
use types::{Datum, Extension, Oid, builtin};

use super::rows::{CatalogContext, Rows, bool, letter, oid, text, text_or_null};
use super::{PG_CATALOG, classes};

/// The extension that every database has.
pub(super) const PLPGSQL: Address = Address::of(Class::Extension, extension::PLPGSQL_OID);

/// True for an extension of the database.
pub(super) fn is_here(scene: CatalogContext<'_>, number: Oid) -> bool {
    let found = scene.names.catalog.extension(number);
    number == PLPGSQL.oid || found.is_some_and(|found| found.database == scene.names.database)
}

pub(super) fn installed(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut row = |number, name: &str, owner, schema, is_relocatable, version: &str| {
        rows.row(&[
            ("oid", oid(number)),
            ("extname", text(name)),
            ("extowner", oid(owner)),
            ("extnamespace", oid(schema)),
            ("extrelocatable", bool(is_relocatable)),
            ("extversion", text(version)),
        ]);
    };
    let known = &extension::PLPGSQL;
    row(PLPGSQL.oid, known.name, Oid(10), PG_CATALOG, false, known.version);
    let mut found: Vec<_> = scene.names.catalog.extensions_of(scene.names.database).collect();
    found.sort_by_key(|extension| extension.oid);
    for found in found {
        row(found.oid, &found.name, found.owner, found.schema, true, &found.version);
    }
}

/// Each extension that the database can have, and the version that it has.
fn each(scene: CatalogContext<'_>) -> impl Iterator<Item = (&'static Extension, Option<String>)> {
    let of = |known: &Extension| {
        let found = scene.names.catalog.extension_named(scene.names.database, known.name);
        found.map(|found| found.version.to_string())
    };
    let plpgsql = &extension::PLPGSQL;
    let first = (plpgsql, Some(plpgsql.version.to_owned()));
    std::iter::once(first).chain(ALL.iter().map(move |known| (known, of(known))))
}

pub(super) fn available(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (known, version) in each(scene) {
        rows.row(&[
            ("name", text(known.name)),
            ("default_version", text(known.version)),
            ("installed_version", text_or_null(version.as_deref())),
            ("comment", text(known.comment)),
        ]);
    }
}

pub(super) fn versions(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (known, version) in each(scene) {
        let is_plpgsql = *known == extension::PLPGSQL;
        rows.row(&[
            ("name", text(known.name)),
            ("version", text(known.version)),
            ("installed", bool(version.is_some())),
            ("superuser", bool(true)),
            ("trusted", bool(known.is_trusted)),
            ("relocatable", bool(!is_plpgsql)),
            ("schema", text_or_null(is_plpgsql.then_some("pg_catalog"))),
            ("comment", text(known.comment)),
        ]);
    }
}

/// The members of the database's extensions, and the schemas of the extensions.
pub(super) fn dependencies(scene: CatalogContext<'_>, rows: &mut Rows) {
    for extension in scene.names.catalog.extensions_of(scene.names.database) {
        let own = Address::of(Class::Extension, extension.oid);
        let mut row = |from: Address, to: Address, kind: char| {
            rows.row(&[
                ("classid", oid(from.class.oid())),
                ("objid", oid(from.oid)),
                ("objsubid", Datum::Int4(0)),
                ("refclassid", oid(to.class.oid())),
                ("refobjid", oid(to.oid)),
                ("refobjsubid", Datum::Int4(0)),
                ("deptype", letter(kind)),
            ]);
        };
        row(own, Address::of(Class::Schema, extension.schema), 'n');
        let Some(numbers) = extension.known().map(Extension::numbers) else { continue };
        let is_own = |number: Oid| numbers.contains(&number.0);
        let types = builtin::all().iter().map(|facts| (Class::Type, facts.ty.oid()));
        let functions = registry::all().map(|function| (Class::Function, function.oid));
        let operators = operators::all().iter().map(|operator| (Class::Operator, operator.oid));
        let classes = classes::numbers().map(|number| (Class::OperatorClass, number));
        let views = super::all().iter().map(|system| (Class::Relation, system.oid));
        let members = types.chain(functions).chain(operators).chain(classes).chain(views);
        for (class, number) in members.filter(|(_, number)| is_own(*number)) {
            row(Address::of(class, number), own, 'e');
        }
    }
}
