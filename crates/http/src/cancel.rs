//! Cancelling the work for a request whose client has gone.
//!
//! ```text
//!   connection ── CancelGuard ───────────┐ dropped before the answer has its end:
//!                    moves into the body │ the connection was closed, or the stream reset
//!                                        v
//!   thread ────── CancelToken::is_set, CancelToken::on_cancel ── the work stops
//!                 CancelToken::during: computations far below stop as well (`interrupt`)
//! ```
//!
//! Invariant: a request whose answer was sent to its end is never cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anywhen::DocumentError;
use parking_lot::Mutex;

type Callback = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Shared {
    is_set: AtomicBool,
    /// Called once when the request is cancelled.
    callback: Mutex<Option<Callback>>,
}

/// The connection's half: dropping it cancels the request.
pub(crate) struct CancelGuard(Option<Arc<Shared>>);

/// The working thread's half. The default is never set.
#[derive(Clone, Default)]
pub(crate) struct CancelToken(Option<Arc<Shared>>);

/// Makes both halves for one request.
pub(crate) fn pair() -> (CancelGuard, CancelToken) {
    let shared = Arc::new(Shared::default());
    (CancelGuard(Some(Arc::clone(&shared))), CancelToken(Some(shared)))
}

impl CancelGuard {
    /// Drops the guard without cancelling: the answer is complete.
    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        shared.is_set.store(true, Ordering::SeqCst);
        // The callback runs without the lock, which it may need itself.
        let callback = shared.callback.lock().take();
        if let Some(callback) = callback {
            callback();
        }
    }
}

impl CancelToken {
    /// True once the request is cancelled.
    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.is_set.load(Ordering::Relaxed))
    }

    /// Runs `work` with the token as the thread's interrupt flag, so that long computations stop too.
    pub(crate) fn during<R>(&self, work: impl FnOnce() -> R) -> R {
        match &self.0 {
            Some(shared) => interrupt::during(&shared.is_set, work),
            None => work(),
        }
    }

    /// Fails once the request is cancelled.
    ///
    /// # Errors
    /// [`DocumentError::Read`]; no client is left that would see it.
    pub(crate) fn check(&self) -> Result<(), DocumentError> {
        match self.is_set() {
            true => Err(DocumentError::Read(std::io::ErrorKind::ConnectionAborted.into())),
            false => Ok(()),
        }
    }

    /// Calls `callback` when the request is cancelled, at once if it is already. Replaces the callback of
    /// before.
    pub(crate) fn on_cancel(&self, callback: impl FnOnce() + Send + 'static) {
        let Some(shared) = &self.0 else { return };
        *shared.callback.lock() = Some(Box::new(callback));
        // The guard may have been dropped meanwhile. Only one side finds the callback, and calls it.
        if shared.is_set.load(Ordering::SeqCst)
            && let Some(callback) = shared.callback.lock().take()
        {
            callback();
        }
    }

    /// Removes the callback.
    pub(crate) fn forget(&self) {
        if let Some(shared) = &self.0 {
            *shared.callback.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    /// A dropped guard runs the callback once, whether it was set before or after; a completed answer cancels
    /// nothing.
    #[test]
    fn cancelling() {
        let count = Arc::new(AtomicU32::new(0));
        let tell = |cancelled: &CancelToken| {
            let count = Arc::clone(&count);
            cancelled.on_cancel(move || {
                count.fetch_add(1, Ordering::Relaxed);
            });
        };
        let (guard, cancelled) = pair();
        tell(&cancelled);
        assert!(!cancelled.is_set());
        assert!(cancelled.during(interrupt::check).is_ok());
        drop(guard);
        assert!(cancelled.is_set() && cancelled.check().is_err());
        assert!(cancelled.during(interrupt::check).is_err());
        assert_eq!(count.load(Ordering::Relaxed), 1);
        tell(&cancelled);
        assert_eq!(count.load(Ordering::Relaxed), 2);

        let (guard, cancelled) = pair();
        tell(&cancelled);
        guard.done();
        assert!(!cancelled.is_set());

        let (guard, cancelled) = pair();
        tell(&cancelled);
        cancelled.forget();
        drop(guard);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        assert!(!CancelToken::default().is_set());
    }
}
