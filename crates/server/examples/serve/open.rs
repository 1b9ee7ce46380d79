//! Opening a database to be served.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use session::{Instance, Options};
use txn::EngineOptions;
use vfs::Env;

/// The most memory that one statement may hold.
const MEMORY_BYTES_MAX: usize = 1 << 30;

/// The database in a folder, which is made where there is none.
pub fn instance(env: &Env, folder: &Path) -> Result<Arc<Instance>, Box<dyn Error>> {
    let options = Options {
        env: env.clone(),
        settings: Vec::new(),
        memory_bytes_max: MEMORY_BYTES_MAX,
        memory_total_bytes: None,
        defaults: Vec::new(),
        folder: None,
        temporary: Some(folder.join("temporary")),
    };
    Ok(Instance::open_at(folder, EngineOptions::default(), options)?)
}
