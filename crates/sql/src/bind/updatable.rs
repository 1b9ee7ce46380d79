//! Views that can be changed: those that show columns of one table, row by row.
//!
//! ```text
//!   create view adult as select id, name as who from person where age >= 18
//!
//!   update adult set who = 'x'       the table  person     id  who  (age)      as the view names it
//!                                    its rows   of which age >= 18
//! ```
//!
//! A change of such a view is the change of its table under the names of the view. Columns that the
//! view does not show have names that nobody can write, and take their defaults. Of a view over a
//! view the rows are those that both show.
//!
//! Views that compute columns cannot be changed; PostgreSQL lets their other columns be.

use std::sync::Arc;

use types::SqlState;

use super::Binder;
use super::from::VIEWS_MAX;
use super::names::{CheckOption, ColumnDefault, Relation, RelationKind};
use super::scope::{Clause, Item};
use super::select::filtered;
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, Body, Distinct, ExprKind as Ast, Source};
use crate::plan::{Column, Expr, Node, Plan};

/// A table as the views over it show it.
pub(super) struct Shown {
    /// The table itself.
    pub base: Arc<Relation>,
    /// The table with the names of the view.
    pub relation: Arc<Relation>,
    /// The places of the columns that the view shows, in its order.
    pub order: Vec<usize>,
    /// The views, the innermost first.
    pub layers: Vec<Layer>,
}

/// One of the views that a table is shown through.
pub(super) struct Layer {
    /// The view.
    pub view: Arc<Relation>,
    /// The places in the table of the columns that it shows, in its order.
    order: Vec<usize>,
    /// Which rows it shows: the condition, with the name and the names of columns of what it is over.
    filter: Option<(ast::Expr, String, Arc<Relation>)>,
}

impl Layer {
    /// The number that a column of the table has in the view.
    pub fn attnum_of(&self, attnum: i16, base: &Relation) -> Option<i16> {
        let place = base.columns.iter().position(|column| column.attnum == attnum)?;
        let shown = self.order.iter().position(|known| *known == place)?;
        Some(self.view.columns.get(shown)?.attnum)
    }
}

/// Why rows cannot be written through a view of this query, in PostgreSQL's words; `None` where they can.
pub fn why_not_updatable(query: &ast::Query, plan: &Plan) -> Option<&'static str> {
    let has_column = |select: &ast::Select| {
        let mut outputs = select.outputs.iter();
        outputs.any(|output| matches!(output.expr.kind, Ast::Star(_) | Ast::Column(_)))
    };
    obstacle(query).or_else(|| returned(plan)).or(match &query.body {
        Body::Select(select) if !has_column(select) => {
            Some("Views that have no updatable columns are not automatically updatable.")
        }
        _ => None,
    })
}

/// What a view returns that is no column.
fn returned(plan: &Plan) -> Option<&'static str> {
    Some(match &plan.node {
        Node::Project { input, .. } | Node::Filter { input, .. } => return returned(input),
        Node::Aggregate(_) => {
            "Views that return aggregate functions are not automatically updatable."
        }
        Node::Window { .. } => {
            "Views that return window functions are not automatically updatable."
        }
        Node::ProjectSet { .. } => {
            "Views that return set-returning functions are not automatically updatable."
        }
        _ => return None,
    })
}

/// What a view that cannot be changed has.
fn obstacle(query: &ast::Query) -> Option<&'static str> {
    let Body::Select(select) = &query.body else {
        return Some(
            "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.",
        );
    };
    Some(match () {
        () if select.distinct != Distinct::No => {
            "Views containing DISTINCT are not automatically updatable."
        }
        () if !select.group.is_empty() => {
            "Views containing GROUP BY are not automatically updatable."
        }
        () if select.having.is_some() => "Views containing HAVING are not automatically updatable.",
        () if query.with.is_some() => "Views containing WITH are not automatically updatable.",
        () if query.limit.is_some() || query.offset.is_some() => {
            "Views containing LIMIT or OFFSET are not automatically updatable."
        }
        () => match &select.from[..] {
            [Source::Table(table)] if table.sample.is_none() && table.moment.is_none() => {
                return None;
            }
            [Source::Table(_)] => "Views containing TABLESAMPLE are not automatically updatable.",
            _ => {
                "Views that do not select from a single table or view are not automatically \
                 updatable."
            }
        },
    })
}

impl Binder<'_> {
    /// The table behind a view that is to be changed; none where it is a table already.
    pub(super) fn shown(&mut self, table: &ast::TableRef, verb: &str) -> Result<Option<Shown>> {
        let relation = self.relation(&table.name)?;
        match &relation.kind {
            RelationKind::View(text) => {
                let by = self.by.replace(relation.owner);
                let shown = self.shown_by(&relation, text, verb, 0);
                self.by = by;
                shown.map(Some)
            }
            _ => Ok(None),
        }
    }

    fn shown_by(
        &mut self,
        view: &Arc<Relation>,
        text: &str,
        verb: &str,
        depth: usize,
    ) -> Result<Shown> {
        let refused = |detail: &str| {
            let (doing, event) = match verb {
                "insert into" => ("inserting into", "INSERT"),
                "update" => ("updating", "UPDATE"),
                _ => ("deleting from", "DELETE"),
            };
            Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("cannot {verb} view \"{}\"", view.name),
            )
            .detail(detail.to_owned())
            .hint(format!(
                "To enable {doing} the view, provide an INSTEAD OF {event} trigger or an \
                 unconditional ON {event} DO INSTEAD rule."
            ))
        };
        let without_place = |error: Error| Error { at: At::NONE, ..error };
        let parsed = crate::parse::statements(text).map_err(without_place)?;
        let [crate::parse::Parsed { statement: ast::Statement::Query(query), .. }] = &parsed[..]
        else {
            let message = format!("view \"{}\" is no query", view.name);
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        };
        if let Some(detail) = obstacle(query) {
            return Err(refused(detail));
        }
        let (Body::Select(select), true) = (&query.body, depth < VIEWS_MAX) else {
            return Err(refused("Views are nested too deep."));
        };
        let [Source::Table(table)] = &select.from[..] else {
            return Err(refused("The view selects from no table."));
        };
        let under = self.relation(&table.name).map_err(without_place)?;
        let inner = match &under.kind {
            RelationKind::Table => Shown {
                base: under.clone(),
                relation: under.clone(),
                order: (0..under.columns.len()).collect(),
                layers: Vec::new(),
            },
            RelationKind::View(text) => self.shown_by(&under, text, verb, depth + 1)?,
            _ => {
                return Err(refused(
                    "Views that do not select from a single table or view are not automatically \
                     updatable.",
                ));
            }
        };
        let order = self.places_shown(select, table, &inner, view)?;
        let mut relation = Relation::clone(&inner.relation);
        for column in &mut relation.columns {
            column.name = format!("\0{}", column.attnum);
        }
        for (place, column) in order.iter().zip(&view.columns) {
            let shown = &mut relation.columns[*place];
            shown.name.clone_from(&column.name);
            // A default of the view goes before that of what it shows.
            let is_fixed = matches!(
                shown.default,
                ColumnDefault::Generated(_) | ColumnDefault::Identity { always: true, .. }
            );
            if let (ColumnDefault::Expr(_), false) = (&column.default, is_fixed) {
                shown.default.clone_from(&column.default);
            }
        }
        relation.name.clone_from(&view.name);
        relation.schema.clone_from(&view.schema);
        relation.row_type = view.row_type;
        let filter = select.filter.as_ref().map(|filter| {
            let alias = table.alias.as_ref();
            let name = alias.map_or(table.name.last(), |alias| alias.name.text.as_str());
            (filter.clone(), name.to_owned(), inner.relation)
        });
        let mut layers = inner.layers;
        layers.push(Layer { view: view.clone(), order: order.clone(), filter });
        Ok(Shown { base: inner.base, relation: Arc::new(relation), order, layers })
    }

    /// The places of the table's columns that the outputs of a view are.
    fn places_shown(
        &self,
        select: &ast::Select,
        table: &ast::TableRef,
        inner: &Shown,
        view: &Relation,
    ) -> Result<Vec<usize>> {
        let unsupported = |what: &str| {
            let message =
                format!("changing view \"{}\", which {what}, is not supported", view.name);
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        };
        if table.alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return Err(unsupported("renames the columns of its table in FROM"));
        }
        let mut order = Vec::with_capacity(view.columns.len());
        for output in &select.outputs {
            match &output.expr.kind {
                Ast::Star(_) => order.extend(&inner.order),
                Ast::Column(names) => {
                    let name = names.last().map(|name| name.text.as_str());
                    let place = inner
                        .relation
                        .columns
                        .iter()
                        .position(|column| Some(column.name.as_str()) == name);
                    order.push(place.ok_or_else(|| unsupported("computes columns"))?);
                }
                _ => return Err(unsupported("computes columns")),
            }
        }
        let is_repeated = |(at, place): (usize, &usize)| order[..at].contains(place);
        if order.iter().enumerate().any(is_repeated) {
            return Err(unsupported("shows a column twice"));
        }
        Ok(order)
    }

    /// The rows of the table that the view shows, of which `plan` is the scan.
    pub(super) fn rows_shown(&mut self, shown: &Shown, mut plan: Plan) -> Result<Plan> {
        for (place, layer) in shown.layers.iter().enumerate() {
            let Some((filter, name, relation)) = &layer.filter else { continue };
            let under = place.checked_sub(1).map(|place| &shown.layers[place]);
            self.use_under(&plan.columns, shown, layer, under);
            let columns = &plan.columns[..relation.columns.len()];
            let condition = self.condition_of(layer, filter, name, relation, columns)?;
            if let Some(condition) = condition {
                plan = filtered(plan, condition);
            }
        }
        Ok(plan)
    }

    /// The condition of a view over columns of the table.
    fn condition_of(
        &mut self,
        layer: &Layer,
        filter: &ast::Expr,
        name: &str,
        relation: &Relation,
        columns: &[Column],
    ) -> Result<Option<Expr>> {
        let mut item = Item::named(name, columns);
        for (shown, column) in item.columns.iter_mut().zip(&relation.columns) {
            shown.name.clone_from(&column.name);
        }
        let scopes = std::mem::take(&mut self.scopes);
        let by = self.by.replace(layer.view.owner);
        self.enter();
        self.scope().items.push(item);
        let condition = self.where_clause(Some(filter), Clause::WHERE);
        self.leave();
        self.by = by;
        self.scopes = scopes;
        condition.map_err(|error| Error { at: At::NONE, ..error })
    }

    /// What the views ask of a row that is written through them (`WITH CHECK OPTION`), the innermost
    /// first.
    pub(super) fn view_checks(
        &mut self,
        shown: Option<&Shown>,
        row: &[Column],
    ) -> Result<Vec<(String, Expr)>> {
        let layers = shown.map_or(&[][..], |shown| &shown.layers);
        let (mut checks, mut all) = (Vec::new(), false);
        for layer in layers.iter().rev() {
            let option = layer.view.check;
            if let (Some((filter, name, relation)), true) =
                (&layer.filter, all || option != CheckOption::None)
            {
                let condition = self.condition_of(layer, filter, name, relation, row)?;
                checks.extend(condition.map(|condition| (layer.view.name.clone(), condition)));
            }
            all |= option == CheckOption::Cascaded;
        }
        checks.reverse();
        Ok(checks)
    }

    /// The columns of the table show what is under a view, which its owner reads.
    fn use_under(
        &mut self,
        columns: &[Column],
        shown: &Shown,
        layer: &Layer,
        under: Option<&Layer>,
    ) {
        let by = self.by.replace(layer.view.owner);
        let used = self.use_of(under.map_or(shown.base.oid, |under| under.view.oid));
        self.by = by;
        for (column, known) in columns.iter().zip(&shown.base.columns) {
            let attnum = match under {
                None => Some(known.attnum),
                Some(under) => under.attnum_of(known.attnum, &shown.base),
            };
            self.sources[column.id as usize] = attnum.map(|attnum| (used, attnum));
        }
    }

    /// The columns of an item in the order of the view, and none that it does not show.
    pub(super) fn arrange(&self, shown: &Shown, item: &mut Item) {
        let all = item.columns.clone();
        item.columns = shown.order.iter().map(|place| all[*place].clone()).collect();
    }
}
