//! A database in this process, and the documents in it.
//!
//! Each call looks its collection up by name. A handle to a collection would keep the database from being
//! closed, and the look-up costs less than the call from Python.

use std::collections::BTreeMap;
use std::sync::Arc;

use anywhen::{
    BlameLine, CollectionOptions, Committed, Create, Durability, NodeVersion, Options, Retention,
    Revision, RevisionInfo,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::edit::{MetaArgument, MomentArgument, NodeArgument, Step, meta, moment};
use crate::errors::{Failure, Outcome};
use crate::handle::engine;
use crate::numbers::Numbers;
use crate::objects::Objects;
use crate::opened::{Call, InCall, Opened};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{from_json, to_json};
use crate::waits::Waits;

/// Version, commit, time of the commit in microseconds since 1970, and whether anything changed.
type CommittedRow = (u64, u64, u64, bool);

/// Version, commit, time, author, message, authored, deleted, kept, role.
type VersionRow = (u64, u64, u64, String, String, Option<u64>, bool, bool, String);

/// Value, first and last version, time of the first and of the one after the last; the node; when the first
/// was authored.
type NodeVersionRow<'py> =
    (Bound<'py, PyAny>, u64, Option<u64>, u64, Option<u64>, u64, Option<u64>, [String; 3]);

/// Path, node key, version, time, author, message, and the value of a scalar: what `is_container` says; role
/// and authored time.
type BlameRow<'py> =
    (String, u64, u64, u64, String, String, bool, Option<Bound<'py, PyAny>>, String, Option<u64>);

/// A database in this process.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct Database {
    opened: Opened,
    /// The folder; empty for one in memory.
    #[pyo3(get)]
    path: String,
}

impl Database {
    /// The database, for the time of a call.
    pub(crate) fn database(&self) -> Outcome<Call<'_>> {
        self.opened.call()
    }

    /// The watch that its waiting transactions ask.
    pub(crate) fn waits(&self) -> &Arc<Waits> {
        self.opened.waits()
    }

    pub(crate) fn collection(&self, name: &str) -> Outcome<InCall<'_>> {
        self.opened.call()?.collection(name)
    }
}

fn committed(done: Committed) -> CommittedRow {
    (done.revision.0, done.csn.0, done.time_us, done.changed)
}

fn version(row: RevisionInfo<&str>) -> VersionRow {
    let RevisionInfo { revision, csn, time_us, authored_us, deleted, kept, .. } = row;
    let [author, message, role] = [row.author, row.message, row.role].map(str::to_owned);
    (revision.0, csn.0, time_us, author, message, authored_us, deleted, kept, role)
}

/// The retention of a collection, as the texts of its options.
fn options(of: CollectionOptions) -> (String, bool, bool) {
    (of.history.to_string(), of.hashes, of.path_summary)
}

fn history_of(text: &str) -> Outcome<Retention> {
    text.parse().map_err(|error: anywhen::BadRetention| Failure::edit(error.to_string()))
}

#[pymethods]
impl Database {
    /// Opens the database in a folder, or one in memory where the path is None.
    #[staticmethod]
    #[pyo3(signature = (path, create, durability, cache_bytes=None))]
    fn open(
        py: Python<'_>,
        path: Option<std::path::PathBuf>,
        create: &str,
        durability: &str,
        cache_bytes: Option<usize>,
    ) -> PyResult<Database> {
        let mut options = Options::default();
        options.create = match create {
            "if_missing" => Create::IfMissing,
            "never" => Create::Never,
            "new" => Create::New,
            _ => {
                let text = format!("create={create:?} is none of if_missing, never, new");
                return Err(PyValueError::new_err(text));
            }
        };
        options.durability = match durability {
            "sync" => Durability::Sync,
            "os" => Durability::Os,
            _ => {
                let text = format!("durability={durability:?} is neither sync nor os");
                return Err(PyValueError::new_err(text));
            }
        };
        if let Some(bytes) = cache_bytes {
            options.cache_bytes = bytes;
        }
        let database = engine(py, || match &path {
            Some(path) => Ok(anywhen::Database::open_with(path, options)?),
            None => Ok(anywhen::Database::open_in_memory()?),
        })?;
        let path = path.map(|path| path.display().to_string()).unwrap_or_default();
        Ok(Database { opened: Opened::new(database), path })
    }

    /// The storage of objects in a schema, made where there is none and `create` says so; None if there is none.
    fn objects(
        slf: Py<Self>,
        py: Python<'_>,
        schema: String,
        create: bool,
        keeps_history: bool,
    ) -> PyResult<Option<Objects>> {
        let is_there = engine(py, || {
            let call = slf.get().database()?;
            if let Some(storage) = call.objects(&schema)? {
                if storage.keeps_history() != keeps_history {
                    let (what, flag) =
                        if keeps_history { ("no history", "False") } else { ("history", "True") };
                    return Err(Failure::sql(
                        "42710",
                        format!(
                            "the storage {schema:?} keeps {what}: open it with keeps_history={flag}"
                        ),
                    ));
                }
                return Ok(true);
            }
            if create {
                call.create_objects(&schema, keeps_history)?;
            }
            Ok(create)
        })?;
        Ok(is_there.then(|| Objects::new(slf, schema)))
    }

    /// Refuses calls from now on, and ends those that wait for a lock.
    fn refuse(&self, py: Python<'_>) -> PyResult<()> {
        engine(py, || self.opened.refuse())
    }

    /// Closes the database once all calls have ended; nothing where it is closed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        engine(py, || self.opened.close())
    }

    /// True until it is closed.
    fn is_open(&self) -> bool {
        self.opened.is_open()
    }

    /// The names of the collections, in order.
    fn collections(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        engine(py, || Ok(self.database()?.collections()))
    }

    /// Makes a collection if there is none. An option that is not given is that of the collection, or the default.
    #[pyo3(signature = (name, history=None, hashes=None, path_summary=None))]
    fn create_collection(
        &self,
        py: Python<'_>,
        name: &str,
        history: Option<&str>,
        hashes: Option<bool>,
        path_summary: Option<bool>,
    ) -> PyResult<(String, bool, bool)> {
        engine(py, || {
            let history = history.map(history_of).transpose()?;
            let database = self.database()?;
            let known = database.find_collection(name).map(|found| found.options());
            let mut wanted = known.unwrap_or_default();
            wanted.history = history.unwrap_or(wanted.history);
            wanted.hashes = hashes.unwrap_or(wanted.hashes);
            wanted.path_summary = path_summary.unwrap_or(wanted.path_summary);
            Ok(options(database.collection_with(name, wanted)?.options()))
        })
    }

    /// The options of a collection: history, hashes, path_summary.
    fn collection_options(&self, py: Python<'_>, name: &str) -> PyResult<(String, bool, bool)> {
        engine(py, || Ok(options(self.collection(name)?.options())))
    }

    /// Changes the retention of a collection's history.
    fn set_history(&self, py: Python<'_>, name: &str, history: &str) -> PyResult<()> {
        engine(py, || Ok(self.database()?.set_history(name, history_of(history)?)?))
    }

    /// Drops a collection; False if there is none.
    fn drop_collection(&self, py: Python<'_>, name: &str, purge: bool) -> PyResult<bool> {
        engine(py, || {
            let database = self.database()?;
            match purge {
                true => Ok(database.purge_collection(name)?),
                false => Ok(database.drop_collection(name)?),
            }
        })
    }

    /// How many documents there are now.
    fn count(&self, py: Python<'_>, collection: &str) -> PyResult<u64> {
        engine(py, || Ok(self.collection(collection)?.len()?))
    }

    /// The keys that begin with `prefix` and come after `after`, `limit` of them at most.
    #[pyo3(signature = (collection, prefix, after, limit, at=None))]
    fn keys(
        &self,
        py: Python<'_>,
        collection: &str,
        prefix: &str,
        after: &str,
        limit: usize,
        at: Option<MomentArgument>,
    ) -> PyResult<Vec<String>> {
        let at = at.map(moment).transpose()?;
        engine(py, || {
            let collection = self.database()?.collection_at(collection, at)?;
            let keys = match at {
                None => collection.keys(prefix),
                Some(at) => collection.at(at).keys(prefix)?,
            };
            Ok(keys.after(after).take(limit).collect::<Result<_, _>>()?)
        })
    }

    /// Version and value of a document; None if there is none.
    #[pyo3(signature = (collection, key, numbers, at=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        collection: &str,
        key: &str,
        numbers: Numbers,
        at: Option<MomentArgument>,
    ) -> PyResult<Option<(u64, Bound<'py, PyAny>)>> {
        let at = at.map(moment).transpose()?;
        let found = engine(py, || {
            let collection = self.database()?.collection_at(collection, at)?;
            let document = match at {
                None => collection.get(key)?,
                Some(at) => collection.get_at(key, at)?,
            };
            let Some(document) = document else { return Ok(None) };
            let mut out = Vec::new();
            document.write_json(&mut out)?;
            Ok(Some((document.revision().0, out)))
        })?;
        let Some((version, text)) = found else { return Ok(None) };
        Ok(Some((version, from_json(py, &text, numbers)?)))
    }

    /// The value of one node of a document.
    #[pyo3(signature = (collection, key, node, numbers, at=None))]
    fn get_node<'py>(
        &self,
        py: Python<'py>,
        collection: &str,
        key: &str,
        node: NodeArgument,
        numbers: Numbers,
        at: Option<MomentArgument>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = at.map(moment).transpose()?;
        let node: anywhen::NodeRef = node.into();
        let found = engine(py, || {
            let collection = self.database()?.collection_at(collection, at)?;
            let document = match at {
                None => collection.get(key)?,
                Some(at) => collection.get_at(key, at)?,
            };
            let absent = || Failure::missing(format!("there is no document {key:?}"));
            let missing = || Failure::missing(format!("there is no node {node} in this version"));
            document.ok_or_else(absent)?.value(&node)?.ok_or_else(missing)
        })?;
        from_json(py, found.as_bytes(), numbers)
    }

    /// Gives a document a value.
    fn put(
        &self,
        py: Python<'_>,
        collection: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
        said: MetaArgument,
    ) -> PyResult<CommittedRow> {
        let (json, meta) = (to_json(value)?, meta(said));
        engine(py, || Ok(committed(self.collection(collection)?.put_with(key, json, &meta)?)))
    }

    /// Edits one node of a document; also returns the key of the node that is new or holds the value.
    #[pyo3(signature = (collection, key, said, op, node, json=None, to=None, at=None, name=None))]
    #[expect(clippy::too_many_arguments, reason = "what an edit may need, by position")]
    fn edit(
        &self,
        py: Python<'_>,
        collection: &str,
        key: &str,
        said: MetaArgument,
        op: &str,
        node: NodeArgument,
        json: Option<&[u8]>,
        to: Option<NodeArgument>,
        at: Option<String>,
        name: Option<String>,
    ) -> PyResult<(CommittedRow, Option<u64>)> {
        let meta = meta(said);
        engine(py, || {
            let step = Step::new(op, node, json, to, at, name)?;
            let collection = self.collection(collection)?;
            let (done, made) = collection.edit_with(key, &meta, |edit| step.apply(edit))?;
            Ok((committed(done), made.map(|key| key.0)))
        })
    }

    /// Removes a document; its history stays. None if there is none.
    fn remove(
        &self,
        py: Python<'_>,
        collection: &str,
        key: &str,
        said: MetaArgument,
    ) -> PyResult<Option<CommittedRow>> {
        let meta = meta(said);
        engine(py, || {
            let collection = self.collection(collection)?;
            let done = collection.remove_with(key, &meta)?;
            Ok(done.changed.then(|| committed(done)))
        })
    }

    /// Makes a new version that equals an older one.
    fn revert(
        &self,
        py: Python<'_>,
        collection: &str,
        key: &str,
        to: u64,
        said: MetaArgument,
    ) -> PyResult<CommittedRow> {
        let meta = meta(said);
        engine(py, || {
            Ok(committed(self.collection(collection)?.revert(key, Revision(to), &meta)?))
        })
    }

    /// The newest version of a document, also of one that was removed.
    fn newest(&self, py: Python<'_>, collection: &str, key: &str) -> PyResult<u64> {
        engine(py, || Ok(self.collection(collection)?.newest(key)?.0))
    }

    /// The versions of a document, newest first.
    #[pyo3(signature = (collection, key, limit=None))]
    fn history(
        &self,
        py: Python<'_>,
        collection: &str,
        key: &str,
        limit: Option<usize>,
    ) -> PyResult<Vec<VersionRow>> {
        engine(py, || {
            let history = self.collection(collection)?.history(key, limit.unwrap_or(usize::MAX))?;
            Ok(history.iter().map(version).collect())
        })
    }

    /// The changes between two versions, as JSON describes them.
    fn diff<'py>(
        &self,
        py: Python<'py>,
        collection: &str,
        key: &str,
        from: u64,
        to: u64,
        numbers: Numbers,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = engine(py, || {
            let diff = self.collection(collection)?.diff(key, Revision(from), Revision(to))?;
            Ok(diff.to_json()?)
        })?;
        from_json(py, text.as_bytes(), numbers)
    }

    /// The JSON Patch (RFC 6902) that makes one version of another.
    fn json_patch<'py>(
        &self,
        py: Python<'py>,
        collection: &str,
        key: &str,
        from: u64,
        to: u64,
        numbers: Numbers,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = engine(py, || {
            let diff = self.collection(collection)?.diff(key, Revision(from), Revision(to))?;
            Ok(diff.to_rfc6902()?)
        })?;
        from_json(py, text.as_bytes(), numbers)
    }

    /// The values of one node, or of all that stood at a path, each with its versions, oldest first.
    fn node_history<'py>(
        &self,
        py: Python<'py>,
        collection: &str,
        key: &str,
        node: NodeArgument,
        numbers: Numbers,
    ) -> PyResult<Vec<NodeVersionRow<'py>>> {
        let runs = engine(py, || {
            let collection = self.collection(collection)?;
            let mut runs = Vec::new();
            for run in collection.node_history(key, node)? {
                let found = collection.history_range(key, run.from, run.from)?;
                let by = found.get(0).map(|by| [by.author, by.message, by.role].map(str::to_owned));
                runs.push((run, by.unwrap_or_default()));
            }
            Ok(runs)
        })?;
        let row = |(run, by): (NodeVersion, [String; 3])| {
            let NodeVersion { node, from, to, from_us, authored_us, to_us, value } = run;
            let value = from_json(py, value.as_bytes(), numbers)?;
            let to = to.map(|to: Revision| to.0);
            Ok((value, from.0, to, from_us, to_us, node.0, authored_us, by))
        };
        runs.into_iter().map(row).collect()
    }

    /// A page with the history of a document; None if that takes too many bytes.
    fn history_page(
        &self,
        py: Python<'_>,
        collection: &str,
        key: &str,
        page: &str,
    ) -> PyResult<Option<String>> {
        /// A browser reads such a page at once.
        const BYTES_MAX: usize = 256 << 20;
        engine(py, || {
            let found = self.collection(collection)?;
            let made = anywhen::history_page(&found, collection, key, page, BYTES_MAX)?;
            Ok(made.map(|made| made.html))
        })
    }

    /// For each node of a version, in the order of the document, the version that last changed it.
    #[pyo3(signature = (collection, key, numbers, at=None))]
    fn blame<'py>(
        &self,
        py: Python<'py>,
        collection: &str,
        key: &str,
        numbers: Numbers,
        at: Option<u64>,
    ) -> PyResult<Vec<BlameRow<'py>>> {
        let (lines, by) = engine(py, || {
            let collection = self.collection(collection)?;
            let lines = collection.blame(key, at.map(Revision))?;
            let mut by: BTreeMap<Revision, (u64, [String; 3], Option<u64>)> = BTreeMap::new();
            for BlameLine { revision, .. } in &lines {
                if !by.contains_key(revision) {
                    let found = collection.history_range(key, *revision, *revision)?;
                    let info = found.get(0).ok_or_else(|| {
                        Failure::sql("XX001", "a version that changed a node is not listed".into())
                    })?;
                    let texts = [info.author, info.message, info.role].map(str::to_owned);
                    by.insert(*revision, (info.time_us, texts, info.authored_us));
                }
            }
            Ok((lines, by))
        })?;
        let row = |line: BlameLine| {
            let (time_us, [author, message, role], authored_us) = by[&line.revision].clone();
            let is_container = line.kind.is_container();
            let scalar = (!is_container).then(|| from_json(py, line.value.as_bytes(), numbers));
            let (path, node) = (line.path.to_string(), line.node.0);
            let version = line.revision.0;
            let scalar = scalar.transpose()?;
            Ok((
                path,
                node,
                version,
                time_us,
                author,
                message,
                is_container,
                scalar,
                role,
                authored_us,
            ))
        };
        lines.into_iter().map(row).collect()
    }

    /// Begins a transaction over documents.
    fn begin(&self, py: Python<'_>, serializable: bool) -> PyResult<Transaction> {
        engine(py, || {
            let database = self.database()?;
            let txn = match serializable {
                true => database.begin_serializable()?,
                false => database.begin()?,
            };
            Ok(Transaction::new(txn, self.opened.waits()))
        })
    }

    /// Begins a session of SQL.
    fn session(&self, py: Python<'_>) -> PyResult<Session> {
        engine(py, || Session::open(&*self.database()?, self.opened.waits()))
    }

    /// The newest commit.
    fn newest_commit(&self, py: Python<'_>) -> PyResult<u64> {
        engine(py, || Ok(self.database()?.newest().0))
    }

    /// Writes everything committed to files and frees the log.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        engine(py, || Ok(self.database()?.checkpoint()?))
    }

    /// Merges all files, and drops what nothing needs.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        engine(py, || Ok(self.database()?.compact()?))
    }
}

/// The page into which the history of a document is put, compressed with gzip; None if the package was built without
/// the explorer.
#[pyfunction]
pub(crate) fn export_page(py: Python<'_>) -> Option<Bound<'_, PyBytes>> {
    explorer::EXPORT_PAGE.map(|file| PyBytes::new(py, file.gzip))
}
