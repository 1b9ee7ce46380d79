//! Plans as indented text, for tests and for people.

use std::fmt::{self, Display, Formatter};

use scalar::cast::CoercionPath;
use types::{Context, Datum, Modifier, Style, Type, builtin};

use crate::plan::{
    Action, AggregateCall, Bound, Call, Cast, CteBody, Exclude, Expr, ExprKind, FrameUnit,
    JoinKind, Json, JsonSearch, Link, LockStrength, LockWait, MergeAction, MergeWhen, Moment, Node,
    Plan, RowLock, SetOp, SortKey, Subscript, Test, WindowCall,
};

/// The plan as text: one operator a line, inputs indented below.
pub fn explain(plan: &Plan) -> String {
    let mut out = String::new();
    write_plan(plan, 0, &mut out);
    out
}

/// A list with something between the items.
pub struct List<'a, T>(pub &'a [T], pub &'a str);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(self.1)?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

fn type_name(ty: Type) -> String {
    match builtin::facts(ty) {
        Some(facts) => facts.name.to_owned(),
        None => format!("type {}", ty.oid()),
    }
}

fn write_plan(plan: &Plan, depth: usize, out: &mut String) {
    let line = head(plan);
    out.push_str(&"  ".repeat(depth));
    out.push_str(&line);
    out.push('\n');
    let mut below = |input: &Plan| write_plan(input, depth + 1, out);
    match &plan.node {
        Node::Filter { input, .. }
        | Node::Project { input, .. }
        | Node::ProjectSet { input, .. }
        | Node::Window { input, .. }
        | Node::Distinct(input)
        | Node::Barrier(input)
        | Node::DistinctOn { input, .. }
        | Node::Sort { input, .. }
        | Node::Limit { input, .. }
        | Node::LockRows { input, .. } => below(input),
        Node::Aggregate(aggregate) => below(&aggregate.input),
        Node::Join { left, right, .. } | Node::SetOperation { left, right, .. } => {
            below(left);
            below(right);
        }
        Node::Modify(modify) => below(&modify.input),
        Node::With { tables, input } => {
            for table in tables {
                out.push_str(&"  ".repeat(depth + 1));
                out.push_str(&format!("Table {} {}", table.table, table.name));
                match table.materialized {
                    Some(true) => out.push_str(" materialized"),
                    Some(false) => out.push_str(" not materialized"),
                    None => {}
                }
                match &table.body {
                    CteBody::Plan(plan) => {
                        out.push('\n');
                        write_plan(plan, depth + 2, out);
                    }
                    CteBody::Recursive { start, step, all, .. } => {
                        out.push_str(if *all { " recursive all\n" } else { " recursive\n" });
                        write_plan(start, depth + 2, out);
                        write_plan(step, depth + 2, out);
                    }
                }
            }
            write_plan(input, depth + 1, out);
        }
        Node::Values(_)
        | Node::Scan(_)
        | Node::FunctionScan { .. }
        | Node::CteScan { .. }
        | Node::WorkTable { .. } => {}
    }
}

/// The line of an operator, without its inputs.
fn head(plan: &Plan) -> String {
    match &plan.node {
        Node::Values(rows) => {
            let rows: Vec<String> =
                rows.iter().map(|row| format!("({})", List(row, ", "))).collect();
            format!("Values {}", List(&rows, ", "))
        }
        Node::Scan(scan) => {
            let mut line = format!("Scan {}", scan.name);
            if scan.alias != scan.name {
                line += &format!(" as {}", scan.alias);
            }
            line += &moment(&scan.moment);
            if let Some(sample) = &scan.sample {
                let method = if sample.system { "system" } else { "bernoulli" };
                line += &format!(" sample {method} {}", sample.percent);
            }
            line
        }
        Node::FunctionScan { functions, ordinality } => {
            let functions: Vec<&Expr> = functions.iter().map(|(expr, _)| expr).collect();
            let ordinality = if *ordinality { " with ordinality" } else { "" };
            format!("FunctionScan {}{ordinality}", List(&functions, ", "))
        }
        Node::Filter { condition, .. } => format!("Filter {condition}"),
        Node::Barrier(_) => "Barrier".to_owned(),
        Node::Project { exprs, .. } => format!("Project [{}]", List(exprs, ", ")),
        Node::ProjectSet { sets, .. } => format!("ProjectSet [{}]", List(sets, ", ")),
        Node::Join { kind, condition, lateral, .. } => {
            let kind = match kind {
                JoinKind::Inner => "inner",
                JoinKind::Left => "left",
                JoinKind::Right => "right",
                JoinKind::Full => "full",
            };
            let lateral = if *lateral { " lateral" } else { "" };
            match condition {
                Some(condition) => format!("Join {kind}{lateral} on {condition}"),
                None => format!("Join {kind}{lateral}"),
            }
        }
        Node::Aggregate(aggregate) => {
            let mut line = format!("Aggregate keys [{}]", List(&aggregate.keys, ", "));
            let plain: Vec<usize> = (0..aggregate.keys.len()).collect();
            if aggregate.sets != [plain] {
                line += &format!(" sets {:?}", aggregate.sets);
            }
            line += &format!(" calls [{}]", List(&aggregate.calls, ", "));
            if !aggregate.masks.is_empty() {
                line += &format!(" grouping {:?}", aggregate.masks);
            }
            line
        }
        Node::Window { calls, .. } => format!("Window [{}]", List(calls, ", ")),
        Node::Distinct(_) => "Distinct".to_owned(),
        Node::DistinctOn { keys, .. } => format!("DistinctOn [{}]", List(keys, ", ")),
        Node::Sort { keys, .. } => format!("Sort [{}]", List(keys, ", ")),
        Node::Limit { limit, offset, ties, .. } => {
            let mut line = "Limit".to_owned();
            if let Some(limit) = limit {
                line += &format!(" {limit}");
            }
            if let Some(offset) = offset {
                line += &format!(" offset {offset}");
            }
            if let Some(ties) = ties {
                line += &format!(" with ties [{}]", List(ties, ", "));
            }
            line
        }
        Node::SetOperation { op, all, .. } => {
            let op = match op {
                SetOp::Union => "Union",
                SetOp::Intersect => "Intersect",
                SetOp::Except => "Except",
            };
            format!("{op}{}", if *all { " all" } else { "" })
        }
        Node::With { .. } => "With".to_owned(),
        Node::CteScan { table, name } => format!("CteScan {table} {name}"),
        Node::WorkTable { table, name } => format!("WorkTable {table} {name}"),
        Node::Modify(modify) => {
            let mut line = action(&modify.action, &modify.name);
            if let Some(returning) = &modify.returning {
                line += &format!(" returning [{}]", List(returning, ", "));
            }
            line
        }
        Node::LockRows { locks, .. } => {
            let locks: Vec<String> = locks.iter().map(row_lock).collect();
            format!("LockRows {}", List(&locks, ", "))
        }
    }
}

/// A lock on rows, as text.
pub fn row_lock(lock: &RowLock) -> String {
    let strength = match lock.strength {
        LockStrength::KeyShare => "key share",
        LockStrength::Share => "share",
        LockStrength::NoKeyUpdate => "no key update",
        LockStrength::Update => "update",
    };
    let wait = match lock.wait {
        LockWait::Wait => "",
        LockWait::SkipLocked => " skip locked",
        LockWait::NoWait => " nowait",
    };
    format!("for {strength} by #{}{wait}", lock.key)
}

/// Which states of a table are read, as text behind its name.
pub fn moment(moment: &Moment) -> String {
    match moment {
        Moment::Now => String::new(),
        Moment::AsOf(at) => format!(" as of {at}"),
        Moment::AtVersion(version) => format!(" at version {version}"),
        Moment::FromTo(from, to) => format!(" from {from} to {to}"),
        Moment::Between(from, to) => format!(" between {from} and {to}"),
        Moment::ContainedIn(from, to) => format!(" contained in {from}, {to}"),
        Moment::All | Moment::Ever => " all versions".to_owned(),
    }
}

fn set_list(set: &[(usize, Expr)]) -> String {
    let set: Vec<String> = set.iter().map(|(place, value)| format!("{place} = {value}")).collect();
    List(&set, ", ").to_string()
}

/// The action on the rows of a table, as text.
pub fn action(action: &Action, name: &str) -> String {
    match action {
        Action::Insert { generated, conflict } => {
            let mut line = format!("Insert {name}");
            if !generated.is_empty() {
                line += &format!(" generated [{}]", set_list(generated));
            }
            if let Some(conflict) = conflict {
                let arbiters: Vec<_> = conflict.arbiters.iter().map(|known| known.index).collect();
                line += &format!(" on conflict {arbiters:?}");
                match &conflict.update {
                    None => line += " nothing",
                    Some(update) => {
                        line += &format!(" update [{}]", set_list(&update.set));
                        if let Some(filter) = &update.filter {
                            line += &format!(" where {filter}");
                        }
                    }
                }
            }
            line
        }
        Action::Update { set, generated } => {
            let mut line = format!("Update {name} [{}]", set_list(set));
            if !generated.is_empty() {
                line += &format!(" generated [{}]", set_list(generated));
            }
            line
        }
        Action::Delete => format!("Delete {name}"),
        Action::Erase => format!("Erase {name}"),
        Action::Merge { clauses, .. } => {
            let mut line = format!("Merge {name}");
            for clause in clauses {
                line += match clause.when {
                    MergeWhen::Matched => " matched",
                    MergeWhen::NotMatchedBySource => " not matched by source",
                    MergeWhen::NotMatchedByTarget => " not matched",
                };
                if let Some(filter) = &clause.filter {
                    line += &format!(" and {filter}");
                }
                line += &match &clause.action {
                    MergeAction::Nothing => " nothing;".to_owned(),
                    MergeAction::Delete => " delete;".to_owned(),
                    MergeAction::Update(set) => format!(" update [{}];", set_list(set)),
                    MergeAction::Insert(row) => format!(" insert [{}];", List(row, ", ")),
                };
            }
            line
        }
    }
}

impl Display for SortKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)?;
        if self.descending {
            f.write_str(" desc")?;
        }
        match (self.descending, self.nulls_first) {
            (false, true) => f.write_str(" nulls first"),
            (true, false) => f.write_str(" nulls last"),
            _ => Ok(()),
        }
    }
}

impl Display for AggregateCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let distinct = if self.distinct { "distinct " } else { "" };
        write!(f, "{}({distinct}{}", self.name, List(&self.args, ", "))?;
        if !self.direct.is_empty() {
            write!(f, " direct {}", List(&self.direct, ", "))?;
        }
        if !self.order.is_empty() {
            write!(f, " order by {}", List(&self.order, ", "))?;
        }
        f.write_str(")")?;
        if let Some(filter) = &self.filter {
            write!(f, " filter ({filter})")?;
        }
        Ok(())
    }
}

impl Display for WindowCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, List(&self.args, ", "))?;
        if let Some(filter) = &self.filter {
            write!(f, " filter ({filter})")?;
        }
        f.write_str(" over (")?;
        if !self.partition.is_empty() {
            write!(f, "partition by {} ", List(&self.partition, ", "))?;
        }
        if !self.order.is_empty() {
            write!(f, "order by {} ", List(&self.order, ", "))?;
        }
        let unit = match self.frame.unit {
            FrameUnit::Range => "range",
            FrameUnit::Rows => "rows",
            FrameUnit::Groups => "groups",
        };
        write!(f, "{unit} {}..{}", self.frame.start, self.frame.end)?;
        f.write_str(match self.frame.exclude {
            Exclude::NoOthers => "",
            Exclude::CurrentRow => " exclude current row",
            Exclude::Group => " exclude group",
            Exclude::Ties => " exclude ties",
        })?;
        f.write_str(")")
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Bound::UnboundedPreceding | Bound::UnboundedFollowing => f.write_str("unbounded"),
            Bound::CurrentRow => f.write_str("current"),
            Bound::Preceding(offset) => write!(f, "-{offset}"),
            Bound::Following(offset) => write!(f, "+{offset}"),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.args[..], self.operator) {
            ([left, right], true) => write!(f, "({left} {} {right})", self.name),
            ([right], true) => write!(f, "({}{right})", self.name),
            _ => {
                let variadic = if self.variadic { "variadic " } else { "" };
                match self.args.split_last() {
                    Some((last, first)) if self.variadic => {
                        let comma = if first.is_empty() { "" } else { ", " };
                        write!(f, "{}({}{comma}{variadic}{last})", self.name, List(first, ", "))
                    }
                    _ => write!(f, "{}({})", self.name, List(&self.args, ", ")),
                }
            }
        }
    }
}

fn write_datum(f: &mut Formatter<'_>, datum: &Datum, ty: Type) -> fmt::Result {
    match datum {
        Datum::Null => f.write_str("null"),
        Datum::Bool(value) => write!(f, "{value}"),
        Datum::Int2(value) => write!(f, "{value}"),
        Datum::Int4(value) => write!(f, "{value}"),
        Datum::Int8(value) => write!(f, "{value}"),
        Datum::Numeric(value) => write!(f, "{value}"),
        Datum::Text(value) => write!(f, "'{}'", value.replace('\'', "''")),
        Datum::Short(value) => write!(f, "'{}'", value.replace('\'', "''")),
        // Values of users' types are shown as they are held: the catalog is not known here.
        Datum::Enum(_) | Datum::Record(_) | Datum::Array(_) => write!(f, "{datum:?}"),
        other => {
            let style = Style::default();
            let context = Context::new(&style);
            let text = types::text::to_string(other.as_ref(), ty, Modifier::NONE, &context);
            write!(f, "'{}'", text.unwrap_or_default())
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Const(datum) => {
                write_datum(f, datum, self.ty)?;
                match self.ty {
                    Type::INT4 | Type::BOOL if !datum.is_null() => Ok(()),
                    ty => write!(f, "::{}", type_name(ty)),
                }
            }
            ExprKind::Param(number) => write!(f, "${}::{}", number + 1, type_name(self.ty)),
            ExprKind::Column { levels_up: 0, index } => write!(f, "#{index}"),
            ExprKind::Column { levels_up, index } => write!(f, "^{levels_up}#{index}"),
            ExprKind::Call(call) => call.fmt(f),
            ExprKind::Cast { expr, how } => {
                let how = match how {
                    Cast::Type { how: CoercionPath::Relabel, .. } => "relabel",
                    Cast::Type {
                        how: CoercionPath::Function(_) | CoercionPath::Bits(..), ..
                    } => "cast",
                    Cast::Type { how: CoercionPath::InOut, .. } => "text",
                    Cast::Type { how: CoercionPath::Elements(_), .. } => "elements",
                    Cast::Type { how: CoercionPath::Record, .. } => "record",
                    Cast::Modifier { .. } => {
                        return write!(f, "fit({expr}, {})", self.modifier.0);
                    }
                    Cast::Domain => "domain",
                };
                write!(f, "{how}({expr} as {})", type_name(self.ty))
            }
            ExprKind::Collate { expr, collation } => write!(f, "({expr} collate {collation})"),
            ExprKind::And(list) => write!(f, "({})", List(list, " and ")),
            ExprKind::Or(list) => write!(f, "({})", List(list, " or ")),
            ExprKind::Not(expr) => write!(f, "(not {expr})"),
            ExprKind::IsNull { expr, negated } => {
                write!(f, "({expr} is {}null)", if *negated { "not " } else { "" })
            }
            ExprKind::IsBool { expr, value, negated } => {
                let value = match value {
                    Some(true) => "true",
                    Some(false) => "false",
                    None => "unknown",
                };
                write!(f, "({expr} is {}{value})", if *negated { "not " } else { "" })
            }
            ExprKind::IsDistinct { equal, negated } => {
                let not = if *negated { "not " } else { "" };
                write!(f, "({} is {not}distinct from {})", equal.args[0], equal.args[1])
            }
            ExprKind::NullIf(call) => write!(f, "nullif({})", List(&call.args, ", ")),
            ExprKind::Case { operand, arms, otherwise } => {
                f.write_str("case")?;
                if let Some(operand) = operand {
                    write!(f, " {operand}")?;
                }
                for (condition, result) in arms {
                    write!(f, " when {condition} then {result}")?;
                }
                write!(f, " else {otherwise} end")
            }
            ExprKind::CaseOperand => f.write_str("operand"),
            ExprKind::Coalesce(list) => write!(f, "coalesce({})", List(list, ", ")),
            ExprKind::Greatest(list) => write!(f, "greatest({})", List(list, ", ")),
            ExprKind::Least(list) => write!(f, "least({})", List(list, ", ")),
            ExprKind::AnyAll { call, all } => {
                let word = if *all { "all" } else { "any" };
                write!(f, "({} {} {word} {})", call.args[0], call.name, call.args[1])
            }
            ExprKind::Array { elements, .. } => write!(f, "array[{}]", List(elements, ", ")),
            ExprKind::Row { fields, .. } => write!(f, "row({})", List(fields, ", ")),
            ExprKind::RowCompare { symbol, pairs } => {
                let side =
                    |at: usize| -> Vec<&Expr> { pairs.iter().map(|pair| &pair.args[at]).collect() };
                write!(f, "(row({}) {symbol} row({}))", List(&side(0), ", "), List(&side(1), ", "))
            }
            ExprKind::Field { expr, index } => write!(f, "{expr}.{index}"),
            ExprKind::Subscript { expr, steps } => write!(f, "{expr}{}", List(steps, "")),
            ExprKind::Assign { expr, steps, value } => {
                write!(f, "assign({expr}{} = {value})", List(steps, ""))
            }
            ExprKind::AssignField { expr, index, value } => {
                write!(f, "assign({expr}.{index} = {value})")
            }
            ExprKind::Subquery(subquery) => {
                match &subquery.link {
                    Link::Scalar => f.write_str("scalar")?,
                    Link::Row => f.write_str("row")?,
                    Link::Exists => f.write_str("exists")?,
                    Link::Array => f.write_str("array")?,
                    Link::Any(test) => write!(f, "any {test}")?,
                    Link::All(test) => write!(f, "all {test}")?,
                }
                let plan = explain(&subquery.plan);
                let flat: Vec<&str> = plan.lines().map(str::trim).collect();
                write!(f, " {{{}}}", flat.join("; "))
            }
            ExprKind::Aggregate(call) => call.fmt(f),
            ExprKind::Window(call) => call.fmt(f),
            ExprKind::Json(json) => match json {
                Json::Construct { construct, args } => {
                    write!(f, "{construct:?}({})", List(args, ", "))
                }
                Json::Search(boxed) => {
                    let JsonSearch { search, document, path, passing, on_empty, on_error } =
                        &**boxed;
                    let name = search.what.name().to_lowercase();
                    write!(f, "{name}({document}, {path}")?;
                    for (name, value) in search.names.iter().zip(passing) {
                        write!(f, ", {name} = {value}")?;
                    }
                    for (given, word) in [(on_empty, "empty"), (on_error, "error")] {
                        match given {
                            Some(value) => write!(f, ", {value} on {word}")?,
                            None => write!(f, ", error on {word}")?,
                        }
                    }
                    f.write_str(")")
                }
            },
            ExprKind::Grouping { args, .. } => write!(f, "grouping({})", List(args, ", ")),
            ExprKind::Keyword(word) => f.write_str(word),
            ExprKind::NextValue(sequence) => write!(f, "nextval({sequence})"),
            ExprKind::MergeAction => f.write_str("merge_action()"),
            ExprKind::CurrentOf(cursor) => write!(f, "current of {cursor}"),
            ExprKind::Slot(number) => write!(f, "@{number}"),
            ExprKind::Once { expr, .. } => expr.fmt(f),
            ExprKind::Subplan { number, args } => {
                write!(f, "subplan {number}({})", List(args, ", "))
            }
        }
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", List(&self.calls, ", "))
    }
}

impl Display for Subscript {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Subscript::Index(index) => write!(f, "[{index}]"),
            Subscript::Slice(low, high) => {
                f.write_str("[")?;
                if let Some(low) = low {
                    low.fmt(f)?;
                }
                f.write_str(":")?;
                if let Some(high) = high {
                    high.fmt(f)?;
                }
                f.write_str("]")
            }
        }
    }
}
