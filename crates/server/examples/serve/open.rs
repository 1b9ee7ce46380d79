//! Opening a database to be served.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use session::{Instance, Options};
use store::{Csn, MergeError, Table};
use txn::{Engine, EngineOptions};
use vfs::Env;

struct Plain;

impl Table for Plain {
    fn merge(
        &self,
        _key: &[u8],
        _base_csn: Csn,
        _base: &[u8],
        _deltas: &mut dyn Iterator<Item = (Csn, &[u8])>,
        _out: &mut Vec<u8>,
    ) -> Result<(), MergeError> {
        Err(MergeError::new("this table has no deltas"))
    }
}

/// The database in a folder, which is made where there is none.
pub fn instance(env: &Env, folder: &Path) -> Result<Arc<Instance>, Box<dyn Error>> {
    let engine =
        Engine::open(env, folder, EngineOptions::default(), Arc::new(|_| Arc::new(Plain)))?;
    let options =
        Options { env: env.clone(), settings: Vec::new(), memory_bytes_max: 1 << 30 };
    Ok(Instance::open(engine, options)?)
}
