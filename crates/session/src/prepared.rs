//! `PREPARE` and `EXECUTE`, and commands about tables that change no definition.

use std::sync::Arc;

use sql::parse::ast::{Path, SqlExpr, TypeName};
use table::catalog::{Address, ConstraintOn, Privileges, Relation};
use types::{Datum, Oid, SqlState, Type};

use crate::error::{Error, Result, Severity};
use crate::evaluate::Evaluator;
use crate::instance::now;
use crate::portal::{Portal, Work};
use crate::progress::Task;
use crate::rights::Rights;
use crate::session::{Session, done};
use crate::statement::{Parsed, Prepared};

impl Session {
    pub(crate) fn prepare_command(
        &mut self,
        name: &str,
        types: &[TypeName],
        text: &str,
        whole: &Arc<str>,
    ) -> Result<Work> {
        if self.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        self.look()?;
        let mut params: Vec<Type> = Vec::new();
        for ty in types {
            let statement_context = self.statement_context();
            let found = sql::bind::type_name(ty, &*self.names, statement_context.types());
            params.push(found.map_err(|error| Error::from(error.cause))?.0);
        }
        // Places count in the statement's own text from now on.
        let plans = &self.client.instance.plans;
        let parsed = Parsed::shared(text, plans)?.pop().unwrap_or_else(|| Parsed::empty(text));
        let planned = self.planned(&parsed, &params)?;
        let prepared = Prepared {
            made: now(&self.client.instance.env),
            text: Arc::clone(whole),
            is_command: true,
            parsed,
            params: planned.params.clone(),
            columns: planned.columns.clone(),
        };
        self.statements.insert(name.to_owned(), prepared);
        Ok(done("PREPARE"))
    }

    /// A portal for `EXECUTE`: that of the prepared statement.
    pub(crate) fn plan_execute(
        &mut self,
        parsed: Parsed,
        name: &str,
        args: &[SqlExpr],
    ) -> Result<Portal> {
        let prepared = self.prepared(name)?.clone();
        // A statement without parameters ignores any values, as in PostgreSQL.
        if args.len() != prepared.params.len() && !prepared.params.is_empty() {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).detail(format!(
                "Expected {} parameters but got {}.",
                prepared.params.len(),
                args.len()
            )));
        }
        self.look()?;
        let mut params = Vec::new();
        {
            let statement_context = self.statement_context();
            let evaluator = Evaluator::new(&statement_context, &self.names);
            for (at, (arg, ty)) in args.iter().zip(&prepared.params).enumerate() {
                let column = sql::bind::RelationColumn::plain(
                    0,
                    format!("${}", at + 1),
                    *ty,
                    types::Modifier::NONE,
                );
                let context = statement_context.types();
                let bound =
                    sql::bind::column_value(&arg.text, None, &column, &*self.names, context)
                        .map_err(|mut error| {
                            error.at = error.at.within(arg.at);
                            Error::in_text(error, &parsed.source)
                        })?;
                params.push(evaluator.value(&bound)?);
            }
        }
        let planned = self.planned_for(&prepared.parsed, &prepared.params, &params)?;
        prepared.same_result(planned.columns.as_deref())?;
        let mut portal = self.plan_portal(parsed, planned)?;
        portal.params = params.into();
        Ok(portal)
    }

    /// `DELETE HISTORY`
    pub(crate) fn delete_history(&mut self, table: &Path, before: &SqlExpr) -> Result<Work> {
        self.look()?;
        self.must_write("DELETE HISTORY")?;
        let text = format!("SELECT CAST(({}) AS timestamptz)", before.text);
        let parsed = Parsed::all(&text)?.pop().unwrap_or_else(|| Parsed::empty(&text));
        // Places count in a text that the user has not written.
        let planned = self.planned(&parsed, &[]).map_err(|mut error| {
            error.position = None;
            error
        })?;
        let mut time = None;
        self.collect(planned, &Arc::from([]), &mut |row| time = row.first().cloned())?;
        let Some(Datum::TimestampTz(time)) = time else {
            let message = "the time of DELETE HISTORY must not be null";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        let before = self.client.instance.csn_at(time)?;
        self.make("", |maker| {
            let relation = maker.relation(table)?;
            for oid in maker.catalog().partition_tree(relation.oid) {
                maker.ddl.forget(oid, before)?;
            }
            Ok(())
        })?;
        // Clients expect a count in a tag that begins with DELETE.
        Ok(done("HISTORY DELETED"))
    }

    /// `SET CONSTRAINTS`
    pub(crate) fn set_constraints(
        &mut self,
        names: &[Path],
        deferred: bool,
        is_one_of_many: bool,
    ) -> Result<Work> {
        if !is_one_of_many && !self.is_block() {
            self.client.notice(
                Severity::Warning,
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "SET CONSTRAINTS can only be used in transaction blocks",
            );
        }
        self.look()?;
        let mut oids = Vec::new();
        for path in names {
            let found: Vec<_> = self
                .names
                .catalog
                .constraints()
                .filter(|constraint| *constraint.name == *path.last())
                .filter(|constraint| matches!(constraint.on, ConstraintOn::Table(_)))
                .collect();
            if found.is_empty() {
                let message = format!("constraint \"{path}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            }
            for constraint in found {
                if !constraint.is_deferrable {
                    let message = format!("constraint \"{path}\" is not deferrable");
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                oids.push(constraint.oid);
            }
        }
        let all = names.is_empty();
        let names = Arc::clone(&self.names);
        let open = self.transaction.as_mut().expect("a transaction was begun");
        let txn = open.inner.as_mut().expect("a transaction that goes on is open");
        let around = crate::client::StatementContext::of(&self.client, &names, open.started);
        let evaluator = Evaluator::new(&around, &names);
        let which = if all { None } else { Some(&oids[..]) };
        open.checks.set(txn, &mut evaluator.values(), which, deferred)?;
        Ok(done("SET CONSTRAINTS"))
    }

    /// The relations that a command names.
    fn named_tables(&self, tables: &[Path]) -> Result<Vec<Arc<table::catalog::Relation>>> {
        let find = |path: &Path| {
            let (schema, name) = self.names.split(path)?;
            self.names.require_schema(schema)?;
            self.names.user_relation(schema, name).cloned().ok_or_else(|| no_table(path))
        };
        tables.iter().map(find).collect()
    }

    /// `LOCK TABLE`
    pub(crate) fn lock_tables(
        &mut self,
        tables: &[Path],
        mode: &str,
        nowait: bool,
        is_one_of_many: bool,
    ) -> Result<Work> {
        if !self.is_block() && !is_one_of_many {
            return Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "LOCK TABLE can only be used in transaction blocks",
            ));
        }
        self.look()?;
        let relations = self.named_tables(tables)?;
        let mode = match mode {
            "access share" => txn::RelationLock::AccessShare,
            "row share" => txn::RelationLock::RowShare,
            "row exclusive" => txn::RelationLock::RowExclusive,
            "share update exclusive" => txn::RelationLock::ShareUpdateExclusive,
            "share" => txn::RelationLock::Share,
            "share row exclusive" => txn::RelationLock::ShareRowExclusive,
            "exclusive" => txn::RelationLock::Exclusive,
            _ => txn::RelationLock::AccessExclusive,
        };
        // A role with a right to change rows may take any lock; ACCESS SHARE needs no more than a right
        // to read.
        let changes =
            Privileges::UPDATE | Privileges::DELETE | Privileges::TRUNCATE | Privileges::MAINTAIN;
        let enough = match mode {
            txn::RelationLock::AccessShare => changes | Privileges::SELECT | Privileges::INSERT,
            txn::RelationLock::RowShare | txn::RelationLock::RowExclusive => {
                changes | Privileges::INSERT
            }
            _ => changes,
        };
        for relation in relations {
            let rights = Rights::of(&self.names);
            if rights.on(Address::relation(relation.oid), enough).is_empty() {
                return Err(rights.denied(relation.oid));
            }
            let wait = if nowait { txn::Wait::Never } else { txn::Wait::Allowed };
            for (oid, mode) in self.with_partitions(vec![(relation.oid, mode)]) {
                let inner = self.open().inner.as_mut().expect("a transaction that goes on is open");
                inner.lock_relation(oid.0, mode, wait).map_err(|error| match error {
                    txn::TxnError::LockNotAvailable if nowait => {
                        let message =
                            format!("could not obtain lock on relation \"{}\"", relation.name);
                        Error::new(SqlState::LOCK_NOT_AVAILABLE, message)
                    }
                    other => other.into(),
                })?;
            }
        }
        Ok(done("LOCK TABLE"))
    }

    /// Removes erased bytes from all files, and reports those that older snapshots keep.
    fn clean(&mut self) -> Result<()> {
        let engine = Arc::clone(&self.client.instance.engine);
        table::rows::clean(&engine)?;
        let left: usize = engine.store().erasures().iter().map(|(_, keys)| keys).sum();
        if left > 0 {
            let message = format!("{left} erased keys stay in files: older snapshots are open");
            self.client.notice(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, message);
        }
        Ok(())
    }

    /// The table that is vacuumed; none if it is not one alone.
    fn vacuumed(&self, tables: &[Path]) -> Result<Oid> {
        let [path] = tables else { return Ok(Oid::NONE) };
        let (schema, name) = self.names.split(path)?;
        Ok(self.names.relation_oid(schema, name).unwrap_or(Oid::NONE))
    }

    /// Notes that tables were vacuumed; all where none is named.
    fn note_vacuumed(&self, tables: &[Path]) -> Result<()> {
        let (names, handles) = (&self.names, &self.client.instance.handles);
        let now_us = self.client.instance.engine.now_us();
        let rights = Rights::of(names);
        let note = |relation: &Relation| {
            let may = rights.has(Address::relation(relation.oid), Privileges::MAINTAIN);
            if relation.table().is_some() && may {
                handles.usage(relation.oid).note_vacuumed(now_us);
            }
        };
        if tables.is_empty() {
            names.catalog.relations().for_each(|relation| note(relation));
        }
        for path in tables {
            let (schema, name) = names.split(path)?;
            if let Some(relation) = names.user_relation(schema, name) {
                note(relation);
            }
        }
        Ok(())
    }

    /// `VACUUM` and the like: the store keeps itself in shape, so that little is left to be done. A
    /// `CHECKPOINT` writes what is in memory to the store's files, and cuts the log.
    pub(crate) fn maintain(
        &mut self,
        (tag, analyzes): (&'static str, bool),
        tables: &[Path],
        portal: &Portal,
    ) -> Result<Work> {
        if tag == "VACUUM" {
            self.must_be_alone(tag, portal)?;
        }
        self.look()?;
        if tag == "CHECKPOINT" && !self.names.is_superuser {
            let message = "permission denied to execute CHECKPOINT command";
            let error = types::Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
            return Err(error.with_detail("Only superusers may execute this command.").into());
        }
        for path in tables {
            let (schema, name) = self.names.split(path)?;
            self.names.require_schema(schema)?;
            // Tables of the system are computed: there is nothing to be kept in shape.
            let may = match self.names.user_relation(schema, name) {
                Some(relation) => {
                    let oid = relation.oid;
                    let may =
                        Rights::of(&self.names).has(Address::relation(oid), Privileges::MAINTAIN);
                    if may && tag != "CHECKPOINT" {
                        self.lock_maintained(oid)?;
                    }
                    if may && analyzes {
                        self.client.slot.status.progress.begin(Task::Analyze, oid, Oid::NONE);
                        for leaf in self.names.catalog.leaves(oid) {
                            self.client.instance.handles.analyze(&self.names.catalog, leaf);
                        }
                    }
                    may
                }
                None if self.names.relation_oid(schema, name).is_some() => self.names.is_superuser,
                None => return Err(no_table(path)),
            };
            if !may {
                let verb = tag.to_ascii_lowercase();
                let message = format!("permission denied to {verb} \"{name}\", skipping it");
                self.client.notice(Severity::Warning, SqlState::WARNING, message);
            }
        }
        if tag == "CHECKPOINT" || tag == "ANALYZE" || tag == "VACUUM" {
            let instance = &self.client.instance;
            instance.handles.save_counts(&instance.engine)?;
            instance.catalogs.tables().settle(instance.engine.store());
        }
        if analyzes && tables.is_empty() {
            let catalog = Arc::clone(&self.names.catalog);
            let rights = Rights::of(&self.names);
            let may = |oid| rights.has(Address::relation(oid), Privileges::MAINTAIN);
            let relations = catalog.relations().filter(|it| it.table().is_some() && may(it.oid));
            for relation in relations {
                let progress = &self.client.slot.status.progress;
                progress.begin(Task::Analyze, relation.oid, Oid::NONE);
                self.client.instance.handles.analyze(&catalog, relation.oid);
            }
        }
        if tag == "VACUUM" {
            self.note_vacuumed(tables)?;
        }
        match tag {
            "VACUUM" => {
                let of = self.vacuumed(tables)?;
                self.client.slot.status.progress.begin(Task::Vacuum, of, Oid::NONE);
                self.clean()?;
            }
            "CHECKPOINT" => self.client.instance.engine.checkpoint()?,
            _ => {}
        }
        Ok(done(tag))
    }
}

fn no_table(path: &Path) -> Error {
    Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{path}\" does not exist"))
}
