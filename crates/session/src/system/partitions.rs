//! `pg_inherits` and `pg_partitioned_table`.

use table::catalog::{IndexMethod, IndexPart, Relation};
use types::{Datum, Oid};

use super::rows::{CatalogContext, Rows, bool, int2, int2vector, letter, oid, oidvector, text};
use crate::functions::definitions::node_of;

impl CatalogContext<'_> {
    /// `relkind` of `pg_class`.
    pub(super) fn kind_letter(&self, relation: &Relation) -> char {
        let table = relation.index().and_then(|index| self.names.catalog.relation(index.table));
        match table.is_some_and(|table| table.partitioning().is_some()) {
            true => 'I',
            false => relation.kind_letter(),
        }
    }
}

/// The table, or the index, that a relation is a part of.
pub(super) fn whole_of(relation: &Relation) -> Option<Oid> {
    match relation.index() {
        Some(index) => index.partition_of,
        None => relation.partition_of().map(|of| of.parent),
    }
}

pub(super) fn inherits(scene: CatalogContext<'_>, rows: &mut Rows) {
    for relation in scene.relations() {
        let Some(whole) = whole_of(relation) else { continue };
        rows.row(&[
            ("inhrelid", oid(relation.oid)),
            ("inhparent", oid(whole)),
            ("inhseqno", Datum::Int4(1)),
            ("inhdetachpending", bool(false)),
        ]);
    }
}

pub(super) fn partitioned(scene: CatalogContext<'_>, rows: &mut Rows) {
    let catalog = &scene.names.catalog;
    for relation in scene.relations() {
        let Some(partitioning) = relation.partitioning() else { continue };
        let is_default = |oid: &&Oid| {
            let of = catalog.relation(**oid).and_then(|it| it.partition_of());
            of.is_some_and(|of| of.bound == table::catalog::PartitionBound::Default)
        };
        let default = partitioning.partitions.iter().find(is_default).copied();
        let attnums = partitioning.keys.iter().map(|key| match key.part {
            IndexPart::Column(attnum) => attnum,
            IndexPart::Expr(_) => 0,
        });
        let is_hash = partitioning.strategy == table::catalog::PartitionStrategy::Hash;
        let method = if is_hash { IndexMethod::Hash } else { IndexMethod::Btree };
        let classes = partitioning.keys.iter().map(|key| {
            let class = super::class_of(scene.names, key.ty, method, key.class.as_deref());
            class.map_or(Oid::NONE, |class| class.oid)
        });
        let exprs: Vec<&str> = partitioning
            .keys
            .iter()
            .filter_map(|key| match &key.part {
                IndexPart::Expr(expr) => Some(&*expr.text),
                IndexPart::Column(_) => None,
            })
            .collect();
        rows.row(&[
            ("partrelid", oid(relation.oid)),
            ("partstrat", letter(char::from(partitioning.strategy as u8))),
            ("partnatts", int2(partitioning.keys.len())),
            ("partdefid", oid(default.unwrap_or(Oid::NONE))),
            ("partattrs", int2vector(attnums)),
            ("partclass", oidvector(classes)),
            ("partcollation", oidvector(partitioning.keys.iter().map(|key| key.collation))),
            (
                "partexprs",
                match &exprs[..] {
                    [] => Datum::Null,
                    exprs => text(&node_of("PARTITION_KEYS", relation.oid.0, &exprs.join(", "))),
                },
            ),
        ]);
    }
}
