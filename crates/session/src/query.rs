//! Queries and changes of rows: bound once, prepared once, run any number of times.
//!
//! ```text
//!   text, path, types of parameters, catalog ──plans──> Planned ──start──> Run ──next──> rows
//!                                       └─ bind, prepare ─┘
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sql::bind::{Uses, Variables};
use sql::parse::ast::{Command, Define, Statement};
use sql::parse::template::Constant;
use store::Csn;
use table::catalog::{Catalog, Persistence, Relation, TableDef};
use types::{Datum, Modifier, Oid, Shape, SqlState, Type, TypeSource, builtin};

use crate::client::{Client, StatementContext};
use crate::error::{Error, Result, caught};
use crate::evaluate::Evaluator;
use crate::files::FileTable;
use crate::instance::us_of;
use crate::names::{Looked, Names};
use crate::plans::Basis;
use crate::portal::{Column, Done, Output, Portal, Tag, Work};
use crate::rights;
use crate::session::Session;
use crate::statement::Parsed;
use crate::system::rows::CatalogContext;

/// How many rows a statement may look at on the thread of a core, where it holds up other sessions: as many as
/// take a few milliseconds.
pub(crate) const INLINE_ROWS_MAX: u64 = 8 << 10;

/// A statement that is ready to be run.
pub(crate) struct Planned {
    pub prepared: Arc<exec::Prepared>,
    /// The types of its parameters.
    pub params: Vec<Type>,
    pub columns: Option<Arc<[Column]>>,
    /// The command of its tag.
    pub tag: &'static str,
    /// True for a statement that changes rows itself: its tag counts them.
    is_change: bool,
    /// True if it changes rows, also in a table of `WITH`.
    pub writes: bool,
    /// True if it locks rows that it reads.
    pub locks: bool,
    /// The relations of users that it reads and neither changes nor locks rows of.
    pub reads: Box<[Oid]>,
    /// True if it calls functions that the session computes: some of them wait.
    pub calls_server: bool,
    /// The files that it reads.
    pub files: Box<[Arc<FileTable>]>,
    /// The variables that its parameters stand for, where it was planned with variables.
    pub variables: Box<[u32]>,
    /// The rights that it needs.
    uses: Uses,
    /// True if superusers pass without a check.
    open_to_superusers: bool,
    /// The role that was last found to have the rights.
    allowed: AtomicU32,
    /// The part of the catalog that it depends on.
    dependencies: PlanDependencies,
    /// The role that it was made for, where policies of tables make a difference.
    role: Option<Oid>,
}

impl Planned {
    /// True if it gives one row and reads no stored data, so that PostgreSQL computes the row while it plans.
    pub fn is_constant(&self) -> bool {
        let changes = self.writes || self.locks;
        let mut node = &self.prepared.plan().root;
        while let plan::Kind::Project { input, .. } | plan::Kind::Filter { input, .. } = &node.kind
        {
            node = input;
        }
        if !matches!(&node.kind, plan::Kind::Values(rows) if rows.len() == 1) {
            return false;
        }
        self.reads.is_empty() && self.files.is_empty() && !changes && !self.calls_server
    }
}

/// The part of the catalog that a plan depends on. From another catalog with the same part the planner makes the same
/// plan, and the rights are the same.
struct PlanDependencies {
    /// The relations; `None` for a plan with other dependencies, which is valid for one version of the catalog only.
    relations: Option<Box<[DependedRelation]>>,
    /// [`Catalog::changed_widely`]
    wide: Csn,
    /// The version of a catalog that has this part: the last one that was compared.
    version: AtomicU64,
}

/// A relation that a plan depends on.
struct DependedRelation {
    oid: Oid,
    definition: Definition,
    /// True if its unqualified name finds it.
    is_found: bool,
}

/// The part of a relation's definition that matters to a plan.
enum Definition {
    Table(Arc<TableDef>),
    /// A view, a sequence.
    Other(Arc<Relation>),
    /// One of the system.
    Fixed,
}

impl Definition {
    fn of(catalog: &Catalog, oid: Oid) -> Definition {
        match (catalog.table(oid), catalog.relation(oid)) {
            (Some(table), _) => Definition::Table(Arc::clone(table)),
            (None, Some(relation)) => Definition::Other(Arc::clone(relation)),
            (None, None) => Definition::Fixed,
        }
    }

    fn is_of(&self, catalog: &Catalog, oid: Oid) -> bool {
        let (table, relation) = (catalog.table(oid), catalog.relation(oid));
        match self {
            Definition::Table(known) => table.is_some_and(|table| Arc::ptr_eq(table, known)),
            Definition::Other(known) => {
                relation.is_some_and(|relation| Arc::ptr_eq(relation, known))
            }
            Definition::Fixed => relation.is_none(),
        }
    }
}

impl PlanDependencies {
    /// The dependencies of a new plan: the look-ups while it was made, and the relations that its statement uses.
    fn looked_up(looked: Looked, names: &Names, uses: &Uses) -> PlanDependencies {
        let Looked { mut relations, further, .. } = looked;
        relations.extend(uses.relations.iter().map(|used| used.relation));
        relations.sort_unstable();
        relations.dedup();
        let made = |oid: Oid| DependedRelation {
            oid,
            definition: Definition::of(&names.catalog, oid),
            is_found: names.finds_by_name(oid),
        };
        PlanDependencies {
            relations: (!further).then(|| relations.into_iter().map(made).collect()),
            wide: names.catalog.changed_widely(),
            version: AtomicU64::new(names.catalog.version().0),
        }
    }

    /// True if the catalog of `names` has this part.
    fn is_valid_for(&self, names: &Names) -> bool {
        let version = names.catalog.version().0;
        if self.version.load(Ordering::Relaxed) == version {
            return true;
        }
        let Some(relations) = &self.relations else { return false };
        let is_same = |made: &DependedRelation| {
            made.definition.is_of(&names.catalog, made.oid)
                && made.is_found == names.finds_by_name(made.oid)
        };
        let stands = names.catalog.changed_widely() == self.wide && relations.iter().all(is_same);
        if stands {
            self.version.store(version, Ordering::Relaxed);
        }
        stands
    }
}

impl Planned {
    /// Fails if the role that runs it lacks a right.
    ///
    /// # Errors
    /// `42501`.
    pub fn require_rights(&self, names: &Names) -> Result<()> {
        if self.role.is_some_and(|role| role != names.role) {
            let message = "the plan was made for another role";
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        }
        if names.is_superuser && self.open_to_superusers {
            return Ok(());
        }
        if self.allowed.load(Ordering::Relaxed) != names.role.0 {
            rights::require(names, &self.uses)?;
            self.allowed.store(names.role.0, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Planned {
    /// True if the plan, which was made with other names, is valid with these.
    pub fn is_valid_for(&self, names: &Names) -> bool {
        self.files.is_empty() && self.is_for(names.role) && self.dependencies.is_valid_for(names)
    }

    /// True if a role sees the same rows as the role that it was made for.
    pub fn is_for(&self, role: Oid) -> bool {
        self.role.is_none_or(|made_for| made_for == role)
    }

    /// Fails if it reads a materialized view that has no rows before a refresh.
    ///
    /// # Errors
    /// `55000`.
    fn require_populated(&self) -> Result<()> {
        let Some(name) = &self.uses.unpopulated else { return Ok(()) };
        let message = format!("materialized view \"{name}\" has not been populated");
        let error = Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        Err(error.hint("Use the REFRESH MATERIALIZED VIEW command."))
    }
}

/// The memory and threads that a statement may use.
pub(crate) struct StatementResources {
    bytes_max: usize,
    /// The memory that an operator holds before it writes rows to files, and that of one with a
    /// hash table.
    work: Option<(usize, usize)>,
    parallelism: exec::Parallelism,
}

impl StatementResources {
    /// The resources by the settings of a session.
    pub fn of(client: &Client) -> StatementResources {
        let settings = client.settings.borrow();
        let bytes = |name: &str| usize::try_from(settings.integer(name)).unwrap_or(0) << 10;
        let most = client.instance.memory_bytes_max;
        let bytes_max = match bytes("query_mem_max") {
            0 => most,
            bytes => bytes.min(most),
        };
        let work = bytes("work_mem");
        let hash = (work as f64 * settings.real("hash_mem_multiplier")) as usize;
        let count = |name: &str| usize::try_from(settings.integer(name)).unwrap_or(0);
        let (of_statement, of_all) =
            (count("max_parallel_workers_per_gather"), count("max_parallel_workers"));
        let rows_each = match settings.integer("min_parallel_table_scan_size") {
            0 => 1,
            _ => exec::Parallelism::ROWS_EACH,
        };
        let parallelism = exec::Parallelism { threads_max: of_statement.min(of_all), rows_each };
        StatementResources { bytes_max, work: Some((work, hash)), parallelism }
    }

    /// How many bytes of a result are kept in memory before the others go to files.
    pub fn kept_bytes(&self) -> usize {
        self.work.map_or(self.bytes_max, |(work, _)| work)
    }

    fn spill<'a>(&self, folder: Option<&'a Arc<exec::TempFolder>>) -> Option<exec::Spill<'a>> {
        let ((work_bytes, hash_bytes), folder) = (self.work?, folder?);
        Some(exec::Spill { folder, work_bytes, hash_bytes })
    }
}

/// The tag of a statement with a plan, and whether it changes rows; `None` for a statement without a plan.
pub(crate) fn tag_of(statement: &Statement) -> Option<(&'static str, bool)> {
    Some(match statement {
        Statement::Query(_) => ("SELECT", false),
        Statement::Insert(_) => ("INSERT", true),
        Statement::Update(_) => ("UPDATE", true),
        Statement::Delete(_) => ("DELETE", true),
        Statement::Merge(_) => ("MERGE", true),
        Statement::Erase(_) => ("ERASE", true),
        _ => return None,
    })
}

/// The query or change inside a command, with the parameters of the command; `None` if the command has none.
pub(crate) fn within(statement: &Statement) -> Option<Statement> {
    Some(match statement {
        Statement::Explain { statement, .. } => match tag_of(statement) {
            Some(_) => (**statement).clone(),
            None => return within(statement),
        },
        Statement::Command(command) => match &**command {
            Command::Declare { query, .. } => Statement::Query(query.clone()),
            _ => return None,
        },
        Statement::Define(define) => match &**define {
            Define::TableAs(create) => Statement::Query(Box::new(create.query()?.clone())),
            _ => return None,
        },
        _ => return None,
    })
}

impl Session {
    /// The plan of a statement, with the types of its parameters as far as they are given.
    pub(crate) fn planned(&mut self, parsed: &Parsed, params: &[Type]) -> Result<Arc<Planned>> {
        let statement = parsed.statement.as_ref().expect("there is a statement");
        let statement_context = self.statement_context();
        // Plans that depend on uncommitted changes of the catalog, or on the past, are not shared.
        let own = self.has_own_catalog() || self.names.moment.is_some();
        let shared = parsed.known.as_ref().filter(|_| !own);
        let Some(known) = shared else {
            return Ok(Arc::new(plan(statement, &parsed.source, params, &statement_context)?));
        };
        let names = &self.names;
        let generation = self.client.instance.handles.plans_generation();
        let keeps_order = self.client.settings.borrow().keeps_join_order();
        let basis =
            Basis::new(generation, &names.path, params, keeps_order, &statement_context.style);
        if let Some(planned) = known.plan(&basis, names.role)
            && planned.dependencies.is_valid_for(names)
        {
            return Ok(planned);
        }
        let planned = Arc::new(plan(statement, &known.text, params, &statement_context)?);
        // Files may have other columns the next time.
        if planned.files.is_empty() {
            self.client.instance.plans.keep_plan(known, basis, &planned, names.role);
        }
        Ok(planned)
    }

    /// The plan of a statement for the values of its parameters: a custom plan if it may be better than the generic
    /// one, subject to `plan_cache_mode`.
    pub(crate) fn planned_for(
        &mut self,
        parsed: &Parsed,
        params: &[Type],
        values: &[Datum],
    ) -> Result<Arc<Planned>> {
        let planned = self.planned(parsed, params)?;
        let is_generic = !planned.prepared.wants_values() || values.is_empty();
        if is_generic
            || self.client.settings.get_mut().text("plan_cache_mode") == "force_generic_plan"
        {
            return Ok(planned);
        }
        let statement = parsed.statement.as_ref().expect("there is a statement");
        let text = parsed.known.as_ref().map_or(&parsed.source, |known| &known.text);
        let custom = plan_for(statement, text, &planned.params, values, &self.statement_context())?;
        Ok(Arc::new(custom))
    }

    /// A portal for a statement that is keyed by its template; `None` if the template cannot be used: the caller then
    /// parses the original statement.
    pub(crate) fn plan_template(&mut self, parsed: &Parsed) -> Result<Option<Portal>> {
        self.look()?;
        let types: Vec<Type> = parsed.constants.iter().map(type_of).collect();
        let Ok(planned) = self.planned(parsed, &types) else { return Ok(None) };
        // A statement that takes long is planned for its values.
        if planned.prepared.wants_values() {
            return Ok(None);
        }
        let statement_context = self.statement_context();
        let context = statement_context.types();
        let values = parsed.constants.iter().zip(&planned.params);
        let values: types::Result<Arc<[Datum]>> =
            values.map(|(constant, ty)| value_of(constant, *ty, &context)).collect();
        let Ok(values) = values else { return Ok(None) };
        let mut portal = self.plan_portal(parsed.clone(), planned)?;
        portal.params = values;
        Ok(Some(portal))
    }

    /// A portal that runs a plan.
    ///
    /// # Errors
    /// `42501` if a right is missing.
    pub(crate) fn plan_portal(&mut self, parsed: Parsed, planned: Arc<Planned>) -> Result<Portal> {
        planned.require_rights(&self.names)?;
        if let Some(table) = &planned.uses.secured
            && !self.client.settings.borrow().bool("row_security")
        {
            let message = format!(
                "query would be affected by row-level security policy for table \"{table}\""
            );
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        let run = planned.prepared.start();
        let columns = planned.columns.clone();
        let running = Running {
            planned,
            run,
            has_given: false,
            has_locks: false,
            rows_max: None,
            is_probed: false,
        };
        Ok(Portal::new(parsed, columns, Work::Plan(Box::new(running))))
    }

    /// Continues the run of a plan.
    pub(crate) fn run_plan(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        caught(|| self.run_plan_to(portal, rows_max, out))
    }

    fn run_plan_to(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        out: &mut dyn Output,
    ) -> Result<Done> {
        let Work::Plan(running) = &portal.work else { unreachable!("a plan is run") };
        let planned = &running.planned;
        planned.require_populated()?;
        let modes = self.open().modes;
        let is_temporary = |oid: &Oid| {
            let known = self.names.catalog.relation(*oid);
            known.is_some_and(|known| known.persistence == Persistence::Temporary)
        };
        let prepared = &planned.prepared;
        let written = prepared.changed().iter().chain(prepared.locked());
        // Temporary tables may be written in a transaction that reads.
        let is_own = modes.read_only && self.names.moment.is_none() && {
            let mut written = written.peekable();
            written.peek().is_some() && written.all(is_temporary)
        };
        if planned.writes && !is_own {
            self.client.must_write(modes, planned.tag)?;
        } else if planned.locks && !is_own {
            self.client.must_write(modes, "SELECT FOR UPDATE")?;
        }
        if planned.writes || planned.locks {
            self.show_writes();
        }
        self.lock_planned(portal)?;
        let Work::Plan(running) = &mut portal.work else { unreachable!("a plan is run") };
        let Running { planned, run, has_given, rows_max: look_max, is_probed, .. } = &mut **running;
        let clock = Arc::clone(&self.client.instance.env.clock);
        let now_us = || clock.monotonic_us();
        let open = self.transaction.as_mut().expect("it has been begun");
        open.looked = true;
        let statement_context = StatementContext::of(&self.client, &self.names, open.started);
        let names = &*self.names;
        let evaluator = Evaluator::with_params(&statement_context, names, &portal.params);
        let mut values = evaluator.values();
        let txn = open.inner.as_mut().ok_or_else(gone)?;
        open.checks.set_catalog(Arc::clone(&names.catalog));
        let instance = &self.client.instance;
        let scene = CatalogContext {
            names,
            client: &self.client,
            statements: &self.statements,
            cursors: &self.cursors,
            files: &planned.files,
        };
        let resources = match planned.prepared.holds_rows() {
            true => StatementResources::of(&self.client),
            false => StatementResources {
                bytes_max: instance.memory_bytes_max,
                work: None,
                parallelism: exec::Parallelism::NONE,
            },
        };
        let base = exec::stored::Base {
            cache: &instance.catalogs,
            handles: &instance.handles,
            catalog: &names.catalog,
            computed: &scene,
            counting: table::rows::Counting {
                shard: self.client.slot.process as usize,
                now_us: us_of(statement_context.statement).unwrap_or_default(),
            },
        };
        let mut at_end = values;
        let stored = exec::stored::Stored::new(txn, &mut open.checks, &mut values, base);
        let mut ctx = exec::Ctx {
            frame: evaluator.frame(),
            cancel: &self.client.slot.stop,
            tables: &stored,
            memory_bytes_max: resources.bytes_max,
            memory_total: self.client.instance.memory_total.as_ref(),
            spill: resources.spill(instance.temporary.as_ref()),
            rows_max: *look_max,
            parallelism: resources.parallelism,
            clock: if *is_probed { Some(&now_us) } else { None },
        };
        let columns = portal.columns.as_deref().unwrap_or_default();
        let types = statement_context.types();
        let mut row = Vec::new();
        let mut given = 0;
        while run.next(&mut ctx, &mut row)? {
            let notices = &mut *self.client.notices.borrow_mut();
            if !notices.is_empty() {
                out.notices(notices);
            }
            portal.rows += 1;
            given += 1;
            let flow = out.row(&row, columns, &types)?;
            if rows_max != 0 && given == rows_max {
                // The tag counts only the rows of the last piece, so the count begins anew.
                portal.rows = 0;
                *has_given = true;
                return Ok(Done::Suspended);
            }
            if flow.is_break() {
                *has_given = true;
                return Ok(Done::More);
            }
        }
        stored.count_rows();
        drop(stored);
        if planned.writes {
            open.checks.end_statement(txn, &mut at_end)?;
        }
        let rows = if planned.is_change { run.rows_changed() } else { portal.rows };
        let tag = Tag::rows(planned.tag, rows);
        portal.observed = is_probed.then(|| run.observed());
        let again = if planned.is_change { tag.clone() } else { Tag::rows(planned.tag, 0) };
        portal.work = Work::Done(again);
        Ok(Done::Complete(tag))
    }
}

impl Session {
    /// Runs a plan with these parameters to its end and gives each row to `each`.
    pub(crate) fn collect(
        &mut self,
        planned: Arc<Planned>,
        params: &Arc<[Datum]>,
        each: &mut dyn FnMut(&[Datum]),
    ) -> Result<()> {
        struct Each<'a>(&'a mut dyn FnMut(&[Datum]));
        impl Output for Each<'_> {
            fn row(
                &mut self,
                row: &[Datum],
                _: &[Column],
                _: &types::Context<'_>,
            ) -> types::Result<ControlFlow<()>> {
                (self.0)(row);
                Ok(ControlFlow::Continue(()))
            }
        }
        let mut portal = self.plan_portal(Parsed::empty(""), planned)?;
        portal.params = Arc::clone(params);
        self.run_plan(&mut portal, 0, &mut Each(each)).map(drop)
    }
}

/// The error of a portal whose transaction has ended.
pub(crate) fn gone() -> Error {
    Error::new(SqlState::IN_FAILED_SQL_TRANSACTION, "the transaction of the portal has ended")
}

impl Running {
    /// Goes back to the beginning.
    pub fn restart(&mut self) {
        self.run = self.planned.prepared.start();
        // Locks that were taken since may be gone.
        self.has_locks = false;
    }
}

/// A plan that is being run.
pub(crate) struct Running {
    pub planned: Arc<Planned>,
    pub run: exec::Run,
    /// True if rows were sent, so the statement cannot be run again.
    pub has_given: bool,
    /// True if the tables that it changes are locked.
    pub has_locks: bool,
    /// How many rows may be looked at.
    pub rows_max: Option<u64>,
    /// True if its operators are measured (`EXPLAIN ANALYZE`).
    pub is_probed: bool,
}

/// The type that a constant has by itself.
fn type_of(constant: &Constant) -> Type {
    match constant {
        Constant::Integer(number) if i32::try_from(*number).is_ok() => Type::INT4,
        Constant::Integer(_) => Type::INT8,
        Constant::Text(_) => Type::UNKNOWN,
    }
}

/// The value of a constant for a parameter of this type.
fn value_of(constant: &Constant, ty: Type, context: &types::Context<'_>) -> types::Result<Datum> {
    match constant {
        Constant::Integer(number) => Ok(match i32::try_from(*number) {
            Ok(number) => Datum::Int4(number),
            Err(_) => Datum::Int8(*number),
        }),
        Constant::Text(text) => types::text::parse(text, ty, Modifier::NONE, context),
    }
}

/// Binds and prepares a statement. The positions in the statement count in `source`.
pub(crate) fn plan(
    statement: &Statement,
    source: &str,
    params: &[Type],
    statement_context: &StatementContext<'_>,
) -> Result<Planned> {
    plan_for(statement, source, params, &[], statement_context)
}

/// The same of a statement that may name variables: those of a procedural language.
pub(crate) fn plan_with_variables(
    statement: &Statement,
    source: &str,
    variables: &dyn Variables,
    statement_context: &StatementContext<'_>,
) -> Result<Planned> {
    let context = statement_context.types();
    plan_bound(statement, source, &[], statement_context, |names| {
        sql::bind::with_variables(statement, names, context, variables)
    })
}

/// The same for these values of the parameters.
fn plan_for(
    statement: &Statement,
    source: &str,
    params: &[Type],
    values: &[Datum],
    statement_context: &StatementContext<'_>,
) -> Result<Planned> {
    plan_bound(statement, source, values, statement_context, |names| {
        sql::bind::statement(statement, names, statement_context.types(), params)
    })
}

fn plan_bound(
    statement: &Statement,
    source: &str,
    values: &[Datum],
    statement_context: &StatementContext<'_>,
    bind: impl FnOnce(&Names) -> sql::Result<sql::bind::Bound>,
) -> Result<Planned> {
    let in_text = |error| Error::in_text(error, source);
    let (tag, is_change) =
        tag_of(statement).ok_or_else(|| Error::not_supported("this statement"))?;
    let names: &Names = &statement_context.names;
    names.take_looked();
    let bound = bind(names).map_err(in_text)?;
    let columns = (!is_change || !bound.plan.columns.is_empty())
        .then(|| bound.plan.columns.iter().map(|column| column_of(column, names)).collect());
    let open_to_superusers = rights::is_open_to_superusers(names, &bound.uses);
    let wishes = plan::Wishes {
        values,
        keeps_join_order: statement_context.client.settings.borrow().keeps_join_order(),
    };
    let prepared =
        exec::Prepared::new(bound.plan, names, statement_context.types(), names, wishes)?;
    let (locks, calls_server) = (prepared.locks_rows(), prepared.calls_server());
    let writes = is_change || !prepared.changed().is_empty();
    let mut looked = names.take_looked();
    let files = std::mem::take(&mut looked.files);
    let reads = reads_of(&bound.uses, &prepared);
    Ok(Planned {
        prepared,
        params: bound.params,
        columns,
        tag,
        is_change,
        writes,
        locks,
        reads,
        calls_server,
        files: files.into(),
        role: looked.at_role.then_some(names.role),
        dependencies: PlanDependencies::looked_up(looked, names, &bound.uses),
        variables: bound.variables.into(),
        uses: bound.uses,
        open_to_superusers,
        allowed: AtomicU32::new(0),
    })
}

/// The relations of users that a statement uses, but for those whose rows it changes or locks.
fn reads_of(uses: &Uses, prepared: &exec::Prepared) -> Box<[Oid]> {
    let mut reads = Vec::new();
    for used in uses.relations.iter().map(|used| used.relation) {
        let is_known = [prepared.changed(), prepared.locked(), &reads[..]]
            .iter()
            .any(|known| known.contains(&used));
        if !used.is_builtin() && !is_known {
            reads.push(used);
        }
    }
    reads.into()
}

/// A column as clients see it.
pub(crate) fn column_of(column: &sql::plan::Column, names: &Names) -> Column {
    let (mut ty, mut modifier) = (column.ty, column.modifier);
    while let Some(Shape::Domain(base, of_base)) = names.shape(ty) {
        (ty, modifier) = (base, of_base);
    }
    if ty == Type::UNKNOWN {
        ty = Type::TEXT;
    }
    Column {
        name: column.name.clone(),
        table: column.origin.map_or(Oid::NONE, |origin| origin.relation),
        attnum: column.origin.map_or(0, |origin| origin.attnum),
        ty,
        modifier,
        length: length_of(ty, names),
    }
}

/// The length of values of a type as `pg_type` has it.
pub(crate) fn length_of(ty: Type, names: &Names) -> i16 {
    match builtin::facts(ty) {
        Some(facts) => facts.length,
        None => match names.shape(ty) {
            Some(Shape::Enum(_)) => 4,
            _ => -1,
        },
    }
}
