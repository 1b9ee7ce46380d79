//! The allocator of the command.

use mimalloc::MiMalloc;

/// mimalloc keeps freed memory for a moment, and returns it to the system when it next needs much. ARCHITECTURE.md has
/// the figures.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

unsafe extern "C" {
    /// Collects the memory that the calling thread has freed, and returns the free memory of the process to the system.
    /// Without `force` it returns only memory that has been free for a moment. Part of mimalloc.
    safe fn mi_collect(force: bool);
}

/// Returns memory that has been free for a moment to the system. An idle server does not allocate, so without this call
/// mimalloc would keep the memory of a large statement until the next one.
pub(crate) fn release() {
    mi_collect(false);
}

/// Returns all free memory to the system that the allocator can find from the calling thread.
pub(crate) fn release_all() {
    mi_collect(true);
}
