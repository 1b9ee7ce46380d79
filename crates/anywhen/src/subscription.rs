//! [`Subscription`]: a signal for new commits, at a cost that does not depend on their size.

use std::sync::Arc;

use store::{Csn, TableId};
use txn::{Observed, Observer};

/// A function that is called whenever commits have become visible: see
/// [`Database::subscribe`](crate::Database::subscribe). Dropping it ends that.
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    pub(crate) _subscriber: Arc<dyn Observer>,
}

/// An observer that wants to know no more than that there are new commits.
pub(crate) struct Subscriber<F>(pub F);

impl<F: Fn(Csn) + Send + Sync> Observer for Subscriber<F> {
    fn follows(&self, _table: TableId) -> bool {
        false
    }

    fn observe(&self, _commit: &mut Observed<'_>) {}

    fn shown(&self, newest: Csn) {
        (self.0)(newest);
    }
}
