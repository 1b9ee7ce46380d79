//! Transactions over documents.

use std::sync::Arc;

use anywhen::{NodeKey, Txn, TxnCollection};
use pyo3::prelude::*;

use crate::edit::{MetaArgument, NodeArgument, Step, meta};
use crate::errors::{Failure, Outcome};
use crate::handle::{Handle, engine};
use crate::numbers::Numbers;
use crate::value::{from_json, to_json};
use crate::waits::{Open, Waits};

/// A transaction over documents of any collections. An uncommitted transaction is rolled back.
#[pyclass(frozen, module = "anywhen._native")]
pub(crate) struct Transaction {
    handle: Handle<Begun>,
}

/// A transaction that has not ended, and the thread that used it last.
struct Begun {
    txn: Txn,
    open: Open,
}

impl Transaction {
    pub(crate) fn new(txn: Txn, waits: &Arc<Waits>) -> Transaction {
        let open = Open::used(waits, txn.id());
        Transaction { handle: Handle::new("transaction", Begun { txn, open }) }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Txn) -> Outcome<R>) -> Outcome<R> {
        self.handle.with(|Begun { txn, open }| {
            open.use_again();
            f(txn)
        })
    }
}

/// A collection that is there.
fn there<'a>(txn: &'a mut Txn, name: &str) -> Outcome<TxnCollection<'a>> {
    let missing = || Failure::missing(format!("there is no collection {name:?}"));
    txn.find_collection(name).ok_or_else(missing)
}

#[pymethods]
impl Transaction {
    /// Version and value of a document; None if there is none.
    fn get<'py>(
        &self,
        py: Python<'py>,
        collection: &str,
        key: &str,
        numbers: Numbers,
    ) -> PyResult<Option<(u64, Bound<'py, PyAny>)>> {
        let found = engine(py, || {
            self.with(|txn| {
                // To read makes no collection.
                let Some(mut collection) = txn.find_collection(collection) else { return Ok(None) };
                let Some(document) = collection.get(key)? else { return Ok(None) };
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
        engine(py, || self.with(|txn| Ok(txn.collection(collection)?.put(key, json)?.0)))
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
        engine(py, || {
            let step = Step::new(op, node, json, to, at, name)?;
            self.with(|txn| {
                let made = there(txn, collection)?.edit(key, |edit| step.apply(edit))?;
                Ok(made.map(|NodeKey(key)| key))
            })
        })
    }

    /// Removes a document; its history stays.
    fn remove(&self, py: Python<'_>, collection: &str, key: &str) -> PyResult<()> {
        engine(py, || self.with(|txn| Ok(there(txn, collection)?.remove(key)?)))
    }

    /// Makes all changes durable and visible; returns the number of the commit.
    fn commit(&self, py: Python<'_>, said: MetaArgument) -> PyResult<u64> {
        let meta = meta(said);
        engine(py, || {
            let closed = || Failure::closed("transaction");
            let Begun { txn, open } = self.handle.take()?.ok_or_else(closed)?;
            open.use_again();
            Ok(txn.commit_with(&meta)?.0)
        })
    }

    /// Rolls the transaction back; does nothing if it has ended.
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
