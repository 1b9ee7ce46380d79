//! Each rule on its own.

use super::world::*;
use crate::*;
use vfs::SimVfs;

/// A key that is deleted and put again has all three states at their commits, before and after a flush.
#[test]
fn deleted_and_put_again() {
    let mut world = World::new(1, SimVfs::unrecorded(), small_options());
    world.commit_durably(vec![put(PLAIN, b"k", b"one")]);
    world.commit_durably(vec![delete(PLAIN, b"k")]);
    world.commit_durably(vec![put(PLAIN, b"k", b"two")]);
    world.check_all();
    world.store.flush().unwrap();
    world.check_all();
    world.commit_durably(vec![delete(PLAIN, b"k")]);
    world.store.flush().unwrap();
    world.store.compact().unwrap();
    world.check_all();
    world.reopen().check_all();
}
