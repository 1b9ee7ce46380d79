//! Transactions over documents.

use anywhen::{NodeKey, Txn};
use pyo3::prelude::*;

use crate::edit::{MetaArgument, NodeArgument, Step, meta};
use crate::errors::Failure;
use crate::handle::{Handle, engine};
use crate::numbers::Numbers;
use crate::value::{from_json, to_json};

/// A transaction over documents of any collections. What is not committed is taken back.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct Transaction {
    handle: Handle<Txn>,
}

impl Transaction {
    pub(crate) fn new(txn: Txn) -> Transaction {
        Transaction { handle: Handle::new("transaction", txn) }
    }
}

#[pymethods]
impl Transaction {
    /// Version and value of a document; None where there is none.
    fn get<'py>(
        &self,
        py: Python<'py>,
        collection: &str,
        key: &str,
        numbers: Numbers,
    ) -> PyResult<Option<(u64, Bound<'py, PyAny>)>> {
        let found = engine(py, || {
            self.handle.with(|txn| {
                let Some(document) = txn.collection(collection)?.get(key)? else { return Ok(None) };
                let mut out = Vec::new();
                document.write_json(&mut out)?;
                Ok(Some((document.revision().0, out)))
            })
        })?;
        let Some((version, text)) = found else { return Ok(None) };
        Ok(Some((version, from_json(py, &text, numbers)?)))
    }

    /// Gives a document a value; returns the version that it will have.
    fn put(
        &self,
        py: Python<'_>,
        collection: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        let json = to_json(value)?;
        engine(py, || self.handle.with(|txn| Ok(txn.collection(collection)?.put(key, json)?.0)))
    }

    /// Edits a document; returns the key of the node that is new or holds the value.
    #[pyo3(signature = (collection, key, op, node, json=None, to=None, at=None, name=None))]
    #[expect(clippy::too_many_arguments, reason = "what an edit may need, by position")]
    fn edit(
        &self,
        py: Python<'_>,
        collection: &str,
        key: &str,
        op: &str,
        node: NodeArgument,
        json: Option<&[u8]>,
        to: Option<NodeArgument>,
        at: Option<String>,
        name: Option<String>,
    ) -> PyResult<Option<u64>> {
        let step = Step::new(op, node, json, to, at, name)?;
        engine(py, || {
            self.handle.with(|txn| {
                let made = txn.collection(collection)?.edit(key, |edit| step.apply(edit))?;
                Ok(made.map(|NodeKey(key)| key))
            })
        })
    }

    /// Removes a document; its history stays.
    fn remove(&self, py: Python<'_>, collection: &str, key: &str) -> PyResult<()> {
        engine(py, || self.handle.with(|txn| Ok(txn.collection(collection)?.remove(key)?)))
    }

    /// Makes all changes durable and visible; returns the number of the commit.
    fn commit(&self, py: Python<'_>, said: MetaArgument) -> PyResult<u64> {
        let meta = meta(said);
        engine(py, || {
            let closed = || Failure::interface("the transaction is closed".into());
            let txn = self.handle.take()?.ok_or_else(closed)?;
            Ok(txn.commit_with(&meta)?.0)
        })
    }

    /// Takes all changes back; nothing where it has ended.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        engine(py, || {
            drop(self.handle.take()?);
            Ok(())
        })
    }

    /// True until it has ended.
    fn is_open(&self) -> bool {
        self.handle.is_open()
    }
}
