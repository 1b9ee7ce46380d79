//! A plan as PostgreSQL shows it: entries with their properties, whatever format they are written in.
//!
//! ```text
//!   Limit                            Limit
//!     Project [#0]                     ->  Index Scan using person_age on person
//!       Scan person by ... at (3)            Index Cond: (age = 3)
//! ```
//!
//! PostgreSQL has no operators of their own for conditions and for columns that are computed: a filter
//! is shown with the operator below it, and a projection only names columns. Costs and rows are
//! guesses made of the numbers of rows that tables have; they are there because tools read them.

use std::collections::HashMap;

use sql::plan::{Action, Column, Expr, ExprKind, Moment, SetOp, system};
use types::TypeSource;

use crate::explain::operator_stats::OperatorStats;
use crate::rewrite::{estimate, substitute};
use crate::schema::Schema;
use crate::shown::Shown;
use crate::tree::{
    Aggregate, Append, Body, Equal, Join, JoinKind, Kind, Modify, Node, Path, Plan, Scan, Table,
    each_part,
};

/// An operator as it is shown.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// How the text begins: `Index Scan using person_age on person p`.
    pub head: String,
    /// `Node Type` and what else the head says.
    pub facts: Vec<(&'static str, Value)>,
    /// The further properties.
    pub properties: Vec<(&'static str, Value)>,
    /// Its role for the entry above: `Outer`, `Inner`, `Subquery`, `InitPlan`, `SubPlan`, `Member`.
    pub relationship: &'static str,
    /// The name of a subplan, or `CTE x`.
    pub subplan: Option<String>,
    /// The rows that are expected, and how wide they are in bytes.
    pub rows: f64,
    /// See `rows`.
    pub width: u32,
    /// The estimated cost of the first row and of all rows.
    pub cost: (f64, f64),
    /// The observed counts, where the plan was run.
    pub seen: Option<OperatorStats>,
    /// The entries below.
    pub below: Vec<Entry>,
}

/// The value of a property.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text.
    Text(String),
    /// Several of them.
    List(Vec<String>),
    /// A number.
    Number(u64),
    /// A truth value.
    Bool(bool),
}

/// The observed counts of the operators of a plan, by their addresses.
pub type Observed = HashMap<usize, OperatorStats>;

/// The context in which a plan is shown.
pub struct ExplainContext<'a> {
    /// The names of types.
    pub types: &'a dyn TypeSource,
    /// The known facts about tables.
    pub schema: &'a dyn Schema,
    /// Columns, and the schemas of tables.
    pub verbose: bool,
    /// The observed counts, where the plan was run.
    pub observed: Option<&'a Observed>,
}

/// The name of a column of an operator's rows.
#[derive(Clone)]
struct Name {
    text: String,
    /// The name without its table, as the conditions of a scan show it.
    bare: String,
    /// True for a column of a table, which needs no parentheses.
    is_column: bool,
}

impl Name {
    fn column(prefix: &str, bare: impl Into<String>) -> Self {
        let bare = bare.into();
        Name { text: format!("{prefix}{bare}"), bare, is_column: true }
    }

    fn computed(text: String) -> Self {
        Name { bare: text.clone(), text, is_column: false }
    }

    /// The name as the conditions of its scan show it.
    fn of_scan(&self, prefix: &str) -> Self {
        if self.is_column { Name::column(prefix, &*self.bare) } else { self.clone() }
    }

    /// The name as the operator that computes the column shows it.
    fn own(&self) -> Self {
        let bare = self.bare.clone();
        Name { text: bare.clone(), bare, is_column: true }
    }

    fn shown(&self) -> String {
        match self.is_column || self.text.starts_with('(') {
            true => self.text.clone(),
            false => format!("({})", self.text),
        }
    }
}

/// Makes the entries of a plan.
struct Explainer<'a> {
    plan: &'a Plan,
    context: &'a ExplainContext<'a>,
    /// True if columns are shown with their tables.
    has_prefix: bool,
    /// The texts of the values in slots.
    slots: HashMap<u32, String>,
    /// The columns of the tables of `WITH`.
    tables: HashMap<u32, Vec<Name>>,
}

/// The entries of a plan.
pub fn tree(plan: &Plan, context: &ExplainContext<'_>) -> Entry {
    let mut relations = 0;
    plan.clone().each(&mut |node| {
        relations += u32::from(matches!(
            node.kind,
            Kind::Scan(_) | Kind::Functions { .. } | Kind::CteScan { .. } | Kind::WorkTable { .. }
        ));
    });
    let has_prefix = relations > 1;
    let mut teller =
        Explainer { plan, context, has_prefix, slots: HashMap::new(), tables: HashMap::new() };
    let (mut root, names) = teller.entry(&plan.root);
    for (number, subplan) in plan.subplans.iter().enumerate() {
        if !plan.uses_subplan(number as u32) {
            continue;
        }
        let (mut entry, _) = teller.entry(&subplan.node);
        let is_fixed = subplan.args.is_empty() && plan.slots_read(number as u32).is_empty();
        let kind = if is_fixed { "InitPlan" } else { "SubPlan" };
        entry.relationship = kind;
        entry.subplan = Some(format!("{kind} {}", number + 1));
        root.below.push(entry);
    }
    let is_change = matches!(plan.root.main().kind, Kind::Modify(_));
    if context.verbose && !is_change {
        root.properties.insert(0, ("Output", Value::List(outputs(&names, &plan.columns))));
    }
    root
}

fn outputs(names: &[Name], columns: &[Column]) -> Vec<String> {
    let name = |(at, column): (usize, &Column)| {
        names.get(at).map_or_else(|| column.name.clone(), |name| name.text.clone())
    };
    columns.iter().enumerate().map(name).collect()
}

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

impl Explainer<'_> {
    fn show<R>(&self, names: &[Name], f: impl FnOnce(&Shown<'_>) -> R) -> R {
        let column = |at: usize| names.get(at).map(Name::shown).unwrap_or_default();
        let slot = |slot: u32| match self.slots.get(&slot) {
            Some(name) => name.clone(),
            None => format!("${slot}"),
        };
        f(&Shown { columns: &column, slots: &slot, types: self.context.types })
    }

    fn expr(&self, names: &[Name], expr: &Expr) -> String {
        self.show(names, |shown| shown.text(expr))
    }

    /// An entry of this type over others.
    fn over(&self, node: &Node, kind: &str, below: Vec<Entry>) -> Entry {
        let rows = estimate(node, self.context.schema);
        let width = |ty: &types::Type| match types::builtin::facts(*ty) {
            Some(facts) if facts.length > 0 => facts.length as u32,
            _ => 32,
        };
        let total: f64 = below.iter().map(|entry| entry.cost.1).sum();
        let first: f64 = below.iter().map(|entry| entry.cost.0).sum();
        let waits = matches!(
            node.kind,
            Kind::Sort { .. }
                | Kind::Aggregate(_)
                | Kind::Window { .. }
                | Kind::SetOperation { .. }
        );
        let startup = if waits { total } else { first };
        Entry {
            head: kind.to_owned(),
            facts: vec![("Node Type", text(kind))],
            rows,
            width: node.types.iter().map(width).sum(),
            cost: (startup, startup.max(total) + rows * 0.01),
            seen: self.seen(node),
            below,
            ..Entry::default()
        }
    }

    fn seen(&self, node: &Node) -> Option<OperatorStats> {
        let observed = self.context.observed?;
        Some(observed.get(&std::ptr::from_ref(node).addr()).copied().unwrap_or_default())
    }

    fn entry(&mut self, node: &Node) -> (Entry, Vec<Name>) {
        match &node.kind {
            Kind::Scan(scan) => self.scan(node, scan),
            Kind::Append(append) => self.append(node, append),
            Kind::Barrier(input) => self.entry(input),
            Kind::Filter { input, condition } => self.filter(node, input, condition),
            Kind::Project { input, exprs } => self.project(node, input, exprs),
            Kind::ProjectSet { input, sets } => {
                let (below, mut names) = self.entry(input);
                let sets = sets.iter().map(|set| Name::computed(self.expr(&names, set)));
                let sets: Vec<Name> = sets.collect();
                names.extend(sets);
                (self.over(node, "ProjectSet", outer(below)), names)
            }
            Kind::Values(rows) => self.values(node, rows),
            Kind::Functions { functions, columns, .. } => self.functions(node, functions, columns),
            Kind::Join(join) => self.join(node, join),
            Kind::Aggregate(aggregate) => self.aggregate(node, aggregate),
            Kind::Window { input, calls } => {
                let (below, mut names) = self.entry(input);
                let calls: Vec<Name> = calls
                    .iter()
                    .map(|call| Name::computed(self.show(&names, |shown| shown.window(call))))
                    .collect();
                names.extend(calls);
                (self.over(node, "WindowAgg", outer(below)), names)
            }
            Kind::Distinct(input) => {
                let (below, names) = self.entry(input);
                let mut entry = self.over(node, "Aggregate", outer(below));
                entry.head = "HashAggregate".to_owned();
                entry.facts.push(("Strategy", text("Hashed")));
                entry.properties.push(("Group Key", keys_of(&names)));
                (entry, names)
            }
            Kind::DistinctOn { input, .. } => {
                let (below, names) = self.entry(input);
                (self.over(node, "Unique", outer(below)), names)
            }
            Kind::Sort { input, keys, .. } => {
                let (below, names) = self.entry(input);
                let keys = keys.iter().map(|key| self.show(&names, |shown| shown.sort_key(key)));
                let keys = Value::List(keys.collect());
                let mut entry = self.over(node, "Sort", outer(below));
                entry.properties.push(("Sort Key", keys));
                (entry, names)
            }
            Kind::Limit { input, .. } => {
                let (below, names) = self.entry(input);
                (self.over(node, "Limit", outer(below)), names)
            }
            Kind::SetOperation { op, all, left, right } => {
                self.set_operation(node, (*op, *all), left, right)
            }
            Kind::With { tables, input } => self.with(tables, input),
            Kind::CteScan { table, name, columns } | Kind::WorkTable { table, name, columns } => {
                self.with_scan(node, *table, name, columns)
            }
            Kind::Modify(modify) => self.modify(node, modify),
            Kind::LockRows { input, .. } => {
                let (below, names) = self.entry(input);
                (self.over(node, "LockRows", outer(below)), names)
            }
            Kind::Given => (self.over(node, "Result", vec![]), Vec::new()),
        }
    }

    fn filter(&mut self, node: &Node, input: &Node, condition: &Expr) -> (Entry, Vec<Name>) {
        let (mut entry, names) = self.entry(input);
        self.note_subplans(&names, condition);
        // A column of the operator itself is shown without the table and without
        // parentheses.
        let plain = match &input.kind {
            Kind::Aggregate(_)
            | Kind::CteScan { .. }
            | Kind::WorkTable { .. }
            | Kind::Functions { .. }
            | Kind::Values(_) => own(&names),
            _ => names.clone(),
        };
        let shown = self.expr(&plain, condition);
        entry.properties.push(("Filter", text(shown)));
        entry.rows = estimate(node, self.context.schema);
        self.put_seen(&mut entry, node);
        (entry, names)
    }

    fn project(&mut self, node: &Node, input: &Node, exprs: &[Expr]) -> (Entry, Vec<Name>) {
        let (mut entry, below) = self.entry(input);
        exprs.iter().for_each(|expr| self.note_subplans(&below, expr));
        if let Some(seen) = self.seen(node) {
            let report = entry.seen.map(|seen| seen.report).unwrap_or_default();
            entry.seen = Some(OperatorStats { report, ..seen });
        }
        let name = |expr: &Expr| match expr.kind {
            ExprKind::Column { index, .. } => below[index as usize].clone(),
            _ => Name::computed(self.expr(&below, expr)),
        };
        (entry, exprs.iter().map(name).collect())
    }

    fn values(&mut self, node: &Node, rows: &[Vec<Expr>]) -> (Entry, Vec<Name>) {
        let is_one = rows.len() == 1;
        let mut entry = self.over(node, if is_one { "Result" } else { "Values Scan" }, vec![]);
        if !is_one {
            entry.head += " on \"*VALUES*\"";
            entry.facts.push(("Alias", text("*VALUES*")));
        }
        let prefix = if self.has_prefix { "\"*VALUES*\"." } else { "" };
        let name = |at: usize| match is_one {
            true => Name::computed(self.expr(&[], &rows[0][at])),
            false => Name::column(prefix, format!("column{}", at + 1)),
        };
        let names = (0..node.width()).map(name).collect();
        (entry, names)
    }

    fn functions(
        &mut self,
        node: &Node,
        functions: &[(Expr, usize)],
        columns: &[String],
    ) -> (Entry, Vec<Name>) {
        let name = match functions.first().map(|(expr, _)| &expr.kind) {
            Some(ExprKind::Call(call)) => call.name.clone(),
            _ => "function".to_owned(),
        };
        let mut entry = self.over(node, "Function Scan", vec![]);
        entry.head += &format!(" on {name}");
        entry.facts.push(("Function Name", text(&*name)));
        let calls = functions.iter().map(|(expr, _)| self.expr(&[], expr));
        let calls: Vec<String> = calls.collect();
        if self.context.verbose {
            entry.properties.push(("Function Call", text(calls.join(", "))));
        }
        let names =
            columns.iter().map(|column| Name::column("", scalar::quote::identifier(column)));
        (entry, names.collect())
    }

    fn aggregate(&mut self, node: &Node, aggregate: &Aggregate) -> (Entry, Vec<Name>) {
        let (below, names) = self.entry(&aggregate.input);
        let is_plain = aggregate.keys.is_empty();
        let mut entry = self.over(node, "Aggregate", outer(below));
        let (head, strategy) =
            if is_plain { ("Aggregate", "Plain") } else { ("HashAggregate", "Hashed") };
        entry.head = head.to_owned();
        entry.facts.push(("Strategy", text(strategy)));
        if aggregate.batches.is_some() {
            entry.properties.push(("Batches", text("columns")));
        }
        let keys: Vec<String> = aggregate.keys.iter().map(|key| self.expr(&names, key)).collect();
        let all: Vec<usize> = (0..keys.len()).collect();
        for set in &aggregate.sets {
            let of_set: Vec<String> = set.iter().map(|key| keys[*key].clone()).collect();
            let is_whole = aggregate.sets.len() == 1 && *set == all;
            if !of_set.is_empty() {
                let title = if is_whole { "Group Key" } else { "Hash Key" };
                entry.properties.push((title, Value::List(of_set)));
            } else if aggregate.sets.len() > 1 {
                entry.properties.push(("Group Key", text("()")));
            }
        }
        let key = |(key, text): (&Expr, &String)| match key.kind {
            ExprKind::Column { index, .. } => names[index as usize].clone(),
            _ => Name::computed(text.clone()),
        };
        let mut found: Vec<Name> = aggregate.keys.iter().zip(&keys).map(key).collect();
        found.extend(aggregate.calls.iter().map(|call| {
            let mut call = call.clone();
            call.direct.iter_mut().for_each(|arg| substitute(arg, &aggregate.keys));
            Name::computed(self.show(&names, |shown| shown.aggregate(&call)))
        }));
        found.extend(aggregate.masks.iter().map(|mask| {
            let of: Vec<&str> = mask.iter().map(|key| &*keys[*key]).collect();
            Name::computed(format!("GROUPING({})", of.join(", ")))
        }));
        (entry, found)
    }

    fn with(&mut self, tables: &[Table], input: &Node) -> (Entry, Vec<Name>) {
        let mut before = Vec::new();
        for table in tables {
            let (mut entry, names) = match &table.body {
                Body::Plan(body) => self.entry(body),
                Body::Recursive { start, step, .. } => {
                    let (first, names) = self.entry(start);
                    self.tables.insert(table.number, bare(&names));
                    let (second, _) = self.entry(step);
                    let mut entry = self.over(start, "Recursive Union", both(first, second));
                    entry.seen = None;
                    (entry, names)
                }
            };
            self.tables.insert(table.number, bare(&names));
            entry.relationship = "InitPlan";
            entry.subplan = Some(format!("CTE {}", table.name));
            before.push(entry);
        }
        let (mut entry, names) = self.entry(input);
        before.append(&mut entry.below);
        entry.below = before;
        (entry, names)
    }

    fn with_scan(
        &mut self,
        node: &Node,
        table: u32,
        name: &str,
        columns: &[String],
    ) -> (Entry, Vec<Name>) {
        let is_work = matches!(node.kind, Kind::WorkTable { .. });
        let kind = if is_work { "WorkTable Scan" } else { "CTE Scan" };
        let mut entry = self.over(node, kind, vec![]);
        entry.head += &format!(" on {name}");
        entry.facts.push(("CTE Name", text(name)));
        entry.facts.push(("Alias", text(name)));
        let known = self.tables.get(&table).cloned();
        let prefix = if self.has_prefix { format!("{name}.") } else { String::new() };
        let place = |at: usize| {
            let known = known.as_ref().and_then(|names| names.get(at));
            match (columns.get(at), known) {
                (Some(column), _) => Name::column(&prefix, scalar::quote::identifier(column)),
                (None, Some(name)) => name.clone(),
                (None, None) => Name::column(&prefix, format!("column{}", at + 1)),
            }
        };
        let names = (0..node.width()).map(place).collect();
        (entry, names)
    }

    /// Notes the texts of the arguments of subplans as the names of their slots.
    fn note_subplans(&mut self, names: &[Name], expr: &Expr) {
        each_part(&mut expr.clone(), &mut |part| {
            if let ExprKind::Subplan { number, args } = &part.kind {
                let slots = &self.plan.subplans[*number as usize].args;
                for (slot, arg) in slots.iter().zip(args) {
                    let shown = self.expr(names, arg);
                    self.slots.insert(*slot, shown);
                }
            }
            true
        });
    }

    /// Puts the observed counts of a filter into the entry of the operator below it.
    fn put_seen(&self, entry: &mut Entry, node: &Node) {
        if let Some(mut seen) = self.seen(node) {
            if let Some(own) = entry.seen {
                (seen.report.sort, seen.report.workers) = (own.report.sort, own.report.workers);
            }
            entry.seen = Some(seen);
        }
    }

    fn append(&mut self, node: &Node, append: &Append) -> (Entry, Vec<Name>) {
        let mut below = Vec::with_capacity(append.parts.len());
        let mut names = self.scan(node, &append.scan).1;
        for part in &append.parts {
            let (mut entry, of_part) = self.entry(&part.node);
            entry.relationship = "Member";
            below.push(entry);
            if append.parts.len() == 1 {
                names = of_part;
            }
        }
        // The scan of one partition is shown as such.
        if below.len() == 1 {
            return (below.remove(0), names);
        }
        let is_empty = below.is_empty();
        let mut entry = self.over(node, if is_empty { "Result" } else { "Append" }, below);
        if is_empty {
            entry.properties.push(("One-Time Filter", text("false")));
        }
        (entry, names)
    }

    fn scan(&mut self, node: &Node, scan: &Scan) -> (Entry, Vec<Name>) {
        let alias = scalar::quote::identifier(&scan.alias);
        let prefix = if self.has_prefix { format!("{alias}.") } else { String::new() };
        let name = |attnum: &i16| {
            let is_text = *attnum < system::TEXT_OF;
            let of = if is_text { system::TEXT_OF - attnum } else { *attnum };
            let known = scan.names.iter().find(|(known, _)| *known == of);
            let name = known.map_or("?column?", |(_, name)| name);
            let name = Name::column(&prefix, scalar::quote::identifier(name));
            if is_text { Name::computed(format!("({})::text", name.text)) } else { name }
        };
        let mut names: Vec<Name> = scan.attnums.iter().map(name).collect();
        if let Some(columns) = &scan.columns {
            let name = |value: &Expr| match value.kind {
                ExprKind::Column { index, .. } => names[index as usize].clone(),
                _ => Name::computed(self.expr(&names, value)),
            };
            names = columns.values.iter().map(name).collect();
        }
        // Conditions of a scan name its table only in verbose output.
        let prefix = if self.context.verbose { format!("{alias}.") } else { String::new() };
        let prefix = prefix.as_str();
        let own_names: Vec<Name> = names.iter().map(|name| name.of_scan(prefix)).collect();
        let path = &scan.path;
        let table = scalar::quote::identifier(&scan.name);
        let schema = self.context.schema.table(scan.relation);
        let schema =
            schema.filter(|_| self.context.verbose).map(|facts| facts.relation.schema.clone());
        let table = match &schema {
            Some(schema) => format!("{}.{table}", scalar::quote::identifier(schema)),
            None => table,
        };
        let on = match scan.alias == scan.name {
            true => format!(" on {table}"),
            false => format!(" on {table} {alias}"),
        };
        let by_index = !path.name.is_empty();
        let is_asked = !path.scan_keys.is_empty();
        let condition = self.index_condition(path, prefix);
        let mut entry = match (scan.sample.is_some(), is_asked, by_index) {
            (true, ..) => self.over(node, "Sample Scan", vec![]),
            (_, true, _) => {
                let mut below = self.over(node, "Bitmap Index Scan", vec![]);
                below.head += &format!(" on {}", scalar::quote::identifier(&path.name));
                below.facts.push(("Index Name", text(&*path.name)));
                below.properties.push(("Index Cond", text(condition.clone().unwrap_or_default())));
                below.seen = None;
                self.over(node, "Bitmap Heap Scan", outer(below))
            }
            (_, _, true) => {
                let mut entry = self.over(node, "Index Scan", vec![]);
                let direction = if path.backward { "Backward" } else { "Forward" };
                entry.facts.push(("Scan Direction", text(direction)));
                entry.facts.push(("Index Name", text(&*path.name)));
                let backward = if path.backward { " Backward" } else { "" };
                let index = scalar::quote::identifier(&path.name);
                entry.head += &format!("{backward} using {index}");
                entry
            }
            _ if scan.columns.is_some() => {
                let mut entry = self.over(node, "Index Only Scan", vec![]);
                let name = scan.columns.as_ref().map_or("", |columns| &columns.name);
                entry.facts.push(("Scan Direction", text("NoMovement")));
                entry.facts.push(("Index Name", text(name)));
                entry.head += &format!(" using {}", scalar::quote::identifier(name));
                entry
            }
            _ => self.over(node, "Seq Scan", vec![]),
        };
        entry.cost = self.cost(scan, entry.rows);
        entry.head += &on;
        entry.facts.push(("Relation Name", text(&*scan.name)));
        if let Some(schema) = schema {
            entry.facts.push(("Schema", text(schema)));
        }
        entry.facts.push(("Alias", text(&*scan.alias)));
        if let Some(moment) = self.moment(&scan.moment) {
            entry.properties.push(("System Time", text(moment)));
        }
        if scan.in_batches {
            entry.properties.push(("Batches", text("columns")));
        }
        if let Some(condition) = condition {
            let title = if is_asked { "Recheck Cond" } else { "Index Cond" };
            entry.properties.push((title, text(condition)));
        }
        if let Some(conditional) = &scan.conditional {
            let when: Vec<String> =
                conditional.start_conditions.iter().map(|expr| self.expr(&[], expr)).collect();
            let condition = self.index_condition(&conditional.path, prefix).unwrap_or_default();
            let told = format!("{} {condition} if {}", conditional.path.name, when.join(" AND "));
            entry.properties.push(("Index If Possible", text(told)));
        }
        if let Some(condition) = &scan.condition {
            self.note_subplans(&names, condition);
            // The condition of the index is already among the properties.
            let told = entry.properties.iter().find_map(|(title, value)| match value {
                Value::Text(told) if title.ends_with("Cond") => Some(told.clone()),
                _ => None,
            });
            let told = told.unwrap_or_default();
            let parts = match &condition.kind {
                ExprKind::And(parts) => &parts[..],
                _ => std::slice::from_ref(condition),
            };
            let parts = parts.iter().map(|part| self.expr(&own_names, part));
            let mut parts: Vec<String> = parts.filter(|part| !told.contains(part)).collect();
            match parts.len() {
                0 => {}
                1 => entry.properties.push(("Filter", text(parts.remove(0)))),
                _ => entry.properties.push(("Filter", text(format!("({})", parts.join(" AND "))))),
            }
        }
        (entry, names)
    }

    /// The estimated cost of a scan, in PostgreSQL's unit: a page read in order.
    fn cost(&self, scan: &Scan, rows: f64) -> (f64, f64) {
        let facts = self.context.schema.table(scan.relation);
        let all = facts.map_or(1000.0, |facts| facts.rows as f64);
        match (scan.path.index, scan.path.is_full()) {
            (None, true) => (0.0, all * 0.02 + 1.0),
            (None, false) => (0.15, 0.15 + rows * 0.02),
            (Some(_), _) => (0.15, 0.15 + rows * 0.16),
        }
    }

    fn moment(&self, moment: &Moment) -> Option<String> {
        let told = |expr: &Expr| self.expr(&[], expr);
        Some(match moment {
            Moment::Now => return None,
            Moment::AsOf(at) => format!("AS OF {}", told(at)),
            Moment::AtVersion(version) => format!("AS OF {}", told(version)),
            Moment::FromTo(from, to) => format!("FROM {} TO {}", told(from), told(to)),
            Moment::Between(from, to) => format!("BETWEEN {} AND {}", told(from), told(to)),
            Moment::ContainedIn(from, to) => format!("CONTAINED IN ({}, {})", told(from), told(to)),
            Moment::All | Moment::Ever => "ALL".to_owned(),
        })
    }

    /// The search of an index, as a condition.
    fn index_condition(&self, path: &Path, prefix: &str) -> Option<String> {
        let mut all = Vec::new();
        let part = |at: usize| {
            let shown = path.shown.get(at).map(String::as_str).unwrap_or_default();
            // A column is shown with its table, an expression as it is.
            let is_name =
                shown.chars().all(|letter| letter.is_alphanumeric() || "_\"$".contains(letter));
            if is_name { format!("{prefix}{shown}") } else { shown.to_owned() }
        };
        for (at, equal) in path.equal.iter().enumerate() {
            all.push(match equal {
                Equal::One(value) => format!("({} = {})", part(at), self.expr(&[], value)),
                Equal::AnyOf(array) => format!("({} = ANY ({}))", part(at), self.expr(&[], array)),
                Equal::Null => format!("({} IS NULL)", part(at)),
            });
        }
        let ends = [(&path.low, ">=", ">"), (&path.high, "<=", "<")];
        for (end, inclusive, exclusive) in ends {
            if let Some(end) = end {
                let symbol = if end.inclusive { inclusive } else { exclusive };
                let value = self.expr(&[], &end.value);
                all.push(format!("({} {symbol} {value})", part(path.equal.len())));
            }
        }
        for asked in &path.scan_keys {
            let value = self.expr(&[], &asked.value);
            all.push(match asked.strategy {
                crate::schema::Strategy::Element => {
                    format!("({value} = ANY ({}))", part(asked.part))
                }
                _ => format!("({} {} {value})", part(asked.part), asked.symbol),
            });
        }
        match all.len() {
            0 => None,
            1 => all.pop(),
            _ => Some(format!("({})", all.join(" AND "))),
        }
    }

    fn join(&mut self, node: &Node, join: &Join) -> (Entry, Vec<Name>) {
        let (left, left_names) = self.entry(&join.left);
        for (expr, slot) in join.lateral.iter().flatten() {
            let shown = self.expr(&left_names, expr);
            self.slots.insert(*slot, shown);
        }
        let (right, right_names) = self.entry(&join.right);
        let both_names = [&left_names[..], &right_names[..]].concat();
        let join_type = match join.kind {
            JoinKind::Inner => "Inner",
            JoinKind::Left => "Left",
            JoinKind::Right => "Right",
            JoinKind::Full => "Full",
            JoinKind::Semi => "Semi",
            JoinKind::Anti => "Anti",
        };
        let is_hash = !join.keys.is_empty();
        let kind = if is_hash { "Hash Join" } else { "Nested Loop" };
        let below = if is_hash {
            // The side that looks for partners comes first.
            let (probe, build, build_node) = match join.build_left {
                true => (right, left, &join.left),
                false => (left, right, &join.right),
            };
            let mut hash = self.over(build_node, "Hash", outer(build));
            hash.seen = None;
            both(probe, hash)
        } else {
            both(left, right)
        };
        let mut entry = self.over(node, kind, below);
        entry.head = match (join.kind, is_hash) {
            (JoinKind::Inner, _) => kind.to_owned(),
            (JoinKind::Semi | JoinKind::Anti, true) if join.build_left => {
                format!("Hash Right {join_type} Join")
            }
            (_, true) => format!("Hash {join_type} Join"),
            (_, false) => format!("Nested Loop {join_type} Join"),
        };
        entry.facts.push(("Join Type", text(join_type)));
        if join.in_batches {
            entry.properties.push(("Batches", text("columns")));
        }
        if is_hash {
            let pairs: Vec<String> = join
                .keys
                .iter()
                .map(|(left, right)| {
                    let (left, right) =
                        (self.expr(&left_names, left), self.expr(&right_names, right));
                    match join.build_left {
                        true => format!("({right} = {left})"),
                        false => format!("({left} = {right})"),
                    }
                })
                .collect();
            let condition = match &pairs[..] {
                [pair] => pair.clone(),
                _ => format!("({})", pairs.join(" AND ")),
            };
            entry.properties.push(("Hash Cond", text(condition)));
        }
        if let Some(condition) = &join.condition {
            entry.properties.push(("Join Filter", text(self.expr(&both_names, condition))));
        }
        let names = if join.kind.shows_right() { both_names } else { left_names };
        (entry, names)
    }

    fn set_operation(
        &mut self,
        node: &Node,
        (op, all): (SetOp, bool),
        left: &Node,
        right: &Node,
    ) -> (Entry, Vec<Name>) {
        let (mut one, names) = self.entry(left);
        let (mut other, _) = self.entry(right);
        (one.relationship, other.relationship) = ("Member", "Member");
        let word = match op {
            SetOp::Union => {
                let append = self.over(node, "Append", vec![one, other]);
                if all {
                    return (append, names);
                }
                let mut entry = self.over(node, "Aggregate", outer(Entry { seen: None, ..append }));
                entry.head = "HashAggregate".to_owned();
                entry.facts.push(("Strategy", text("Hashed")));
                entry.properties.push(("Group Key", keys_of(&names)));
                return (entry, names);
            }
            SetOp::Intersect => "Intersect",
            SetOp::Except => "Except",
        };
        let command = format!("{word}{}", if all { " All" } else { "" });
        let mut entry = self.over(node, "SetOp", vec![one, other]);
        entry.head = format!("HashSetOp {command}");
        entry.facts.push(("Strategy", text("Hashed")));
        entry.facts.push(("Command", text(command)));
        (entry, names)
    }

    fn modify(&mut self, node: &Node, modify: &Modify) -> (Entry, Vec<Name>) {
        let (below, _) = self.entry(&modify.input);
        let operation = match &modify.action {
            Action::Insert { .. } => "Insert",
            Action::Update { .. } => "Update",
            Action::Delete => "Delete",
            Action::Erase => "Erase",
            Action::Merge { .. } => "Merge",
        };
        let mut entry = self.over(node, "ModifyTable", outer(below));
        entry.head = format!("{operation} on {}", scalar::quote::identifier(&modify.name));
        entry.facts.push(("Operation", text(operation)));
        entry.facts.push(("Relation Name", text(&*modify.name)));
        if let Action::Insert { conflict: Some(conflict), .. } = &modify.action {
            let resolution = if conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
            entry.properties.push(("Conflict Resolution", text(resolution)));
            let keys = modify.facts.as_ref().map(|facts| &facts.keys[..]).unwrap_or_default();
            // An index without entries of its own is the key of the rows.
            let name = |oid: &types::Oid| {
                let own = || keys.iter().find(|key| key.index.is_none());
                let found = keys.iter().find(|key| key.index == Some(*oid)).or_else(own);
                found.map(|key| key.name.clone())
            };
            let arbiters: Vec<String> =
                conflict.arbiters.iter().filter_map(|known| name(&known.index)).collect();
            if !arbiters.is_empty() {
                entry.properties.push(("Conflict Arbiter Indexes", Value::List(arbiters)));
            }
        }
        let columns = modify.facts.iter().flat_map(|facts| &facts.relation.columns);
        let names: Vec<Name> = columns.map(|column| Name::column("", &*column.name)).collect();
        let returned = modify.returning.iter().flatten();
        let shown = |expr: &Expr| Name::computed(self.expr(&names, expr));
        let names = returned.map(shown).collect();
        (entry, names)
    }
}

fn keys_of(names: &[Name]) -> Value {
    Value::List(names.iter().map(|name| name.text.clone()).collect())
}

/// The columns of a table of `WITH`, without the tables that they came from.
fn bare(names: &[Name]) -> Vec<Name> {
    names.iter().map(|name| Name { text: name.bare.clone(), ..name.clone() }).collect()
}

fn own(names: &[Name]) -> Vec<Name> {
    names.iter().map(Name::own).collect()
}

fn outer(mut below: Entry) -> Vec<Entry> {
    below.relationship = "Outer";
    vec![below]
}

fn both(mut left: Entry, mut right: Entry) -> Vec<Entry> {
    (left.relationship, right.relationship) = ("Outer", "Inner");
    vec![left, right]
}
