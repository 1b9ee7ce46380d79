//! Scans below an aggregate read the columns of a columnar index in the place of rows.
//!
//! ```text
//!   Aggregate [sum((#0 ->> 'n')::int)] by [#1]          Aggregate [sum(#1)] by [#0]
//!     Scan t [doc, kind], #1 <> 'x'             ──>       Scan t, columns of c [kind, (doc ->> 'n')::int], #0 <> 'x'
//! ```
//!
//! Only where the index has everything that the plan reads of the table: each column by itself, or within an
//! expression that is a column of the index. A scan that finds its rows by a key stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use sql::At;
use sql::imply::same;
use sql::plan::{Expr, ExprKind};
use types::Type;

use super::batches::{can_be_in_batches, is_whole};
use super::expr::move_columns;
use super::keys::over;
use crate::schema::{ColumnarFacts, KeyPart, Schema, TableFacts};
use crate::tree::{ExprScope, IndexColumns, Kind, Node, Scan, each_part};

/// Makes the scans below an aggregate read columnar indexes, as far as possible.
pub(super) fn read(aggregate: &mut Node, schema: &dyn Schema) {
    let asked = asked(aggregate, ExprScope::Input);
    let Kind::Aggregate(inner) = &mut aggregate.kind else { return };
    if let Some(moves) = cover(&mut inner.input, &asked, schema) {
        apply(aggregate, ExprScope::Input, &moves);
    }
}

/// An expression that is computed of the rows of an operator, which may be only a part of the row that it sees.
struct RowExpr {
    expr: Expr,
    /// The place of the first column of the operator in that row.
    first: usize,
}

impl RowExpr {
    fn behind(&self, columns: usize) -> RowExpr {
        RowExpr { expr: self.expr.clone(), first: self.first + columns }
    }
}

/// Where columns of an operator are now, and expressions over them.
struct Moves {
    /// For each column; `None` for one that is not there any more.
    columns: Vec<Option<usize>>,
    /// Expressions that the scan computed before, and the column of the index that has each.
    exprs: Vec<(Expr, usize)>,
    /// How many columns there are now.
    width: usize,
}

impl Moves {
    /// Columns that stay where they are.
    fn none(width: usize) -> Moves {
        Moves { columns: (0..width).map(Some).collect(), exprs: Vec::new(), width }
    }

    /// The same, and those of another operator whose columns follow.
    fn and(mut self, right: Moves) -> Moves {
        let (before, now) = (self.columns.len(), self.width);
        self.columns.extend(right.columns.iter().map(|column| column.map(|column| column + now)));
        self.exprs.extend(right.exprs.into_iter().map(|(mut expr, column)| {
            move_columns(&mut expr, &|column| column + before);
            (expr, column + now)
        }));
        Moves { width: now + right.width, ..self }
    }

    fn apply(&self, expr: &mut Expr) {
        each_part(expr, &mut |part| {
            if let Some((_, column)) = self.exprs.iter().find(|(known, _)| is(known, part)) {
                part.kind = column_at(*column);
                return false;
            }
            if let ExprKind::Column { index, .. } = &mut part.kind
                && let Some(Some(column)) = self.columns.get(*index as usize)
            {
                *index = *column as u32;
            }
            true
        });
    }
}

fn column_at(index: usize) -> ExprKind {
    ExprKind::Column { levels_up: 0, index: index as u32 }
}

/// True if a part of an expression is one that an index has.
fn is(known: &Expr, part: &Expr) -> bool {
    known.ty == part.ty && same(known, part)
}

/// The expressions of an operator that see such a row.
fn asked(node: &mut Node, of: ExprScope) -> Vec<RowExpr> {
    let mut all = Vec::new();
    node.exprs(&mut |expr, scope| {
        if scope == of {
            all.push(RowExpr { expr: expr.clone(), first: 0 });
        }
    });
    all
}

fn apply(node: &mut Node, of: ExprScope, moves: &Moves) {
    node.exprs(&mut |expr, scope| {
        if scope == of {
            moves.apply(expr);
        }
    });
}

/// Makes the scans of an input read columnar indexes. `asked` is computed from its rows. Returns where its columns are
/// then; `None` if they are where they were.
fn cover(node: &mut Node, asked_of: &[RowExpr], schema: &dyn Schema) -> Option<Moves> {
    match &mut node.kind {
        Kind::Scan(_) => cover_scan(node, asked_of, schema),
        Kind::Project { .. } => {
            let asked = asked(node, ExprScope::Input);
            let Kind::Project { input, .. } = &mut node.kind else { return None };
            let moves = cover(input, &asked, schema)?;
            apply(node, ExprScope::Input, &moves);
            None
        }
        Kind::Join(join) if can_be_in_batches(join) => cover_join(node, asked_of, schema),
        _ => None,
    }
}

fn cover_join(node: &mut Node, above: &[RowExpr], schema: &dyn Schema) -> Option<Moves> {
    let (mut of_left, mut of_right) = (asked(node, ExprScope::Left), asked(node, ExprScope::Right));
    let both = asked(node, ExprScope::Input);
    let Kind::Join(join) = &mut node.kind else { return None };
    let (left, right) = (join.left.width(), join.right.width());
    let shows_right = join.kind.shows_right();
    of_left.extend(both.iter().chain(above).map(|asked| asked.behind(0)));
    of_right.extend(both.iter().map(|asked| asked.behind(left)));
    if shows_right {
        of_right.extend(above.iter().map(|asked| asked.behind(left)));
    }
    let left_moves = cover(&mut join.left, &of_left, schema);
    let right_moves = cover(&mut join.right, &of_right, schema);
    if left_moves.is_none() && right_moves.is_none() {
        return None;
    }
    let mut types = join.left.types.clone();
    if shows_right {
        types.extend_from_slice(&join.right.types);
    }
    node.types = types;
    let left_moves = left_moves.unwrap_or_else(|| Moves::none(left));
    let right_moves = right_moves.unwrap_or_else(|| Moves::none(right));
    apply(node, ExprScope::Left, &left_moves);
    apply(node, ExprScope::Right, &right_moves);
    let width = left_moves.width;
    let of_both = left_moves.and(right_moves);
    apply(node, ExprScope::Input, &of_both);
    if shows_right {
        return Some(of_both);
    }
    // The columns of the right side are seen by the condition alone.
    let is_left = |column: &usize| *column < width;
    let exprs = of_both.exprs.into_iter().filter(|(_, column)| is_left(column)).collect();
    Some(Moves { columns: of_both.columns[..left].to_vec(), exprs, width })
}

/// The columns of a scan that an index can give.
struct Cover<'f> {
    facts: &'f ColumnarFacts,
    /// The number of the index's column for each column of the scan.
    columns: BTreeMap<usize, usize>,
    /// Expressions over the columns of the scan, and the number of the index's column.
    exprs: Vec<(Expr, usize)>,
    /// The numbers that are read.
    read: BTreeSet<usize>,
}

impl<'f> Cover<'f> {
    fn new(facts: &'f ColumnarFacts, table: &TableFacts, scan: &Scan) -> Cover<'f> {
        let (mut columns, mut exprs) = (BTreeMap::new(), Vec::new());
        for (number, part) in facts.parts.iter().enumerate() {
            match part {
                KeyPart::Column(attnum) => {
                    if let Some(column) = scan.attnums.iter().position(|known| known == attnum) {
                        columns.entry(column).or_insert(number);
                    }
                }
                KeyPart::Expr(expr) => {
                    exprs.extend(over(expr, table, scan).map(|expr| (expr, number)));
                }
            }
        }
        Cover { facts, columns, exprs, read: BTreeSet::new() }
    }

    /// Notes what an expression reads of a scan of `width` columns; false if the index lacks any of it.
    fn note(&mut self, asked: &RowExpr, width: usize) -> bool {
        let RowExpr { expr, first } = asked;
        let moved = |(expr, number): &(Expr, usize)| {
            let mut expr = expr.clone();
            move_columns(&mut expr, &|column| column + first);
            (expr, *number)
        };
        let exprs: Vec<(Expr, usize)> = self.exprs.iter().map(moved).collect();
        let mut has_all = true;
        each_part(&mut expr.clone(), &mut |part| {
            if let Some((_, number)) = exprs.iter().find(|(known, _)| is(known, part)) {
                self.read.insert(*number);
                return false;
            }
            if let ExprKind::Column { index, .. } = part.kind
                && let Some(column) = (index as usize).checked_sub(*first)
                && column < width
            {
                match self.columns.get(&column) {
                    Some(number) => drop(self.read.insert(*number)),
                    None => has_all = false,
                }
            }
            has_all
        });
        has_all
    }

    /// How little it reads: expressions rather than what they are computed of, and a narrow index.
    fn rank(&self) -> (usize, usize, usize) {
        let whole = self.columns.values().filter(|number| self.read.contains(number)).count();
        (whole, self.read.len(), self.facts.parts.len())
    }
}

fn cover_scan(node: &mut Node, asked: &[RowExpr], schema: &dyn Schema) -> Option<Moves> {
    let Node { kind: Kind::Scan(scan), types } = node else { return None };
    if !is_whole(scan) || !scan.path.is_full() || scan.sure.is_some() {
        return None;
    }
    let table = schema.table(scan.relation).filter(|facts| !facts.has_blocks)?;
    let own = scan.condition.iter().map(|expr| RowExpr { expr: expr.clone(), first: 0 });
    let own: Vec<RowExpr> = own.collect();
    let width = types.len();
    let covers = table.columnar.iter().filter_map(|facts| {
        let mut cover = Cover::new(facts, &table, scan);
        own.iter().chain(asked).all(|asked| cover.note(asked, width)).then_some(cover)
    });
    let cover = covers.min_by_key(Cover::rank)?;
    let Cover { facts, columns, exprs, read } = cover;
    let place = |number: usize| read.iter().position(|one| *one == number);
    let moves = Moves {
        columns: (0..width).map(|column| place(*columns.get(&column)?)).collect(),
        exprs: exprs
            .iter()
            .filter_map(|(expr, number)| Some((expr.clone(), place(*number)?)))
            .collect(),
        width: read.len(),
    };
    let values = read.iter().map(|number| {
        let column = columns.iter().find(|(_, known)| *known == number);
        match column {
            Some((column, _)) => Some(Expr::of(column_at(*column), types[*column], At::NONE)),
            None => exprs.iter().find(|(_, known)| known == number).map(|(expr, _)| expr.clone()),
        }
    });
    let values = values.collect::<Option<Vec<Expr>>>()?;
    let now: Vec<Type> = values.iter().map(|value| value.ty).collect();
    scan.condition.iter_mut().for_each(|condition| moves.apply(condition));
    scan.columns = Some(Box::new(IndexColumns {
        index: facts.index,
        name: facts.name.clone(),
        numbers: read.iter().map(|number| *number as i16 + 1).collect(),
        values,
    }));
    *types = now;
    Some(moves)
}
