//! A server of its own for each test, on a simulated disk, and sessions with it.

use std::path::Path;
use std::sync::Arc;

use server::{Handle, Options, Server};
use session::Instance;
use vfs::{Env, SimVfs};

use crate::open;
pub use crate::wire::{Answer, Wire, is_end, message, packet, show, startup};

/// Options for a test: a free port of this machine, two cores.
pub fn options() -> Options {
    Options { listen: vec![([127, 0, 0, 1], 0).into()], cores: 2, ..Options::default() }
}

/// A server over an empty database.
pub fn start(options: Options) -> Handle {
    Server::start(instance(), options).expect("a server starts")
}

/// A new database.
pub fn instance() -> Arc<Instance> {
    let env = Env::sim(&SimVfs::new(1), 1);
    let env = Env { clock: Env::os().clock, random: Env::os().random, ..env };
    open::instance(&env, Path::new("/db")).expect("a new database opens")
}

impl Wire {
    /// A session.
    pub fn connect(server: &Handle) -> Self {
        Self::connect_to(server.addresses()[0])
    }
}
