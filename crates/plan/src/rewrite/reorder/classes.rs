//! Columns that the equalities of inner joins make equal.
//!
//! ```text
//!   WHERE a.x = b.x AND b.x = c.x      one class: a.x, b.x, c.x
//!
//!   (a ⋈ c) ⋈ b                        a and c are joined by a.x = c.x, b by one of both equalities
//! ```
//!
//! A join that brings members of a class together tests one equality between them; the others follow.

use sql::plan::{Expr, ExprKind};

use crate::rewrite::expr::column_of;

/// Columns of different leaves, all of one type.
#[derive(Debug)]
pub(super) struct Class {
    /// At most one of each leaf.
    members: Vec<Member>,
    /// One of the equalities: that of any two members looks like it.
    like: Expr,
}

#[derive(Debug)]
struct Member {
    leaf: usize,
    column: usize,
    expr: Expr,
}

impl Class {
    /// The leaves that have members, and the columns these are.
    pub fn members(&self) -> impl Iterator<Item = (usize, usize)> {
        self.members.iter().map(|member| (member.leaf, member.column))
    }

    /// True if a column is in it.
    pub fn has(&self, column: usize) -> bool {
        self.members.iter().any(|member| member.column == column)
    }

    /// The type of its members.
    fn ty(&self) -> types::Type {
        self.members[0].expr.ty
    }

    /// The equality of a member whose leaf is in one set and a member of another.
    pub fn equality(&self, left: u64, right: u64) -> Option<Expr> {
        let of = |set: u64| self.members.iter().find(|member| set >> member.leaf & 1 == 1);
        let (one, other) = (of(left)?, of(right)?);
        let mut expr = self.like.clone();
        if let ExprKind::Call(call) = &mut expr.kind {
            call.args = vec![one.expr.clone(), other.expr.clone()];
        }
        Some(expr)
    }
}

/// The classes of three members or more that equalities make; `leaf_of` tells the leaf of a column. An equality
/// that would put two columns of one leaf into a class makes none.
pub(super) fn classes<'e>(
    equalities: impl Iterator<Item = (&'e Expr, &'e Expr, &'e Expr)>,
    leaf_of: &dyn Fn(usize) -> usize,
) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for (like, one, other) in equalities {
        let (Some(first), Some(second)) = (column_of(one), column_of(other)) else { continue };
        if one.ty != other.ty {
            continue;
        }
        let mut take = |expr: &Expr, column: usize| {
            let at = classes.iter().position(|class| class.has(column));
            match at {
                Some(at) => classes.remove(at),
                None => {
                    let member = Member { leaf: leaf_of(column), column, expr: expr.clone() };
                    Class { members: vec![member], like: like.clone() }
                }
            }
        };
        let mut all = take(one, first);
        if all.has(second) {
            classes.push(all);
            continue;
        }
        let more = take(other, second);
        let is_apart = |member: &Member| all.members.iter().all(|own| own.leaf != member.leaf);
        let is_same_type = all.ty() == more.ty();
        match is_same_type && more.members.iter().all(is_apart) {
            true => {
                all.members.extend(more.members);
                classes.push(all);
            }
            false => classes.extend([all, more]),
        }
    }
    classes.retain(|class| class.members.len() > 2);
    classes
}
