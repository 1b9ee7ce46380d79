//! `pg_class`, `pg_attribute` and the parts of tables: defaults, indexes, constraints, sequences.

use store::Retention;
use table::catalog::{
    CheckOption, Column, Constraint, ConstraintKind, ConstraintOn, IndexMethod, IndexPart,
    Relation, RelationKind, SqlText,
};
use types::{Datum, Oid, Repr, Type, TypeSource, builtin};

use super::partitions::whole_of;
use super::rows::{
    CatalogContext, Rows, array, bool, int2, int2s, int2vector, letter, oid, oidvector, text,
    texts, type_oid,
};
use super::{objects, seen};
use crate::define::temporary::usual_history;
use crate::functions::definitions::node_of;

impl CatalogContext<'_> {
    /// True for a schema of this database, or of the system.
    pub(super) fn is_here(&self, schema: Oid) -> bool {
        let found = self.names.catalog.schema(schema);
        found.is_some_and(|schema| {
            schema.database == Oid::NONE || schema.database == self.names.database
        })
    }

    /// The relations of this database, in the order of their OIDs.
    pub(super) fn relations(&self) -> Vec<&std::sync::Arc<Relation>> {
        let mut found: Vec<_> = self
            .names
            .catalog
            .relations()
            .filter(|relation| self.is_here(relation.schema))
            .collect();
        found.sort_by_key(|relation| relation.oid);
        found
    }
}

/// The number in `pg_am` of columnar indexes.
pub(super) const COLUMNAR_INDEX: Oid = Oid(16_375);

/// The access method of an index, as `pg_am` numbers it.
pub(super) fn method_oid(method: IndexMethod) -> Oid {
    match method {
        IndexMethod::Btree => Oid(403),
        IndexMethod::Hash => Oid(405),
        IndexMethod::Gin => Oid(2742),
        IndexMethod::Gist => Oid(783),
        IndexMethod::Spgist => Oid(4000),
        IndexMethod::Columnar => COLUMNAR_INDEX,
        IndexMethod::Brin => Oid(3580),
        IndexMethod::Bloom => types::extension::BLOOM,
    }
}

/// The storage parameters of a relation, so that it can be made again with them.
fn parameters(scene: CatalogContext<'_>, relation: &Relation) -> Vec<String> {
    let mut all = relation.options.clone();
    if let Some(table) = relation.table() {
        let method = scene.names.handles.methods().get(table.method.oid);
        all.extend(
            method.into_iter().flat_map(|method| method.parameters(relation, &table.method)),
        );
        if table.history != usual_history(relation.persistence) {
            let history = match table.history {
                Retention::None => "none".into(),
                Retention::Since(us) => format!("{us} us").into(),
                Retention::Forever | Retention::Unsettled => "forever".into(),
            };
            all.push(("history".into(), history));
        }
    }
    all.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

pub(super) fn classes(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (system, schema) in seen(scene.names) {
        rows.row(&[
            ("oid", oid(system.oid)),
            ("relname", text(system.name)),
            ("relnamespace", oid(schema)),
            ("reltype", oid(system.row_type)),
            ("relowner", oid(Oid(10))),
            ("relam", oid(if system.is_view { Oid::NONE } else { Oid(2) })),
            ("relkind", letter(if system.is_view { 'v' } else { 'r' })),
            ("relnatts", int2(system.columns.len())),
            ("relpersistence", letter('p')),
            ("relispopulated", bool(true)),
            ("relreplident", letter('n')),
            ("reltuples", Datum::Float4(-1.0)),
            ("relhasrules", bool(system.is_view)),
        ]);
    }
    for relation in scene.relations() {
        let table = scene.names.catalog.table(relation.oid);
        let count = table.map(|table| {
            let leaves = scene.names.catalog.leaves(table.relation.oid);
            let storages = leaves.iter().filter_map(|leaf| {
                scene.names.catalog.relation(*leaf).and_then(|leaf| leaf.storage())
            });
            storages.map(|storage| scene.names.handles.row_count(storage)).sum::<u64>()
        });
        let checks = table.map_or(0, |table| {
            let is_check = |constraint: &&std::sync::Arc<Constraint>| {
                matches!(constraint.kind, ConstraintKind::Check { .. })
            };
            table.constraints.iter().filter(is_check).count()
        });
        let am = match &relation.kind {
            RelationKind::Table(table) => table.method.oid,
            RelationKind::Index(index) => method_oid(index.method),
            _ => Oid::NONE,
        };
        let mut options = parameters(scene, relation);
        options.extend(match relation.view().map(|view| view.check) {
            Some(CheckOption::Local) => Some("check_option=local".to_owned()),
            Some(CheckOption::Cascaded) => Some("check_option=cascaded".to_owned()),
            _ => None,
        });
        let has_rule = relation.query().is_some();
        let security = relation.table().map(|table| table.row_security).unwrap_or_default();
        let is_populated = relation.materialized().is_none_or(|shown| shown.is_populated);
        let has_foreign = table.is_some_and(|table| {
            !table.referenced_by.is_empty()
                || table.constraints.iter().any(|known| known.foreign_key().is_some())
        });
        rows.row(&[
            ("oid", oid(relation.oid)),
            ("relname", text(&relation.name)),
            ("relnamespace", oid(relation.schema)),
            ("reltype", oid(relation.row_type.as_ref().map_or(Oid::NONE, |row| row.ty.oid()))),
            ("relowner", oid(relation.owner)),
            ("relam", oid(am)),
            ("relfilenode", oid(relation.oid)),
            ("reltuples", Datum::Float4(count.map_or(-1.0, |count| count as f32))),
            ("relpages", Datum::Int4(count.map_or(0, |count| (count / 100) as i32 + 1))),
            ("relhasindex", bool(table.is_some_and(|table| !table.indexes.is_empty()))),
            ("relpersistence", letter(char::from(relation.persistence as u8))),
            ("relkind", letter(scene.kind_letter(relation))),
            (
                "relnatts",
                // A sequence has three: last_value, log_cnt, is_called.
                int2(if relation.sequence().is_some() { 3 } else { relation.columns.len() }),
            ),
            ("relchecks", int2(checks)),
            ("relhasrules", bool(has_rule)),
            ("relhastriggers", bool(has_foreign)),
            ("relispopulated", bool(is_populated)),
            ("relhassubclass", bool(has_parts(scene, relation))),
            ("relispartition", bool(whole_of(relation).is_some())),
            (
                "relpartbound",
                match relation.partition_of() {
                    Some(_) => text(&node_of("PARTITION_BOUND", relation.oid.0, "")),
                    None => Datum::Null,
                },
            ),
            ("relrowsecurity", bool(security.is_enabled)),
            ("relforcerowsecurity", bool(security.is_forced)),
            ("relreplident", letter(if table.is_some() { 'd' } else { 'n' })),
            ("relacl", objects::acl(scene, relation.acl.as_ref())),
            (
                "reloptions",
                if options.is_empty() {
                    Datum::Null
                } else {
                    texts(Type::TEXT, options.iter().map(String::as_str))
                },
            ),
        ]);
    }
}

/// True for a partitioned table that has partitions, and for an index of one.
fn has_parts(scene: CatalogContext<'_>, relation: &Relation) -> bool {
    let table = match relation.index() {
        Some(index) => scene.names.catalog.relation(index.table).map(AsRef::as_ref),
        None => Some(relation),
    };
    table.is_some_and(|table| !table.partitions().is_empty())
}

/// The columns of `pg_type` on the storage of a type's values: length, by value, alignment,
/// storage.
pub(super) fn form(scene: CatalogContext<'_>, ty: Type) -> (i16, bool, char, char) {
    match builtin::facts(ty) {
        Some(facts) => (facts.length, facts.is_by_value(), facts.align, facts.storage),
        None => match scene.names.shape(ty) {
            Some(types::Shape::Enum(_)) => (4, true, 'i', 'p'),
            Some(types::Shape::Domain(base, _)) => form(scene, base),
            // As their bounds are, but with 4 bytes at least.
            Some(types::Shape::Range(element)) => match form(scene, element) {
                (_, _, 'd', _) => (-1, false, 'd', 'x'),
                _ => (-1, false, 'i', 'x'),
            },
            Some(types::Shape::Multirange(range)) => form(scene, range),
            _ => (-1, false, 'd', 'x'),
        },
    }
}

fn collation_of(ty: Type) -> Oid {
    builtin::facts(ty).map_or(Oid::NONE, |facts| facts.collation())
}

pub(super) fn attributes(scene: CatalogContext<'_>, rows: &mut Rows) {
    for (system, _) in seen(scene.names) {
        for (column, attnum) in system.columns.iter().zip(1..) {
            let (length, by_value, align, storage) = form(scene, column.ty);
            rows.row(&[
                ("attrelid", oid(system.oid)),
                ("attname", text(column.name)),
                ("atttypid", type_oid(column.ty)),
                ("attlen", Datum::Int2(length)),
                ("attnum", Datum::Int2(attnum)),
                ("attcacheoff", Datum::Int4(-1)),
                ("atttypmod", Datum::Int4(-1)),
                ("attbyval", bool(by_value)),
                ("attalign", letter(align)),
                ("attstorage", letter(storage)),
                ("attnotnull", bool(column.not_null)),
                ("attislocal", bool(true)),
                ("attcollation", oid(collation_of(column.ty))),
            ]);
        }
    }
    for relation in scene.relations() {
        for column in &relation.columns {
            attribute(scene, relation, column, rows);
        }
    }
}

fn attribute(scene: CatalogContext<'_>, relation: &Relation, column: &Column, rows: &mut Rows) {
    let (length, by_value, align, storage) = form(scene, column.ty);
    let ty = if column.is_dropped { Oid::NONE } else { column.ty.oid() };
    let dimensions = match builtin::facts(column.ty) {
        Some(facts) => facts.is_array(),
        None => matches!(scene.names.shape(column.ty), Some(types::Shape::Array(_))),
    };
    let identity = match &column.identity {
        None => text(""),
        Some(identity) => letter(if identity.is_always { 'a' } else { 'd' }),
    };
    let generated = column.default.as_ref().is_some_and(|default| default.is_generated);
    rows.row(&[
        ("attrelid", oid(relation.oid)),
        ("attname", text(&column.name)),
        ("atttypid", oid(ty)),
        ("attlen", Datum::Int2(length)),
        ("attnum", Datum::Int2(column.attnum)),
        ("attcacheoff", Datum::Int4(-1)),
        ("atttypmod", Datum::Int4(column.modifier.0)),
        ("attndims", Datum::Int4(i32::from(dimensions))),
        ("attbyval", bool(by_value)),
        ("attalign", letter(align)),
        ("attstorage", letter(storage)),
        ("attnotnull", bool(column.not_null)),
        ("atthasdef", bool(column.default.is_some())),
        ("atthasmissing", bool(column.missing.is_some())),
        ("attidentity", identity),
        ("attgenerated", if generated { letter('s') } else { text("") }),
        ("attisdropped", bool(column.is_dropped)),
        ("attislocal", bool(relation.partition_of().is_none())),
        ("attinhcount", Datum::Int2(i16::from(relation.partition_of().is_some()))),
        ("attcollation", oid(column.collation)),
        ("attacl", objects::acl(scene, column.acl.as_ref())),
    ]);
}

pub(super) fn defaults(scene: CatalogContext<'_>, rows: &mut Rows) {
    for relation in scene.relations() {
        for column in relation.live_columns() {
            let Some(default) = &column.default else { continue };
            rows.row(&[
                ("oid", oid(default.oid)),
                ("adrelid", oid(relation.oid)),
                ("adnum", Datum::Int2(column.attnum)),
                ("adbin", text(&node_of("DEFAULT", column.attnum, &default.expr.text))),
            ]);
        }
    }
}

pub(super) fn indexes(scene: CatalogContext<'_>, rows: &mut Rows) {
    for relation in scene.relations() {
        let Some(index) = relation.index() else { continue };
        let keys = index.keys.iter().map(|key| match &key.part {
            IndexPart::Column(attnum) => *attnum,
            IndexPart::Expr(_) => 0,
        });
        let exprs: Vec<&str> = index
            .keys
            .iter()
            .filter_map(|key| match &key.part {
                IndexPart::Expr(expr) => Some(&*expr.text),
                IndexPart::Column(_) => None,
            })
            .collect();
        let options = index
            .keys
            .iter()
            .map(|key| i16::from(key.is_descending) | i16::from(key.nulls_first) << 1);
        let classes = index.keys.iter().map(|key| {
            let named = key.class.as_deref();
            let class = super::class_of(scene.names, key.ty, index.method, named);
            class.map_or(Oid::NONE, |class| class.oid)
        });
        let keyed = relation.columns.iter().take(index.keys.len());
        let collations = keyed.map(|column| column.collation);
        rows.row(&[
            ("indexrelid", oid(relation.oid)),
            ("indrelid", oid(index.table)),
            ("indnatts", int2(index.keys.len() + index.include.len())),
            ("indnkeyatts", int2(index.keys.len())),
            ("indisunique", bool(index.is_unique || scene.names.is_of_period(index))),
            ("indisexclusion", bool(!index.excludes.is_empty())),
            ("indnullsnotdistinct", bool(index.is_unique && !index.nulls_distinct)),
            ("indisprimary", bool(index.is_primary)),
            ("indimmediate", bool(index.is_immediate)),
            ("indisvalid", bool(index.is_valid)),
            ("indisready", bool(true)),
            ("indislive", bool(true)),
            ("indkey", int2vector(keys.chain(index.include.iter().copied()))),
            ("indcollation", oidvector(collations)),
            ("indclass", oidvector(classes)),
            ("indoption", int2vector(options)),
            (
                "indexprs",
                match &exprs[..] {
                    [] => Datum::Null,
                    exprs => text(&node_of("KEYS", relation.oid.0, &exprs.join(", "))),
                },
            ),
            (
                "indpred",
                index.predicate.as_ref().map_or(Datum::Null, |predicate| {
                    text(&node_of("PREDICATE", relation.oid.0, &predicate.text))
                }),
            ),
        ]);
    }
}

pub(super) fn constraints(scene: CatalogContext<'_>, rows: &mut Rows) {
    let catalog = &scene.names.catalog;
    let mut found: Vec<_> = catalog.constraints().collect();
    found.sort_by_key(|constraint| constraint.oid);
    for constraint in found {
        let (schema, relation, domain) = match constraint.on {
            ConstraintOn::Table(table) => {
                let Some(relation) = catalog.relation(table) else { continue };
                (relation.schema, table, Oid::NONE)
            }
            ConstraintOn::Domain(ty) => {
                let Some(user) = catalog.user_type(ty) else { continue };
                (user.schema, Oid::NONE, ty.oid())
            }
        };
        if !scene.is_here(schema) {
            continue;
        }
        let mut row = vec![
            ("oid", oid(constraint.oid)),
            ("conname", text(&constraint.name)),
            ("connamespace", oid(schema)),
            ("contype", letter(constraint.kind_letter())),
            ("condeferrable", bool(constraint.is_deferrable)),
            ("condeferred", bool(constraint.is_deferred)),
            ("convalidated", bool(constraint.is_validated)),
            ("conrelid", oid(relation)),
            ("contypid", oid(domain)),
            ("conislocal", bool(constraint.partition_of.is_none())),
            ("coninhcount", Datum::Int2(i16::from(constraint.partition_of.is_some()))),
            (
                "conparentid",
                oid(match constraint.kind {
                    ConstraintKind::Check { .. } => Oid::NONE,
                    _ => constraint.partition_of.unwrap_or(Oid::NONE),
                }),
            ),
            (
                "connoinherit",
                bool(match constraint.kind {
                    ConstraintKind::Check { .. } => false,
                    // Partitions have the foreign keys of their table.
                    ConstraintKind::Foreign(_) => {
                        let of = catalog.relation(relation);
                        let is_divided = of.is_some_and(|of| of.partitioning().is_some());
                        constraint.partition_of.is_none() && !is_divided
                    }
                    _ => constraint.partition_of.is_none(),
                }),
            ),
            ("confupdtype", letter(' ')),
            ("confdeltype", letter(' ')),
            ("confmatchtype", letter(' ')),
        ];
        if relation != Oid::NONE {
            row.push(("conkey", int2s(constraint.columns())));
        }
        match &constraint.kind {
            ConstraintKind::Check { expr, .. } => {
                row.push(("conbin", text(&node_of("CHECK", constraint.oid.0, &expr.text))))
            }
            ConstraintKind::Key { index, .. } | ConstraintKind::Exclude { index, .. } => {
                row.push(("conindid", oid(*index)));
                let of = catalog.relation(*index).and_then(|relation| relation.index());
                if let Some(index) = of.filter(|index| !index.excludes.is_empty()) {
                    let operators: Vec<Datum> =
                        index.excludes.iter().map(|operator| Datum::Oid(*operator)).collect();
                    row.push(("conexclop", array(Type::OID, Repr::Oid, 1, &operators)));
                }
            }
            ConstraintKind::Foreign(key) => {
                row.push(("conindid", oid(key.index)));
                row.push(("confrelid", oid(key.references)));
                row.push(("confkey", int2s(&key.referenced)));
                row.push(("confupdtype", letter(char::from(key.on_update as u8))));
                row.push(("confdeltype", letter(char::from(key.on_delete as u8))));
                row.push(("confmatchtype", letter(char::from(key.match_type as u8))));
                let equal = scene.names.catalog.relation(key.references).map(|table| {
                    let operators: Vec<Datum> = key
                        .referenced
                        .iter()
                        .filter_map(|attnum| table.column(*attnum))
                        .map(|column| {
                            let found = scalar::operators::find("=", column.ty, column.ty);
                            Datum::Oid(found.map_or(Oid(98), |operator| operator.oid))
                        })
                        .collect();
                    array(Type::OID, Repr::Oid, 1, &operators)
                });
                let equal = equal.unwrap_or_default();
                for column in ["conpfeqop", "conppeqop", "conffeqop"] {
                    row.push((column, equal.clone()));
                }
                if !key.on_delete_columns.is_empty() {
                    row.push(("confdelsetcols", int2s(&key.on_delete_columns)));
                }
            }
        }
        rows.row(&row);
    }
}

pub(super) fn policies(scene: CatalogContext<'_>, rows: &mut Rows) {
    let mut found: Vec<_> = scene.names.catalog.policies().collect();
    let here: Vec<Oid> = scene.relations().iter().map(|relation| relation.oid).collect();
    found.retain(|policy| here.contains(&policy.table));
    found.sort_by_key(|policy| policy.oid);
    for policy in found {
        let roles: Vec<Datum> = policy.roles.iter().map(|role| Datum::Oid(*role)).collect();
        let node = |kind: &str, expr: &Option<SqlText>| match expr {
            Some(expr) => text(&node_of(kind, policy.oid.0, &expr.text)),
            None => Datum::Null,
        };
        rows.row(&[
            ("oid", oid(policy.oid)),
            ("polname", text(&policy.name)),
            ("polrelid", oid(policy.table)),
            ("polcmd", letter(char::from(policy.command as u8))),
            ("polpermissive", bool(policy.is_permissive)),
            ("polroles", array(Type::OID, Repr::Oid, 1, &roles)),
            ("polqual", node("USING", &policy.using)),
            ("polwithcheck", node("WITH_CHECK", &policy.check)),
        ]);
    }
}

pub(super) fn sequences(scene: CatalogContext<'_>, rows: &mut Rows) {
    for relation in scene.relations() {
        let Some(sequence) = relation.sequence() else { continue };
        rows.row(&[
            ("seqrelid", oid(relation.oid)),
            ("seqtypid", type_oid(sequence.data_type)),
            ("seqstart", Datum::Int8(sequence.start)),
            ("seqincrement", Datum::Int8(sequence.increment)),
            ("seqmax", Datum::Int8(sequence.max)),
            ("seqmin", Datum::Int8(sequence.min)),
            ("seqcache", Datum::Int8(sequence.cache)),
            ("seqcycle", bool(sequence.cycle)),
        ]);
    }
}
