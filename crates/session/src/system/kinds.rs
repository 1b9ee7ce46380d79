//! What types, functions and operators there are: `pg_type`, `pg_proc` and their kin.

use scalar::function::Volatility;
use scalar::{operators, registry};
use table::catalog::{TypeEntry, UserTypeKind};
use types::{Datum, Oid, Type, builtin};

use super::relations::form;
use super::rows::{Rows, Scene, bool, int2, letter, oid, oidvector, text, texts, type_oid};
use super::{PG_CATALOG, all, forms, objects};
use crate::objects::COLLATIONS;

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

pub(super) fn types(scene: Scene<'_>, rows: &mut Rows) {
    for facts in builtin::all() {
        let mut row = vec![
            ("oid", type_oid(facts.ty)),
            ("typname", text(facts.name)),
            ("typnamespace", oid(PG_CATALOG)),
            ("typowner", oid(Oid(10))),
            ("typlen", Datum::Int2(facts.length)),
            ("typbyval", bool(facts.is_by_value())),
            ("typtype", letter(if facts.is_pseudo() { 'p' } else { 'b' })),
            ("typcategory", letter(facts.category)),
            ("typispreferred", bool(facts.is_preferred())),
            ("typisdefined", bool(true)),
            ("typdelim", letter(',')),
            ("typelem", type_oid(facts.element)),
            ("typarray", type_oid(facts.array)),
            ("typalign", letter(facts.align)),
            ("typstorage", letter(facts.storage)),
            ("typtypmod", Datum::Int4(-1)),
            ("typcollation", oid(facts.collation())),
        ];
        row.extend(form_functions(&facts.input_function(), &facts.output_function()));
        rows.row(&row);
    }
    for system in all() {
        if system.row_type == Oid::NONE || builtin::facts(Type(system.row_type)).is_some() {
            continue;
        }
        rows.row(&[
            ("oid", oid(system.row_type)),
            ("typname", text(system.name)),
            ("typnamespace", oid(system.schema)),
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

fn user_type(scene: Scene<'_>, ty: Type, entry: &TypeEntry, rows: &mut Rows) {
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
        _ => ("array_in", "array_out"),
    };
    row.extend(form_functions(input, output));
    rows.row(&row);
}

pub(super) fn labels(scene: Scene<'_>, rows: &mut Rows) {
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

pub(super) fn functions(_: Scene<'_>, rows: &mut Rows) {
    for function in registry::all() {
        let kind = match function.eval {
            scalar::Eval::Aggregate(_) => 'a',
            scalar::Eval::Window => 'w',
            _ => 'f',
        };
        let names = function.argument_names();
        rows.row(&[
            ("oid", oid(function.oid)),
            ("proname", text(function.name)),
            ("pronamespace", oid(PG_CATALOG)),
            ("proowner", oid(Oid(10))),
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

pub(super) fn aggregates(rows: &mut Rows) {
    for function in registry::all().filter(|function| function.is_aggregate()) {
        rows.row(&[
            ("aggfnoid", oid(function.oid)),
            ("aggkind", letter('n')),
            ("aggtranstype", type_oid(function.ret)),
            ("aggfinalmodify", letter('r')),
            ("aggmfinalmodify", letter('r')),
        ]);
    }
}

pub(super) fn operators(rows: &mut Rows) {
    for operator in operators::all() {
        let number = |found: Option<&operators::Operator>| {
            oid(found.map_or(Oid::NONE, |operator| operator.oid))
        };
        rows.row(&[
            ("oid", oid(operator.oid)),
            ("oprname", text(operator.name)),
            ("oprnamespace", oid(PG_CATALOG)),
            ("oprowner", oid(Oid(10))),
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

pub(super) fn casts(rows: &mut Rows) {
    for (cast, number) in scalar::cast::all().iter().zip(10_000..) {
        let function = match cast.how() {
            scalar::cast::How::Function(function) => function,
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
                    scalar::cast::Circumstance::Implicit => 'i',
                    scalar::cast::Circumstance::Assignment => 'a',
                    scalar::cast::Circumstance::Explicit => 'e',
                }),
            ),
            (
                "castmethod",
                letter(match cast.how() {
                    scalar::cast::How::Function(_) => 'f',
                    scalar::cast::How::Relabel => 'b',
                    _ => 'i',
                }),
            ),
        ]);
    }
}

/// The access methods: number, name, `t` for tables and `i` for indexes.
const INDEX_METHODS: [(Oid, &str); 4] = [
    (Oid(403), "btree"),
    (Oid(405), "hash"),
    (Oid(2742), "gin"),
    (super::relations::COLUMNAR_INDEX, "columnar"),
];

pub(super) fn methods(scene: Scene<'_>, rows: &mut Rows) {
    let of_tables = scene.names.handles.methods().iter();
    let of_tables = of_tables.map(|method| (method.oid(), method.name(), 't'));
    let of_indexes = INDEX_METHODS.iter().map(|(number, name)| (*number, *name, 'i'));
    for (number, name, kind) in of_tables.chain(of_indexes) {
        rows.row(&[("oid", oid(number)), ("amname", text(name)), ("amtype", letter(kind))]);
    }
}

pub(super) fn collations(rows: &mut Rows) {
    for (number, name) in COLLATIONS {
        let provider = match name {
            "default" => 'd',
            "pg_c_utf8" | "ucs_basic" => 'b',
            _ => 'c',
        };
        rows.row(&[
            ("oid", oid(Oid(number))),
            ("collname", text(name)),
            ("collnamespace", oid(PG_CATALOG)),
            ("collowner", oid(Oid(10))),
            ("collprovider", letter(provider)),
            ("collisdeterministic", bool(true)),
            ("collencoding", Datum::Int4(if number == 12_351 || provider == 'b' { 6 } else { -1 })),
        ]);
    }
}

pub(super) fn languages(rows: &mut Rows) {
    for (number, name, trusted) in [(12, "internal", false), (14, "sql", true)] {
        rows.row(&[
            ("oid", oid(Oid(number))),
            ("lanname", text(name)),
            ("lanowner", oid(Oid(10))),
            ("lanpltrusted", bool(trusted)),
        ]);
    }
}
