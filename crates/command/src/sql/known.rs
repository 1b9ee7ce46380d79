//! The names of a database that the shell completes, read again when they may have changed.

use std::collections::{BTreeSet, HashMap};

use super::help::grammar::Slot;
use super::source::{Block, Source};

/// A table, view, index or sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Relation {
    pub(super) schema: String,
    pub(super) name: String,
    /// The letter of `pg_class.relkind`.
    pub(super) kind: char,
    /// True if the name needs no schema in front.
    pub(super) is_visible: bool,
}

/// The names that a database has.
#[derive(Default, Debug)]
pub(super) struct Known {
    pub(super) relations: Vec<Relation>,
    /// By schema and relation.
    columns: HashMap<(String, String), Vec<String>>,
    pub(super) schemas: Vec<String>,
    /// Names of other kinds.
    others: Vec<(Slot, String)>,
    /// Names that no statement changes but those that make functions: functions and settings.
    fixed: Vec<(Slot, String)>,
}

/// No more columns are remembered than these.
const COLUMNS_MAX: usize = 20_000;

const RELATIONS: &str = "\
SELECT n.nspname::text, c.relname::text, c.relkind::text, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'i', 'S', 'f') AND n.nspname !~ '^pg_toast' ORDER BY 2";

const COLUMNS: &str = "\
SELECT n.nspname::text, c.relname::text, a.attname::text
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
ORDER BY n.nspname IN ('pg_catalog', 'information_schema'), c.oid, a.attnum LIMIT 20000";

const OTHERS: &str = "\
SELECT 'role', rolname::text FROM pg_catalog.pg_roles
UNION ALL SELECT 'database', datname::text FROM pg_catalog.pg_database
UNION ALL SELECT 'schema', nspname::text FROM pg_catalog.pg_namespace
UNION ALL SELECT 'extension', name::text FROM pg_catalog.pg_available_extensions
UNION ALL SELECT 'collation', collname::text FROM pg_catalog.pg_collation
UNION ALL SELECT 'method', amname::text FROM pg_catalog.pg_am WHERE amtype = 't'
UNION ALL SELECT 'policy', polname::text FROM pg_catalog.pg_policy
UNION ALL SELECT 'type', pg_catalog.format_type(t.oid, NULL) FROM pg_catalog.pg_type t
  WHERE t.typtype <> 'c' AND t.typcategory <> 'A' AND pg_catalog.pg_type_is_visible(t.oid)";

const FIXED: &str = "\
SELECT DISTINCT 'function', proname::text FROM pg_catalog.pg_proc
UNION ALL SELECT 'setting', name::text FROM pg_catalog.pg_settings";

impl Known {
    /// Asks for the names anew. In a transaction block nothing is asked, because a question that fails would fail
    /// the block; what was known before stays.
    pub(super) fn refresh(&mut self, source: &mut Source) {
        if source.block() != Block::None {
            return;
        }
        let mut rows = |text: &str| -> Vec<Vec<String>> {
            let answer = source.query(text, &[]).unwrap_or_default();
            let row = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default);
            answer.rows.into_iter().map(|cells| row(cells).collect()).collect()
        };
        if self.fixed.is_empty() {
            self.fixed = slots(rows(FIXED));
        }
        self.relations.clear();
        for row in rows(RELATIONS) {
            if let [schema, name, kind, visible] = &row[..] {
                self.relations.push(Relation {
                    schema: schema.clone(),
                    name: name.clone(),
                    kind: kind.chars().next().unwrap_or(' '),
                    is_visible: visible == "t",
                });
            }
        }
        self.columns.clear();
        for row in rows(COLUMNS).into_iter().take(COLUMNS_MAX) {
            if let [schema, relation, column] = &row[..] {
                let key = (schema.clone(), relation.clone());
                self.columns.entry(key).or_default().push(column.clone());
            }
        }
        let others = rows(OTHERS);
        let is_schema = |row: &&Vec<String>| row[0] == "schema";
        self.schemas = others.iter().filter(is_schema).map(|row| row[1].clone()).collect();
        self.others = slots(others);
    }

    /// The names of a kind other than relations and columns.
    pub(super) fn named(&self, slot: Slot) -> impl Iterator<Item = &str> {
        let all = self.others.iter().chain(&self.fixed);
        all.filter(move |(kind, _)| *kind == slot).map(|(_, name)| name.as_str())
    }

    /// The relation with these parts of a name.
    fn relation(&self, path: &[String]) -> Option<&Relation> {
        let fits = |relation: &&Relation| match path {
            [name] => relation.is_visible && relation.name == *name,
            [.., schema, name] => relation.schema == *schema && relation.name == *name,
            [] => false,
        };
        self.relations.iter().find(fits)
    }

    /// The columns of the relation with these parts of a name, in order.
    pub(super) fn columns(&self, path: &[String]) -> &[String] {
        let relation = self.relation(path);
        let key = relation.map(|relation| (relation.schema.clone(), relation.name.clone()));
        key.and_then(|key| self.columns.get(&key)).map_or(&[], |columns| columns)
    }

    /// The columns of all relations that are not the system's, each name once.
    pub(super) fn all_columns(&self) -> BTreeSet<&str> {
        let own = self.columns.iter().filter(|((schema, _), _)| !is_system(schema));
        own.flat_map(|(_, columns)| columns.iter().map(String::as_str)).collect()
    }
}

/// True for the schemas that every database has.
pub(super) fn is_system(schema: &str) -> bool {
    schema == "information_schema" || schema.starts_with("pg_")
}

/// Rows of a kind and a name.
fn slots(rows: Vec<Vec<String>>) -> Vec<(Slot, String)> {
    let slot = |kind: &str| match kind {
        "role" => Some(Slot::Role),
        "database" => Some(Slot::Database),
        "schema" => Some(Slot::Schema),
        "extension" => Some(Slot::Extension),
        "collation" => Some(Slot::Collation),
        "method" => Some(Slot::AccessMethod),
        "policy" => Some(Slot::Policy),
        "type" => Some(Slot::Type),
        "function" => Some(Slot::Function),
        "setting" => Some(Slot::Setting),
        _ => None,
    };
    let mut named: Vec<(Slot, String)> = rows
        .into_iter()
        .filter_map(|row| Some((slot(row.first()?)?, row.into_iter().nth(1)?)))
        .collect();
    named.sort_by(|left, right| left.1.cmp(&right.1));
    named
}

#[cfg(test)]
impl Known {
    /// Tables of `public` with their columns, for tests.
    pub(super) fn of(tables: &[(&str, &[&str])]) -> Known {
        let mut known = Known { schemas: vec!["public".into()], ..Known::default() };
        for (name, columns) in tables {
            known.relations.push(Relation {
                schema: "public".into(),
                name: (*name).into(),
                kind: 'r',
                is_visible: true,
            });
            let columns = columns.iter().map(|column| (*column).to_owned()).collect();
            known.columns.insert(("public".into(), (*name).into()), columns);
        }
        let fixed = [(Slot::Function, "lower"), (Slot::Setting, "work_mem"), (Slot::Role, "ada")];
        known.fixed = fixed.map(|(slot, name)| (slot, name.to_owned())).to_vec();
        known
    }
}
