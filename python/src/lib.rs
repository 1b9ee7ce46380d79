//! The native half of the Python module `anywhen`: the engine in this process, and conversions of values
//! between Python and JSON, SQL and Arrow.
//!
//! ```text
//!   anywhen/*.py     the interface: collections as mappings, records, the clients of servers, DB-API
//!      │
//!   _native          Database · Transaction · Feed · Session · Answer · ArrowIn · dumps · loads
//!      │             one call each, with texts and numbers; nothing of Python is touched below
//!   anywhen (Rust)
//! ```
//!
//! # Invariants
//! * A call releases the interpreter ([`Python::detach`]) before it calls the engine or takes any lock. So
//!   a thread that waits here blocks no other, and no two threads wait for two locks in opposite orders.
//! * A panic of the engine becomes an error of Python (`XX000`), and goes no further.
//! * A child process refuses a handle that was opened before the fork, and never closes it: the handle's
//!   threads do not exist in the child.

mod arrow_in;
mod database;
mod edit;
mod errors;
mod feed;
mod handle;
mod numbers;
mod objects;
mod opened;
mod session;
mod sql;
mod transaction;
mod value;
mod waits;
mod worker;

use pyo3::prelude::*;

/// The engine allocates here as it does in the server. Objects of Python come from the interpreter's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The engine of Anywhen. Use the module `anywhen`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::arrow_in::ArrowIn;
    #[pymodule_export]
    use crate::database::{Database, export_page};
    #[pymodule_export]
    use crate::feed::Feed;
    #[pymodule_export]
    use crate::handle::forked;
    #[pymodule_export]
    use crate::objects::{Objects, ObjectsTransaction};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::sql::{Answer, answer_from_http, answer_from_texts, parse_time};
    #[pymodule_export]
    use crate::transaction::Transaction;
    #[pymodule_export]
    use crate::value::{dumps, loads};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python looks for")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
