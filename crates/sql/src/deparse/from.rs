//! The items of `FROM`: tables, subqueries, functions and joins, under names that differ.

use super::{JOIN, Printer, STANDARD};
use crate::outline::{Defined, Item, ItemKind, Join, Source};
use crate::parse::ast::JoinKind;
use crate::plan::{Expr, ExprKind, Moment, Sample};

impl Printer<'_> {
    /// Gives each table a name, and the columns theirs, from left to right; a join comes after its sides.
    pub(super) fn assign(&mut self, sources: &[Source]) {
        // The name of each source is found again by its columns.
        for source in sources {
            self.assign_one(source);
        }
    }

    fn assign_one(&mut self, source: &Source) {
        match source {
            Source::Item(item) => {
                let name = self.unique(&item.name);
                let names = own_columns(item);
                self.call_columns(Some(&name), &item.columns, &names);
                let hidden: Vec<String> =
                    item.hidden.iter().map(|(_, name)| name.clone()).collect();
                self.call_columns(Some(&name), &item.hidden, &hidden);
                self.rows.push((item.columns.iter().map(|(id, _)| *id).collect(), name));
            }
            Source::Join(join) => {
                self.assign_one(&join.left);
                self.assign_one(&join.right);
                if let Some((alias, _, columns)) = &join.alias {
                    let name = self.unique(alias);
                    let names = distinct(columns.iter().map(|(_, name)| name.as_str()));
                    self.call_columns(Some(&name), columns, &names);
                    self.rows.push((columns.iter().map(|(id, _)| *id).collect(), name));
                    return;
                }
                if join.kind == JoinKind::Full {
                    self.both.extend(join.both.iter().cloned());
                }
                // A column of a full join that is made of both sides has no table.
                for (id, name) in &join.merged {
                    self.columns.entry(*id).or_insert_with(|| (None, name.clone()));
                }
            }
        }
    }

    pub(super) fn from(&mut self, sources: &[Source]) {
        for (place, source) in sources.iter().enumerate() {
            if place == 0 {
                self.clause(" FROM ", 2);
                self.source(source);
                continue;
            }
            self.push(", ");
            let text = self.apart(|printer| printer.source(source));
            self.wrap(&text, false, true);
            self.push(&text);
        }
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Item(item) => self.item(item),
            Source::Join(join) => self.join(join),
        }
    }

    /// The name that an item was given.
    fn name_of(&self, item: &Item) -> String {
        let known = item.columns.first().or(item.hidden.first());
        let name = known.and_then(|(id, _)| {
            let is_it = |(ids, _): &&(Vec<u32>, String)| ids.contains(id);
            self.rows.iter().find(is_it).map(|(_, name)| name.clone())
        });
        name.unwrap_or_else(|| item.name.clone())
    }

    fn item(&mut self, item: &Item) {
        if item.lateral {
            self.push("LATERAL ");
        }
        let name = self.name_of(item);
        let mut own_name = None;
        let mut definition: Option<&[Defined]> = None;
        let mut after = None;
        match &item.kind {
            ItemKind::Relation { relation, only, moment, sample } => {
                if *only {
                    self.push("ONLY ");
                }
                let written = self.objects.relation(*relation);
                self.push(&written);
                if let Some(moment) = moment {
                    self.moment(moment);
                }
                own_name = (!item.has_alias).then(|| item.name.clone());
                after = sample.as_ref();
            }
            ItemKind::Cte(table) => {
                self.name(table);
                own_name = Some(table.clone());
            }
            ItemKind::Query(query) => {
                self.push("(");
                self.query(query, None, true);
                self.push(")");
            }
            ItemKind::Functions { calls, ordinality } => {
                definition = self.functions(calls, *ordinality);
            }
        }
        if own_name.as_ref() != Some(&name) {
            self.push(" ");
            self.name(&name);
        }
        if let Some(columns) = definition {
            self.definition(columns);
        } else {
            self.column_aliases(item);
        }
        if let Some(sample) = after {
            self.sample(sample);
        }
    }

    fn column_aliases(&mut self, item: &Item) {
        let names = own_columns(item);
        let is_changed = names != item.own_names;
        let is_shown = match &item.kind {
            ItemKind::Relation { .. } => is_changed,
            ItemKind::Functions { .. } => true,
            _ => is_changed || item.has_column_aliases,
        };
        if is_shown && !names.is_empty() {
            self.names(names.iter().map(String::as_str));
        }
    }

    /// The functions; what is left to print behind the alias is a column definition list.
    fn functions<'e>(
        &mut self,
        calls: &'e [(Expr, Vec<Defined>)],
        ordinality: bool,
    ) -> Option<&'e [Defined]> {
        let mut definition = None;
        match calls {
            [(call, defined)] if defined.is_empty() || !ordinality => {
                self.function_in_from(call);
                definition = (!defined.is_empty()).then_some(&defined[..]);
            }
            calls => {
                let argument = |(call, defined): &'e (Expr, Vec<Defined>)| match &call.kind {
                    ExprKind::Call(call) if call.name == "unnest" && defined.is_empty() => {
                        call.args.first()
                    }
                    _ => None,
                };
                let arguments: Option<Vec<&Expr>> = calls.iter().map(argument).collect();
                if let Some(arguments) = arguments {
                    self.push("UNNEST(");
                    self.separated(&arguments, |printer, argument| printer.expr(argument, true));
                } else {
                    self.push("ROWS FROM(");
                    self.separated(calls, |printer, (call, defined)| {
                        printer.function_in_from(call);
                        if !defined.is_empty() {
                            printer.push(" AS ");
                            printer.definition(defined);
                        }
                    });
                }
                self.push(")");
            }
        }
        if ordinality {
            self.push(" WITH ORDINALITY");
        }
        definition
    }

    /// A function in `FROM`; anything else is made one by a cast.
    fn function_in_from(&mut self, call: &Expr) {
        if super::expr::looks_like_function(call) {
            return self.expr(call, true);
        }
        self.push("CAST(");
        self.expr(call, false);
        let of = self.type_text(call.ty, call.modifier);
        self.push(&format!(" AS {of})"));
    }

    fn definition(&mut self, columns: &[Defined]) {
        self.push("(");
        self.separated(columns, |printer, (name, ty, modifier)| {
            printer.name(name);
            let of = printer.type_text(*ty, *modifier);
            printer.push(" ");
            printer.push(&of);
        });
        self.push(")");
    }

    fn sample(&mut self, sample: &Sample) {
        self.push(if sample.system { " TABLESAMPLE system (" } else { " TABLESAMPLE bernoulli (" });
        self.expr(&sample.percent, false);
        self.push(")");
        if let Some(seed) = &sample.seed {
            self.push(" REPEATABLE (");
            self.expr(seed, false);
            self.push(")");
        }
    }

    fn moment(&mut self, moment: &Moment) {
        let between = match moment {
            Moment::Now | Moment::Ever => return,
            Moment::All => return self.push(" FOR SYSTEM_TIME ALL"),
            Moment::AsOf(time) => {
                self.push(" FOR SYSTEM_TIME AS OF ");
                return self.expr(time, true);
            }
            Moment::AtVersion(version) => {
                self.push(" FOR SYSTEM_VERSION AS OF ");
                return self.expr(version, false);
            }
            Moment::FromTo(from, to) => [(" FROM ", from), (" TO ", to)],
            Moment::Between(from, to) => [(" BETWEEN ", from), (" AND ", to)],
            Moment::ContainedIn(from, to) => {
                self.push(" FOR SYSTEM_TIME CONTAINED IN (");
                self.expr(from, true);
                self.push(", ");
                self.expr(to, true);
                return self.push(")");
            }
        };
        self.push(" FOR SYSTEM_TIME");
        for (word, time) in between {
            self.push(word);
            self.expr(time, true);
        }
    }

    /// Calls columns what they are called inside of a join with an alias.
    fn show_sides(&mut self, join: &Join) {
        for side in [&join.left, &join.right] {
            match side {
                Source::Join(inner) => self.show_sides(inner),
                Source::Item(item) => {
                    let name = self.name_of(item);
                    let names = own_columns(item);
                    self.call_columns(Some(&name), &item.columns, &names);
                }
            }
        }
    }

    fn join(&mut self, join: &Join) {
        let pretty = self.layout.pretty;
        let is_enclosed = !pretty || join.alias.is_some();
        if is_enclosed {
            self.push("(");
        }
        if join.alias.is_some() {
            self.show_sides(join);
        }
        self.source(&join.left);
        let has_condition = join.condition.is_some() || !join.using.is_empty();
        let word = match join.kind {
            JoinKind::Inner if has_condition => " JOIN ",
            JoinKind::Inner => " CROSS JOIN ",
            JoinKind::Left => " LEFT JOIN ",
            JoinKind::Right => " RIGHT JOIN ",
            JoinKind::Full => " FULL JOIN ",
        };
        self.keyword(word, -STANDARD, STANDARD, JOIN);
        let is_nested =
            pretty && matches!(&join.right, Source::Join(inner) if inner.alias.is_none());
        if is_nested {
            self.push("(");
        }
        self.source(&join.right);
        if is_nested {
            self.push(")");
        }
        if !join.using.is_empty() {
            self.push(" USING ");
            self.names(join.using.iter().map(String::as_str));
            if let Some((alias, _)) = &join.using_alias {
                self.push(" AS ");
                self.name(alias);
            }
        } else if let Some(condition) = &join.condition {
            self.push(if pretty { " ON " } else { " ON (" });
            self.expr(condition, false);
            self.push(if pretty { "" } else { ")" });
        } else if join.kind != JoinKind::Inner {
            self.push(" ON TRUE");
        }
        if is_enclosed {
            self.push(")");
        }
        if let Some((alias, has_names, columns)) = &join.alias {
            self.push(" ");
            let ids: Vec<u32> = columns.iter().map(|(id, _)| *id).collect();
            let known = self.rows.iter().rev().find(|(known, _)| *known == ids);
            let alias = known.map_or_else(|| alias.clone(), |(_, name)| name.clone());
            self.name(&alias);
            let names = distinct(columns.iter().map(|(_, name)| name.as_str()));
            let is_changed = columns.iter().zip(&names).any(|((_, own), name)| own != name);
            if *has_names || is_changed {
                self.names(names.iter().map(String::as_str));
            }
            self.call_columns(Some(&alias), columns, &names);
        }
    }
}

/// The names of the columns of an item, each once.
fn own_columns(item: &Item) -> Vec<String> {
    distinct(item.columns.iter().map(|(_, name)| name.as_str()))
}

/// Names without repetitions: a second `a` is `a_1`.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let mut free = name.to_owned();
        let mut number = 0;
        while found.contains(&free) {
            number += 1;
            free = format!("{name}_{number}");
        }
        found.push(free);
    }
    found
}
