//! Tables in `FROM`: their columns, samples and moments of the past.

use std::sync::Arc;

use types::{Modifier, SqlState, Type};

use super::Binder;
use super::from::{Part, alias_name, rename_table};
use super::names::{Relation, RelationKind};
use super::scope::{Clause, Item, ItemColumn};
use crate::error::{At, Error, Result};
use crate::outline::{self, ItemKind};
use crate::parse::ast::{self, TableRef};
use crate::plan::{Column, Expr, ExprKind, Moment, Node, Origin, Plan, Sample, Scan, system};

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

impl Binder<'_> {
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

    pub(super) fn outline_table(
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
    pub(super) fn moment(
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
}
