//! The origin of a column: the scan of the table whose row is changed or locked.
//!
//! Under READ COMMITTED a row that somebody else has changed is looked at again before it is changed
//! or locked: the plan is run once more with the newest state of the row in the place of the scan,
//! and only if a row comes out it is what was looked for (PostgreSQL's EvalPlanQual).

use sql::plan::ExprKind;

use super::{Kind, Node, Scan};

impl Node {
    /// The scan whose column a column of the rows is, unchanged.
    pub fn scan_of(&mut self, column: usize) -> Option<&mut Node> {
        if let Kind::Scan(_) | Kind::Append(_) = self.kind {
            return Some(self);
        }
        match &mut self.kind {
            Kind::Filter { input, .. }
            | Kind::Distinct(input)
            | Kind::Barrier(input)
            | Kind::DistinctOn { input, .. }
            | Kind::Sort { input, .. }
            | Kind::Limit { input, .. }
            | Kind::LockRows { input, .. }
            | Kind::With { input, .. } => input.scan_of(column),
            Kind::ProjectSet { input, .. } | Kind::Window { input, .. } => {
                if column < input.width() { input.scan_of(column) } else { None }
            }
            Kind::Project { input, exprs } => match exprs.get(column)?.kind {
                ExprKind::Column { levels_up: 0, index } => input.scan_of(index as usize),
                _ => None,
            },
            Kind::Join(join) => match column.checked_sub(join.left.width()) {
                None => join.left.scan_of(column),
                Some(column) => join.right.scan_of(column),
            },
            _ => None,
        }
    }

    /// The scan that a column comes from.
    pub fn scanned(&mut self, column: usize) -> Option<Scan> {
        match &self.scan_of(column)?.kind {
            Kind::Scan(scan) => Some((**scan).clone()),
            Kind::Append(append) => Some(append.scan.clone()),
            _ => None,
        }
    }

    /// The plan with one given row in the place of the scan that a column comes from.
    pub fn with_given(&self, column: usize) -> Option<Node> {
        let mut node = self.clone();
        let scan = node.scan_of(column)?;
        let of = match &mut scan.kind {
            Kind::Scan(of) => of,
            Kind::Append(append) => &mut append.scan,
            _ => return None,
        };
        let conditions = [of.sure.take(), of.condition.take()];
        scan.kind = Kind::Given;
        for condition in conditions.into_iter().flatten() {
            let types = scan.types.clone();
            let given = std::mem::replace(scan, Node { kind: Kind::Given, types: types.clone() });
            *scan = Node { kind: Kind::Filter { input: Box::new(given), condition }, types };
        }
        Some(node)
    }
}
