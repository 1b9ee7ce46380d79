//! What the context knows: the moment of the statement, the user, the settings.

use crate::function::{Function, functions};

pub(crate) const TABLE: &[Function] = functions! {
    1299 now() -> TIMESTAMPTZ [stable] = (call;) call.context.types.now;
    2647 transaction_timestamp() -> TIMESTAMPTZ [stable] = (call;) call.context.types.now;
    2648 statement_timestamp() -> TIMESTAMPTZ [stable] = (call;) call.context.statement;
    2649 clock_timestamp() -> TIMESTAMPTZ [volatile] = (call;) call.context.clock.now();
    861 current_database() -> NAME [stable] = (call;) call.context.session.database();
    745 current_user() -> NAME [stable] = (call;) call.context.session.user();
    746 session_user() -> NAME [stable] = (call;) call.context.session.session_user();
};
