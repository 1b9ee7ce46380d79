//! `FROM`: tables, views, subqueries, functions and joins become a plan and the items in scope.

use std::borrow::Cow;
use std::sync::Arc;

use scalar::cast::CoercionContext;
use types::{Modifier, Shape, SqlState, Type};

use super::join::join_plan;
use super::names::{Relation, RelationKind};
use super::scope::{Clause, Item, ItemColumn, WithTable, reference};
use super::{Binder, policy, walk};
use crate::error::{At, Error, Result};
use crate::outline::{self, ItemKind};
use crate::parse::ast::{self, Alias, ColumnDef, JoinKind, Name, Source, TableRef};
use crate::plan::{Column, Expr, ExprKind, Moment, Node, Origin, Plan, Sample, Scan, system};

/// How deep views may be made of views.
pub(super) const VIEWS_MAX: usize = 32;

/// The system columns of a table, hidden from `*`. The key comes first: changes look for it there.
const SYSTEM: [(&str, i16, Type); 8] = [
    ("_key", system::KEY, Type::BYTEA),
    ("tableoid", system::TABLE, Type::OID),
    ("_system_from", system::FROM, Type::TIMESTAMPTZ),
    ("_system_to", system::TO, Type::TIMESTAMPTZ),
    ("_version", system::VERSION, Type::INT8),
    ("xmin", system::STAMP, Type::XID),
    ("xmax", system::END_STAMP, Type::XID),
    ("ctid", system::ROW, Type::TID),
];

/// A part of `FROM`, bound.
pub(super) struct Part {
    pub plan: Plan,
    pub items: Vec<Item>,
    /// The outline of the source; `None` unless the binder makes one.
    pub outline: Option<outline::Source>,
}

impl Binder<'_> {
    /// The items of a `FROM` clause, all together.
    pub(super) fn from(&mut self, sources: &[Source]) -> Result<Plan> {
        let mut whole: Option<Plan> = None;
        for source in sources {
            let part = self.source(source)?;
            self.check_names(&part.items)?;
            let added = part.items.len();
            self.scope().items.extend(part.items);
            self.scope().clauses.from.extend(part.outline);
            // Until all are there, only lateral items see those before them.
            for item in &mut self.scope().items {
                item.lateral_only = true;
            }
            debug_assert!(added > 0, "a source has an item");
            whole = Some(match whole {
                None => part.plan,
                Some(left) => join_plan(JoinKind::Inner, left, part.plan, None),
            });
        }
        for item in &mut self.scope().items {
            item.lateral_only = false;
            item.lateral_ok = true;
        }
        Ok(whole.unwrap_or_else(Plan::one_row))
    }

    /// Items of one `FROM` have different names.
    fn check_names(&mut self, items: &[Item]) -> Result<()> {
        for item in items.iter().filter(|item| item.by_name) {
            let clash = self.scope().items.iter().any(|other| {
                other.by_name
                    && other.name == item.name
                    && !(other.schema != item.schema
                        && other.schema.is_some()
                        && item.schema.is_some())
            });
            if let (true, Some(name)) = (clash, &item.name) {
                return Err(Error::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{name}\" specified more than once"),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn source(&mut self, source: &Source) -> Result<Part> {
        match source {
            Source::Table(table) => self.table(table),
            Source::Subquery { query, lateral, alias, at: _ } => self.lateral(*lateral, |binder| {
                let name = alias.as_ref().map(|alias| alias.name.text.as_str());
                let locks = binder.locks_of(name);
                let plan = binder.query(&locked(query, locks), true)?;
                let kind = binder.take_outline().map(ItemKind::Query);
                binder.adopt(&plan.columns);
                let (name, by_name) = match alias {
                    Some(alias) => (alias.name.text.clone(), true),
                    None => (String::new(), false),
                };
                let mut item =
                    Item { by_name, locks_inside: true, ..Item::named(name, &plan.columns) };
                if let Some(alias) = alias {
                    rename(&mut item, alias)?;
                } else {
                    item.name = None;
                }
                let own_names = plan.columns.iter().map(|column| column.name.clone()).collect();
                let mut outline = binder.outline_item(kind, &item, alias.as_ref(), own_names);
                if let Some(outline::Source::Item(item)) = &mut outline {
                    item.lateral = *lateral;
                }
                Ok(Part { plan, items: vec![item], outline })
            }),
            Source::Functions { calls, ordinality, lateral: _, alias, columns, at } => {
                if let [(expr, _)] = &calls[..]
                    && let Some(call) = super::file::reader_call(expr)
                {
                    return self.file(call, *ordinality, alias.as_ref(), *at);
                }
                // Functions are lateral whether it is written or not.
                self.lateral(true, |binder| {
                    binder.functions(calls, *ordinality, alias.as_ref(), columns, *at)
                })
            }
            Source::Join(join) => self.join(join),
        }
    }

    /// The locks that a query or view of this name in `FROM` takes on its own rows.
    fn locks_of(&mut self, name: Option<&str>) -> Vec<ast::Lock> {
        let about = |lock: &&ast::Lock| {
            lock.of.is_empty() || lock.of.iter().any(|path| Some(path.last()) == name)
        };
        let locks = self.scope().locks.iter().filter(about);
        locks.map(|lock| ast::Lock { of: Vec::new(), ..lock.clone() }).collect()
    }

    fn lateral<T>(
        &mut self,
        lateral: bool,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.scope().lateral, lateral);
        let result = bind(self);
        self.scope().lateral = before;
        result
    }

    /// A table, a view, or a table of `WITH`.
    fn table(&mut self, table: &TableRef) -> Result<Part> {
        let target = self.target.take();
        // A statement changes a table, also where a table of its `WITH` has the name.
        if let ([name], None) = (&table.name.parts[..], target)
            && let Some(part) = self.with_table(name, table)?
        {
            return Ok(part);
        }
        let relation = self.relation(&table.name)?;
        let moment = self.moment(table.moment.as_ref(), &relation, table.name.at())?;
        let said = moment.clone();
        // A sequence is a row of its state.
        let kind = match &relation.kind {
            RelationKind::Sequence => RelationKind::View(format!(
                "select * from pg_catalog.sequence_state({}::pg_catalog.oid::pg_catalog.regclass)",
                relation.oid.0
            )),
            kind => kind.clone(),
        };
        match &kind {
            RelationKind::View(text) => {
                let name = alias_name(table);
                let locks = self.locks_of(Some(&name));
                let used = self.use_of(relation.oid);
                self.uses.relations[used].reads.get_or_insert_default();
                if !locks.is_empty() {
                    self.uses.relations[used].updates.get_or_insert_default();
                }
                let plan = self.view(&relation, &text.clone(), moment, locks)?;
                let attnums = relation.columns.iter().map(|column| column.attnum);
                self.show_used(used, &plan.columns, attnums);
                let mut item = Item {
                    relation: Some(relation.clone()),
                    schema: table.alias.is_none().then(|| relation.schema.clone()),
                    row_type: relation.row_type,
                    locks_inside: true,
                    ..Item::named(name, &plan.columns)
                };
                rename_table(&mut item, table)?;
                let said = table.moment.is_some().then_some(said);
                let outline = self.outline_table(table, &relation, said, None, &item);
                Ok(Part { plan, items: vec![item], outline })
            }
            RelationKind::Index | RelationKind::CompositeType => {
                let message = format!("cannot open relation \"{}\"", relation.name);
                let plural = if relation.kind == RelationKind::Index {
                    "indexes"
                } else {
                    "composite types"
                };
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .detail(format!("This operation is not supported for {plural}."))
                    .at(table.name.at()))
            }
            _ => {
                let used = self.use_of(relation.oid);
                self.uses.relations[used].reads.get_or_insert_default();
                let access = match target {
                    Some(access) => access,
                    None => {
                        let locks = self.locks_of(Some(&alias_name(table)));
                        policy::Access::read(!locks.is_empty())
                    }
                };
                let mut part = self.scan(table, &relation, moment)?;
                self.show_scanned(used, &part.plan);
                part.plan = self.secured(part.plan, &relation, access)?;
                Ok(part)
            }
        }
    }

    /// The relation with a name, which must be there.
    pub(super) fn relation(&mut self, path: &ast::Path) -> Result<Arc<Relation>> {
        let (schema, name) = path.split(|database| self.names.is_database(database))?;
        if let Some(schema) = schema {
            self.use_schema(schema)?;
        }
        let schema = schema.map(|schema| schema.text.as_str());
        self.names.relation(schema, &name.text).ok_or_else(|| {
            let message = format!("relation \"{path}\" does not exist");
            let error = Error::new(SqlState::UNDEFINED_TABLE, message).at(path.at());
            let pending = schema.is_none()
                && self.scopes.iter().any(|scope| scope.pending.contains(&name.text));
            match pending {
                false => error,
                true => error
                    .detail(format!(
                        "There is a WITH item named \"{}\", but it cannot be referenced from this \
                         part of the query.",
                        name.text
                    ))
                    .hint(
                        "Use WITH RECURSIVE, or re-order the WITH items to remove forward \
                         references.",
                    ),
            }
        })
    }

    /// The columns of a relation as columns of a plan.
    pub(super) fn relation_columns(&mut self, relation: &Relation) -> Vec<Column> {
        let mut columns = Vec::with_capacity(relation.columns.len());
        for column in &relation.columns {
            let origin = Origin { relation: relation.oid, attnum: column.attnum };
            let made = self.column(&column.name, column.ty, column.modifier, Some(origin));
            self.set_collation(&made, column.collation);
            columns.push(made);
        }
        columns
    }

    /// Puts a relation's row in sight.
    pub(super) fn show_relation(&mut self, relation: &Relation, row: &[Column]) {
        let item = Item {
            schema: Some(relation.schema.clone()),
            row_type: relation.row_type,
            ..Item::named(&relation.name, row)
        };
        self.scope().items.push(item);
    }

    /// The scan of a table, with its system columns.
    pub(super) fn scan(
        &mut self,
        table: &TableRef,
        relation: &Arc<Relation>,
        moment: Moment,
    ) -> Result<Part> {
        let mut columns = self.relation_columns(relation);
        let name = alias_name(table);
        let mut item = Item {
            relation: Some(relation.clone()),
            schema: table.alias.is_none().then(|| relation.schema.clone()),
            row_type: relation.row_type,
            ..Item::named(&name, &columns)
        };
        rename_table(&mut item, table)?;
        let mut attnums: Vec<i16> = relation.columns.iter().map(|column| column.attnum).collect();
        let stored =
            matches!(relation.kind, RelationKind::Table | RelationKind::Materialized { .. });
        if relation.kind == (RelationKind::Materialized { is_populated: false })
            && matches!(moment, Moment::Now)
        {
            self.uses.unpopulated.get_or_insert_with(|| relation.name.clone());
        }
        for (column_name, attnum, ty) in SYSTEM {
            let there = match attnum {
                system::TABLE => true,
                system::KEY | system::ROW | system::STAMP | system::END_STAMP => stored,
                _ => stored && relation.versioned,
            };
            // Tables of earlier releases may have columns of these names.
            let is_hidden = relation.columns.iter().any(|known| known.name == column_name);
            if !there || is_hidden && attnum != system::KEY {
                continue;
            }
            let column = self.column(column_name, ty, Modifier::NONE, None);
            if attnum == system::KEY {
                item.key = Some(column.clone());
            } else {
                let name = column_name.to_owned();
                let (column, is_renamed) = (column.clone(), false);
                item.columns.push(ItemColumn { name, column, hidden: true, is_renamed });
            }
            columns.push(column);
            attnums.push(attnum);
        }
        let sample = match &table.sample {
            Some(sample) => Some(self.sample(sample)?),
            None => None,
        };
        let scan = Scan {
            relation: relation.oid,
            name: relation.name.clone(),
            alias: name,
            computed: relation.kind == RelationKind::System,
            only: table.only,
            attnums,
            moment,
            sample,
        };
        let moment = table.moment.is_some().then(|| scan.moment.clone());
        let outline = self.outline_table(table, relation, moment, scan.sample.clone(), &item);
        let plan = Plan { node: Node::Scan(Box::new(scan)), columns };
        Ok(Part { plan, items: vec![item], outline })
    }

    fn outline_table(
        &self,
        table: &TableRef,
        relation: &Relation,
        moment: Option<Moment>,
        sample: Option<Sample>,
        item: &Item,
    ) -> Option<outline::Source> {
        if !self.is_outlining() {
            return None;
        }
        let own_names = relation.columns.iter().map(|column| column.name.clone()).collect();
        let only = table.only;
        let kind = ItemKind::Relation { relation: relation.oid, only, moment, sample };
        self.outline_item(Some(kind), item, table.alias.as_ref(), own_names)
    }

    fn sample(&mut self, sample: &ast::Sample) -> Result<Sample> {
        let system = match sample.method.last() {
            "system" => true,
            "bernoulli" => false,
            other => {
                let message = format!("tablesample method {other} does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(sample.method.at()));
            }
        };
        let [percent] = &sample.args[..] else {
            let message = format!(
                "tablesample method {} requires 1 argument, not {}",
                sample.method.last(),
                sample.args.len()
            );
            return Err(
                Error::new(SqlState::INVALID_TABLESAMPLE_ARGUMENT, message).at(sample.method.at())
            );
        };
        let percent = self.expr(percent)?;
        let percent = self.specific(percent, Type::FLOAT4, "TABLESAMPLE")?;
        let seed = match &sample.seed {
            Some(seed) => {
                let seed = self.expr(seed)?;
                Some(self.specific(seed, Type::FLOAT8, "REPEATABLE")?)
            }
            None => None,
        };
        Ok(Sample { system, percent, seed })
    }

    /// Which states of a relation are read.
    fn moment(
        &mut self,
        moment: Option<&ast::Moment>,
        relation: &Relation,
        at: At,
    ) -> Result<Moment> {
        let Some(moment) = moment else {
            let has_past = relation.versioned || matches!(relation.kind, RelationKind::View(_));
            let inherited = self.moment.clone().filter(|_| has_past);
            return Ok(inherited.unwrap_or(Moment::Now));
        };
        let view = matches!(relation.kind, RelationKind::View(_));
        if !relation.versioned && !view {
            let message = format!("table \"{}\" keeps no history", relation.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(at));
        }
        if view && !matches!(moment, ast::Moment::AsOf(_) | ast::Moment::AtVersion(_)) {
            let message = "a view can be read only as of one moment";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
        }
        self.within(Clause::MOMENT, |binder| {
            Ok(match moment {
                ast::Moment::AsOf(time) => Moment::AsOf(binder.time(time)?),
                ast::Moment::AtVersion(version) => {
                    let version = binder.constant(version)?;
                    Moment::AtVersion(binder.specific(version, Type::INT8, "FOR SYSTEM_VERSION")?)
                }
                ast::Moment::FromTo(from, to) => {
                    Moment::FromTo(binder.time(from)?, binder.time(to)?)
                }
                ast::Moment::Between(from, to) => {
                    Moment::Between(binder.time(from)?, binder.time(to)?)
                }
                ast::Moment::ContainedIn(from, to) => {
                    Moment::ContainedIn(binder.time(from)?, binder.time(to)?)
                }
                ast::Moment::All => Moment::All,
            })
        })
    }

    /// A moment. An interval counts from now: `'-10s'` is ten seconds ago.
    fn time(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let time = self.constant(expr)?;
        if time.ty == Type::INTERVAL {
            let now = Expr::of(ExprKind::Keyword("current_timestamp"), Type::TIMESTAMPTZ, time.at);
            return self.operate("+", Some(now), time, expr.at);
        }
        self.specific(time, Type::TIMESTAMPTZ, "FOR SYSTEM_TIME")
    }

    /// An expression that sees no columns.
    fn constant(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let scopes = std::mem::take(&mut self.scopes);
        self.enter();
        self.scope().clause = Clause::MOMENT;
        let result = self.expr(expr);
        self.scopes = scopes;
        result
    }

    /// The query of a view, with the names that the view gives to its columns.
    fn view(
        &mut self,
        view: &Relation,
        text: &str,
        moment: Moment,
        locks: Vec<ast::Lock>,
    ) -> Result<Plan> {
        if self.views == VIEWS_MAX {
            return Err(Error::new(
                SqlState::STATEMENT_TOO_COMPLEX,
                "infinite recursion detected in rules for relation \"".to_owned()
                    + &view.name
                    + "\"",
            ));
        }
        let without_place = |error: Error| Error { at: At::NONE, ..error };
        let parsed = crate::parse::statements(text).map_err(without_place)?;
        let [crate::parse::Parsed { statement: ast::Statement::Query(query), .. }] = &parsed[..]
        else {
            let message = format!("view \"{}\" is no query", view.name);
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        };
        let scopes = std::mem::take(&mut self.scopes);
        let now = matches!(moment, Moment::Now);
        let outer = std::mem::replace(&mut self.moment, (!now).then_some(moment));
        let before = self.by;
        self.by = self.reader_of(view);
        self.views += 1;
        let plan = self.query(&locked(query, locks), true).map_err(without_place);
        self.views -= 1;
        self.by = before;
        self.moment = outer;
        self.scopes = scopes;
        let mut plan = plan?;
        if view.is_barrier {
            plan = policy::barrier(plan);
        }
        self.adopt(&plan.columns);
        for (column, known) in plan.columns.iter_mut().zip(&view.columns) {
            column.name.clone_from(&known.name);
            column.origin = Some(Origin { relation: view.oid, attnum: known.attnum });
        }
        Ok(plan)
    }

    /// A table of `WITH`, where one has the name.
    fn with_table(&mut self, name: &Name, table: &TableRef) -> Result<Option<Part>> {
        let found = self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.tables.iter().find(|known| known.name == name.text))
            .cloned();
        let Some(WithTable { table: number, name: own, columns, working, refused }) = found else {
            return Ok(None);
        };
        if let Some(refused) = refused {
            if refused == super::query::PROBE {
                self.probed = Some(number);
            }
            return Err(
                Error::new(SqlState::INVALID_RECURSION, refused.replace("%", &own)).at(name.at)
            );
        }
        let Some(known) = columns else {
            let message = format!("WITH query \"{own}\" does not have a RETURNING clause");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(name.at));
        };
        let mut columns = Vec::with_capacity(known.len());
        for (column, ty, modifier) in known {
            columns.push(self.column(column, ty, modifier, None));
        }
        self.set_table_collations(number, &columns);
        if working {
            self.scope().is_step = true;
            let tables = self.scopes.iter_mut().flat_map(|scope| &mut scope.tables);
            for known in tables.filter(|known| known.table == number) {
                known.refused =
                    Some("recursive reference to query \"%\" must not appear more than once");
            }
        }
        let node = match working {
            true => Node::WorkTable { table: number, name: own.clone() },
            false => Node::CteScan { table: number, name: own.clone() },
        };
        let own_names = columns.iter().map(|column| column.name.clone()).collect();
        let mut item = Item::named(alias_name(table), &columns);
        rename_table(&mut item, table)?;
        let kind = ItemKind::Cte(own);
        let outline = self.outline_item(Some(kind), &item, table.alias.as_ref(), own_names);
        Ok(Some(Part { plan: Plan { node, columns }, items: vec![item], outline }))
    }

    /// Functions as a table.
    fn functions(
        &mut self,
        calls: &[(ast::Expr, Vec<ColumnDef>)],
        ordinality: bool,
        alias: Option<&Alias>,
        defined: &[ColumnDef],
        at: At,
    ) -> Result<Part> {
        let mut columns = Vec::new();
        let mut functions = Vec::new();
        let mut outlined = Vec::new();
        let mut row_type = Type::RECORD;
        // `unnest(a, b)` is `ROWS FROM (unnest(a), unnest(b))`.
        let spread: Vec<(ast::Expr, Vec<ColumnDef>)> =
            calls.iter().flat_map(spread_unnest).collect();
        for (ast, own) in &spread {
            let defined = if own.is_empty() { defined } else { own };
            let expr = self.within(Clause::FUNCTION, |binder| binder.expr(ast))?;
            let mut expr = self.settle(expr)?;
            self.check_one_set(&expr)?;
            let name =
                alias.map_or_else(|| super::select::output_name(ast), |a| a.name.text.clone());
            let before = columns.len();
            if calls.len() == 1 && self.facts().is_composite(expr.ty) {
                row_type = expr.ty;
            }
            self.function_columns(&expr, &name, defined, at, &mut columns)?;
            if self.is_outlining() {
                let define = |column: &Column| (column.name.clone(), column.ty, column.modifier);
                let defined = match defined.is_empty() {
                    true => Vec::new(),
                    false => columns[before..].iter().map(define).collect(),
                };
                outlined.push((expr.clone(), defined));
            }
            if !defined.is_empty()
                && let ExprKind::Call(call) = &mut expr.kind
            {
                call.args.push(described(&columns[before..], expr.at));
            }
            functions.push((expr, columns.len() - before));
        }
        if ordinality {
            columns.push(self.column("ordinality", Type::INT8, Modifier::NONE, None));
        }
        let name = match alias {
            Some(alias) => alias.name.text.clone(),
            None => super::select::output_name(&spread[0].0),
        };
        let single = functions.len() == 1 && columns.len() == 1;
        let mut item = Item { row_type, ..Item::named(name, &columns) };
        if let Some(alias) = alias {
            rename(&mut item, alias)?;
        }
        if single {
            item.row_type = columns[0].ty;
        }
        let own_names = columns.iter().map(|column| column.name.clone()).collect();
        let is_lateral = self.reads_own_columns(&outlined);
        let kind = ItemKind::Functions { calls: outlined, ordinality };
        let mut outline = self.outline_item(Some(kind), &item, alias, own_names);
        if let Some(outline::Source::Item(item)) = &mut outline {
            item.lateral = is_lateral;
        }
        let node = Node::FunctionScan { functions, ordinality };
        Ok(Part { plan: Plan { node, columns }, items: vec![item], outline })
    }

    /// In `FROM` only the function itself gives a set, and none of its arguments.
    fn check_one_set(&self, expr: &Expr) -> Result<()> {
        let mut expr = expr.clone();
        let mut nested = None;
        walk::parts(&mut expr, &mut |part| {
            walk::everywhere(part, &mut |inner| {
                if matches!(&inner.kind, ExprKind::Call(call) if call.set) {
                    nested = nested.or(Some(inner.at));
                }
                !matches!(inner.kind, ExprKind::Subquery(_))
            });
        });
        match nested {
            None => Ok(()),
            Some(at) => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "set-returning functions must appear at top level of FROM",
            )
            .at(at)),
        }
    }

    /// The columns that a function has as a table.
    fn function_columns(
        &mut self,
        expr: &Expr,
        name: &str,
        defined: &[ColumnDef],
        at: At,
        columns: &mut Vec<Column>,
    ) -> Result<()> {
        let wrong = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        let outputs: Vec<(String, Type)> = match &expr.kind {
            ExprKind::Call(call) => self.outputs_of(call),
            _ => Vec::new(),
        };
        if let Some(first) = defined.first() {
            let wrong =
                |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message).at(first.name.at));
            if !outputs.is_empty() {
                return wrong(
                    "a column definition list is redundant for a function with OUT parameters",
                );
            }
            if expr.ty != Type::RECORD {
                return wrong(
                    "a column definition list is only allowed for functions returning \"record\"",
                );
            }
            for column in defined {
                let (ty, modifier) = self.type_of_name(&column.ty)?;
                columns.push(self.column(&column.name.text, ty, modifier, None));
            }
            return Ok(());
        }
        if !outputs.is_empty() {
            for (name, ty) in outputs {
                columns.push(self.column(name, ty, Modifier::NONE, None));
            }
            return Ok(());
        }
        if expr.ty == Type::RECORD && !matches!(expr.kind, ExprKind::Row { .. }) {
            return wrong(
                "a column definition list is required for functions returning \"record\"",
            );
        }
        match self.names.shape(self.facts().base(expr.ty)).filter(|_| !expr.ty.is_builtin()) {
            Some(Shape::Composite(fields)) => {
                for field in fields.iter() {
                    columns.push(self.column(&*field.name, field.ty, field.modifier, None));
                }
            }
            _ => columns.push(self.column_for(name, expr)),
        }
        Ok(())
    }

    /// The condition of an expression list: what `WHERE`, `ON` and `HAVING` have.
    pub(super) fn where_clause(
        &mut self,
        filter: Option<&ast::Expr>,
        clause: Clause,
    ) -> Result<Option<Expr>> {
        let Some(filter) = filter else { return Ok(None) };
        self.within(clause, |binder| {
            let filter = binder.expr(filter)?;
            binder.boolean(filter, clause.name).map(Some)
        })
    }

    /// An offset or count as `int8`.
    pub(super) fn count(&mut self, expr: &ast::Expr, clause: Clause) -> Result<Expr> {
        let at = expr.at;
        let count = self.within(clause, |binder| {
            // Columns of the query itself are not in sight here.
            let items = std::mem::take(&mut binder.scope().items);
            let count = binder.expr(expr);
            let foreign = count.as_ref().err().is_some_and(|error| {
                error.cause.state() == SqlState::UNDEFINED_COLUMN
                    || error.cause.state() == SqlState::UNDEFINED_TABLE
            });
            binder.scope().items = items;
            if foreign && binder.expr(expr).is_ok() {
                return Err(Error::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("argument of {} must not contain variables", clause.name),
                )
                .at(at));
            }
            count
        })?;
        let (source, at) = (count.ty, count.at);
        self.coerce(count, Type::INT8, CoercionContext::Assignment)?.ok_or_else(|| {
            let message = format!(
                "argument of {} must be type bigint, not type {}",
                clause.name,
                self.type_name(source)
            );
            Error::new(SqlState::DATATYPE_MISMATCH, message).at(at)
        })
    }
}

/// A row of NULLs, which tells a function that gives records what columns are wanted.
fn described(columns: &[Column], at: At) -> Expr {
    let field = |column: &Column| Expr { modifier: column.modifier, ..Expr::null(column.ty, at) };
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let kind = ExprKind::Row { fields: columns.iter().map(field).collect(), names };
    Expr::of(kind, Type::RECORD, at)
}

/// A query with locks that the one around it says; a query without tables has nothing to lock.
fn locked(query: &ast::Query, locks: Vec<ast::Lock>) -> Cow<'_, ast::Query> {
    let has_tables = match &query.body {
        ast::Body::Select(select) => !select.from.is_empty(),
        ast::Body::Values(_) => false,
        ast::Body::Set { .. } => true,
    };
    if locks.is_empty() || !has_tables {
        return Cow::Borrowed(query);
    }
    let mut query = query.clone();
    query.locks.extend(locks);
    Cow::Owned(query)
}

/// The conditions as one; none where there are none.
pub(super) fn and(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => {
            let at = conditions[0].at;
            Some(Expr::of(ExprKind::And(conditions), Type::BOOL, at))
        }
    }
}

/// The plan with columns added on the right.
pub(super) fn append(plan: Plan, added: Vec<(Expr, Column)>) -> Plan {
    if added.is_empty() {
        return plan;
    }
    let mut exprs: Vec<Expr> =
        plan.columns.iter().map(|column| reference(column, At::NONE)).collect();
    let mut columns = plan.columns.clone();
    for (expr, column) in added {
        exprs.push(expr);
        columns.push(column);
    }
    Plan { node: Node::Project { input: Box::new(plan), exprs }, columns }
}

fn alias_name(table: &TableRef) -> String {
    match &table.alias {
        Some(alias) => alias.name.text.clone(),
        None => table.name.last().to_owned(),
    }
}

fn rename_table(item: &mut Item, table: &TableRef) -> Result<()> {
    match &table.alias {
        Some(alias) => rename(item, alias),
        None => Ok(()),
    }
}

/// Gives the columns of an item the names that its alias has for them.
pub(super) fn rename(item: &mut Item, alias: &Alias) -> Result<()> {
    let shown = item.columns.iter().filter(|column| !column.hidden).count();
    if alias.columns.len() > shown {
        return Err(Error::new(
            SqlState::INVALID_COLUMN_REFERENCE,
            format!(
                "table \"{}\" has {shown} columns available but {} columns specified",
                alias.name.text,
                alias.columns.len()
            ),
        ));
    }
    for (column, name) in item.columns.iter_mut().zip(&alias.columns) {
        column.name.clone_from(&name.text);
        column.column.name.clone_from(&name.text);
        column.is_renamed = true;
    }
    Ok(())
}

/// One call of `unnest` for each of several arguments.
fn spread_unnest(
    (call, columns): &(ast::Expr, Vec<ColumnDef>),
) -> Vec<(ast::Expr, Vec<ColumnDef>)> {
    if let ast::ExprKind::Call(inner) = &call.kind
        && inner.name.last() == "unnest"
        && inner.args.len() > 1
        && columns.is_empty()
    {
        let one = |arg: &ast::Arg| {
            let mut single = inner.clone();
            single.args = vec![arg.clone()];
            (ast::Expr { kind: ast::ExprKind::Call(single), at: call.at }, Vec::new())
        };
        return inner.args.iter().map(one).collect();
    }
    vec![(call.clone(), columns.clone())]
}
