//! The changes of commits, as Python follows them: `anywhen/_changes.py` waits, this looks.

use anywhen::{Csn, DocumentChange, DocumentError, Following, ToldChange};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::database::Database;
use crate::handle::engine;
use crate::numbers::Numbers;
use crate::value::from_json;

/// The most changes that one step reads.
const BATCH: usize = 256;

/// Commit, collection, key, version, whether it was removed, time, author, message, the differences; role and
/// authored time.
type ChangeRow<'py> = (
    u64,
    String,
    String,
    u64,
    bool,
    Option<u64>,
    String,
    String,
    Option<Bound<'py, PyAny>>,
    String,
    Option<u64>,
);

/// [`ChangeRow`], with the differences as JSON.
type Told = (
    u64,
    String,
    String,
    u64,
    bool,
    Option<u64>,
    String,
    String,
    Option<String>,
    String,
    Option<u64>,
);

/// An iterator over the changes of a database. It does not keep the database open.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct Feed {
    database: Py<Database>,
    following: Mutex<Following>,
}

#[pymethods]
impl Feed {
    /// Follows the commits after `after`, up to `until` if it is given.
    #[new]
    #[pyo3(signature = (database, after, until, collection, key, path, diff))]
    #[expect(clippy::too_many_arguments, reason = "what may be chosen, by position")]
    fn new(
        py: Python<'_>,
        database: Py<Database>,
        after: u64,
        until: Option<u64>,
        collection: Option<String>,
        key: Option<String>,
        path: Option<&str>,
        diff: bool,
    ) -> PyResult<Feed> {
        let of = database.get();
        let following = engine(py, || {
            if let Some(name) = &collection {
                of.collection(name)?;
            }
            let mut following = Following::after(Csn(after));
            following.until = until.map_or(Csn::MAX, Csn);
            (following.collection, following.key) = (collection, key);
            if let Some(path) = path {
                following.at_path(path).map_err(DocumentError::from)?;
            }
            following.with_diff = diff;
            Ok(following)
        })?;
        Ok(Feed { database, following: Mutex::new(following) })
    }

    /// The next changes, of whole commits, and the commit that they reach; does not wait.
    fn next<'py>(&self, py: Python<'py>, numbers: Numbers) -> PyResult<(Vec<ChangeRow<'py>>, u64)> {
        let of = self.database.get();
        let (told, at) = engine(py, || {
            let database = of.database()?;
            let mut following = self.following.lock();
            let mut told = Vec::new();
            for change in following.next(&database, BATCH)? {
                told.extend(following.tell(&database, &change)?.map(row).transpose()?);
            }
            Ok((told, following.at.0))
        })?;
        let parsed = |told: Told| {
            let (csn, collection, key, version, deleted, time, author, message, diff, role, us) =
                told;
            let diff = diff.map(|text| from_json(py, text.as_bytes(), numbers)).transpose()?;
            Ok((csn, collection, key, version, deleted, time, author, message, diff, role, us))
        };
        Ok((told.into_iter().map(parsed).collect::<PyResult<_>>()?, at))
    }
}

fn row(told: ToldChange<'_>) -> Result<Told, DocumentError> {
    let ToldChange { change, time_us, author, message, role, authored_us, diff } = told;
    let DocumentChange { csn, collection, key, revision, deleted, .. } = change.clone();
    let diff = diff.map(|diff| diff.to_json()).transpose()?;
    let version = revision.0;
    let csn = csn.0;
    Ok((csn, collection, key, version, deleted, time_us, author, message, diff, role, authored_us))
}
