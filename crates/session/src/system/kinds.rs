//! Types, functions and operators: `pg_type`, `pg_proc` and the like.

use scalar::function::Volatility;
use scalar::{operators, registry};
use table::catalog::{IndexMethod, TypeEntry, UserTypeKind};
use types::{Datum, Oid, Type, builtin};

use super::relations::form;
use super::rows::{
    CatalogContext, Rows, bool, int2, letter, oid, oidvector, text, texts, type_oid,
};
use super::{PG_CATALOG, forms, objects, seen};

/// The columns of `pg_type` that name the functions that read and write a type's forms.
fn form_functions(input: &str, output: &str) -> [(&'static str, Datum); 4] {
    let proc = |name: &str| Datum::Oid(forms::oid_of(name).unwrap_or(Oid::NONE));
    let binary = |word: &str| proc(&format!("{}{word}", input.strip_suffix("in").unwrap_or(input)));
    [
        ("typinput", proc(input)),
        ("typoutput", proc(output)),
        ("typreceive", binary("recv")),
        ("typsend", binary("send")),
    ]
}

pub(super) fn ranges(scene: CatalogContext<'_>, rows: &mut Rows) {
    let function = |name: String| {
        let found = registry::functions(&name).first().map(|function| function.oid);
        Datum::Oid(found.unwrap_or(Oid::NONE))
    };
    let class = |element| {
        let class = super::class_of(scene.names, element, IndexMethod::Btree, None);
        oid(class.map_or(Oid::NONE, |class| class.oid))
    };
    for facts in builtin::RANGES {
        let name = builtin::facts(facts.range).map_or("", |facts| facts.name);
        rows.row(&[
            ("rngtypid", type_oid(facts.range)),
            ("rngsubtype", type_oid(facts.element)),
            ("rngmultitypid", type_oid(facts.multirange)),
            ("rngcollation", oid(Oid::NONE)),
            ("rngsubopc", class(facts.element)),
            ("rngcanonical", function(format!("{name}_canonical"))),
            ("rngsubdiff", function(format!("{name}_subdiff"))),
        ]);
    }
    let mut users: Vec<_> = scene.names.catalog.types().collect();
    users.sort_by_key(|(ty, _)| *ty);
    for (ty, entry) in users {
        let TypeEntry::User(user) = entry else { continue };
        let UserTypeKind::Range(range) = &user.kind else { continue };
        if !scene.is_here(user.schema) {
            continue;
        }
        rows.row(&[
            ("rngtypid", type_oid(ty)),
            ("rngsubtype", type_oid(range.element)),
            ("rngmultitypid", type_oid(range.multirange)),
            ("rngcollation", oid(range.collation)),
            ("rngsubopc", class(range.element)),
            ("rngcanonical", oid(Oid::NONE)),
            ("rngsubdiff", oid(range.difference)),
        ]);
    }
}

/// The columns of an object's schema and owner; none for an object of an extension that the database does not have.
fn place(scene: CatalogContext<'_>, object: Oid) -> Option<(Datum, Datum)> {
    if types::extension::of(object).is_none() {
        return Some((oid(PG_CATALOG), oid(Oid(10))));
    }
    let extension = scene.names.catalog.extension_with(scene.names.database, object)?;
    Some((oid(extension.schema), oid(extension.owner)))
}

pub(super) fn types(scene: CatalogContext<'_>, rows: &mut Rows) {
    for facts in builtin::all() {
        let Some((schema, owner)) = place(scene, facts.ty.oid()) else { continue };
        let mut row = vec![
            ("oid", type_oid(facts.ty)),
            ("typname", text(facts.name)),
            ("typnamespace", schema),
            ("typowner", owner),
            ("typlen", Datum::Int2(facts.length)),
            ("typbyval", bool(facts.is_by_value())),
            ("typtype", letter(facts.kind())),
            ("typcategory", letter(facts.category)),
            ("typispreferred", bool(facts.is_preferred())),
            ("typisdefined", bool(true)),
            ("typdelim", letter(facts.delimiter())),
            ("typelem", type_oid(facts.element)),
            ("typarray", type_oid(facts.array)),
            ("typalign", letter(facts.align)),
            ("typstorage", letter(facts.storage)),
            ("typtypmod", Datum::Int4(-1)),
            ("typcollation", oid(facts.collation())),
        ];
        let subscript = facts.subscript_function().and_then(forms::oid_of);
        row.push(("typsubscript", oid(subscript.unwrap_or(Oid::NONE))));
        row.extend(form_functions(&facts.input_function(), &facts.output_function()));
        rows.row(&row);
    }
    for (system, schema) in seen(scene.names) {
        if system.row_type == Oid::NONE || builtin::facts(Type(system.row_type)).is_some() {
            continue;
        }
        rows.row(&[
            ("oid", oid(system.row_type)),
            ("typname", text(system.name)),
            ("typnamespace", oid(schema)),
            ("typowner", oid(Oid(10))),
            ("typlen", Datum::Int2(-1)),
            ("typtype", letter('c')),
            ("typcategory", letter('C')),
            ("typisdefined", bool(true)),
            ("typdelim", letter(',')),
            ("typrelid", oid(system.oid)),
            ("typalign", letter('d')),
            ("typstorage", letter('x')),
            ("typtypmod", Datum::Int4(-1)),
        ]);
    }
    let mut users: Vec<_> =
        scene.names.catalog.types().filter(|(_, entry)| scene.is_here(entry.schema())).collect();
    users.sort_by_key(|(ty, _)| *ty);
    for (ty, entry) in users {
        user_type(scene, ty, entry, rows);
    }
}

fn user_type(scene: CatalogContext<'_>, ty: Type, entry: &TypeEntry, rows: &mut Rows) {
    let (length, by_value, align, storage) = form(scene, ty);
    let mut row = vec![
        ("oid", type_oid(ty)),
        ("typname", text(entry.name())),
        ("typnamespace", oid(entry.schema())),
        ("typowner", oid(entry.owner())),
        ("typlen", Datum::Int2(length)),
        ("typbyval", bool(by_value)),
        ("typalign", letter(align)),
        ("typstorage", letter(storage)),
        ("typisdefined", bool(true)),
        ("typdelim", letter(',')),
        ("typtypmod", Datum::Int4(-1)),
        ("typarray", type_oid(entry.array().unwrap_or(Type::NONE))),
        ("typelem", type_oid(entry.element().unwrap_or(Type::NONE))),
    ];
    let (kind, category) = match entry {
        TypeEntry::User(user) => match &user.kind {
            UserTypeKind::Enum(_) => {
                row.push(("typacl", objects::acl(scene, user.acl.as_ref())));
                ('e', 'E')
            }
            UserTypeKind::Domain(domain) => {
                row.push(("typbasetype", type_oid(domain.base)));
                row.push(("typtypmod", Datum::Int4(domain.modifier.0)));
                row.push(("typnotnull", bool(domain.not_null)));
                row.push(("typcollation", oid(domain.collation)));
                if let Some(default) = &domain.default {
                    row.push(("typdefault", text(&default.text)));
                    row.push(("typdefaultbin", text(&default.text)));
                }
                let names = scene.names;
                ('d', scalar::facts::Facts(names).category(ty))
            }
            UserTypeKind::Range(_) => {
                row.push(("typacl", objects::acl(scene, user.acl.as_ref())));
                ('r', 'R')
            }
            UserTypeKind::Multirange(_) => {
                row.push(("typacl", objects::acl(scene, user.acl.as_ref())));
                ('m', 'R')
            }
        },
        TypeEntry::Row(relation) => {
            row.push(("typrelid", oid(relation.oid)));
            ('c', 'C')
        }
        TypeEntry::UserArray(_) | TypeEntry::RowArray(_) => ('b', 'A'),
    };
    row.push(("typtype", letter(kind)));
    row.push(("typcategory", letter(category)));
    let (input, output) = match kind {
        'e' => ("enum_in", "enum_out"),
        'd' => ("domain_in", "domain_out"),
        'c' => ("record_in", "record_out"),
        'r' => ("range_in", "range_out"),
        'm' => ("multirange_in", "multirange_out"),
        _ => ("array_in", "array_out"),
    };
    row.extend(form_functions(input, output));
    rows.row(&row);
}

pub(super) fn labels(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut users: Vec<_> = scene.names.catalog.types().collect();
    users.sort_by_key(|(ty, _)| *ty);
    for (ty, entry) in users {
        let TypeEntry::User(user) = entry else { continue };
        let UserTypeKind::Enum(labels) = &user.kind else { continue };
        if !scene.is_here(user.schema) {
            continue;
        }
        for (number, order, label) in &labels.labels {
            rows.row(&[
                ("oid", oid(*number)),
                ("enumtypid", type_oid(ty)),
                ("enumsortorder", Datum::Float4(order.get() as f32)),
                ("enumlabel", text(label)),
            ]);
        }
    }
}

pub(super) fn functions(scene: CatalogContext<'_>, rows: &mut Rows) {
    for function in registry::all() {
        let Some((schema, owner)) = place(scene, function.oid) else { continue };
        let kind = match function.eval {
            scalar::Eval::Aggregate(_) => 'a',
            scalar::Eval::Window => 'w',
            _ => 'f',
        };
        let names = function.argument_names();
        rows.row(&[
            ("oid", oid(function.oid)),
            ("proname", text(function.name)),
            ("pronamespace", schema),
            ("proowner", owner),
            ("prolang", oid(Oid(12))),
            ("procost", Datum::Float4(1.0)),
            ("prorows", Datum::Float4(if function.set { 1000.0 } else { 0.0 })),
            ("prokind", letter(kind)),
            ("proisstrict", bool(function.strict)),
            ("proretset", bool(function.set)),
            (
                "provolatile",
                letter(match function.volatility {
                    Volatility::Immutable => 'i',
                    Volatility::Stable => 's',
                    Volatility::Volatile => 'v',
                }),
            ),
            ("proparallel", letter('s')),
            ("pronargs", int2(function.args.len())),
            ("pronargdefaults", int2(function.defaults.len())),
            ("prorettype", type_oid(function.ret)),
            ("proargtypes", oidvector(function.args.iter().map(|ty| ty.oid()))),
            (
                "proargnames",
                if names.is_empty() {
                    Datum::Null
                } else {
                    texts(Type::TEXT, names.iter().copied())
                },
            ),
            ("prosrc", text(function.name)),
        ]);
    }
}

pub(super) fn aggregates(scene: CatalogContext<'_>, rows: &mut Rows) {
    for function in registry::all().filter(|function| function.is_aggregate()) {
        if place(scene, function.oid).is_none() {
            continue;
        }
        rows.row(&[
            ("aggfnoid", oid(function.oid)),
            ("aggkind", letter('n')),
            ("aggtranstype", type_oid(function.ret)),
            ("aggfinalmodify", letter('r')),
            ("aggmfinalmodify", letter('r')),
        ]);
    }
}

pub(super) fn operators(scene: CatalogContext<'_>, rows: &mut Rows) {
    for operator in operators::all() {
        let Some((schema, owner)) = place(scene, operator.oid) else { continue };
        let number = |found: Option<&operators::Operator>| {
            oid(found.map_or(Oid::NONE, |operator| operator.oid))
        };
        rows.row(&[
            ("oid", oid(operator.oid)),
            ("oprname", text(operator.name)),
            ("oprnamespace", schema),
            ("oprowner", owner),
            ("oprkind", letter(if operator.left == Type::NONE { 'l' } else { 'b' })),
            ("oprcanmerge", bool(operator.name == "=")),
            ("oprcanhash", bool(operator.name == "=")),
            ("oprleft", type_oid(operator.left)),
            ("oprright", type_oid(operator.right)),
            ("oprresult", type_oid(operator.ret)),
            ("oprcom", number(operator.commutator())),
            ("oprnegate", number(operator.negator())),
            ("oprcode", oid(operator.function)),
        ]);
    }
}

pub(super) fn casts(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (cast, number) in scalar::cast::all().iter().zip(10_000..) {
        let is_there = |ty: Type| place(scene, ty.oid()).is_some();
        if !is_there(cast.source) || !is_there(cast.target) {
            continue;
        }
        let function = match cast.how() {
            scalar::cast::CoercionPath::Function(function) => function,
            _ => Oid::NONE,
        };
        rows.row(&[
            ("oid", oid(Oid(number))),
            ("castsource", type_oid(cast.source)),
            ("casttarget", type_oid(cast.target)),
            ("castfunc", oid(function)),
            (
                "castcontext",
                letter(match cast.when {
                    scalar::cast::CoercionContext::Implicit => 'i',
                    scalar::cast::CoercionContext::Assignment => 'a',
                    scalar::cast::CoercionContext::Explicit => 'e',
                }),
            ),
            (
                "castmethod",
                letter(match cast.how() {
                    scalar::cast::CoercionPath::Function(_) => 'f',
                    scalar::cast::CoercionPath::Relabel => 'b',
                    _ => 'i',
                }),
            ),
        ]);
    }
}

/// The access methods: number, name, `t` for tables and `i` for indexes.
const INDEX_METHODS: [(Oid, &str); 8] = [
    (Oid(403), "btree"),
    (Oid(405), "hash"),
    (Oid(783), "gist"),
    (Oid(2742), "gin"),
    (Oid(3580), "brin"),
    (Oid(4000), "spgist"),
    (types::extension::BLOOM, "bloom"),
    (super::relations::COLUMNAR_INDEX, "columnar"),
];

pub(super) fn methods(scene: CatalogContext<'_>, rows: &mut Rows) {
    let of_tables = scene.names.handles.methods().iter();
    let of_tables = of_tables.map(|method| (method.oid(), method.name(), 't'));
    let there = |number: &Oid| scene.names.member_schema(*number).is_some();
    let of_indexes = INDEX_METHODS.iter().filter(|(number, _)| there(number));
    let of_indexes = of_indexes.map(|(number, name)| (*number, *name, 'i'));
    for (number, name, kind) in of_tables.chain(of_indexes) {
        rows.row(&[("oid", oid(number)), ("amname", text(name)), ("amtype", letter(kind))]);
    }
}

pub(super) fn collations(scene: CatalogContext<'_>, rows: &mut Rows) {
    use collate::Provider;
    let some = |text: &str| Datum::text(text);
    for known in collate::system() {
        let (of_libc, locale) = match (known.provider, known.locale) {
            (Provider::Libc, Some(locale)) => (some(locale), Datum::Null),
            (_, Some(locale)) => (Datum::Null, some(locale)),
            (_, None) => (Datum::Null, Datum::Null),
        };
        let version = match known.provider {
            Provider::Icu => some(collate::VERSION),
            Provider::Builtin => some("1"),
            Provider::Libc | Provider::Default => Datum::Null,
        };
        rows.row(&[
            ("oid", oid(Oid(known.oid))),
            ("collname", text(&known.name)),
            ("collnamespace", oid(PG_CATALOG)),
            ("collowner", oid(Oid(10))),
            ("collprovider", letter(known.provider.letter())),
            ("collisdeterministic", bool(true)),
            ("collencoding", Datum::Int4(if known.is_utf8 { 6 } else { -1 })),
            ("collcollate", of_libc.clone()),
            ("collctype", of_libc),
            ("colllocale", locale),
            ("collversion", version),
        ]);
    }
    let is_here = |schema: Oid| {
        let schema = scene.names.catalog.schema(schema);
        schema.is_some_and(|schema| schema.database == scene.names.database)
    };
    for known in scene.names.catalog.collations().filter(|known| is_here(known.schema)) {
        let is_libc = known.provider == table::catalog::CollationProvider::Libc;
        let (of_libc, ctype, locale) = match is_libc {
            true => (some(&known.locale), some(&known.ctype), Datum::Null),
            false => (Datum::Null, Datum::Null, some(&known.locale)),
        };
        rows.row(&[
            ("oid", oid(known.oid)),
            ("collname", text(&known.name)),
            ("collnamespace", oid(known.schema)),
            ("collowner", oid(known.owner)),
            ("collprovider", letter(known.provider as u8 as char)),
            ("collisdeterministic", bool(known.is_deterministic)),
            ("collencoding", Datum::Int4(if known.is_utf8 { 6 } else { -1 })),
            ("collcollate", of_libc),
            ("collctype", ctype),
            ("colllocale", locale),
            ("collversion", known.version.as_deref().map_or(Datum::Null, some)),
        ]);
    }
}

pub(super) fn languages(rows: &mut Rows) {
    // The number, the name, whether users may write functions in it and every user may, and what PostgreSQL calls.
    for (number, name, procedural, trusted, functions) in [
        (12, "internal", false, false, [0, 0, 2246]),
        (13, "c", false, false, [0, 0, 2247]),
        (14, "sql", false, true, [0, 0, 2248]),
        (13488, "plpgsql", true, true, [13485, 13486, 13487]),
    ] {
        let [call, inline, validator] = functions.map(Oid);
        rows.row(&[
            ("oid", oid(Oid(number))),
            ("lanname", text(name)),
            ("lanowner", oid(Oid(10))),
            ("lanispl", bool(procedural)),
            ("lanpltrusted", bool(trusted)),
            ("lanplcallfoid", oid(call)),
            ("laninline", oid(inline)),
            ("lanvalidator", oid(validator)),
        ]);
    }
}
