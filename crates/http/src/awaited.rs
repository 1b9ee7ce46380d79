//! Whether a client still waits for an answer, for threads that make one.
//!
//! ```text
//!   connection ── Waiting ───────────────┐ dropped before the answer has its end:
//!                    moves into the body │ the connection was closed, or the stream reset
//!                                        v
//!   thread ────── Awaited::is_gone, Awaited::on_gone ── work stops
//! ```
//!
//! Invariant: an answer that was sent to its end is never called gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anywhen::DocumentError;
use parking_lot::Mutex;

type Told = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Shared {
    is_gone: AtomicBool,
    /// What is called when the client goes.
    told: Mutex<Option<Told>>,
}

/// The side of the client: dropping it tells the other side that nobody waits any more.
pub(crate) struct Waiting(Option<Arc<Shared>>);

/// The side of the work.
#[derive(Clone, Default)]
pub(crate) struct Awaited(Option<Arc<Shared>>);

/// Both sides of one request.
pub(crate) fn pair() -> (Waiting, Awaited) {
    let shared = Arc::new(Shared::default());
    (Waiting(Some(Arc::clone(&shared))), Awaited(Some(shared)))
}

impl Waiting {
    /// The client has its answer.
    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        shared.is_gone.store(true, Ordering::SeqCst);
        // Taken out first: what is called may look at the same lock.
        let told = shared.told.lock().take();
        if let Some(told) = told {
            told();
        }
    }
}

impl Awaited {
    /// True once the client has gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.is_gone.load(Ordering::Relaxed))
    }

    /// An error once the client has gone.
    ///
    /// # Errors
    /// [`DocumentError::Read`], told to nobody but the log.
    pub(crate) fn look(&self) -> Result<(), DocumentError> {
        match self.is_gone() {
            true => Err(DocumentError::Read(std::io::ErrorKind::ConnectionAborted.into())),
            false => Ok(()),
        }
    }

    /// Has something be done when the client goes, at once if it has gone. One at a time: what was said
    /// before is forgotten.
    pub(crate) fn on_gone(&self, told: impl FnOnce() + Send + 'static) {
        let Some(shared) = &self.0 else { return };
        *shared.told.lock() = Some(Box::new(told));
        // The client may have gone between two looks; whoever takes it calls it.
        if shared.is_gone.load(Ordering::SeqCst)
            && let Some(told) = shared.told.lock().take()
        {
            told();
        }
    }

    /// Forgets what was to be done.
    pub(crate) fn forget(&self) {
        if let Some(shared) = &self.0 {
            *shared.told.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    /// Who goes is noticed once, whether the work has asked to be told before or after; who has an answer
    /// is not.
    #[test]
    fn going() {
        let count = Arc::new(AtomicU32::new(0));
        let tell = |awaited: &Awaited| {
            let count = Arc::clone(&count);
            awaited.on_gone(move || drop(count.fetch_add(1, Ordering::Relaxed)));
        };
        let (waiting, awaited) = pair();
        tell(&awaited);
        assert!(!awaited.is_gone());
        drop(waiting);
        assert!(awaited.is_gone() && awaited.look().is_err());
        assert_eq!(count.load(Ordering::Relaxed), 1);
        tell(&awaited);
        assert_eq!(count.load(Ordering::Relaxed), 2);

        let (waiting, awaited) = pair();
        tell(&awaited);
        waiting.done();
        assert!(!awaited.is_gone());

        let (waiting, awaited) = pair();
        tell(&awaited);
        awaited.forget();
        drop(waiting);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        assert!(!Awaited::default().is_gone());
    }
}
