//! The relations of `pg_catalog` and `information_schema`: their names, their columns, and the
//! sources of their rows.
//!
//! ```text
//!   relations.txt    OIDs, names, columns: facts of PostgreSQL 17
//!        │
//!        v
//!   System ──┬── a view: text of SQL over the others                    views
//!            └── computed: rows made of the catalog and the session     relations, types, objects ...
//! ```
//!
//! Every relation that PostgreSQL has there is known, because clients ask for many of them; those
//! about what this server does not have are empty.

mod activity;
mod classes;
mod compressed;
mod extensions;
pub mod forms;
mod grants;
mod kinds;
mod objects;
mod partitions;
mod progress;
mod relations;
pub mod rows;
mod searches;
mod statements;
mod statistics;
mod usage;
mod views;

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use sql::bind::{CheckOption, ColumnDefault, Relation, RelationColumn, RelationKind};
use types::{Datum, Modifier, Oid, Type, builtin};

use crate::names::Names;
pub use classes::{class_of, default_class, named_class};
use rows::{CatalogContext, Rows};

/// `pg_catalog`.
pub const PG_CATALOG: Oid = Oid(11);
/// `information_schema`.
pub const INFORMATION_SCHEMA: Oid = Oid(13_212);

/// The owner of all of it: the role that every database has.
pub const OWNER: Oid = Oid(10);

/// `commits` and `erasures`, which PostgreSQL does not have, and the views of the extension `storage_engine`.
const OWN: RangeInclusive<Oid> = Oid(9_500)..=Oid(9_511);
/// The views of the extension, which are also found in the schema [`ENGINE`].
const OF_ENGINE: RangeInclusive<Oid> = Oid(9_504)..=Oid(9_511);

/// The schema of the extension `storage_engine`, as far as users have none of this name.
pub const ENGINE: &str = "engine";

/// A relation of the system.
#[derive(Debug)]
pub struct System {
    /// Its OID.
    pub oid: Oid,
    /// The schema that it is in.
    pub schema: Oid,
    /// Its name.
    pub name: &'static str,
    /// True if it counts as a view.
    pub is_view: bool,
    /// The type of its rows, as `pg_class` tells it.
    pub row_type: Oid,
    /// Its columns.
    pub columns: Vec<SystemColumn>,
    /// The same as the binder sees it.
    pub bound: Arc<Relation>,
}

/// A column of a relation of the system.
#[derive(Debug)]
pub struct SystemColumn {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub ty: Type,
    /// True if it is never NULL.
    pub not_null: bool,
}

struct Known {
    all: Vec<System>,
    by_name: HashMap<(Oid, &'static str), usize>,
    by_oid: HashMap<Oid, usize>,
}

fn known() -> &'static Known {
    static KNOWN: LazyLock<Known> = LazyLock::new(|| {
        let lines = include_str!("relations.txt").lines();
        let all: Vec<System> =
            lines.filter(|line| !line.starts_with('#')).filter_map(read).collect();
        let each = || all.iter().enumerate();
        Known {
            by_name: each().map(|(at, known)| ((known.schema, known.name), at)).collect(),
            by_oid: each().map(|(at, known)| (known.oid, at)).collect(),
            all,
        }
    });
    &KNOWN
}

impl System {
    /// True for what PostgreSQL does not have, whose names are users' to take.
    pub fn is_own(&self) -> bool {
        OWN.contains(&self.oid)
    }

    /// The extension that it belongs to, which not every database has.
    pub fn extension(&self) -> Option<&'static types::Extension> {
        types::extension::of(self.oid)
    }

    /// True for the views of the extension `storage_engine`.
    pub fn is_of_engine(&self) -> bool {
        OF_ENGINE.contains(&self.oid)
    }
}

/// All relations of the system, in the order of their OIDs.
pub fn all() -> &'static [System] {
    &known().all
}

/// The relations of the system that a database has, and the schemas that they are in.
pub fn seen(names: &Names) -> impl Iterator<Item = (&'static System, Oid)> {
    all().iter().filter_map(|system| Some((system, names.schema_of(system)?)))
}

/// The relation with this name in a schema.
pub fn find(schema: Oid, name: &str) -> Option<&'static System> {
    // The name is only looked at: it need not live as long as those in the map.
    known().all.get(*known().by_name.get(&(schema, name))?)
}

/// The relation with this OID.
pub fn by_oid(oid: Oid) -> Option<&'static System> {
    known().all.get(*known().by_oid.get(&oid)?)
}

fn read(line: &'static str) -> Option<System> {
    let mut words = line.split(' ');
    let oid = Oid(words.next()?.parse().ok()?);
    let is_view = words.next()? == "v";
    let schema_name = words.next()?;
    let schema = if schema_name == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA };
    let name = words.next()?;
    let row_type = Oid(words.next()?.parse().ok()?);
    let columns: Vec<SystemColumn> = words
        .filter_map(|word| {
            let (name, ty) = word.split_once(':')?;
            let (ty, not_null) = match ty.strip_suffix('!') {
                Some(ty) => (ty, true),
                None => (ty, false),
            };
            // The few types that are not there are shown as text.
            let ty = builtin::by_name(ty).map_or(Type::TEXT, |facts| facts.ty);
            Some(SystemColumn { name, ty, not_null })
        })
        .collect();
    let bound = Relation {
        oid,
        schema: schema_name.to_owned(),
        name: name.to_owned(),
        kind: match views::text(schema, name) {
            Some(text) => RelationKind::View(text.to_owned()),
            None => RelationKind::System,
        },
        row_type: Type::RECORD,
        columns: columns
            .iter()
            .zip(1..)
            .map(|(column, attnum)| RelationColumn {
                attnum,
                name: column.name.to_owned(),
                ty: column.ty,
                modifier: Modifier::NONE,
                collation: Oid::NONE,
                not_null: column.not_null,
                default: ColumnDefault::None,
            })
            .collect(),
        unique: Vec::new(),
        owner: OWNER,
        versioned: false,
        check: CheckOption::None,
        is_barrier: false,
        is_of_invoker: false,
    };
    Some(System { oid, schema, name, is_view, row_type, columns, bound: Arc::new(bound) })
}

/// The rows of a relation of the system; none for those about what is not there.
pub fn compute(
    system: &'static System,
    scene: CatalogContext<'_>,
) -> types::Result<Vec<Vec<Datum>>> {
    let mut rows = Rows::of(system);
    if scene.names.schema_of(system).is_none() {
        // A plan of before has outlived the extension.
        let message = format!("relation \"{}\" does not exist", system.name);
        return Err(types::Error::new(types::SqlState::UNDEFINED_TABLE, message));
    }
    if system.schema == PG_CATALOG {
        match system.name {
            "pg_class" => relations::classes(scene, &mut rows),
            "pg_attribute" => relations::attributes(scene, &mut rows),
            "pg_attrdef" => relations::defaults(scene, &mut rows),
            "pg_index" => relations::indexes(scene, &mut rows),
            "pg_constraint" => relations::constraints(scene, &mut rows),
            "pg_sequence" => relations::sequences(scene, &mut rows),
            "pg_policy" => relations::policies(scene, &mut rows),
            "pg_inherits" => partitions::inherits(scene, &mut rows),
            "pg_partitioned_table" => partitions::partitioned(scene, &mut rows),
            "pg_rewrite" => {}
            "pg_type" => kinds::types(scene, &mut rows),
            "pg_enum" => kinds::labels(scene, &mut rows),
            "pg_range" => kinds::ranges(scene, &mut rows),
            "pg_proc" => kinds::functions(scene, &mut rows),
            "pg_aggregate" => kinds::aggregates(scene, &mut rows),
            "pg_operator" => kinds::operators(scene, &mut rows),
            "pg_cast" => kinds::casts(scene, &mut rows),
            "pg_am" => kinds::methods(scene, &mut rows),
            "pg_opclass" => classes::classes(scene, &mut rows),
            "pg_ts_config" => searches::configs(&mut rows),
            "pg_ts_config_map" => searches::mappings(&mut rows),
            "pg_ts_dict" => searches::dictionaries(scene, &mut rows),
            "pg_ts_parser" => searches::parsers(&mut rows),
            "pg_ts_template" => searches::templates(&mut rows),
            "pg_collation" => kinds::collations(scene, &mut rows),
            "pg_language" => kinds::languages(&mut rows),
            "pg_extension" => extensions::installed(scene, &mut rows),
            "pg_available_extensions" => extensions::available(scene, &mut rows),
            "pg_available_extension_versions" => extensions::versions(scene, &mut rows),
            "pg_namespace" => objects::schemas(scene, &mut rows),
            "pg_init_privs" => objects::first_privileges(scene, &mut rows),
            "pg_default_acl" => objects::default_acls(scene, &mut rows),
            "pg_authid" => objects::roles(scene, &mut rows),
            "pg_auth_members" => objects::memberships(scene, &mut rows),
            "pg_database" => objects::databases(scene, &mut rows),
            "pg_description" => objects::comments(scene, &mut rows, false),
            "pg_shdescription" => objects::comments(scene, &mut rows, true),
            "pg_depend" => objects::dependencies(scene, &mut rows),
            "pg_tablespace" => objects::tablespaces(&mut rows),
            "pg_db_role_setting" => objects::settings(scene, &mut rows),
            "pg_settings" => activity::settings(scene, &mut rows),
            "pg_file_settings" => activity::file_settings(scene, &mut rows),
            "pg_prepared_statements" => activity::statements(scene, &mut rows),
            "pg_cursors" => activity::cursors(scene, &mut rows),
            "pg_stat_activity" => activity::sessions(scene, &mut rows),
            "pg_stat_database" => usage::databases(scene, &mut rows),
            "pg_stat_all_tables" => usage::tables(scene, &mut rows),
            "pg_stat_all_indexes" => usage::indexes(scene, &mut rows),
            "pg_stat_progress_copy" => progress::copies(scene, &mut rows),
            "pg_stat_progress_analyze" => progress::analyses(scene, &mut rows),
            "pg_stat_progress_vacuum" => progress::vacuums(scene, &mut rows),
            "pg_stat_progress_create_index" => progress::indexes(scene, &mut rows),
            "pg_stat_progress_basebackup" => progress::backups(scene, &mut rows),
            "pg_stat_wal" => usage::log(scene, &mut rows),
            "pg_stat_bgwriter" => usage::background_writer(scene, &mut rows),
            "pg_stat_checkpointer" => usage::checkpointer(scene, &mut rows),
            "pg_stat_io" => usage::io(scene, &mut rows),
            "pg_stats" => statistics::columns(scene, &mut rows),
            "pg_timezone_names" => activity::zones(scene, &mut rows),
            "pg_wait_events" => activity::wait_events(&mut rows),
            "pg_locks" => activity::locks(scene, &mut rows),
            "pg_stat_statements" => statements::statements(scene, &mut rows),
            "pg_stat_statements_info" => statements::info(scene, &mut rows),
            "commits" => activity::commits(scene, &mut rows)?,
            "erasures" => activity::erasures(scene, &mut rows)?,
            "colcompress_options" => compressed::column_options(scene, &mut rows),
            "colcompress_stripes" => compressed::stripes(scene, &mut rows)?,
            "rowcompress_options" => compressed::batch_options(scene, &mut rows),
            "rowcompress_batches" => compressed::batches(scene, &mut rows)?,
            _ => {}
        }
    } else {
        match system.name {
            "table_privileges" => grants::of_tables(scene, true, &mut rows),
            "role_table_grants" => grants::of_tables(scene, false, &mut rows),
            "column_privileges" => grants::of_columns(scene, true, &mut rows),
            "role_column_grants" => grants::of_columns(scene, false, &mut rows),
            _ => {}
        }
    }
    Ok(rows.rows)
}
