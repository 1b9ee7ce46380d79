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
//! Columns that a view computes, or shows a second time, are read and not written. They follow from the row:
//! they are added to the rows of the scan, and computed anew over a row that was written, for `RETURNING`
//! and `WITH CHECK OPTION`.

use std::sync::Arc;

use types::{Modifier, SqlState, Type};

use super::Binder;
use super::from::{VIEWS_MAX, append};
use super::names::{CheckOption, ColumnDefault, Relation, RelationKind};
use super::policy::barrier;
use super::scope::{Clause, Item, ItemColumn};
use super::select::filtered;
use crate::error::{At, Error, Result};
use crate::parse::ast::{self, Body, Distinct, ExprKind as Ast, Source};
use crate::plan::{CheckedBy, Column, Expr, ExprKind, Node, Plan, RowCheck};

/// A table as the views over it show it.
pub(super) struct Shown {
    /// The table itself.
    pub base: Arc<Relation>,
    /// The table with the names of the view.
    pub relation: Arc<Relation>,
    /// The outputs of the view, in its order.
    pub order: Vec<Shows>,
    /// The views, the innermost first.
    pub layers: Vec<Layer>,
    /// The expressions that the views compute, the innermost first.
    pub computed: Vec<Computed>,
}

/// The kind of a column of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shows {
    /// A column of the table, by its place.
    Column(usize),
    /// Computed: the place among [`Shown::computed`].
    Computed(usize),
}

/// A column that a view computes.
pub(super) struct Computed {
    /// The view, by its place among the layers.
    layer: usize,
    name: String,
    expr: ast::Expr,
    ty: Type,
    modifier: Modifier,
}

/// One of the views that a table is shown through.
pub(super) struct Layer {
    /// The view.
    pub view: Arc<Relation>,
    /// Its outputs, in its order.
    order: Vec<Shows>,
    /// The relation below: its name, and its columns by their names.
    from: (String, Vec<(String, Shows)>),
    /// Which rows it shows.
    filter: Option<ast::Expr>,
}

impl Layer {
    /// The number that a column of the table has in the view.
    pub fn attnum_of(&self, attnum: i16, base: &Relation) -> Option<i16> {
        let place = base.columns.iter().position(|column| column.attnum == attnum)?;
        let shown = self.order.iter().position(|known| *known == Shows::Column(place))?;
        Some(self.view.columns.get(shown)?.attnum)
    }
}

/// The change that a statement makes through a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Insert,
    Update,
    Delete,
    /// `MERGE`, with the first of its actions.
    Merge(&'static Verb),
}

impl Verb {
    /// The words of the action: of a message, of a hint, and its event.
    fn words(self) -> [&'static str; 3] {
        match self {
            Verb::Insert => ["insert into", "inserting into", "INSERT"],
            Verb::Update => ["update", "updating", "UPDATE"],
            Verb::Delete => ["delete from", "deleting from", "DELETE"],
            Verb::Merge(action) => action.words(),
        }
    }
}

/// Why rows cannot be written through a view of this query, in PostgreSQL's words; `None` if they can.
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

/// The kind of an output of a view that is no column.
fn returned(plan: &Plan) -> Option<&'static str> {
    Some(match &plan.node {
        Node::Project { input, .. } | Node::Filter { input, .. } | Node::Barrier(input) => {
            return returned(input);
        }
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

/// The clause that keeps a view from being changed.
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
    /// The table behind a view that is to be changed; none if it is a table already.
    pub(super) fn shown(&mut self, table: &ast::TableRef, verb: Verb) -> Result<Option<Shown>> {
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
        verb: Verb,
        depth: usize,
    ) -> Result<Shown> {
        let refused = |detail: &str| {
            let [doing_it, doing, event] = verb.words();
            let hint = match verb {
                Verb::Merge(_) => format!(
                    "To enable {doing} the view using MERGE, provide an INSTEAD OF {event} trigger."
                ),
                _ => format!(
                    "To enable {doing} the view, provide an INSTEAD OF {event} trigger or an \
                     unconditional ON {event} DO INSTEAD rule."
                ),
            };
            let message = format!("cannot {doing_it} view \"{}\"", view.name);
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .detail(detail.to_owned())
                .hint(hint)
        };
        let without_place = |error: Error| Error { at: At::NONE, ..error };
        let parsed = crate::parse::statements(text).map_err(without_place)?;
        let [crate::parse::Parsed { statement, .. }] = &parsed[..] else {
            let message = format!("view \"{}\" is no query", view.name);
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        };
        let ast::Statement::Query(query) = statement else {
            return Err(refused("The view is no query."));
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
        let mut shown = match &under.kind {
            RelationKind::Table => Shown {
                base: under.clone(),
                relation: under.clone(),
                order: (0..under.columns.len()).map(Shows::Column).collect(),
                layers: Vec::new(),
                computed: Vec::new(),
            },
            RelationKind::View(text) => self.shown_by(&under, text, verb, depth + 1)?,
            _ => {
                return Err(refused(
                    "Views that do not select from a single table or view are not automatically \
                     updatable.",
                ));
            }
        };
        let alias = table.alias.as_ref();
        if alias.is_some_and(|alias| !alias.columns.is_empty()) {
            let message = format!(
                "changing view \"{}\", which renames the columns of its table in FROM, is not \
                 supported",
                view.name
            );
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let names = under.columns.iter().map(|column| column.name.clone());
        let columns: Vec<(String, Shows)> = names.zip(shown.order.iter().copied()).collect();
        let before = shown.computed.len();
        let order = show(select, &columns, view, &mut shown);
        if shown.computed.len() > before {
            // A computed column may be an aggregate, a window or a set.
            let bound = crate::bind::statement(statement, self.names, self.context, &[]);
            if let Some(detail) = returned(&bound.map_err(without_place)?.plan) {
                return Err(refused(detail));
            }
            let has_column = order.iter().any(|shows| matches!(shows, Shows::Column(_)));
            if !has_column && verb.words()[2] != "DELETE" {
                let detail =
                    "Views that have no updatable columns are not automatically updatable.";
                return Err(refused(detail));
            }
        }
        shown.relation = Arc::new(renamed(&shown.relation, view, &order));
        let name = alias.map_or(table.name.last(), |alias| alias.name.text.as_str());
        shown.layers.push(Layer {
            view: view.clone(),
            order: order.clone(),
            from: (name.to_owned(), columns),
            filter: select.filter.clone(),
        });
        shown.order = order;
        Ok(shown)
    }

    /// Fails if a column is to be given a value that the view computes.
    pub(super) fn check_given<'t>(
        &self,
        shown: Option<&Shown>,
        verb: Verb,
        mut targets: impl Iterator<Item = &'t str>,
    ) -> Result<()> {
        let Some(shown) = shown else { return Ok(()) };
        let Some(view) = shown.layers.last().map(|layer| &layer.view) else { return Ok(()) };
        let is_computed = |name: &&str| {
            let mut columns = view.columns.iter().zip(&shown.order);
            columns
                .any(|(column, shows)| column.name == **name && matches!(shows, Shows::Computed(_)))
        };
        let Some(name) = targets.find(is_computed) else { return Ok(()) };
        let doing = match verb {
            Verb::Merge(_) => "merge into",
            verb => verb.words()[0],
        };
        let message = format!("cannot {doing} column \"{name}\" of view \"{}\"", view.name);
        let detail = "View columns that are not columns of their base relation are not updatable.";
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail))
    }

    /// The rows of the table that the view shows, of which `plan` is the scan, and the columns that it
    /// computes.
    pub(super) fn rows_shown(
        &mut self,
        shown: &Shown,
        mut plan: Plan,
    ) -> Result<(Plan, Vec<Column>)> {
        let row = plan.columns.clone();
        let mut computed = Vec::new();
        for (place, layer) in shown.layers.iter().enumerate() {
            let under = place.checked_sub(1).map(|place| &shown.layers[place]);
            self.use_under(&row, shown, layer, under);
            if let Some(condition) = self.condition_of(layer, &row, &computed)? {
                plan = filtered(plan, condition);
                if layer.view.is_barrier {
                    plan = barrier(plan);
                }
            }
            let mut added = Vec::new();
            for known in shown.computed.iter().filter(|known| known.layer == place) {
                let expr = self.computed_by(known, layer, &row, &computed)?;
                added.push((expr, self.column(&*known.name, known.ty, known.modifier, None)));
            }
            computed.extend(added.iter().map(|(_, column)| column.clone()));
            plan = append(plan, added);
        }
        Ok((plan, computed))
    }

    /// The values that the views compute from a row, each in its column. The expressions name columns of
    /// the row alone.
    pub(super) fn computed_over(
        &mut self,
        shown: Option<&Shown>,
        row: &[Column],
    ) -> Result<Vec<(Expr, Column)>> {
        let mut made: Vec<(Expr, Column)> = Vec::new();
        let Some(shown) = shown else { return Ok(made) };
        for known in &shown.computed {
            let before: Vec<Column> = made.iter().map(|(_, column)| column.clone()).collect();
            let layer = &shown.layers[known.layer];
            // It was read when the rows were.
            let mut expr = self.keeping(|binder| binder.computed_by(known, layer, row, &before))?;
            substitute(&mut expr, &made);
            made.push((expr, self.column(&*known.name, known.ty, known.modifier, None)));
        }
        Ok(made)
    }

    fn computed_by(
        &mut self,
        known: &Computed,
        layer: &Layer,
        row: &[Column],
        computed: &[Column],
    ) -> Result<Expr> {
        self.in_layer(layer, row, computed, |binder| {
            let expr = binder.within(Clause::SELECT, |binder| binder.expr(&known.expr))?;
            binder.settle(expr)
        })
    }

    /// The condition of a view over columns of the table, and what views below it compute.
    fn condition_of(
        &mut self,
        layer: &Layer,
        row: &[Column],
        computed: &[Column],
    ) -> Result<Option<Expr>> {
        self.in_layer(layer, row, computed, |binder| {
            binder.where_clause(layer.filter.as_ref(), Clause::WHERE)
        })
    }

    /// Binds a part of a view, in the name of its owner, where what the view is over is in sight.
    fn in_layer<T>(
        &mut self,
        layer: &Layer,
        row: &[Column],
        computed: &[Column],
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let (name, columns) = &layer.from;
        let shown = columns.iter().map(|(name, shows)| {
            let column = match shows {
                Shows::Column(place) => row[*place].clone(),
                Shows::Computed(place) => computed[*place].clone(),
            };
            ItemColumn { name: name.clone(), column, hidden: false, is_renamed: false }
        });
        let item = Item { columns: shown.collect(), ..Item::named(name, &[]) };
        let scopes = std::mem::take(&mut self.scopes);
        let before = self.by;
        self.by = self.reader_of(&layer.view);
        self.enter();
        self.scope().items.push(item);
        let bound = bind(self);
        self.leave();
        self.by = before;
        self.scopes = scopes;
        bound.map_err(|error| Error { at: At::NONE, ..error })
    }

    /// The conditions of the views on a row that is written through them (`WITH CHECK OPTION`), the
    /// innermost first.
    pub(super) fn view_checks(
        &mut self,
        shown: Option<&Shown>,
        row: &[Column],
    ) -> Result<Vec<RowCheck>> {
        let computed = self.computed_over(shown, row)?;
        let columns: Vec<Column> = computed.iter().map(|(_, column)| column.clone()).collect();
        let layers = shown.map_or(&[][..], |shown| &shown.layers);
        let (mut checks, mut all) = (Vec::new(), false);
        for layer in layers.iter().rev() {
            let option = layer.view.check;
            if all || option != CheckOption::None {
                let condition = self.keeping(|binder| binder.condition_of(layer, row, &columns))?;
                checks.extend(condition.map(|mut condition| {
                    substitute(&mut condition, &computed);
                    let by = CheckedBy::View(layer.view.name.clone());
                    RowCheck { by, of: None, expr: condition }
                }));
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
        let before = self.by;
        self.by = self.reader_of(&layer.view);
        let used = self.use_of(under.map_or(shown.base.oid, |under| under.view.oid));
        self.by = before;
        for (column, known) in columns.iter().zip(&shown.base.columns) {
            let attnum = match under {
                None => Some(known.attnum),
                Some(under) => under.attnum_of(known.attnum, &shown.base),
            };
            self.sources[column.id as usize] = attnum.map(|attnum| (used, attnum));
        }
    }

    /// The columns of an item in the order of the view, and none that it does not show. The view is counted
    /// among what is used at `used`.
    pub(super) fn arrange(
        &mut self,
        shown: &Shown,
        item: &mut Item,
        computed: &[Column],
        used: usize,
    ) {
        let all = item.columns.clone();
        let Some(view) = shown.layers.last().map(|layer| &layer.view) else { return };
        let columns = shown.order.iter().zip(&view.columns).map(|(shows, column)| match shows {
            Shows::Column(place) => all[*place].clone(),
            Shows::Computed(place) => {
                let (name, column_of) = (column.name.clone(), computed[*place].clone());
                self.sources[column_of.id as usize] = Some((used, column.attnum));
                ItemColumn { name, column: column_of, hidden: false, is_renamed: false }
            }
        });
        item.columns = columns.collect();
    }
}

/// The outputs of a view: columns of the relation below, and expressions.
fn show(
    select: &ast::Select,
    columns: &[(String, Shows)],
    view: &Relation,
    shown: &mut Shown,
) -> Vec<Shows> {
    let mut order = Vec::with_capacity(view.columns.len());
    for output in &select.outputs {
        if let Ast::Star(_) = output.expr.kind {
            order.extend(columns.iter().map(|(_, shows)| *shows));
            continue;
        }
        let found = match &output.expr.kind {
            Ast::Column(names) => {
                let name = names.last().map(|name| name.text.as_str());
                columns.iter().find(|(known, _)| Some(known.as_str()) == name)
            }
            _ => None,
        };
        // A column that is shown a second time is written by its first name.
        let found = found.map(|(_, shows)| *shows).filter(|shows| !order.contains(shows));
        order.push(found.unwrap_or_else(|| {
            let column = view.columns.get(order.len());
            shown.computed.push(Computed {
                layer: shown.layers.len(),
                name: column.map(|column| column.name.clone()).unwrap_or_default(),
                expr: output.expr.clone(),
                ty: column.map_or(Type::TEXT, |column| column.ty),
                modifier: column.map_or(Modifier::NONE, |column| column.modifier),
            });
            Shows::Computed(shown.computed.len() - 1)
        }));
    }
    order
}

/// A table with the names of a view.
fn renamed(under: &Relation, view: &Relation, order: &[Shows]) -> Relation {
    let mut relation = under.clone();
    for column in &mut relation.columns {
        column.name = format!("\0{}", column.attnum);
    }
    for (shows, column) in order.iter().zip(&view.columns) {
        let Shows::Column(place) = shows else { continue };
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
    relation
}

/// Puts what is computed in the place of its columns.
pub(super) fn substitute(expr: &mut Expr, computed: &[(Expr, Column)]) {
    if computed.is_empty() {
        return;
    }
    super::walk::everywhere(expr, &mut |part| {
        if let ExprKind::Column { index, .. } = part.kind
            && let Some((value, _)) = computed.iter().find(|(_, column)| column.id == index)
        {
            let at = part.at;
            *part = value.clone();
            part.at = at;
            return false;
        }
        true
    });
}
