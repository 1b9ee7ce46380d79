//! Dependencies: the objects that would be left without meaning if another one went.
//!
//! ```text
//!   default of b.id ──normal──> sequence b_id_seq ──auto──> column id of table b
//!   constraint b_a_fkey ──normal──> column id of table a
//!          └──auto──> column a of table b
//! ```
//!
//! They are not stored: each entry says what it refers to, and a [`Catalog`](super::Catalog) keeps
//! the other direction. Schemas, databases and roles are not in it, because thousands of objects
//! may hang on each; a statement that drops one of these looks through all entries.

use types::{Oid, Type, extension};

use super::{
    Address, Class, ColumnDefault, Constraint, ConstraintKind, ConstraintOn, Entry, Index,
    IndexPart, Policy, Relation, RelationKind, SqlText, UserType, UserTypeKind,
};

/// The fate of an object when another one that it depends on is dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Dependence {
    /// It keeps the other from going, unless that is dropped with `CASCADE`.
    Normal,
    /// It goes too.
    Auto,
    /// It goes too, and cannot go alone: it is a part of the other.
    Internal,
}

/// The dependence of one object on another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The dependent object.
    pub from: Address,
    /// The object that it depends on.
    pub to: Address,
    /// The kind of dependence.
    pub how: Dependence,
}

/// Calls `each` for everything that an entry refers to and that the catalog keeps dependents of.
pub(crate) fn references(entry: &Entry, each: &mut dyn FnMut(Reference)) {
    let each = &mut |reference: Reference| {
        let to = reference.to.oid;
        if (!to.is_builtin() || extension::of(to).is_some()) && reference.from.oid != Oid::NONE {
            each(reference);
        }
    };
    match entry {
        Entry::Relation(relation) => of_relation(relation, each),
        Entry::Constraint(constraint) => of_constraint(constraint, each),
        Entry::Type(ty) => of_type(ty, each),
        Entry::Policy(policy) => of_policy(policy, each),
        Entry::Database(_)
        | Entry::Schema(_)
        | Entry::Role(_)
        | Entry::Membership(_)
        | Entry::Settings(_)
        | Entry::DefaultAcl(_)
        | Entry::Extension(_)
        | Entry::Collation(_)
        | Entry::Comment(_) => {}
    }
}

type Each<'a> = &'a mut dyn FnMut(Reference);

fn on_type(from: Address, ty: Type, each: Each<'_>) {
    each(Reference { from, to: Address::of(Class::Type, ty.oid()), how: Dependence::Normal });
}

fn on_collation(from: Address, collation: Oid, each: Each<'_>) {
    let to = Address::of(Class::Collation, collation);
    each(Reference { from, to, how: Dependence::Normal });
}

/// Calls `each` with the objects that a text names: parts of the relation `own` by `how`, the rest
/// normally.
fn on_text(from: Address, text: &SqlText, own: Oid, how: Dependence, each: Each<'_>) {
    for to in text.references() {
        let how = if to.oid == own { how } else { Dependence::Normal };
        each(Reference { from, to, how });
    }
}

fn of_relation(relation: &Relation, each: Each<'_>) {
    let own = Address::relation(relation.oid);
    for column in relation.live_columns() {
        let of_column = Address::column(relation.oid, column.attnum);
        match relation.index() {
            None => {
                on_type(of_column, column.ty, each);
                on_collation(of_column, column.collation, each);
            }
            Some(_) => on_collation(own, column.collation, each),
        }
        match &column.default {
            Some(ColumnDefault { expr, is_generated: true, .. }) => {
                on_text(of_column, expr, relation.oid, Dependence::Normal, each);
            }
            Some(ColumnDefault { oid, expr, .. }) => {
                let from = Address::of(Class::Default, *oid);
                each(Reference { from, to: of_column, how: Dependence::Auto });
                on_text(from, expr, relation.oid, Dependence::Normal, each);
            }
            None => {}
        }
    }
    match &relation.kind {
        RelationKind::Table(_) | RelationKind::View(_) | RelationKind::Composite => {
            if let Some(query) = relation.query() {
                on_text(own, query, relation.oid, Dependence::Normal, each);
            }
            of_partition(relation, each);
        }
        RelationKind::Sequence(sequence) => {
            if let Some(owner) = sequence.owned_by {
                let how = if owner.is_identity { Dependence::Internal } else { Dependence::Auto };
                let to = Address::column(owner.table, owner.attnum);
                each(Reference { from: own, to, how });
            }
        }
        RelationKind::Index(index) => of_index(own, index, each),
    }
}

/// A partition goes with its table; the keys of a partitioned table keep what they name.
fn of_partition(relation: &Relation, each: Each<'_>) {
    let from = Address::relation(relation.oid);
    if let Some(of) = relation.partition_of() {
        let to = Address::relation(of.parent);
        each(Reference { from, to, how: Dependence::Auto });
    }
    for key in relation.partitioning().into_iter().flat_map(|partitioning| &partitioning.keys) {
        on_collation(from, key.collation, each);
        if let IndexPart::Expr(expr) = &key.part {
            on_text(from, expr, relation.oid, Dependence::Normal, each);
        }
    }
}

fn of_index(own: Address, index: &Index, each: Each<'_>) {
    if let Some(whole) = index.partition_of {
        let to = Address::relation(whole);
        each(Reference { from: own, to, how: Dependence::Internal });
    }
    if let Some(constraint) = index.constraint {
        let to = Address::of(Class::Constraint, constraint);
        return each(Reference { from: own, to, how: Dependence::Internal });
    }
    let mut has_column = false;
    let mut on_column = |attnum: i16, each: Each<'_>| {
        has_column = true;
        let to = Address::column(index.table, attnum);
        each(Reference { from: own, to, how: Dependence::Auto });
    };
    for key in &index.keys {
        let class = key.class.as_deref();
        if let Some((number, ..)) =
            class.and_then(|class| extension::class_named(class, index.method.name()))
        {
            let to = Address::of(Class::OperatorClass, *number);
            each(Reference { from: own, to, how: Dependence::Normal });
        }
        match &key.part {
            IndexPart::Column(attnum) => on_column(*attnum, each),
            IndexPart::Expr(expr) => on_text(own, expr, index.table, Dependence::Auto, each),
        }
    }
    index.include.iter().for_each(|attnum| on_column(*attnum, each));
    if let Some(predicate) = &index.predicate {
        on_text(own, predicate, index.table, Dependence::Auto, each);
    }
    if !has_column {
        let to = Address::relation(index.table);
        each(Reference { from: own, to, how: Dependence::Auto });
    }
}

fn of_policy(policy: &Policy, each: Each<'_>) {
    let from = Address::of(Class::Policy, policy.oid);
    let to = Address::relation(policy.table);
    each(Reference { from, to, how: Dependence::Auto });
    for text in policy.using.iter().chain(&policy.check) {
        on_text(from, text, policy.table, Dependence::Normal, each);
    }
}

fn of_constraint(constraint: &Constraint, each: Each<'_>) {
    let from = Address::of(Class::Constraint, constraint.oid);
    if let Some(whole) = constraint.partition_of {
        let to = Address::of(Class::Constraint, whole);
        each(Reference { from, to, how: Dependence::Internal });
    }
    let own = match constraint.on {
        ConstraintOn::Table(table) => {
            if constraint.columns().is_empty() {
                let to = Address::relation(table);
                each(Reference { from, to, how: Dependence::Auto });
            }
            for attnum in constraint.columns() {
                let to = Address::column(table, *attnum);
                each(Reference { from, to, how: Dependence::Auto });
            }
            table
        }
        ConstraintOn::Domain(ty) => {
            let to = Address::of(Class::Type, ty.oid());
            each(Reference { from, to, how: Dependence::Auto });
            ty.oid()
        }
    };
    match &constraint.kind {
        ConstraintKind::Check { expr, .. } => on_text(from, expr, own, Dependence::Auto, each),
        ConstraintKind::Key { .. } | ConstraintKind::Exclude { .. } => {}
        ConstraintKind::Foreign(key) => {
            for attnum in &key.referenced {
                let to = Address::column(key.references, *attnum);
                each(Reference { from, to, how: Dependence::Normal });
            }
            let to = Address::relation(key.index);
            each(Reference { from, to, how: Dependence::Normal });
        }
    }
}

fn of_type(ty: &UserType, each: Each<'_>) {
    let from = Address::of(Class::Type, ty.ty.oid());
    match &ty.kind {
        UserTypeKind::Enum(_) => {}
        UserTypeKind::Domain(domain) => {
            on_type(from, domain.base, each);
            on_collation(from, domain.collation, each);
            if let Some(default) = &domain.default {
                on_text(from, default, ty.ty.oid(), Dependence::Normal, each);
            }
        }
        UserTypeKind::Range(range) => {
            on_type(from, range.element, each);
            on_collation(from, range.collation, each);
        }
        UserTypeKind::Multirange(range) => {
            let to = Address::of(Class::Type, range.oid());
            each(Reference { from, to, how: Dependence::Internal });
        }
    }
}
